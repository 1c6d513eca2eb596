/* threads.h -- a pool of threads that share the chunks of one job at a time. */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <stdint.h>

struct threads;

/* n workers including the caller; 0 = the cores that this process may use. Threads start at the first job that needs them. NULL:
 * out of memory. */
struct threads *threads_new(int n);
void threads_free(struct threads *t);
int threads_count(const struct threads *t);

/* Call fn(arg, chunk, worker) for every chunk in [0, chunks), worker in [0, threads_count): each worker number is used by one thread at a
 * time. Returns when all are done. May be called from any thread; while another job runs, or in a forked child, the caller does all
 * chunks itself as worker 0. */
void threads_run(struct threads *t, int64_t chunks, void (*fn)(void *arg, int64_t chunk, int worker), void *arg);

#endif
