/* buf.h -- growable text. After a failed allocation the buffer drops what follows and `failed` stays set, so that
 * writers need no checks: test once, at the end. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *text;      /* NUL-terminated; NULL while nothing was written */
	size_t len, cap;
	int failed;
};

void buf_put(struct buf *b, const char *s, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vfmt(struct buf *b, const char *fmt, va_list ap);
/* Text with everything outside printable ASCII (and the quote, backslash, '*' before '/') escaped as \xNN: safe in a
 * terminal, in a C comment and in JSON's place of use. */
void buf_escaped(struct buf *b, const char *s, size_t n);
void buf_json(struct buf *b, const char *s);   /* a JSON string with its quotes */
void buf_free(struct buf *b);
char *buf_take(struct buf *b);   /* gives the text (free()), never NULL unless memory ran out; b is empty after */

#endif
