/* cache_file.c -- see cache_file.h. Every step works relative to an open folder (openat and kin), so that a path changed
 * under our feet between check and use leads nowhere. No fsync: a file lost or torn in a crash fails its checksum and is
 * a miss. */
#include "runtime/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/hash.h"

enum { DAY = 86400, FORMAT = 1 };
static const char magic[9] = "gxkernel";

static int trusted(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

int folder_open(int parent, const char *name, int make, const char **why)
{
	const char *unused;
	struct stat st;
	int fd;

	if (!why)
		why = &unused;
	if (make && mkdirat(parent, name, 0700) && errno != EEXIST) {
		*why = strerror(errno);
		return -1;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		*why = errno == ENOENT ? "is not there yet" : errno == ELOOP || errno == ENOTDIR
			? "is a link or not a folder" : errno == EACCES ? "may not be opened" : "cannot be opened";
		return -1;
	}
	if (fstat(fd, &st) || !trusted(&st)) {
		*why = "belongs to somebody else or may be written by others (chmod 700 it)";
		close(fd);
		return -1;
	}
	return fd;
}

void folder_make_parents(const char *path)
{
	char part[PATH_MAX];
	size_t i;

	for (i = 1; i < sizeof part - 1 && path[i]; i++)
		if (path[i] == '/') {
			memcpy(part, path, i);
			part[i] = 0;
			mkdir(part, 0700);
		}
}

static int read_all(int fd, char *p, size_t n)
{
	while (n) {
		ssize_t got = read(fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static void touch_file(int fd, const struct stat *st)
{
	time_t now = time(NULL);

	if (st->st_mtime < now - DAY || st->st_mtime > now + DAY)
		futimens(fd, NULL);
}

char *file_read(int folder, const char *name, size_t limit, size_t *size, int touch)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *bytes = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && trusted(&st) && (uintmax_t)st.st_size <= limit)
		bytes = gx_malloc((size_t)st.st_size + 1);
	if (bytes && read_all(fd, bytes, (size_t)st.st_size)) {
		free(bytes);
		bytes = NULL;
	}
	if (bytes) {
		*size = (size_t)st.st_size;
		bytes[*size] = 0;
		if (touch)
			touch_file(fd, &st);
	}
	close(fd);
	return bytes;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return -1;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

/* A write past RLIMIT_FSIZE raises SIGXFSZ, which kills by default. Hold it back, and take away one that we caused. */
static int write_pieces(int fd, const void *const *piece, const size_t *size, int n)
{
	const struct timespec now = {0, 0};
	sigset_t one, old, pending;
	int i, rc = 0;

	sigemptyset(&one);
	sigaddset(&one, SIGXFSZ);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &one, &old);
	for (i = 0; i < n && !rc; i++)
		rc = write_all(fd, piece[i], size[i]);
	if (rc && errno == EFBIG && !sigismember(&pending, SIGXFSZ))
		sigtimedwait(&one, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static uint64_t random_number(void)
{
	struct timespec t;
	uint64_t r;

	if (getrandom(&r, sizeof r, GRND_NONBLOCK) == sizeof r)
		return r;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)&r;
}

int file_write(int folder, const char *name, const void *const *piece, const size_t *size, int n)
{
	char temp[96];
	int fd, rc;

	if (snprintf(temp, sizeof temp, "%s.%ld.%016llx.tmp", name, (long)getpid(),
			(unsigned long long)random_number()) >= (int)sizeof temp)
		return -1;
	fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	rc = write_pieces(fd, piece, size, n);
	if (close(fd))
		rc = -1;
	if (rc || renameat(folder, temp, folder, name)) {
		unlinkat(folder, temp, 0);
		return -1;
	}
	return 0;
}

static void put(unsigned char *p, uint64_t v, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get(const unsigned char *p, int bytes)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* Header up to the sum itself, then key and image. */
static void checksum(const unsigned char *header, const char *key, size_t key_len, const char *image, size_t size,
	uint64_t sum[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		sum[i] = hash_bytes(header, 48, 0x452821e638d01377u + (uint64_t)i);
		sum[i] = hash_bytes(key, key_len, sum[i]);
		sum[i] = hash_bytes(image, size, sum[i]);
	}
}

void entry_header(unsigned char h[ENTRY_HEADER], const char *key, size_t len, const struct image *image)
{
	uint64_t sum[2];

	memcpy(h, magic, 8);
	put(h + 8, FORMAT, 8);
	put(h + 16, len, 8);
	put(h + 24, image->size, 8);
	put(h + 32, image->ptx != 0, 4);
	put(h + 36, (unsigned)image->target, 4);
	put(h + 40, (unsigned)image->nvrtc, 4);
	put(h + 44, (unsigned)image->driver, 4);
	checksum(h, key, len, image->bytes, image->size, sum);
	put(h + 48, sum[0], 8);
	put(h + 56, sum[1], 8);
}

int entry_parse(struct entry *e, char *bytes, size_t size)
{
	const unsigned char *h = (const unsigned char *)bytes;
	uint64_t key_len, image_len, sum[2];

	memset(e, 0, sizeof *e);
	e->bytes = bytes;
	if (size < ENTRY_HEADER || memcmp(h, magic, 8) || get(h + 8, 8) != FORMAT)
		return -1;
	key_len = get(h + 16, 8);
	image_len = get(h + 24, 8);
	if (key_len > size - ENTRY_HEADER || image_len != size - ENTRY_HEADER - key_len)
		return -1;
	e->key = bytes + ENTRY_HEADER;
	e->key_len = (size_t)key_len;
	e->image.bytes = bytes + ENTRY_HEADER + key_len;
	e->image.size = (size_t)image_len;
	e->image.ptx = (int)get(h + 32, 4);
	e->image.target = (int)get(h + 36, 4);
	e->image.nvrtc = (int)get(h + 40, 4);
	e->image.driver = (int)get(h + 44, 4);
	checksum(h, e->key, e->key_len, e->image.bytes, e->image.size, sum);
	return sum[0] == get(h + 48, 8) && sum[1] == get(h + 56, 8) ? 0 : -1;
}
