/* errors.c -- each status can be reached, says what is wrong, leaves pointers NULL, and the next call works
 * as if nothing had been. */
#include "tests/api/api.h"

static gx_context *ctx;

static void evaluated(gx_status want, const char *text, const gx_array *in, int nin, gx_array *out, int nout,
	const char *part)
{
	gx_error err;
	gx_status s;

	memset(&err, 0x55, sizeof err);
	s = gx_eval(ctx, text, in, nin, out, nout, &err);
	check(s == want && err.status == want && strstr(err.text, part) && strlen(err.message) > 5,
		"[%s]: status %d, text: %.300s", text, (int)s, err.text);
	check(gx_eval(ctx, text, in, nin, out, nout, NULL) == want, "[%s] without an error object", text);
}

static void test_language(void)
{
	float a[3] = {1, 2, 3}, y[3];
	int32_t i[2] = {0, 7};
	gx_array in[] = {gx_host("a", GX_FLOAT32, SHAPE(3), a), gx_host("i", GX_INT32, SHAPE(2), i)};
	gx_array out = gx_host("y", GX_FLOAT32, SHAPE(3), y), two = gx_host("y", GX_FLOAT32, SHAPE(2), y);

	evaluated(GX_SYNTAX, "y = a +", in, 1, &out, 1, "unexpected end");
	evaluated(GX_NAME, "y = sine(a)", in, 1, &out, 1, "did you mean");
	evaluated(GX_TYPE, "y = a ^ a", in, 1, &out, 1, "needs integers");
	evaluated(GX_SHAPE, "y = a + i", in, 2, &out, 1, "do not broadcast");
	evaluated(GX_LIMIT, "y = a + zeros(3000000000, 3000000000, 3000000000)", in, 1, &out, 1, "2**63");
	evaluated(GX_UNSUPPORTED, "y = a @ a", in, 1, &out, 1, "not supported");
	evaluated(GX_INDEX, "y = a[i]", in, 2, &two, 1, "index 7 at element 1 of `i`");
	evaluated(GX_ARG, "y = a * 2", in, 1, &two, 1, "(3,)");
}

static void test_inputs(void)
{
	float a[4] = {1, 2, 3, 4}, y[3];
	gx_array in[2], out = gx_host("y", GX_FLOAT32, SHAPE(3), y);

	in[0] = in[1] = gx_host("a", GX_FLOAT32, SHAPE(3), a);
	evaluated(GX_NAME, "y = a + b", in, 1, &out, 1, "`b`");
	evaluated(GX_ARG, "y = a + a", in, 2, &out, 1, "twice");
	in[1].name = "aa";
	evaluated(GX_NAME, "y = a + a", in, 2, &out, 1, "`aa`");
	in[0].data = NULL;
	evaluated(GX_ARG, "y = a + a", in, 1, &out, 1, "no data");
	in[0].data = (char *)a + 1;
	evaluated(GX_ARG, "y = a + a", in, 1, &out, 1, "not aligned");
	in[0].data = a;
	in[0].rank = 9;
	evaluated(GX_ARG, "y = a + a", in, 1, &out, 1, "rank");
	in[0].rank = 1;
	in[0].shape[0] = -3;
	evaluated(GX_SHAPE, "y = a + a", in, 1, &out, 1, "negative");
	in[0].shape[0] = 3;
	in[0].dtype = (gx_dtype)77;
	evaluated(GX_ARG, "y = a + a", in, 1, &out, 1, "dtype");
	in[0].dtype = GX_COMPLEX64;
	evaluated(GX_UNSUPPORTED, "y = a + a", in, 1, &out, 1, "complex");
	in[0].dtype = GX_FLOAT32;
	in[0].name = NULL;
	evaluated(GX_ARG, "y = a + a", in, 1, &out, 1, "no name");
	in[0].name = "a";
	in[0].place = GX_PLACE_DEVICE;
	evaluated(GX_ARG, "y = a + a", in, 1, &out, 1, "GPU");
	in[0].place = GX_PLACE_HOST;
	check(gx_eval(ctx, "y = a + a", in, 1, &out, 1, NULL) == GX_OK && y[2] == 6, "and all is well again");
}

static void test_outputs(void)
{
	float a[3] = {1, 2, 3}, y[8];
	gx_array in = gx_host("a", GX_FLOAT32, SHAPE(3), a), out[2], bad;

	out[0] = out[1] = gx_host("y", GX_FLOAT32, SHAPE(3), y);
	out[1].name = "z";
	evaluated(GX_ARG, "y = a", &in, 1, out, 0, "missing");
	evaluated(GX_ARG, "y = a", &in, 1, out, 2, "`z`");
	evaluated(GX_ARG, "a", &in, 1, out, 1, "missing");
	bad = out[0];
	bad.dtype = GX_FLOAT64;
	evaluated(GX_ARG, "y = a", &in, 1, &bad, 1, "float32");
	bad = out[0];
	bad.stride[0] = 2;
	evaluated(GX_ARG, "y = a", &in, 1, &bad, 1, "C-contiguous");
	bad = out[0];
	bad.data = (char *)y + 2;
	evaluated(GX_ARG, "y = a", &in, 1, &bad, 1, "not aligned");
	bad = out[0];
	bad.place = GX_PLACE_DEVICE;
	evaluated(GX_ARG, "y = a", &in, 1, &bad, 1, "no GPU");
}

/* What gx_run is given must be what gx_compile was told. */
static void test_run(void)
{
	gx_formula *f = formula("y = a * k");
	float a[4] = {1, 2, 3, 4}, y[4];
	gx_array in[] = {gx_host("a", GX_FLOAT32, SHAPE(2), a), gx_integer("k", 3)},
			 out = gx_host("y", GX_FLOAT32, SHAPE(2), y);
	gx_program *p;
	gx_error err;

	check(gx_compile(ctx, f, in, 1, &p, &err) == GX_NAME && !p, "a missing input: %s", err.text);
	if (!check(gx_compile(ctx, f, in, 2, &p, &err) == GX_OK, "%s", err.text))
		return;
	check(gx_run(ctx, p, in, 1, &out, 1, NULL, &err) == GX_ARG && strstr(err.text, "`k` is missing"),
		"missing: %s", err.text);
	in[1].integer = 4;
	check(gx_run(ctx, p, in, 2, &out, 1, NULL, &err) == GX_ARG && strstr(err.text, "another value"),
		"scalar: %s", err.text);
	in[1].integer = 3;
	in[0].stride[0] = 2;
	check(gx_run(ctx, p, in, 2, &out, 1, NULL, &err) == GX_ARG && strstr(err.text, "stride 1 on axis 0"),
		"stride: %s", err.text);
	in[0] = gx_host("a", GX_FLOAT32, SHAPE(4), a);
	check(gx_run(ctx, p, in, 2, &out, 1, NULL, &err) == GX_ARG && strstr(err.text, "(4,)"), "shape: %s",
		err.text);
	in[0] = gx_host("a", GX_FLOAT32, SHAPE(2), a);
	check(gx_run(ctx, p, in, 2, &out, 1, NULL, &err) == GX_OK && y[1] == 6, "and then it runs: %s", err.text);
	gx_program_free(p);
	gx_formula_free(f);
}

static void test_contexts(void)
{
	gx_options opt = {.size = 0};
	gx_context *other = ctx;
	gx_error err;
	void *data = ctx;

	check(gx_open(&opt, &other, &err) == GX_ARG && !other, "options without a size: %s", err.text);
	opt.size = sizeof opt;
	opt.arch = "sm_1x";
	check(gx_open(&opt, &other, &err) == GX_ARG && !other && strstr(err.text, "no GPU target"), "no such target: %s", err.text);
	opt.arch = NULL;
	opt.device = 4000;
	check(gx_open(&opt, &other, &err) == GX_DEVICE && !other && strlen(err.text) > 10, "no such GPU: %s",
		err.text);
	opt.device = GX_DEVICE_AUTO;
	check(gx_open(&opt, &other, &err) == GX_OK && other, "AUTO always works: %s", err.text);
	gx_close(other);
	check(gx_alloc(ctx, (size_t)1 << 62, &data, &err) == GX_NOMEM && !data, "more memory than there is: %s",
		err.text);
	check(gx_alloc_host(ctx, (size_t)1 << 62, &data, &err) == GX_NOMEM && !data, "in host memory: %s",
		err.text);
	opt.cache_dir = "/proc/nowhere";
	check(gx_cache(&opt, "nonsense", (char **)&data, &err) == GX_ARG && !data, "an unknown cache command: %s",
		err.text);
}

int main(void)
{
	ctx = cpu_context(0);
	test_language();
	test_inputs();
	test_outputs();
	test_run();
	test_contexts();
	gx_close(ctx);
	return finish();
}
