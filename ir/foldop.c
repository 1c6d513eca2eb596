/* foldop.c -- operations on constants: the CPU engine's own loops over one element, so that a folded value is bit for bit what the loop
 * would have given. */
#include <string.h>

#include "ir/ir.h"
#include "ops/loops.h"

struct cell { _Alignas(64) unsigned char bytes[LOOP_PAD * 8]; };

static uint64_t low_bytes(const struct cell *c, gx_dtype t)
{
	uint64_t v = 0;

	memcpy(&v, c->bytes, type_table[t].bytes);
	return v;
}

uint64_t fold_op(enum op op, gx_dtype type, uint64_t a, uint64_t b, uint64_t c)
{
	struct cell in[3], out;

	memset(in, 0, sizeof in);
	memcpy(in[0].bytes, &a, sizeof a);
	memcpy(in[1].bytes, &b, sizeof b);
	memcpy(in[2].bytes, &c, sizeof c);
	loop_op(op, type)(out.bytes, in[0].bytes, in[1].bytes, in[2].bytes, 1);
	return low_bytes(&out, op_table[op].result == TEST ? GX_BOOL : type);
}

uint64_t fold_cast(gx_dtype to, gx_dtype from, uint64_t a)
{
	struct cell in, out;

	memset(&in, 0, sizeof in);
	memcpy(in.bytes, &a, sizeof a);
	loop_cast(to, from)(out.bytes, in.bytes, NULL, NULL, 1);
	return low_bytes(&out, to);
}
