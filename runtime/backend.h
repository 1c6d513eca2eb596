/* backend.h -- what the two engines offer to api.c: prepare a plan once, run it many times, from any thread. */
#ifndef RUNTIME_BACKEND_H
#define RUNTIME_BACKEND_H

#include "base/diag.h"
#include "ir/plan.h"

/* Addresses for one run: one entry for each input and output of the plan (unused inputs: NULL). Contents are borrowed. */
struct run_arrays {
	void **input;          /* plan->ninput */
	void **output;         /* plan->noutput */
};

/* A gather index out of range. */
struct run_failure {
	int check;             /* number in plan->check; -1: none */
	int64_t position;      /* linear number of the element in check.shape */
	int64_t value;         /* the index found there */
};

/* CPU engine (runtime/cpu.c). A cpu_engine owns a pool of threads. */
struct cpu_engine;
struct cpu_engine *cpu_open(int threads);            /* 0: all cores in the affinity mask; NULL: out of memory */
void cpu_close(struct cpu_engine *e);
const char *cpu_note(const struct cpu_engine *e);    /* "CPU, 8 threads, avx512" */
/* Run all kernels. Temporaries are allocated inside. Checks fail before any output is written where the plan allows. */
gx_status cpu_run(struct cpu_engine *e, const struct plan *p, const struct run_arrays *r, struct run_failure *f, gx_error *err);

/* CUDA engine (runtime/exec_cuda.c). */
struct cuda_engine;
gx_status cuda_engine_open(const gx_options *opt, int ordinal, struct cuda_engine **e, gx_error *err);
void cuda_engine_close(struct cuda_engine *e);
const char *cuda_engine_note(const struct cuda_engine *e);
/* Text, cache, compiler, module for every kernel. Gives *image: cuda_image_free. cost fields cached, ms_codegen, ms_compile,
 * ms_load are filled. */
struct cuda_image;
gx_status cuda_prepare(struct cuda_engine *e, const struct plan *p, gx_math math, struct cuda_image **image, gx_cost *cost, gx_error *err);
void cuda_image_free(struct cuda_engine *e, struct cuda_image *image);
/* Enqueue all kernels on stream; device addresses only. When the plan has checks, waits for them and fills *f. ms (may be NULL):
 * waits and gives GPU time. */
gx_status cuda_engine_run(struct cuda_engine *e, const struct plan *p, struct cuda_image *image, const struct run_arrays *device,
	void *stream, struct run_failure *f, double *ms, gx_error *err);
gx_status cuda_engine_sync(struct cuda_engine *e, void *stream, gx_error *err);
gx_status cuda_engine_alloc(struct cuda_engine *e, size_t bytes, void **data, gx_error *err);
void cuda_engine_free(struct cuda_engine *e, void *data);
/* returns when host may be reused */
gx_status cuda_engine_upload(struct cuda_engine *e, void *device, const void *host, size_t bytes, void *stream, gx_error *err);
/* returns when done */
gx_status cuda_engine_download(struct cuda_engine *e, void *host, const void *device, size_t bytes, void *stream, gx_error *err);
int cuda_engine_ordinal(const struct cuda_engine *e);   /* of its GPU: 0, 1, ... */
/* "sm_90" of the engine's device. */
const char *cuda_engine_arch(const struct cuda_engine *e);
/* PTX of one kernel text for a dump; needs NVRTC, no GPU. Gives *ptx: free(). */
gx_status cuda_dump_ptx(const char *cuda, const char *arch, gx_math math, char **ptx, gx_error *err);

#endif
