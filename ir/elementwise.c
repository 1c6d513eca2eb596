/* elementwise.c -- operations on values: broadcasting, promotion, conversion, the choice of a row of the op table, and arithmetic
 * between literals, which keeps Python's meaning (weak integers have no width, 2**-1 is 0.5). */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "ir/check.h"

static const wide_int INT_LOW = -(wide_int)INT64_MAX - 1, INT_HIGH = (wide_int)UINT64_MAX;

struct val harden(struct check_state *c, struct val v)
{
	if (v.bad || !v.weak)
		return v;
	if (v.weak == WEAK_FLOAT)
		return convert(c, v, GX_FLOAT64);
	return convert(c, v, v.integer > INT64_MAX ? GX_UINT64 : GX_INT64);
}

static int fits(wide_int v, gx_dtype t)
{
	int bits = type_table[t].bytes * 8;

	if (t == GX_BOOL)
		return v == 0 || v == 1;
	if (type_has(t, C_UINT))
		return v >= 0 && v >> bits == 0;
	return v >= -((wide_int)1 << (bits - 1)) && v < (wide_int)1 << (bits - 1);
}

static const char *int_text(const struct check_state *c, wide_int v)
{
	if (v < 0)
		return arena_fmt(c->arena, "%lld", (long long)v);
	return arena_fmt(c->arena, "%llu", (unsigned long long)v);
}

struct val convert(struct check_state *c, struct val v, gx_dtype type)
{
	struct ir *ir = c->ir;
	gx_dtype reg = reg_of(type);

	if (v.bad)
		return v;
	if (v.weak == WEAK_INT && !type_has(type, C_HALF | C_FLT)) {
		if (!fits(v.integer, type)) {
			v = fail(c, GX_TYPE, v.span, "%s is out of range for %s", int_text(c, v.integer), type_table[type].name);
			diag_hint(c->diag, "convert the array to a wider type first, for example i64(...)");
			return v;
		}
		v.ins = ir_const(ir, reg, (uint64_t)v.integer, v.by_arg);
	} else if (v.weak) {
		double real = v.weak == WEAK_INT ? (double)v.integer : v.real;

		v.ins = ir_float(ir, reg, real, v.by_arg);
	} else {
		v.ins = ir_cast(ir, reg, v.ins);
	}
	v.weak = STRONG;
	v.type = type;
	return v;
}

struct val rounded(struct check_state *c, struct val v)
{
	const struct ins *i;
	enum op op = v.type == GX_FLOAT16 ? OP_ROUND_F16 : OP_ROUND_BF16;

	if (v.bad || v.weak || !type_has(v.type, C_HALF))
		return v;
	i = &c->ir->ins[v.ins];
	if ((i->kind == INS_LOAD && c->ir->source[i->source].mem == v.type) || (i->kind == INS_OP && i->op == op))
		return v;   /* such a value already */
	v.ins = ir_op(c->ir, op, v.ins, NO_VALUE, NO_VALUE);
	return v;
}

struct val cast_to(struct check_state *c, struct val v, gx_dtype type, struct span at)
{
	if (v.bad)
		return v;
	if (type_has(type, C_COMPLEX))
		return fail(c, GX_UNSUPPORTED, at, "complex numbers are not supported yet");
	if (v.weak == WEAK_INT && type_has(type, C_BOOL))
		v.integer = v.integer != 0;
	if (v.weak == WEAK_FLOAT)
		v = harden(c, v);
	if (!v.weak && v.type == GX_FLOAT64 && type_has(type, C_HALF))   /* one rounding, not two */
		v.ins = ir_op(c->ir, OP_ROUND_ODD, v.ins, NO_VALUE, NO_VALUE);
	v = rounded(c, convert(c, v, type));
	v.span = at;
	return v;
}

struct val truth(struct check_state *c, struct val v)
{
	if (v.bad)
		return v;
	v = harden(c, v);
	v.ins = ir_cast(c->ir, GX_BOOL, v.ins);
	v.type = GX_BOOL;
	return v;
}

uint32_t spread(struct check_state *c, const struct val *v, const struct shape *to)
{
	struct map m;

	map_identity(&m, &v->shape, to);
	return ir_view(c->ir, v->ins, &v->shape, &m);
}

/* Shapes meet at their right ends; the extents that differ are `left` of there, 1 for the last. */
static int mismatch(struct check_state *c, const struct val *a, const struct val *b, struct span at, int left)
{
	char s[200], t[200];
	const char *an = span_text(c, a->span), *bn = span_text(c, b->span);
	int i = a->shape.rank - left, j = b->shape.rank - left;

	diag_error(c->diag, GX_SHAPE, at, "shapes %s and %s do not broadcast: aligned from the right, axis %d of `%s` has %lld and axis %d of "
		"`%s` has %lld", shape_text(&a->shape, s), shape_text(&b->shape, t), i, an, (long long)a->shape.n[i], j, bn,
		(long long)b->shape.n[j]);
	if (a->shape.rank == b->shape.rank + 1 && b->shape.rank == 1 && a->shape.n[0] == b->shape.n[0])
		diag_hint(c->diag, "%s[:, None] lines it up with axis 0", bn);
	else if (b->shape.rank == a->shape.rank + 1 && a->shape.rank == 1 && b->shape.n[0] == a->shape.n[0])
		diag_hint(c->diag, "%s[:, None] lines it up with axis 0", an);
	else if (a->shape.rank == 2 && b->shape.rank == 2 && a->shape.n[0] == b->shape.n[1] && a->shape.n[1] == b->shape.n[0])
		diag_hint(c->diag, "%s.T has the shape of %s", bn, an);
	return -1;
}

int broadcast(struct check_state *c, const struct val *v, int n, struct span at, struct shape *out)
{
	const struct val *owner[MAX_RANK] = {0};

	memset(out, 0, sizeof *out);
	for (int i = 0; i < n; i++)
		if (v[i].shape.rank > out->rank)
			out->rank = v[i].shape.rank;
	for (int k = 0; k < out->rank; k++)
		out->n[k] = 1;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < v[i].shape.rank; j++) {
			int k = j + out->rank - v[i].shape.rank;
			int64_t x = v[i].shape.n[j];

			if (x == 1 || x == out->n[k])
				continue;
			if (out->n[k] != 1)
				return mismatch(c, owner[k], &v[i], at, out->rank - k);
			out->n[k] = x;
			owner[k] = &v[i];
		}
	return 0;
}

/* ---- literals with literals ---- */

static double real_of(const struct val *v)
{
	return v->weak == WEAK_INT ? (double)v->integer : v->real;
}

static wide_int floor_div(wide_int a, wide_int b)
{
	wide_int q;

	if (b == 0)
		return 0;
	q = a / b;
	return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static int power(wide_int a, wide_int b, wide_int *out)
{
	wide_int r = 1;

	for (wide_int i = 0; i < b; i++) {
		if (a == 0 || a == 1 || a == -1) {
			*out = a == -1 && b % 2 == 0 ? 1 : a;
			return 0;
		}
		r *= a;
		if (r > INT_HIGH || r < INT_LOW)
			return -1;
	}
	*out = r;
	return 0;
}

/* Integer result of a weak operation; 0, 1 when the operation is not for integers, -1 on overflow. */
static int weak_integer(const char *op, wide_int a, wide_int b, wide_int *r)
{
	if (!strcmp(op, "add"))
		*r = a + b;
	else if (!strcmp(op, "subtract"))
		*r = a - b;
	else if (!strcmp(op, "multiply")) {
		if (__builtin_mul_overflow(a, b, r))
			return -1;
	} else if (!strcmp(op, "floor_divide"))
		*r = floor_div(a, b);
	else if (!strcmp(op, "remainder"))
		*r = b == 0 ? 0 : a - floor_div(a, b) * b;
	else if (!strcmp(op, "power")) {
		if (b < 0)
			return 1;
		return power(a, b, r);
	} else if (!strcmp(op, "bitwise_and"))
		*r = a & b;
	else if (!strcmp(op, "bitwise_or"))
		*r = a | b;
	else if (!strcmp(op, "bitwise_xor"))
		*r = a ^ b;
	else if (!strcmp(op, "left_shift"))
		*r = b < 0 || b >= 64 ? 0 : a << b;
	else if (!strcmp(op, "right_shift"))
		*r = b < 0 || b >= 64 ? (a < 0 ? -1 : 0) : a >> b;
	else if (!strcmp(op, "negative"))
		*r = -a;
	else if (!strcmp(op, "invert"))
		*r = ~a;
	else if (!strcmp(op, "abs"))
		*r = a < 0 ? -a : a;
	else
		return 1;
	return *r > INT_HIGH || *r < INT_LOW ? -1 : 0;
}

/* Arithmetic of literals keeps their weakness; 0 when done. Functions and comparisons are left to the strong path. */
static int apply_weak(struct check_state *c, const char *op, const struct val *v, int n, struct span at, struct val *out)
{
	static const char *const arithmetic[] = {"add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power",
		"negative", "abs"};
	int by_arg = v[0].by_arg | (n > 1 && v[1].by_arg);
	wide_int r = 0;
	uint64_t a, b = 0, bits;
	double x;
	enum op row;

	if (n > 2 || !v[0].weak || (n > 1 && !v[1].weak))
		return -1;
	if (v[0].weak == WEAK_INT && (n == 1 || v[1].weak == WEAK_INT) && strcmp(op, "divide") != 0) {
		int how = weak_integer(op, v[0].integer, n > 1 ? v[1].integer : 0, &r);

		if (how == 0) {
			*out = weak_int(r, by_arg, at);
			return 0;
		}
		if (how < 0) {
			*out = fail(c, GX_TYPE, at, "the value of this integer expression does not fit 64 bits");
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
		if (strcmp(arithmetic[i], op) != 0)
			continue;
		row = op_find(op, GX_FLOAT64);
		x = real_of(&v[0]);
		memcpy(&a, &x, sizeof a);
		if (n > 1) {
			x = real_of(&v[1]);
			memcpy(&b, &x, sizeof b);
		}
		bits = fold_op(row, GX_FLOAT64, a, b, 0);
		memcpy(&x, &bits, sizeof x);
		*out = weak_float(x, by_arg, at);
		return 0;
	}
	return -1;
}

/* ---- arrays ---- */

static int is_comparison(const char *op)
{
	return !strcmp(op, "less") || !strcmp(op, "less_equal") || !strcmp(op, "greater") || !strcmp(op, "greater_equal") ||
		!strcmp(op, "equal") || !strcmp(op, "not_equal");
}

/* What a comparison gives when a < b is known for all elements (or a > b). */
static int verdict(const char *op, int less)
{
	if (!strcmp(op, "equal"))
		return 0;
	if (!strcmp(op, "not_equal"))
		return 1;
	return (op[0] == 'l') == less;
}

static struct val constant_bool(struct check_state *c, int value, const struct shape *s, struct span at)
{
	return strong(ir_int(c->ir, GX_BOOL, value, 0), GX_BOOL, s, at);
}

static uint32_t op2(struct check_state *c, const char *op, uint32_t a, uint32_t b)
{
	return ir_op(c->ir, op_find(op, (gx_dtype)c->ir->ins[b].type), a, b, NO_VALUE);
}

/* int64 against uint64: true values, not their promotion to float64. */
static struct val compare_signs(struct check_state *c, const char *op, struct val *v, const struct shape *s, struct span at)
{
	struct ir *ir = c->ir;
	int first = type_has(v[0].type, C_SINT);   /* the signed one is v[0] */
	struct val sv = convert(c, v[!first], GX_INT64), uv = convert(c, v[first], GX_UINT64);
	uint32_t si = spread(c, &sv, s), ui = spread(c, &uv, s), same, negative;
	int when_negative = verdict(op, first);

	negative = op2(c, "less", si, ir_int(ir, GX_INT64, 0, 0));
	si = ir_cast(ir, GX_UINT64, si);
	same = first ? op2(c, op, si, ui) : op2(c, op, ui, si);
	if (when_negative)
		return strong(ir_op(ir, OP_OR, negative, same, NO_VALUE), GX_BOOL, s, at);
	return strong(ir_op(ir, OP_AND, ir_op(ir, OP_NOT, negative, NO_VALUE, NO_VALUE), same, NO_VALUE), GX_BOOL, s, at);
}

static int compare_special(struct check_state *c, const char *op, struct val *v, const struct shape *s, struct span at, struct val *out)
{
	for (int i = 0; i < 2; i++) {
		const struct val *w = &v[i], *x = &v[1 - i];

		if (w->weak == WEAK_INT && !x->weak && type_has(x->type, C_SINT | C_UINT) && !fits(w->integer, x->type)) {
			int array_less = w->integer > 0;

			*out = constant_bool(c, verdict(op, i == 1 ? array_less : !array_less), s, at);
			return 0;
		}
	}
	if (v[0].weak || v[1].weak)
		return -1;
	if ((type_has(v[0].type, C_SINT) && v[1].type == GX_UINT64) || (v[0].type == GX_UINT64 && type_has(v[1].type, C_SINT))) {
		*out = compare_signs(c, op, v, s, at);
		return 0;
	}
	return -1;
}

static struct val no_row(struct check_state *c, const char *op, const struct val *v, int n, gx_dtype t, struct span at)
{
	const char *sign = ast_operator(op);
	struct val bad;

	if (!strncmp(op, "bitwise", 7) || !strcmp(op, "invert") || strstr(op, "_shift")) {
		if (n == 2)
			bad = fail(c, GX_TYPE, at, "`%s` needs integers or bools, found %s and %s", sign, type_table[v[0].type].name,
				type_table[v[1].type].name);
		else
			bad = fail(c, GX_TYPE, at, "`%s` needs integers or bools, found %s", sign, type_table[t].name);
		if (!strcmp(op, "bitwise_xor"))
			diag_hint(c->diag, "use ** for powers");
		else if (!strcmp(op, "bitwise_and"))
			diag_hint(c->diag, "use `and` for truth values");
		else if (!strcmp(op, "bitwise_or"))
			diag_hint(c->diag, "use `or` for truth values");
		return bad;
	}
	bad = fail(c, GX_TYPE, at, "`%s` is not defined for %s", sign, type_table[t].name);
	if (t == GX_BOOL && !strcmp(op, "subtract"))
		diag_hint(c->diag, "use `^` for the difference of truth values, or convert: i8(%s)", span_text(c, v[0].span));
	else if (t == GX_BOOL)
		diag_hint(c->diag, "convert first, for example i8(%s)", span_text(c, v[n - 1].span));
	else
		diag_hint(c->diag, "it takes integers");
	return bad;
}

/* The row for operands of type t and the type that it computes in; OP_NONE when there is none. */
static enum op choose_row(const char *op, gx_dtype *t)
{
	enum op any = op_any(op), row;
	int flags = op_table[any].flags;

	if (flags & F64 && !type_has(*t, C_HALF | C_FLT))
		*t = GX_FLOAT64;
	row = op_find(op, reg_of(*t));
	if (row != OP_NONE)
		return row;
	if (*t == GX_BOOL && !(flags & NOBOOL) && op_find(op, GX_INT8) != OP_NONE) {
		*t = GX_INT8;
		return op_find(op, GX_INT8);
	}
	if (type_has(*t, C_BOOL | C_SINT | C_UINT) && !(*t == GX_BOOL && flags & NOBOOL)) {
		gx_dtype f = float_of(*t);

		row = op_find(op, f);
		if (row != OP_NONE)
			*t = f;
	}
	return row;
}

/* x to a small literal power by multiplication: the same bits on every engine, exact where the power is, and at most 1.5 ulp off.
 * What overflows or underflows on the way does so in the result too. (NumPy does the same for 2 and -1.) */
static struct val small_power(struct check_state *c, struct val x, int n, struct span at)
{
	if (n < 0) {
		x = apply2(c, "divide", weak_int(1, 0, at), x, at);
		n = -n;
	}
	if (n == 1)
		return x;
	return n == 3 ? apply2(c, "multiply", apply1(c, "square", x, at), x, at)
		: n == 4 ? apply1(c, "square", apply1(c, "square", x, at), at) : apply1(c, "square", x, at);
}

static struct val special_power(struct check_state *c, struct val *v, gx_dtype t, struct span at, int *done)
{
	int isfloat = type_has(t, C_HALF | C_FLT);
	double n = v[1].weak == WEAK_INT ? (double)v[1].integer : v[1].weak == WEAK_FLOAT && isfloat ? v[1].real : 0;

	*done = 0;
	if (v[1].weak == WEAK_INT && v[1].integer < 0 && type_has(t, C_SINT | C_UINT | C_BOOL)) {
		struct val bad = fail(c, GX_TYPE, at, "an integer array to the negative power %s has no integer value", int_text(c, v[1].integer));

		diag_hint(c->diag, "convert the base to float: f64(%s)", span_text(c, v[0].span));
		*done = 1;
		return bad;
	}
	if (v[0].weak || v[1].by_arg)
		return v[0];
	*done = n == 2 || (isfloat && (n == -2 || n == -1 || n == 1 || n == 3 || n == 4));
	return *done ? small_power(c, convert(c, v[0], t), (int)n, at) : v[0];
}

struct val apply(struct check_state *c, const char *op, const struct val *args, int n, struct span at)
{
	struct val v[3] = {{0}}, out;
	struct shape s;
	gx_dtype t;
	enum op row;
	int done, cond = op_table[op_any(op)].flags & COND ? 1 : 0;
	uint32_t ins[3] = {NO_VALUE, NO_VALUE, NO_VALUE};

	for (int i = 0; i < n; i++) {
		if (args[i].bad)
			return poison();
		v[i] = args[i];
	}
	if (!cond && apply_weak(c, op, v, n, at, &out) == 0)
		return out;
	if (broadcast(c, v, n, at, &s))
		return poison();
	if (n == 2 && is_comparison(op) && compare_special(c, op, v, &s, at, &out) == 0)
		return out;
	if (n == 2 && v[0].weak && v[1].weak)
		for (int i = 0; i < n; i++)
			v[i] = harden(c, v[i]);
	if (n - cond == 1 && v[cond].weak)
		v[cond] = harden(c, v[cond]);
	if (cond && v[1].weak && v[2].weak)
		v[1] = v[1].weak == WEAK_FLOAT || v[2].weak == WEAK_INT ? harden(c, v[1]) : convert(c, v[1], GX_FLOAT64);
	t = common_type(v + cond, n - cond);
	if (n == 2 && !strcmp(op, "power")) {
		out = special_power(c, v, t, at, &done);
		if (done)
			return out;
	}
	row = choose_row(op, &t);
	if (row == OP_NONE) {
		for (int i = 0; i < n; i++)
			v[i] = harden(c, v[i]);
		return no_row(c, op, v, n, t, at);
	}
	for (int i = 0; i < n; i++) {
		v[i] = cond && i == 0 ? truth(c, v[0]) : convert(c, v[i], t);
		if (v[i].bad)
			return v[i];
		ins[i] = spread(c, &v[i], &s);
	}
	return strong(ir_op(c->ir, row, ins[0], ins[1], ins[2]), op_table[row].result == TEST ? GX_BOOL : t, &s, at);
}

struct val apply1(struct check_state *c, const char *op, struct val a, struct span at)
{
	return apply(c, op, &a, 1, at);
}

struct val apply2(struct check_state *c, const char *op, struct val a, struct val b, struct span at)
{
	struct val v[2] = {a, b};

	return apply(c, op, v, 2, at);
}

struct val choose(struct check_state *c, struct val cond, struct val a, struct val b, struct span at)
{
	struct val v[3] = {cond, a, b};

	return apply(c, "where", v, 3, at);
}
