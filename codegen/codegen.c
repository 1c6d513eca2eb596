/* codegen.c -- a kernel of a plan to CUDA C text, and the geometry of a launch: picks the family and puts
 * the pieces together. */
#include "codegen/emit.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { STEPS_MAX = 20000 }; /* about two seconds and 200 MB in the compiler */

const char *cuda_text_limit(const struct kernel *k)
{
	if (k->body.n + (k->reduces ? k->tail.n : 0) <= STEPS_MAX)
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

	title_put(b, e->k->title);
	buf_str(b, e->helpers.text ? e->helpers.text : "");
	args_declare(e, b);
	buf_str(b, e->code.text ? e->code.text : "");
	e->failed |= e->helpers.failed | e->code.failed | b->failed;
}

static int make(struct emit *e)
{
	use_find(e, &e->k->body, 0, &e->body);
	if (e->k->reduces && !e->failed)
		use_find(e, &e->k->tail, 1, &e->tail);
	if (e->failed)
		return -1;
	args_make(e);
	if (e->k->scans)
		scan_emit(e);
	else if (e->k->reduces)
		reduce_emit(e);
	else
		map_emit(e);
	assemble(e);
	return e->failed ? -1 : 0;
}

int cuda_text_make(const struct plan *plan, const struct kernel *k, gx_math math, struct cuda_text *t)
{
	struct emit *e = gx_calloc(1, sizeof *e);
	int rc;

	memset(t, 0, sizeof *t);
	if (!e)
		return -1;
	e->plan = plan;
	e->k = k;
	e->math = math;
	e->t = t;
	e->idx = k->wide ? "unsigned long long" : "unsigned";
	e->off = k->wide ? "long long" : "int";
	t->block = BLOCK;
	rc = make(e);
	free(e->body.step);
	free(e->tail.step);
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

void cuda_launch_make(
	const struct kernel *k, const struct cuda_text *t, const struct device_info *d, struct launch *l)
{
	memset(l, 0, sizeof *l);
	l->grid[1] = l->grid[2] = 1;
	l->block = (unsigned)t->block;
	l->splits = l->lanes = l->phases = 1;
	if (k->scans)
		scan_launch(k, t, d, l);
	else if (k->reduces)
		reduce_launch(k, t, d, l);
	else
		map_launch(k, t, l);
}
