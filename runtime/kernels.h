/* kernels.h -- CUDA C text to a loaded kernel, by the shortest way: one that this process has loaded already, else an image
 * from the cache on disk, else NVRTC. Each distinct text is loaded once, however many threads ask. Any thread. */
#ifndef RUNTIME_KERNELS_H
#define RUNTIME_KERNELS_H

#include "include/gpuexpr.h"
#include "runtime/cache.h"
#include "runtime/cuda.h"
#include "runtime/memo.h"

/* The name that every generated kernel has. */
#define KERNEL_NAME "gx_kernel"

struct kernels;

struct loaded {
	struct cuda_kernel kernel;
	int target, ptx, nvrtc;        /* of the image; nvrtc: version of the compiler */
	struct memo_entry *entry;
};

/* Where the time went; the caller zeroes it, calls add to it. */
struct kernels_cost {
	int memory, disk, compiled;    /* kernels found loaded, found on disk, compiled */
	double ms_compile, ms_load;
};

/* Borrows both, which must outlive it. Gives: kernels_free. NULL: out of memory. */
struct kernels *kernels_new(struct cuda *dev, struct cache *cache);
void kernels_free(struct kernels *ks);     /* all loaded kernels must have been released; NULL is fine */
/* Gives *k: kernels_release. Status as nvrtc_compile, or DEVICE when the GPU does not take the image. */
gx_status kernels_get(struct kernels *ks, const char *source, gx_math math, const struct loaded **k,
	struct kernels_cost *cost, gx_error *err);
void kernels_release(struct kernels *ks, const struct loaded *k);

/* The key text of the cache: versions, target, options, an empty line and the source. Nothing of the machine, nothing
 * that varies without need. */
void kernels_key(const char *source, int cc, gx_math math, int nvrtc, struct buf *b);

#endif
