/* csv.c -- tables of numbers in text files: .csv (commas), .tsv (tabs), .txt (commas, tabs or white space, whichever the first
 * line uses). One pass over the bytes fills one vector of 8-byte cells, which hold int64 until the first float turns up (then all
 * become double: the same rounding as reading them as doubles) and stay bool where every field is True or False. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "formats/parts.h"

union cell { int64_t i; double d; };

enum field_kind { BLANK, LOGICAL, WHOLE, REAL, WORD };

struct table {
	struct image *im;
	gx_error *err;
	const char *p, *end;
	char separator;          /* ' ' = runs of white space */
	long line;               /* 1-based, of the row being read */
	long first_line;         /* of the row that set the number of columns */
	int64_t rows, cols;
	gx_dtype type;           /* of the cells so far */
	union cell *cell;
	size_t n, cap;
};

static int push(struct table *t, union cell v)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 1024;
		void *p = gx_realloc(t->cell, cap * sizeof v);

		if (!p)
			return -1;
		t->cell = p;
		t->cap = cap;
	}
	t->cell[t->n++] = v;
	return 0;
}

static void all_real(struct table *t)
{
	if (t->type == GX_INT64)
		for (size_t i = 0; i < t->n; i++)
			t->cell[i].d = (double)t->cell[i].i;
	t->type = GX_FLOAT64;
}

/* One field as it stands in the file, without surrounding blanks; quoted ones without their quotes. */
struct field {
	const char *s;
	size_t n;
	int column;     /* 1-based count of fields */
	int last;       /* of its row */
	char unquoted[256];
};

static int ends_row(const struct table *t)
{
	return t->p == t->end || *t->p == '\n' || *t->p == '\r';
}

static int is_blank(const struct table *t, char c)
{
	return c == ' ' || (c == '\t' && t->separator != '\t');
}

static void skip_blanks(struct table *t)
{
	while (t->p < t->end && is_blank(t, *t->p))
		t->p++;
}

static void end_line(struct table *t)
{
	if (t->p < t->end && *t->p == '\r' && t->p + 1 < t->end && t->p[1] == '\n')
		t->p++;
	if (t->p < t->end)
		t->p++;
	t->line++;
}

/* "a ""b""" -> a "b". Longer than any number: cut, it can only be a heading. */
static gx_status quoted(struct table *t, struct field *f)
{
	size_t n = 0;
	long line = t->line;

	for (t->p++; t->p < t->end; t->p++) {
		if (*t->p == '"' && (t->p + 1 == t->end || t->p[1] != '"'))
			break;
		t->p += *t->p == '"';
		t->line += *t->p == '\n';
		if (n < sizeof f->unquoted)
			f->unquoted[n++] = *t->p;
	}
	if (t->p == t->end)
		return diag_plain(t->err, GX_IO, "%s: line %ld, column %d: a quote does not end", t->im->name, line, f->column);
	t->p++;
	f->s = f->unquoted;
	while (n && is_blank(t, f->s[0])) {
		f->s++;
		n--;
	}
	while (n && is_blank(t, f->s[n - 1]))
		n--;
	f->n = n;
	skip_blanks(t);
	if (ends_row(t) || *t->p == t->separator || t->separator == ' ')
		return GX_OK;
	return diag_plain(t->err, GX_IO, "%s: line %ld, column %d: text after a closing quote", t->im->name, t->line, f->column);
}

/* The next field of the row; t->p goes to the start of the one after it, or to the line's end. */
static gx_status next_field(struct table *t, struct field *f)
{
	f->column++;
	skip_blanks(t);
	if (t->p < t->end && *t->p == '"') {
		gx_status s = quoted(t, f);

		if (s)
			return s;
	} else {
		const char *to;

		f->s = t->p;
		while (!ends_row(t) && *t->p != t->separator && !(t->separator == ' ' && *t->p == '\t'))
			t->p++;
		for (to = t->p; to > f->s && is_blank(t, to[-1]); to--)
			;
		f->n = (size_t)(to - f->s);
	}
	if (t->separator == ' ')
		skip_blanks(t);
	f->last = ends_row(t);
	t->p += !f->last && t->separator != ' ';
	return GX_OK;
}

static int same_word(const struct field *f, const char *w)
{
	if (f->n != strlen(w))
		return 0;
	for (size_t i = 0; i < f->n; i++)
		if ((f->s[i] | 32) != w[i])
			return 0;
	return 1;
}

static enum field_kind classify(const struct field *f, union cell *v)
{
	double real;
	int64_t whole;
	int is_whole;

	v->d = (double)NAN;
	if (f->n == 0)
		return BLANK;
	if (number_parse(f->s, f->n, &real, &whole, &is_whole) == 0) {
		if (is_whole)
			v->i = whole;
		else
			v->d = real;
		return is_whole ? WHOLE : REAL;
	}
	v->i = same_word(f, "true");
	return v->i || same_word(f, "false") ? LOGICAL : WORD;
}

static gx_status not_a_number(struct table *t, const struct field *f, int decimal_comma)
{
	char text[64];
	struct buf b = {0};

	buf_escaped(&b, f->s, f->n < 30 ? f->n : 30);
	snprintf(text, sizeof text, "%.50s%s", b.text ? b.text : "", f->n > 30 ? "..." : "");
	buf_free(&b);
	return diag_plain(t->err, GX_IO, "%s: line %ld, column %d: '%s' is not a number%s", t->im->name, t->line, f->column, text,
		decimal_comma ? "; hint: fields are separated by ',' and numbers have a '.'" : "");
}

/* Fit a value among those before it: bool < int64 < float64, but bool does not mix with numbers. */
static gx_status add(struct table *t, const struct field *f, enum field_kind kind, union cell v)
{
	if (kind == WORD)
		return not_a_number(t, f, t->separator == ',' && memchr(f->s, ';', f->n) != NULL);
	if (t->n == 0)
		t->type = kind == LOGICAL ? GX_BOOL : kind == WHOLE ? GX_INT64 : GX_FLOAT64;
	if ((kind == LOGICAL) != (t->type == GX_BOOL))
		return diag_plain(t->err, GX_IO, "%s: line %ld, column %d: True and False stand among numbers", t->im->name, t->line,
			f->column);
	if (kind == BLANK || kind == REAL)
		all_real(t);
	if (kind == WHOLE && t->type == GX_FLOAT64) {
		double real = (double)v.i;

		v.d = real;
	}
	return push(t, v) ? no_memory(t->im->name, t->cap * 2 * sizeof v, t->err) : GX_OK;
}

static gx_status check_columns(struct table *t, long line, int columns)
{
	if (t->rows == 0) {
		t->cols = columns;
		t->first_line = line;
		return GX_OK;
	}
	if (columns == t->cols)
		return GX_OK;
	return diag_plain(t->err, GX_IO, "%s: line %ld has %d column%s, line %ld has %lld", t->im->name, line, columns,
		columns == 1 ? "" : "s", t->first_line, (long long)t->cols);
}

static gx_status row(struct table *t)
{
	struct field f = {0};
	long line = t->line;
	gx_status s = GX_OK;

	while (s == GX_OK && !f.last) {
		union cell v;

		s = next_field(t, &f);
		s = s ? s : add(t, &f, classify(&f, &v), v);
	}
	s = s ? s : check_columns(t, line, f.column);
	t->rows++;
	return s;
}

/* A heading: the first line, where it has words and no number, nor what looks like one with a slip in it. */
static int is_heading(struct table *t)
{
	struct table look = *t;
	struct field f = {0};
	int words = 0;

	look.err = NULL;
	while (!f.last) {
		union cell v;
		enum field_kind kind;

		if (next_field(&look, &f))
			return 0;
		kind = classify(&f, &v);
		if (kind == WHOLE || kind == REAL || kind == LOGICAL || (f.n && strchr("0123456789+-.", f.s[0])))
			return 0;
		words += kind == WORD;
	}
	if (words) {
		t->p = look.p;
		t->line = look.line;
	}
	return words > 0;
}

/* Empty lines and comments (# as numpy.savetxt writes them) are passed over. */
static int next_line(struct table *t)
{
	for (; t->p < t->end; end_line(t)) {
		const char *from = t->p;

		skip_blanks(t);
		if (t->p < t->end && *t->p == '#')
			while (!ends_row(t))
				t->p++;
		if (ends_row(t))
			continue;
		t->p = from;
		return 1;
	}
	return 0;
}

static char guess_separator(const struct table *t)
{
	char found = ' ';

	for (const char *p = t->p; p < t->end && *p != '\n' && *p != '\r'; p++) {
		if (*p == ',')
			return ',';
		if (*p == '\t')
			found = '\t';
	}
	return found;
}

static void give(struct table *t, struct file_array *a)
{
	unsigned char *bytes = (unsigned char *)t->cell;

	memset(a, 0, sizeof *a);
	a->dtype = t->type;
	a->rank = t->cols == 1 ? 1 : 2;
	a->shape[0] = t->rows;
	a->shape[1] = t->cols == 1 ? 0 : t->cols;
	array_layout(a, 0);
	if (t->type == GX_BOOL)
		for (size_t i = 0; i < t->n; i++)
			bytes[i] = t->cell[i].i != 0;
	a->data = a->owner = t->cell;
}

static gx_status read_table(struct table *t)
{
	gx_status s = GX_OK;

	if (t->end - t->p >= 3 && memcmp(t->p, "\xef\xbb\xbf", 3) == 0)
		t->p += 3;   /* a byte order mark */
	if (next_line(t)) {
		t->separator = t->separator ? t->separator : guess_separator(t);
		if (is_heading(t))
			end_line(t);
	}
	while (s == GX_OK && next_line(t)) {
		s = row(t);
		end_line(t);
	}
	if (s == GX_OK && t->rows == 0)
		return diag_plain(t->err, GX_IO, "%s holds no numbers", t->im->name);
	return s;
}

gx_status csv_array(struct image *im, char separator, struct file_array *a, gx_error *err)
{
	struct table t = {.im = im, .err = err, .separator = separator, .line = 1};
	gx_status s = image_need(im, SIZE_MAX, err);

	if (s)
		return s;
	t.p = (const char *)im->p;
	t.end = t.p + im->n;
	if (im->n == 0)
		return diag_plain(err, GX_IO, "%s is empty (0 bytes)", im->name);
	s = read_table(&t);
	if (s) {
		free(t.cell);
		return s;
	}
	give(&t, a);
	return GX_OK;
}
