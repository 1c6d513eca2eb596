/* test_scan.c -- scans through the emulator: rows and columns of all lengths, parts, kinds, views, two in one kernel; the same bits in
 * every order of blocks; and that a missing barrier would show. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulate/harness.h"

/* Running sums along `n` elements `step` apart, from `first` on. */
static void expect_sums(const struct result *r, int out, const gx_array *a, size_t first, size_t n, size_t step, double tolerance)
{
	double s = 0;

	for (size_t i = 0; i < n; i++) {
		s += get(a, first + i * step);
		expect(r, out, first + i * step, s, tolerance);
	}
}

static void test_rows(unsigned seed)
{
	static const int64_t shape[][2] = {{1, 2}, {37, 1000}, {1000, 7}, {300, 32}, {3, 50001}, {600, 64}, {2, 9000}, {1, 100003}, {5, 2048}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
		for (int t = 0; t < 2; t++) {
			size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
			gx_array in[1] = {array_of("a", t ? GX_INT16 : GX_FLOAT32, t, 2, shape[s])};

			if (run(&r, seed, "x = cumsum(a, axis=1)", in, 1))
				for (size_t i = 0; i < m; i++)
					expect_sums(&r, 0, in, i * n, n, 1, t ? 0 : 1e-7);
		}
}

static void test_columns(unsigned seed)
{
	static const int64_t shape[][2] = {{1000, 37}, {7, 1000}, {50001, 3}, {2, 5}, {64, 600}, {20000, 40}, {33, 2000}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
		size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
		gx_array in[1] = {array_of("a", GX_FLOAT64, 0, 2, shape[s])};

		if (run(&r, seed, "x = cumsum(a, axis=0); y = cummax(a, axis=0)", in, 1))
			for (size_t j = 0; j < n; j++) {
				double most = -INFINITY;

				expect_sums(&r, 0, in, j, m, n, 1e-13);
				for (size_t i = 0; i < m; i++) {
					most = fmax(most, get(in, i * n + j));
					expect(&r, 1, i * n + j, most, 0);
				}
			}
	}
}

static void test_kinds(unsigned seed)
{
	static const gx_dtype types[] = {GX_BOOL, GX_INT8, GX_UINT8, GX_INT16, GX_UINT16, GX_INT32, GX_UINT32, GX_INT64, GX_UINT64,
		GX_FLOAT16, GX_BFLOAT16, GX_FLOAT32, GX_FLOAT64};
	static const int64_t size[] = {70, 9001};
	struct result r;

	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (int s = 0; s < 2; s++) {
			gx_array in[1] = {array_of("a", types[t], 1, 1, &size[s])};
			double lo = INFINITY, hi = -INFINITY;

			if (!run(&r, seed, "x = cummin(a); y = cummax(a); z = cumsum(a, dtype=f64); w = cumprod(a // 9 + 1)", in, 1))
				continue;
			for (size_t i = 0; i < (size_t)size[s]; i++) {
				lo = fmin(lo, get(in, i));
				hi = fmax(hi, get(in, i));
				expect(&r, 0, i, lo, 0);
				expect(&r, 1, i, hi, 0);
			}
			expect_sums(&r, 2, in, 0, (size_t)size[s], 1, 1e-13);
		}
}

/* In the middle of three axes, seen transposed and backwards, and with work before and after. */
static void test_views(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_INT32, 0, SHAPE(7, 300, 5))};
	struct result r;

	if (!run(&r, seed, "x = cumsum(a, axis=1); y = cumsum(a.T, axis=1).T; z = cumsum(a[:, ::-1] * 2, axis=1)[:, ::-1] - a", in, 1))
		return;
	for (size_t i = 0; i < 7; i++)
		for (size_t k = 0; k < 5; k++) {
			double s = 0;

			expect_sums(&r, 0, in, i * 1500 + k, 300, 5, 0);
			expect_sums(&r, 1, in, i * 1500 + k, 300, 5, 0);
			for (size_t j = 300; j-- > 0;) {
				s += get(in, i * 1500 + j * 5 + k);
				expect(&r, 2, i * 1500 + j * 5 + k, 2 * s - get(in, i * 1500 + j * 5 + k), 0);
			}
		}
}

/* Sums that are rounded at every step: the bits are those of the first order of blocks. */
static void test_same_bits(unsigned seed)
{
	static const int64_t size[] = {60001};
	gx_array in[1] = {array_of("a", GX_FLOAT64, 0, 1, size)};
	struct result r, again;

	for (size_t i = 0; i < elements(&in[0]); i++)
		set(&in[0], i, get(&in[0], i) / 3 + 0.1);
	if (!run(&r, seed, "x = cumsum(a); y = cumprod(1 + a / 1e4)", in, 1) || !run(&again, seed + 100, r.text, in, 1))
		return;
	for (int i = 0; i < 2; i++)
		check(memcmp(r.out[i].data, again.out[i].data, elements(&r.out[i]) * 8) == 0, "output %d of %s: other bits with another order", i, r.text);
}

/* Without one of its barriers, or with a carry or a part left out, results are wrong. */
static void test_defects(unsigned seed)
{
	static const struct { const char *find, *replace; int column; } defect[] = {
		{"== lane)\n\t\t\t\tbefore = total;", "== lane)\n\t\t\t\t;", 1}, {"before[u] = total;", "before[u] = 0;", 0},
		{"(part - 1)", "part", 0}, {"if (part > 0 &&", "if (part > 1 &&", 1},
		{"v[u];\n\t\t}\n\t\t__syncthreads();", "v[u];\n\t\t}", 0}, {"add(f, l, total);", "l += 0 * total;", 1},
		{"A.splits > 1 && A.phase == 0", "A.splits > 9999 && A.phase == 0", 0}, {"if (lane % 32 >= d)", "if (lane % 32 > d)", 0},
	};
	static const int64_t rows[] = {1, 20011}, columns[] = {20011, 2};
	struct result r;

	if (collecting || seed)
		return;
	for (size_t i = 0; i < sizeof defect / sizeof *defect; i++) {
		int column = defect[i].column, wrong;
		gx_array in[1] = {array_of("a", GX_FLOAT64, 0, 2, column ? columns : rows)};
		double s = 0;

		wrong = run_edited(&r, 1, column ? "x = cumsum(a, axis=0)" : "x = cumsum(a, axis=1)", in, 1, defect[i].find, defect[i].replace) !=
			EMULATE_OK;
		for (size_t k = 0; k < 20011 && !wrong; k++) {
			s += get(in, k * (size_t)(1 + column));
			wrong = fabs(get(&r.out[0], k * (size_t)(1 + column)) - s) > 1e-9 * (1 + fabs(s));
		}
		check(wrong, "a scan with `%s` for `%s` is still right", defect[i].replace, defect[i].find);
	}
}

test_function *const scan_tests[] = {test_rows, test_columns, test_kinds, test_views, test_same_bits, test_defects, NULL};
