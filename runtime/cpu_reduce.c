/* cpu_reduce.c -- reducing kernels on the CPU, in one of two orders of points.
 *
 * rows: reduced axes are the fastest; a block lies in one or a few rows, and each row's part of it is folded into the row's accumulator.
 * columns: kept axes are the fastest; a block is a piece of one or a few rows of outputs, and is folded into them value by value.
 * Long reductions are cut into parts of a fixed number of points; parts have accumulators of their own, which are put together in a tree,
 * in order. MOMENTS are merged by Chan, Golub and LeVeque's formula; a block's own moments are computed in two passes. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/cpu.h"

enum { STRIP = 1 << 13 };        /* most accumulators of a task: they should stay in the second-level cache */

struct reduce {
	const struct kernel_run *run;
	const struct kernel *k;
	struct machine m;
	int columns;
	int64_t parts, per_part;     /* parts of each output; reduced points of a part */
	int64_t outputs;             /* outputs of a task */
	struct accumulators acc;     /* [output * parts + part] */
	struct registers *r;         /* per worker */
	uint8_t *ready;
	int failed;
	const struct step **fold;    /* the body's FOLD steps */
	const struct step_plan **plan;
};

static int state_of(const struct kernel *k, int f)
{
	return red_table[k->fold[f].red].state;
}

static size_t size_of(const struct kernel *k, int f)
{
	return type_table[k->fold[f].type].bytes;
}

/* ---- accumulators ---- */

static int acc_make(const struct kernel *k, struct accumulators *a, int64_t count)
{
	size_t n = (size_t)k->nfold + 1, c = (size_t)count + 1;

	a->count = count;
	a->value = gx_calloc(n, sizeof *a->value);
	a->position = gx_calloc(n, sizeof *a->position);
	a->number = gx_calloc(n, sizeof *a->number);
	a->mean = gx_calloc(n, sizeof *a->mean);
	if (!a->value || !a->position || !a->number || !a->mean)
		return -1;
	for (int f = 0; f < k->nfold; f++) {
		int state = state_of(k, f);

		a->value[f] = gx_calloc(c, 8);
		a->position[f] = state == PAIR ? gx_malloc(c * 8) : NULL;
		a->number[f] = state == MOMENTS ? gx_calloc(c, 8) : NULL;
		a->mean[f] = state == MOMENTS ? gx_calloc(c, 8) : NULL;
		if (!a->value[f] || (state == PAIR && !a->position[f]) || (state == MOMENTS && (!a->number[f] || !a->mean[f])))
			return -1;
		if (state == ONE)
			loop_identity(k->fold[f].red, k->fold[f].type)(a->value[f], (size_t)count);
		for (int64_t i = 0; state == PAIR && i < count; i++)
			a->position[f][i] = -1;
	}
	return 0;
}

static void acc_free(const struct kernel *k, struct accumulators *a)
{
	for (int f = 0; f < k->nfold; f++) {
		if (a->value)
			free(a->value[f]);
		if (a->position)
			free(a->position[f]);
		if (a->number)
			free(a->number[f]);
		if (a->mean)
			free(a->mean[f]);
	}
	free(a->value);
	free(a->position);
	free(a->number);
	free(a->mean);
}

static void merge_moments(double *n, double *mean, double *m2, double nb, double meanb, double m2b)
{
	double all = *n + nb, d = meanb - *mean;

	if (nb == 0)
		return;
	if (*n == 0) {
		*n = nb;
		*mean = meanb;
		*m2 = m2b;
		return;
	}
	*mean += d * (nb / all);
	*m2 += m2b + d * d * (*n * nb / all);
	*n = all;
}

/* Accumulator `from` into accumulator `to`. */
static void merge(const struct kernel *k, struct accumulators *a, int64_t to, int64_t from)
{
	for (int f = 0; f < k->nfold; f++) {
		enum red red = k->fold[f].red;
		gx_dtype t = k->fold[f].type;
		char *v = a->value[f];
		double *m2 = a->value[f];

		switch (state_of(k, f)) {
		case ONE:
			loop_zip(red, t)(v + (size_t)to * size_of(k, f), v + (size_t)from * size_of(k, f), 1);
			break;
		case PAIR:
			loop_pair_zip(red, t)(v + (size_t)to * size_of(k, f), &a->position[f][to],
			                      v + (size_t)from * size_of(k, f), &a->position[f][from], 1);
			break;
		default:
			merge_moments(&a->number[f][to], &a->mean[f][to], &m2[to], a->number[f][from], a->mean[f][from], m2[from]);
		}
	}
}

/* The parts of every output into its first, as a binary tree; then the firsts to the front. */
static void merge_parts(struct reduce *q)
{
	const struct kernel *k = q->k;

	for (int64_t o = 0; o < k->nmap; o++) {
		for (int64_t h = 1; h < q->parts; h *= 2)
			for (int64_t p = 0; p + h < q->parts; p += 2 * h)
				merge(k, &q->acc, o * q->parts + p, o * q->parts + p + h);
		for (int f = 0; f < k->nfold; f++) {
			char *v = q->acc.value[f];

			memmove(v + (size_t)o * size_of(k, f), v + (size_t)(o * q->parts) * size_of(k, f), size_of(k, f));
			if (q->acc.position[f])
				q->acc.position[f][o] = q->acc.position[f][o * q->parts];
		}
	}
}

/* ---- folding ---- */

/* n values from the block's position `at` into one accumulator. */
static void fold_row(struct reduce *q, int worker, int64_t acc, int at, int n)
{
	struct registers *r = &q->r[worker];

	for (int f = 0; f < q->k->nfold; f++) {
		const struct step *s = q->fold[f];
		gx_dtype t = q->k->fold[f].type;
		enum red red = q->k->fold[f].red;
		const struct step_plan *p = q->plan[f];
		size_t size = size_of(q->k, f);
		char *a = (char *)q->acc.value[f] + (size_t)acc * size, *v = (char *)r->value[p->arg[0]] + (size_t)at * (p->narrow ? 4 : size);
		double mean, m2;

		switch (state_of(q->k, f)) {
		case ONE:
			(p->narrow ? loop_fold_sum_f32() : loop_fold(red, t))(a, v, (size_t)n);
			break;
		case PAIR:
			loop_pair_fold(red, t)(a, &q->acc.position[f][acc], v, (long long *)r->value[s->arg[1]] + at, (size_t)n);
			break;
		default:
			loop_moments()((double *)v, (size_t)n, &mean, &m2);
			merge_moments(&q->acc.number[f][acc], &q->acc.mean[f][acc], (double *)a, n, mean, m2);
		}
	}
}

/* n values from the block's position `at` into the n accumulators from `acc` on. */
static void fold_columns(struct reduce *q, struct registers *r, struct accumulators *to, int64_t acc, int at, int n)
{
	for (int f = 0; f < q->k->nfold; f++) {
		const struct step *s = q->fold[f];
		gx_dtype t = q->k->fold[f].type;
		enum red red = q->k->fold[f].red;
		const struct step_plan *p = q->plan[f];
		size_t size = size_of(q->k, f);
		char *a = (char *)to->value[f] + (size_t)acc * size, *v = (char *)r->value[p->arg[0]] + (size_t)at * (p->narrow ? 4 : size);

		switch (state_of(q->k, f)) {
		case ONE:
			(p->narrow ? loop_zip_sum_f32() : loop_zip(red, t))(a, v, (size_t)n);
			break;
		case PAIR:
			loop_pair_zip(red, t)(a, &to->position[f][acc], v, (long long *)r->value[s->arg[1]] + at, (size_t)n);
			break;
		default:
			loop_moments_zip()(to->number[f][acc] + 1, &to->mean[f][acc], (double *)a, (double *)v, (size_t)n);
			for (int i = 0; i < n; i++)
				to->number[f][acc + i]++;
		}
	}
}

static int prepare(struct reduce *q, int worker)
{
	if (!q->ready[worker]) {
		q->ready[worker] = 1;
		if (registers_make(&q->m, &q->r[worker]))
			__atomic_store_n(&q->failed, 1, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&q->failed, __ATOMIC_RELAXED);
}

/* Points lo..hi of the row order belong to outputs lo / nreduce ...; with parts, the task is one part of one output. */
static void row_task(void *arg, int64_t task, int worker)
{
	struct reduce *q = arg;
	const struct kernel *k = q->k;
	int64_t lo, hi, at;

	if (prepare(q, worker))
		return;
	if (q->parts > 1) {
		lo = task / q->parts * k->nreduce + task % q->parts * q->per_part;
		hi = lo + q->per_part < (task / q->parts + 1) * k->nreduce ? lo + q->per_part : (task / q->parts + 1) * k->nreduce;
	} else {
		lo = task * q->outputs * k->nreduce;
		hi = (task + 1) * q->outputs < k->nmap ? (task + 1) * q->outputs * k->nreduce : k->nmap * k->nreduce;
	}
	for (at = lo; at < hi;) {
		int n = machine_next(&q->m, hi - at), done = 0;

		machine_block(&q->m, &q->r[worker], at, n);
		while (done < n) {
			int64_t output = (at + done) / k->nreduce, left = (output + 1) * k->nreduce - (at + done);
			int run = left < n - done ? (int)left : n - done;

			fold_row(q, worker, q->parts > 1 ? task : output, done, run);
			done += run;
		}
		at += n;
	}
}

/* `left` points from `at` on: rows of `width` values for as many accumulators. */
static void column_run(struct reduce *q, int worker, int64_t acc, int64_t at, int64_t width, int64_t left)
{
	int64_t column = 0;

	while (left > 0) {
		int n = machine_next(&q->m, left), done = 0;

		machine_block(&q->m, &q->r[worker], at, n);
		while (done < n) {
			int run = width - column < n - done ? (int)(width - column) : n - done;

			fold_columns(q, &q->r[worker], &q->acc, acc + column, done, run);
			done += run;
			column = column + run == width ? 0 : column + run;
		}
		at += n;
		left -= n;
	}
}

/* Outputs m0..m1 over the reduced points of one part. Accumulators of the strip lie side by side: [part * nmap + output]. */
static void column_task(void *arg, int64_t task, int worker)
{
	struct reduce *q = arg;
	const struct kernel *k = q->k;
	int64_t strips = (k->nmap + q->outputs - 1) / q->outputs, part = task / strips, m0 = task % strips * q->outputs;
	int64_t m1 = m0 + q->outputs < k->nmap ? m0 + q->outputs : k->nmap, r0 = part * q->per_part;
	int64_t r1 = r0 + q->per_part < k->nreduce ? r0 + q->per_part : k->nreduce;
	int64_t width = m1 - m0, rows = width == k->nmap ? r1 - r0 : 1;   /* rows that are neighbours are one run of points */

	if (prepare(q, worker))
		return;
	for (int64_t r = r0; r < r1; r += rows)
		column_run(q, worker, part * k->nmap + m0, r * k->nmap + m0, width, rows * width);
}

static void merge_column_parts(struct reduce *q)
{
	for (int64_t h = 1; h < q->parts; h *= 2)
		for (int64_t p = 0; p + h < q->parts; p += 2 * h)
			for (int64_t o = 0; o < q->k->nmap; o++)
				merge(q->k, &q->acc, p * q->k->nmap + o, (p + h) * q->k->nmap + o);
}

/* ---- the kernel ---- */

static void cut(struct reduce *q)
{
	const struct kernel *k = q->k;

	q->parts = 1;
	q->per_part = k->nreduce;
	if (q->columns) {
		q->per_part = 1024;   /* summed one after the other: few, so that the error stays small */
		if (k->nreduce > q->per_part)
			q->parts = (k->nreduce + q->per_part - 1) / q->per_part;
		while (q->parts > 64 && q->parts * k->nmap > 1 << 20) {   /* few accumulators beat many parts */
			q->per_part *= 2;
			q->parts = (k->nreduce + q->per_part - 1) / q->per_part;
		}
		/* whole rows are one stream of memory; narrower strips only to have work for all threads (no result depends on them) */
		q->outputs = (k->nmap * q->parts / (4 * threads_count(q->run->e->threads)) + FOLD_BLOCK - 1) / FOLD_BLOCK * FOLD_BLOCK;
		q->outputs = q->outputs > STRIP ? STRIP : q->outputs < FOLD_BLOCK ? FOLD_BLOCK : q->outputs;
		q->outputs = k->nmap < q->outputs ? k->nmap : q->outputs;
		return;
	}
	q->outputs = k->nreduce ? CHUNK / k->nreduce : CHUNK;
	q->outputs = q->outputs < 1 ? 1 : q->outputs;
	if (k->nreduce > CHUNK) {
		q->per_part = CHUNK;
		q->parts = (k->nreduce + CHUNK - 1) / CHUNK;
	}
}

static gx_status run_tail(struct reduce *q)
{
	static const int order[MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct machine tail;
	gx_status s = GX_NOMEM;

	if (!machine_make(&tail, q->run, &q->k->tail, q->k->nkept, order, q->k->nmap, 0)) {
		tail.result = &q->acc;
		s = machine_run(q->run->e, &tail, q->k->nmap);
	}
	machine_free(&tail);
	return s;
}

static void find_folds(struct reduce *q)
{
	for (int i = 0; i < q->k->body.n; i++)
		if (q->k->body.step[i].kind == STEP_FOLD) {
			q->fold[q->k->body.step[i].index] = &q->k->body.step[i];
			q->plan[q->k->body.step[i].index] = &q->m.step[i];
		}
}

static void fold_all(struct reduce *q)
{
	int64_t tasks = q->columns ? (q->k->nmap + q->outputs - 1) / q->outputs * q->parts
		: q->parts > 1 ? q->k->nmap * q->parts : (q->k->nmap + q->outputs - 1) / q->outputs;

	if (q->k->nreduce == 0)
		return;
	threads_run(q->run->e->threads, tasks, q->columns ? column_task : row_task, q);
	if (q->failed || q->parts == 1)
		return;
	if (q->columns)
		merge_column_parts(q);
	else
		merge_parts(q);
}

gx_status cpu_reduce(const struct kernel_run *run)
{
	const struct kernel *k = run->k;
	struct reduce q = {.run = run, .k = k};
	int workers = threads_count(run->e->threads), order[MAX_RANK];
	gx_status s = GX_NOMEM;

	if (k->nmap == 0)
		return GX_OK;
	q.columns = !k->inner && k->nmap > 1;
	for (int a = 0; a < k->rank; a++)   /* columns: reduced axes first */
		order[a] = !q.columns ? a : a < k->rank - k->nkept ? k->nkept + a : a - (k->rank - k->nkept);
	q.r = gx_calloc((size_t)workers, sizeof *q.r);
	q.ready = gx_calloc((size_t)workers, 1);
	q.fold = gx_calloc((size_t)k->nfold + 1, sizeof *q.fold);
	q.plan = gx_calloc((size_t)k->nfold + 1, sizeof *q.plan);
	if (!machine_make(&q.m, run, &k->body, k->rank, order, k->nmap * k->nreduce, FOLD_BLOCK) && q.r && q.ready && q.fold && q.plan) {
		cut(&q);
		find_folds(&q);
		if (!acc_make(k, &q.acc, k->nmap * q.parts)) {
			fold_all(&q);
			s = q.failed ? GX_NOMEM : run_tail(&q);
		}
		acc_free(k, &q.acc);
	}
	for (int i = 0; i < workers && q.r && q.ready; i++)
		if (q.ready[i])
			registers_free(&q.r[i]);
	machine_free(&q.m);
	free(q.r);
	free(q.ready);
	free(q.fold);
	free(q.plan);
	return s;
}
