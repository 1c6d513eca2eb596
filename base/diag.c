/* diag.c -- error records and their rendering with source line and caret. */
#include "base/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 100 };   /* characters of a long source line that are shown around the place */

gx_status diag_error(struct diag *d, gx_status s, struct span at, const char *fmt, ...)
{
	va_list ap;

	if (d->status != GX_OK)
		return s;
	d->status = s;
	d->span = at;
	va_start(ap, fmt);
	vsnprintf(d->message, sizeof d->message, fmt, ap);
	va_end(ap);
	return s;
}

void diag_hint(struct diag *d, const char *fmt, ...)
{
	va_list ap;

	if (d->hint[0])
		return;
	va_start(ap, fmt);
	vsnprintf(d->hint, sizeof d->hint, fmt, ap);
	va_end(ap);
}

static int continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;   /* a later byte of a UTF-8 character */
}

void diag_place(const struct text *src, struct span at, int *line, int *column)
{
	*line = 1;
	*column = 1;
	for (size_t i = 0; i < at.begin && i < src->len; i++) {
		if (src->text[i] == '\n') {
			++*line;
			*column = 1;
		} else if (!continues(src->text[i])) {
			++*column;
		}
	}
}

/* The part of the source line that is shown: the whole line, or a window around the place when the line is long. */
static void window(const struct text *src, struct span at, size_t *from, size_t *to)
{
	size_t b = at.begin < src->len ? at.begin : src->len, lo = b, hi = b;

	while (lo > 0 && src->text[lo - 1] != '\n' && b - lo < SHOWN)
		lo--;
	while (hi < src->len && src->text[hi] != '\n' && hi - b < SHOWN)
		hi++;
	while (lo < b && continues(src->text[lo]))
		lo++;
	while (hi < src->len && continues(src->text[hi]))
		hi--;
	*from = lo;
	*to = hi;
}

static void render_line(struct buf *b, const struct text *src, struct span at)
{
	size_t from, to;
	int width = 0;

	window(src, at, &from, &to);
	buf_str(b, "\n  ");
	for (size_t i = from; i < to; i++) {
		unsigned char c = (unsigned char)src->text[i];

		buf_char(b, c < 32 || c == 127 ? ' ' : (char)c);   /* never send control characters to a terminal */
	}
	buf_str(b, "\n  ");
	for (size_t i = from; i < at.begin && i < to; i++)
		if (!continues(src->text[i]))
			buf_char(b, ' ');
	for (size_t i = at.begin; i < to && i < at.end; i++)
		width += !continues(src->text[i]);
	buf_char(b, '^');
	for (; width > 1; width--)
		buf_char(b, '~');
}

static void render(struct buf *b, const struct text *src, struct span at, const char *word, const char *message, const char *hint)
{
	int line, column;
	int placed = src && at.end;

	if (placed) {
		diag_place(src, at, &line, &column);
		buf_fmt(b, "%s:%d:%d: ", src->origin, line, column);
	}
	buf_fmt(b, "%s: %s", word, message);
	if (placed)
		render_line(b, src, at);
	if (hint && hint[0])
		buf_fmt(b, "\nhint: %s", hint);
}

void diag_warn(struct diag *d, struct span at, const char *hint, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	if (d->warnings.len)
		buf_char(&d->warnings, '\n');
	render(&d->warnings, d->src, at, "warning", message, hint);
}

gx_status diag_fill(const struct diag *d, gx_error *err)
{
	struct buf b = {0};

	if (!err)
		return d->status;
	memset(err, 0, sizeof *err);
	err->status = d->status;
	if (d->status == GX_OK)
		return GX_OK;
	if (d->src && d->span.end)
		diag_place(d->src, d->span, &err->line, &err->column);
	snprintf(err->message, sizeof err->message, "%s", d->message);
	render(&b, d->src, d->span, "error", d->message, d->hint);
	snprintf(err->text, sizeof err->text, "%s", b.text ? b.text : d->message);
	buf_free(&b);
	return d->status;
}

gx_status diag_plain(gx_error *err, gx_status s, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return s;
	memset(err, 0, sizeof *err);
	err->status = s;
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof err->message, fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	return s;
}

int diag_distance(const char *a, const char *b)
{
	enum { MAX = 64 };
	int row[3][MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n >= MAX || m >= MAX)
		return MAX;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
			int best = last[j - 1] + (ca != cb);

			best = best < last[j] + 1 ? best : last[j] + 1;
			best = best < now[j - 1] + 1 ? best : now[j - 1] + 1;
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && cb == tolower((unsigned char)a[i - 2]) &&
				before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[n % 3][m];
}

void diag_suggest(struct suggestion *s, const char *candidate)
{
	int limit = (int)strlen(s->wanted) / 3, d;

	limit = s->wanted[0] && !s->wanted[1] ? 0 : limit > 1 ? limit : 1;   /* any letter is one step from any other */
	d = diag_distance(s->wanted, candidate);
	if (d <= limit && (!s->best || d < s->distance)) {
		s->best = candidate;
		s->distance = d;
	}
}
