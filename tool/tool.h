/* tool.h -- the gpuexpr command: its options, and what its files offer each other. Uses the public library and formats/ only. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include <stdio.h>

#include "base/buf.h"
#include "formats/format.h"
#include "include/gpuexpr.h"

/* Exit codes: part of the interface. */
enum {
	EXIT_OK = 0, EXIT_USAGE = 2, EXIT_FORMULA = 3, EXIT_INPUT = 4, EXIT_OUTPUT = 5, EXIT_DEVICE = 6, EXIT_MEMORY = 7, EXIT_BUG = 70,
	EXIT_PIPE = 141              /* the reader of standard output has gone */
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
/* Was an argument that begins with a minus taken as the program? Then a hint says so. */
int hint_program(const struct options *o);
void help_short(void);
int help_long(int json);

/* One input of the program, ready for the library. */
struct input {
	gx_array array;
	struct file_array file;     /* what backs it, if anything */
	void *literal;              /* malloc'd elements of f32:[1,2,3] */
};

/* Bind every free name of f; 0, or an exit code after a message. Gives inputs: inputs_free. */
int inputs_bind(const struct options *o, const gx_formula *f, struct input **in, int *n);
void inputs_free(struct input *in, int n);

/* One call of the command on a program. */
struct job {
	struct options o;
	char *text; size_t length;
	gx_formula *f;
	gx_context *cpu, *gpu;
	gx_program *p, *pgpu;
	struct input *in; int nin;
	gx_array *inputs;
	gx_array *out; int nout;
	struct output *file; char *is_file;   /* per output; is_file: open, neither published nor abandoned */
	gx_cost cost;
	double ms_read, ms_open, ms_run, ms_write, ms_device;
	int on_gpu;
};

/* outputs.c, in the order of the calls; each gives 0, or an exit code after a message. */
enum { FILE_NAME = 300 };
int outputs_describe(struct job *j);                  /* names, types and shapes into j->out */
int outputs_open(struct job *j);                      /* check -o, the places and the memory; nothing is created */
int outputs_allocate(struct job *j, gx_array *out);   /* host memory for each; out: as j->out */
int outputs_write(struct job *j);                     /* write all, then publish all */
void outputs_abandon(struct job *j);
/* Path of output i, made in `file` where no -o names it; NULL: it is printed. */
const char *output_path(const struct job *j, int i, char file[FILE_NAME]);

/* report.c: what goes to standard output, and --time to standard error. */
int print_text(struct buf *b);                        /* print and free */
int print_results(struct job *j);
void print_json(struct job *j);
void print_dry_run(struct job *j);
void print_times(struct job *j);
int print_stage(struct job *j, const char *stage);
void print_json_error(int code);                      /* of the message that complain or failed gave first */

/* tables.c: --ops, --devices, --doctor, --cache; an exit code. */
int tables(const struct options *o);

/* show.c */
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
/* The same for an error of the library; returns the exit code of its status. */
int failed(const gx_error *err);
const gx_error *first_error(void);   /* what complain and failed said first */
void shape_print(FILE *f, const gx_array *a);   /* (2, 3) */
int reader_gone(void);               /* standard output is a pipe that nobody reads any more */
gx_options library_options(const struct options *o, int device);

#endif
