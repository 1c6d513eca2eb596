/* cache.c -- the kernel cache on disk: which folder, finding, storing, dropping and trimming entries.
 * Layout: FOLDER/ab/cdef...gxk, named by the 128-bit hash of the key text, in 256 folders; FOLDER/nvrtc, the version that
 * compiled last; FOLDER/CACHEDIR.TAG for backup programs. */
#include "runtime/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/hash.h"
#include "runtime/cache_file.h"

enum { HOUR = 3600, MAX_ENTRY = 64 << 20, TRIM_EVERY = 64 };
static const long long LIMIT = 256ll << 20;

struct cache {
	char path[PATH_MAX];
	const char *off;             /* why nothing is kept; "" otherwise */
	int folder;                  /* open folder, or -1 */
	int absent;                  /* the folder is not there yet: the first store makes it */
	int nvrtc;
	unsigned stores;
	pthread_mutex_t lock;        /* guards what is above, after opening */
};

static int set_path(struct cache *c, const char *base, const char *rest)
{
	size_t n;

	if (snprintf(c->path, sizeof c->path, "%s%s", base, rest) >= (int)sizeof c->path) {
		c->path[0] = 0;
		return -1;
	}
	for (n = strlen(c->path); n > 1 && c->path[n - 1] == '/'; n--)
		c->path[n - 1] = 0;   /* "link/" would be followed */
	return 0;
}

static int home_path(struct cache *c)
{
	const char *home = secure_getenv("HOME");
	struct passwd pw, *found = NULL;
	char text[4096];

	if (home && *home == '/')
		return set_path(c, home, "/.cache/gpuexpr");
	if (getpwuid_r(geteuid(), &pw, text, sizeof text, &found) || !found || !pw.pw_dir || *pw.pw_dir != '/')
		return -1;
	return set_path(c, pw.pw_dir, "/.cache/gpuexpr");
}

/* Sets path; gives the reason why there is no cache, or "". Never a guessable name in /tmp. */
static const char *choose(struct cache *c, const gx_options *opt)
{
	const char *own = secure_getenv("GPUEXPR_CACHE_DIR"), *xdg = secure_getenv("XDG_CACHE_HOME");
	int rc;

	if (getauxval(AT_SECURE))
		return "the program runs with somebody else's rights (setuid)";
	if (opt && opt->cache_dir && *opt->cache_dir)
		rc = set_path(c, opt->cache_dir, "");
	else if (own && !*own)
		return "GPUEXPR_CACHE_DIR is empty";
	else if (own)
		rc = set_path(c, own, "");
	else if (xdg && *xdg == '/')
		rc = set_path(c, xdg, "/gpuexpr");
	else
		rc = home_path(c);
	if (rc)
		return "no home folder is known, or its name is too long";
	return opt && opt->no_cache ? "it is switched off (no_cache)" : "";
}

static void read_nvrtc(struct cache *c)
{
	size_t size;
	char *text = file_read(c->folder, "nvrtc", 64, &size, 0);
	long v = text ? strtol(text, NULL, 10) : 0;

	c->nvrtc = v > 0 && v < 1000000 ? (int)v : 0;
	free(text);
}

struct cache *cache_open(const gx_options *opt)
{
	struct cache *c = gx_calloc(1, sizeof *c);
	struct stat st;

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->folder = -1;
	c->off = choose(c, opt);
	if (*c->off)
		return c;
	c->absent = lstat(c->path, &st) && errno == ENOENT;
	if (!c->absent)
		c->folder = folder_open(AT_FDCWD, c->path, 0, &c->off);
	if (c->folder >= 0)
		read_nvrtc(c);
	return c;
}

void cache_close(struct cache *c)
{
	if (!c)
		return;
	if (c->folder >= 0)
		close(c->folder);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

const char *cache_path(const struct cache *c)
{
	return c->path;
}

const char *cache_off(const struct cache *c)
{
	return c->off;
}

const char *cache_shut(const struct cache *c)
{
	char above[PATH_MAX];
	struct stat st;

	if (*c->off)
		return c->off;
	if (!c->absent)
		return faccessat(c->folder, ".", W_OK | X_OK, AT_EACCESS) ? "cannot be written" : "";
	strcpy(above, c->path);
	do
		*(strrchr(above, '/') ? strrchr(above, '/') : above) = 0;
	while (*above && stat(above, &st));
	return faccessat(AT_FDCWD, *above ? above : *c->path == '/' ? "/" : ".", W_OK | X_OK, AT_EACCESS)
		? "is not there and cannot be made" : "";
}

int cache_absent(const struct cache *c)
{
	return c->absent;
}

static void write_text(int folder, const char *name, const char *text)
{
	const void *piece = text;
	size_t size = strlen(text);

	file_write(folder, name, &piece, &size, 1);
}

/* The folder for writing, made if need be. -1: there is none. */
static int folder_for_writing(struct cache *c)
{
	int fd;

	pthread_mutex_lock(&c->lock);
	if (c->absent) {
		c->absent = 0;
		folder_make_parents(c->path);
		c->folder = folder_open(AT_FDCWD, c->path, 1, &c->off);
		if (c->folder >= 0)
			write_text(c->folder, "CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"
				"# Compiled kernels of gpuexpr; may be deleted at any time.\n");
	}
	fd = c->folder;
	pthread_mutex_unlock(&c->lock);
	return fd;
}

static int folder_for_reading(struct cache *c)
{
	int fd;

	pthread_mutex_lock(&c->lock);
	fd = c->folder;
	pthread_mutex_unlock(&c->lock);
	return fd;
}

struct place {
	char folder[3], file[ENTRY_NAME + 1];
};

static struct place place_of(const char *key, size_t len)
{
	struct place p;
	char name[33];

	hash_name(key, len, name);
	memcpy(p.folder, name, 2);
	p.folder[2] = 0;
	snprintf(p.file, sizeof p.file, "%.30s.gxk", name + 2);
	return p;
}

/* Copies the image out when this file is the entry for the key. */
static int take(char *bytes, size_t size, const char *key, size_t len, struct image *image)
{
	struct entry e;

	if (entry_parse(&e, bytes, size) || e.key_len != len || memcmp(e.key, key, len))
		return 0;
	*image = e.image;
	image->bytes = gx_malloc(e.image.size + 1);
	if (!image->bytes) {
		memset(image, 0, sizeof *image);
		return 0;
	}
	memcpy(image->bytes, e.image.bytes, e.image.size);
	image->bytes[e.image.size] = 0;
	return 1;
}

int cache_load(struct cache *c, const char *key, size_t len, struct image *image)
{
	struct place p = place_of(key, len);
	int root = folder_for_reading(c), hit, fd;
	char *bytes;
	size_t size;

	memset(image, 0, sizeof *image);
	fd = root < 0 ? -1 : folder_open(root, p.folder, 0, NULL);
	if (fd < 0)
		return 0;
	bytes = file_read(fd, p.file, MAX_ENTRY, &size, 1);
	hit = bytes && take(bytes, size, key, len, image);
	if (bytes && !hit)
		unlinkat(fd, p.file, 0);
	free(bytes);
	close(fd);
	return hit;
}

void cache_drop(struct cache *c, const char *key, size_t len)
{
	struct place p = place_of(key, len);
	int root = folder_for_reading(c), fd = root < 0 ? -1 : folder_open(root, p.folder, 0, NULL);

	if (fd < 0)
		return;
	unlinkat(fd, p.file, 0);
	close(fd);
}

/* Now and then, and at the first store of about every TRIM_EVERY-th process: is the folder too large? */
static void maybe_trim(struct cache *c)
{
	long long freed = 0;
	int removed = 0;
	unsigned n;

	pthread_mutex_lock(&c->lock);
	n = c->stores++;
	pthread_mutex_unlock(&c->lock);
	if ((n + (unsigned)getpid()) % TRIM_EVERY == 0)
		cache_trim(c, LIMIT, &removed, &freed);
}

void cache_store(struct cache *c, const char *key, size_t len, const struct image *image)
{
	struct place p = place_of(key, len);
	unsigned char header[ENTRY_HEADER];
	const void *piece[3] = {header, key, image->bytes};
	const size_t size[3] = {ENTRY_HEADER, len, image->size};
	int root, fd;

	if (image->size > MAX_ENTRY / 2 || len > MAX_ENTRY / 4)
		return;
	root = folder_for_writing(c);
	fd = root < 0 ? -1 : folder_open(root, p.folder, 1, NULL);
	if (fd < 0)
		return;
	entry_header(header, key, len, image);
	file_write(fd, p.file, piece, size, 3);
	close(fd);
	maybe_trim(c);
}

int cache_nvrtc(struct cache *c)
{
	int v;

	pthread_mutex_lock(&c->lock);
	v = c->nvrtc;
	pthread_mutex_unlock(&c->lock);
	return v;
}

void cache_set_nvrtc(struct cache *c, int version)
{
	char text[16];
	int folder, same;

	pthread_mutex_lock(&c->lock);
	same = c->nvrtc == version;
	c->nvrtc = version;
	pthread_mutex_unlock(&c->lock);
	folder = same ? -1 : folder_for_writing(c);
	if (folder < 0)
		return;
	snprintf(text, sizeof text, "%d\n", version);
	write_text(folder, "nvrtc", text);
}

static int is_hex(const char *s, size_t n)
{
	return strspn(s, "0123456789abcdef") >= n;
}

/* What we wrote and nothing else: 30 hex digits, ".gxk", and for temporary files some more up to ".tmp". */
static int is_ours(const char *name, int *temporary)
{
	size_t n = strlen(name);

	*temporary = n > ENTRY_NAME + 4 && !strcmp(name + n - 4, ".tmp");
	return n >= ENTRY_NAME && n < 96 && is_hex(name, 30) && !strncmp(name + 30, ".gxk", 4) && (n == ENTRY_NAME || *temporary);
}

struct list {
	struct cache_item *item;
	int n, cap;
};

static void list_add(struct list *l, const char *folder, const char *name, const struct stat *st, int temporary)
{
	struct cache_item *it;

	if (l->n == l->cap) {
		int cap = l->cap ? 2 * l->cap : 256;

		it = gx_realloc(l->item, (size_t)cap * sizeof *it);
		if (!it)
			return;
		l->item = it;
		l->cap = cap;
	}
	it = &l->item[l->n++];
	snprintf(it->name, sizeof it->name, "%.2s/%.96s", folder, name);
	it->bytes = (long long)st->st_size;
	it->used = (long long)st->st_mtime;
	it->temporary = temporary;
}

/* Takes fd. */
static void scan_folder(int fd, const char *folder, struct list *l)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	struct stat st;
	int temporary;

	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (is_ours(e->d_name, &temporary) && !fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			list_add(l, folder, e->d_name, &st, temporary);
	closedir(d);
}

static int oldest_first(const void *a, const void *b)
{
	const struct cache_item *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

int cache_scan(struct cache *c, struct cache_item **items)
{
	int root = folder_for_reading(c), i, fd;
	struct list l = {0};
	char name[3];

	for (i = 0; i < 256 && root >= 0; i++) {
		snprintf(name, sizeof name, "%02x", (unsigned)i);
		fd = folder_open(root, name, 0, NULL);
		if (fd >= 0)
			scan_folder(fd, name, &l);
	}
	if (l.n)
		qsort(l.item, (size_t)l.n, sizeof *l.item, oldest_first);
	*items = l.item;
	return l.n;
}

static int item_folder(struct cache *c, const char *name)
{
	char folder[3] = {name[0], name[1], 0};
	int root = folder_for_reading(c);

	return root < 0 ? -1 : folder_open(root, folder, 0, NULL);
}

void cache_remove(struct cache *c, const char *name)
{
	int fd = item_folder(c, name);

	if (fd < 0)
		return;
	unlinkat(fd, name + 3, 0);
	close(fd);
}

char *cache_read(struct cache *c, const char *name, size_t *size)
{
	int fd = item_folder(c, name);
	char *bytes;

	if (fd < 0)
		return NULL;
	bytes = file_read(fd, name + 3, MAX_ENTRY, size, 0);
	close(fd);
	return bytes;
}

/* Down to 80 % of the limit, so that not every store after this one has to scan again. */
void cache_trim(struct cache *c, long long bytes, int *removed, long long *freed)
{
	long long total = 0, now = (long long)time(NULL);
	struct cache_item *item;
	int i, n = cache_scan(c, &item), over;

	for (i = 0; i < n; i++)
		total += item[i].temporary ? 0 : item[i].bytes;
	over = total > bytes;
	for (i = 0; i < n; i++) {
		int stale = item[i].temporary && item[i].used < now - HOUR;

		if (!stale && (!over || item[i].temporary || total <= bytes / 5 * 4))
			continue;
		cache_remove(c, item[i].name);
		total -= item[i].temporary ? 0 : item[i].bytes;
		*freed += item[i].bytes;
		++*removed;
	}
	free(item);
}
