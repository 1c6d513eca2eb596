/* lex.re -- program text to tokens (re2c). Edit this file, not build/lexer/lex.c.
 * The text is NUL-terminated; a NUL that is not the terminator is an unexpected character. Numbers are read here, because their
 * digits are at hand; underscores between digits are dropped first. */
#include "lexer/lex.h"

#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "parser/grammar.h"

static struct token make(const struct lexer *l, const char *begin, int kind)
{
	struct token t = {0};

	t.kind = kind;
	t.span.begin = (unsigned)(begin - l->text);
	t.span.end = (unsigned)(l->at - l->text);
	return t;
}

static struct token integer(const struct lexer *l, const char *begin, const char *digits, unsigned base)
{
	struct token t = make(l, begin, TK_INT);

	for (const char *p = digits; p < l->at; p++) {
		unsigned d = *p <= '9' ? (unsigned)(*p - '0') : (unsigned)((*p | 32) - 'a' + 10);

		if (*p == '_')
			continue;
		if (t.integer > (UINT64_MAX - d) / base) {
			t.kind = LEX_BIG_NUMBER;
			return t;
		}
		t.integer = t.integer * base + d;
	}
	return t;
}

static struct token real(const struct lexer *l, const char *begin, int kind)
{
	struct token t = make(l, begin, kind);
	char digits[256];
	size_t n = 0;

	for (const char *p = begin; p < l->at; p++) {
		if (*p == '_' || *p == 'j' || *p == 'J')
			continue;
		if (n == sizeof digits - 1) {
			t.kind = LEX_BAD_NUMBER;
			return t;
		}
		digits[n++] = *p;
	}
	digits[n] = 0;
	t.real = number_real(digits);
	return t;
}

struct token lex_next(struct lexer *l)
{
	const char *begin, *marker;

again:
	begin = l->at;
	/*!re2c
	re2c:define:YYCTYPE = "unsigned char";
	re2c:define:YYCURSOR = l->at;
	re2c:define:YYMARKER = marker;
	re2c:yyfill:enable = 0;

	d = [0-9];
	digits = d ("_"? d)*;
	exponent = [eE] [+-]? digits;
	float = digits "." digits? exponent? | "." digits exponent? | digits exponent;
	whole = "0" ("_"? "0")* | [1-9] ("_"? d)*;

	[ \t\r]+ | "#" [^\n\x00]* | "\\" "\r"? "\n" { goto again; }
	"\n"        { return make(l, begin, TK_NEWLINE); }
	[\x00]      {
		if (begin < l->end)
			return make(l, begin, LEX_BAD_CHAR);
		l->at = begin;
		return make(l, begin, LEX_END);
	}

	"0" [xX] [0-9a-fA-F] ("_"? [0-9a-fA-F])* { return integer(l, begin, begin + 2, 16); }
	"0" [bB] [01] ("_"? [01])*               { return integer(l, begin, begin + 2, 2); }
	whole                  { return integer(l, begin, begin, 10); }
	float                  { return real(l, begin, TK_FLOAT); }
	(float | whole) [jJ]   { return real(l, begin, TK_IMAGINARY); }
	"."? d [A-Za-z0-9_.]*  { return make(l, begin, LEX_BAD_NUMBER); }

	"and" | "&&" { return make(l, begin, TK_AND); }
	"or" | "||"  { return make(l, begin, TK_OR); }
	"not"   { return make(l, begin, TK_NOT); }
	"def"   { return make(l, begin, TK_DEF); }
	"true"  { return make(l, begin, TK_TRUE); }
	"false" { return make(l, begin, TK_FALSE); }
	"inf"   { return make(l, begin, TK_INF); }
	"nan"   { return make(l, begin, TK_NAN); }
	"pi"    { return make(l, begin, TK_PI); }
	"None"  { return make(l, begin, TK_NONE); }
	[A-Za-z_] [A-Za-z0-9_]* { return make(l, begin, TK_NAME); }

	"..." { return make(l, begin, TK_ELLIPSIS); }
	"**" { return make(l, begin, TK_POW); }
	"//" { return make(l, begin, TK_FLOORDIV); }
	"<<" { return make(l, begin, TK_SHL); }
	">>" { return make(l, begin, TK_SHR); }
	"<=" { return make(l, begin, TK_LE); }
	">=" { return make(l, begin, TK_GE); }
	"==" { return make(l, begin, TK_EQ); }
	"!=" { return make(l, begin, TK_NE); }
	"<"  { return make(l, begin, TK_LT); }
	">"  { return make(l, begin, TK_GT); }
	"="  { return make(l, begin, TK_ASSIGN); }
	"+"  { return make(l, begin, TK_PLUS); }
	"-"  { return make(l, begin, TK_MINUS); }
	"*"  { return make(l, begin, TK_STAR); }
	"/"  { return make(l, begin, TK_SLASH); }
	"%"  { return make(l, begin, TK_PERCENT); }
	"@"  { return make(l, begin, TK_AT); }
	"~"  { return make(l, begin, TK_TILDE); }
	"!"  { return make(l, begin, TK_BANG); }
	"&"  { return make(l, begin, TK_AMP); }
	"|"  { return make(l, begin, TK_BAR); }
	"^"  { return make(l, begin, TK_CARET); }
	"?"  { return make(l, begin, TK_QUESTION); }
	":"  { return make(l, begin, TK_COLON); }
	";"  { return make(l, begin, TK_SEMI); }
	","  { return make(l, begin, TK_COMMA); }
	"."  { return make(l, begin, TK_DOT); }
	"("  { return make(l, begin, TK_LP); }
	")"  { return make(l, begin, TK_RP); }
	"["  { return make(l, begin, TK_LB); }
	"]"  { return make(l, begin, TK_RB); }

	* {
		int bytes;

		lex_code_point(l, (unsigned)(begin - l->text), &bytes);
		l->at = begin + bytes;
		return make(l, begin, LEX_BAD_CHAR);
	}
	*/
}

unsigned lex_code_point(const struct lexer *l, unsigned at, int *bytes)
{
	const unsigned char *p = (const unsigned char *)l->text + at;
	size_t left = (size_t)(l->end - l->text) - at;
	int n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 1;
	unsigned c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	for (int i = 1; i < n; i++) {
		if ((size_t)i >= left || (p[i] & 0xc0) != 0x80) {
			*bytes = 1;
			return p[0];
		}
		c = c << 6 | (p[i] & 0x3f);
	}
	*bytes = n;
	return c;
}
