/* api_run.c -- a program run on the caller's arrays: host arrays are moved to and from a GPU, a failed range check becomes an error with
 * a caret; and the memory that callers may ask for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/program.h"

static _Thread_local double last_ms;

double gx_last_ms(gx_context *ctx)
{
	(void)ctx;
	return last_ms;
}

static const char *element_at(const struct shape *s, int64_t position, char text[200])
{
	struct shape at = *s;

	for (int k = s->rank - 1; k >= 0; k--) {
		at.n[k] = s->n[k] ? position % s->n[k] : 0;
		position /= s->n[k] ? s->n[k] : 1;
	}
	if (s->rank != 1)
		return shape_text(&at, text);
	snprintf(text, 200, "%lld", (long long)at.n[0]);
	return text;
}

static gx_status index_error(const gx_program *p, const struct run_failure *f, gx_error *err)
{
	const struct check *c = &p->plan->check[f->check];
	struct diag d = {.src = &p->text};
	char text[200];

	if (c->shape.rank == 0)
		diag_error(&d, GX_INDEX, c->span, "index %lld (`%s`) is out of range for axis %d of `%s` (size %lld); nothing was written",
			(long long)f->value, c->index, c->axis, c->array, (long long)c->size);
	else
		diag_error(&d, GX_INDEX, c->span,
			"index %lld at element %s of `%s` is out of range for axis %d of `%s` (size %lld); nothing was written",
			(long long)f->value, element_at(&c->shape, f->position, text), c->index, c->axis, c->array, (long long)c->size);
	return diag_fill(&d, err);
}

/* ---- CPU ---- */

static gx_status run_cpu(gx_context *ctx, const gx_program *p, const gx_array **in, const gx_array **out, struct run_arrays *r,
	gx_error *err)
{
	struct run_failure f = {-1, 0, 0};
	double t0 = clock_ms();
	gx_status s;

	for (int i = 0; i < p->nbinding; i++) {
		if (in[i]->place == GX_PLACE_DEVICE)
			return diag_plain(err, GX_ARG, "`%s` is in GPU memory, but the context has no GPU", in[i]->name);
		r->input[i] = in[i]->data;
	}
	for (int i = 0; i < p->plan->noutput; i++) {
		if (out[i]->place != GX_PLACE_HOST)
			return diag_plain(err, GX_ARG, "the output `%s` must be in host memory: the context has no GPU", p->plan->output[i].name);
		r->output[i] = out[i]->data;
	}
	s = cpu_run(ctx->cpu, p->plan, r, &f, err);
	last_ms = clock_ms() - t0;
	if (f.check >= 0)
		return index_error(p, &f, err);
	return s;
}

/* ---- GPU ---- */

struct staged {          /* device copies of host arrays, to be freed */
	void **data;
	int n;
};

static gx_status stage_inputs(gx_context *ctx, const gx_program *p, const gx_array **in, struct run_arrays *r, struct staged *st,
	void *stream, gx_error *err)
{
	gx_status s = GX_OK;

	for (int i = 0; i < p->nbinding && !s; i++) {
		int64_t lo, hi;
		void *d;

		r->input[i] = in[i]->data;
		if (!p->plan->input[i].used || in[i]->place == GX_PLACE_DEVICE)
			continue;
		array_extent(in[i], &lo, &hi);
		s = cuda_engine_alloc(ctx->cuda, (size_t)(hi - lo) + 1, &d, err);
		if (s)
			return s;
		st->data[st->n++] = d;
		if (hi > lo)
			s = cuda_engine_upload(ctx->cuda, d, (char *)in[i]->data + lo, (size_t)(hi - lo), stream, err);
		r->input[i] = (char *)d - lo;
	}
	return s;
}

static gx_status run_cuda(gx_context *ctx, const gx_program *p, const gx_array **in, const gx_array **out,
	struct run_arrays *r, void *stream, gx_error *err)
{
	struct run_failure f = {-1, 0, 0};
	struct staged st = {0};
	gx_status s;
	int host = p->plan->ncheck > 0;

	st.data = gx_calloc((size_t)(p->nbinding + p->plan->noutput) + 1, sizeof *st.data);
	if (!st.data)
		return diag_plain(err, GX_NOMEM, "out of memory");
	s = stage_inputs(ctx, p, in, r, &st, stream, err);
	host |= st.n > 0;
	for (int i = 0; i < p->plan->noutput && !s; i++) {
		r->output[i] = out[i]->data;
		if (out[i]->place == GX_PLACE_DEVICE)
			continue;
		host = 1;
		s = cuda_engine_alloc(ctx->cuda, (size_t)array_count(out[i]) * gx_dtype_size(out[i]->dtype) + 1, &r->output[i], err);
		if (!s)
			st.data[st.n++] = r->output[i];
	}
	if (!s)
		s = cuda_engine_run(ctx->cuda, p->plan, p->image, r, stream, &f, host ? &last_ms : NULL, err);
	if (!s && f.check >= 0)
		s = index_error(p, &f, err);
	for (int i = 0; i < p->plan->noutput && !s; i++)
		if (out[i]->place == GX_PLACE_HOST && array_count(out[i]) > 0)
			s = cuda_engine_download(ctx->cuda, out[i]->data, r->output[i],
				(size_t)array_count(out[i]) * gx_dtype_size(out[i]->dtype), stream, err);
	for (int i = 0; i < st.n; i++)
		cuda_engine_free(ctx->cuda, st.data[i]);
	free(st.data);
	return s;
}

enum { FEW = 16 };

gx_status gx_run(gx_context *ctx, const gx_program *p, const gx_array *inputs, int ninputs, const gx_array *outputs,
	int noutputs, void *stream, gx_error *err)
{
	int n = p->nbinding + p->plan->noutput;
	const gx_array *few[FEW], **in = few, **out;
	void *few_data[FEW], **data = few_data;
	struct run_arrays r;
	gx_status s;

	if (n > FEW) {   /* the common call allocates nothing */
		in = gx_malloc(sizeof *in * (size_t)n);
		data = gx_malloc(sizeof *data * (size_t)n);
		if (!in || !data) {
			free((void *)in);
			free(data);
			return diag_plain(err, GX_NOMEM, "out of memory");
		}
	}
	out = in + p->nbinding;
	r.input = data;
	r.output = data + p->nbinding;
	s = match_inputs(p, inputs, ninputs, in, err);
	if (!s)
		s = match_outputs(p, outputs, noutputs, out, err);
	for (int i = 0; i < p->plan->noutput && !s; i++)
		s = same_output(&p->plan->output[i], out[i], err);
	if (!s)
		s = no_overlaps(p, in, out, err);
	if (!s)
		s = ctx->cuda ? run_cuda(ctx, p, in, out, &r, stream, err) : run_cpu(ctx, p, in, out, &r, err);
	if (n > FEW) {
		free((void *)in);
		free(data);
	}
	return s;
}

gx_status gx_sync(gx_context *ctx, void *stream, gx_error *err)
{
	return ctx->cuda ? cuda_engine_sync(ctx->cuda, stream, err) : GX_OK;
}

/* ---- memory ---- */

gx_status gx_alloc_host(gx_context *ctx, size_t bytes, void **data, gx_error *err)
{
	(void)ctx;
	*data = NULL;
	if (bytes > SIZE_MAX - 256 || gx_memalign(data, 256, bytes ? bytes : 1))
		return diag_plain(err, GX_NOMEM, "out of memory: %zu bytes were needed", bytes);
	return GX_OK;
}

gx_status gx_alloc(gx_context *ctx, size_t bytes, void **data, gx_error *err)
{
	*data = NULL;
	return ctx->cuda ? cuda_engine_alloc(ctx->cuda, bytes ? bytes : 1, data, err) : gx_alloc_host(ctx, bytes, data, err);
}

void gx_free(gx_context *ctx, gx_place place, void *data)
{
	if (place == GX_PLACE_DEVICE && ctx->cuda)
		cuda_engine_free(ctx->cuda, data);
	else
		free(data);
}

gx_status gx_upload(gx_context *ctx, void *device, const void *host, size_t bytes, gx_error *err)
{
	if (ctx->cuda)
		return cuda_engine_upload(ctx->cuda, device, host, bytes, NULL, err);
	memcpy(device, host, bytes);
	return GX_OK;
}

gx_status gx_download(gx_context *ctx, void *host, const void *device, size_t bytes, gx_error *err)
{
	if (ctx->cuda)
		return cuda_engine_download(ctx->cuda, host, device, bytes, NULL, err);
	memcpy(host, device, bytes);
	return GX_OK;
}
