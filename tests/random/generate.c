/* generate.c -- a seed to a program. (The sign of a NaN is nobody's promise, so nothing looks at one.) Every expression broadcasts to (rows, columns): inputs are whole matrices, rows, columns, vectors
 * and scalars of several types and layouts, and views put pieces of larger ones in place. */
#include "tests/random/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

void draw_from(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < 4; i++)
		draw(2);
}

uint64_t draw(uint64_t n)   /* xorshift64*; Marsaglia 2003, Vigna 2016 */
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1du >> 33) % n;
}

/* A form and what it takes: F, I, T an expression of that kind, in the order of its %s. */
struct form {
	const char *text, *takes;
};

static const struct form leaves[3][24] = {
	{{"f", ""}, {"g.T", ""}, {"h", ""}, {"b", ""}, {"s", ""}, {"w[idx]", ""}, {"big[1:-2, 2:-2:2]", ""}, {"big[2:-1, 3:-1:2][::-1]", ""},
		{"1.5", ""}, {"f[:, ::-1]", ""}, {"f[0]", ""}, {"f[:, :1]", ""}, {"h[::-1, ::-1]", ""}, {"g[0, 0]", ""}, {"reshape(g, size(f))[idx]", ""}},
	{{"i", ""}, {"j", ""}, {"k", ""}, {"l", ""}, {"idx", ""}, {"7", ""}, {"arange(shape(f, 1))", ""}, {"i[::-1]", ""}, {"idx.T.T", ""},
		{"l[::-1]", ""}, {"i[-1:]", ""}},
	{{"m", ""}, {"m[::-1]", ""}, {"true", ""}, {"m[:, :1]", ""}},
};
static const struct form inner[3][40] = {
	{{"(%s + %s)", "FF"}, {"(%s - %s)", "FF"}, {"(%s * %s)", "FF"}, {"(%s / %s)", "FF"}, {"(%s + %s)", "FI"}, {"(%s * %s)", "IF"},
		{"(%s // %s)", "FF"}, {"(%s %% %s)", "FF"}, {"min(%s, %s)", "FF"}, {"max(%s, %s)", "FF"}, {"abs(%s)", "F"}, {"sqrt(abs(%s))", "F"},
		{"floor(%s)", "F"}, {"round(%s)", "F"}, {"where(%s, %s, %s)", "TFF"}, {"(-%s)", "F"}, {"f32(%s)", "I"}, {"f64(%s)", "F"},
		{"f16(%s)", "F"}, {"bf16(%s)", "F"}, {"copysign(%s, %s)", "FI"}, {"sign(%s)", "F"}, {"(%s / 3)", "I"}, {"%s ** 2", "F"},
		{"shift(%s + f, 1, axis=1, edge=wrap)", "F"}, {"shift(%s + f, -1, edge=clamp)", "F"}, {"shift(f*%s, 2, edge=fill, fill=9)", "F"},
		{"max(%s + f, axis=1, keepdims=true)", "F"}, {"min(%s + f, axis=0)", "F"}, {"max(%s)", "F"}, {"flip(%s + f)", "F"}, {"cummax(%s + f, axis=1)", "F"}, {"cummin(%s + f, axis=0)", "F"},
		{"(f - max(f * %s, axis=1, keepdims=true))", "F"}, {"min(%s / max(f + %s, axis=1, keepdims=true), axis=1, keepdims=true)", "FF"},
		{"f32(sum(%s + i, axis=0))", "I"}, {"reshape(%s + f, -1)[idx]", "F"}, {"(%s ? %s : %s)", "TFF"}, {"clip(%s, -2, 3)", "F"}},
	{{"(%s + %s)", "II"}, {"(%s - %s)", "II"}, {"(%s * %s)", "II"}, {"(%s // %s)", "II"}, {"(%s %% %s)", "II"}, {"(%s & %s)", "II"},
		{"(%s | %s)", "II"}, {"(%s ^ %s)", "II"}, {"(%s << 3)", "I"}, {"(%s >> 1)", "I"}, {"min(%s, %s)", "II"}, {"max(%s, %s)", "II"},
		{"i32(%s)", "F"}, {"u8(%s)", "F"}, {"i64(%s)", "F"}, {"i16(%s)", "I"}, {"abs(%s)", "I"}, {"where(%s, %s, %s)", "TII"}, {"(~%s)", "I"},
		{"sum(%s + i, axis=1, keepdims=true)", "I"}, {"sum(%s)", "I"}, {"argmax(%s + f, axis=0)", "F"}, {"argmin(%s + f)", "F"},
		{"count(%s | m, axis=1, keepdims=true)", "T"}, {"(%s + i).T.T[::-1]", "I"}, {"(%s + l)[None, :][0]", "I"}, {"popcount(%s)", "I"}, {"cumsum(%s + i, axis=0)", "I"}, {"cumsum(%s + j, axis=-1)", "I"},
		{"prod(%s + j, axis=0)", "I"}, {"i32(%s)", "T"}, {"l[%s %% shape(f, 1)]", "I"}},
	{{"(%s < %s)", "FF"}, {"(%s <= %s)", "FI"}, {"(%s == %s)", "II"}, {"(%s > %s)", "II"}, {"(%s and %s)", "TT"}, {"(%s or %s)", "TT"},
		{"(not %s)", "T"}, {"(%s ^ %s)", "TT"}, {"isnan(%s)", "F"}, {"any(%s | m, axis=0)", "T"}, {"all(%s | m, axis=1, keepdims=true)", "T"},
		{"bool(%s)", "F"}, {"(0 < %s < 5)", "I"}, {"isfinite(%s)", "F"}, {"signbit(f32(%s))", "I"}},
};
static const struct form loose[] = {{"exp(clip(%s, -5, 5))", "F"}, {"sin(clip(%s, -9, 9) + f)", "F"}, {"sum(abs(%s + f), axis=0)", "F"},
	{"mean(abs(%s + f))", "F"}, {"log(abs(%s) + 2)", "F"}, {"tanh(%s)", "F"}, {"std(i + %s, axis=1)", "I"}, {"cumsum(abs(%s + f), axis=1)", "F"}, {"cumsum(abs(%s + g.T), axis=0)", "F"}, {"sum(abs(%s * g.T), axis=1)", "F"},
	{"(abs(f + %s) / (1 + sum(abs(f + %s), axis=1, keepdims=true)))", "FF"}, {"var(f - mean(f + %s, axis=1, keepdims=true), axis=1)", "F"},
	{"cumsum(abs(f) / (1 + max(abs(f * %s), axis=0)), axis=1)", "F"}};

static int count(const struct form *f)
{
	int n = 0;

	while (f[n].text)
		n++;
	return n;
}

static struct node *make(int kind, int depth);

static struct node *made(const struct form *f, int kind, int depth)
{
	struct node *n = calloc(1, sizeof *n);

	n->form = f->text;
	n->kind = kind;
	for (const char *t = f->takes; *t; t++)
		n->kid[n->nkid++] = make(*t == 'F' ? FLOAT : *t == 'I' ? INTEGER : TRUTH, depth - 1);
	return n;
}

static struct node *make(int kind, int depth)
{
	const struct form *list = depth <= 0 || draw(6) == 0 ? leaves[kind] : inner[kind];

	return made(&list[draw((uint64_t)count(list))], kind, depth);
}

struct program program_make(void)
{
	static const int sizes[][2] = {{1, 1}, {3, 5}, {7, 33}, {64, 40}, {2, 1030}, {130, 3}, {1, 17}, {33, 1}, {257, 64}};
	const int *size = sizes[draw(sizeof sizes / sizeof *sizes)];
	struct program p = {.n = 1 + (int)draw(MOST_STATEMENTS), .rows = size[0], .columns = size[1]};

	for (int i = 0; i < p.n; i++) {
		p.loose[i] = draw(5) == 0;
		p.statement[i] = p.loose[i] ? made(&loose[draw(sizeof loose / sizeof *loose)], FLOAT, 3) : make((int)draw(3), 2 + (int)draw(3));
	}
	return p;
}

static size_t print(const struct node *n, char *text, size_t size)
{
	size_t at = 0;
	int kid = 0;

	for (const char *f = n->form; *f && at + 2 < size; f++)
		if (f[0] == '%' && f[1] == 's') {
			at += print(n->kid[kid++], text + at, size - at);
			f++;
		} else {
			f += f[0] == '%';
			text[at++] = *f;
		}
	text[at] = 0;
	return at;
}

void program_text(const struct program *p, char *text, size_t size)
{
	size_t at = 0;

	for (int i = 0; i < p->n && at + 100 < size; i++) {
		at += (size_t)snprintf(text + at, size - at, "y%d = ", i);
		at += print(p->statement[i], text + at, size - at - 4);
		at += (size_t)snprintf(text + at, size - at, "\n");
	}
}

static void node_free(struct node *n)
{
	for (int i = 0; n && i < n->nkid; i++)
		node_free(n->kid[i]);
	free(n);
}

void program_free(struct program *p)
{
	for (int i = 0; i < p->n; i++)
		node_free(p->statement[i]);
}

static int shrink(struct node *n, int *left, struct node **node, struct node *was)
{
	for (int i = 0; i < n->nkid; i++)
		if (n->kid[i]->kind == n->kind && (*left)-- == 0) {
			*node = n;
			*was = *n;
			*n = *n->kid[i];
			return 1;
		}
	for (int i = 0; i < n->nkid; i++)
		if (shrink(n->kid[i], left, node, was))
			return 1;
	return 0;
}

int program_shrink(struct program *p, int n, struct node **node, struct node *was)
{
	for (int i = 0; i < p->n; i++)
		if (shrink(p->statement[i], &n, node, was))
			return 1;
	return 0;
}

void program_restore(struct node *node, const struct node *was)
{
	*node = *was;
}
