/* kernel.c -- the second half of planning: a group of roots to one kernel: its axes, its two lists of steps, its ports. Axes of
 * extent 1 are gone already; here reduced axes are put last, in the order of memory, and neighbours that every port walks as one
 * are merged. */
#include <stdlib.h>
#include <string.h>

#include "ir/group.h"

struct builder {
	struct grouping *g;
	const struct group *group;
	int group_number;
	struct kernel *k;
	int order[MAX_RANK];          /* kernel axis -> axis of the group's domain */
	uint32_t *where;              /* value -> step of the list being built, NO_VALUE = none */
	struct step *step;
	size_t nstep, step_cap;
	size_t nport, port_cap, nbuf, buf_cap, nfold, fold_cap;
	int tail;
	const int *temp_number;
	int *fold_of;                 /* definition -> fold */
};

static const struct root *root_at(const struct builder *b, size_t j)
{
	return &b->g->root[b->group->root[j]];
}

static int buffer(struct builder *b, enum buf_kind kind, int number, gx_dtype mem, int written)
{
	struct kernel *k = b->k;
	struct kbuf buf = {kind, number, mem, written};

	for (size_t i = 0; i < b->nbuf; i++)
		if (k->buf[i].kind == kind && k->buf[i].number == number) {
			k->buf[i].written |= written;
			return (int)i;
		}
	arena_push(b->g->ir->arena, k->buf, b->nbuf, b->buf_cap, buf);
	return (int)b->nbuf - 1;
}

static uint32_t push_port(struct builder *b, const struct port *p)
{
	arena_push(b->g->ir->arena, b->k->port, b->nport, b->port_cap, *p);
	return (uint32_t)b->nport - 1;
}

static uint32_t push_step(struct builder *b, const struct step *s)
{
	arena_push(b->g->ir->arena, b->step, b->nstep, b->step_cap, *s);
	return (uint32_t)b->nstep - 1;
}

/* An access over a root's own axes as one over the kernel's. */
static struct access to_kernel(const struct builder *b, const struct root *r, const struct access *a)
{
	struct access out = {a->off, {0}};

	for (int i = 0; i < (b->tail && !b->k->scans ? b->k->nkept : b->k->rank); i++) {
		int axis = b->tail && !b->k->scans ? i : b->order[i];   /* in a tail the root's axes are the kept ones, in order */

		out.stride[i] = a->stride[r->axis[axis]];
	}
	return out;
}

/* Instructions carry a domain, and a root's squeezing of it is what counts. */
struct root domain_of(const struct ir *ir, uint32_t v)
{
	const struct shape *s = &ir->shape[ir->ins[v].shape];
	struct root r = {.value = v};

	for (int k = 0; k < s->rank; k++)
		if (s->n[k] != 1) {
			r.axis[r.shape.rank] = k;
			r.shape.n[r.shape.rank++] = s->n[k];
		}
	return r;
}

static struct step load_step(struct builder *b, uint32_t v, const struct ins *i)
{
	const struct ir *ir = b->g->ir;
	struct step s = {.kind = i->kind == INS_IOTA ? STEP_IOTA : STEP_LOAD, .type = i->type};
	struct root r = domain_of(ir, v);
	struct port p = {.buf = -1, .in_tail = b->tail, .ngather = i->kind == INS_LOAD ? i->nargs : 0};

	p.access = to_kernel(b, &r, &ir->access[i->access]);
	if (i->kind == INS_LOAD) {
		const struct source *src = &ir->source[i->source];

		p.buf = src->kind == SOURCE_INPUT ? buffer(b, BUF_INPUT, src->input, src->mem, 0)
			: buffer(b, BUF_TEMP, b->temp_number[src->def], src->mem, 0);
		for (int k = 0; k < p.ngather; k++) {
			p.gather[k] = ir->gather[i->gather + (unsigned)k];
			p.gather[k].value = b->where[p.gather[k].value];
		}
		for (int a = 0; a < src->shape.rank && p.ngather; a++)
			p.reach += (double)llabs(src->stride[a]) * (double)(src->shape.n[a] > 0 ? src->shape.n[a] - 1 : 0);
	}
	s.port = push_port(b, &p);
	return s;
}

static void emit(struct builder *b, uint32_t v)
{
	const struct ir *ir = b->g->ir;
	const struct ins *i = &ir->ins[v];
	struct step s = {.type = i->type, .nargs = i->kind == INS_LOAD ? 0 : i->nargs, .by_arg = i->by_arg, .op = i->op, .bits = i->bits};

	if (i->kind == INS_LOAD && ir->source[i->source].kind == SOURCE_TEMP && b->tail) {
		uint32_t def = ir->source[i->source].def;

		if (b->g->def_group[def] == b->group_number) {
			if (ir->def[def].kind == DEF_STORE) {
				b->where[v] = b->where[ir->def[def].value];
				return;
			}
			s.kind = STEP_RESULT;
			s.index = (uint16_t)b->fold_of[def];
			b->where[v] = push_step(b, &s);
			return;
		}
	}
	if (i->kind == INS_IOTA || i->kind == INS_LOAD) {
		s = load_step(b, v, i);
	} else {
		s.kind = i->kind == INS_CONST ? STEP_CONST : i->kind == INS_OP ? STEP_OP : STEP_CAST;
		for (int k = 0; k < i->nargs; k++)
			s.arg[k] = b->where[i->arg[k]];
	}
	if (s.kind == STEP_OP)
		b->k->operations += op_table[s.op].heavy ? 20 : 1;
	b->where[v] = push_step(b, &s);
}

static void store(struct builder *b, uint32_t step, gx_dtype type, enum buf_kind kind, int number, gx_dtype mem, const struct root *r)
{
	struct step s = {.kind = STEP_STORE, .type = (uint8_t)type, .nargs = 1};
	struct port p = {.in_tail = b->tail};
	int64_t stride[MAX_RANK];
	struct access a = {0, {0}};

	shape_strides(&r->shape, stride);
	for (int i = 0; i < r->shape.rank; i++)
		a.stride[r->axis[i]] = stride[i];
	p.access = to_kernel(b, r, &a);
	p.buf = buffer(b, kind, number, mem, 1);
	s.port = push_port(b, &p);
	s.arg[0] = step;
	push_step(b, &s);
}

static void finish_root(struct builder *b, const struct root *r)
{
	const struct ir *ir = b->g->ir;
	gx_dtype type = (gx_dtype)ir->ins[r->value].type;
	uint32_t at = b->where[r->value];
	struct step s = {.type = (uint8_t)type, .nargs = 1, .arg = {at, 0, 0}};

	switch (r->kind) {
	case ROOT_OUTPUT:
		store(b, at, type, BUF_OUTPUT, r->number, ir->output[r->number].mem, r);
		break;
	case ROOT_STORE:
		if (b->g->in_memory[r->number])
			store(b, at, type, BUF_TEMP, b->temp_number[r->number], type, r);
		break;
	case ROOT_CHECK:
		s.kind = STEP_CHECK;
		s.index = (uint16_t)r->number;
		push_step(b, &s);
		break;
	case ROOT_REDUCE: {
		const struct def *d = &ir->def[r->number];
		struct fold f = {d->red, type};

		s.kind = STEP_FOLD;
		s.index = (uint16_t)b->nfold;
		b->fold_of[r->number] = (int)b->nfold;
		if (d->position != NO_VALUE) {
			s.nargs = 2;
			s.arg[1] = b->where[d->position];
		}
		arena_push(ir->arena, b->k->fold, b->nfold, b->fold_cap, f);
		push_step(b, &s);
		break;
	}
	}
}

/* A fold that another kernel reads: stored by the tail. */
static void store_results(struct builder *b)
{
	const struct ir *ir = b->g->ir;

	for (size_t j = 0; j < b->group->nroot; j++) {
		const struct root *r = root_at(b, j);
		const struct source *src;
		struct step s = {.kind = STEP_RESULT};
		struct root kept;

		if (r->kind != ROOT_REDUCE || !b->g->in_memory[r->number])
			continue;
		src = &ir->source[ir->def[r->number].source];
		memset(&kept, 0, sizeof kept);
		for (int k = 0; k < src->shape.rank; k++)
			if (src->shape.n[k] != 1) {
				kept.axis[kept.shape.rank] = k;
				kept.shape.n[kept.shape.rank++] = src->shape.n[k];
			}
		s.type = (uint8_t)src->mem;
		s.index = (uint16_t)b->fold_of[r->number];
		store(b, push_step(b, &s), src->mem, BUF_TEMP, b->temp_number[r->number], src->mem, &kept);
	}
}

static struct code list(struct builder *b, int tail)
{
	struct grouping *g = b->g;
	const struct ir *ir = g->ir;
	struct code code;

	b->tail = tail;
	b->step = NULL;
	b->nstep = b->step_cap = 0;
	mark_list(g, b->group, tail, b->group_number);
	for (uint32_t v = 0; v < ir->nins; v++) {
		b->where[v] = NO_VALUE;
		if (g->mark[v] == g->stamp)
			emit(b, v);
	}
	for (size_t j = 0; j < b->group->nroot; j++)
		if (root_at(b, j)->in_tail == tail)
			finish_root(b, root_at(b, j));
	if (tail)
		store_results(b);
	code.step = b->step;
	code.n = (int)b->nstep;
	return code;
}

/* The load that says how memory is laid out: the one that varies along most points. */
static const struct access *dominant(const struct builder *b, struct root *domain)
{
	const struct ir *ir = b->g->ir;
	const struct access *best = NULL;
	double most = -1;

	for (uint32_t v = 0; v < ir->nins; v++) {
		const struct ins *i = &ir->ins[v];
		struct root r;
		double n = 1;

		if (b->g->mark[v] != b->g->stamp || i->kind != INS_LOAD)
			continue;
		r = domain_of(ir, v);
		for (int k = 0; k < r.shape.rank; k++)
			n *= ir->access[i->access].stride[r.axis[k]] ? (double)r.shape.n[k] : 1;
		if (n > most) {
			most = n;
			best = &ir->access[i->access];
			*domain = r;
		}
	}
	return best;
}

/* Kept axes in logical order, then reduced axes with the fastest in memory last. */
static void order_axes(struct builder *b)
{
	struct grouping *g = b->g;
	const struct group *group = b->group;
	struct kernel *k = b->k;
	struct root domain;
	const struct access *a;

	for (int i = 0; i < group->shape.rank; i++)
		if (!(group->axes >> i & 1))
			b->order[k->rank++] = i;
	k->nkept = k->rank;
	for (int i = 0; i < group->shape.rank; i++)
		if (group->axes >> i & 1)
			b->order[k->rank++] = i;
	g->stamp++;
	for (size_t j = 0; j < group->nroot; j++)
		if (!root_at(b, j)->in_tail)
			g->mark[root_at(b, j)->value] = g->stamp;
	mark_below(g, -1);
	a = dominant(b, &domain);
	for (int i = k->nkept + 1; a && i < k->rank; i++)   /* insertion sort, stable */
		for (int j = i; j > k->nkept; j--) {
			int64_t x = llabs(a->stride[domain.axis[b->order[j - 1]]]), y = llabs(a->stride[domain.axis[b->order[j]]]);
			int keep = b->order[j];

			if (x >= y)
				break;
			b->order[j] = b->order[j - 1];
			b->order[j - 1] = keep;
		}
	for (int i = 0; i < k->rank; i++)
		k->extent[i] = group->shape.n[b->order[i]];
}

static int mergeable(const struct kernel *k, int a)
{
	if ((a < k->nkept) != (a + 1 < k->nkept))
		return 0;
	for (int i = 0; i < k->nport; i++) {
		const struct port *p = &k->port[i];

		if (a >= port_rank(k, p))
			continue;
		if (p->access.stride[a] != p->access.stride[a + 1] * k->extent[a + 1])
			return 0;
	}
	return 1;
}

static void collapse(struct kernel *k)
{
	for (int a = 0; a + 1 < k->rank;) {
		if (!mergeable(k, a)) {
			a++;
			continue;
		}
		k->extent[a] *= k->extent[a + 1];
		for (int i = 0; i < k->nport; i++)
			k->port[i].access.stride[a] = k->port[i].access.stride[a + 1];
		for (int j = a + 1; j + 1 < k->rank; j++) {
			k->extent[j] = k->extent[j + 1];
			for (int i = 0; i < k->nport; i++)
				k->port[i].access.stride[j] = k->port[i].access.stride[j + 1];
		}
		k->rank--;
		k->extent[k->rank] = 0;
		for (int i = 0; i < k->nport; i++)
			k->port[i].access.stride[k->rank] = 0;
		k->nkept -= a < k->nkept;
		a = a ? a - 1 : 0;
	}
}

static void measure(struct kernel *k)
{
	const int64_t narrow = INT32_MAX;
	double inner = 0, outer = 0;   /* elements that each order reads as neighbours */

	k->nmap = k->nreduce = 1;
	for (int a = 0; a < k->rank; a++)
		*(a < k->nkept ? &k->nmap : &k->nreduce) *= k->extent[a];
	k->wide = k->nmap > narrow || k->nreduce > narrow || (double)k->nmap * (double)k->nreduce > (double)narrow;
	for (int i = 0; i < k->nport; i++) {
		const struct port *p = &k->port[i];
		double span = (double)llabs(p->access.off) + p->reach, elements = 1;

		for (int a = 0; a < k->rank; a++) {
			span += (double)llabs(p->access.stride[a]) * (double)(k->extent[a] > 0 ? k->extent[a] - 1 : 0);
			elements *= p->access.stride[a] ? (double)k->extent[a] : 1;
		}
		k->wide |= span > (double)narrow;
		if (p->buf < 0 || !k->reduces || ((p->in_tail || k->buf[p->buf].written) && !k->scans))
			continue;
		inner += k->rank > k->nkept && llabs(p->access.stride[k->rank - 1]) == 1 ? elements : 0;
		outer += k->nkept > 0 && llabs(p->access.stride[k->nkept - 1]) == 1 ? elements : 0;
	}
	k->inner = k->nkept == 0 || inner > outer || (inner == outer && k->rank > k->nkept
		&& k->extent[k->rank - 1] >= k->extent[k->nkept - 1]);
	k->operations *= (double)k->nmap * (double)k->nreduce;
}

/* The statements that the kernel's roots were written in, each once. */
static const char *title(struct builder *b)
{
	struct ir *ir = b->g->ir;
	const struct text *src = ir->diag->src;
	char *t = arena_text(ir->arena, "", 0);

	for (size_t j = 0; src && j < b->group->nroot && strlen(t) < 400; j++) {
		struct span s = root_at(b, j)->span;
		int n = (int)(s.end - s.begin), seen = s.end == 0;

		for (size_t i = 0; i < j; i++)
			seen |= root_at(b, i)->span.begin == s.begin && root_at(b, i)->span.end == s.end;
		if (!seen)
			t = arena_fmt(ir->arena, "%s%s%.*s%s", t, t[0] ? "; " : "", n > 200 ? 200 : n, src->text + s.begin, n > 200 ? "..." : "");
	}
	return t;
}

struct kernel *kernel_build(struct grouping *g, int number, const struct group *as, const int *temp_number, struct kernel *out)
{
	const struct group *group = as ? as : &g->group[number];
	struct builder b = {.g = g, .group = group, .k = out, .temp_number = temp_number, .group_number = number};
	struct kernel *k = out;

	k->reduces = group->reduces;
	k->scans = group->scans;
	b.where = arena_array(g->ir->arena, uint32_t, g->ir->nins + 1);
	b.fold_of = arena_array(g->ir->arena, int, g->ir->ndef + 1);
	order_axes(&b);
	k->body = list(&b, 0);
	if (k->reduces)
		k->tail = list(&b, 1);
	k->nport = (int)b.nport;
	k->nbuf = (int)b.nbuf;
	k->nfold = (int)b.nfold;
	collapse(k);
	measure(k);
	k->title = title(&b);
	return k;
}

gx_dtype step_type(const struct code *c, const struct step *s)
{
	return (gx_dtype)c->step[s->arg[s->nargs - 1]].type;
}
