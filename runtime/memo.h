/* memo.h -- a map from keys to things that are expensive to make, in which each is made once: when several threads ask
 * for one key, one makes it and the others wait. Values in use are counted; unused ones stay until there are too many. */
#ifndef RUNTIME_MEMO_H
#define RUNTIME_MEMO_H

#include <stddef.h>

#include "include/gpuexpr.h"

struct memo;
struct memo_entry {
	void *value;
	/* the rest belongs to memo.c */
	void *key;
	size_t len;
	int state, users;
	unsigned long long hash, used;
	gx_error *error;
	struct memo_entry *next;
};

typedef gx_status (*memo_make)(void *arg, void **value, gx_error *err);   /* gives the value */

/* drop frees a value; keep: how many unused values may stay. Gives: memo_free. NULL: out of memory. */
struct memo *memo_new(void (*drop)(void *arg, void *value), void *arg, int keep);
/* All entries must have been released. Drops every value. NULL is fine. */
void memo_free(struct memo *m);
/* The entry for a key (copied), made by make(arg) where there is none; *made (may be NULL) says whether this call made it.
 * A failure is reported to all who waited for it and is not remembered. Release each entry got with memo_release. */
gx_status memo_get(struct memo *m, const void *key, size_t len, memo_make make, void *arg, struct memo_entry **entry,
	int *made, gx_error *err);
void memo_release(struct memo *m, struct memo_entry *entry);

#endif
