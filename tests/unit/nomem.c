/* nomem.c -- every allocation of the library fails once: parse, compile, dump and run each language case with
 * the n-th allocation failing, n = 1, 2, ..., once alone and once with all that follow. The status is NOMEM
 * (or what the case expects anyway), nothing leaks, nothing crashes, and afterwards the case passes. Built
 * with -DGX_FAULTS and sanitizers. Arguments: language cases. */
#include <stdlib.h>

#include "base/fault.h"
#include "tests/lang.h"
#include "tests/unit/unit.h"

enum { LIMIT = 4000 }; /* allocations of one case; more means that it does not end */

static gx_context *ctx;

static gx_status outputs_run(gx_program *p, const gx_array *in, int nin, gx_error *err)
{
	gx_array out[CASE_ARRAYS];
	int n = 0;
	gx_status s;

	for (; n < CASE_ARRAYS && gx_program_output(p, n, &out[n]) == 0; n++) {
		size_t bytes = gx_dtype_size(out[n].dtype);

		for (int k = 0; k < out[n].rank; k++)
			bytes *= (size_t)out[n].shape[k];
		out[n].data = calloc(bytes + 1, 1);
	}
	s = gx_run(ctx, p, in, nin, out, n, NULL, err);
	while (n > 0)
		free(out[--n].data);
	return s;
}

static gx_status dumps(gx_program *p, gx_error *err)
{
	static const char *const stage[] = {"ast", "ir", "plan", "cuda", "explain", "json"};
	gx_status s = GX_OK;
	char *text;

	for (size_t i = 0; i < sizeof stage / sizeof *stage && !s; i++) {
		s = gx_program_dump(ctx, p, stage[i], &text, err);
		free(text);
	}
	return s;
}

static gx_status whole(const struct lang_case *c, gx_error *err)
{
	gx_array in[CASE_ARRAYS], out[CASE_ARRAYS];
	gx_formula *f = NULL;
	gx_program *p = NULL;
	gx_status s;

	for (int i = 0; i < c->nin; i++)
		in[i] = c->in[i].a;
	s = gx_parse(c->program, strlen(c->program), NULL, &f, err);
	s = s ? s : gx_compile(ctx, f, in, c->nin, &p, err);
	s = s ? s : outputs_run(p, in, c->nin, err);
	s = s ? s : dumps(p, err);
	gx_program_free(p);
	gx_formula_free(f);
	if (s)
		return s;
	memset(out, 0, sizeof out);
	for (int i = 0; i < c->nout; i++)
		out[i].name = c->out[i].a.name;
	s = gx_eval(ctx, c->program, in, c->nin, out, c->nout, err);
	for (int i = 0; i < c->nout && !s; i++)
		gx_free(ctx, GX_PLACE_HOST, out[i].data);
	return s;
}

/* 1: go on with the next n, 0: the case is through or broken. */
static int once(const char *path, const struct lang_case *c, gx_status usual, long n, int forever)
{
	gx_error err;
	gx_status s;

	memset(&err, 0, sizeof err);
	fault_set(n, forever);
	s = whole(c, &err);
	fault_set(0, 0);
	if (s == usual)
		return 0;
	if (s == GX_NOMEM && err.status == GX_NOMEM && strstr(err.text, "memory"))
		return 1;
	check(0, "%s: with allocation %ld%s failing the status is %d: %s", path, n,
		forever ? " and all later ones" : "", (int)s, err.text);
	return 0;
}

static void open_context(void)
{
	gx_options opt = {.size = sizeof opt, .device = GX_DEVICE_CPU, .threads = 2};
	gx_error err;

	if (!check(gx_open(&opt, &ctx, &err) == GX_OK, "%s", err.text))
		exit(finish());
}

/* A failure that only makes a message shorter keeps the status, so a few more n follow before the case counts
 * as through. A context of its own, so that gx_eval does not remember the program from before. */
static void starve(const char *path, const struct lang_case *c, gx_status usual, int forever)
{
	int quiet = 0, noticed = 0;
	long n = 1;

	open_context();
	for (; n < LIMIT && quiet < 8; n++) {
		quiet = once(path, c, usual, n, forever) ? 0 : quiet + 1;
		noticed += quiet == 0;
	}
	check(n < LIMIT && noticed >= 2, "%s: %d failures noticed in %ld allocations", path, noticed, n);
	gx_close(ctx);
}

static void starve_open(void)
{
	gx_options opt = {
		.size = sizeof opt, .device = GX_DEVICE_CPU, .threads = 2, .cache_dir = "/tmp", .arch = "sm_90"};
	gx_context *other;
	gx_error err;
	gx_status s = GX_NOMEM;

	for (long n = 1; n < LIMIT && s != GX_OK; n++) {
		fault_set(n, 0);
		s = gx_open(&opt, &other, &err);
		fault_set(0, 0);
		if (s && !check(s == GX_NOMEM && !other, "gx_open with allocation %ld failing: %s", n, err.text))
			return;
	}
	check(s == GX_OK, "gx_open ends");
	gx_close(other);
}

static void starve_case(const char *path)
{
	struct lang_case c;
	char why[1000];
	gx_status usual;
	gx_error err;

	if (check(case_read(path, &c, why, sizeof why) == 0, "%s: %s", path, why)) {
		open_context();
		usual = whole(&c, &err);
		gx_close(ctx);
		starve(path, &c, usual, 0);
		starve(path, &c, usual, 1);
	}
	case_free(&c);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		starve_case(argv[i]);
	starve_open();
	return finish();
}
