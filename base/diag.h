/* diag.h -- what went wrong and where: the first error of a compile, with its place in the source text.
 * The first error wins; later ones are ignored. Rendering gives
 *	origin:1:7: error: text
 *	  source line
 *	      ^~~~
 *	hint: text */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stddef.h>

#include "base/buf.h"
#include "include/gpuexpr.h"

struct text {
	const char *origin;   /* shown before line:column */
	const char *text;     /* NUL-terminated */
	size_t len;
};

struct span {
	unsigned begin, end;   /* byte offsets in the source; end is past the last byte; 0, 0 = no place */
};

struct diag {
	const struct text *src;   /* may be NULL */
	gx_status status;           /* GX_OK while there is no error */
	struct span span;
	char message[512];
	char hint[256];
	struct buf warnings;        /* rendered warnings, each like an error */
};

/* Record an error (if it is the first); returns the status given. */
gx_status diag_error(struct diag *d, gx_status s, struct span at, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Add a hint to the error just recorded; ignored when a hint is there. */
void diag_hint(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void diag_warn(struct diag *d, struct span at, const char *hint, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void diag_place(const struct text *src, struct span at, int *line, int *column);   /* 1-based, columns in characters */
/* Render to the caller's error object; err may be NULL. Returns d->status. */
gx_status diag_fill(const struct diag *d, gx_error *err);
/* Fill err with a sentence that has no place in a text. Returns s. err may be NULL. */
gx_status diag_plain(gx_error *err, gx_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Smallest number of insertions, deletions, substitutions and swaps of neighbours between two words, letters
 * compared without case (Damerau-Levenshtein, restricted). Words longer than 63 bytes give 64. */
int diag_distance(const char *a, const char *b);
/* Offer candidates one by one; keeps the closest within max(1, len/3). best starts NULL. */
struct suggestion { const char *wanted, *best; int distance; };
void diag_suggest(struct suggestion *s, const char *candidate);

#endif
