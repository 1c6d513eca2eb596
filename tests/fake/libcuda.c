/* libcuda.c -- a driver without a GPU, for tests of everything that touches the driver: memory is malloc, a launch only
 * counts (or, with FAKE_PROBE=1, computes what the doctor's kernel would), and any call can be made to fail.
 *	FAKE_FAIL="cuMemAlloc_v2:2:3"   the third call of that function gives 2; ":3+" the third and all later ones
 *	FAKE_POOLS=0                    no memory pools; FAKE_CC=86; FAKE_DEVICES=2; FAKE_MEMORY=bytes
 * Calls that need a current context give 201 without one. fake_depth, fake_live and fake_count are for the tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long cu_ptr;
struct pool_props;

enum { NO_CONTEXT = 201, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, MAGIC = 0x67c5 };

static _Thread_local void *stack[64];
static _Thread_local int depth;
static long live_bytes, live_objects, launches, loads;
static int contexts[16];

int fake_depth(void)
{
	return depth;
}

long fake_count(const char *what)
{
	return !strcmp(what, "bytes") ? live_bytes : !strcmp(what, "objects") ? live_objects : !strcmp(what, "launches") ? launches
		: !strcmp(what, "loads") ? loads : -1;
}

static long number(const char *variable, long otherwise)
{
	const char *v = getenv(variable);

	return v ? atol(v) : otherwise;
}

static int fails(const char *name)
{
	static long calls;
	const char *v = getenv("FAKE_FAIL");
	size_t n = strlen(name);
	long nth, call;
	int code, at = 0;

	if (!v || strncmp(v, name, n) || v[n] != ':' || sscanf(v + n, ":%d:%ld%n", &code, &nth, &at) < 2)
		return 0;
	call = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
	return call == nth || (call > nth && v[n + (size_t)at] == '+') ? code : 0;
}

#define FREE_CALL(name) do { int f = fails(#name); if (f) return f; } while (0)
#define CALL(name) do { FREE_CALL(name); if (!depth) return NO_CONTEXT; } while (0)

static void count(long bytes, long objects)
{
	__atomic_add_fetch(&live_bytes, bytes, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&live_objects, objects, __ATOMIC_SEQ_CST);
}

int cuInit(unsigned flags) { FREE_CALL(cuInit); return flags ? INVALID_VALUE : 0; }
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuDeviceGetCount(int *n) { FREE_CALL(cuDeviceGetCount); *n = (int)number("FAKE_DEVICES", 1); return 0; }
int cuDeviceGet(int *d, int i) { FREE_CALL(cuDeviceGet); *d = i; return 0; }
int cuDeviceGetName(char *s, int n, int d) { snprintf(s, (size_t)n, "Fake GPU %d", d); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { (void)d; *n = (size_t)number("FAKE_MEMORY", 1L << 30); return 0; }
int cuDeviceGetUuid_v2(unsigned char *u, int d) { memset(u, d, 16); return 0; }
int cuDeviceGetPCIBusId(char *s, int n, int d) { snprintf(s, (size_t)n, "0000:%02x:00.0", d); return 0; }

int cuDeviceGetAttribute(int *v, int a, int d)
{
	long cc = number("FAKE_CC", 90);

	(void)d;
	*v = a == 75 ? (int)(cc / 10) : a == 76 ? (int)(cc % 10) : a == 115 ? (int)number("FAKE_POOLS", 1) : a == 16 ? 132
		: a == 39 ? 2048 : a == 1 ? 1024 : a == 10 ? 32 : a == 20 ? (int)number("FAKE_MODE", 0) : 0;
	return 0;
}

int cuDevicePrimaryCtxRetain(void **c, int d)
{
	FREE_CALL(cuDevicePrimaryCtxRetain);
	*c = &contexts[d];
	count(0, 1);
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int d) { (void)d; count(0, -1); return 0; }
int cuCtxPushCurrent_v2(void *c) { FREE_CALL(cuCtxPushCurrent_v2); stack[depth++] = c; return 0; }

int cuCtxPopCurrent_v2(void **c)
{
	if (!depth)
		return NO_CONTEXT;
	*c = stack[--depth];
	return 0;
}

int cuCtxSynchronize(void) { CALL(cuCtxSynchronize); return 0; }

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
	CALL(cuMemGetInfo_v2);
	*total = (size_t)number("FAKE_MEMORY", 1L << 30);
	*available = *total - (size_t)live_bytes;
	return 0;
}

/* Each allocation has its size in front; 256-byte aligned like the driver's. */
static int take(cu_ptr *p, size_t n)
{
	char *m;

	if (n == 0)
		return INVALID_VALUE;
	if (live_bytes + (long)n > number("FAKE_MEMORY", 1L << 30))
		return OUT_OF_MEMORY;
	m = aligned_alloc(256, 256 + (n + 255) / 256 * 256);
	if (!m)
		return OUT_OF_MEMORY;
	((size_t *)(void *)m)[0] = MAGIC;
	((size_t *)(void *)m)[1] = n;
	count((long)n, 1);
	*p = (cu_ptr)(size_t)(m + 256);
	return 0;
}

static int give(cu_ptr p)
{
	size_t *m = (size_t *)(size_t)(p - 256);

	if (m[0] != MAGIC)
		abort();
	m[0] = 0;
	count(-(long)m[1], -1);
	free(m);
	return 0;
}

int cuMemAlloc_v2(cu_ptr *p, size_t n) { CALL(cuMemAlloc_v2); return take(p, n); }
int cuMemFree_v2(cu_ptr p) { CALL(cuMemFree_v2); return give(p); }
int cuMemHostAlloc(void **p, size_t n, unsigned f) { CALL(cuMemHostAlloc); (void)f; *p = malloc(n); return *p ? 0 : 2; }
int cuMemFreeHost(void *p) { CALL(cuMemFreeHost); free(p); return 0; }

static int object(void **p)
{
	*p = malloc(1);
	count(0, 1);
	return *p ? 0 : OUT_OF_MEMORY;
}

static int forget(void *p)
{
	free(p);
	count(0, -1);
	return 0;
}

int cuMemPoolCreate(void **p, const struct pool_props *props) { CALL(cuMemPoolCreate); (void)props; return object(p); }
int cuMemPoolDestroy(void *p) { CALL(cuMemPoolDestroy); return forget(p); }
int cuMemPoolSetAttribute(void *p, int a, void *v) { CALL(cuMemPoolSetAttribute); (void)p; (void)v; return a == 4 ? 0 : 1; }
int cuMemPoolTrimTo(void *p, size_t n) { CALL(cuMemPoolTrimTo); (void)p; (void)n; return 0; }

int cuMemAllocFromPoolAsync(cu_ptr *p, size_t n, void *pool, void *stream)
{
	CALL(cuMemAllocFromPoolAsync);
	(void)stream;
	return pool ? take(p, n) : INVALID_VALUE;
}

int cuMemFreeAsync(cu_ptr p, void *stream) { CALL(cuMemFreeAsync); (void)stream; return give(p); }

int cuMemcpyHtoDAsync_v2(cu_ptr d, const void *s, size_t n, void *stream)
{
	CALL(cuMemcpyHtoDAsync_v2);
	(void)stream;
	memcpy((void *)(size_t)d, s, n);
	return 0;
}

int cuMemcpyDtoHAsync_v2(void *d, cu_ptr s, size_t n, void *stream)
{
	CALL(cuMemcpyDtoHAsync_v2);
	(void)stream;
	memcpy(d, (void *)(size_t)s, n);
	return 0;
}

int cuMemcpyDtoDAsync_v2(cu_ptr d, cu_ptr s, size_t n, void *stream)
{
	CALL(cuMemcpyDtoDAsync_v2);
	(void)stream;
	memmove((void *)(size_t)d, (void *)(size_t)s, n);
	return 0;
}

int cuMemsetD8Async(cu_ptr d, unsigned char v, size_t n, void *stream)
{
	CALL(cuMemsetD8Async);
	(void)stream;
	memset((void *)(size_t)d, v, n);
	return 0;
}

int cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values)
{
	int code = fails("cuModuleLoadDataEx");

	__atomic_add_fetch(&loads, 1, __ATOMIC_SEQ_CST);
	if (code && n && options[0] == 5)
		snprintf(values[0], (size_t)values[1], "fake log");
	if (code)
		return code;
	return !depth ? NO_CONTEXT : memcmp(image, "\177ELF", 4) && memcmp(image, "//", 2) ? 200 : object(m);
}

int cuModuleUnload(void *m) { CALL(cuModuleUnload); return forget(m); }
int cuModuleGetFunction(void **f, void *m, const char *s) { CALL(cuModuleGetFunction); *f = m; return *s ? 0 : 500; }
int cuFuncGetAttribute(int *v, int a, void *f) { CALL(cuFuncGetAttribute); (void)f; *v = a ? 32 : 1024; return 0; }
int cuFuncSetAttribute(void *f, int a, int v) { CALL(cuFuncSetAttribute); (void)f; (void)v; return a == 8 ? 0 : 1; }

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *b, void *f, int t, size_t s)
{
	CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor);
	(void)f;
	(void)s;
	*b = 2048 / t;
	return 0;
}

/* The doctor's kernel: struct { const float *a; float *c; long long n; } */
static void run_probe(void *params)
{
	struct { cu_ptr a, c; long long n; } *p = params;
	const float *a = (const float *)(size_t)p->a;
	float *c = (float *)(size_t)p->c;
	long long i;

	for (i = 0; i < p->n; i++) {
		volatile float square = a[i] * a[i];

		c[i] = square + 3.0f / a[i];
	}
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
	void *stream, void **params, void **extra)
{
	CALL(cuLaunchKernel);
	(void)stream;
	(void)extra;
	if (!f || !gx || !gy || !gz || !bx || !by || !bz || bx > 1024 || shared > 227 << 10)
		return INVALID_VALUE;
	__atomic_add_fetch(&launches, 1, __ATOMIC_SEQ_CST);
	if (number("FAKE_PROBE", 0))
		run_probe(params[0]);
	return 0;
}

int cuStreamCreate(void **s, unsigned f) { CALL(cuStreamCreate); (void)f; return object(s); }
int cuStreamDestroy_v2(void *s) { CALL(cuStreamDestroy_v2); return forget(s); }
int cuStreamSynchronize(void *s) { CALL(cuStreamSynchronize); (void)s; return 0; }
int cuStreamQuery(void *s) { CALL(cuStreamQuery); (void)s; return 0; }
int cuStreamWaitEvent(void *s, void *e, unsigned f) { CALL(cuStreamWaitEvent); (void)s; (void)f; return e ? 0 : 400; }
int cuEventCreate(void **e, unsigned f) { CALL(cuEventCreate); (void)f; return object(e); }
int cuEventDestroy_v2(void *e) { CALL(cuEventDestroy_v2); return forget(e); }
int cuEventRecord(void *e, void *s) { CALL(cuEventRecord); (void)s; return e ? 0 : 400; }
int cuEventSynchronize(void *e) { CALL(cuEventSynchronize); return e ? 0 : 400; }
int cuEventElapsedTime(float *ms, void *a, void *b) { CALL(cuEventElapsedTime); *ms = 1.5f; return a && b ? 0 : 400; }
