/* cpu_scan.c -- scanning kernels on the CPU: the body's values of a block, folded step by step, then the tail at the same points.
 *
 * rows: the scanned axis is the fastest. columns: kept axes are the fastest, and a row of values goes into as many running folds.
 * The order of float sums and products depends on shapes alone: a row is cut into units of SCAN_UNIT elements, counted from its start;
 * inside a unit elements are folded one after the other, and each is then folded with the carry, which is what all units before it
 * gave. Carries of float sums are kept in two numbers (Knuth's two-sum), so that their error does not grow with the length. Long rows
 * are cut into parts of a fixed number of points: a first pass folds each part, and the parts before it give a part its first carry. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/cpu_carry.h"

enum { STRIP = 2048, FEW_ROWS = 64, FEW_COLUMNS = 512 };

/* One thread's. */
struct worker {
	struct registers body, tail;
	struct carries *run;         /* per fold: `width` of them */
	void **room, **out;          /* per fold: memory for a block's folds so far; where they are */
	int ready;
};

struct scan {
	const struct kernel_run *run;
	const struct kernel *k;
	struct machine body, tail;
	int columns, failed;
	int64_t parts, per_part;     /* parts of each row; their points */
	int64_t outputs;             /* rows (columns: neighbouring ones) of a task */
	int64_t width;               /* running folds of a worker */
	int totals;                  /* 1: the first pass */
	int64_t first;               /* the first part of the group at hand */
	struct carries *part;        /* per fold: [output * parts + part], columns: [part * nmap + output]; carry and low */
	struct carries *chain;       /* per fold: of the parts so far; columns: for every output */
	struct worker *worker;
	const struct step_plan **plan;   /* per fold: its step's */
	int *stored;                 /* per fold: 1 + the step of the tail that stores it as it is, 0 = none */
};

static const struct fold *fold_at(const struct scan *q, int f)
{
	return &q->k->fold[f];
}

static size_t size_of(const struct scan *q, int f)
{
	return type_table[fold_at(q, f)->type].bytes;
}

/* Rows of reductions.def that any order gives the same bits of need no units in columns. */
static int in_units(const struct scan *q, int f)
{
	return fold_at(q, f)->type == GX_FLOAT64 && (fold_at(q, f)->red == RED_SUM || fold_at(q, f)->red == RED_PROD);
}

/* ---- carries ---- */

/* Start n running folds; with parts, from the carries of number `from` on. */
static void start(struct scan *q, struct worker *w, int64_t from, int64_t n)
{
	for (int f = 0; f < q->k->nfold; f++) {
		struct carries *c = &w->run[f];

		carries_begin(fold_at(q, f), c, n);
		if (q->parts > 1 && !q->totals) {
			memcpy(c->carry, q->part[f].carry + (size_t)from * size_of(q, f), (size_t)n * size_of(q, f));
			memcpy(c->low, q->part[f].low + from, (size_t)n * sizeof *c->low);
		}
		carries_rebase(fold_at(q, f), c, 0, n);
	}
}

/* What the n running folds came to, as totals of parts. */
static void finish(struct scan *q, struct worker *w, int64_t to, int64_t n)
{
	for (int f = 0; f < q->k->nfold; f++) {
		struct carries *c = &w->run[f];

		if (q->columns && in_units(q, f))
			carries_advance(fold_at(q, f), c, 0, c->local, n);
		memcpy(q->part[f].carry + (size_t)to * size_of(q, f), c->carry, (size_t)n * size_of(q, f));
		memcpy(q->part[f].low + to, c->low, (size_t)n * sizeof *c->low);
	}
}

/* Totals of parts first..end to what comes before each part. */
static void chain_parts(struct scan *q, int64_t first, int64_t end)
{
	int64_t n = q->columns ? q->k->nmap : 1;

	for (int f = 0; f < q->k->nfold; f++)
		for (int64_t p = first; p < end; p++) {
			struct carries *c = &q->chain[f], *all = &q->part[f];
			size_t size = size_of(q, f), bytes = (size_t)n * size;
			char *total = all->carry + (size_t)(p * n) * size;
			double *low = all->low + p * n, *more = (double *)c->base;

			if (p % q->parts == 0)
				carries_begin(fold_at(q, f), c, n);
			memcpy(c->local, total, bytes);
			memcpy(more, low, (size_t)n * sizeof *low);
			memcpy(total, c->carry, bytes);
			memcpy(low, c->low, (size_t)n * sizeof *low);
			carries_advance(fold_at(q, f), c, 0, c->local, n);
			for (int64_t i = 0; i < n; i++)
				c->low[i] += more[i];
		}
}

/* ---- rows ---- */

static const char *values_of(const struct scan *q, const struct worker *w, int f, int at)
{
	const struct step_plan *p = q->plan[f];

	return (const char *)w->body.value[p->arg[0]] + (size_t)at * (p->narrow ? 4 : size_of(q, f));
}

/* n values from the block's position `at`, which are those from `place` on in their row. */
static void row_fold(struct scan *q, struct worker *w, int f, int64_t place, int at, int n)
{
	enum red red = fold_at(q, f)->red;
	gx_dtype t = fold_at(q, f)->type;
	int narrow = q->plan[f]->narrow;
	size_t size = size_of(q, f), width = narrow ? 4 : size;
	const char *v = values_of(q, w, f, at);
	char *d = (char *)w->out[f] + (size_t)at * size, unit[8];
	struct carries *c = &w->run[f];

	if (!type_has(t, C_FLT)) {   /* exact and a cycle or two an element: no units */
		loop_scan(red, t)(d, v, (size_t)n, c->carry);
		return;
	}
	while (n > 0) {
		int in = (int)(place % SCAN_UNIT), m = n < SCAN_UNIT - in ? n : SCAN_UNIT - in;

		if (in == 0 && n >= SCAN_UNIT) {
			m = n / SCAN_UNIT * SCAN_UNIT;
			(narrow ? loop_scan_units_sum_f32() : loop_scan_units(red, t))(d, v, (size_t)m, NULL);
			for (char *u = d; u < d + (size_t)m * size; u += SCAN_UNIT * size) {
				memcpy(unit, u + (SCAN_UNIT - 1) * size, size);
				loop_lift(red, t)(u, NULL, SCAN_UNIT, c->base);
				carries_advance(fold_at(q, f), c, 0, unit, 1);
				carries_rebase(fold_at(q, f), c, 0, 1);
			}
		} else {
			(narrow ? loop_scan_sum_f32() : loop_scan(red, t))(d, v, (size_t)m, c->local);
			loop_lift(red, t)(d, NULL, (size_t)m, c->base);
			if (in + m == SCAN_UNIT) {
				carries_advance(fold_at(q, f), c, 0, c->local, 1);
				carries_rebase(fold_at(q, f), c, 0, 1);
				carries_nothing(fold_at(q, f), c->local, 1);
			}
		}
		v += (size_t)m * width;
		d += (size_t)m * size;
		place += m;
		n -= m;
	}
}

/* The first pass: only what all of them come to. */
static void row_total(struct scan *q, struct worker *w, int f, int at, int n)
{
	char total[8];

	carries_nothing(fold_at(q, f), total, 1);
	(q->plan[f]->narrow ? loop_fold_sum_f32() : loop_fold(fold_at(q, f)->red, fold_at(q, f)->type))(total, values_of(q, w, f, at),
		(size_t)n);
	carries_advance(fold_at(q, f), &w->run[f], 0, total, 1);
}

/* The body's values at n points from `at` on; their folds go to where the tail would move them, if it would only do that. */
static void body_block(struct scan *q, struct worker *w, int64_t at, int n)
{
	machine_block(&q->body, &w->body, at, n);
	for (int f = 0; f < q->k->nfold && !q->totals; f++) {
		char *there = q->stored[f] ? machine_target(&q->tail, q->stored[f] - 1, at, n) : NULL;

		w->out[f] = there ? there : w->room[f];
	}
}

static void worker_free(struct scan *q, struct worker *w)
{
	registers_free(&w->body);
	registers_free(&w->tail);
	for (int f = 0; f < q->k->nfold; f++) {
		if (w->run)
			carries_free(&w->run[f]);
		if (w->room)
			free(w->room[f]);
	}
	free(w->run);
	free(w->room);
	free(w->out);
}

static int worker_make(struct scan *q, struct worker *w)
{
	size_t bytes = ((size_t)q->body.block + LOOP_PAD) * 8;

	w->ready = 1;
	w->run = gx_calloc((size_t)q->k->nfold, sizeof *w->run);
	w->room = gx_calloc((size_t)q->k->nfold, sizeof *w->room);
	w->out = gx_calloc((size_t)q->k->nfold, sizeof *w->out);
	if (!w->run || !w->room || !w->out || registers_make(&q->body, &w->body) || registers_make(&q->tail, &w->tail))
		return -1;
	for (int f = 0; f < q->k->nfold; f++) {
		if (carries_make(&w->run[f], q->width) || gx_memalign(&w->room[f], 64, bytes))
			return -1;
		memset(w->room[f], 0, bytes);
	}
	w->tail.scanned = w->out;
	return 0;
}

static struct worker *prepare(struct scan *q, int number)
{
	struct worker *w = &q->worker[number];

	if (!w->ready && worker_make(q, w))
		__atomic_store_n(&q->failed, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(&q->failed, __ATOMIC_RELAXED) ? NULL : w;
}

/* Points lo..hi lie in rows lo / nreduce ...; with parts, the task is one part of one row. */
static void row_task(void *arg, int64_t task, int number)
{
	struct scan *q = arg;
	struct worker *w = prepare(q, number);
	int64_t n = q->k->nreduce, lo, hi, end = q->k->nmap * n;

	if (!w)
		return;
	task += q->first;
	lo = task * q->outputs * n;
	hi = lo + q->outputs * n;
	if (q->parts > 1) {
		lo = task / q->parts * n + task % q->parts * q->per_part;
		hi = lo + q->per_part;
		end = (task / q->parts + 1) * n;
		start(q, w, task, 1);
	}
	hi = hi < end ? hi : end;
	for (int64_t at = lo; at < hi;) {
		int points = machine_next(&q->body, hi - at);

		body_block(q, w, at, points);
		for (int done = 0, run; done < points; done += run) {
			int64_t place = (at + done) % n, left = n - place;

			run = left < points - done ? (int)left : points - done;
			if (place == 0 && q->parts == 1)
				start(q, w, 0, 1);
			for (int f = 0; f < q->k->nfold; f++) {
				if (q->totals)
					row_total(q, w, f, done, run);
				else
					row_fold(q, w, f, place, done, run);
			}
		}
		if (!q->totals)
			machine_block(&q->tail, &w->tail, at, points);
		at += points;
	}
	if (q->totals)
		finish(q, w, task, 1);
}

/* ---- columns ---- */

/* n values from the block's position `at`, into the running folds from `column` on; they are in row `row`. */
static void column_fold(struct scan *q, struct worker *w, int f, int64_t row, int64_t column, int at, int n)
{
	enum red red = fold_at(q, f)->red;
	gx_dtype t = fold_at(q, f)->type;
	size_t size = size_of(q, f), from = (size_t)column * size, bytes = (size_t)n * size;
	char *d = (char *)w->out[f] + (size_t)at * size;
	struct carries *c = &w->run[f];
	int units = in_units(q, f);

	(q->plan[f]->narrow ? loop_zip_sum_f32() : loop_zip(red, t))((units ? c->local : c->carry) + from, values_of(q, w, f, at), (size_t)n);
	if (!q->totals) {
		memcpy(d, (units ? c->base : c->carry) + from, bytes);
		if (units)
			loop_zip(red, t)(d, c->local + from, (size_t)n);
	}
	if (units && row % SCAN_UNIT == SCAN_UNIT - 1) {
		carries_advance(fold_at(q, f), c, column, c->local + from, n);
		carries_rebase(fold_at(q, f), c, column, n);
		carries_nothing(fold_at(q, f), c->local + from, n);
	}
}

/* `left` points from `at` on, `width` of them in each row. */
static void column_run(struct scan *q, struct worker *w, int64_t at, int64_t width, int64_t left)
{
	int64_t row = at / q->k->nmap, column = 0;

	while (left > 0) {
		int points = machine_next(&q->body, left);

		body_block(q, w, at, points);
		for (int done = 0, run; done < points; done += run) {
			run = width - column < points - done ? (int)(width - column) : points - done;
			for (int f = 0; f < q->k->nfold; f++)
				column_fold(q, w, f, row, column, done, run);
			column += run;
			if (column == width) {
				column = 0;
				row++;
			}
		}
		if (!q->totals)
			machine_block(&q->tail, &w->tail, at, points);
		at += points;
		left -= points;
	}
}

/* Columns m0..m1, one part of their rows. */
static void column_task(void *arg, int64_t task, int number)
{
	struct scan *q = arg;
	struct worker *w = prepare(q, number);
	const struct kernel *k = q->k;
	int64_t strips = (k->nmap + q->outputs - 1) / q->outputs, part = q->first + task / strips, m0 = task % strips * q->outputs;
	int64_t m1 = m0 + q->outputs < k->nmap ? m0 + q->outputs : k->nmap, r0 = part * q->per_part;
	int64_t r1 = r0 + q->per_part < k->nreduce ? r0 + q->per_part : k->nreduce;
	int64_t width = m1 - m0, rows = width == k->nmap ? r1 - r0 : 1;   /* rows that are neighbours are one run of points */

	if (!w)
		return;
	start(q, w, part * k->nmap + m0, width);
	for (int64_t r = r0; r < r1; r += rows)
		column_run(q, w, r * k->nmap + m0, width, rows * width);
	if (q->totals)
		finish(q, w, part * k->nmap + m0, width);
}

/* ---- the kernel ---- */

/* Parts depend on the shape alone; how many columns a task takes may depend on the threads: no result depends on it. */
static void cut(struct scan *q)
{
	const struct kernel *k = q->k;
	int64_t threads = threads_count(q->run->e->threads);

	q->parts = q->width = 1;
	q->per_part = k->nreduce;
	if (q->columns) {
		if (k->nmap < FEW_COLUMNS && k->nmap * k->nreduce > CHUNK) {
			q->per_part = (CHUNK / k->nmap + SCAN_UNIT - 1) / SCAN_UNIT * SCAN_UNIT;
			q->parts = (k->nreduce + q->per_part - 1) / q->per_part;
		}
		q->outputs = (k->nmap * q->parts / (4 * threads) + 255) / 256 * 256;
		q->outputs = q->outputs > STRIP ? STRIP : q->outputs < 256 ? 256 : q->outputs;
		q->width = q->outputs = k->nmap < q->outputs ? k->nmap : q->outputs;
		return;
	}
	q->outputs = CHUNK / k->nreduce > 1 ? CHUNK / k->nreduce : 1;
	if (k->nreduce > CHUNK && k->nmap < FEW_ROWS) {
		q->per_part = CHUNK;
		q->parts = (k->nreduce + CHUNK - 1) / CHUNK;
	}
}

static int parts_make(struct scan *q)
{
	int64_t n = q->k->nmap;

	q->part = gx_calloc((size_t)q->k->nfold, sizeof *q->part);
	q->chain = gx_calloc((size_t)q->k->nfold, sizeof *q->chain);
	if (!q->part || !q->chain)
		return -1;
	for (int f = 0; f < q->k->nfold && q->parts > 1; f++)
		if (carries_make(&q->part[f], n * q->parts) || carries_make(&q->chain[f], q->columns ? n : 1))
			return -1;
	return 0;
}

/* Parts are done in groups that stay in the cache between their two passes. */
static void run_tasks(struct scan *q)
{
	const struct kernel *k = q->k;
	struct threads *threads = q->run->e->threads;
	void (*task)(void *, int64_t, int) = q->columns ? column_task : row_task;
	int64_t strips = (k->nmap + q->outputs - 1) / q->outputs, each = q->columns ? strips : 1, group = 4 * threads_count(threads);
	int64_t parts = q->columns ? q->parts : k->nmap * q->parts;

	if (q->parts == 1) {
		threads_run(threads, strips, task, q);
		return;
	}
	for (q->first = 0; q->first < parts && !q->failed; q->first += group) {
		int64_t n = parts - q->first < group ? parts - q->first : group;

		q->totals = 1;
		threads_run(threads, n * each, task, q);
		q->totals = 0;
		if (q->failed)
			return;
		chain_parts(q, q->first, q->first + n);
		threads_run(threads, n * each, task, q);
	}
}

static int machines(struct scan *q)
{
	const struct kernel *k = q->k;
	int order[MAX_RANK];

	q->columns = !k->inner && k->nmap > 1;
	for (int a = 0; a < k->rank; a++)   /* columns: the scanned axis first */
		order[a] = !q->columns ? a : a == 0 ? k->rank - 1 : a - 1;
	if (machine_make(&q->body, q->run, &k->body, k->rank, order, k->nmap * k->nreduce, FOLD_BLOCK))
		return -1;
	return machine_make(&q->tail, q->run, &k->tail, k->rank, order, k->nmap * k->nreduce, FOLD_BLOCK);
}

static void find_folds(struct scan *q)
{
	const struct code *body = &q->k->body, *tail = &q->k->tail;

	for (int i = 0; i < body->n; i++)
		if (body->step[i].kind == STEP_FOLD)
			q->plan[body->step[i].index] = &q->body.step[i];
	for (int i = 0; i < tail->n; i++)
		if (tail->step[i].kind == STEP_STORE && !q->tail.step[i].fn && tail->step[tail->step[i].arg[0]].kind == STEP_RESULT)
			q->stored[tail->step[tail->step[i].arg[0]].index] = i + 1;
}

gx_status cpu_scan(const struct kernel_run *run)
{
	const struct kernel *k = run->k;
	struct scan q = {.run = run, .k = k};
	int workers = threads_count(run->e->threads);
	gx_status s = GX_NOMEM;

	if (k->nmap == 0 || k->nreduce == 0)
		return GX_OK;
	q.worker = gx_calloc((size_t)workers, sizeof *q.worker);
	q.plan = gx_calloc((size_t)k->nfold + 1, sizeof *q.plan);
	q.stored = gx_calloc((size_t)k->nfold + 1, sizeof *q.stored);
	if (q.worker && q.plan && q.stored && !machines(&q)) {
		cut(&q);
		find_folds(&q);
		if (!parts_make(&q)) {
			run_tasks(&q);
			s = q.failed ? GX_NOMEM : GX_OK;
		}
	}
	for (int i = 0; i < workers && q.worker; i++)
		if (q.worker[i].ready)
			worker_free(&q, &q.worker[i]);
	for (int f = 0; f < k->nfold && q.part && q.chain; f++) {
		carries_free(&q.part[f]);
		carries_free(&q.chain[f]);
	}
	machine_free(&q.body);
	machine_free(&q.tail);
	free(q.part);
	free(q.chain);
	free(q.worker);
	free(q.plan);
	free(q.stored);
	return s;
}
