/* threads.c -- a pool of threads. Workers sleep on a condition until the job number changes, then claim chunks with an atomic counter;
 * the caller takes part as worker 0 and waits until the last worker has left the job. */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fault.h"

struct threads {
	int n, started;
	pid_t pid;
	pthread_mutex_t job_lock;      /* one job at a time */
	pthread_mutex_t lock;          /* guards what follows */
	pthread_cond_t wake, done;
	unsigned long job;             /* counts jobs */
	int inside;                    /* workers that have not left the job */
	int quit;
	int64_t next, chunks;
	void (*fn)(void *, int64_t, int);
	void *arg;
	pthread_t thread[];
};

struct start {
	struct threads *t;
	int worker;
};

static int cores(void)
{
	cpu_set_t set;
	int n;

	if (sched_getaffinity(0, sizeof set, &set))
		return 1;
	n = CPU_COUNT(&set);
	return n < 1 ? 1 : n > 256 ? 256 : n;
}

struct threads *threads_new(int n)
{
	struct threads *t;

	n = n > 0 ? n : cores();
	t = gx_calloc(1, sizeof *t + sizeof *t->thread * (size_t)n);
	if (!t)
		return NULL;
	t->n = n;
	t->pid = getpid();
	pthread_mutex_init(&t->job_lock, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	pthread_cond_init(&t->done, NULL);
	return t;
}

static void work(struct threads *t, int worker)
{
	int64_t chunk;

	while ((chunk = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED)) < t->chunks)
		t->fn(t->arg, chunk, worker);
}

static void *body(void *arg)
{
	struct start s = *(struct start *)arg;
	struct threads *t = s.t;
	unsigned long seen = 0;

	free(arg);
	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (t->job == seen && !t->quit)
			pthread_cond_wait(&t->wake, &t->lock);
		if (t->quit)
			break;
		seen = t->job;
		pthread_mutex_unlock(&t->lock);
		work(t, s.worker);
		pthread_mutex_lock(&t->lock);
		if (--t->inside == 0)
			pthread_cond_signal(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Signals of the host program go to its own threads. */
static void start_workers(struct threads *t)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (t->started < t->n - 1) {
		struct start *s = gx_malloc(sizeof *s);

		if (!s)
			break;
		*s = (struct start){t, t->started + 1};
		if (pthread_create(&t->thread[t->started], NULL, body, s)) {
			free(s);
			break;
		}
		t->started++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void threads_free(struct threads *t)
{
	if (!t)
		return;
	if (t->pid == getpid()) {
		pthread_mutex_lock(&t->lock);
		t->quit = 1;
		pthread_cond_broadcast(&t->wake);
		pthread_mutex_unlock(&t->lock);
		for (int i = 0; i < t->started; i++)
			pthread_join(t->thread[i], NULL);
	}
	pthread_mutex_destroy(&t->job_lock);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->wake);
	pthread_cond_destroy(&t->done);
	free(t);
}

int threads_count(const struct threads *t)
{
	return t->n;
}

void threads_run(struct threads *t, int64_t chunks, void (*fn)(void *, int64_t, int), void *arg)
{
	if (t->n == 1 || chunks < 2 || t->pid != getpid() || pthread_mutex_trylock(&t->job_lock)) {
		for (int64_t i = 0; i < chunks; i++)
			fn(arg, i, 0);
		return;
	}
	if (t->started < t->n - 1)
		start_workers(t);
	pthread_mutex_lock(&t->lock);
	t->fn = fn;
	t->arg = arg;
	t->chunks = chunks;
	__atomic_store_n(&t->next, 0, __ATOMIC_RELAXED);
	t->inside = t->started;
	t->job++;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
	work(t, 0);
	pthread_mutex_lock(&t->lock);
	while (t->inside > 0)
		pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
	pthread_mutex_unlock(&t->job_lock);
}
