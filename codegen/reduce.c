/* reduce.c -- kernels that fold the last axes of their domain: one launch, the same bits every time.
 *
 * `lanes` threads of a block share one kept point ("output") and fold every lanes-th piece of its elements;
 * their accumulators are combined in a fixed tree. When there are few outputs, `splits` blocks share one:
 * each leaves its accumulator in scratch memory, and the block that finishes last (a counter tells) folds
 * them in the order of the blocks, so timing does not matter. What is contiguous in memory decides which
 * threads share an output: neighbours (inner), or those BLOCK/lanes apart, so that neighbours hold
 * neighbouring outputs. An accumulator has up to three numbers: f value, i position; n count, f mean, m
 * deviations. */
#include "codegen/emit.h"

int fold_parts(enum red red)
{
	return red_table[red].state == ONE ? 1 : red_table[red].state == PAIR ? 2 : 3;
}

/* Part c of accumulator k: its letter and its C type. */
static char part_letter(const struct fold *f, int c)
{
	return red_table[f->red].state == MOMENTS ? "nfm"[c] : "fi"[c];
}

static const char *part_type(const struct fold *f, int c)
{
	return red_table[f->red].state == PAIR && c == 1 ? "long long" : ctype(f->type);
}

static int all_parts(const struct kernel *k)
{
	int n = 0;

	for (int i = 0; i < k->nfold; i++)
		n += fold_parts(k->fold[i].red);
	return n;
}

/* ", f0, i0": all accumulators, declared in front of each name with `type` on. */
void reduce_states(struct emit *e, const char *before, int typed)
{
	for (int i = 0; i < e->k->nfold; i++)
		for (int c = 0; c < fold_parts(e->k->fold[i].red); c++)
			put(e, ", %s%s%s%c%d", typed ? part_type(&e->k->fold[i], c) : "", typed ? " " : "", before,
				part_letter(&e->k->fold[i], c), i);
}

static void state_init(struct emit *e, int i, const char *tabs, int declare)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++) {
		put(e, "%s%s%s%c%d = ", tabs, declare ? part_type(f, c) : "", declare ? " " : "", part_letter(f, c),
			i);
		if (red_table[f->red].state == ONE)
			meaning_identity(e, &e->code, f->red, f->type);
		else
			put(e, c == 1 && red_table[f->red].state == PAIR ? "-1" : "0");
		put(e, ";\n");
	}
}

/* Fold another accumulator, given by its parts, into number i. */
static void merge(struct emit *e, int i, const char *tabs, const char *a, const char *b, const char *c)
{
	const struct fold *f = &e->k->fold[i];

	meaning_red(e, f->red, f->type);
	put(e, "%s", tabs);
	meaning_red_name(&e->code, f->red, f->type);
	for (int p = 0; p < fold_parts(f->red); p++)
		put(e, "%s%c%d", p ? ", " : "(", part_letter(f, p), i);
	put(e, ", %s", a);
	if (fold_parts(f->red) > 1)
		put(e, ", %s", b);
	if (fold_parts(f->red) > 2)
		put(e, ", %s", c);
	put(e, ");\n");
}

/* Names "b0_0", "b0_1", ... of the parts of an accumulator that came from elsewhere. */
static void merge_named(struct emit *e, int i, const char *tabs)
{
	char a[24], b[24], c[24];

	snprintf(a, sizeof a, "b%d_0", i);
	snprintf(b, sizeof b, "b%d_1", i);
	snprintf(c, sizeof c, "b%d_2", i);
	merge(e, i, tabs, a, b, c);
}

/* A tile's values become one, in a tree of fixed shape: short chains, small errors. One loop a level: as a
 * loop over levels the compiler does not always unroll it, and the array goes to memory. `sum`: of that
 * array, plainly. */
static void tree(struct emit *e, int i, const char *sum)
{
	const struct fold *f = &e->k->fold[i];

	for (int h = e->t->per_thread / 2; h > 0; h /= 2) {
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
	tree(e, i, t);
	put(e, "\t\tconst double %s = %s[0] * (1.0 / %s);\n", mean, t, n);
	put(e,
		"#pragma unroll\n\t\tfor (int j = 0; j < %s; j++)\n\t\t\t%s[j] = (g%d[j] - %s) * (g%d[j] - %s);\n",
		n, t, i, mean, i, mean);
	tree(e, i, t);
	merge(e, i, "\t\t", n, mean, first);
}

static void tile_fold(struct emit *e, int i)
{
	char a[24], b[24];

	if (red_table[e->k->fold[i].red].state == MOMENTS) {
		tile_moments(e, i);
		return;
	}
	tree(e, i, NULL);
	snprintf(a, sizeof a, "g%d[0]", i);
	snprintf(b, sizeof b, "h%d[0]", i);
	merge(e, i, "\t\t", a, b, "");
}

static void tile_text(struct emit *e)
{
	char element[64];

	snprintf(element, sizeof element,
		e->vec > 1 ? "r + (u * A.lanes + lane) * %d" : "r + u * A.lanes + lane", e->vec);
	tile_flags(e, "\t");
	put(e, "\tfor (; hi - r >= tile; r += tile) {\n");
	tile_loads(e, element, "\t\t");
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "\t\t%s g%d[%d];\n", ctype(e->k->fold[i].type), i, e->t->per_thread);
		if (red_table[e->k->fold[i].red].state == PAIR)
			put(e, "\t\tlong long h%d[%d];\n", i, e->t->per_thread);
	}
	tile_points(e, element, "\t\t");
	for (int i = 0; i < e->k->nfold; i++)
		tile_fold(e, i);
	put(e, "\t}\n");
}

static void rest_text(struct emit *e)
{
	const char *tabs = e->body.checks ? "\t\t\t" : "\t\t";

	put(e, "\tfor (r += lane; r < hi; r += A.lanes) {\n");
	emit_element(e, "\t\t", "r", e->body.axes, 1);
	emit_outputs(e, "\t\t");
	emit_call(e, "\t\t", FROM_MEMORY);
	emit_stores(e, tabs);
	for (int i = 0; i < e->k->nfold; i++) {
		int moments = red_table[e->k->fold[i].red].state == MOMENTS;
		char a[24], b[24];

		snprintf(a, sizeof a, "e%d", i);
		snprintf(b, sizeof b, "j%d", i);
		merge(e, i, tabs, moments ? "1" : a, moments ? a : b, "0");
	}
	put(e, e->body.checks ? "\t\t}\n\t}\n" : "\t}\n");
}

/* What one thread folds: elements lo..hi of output m, tile by tile, then one by one. */
static void part_text(struct emit *e)
{
	put(e,
		"static __device__ __forceinline__ void fold_part(const struct args &A, const %s m, const unsigned lane, const unsigned part",
		e->idx);
	reduce_states(e, "&", 1);
	put(e, ")\n{\n");
	put(e, "\tconst %s tile = A.lanes * %d;\n\t%s r = 0, hi = A.nreduce;\n", e->idx, e->t->per_thread,
		e->idx);
	put(e,
		"\tif (A.splits > 1) {\n\t\tconst unsigned long long tiles = hi / tile + (hi %% tile != 0);\n"
		"\t\tconst unsigned long long end = tiles * (part + 1) / A.splits * tile;\n"
		"\t\tr = (%s)(tiles * part / A.splits * tile);\n\t\thi = end < hi ? (%s)end : hi;\n\t}\n\tif (r >= hi)\n\t\treturn;\n",
		e->idx, e->idx);
	emit_pointers(e, &e->k->body, &e->body);
	emit_coords(e, "\t", "kept_axes", "m", 0, e->k->nkept, e->body.axes);
	if (e->t->per_thread > 1)
		tile_text(e);
	rest_text(e);
	put(e, "}\n\n");
}

/* Values of less than 4 bytes travel through shuffles as int. */
static void shuffle(struct emit *e, int i, const char *tabs)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++) {
		int narrow = !(red_table[f->red].state == PAIR && c == 1) && type_table[f->type].bytes < 4;

		put(e, "%sconst %s b%d_%d = %s%s%s__shfl_down_sync(0xffffffffu, %s%c%d, d);\n", tabs,
			part_type(f, c), i, c, narrow ? "(" : "", narrow ? part_type(f, c) : "", narrow ? ")" : "",
			narrow ? "(int)" : "", part_letter(f, c), i);
	}
	merge_named(e, i, tabs);
}

static void box_put(struct emit *e, int i, const char *tabs, const char *at)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++)
		put(e, "%s((%s *)box[%d])[%s] = %c%d;\n", tabs, part_type(f, c), c, at, part_letter(f, c), i);
}

static void box_merge(struct emit *e, int i, const char *tabs, const char *at)
{
	const struct fold *f = &e->k->fold[i];

	for (int c = 0; c < fold_parts(f->red); c++)
		put(e, "%sconst %s b%d_%d = ((%s *)box[%d])[%s];\n", tabs, part_type(f, c), i, c, part_type(f, c),
			c, at);
	merge_named(e, i, tabs);
}

/* Lanes are neighbours: shuffles within a warp, then the warps' values in order. */
static void combine_inner(struct emit *e)
{
	put(e, "\tfor (unsigned d = (A.lanes < 32 ? A.lanes : 32) / 2; d > 0; d /= 2) {\n");
	for (int i = 0; i < e->k->nfold; i++)
		shuffle(e, i, "\t\t");
	put(e, "\t}\n\tif (A.lanes <= 32)\n\t\treturn;\n");
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "\t__syncthreads();\n\tif (lane %% 32 == 0) {\n");
		box_put(e, i, "\t\t", "threadIdx.x / 32");
		put(e,
			"\t}\n\t__syncthreads();\n\tif (lane == 0)\n\t\tfor (unsigned w = 1; w < A.lanes / 32; w++) {\n");
		box_merge(e, i, "\t\t\t", "threadIdx.x / 32 + w");
		put(e, "\t\t}\n");
	}
}

/* Lanes are BLOCK / lanes apart: halves through shared memory. */
static void combine_outer(struct emit *e)
{
	put(e, "\tconst unsigned apart = %d / A.lanes;\n", BLOCK);
	for (int i = 0; i < e->k->nfold; i++) {
		put(e,
			"\tfor (unsigned d = A.lanes / 2; d > 0; d /= 2) {\n\t\t__syncthreads();\n\t\tif (lane >= d && lane < 2 * d) {\n");
		box_put(e, i, "\t\t\t", "threadIdx.x");
		put(e, "\t\t}\n\t\t__syncthreads();\n\t\tif (lane < d) {\n");
		box_merge(e, i, "\t\t\t", "threadIdx.x + d * apart");
		put(e, "\t\t}\n\t}\n");
	}
}

static void combine_text(struct emit *e)
{
	int boxes = 1;

	for (int i = 0; i < e->k->nfold; i++)
		boxes = fold_parts(e->k->fold[i].red) > boxes ? fold_parts(e->k->fold[i].red) : boxes;
	put(e,
		"/* The lanes of an output put together what they folded; lane 0 has the result. */\n"
		"static __device__ __forceinline__ void combine(const struct args &A, const unsigned lane");
	reduce_states(e, "&", 1);
	put(e, ")\n{\n\t__shared__ unsigned long long box[%d][%d];\n\n", boxes,
		e->k->inner ? BLOCK / 32 : BLOCK);
	if (e->k->inner)
		combine_inner(e);
	else
		combine_outer(e);
	put(e, "}\n\n");
}

/* The tail: once at every kept point. */
static void finish_text(struct emit *e)
{
	put(e, "static __device__ __forceinline__ void finish(const struct args &A, const %s m", e->idx);
	reduce_states(e, "", 1);
	put(e, ")\n{\n");
	emit_pointers(e, &e->k->tail, &e->tail);
	emit_coords(e, "\t", "kept_axes", "m", 0, e->k->nkept, e->tail.axes);
	if (e->tail.checks)
		put(e, "\tconst unsigned long long at = m;\n");
	emit_steps(e, &e->k->tail, &e->tail);
	put(e, "}\n\n");
}

/* Part `number` of all accumulators' parts, of block `part` for output m, in scratch memory. Written by
 * other blocks of this very launch: volatile keeps it out of registers and of the caches that blocks do not
 * share. */
static void scratch_place(struct emit *e, const char *type, int number, const char *part)
{
	put(e, "((volatile %s *)(A.scratch + %d * all))[(unsigned long long)%s * A.nmap + m]", type, number,
		part);
}

static void scratch_put(struct emit *e)
{
	int number = 0;

	for (int i = 0; i < e->k->nfold; i++)
		for (int c = 0; c < fold_parts(e->k->fold[i].red); c++) {
			put(e, "\t\t\t\t");
			scratch_place(e, part_type(&e->k->fold[i], c), number++, "part");
			put(e, " = %c%d;\n", part_letter(&e->k->fold[i], c), i);
		}
}

static void scratch_merge(struct emit *e)
{
	int number = 0;

	for (int i = 0; i < e->k->nfold; i++) {
		for (int c = 0; c < fold_parts(e->k->fold[i].red); c++) {
			put(e, "\t\t\t\t\tconst %s b%d_%d = ", part_type(&e->k->fold[i], c), i, c);
			scratch_place(e, part_type(&e->k->fold[i], c), number++, "p");
			put(e, ";\n");
		}
		merge_named(e, i, "\t\t\t\t\t");
	}
}

static void combine_call(struct emit *e, const char *tabs)
{
	put(e, "%scombine(A, lane", tabs);
	reduce_states(e, "", 0);
	put(e, ");\n");
}

static void split_text(struct emit *e)
{
	put(e,
		"\t\tif (A.splits > 1) {\n\t\t\tconst unsigned long long all = (unsigned long long)A.nmap * A.splits;\n\n"
		"\t\t\tif (lane == 0 && m < A.nmap) {\n");
	scratch_put(e);
	put(e,
		"\t\t\t}\n\t\t\t__threadfence();\n\t\t\t__syncthreads();\n"
		"\t\t\tif (threadIdx.x == 0)\n\t\t\t\tlast = atomicAdd(&A.counters[strip], 1u) == A.splits - 1;\n"
		"\t\t\t__syncthreads();\n\t\t\tif (!last)\n\t\t\t\tcontinue;\n\t\t\t__threadfence();\n"
		"\t\t\tif (threadIdx.x == 0)\n\t\t\t\tA.counters[strip] = 0;\n");
	for (int i = 0; i < e->k->nfold; i++)
		state_init(e, i, "\t\t\t", 0);
	put(e, "\t\t\tif (m < A.nmap)\n\t\t\t\tfor (unsigned p = lane; p < A.splits; p += A.lanes) {\n");
	scratch_merge(e);
	put(e, "\t\t\t\t}\n");
	combine_call(e, "\t\t\t");
	put(e, "\t\t}\n");
}

static void kernel_text(struct emit *e)
{
	put(e, "extern \"C\" __global__ void __launch_bounds__(%d) gx_kernel(%s)\n{\n", BLOCK,
		e->t->by_pointer ? "const struct args *const args" : "const __grid_constant__ struct args A");
	if (e->t->by_pointer)
		put(e, "\tconst struct args &A = *args;\n");
	put(e, "\t__shared__ unsigned last;\n");
	emit_stop(e);
	put(e, "\tconst unsigned outputs = %d / A.lanes;   /* of a block */\n", BLOCK);
	put(e,
		e->k->inner ? "\tconst unsigned lane = threadIdx.x %% A.lanes, slot = threadIdx.x / A.lanes;\n"
					: "\tconst unsigned slot = threadIdx.x %% outputs, lane = threadIdx.x / outputs;\n");
	put(e,
		"\tconst unsigned long long strips = A.nmap / outputs + (A.nmap %% outputs != 0);\n\n"
		"\tfor (unsigned long long work = blockIdx.x; work < strips * A.splits; work += gridDim.x) {\n"
		"\t\tconst unsigned long long strip = A.splits > 1 ? work / A.splits : work;\n"
		"\t\tconst unsigned part = (unsigned)(work - strip * A.splits);\n"
		"\t\tconst %s m = (%s)(strip * outputs + slot);\n",
		e->idx, e->idx);
	for (int i = 0; i < e->k->nfold; i++)
		state_init(e, i, "\t\t", 1);
	put(e, "\t\tif (m < A.nmap)\n\t\t\tfold_part(A, m, lane, part");
	reduce_states(e, "", 0);
	put(e, ");\n");
	combine_call(e, "\t\t");
	split_text(e);
	put(e, "\t\tif (lane == 0 && m < A.nmap)\n\t\t\tfinish(A, m");
	reduce_states(e, "", 0);
	put(e, ");\n\t}\n}\n");
}

void reduce_parts(struct emit *e)
{
	part_text(e);
	combine_text(e);
}

void reduce_emit(struct emit *e)
{
	const struct kernel *k = e->k;
	int bytes = 0;

	for (int i = 0; i < k->nfold; i++)
		bytes += type_table[k->fold[i].type].bytes + (red_table[k->fold[i].red].state == ONE ? 0 : 8);
	tile_shape(e, bytes);
	emit_fail(e);
	emit_point(e);
	emit_splits(e);
	reduce_parts(e);
	finish_text(e);
	kernel_text(e);
}

/* Geometry. Figures tuned by reasoning from PERFORMANCE.md, to be measured again on each new device. */
enum {
	WARP_ROWS = 8192, /* rows up to that length get one warp where there are enough of them, else a block */
	STRIP = 32, /* neighbouring outputs of a block when the contiguous axis is kept: 128 bytes of float32 */
	MAX_SPLITS = 4096
};

static int64_t power_below(int64_t n)
{
	int64_t p = 1;

	while (p * 2 <= n)
		p *= 2;
	return p;
}

/* Threads for one output: enough elements for each one's full tile; with less than that, neighbouring
 * elements. */
static int64_t lanes_for(const struct kernel *k, const struct cuda_text *t, const struct device_info *d)
{
	int64_t n = k->nreduce < 1 ? 1 : k->nreduce;
	int64_t fit = power_below(n / t->per_thread < 1 ? n : n / t->per_thread), most = BLOCK;

	if (k->inner && n / t->per_thread < 1)
		most = 32;
	else if (k->inner && n <= WARP_ROWS && k->nmap >= (int64_t)d->sms * STRIP)
		most = 32;
	else if (!k->inner && k->scans && k->nmap >= (int64_t)d->sms * BLOCK)
		most = 1;
	else if (!k->inner)
		most = k->nmap >= STRIP ? BLOCK / STRIP : BLOCK / power_below(2 * k->nmap - 1);
	return fit < most ? fit : most;
}

void reduce_launch(
	const struct kernel *k, const struct cuda_text *t, const struct device_info *d, struct launch *l)
{
	int64_t lanes = lanes_for(k, t, d), outputs = BLOCK / lanes;
	int64_t strips = k->nmap / outputs + (k->nmap % outputs != 0);
	int64_t want = (int64_t)d->sms * (d->max_threads_sm / BLOCK), splits, blocks;

	if (k->nmap == 0)
		return;
	splits = want / strips;
	if (splits > k->nreduce / (lanes * t->per_thread))
		splits = k->nreduce / (lanes * t->per_thread);
	splits = splits < 2 ? 1 : splits > MAX_SPLITS ? MAX_SPLITS : splits;
	blocks = strips > INT32_MAX / splits ? INT32_MAX : strips * splits;
	l->grid[0] = (unsigned)blocks;
	l->lanes = (unsigned)lanes;
	l->splits = (unsigned)splits;
	if (splits == 1)
		return;
	l->scratch = (size_t)all_parts(k) * 8 * (size_t)k->nmap * (size_t)splits;
	l->counters = (unsigned)strips;
}
