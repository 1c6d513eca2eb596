/* meaning.c -- operations, helpers, reductions and conversions as C functions and expressions, made from
 * the texts of ops/.
 *
 * A text from the tables is rewritten word by word: T, W, LO, HI, BITS, INFINITY and NAN become what they
 * are for the type at hand (so the kernel needs no macros), and a word gx_... pulls in that helper first. A
 * kernel holds only functions that it calls. */
#include <ctype.h>
#include <string.h>

#include "codegen/emit.h"

static const struct {
	const char *wrap, *lo, *hi, *bits;
} limit[NTYPES] = {
	[GX_BOOL] = {"unsigned", "0", "1", "8"},
	[GX_INT8] = {"unsigned", "-128", "127", "8"},
	[GX_INT16] = {"unsigned", "-32768", "32767", "16"},
	[GX_INT32] = {"unsigned", "(-2147483647 - 1)", "2147483647", "32"},
	[GX_INT64] = {"unsigned long long", "(-9223372036854775807LL - 1)", "9223372036854775807LL", "64"},
	[GX_UINT8] = {"unsigned", "0", "255", "8"},
	[GX_UINT16] = {"unsigned", "0", "65535", "16"},
	[GX_UINT32] = {"unsigned", "0", "4294967295u", "32"},
	[GX_UINT64] = {"unsigned long long", "0", "18446744073709551615ull", "64"},
	[GX_FLOAT32] = {"float", "__int_as_float((int)0xff7fffffu)", "__int_as_float(0x7f7fffff)", "32"},
	[GX_FLOAT64] = {"double", "__longlong_as_double((long long)0xffefffffffffffffull)",
		"__longlong_as_double(0x7fefffffffffffffLL)", "64"},
};

/* --math=fast: the hardware's approximations, float32 only (the compiler's options do the rest). */
static const char *const fast[][2] = {
	{"sin", "__sinf"},
	{"cos", "__cosf"},
	{"tan", "__tanf"},
	{"exp", "__expf"},
	{"log", "__logf"},
	{"log2", "__log2f"},
	{"log10", "__log10f"},
	{"pow", "__powf"},
};

static void helper_need(struct emit *e, const char *name, size_t n, gx_dtype t);

static const char *word_fast(const struct emit *e, const char *w, size_t n, gx_dtype t)
{
	if (e->math != GX_MATH_FAST || t != GX_FLOAT32)
		return NULL;
	for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
		if (strlen(fast[i][0]) == n && memcmp(fast[i][0], w, n) == 0)
			return fast[i][1];
	return NULL;
}

/* What a word of a table text stands for when the type is t; NULL: itself. */
static const char *word_meaning(const struct emit *e, const char *w, size_t n, gx_dtype t)
{
	int wide = t == GX_FLOAT64;

#define IS(s) (n == sizeof(s) - 1 && memcmp(w, s, n) == 0)
	if (IS("T"))
		return ctype(t);
	if (IS("W"))
		return limit[t].wrap;
	if (IS("LO"))
		return limit[t].lo;
	if (IS("HI"))
		return limit[t].hi;
	if (IS("BITS"))
		return limit[t].bits;
	if (IS("INFINITY"))
		return wide ? "__longlong_as_double(0x7ff0000000000000LL)" : "__int_as_float(0x7f800000)";
	if (IS("NAN"))
		return wide ? "__longlong_as_double(0x7ff8000000000000LL)" : "__int_as_float(0x7fc00000)";
#undef IS
	return word_fast(e, w, n, t);
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

static void word_put(struct emit *e, struct buf *b, const char *w, size_t n, gx_dtype t)
{
	const char *m = word_meaning(e, w, n, t);

	if (n > 3 && memcmp(w, "gx_", 3) == 0)
		helper_need(e, w, n, t);
	if (m)
		buf_str(b, m);
	else
		buf_put(b, w, n);
}

static void expand(struct emit *e, struct buf *b, const char *text, gx_dtype t)
{
	while (*text) {
		size_t n = word_length(text);

		if (n)
			word_put(e, b, text, n, t);
		else
			buf_char(b, *text);
		text += n ? n : 1;
	}
}

static void new_line(struct buf *b, int depth)
{
	buf_char(b, '\n');
	for (int i = 0; i < depth; i++)
		buf_char(b, '\t');
}

/* As expand, for a body in braces that the preprocessor has put on one line: a statement a line again. */
static void expand_body(struct emit *e, struct buf *b, const char *text, gx_dtype t)
{
	int depth = 0, parens = 0;

	while (*text) {
		size_t n = word_length(text);
		char c = *text;

		if (n) {
			word_put(e, b, text, n, t);
			text += n;
			continue;
		}
		text++;
		parens += (c == '(') - (c == ')');
		depth += (c == '{') - (c == '}');
		buf_char(b, c);
		if ((c != ';' && c != '{' && c != '}') || parens)
			continue;
		while (*text == ' ')
			text++;
		if (*text && strncmp(text, "else", 4) != 0)
			new_line(b, depth - (*text == '}'));
	}
}

static int helper_find(const char *name, size_t n, gx_dtype t)
{
	for (int i = 0; i < nhelpers && i < MAX_HELPERS; i++)
		if (type_has(t, helper_table[i].cls) && strlen(helper_table[i].name) == n &&
			memcmp(helper_table[i].name, name, n) == 0)
			return i;
	return -1;
}

/* Is a text worth a call rather than many copies? Only where the kernel was found expensive to compile. */
static const char *inlining(const struct emit *e, int heavy)
{
	return e->outline && heavy ? "__noinline__" : "__forceinline__";
}

static void helper_text(struct emit *e, const struct helper_info *h, gx_dtype t)
{
	struct buf b = {0};

	buf_fmt(&b, "static __device__ %s ", inlining(e, strlen(h->body) > 300));
	expand(e, &b, h->result, t);
	buf_fmt(&b, " %s", h->name);
	expand(e, &b, h->params, t);
	buf_char(&b, '\n');
	expand_body(e, &b, h->body, t);
	buf_fmt(&e->helpers, "%s\n", b.text ? b.text : "");
	e->helpers.failed |= b.failed;
	buf_free(&b);
}

/* float32 minimum and maximum that let NaN win and order -0 below +0 are one instruction from sm_80 on;
 * else the table's text. */
static void helper_need(struct emit *e, const char *name, size_t n, gx_dtype t)
{
	const struct helper_info *h;
	int i = meaning_half_find(name, n), hardware;

	if (i >= 0) {
		meaning_half(e, i);
		return;
	}
	i = helper_find(name, n, t);
	if (i < 0 || e->helper_done[i][t])
		return;
	e->helper_done[i][t] = 1;
	h = &helper_table[i];
	hardware = t == GX_FLOAT32 && (strcmp(h->name, "gx_min") == 0 || strcmp(h->name, "gx_max") == 0);
	if (hardware)
		buf_fmt(&e->helpers,
			"#if __CUDA_ARCH__ >= 800\nstatic __device__ __forceinline__ float %s(float a, float b)\n{\n\tfloat r;\n"
			"\tasm(\"%s.NaN.f32 %%0, %%1, %%2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n\treturn r;\n}\n#else\n",
			h->name, h->name + 3);
	helper_text(e, h, t);
	buf_str(&e->helpers, hardware ? "#endif\n\n" : "\n");
}

/* Milliseconds for a call site beyond a plain operation (notes/speed.md 8.1, measured), float32 and
 * float64. */
static const struct {
	uint16_t op;
	uint8_t f32, f64;
} site_cost[] = {
	{OP_SIN, 14, 10},
	{OP_COS, 14, 10},
	{OP_TAN, 14, 12},
	{OP_POW, 6, 8},
	{OP_MOD, 20, 42},
	{OP_FMOD, 20, 42},
	{OP_FLOORDIV, 20, 42},
	{OP_LGAMMA, 19, 38},
	{OP_TGAMMA, 16, 134},
	{OP_ERFINV, 30, 40},
	{OP_DIV, 1, 1},
	{OP_SQRT, 1, 1},
	{OP_ATAN2, 6, 8},
	{OP_EXP, 2, 4},
	{OP_LOG, 4, 5},
};

double meaning_cost(const struct code *c, const struct step *s)
{
	int wide = step_type(c, s) == GX_FLOAT64;

	for (size_t i = 0; i < sizeof site_cost / sizeof *site_cost; i++)
		if (site_cost[i].op == s->op)
			return wide ? site_cost[i].f64 : site_cost[i].f32;
	return op_table[s->op].heavy ? 5 : strlen(op_table[s->op].text) > 60 ? 0.2 : 0.05;
}

static const char *op_name(enum op op) { return op_table[op].name + (op_table[op].name[0] == '_'); }

static void op_need(struct emit *e, enum op op, gx_dtype t)
{
	static const char *const letter[3] = {"a", "b", "c"};
	const struct op_info *o = &op_table[op];
	struct buf b = {0};

	if (e->op_done[op][t])
		return;
	e->op_done[op][t] = 1;
	buf_fmt(&b, "static __device__ %s %s %s_%s(",
		inlining(e, o->heavy || strstr(o->text, "gx_") || strstr(o->text, "fmod")),
		o->result == TEST ? "unsigned char" : ctype(t), op_name(op), abbr(t));
	for (int i = 0; i < o->arity; i++)
		buf_fmt(&b, "%s%s %s", i ? ", " : "", i == 0 && o->flags & COND ? "unsigned char" : ctype(t),
			letter[i]);
	buf_str(&b, ")\n{\n\treturn ");
	expand(e, &b, o->text, t);
	buf_fmt(&e->helpers, "%s;\n}\n\n", b.text ? b.text : "");
	e->helpers.failed |= b.failed;
	buf_free(&b);
}

/* Operations that read best, and mean exactly the same, as the operator itself. Arithmetic only for floats:
 * integers wrap. */
static const struct {
	uint16_t op;
	const char *infix;
} plain[] = {
	{OP_ADD, "+"},
	{OP_SUB, "-"},
	{OP_MUL, "*"},
	{OP_DIV, "/"},
	{OP_EQ, "=="},
	{OP_NE, "!="},
	{OP_LT, "<"},
	{OP_LE, "<="},
	{OP_GT, ">"},
	{OP_GE, ">="},
	{OP_AND, "&"},
	{OP_OR, "|"},
	{OP_XOR, "^"},
};

static const char *infix(enum op op, gx_dtype t)
{
	if ((op == OP_ADD || op == OP_SUB || op == OP_MUL) && !type_has(t, C_FLT))
		return NULL;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (plain[i].op == op)
			return plain[i].infix;
	return NULL;
}

void meaning_op(struct emit *e, struct buf *b, const struct code *c, const struct step *s)
{
	gx_dtype t = step_type(c, s);
	enum op op = (enum op)s->op;
	const char *in = infix(op, t);

	if (in) {
		buf_fmt(b, "v%u %s v%u", s->arg[0], in, s->arg[1]);
		return;
	}
	if (op == OP_WHERE) {
		buf_fmt(b, "v%u ? v%u : v%u", s->arg[0], s->arg[1], s->arg[2]);
		return;
	}
	op_need(e, op, t);
	buf_fmt(b, "%s_%s(", op_name(op), abbr(t));
	for (int i = 0; i < op_table[op].arity; i++)
		buf_fmt(b, "%sv%u", i ? ", " : "", s->arg[i]);
	buf_char(b, ')');
}

void meaning_red_name(struct buf *b, enum red red, gx_dtype t)
{
	buf_fmt(b, "fold_%s_%s", red_table[red].name, abbr(t));
}

/* Chan, Golub, LeVeque: two sets of numbers, each given by count, mean and sum of squared deviations,
 * become one. */
static const char merge_moments[] =
	"static __device__ __forceinline__ void fold_m2_f64(double &n, double &mean, double &m2, double nb, double meanb, double m2b)\n"
	"{\n\tif (nb == 0)\n\t\treturn;\n\tconst double part = nb / (n + nb);\n\tconst double d = meanb - mean;\n"
	"\tm2 = n == 0 ? m2b : m2 + m2b + d * d * (n * part);\n\tmean = n == 0 ? meanb : mean + d * part;\n\tn = n + nb;\n}\n\n";

static void red_head(const struct red_info *r, struct buf *b, gx_dtype t)
{
	if (r->state == PAIR)
		buf_fmt(b, "(%s &a, long long &i, %s b, long long j)\n{\n\tif (j >= 0 && (i < 0 || (", ctype(t),
			ctype(t));
	else
		buf_fmt(b, "(%s &a, %s b)\n{\n\ta = ", ctype(t), ctype(t));
}

void meaning_red(struct emit *e, enum red red, gx_dtype t)
{
	const struct red_info *r = &red_table[red];
	struct buf b = {0};

	if (e->red_done[red][t])
		return;
	e->red_done[red][t] = 1;
	if (r->state == MOMENTS) {
		buf_str(&e->helpers, merge_moments);
		return;
	}
	buf_str(&b, "static __device__ __forceinline__ void ");
	meaning_red_name(&b, red, t);
	red_head(r, &b, t);
	expand(e, &b, r->text, t);
	if (r->state == PAIR)
		buf_str(&b, "))) {\n\t\ta = b;\n\t\ti = j;\n\t}\n}\n\n");
	else
		buf_str(&b, ";\n}\n\n");
	buf_str(&e->helpers, b.text ? b.text : "");
	e->helpers.failed |= b.failed;
	buf_free(&b);
}

void meaning_identity(struct emit *e, struct buf *b, enum red red, gx_dtype t)
{
	expand(e, b, red_table[red].identity, t);
}

const char *type_least(gx_dtype t) { return limit[t].lo; }

const char *type_most(gx_dtype t) { return limit[t].hi; }
