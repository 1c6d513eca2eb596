/* lex.h -- program text to tokens, one at a time; a token is a slice of the text, by value. No look-ups, no allocation. */
#ifndef LEXER_LEX_H
#define LEXER_LEX_H

#include "base/diag.h"

/* Token kinds are lemon's (build/parser/grammar.h, TK_...), plus these. */
enum { LEX_END = 0, LEX_BAD_CHAR = -1, LEX_BAD_NUMBER = -2, LEX_BIG_NUMBER = -3 };

struct token {
	int kind;
	struct span span;
	uint64_t integer;   /* TK_INT */
	double real;        /* TK_FLOAT, TK_IMAGINARY */
};

struct lexer {
	const char *text, *at, *end;   /* text is NUL-terminated at end */
};

struct token lex_next(struct lexer *l);
/* The code point at a TK_BAD_CHAR token, and its length in bytes (invalid UTF-8: the byte, 1). */
unsigned lex_code_point(const struct lexer *l, unsigned at, int *bytes);

#endif
