/* program.h -- the objects behind the public handles; shared by the api*.c files only. */
#ifndef RUNTIME_PROGRAM_H
#define RUNTIME_PROGRAM_H

#include <pthread.h>

#include "ir/check.h"
#include "ir/plan.h"
#include "parser/ast.h"
#include "runtime/backend.h"

struct remembered;

struct gx_context {
	gx_options opt;             /* strings are own copies */
	char *cache_dir, *arch;
	struct cpu_engine *cpu;     /* always there: dumps and small work need it */
	struct cuda_engine *cuda;   /* NULL: a CPU context */
	int device;
	char note[512];
	pthread_mutex_t lock;       /* of `programs` */
	struct remembered *programs;
	int nprograms;
};

struct gx_formula {
	struct formula f;
};

struct gx_program {
	struct arena arena;
	jmp_buf no_memory;
	struct text text;
	struct diag diag;
	struct binding *binding; int nbinding;
	struct ir *ir;
	struct plan *plan;
	struct cuda_image *image;
	gx_context *ctx;
	gx_cost cost;
};

double clock_ms(void);
int64_t array_count(const gx_array *a);   /* elements */
void array_extent(const gx_array *a, int64_t *lo, int64_t *hi);   /* bytes from data that it may touch: [lo, hi) */
/* Find input or output arrays of a call in the program's order; *err names what is missing or different. */
gx_status match_inputs(const gx_program *p, const gx_array *a, int n, const gx_array **found, gx_error *err);
gx_status match_outputs(const gx_program *p, const gx_array *a, int n, const gx_array **found, gx_error *err);
gx_status same_output(const struct plan_output *o, const gx_array *a, gx_error *err);   /* dtype, shape, C-contiguous, aligned */
gx_status no_overlaps(const gx_program *p, const gx_array **in, const gx_array **out, gx_error *err);
void forget_programs(gx_context *ctx);   /* those of gx_eval */

#endif
