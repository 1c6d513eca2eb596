/* locale.c -- a host program with a decimal comma: numbers in programs and texts are the same, and its locale
 * stays its own. */
#include "tests/api/api.h"

int main(void)
{
	gx_context *ctx;
	double y = 0;
	gx_array in = gx_real("k", 0.25), out = gx_host("y", GX_FLOAT64, 0, NULL, &y);
	gx_formula *f;
	gx_program *p;
	gx_error err;
	char *text = NULL;

	if (german_locale()) {
		printf("skip locale: no German locale here\n");
		skipped++;
		return finish();
	}
	check(!strcmp(localeconv()->decimal_point, ","), "the locale has a decimal comma");
	ctx = cpu_context(0);
	check(gx_eval(ctx, "y = 1.5 + k", &in, 1, &out, 1, &err) == GX_OK && y == 1.75, "1.5 + k: %g %s", y,
		err.text);
	f = formula("y = k * 0.1 + arange(3)[1]");
	check(gx_compile(ctx, f, &in, 1, &p, &err) == GX_OK, "%s", err.text);
	check(gx_program_dump(ctx, p, "ast", &text, &err) == GX_OK && strstr(text, "0.1"), "the tree: %s", text);
	free(text);
	check(gx_program_dump(ctx, p, "plan", &text, &err) == GX_OK && !strstr(text, "0,"), "the plan: %s", text);
	free(text);
	check(!strcmp(localeconv()->decimal_point, ","), "the locale is as it was");
	gx_program_free(p);
	gx_formula_free(f);
	gx_close(ctx);
	return finish();
}
