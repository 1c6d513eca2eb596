/* units.c -- a plan's kernels to launches: a row program that fits on the chip runs as one, the rest as it is; and how long each
 * temporary needs memory. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "codegen/emit.h"

enum { ALONE = -1, EARLIER = -2 };   /* what becomes of a kernel; else the number of the row program that ends with it */

static void place_rows(const struct plan *p, int *fate)
{
	for (int i = 0; i < p->nkernel; i++)
		fate[i] = ALONE;
	for (int i = 0; i < p->nrow; i++) {
		const struct row_program *r = &p->row[i];

		if (!rows_shape(r).unroll)
			continue;
		for (int k = 0; k < r->nphase; k++)
			fate[r->kernel[k]] = k + 1 < r->nphase ? EARLIER : i;
	}
}

static void live(struct units *u, int temp, int unit)
{
	u->first[temp] = u->first[temp] < 0 ? unit : u->first[temp];
	u->last[temp] = unit;
}

/* Who touches which temporary. One that only its own row program touches lives in registers. */
static void lifetimes(struct units *u)
{
	for (int i = 0; i < u->n; i++)
		for (int b = 0; b < unit_buffers(&u->unit[i]); b++)
			if (unit_buffer(&u->unit[i], b)->kind == BUF_TEMP)
				live(u, unit_buffer(&u->unit[i], b)->number, i);
}

static void keep_rows(struct units *u, int ntemp)
{
	for (int i = 0; i < u->n; i++)
		for (int b = 0; u->unit[i].nphase > 1 && b < unit_buffers(&u->unit[i]); b++) {
			const struct kbuf *m = unit_buffer(&u->unit[i], b);

			if (m->kind == BUF_TEMP && unit_makes_row(&u->unit[i], m->number))
				u->row_temp[m->number] = u->last[m->number] == i ? TEMP_ROW : TEMP_BOTH;
		}
	for (int t = 0; t < ntemp; t++)
		if (u->row_temp[t] == TEMP_ROW)
			u->first[t] = u->last[t] = -1;
}

static void fill(const struct plan *p, const int *fate, struct units *u)
{
	for (int i = 0; i < p->nkernel; i++) {
		struct unit *one = &u->unit[u->n];

		if (fate[i] == EARLIER)
			continue;
		*one = (struct unit){&p->kernel[i], 1, u->row_temp};
		if (fate[i] != ALONE)
			*one = (struct unit){p->row[fate[i]].phase, p->row[fate[i]].nphase, u->row_temp};
		u->n++;
	}
	for (int t = 0; t < p->ntemp; t++)
		u->first[t] = u->last[t] = -1;
	lifetimes(u);
	keep_rows(u, p->ntemp);
}

int cuda_units_make(const struct plan *p, struct units *u)
{
	int *fate = gx_calloc((size_t)p->nkernel + 1, sizeof *fate);

	memset(u, 0, sizeof *u);
	u->unit = gx_calloc((size_t)p->nkernel + 1, sizeof *u->unit);
	u->first = gx_calloc((size_t)p->ntemp + 1, sizeof *u->first);
	u->last = gx_calloc((size_t)p->ntemp + 1, sizeof *u->last);
	u->row_temp = gx_calloc((size_t)p->ntemp + 1, 1);
	if (!fate || !u->unit || !u->first || !u->last || !u->row_temp) {
		free(fate);
		cuda_units_free(u);
		return -1;
	}
	place_rows(p, fate);
	fill(p, fate, u);
	free(fate);
	return 0;
}

void cuda_units_free(struct units *u)
{
	free(u->unit);
	free(u->first);
	free(u->last);
	free(u->row_temp);
	memset(u, 0, sizeof *u);
}
