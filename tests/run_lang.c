/* run_lang.c -- runs language cases (tests/lang/NAME.gx) on an engine: run_lang [--engine=cpu|emulator|cuda]
 * [-v] files... cpu and cuda go through the public API, each case three ways: compile and run; gx_eval, which
 * must give the same bits; and on a GPU with arrays that are there already. The emulator runs the emitted
 * CUDA C on this machine (lang_emulate.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lang.h"

enum { GUARD = 64 }; /* bytes behind each result that must stay as they are */

struct job {
	gx_context *ctx;
	struct lang_case c;
	gx_formula *formula;
	gx_program *program;
	gx_error err;
	char *why;
	size_t size;
};

static size_t bytes_of(const gx_array *a)
{
	size_t n = gx_dtype_size(a->dtype);

	for (int k = 0; k < a->rank; k++)
		n *= (size_t)a->shape[k];
	return n;
}

static int say(struct job *j, const char *what)
{
	snprintf(j->why, j->size, "%s", what);
	return -1;
}

/* What the program says its results are, against the case. */
static int describe(struct job *j, gx_array *out)
{
	struct lang_case *c = &j->c;

	for (int i = 0; i < c->nout; i++) {
		const gx_array *w = &c->out[i].a;

		if (gx_program_output(j->program, i, &out[i]))
			return say(j, "too few results");
		if (strcmp(out[i].name, w->name) != 0 || out[i].dtype != w->dtype || out[i].rank != w->rank ||
			memcmp(out[i].shape, w->shape, sizeof(int64_t) * (size_t)w->rank) != 0) {
			int n = snprintf(j->why, j->size, "result %d is %s : %s[", i, out[i].name,
				gx_dtype_name(out[i].dtype));

			for (int k = 0; k < out[i].rank; k++)
				n += snprintf(j->why + n, j->size - (size_t)n, "%s%lld", k ? "," : "",
					(long long)out[i].shape[k]);
			snprintf(j->why + n, j->size - (size_t)n, "]");
			return -1;
		}
	}
	return gx_program_output(j->program, c->nout, &out[c->nout]) == 0
		? say(j, "more results than the case lists")
		: 0;
}

static int costs(struct job *j)
{
	gx_cost cost;

	gx_program_cost(j->program, &cost);
	if (j->c.kernels >= 0 && cost.kernels != j->c.kernels)
		snprintf(j->why, j->size, "wanted %lld kernels, found %d", (long long)j->c.kernels, cost.kernels);
	else if (j->c.reads >= 0 && cost.bytes_read != j->c.reads)
		snprintf(j->why, j->size, "wanted %lld bytes read, found %lld", (long long)j->c.reads,
			(long long)cost.bytes_read);
	else if (j->c.writes >= 0 && cost.bytes_written != j->c.writes)
		snprintf(j->why, j->size, "wanted %lld bytes written, found %lld", (long long)j->c.writes,
			(long long)cost.bytes_written);
	else
		return 0;
	return -1;
}

static int warnings(struct job *j)
{
	const char *w = gx_formula_warnings(j->formula);

	if (!j->c.nwarning && w) {
		snprintf(j->why, j->size, "unexpected warning: %s", w);
		return -1;
	}
	for (int i = 0; i < j->c.nwarning; i++)
		if (!w || !text_matches(j->c.warning[i], w)) {
			snprintf(j->why, j->size, "no warning matches `%s`: %s", j->c.warning[i], w ? w : "(none)");
			return -1;
		}
	return 0;
}

static void input_arrays(const struct job *j, gx_array *in)
{
	for (int i = 0; i < j->c.nin; i++)
		in[i] = j->c.in[i].a;
}

static int compare_all(struct job *j, const gx_array *out)
{
	for (int i = 0; i < j->c.nout; i++)
		if (case_compare(&j->c.out[i], out[i].data, j->c.ulp, j->why, j->size))
			return -1;
	return 0;
}

static int guards(struct job *j, const gx_array *out)
{
	for (int i = 0; i < j->c.nout; i++)
		for (int b = 0; b < GUARD; b++)
			if (((unsigned char *)out[i].data)[bytes_of(&out[i]) + (size_t)b] != 0xa5)
				return say(j, "bytes behind a result were written");
	return 0;
}

/* A run that failed wrote no result. */
static int untouched(struct job *j, const gx_array *out)
{
	for (int i = 0; i < j->c.nout; i++)
		for (size_t b = 0; b < bytes_of(&out[i]); b++)
			if (((unsigned char *)out[i].data)[b] != 0xa5)
				return say(j, "a run that failed wrote a result");
	return 0;
}

/* gx_eval with results that it allocates gives the same bits. */
static int again(struct job *j, const gx_array *out)
{
	gx_array in[CASE_ARRAYS], e[CASE_ARRAYS];
	int bad = 0;

	input_arrays(j, in);
	memset(e, 0, sizeof e);
	for (int i = 0; i < j->c.nout; i++) {
		e[i].name = j->c.out[i].a.name;
		e[i].place = GX_PLACE_HOST;
	}
	if (gx_eval(j->ctx, j->c.program, in, j->c.nin, e, j->c.nout, &j->err))
		return say(j, j->err.text);
	for (int i = 0; i < j->c.nout; i++) {
		if (!bad &&
			(bytes_of(&e[i]) != bytes_of(&out[i]) ||
				(bytes_of(&e[i]) && memcmp(e[i].data, out[i].data, bytes_of(&e[i])) != 0)))
			bad = say(j, "gx_eval gives other bits than gx_run");
		gx_free(j->ctx, GX_PLACE_HOST, e[i].data);
	}
	return bad;
}

static int upload_all(struct job *j, gx_array *in, gx_array *out, void **memory)
{
	for (int i = 0; i < j->c.nin; i++) {
		struct case_array *x = &j->c.in[i];

		if (!x->base)
			continue;
		if (gx_alloc(j->ctx, x->bytes, &memory[i], &j->err) ||
			gx_upload(j->ctx, memory[i], x->base, x->bytes, &j->err))
			return -1;
		in[i].place = GX_PLACE_DEVICE;
		in[i].data = (char *)memory[i] + ((char *)x->a.data - (char *)x->base);
	}
	for (int i = 0; i < j->c.nout; i++) {
		out[i].place = GX_PLACE_DEVICE;
		if (gx_alloc(j->ctx, bytes_of(&out[i]) + 1, &memory[CASE_ARRAYS + i], &j->err))
			return -1;
		out[i].data = memory[CASE_ARRAYS + i];
	}
	return 0;
}

static int run_there(struct job *j, const gx_array *host, gx_array *in, gx_array *out)
{
	gx_program *p;
	gx_status s;

	if (gx_compile(j->ctx, j->formula, in, j->c.nin, &p, &j->err))
		return -1;
	s = gx_run(j->ctx, p, in, j->c.nin, out, j->c.nout, NULL, &j->err);
	s = s ? s : gx_sync(j->ctx, NULL, &j->err);
	for (int i = 0; i < j->c.nout && !s; i++)
		s = gx_download(j->ctx, host[i].data, out[i].data, bytes_of(&out[i]), &j->err);
	gx_program_free(p);
	return s ? -1 : 0;
}

/* Inputs and results in device memory, laid out as in host memory. */
static int on_device(struct job *j, const gx_array *host)
{
	gx_array in[CASE_ARRAYS], out[CASE_ARRAYS];
	void *memory[2 * CASE_ARRAYS] = {0};
	int bad;

	input_arrays(j, in);
	memcpy(out, host, sizeof out);
	for (int i = 0; i < j->c.nout; i++)
		memset(host[i].data, 0xa5, bytes_of(&host[i]));
	bad = upload_all(j, in, out, memory) || run_there(j, host, in, out);
	if (bad)
		snprintf(j->why, j->size, "device arrays: %s", j->err.text);
	for (int i = 0; i < 2 * CASE_ARRAYS; i++)
		gx_free(j->ctx, GX_PLACE_DEVICE, memory[i]);
	return bad ? -1 : compare_all(j, host);
}

static int run_program(struct job *j)
{
	gx_array in[CASE_ARRAYS], out[CASE_ARRAYS + 1];
	int bad = 0;

	memset(out, 0, sizeof out);
	input_arrays(j, in);
	if (j->c.status) { /* only the run can still fail */
		while (bad < CASE_ARRAYS && gx_program_output(j->program, bad, &out[bad]) == 0)
			bad++;
		j->c.nout = bad;
	} else if (describe(j, out) || costs(j) || warnings(j)) {
		return -1;
	}
	for (int i = 0; i < j->c.nout; i++) {
		out[i].data = malloc(bytes_of(&out[i]) + GUARD);
		memset(out[i].data, 0xa5, bytes_of(&out[i]) + GUARD);
	}
	if (gx_run(j->ctx, j->program, in, j->c.nin, out, j->c.nout, NULL, &j->err))
		bad = j->c.status ? case_error(&j->c, &j->err, j->why, j->size) : say(j, j->err.text);
	else if (j->c.status)
		bad = say(j, "an error was expected");
	else
		bad = compare_all(j, out) || guards(j, out) || again(j, out) ||
			(gx_context_device(j->ctx) >= 0 && on_device(j, out));
	if (j->c.status && !bad)
		bad = untouched(j, out);
	for (int i = 0; i < j->c.nout; i++)
		free(out[i].data);
	if (j->c.status)
		j->c.nout = 0;
	return bad;
}

static int run_case(struct job *j)
{
	gx_array in[CASE_ARRAYS];
	struct lang_case *c = &j->c;

	input_arrays(j, in);
	if (gx_parse(c->program, strlen(c->program), "case", &j->formula, &j->err) ||
		gx_compile(j->ctx, j->formula, in, c->nin, &j->program, &j->err))
		return c->status ? case_error(c, &j->err, j->why, j->size) : say(j, j->err.text);
	return run_program(j);
}

/* 1 passed, 0 failed, -1 skipped. */
static int run_file(gx_context *ctx, const char *path, const char *engine, char *why, size_t size)
{
	struct job j = {.ctx = ctx, .why = why, .size = size};
	int result = 0;

	why[0] = 0;
	if (case_read(path, &j.c, why, size) == 0) {
		if (!j.c.status == !j.c.nout)
			say(&j, "a case expects results or an error");
		else if (j.c.engines && !strstr(j.c.engines, engine))
			result = -1;
		else
			result = run_case(&j) == 0;
	}
	gx_program_free(j.program);
	gx_formula_free(j.formula);
	case_free(&j.c);
	return result;
}

static int run_files(const char *engine, char **path, int n, int *passed, int *failed, int *skipped)
{
	gx_options opt = {.size = sizeof opt, .device = strcmp(engine, "cuda") ? GX_DEVICE_CPU : 0};
	gx_context *ctx;
	gx_error err;
	char why[4096];

	if (gx_open(&opt, &ctx, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		int r = run_file(ctx, path[i], engine, why, sizeof why);

		*(r > 0 ? passed : r < 0 ? skipped : failed) += 1;
		if (r > 0)
			printf("ok %s\n", path[i]);
		else if (r < 0)
			printf("skip %s\n", path[i]);
		else
			printf("FAIL %s: %s\n", path[i], why);
		fflush(stdout);
	}
	gx_close(ctx);
	return 0;
}

int main(int argc, char **argv)
{
	const char *engine = "cpu";
	int i = 1, passed = 0, failed = 0, skipped = 0;

	for (; i < argc && argv[i][0] == '-'; i++)
		if (!strncmp(argv[i], "--engine=", 9))
			engine = argv[i] + 9;
	if (!strcmp(engine, "emulator"))
		emulate_cases(argv + i, argc - i, &passed, &failed, &skipped);
	else if (run_files(engine, argv + i, argc - i, &passed, &failed, &skipped))
		failed++;
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
