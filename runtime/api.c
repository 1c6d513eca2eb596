/* api.c -- the public functions: contexts, formulas, programs. gx_compile reads as the list of stages.
 * Out of memory inside a stage longjmps to the one setjmp of the call; everything it built is in one arena. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "parser/parse.h"
#include "runtime/nvrtc.h"
#include "runtime/program.h"

double clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

const char *gx_version(void)
{
	return GX_VERSION_TEXT;
}

const char *gx_status_text(gx_status s)
{
	switch ((int)s) {
#define X(name, value, text) case value: return text;
	GX_STATUS_MAP(X)
#undef X
	default:
		return "unknown status";
	}
}

static gx_array described(const char *name, gx_dtype t, gx_place place, int rank, const int64_t *shape, void *data)
{
	gx_array a;
	struct shape s = {0, {0}};

	memset(&a, 0, sizeof a);
	a.name = name;
	a.dtype = t;
	a.place = place;
	a.rank = rank;
	a.data = data;
	if (rank < 0 || rank > GX_MAX_RANK)
		return a;
	s.rank = rank;
	for (int k = 0; k < rank; k++)
		a.shape[k] = s.n[k] = shape[k];
	shape_strides(&s, a.stride);
	return a;
}

gx_array gx_host(const char *name, gx_dtype t, int rank, const int64_t *shape, void *data)
{
	return described(name, t, GX_PLACE_HOST, rank, shape, data);
}

gx_array gx_device(const char *name, gx_dtype t, int rank, const int64_t *shape, void *data)
{
	return described(name, t, GX_PLACE_DEVICE, rank, shape, data);
}

gx_array gx_integer(const char *name, int64_t value)
{
	gx_array a = described(name, GX_INT64, GX_WEAK_INT, 0, NULL, NULL);

	a.integer = value;
	return a;
}

gx_array gx_real(const char *name, double value)
{
	gx_array a = described(name, GX_FLOAT64, GX_WEAK_FLOAT, 0, NULL, NULL);

	a.real = value;
	return a;
}

/* ---- contexts ---- */

static char *copy_text(const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;
	char *p = s ? gx_malloc(n) : NULL;

	return p ? memcpy(p, s, n) : NULL;
}

static gx_status open_engines(gx_context *ctx, gx_error *err)
{
	gx_error why = {GX_OK, 0, 0, "", ""};
	gx_status s;

	ctx->device = GX_DEVICE_CPU;
	ctx->cpu = cpu_open(ctx->opt.threads);
	if (!ctx->cpu)
		return diag_plain(err, GX_NOMEM, "out of memory while starting the CPU engine");
	if (ctx->opt.device != GX_DEVICE_CPU) {
		s = cuda_engine_open(&ctx->opt, ctx->opt.device, &ctx->cuda, &why);
		if (s == GX_OK)
			ctx->device = cuda_engine_ordinal(ctx->cuda);
		else if (ctx->opt.device >= 0) {
			if (err)
				*err = why;
			return s;
		}
	}
	if (ctx->cuda)
		snprintf(ctx->note, sizeof ctx->note, "%s", cuda_engine_note(ctx->cuda));
	else
		snprintf(ctx->note, sizeof ctx->note, "%s%s%.300s", cpu_note(ctx->cpu), why.message[0] ? "; no GPU: " : "", why.message);
	return GX_OK;
}

gx_status gx_open(const gx_options *opt, gx_context **out, gx_error *err)
{
	gx_context *ctx;
	gx_status s;

	*out = NULL;
	if (opt && opt->size == 0)
		return diag_plain(err, GX_ARG, "gx_options.size is 0: set it to sizeof(gx_options)");
	ctx = gx_calloc(1, sizeof *ctx);
	if (!ctx)
		return diag_plain(err, GX_NOMEM, "out of memory");
	ctx->opt.device = GX_DEVICE_AUTO;
	if (opt)
		memcpy(&ctx->opt, opt, opt->size < sizeof *opt ? opt->size : sizeof *opt);
	pthread_mutex_init(&ctx->lock, NULL);
	ctx->opt.cache_dir = ctx->cache_dir = copy_text(ctx->opt.cache_dir);
	ctx->opt.arch = ctx->arch = copy_text(ctx->opt.arch);
	s = ctx->opt.arch ? nvrtc_check_arch(ctx->opt.arch, err) : GX_OK;
	s = s ? s : open_engines(ctx, err);
	if (s) {
		gx_close(ctx);
		return s;
	}
	*out = ctx;
	return GX_OK;
}

void gx_close(gx_context *ctx)
{
	if (!ctx)
		return;
	forget_programs(ctx);
	if (ctx->cuda)
		cuda_engine_close(ctx->cuda);
	if (ctx->cpu)
		cpu_close(ctx->cpu);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->cache_dir);
	free(ctx->arch);
	free(ctx);
}

int gx_context_device(const gx_context *ctx)
{
	return ctx->device;
}

const char *gx_context_note(const gx_context *ctx)
{
	return ctx->note;
}

/* ---- formulas ---- */

static gx_status parse_into(gx_formula *f, const char *text, size_t len, const char *origin)
{
	if (setjmp(f->f.no_memory))
		return diag_error(&f->f.diag, GX_NOMEM, (struct span){0, 0}, "out of memory while parsing");
	f->f.text.text = arena_text(f->f.arena, text, len);
	f->f.text.len = len;
	f->f.text.origin = arena_text(f->f.arena, origin, strlen(origin));
	f->f.diag.src = &f->f.text;
	return parse_program(&f->f);
}

gx_status gx_parse(const char *text, size_t len, const char *origin, gx_formula **out, gx_error *err)
{
	gx_formula *f = gx_calloc(1, sizeof *f);
	gx_status s;

	*out = NULL;
	if (!f)
		return diag_plain(err, GX_NOMEM, "out of memory");
	f->f.arena = &f->f.own;
	f->f.own.fail = &f->f.no_memory;
	s = parse_into(f, text, len, origin ? origin : "<expr>");
	diag_fill(&f->f.diag, err);
	if (s) {
		gx_formula_free(f);
		return s;
	}
	*out = f;
	return GX_OK;
}

void gx_formula_free(gx_formula *f)
{
	if (!f)
		return;
	buf_free(&f->f.diag.warnings);
	arena_free(&f->f.own);
	free(f);
}

const char *gx_formula_input(const gx_formula *f, int i)
{
	return i >= 0 && i < f->f.ninput ? f->f.input[i] : NULL;
}

const char *gx_formula_output(const gx_formula *f, int i)
{
	return i >= 0 && i < f->f.noutput ? f->f.output[i] : NULL;
}

const char *gx_formula_warnings(const gx_formula *f)
{
	return f->f.diag.warnings.text;
}

/* ---- programs ---- */

static gx_status bind_one(gx_program *p, const gx_array *a, struct binding *b, gx_error *err)
{
	if (!a->name)
		return diag_plain(err, GX_ARG, "an input has no name");
	if (a->rank < 0 || a->rank > GX_MAX_RANK)
		return diag_plain(err, GX_SHAPE, "`%s` has rank %d; the limit is %d", a->name, a->rank, GX_MAX_RANK);
	if ((int)a->dtype < 0 || (int)a->dtype >= NTYPES)
		return diag_plain(err, GX_ARG, "`%s` has an unknown dtype (%d)", a->name, (int)a->dtype);
	b->name = arena_text(&p->arena, a->name, strlen(a->name));
	b->dtype = a->dtype;
	b->place = a->place;
	b->integer = a->integer;
	b->real = a->real;
	b->shape.rank = a->rank;
	for (int k = 0; k < a->rank; k++) {
		if (a->shape[k] < 0)
			return diag_plain(err, GX_SHAPE, "`%s` has a negative extent on axis %d", a->name, k);
		b->shape.n[k] = a->shape[k];
		b->stride[k] = a->stride[k];
	}
	return GX_OK;
}

static gx_status bind_all(gx_program *p, const gx_formula *f, const gx_array *a, int n, gx_error *err)
{
	gx_status s = GX_OK;

	p->binding = arena_array(&p->arena, struct binding, n + 1);
	p->nbinding = n;
	for (int i = 0; i < n && !s; i++) {
		struct suggestion near = {.wanted = a[i].name ? a[i].name : ""};
		int known = 0;

		s = bind_one(p, &a[i], &p->binding[i], err);
		for (int j = 0; j < f->f.ninput && !s; j++) {
			known |= strcmp(f->f.input[j], a[i].name) == 0;
			diag_suggest(&near, f->f.input[j]);
		}
		if (!s && !known)
			s = diag_plain(err, GX_NAME, "the program has no input named `%s`%s%s%s", a[i].name, near.best ? "; did you mean `" : "",
				near.best ? near.best : "", near.best ? "`?" : "");
		for (int j = 0; j < i && !s; j++)
			if (strcmp(p->binding[j].name, p->binding[i].name) == 0)
				s = diag_plain(err, GX_ARG, "the input `%s` is given twice", a[i].name);
	}
	return s;
}

static gx_status stages(gx_program *p, const gx_formula *f)
{
	double t0 = clock_ms(), t1;

	p->ir = check_program(&p->arena, &p->diag, &f->f, p->binding, p->nbinding);
	if (p->diag.status || ir_verify(p->ir))
		return p->diag.status;
	t1 = clock_ms();
	p->plan = plan_make(p->ir, p->nbinding);
	for (int i = 0; i < p->nbinding; i++)
		p->plan->input[i].name = p->binding[i].name;
	for (int i = 0; i < p->plan->noutput; i++)   /* the formula may be freed before the program */
		p->plan->output[i].name = arena_text(&p->arena, p->plan->output[i].name, strlen(p->plan->output[i].name));
	p->cost.ms_check = t1 - t0;
	p->cost.ms_plan = clock_ms() - t1;
	p->cost.kernels = p->plan->nkernel;
	p->cost.bytes_read = p->plan->bytes_read;
	p->cost.bytes_written = p->plan->bytes_written;
	p->cost.operations = p->plan->operations;
	return p->diag.status;
}

/* Everything that allocates in the program's arena. */
static gx_status front_end(gx_program *p, const gx_formula *f, const gx_array *inputs, int ninputs, gx_error *err)
{
	gx_status s;

	if (setjmp(p->no_memory))
		return diag_plain(err, GX_NOMEM, "out of memory while compiling");
	p->text.text = arena_text(&p->arena, f->f.text.text, f->f.text.len);
	p->text.len = f->f.text.len;
	p->text.origin = arena_text(&p->arena, f->f.text.origin, strlen(f->f.text.origin));
	p->diag.src = &p->text;
	s = bind_all(p, f, inputs, ninputs, err);
	if (s)
		return s;
	stages(p, f);
	return diag_fill(&p->diag, err);
}

gx_status gx_compile(gx_context *ctx, const gx_formula *f, const gx_array *inputs, int ninputs, gx_program **out, gx_error *err)
{
	gx_program *p = gx_calloc(1, sizeof *p);
	gx_status s;

	*out = NULL;
	if (!p)
		return diag_plain(err, GX_NOMEM, "out of memory");
	p->ctx = ctx;
	p->arena.fail = &p->no_memory;
	s = front_end(p, f, inputs, ninputs, err);
	if (!s && ctx->cuda)
		s = cuda_prepare(ctx->cuda, p->plan, ctx->opt.math, &p->image, &p->cost, err);
	if (s) {
		gx_program_free(p);
		return s;
	}
	*out = p;
	return GX_OK;
}

void gx_program_free(gx_program *p)
{
	if (!p)
		return;
	if (p->image)
		cuda_image_free(p->ctx->cuda, p->image);
	buf_free(&p->diag.warnings);
	arena_free(&p->arena);
	free(p);
}

int gx_program_output(const gx_program *p, int i, gx_array *a)
{
	const struct plan_output *o;

	if (i < 0 || i >= p->plan->noutput)
		return -1;
	o = &p->plan->output[i];
	*a = described(o->name, o->mem, GX_PLACE_HOST, o->shape.rank, o->shape.n, NULL);
	return 0;
}

void gx_program_cost(const gx_program *p, gx_cost *cost)
{
	*cost = p->cost;
}
