/* format.h -- arrays in files: one small interface, one file a format (.npy .npz raw .csv .txt).
 * Knows nothing of expressions. All errors are sentences that name the file, what was found and what was wanted. */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "include/gpuexpr.h"

/* An array read from a file. Strides count elements and may describe Fortran order. */
struct file_array {
	gx_dtype dtype;
	int rank;
	int64_t shape[GX_MAX_RANK], stride[GX_MAX_RANK];
	void *data;         /* first element */
	size_t bytes;       /* of all elements */
	void *owner;        /* what file_array_free releases: a mapping or a malloc'd block */
	size_t owner_bytes; /* > 0: owner is a mapping of this many bytes; 0: owner is malloc'd (or NULL) */
};

/* Read an array. spec: "path.npy", "path.npz:member" (":member" may be left out where there is only one), "path.csv" ".tsv"
 * ".txt", "path.raw:f32:1024x1024" (any extension before ":dtype:shape" is raw; shape 0..8 extents joined by x; "path.raw:f32"
 * is all of the file, rank 1), "-" (.npy on standard input; also "-.csv", "-:f32:1024"), and any .npy of these with ":bf16"
 * appended where it is a |V2 file. A file of exactly the name `spec` comes first, and other extensions are known by content.
 * Gives *a: file_array_free; its data must not be written to. An array without elements may have any stride.
 * Status: IO (missing, unreadable, malformed), UNSUPPORTED (a dtype that gpuexpr does not have), SHAPE (rank above 8),
 * ARG (the spec itself is wrong), NOMEM. */
#define file_read format_file_read   /* for the linker: runtime/cache_file.h has a file_read, too */
gx_status file_read(const char *spec, struct file_array *a, gx_error *err);
void file_array_free(struct file_array *a);
/* The type whose name is nearest to a word that names none ("f33": "f32"); NULL: none is near. */
const char *dtype_meant(const char *word);
/* The sentence about a symbolic link in the path, or its last part, that leads to nothing; NULL: there is none. */
const char *dangling_link(const char *path, char text[500]);
/* Names of the members of an .npz file, without ".npy". Gives *names (array and strings in one malloc'd block: free()). */
gx_status npz_members(const char *path, char ***names, int *count, gx_error *err);

/* An output that becomes visible all at once: data goes to a temporary file in the folder of `path`, and output_commit
 * renames it. Formats by extension: .npy .csv .tsv .txt .raw .bin; no extension is .npy, others are refused (ARG);
 * "-" = .npy on standard output, "-.csv" = CSV there. Devices and pipes take .npy whatever their name. */
struct output {
	char *path;         /* final path, symbolic links resolved; NULL for standard output */
	char *temporary;    /* NULL before output_write and after commit or abandon */
	int force;          /* 1: an existing file may be replaced */
	int direct;         /* 1: path is a device or a pipe: output_write writes to it, there is no temporary */
	int kind;           /* of file, from the extension: an OUTPUT_ of formats/parts.h */
	char shown[200];    /* the path as it was given, for messages: safe to print */
};

/* Check that path may be written: the folder exists and is writable, and without force that no file is there. Nothing
 * is created. Gives *o: output_abandon or output_commit. */
gx_status output_open(const char *path, int force, struct output *o, gx_error *err);
/* Write a C-contiguous array in host memory to the temporary (bfloat16 goes to .npy as float32). After a failure
 * nothing is left on disk and *o only waits for output_abandon. Once for each output. */
gx_status output_write(struct output *o, const gx_array *a, gx_error *err);
/* Publish. With force = 0 a file that appeared meanwhile is refused, not replaced. Frees o's memory in any case. */
gx_status output_commit(struct output *o, gx_error *err);
/* Remove the temporary. Frees o's memory. */
void output_abandon(struct output *o);
/* Remove all temporaries that are open in this process; async-signal-safe (for SIGINT and SIGTERM handlers). */
void output_abandon_all(void);

/* Text of one element, shortest that reads back to the same value ("0.1", "nan", "-0.0", "True"); returns its length. buf
 * of 40 bytes. No locale. (Complex numbers: "(1+2j)"; the parts of a complex128 are cut to 10 digits to fit.) */
int element_text(gx_dtype t, const void *element, char buf[40]);
/* Parse one decimal number of a CSV field or a command line ("-3", "1e-3", "nan", "inf"), whole string, no spaces; 0 or -1. Where
 * *is_integer, *integer holds it exactly; *value always holds it as a double. No locale. */
int number_parse(const char *s, size_t n, double *value, int64_t *integer, int *is_integer);

#endif
