/* npy.c -- .npy files: magic, version, header length, then a Python dict literal, then the data. The header is read by a small
 * tokenizer of the subset of Python that can stand there (strings, integers, True, False, tuples, lists), never by looking for
 * substrings. The file is untrusted: no length is believed before it was compared with what is there. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "formats/parts.h"

enum { HEADER_MOST = 1 << 20, RANK_MOST = 64 };

struct header {
	const char *shown;
	const char *s;       /* the dict's text */
	size_t i, n;
	gx_error *err;
	int bf16, fortran, rank;
	int seen;            /* bits of the keys */
	int64_t shape[RANK_MOST];
	size_t shape_at, shape_end;
	struct npy *out;
};

static gx_status bad(struct header *h, const char *what)
{
	char near[24];
	struct buf b = {0};

	buf_escaped(&b, h->s + h->i, h->n - h->i < 12 ? h->n - h->i : 12);
	snprintf(near, sizeof near, "%s", b.text ? b.text : "");
	buf_free(&b);
	return diag_plain(h->err, GX_IO, "%s: header: %s at byte %zu%s%s", h->shown, what, h->i, near[0] ? ", before " : " (the end)",
		near);
}

static char peek(struct header *h)
{
	while (h->i < h->n && (h->s[h->i] == ' ' || h->s[h->i] == '\t' || h->s[h->i] == '\n' || h->s[h->i] == '\r'))
		h->i++;
	return h->i < h->n ? h->s[h->i] : 0;
}

static int accept(struct header *h, char c)
{
	if (peek(h) != c || h->i >= h->n)
		return 0;
	h->i++;
	return 1;
}

static int word(struct header *h, const char *w)
{
	size_t n = strlen(w);

	peek(h);
	if (h->n - h->i < n || memcmp(h->s + h->i, w, n) != 0)
		return 0;
	h->i += n;
	return 1;
}

/* A string without escapes that matter; *at and *n are what is between the quotes. */
static gx_status string(struct header *h, const char *what, const char **at, size_t *n)
{
	char quote = peek(h);

	if (quote != '\'' && quote != '"')
		return bad(h, what);
	*at = h->s + ++h->i;
	while (h->i < h->n && h->s[h->i] != quote && h->s[h->i] != '\n')
		h->i += h->s[h->i] == '\\' && h->i + 1 < h->n ? 2 : 1;
	if (h->i >= h->n || h->s[h->i] != quote)
		return bad(h, "a string does not end");
	*n = (size_t)(h->s + h->i - *at);
	h->i++;
	return GX_OK;
}

/* The shape as it is written in the file, for messages. */
static const char *shape_source(struct header *h, char text[200])
{
	struct buf b = {0};
	size_t n = h->shape_end - h->shape_at;

	buf_escaped(&b, h->s + h->shape_at, n < 190 ? n : 190);
	snprintf(text, 200, "%.190s%s", b.text ? b.text : "", n < 190 ? "" : "...");
	buf_free(&b);
	return text;
}

/* To the end of a tuple that is not read to its end. */
static void skip_tuple(struct header *h)
{
	if (h->shape_end)
		return;
	while (h->i < h->n && h->s[h->i] != ')' && h->s[h->i] != '}')
		h->i++;
	h->i += h->i < h->n && h->s[h->i] == ')';
	h->shape_end = h->i;
}

static gx_status too_many(struct header *h)
{
	char text[200];

	skip_tuple(h);
	return diag_plain(h->err, GX_IO, "%s: shape %s has more elements than 2**63-1", h->shown, shape_source(h, text));
}

static gx_status extent(struct header *h, int64_t *value)
{
	char c = peek(h);

	*value = 0;
	if (c == '-')
		return bad(h, "shape has a negative extent");
	if (c < '0' || c > '9')
		return bad(h, "shape must hold whole numbers; found something else");
	for (; h->i < h->n && h->s[h->i] >= '0' && h->s[h->i] <= '9'; h->i++)
		if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, h->s[h->i] - '0', value))
			return too_many(h);
	h->i += h->i < h->n && h->s[h->i] == 'L';   /* a long of Python 2 */
	return GX_OK;
}

static gx_status not_a_tuple(struct header *h)
{
	char text[200];

	skip_tuple(h);
	shape_source(h, text);
	if (h->rank == 1 && text[0] == '(')
		return diag_plain(h->err, GX_IO, "%s: header: shape must be a tuple, found %s; a one-element tuple is written (%lld,)",
			h->shown, text, (long long)h->shape[0]);
	return diag_plain(h->err, GX_IO, "%s: header: shape must be a tuple, found %.60s", h->shown, text);
}

static gx_status shape(struct header *h)
{
	int comma = 1;
	gx_status s;

	h->rank = 0;
	peek(h);
	h->shape_at = h->i;
	if (!accept(h, '('))
		return not_a_tuple(h);
	while (!accept(h, ')')) {
		if (!comma)
			return bad(h, "shape: ',' or ')' expected");
		if (h->rank == RANK_MOST)
			return bad(h, "shape has more than 64 extents");
		if ((s = extent(h, &h->shape[h->rank])))
			return s;
		h->rank++;
		comma = accept(h, ',');
	}
	h->shape_end = h->i;
	return h->rank == 1 && !comma ? not_a_tuple(h) : GX_OK;
}

/* Pass over a bracketed list or tuple. */
static gx_status nested(struct header *h, size_t *from)
{
	int depth = 0;

	*from = h->i;
	for (; h->i < h->n; h->i++) {
		char c = h->s[h->i];

		if (c == '\'' || c == '"') {
			const char *at;
			size_t n;
			gx_status s = string(h, "", &at, &n);

			if (s)
				return s;
			h->i--;
			continue;
		}
		depth += (c == '(' || c == '[') - (c == ')' || c == ']');
		if (depth == 0)
			break;
	}
	if (h->i >= h->n)
		return bad(h, "a list does not end");
	h->i++;
	return GX_OK;
}

static gx_status descr(struct header *h)
{
	char c = peek(h);
	const char *at;
	size_t n, from;
	gx_status s;

	if (c == '[' || c == '(') {
		s = nested(h, &from);
		return s ? s : descr_structured(h->shown, h->s + from, h->i - from, h->err);
	}
	s = string(h, "descr must be a string such as '<f4'; found something else", &at, &n);
	return s ? s : descr_type(h->shown, at, n, h->bf16, h->out, h->err);
}

static gx_status order(struct header *h)
{
	h->fortran = word(h, "True");
	if (!h->fortran && !word(h, "False"))
		return bad(h, "fortran_order must be True or False; found something else");
	return GX_OK;
}

static const struct { const char *name; gx_status (*value)(struct header *h); } keys[] = {
	{"descr", descr}, {"fortran_order", order}, {"shape", shape},
};
enum { NKEYS = sizeof keys / sizeof *keys };

static gx_status entry(struct header *h)
{
	const char *at;
	size_t n, start = h->i;
	gx_status s = string(h, "a key expected", &at, &n);

	if (s)
		return s;
	for (int k = 0; k < NKEYS; k++) {
		if (n != strlen(keys[k].name) || memcmp(at, keys[k].name, n) != 0)
			continue;
		if (h->seen & 1 << k) {
			h->i = start;
			return bad(h, "a key stands there twice");
		}
		h->seen |= 1 << k;
		if (!accept(h, ':'))
			return bad(h, "':' expected");
		return keys[k].value(h);
	}
	h->i = start;
	return bad(h, "an unknown key (only descr, fortran_order and shape are known)");
}

static gx_status dict(struct header *h)
{
	int comma = 1;
	gx_status s;

	if (!accept(h, '{'))
		return bad(h, "'{' expected");
	while (!accept(h, '}')) {
		if (!comma)
			return bad(h, "',' or '}' expected");
		if ((s = entry(h)))
			return s;
		comma = accept(h, ',');
	}
	if (peek(h) || h->i < h->n)
		return bad(h, "text after the closing '}'");
	for (int k = 0; k < NKEYS; k++)
		if (!(h->seen & 1 << k))
			return diag_plain(h->err, GX_IO, "%s: header: the key '%s' is missing", h->shown, keys[k].name);
	return GX_OK;
}

static gx_status finish(struct header *h)
{
	struct file_array *a = &h->out->a;
	char text[200];
	int bad_size;

	if (h->rank > GX_MAX_RANK)
		return diag_plain(h->err, GX_SHAPE, "%s has rank %d, shape %s; gpuexpr's limit is rank %d", h->shown, h->rank,
			shape_source(h, text), GX_MAX_RANK);
	a->rank = h->rank;
	memcpy(a->shape, h->shape, (size_t)h->rank * sizeof a->shape[0]);
	bad_size = array_layout(a, h->fortran);
	if (bad_size == -1)
		return diag_plain(h->err, GX_IO, "%s: shape %s has more elements than 2**63-1", h->shown, shape_source(h, text));
	if (bad_size)
		return diag_plain(h->err, GX_IO, "%s: shape %s of %s has more bytes than 2**63-1", h->shown, shape_source(h, text),
			gx_dtype_name(a->dtype));
	return GX_OK;
}

/* What else it may be that calls itself an array. */
static gx_status not_npy(struct image *im, gx_error *err)
{
	static const struct { const char *magic, *what; } kinds[] = {
		{"PK", "a zip archive, as .npz is; hint: name it FILE.npz, and an array in it FILE.npz:NAME"},
		{"\x89HDF", "an HDF5 file, which gpuexpr does not read"},
		{"\x80", "a Python pickle, which is never opened; hint: save arrays with np.save"},
		{"\x1f\x8b", "compressed by gzip; hint: gunzip it first"},
		{"MATLAB", "a MATLAB file, which gpuexpr does not read"},
	};
	char start[40];
	struct buf b = {0};

	if (im->n == 0)
		return diag_plain(err, GX_IO, "%s is empty (0 bytes)", im->name);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (im->n >= strlen(kinds[i].magic) && memcmp(im->p, kinds[i].magic, strlen(kinds[i].magic)) == 0)
			return diag_plain(err, GX_IO, "%s is not an .npy file: it looks like %s", im->name, kinds[i].what);
	buf_escaped(&b, (const char *)im->p, im->n < 8 ? im->n : 8);
	snprintf(start, sizeof start, "%s", b.text ? b.text : "");
	buf_free(&b);
	return diag_plain(err, GX_IO, "%s is not an .npy file: it begins with '%s', not with '\\x93NUMPY'; hint: raw numbers are "
		"named FILE:f32:1024x1024, files of text .csv, .tsv or .txt", im->name, start);
}

/* Check magic and version and find the text of the header: bytes *from to *to, all of which are here. */
static gx_status find_header(struct image *im, size_t *from, size_t *to, gx_error *err)
{
	const unsigned char *p;
	uint32_t len;
	gx_status s = image_need(im, 8, err);

	if (s)
		return s;
	if (im->n < 6 || memcmp(im->p, "\x93NUMPY", 6) != 0)
		return not_npy(im, err);
	if (im->n >= 8 && (im->p[6] < 1 || im->p[6] > 3 || im->p[7] != 0))
		return diag_plain(err, GX_IO, "%s: format version %d.%d is not known (1.0, 2.0 and 3.0 are)", im->name, im->p[6],
			im->p[7]);
	*from = im->n >= 8 && im->p[6] > 1 ? 12 : 10;
	if ((s = image_need(im, *from, err)))
		return s;
	if (im->n < *from)
		return diag_plain(err, GX_IO, "%s is truncated: it ends within the first %zu bytes, before the header", im->name, *from);
	p = im->p + 8;
	len = p[0] | (uint32_t)p[1] << 8;
	if (*from == 12)
		len |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	if (im->size >= 0 && (uint64_t)im->size < (uint64_t)len + *from)
		return diag_plain(err, GX_IO, "%s: header length %lu exceeds the file size", im->name, (unsigned long)len);
	if (len > HEADER_MOST)
		return diag_plain(err, GX_IO, "%s: header length %lu exceeds the limit of %d", im->name, (unsigned long)len, HEADER_MOST);
	*to = *from + len;
	if ((s = image_need(im, *to, err)))
		return s;
	if (im->n < *to)
		return diag_plain(err, GX_IO, "%s: header length %lu exceeds the file size", im->name, (unsigned long)len);
	return GX_OK;
}

gx_status npy_header(struct image *im, int bf16, struct npy *out, gx_error *err)
{
	struct header h = {.shown = im->name, .err = err, .bf16 = bf16, .out = out};
	size_t from = 0, to = 0;
	gx_status s = find_header(im, &from, &to, err);

	memset(out, 0, sizeof *out);
	if (s)
		return s;
	h.s = (const char *)im->p + from;
	h.n = to - from;
	s = dict(&h);
	out->at = to;
	return s ? s : finish(&h);
}

gx_status npy_array(struct image *im, int bf16, struct file_array *a, gx_error *err)
{
	struct npy h;
	char text[200];
	gx_status s = npy_header(im, bf16, &h, err);

	if (s)
		return s;
	if (h.a.bytes > SIZE_MAX - h.at || (s = image_need(im, h.at + h.a.bytes, err)))
		return s ? s : no_memory(im->name, h.a.bytes, err);
	if (im->n - h.at < h.a.bytes) {
		extents_text(h.a.shape, h.a.rank, text);
		return diag_plain(err, GX_IO, "%s is truncated: shape %s of %s needs %zu data bytes, found %zu", im->name, text,
			gx_dtype_name(h.a.dtype), h.a.bytes, im->n - h.at);
	}
	s = image_array(im, h.at, h.swap, &h.a, err);
	if (s == GX_OK)
		*a = h.a;
	return s;
}
