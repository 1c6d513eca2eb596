/* memo.c -- hash table with chains; an entry is put in before it is made, in state MAKING, and its maker works without
 * the lock, so that only those who want the same key wait. A failed entry leaves the table at once but lives until the
 * last waiter has read its error. */
#include "runtime/memo.h"

#include <pthread.h>
#include <string.h>

#include "base/diag.h"
#include "base/fault.h"
#include "base/hash.h"

enum { BUCKETS = 1024 };
enum { MAKING, READY, FAILED };

struct memo {
	pthread_mutex_t lock;
	pthread_cond_t done;
	void (*drop)(void *arg, void *value);
	void *arg;
	int keep, unused;
	unsigned long long clock;
	struct memo_entry *bucket[BUCKETS];
};

struct memo *memo_new(void (*drop)(void *arg, void *value), void *arg, int keep)
{
	struct memo *m = gx_calloc(1, sizeof *m);

	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->done, NULL);
	m->drop = drop;
	m->arg = arg;
	m->keep = keep;
	return m;
}

static void entry_free(struct memo *m, struct memo_entry *e)
{
	if (e->state == READY)
		m->drop(m->arg, e->value);
	free(e->error);
	free(e->key);
	free(e);
}

void memo_free(struct memo *m)
{
	int i;

	if (!m)
		return;
	for (i = 0; i < BUCKETS; i++)
		while (m->bucket[i]) {
			struct memo_entry *e = m->bucket[i];

			m->bucket[i] = e->next;
			entry_free(m, e);
		}
	pthread_cond_destroy(&m->done);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static struct memo_entry *find(struct memo *m, const void *key, size_t len, unsigned long long hash)
{
	struct memo_entry *e;

	for (e = m->bucket[hash % BUCKETS]; e; e = e->next)
		if (e->hash == hash && e->len == len && !memcmp(e->key, key, len))
			return e;
	return NULL;
}

static struct memo_entry *insert(struct memo *m, const void *key, size_t len, unsigned long long hash)
{
	struct memo_entry *e = gx_calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->key = gx_malloc(len + 1);
	e->error = gx_calloc(1, sizeof *e->error);
	if (!e->key || !e->error) {
		e->state = FAILED;
		entry_free(m, e);
		return NULL;
	}
	memcpy(e->key, key, len);
	e->len = len;
	e->hash = hash;
	e->state = MAKING;
	e->users = 1;
	e->next = m->bucket[hash % BUCKETS];
	m->bucket[hash % BUCKETS] = e;
	return e;
}

static void take_out(struct memo *m, struct memo_entry *e)
{
	struct memo_entry **p = &m->bucket[e->hash % BUCKETS];

	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
}

static void drop_oldest(struct memo *m)
{
	struct memo_entry *e, *old = NULL;
	int i;

	for (i = 0; i < BUCKETS; i++)
		for (e = m->bucket[i]; e; e = e->next)
			if (e->users == 0 && (!old || e->used < old->used))
				old = e;
	if (!old)
		return;
	take_out(m, old);
	entry_free(m, old);
	m->unused--;
}

/* With the lock held; gives the lock back while making. */
static void fill(struct memo *m, struct memo_entry *e, memo_make make, void *arg)
{
	gx_status s;

	pthread_mutex_unlock(&m->lock);
	s = make(arg, &e->value, e->error);
	pthread_mutex_lock(&m->lock);
	e->error->status = s;
	e->state = s ? FAILED : READY;
	if (s)
		take_out(m, e);
	pthread_cond_broadcast(&m->done);
}

/* With the lock held: one user less. */
static void release(struct memo *m, struct memo_entry *e)
{
	if (--e->users)
		return;
	if (e->state == FAILED) {
		entry_free(m, e);
		return;
	}
	e->used = ++m->clock;
	if (++m->unused > m->keep)
		drop_oldest(m);
}

gx_status memo_get(struct memo *m, const void *key, size_t len, memo_make make, void *arg, struct memo_entry **entry,
	int *made, gx_error *err)
{
	unsigned long long hash = hash_bytes(key, len, 0);
	gx_status s = GX_NOMEM;
	struct memo_entry *e;
	int mine = 0;

	pthread_mutex_lock(&m->lock);
	e = find(m, key, len, hash);
	if (!e) {
		e = insert(m, key, len, hash);
		mine = e != NULL;
	} else if (e->users++ == 0) {
		m->unused--;
	}
	if (mine)
		fill(m, e, make, arg);
	while (e && e->state == MAKING)
		pthread_cond_wait(&m->done, &m->lock);
	if (e)
		s = e->error->status;
	if (e && s) {
		if (err)
			*err = *e->error;
		release(m, e);
		e = NULL;
	} else if (!e) {
		diag_plain(err, s, "out of memory");
	}
	pthread_mutex_unlock(&m->lock);
	*entry = e;
	if (made)
		*made = mine;
	return s;
}

void memo_release(struct memo *m, struct memo_entry *e)
{
	pthread_mutex_lock(&m->lock);
	release(m, e);
	pthread_mutex_unlock(&m->lock);
}
