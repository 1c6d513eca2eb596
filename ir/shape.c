/* shape.c -- shapes: counts, strides, text. */
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

int64_t shape_count(const struct shape *s)
{
	int64_t n = 1;

	for (int k = 0; k < s->rank; k++)
		n *= s->n[k];
	return n;
}

int shape_same(const struct shape *a, const struct shape *b)
{
	return a->rank == b->rank && memcmp(a->n, b->n, sizeof *a->n * (size_t)a->rank) == 0;
}

void shape_strides(const struct shape *s, int64_t stride[MAX_RANK])
{
	int64_t n = 1;

	for (int k = s->rank - 1; k >= 0; k--) {
		stride[k] = n;
		n *= s->n[k];
	}
}

const char *shape_text(const struct shape *s, char buf[200])
{
	int at = snprintf(buf, 200, "(");

	for (int k = 0; k < s->rank; k++)
		at += snprintf(buf + at, 200 - (size_t)at, "%s%lld", k ? ", " : "", (long long)s->n[k]);
	snprintf(buf + at, 200 - (size_t)at, s->rank == 1 ? ",)" : ")");
	return buf;
}

/* Strides for `to` over memory laid out as (from, stride), where they exist: walk both shapes in groups of equal size; a group may
 * be split anywhere when its old axes are contiguous with each other. */
int ir_affine_reshape(const struct shape *from, const int64_t *stride, const struct shape *to, int64_t *out)
{
	int64_t n[MAX_RANK], st[MAX_RANK];
	int rank = 0, i = 0, j = 0;

	for (int k = 0; k < from->rank; k++)
		if (from->n[k] != 1) {
			n[rank] = from->n[k];
			st[rank++] = stride[k];
		}
	if (shape_count(from) == 0) {
		for (int k = 0; k < to->rank; k++)
			out[k] = 0;
		return 1;
	}
	while (i < rank && j < to->rank) {
		int i2 = i + 1, j2 = j + 1;
		int64_t a = n[i], b = to->n[j], run;

		while (a != b) {
			if (a < b) {
				if (i2 >= rank || st[i2 - 1] != st[i2] * n[i2])
					return 0;
				a *= n[i2++];
			} else {
				if (j2 >= to->rank)
					return 0;
				b *= to->n[j2++];
			}
		}
		run = st[i2 - 1];
		for (int k = j2 - 1; k >= j; k--) {
			out[k] = run;
			run *= to->n[k];
		}
		i = i2;
		j = j2;
	}
	for (; j < to->rank; j++)
		out[j] = 0;   /* extents of 1 */
	return 1;
}
