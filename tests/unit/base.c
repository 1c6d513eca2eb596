/* base.c -- tests of base/: the arena, text buffers, hashes, numbers, and how errors look. */
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/number.h"
#include "tests/unit/unit.h"

/* ---- arena ---- */

static int all_zero(const unsigned char *p, size_t n)
{
	while (n && !p[n - 1])
		n--;
	return n == 0;
}

static void with_arena(void (*body)(struct arena *))
{
	static struct arena a;
	jmp_buf fail;

	a.fail = &fail;
	if (setjmp(fail))
		check(0, "the arena found no memory");
	else
		body(&a);
	arena_free(&a);
}

static void test_arena_growth(struct arena *a)
{
	unsigned char *kept[300];
	int zero = 1, aligned = 1, whole = 1;

	for (int i = 0; i < 300; i++) {
		size_t n = (size_t)i * 37 % 5000 + (i % 50 == 49 ? 200000 : 0);

		kept[i] = arena_alloc(a, n);
		zero &= all_zero(kept[i], n);
		aligned &= (uintptr_t)kept[i] % 16 == 0;
		if (n)
			memset(kept[i], i, n);
	}
	for (int i = 0; i < 300; i++) {
		size_t n = (size_t)i * 37 % 5000 + (i % 50 == 49 ? 200000 : 0);

		for (size_t j = 0; j < n; j++)
			whole &= kept[i][j] == (unsigned char)i;
	}
	check(zero, "arena memory is zero");
	check(aligned, "arena memory is aligned to 16 bytes");
	check(whole, "allocations do not overlap");
	check(a->total > 1200000 && a->total < 4000000, "total counts what was asked: %zu", a->total);
	arena_free(a);
	check(a->total == 0 && !a->head, "a freed arena is empty");
	same_text(arena_fmt(a, "%d and %s", 7, "text"), "7 and text", "arena_fmt after arena_free");
	same_text(arena_text(a, "abcdef", 3), "abc", "arena_text");
}

static void test_arena_push(struct arena *a)
{
	int *list = NULL, good = 1;
	size_t n = 0, cap = 0;

	for (int i = 0; i < 10000; i++)
		arena_push(a, list, n, cap, i * 3);
	for (int i = 0; i < 10000; i++)
		good &= list[i] == i * 3;
	check(good && n == 10000 && cap >= n, "arena_push keeps its elements");
}

static void test_arena_no_memory(void)
{
	jmp_buf fail;
	static struct arena a;
	static volatile int came;

	a.fail = &fail;
	came = 0;
	if (setjmp(fail) == 0)
		arena_alloc(&a, SIZE_MAX - 3);
	else
		came++;
	check(came == 1, "a size that overflows goes to fail");
	if (setjmp(fail) == 0)
		arena_alloc(&a, SIZE_MAX / 2);
	else
		came++;
	check(came == 2, "a size that no machine has goes to fail");
	if (setjmp(fail) == 0)
		check(arena_alloc(&a, 10) != NULL, "the arena works on after a failure");
	arena_free(&a);
}

/* ---- buf ---- */

static void test_buf(void)
{
	struct buf b = {0};
	char *text;

	for (int i = 0; i < 1000; i++)
		buf_fmt(&b, "%d,", i);
	check(b.len == 10 * 2 + 90 * 3 + 900 * 4 && !b.failed, "buf_fmt grows: %zu", b.len);
	check(!strncmp(b.text + b.len - 8, "998,999,", 8) && b.text[b.len] == 0, "the end is there");
	buf_free(&b);
	check(!b.text && !b.len, "buf_free empties");
	text = buf_take(&b);
	same_text(text, "", "buf_take of nothing");
	free(text);
	buf_escaped(&b, "a*/b\\c\x01\xc3\xa9\n*x/", 13);
	same_text(b.text, "a*\\x2fb\\x5cc\\x01\\xc3\\xa9\\x0a*x/", "buf_escaped");
	b.len = 0;
	buf_json(&b, "q\"b\\ \n\x7f/\xc3\xa9");
	same_text(b.text, "\"q\\\"b\\\\ \\u000a\\u007f/\xc3\xa9\"", "buf_json");
	buf_free(&b);
}

/* ---- hash ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_hash(void)
{
	enum { N = 100000 };
	uint64_t *h = malloc(N * sizeof *h);
	char a[33], b[33], zeros[64] = {0};
	int bits = 0, distinct = 1;

	for (uint32_t i = 0; h && i < N; i++)
		h[i] = hash_bytes(&i, sizeof i, 7);
	qsort(h, N, sizeof *h, compare);
	for (int i = 1; i < N; i++)
		distinct &= h[i] != h[i - 1];
	check(distinct, "100000 small keys have different hashes");
	free(h);
	for (size_t i = 0; i < 63; i++)
		distinct &= hash_bytes(zeros, i, 0) != hash_bytes(zeros, i + 1, 0);
	check(distinct, "zeros of different lengths have different hashes");
	check(hash_bytes("abc", 3, 1) != hash_bytes("abc", 3, 2), "the seed counts");
	for (int i = 0; i < 64; i++) {
		uint64_t x = 0x123456789abcdefu, y = x ^ 1ull << i;

		bits += __builtin_popcountll(hash_bytes(&x, 8, 0) ^ hash_bytes(&y, 8, 0));
	}
	check(bits > 64 * 24 && bits < 64 * 40, "one bit flips about half of the hash: %d of 4096", bits);
	hash_name("kernel", 6, a);
	hash_name("kernem", 6, b);
	check(strlen(a) == 32 && strspn(a, "0123456789abcdef") == 32 && strcmp(a, b), "names of content: %s", a);
}

/* ---- numbers ---- */

static void numbers(const char *where)
{
	static const struct {
		double v;
		const char *text;
	} shortest[] = {
		{0.1, "0.1"},
		{1e30, "1e+30"},
		{-0.0, "-0"},
		{5e-324, "5e-324"},
		{1.0 / 3, "0.3333333333333333"},
		{100, "100"},
		{INFINITY, "inf"},
		{-INFINITY, "-inf"},
		{NAN, "nan"},
		{9007199254740993.0, "9007199254740992"},
	};
	char buf[40];

	for (size_t i = 0; i < sizeof shortest / sizeof *shortest; i++) {
		number_text(shortest[i].v, buf);
		same_text(buf, shortest[i].text, where);
	}
	check(number_real("1.5") == 1.5 && number_real("1e-3") == 1e-3 && number_real(".5") == 0.5,
		"number_real (%s)", where);
	check(number_real("1e999") == INFINITY && number_real("2.4703282292062328e-324") == 5e-324, "limits (%s)",
		where);
}

static void test_numbers(void)
{
	numbers("C locale");
	if (german_locale()) {
		printf("skip numbers in a German locale: none here\n");
		skipped++;
		return;
	}
	numbers("German locale");
	setlocale(LC_ALL, "C");
}

/* ---- errors ---- */

static const char *rendered(const char *text, unsigned begin, unsigned end, const char *hint)
{
	static gx_error err;
	struct text src = {"<expr>", text, strlen(text)};
	struct diag d = {.src = &src};

	diag_error(&d, GX_TYPE, (struct span){begin, end}, "wrong");
	if (hint)
		diag_hint(&d, "%s", hint);
	diag_error(&d, GX_SHAPE, (struct span){0, 1}, "a later error");
	diag_fill(&d, &err);
	return err.status == GX_TYPE ? err.text : "another status";
}

static void test_diag(void)
{
	char wide[1200];
	const char *caret;

	same_text(rendered("y = x + 1", 4, 5, NULL), "<expr>:1:5: error: wrong\n  y = x + 1\n      ^",
		"one character");
	same_text(rendered("y = xyz", 4, 7, "try"), "<expr>:1:5: error: wrong\n  y = xyz\n      ^~~\nhint: try",
		"a span and a hint");
	same_text(rendered("a = 1\nb = zz\nc", 10, 12, NULL), "<expr>:2:5: error: wrong\n  b = zz\n      ^~",
		"the second line");
	same_text(rendered("# \xc3\xa9\xc3\xa9\n\xc3\xa9 zz", 10, 12, NULL),
		"<expr>:2:3: error: wrong\n  \xc3\xa9 zz\n    ^~", "characters");
	same_text(rendered("x\ty\x1b", 2, 3, NULL), "<expr>:1:3: error: wrong\n  x y \n    ^",
		"no control characters");
	same_text(rendered("x +", 3, 4, NULL), "<expr>:1:4: error: wrong\n  x +\n     ^", "past the end");
	same_text(rendered("x", 0, 0, NULL), "error: wrong", "no place");
	same_text(rendered("f(a\n  b)", 0, 8, NULL), "<expr>:1:1: error: wrong\n  f(a\n  ^~~",
		"a span of two lines");
	memset(wide, 'w', sizeof wide);
	wide[sizeof wide - 1] = 0;
	wide[600] = '!';
	caret = rendered(wide, 600, 601, NULL);
	check(strlen(caret) < 500 && strstr(caret, ":1:601: ") && strchr(caret, '!'),
		"a long line is shown around the place: %s", caret);
	caret = strrchr(caret, '\n');
	check(caret && strspn(caret + 1, " ") == 2 + 100, "and the caret stands under it: %s",
		caret ? caret : "");
}

static void test_diag_rest(void)
{
	struct text src = {"f.gx", "a > 5 & b", 9};
	struct diag d = {.src = &src};
	gx_error err;

	diag_warn(&d, (struct span){6, 7}, "use and", "odd");
	diag_warn(&d, (struct span){0, 1}, NULL, "again %d", 2);
	same_text(d.warnings.text,
		"f.gx:1:7: warning: odd\n  a > 5 & b\n        ^\nhint: use and\nf.gx:1:1: warning: again 2\n  a > 5 "
		"& b\n  ^",
		"warnings");
	check(diag_fill(&d, &err) == GX_OK && err.status == GX_OK && !err.text[0], "warnings are no error");
	buf_free(&d.warnings);
	check(diag_plain(&err, GX_IO, "no %s", "file") == GX_IO && !strcmp(err.text, "no file") && !err.line,
		"diag_plain");
	check(diag_plain(NULL, GX_IO, "x") == GX_IO && diag_fill(&d, NULL) == GX_OK, "err may be NULL");
}

static void test_suggest(void)
{
	struct suggestion s = {.wanted = "sqroot"}, none = {.wanted = "xyz"}, near = {.wanted = "Velocty"};

	check(diag_distance("kitten", "sitting") == 3 && diag_distance("", "abc") == 3 &&
			diag_distance("abc", "abc") == 0,
		"distance");
	check(diag_distance("ab", "ba") == 1 && diag_distance("SUM", "sum") == 0, "swaps and case");
	check(diag_distance("a", "1234567890123456789012345678901234567890123456789012345678901234") == 64,
		"long words");
	diag_suggest(&s, "sqrt");
	diag_suggest(&s, "cbrt");
	check(s.best && !strcmp(s.best, "sqrt"), "sqroot is sqrt");
	diag_suggest(&none, "abc");
	check(!none.best, "nothing is near xyz");
	diag_suggest(&near, "velocity");
	diag_suggest(&near, "velocities");
	check(near.best && !strcmp(near.best, "velocity"), "the nearest wins");
}

int main(void)
{
	with_arena(test_arena_growth);
	with_arena(test_arena_push);
	test_arena_no_memory();
	test_buf();
	test_hash();
	test_numbers();
	test_diag();
	test_diag_rest();
	test_suggest();
	return finish();
}
