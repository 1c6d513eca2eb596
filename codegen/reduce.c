/* reduce.c -- kernels that fold the last axes of their domain: one launch, the same bits every time.
 *
 * `lanes` threads of a block share one kept point ("output") and fold every lanes-th piece of its elements;
 * their accumulators are combined in a fixed tree. When there are few outputs, `splits` blocks share one:
 * each leaves its accumulator in scratch memory, and the block that finishes last (a counter tells) folds
 * them in the order of the blocks, so timing does not matter. What is contiguous in memory decides which
 * threads share an output: neighbours (inner), or those BLOCK/lanes apart, so that neighbours hold
 * neighbouring outputs. */
#include "codegen/emit.h"

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
		fold_tile(e, i);
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
		char a[24], b[24], c[32];

		snprintf(a, sizeof a, "e%d", i);
		snprintf(b, sizeof b, "j%d", i);
		snprintf(c, sizeof c, "e%d - e%d", i, i);   /* 0, but NaN where it is not finite */
		fold_merge(e, i, tabs, moments ? "1" : a, moments ? a : b, c);
	}
	put(e, e->body.checks ? "\t\t}\n\t}\n" : "\t}\n");
}

/* What one thread folds: elements lo..hi of output m, tile by tile, then one by one. */
void reduce_part(struct emit *e)
{
	put(e,
		"static __device__ __forceinline__ void fold_part(const struct args &A, const %s m, const unsigned lane, const unsigned part",
		e->idx);
	fold_states(e, "&", 1);
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

/* The tail: once at every kept point. */
static void finish_text(struct emit *e)
{
	put(e, "static __device__ __forceinline__ void finish(const struct args &A, const %s m", e->idx);
	fold_states(e, "", 1);
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
			scratch_place(e, fold_type(&e->k->fold[i], c), number++, "part");
			put(e, " = %c%d;\n", fold_letter(&e->k->fold[i], c), i);
		}
}

static void scratch_merge(struct emit *e)
{
	int number = 0;

	for (int i = 0; i < e->k->nfold; i++) {
		for (int c = 0; c < fold_parts(e->k->fold[i].red); c++) {
			put(e, "\t\t\t\t\tconst %s b%d_%d = ", fold_type(&e->k->fold[i], c), i, c);
			scratch_place(e, fold_type(&e->k->fold[i], c), number++, "p");
			put(e, ";\n");
		}
		fold_merge_named(e, i, "\t\t\t\t\t");
	}
}

static void combine_call(struct emit *e, const char *tabs)
{
	put(e, "%scombine(A, lane", tabs);
	fold_states(e, "", 0);
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
		fold_init(e, i, "\t\t\t", 0);
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
		fold_init(e, i, "\t\t", 1);
	put(e, "\t\tif (m < A.nmap)\n\t\t\tfold_part(A, m, lane, part");
	fold_states(e, "", 0);
	put(e, ");\n");
	combine_call(e, "\t\t");
	split_text(e);
	put(e, "\t\tif (lane == 0 && m < A.nmap)\n\t\t\tfinish(A, m");
	fold_states(e, "", 0);
	put(e, ");\n\t}\n}\n");
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
	reduce_part(e);
	fold_combine(e);
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
	l->scratch = (size_t)fold_all_parts(k) * 8 * (size_t)k->nmap * (size_t)splits;
	l->counters = (unsigned)strips;
}
