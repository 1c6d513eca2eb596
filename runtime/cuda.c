/* cuda.c -- entries into the driver, copies, modules, launches and timing on one GPU; see cuda.h. */
#include "runtime/cuda.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 };
enum { FUNC_MAX_THREADS = 0, FUNC_SHARED = 1, FUNC_LOCAL = 3, FUNC_REGS = 4, FUNC_MAX_DYNAMIC = 8 };
enum { SHARED_ALWAYS = 48 << 10 };   /* more shared memory than this must be asked for */

int cuda_result(struct cuda_call *c, int code, const char *call)
{
	if (code == 0)
		return 0;
	if (driver_error_sticky(code))
		__atomic_store_n(&c->dev->dead, code, __ATOMIC_RELAXED);
	if (c->status)
		return code;
	c->code = code;
	c->status = diag_plain(c->err, driver_error_status(code), "%s: %s (%d): %s", call, driver_error_name(code), code,
		driver_error_text(code));
	return code;
}

gx_status cuda_enter(struct cuda_call *c, struct cuda *dev, gx_error *err)
{
	int dead = __atomic_load_n(&dev->dead, __ATOMIC_RELAXED);

	memset(c, 0, sizeof *c);
	c->dev = dev;
	c->cu = dev->cu;
	c->err = err;
	if (driver_forked())
		return c->status = diag_plain(err, GX_DEVICE, "this process was forked after the GPU was in use; CUDA does not work in "
			"such a child: start a new program (spawn or exec) instead");
	if (dead)
		return c->status = diag_plain(err, GX_DEVICE, "the GPU context was lost earlier by %s (%d); restart the process",
			driver_error_name(dead), dead);
	if (CU(c, cuCtxPushCurrent(dev->context)) == 0)
		c->pushed = 1;
	return c->status;
}

gx_status cuda_leave(struct cuda_call *c)
{
	void *old;

	if (c->pushed)
		c->cu->cuCtxPopCurrent(&old);
	c->pushed = 0;
	return c->status;
}

gx_status cuda_sync(struct cuda *dev, void *stream, gx_error *err)
{
	struct cuda_call c;

	if (!cuda_enter(&c, dev, err))
		CU(&c, cuStreamSynchronize(stream));
	return cuda_leave(&c);
}

/* From page-locked memory the copy is truly asynchronous, hence the wait. */
gx_status cuda_upload(struct cuda *dev, cu_ptr to, const void *host, size_t bytes, void *stream, gx_error *err)
{
	struct cuda_call c;

	if (bytes == 0)
		return GX_OK;
	if (!cuda_enter(&c, dev, err)) {
		CU(&c, cuMemcpyHtoDAsync(to, host, bytes, stream));
		CU(&c, cuStreamSynchronize(stream));
	}
	return cuda_leave(&c);
}

gx_status cuda_download(struct cuda *dev, void *host, cu_ptr from, size_t bytes, void *stream, gx_error *err)
{
	struct cuda_call c;

	if (bytes == 0)
		return GX_OK;
	if (!cuda_enter(&c, dev, err)) {
		CU(&c, cuMemcpyDtoHAsync(host, from, bytes, stream));
		CU(&c, cuStreamSynchronize(stream));
	}
	return cuda_leave(&c);
}

gx_status cuda_copy(struct cuda *dev, cu_ptr to, cu_ptr from, size_t bytes, void *stream, gx_error *err)
{
	struct cuda_call c;

	if (bytes == 0)
		return GX_OK;
	if (!cuda_enter(&c, dev, err))
		CU(&c, cuMemcpyDtoDAsync(to, from, bytes, stream));
	return cuda_leave(&c);
}

gx_status cuda_fill(struct cuda *dev, cu_ptr to, int byte, size_t bytes, void *stream, gx_error *err)
{
	struct cuda_call c;

	if (bytes == 0)
		return GX_OK;
	if (!cuda_enter(&c, dev, err))
		CU(&c, cuMemsetD8Async(to, (unsigned char)byte, bytes, stream));
	return cuda_leave(&c);
}

static int function_attribute(struct cuda_call *c, const struct cuda_kernel *k, int attribute)
{
	int v = 0;

	CU(c, cuFuncGetAttribute(&v, attribute, k->function));
	return v;
}

static void look_up(struct cuda_call *c, const char *name, struct cuda_kernel *k)
{
	CU(c, cuModuleGetFunction(&k->function, k->module, name));
	k->regs = function_attribute(c, k, FUNC_REGS);
	k->local_bytes = function_attribute(c, k, FUNC_LOCAL);
	k->shared_bytes = function_attribute(c, k, FUNC_SHARED);
	k->max_threads = function_attribute(c, k, FUNC_MAX_THREADS);
	if (c->status && k->module) {
		c->cu->cuModuleUnload(k->module);
		memset(k, 0, sizeof *k);
	}
}

/* The driver's own compiler (for PTX) explains itself in a log: its first line goes into the message. */
static void load_module(struct cuda_call *c, const void *image, struct cuda_kernel *k)
{
	char log[2048] = "";
	int options[2] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
	void *values[2] = {log, (void *)(uintptr_t)(sizeof log - 1)};
	size_t n;

	pthread_mutex_lock(&c->dev->lock);
	CU(c, cuModuleLoadDataEx(&k->module, image, 2, options, values));
	pthread_mutex_unlock(&c->dev->lock);
	if (!c->status || !c->err || !*log)
		return;
	n = strlen(c->err->text);
	snprintf(c->err->text + n, sizeof c->err->text - n, "\n%s", log);
}

gx_status cuda_load(struct cuda *dev, const void *image, const char *name, struct cuda_kernel *k, int *code, gx_error *err)
{
	struct cuda_call c;

	memset(k, 0, sizeof *k);
	if (!cuda_enter(&c, dev, err)) {
		load_module(&c, image, k);
		if (!c.status)
			look_up(&c, name, k);
	}
	if (code)
		*code = c.code;
	return cuda_leave(&c);
}

void cuda_unload(struct cuda *dev, struct cuda_kernel *k)
{
	struct cuda_call c;

	if (k->module && !cuda_enter(&c, dev, NULL)) {
		c.cu->cuModuleUnload(k->module);
		cuda_leave(&c);
	}
	memset(k, 0, sizeof *k);
}

int cuda_occupancy(struct cuda *dev, const struct cuda_kernel *k, int threads, size_t shared)
{
	struct cuda_call c;
	int blocks = 0;

	if (!cuda_enter(&c, dev, NULL))
		CU(&c, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k->function, threads, shared));
	return cuda_leave(&c) ? 0 : blocks;
}

void cuda_launch_in(struct cuda_call *c, const struct cuda_kernel *k, const unsigned grid[3], unsigned block, unsigned shared,
	void *params, void *stream)
{
	void *list[1] = {params};

	if (shared && shared + (unsigned)k->shared_bytes > SHARED_ALWAYS)
		CU(c, cuFuncSetAttribute(k->function, FUNC_MAX_DYNAMIC, (int)shared));
	CU(c, cuLaunchKernel(k->function, grid[0], grid[1], grid[2], block, 1, 1, shared, stream, list, NULL));
}

gx_status cuda_launch(struct cuda *dev, const struct cuda_kernel *k, const unsigned grid[3], unsigned block, unsigned shared,
	void *params, void *stream, gx_error *err)
{
	struct cuda_call c;

	if (!cuda_enter(&c, dev, err))
		cuda_launch_in(&c, k, grid, block, shared, params, stream);
	return cuda_leave(&c);
}

static void *event_take(struct cuda_call *c)
{
	struct cuda *dev = c->dev;
	void *e = NULL;

	pthread_mutex_lock(&dev->lock);
	if (dev->nevents)
		e = dev->event[--dev->nevents];
	pthread_mutex_unlock(&dev->lock);
	if (!e)
		CU(c, cuEventCreate(&e, 0));
	return e;
}

static void event_give(struct cuda_call *c, void *e)
{
	struct cuda *dev = c->dev;

	if (!e)
		return;
	pthread_mutex_lock(&dev->lock);
	if (dev->nevents < (int)(sizeof dev->event / sizeof *dev->event)) {
		dev->event[dev->nevents++] = e;
		e = NULL;
	}
	pthread_mutex_unlock(&dev->lock);
	if (e)
		c->cu->cuEventDestroy(e);
}

gx_status cuda_timer_start(struct cuda *dev, struct cuda_timer *t, void *stream, gx_error *err)
{
	struct cuda_call c;

	t->start = t->stop = NULL;
	if (!cuda_enter(&c, dev, err)) {
		t->start = event_take(&c);
		t->stop = event_take(&c);
		if (CU(&c, cuEventRecord(t->start, stream))) {
			event_give(&c, t->start);
			event_give(&c, t->stop);
			t->start = t->stop = NULL;
		}
	}
	return cuda_leave(&c);
}

gx_status cuda_timer_stop(struct cuda *dev, struct cuda_timer *t, void *stream, gx_error *err)
{
	struct cuda_call c;

	if (!cuda_enter(&c, dev, err))
		CU(&c, cuEventRecord(t->stop, stream));
	return cuda_leave(&c);
}

gx_status cuda_timer_read(struct cuda *dev, struct cuda_timer *t, double *ms, gx_error *err)
{
	struct cuda_call c;
	float f = 0;

	if (!cuda_enter(&c, dev, err)) {
		CU(&c, cuEventSynchronize(t->stop));
		CU(&c, cuEventElapsedTime(&f, t->start, t->stop));
		event_give(&c, t->start);
		event_give(&c, t->stop);
	}
	t->start = t->stop = NULL;
	*ms = f;
	return cuda_leave(&c);
}
