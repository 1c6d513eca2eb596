/* loops_ranged.h -- for loops_isa.c: sine and cosine of float32 near 0, and which function computes arguments near 0. Unlike SLEEF's,
 * each value comes from its own argument alone. */
#ifndef OPS_LOOPS_RANGED_H
#define OPS_LOOPS_RANGED_H
#include <stdint.h>
#include <string.h>

#include "ops/loops.h"

#ifdef __FMA__
/* Sines of LOOP_PAD values below 2^20, each turned by some quarters of a circle: within 0.504 ulp, measured over all such numbers. Cody
 * and Waite's reduction (Software Manual for the Elementary Functions, 1980) by pi/2 in two parts; on [-pi/4, pi/4] sin(r)/r and cos(r)
 * are polynomials in r*r fitted at Chebyshev's points, off by 2e-11 and 2e-10. */
static inline __attribute__((always_inline)) void sine_turned(float *d, const float *x, uint64_t quarters)
{
	for (int i = 0; i < LOOP_PAD; i++) {
		double v = x[i], t = __builtin_fma(v, 0x1.45f306dc9c883p-1, 0x1.8p52), k = t - 0x1.8p52;   /* the sum rounds to a whole number */
		double near = __builtin_fma(-k, 0x1.921fb54442d18p+0, v), r = __builtin_fma(-k, 0x1.1a62633145c07p-54, near), z = r * r;
		double s = __builtin_fma(0x1.6dbded5452c9bp-19, z, -0x1.a013a740c35cep-13);
		double c = __builtin_fma(0x1.9a6f06c8e8a82p-16, z, -0x1.6c0e080d7e233p-10);
		uint64_t q, y;
		double value;

		s = __builtin_fma(__builtin_fma(s, z, 0x1.11110deef0ae3p-7), z, -0x1.555555545df18p-3);
		c = __builtin_fma(__builtin_fma(c, z, 0x1.55554cba9b713p-5), z, -0x1.fffffffab14f9p-2);
		memcpy(&q, &t, sizeof q);
		q += quarters;
		value = q & 1 ? __builtin_fma(c, z, 1) : r * __builtin_fma(s, z, 1);
		memcpy(&y, &value, sizeof y);
		y ^= (q & 2) << 62;
		memcpy(&value, &y, sizeof value);
		d[i] = (float)value;
	}
}

static void near_sin(float *d, const float *x, const float *none)
{
	(void)none;
	sine_turned(d, x, 0);
}

static void near_cos(float *d, const float *x, const float *none)
{
	(void)none;
	sine_turned(d, x, 1);
}
#endif

/* What computes LOOP_PAD values of sin, cos and tan where all are near 0: below 2^20, or (far itself) SLEEF's first range. */
typedef void (*chunk_f32)(float *, const float *, const float *);
typedef void (*chunk_f64)(double *, const double *, const double *);

static inline chunk_f32 near_f32(enum op op, chunk_f32 far)
{
#ifdef __FMA__
	if (op == OP_SIN || op == OP_COS)
		return op == OP_SIN ? near_sin : near_cos;
#endif
	(void)op;
	return far;
}

static inline chunk_f64 near_f64(enum op op, chunk_f64 far)
{
	(void)op;
	return far;
}

#endif
