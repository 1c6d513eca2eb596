/* threads.c -- one context, one formula and one program used by eight threads at once, with programs that all
 * use and programs of their own. Also built with -fsanitize=thread. */
#include <pthread.h>

#include "tests/api/api.h"

enum { THREADS = 8, ROUNDS = 12, N = 100000 };

static gx_context *ctx;
static gx_formula *shared_formula;
static gx_program *shared_program;

static int own_program(int number, const float *x, float *y)
{
	char text[60];
	gx_array in = gx_host("x", GX_FLOAT32, SHAPE(N), (void *)x), out = gx_host("y", GX_FLOAT32, SHAPE(N), y);

	snprintf(text, sizeof text, "y = x * %d + sum(f32(x > %d))", number + 2, number);
	if (gx_eval(ctx, text, &in, 1, &out, 1, NULL))
		return -1;
	return y[10] == x[10] * (float)(number + 2) + (float)(N - number - 1) ? 0 : -1;
}

static int common_program(const float *x, float *y)
{
	gx_array in = gx_host("x", GX_FLOAT32, SHAPE(N), (void *)x), out = gx_host("y", GX_FLOAT32, SHAPE(N), y);
	gx_program *p;

	if (gx_eval(ctx, "y = x - mean(x)", &in, 1, &out, 1, NULL) || y[0] != -(N - 1) / 2.0f)
		return -1;
	if (gx_run(ctx, shared_program, &in, 1, &out, 1, NULL, NULL) || y[5] != 30)
		return -1;
	if (gx_compile(ctx, shared_formula, &in, 1, &p, NULL))
		return -1;
	memset(y, 0, sizeof *y * N);
	if (gx_run(ctx, p, &in, 1, &out, 1, NULL, NULL) || y[6] != 42) {
		gx_program_free(p);
		return -1;
	}
	gx_program_free(p);
	return 0;
}

static int failing_program(const float *x)
{
	gx_array in = gx_host("x", GX_FLOAT32, SHAPE(N), (void *)x);
	gx_error err;

	return gx_eval(ctx, "y = x + zz", &in, 1, NULL, 0, &err) == GX_NAME && strstr(err.text, "zz") ? 0 : -1;
}

static void *work(void *arg)
{
	int number = *(int *)arg;
	float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
	long bad = 0;

	for (int i = 0; i < N; i++)
		x[i] = (float)i;
	for (int round = 0; round < ROUNDS && !bad; round++) {
		bad += own_program((number + round) % 12, x, y) != 0;
		bad += common_program(x, y) != 0;
		bad += failing_program(x) != 0;
	}
	free(x);
	free(y);
	return (void *)bad;
}

int main(void)
{
	pthread_t thread[THREADS];
	int number[THREADS];
	gx_array in = gx_host("x", GX_FLOAT32, SHAPE(N), NULL);
	gx_error err;

	ctx = cpu_context(3);
	shared_formula = formula("y = x * x + x");
	if (!check(gx_compile(ctx, shared_formula, &in, 1, &shared_program, &err) == GX_OK, "%s", err.text))
		return finish();
	for (int i = 0; i < THREADS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, work, &number[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		void *bad;

		pthread_join(thread[i], &bad);
		check(bad == NULL, "thread %d", i);
	}
	gx_program_free(shared_program);
	gx_formula_free(shared_formula);
	gx_close(ctx);
	return finish();
}
