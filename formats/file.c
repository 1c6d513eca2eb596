/* file.c -- from the text of a binding ("t.raw:f32:4x4", "d.npz:x", "-:bf16") to an array. The parts behind the colons are taken off
 * from the right; a file that really has the whole text as its name comes first, so that no name is out of reach. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "formats/parts.h"

struct spec {
	char *path;
	const char *member;      /* of an .npz, in the same memory as path */
	const char *shape;       /* of a raw file; NULL: as long as the file */
	gx_dtype raw;
	int is_raw, bf16;
};

/* "PATH.npz:MEMBER": cut behind the extension. Not for a name that only happens to end in .npz. */
static void cut_member(struct spec *s)
{
	for (char *p = s->path; (p = strchr(p, ':')); p++) {
		*p = 0;
		if (ends_with(s->path, ".npz")) {
			s->member = p + 1;
			return;
		}
		*p = ':';
	}
}

/* May be followed by ":bf16" in the sense of "its raw 2-byte elements are bfloat16". */
static int has_types(const char *path)
{
	return !ends_with(path, ".raw") && !ends_with(path, ".bin") && !ends_with(path, ".dat");
}

/* "PATH:TYPE:SHAPE" or "PATH:TYPE". */
static void cut_type(struct spec *s)
{
	char *last = strrchr(s->path, ':'), *before;

	if (!last)
		return;
	*last = 0;
	before = strrchr(s->path, ':');
	if (before && gx_dtype_find(before + 1, &s->raw) == 0) {
		*before = 0;
		s->shape = last + 1;
		s->is_raw = 1;
		return;
	}
	if (strcmp(last + 1, "bf16") == 0 && has_types(s->path)) {
		s->bf16 = 1;
		return;
	}
	if (gx_dtype_find(last + 1, &s->raw) == 0 && !ends_with(s->path, ".npy") && !strstr(s->path, ".npz:")) {
		s->is_raw = 1;
		return;
	}
	*last = ':';
}

static gx_status parse(const char *text, struct spec *s, gx_error *err)
{
	struct stat st;
	size_t n = strlen(text);

	memset(s, 0, sizeof *s);
	s->path = gx_malloc(n + 1);
	if (!s->path)
		return no_memory("a file name", n, err);
	memcpy(s->path, text, n + 1);
	if (stat(text, &st) == 0)
		return GX_OK;
	cut_type(s);
	if (!s->is_raw)
		cut_member(s);
	return GX_OK;
}

const char *dtype_meant(const char *word)
{
	static const char *const names[] = {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
		"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};
	struct suggestion s = {.wanted = word};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		diag_suggest(&s, names[i]);
	return s.best;
}

/* The file is missing, and err says so: was it a wrong type or shape behind the colon of one that is there? */
static gx_status explain(const struct spec *s, gx_error *err)
{
	char *colon = strchr(s->path, ':'), name[200], rest[200], word[20];
	const char *meant;
	struct stat st;
	gx_dtype t;

	if (!colon || s->is_raw)
		return GX_IO;
	*colon = 0;
	if (stat(s->path, &st))
		return GX_IO;
	name_shown(s->path, name);
	name_shown(colon + 1, rest);
	snprintf(word, sizeof word, "%.*s", (int)strcspn(colon + 1, ":"), colon + 1);
	meant = gx_dtype_find(word, &t) ? dtype_meant(word) : NULL;
	return diag_plain(err, GX_ARG, "%s: cannot make sense of ':%.60s' behind the file's name; %s%s%shint: raw numbers are named "
		"FILE:f32:1024x1024, a member of an .npz FILE.npz:NAME", name, rest, meant ? "did you mean `" : "", meant ? meant : "",
		meant ? "`? " : "");
}

static gx_status by_content(struct image *im, const struct spec *s, struct file_array *a, gx_error *err)
{
	gx_status st = image_need(im, 4, err);

	if (st)
		return st;
	if (im->n >= 4 && memcmp(im->p, "PK\3\4", 4) == 0)
		return npz_array(im, s->member, s->bf16, a, err);
	return npy_array(im, s->bf16, a, err);
}

static gx_status decode(struct image *im, const struct spec *s, struct file_array *a, gx_error *err)
{
	if (s->is_raw)
		return raw_array(im, s->raw, s->shape, a, err);
	if (s->member || ends_with(s->path, ".npz"))
		return npz_array(im, s->member, s->bf16, a, err);
	if (ends_with(s->path, ".csv"))
		return csv_array(im, ',', a, err);
	if (ends_with(s->path, ".tsv"))
		return csv_array(im, '\t', a, err);
	if (ends_with(s->path, ".txt"))
		return csv_array(im, 0, a, err);
	if (ends_with(s->path, ".npy") || strcmp(s->path, "-") == 0)
		return npy_array(im, s->bf16, a, err);
	return by_content(im, s, a, err);
}

/* "-" and "-.csv" are standard input, the second one as text. */
static const char *source(const char *path)
{
	return path[0] == '-' && path[1] == '.' && !strchr(path, '/') ? "-" : path;
}

gx_status file_read(const char *text, struct file_array *a, gx_error *err)
{
	struct spec spec;
	struct image im;
	gx_status s;

	memset(a, 0, sizeof *a);
	s = parse(text, &spec, err);
	if (s)
		return s;
	s = image_open(source(spec.path), &im, err);
	if (s) {
		s = s == GX_IO ? explain(&spec, err) : s;
		free(spec.path);
		return s;
	}
	s = decode(&im, &spec, a, err);
	image_close(&im);
	free(spec.path);
	return s;
}

void file_array_free(struct file_array *a)
{
	if (a->owner_bytes)
		munmap(a->owner, a->owner_bytes);
	else
		free(a->owner);
	memset(a, 0, sizeof *a);
}
