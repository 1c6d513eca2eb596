/* test_reduce.c -- reductions through the emulator: rows, columns, middles, splits, ties, NaN, moments,
 * nothing at all. */
#include <math.h>
#include <stdio.h>

#include "tests/emulate/harness.h"

static void test_sum(unsigned seed)
{
	static const int64_t size[] = {1, 31, 1000, 4096, 100003};
	struct result r;

	for (int s = 0; s < 5; s++)
		for (int shift = 0; shift < 2; shift++) {
			gx_array in[1] = {array_of("a", GX_FLOAT32, shift, 1, &size[s])};

			if (run(&r, seed, "sum(a)", in, 1))
				expect(&r, 0, 0, (float)reference_sum(in, 0, (size_t)size[s], 1), 1e-7);
			if (collecting)
				return;
		}
}

static void test_rows(unsigned seed)
{
	static const int64_t shape[][2] = {
		{37, 1000}, {1000, 7}, {3, 50001}, {5, 1}, {1, 9}, {600, 64}, {2, 9000}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
		for (int t = 0; t < 2; t++) {
			size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
			gx_array in[1] = {array_of("a", t ? GX_INT16 : GX_FLOAT32, t, 2, shape[s])};

			if (run(&r, seed, "x = sum(a, axis=1); y = a / sum(a, axis=1, keepdims=true)", in, 1))
				for (size_t i = 0; i < m; i++) {
					double sum = reference_sum(in, i * n, n, 1);

					expect(&r, 0, i, sum, 2e-6);
					expect(&r, 1, i * n, get(in, i * n) / sum, sum == 0 ? 0 : 1e-4 / fabs(sum));
				}
		}
}

static void test_columns(unsigned seed)
{
	static const int64_t shape[][2] = {
		{1000, 37}, {7, 1000}, {50001, 3}, {1, 5}, {9, 1}, {64, 600}, {20000, 40}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
		size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
		gx_array in[1] = {array_of("a", GX_FLOAT64, 0, 2, shape[s])};

		if (run(&r, seed, "x = sum(a, axis=0); y = max(a, axis=0) - min(a, axis=0)", in, 1))
			for (size_t j = 0; j < n; j++) {
				double hi = -INFINITY, lo = INFINITY;

				for (size_t i = 0; i < m; i++) {
					hi = fmax(hi, get(in, i * n + j));
					lo = fmin(lo, get(in, i * n + j));
				}
				expect(&r, 0, j, reference_sum(in, j, m, n), 1e-11);
				expect(&r, 1, j, hi - lo, 0);
			}
	}
}

static void test_axes(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_INT32, 0, SHAPE(7, 300, 5))};
	struct result r;

	if (run(&r, seed,
			"x = sum(a, axis=1); y = sum(a, axis=(0, 2)); z = sum(a.T, axis=0); w = prod(a[:, ::100, 0] + 1, axis=-1)",
			in, 1)) {
		for (size_t i = 0; i < 7; i++)
			for (size_t k = 0; k < 5; k++)
				expect(&r, 0, i * 5 + k, reference_sum(in, i * 1500 + k, 300, 5), 0);
		for (size_t j = 0; j < 300; j++) {
			double s = 0;

			for (size_t i = 0; i < 7; i++)
				s += reference_sum(in, i * 1500 + j * 5, 5, 1);
			expect(&r, 1, j, s, 0);
			for (size_t i = 0; i < 7; i++)
				expect(&r, 2, j * 7 + i, reference_sum(in, i * 1500 + j * 5, 5, 1), 0);
		}
		for (size_t i = 0; i < 7; i++) {
			double p = 1;

			for (size_t j = 0; j < 300; j += 100)
				p *= get(in, i * 1500 + j * 5) + 1;
			expect(&r, 3, i, p, 0);
		}
	}
}

static void test_argmax(unsigned seed)
{
	gx_array in[2] = {
		array_of("a", GX_INT16, 0, SHAPE(30011)), array_of("b", GX_FLOAT32, 0, SHAPE(60, 500))};
	struct result r;
	size_t first = 0, low = 0;

	set(&in[1], 3 * 500 + 100, NAN);
	set(&in[1], 3 * 500 + 400, NAN);
	if (run(&r, seed, "p = argmax(a); q = argmin(a); u = argmax(b, axis=1); v = argmin(b, axis=0)", in,
			2)) {
		for (size_t i = 0; i < 30011; i++) {
			first = get(&in[0], i) > get(&in[0], first) ? i : first;
			low = get(&in[0], i) < get(&in[0], low) ? i : low;
		}
		expect(&r, 0, 0, (double)first, 0);
		expect(&r, 1, 0, (double)low, 0);
		for (size_t i = 0; i < 60; i++) {
			size_t best = 0;

			for (size_t j = 0; j < 500; j++)
				best = get(&in[1], i * 500 + j) > get(&in[1], i * 500 + best) ? j : best;
			expect(&r, 2, i, i == 3 ? 100 : (double)best, 0);
		}
		for (size_t j = 0; j < 500; j++) {
			size_t best = 0;

			for (size_t i = 0; i < 60; i++)
				best = get(&in[1], i * 500 + j) < get(&in[1], best * 500 + j) ? i : best;
			expect(&r, 3, j, j == 100 || j == 400 ? 3 : (double)best, 0);
		}
	}
}

static double reference_var(const gx_array *a, size_t first, size_t n, size_t step)
{
	double mean = reference_sum(a, first, n, step) / (double)n, s = 0;

	for (size_t i = 0; i < n; i++) {
		double d = get(a, first + i * step) - mean;

		s += d * d;
	}
	return s / (double)n;
}

static void test_moments(unsigned seed)
{
	gx_array in[2] = {
		array_of("a", GX_FLOAT32, 0, SHAPE(50021)), array_of("b", GX_FLOAT64, 0, SHAPE(90, 211))};
	struct result r;

	for (size_t i = 0; i < 90 * 211; i++)
		set(&in[1], i, get(&in[1], i) + 1e8);
	if (run(&r, seed, "v = var(a); m = mean(a); lo = min(a); s = std(b, axis=1); t = var(b, axis=0)", in,
			2)) {
		expect(&r, 0, 0, reference_var(&in[0], 0, 50021, 1), 1e-6);
		expect(&r, 1, 0, reference_sum(&in[0], 0, 50021, 1) / 50021, 1e-6);
		for (size_t i = 0; i < 90; i++)
			expect(&r, 3, i, sqrt(reference_var(&in[1], i * 211, 211, 1)), 1e-8);
		for (size_t j = 0; j < 211; j++)
			expect(&r, 4, j, reference_var(&in[1], j, 90, 211), 1e-8);
	}
}

static void test_kinds(unsigned seed)
{
	gx_array in[3] = {array_of("a", GX_FLOAT32, 0, SHAPE(20, 3000)), array_of("m", GX_BOOL, 1, SHAPE(9001)),
		array_of("u", GX_UINT8, 0, SHAPE(9001))};
	struct result r;
	double count = 0, sum = 0, top = 0;

	set(&in[0], 5 * 3000 + 77, NAN);
	for (size_t i = 0; i < 3000; i++)
		set(&in[0], 7 * 3000 + i, i % 2 ? 0.0 : -0.0);
	if (run(&r, seed,
			"x = max(a, axis=1); y = nansum(a, axis=1); z = min(a, axis=1); c = count(m); t = sum(u); k = max(u); "
			"e = any(m); f = all(m)",
			in, 3)) {
		for (size_t i = 0; i < 20; i++) {
			double hi = -INFINITY, s = 0;

			for (size_t j = 0; j < 3000; j++) {
				double v = get(&in[0], i * 3000 + j);

				hi = v > hi ? v : hi;
				s += v == v ? v : 0;
			}
			expect(&r, 0, i, i == 5 ? NAN : hi, 0);
			expect(&r, 1, i, s, 1e-6);
		}
		check(!signbit(get(&r.out[0], 7)) && signbit(get(&r.out[2], 7)), "-0 is below +0 in min and max");
		for (size_t i = 0; i < 9001; i++) {
			count += get(&in[1], i);
			sum += get(&in[2], i);
			top = fmax(top, get(&in[2], i));
		}
		expect(&r, 3, 0, count, 0);
		expect(&r, 4, 0, sum, 0);
		expect(&r, 5, 0, top, 0);
		expect(&r, 6, 0, 1, 0);
		expect(&r, 7, 0, 0, 0);
	}
}

static void test_empty(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_FLOAT32, 0, SHAPE(0, 5)), array_of("b", GX_FLOAT32, 0, SHAPE(6))};
	struct result r;

	if (run(&r, seed,
			"x = a + 1; s = sum(a); t = sum(a, axis=0) + 1; u = prod(b[3:3]); v = sum(a, axis=1); w = mean(a, axis=0)",
			in, 2)) {
		check(elements(&r.out[0]) == 0 && elements(&r.out[4]) == 0, "empty results are empty");
		expect(&r, 1, 0, 0, 0);
		for (size_t i = 0; i < 5; i++) {
			expect(&r, 2, i, 1, 0);
			expect(&r, 5, i, NAN, 0);
		}
		expect(&r, 3, 0, 1, 0);
	}
}

static void test_chain(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_FLOAT64, 0, SHAPE(50, 333)), gx_real("k", 2.5)};
	struct result r;

	if (run(&r, seed,
			"_m = max(a, axis=1, keepdims=true); _e = exp(a - _m); p = _e / sum(_e, axis=1, keepdims=true); q = a * k; "
			"w = sum(where(a > k, a, 0)); b = mean(a) + k",
			in, 2)) {
		double w = 0;

		for (size_t i = 0; i < 50; i++) {
			double hi = -INFINITY, s = 0;

			for (size_t j = 0; j < 333; j++)
				hi = fmax(hi, get(in, i * 333 + j));
			for (size_t j = 0; j < 333; j++)
				s += exp(get(in, i * 333 + j) - hi);
			for (size_t j = 0; j < 333; j++) {
				double a = get(in, i * 333 + j);

				expect(&r, 0, i * 333 + j, exp(a - hi) / s, 1e-12);
				expect(&r, 1, i * 333 + j, a * 2.5, 0);
				w += a > 2.5 ? a : 0;
			}
		}
		expect(&r, 2, 0, w, 1e-12);
		expect(&r, 3, 0, reference_sum(in, 0, 50 * 333, 1) / (50 * 333) + 2.5, 1e-12);
	}
}

test_function *const reduce_tests[] = {
	test_sum,
	test_rows,
	test_columns,
	test_axes,
	test_argmax,
	test_moments,
	test_kinds,
	test_empty,
	test_chain,
	NULL,
};
