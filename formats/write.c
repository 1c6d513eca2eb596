/* write.c -- an array to bytes of an .npy, text or raw file. The .npy header is byte for byte NumPy's: sorted keys, spare spaces so
 * that the first axis can grow to 21 digits in place, then 1 to 64 bytes of padding so that the data starts on a multiple of 64. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/parts.h"

static gx_status write_failed(const struct sink *s, size_t n, gx_error *err)
{
	char what[64];

	if (errno == EPIPE)
		return diag_plain(err, GX_IO, "%s: cannot write: its reader has gone (broken pipe)", s->shown);
	snprintf(what, sizeof what, "cannot write %zu bytes", n);
	return system_error(s->shown, what, errno, err);
}

static gx_status over_limit(const struct sink *s, gx_error *err)
{
	return diag_plain(err, GX_IO, "%s: cannot write: the file would become larger than this process may make one (%llu bytes, "
		"see ulimit -f)", s->shown, (unsigned long long)s->limit);
}

static gx_status write_all(struct sink *s, const char *p, size_t n, gx_error *err)
{
	if (n > s->limit || s->at > s->limit - n)   /* asked first: the kernel would send SIGXFSZ */
		return over_limit(s, err);
	while (n) {
		ssize_t done = write(s->fd, p, n < (1u << 30) ? n : 1u << 30);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return write_failed(s, n, err);
		if (done == 0)
			return diag_plain(err, GX_IO, "%s: cannot write: nothing is taken any more", s->shown);
		p += done;
		n -= (size_t)done;
		s->at += (size_t)done;
	}
	return GX_OK;
}

gx_status sink_flush(struct sink *s, gx_error *err)
{
	size_t n = s->n;

	s->n = 0;
	return write_all(s, s->room, n, err);
}

gx_status sink_put(struct sink *s, const void *data, size_t n, gx_error *err)
{
	if (n > sizeof s->room - s->n) {
		gx_status st = sink_flush(s, err);

		if (st || n >= sizeof s->room)
			return st ? st : write_all(s, data, n, err);
	}
	if (n)
		memcpy(s->room + s->n, data, n);
	s->n += n;
	return GX_OK;
}

/* Ask for all of the room before the work: a full disk is told at once. File systems that cannot say so are let be. */
static gx_status reserve(struct sink *s, uint64_t bytes, gx_error *err)
{
	if (bytes > s->limit || bytes > INT64_MAX)
		return over_limit(s, err);
	if (bytes < sizeof s->room)
		return GX_OK;
	while (fallocate(s->fd, 0, 0, (off_t)bytes)) {
		if (errno == EINTR)
			continue;
		if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
			return write_failed(s, (size_t)bytes, err);
		break;
	}
	return GX_OK;
}

static size_t npy_header_text(const gx_array *a, char text[512])
{
	char shape[200];
	const char *descr = descr_of(a->dtype == GX_BFLOAT16 ? GX_FLOAT32 : a->dtype);
	int n, spare;
	size_t total;

	extents_text(a->shape, a->rank, shape);
	n = sprintf(text + 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
	spare = a->rank ? 21 - snprintf(NULL, 0, "%lld", (long long)a->shape[0]) : 0;
	total = 10 + (size_t)n + (size_t)spare + 1;
	total += 64 - total % 64;
	memcpy(text, "\x93NUMPY\1\0", 8);
	text[8] = (char)((total - 10) & 0xff);
	text[9] = (char)((total - 10) >> 8);
	memset(text + 10 + n, ' ', total - 11 - (size_t)n);
	text[total - 1] = '\n';
	return total;
}

static gx_status put_widened(struct sink *s, const uint16_t *v, size_t n, gx_error *err)
{
	uint32_t wide[1024];

	while (n) {
		size_t k = n < 1024 ? n : 1024;
		gx_status st;

		for (size_t i = 0; i < k; i++)
			wide[i] = (uint32_t)v[i] << 16;   /* a bfloat16 is the upper half of a float32 */
		if ((st = sink_put(s, wide, k * sizeof *wide, err)))
			return st;
		v += k;
		n -= k;
	}
	return GX_OK;
}

static gx_status write_npy(struct sink *s, const gx_array *a, size_t count, int regular, gx_error *err)
{
	char text[512];
	size_t n = npy_header_text(a, text);
	int widen = a->dtype == GX_BFLOAT16;
	uint64_t bytes = (uint64_t)count * (widen ? 4 : gx_dtype_size(a->dtype));
	gx_status st = regular ? reserve(s, bytes + n, err) : GX_OK;

	st = st ? st : sink_put(s, text, n, err);
	if (st)
		return st;
	return widen ? put_widened(s, a->data, count, err) : sink_put(s, a->data, (size_t)bytes, err);
}

static gx_status write_raw(struct sink *s, const gx_array *a, size_t count, int regular, gx_error *err)
{
	size_t bytes = count * gx_dtype_size(a->dtype);
	gx_status st = regular ? reserve(s, bytes, err) : GX_OK;

	return st ? st : sink_put(s, a->data, bytes, err);
}

/* One row a line; rank 1 is a column, rank 0 a single value. */
static gx_status write_text(struct sink *s, const gx_array *a, size_t count, char separator, gx_error *err)
{
	size_t size = gx_dtype_size(a->dtype), cols = a->rank == 2 ? (size_t)a->shape[1] : 1;
	const char *p = a->data;
	char text[48];

	if (a->rank > 2)
		return diag_plain(err, GX_SHAPE, "%s: an array of rank %d does not fit into a text file (lines and columns: rank 2 at most); "
			"hint: write .npy", s->shown, a->rank);
	if (a->dtype == GX_COMPLEX64 || a->dtype == GX_COMPLEX128)
		return diag_plain(err, GX_UNSUPPORTED, "%s: complex numbers are not written to text files; hint: write .npy", s->shown);
	for (size_t i = 0, col = 0; i < count; i++) {
		int n = element_text(a->dtype, p + i * size, text);
		gx_status st;

		col = col + 1 == cols ? 0 : col + 1;
		text[n++] = col ? separator : '\n';
		if ((st = sink_put(s, text, (size_t)n, err)))
			return st;
	}
	return GX_OK;
}

/* Elements of a, or an error where it is not what may be written. */
static gx_status count_elements(const struct sink *s, const gx_array *a, size_t *count, gx_error *err)
{
	struct file_array layout = {.dtype = a->dtype, .rank = a->rank};

	if (a->place != GX_PLACE_HOST || a->rank < 0 || a->rank > GX_MAX_RANK || !gx_dtype_size(a->dtype))
		return diag_plain(err, GX_ARG, "%s: only arrays in host memory can be written", s->shown);
	memcpy(layout.shape, a->shape, (size_t)a->rank * sizeof a->shape[0]);
	if (array_layout(&layout, 0))
		return diag_plain(err, GX_ARG, "%s: the array has more than 2**63-1 bytes", s->shown);
	*count = layout.bytes / gx_dtype_size(a->dtype);
	for (int i = 0; *count && i < a->rank; i++)
		if (a->shape[i] < 0 || (a->shape[i] > 1 && a->stride[i] != layout.stride[i]))
			return diag_plain(err, GX_ARG, "%s: only C-contiguous arrays can be written", s->shown);
	return GX_OK;
}

gx_status array_write(struct sink *s, int kind, const gx_array *a, int regular, gx_error *err)
{
	size_t count = 0;
	gx_status st = count_elements(s, a, &count, err);

	if (st)
		return st;
	if (kind == OUTPUT_CSV || kind == OUTPUT_TSV)
		st = write_text(s, a, count, kind == OUTPUT_CSV ? ',' : '\t', err);
	else if (kind == OUTPUT_RAW)
		st = write_raw(s, a, count, regular, err);
	else
		st = write_npy(s, a, count, regular, err);
	return st ? st : sink_flush(s, err);
}
