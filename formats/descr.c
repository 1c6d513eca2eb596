/* descr.c -- the element types of .npy headers: '<f4' to GX_FLOAT32 and back. The types that gpuexpr lacks each get a sentence that
 * names them in words; a structured type's fields are listed, so that the reader learns what is in the file. */
#include <stdio.h>
#include <string.h>

#include "formats/parts.h"

static const struct { const char *code; gx_dtype type; unsigned char unit; } codes[] = {
	{"b1", GX_BOOL, 1}, {"?", GX_BOOL, 1},
	{"i1", GX_INT8, 1}, {"i2", GX_INT16, 2}, {"i4", GX_INT32, 4}, {"i8", GX_INT64, 8},
	{"u1", GX_UINT8, 1}, {"u2", GX_UINT16, 2}, {"u4", GX_UINT32, 4}, {"u8", GX_UINT64, 8},
	{"f2", GX_FLOAT16, 2}, {"f4", GX_FLOAT32, 4}, {"f8", GX_FLOAT64, 8},
	{"c8", GX_COMPLEX64, 4}, {"c16", GX_COMPLEX128, 8},
};

/* Kinds that are refused; code is the whole code or its first letter. */
static const struct { const char *code, *what, *hint; } strangers[] = {
	{"f16", "128-bit long doubles", "save it as float64, np.save(FILE, a.astype('f8'))"},
	{"f12", "96-bit long doubles", "save it as float64, np.save(FILE, a.astype('f8'))"},
	{"c32", "complex numbers of long doubles", "save it as complex128, np.save(FILE, a.astype('c16'))"},
	{"O", "Python objects (a pickle, which is never opened: it could run any code)",
	 "save numbers, np.save(FILE, a.astype('f8'))"},
	{"U", "text strings", "convert them to numbers first"},
	{"S", "byte strings", "convert them to numbers first"},
	{"a", "byte strings", "convert them to numbers first"},
	{"T", "text strings", "convert them to numbers first"},
	{"M", "dates (datetime64)", "save the ticks, np.save(FILE, a.astype('i8'))"},
	{"m", "time spans (timedelta64)", "save the ticks, np.save(FILE, a.astype('i8'))"},
	{"V", "raw bytes (void)", "save a view of a number type, np.save(FILE, a.view('u1'))"},
};

const char *descr_of(gx_dtype t)
{
	static const char *const names[] = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", NULL, "<f4", "<f8",
		"<c8", "<c16"};

	return (unsigned)t < sizeof names / sizeof *names ? names[t] : NULL;
}

static int same(const char *s, size_t n, const char *code)
{
	return n == strlen(code) && memcmp(s, code, n) == 0;
}

/* A byte order letter may be left out. Gives the code behind it. */
static size_t order(const char *d, size_t n, char *letter)
{
	*letter = n && strchr("<>|=", d[0]) && d[0] ? d[0] : '=';
	return n && d[0] && strchr("<>|=", d[0]) ? 1 : 0;
}

static void printable(const char *s, size_t n, char *to, size_t room)
{
	struct buf b = {0};

	buf_escaped(&b, s, n < room ? n : room);
	snprintf(to, room, "%s", b.text ? b.text : "");
	buf_free(&b);
}

static gx_status stranger(const char *shown, const char *descr, const char *code, size_t n, gx_error *err)
{
	char text[40];

	printable(descr, (size_t)(code - descr) + n, text, sizeof text);
	if (same(code, n, "V2"))
		return diag_plain(err, GX_UNSUPPORTED, "%s holds raw 2-byte elements (void, '%s'), which is how bfloat16 is saved by "
			"ml_dtypes; hint: if it is bfloat16, add ':bf16' to the file name", shown, text);
	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
		const char *c = strangers[i].code;

		if (c[1] ? !same(code, n, c) : !n || code[0] != c[0])
			continue;
		return diag_plain(err, GX_UNSUPPORTED, "%s holds %s ('%s'), which gpuexpr does not read; hint: %s", shown,
			strangers[i].what, text, strangers[i].hint);
	}
	return diag_plain(err, GX_IO, "%s: header: descr '%s' is not an element type", shown, text);
}

gx_status descr_type(const char *shown, const char *descr, size_t n, int bf16, struct npy *h, gx_error *err)
{
	char letter;
	size_t skip = order(descr, n, &letter);
	const char *code = descr + skip;

	n -= skip;
	if (bf16 && same(code, n, "V2")) {
		h->a.dtype = GX_BFLOAT16;
		return GX_OK;
	}
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		if (!same(code, n, codes[i].code))
			continue;
		h->a.dtype = codes[i].type;
		h->swap = letter == '>' && codes[i].unit > 1 ? codes[i].unit : 0;
		if (bf16)
			return diag_plain(err, GX_UNSUPPORTED, "%s holds %s; ':bf16' is for files of raw 2-byte elements ('|V2')", shown,
				gx_dtype_name(h->a.dtype));
		return GX_OK;
	}
	return stranger(shown, descr, code, n, err);
}

/* The words for a type inside a structured one: "float32", or the code itself. */
static void field_type(struct buf *b, const char *d, size_t n)
{
	char letter;
	size_t skip = order(d, n, &letter);

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (same(d + skip, n - skip, codes[i].code)) {
			buf_str(b, gx_dtype_name(codes[i].type));
			return;
		}
	buf_escaped(b, d, n);
}

/* Walks the text of a structured descr, [('x', '<f4'), (('title', 'y'), '<i4', (3,)), ('z', [...])]: at depth 2 the strings of each tuple
 * are its name and its type, whatever is deeper belongs to one of them. */
struct walk {
	const char *s;
	size_t i, n;
	int depth, part;         /* part: of the tuple at depth 2, 0 = name, 1 = type, 2 = shape */
	int fields;
	struct buf list;
	char first[40];          /* name of the first field */
};

static void take_string(struct walk *w)
{
	char quote = w->s[w->i];
	size_t from = ++w->i;

	while (w->i < w->n && w->s[w->i] != quote)
		w->i += w->s[w->i] == '\\' ? 2 : 1;
	w->i = w->i < w->n ? w->i : w->n;
	if (w->depth == 2 && w->part == 1)
		field_type(&w->list, w->s + from, w->i - from);
	if (w->part != 0 || (w->depth != 2 && w->depth != 3))
		return;
	if (w->depth == 3 && w->s[from - 2] == '(')
		return;   /* the title of a (title, name) pair */
	if (w->fields++)
		buf_str(&w->list, ", ");
	if (w->fields == 1)
		printable(w->s + from, w->i - from, w->first, sizeof w->first);
	buf_escaped(&w->list, w->s + from, w->i - from);
	buf_str(&w->list, ": ");
}

static void take_char(struct walk *w, char c)
{
	if (c == '(' || c == '[') {
		w->depth++;
		if (w->depth == 2)
			w->part = 0;
		else if (w->depth == 3 && w->part == 1)
			buf_str(&w->list, "structured");
		else if (w->depth == 3 && w->part == 2)
			buf_str(&w->list, " array of (");
	} else if (c == ')' || c == ']') {
		if (w->depth == 3 && w->part == 2)
			buf_char(&w->list, ')');
		w->depth--;
	} else if (c == ',' && w->depth == 2) {
		w->part++;
	} else if (w->depth == 3 && w->part == 2) {
		buf_escaped(&w->list, &c, 1);
	}
}

gx_status descr_structured(const char *shown, const char *text, size_t n, gx_error *err)
{
	struct walk w = {.s = text, .n = n};
	gx_status s;

	if (n && text[0] == '(')
		return diag_plain(err, GX_UNSUPPORTED, "%s has elements that are arrays themselves (a sub-array dtype), which gpuexpr does "
			"not read; hint: save it as an array of more dimensions", shown);
	for (; w.i < n && w.list.len < 200; w.i++) {
		if (text[w.i] == '\'' || text[w.i] == '"')
			take_string(&w);
		else
			take_char(&w, text[w.i]);
	}
	if (w.i < n)
		buf_str(&w.list, "...");
	if (w.fields == 0 || !w.list.text)
		s = diag_plain(err, GX_UNSUPPORTED, "%s has a structured dtype, which gpuexpr does not read", shown);
	else
		s = diag_plain(err, GX_UNSUPPORTED, "%s has a structured dtype (fields %.230s), which gpuexpr does not read; hint: save one "
			"field, np.save('%s', a['%s'])", shown, w.list.text, shown, w.first);
	buf_free(&w.list);
	return s;
}
