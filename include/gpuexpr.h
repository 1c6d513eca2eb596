/* gpuexpr.h -- compute array formulas on a GPU or a CPU: text in, arrays out.
 *
 *	#include <gpuexpr.h>
 *
 *	float a[4] = {1, 2, 3, 4}, c[4];
 *	gx_error err;
 *	gx_context *ctx;
 *	gx_array in = gx_host("a", GX_FLOAT32, 1, (int64_t[]){4}, a);
 *	gx_array out = gx_host("c", GX_FLOAT32, 1, (int64_t[]){4}, c);
 *
 *	if (gx_open(NULL, &ctx, &err) || gx_eval(ctx, "c = a*a + sin(a)", &in, 1, &out, 1, &err))
 *		fprintf(stderr, "%s\n", err.text);
 *	gx_close(ctx);
 *
 * Steps: gx_parse gives a formula (names known), gx_compile a program (types, shapes, kernels fixed), gx_run the
 * results. gx_eval is the three in one call. The language is described in docs/LANGUAGE.md.
 *
 * Units. Shapes and strides count elements, never bytes. Strides may be 0 or negative. Rank 0 is a scalar array.
 * Ownership, in four words: a function *borrows* what it uses during the call only, *keeps* what must outlive the
 * object, *takes* what it will free itself, and *gives* what the caller must free with the named function.
 * Errors. Every function that can fail returns a gx_status and fills the caller's gx_error (may be NULL). After a
 * failure outputs through pointers are NULL or untouched. Nothing here prints, exits, changes the locale, signal
 * handlers or the current CUDA context of the calling thread.
 * Threads. A context may be used from any number of threads at once; formulas and programs are immutable and may be
 * shared. Freeing an object while another thread uses it is an error of the caller. After fork() a context that
 * has a GPU must not be used in the child. */
#ifndef GPUEXPR_H
#define GPUEXPR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GX_VERSION_MAJOR 0
#define GX_VERSION_MINOR 1
#define GX_VERSION_PATCH 0
#define GX_VERSION_TEXT "0.1.0"

#if defined(__GNUC__)
#define GX_API __attribute__((visibility("default")))
#else
#define GX_API
#endif

#define GX_MAX_RANK 8

/* What a call ended with. The list is open: treat an unknown value as a failure. */
#define GX_STATUS_MAP(X) \
	X(OK, 0, "ok") \
	X(ARG, 1, "bad argument") \
	X(SYNTAX, 2, "syntax error") \
	X(NAME, 3, "unknown name") \
	X(TYPE, 4, "type error") \
	X(SHAPE, 5, "shape error") \
	X(LIMIT, 6, "too large") \
	X(UNSUPPORTED, 7, "not supported") \
	X(INDEX, 8, "index out of range") \
	X(NOMEM, 9, "out of memory") \
	X(DEVICE, 10, "device error") \
	X(COMPILER, 11, "kernel compiler error") \
	X(IO, 12, "input or output error") \
	X(INTERNAL, 70, "internal error")

typedef enum gx_status {
#define X(name, value, text) GX_##name = value,
	GX_STATUS_MAP(X)
#undef X
	GX_STATUS_SIZE_ = 0x7fffffff
} gx_status;

/* Element types. Values are part of the ABI. */
typedef enum gx_dtype {
	GX_BOOL, GX_INT8, GX_INT16, GX_INT32, GX_INT64, GX_UINT8, GX_UINT16, GX_UINT32, GX_UINT64,
	GX_FLOAT16, GX_BFLOAT16, GX_FLOAT32, GX_FLOAT64, GX_COMPLEX64, GX_COMPLEX128,
	GX_DTYPE_SIZE_ = 0x7fffffff
} gx_dtype;

/* Where the bytes of an array are. */
typedef enum gx_place {
	GX_PLACE_HOST,   /* ordinary memory of this process */
	GX_PLACE_DEVICE, /* memory of the context's GPU; data is the device address */
	GX_WEAK_INT,     /* a Python-like scalar without a dtype: its value is in `integer` (weak as in NEP 50) */
	GX_WEAK_FLOAT    /* likewise, its value is in `real` */
} gx_place;

/* An array of the caller: a plain description, nothing here is owned by the library. Element i, j, ... of the array is
 * data[i*stride[0] + j*stride[1] + ...], counted in elements. data must be aligned to the element size.
 * bool elements are bytes, 0 is false and anything else true; the library writes 0 and 1. */
typedef struct gx_array {
	const char *name;            /* the name in the formula; for outputs NULL stands for a bare expression */
	gx_dtype dtype;
	gx_place place;
	int rank;                    /* 0 to GX_MAX_RANK */
	int64_t shape[GX_MAX_RANK];
	int64_t stride[GX_MAX_RANK];
	void *data;                  /* may be NULL for gx_compile, and where the array has no elements */
	int64_t integer;             /* value of a GX_WEAK_INT */
	double real;                 /* value of a GX_WEAK_FLOAT */
} gx_array;

/* What went wrong, in words. `text` stands alone: "origin:1:7: error: ...", then the source line, the caret line and,
 * where it helps, one "hint: ..." line. */
typedef struct gx_error {
	gx_status status;
	int line, column;            /* 1-based place in the formula, 0 where there is none */
	char message[512];           /* the sentence alone, without place or caret */
	char text[2048];             /* for people: place, sentence, source line, caret, hint */
} gx_error;

typedef struct gx_context gx_context;
typedef struct gx_formula gx_formula;
typedef struct gx_program gx_program;

enum { GX_DEVICE_CPU = -1, GX_DEVICE_AUTO = -2 };   /* otherwise the CUDA ordinal: 0, 1, ... */
typedef enum gx_math { GX_MATH_STRICT, GX_MATH_FMA, GX_MATH_FAST, GX_MATH_SIZE_ = 0x7fffffff } gx_math;

/* Options of gx_open. Zero-initialise, set `size` to sizeof(gx_options), then what you need. */
typedef struct gx_options {
	size_t size;
	int device;                  /* GX_DEVICE_CPU, GX_DEVICE_AUTO (a GPU if one works, else the CPU) or an ordinal */
	gx_math math;                /* STRICT: IEEE + - * / sqrt everywhere; FMA: contraction; FAST: approximate functions */
	int threads;                 /* CPU engine: 0 = all cores of the process's affinity mask */
	int no_cache;                /* 1: neither read nor write the kernel cache on disk */
	const char *cache_dir;       /* NULL: $GPUEXPR_CACHE_DIR, $XDG_CACHE_HOME/gpuexpr, ~/.cache/gpuexpr */
	const char *arch;            /* of dumps: "sm_90", a target of the NVRTC here; NULL = the device's, or sm_90 without one */
} gx_options;

/* Version of the library in use, "major.minor.patch". Static storage. */
GX_API const char *gx_version(void);
/* The sentence for a status; never NULL. Static storage. */
GX_API const char *gx_status_text(gx_status s);
/* "float32" and kin; "?" for an unknown value. Static storage. */
GX_API const char *gx_dtype_name(gx_dtype t);
/* Bytes of one element, 0 for an unknown value. */
GX_API size_t gx_dtype_size(gx_dtype t);
/* Type of a name, long ("float32") or short ("f32"); 0 when found, else -1 and *t is untouched. */
GX_API int gx_dtype_find(const char *name, gx_dtype *t);

/* Describe a C-contiguous array in host memory (borrows shape; keeps name and data as pointers). */
GX_API gx_array gx_host(const char *name, gx_dtype t, int rank, const int64_t *shape, void *data);
/* Describe a C-contiguous array in memory of the context's GPU. */
GX_API gx_array gx_device(const char *name, gx_dtype t, int rank, const int64_t *shape, void *data);
/* Describe a weak scalar, as a literal in the formula would be. Its value is fixed by gx_compile. */
GX_API gx_array gx_integer(const char *name, int64_t value);
GX_API gx_array gx_real(const char *name, double value);

/* Open a context. opt may be NULL (AUTO device). With device >= 0 a missing driver or GPU is an error; with AUTO it
 * means the CPU, and gx_context_note says why. Gives *ctx: gx_close. */
GX_API gx_status gx_open(const gx_options *opt, gx_context **ctx, gx_error *err);
/* Free a context; NULL is fine. Programs of it must have been freed, its work is waited for. */
GX_API void gx_close(gx_context *ctx);
/* The ordinal of the context's GPU, or GX_DEVICE_CPU. */
GX_API int gx_context_device(const gx_context *ctx);
/* One line about the device in use ("NVIDIA H200, compute capability 9.0 ..." or "CPU, 8 threads, avx512"). Lives as
 * long as the context. */
GX_API const char *gx_context_note(const gx_context *ctx);

/* Parse a program. `origin` names the text in messages ("<expr>", a file name); NULL = "<expr>". Borrows both.
 * Gives *f: gx_formula_free. Status: SYNTAX, LIMIT, UNSUPPORTED, NOMEM. */
GX_API gx_status gx_parse(const char *text, size_t len, const char *origin, gx_formula **f, gx_error *err);
GX_API void gx_formula_free(gx_formula *f);
/* The free names (inputs), in order of first use; NULL past the end. Live as long as the formula. */
GX_API const char *gx_formula_input(const gx_formula *f, int i);
/* The outputs in order; a bare expression has the name "". NULL past the end. */
GX_API const char *gx_formula_output(const gx_formula *f, int i);
/* Warnings of the parser, one a line, or NULL. Lives as long as the formula. */
GX_API const char *gx_formula_warnings(const gx_formula *f);

/* Fix types and shapes and make the kernels. inputs: one entry for each free name, in any order; dtype, rank, shape,
 * stride and place count, data does not (weak scalars: the value counts). Extra entries are an error.
 * Borrows all. Gives *p: gx_program_free, before gx_close(ctx); the formula may be freed at once.
 * Status: NAME, TYPE, SHAPE, LIMIT, UNSUPPORTED, NOMEM, DEVICE, COMPILER. */
GX_API gx_status gx_compile(gx_context *ctx, const gx_formula *f, const gx_array *inputs, int ninputs, gx_program **p,
	gx_error *err);
GX_API void gx_program_free(gx_program *p);
/* Fill *a with name, dtype, rank, shape and C-order strides of output i (data NULL, place GX_PLACE_HOST). 0, or -1 past
 * the end. The name lives as long as the program. */
GX_API int gx_program_output(const gx_program *p, int i, gx_array *a);

/* Run. inputs: as for gx_compile, now with data; outputs: for each output one entry with its name, dtype and shape,
 * C-contiguous, data given by the caller; they must not overlap inputs or each other.
 * CPU context: host arrays only. GPU context: host arrays are copied in and out by the call; device arrays are used
 * in place. stream: a CUstream (NULL = the legacy default stream). With device arrays alone and no gathers the call
 * only enqueues (asynchronous: use gx_sync or your stream); with a host array it returns when the results are there.
 * A gather index out of range gives GX_INDEX and writes no output. Status: ARG, INDEX, NOMEM, DEVICE. */
GX_API gx_status gx_run(gx_context *ctx, const gx_program *p, const gx_array *inputs, int ninputs,
	const gx_array *outputs, int noutputs, void *stream, gx_error *err);
/* Wait for work enqueued on stream; reports errors of asynchronous runs. */
GX_API gx_status gx_sync(gx_context *ctx, void *stream, gx_error *err);

/* Parse, compile and run; programs are remembered in the context by text, types and shapes, so that a repeated call
 * costs a look-up. outputs: as for gx_run; an output whose data is NULL is allocated by the call, in the place that it
 * asks for (dtype, shape and stride are filled in): free it with gx_free. Returns when the results are there. */
GX_API gx_status gx_eval(gx_context *ctx, const char *text, const gx_array *inputs, int ninputs, gx_array *outputs,
	int noutputs, gx_error *err);

/* Memory of the context's device (of the host for a CPU context), aligned to 256 bytes, from a pool. */
GX_API gx_status gx_alloc(gx_context *ctx, size_t bytes, void **data, gx_error *err);
/* Memory as gx_alloc's, but in ordinary host memory whatever the context. */
GX_API gx_status gx_alloc_host(gx_context *ctx, size_t bytes, void **data, gx_error *err);
/* Free memory of gx_alloc, gx_alloc_host or gx_eval; NULL is fine. */
GX_API void gx_free(gx_context *ctx, gx_place place, void *data);
/* Copy between host and device memory; returns when done. */
GX_API gx_status gx_upload(gx_context *ctx, void *device, const void *host, size_t bytes, gx_error *err);
GX_API gx_status gx_download(gx_context *ctx, void *host, const void *device, size_t bytes, gx_error *err);

/* Text of a stage of a program: "ast" "ir" "plan" "cuda" "ptx" "explain" "json". Made on request (cuda and ptx work on a CPU
 * context too; ptx needs NVRTC). Gives *text: free(). */
GX_API gx_status gx_program_dump(gx_context *ctx, const gx_program *p, const char *stage, char **text, gx_error *err);

/* What a program costs, for cost models and reports. */
typedef struct gx_cost {
	int kernels;
	int64_t bytes_read, bytes_written;   /* each input once, each output once */
	double operations;                   /* scalar operations, functions weighted by their cost */
	int cached;                          /* kernels that came from a cache rather than the compiler */
	double ms_parse, ms_check, ms_plan, ms_codegen, ms_compile, ms_load;   /* wall time of each stage */
} gx_cost;
GX_API void gx_program_cost(const gx_program *p, gx_cost *cost);
/* GPU time of the last gx_run of this thread on ctx that was synchronous, in ms; CPU: its wall time. */
GX_API double gx_last_ms(gx_context *ctx);

/* The operation table as Markdown (for docs and --ops). Gives *text: free(). */
GX_API gx_status gx_ops_table(char **text, gx_error *err);
/* A checked list of driver, devices, NVRTC and cache with remedies, as text or JSON. Gives *text: free().
 * Returns GX_OK when a kernel compiled and ran, else the status of what failed. */
GX_API gx_status gx_doctor(const gx_options *opt, int json, char **text, gx_error *err);
/* The CUDA devices, one a line. Gives *text: free(). */
GX_API gx_status gx_devices(char **text, gx_error *err);
/* "stat" "list" "verify" "trim" "clear" "path" on the kernel cache on disk. Gives *text: free(). */
GX_API gx_status gx_cache(const gx_options *opt, const char *command, char **text, gx_error *err);

#ifdef __cplusplus
}
#endif
#endif
