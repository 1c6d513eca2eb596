/* args.c -- the argument struct of a kernel: which members, how they are laid out, and their values for one
 * launch. Members are added while walking buffers, ports and steps once, 8-byte ones first, so that there
 * are no holes to speak of and the time is linear however many there are. Names follow from kind and
 * number: p0 o3 s3_1 g3_0 n1 c5. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "codegen/emit.h"

enum { PARAMETER_BYTES = 4096 }; /* what every driver and architecture takes by value */

int stride_class(int64_t stride) { return stride == 0 ? STRIDE_0 : stride == 1 ? STRIDE_1 : STRIDE_ANY; }

void arg_add(struct emit *e, enum arg_kind kind, int size, unsigned index, unsigned axis)
{
	struct cuda_text *t = e->t;
	struct arg *a;

	if (t->narg == t->arg_cap) {
		int cap = t->arg_cap ? 2 * t->arg_cap : 32;

		a = gx_realloc(t->arg, (size_t)cap * sizeof *a);
		if (!a) {
			e->failed = 1;
			return;
		}
		t->arg = a;
		t->arg_cap = cap;
	}
	a = &t->arg[t->narg++];
	t->args_size = (t->args_size + (unsigned)size - 1) / (unsigned)size * (unsigned)size;
	*a = (struct arg){(uint8_t)kind, (uint8_t)size, (uint8_t)axis, (uint8_t)(e->k - e->unit->phase), index, t->args_size};
	t->args_size += (unsigned)size;
}

/* Strides of memory have the kernel's width; numbers made of coordinates (buf < 0) may be wider than any
 * offset. */
static int stride_size(const struct kernel *k, const struct port *p)
{
	return k->wide || p->buf < 0 ? 8 : 4;
}

static void port_args(struct emit *e, int i, int size)
{
	const struct kernel *k = e->k;
	const struct port *p = &k->port[i];
	int axes = port_rank(k, p);

	if (size == 8)
		arg_add(e, ARG_OFFSET, 8, (unsigned)i, 0);
	for (int a = 0; a < axes; a++)
		if (stride_class(p->access.stride[a]) == STRIDE_ANY && stride_size(k, p) == size)
			arg_add(e, ARG_STRIDE, size, (unsigned)i, (unsigned)a);
	for (int g = 0; g < p->ngather; g++)
		if (p->gather[g].stride != 1 && (k->wide ? 8 : 4) == size)
			arg_add(e, ARG_GATHER, size, (unsigned)i, (unsigned)g);
}

static void const_args(struct emit *e, const struct code *c, const struct use *u, int tail, int size)
{
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		int bytes = type_table[s->type].bytes == 8 ? 8 : 4;

		if (s->kind == STEP_CONST && s->by_arg && u->step[i] && bytes == size)
			arg_add(e, ARG_CONST, size, (unsigned)i, (unsigned)tail);
		if (s->kind == STEP_CHECK && size == 8)
			arg_add(e, ARG_SIZE, 8, s->index, 0);
	}
}

static void sized_args(struct emit *e, int size)
{
	const struct kernel *k = e->k;
	int width = k->wide ? 8 : 4;

	for (int i = 0; i < k->nbuf && size == 8; i++)
		arg_add(e, ARG_POINTER, 8, (unsigned)i, 0);
	for (int i = 0; i < k->nport; i++)
		port_args(e, i, size);
	const_args(e, &k->body, &e->body, 0, size);
	if (k->reduces)
		const_args(e, &k->tail, &e->tail, 1, size);
	if (width != size)
		return;
	for (int a = 0; a < k->rank && k->rank > 1; a++)
		arg_add(e, ARG_EXTENT, size, 0, (unsigned)a);
	arg_add(e, ARG_NMAP, size, 0, 0);
	if (k->reduces)
		arg_add(e, ARG_NREDUCE, size, 0, 0);
}

void args_make(struct emit *e)
{
	int alone = e->unit->nphase == 1;

	sized_args(e, 8);
	if (e->plan->ncheck)
		arg_add(e, ARG_ERROR, 8, 0, 0);
	if (e->k->reduces && alone) {
		arg_add(e, ARG_SCRATCH, 8, 0, 0);
		arg_add(e, ARG_COUNTERS, 8, 0, 0);
	}
	sized_args(e, 4);
	if (e->k->reduces && alone) {
		arg_add(e, ARG_SPLITS, 4, 0, 0);
		arg_add(e, ARG_LANES, 4, 0, 0);
		if (e->k->scans)
			arg_add(e, ARG_PHASE, 4, 0, 0);
	}
	e->t->args_size = (e->t->args_size + 7) / 8 * 8;
	e->t->by_pointer = e->t->args_size > PARAMETER_BYTES;
}

/* Values of 1- and 2-byte types travel in an int; reading the member converts back. */
static void declare_const(struct emit *e, struct buf *b, const struct arg *a)
{
	const struct code *c = a->axis ? &e->k->tail : &e->k->body;
	gx_dtype t = (gx_dtype)c->step[a->index].type;

	buf_fmt(b, "\t%s %s%u;\n", type_table[t].bytes < 4 ? "int" : ctype(t), a->axis ? "d" : "c", a->index);
}

static void declare(struct emit *e, struct buf *b, const struct arg *a)
{
	const char *off = a->size == 8 ? "long long" : "int";
	const char *idx = a->size == 8 ? "unsigned long long" : "unsigned";
	const struct kbuf *m;

	switch ((enum arg_kind)a->kind) {
	case ARG_POINTER:
		m = &e->k->buf[a->index];
		buf_fmt(b, "\t%s%s *p%u;\n", m->written ? "" : "const ", ctype(m->mem), a->index);
		return;
	case ARG_OFFSET: buf_fmt(b, "\tlong long o%u;\n", a->index); return;
	case ARG_STRIDE: buf_fmt(b, "\t%s s%u_%u;\n", off, a->index, a->axis); return;
	case ARG_GATHER: buf_fmt(b, "\t%s g%u_%u;\n", off, a->index, a->axis); return;
	case ARG_EXTENT: buf_fmt(b, "\t%s n%u;\n", idx, a->axis); return;
	case ARG_NMAP: buf_fmt(b, "\t%s nmap;\n", idx); return;
	case ARG_NREDUCE: buf_fmt(b, "\t%s nreduce;\n", idx); return;
	case ARG_CONST: declare_const(e, b, a); return;
	case ARG_SIZE: buf_fmt(b, "\tlong long size%u;\n", a->index); return;
	case ARG_SPLITS: buf_str(b, "\tunsigned splits;\n"); return;
	case ARG_LANES: buf_str(b, "\tunsigned lanes;\n"); return;
	case ARG_PHASE: buf_str(b, "\tunsigned phase;\n"); return;
	case ARG_SCRATCH: buf_str(b, "\tunsigned long long *scratch;\n"); return;
	case ARG_COUNTERS: buf_str(b, "\tunsigned *counters;\n"); return;
	case ARG_ERROR: buf_str(b, "\tstruct failure *error;\n"); return;
	}
}

void args_declare(struct emit *e, struct buf *b, int phase)
{
	if (e->plan->ncheck)
		buf_str(b,
			"struct failure {\n\tunsigned long long position, check;\n\tlong long value;\n\tunsigned long long lock;\n};\n\n");
	buf_str(b, "struct args {\n");
	for (int i = 0; i < e->t->narg; i++)
		if (e->t->arg[i].phase == phase)
			declare(e, b, &e->t->arg[i]);
	buf_str(b, "};\n\n");
}

static uint64_t const_value(const struct kernel *k, const struct arg *a)
{
	const struct code *c = a->axis ? &k->tail : &k->body;

	return c->step[a->index].bits;
}

/* What the address list holds before the phase's buffers. */
static int buffers_before(const struct unit *u, int phase)
{
	int n = 0;

	for (int i = 0; i < phase; i++)
		n += u->phase[i].nbuf;
	return n;
}

int unit_buffers(const struct unit *u) { return buffers_before(u, u->nphase); }

const struct kbuf *unit_buffer(const struct unit *u, int i)
{
	int phase = 0;

	for (; i >= u->phase[phase].nbuf; phase++)
		i -= u->phase[phase].nbuf;
	return &u->phase[phase].buf[i];
}

void cuda_args_fill(const struct plan *plan, const struct unit *u, const struct cuda_text *t,
	const struct launch *l, const uint64_t *address, uint64_t scratch, uint64_t counters, uint64_t error,
	void *args)
{
	memset(args, 0, t->args_size);
	for (int i = 0; i < t->narg; i++) {
		const struct arg *a = &t->arg[i];
		const struct kernel *k = &u->phase[a->phase];
		uint64_t v = 0;

		switch ((enum arg_kind)a->kind) {
		case ARG_POINTER: v = address[buffers_before(u, a->phase) + (int)a->index]; break;
		case ARG_OFFSET: v = (uint64_t)k->port[a->index].access.off; break;
		case ARG_STRIDE: v = (uint64_t)k->port[a->index].access.stride[a->axis]; break;
		case ARG_GATHER: v = (uint64_t)k->port[a->index].gather[a->axis].stride; break;
		case ARG_EXTENT: v = (uint64_t)k->extent[a->axis]; break;
		case ARG_NMAP: v = (uint64_t)k->nmap; break;
		case ARG_NREDUCE: v = (uint64_t)k->nreduce; break;
		case ARG_CONST: v = const_value(k, a); break;
		case ARG_SIZE: v = (uint64_t)plan->check[a->index].size; break;
		case ARG_SPLITS: v = l->splits; break;
		case ARG_LANES: v = l->lanes; break;
		case ARG_PHASE: v = l->phase; break;
		case ARG_SCRATCH: v = scratch; break;
		case ARG_COUNTERS: v = counters; break;
		case ARG_ERROR: v = error; break;
		}
		memcpy((char *)args + a->offset, &v, a->size); /* little-endian: the low bytes */
	}
}
