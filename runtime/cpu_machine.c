/* cpu_machine.c -- a list of steps to a machine: which loop does each step, which slot holds its values, how long a block is. See cpu.h;
 * cpu_block.c runs it. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "runtime/cpu.h"

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

int machine_make(struct machine *m, const struct kernel_run *run, const struct code *c, int rank, const int *order, int64_t points,
				 int block)
{
	size_t n = (size_t)c->n + 1, nport = (size_t)run->k->nport + 1;
	size_t ports = nport * sizeof *m->port, steps = n * sizeof *m->step, works = 2 * n * sizeof(int);
	int *work, widest;

	memset(m, 0, sizeof *m);
	m->plan = run->p;
	m->k = run->k;
	m->code = c;
	m->rank = rank;
	m->base = run->base;
	m->failure = run->failure;
	m->failure_lock = run->failure_lock;
	m->port = gx_malloc(ports + steps + works + nport);   /* one block for all, the widest first: a call on few elements is short */
	if (!m->port)
		return -1;
	m->step = (struct step_plan *)((char *)m->port + ports);
	memset(m->step, 0, steps);
	work = (int *)((char *)m->step + steps);
	m->flat = (uint8_t *)work + works;
	permute(m, order);
	widest = plan_steps(m);
	merge_pairs(m, work);
	look_ahead(m, points);
	assign_slots(m, work, work + n);
	choose_block(m, widest, points < CHUNK ? points : CHUNK, block);
	return 0;
}

void machine_free(struct machine *m)
{
	free(m->port);
}
