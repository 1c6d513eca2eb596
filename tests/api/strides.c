/* strides.c -- inputs are read where they are: transposed, backwards, with gaps, broadcast by stride 0, at
 * any offset. */
#include "tests/api/api.h"

static gx_context *ctx;
static double m[24], y[24];

static void gives(const char *what, gx_array in, double (*want)(int, int))
{
	gx_array out = gx_host("y", GX_FLOAT64, SHAPE(in.shape[0], in.shape[1]), y);
	gx_error err;
	int good = 1;

	memset(y, 0, sizeof y);
	if (!check(gx_eval(ctx, "y = a * 2", &in, 1, &out, 1, &err) == GX_OK, "%s: %s", what, err.text))
		return;
	for (int i = 0; i < in.shape[0]; i++)
		for (int j = 0; j < in.shape[1]; j++)
			good &= y[i * in.shape[1] + j] == 2 * want(i, j);
	check(good, "%s", what);
}

static gx_array view(int64_t rows, int64_t columns, int64_t down, int64_t across, double *first)
{
	gx_array a = gx_host("a", GX_FLOAT64, SHAPE(rows, columns), first);

	a.stride[0] = down;
	a.stride[1] = across;
	return a;
}

static double transposed(int i, int j)
{
	return j * 4 + i;
}
static double backwards(int i, int j)
{
	return 23 - (i * 4 + j);
}
static double gaps(int i, int j)
{
	return 12 * i + 3 * j;
}
static double repeated(int i, int j)
{
	return j + 0 * i;
}
static double one(int i, int j)
{
	return 5 + 0 * i * j;
}
static double down(int i, int j)
{
	return 20 - 4 * i + j;
}
static double diagonal(int i, int j)
{
	return i + j;
}

int main(void)
{
	int64_t total = 0;
	double sum;
	gx_array a, out[2];
	gx_error err;

	ctx = cpu_context(0);
	for (int i = 0; i < 24; i++)
		m[i] = i;
	gives("transposed", view(4, 6, 1, 4, m), transposed);
	gives("backwards on both axes", view(6, 4, -4, -1, m + 23), backwards);
	gives("gaps", view(2, 4, 12, 3, m), gaps);
	gives("stride 0", view(3, 4, 0, 1, m), repeated);
	gives("stride 0 on both axes", view(3, 4, 0, 0, m + 5), one);
	gives("rows upwards", view(6, 4, -4, 1, m + 20), down);
	gives("overlapping windows", view(3, 4, 1, 1, m), diagonal);
	a = view(6, 4, -4, -1, m + 23);
	out[0] = gx_host("s", GX_FLOAT64, 0, NULL, &sum);
	out[1] = gx_host("i", GX_INT64, 0, NULL, &total);
	check(gx_eval(ctx, "s = sum(a * a); i = argmax(a)", &a, 1, out, 2, &err) == GX_OK && sum == 4324 &&
			total == 0,
		"reductions backwards: %s", err.text);
	gx_close(ctx);
	return finish();
}
