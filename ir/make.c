/* make.c -- functions about shapes rather than elements: new arrays (arange, linspace, full, zeros, ones), other views (transpose,
 * reshape, flip, squeeze, shift) and extents as numbers (size, shape). */
#include <math.h>
#include <string.h>

#include "ir/check.h"

typedef struct val maker(struct check_state *c, struct call *k);

static const char *const no_keywords[] = {NULL};
static const char *const with_dtype[] = {"dtype", NULL};
static const char *const with_axis[] = {"axis", NULL};

static struct val array_arg(struct check_state *c, struct call *k, int i)
{
	return harden(c, eval(c, k->arg[i]));
}

/* Extents given as arguments from `first` on, or as one tuple. `free` allows one -1 and receives its axis. */
static int shape_args(struct check_state *c, struct call *k, int first, struct shape *s, int *free_axis)
{
	const struct ast *list[16];
	int n = 0;

	if (k->n == first + 1 && k->arg[first]->kind == AST_TUPLE)
		for (const struct ast *i = k->arg[first]->kid; i && n < 16; i = i->next)
			list[n++] = i;
	else
		for (int i = first; i < k->n; i++)
			list[n++] = k->arg[i];
	if (n > MAX_RANK) {
		fail(c, GX_SHAPE, k->node->span, "rank %d is above the limit of %d", n, MAX_RANK);
		return -1;
	}
	memset(s, 0, sizeof *s);
	for (int i = 0; i < n; i++) {
		int64_t v, total;

		if (known_int(c, list[i], "an extent", &v))
			return -1;
		if (v == -1 && free_axis && *free_axis < 0) {
			*free_axis = i;
			v = 1;
		}
		if (v < 0) {
			fail(c, GX_SHAPE, list[i]->span, "an extent cannot be negative, found %lld", (long long)v);
			return -1;
		}
		s->n[s->rank++] = v;
		total = 1;
		for (int j = 0; j < s->rank; j++)
			if (s->n[j] && __builtin_mul_overflow(total, s->n[j], &total)) {
				fail(c, GX_LIMIT, k->node->span, "the array would have more than 2**63-1 elements");
				return -1;
			}
	}
	return 0;
}

static struct val with_type(struct check_state *c, struct call *k, struct val v)
{
	gx_dtype t;
	int has;

	if (v.bad || dtype_keyword(c, k, &has, &t))
		return poison();
	return has ? cast_to(c, v, t, k->node->span) : v;
}

static struct val make_filled(struct check_state *c, struct call *k, struct val value, int first)
{
	struct shape s;

	if (value.bad || shape_args(c, k, first, &s, NULL))
		return poison();
	if (value.shape.rank > 0)
		return fail(c, GX_SHAPE, value.span, "full needs a single value, found shape of rank %d", value.shape.rank);
	value = with_type(c, k, value);
	if (value.bad)
		return value;
	value = harden(c, value);
	value.ins = spread(c, &value, &s);
	value.shape = s;
	return value;
}

static struct val make_full(struct check_state *c, struct call *k)
{
	if (allow_keywords(c, k, with_dtype) || too_many(c, k, 1, 1 + MAX_RANK))
		return poison();
	return make_filled(c, k, eval(c, k->arg[0]), 1);
}

static struct val make_zeros(struct check_state *c, struct call *k)
{
	return allow_keywords(c, k, with_dtype) ? poison() : make_filled(c, k, weak_float(0, 0, k->node->span), 0);
}

static struct val make_ones(struct check_state *c, struct call *k)
{
	return allow_keywords(c, k, with_dtype) ? poison() : make_filled(c, k, weak_float(1, 0, k->node->span), 0);
}

static struct val counting(struct check_state *c, int64_t n, int64_t lo, int64_t step, struct span at)
{
	struct shape s = {1, {n}};
	struct access a = {lo, {step}};

	return strong(ir_iota(c->ir, &s, GX_INT64, &a), GX_INT64, &s, at);
}

static int known_number(struct check_state *c, const struct ast *n, struct val *v)
{
	*v = eval(c, n);
	if (v->bad)
		return -1;
	if (!v->weak) {
		fail(c, GX_TYPE, n->span,
			"the arguments of a range must be known before the program runs (literals, scalar inputs without a dtype, size() or shape())");
		return -1;
	}
	return 0;
}

static double as_real(const struct val *v)
{
	return v->weak == WEAK_INT ? (double)v->integer : v->real;
}

static struct val range_int(struct check_state *c, struct call *k, wide_int lo, wide_int hi, wide_int step)
{
	wide_int n = step > 0 ? (hi - lo + step - 1) / step : (lo - hi - step - 1) / -step;

	n = (step > 0 ? hi <= lo : hi >= lo) ? 0 : n;
	if (n > INT64_MAX / 16)
		return fail(c, GX_LIMIT, k->node->span, "the range would have too many elements");
	if (lo > INT64_MAX || lo < INT64_MIN || step > INT64_MAX || step < INT64_MIN || lo + (n - 1) * step > INT64_MAX)
		return fail(c, GX_TYPE, k->node->span, "the range does not fit int64");
	return counting(c, (int64_t)n, (int64_t)lo, (int64_t)step, k->node->span);
}

/* NumPy's arithmetic: element i is lo + i * ((lo + step) - lo), and the count is ceil((hi - lo) / step). */
static struct val range_real(struct check_state *c, struct call *k, double lo, double hi, double step)
{
	double n = ceil((hi - lo) / step);
	struct val i;

	if (!(n <= 1e15))
		return fail(c, GX_LIMIT, k->node->span, "the range would have too many elements");
	i = convert(c, counting(c, n > 0 ? (int64_t)n : 0, 0, 1, k->node->span), GX_FLOAT64);
	i = apply2(c, "multiply", i, weak_float((lo + step) - lo, 1, k->node->span), k->node->span);
	return apply2(c, "add", i, weak_float(lo, 1, k->node->span), k->node->span);
}

static struct val make_arange(struct check_state *c, struct call *k)
{
	struct val v[3] = {{0}};
	struct val lo = weak_int(0, 0, k->node->span), hi, step = weak_int(1, 0, k->node->span), r;

	if (allow_keywords(c, k, with_dtype) || too_many(c, k, 1, 3))
		return poison();
	for (int i = 0; i < k->n; i++)
		if (known_number(c, k->arg[i], &v[i]))
			return poison();
	hi = v[k->n > 1];
	lo = k->n > 1 ? v[0] : lo;
	step = k->n > 2 ? v[2] : step;
	if (as_real(&step) == 0)
		return fail(c, GX_SHAPE, step.span, "the step of a range cannot be 0");
	if (lo.weak == WEAK_INT && hi.weak == WEAK_INT && step.weak == WEAK_INT)
		r = range_int(c, k, lo.integer, hi.integer, step.integer);
	else
		r = range_real(c, k, as_real(&lo), as_real(&hi), as_real(&step));
	return with_type(c, k, r);
}

static struct val make_linspace(struct check_state *c, struct call *k)
{
	struct span at = k->node->span;
	struct val v[2], i, y;
	int64_t n = 50;
	double lo, hi;

	if (allow_keywords(c, k, with_dtype) || too_many(c, k, 2, 3))
		return poison();
	if (known_number(c, k->arg[0], &v[0]) || known_number(c, k->arg[1], &v[1]) || (k->n == 3 && known_int(c, k->arg[2], "the count", &n)))
		return poison();
	if (n < 0)
		return fail(c, GX_SHAPE, k->arg[2]->span, "the count cannot be negative, found %lld", (long long)n);
	lo = as_real(&v[0]);
	hi = as_real(&v[1]);
	i = counting(c, n, 0, 1, at);
	y = apply2(c, "multiply", convert(c, i, GX_FLOAT64), weak_float(n > 1 ? (hi - lo) / (double)(n - 1) : 0, 1, at), at);
	y = apply2(c, "add", y, weak_float(lo, 1, at), at);
	if (n > 1)   /* the last element is hi itself */
		y = choose(c, apply2(c, "equal", i, weak_int(n - 1, 1, at), at), weak_float(hi, 1, at), y, at);
	return with_type(c, k, y);
}

static struct val make_size(struct check_state *c, struct call *k)
{
	struct val v;

	if (allow_keywords(c, k, no_keywords) || too_many(c, k, 1, 1))
		return poison();
	v = array_arg(c, k, 0);
	return v.bad ? v : weak_int(shape_count(&v.shape), 1, k->node->span);
}

static struct val make_shape(struct check_state *c, struct call *k)
{
	struct val v;
	int axis;

	if (allow_keywords(c, k, no_keywords) || too_many(c, k, 2, 2))
		return poison();
	v = array_arg(c, k, 0);
	if (v.bad || axis_number(c, k->arg[1], v.shape.rank, &axis))
		return poison();
	return weak_int(v.shape.n[axis], 1, k->node->span);
}

static struct val make_transpose(struct check_state *c, struct call *k)
{
	const struct ast *list[16];
	int order[MAX_RANK], n = 0;
	unsigned seen = 0;
	struct val v;

	if (allow_keywords(c, k, no_keywords) || too_many(c, k, 1, 1 + MAX_RANK))
		return poison();
	v = array_arg(c, k, 0);
	if (v.bad)
		return v;
	if (k->n == 2 && k->arg[1]->kind == AST_TUPLE)
		for (const struct ast *i = k->arg[1]->kid; i && n < 16; i = i->next)
			list[n++] = i;
	else
		for (int i = 1; i < k->n; i++)
			list[n++] = k->arg[i];
	if (n == 0)
		return transpose_value(c, v, NULL);
	if (n != v.shape.rank)
		return fail(c, GX_SHAPE, k->node->span, "transpose needs all %d axes of `%s`, found %d", v.shape.rank, span_text(c, v.span), n);
	for (int i = 0; i < n; i++) {
		if (axis_number(c, list[i], v.shape.rank, &order[i]))
			return poison();
		if (seen >> order[i] & 1)
			return fail(c, GX_SHAPE, list[i]->span, "axis %d is given twice", order[i]);
		seen |= 1u << order[i];
	}
	return transpose_value(c, v, order);
}

static struct val make_reshape(struct check_state *c, struct call *k)
{
	struct val v;
	struct shape to;
	int free_axis = -1;
	int64_t have, want;
	char s[200];

	if (allow_keywords(c, k, no_keywords) || too_many(c, k, 1, 1 + MAX_RANK))
		return poison();
	v = array_arg(c, k, 0);
	if (v.bad || shape_args(c, k, 1, &to, &free_axis))
		return poison();
	have = shape_count(&v.shape);
	want = shape_count(&to);
	if (free_axis >= 0 && want > 0 && have % want == 0)
		want *= to.n[free_axis] = have / want;
	if (have != want || (free_axis >= 0 && want == 0 && have != 0))
		return fail(c, GX_SHAPE, k->node->span, "cannot reshape `%s` of shape %s (%lld elements) to %lld elements", span_text(c, v.span),
			shape_text(&v.shape, s), (long long)have, (long long)want);
	v.ins = ir_reshape(c->ir, v.ins, &v.shape, &to);
	v.shape = to;
	return v;
}

/* axis= as a mask: an integer, a tuple, or everything when it is left out. */
static int axis_mask(struct check_state *c, struct call *k, int rank, unsigned *mask)
{
	const struct ast *n = keyword(k, "axis");
	int axis;

	*mask = 0;
	if (!n) {
		*mask = (1u << rank) - 1;
		return 0;
	}
	if (n->kind != AST_TUPLE) {
		if (axis_number(c, n, rank, &axis))
			return -1;
		*mask = 1u << axis;
		return 0;
	}
	for (const struct ast *i = n->kid; i; i = i->next) {
		if (axis_number(c, i, rank, &axis))
			return -1;
		*mask |= 1u << axis;
	}
	return 0;
}

static struct val make_flip(struct check_state *c, struct call *k)
{
	struct val v;
	struct map m;
	unsigned mask;

	if (allow_keywords(c, k, with_axis) || too_many(c, k, 1, 1))
		return poison();
	v = array_arg(c, k, 0);
	if (v.bad || axis_mask(c, k, v.shape.rank, &mask))
		return poison();
	map_identity(&m, &v.shape, &v.shape);
	for (int a = 0; a < v.shape.rank; a++)
		if (mask >> a & 1 && v.shape.n[a] > 1) {
			m.axis[a].off = v.shape.n[a] - 1;
			m.axis[a].stride[a] = -1;
		}
	v.ins = ir_view(c->ir, v.ins, &v.shape, &m);
	return v;
}

static struct val make_squeeze(struct check_state *c, struct call *k)
{
	struct val v;
	struct shape to = {0, {0}};
	unsigned mask;
	int named = keyword(k, "axis") != NULL;

	if (allow_keywords(c, k, with_axis) || too_many(c, k, 1, 1))
		return poison();
	v = array_arg(c, k, 0);
	if (v.bad || axis_mask(c, k, v.shape.rank, &mask))
		return poison();
	for (int a = 0; a < v.shape.rank; a++) {
		if (!(mask >> a & 1 && v.shape.n[a] == 1))
			to.n[to.rank++] = v.shape.n[a];
		if (named && mask >> a & 1 && v.shape.n[a] != 1)
			return fail(c, GX_SHAPE, keyword(k, "axis")->span, "axis %d of `%s` has extent %lld, not 1", a, span_text(c, v.span),
				(long long)v.shape.n[a]);
	}
	v.ins = ir_reshape(c->ir, v.ins, &v.shape, &to);
	v.shape = to;
	return v;
}

/* ---- shift ---- */

static uint32_t op(struct check_state *c, enum op o, uint32_t a, uint32_t b)
{
	return ir_op(c->ir, o, a, b, NO_VALUE);
}

static uint32_t number(struct check_state *c, int64_t v)
{
	return ir_int(c->ir, GX_INT64, v, 1);
}

static uint32_t choose64(struct check_state *c, uint32_t cond, uint32_t a, uint32_t b)
{
	return ir_op(c->ir, OP_WHERE, cond, a, b);
}

/* Coordinate i + k of the axis brought into [0, n) by the rule for edges. */
static uint32_t edge_index(struct check_state *c, const char *edge, const struct shape *s, int axis, int64_t k)
{
	struct access a = {0, {0}};
	int64_t n = s->n[axis], period = 2 * (n - 1);
	uint32_t i;

	a.stride[axis] = 1;
	if (!strcmp(edge, "wrap")) {
		a.off = (k % n + n) % n;
		i = ir_iota(c->ir, s, GX_INT64, &a);
		return choose64(c, op(c, OP_GE, i, number(c, n)), op(c, OP_SUB, i, number(c, n)), i);
	}
	if (!strcmp(edge, "reflect") && n > 1) {   /* as numpy.pad: the edge itself is not repeated */
		a.off = (k % period + period) % period;
		i = ir_iota(c->ir, s, GX_INT64, &a);
		i = op(c, OP_MOD_S, i, number(c, period));
		return choose64(c, op(c, OP_GE, i, number(c, n)), op(c, OP_SUB, number(c, period), i), i);
	}
	a.off = k > n ? n : k < -n ? -n : k;
	i = ir_iota(c->ir, s, GX_INT64, &a);
	return op(c, OP_MIN_I, op(c, OP_MAX_I, i, ir_int(c->ir, GX_INT64, 0, 0)), number(c, n - 1));
}

static const char *edge_keyword(struct check_state *c, struct call *k)
{
	static const char *const rules[] = {"clamp", "wrap", "reflect", "fill"};
	const struct ast *n = keyword(k, "edge");
	struct suggestion s = {.wanted = n && n->kind == AST_NAME ? n->name : ""};

	if (!n)
		return keyword(k, "fill") ? "fill" : "clamp";
	for (int i = 0; i < 4; i++) {
		if (n->kind == AST_NAME && !strcmp(n->name, rules[i]))
			return rules[i];
		diag_suggest(&s, rules[i]);
	}
	fail(c, GX_NAME, n->span, "edge= takes clamp, wrap, reflect or fill");
	if (s.best)
		diag_hint(c->diag, "did you mean `%s`?", s.best);
	return NULL;
}

static struct val make_shift(struct check_state *c, struct call *k)
{
	static const char *const names[] = {"axis", "edge", "fill", NULL};
	const struct ast *axis_arg = keyword(k, "axis"), *fill_arg = keyword(k, "fill");
	struct val v, index, moved, inside, fill = weak_int(0, 0, k->node->span);
	struct access a = {0, {0}};
	const char *edge;
	int64_t by;
	int axis = 0;

	if (allow_keywords(c, k, names) || too_many(c, k, 2, 2))
		return poison();
	v = array_arg(c, k, 0);
	edge = edge_keyword(c, k);
	if (v.bad || !edge || known_int(c, k->arg[1], "a shift", &by))
		return poison();
	if (v.shape.rank == 0)
		return fail(c, GX_SHAPE, k->node->span, "`%s` has rank 0: there is no axis to shift along", span_text(c, v.span));
	if (axis_arg && axis_number(c, axis_arg, v.shape.rank, &axis))
		return poison();
	if (fill_arg && (fill = eval(c, fill_arg)).bad)
		return fill;
	if (v.shape.n[axis] == 0)
		return v;
	index = strong(edge_index(c, edge, &v.shape, axis, by), GX_INT64, &v.shape, k->node->span);
	moved = gather_axis(c, v, axis, index);
	if (strcmp(edge, "fill") != 0)
		return moved;
	a.off = by > v.shape.n[axis] ? v.shape.n[axis] : by < -v.shape.n[axis] ? -v.shape.n[axis] : by;
	a.stride[axis] = 1;
	inside = strong(ir_iota(c->ir, &v.shape, GX_INT64, &a), GX_INT64, &v.shape, k->node->span);
	inside = apply2(c, "bitwise_and", apply2(c, "greater_equal", inside, weak_int(0, 0, fill.span), fill.span),
		apply2(c, "less", inside, weak_int(v.shape.n[axis], 1, fill.span), fill.span), fill.span);
	if (!fill_arg)   /* leaves bools bools */
		fill = convert(c, fill, v.type);
	return choose(c, inside, moved, fill, k->node->span);
}

static const struct {
	const char *name;
	maker *make;
	const char *forms, *doc;
} table[] = {
	{"arange", make_arange, "arange(n), arange(lo, hi), arange(lo, hi, step)", "lo, lo + step, ... below hi"},
	{"linspace", make_linspace, "linspace(lo, hi, n)", "n float64 numbers from lo to hi, both included"},
	{"full", make_full, "full(value, n, m, ...)", "an n x m x ... array of value"},
	{"zeros", make_zeros, "zeros(n, m, ...)", "float64 zeros"},
	{"ones", make_ones, "ones(n, m, ...)", "float64 ones"},
	{"size", make_size, "size(a)", "number of elements, known before the program runs"},
	{"shape", make_shape, "shape(a, axis)", "extent of an axis, known before the program runs"},
	{"transpose", make_transpose, "transpose(a), transpose(a, 1, 0, ...)", "axes in reverse, or in the order given; a.T is transpose(a)"},
	{"reshape", make_reshape, "reshape(a, n, m, ...)", "the elements in C order in another shape; one extent may be -1"},
	{"flip", make_flip, "flip(a), flip(a, axis=0)", "reversed along all axes, or those given"},
	{"squeeze", make_squeeze, "squeeze(a), squeeze(a, axis=0)", "without axes of extent 1"},
	{"shift", make_shift, "shift(a, k, axis=0, edge=clamp, fill=0)",
	 "the neighbour at distance k: element i is a[i + k]; edge is clamp, wrap, reflect or fill"},
};
enum { NTABLE = sizeof table / sizeof *table };

int make_known(const char *name)
{
	for (int i = 0; i < NTABLE; i++)
		if (strcmp(table[i].name, name) == 0)
			return 1;
	return 0;
}

void suggest_makes(struct suggestion *s)
{
	for (int i = 0; i < NTABLE; i++)
		diag_suggest(s, table[i].name);
}

void makes_table(struct buf *b)
{
	buf_str(b, "| arrays made and rearranged | |\n|---|---|\n");
	for (int i = 0; i < NTABLE; i++)
		buf_fmt(b, "| `%s` | %s |\n", table[i].forms, table[i].doc);
}

int make_call(struct check_state *c, struct call *k, struct val *out)
{
	const char *name = alias_resolve(k->node->name);

	for (int i = 0; i < NTABLE; i++)
		if (strcmp(table[i].name, name) == 0) {
			*out = table[i].make(c, k);
			return 1;
		}
	return 0;
}
