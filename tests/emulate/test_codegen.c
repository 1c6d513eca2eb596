/* test_codegen.c -- every kernel family through the emulator, against plain loops written here.
 *
 * Each test runs twice: first only to collect the plans of its programs, so that all kernels are compiled in a few units, then
 * for real, once with each seed. Arrays are of exact size, so that the sanitizers see every access beyond them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/emulate/emulate.h"
#include "tests/emulate/front.h"

enum { MAX_IN = 700, MAX_OUT = 8, SEEDS = 2, MAX_PLANS = 600 };

static int passed, failed, collecting;
static struct front *collected[MAX_PLANS];
static int ncollected;

static void check(int ok, const char *fmt, ...)
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

static size_t elements(const gx_array *a)
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

static double get(const gx_array *a, size_t i)
{
	const void *p = (const char *)a->data + i * gx_dtype_size(a->dtype);

	switch (a->dtype) {
	case GX_BOOL: case GX_UINT8: return *(const unsigned char *)p;
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

static void set(gx_array *a, size_t i, double v)
{
	void *p = (char *)a->data + i * gx_dtype_size(a->dtype);

	switch (a->dtype) {
	case GX_BOOL: case GX_UINT8: *(unsigned char *)p = (unsigned char)(int)v; return;
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

/* A new array; `shift` elements of room in front make it unaligned. Freed at the end of the test. */
static void *heap[4096];
static int nheap;

static void *keep(void *p)
{
	heap[nheap++] = p;
	return p;
}

static gx_array array_of(const char *name, gx_dtype t, int shift, int rank, const int64_t *shape)
{
	gx_array a = {.name = name, .dtype = t, .rank = rank};
	size_t size = gx_dtype_size(t);
	int64_t stride = 1;

	for (int k = rank; k-- > 0; stride *= shape[k]) {
		a.shape[k] = shape[k];
		a.stride[k] = stride;
	}
	a.data = (char *)keep(malloc((elements(&a) + (size_t)shift) * size + !elements(&a))) + (size_t)shift * size;
	for (size_t i = 0; i < elements(&a); i++) {
		noise = noise * 1664525u + 1013904223u;
		set(&a, i, t == GX_BOOL ? noise >> 31 : (double)(noise >> 8) / (1 << 24) * 9 + (type_table[t].cls & (C_UINT | C_BOOL) ? 1 : -4));
		if (t == GX_FLOAT16 || t == GX_BFLOAT16)
			set(&a, i, (double)(noise >> 28) - 7);
	}
	return a;
}

#define SHAPE(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

/* ---- running a program ---- */

struct result {
	gx_array out[MAX_OUT];
	int nout, status;
	struct run_failure failure;
	const char *text;
	unsigned seed;
};

static gx_array output_make(const struct plan_output *o)
{
	gx_array a = {.name = o->name, .dtype = o->mem, .rank = o->shape.rank};

	memcpy(a.shape, o->shape.n, sizeof a.shape);
	a.data = keep(malloc(elements(&a) * gx_dtype_size(a.dtype) + !elements(&a)));
	memset(a.data, 0xee, elements(&a) * gx_dtype_size(a.dtype));
	return a;
}

static void run_plan(const struct plan *p, gx_array *in, int nin, struct result *r)
{
	void *input[MAX_IN], *output[MAX_OUT];
	struct run_arrays arrays = {input, output};
	struct emulate_options o = {.seed = r->seed};

	for (int i = 0; i < nin; i++)
		input[i] = in[i].data;
	r->nout = p->noutput;
	for (int i = 0; i < p->noutput; i++) {
		r->out[i] = output_make(&p->output[i]);
		output[i] = r->out[i].data;
	}
	r->status = emulate_run(p, &arrays, &r->failure, &o);
	check(r->status != EMULATE_BROKEN, "%s: %s", r->text, emulate_error());
}

/* 1: *r holds the results; 0: nothing to compare (collecting, or a failure that has been counted). */
static int run(struct result *r, unsigned seed, const char *text, gx_array *in, int nin)
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
	run_plan(front_plan(f), in, nin, r);
	front_free(f);
	return r->status == EMULATE_OK;
}

static int same(double a, double b, double tolerance)
{
	return a == b || (a != a && b != b) || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static void expect(const struct result *r, int out, size_t i, double want, double tolerance)
{
	double got = get(&r->out[out], i);

	check(same(got, want, tolerance), "%s: output %d [%zu] is %.17g, not %.17g (seed %u)", r->text, out, i, got, want, r->seed);
}

/* ---- maps ---- */

static void test_elementwise(unsigned seed)
{
	static const int64_t size[] = {1, 3, 1023, 1024, 1025, 5000};
	struct result r;

	for (int s = 0; s < 6; s++)
		for (int shift = 0; shift < 3; shift++) {
			gx_array in[2] = {array_of("a", GX_FLOAT32, shift, 1, &size[s]), array_of("b", GX_FLOAT32, shift == 2, 1, &size[s])};

			if (run(&r, seed, "c = a*b + sin(a)", in, 2))
				for (size_t i = 0; i < (size_t)size[s]; i++) {
					float a = (float)get(&in[0], i), ab = a * (float)get(&in[1], i);

					expect(&r, 0, i, ab + sinf(a), 0);
				}
			if (collecting)
				return;
		}
}

static double wrap(double v, gx_dtype t)
{
	gx_array one = {.dtype = t, .data = (char[8]){0}};
	int64_t n = (int64_t)v;

	if (!type_has(t, C_SINT | C_UINT))
		return v;
	memcpy(one.data, &n, 8);
	return get(&one, 0);
}

static void test_types(unsigned seed)
{
	struct result r;

	for (int t = GX_INT8; t <= GX_FLOAT64; t++)
		for (int shift = 0; shift < 2; shift++) {
			gx_array in[2] = {array_of("a", (gx_dtype)t, shift, SHAPE(10007)), array_of("b", (gx_dtype)t, 0, SHAPE(10007))};

			if (!run(&r, seed, "a * b + a", in, 2))
				continue;
			for (size_t i = 0; i < 10007; i++) {
				double a = get(&in[0], i), b = get(&in[1], i);

				expect(&r, 0, i, wrap(a * b + a, (gx_dtype)t), t == GX_FLOAT32 ? 1e-6 : 0);
			}
		}
}

static void test_mixed(unsigned seed)
{
	gx_array in[4] = {array_of("a", GX_INT8, 1, SHAPE(3001)), array_of("b", GX_FLOAT64, 0, SHAPE(3001)),
		array_of("c", GX_FLOAT16, 1, SHAPE(3001)), array_of("m", GX_BOOL, 0, SHAPE(3001))};
	struct result r;

	((unsigned char *)in[3].data)[5] = 200;   /* any byte but 0 is true */
	if (run(&r, seed, "x = a + b; y = m ? c : bf16(c) * 2; z = m; w = i8(b * 100)", in, 4))
		for (size_t i = 0; i < 3001; i++) {
			double b = trunc(get(&in[1], i) * 100);

			expect(&r, 0, i, get(&in[0], i) + get(&in[1], i), 0);
			expect(&r, 1, i, get(&in[3], i) != 0 ? get(&in[2], i) : get(&in[2], i) * 2, 0);
			expect(&r, 2, i, get(&in[3], i) != 0, 0);
			expect(&r, 3, i, b > 127 ? 127 : b < -128 ? -128 : b, 0);
		}
}

static void test_views(unsigned seed)
{
	gx_array in[3] = {array_of("a", GX_FLOAT32, 0, SHAPE(37, 53)), array_of("b", GX_FLOAT32, 0, SHAPE(53, 37)),
		array_of("r", GX_FLOAT32, 0, SHAPE(53))};
	struct result r;

	if (run(&r, seed, "x = a + b.T; y = a[::2, ::-1] * 2; z = a * r + a[:, 0:1]; s = r[1:] - r[:-1]; u = a[5, 7] + r[-1]", in, 3)) {
		for (size_t i = 0; i < 37; i++)
			for (size_t j = 0; j < 53; j++) {
				double a = get(&in[0], i * 53 + j);

				expect(&r, 0, i * 53 + j, (float)(a + get(&in[1], j * 37 + i)), 0);
				if (i % 2 == 0)
					expect(&r, 1, i / 2 * 53 + j, 2 * get(&in[0], i * 53 + 52 - j), 0);
				expect(&r, 2, i * 53 + j, a * get(&in[2], j) + get(&in[0], i * 53), 1e-6);
			}
		for (size_t j = 0; j < 52; j++)
			expect(&r, 3, j, (float)(get(&in[2], j + 1) - get(&in[2], j)), 0);
		expect(&r, 4, 0, (float)(get(&in[0], 5 * 53 + 7) + get(&in[2], 52)), 0);
	}
}

static void test_shapes(unsigned seed)
{
	gx_array in[3] = {array_of("a", GX_FLOAT64, 0, SHAPE(3, 4, 5)), array_of("b", GX_FLOAT64, 0, SHAPE(4, 1)),
		array_of("c", GX_FLOAT64, 0, 0, NULL)};
	struct result r;

	if (run(&r, seed, "x = transpose(a, 2, 0, 1) + c; y = a + b; z = c * 2; i = arange(10) * 3 + 1", in, 3)) {
		for (size_t k = 0; k < 60; k++) {
			size_t i = k / 20, j = k / 5 % 4, l = k % 5;

			expect(&r, 0, (l * 3 + i) * 4 + j, get(&in[0], k) + get(&in[2], 0), 0);
			expect(&r, 1, k, get(&in[0], k) + get(&in[1], j), 0);
		}
		expect(&r, 2, 0, 2 * get(&in[2], 0), 0);
		for (size_t i = 0; i < 10; i++)
			expect(&r, 3, i, (double)(3 * i + 1), 0);
	}
}

/* ---- gathers ---- */

static void test_gather(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_FLOAT32, 0, SHAPE(1000)), array_of("i", GX_INT64, 0, SHAPE(40, 70))};
	struct result r;

	for (size_t k = 0; k < 2800; k++)
		set(&in[1], k, (double)((k * 7919) % 2000) - 1000);
	if (run(&r, seed, "x = a[i] * 2; s = sum(a[i])", in, 2)) {
		double sum = 0;

		for (size_t k = 0; k < 2800; k++) {
			int64_t i = (int64_t)get(&in[1], k);
			double v = get(&in[0], (size_t)(i < 0 ? i + 1000 : i));

			expect(&r, 0, k, 2 * v, 0);
			sum += v;
		}
		expect(&r, 1, 0, sum, 1e-6);
	}
	for (int bad = 0; bad < 2 && !collecting; bad++) {
		set(&in[1], 2500, 1000);
		set(&in[1], (size_t)(bad ? 1234 : 2600), -1001);
		run(&r, seed, "x = a[i] * 2; s = sum(a[i])", in, 2);
		check(r.status == EMULATE_CHECK && r.failure.position == (bad ? 1234 : 2500) && r.failure.value == (bad ? -1001 : 1000),
			"bad index: status %d position %lld value %lld", r.status, (long long)r.failure.position, (long long)r.failure.value);
	}
}

/* ---- reductions ---- */

static double reference_sum(const gx_array *a, size_t first, size_t n, size_t step)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += get(a, first + i * step);
	return s;
}

static void test_sum(unsigned seed)
{
	static const int64_t size[] = {1, 31, 1000, 4096, 100003};
	struct result r;

	for (int s = 0; s < 5; s++)
		for (int shift = 0; shift < 2; shift++) {
			gx_array in[1] = {array_of("a", GX_FLOAT32, shift, 1, &size[s])};

			if (run(&r, seed, "sum(a)", in, 1))
				expect(&r, 0, 0, (float)reference_sum(in, 0, (size_t)size[s], 1), 1e-7);
			if (collecting)
				return;
		}
}

static void test_rows(unsigned seed)
{
	static const int64_t shape[][2] = {{37, 1000}, {1000, 7}, {3, 50001}, {5, 1}, {1, 9}, {600, 64}, {2, 9000}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
		for (int t = 0; t < 2; t++) {
			size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
			gx_array in[1] = {array_of("a", t ? GX_INT16 : GX_FLOAT32, t, 2, shape[s])};

			if (run(&r, seed, "x = sum(a, axis=1); y = a / sum(a, axis=1, keepdims=true)", in, 1))
				for (size_t i = 0; i < m; i++) {
					double sum = reference_sum(in, i * n, n, 1);

					expect(&r, 0, i, sum, 2e-6);
					expect(&r, 1, i * n, get(in, i * n) / sum, sum == 0 ? 0 : 1e-4 / fabs(sum));
				}
		}
}

static void test_columns(unsigned seed)
{
	static const int64_t shape[][2] = {{1000, 37}, {7, 1000}, {50001, 3}, {1, 5}, {9, 1}, {64, 600}, {20000, 40}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
		size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
		gx_array in[1] = {array_of("a", GX_FLOAT64, 0, 2, shape[s])};

		if (run(&r, seed, "x = sum(a, axis=0); y = max(a, axis=0) - min(a, axis=0)", in, 1))
			for (size_t j = 0; j < n; j++) {
				double hi = -INFINITY, lo = INFINITY;

				for (size_t i = 0; i < m; i++) {
					hi = fmax(hi, get(in, i * n + j));
					lo = fmin(lo, get(in, i * n + j));
				}
				expect(&r, 0, j, reference_sum(in, j, m, n), 1e-11);
				expect(&r, 1, j, hi - lo, 0);
			}
	}
}

static void test_axes(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_INT32, 0, SHAPE(7, 300, 5))};
	struct result r;

	if (run(&r, seed, "x = sum(a, axis=1); y = sum(a, axis=(0, 2)); z = sum(a.T, axis=0); w = prod(a[:, ::100, 0] + 1, axis=-1)", in, 1)) {
		for (size_t i = 0; i < 7; i++)
			for (size_t k = 0; k < 5; k++)
				expect(&r, 0, i * 5 + k, reference_sum(in, i * 1500 + k, 300, 5), 0);
		for (size_t j = 0; j < 300; j++) {
			double s = 0;

			for (size_t i = 0; i < 7; i++)
				s += reference_sum(in, i * 1500 + j * 5, 5, 1);
			expect(&r, 1, j, s, 0);
			for (size_t i = 0; i < 7; i++)
				expect(&r, 2, j * 7 + i, reference_sum(in, i * 1500 + j * 5, 5, 1), 0);
		}
		for (size_t i = 0; i < 7; i++) {
			double p = 1;

			for (size_t j = 0; j < 300; j += 100)
				p *= get(in, i * 1500 + j * 5) + 1;
			expect(&r, 3, i, p, 0);
		}
	}
}

static void test_argmax(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_INT16, 0, SHAPE(30011)), array_of("b", GX_FLOAT32, 0, SHAPE(60, 500))};
	struct result r;
	size_t first = 0, low = 0;

	set(&in[1], 3 * 500 + 100, NAN);
	set(&in[1], 3 * 500 + 400, NAN);
	if (run(&r, seed, "p = argmax(a); q = argmin(a); u = argmax(b, axis=1); v = argmin(b, axis=0)", in, 2)) {
		for (size_t i = 0; i < 30011; i++) {
			first = get(&in[0], i) > get(&in[0], first) ? i : first;
			low = get(&in[0], i) < get(&in[0], low) ? i : low;
		}
		expect(&r, 0, 0, (double)first, 0);
		expect(&r, 1, 0, (double)low, 0);
		for (size_t i = 0; i < 60; i++) {
			size_t best = 0;

			for (size_t j = 0; j < 500; j++)
				best = get(&in[1], i * 500 + j) > get(&in[1], i * 500 + best) ? j : best;
			expect(&r, 2, i, i == 3 ? 100 : (double)best, 0);
		}
		for (size_t j = 0; j < 500; j++) {
			size_t best = 0;

			for (size_t i = 0; i < 60; i++)
				best = get(&in[1], i * 500 + j) < get(&in[1], best * 500 + j) ? i : best;
			expect(&r, 3, j, j == 100 || j == 400 ? 3 : (double)best, 0);
		}
	}
}

static double reference_var(const gx_array *a, size_t first, size_t n, size_t step)
{
	double mean = reference_sum(a, first, n, step) / (double)n, s = 0;

	for (size_t i = 0; i < n; i++) {
		double d = get(a, first + i * step) - mean;

		s += d * d;
	}
	return s / (double)n;
}

static void test_moments(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_FLOAT32, 0, SHAPE(50021)), array_of("b", GX_FLOAT64, 0, SHAPE(90, 211))};
	struct result r;

	for (size_t i = 0; i < 90 * 211; i++)
		set(&in[1], i, get(&in[1], i) + 1e8);
	if (run(&r, seed, "v = var(a); m = mean(a); lo = min(a); s = std(b, axis=1); t = var(b, axis=0)", in, 2)) {
		expect(&r, 0, 0, reference_var(&in[0], 0, 50021, 1), 1e-6);
		expect(&r, 1, 0, reference_sum(&in[0], 0, 50021, 1) / 50021, 1e-6);
		for (size_t i = 0; i < 90; i++)
			expect(&r, 3, i, sqrt(reference_var(&in[1], i * 211, 211, 1)), 1e-8);
		for (size_t j = 0; j < 211; j++)
			expect(&r, 4, j, reference_var(&in[1], j, 90, 211), 1e-8);
	}
}

static void test_kinds(unsigned seed)
{
	gx_array in[3] = {array_of("a", GX_FLOAT32, 0, SHAPE(20, 3000)), array_of("m", GX_BOOL, 1, SHAPE(9001)),
		array_of("u", GX_UINT8, 0, SHAPE(9001))};
	struct result r;
	double count = 0, sum = 0, top = 0;

	set(&in[0], 5 * 3000 + 77, NAN);
	for (size_t i = 0; i < 3000; i++)
		set(&in[0], 7 * 3000 + i, i % 2 ? 0.0 : -0.0);
	if (run(&r, seed, "x = max(a, axis=1); y = nansum(a, axis=1); z = min(a, axis=1); c = count(m); t = sum(u); k = max(u); "
		"e = any(m); f = all(m)", in, 3)) {
		for (size_t i = 0; i < 20; i++) {
			double hi = -INFINITY, s = 0;

			for (size_t j = 0; j < 3000; j++) {
				double v = get(&in[0], i * 3000 + j);

				hi = v > hi ? v : hi;
				s += v == v ? v : 0;
			}
			expect(&r, 0, i, i == 5 ? NAN : hi, 0);
			expect(&r, 1, i, s, 1e-6);
		}
		check(!signbit(get(&r.out[0], 7)) && signbit(get(&r.out[2], 7)), "-0 is below +0 in min and max");
		for (size_t i = 0; i < 9001; i++) {
			count += get(&in[1], i);
			sum += get(&in[2], i);
			top = fmax(top, get(&in[2], i));
		}
		expect(&r, 3, 0, count, 0);
		expect(&r, 4, 0, sum, 0);
		expect(&r, 5, 0, top, 0);
		expect(&r, 6, 0, 1, 0);
		expect(&r, 7, 0, 0, 0);
	}
}

static void test_empty(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_FLOAT32, 0, SHAPE(0, 5)), array_of("b", GX_FLOAT32, 0, SHAPE(6))};
	struct result r;

	if (run(&r, seed, "x = a + 1; s = sum(a); t = sum(a, axis=0) + 1; u = prod(b[3:3]); v = sum(a, axis=1); w = mean(a, axis=0)", in, 2)) {
		check(elements(&r.out[0]) == 0 && elements(&r.out[4]) == 0, "empty results are empty");
		expect(&r, 1, 0, 0, 0);
		for (size_t i = 0; i < 5; i++) {
			expect(&r, 2, i, 1, 0);
			expect(&r, 5, i, NAN, 0);
		}
		expect(&r, 3, 0, 1, 0);
	}
}

static void test_chain(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_FLOAT64, 0, SHAPE(50, 333)), gx_real("k", 2.5)};
	struct result r;

	if (run(&r, seed, "_m = max(a, axis=1, keepdims=true); _e = exp(a - _m); p = _e / sum(_e, axis=1, keepdims=true); q = a * k; "
		"w = sum(where(a > k, a, 0)); b = mean(a) + k", in, 2)) {
		double w = 0;

		for (size_t i = 0; i < 50; i++) {
			double hi = -INFINITY, s = 0;

			for (size_t j = 0; j < 333; j++)
				hi = fmax(hi, get(in, i * 333 + j));
			for (size_t j = 0; j < 333; j++)
				s += exp(get(in, i * 333 + j) - hi);
			for (size_t j = 0; j < 333; j++) {
				double a = get(in, i * 333 + j);

				expect(&r, 0, i * 333 + j, exp(a - hi) / s, 1e-12);
				expect(&r, 1, i * 333 + j, a * 2.5, 0);
				w += a > 2.5 ? a : 0;
			}
		}
		expect(&r, 2, 0, w, 1e-12);
		expect(&r, 3, 0, reference_sum(in, 0, 50 * 333, 1) / (50 * 333) + 2.5, 1e-12);
	}
}

/* More arguments than a launch takes by value. */
static void test_many(unsigned seed)
{
	static char name[650][16];
	static gx_array in[650];
	struct buf text = {0};
	struct result r;

	buf_str(&text, "x = 0");
	for (int i = 0; i < 650; i++) {
		snprintf(name[i], sizeof name[i], "a%d", i);
		in[i] = array_of(name[i], GX_FLOAT32, i % 3, SHAPE(10));
		buf_fmt(&text, " + a%d", i);
	}
	if (run(&r, seed, text.text, in, 650))
		for (size_t k = 0; k < 10; k++) {
			float s = 0;

			for (int i = 0; i < 650; i++)
				s += (float)get(&in[i], k);
			expect(&r, 0, k, s, 0);
		}
	buf_free(&text);
}

/* ---- texts ---- */

/* The text must not know sizes: same text for other extents and strides; and it is generated in linear time. */
static void test_texts(unsigned seed)
{
	gx_array a[1] = {array_of("a", GX_FLOAT32, 0, SHAPE(100, 20))}, b[1] = {array_of("a", GX_FLOAT32, 0, SHAPE(70, 90))};
	const char *program = "x = a[::3] * 2; y = sum(a, axis=1); z = a.T + 1";
	struct front *f, *g;

	if (collecting || seed)
		return;
	f = front_open(program, a, 1);
	g = front_open(program, b, 1);
	for (int k = 0; f && g && k < front_plan(f)->nkernel; k++) {
		struct cuda_text t, u;

		cuda_text_make(front_plan(f), &front_plan(f)->kernel[k], GX_MATH_STRICT, &t);
		cuda_text_make(front_plan(g), &front_plan(g)->kernel[k], GX_MATH_STRICT, &u);
		check(strcmp(t.text.text, u.text.text) == 0, "kernel %d of `%s` depends on the extents", k, program);
		cuda_text_free(&t);
		cuda_text_free(&u);
	}
	front_free(f);
	front_free(g);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_long(unsigned seed)
{
	struct step *step = calloc(20000, sizeof *step);
	struct port port[2] = {{.buf = 0, .access = {.stride = {1}}}, {.buf = 1, .access = {.stride = {1}}}};
	struct kbuf buf[2] = {{BUF_INPUT, 0, GX_FLOAT32, 0}, {BUF_OUTPUT, 0, GX_FLOAT32, 1}};
	struct kernel k = {.rank = 1, .nkept = 1, .extent = {10}, .nmap = 10, .nreduce = 1, .body = {step, 20000}, .port = port, .nport = 2,
		.buf = buf, .nbuf = 2, .title = "*/ \"evil\" \\ title /*"};
	struct plan p = {.kernel = &k, .nkernel = 1};
	struct cuda_text t;
	double start = seconds();

	step[0] = (struct step){.kind = STEP_LOAD, .type = GX_FLOAT32};
	for (unsigned i = 1; i < 19999; i++)
		step[i] = (struct step){.kind = STEP_OP, .type = GX_FLOAT32, .op = OP_ADD, .nargs = 2, .arg = {i - 1, 0}};
	step[19999] = (struct step){.kind = STEP_STORE, .type = GX_FLOAT32, .nargs = 1, .arg = {19998}, .port = 1};
	if (!collecting && !seed) {
		check(cuda_text_make(&p, &k, GX_MATH_STRICT, &t) == 0, "20,000 steps");
		check(t.text.len < 2000000 && seconds() - start < 2, "20,000 steps in linear time");
		check(strstr(t.text.text, "*/") == t.text.text + strcspn(t.text.text, "\n") - 2, "the title stays inside its comment");
		cuda_text_free(&t);
		check(cuda_text_limit(&k) == NULL, "20,000 steps are allowed");
		k.body.n++;
		check(cuda_text_limit(&k) != NULL, "20,001 steps are not");
	}
	free(step);
}

static void (*const test[])(unsigned) = {
	test_elementwise, test_types, test_mixed, test_views, test_shapes, test_gather, test_sum, test_rows, test_columns, test_axes,
	test_argmax, test_moments, test_kinds, test_empty, test_chain, test_many, test_texts, test_long,
};

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
	int n = sizeof test / sizeof *test, only = argc > 1 ? atoi(argv[1]) : -1;

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
