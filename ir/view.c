/* view.c -- changes of domain. A view of an expression is the same expression over other loads: the map is pushed through every
 * operation down to loads and ranges, where it becomes part of their access. What that would make expensive is stored in a temporary
 * first: values that reductions feed and that the view repeats, function calls that it repeats, and expressions with more than
 * VIEW_LIMIT instructions (so that views of views cannot grow exponentially). */
#include <string.h>

#include "ir/ir.h"

enum { VIEW_LIMIT = 256, MEMO = 1024 };

struct rebuild {
	struct ir *ir;
	const struct shape *from;
	const struct map *map;            /* NULL for a reshape */
	struct map general;               /* a reshape as a map, made when a load needs it */
	int have_general;
	const struct shape *to;
	struct { uint32_t old, new; } memo[MEMO];   /* open addressing on old + 1; more than 2 * VIEW_LIMIT places */
};

void map_identity(struct map *m, const struct shape *from, const struct shape *to)
{
	memset(m, 0, sizeof *m);
	m->to = *to;
	for (int k = 0; k < MAX_RANK; k++)
		m->gather[k] = NO_VALUE;
	for (int k = 0; k < from->rank; k++) {
		int j = k + to->rank - from->rank;

		if (from->n[k] != 1 || to->n[j] == 1)
			m->axis[k].stride[j] = 1;
	}
}

static int is_identity(const struct map *m, const struct shape *from)
{
	if (!shape_same(from, &m->to))
		return 0;
	for (int k = 0; k < from->rank; k++) {
		if (m->gather[k] != NO_VALUE || m->axis[k].off != 0)
			return 0;
		for (int j = 0; j < m->to.rank; j++)
			if (m->axis[k].stride[j] != (j == k) && m->to.n[j] > 1)
				return 0;
	}
	return 1;
}

/* Instructions below v, up to limit + 1. */
static int weigh(struct ir *ir, uint32_t v, int limit)
{
	const struct ins *i = &ir->ins[v];
	int n = 1;

	if (ir->stamp[v] == ir->walk || i->kind == INS_CONST)
		return 0;
	ir->stamp[v] = ir->walk;
	for (int k = 0; k < i->nargs && n <= limit; k++)
		n += weigh(ir, i->kind == INS_LOAD ? ir->gather[i->gather + (unsigned)k].value : i->arg[k], limit - n);
	return n;
}

static int is_leaf(const struct ins *i)
{
	return i->kind == INS_IOTA || (i->kind == INS_LOAD && i->nargs == 0);
}

static uint32_t prepare(struct ir *ir, uint32_t v, const struct shape *from, const struct shape *to)
{
	int repeats = shape_count(to) > shape_count(from);

	if (is_leaf(&ir->ins[v]))
		return v;
	ir->walk++;
	if ((repeats && (ir->level[v] > 0 || ir->heavy[v])) || weigh(ir, v, VIEW_LIMIT) > VIEW_LIMIT)
		return ir_store(ir, v, from);
	return v;
}

static uint32_t add64(struct ir *ir, uint32_t a, uint32_t b)
{
	return ir_op(ir, OP_ADD, a, b, NO_VALUE);
}

static uint32_t scaled(struct ir *ir, uint32_t v, int64_t by)
{
	return by == 1 ? v : ir_op(ir, OP_MUL, v, ir_int(ir, GX_INT64, by, 1), NO_VALUE);
}

static uint32_t rebuild(struct rebuild *r, uint32_t v);

static struct access compose(const struct access *outer, const struct map *m, int old_rank)
{
	struct access c = {outer->off, {0}};

	for (int k = 0; k < old_rank; k++) {
		c.off += outer->stride[k] * m->axis[k].off;
		for (int j = 0; j < m->to.rank; j++)
			c.stride[j] += outer->stride[k] * m->axis[k].stride[j];
	}
	return c;
}

static uint32_t map_iota(struct rebuild *r, const struct ins *i, const struct map *m)
{
	struct ir *ir = r->ir;
	const struct access outer = ir->access[i->access];
	struct access a = compose(&outer, m, r->from->rank);
	gx_dtype type = (gx_dtype)i->type;
	uint32_t v = ir_iota(ir, &m->to, GX_INT64, &a);

	for (int k = 0; k < r->from->rank; k++)
		if (m->gather[k] != NO_VALUE && outer.stride[k] != 0)
			v = add64(ir, v, scaled(ir, m->gather[k], outer.stride[k]));
	return ir_cast(ir, type, v);
}

static uint32_t map_load(struct rebuild *r, const struct ins *load, const struct map *m)
{
	struct ir *ir = r->ir;
	struct ins i = *load;
	const struct access outer = ir->access[i.access];
	struct access a = compose(&outer, m, r->from->rank);
	struct gather g[2 * MAX_RANK + 1];
	uint64_t check = i.bits;
	int n = 0;

	for (int k = 0; k < i.nargs; k++) {
		struct gather old = ir->gather[i.gather + (unsigned)k];

		g[n].value = rebuild(r, old.value);
		g[n++].stride = old.stride;
	}
	for (int k = 0; k < r->from->rank; k++)
		if (m->gather[k] != NO_VALUE && outer.stride[k] != 0) {
			g[n].value = m->gather[k];
			g[n++].stride = outer.stride[k];
			check = m->check_level > check ? m->check_level : check;
		}
	for (int k = 0; k < n; k++)   /* a gather by a constant is an offset */
		if (ir_is_const(ir, g[k].value)) {
			a.off += (int64_t)ir->ins[g[k].value].bits * g[k].stride;
			g[k--] = g[--n];
		}
	while (n > MAX_RANK) {   /* too many terms for one load: add two up */
		g[n - 2].value = add64(ir, scaled(ir, g[n - 2].value, g[n - 2].stride), scaled(ir, g[n - 1].value, g[n - 1].stride));
		g[n - 2].stride = 1;
		n--;
	}
	return ir_load(ir, &m->to, i.source, &a, g, n, check);
}

/* A reshape as a map: an old axis that alone makes up a group of new axes is affine; others are computed from the point's linear
 * number with division and remainder. */
static const struct map *general(struct rebuild *r)
{
	struct ir *ir = r->ir;
	struct map *m = &r->general;
	struct access linear = {0, {0}};
	int64_t inner = 1;
	uint32_t number;

	if (r->have_general)
		return m;
	r->have_general = 1;
	memset(m, 0, sizeof *m);
	m->to = *r->to;
	shape_strides(r->to, linear.stride);
	number = ir_iota(ir, r->to, GX_INT64, &linear);
	for (int k = r->from->rank - 1; k >= 0; k--) {
		int64_t n = r->from->n[k];
		uint32_t v = number;

		m->gather[k] = NO_VALUE;
		if (n > 1) {
			if (inner > 1)
				v = ir_op(ir, OP_FLOORDIV_S, v, ir_int(ir, GX_INT64, inner, 1), NO_VALUE);
			if (inner * n < shape_count(r->from))
				v = ir_op(ir, OP_MOD_S, v, ir_int(ir, GX_INT64, n, 1), NO_VALUE);
			m->gather[k] = v;
		}
		inner *= n;
	}
	return m;
}

static uint32_t leaf(struct rebuild *r, uint32_t v)
{
	struct ir *ir = r->ir;
	struct ins i = ir->ins[v];
	struct access a = {0, {0}};

	if (r->map)
		return i.kind == INS_IOTA ? map_iota(r, &i, r->map) : map_load(r, &i, r->map);
	if (!(i.kind == INS_LOAD && i.nargs) && ir_affine_reshape(r->from, ir->access[i.access].stride, r->to, a.stride)) {
		a.off = ir->access[i.access].off;
		return i.kind == INS_IOTA ? ir_iota(ir, r->to, (gx_dtype)i.type, &a) : ir_load(ir, r->to, i.source, &a, NULL, 0, i.bits);
	}
	return i.kind == INS_IOTA ? map_iota(r, &i, general(r)) : map_load(r, &i, general(r));
}

static uint32_t rebuild(struct rebuild *r, uint32_t v)
{
	struct ir *ir = r->ir;
	struct ins i = ir->ins[v];   /* a copy: ins[] may move while operands are rebuilt */
	size_t at = (v * 2654435761u) % MEMO;
	uint32_t new, arg[3] = {NO_VALUE, NO_VALUE, NO_VALUE};

	if (i.kind == INS_CONST)
		return v;
	for (; r->memo[at].old; at = (at + 1) % MEMO)
		if (r->memo[at].old == v + 1)
			return r->memo[at].new;
	if (i.kind == INS_IOTA || i.kind == INS_LOAD) {
		new = leaf(r, v);
	} else {
		for (int k = 0; k < i.nargs; k++)
			arg[k] = rebuild(r, i.arg[k]);
		new = i.kind == INS_CAST ? ir_cast(ir, (gx_dtype)i.type, arg[0]) : ir_op(ir, (enum op)i.op, arg[0], arg[1], arg[2]);
	}
	for (at = (v * 2654435761u) % MEMO; r->memo[at].old; at = (at + 1) % MEMO)
		;
	r->memo[at].old = v + 1;
	r->memo[at].new = new;
	return new;
}

uint32_t ir_view(struct ir *ir, uint32_t v, const struct shape *from, const struct map *m)
{
	struct rebuild r = {.ir = ir, .from = from, .map = m, .to = &m->to};

	if (ir_is_const(ir, v) || is_identity(m, from))
		return v;
	return rebuild(&r, prepare(ir, v, from, &m->to));
}

uint32_t ir_reshape(struct ir *ir, uint32_t v, const struct shape *from, const struct shape *to)
{
	struct rebuild r = {.ir = ir, .from = from, .to = to};

	if (ir_is_const(ir, v) || shape_same(from, to))
		return v;
	return rebuild(&r, prepare(ir, v, from, to));
}
