/* fold.c -- accumulators in a kernel's text: their variables, the trees that fold a thread's values, and how threads put together
 * what each has folded.
 *
 * An accumulator has up to three numbers: f value, i position; n count, f mean, m deviations. `lanes` threads of a block share an
 * output: neighbours (inner), or threads that are a block / lanes apart, so that neighbours hold neighbouring outputs (outer). */
#include "codegen/emit.h"

int fold_parts(enum red red)
{
	return red_table[red].state == ONE ? 1 : red_table[red].state == PAIR ? 2 : 3;
}

/* Part c of accumulator k: its letter and its C type. */
char fold_letter(const struct fold *f, int c)
{
	return red_table[f->red].state == MOMENTS ? "nfm"[c] : "fi"[c];
}

const char *fold_type(const struct fold *f, int c)
{
	return red_table[f->red].state == PAIR && c == 1 ? "long long" : ctype(f->type);
}

int fold_all_parts(const struct kernel *k)
{
	int n = 0;

	for (int i = 0; i < k->nfold; i++)
		n += fold_parts(k->fold[i].red);
	return n;
}

/* ", f0, i0": all accumulators, declared in front of each name with `type` on. */
void fold_states(struct emit *e, const char *before, int typed)
{
	for (int i = 0; i < e->k->nfold; i++)
		for (int c = 0; c < fold_parts(e->k->fold[i].red); c++)
			put(e, ", %s%s%s%c%d", typed ? fold_type(&e->k->fold[i], c) : "", typed ? " " : "", before,
				fold_letter(&e->k->fold[i], c), i);
}

void fold_init(struct emit *e, int i, const char *tabs, int declare)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++) {
		put(e, "%s%s%s%c%d = ", tabs, declare ? fold_type(f, c) : "", declare ? " " : "", fold_letter(f, c),
			i);
		if (red_table[f->red].state == ONE)
			meaning_identity(e, &e->code, f->red, f->type);
		else
			put(e, c == 1 && red_table[f->red].state == PAIR ? "-1" : "0");
		put(e, ";\n");
	}
}

/* Fold another accumulator, given by its parts, into number i. */
void fold_merge(struct emit *e, int i, const char *tabs, const char *a, const char *b, const char *c)
{
	const struct fold *f = &e->k->fold[i];

	meaning_red(e, f->red, f->type);
	put(e, "%s", tabs);
	meaning_red_name(&e->code, f->red, f->type);
	for (int p = 0; p < fold_parts(f->red); p++)
		put(e, "%s%c%d", p ? ", " : "(", fold_letter(f, p), i);
	put(e, ", %s", a);
	if (fold_parts(f->red) > 1)
		put(e, ", %s", b);
	if (fold_parts(f->red) > 2)
		put(e, ", %s", c);
	put(e, ");\n");
}

/* Names "b0_0", "b0_1", ... of the parts of an accumulator that came from elsewhere. */
void fold_merge_named(struct emit *e, int i, const char *tabs)
{
	char a[24], b[24], c[24];

	snprintf(a, sizeof a, "b%d_0", i);
	snprintf(b, sizeof b, "b%d_1", i);
	snprintf(c, sizeof c, "b%d_2", i);
	fold_merge(e, i, tabs, a, b, c);
}

/* A tile's values become one, in a tree of fixed shape: short chains, small errors. One loop a level: as a
 * loop over levels the compiler does not always unroll it, and the array goes to memory. `sum`: of that
 * array, plainly. */
void fold_tree(struct emit *e, int i, const char *sum, int n)
{
	const struct fold *f = &e->k->fold[i];

	for (int h = n / 2; h > 0; h /= 2) {
		put(e, "#pragma unroll\n\t\tfor (int j = 0; j < %d; j++)\n\t\t\t", h);
		if (sum) {
			put(e, "%s[j] = %s[j] + %s[j + %d];\n", sum, sum, sum, h);
			continue;
		}
		meaning_red(e, f->red, f->type);
		meaning_red_name(&e->code, f->red, f->type);
		if (red_table[f->red].state == PAIR)
			put(e, "(g%d[j], h%d[j], g%d[j + %d], h%d[j + %d]);\n", i, i, i, h, i, h);
		else
			put(e, "(g%d[j], g%d[j + %d]);\n", i, i, h);
	}
}

/* Mean first, then squared deviations from it: nothing cancels. The number of elements is known here. */
static void tile_moments(struct emit *e, int i)
{
	char mean[24], t[24], first[32], n[16];

	snprintf(mean, sizeof mean, "mean%d", i);
	snprintf(t, sizeof t, "t%d", i);
	snprintf(first, sizeof first, "t%d[0]", i);
	snprintf(n, sizeof n, "%d", e->t->per_thread);
	put(e, "\t\tdouble %s[%s];\n#pragma unroll\n\t\tfor (int j = 0; j < %s; j++)\n\t\t\t%s[j] = g%d[j];\n",
		t, n, n, t, i);
	fold_tree(e, i, t, e->t->per_thread);
	put(e, "\t\tconst double %s = %s[0] * (1.0 / %s);\n", mean, t, n);
	put(e,
		"#pragma unroll\n\t\tfor (int j = 0; j < %s; j++)\n\t\t\t%s[j] = (g%d[j] - %s) * (g%d[j] - %s);\n",
		n, t, i, mean, i, mean);
	fold_tree(e, i, t, e->t->per_thread);
	fold_merge(e, i, "\t\t", n, mean, first);
}

void fold_tile(struct emit *e, int i)
{
	char a[24], b[24];

	if (red_table[e->k->fold[i].red].state == MOMENTS) {
		tile_moments(e, i);
		return;
	}
	fold_tree(e, i, NULL, e->t->per_thread);
	snprintf(a, sizeof a, "g%d[0]", i);
	snprintf(b, sizeof b, "h%d[0]", i);
	fold_merge(e, i, "\t\t", a, b, "");
}

/* Values of less than 4 bytes travel through shuffles as int. */
static void shuffle(struct emit *e, int i, const char *tabs)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++) {
		int narrow = !(red_table[f->red].state == PAIR && c == 1) && type_table[f->type].bytes < 4;

		put(e, "%sconst %s b%d_%d = %s%s%s__shfl_down_sync(0xffffffffu, %s%c%d, d);\n", tabs,
			fold_type(f, c), i, c, narrow ? "(" : "", narrow ? fold_type(f, c) : "", narrow ? ")" : "",
			narrow ? "(int)" : "", fold_letter(f, c), i);
	}
	fold_merge_named(e, i, tabs);
}

static void box_put(struct emit *e, int i, const char *tabs, const char *at)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++)
		put(e, "%s((%s *)box[%d])[%s] = %c%d;\n", tabs, fold_type(f, c), c, at, fold_letter(f, c), i);
}

static void box_merge(struct emit *e, int i, const char *tabs, const char *at)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++)
		put(e, "%sconst %s b%d_%d = ((%s *)box[%d])[%s];\n", tabs, fold_type(f, c), i, c, fold_type(f, c),
			c, at);
	fold_merge_named(e, i, tabs);
}

static void combine_boxes(struct emit *e, const char *warps)
{
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "\t__syncthreads();\n\tif (lane %% 32 == 0) {\n");
		box_put(e, i, "\t\t", "threadIdx.x / 32");
		put(e, "\t}\n\t__syncthreads();\n\tif (lane == 0)\n\t\tfor (unsigned w = 1; w < %s; w++) {\n", warps);
		box_merge(e, i, "\t\t\t", "threadIdx.x / 32 + w");
		put(e, "\t\t}\n");
	}
}

/* Lanes are neighbours: shuffles within a warp, then the warps' values in order. */
static void combine_inner(struct emit *e)
{
	char warps[24] = "A.lanes / 32";

	if (e->t->lanes) {
		snprintf(warps, sizeof warps, "%d", e->t->lanes / 32);
		put(e, "#pragma unroll\n\tfor (unsigned d = %d; d > 0; d /= 2) {\n", e->t->lanes > 32 ? 16 : e->t->lanes / 2);
	} else
		put(e, "\tfor (unsigned d = (A.lanes < 32 ? A.lanes : 32) / 2; d > 0; d /= 2) {\n");
	for (int i = 0; i < e->k->nfold; i++)
		shuffle(e, i, "\t\t");
	put(e, e->t->lanes ? "\t}\n" : "\t}\n\tif (A.lanes <= 32)\n\t\treturn;\n");
	if (e->t->lanes == 0 || e->t->lanes > 32)
		combine_boxes(e, warps);
}

/* Lanes are block / lanes apart: halves through shared memory. */
static void combine_outer(struct emit *e)
{
	char lanes[24] = "A.lanes";

	if (e->t->lanes)
		snprintf(lanes, sizeof lanes, "%d", e->t->lanes);
	put(e, "\tconst unsigned apart = %d / %s;\n", e->t->block, lanes);
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "\tfor (unsigned d = %s / 2; d > 0; d /= 2) {\n\t\t__syncthreads();\n\t\tif (lane >= d && lane < 2 * d) {\n", lanes);
		box_put(e, i, "\t\t\t", "threadIdx.x");
		put(e, "\t\t}\n\t\t__syncthreads();\n\t\tif (lane < d) {\n");
		box_merge(e, i, "\t\t\t", "threadIdx.x + d * apart");
		put(e, "\t\t}\n\t}\n");
	}
}

void fold_combine(struct emit *e)
{
	int boxes = 1, warp = e->k->inner && e->t->lanes && e->t->lanes <= 32;

	for (int i = 0; i < e->k->nfold; i++)
		boxes = fold_parts(e->k->fold[i].red) > boxes ? fold_parts(e->k->fold[i].red) : boxes;
	put(e, "/* The lanes of an output put together what they folded; lane 0 has the result. */\n"
		"static __device__ __forceinline__ void combine(");
	put(e, e->t->lanes ? "const unsigned lane" : "const struct args &A, const unsigned lane");
	fold_states(e, "&", 1);
	put(e, ")\n{\n");
	if (!warp)
		put(e, "\t__shared__ unsigned long long box[%d][%d];\n\n", boxes, e->k->inner ? e->t->block / 32 : e->t->block);
	if (e->k->inner)
		combine_inner(e);
	else
		combine_outer(e);
	put(e, "}\n\n");
}
