/* ir.h -- the typed intermediate form of a program: elementwise values in one flat SSA array, plus the few things that are
 * more than elementwise, as lists beside it.
 *
 * Value i of ins[] is computed from values before it, at every point of its domain (`shape`); a constant has no domain and
 * fits everywhere. All operands of an operation have its own domain: broadcasting, slicing, transposing, shifting and gathering
 * happened when the value was built, by rebuilding the expression with other loads (ir_view), so there are no view instructions.
 * What cannot be pushed to the loads is a *definition*: a reduction, a scan, or a value that is stored in a temporary; it makes
 * a new source that later loads read. Values are hash-consed: equal instructions are one instruction. */
#ifndef IR_IR_H
#define IR_IR_H

#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "ops/ops.h"

enum { MAX_RANK = GX_MAX_RANK };
#define NO_VALUE UINT32_MAX

struct shape {
	int rank;
	int64_t n[MAX_RANK];
};

int64_t shape_count(const struct shape *s);                       /* product of the extents; 1 for rank 0 */
int shape_same(const struct shape *a, const struct shape *b);
void shape_strides(const struct shape *s, int64_t stride[MAX_RANK]);   /* C order, elements */
const char *shape_text(const struct shape *s, char buf[200]);     /* as Python writes a tuple: (3,) */

/* Where point p of a domain lands: off + sum of stride[k] * p[k], in elements. */
struct access {
	int64_t off;
	int64_t stride[MAX_RANK];
};

/* One data-dependent term of a load: value * stride more elements. The value is an index that is in range already. */
struct gather {
	uint32_t value;
	int64_t stride;
};

enum ins_kind {
	INS_CONST,   /* bits; `arg`: passed to kernels as an argument (scalar inputs, numbers made of extents) */
	INS_IOTA,    /* the number access(p): coordinates, ranges; int32 or int64 */
	INS_LOAD,    /* element access(p) (+ gathers) of a source */
	INS_OP,      /* op applied to arg[0..nargs) */
	INS_CAST     /* arg[0] converted to `type`: floats to integers saturate, NaN gives 0; anything to bool is != 0 */
};

struct ins {
	uint8_t kind, type;      /* type: register gx_dtype of the result */
	uint8_t nargs;           /* operands; for a load: gathers */
	uint8_t by_arg;          /* constants */
	uint16_t op;             /* enum op */
	uint32_t shape;          /* index in ir->shape, NO_VALUE for constants */
	uint32_t arg[3];         /* operands of INS_OP and INS_CAST */
	uint32_t access;         /* INS_IOTA, INS_LOAD: index in ir->access */
	uint32_t gather;         /* INS_LOAD: first of nargs entries of ir->gather */
	uint32_t source;         /* INS_LOAD: index in ir->source */
	uint64_t bits;           /* INS_CONST: the value in its register type's representation, low bytes first;
	                          * INS_LOAD: 1 + level of the range check that its gathers rely on, 0 = none */
};

enum source_kind { SOURCE_INPUT, SOURCE_TEMP };

/* Memory that loads read. */
struct source {
	enum source_kind kind;
	gx_dtype mem;                  /* element type in memory */
	struct shape shape;
	int64_t stride[MAX_RANK];      /* elements */
	int input;                     /* SOURCE_INPUT: index of the program's input */
	uint32_t def;                  /* SOURCE_TEMP: index in ir->def */
	const char *name;              /* the user's name or "t3"; for messages and dumps only */
};

enum def_kind { DEF_STORE, DEF_REDUCE, DEF_SCAN };

/* A definition of a temporary source, in order of dependence. */
struct def {
	enum def_kind kind;
	uint32_t value;                /* what is stored or reduced */
	uint32_t position;             /* DEF_REDUCE with a PAIR state: int64 value, the logical position; else NO_VALUE */
	uint32_t source;               /* the temporary; same rank as the value's domain, reduced axes have extent 1, a scan keeps all */
	enum red red;
	unsigned axes;                 /* bit k: axis k is reduced; DEF_SCAN: the one axis along which it runs */
	struct span span;              /* where it was written */
};

/* A result of the program. */
struct output {
	const char *name;              /* "" for a bare expression */
	uint32_t value;
	gx_dtype mem;                  /* element type in memory */
	struct shape shape;
	struct span span;              /* its statement */
};

/* Every element of `value` (int64) must lie in [-size, size). */
struct check {
	uint32_t value;
	int64_t size;
	int axis;
	const char *array, *index;     /* texts for the message: what is indexed, by what */
	struct shape shape;            /* domain of value */
	struct span span;
};

struct ir {
	struct arena *arena;
	struct diag *diag;
	struct span span;              /* what is being built, for definitions and messages */
	struct ins *ins;
	size_t nins, ins_cap;
	uint32_t *table;               /* hash-consing: open addressing over ins[] */
	size_t table_size;
	struct shape *shape;           size_t nshape, shape_cap;
	struct access *access;         size_t naccess, access_cap;
	struct gather *gather;         size_t ngather, gather_cap;
	struct source *source;         size_t nsource, source_cap;
	struct def *def;               size_t ndef, def_cap;
	struct output *output;         size_t noutput, output_cap;
	struct check *check;           size_t ncheck, check_cap;
	uint8_t *heavy;                /* per ins: 1 when function calls are below it (in the same domain) */
	uint16_t *level;               /* per ins: longest chain of definitions and checks below it */
	uint32_t *stored;              /* per ins: 1 + the definition that stores it, 0 = none */
	uint32_t *stamp;               /* per ins: scratch of walks; equal to `walk` = seen */
	uint32_t walk;
};

struct ir *ir_new(struct arena *a, struct diag *d);

/* Builders. Each returns the number of an instruction, new or old; constants are folded as they are built. */
uint32_t ir_const(struct ir *ir, gx_dtype type, uint64_t bits, int by_arg);
uint32_t ir_int(struct ir *ir, gx_dtype type, int64_t v, int by_arg);      /* v must fit the integer, bool or float type */
uint32_t ir_float(struct ir *ir, gx_dtype type, double v, int by_arg);
uint32_t ir_iota(struct ir *ir, const struct shape *s, gx_dtype type, const struct access *a);
uint32_t ir_load(struct ir *ir, const struct shape *s, uint32_t source, const struct access *a, const struct gather *g, int ngather,
	uint64_t check_level);
uint32_t ir_load_all(struct ir *ir, uint32_t source);                      /* the source as it is */
uint32_t ir_op(struct ir *ir, enum op op, uint32_t a, uint32_t b, uint32_t c);   /* NO_VALUE for operands that op has not */
uint32_t ir_cast(struct ir *ir, gx_dtype to, uint32_t v);
uint32_t ir_input(struct ir *ir, int input, const char *name, gx_dtype mem, const struct shape *s, const int64_t *stride);

/* A change of domain. Coordinate k of the old domain is access[k] of the new one, plus the value gather[k] if it has one. */
struct map {
	struct shape to;
	struct access axis[MAX_RANK];
	uint32_t gather[MAX_RANK];     /* NO_VALUE where there is none; int64 over `to` */
	uint64_t check_level;          /* 1 + level of the checks that the gathers rely on, 0 = in range by construction */
};

/* all axes to themselves; broadcasting where from has 1 */
void map_identity(struct map *m, const struct shape *from, const struct shape *to);
/* The value (with domain `from`) seen through the map. */
uint32_t ir_view(struct ir *ir, uint32_t v, const struct shape *from, const struct map *m);
uint32_t ir_reshape(struct ir *ir, uint32_t v, const struct shape *from, const struct shape *to);
/* Store v in a temporary and load it back; the same v gives the same temporary. */
uint32_t ir_store(struct ir *ir, uint32_t v, const struct shape *s);
/* Reduce over the axes in the mask; the result keeps them with extent 1 and has accumulator type. */
uint32_t ir_reduce(struct ir *ir, enum red red, uint32_t v, uint32_t position, const struct shape *s, unsigned axes, struct shape *kept);

/* Running folds along one axis, each with its own element; the result has the domain of v and accumulator type. */
uint32_t ir_scan(struct ir *ir, enum red red, uint32_t v, const struct shape *s, int axis);

int ir_is_const(const struct ir *ir, uint32_t v);
/* 1: strides for `to` exist */
int ir_affine_reshape(const struct shape *from, const int64_t *stride, const struct shape *to, int64_t *out);
/* Evaluate an operation on constants exactly as the CPU engine would. */
uint64_t fold_op(enum op op, gx_dtype type, uint64_t a, uint64_t b, uint64_t c);
uint64_t fold_cast(gx_dtype to, gx_dtype from, uint64_t a);

/* Check the rules above; 0, or -1 with an internal error in diag. Cheap: one pass. */
int ir_verify(struct ir *ir);
void ir_print(const struct ir *ir, struct buf *b);

#endif
