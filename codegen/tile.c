/* tile.c -- a full tile: each thread first issues all its loads, then computes, then stores.
 *
 * Memory is slow to answer and fast in bulk, so a thread keeps some loads in flight, in explicit arrays (a compiler does not batch
 * the loads of a guarded loop). Where the elements lie next to each other a thread takes `vec` of them as one access of up to
 * 16 bytes, as 32-bit words that are taken apart in registers; whether the addresses allow that is known only to the kernel,
 * so there is a flag, the same for all threads of a row, and a second way. */
#include "codegen/emit.h"

enum {
	IN_FLIGHT_MAP = 32, IN_FLIGHT_FOLD = 64,   /* bytes of loads a thread issues before it waits, in vectors */
	IN_FLIGHT_ELEMENTS = 128,               /* ... and one by one, where sectors are shared or wasted */
	IN_FLIGHT_HEAVY = 32,
	HEAVY = 5,                              /* milliseconds of compile time that make a body heavy */
	OUTLINE = 600,                          /* beyond that many, for all copies, heavy functions are called */
	COPIED_STEPS = 4000,                    /* steps in all copies of a body, at most */
	STATE_BYTES = 256                       /* values waiting to be folded in one thread, at most */
};

static int vector_port(const struct emit *e, const struct step *s)
{
	return (plain_load(s, e->k) || s->kind == STEP_STORE) && e->k->rank > 0 && !is_uniform(e, s);
}

int tile_can_vector(const struct emit *e)
{
	const struct kernel *k = e->k;
	int outer = k->reduces ? k->nkept : 0;

	if (k->rank - outer != 1 || e->body.checks || (k->reduces && !k->inner))
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

static int port_bytes(const struct emit *e, const struct step *s)
{
	return type_table[e->k->buf[e->k->port[s->port].buf].mem].bytes;
}

/* Elements of one access: the widest type fills 16 bytes; types so narrow that they would fall below one word get more. */
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

static double body_cost(const struct emit *e)
{
	double ms = 0;

	for (int i = 0; i < e->k->body.n; i++)
		if (e->k->body.step[i].kind == STEP_OP && e->body.step[i])
			ms += meaning_cost(&e->k->body, &e->k->body.step[i]);
	return ms;
}

void tile_shape(struct emit *e, int reduced_bytes)
{
	double ms = body_cost(e);
	int loaded, most = ms >= HEAVY ? 2 : e->k->reduces ? MAX_UNROLL : 4, flight;

	e->vec = vector_width(e, &loaded);
	flight = ms >= HEAVY ? IN_FLIGHT_HEAVY : e->vec == 1 ? IN_FLIGHT_ELEMENTS : e->k->reduces ? IN_FLIGHT_FOLD : IN_FLIGHT_MAP;
	e->unroll = loaded ? flight / (e->vec * loaded) : 2;
	e->unroll = e->unroll < 1 ? 1 : e->unroll > most ? most : e->unroll;
	while (e->unroll & (e->unroll - 1))
		e->unroll &= e->unroll - 1;
	while (e->unroll > 1 && e->vec * e->unroll * reduced_bytes > STATE_BYTES)
		e->unroll /= 2;
	if (e->vec * reduced_bytes > STATE_BYTES || e->vec * e->k->body.n > COPIED_STEPS || (e->k->reduces && e->body.checks))
		e->vec = e->unroll = 1;
	while (e->unroll > 1 && e->vec * e->unroll * e->k->body.n > COPIED_STEPS)
		e->unroll /= 2;
	e->outline = ms * (e->vec * e->unroll + 1) > OUTLINE;
	e->t->per_thread = e->vec * e->unroll;
}

static int words(const struct emit *e, int bytes)
{
	return e->vec * bytes / 4;
}

/* One access of 4, 8 or 16 bytes. In PTX, because the compiler likes to take a vector store apart to share its pieces with the
 * element-wise way beside it. Loads are of memory that no thread writes (.nc). The emulator brings its own. */
static const char *const access_text[3][2] = {
	{"static __device__ __forceinline__ void load_w1(const void *p, unsigned *w)\n{\n"
		"\tasm(\"{ .reg .u64 g; cvta.to.global.u64 g, %1; ld.global.nc.u32 %0, [g]; }\" : \"=r\"(w[0]) : \"l\"(p));\n}\n",
	"static __device__ __forceinline__ void store_w1(void *p, const unsigned *w)\n{\n"
		"\tasm volatile(\"{ .reg .u64 g; cvta.to.global.u64 g, %0; st.global.u32 [g], %1; }\" :: \"l\"(p), \"r\"(w[0]) : \"memory\");\n}\n"},
	{"static __device__ __forceinline__ void load_w2(const void *p, unsigned *w)\n{\n"
		"\tasm(\"{ .reg .u64 g; cvta.to.global.u64 g, %2; ld.global.nc.v2.u32 {%0, %1}, [g]; }\"\n"
		"\t\t: \"=r\"(w[0]), \"=r\"(w[1]) : \"l\"(p));\n}\n",
	"static __device__ __forceinline__ void store_w2(void *p, const unsigned *w)\n{\n"
		"\tasm volatile(\"{ .reg .u64 g; cvta.to.global.u64 g, %0; st.global.v2.u32 [g], {%1, %2}; }\"\n"
		"\t\t:: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]) : \"memory\");\n}\n"},
	{"static __device__ __forceinline__ void load_w4(const void *p, unsigned *w)\n{\n"
		"\tasm(\"{ .reg .u64 g; cvta.to.global.u64 g, %4; ld.global.nc.v4.u32 {%0, %1, %2, %3}, [g]; }\"\n"
		"\t\t: \"=r\"(w[0]), \"=r\"(w[1]), \"=r\"(w[2]), \"=r\"(w[3]) : \"l\"(p));\n}\n",
	"static __device__ __forceinline__ void store_w4(void *p, const unsigned *w)\n{\n"
		"\tasm volatile(\"{ .reg .u64 g; cvta.to.global.u64 g, %0; st.global.v4.u32 [g], {%1, %2, %3, %4}; }\"\n"
		"\t\t:: \"l\"(p), \"r\"(w[0]), \"r\"(w[1]), \"r\"(w[2]), \"r\"(w[3]) : \"memory\");\n}\n"},
};

static void access_need(struct emit *e, int part, int store)
{
	int i = part == 4 ? 2 : part - 1;

	if (!e->access_done[i][store])
		buf_fmt(&e->helpers, "#ifndef GX_EMULATE\n%s#endif\n\n", access_text[i][store]);
	e->access_done[i][store] = 1;
}

/* The same element by element: number j lies in word `at`, from bit `shift` on. */
static void unaligned_text(struct buf *b, int bytes, const char *element, int j, int store)
{
	int at = j * bytes / 4, shift = j * bytes % 4 * 8;

	if (bytes == 8 && store)
		buf_fmt(b, "\ts[%d] = (unsigned long long)w[%d] << 32 | w[%d];\n", j, at + 1, at);
	else if (bytes == 8)
		buf_fmt(b, "\tw[%d] = (unsigned)s[%d];\n\tw[%d] = (unsigned)(s[%d] >> 32);\n", at, j, at + 1, j);
	else if (bytes == 4)
		buf_fmt(b, store ? "\ts[%d] = w[%d];\n" : "\tw[%d] = s[%d];\n", j, j);
	else if (store)
		buf_fmt(b, "\ts[%d] = (%s)(w[%d] >> %d);\n", j, element, at, shift);
	else
		buf_fmt(b, "\tw[%d] %s (unsigned)s[%d] << %d;\n", at, shift ? "|=" : "=", j, shift);
}

/* A vector of n words from or to memory that is not aligned for it. */
static void vector_text(struct emit *e, int bytes, int n, int store)
{
	static const char *const element[9] = {"", "unsigned char", "unsigned short", "", "unsigned", "", "", "", "unsigned long long"};
	const char *constant = store ? "" : "const ";
	struct buf *b = &e->helpers;

	buf_fmt(b, "static __device__ __forceinline__ void %s_e%dw%d(%svoid *p, %sunsigned *w)\n{\n", store ? "store" : "load", bytes, n,
		constant, store ? "const " : "");
	buf_fmt(b, "\t%s%s *const s = (%s%s *)p;\n", constant, element[bytes], constant, element[bytes]);
	for (int j = 0; j < n * 4 / bytes; j++)
		unaligned_text(b, bytes, element[bytes], j, store);
	buf_str(b, "}\n\n");
}

static void vector_need(struct emit *e, int bytes, int store)
{
	int n = words(e, bytes);
	uint8_t *done = store ? &e->store_done[bytes][n] : &e->load_done[bytes][n];

	access_need(e, n > 4 ? 4 : n, store);
	if (!*done)
		vector_text(e, bytes, n, store);
	*done = 1;
}

/* Element j of a vector held in words, as a value of its register type. */
static void get_need(struct emit *e, gx_dtype mem)
{
	struct buf value = {0};
	int bytes = type_table[mem].bytes;

	if (e->get_done[mem])
		return;
	e->get_done[mem] = 1;
	if (bytes == 8)
		buf_fmt(&value, mem == GX_FLOAT64 ? "__longlong_as_double((long long)bits)" : "(%s)bits", ctype(mem));
	else if (mem == GX_FLOAT32)
		buf_str(&value, "__int_as_float((int)bits)");
	else {
		struct buf bits = {0};

		buf_fmt(&bits, "(%s)bits", ctype(mem));
		meaning_load(e, &value, mem, bits.text ? bits.text : "");
		buf_free(&bits);
	}
	buf_fmt(&e->helpers, "static __device__ __forceinline__ %s get_%s(const unsigned *w, int j)\n{\n", ctype(reg(mem)), abbr(mem));
	if (bytes == 8)
		buf_str(&e->helpers, "\tconst unsigned long long bits = (unsigned long long)w[2 * j + 1] << 32 | w[2 * j];\n");
	else if (bytes == 4)
		buf_str(&e->helpers, "\tconst unsigned bits = w[j];\n");
	else
		buf_fmt(&e->helpers, "\tconst unsigned bits = w[j / %d] >> j %% %d * %d & 0x%xu;\n", 4 / bytes, 4 / bytes, 8 * bytes,
			bytes == 1 ? 0xff : 0xffff);
	buf_fmt(&e->helpers, "\treturn %s;\n}\n\n", value.text ? value.text : "");
	e->helpers.failed |= value.failed;
	buf_free(&value);
}

static void put_need(struct emit *e, gx_dtype mem)
{
	int bytes = type_table[mem].bytes;
	struct buf *b = &e->helpers;

	if (e->put_done[mem])
		return;
	e->put_done[mem] = 1;
	buf_fmt(b, "static __device__ __forceinline__ void put_%s(unsigned *w, int j, %s v)\n{\n", abbr(mem), ctype(mem));
	if (bytes == 8)
		buf_fmt(b, "\tconst unsigned long long bits = (unsigned long long)%s;\n\tw[2 * j] = (unsigned)bits;\n"
			"\tw[2 * j + 1] = (unsigned)(bits >> 32);\n", mem == GX_FLOAT64 ? "__double_as_longlong(v)" : "v");
	else if (bytes == 4)
		buf_fmt(b, "\tw[j] = (unsigned)%s;\n", mem == GX_FLOAT32 ? "__float_as_int(v)" : "v");
	else
		buf_fmt(b, "\tw[j / %d] |= (unsigned)(unsigned %s)v << j %% %d * %d;\n", 4 / bytes, bytes == 1 ? "char" : "short", 4 / bytes,
			8 * bytes);
	buf_str(b, "}\n\n");
}

static int in_vectors(const struct emit *e, int i)
{
	const struct step *s = &e->k->body.step[i];

	return e->vec > 1 && e->body.step[i] && vector_port(e, s);
}

/* One flag for all: the addresses where rows begin fit their vectors. */
static void aligned_flag(struct emit *e, const char *tabs, unsigned row)
{
	const char *or = "";

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
	unsigned row;
	int any = 0;

	if (e->vec == 1)
		return;
	row = (1u << (e->k->rank - 1)) - 1;
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
		aligned_flag(e, tabs, row);
}

/* A vector port's access: words of at most 16 bytes at once when aligned, else one function for the whole vector. */
static void vector_access(struct emit *e, const struct step *s, const char *array, const char *tabs, int aligned)
{
	int bytes = port_bytes(e, s), n = words(e, bytes), part = n > 4 && aligned ? 4 : n;
	const char *verb = s->kind == STEP_STORE ? "store" : "load";

	vector_need(e, bytes, s->kind == STEP_STORE);
	for (int w = 0; w < n; w += part) {
		if (aligned)
			put(e, "%s\t%s_w%d(&q%u[", tabs, verb, part, s->port);
		else
			put(e, "%s\t%s_e%dw%d(&q%u[", tabs, verb, bytes, n, s->port);
		emit_access(e, &e->code, (int)s->port, ~0u);
		if (w)
			put(e, " + %d], %s + %d);\n", w * 4 / bytes, array, w);
		else
			put(e, "], %s);\n", array);
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
			put(e, "%sunsigned x%d[%d][%d];\n", tabs, i, e->unroll, words(e, port_bytes(e, &c->step[i])));
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
			vector_access(e, &c->step[i], array, tabs, aligned);
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
			get_need(e, e->k->buf[e->k->port[e->k->body.step[i].port].buf].mem);
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
			put_need(e, e->k->buf[e->k->port[s->port].buf].mem);
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
			put(e, "%s\tunsigned z%d[%d] = {0};\n", tabs, i, words(e, port_bytes(e, &c->step[i])));
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
			vector_access(e, &e->k->body.step[i], array, tabs, aligned);
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
