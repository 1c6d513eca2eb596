/* codegen.h -- a kernel of a plan to CUDA C text. Pure functions: no machine is touched.
 *
 * The text is self-contained (no headers), its entry is `extern "C" __global__ void gx_kernel(...)` with one parameter: a struct of
 * everything that varies between launches (pointers, extents, strides, constants by argument). The struct is passed by value when it
 * fits 4096 bytes, else in device memory behind a pointer. `args` lists its members, so that the runtime fills it without
 * knowing the text. Names are positional (p0, n1, s2_0, v17); the user's names appear only in the comment, escaped. */
#ifndef CODEGEN_CODEGEN_H
#define CODEGEN_CODEGEN_H

#include "base/buf.h"
#include "ir/plan.h"

enum arg_kind {
	ARG_POINTER,    /* address of buffer `index` (kernel->buf) plus the port's offset is NOT included: base address */
	ARG_OFFSET,     /* access.off of port `index` */
	ARG_STRIDE,     /* access.stride[axis] of port `index` */
	ARG_GATHER,     /* gather[axis].stride of port `index` */
	ARG_EXTENT,     /* kernel->extent[axis] */
	ARG_NMAP, ARG_NREDUCE,
	ARG_CONST,      /* bits of step `index` of the body (axis 0) or the tail (axis 1) */
	ARG_SIZE,       /* plan->check[index].size */
	ARG_SPLITS,     /* launch.splits */
	ARG_LANES,      /* launch.lanes */
	ARG_PHASE,      /* launch.phase */
	ARG_SCRATCH,    /* device scratch of launch.scratch bytes */
	ARG_COUNTERS,   /* device array of launch.counters uint32, zero before and after each launch */
	ARG_ERROR       /* device struct device_failure; kernels return at once when a kernel before them has set it */
};

/* What a failed check leaves in device memory: the smallest failing position. Before a run: {~0, 0, 0, 0}. */
struct device_failure {
	uint64_t position;     /* linear number of the point; ~0 = no failure */
	uint64_t check;        /* number in plan->check */
	int64_t value;         /* the index found there */
	uint64_t lock;         /* of the kernels' own; 0 at rest */
};

struct arg {
	uint8_t kind;
	uint8_t size;          /* bytes: 4 or 8 */
	uint8_t axis;
	uint8_t phase;         /* of the unit: whose buffers, ports, steps and extents are meant */
	uint32_t index;
	uint32_t offset;       /* in the struct, naturally aligned */
};

struct cuda_text {
	struct buf text;
	struct arg *arg; int narg; int arg_cap;
	unsigned args_size;    /* bytes of the struct, multiple of 8 */
	int by_pointer;        /* 1: the parameter is the address of the struct */
	int block;             /* threads per block that the text was made for */
	int per_thread;        /* points that a thread handles in one full tile */
	int lanes;             /* a row program: threads that share a row, fixed in the text; else 0 */
};

struct device_info {       /* what launch geometry depends on */
	int sms, max_threads_sm, l2_bytes;
};

struct launch {
	unsigned grid[3], block;
	unsigned shared;       /* dynamic shared memory, bytes */
	unsigned splits;       /* blocks that share one output of a reduction */
	unsigned lanes;        /* threads of a block that share one output of a reduction: a power of two */
	size_t scratch;        /* bytes of scratch */
	unsigned counters;     /* uint32 counters */
	unsigned phases;       /* launches, one after the other, with the same scratch */
	unsigned phase;        /* which of them this one is */
};

/* What one launch does: a kernel of the plan, or a row program whose rows stay in registers from phase to phase. */
struct unit {
	const struct kernel *phase;
	int nphase;                 /* 1: a kernel of the plan */
	const uint8_t *row_temp;    /* for each temporary of the plan: a row of it lives in registers (enum row_temp); nphase > 1 */
};

enum row_temp { TEMP_MEMORY, TEMP_BOTH, TEMP_ROW };   /* read from memory; kept and also stored; kept only */

struct units {
	int n;
	struct unit *unit;          /* in the order in which they run */
	int *first, *last;          /* for each temporary: units between which it needs memory; -1 = it needs none */
	uint8_t *row_temp;
};

/* Which kernels of the plan run as one. Gives u: cuda_units_free. 0, or -1 when memory ran out. */
int cuda_units_make(const struct plan *plan, struct units *u);
void cuda_units_free(struct units *u);
/* The unit's number of buffers over all phases, and number i of them. */
int unit_buffers(const struct unit *u);
const struct kbuf *unit_buffer(const struct unit *u, int i);

/* Unit to text. plan is for checks. Gives t (text.text with buf_free, arg with free()). 0, or -1 when memory ran out. */
int cuda_text_make(const struct plan *plan, const struct unit *u, gx_math math, struct cuda_text *t);
void cuda_text_free(struct cuda_text *t);
/* Geometry for the launches of one run, l->phases of them; needs only the unit and the device. A grid[0] of 0 means: nothing to do. */
void cuda_launch_make(const struct unit *u, const struct cuda_text *t, const struct device_info *d, struct launch *l);
/* The argument struct for one launch: t->args_size bytes at `args` (8-byte aligned). address: one entry for each unit_buffer;
 * scratch, counters, error: device addresses (0 where the launch needs none). The runtime and the emulator both use it. */
void cuda_args_fill(const struct plan *plan, const struct unit *u, const struct cuda_text *t, const struct launch *l,
	const uint64_t *address, uint64_t scratch, uint64_t counters, uint64_t error, void *args);
/* Why this unit is too large for the compiler, as a sentence for people (static storage), or NULL. Ask before cuda_text_make. */
const char *cuda_text_limit(const struct unit *u);

#endif
