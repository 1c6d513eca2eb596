/* plane.c -- maps over more than one axis: the domain is cut into tiles over two of them, the last one and another, so that coordinates
 * cost no division and neighbouring rows find each other in the caches (stencils).
 *
 * An array that is read across (a + b.T) has its neighbours in memory along the other axis. A block first reads its tile of every such
 * array along the array's own axis and leaves it in shared memory, then computes the points along the last axis. Tiles are square then,
 * and their rows padded to an odd number of words, so that neither direction meets in the same banks. Beyond an edge the point at
 * the edge is computed again and not stored: no load needs a branch. */
#include <stdlib.h>

#include "codegen/emit.h"

enum {
	SECTOR = 32,              /* bytes: elements farther apart than that share none */
	LARGE = 64, SMALL = 32,   /* sides of a square tile; an axis shorter than SMALL has no tiles */
	COLUMNS = 64,             /* of a tile where no array is read across */
	LARGE_SHARED = 20 << 10,  /* bytes of shared memory up to which a large one pays: three blocks of compute capability 7.5 */
	MOST_SHARED = 48 << 10,
	LARGE_LOADED = 12,        /* bytes that a thread reads for a point, up to which 16 points fit its registers */
	COPIES = 4000             /* steps in all copies of a body, at most */
};

static int crosses(const struct kernel *k, const struct step *s, int axis)
{
	const struct port *p = &k->port[s->port];
	int64_t here, there;
	int bytes;

	if (!plain_load(s, k))
		return 0;
	bytes = tile_port_bytes(k, s);
	here = llabs(p->access.stride[k->rank - 1]) * bytes;
	there = llabs(p->access.stride[axis]) * bytes;
	return here >= SECTOR && there > 0 && there <= SECTOR / 2;
}

static int tile_bytes(const struct kernel *k, const struct step *s, int side)
{
	int bytes = tile_port_bytes(k, s);

	return side * (side + (bytes < 4 ? 4 / bytes : 1)) * bytes;
}

/* The axis along which most loads cross, the last of equals; -1: none. */
static int crossed_axis(const struct kernel *k)
{
	int axis = -1, most = 1;

	for (int a = 0; a + 1 < k->rank; a++) {
		int n = 0;

		for (int i = 0; i < k->body.n && k->extent[a] >= SMALL; i++)
			n += crosses(k, &k->body.step[i], a);
		if (n >= most) {
			axis = a;
			most = n;
		}
	}
	return axis;
}

/* The side of square tiles; 0: arrays that cross do not fit in shared memory, or the body is too long for its copies. */
static int side_of(const struct kernel *k, int axis)
{
	int shared[2] = {0, 0}, loaded = 0;

	for (int i = 0; i < k->body.n; i++) {
		const struct step *s = &k->body.step[i];

		loaded += plain_load(s, k) ? tile_port_bytes(k, s) : 0;
		for (int large = 0; large < 2 && crosses(k, s, axis); large++)
			shared[large] += tile_bytes(k, s, large ? LARGE : SMALL);
	}
	if (shared[1] <= LARGE_SHARED && loaded <= LARGE_LOADED && LARGE * LARGE / BLOCK * k->body.n <= COPIES)
		return LARGE;
	return shared[0] <= MOST_SHARED && SMALL * SMALL / BLOCK * k->body.n <= COPIES ? SMALL : 0;
}

struct plane_shape plane_shape(const struct kernel *k)
{
	struct plane_shape p = {-1, COLUMNS, 0};
	int axis;

	if (k->reduces || k->rank < 2 || k->extent[k->rank - 1] < SMALL)
		return p;
	for (int i = 0; i < k->body.n; i++)
		if (k->body.step[i].kind == STEP_CHECK)
			return p;
	axis = crossed_axis(k);
	p.side = axis >= 0 ? side_of(k, axis) : 0;
	if (p.side)
		p.columns = p.side;
	else
		axis = k->extent[k->rank - 2] >= SMALL ? k->rank - 2 : -1;
	p.axis = axis;
	return p;
}

/* ---- text ---- */

/* Goes load i through shared memory? */
static int across(const struct emit *e, const struct plane_shape *c, int i)
{
	return c->side && crosses(e->k, &e->k->body.step[i], c->axis);
}

/* The thread's point u: its places in the tile along the other axis, `t`, and the last one, `l`. */
static void coords(struct emit *e, const struct plane_shape *c, const char *t, const char *l)
{
	const char *place[2] = {t, l};
	int axis[2] = {c->axis, e->k->rank - 1};

	for (int i = 0; i < 2; i++) {
		int a = axis[i];

		put(e, "\t\t\tconst %s i%d = first%d + %s;\n", e->idx, a, a, place[i]);
		put(e, "\t\t\tconst %s c%d = (%s)(i%d < A.n%d ? i%d : A.n%d - 1);\n", e->off, a, e->off, a, a, a, a);
	}
}

static void shared_place(const struct plane_shape *c, int bytes, const char *row, const char *column, char text[64])
{
	snprintf(text, 64, "(%s) * %d + %s", row, c->columns + (bytes < 4 ? 4 / bytes : 1), column);
}

static void loop(struct emit *e)
{
	put(e, "#pragma unroll\n\t\tfor (int u = 0; u < %d; u++) {\n", e->unroll);
}

static void loads_text(struct emit *e, const struct plane_shape *c, const char *step, int crossed)
{
	const struct code *body = &e->k->body;
	int any = 0;

	for (int i = 0; i < body->n; i++)
		any |= e->body.step[i] && plain_load(&body->step[i], e->k) && across(e, c, i) == crossed;
	if (!any)
		return;
	loop(e);
	coords(e, c, crossed ? "x" : step, crossed ? step : "x");
	for (int i = 0; i < body->n; i++) {
		const struct step *s = &body->step[i];
		char place[64];

		if (!e->body.step[i] || !plain_load(s, e->k) || across(e, c, i) != crossed)
			continue;
		shared_place(c, tile_port_bytes(e->k, s), step, "x", place);
		if (crossed) {
			put(e, "\t\t\ts%d[%s] = q%u[", i, place, s->port);
			emit_access(e, &e->code, (int)s->port, ~0u);
			put(e, "]");
		} else {
			put(e, "\t\t\tx%d[u] = ", i);
			emit_load(e, &e->code, s);
		}
		put(e, ";\n");
	}
	put(e, "\t\t}\n");
}

static void points_text(struct emit *e, const struct plane_shape *c, const char *step)
{
	const struct code *body = &e->k->body;

	loop(e);
	coords(e, c, step, "x");
	for (int i = 0; i < body->n; i++) {
		const struct step *s = &body->step[i];
		char place[64], from[80];

		if (!e->body.step[i] || !across(e, c, i))
			continue;
		shared_place(c, tile_port_bytes(e->k, s), "x", step, place);
		snprintf(from, sizeof from, "s%d[%s]", i, place);
		put(e, "\t\t\tx%d[u] = ", i);
		meaning_load(e, &e->code, e->k->buf[e->k->port[s->port].buf].mem, from);
		put(e, ";\n");
	}
	emit_outputs(e, "\t\t\t");
	emit_call(e, "\t\t\t", FROM_TILE);
	put(e, "\t\t\tif (i%d < A.n%d && i%d < A.n%d) {\n", c->axis, c->axis, e->k->rank - 1, e->k->rank - 1);
	emit_stores(e, "\t\t\t\t");
	put(e, "\t\t\t}\n\t\t}\n");
}

static int rows(const struct emit *e, const struct plane_shape *c)
{
	return e->unroll * (BLOCK / c->columns);
}

/* Where the tile begins, and the coordinates that all its points share. */
static void tile_text(struct emit *e, const struct plane_shape *c)
{
	int last = e->k->rank - 1;

	put(e, "\t\t%s%s rest = tile / along;\n\t\tconst %s first%d = (tile - rest * along) * %d;\n", e->k->rank > 2 ? "" : "const ", e->idx,
		e->idx, last, c->columns);
	put(e, "\t\tconst %s first%d = rest%s * %d;\n", e->idx, c->axis, e->k->rank > 2 ? " % across" : "", rows(e, c));
	if (e->k->rank > 2)
		put(e, "\t\trest /= across;\n");
	for (int a = last - 1; a >= 0; a--) {
		if (a == c->axis)
			continue;
		put(e, "\t\tconst %s c%d = (%s)(rest %% A.n%d);\n\t\trest /= A.n%d;\n", e->off, a, e->off, a, a);
	}
}

static void kernel_text(struct emit *e, const struct plane_shape *c)
{
	const struct code *body = &e->k->body;
	int last = e->k->rank - 1;
	char step[32];

	snprintf(step, sizeof step, "y + u * %d", BLOCK / c->columns);
	for (int i = 0; i < body->n; i++)
		if (e->body.step[i] && across(e, c, i))
			put(e, "\t__shared__ %s s%d[%d];\n", ctype(e->k->buf[e->k->port[body->step[i].port].buf].mem), i,
				tile_bytes(e->k, &body->step[i], c->side) / tile_port_bytes(e->k, &body->step[i]));
	put(e, "\tconst unsigned x = threadIdx.x %% %d, y = threadIdx.x / %d;\n", c->columns, c->columns);
	put(e, "\tconst %s across = A.n%d / %d + (A.n%d %% %d != 0), along = A.n%d / %d + (A.n%d %% %d != 0);\n", e->idx, c->axis,
		rows(e, c), c->axis, rows(e, c), last, c->columns, last, c->columns);
	put(e, "\tconst %s tiles = across * along", e->idx);
	put(e, e->k->rank > 2 ? " * (A.nmap / A.n%d / A.n%d);\n\n" : ";\n\n", c->axis, last);
	put(e, "\tfor (%s tile = blockIdx.x; tile < tiles; tile += gridDim.x) {\n", e->idx);
	tile_text(e, c);
	for (int i = 0; i < body->n; i++)
		if (e->body.step[i] && plain_load(&body->step[i], e->k))
			put(e, "\t\t%s x%d[%d];\n", ctype((gx_dtype)body->step[i].type), i, e->unroll);
	loads_text(e, c, step, 0);
	loads_text(e, c, step, 1);
	if (c->side)
		put(e, "\t\t__syncthreads();\n");
	points_text(e, c, step);
	put(e, c->side ? "\t\t__syncthreads();\n\t}\n}\n" : "\t}\n}\n");
}

void plane_emit(struct emit *e)
{
	struct plane_shape c = plane_shape(e->k);

	tile_shape(e, 0);
	e->vec = 1;
	if (c.side) {
		e->unroll = c.side * c.side / BLOCK;
		e->outline = tile_cost(e) * e->unroll > OUTLINE;
	}
	e->t->per_thread = e->unroll;
	emit_point(e);
	put(e, "extern \"C\" __global__ void __launch_bounds__(%d) gx_kernel(%s)\n{\n", BLOCK,
		e->t->by_pointer ? "const struct args *const args" : "const __grid_constant__ struct args A");
	if (e->t->by_pointer)
		put(e, "\tconst struct args &A = *args;\n");
	emit_stop(e);
	emit_pointers(e, &e->k->body, &e->body);
	kernel_text(e, &c);
}

/* A tile a block. */
void plane_launch(const struct kernel *k, const struct cuda_text *t, struct launch *l)
{
	struct plane_shape c = plane_shape(k);
	int64_t rows = t->per_thread * (BLOCK / c.columns), last = k->extent[k->rank - 1];
	int64_t blocks = (k->extent[c.axis] + rows - 1) / rows * ((last + c.columns - 1) / c.columns) * (k->nmap / k->extent[c.axis] / last);

	l->grid[0] = (unsigned)(blocks > INT32_MAX ? INT32_MAX : blocks);
}
