/* ast.h -- what was written, as a tree: infix operators are calls of the operation they name ("a + b" is add(a, b)).
 * Nodes live in the formula's arena. Names are slices copied to it. */
#ifndef PARSER_AST_H
#define PARSER_AST_H

#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

enum ast_kind {
	AST_INT, AST_FLOAT, AST_BOOL, AST_NAME,
	AST_CALL,       /* name(kids); infix: written as an operator */
	AST_CHAIN,      /* first kid, then AST_REL kids: a < b < c */
	AST_REL,        /* name is the comparison, the kid its right operand */
	AST_COND,       /* kids: condition, then, else */
	AST_INDEX,      /* kids: base, then the items */
	AST_SLICE,      /* kids: low, high, step; AST_NONE where left out */
	AST_NONE, AST_ELLIPSIS,
	AST_ATTR,       /* kid.name */
	AST_TUPLE,      /* (a, b): only as the value of an argument */
	AST_KEYWORD,    /* name=kid in a call */
	AST_ASSIGN,     /* name = kid */
	AST_DEF,        /* def name(params) = body: kids are AST_NAME parameters, the last kid the body */
	AST_PROGRAM     /* kids: statements */
};

struct ast {
	uint8_t kind, infix, paren;
	int depth;                /* levels of recursion below: a left operand of an infix operator counts as its own level */
	struct span span;         /* all of it */
	struct span at;           /* the operator or name */
	const char *name;
	uint64_t integer;
	double real;
	struct ast *kid, *last, *next;
	int nkids;
};

enum { MAX_DEPTH = 256 };     /* brackets, calls and right operands inside each other */

struct formula {
	struct arena *arena;      /* where nodes go: own, or the program's while it is checked */
	struct arena own;
	jmp_buf no_memory;        /* where own goes when memory runs out */
	struct text text;
	struct diag diag;         /* of the parse; keeps its warnings */
	struct ast *program;
	const char **input; int ninput;
	const char **output; int noutput;
};

struct ast *ast_new(struct arena *a, enum ast_kind kind, struct span span);
void ast_add(struct ast *parent, struct ast *kid);     /* updates depth and span */
/* The program in its own language, one statement a line, brackets around every operator: parsing it gives the same tree. */
void ast_print(const struct ast *program, struct buf *b);
const char *ast_operator(const char *op);              /* "+" for "add", or the name itself */

#endif
