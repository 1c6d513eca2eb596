/* loops_table.h -- the loops of one instruction set; inside ops/ only. */
#ifndef OPS_LOOPS_TABLE_H
#define OPS_LOOPS_TABLE_H

#include "ops/loops.h"

struct loop_table {
	const char *name;
	loop_fn op[NOPS][NTYPES];
	loop_fn pair[3][3][2][NTYPES];   /* of ADD, SUB, MUL: the first, the second, swapped */
	loop_fn cast[NTYPES][NTYPES];   /* to, from */
	fold_fn fold[NREDS][NTYPES], zip[NREDS][NTYPES];
	scan_fn scan[NREDS][NTYPES], scan_units[NREDS][NTYPES], lift[NREDS][NTYPES];
	scan_fn scan_sum_f32, scan_units_sum_f32;
	fold_fn fold_sum_f32, zip_sum_f32;   /* float32 values, float64 accumulators */
	moments_fn moments;
	moments_zip_fn moments_zip;
	identity_fn identity[NREDS][NTYPES];
	pair_fn pair_fold[NREDS][NTYPES], pair_zip[NREDS][NTYPES];
};

extern const struct loop_table loops_avx512, loops_avx2, loops_sse2, loops_generic;

/* The sets that this processor has, the plainest first; how many. */
enum { LOOP_SETS = 3 };
int loops_here(const struct loop_table **set);

#endif
