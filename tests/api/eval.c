/* eval.c -- gx_eval: one call, results in memory that is given or allocated, weak scalars, several results,
 * and what is remembered. */
#include "tests/api/api.h"

static void test_given(gx_context *ctx)
{
	float a[6] = {1, 2, 3, 4, 5, 6}, c[6] = {0};
	int64_t n = 0;
	gx_array in[] = {gx_host("a", GX_FLOAT32, SHAPE(2, 3), a), gx_integer("k", 10), gx_real("r", 0.5)};
	gx_array out[] = {gx_host("n", GX_INT64, 0, NULL, &n), gx_host("c", GX_FLOAT32, SHAPE(2, 3), c)};
	gx_error err;

	check(gx_eval(ctx, "c = a * k + r; n = count(a > 2)", in, 3, out, 2, &err) == GX_OK,
		"results in any order: %s", err.text);
	check(c[0] == 10.5f && c[5] == 60.5f && n == 4, "values: %g %g %lld", (double)c[0], (double)c[5],
		(long long)n);
	in[1] = gx_integer("k", 20);
	check(gx_eval(ctx, "c = a * k + r; n = count(a > 2)", in, 3, out, 2, &err) == GX_OK && c[0] == 20.5f,
		"another scalar: %g", (double)c[0]);
	check(gx_eval(ctx, "c = a * k + r; n = count(a > 2)", in, 3, out, 2, NULL) == GX_OK, "err may be NULL");
}

static void test_allocated(gx_context *ctx)
{
	double a[4] = {1, 2, 3, 4};
	gx_array in = gx_host("a", GX_FLOAT64, SHAPE(2, 2), a), out[2];
	gx_error err;

	memset(out, 0, sizeof out);
	out[1].name = "s";
	check(gx_eval(ctx, "a.T * 2; s = sum(a)", &in, 1, out, 2, &err) == GX_OK, "allocated results: %s",
		err.text);
	check(out[0].data && out[0].dtype == GX_FLOAT64 && out[0].rank == 2 && out[0].shape[1] == 2 &&
			out[0].stride[0] == 2 && out[0].stride[1] == 1,
		"dtype, shape and strides are filled in");
	check(out[0].data && ((double *)out[0].data)[1] == 6 && out[1].rank == 0 && *(double *)out[1].data == 10,
		"values");
	check((uintptr_t)out[0].data % 256 == 0, "aligned to 256 bytes");
	gx_free(ctx, GX_PLACE_HOST, out[0].data);
	gx_free(ctx, GX_PLACE_HOST, out[1].data);
	gx_free(ctx, GX_PLACE_HOST, NULL);
}

/* The same text with other types, shapes and strides is another program. */
static void test_remembered(gx_context *ctx)
{
	float f[3] = {1.5f, 2.5f, 3.5f}, fy[3];
	int32_t i[3] = {1, 2, 3}, iy[3];
	gx_array in = gx_host("x", GX_FLOAT32, SHAPE(3), f), out = gx_host("y", GX_FLOAT32, SHAPE(3), fy);
	gx_error err;

	for (int round = 0; round < 200; round++) {
		in = gx_host("x", GX_FLOAT32, SHAPE(3), f);
		out = gx_host("y", GX_FLOAT32, SHAPE(3), fy);
		if (gx_eval(ctx, "y = x + x", &in, 1, &out, 1, &err) || fy[2] != 7)
			break;
		in = gx_host("x", GX_INT32, SHAPE(3), i);
		out = gx_host("y", GX_INT32, SHAPE(3), iy);
		if (gx_eval(ctx, "y = x + x", &in, 1, &out, 1, &err) || iy[2] != 6)
			break;
		in.data = i + 2;
		in.stride[0] = -1;
		if (!check(!gx_eval(ctx, "y = x + x", &in, 1, &out, 1, &err) && iy[2] == 2 && iy[0] == 6, "round %d",
				round))
			return;
	}
}

/* More programs than a context keeps. */
static void test_many(gx_context *ctx)
{
	char text[40];
	double x = 1, y = 0;
	gx_array in = gx_host("x", GX_FLOAT64, 0, NULL, &x), out = gx_host("y", GX_FLOAT64, 0, NULL, &y);
	int good = 1;

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "y = x + %d", i % 700);
		good &= gx_eval(ctx, text, &in, 1, &out, 1, NULL) == GX_OK && y == 1 + i % 700;
	}
	check(good, "700 programs, some twice");
}

int main(void)
{
	gx_context *ctx = cpu_context(0);

	test_given(ctx);
	test_allocated(ctx);
	test_remembered(ctx);
	test_many(ctx);
	gx_close(ctx);
	gx_close(NULL);
	return finish();
}
