/* cpu.h -- shared between the files of the CPU engine.
 *
 * A list of steps is made into a `machine`: every value gets a slot of SLOT bytes (slots are reused when a value is dead, so that live ones
 * stay in the first-level cache), constants and broadcast scalars are filled in once, and a block of up to `block` neighbouring points is
 * computed step by step. Points are numbered in C order of the machine's axes. */
#ifndef RUNTIME_CPU_H
#define RUNTIME_CPU_H

#include <pthread.h>

#include "base/threads.h"
#include "ops/loops.h"
#include "runtime/backend.h"

enum { SLOT = LOOP_BLOCK * 8, CHUNK = 1 << 16 };   /* CHUNK: points of one unit of work, whatever the number of threads */

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

struct machine {
	const struct kernel *k;
	const struct code *code;
	struct port *port;         /* k->port with axes in the machine's order */
	int rank;
	int64_t extent[MAX_RANK];
	int block;                 /* points */
	int *slot;                 /* per step, -1: none */
	int *stored_by;            /* per step: a STORE that the step may write straight to, else -1 */
	uint8_t *fixed;            /* per step: 1 when its slot is filled once */
	int nslots;
	char *const *base;         /* per kernel buffer: first element */
	const struct accumulators *result;   /* of a tail */
	struct run_failure *failure;         /* guarded by failure_lock */
	pthread_mutex_t *failure_lock;
	const struct plan *plan;
};

/* One thread's registers. */
struct registers {
	char *memory, *raw;        /* slots; one more slot for elements before conversion */
	void **value;              /* per step: where its block is */
	int64_t *offset;           /* of gathered elements */
};

/* order: machine axis -> kernel axis. 0, or -1 when memory ran out (machine_free is fine then too). */
int machine_make(struct machine *m, const struct plan *p, const struct kernel *k, const struct code *c, int rank, const int *order, char *const *base);
void machine_free(struct machine *m);
int registers_make(const struct machine *m, struct registers *r);
void registers_free(struct registers *r);
/* Compute n points from `start` (n <= m->block). Folds are left to the caller: r->value[step] of their operands. */
void machine_block(const struct machine *m, struct registers *r, int64_t start, int n);

/* cpu_reduce.c: run a reducing kernel. GX_OK or GX_NOMEM. */
struct kernel_run {
	struct cpu_engine *e;
	const struct plan *p;
	const struct kernel *k;
	char *const *base;
	struct run_failure *failure;
	pthread_mutex_t *failure_lock;
};
gx_status cpu_map(const struct kernel_run *run);
gx_status cpu_reduce(const struct kernel_run *run);
/* Run code over `count` points in chunks, on all threads. */
gx_status machine_run(struct cpu_engine *e, const struct machine *m, int64_t count);

#endif
