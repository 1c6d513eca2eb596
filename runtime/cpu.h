/* cpu.h -- shared between the files of the CPU engine.
 *
 * A list of steps is made into a `machine`: every value gets a slot (slots are reused when a value is dead, so that live ones stay in the
 * near caches), constants and broadcast scalars are filled in once, and a block of up to `block` neighbouring points is computed step by
 * step. Points are numbered in C order of the machine's axes. Values that lie in memory in that order are read and written there, and
 * need a slot only for a last block of fewer than LOOP_PAD points; the fewer slots, the larger the blocks. */
#ifndef RUNTIME_CPU_H
#define RUNTIME_CPU_H

#include <pthread.h>

#include "base/threads.h"
#include "ops/loops.h"
#include "runtime/backend.h"

enum {
	CHUNK = 1 << 16,           /* points of one unit of work, whatever the number of threads */
	FOLD_BLOCK = 1024,         /* points of a block of a reduction, whatever the kernel: sums are put together by blocks */
	MIN_BLOCK = 256, MAX_BLOCK = 1 << 14,
	SLOT_BUDGET = 8 << 10,     /* bytes of all slots, where blocks can be chosen */
	SMALL_SLOT = LOOP_PAD * 8,
	MAX_AHEAD = 8, FAR_BYTES = 2 << 20   /* arrays of more bytes in all are fetched a block ahead */
};

struct cpu_engine {
	struct threads *threads;
	char note[64];
};

/* Folded values of a reducing kernel: `count` accumulators for each fold. */
struct accumulators {
	void **value;              /* per fold: count elements of the fold's type; MOMENTS: m2 */
	long long **position;      /* PAIR */
	double **number, **mean;   /* MOMENTS */
	int64_t count;
};

/* What is known about a step before it runs. */
struct step_plan {
	int slot, small;           /* numbers, -1: none */
	int stored_by;             /* a STORE that the step may write straight to, else -1 */
	uint8_t fixed;             /* 1: its slot is filled once */
	uint8_t direct;            /* 1: whole blocks are in memory, never in a slot */
	uint8_t merged;            /* 1: done by the step that uses it */
	uint8_t narrow;            /* FOLD, 1: arg[0] is float32, to be summed in float64 */
	uint8_t nargs;             /* what fn reads: the step's own operands, or those of two merged steps */
	int arg[3];
	loop_fn fn;                /* OP, CAST; LOAD, STORE: the conversion, NULL for none */
};

struct machine {
	const struct kernel *k;
	const struct code *code;
	struct port *port;         /* k->port with axes in the machine's order */
	int rank;
	int64_t extent[MAX_RANK];
	int block;                 /* points */
	struct step_plan *step;    /* per step of the code */
	uint8_t *flat;             /* per port: 1 when neighbouring points are neighbours in memory, across rows too */
	int nslots, nsmall;
	size_t slot_bytes;
	int ahead[MAX_AHEAD], nahead;   /* ports to fetch a block ahead */
	char *const *base;         /* per kernel buffer: first element */
	const struct accumulators *result;   /* of a tail */
	struct run_failure *failure;         /* guarded by failure_lock */
	pthread_mutex_t *failure_lock;
	const struct plan *plan;
};

/* A kernel about to run on given memory. */
struct kernel_run {
	struct cpu_engine *e;
	const struct plan *p;
	const struct kernel *k;
	char *const *base;
	struct run_failure *failure;
	pthread_mutex_t *failure_lock;
};

/* One thread's registers. */
struct registers {
	char *memory, *raw;        /* slots; one more slot for elements before conversion */
	void **value;              /* per step: where its block is */
	int64_t *offset;           /* of gathered elements */
	void *const *scanned;      /* the tail of a scan: per fold, the block's folds so far; else NULL */
};

static inline int width(gx_dtype t)   /* bytes of an element */
{
	return type_table[t].bytes;
}

/* order: machine axis -> kernel axis. points: of the whole run. block: 0, or the block size to use.
 * 0, or -1 when memory ran out (machine_free is fine then too). */
int machine_make(struct machine *m, const struct kernel_run *run, const struct code *c, int rank, const int *order, int64_t points,
				 int block);
void machine_free(struct machine *m);
int registers_make(const struct machine *m, struct registers *r);
void registers_free(struct registers *r);
/* Points of the next block, where `left` are still to be done. */
static inline int machine_next(const struct machine *m, int64_t left)
{
	return left >= m->block ? m->block : left >= LOOP_PAD ? (int)(left / LOOP_PAD * LOOP_PAD) : (int)left;
}
/* Compute n points from `start`, n as machine_next says. Folds are left to the caller: r->value[step] of their operands. */
void machine_block(const struct machine *m, struct registers *r, int64_t start, int n);

/* Where a STORE step's n elements go as they are in registers: values may be put there before the block runs. NULL: nowhere. */
char *machine_target(const struct machine *m, int store, int64_t start, int n);

/* Run a map, a reducing kernel, a scan. GX_OK or GX_NOMEM. */
gx_status cpu_map(const struct kernel_run *run);
gx_status cpu_reduce(const struct kernel_run *run);
gx_status cpu_scan(const struct kernel_run *run);
/* Run code over `count` points in chunks, on all threads. */
gx_status machine_run(struct cpu_engine *e, const struct machine *m, int64_t count);

#endif
