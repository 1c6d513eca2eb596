/* loops.h -- the rows of the tables as loops over blocks of values: what the CPU engine runs and what constants are folded with.
 *
 * A loop handles n values from the start of its buffers, which are aligned to their elements and hold a multiple of LOOP_PAD
 * elements: a loop may read and write up to the next multiple of LOOP_PAD, so that body and tail are the same instructions
 * (what is read past n is garbage and must not trap). dst may equal an operand. */
#ifndef OPS_LOOPS_H
#define OPS_LOOPS_H

#include <stddef.h>

#include "ops/ops.h"

enum { LOOP_PAD = 64 };

typedef void (*loop_fn)(void *dst, const void *a, const void *b, const void *c, size_t n);

/* The loop of an operation whose row is for register type t; never NULL for a valid (op, t). For COND rows a is bool bytes. */
loop_fn loop_op(enum op op, gx_dtype t);
/* (a first b) second c, or with swapped c second (a first b): two of ADD, SUB, MUL in one pass, each rounded; NULL when there is none. */
loop_fn loop_pair(enum op first, enum op second, int swapped, gx_dtype t);
/* Conversion between register types, and between a memory type and its register type (float16 and bfloat16 with float32).
 * b and c are ignored. BOOL results are 0 or 1; from BOOL memory any nonzero byte is 1 (loop_cast(GX_BOOL, GX_BOOL)). */
loop_fn loop_cast(gx_dtype to, gx_dtype from);
/* Reductions with one value (loop_fold, loop_zip: exactly n values are read): n values into one accumulator; value i into accumulator i. */
typedef void (*fold_fn)(void *acc, const void *values, size_t n);
typedef void (*identity_fn)(void *acc, size_t n);
fold_fn loop_fold(enum red red, gx_dtype t);
fold_fn loop_zip(enum red red, gx_dtype t);
identity_fn loop_identity(enum red red, gx_dtype t);   /* n accumulators of nothing */
/* Running folds, exactly n values. loop_scan goes on from *acc and leaves it at the last; loop_scan_units takes whole units of SCAN_UNIT
 * values, each from its own first value on (acc is ignored); loop_lift folds *acc into each of the n values at dst, from before them
 * (values is ignored). The f32 ones are float64 sums of float32 values. */
enum { SCAN_UNIT = 64 };
typedef void (*scan_fn)(void *dst, const void *values, size_t n, void *acc);
scan_fn loop_scan(enum red red, gx_dtype t);
scan_fn loop_scan_units(enum red red, gx_dtype t);
scan_fn loop_lift(enum red red, gx_dtype t);
scan_fn loop_scan_sum_f32(void);
scan_fn loop_scan_units_sum_f32(void);
/* loop_fold and loop_zip of float64 sums on float32 values: the same bits as after a conversion. */
fold_fn loop_fold_sum_f32(void);
fold_fn loop_zip_sum_f32(void);
/* Mean and sum of squared deviations of n values; the count-th value into each of n accumulators. */
typedef void (*moments_fn)(const double *values, size_t n, double *mean, double *m2);
typedef void (*moments_zip_fn)(double count, double *mean, double *m2, const double *values, size_t n);
moments_fn loop_moments(void);
moments_zip_fn loop_moments_zip(void);
/* Reductions to a value and its position; position -1 is an accumulator of nothing. */
typedef void (*pair_fn)(void *acc, long long *at, const void *values, const long long *positions, size_t n);
pair_fn loop_pair_fold(enum red red, gx_dtype t);
pair_fn loop_pair_zip(enum red red, gx_dtype t);
/* The instruction set in use: "avx512", "avx2", "sse2", "generic". Chosen once, by the processor (GPUEXPR_ISA overrides). */
const char *loop_isa(void);

#endif
