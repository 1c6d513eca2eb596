/* ast.c -- tree construction and printing. Chains of left operands can be 100,000 long (a + b + c ...), so they are walked
 * by loops; everything else is at most MAX_DEPTH deep and is recursed into. */
#include "parser/ast.h"

#include <string.h>

#include "base/fault.h"
#include "base/number.h"

static const struct { const char *op, *sign; } signs[] = {
	{"add", "+"}, {"subtract", "-"}, {"multiply", "*"}, {"divide", "/"}, {"floor_divide", "//"}, {"remainder", "%"},
	{"power", "**"}, {"matmul", "@"}, {"bitwise_and", "&"}, {"bitwise_or", "|"}, {"bitwise_xor", "^"}, {"left_shift", "<<"},
	{"right_shift", ">>"}, {"logical_and", "and"}, {"logical_or", "or"}, {"logical_not", "not"}, {"less", "<"},
	{"less_equal", "<="}, {"greater", ">"}, {"greater_equal", ">="}, {"equal", "=="}, {"not_equal", "!="},
	{"negative", "-"}, {"positive", "+"}, {"invert", "~"},
};

const char *ast_operator(const char *op)
{
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (strcmp(signs[i].op, op) == 0)
			return signs[i].sign;
	return op;
}

struct ast *ast_new(struct arena *a, enum ast_kind kind, struct span span)
{
	struct ast *n = arena_new(a, struct ast);

	n->kind = (uint8_t)kind;
	n->span = n->at = span;
	return n;
}

void ast_add(struct ast *parent, struct ast *kid)
{
	int spine = parent->infix && !parent->kid;
	int depth = kid->depth + !spine;

	if (parent->last)
		parent->last->next = kid;
	else
		parent->kid = kid;
	parent->last = kid;
	parent->nkids++;
	if (depth > parent->depth)
		parent->depth = depth;
	if (kid->span.end == 0)
		return;
	if (kid->span.begin < parent->span.begin)
		parent->span.begin = kid->span.begin;
	if (kid->span.end > parent->span.end)
		parent->span.end = kid->span.end;
}

static void print(const struct ast *n, struct buf *b);

static void print_list(const struct ast *n, struct buf *b)
{
	for (; n; n = n->next) {
		print(n, b);
		if (n->next)
			buf_str(b, ", ");
	}
}

static void print_infix(const struct ast *n, struct buf *b)
{
	const struct ast **chain = NULL, *left = n;
	size_t count = 0;

	if (n->nkids == 1) {
		buf_fmt(b, "(%s ", ast_operator(n->name));
		print(n->kid, b);
		buf_char(b, ')');
		return;
	}
	for (; left->infix && left->nkids == 2; left = left->kid)
		count++;
	chain = gx_malloc(count * sizeof *chain);
	if (!chain) {
		b->failed = 1;
		return;
	}
	left = n;
	for (size_t i = count; i > 0; i--, left = left->kid) {
		chain[i - 1] = left;
		buf_char(b, '(');
	}
	print(left, b);
	for (size_t i = 0; i < count; i++) {
		buf_fmt(b, " %s ", ast_operator(chain[i]->name));
		print(chain[i]->kid->next, b);
		buf_char(b, ')');
	}
	free(chain);
}

static void print_slice(const struct ast *n, struct buf *b)
{
	const struct ast *lo = n->kid, *hi = lo->next, *step = hi->next;

	if (lo->kind != AST_NONE)
		print(lo, b);
	buf_char(b, ':');
	if (hi->kind != AST_NONE)
		print(hi, b);
	if (step->kind != AST_NONE) {
		buf_char(b, ':');
		print(step, b);
	}
}

static void print_chain(const struct ast *n, struct buf *b)
{
	buf_char(b, '(');
	print(n->kid, b);
	for (const struct ast *r = n->kid->next; r; r = r->next) {
		buf_fmt(b, " %s ", ast_operator(r->name));
		print(r->kid, b);
	}
	buf_char(b, ')');
}

static void print_choice(const struct ast *n, struct buf *b)
{
	buf_char(b, '(');
	print(n->kid, b);
	buf_str(b, " ? ");
	print(n->kid->next, b);
	buf_str(b, " : ");
	print(n->last, b);
	buf_char(b, ')');
}

static void print_def(const struct ast *n, struct buf *b)
{
	buf_fmt(b, "def %s(", n->name);
	for (const struct ast *p = n->kid; p != n->last; p = p->next)
		buf_fmt(b, "%s%s", p->name, p->next == n->last ? "" : ", ");
	buf_str(b, ") = ");
	print(n->last, b);
}

static void print_leaf(const struct ast *n, struct buf *b)
{
	char number[40];

	if (n->kind == AST_INT)
		buf_fmt(b, "%llu", (unsigned long long)n->integer);
	else if (n->kind == AST_BOOL)
		buf_str(b, n->integer ? "true" : "false");
	else if (n->kind == AST_FLOAT) {
		number_text(n->real, number);
		buf_fmt(b, "%s%s", number, strpbrk(number, ".einf") ? "" : ".0");
	} else
		buf_str(b, n->kind == AST_NAME ? n->name : n->kind == AST_NONE ? "None" : "...");
}

/* `before`, the list from `kid` on, `after`. */
static void print_around(const char *before, const struct ast *kid, const char *after, struct buf *b)
{
	buf_str(b, before);
	print_list(kid, b);
	buf_str(b, after);
}

static void print(const struct ast *n, struct buf *b)
{
	switch ((enum ast_kind)n->kind) {
	case AST_INT:
	case AST_FLOAT:
	case AST_BOOL:
	case AST_NAME:
	case AST_NONE:
	case AST_ELLIPSIS:
		print_leaf(n, b);
		break;
	case AST_CALL:
		if (n->infix) {
			print_infix(n, b);
			break;
		}
		buf_str(b, n->name);
		print_around("(", n->kid, ")", b);
		break;
	case AST_CHAIN:
		print_chain(n, b);
		break;
	case AST_REL:
		break;
	case AST_COND:
		print_choice(n, b);
		break;
	case AST_INDEX:
		print(n->kid, b);
		print_around("[", n->kid->next, "]", b);
		break;
	case AST_SLICE:
		print_slice(n, b);
		break;
	case AST_ATTR:
		print(n->kid, b);
		buf_fmt(b, ".%s", n->name);
		break;
	case AST_TUPLE:
		print_around("(", n->kid, n->nkids == 1 ? ",)" : ")", b);
		break;
	case AST_KEYWORD:
	case AST_ASSIGN:
		buf_fmt(b, n->kind == AST_KEYWORD ? "%s=" : "%s = ", n->name);
		print(n->kid, b);
		break;
	case AST_DEF:
		print_def(n, b);
		break;
	case AST_PROGRAM:
		for (const struct ast *s = n->kid; s; s = s->next) {
			print(s, b);
			buf_char(b, '\n');
		}
		break;
	}
}

void ast_print(const struct ast *program, struct buf *b)
{
	print(program, b);
}
