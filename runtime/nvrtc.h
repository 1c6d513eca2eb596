/* nvrtc.h -- NVIDIA's run-time compiler: CUDA C text to machine code or PTX. Needs no GPU and no driver.
 * The library is looked for and opened only when something must be compiled (opening costs 30-100 ms): a hit in the
 * kernel cache never gets here. Everything may be called from any thread; compiles run in parallel. */
#ifndef RUNTIME_NVRTC_H
#define RUNTIME_NVRTC_H

#include <stddef.h>

#include "base/buf.h"
#include "include/gpuexpr.h"

enum { NVRTC_MAX_ARCHS = 64 };

/* One opened libnvrtc. Immutable, lives as long as the process. */
struct nvrtc {
#define NVRTC(name, params) int (*name) params;
#include "runtime/nvrtc.def"
#undef NVRTC
	void *handle;
	char *path;          /* the file, as the loader knows it */
	char *builtins;      /* libnvrtc-builtins that was loaded beforehand, or NULL */
	int version;         /* 13000 = 13.0, 12090 = 12.9 */
	int arch[NVRTC_MAX_ARCHS], narch;   /* compute capabilities that it can target: 75 80 ... */
};

/* The i-th usable library in the order of the search, opening more as needed; NULL past the last. */
const struct nvrtc *nvrtc_at(int i);
/* The first library that has compute capability cc (80 = 8.0) among its targets, else the first one that knows an older
 * target; NULL when there is none or all are too new for cc. */
const struct nvrtc *nvrtc_for(int cc);
/* The ladder: cc itself where the library has it, else its newest older target; 0 when all are newer. */
int nvrtc_target(const struct nvrtc *n, int cc);
int nvrtc_opened(void);              /* libraries opened so far; opens none */
void nvrtc_tried(struct buf *b);     /* one line a place: what was tried and what was wrong with it */

/* What a compile gave. */
struct image {
	char *bytes;         /* cubin, or PTX text with its NUL */
	size_t size;
	int ptx;             /* 1: PTX, which the driver must still compile */
	int target;          /* 90: sm_90 or compute_90 */
	int nvrtc;           /* version of the compiler */
	int driver;          /* version of the driver that the PTX was made for; 0 for a cubin */
};

enum image_form {
	FORM_BEST,           /* cubin for a known cc; PTX of the newest older target for a newer GPU */
	FORM_PTX,            /* PTX for cc or the newest older target */
	FORM_CUBIN           /* cubin for cc or the newest older target (which runs on cc only within a major version) */
};

/* Compile one program. Gives image: image_free. On failure *image is zero. Status: NOMEM; COMPILER: no NVRTC, or none for
 * this GPU; INTERNAL: NVRTC refused our text (err->text: log, options and the lines concerned; GPUEXPR_DEBUG with the
 * letter n also writes all of it to standard error). */
gx_status nvrtc_compile(const char *source, int cc, enum image_form form, gx_math math, struct image *image, gx_error *err);
void image_free(struct image *image);

/* All that decides the result beside source and target: our options, and the flags that the user has put in the
 * environment. Part of the cache key. */
void nvrtc_settings(gx_math math, struct buf *b);
/* "sm_90", "compute_90" or "90" to 90; 0 for anything else (and for "sm_90a": not portable). */
int nvrtc_arch(const char *text);
/* ARG where text is no such name, or none that a library here can target (libraries are opened until one can). */
gx_status nvrtc_check_arch(const char *text, gx_error *err);

#endif
