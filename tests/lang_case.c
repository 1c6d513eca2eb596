/* lang_case.c -- reads a case file and compares what came out with what it says. See lang.h for the form. */
#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lang.h"

static int complain(char *why, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int complain(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -1;
}

static char *file_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	long n = 0;
	char *text = NULL;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
		text = calloc((size_t)n + 1, 1);
	if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static char *skip(char *s)
{
	while (*s == ' ')
		s++;
	return s;
}

/* The word at *s, NUL-terminated in place; *s moves past it. NULL at the end. */
static char *word(char **s)
{
	char *begin = skip(*s), *end = begin;

	if (!*begin)
		return NULL;
	while (*end && *end != ' ')
		end++;
	*s = *end ? end + 1 : end;
	*end = 0;
	return begin;
}

/* ---- values and layouts ---- */

/* Where element i (C order) lies in memory, in elements. */
static int64_t place_of(const gx_array *a, int64_t i)
{
	int64_t at = 0;

	for (int k = a->rank - 1; k >= 0; k--) {
		at += i % a->shape[k] * a->stride[k];
		i /= a->shape[k];
	}
	return at;
}

static void strides(struct case_array *x)
{
	gx_array *a = &x->a;
	int64_t step = 1;

	for (int j = 0; j < a->rank; j++) {
		int k = x->layout == 'F' ? j : a->rank - 1 - j;
		int64_t gap = x->layout == 'G' && k == a->rank - 1 ? 2 : 1;

		step *= gap;
		a->stride[k] = x->layout == 'R' ? -step : step;
		step *= a->shape[k];
	}
	x->bytes = (size_t)(step > 0 ? step : 1) * gx_dtype_size(a->dtype);
}

static int lay_out(struct case_array *x)
{
	size_t size = gx_dtype_size(x->a.dtype);
	int64_t first = 0;

	strides(x);
	x->base = malloc(x->bytes);
	if (!x->base)
		return -1;
	memset(x->base, 0x5a, x->bytes);
	for (int k = 0; k < x->a.rank && x->layout == 'R' && x->count; k++)
		first -= x->a.stride[k] * (x->a.shape[k] - 1);
	x->a.data = x->base + (size_t)first * size;
	for (int64_t i = 0; i < x->count; i++)
		memcpy((unsigned char *)x->a.data + place_of(&x->a, i) * (int64_t)size, x->values + (size_t)i * size,
			size);
	return 0;
}

static int generate(struct case_array *x, const char *name, double m)
{
	size_t size = gx_dtype_size(x->a.dtype);

	for (int64_t i = 0; i < x->count; i++) {
		double v = (double)i;

		if (!strcmp(name, "ones"))
			v = 1;
		else if (!strcmp(name, "zeros"))
			v = 0;
		else if (!strcmp(name, "sin"))
			v = sin((double)i);
		else if (!strcmp(name, "mod"))
			v = fmod((double)i, m);
		else if (strcmp(name, "arange") != 0)
			return -1;
		value_make(x->a.dtype, v, x->values + (size_t)i * size);
	}
	return 0;
}

static int fill(struct case_array *x, char *s, char *why, size_t size)
{
	size_t bytes = gx_dtype_size(x->a.dtype);
	int64_t i = 0;
	char *w = word(&s);

	if (w && isalpha((unsigned char)w[0]) && strcmp(w, "nan") && strcmp(w, "inf") && strcmp(w, "true") &&
		strcmp(w, "false")) {
		char *m = word(&s);

		return generate(x, w, m ? atof(m) : 1) ? complain(why, size, "unknown generator `%s`", w) : 0;
	}
	for (; w; w = word(&s), i++)
		if (i >= x->count || value_read(x->a.dtype, w, x->values + (size_t)i * bytes))
			return complain(why, size, "bad value `%s` (number %lld) for `%s`", w, (long long)i, x->a.name);
	if (i != x->count)
		return complain(why, size, "%lld values for `%s`, which has %lld elements", (long long)i, x->a.name,
			(long long)x->count);
	return 0;
}

/* "f32[2,3] F = values": type, shape, layout, values. */
static int described(struct case_array *x, char *s, char *why, size_t size)
{
	char *type, *bracket, *w;

	type = word(&s);
	if (!type)
		return complain(why, size, "no type for `%s`", x->a.name);
	bracket = strchr(type, '[');
	if (bracket)
		*bracket++ = 0;
	if (gx_dtype_find(type, &x->a.dtype))
		return complain(why, size, "unknown type `%s`", type);
	x->count = 1;
	x->layout = 'C';
	while (bracket && *bracket && *bracket != ']') {
		x->count *= x->a.shape[x->a.rank++] = strtoll(bracket, &bracket, 10);
		bracket += *bracket == ',';
	}
	w = word(&s);
	if (w && strchr("FRG", w[0]) && !w[1]) {
		x->layout = w[0];
		w = word(&s);
	}
	if (!w || strcmp(w, "=") != 0)
		return complain(why, size, "`=` expected after the type of `%s`", x->a.name);
	x->values = calloc((size_t)x->count + 1, gx_dtype_size(x->a.dtype));
	return x->values ? fill(x, s, why, size) : complain(why, size, "out of memory");
}

static int weak(struct case_array *x, const char *name, char *s)
{
	char *w = word(&s);

	if (!w)
		return -1;
	x->a.name = name;
	if (w[strcspn(w, ".einEIN")]) {
		x->a.place = GX_WEAK_FLOAT;
		x->a.dtype = GX_FLOAT64;
		x->a.real = strtod(w, NULL);
	} else {
		x->a.place = GX_WEAK_INT;
		x->a.dtype = GX_INT64;
		x->a.integer = strtoll(w, NULL, 0);
	}
	return 0;
}

/* ---- directives ---- */

static int number(const char *key, const char *want, char *s, int64_t *to)
{
	if (strcmp(key, want) != 0)
		return 0;
	*to = strtoll(s, NULL, 10);
	return 1;
}

static int expect_error(struct lang_case *c, char *s)
{
	char *status = word(&s), *place = word(&s);

	if (!status || !place || sscanf(place, "%d:%d:", &c->line, &c->column) != 2)
		return -1;
	c->status = status;
	c->error = skip(s);
	return 0;
}

static int array_line(struct lang_case *c, int out, char *name, char *s, char *why, size_t size)
{
	struct case_array *x = out ? &c->out[c->nout] : &c->in[c->nin];

	if ((out ? c->nout : c->nin) == CASE_ARRAYS)
		return complain(why, size, "too many arrays");
	x->a.name = name;
	*(out ? &c->nout : &c->nin) += 1;
	if (described(x, s, why, size))
		return -1;
	return out || lay_out(x) == 0 ? 0 : complain(why, size, "out of memory");
}

static int directive(struct lang_case *c, char *line, char *why, size_t size)
{
	char *s = line, *key = word(&s), *next;

	if (!key)
		return 0;
	if (number(key, "ulp", s, &c->ulp) || number(key, "kernels", s, &c->kernels) ||
		number(key, "reads", s, &c->reads) || number(key, "writes", s, &c->writes))
		return 0;
	if (!strcmp(key, "error"))
		return expect_error(c, s) ? complain(why, size, "error needs STATUS LINE:COLUMN: regex") : 0;
	if (!strcmp(key, "hint")) {
		c->hint = skip(s);
		return 0;
	}
	if (!strcmp(key, "warning") && c->nwarning < CASE_REGEXES) {
		c->warning[c->nwarning++] = skip(s);
		return 0;
	}
	if (!strcmp(key, "engines")) {
		c->engines = skip(s);
		return 0;
	}
	if (!strcmp(key, "out")) {
		next = word(&s);
		if (next && !strcmp(next, ":"))
			return array_line(c, 1, next + 1, s, why, size); /* next + 1: "" */
		key = next;
		next = word(&s);
		return next && !strcmp(next, ":") ? array_line(c, 1, key, s, why, size)
										  : complain(why, size, "bad `out` line");
	}
	next = word(&s);
	if (next && !strcmp(key, "in")) {
		key = next;
		next = word(&s);
	}
	if (next && !strcmp(next, ":"))
		return array_line(c, 0, key, s, why, size);
	if (next && !strcmp(next, "=") && c->nin < CASE_ARRAYS)
		return weak(&c->in[c->nin++], key, s) ? complain(why, size, "no value for `%s`", key) : 0;
	return complain(why, size, "unknown directive `%s`", key);
}

/* Glue `# ...` lines to the line before: the line end and the mark become spaces. */
static void join_lines(char *text)
{
	for (char *p = strstr(text, "\n# ... "); p; p = strstr(p, "\n# ... "))
		memset(p, ' ', 7);
}

int case_read(const char *path, struct lang_case *c, char *why, size_t size)
{
	int begun = 0, ended = 0;
	char *line, *end;

	memset(c, 0, sizeof *c);
	c->kernels = c->reads = c->writes = -1;
	c->text = file_text(path);
	if (!c->text)
		return complain(why, size, "cannot read");
	join_lines(c->text);
	for (line = c->text; *line == '#' && !ended; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		ended = begun && !strcmp(line, "# --");
		if (begun && !ended && directive(c, line + 1, why, size))
			return -1;
		begun |= !strcmp(line, "# ==");
	}
	c->program = line;
	if (!begun)
		return complain(why, size, "no `# ==` line");
	return 0;
}

static void arrays_free(struct case_array *x, int n)
{
	for (int i = 0; i < n; i++) {
		free(x[i].values);
		free(x[i].base);
	}
}

void case_free(struct lang_case *c)
{
	arrays_free(c->in, c->nin);
	arrays_free(c->out, c->nout);
	free(c->text);
	memset(c, 0, sizeof *c);
}

/* ---- comparing ---- */

int case_compare(const struct case_array *want, const void *got, int64_t ulp, char *why, size_t size)
{
	gx_dtype t = want->a.dtype;
	size_t bytes = gx_dtype_size(t);
	const unsigned char *g = got;
	char a[64], b[64];

	for (int64_t i = 0; i < want->count; i++) {
		uint64_t d = value_distance(t, want->values + (size_t)i * bytes, g + (size_t)i * bytes, ulp > 0);

		if (d <= (uint64_t)ulp)
			continue;
		value_text(t, want->values + (size_t)i * bytes, a);
		value_text(t, g + (size_t)i * bytes, b);
		return complain(why, size, "`%s` element %lld: wanted %s, found %s", want->a.name, (long long)i, a,
			b);
	}
	return 0;
}

int text_matches(const char *regex, const char *text)
{
	regex_t r;
	int found;

	if (regcomp(&r, regex, REG_EXTENDED | REG_NOSUB))
		return 0;
	found = regexec(&r, text, 0, NULL, 0) == 0;
	regfree(&r);
	return found;
}

static const char *status_name(gx_status s)
{
	switch ((int)s) {
#define X(name, value, text) \
	case value: \
		return #name;
		GX_STATUS_MAP(X)
#undef X
	default:
		return "?";
	}
}

int case_error(const struct lang_case *c, const gx_error *err, char *why, size_t size)
{
	const char *hint = strstr(err->text, "hint: ");

	if (strcmp(status_name(err->status), c->status) != 0)
		return complain(why, size, "wanted %s, found %s: %s", c->status, status_name(err->status), err->text);
	if (err->line != c->line || err->column != c->column)
		return complain(why, size, "wanted place %d:%d, found: %s", c->line, c->column, err->text);
	if (!text_matches(c->error, err->message))
		return complain(why, size, "message does not match `%s`: %s", c->error, err->text);
	if (c->hint && (!hint || !text_matches(c->hint, hint)))
		return complain(why, size, "hint does not match `%s`: %s", c->hint, err->text);
	return 0;
}
