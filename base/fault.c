/* fault.c -- allocation that fails on request, for tests of every out-of-memory path. */
#include "base/fault.h"

#include <errno.h>

#ifdef GX_FAULTS
static long countdown;
static int persistent;

void fault_set(long nth, int forever)
{
	__atomic_store_n(&persistent, forever, __ATOMIC_SEQ_CST);
	__atomic_store_n(&countdown, nth, __ATOMIC_SEQ_CST);
}

static int fails(void)
{
	if (__atomic_load_n(&countdown, __ATOMIC_SEQ_CST) == 0)
		return 0;
	if (__atomic_load_n(&countdown, __ATOMIC_SEQ_CST) == 1 && persistent)
		return 1;
	return __atomic_sub_fetch(&countdown, 1, __ATOMIC_SEQ_CST) == 0;
}

void *gx_malloc(size_t n)
{
	return fails() ? NULL : malloc(n);
}

void *gx_calloc(size_t n, size_t size)
{
	return fails() ? NULL : calloc(n, size);
}

void *gx_realloc(void *p, size_t n)
{
	return fails() ? NULL : realloc(p, n);
}

int gx_memalign(void **p, size_t align, size_t n)
{
	*p = NULL;
	return fails() ? ENOMEM : posix_memalign(p, align, n);
}
#else
typedef int fault_unused;   /* ISO C wants a declaration in each file */
#endif
