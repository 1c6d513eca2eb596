/* tool.h -- the gpuexpr command: its options, and what its files offer each other. Uses the public library and formats/ only. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/buf.h"
#include "formats/format.h"
#include "include/gpuexpr.h"

/* Exit codes: part of the interface. */
enum {
	EXIT_OK = 0, EXIT_USAGE = 2, EXIT_FORMULA = 3, EXIT_INPUT = 4, EXIT_OUTPUT = 5, EXIT_DEVICE = 6, EXIT_MEMORY = 7, EXIT_BUG = 70
};

enum { DEVICE_AUTO = -2, DEVICE_CPU = -1 };

struct pair { const char *name, *value; };   /* name=value of a binding or -o; name NULL: none given */

struct options {
	const char *program;        /* the text, or NULL with -f */
	const char *file;           /* -f */
	struct pair *binding; int nbinding;
	struct pair *output; int noutput;
	int force, dry_run, quiet, verbose, json, explain, time, verify, no_cache;
	int device, threads;        /* DEVICE_AUTO, DEVICE_CPU or an ordinal */
	int forced_cuda;            /* --device=cuda: never fall back */
	gx_math math;
	const char *emit, *arch, *cache;
	int help, version, ops, devices, doctor;
};

/* Fill o from the command line; 0, or an exit code after a message. Strings point into argv. */
int options_parse(struct options *o, int argc, char **argv);
void help_short(void);
void help_long(void);

/* One input of the program, ready for the library. */
struct input {
	gx_array array;
	struct file_array file;     /* what backs it, if anything */
	void *literal;              /* malloc'd elements of f32:[1,2,3] */
};

/* Bind every free name of f; 0, or an exit code after a message. Gives inputs: inputs_free. */
int inputs_bind(const struct options *o, const gx_formula *f, struct input **in, int *n);
void inputs_free(struct input *in, int n);

/* NumPy-like text of a C-contiguous host array, elements beyond `edge` at each end of an axis left out when there are more than 1000. */
void array_text(const gx_array *a, struct buf *b);
/* dtype, shape, min, mean, max and corners. */
void array_summary(gx_context *cpu, const gx_array *a, struct buf *b);

/* Differences between two results of the same shape and type, as a sentence; returns the number of elements that differ. */
int64_t compare_arrays(const gx_array *a, const gx_array *b, struct buf *text);

double now_ms(void);
int64_t element_count(const gx_array *a);
/* "gpuexpr: " and a message on standard error. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int exit_code(gx_status s);     /* of a library call that concerned the formula or the run */

#endif
