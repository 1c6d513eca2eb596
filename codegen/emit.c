/* emit.c -- the pieces of a kernel that every family needs: what a code list uses, coordinates, addresses,
 * statements, and the way out when an index was out of range. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "codegen/emit.h"

int plain_load(const struct step *s, const struct kernel *k)
{
	return s->kind == STEP_LOAD && k->port[s->port].ngather == 0;
}

static int acts(const struct step *s)
{
	return s->kind == STEP_STORE || s->kind == STEP_FOLD || s->kind == STEP_CHECK;
}

/* Axes with a coordinate in the port's access. */
static unsigned port_axes(const struct kernel *k, const struct port *p)
{
	unsigned axes = 0;

	for (int a = 0; a < port_rank(k, p); a++)
		if (p->access.stride[a] != 0)
			axes |= 1u << a;
	return axes;
}

static void use_port(struct emit *e, const struct step *s, struct use *u)
{
	const struct port *p = &e->k->port[s->port];
	unsigned axes = port_axes(e->k, p);

	u->axes |= axes;
	if (s->kind == STEP_STORE)
		u->store_axes |= axes;
	else if (s->kind == STEP_IOTA || p->ngather)
		u->inner_axes |= axes;
	else
		u->load_axes |= axes;
	u->gathers |= p->ngather > 0;
	for (int g = 0; g < p->ngather; g++)
		u->step[p->gather[g].value] = 1;
}

void use_find(struct emit *e, const struct code *c, int in_tail, struct use *u)
{
	memset(u, 0, sizeof *u);
	u->step = gx_calloc((size_t)c->n + 1, 1);
	if (!u->step) {
		e->failed = 1;
		return;
	}
	for (int i = c->n; i-- > 0;) {
		const struct step *s = &c->step[i];

		u->step[i] |= (uint8_t)acts(s);
		u->checks |= s->kind == STEP_CHECK;
		if (!u->step[i])
			continue;
		for (int a = 0; a < s->nargs; a++)
			u->step[s->arg[a]] = 1;
		if (s->kind == STEP_IOTA || s->kind == STEP_LOAD || s->kind == STEP_STORE)
			use_port(e, s, u);
	}
	if (in_tail)
		u->inner_axes = u->axes;
}

void emit_access(struct emit *e, struct buf *b, int port, unsigned axes)
{
	const struct port *p = &e->k->port[port];
	unsigned mine = port_axes(e->k, p) & axes;
	const char *plus = "";

	for (int a = 0; a < MAX_RANK; a++) {
		if (!(mine >> a & 1))
			continue;
		if (stride_class(p->access.stride[a]) == STRIDE_1)
			buf_fmt(b, "%sc%d", plus, a);
		else
			buf_fmt(b, "%sc%d * A.s%d_%d", plus, a, port, a);
		plus = " + ";
	}
	if (!*plus)
		buf_str(b, "0");
}

/* Coordinates by repeated division, the last axis first. Axes outside `axes` that no used axis lies beyond
 * are left alone. */
static void split(struct emit *e, const char *name, int first, int end)
{
	unsigned axes = e->split_axes & ((1u << end) - (1u << first));
	const char *from = "i";
	char left[16];

	if (end - first < 2 || !axes)
		return;
	put(e, "static __device__ __forceinline__ void %s(const struct args &A, const %s i", name, e->idx);
	for (int a = first; a < end; a++)
		if (axes >> a & 1)
			put(e, ", %s &c%d", e->off, a);
	put(e, ")\n{\n");
	for (int a = end - 1; a >= first && axes & ((2u << a) - 1); a--) {
		int more = (axes & ((1u << a) - 1)) != 0;

		if (a > first && more)
			put(e, "\tconst %s q%d = %s / A.n%d;\n", e->idx, a, from, a);
		if (axes >> a & 1 && a == first)
			put(e, "\tc%d = (%s)%s;\n", a, e->off, from);
		else if (axes >> a & 1 && more)
			put(e, "\tc%d = (%s)(%s - q%d * A.n%d);\n", a, e->off, from, a, a);
		else if (axes >> a & 1)
			put(e, "\tc%d = (%s)(%s %% A.n%d);\n", a, e->off, from, a);
		snprintf(left, sizeof left, "q%d", a);
		from = left;
	}
	put(e, "}\n\n");
}

void emit_splits(struct emit *e)
{
	const struct kernel *k = e->k;

	e->split_axes = e->body.axes | e->tail.axes;
	split(e, "kept_axes", 0, k->nkept);
	if (k->reduces)
		split(e, "reduced_axes", k->nkept, k->rank);
}

void emit_coords(struct emit *e, const char *tabs, const char *name, const char *number, int first, int end,
	unsigned axes)
{
	const char *comma = "";

	axes &= (1u << end) - (1u << first);
	if (!axes)
		return;
	if (end - first == 1) {
		put(e, number[1] ? "%sconst %s c%d = (%s)(%s);\n" : "%sconst %s c%d = (%s)%s;\n", tabs, e->off,
			first, e->off, number);
		return;
	}
	axes = e->split_axes & ((1u << end) - (1u << first));
	put(e, "%s%s ", tabs, e->off);
	for (int a = first; a < end; a++)
		if (axes >> a & 1) {
			put(e, "%sc%d", comma, a);
			comma = ", ";
		}
	put(e, ";\n%s%s(A, %s", tabs, name, number);
	for (int a = first; a < end; a++)
		if (axes >> a & 1)
			put(e, ", c%d", a);
	put(e, ");\n");
}

void emit_pointers(struct emit *e, const struct code *c, const struct use *u)
{
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		const struct port *p = &e->k->port[s->port];
		const struct kbuf *m;

		if (!u->step[i] || !(plain_load(s, e->k) || s->kind == STEP_STORE))
			continue;
		m = &e->k->buf[p->buf];
		if (rows_foreign(e, c, i) || row_temp(e, p) == TEMP_ROW || (row_temp(e, p) && s->kind == STEP_LOAD))
			continue;
		put(e, "\t%s%s *const __restrict__ q%u = A.p%d + A.o%u;\n", m->written ? "" : "const ",
			ctype(m->mem), s->port, p->buf, s->port);
	}
}

/* The address of an element of a gathering load: base, affine part, and one term a data-dependent axis. */
static void gather_place(struct emit *e, struct buf *b, const struct step *s)
{
	const struct port *p = &e->k->port[s->port];

	buf_fmt(b, "A.p%d[A.o%u", p->buf, s->port);
	if (port_axes(e->k, p)) {
		buf_str(b, " + ");
		emit_access(e, b, (int)s->port, ~0u);
	}
	for (int g = 0; g < p->ngather; g++) {
		buf_fmt(b, " + (%s)v%u", e->off, p->gather[g].value);
		if (p->gather[g].stride != 1)
			buf_fmt(b, " * A.g%u_%d", s->port, g);
	}
	buf_char(b, ']');
}

/* Coordinates as numbers. 32-bit ones are computed modulo 2^32: terms may pass beyond the type where the
 * sum does not. */
static void iota_value(struct emit *e, struct buf *b, const struct step *s)
{
	const struct port *p = &e->k->port[s->port];
	const char *t = s->type == GX_INT32 ? "unsigned" : "long long";

	buf_fmt(b, "(%s)((%s)A.o%u", ctype((gx_dtype)s->type), t, s->port);
	for (int a = 0; a < MAX_RANK; a++) {
		if (!(port_axes(e->k, p) >> a & 1))
			continue;
		buf_fmt(b, " + (%s)c%d", t, a);
		if (stride_class(p->access.stride[a]) != STRIDE_1)
			buf_fmt(b, " * (%s)A.s%u_%d", t, s->port, a);
	}
	buf_char(b, ')');
}

static void check_step(struct emit *e, const struct step *s, int fails)
{
	put(e,
		"\tif (v%u < -A.size%u || v%u >= A.size%u) {\n\t\tfail(A.error, at, %uu, v%u);\n\t\treturn%s;\n\t}\n",
		s->arg[0], s->index, s->arg[0], s->index, s->index, s->arg[0], fails ? " 0" : "");
}

void emit_load(struct emit *e, struct buf *b, const struct step *s)
{
	const struct port *p = &e->k->port[s->port];
	struct buf place = {0};

	if (p->ngather)
		gather_place(e, &place, s);
	else if (row_temp(e, p))
		buf_fmt(&place, "t%d", e->k->buf[p->buf].number);
	else {
		buf_fmt(&place, "q%u[", s->port);
		emit_access(e, &place, (int)s->port, ~0u);
		buf_char(&place, ']');
	}
	meaning_load(e, b, e->k->buf[p->buf].mem, place.text ? place.text : "");
	b->failed |= place.failed;
	buf_free(&place);
}

static void result_value(struct emit *e, struct buf *b, const struct step *s)
{
	if (fold_state(e, s) == MOMENTS)
		buf_fmt(b, "m%u", s->index);
	else
		buf_fmt(b, "%c%u", fold_state(e, s) == PAIR ? 'i' : 'f', s->index);
}

/* The right-hand side of a step that makes a value. */
static void step_value(
	struct emit *e, struct buf *b, const struct code *c, const struct step *s, int number)
{
	char v[16];

	switch ((enum step_kind)s->kind) {
	case STEP_CONST:
		if (s->by_arg)
			buf_fmt(b, "(%s)A.%c%d", ctype((gx_dtype)s->type), c == &e->k->tail ? 'd' : 'c', number);
		else
			meaning_const(b, (gx_dtype)s->type, s->bits);
		return;
	case STEP_IOTA: iota_value(e, b, s); return;
	case STEP_LOAD: emit_load(e, b, s); return;
	case STEP_OP: meaning_op(e, b, c, s); return;
	case STEP_CAST:
		snprintf(v, sizeof v, "v%u", s->arg[0]);
		meaning_cast(e, b, (gx_dtype)s->type, (gx_dtype)c->step[s->arg[0]].type, v);
		return;
	case STEP_RESULT: result_value(e, b, s); return;
	case STEP_STORE:
	case STEP_FOLD:
	case STEP_CHECK: return;
	}
}

static void store_step(struct emit *e, const struct code *c, const struct step *s, int number)
{
	gx_dtype mem = e->k->buf[e->k->port[s->port].buf].mem;
	enum row_temp kept = row_temp(e, &e->k->port[s->port]);
	char v[16];

	snprintf(v, sizeof v, "v%u", s->arg[0]);
	if (c != &e->k->tail)
		put(e, "\ty%d = ", number);
	else {
		put(e, "\t");
		if (kept)
			put(e, "t%d = ", e->k->buf[e->k->port[s->port].buf].number);
		if (kept != TEMP_ROW) {
			put(e, "q%u[", s->port);
			emit_access(e, &e->code, (int)s->port, ~0u);
			put(e, "] = ");
		}
	}
	meaning_store(e, &e->code, mem, (gx_dtype)c->step[s->arg[0]].type, v);
	put(e, ";\n");
}

static void fold_step(struct emit *e, const struct step *s)
{
	put(e, "\te%u = v%u;\n", s->index, s->arg[0]);
	if (fold_state(e, s) == PAIR)
		put(e, "\tj%u = v%u;\n", s->index, s->arg[1]);
}

void emit_steps(struct emit *e, const struct code *c, const struct use *u)
{
	int body = c == &e->k->body;

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		if (!u->step[i] || (body && plain_load(s, e->k)))
			continue;
		if (s->kind == STEP_STORE)
			store_step(e, c, s, i);
		else if (s->kind == STEP_FOLD)
			fold_step(e, s);
		else if (s->kind == STEP_CHECK)
			check_step(e, s, body);
		else {
			put(e, "\tconst %s v%d = ", ctype((gx_dtype)s->type), i);
			step_value(e, &e->code, c, s, i);
			put(e, ";\n");
		}
	}
}

static void check_range(const struct emit *e, unsigned *lo, unsigned *hi)
{
	const struct code *const list[2] = {&e->k->body, &e->k->tail};

	*lo = ~0u;
	*hi = 0;
	for (int l = 0; l < 1 + e->k->reduces; l++)
		for (int i = 0; i < list[l]->n; i++) {
			const struct step *s = &list[l]->step[i];

			if (s->kind != STEP_CHECK)
				continue;
			*lo = s->index < *lo ? s->index : *lo;
			*hi = s->index > *hi ? s->index : *hi;
		}
}

/* A kernel with checks of its own goes on when the failure is its own: else a block that starts late would
 * not look at its points, and the smallest position would depend on timing. */
void emit_stop(struct emit *e)
{
	unsigned lo, hi;

	if (!e->plan->ncheck)
		return;
	check_range(e, &lo, &hi);
	if (lo > hi) {
		put(e, "\tif (A.error->position != ~0ull)\n\t\treturn;\n");
		return;
	}
	put(e, "\tconst volatile struct failure *const failed = A.error;\n");
	put(e, "\tif (failed->position != ~0ull && failed->check - %uu > %uu)\n\t\treturn;\n", lo, hi - lo);
}

/* Failures are rare, and a record has three parts: a lock keeps them together. */
void emit_fail(struct emit *e)
{
	if (!e->body.checks && !e->tail.checks)
		return;
	put(e,
		"static __device__ __noinline__ void fail(struct failure *error, unsigned long long at, unsigned check, long long value)\n{\n"
		"\tvolatile struct failure *const f = error;\n\tint done = 0;\n\n"
		"\tif (f->position < at)\n\t\treturn;\n"
		"\twhile (!done)\n\t\tif (atomicCAS(&error->lock, 0ull, 1ull) == 0) {\n"
		"\t\t\tif (at < f->position || (at == f->position && check < f->check)) {\n"
		"\t\t\t\tf->check = check;\n\t\t\t\tf->value = value;\n\t\t\t\t__threadfence();\n\t\t\t\tf->position = at;\n\t\t\t}\n"
		"\t\t\t__threadfence();\n\t\t\tatomicExch(&error->lock, 0ull);\n\t\t\tdone = 1;\n\t\t}\n}\n\n");
}
