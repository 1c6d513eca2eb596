/* front.c -- tests of the lexer, the parser and the IR's own rules. Arguments: language cases; each is
 * parsed, printed and parsed again, which must give the same tree. */
#include <math.h>
#include <stdlib.h>

#include "ir/check.h"
#include "parser/grammar.h"
#include "parser/parse.h"
#include "tests/lang.h"
#include "tests/unit/unit.h"

/* ---- lexer ---- */

static void lexed(const char *text, int n, const int *kinds)
{
	struct lexer l = {text, text, text + strlen(text)};
	struct token t;

	for (int i = 0; i < n; i++) {
		t = lex_next(&l);
		if (!check(t.kind == kinds[i], "[%s] token %d: wanted kind %d, found %d", text, i, kinds[i], t.kind))
			return;
	}
	t = lex_next(&l);
	check(t.kind == LEX_END && lex_next(&l).kind == LEX_END, "[%s] ends, and stays at its end", text);
}

#define LEXED(text, ...) lexed(text, (int)(sizeof(int[]){__VA_ARGS__} / sizeof(int)), (int[]){__VA_ARGS__})

static void test_tokens(void)
{
	LEXED("a**b//c<<d>>e", TK_NAME, TK_POW, TK_NAME, TK_FLOORDIV, TK_NAME, TK_SHL, TK_NAME, TK_SHR, TK_NAME);
	LEXED("a<=b>=c==d!=e<f>g=h", TK_NAME, TK_LE, TK_NAME, TK_GE, TK_NAME, TK_EQ, TK_NAME, TK_NE, TK_NAME,
		TK_LT, TK_NAME, TK_GT, TK_NAME, TK_ASSIGN, TK_NAME);
	LEXED("and or not && || !", TK_AND, TK_OR, TK_NOT, TK_AND, TK_OR, TK_BANG);
	LEXED("android nothing Define none None", TK_NAME, TK_NAME, TK_NAME, TK_NAME, TK_NONE);
	LEXED("...x.T", TK_ELLIPSIS, TK_NAME, TK_DOT, TK_NAME);
	LEXED("1...", LEX_BAD_NUMBER);
	LEXED("a[1:2]", TK_NAME, TK_LB, TK_INT, TK_COLON, TK_INT, TK_RB);
	LEXED("x # comment ; +\ny", TK_NAME, TK_NEWLINE, TK_NAME);
	LEXED("x \\\n y \\\r\n z", TK_NAME, TK_NAME, TK_NAME);
	LEXED("1.5 1. .5 1e5 1E-5 2j 1.5J 7", TK_FLOAT, TK_FLOAT, TK_FLOAT, TK_FLOAT, TK_FLOAT, TK_IMAGINARY,
		TK_IMAGINARY, TK_INT);
	LEXED("1__0 1_ 0x 0b2 012 1e 1e+ 3x 0xg", LEX_BAD_NUMBER, LEX_BAD_NUMBER, LEX_BAD_NUMBER, LEX_BAD_NUMBER,
		LEX_BAD_NUMBER, LEX_BAD_NUMBER, LEX_BAD_NUMBER, TK_PLUS, LEX_BAD_NUMBER, LEX_BAD_NUMBER);
	LEXED("18446744073709551615 18446744073709551616 0x10000000000000000", TK_INT, LEX_BIG_NUMBER,
		LEX_BIG_NUMBER);
	LEXED("$ ` \xc3\xa9 \xff \xe2\x82 ?", LEX_BAD_CHAR, LEX_BAD_CHAR, LEX_BAD_CHAR, LEX_BAD_CHAR,
		LEX_BAD_CHAR, LEX_BAD_CHAR, TK_QUESTION);
	LEXED("", LEX_END);
}

static struct token first(const char *text)
{
	struct lexer l = {text, text, text + strlen(text)};

	return lex_next(&l);
}

static void test_values(void)
{
	struct lexer l = {"a\0b", NULL, NULL};
	int bytes;

	check(first("0xdead_BEEF").integer == 0xdeadbeef && first("0B1010").integer == 10 &&
			first("1_000").integer == 1000,
		"integers");
	check(first("18446744073709551615").integer == UINT64_MAX && first("0").integer == 0,
		"limits of integers");
	check(first("1_0.2_5e0_1").real == 102.5 && first("1.E5").real == 1e5 && first(".5").real == 0.5,
		"floats");
	check(first("  abc").span.begin == 2 && first("  abc").span.end == 5, "spans");
	l.at = l.text;
	l.end = l.text + 3;
	lex_next(&l);
	check(lex_next(&l).kind == LEX_BAD_CHAR && lex_next(&l).kind == TK_NAME,
		"a NUL inside is a bad character");
	l.text = "\xe2\x82\xac";
	l.end = l.text + 3;
	check(lex_code_point(&l, 0, &bytes) == 0x20ac && bytes == 3, "a code point of three bytes");
	l.end = l.text + 2;
	check(lex_code_point(&l, 0, &bytes) == 0xe2 && bytes == 1, "one that is cut off");
}

/* ---- parser ---- */

static jmp_buf no_memory;

static struct formula *parsed(const char *text)
{
	struct formula *f = calloc(1, sizeof *f);

	f->arena = &f->own;
	f->own.fail = &no_memory;
	f->text = (struct text){"<test>", text, strlen(text)};
	f->diag.src = &f->text;
	parse_program(f);
	return f;
}

static void formula_free(struct formula *f)
{
	buf_free(&f->diag.warnings);
	arena_free(&f->own);
	free(f);
}

static void printed(const char *text, const char *want)
{
	struct formula *f = parsed(text);
	struct buf b = {0};

	if (check(f->diag.status == GX_OK, "[%s] parses: %s", text, f->diag.message)) {
		ast_print(f->program, &b);
		while (b.len && b.text[b.len - 1] == '\n')
			b.text[--b.len] = 0;
		same_text(b.text, want, text);
	}
	buf_free(&b);
	formula_free(f);
}

static void test_trees(void)
{
	printed("a + b * c - d", "((a + (b * c)) - d)");
	printed("-a**-b**c", "(- (a ** (- (b ** c))))");
	printed("a or b and not c == d", "(a or (b and (not (c == d))))");
	printed("a < b + 1 <= c", "(a < (b + 1) <= c)");
	printed("(a < b) < c", "((a < b) < c)");
	printed("a | b ^ c & d << e + f", "(a | (b ^ (c & (d << (e + f)))))");
	printed("a ? b : c ? d : e", "(a ? b : (c ? d : e))");
	printed("a / b // c % d @ e", "((((a / b) // c) % d) @ e)");
	printed("~a[0] ** 2", "(~ (a[0] ** 2))");
	printed("a.T[1:, ..., None, ::2].T", "a.T[1:, ..., None, ::2].T");
	printed("f(a, axis=(0, -1), keepdims=true,)", "f(a, axis=(0, (- 1)), keepdims=true)");
	printed("x = 1; _y = x\nz", "x = 1\n_y = x\nz");
	printed("def f(a, b) = a + b", "def f(a, b) = (a + b)");
	printed("a && !b || c", "((a and (not b)) or c)");
	printed("1.5 + 1e100 + 0x10 + inf + nan", "((((1.5 + 1e+100) + 16) + inf) + nan)");
	printed("2.0 * a", "(2.0 * a)");
}

static const char *listed(const char *const *list, int n)
{
	static char text[400];

	text[0] = 0;
	for (int i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
			list[i][0] ? list[i] : "-");
	return text;
}

static void names(const char *text, const char *inputs, const char *outputs)
{
	struct formula *f = parsed(text);

	same_text(listed(f->input, f->ninput), inputs, text);
	same_text(listed(f->output, f->noutput), outputs, text);
	formula_free(f);
}

static void test_names(void)
{
	names("y = b * a + b", "b a", "y");
	names("x = x + 1; x", "x", "x -");
	names("_t = a; y = _t; y = y + _u", "a _u", "y");
	names("def f(x) = x + k\ny = f(v)", "k v", "y");
	names("y = sum(sum, axis=k, dtype=f32) + shift(s, 1, edge=wrap)", "sum k s", "y");
	names("a[i:j, k]; 1", "a i j k", "- -");
}

static void refused(const char *text, gx_status status, unsigned begin, const char *message)
{
	struct formula *f = parsed(text);

	check(f->diag.status == status && f->diag.span.begin == begin && strstr(f->diag.message, message),
		"[%.40s]: found status %d at %u: %s", text, (int)f->diag.status, f->diag.span.begin, f->diag.message);
	formula_free(f);
}

static void test_refusals(void)
{
	char deep[2000];

	refused("y = x +", GX_SYNTAX, 6, "unexpected end of the program");
	refused("y = (x", GX_SYNTAX, 4, "never closed");
	refused("", GX_SYNTAX, 0, "empty");
	refused("a b", GX_SYNTAX, 2, "unexpected `b`");
	refused("x = = 1", GX_SYNTAX, 4, "unexpected `=`");
	refused("f(a b)", GX_SYNTAX, 4, "unexpected `b`");
	refused("a[]", GX_SYNTAX, 2, "unexpected `]`");
	refused("1 + * 2", GX_SYNTAX, 4, "unexpected `*`");
	refused("def f(1) = 2", GX_SYNTAX, 6, "unexpected `1`");
	refused("def f(a) a", GX_SYNTAX, 9, "unexpected `a`");
	refused("(a, b) = c", GX_SYNTAX, 2, "unexpected `,`");
	memset(deep, '(', 1000);
	strcpy(deep + 1000, "x");
	refused(deep, GX_LIMIT, 256, "nested deeper");
	for (int i = 0; i < 1000; i++)
		deep[i] = "-"[0];
	refused(deep, GX_LIMIT, 256, "nested deeper");
}

/* ---- print and parse again ---- */

static int same_tree(const struct ast *a, const struct ast *b)
{
	int same = 1;

	if (!a || !b)
		return a == b;
	same &= a->kind == b->kind && a->infix == b->infix && a->nkids == b->nkids && a->integer == b->integer;
	same &= a->real == b->real || (isnan(a->real) && isnan(b->real));
	same &= !a->name == !b->name && (!a->name || !strcmp(a->name, b->name));
	a = a->kid;
	b = b->kid;
	for (; same && a; a = a->next, b = b->next)
		same = same_tree(a, b);
	return same;
}

static void round_trip(const char *path)
{
	struct lang_case c;
	char why[1000];
	struct formula *f, *again;
	struct buf b = {0};

	if (!check(case_read(path, &c, why, sizeof why) == 0, "%s: %s", path, why))
		return;
	f = parsed(c.program);
	if (f->diag.status == GX_OK) {
		ast_print(f->program, &b);
		again = parsed(b.text);
		check(again->diag.status == GX_OK && same_tree(f->program, again->program),
			"%s: printed and parsed again it is\n%s", path, b.text);
		formula_free(again);
	}
	buf_free(&b);
	formula_free(f);
	case_free(&c);
}

/* ---- IR ---- */

struct broken {
	struct arena arena;
	struct diag diag;
	struct ir *ir;
	struct shape shape;
	uint32_t load, sum, one;
};

/* x + 1 of a float32 array of 2 x 3. */
static void build(struct broken *b)
{
	int64_t stride[MAX_RANK] = {3, 1};

	memset(b, 0, sizeof *b);
	b->arena.fail = &no_memory;
	b->ir = ir_new(&b->arena, &b->diag);
	b->shape = (struct shape){2, {2, 3}};
	b->load = ir_input(b->ir, 0, "x", GX_FLOAT32, &b->shape, stride);
	b->one = ir_float(b->ir, GX_FLOAT32, 1, 0);
	b->sum = ir_op(b->ir, OP_ADD, b->load, b->one, NO_VALUE);
}

static void verdict(struct broken *b, const char *want)
{
	int rc = ir_verify(b->ir);

	if (want)
		check(rc == -1 && b->diag.status == GX_INTERNAL && strstr(b->diag.message, want),
			"wanted `%s`, found `%s`", want, b->diag.message);
	else
		check(rc == 0, "a sound IR is refused: %s", b->diag.message);
	arena_free(&b->arena);
}

static void test_verify(void)
{
	struct broken b;

	build(&b);
	verdict(&b, NULL);
	build(&b);
	b.ir->ins[b.sum].arg[0] = b.sum;
	verdict(&b, "operand comes after its use");
	build(&b);
	b.ir->ins[b.one].type = GX_FLOAT64;
	verdict(&b, "operand type does not fit the row");
	build(&b);
	b.ir->ins[b.sum].type = GX_BOOL;
	verdict(&b, "result type does not fit the row");
	build(&b);
	b.ir->ins[b.sum].nargs = 1;
	verdict(&b, "not an operation");
	build(&b);
	b.ir->access[b.ir->ins[b.load].access].off = 1;
	verdict(&b, "load is out of bounds");
	build(&b);
	b.ir->access[b.ir->ins[b.load].access].off = -1;
	verdict(&b, "load is out of bounds");
	build(&b);
	b.ir->ins[b.load].type = GX_INT32;
	verdict(&b, "load has the wrong type");
	build(&b);
	b.ir->ins[b.one].shape = b.ir->ins[b.load].shape;
	verdict(&b, "constant with a domain");
	build(&b);
	b.ir->source[b.ir->ins[b.load].source].shape.n[0] = 0;
	verdict(&b, "load from an empty array");
}

static void test_consing(void)
{
	struct broken b;
	size_t n;

	build(&b);
	n = b.ir->nins;
	check(ir_op(b.ir, OP_ADD, b.load, b.one, NO_VALUE) == b.sum && b.ir->nins == n,
		"equal instructions are one");
	check(ir_op(b.ir, OP_ADD, b.one, b.load, NO_VALUE) == b.sum, "x + 1 is 1 + x");
	check(ir_op(b.ir, OP_SUB, b.one, b.load, NO_VALUE) != ir_op(b.ir, OP_SUB, b.load, b.one, NO_VALUE),
		"x - 1 is not 1 - x");
	check(ir_cast(b.ir, GX_FLOAT32, b.sum) == b.sum, "a cast to the same type is nothing");
	check(ir_store(b.ir, b.sum, &b.shape) == ir_store(b.ir, b.sum, &b.shape) && b.ir->ndef == 1,
		"one temporary for one value");
	n = b.ir->nins;
	check(ir_is_const(b.ir, ir_op(b.ir, OP_ADD, b.one, b.one, NO_VALUE)) && b.ir->nins == n + 1,
		"constants fold");
	check(!ir_is_const(b.ir, ir_op(b.ir, OP_MUL, b.load, ir_float(b.ir, GX_FLOAT32, 0, 0), NO_VALUE)),
		"x * 0 stays");
	verdict(&b, NULL);
}

static void test_reshape_strides(void)
{
	struct shape from = {2, {2, 6}}, to = {3, {2, 2, 3}}, flat = {1, {12}};
	int64_t c[] = {6, 1}, f[] = {1, 2}, out[MAX_RANK];

	check(ir_affine_reshape(&from, c, &to, out) && out[0] == 6 && out[1] == 3 && out[2] == 1,
		"C order splits");
	check(ir_affine_reshape(&from, c, &flat, out) && out[0] == 1, "C order merges");
	check(ir_affine_reshape(&from, f, &to, out) && out[0] == 1 && out[1] == 6 && out[2] == 2,
		"Fortran order splits");
	check(!ir_affine_reshape(&from, f, &flat, out), "Fortran order does not merge");
}

int main(int argc, char **argv)
{
	if (setjmp(no_memory)) {
		check(0, "memory ran out");
		return finish();
	}
	test_tokens();
	test_values();
	test_trees();
	test_names();
	test_refusals();
	test_verify();
	test_consing();
	test_reshape_strides();
	for (int i = 1; i < argc; i++)
		round_trip(argv[i]);
	return finish();
}
