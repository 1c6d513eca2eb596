/* plan.c -- IR to plan: what is live, which roots share a kernel, in which order the kernels run.
 *
 * Every root has a level: how many definitions must have run before it. Reductions of one level, domain and axes share a kernel; so do
 * maps of one level and domain; a map rides along with a reduction over its domain, and a map over what a reduction kept, which needs
 * nothing later than that reduction, becomes the reduction's tail. A map over the domain of a scan becomes the scan's tail. */
#include <string.h>

#include "ir/group.h"

static void squeeze(struct root *r, const struct shape *s, unsigned axes)
{
	memset(&r->shape, 0, sizeof r->shape);
	r->axes = 0;
	for (int k = 0; k < s->rank; k++)
		if (s->n[k] != 1) {
			if (axes >> k & 1)
				r->axes |= 1u << r->shape.rank;
			r->axis[r->shape.rank] = k;
			r->shape.n[r->shape.rank++] = s->n[k];
		}
}

static void add_root(struct grouping *g, enum root_kind kind, int number, uint32_t value, const struct shape *s, unsigned axes,
	struct span span)
{
	struct root r = {.kind = kind, .number = number, .value = value, .level = g->ir->level[value], .group = -1, .span = span};

	squeeze(&r, s, axes);
	r.scans = kind == ROOT_REDUCE && g->ir->def[number].kind == DEF_SCAN;
	arena_push(g->ir->arena, g->root, g->nroot, g->root_cap, r);
}

void mark_below(struct grouping *g, int tail_of)
{
	const struct ir *ir = g->ir;

	for (uint32_t v = (uint32_t)ir->nins; v-- > 0;) {
		const struct ins *i = &ir->ins[v];
		const struct source *s = i->kind == INS_LOAD ? &ir->source[i->source] : NULL;

		if (g->mark[v] != g->stamp)
			continue;
		if (s && s->kind == SOURCE_TEMP && tail_of >= 0 && g->def_group[s->def] == tail_of && ir->def[s->def].kind == DEF_STORE)
			g->mark[ir->def[s->def].value] = g->stamp;
		for (int k = 0; k < i->nargs; k++)
			g->mark[i->kind == INS_LOAD ? ir->gather[i->gather + (unsigned)k].value : i->arg[k]] = g->stamp;
	}
}

void mark_list(struct grouping *g, const struct group *group, int tail, int number)
{
	g->stamp++;
	for (size_t j = 0; j < group->nroot; j++) {
		const struct root *r = &g->root[group->root[j]];

		if (r->in_tail != tail)
			continue;
		g->mark[r->value] = g->stamp;
		if (r->kind == ROOT_REDUCE && g->ir->def[r->number].position != NO_VALUE)
			g->mark[g->ir->def[r->number].position] = g->stamp;
	}
	mark_below(g, tail ? number : -1);
}

/* Roots of everything that outputs and checks need: from the last definition to the first, each marks what it uses. */
static void find_roots(struct grouping *g)
{
	struct ir *ir = g->ir;

	g->stamp++;
	for (size_t i = 0; i < ir->noutput; i++)
		g->mark[ir->output[i].value] = g->stamp;
	for (size_t i = 0; i < ir->ncheck; i++)
		g->mark[ir->check[i].value] = g->stamp;
	for (uint32_t v = (uint32_t)ir->nins; v-- > 0;) {
		const struct ins *i = &ir->ins[v];

		if (g->mark[v] != g->stamp)
			continue;
		for (int k = 0; k < i->nargs; k++)
			g->mark[i->kind == INS_LOAD ? ir->gather[i->gather + (unsigned)k].value : i->arg[k]] = g->stamp;
		if (i->kind == INS_LOAD && ir->source[i->source].kind == SOURCE_TEMP) {
			const struct def *d = &ir->def[ir->source[i->source].def];

			g->def_group[ir->source[i->source].def] = 0;   /* live; the group comes later */
			g->mark[d->value] = g->stamp;
			if (d->position != NO_VALUE)
				g->mark[d->position] = g->stamp;
		}
	}
	for (size_t i = 0; i < ir->ndef; i++) {
		const struct def *d = &ir->def[i];
		const struct shape *s = &ir->shape[ir->ins[d->value].shape];

		if (g->def_group[i] == 0)
			add_root(g, d->kind == DEF_STORE ? ROOT_STORE : ROOT_REDUCE, (int)i, d->value, s, d->axes, d->span);
	}
	for (size_t i = 0; i < ir->ncheck; i++)
		add_root(g, ROOT_CHECK, (int)i, ir->check[i].value, &ir->check[i].shape, 0, ir->check[i].span);
	for (size_t i = 0; i < ir->noutput; i++)
		add_root(g, ROOT_OUTPUT, (int)i, ir->output[i].value, &ir->output[i].shape, 0, ir->output[i].span);
}

static void put(struct grouping *g, struct root *r, int group, int in_tail)
{
	struct group *k = &g->group[group];

	r->group = group;
	r->in_tail = in_tail;
	k->checks |= r->kind == ROOT_CHECK;
	if (r->kind == ROOT_STORE || r->kind == ROOT_REDUCE)
		g->def_group[r->number] = group;
	arena_push(g->ir->arena, k->root, k->nroot, k->root_cap, (int)(r - g->root));
}

static int group_for(struct grouping *g, const struct root *r, int reduces)
{
	struct group k = {.level = r->level, .reduces = reduces, .scans = r->scans, .shape = r->shape, .axes = r->axes};

	for (size_t i = 0; i < g->ngroup; i++) {
		const struct group *o = &g->group[i];

		if (o->level != r->level || !shape_same(&o->shape, &r->shape) || (reduces && (!o->reduces || o->axes != r->axes)))
			continue;
		if (o->scans != r->scans)
			continue;   /* the body of a scan may run twice */
		if (!reduces && o->reduces && r->kind == ROOT_CHECK)
			continue;   /* a check numbers its points in logical order */
		return (int)i;
	}
	arena_push(g->ir->arena, g->group, g->ngroup, g->group_cap, k);
	return (int)g->ngroup - 1;
}

static int kept_same(const struct group *k, const struct shape *s)
{
	struct shape kept = {0, {0}};

	for (int a = 0; a < k->shape.rank; a++)
		if (k->scans || !(k->axes >> a & 1))
			kept.n[kept.rank++] = k->shape.n[a];
	return shape_same(&kept, s);
}

int reads_in_order(const struct ir *ir, const struct root *r, const struct ins *i, unsigned fixed)
{
	const struct access *a = &ir->access[i->access];
	struct shape moving = {0, {0}};
	int64_t stride[MAX_RANK];

	if (i->nargs || a->off)
		return 0;
	for (int k = 0; k < r->shape.rank; k++)
		if (!(fixed >> k & 1))
			moving.n[moving.rank++] = r->shape.n[k];
	shape_strides(&moving, stride);
	for (int k = 0, at = 0; k < r->shape.rank; k++)
		if (a->stride[r->axis[k]] != (fixed >> k & 1 ? 0 : stride[at++]))
			return 0;
	return 1;
}

/* The reducing group whose tail can hold r, or -1. */
static int tail_for(struct grouping *g, const struct root *r)
{
	const struct ir *ir = g->ir;
	int best = -1;

	if (r->level == 0)
		return -1;
	g->stamp++;
	g->mark[r->value] = g->stamp;
	mark_below(g, -1);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t v = 0; v <= r->value; v++) {
			const struct ins *i = &ir->ins[v];
			int from;

			if (g->mark[v] != g->stamp || i->kind != INS_LOAD)
				continue;
			if (pass && best >= 0 && i->bits && (int)i->bits > g->group[best].level)
				return -1;   /* relies on a check that has not run before that kernel */
			if (ir->source[i->source].kind != SOURCE_TEMP)
				continue;
			from = g->def_group[ir->source[i->source].def];
			if (!pass && (best < 0 || g->group[from].level > g->group[best].level))
				best = from;
			if (pass && from != best && g->group[from].level >= g->group[best].level)
				return -1;
			if (pass && from == best && !reads_in_order(ir, r, i, 0))
				return -1;
		}
	if (best < 0 || !g->group[best].reduces || (g->group[best].scans && r->kind == ROOT_CHECK) || !kept_same(&g->group[best], &r->shape))
		return -1;
	for (size_t j = 0; j < g->group[best].nroot; j++) {   /* what it loads from that kernel must not be stored by its body */
		const struct root *o = &g->root[g->group[best].root[j]];

		if (o->kind == ROOT_STORE && !o->in_tail)
			for (uint32_t v = 0; v <= r->value; v++)
				if (g->mark[v] == g->stamp && ir->ins[v].kind == INS_LOAD && ir->source[ir->ins[v].source].kind == SOURCE_TEMP &&
					(int)ir->source[ir->ins[v].source].def == o->number)
					return -1;
	}
	return best;
}

/* Roots in order of level, so that the groups of what a root loads are known. */
static void assign(struct grouping *g)
{
	int deepest = 0;

	for (size_t i = 0; i < g->nroot; i++)
		deepest = g->root[i].level > deepest ? g->root[i].level : deepest;
	for (int level = 0; level <= deepest; level++)
		for (int maps = 0; maps < 2; maps++)
			for (size_t i = 0; i < g->nroot; i++) {
				struct root *r = &g->root[i];
				int tail;

				if (r->level != level || (r->kind == ROOT_REDUCE) == maps)
					continue;
				tail = maps ? tail_for(g, r) : -1;
				put(g, r, tail >= 0 ? tail : group_for(g, r, !maps), tail >= 0);
			}
}

/* Which definitions must be in memory, and which groups a range check waits for. */
static void find_uses(struct grouping *g)
{
	const struct ir *ir = g->ir;

	for (size_t k = g->ngroup; k-- > 0;)
		g->group[k].needed = g->group[k].checks;
	for (int again = 1; again;) {
		again = 0;
		for (size_t k = 0; k < g->ngroup; k++) {
			struct group *group = &g->group[k];

			for (int tail = 0; tail < 2; tail++) {
				mark_list(g, group, tail, (int)k);
				for (uint32_t v = 0; v < ir->nins; v++) {
					const struct ins *i = &ir->ins[v];
					int from;

					if (g->mark[v] != g->stamp || i->kind != INS_LOAD || ir->source[i->source].kind != SOURCE_TEMP)
						continue;
					from = g->def_group[ir->source[i->source].def];
					if (tail && from == (int)k)
						continue;
					g->in_memory[ir->source[i->source].def] = 1;
					if (group->needed && !g->group[from].needed)
						again = g->group[from].needed = 1;
				}
			}
		}
	}
}

static int *order(struct grouping *g)
{
	int *at = arena_array(g->ir->arena, int, g->ngroup + 1), n = 0, deepest = 0;

	for (size_t k = 0; k < g->ngroup; k++)
		deepest = g->group[k].level > deepest ? g->group[k].level : deepest;
	for (int needed = 1; needed >= 0; needed--)
		for (int level = 0; level <= deepest; level++)
			for (size_t k = 0; k < g->ngroup; k++)
				if (g->group[k].level == level && g->group[k].needed == needed)
					at[n++] = (int)k;
	return at;
}

static void temporaries(struct grouping *g, struct plan *p, int *number)
{
	const struct ir *ir = g->ir;

	p->temp = arena_array(ir->arena, struct temp, ir->ndef + 1);
	for (size_t i = 0; i < ir->ndef; i++) {
		const struct source *s = &ir->source[ir->def[i].source];

		number[i] = -1;
		if (!g->in_memory[i])
			continue;
		number[i] = p->ntemp;
		p->temp[p->ntemp++] = (struct temp){.mem = s->mem, .count = shape_count(&s->shape), .first = -1};
	}
}

static int64_t touched(const struct kernel *k, const struct port *p)
{
	int64_t n = 1;

	for (int a = 0; a < k->rank; a++)
		if (p->access.stride[a] != 0 || p->ngather)
			n *= k->extent[a];
	return n;
}

static void account(struct plan *p, const struct ir *ir)
{
	int64_t *most = arena_array(ir->arena, int64_t, p->ninput + 1);

	for (int i = 0; i < p->nkernel; i++) {
		const struct kernel *k = &p->kernel[i];

		p->operations += k->operations;
		for (int j = 0; j < k->nbuf; j++) {
			const struct kbuf *b = &k->buf[j];

			if (b->kind == BUF_TEMP) {
				struct temp *t = &p->temp[b->number];

				t->first = t->first < 0 ? i : t->first;
				t->last = i;
			}
			if (b->kind == BUF_INPUT)
				p->input[b->number].used = 1;
		}
		for (int j = 0; j < k->nport; j++) {
			const struct port *port = &k->port[j];
			int64_t n;

			if (port->buf < 0 || k->buf[port->buf].kind != BUF_INPUT)
				continue;
			n = touched(k, port) * type_table[k->buf[port->buf].mem].bytes;
			if (n > most[k->buf[port->buf].number])
				most[k->buf[port->buf].number] = n;
		}
	}
	for (int i = 0; i < p->ninput; i++)
		p->bytes_read += most[i];
	for (int i = 0; i < p->noutput; i++)
		p->bytes_written += shape_count(&p->output[i].shape) * type_table[p->output[i].mem].bytes;
}

struct plan *plan_make(struct ir *ir, int ninputs)
{
	struct arena *a = ir->arena;
	struct plan *p = arena_new(a, struct plan);
	struct grouping g = {.ir = ir};
	int *sequence, *number;

	g.def_group = arena_array(a, int, ir->ndef + 1);
	g.in_memory = arena_array(a, uint8_t, ir->ndef + 1);
	g.mark = arena_array(a, uint32_t, ir->nins + 1);
	for (size_t i = 0; i < ir->ndef; i++)
		g.def_group[i] = -1;
	find_roots(&g);
	assign(&g);
	find_uses(&g);
	number = arena_array(a, int, ir->ndef + 1);
	temporaries(&g, p, number);
	p->ninput = ninputs;
	p->input = arena_array(a, struct plan_input, ninputs + 1);
	p->check = ir->check;
	p->ncheck = (int)ir->ncheck;
	p->noutput = (int)ir->noutput;
	p->output = arena_array(a, struct plan_output, ir->noutput + 1);
	for (size_t i = 0; i < ir->noutput; i++)
		p->output[i] = (struct plan_output){ir->output[i].name, ir->output[i].mem, ir->output[i].shape};
	for (size_t i = 0; i < ir->nsource; i++)
		if (ir->source[i].kind == SOURCE_INPUT)
			p->input[ir->source[i].input].name = ir->source[i].name;
	sequence = order(&g);
	p->kernel = arena_array(a, struct kernel, g.ngroup + 1);
	for (size_t i = 0; i < g.ngroup; i++)
		kernel_build(&g, sequence[i], NULL, number, &p->kernel[p->nkernel++]);
	rows_find(&g, p, sequence, number);
	account(p, ir);
	return p;
}
