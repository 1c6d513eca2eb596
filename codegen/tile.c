/* tile.c -- a full tile: each thread first issues all its loads, then computes, then stores.
 *
 * Memory is slow to answer and fast in bulk, so a thread keeps some loads in flight, in explicit arrays (a
 * compiler does not batch the loads of a guarded loop). Where the elements lie next to each other a thread
 * takes `vec` of them as one access of up to 16 bytes, as 32-bit words that are taken apart in registers;
 * whether the addresses allow that is known only to the kernel, so there is a flag, the same for all
 * threads of a row, and a second way. */
#include "codegen/emit.h"

enum {
	IN_FLIGHT_MAP = 32,
	IN_FLIGHT_FOLD = 64, /* bytes of loads a thread issues before it waits, in vectors */
	IN_FLIGHT_ELEMENTS = 128, /* ... and one by one, where sectors are shared or wasted */
	IN_FLIGHT_HEAVY =
		32, /* ... by a body whose copies are dear; twice that for 16-bit floats, which wait longer */
	HEAVY = 5, /* milliseconds of compile time that make a body heavy */
	COPIED_STEPS = 4000, /* steps in all copies of a body, at most */
	STATE_BYTES = 256 /* values waiting to be folded in one thread, at most */
};

int tile_vector(const struct kernel *k, const struct step *s)
{
	return (plain_load(s, k) || s->kind == STEP_STORE) && k->rank > 0 && k->port[s->port].access.stride[k->rank - 1] != 0;
}

static int vector_port(const struct emit *e, const struct step *s) { return tile_vector(e->k, s); }

int tile_can_vector(const struct emit *e)
{
	const struct kernel *k = e->k;
	int outer = k->reduces ? k->nkept : 0;

	if (k->scans || k->rank - outer != 1 || e->body.checks || (k->reduces && !k->inner))
		return 0;
	for (int i = 0; i < k->body.n; i++) {
		const struct step *s = &k->body.step[i];

		if (e->body.step[i] && vector_port(e, s) && k->port[s->port].access.stride[k->rank - 1] != 1)
			return 0;
		if (s->kind == STEP_STORE && is_uniform(e, s))
			return 0;
	}
	return 1;
}

int tile_port_bytes(const struct kernel *k, const struct step *s)
{
	return type_table[k->buf[k->port[s->port].buf].mem].bytes;
}

static int port_bytes(const struct emit *e, const struct step *s) { return tile_port_bytes(e->k, s); }

/* Elements of one access: the widest type fills 16 bytes; types so narrow that they would fall below one
 * word get more. */
static int vector_width(const struct emit *e, int *loaded)
{
	int widest = 0, narrowest = 16, vec;

	*loaded = 0;
	for (int i = 0; i < e->k->body.n; i++) {
		const struct step *s = &e->k->body.step[i];
		int bytes;

		if (!e->body.step[i] || !vector_port(e, s))
			continue;
		bytes = port_bytes(e, s);
		widest = bytes > widest ? bytes : widest;
		narrowest = bytes < narrowest ? bytes : narrowest;
		*loaded += s->kind == STEP_LOAD ? bytes : 0;
	}
	if (!widest || !tile_can_vector(e))
		return 1;
	vec = 16 / widest;
	return vec * narrowest < 4 ? 4 / narrowest : vec;
}

double tile_cost(const struct emit *e)
{
	double ms = 0;

	for (int i = 0; i < e->k->body.n; i++)
		if (e->k->body.step[i].kind == STEP_OP && e->body.step[i])
			ms += meaning_cost(&e->k->body, &e->k->body.step[i]);
	return ms;
}

void tile_shape(struct emit *e, int reduced_bytes)
{
	double ms = tile_cost(e);
	int loaded, most = ms >= HEAVY ? 2 : e->k->reduces ? MAX_UNROLL : 4, flight;

	e->vec = vector_width(e, &loaded);
	flight = ms >= HEAVY ? IN_FLIGHT_HEAVY * (e->vec >= 8 ? 2 : 1)
		: e->vec == 1    ? IN_FLIGHT_ELEMENTS
		: e->k->reduces  ? IN_FLIGHT_FOLD
						 : IN_FLIGHT_MAP;
	e->unroll = loaded ? flight / (e->vec * loaded) : 2;
	e->unroll = e->unroll < 1 ? 1 : e->unroll > most ? most : e->unroll;
	while (e->unroll & (e->unroll - 1))
		e->unroll &= e->unroll - 1;
	while (e->unroll > 1 && e->vec * e->unroll * reduced_bytes > STATE_BYTES)
		e->unroll /= 2;
	if (e->vec * reduced_bytes > STATE_BYTES || e->vec * e->k->body.n > COPIED_STEPS ||
		(e->k->reduces && e->body.checks))
		e->vec = e->unroll = 1;
	while (e->unroll > 1 && e->vec * e->unroll * e->k->body.n > COPIED_STEPS)
		e->unroll /= 2;
	e->outline = ms * (e->vec * e->unroll + 1) > OUTLINE;
	e->t->per_thread = e->vec * e->unroll;
}

static int in_vectors(const struct emit *e, int i)
{
	const struct step *s = &e->k->body.step[i];

	return e->vec > 1 && e->body.step[i] && vector_port(e, s) && !rows_foreign(e, &e->k->body, i);
}

void tile_aligned(struct emit *e, const char *tabs)
{
	unsigned row = (1u << (e->k->rank - 1)) - 1;
	const char * or = "";

	put(e, "%sconst int aligned = (", tabs);
	for (int i = 0; i < e->k->body.n; i++) {
		const struct step *s = &e->k->body.step[i];
		int bytes = in_vectors(e, i) ? e->vec * port_bytes(e, s) : 0;

		if (!bytes)
			continue;
		put(e, "%s((unsigned long long)&q%u[", or, s->port);
		emit_access(e, &e->code, (int)s->port, row);
		put(e, "] & %d)", (bytes > 16 ? 16 : bytes) - 1);
		or = " | ";
	}
	put(e, ") == 0;\n");
}

void tile_flags(struct emit *e, const char *tabs)
{
	int any = 0;

	if (e->vec == 1)
		return;
	for (int i = 0; i < e->k->body.n; i++) {
		const struct step *s = &e->k->body.step[i];

		if (in_vectors(e, i))
			any = 1;
		if (!e->body.step[i] || !plain_load(s, e->k) || !is_uniform(e, s))
			continue;
		put(e, "%sconst %s x%d = ", tabs, ctype((gx_dtype)s->type), i);
		emit_load(e, &e->code, s);
		put(e, ";\n");
	}
	if (any)
		tile_aligned(e, tabs);
}

void tile_access(struct emit *e, const struct step *s, const char *array, const char *tabs, enum vector_how how)
{
	int bytes = port_bytes(e, s), n = vector_words(e, bytes), part = n > 4 && how == VECTOR_ALIGNED ? 4 : n;
	const char *verb = s->kind == STEP_STORE ? "store" : "load";

	vector_access_need(e, bytes, s->kind == STEP_STORE);
	if (how == VECTOR_PART)
		vector_part_need(e, bytes, s->kind == STEP_STORE);
	for (int w = 0; w < n; w += part) {
		if (how == VECTOR_ALIGNED)
			put(e, "%s\t%s_w%d(&q%u[", tabs, verb, part, s->port);
		else
			put(e, "%s\t%s_e%dw%d%s(&q%u[", tabs, verb, bytes, n, how == VECTOR_PART ? "_part" : "", s->port);
		emit_access(e, &e->code, (int)s->port, ~0u);
		if (w)
			put(e, " + %d], %s + %d", w * 4 / bytes, array, w);
		else
			put(e, "], %s", array);
		put(e, how == VECTOR_PART ? ", left);\n" : ");\n");
	}
}

static void load_element(struct emit *e, const struct step *s, int i, const char *tabs)
{
	put(e, "%s\tx%d[u] = ", tabs, i);
	emit_load(e, &e->code, s);
	put(e, ";\n");
}

static int in_tile(const struct emit *e, int i)
{
	const struct step *s = &e->k->body.step[i];

	return e->body.step[i] && plain_load(s, e->k) && !(e->vec > 1 && is_uniform(e, s));
}

static void declare_loads(struct emit *e, const char *tabs)
{
	const struct code *c = &e->k->body;

	for (int i = 0; i < c->n; i++)
		if (in_tile(e, i) && e->vec > 1)
			put(e, "%sunsigned x%d[%d][%d];\n", tabs, i, e->unroll,
				vector_words(e, port_bytes(e, &c->step[i])));
		else if (in_tile(e, i))
			put(e, "%s%s x%d[%d];\n", tabs, ctype((gx_dtype)c->step[i].type), i, e->unroll);
}

static int count_loads(const struct emit *e)
{
	int n = 0;

	for (int i = 0; i < e->k->body.n; i++)
		n += in_tile(e, i);
	return n;
}

/* All loads of a tile, one after the other. */
static void load_loop(struct emit *e, const char *element, const char *tabs, int aligned)
{
	const struct code *c = &e->k->body;
	char inner[16], array[24];

	snprintf(inner, sizeof inner, "%s\t", tabs);
	put(e, "#pragma unroll\n%sfor (int u = 0; u < %d; u++) {\n", tabs, e->unroll);
	emit_element(e, inner, element, e->body.load_axes, 0);
	for (int i = 0; i < c->n; i++) {
		if (!in_tile(e, i))
			continue;
		snprintf(array, sizeof array, "x%d[u]", i);
		if (e->vec > 1)
			tile_access(e, &c->step[i], array, tabs, aligned ? VECTOR_ALIGNED : VECTOR_ANY);
		else
			load_element(e, &c->step[i], i, tabs);
	}
	put(e, "%s}\n", tabs);
}

void tile_loads(struct emit *e, const char *element, const char *tabs)
{
	char inner[16];

	if (!count_loads(e))
		return;
	for (int i = 0; i < e->k->body.n; i++)
		if (in_tile(e, i) && e->vec > 1)
			vector_get_need(e, e->k->buf[e->k->port[e->k->body.step[i].port].buf].mem);
	declare_loads(e, tabs);
	if (e->vec == 1) {
		load_loop(e, element, tabs, 0);
		return;
	}
	snprintf(inner, sizeof inner, "%s\t", tabs);
	put(e, "%sif (aligned) {\n", tabs);
	load_loop(e, element, inner, 1);
	put(e, "%s} else {\n", tabs);
	load_loop(e, element, inner, 0);
	put(e, "%s}\n", tabs);
}

/* What point() gave, into the vectors to store and the arrays to fold. */
static void keep(struct emit *e, const char *tabs)
{
	char at[24] = "u";

	if (e->vec > 1)
		snprintf(at, sizeof at, "u * %d + j", e->vec);
	for (int i = 0; i < e->k->body.n; i++) {
		const struct step *s = &e->k->body.step[i];

		if (s->kind == STEP_STORE && e->vec > 1) {
			vector_put_need(e, e->k->buf[e->k->port[s->port].buf].mem);
			put(e, "%sput_%s(z%d, j, y%d);\n", tabs, abbr(e->k->buf[e->k->port[s->port].buf].mem), i, i);
		}
		if (s->kind != STEP_FOLD)
			continue;
		put(e, "%sg%u[%s] = e%u;\n", tabs, s->index, at, s->index);
		if (red_table[e->k->fold[s->index].red].state == PAIR)
			put(e, "%sh%u[%s] = j%u;\n", tabs, s->index, at, s->index);
	}
}

static void vector_points(struct emit *e, const char *element, const char *tabs)
{
	const struct code *c = &e->k->body;
	char inner[16], number[120];

	for (int i = 0; i < c->n; i++)
		if (c->step[i].kind == STEP_STORE)
			put(e, "%s\tunsigned z%d[%d] = {0};\n", tabs, i, vector_words(e, port_bytes(e, &c->step[i])));
	put(e, "#pragma unroll\n%s\tfor (int j = 0; j < %d; j++) {\n", tabs, e->vec);
	snprintf(inner, sizeof inner, "%s\t\t", tabs);
	snprintf(number, sizeof number, "%s + j", element);
	emit_element(e, inner, number, e->body.inner_axes, 0);
	emit_outputs(e, inner);
	emit_call(e, inner, FROM_VECTOR);
	keep(e, inner);
	put(e, "%s\t}\n", tabs);
}

static void store_list(struct emit *e, const char *tabs, int aligned)
{
	char array[24];

	for (int i = 0; i < e->k->body.n; i++)
		if (e->k->body.step[i].kind == STEP_STORE) {
			snprintf(array, sizeof array, "z%d", i);
			tile_access(e, &e->k->body.step[i], array, tabs, aligned ? VECTOR_ALIGNED : VECTOR_ANY);
		}
}

static void vector_stores(struct emit *e, const char *element, const char *tabs)
{
	char inner[16];
	int stores = 0;

	for (int i = 0; i < e->k->body.n; i++)
		stores += e->k->body.step[i].kind == STEP_STORE;
	if (!stores)
		return;
	snprintf(inner, sizeof inner, "%s\t", tabs);
	emit_element(e, inner, element, e->body.store_axes, 0);
	put(e, "%sif (aligned) {\n", inner);
	store_list(e, inner, 1);
	put(e, "%s} else {\n", inner);
	store_list(e, inner, 0);
	put(e, "%s}\n", inner);
}

static void element_points(struct emit *e, const char *element, const char *tabs)
{
	char inner[16];
	int deeper = e->body.checks != 0;

	snprintf(inner, sizeof inner, "%s\t", tabs);
	emit_element(e, inner, element, e->body.inner_axes | e->body.store_axes, 1);
	emit_outputs(e, inner);
	emit_call(e, inner, FROM_TILE);
	snprintf(inner, sizeof inner, "%s\t%s", tabs, deeper ? "\t" : "");
	keep(e, inner);
	emit_stores(e, inner);
	if (deeper)
		put(e, "%s\t}\n", tabs);
}

void tile_points(struct emit *e, const char *element, const char *tabs)
{
	put(e, "#pragma unroll\n%sfor (int u = 0; u < %d; u++) {\n", tabs, e->unroll);
	if (e->vec > 1) {
		vector_points(e, element, tabs);
		vector_stores(e, element, tabs);
	} else
		element_points(e, element, tabs);
	put(e, "%s}\n", tabs);
}
