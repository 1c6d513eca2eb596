/* arena.h -- bump allocator: memory that is freed all at once.
 * Allocations are zeroed and 16-byte aligned and never fail in the caller's face: when the system has no more
 * memory the arena longjmps to `fail`, which the owner must have set (setjmp) before the first allocation. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *head;   /* newest block */
	char *at, *end;             /* free part of it */
	size_t total;               /* bytes asked from the system */
	jmp_buf *fail;              /* where to go when memory runs out */
};

void *arena_alloc(struct arena *a, size_t size);
/* Grow an array of n elements of `size` bytes to hold at least n + 1, doubling; *cap is updated. Gives the array. */
void *arena_grow(struct arena *a, void *array, size_t n, size_t *cap, size_t size);
char *arena_text(struct arena *a, const char *s, size_t n);   /* NUL-terminated copy */
char *arena_fmt(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))
/* Append to a (pointer, count, capacity) triple kept in an arena. */
#define arena_push(a, array, n, cap, value) \
	((array) = (n) < (cap) ? (array) : arena_grow((a), (array), (n), &(cap), sizeof *(array)), (array)[(n)++] = (value))

#endif
