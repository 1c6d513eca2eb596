/* cuda_open.c -- finding, describing, opening and closing a GPU. The primary context is retained, not a new one made, so
 * that memory and streams are shared with other CUDA libraries in the process. */
#include <string.h>

#include "base/diag.h"
#include "base/fault.h"
#include "runtime/cuda.h"

enum { POOL_RELEASE_THRESHOLD = 4, STREAM_NON_BLOCKING = 1, UNAVAILABLE = 46 };

/* Numbers of CUdevice_attribute. */
static const struct { int attribute; size_t at; } attributes[] = {
	{16, offsetof(struct cuda_props, sms)},
	{10, offsetof(struct cuda_props, warp)},
	{1, offsetof(struct cuda_props, max_threads_block)},
	{39, offsetof(struct cuda_props, max_threads_sm)},
	{106, offsetof(struct cuda_props, max_blocks_sm)},
	{8, offsetof(struct cuda_props, shared_block)},
	{97, offsetof(struct cuda_props, shared_optin)},
	{38, offsetof(struct cuda_props, l2_bytes)},
	{37, offsetof(struct cuda_props, bus_bits)},
	{36, offsetof(struct cuda_props, memory_khz)},
	{32, offsetof(struct cuda_props, ecc)},
	{18, offsetof(struct cuda_props, integrated)},
	{17, offsetof(struct cuda_props, watchdog)},
	{20, offsetof(struct cuda_props, compute_mode)},
	{115, offsetof(struct cuda_props, pools)},
};

/* The table, or NULL and the reason. */
static const struct driver *need_driver(gx_error *err)
{
	const struct driver *cu = driver_get();
	struct buf why = {0};

	if (cu && !driver_forked())
		return cu;
	if (cu)
		diag_plain(err, GX_DEVICE, "this process was forked after the GPU was in use; CUDA does not work in such a child: "
			"start a new program (spawn or exec) instead");
	if (!cu) {
		driver_why(&why);
		diag_plain(err, GX_DEVICE, "%s", why.text ? why.text : "no NVIDIA driver");
		buf_free(&why);
	}
	return NULL;
}

static gx_status driver_error(gx_error *err, const char *call, int code)
{
	return diag_plain(err, driver_error_status(code), "%s: %s (%d): %s", call, driver_error_name(code), code,
		driver_error_text(code));
}

int cuda_count(gx_error *err)
{
	const struct driver *cu = need_driver(err);
	int n = 0, code;

	if (!cu)
		return -1;
	code = cu->cuDeviceGetCount(&n);
	if (code) {
		driver_error(err, "cuDeviceGetCount(&n)", code);
		return -1;
	}
	return n;
}

static int attribute(const struct driver *cu, int number, int device)
{
	int v = 0;

	return cu->cuDeviceGetAttribute(&v, number, device) ? 0 : v;
}

static gx_status describe(const struct driver *cu, int ordinal, int *device, struct cuda_props *p, gx_error *err)
{
	int code = cu->cuDeviceGet(device, ordinal), v;
	size_t i;

	memset(p, 0, sizeof *p);
	if (code)
		return driver_error(err, "cuDeviceGet(device, ordinal)", code);
	for (i = 0; i < sizeof attributes / sizeof *attributes; i++) {
		v = attribute(cu, attributes[i].attribute, *device);
		memcpy((char *)p + attributes[i].at, &v, sizeof v);
	}
	p->ordinal = ordinal;
	p->cc = 10 * attribute(cu, 75, *device) + attribute(cu, 76, *device);
	p->driver = driver_report()->version;
	cu->cuDeviceGetName(p->name, (int)sizeof p->name - 1, *device);
	cu->cuDeviceTotalMem(&p->memory, *device);
	if (cu->cuDeviceGetPCIBusId)
		cu->cuDeviceGetPCIBusId(p->pci, (int)sizeof p->pci, *device);
	if (cu->cuDeviceGetUuid)
		cu->cuDeviceGetUuid(p->uuid, *device);
	return GX_OK;
}

gx_status cuda_describe(int ordinal, struct cuda_props *p, gx_error *err)
{
	const struct driver *cu = need_driver(err);
	int device;

	return cu ? describe(cu, ordinal, &device, p, err) : GX_DEVICE;
}

/* A pool of our own: the device's default one may be shared with the host program, whose settings are not ours to change.
 * The threshold keeps freed memory: without it, every allocation after a sync costs milliseconds. */
static void make_pool(struct cuda_call *c)
{
	struct cuda *dev = c->dev;
	struct cu_pool_props props = {.kind = 1, .location = 1, .device = dev->device};
	unsigned long long keep = ~0ull;

	if (!dev->props.pools || !c->cu->cuMemPoolCreate || !c->cu->cuMemPoolDestroy || !c->cu->cuMemPoolSetAttribute
			|| !c->cu->cuMemAllocFromPoolAsync || !c->cu->cuMemFreeAsync || !c->cu->cuMemPoolTrimTo)
		return;
	if (c->cu->cuMemPoolCreate(&dev->pool, &props)) {
		dev->pool = NULL;
		return;
	}
	c->cu->cuMemPoolSetAttribute(dev->pool, POOL_RELEASE_THRESHOLD, &keep);
}

static gx_status start(struct cuda *dev, int ordinal, gx_error *err)
{
	static const char *const modes[] = {"default", "exclusive thread", "prohibited", "exclusive process"};
	gx_status s = describe(dev->cu, ordinal, &dev->device, &dev->props, err);
	struct cuda_call c;
	int code, mode = dev->props.compute_mode;

	if (s)
		return s;
	code = dev->cu->cuDevicePrimaryCtxRetain(&dev->context, dev->device);
	if (code == UNAVAILABLE && mode > 0 && mode < 4)
		return diag_plain(err, GX_DEVICE, "GPU %d (%s) is in compute mode \"%s\" and cannot be used now; use another GPU, or "
			"`nvidia-smi -i %d -c 0` as root", ordinal, dev->props.name, modes[mode], ordinal);
	if (code)
		return driver_error(err, "cuDevicePrimaryCtxRetain(&context, device)", code);
	if (!cuda_enter(&c, dev, err)) {
		if (CU(&c, cuStreamCreate(&dev->stream, STREAM_NON_BLOCKING)) == 0)
			make_pool(&c);
	}
	s = cuda_leave(&c);
	if (s)
		dev->cu->cuDevicePrimaryCtxRelease(dev->device);
	return s;
}

gx_status cuda_open(int ordinal, struct cuda **out, gx_error *err)
{
	const struct driver *cu = need_driver(err);
	int n = cu ? cuda_count(err) : -1, first = ordinal < 0 ? 0 : ordinal, last = ordinal < 0 ? n - 1 : ordinal, i;
	struct cuda *dev;
	gx_error later;
	gx_status s = GX_DEVICE;

	*out = NULL;
	if (n < 0)
		return GX_DEVICE;
	if (first >= n)
		return diag_plain(err, GX_DEVICE, "there is no GPU %d; %d %s visible (see gpuexpr --devices)", first, n,
			n == 1 ? "is" : "are");
	dev = gx_calloc(1, sizeof *dev);
	if (!dev)
		return diag_plain(err, GX_NOMEM, "out of memory");
	dev->cu = cu;
	pthread_mutex_init(&dev->lock, NULL);
	for (i = first; i <= last && s; i++)
		s = start(dev, i, i == first ? err : &later);   /* the first reason is the one to tell */
	if (s) {
		pthread_mutex_destroy(&dev->lock);
		free(dev);
		return s;
	}
	if (err)
		memset(err, 0, sizeof *err);
	*out = dev;
	return GX_OK;
}

/* A dead context is left as it is, and so is everything when the driver is already shutting down. */
void cuda_close(struct cuda *dev)
{
	void *old;
	int i;

	if (!dev)
		return;
	if (!driver_forked() && !__atomic_load_n(&dev->dead, __ATOMIC_RELAXED) && dev->cu->cuCtxPushCurrent(dev->context) == 0) {
		struct cuda_call c = {.dev = dev, .cu = dev->cu};

		dev->cu->cuStreamSynchronize(dev->stream);
		for (i = 0; i < dev->nevents; i++)
			dev->cu->cuEventDestroy(dev->event[i]);
		cuda_pool_empty(&c);
		if (dev->pool)
			dev->cu->cuMemPoolDestroy(dev->pool);
		dev->cu->cuStreamDestroy(dev->stream);
		dev->cu->cuCtxPopCurrent(&old);
		dev->cu->cuDevicePrimaryCtxRelease(dev->device);
	}
	cuda_pool_forget(dev);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}
