/* cuda.h -- one GPU: its primary context, memory pool, copies, modules, launches and timing; errors as values with plain
 * sentences. Nothing above this header calls the driver, except through CU() inside cuda_enter .. cuda_leave.
 *
 *	struct cuda_call c;
 *	if (!cuda_enter(&c, dev, err)) {
 *		CU(&c, cuStreamSynchronize(stream));
 *		...                                   after a failure, further CU() lines do nothing
 *	}
 *	return cuda_leave(&c);
 *
 * Any thread. The context that was current for the calling thread is so again after every call. In a forked child and
 * after a sticky error (a kernel crashed) every call is refused with GX_DEVICE. Streams are CUstream handles of the device's
 * primary context; NULL is the legacy default stream. */
#ifndef RUNTIME_CUDA_H
#define RUNTIME_CUDA_H

#include <pthread.h>
#include <stddef.h>

#include "runtime/driver.h"

struct cuda_props {
	char name[96], pci[24];
	unsigned char uuid[16];
	int ordinal, cc;                    /* cc: 90 = compute capability 9.0 */
	int sms, warp, max_threads_block, max_threads_sm, max_blocks_sm;
	int shared_block, shared_optin;     /* bytes; optin: what a launch may ask for */
	int l2_bytes, bus_bits, memory_khz, ecc, integrated;
	int watchdog;                       /* 1: long kernels are killed (a display is attached) */
	int compute_mode;                   /* 0 shared, 2 prohibited, 3 one process */
	int pools;                          /* the driver has memory pools */
	size_t memory;                      /* bytes */
	int driver;                         /* version, as 13000 */
};

struct cuda_block;                          /* cuda_pool.c */

struct cuda {
	const struct driver *cu;
	struct cuda_props props;
	int device;
	void *context;
	void *stream;                       /* our own, for allocations outside any stream */
	void *pool;                         /* the driver's memory pool, or NULL: blocks below are used */
	int dead;                           /* code of the sticky error; atomic */
	pthread_mutex_t lock;               /* guards what follows, and module loading */
	struct cuda_block *used[256], *unused;
	void *event[64];                    /* spare events with timing */
	int nevents;
};

/* One entry into the driver; on the caller's stack. */
struct cuda_call {
	struct cuda *dev;
	const struct driver *cu;
	gx_error *err;
	gx_status status;                   /* of the first failure */
	int code;                           /* its CUresult */
	int pushed;
};

#define CU(c, call) ((c)->status ? (c)->code : cuda_result((c), (c)->cu->call, #call))

gx_status cuda_enter(struct cuda_call *c, struct cuda *dev, gx_error *err);
gx_status cuda_leave(struct cuda_call *c);
/* Note the result of a driver call; returns the code. */
int cuda_result(struct cuda_call *c, int code, const char *call);

/* The number of visible GPUs, or -1 and *err: no usable driver, or a forked child. */
int cuda_count(gx_error *err);
/* Facts about a GPU; makes no context. */
gx_status cuda_describe(int ordinal, struct cuda_props *props, gx_error *err);
/* ordinal: 0, 1, ... or GX_DEVICE_AUTO: the first GPU that lets itself be opened. Gives *dev: cuda_close. */
gx_status cuda_open(int ordinal, struct cuda **dev, gx_error *err);
void cuda_close(struct cuda *dev);          /* NULL is fine; frees its pool; never fails */

/* Memory of at least `bytes` bytes, 256-aligned, usable at once on `stream` and elsewhere after synchronising with it. When
 * memory is short, the pool is emptied and the call repeated before it fails (NOMEM, with the figures). 0 bytes give 0. */
gx_status cuda_alloc(struct cuda *dev, size_t bytes, void *stream, cu_ptr *p, gx_error *err);
/* Back to the pool once the work enqueued on `stream` so far is done. 0 is fine. */
void cuda_free(struct cuda *dev, cu_ptr p, void *stream);
/* The same for memory that belongs to no stream: usable everywhere at once; when freed, no stream may be using it. */
gx_status cuda_alloc_now(struct cuda *dev, size_t bytes, cu_ptr *p, gx_error *err);
void cuda_free_now(struct cuda *dev, cu_ptr p);
gx_status cuda_memory(struct cuda *dev, size_t *free, size_t *total, gx_error *err);
/* Inside an entry. */
cu_ptr cuda_take(struct cuda_call *c, size_t bytes, void *stream);
void cuda_give(struct cuda_call *c, cu_ptr p, void *stream);
void cuda_pool_empty(struct cuda_call *c);   /* waits for the GPU, then frees what nobody uses */
void cuda_pool_forget(struct cuda *dev);     /* for cuda_close */

/* Copies, in the order of the stream. upload returns when `host` may be reused, download when the bytes are there. */
gx_status cuda_upload(struct cuda *dev, cu_ptr to, const void *host, size_t bytes, void *stream, gx_error *err);
gx_status cuda_download(struct cuda *dev, void *host, cu_ptr from, size_t bytes, void *stream, gx_error *err);
gx_status cuda_copy(struct cuda *dev, cu_ptr to, cu_ptr from, size_t bytes, void *stream, gx_error *err);
gx_status cuda_fill(struct cuda *dev, cu_ptr to, int byte, size_t bytes, void *stream, gx_error *err);

/* A loaded kernel. */
struct cuda_kernel {
	void *module, *function;
	int regs, local_bytes, shared_bytes, max_threads;
};
/* Load an image (cubin, or PTX text with NUL) and look up one kernel. *code (may be NULL) is the CUresult, for the ladder:
 * 209, 218, 222 and 200 mean that this image is not for this GPU or driver. */
gx_status cuda_load(struct cuda *dev, const void *image, const char *name, struct cuda_kernel *k, int *code, gx_error *err);
void cuda_unload(struct cuda *dev, struct cuda_kernel *k);
/* Blocks of this size that one multiprocessor holds at once; 0 when it fails. */
int cuda_occupancy(struct cuda *dev, const struct cuda_kernel *k, int threads, size_t shared);
/* Launch with one parameter: the struct at params, whose size the kernel knows. Asynchronous. Inside an entry. */
void cuda_launch_in(struct cuda_call *c, const struct cuda_kernel *k, const unsigned grid[3], unsigned block, unsigned shared,
	void *params, void *stream);
gx_status cuda_launch(struct cuda *dev, const struct cuda_kernel *k, const unsigned grid[3], unsigned block, unsigned shared,
	void *params, void *stream, gx_error *err);
gx_status cuda_sync(struct cuda *dev, void *stream, gx_error *err);

/* GPU time between two points of a stream. */
struct cuda_timer { void *start, *stop; };
gx_status cuda_timer_start(struct cuda *dev, struct cuda_timer *t, void *stream, gx_error *err);
gx_status cuda_timer_stop(struct cuda *dev, struct cuda_timer *t, void *stream, gx_error *err);
/* Waits for the second point; *ms in milliseconds. Ends the timer, also on failure. */
gx_status cuda_timer_read(struct cuda *dev, struct cuda_timer *t, double *ms, gx_error *err);

#endif
