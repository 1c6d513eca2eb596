/* index.c -- a[...]: integers, slices, None, ..., and gathers by integer arrays, as one map from the result's domain to the base's;
 * NumPy's rules say where the axes of index arrays go. Also transposition and gathers along one axis. */
#include <string.h>

#include "ir/check.h"

enum item_kind { ITEM_INT, ITEM_SLICE, ITEM_NEW, ITEM_ARRAY };

struct item {
	enum item_kind kind;
	const struct ast *node;   /* NULL for the axes that ... stands for */
	int64_t lo, step, count;  /* ITEM_INT: lo; ITEM_SLICE */
	struct val array;
};

static int slice_bounds(struct check_state *c, const struct ast *n, int64_t extent, struct item *it)
{
	const struct ast *lo = n->kid, *hi = lo->next, *step = hi->next;
	int64_t first, last, low, high;

	it->kind = ITEM_SLICE;
	it->step = 1;
	if (step->kind != AST_NONE && known_int(c, step, "the step of a slice", &it->step))
		return -1;
	if (it->step == 0) {
		fail(c, GX_SHAPE, step->span, "the step of a slice cannot be 0");
		return -1;
	}
	if (it->step == INT64_MIN)
		it->step = -INT64_MAX;
	low = it->step < 0 ? -1 : 0;
	high = it->step < 0 ? extent - 1 : extent;
	first = it->step < 0 ? high : low;
	last = it->step < 0 ? low : high;
	if (lo->kind != AST_NONE) {
		if (known_int(c, lo, "the start of a slice", &first))
			return -1;
		first = first < 0 ? first + extent : first;
		first = first < low ? low : first > high ? high : first;
	}
	if (hi->kind != AST_NONE) {
		if (known_int(c, hi, "the end of a slice", &last))
			return -1;
		last = last < 0 ? last + extent : last;
		last = last < low ? low : last > high ? high : last;
	}
	it->lo = first;
	/* cppcheck-suppress zerodivcond ; a step of 0 was refused above */
	it->count = it->step > 0 ? (last - first + it->step - 1) / it->step : (first - last - it->step - 1) / -it->step;
	if (it->count <= 0) {
		it->count = 0;
		it->lo = 0;
	}
	return 0;
}

static int array_item(struct check_state *c, const struct ast *n, struct val v, struct item *it)
{
	if (v.type == GX_BOOL) {
		fail(c, GX_UNSUPPORTED, n->span, "indexing by a mask is not supported: its result has no fixed shape");
		diag_hint(c->diag, "where(mask, a, 0) keeps the shape; sum(where(mask, a, 0)) / count(mask) is a masked mean");
		return -1;
	}
	if (v.weak || !type_has(v.type, C_SINT | C_UINT)) {
		fail(c, GX_TYPE, n->span, "an index must be an integer, a slice, None, ... or an integer array, found %s", type_table[v.type].name);
		return -1;
	}
	it->kind = ITEM_ARRAY;
	it->array = v;
	return 0;
}

static int index_item(struct check_state *c, const struct ast *n, const struct val *base, int axis, struct item *it)
{
	int64_t extent = base->shape.n[axis];
	struct val v;

	if (n->kind == AST_SLICE)
		return slice_bounds(c, n, extent, it);
	v = eval(c, n);
	if (v.bad)
		return -1;
	if (v.weak != WEAK_INT)
		return array_item(c, n, v, it);
	it->kind = ITEM_INT;
	if (v.integer < -(wide_int)extent || v.integer >= extent) {
		fail(c, GX_INDEX, n->span, "index %lld is out of range for axis %d of `%s` (size %lld)", (long long)v.integer, axis,
			span_text(c, base->span), (long long)extent);
		return -1;
	}
	it->lo = (int64_t)(v.integer < 0 ? v.integer + extent : v.integer);
	return 0;
}

/* The items with ... spelled out as full slices; the number of items or -1. */
static int items(struct check_state *c, const struct ast *n, const struct val *base, struct item *it, int max)
{
	int used = 0, ellipses = 0, count = 0, axis = 0, fill;
	char s[200];

	for (const struct ast *i = n->kid->next; i; i = i->next) {
		used += i->kind != AST_NONE && i->kind != AST_ELLIPSIS;
		ellipses += i->kind == AST_ELLIPSIS;
		if (ellipses == 2) {
			fail(c, GX_SHAPE, i->span, "an index can have only one ...");
			return -1;
		}
	}
	fill = base->shape.rank - used;
	if (fill < 0) {
		fail(c, GX_SHAPE, n->span, "too many indices: `%s` has rank %d and shape %s", span_text(c, base->span), base->shape.rank,
			shape_text(&base->shape, s));
		return -1;
	}
	for (const struct ast *i = n->kid->next; i || fill > 0; i = i ? i->next : NULL) {
		int spell = !i || i->kind == AST_ELLIPSIS ? fill : 0;

		for (; spell > 0; spell--, fill--, axis++)
			if (count < max)
				it[count++] = (struct item){.kind = ITEM_SLICE, .step = 1, .count = base->shape.n[axis]};
		if (!i || i->kind == AST_ELLIPSIS)
			continue;
		if (count == max) {
			fail(c, GX_SHAPE, i->span, "the result would have more than %d axes", MAX_RANK);
			return -1;
		}
		it[count].node = i;
		if (i->kind == AST_NONE)
			it[count].kind = ITEM_NEW;
		else if (index_item(c, i, base, axis++, &it[count]))
			return -1;
		count++;
	}
	return count;
}

/* An index array as int64, counted from the start, over the domain `to` where its own axes begin at `place`; a check of its range is
 * recorded. */
static uint32_t gather_index(struct check_state *c, const struct item *it, const struct val *base, int axis, const struct shape *common,
	const struct shape *to, int place, uint64_t *level)
{
	struct ir *ir = c->ir;
	struct val v = it->array;
	int64_t n = base->shape.n[axis];
	struct check check = {.size = n, .axis = axis, .array = span_text(c, base->span), .index = span_text(c, it->node->span),
		.shape = v.shape, .span = it->node->span};
	struct map m;
	uint32_t negative, wrapped;

	if (n == 0 && shape_count(to) > 0) {
		fail(c, GX_INDEX, it->node->span, "every index is out of range: axis %d of `%s` has size 0", axis, check.array);
		return v.ins;
	}
	if (v.type == GX_UINT64)   /* so that 2^64 - 1 is not taken for -1 */
		v.ins = ir_op(ir, OP_MIN_I, v.ins, ir_const(ir, GX_UINT64, INT64_MAX, 0), NO_VALUE);
	v.ins = ir_cast(ir, GX_INT64, v.ins);
	v.type = GX_INT64;
	check.value = v.ins;
	if (!ir_is_const(ir, v.ins)) {
		arena_push(c->arena, ir->check, ir->ncheck, ir->check_cap, check);
		*level = ir->level[v.ins] + 1u > *level ? ir->level[v.ins] + 1u : *level;
	} else if ((int64_t)ir->ins[v.ins].bits < -n || (int64_t)ir->ins[v.ins].bits >= n) {
		fail(c, GX_INDEX, it->node->span, "index %lld is out of range for axis %d of `%s` (size %lld)", (long long)ir->ins[v.ins].bits,
			axis, check.array, (long long)n);
	}
	wrapped = ir_op(ir, OP_ADD, v.ins, ir_int(ir, GX_INT64, n, 1), NO_VALUE);
	negative = ir_op(ir, OP_LT, v.ins, ir_int(ir, GX_INT64, 0, 0), NO_VALUE);
	v.ins = ir_op(ir, OP_WHERE, negative, wrapped, v.ins);
	v.ins = spread(c, &v, common);
	memset(&m, 0, sizeof m);
	m.to = *to;
	for (int k = 0; k < MAX_RANK; k++)
		m.gather[k] = NO_VALUE;
	for (int k = 0; k < common->rank; k++)
		m.axis[k].stride[place + k] = 1;
	return ir_view(ir, v.ins, common, &m);
}

/* Where the axes of index arrays go: in place of the first of the array and integer indices when those are neighbours, else first. */
static int array_place(const struct item *it, int n)
{
	int first = -1, last = -1, dims = 0, place = 0;

	for (int i = 0; i < n; i++)
		if (it[i].kind == ITEM_ARRAY || it[i].kind == ITEM_INT) {
			if (first < 0)
				place = dims;
			if (last >= 0 && last != i - 1)
				return 0;
			first = first < 0 ? i : first;
			last = i;
		} else {
			dims++;
		}
	return place;
}

static int result_shape(struct check_state *c, const struct ast *n, const struct item *it, int count, int arrays,
	const struct shape *common, int place, struct shape *to)
{
	int dims = arrays ? common->rank : 0;

	memset(to, 0, sizeof *to);
	for (int i = 0; i < count; i++)
		dims += it[i].kind == ITEM_SLICE || it[i].kind == ITEM_NEW;
	if (dims > MAX_RANK) {
		fail(c, GX_SHAPE, n->span, "the result would have rank %d; the limit is %d", dims, MAX_RANK);
		return -1;
	}
	for (int i = 0, j = 0; j <= dims; i++) {
		if (arrays && j == place) {
			for (int k = 0; k < common->rank; k++)
				to->n[j++] = common->n[k];
			arrays = 0;
			i--;
			continue;
		}
		if (i >= count)
			break;
		if (it[i].kind == ITEM_SLICE || it[i].kind == ITEM_NEW)
			to->n[j++] = it[i].kind == ITEM_NEW ? 1 : it[i].count;
	}
	to->rank = dims;
	return 0;
}

struct val index_value(struct check_state *c, const struct ast *n)
{
	struct val base = harden(c, eval(c, n->kid)), array[MAX_RANK];
	struct item it[2 * MAX_RANK];
	struct shape common = {0, {0}}, from = base.shape;
	struct map m;
	int count, arrays = 0, place, axis = 0, dim = 0;

	memset(it, 0, sizeof it);
	if (base.bad || (count = items(c, n, &base, it, 2 * MAX_RANK)) < 0)
		return poison();
	for (int i = 0; i < count; i++)
		if (it[i].kind == ITEM_ARRAY)
			array[arrays++] = it[i].array;
	if (broadcast(c, array, arrays, n->span, &common))
		return poison();
	place = arrays ? array_place(it, count) : 0;
	memset(&m, 0, sizeof m);
	if (result_shape(c, n, it, count, arrays, &common, place, &m.to))
		return poison();
	for (int k = 0; k < MAX_RANK; k++)
		m.gather[k] = NO_VALUE;
	for (int i = 0; i < count; i++) {
		if (arrays && dim == place)
			dim += common.rank;
		switch (it[i].kind) {
		case ITEM_NEW:
			dim++;
			break;
		case ITEM_INT:
			m.axis[axis++].off = it[i].lo;
			break;
		case ITEM_SLICE:
			m.axis[axis].off = it[i].lo;
			m.axis[axis++].stride[dim++] = it[i].step;
			break;
		case ITEM_ARRAY:
			m.gather[axis] = gather_index(c, &it[i], &base, axis, &common, &m.to, place, &m.check_level);
			axis++;
			break;
		}
	}
	if (c->diag->status != GX_OK)
		return poison();
	base.ins = ir_view(c->ir, base.ins, &from, &m);
	base.shape = m.to;
	base.span = n->span;
	return base;
}

struct val gather_axis(struct check_state *c, struct val a, int axis, struct val index)
{
	struct map m;

	map_identity(&m, &a.shape, &a.shape);
	m.axis[axis].stride[axis] = 0;
	m.gather[axis] = index.ins;
	if (ir_is_const(c->ir, index.ins)) {
		m.axis[axis].off = (int64_t)c->ir->ins[index.ins].bits;
		m.gather[axis] = NO_VALUE;
	}
	a.ins = ir_view(c->ir, a.ins, &a.shape, &m);
	return a;
}

struct val transpose_value(struct check_state *c, struct val a, const int *order)
{
	struct map m;

	if (a.bad)
		return a;
	memset(&m, 0, sizeof m);
	m.to.rank = a.shape.rank;
	for (int k = 0; k < MAX_RANK; k++)
		m.gather[k] = NO_VALUE;
	for (int j = 0; j < a.shape.rank; j++) {
		int k = order ? order[j] : a.shape.rank - 1 - j;

		m.to.n[j] = a.shape.n[k];
		m.axis[k].stride[j] = 1;
	}
	a.ins = ir_view(c->ir, a.ins, &a.shape, &m);
	a.shape = m.to;
	return a;
}
