/* driver.h -- libcuda, found and opened at run time, as a table of functions.
 * One table for the process, opened on first use and never closed (the host program may use the driver too). */
#ifndef RUNTIME_DRIVER_H
#define RUNTIME_DRIVER_H

#include <stddef.h>

#include "base/buf.h"
#include "include/gpuexpr.h"

typedef unsigned long long cu_ptr;   /* a device address, as the driver's CUdeviceptr */

/* CUmemPoolProps of the driver's ABI. */
struct cu_pool_props {
	int kind, handles;            /* 1 = device memory that stays put; 0 = not shared between processes */
	int location, device;         /* 1 = a GPU; its number */
	void *security;
	size_t max;                   /* 0 = no limit of its own */
	unsigned short usage;
	unsigned char reserved[54];
};

struct driver {
#define NEED(name, symbol, params) int (*name) params;
#define MAY(name, symbol, params) int (*name) params;
#include "runtime/driver.def"
#undef NEED
#undef MAY
};

/* How opening went; all strings are static or live as long as the process. */
struct driver_report {
	const char *path;        /* the library in use or, on failure, the last one that could be opened; NULL: none */
	const char *missing;     /* a needed function that it lacks, or NULL */
	int code;                /* result of cuInit; 0 and path set = usable */
	int version;             /* of the driver, 13000 = supports CUDA 13.0; 0 = unknown */
	const char *tried;       /* one line a candidate: path and what was wrong with it */
};

/* The table, or NULL when there is no usable driver. Opens libcuda and calls cuInit on the first call. Any thread. */
const struct driver *driver_get(void);
const struct driver_report *driver_report(void);   /* calls driver_get itself */
/* One sentence: why there is no driver, with the remedy. "" when there is one. */
void driver_why(struct buf *b);
/* 1 in a child that was forked after cuInit: CUDA calls would fail or hang there. */
int driver_forked(void);

const char *driver_error_name(int code);   /* "CUDA_ERROR_OUT_OF_MEMORY"; "CUDA_ERROR_?" for an unknown one */
const char *driver_error_text(int code);   /* a sentence with the remedy */
int driver_error_sticky(int code);         /* the context is lost: nothing but a new process helps */
gx_status driver_error_status(int code);

#endif
