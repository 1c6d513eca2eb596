/* emit.h -- what the kernel families share: the text under construction, expressions for memory and values,
 * and the functions that a kernel needs. Inside codegen/ only.
 *
 * A kernel text is: title, helper functions (in the order in which they were asked for, each once), struct
 * args, the `point` function (the body's values at one point), the family's own functions, the kernel.
 * Helpers and the rest grow in two buffers side by side, so that nothing has to be known in advance. */
#ifndef CODEGEN_EMIT_H
#define CODEGEN_EMIT_H

#include <stdio.h>

#include "codegen/codegen.h"

enum { BLOCK = 256, MAX_HELPERS = 64, MAX_UNROLL = 8 };

/* Facts about one code list, gathered once. */
struct use {
	uint8_t *step; /* 1: somebody needs the step's value, or it acts */
	unsigned axes; /* axes whose coordinates occur in some access */
	unsigned load_axes, store_axes; /* ... of a plain load, of a store */
	unsigned inner_axes; /* ... inside point(): gathers and coordinates as numbers */
	int checks; /* there is a STEP_CHECK */
	int gathers;
};

/* How the threads of a row program share a row; unroll 0: the program does not fit. */
struct row_shape {
	int vec, unroll; /* elements of one access, accesses of a thread */
	int lanes, block; /* threads of a row and of a block */
};

struct emit {
	const struct plan *plan;
	const struct unit *unit;
	const struct kernel *k;
	gx_math math;
	struct cuda_text *t;
	struct buf helpers, code;
	struct use body, tail;
	const char *idx, *off; /* C types of linear numbers and of offsets: 32 bits unless the kernel is wide */
	int vec, unroll; /* elements of one vector access; vectors (or elements) in flight per thread */
	int outline; /* 1: heavy functions are called, not inlined */
	int rows; /* 1: a row program; k, body and tail are those of one phase */
	unsigned split_axes; /* axes that the functions kept_axes and reduced_axes give */
	int failed;
	uint8_t op_done[NOPS][NTYPES], red_done[NREDS][NTYPES], cast_done[NTYPES][NTYPES];
	uint8_t helper_done[MAX_HELPERS][NTYPES];
	uint8_t get_done[NTYPES], put_done[NTYPES], half_done[8];
	uint8_t access_done[3][2], load_done[9][9],
		store_done[9][9], part_done[2][9][9]; /* by bytes of an element and words of a vector */
};

#define put(e, ...) buf_fmt(&(e)->code, __VA_ARGS__)

/* codegen.c: make e->k phase `number` of the unit, with its uses and arguments; 0 or -1. phase_end frees the uses. */
int phase_begin(struct emit *e, int number);
void phase_end(struct emit *e);

/* args.c */
void args_make(struct emit *e); /* adds the members for e->k to e->t->arg */
void args_declare(struct emit *e, struct buf *b, int phase); /* struct args */
void arg_add(struct emit *e, enum arg_kind kind, int size, unsigned index, unsigned axis);
enum { STRIDE_0, STRIDE_1, STRIDE_ANY };
int stride_class(int64_t stride);

/* meaning.c: helper functions made from the op table; each returns text that lives in a static table or in
 * `b`. */
void meaning_op(struct emit *e, struct buf *b, const struct code *c,
	const struct step *s); /* an expression over v<n> */
void meaning_red(struct emit *e, enum red red, gx_dtype t); /* make sure that red's function exists */
void meaning_red_name(struct buf *b, enum red red, gx_dtype t);
void meaning_identity(struct emit *e, struct buf *b, enum red red, gx_dtype t);
const char *type_least(gx_dtype t); /* limits, as C text */
const char *type_most(gx_dtype t);

/* convert.c */
void meaning_half(struct emit *e, int i); /* make sure that conversion i of meaning_half_find is there */
int meaning_half_find(const char *name, size_t n); /* gx_f16_to_f32 and its kin; -1: no such name */
void meaning_cast(struct emit *e, struct buf *b, gx_dtype to, gx_dtype from, const char *value);
void meaning_load(
	struct emit *e, struct buf *b, gx_dtype mem, const char *place); /* register value of an element */
void meaning_store(
	struct emit *e, struct buf *b, gx_dtype mem, gx_dtype from, const char *value); /* memory value */
void meaning_const(struct buf *b, gx_dtype t, uint64_t bits);
double meaning_cost(
	const struct code *c, const struct step *s); /* milliseconds of compile time for one more call */

/* emit.c */
void use_find(struct emit *e, const struct code *c, int in_tail, struct use *u);
void emit_access(
	struct emit *e, struct buf *b, int port, unsigned axes); /* sum of stride * c<axis> over the axes */
void emit_splits(struct emit *e); /* functions kept_axes and reduced_axes: number to coordinates */
void emit_coords(struct emit *e, const char *tabs, const char *name, const char *number, int first, int end,
	unsigned axes);
void emit_pointers(
	struct emit *e, const struct code *c, const struct use *u); /* q<port> for each port of c */
void emit_steps(
	struct emit *e, const struct code *c, const struct use *u); /* the statements, without plain loads */
void emit_load(struct emit *e, struct buf *b,
	const struct step *s); /* the register value of the element a load reads */
void emit_stop(struct emit *e); /* return when a kernel before this one failed */
void emit_fail(struct emit *e); /* the function that records a failure */

/* point.c */
void emit_point(struct emit *e); /* the function point() for the body */
void emit_outputs(struct emit *e, const char *tabs); /* declare what point() gives */
enum point_from { FROM_VECTOR, FROM_TILE, FROM_MEMORY, FROM_ROW }; /* where its loads come from */
/* Coordinates, as far as the axes go, of the element with that number; `at`, its position for checks, when
 * asked. */
void emit_element(struct emit *e, const char *tabs, const char *number, unsigned axes, int at);
void emit_call(
	struct emit *e, const char *tabs, enum point_from from); /* with checks it ends in "if (...) {" */
void emit_stores(struct emit *e, const char *tabs); /* y<step> to memory, one element */
int plain_load(const struct step *s, const struct kernel *k);
static inline int is_uniform(
	const struct emit *e, const struct step *s) /* the same element along the vector axis */
{
	return e->k->port[s->port].access.stride[e->k->rank - 1] == 0;
}

static inline int fold_state(
	const struct emit *e, const struct step *s) /* ONE, PAIR or MOMENTS, of a STEP_FOLD or STEP_RESULT */
{
	return red_table[e->k->fold[s->index].red].state;
}

/* vector.c: make sure that a function is there. */
void vector_access_need(
	struct emit *e, int bytes, int store); /* load_w4 and its kin, for elements of so many bytes */
void vector_part_need(struct emit *e, int bytes, int store); /* load_e4w4_part: the elements before `left` */
void vector_get_need(struct emit *e, gx_dtype mem); /* get_f32: element j of a vector as a register value */
void vector_put_need(struct emit *e, gx_dtype mem);
static inline int vector_words(const struct emit *e, int bytes) { return e->vec * bytes / 4; }

/* tile.c: loads of a full tile, many in flight, and the vector accesses. */
int tile_can_vector(const struct emit *e); /* every plain port is contiguous or fixed along the last axis */
void tile_shape(struct emit *e, int reduced_values); /* chooses vec, unroll and outline */
void tile_flags(struct emit *e, const char *tabs); /* alignment flags and loads of uniform elements */
void tile_loads(struct emit *e, const char *element, const char *tabs);
void tile_points(
	struct emit *e, const char *element, const char *tabs); /* points, stores, g<fold>[] of one tile */

double tile_cost(const struct emit *e); /* milliseconds of compile time of one more copy of the body */
int tile_vector(const struct kernel *k, const struct step *s); /* a plain load or a store that may be one of vectors */
int tile_port_bytes(const struct kernel *k, const struct step *s);
/* One flag for all: the addresses where rows begin fit their vectors. */
void tile_aligned(struct emit *e, const char *tabs);
/* A vector load or store between `array` and a port: words of 16 bytes at most, element by element, or those
 * elements that lie before `left`. */
enum vector_how { VECTOR_ALIGNED, VECTOR_ANY, VECTOR_PART };
void tile_access(struct emit *e, const struct step *s, const char *array, const char *tabs, enum vector_how how);
enum { OUTLINE = 600 }; /* milliseconds for all copies of a body beyond which heavy functions are called */

/* fold.c: accumulators. Part c of one has a letter and a C type. */
int fold_parts(enum red red); /* numbers in an accumulator: 1, 2 or 3 */
int fold_all_parts(const struct kernel *k);
char fold_letter(const struct fold *f, int c);
const char *fold_type(const struct fold *f, int c);
void fold_states(struct emit *e, const char *before, int typed); /* ", f0, i0", declared when typed */
void fold_init(struct emit *e, int i, const char *tabs, int declare);
void fold_merge(struct emit *e, int i, const char *tabs, const char *a, const char *b, const char *c);
void fold_merge_named(struct emit *e, int i, const char *tabs); /* with parts b<i>_0, b<i>_1, ... */
void fold_tree(struct emit *e, int i, const char *sum, int n); /* g<i>[0..n) into g<i>[0]; sum: of that array */
void fold_tile(struct emit *e, int i);
void fold_combine(struct emit *e); /* the function combine() */

/* rows.c: a temporary's row that lives in a variable t<number>. */
enum row_temp row_temp(const struct emit *e, const struct port *p);
int unit_makes_row(const struct unit *u, int temp); /* a tail stores it */
int row_uniform(const struct kernel *k, const struct step *s); /* the same element along the whole row */
int rows_kept_load(const struct kernel *k, const struct step *s); /* elements differ along the row: they are kept */
/* The first kept load of the program that reads what step i of phase p reads: its phase in *from, its step. */
int rows_owner(const struct kernel *phase, int p, int i, int *from);
int rows_owns(const struct kernel *phase, int p, int i);
int rows_foreign(const struct emit *e, const struct code *c, int i); /* step i: loaded by an earlier phase, or step */
struct row_shape rows_shape(const struct row_program *r);

/* plane.c: the tiles of a map over several axes. axis: the other one besides the last, -1: no tiles. side: of square tiles, through which
 * arrays that are read across go; 0: there are none. */
struct plane_shape {
	int axis, columns, side;
};
struct plane_shape plane_shape(const struct kernel *k);

/* The families. */
void map_emit(struct emit *e);
void plane_emit(struct emit *e);
void plane_launch(const struct kernel *k, const struct cuda_text *t, struct launch *l);
void reduce_emit(struct emit *e);
void rows_emit(struct emit *e);
void reduce_launch(
	const struct kernel *k, const struct cuda_text *t, const struct device_info *d, struct launch *l);
void reduce_part(struct emit *e); /* the function fold_part */
void scan_emit(struct emit *e);
void scan_launch(
	const struct kernel *k, const struct cuda_text *t, const struct device_info *d, struct launch *l);

static inline const char *ctype(gx_dtype t) { return type_table[t].ctype; }
static inline const char *abbr(gx_dtype t) { return type_table[t].abbr; }
static inline gx_dtype reg(gx_dtype t) { return (gx_dtype)type_table[t].reg; }

#endif
