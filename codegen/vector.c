/* vector.c -- functions for vectors of neighbouring elements, as 32-bit words in registers: to and from
 * memory, and the elements in them. Small types are packed and unpacked by shifts: arrays of char in
 * registers have been miscompiled (notes/speed.md 1.1). */
#include "codegen/emit.h"

/* One access of 4, 8 or 16 bytes. In PTX, because the compiler likes to take a vector store apart to share
 * its pieces with the element-wise way beside it. Loads are of memory that no thread writes (.nc). The
 * emulator brings its own. */
static const char *const access_text[3][2] = {
	{"static __device__ __forceinline__ void load_w1(const void *p, unsigned *w)\n{\n"
	 "\tasm(\"{ .reg .u64 g; cvta.to.global.u64 g, %1; ld.global.nc.u32 %0, [g]; }\" : \"=r\"(w[0]) : \"l\"(p));\n}\n",
		"static __device__ __forceinline__ void store_w1(void *p, const unsigned *w)\n{\n"
		"\tasm volatile(\"{ .reg .u64 g; cvta.to.global.u64 g, %0; st.global.u32 [g], %1; }\" :: \"l\"(p), \"r\"(w[0]) "
		": \"memory\");\n}\n"},
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
		buf_fmt(b, "\tw[%d] = (unsigned)s[%d], w[%d] = (unsigned)(s[%d] >> 32);\n", at, j, at + 1, j);
	else if (bytes == 4)
		buf_fmt(b, store ? "\ts[%d] = w[%d];\n" : "\tw[%d] = s[%d];\n", j, j);
	else if (store)
		buf_fmt(b, "\ts[%d] = (%s)(w[%d] >> %d);\n", j, element, at, shift);
	else
		buf_fmt(b, "\tw[%d] %s (unsigned)s[%d] << %d;\n", at, shift ? "|=" : "=", j, shift);
}

/* A vector of n words from or to memory that is not aligned for it; `part`: those elements of it that lie before `left`. */
static void vector_text(struct emit *e, int bytes, int n, int store, int part)
{
	static const char *const element[9] = {
		"", "unsigned char", "unsigned short", "", "unsigned", "", "", "", "unsigned long long"};
	const char *constant = store ? "" : "const ";
	struct buf *b = &e->helpers;

	buf_fmt(b, "static __device__ __forceinline__ void %s_e%dw%d%s(%svoid *p, %sunsigned *w%s)\n{\n", store ? "store" : "load", bytes, n,
		part ? "_part" : "", constant, store ? "const " : "", part ? ", unsigned left" : "");
	buf_fmt(b, "\t%s%s *const s = (%s%s *)p;\n", constant, element[bytes], constant, element[bytes]);
	for (int j = 0; j < n * 4 / bytes; j++) {
		if (part)
			buf_fmt(b, "\tif (%d < left)\n\t", j);
		unaligned_text(b, bytes, element[bytes], j, store);
	}
	buf_str(b, "}\n\n");
}

void vector_part_need(struct emit *e, int bytes, int store)
{
	int n = vector_words(e, bytes);

	if (!e->part_done[store][bytes][n])
		vector_text(e, bytes, n, store, 1);
	e->part_done[store][bytes][n] = 1;
}

void vector_access_need(struct emit *e, int bytes, int store)
{
	int n = vector_words(e, bytes);
	uint8_t *done = store ? &e->store_done[bytes][n] : &e->load_done[bytes][n];

	access_need(e, n > 4 ? 4 : n, store);
	if (!*done && !e->rows)
		vector_text(e, bytes, n, store, 0);
	*done = 1;
}

/* Element j of a vector held in words, as a value of its register type. */
void vector_get_need(struct emit *e, gx_dtype mem)
{
	struct buf value = {0};
	int bytes = type_table[mem].bytes;

	if (e->get_done[mem])
		return;
	e->get_done[mem] = 1;
	if (bytes == 8)
		buf_fmt(
			&value, mem == GX_FLOAT64 ? "__longlong_as_double((long long)bits)" : "(%s)bits", ctype(mem));
	else if (mem == GX_FLOAT32)
		buf_str(&value, "__int_as_float((int)bits)");
	else {
		struct buf bits = {0};

		buf_fmt(&bits, "(%s)bits", ctype(mem));
		meaning_load(e, &value, mem, bits.text ? bits.text : "");
		buf_free(&bits);
	}
	buf_fmt(&e->helpers, "static __device__ __forceinline__ %s get_%s(const unsigned *w, int j)\n{\n",
		ctype(reg(mem)), abbr(mem));
	if (bytes == 8)
		buf_str(&e->helpers,
			"\tconst unsigned long long bits = (unsigned long long)w[2 * j + 1] << 32 | w[2 * j];\n");
	else if (bytes == 4)
		buf_str(&e->helpers, "\tconst unsigned bits = w[j];\n");
	else
		buf_fmt(&e->helpers, "\tconst unsigned bits = w[j / %d] >> j %% %d * %d & 0x%xu;\n", 4 / bytes,
			4 / bytes, 8 * bytes, bytes == 1 ? 0xff : 0xffff);
	buf_fmt(&e->helpers, "\treturn %s;\n}\n\n", value.text ? value.text : "");
	e->helpers.failed |= value.failed;
	buf_free(&value);
}

void vector_put_need(struct emit *e, gx_dtype mem)
{
	int bytes = type_table[mem].bytes;
	struct buf *b = &e->helpers;

	if (e->put_done[mem])
		return;
	e->put_done[mem] = 1;
	buf_fmt(b, "static __device__ __forceinline__ void put_%s(unsigned *w, int j, %s v)\n{\n", abbr(mem),
		ctype(mem));
	if (bytes == 8)
		buf_fmt(b,
			"\tconst unsigned long long bits = (unsigned long long)%s;\n\tw[2 * j] = (unsigned)bits;\n"
			"\tw[2 * j + 1] = (unsigned)(bits >> 32);\n",
			mem == GX_FLOAT64 ? "__double_as_longlong(v)" : "v");
	else if (bytes == 4)
		buf_fmt(b, "\tw[j] = (unsigned)%s;\n", mem == GX_FLOAT32 ? "__float_as_int(v)" : "v");
	else
		buf_fmt(b, "\tw[j / %d] |= (unsigned)(unsigned %s)v << j %% %d * %d;\n", 4 / bytes,
			bytes == 1 ? "char" : "short", 4 / bytes, 8 * bytes);
	buf_str(b, "}\n\n");
}
