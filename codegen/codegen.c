/* codegen.c -- a kernel of a plan to CUDA C text, and the geometry of a launch: picks the family and puts
 * the pieces together. */
#include "codegen/emit.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { STEPS_MAX = 20000 }; /* about two seconds and 200 MB in the compiler */

const char *cuda_text_limit(const struct unit *u)
{
	int steps = 0;

	for (int i = 0; i < u->nphase; i++)
		steps += u->phase[i].body.n + (u->phase[i].reduces ? u->phase[i].tail.n : 0);
	if (steps <= STEPS_MAX)
		return NULL;
	return "the program is too long for one kernel (limit: 20000 operations); assign parts of it to names and reduce or index them";
}

static void title_put(struct buf *b, const char *title)
{
	buf_str(b, "/* ");
	buf_escaped(b, title ? title : "", title ? strlen(title) : 0);
	buf_str(b, " */\n");
}

static void assemble(struct emit *e)
{
	struct buf *b = &e->t->text;

	for (int i = 0; i < e->unit->nphase; i++)
		if (i == 0 || strcmp(e->unit->phase[i].title, e->unit->phase[i - 1].title) != 0)
			title_put(b, e->unit->phase[i].title);
	buf_str(b, e->helpers.text ? e->helpers.text : "");
	if (!e->rows)
		args_declare(e, b, 0);
	buf_str(b, e->code.text ? e->code.text : "");
	e->failed |= e->helpers.failed | e->code.failed | b->failed;
}

int phase_begin(struct emit *e, int number)
{
	e->k = &e->unit->phase[number];
	e->idx = e->k->wide ? "unsigned long long" : "unsigned";
	e->off = e->k->wide ? "long long" : "int";
	use_find(e, &e->k->body, 0, &e->body);
	if (e->k->reduces && !e->failed)
		use_find(e, &e->k->tail, 1, &e->tail);
	if (!e->failed)
		args_make(e);
	return e->failed ? -1 : 0;
}

void phase_end(struct emit *e)
{
	free(e->body.step);
	free(e->tail.step);
	e->body.step = e->tail.step = NULL;
}

static void make(struct emit *e)
{
	if (e->rows)
		rows_emit(e);
	else if (!phase_begin(e, 0)) {
		if (e->k->scans)
			scan_emit(e);
		else if (e->k->reduces)
			reduce_emit(e);
		else if (plane_shape(e->k).axis >= 0)
			plane_emit(e);
		else
			map_emit(e);
	}
	phase_end(e);
	if (!e->failed)
		assemble(e);
}

int cuda_text_make(const struct plan *plan, const struct unit *u, gx_math math, struct cuda_text *t)
{
	struct emit *e = gx_calloc(1, sizeof *e);
	int rc;

	memset(t, 0, sizeof *t);
	if (!e)
		return -1;
	e->plan = plan;
	e->unit = u;
	e->math = math;
	e->t = t;
	e->rows = u->nphase > 1;
	t->block = BLOCK;
	make(e);
	rc = e->failed ? -1 : 0;
	buf_free(&e->helpers);
	buf_free(&e->code);
	free(e);
	if (rc)
		cuda_text_free(t);
	return rc;
}

void cuda_text_free(struct cuda_text *t)
{
	buf_free(&t->text);
	free(t->arg);
	memset(t, 0, sizeof *t);
}

/* A map: one tile a block. */
static void map_launch(const struct kernel *k, const struct cuda_text *t, struct launch *l)
{
	int64_t tile = (int64_t)t->block * t->per_thread;
	int64_t blocks = k->nmap / tile + (k->nmap % tile != 0);

	l->grid[0] = (unsigned)(blocks > INT32_MAX ? INT32_MAX : blocks);
}

/* A row program: `lanes` threads a row. */
static void rows_launch(const struct kernel *k, const struct cuda_text *t, struct launch *l)
{
	int64_t rows = t->block / t->lanes, strips = k->nmap / rows + (k->nmap % rows != 0);

	l->grid[0] = (unsigned)(strips > INT32_MAX ? INT32_MAX : strips);
}

void cuda_launch_make(
	const struct unit *u, const struct cuda_text *t, const struct device_info *d, struct launch *l)
{
	memset(l, 0, sizeof *l);
	l->grid[1] = l->grid[2] = 1;
	l->block = (unsigned)t->block;
	l->splits = l->lanes = l->phases = 1;
	if (u->nphase > 1)
		rows_launch(u->phase, t, l);
	else if (u->phase->scans)
		scan_launch(u->phase, t, d, l);
	else if (u->phase->reduces)
		reduce_launch(u->phase, t, d, l);
	else if (plane_shape(u->phase).axis >= 0)
		plane_launch(u->phase, t, l);
	else
		map_launch(u->phase, t, l);
}
