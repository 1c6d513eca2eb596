/* lang_emulate.c -- language cases through the emulator: program to plan to CUDA C, compiled by the host's
 * C++ compiler. The kernels of UNIT cases are compiled together, because starting the compiler costs more
 * than compiling one of them. Errors that are found before any kernel exists are the business of the other
 * engines and are not counted here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulate/emulate.h"
#include "tests/emulate/front.h"
#include "tests/lang.h"

enum { UNIT = 40, ORDERS = 2 }; /* cases in a compile; orders of blocks and warps that each case runs in */

struct emulated {
	const char *path;
	struct lang_case c;
	struct front *front;
	char why[1024];
};

static int open_case(struct emulated *e)
{
	gx_array in[CASE_ARRAYS];

	if (case_read(e->path, &e->c, e->why, sizeof e->why))
		return -1;
	if (e->c.status && strcmp(e->c.status, "INDEX") != 0)
		return 0;
	if (e->c.engines && !strstr(e->c.engines, "emulator"))
		return 0;
	for (int i = 0; i < e->c.nin; i++)
		in[i] = e->c.in[i].a;
	e->front = front_open(e->c.program, in, e->c.nin);
	if (!e->front)
		snprintf(e->why, sizeof e->why, "no plan (the error is above)");
	return e->front ? 0 : -1;
}

static void **results_new(const struct plan *p)
{
	void **out = calloc((size_t)p->noutput + 1, sizeof *out);

	for (int i = 0; i < p->noutput; i++) {
		size_t n = (size_t)shape_count(&p->output[i].shape) * gx_dtype_size(p->output[i].mem);

		out[i] = malloc(n ? n : 1);
		memset(out[i], 0xa5, n);
	}
	return out;
}

static int judge(struct emulated *e, const struct plan *p, void **out, int rc)
{
	if (rc >= EMULATE_BROKEN) {
		snprintf(e->why, sizeof e->why, "%s", emulate_error());
		return -1;
	}
	if ((rc == EMULATE_CHECK) != (e->c.status != NULL)) {
		snprintf(e->why, sizeof e->why,
			rc == EMULATE_CHECK ? "an index is out of range" : "an index error was expected");
		return -1;
	}
	if (!e->c.status && p->noutput != e->c.nout) {
		snprintf(e->why, sizeof e->why, "%d results", p->noutput);
		return -1;
	}
	for (int i = 0; i < e->c.nout; i++) {
		const gx_array *w = &e->c.out[i].a;

		if (w->dtype != p->output[i].mem || shape_count(&p->output[i].shape) != e->c.out[i].count) {
			snprintf(e->why, sizeof e->why, "result %d has another type or size", i);
			return -1;
		}
		if (case_compare(&e->c.out[i], out[i], e->c.ulp, e->why, sizeof e->why))
			return -1;
	}
	return 0;
}

static int run_once(struct emulated *e, unsigned seed)
{
	const struct plan *p = front_plan(e->front);
	struct emulate_options o = {.seed = seed, .sms = 2 + (int)seed};
	void *in[CASE_ARRAYS], **out = results_new(p);
	struct run_failure failure;
	int rc;

	for (int i = 0; i < e->c.nin; i++)
		in[i] = e->c.in[i].a.data;
	rc = emulate_run(p, &(struct run_arrays){in, out}, &failure, &o);
	rc = judge(e, p, out, rc);
	for (int i = 0; i < p->noutput; i++)
		free(out[i]);
	free(out);
	return rc;
}

static int run_case(struct emulated *e)
{
	for (unsigned seed = 1; seed <= ORDERS; seed++)
		if (run_once(e, seed))
			return -1;
	return 0;
}

/* Open, compile and run up to UNIT cases. */
static void run_unit(char *const *path, int n, int *passed, int *failed, int *skipped)
{
	struct emulated *e = calloc((size_t)n, sizeof *e);
	const struct plan *plan[UNIT] = {0};
	int opened[UNIT], nplan = 0;

	for (int i = 0; i < n; i++) {
		e[i].path = path[i];
		opened[i] = open_case(&e[i]) == 0;
		if (e[i].front)
			plan[nplan++] = front_plan(e[i].front);
	}
	emulate_prepare(plan, nplan, GX_MATH_STRICT); /* what it could not compile shows when it is run */
	for (int i = 0; i < n; i++) {
		int ok = opened[i] && (!e[i].front || run_case(&e[i]) == 0);

		if (!ok)
			printf("FAIL %s: %s\n", path[i], e[i].why);
		else if (e[i].front)
			printf("ok %s\n", path[i]);
		*skipped += ok && !e[i].front && e[i].c.engines && !e[i].c.status;
		*passed += ok && e[i].front;
		*failed += !ok;
		fflush(stdout);
		front_free(e[i].front);
		case_free(&e[i].c);
	}
	free(e);
}

void emulate_cases(char *const *path, int n, int *passed, int *failed, int *skipped)
{
	for (int i = 0; i < n; i += UNIT)
		run_unit(path + i, n - i < UNIT ? n - i : UNIT, passed, failed, skipped);
	emulate_close();
}
