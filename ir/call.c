/* call.c -- a call to its value: the program's defs are inlined, then reductions, scans, makers (arange, reshape ...), conversions, the
 * functions of ops/functions.def and the rows of the op table are tried. A def's parameters are bound to values, not text, so nested
 * calls cost what their results cost. */
#include "ir/check.h"

#include <stdio.h>
#include <string.h>

#include "parser/parse.h"

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
	suggest_reductions(&s);
	suggest_scans(&s);
	suggest_makes(&s);
	for (size_t i = 0; i < c->ndef; i++)
		diag_suggest(&s, c->def[i]->name);
	if (s.best)
		diag_hint(c->diag, "did you mean `%s`?", s.best);
}

static struct val inline_def(struct check_state *c, const struct ast *def, const struct val *arg, int n, const struct ast *call)
{
	struct scope *keep = c->scope, *inner = scope_inner(c);
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

/* A function that is defined in the language itself: parsed at first use, all arguments made one float type. Its spans are places in its
 * own text, so an error inside is moved to the call. */
static struct val call_builtin(struct check_state *c, const struct function_info *fn, struct val *arg, int n, const struct ast *call)
{
	int at = builtin_find(c, fn);
	struct text keep = c->f->text;
	struct val v;
	gx_dtype type = GX_FLOAT64;

	if (fn->floats)
		type = float_of(common_type(arg, n));
	for (int i = 0; i < n; i++)
		arg[i] = fn->floats ? convert(c, arg[i], type) : n == 1 ? harden(c, arg[i]) : arg[i];
	c->f->text = c->builtin[at].text;
	c->library++;
	v = inline_def(c, c->builtin[at].def, arg, n, call);
	c->library--;
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

struct val logical(struct check_state *c, const char *op, struct val *v, int n, struct span at)
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
		if (any == OP_POPCOUNT)   /* as NumPy's bitwise_count, whatever the type that is counted in */
			r = cast_to(c, r, GX_UINT8, at);
	}
	r.span = k->node->span;
	return r;
}

/* Names that people bring along and that no spelling leads to. */
static const struct { const char *name, *hint; } elsewhere[] = {
	{"len", "size(a) is the number of elements, shape(a, 0) the extent of an axis"}, {"ndim", "the shape is printed by --explain"},
	{"dot", "sum(a*b) is the dot product"}, {"print", "an expression on its own is printed"},
	{"astype", "a type is a function: f32(a)"}, {"float", "the types are f16, bf16, f32 and f64"},
	{"int", "the types are i8, i16, i32, i64 and u8, u16, u32, u64"}, {"double", "the type is f64"},
	{"random", "random numbers are not made here: read them from a file"},
	{"rand", "random numbers are not made here: read them from a file"},
	{"sort", "nothing here moves elements by their values"}, {"median", "nothing here sorts; mean, min, max and std are there"},
	{"if", "where(condition, x, y), or condition ? x : y"},
};

static struct val unknown_function(struct check_state *c, const struct ast *n)
{
	struct val v = fail(c, GX_NAME, n->at, "unknown function `%s`", n->name);

	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
		if (!strcmp(n->name, elsewhere[i].name)) {
			diag_hint(c->diag, "%s", elsewhere[i].hint);
			return v;
		}
	suggest_function(c, n->name);
	return v;
}

int not_yet(struct check_state *c, const struct ast *n, const char *name)
{
	if (!strcmp(name, "matmul")) {
		fail(c, GX_UNSUPPORTED, n->at, "matrix multiplication (`@`) is not supported yet");
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

struct val call_value(struct check_state *c, const struct ast *n)
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
	for (size_t i = c->ndef; i > 0 && !n->infix && !c->library; i--) {
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
	if (!n->infix && (reduce_call(c, &k, &out) || scan_call(c, &k, &out) || make_call(c, &k, &out))) {
		out.span = n->span;
		return out;
	}
	return call_function(c, &k, name);
}
