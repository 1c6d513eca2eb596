/* api_eval.c -- gx_eval: parse, compile and run in one call, with a memory of programs by text, types and shapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/program.h"

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
		bytes = (size_t)array_count(&full) * gx_dtype_size(full.dtype);
		s = o->place == GX_PLACE_DEVICE ? gx_alloc(ctx, bytes, &full.data, err) : gx_alloc_host(ctx, bytes, &full.data, err);
		if (s)
			break;
		fresh[o - outputs] = full.data;
		*o = full;
	}
	free((void *)found);
	return s;
}

static gx_status eval_run(gx_context *ctx, const gx_program *p, const gx_array *inputs, int ninputs, gx_array *outputs,
	int noutputs, gx_error *err)
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
