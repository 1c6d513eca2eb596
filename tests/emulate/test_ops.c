/* test_ops.c -- every operation, cast and fold of the table, in each type, in kernels made by hand; and the
 * emulator itself, which must notice defects that are put into a kernel on purpose.
 *
 * Input repeats with a period that no tile length divides, so each element is computed by several lanes of
 * vectors, and the last ones by the loop for the remainder: all must agree to the bit. (What the right
 * value is, the tests against NumPy say.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulate/harness.h"

enum { N = 16384 + 777, PERIOD = 97, PARTS = 200 };

static const gx_dtype registers[] = {GX_BOOL, GX_INT8, GX_INT16, GX_INT32, GX_INT64, GX_UINT8, GX_UINT16,
	GX_UINT32, GX_UINT64, GX_FLOAT32, GX_FLOAT64};
enum { NREGISTERS = sizeof registers / sizeof *registers };

/* A kernel under construction: two inputs of one type and a bool one, an output for each value. */
struct made {
	struct plan plan;
	struct kernel k;
	struct step step[3 * PARTS], tail[2 * PARTS];
	struct port port[PARTS];
	struct kbuf buf[PARTS];
	struct fold fold[NREDS];
	int nvalues;
};

static unsigned step_add(struct made *m, struct step s)
{
	m->step[m->k.body.n] = s;
	return (unsigned)m->k.body.n++;
}

static int port_add(struct made *m, enum buf_kind kind, int number, gx_dtype t, int in_tail)
{
	m->buf[m->k.nbuf++] = (struct kbuf){kind, number, t, kind == BUF_OUTPUT};
	m->port[m->k.nport] = (struct port){.buf = m->k.nbuf - 1, .in_tail = in_tail};
	if (!in_tail)
		m->port[m->k.nport].access.stride[0] = 1;
	return m->k.nport++;
}

static void start(struct made *m, gx_dtype t)
{
	memset(m, 0, sizeof *m);
	m->k = (struct kernel){.rank = 1,
		.nkept = 1,
		.extent = {N},
		.nmap = N,
		.nreduce = 1,
		.body = {m->step, 0},
		.tail = {m->tail, 0},
		.port = m->port,
		.buf = m->buf,
		.fold = m->fold,
		.title = "all"};
	m->plan = (struct plan){.kernel = &m->k, .nkernel = 1, .ninput = 3};
	for (int i = 0; i < 3; i++) {
		gx_dtype mem = i < 2 ? t : GX_BOOL;

		step_add(m,
			(struct step){.kind = STEP_LOAD,
				.type = (uint8_t)mem,
				.port = (uint32_t)port_add(m, BUF_INPUT, i, mem, 0)});
	}
}

static void keep_value(struct made *m, unsigned v, gx_dtype t)
{
	int port = port_add(m, BUF_OUTPUT, m->nvalues++, t, 0);

	step_add(m,
		(struct step){
			.kind = STEP_STORE, .type = (uint8_t)t, .nargs = 1, .arg = {v}, .port = (uint32_t)port});
}

static void make_ops(struct made *m, gx_dtype t)
{
	start(m, t);
	for (int op = 1; op < NOPS; op++) {
		const struct op_info *o = &op_table[op];
		struct step s = {.kind = STEP_OP,
			.op = (uint16_t)op,
			.nargs = o->arity,
			.type = o->result == TEST ? GX_BOOL : (uint8_t)t};

		if (!type_has(t, o->cls))
			continue;
		s.arg[0] = o->flags & COND ? 2 : 0;
		s.arg[1] = o->flags & COND ? 0 : 1;
		s.arg[2] = 1;
		keep_value(m, step_add(m, s), (gx_dtype)s.type);
	}
	for (int i = 0; i < NREGISTERS; i++)
		if (registers[i] != t)
			keep_value(m,
				step_add(m, (struct step){.kind = STEP_CAST, .type = (uint8_t)registers[i], .nargs = 1}),
				registers[i]);
}

/* All folds that take t, over everything; a position where one is wanted. Moments are of float64. */
static void make_folds(struct made *m, gx_dtype t)
{
	unsigned at;

	start(m, t);
	m->k.reduces = m->k.inner = 1;
	m->k.nkept = 0;
	m->k.nmap = 1;
	m->k.nreduce = N;
	m->port[m->k.nport] = (struct port){.buf = -1, .access = {.stride = {1}}};
	at = step_add(m, (struct step){.kind = STEP_IOTA, .type = GX_INT64, .port = (uint32_t)m->k.nport++});
	for (int red = 1; red < NREDS; red++) {
		int state = red_table[red].state, n = m->k.nfold;
		gx_dtype result = state == PAIR ? GX_INT64 : t;
		int port;

		if (!type_has(t, red_table[red].cls) || (state == MOMENTS && t != GX_FLOAT64))
			continue;
		m->fold[m->k.nfold++] = (struct fold){(enum red)red, t};
		step_add(m,
			(struct step){.kind = STEP_FOLD,
				.type = (uint8_t)t,
				.index = (uint16_t)n,
				.nargs = state == PAIR ? 2 : 1,
				.arg = {0, at}});
		port = port_add(m, BUF_OUTPUT, m->nvalues++, result, 1);
		m->tail[m->k.tail.n] =
			(struct step){.kind = STEP_RESULT, .type = (uint8_t)result, .index = (uint16_t)n};
		m->tail[m->k.tail.n + 1] = (struct step){.kind = STEP_STORE,
			.type = (uint8_t)result,
			.nargs = 1,
			.arg = {(uint32_t)m->k.tail.n},
			.port = (uint32_t)port};
		m->k.tail.n += 2;
	}
}

static struct made *ops[NREGISTERS], *folds[NREGISTERS];

static void make_all(void)
{
	const struct plan *plan[2 * NREGISTERS];

	for (int i = 0; i < NREGISTERS; i++) {
		ops[i] = malloc(sizeof *ops[i]);
		folds[i] = malloc(sizeof *folds[i]);
		make_ops(ops[i], registers[i]);
		make_folds(folds[i], registers[i]);
		plan[2 * i] = &ops[i]->plan;
		plan[2 * i + 1] = &folds[i]->plan;
	}
	for (int i = 0; i < 2 * NREGISTERS; i += 6)
		check(
			emulate_prepare(plan + i, 2 * NREGISTERS - i < 6 ? 2 * NREGISTERS - i : 6, GX_MATH_STRICT) == 0,
			"%s", emulate_error());
}

static void run_made(struct made *m, gx_dtype t, unsigned seed, void **output, struct plan_output *info)
{
	gx_array in[3] = {
		array_of("a", t, 0, SHAPE(N)), array_of("b", t, 1, SHAPE(N)), array_of("m", GX_BOOL, 0, SHAPE(N))};
	void *input[3] = {in[0].data, in[1].data, in[2].data};
	struct emulate_options o = {.seed = seed};
	struct run_arrays arrays = {input, output};
	struct run_failure f;

	for (int a = 0; a < 3; a++)
		for (size_t i = PERIOD; i < N; i++)
			set(&in[a], i, get(&in[a], i % PERIOD));
	for (int b = 0; b < m->k.nbuf; b++)
		if (m->buf[b].written)
			info[m->buf[b].number].mem = m->buf[b].mem;
	for (int v = 0; v < m->nvalues; v++)
		output[v] = malloc((m->k.reduces ? 1 : N) * gx_dtype_size(info[v].mem));
	check(emulate_run(&m->plan, &arrays, &f, &o) == EMULATE_OK, "all of %s: %s", type_table[t].name,
		emulate_error());
}

static void test_all_ops(unsigned seed)
{
	if (collecting) {
		make_all();
		return;
	}
	for (int i = 0; i < NREGISTERS; i++) {
		void *output[PARTS];
		struct plan_output info[PARTS];
		int bad = 0;

		run_made(ops[i], registers[i], seed, output, info);
		for (int v = 0; v < ops[i]->nvalues; v++) {
			size_t size = gx_dtype_size(info[v].mem);

			for (size_t e = PERIOD; e < N; e++)
				bad +=
					memcmp((char *)output[v] + e * size, (char *)output[v] + e % PERIOD * size, size) != 0;
			free(output[v]);
		}
		check(bad == 0, "operations on %s: %d elements depend on their place",
			type_table[registers[i]].name, bad);
	}
}

/* Two orders of blocks and warps: the same bits. */
static void test_all_folds(unsigned seed)
{
	for (int i = 0; i < NREGISTERS && !collecting && seed == 0; i++) {
		void *output[2][PARTS];
		struct plan_output info[PARTS];

		run_made(folds[i], registers[i], 11, output[0], info);
		run_made(folds[i], registers[i], 12, output[1], info);
		for (int v = 0; v < folds[i]->nvalues; v++) {
			free(output[0][v]);
			free(output[1][v]);
		}
	}
	for (int i = 0; i < NREGISTERS && !collecting && seed == SEEDS - 1; i++) {
		free(ops[i]);
		free(folds[i]);
	}
}

/* A child process that is expected to be stopped by a sanitizer; its talk is not wanted. */
static int stopped(const char *program, const char *find, const char *replace)
{
	gx_array in[2] = {array_of("a", GX_FLOAT32, 0, SHAPE(3000)), array_of("b", GX_FLOAT32, 0, SHAPE(3000))};
	struct result r;
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		run_edited(&r, 1, program, in, 2, find, replace);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status != 0;
}

static void test_defects(unsigned seed)
{
	gx_array in[1] = {array_of("a", GX_FLOAT64, 0, SHAPE(30000))};
	const char *sum = "sum(a)";
	struct result r;
	int wrong = 0;

	if (collecting || seed)
		return;
	check(run_edited(&r, 1, sum, in, 1, "__syncthreads();", "if (threadIdx.x < 128) __syncthreads();") ==
			EMULATE_BROKEN,
		"a barrier that half of the threads reach is not noticed");
	for (unsigned s = 0; s < 5; s++) {
		run_edited(&r, s, sum, in, 1, "__syncthreads();", "");
		wrong += memcmp(r.out[0].data, &(double){reference_sum(in, 0, 30000, 1)}, 4) != 0;
	}
	check(wrong > 0, "missing barriers are not noticed");
	check(run_edited(&r, 1, sum, in, 1, "A.counters[strip] = 0;", ";") == EMULATE_BROKEN,
		"a counter that is left behind is not noticed");
#ifdef __SANITIZE_ADDRESS__
	check(stopped("a + b", "i < A.nmap", "i <= A.nmap"), "a store past the end is not noticed");
	check(stopped("a + b", "tiles = A.nmap", "tiles = 1 + A.nmap"), "a tile past the end is not noticed");
	check(!stopped("a + b", "i < A.nmap", "(i < A.nmap)"), "a sound kernel is stopped");
#else
	(void)stopped;
#endif
}

test_function *const op_tests[] = {test_all_ops, test_all_folds, test_defects, NULL};
