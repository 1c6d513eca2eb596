/* buf.c -- growable text on malloc. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

static int room(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 256;
	char *p;

	if (b->failed)
		return 0;
	if (b->len + n + 1 <= b->cap)
		return 1;
	while (cap < b->len + n + 1)
		cap *= 2;
	p = gx_realloc(b->text, cap);
	if (!p) {
		b->failed = 1;
		return 0;
	}
	b->text = p;
	b->cap = cap;
	return 1;
}

void buf_put(struct buf *b, const char *s, size_t n)
{
	if (!room(b, n))
		return;
	memcpy(b->text + b->len, s, n);
	b->len += n;
	b->text[b->len] = 0;
}

void buf_str(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
	buf_put(b, &c, 1);
}

void buf_vfmt(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || !room(b, (size_t)n))
		return;
	vsnprintf(b->text + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(b, fmt, ap);
	va_end(ap);
}

void buf_escaped(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		int comment = c == '/' && i && s[i - 1] == '*';

		if (c < 32 || c > 126 || c == '\\' || comment)
			buf_fmt(b, "\\x%02x", c);
		else
			buf_char(b, (char)c);
	}
}

void buf_json(struct buf *b, const char *s)
{
	buf_char(b, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			buf_fmt(b, "\\%c", c);
		else if (c < 32 || c == 127)
			buf_fmt(b, "\\u%04x", c);
		else
			buf_char(b, (char)c);
	}
	buf_char(b, '"');
}

void buf_free(struct buf *b)
{
	free(b->text);
	memset(b, 0, sizeof *b);
}

char *buf_take(struct buf *b)
{
	char *p;

	buf_put(b, "", 0);
	p = b->text;
	if (b->failed) {
		free(p);
		p = NULL;
	}
	memset(b, 0, sizeof *b);
	return p;
}
