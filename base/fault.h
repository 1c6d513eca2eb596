/* fault.h -- malloc and kin with a switch for tests: the N-th allocation of the process can be made to fail.
 * GPUEXPR_FAULT_ALLOC is read only in builds with -DGX_FAULTS; elsewhere these are malloc, calloc and realloc. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdlib.h>

#ifdef GX_FAULTS
void *gx_malloc(size_t n);
void *gx_calloc(size_t n, size_t size);
void *gx_realloc(void *p, size_t n);
void fault_set(long nth, int forever);   /* fail the nth allocation from now (1 = the next); 0 = never */
#else
#define gx_malloc malloc
#define gx_calloc calloc
#define gx_realloc realloc
#endif

#endif
