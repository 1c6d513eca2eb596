/* cuda_pool.c -- device memory. Where the driver has stream-ordered pools they do the work. Elsewhere freed blocks are kept
 * in a list, each with an event recorded when it was freed: a block taken again on another stream waits for that event, so
 * reuse is as safe as with the driver's pools. Sizes are rounded so that blocks fit again (at most an eighth is wasted). */
#include <stdint.h>
#include <string.h>

#include "base/diag.h"
#include "base/fault.h"
#include "runtime/cuda.h"

enum { NO_TIMING = 2, OUT_OF_MEMORY = 2, SMALLEST = 256 };

struct cuda_block {
	cu_ptr p;
	size_t bytes;
	void *event, *stream;        /* where it was freed */
	struct cuda_block *next;
};

static size_t rounded(size_t bytes)
{
	size_t step = SMALLEST;

	while (step < bytes / 8)
		step *= 2;
	return bytes > SIZE_MAX - step ? SIZE_MAX : (bytes + step - 1) / step * step;
}

static struct cuda_block **slot(struct cuda *dev, cu_ptr p)
{
	return &dev->used[p / SMALLEST % (sizeof dev->used / sizeof *dev->used)];
}

/* An unused block of exactly this size, best one freed on the same stream. With the lock. */
static struct cuda_block *reuse(struct cuda *dev, size_t bytes, void *stream)
{
	struct cuda_block **p, **found = NULL, *b;

	for (p = &dev->unused; *p; p = &(*p)->next)
		if ((*p)->bytes == bytes && (!found || (*p)->stream == stream))
			found = p;
	if (!found)
		return NULL;
	b = *found;
	*found = b->next;
	return b;
}

static struct cuda_block *fresh(struct cuda_call *c, size_t bytes, int *code)
{
	struct cuda_block *b = gx_calloc(1, sizeof *b);

	*code = OUT_OF_MEMORY;
	if (!b)
		return NULL;
	b->bytes = bytes;
	*code = c->cu->cuMemAlloc(&b->p, bytes);
	if (*code == 0)
		*code = c->cu->cuEventCreate(&b->event, NO_TIMING);
	if (*code == 0)
		return b;
	if (b->p)
		c->cu->cuMemFree(b->p);
	free(b);
	return NULL;
}

static int take_block(struct cuda_call *c, size_t bytes, void *stream, cu_ptr *p)
{
	struct cuda *dev = c->dev;
	struct cuda_block *b, **list;
	int code = 0;

	pthread_mutex_lock(&dev->lock);
	b = reuse(dev, bytes, stream);
	if (b && b->stream != stream)
		code = c->cu->cuStreamWaitEvent(stream, b->event, 0);
	if (!b)
		b = fresh(c, bytes, &code);
	if (b) {
		list = code ? &dev->unused : slot(dev, b->p);
		b->next = *list;
		*list = b;
		*p = b->p;
	}
	pthread_mutex_unlock(&dev->lock);
	return code;
}

static int take(struct cuda_call *c, size_t bytes, void *stream, cu_ptr *p)
{
	if (c->dev->pool)
		return c->cu->cuMemAllocFromPoolAsync(p, bytes, c->dev->pool, stream);
	return take_block(c, bytes, stream, p);
}

/* Frees what the pool holds but nobody uses. */
void cuda_pool_empty(struct cuda_call *c)
{
	struct cuda *dev = c->dev;

	c->cu->cuCtxSynchronize();
	if (dev->pool)
		c->cu->cuMemPoolTrimTo(dev->pool, 0);
	pthread_mutex_lock(&dev->lock);
	while (dev->unused) {
		struct cuda_block *b = dev->unused;

		dev->unused = b->next;
		c->cu->cuMemFree(b->p);
		c->cu->cuEventDestroy(b->event);
		free(b);
	}
	pthread_mutex_unlock(&dev->lock);
}

/* Our own records only; the memory itself goes with the context. */
void cuda_pool_forget(struct cuda *dev)
{
	size_t i;

	for (i = 0; i <= sizeof dev->used / sizeof *dev->used; i++) {
		struct cuda_block *b = i ? dev->used[i - 1] : dev->unused, *next;

		for (; b; b = next) {
			next = b->next;
			free(b);
		}
	}
}

static void short_of_memory(struct cuda_call *c, size_t bytes)
{
	size_t available = 0, total = 0;

	c->code = OUT_OF_MEMORY;
	c->cu->cuMemGetInfo(&available, &total);
	c->status = diag_plain(c->err, GX_NOMEM, "out of GPU memory: %.3f GB wanted, %.3f of %.3f GB free on GPU %d (%s)",
		(double)bytes * 1e-9, (double)available * 1e-9, (double)total * 1e-9, c->dev->props.ordinal, c->dev->props.name);
}

cu_ptr cuda_take(struct cuda_call *c, size_t bytes, void *stream)
{
	cu_ptr p = 0;
	int code;

	if (c->status || bytes == 0)
		return 0;
	bytes = rounded(bytes);
	code = take(c, bytes, stream, &p);
	if (code == OUT_OF_MEMORY) {
		cuda_pool_empty(c);
		code = take(c, bytes, stream, &p);
	}
	if (code == OUT_OF_MEMORY)
		short_of_memory(c, bytes);
	else if (code)
		cuda_result(c, code, c->dev->pool ? "cuMemAllocFromPoolAsync(&p, bytes, pool, stream)" : "cuMemAlloc(&p, bytes)");
	return code ? 0 : p;
}

static struct cuda_block *take_out(struct cuda *dev, cu_ptr p)
{
	struct cuda_block **q = slot(dev, p), *b;

	while (*q && (*q)->p != p)
		q = &(*q)->next;
	b = *q;
	if (b)
		*q = b->next;
	return b;
}

/* Runs also after a failure, when the memory must still go back. */
void cuda_give(struct cuda_call *c, cu_ptr p, void *stream)
{
	struct cuda *dev = c->dev;
	struct cuda_block *b;

	if (!p || __atomic_load_n(&dev->dead, __ATOMIC_RELAXED))
		return;
	if (dev->pool) {
		c->cu->cuMemFreeAsync(p, stream);
		return;
	}
	pthread_mutex_lock(&dev->lock);
	b = take_out(dev, p);
	if (b) {
		c->cu->cuEventRecord(b->event, stream);
		b->stream = stream;
		b->next = dev->unused;
		dev->unused = b;
	}
	pthread_mutex_unlock(&dev->lock);
}

gx_status cuda_alloc(struct cuda *dev, size_t bytes, void *stream, cu_ptr *p, gx_error *err)
{
	struct cuda_call c;

	*p = 0;
	if (!cuda_enter(&c, dev, err))
		*p = cuda_take(&c, bytes, stream);
	return cuda_leave(&c);
}

void cuda_free(struct cuda *dev, cu_ptr p, void *stream)
{
	struct cuda_call c;

	if (p && !cuda_enter(&c, dev, NULL)) {
		cuda_give(&c, p, stream);
		cuda_leave(&c);
	}
}

gx_status cuda_alloc_now(struct cuda *dev, size_t bytes, cu_ptr *p, gx_error *err)
{
	struct cuda_call c;

	*p = 0;
	if (!cuda_enter(&c, dev, err)) {
		*p = cuda_take(&c, bytes, dev->stream);
		if (CU(&c, cuStreamSynchronize(dev->stream))) {
			cuda_give(&c, *p, dev->stream);
			*p = 0;
		}
	}
	return cuda_leave(&c);
}

/* The default stream, so that work there which still uses the memory is waited for, as with cudaFree. */
void cuda_free_now(struct cuda *dev, cu_ptr p)
{
	cuda_free(dev, p, NULL);
}

gx_status cuda_memory(struct cuda *dev, size_t *available, size_t *total, gx_error *err)
{
	struct cuda_call c;

	*available = *total = 0;
	if (!cuda_enter(&c, dev, err))
		CU(&c, cuMemGetInfo(available, total));
	return cuda_leave(&c);
}
