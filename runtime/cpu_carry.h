/* cpu_carry.h -- running folds side by side, each in two parts: the fold of the unit at hand, and the carry of the units
 * before it. See cpu_scan.c for the order. */
#ifndef RUNTIME_CPU_CARRY_H
#define RUNTIME_CPU_CARRY_H

#include "runtime/cpu.h"

struct carries {
	char *local;                 /* of the unit at hand */
	char *carry;                 /* of the units before it */
	double *low;                 /* float sums: what carry lacks of them */
	char *base;                  /* carry and low in one */
};

/* Room for n of them, without values. 0, or -1 when memory ran out; carries_free is fine in any case. */
int carries_make(struct carries *c, int64_t n);
void carries_free(struct carries *c);
/* n folds of nothing. A float sum of nothing is -0 here: what comes first stays as it is. */
void carries_nothing(const struct fold *f, void *p, int64_t n);
void carries_begin(const struct fold *f, struct carries *c, int64_t n);
/* Fold `values` into the n carries from number `from` on; bring their base up to date with them. */
void carries_advance(const struct fold *f, struct carries *c, int64_t from, const void *values, int64_t n);
void carries_rebase(const struct fold *f, struct carries *c, int64_t from, int64_t n);

#endif
