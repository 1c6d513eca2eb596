/* cpu_carry.c -- carries of running folds on the CPU. Those of float sums are two numbers, and what is added goes into both (Knuth's
 * two-sum), so that their error does not grow with how many there were. */
#include "runtime/cpu_carry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static size_t size_of(const struct fold *f)
{
	return type_table[f->type].bytes;
}

static int is_sum(const struct fold *f)
{
	return f->red == RED_SUM && f->type == GX_FLOAT64;
}

void carries_nothing(const struct fold *f, void *p, int64_t n)
{
	double *d = p;

	loop_identity(f->red, f->type)(p, (size_t)n);
	for (int64_t i = 0; is_sum(f) && i < n; i++)
		d[i] = -0.0;
}

void carries_free(struct carries *c)
{
	free(c->local);
	free(c->carry);
	free(c->low);
	free(c->base);
}

int carries_make(struct carries *c, int64_t n)
{
	c->local = gx_malloc((size_t)(n + LOOP_PAD) * 8);
	c->carry = gx_malloc((size_t)(n + LOOP_PAD) * 8);
	c->low = gx_malloc((size_t)(n + LOOP_PAD) * 8);
	c->base = gx_malloc((size_t)(n + LOOP_PAD) * 8);
	return c->local && c->carry && c->low && c->base ? 0 : -1;
}

void carries_rebase(const struct fold *f, struct carries *c, int64_t from, int64_t n)
{
	const double *carry = (const double *)c->carry + from, *low = c->low + from;
	double *base = (double *)c->base + from;
	size_t size = size_of(f);

	if (!is_sum(f)) {
		memcpy(c->base + (size_t)from * size, c->carry + (size_t)from * size, (size_t)n * size);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		base[i] = low[i] != 0 ? carry[i] + low[i] : carry[i];
}

void carries_advance(const struct fold *f, struct carries *c, int64_t from, const void *values, int64_t n)
{
	double *carry = (double *)c->carry + from, *low = c->low + from;
	const double *v = values;

	if (!is_sum(f)) {
		loop_zip(f->red, f->type)(c->carry + (size_t)from * size_of(f), values, (size_t)n);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		double s = carry[i] + v[i], b = s - carry[i], l = low[i] + ((carry[i] - (s - b)) + (v[i] - b));

		low[i] = isfinite(s) ? l : 0;
		carry[i] = s;
	}
}

void carries_begin(const struct fold *f, struct carries *c, int64_t n)
{
	carries_nothing(f, c->local, n);
	carries_nothing(f, c->carry, n);
	memset(c->low, 0, (size_t)n * sizeof *c->low);
}
