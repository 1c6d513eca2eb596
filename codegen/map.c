/* map.c -- kernels without a reduction: every point of the domain is computed and stored.
 *
 * Blocks take tiles in turn (normally one each); the few points after the last full tile are shared out one
 * by one. Points are numbered in C order, so neighbouring threads have neighbouring points on the last
 * axis. */
#include "codegen/emit.h"

static void tiles_text(struct emit *e)
{
	char element[80];

	snprintf(element, sizeof element, "tile * %d + u * %d + threadIdx.x", BLOCK * e->t->per_thread, BLOCK);
	if (e->vec > 1)
		snprintf(element, sizeof element, "tile * %d + (u * %d + threadIdx.x) * %d",
			BLOCK * e->t->per_thread, BLOCK, e->vec);
	put(e, "\tconst %s tiles = A.nmap / %d;\n", e->idx, BLOCK * e->t->per_thread);
	tile_flags(e, "\t");
	put(e, "\n\tfor (%s tile = blockIdx.x; tile < tiles; tile += gridDim.x) {\n", e->idx);
	tile_loads(e, element, "\t\t");
	tile_points(e, element, "\t\t");
	put(e, "\t}\n");
}

static void rest_text(struct emit *e)
{
	const char *start = "";
	char from[64] = "";

	if (e->t->per_thread > 1) {
		snprintf(from, sizeof from, "tiles * %d + ", BLOCK * e->t->per_thread);
		start = from;
	}
	put(e, "\tfor (%s i = %s(%s)blockIdx.x * %d + threadIdx.x; i < A.nmap; i += (%s)gridDim.x * %d) {\n",
		e->idx, start, e->idx, BLOCK, e->idx, BLOCK);
	emit_element(e, "\t\t", "i", e->body.axes, 1);
	emit_outputs(e, "\t\t");
	emit_call(e, "\t\t", FROM_MEMORY);
	emit_stores(e, e->body.checks ? "\t\t\t" : "\t\t");
	put(e, e->body.checks ? "\t\t}\n\t}\n" : "\t}\n");
}

void map_emit(struct emit *e)
{
	tile_shape(e, 0);
	emit_fail(e);
	emit_point(e);
	emit_splits(e);
	put(e, "extern \"C\" __global__ void __launch_bounds__(%d) gx_kernel(%s)\n{\n", BLOCK,
		e->t->by_pointer ? "const struct args *const args" : "const __grid_constant__ struct args A");
	if (e->t->by_pointer)
		put(e, "\tconst struct args &A = *args;\n");
	emit_stop(e);
	emit_pointers(e, &e->k->body, &e->body);
	if (e->t->per_thread > 1)
		tiles_text(e);
	rest_text(e);
	put(e, "}\n");
}
