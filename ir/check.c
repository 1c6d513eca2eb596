/* check.c -- AST to typed IR: walks statements and expressions and resolves names; calls are in call.c, operators in elementwise.c.
 * Errors poison a value, and poison silences what depends on it. */
#include "ir/check.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "parser/parse.h"

struct variable {
	const char *name;
	struct val val;
	int statement;   /* AST_ASSIGN that set it last; span for output titles */
	struct span span;
};

/* Names to values: open addressing by hash. A def's scope has few names, the globals may have thousands. */
struct scope {
	struct scope *outer;
	struct variable *slot;
	size_t size, used;
};

static struct scope *scope_new(struct check_state *c, struct scope *outer, size_t size)
{
	struct scope *s = arena_new(c->arena, struct scope);

	s->outer = outer;
	s->size = size;
	s->slot = arena_array(c->arena, struct variable, size);
	return s;
}

static struct variable *scope_slot(struct scope *s, const char *name)
{
	size_t at = hash_bytes(name, strlen(name), 7) & (s->size - 1);

	while (s->slot[at].name && strcmp(s->slot[at].name, name) != 0)
		at = (at + 1) & (s->size - 1);
	return &s->slot[at];
}

void scope_set(struct check_state *c, struct scope *s, const char *name, struct val v, struct span span)
{
	struct variable *x;

	if (s->used * 2 >= s->size) {
		struct scope *bigger = scope_new(c, s->outer, s->size * 2);

		for (size_t i = 0; i < s->size; i++)
			if (s->slot[i].name)
				*scope_slot(bigger, s->slot[i].name) = s->slot[i];
		s->slot = bigger->slot;
		s->size = bigger->size;
	}
	x = scope_slot(s, name);
	s->used += !x->name;
	x->name = name;
	x->val = v;
	x->span = span;
}

/* The scope of a def's body: its parameters, then the globals, never the caller's names. */
struct scope *scope_inner(struct check_state *c)
{
	return scope_new(c, c->globals, 16);
}

/* ---- names ---- */

static struct val input_value(struct check_state *c, struct binding *b, const struct ast *n)
{
	struct val v;

	b->used = 1;
	if (b->place == GX_WEAK_INT)
		return weak_int(b->integer, 1, n->span);
	if (b->place == GX_WEAK_FLOAT)
		return weak_float(b->real, 1, n->span);
	if (type_has(b->dtype, C_COMPLEX))
		return fail(c, GX_UNSUPPORTED, n->span, "`%s` is %s; complex numbers are not supported yet", n->name, type_table[b->dtype].name);
	v = strong(ir_input(c->ir, (int)(b - c->binding), b->name, b->dtype, &b->shape, b->stride), b->dtype, &b->shape, n->span);
	return v;
}

static struct val lookup(struct check_state *c, const struct ast *n)
{
	struct suggestion s = {.wanted = n->name};
	struct val v;

	for (struct scope *at = c->scope; at; at = at->outer) {
		struct variable *x = scope_slot(at, n->name);

		if (x->name) {
			v = x->val;
			v.span = n->span;
			return v;
		}
	}
	for (int i = 0; i < c->nbinding; i++)
		if (strcmp(c->binding[i].name, n->name) == 0) {
			v = input_value(c, &c->binding[i], n);
			scope_set(c, c->globals, c->binding[i].name, v, n->span);
			return v;
		}
	for (int i = 0; i < c->nbinding; i++)
		diag_suggest(&s, c->binding[i].name);
	v = fail(c, GX_NAME, n->span, "no input named `%s`", n->name);
	if (s.best)
		diag_hint(c->diag, "did you mean `%s`?", s.best);
	return v;
}

/* a + b + c + ...: the chain of left operands can be very long, so it is unrolled into a loop. */
static struct val infix_chain(struct check_state *c, const struct ast *n)
{
	const struct ast **chain = NULL;
	size_t len = 0, cap = 0;
	struct val left;

	for (; n->kind == AST_CALL && n->infix && n->nkids == 2; n = n->kid)
		arena_push(c->arena, chain, len, cap, n);
	left = eval(c, n);
	while (len > 0) {
		const struct ast *op = chain[--len];
		struct val v[2] = {left, eval(c, op->last)};

		if (v[0].bad || v[1].bad || not_yet(c, op, op->name))
			return poison();
		if (!strncmp(op->name, "logical_", 8))
			left = logical(c, op->name[8] == 'a' ? "bitwise_and" : "bitwise_or", v, 2, op->at);
		else
			left = apply(c, op->name, v, 2, op->at);
		left.span = op->span;
	}
	return left;
}

static struct val chain(struct check_state *c, const struct ast *n)
{
	struct val left = eval(c, n->kid), all = {0}, v[2];
	int first = 1;

	for (const struct ast *r = n->kid->next; r; r = r->next, first = 0) {
		struct val right = eval(c, r->kid), one;

		if (left.bad || right.bad)
			return poison();
		v[0] = left;
		v[1] = right;
		if (left.weak && right.weak) {   /* two literals */
			v[0] = harden(c, left);
			v[1] = harden(c, right);
		}
		one = apply(c, r->name, v, 2, r->at);
		if (one.bad)
			return one;
		all = first ? one : apply2(c, "bitwise_and", all, one, r->at);
		left = right;
	}
	all.span = n->span;
	return all;
}

static struct val attribute(struct check_state *c, const struct ast *n)
{
	struct val v = eval(c, n->kid);

	if (v.bad)
		return v;
	if (!strcmp(n->name, "T")) {
		v = transpose_value(c, harden(c, v), NULL);
		v.span = n->span;
		return v;
	}
	v = fail(c, GX_NAME, n->at, "arrays have no attribute `%s`, only .T", n->name);
	if (!strcmp(n->name, "shape") || !strcmp(n->name, "size"))
		diag_hint(c->diag, "%s", n->name[1] == 'h' ? "shape(a, axis) is the extent of an axis" : "size(a) is the number of elements");
	else if (reduction_known(n->name) || scan_known(n->name) || op_any(n->name) != OP_NONE)
		diag_hint(c->diag, "%s(%s)", n->name, span_text(c, n->kid->span));
	return v;
}

struct val eval(struct check_state *c, const struct ast *n)
{
	struct val v;

	if (c->diag->status != GX_OK)
		return poison();
	switch ((enum ast_kind)n->kind) {
	case AST_INT:
		return weak_int((wide_int)n->integer, 0, n->span);
	case AST_FLOAT:
		return weak_float(n->real, 0, n->span);
	case AST_BOOL: {
		struct shape scalar = {0, {0}};

		return strong(ir_int(c->ir, GX_BOOL, (int64_t)n->integer, 0), GX_BOOL, &scalar, n->span);
	}
	case AST_NAME:
		return lookup(c, n);
	case AST_CALL:
		return n->infix && n->nkids == 2 ? infix_chain(c, n) : call_value(c, n);
	case AST_CHAIN:
		return chain(c, n);
	case AST_COND: {
		struct val a = eval(c, n->kid), x = eval(c, n->kid->next), y = eval(c, n->last);

		v = choose(c, a, x, y, n->at);
		v.span = n->span;
		return v;
	}
	case AST_INDEX:
		return index_value(c, n);
	case AST_ATTR:
		return attribute(c, n);
	case AST_TUPLE:
		return fail(c, GX_TYPE, n->span, "a tuple is not a value here");
	case AST_NONE:
		return fail(c, GX_TYPE, n->span, "None stands for a new axis inside [ ] only");
	case AST_REL: case AST_SLICE: case AST_ELLIPSIS: case AST_KEYWORD: case AST_ASSIGN: case AST_DEF: case AST_PROGRAM:
		break;
	}
	return fail(c, GX_INTERNAL, n->span, "an expression was expected");
}

/* ---- statements ---- */

static void add_output(struct check_state *c, const char *name, struct val v, struct span span)
{
	struct output o = {.name = name, .mem = v.type, .shape = v.shape, .span = span};

	v = harden(c, v);
	if (v.bad)
		return;
	o.mem = v.type;
	o.value = v.ins;
	arena_push(c->arena, c->ir->output, c->ir->noutput, c->ir->output_cap, o);
}

static void statement(struct check_state *c, const struct ast *s)
{
	struct val v;

	if (s->kind == AST_DEF) {
		arena_push(c->arena, c->def, c->ndef, c->def_cap, s);
		return;
	}
	c->ir->span = s->span;
	if (s->kind == AST_ASSIGN) {
		v = rounded(c, eval(c, s->kid));
		if (!v.bad)
			scope_set(c, c->globals, s->name, v, s->span);
		return;
	}
	add_output(c, "", eval(c, s), s->span);
}

/* Outputs in the order of f->output: named ones with their last value, bare ones as they come. */
static void outputs(struct check_state *c)
{
	struct output *bare = c->ir->output;

	c->ir->output = NULL;
	c->ir->noutput = c->ir->output_cap = 0;
	for (int i = 0; i < c->f->noutput; i++) {
		struct variable *x;

		if (c->f->output[i][0] == 0) {
			arena_push(c->arena, c->ir->output, c->ir->noutput, c->ir->output_cap, *bare++);
			continue;
		}
		x = scope_slot(c->globals, c->f->output[i]);
		if (x->name)
			add_output(c, x->name, x->val, x->span);
	}
}

struct ir *check_program(struct arena *a, struct diag *d, const struct formula *f, struct binding *b, int n)
{
	struct check_state *c = arena_new(a, struct check_state);
	struct formula *local = arena_new(a, struct formula);   /* the formula is shared between threads; built-ins are parsed into this copy */

	*local = *f;
	local->arena = a;
	memset(&local->diag, 0, sizeof local->diag);
	c->arena = a;
	c->diag = d;
	c->f = local;
	c->binding = b;
	c->nbinding = n;
	c->ir = ir_new(a, d);
	c->globals = c->scope = scope_new(c, NULL, 64);
	for (const struct ast *s = f->program->kid; s && d->status == GX_OK; s = s->next)
		statement(c, s);
	if (d->status == GX_OK)
		outputs(c);
	return d->status == GX_OK ? c->ir : NULL;
}
