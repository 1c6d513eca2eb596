/* loops_quick.h -- for loops_isa.c: the scalar functions that its rows call, in forms that compilers turn into vectors, with the bits of
 * the definitions in helpers.def; and lgamma without its global variable. SUF names the type at hand. */
#ifndef GX_LOOPS_QUICK_H
#define GX_LOOPS_QUICK_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- 16-bit floats ---- */

static inline float bits_float(uint32_t b)
{
	float f;

	memcpy(&f, &b, sizeof f);
	return f;
}

static inline uint32_t float_bits(float f)
{
	uint32_t b;

	memcpy(&b, &f, sizeof b);
	return b;
}

static inline float gx_f16_to_f32(unsigned short h)
{
#ifdef __F16C__
	return __builtin_ia32_vcvtph2ps((__attribute__((vector_size(16))) short){(short)h})[0];
#else
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;

	if (e == 31)
		return bits_float(sign | 0x7f800000u | m << 13);
	if (e == 0)
		return bits_float(sign | float_bits((float)m * 5.9604644775390625e-08f));   /* m * 2^-24, exact */
	return bits_float(sign | (e + 112) << 23 | m << 13);
#endif
}

/* Nearest, ties to even: for normal results by adding what the lost bits round to, for small ones by a float addition that rounds there. */
static inline unsigned short gx_f32_to_f16(float f)
{
	uint32_t b = float_bits(f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;

	if (a > 0x7f800000)
		return (unsigned short)(sign | 0x7e00 | (a >> 13 & 0x3ff));
	if (a >= 0x477ff000)   /* 65520 and above round to infinity */
		return (unsigned short)(sign | 0x7c00);
	if (a < 0x38800000)    /* below 2^-14 */
		return (unsigned short)(sign | (float_bits(bits_float(a) + 0.5f) - 0x3f000000));
	return (unsigned short)(sign | (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13);
}

static inline float gx_bf16_to_f32(unsigned short h)
{
	return bits_float((uint32_t)h << 16);
}

static inline unsigned short gx_f32_to_bf16(float f)
{
	uint32_t b = float_bits(f);

	if ((b & 0x7fffffff) > 0x7f800000)
		return (unsigned short)(b >> 16 | 0x40);
	return (unsigned short)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

static inline float gx_round_odd(double d)
{
	float f = (float)d;
	uint32_t b = float_bits(f);

	if (!((double)f != d) || d != d)
		return f;
	if (isinf(f) || fabs((double)f) > fabs(d))
		b--;   /* towards zero */
	return bits_float(b | 1);
}

/* ---- functions of helpers.def: the instance for the type at hand ---- */

#define gx_signbit(...) PASTE(gx_signbit_, SUF)(__VA_ARGS__)
#define gx_min(...) PASTE(quick_min_, SUF)(__VA_ARGS__)
#define gx_max(...) PASTE(quick_max_, SUF)(__VA_ARGS__)
#define gx_erfinv(...) PASTE(gx_erfinv_, SUF)(__VA_ARGS__)
#define gx_mod(...) PASTE(quick_mod_, SUF)(__VA_ARGS__)
#define gx_floordiv(...) PASTE(quick_floordiv_, SUF)(__VA_ARGS__)
#define gx_rem(...) PASTE(quick_rem_, SUF)(__VA_ARGS__)
#define gx_ipow(...) PASTE(gx_ipow_, SUF)(__VA_ARGS__)
#define gx_gcd(...) PASTE(gx_gcd_, SUF)(__VA_ARGS__)
#define gx_lcm(...) PASTE(gx_lcm_, SUF)(__VA_ARGS__)
#define gx_upow(...) PASTE(gx_upow_, SUF)(__VA_ARGS__)
#define gx_ugcd(...) PASTE(gx_ugcd_, SUF)(__VA_ARGS__)
#define gx_ulcm(...) PASTE(gx_ulcm_, SUF)(__VA_ARGS__)
#define gx_popcount(...) PASTE(gx_popcount_, SUF)(__VA_ARGS__)

/* ---- the same results in forms that compilers turn into vectors ---- */

/* Equal values have equal bits but for zeros: of those, "and" keeps +0 and "or" -0. A NaN in b comes through the comparison. */
#define QUICK_PICK(name, s, T, I, join, over) \
	static inline T quick_##name##_##s(T a, T b) \
	{ \
		I x, y; \
		T r; \
		memcpy(&x, &a, sizeof x); \
		memcpy(&y, &b, sizeof y); \
		x join y; \
		memcpy(&r, &x, sizeof r); \
		r = a == b ? r : a over b ? a : b; \
		return a != a ? a : r; \
	}
QUICK_PICK(max, f32, float, int, &=, >)
QUICK_PICK(min, f32, float, int, |=, <)
QUICK_PICK(max, f64, double, long long, &=, >)
QUICK_PICK(min, f64, double, long long, |=, <)

/* Floats as integers in the same order, and back (the same exchange of bits); not for NaN. */
#define RANKS(s, T, I) \
	typedef I rank_type_##s; \
	static inline I rank_##s(T a) \
	{ \
		I b; \
		memcpy(&b, &a, sizeof b); \
		return b ^ (I)((b >> (8 * sizeof b - 1)) & ~((I)1 << (8 * sizeof b - 1))); \
	} \
	static inline T unrank_##s(I b) \
	{ \
		T a; \
		b ^= (I)((b >> (8 * sizeof b - 1)) & ~((I)1 << (8 * sizeof b - 1))); \
		memcpy(&a, &b, sizeof a); \
		return a; \
	}
RANKS(f32, float, int)
RANKS(f64, double, long long)
/* KIND_FOLD(id): which of the folds of loops_type.h goes into the table. */
#define RANKED_MIN ranked, ranked
#define RANKED_MAX ranked, ranked
#define KIND_FOLD(id) KIND_FOLD_(RANKED_##id)
#define KIND_FOLD_(...) SECOND_OF_(__VA_ARGS__, ranked_, plain_, 0)

/* Integer quotients through floating point, which has vectors: exact, because a quotient of n-bit integers that is not an integer is
 * further from the next one than a division's rounding error (1 part in 2^n against 2^-24 and 2^-53). */
#define QUICK_DIV_S(s, T, W, F) \
	static inline T quick_quotient_##s(T a, T b) \
	{ \
		return (T)((F)a / (F)(b == 0 || b == -1 ? 1 : b)); \
	} \
	static inline T quick_floordiv_##s(T a, T b) \
	{ \
		T q = quick_quotient_##s(a, b); \
		q = (T)((W)q - (W)((W)q * (W)b != (W)a && (a < 0) != (b < 0))); \
		return b == 0 ? 0 : b == -1 ? (T)(0 - (W)a) : q; \
	} \
	static inline T quick_rem_##s(T a, T b) \
	{ \
		T r = (T)((W)a - (W)quick_quotient_##s(a, b) * (W)b); \
		return b == 0 || b == -1 ? 0 : r; \
	} \
	static inline T quick_mod_##s(T a, T b) \
	{ \
		T r = quick_rem_##s(a, b); \
		return (T)((W)r + (r != 0 && (r < 0) != (b < 0) ? (W)b : 0)); \
	}
QUICK_DIV_S(i8, signed char, unsigned, float)
QUICK_DIV_S(i16, short, unsigned, float)
QUICK_DIV_S(i32, int, unsigned, double)
#define quick_floordiv_i64 gx_floordiv_i64
#define quick_mod_i64 gx_mod_i64
#define quick_rem_i64 gx_rem_i64
#define quick_floordiv_f32 gx_floordiv_f32
#define quick_mod_f32 gx_mod_f32
#define quick_floordiv_f64 gx_floordiv_f64
#define quick_mod_f64 gx_mod_f64

/* lgamma writes the global signgam; several threads must not. */
#undef lgamma
static inline float quiet_lgamma_f32(float a)
{
	int sign;

	return lgammaf_r(a, &sign);
}
static inline double quiet_lgamma_f64(double a)
{
	int sign;

	return lgamma_r(a, &sign);
}
#define lgamma(a) PASTE(quiet_lgamma_, SUF)(a)

#endif
