/* steps.c -- gx_parse, gx_compile, gx_run one by one: names, results, costs, dumps, and objects that outlive
 * what they came from. */
#include "tests/api/api.h"

static void test_formula(void)
{
	gx_formula *f = formula("_t = b + a; y = _t * c; a; y = y + 1");

	check(!strcmp(gx_formula_input(f, 0), "b") && !strcmp(gx_formula_input(f, 1), "a") &&
			!strcmp(gx_formula_input(f, 2), "c"),
		"inputs");
	check(!gx_formula_input(f, 3) && !gx_formula_input(f, -1), "past the inputs");
	check(!strcmp(gx_formula_output(f, 0), "y") && !strcmp(gx_formula_output(f, 1), "") &&
			!gx_formula_output(f, 2),
		"outputs");
	check(!gx_formula_warnings(f), "no warnings");
	gx_formula_free(f);
	gx_formula_free(NULL);
	f = formula("y = a > 5 & b > 5");
	check(gx_formula_warnings(f) && strstr(gx_formula_warnings(f), "warning:"), "a warning");
	gx_formula_free(f);
}

static void test_program(gx_context *ctx)
{
	char *text = strdup("mean_of_x = mean(x, axis=1); y = x * 2");
	gx_formula *f = formula(text);
	int16_t x[6] = {1, 2, 3, 4, 5, 6}, y[6];
	double m[2];
	gx_array in = gx_host("x", GX_INT16, SHAPE(2, 3), NULL), out[3];
	gx_program *p;
	gx_cost cost;
	gx_error err;
	gx_status s = gx_compile(ctx, f, &in, 1, &p, &err);

	memset(text, '?', strlen(text));
	free(text);
	gx_formula_free(f);
	if (!check(s == GX_OK, "compiling needs no data: %s", err.text))
		return;
	check(gx_program_output(p, 0, &out[0]) == 0 && gx_program_output(p, 1, &out[1]) == 0 &&
			gx_program_output(p, 2, &out[2]) == -1 && gx_program_output(p, -1, &out[2]) == -1,
		"two outputs");
	check(!strcmp(out[0].name, "mean_of_x") && out[0].dtype == GX_FLOAT64 && out[0].rank == 1 &&
			out[0].shape[0] == 2 && !out[0].data,
		"a mean");
	check(!strcmp(out[1].name, "y") && out[1].dtype == GX_INT16 && out[1].stride[0] == 3, "an array");
	gx_program_cost(p, &cost);
	check(cost.kernels == 1 && cost.bytes_read == 12 && cost.bytes_written == 28 && cost.operations > 0,
		"costs: %d kernels, %lld, %lld", cost.kernels, (long long)cost.bytes_read,
		(long long)cost.bytes_written);
	in.data = x;
	out[0].data = m;
	out[1].data = y;
	for (int i = 0; i < 3; i++) {
		x[0] = (int16_t)i;
		s = gx_run(ctx, p, &in, 1, out, 2, NULL, &err);
		check(s == GX_OK && m[0] == (5.0 + i) / 3 && m[1] == 5 && y[0] == 2 * i && y[5] == 12, "run %d: %s",
			i, err.text);
	}
	check(gx_last_ms(ctx) >= 0 && gx_sync(ctx, NULL, &err) == GX_OK, "time and sync");
	gx_program_free(p);
	gx_program_free(NULL);
}

static void dump(gx_context *ctx, const gx_program *p, const char *stage, const char *part)
{
	char *text = NULL;
	gx_error err;

	check(gx_program_dump(ctx, p, stage, &text, &err) == GX_OK && text && strstr(text, part),
		"%s: [%s] wanted in\n%s", stage, part, text ? text : err.text);
	free(text);
}

static void test_dumps(gx_context *ctx)
{
	gx_formula *f = formula("y = x + sin(x) * 2; s = sum(y)");
	gx_array in = gx_host("x", GX_FLOAT32, SHAPE(5), NULL);
	gx_program *p;
	char *text;
	gx_error err;

	if (!check(gx_compile(ctx, f, &in, 1, &p, &err) == GX_OK, "%s", err.text))
		return;
	dump(ctx, p, "ast", "y = (x + (sin(x) * 2))");
	dump(ctx, p, "ir", "sin");
	dump(ctx, p, "plan", "sin");
	dump(ctx, p, "cuda", "__global__");
	dump(ctx, p, "explain", "kernel");
	dump(ctx, p, "json", "\"kernels\": 1");
	check(gx_program_dump(ctx, p, "nonsense", &text, &err) == GX_ARG && !text && strstr(err.text, "nonsense"),
		"an unknown stage");
	gx_program_free(p);
	gx_formula_free(f);
}

static void test_tables(void)
{
	gx_dtype t = GX_BOOL;
	char *text;

	check(gx_ops_table(&text, NULL) == GX_OK && strstr(text, "| `sin(x)` |"), "the table of operations");
	free(text);
	check(!strcmp(gx_dtype_name(GX_BFLOAT16), "bfloat16") && !strcmp(gx_dtype_name((gx_dtype)99), "?"),
		"names of types");
	check(gx_dtype_size(GX_FLOAT16) == 2 && gx_dtype_size(GX_COMPLEX128) == 16 &&
			gx_dtype_size((gx_dtype)-1) == 0,
		"sizes of types");
	check(gx_dtype_find("f32", &t) == 0 && t == GX_FLOAT32 && gx_dtype_find("uint8", &t) == 0 &&
			t == GX_UINT8,
		"types by name");
	check(gx_dtype_find("float", &t) == -1 && t == GX_UINT8, "an unknown type leaves t alone");
	for (int i = -1; i < 80; i++)
		if (!gx_status_text((gx_status)i))
			check(0, "status %d has no text", i);
	check(!strcmp(gx_status_text(GX_OK), "ok"), "texts of statuses");
}

int main(void)
{
	gx_context *ctx = cpu_context(2);

	check(gx_context_device(ctx) == GX_DEVICE_CPU && strstr(gx_context_note(ctx), "CPU"), "the note: %s",
		gx_context_note(ctx));
	test_formula();
	test_program(ctx);
	test_dumps(ctx);
	test_tables();
	gx_close(ctx);
	return finish();
}
