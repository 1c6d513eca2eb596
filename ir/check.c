/* check.c -- AST to typed IR: walks statements and expressions, resolves names, inlines defs and sends calls to their families.
 * A def's parameters are bound to values, not text, so nested calls cost what their results cost. Errors poison a value,
 * and poison silences what depends on it. */
#include "ir/check.h"

#include <stdarg.h>
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

static void scope_set(struct check_state *c, struct scope *s, const char *name, struct val v, struct span span)
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

/* ---- values ---- */

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
		fail(c, GX_TYPE, n->span, "%s must be an integer that is known before the program runs (a literal, a scalar input without a dtype, size() or shape())", what);
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

/* ---- calls ---- */

static void suggest_function(struct check_state *c, const char *name)
{
	struct suggestion s = {.wanted = name};

	for (int i = 1; i < NOPS; i++)
		if (op_table[i].name[0] != '_')
			diag_suggest(&s, op_table[i].name);
	for (int i = 0; i < nfunctions; i++)
		diag_suggest(&s, function_table[i].name);
	for (int i = 0; i < naliases; i++)
		diag_suggest(&s, alias_table[i].spelling);
	for (int i = 0; i < NTYPES; i++) {
		diag_suggest(&s, type_table[i].name);
		diag_suggest(&s, type_table[i].abbr);
	}
	diag_suggest(&s, "clip");
	diag_suggest(&s, "relu");
	suggest_reductions(&s);
	suggest_makes(&s);
	for (size_t i = 0; i < c->ndef; i++)
		diag_suggest(&s, c->def[i]->name);
	if (s.best)
		diag_hint(c->diag, "did you mean `%s`?", s.best);
}

static struct val inline_def(struct check_state *c, const struct ast *def, const struct val *arg, int n, const struct ast *call)
{
	struct scope *keep = c->scope, *inner = scope_new(c, c->globals, 16);
	const struct ast *p = def->kid;
	struct val v;

	if (n != def->nkids - 1)
		return fail(c, GX_TYPE, call->at, "%s takes %d argument%s, found %d", call->name, def->nkids - 1, def->nkids == 2 ? "" : "s", n);
	for (int i = 0; i < c->nactive; i++)
		if (c->active[i] == def)
			return fail(c, GX_NAME, call->at, "`%s` calls itself; recursion is not possible", call->name);
	if (c->nactive == 64)
		return fail(c, GX_LIMIT, call->at, "functions call each other more than 64 levels deep");
	for (int i = 0; i < n; i++, p = p->next)
		scope_set(c, inner, p->name, arg[i], call->span);
	c->active[c->nactive++] = def;
	c->scope = inner;
	v = eval(c, def->last);
	c->scope = keep;
	c->nactive--;
	v.span = call->span;
	return v;
}

static int builtin_find(struct check_state *c, const struct function_info *fn)
{
	char *text;

	for (int i = 0; i < c->nbuiltin; i++)
		if (c->builtin[i].name == fn->name)
			return i;
	text = arena_fmt(c->arena, "def %s(%s) = %s", fn->name, fn->params, fn->body);
	c->builtin[c->nbuiltin].name = fn->name;
	c->builtin[c->nbuiltin].text = (struct text){fn->name, text, strlen(text)};
	c->builtin[c->nbuiltin].def = parse_builtin(c->f, text);
	return c->nbuiltin++;
}

/* A function that is defined in the language itself: parsed at first use, integer arguments made floats. Its spans are places in its
 * own text, so an error inside is moved to the call. */
static struct val call_builtin(struct check_state *c, const struct function_info *fn, struct val *arg, int n, const struct ast *call)
{
	int at = builtin_find(c, fn);
	struct text keep = c->f->text;
	struct val v;

	for (int i = 0; i < n; i++) {
		if (n == 1)
			arg[i] = harden(c, arg[i]);
		if (!arg[i].weak)
			arg[i] = convert(c, arg[i], float_of(arg[i].type));
	}
	if (n == 2 && arg[0].weak && arg[1].weak)
		arg[0] = convert(c, arg[0], GX_FLOAT64);
	c->f->text = c->builtin[at].text;
	v = inline_def(c, c->builtin[at].def, arg, n, call);
	c->f->text = keep;
	if (c->diag->status != GX_OK) {
		c->diag->span = call->span;
		c->diag->hint[0] = 0;
	}
	return v;
}

static int is_type(const char *name, gx_dtype *t)
{
	return gx_dtype_find(name, t) == 0;
}

static struct val variadic(struct check_state *c, const char *op, struct val *v, int n, struct span at)
{
	for (int i = 1; i < n; i++) {
		v[0] = apply2(c, op, v[0], v[i], at);
		v[0].span = at;
	}
	return v[0];
}

static struct val logical(struct check_state *c, const char *op, struct val *v, int n, struct span at)
{
	for (int i = 0; i < n; i++)
		v[i] = truth(c, v[i]);
	return n == 1 ? apply1(c, "invert", v[0], at) : apply2(c, op, v[0], v[1], at);
}

static struct val call_op(struct check_state *c, const char *name, struct call *k, struct val *v)
{
	struct span at = k->node->at;
	enum op any = op_any(name);
	int n = k->n, arity = op_table[any].arity;
	struct val r;

	if ((!strcmp(name, "min") || !strcmp(name, "max") || !strcmp(name, "fmin") || !strcmp(name, "fmax")) && n >= 2) {
		r = variadic(c, name, v, n, at);
	} else if (n != arity) {
		return fail(c, GX_TYPE, at, "%s takes %d argument%s, found %d", k->node->name, arity, arity == 1 ? "" : "s", n);
	} else {
		for (int i = 0; i < n; i++)
			if (v[i].bad)
				return v[i];
		if (!k->node->infix)   /* a function of literals is an array operation of NumPy: its result is not weak */
			for (int i = 0; i < n; i++)
				if (n == 1 || (v[0].weak && v[1].weak && n == 2))
					v[i] = harden(c, v[i]);
		r = apply(c, name, v, n, at);
	}
	r.span = k->node->span;
	return r;
}

static struct val unknown_function(struct check_state *c, const struct ast *n)
{
	struct val v = fail(c, GX_NAME, n->at, "unknown function `%s`", n->name);

	suggest_function(c, n->name);
	return v;
}

static int not_yet(struct check_state *c, const struct ast *n, const char *name)
{
	static const char *const later[] = {"cumsum", "cumprod", "cummin", "cummax", "cumulative_sum", "cumulative_prod"};

	if (!strcmp(name, "matmul")) {
		fail(c, GX_UNSUPPORTED, n->at, "matrix multiplication (`@`) is not supported yet");
		return 1;
	}
	for (size_t i = 0; i < sizeof later / sizeof *later; i++)
		if (!strcmp(name, later[i])) {
			fail(c, GX_UNSUPPORTED, n->at, "scans such as `%s` are not supported yet", name);
			return 1;
		}
	return 0;
}

static int only_plain(struct check_state *c, const struct call *k)
{
	static const char *const none[] = {NULL};

	return allow_keywords(c, k, none);
}

static struct val call_function(struct check_state *c, struct call *k, const char *name)
{
	const struct ast *n = k->node;
	const struct function_info *fn = function_find(name);
	struct val v[16];
	gx_dtype type;

	if (only_plain(c, k))
		return poison();
	for (int i = 0; i < k->n; i++) {
		v[i] = eval(c, k->arg[i]);
		if (v[i].bad)
			return v[i];
	}
	if (!strcmp(name, "positive"))
		return v[0];
	if (!strcmp(name, "relu"))
		return too_many(c, k, 1, 1) ? poison() : apply2(c, "max", harden(c, v[0]), weak_int(0, 0, n->span), n->at);
	if (!strcmp(name, "clip")) {
		if (too_many(c, k, 3, 3))
			return poison();
		v[0] = apply2(c, "max", v[0], v[1], n->at);
		return v[0].bad ? v[0] : apply2(c, "min", v[0], v[2], n->at);
	}
	if (!strncmp(name, "logical_", 8)) {
		if (too_many(c, k, name[8] == 'n' ? 1 : 2, name[8] == 'n' ? 1 : 2))
			return poison();
		v[0] = logical(c, name[8] == 'a' ? "bitwise_and" : name[8] == 'o' ? "bitwise_or" : "bitwise_xor", v, k->n, n->at);
		v[0].span = n->span;
		return v[0];
	}
	if (is_type(name, &type)) {
		if (too_many(c, k, 1, 1))
			return poison();
		return cast_to(c, v[0], type, n->span);
	}
	if (fn)
		return call_builtin(c, fn, v, k->n, n);
	if (op_any(name) != OP_NONE && name[0] != '_')
		return call_op(c, name, k, v);
	return unknown_function(c, n);
}

static struct val call(struct check_state *c, const struct ast *n)
{
	struct call k = {.node = n};
	const char *name = alias_resolve(n->name);
	struct val v[16], out;

	for (const struct ast *a = n->kid; a; a = a->next) {
		if (a->kind == AST_KEYWORD)
			continue;
		if (k.n == 16)
			return fail(c, GX_LIMIT, n->at, "%s has more than 16 arguments", n->name);
		k.arg[k.n++] = a;
	}
	for (size_t i = c->ndef; i > 0 && !n->infix; i--) {
		if (strcmp(c->def[i - 1]->name, n->name) != 0)
			continue;
		if (only_plain(c, &k))
			return poison();
		for (int j = 0; j < k.n; j++)
			v[j] = eval(c, k.arg[j]);
		return inline_def(c, c->def[i - 1], v, k.n, n);
	}
	if (not_yet(c, n, name))
		return poison();
	if (!n->infix && (reduce_call(c, &k, &out) || make_call(c, &k, &out))) {
		out.span = n->span;
		return out;
	}
	return call_function(c, &k, name);
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
	else if (reduction_known(n->name) || op_any(n->name) != OP_NONE)
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
		return n->infix && n->nkids == 2 ? infix_chain(c, n) : call(c, n);
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
