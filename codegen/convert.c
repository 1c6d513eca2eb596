/* convert.c -- values between types: casts between register types, elements of memory to register values
 * and back, constants. */
#include <string.h>

#include "codegen/emit.h"

/* Conversions that each engine supplies; the emulator brings its own. The bfloat16 rounding is done on bits
 * before sm_80. */
enum { HALVES = 5 };
static const struct {
	const char *name, *text;
} half[HALVES] = {
	{"gx_f16_to_f32",
		"static __device__ __forceinline__ float gx_f16_to_f32(unsigned short a)\n{\n\tfloat r;\n"
		"\tasm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(a));\n\treturn r;\n}\n"},
	{"gx_f32_to_f16",
		"static __device__ __forceinline__ unsigned short gx_f32_to_f16(float a)\n{\n\tunsigned short r;\n"
		"\tasm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n\treturn r;\n}\n"},
	{"gx_bf16_to_f32",
		"static __device__ __forceinline__ float gx_bf16_to_f32(unsigned short a)\n{\n"
		"\treturn __int_as_float((int)((unsigned)a << 16));\n}\n"},
	{"gx_f32_to_bf16",
		"static __device__ __forceinline__ unsigned short gx_f32_to_bf16(float a)\n{\n"
		"#if __CUDA_ARCH__ >= 800\n\tunsigned short r;\n\tasm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(a));\n\treturn r;\n"
		"#else\n\tconst unsigned u = (unsigned)__float_as_int(a);\n\tif (a != a)\n\t\treturn 0x7fff;\n"
		"\treturn (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);\n#endif\n}\n"},
	{"gx_round_odd",
		"static __device__ __forceinline__ float gx_round_odd(double a)\n{\n\tconst float r = __double2float_rz(a);\n"
		"\treturn a != a || (double)r == a ? r : __int_as_float(__float_as_int(r) | 1);\n}\n"},
};

void meaning_half(struct emit *e, int i)
{
	if (e->half_done[i])
		return;
	e->half_done[i] = 1;
	buf_fmt(&e->helpers, "#ifndef GX_EMULATE\n%s#endif\n\n", half[i].text);
}

int meaning_half_find(const char *name, size_t n)
{
	for (int i = 0; i < HALVES; i++)
		if (strlen(half[i].name) == n && memcmp(half[i].name, name, n) == 0)
			return i;
	return -1;
}

/* 2^n for the limits of float to integer conversions, spelled so that float and double read the same
 * number. */
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
	buf_fmt(&e->helpers,
		"static __device__ __forceinline__ %s cast_%s_%s(%s a)\n{\n\tif (a != a)\n\t\treturn 0;\n\tif (a >= %s)\n"
		"\t\treturn %s;\n\tif (a < %s%s)\n\t\treturn %s;\n\treturn (%s)a;\n}\n\n",
		ctype(to), abbr(to), abbr(from), ctype(from), top, type_most(to), is_signed ? "-" : "",
		is_signed ? top : "0", type_least(to), ctype(to));
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

		meaning_half(e, i);
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
	meaning_half(e, i);
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
		buf_fmt(
			b, "__longlong_as_double((long long)0x%016llxull) /* %s */", (unsigned long long)bits, text);
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
		buf_str(b, type_least(t));
	else
		buf_fmt(b, t == GX_INT64 ? "%lldLL" : "%lld", v);
}
