/* embed.c -- a program's own arrays in ordinary memory, one call; then the same formula compiled once and run many times.
 *
 *	cc embed.c $(pkg-config --cflags --libs gpuexpr) -o embed && ./embed */
#include <gpuexpr.h>
#include <stdio.h>

#define N 1000

static int fail(const gx_error *err)
{
	fprintf(stderr, "%s\n", err->text);
	return 1;
}

int main(void)
{
	static float a[N], b[N], c[N];
	const char formula[] = "c = a*b + sin(a)";
	int64_t shape[] = {N};
	gx_array in[2], out;
	gx_context *ctx;
	gx_formula *f;
	gx_program *p;
	gx_error err;
	int i;

	for (i = 0; i < N; i++) {
		a[i] = (float)i / N;
		b[i] = 2;
	}
	in[0] = gx_host("a", GX_FLOAT32, 1, shape, a);
	in[1] = gx_host("b", GX_FLOAT32, 1, shape, b);
	out = gx_host("c", GX_FLOAT32, 1, shape, c);

	if (gx_open(NULL, &ctx, &err))
		return fail(&err);
	printf("%s\n", gx_context_note(ctx));
	if (gx_eval(ctx, formula, in, 2, &out, 1, &err))
		return fail(&err);
	printf("c[1] = %g, c[%d] = %g\n", (double)c[1], N - 1, (double)c[N - 1]);

	if (gx_parse(formula, sizeof formula - 1, NULL, &f, &err) || gx_compile(ctx, f, in, 2, &p, &err))
		return fail(&err);
	gx_formula_free(f);
	for (i = 0; i < 100; i++) {
		b[1] = (float)i;
		if (gx_run(ctx, p, in, 2, &out, 1, NULL, &err))
			return fail(&err);
	}
	printf("c[1] = %g after 100 runs with other values\n", (double)c[1]);
	gx_program_free(p);
	gx_close(ctx);
	return 0;
}
