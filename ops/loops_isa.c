/* loops_isa.c -- every row of the tables as a loop, for one instruction set; compiled once for each (scripts/isa.mk sets ISA and the
 * compiler flags). loops_type.h is included once for each register type, with T, W, LO, HI and BITS meaning that type, and turns the
 * rows that take it into functions. Rows that name a SLEEF function run it on whole vectors. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>

#include "ops/loops_table.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define PADDED(n) (((n) + LOOP_PAD - 1) / LOOP_PAD * LOOP_PAD)

#define QUOTE_(s) #s
#define QUOTE(s) QUOTE_(s)

/* Running folds, see loops.h. Each step waits for the one before it, so eight units run side by side. */
#define SCANS(...) SCANS_(__VA_ARGS__)
#define SCANS_(name, A, S, combine) \
	static void scan_##name(void *dst, const void *values, size_t n, void *acc) \
	{ \
		const S *v = values; \
		A *d = dst, a = *(A *)acc; \
		for (size_t i = 0; i < n; i++) \
			d[i] = a = combine(a, (A)v[i]); \
		*(A *)acc = a; \
	} \
	static void units_##name(void *dst, const void *values, size_t n, void *acc) \
	{ \
		const S *v = values; \
		A *d = dst, a[8] = {0}; \
		(void)acc; \
		for (; n >= 8 * SCAN_UNIT; n -= 8 * SCAN_UNIT, v += 8 * SCAN_UNIT, d += 8 * SCAN_UNIT) \
			for (int i = 0; i < SCAN_UNIT; i++) \
				for (int j = 0; j < 8; j++) { \
					A x = (A)v[j * SCAN_UNIT + i]; \
					d[j * SCAN_UNIT + i] = a[j] = i ? combine(a[j], x) : x; \
				} \
		for (; n; n -= SCAN_UNIT, v += SCAN_UNIT, d += SCAN_UNIT) { \
			a[0] = d[0] = (A)v[0]; \
			scan_##name(d + 1, v + 1, SCAN_UNIT - 1, a); \
		} \
	}

#include "ops/loops_quick.h"
#include "ops/loops_ranged.h"

/* ---- SLEEF: vector types and names of this instruction set ---- */

#define isa_avx512 1
#define isa_avx2 2
#define isa_sse2 3
#define isa_generic 4
#if PASTE(isa_, ISA) != isa_generic && !__has_include(<sleef.h>)
#error "sleef.h is missing; ./bootstrap installs it, or says how"
#endif
#if PASTE(isa_, ISA) == isa_avx512
#include <immintrin.h>
#include <sleef.h>
typedef __m512 VF32 __attribute__((aligned(4)));
typedef __m512d VF64 __attribute__((aligned(8)));
#define HAVE_SLEEF 1
#define SLEEF_f32(f, u) PASTE(PASTE(Sleef_, f), PASTE(f16_, PASTE(u, avx512f)))
#define SLEEF_f64(f, u) PASTE(PASTE(Sleef_, f), PASTE(d8_, PASTE(u, avx512f)))
#elif PASTE(isa_, ISA) == isa_avx2
#include <immintrin.h>
#include <sleef.h>
typedef __m256 VF32 __attribute__((aligned(4)));
typedef __m256d VF64 __attribute__((aligned(8)));
#define HAVE_SLEEF 1
#define SLEEF_f32(f, u) PASTE(PASTE(Sleef_, f), PASTE(f8_, PASTE(u, avx2)))
#define SLEEF_f64(f, u) PASTE(PASTE(Sleef_, f), PASTE(d4_, PASTE(u, avx2)))
#elif PASTE(isa_, ISA) == isa_sse2
#include <emmintrin.h>
#include <sleef.h>
typedef __m128 VF32 __attribute__((aligned(4)));
typedef __m128d VF64 __attribute__((aligned(8)));
#define HAVE_SLEEF 1
#define SLEEF_f32(f, u) PASTE(PASTE(Sleef_, f), PASTE(f4_, PASTE(u, sse2)))
#define SLEEF_f64(f, u) PASTE(PASTE(Sleef_, f), PASTE(d2_, PASTE(u, sse2)))
#endif

/* V(-) has one argument, V(exp, u10) two, V(sin, u10, RANGED) three. */
#define SECOND_OF_(a, b, c, ...) c
#define KIND_V(...) SECOND_OF_(__VA_ARGS__, SLEEF, PLAIN, 0)
#define F_V(f, ...) f
#define U_V(...) U_OF_(__VA_ARGS__, 0, 0)
#define U_OF_(f, u, ...) u

/* ---- rows, type by type ---- */

#define SUF b8
#define ID BOOL
#define CLASS_NOW_BOOL
#define T unsigned char
#define W unsigned
#define LO ((T)(0))
#define HI ((T)(1))
#define BITS 8
#include "ops/loops_type.h"

#define SUF i8
#define ID INT8
#define CLASS_NOW_SINT
#define T signed char
#define W unsigned
#define LO ((T)(-128))
#define HI ((T)(127))
#define BITS 8
#include "ops/loops_type.h"

#define SUF i16
#define ID INT16
#define CLASS_NOW_SINT
#define T short
#define W unsigned
#define LO ((T)(-32768))
#define HI ((T)(32767))
#define BITS 16
#include "ops/loops_type.h"

#define SUF i32
#define ID INT32
#define CLASS_NOW_SINT
#define T int
#define W unsigned
#define LO ((T)(-2147483647 - 1))
#define HI ((T)(2147483647))
#define BITS 32
#include "ops/loops_type.h"

#define SUF i64
#define ID INT64
#define CLASS_NOW_SINT
#define T long long
#define W unsigned long long
#define LO ((T)(-9223372036854775807LL - 1))
#define HI ((T)(9223372036854775807LL))
#define BITS 64
#include "ops/loops_type.h"

#define SUF u8
#define ID UINT8
#define CLASS_NOW_UINT
#define T unsigned char
#define W unsigned
#define LO ((T)(0))
#define HI ((T)(255))
#define BITS 8
#include "ops/loops_type.h"

#define SUF u16
#define ID UINT16
#define CLASS_NOW_UINT
#define T unsigned short
#define W unsigned
#define LO ((T)(0))
#define HI ((T)(65535))
#define BITS 16
#include "ops/loops_type.h"

#define SUF u32
#define ID UINT32
#define CLASS_NOW_UINT
#define T unsigned
#define W unsigned
#define LO ((T)(0))
#define HI ((T)(4294967295u))
#define BITS 32
#include "ops/loops_type.h"

#define SUF u64
#define ID UINT64
#define CLASS_NOW_UINT
#define T unsigned long long
#define W unsigned long long
#define LO ((T)(0))
#define HI ((T)(18446744073709551615ull))
#define BITS 64
#include "ops/loops_type.h"

#define SUF f32
#define ID FLOAT32
#define CLASS_NOW_FLT
#define T float
#define W float
#define LO ((T)(-3.4028234663852886e38f))
#define HI ((T)(3.4028234663852886e38f))
#define BITS 32
#include "ops/loops_type.h"

#define SUF f64
#define ID FLOAT64
#define CLASS_NOW_FLT
#define T double
#define W double
#define LO ((T)(-1.7976931348623157e308))
#define HI ((T)(1.7976931348623157e308))
#define BITS 64
#include "ops/loops_type.h"

/* ---- conversions ---- */

/* Float to integer saturates and NaN gives 0; anything to bool is != 0. */
#define TO_FLT_FROM_FLT(D, lo, hi, a) (D)(a)
#define TO_FLT_FROM_INT(D, lo, hi, a) (D)(a)
#define TO_INT_FROM_INT(D, lo, hi, a) (D)(a)
/* The bounds round to a power of two in the float's type, which is out of range itself: >= is right. */
#define TO_INT_FROM_FLT(D, lo, hi, a) \
	((a) != (a) ? 0 : (a) <= (__typeof__(a))(lo) ? (D)(lo) : (a) >= (__typeof__(a))(hi) ? (D)(hi) : (D)(a))
#define TO_BOOL_FROM_INT(D, lo, hi, a) (D)((a) != 0)
#define TO_BOOL_FROM_FLT(D, lo, hi, a) (D)((a) != 0)

#define CAST(ds, DID, dcls, D, lo, hi, ss, SID, scls, S) \
	static void cast_##ds##_##ss(void *dst, const void *pa, const void *pb, const void *pc, size_t n) \
	{ \
		D *d = dst; \
		const S *a = pa; \
\
		(void)pb; \
		(void)pc; \
		_Pragma("GCC ivdep") for (size_t i = 0; i < PADDED(n); i++) \
			d[i] = TO_##dcls##_FROM_##scls(D, lo, hi, a[i]); \
	}
#define CAST_ENTRY(ds, DID, dcls, D, lo, hi, ss, SID, scls, S) .cast[GX_##DID][GX_##SID] = cast_##ds##_##ss,

#define TO_ALL(M, ...) \
	M(b8, BOOL, BOOL, unsigned char, 0, 1, __VA_ARGS__) M(i8, INT8, INT, signed char, -128, 127, __VA_ARGS__) \
	M(i16, INT16, INT, short, -32768, 32767, __VA_ARGS__) M(i32, INT32, INT, int, -2147483647 - 1, 2147483647, __VA_ARGS__) \
	M(i64, INT64, INT, long long, -9223372036854775807LL - 1, 9223372036854775807LL, __VA_ARGS__) \
	M(u8, UINT8, INT, unsigned char, 0, 255, __VA_ARGS__) M(u16, UINT16, INT, unsigned short, 0, 65535, __VA_ARGS__) \
	M(u32, UINT32, INT, unsigned, 0, 4294967295u, __VA_ARGS__) \
	M(u64, UINT64, INT, unsigned long long, 0, 18446744073709551615ull, __VA_ARGS__) \
	M(f32, FLOAT32, FLT, float, 0, 0, __VA_ARGS__) M(f64, FLOAT64, FLT, double, 0, 0, __VA_ARGS__)
#define FROM_ALL(M) \
	TO_ALL(M, b8, BOOL, INT, unsigned char) TO_ALL(M, i8, INT8, INT, signed char) TO_ALL(M, i16, INT16, INT, short) \
	TO_ALL(M, i32, INT32, INT, int) TO_ALL(M, i64, INT64, INT, long long) TO_ALL(M, u8, UINT8, INT, unsigned char) \
	TO_ALL(M, u16, UINT16, INT, unsigned short) TO_ALL(M, u32, UINT32, INT, unsigned) TO_ALL(M, u64, UINT64, INT, unsigned long long) \
	TO_ALL(M, f32, FLOAT32, FLT, float) TO_ALL(M, f64, FLOAT64, FLT, double)
FROM_ALL(CAST)

#define HALF(name, D, S, convert) \
	static void name(void *dst, const void *pa, const void *pb, const void *pc, size_t n) \
	{ \
		D *d = dst; \
		const S *a = pa; \
\
		(void)pb; \
		(void)pc; \
		_Pragma("GCC ivdep") for (size_t i = 0; i < PADDED(n); i++) \
			d[i] = convert(a[i]); \
	}
HALF(load_f16, float, unsigned short, gx_f16_to_f32)
HALF(load_bf16, float, unsigned short, gx_bf16_to_f32)
HALF(store_f16, unsigned short, float, gx_f32_to_f16)
HALF(store_bf16, unsigned short, float, gx_f32_to_bf16)

/* ---- sums of float32 in float64, and moments ---- */

/* As a conversion and then the float64 row: the same lanes in the same order. */
static void fold_sum_f32_f64(void *acc, const void *values, size_t n)
{
	const float *v = values;
	double lane[16] = {0};
	size_t i = 0;

	for (; i + 16 <= n; i += 16)
		for (int j = 0; j < 16; j++)
			lane[j] += (double)v[i + (size_t)j];
	for (size_t j = 0; i + j < n; j++)
		lane[j] += (double)v[i + j];
	for (int h = 8; h > 0; h /= 2)
		for (int j = 0; j < h; j++)
			lane[j] += lane[j + h];
	*(double *)acc += lane[0];
}

#define ADD(a, b) ((a) + (b))
SCANS(sum_f32_f64, double, float, ADD)
#undef ADD

static void zip_sum_f32_f64(void *acc, const void *values, size_t n)
{
	const float *v = values;
	double *s = acc;

	_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)
		s[i] += (double)v[i];
}

/* Mean and sum of squared deviations of n values, in two passes. */
static void moments(const double *v, size_t n, double *mean, double *m2)
{
	double lane[16] = {0}, sum = 0, m;
	size_t i = 0;

	plain_SUM_f64(&sum, v, n);
	*mean = m = sum / (double)n;
	for (; i + 16 <= n; i += 16)
		for (int j = 0; j < 16; j++)
			lane[j] += (v[i + (size_t)j] - m) * (v[i + (size_t)j] - m);
	for (size_t j = 0; i + j < n; j++)
		lane[j] += (v[i + j] - m) * (v[i + j] - m);
	for (int h = 8; h > 0; h /= 2)
		for (int j = 0; j < h; j++)
			lane[j] += lane[j + h];
	*m2 = lane[0];
}

/* The count-th value into each of n accumulators (Welford). */
static void moments_zip(double count, double *mean, double *m2, const double *v, size_t n)
{
	double inverse = 1 / count;

	_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) {
		double d = v[i] - mean[i], next = mean[i] + d * inverse;

		mean[i] = next;
		m2[i] += d * (v[i] - next);
	}
}

/* ---- pairs of + - * ---- */

/* In the arithmetic type W, as the rows have it; no contraction (-ffp-contract=off). */
#define PAIR_LOOP(name, T, W, p, q) \
	static void name##_left(void *dst, const void *pa, const void *pb, const void *pc, size_t n) \
	{ \
		T *d = dst; \
		const T *a = pa, *b = pb, *c = pc; \
		_Pragma("GCC ivdep") for (size_t i = 0; i < PADDED(n); i++) \
			d[i] = (T)((W)(T)((W)a[i] p (W)b[i]) q (W)c[i]); \
	} \
	static void name##_right(void *dst, const void *pa, const void *pb, const void *pc, size_t n) \
	{ \
		T *d = dst; \
		const T *a = pa, *b = pb, *c = pc; \
		_Pragma("GCC ivdep") for (size_t i = 0; i < PADDED(n); i++) \
			d[i] = (T)((W)c[i] q (W)(T)((W)a[i] p (W)b[i])); \
	}
#define PAIR_ENTRY(i, j, ID, name) .pair[i][j][0][GX_##ID] = name##_left, .pair[i][j][1][GX_##ID] = name##_right,
#define NINE(M, s, ...) \
	M(0, 0, s, add_add, +, +, __VA_ARGS__) M(0, 1, s, add_sub, +, -, __VA_ARGS__) M(0, 2, s, add_mul, +, *, __VA_ARGS__) \
	M(1, 0, s, sub_add, -, +, __VA_ARGS__) M(1, 1, s, sub_sub, -, -, __VA_ARGS__) M(1, 2, s, sub_mul, -, *, __VA_ARGS__) \
	M(2, 0, s, mul_add, *, +, __VA_ARGS__) M(2, 1, s, mul_sub, *, -, __VA_ARGS__) M(2, 2, s, mul_mul, *, *, __VA_ARGS__)
#define NINE_LOOP(i, j, s, name, p, q, T, W) PAIR_LOOP(pair_##name##_##s, T, W, p, q)
#define NINE_ENTRY(i, j, s, name, p, q, ID) PAIR_ENTRY(i, j, ID, pair_##name##_##s)
NINE(NINE_LOOP, i32, int, unsigned)
NINE(NINE_LOOP, i64, long long, unsigned long long)
NINE(NINE_LOOP, f32, float, float)
NINE(NINE_LOOP, f64, double, double)

const struct loop_table PASTE(loops_, ISA) = {
	.name = QUOTE(ISA),
	.fold_sum_f32 = fold_sum_f32_f64,
	.zip_sum_f32 = zip_sum_f32_f64,
	.scan_sum_f32 = scan_sum_f32_f64,
	.scan_units_sum_f32 = units_sum_f32_f64,
	.moments = moments,
	.moments_zip = moments_zip,
	FROM_ALL(CAST_ENTRY)
	NINE(NINE_ENTRY, i32, INT32)
	NINE(NINE_ENTRY, i64, INT64)
	NINE(NINE_ENTRY, f32, FLOAT32)
	NINE(NINE_ENTRY, f64, FLOAT64)
	.cast[GX_FLOAT32][GX_FLOAT16] = load_f16,
	.cast[GX_FLOAT32][GX_BFLOAT16] = load_bf16,
	.cast[GX_FLOAT16][GX_FLOAT32] = store_f16,
	.cast[GX_BFLOAT16][GX_FLOAT32] = store_bf16,
#define SUF b8
#define ID BOOL
#define CLASS_NOW_BOOL
#define ENTRIES
#include "ops/loops_type.h"
#define SUF i8
#define ID INT8
#define CLASS_NOW_SINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF i16
#define ID INT16
#define CLASS_NOW_SINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF i32
#define ID INT32
#define CLASS_NOW_SINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF i64
#define ID INT64
#define CLASS_NOW_SINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF u8
#define ID UINT8
#define CLASS_NOW_UINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF u16
#define ID UINT16
#define CLASS_NOW_UINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF u32
#define ID UINT32
#define CLASS_NOW_UINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF u64
#define ID UINT64
#define CLASS_NOW_UINT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF f32
#define ID FLOAT32
#define CLASS_NOW_FLT
#define ENTRIES
#include "ops/loops_type.h"
#define SUF f64
#define ID FLOAT64
#define CLASS_NOW_FLT
#define ENTRIES
#include "ops/loops_type.h"
};
