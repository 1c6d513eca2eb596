/* cpu_block.c -- a machine and a block of points to the block's values: see cpu.h.
 * Whole contiguous blocks are read in place and written in place, without a copy; everything else goes through slots, filled by
 * walking the rows of the innermost axis. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/cpu.h"

/* ---- registers ---- */

static void fill_value(void *dst, const void *element, int bytes, int n)
{
	switch (bytes) {
#define FILL(bytes, T) case bytes: { T v; memcpy(&v, element, sizeof v); for (int i = 0; i < n; i++) ((T *)dst)[i] = v; break; }
	FILL(1, uint8_t)
	FILL(2, uint16_t)
	FILL(4, uint32_t)
	default:
	FILL(8, uint64_t)
#undef FILL
	}
}

static char *slot_of(const struct machine *m, const struct registers *r, int i)
{
	const struct step_plan *p = &m->step[i];

	if (p->small >= 0)
		return r->memory + ((size_t)m->nslots + 1) * m->slot_bytes + (size_t)p->small * SMALL_SLOT;
	return r->memory + (size_t)p->slot * m->slot_bytes;
}

/* A constant or a broadcast scalar, all over its slot. */
static void fill_fixed(const struct machine *m, struct registers *r, int i)
{
	const struct step *s = &m->code->step[i];
	const struct port *p = &m->port[s->port];
	gx_dtype t = (gx_dtype)s->type, mem;

	if (s->kind == STEP_CONST) {
		fill_value(r->value[i], &s->bits, width(t), m->block);
		return;
	}
	for (int a = 0; a < m->rank; a++)
		if (m->extent[a] == 0)
			return;
	mem = m->k->buf[p->buf].mem;
	fill_value(m->step[i].fn ? r->raw : r->value[i], m->base[p->buf] + p->access.off * width(mem), width(mem), m->block);
	if (m->step[i].fn)
		m->step[i].fn(r->value[i], r->raw, NULL, NULL, (size_t)m->block);
}

int registers_make(const struct machine *m, struct registers *r)
{
	size_t slots = ((size_t)m->nslots + 1) * m->slot_bytes + (size_t)m->nsmall * SMALL_SLOT;
	size_t values = ((size_t)m->code->n + 1) * sizeof *r->value, offsets = 0;

	for (int i = 0; i < m->k->nport; i++)
		if (m->port[i].ngather)
			offsets = (size_t)m->block * sizeof *r->offset;
	memset(r, 0, sizeof *r);
	if (gx_memalign((void **)&r->memory, 64, slots + values + offsets))
		return -1;
	memset(r->memory, 0, slots + values);   /* loops read what is between the end of a block and the next multiple of LOOP_PAD */
	r->value = (void **)(r->memory + slots);
	r->offset = (int64_t *)(r->memory + slots + values);
	r->raw = r->memory + (size_t)m->nslots * m->slot_bytes;
	for (int i = 0; i < m->code->n; i++)
		if (m->step[i].slot >= 0 || m->step[i].small >= 0) {
			r->value[i] = slot_of(m, r, i);
			if (m->step[i].fixed)
				fill_fixed(m, r, i);
		}
	return 0;
}

void registers_free(struct registers *r)
{
	free(r->memory);
}

/* ---- walking rows ---- */

struct walk {
	int64_t at[MAX_RANK];      /* coordinates */
	int64_t off;               /* where they land through the port's access */
	int left;                  /* points still to come */
	int run;                   /* points of the row at hand */
};

static void walk_start(const struct machine *m, const struct access *a, int64_t start, int n, struct walk *w)
{
	w->off = a->off;
	w->left = n;
	for (int k = m->rank - 1; k >= 0; k--) {
		w->at[k] = k ? start % m->extent[k] : start;
		start = k ? start / m->extent[k] : 0;
		w->off += w->at[k] * a->stride[k];
	}
	w->run = n;
	if (m->rank && m->extent[m->rank - 1] - w->at[m->rank - 1] < n)
		w->run = (int)(m->extent[m->rank - 1] - w->at[m->rank - 1]);
}

/* The next row; 0 when there is none. */
static int walk_next(const struct machine *m, const struct access *a, struct walk *w)
{
	int k = m->rank - 1;

	w->left -= w->run;
	if (w->left <= 0)
		return 0;
	w->off -= w->at[k] * a->stride[k];
	w->at[k] = 0;
	for (k--; k >= 0; k--) {
		w->off += a->stride[k];
		if (++w->at[k] < m->extent[k] || k == 0)
			break;
		w->off -= w->at[k] * a->stride[k];
		w->at[k] = 0;
	}
	w->run = w->left < m->extent[m->rank - 1] ? w->left : (int)m->extent[m->rank - 1];
	return 1;
}

static void copy_run(char *dst, const char *src, int64_t stride, int n, int bytes)
{
	if (stride == 1) {
		memcpy(dst, src, (size_t)n * (size_t)bytes);
		return;
	}
	if (stride == 0) {
		fill_value(dst, src, bytes, n);
		return;
	}
	switch (bytes) {
#define COPY(bytes, T) case bytes: for (int i = 0; i < n; i++) ((T *)dst)[i] = ((const T *)src)[i * stride]; break;
	COPY(1, uint8_t)
	COPY(2, uint16_t)
	COPY(4, uint32_t)
	default:
	COPY(8, uint64_t)
#undef COPY
	}
}

static void scatter_run(char *dst, const char *src, int64_t stride, int n, int bytes)
{
	if (stride == 1) {
		memcpy(dst, src, (size_t)n * (size_t)bytes);
		return;
	}
	switch (bytes) {
#define COPY(bytes, T) case bytes: for (int i = 0; i < n; i++) ((T *)dst)[i * stride] = ((const T *)src)[i]; break;
	COPY(1, uint8_t)
	COPY(2, uint16_t)
	COPY(4, uint32_t)
	default:
	COPY(8, uint64_t)
#undef COPY
	}
}

static int64_t inner_stride(const struct machine *m, const struct access *a)
{
	return m->rank ? a->stride[m->rank - 1] : 1;
}

static void gather_offsets(struct registers *r, const struct port *p, int n)
{
	memset(r->offset, 0, (size_t)n * sizeof *r->offset);
	for (int g = 0; g < p->ngather; g++) {
		const int64_t *v = r->value[p->gather[g].value], stride = p->gather[g].stride;

		for (int i = 0; i < n; i++)
			r->offset[i] += v[i] * stride;
	}
}

static void gather_run(char *dst, const char *src, const int64_t *offset, int64_t stride, int n, int bytes)
{
	switch (bytes) {
#define COPY(bytes, T) case bytes: for (int i = 0; i < n; i++) ((T *)dst)[i] = ((const T *)src)[i * stride + offset[i]]; break;
	COPY(1, uint8_t)
	COPY(2, uint16_t)
	COPY(4, uint32_t)
	default:
	COPY(8, uint64_t)
#undef COPY
	}
}

/* Where n points from `start` lie one after the other in memory; NULL when they do not. */
static char *in_place(const struct machine *m, int port, int64_t start, int n)
{
	const struct port *p = &m->port[port];
	char *base = m->base[p->buf];
	int bytes = width(m->k->buf[p->buf].mem);
	struct walk w;

	if (m->flat[port])
		return base + (p->access.off + start) * bytes;
	if (p->ngather || inner_stride(m, &p->access) != 1)
		return NULL;
	walk_start(m, &p->access, start, n, &w);
	return w.run < n ? NULL : base + w.off * bytes;
}

static void load(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const struct port *p = &m->port[s->port];
	loop_fn convert = m->step[i].fn;
	int bytes = width(m->k->buf[p->buf].mem), done = 0;
	int64_t stride = inner_stride(m, &p->access);
	const char *base = m->base[p->buf];
	char *there = n % LOOP_PAD ? NULL : in_place(m, (int)s->port, start, n), *slot, *raw;
	struct walk w;

	if (there && !convert) {
		r->value[i] = there;
		return;
	}
	r->value[i] = slot = slot_of(m, r, i);
	if (there) {
		convert(slot, there, NULL, NULL, (size_t)n);
		return;
	}
	raw = convert ? r->raw : slot;
	if (p->ngather)
		gather_offsets(r, p, n);
	walk_start(m, &p->access, start, n, &w);
	do {
		const char *src = base + w.off * bytes;

		if (p->ngather)
			gather_run(raw + done * bytes, src, r->offset + done, stride, w.run, bytes);
		else
			copy_run(raw + done * bytes, src, stride, w.run, bytes);
		done += w.run;
	} while (walk_next(m, &p->access, &w));
	if (convert)
		convert(slot, raw, NULL, NULL, (size_t)n);
}

static void iota(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const struct access *a = &m->port[s->port].access;
	int64_t stride = inner_stride(m, a);
	int done = 0;
	struct walk w;

	walk_start(m, a, start, n, &w);
	do {
		if (s->type == GX_INT32)
			for (int j = 0; j < w.run; j++)
				((int32_t *)r->value[i])[done + j] = (int32_t)(w.off + stride * j);
		else
			for (int j = 0; j < w.run; j++)
				((int64_t *)r->value[i])[done + j] = w.off + stride * j;
		done += w.run;
	} while (walk_next(m, a, &w));
}

char *machine_target(const struct machine *m, int store, int64_t start, int n)
{
	return n % LOOP_PAD ? NULL : in_place(m, (int)m->code->step[store].port, start, n);
}

static void store(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const struct port *p = &m->port[s->port];
	loop_fn convert = m->step[i].fn;
	const char *src = r->value[s->arg[0]];
	char *target = machine_target(m, i, start, n), *base = m->base[p->buf];
	int bytes = width(m->k->buf[p->buf].mem), done = 0;
	struct walk w;

	if (target == src && target)
		return;   /* written there by the step itself */
	if (convert) {
		convert(target ? target : r->raw, src, NULL, NULL, (size_t)n);
		if (target)
			return;
		src = r->raw;
	}
	walk_start(m, &p->access, start, n, &w);
	do {
		scatter_run(base + w.off * bytes, src + done * bytes, inner_stride(m, &p->access), w.run, bytes);
		done += w.run;
	} while (walk_next(m, &p->access, &w));
}

static void check(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const int64_t *v = r->value[s->arg[0]];
	int64_t size = m->plan->check[s->index].size;
	struct run_failure *f = m->failure;

	for (int j = 0; j < n; j++) {
		if (v[j] >= -size && v[j] < size)
			continue;
		pthread_mutex_lock(m->failure_lock);
		if (f->check < 0 || s->index < f->check || (s->index == f->check && start + j < f->position)) {
			f->check = s->index;
			f->position = start + j;
			f->value = v[j];
		}
		pthread_mutex_unlock(m->failure_lock);
		return;
	}
}

static void result(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const struct accumulators *a = m->result;
	const char *from;

	if (r->scanned) {
		r->value[i] = r->scanned[s->index];
		return;
	}
	from = red_table[m->k->fold[s->index].red].state == PAIR ? (char *)a->position[s->index] : a->value[s->index];

	memcpy(r->value[i], from + start * width((gx_dtype)s->type), (size_t)n * (size_t)width((gx_dtype)s->type));
}

static void fetch_ahead(const struct machine *m, int64_t start, int n)
{
	for (int i = 0; i < m->nahead; i++) {
		const struct port *p = &m->port[m->ahead[i]];
		int bytes = width(m->k->buf[p->buf].mem);
		const char *at = m->base[p->buf] + (p->access.off + start + n) * bytes;

		for (int j = 0; j < n * bytes; j += 64)
			__builtin_prefetch(at + j, 0, 2);
	}
}

void machine_block(const struct machine *m, struct registers *r, int64_t start, int n)
{
	const struct code *c = m->code;

	fetch_ahead(m, start, n);
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		const struct step_plan *p = &m->step[i];
		char *target;

		if (p->fixed || p->merged)
			continue;
		switch ((enum step_kind)s->kind) {
		case STEP_LOAD:
			load(m, r, i, start, n);
			break;
		case STEP_IOTA:
			iota(m, r, i, start, n);
			break;
		case STEP_OP:
		case STEP_CAST:
			target = p->stored_by >= 0 ? machine_target(m, p->stored_by, start, n) : NULL;
			r->value[i] = target ? target : slot_of(m, r, i);
			p->fn(r->value[i], r->value[p->arg[0]], p->nargs > 1 ? r->value[p->arg[1]] : NULL, p->nargs > 2 ? r->value[p->arg[2]] : NULL,
				(size_t)n);
			break;
		case STEP_STORE:
			store(m, r, i, start, n);
			break;
		case STEP_CHECK:
			check(m, r, i, start, n);
			break;
		case STEP_RESULT:
			result(m, r, i, start, n);
			break;
		case STEP_CONST:
		case STEP_FOLD:
			break;
		}
	}
}
