/* plan.h -- an IR grouped into kernels: what the CPU engine interprets and what codegen turns into CUDA C.
 *
 * A kernel visits every point of a domain and runs `body` there; a reducing kernel folds values over the last axes of its domain
 * (the first nkept axes are kept) and then runs `tail` once at every kept point; a scanning kernel folds along its last axis and runs
 * `tail` at every point, with what was folded up to there. Both are flat SSA lists. Axes are collapsed:
 * what touches memory is described by ports, each an affine access (plus gathers) over the kernel's own axes. Extents,
 * strides, offsets and numbers marked by_arg may never show in kernel text (they are arguments); ranks, types, the classes of strides
 * (0, 1, other), the index width and plain constants may, and of a row program the class of its rows' length. Kernels run in order;
 * kernel k may read what kernels before it wrote. */
#ifndef IR_PLAN_H
#define IR_PLAN_H

#include "ir/ir.h"

enum step_kind {
	STEP_CONST,    /* bits, by_arg */
	STEP_IOTA,     /* the number port.access(p) (port has buf -1), type int32 or int64 */
	STEP_LOAD,     /* an element through port, converted from port.mem to the register type */
	STEP_OP,       /* op on arg[0..nargs); the row is for the type of arg[nargs > 1 ? 1 : 0]... see step_type */
	STEP_CAST,     /* arg[0] from its type to `type` */
	STEP_STORE,    /* arg[0] to an element through port, converted to port.mem */
	STEP_FOLD,     /* body: arg[0] (arg[1]: position, int64) goes into accumulator `fold` */
	STEP_RESULT,   /* tail: the folded value of accumulator `fold` */
	STEP_CHECK     /* arg[0] (int64) must lie in [-check.size, check.size), else record the point's linear number */
};

struct step {
	uint8_t kind, type;      /* register type of the result (STORE, FOLD, CHECK: of arg[0]) */
	uint8_t nargs, by_arg;
	uint16_t op;             /* enum op */
	uint16_t index;          /* FOLD, RESULT: number in kernel->fold; CHECK: number in plan->check */
	uint32_t arg[3];         /* steps of the same list */
	uint32_t port;           /* IOTA, LOAD, STORE: number in kernel->port */
	uint64_t bits;           /* CONST */
};

struct code {
	struct step *step;
	int n;
};

struct port {
	int buf;                       /* number in kernel->buf; -1: no memory, the access itself is the number (STEP_IOTA) */
	int in_tail;                   /* 1: the access is over the kept axes only (scans: over all, see port_rank) */
	struct access access;          /* over the kernel's collapsed axes */
	int ngather;
	struct gather gather[MAX_RANK];/* value: a step of the same list */
	double reach;                  /* what the gathers add to an offset, at most: the span of the array that is read */
};

enum buf_kind { BUF_INPUT, BUF_TEMP, BUF_OUTPUT };

struct kbuf {
	enum buf_kind kind;
	int number;                    /* input, temporary or output of the program */
	gx_dtype mem;                  /* element type in memory */
	int written;
};

struct fold {
	enum red red;
	gx_dtype type;                 /* accumulator type (of the value, for PAIR; FLOAT64 for MOMENTS) */
};

struct kernel {
	int reduces;                   /* 0: a map; 1: a reduction or a scan */
	int scans;                     /* 1: a scan: along its last axis, and the tail runs at every point, with the fold so far */
	int rank, nkept;               /* a map has nkept == rank */
	int64_t extent[MAX_RANK];      /* outermost first; kept axes, then reduced ones */
	int64_t nmap, nreduce;         /* products of the kept and the reduced extents */
	int wide;                      /* 1: offsets or counts need 64 bits */
	/* reductions: 1 when neighbouring elements in memory are folded together (a reduced axis is the fastest) */
	int inner;
	struct code body, tail;        /* tail: reductions only */
	struct port *port; int nport;
	struct kbuf *buf; int nbuf;
	struct fold *fold; int nfold;
	const char *title;             /* the user's statements that it computes, for comments (escape it) */
	double operations;             /* weighted scalar operations, all points */
};

struct temp {
	gx_dtype mem;
	int64_t count;                 /* elements */
	int first, last;               /* kernels that write and last read it */
};

struct plan_output {
	const char *name;
	gx_dtype mem;
	struct shape shape;
};

struct plan_input {
	const char *name;
	int used;                      /* 0: no kernel reads it (a weak scalar, or only its shape counted) */
};

/* Kernels that a machine may run as one, row by row: each is a reduction over the same kept and reduced axes (the last may be a map over
 * the whole domain, seen as one that folds nothing), and what one reads of another's results is the row's own. The kernel may run in
 * the place of the last one. */
struct row_program {
	int nphase;
	int *kernel;                   /* numbers in plan->kernel, ascending */
	struct kernel *phase;          /* the same kernels; all reduce, and have the same nmap and nreduce */
};

struct plan {
	struct kernel *kernel; int nkernel;
	struct row_program *row; int nrow;
	struct temp *temp; int ntemp;
	struct plan_output *output; int noutput;
	struct plan_input *input; int ninput;
	struct check *check; int ncheck;   /* kernels with STEP_CHECK run before any kernel that writes an output, where they can */
	int64_t bytes_read, bytes_written; /* distinct input elements, outputs */
	double operations;
};

/* Group an IR into kernels. Everything is allocated in ir->arena. NULL after an error in ir->diag. */
struct plan *plan_make(struct ir *ir, int ninputs);
void plan_print(const struct plan *p, struct buf *b);
/* Why these kernels, bytes and operations, for people. */
void plan_explain(const struct plan *p, struct buf *b);
/* Axes of the port's access: in the tail of a reduction only the kept ones. */
static inline int port_rank(const struct kernel *k, const struct port *p)
{
	return p->in_tail && !k->scans ? k->nkept : k->rank;
}
/* The operand type that picks an op's row and names its helper: the type of the last operand (of the first for a unary one). */
gx_dtype step_type(const struct code *c, const struct step *s);

#endif
