/* point.c -- point(), the function that holds the body of a kernel, and its calls.
 *
 * It takes the elements that plain loads read and gives what is stored and folded. Who calls it (a full
 * tile with many loads in flight, or the remainder, one element at a time) decides where the elements come
 * from, so the body is written once. */
#include "codegen/emit.h"

static gx_dtype store_mem(const struct emit *e, const struct step *s)
{
	return e->k->buf[e->k->port[s->port].buf].mem;
}

static void point_params(struct emit *e)
{
	const struct code *c = &e->k->body;

	put(e, "(const struct args &A");
	for (int a = 0; a < e->k->rank; a++)
		if (e->body.inner_axes >> a & 1)
			put(e, ", const %s c%d", e->off, a);
	if (e->body.checks)
		put(e, ", const unsigned long long at");
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		if (s->kind == STEP_STORE)
			put(e, ", %s &y%d", ctype(store_mem(e, s)), i);
		else if (s->kind == STEP_FOLD) {
			put(e, ", %s &e%u", ctype((gx_dtype)s->type), s->index);
			if (fold_state(e, s) == PAIR)
				put(e, ", long long &j%u", s->index);
		} else if (e->body.step[i] && plain_load(s, e->k))
			put(e, ", const %s v%d", ctype((gx_dtype)s->type), i);
	}
	put(e, ")\n");
}

void emit_point(struct emit *e)
{
	put(e, "/* One point of the domain. */\nstatic __device__ __forceinline__ %s point",
		e->body.checks ? "int" : "void");
	point_params(e);
	put(e, "{\n");
	emit_steps(e, &e->k->body, &e->body);
	put(e, e->body.checks ? "\treturn 1;\n}\n\n" : "}\n\n");
}

void emit_outputs(struct emit *e, const char *tabs)
{
	const struct code *c = &e->k->body;

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		if (s->kind == STEP_STORE)
			put(e, "%s%s y%d;\n", tabs, ctype(store_mem(e, s)), i);
		if (s->kind != STEP_FOLD)
			continue;
		put(e, "%s%s e%u;\n", tabs, ctype((gx_dtype)s->type), s->index);
		if (fold_state(e, s) == PAIR)
			put(e, "%slong long j%u;\n", tabs, s->index);
	}
}

/* In a row program: a row's own number, the same for a whole row, or kept from phase to phase. */
static void row_argument(struct emit *e, const struct step *s, int i)
{
	if (row_temp(e, &e->k->port[s->port]))
		emit_load(e, &e->code, s);
	else if (row_uniform(e->k, s))
		put(e, "x%d", i);
	else if (e->vec > 1)
		put(e, "get_%s(x%d[u], j)", abbr(e->k->buf[e->k->port[s->port].buf].mem), i);
	else
		put(e, "x%d[u]", i);
}

static void load_argument(struct emit *e, const struct step *s, int i, enum point_from from)
{
	if (from == FROM_ROW)
		row_argument(e, s, i);
	else if (from == FROM_MEMORY && !(e->vec > 1 && is_uniform(e, s)))
		emit_load(e, &e->code, s);
	else if (e->vec > 1 && is_uniform(e, s))
		put(e, "x%d", i);
	else if (from == FROM_VECTOR)
		put(e, "get_%s(x%d[u], j)", abbr(e->k->buf[e->k->port[s->port].buf].mem), i);
	else
		put(e, "x%d[u]", i);
}

void emit_element(struct emit *e, const char *tabs, const char *number, unsigned axes, int at)
{
	const struct kernel *k = e->k;
	int first = k->reduces ? k->nkept : 0;
	unsigned mine = (1u << k->rank) - (1u << first);

	at = at && e->body.checks;
	if (number[1] && (at || (axes & mine && k->rank - first > 1))) {
		put(e, "%sconst %s k = %s;\n", tabs, e->idx, number);
		number = "k";
	}
	emit_coords(e, tabs, k->reduces ? "reduced_axes" : "kept_axes", number, first, k->rank, axes);
	if (at)
		put(e, "%sconst unsigned long long at = %s%s;\n", tabs,
			k->reduces ? "(unsigned long long)m * A.nreduce + " : "", number);
}

void emit_call(struct emit *e, const char *tabs, enum point_from from)
{
	const struct code *c = &e->k->body;

	put(e, "%s%spoint(A", tabs, e->body.checks ? "if (" : "");
	for (int a = 0; a < e->k->rank; a++)
		if (e->body.inner_axes >> a & 1)
			put(e, ", c%d", a);
	if (e->body.checks)
		put(e, ", at");
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		if (!e->body.step[i])
			continue;
		if (s->kind == STEP_STORE)
			put(e, ", y%d", i);
		else if (s->kind == STEP_FOLD) {
			put(e, ", e%u", s->index);
			if (fold_state(e, s) == PAIR)
				put(e, ", j%u", s->index);
		} else if (plain_load(s, e->k)) {
			put(e, ", ");
			load_argument(e, s, i, from);
		}
	}
	put(e, e->body.checks ? ")) {\n" : ");\n");
}

void emit_stores(struct emit *e, const char *tabs)
{
	const struct code *c = &e->k->body;

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		if (s->kind != STEP_STORE)
			continue;
		put(e, "%sq%u[", tabs, s->port);
		emit_access(e, &e->code, (int)s->port, ~0u);
		put(e, "] = y%d;\n", i);
	}
}
