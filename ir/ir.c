/* ir.c -- builders of the IR: equal instructions are one instruction (open-addressing hash table over ins[]), operations on
 * constants are evaluated at once, operands of commutative operations are sorted. Nothing here may change a bit of a result: no
 * x*0, x-x or x+0 rules. */
#include "ir/ir.h"

#include <string.h>

#include "base/hash.h"

struct ir *ir_new(struct arena *a, struct diag *d)
{
	struct ir *ir = arena_new(a, struct ir);

	ir->arena = a;
	ir->diag = d;
	ir->table_size = 256;
	ir->table = arena_array(a, uint32_t, ir->table_size);   /* 0 = empty, else ins + 1 */
	return ir;
}

static uint32_t shape_id(struct ir *ir, const struct shape *s)
{
	for (size_t i = ir->nshape; i > 0 && i + 64 > ir->nshape; i--)   /* recent ones; a duplicate entry costs nothing but a miss */
		if (shape_same(&ir->shape[i - 1], s))
			return (uint32_t)(i - 1);
	for (size_t i = 0; i < ir->nshape; i++)
		if (shape_same(&ir->shape[i], s))
			return (uint32_t)i;
	arena_push(ir->arena, ir->shape, ir->nshape, ir->shape_cap, *s);
	return (uint32_t)(ir->nshape - 1);
}

/* What makes two instructions equal: the fields, and for loads and ranges the access and gathers themselves. */
static uint64_t ins_hash(const struct ir *ir, const struct ins *i)
{
	struct ins key = *i;
	uint64_t h;

	key.access = key.gather = 0;
	h = hash_bytes(&key, sizeof key, 1);
	if (i->kind == INS_IOTA || i->kind == INS_LOAD)
		h = hash_bytes(&ir->access[i->access], sizeof *ir->access, h);
	if (i->kind == INS_LOAD && i->nargs)
		h = hash_bytes(&ir->gather[i->gather], sizeof *ir->gather * i->nargs, h);
	return h;
}

static int ins_same(const struct ir *ir, const struct ins *a, const struct ins *b)
{
	struct ins x = *a, y = *b;

	x.access = y.access = x.gather = y.gather = 0;
	if (memcmp(&x, &y, sizeof x) != 0)
		return 0;
	if ((a->kind == INS_IOTA || a->kind == INS_LOAD) && memcmp(&ir->access[a->access], &ir->access[b->access], sizeof *ir->access) != 0)
		return 0;
	return a->kind != INS_LOAD || !a->nargs ||
		memcmp(&ir->gather[a->gather], &ir->gather[b->gather], sizeof *ir->gather * a->nargs) == 0;
}

static void table_grow(struct ir *ir)
{
	size_t size = ir->table_size * 2;
	uint32_t *table = arena_array(ir->arena, uint32_t, size);

	for (uint32_t v = 0; v < ir->nins; v++) {
		size_t at = ins_hash(ir, &ir->ins[v]) & (size - 1);

		while (table[at])
			at = (at + 1) & (size - 1);
		table[at] = v + 1;
	}
	ir->table = table;
	ir->table_size = size;
}

static void facts(struct ir *ir, uint32_t v)
{
	const struct ins *i = &ir->ins[v];
	uint16_t level = 0;
	uint8_t heavy = i->kind == INS_OP && op_table[i->op].heavy;

	for (int k = 0; k < i->nargs; k++) {
		uint32_t a = i->kind == INS_LOAD ? ir->gather[i->gather + (unsigned)k].value : i->arg[k];

		level = ir->level[a] > level ? ir->level[a] : level;
		heavy |= ir->heavy[a];
	}
	if (i->kind == INS_LOAD) {
		const struct source *s = &ir->source[i->source];

		if (i->bits > level)
			level = (uint16_t)i->bits;
		if (s->kind == SOURCE_TEMP && ir->level[ir->def[s->def].value] + 1 > level)
			level = (uint16_t)(ir->level[ir->def[s->def].value] + 1);
	}
	ir->level[v] = level;
	ir->heavy[v] = heavy;
}

/* Columns beside ins[] grow with it. */
static void *column(struct ir *ir, void *old, size_t size)
{
	void *p = arena_alloc(ir->arena, ir->ins_cap * size);

	if (ir->nins)
		memcpy(p, old, ir->nins * size);
	return p;
}

static uint32_t intern(struct ir *ir, const struct ins *i)
{
	size_t at = ins_hash(ir, i) & (ir->table_size - 1);

	for (; ir->table[at]; at = (at + 1) & (ir->table_size - 1))
		if (ins_same(ir, &ir->ins[ir->table[at] - 1], i))
			return ir->table[at] - 1;
	if (ir->nins == ir->ins_cap) {
		ir->ins = arena_grow(ir->arena, ir->ins, ir->nins, &ir->ins_cap, sizeof *ir->ins);
		ir->level = column(ir, ir->level, sizeof *ir->level);
		ir->heavy = column(ir, ir->heavy, sizeof *ir->heavy);
		ir->stored = column(ir, ir->stored, sizeof *ir->stored);
		ir->stamp = column(ir, ir->stamp, sizeof *ir->stamp);
	}
	ir->ins[ir->nins++] = *i;
	ir->table[at] = (uint32_t)ir->nins;
	facts(ir, (uint32_t)ir->nins - 1);
	if (ir->nins * 2 > ir->table_size)
		table_grow(ir);
	return (uint32_t)ir->nins - 1;
}

static struct ins blank(enum ins_kind kind, gx_dtype type)
{
	struct ins i;

	memset(&i, 0, sizeof i);   /* padding too: instructions are hashed as bytes */
	i.kind = (uint8_t)kind;
	i.type = (uint8_t)type;
	i.shape = NO_VALUE;
	i.arg[0] = i.arg[1] = i.arg[2] = NO_VALUE;
	return i;
}

uint32_t ir_const(struct ir *ir, gx_dtype type, uint64_t bits, int by_arg)
{
	struct ins i = blank(INS_CONST, type);
	unsigned bytes = type_table[type].bytes;

	i.bits = bytes == 8 ? bits : bits & ((UINT64_C(1) << bytes * 8) - 1);
	i.by_arg = (uint8_t)(by_arg != 0);
	return intern(ir, &i);
}

uint32_t ir_float(struct ir *ir, gx_dtype type, double v, int by_arg)
{
	uint64_t bits = 0;
	float f = (float)v;

	if (type == GX_FLOAT32)
		memcpy(&bits, &f, sizeof f);
	else
		memcpy(&bits, &v, sizeof v);
	return ir_const(ir, type, bits, by_arg);
}

uint32_t ir_int(struct ir *ir, gx_dtype type, int64_t v, int by_arg)
{
	if (type_has(type, C_FLT))
		return ir_float(ir, type, (double)v, by_arg);
	return ir_const(ir, type, type == GX_BOOL ? v != 0 : (uint64_t)v, by_arg);
}

static uint32_t push_access(struct ir *ir, const struct access *a, int rank)
{
	struct access clean;

	memset(&clean, 0, sizeof clean);
	clean.off = a->off;
	memcpy(clean.stride, a->stride, sizeof *a->stride * (size_t)rank);
	arena_push(ir->arena, ir->access, ir->naccess, ir->access_cap, clean);
	return (uint32_t)(ir->naccess - 1);
}

/* Axes of extent 1 never move: their strides are 0, so that equal loads look equal. */
static struct access canonical(const struct shape *s, const struct access *a)
{
	struct access c = *a;

	for (int k = 0; k < s->rank; k++)
		if (s->n[k] <= 1)
			c.stride[k] = 0;
	return c;
}

uint32_t ir_iota(struct ir *ir, const struct shape *s, gx_dtype type, const struct access *a)
{
	struct ins i = blank(INS_IOTA, type);
	struct access c = canonical(s, a);

	i.shape = shape_id(ir, s);
	i.access = push_access(ir, &c, s->rank);
	return intern(ir, &i);
}

uint32_t ir_load(struct ir *ir, const struct shape *s, uint32_t source, const struct access *a, const struct gather *g, int ngather,
	uint64_t check_level)
{
	struct ins i = blank(INS_LOAD, (gx_dtype)type_table[ir->source[source].mem].reg);
	struct access c = canonical(s, a);

	i.shape = shape_id(ir, s);
	i.access = push_access(ir, &c, s->rank);
	i.source = source;
	i.bits = check_level;
	i.nargs = (uint8_t)ngather;
	i.gather = (uint32_t)ir->ngather;
	for (int k = 0; k < ngather; k++) {
		struct gather clean;

		memset(&clean, 0, sizeof clean);
		clean.value = g[k].value;
		clean.stride = g[k].stride;
		arena_push(ir->arena, ir->gather, ir->ngather, ir->gather_cap, clean);
	}
	return intern(ir, &i);
}

uint32_t ir_load_all(struct ir *ir, uint32_t source)
{
	const struct source *s = &ir->source[source];
	struct shape shape = s->shape;
	struct access a = {0, {0}};

	memcpy(a.stride, s->stride, sizeof a.stride);
	return ir_load(ir, &shape, source, &a, NULL, 0, 0);
}

uint32_t ir_input(struct ir *ir, int input, const char *name, gx_dtype mem, const struct shape *s, const int64_t *stride)
{
	struct source src = {.kind = SOURCE_INPUT, .mem = mem, .shape = *s, .input = input, .name = name};

	memcpy(src.stride, stride, sizeof *stride * (size_t)s->rank);
	arena_push(ir->arena, ir->source, ir->nsource, ir->source_cap, src);
	return ir_load_all(ir, (uint32_t)(ir->nsource - 1));
}

int ir_is_const(const struct ir *ir, uint32_t v)
{
	return ir->ins[v].kind == INS_CONST;
}

uint32_t ir_op(struct ir *ir, enum op op, uint32_t a, uint32_t b, uint32_t c)
{
	const struct op_info *info = &op_table[op];
	uint32_t arg[3] = {a, b, c};
	int n = info->arity, constant = 1, by_arg = 0;
	gx_dtype type = (gx_dtype)ir->ins[arg[n - 1]].type;
	struct ins i = blank(INS_OP, info->result == TEST ? GX_BOOL : type);

	if (info->flags & COMM && a > b) {
		arg[0] = b;
		arg[1] = a;
	}
	for (int k = 0; k < n; k++) {
		const struct ins *x = &ir->ins[arg[k]];

		constant &= x->kind == INS_CONST;
		by_arg |= x->by_arg;
		i.arg[k] = arg[k];
		if (x->kind != INS_CONST)
			i.shape = x->shape;
	}
	if (constant)
		return ir_const(ir, (gx_dtype)i.type, fold_op(op, type, ir->ins[arg[0]].bits, n > 1 ? ir->ins[arg[1]].bits : 0,
			n > 2 ? ir->ins[arg[2]].bits : 0), by_arg);
	i.op = (uint16_t)op;
	i.nargs = (uint8_t)n;
	return intern(ir, &i);
}

uint32_t ir_cast(struct ir *ir, gx_dtype to, uint32_t v)
{
	const struct ins *x = &ir->ins[v];
	struct ins i = blank(INS_CAST, to);

	if (x->type == to)
		return v;
	if (x->kind == INS_CONST)
		return ir_const(ir, to, fold_cast(to, (gx_dtype)x->type, x->bits), x->by_arg);
	i.arg[0] = v;
	i.nargs = 1;
	i.shape = x->shape;
	return intern(ir, &i);
}

static uint32_t temporary(struct ir *ir, gx_dtype mem, const struct shape *s)
{
	struct source src = {.kind = SOURCE_TEMP, .mem = mem, .shape = *s, .input = -1, .def = (uint32_t)ir->ndef};

	src.name = arena_fmt(ir->arena, "t%zu", ir->ndef);
	shape_strides(s, src.stride);
	arena_push(ir->arena, ir->source, ir->nsource, ir->source_cap, src);
	return (uint32_t)(ir->nsource - 1);
}

uint32_t ir_store(struct ir *ir, uint32_t v, const struct shape *s)
{
	struct def d = {.kind = DEF_STORE, .value = v, .position = NO_VALUE, .span = ir->span};

	if (ir_is_const(ir, v))
		return v;
	if (ir->stored[v])
		return ir_load_all(ir, ir->def[ir->stored[v] - 1].source);
	d.source = temporary(ir, (gx_dtype)ir->ins[v].type, s);
	arena_push(ir->arena, ir->def, ir->ndef, ir->def_cap, d);
	ir->stored[v] = (uint32_t)ir->ndef;
	return ir_load_all(ir, d.source);
}

/* A constant gets a domain: the same constant on both sides of a condition over it. */
static uint32_t with_domain(struct ir *ir, uint32_t v, const struct shape *s)
{
	struct access linear = {0, {0}};
	uint32_t number;

	if (!ir_is_const(ir, v))
		return v;
	shape_strides(s, linear.stride);
	number = ir_iota(ir, s, GX_INT64, &linear);
	return ir_op(ir, OP_WHERE, ir_op(ir, OP_EQ, number, ir_int(ir, GX_INT64, 0, 0), NO_VALUE), v, v);
}

/* The temporary of a reduction or scan, the same one for the same definition. */
static uint32_t define(struct ir *ir, struct def *d, gx_dtype mem, const struct shape *s)
{
	for (size_t i = ir->ndef; i > 0; i--) {
		const struct def *e = &ir->def[i - 1];

		if (e->kind == d->kind && e->value == d->value && e->position == d->position && e->red == d->red && e->axes == d->axes &&
			shape_same(&ir->source[e->source].shape, s))
			return ir_load_all(ir, e->source);
	}
	d->source = temporary(ir, mem, s);
	arena_push(ir->arena, ir->def, ir->ndef, ir->def_cap, *d);
	return ir_load_all(ir, d->source);
}

uint32_t ir_reduce(struct ir *ir, enum red red, uint32_t v, uint32_t position, const struct shape *s, unsigned axes, struct shape *kept)
{
	struct def d = {.kind = DEF_REDUCE, .value = v, .position = position, .red = red, .axes = axes, .span = ir->span};
	gx_dtype mem = red_table[red].state == PAIR ? GX_INT64 : (gx_dtype)ir->ins[v].type;

	*kept = *s;
	for (int k = 0; k < s->rank; k++)
		if (axes >> k & 1)
			kept->n[k] = 1;
	d.value = with_domain(ir, v, s);
	return define(ir, &d, mem, kept);
}

uint32_t ir_scan(struct ir *ir, enum red red, uint32_t v, const struct shape *s, int axis)
{
	struct def d = {.kind = DEF_SCAN, .position = NO_VALUE, .red = red, .axes = 1u << axis, .span = ir->span};

	if (s->n[axis] == 1 || shape_count(s) == 0)
		return v;
	d.value = with_domain(ir, v, s);
	return define(ir, &d, (gx_dtype)ir->ins[v].type, s);
}
