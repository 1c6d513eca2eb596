/* print.c -- the IR as text: one instruction a line, `%3 = add.f32 %1, %2  (4, 3)`. */
#include <string.h>

#include "base/number.h"
#include "ir/ir.h"

static const char *type_abbr(int t)
{
	return type_table[t].abbr;
}

static void print_const(const struct ins *i, struct buf *b)
{
	char text[40];
	double d;
	float f;

	if (i->type == GX_FLOAT64 || i->type == GX_FLOAT32) {
		memcpy(&d, &i->bits, sizeof d);
		memcpy(&f, &i->bits, sizeof f);
		number_text(i->type == GX_FLOAT64 ? d : (double)f, text);
		buf_str(b, text);
	} else if (type_has((gx_dtype)i->type, C_SINT)) {
		int shift = 64 - 8 * type_table[i->type].bytes;

		buf_fmt(b, "%lld", (long long)(i->bits << shift) >> shift);
	} else {
		buf_fmt(b, "%llu", (unsigned long long)i->bits);
	}
	if (i->by_arg)
		buf_str(b, " (argument)");
}

static void print_access(const struct access *a, const struct shape *s, struct buf *b)
{
	buf_char(b, '[');
	if (a->off)
		buf_fmt(b, "%lld", (long long)a->off);
	for (int k = 0; k < s->rank; k++)
		if (a->stride[k])
			buf_fmt(b, " %+lld*i%d", (long long)a->stride[k], k);
	buf_char(b, ']');
}

static void print_ins(const struct ir *ir, uint32_t v, struct buf *b)
{
	const struct ins *i = &ir->ins[v];
	const struct shape *s = i->shape == NO_VALUE ? NULL : &ir->shape[i->shape];
	char text[200];

	buf_fmt(b, "%%%u = ", v);
	switch ((enum ins_kind)i->kind) {
	case INS_CONST:
		buf_fmt(b, "const.%s ", type_abbr(i->type));
		print_const(i, b);
		break;
	case INS_IOTA:
		buf_fmt(b, "range.%s ", type_abbr(i->type));
		print_access(&ir->access[i->access], s, b);
		break;
	case INS_LOAD:
		buf_fmt(b, "load.%s ", type_abbr(i->type));
		buf_escaped(b, ir->source[i->source].name, strlen(ir->source[i->source].name));
		print_access(&ir->access[i->access], s, b);
		for (int k = 0; k < i->nargs; k++)
			buf_fmt(b, " + %%%u*%lld", ir->gather[i->gather + (unsigned)k].value, (long long)ir->gather[i->gather + (unsigned)k].stride);
		break;
	case INS_OP:
		buf_fmt(b, "%s.%s", op_table[i->op].name, type_abbr(ir->ins[i->arg[i->nargs - 1]].type));
		for (int k = 0; k < i->nargs; k++)
			buf_fmt(b, "%s %%%u", k ? "," : "", i->arg[k]);
		break;
	case INS_CAST:
		buf_fmt(b, "cast.%s %%%u", type_abbr(i->type), i->arg[0]);
		break;
	}
	if (s)
		buf_fmt(b, "  %s", shape_text(s, text));
	buf_char(b, '\n');
}

static void print_def(const struct ir *ir, const struct def *d, struct buf *b)
{
	const struct source *s = &ir->source[d->source];
	char text[200];

	buf_fmt(b, "%s = ", s->name);
	if (d->kind == DEF_STORE) {
		buf_fmt(b, "store %%%u", d->value);
	} else {
		buf_fmt(b, "%s%s %%%u", d->kind == DEF_SCAN ? "scan " : "", red_table[d->red].name, d->value);
		if (d->position != NO_VALUE)
			buf_fmt(b, " at %%%u", d->position);
		buf_str(b, d->kind == DEF_SCAN ? " along axis" : " over axes");
		for (int k = 0; k < MAX_RANK; k++)
			if (d->axes >> k & 1)
				buf_fmt(b, " %d", k);
	}
	buf_fmt(b, "  %s %s\n", type_table[s->mem].name, shape_text(&s->shape, text));
}

void ir_print(const struct ir *ir, struct buf *b)
{
	char text[200];

	for (uint32_t v = 0; v < ir->nins; v++)
		print_ins(ir, v, b);
	for (size_t i = 0; i < ir->ndef; i++)
		print_def(ir, &ir->def[i], b);
	for (size_t i = 0; i < ir->ncheck; i++)
		buf_fmt(b, "check %%%u in [-%lld, %lld)\n", ir->check[i].value, (long long)ir->check[i].size, (long long)ir->check[i].size);
	for (size_t i = 0; i < ir->noutput; i++) {
		const struct output *o = &ir->output[i];

		buf_str(b, "out ");
		buf_escaped(b, o->name[0] ? o->name : "-", o->name[0] ? strlen(o->name) : 1);
		buf_fmt(b, " = %%%u  %s %s\n", o->value, type_table[o->mem].name, shape_text(&o->shape, text));
	}
}
