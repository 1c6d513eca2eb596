/* bench.c -- the workloads of the performance goals on one GPU: time, bytes and share of the device-to-device copy speed of the same run,
 * beside the best rival's share where one is known (rivals.def: figures of another day on the same kind of machine).
 * usage: bench [--csv] [--log2 N] [substring]. Arrays live on the device; a sample is enough calls for 2 ms of work, enqueued together and
 * waited for once; the figure is the median of 15 samples. Bytes are the fewest that the work must move (gx_program_cost). */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/gpuexpr.h"

enum { MAX_IN = 6, MAX_OUT = 4, SAMPLES = 15 };

struct workload {
	const char *name, *text;
	double best;              /* best rival's share of copy, 0 = not measured */
	const char *rival;
	struct { const char *name; gx_dtype type; int rank; int64_t shape[3]; } in[MAX_IN];
};

#define A1(t, n) {"a", t, 1, {n}}
#define B1(t, n) {"b", t, 1, {n}}
#define A2(t, n, m) {"a", t, 2, {n, m}}
#define N28 (1LL << 28)
#define N27 (1LL << 27)
#define K16 16384

static const struct workload list[] = {
	{"copy by kernel, f32", "c = a", 0, "", {A1(GX_FLOAT32, N28)}},
	{"a*b + sin(a), f32", "c = a*b + sin(a)", 1.00, "torch.compile", {A1(GX_FLOAT32, N28), B1(GX_FLOAT32, N28)}},
	{"2*a + b, f32", "c = 2*a + b", 1.01, "torch.compile", {A1(GX_FLOAT32, N28), B1(GX_FLOAT32, N28)}},
	{"polynomial of degree 15, f32", "c = a*(a*(a*(a*(a*(a*(a*(a*(a*(a*(a*(a*(a*(a*(a*0.1+0.2)+0.3)+0.4)+0.5)+0.6)+0.7)+0.8)+0.9)+1.0)+1.1)+1.2)+1.3)+1.4)+1.5)+1.6",
		0.98, "torch.compile", {A1(GX_FLOAT32, N28)}},
	{"Black-Scholes, f32", "def cdf(x) = 0.5 * erfc(x * -0.7071067811865476)\n"
		"_d1 = (log(s/k) + (0.02 + 0.5*0.3*0.3)*t) / (0.3*sqrt(t)); _d2 = _d1 - 0.3*sqrt(t)\n"
		"c = s*cdf(_d1) - k*exp(-0.02*t)*cdf(_d2); p = k*exp(-0.02*t)*cdf(-_d2) - s*cdf(-_d1)", 0.63, "torch.compile",
		{{"s", GX_FLOAT32, 1, {N28}}, {"k", GX_FLOAT32, 1, {N28}}, {"t", GX_FLOAT32, 1, {N28}}}},
	{"a*b + sin(a), f64", "c = a*b + sin(a)", 0.91, "CuPy", {A1(GX_FLOAT64, N27), B1(GX_FLOAT64, N27)}},
	{"a*b + sin(a), f16", "c = a*b + sin(a)", 1.01, "torch.compile", {A1(GX_FLOAT16, N28), B1(GX_FLOAT16, N28)}},
	{"a + b, int8", "c = a + b", 1.01, "torch", {A1(GX_INT8, N28), B1(GX_INT8, N28)}},
	{"sum(a), f32", "c = sum(a)", 1.07, "CuPy", {A1(GX_FLOAT32, N28)}},
	{"sum(a), f64", "c = sum(a)", 1.06, "CuPy", {A1(GX_FLOAT64, N27)}},
	{"sum(a*b), f32", "c = sum(a*b)", 1.04, "torch.compile", {A1(GX_FLOAT32, N28), B1(GX_FLOAT32, N28)}},
	{"min, max, mean, std of one array", "c = min(a); d = max(a); e = mean(a); f = std(a)", 0.66, "torch.compile", {A1(GX_FLOAT32, N28)}},
	{"argmax(a), f32", "c = argmax(a)", 1.00, "CuPy", {A1(GX_FLOAT32, N28)}},
	{"sum of rows, 16k x 16k", "c = sum(a, axis=1)", 1.05, "torch.compile", {A2(GX_FLOAT32, K16, K16)}},
	{"sum of columns, 16k x 16k", "c = sum(a, axis=0)", 1.01, "torch.compile", {A2(GX_FLOAT32, K16, K16)}},
	{"sum of rows, 4M x 64", "c = sum(a, axis=1)", 0.97, "torch.compile", {A2(GX_FLOAT32, 1 << 22, 64)}},
	{"sum of columns, 4M x 64", "c = sum(a, axis=0)", 1.00, "torch.compile", {A2(GX_FLOAT32, 1 << 22, 64)}},
	{"sum of rows, 64 x 4M", "c = sum(a, axis=1)", 1.04, "torch.compile", {A2(GX_FLOAT32, 64, 1 << 22)}},
	{"sum of the middle, 256 x 1k x 1k", "c = sum(a, axis=1)", 1.03, "torch", {{"a", GX_FLOAT32, 3, {256, 1024, 1024}}}},
	{"var of rows, 16k x 16k", "c = var(a, axis=1)", 1.05, "torch.compile", {A2(GX_FLOAT32, K16, K16)}},
	{"softmax of rows, 16k x 16k", "y = exp(a - max(a, axis=1, keepdims=true)); y = y / sum(y, axis=1, keepdims=true)", 0.84, "torch.compile",
		{A2(GX_FLOAT32, K16, K16)}},
	{"softmax of rows, 256k x 1k", "y = exp(a - max(a, axis=1, keepdims=true)); y = y / sum(y, axis=1, keepdims=true)", 0.96, "torch.compile",
		{A2(GX_FLOAT32, 1 << 18, 1024)}},
	{"layernorm of rows, 256k x 1k", "y = (a - mean(a, axis=1, keepdims=true)) / sqrt(var(a, axis=1, keepdims=true) + 1e-5)", 0.98, "torch.compile",
		{A2(GX_FLOAT32, 1 << 18, 1024)}},
	{"a / sum(a, axis=1), 256k x 1k", "c = a / sum(a, axis=1, keepdims=true)", 0.98, "torch.compile", {A2(GX_FLOAT32, 1 << 18, 1024)}},
	{"softmax of rows, 4M x 64", "y = exp(a - max(a, axis=1, keepdims=true)); y = y / sum(y, axis=1, keepdims=true)", 0, "",
		{A2(GX_FLOAT32, 1 << 22, 64)}},
	{"softmax of columns, 16k x 16k", "y = exp(a - max(a, axis=0, keepdims=true)); y = y / sum(y, axis=0, keepdims=true)", 0, "",
		{A2(GX_FLOAT32, K16, K16)}},
	{"cumsum, f32", "c = cumsum(a)", 0.59, "torch", {A1(GX_FLOAT32, N28)}},
	{"cumsum, int32 to int64", "c = cumsum(a)", 0, "", {A1(GX_INT32, N28)}},
	{"cummax, f32", "c = cummax(a)", 0, "", {A1(GX_FLOAT32, N28)}},
	{"cumsum of rows, 16k x 16k", "c = cumsum(a, axis=1)", 0, "", {A2(GX_FLOAT32, K16, K16)}},
	{"cumsum of rows, 256k x 1k", "c = cumsum(a, axis=1)", 0, "", {A2(GX_FLOAT32, 1 << 18, 1024)}},
	{"cumsum of columns, 16k x 16k", "c = cumsum(a, axis=0)", 0, "", {A2(GX_FLOAT32, K16, K16)}},
	{"a + b.T, 16k x 16k", "c = a + b.T", 0.86, "torch.compile", {A2(GX_FLOAT32, K16, K16), {"b", GX_FLOAT32, 2, {K16, K16}}}},
	{"r*c + a, outer broadcast", "d = r*c + a", 0.87, "torch.compile",
		{A2(GX_FLOAT32, K16, K16), {"r", GX_FLOAT32, 1, {K16}}, {"c", GX_FLOAT32, 2, {K16, 1}}}},
	{"5-point stencil by slices", "c = a[1:-1, 1:-1] * 4 - a[:-2, 1:-1] - a[2:, 1:-1] - a[1:-1, :-2] - a[1:-1, 2:]", 0.72, "torch.compile",
		{A2(GX_FLOAT32, K16, K16)}},
	{"5-point stencil by shift", "c = a * 4 - shift(a, 1) - shift(a, -1) - shift(a, 1, axis=1) - shift(a, -1, axis=1)", 0, "", {A2(GX_FLOAT32, K16, K16)}},
};
enum { NLIST = sizeof list / sizeof *list };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void die(const char *what, const gx_error *err)
{
	fprintf(stderr, "bench: %s: %s\n", what, err->text);
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ---- the ceiling: the driver's own copy ---- */

typedef int copy_fn(uint64_t dst, uint64_t src, size_t n, void *stream);
static copy_fn *copy;
static int (*make_current)(void *);
static void *primary;

static void open_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	int (*retain)(void **, int), (*init)(unsigned);

	if (!lib) {
		puts("bench: no GPU driver here; nothing was measured");
		exit(0);
	}
	*(void **)&copy = dlsym(lib, "cuMemcpyDtoDAsync_v2");
	*(void **)&make_current = dlsym(lib, "cuCtxSetCurrent");
	*(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&init = dlsym(lib, "cuInit");
	if (!copy || !make_current || !retain || !init || init(0) || retain(&primary, 0)) {
		puts("bench: the driver has no usable GPU; nothing was measured");
		exit(0);
	}
}

struct job {
	gx_context *ctx;
	gx_program *p;
	gx_array in[MAX_IN], out[MAX_OUT];
	int nin, nout;
	uint64_t dst, src;
	size_t bytes;             /* of a copy; 0: run the program */
};

static void once(struct job *j)
{
	gx_error err;

	if (j->bytes)
		copy(j->dst, j->src, j->bytes, NULL);
	else if (gx_run(j->ctx, j->p, j->in, j->nin, j->out, j->nout, NULL, &err))
		die("run", &err);
}

static void wait(struct job *j)
{
	gx_error err;

	if (gx_sync(j->ctx, NULL, &err))
		die("sync", &err);
}

static double measure(struct job *j)
{
	double sample[SAMPLES], t0, one;
	int calls;

	for (int i = 0; i < 3; i++)
		once(j);
	wait(j);
	t0 = now();
	once(j);
	wait(j);
	one = now() - t0;
	calls = one > 2 ? 1 : one > 0.002 ? (int)(2 / one) : 1000;
	for (int s = 0; s < SAMPLES; s++) {
		t0 = now();
		for (int i = 0; i < calls; i++)
			once(j);
		wait(j);
		sample[s] = (now() - t0) / calls;
	}
	qsort(sample, SAMPLES, sizeof *sample, by_value);
	return sample[SAMPLES / 2];
}

static double copy_speed(gx_context *ctx)   /* bytes per ms, read and written counted */
{
	struct job j = {.ctx = ctx, .bytes = (size_t)N28 * 4};
	void *a, *b;
	gx_error err;
	double ms;

	if (gx_alloc(ctx, j.bytes, &a, &err) || gx_alloc(ctx, j.bytes, &b, &err))
		die("alloc", &err);
	j.src = (uint64_t)(uintptr_t)a;
	j.dst = (uint64_t)(uintptr_t)b;
	make_current(primary);
	ms = measure(&j);
	gx_free(ctx, GX_PLACE_DEVICE, a);
	gx_free(ctx, GX_PLACE_DEVICE, b);
	return 2.0 * (double)j.bytes / ms;
}

/* Values between -0.5 and 1.5, as the rivals' program has them; all types from one formula. */
static void fill(struct job *j, int i, int positive)
{
	char text[200];
	gx_array *a = &j->in[i], flat = *a;
	int64_t n = 1;
	gx_error err;

	for (int k = 0; k < a->rank; k++)
		n *= a->shape[k];
	flat = gx_device("x", a->dtype, 1, &n, a->data);
	snprintf(text, sizeof text, "x = %s(%s(fmod(arange(%lld) * 0.61803398875, 2) %s))", gx_dtype_name(a->dtype), "f64", (long long)n,
		positive ? "+ 0.5" : "- 0.5");
	if (gx_eval(j->ctx, text, NULL, 0, &flat, 1, &err))
		die("fill", &err);
}

static void run(gx_context *ctx, const struct workload *w, double speed, int csv)
{
	struct job j = {.ctx = ctx};
	gx_formula *f;
	gx_error err;
	gx_cost cost;
	double ms, bytes, share;

	if (gx_parse(w->text, strlen(w->text), w->name, &f, &err))
		die(w->name, &err);
	for (; j.nin < MAX_IN && w->in[j.nin].name; j.nin++) {
		gx_array *a = &j.in[j.nin];
		size_t n = gx_dtype_size(w->in[j.nin].type);

		*a = gx_device(w->in[j.nin].name, w->in[j.nin].type, w->in[j.nin].rank, w->in[j.nin].shape, NULL);
		for (int k = 0; k < a->rank; k++)
			n *= (size_t)a->shape[k];
		if (gx_alloc(ctx, n, &a->data, &err))
			die("alloc", &err);
		fill(&j, j.nin, strstr(w->name, "Scholes") != NULL);
	}
	if (gx_compile(ctx, f, j.in, j.nin, &j.p, &err))
		die(w->name, &err);
	for (; gx_program_output(j.p, j.nout, &j.out[j.nout]) == 0; j.nout++) {
		gx_array *o = &j.out[j.nout];
		size_t n = gx_dtype_size(o->dtype);

		for (int k = 0; k < o->rank; k++)
			n *= (size_t)o->shape[k];
		o->place = GX_PLACE_DEVICE;
		if (gx_alloc(ctx, n, &o->data, &err))
			die("alloc", &err);
	}
	gx_program_cost(j.p, &cost);
	bytes = (double)cost.bytes_read + (double)cost.bytes_written;
	ms = measure(&j);
	share = bytes / ms / speed;
	if (csv)
		printf("%s,%d,%.5f,%.1f,%.3f,%.2f,%s\n", w->name, cost.kernels, ms, bytes / ms * 1e-9, share, w->best, w->rival);
	else if (w->best > 0)
		printf("| %-34s | %d | %9.4f | %5.2f | %5.3f | %4.2f %s | %5.2f |\n", w->name, cost.kernels, ms, bytes / ms * 1e-9, share, w->best, w->rival,
			share / w->best);
	else
		printf("| %-34s | %d | %9.4f | %5.2f | %5.3f | | |\n", w->name, cost.kernels, ms, bytes / ms * 1e-9, share);
	fflush(stdout);
	for (int i = 0; i < j.nin; i++)
		gx_free(ctx, GX_PLACE_DEVICE, j.in[i].data);
	for (int i = 0; i < j.nout; i++)
		gx_free(ctx, GX_PLACE_DEVICE, j.out[i].data);
	gx_program_free(j.p);
	gx_formula_free(f);
}

int main(int argc, char **argv)
{
	gx_options opt = {.size = sizeof opt, .device = 0};
	gx_context *ctx;
	gx_error err;
	const char *only = "";
	double speed;
	int csv = 0;

	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--csv"))
			csv = 1;
		else
			only = argv[i];
	open_driver();
	if (gx_open(&opt, &ctx, &err))
		die("open", &err);
	speed = copy_speed(ctx);
	if (!csv) {
		printf("%s\ndevice-to-device copy of 1 GiB: %.2f TB/s, read and write counted\n\n", gx_context_note(ctx), speed * 1e-9);
		puts("| workload | kernels | ms | TB/s | share of copy | best rival | ours / rival |\n|---|---|---|---|---|---|---|");
	}
	for (int i = 0; i < NLIST; i++)
		if (strstr(list[i].name, only))
			run(ctx, &list[i], speed, csv);
	gx_close(ctx);
	return 0;
}
