/* scan.c -- the scans of the language: calls to cumsum and its kin become a scan of the IR with the elements' conversion before it and
 * the result's after it. Sums and products of floats accumulate in float64 and are rounded once, at each element, as reductions are. */
#include <string.h>

#include "ir/check.h"

static const struct {
	const char *name, *red, *doc;
	int sums;                  /* accumulates in 64 bits and takes dtype= */
} table[] = {
	{"cumsum", "sum", "sums up to each element, with sum's types", 1},
	{"cumprod", "prod", "products up to each element, with sum's types", 1},
	{"cummin", "min", "smallest up to each element; NaN from the first one on", 0},
	{"cummax", "max", "largest up to each element; NaN from the first one on", 0},
};
enum { NTABLE = sizeof table / sizeof *table };

static int find(const char *name)
{
	for (int i = 0; i < NTABLE; i++)
		if (strcmp(table[i].name, name) == 0)
			return i;
	return -1;
}

int scan_known(const char *name)
{
	return find(name) >= 0;
}

void suggest_scans(struct suggestion *s)
{
	for (int i = 0; i < NTABLE; i++)
		diag_suggest(s, table[i].name);
}

void scans_table(struct buf *b)
{
	buf_str(b, "| scan | | keywords beside axis= |\n|---|---|---|\n");
	for (int i = 0; i < NTABLE; i++)
		buf_fmt(b, "| `%s(a)` | %s | %s |\n", table[i].name, table[i].doc, table[i].sums ? "dtype=" : "");
}

/* Without an axis, and of a number, the array is one row: its elements in C order. */
static int axis_of(struct check_state *c, const struct call *k, struct val *a, int *axis)
{
	const struct ast *n = keyword(k, "axis");
	struct shape flat = {1, {0}};
	int all = !n || n->kind == AST_NONE;

	*axis = 0;
	if (n && n->kind == AST_TUPLE) {
		fail(c, GX_SHAPE, n->span, "%s runs along one axis, found %d; without axis= it runs through all elements", k->node->name, n->nkids);
		return -1;
	}
	if (!all && axis_number(c, n, a->shape.rank ? a->shape.rank : 1, axis))
		return -1;
	if (all || a->shape.rank == 0) {
		flat.n[0] = shape_count(&a->shape);
		a->ins = ir_reshape(c->ir, a->ins, &a->shape, &flat);
		a->shape = flat;
	}
	return 0;
}

static struct val scan(struct check_state *c, const char *red, struct val a, gx_dtype acc, int axis, struct span at)
{
	uint32_t v = ir_cast(c->ir, acc, a.ins);

	return strong(ir_scan(c->ir, red_find(red, acc), v, &a.shape, axis), acc, &a.shape, at);
}

static gx_dtype wide_of(gx_dtype t)
{
	if (type_has(t, C_HALF | C_FLT))
		return GX_FLOAT64;
	return type_has(t, C_UINT) ? GX_UINT64 : GX_INT64;
}

int scan_call(struct check_state *c, struct call *k, struct val *out)
{
	static const char *const plain[] = {"axis", NULL}, *const typed[] = {"axis", "dtype", NULL};
	int i = find(alias_resolve(k->node->name)), axis, has_dtype;
	struct span at = k->node->span;
	gx_dtype dtype;
	struct val a;

	if (i < 0)
		return 0;
	*out = poison();
	if (k->n == 2) {
		fail(c, GX_TYPE, k->arg[1]->span, "the axis of %s is given by name: axis=%s", k->node->name, span_text(c, k->arg[1]->span));
		return 1;
	}
	if (too_many(c, k, 1, 1) || allow_keywords(c, k, table[i].sums ? typed : plain))
		return 1;
	a = harden(c, eval(c, k->arg[0]));
	if (a.bad || axis_of(c, k, &a, &axis) || dtype_keyword(c, k, &has_dtype, &dtype))
		return 1;
	if (!table[i].sums) {
		*out = scan(c, table[i].red, a, reg_of(a.type), axis, at);
		out->type = a.type;
		return 1;
	}
	if (has_dtype)
		a = cast_to(c, a, dtype, at);
	else
		dtype = type_has(a.type, C_HALF | C_FLT) ? a.type : wide_of(a.type);
	if (!a.bad)
		*out = cast_to(c, scan(c, table[i].red, a, wide_of(a.type), axis, at), dtype, at);
	return 1;
}
