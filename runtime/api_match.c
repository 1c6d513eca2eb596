/* api_match.c -- the arrays that a caller hands to a run, found by name and compared with what was compiled: dtype, shape, strides,
 * place, alignment; outputs must overlap nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/program.h"

int64_t array_count(const gx_array *a)
{
	int64_t n = 1;

	for (int k = 0; k < a->rank; k++)
		n *= a->shape[k];
	return n;
}

/* Bytes that an array's elements lie in: [lo, hi) relative to its data. */
void array_extent(const gx_array *a, int64_t *lo, int64_t *hi)
{
	int64_t size = (int64_t)gx_dtype_size(a->dtype);

	*lo = *hi = 0;
	if (array_count(a) == 0)
		return;
	for (int k = 0; k < a->rank; k++)
		*(a->stride[k] < 0 ? lo : hi) += a->stride[k] * (a->shape[k] - 1) * size;
	*hi += size;
}

static gx_status check_pointer(const gx_array *a, const char *name, gx_error *err)
{
	if (array_count(a) == 0)
		return GX_OK;
	if (!a->data)
		return diag_plain(err, GX_ARG, "`%s` has no data", name);
	if ((uintptr_t)a->data % gx_dtype_size(a->dtype))
		return diag_plain(err, GX_ARG, "the data of `%s` is not aligned to its element size of %zu bytes", name, gx_dtype_size(a->dtype));
	return GX_OK;
}

static gx_status same_input(const struct binding *b, const gx_array *a, gx_error *err)
{
	struct shape s = {a->rank, {0}};
	char have[200], want[200];

	if (b->place == GX_WEAK_INT || b->place == GX_WEAK_FLOAT) {
		if (a->place != b->place || a->integer != b->integer || memcmp(&a->real, &b->real, sizeof a->real) != 0)
			return diag_plain(err, GX_ARG, "the scalar `%s` has another value than the program was compiled for", b->name);
		return GX_OK;
	}
	if (a->rank < 0 || a->rank > GX_MAX_RANK)
		return diag_plain(err, GX_ARG, "`%s` has rank %d", b->name, a->rank);
	memcpy(s.n, a->shape, sizeof *a->shape * (size_t)a->rank);
	if (a->dtype != b->dtype || !shape_same(&s, &b->shape))
		return diag_plain(err, GX_ARG, "the program was compiled for `%s` as %s %s, found %s %s", b->name, gx_dtype_name(b->dtype),
			shape_text(&b->shape, want), gx_dtype_name(a->dtype), shape_text(&s, have));
	for (int k = 0; k < a->rank; k++)
		if (a->shape[k] > 1 && a->stride[k] != b->stride[k])
			return diag_plain(err, GX_ARG, "the program was compiled for `%s` with stride %lld on axis %d, found %lld", b->name,
				(long long)b->stride[k], k, (long long)a->stride[k]);
	return GX_OK;
}

gx_status match_inputs(const gx_program *p, const gx_array *a, int n, const gx_array **found, gx_error *err)
{
	gx_status s = GX_OK;

	for (int i = 0; i < p->nbinding && !s; i++) {
		found[i] = NULL;
		for (int j = 0; j < n; j++)
			if (a[j].name && strcmp(a[j].name, p->binding[i].name) == 0)
				found[i] = &a[j];
		if (!found[i])
			return diag_plain(err, GX_ARG, "the input `%s` is missing", p->binding[i].name);
		s = same_input(&p->binding[i], found[i], err);
		if (!s && p->plan->input[i].used)
			s = check_pointer(found[i], p->binding[i].name, err);
	}
	return s;
}

gx_status same_output(const struct plan_output *o, const gx_array *a, gx_error *err)
{
	const char *name = o->name[0] ? o->name : "(expression)";
	struct shape s = {a->rank, {0}};
	int64_t stride[MAX_RANK];
	char have[200], want[200];

	if (a->rank < 0 || a->rank > GX_MAX_RANK)
		return diag_plain(err, GX_ARG, "the output `%s` has rank %d", name, a->rank);
	memcpy(s.n, a->shape, sizeof *a->shape * (size_t)a->rank);
	if (a->dtype != o->mem || !shape_same(&s, &o->shape))
		return diag_plain(err, GX_ARG, "the output `%s` is %s %s, but the array given is %s %s", name, gx_dtype_name(o->mem),
			shape_text(&o->shape, want), gx_dtype_name(a->dtype), shape_text(&s, have));
	shape_strides(&s, stride);
	for (int k = 0; k < a->rank; k++)
		if (a->shape[k] > 1 && a->stride[k] != stride[k] && shape_count(&s))
			return diag_plain(err, GX_ARG, "the output `%s` must be C-contiguous", name);
	return check_pointer(a, name, err);
}

gx_status match_outputs(const gx_program *p, const gx_array *a, int n, const gx_array **found, gx_error *err)
{
	int bare = 0;

	for (int i = 0; i < p->plan->noutput; i++) {
		const char *name = p->plan->output[i].name;
		int skip = name[0] ? 0 : bare++;

		found[i] = NULL;
		for (int j = 0; j < n && !found[i]; j++)
			if (strcmp(a[j].name ? a[j].name : "", name) == 0 && (name[0] || skip-- == 0))
				found[i] = &a[j];
		if (!found[i])
			return diag_plain(err, GX_ARG, "the output `%s` is missing", name[0] ? name : "(expression)");
	}
	for (int j = 0; j < n; j++) {
		int known = 0;

		for (int i = 0; i < p->plan->noutput; i++)
			known |= found[i] == &a[j];
		if (!known)
			return diag_plain(err, GX_ARG, "the program has no output named `%s`", a[j].name ? a[j].name : "");
	}
	return GX_OK;
}

static int overlap(const gx_array *a, const gx_array *b)
{
	int64_t alo, ahi, blo, bhi;
	uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;

	array_extent(a, &alo, &ahi);
	array_extent(b, &blo, &bhi);
	return alo < ahi && blo < bhi && x + (uintptr_t)alo < y + (uintptr_t)bhi && y + (uintptr_t)blo < x + (uintptr_t)ahi;
}

/* n outputs against n outputs and m inputs: both are usually few, and 650 inputs are still few enough. */
gx_status no_overlaps(const gx_program *p, const gx_array **in, const gx_array **out, gx_error *err)
{
	for (int i = 0; i < p->plan->noutput; i++) {
		const char *name = out[i]->name && out[i]->name[0] ? out[i]->name : "(expression)";

		for (int j = 0; j < p->nbinding; j++)
			if (p->plan->input[j].used && overlap(out[i], in[j]))
				return diag_plain(err, GX_ARG, "the output `%s` overlaps the input `%s`; give it memory of its own", name, in[j]->name);
		for (int j = 0; j < i; j++)
			if (overlap(out[i], out[j]))
				return diag_plain(err, GX_ARG, "the outputs `%s` and `%s` overlap", name, out[j]->name ? out[j]->name : "(expression)");
	}
	return GX_OK;
}

/* Element number to coordinates: "1", or "(0, 3)". */
