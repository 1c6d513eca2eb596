/* parts.h -- what the files of this folder share; nobody else includes it.
 * The life of an input: image_open (bytes of a file, mapped or read as far as needed) -> npy_header, csv, zip directory
 * (look at the bytes) -> image_array (the file_array takes the image's memory over, or a copy where it must). */
#ifndef FORMATS_PARTS_H
#define FORMATS_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/diag.h"
#include "formats/format.h"

/* The bytes of a file from where it stood when it was opened. Big regular files are mapped; pipes, terminals and small
 * files are read on demand, so that an array can be taken from a pipe whose other end stays open. */
struct image {
	char name[200];          /* for messages, safe to print */
	int fd;
	int64_t size;            /* bytes to expect; -1: a stream */
	const unsigned char *p;  /* bytes that are here */
	size_t n, cap;           /* cap: room behind p where p is malloc'd */
	int end;                 /* 1: there are no more than n bytes */
	void *owner;             /* as in struct file_array */
	size_t owner_bytes;
};

/* Open a file, "-" = standard input. Gives *im: image_close. */
gx_status image_open(const char *path, struct image *im, gx_error *err);
/* Have the first `want` bytes here, or as many as there are (im->n says). SIZE_MAX: all. */
gx_status image_need(struct image *im, size_t want, gx_error *err);
/* Hand the memory to a, whose type, shape, stride and bytes are set: the data starts at `at` and is all here. Copied where it is
 * not aligned, and where `swap` (bytes of a unit, 0 = no) asks for byte order to be turned and the memory is a mapping. */
gx_status image_array(struct image *im, size_t at, size_t swap, struct file_array *a, gx_error *err);
void image_close(struct image *im);

/* A name as messages show it: control characters escaped, the middle of a long one left out. */
void name_shown(const char *name, char shown[200]);
gx_status no_memory(const char *shown, uint64_t bytes, gx_error *err);
/* "NAME: cannot open: No such file or directory" */
gx_status system_error(const char *shown, const char *what, int number, gx_error *err);
void extents_text(const int64_t *shape, int rank, char text[200]);   /* "(2, 3)", "(4,)", "()" */
/* Set C-order (or Fortran) strides and a->bytes. -1: more than 2**63-1 elements, -2: bytes. */
int array_layout(struct file_array *a, int fortran);
int ends_with(const char *s, const char *tail);                    /* case of letters ignored */

/* npy.c: what an .npy header says. */
struct npy {
	struct file_array a;   /* dtype, rank, shape, stride, bytes */
	size_t at;             /* where the data starts */
	size_t swap;           /* bytes of a unit whose order is to be turned, 0 = none */
};
gx_status npy_header(struct image *im, int bf16, struct npy *h, gx_error *err);
gx_status npy_array(struct image *im, int bf16, struct file_array *a, gx_error *err);
/* descr.c: the type of a descr text; UNSUPPORTED with a sentence for those that gpuexpr lacks. */
gx_status descr_type(const char *shown, const char *descr, size_t n, int bf16, struct npy *h, gx_error *err);
/* A structured or sub-array type: the text of the list or tuple. */
gx_status descr_structured(const char *shown, const char *text, size_t n, gx_error *err);
const char *descr_of(gx_dtype t);                                  /* "<f4"; NULL for bfloat16 */

/* npz.c, raw.c, csv.c: the other kinds. member NULL: the only one. shape NULL: rank 1, as long as the file. */
gx_status npz_array(struct image *im, const char *member, int bf16, struct file_array *a, gx_error *err);
gx_status raw_array(struct image *im, gx_dtype t, const char *shape, struct file_array *a, gx_error *err);
gx_status csv_array(struct image *im, char separator, struct file_array *a, gx_error *err);   /* separator 0: guess */

/* number.c */
double half_real(uint16_t bits);
double bfloat_real(uint16_t bits);

/* Bytes on their way to a file. */
struct sink {
	int fd;
	const char *shown;
	uint64_t at;                  /* bytes written */
	uint64_t limit;               /* most bytes that the file may have (ulimit -f) */
	size_t n;
	char room[1 << 16];
};
enum { OUTPUT_NPY, OUTPUT_CSV, OUTPUT_TSV, OUTPUT_RAW };
gx_status sink_put(struct sink *s, const void *data, size_t n, gx_error *err);
gx_status sink_flush(struct sink *s, gx_error *err);
/* write.c: all of an array in a kind of file; preallocate where `regular`. */
gx_status array_write(struct sink *s, int kind, const gx_array *a, int regular, gx_error *err);

/* temporary.c: names of temporaries and the table for signal handlers. */
/* Create a hidden file in folder; shown: the output's name for messages; old: the file that it will replace, or NULL. Gives *name
 * (temporary_forget or temporary_remove) and *fd. */
gx_status temporary_make(const char *shown, const char *folder, const struct stat *old, char **name, int *fd, gx_error *err);
void temporary_forget(char *name);   /* takes name; the file is not ours any more */
void temporary_remove(char *name);   /* takes name; unlinks the file */
void temporary_sweep(const char *folder);   /* remove what dead processes left there */

#endif
