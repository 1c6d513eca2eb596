/* fibre.c -- cooperative threads with stacks of their own, and the scheduler of an emulated block.
 *
 * A thread runs until it waits (at a barrier or a shuffle) or ends; in each round all that can run do, in
 * an order drawn at random by warp and by lane. A shuffle is over when all 32 lanes are there, a barrier
 * when all threads of the block are. Waiting at different lines, or for a thread that has ended, is what
 * CUDA leaves undefined: here it is an error. */
#include "tests/emulate/fibre.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef ASAN
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(save, bottom, size) ((void)(save))
#define __sanitizer_finish_switch_fiber(save, bottom, size) ((void)(save))
#endif

enum { MAX_THREADS = 1024, WARP = 32, STACK = 512 * 1024 };
enum wait { READY, AT_BARRIER, AT_SHUFFLE, ENDED };

struct fibre {
	void *sp, *stack, *fake;
	enum wait wait;
	int line;
	unsigned lane;
	unsigned long long in, out;
};

static struct {
	struct fibre fibre[MAX_THREADS];
	struct fibre *now;
	struct emu_state *state;
	void (*entry)(const void *);
	const void *args;
	void *sp, *fake; /* the scheduler's own */
	const void *bottom;
	size_t size;
	char error[200];
} s;

unsigned emu_random(unsigned *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

/* Save the callee-saved registers and the stack pointer in *from, go on where `to` was saved. */
#if defined(__x86_64__)
void fibre_swap(void **from, void *to);
__asm__(
	".text\n.globl fibre_swap\n.hidden fibre_swap\n.type fibre_swap,@function\nfibre_swap:\n"
	"\tpushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
	"\tmovq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n"
	"\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret\n.size fibre_swap,.-fibre_swap\n");
#elif defined(__aarch64__)
void fibre_swap(void **from, void *to);
__asm__(
	".text\n.globl fibre_swap\n.hidden fibre_swap\n.type fibre_swap,%function\nfibre_swap:\n"
	"\tsub sp, sp, #160\n\tstp x19, x20, [sp]\n\tstp x21, x22, [sp, #16]\n\tstp x23, x24, [sp, #32]\n\tstp x25, x26, [sp, #48]\n"
	"\tstp x27, x28, [sp, #64]\n\tstp x29, x30, [sp, #80]\n\tstp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n"
	"\tstp d12, d13, [sp, #128]\n\tstp d14, d15, [sp, #144]\n\tmov x2, sp\n\tstr x2, [x0]\n\tmov sp, x1\n"
	"\tldp x19, x20, [sp]\n\tldp x21, x22, [sp, #16]\n\tldp x23, x24, [sp, #32]\n\tldp x25, x26, [sp, #48]\n"
	"\tldp x27, x28, [sp, #64]\n\tldp x29, x30, [sp, #80]\n\tldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n"
	"\tldp d12, d13, [sp, #128]\n\tldp d14, d15, [sp, #144]\n\tadd sp, sp, #160\n\tret\n");
#else
#error "the emulator has no context switch for this processor"
#endif

static void to_scheduler(int ended)
{
	struct fibre *f = s.now;

	__sanitizer_start_switch_fiber(ended ? NULL : &f->fake, s.bottom, s.size);
	fibre_swap(&f->sp, s.sp);
	__sanitizer_finish_switch_fiber(f->fake, &s.bottom, &s.size);
}

static void begin(void)
{
	__sanitizer_finish_switch_fiber(NULL, &s.bottom, &s.size);
	s.entry(s.args);
	s.now->wait = ENDED;
	to_scheduler(1);
	abort();
}

static void resume(unsigned t)
{
	s.now = &s.fibre[t];
	s.state->thread.x = t;
	__sanitizer_start_switch_fiber(&s.fake, s.now->stack, STACK);
	fibre_swap(&s.sp, s.now->sp);
	__sanitizer_finish_switch_fiber(s.fake, NULL, NULL);
}

static void barrier(int line)
{
	s.now->wait = AT_BARRIER;
	s.now->line = line;
	to_scheduler(0);
}

static unsigned long long shuffle(unsigned mask, unsigned long long bits, unsigned lane, int line)
{
	(void)mask;
	s.now->wait = AT_SHUFFLE;
	s.now->line = line;
	s.now->in = bits;
	s.now->lane = lane;
	to_scheduler(0);
	return s.now->out;
}

static int prepare(struct fibre *f)
{
	uintptr_t top;

	if (!f->stack) {
		f->stack =
			mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (f->stack == MAP_FAILED) {
			f->stack = NULL;
			return -1;
		}
	}
	top = ((uintptr_t)f->stack + STACK - 64) & ~(uintptr_t)15;
#if defined(__x86_64__)
	top -= 8 * 8; /* six registers, the return address, and a slot that keeps the ABI's alignment */
	memset((void *)top, 0, 64);
	((void (**)(void))top)[6] = begin;
#else
	top -= 160;
	memset((void *)top, 0, 160);
	((void (**)(void))top)[11] = begin; /* x30 */
#endif
	f->sp = (void *)top;
	f->wait = READY;
	f->fake = NULL;
	return 0;
}

static void shuffled(unsigned *order, unsigned n, unsigned *seed)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned j = emu_random(seed) % (i + 1);

		order[i] = i;
		order[i] = order[j];
		order[j] = i;
	}
}

/* All that can run do, once. Returns how many ran. */
static int round_once(unsigned threads, unsigned *seed)
{
	unsigned warp[MAX_THREADS / WARP], lane[WARP], ran = 0;

	shuffled(warp, (threads + WARP - 1) / WARP, seed);
	for (unsigned w = 0; w < (threads + WARP - 1) / WARP; w++) {
		shuffled(lane, WARP, seed);
		for (unsigned i = 0; i < WARP; i++) {
			unsigned t = warp[w] * WARP + lane[i];

			if (t >= threads || s.fibre[t].wait != READY)
				continue;
			resume(t);
			ran++;
		}
	}
	return (int)ran;
}

static void finish_shuffles(unsigned threads)
{
	for (unsigned w = 0; w + WARP <= threads; w += WARP) {
		struct fibre *f = &s.fibre[w];
		unsigned there = 0;

		for (unsigned i = 0; i < WARP; i++)
			there += f[i].wait == AT_SHUFFLE && f[i].line == f[0].line;
		if (there != WARP)
			continue;
		for (unsigned i = 0; i < WARP; i++)
			f[i].out = f[f[i].lane % WARP].in;
		for (unsigned i = 0; i < WARP; i++)
			f[i].wait = READY;
	}
}

static void finish_barrier(unsigned threads)
{
	for (unsigned t = 0; t < threads; t++)
		if (s.fibre[t].wait != AT_BARRIER || s.fibre[t].line != s.fibre[0].line)
			return;
	for (unsigned t = 0; t < threads; t++)
		s.fibre[t].wait = READY;
}

/* Nobody can run: fine when all have ended, else say who waits where. */
static const char *verdict(unsigned threads)
{
	static const char *const what[] = {"ready", "at a barrier", "at a shuffle", "ended"};
	const struct fibre *a = &s.fibre[0];

	for (unsigned t = 0; t < threads; t++) {
		const struct fibre *b = &s.fibre[t];

		if (a->wait == b->wait && (a->wait == ENDED || a->line == b->line))
			continue;
		snprintf(s.error, sizeof s.error,
			"threads of a block part ways: thread 0 is %s (line %d), thread %u is %s (line %d)",
			what[a->wait], a->line, t, what[b->wait], b->line);
		return s.error;
	}
	return NULL;
}

const char *fibre_block(
	struct emu_state *state, void (*entry)(const void *), const void *args, unsigned *seed)
{
	unsigned threads = state->block_dim.x;

	s.state = state;
	s.entry = entry;
	s.args = args;
	state->barrier = barrier;
	state->shuffle = shuffle;
	for (unsigned t = 0; t < threads; t++)
		if (prepare(&s.fibre[t]))
			return "no memory for the stacks of a block";
	while (round_once(threads, seed)) {
		finish_shuffles(threads);
		finish_barrier(threads);
	}
	return verdict(threads);
}

void fibre_close(void)
{
	for (int t = 0; t < MAX_THREADS; t++) {
		if (s.fibre[t].stack)
			munmap(s.fibre[t].stack, STACK);
		s.fibre[t].stack = NULL;
	}
}
