/* shapes.c -- rank 0, arrays without elements, and rank 8 through the API. */
#include "tests/api/api.h"

static void test_rank_0(gx_context *ctx)
{
	double x = 2.5, y = 0;
	int64_t shape[1] = {7};
	gx_array in = gx_host("x", GX_FLOAT64, 0, shape, &x), out = gx_host("y", GX_FLOAT64, 0, NULL, &y);
	gx_error err;

	check(in.rank == 0, "a scalar array");
	check(gx_eval(ctx, "y = x * x", &in, 1, &out, 1, &err) == GX_OK && y == 6.25, "x * x: %s", err.text);
	check(gx_eval(ctx, "y = 40 + 2", NULL, 0, &out, 1, &err) == GX_ARG, "an integer is no float64");
	check(gx_eval(ctx, "y = 40 + 2.0", NULL, 0, &out, 1, &err) == GX_OK && y == 42, "no inputs: %s",
		err.text);
}

static void test_empty(gx_context *ctx)
{
	double s = -1;
	gx_array in = gx_host("x", GX_FLOAT64, SHAPE(0, 3), NULL);
	gx_array out[2] = {gx_host("y", GX_FLOAT64, SHAPE(0, 3), NULL), gx_host("s", GX_FLOAT64, 0, NULL, &s)};
	gx_array row = gx_host("s", GX_FLOAT64, SHAPE(3), (double[3]){1, 1, 1});
	gx_error err;

	check(gx_eval(ctx, "y = x + 1; s = sum(x)", &in, 1, out, 2, &err) == GX_OK && s == 0,
		"no elements, no data: %s", err.text);
	check(gx_eval(ctx, "s = sum(x, axis=0)", &in, 1, &row, 1, &err) == GX_OK && ((double *)row.data)[2] == 0,
		"sums of nothing: %s", err.text);
	memset(&out[0], 0, sizeof out[0]);
	out[0].name = "y";
	check(gx_eval(ctx, "y = x", &in, 1, out, 1, &err) == GX_OK && out[0].rank == 2 && out[0].shape[0] == 0,
		"allocated: %s", err.text);
	gx_free(ctx, GX_PLACE_HOST, out[0].data);
}

static void test_rank_8(gx_context *ctx)
{
	int32_t x[256], y[256];
	gx_array in = gx_host("x", GX_INT32, SHAPE(2, 2, 2, 2, 2, 2, 2, 2), x),
			 out = gx_host("y", GX_INT32, SHAPE(2, 2, 2, 2, 2, 2, 2, 2), y);
	gx_error err;
	int good = 1;

	for (int i = 0; i < 256; i++)
		x[i] = i;
	check(gx_eval(ctx, "y = x.T", &in, 1, &out, 1, &err) == GX_OK, "rank 8: %s", err.text);
	for (int i = 0; i < 256; i++) {
		int reversed = 0;

		for (int b = 0; b < 8; b++)
			reversed |= (i >> b & 1) << (7 - b);
		good &= y[i] == reversed;
	}
	check(good, "transposed in all eight axes");
	check(gx_eval(ctx, "y = x[None]", &in, 1, &out, 1, &err) == GX_SHAPE, "rank 9 is refused: %s", err.text);
}

int main(void)
{
	gx_context *ctx = cpu_context(0);

	test_rank_0(ctx);
	test_empty(ctx);
	test_rank_8(ctx);
	gx_close(ctx);
	return finish();
}
