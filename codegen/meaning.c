/* meaning.c -- operations, helpers, reductions and conversions as C functions and expressions, made from the texts of ops/.
 *
 * A text from the tables is rewritten word by word: T, W, LO, HI, BITS, INFINITY and NAN become what they are for the type at hand (so
 * the kernel needs no macros), and a word gx_... pulls in that helper first. A kernel holds only functions that it calls. */
#include <ctype.h>
#include <string.h>

#include "codegen/emit.h"

static const struct { const char *wrap, *lo, *hi, *bits; } limit[NTYPES] = {
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
	{"sin", "__sinf"}, {"cos", "__cosf"}, {"tan", "__tanf"}, {"exp", "__expf"}, {"log", "__logf"},
	{"log2", "__log2f"}, {"log10", "__log10f"}, {"pow", "__powf"},
};

/* Conversions that each engine supplies; the emulator brings its own. The bfloat16 rounding is done on bits before sm_80. */
enum { HALVES = 5 };
static const struct { const char *name, *text; } half[HALVES] = {
	{"gx_f16_to_f32", "static __device__ __forceinline__ float gx_f16_to_f32(unsigned short a)\n{\n\tfloat r;\n"
		"\tasm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a));\n\treturn r;\n}\n"},
	{"gx_f32_to_f16", "static __device__ __forceinline__ unsigned short gx_f32_to_f16(float a)\n{\n\tunsigned short r;\n"
		"\tasm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n\treturn r;\n}\n"},
	{"gx_bf16_to_f32", "static __device__ __forceinline__ float gx_bf16_to_f32(unsigned short a)\n{\n"
		"\treturn __int_as_float((int)((unsigned)a << 16));\n}\n"},
	{"gx_f32_to_bf16", "static __device__ __forceinline__ unsigned short gx_f32_to_bf16(float a)\n{\n"
		"#if __CUDA_ARCH__ >= 800\n\tunsigned short r;\n\tasm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n\treturn r;\n"
		"#else\n\tconst unsigned u = (unsigned)__float_as_int(a);\n\tif (a != a)\n\t\treturn 0x7fff;\n"
		"\treturn (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);\n#endif\n}\n"},
	{"gx_round_odd", "static __device__ __forceinline__ float gx_round_odd(double a)\n{\n\tconst float r = __double2float_rz(a);\n"
		"\treturn a != a || (double)r == a ? r : __int_as_float(__float_as_int(r) | 1);\n}\n"},
};

static void half_need(struct emit *e, int i)
{
	if (e->half_done[i])
		return;
	e->half_done[i] = 1;
	buf_fmt(&e->helpers, "#ifndef GX_EMULATE\n%s#endif\n\n", half[i].text);
}

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

static int half_find(const char *name, size_t n)
{
	for (int i = 0; i < HALVES; i++)
		if (strlen(half[i].name) == n && memcmp(half[i].name, name, n) == 0)
			return i;
	return -1;
}

static int helper_find(const char *name, size_t n, gx_dtype t)
{
	for (int i = 0; i < nhelpers && i < MAX_HELPERS; i++)
		if (type_has(t, helper_table[i].cls) && strlen(helper_table[i].name) == n && memcmp(helper_table[i].name, name, n) == 0)
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

/* float32 minimum and maximum that let NaN win and order -0 below +0 are one instruction from sm_80 on; else the table's text. */
static void helper_need(struct emit *e, const char *name, size_t n, gx_dtype t)
{
	const struct helper_info *h;
	int i = half_find(name, n), hardware;

	if (i >= 0) {
		half_need(e, i);
		return;
	}
	i = helper_find(name, n, t);
	if (i < 0 || e->helper_done[i][t])
		return;
	e->helper_done[i][t] = 1;
	h = &helper_table[i];
	hardware = t == GX_FLOAT32 && (strcmp(h->name, "gx_min") == 0 || strcmp(h->name, "gx_max") == 0);
	if (hardware)
		buf_fmt(&e->helpers, "#if __CUDA_ARCH__ >= 800\nstatic __device__ __forceinline__ float %s(float a, float b)\n{\n\tfloat r;\n"
			"\tasm(\"%s.NaN.f32 %%0, %%1, %%2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b));\n\treturn r;\n}\n#else\n", h->name, h->name + 3);
	helper_text(e, h, t);
	buf_str(&e->helpers, hardware ? "#endif\n\n" : "\n");
}

/* Milliseconds for a call site beyond a plain operation (notes/speed.md 8.1, measured), float32 and float64. */
static const struct { uint16_t op; uint8_t f32, f64; } site_cost[] = {
	{OP_SIN, 14, 10}, {OP_COS, 14, 10}, {OP_TAN, 14, 12}, {OP_POW, 6, 8}, {OP_MOD, 20, 42}, {OP_FMOD, 20, 42},
	{OP_FLOORDIV, 20, 42}, {OP_LGAMMA, 19, 38}, {OP_TGAMMA, 16, 134}, {OP_ERFINV, 30, 40}, {OP_DIV, 1, 1}, {OP_SQRT, 1, 1},
	{OP_ATAN2, 6, 8}, {OP_EXP, 2, 4}, {OP_LOG, 4, 5},
};

double meaning_cost(const struct code *c, const struct step *s)
{
	int wide = step_type(c, s) == GX_FLOAT64;

	for (size_t i = 0; i < sizeof site_cost / sizeof *site_cost; i++)
		if (site_cost[i].op == s->op)
			return wide ? site_cost[i].f64 : site_cost[i].f32;
	return op_table[s->op].heavy ? 5 : strlen(op_table[s->op].text) > 60 ? 0.2 : 0.05;
}

static const char *op_name(enum op op)
{
	return op_table[op].name + (op_table[op].name[0] == '_');
}

static void op_need(struct emit *e, enum op op, gx_dtype t)
{
	static const char *const letter[3] = {"a", "b", "c"};
	const struct op_info *o = &op_table[op];
	struct buf b = {0};

	if (e->op_done[op][t])
		return;
	e->op_done[op][t] = 1;
	buf_fmt(&b, "static __device__ %s %s %s_%s(", inlining(e, o->heavy || strstr(o->text, "gx_") || strstr(o->text, "fmod")),
		o->result == TEST ? "unsigned char" : ctype(t), op_name(op), abbr(t));
	for (int i = 0; i < o->arity; i++)
		buf_fmt(&b, "%s%s %s", i ? ", " : "", i == 0 && o->flags & COND ? "unsigned char" : ctype(t), letter[i]);
	buf_str(&b, ")\n{\n\treturn ");
	expand(e, &b, o->text, t);
	buf_fmt(&e->helpers, "%s;\n}\n\n", b.text ? b.text : "");
	e->helpers.failed |= b.failed;
	buf_free(&b);
}

/* Operations that read best, and mean exactly the same, as the operator itself. Arithmetic only for floats: integers wrap. */
static const struct { uint16_t op; const char *infix; } plain[] = {
	{OP_ADD, "+"}, {OP_SUB, "-"}, {OP_MUL, "*"}, {OP_DIV, "/"}, {OP_EQ, "=="}, {OP_NE, "!="}, {OP_LT, "<"}, {OP_LE, "<="},
	{OP_GT, ">"}, {OP_GE, ">="}, {OP_AND, "&"}, {OP_OR, "|"}, {OP_XOR, "^"},
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

/* Chan, Golub, LeVeque: two sets of numbers, each given by count, mean and sum of squared deviations, become one. */
static const char merge_moments[] =
	"static __device__ __forceinline__ void fold_m2_f64(double &n, double &mean, double &m2, double nb, double meanb, double m2b)\n"
	"{\n\tif (nb == 0)\n\t\treturn;\n\tconst double part = nb / (n + nb);\n\tconst double d = meanb - mean;\n"
	"\tm2 = n == 0 ? m2b : m2 + m2b + d * d * (n * part);\n\tmean = n == 0 ? meanb : mean + d * part;\n\tn = n + nb;\n}\n\n";

static void red_head(const struct red_info *r, struct buf *b, gx_dtype t)
{
	if (r->state == PAIR)
		buf_fmt(b, "(%s &a, long long &i, %s b, long long j)\n{\n\tif (j >= 0 && (i < 0 || (", ctype(t), ctype(t));
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

/* 2^n for the limits of float to integer conversions, spelled so that float and double read the same number. */
static const char *power(int n)
{
	switch (n) {
	case 7: return "128";
	case 8: return "256";
	case 15: return "32768";
	case 16: return "65536";
	case 31: return "2147483648.0f";
	case 32: return "4294967296.0f";
	case 63: return "9223372036854775808.0f";
	default: return "18446744073709551616.0f";
	}
}

/* Floats to integers saturate and NaN gives 0: C leaves that open, so it is written out. */
static void cast_need(struct emit *e, gx_dtype to, gx_dtype from)
{
	int bits = 8 * type_table[to].bytes;
	int is_signed = type_has(to, C_SINT);
	const char *top = power(is_signed ? bits - 1 : bits);

	if (e->cast_done[to][from])
		return;
	e->cast_done[to][from] = 1;
	buf_fmt(&e->helpers, "static __device__ __forceinline__ %s cast_%s_%s(%s a)\n{\n\tif (a != a)\n\t\treturn 0;\n\tif (a >= %s)\n"
		"\t\treturn %s;\n\tif (a < %s%s)\n\t\treturn %s;\n\treturn (%s)a;\n}\n\n", ctype(to), abbr(to), abbr(from), ctype(from), top,
		limit[to].hi, is_signed ? "-" : "", is_signed ? top : "0", limit[to].lo, ctype(to));
}

void meaning_cast(struct emit *e, struct buf *b, gx_dtype to, gx_dtype from, const char *value)
{
	if (to == from) {
		buf_str(b, value);
		return;
	}
	if (to == GX_BOOL) {
		buf_fmt(b, "%s != 0", value);
		return;
	}
	if (type_has(from, C_FLT) && type_has(to, C_SINT | C_UINT)) {
		cast_need(e, to, from);
		buf_fmt(b, "cast_%s_%s(%s)", abbr(to), abbr(from), value);
		return;
	}
	buf_fmt(b, "(%s)%s", ctype(to), value);
}

void meaning_load(struct emit *e, struct buf *b, gx_dtype mem, const char *place)
{
	if (mem == GX_FLOAT16 || mem == GX_BFLOAT16) {
		int i = mem == GX_FLOAT16 ? 0 : 2;

		half_need(e, i);
		buf_fmt(b, "%s(%s)", half[i].name, place);
		return;
	}
	buf_fmt(b, mem == GX_BOOL ? "%s != 0" : "%s", place);
}

void meaning_store(struct emit *e, struct buf *b, gx_dtype mem, gx_dtype from, const char *value)
{
	int i = mem == GX_FLOAT16 ? 1 : 3;

	if (mem != GX_FLOAT16 && mem != GX_BFLOAT16) {
		meaning_cast(e, b, mem, from, value);
		return;
	}
	half_need(e, i);
	buf_fmt(b, "%s(", half[i].name);
	meaning_cast(e, b, GX_FLOAT32, from, value);
	buf_char(b, ')');
}

/* A float as bits, with its value for the reader (the locale may have put a comma in it). */
static void const_float(struct buf *b, gx_dtype t, uint64_t bits)
{
	char text[40];
	double v;
	float f;
	uint32_t low = (uint32_t)bits;
	struct buf n = {0};

	memcpy(&f, &low, 4);
	memcpy(&v, &bits, 8);
	if (t == GX_FLOAT32)
		v = f;
	buf_fmt(&n, "%.*g", t == GX_FLOAT32 ? 9 : 17, v);
	strncpy(text, n.text ? n.text : "", sizeof text - 1);
	text[sizeof text - 1] = 0;
	buf_free(&n);
	for (char *p = text; *p; p++)
		if (*p == ',')
			*p = '.';
	if (t == GX_FLOAT32)
		buf_fmt(b, "__int_as_float(%s0x%08x) /* %s */", low >> 31 ? "(int)" : "", low, text);
	else
		buf_fmt(b, "__longlong_as_double((long long)0x%016llxull) /* %s */", (unsigned long long)bits, text);
}

void meaning_const(struct buf *b, gx_dtype t, uint64_t bits)
{
	int unused = 64 - 8 * type_table[t].bytes;
	long long v = (long long)(bits << unused) >> unused;

	if (type_has(t, C_FLT))
		const_float(b, t, bits);
	else if (t == GX_UINT64)
		buf_fmt(b, "%lluull", (unsigned long long)bits);
	else if (!type_has(t, C_SINT))
		buf_fmt(b, "%lluu", (unsigned long long)(bits << unused >> unused));
	else if ((t == GX_INT64 && v == INT64_MIN) || (t == GX_INT32 && v == INT32_MIN))
		buf_str(b, limit[t].lo);
	else
		buf_fmt(b, t == GX_INT64 ? "%lldLL" : "%lld", v);
}
