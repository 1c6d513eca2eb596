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

/* Neighbouring points are neighbouring elements, over all axes. */
static int is_flat(const struct machine *m, const struct port *p)
{
	int64_t expect = 1;

	if (p->ngather || p->buf < 0)
		return 0;
	for (int a = m->rank - 1; a >= 0; a--) {
		if (m->extent[a] != 1 && p->access.stride[a] != expect)
			return 0;
		expect *= m->extent[a];
	}
	return 1;
}

/* ---- slots ---- */

/* last[v]: the last step that reads the slot of v; c->n when it must stay. */
static void find_last(const struct machine *m, int *last)
{
	const struct code *c = m->code;

	for (int i = 0; i < c->n; i++)
		last[i] = -1;
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		for (int a = 0; a < m->step[i].nargs; a++) {
			int v = m->step[i].arg[a];

			last[v] = s->kind == STEP_FOLD || m->step[v].fixed ? c->n : i;
		}
		if (s->kind == STEP_LOAD)
			for (int g = 0; g < m->port[s->port].ngather; g++)
				last[m->port[s->port].gather[g].value] = i;
	}
	for (int i = 0; i < c->n; i++)
		if (last[i] < c->n && m->step[i].stored_by > last[i])
			last[i] = m->step[i].stored_by;
}

/* Slots by liveness: a slot is free after the last step that reads it. */
static void assign_slots(struct machine *m, int *last, int *spare)
{
	const struct code *c = m->code;
	int nspare = 0;

	find_last(m, last);
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		struct step_plan *p = &m->step[i];

		p->slot = p->small = -1;
		if (p->direct)
			p->small = m->nsmall++;
		else if (!p->merged && s->kind != STEP_STORE && s->kind != STEP_FOLD && s->kind != STEP_CHECK)
			p->slot = nspare && !p->fixed ? spare[--nspare] : m->nslots++;
		for (int v = 0; v < i; v++)
			if (last[v] == i && m->step[v].slot >= 0)
				spare[nspare++] = m->step[v].slot;
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
	for (int i = 0; i < m->k->nport; i++)
		m->flat[i] = (uint8_t)is_flat(m, &m->port[i]);
}

/* The loop that a step calls; NULL where bytes are only moved. */
static loop_fn loop_of(const struct machine *m, const struct step *s)
{
	gx_dtype t = (gx_dtype)s->type, mem;

	switch ((enum step_kind)s->kind) {
	case STEP_OP:
		return loop_op((enum op)s->op, step_type(m->code, s));
	case STEP_CAST:
		return loop_cast(t, (gx_dtype)m->code->step[s->arg[0]].type);
	case STEP_LOAD:
		mem = m->k->buf[m->port[s->port].buf].mem;
		return mem == t && mem != GX_BOOL ? NULL : loop_cast(t, mem);
	case STEP_STORE:
		mem = m->k->buf[m->port[s->port].buf].mem;
		return mem == t ? NULL : loop_cast(mem, t);
	default:
		return NULL;
	}
}

/* Every step's plan but its slot; the largest element is returned. */
static int plan_steps(struct machine *m)
{
	const struct code *c = m->code;
	int widest = 1;

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		struct step_plan *p = &m->step[i];
		int port = s->kind == STEP_LOAD || s->kind == STEP_STORE ? (int)s->port : -1;

		p->stored_by = -1;
		p->nargs = s->nargs;
		for (int a = 0; a < s->nargs; a++)
			p->arg[a] = (int)s->arg[a];
		p->fn = loop_of(m, s);
		p->fixed = s->kind == STEP_CONST || (s->kind == STEP_LOAD && is_uniform(&m->port[port], m->rank));
		p->direct = s->kind == STEP_LOAD && !p->fixed && !p->fn && m->flat[port];
		widest = width((gx_dtype)s->type) > widest ? width((gx_dtype)s->type) : widest;
		if (port >= 0 && width(m->k->buf[m->port[port].buf].mem) > widest)
			widest = width(m->k->buf[m->port[port].buf].mem);
		if (s->kind == STEP_STORE && !p->fn) {
			const struct step *from = &c->step[s->arg[0]];
			struct step_plan *q = &m->step[s->arg[0]];

			if ((from->kind == STEP_OP || from->kind == STEP_CAST) && q->stored_by < 0) {
				q->stored_by = i;
				q->direct = m->flat[port];
			}
		}
	}
	return widest;
}

/* A float64 sum of converted float32 values converts them itself. */
static void merge_narrow(struct machine *m, const int *uses)
{
	const struct code *c = m->code;

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i], *from = s->nargs ? &c->step[s->arg[0]] : NULL;

		if (s->kind != STEP_FOLD || m->k->fold[s->index].red != RED_SUM || s->type != GX_FLOAT64 || from->kind != STEP_CAST)
			continue;
		if (uses[s->arg[0]] == 1 && c->step[from->arg[0]].type == GX_FLOAT32) {
			m->step[i].narrow = 1;
			m->step[i].arg[0] = (int)from->arg[0];
			m->step[s->arg[0]].merged = 1;
			m->step[s->arg[0]].nargs = 0;
		}
	}
}

/* x = a*b; y = x + c in one pass: where + - or * takes the only use of another + - or *, one loop does both, with both roundings. */
static void merge_pairs(struct machine *m, int *uses)
{
	const struct code *c = m->code;

	memset(uses, 0, sizeof *uses * (size_t)c->n);
	for (int i = 0; i < c->n; i++)
		for (int a = 0; a < m->step[i].nargs; a++)
			uses[m->step[i].arg[a]]++;
	merge_narrow(m, uses);
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		struct step_plan *p = &m->step[i];

		for (int a = 0; a < s->nargs && s->kind == STEP_OP && s->nargs == 2 && p->nargs == 2; a++) {
			int j = p->arg[a], other = p->arg[1 - a];
			const struct step *first = &c->step[j];
			struct step_plan *q = &m->step[j];
			loop_fn fn = first->kind == STEP_OP && first->nargs == 2 && q->nargs == 2 && uses[j] == 1 && first->type == s->type
				? loop_pair((enum op)first->op, (enum op)s->op, a == 1, (gx_dtype)s->type) : NULL;

			if (!fn || q->stored_by >= 0)
				continue;
			p->fn = fn;
			p->nargs = 3;
			p->arg[0] = q->arg[0];
			p->arg[1] = q->arg[1];
			p->arg[2] = other;
			q->merged = 1;
			q->nargs = 0;
		}
	}
}

/* Which inputs to fetch one block ahead: a block's steps read one array after the other, which processors do not foresee. */
static void look_ahead(struct machine *m, int64_t count)
{
	int64_t bytes = 0;
	int loops = 0;

	for (int i = 0; i < m->code->n; i++) {
		const struct step *s = &m->code->step[i];

		loops += m->step[i].fn && !m->step[i].merged && !m->step[i].fixed;
		if ((s->kind != STEP_LOAD && s->kind != STEP_STORE) || m->step[i].fixed)
			continue;
		bytes += count * width(m->k->buf[m->port[s->port].buf].mem);
		if (s->kind == STEP_LOAD && m->flat[s->port] && m->nahead < MAX_AHEAD)
			m->ahead[m->nahead++] = (int)s->port;
	}
	if (bytes < FAR_BYTES || loops < 2)
		m->nahead = 0;
}

/* Blocks as large as the slots fit the budget; no larger than the work. */
static void choose_block(struct machine *m, int widest, int64_t count, int block)
{
	int64_t most = SLOT_BUDGET / ((int64_t)widest * (m->nslots ? m->nslots : 1)) / LOOP_PAD * LOOP_PAD;

	if (m->nslots == 0)
		most = MAX_BLOCK;
	most = most < MIN_BLOCK ? MIN_BLOCK : most > MAX_BLOCK ? MAX_BLOCK : most;
	most = block ? block : most;
	if (count < most)
		most = (count + LOOP_PAD - 1) / LOOP_PAD * LOOP_PAD;
	m->block = most < LOOP_PAD ? LOOP_PAD : (int)most;
	m->slot_bytes = (size_t)m->block * (size_t)widest + 320;   /* not a power of two: slots would meet in the same sets of the cache */
	m->slot_bytes = m->slot_bytes / 64 * 64;
}

int machine_make(struct machine *m, const struct kernel_run *run, const struct code *c, int rank, const int *order, int64_t points, int block)
{
	size_t n = (size_t)c->n + 1;
	int *work = gx_malloc(2 * n * sizeof *work), widest;

	memset(m, 0, sizeof *m);
	m->plan = run->p;
	m->k = run->k;
	m->code = c;
	m->rank = rank;
	m->base = run->base;
	m->failure = run->failure;
	m->failure_lock = run->failure_lock;
	m->port = gx_malloc(((size_t)m->k->nport + 1) * sizeof *m->port);
	m->flat = gx_malloc((size_t)m->k->nport + 1);
	m->step = gx_calloc(n, sizeof *m->step);
	if (!work || !m->port || !m->flat || !m->step) {
		free(work);
		return -1;
	}
	permute(m, order);
	widest = plan_steps(m);
	merge_pairs(m, work);
	look_ahead(m, points);
	assign_slots(m, work, work + n);
	choose_block(m, widest, points < CHUNK ? points : CHUNK, block);
	free(work);
	return 0;
}

void machine_free(struct machine *m)
{
	free(m->port);
	free(m->flat);
	free(m->step);
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
	size_t bytes = ((size_t)m->nslots + 1) * m->slot_bytes + (size_t)m->nsmall * SMALL_SLOT;

	memset(r, 0, sizeof *r);
	if (posix_memalign((void **)&r->memory, 64, bytes))
		r->memory = NULL;
	r->value = gx_calloc((size_t)m->code->n + 1, sizeof *r->value);
	r->offset = gx_malloc((size_t)m->block * sizeof *r->offset);
	if (!r->memory || !r->value || !r->offset)
		return -1;
	memset(r->memory, 0, bytes);   /* loops read what is between the end of a block and the next multiple of LOOP_PAD */
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

static char *store_target(const struct machine *m, int store, int64_t start, int n)
{
	return n % LOOP_PAD ? NULL : in_place(m, (int)m->code->step[store].port, start, n);
}

static void store(const struct machine *m, struct registers *r, int i, int64_t start, int n)
{
	const struct step *s = &m->code->step[i];
	const struct port *p = &m->port[s->port];
	loop_fn convert = m->step[i].fn;
	const char *src = r->value[s->arg[0]];
	char *target = store_target(m, i, start, n), *base = m->base[p->buf];
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
	const char *from = red_table[m->k->fold[s->index].red].state == PAIR ? (char *)a->position[s->index] : a->value[s->index];

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
			target = p->stored_by >= 0 ? store_target(m, p->stored_by, start, n) : NULL;
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
