/* scan.c -- kernels that fold along the last axis of their domain and run the tail at every point, with what was folded up to there.
 *
 * `lanes` threads of a block walk along one row ("output" of reduce.c) tile by tile and hold its carry, all of them the same. Where
 * the scanned axis is the contiguous one (inner) neighbouring threads take neighbouring elements and scan them with shuffles; else
 * neighbouring threads take neighbouring rows, and a thread takes neighbouring elements of its own. Few long rows are cut into
 * `splits` parts, a block each, and launched twice: phase 0 folds each part as a reduction does, and the block of a row that finishes
 * last scans the totals; phase 1 starts each part with the total before it. Every order is fixed, so the bits are too. Carries of
 * float sums are kept in two numbers: f, and l for what f lacks. One pass over long rows would need the parts' totals to be waited for
 * (a ticket for each part, a flag beside each total, and totals folded in the order of the parts). */
#include "codegen/emit.h"

static const struct fold *fold_at(const struct emit *e, int i) { return &e->k->fold[i]; }

static int is_sum(const struct emit *e, int i)
{
	return fold_at(e, i)->red == RED_SUM && fold_at(e, i)->type == GX_FLOAT64;
}

/* A float sum of nothing is -0 here, so that a first -0 stays. */
static void nothing(struct emit *e, int i)
{
	if (is_sum(e, i))
		put(e, "-0.0");
	else
		meaning_identity(e, &e->code, fold_at(e, i)->red, fold_at(e, i)->type);
}

/* to = to and from, folded. */
static void fold_in(struct emit *e, int i, const char *tabs, const char *to, const char *from)
{
	meaning_red(e, fold_at(e, i)->red, fold_at(e, i)->type);
	put(e, "%s", tabs);
	meaning_red_name(&e->code, fold_at(e, i)->red, fold_at(e, i)->type);
	put(e, "(%s, %s);\n", to, from);
}

/* ---- one tile ---- */

/* Values of less than 4 bytes travel through shuffles as int. */
static void shuffled(struct emit *e, int i, const char *how, const char *value, const char *by)
{
	const char *t = ctype(fold_at(e, i)->type);
	int narrow = type_table[fold_at(e, i)->type].bytes < 4;

	put(e, narrow ? "(%s)__shfl_%s(0xffffffffu, (int)%s, %s)" : "__shfl_%s%s(0xffffffffu, %s, %s)", narrow ? t : "", how, value, by);
}

/* Lanes are neighbours, and so are the elements that they hold of step u: shuffles within a warp, then the warps in order. */
static void inner_text(struct emit *e, int i, int n)
{
	const char *t = ctype(fold_at(e, i)->type);

	put(e, "\tconst unsigned width = A.lanes < 32 ? A.lanes : 32, end = (threadIdx.x | (width - 1)) %% 32;\n\t%s before[%d];\n\n", t, n);
	put(e, "#pragma unroll\n\tfor (int u = 0; u < %d; u++)\n\t\tfor (unsigned d = 1; d < width; d *= 2) {\n\t\t\tconst %s b = ", n, t);
	shuffled(e, i, "up_sync", "v[u]", "d");
	put(e, ";\n\t\t\tif (lane %% 32 >= d)\n");
	fold_in(e, i, "\t\t\t\t", "v[u]", "b");
	put(e, "\t\t}\n\tif (A.lanes <= 32) {\n#pragma unroll\n\t\tfor (int u = 0; u < %d; u++) {\n\t\t\tconst %s b = ", n, t);
	shuffled(e, i, "sync", "v[u]", "end");
	put(e, ";\n\t\t\tbefore[u] = total;\n");
	fold_in(e, i, "\t\t\t", "total", "b");
	put(e,
		"\t\t}\n\t} else {\n\t\t%s *const sums = (%s *)box;\n\t\tconst unsigned first = threadIdx.x / 32 - lane / 32;\n\n"
		"\t\t__syncthreads();\n"
		"\t\tif (lane %% 32 == 31) {\n#pragma unroll\n\t\t\tfor (int u = 0; u < %d; u++)\n"
		"\t\t\t\tsums[u * %d + threadIdx.x / 32] = v[u];\n\t\t}\n"
		"\t\t__syncthreads();\n#pragma unroll\n\t\tfor (int u = 0; u < %d; u++)\n\t\t\tfor (unsigned w = 0; w < A.lanes / 32; w++) {\n"
		"\t\t\t\tif (w == lane / 32)\n\t\t\t\t\tbefore[u] = total;\n",
		t, t, n, BLOCK / 32, n);
	fold_in(e, i, "\t\t\t\t", "total", "sums[u * 8 + first + w]");
	put(e, "\t\t\t}\n\t}\n#pragma unroll\n\tfor (int u = 0; u < %d; u++) {\n", n);
	fold_in(e, i, "\t\t", "v[u]", "before[u]");
	fold_in(e, i, "\t\t", "v[u]", "c");
	put(e, "\t}\n");
}
_Static_assert(BLOCK / 32 == 8, "warps of a block, in inner_text");

/* Lanes are BLOCK / lanes apart, and a lane's elements are neighbours: its own first, then the lanes in order. */
static void outer_text(struct emit *e, int i, int n)
{
	const char *t = ctype(fold_at(e, i)->type);

	put(e, "\t%s before = total;\n\n", t);
	if (n > 1) {
		put(e, "#pragma unroll\n\tfor (int u = 1; u < %d; u++)\n", n);
		fold_in(e, i, "\t\t", "v[u]", "v[u - 1]");
	}
	put(e,
		"\tif (A.lanes == 1)\n\t\ttotal = v[%d];\n\telse {\n\t\t%s *const sums = (%s *)box;\n\t\tconst unsigned apart = %d / A.lanes;\n\n"
		"\t\t__syncthreads();\n\t\tsums[threadIdx.x] = v[%d];\n\t\t__syncthreads();\n\t\tfor (unsigned w = 0; w < A.lanes; w++) {\n"
		"\t\t\tif (w == lane)\n\t\t\t\tbefore = total;\n",
		n - 1, t, t, BLOCK, n - 1);
	fold_in(e, i, "\t\t\t", "total", "sums[w * apart + threadIdx.x % apart]");
	put(e, "\t\t}\n\t}\n#pragma unroll\n\tfor (int u = 0; u < %d; u++) {\n", n);
	fold_in(e, i, "\t\t", "v[u]", "before");
	fold_in(e, i, "\t\t", "v[u]", "c");
	put(e, "\t}\n");
}

/* n values a thread, and the carry of what came before, to the folds up to each; the carry goes on. */
static void scan_text(struct emit *e, int i, int n)
{
	const char *t = ctype(fold_at(e, i)->type);

	put(e,
		"static __device__ __forceinline__ void scan%d_%d(const struct args &A, const unsigned lane, unsigned long long *const box, "
		"%s *const v, %s &f",
		i, n, t, t);
	put(e, is_sum(e, i) ? ", double &l)\n{\n\tconst double c = l != 0 ? f + l : f;\n" : ")\n{\n\tconst %s c = f;\n", t);
	put(e, "\t%s total = ", t);
	nothing(e, i);
	put(e, ";\n");
	if (e->k->inner)
		inner_text(e, i, n);
	else
		outer_text(e, i, n);
	if (is_sum(e, i))
		put(e, "\tadd(f, l, total);\n");
	else
		fold_in(e, i, "\t", "f", "total");
	put(e, "}\n\n");
}

static void scans_text(struct emit *e)
{
	int sums = 0;

	for (int i = 0; i < e->k->nfold; i++)
		sums |= is_sum(e, i);
	if (sums)
		put(e,
			"/* f + l + t, what f cannot hold in l (Knuth's two-sum). */\n"
			"static __device__ __forceinline__ void add(double &f, double &l, const double t)\n{\n"
			"\tconst double s = f + t, b = s - f, more = l + ((f - (s - b)) + (t - b));\n\n"
			"\tl = s - s == 0 ? more : 0.0;\n\tf = s;\n}\n\n");
	for (int i = 0; i < e->k->nfold; i++) {
		scan_text(e, i, 1);
		if (e->t->per_thread > 1)
			scan_text(e, i, e->t->per_thread);
	}
}

/* ---- one row, or a part of it ---- */

static void finish_text(struct emit *e)
{
	put(e, "/* The tail, at element r of row m. */\n");
	put(e, "static __device__ __forceinline__ void finish(const struct args &A, const %s m, const %s r", e->idx, e->idx);
	fold_states(e, "", 1);
	put(e, ")\n{\n");
	emit_pointers(e, &e->k->tail, &e->tail);
	emit_coords(e, "\t", "kept_axes", "m", 0, e->k->nkept, e->tail.axes);
	emit_coords(e, "\t", "reduced_axes", "r", e->k->nkept, e->k->rank, e->tail.axes);
	emit_steps(e, &e->k->tail, &e->tail);
	put(e, "}\n\n");
}

/* Arrays of n values a thread, all of nothing. */
static void values_text(struct emit *e, int n, const char *tabs)
{
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "%s%s g%d[%d];\n", tabs, ctype(fold_at(e, i)->type), i, n);
		put(e, "#pragma unroll\n%sfor (int u = 0; u < %d; u++)\n%s\tg%d[u] = ", tabs, n, tabs, i);
		nothing(e, i);
		put(e, ";\n");
	}
}

static void scan_calls(struct emit *e, int n, const char *tabs)
{
	for (int i = 0; i < e->k->nfold; i++)
		put(e, is_sum(e, i) ? "%sscan%d_%d(A, lane, box, g%d, f%d, l%d);\n" : "%sscan%d_%d(A, lane, box, g%d, f%d);\n", tabs, i, n,
			i, i, i);
}

static void finish_call(struct emit *e, const char *element, const char *u)
{
	put(e, "finish(A, m, %s", element);
	for (int i = 0; i < e->k->nfold; i++)
		put(e, ", g%d[%s]", i, u);
	put(e, ");\n");
}

static void tiles_text(struct emit *e)
{
	char element[64];
	int n = e->t->per_thread;

	snprintf(element, sizeof element, e->k->inner ? "r + u * A.lanes + lane" : "r + lane * %d + u", n);
	put(e, "\tfor (; hi - r >= tile; r += tile) {\n");
	values_text(e, n, "\t\t");
	put(e, "\t\tif (m < A.nmap) {\n");
	tile_loads(e, element, "\t\t\t");
	tile_points(e, element, "\t\t\t");
	put(e, "\t\t}\n");
	scan_calls(e, n, "\t\t");
	put(e, "\t\tif (m < A.nmap) {\n#pragma unroll\n\t\t\tfor (int u = 0; u < %d; u++)\n\t\t\t\t", n);
	finish_call(e, element, "u");
	put(e, "\t\t}\n\t}\n");
}

static void rest_text(struct emit *e)
{
	put(e, "\tfor (; r < hi; r += A.lanes) {\n\t\tconst %s i = r + lane;\n", e->idx);
	values_text(e, 1, "\t\t");
	put(e, "\t\tif (m < A.nmap && i < hi) {\n");
	emit_element(e, "\t\t\t", "i", e->body.axes, 0);
	emit_outputs(e, "\t\t\t");
	put(e, "\t\t\t");
	emit_call(e, "", FROM_MEMORY);
	for (int i = 0; i < e->k->nfold; i++)
		put(e, "\t\t\tg%d[0] = e%d;\n", i, i);
	put(e, "\t\t}\n");
	scan_calls(e, 1, "\t\t");
	put(e, "\t\tif (m < A.nmap && i < hi)\n\t\t\t");
	finish_call(e, "i", "0");
	put(e, "\t}\n");
}

static void scratch_place(struct emit *e, int i, const char *part)
{
	put(e, "((volatile %s *)(A.scratch + %d * all))[(unsigned long long)%s * A.nmap + m]", ctype(fold_at(e, i)->type), i, part);
}

/* Accumulators of nothing, and what they lack. */
static void states_text(struct emit *e, const char *tabs, int lacks)
{
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "%s%s f%d = ", tabs, ctype(fold_at(e, i)->type), i);
		nothing(e, i);
		put(e, ";\n");
		if (lacks && is_sum(e, i))
			put(e, "%sdouble l%d = 0;\n", tabs, i);
	}
}

/* Elements lo..hi of row m, the same as fold_part has for the part. All threads come along, for the barriers. */
static void row_text(struct emit *e)
{
	put(e,
		"static __device__ __forceinline__ void scan_part(const struct args &A, const %s m, const unsigned lane, const unsigned part, "
		"unsigned long long *const box)\n{\n",
		e->idx);
	put(e, "\tconst %s tile = A.lanes * %d;\n\t%s r = 0, hi = A.nreduce;\n", e->idx, e->t->per_thread, e->idx);
	states_text(e, "\t", 1);
	put(e,
		"\tif (A.splits > 1) {\n\t\tconst unsigned long long all = (unsigned long long)A.nmap * A.splits;\n"
		"\t\tconst unsigned long long tiles = hi / tile + (hi %% tile != 0);\n"
		"\t\tconst unsigned long long end = tiles * (part + 1) / A.splits * tile;\n"
		"\t\tr = (%s)(tiles * part / A.splits * tile);\n\t\thi = end < hi ? (%s)end : hi;\n\t\tif (part > 0 && m < A.nmap) {\n",
		e->idx, e->idx);
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "\t\t\tf%d = ", i);
		scratch_place(e, i, "(part - 1)");
		put(e, ";\n");
	}
	put(e, "\t\t}\n\t}\n");
	emit_pointers(e, &e->k->body, &e->body);
	emit_coords(e, "\t", "kept_axes", "m", 0, e->k->nkept, e->body.axes);
	if (e->t->per_thread > 1)
		tiles_text(e);
	rest_text(e);
	put(e, "}\n\n");
}

/* ---- the kernel ---- */

/* Phase 0: the totals of the parts, and then, in the place of each, that of all parts up to it. */
static void totals_text(struct emit *e)
{
	states_text(e, "\t\t\t", 0);
	put(e, "\t\t\tif (m < A.nmap)\n\t\t\t\tfold_part(A, m, lane, part");
	fold_states(e, "", 0);
	put(e, ");\n\t\t\tcombine(A, lane");
	fold_states(e, "", 0);
	put(e, ");\n\t\t\tif (lane == 0 && m < A.nmap) {\n");
	for (int i = 0; i < e->k->nfold; i++) {
		put(e, "\t\t\t\t");
		scratch_place(e, i, "part");
		put(e, " = f%d;\n", i);
	}
	put(e,
		"\t\t\t}\n\t\t\t__threadfence();\n\t\t\t__syncthreads();\n"
		"\t\t\tif (threadIdx.x == 0)\n\t\t\t\tlast = atomicAdd(&A.counters[strip], 1u) == A.splits - 1;\n"
		"\t\t\t__syncthreads();\n\t\t\tif (last) {\n\t\t\t\t__threadfence();\n"
		"\t\t\t\tif (threadIdx.x == 0)\n\t\t\t\t\tA.counters[strip] = 0;\n\t\t\t\tchain_parts(A, m, lane, box);\n\t\t\t}\n");
}

static void chain_text(struct emit *e)
{
	put(e,
		"static __device__ __noinline__ void chain_parts(const struct args &A, const %s m, const unsigned lane, "
		"unsigned long long *const box)\n{\n"
		"\tconst unsigned long long all = (unsigned long long)A.nmap * A.splits;\n",
		e->idx);
	states_text(e, "\t", 1);
	put(e, "\n\tfor (unsigned first = 0; first < A.splits; first += A.lanes) {\n\t\tconst unsigned p = first + lane;\n");
	values_text(e, 1, "\t\t");
	for (int load = 1; load >= 0; load--) {
		put(e, "\t\tif (m < A.nmap && p < A.splits) {\n");
		for (int i = 0; i < e->k->nfold; i++) {
			put(e, load ? "\t\t\tg%d[0] = " : "\t\t\t", i);
			scratch_place(e, i, "p");
			put(e, load ? ";\n" : " = g%d[0];\n", i);
		}
		put(e, "\t\t}\n");
		if (load)
			scan_calls(e, 1, "\t\t");
	}
	put(e, "\t}\n}\n\n");
}

static void kernel_text(struct emit *e)
{
	put(e, "extern \"C\" __global__ void __launch_bounds__(%d) gx_kernel(%s)\n{\n", BLOCK,
		e->t->by_pointer ? "const struct args *const args" : "const __grid_constant__ struct args A");
	if (e->t->by_pointer)
		put(e, "\tconst struct args &A = *args;\n");
	put(e, "\t__shared__ unsigned last;\n\t__shared__ unsigned long long box[%d];\n", BLOCK);
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
		"\t\tconst %s m = (%s)(strip * outputs + slot);\n\n"
		"\t\tif (A.splits > 1 && A.phase == 0) {\n\t\t\tconst unsigned long long all = (unsigned long long)A.nmap * A.splits;\n",
		e->idx, e->idx);
	totals_text(e);
	put(e, "\t\t} else\n\t\t\tscan_part(A, m, lane, part, box);\n\t}\n}\n");
}

void scan_emit(struct emit *e)
{
	int bytes = 0;

	for (int i = 0; i < e->k->nfold; i++)
		bytes += type_table[fold_at(e, i)->type].bytes;
	tile_shape(e, bytes);
	emit_point(e);
	emit_splits(e);
	reduce_part(e);
	fold_combine(e);
	scans_text(e);
	finish_text(e);
	row_text(e);
	chain_text(e);
	kernel_text(e);
}

void scan_launch(const struct kernel *k, const struct cuda_text *t, const struct device_info *d, struct launch *l)
{
	reduce_launch(k, t, d, l);
	l->phases = l->splits > 1 ? 2 : 1;
}
