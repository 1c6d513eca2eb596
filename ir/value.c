/* value.c -- what the checker computes with: strong values (an instruction), weak ones (a number) and poison; and the arguments of
 * calls: keywords, numbers known before the program runs, axes, arity. */
#include "ir/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct val poison(void)
{
	struct val v = {.bad = 1};

	return v;
}

struct val weak_int(wide_int i, int by_arg, struct span span)
{
	struct val v = {.weak = WEAK_INT, .type = GX_INT64, .integer = i, .by_arg = by_arg, .span = span, .ins = NO_VALUE};

	return v;
}

struct val weak_float(double x, int by_arg, struct span span)
{
	struct val v = {.weak = WEAK_FLOAT, .type = GX_FLOAT64, .real = x, .by_arg = by_arg, .span = span, .ins = NO_VALUE};

	return v;
}

struct val strong(uint32_t ins, gx_dtype type, const struct shape *s, struct span span)
{
	struct val v = {.ins = ins, .type = type, .shape = *s, .span = span};

	return v;
}

struct val fail(struct check_state *c, gx_status s, struct span at, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	diag_error(c->diag, s, at, "%s", message);
	return poison();
}

char *span_text(const struct check_state *c, struct span s)
{
	size_t n = s.end - s.begin;

	if (n > 48)
		return arena_fmt(c->arena, "%.*s...", 45, c->f->text.text + s.begin);
	return arena_text(c->arena, c->f->text.text + s.begin, n);
}

char *describe(const struct check_state *c, const struct val *v)
{
	char s[200];

	return arena_fmt(c->arena, "%s %s", type_table[v->type].name, shape_text(&v->shape, s));
}

/* ---- arguments ---- */

const struct ast *keyword(const struct call *k, const char *name)
{
	for (const struct ast *a = k->node->kid; a; a = a->next)
		if (a->kind == AST_KEYWORD && strcmp(a->name, name) == 0)
			return a->kid;
	return NULL;
}

int allow_keywords(struct check_state *c, const struct call *k, const char *const *names)
{
	for (const struct ast *a = k->node->kid; a; a = a->next) {
		struct suggestion s = {.wanted = a->name};
		int known = 0;

		if (a->kind != AST_KEYWORD)
			continue;
		for (const char *const *n = names; *n; n++) {
			known |= strcmp(*n, a->name) == 0;
			diag_suggest(&s, *n);
		}
		for (const struct ast *b = k->node->kid; b != a; b = b->next)
			if (b->kind == AST_KEYWORD && strcmp(b->name, a->name) == 0) {
				fail(c, GX_SYNTAX, a->at, "argument `%s` is given twice", a->name);
				return -1;
			}
		if (known)
			continue;
		fail(c, GX_NAME, a->at, "%s takes no argument `%s`", k->node->name, a->name);
		if (s.best)
			diag_hint(c->diag, "did you mean `%s`?", s.best);
		return -1;
	}
	return 0;
}

int known_int(struct check_state *c, const struct ast *n, const char *what, int64_t *out)
{
	struct val v = eval(c, n);

	if (v.bad)
		return -1;
	if (v.weak != WEAK_INT || v.integer > INT64_MAX) {
		fail(c, GX_TYPE, n->span,
			"%s must be an integer that is known before the program runs (a literal, a scalar input without a dtype, "
			"size() or shape())", what);
		return -1;
	}
	*out = (int64_t)v.integer;
	return 0;
}

int known_flag(struct check_state *c, const struct ast *n, int *out)
{
	if (n->kind != AST_BOOL && n->kind != AST_INT) {
		fail(c, GX_TYPE, n->span, "expected true or false");
		return -1;
	}
	*out = n->integer != 0;
	return 0;
}

int dtype_keyword(struct check_state *c, const struct call *k, int *has, gx_dtype *t)
{
	const struct ast *n = keyword(k, "dtype");

	*has = n != NULL;
	if (!n)
		return 0;
	if (n->kind != AST_NAME || gx_dtype_find(n->name, t)) {
		fail(c, GX_TYPE, n->span, "dtype= takes the name of a type, for example f32 or int64");
		return -1;
	}
	if (type_has(*t, C_COMPLEX)) {
		fail(c, GX_UNSUPPORTED, n->span, "complex numbers are not supported yet");
		return -1;
	}
	return 0;
}

int axis_number(struct check_state *c, const struct ast *n, int rank, int *axis)
{
	int64_t a;

	if (known_int(c, n, "an axis", &a))
		return -1;
	if (a < -rank || a >= rank) {
		fail(c, GX_SHAPE, n->span, "axis %lld is out of range for rank %d", (long long)a, rank);
		return -1;
	}
	*axis = (int)(a < 0 ? a + rank : a);
	return 0;
}

int too_many(struct check_state *c, const struct call *k, int min, int max)
{
	if (k->n >= min && k->n <= max)
		return 0;
	if (min == max)
		fail(c, GX_TYPE, k->node->at, "%s takes %d argument%s, found %d", k->node->name, min, min == 1 ? "" : "s", k->n);
	else
		fail(c, GX_TYPE, k->node->at, "%s takes %d to %d arguments, found %d", k->node->name, min, max, k->n);
	return -1;
}
