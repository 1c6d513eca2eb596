/* api_run.c -- running a program on the caller's arrays: matching them with what was compiled, refusing overlaps, moving host arrays to and
 * from a GPU, turning a failed range check into an error with a caret; and gx_eval with its memory of programs. */
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

static int64_t count_of(const gx_array *a)
{
	int64_t n = 1;

	for (int k = 0; k < a->rank; k++)
		n *= a->shape[k];
	return n;
}

/* Bytes that an array's elements lie in: [lo, hi) relative to its data. */
static void extent_of(const gx_array *a, int64_t *lo, int64_t *hi)
{
	int64_t size = (int64_t)gx_dtype_size(a->dtype);

	*lo = *hi = 0;
	if (count_of(a) == 0)
		return;
	for (int k = 0; k < a->rank; k++)
		*(a->stride[k] < 0 ? lo : hi) += a->stride[k] * (a->shape[k] - 1) * size;
	*hi += size;
}

static gx_status check_pointer(const gx_array *a, const char *name, gx_error *err)
{
	if (count_of(a) == 0)
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

static gx_status same_output(const struct plan_output *o, const gx_array *a, gx_error *err)
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

	extent_of(a, &alo, &ahi);
	extent_of(b, &blo, &bhi);
	return alo < ahi && blo < bhi && x + (uintptr_t)alo < y + (uintptr_t)bhi && y + (uintptr_t)blo < x + (uintptr_t)ahi;
}

/* n outputs against n outputs and m inputs: both are usually few, and 650 inputs are still few enough. */
static gx_status no_overlaps(const gx_program *p, const gx_array **in, const gx_array **out, gx_error *err)
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
		diag_error(&d, GX_INDEX, c->span, "index %lld at element %s of `%s` is out of range for axis %d of `%s` (size %lld); nothing was written",
			(long long)f->value, element_at(&c->shape, f->position, text), c->index, c->axis, c->array, (long long)c->size);
	return diag_fill(&d, err);
}

/* ---- CPU ---- */

static gx_status run_cpu(gx_context *ctx, const gx_program *p, const gx_array **in, const gx_array **out, struct run_arrays *r, gx_error *err)
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
		extent_of(in[i], &lo, &hi);
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

static gx_status run_cuda(gx_context *ctx, const gx_program *p, const gx_array **in, const gx_array **out, struct run_arrays *r, void *stream,
	gx_error *err)
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
		s = cuda_engine_alloc(ctx->cuda, (size_t)count_of(out[i]) * gx_dtype_size(out[i]->dtype) + 1, &r->output[i], err);
		if (!s)
			st.data[st.n++] = r->output[i];
	}
	if (!s)
		s = cuda_engine_run(ctx->cuda, p->plan, p->image, r, stream, &f, host ? &last_ms : NULL, err);
	if (!s && f.check >= 0)
		s = index_error(p, &f, err);
	for (int i = 0; i < p->plan->noutput && !s; i++)
		if (out[i]->place == GX_PLACE_HOST && count_of(out[i]) > 0)
			s = cuda_engine_download(ctx->cuda, out[i]->data, r->output[i], (size_t)count_of(out[i]) * gx_dtype_size(out[i]->dtype), stream, err);
	for (int i = 0; i < st.n; i++)
		cuda_engine_free(ctx->cuda, st.data[i]);
	free(st.data);
	return s;
}

enum { FEW = 16 };

gx_status gx_run(gx_context *ctx, const gx_program *p, const gx_array *inputs, int ninputs, const gx_array *outputs, int noutputs, void *stream,
	gx_error *err)
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
	if (bytes > SIZE_MAX - 256 || posix_memalign(data, 256, bytes ? bytes : 1))
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

/* ---- gx_eval ---- */

/* A program by text, types, shapes and scalar values. `users` keeps it alive while calls run; the oldest idle one makes room. */
struct remembered {
	struct remembered *next;
	gx_program *program;
	char *text;
	gx_array *input; int ninput;
	char **name;
	int users;
};

enum { MAX_REMEMBERED = 256 };

static void remembered_free(struct remembered *r)
{
	gx_program_free(r->program);
	for (int i = 0; i < r->ninput; i++)
		free(r->name ? r->name[i] : NULL);
	free(r->name);
	free(r->input);
	free(r->text);
	free(r);
}

void forget_programs(gx_context *ctx)
{
	for (struct remembered *r = ctx->programs, *next; r; r = next) {
		next = r->next;
		remembered_free(r);
	}
	ctx->programs = NULL;
	ctx->nprograms = 0;
}

static int same_description(const gx_array *a, const gx_array *b)
{
	return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->place == b->place && a->rank == b->rank &&
		memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0 &&
		memcmp(a->stride, b->stride, sizeof *a->stride * (size_t)a->rank) == 0 && a->integer == b->integer &&
		memcmp(&a->real, &b->real, sizeof a->real) == 0;
}

static struct remembered *recall(gx_context *ctx, const char *text, const gx_array *inputs, int n)
{
	struct remembered *r;

	pthread_mutex_lock(&ctx->lock);
	for (r = ctx->programs; r; r = r->next) {
		int same = r->ninput == n && strcmp(r->text, text) == 0;

		for (int i = 0; i < n && same; i++)
			same = same_description(&r->input[i], &inputs[i]);
		if (same) {
			r->users++;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->lock);
	return r;
}

static void make_room(gx_context *ctx)   /* lock held */
{
	struct remembered **last = NULL;

	if (ctx->nprograms < MAX_REMEMBERED)
		return;
	for (struct remembered **r = &ctx->programs; *r; r = &(*r)->next)
		if ((*r)->users == 0)
			last = r;
	if (last) {
		struct remembered *old = *last;

		*last = old->next;
		ctx->nprograms--;
		remembered_free(old);
	}
}

static struct remembered *remember(gx_context *ctx, const char *text, const gx_array *inputs, int n, gx_program *p)
{
	struct remembered *r = gx_calloc(1, sizeof *r);
	size_t len = strlen(text) + 1;

	if (!r)
		return NULL;
	r->text = gx_malloc(len);
	r->input = gx_calloc((size_t)n + 1, sizeof *r->input);
	r->name = gx_calloc((size_t)n + 1, sizeof *r->name);
	r->ninput = r->input && r->name ? n : 0;
	for (int i = 0; i < r->ninput; i++) {
		size_t size = strlen(inputs[i].name) + 1;

		r->input[i] = inputs[i];
		r->name[i] = gx_malloc(size);
		if (r->name[i])
			r->input[i].name = memcpy(r->name[i], inputs[i].name, size);
		else
			r->ninput = i;
	}
	if (!r->text || r->ninput != n) {
		remembered_free(r);
		return NULL;
	}
	memcpy(r->text, text, len);
	r->program = p;
	r->users = 1;
	pthread_mutex_lock(&ctx->lock);
	make_room(ctx);
	r->next = ctx->programs;
	ctx->programs = r;
	ctx->nprograms++;
	pthread_mutex_unlock(&ctx->lock);
	return r;
}

static gx_status allocate_outputs(gx_context *ctx, const gx_program *p, gx_array *outputs, int n, void **fresh, gx_error *err)
{
	const gx_array **found = gx_malloc(sizeof *found * (size_t)(p->plan->noutput + 1));
	gx_status s;

	if (!found)
		return diag_plain(err, GX_NOMEM, "out of memory");
	s = match_outputs(p, outputs, n, found, err);
	for (int i = 0; i < p->plan->noutput && !s; i++) {
		gx_array *o = &outputs[found[i] - outputs], full;
		size_t bytes;

		if (o->data)
			continue;
		gx_program_output(p, i, &full);
		full.name = o->name;
		full.place = o->place;
		bytes = (size_t)count_of(&full) * gx_dtype_size(full.dtype);
		s = o->place == GX_PLACE_DEVICE ? gx_alloc(ctx, bytes, &full.data, err) : gx_alloc_host(ctx, bytes, &full.data, err);
		if (s)
			break;
		fresh[o - outputs] = full.data;
		*o = full;
	}
	free((void *)found);
	return s;
}

static gx_status eval_run(gx_context *ctx, const gx_program *p, const gx_array *inputs, int ninputs, gx_array *outputs, int noutputs, gx_error *err)
{
	void **fresh = gx_calloc((size_t)noutputs + 1, sizeof *fresh);
	gx_status s;

	if (!fresh)
		return diag_plain(err, GX_NOMEM, "out of memory");
	s = allocate_outputs(ctx, p, outputs, noutputs, fresh, err);
	if (!s)
		s = gx_run(ctx, p, inputs, ninputs, outputs, noutputs, NULL, err);
	if (!s)
		s = gx_sync(ctx, NULL, err);
	for (int i = 0; i < noutputs && s; i++)
		if (fresh[i]) {
			gx_free(ctx, outputs[i].place, fresh[i]);
			outputs[i].data = NULL;
		}
	free(fresh);
	return s;
}

gx_status gx_eval(gx_context *ctx, const char *text, const gx_array *inputs, int ninputs, gx_array *outputs, int noutputs, gx_error *err)
{
	struct remembered *r;
	gx_program *p = NULL;
	gx_formula *f;
	gx_status s;

	for (int i = 0; i < ninputs; i++)
		if (!inputs[i].name || inputs[i].rank < 0 || inputs[i].rank > GX_MAX_RANK)
			return diag_plain(err, GX_ARG, "input %d has no name or a bad rank", i);
	r = recall(ctx, text, inputs, ninputs);
	if (!r) {
		s = gx_parse(text, strlen(text), NULL, &f, err);
		if (s)
			return s;
		s = gx_compile(ctx, f, inputs, ninputs, &p, err);
		gx_formula_free(f);
		if (s)
			return s;
		r = remember(ctx, text, inputs, ninputs, p);
	}
	s = eval_run(ctx, r ? r->program : p, inputs, ninputs, outputs, noutputs, err);
	if (!r) {
		gx_program_free(p);
		return s;
	}
	pthread_mutex_lock(&ctx->lock);
	r->users--;
	pthread_mutex_unlock(&ctx->lock);
	return s;
}
