/* limits.c -- programs of absurd size end in a result or a clear error, never in a crash: on a small stack,
 * too. */
#include <pthread.h>

#include "tests/api/api.h"

static gx_context *ctx;

static char *repeated(const char *head, const char *part, int n, const char *tail)
{
	size_t h = strlen(head), p = strlen(part), t = strlen(tail);
	char *text = malloc(h + p * (size_t)n + t + 1);

	memcpy(text, head, h);
	for (int i = 0; i < n; i++)
		memcpy(text + h + (size_t)i * p, part, p);
	memcpy(text + h + (size_t)n * p, tail, t + 1);
	return text;
}

static gx_status run(char *text, double *y, gx_error *err)
{
	double x = 1;
	gx_array in = gx_host("x", GX_FLOAT64, 0, NULL, &x), out = gx_host("y", GX_FLOAT64, 0, NULL, y);
	gx_status s = gx_eval(ctx, text, &in, 1, &out, 1, err);

	free(text);
	return s;
}

static void deep(const char *what, char *text)
{
	gx_error err;
	double y = 0;
	gx_status s = run(text, &y, &err);

	check(s == GX_LIMIT && err.line == 1 && strstr(err.text, "nested deeper") && strstr(err.text, "hint:"),
		"%s: status %d, %s", what, (int)s, err.text);
}

static void test_depth(void)
{
	deep("100000 parentheses", repeated("y = ", "(", 100000, "x"));
	deep("100000 brackets", repeated("y = ", "x[", 100000, "x"));
	deep("100000 calls", repeated("y = ", "sin(", 100000, "x"));
	deep("100000 signs", repeated("y = ", "-", 100000, "x"));
	deep("100000 powers", repeated("y = ", "x**", 100000, "x"));
	deep("100000 conditionals", repeated("y = ", "x?x:", 100000, "x"));
	deep("100000 nots", repeated("y = ", "not ", 100000, "x"));
	deep("100000 .T", repeated("y = x", ".T", 100000, ""));
	deep("100000 indices", repeated("y = x", "[...]", 100000, ""));
}

static void test_length(void)
{
	gx_error err;
	double y = 0;

	check(run(repeated("y = x", " + x", 199999, ""), &y, &err) == GX_OK && y == 200000,
		"a sum of 200000 terms: %g %s", y, err.text);
	check(run(repeated("y = x", "*x - 0", 50000, ""), &y, &err) == GX_OK && y == 1,
		"a chain of two operators: %g %s", y, err.text);
	check(run(repeated("y = x; ", "y = y + 1; ", 20000, ""), &y, &err) == GX_OK && y == 20001,
		"20000 statements: %g %s", y, err.text);
	check(run(repeated("_b = x", " < 2", 3000, "; y = f64(_b)"), &y, &err) == GX_OK && y == 0,
		"a long chain of comparisons: %g %s", y, err.text);
	check(run(repeated("y = x", " and x", 100000, " ? 3.0 : 4.0"), &y, &err) == GX_OK && y == 3,
		"100000 times and: %g %s", y, err.text);
	check(run(repeated("y = max(x", ", x", 100000, ")"), &y, &err) == GX_LIMIT, "100001 arguments: %s",
		err.text);
	check(run(repeated("y = ", "x x ", 100000, ""), &y, &err) == GX_SYNTAX, "rubbish: %s", err.text);
	check(run(repeated("", "y", 1000000, " = x"), &y, &err) == GX_ARG, "a name of a million letters: %.100s",
		err.text);
	check(run(repeated("y = 0.", "1", 100000, ""), &y, &err) == GX_SYNTAX,
		"a number of 100000 digits: %.100s", err.text);
}

/* Defs that call two of the one before: 2**n calls, 64 levels. */
static void test_defs(void)
{
	char *text = malloc(100000), *p = text;
	gx_error err;
	double y = 0;

	p += sprintf(p, "def f0(x) = x + 1\n");
	for (int i = 1; i < 70; i++)
		p += sprintf(p, "def f%d(x) = f%d(x)\n", i, i - 1);
	sprintf(p, "y = f69(x)");
	check(run(text, &y, &err) == GX_LIMIT && strstr(err.text, "64"), "70 levels of defs: %s", err.text);
	text = malloc(100000);
	p = text + sprintf(text, "_a = x");
	for (int i = 0; i < 60; i++)
		p += sprintf(p, "; _a = _a + _a");
	sprintf(p, "; y = _a");
	check(run(text, &y, &err) == GX_OK && y == 1152921504606846976.0, "60 doublings: %g %s", y, err.text);
}

static void test_inputs(void)
{
	enum { N = 650 };
	static char names[N][8];
	static float x[N];
	static gx_array in[N];
	char *text = malloc(N * 8 + 10), *p = text;
	float y = 0;
	gx_array out = gx_host("y", GX_FLOAT32, SHAPE(1), &y);
	gx_error err;

	p += sprintf(p, "y = ");
	for (int i = 0; i < N; i++) {
		sprintf(names[i], "x%d", i);
		p += sprintf(p, "%s%s", i ? " + " : "", names[i]);
		x[i] = (float)i;
		in[i] = gx_host(names[i], GX_FLOAT32, SHAPE(1), &x[i]);
	}
	check(gx_eval(ctx, text, in, N, &out, 1, &err) == GX_OK && y == (float)(N * (N - 1) / 2),
		"650 inputs: %g %s", (double)y, err.text);
	free(text);
}

static void *all(void *arg)
{
	test_depth();
	test_length();
	test_defs();
	test_inputs();
	return arg;
}

int main(void)
{
	pthread_attr_t small;
	pthread_t thread;

	ctx = cpu_context(0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 512 << 10);
	if (check(pthread_create(&thread, &small, all, NULL) == 0, "a thread with a stack of 512 KiB"))
		pthread_join(thread, NULL);
	gx_close(ctx);
	return finish();
}
