/* harness.c -- see harness.h. */
#include "tests/emulate/harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLANS = 600 };

int collecting;
static int passed, failed;
static struct front *collected[MAX_PLANS];
static int ncollected;

void check(int ok, const char *fmt, ...)
{
	va_list ap;

	if (ok) {
		passed++;
		return;
	}
	failed++;
	printf("FAIL ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* ---- arrays ---- */

size_t elements(const gx_array *a)
{
	size_t n = 1;

	for (int k = 0; k < a->rank; k++)
		n *= (size_t)a->shape[k];
	return n;
}

static float half_value(unsigned short h, int bf)
{
	unsigned sign = (unsigned)(h >> 15) << 31, e = h >> 10 & 31, m = h & 1023, u = (unsigned)h << 16;
	float f;

	if (!bf && e == 0)
		return (sign ? -1.0f : 1.0f) * ldexpf((float)m, -24);
	if (!bf)
		u = sign | (e == 31 ? 255u : e + 112) << 23 | m << 13;
	memcpy(&f, &u, 4);
	return f;
}

double get(const gx_array *a, size_t i)
{
	const void *p = (const char *)a->data + i * gx_dtype_size(a->dtype);

	switch (a->dtype) {
	case GX_BOOL:
	case GX_UINT8: return *(const unsigned char *)p;
	case GX_INT8: return *(const signed char *)p;
	case GX_INT16: return *(const short *)p;
	case GX_UINT16: return *(const unsigned short *)p;
	case GX_INT32: return *(const int *)p;
	case GX_UINT32: return *(const unsigned *)p;
	case GX_INT64: return (double)*(const int64_t *)p;
	case GX_UINT64: return (double)*(const uint64_t *)p;
	case GX_FLOAT16: return half_value(*(const unsigned short *)p, 0);
	case GX_BFLOAT16: return half_value(*(const unsigned short *)p, 1);
	case GX_FLOAT32: return *(const float *)p;
	case GX_FLOAT64: return *(const double *)p;
	default: return NAN;
	}
}

/* Small whole numbers: exact in every type. */
static unsigned short half_bits(double v, int bf)
{
	float f = (float)v;
	unsigned u;
	int e;

	memcpy(&u, &f, 4);
	if (bf)
		return (unsigned short)(u >> 16);
	if (f == 0)
		return (unsigned short)(u >> 16);
	frexpf(f, &e);
	return (unsigned short)((u >> 16 & 0x8000) | ((unsigned)(e + 14) << 10) | (u >> 13 & 0x3ff));
}

void set(gx_array *a, size_t i, double v)
{
	void *p = (char *)a->data + i * gx_dtype_size(a->dtype);

	switch (a->dtype) {
	case GX_BOOL:
	case GX_UINT8: *(unsigned char *)p = (unsigned char)(int)v; return;
	case GX_INT8: *(signed char *)p = (signed char)v; return;
	case GX_INT16: *(short *)p = (short)v; return;
	case GX_UINT16: *(unsigned short *)p = (unsigned short)(int)v; return;
	case GX_INT32: *(int *)p = (int)v; return;
	case GX_UINT32: *(unsigned *)p = (unsigned)(int64_t)v; return;
	case GX_INT64: *(int64_t *)p = (int64_t)v; return;
	case GX_UINT64: *(uint64_t *)p = (uint64_t)(int64_t)v; return;
	case GX_FLOAT16: *(unsigned short *)p = half_bits(v, 0); return;
	case GX_BFLOAT16: *(unsigned short *)p = half_bits(v, 1); return;
	case GX_FLOAT32: *(float *)p = (float)v; return;
	case GX_FLOAT64: *(double *)p = v; return;
	default: return;
	}
}

static unsigned noise = 12345;

static void *heap[4096];
static int nheap;

static void *keep(void *p)
{
	heap[nheap++] = p;
	return p;
}

gx_array array_of(const char *name, gx_dtype t, int shift, int rank, const int64_t *shape)
{
	gx_array a = {.name = name, .dtype = t, .rank = rank};
	size_t size = gx_dtype_size(t);
	int64_t stride = 1;

	for (int k = rank; k-- > 0; stride *= shape[k]) {
		a.shape[k] = shape[k];
		a.stride[k] = stride;
	}
	a.data =
		(char *)keep(malloc((elements(&a) + (size_t)shift) * size + !elements(&a))) + (size_t)shift * size;
	for (size_t i = 0; i < elements(&a); i++) {
		noise = noise * 1664525u + 1013904223u;
		set(&a, i,
			t == GX_BOOL
				? noise >> 31
				: (double)(noise >> 8) / (1 << 24) * 9 + (type_table[t].cls & (C_UINT | C_BOOL) ? 1 : -4));
		if (t == GX_FLOAT16 || t == GX_BFLOAT16)
			set(&a, i, (double)(noise >> 28) - 7);
	}
	return a;
}

/* ---- running a program ---- */

static gx_array output_make(const struct plan_output *o)
{
	gx_array a = {.name = o->name, .dtype = o->mem, .rank = o->shape.rank};

	memcpy(a.shape, o->shape.n, sizeof a.shape);
	a.data = keep(malloc(elements(&a) * gx_dtype_size(a.dtype) + !elements(&a)));
	memset(a.data, 0xee, elements(&a) * gx_dtype_size(a.dtype));
	return a;
}

static void run_plan(
	const struct plan *p, gx_array *in, int nin, struct result *r, const char *find, const char *replace)
{
	void *input[MAX_IN], *output[MAX_OUT];
	struct run_arrays arrays = {input, output};
	struct emulate_options o = {.seed = r->seed, .find = find, .replace = replace};

	for (int i = 0; i < nin; i++)
		input[i] = in[i].data;
	r->nout = p->noutput;
	for (int i = 0; i < p->noutput; i++) {
		r->out[i] = output_make(&p->output[i]);
		output[i] = r->out[i].data;
	}
	r->status = emulate_run(p, &arrays, &r->failure, &o);
}

int run(struct result *r, unsigned seed, const char *text, gx_array *in, int nin)
{
	struct front *f = front_open(text, in, nin);

	memset(r, 0, sizeof *r);
	r->text = text;
	r->seed = seed;
	if (!f) {
		check(collecting, "%s does not compile", text);
		return 0;
	}
	if (collecting && ncollected < MAX_PLANS) {
		collected[ncollected++] = f;
		return 0;
	}
	run_plan(front_plan(f), in, nin, r, NULL, NULL);
	front_free(f);
	check(r->status < EMULATE_BROKEN, "%s: %s", r->text, emulate_error());
	return r->status == EMULATE_OK;
}

int run_edited(struct result *r, unsigned seed, const char *text, gx_array *in, int nin, const char *find,
	const char *replace)
{
	struct front *f = front_open(text, in, nin);

	memset(r, 0, sizeof *r);
	r->text = text;
	r->seed = seed;
	run_plan(front_plan(f), in, nin, r, find, replace);
	front_free(f);
	check(r->status != EMULATE_TEXT, "%s with `%s` for `%s`: %s", text, replace, find, emulate_error());
	return r->status;
}

static int same(double a, double b, double tolerance)
{
	return a == b || (a != a && b != b) || fabs(a - b) <= tolerance * (1 + fabs(b));
}

void expect(const struct result *r, int out, size_t i, double want, double tolerance)
{
	double got = get(&r->out[out], i);

	if (same(got, want, tolerance))
		return;
	check(0, "%s: output %d [%zu] is %.17g, not %.17g (seed %u)", r->text, out, i, got, want, r->seed);
}

double reference_sum(const gx_array *a, size_t first, size_t n, size_t step)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += get(a, first + i * step);
	return s;
}

static test_function *test[100];
static int ntest;

static void one(int i, unsigned seed)
{
	noise = 12345 + seed * 7;
	test[i](seed);
	while (nheap)
		free(heap[--nheap]);
}

/* Compile what was collected, a number of programs a unit. */
static void prepare(void)
{
	enum { UNIT = 12 };
	const struct plan *plan[UNIT];

	for (int i = 0; i < ncollected; i += UNIT) {
		int n = ncollected - i < UNIT ? ncollected - i : UNIT;

		for (int k = 0; k < n; k++)
			plan[k] = front_plan(collected[i + k]);
		check(emulate_prepare(plan, n, GX_MATH_STRICT) == 0, "%s", emulate_error());
	}
	for (int i = 0; i < ncollected; i++)
		front_free(collected[i]);
}

int main(int argc, char **argv)
{
	int n, only = argc > 1 ? atoi(argv[1]) : -1;

	for (int i = 0; map_tests[i]; i++)
		test[ntest++] = map_tests[i];
	for (int i = 0; reduce_tests[i]; i++)
		test[ntest++] = reduce_tests[i];
	for (int i = 0; row_tests[i]; i++)
		test[ntest++] = row_tests[i];
	for (int i = 0; scan_tests[i]; i++)
		test[ntest++] = scan_tests[i];
	for (int i = 0; plane_tests[i]; i++)
		test[ntest++] = plane_tests[i];
	for (int i = 0; op_tests[i]; i++)
		test[ntest++] = op_tests[i];
	n = ntest;
	collecting = 1;
	for (int i = 0; i < n; i++)
		if (only < 0 || i == only)
			one(i, 0);
	collecting = 0;
	prepare();
	for (unsigned seed = 0; seed < SEEDS; seed++)
		for (int i = 0; i < n; i++)
			if (only < 0 || i == only)
				one(i, seed);
	emulate_close();
	printf("%s\n%d passed, %d failed, 0 skipped\n", failed ? "FAIL" : "ok", passed, failed);
	return failed != 0;
}
