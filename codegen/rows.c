/* rows.c -- row programs: several reductions and a map over the same rows as one kernel that reads each row once.
 *
 * `lanes` threads of a block share a row and keep its elements in registers, `unroll` vectors each, while the phases go over
 * them: fold, put together, compute the tail, hand its numbers (t<n>) to all lanes, next phase. Every phase has its own namespace,
 * with its own arguments, point() and coordinates; what it reads of the row may have been loaded by an earlier one. A row longer than
 * the registers of a block hold is not for this family: its kernels stay apart. */
#include <stdio.h>

#include "codegen/emit.h"

static const struct step *body_step(const struct emit *e, int i) { return &e->k->body.step[i]; }

static int is_kept(const struct emit *e, int i)
{
	return e->body.step[i] && rows_kept_load(e->k, body_step(e, i));
}

int rows_foreign(const struct emit *e, const struct code *c, int i)
{
	int phase = (int)(e->k - e->unit->phase);

	return e->rows && c == &e->k->body && rows_kept_load(e->k, &c->step[i]) && !rows_owns(e->unit->phase, phase, i);
}

/* Kept axes whose coordinates the statements of a list need. */
static unsigned axes_of(const struct emit *e, const struct code *c, const struct use *u)
{
	unsigned axes = 0;

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		const struct port *p = &e->k->port[s->port];
		int place = s->kind == STEP_LOAD || s->kind == STEP_STORE || s->kind == STEP_IOTA;

		if (!u->step[i] || !place || rows_foreign(e, c, i))
			continue;
		if (row_temp(e, p) == TEMP_ROW || (row_temp(e, p) && s->kind == STEP_LOAD))
			continue;
		for (int a = 0; a < e->k->nkept; a++)
			if (p->access.stride[a] != 0)
				axes |= 1u << a;
	}
	return axes;
}

/* Type and dimensions of the registers that hold what a kept load reads. */
static void kept_type(struct emit *e, const struct step *s, const char *name)
{
	if (e->vec > 1)
		put(e, "unsigned %s[%d][%d]", name, e->unroll, tile_port_bytes(e->k, s) * e->vec / 4);
	else
		put(e, "%s %s[%d]", ctype((gx_dtype)s->type), name, e->unroll);
}

/* Rows of temporaries that a list reads (or, with `made`, that it makes), each once: the n-th, or -1. */
static int row_number(const struct emit *e, const struct code *c, int made, int n)
{
	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		int again = 0;

		if (s->kind != (made ? STEP_STORE : STEP_LOAD) || !row_temp(e, &e->k->port[s->port]))
			continue;
		for (int j = 0; j < i; j++)
			again |= c->step[j].kind == s->kind && e->k->port[c->step[j].port].buf == e->k->port[s->port].buf;
		if (!again && n-- == 0)
			return e->k->buf[e->k->port[s->port].buf].number;
	}
	return -1;
}

static const char *row_type(const struct emit *e, int temp) { return ctype(e->plan->temp[temp].mem); }

/* ", const float t0": the rows that a list reads; ", float &t1": those that it makes. Names alone without `typed`. */
static void row_params(struct emit *e, const struct code *c, int made, int typed)
{
	for (int n = 0, t; (t = row_number(e, c, made, n)) >= 0; n++)
		if (typed)
			put(e, made ? ", %s &t%d" : ", const %s t%d", row_type(e, t), t);
		else
			put(e, ", t%d", t);
}

static void kept_params(struct emit *e)
{
	char name[24];

	for (int i = 0; i < e->k->body.n; i++)
		if (is_kept(e, i)) {
			snprintf(name, sizeof name, "(&x%d)", i);
			put(e, ", ");
			kept_type(e, body_step(e, i), name);
		}
}

static void element_number(const struct emit *e, char text[80])
{
	snprintf(text, 80, e->vec > 1 ? "(u * %d + lane) * %d" : "u * %d + lane", e->t->lanes, e->vec);
}

/* A vector of the row, whole where it can be. */
static void vector_of_row(struct emit *e, const struct step *s, const char *array)
{
	put(e, "\t\tif (aligned && left >= %d) {\n", e->vec);
	tile_access(e, s, array, "\t\t", VECTOR_ALIGNED);
	put(e, "\t\t} else {\n");
	tile_access(e, s, array, "\t\t", VECTOR_PART);
	put(e, "\t\t}\n");
}

/* Loads of what no phase has loaded before. */
static void loads_text(struct emit *e, int phase)
{
	char array[24], number[80];
	int any = 0;

	for (int i = 0; i < e->k->body.n; i++)
		any |= is_kept(e, i) && rows_owns(e->unit->phase, phase, i);
	if (!any)
		return;
	element_number(e, number);
	put(e, "#pragma unroll\n\tfor (int u = 0; u < %d; u++) {\n\t\tconst %s r = %s;\n", e->unroll, e->idx, number);
	put(e, e->vec > 1 ? "\t\tconst unsigned left = r < n ? (unsigned)(n - r) : 0;\n" : "\t\tif (r < n) {\n");
	emit_element(e, e->vec > 1 ? "\t\t" : "\t\t\t", "r", e->body.load_axes, 0);
	for (int i = 0; i < e->k->body.n; i++) {
		const struct step *s = body_step(e, i);

		if (!is_kept(e, i) || !rows_owns(e->unit->phase, phase, i))
			continue;
		snprintf(array, sizeof array, "x%d[u]", i);
		if (e->vec == 1) {
			put(e, "\t\t\t%s = ", array);
			emit_load(e, &e->code, s);
			put(e, ";\n");
			continue;
		}
		vector_of_row(e, s, array);
	}
	put(e, e->vec > 1 ? "\t}\n" : "\t\t}\n\t}\n");
}

static int has_stores(const struct emit *e)
{
	for (int i = 0; i < e->k->body.n; i++)
		if (body_step(e, i)->kind == STEP_STORE)
			return 1;
	return 0;
}

static int has_moments(const struct emit *e)
{
	for (int i = 0; i < e->k->nfold; i++)
		if (red_table[e->k->fold[i].red].state == MOMENTS)
			return 1;
	return 0;
}

/* The values of one vector to fold; those beyond the row are neutral. */
static void declare_values(struct emit *e, int second)
{
	for (int i = 0; i < e->k->nfold; i++) {
		int state = red_table[e->k->fold[i].red].state;

		if (second && state != MOMENTS)
			continue;
		put(e, "\t\t%s g%d[%d];\n", ctype(e->k->fold[i].type), i, e->vec);
		if (state == PAIR)
			put(e, "\t\tlong long h%d[%d];\n", i, e->vec);
	}
}

static void neutral(struct emit *e, int second)
{
	for (int i = 0; i < e->k->nfold; i++) {
		const struct fold *f = &e->k->fold[i];

		if (second && red_table[f->red].state != MOMENTS)
			continue;
		put(e, "\t\t\tg%d[j] = ", i);
		if (red_table[f->red].state == ONE)
			meaning_identity(e, &e->code, f->red, f->type);
		else
			put(e, "0");
		put(e, ";\n");
		if (red_table[f->red].state == PAIR)
			put(e, "\t\t\th%d[j] = -1;\n", i);
	}
}

/* What point() gave, into the arrays to fold and the vectors to store. */
static void keep(struct emit *e, int second)
{
	for (int i = 0; i < e->k->body.n; i++) {
		const struct step *s = body_step(e, i);

		if (s->kind == STEP_STORE && !second && e->vec > 1) {
			vector_put_need(e, e->k->buf[e->k->port[s->port].buf].mem);
			put(e, "\t\t\t\tput_%s(z%d, j, y%d);\n", abbr(e->k->buf[e->k->port[s->port].buf].mem), i, i);
		}
		if (s->kind != STEP_FOLD)
			continue;
		if (second && fold_state(e, s) == MOMENTS)
			put(e, "\t\t\t\tg%u[j] = (e%u - f%u) * (e%u - f%u);\n", s->index, s->index, s->index, s->index, s->index);
		else if (!second)
			put(e, "\t\t\t\tg%u[j] = e%u;\n", s->index, s->index);
		if (!second && fold_state(e, s) == PAIR)
			put(e, "\t\t\t\th%u[j] = j%u;\n", s->index, s->index);
	}
	if (e->vec == 1 && !second)
		emit_stores(e, "\t\t\t\t");
}

static void stores_text(struct emit *e)
{
	char array[24];

	for (int i = 0; i < e->k->body.n; i++)
		if (body_step(e, i)->kind == STEP_STORE) {
			snprintf(array, sizeof array, "z%d", i);
			vector_of_row(e, body_step(e, i), array);
		}
}

static void fold_vector(struct emit *e, int i, int second)
{
	int state = red_table[e->k->fold[i].red].state;
	char a[24], b[24];

	snprintf(a, sizeof a, "g%d", i);
	if (state == MOMENTS) {
		fold_tree(e, i, a, e->vec);
		put(e, second ? "\t\tm%d = m%d + g%d[0];\n" : "\t\tf%d = f%d + g%d[0];\n", i, i, i);
		return;
	}
	if (second)
		return;
	fold_tree(e, i, NULL, e->vec);
	snprintf(a, sizeof a, "g%d[0]", i);
	snprintf(b, sizeof b, "h%d[0]", i);
	fold_merge(e, i, "\t\t", a, b, "");
}

/* Go over the thread's elements. The second time only for deviations from the thread's mean. */
static void points_text(struct emit *e, int second)
{
	unsigned axes = e->body.inner_axes | (e->vec == 1 ? e->body.store_axes : 0);
	char number[80];

	element_number(e, number);
	put(e, "#pragma unroll\n\tfor (int u = 0; u < %d; u++) {\n\t\tconst %s r = %s;\n", e->unroll, e->idx, number);
	declare_values(e, second);
	if (e->vec > 1 && !second && has_stores(e)) {
		put(e, "\t\tconst unsigned left = r < n ? (unsigned)(n - r) : 0;\n");
		for (int i = 0; i < e->k->body.n; i++)
			if (body_step(e, i)->kind == STEP_STORE)
				put(e, "\t\tunsigned z%d[%d] = {0};\n", i, tile_port_bytes(e->k, body_step(e, i)) * e->vec / 4);
	}
	put(e, "#pragma unroll\n\t\tfor (int j = 0; j < %d; j++) {\n", e->vec);
	neutral(e, second);
	put(e, "\t\t\tif (r + j < n) {\n");
	emit_element(e, "\t\t\t\t", e->vec > 1 ? "r + j" : "r", axes, 0);
	emit_outputs(e, "\t\t\t\t");
	emit_call(e, "\t\t\t\t", FROM_ROW);
	keep(e, second);
	put(e, "\t\t\t}\n\t\t}\n");
	for (int i = 0; i < e->k->nfold; i++)
		fold_vector(e, i, second);
	if (!second && e->vec > 1 && has_stores(e)) {
		emit_element(e, "\t\t", "r", e->body.store_axes, 0);
		stores_text(e);
	}
	put(e, "\t}\n");
}

/* Between the two: how many elements the thread has, and their mean. */
static void mean_text(struct emit *e)
{
	put(e, "\tunsigned mine = 0;\n#pragma unroll\n\tfor (int u = 0; u < %d; u++) {\n", e->unroll);
	put(e, "\t\tconst %s r = (u * %d + lane) * %d;\n\t\tmine += r >= n ? 0 : n - r < %d ? (unsigned)(n - r) : %d;\n\t}\n", e->idx,
		e->t->lanes, e->vec, e->vec, e->vec);
	for (int i = 0; i < e->k->nfold; i++)
		if (red_table[e->k->fold[i].red].state == MOMENTS)
			put(e, "\tn%d = mine;\n\tf%d = mine ? f%d / mine : 0;\n", i, i, i);
}

static void pass_text(struct emit *e, int phase)
{
	int vectors = 0;

	put(e, "static __device__ __forceinline__ void pass(const struct args &A, const %s m, const unsigned lane", e->idx);
	kept_params(e);
	row_params(e, &e->k->body, 0, 1);
	fold_states(e, "&", 1);
	put(e, ")\n{\n");
	emit_pointers(e, &e->k->body, &e->body);
	emit_coords(e, "\t", "kept_axes", "m", 0, e->k->nkept, axes_of(e, &e->k->body, &e->body));
	put(e, "\tconst %s n = A.nreduce;\n", e->idx);
	for (int i = 0; i < e->k->body.n; i++) {
		const struct step *s = body_step(e, i);

		vectors |= e->vec > 1 && (s->kind == STEP_STORE || (is_kept(e, i) && rows_owns(e->unit->phase, phase, i)));
		if (e->vec > 1 && is_kept(e, i))
			vector_get_need(e, e->k->buf[e->k->port[s->port].buf].mem);
		if (!e->body.step[i] || !plain_load(s, e->k) || !row_uniform(e->k, s) || row_temp(e, &e->k->port[s->port]))
			continue;
		put(e, "\tconst %s x%d = ", ctype((gx_dtype)s->type), i);
		emit_load(e, &e->code, s);
		put(e, ";\n");
	}
	if (vectors)
		tile_aligned(e, "\t");
	loads_text(e, phase);
	points_text(e, 0);
	if (has_moments(e)) {
		mean_text(e);
		points_text(e, 1);
	}
	put(e, "}\n\n");
}

/* The tail: once for every row. */
static void finish_text(struct emit *e)
{
	put(e, "static __device__ __forceinline__ void finish(const struct args &A, const %s m", e->idx);
	row_params(e, &e->k->tail, 0, 1);
	row_params(e, &e->k->tail, 1, 1);
	fold_states(e, "", 1);
	put(e, ")\n{\n");
	emit_pointers(e, &e->k->tail, &e->tail);
	emit_coords(e, "\t", "kept_axes", "m", 0, e->k->nkept, axes_of(e, &e->k->tail, &e->tail));
	emit_steps(e, &e->k->tail, &e->tail);
	put(e, "}\n\n");
}

static void phase_text(struct emit *e, int phase)
{
	put(e, "namespace phase%d {\n\n", phase);
	args_declare(e, &e->code, phase);
	emit_point(e);
	emit_splits(e);
	pass_text(e, phase);
	if (e->k->nfold && e->t->lanes > 1)
		fold_combine(e);
	if (e->k->tail.n)
		finish_text(e);
	put(e, "}\n\n");
}

static void declare_kept(struct emit *e, int phase)
{
	char name[32];

	for (int i = 0; i < e->k->body.n; i++)
		if (is_kept(e, i) && rows_owns(e->unit->phase, phase, i)) {
			snprintf(name, sizeof name, "x%d_%d", phase, i);
			put(e, "\t\t");
			kept_type(e, body_step(e, i), name);
			put(e, ";\n");
		}
}

/* Lane 0's row numbers to all lanes of the row. */
static void share(struct emit *e, int temp)
{
	gx_dtype mem = e->plan->temp[temp].mem;
	int lanes = e->t->lanes;

	if (lanes == 1)
		return;
	if (e->k->inner && lanes <= 32) {
		const char *narrow = type_table[mem].bytes < 4 ? "(int)" : "";

		put(e, "\t\t\tt%d = (%s)__shfl_sync(0xffffffffu, %st%d, threadIdx.x / %d * %d %% 32);\n", temp,
			ctype(mem), narrow, temp, lanes, lanes);
		return;
	}
	put(e, "\t\t\t__shared__ %s row%d[%d];\n\t\t\tif (lane == 0)\n"
		"\t\t\t\trow%d[slot] = t%d;\n\t\t\t__syncthreads();\n\t\t\tt%d = row%d[slot];\n",
		ctype(mem), temp, e->t->block / lanes, temp, temp, temp, temp);
}

static void finish_call(struct emit *e, int phase)
{
	if (!e->k->tail.n)
		return;
	put(e, "\t\t\tif (lane == 0 && m < all.phase0.nmap)\n\t\t\t\tphase%d::finish(all.phase%d, m", phase, phase);
	row_params(e, &e->k->tail, 0, 0);
	row_params(e, &e->k->tail, 1, 0);
	fold_states(e, "", 0);
	put(e, ");\n");
	for (int n = 0, t; (t = row_number(e, &e->k->tail, 1, n)) >= 0; n++)
		share(e, t);
}

/* One phase in the kernel's loop over rows. */
static void call_text(struct emit *e, int phase)
{
	declare_kept(e, phase);
	for (int n = 0, t; (t = row_number(e, &e->k->tail, 1, n)) >= 0; n++)
		put(e, "\t\t%s t%d = 0;\n", row_type(e, t), t);
	put(e, "\t\t{\n");
	for (int i = 0; i < e->k->nfold; i++)
		fold_init(e, i, "\t\t\t", 1);
	put(e, "\t\t\tif (m < all.phase0.nmap)\n\t\t\t\tphase%d::pass(all.phase%d, m, lane", phase, phase);
	for (int i = 0; i < e->k->body.n; i++)
		if (is_kept(e, i)) {
			int from, step = rows_owner(e->unit->phase, phase, i, &from);

			put(e, ", x%d_%d", from, step);
		}
	row_params(e, &e->k->body, 0, 0);
	fold_states(e, "", 0);
	put(e, ");\n");
	if (e->k->nfold && e->t->lanes > 1) {
		put(e, "\t\t\tphase%d::combine(lane", phase);
		fold_states(e, "", 0);
		put(e, ");\n");
	}
	finish_call(e, phase);
	put(e, "\t\t}\n");
}

static void kernel_head(struct emit *e)
{
	int inner = e->unit->phase->inner, rows = e->t->block / e->t->lanes, apart = inner ? e->t->lanes : rows;
	const char *idx = e->unit->phase->wide ? "unsigned long long" : "unsigned";

	put(e, "struct args {\n");
	for (int p = 0; p < e->unit->nphase; p++)
		put(e, "\tphase%d::args phase%d;\n", p, p);
	put(e, "};\n\nextern \"C\" __global__ void __launch_bounds__(%d) gx_kernel(%s)\n{\n", e->t->block,
		e->t->by_pointer ? "const struct args *const args" : "const __grid_constant__ struct args all");
	if (e->t->by_pointer)
		put(e, "\tconst struct args &all = *args;\n");
	if (e->plan->ncheck)
		put(e, "\tif (all.phase0.error->position != ~0ull)\n\t\treturn;\n");
	put(e, "\tconst unsigned rows = %d;   /* of a block */\n", rows);
	put(e, inner ? "\tconst unsigned lane = threadIdx.x %% %d, slot = threadIdx.x / %d;\n"
				 : "\tconst unsigned slot = threadIdx.x %% %d, lane = threadIdx.x / %d;\n", apart, apart);
	put(e, "\tconst unsigned long long strips = all.phase0.nmap / rows + (all.phase0.nmap %% rows != 0);\n\n"
		"\tfor (unsigned long long strip = blockIdx.x; strip < strips; strip += gridDim.x) {\n"
		"\t\tconst %s m = (%s)(strip * rows + slot);\n\n", idx, idx);
}

static void phases_text(struct emit *e, struct buf *loop)
{
	for (int p = 0; p < e->unit->nphase && !e->failed; p++) {
		if (!phase_begin(e, p)) {
			struct buf keep;

			phase_text(e, p);
			keep = e->code;
			e->code = *loop;
			call_text(e, p);
			*loop = e->code;
			e->code = keep;
		}
		phase_end(e);
	}
}

static double cost(struct emit *e)
{
	double ms = 0;

	for (int p = 0; p < e->unit->nphase && !e->failed; p++) {
		e->k = &e->unit->phase[p];
		use_find(e, &e->k->body, 0, &e->body);
		if (!e->failed)
			ms += tile_cost(e) * (has_moments(e) ? 2 : 1);
		phase_end(e);
	}
	return ms;
}

void rows_emit(struct emit *e)
{
	struct row_program r = {.nphase = e->unit->nphase, .phase = (struct kernel *)e->unit->phase};
	struct row_shape shape = rows_shape(&r);
	struct buf loop = {0};

	e->vec = shape.vec;
	e->unroll = shape.unroll;
	e->t->per_thread = shape.vec * shape.unroll;
	e->t->block = shape.block;
	e->t->lanes = shape.lanes;
	e->outline = cost(e) * e->t->per_thread > OUTLINE;
	phases_text(e, &loop);
	e->failed |= loop.failed;
	if (!e->failed) {
		kernel_head(e);
		buf_put(&e->code, loop.text, loop.len);
		put(e, "\t}\n}\n");
	}
	buf_free(&loop);
}
