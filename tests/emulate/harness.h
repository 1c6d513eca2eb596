/* harness.h -- what the emulator's tests share: arrays of exact size, a program run with a seed,
 * comparison, and the two passes.
 *
 * Each test runs first only to collect the plans of its programs, so that all kernels are compiled in a few
 * units, then for real, once with each seed. */
#ifndef TESTS_EMULATE_HARNESS_H
#define TESTS_EMULATE_HARNESS_H

#include "tests/emulate/emulate.h"
#include "tests/emulate/front.h"

enum { MAX_IN = 700, MAX_OUT = 8, SEEDS = 2 };

extern int collecting; /* 1: the first pass */

void check(int ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define SHAPE(...) \
	(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

size_t elements(const gx_array *a);
double get(const gx_array *a, size_t i);
void set(gx_array *a, size_t i, double v);
/* A new array of noise; `shift` elements of room in front make it unaligned. Freed at the end of the test.
 */
gx_array array_of(const char *name, gx_dtype t, int shift, int rank, const int64_t *shape);
double reference_sum(const gx_array *a, size_t first, size_t n, size_t step);

struct result {
	gx_array out[MAX_OUT];
	int nout, status;
	struct run_failure failure;
	const char *text;
	unsigned seed;
};

/* 1: *r holds the results; 0: nothing to compare (collecting, or a failure that has been counted). */
int run(struct result *r, unsigned seed, const char *text, gx_array *in, int nin);
void expect(const struct result *r, int out, size_t i, double want, double tolerance);
/* As run, with one text put for another in the kernels: a defect on purpose. Gives the status; results in
 * *r. */
int run_edited(struct result *r, unsigned seed, const char *text, gx_array *in, int nin, const char *find,
	const char *replace);

typedef void test_function(unsigned seed);
extern test_function *const map_tests[], *const reduce_tests[], *const row_tests[], *const scan_tests[],
	*const plane_tests[], *const op_tests[]; /* end in NULL */

#endif
