/* parse.c -- feeds tokens to lemon's parser and builds the tree. Newlines count only outside brackets; `;` and newlines
 * become SEP. The depth of brackets is counted here; only operators can fill the parser's own stack (grammar.y). */
#include "parser/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/grammar.h"

/* From lemon. */
void grammarInit(void *parser);
void grammarFinalize(void *parser);
void grammar(void *parser, int kind, struct token t, struct parse *p);
size_t grammar_size(void);

static struct span join(struct span a, struct span b)
{
	return (struct span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

static char *slice(struct parse *p, struct span s)
{
	return arena_text(p->f->arena, p->f->text.text + s.begin, s.end - s.begin);
}

static void too_deep(struct parse *p, struct span at)
{
	diag_error(&p->f->diag, GX_LIMIT, at, "nested deeper than %d levels", MAX_DEPTH);
	diag_hint(&p->f->diag, "give parts names of their own, in statements before this one");
}

void parse_too_deep(struct parse *p, struct token at)
{
	too_deep(p, at.span);
}

/* What grows to the right, x[0][0]: too deep as soon as it is read. */
static struct ast *shallow(struct parse *p, struct ast *n)
{
	if (n->depth > MAX_DEPTH)
		too_deep(p, n->at);
	return n;
}

/* All else nests the other way round, --x: the first level that is one too many, as they are read, is on the deepest path down. */
static void too_deep_statement(struct parse *p, const struct ast *s)
{
	const struct ast *at = s;

	while (at->depth > s->depth - MAX_DEPTH) {
		const struct ast *deepest = at->kid;

		for (const struct ast *k = at->kid; k; k = k->next)
			if (k->depth > deepest->depth)
				deepest = k;
		at = deepest;
	}
	too_deep(p, at->at);
}

/* "np.mean(", "x.mean(": the word before the bracket, when a point stands before it. */
static struct span method(const struct parse *p, struct span bracket)
{
	const char *text = p->f->text.text;
	struct span at = {bracket.begin, bracket.begin};

	while (at.begin && (isalnum((unsigned char)text[at.begin - 1]) || text[at.begin - 1] == '_'))
		at.begin--;
	if (!at.begin || text[at.begin - 1] != '.' || at.end - at.begin > 40)
		at.end = at.begin;
	return at;
}

static void hint_bracket(struct parse *p, struct token t)
{
	struct span at = method(p, t.span);
	int n = (int)(at.end - at.begin);
	const char *name = p->f->text.text + at.begin;

	if (t.kind == TK_LB)
		diag_hint(&p->f->diag, "there are no lists: a small array is an input, for the command x=f32:[1,2,3]");
	else if (n)
		diag_hint(&p->f->diag, "functions stand alone: %.*s(x), not x.%.*s() or np.%.*s(x)", n, name, n, name, n, name);
	else
		diag_hint(&p->f->diag, "multiplication is written with `*`");
}

void parse_unexpected(struct parse *p, struct token t)
{
	struct diag *d = &p->f->diag;
	struct span at = t.span;

	if (t.kind == TK_SEP || t.kind == LEX_END) {
		if (p->brackets) {
			diag_error(d, GX_SYNTAX, p->open[p->brackets - 1], "this bracket is never closed");
			return;
		}
		if (at.end <= at.begin) {
			at.begin = at.begin ? at.begin - 1 : 0;
			at.end = at.begin + 1;
		}
		diag_error(d, GX_SYNTAX, at, "unexpected end of the %s", t.kind == TK_SEP ? "statement" : "program");
		return;
	}
	if (at.end - at.begin > 40)
		at.end = at.begin + 40;
	diag_error(d, GX_SYNTAX, t.span, "unexpected `%.*s`", (int)(at.end - at.begin), p->f->text.text + at.begin);
	if (t.kind == TK_ASSIGN)
		diag_hint(d, "`=` gives a name at the start of a statement; `==` compares");
	else if (t.kind == TK_NONE)
		diag_hint(d, "None stands for a new axis inside [ ] only");
	else if (t.kind == TK_LP || t.kind == TK_LB)
		hint_bracket(p, t);
	else if (t.kind == TK_COMMA && !p->brackets)
		diag_hint(d, "statements are separated by `;`");
}

void parse_statement(struct parse *p, struct ast *s)
{
	if (s->depth > MAX_DEPTH)
		too_deep_statement(p, s);
	ast_add(p->f->program, s);
	p->f->program->depth = 0;
}

struct ast *parse_name(struct parse *p, struct token t)
{
	struct ast *n = ast_new(p->f->arena, AST_NAME, t.span);

	n->name = slice(p, t.span);
	return n;
}

static const double PI = 3.14159265358979323846;

struct ast *parse_number(struct parse *p, struct token t)
{
	int logical = t.kind == TK_TRUE || t.kind == TK_FALSE;
	struct ast *n = ast_new(p->f->arena, t.kind == TK_INT ? AST_INT : logical ? AST_BOOL : AST_FLOAT, t.span);

	n->integer = logical ? t.kind == TK_TRUE : t.integer;
	n->real = t.real;
	if (t.kind == TK_INF)
		n->real = INFINITY;
	else if (t.kind == TK_NAN)
		n->real = NAN;
	else if (t.kind == TK_PI)
		n->real = PI;
	else if (t.kind == TK_IMAGINARY)
		diag_error(&p->f->diag, GX_UNSUPPORTED, t.span, "imaginary literals such as `%s` are not supported yet", slice(p, t.span));
	return n;
}

struct ast *parse_named(struct parse *p, enum ast_kind kind, struct token name, struct ast *kid)
{
	struct ast *n = ast_new(p->f->arena, kind, name.span);

	n->name = slice(p, name.span);
	ast_add(n, kid);
	return shallow(p, n);
}

struct ast *parse_def(struct parse *p, struct token name, struct ast *params, struct ast *body)
{
	params->name = slice(p, name.span);
	params->at = name.span;
	params->span = join(name.span, body->span);
	for (struct ast *a = params->kid; a; a = a->next)
		for (struct ast *b = a->next; b; b = b->next)
			if (strcmp(a->name, b->name) == 0)
				diag_error(&p->f->diag, GX_SYNTAX, b->span, "parameter `%s` is named twice", b->name);
	ast_add(params, body);
	return params;
}

struct ast *parse_infix(struct parse *p, const char *op, struct token at, struct ast *a, struct ast *b)
{
	struct ast *n = ast_new(p->f->arena, AST_CALL, at.span);

	n->name = op;
	n->infix = 1;
	ast_add(n, a);
	ast_add(n, b);
	return n;
}

struct ast *parse_prefix(struct parse *p, const char *op, struct token at, struct ast *a)
{
	struct ast *n = ast_new(p->f->arena, AST_CALL, at.span);

	n->name = op;
	ast_add(n, a);
	n->infix = 1;
	return n;
}

static int is_number(const struct ast *n)
{
	if (n->kind == AST_CALL && n->infix && n->nkids == 1)
		n = n->kid;
	return n->kind == AST_INT || n->kind == AST_FLOAT || n->kind == AST_BOOL;
}

/* `a > 5 & b > 5` is a > (5 & b) > 5, as in Python; few people mean it. */
static void warn_bitwise(struct parse *p, const struct ast *operand)
{
	const char *sign = operand->name;

	if (operand->kind != AST_CALL || !operand->infix || operand->paren || operand->nkids != 2)
		return;
	if (strcmp(sign, "bitwise_and") != 0 && strcmp(sign, "bitwise_or") != 0)
		return;
	if (!is_number(operand->kid) && !is_number(operand->last))
		return;
	sign = ast_operator(sign);
	diag_warn(&p->f->diag, operand->at, sign[0] == '&' ? "`and` combines truth values" : "`or` combines truth values",
		"`%s` binds tighter than the comparison beside it", sign);
}

struct ast *parse_compare(struct parse *p, const char *op, struct token at, struct ast *a, struct ast *b)
{
	struct ast *n = a, *rel = ast_new(p->f->arena, AST_REL, at.span);

	rel->name = op;
	ast_add(rel, b);
	if (a->kind != AST_CHAIN || a->paren) {
		n = ast_new(p->f->arena, AST_CHAIN, at.span);
		ast_add(n, a);
		warn_bitwise(p, a);
	}
	warn_bitwise(p, b);
	ast_add(n, rel);
	return n;
}

struct ast *parse_cond(struct parse *p, struct ast *c, struct ast *a, struct ast *b)
{
	struct ast *n = ast_new(p->f->arena, AST_COND, c->span);

	ast_add(n, c);
	ast_add(n, a);
	ast_add(n, b);
	return n;
}

struct ast *parse_index(struct parse *p, struct ast *base, struct ast *items, struct token end)
{
	struct ast *n = ast_new(p->f->arena, AST_INDEX, base->span);

	ast_add(n, base);
	for (struct ast *i = items->kid, *next; i; i = next) {
		next = i->next;
		i->next = NULL;
		ast_add(n, i);
	}
	n->span = join(n->span, end.span);
	n->at = n->span;
	return shallow(p, n);
}

struct ast *parse_slice(struct parse *p, struct token at, struct ast *lo, struct ast *hi, struct ast *step)
{
	struct ast *n = ast_new(p->f->arena, AST_SLICE, at.span);

	ast_add(n, lo);
	ast_add(n, hi);
	ast_add(n, step ? step : ast_new(p->f->arena, AST_NONE, (struct span){0, 0}));
	return n;
}

struct ast *parse_call(struct parse *p, struct token name, struct ast *args, struct token end)
{
	args->name = slice(p, name.span);
	args->at = name.span;
	args->span = join(name.span, end.span);
	return args;
}

struct ast *parse_paren(struct ast *a, struct token begin, struct token end)
{
	a->paren = 1;
	a->span = join(begin.span, end.span);
	return a;
}

struct ast *parse_tuple(struct parse *p, struct ast *first, struct ast *rest, struct token begin, struct token end)
{
	struct ast *n = ast_new(p->f->arena, AST_TUPLE, join(begin.span, end.span));

	if (first)
		ast_add(n, first);
	for (struct ast *i = rest ? rest->kid : NULL, *next; i; i = next) {
		next = i->next;
		i->next = NULL;
		ast_add(n, i);
	}
	return n;
}

static const struct { unsigned c; const char *hint; } lookalikes[] = {
	{0x3c0, "pi"}, {0x2212, "-"}, {0x2013, "-"}, {0x2014, "-"}, {0xd7, "*"}, {0xb7, "*"}, {0x22c5, "*"}, {0xf7, "/"}, {0xb2, "**2"},
	{0xb3, "**3"}, {0x2264, "<="}, {0x2265, ">="}, {0x2260, "!="}, {0x221e, "inf"}, {0x221a, "sqrt( )"}, {0xa0, "a plain space"},
	{0x2018, "no quotes"}, {0x2019, "no quotes"}, {0x201c, "no quotes"}, {0x201d, "no quotes"}, {'$', "names are written without $"},
	{'"', "names are written without quotes"}, {'\'', "names are written without quotes"}, {'{', "( or ["}, {'}', ") or ]"},
};

static void bad_character(struct parse *p, struct token t)
{
	int bytes;
	unsigned c = lex_code_point(&p->lex, t.span.begin, &bytes);

	if (c < 32 || c == 127 || (bytes == 1 && c >= 0x80))
		diag_error(&p->f->diag, GX_SYNTAX, t.span, "unexpected character U+%04X", c);
	else
		diag_error(&p->f->diag, GX_SYNTAX, t.span, "unexpected character `%.*s` (U+%04X)%s", bytes, p->f->text.text + t.span.begin, c,
			c < 128 ? "" : "; names are ASCII");
	for (size_t i = 0; i < sizeof lookalikes / sizeof *lookalikes; i++)
		if (lookalikes[i].c == c)
			diag_hint(&p->f->diag, "%s", lookalikes[i].hint);
}

/* Errors of the lexer, and the count of brackets. */
static void inspect(struct parse *p, struct token t)
{
	struct diag *d = &p->f->diag;

	switch (t.kind) {
	case LEX_BAD_CHAR:
		bad_character(p, t);
		break;
	case LEX_BAD_NUMBER:
		diag_error(d, GX_SYNTAX, t.span, "malformed number");
		break;
	case LEX_BIG_NUMBER:
		diag_error(d, GX_SYNTAX, t.span, "integer literal does not fit 64 bits");
		diag_hint(d, "write it as a float: 1e20");
		break;
	case TK_LP:
	case TK_LB:
		if (p->brackets == MAX_DEPTH)
			too_deep(p, t.span);
		else
			p->open[p->brackets++] = t.span;
		break;
	case TK_RP:
	case TK_RB:
		p->brackets -= p->brackets > 0;
		break;
	default:
		break;
	}
}

static void run(struct parse *p)
{
	char space[96 * 1024];
	void *parser = space;

	if (grammar_size() > sizeof space)
		abort();
	grammarInit(parser);
	while (p->f->diag.status == GX_OK) {
		struct token t = lex_next(&p->lex);

		p->token = t;
		inspect(p, t);
		if (p->f->diag.status != GX_OK || (t.kind == TK_NEWLINE && p->brackets))
			continue;
		if (t.kind == TK_NEWLINE || t.kind == TK_SEMI)
			t.kind = TK_SEP;
		grammar(parser, t.kind, t, p);
		if (t.kind == LEX_END)
			break;
	}
	grammarFinalize(parser);
}

static struct ast *parse_text(struct formula *f, const char *text, size_t len)
{
	struct parse *p = arena_new(f->arena, struct parse);

	p->f = f;
	p->lex = (struct lexer){text, text, text + len};
	f->program = ast_new(f->arena, AST_PROGRAM, (struct span){0, (unsigned)len});
	run(p);
	return f->program;
}

struct ast *parse_builtin(struct formula *f, const char *text)
{
	struct text keep = f->text;
	struct ast *program = f->program, *parsed;

	f->text.text = text;   /* slices are taken from it; places in it are never shown */
	f->text.len = strlen(text);
	parsed = parse_text(f, text, f->text.len);
	f->text = keep;
	f->program = program;
	return parsed->kid;
}

/* ---- which names are inputs and outputs ---- */

struct names {
	struct formula *f;
	const char **assigned; size_t nassigned, assigned_cap;
	const char **input; size_t ninput, input_cap;
	const char **output; size_t noutput, output_cap;
	const struct ast *def;                 /* the def being walked: its parameters hide names */
};

static int listed(const char **list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return 1;
	return 0;
}

static int hidden(const struct names *s, const char *name)
{
	if (!s->def)
		return 0;
	for (const struct ast *p = s->def->kid; p != s->def->last; p = p->next)
		if (strcmp(p->name, name) == 0)
			return 1;
	return 0;
}

static void read_name(struct names *s, const char *name)
{
	if (hidden(s, name) || listed(s->assigned, s->nassigned, name) || listed(s->input, s->ninput, name))
		return;
	arena_push(s->f->arena, s->input, s->ninput, s->input_cap, name);
}

/* Operands in the order they were written, chains of left operands without recursion. */
static void walk_expr(struct names *s, const struct ast *n);

static void walk_spine(struct names *s, const struct ast *n)
{
	const struct ast **chain = NULL;
	size_t len = 0, cap = 0;

	for (; n->infix && n->nkids == 2; n = n->kid)
		arena_push(s->f->arena, chain, len, cap, n);
	walk_expr(s, n);
	while (len > 0)
		walk_expr(s, chain[--len]->last);
}

static void walk_expr(struct names *s, const struct ast *n)
{
	if (n->infix && n->nkids == 2) {
		walk_spine(s, n);
		return;
	}
	if (n->kind == AST_NAME)
		read_name(s, n->name);
	if (n->kind == AST_KEYWORD && n->kid->kind == AST_NAME && strcmp(n->name, "edge") == 0)
		return;   /* edge=wrap: a word, not an array */
	if (n->kind == AST_KEYWORD && n->kid->kind == AST_NAME && strcmp(n->name, "dtype") == 0)
		return;
	for (const struct ast *k = n->kid; k; k = k->next)
		walk_expr(s, k);
}

static void find_names(struct formula *f)
{
	struct names s = {.f = f};

	for (const struct ast *st = f->program->kid; st; st = st->next) {
		if (st->kind == AST_DEF) {
			s.def = st;
			walk_expr(&s, st->last);
			s.def = NULL;
			continue;
		}
		walk_expr(&s, st->kind == AST_ASSIGN ? st->kid : st);
		if (st->kind != AST_ASSIGN)
			arena_push(f->arena, s.output, s.noutput, s.output_cap, "");
		else if (st->name[0] != '_' && !listed(s.output, s.noutput, st->name))
			arena_push(f->arena, s.output, s.noutput, s.output_cap, st->name);
		if (st->kind == AST_ASSIGN && !listed(s.assigned, s.nassigned, st->name))
			arena_push(f->arena, s.assigned, s.nassigned, s.assigned_cap, st->name);
	}
	f->input = s.input;
	f->ninput = (int)s.ninput;
	f->output = s.output;
	f->noutput = (int)s.noutput;
}

gx_status parse_program(struct formula *f)
{
	if (f->text.len > UINT32_MAX / 2)
		return diag_error(&f->diag, GX_LIMIT, (struct span){0, 0}, "the program is longer than 2 GiB");
	parse_text(f, f->text.text, f->text.len);
	if (f->diag.status == GX_OK && !f->program->kid)
		diag_error(&f->diag, GX_SYNTAX, (struct span){0, 1}, "the program is empty");
	if (f->diag.status == GX_OK)
		find_names(f);
	return f->diag.status;
}
