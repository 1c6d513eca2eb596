/* cpu_machine.c -- a list of steps to registers and blocks: see cpu.h.
 * Whole contiguous blocks are read in place and written in place, without a copy; everything else goes through slots, filled by
 * walking the rows of the innermost axis. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/cpu.h"

static int width(gx_dtype t)
{
	return type_table[t].bytes;
}

static int is_uniform(const struct port *p, int rank)
{
	if (p->ngather || p->buf < 0)
		return 0;
	for (int a = 0; a < rank; a++)
		if (p->access.stride[a])
			return 0;
	return 1;
}

/* Slots by liveness: a slot is free after the last step that reads it. */
static void assign_slots(struct machine *m, int *last, int *spare)
{
	const struct code *c = m->code;
	int nspare = 0;

	for (int i = 0; i < c->n; i++)
		last[i] = -1;
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		for (int a = 0; a < s->nargs; a++)
			last[s->arg[a]] = s->kind == STEP_FOLD ? c->n : i;
		if (s->kind == STEP_LOAD)
			for (int g = 0; g < m->port[s->port].ngather; g++)
				last[m->port[s->port].gather[g].value] = i;
	}
	for (int i = 0; i < c->n; i++)
		if (last[i] < c->n && m->stored_by[i] >= 0)
			last[i] = last[i] > m->stored_by[i] ? last[i] : m->stored_by[i];
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		m->slot[i] = -1;
		if (s->kind != STEP_STORE && s->kind != STEP_FOLD && s->kind != STEP_CHECK)
			m->slot[i] = nspare && !m->fixed[i] ? spare[--nspare] : m->nslots++;
		for (int a = 0; a < s->nargs; a++) {
			int v = (int)s->arg[a], again = 0;

			for (int b = 0; b < a; b++)
				again |= (int)s->arg[b] == v;
			if (last[v] == i && !again && !m->fixed[v])
				spare[nspare++] = m->slot[v];
		}
		for (int g = 0; s->kind == STEP_LOAD && g < m->port[s->port].ngather; g++) {
			int v = (int)m->port[s->port].gather[g].value, again = 0;

			for (int b = 0; b < g; b++)
				again |= (int)m->port[s->port].gather[b].value == v;
			if (last[v] == i && !again && !m->fixed[v])
				spare[nspare++] = m->slot[v];
		}
	}
}

static void permute(struct machine *m, const int *order)
{
	for (int i = 0; i < m->k->nport; i++) {
		m->port[i] = m->k->port[i];
		for (int a = 0; a < m->rank; a++)
			m->port[i].access.stride[a] = m->k->port[i].access.stride[order[a]];
		for (int a = m->rank; a < MAX_RANK; a++)
			m->port[i].access.stride[a] = 0;
	}
	for (int a = 0; a < m->rank; a++)
		m->extent[a] = m->k->extent[order[a]];
}

int machine_make(struct machine *m, const struct plan *p, const struct kernel *k, const struct code *c, int rank, const int *order, char *const *base)
{
	size_t n = (size_t)c->n + 1;
	int *work = gx_malloc(2 * n * sizeof *work), wide = 0;

	memset(m, 0, sizeof *m);
	m->plan = p;
	m->k = k;
	m->code = c;
	m->rank = rank;
	m->base = base;
	m->port = gx_malloc(((size_t)k->nport + 1) * sizeof *m->port);
	m->slot = gx_malloc(n * sizeof *m->slot);
	m->stored_by = gx_malloc(n * sizeof *m->stored_by);
	m->fixed = gx_calloc(n, 1);
	if (!work || !m->port || !m->slot || !m->stored_by || !m->fixed) {
		free(work);
		return -1;
	}
	permute(m, order);
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		m->stored_by[i] = -1;
		m->fixed[i] = s->kind == STEP_CONST || (s->kind == STEP_LOAD && is_uniform(&m->port[s->port], rank));
		wide |= width((gx_dtype)s->type) == 8;
		if (s->kind == STEP_STORE && k->buf[m->port[s->port].buf].mem == (gx_dtype)s->type) {
			const struct step *from = &c->step[s->arg[0]];

			if ((from->kind == STEP_OP || from->kind == STEP_CAST) && m->stored_by[s->arg[0]] < 0)
				m->stored_by[s->arg[0]] = i;
		}
	}
	m->block = wide ? LOOP_BLOCK / 2 : LOOP_BLOCK;
	assign_slots(m, work, work + n);
	free(work);
	return 0;
}

void machine_free(struct machine *m)
{
	free(m->port);
	free(m->slot);
	free(m->stored_by);
	free(m->fixed);
}

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

static void convert(void *dst, gx_dtype to, gx_dtype mem, const void *src, int n)
{
	if (to == mem && mem != GX_BOOL)
		memcpy(dst, src, (size_t)n * (size_t)width(mem));
	else
		loop_cast(to, mem)(dst, src, NULL, NULL, (size_t)n);
}

int registers_make(const struct machine *m, struct registers *r)
{
	memset(r, 0, sizeof *r);
	if (posix_memalign((void **)&r->memory, 4096, ((size_t)m->nslots + 1) * SLOT))
		r->memory = NULL;
	r->value = gx_calloc((size_t)m->code->n + 1, sizeof *r->value);
	r->offset = gx_malloc(LOOP_BLOCK * sizeof *r->offset);
	if (!r->memory || !r->value || !r->offset)
		return -1;
	memset(r->memory, 0, ((size_t)m->nslots + 1) * SLOT);
	r->raw = r->memory + (size_t)m->nslots * SLOT;
	for (int i = 0; i < m->code->n; i++) {
		const struct step *s = &m->code->step[i];
		const struct port *p = s->kind == STEP_LOAD ? &m->port[s->port] : NULL;
		int empty = 0;

		if (m->slot[i] >= 0)
			r->value[i] = r->memory + (size_t)m->slot[i] * SLOT;
		if (!m->fixed[i])
			continue;
		for (int a = 0; a < m->rank; a++)
			empty |= m->extent[a] == 0;
		if (s->kind == STEP_CONST) {
			fill_value(r->value[i], &s->bits, width((gx_dtype)s->type), LOOP_BLOCK);
		} else if (!empty) {
			gx_dtype mem = m->k->buf[p->buf].mem;

			fill_value(r->raw, m->base[p->buf] + p->access.off * width(mem), width(mem), LOOP_BLOCK);
			convert(r->value[i], (gx_dtype)s->type, mem, r->raw, LOOP_BLOCK);
		}
	}
	return 0;
}

void registers_free(struct registers *r)
{
	free(r->memory);
	free(r->value);
	free(r->offset);
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

static void gather_offsets(const struct machine *m, struct registers *r, const struct port *p, int n)
{
	(void)m;
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

static void load(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const struct port *p = &m->port[s->port];
	gx_dtype mem = m->k->buf[p->buf].mem, reg = (gx_dtype)s->type;
	int bytes = width(mem), plain = mem == reg && mem != GX_BOOL, done = 0;
	int64_t stride = inner_stride(m, &p->access);
	const char *base = m->base[p->buf];
	char *slot = r->memory + (size_t)m->slot[i] * SLOT, *raw = plain ? slot : r->raw;
	struct walk w;

	walk_start(m, &p->access, start, n, &w);
	if (p->ngather) {
		gather_offsets(m, r, p, n);
	} else if (w.run == n && stride == 1 && n % LOOP_PAD == 0) {   /* whole and contiguous */
		char *direct = (char *)(uintptr_t)base + w.off * bytes;

		r->value[i] = plain ? direct : slot;
		if (!plain)
			loop_cast(reg, mem)(slot, direct, NULL, NULL, (size_t)n);
		return;
	}
	do {
		const char *src = base + w.off * bytes;

		if (p->ngather)
			gather_run(raw + done * bytes, src, r->offset + done, stride, w.run, bytes);
		else
			copy_run(raw + done * bytes, src, stride, w.run, bytes);
		done += w.run;
	} while (walk_next(m, &p->access, &w));
	if (!plain)
		loop_cast(reg, mem)(slot, raw, NULL, NULL, (size_t)n);
	r->value[i] = slot;
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
		for (int j = 0; j < w.run; j++) {
			int64_t v = w.off + stride * j;

			if (s->type == GX_INT32)
				((int32_t *)r->value[i])[done + j] = (int32_t)v;
			else
				((int64_t *)r->value[i])[done + j] = v;
		}
		done += w.run;
	} while (walk_next(m, a, &w));
}

static char *store_target(const struct machine *m, int store, int64_t start, int n)
{
	const struct port *p = &m->port[m->code->step[store].port];
	struct walk w;

	if (n % LOOP_PAD)
		return NULL;
	walk_start(m, &p->access, start, n, &w);
	if (w.run < n || inner_stride(m, &p->access) != 1)
		return NULL;
	return m->base[p->buf] + w.off * width(m->k->buf[p->buf].mem);
}

static void store(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const struct port *p = &m->port[s->port];
	gx_dtype mem = m->k->buf[p->buf].mem;
	const char *src = r->value[s->arg[0]];
	char *target = store_target(m, i, start, n), *base = m->base[p->buf];
	int bytes = width(mem), done = 0;
	struct walk w;

	if (target == src && target)
		return;   /* written there by the step itself */
	if (mem != (gx_dtype)s->type) {
		loop_cast(mem, (gx_dtype)s->type)(target ? target : r->raw, src, NULL, NULL, (size_t)n);
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
	const char *from = red_table[m->k->fold[s->index].red].state == PAIR ? (char *)a->position[s->index] : a->value[s->index];

	memcpy(r->value[i], from + start * width((gx_dtype)s->type), (size_t)n * (size_t)width((gx_dtype)s->type));
}

void machine_block(const struct machine *m, struct registers *r, int64_t start, int n)
{
	const struct code *c = m->code;

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		char *target;

		if (m->fixed[i])
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
			target = m->stored_by[i] >= 0 ? store_target(m, m->stored_by[i], start, n) : NULL;
			r->value[i] = target ? target : r->memory + (size_t)m->slot[i] * SLOT;
			if (s->kind == STEP_CAST)
				loop_cast((gx_dtype)s->type, (gx_dtype)c->step[s->arg[0]].type)(r->value[i], r->value[s->arg[0]], NULL, NULL, (size_t)n);
			else
				loop_op((enum op)s->op, step_type(c, s))(r->value[i], r->value[s->arg[0]], s->nargs > 1 ? r->value[s->arg[1]] : NULL,
					s->nargs > 2 ? r->value[s->arg[2]] : NULL, (size_t)n);
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
