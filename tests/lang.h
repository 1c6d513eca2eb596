/* lang.h -- a language case: a program with its inputs and what must come out, read from one .gx file.
 * The head of the file is its first run of `#` lines: sentences up to `# ==`, then directives, an optional `# --`. The program is
 * what follows; its first line is line 1 of messages. Values are written in C order whatever the layout in memory.
 *	# x : f32[2,3] = 1 2 3 4 5 6     an input; after the shape F (Fortran order), R (every axis backwards) or G (gaps)
 *	# in out : f32[1] = 3            likewise, for names that are words of this form
 *	# ... 7 8 9                      more values of the line before
 *	# n = 3                          a weak scalar (an integer or, with a point, a float)
 *	# out y : f32[2,3] = arange      a result; `out :` for a bare expression. Generators: arange, ones, zeros, sin, `mod N`
 *	# error SHAPE 1:7: regex         instead of results: status, place (0:0: none) and message
 *	# hint regex / # warning regex   what goes with the error, what the parser warns of
 *	# ulp N, # kernels N, # reads BYTES, # writes BYTES, # engines cpu cuda */
#ifndef TESTS_LANG_H
#define TESTS_LANG_H

#include <stddef.h>
#include <stdint.h>

#include "include/gpuexpr.h"

enum { CASE_ARRAYS = 16, CASE_REGEXES = 8 };

struct case_array {
	gx_array a;              /* data points into base; for weak scalars base is NULL */
	unsigned char *values;   /* C order */
	int64_t count;
	unsigned char *base;     /* inputs: memory as laid out */
	size_t bytes;
	char layout;             /* C F R G */
};

struct lang_case {
	char *text;              /* the whole file; names and regexes are slices of it */
	const char *program;
	struct case_array in[CASE_ARRAYS]; int nin;
	struct case_array out[CASE_ARRAYS]; int nout;
	const char *status;      /* "SHAPE", or NULL when results are expected */
	int line, column;
	const char *error, *hint;
	const char *warning[CASE_REGEXES]; int nwarning;
	const char *engines;     /* NULL: all */
	int64_t ulp, kernels, reads, writes;   /* -1: not given (ulp: 0) */
};

/* Gives c: case_free (also after a failure). 0, or -1 with the reason in why. */
int case_read(const char *path, struct lang_case *c, char *why, size_t size);
void case_free(struct lang_case *c);
/* Does a program's result match? 0, or -1 with the first difference in why. `got` is in C order. */
int case_compare(const struct case_array *want, const void *got, int64_t ulp, char *why, size_t size);
/* Does err match what the case expects? 0, or -1. */
int case_error(const struct lang_case *c, const gx_error *err, char *why, size_t size);
int text_matches(const char *regex, const char *text);

/* One word as an element of type t; 0, or -1 when it is not one. */
int value_read(gx_dtype t, const char *word, void *dst);
/* Element i of a generator. */
void value_make(gx_dtype t, double v, void *dst);
void value_text(gx_dtype t, const void *p, char buf[64]);
/* Distance in units of the last place; 0 only for the same bits (any NaN equals any NaN) or, when loose, the same value. */
uint64_t value_distance(gx_dtype t, const void *a, const void *b, int loose);

/* The cases that reach the emulator, compiled in few units. Prints the ok and FAIL lines; adds to passed and failed. */
void emulate_cases(char *const *path, int n, int *passed, int *failed, int *skipped);

#endif
