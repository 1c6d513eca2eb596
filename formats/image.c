/* image.c -- a file as bytes in memory. Big regular files are mapped (no copy, the page cache is the memory); all else is read
 * on demand into a block that grows with what really arrives, so that a header which promises 2**60 bytes on a pipe ends
 * in "truncated" and not in "out of memory". The size is asked for before a mapping is touched: a short file would be SIGBUS. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/number.h"
#include "formats/parts.h"

enum { SMALL = 1 << 20, FIRST = 1 << 16, MOST = 1 << 30 };

static void escape(const char *from, size_t n, char *to, size_t room)
{
	size_t k = 0;

	for (size_t i = 0; i < n && k + 5 < room; i++) {
		unsigned char c = (unsigned char)from[i];

		if (c < 32 || c == 127)
			k += (size_t)snprintf(to + k, room - k, "\\x%02x", c);
		else
			to[k++] = (char)c;
	}
	to[k] = 0;
}

void name_shown(const char *name, char shown[200])
{
	size_t n = strlen(name);

	if (n <= 180) {
		escape(name, n, shown, 200);
		return;
	}
	escape(name, 60, shown, 80);
	strcat(shown, "...");
	n -= 80;
	while (((unsigned char)name[n] & 0xc0) == 0x80)
		n++;   /* not in the middle of a character */
	escape(name + n, strlen(name + n), shown + strlen(shown), 200 - strlen(shown));
}

gx_status no_memory(const char *shown, uint64_t bytes, gx_error *err)
{
	char text[32];

	return diag_plain(err, GX_NOMEM, "%s: no memory for %s", shown, number_bytes((double)bytes, text));
}

gx_status system_error(const char *shown, const char *what, int number, gx_error *err)
{
	char text[128];

	return diag_plain(err, GX_IO, "%s: %s: %s", shown, what, strerror_r(number, text, sizeof text));
}

const char *dangling_link(const char *path, char text[500])
{
	char part[PATH_MAX], to[PATH_MAX], link[200], target[200];
	int number = errno;   /* the caller may still want it */
	struct stat st;

	for (size_t n = 1; path[n - 1] && n < sizeof part; n++) {
		ssize_t len;

		if (path[n] && path[n] != '/')
			continue;
		snprintf(part, n + 1, "%s", path);
		len = stat(part, &st) ? readlink(part, to, sizeof to - 1) : -1;
		if (len < 0)
			continue;
		to[len] = 0;
		name_shown(part, link);
		name_shown(to, target);
		snprintf(text, 500, "%s is a symbolic link that leads nowhere (to %s)", link, target);
		return text;
	}
	errno = number;
	return NULL;
}

static gx_status open_failed(const char *path, const char *shown, gx_error *err)
{
	char text[500];

	if (errno != ENOENT)
		return system_error(shown, "cannot open", errno, err);
	if (!path[0])
		return diag_plain(err, GX_IO, "the file name is empty");
	if (dangling_link(path, text))
		return diag_plain(err, GX_IO, "%s", text);
	return diag_plain(err, GX_IO, "%s: no such file", shown);
}

/* Map the whole file and look at it from byte `start` on (mappings begin on a page). What cannot be mapped for want of room would not
 * fit when read, either; a file system that does not map is read. */
static gx_status map(struct image *im, uint64_t start, gx_error *err)
{
	uint64_t bytes = start + (uint64_t)im->size;
	void *p = bytes > SIZE_MAX ? MAP_FAILED : mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, im->fd, 0);
	int number = bytes > SIZE_MAX ? ENOMEM : errno;
	char size[32], why[128];

	if (p == MAP_FAILED && number == ENOMEM)
		return diag_plain(err, GX_NOMEM, "%s (%s) cannot be mapped: %s", im->name, number_bytes((double)bytes, size),
			strerror_r(number, why, sizeof why));
	if (p == MAP_FAILED)
		return GX_OK;
	madvise(p, (size_t)bytes, MADV_WILLNEED);
	im->owner = p;
	im->owner_bytes = (size_t)bytes;
	im->p = (const unsigned char *)p + start;
	im->n = (size_t)im->size;
	im->end = 1;
	return GX_OK;
}

gx_status image_open(const char *path, struct image *im, gx_error *err)
{
	struct stat st;
	int64_t start = 0;
	gx_status s = GX_OK;

	memset(im, 0, sizeof *im);
	im->size = -1;
	name_shown(strcmp(path, "-") == 0 ? "<standard input>" : path, im->name);
	im->fd = strcmp(path, "-") == 0 ? dup(0) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (im->fd < 0)
		return open_failed(path, im->name, err);
	if (fstat(im->fd, &st)) {
		s = system_error(im->name, "cannot ask for its size", errno, err);
		image_close(im);
		return s;
	}
	if (S_ISDIR(st.st_mode)) {
		image_close(im);
		return diag_plain(err, GX_IO, "%s is a folder, not a file", im->name);
	}
	if (!S_ISREG(st.st_mode) || st.st_size == 0)   /* files of /proc say that they are empty, and are not */
		return GX_OK;
	start = lseek(im->fd, 0, SEEK_CUR);
	start = start < 0 ? 0 : start;
	im->size = st.st_size > start ? st.st_size - start : 0;
	if (im->size >= SMALL)   /* else it is read */
		s = map(im, (uint64_t)start, err);
	if (s)
		image_close(im);
	return s;
}

/* Make room for more bytes: what the file is known to hold, else twice as much as before. */
static gx_status grow(struct image *im, size_t want, gx_error *err)
{
	size_t cap = im->cap ? im->cap * 2 : FIRST;
	void *p;

	if (im->size >= 0 && (uint64_t)im->size >= im->n && (uint64_t)im->size < SIZE_MAX)
		cap = (size_t)im->size > im->n ? (size_t)im->size : im->n + 1;   /* + 1: does it go on? */
	if (want < cap)
		cap = want;
	p = gx_realloc(im->owner, cap);
	if (!p)
		return no_memory(im->name, cap, err);
	im->owner = p;
	im->p = p;
	im->cap = cap;
	return GX_OK;
}

gx_status image_need(struct image *im, size_t want, gx_error *err)
{
	while (im->n < want && !im->end) {
		size_t room;
		ssize_t got;

		if (im->n == im->cap && grow(im, want, err))
			return GX_NOMEM;
		room = im->cap - im->n;
		got = read(im->fd, (char *)im->owner + im->n, room < MOST ? room : MOST);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return system_error(im->name, "cannot read", errno, err);
		im->n += (size_t)got;
		im->end = got == 0;
	}
	return GX_OK;
}

void image_close(struct image *im)
{
	if (im->fd >= 0)
		close(im->fd);
	if (im->owner_bytes)
		munmap(im->owner, im->owner_bytes);
	else
		free(im->owner);
	im->fd = -1;
	im->owner = NULL;
	im->owner_bytes = 0;
}

static void turn_bytes(unsigned char *p, size_t bytes, size_t unit)
{
	for (size_t i = 0; i + unit <= bytes; i += unit)
		for (size_t lo = 0, hi = unit - 1; lo < hi; lo++, hi--) {
			unsigned char c = p[i + lo];

			p[i + lo] = p[i + hi];
			p[i + hi] = c;
		}
}

gx_status image_array(struct image *im, size_t at, size_t swap, struct file_array *a, gx_error *err)
{
	const unsigned char *from = im->p + at;
	int whole = a->bytes > 0 && (uintptr_t)from % gx_dtype_size(a->dtype) == 0 && !(swap && im->owner_bytes);

	if (im->owner_bytes && im->fd >= 0)   /* standard input goes on after the array, as if it had been read */
		lseek(im->fd, (off_t)(im->owner_bytes - im->n + at + a->bytes), SEEK_SET);
	if (!whole) {
		a->owner = gx_malloc(a->bytes ? a->bytes : 1);
		if (!a->owner)
			return no_memory(im->name, a->bytes, err);
		if (a->bytes)
			memcpy(a->owner, from, a->bytes);
		a->owner_bytes = 0;
		a->data = a->owner;
	} else {
		a->owner = im->owner;
		a->owner_bytes = im->owner_bytes;
		a->data = (void *)(uintptr_t)from;
		im->owner = NULL;
		im->owner_bytes = 0;
	}
	if (swap)
		turn_bytes(a->data, a->bytes, swap);
	return GX_OK;
}

void extents_text(const int64_t *shape, int rank, char text[200])
{
	size_t k = 1;

	text[0] = '(';
	for (int i = 0; i < rank; i++)
		k += (size_t)snprintf(text + k, 200 - k, "%s%lld", i ? ", " : "", (long long)shape[i]);
	snprintf(text + k, 200 - k, rank == 1 ? ",)" : ")");
}

int array_layout(struct file_array *a, int fortran)
{
	int64_t count = 1, bytes;
	int empty = 0;

	for (int i = 0; i < a->rank; i++)
		empty |= a->shape[i] == 0;
	memset(a->stride, 0, sizeof a->stride);
	a->bytes = 0;
	if (empty)
		return 0;
	for (int i = 0; i < a->rank; i++) {
		int axis = fortran ? i : a->rank - 1 - i;

		a->stride[axis] = count;
		if (__builtin_mul_overflow(count, a->shape[axis], &count))
			return -1;
	}
	if (__builtin_mul_overflow(count, (int64_t)gx_dtype_size(a->dtype), &bytes) || (uint64_t)bytes > SIZE_MAX)
		return -2;
	a->bytes = (size_t)bytes;
	return 0;
}

int ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	if (n < m)
		return 0;
	for (size_t i = 0; i < m; i++) {
		char c = s[n - m + i];

		c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
		if (c != tail[i])
			return 0;
	}
	return 1;
}
