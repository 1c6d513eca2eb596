/* random.c -- random programs on two engines, compared bit for bit where the language promises it:
 * random [--engine=emulator|cuda] [--seed=N] [--count=N]. The CPU engine is the one that defines; the other is the emulator (the kernels'
 * own text on this machine) or a GPU. A difference prints the seed, the program, and the program made smaller.
 * (A program that is shrunk leaves its cut-off nodes unfreed: it is about to be reported, and the process to end.) */
#include "tests/random/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulate/emulate.h"
#include "tests/emulate/front.h"
#include "tests/lang.h"

enum { NINPUT = 14, BATCH = 40, TEXT = 1 << 14 };

struct subject {
	uint64_t seed;
	struct program p;
	char text[TEXT];
	gx_array in[NINPUT];
	int nin;
	void *memory[NINPUT];
	gx_array out[MOST_STATEMENTS];   /* the CPU engine's */
	struct front *front;
	int refused;
};

static gx_context *cpu, *cuda;

/* ---- inputs ---- */

static double value(gx_dtype t)
{
	static const double odd[] = {0, -0.0, 1, -1, 0.5, 2.5, INFINITY, -INFINITY, NAN, 65504, 1e-7, 255, 127, -128};

	if (draw(8) == 0 && (t >= GX_FLOAT16 || draw(2)))
		return odd[draw(t >= GX_FLOAT16 ? 14 : 6)];
	return ((double)draw(2001) - 1000) / (double)(1 + draw(100));
}

static gx_array input(struct subject *s, int at, const char *name, gx_dtype t, int rank, int64_t a, int64_t b)
{
	int64_t shape[] = {a, b}, n = (rank > 0 ? a : 1) * (rank > 1 ? b : 1);
	size_t size = gx_dtype_size(t);
	gx_array x;

	s->memory[at] = malloc(size * (size_t)n);
	for (int64_t i = 0; i < n; i++)
		value_make(t, t == GX_BOOL ? (double)draw(2) : value(t), (char *)s->memory[at] + size * (size_t)i);
	x = gx_host(name, t, rank, shape, s->memory[at]);
	return x;
}

static gx_array columns_first(gx_array x)   /* the same memory as a matrix in Fortran order */
{
	x.stride[0] = 1;
	x.stride[1] = x.shape[0];
	return x;
}

static gx_array backwards(gx_array x)
{
	x.data = (char *)x.data + gx_dtype_size(x.dtype) * (size_t)(x.shape[0] * x.shape[1] - 1);
	x.stride[0] = -x.stride[0];
	x.stride[1] = -x.stride[1];
	return x;
}

static void inputs(struct subject *s)
{
	int64_t r = s->p.rows, c = s->p.columns;

	s->in[0] = input(s, 0, "f", GX_FLOAT32, 2, r, c);
	s->in[1] = input(s, 1, "g", GX_FLOAT64, 2, c, r);
	s->in[2] = columns_first(input(s, 2, "h", GX_FLOAT16, 2, r, c));
	s->in[3] = backwards(input(s, 3, "b", GX_BFLOAT16, 2, r, c));
	s->in[4] = input(s, 4, "s", GX_FLOAT64, 0, 1, 1);
	s->in[5] = input(s, 5, "w", GX_FLOAT32, 1, r * c, 1);
	s->in[6] = input(s, 6, "big", GX_FLOAT32, 2, r + 3, 2 * c + 4);
	s->in[7] = input(s, 7, "i", GX_INT32, 2, r, c);
	s->in[8] = input(s, 8, "j", GX_INT8, 2, 1, c);
	s->in[9] = input(s, 9, "k", GX_UINT8, 2, r, 1);
	s->in[10] = input(s, 10, "l", GX_INT64, 1, c, 1);
	s->in[11] = input(s, 11, "m", GX_BOOL, 2, r, c);
	s->in[12] = input(s, 12, "idx", GX_INT32, 2, r, c);
	s->nin = 13;
	for (int64_t i = 0; i < r * c; i++)
		((int32_t *)s->memory[12])[i] = (int32_t)draw((uint64_t)(r * c)) - (draw(3) ? 0 : (int32_t)(r * c));
}

/* Only what the program names may be bound. */
static int used(const gx_formula *f, const struct subject *s, gx_array *in)
{
	int n = 0;

	for (const char *name; (name = gx_formula_input(f, n)) != NULL; n++)
		for (int i = 0; i < s->nin; i++)
			if (!strcmp(s->in[i].name, name))
				in[n] = s->in[i];
	return n;
}

/* ---- engines ---- */

static size_t bytes_of(const gx_array *a)
{
	size_t n = gx_dtype_size(a->dtype);

	for (int k = 0; k < a->rank; k++)
		n *= (size_t)a->shape[k];
	return n;
}

/* Through the public API: 0 done, 1 refused when compiled, -1 failed. */
static int run_api(gx_context *ctx, struct subject *s, gx_array *out, gx_error *err)
{
	gx_formula *f = NULL;
	gx_program *p = NULL;
	gx_array in[NINPUT];
	int n, rc = 1;

	if (gx_parse(s->text, strlen(s->text), NULL, &f, err))
		return 1;
	n = used(f, s, in);
	if (gx_compile(ctx, f, in, n, &p, err) == GX_OK) {
		for (int i = 0; i < s->p.n; i++) {
			gx_program_output(p, i, &out[i]);
			out[i].data = malloc(bytes_of(&out[i]) + 1);
		}
		rc = gx_run(ctx, p, in, n, out, s->p.n, NULL, err) ? -1 : 0;
		for (int i = 0; i < s->p.n; i++)
			out[i].name = NULL;   /* it was the program's */
	}
	gx_program_free(p);
	gx_formula_free(f);
	return rc;
}

static int run_emulator(struct subject *s, gx_array *out, gx_error *err)
{
	const struct plan *p = front_plan(s->front);
	struct emulate_options o = {.seed = 1 + (unsigned)s->seed, .sms = 2};
	void *in[NINPUT] = {0}, *results[MOST_STATEMENTS];
	struct run_failure failure;
	gx_array bound[NINPUT];
	gx_formula *f;
	int n, rc;

	if (gx_parse(s->text, strlen(s->text), NULL, &f, err))
		return -1;
	n = used(f, s, bound);
	gx_formula_free(f);
	for (int i = 0; i < n; i++)
		in[i] = bound[i].data;
	for (int i = 0; i < s->p.n; i++) {
		out[i] = s->out[i];
		results[i] = out[i].data = malloc(bytes_of(&out[i]) + 1);
	}
	rc = emulate_run(p, &(struct run_arrays){in, results}, &failure, &o);
	if (rc)
		snprintf(err->text, sizeof err->text, "%s", rc == EMULATE_CHECK ? "an index check failed" : emulate_error());
	return rc ? -1 : 0;
}

static struct front *front_of(struct subject *s)
{
	gx_array in[NINPUT];
	gx_formula *f;
	struct front *front;

	if (gx_parse(s->text, strlen(s->text), NULL, &f, NULL))
		return NULL;
	front = front_open(s->text, in, used(f, s, in));
	gx_formula_free(f);
	return front;
}

/* ---- comparison ---- */

static double number(gx_dtype t, const void *p)
{
	char text[64];

	value_text(t, p, text);
	return strtod(text, NULL);
}

/* The results of a loose statement, and of what uses none of it, are near; all others are the same bits. */
static int differ(const struct subject *s, const gx_array *got, char *why, size_t size)
{
	for (int i = 0; i < s->p.n; i++) {
		const gx_array *w = &s->out[i];
		size_t width = gx_dtype_size(w->dtype);
		double slack = w->dtype == GX_FLOAT64 ? 1e-12 : w->dtype == GX_FLOAT32 ? 2e-6 : 1e-2;

		for (size_t at = 0; at < bytes_of(w); at += width) {
			const char *a = (char *)w->data + at, *b = (char *)got[i].data + at;
			double x, y;
			char ta[64], tb[64];

			if (value_distance(w->dtype, a, b, 0) == 0)
				continue;
			x = number(w->dtype, a);
			y = number(w->dtype, b);
			if (s->p.loose[i] && fabs(x - y) <= slack * fmax(fabs(x), 1))
				continue;
			value_text(w->dtype, a, ta);
			value_text(w->dtype, b, tb);
			snprintf(why, size, "y%d[%zu] (%s): %s on the CPU, %s elsewhere", i, at / width, gx_dtype_name(w->dtype), ta, tb);
			return 1;
		}
	}
	return 0;
}

/* 0 equal, 1 different (why), 2 refused by both. */
static int compare(struct subject *s, char *why, size_t size)
{
	gx_array got[MOST_STATEMENTS] = {{0}};
	gx_error err = {0};
	int rc, bad;

	if (s->refused)
		return 2;
	rc = cuda ? run_api(cuda, s, got, &err) : run_emulator(s, got, &err);
	if (rc)
		snprintf(why, size, "it ran on the CPU, but elsewhere: %s", err.text);
	bad = rc || differ(s, got, why, size);
	for (int i = 0; i < s->p.n; i++)
		free(got[i].data);
	return bad;
}

static void define(struct subject *s)
{
	gx_error err = {0};

	memset(s->out, 0, sizeof s->out);
	program_text(&s->p, s->text, sizeof s->text);
	s->refused = run_api(cpu, s, s->out, &err);
	if (s->refused < 0)
		printf("FAIL seed %llu: the CPU engine failed: %s\n", (unsigned long long)s->seed, err.text);
	else if (s->refused && getenv("RANDOM_REFUSED"))
		printf("# %s\n", err.text);
	s->front = s->refused || cuda ? NULL : front_of(s);
}

static void forget(struct subject *s)
{
	for (int i = 0; i < s->p.n; i++) {
		free(s->out[i].data);
		s->out[i].data = NULL;
	}
	front_free(s->front);
	s->front = NULL;
}

static void smaller(struct subject *s)
{
	char why[2048];
	struct node *node, was;

	for (int n = 0; program_shrink(&s->p, n, &node, &was);) {
		const struct plan *plan;
		int bad;

		forget(s);
		define(s);
		plan = s->front ? front_plan(s->front) : NULL;
		if (plan)
			emulate_prepare(&plan, 1, GX_MATH_STRICT);
		bad = compare(s, why, sizeof why) == 1;
		if (bad) {
			n = 0;
			continue;
		}
		program_restore(node, &was);
		n++;
	}
	program_text(&s->p, s->text, sizeof s->text);
	printf("smaller (%d x %d):\n%s", s->p.rows, s->p.columns, s->text);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, count = 200;
	const char *engine = "emulator";
	int passed = 0, failed = 0, refused = 0;
	gx_options opt = {.size = sizeof opt, .device = GX_DEVICE_CPU};
	gx_error err;

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "--seed=", 7))
			seed = strtoull(argv[i] + 7, NULL, 10);
		else if (!strncmp(argv[i], "--count=", 8))
			count = strtoull(argv[i] + 8, NULL, 10);
		else if (!strncmp(argv[i], "--engine=", 9))
			engine = argv[i] + 9;
	if (gx_open(&opt, &cpu, &err))
		return 1;
	opt.device = strcmp(engine, "cpu") ? 0 : GX_DEVICE_CPU;
	if (strcmp(engine, "emulator") && gx_open(&opt, &cuda, &err)) {
		printf("FAIL %s\n0 passed, 1 failed, 0 skipped\n", err.text);
		return 1;
	}
	for (uint64_t done = 0; done < count; done += BATCH) {
		static struct subject s[BATCH];
		const struct plan *plan[BATCH];
		int n = count - done < BATCH ? (int)(count - done) : BATCH, nplan = 0;
		char why[2048];

		memset(s, 0, sizeof s);
		for (int i = 0; i < n; i++) {
			s[i].seed = seed + done + (uint64_t)i;
			draw_from(s[i].seed);
			s[i].p = program_make();
			inputs(&s[i]);
			define(&s[i]);
			if (s[i].front)
				plan[nplan++] = front_plan(s[i].front);
		}
		if (!cuda)
			emulate_prepare(plan, nplan, GX_MATH_STRICT);
		for (int i = 0; i < n; i++) {
			int rc = compare(&s[i], why, sizeof why);

			passed += rc == 0;
			failed += rc == 1 || s[i].refused < 0;
			refused += rc == 2;
			if (rc == 1) {
				printf("FAIL seed %llu: %s\n%s", (unsigned long long)s[i].seed, why, s[i].text);
				smaller(&s[i]);
			}
			forget(&s[i]);
			if (rc != 1)
				program_free(&s[i].p);
			for (int k = 0; k < NINPUT; k++)
				free(s[i].memory[k]);
		}
	}
	emulate_close();
	gx_close(cuda);
	gx_close(cpu);
	if ((uint64_t)refused * 10 > count * 3) {
		printf("FAIL %d of %llu programs were refused: the generator makes wrong ones\n", refused, (unsigned long long)count);
		failed++;
	}
	printf("# %d refused\n%d passed, %d failed, 0 skipped\n", refused, passed, failed);
	return failed != 0;
}
