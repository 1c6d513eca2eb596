/* arena.c -- bump allocator over a list of malloc'd blocks.
 * Blocks are calloc'd, so fresh memory is already zero; a request larger than a block gets a block of its own. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

struct arena_block {
	struct arena_block *next;
	size_t size;
};

enum { BLOCK = 64 << 10, ALIGN = 16 };

static void no_memory(struct arena *a)
{
	if (a->fail)
		longjmp(*a->fail, 1);
	abort();   /* an arena without an owner's setjmp is a bug of ours */
}

static void new_block(struct arena *a, size_t size)
{
	size_t bytes = sizeof(struct arena_block) + ALIGN + size;
	struct arena_block *b = bytes < size ? NULL : gx_calloc(1, bytes);

	if (!b)
		no_memory(a);
	b->next = a->head;
	b->size = bytes;
	a->head = b;
	a->total += bytes;
	a->at = (char *)(((uintptr_t)(b + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
	a->end = (char *)b + bytes;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *p;

	if (need < size)
		no_memory(a);
	if ((size_t)(a->end - a->at) < need)
		new_block(a, need > BLOCK ? need : BLOCK);
	p = a->at;
	a->at += need;
	return p;
}

void *arena_grow(struct arena *a, void *array, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 8;
	void *p = arena_alloc(a, want * size);

	if (n)
		memcpy(p, array, n * size);
	*cap = want;
	return p;
}

char *arena_text(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);

	memcpy(p, s, n);
	return p;
}

char *arena_fmt(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *p;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_free(struct arena *a)
{
	for (struct arena_block *b = a->head, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	a->head = NULL;
	a->at = a->end = NULL;
	a->total = 0;
}
