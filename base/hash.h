/* hash.h -- 64-bit hash of bytes, for hash tables, and a 128-bit content hash for names of cache entries.
 * Neither is cryptographic: a reader of the cache compares the whole key. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);
void hash_name(const void *data, size_t n, char name[33]);   /* 32 hex digits and a NUL */

#endif
