/* npz.c -- .npz files: a zip archive of .npy files, stored or deflated, with the 64-bit extensions that numpy.savez uses for big ones.
 * The directory at the end of the file is what counts (as for Python's zipfile); sizes in it are compared with the file, and with
 * what deflate can do at best (1032 bytes from one), before anything is allocated. Members are checked by their CRC. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#if !__has_include(<zlib.h>)
#error "zlib.h is missing; ./bootstrap installs it, or says how"
#endif
#include <zlib.h>

#include "base/fault.h"
#include "formats/parts.h"

enum { END = 22, END64 = 56, LOCATOR64 = 20, ENTRY = 46, LOCAL = 30, RATIO = 1032 };

struct directory { uint64_t at, bytes, entries; };

struct member {
	const char *name;
	size_t name_len;
	unsigned flags, method;
	uint32_t crc;
	uint64_t packed, size, local;   /* local: where its local header is */
};

static uint64_t get(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static gx_status damaged(const struct image *im, const char *what, gx_error *err)
{
	return diag_plain(err, GX_IO, "%s: %s; the .npz (zip) file is damaged or truncated", im->name, what);
}

/* The record at the very end, searched backwards over a comment that may follow it. */
static const unsigned char *find_end(const struct image *im)
{
	size_t back = im->n < END + 65535u ? im->n : END + 65535u;

	for (size_t i = END; i <= back; i++) {
		const unsigned char *p = im->p + im->n - i;

		if (memcmp(p, "PK\5\6", 4) == 0 && get(p + 20, 2) + END <= i)
			return p;
	}
	return NULL;
}

/* Sizes that do not fit the record are in a second one, which a locator right before the first points to. */
static gx_status find_end64(const struct image *im, size_t end, struct directory *d, gx_error *err)
{
	const unsigned char *p;
	uint64_t at;

	if (end < LOCATOR64 || memcmp(im->p + end - LOCATOR64, "PK\6\7", 4) != 0)
		return GX_OK;
	at = get(im->p + end - LOCATOR64 + 8, 8);
	if (at > im->n || im->n - at < END64 || memcmp(im->p + at, "PK\6\6", 4) != 0)
		return damaged(im, "its 64-bit directory is not where it should be", err);
	p = im->p + at;
	d->entries = get(p + 32, 8);
	d->bytes = get(p + 40, 8);
	d->at = get(p + 48, 8);
	return GX_OK;
}

static gx_status find_directory(struct image *im, struct directory *d, gx_error *err)
{
	const unsigned char *p;
	gx_status s = image_need(im, SIZE_MAX, err);

	if (s)
		return s;
	if (im->n == 0)
		return diag_plain(err, GX_IO, "%s is empty (0 bytes)", im->name);
	if (im->n < 4 || memcmp(im->p, "PK", 2) != 0)
		return diag_plain(err, GX_IO, "%s is not an .npz (zip) file", im->name);
	p = find_end(im);
	if (!p)
		return damaged(im, "no zip directory at its end", err);
	d->entries = get(p + 10, 2);
	d->bytes = get(p + 12, 4);
	d->at = get(p + 16, 4);
	s = find_end64(im, (size_t)(p - im->p), d, err);
	if (s)
		return s;
	if (d->at > im->n || d->bytes > im->n - d->at || d->entries > d->bytes / ENTRY)
		return damaged(im, "its directory does not fit into the file", err);
	return GX_OK;
}

/* The 64-bit values of the extra field, in a fixed order, each there only where the 32-bit one is all ones. */
static int widen(const unsigned char *p, size_t n, struct member *m)
{
	uint64_t *const values[] = {&m->size, &m->packed, &m->local};

	while (n >= 4) {
		size_t len = get(p + 2, 2), k = 4;

		if (len > n - 4)
			return -1;
		for (int i = 0; get(p, 2) == 1 && i < 3; i++) {
			if (*values[i] != 0xffffffff)
				continue;
			if (k + 8 > len + 4)
				return -1;
			*values[i] = get(p + k, 8);
			k += 8;
		}
		p += len + 4;
		n -= len + 4;
	}
	return 0;
}

/* Read the entry at *at and step over it. */
static gx_status next_member(const struct image *im, const struct directory *d, uint64_t *at, struct member *m, gx_error *err)
{
	const unsigned char *p = im->p + *at;
	uint64_t left = d->at + d->bytes - *at;
	size_t extra, bytes;

	if (left < ENTRY || memcmp(p, "PK\1\2", 4) != 0)
		return damaged(im, "an entry of its directory is malformed", err);
	m->flags = (unsigned)get(p + 8, 2);
	m->method = (unsigned)get(p + 10, 2);
	m->crc = (uint32_t)get(p + 16, 4);
	m->packed = get(p + 20, 4);
	m->size = get(p + 24, 4);
	m->local = get(p + 42, 4);
	m->name = (const char *)p + ENTRY;
	m->name_len = (size_t)get(p + 28, 2);
	extra = (size_t)get(p + 30, 2);
	bytes = ENTRY + m->name_len + extra + (size_t)get(p + 32, 2);
	if (bytes > left || widen(p + ENTRY + m->name_len, extra, m))
		return damaged(im, "an entry of its directory is malformed", err);
	*at += bytes;
	return GX_OK;
}

/* Length of the name without .npy; 0: not an array. */
static size_t stem(const struct member *m)
{
	return m->name_len > 4 && memcmp(m->name + m->name_len - 4, ".npy", 4) == 0 ? m->name_len - 4 : 0;
}

static int is_named(const struct member *m, const char *name)
{
	size_t n = strlen(name);

	return (m->name_len == n || stem(m) == n) && memcmp(m->name, name, n) == 0;
}

static gx_status no_member(struct image *im, const struct directory *d, const char *wanted, gx_error *err)
{
	char shown[200];
	struct buf list = {0};
	uint64_t at = d->at;
	int arrays = 0;
	gx_status s;

	for (uint64_t i = 0; i < d->entries; i++) {
		struct member m;

		if (next_member(im, d, &at, &m, NULL))
			break;
		if (!stem(&m))
			continue;
		if (list.len < 150) {
			buf_str(&list, arrays ? ", " : "");
			buf_escaped(&list, m.name, stem(&m) < 60 ? stem(&m) : 60);
		}
		arrays++;
	}
	if (list.len >= 150)
		buf_str(&list, ", ...");
	name_shown(wanted ? wanted : "", shown);
	if (arrays == 0)
		s = diag_plain(err, GX_IO, "%s holds no arrays", im->name);
	else if (wanted)
		s = diag_plain(err, GX_IO, "%s has no array '%.60s'; it holds %.220s", im->name, shown, list.text ? list.text : "");
	else
		s = diag_plain(err, GX_ARG, "%s holds %d arrays (%.220s); hint: name one, FILE.npz:NAME", im->name, arrays,
			list.text ? list.text : "");
	buf_free(&list);
	return s;
}

/* The last one of a name counts, as for Python. */
static gx_status find_member(struct image *im, const char *wanted, struct member *found, gx_error *err)
{
	struct directory d;
	uint64_t at, hits = 0;
	gx_status s = find_directory(im, &d, err);

	if (s)
		return s;
	at = d.at;
	for (uint64_t i = 0; i < d.entries; i++) {
		struct member m;

		if ((s = next_member(im, &d, &at, &m, err)))
			return s;
		if (wanted ? !is_named(&m, wanted) : !stem(&m))
			continue;
		*found = m;
		hits++;
	}
	return hits == 0 || (!wanted && hits > 1) ? no_member(im, &d, wanted, err) : GX_OK;
}

/* Check what the directory says of a member; gives where its bytes are. */
static gx_status locate(const struct image *im, const struct member *m, const unsigned char **data, gx_error *err)
{
	const unsigned char *p;
	uint64_t head;

	if (m->flags & 1)
		return diag_plain(err, GX_UNSUPPORTED, "%s: a member is encrypted, which gpuexpr does not read", im->name);
	if (m->method != 0 && m->method != 8)
		return diag_plain(err, GX_UNSUPPORTED, "%s: a member is compressed by method %u; gpuexpr reads stored (0) and deflated (8) "
			"ones", im->name, m->method);
	if (m->local > im->n || im->n - m->local < LOCAL || memcmp(im->p + m->local, "PK\3\4", 4) != 0)
		return damaged(im, "a member is not where its directory says", err);
	p = im->p + m->local;
	head = LOCAL + get(p + 26, 2) + get(p + 28, 2);
	if (head > im->n - m->local || m->packed > im->n - m->local - head)
		return damaged(im, "a member does not fit into the file", err);
	if (m->method == 0 ? m->size != m->packed : m->size / RATIO > m->packed + 1)
		return damaged(im, "the size of a member cannot be true", err);
	*data = p + head;
	return GX_OK;
}

static voidpf zip_alloc(voidpf unused, uInt n, uInt size)
{
	(void)unused;
	return gx_calloc(n, size);
}

static void zip_free(voidpf unused, voidpf p)
{
	(void)unused;
	free(p);
}

static uInt piece(size_t n)
{
	return n < UINT_MAX / 2 ? (uInt)n : UINT_MAX / 2;
}

static int inflate_all(const unsigned char *from, size_t packed, unsigned char *to, size_t size)
{
	z_stream z = {.zalloc = zip_alloc, .zfree = zip_free};
	unsigned char extra = 0;
	int rc = inflateInit2(&z, -MAX_WBITS);
	size_t in = 0, out = 0;

	while (rc == Z_OK) {
		uInt give = piece(packed - in), room = piece(size - out);
		int full = room == 0;

		z.next_in = (Bytef *)(uintptr_t)(from + in);
		z.avail_in = give;
		z.next_out = full ? &extra : to + out;   /* nothing may come any more, but the end must */
		z.avail_out = full ? 1 : room;
		rc = inflate(&z, Z_NO_FLUSH);
		in += give - z.avail_in;
		out += full ? 0 : room - z.avail_out;
		if (full && z.avail_out == 0)
			rc = Z_DATA_ERROR;
	}
	inflateEnd(&z);
	if (rc == Z_MEM_ERROR)
		return rc;
	return rc == Z_STREAM_END && out == size ? Z_OK : Z_DATA_ERROR;
}

static uint32_t checksum(const unsigned char *p, size_t n)
{
	uLong c = crc32(0, NULL, 0);

	while (n) {
		uInt k = piece(n);

		c = crc32(c, p, k);
		p += k;
		n -= k;
	}
	return (uint32_t)c;
}

/* The member as an image of its own. A stored one borrows the archive's bytes: *borrowed. */
static gx_status unpack(struct image *im, const struct member *m, struct image *out, gx_error *err)
{
	const unsigned char *from = NULL;
	gx_status s = locate(im, m, &from, err);
	int rc = Z_OK;

	if (s)
		return s;
	if (m->size > SIZE_MAX)
		return no_memory(im->name, m->size, err);
	out->fd = -1;
	out->size = (int64_t)m->size;
	out->n = (size_t)m->size;
	out->end = 1;
	out->p = from;
	if (m->method == 8) {
		out->owner = gx_malloc(out->n ? out->n : 1);
		if (!out->owner)
			return no_memory(im->name, m->size, err);
		out->p = out->owner;
		rc = inflate_all(from, (size_t)m->packed, out->owner, out->n);
	}
	if (rc == Z_MEM_ERROR)
		return no_memory(im->name, m->packed, err);
	if (rc != Z_OK || checksum(out->p, out->n) != m->crc)
		return diag_plain(err, GX_IO, "%s is damaged: %s", out->name, rc != Z_OK ? "it cannot be decompressed" :
			"its checksum (CRC) is wrong");
	return GX_OK;
}

/* A stored member lives in the archive's memory, which its array takes over; aligned or not is for image_array to see. */
static void lend(struct image *im, struct image *member)
{
	if (member->owner)
		return;
	member->owner = im->owner;
	member->owner_bytes = im->owner_bytes;
	im->owner = NULL;
	im->owner_bytes = 0;
}

gx_status npz_array(struct image *im, const char *wanted, int bf16, struct file_array *a, gx_error *err)
{
	struct image member = {.fd = -1};
	struct member m = {0};
	char name[200];
	gx_status s = find_member(im, wanted, &m, err);

	if (s)
		return s;
	snprintf(name, sizeof name, "%.*s", (int)(stem(&m) ? stem(&m) : m.name_len), m.name);
	name_shown(name, member.name);
	snprintf(name, sizeof name, "%.100s:%.90s", im->name, member.name);
	memcpy(member.name, name, sizeof name);
	s = unpack(im, &m, &member, err);
	if (s == GX_OK) {
		lend(im, &member);
		s = npy_array(&member, bf16, a, err);
	}
	image_close(&member);
	return s;
}

/* One block: the pointers, then the strings. Called twice: with names NULL it only counts. */
static gx_status list(struct image *im, const struct directory *d, char **names, char *text, int *count, size_t *bytes, gx_error *err)
{
	uint64_t at = d->at;

	*count = 0;
	*bytes = 0;
	for (uint64_t i = 0; i < d->entries; i++) {
		struct member m;
		gx_status s = next_member(im, d, &at, &m, err);

		if (s)
			return s;
		if (!stem(&m))
			continue;
		if (names) {
			names[*count] = text + *bytes;
			memcpy(text + *bytes, m.name, stem(&m));
			text[*bytes + stem(&m)] = 0;
		}
		++*count;
		*bytes += stem(&m) + 1;
	}
	return GX_OK;
}

gx_status npz_members(const char *path, char ***names, int *count, gx_error *err)
{
	struct image im;
	struct directory d;
	size_t bytes;
	int n;
	gx_status s = image_open(path, &im, err);

	*names = NULL;
	*count = 0;
	if (s)
		return s;
	s = find_directory(&im, &d, err);
	s = s ? s : list(&im, &d, NULL, NULL, &n, &bytes, err);
	if (s == GX_OK) {
		char **block = gx_calloc(1, (size_t)(n + 1) * sizeof *block + bytes);

		if (block)
			s = list(&im, &d, block, (char *)(block + n + 1), count, &bytes, err);
		else
			s = no_memory(im.name, bytes, err);
		*names = block;
	}
	image_close(&im);
	return s;
}
