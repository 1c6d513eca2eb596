/* number.c -- element values to text and back, in the way of Python's repr: the fewest digits that read back to the same value,
 * a point or an exponent always there for floats (1.0, 1e-05, 1e+16). Digits come from printf and are judged by strtod, both
 * behind the C locale; only digits and an exponent are taken from them, the layout is made here. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "formats/parts.h"

static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);   /* glibc has it built in: cannot fail */
}

/* A binary float type: digits of its significand, the exponent of its smallest quantum, and how many decimal digits
 * always survive a trip through it (from there on the first decimal that reads back is the shortest). */
struct binary { int bits, least, sure, most; double smallest_normal; };

static const struct binary half = {11, -24, 3, 5, 0x1p-14}, bfloat = {8, -133, 2, 4, 0x1p-126},
	single = {24, -149, 6, 9, 0x1p-126}, full = {53, -1074, 15, 17, 0x1p-1022};

static double from_bits(unsigned bits, int fraction, int exponents)
{
	int e = (int)(bits >> fraction) & ((1 << exponents) - 1), bias = (1 << (exponents - 1)) - 1;
	double m = bits & ((1u << fraction) - 1), v;

	if (e == (1 << exponents) - 1)
		v = m != 0 ? (double)NAN : (double)INFINITY;
	else if (e == 0)
		v = ldexp(m, 1 - bias - fraction);
	else
		v = ldexp(m + (1 << fraction), e - bias - fraction);
	return bits >> (fraction + exponents) & 1 ? -v : v;
}

double half_real(uint16_t bits)
{
	return from_bits(bits, 10, 5);
}

double bfloat_real(uint16_t bits)
{
	return from_bits(bits, 7, 8);
}

/* The value of a decimal text in a type, round to nearest even. float32 is read by strtof: by way of double it could be
 * rounded twice. For the two small types a decimal of 5 digits is never that near to a middle without being on it. */
static double read_back(const char *s, const struct binary *t)
{
	double v, quantum;
	int e;

	if (t == &single)
		return (double)strtof_l(s, NULL, c_locale);
	v = strtod_l(s, NULL, c_locale);
	if (t == &full || v == 0)
		return v;
	frexp(v, &e);
	quantum = ldexp(1, e - t->bits > t->least ? e - t->bits : t->least);
	return nearbyint(v / quantum) * quantum;
}

/* Add one to the last of n digits; 999 becomes 100 with a greater exponent. */
static void next_decimal(char *digits, int n, int *exponent)
{
	int i = n - 1;

	while (i >= 0 && digits[i] == '9')
		digits[i--] = '0';
	if (i >= 0) {
		digits[i]++;
		return;
	}
	digits[0] = '1';
	++*exponent;
}

static int same_back(const char *digits, int n, int exponent, double v, const struct binary *t)
{
	char text[48];

	snprintf(text, sizeof text, "%.*se%d", n, digits, exponent - n + 1);
	return read_back(text, t) == v;
}

/* The fewest digits d.ddd x 10**exponent that read back to v > 0; returns their number. At a power of two the numbers below
 * v are nearer than those above: there the nearest decimal may fail where the next one up does not. */
static int shortest(double v, const struct binary *t, char digits[24], int *exponent)
{
	int n = v >= t->smallest_normal ? t->sure : 1, e, power_of_two = frexp(v, &e) == 0.5;

	for (;; n++) {
		char text[40];
		locale_t before = uselocale(c_locale);

		snprintf(text, sizeof text, "%.*e", n - 1, v);
		uselocale(before);
		digits[0] = text[0];
		if (n > 1)
			memcpy(digits + 1, text + 2, (size_t)n - 1);
		*exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
		if (n >= t->most || same_back(digits, n, *exponent, v, t))
			break;
		if (!power_of_two)
			continue;
		next_decimal(digits, n, exponent);
		if (same_back(digits, n, *exponent, v, t))
			break;
	}
	while (n > 1 && digits[n - 1] == '0')
		n--;
	return n;
}

/* Lay digits out: 16 digits and less before the point, 4 zeros and less behind it, else an exponent. tail: ".0" or "". */
static int layout(char *to, const char *digits, int n, int exponent, const char *tail)
{
	int k = 0;

	if (exponent < -4 || exponent >= 16) {
		k = sprintf(to, "%c", digits[0]);
		if (n > 1)
			k += sprintf(to + k, ".%.*s", n - 1, digits + 1);
		return k + sprintf(to + k, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
	}
	if (exponent < 0)
		return sprintf(to, "0.%.*s%.*s", -exponent - 1, "0000", n, digits);
	for (int i = 0; i <= exponent; i++)
		to[k++] = i < n ? digits[i] : '0';
	if (n > exponent + 1)
		return k + sprintf(to + k, ".%.*s", n - exponent - 1, digits + exponent + 1);
	return k + sprintf(to + k, "%s", tail);
}

static int real_text(double v, const struct binary *t, char *to, const char *tail)
{
	char digits[24];
	int exponent, n, minus = signbit(v) != 0;

	if (isnan(v))
		return sprintf(to, "nan");
	if (minus)
		*to++ = '-';
	if (isinf(v))
		return minus + sprintf(to, "inf");
	if (v == 0)
		return minus + sprintf(to, "0%s", tail);
	pthread_once(&once, make_locale);
	n = shortest(fabs(v), t, digits, &exponent);
	return minus + layout(to, digits, n, exponent, tail);
}

/* Like repr(1+2j); a real part of +0 is not shown. The parts of a complex128 are cut to fit 40 bytes. */
static int complex_text(double re, double im, const struct binary *t, char buf[40])
{
	static const struct binary cut = {53, -1074, 10, 10, 0};
	int k = 0, bare = re == 0 && !signbit(re);

	t = t == &full ? &cut : t;
	if (!bare) {
		buf[k++] = '(';
		k += real_text(re, t, buf + k, "");
		if (!signbit(im) || isnan(im))
			buf[k++] = '+';
	}
	k += real_text(im, t, buf + k, "");
	return k + sprintf(buf + k, bare ? "j" : "j)");
}

/* Copy an element out of memory that need not be aligned. */
#define LOAD(T, name) T name; memcpy(&name, e, sizeof name)

int element_text(gx_dtype t, const void *e, char buf[40])
{
	switch (t) {
	case GX_BOOL: return sprintf(buf, *(const unsigned char *)e ? "True" : "False");
	case GX_INT8: return sprintf(buf, "%d", *(const signed char *)e);
	case GX_UINT8: return sprintf(buf, "%d", *(const unsigned char *)e);
	case GX_INT16: { LOAD(int16_t, v); return sprintf(buf, "%d", v); }
	case GX_UINT16: { LOAD(uint16_t, v); return sprintf(buf, "%d", v); }
	case GX_INT32: { LOAD(int32_t, v); return sprintf(buf, "%ld", (long)v); }
	case GX_UINT32: { LOAD(uint32_t, v); return sprintf(buf, "%lu", (unsigned long)v); }
	case GX_INT64: { LOAD(int64_t, v); return sprintf(buf, "%lld", (long long)v); }
	case GX_UINT64: { LOAD(uint64_t, v); return sprintf(buf, "%llu", (unsigned long long)v); }
	case GX_FLOAT16: { LOAD(uint16_t, v); return real_text(half_real(v), &half, buf, ".0"); }
	case GX_BFLOAT16: { LOAD(uint16_t, v); return real_text(bfloat_real(v), &bfloat, buf, ".0"); }
	case GX_FLOAT32: { LOAD(float, v); return real_text((double)v, &single, buf, ".0"); }
	case GX_FLOAT64: { LOAD(double, v); return real_text(v, &full, buf, ".0"); }
	case GX_COMPLEX64: {
		float v[2];

		memcpy(v, e, sizeof v);
		return complex_text((double)v[0], (double)v[1], &single, buf);
	}
	case GX_COMPLEX128: {
		double v[2];

		memcpy(v, e, sizeof v);
		return complex_text(v[0], v[1], &full, buf);
	}
	default: return sprintf(buf, "?");
	}
}

static int word(const char *s, size_t n, const char *w)
{
	for (size_t i = 0; i < n; i++)
		if ((s[i] | 32) != w[i])
			return 0;
	return w[n] == 0;
}

static int named(const char *s, size_t n, int minus, double *value)
{
	if (word(s, n, "nan")) {
		*value = (double)NAN;
		return 0;
	}
	if (!word(s, n, "inf") && !word(s, n, "infinity"))
		return -1;
	*value = minus ? -(double)INFINITY : (double)INFINITY;
	return 0;
}

/* What a decimal number is made of: its first 19 digits as a whole number and the power of ten behind them. */
struct decimal { uint64_t digits; int ndigits, point, exponent, seen, real; };

static int scan(const char *s, size_t n, struct decimal *d)
{
	size_t i = 0;

	for (; i < n; i++) {
		if (s[i] == '.' && !d->real) {
			d->real = 1;
			continue;
		}
		if (s[i] < '0' || s[i] > '9')
			break;
		d->seen = 1;
		d->point -= d->real;
		if (d->ndigits == 0 && s[i] == '0')
			continue;
		if (++d->ndigits <= 19)
			d->digits = d->digits * 10 + (uint64_t)(s[i] - '0');
	}
	if (!d->seen)
		return -1;
	if (i < n && (s[i] | 32) == 'e') {
		int minus = i + 1 < n && s[i + 1] == '-';

		i += 1 + (size_t)(i + 1 < n && (s[i + 1] == '-' || s[i + 1] == '+'));
		if (i == n)
			return -1;
		for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
			d->exponent = d->exponent < 100000 ? d->exponent * 10 + s[i] - '0' : d->exponent;
		d->exponent = minus ? -d->exponent : d->exponent;
		d->real = 1;
	}
	return i == n ? 0 : -1;
}

/* Both the digits and the power of ten are exact doubles here, so one rounding gives the right answer. */
static int simple(const struct decimal *d, double *value)
{
	static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
		1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	long e = (long)d->point + d->exponent;

	if (d->ndigits > 15 || e < -22 || e > 22)
		return 0;
	*value = e < 0 ? (double)d->digits / tens[-e] : (double)d->digits * tens[e];
	return 1;
}

int number_parse(const char *s, size_t n, double *value, int64_t *integer, int *is_integer)
{
	struct decimal d = {0};
	char text[1200];
	int minus = n > 0 && s[0] == '-';

	*is_integer = 0;
	if (n && (s[0] == '-' || s[0] == '+')) {
		s++;
		n--;
	}
	if (n == 0 || n >= sizeof text)
		return -1;
	if (scan(s, n, &d))
		return named(s, n, minus, value);
	if (!d.real && d.ndigits <= 19 && d.digits <= (uint64_t)INT64_MAX + (unsigned)minus) {
		*is_integer = 1;
		*integer = minus ? (int64_t)(0 - d.digits) : (int64_t)d.digits;
		*value = (double)*integer;
		return 0;
	}
	if (!simple(&d, value)) {
		memcpy(text, s, n);
		text[n] = 0;
		*value = number_real(text);
	}
	*value = minus ? -*value : *value;
	return 0;
}
