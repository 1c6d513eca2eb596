/* reduce.c -- the reductions of the language, each built from rows of reductions.def and elementwise operations around them.
 * Sums and products of floats accumulate in float64 and are rounded once, at the end. */
#include <math.h>
#include <string.h>

#include "ir/check.h"

struct reduction {
	struct check_state *c;
	struct call *k;
	struct val a;            /* what is reduced, strong */
	unsigned axes;
	int64_t count;           /* elements that each result is made of */
	int keepdims, has_dtype;
	gx_dtype dtype;
	double ddof;
	struct span at;
};

static struct val fold(struct reduction *r, const char *red, struct val v, gx_dtype acc)
{
	struct check_state *c = r->c;
	struct shape kept;
	uint32_t ins;

	if (v.bad)
		return v;
	v.ins = ir_cast(c->ir, acc, v.ins);
	ins = ir_reduce(c->ir, red_find(red, acc), v.ins, NO_VALUE, &v.shape, r->axes, &kept);
	return strong(ins, acc, &kept, r->at);
}

/* The type that sums are made in, and the type of their result. */
static gx_dtype sum_type(const struct reduction *r)
{
	gx_dtype t = r->has_dtype ? r->dtype : r->a.type;

	if (type_has(t, C_HALF | C_FLT))
		return GX_FLOAT64;
	return type_has(t, C_UINT) ? GX_UINT64 : GX_INT64;
}

static gx_dtype sum_result(const struct reduction *r)
{
	if (r->has_dtype)
		return r->dtype;
	return type_has(r->a.type, C_HALF | C_FLT) ? r->a.type : sum_type(r);
}

/* A float64 value as the float type t. */
static struct val narrow(struct check_state *c, struct val v, gx_dtype t)
{
	return cast_to(c, v, t, v.span);
}

static struct val real(struct reduction *r, double x)
{
	return weak_float(x, 1, r->at);
}

static gx_dtype mean_type(const struct reduction *r)
{
	if (r->has_dtype)
		return r->dtype;
	return type_has(r->a.type, C_HALF | C_FLT) ? r->a.type : GX_FLOAT64;
}

static struct val typed(struct reduction *r, struct val v)   /* dtype= converts the elements first */
{
	return r->has_dtype ? cast_to(r->c, v, r->dtype, r->at) : v;
}

static struct val red_sum(struct reduction *r)
{
	return narrow(r->c, fold(r, "sum", typed(r, r->a), sum_type(r)), sum_result(r));
}

static struct val red_prod(struct reduction *r)
{
	return narrow(r->c, fold(r, "prod", typed(r, r->a), sum_type(r)), sum_result(r));
}

static struct val red_min(struct reduction *r)
{
	struct val v = fold(r, "min", r->a, reg_of(r->a.type));

	v.type = r->a.type;
	return v;
}

static struct val red_max(struct reduction *r)
{
	struct val v = fold(r, "max", r->a, reg_of(r->a.type));

	v.type = r->a.type;
	return v;
}

static struct val red_any(struct reduction *r)
{
	return fold(r, "max", truth(r->c, r->a), GX_BOOL);
}

static struct val red_all(struct reduction *r)
{
	return fold(r, "min", truth(r->c, r->a), GX_BOOL);
}

static struct val red_count(struct reduction *r)
{
	return fold(r, "sum", truth(r->c, r->a), GX_INT64);
}

static struct val red_mean(struct reduction *r)
{
	struct val s = fold(r, "sum", typed(r, r->a), GX_FLOAT64);

	return narrow(r->c, apply2(r->c, "divide", s, real(r, (double)r->count), r->at), mean_type(r));
}

static struct val variance(struct reduction *r)
{
	struct val m2 = fold(r, "m2", typed(r, r->a), GX_FLOAT64);
	double n = (double)r->count - r->ddof;

	return apply2(r->c, "divide", m2, real(r, n > 0 ? n : 0), r->at);
}

static struct val red_var(struct reduction *r)
{
	return narrow(r->c, variance(r), mean_type(r));
}

static struct val red_std(struct reduction *r)
{
	return narrow(r->c, apply1(r->c, "sqrt", variance(r), r->at), mean_type(r));
}

static struct val red_arg(struct reduction *r, const char *red)
{
	struct check_state *c = r->c;
	struct access position = {0, {0}};
	int64_t stride = 1;
	struct shape kept;
	uint32_t ins;

	for (int k = r->a.shape.rank - 1; k >= 0; k--)
		if (r->axes >> k & 1) {
			position.stride[k] = stride;
			stride *= r->a.shape.n[k];
		}
	ins = ir_reduce(c->ir, red_find(red, reg_of(r->a.type)), r->a.ins, ir_iota(c->ir, &r->a.shape, GX_INT64, &position), &r->a.shape,
		r->axes, &kept);
	return strong(ins, GX_INT64, &kept, r->at);
}

static struct val red_argmin(struct reduction *r)
{
	return red_arg(r, "argmin");
}

static struct val red_argmax(struct reduction *r)
{
	return red_arg(r, "argmax");
}

static struct val red_norm(struct reduction *r)
{
	struct val v = convert(r->c, r->a, GX_FLOAT64), s = fold(r, "sum", apply1(r->c, "square", v, r->at), GX_FLOAT64);

	return narrow(r->c, apply1(r->c, "sqrt", s, r->at), mean_type(r));
}

/* log(sum(exp(x))), shifted by the maximum where that is finite. */
static struct val red_logsumexp(struct reduction *r)
{
	struct check_state *c = r->c;
	gx_dtype t = float_of(r->a.type);
	struct val x = convert(c, r->a, t), m, shift, s;

	m = fold(r, "max", x, reg_of(t));
	m.type = t;
	shift = choose(c, apply1(c, "isfinite", m, r->at), m, weak_float(0, 0, r->at), r->at);
	s = fold(r, "sum", apply1(c, "exp", apply2(c, "subtract", x, shift, r->at), r->at), GX_FLOAT64);
	s = apply2(c, "add", apply1(c, "log", s, r->at), convert(c, shift, GX_FLOAT64), r->at);
	return narrow(c, s, t);
}

/* ---- ignoring NaN ---- */

static struct val without_nan(struct reduction *r, double instead)
{
	if (!type_has(r->a.type, C_HALF | C_FLT))
		return r->a;
	return choose(r->c, apply1(r->c, "isnan", r->a, r->at), weak_float(instead, 0, r->at), r->a, r->at);
}

static struct val red_nansum(struct reduction *r)
{
	r->a = without_nan(r, 0);
	return red_sum(r);
}

static struct val red_nanprod(struct reduction *r)
{
	r->a = without_nan(r, 1);
	return red_prod(r);
}

static struct val nan_extreme(struct reduction *r, const char *flt, const char *other)
{
	int is_float = type_has(r->a.type, C_HALF | C_FLT);
	struct val v = fold(r, is_float ? flt : other, r->a, reg_of(r->a.type));

	v.type = r->a.type;
	return v;
}

static struct val red_nanmin(struct reduction *r)
{
	return nan_extreme(r, "fmin", "min");
}

static struct val red_nanmax(struct reduction *r)
{
	return nan_extreme(r, "fmax", "max");
}

static struct val numbers(struct reduction *r)   /* how many are not NaN */
{
	struct check_state *c = r->c;
	struct val is_number = apply1(c, "invert", apply1(c, "isnan", r->a, r->at), r->at);

	return convert(c, fold(r, "sum", is_number, GX_INT64), GX_FLOAT64);
}

static struct val nan_mean(struct reduction *r)   /* float64 */
{
	return apply2(r->c, "divide", fold(r, "sum", without_nan(r, 0), GX_FLOAT64), numbers(r), r->at);
}

static struct val red_nanmean(struct reduction *r)
{
	if (!type_has(r->a.type, C_HALF | C_FLT))
		return red_mean(r);
	r->a = typed(r, r->a);
	return narrow(r->c, nan_mean(r), mean_type(r));
}

static struct val nan_variance(struct reduction *r)
{
	struct check_state *c = r->c;
	struct val x = convert(c, r->a, GX_FLOAT64), d, n, s;

	if (!type_has(r->a.type, C_HALF | C_FLT))
		return variance(r);
	d = apply1(c, "square", apply2(c, "subtract", x, nan_mean(r), r->at), r->at);
	d = choose(c, apply1(c, "isnan", r->a, r->at), weak_float(0, 0, r->at), d, r->at);
	s = fold(r, "sum", d, GX_FLOAT64);
	n = apply2(c, "subtract", numbers(r), weak_float(r->ddof, 1, r->at), r->at);
	/* As nanvar does: no degrees of freedom gives NaN. */
	n = choose(c, apply2(c, "greater", n, weak_float(0, 0, r->at), r->at), n, weak_float(NAN, 0, r->at), r->at);
	return apply2(c, "divide", s, n, r->at);
}

static struct val red_nanvar(struct reduction *r)
{
	return narrow(r->c, nan_variance(r), mean_type(r));
}

static struct val red_nanstd(struct reduction *r)
{
	return narrow(r->c, apply1(r->c, "sqrt", nan_variance(r), r->at), mean_type(r));
}

enum { EMPTY_FAILS = 1, TAKES_DDOF = 2, TAKES_DTYPE = 4, FLOAT_DTYPE = 8 };

static const struct {
	const char *name;
	struct val (*make)(struct reduction *);
	int flags;
	const char *doc;
} table[] = {
	{"sum", red_sum, TAKES_DTYPE, "sum; bools and small integers in 64 bits, float16 in float32"},
	{"prod", red_prod, TAKES_DTYPE, "product, with sum's types"},
	{"min", red_min, EMPTY_FAILS, "smallest; NaN if there is one"},
	{"max", red_max, EMPTY_FAILS, "largest; NaN if there is one"},
	{"mean", red_mean, TAKES_DTYPE | FLOAT_DTYPE, "arithmetic mean"},
	{"var", red_var, TAKES_DDOF | TAKES_DTYPE | FLOAT_DTYPE, "variance, divided by n - ddof"},
	{"std", red_std, TAKES_DDOF | TAKES_DTYPE | FLOAT_DTYPE, "standard deviation, the root of var"},
	{"any", red_any, 0, "whether one is true"},
	{"all", red_all, 0, "whether all are true"},
	{"argmin", red_argmin, EMPTY_FAILS, "place of the first smallest, or of the first NaN"},
	{"argmax", red_argmax, EMPTY_FAILS, "place of the first largest, or of the first NaN"},
	{"count", red_count, 0, "how many are not 0"},
	{"norm", red_norm, 0, "root of the sum of squares"},
	{"logsumexp", red_logsumexp, 0, "log(sum(exp(a))) without overflow"},
	{"nansum", red_nansum, TAKES_DTYPE, "sum of what is not NaN"},
	{"nanprod", red_nanprod, TAKES_DTYPE, "product of what is not NaN"},
	{"nanmin", red_nanmin, EMPTY_FAILS, "smallest of what is not NaN"},
	{"nanmax", red_nanmax, EMPTY_FAILS, "largest of what is not NaN"},
	{"nanmean", red_nanmean, TAKES_DTYPE | FLOAT_DTYPE, "mean of what is not NaN"},
	{"nanvar", red_nanvar, TAKES_DDOF | TAKES_DTYPE | FLOAT_DTYPE, "variance of what is not NaN"},
	{"nanstd", red_nanstd, TAKES_DDOF | TAKES_DTYPE | FLOAT_DTYPE, "standard deviation of what is not NaN"},
};
enum { NTABLE = sizeof table / sizeof *table };

int reduction_known(const char *name)
{
	for (int i = 0; i < NTABLE; i++)
		if (strcmp(table[i].name, name) == 0)
			return 1;
	return 0;
}

void suggest_reductions(struct suggestion *s)
{
	for (int i = 0; i < NTABLE; i++)
		diag_suggest(s, table[i].name);
}

void reductions_table(struct buf *b)
{
	buf_str(b, "| reduction | | keywords beside axis= and keepdims= |\n|---|---|---|\n");
	for (int i = 0; i < NTABLE; i++)
		buf_fmt(b, "| `%s(a)` | %s | %s%s |\n", table[i].name, table[i].doc, table[i].flags & TAKES_DDOF ? "ddof= " : "",
			table[i].flags & TAKES_DTYPE ? "dtype=" : "");
}

static int axes_of(struct reduction *r)
{
	struct check_state *c = r->c;
	const struct ast *n = keyword(r->k, "axis");
	int rank = r->a.shape.rank, axis;

	if (!n || n->kind == AST_NONE) {
		r->axes = (1u << rank) - 1;
		return 0;
	}
	if (n->kind != AST_TUPLE) {
		if (axis_number(c, n, rank, &axis))
			return -1;
		r->axes = 1u << axis;
		return 0;
	}
	for (const struct ast *i = n->kid; i; i = i->next) {
		if (axis_number(c, i, rank, &axis))
			return -1;
		if (r->axes >> axis & 1) {
			fail(c, GX_SHAPE, i->span, "axis %d is given twice", axis);
			return -1;
		}
		r->axes |= 1u << axis;
	}
	return 0;
}

static int ddof_of(struct reduction *r)
{
	const struct ast *n = keyword(r->k, "ddof");
	struct val v;

	if (!n)
		return 0;
	v = eval(r->c, n);
	if (v.bad)
		return -1;
	if (!v.weak) {
		fail(r->c, GX_TYPE, n->span, "ddof= must be a number that is known before the program runs");
		return -1;
	}
	r->ddof = v.weak == WEAK_INT ? (double)v.integer : v.real;
	return 0;
}

/* Drop the reduced axes, which have extent 1. */
static struct val drop_axes(struct reduction *r, struct val v)
{
	struct shape to = {0, {0}};

	if (v.bad || r->keepdims)
		return v;
	for (int k = 0; k < v.shape.rank; k++)
		if (!(r->axes >> k & 1))
			to.n[to.rank++] = v.shape.n[k];
	v.ins = ir_reshape(r->c->ir, v.ins, &v.shape, &to);
	v.shape = to;
	return v;
}

static int arguments(struct reduction *r, int flags)
{
	static const char *const names[] = {"axis", "keepdims", "dtype", "ddof", NULL};
	static const char *const plain[] = {"axis", "keepdims", NULL};
	static const char *const only_dtype[] = {"axis", "keepdims", "dtype", NULL};
	struct check_state *c = r->c;
	const struct ast *keep = keyword(r->k, "keepdims");
	char s[200];

	if (allow_keywords(c, r->k, flags & TAKES_DDOF ? names : flags & TAKES_DTYPE ? only_dtype : plain))
		return -1;
	r->a = harden(c, eval(c, r->k->arg[0]));
	if (r->a.bad || axes_of(r) || ddof_of(r) || (keep && known_flag(c, keep, &r->keepdims)) ||
		dtype_keyword(c, r->k, &r->has_dtype, &r->dtype))
		return -1;
	if (r->has_dtype && flags & FLOAT_DTYPE && !type_has(r->dtype, C_HALF | C_FLT)) {
		fail(c, GX_TYPE, r->at, "%s needs a float dtype=, found %s", r->k->node->name, type_table[r->dtype].name);
		return -1;
	}
	r->count = 1;
	for (int k = 0; k < r->a.shape.rank; k++)
		r->count *= r->axes >> k & 1 ? r->a.shape.n[k] : 1;
	if (r->count == 0 && flags & EMPTY_FAILS) {
		fail(c, GX_SHAPE, r->at, "%s of an empty array: `%s` has shape %s", r->k->node->name, span_text(c, r->a.span),
			shape_text(&r->a.shape, s));
		return -1;
	}
	return 0;
}

int reduce_call(struct check_state *c, struct call *k, struct val *out)
{
	const char *name = alias_resolve(k->node->name);
	struct reduction r = {.c = c, .k = k, .at = k->node->span};
	int i = 0;

	while (i < NTABLE && strcmp(table[i].name, name) != 0)
		i++;
	if (i == NTABLE || (op_any(name) != OP_NONE && k->n >= 2))   /* min(a, b) is elementwise */
		return 0;
	*out = poison();
	if (k->n == 2) {
		fail(c, GX_TYPE, k->arg[1]->span, "the axis of %s is given by name: axis=%s", k->node->name, span_text(c, k->arg[1]->span));
		return 1;
	}
	if (too_many(c, k, 1, 1) || arguments(&r, table[i].flags))
		return 1;
	*out = drop_axes(&r, table[i].make(&r));
	return 1;
}
