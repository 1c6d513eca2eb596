/* cache.h -- compiled kernels on disk: one file an entry, found by the hash of its key text and trusted only when the
 * whole key text and a checksum agree.
 * Nothing here is ever an error for whoever evaluates a formula: what cannot be read is a miss, what cannot be written is
 * not kept. Any thread, any number of processes, no locks.
 *
 * The key text holds the version of NVRTC, yet a hit must not open NVRTC to ask for it. So the folder remembers the version
 * that compiled last (file "nvrtc"): look-ups use that one; who misses opens NVRTC, and when its version is another, records
 * it and looks once more. Entries of several versions live side by side, an upgrade takes effect at the first miss, and a
 * machine with a warm cache needs no NVRTC at all. */
#ifndef RUNTIME_CACHE_H
#define RUNTIME_CACHE_H

#include <stddef.h>

#include "base/buf.h"
#include "include/gpuexpr.h"
#include "runtime/nvrtc.h"

struct cache;

/* Choose the folder and look at it; makes nothing on disk yet. opt may be NULL. Gives: cache_close; NULL: out of memory.
 * A cache that is switched off or refused is an object too, in which nothing is ever found. */
struct cache *cache_open(const gx_options *opt);
void cache_close(struct cache *c);                 /* NULL is fine */
const char *cache_path(const struct cache *c);     /* of the folder; "" without one */
const char *cache_off(const struct cache *c);      /* why it is not in use, as a sentence; "" when it is */

const char *cache_shut(const struct cache *c);     /* why nothing can be stored in it, as a sentence; "" when it can */
int cache_absent(const struct cache *c);           /* 1: its folder is not there yet */

/* 1 when the entry for this key is there: gives *image (image_free). 0: a miss, *image is zero. */
int cache_load(struct cache *c, const char *key, size_t len, struct image *image);
void cache_store(struct cache *c, const char *key, size_t len, const struct image *image);
void cache_drop(struct cache *c, const char *key, size_t len);

int cache_nvrtc(struct cache *c);                  /* version of the NVRTC that compiled last; 0: not known */
void cache_set_nvrtc(struct cache *c, int version);

/* Delete the entries not used for longest until the rest is at most `bytes`, and stale temporary files. Adds up. */
void cache_trim(struct cache *c, long long bytes, int *removed, long long *freed);

/* A file of the cache, for the commands. */
struct cache_item {
	char name[128];              /* "ab/0123....gxk" */
	long long bytes, used;       /* used: seconds since 1970 */
	int temporary;
};
/* All entries and temporary files, those not used for longest first. Gives *items: free(). */
int cache_scan(struct cache *c, struct cache_item **items);
void cache_remove(struct cache *c, const char *name);
/* The bytes of a file of the cache, as file_read gives them. */
char *cache_read(struct cache *c, const char *name, size_t *size);

/* "stat" "list" "verify" "clear" "path" "trim". Status: ARG for another word, IO when the folder is refused. */
gx_status cache_command(const gx_options *opt, const char *command, struct buf *out, gx_error *err);

#endif
