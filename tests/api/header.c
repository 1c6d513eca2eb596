/* header.c -- the public header is C99, C11 and C++17 without a warning (built once as each), and the library
 * answers. */
#include "include/gpuexpr.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
	gx_error err;
	gx_context *ctx;
	gx_options opt;
	gx_array a, c;
	const int64_t shape[1] = {4};
	float x[4] = {1, 2, 3, 4}, y[4] = {0, 0, 0, 0};
	int good;

	memset(&opt, 0, sizeof opt);
	opt.size = sizeof opt;
	opt.device = GX_DEVICE_CPU;
	a = gx_host("a", GX_FLOAT32, 1, shape, x);
	c = gx_host("c", GX_FLOAT32, 1, shape, y);
	if (gx_open(&opt, &ctx, &err) || gx_eval(ctx, "c = a*a - 1", &a, 1, &c, 1, &err)) {
		printf("FAIL %s\n0 passed, 1 failed, 0 skipped\n", err.text);
		return 1;
	}
	gx_close(ctx);
	good = y[0] == 0 && y[1] == 3 && y[2] == 8 && y[3] == 15 && !strcmp(gx_version(), GX_VERSION_TEXT);
	printf("%d passed, %d failed, 0 skipped\n", good, !good);
	return !good;
}
