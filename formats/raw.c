/* raw.c -- files of nothing but numbers, in the byte order of this machine; the type and the shape come from the command line. */
#include <stdlib.h>
#include <string.h>

#include "formats/parts.h"

/* "1024x1024" to a shape; "" is rank 0. */
static gx_status parse_shape(const char *shown, const char *s, struct file_array *a, gx_error *err)
{
	a->rank = 0;
	while (*s) {
		int64_t v = 0;
		const char *from = s;

		for (; *s >= '0' && *s <= '9'; s++)
			if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
				return diag_plain(err, GX_ARG, "%s: the shape has an extent above 2**63-1", shown);
		if (s == from || (*s && *s != 'x' && *s != 'X') || (*s && !s[1]))
			return diag_plain(err, GX_ARG, "%s: a shape is written 1024x1024, whole numbers joined by x", shown);
		if (a->rank == GX_MAX_RANK)
			return diag_plain(err, GX_SHAPE, "%s: a shape has at most %d extents", shown, GX_MAX_RANK);
		a->shape[a->rank++] = v;
		s += *s != 0;
	}
	return GX_OK;
}

/* No shape given: as many elements as the file has. */
static gx_status whole_file(struct image *im, struct file_array *a, gx_error *err)
{
	size_t size = gx_dtype_size(a->dtype);
	gx_status s = image_need(im, SIZE_MAX, err);

	if (s)
		return s;
	if (im->n % size)
		return diag_plain(err, GX_IO, "%s has %zu bytes, which is no whole number of %s elements (%zu bytes each)", im->name, im->n,
			gx_dtype_name(a->dtype), size);
	a->rank = 1;
	a->shape[0] = (int64_t)(im->n / size);
	return GX_OK;
}

static gx_status compare_size(struct image *im, const struct file_array *a, gx_error *err)
{
	const char *type = gx_dtype_name(a->dtype);
	char text[200];
	gx_status s = a->bytes == SIZE_MAX ? GX_OK : image_need(im, a->bytes + 1, err);

	if (s || im->n == a->bytes)
		return s;
	extents_text(a->shape, a->rank, text);
	if (im->n < a->bytes)
		return diag_plain(err, GX_IO, "%s is truncated: shape %s of %s needs %zu data bytes, found %zu", im->name, text, type,
			a->bytes, im->n);
	return diag_plain(err, GX_IO, "%s is longer than its shape says: shape %s of %s needs %zu bytes, found %s%llu", im->name, text,
		type, a->bytes, im->size < 0 ? "at least " : "",
		(unsigned long long)(im->size < 0 ? im->n : (uint64_t)im->size));
}

gx_status raw_array(struct image *im, gx_dtype t, const char *shape, struct file_array *out, gx_error *err)
{
	struct file_array a = {.dtype = t};
	gx_status s = shape ? parse_shape(im->name, shape, &a, err) : whole_file(im, &a, err);

	if (s)
		return s;
	if (array_layout(&a, 0))
		return diag_plain(err, GX_ARG, "%s: the shape has more than 2**63-1 bytes", im->name);
	s = compare_size(im, &a, err);
	s = s ? s : image_array(im, 0, 0, &a, err);
	if (s == GX_OK)
		*out = a;
	return s;
}
