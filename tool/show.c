/* show.c -- arrays as people read them: NumPy's layout (8 digits, columns lined up, wrapped at 75 characters, ... in the middle of
 * large axes). A first pass over the shown elements finds the column widths, a second writes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tool/tool.h"

enum { LINE = 75, PRECISION = 8, EDGE = 3, SMALL = 1000 };

struct layout {
	const gx_array *a;
	int cut;              /* 1: leave out the middle of long axes */
	int scientific;
	int left, right;      /* characters before the point, and of the point and after */
	int digits;           /* scientific: digits after the point */
	int exponent;         /* scientific: digits of the exponent */
	int word;             /* characters of the longest nan or inf */
	int is_float;
};

/* An element as layouts see it: the shortest text that reads back, that text's value, and the value itself. They differ where the
 * type is narrower than double: 0.1, 0.1 and 0.10000000149 of a float32. */
struct element {
	char text[40];
	double value, exact;
};

int64_t element_count(const gx_array *a)
{
	int64_t n = 1;

	for (int k = 0; k < a->rank; k++)
		n *= a->shape[k];
	return n;
}

static int is_float(gx_dtype t)
{
	return t == GX_FLOAT16 || t == GX_BFLOAT16 || t == GX_FLOAT32 || t == GX_FLOAT64;
}

static double half_value(unsigned bits)
{
	double m = bits & 0x3ff, v = bits & 0x7c00 ? ldexp(m + 1024, (int)(bits >> 10 & 31) - 25) : ldexp(m, -24);

	return bits & 0x8000 ? -v : v;   /* finite ones: the others are words */
}

static double exact_value(gx_dtype t, const void *p)
{
	uint16_t half;
	uint32_t bits;
	float f;
	double d;

	switch ((int)t) {
	case GX_FLOAT64:
		memcpy(&d, p, 8);
		return d;
	case GX_FLOAT32:
		memcpy(&f, p, 4);
		return (double)f;
	case GX_FLOAT16:
		memcpy(&half, p, 2);
		return half_value(half);
	default:
		memcpy(&half, p, 2);
		bits = (uint32_t)half << 16;
		memcpy(&f, &bits, 4);
		return (double)f;
	}
}

static double real(const char *text)
{
	return number_real(text);
}

static void get(const struct layout *l, int64_t i, struct element *e)
{
	const char *p = (const char *)l->a->data + (size_t)i * gx_dtype_size(l->a->dtype);

	element_text(l->a->dtype, p, e->text);
	if (!is_float(l->a->dtype))
		return;
	e->value = real(e->text);
	e->exact = exact_value(l->a->dtype, p);
}

static int is_word(const struct layout *l, const struct element *e)
{
	return !l->is_float || !isfinite(e->value);
}

/* Digits after the point that are kept: trailing zeros go. */
static void trim(char *s)
{
	size_t n = strlen(s);

	if (!strchr(s, '.'))
		return;
	while (n > 0 && s[n - 1] == '0')
		s[--n] = 0;
}

/* The shortest text where that has 8 digits after the point or fewer, else the value rounded to 8. */
static void fixed(const struct element *e, char *to, size_t size)
{
	snprintf(to, size, "%.*f", PRECISION, e->value);   /* the tool never leaves the "C" locale */
	if (real(to) != e->value)
		snprintf(to, size, "%.*f", PRECISION, e->exact);
	trim(to);
}

static void mantissa(const struct element *e, char *to, size_t size)
{
	snprintf(to, size, "%.*e", PRECISION, e->value);
	if (real(to) != e->value)
		snprintf(to, size, "%.*e", PRECISION, e->exact);
	*strchr(to, 'e') = 0;
	trim(to);
}

/* "1.25e+10", "1.e+05" with l->exponent digits at the end. */
static void scientific(const struct layout *l, const struct element *e, char *to, size_t size)
{
	char t[64], *at;

	snprintf(t, sizeof t, "%.*e", l->digits, e->exact);
	at = strchr(t, 'e');
	*at++ = 0;
	snprintf(to, size, "%s%se%c%0*d", t, l->digits ? "" : ".", *at, l->exponent, atoi(at + 1));
}

/* ---- the elements that are shown ---- */

static int64_t shown(const struct layout *l, int axis, int64_t k)   /* the k-th shown index, -1 for the gap */
{
	int64_t n = l->a->shape[axis];

	if (!l->cut || n <= 2 * EDGE)
		return k;
	return k < EDGE ? k : k == EDGE ? -1 : n - EDGE + (k - EDGE - 1);
}

static int64_t shown_count(const struct layout *l, int axis)
{
	int64_t n = l->a->shape[axis];

	return l->cut && n > 2 * EDGE ? 2 * EDGE + 1 : n;
}

static void visit(struct layout *l, int axis, int64_t at, void (*f)(struct layout *, const struct element *, void *), void *arg)
{
	struct element e;

	if (axis == l->a->rank) {
		get(l, at, &e);
		f(l, &e, arg);
		return;
	}
	for (int64_t k = 0; k < shown_count(l, axis); k++)
		if (shown(l, axis, k) >= 0)
			visit(l, axis + 1, at * l->a->shape[axis] + shown(l, axis, k), f, arg);
}

struct range { double lo, hi; int any; };

static void see_range(struct layout *l, const struct element *e, void *arg)
{
	struct range *r = arg;
	double v = fabs(e->value);

	(void)l;
	if (!isfinite(v) || v == 0)
		return;
	r->lo = !r->any || v < r->lo ? v : r->lo;
	r->hi = !r->any || v > r->hi ? v : r->hi;
	r->any = 1;
}

static void widen(int *w, int n)
{
	*w = n > *w ? n : *w;
}

static void see_width(struct layout *l, const struct element *e, void *arg)
{
	char t[400];
	const char *dot;

	(void)arg;
	if (is_word(l, e)) {
		widen(&l->word, (int)strlen(e->text));
		return;
	}
	if (l->scientific) {
		mantissa(e, t, sizeof t);
		dot = strchr(t, '.');
		widen(&l->digits, dot ? (int)strlen(dot + 1) : 0);
		widen(&l->exponent, fabs(e->value) >= 1e100 || (e->value != 0 && fabs(e->value) < 1e-99) ? 3 : 2);
		return;
	}
	fixed(e, t, sizeof t);
	dot = strchr(t, '.');
	widen(&l->left, (int)(dot - t));
	widen(&l->right, (int)strlen(dot));
}

static void format(const struct layout *l, const struct element *e, struct buf *out)
{
	char t[400];
	const char *dot;

	if (is_word(l, e)) {
		buf_fmt(out, "%*s", l->left + l->right, e->text);
		return;
	}
	if (l->scientific) {
		scientific(l, e, t, sizeof t);
		buf_fmt(out, "%*s", l->left, t);
		return;
	}
	fixed(e, t, sizeof t);
	dot = strchr(t, '.');
	buf_fmt(out, "%*s%s%*s", l->left - (int)(dot - t), "", t, l->right - (int)strlen(dot), "");
}

static void see_scientific(struct layout *l, const struct element *e, void *arg)
{
	char t[400];

	(void)arg;
	if (is_word(l, e))
		return;
	scientific(l, e, t, sizeof t);
	widen(&l->left, (int)strlen(t));
}

/* From where on numbers are scientific: what the type holds exactly, roughly. */
static double large(gx_dtype t)
{
	return t == GX_FLOAT64 ? 1e8 : t == GX_FLOAT32 ? 1e6 : 1e3;
}

static void measure(struct layout *l)
{
	struct range r = {0, 0, 0};

	l->is_float = is_float(l->a->dtype);
	if (l->is_float) {
		visit(l, 0, 0, see_range, &r);
		l->scientific = r.any && (r.hi >= large(l->a->dtype) || r.lo < 1e-4 || r.hi / r.lo > 1000);
	}
	visit(l, 0, 0, see_width, NULL);
	if (l->scientific)
		visit(l, 0, 0, see_scientific, NULL);
	if (l->a->dtype == GX_BOOL)
		widen(&l->word, 5);
	widen(&l->left, l->word - l->right);   /* words end where numbers end */
}

static void write_axis(const struct layout *l, int axis, int64_t at, int indent, struct buf *b, size_t *line)
{
	int last = axis == l->a->rank - 1;

	buf_char(b, '[');
	++*line;
	for (int64_t k = 0; k < shown_count(l, axis); k++) {
		int64_t i = shown(l, axis, k);
		struct buf out = {0};
		struct element e;

		if (k && !last) {
			for (int j = axis; j < l->a->rank - 1; j++)
				buf_char(b, '\n');
			buf_fmt(b, "%*s", indent + 1, "");
			*line = (size_t)indent + 1;
		}
		if (!last && i >= 0) {
			write_axis(l, axis + 1, at * l->a->shape[axis] + i, indent + 1, b, line);
			continue;
		}
		if (i >= 0) {
			get(l, at * l->a->shape[axis] + i, &e);
			format(l, &e, &out);
		} else {
			buf_str(&out, "...");
		}
		if (k && last && *line + 1 + out.len > (size_t)(LINE - l->a->rank)) {   /* room for the brackets that close */
			while (b->len && b->text[b->len - 1] == ' ')
				b->text[--b->len] = 0;
			buf_fmt(b, "\n%*s", indent + 1, "");
			*line = (size_t)indent + 1;
		} else if (k && last) {
			buf_char(b, ' ');
			++*line;
		}
		buf_put(b, out.text ? out.text : "", out.len);
		*line += out.len;
		buf_free(&out);
	}
	buf_char(b, ']');
}

void array_text(const gx_array *a, struct buf *b)
{
	struct layout l = {.a = a, .cut = element_count(a) > SMALL};
	struct element e;
	size_t line = 0;

	if (a->rank == 0) {
		get(&l, 0, &e);
		buf_str(b, e.text);
		return;
	}
	if (element_count(a) == 0) {
		buf_str(b, "[]");
		return;
	}
	measure(&l);
	write_axis(&l, 0, 0, 0, b, &line);
}

void array_summary(gx_context *cpu, const gx_array *a, struct buf *b)
{
	gx_array in = *a, out[3];
	gx_error err;
	char text[40];
	static const char *const names[] = {"lo", "mid", "hi"}, *const words[] = {"min", "mean", "max"};

	buf_fmt(b, "%s (", gx_dtype_name(a->dtype));
	for (int k = 0; k < a->rank; k++)
		buf_fmt(b, "%s%lld", k ? ", " : "", (long long)a->shape[k]);
	buf_str(b, a->rank == 1 ? ",)" : ")");
	in.name = "x";
	memset(out, 0, sizeof out);
	for (int i = 0; i < 3; i++)
		out[i].name = names[i];
	if (gx_eval(cpu, "lo = min(x); mid = mean(x); hi = max(x)", &in, 1, out, 3, &err) == GX_OK)
		for (int i = 0; i < 3; i++) {
			element_text(out[i].dtype, out[i].data, text);
			buf_fmt(b, "  %s %s", words[i], text);
			gx_free(cpu, GX_PLACE_HOST, out[i].data);
		}
	buf_char(b, '\n');
	array_text(a, b);
}

/* ---- comparison ---- */

/* Distance of two floats in steps of the last place; NaN equals NaN, and is infinitely far from numbers. */
static double ulps(gx_dtype t, const void *x, const void *y)
{
	int64_t i = 0, j = 0;
	size_t n = gx_dtype_size(t);
	int64_t sign = (int64_t)((uint64_t)1 << (8 * n - 1));
	char a[40], b[40];

	memcpy(&i, x, n);
	memcpy(&j, y, n);
	element_text(t, x, a);
	element_text(t, y, b);
	if (isnan(real(a)) || isnan(real(b)))
		return isnan(real(a)) && isnan(real(b)) ? 0 : INFINITY;
	if (n == 8) {
		i = i < 0 ? INT64_MIN - i : i;
		j = j < 0 ? INT64_MIN - j : j;
	} else {
		i = i & sign ? sign - i : i;
		j = j & sign ? sign - j : j;
	}
	return fabs((double)i - (double)j);
}

int64_t compare_arrays(const gx_array *a, const gx_array *b, struct buf *text)
{
	size_t size = gx_dtype_size(a->dtype);
	int64_t n = element_count(a), differ = 0, first = -1;
	double most = 0;
	char x[40], y[40];

	for (int64_t i = 0; i < n; i++) {
		const char *p = (const char *)a->data + (size_t)i * size, *q = (const char *)b->data + (size_t)i * size;
		double d;

		if (memcmp(p, q, size) == 0)
			continue;
		d = is_float(a->dtype) ? ulps(a->dtype, p, q) : 1;
		if (d == 0)
			continue;
		first = first < 0 ? i : first;
		most = d > most ? d : most;
		differ++;
	}
	if (differ == 0) {
		buf_fmt(text, "%lld elements equal", (long long)n);
		return 0;
	}
	element_text(a->dtype, (const char *)a->data + (size_t)first * size, x);
	element_text(b->dtype, (const char *)b->data + (size_t)first * size, y);
	buf_fmt(text, "%lld of %lld elements differ, ", (long long)differ, (long long)n);
	if (is_float(a->dtype))
		buf_fmt(text, "by at most %.0f ulp, ", most);
	buf_fmt(text, "first at element %lld: %s against %s", (long long)first, x, y);
	return differ;
}
