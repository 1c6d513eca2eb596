/* number.c -- strtod and printf under the "C" locale, switched for the calling thread only and for the call only: a host program
 * that runs under a locale with a decimal comma must not change what 1.5 means. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t enter(void)
{
	pthread_once(&once, make);
	return c_locale ? uselocale(c_locale) : (locale_t)0;
}

static void leave(locale_t before)
{
	if (before)
		uselocale(before);
}

double number_real(const char *s)
{
	locale_t before = enter();
	double v = strtod(s, NULL);

	leave(before);
	return v;
}

int number_text(double v, char buf[40])
{
	locale_t before;
	int n = 0;

	if (isnan(v))
		return snprintf(buf, 40, "nan");
	if (isinf(v))
		return snprintf(buf, 40, v < 0 ? "-inf" : "inf");
	if (fabs(v) < 1e15 && trunc(v) == v)   /* 100, not 1e+02 */
		return snprintf(buf, 40, "%.0f", v);
	before = enter();
	for (int digits = 1; digits <= 17; digits++) {
		n = snprintf(buf, 40, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	leave(before);
	return n;
}

const char *number_bytes(double bytes, char buf[32])
{
	static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
	locale_t before = enter();
	int k = 0;

	for (; bytes >= 999.95 && k < 6; k++)
		bytes /= 1000;
	snprintf(buf, 32, "%.*f %s", k ? 1 : 0, bytes, unit[k]);
	leave(before);
	return buf;
}
