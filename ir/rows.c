/* rows.c -- the third part of planning: kernels that could be one kernel that keeps a row at hand.
 *
 * `a / sum(a, axis=1, keepdims=true)` is a reduction and a map over one domain, and the map reads of the sums only its own row's. Such
 * kernels, in order, are the phases of a row program. The plan itself stays as it is: whether a row fits on the chip is for the
 * machine to say. */
#include "ir/group.h"

struct chain {
	struct grouping *g;
	const struct group *first;
	int *member;         /* positions in the sequence */
	int n;
	uint8_t *is_member;  /* per group */
};

/* A load of a definition that a member makes, seen from the kept points (in a tail) or from all points (in a body): is it the row's own? */
static int own_row(const struct chain *c, uint32_t v, int in_tail)
{
	const struct ir *ir = c->g->ir;
	const struct ins *i = &ir->ins[v];
	const struct access *a = &ir->access[i->access];
	struct root r = domain_of(ir, v);
	struct shape kept = {0, {0}};
	int64_t stride[MAX_RANK];

	if (i->nargs || a->off)
		return 0;
	for (int k = 0; k < r.shape.rank; k++)
		if (in_tail || !(c->first->axes >> k & 1))
			kept.n[kept.rank++] = r.shape.n[k];
	shape_strides(&kept, stride);
	for (int k = 0, at = 0; k < r.shape.rank; k++) {
		int64_t want = in_tail || !(c->first->axes >> k & 1) ? stride[at++] : 0;

		if (a->stride[r.axis[k]] != want)
			return 0;
	}
	return 1;
}

/* A definition that its group stores point by point: no row's own. */
static int whole(const struct grouping *g, uint32_t def)
{
	const struct group *k = &g->group[g->def_group[def]];

	for (size_t j = 0; j < k->nroot; j++) {
		const struct root *r = &g->root[k->root[j]];

		if (r->kind == ROOT_STORE && r->number == (int)def)
			return !r->in_tail;
	}
	return 0;
}

static void mark_list(struct grouping *g, int number, int tail)
{
	const struct group *k = &g->group[number];

	g->stamp++;
	for (size_t j = 0; j < k->nroot; j++) {
		const struct root *r = &g->root[k->root[j]];

		if (r->in_tail != tail)
			continue;
		g->mark[r->value] = g->stamp;
		if (r->kind == ROOT_REDUCE && g->ir->def[r->number].position != NO_VALUE)
			g->mark[g->ir->def[r->number].position] = g->stamp;
	}
	mark_below(g, tail ? number : -1);
}

/* What a group reads of the members: 0 nothing, 1 rows of its own, 2 more than that. */
static int reads(const struct chain *c, int number)
{
	struct grouping *g = c->g;
	const struct ir *ir = g->ir;
	int any = 0;

	for (int tail = 0; tail < 2; tail++) {
		mark_list(g, number, tail);
		for (uint32_t v = 0; v < ir->nins; v++) {
			const struct ins *i = &ir->ins[v];
			uint32_t def;

			if (g->mark[v] != g->stamp || i->kind != INS_LOAD || ir->source[i->source].kind != SOURCE_TEMP)
				continue;
			def = ir->source[i->source].def;
			if (g->def_group[def] == number || !c->is_member[g->def_group[def]])
				continue;
			if (whole(g, def) || !own_row(c, v, tail))
				return 2;
			any = 1;
		}
	}
	return any;
}

static int fits(const struct chain *c, const struct group *k)
{
	if (k->checks || !shape_same(&k->shape, &c->first->shape))
		return 0;
	return !k->reduces || k->axes == c->first->axes;
}

/* The longest chain from position `at` on. A kernel outside that reads a member ends it, because members run in the last one's place. */
static void extend(struct chain *c, const int *sequence, const uint8_t *taken, int at, int n)
{
	for (int i = at + 1; i < n; i++) {
		const struct group *k = &c->g->group[sequence[i]];
		int r = reads(c, sequence[i]);

		if (r == 0)
			continue;
		if (r == 2 || taken[i] || !fits(c, k))
			return;
		c->member[c->n++] = i;
		c->is_member[sequence[i]] = 1;
	}
}

static void add_program(struct chain *c, struct plan *p, const int *sequence, const int *temp_number)
{
	struct arena *a = c->g->ir->arena;
	struct row_program *r = &p->row[p->nrow++];

	r->nphase = c->n;
	r->kernel = arena_array(a, int, c->n);
	r->phase = arena_array(a, struct kernel, c->n);
	for (int i = 0; i < c->n; i++) {
		int number = sequence[c->member[i]];
		struct group as = c->g->group[number];

		r->kernel[i] = c->member[i];
		if (as.reduces) {
			r->phase[i] = p->kernel[c->member[i]];
			continue;
		}
		as.reduces = 1;
		as.axes = c->first->axes;
		kernel_build(c->g, number, &as, temp_number, &r->phase[i]);
	}
}

void rows_find(struct grouping *g, struct plan *p, const int *sequence, const int *temp_number)
{
	struct arena *a = g->ir->arena;
	uint8_t *taken = arena_array(a, uint8_t, p->nkernel + 1);

	p->row = arena_array(a, struct row_program, p->nkernel + 1);
	for (int i = 0; i < p->nkernel; i++) {
		struct chain c = {.g = g, .first = &g->group[sequence[i]]};

		if (taken[i] || !c.first->reduces || c.first->checks)
			continue;
		c.member = arena_array(a, int, p->nkernel + 1);
		c.is_member = arena_array(a, uint8_t, g->ngroup + 1);
		c.member[c.n++] = i;
		c.is_member[sequence[i]] = 1;
		extend(&c, sequence, taken, i, p->nkernel);
		if (c.n < 2)
			continue;
		for (int k = 0; k < c.n; k++)
			taken[c.member[k]] = 1;
		add_program(&c, p, sequence, temp_number);
	}
}
