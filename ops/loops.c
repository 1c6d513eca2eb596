/* loops.c -- picks the loops of this processor's instruction set, once. */
#include "ops/loops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ops/loops_table.h"

static const struct loop_table *table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int loops_here(const struct loop_table **set)
{
#ifdef __x86_64__
	int n = 0;

	set[n++] = &loops_sse2;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
		return n;
	set[n++] = &loops_avx2;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512vl"))
		set[n++] = &loops_avx512;
	return n;
#else
	set[0] = &loops_generic;
	return 1;
#endif
}

static void choose(void)
{
	const struct loop_table *set[LOOP_SETS];
	const char *wish = getenv("GPUEXPR_ISA");
	int n = loops_here(set);

	table = set[n - 1];
	for (int i = 0; wish && i < n; i++)
		if (!strcmp(wish, set[i]->name))
			table = set[i];
}

static const struct loop_table *loops(void)
{
	pthread_once(&once, choose);
	return table;
}

loop_fn loop_op(enum op op, gx_dtype t)
{
	return loops()->op[op][t];
}

static int pair_place(enum op op)
{
	return op == OP_ADD ? 0 : op == OP_SUB ? 1 : op == OP_MUL ? 2 : -1;
}

loop_fn loop_pair(enum op first, enum op second, int swapped, gx_dtype t)
{
	int i = pair_place(first), j = pair_place(second);

	return i < 0 || j < 0 ? NULL : loops()->pair[i][j][swapped][t];
}

loop_fn loop_cast(gx_dtype to, gx_dtype from)
{
	return loops()->cast[to][from];
}

fold_fn loop_fold(enum red red, gx_dtype t)
{
	return loops()->fold[red][t];
}

fold_fn loop_zip(enum red red, gx_dtype t)
{
	return loops()->zip[red][t];
}

fold_fn loop_fold_sum_f32(void)
{
	return loops()->fold_sum_f32;
}

fold_fn loop_zip_sum_f32(void)
{
	return loops()->zip_sum_f32;
}

scan_fn loop_scan(enum red red, gx_dtype t)
{
	return loops()->scan[red][t];
}

scan_fn loop_scan_units(enum red red, gx_dtype t)
{
	return loops()->scan_units[red][t];
}

scan_fn loop_lift(enum red red, gx_dtype t)
{
	return loops()->lift[red][t];
}

scan_fn loop_scan_sum_f32(void)
{
	return loops()->scan_sum_f32;
}

scan_fn loop_scan_units_sum_f32(void)
{
	return loops()->scan_units_sum_f32;
}

moments_fn loop_moments(void)
{
	return loops()->moments;
}

moments_zip_fn loop_moments_zip(void)
{
	return loops()->moments_zip;
}

identity_fn loop_identity(enum red red, gx_dtype t)
{
	return loops()->identity[red][t];
}

pair_fn loop_pair_fold(enum red red, gx_dtype t)
{
	return loops()->pair_fold[red][t];
}

pair_fn loop_pair_zip(enum red red, gx_dtype t)
{
	return loops()->pair_zip[red][t];
}

const char *loop_isa(void)
{
	return loops()->name;
}
