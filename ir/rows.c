/* rows.c -- the third part of planning: kernels that could be one kernel that keeps a row at hand.
 *
 * `a / sum(a, axis=1, keepdims=true)` is a reduction and a map over one domain, and the map reads of the sums only its own row's. Such
 * kernels, in order, are the phases of a row program. The plan itself stays as it is: whether a row fits on the chip is for the
 * machine to say. */
#include "ir/group.h"

/* What a group reads of others' definitions, found once. */
struct reading {
	struct read { uint32_t value, def; int in_tail; } *read;
	size_t n, cap;
};

enum { MAX_PHASES = 16 };   /* more only make one kernel long */

struct chain {
	struct grouping *g;
	const struct reading *reading;   /* per group */
	const struct group *first;
	int *member;         /* positions in the sequence */
	int n;
	uint8_t *is_member;  /* per group */
};

static void find_readings(struct grouping *g, struct reading *out)
{
	const struct ir *ir = g->ir;

	for (size_t k = 0; k < g->ngroup; k++)
		for (int tail = 0; tail < 2; tail++) {
			mark_list(g, &g->group[k], tail, (int)k);
			for (uint32_t v = 0; v < ir->nins; v++) {
				const struct ins *i = &ir->ins[v];
				const struct source *s = i->kind == INS_LOAD ? &ir->source[i->source] : NULL;
				struct read r = {v, s ? s->def : 0, tail};

				if (g->mark[v] != g->stamp || !s || s->kind != SOURCE_TEMP || g->def_group[s->def] == (int)k)
					continue;
				arena_push(ir->arena, out[k].read, out[k].n, out[k].cap, r);
			}
		}
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

/* Is what a group reads, from the kept points (in a tail) or from all points (in a body), its own row's? */
static int own_row(const struct chain *c, const struct read *r)
{
	const struct ir *ir = c->g->ir;
	struct root domain = domain_of(ir, r->value);

	return !whole(c->g, r->def) && reads_in_order(ir, &domain, &ir->ins[r->value], r->in_tail ? 0 : c->first->axes);
}

static int fits(const struct chain *c, const struct group *k)
{
	if (k->checks || k->scans || !shape_same(&k->shape, &c->first->shape))
		return 0;
	return !k->reduces || k->axes == c->first->axes;
}

enum { READS_NOTHING, READS_ROWS, READS_MORE };

/* What a group reads of the members. */
static int reads(const struct chain *c, int number)
{
	const struct reading *r = &c->reading[number];
	int any = READS_NOTHING;

	for (size_t j = 0; j < r->n; j++) {
		if (!c->is_member[c->g->def_group[r->read[j].def]])
			continue;
		if (!fits(c, &c->g->group[number]) || !own_row(c, &r->read[j]))
			return READS_MORE;
		any = READS_ROWS;
	}
	return any;
}

/* The longest chain from position `at` on. A kernel outside that reads a member ends it, because members run in the last one's place. */
static void extend(struct chain *c, const int *sequence, const uint8_t *taken, int at, int n)
{
	for (int i = at + 1; i < n && c->n < MAX_PHASES; i++) {
		int r = reads(c, sequence[i]);

		if (r == READS_NOTHING)
			continue;
		if (r == READS_MORE || taken[i])
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
		r->phase[i] = p->kernel[c->member[i]];
		if (!as.reduces) {
			as.reduces = 1;
			as.axes = c->first->axes;
			r->phase[i] = (struct kernel){0};
			kernel_build(c->g, number, &as, temp_number, &r->phase[i]);
		}
		r->phase[i].inner = r->phase[0].inner;   /* one way to share a row among threads */
	}
}

void rows_find(struct grouping *g, struct plan *p, const int *sequence, const int *temp_number)
{
	struct arena *a = g->ir->arena;
	uint8_t *taken = arena_array(a, uint8_t, p->nkernel + 1);
	struct reading *reading = arena_array(a, struct reading, g->ngroup + 1);

	find_readings(g, reading);
	p->row = arena_array(a, struct row_program, p->nkernel + 1);
	for (int i = 0; i < p->nkernel; i++) {
		struct chain c = {.g = g, .reading = reading, .first = &g->group[sequence[i]]};

		if (taken[i] || !c.first->reduces || c.first->scans || c.first->checks)
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
