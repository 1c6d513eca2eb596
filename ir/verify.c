/* verify.c -- the legality of an IR: operands come before users, types are what the rows of the op table take, domains agree, and
 * every load stays inside its source. Run between the passes. */
#include "ir/ir.h"

static int broken(struct ir *ir, uint32_t v, const char *what)
{
	struct span none = {0, 0};

	diag_error(ir->diag, GX_INTERNAL, none, "internal error: value %%%u: %s (please report this program)", v, what);
	return -1;
}

static int verify_op(struct ir *ir, uint32_t v, const struct ins *i)
{
	const struct op_info *op = &op_table[i->op];

	if (i->op == OP_NONE || i->op >= NOPS || i->nargs != op->arity)
		return broken(ir, v, "not an operation");
	for (int k = 0; k < i->nargs; k++) {
		const struct ins *a = &ir->ins[i->arg[k]];

		if (op->flags & COND && k == 0) {
			if (a->type != GX_BOOL)
				return broken(ir, v, "condition is not bool");
		} else if (!type_has((gx_dtype)a->type, op->cls) || a->type != ir->ins[i->arg[i->nargs - 1]].type) {
			return broken(ir, v, "operand type does not fit the row");
		}
	}
	if (i->type != (op->result == TEST ? GX_BOOL : ir->ins[i->arg[i->nargs - 1]].type))
		return broken(ir, v, "result type does not fit the row");
	return 0;
}

/* Lowest and highest offset of an affine load must lie in the memory that the source's own strides reach. */
static int verify_load(struct ir *ir, uint32_t v, const struct ins *i)
{
	const struct source *s = &ir->source[i->source];
	const struct shape *d = &ir->shape[i->shape];
	const struct access *a = &ir->access[i->access];
	int64_t lo = a->off, hi = a->off, slo = 0, shi = 0;

	if (i->type != type_table[s->mem].reg)
		return broken(ir, v, "load has the wrong type");
	if (shape_count(d) == 0 || i->nargs)
		return 0;
	if (shape_count(&s->shape) == 0)
		return broken(ir, v, "load from an empty array");
	for (int k = 0; k < d->rank; k++)
		*(a->stride[k] < 0 ? &lo : &hi) += a->stride[k] * (d->n[k] - 1);
	for (int k = 0; k < s->shape.rank; k++)
		*(s->stride[k] < 0 ? &slo : &shi) += s->stride[k] * (s->shape.n[k] - 1);
	if (lo < slo || hi > shi)
		return broken(ir, v, "load is out of bounds");
	return 0;
}

/* One axis, one value a state, a row for the type, and a result with the domain of what goes in. */
static int verify_scan(struct ir *ir, const struct def *d)
{
	const struct ins *v = &ir->ins[d->value];

	if (!d->axes || d->axes & (d->axes - 1))
		return broken(ir, d->value, "scan along other than one axis");
	if (red_table[d->red].state != ONE || !type_has((gx_dtype)v->type, red_table[d->red].cls) || d->position != NO_VALUE)
		return broken(ir, d->value, "scan by a row that cannot");
	if (v->shape == NO_VALUE || !shape_same(&ir->shape[v->shape], &ir->source[d->source].shape) || v->type != ir->source[d->source].mem)
		return broken(ir, d->value, "scan with another domain or type than its source");
	return 0;
}

int ir_verify(struct ir *ir)
{
	for (uint32_t v = 0; v < ir->nins; v++) {
		const struct ins *i = &ir->ins[v];

		for (int k = 0; k < i->nargs; k++) {
			uint32_t a = i->kind == INS_LOAD ? ir->gather[i->gather + (unsigned)k].value : i->arg[k];

			if (a >= v)
				return broken(ir, v, "operand comes after its use");
			if (ir->ins[a].kind != INS_CONST && !shape_same(&ir->shape[ir->ins[a].shape], &ir->shape[i->shape]))
				return broken(ir, v, "operand has another domain");
			if (i->kind == INS_LOAD && ir->ins[a].type != GX_INT64)
				return broken(ir, v, "gather index is not int64");
		}
		if (i->kind == INS_OP && verify_op(ir, v, i))
			return -1;
		if (i->kind == INS_LOAD && verify_load(ir, v, i))
			return -1;
		if (i->kind == INS_CONST && i->shape != NO_VALUE)
			return broken(ir, v, "constant with a domain");
	}
	for (size_t i = 0; i < ir->ndef; i++) {
		const struct def *d = &ir->def[i];

		if (d->value >= ir->nins || ir->source[d->source].def != i)
			return broken(ir, (uint32_t)i, "definition without its source");
		if (d->kind == DEF_SCAN && verify_scan(ir, d))
			return -1;
	}
	return 0;
}
