/* test_codegen.c -- maps, gathers and the texts themselves through the emulator, against plain loops
 * written here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/emulate/harness.h"

/* ---- maps ---- */

static void test_elementwise(unsigned seed)
{
	static const int64_t size[] = {1, 3, 1023, 1024, 1025, 5000};
	struct result r;

	for (int s = 0; s < 6; s++)
		for (int shift = 0; shift < 3; shift++) {
			gx_array in[2] = {array_of("a", GX_FLOAT32, shift, 1, &size[s]),
				array_of("b", GX_FLOAT32, shift == 2, 1, &size[s])};

			if (run(&r, seed, "c = a*b + sin(a)", in, 2))
				for (size_t i = 0; i < (size_t)size[s]; i++) {
					float a = (float)get(&in[0], i), ab = a * (float)get(&in[1], i);

					expect(&r, 0, i, ab + sinf(a), 0);
				}
			if (collecting)
				return;
		}
}

static double wrap(double v, gx_dtype t)
{
	gx_array one = {.dtype = t, .data = (char[8]){0}};
	int64_t n = (int64_t)v;

	if (!type_has(t, C_SINT | C_UINT))
		return v;
	memcpy(one.data, &n, 8);
	return get(&one, 0);
}

static void test_types(unsigned seed)
{
	struct result r;

	for (int t = GX_INT8; t <= GX_FLOAT64; t++)
		for (int shift = 0; shift < 2; shift++) {
			gx_array in[2] = {array_of("a", (gx_dtype)t, shift, SHAPE(10007)),
				array_of("b", (gx_dtype)t, 0, SHAPE(10007))};

			if (!run(&r, seed, "a * b + a", in, 2))
				continue;
			for (size_t i = 0; i < 10007; i++) {
				double a = get(&in[0], i), b = get(&in[1], i);

				expect(&r, 0, i, wrap(a * b + a, (gx_dtype)t), t == GX_FLOAT32 ? 1e-6 : 0);
			}
		}
}

static void test_mixed(unsigned seed)
{
	gx_array in[4] = {array_of("a", GX_INT8, 1, SHAPE(3001)), array_of("b", GX_FLOAT64, 0, SHAPE(3001)),
		array_of("c", GX_FLOAT16, 1, SHAPE(3001)), array_of("m", GX_BOOL, 0, SHAPE(3001))};
	struct result r;

	((unsigned char *)in[3].data)[5] = 200; /* any byte but 0 is true */
	if (run(&r, seed, "x = a + b; y = m ? c : bf16(c) * 2; z = m; w = i8(b * 100)", in, 4))
		for (size_t i = 0; i < 3001; i++) {
			double b = trunc(get(&in[1], i) * 100);

			expect(&r, 0, i, get(&in[0], i) + get(&in[1], i), 0);
			expect(&r, 1, i, get(&in[3], i) != 0 ? get(&in[2], i) : get(&in[2], i) * 2, 0);
			expect(&r, 2, i, get(&in[3], i) != 0, 0);
			expect(&r, 3, i, b > 127 ? 127 : b < -128 ? -128 : b, 0);
		}
}

static void test_views(unsigned seed)
{
	gx_array in[3] = {array_of("a", GX_FLOAT32, 0, SHAPE(37, 53)),
		array_of("b", GX_FLOAT32, 0, SHAPE(53, 37)), array_of("r", GX_FLOAT32, 0, SHAPE(53))};
	struct result r;

	if (run(&r, seed,
			"x = a + b.T; y = a[::2, ::-1] * 2; z = a * r + a[:, 0:1]; s = r[1:] - r[:-1]; u = a[5, 7] + r[-1]",
			in, 3)) {
		for (size_t i = 0; i < 37; i++)
			for (size_t j = 0; j < 53; j++) {
				double a = get(&in[0], i * 53 + j);

				expect(&r, 0, i * 53 + j, (float)(a + get(&in[1], j * 37 + i)), 0);
				if (i % 2 == 0)
					expect(&r, 1, i / 2 * 53 + j, 2 * get(&in[0], i * 53 + 52 - j), 0);
				expect(&r, 2, i * 53 + j, a * get(&in[2], j) + get(&in[0], i * 53), 1e-6);
			}
		for (size_t j = 0; j < 52; j++)
			expect(&r, 3, j, (float)(get(&in[2], j + 1) - get(&in[2], j)), 0);
		expect(&r, 4, 0, (float)(get(&in[0], 5 * 53 + 7) + get(&in[2], 52)), 0);
	}
}

static void test_shapes(unsigned seed)
{
	gx_array in[3] = {array_of("a", GX_FLOAT64, 0, SHAPE(3, 4, 5)),
		array_of("b", GX_FLOAT64, 0, SHAPE(4, 1)), array_of("c", GX_FLOAT64, 0, 0, NULL)};
	struct result r;

	if (run(&r, seed, "x = transpose(a, 2, 0, 1) + c; y = a + b; z = c * 2; i = arange(10) * 3 + 1", in,
			3)) {
		for (size_t k = 0; k < 60; k++) {
			size_t i = k / 20, j = k / 5 % 4, l = k % 5;

			expect(&r, 0, (l * 3 + i) * 4 + j, get(&in[0], k) + get(&in[2], 0), 0);
			expect(&r, 1, k, get(&in[0], k) + get(&in[1], j), 0);
		}
		expect(&r, 2, 0, 2 * get(&in[2], 0), 0);
		for (size_t i = 0; i < 10; i++)
			expect(&r, 3, i, (double)(3 * i + 1), 0);
	}
}

/* ---- gathers ---- */

static void test_gather(unsigned seed)
{
	gx_array in[2] = {array_of("a", GX_FLOAT32, 0, SHAPE(1000)), array_of("i", GX_INT64, 0, SHAPE(40, 70))};
	struct result r;

	for (size_t k = 0; k < 2800; k++)
		set(&in[1], k, (double)((k * 7919) % 2000) - 1000);
	if (run(&r, seed, "x = a[i] * 2; s = sum(a[i])", in, 2)) {
		double sum = 0;

		for (size_t k = 0; k < 2800; k++) {
			int64_t i = (int64_t)get(&in[1], k);
			double v = get(&in[0], (size_t)(i < 0 ? i + 1000 : i));

			expect(&r, 0, k, 2 * v, 0);
			sum += v;
		}
		expect(&r, 1, 0, sum, 1e-6);
	}
	for (int bad = 0; bad < 2 && !collecting; bad++) {
		set(&in[1], 2500, 1000);
		set(&in[1], (size_t)(bad ? 1234 : 2600), -1001);
		run(&r, seed, "x = a[i] * 2; s = sum(a[i])", in, 2);
		check(r.status == EMULATE_CHECK && r.failure.position == (bad ? 1234 : 2500) &&
				r.failure.value == (bad ? -1001 : 1000),
			"bad index: status %d position %lld value %lld", r.status, (long long)r.failure.position,
			(long long)r.failure.value);
	}
}

/* More arguments than a launch takes by value. */
static void test_many(unsigned seed)
{
	static char name[650][16];
	static gx_array in[650];
	struct buf text = {0};
	struct result r;

	buf_str(&text, "x = 0");
	for (int i = 0; i < 650; i++) {
		snprintf(name[i], sizeof name[i], "a%d", i);
		in[i] = array_of(name[i], GX_FLOAT32, i % 3, SHAPE(10));
		buf_fmt(&text, " + a%d", i);
	}
	if (run(&r, seed, text.text, in, 650))
		for (size_t k = 0; k < 10; k++) {
			float s = 0;

			for (int i = 0; i < 650; i++)
				s += (float)get(&in[i], k);
			expect(&r, 0, k, s, 0);
		}
	buf_free(&text);
}

/* ---- texts ---- */

/* The text must not know sizes: same text for other extents and strides; and it is generated in linear
 * time. */
static void test_texts(unsigned seed)
{
	gx_array a[1] = {array_of("a", GX_FLOAT32, 0, SHAPE(100, 40))},
			 b[1] = {array_of("a", GX_FLOAT32, 0, SHAPE(170, 90))};
	const char *program = "x = a[::3] * 2; y = sum(a, axis=1); z = a.T + 1";
	struct front *f, *g;

	if (collecting || seed)
		return;
	f = front_open(program, a, 1);
	g = front_open(program, b, 1);
	for (int k = 0; f && g && k < front_plan(f)->nkernel; k++) {
		struct cuda_text t, u;

		cuda_text_make(front_plan(f), &(struct unit){&front_plan(f)->kernel[k], 1, NULL}, GX_MATH_STRICT, &t);
		cuda_text_make(front_plan(g), &(struct unit){&front_plan(g)->kernel[k], 1, NULL}, GX_MATH_STRICT, &u);
		check(
			strcmp(t.text.text, u.text.text) == 0, "kernel %d of `%s` depends on the extents", k, program);
		cuda_text_free(&t);
		cuda_text_free(&u);
	}
	front_free(f);
	front_free(g);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_long(unsigned seed)
{
	struct step *step = calloc(20000, sizeof *step);
	struct port port[2] = {{.buf = 0, .access = {.stride = {1}}}, {.buf = 1, .access = {.stride = {1}}}};
	struct kbuf buf[2] = {{BUF_INPUT, 0, GX_FLOAT32, 0}, {BUF_OUTPUT, 0, GX_FLOAT32, 1}};
	struct kernel k = {.rank = 1,
		.nkept = 1,
		.extent = {10},
		.nmap = 10,
		.nreduce = 1,
		.body = {step, 20000},
		.port = port,
		.nport = 2,
		.buf = buf,
		.nbuf = 2,
		.title = "*/ \"evil\" \\ title /*"};
	struct plan p = {.kernel = &k, .nkernel = 1};
	struct cuda_text t;
	double start = seconds();

	step[0] = (struct step){.kind = STEP_LOAD, .type = GX_FLOAT32};
	for (unsigned i = 1; i < 19999; i++)
		step[i] =
			(struct step){.kind = STEP_OP, .type = GX_FLOAT32, .op = OP_ADD, .nargs = 2, .arg = {i - 1, 0}};
	step[19999] =
		(struct step){.kind = STEP_STORE, .type = GX_FLOAT32, .nargs = 1, .arg = {19998}, .port = 1};
	if (!collecting && !seed) {
		check(cuda_text_make(&p, &(struct unit){&k, 1, NULL}, GX_MATH_STRICT, &t) == 0, "20,000 steps");
		check(t.text.len < 2000000 && seconds() - start < 2, "20,000 steps in linear time");
		check(strstr(t.text.text, "*/") == t.text.text + strcspn(t.text.text, "\n") - 2,
			"the title stays inside its comment");
		cuda_text_free(&t);
		check(cuda_text_limit(&(struct unit){&k, 1, NULL}) == NULL, "20,000 steps are allowed");
		k.body.n++;
		check(cuda_text_limit(&(struct unit){&k, 1, NULL}) != NULL, "20,001 steps are not");
	}
	free(step);
}

test_function *const map_tests[] = {
	test_elementwise,
	test_types,
	test_mixed,
	test_views,
	test_shapes,
	test_gather,
	test_many,
	test_texts,
	test_long,
	NULL,
};
