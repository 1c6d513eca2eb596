/* cpu.c -- the CPU engine: runs the kernels of a plan in order. Work is cut into chunks of a fixed number of points, so results do not
 * depend on the number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/cpu.h"

struct cpu_engine *cpu_open(int threads)
{
	struct cpu_engine *e = gx_calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->threads = threads_new(threads);
	if (!e->threads) {
		free(e);
		return NULL;
	}
	int n = threads_count(e->threads);
	snprintf(e->note, sizeof e->note, "CPU, %d thread%s, %s", n, n == 1 ? "" : "s", loop_isa());
	return e;
}

void cpu_close(struct cpu_engine *e)
{
	threads_free(e->threads);
	free(e);
}

const char *cpu_note(const struct cpu_engine *e)
{
	return e->note;
}

/* ---- points in chunks ---- */

struct points {
	const struct machine *m;
	struct registers *r;       /* per worker, made by its first chunk */
	int64_t count, chunk;
	int failed;
};

static void chunk_of_points(void *arg, int64_t chunk, int worker)
{
	struct points *p = arg;
	struct registers *r = &p->r[worker];
	int64_t at = chunk * p->chunk, end = at + p->chunk < p->count ? at + p->chunk : p->count;

	if (!r->memory && registers_make(p->m, r))
		__atomic_store_n(&p->failed, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&p->failed, __ATOMIC_RELAXED))
		return;
	while (at < end) {
		int n = machine_next(p->m, end - at);

		machine_block(p->m, r, at, n);
		at += n;
	}
}

gx_status machine_run(struct cpu_engine *e, const struct machine *m, int64_t count)
{
	int n = threads_count(e->threads);
	struct registers one = {0};
	struct points p = {.m = m, .r = &one, .count = count, .chunk = CHUNK};

	if (count <= CHUNK) {   /* no other worker is asked */
		chunk_of_points(&p, 0, 0);
		registers_free(&one);
		return p.failed ? GX_NOMEM : GX_OK;
	}
	p.r = gx_calloc((size_t)n, sizeof *p.r);
	if (!p.r)
		return GX_NOMEM;
	threads_run(e->threads, (count + CHUNK - 1) / CHUNK, chunk_of_points, &p);
	for (int i = 0; i < n; i++)
		registers_free(&p.r[i]);
	free(p.r);
	return p.failed ? GX_NOMEM : GX_OK;
}

gx_status cpu_map(const struct kernel_run *run)
{
	static const int order[MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct machine m;
	gx_status s = GX_NOMEM;

	if (run->k->nmap == 0)
		return GX_OK;
	if (!machine_make(&m, run, &run->k->body, run->k->rank, order, run->k->nmap, 0))
		s = machine_run(run->e, &m, run->k->nmap);
	machine_free(&m);
	return s;
}

/* ---- kernels ---- */

enum { FEW = 16 };   /* buffers, temporaries: for up to that many a call allocates no lists */

static size_t temp_bytes(const struct temp *t)
{
	return (size_t)t->count * type_table[t->mem].bytes;
}

static gx_status run_kernel(struct cpu_engine *e, const struct plan *p, int number, const struct run_arrays *r, char **temp,
	struct run_failure *f, gx_error *err)
{
	const struct kernel *k = &p->kernel[number];
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char *few[FEW], **base = k->nbuf > FEW ? gx_malloc((size_t)k->nbuf * sizeof *base) : few;
	struct kernel_run run = {e, p, k, base, f, &lock};
	gx_status s = base ? GX_OK : GX_NOMEM;

	for (int i = 0; i < k->nbuf && !s; i++) {
		const struct kbuf *b = &k->buf[i];

		if (b->kind == BUF_TEMP && !temp[b->number]) {
			/* loops may read up to LOOP_PAD elements past the end of a whole block; a temporary has room for that */
			temp[b->number] = gx_malloc(temp_bytes(&p->temp[b->number]) + 1);
			if (!temp[b->number])
				s = diag_plain(err, GX_NOMEM, "out of memory: a temporary needs %zu bytes", temp_bytes(&p->temp[b->number]));
		}
		base[i] = b->kind == BUF_INPUT ? r->input[b->number] : b->kind == BUF_OUTPUT ? r->output[b->number] : temp[b->number];
	}
	if (!base || (!s && (k->scans ? cpu_scan(&run) : k->reduces ? cpu_reduce(&run) : cpu_map(&run))))
		s = diag_plain(err, GX_NOMEM, "out of memory while running a kernel");
	if (base != few)
		free(base);
	return s;
}

gx_status cpu_run(struct cpu_engine *e, const struct plan *p, const struct run_arrays *r, struct run_failure *f, gx_error *err)
{
	char *few[FEW] = {0}, **temp = p->ntemp > FEW ? gx_calloc((size_t)p->ntemp, sizeof *temp) : few;
	gx_status s = temp ? GX_OK : diag_plain(err, GX_NOMEM, "out of memory");

	f->check = -1;
	for (int i = 0; i < p->nkernel && !s && f->check < 0; i++) {
		s = run_kernel(e, p, i, r, temp, f, err);
		for (int t = 0; t < p->ntemp; t++)
			if (p->temp[t].last == i) {
				free(temp[t]);
				temp[t] = NULL;
			}
	}
	for (int t = 0; t < p->ntemp && temp; t++)
		free(temp[t]);
	if (temp != few)
		free(temp);
	return s;
}
