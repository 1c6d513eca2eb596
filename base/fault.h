/* fault.h -- malloc and kin with a switch for tests: the N-th allocation of the process can be made to fail.
 * GPUEXPR_FAULT_ALLOC is read only in builds with -DGX_FAULTS; elsewhere these are malloc and kin. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdlib.h>

#ifdef GX_FAULTS
void *gx_malloc(size_t n);
void *gx_calloc(size_t n, size_t size);
void *gx_realloc(void *p, size_t n);
int gx_memalign(void **p, size_t align, size_t n);   /* as posix_memalign, but *p = NULL on failure */
void fault_set(long nth, int forever);   /* fail the nth allocation from now (1 = the next); 0 = never */
#else
#define gx_malloc malloc
#define gx_calloc calloc
#define gx_realloc realloc
static inline int gx_memalign(void **p, size_t align, size_t n)
{
	*p = NULL;
	return posix_memalign(p, align, n);
}
#endif

#endif
