/* api.h -- what the API tests share. They use the public header only. */
#ifndef TESTS_API_API_H
#define TESTS_API_API_H

#include <stdlib.h>

#include "include/gpuexpr.h"
#include "tests/unit/unit.h"

/* A CPU context with so many threads (0: all cores); ends the test when there is none. */
static inline gx_context *cpu_context(int threads)
{
	gx_options opt = {.size = sizeof opt, .device = GX_DEVICE_CPU, .threads = threads};
	gx_context *ctx;
	gx_error err;

	if (gx_open(&opt, &ctx, &err)) {
		printf("FAIL gx_open: %s\n0 passed, 1 failed, 0 skipped\n", err.text);
		exit(1);
	}
	return ctx;
}

static inline gx_formula *formula(const char *text)
{
	gx_formula *f;
	gx_error err;

	if (gx_parse(text, strlen(text), NULL, &f, &err)) {
		printf("FAIL %s: %s\n0 passed, 1 failed, 0 skipped\n", text, err.text);
		exit(1);
	}
	return f;
}

/* clang-format off */
#define SHAPE(...) \
	(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}
/* clang-format on */

#endif
