/* test_rows.c -- row programs through the emulator, against plain loops: lengths around vectors, lanes and warps, rows that do not begin
 * on a vector, rows too long for registers, the other axis, positions, moments, small types, rows in two layouts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulate/harness.h"

enum { LENGTHS = 14 };

/* rows, length; the last is longer than a block's registers hold */
static const int64_t shape_list[LENGTHS][2] = {{5, 2}, {37, 3}, {9, 8}, {4, 33}, {300, 64}, {3, 100}, {2, 255}, {5, 1000}, {3, 1025},
	{2, 4099}, {2, 9000}, {1, 20001}, {1, 32768}, {1, 70000}};

static int row_programs(const char *text, gx_array *in, int nin)
{
	struct front *f = front_open(text, in, nin);
	struct units u;
	int n = 0;

	if (!f)
		return -1;
	if (!cuda_units_make(front_plan(f), &u))
		for (int i = 0; i < u.n; i++)
			n += u.unit[i].nphase > 1;
	cuda_units_free(&u);
	front_free(f);
	return n;
}

static void softmax_row(const gx_array *a, size_t first, size_t n, size_t step, const struct result *r, double tolerance)
{
	double hi = -INFINITY, sum = 0;

	for (size_t j = 0; j < n; j++)
		hi = fmax(hi, get(a, first + j * step));
	for (size_t j = 0; j < n; j++)
		sum += exp(get(a, first + j * step) - hi);
	for (size_t j = 0; j < n; j++) {
		double want = exp(get(a, first + j * step) - hi) / sum;

		expect(r, 0, first + j * step, want, tolerance * want + 1e-300);
	}
}

static const char softmax_1[] = "_e = exp(a - max(a, axis=1, keepdims=true)); y = _e / sum(_e, axis=1, keepdims=true)";
static const char softmax_0[] = "_e = exp(a - max(a, axis=0)); y = _e / sum(_e, axis=0)";

static void test_softmax(unsigned seed)
{
	struct result r;

	for (int s = 0; s < LENGTHS; s++)
		for (int t = 0; t < 2; t++) {
			size_t m = (size_t)shape_list[s][0], n = (size_t)shape_list[s][1];
			gx_array in[1] = {array_of("a", t ? GX_FLOAT64 : GX_FLOAT32, s % 3, 2, shape_list[s])};

			check(row_programs(softmax_1, in, 1) == (n <= (size_t)(32768 >> t)), "softmax of %zu: one kernel or three", n);
			if (run(&r, seed, softmax_1, in, 1))
				for (size_t i = 0; i < m; i++)
					softmax_row(in, i * n, n, 1, &r, t ? 1e-13 : 2e-6);
		}
}

static void test_columns(unsigned seed)
{
	static const int64_t shape[][2] = {{2, 5}, {7, 33}, {100, 31}, {300, 70}, {513, 3}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
		size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
		gx_array in[1] = {array_of("a", GX_FLOAT32, 1, 2, shape[s])};

		check(row_programs(softmax_0, in, 1) == 1, "softmax of columns of %zu is one kernel", m);
		if (run(&r, seed, softmax_0, in, 1))
			for (size_t j = 0; j < n; j++)
				softmax_row(in, j, m, n, &r, 2e-6);
	}
}

/* Deviations must not cancel: the values lie far from zero. */
static void test_norm(unsigned seed)
{
	struct result r;

	for (int s = 0; s < LENGTHS - 1; s++) {
		size_t m = (size_t)shape_list[s][0], n = (size_t)shape_list[s][1];
		gx_array in[1] = {array_of("a", GX_FLOAT64, 1, 2, shape_list[s])};

		for (size_t i = 0; i < m * n; i++)
			set(in, i, 1e8 + get(in, i));
		if (!run(&r, seed, "v = var(a, axis=1); y = (a - mean(a, axis=1, keepdims=true)) / sqrt(var(a, axis=1, keepdims=true) + 1)", in, 1))
			continue;
		for (size_t i = 0; i < m; i++) {
			long double mean = 0, var = 0;

			for (size_t j = 0; j < n; j++)
				mean += get(in, i * n + j) / (long double)n;
			for (size_t j = 0; j < n; j++)
				var += (get(in, i * n + j) - mean) * (get(in, i * n + j) - mean) / (long double)n;
			expect(&r, 0, i, (double)var, 1e-7 * (1 + (double)var));
			for (size_t j = 0; j < n; j++)
				expect(&r, 1, i * n + j, (double)((get(in, i * n + j) - mean) / sqrtl(var + 1)), 1e-7);
		}
	}
}

/* Values of one and two bytes, and sums and extremes that are also results of their own. */
static void test_small(unsigned seed)
{
	static const gx_dtype type[] = {GX_INT8, GX_UINT8, GX_INT16, GX_FLOAT16};
	struct result r;

	for (int t = 0; t < 4; t++)
		for (int s = 0; s < 10; s++) {
			size_t m = (size_t)shape_list[s][0], n = (size_t)shape_list[s][1];
			gx_array in[1] = {array_of("a", type[t], s % 3, 2, shape_list[s])};

			if (!run(&r, seed, "h = max(a, axis=1); y = max(a, axis=1, keepdims=true) == a; z = f64(a) - sum(f64(a), axis=1, keepdims=true)", in, 1))
				continue;
			for (size_t i = 0; i < m; i++) {
				double hi = -INFINITY, sum = reference_sum(in, i * n, n, 1);

				for (size_t j = 0; j < n; j++)
					hi = fmax(hi, get(in, i * n + j));
				expect(&r, 0, i, hi, 0);
				for (size_t j = 0; j < n; j++) {
					expect(&r, 1, i * n + j, get(in, i * n + j) == hi, 0);
					expect(&r, 2, i * n + j, get(in, i * n + j) - sum, 1e-9 * (1 + fabs(sum)));
				}
			}
		}
}

/* A position as a row's number: the first of equal ones, and the first NaN. */
static void test_position(unsigned seed)
{
	struct result r;

	for (int s = 0; s < LENGTHS - 1; s++) {
		size_t m = (size_t)shape_list[s][0], n = (size_t)shape_list[s][1];
		gx_array in[1] = {array_of("a", GX_FLOAT32, 0, 2, shape_list[s])};

		for (size_t i = 0; i < m; i++)
			for (size_t j = 0; j < n; j++)
				set(in, i * n + j, i == 1 && j + 1 == n ? NAN : j == n / 2 || j + 1 == n ? 9 : -1);
		if (!run(&r, seed, "y = arange(size(a) // shape(a, 0)) - argmax(a, axis=1, keepdims=true)", in, 1))
			continue;
		for (size_t i = 0; i < m; i++)
			for (size_t j = 0; j < n; j++)
				expect(&r, 0, i * n + j, (double)j - (double)(i == 1 ? n - 1 : n / 2), 0);
	}
}

/* The second reduction reads other memory, across the first one's rows: all phases share rows in the first one's way. */
static void test_layouts(unsigned seed)
{
	static const char text[] = "t = max(b.T - sum(a, axis=1, keepdims=true), axis=1); u = a * k[:, None] - min(a, axis=1, keepdims=true)";
	struct result r;

	for (int s = 0; s < 10; s++) {
		size_t m = (size_t)shape_list[s][0], n = (size_t)shape_list[s][1];
		gx_array in[3] = {array_of("a", GX_FLOAT32, 0, 2, shape_list[s]), array_of("b", GX_FLOAT32, 1, SHAPE((int64_t)n, (int64_t)m)),
			array_of("k", GX_FLOAT32, 0, SHAPE((int64_t)m))};

		if (!run(&r, seed, text, in, 3))
			continue;
		for (size_t i = 0; i < m; i++) {
			double sum = (float)reference_sum(in, i * n, n, 1), hi = -INFINITY, lo = INFINITY;

			for (size_t j = 0; j < n; j++) {
				hi = fmax(hi, get(&in[1], j * m + i) - sum);
				lo = fmin(lo, get(in, i * n + j));
			}
			expect(&r, 0, i, hi, 1e-5 * (1 + fabs(sum)));
			for (size_t j = 0; j < n; j++)
				expect(&r, 1, i * n + j, get(in, i * n + j) * get(&in[2], i) - lo, 1e-5);
		}
	}
}

/* Phases that read one input through different views keep each view; gathers are read anew. */
static void test_views(unsigned seed)
{
	static const int64_t n[] = {3, 17, 130, 1001};
	static const char text[] = "y = a[:, 1:] - max(a[:, :-1], axis=1, keepdims=true); z = a[:, :0:-1] - sum(a[:, 1:], axis=1, keepdims=true); "
		"w = a[:, i] - min(a[:, 1:], axis=1, keepdims=true)";
	struct result r;

	for (int s = 0; s < 4; s++) {
		gx_array in[2] = {array_of("a", GX_FLOAT64, 0, SHAPE(6, n[s])), array_of("i", GX_INT64, 0, SHAPE(n[s] - 1))};
		size_t row = (size_t)n[s], m = row - 1;

		for (size_t j = 0; j < m; j++)
			set(&in[1], j, (double)(j * 7 % row) - (j % 2 ? (double)row : 0));
		check(row_programs(text, in, 2) >= 1, "views of %zu are row programs", row);
		if (!run(&r, seed, text, in, 2))
			continue;
		for (size_t i = 0; i < 6; i++) {
			double hi = -INFINITY, lo = INFINITY, sum = 0;

			for (size_t j = 0; j < m; j++) {
				hi = fmax(hi, get(in, i * row + j));
				lo = fmin(lo, get(in, i * row + j + 1));
				sum += get(in, i * row + j + 1);
			}
			for (size_t j = 0; j < m; j++) {
				expect(&r, 0, i * m + j, get(in, i * row + j + 1) - hi, 0);
				expect(&r, 1, i * m + j, get(in, i * row + m - j) - sum, 1e-12);
				expect(&r, 2, i * m + j, get(in, i * row + j * 7 % row) - lo, 0);
			}
		}
	}
}

/* One memory, one offset, two orders. */
static void test_square(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_FLOAT32, 0, SHAPE(30, 30))};
	struct result r;

	if (!run(&r, seed, "y = a - max(a.T, axis=1, keepdims=true)", in, 1))
		return;
	for (size_t i = 0; i < 30; i++) {
		double hi = -INFINITY;

		for (size_t j = 0; j < 30; j++)
			hi = fmax(hi, get(in, j * 30 + i));
		for (size_t j = 0; j < 30; j++)
			expect(&r, 0, i * 30 + j, (float)get(in, i * 30 + j) - (float)hi, 0);
	}
}

/* Rows of two axes, in C order and transposed, and a row of everything. */
static void test_row_axes(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_FLOAT64, 1, SHAPE(4, 9, 13))};
	struct result r;

	if (!run(&r, seed, "x = a - sum(a, axis=(1, 2), keepdims=true); y = transpose(a, 1, 0, 2) - max(transpose(a, 1, 0, 2), axis=(1, 2), keepdims=true); "
		"z = a / sum(a)", in, 1))
		return;
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 9; j++) {
			double hi = -INFINITY;

			for (size_t k = 0; k < 4 * 13; k++)
				hi = fmax(hi, get(in, k / 13 * 117 + j * 13 + k % 13));
			for (size_t k = 0; k < 13; k++) {
				double v = get(in, i * 117 + j * 13 + k);

				expect(&r, 0, i * 117 + j * 13 + k, v - reference_sum(in, i * 117, 117, 1), 1e-12);
				expect(&r, 1, j * 52 + i * 13 + k, v - hi, 0);
				expect(&r, 2, i * 117 + j * 13 + k, v / reference_sum(in, 0, 468, 1), 1e-9);
			}
		}
}

/* A row's number that a later kernel of another domain needs too is stored as well; without reductions before it nothing is a row program;
 * what reads other rows' numbers is none. */
static void test_bounds(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_FLOAT64, 0, SHAPE(40, 50))};
	struct result r;

	check(row_programs("y = a - sum(a, axis=1, keepdims=true)[::-1]", in, 1) == 0, "rows of others");
	check(row_programs("y = a - sum(a, axis=0)", in, 1) == 1, "columns");
	check(row_programs("_s = cos(a); y = _s[::-1] + sum(_s, axis=1, keepdims=true)", in, 1) <= 1, "a stored array");
	if (run(&r, seed, "_s = sum(a, axis=1); y = a / _s[:, None]; z = _s[::-1] + 1", in, 1))
		for (size_t i = 0; i < 40; i++) {
			double sum = reference_sum(in, i * 50, 50, 1);

			expect(&r, 1, 39 - i, sum + 1, 1e-12);
			for (size_t j = 0; j < 50; j++)
				expect(&r, 0, i * 50 + j, get(in, i * 50 + j) / sum, 1e-10 * (1 + fabs(get(in, i * 50 + j) / sum)));
		}
}

/* The text knows the class of a row's length, and nothing else of the extents. */
static void test_row_texts(unsigned seed)
{
	static const int64_t shape[3][2] = {{10, 1000}, {777, 513}, {10, 5000}};
	struct cuda_text t[3];
	struct units u[3];
	struct front *f[3];

	if (collecting || seed)
		return;
	for (int s = 0; s < 3; s++) {
		gx_array in[1] = {array_of("a", GX_FLOAT32, 0, 2, shape[s])};

		f[s] = front_open(softmax_1, in, 1);
		if (cuda_units_make(front_plan(f[s]), &u[s]) || cuda_text_make(front_plan(f[s]), &u[s].unit[0], GX_MATH_STRICT, &t[s]))
			check(0, "no memory");
	}
	check(strcmp(t[0].text.text, t[1].text.text) == 0, "rows of 513 and 1000 share a kernel");
	check(strcmp(t[0].text.text, t[2].text.text) != 0, "rows of 5000 have another");
	for (int s = 0; s < 3; s++) {
		cuda_text_free(&t[s]);
		cuda_units_free(&u[s]);
		front_free(f[s]);
	}
}

/* The emulator notices when the rows' numbers do not reach the other lanes, or not in time. */
static void test_defects(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_FLOAT32, 0, SHAPE(6, 1000))};
	struct result good, bad;
	int same = 1;

	if (collecting || !run(&good, seed, softmax_1, in, 1))
		return;
	if (run_edited(&bad, seed, softmax_1, in, 1, "t0 = row0[slot];", ";") == EMULATE_OK)
		for (size_t i = 0; i < 6000; i++)
			same &= get(&good.out[0], i) == get(&bad.out[0], i);
	else
		same = 0;
	check(!same, "a row's number that stays in lane 0 shows");
}

test_function *const row_tests[] = {test_softmax, test_columns, test_norm, test_small, test_position, test_layouts, test_views, test_square, test_row_axes,
	test_bounds, test_row_texts, test_defects, NULL};
