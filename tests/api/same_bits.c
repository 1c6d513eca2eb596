/* same_bits.c -- the same program and data give the same bits whatever the number of threads, and each time
 * again. */
#include <math.h>

#include "tests/api/api.h"

enum { ROWS = 301, COLUMNS = 4001 };

static const char program[] =
	"s = sum(x); m = mean(x, axis=0); v = var(x, axis=1); w = std(x); p = prod(1 + x / 1e6); l = "
	"logsumexp(x); "
	"e = exp(x) / sum(exp(x), axis=1, keepdims=true); n = norm(x, axis=0); a = argmax(x, axis=1); "
	"c = cumsum(f64(x)); d = cumsum(f64(x), axis=0); f = cumprod(1 + x / 1e6, axis=1); g = cumsum(f64(x[:, :7]), axis=0); "
	"h = cummax(x); k = cumsum(f64(reshape(x, 7, -1)), axis=1); q = cumprod(1 + f64(reshape(x, -1, 7)) / 1e6, axis=0)";
enum { RESULTS = 16, RUNS = 5 };

static gx_array results[RUNS][RESULTS];

static void evaluate(gx_context *ctx, float *x, gx_array *out)
{
	static const char *const names[RESULTS] = {"s", "m", "v", "w", "p", "l", "e", "n", "a", "c", "d", "f", "g", "h", "k", "q"};
	gx_array in = gx_host("x", GX_FLOAT32, SHAPE(ROWS, COLUMNS), x);
	gx_error err;

	memset(out, 0, sizeof *out * RESULTS);
	for (int i = 0; i < RESULTS; i++)
		out[i].name = names[i];
	check(gx_eval(ctx, program, &in, 1, out, RESULTS, &err) == GX_OK, "%s", err.text);
}

static size_t bytes_of(const gx_array *a)
{
	size_t n = gx_dtype_size(a->dtype);

	for (int k = 0; k < a->rank; k++)
		n *= (size_t)a->shape[k];
	return n;
}

int main(void)
{
	static const int threads[RUNS] = {1, 2, 4, 4, 16};
	gx_context *ctx[RUNS];
	float *x = malloc(sizeof *x * ROWS * COLUMNS);

	for (int i = 0; i < ROWS * COLUMNS; i++)
		x[i] = (float)sin(i * 0.37) * (float)(1 + i % 17) + (i % 1000 == 0 ? 40.0f : 0.0f);
	for (int r = 0; r < RUNS; r++) {
		ctx[r] = cpu_context(threads[r]);
		evaluate(ctx[r], x, results[r]);
	}
	for (int r = 1; r < RUNS; r++)
		for (int i = 0; i < RESULTS; i++)
			check(results[r][i].data && results[0][i].data &&
					!memcmp(results[r][i].data, results[0][i].data, bytes_of(&results[0][i])),
				"`%s` has other bits with %d threads (run %d)", results[0][i].name, threads[r], r);
	for (int r = 0; r < RUNS; r++) {
		for (int i = 0; i < RESULTS; i++)
			gx_free(ctx[r], GX_PLACE_HOST, results[r][i].data);
		gx_close(ctx[r]);
	}
	free(x);
	return finish();
}
