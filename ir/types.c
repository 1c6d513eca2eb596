/* types.c -- promotion as in NumPy 2 (NEP 50), with bfloat16 beside float16. */
#include "ir/check.h"

gx_dtype reg_of(gx_dtype t)
{
	return (gx_dtype)type_table[t].reg;
}

static int is_float(gx_dtype t)
{
	return type_has(t, C_HALF | C_FLT);
}

/* Smallest float that NumPy gives an integer beside a float: 8 bits fit float16, 16 bits float32, more float64. */
static gx_dtype int_with_float(gx_dtype i, gx_dtype f)
{
	int bytes = type_table[i].bytes;

	if (i == GX_BOOL || bytes == 1)
		return f;
	if (bytes == 2)
		return type_has(f, C_HALF) ? GX_FLOAT32 : f;
	return GX_FLOAT64;
}

static gx_dtype signed_of_bytes(int bytes)
{
	return bytes == 1 ? GX_INT8 : bytes == 2 ? GX_INT16 : bytes == 4 ? GX_INT32 : GX_INT64;
}

gx_dtype promote(gx_dtype a, gx_dtype b)
{
	if (a == b)
		return a;
	if (a == GX_BOOL || b == GX_BOOL)
		return a == GX_BOOL ? b : a;
	if (is_float(a) && is_float(b)) {
		if (type_has(a, C_HALF) && type_has(b, C_HALF))
			return GX_FLOAT32;
		return type_table[a].bytes > type_table[b].bytes ? a : b;
	}
	if (is_float(a) || is_float(b))
		return is_float(a) ? int_with_float(b, a) : int_with_float(a, b);
	if (type_table[a].cls == type_table[b].cls)
		return type_table[a].bytes > type_table[b].bytes ? a : b;
	if (type_has(b, C_SINT)) {
		gx_dtype swap = a;

		a = b;
		b = swap;
	}
	/* a is signed, b unsigned: a signed type that holds both, float64 where there is none */
	if (type_table[a].bytes > type_table[b].bytes)
		return a;
	return type_table[b].bytes == 8 ? GX_FLOAT64 : signed_of_bytes(2 * type_table[b].bytes);
}

gx_dtype float_of(gx_dtype t)
{
	if (is_float(t))
		return t;
	return type_table[t].bytes <= 2 ? GX_FLOAT32 : GX_FLOAT64;
}

gx_dtype common_type(const struct val *v, int n)
{
	int have = 0, weak = STRONG;
	gx_dtype t = GX_BOOL;

	for (int i = 0; i < n; i++) {
		if (v[i].weak > weak)
			weak = v[i].weak;
		if (v[i].weak)
			continue;
		t = have ? promote(t, v[i].type) : v[i].type;
		have = 1;
	}
	if (weak == WEAK_FLOAT && !is_float(t))
		return GX_FLOAT64;
	if (weak == WEAK_INT && t == GX_BOOL)
		return GX_INT64;
	return t;
}
