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
	int word;             /* characters of the longest nan or inf */
	int is_float;
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

static void shortest(const struct layout *l, int64_t i, char text[40])
{
	element_text(l->a->dtype, (const char *)l->a->data + (size_t)i * gx_dtype_size(l->a->dtype), text);
}

static double real(const char *text)
{
	return number_real(text);
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

static void fixed(const char *from, char *to, size_t size)
{
	snprintf(to, size, "%.*f", PRECISION, real(from));   /* the tool never leaves the "C" locale */
	trim(to);
}

static void mantissa(const char *from, char *to, size_t size)
{
	char *e;

	snprintf(to, size, "%.*e", PRECISION, real(from));
	e = strchr(to, 'e');
	*e = 0;
	trim(to);
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

static void visit(struct layout *l, int axis, int64_t at, void (*f)(struct layout *, const char *, void *), void *arg)
{
	char text[40];

	if (axis == l->a->rank) {
		shortest(l, at, text);
		f(l, text, arg);
		return;
	}
	for (int64_t k = 0; k < shown_count(l, axis); k++)
		if (shown(l, axis, k) >= 0)
			visit(l, axis + 1, at * l->a->shape[axis] + shown(l, axis, k), f, arg);
}

struct range { double lo, hi; int any; };

static void see_range(struct layout *l, const char *text, void *arg)
{
	struct range *r = arg;
	double v = fabs(real(text));

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

static void see_width(struct layout *l, const char *text, void *arg)
{
	char t[400];
	const char *dot;

	(void)arg;
	if (!l->is_float || !isfinite(real(text))) {
		widen(&l->word, (int)strlen(text));
		return;
	}
	if (l->scientific) {
		mantissa(text, t, sizeof t);
		dot = strchr(t, '.');
		widen(&l->digits, dot ? (int)strlen(dot + 1) : 0);
		return;
	}
	fixed(text, t, sizeof t);
	dot = strchr(t, '.');
	widen(&l->left, (int)(dot - t));
	widen(&l->right, (int)strlen(dot));
}

static void format(const struct layout *l, const char *text, struct buf *out)
{
	char t[400];
	const char *dot;

	if (!l->is_float || !isfinite(real(text))) {
		buf_fmt(out, "%*s", l->left + l->right, text);
		return;
	}
	if (l->scientific) {
		snprintf(t, sizeof t, "%.*e", l->digits, real(text));
		if (l->digits == 0) {   /* 1.e+10 */
			char *e = strchr(t, 'e');

			memmove(e + 1, e, strlen(e) + 1);
			*e = '.';
		}
		buf_fmt(out, "%*s", l->left, t);
		return;
	}
	fixed(text, t, sizeof t);
	dot = strchr(t, '.');
	buf_fmt(out, "%*s%s%*s", l->left - (int)(dot - t), "", t, l->right - (int)strlen(dot), "");
}

static void see_scientific(struct layout *l, const char *text, void *arg)
{
	char t[400];

	(void)arg;
	if (!isfinite(real(text)))
		return;
	snprintf(t, sizeof t, "%.*e", l->digits, real(text));
	widen(&l->left, (int)strlen(t) + (l->digits == 0));
}

static void measure(struct layout *l)
{
	struct range r = {0, 0, 0};

	l->is_float = is_float(l->a->dtype);
	if (l->is_float) {
		visit(l, 0, 0, see_range, &r);
		l->scientific = r.any && (r.hi >= 1e8 || r.lo < 1e-4 || r.hi / r.lo > 1000);
	}
	visit(l, 0, 0, see_width, NULL);
	if (l->scientific)
		visit(l, 0, 0, see_scientific, NULL);
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
		char text[40];

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
			shortest(l, at * l->a->shape[axis] + i, text);
			format(l, text, &out);
		} else {
			buf_str(&out, "...");
		}
		if (k && last && *line + 1 + out.len > (size_t)(LINE - l->a->rank)) {   /* room for the brackets that close */
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
	size_t line = 0;
	char text[40];

	if (a->rank == 0) {
		shortest(&l, 0, text);
		buf_str(b, text);
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
