/* test_plane.c -- arrays read across, through the emulator: shapes around the sides of tiles, all sizes of elements, axes in front,
 * between and reversed, several arrays of a kind, coordinates and gathers beside them; which kernels take that way; and that a missing
 * barrier or an element too many would show. */
#include <stdio.h>
#include <string.h>

#include "codegen/emit.h"
#include "tests/emulate/front.h"
#include "tests/emulate/harness.h"

/* The side of the tiles of the program's only kernel; 0: it has none. -1: another number of kernels. */
static int side(const char *text, gx_array *in, int nin)
{
	struct front *f = front_open(text, in, nin);
	const struct plan *p = f ? front_plan(f) : NULL;
	struct plane_shape c = {-1, 0, 0};
	int one = p && p->nkernel == 1;

	if (one)
		c = plane_shape(&p->kernel[0]);
	if (f)
		front_free(f);
	return !one ? -1 : c.side;
}

static void test_shapes(unsigned seed)
{
	static const int64_t shape[][2] = {{32, 32}, {33, 47}, {64, 64}, {65, 129}, {40, 1000}, {1001, 38}, {257, 63}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
		for (int t = 0; t < 2; t++) {
			int64_t m = shape[s][0], n = shape[s][1];
			gx_dtype type = t ? GX_FLOAT64 : GX_FLOAT32;
			gx_array in[2] = {array_of("a", type, (int)s % 3, SHAPE(m, n)), array_of("b", type, t, SHAPE(n, m))};

			check(side("c = a - b.T", in, 2) == (t ? 32 : 64), "a - b.T goes through tiles");
			if (run(&r, seed, "c = a - b.T", in, 2))
				for (int64_t i = 0; i < m * n; i++)
					expect(&r, 0, (size_t)i, get(&in[0], (size_t)i) - get(&in[1], (size_t)(i % n * m + i / n)), t ? 0 : 1e-6);
		}
}

static void test_types(unsigned seed)
{
	struct result r;

	for (gx_dtype t = GX_BOOL; t <= GX_FLOAT64; t++) {
		gx_array in[2] = {array_of("a", t, 1, SHAPE(70, 90)), array_of("b", t, 0, SHAPE(70, 90))};

		check(side("x = a.T; y = where(b.T == 0, a.T, b.T)", in, 2) > 0, "type %d goes through tiles", (int)t);
		if (!run(&r, seed, "x = a.T; y = where(b.T == 0, a.T, b.T)", in, 2))
			continue;
		for (size_t i = 0; i < 70 * 90; i++) {
			size_t from = i % 70 * 90 + i / 70;

			expect(&r, 0, i, get(&in[0], from), 0);
			expect(&r, 1, i, get(&in[1], from) == 0 ? get(&in[0], from) : get(&in[1], from), 0);
		}
	}
}

/* Axes before, between and behind; a kernel that reads one array both ways; reversed; the edge of a larger array. */
static void test_axes(unsigned seed)
{
	static const char *const text[] = {"c = a + transpose(b, (0, 2, 1))", "c = a + transpose(d, (2, 1, 0))", "c = a + transpose(b, (0, 2, 1))[:, ::-1]",
		"c = a + transpose(big, (0, 2, 1))[1:, 2:-1, 1:]"};
	gx_array in[4] = {array_of("a", GX_INT32, 0, SHAPE(3, 37, 45)), array_of("b", GX_INT32, 0, SHAPE(3, 45, 37)),
		array_of("d", GX_INT32, 0, SHAPE(45, 37, 3)), array_of("big", GX_INT32, 0, SHAPE(4, 46, 40))};
	gx_array square = array_of("s", GX_FLOAT32, 0, SHAPE(100, 100)), wide = array_of("w", GX_INT16, 0, SHAPE(33, 3, 2, 34));
	struct result r;

	for (int q = 0; q < 4; q++) {
		check(side(text[q], in, 4) > 0, "%s goes through tiles", text[q]);
		if (!run(&r, seed, text[q], in, 4))
			continue;
		for (size_t i = 0; i < 3; i++)
			for (size_t j = 0; j < 37; j++)
				for (size_t k = 0; k < 45; k++) {
					double b = q == 0 ? get(&in[1], (i * 45 + k) * 37 + j) : q == 1 ? get(&in[2], (k * 37 + j) * 3 + i)
						: q == 2 ? get(&in[1], (i * 45 + k) * 37 + 36 - j) : get(&in[3], ((i + 1) * 46 + k + 1) * 40 + j + 2);

					expect(&r, 0, (i * 37 + j) * 45 + k, get(&in[0], (i * 37 + j) * 45 + k) + b, 0);
				}
	}
	check(side("c = s + s.T", &square, 1) > 0, "one array both ways goes through tiles");
	if (run(&r, seed, "c = s + s.T", &square, 1))
		for (size_t i = 0; i < 10000; i++)
			expect(&r, 0, i, get(&square, i) + get(&square, i % 100 * 100 + i / 100), 1e-6);
	check(side("c = transpose(w, (3, 1, 2, 0)) + 1", &wide, 1) > 0, "the first axis and the last go through tiles");
	if (run(&r, seed, "c = transpose(w, (3, 1, 2, 0)) + 1", &wide, 1))
		for (size_t i = 0; i < 34; i++)
			for (size_t j = 0; j < 6; j++)
				for (size_t k = 0; k < 33; k++)
					expect(&r, 0, (i * 6 + j) * 33 + k, get(&wide, (k * 6 + j) * 34 + i) + 1, 0);
}

/* Coordinates as numbers, gathers, broadcast operands and reductions' results beside an array that is read across. */
static void test_company(unsigned seed)
{
	gx_array in[4] = {array_of("a", GX_FLOAT32, 0, SHAPE(50, 70)), array_of("r", GX_FLOAT32, 0, SHAPE(50)), array_of("i", GX_INT32, 0, SHAPE(70)),
		array_of("f", GX_FLOAT64, 0, SHAPE(8, 40, 40))};
	struct result r;

	for (size_t k = 0; k < 70; k++)
		set(&in[2], k, (double)(k * 7 % 50));
	if (run(&r, seed, "c = a.T * 2 + r + arange(70)[:, None] * 3 + r[i % 50][:, None]", in, 3))
		for (size_t i = 0; i < 70; i++)
			for (size_t j = 0; j < 50; j++)
				expect(&r, 0, i * 50 + j, get(&in[0], j * 70 + i) * 2 + get(&in[1], j) + (double)i * 3 + get(&in[1], i * 7 % 50), 1e-4);
	check(side("c = f[0, :31].T + 1", &in[3], 1) == 0 && side("c = f[0, :, :31].T + 1", &in[3], 1) == 0, "short axes are read as they are");
	/* seven float64 arrays do not fit in shared memory */
	check(side("c = f[0].T + f[1].T + f[2].T + f[3].T + f[4].T", &in[3], 1) == 32, "five arrays fit");
	check(side("c = f[0].T + f[1].T + f[2].T + f[3].T + f[4].T + f[5].T + f[6].T", &in[3], 1) == 0, "seven do not");
	if (run(&r, seed, "c = f[0].T + f[1].T + f[2].T + f[3].T + f[4].T", &in[3], 1))
		for (size_t i = 0; i < 1600; i++) {
			double want = 0;

			for (size_t k = 0; k < 5; k++)
				want += get(&in[3], k * 1600 + i % 40 * 40 + i / 40);
			expect(&r, 0, i, want, 1e-12);
		}
}

/* No array is read across: stencils by slices and by shift, rows and columns broadcast, three axes, eight-byte and one-byte elements. */
static void test_straight(unsigned seed)
{
	static const int64_t shape[][2] = {{34, 34}, {35, 67}, {50, 66}, {100, 131}, {33, 1000}};
	struct result r;

	for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
		for (int t = 0; t < 3; t++) {
			size_t m = (size_t)shape[s][0], n = (size_t)shape[s][1];
			gx_dtype type = t == 0 ? GX_INT32 : t == 1 ? GX_FLOAT64 : GX_INT8;
			gx_array in[3] = {array_of("a", type, t, 2, shape[s]), array_of("r", type, 1, 1, &shape[s][1]), array_of("c", type, 0, SHAPE(shape[s][0], 1))};

			if (run(&r, seed, "x = a[1:-1, 1:-1] * 4 - a[:-2, 1:-1] - a[1:-1, 2:]", in, 1))
				for (size_t i = 1; i + 1 < m; i++)
					for (size_t j = 1; j + 1 < n; j++)
						expect(&r, 0, (i - 1) * (n - 2) + j - 1, get(in, i * n + j) * 4 - get(in, (i - 1) * n + j) - get(in, i * n + j + 1),
							1e-12);
			if (run(&r, seed, "x = shift(a, 1, edge=wrap) - shift(a, -2, axis=1, edge=fill, fill=3); y = r * c + a", in, 3))
				for (size_t i = 0; i < m; i++)
					for (size_t j = 0; j < n; j++) {
						expect(&r, 0, i * n + j, get(in, (i + 1) % m * n + j) - (j >= 2 ? get(in, i * n + j - 2) : 3), 1e-12);
						expect(&r, 1, i * n + j, get(&in[1], j) * get(&in[2], i) + get(in, i * n + j), 1e-12);
					}
		}
	{
		gx_array in[1] = {array_of("a", GX_INT32, 0, SHAPE(3, 40, 70))};

		if (run(&r, seed, "x = a[:, 1:, 2:] - a[:, :-1, :-2]", in, 1))
			for (size_t i = 0; i < 3; i++)
				for (size_t j = 0; j < 39; j++)
					for (size_t k = 0; k < 68; k++)
						expect(&r, 0, (i * 39 + j) * 68 + k, get(in, (i * 40 + j + 1) * 70 + k + 2) - get(in, (i * 40 + j) * 70 + k), 0);
	}
}

static void test_defects(unsigned seed)
{
	static const char *const defect[][2] = {{"__syncthreads();\n#pragma", "\n#pragma"}, {"(x) * 65", "(x) * 64"}, {"first1 + y", "first1 + 1 + y"}};
	gx_array in[1] = {array_of("a", GX_FLOAT32, 0, SHAPE(300, 500))};
	struct result r;

	if (collecting || seed)
		return;
	for (size_t d = 0; d < sizeof defect / sizeof *defect; d++) {
		int wrong = run_edited(&r, 1, "c = a.T", in, 1, defect[d][0], defect[d][1]) != EMULATE_OK;

		for (size_t i = 0; i < 150000 && !wrong; i++)
			wrong = get(&r.out[0], i) != get(&in[0], i % 300 * 500 + i / 300);
		check(wrong, "a transpose with `%s` for `%s` is still right", defect[d][1], defect[d][0]);
	}
}

test_function *const plane_tests[] = {test_shapes, test_types, test_axes, test_company, test_straight, test_defects, NULL};
