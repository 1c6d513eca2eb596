/* parse.h -- the parser: text to struct formula, and the actions that the grammar calls. */
#ifndef PARSER_PARSE_H
#define PARSER_PARSE_H

#include <stdint.h>

#include "lexer/lex.h"
#include "parser/ast.h"

struct parse {
	struct formula *f;
	struct lexer lex;
	struct token token;     /* the one being fed, for messages */
	int brackets;           /* how many are open */
	struct span open[MAX_DEPTH + 1];
};

/* Parse f->text into f->program, f->input and f->output. Returns f->diag.status. Memory comes from f->arena, whose `fail`
 * the caller has set. */
gx_status parse_program(struct formula *f);
/* Parse one def of the built-in library (functions.def); NULL only for a bug of ours. The text must live as long as f->arena. */
struct ast *parse_builtin(struct formula *f, const char *text);

/* Actions. */
void parse_unexpected(struct parse *p, struct token t);
void parse_too_deep(struct parse *p, struct token at);
void parse_statement(struct parse *p, struct ast *s);
struct ast *parse_name(struct parse *p, struct token t);
struct ast *parse_number(struct parse *p, struct token t);
struct ast *parse_named(struct parse *p, enum ast_kind kind, struct token name, struct ast *kid);
struct ast *parse_def(struct parse *p, struct token name, struct ast *params, struct ast *body);
struct ast *parse_infix(struct parse *p, const char *op, struct token at, struct ast *a, struct ast *b);
struct ast *parse_prefix(struct parse *p, const char *op, struct token at, struct ast *a);
struct ast *parse_compare(struct parse *p, const char *op, struct token at, struct ast *a, struct ast *b);
struct ast *parse_cond(struct parse *p, struct ast *c, struct ast *a, struct ast *b);
struct ast *parse_index(struct parse *p, struct ast *base, struct ast *items, struct token end);
struct ast *parse_slice(struct parse *p, struct token at, struct ast *lo, struct ast *hi, struct ast *step);
struct ast *parse_call(struct parse *p, struct token name, struct ast *args, struct token end);
struct ast *parse_paren(struct ast *a, struct token begin, struct token end);
struct ast *parse_tuple(struct parse *p, struct ast *first, struct ast *rest, struct token begin, struct token end);

#endif
