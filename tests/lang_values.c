/* lang_values.c -- elements of every type from text and from numbers, and how far two of them are apart.
 * Written without the library, so that a wrong conversion there shows here. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lang.h"

/* Nearest 16-bit float, ties to even. */
static uint16_t half_bits(double v, int frac, int bias)
{
	unsigned sign = signbit(v) ? 0x8000u : 0, inf = (unsigned)(2 * bias + 1) << frac;
	double m = fabs(v), q;
	int e;

	if (isnan(v))
		return (uint16_t)(inf | 1u << (frac - 1));
	if (isinf(v))
		return (uint16_t)(sign | inf);
	if (m == 0)
		return (uint16_t)sign;
	e = ilogb(m);
	e = e < 1 - bias ? 1 - bias : e;
	q = rint(ldexp(m, frac - e));
	if (q >= ldexp(1, frac + 1)) {
		q /= 2;
		e++;
	}
	if (e > bias)
		return (uint16_t)(sign | inf);
	if (q < ldexp(1, frac))
		return (uint16_t)(sign | (unsigned)q);
	return (uint16_t)(sign | (unsigned)(e + bias) << frac | ((unsigned)q - (1u << frac)));
}

static double half_value(uint16_t h, int frac, int bias)
{
	int e = (h & 0x7fff) >> frac;
	double q = h & ((1 << frac) - 1), v;

	if (e == 2 * bias + 1)
		v = q != 0 ? (double)NAN : (double)INFINITY;
	else
		v = e ? ldexp(q + (1 << frac), e - bias - frac) : ldexp(q, 1 - bias - frac);
	return h & 0x8000 ? -v : v;
}

static int is_float(gx_dtype t)
{
	return t >= GX_FLOAT16 && t <= GX_FLOAT64;
}

static int is_unsigned(gx_dtype t)
{
	return t >= GX_UINT8 && t <= GX_UINT64;
}

void value_make(gx_dtype t, double v, void *dst)
{
	int64_t i = is_float(t) ? 0 : (int64_t)v;
	float f = (float)v;
	uint16_t h;

	if (t == GX_FLOAT64) {
		memcpy(dst, &v, sizeof v);
	} else if (t == GX_FLOAT32) {
		memcpy(dst, &f, sizeof f);
	} else if (is_float(t)) {
		h = t == GX_FLOAT16 ? half_bits(v, 10, 15) : half_bits(v, 7, 127);
		memcpy(dst, &h, sizeof h);
	} else {
		if (t == GX_BOOL)
			i = v != 0;
		memcpy(dst, &i, gx_dtype_size(t)); /* little-endian, as everything here */
	}
}

static int read_float(gx_dtype t, const char *word, void *dst)
{
	char *end;
	float f = strtof(word, &end);
	double d = strtod(word, NULL);

	if (*end || end == word)
		return -1;
	if (t == GX_FLOAT32)
		memcpy(dst, &f, sizeof f);
	else
		value_make(t, d, dst);
	return 0;
}

static int read_unsigned(size_t bits, const char *word, void *dst)
{
	char *end;
	unsigned long long u;

	errno = 0;
	u = strtoull(word, &end, 0);
	if (*end || end == word || errno || word[0] == '-' || (bits < 64 && u >> bits))
		return -1;
	memcpy(dst, &u, bits / 8);
	return 0;
}

static int read_signed(size_t bits, const char *word, void *dst)
{
	char *end;
	long long i;

	errno = 0;
	i = strtoll(word, &end, 0);
	if (*end || end == word || errno || (bits < 64 && (i < -(1LL << (bits - 1)) || i >= 1LL << (bits - 1))))
		return -1;
	memcpy(dst, &i, bits / 8);
	return 0;
}

int value_read(gx_dtype t, const char *word, void *dst)
{
	size_t bits = gx_dtype_size(t) * 8;

	if (is_float(t))
		return read_float(t, word, dst);
	if (t != GX_BOOL)
		return is_unsigned(t) ? read_unsigned(bits, word, dst) : read_signed(bits, word, dst);
	if (strcmp(word, "true") != 0 && strcmp(word, "false") != 0)
		return -1;
	value_make(t, word[0] == 't', dst);
	return 0;
}

static double float_of(gx_dtype t, const void *p)
{
	double d;
	float f;
	uint16_t h;

	if (t == GX_FLOAT64) {
		memcpy(&d, p, sizeof d);
		return d;
	}
	if (t == GX_FLOAT32) {
		memcpy(&f, p, sizeof f);
		return (double)f;
	}
	memcpy(&h, p, sizeof h);
	return t == GX_FLOAT16 ? half_value(h, 10, 15) : half_value(h, 7, 127);
}

/* The bits, low bytes first, without sign extension. */
static uint64_t bits_of(gx_dtype t, const void *p)
{
	uint64_t u = 0;

	memcpy(&u, p, gx_dtype_size(t));
	return u;
}

void value_text(gx_dtype t, const void *p, char buf[64])
{
	unsigned shift = 64 - 8 * (unsigned)gx_dtype_size(t);
	uint64_t u = bits_of(t, p);

	if (is_float(t))
		snprintf(buf, 64, "%.17g", float_of(t, p));
	else if (is_unsigned(t) || t == GX_BOOL)
		snprintf(buf, 64, "%llu", (unsigned long long)u);
	else
		snprintf(buf, 64, "%lld", (long long)(u << shift) >> shift);
}

/* Floats in order of value as unsigned numbers; -0 and 0 are the same. */
static uint64_t rank_of(gx_dtype t, const void *p)
{
	uint64_t u = bits_of(t, p), sign = 1ull << (8 * gx_dtype_size(t) - 1), half = 1ull << 63;

	return u & sign ? half - (u & (sign - 1)) : half + u;
}

uint64_t value_distance(gx_dtype t, const void *a, const void *b, int loose)
{
	uint64_t x, y;

	if (bits_of(t, a) == bits_of(t, b))
		return 0;
	if (!is_float(t))
		return UINT64_MAX;
	if (isnan(float_of(t, a)) || isnan(float_of(t, b)))
		return isnan(float_of(t, a)) && isnan(float_of(t, b)) ? 0 : UINT64_MAX;
	x = rank_of(t, a);
	y = rank_of(t, b);
	if (x == y)
		return loose ? 0 : 1;
	return x < y ? y - x : x - y;
}
