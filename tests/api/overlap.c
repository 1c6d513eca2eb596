/* overlap.c -- results must not lie over inputs or each other: refused before anything is written; neighbours
 * are fine. */
#include "tests/api/api.h"

static void refused(gx_context *ctx, const char *text, const gx_array *in, gx_array *out, int nout,
	const char *part)
{
	gx_error err;

	check(gx_eval(ctx, text, in, 1, out, nout, &err) == GX_ARG && strstr(err.text, part), "[%s]: %s", text,
		err.text);
}

int main(void)
{
	gx_context *ctx = cpu_context(0);
	float m[12];
	gx_array in = gx_host("a", GX_FLOAT32, SHAPE(4), m), out[2];
	gx_error err;

	for (int i = 0; i < 12; i++)
		m[i] = (float)i;
	out[0] = gx_host("y", GX_FLOAT32, SHAPE(4), m);
	out[1] = gx_host("z", GX_FLOAT32, SHAPE(4), m + 8);
	refused(ctx, "y = a + 1", &in, out, 1, "`y` overlaps the input `a`");
	out[0].data = m + 3;
	refused(ctx, "y = a + 1", &in, out, 1, "overlaps the input");
	check(m[3] == 3, "nothing was written");
	out[0].data = m + 4;
	check(gx_eval(ctx, "y = a + 1", &in, 1, out, 1, &err) == GX_OK && m[4] == 1 && m[7] == 4,
		"a neighbour is fine: %s", err.text);
	check(gx_eval(ctx, "y = a + 2; z = a", &in, 1, out, 2, &err) == GX_OK && m[8] == 0 && m[11] == 3,
		"three neighbours: %s", err.text);
	out[1].data = m + 7;
	refused(ctx, "y = a + 1; z = a", &in, out, 2, "overlap");
	in.data = m + 3;
	in.stride[0] = -1;
	out[0].data = m;
	refused(ctx, "y = a + 1", &in, out, 1, "overlaps the input");
	out[0].data = m + 4;
	check(gx_eval(ctx, "y = a + 1", &in, 1, out, 1, &err) == GX_OK && m[4] == 4, "backwards, beside it: %s",
		err.text);
	in = gx_host("a", GX_FLOAT32, SHAPE(0), m);
	out[0] = gx_host("y", GX_FLOAT32, SHAPE(0), m);
	check(gx_eval(ctx, "y = a + 1", &in, 1, out, 1, &err) == GX_OK, "empty arrays overlap nothing: %s",
		err.text);
	gx_close(ctx);
	return finish();
}
