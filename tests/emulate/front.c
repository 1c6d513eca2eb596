/* front.c -- the stages up to the plan, for tests. */
#include "tests/emulate/front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "parser/parse.h"

struct front {
	struct formula f;
	struct arena arena;
	jmp_buf no_memory;
	struct diag diag;
	struct plan *plan;
};

static struct binding *bindings(struct front *f, const gx_array *a, int n)
{
	struct binding *b = arena_array(&f->arena, struct binding, n + 1);

	for (int i = 0; i < n; i++) {
		b[i].name = a[i].name;
		b[i].dtype = a[i].dtype;
		b[i].place = a[i].place;
		b[i].integer = a[i].integer;
		b[i].real = a[i].real;
		b[i].shape.rank = a[i].rank;
		memcpy(b[i].shape.n, a[i].shape, sizeof a[i].shape);
		memcpy(b[i].stride, a[i].stride, sizeof a[i].stride);
	}
	return b;
}

static int stages(struct front *f, const gx_array *inputs, int n)
{
	struct ir *ir;

	f->diag.src = &f->f.text;
	if (parse_program(&f->f)) {
		f->diag = f->f.diag;
		return -1;
	}
	ir = check_program(&f->arena, &f->diag, &f->f, bindings(f, inputs, n), n);
	if (f->diag.status || ir_verify(ir))
		return -1;
	f->plan = plan_make(ir, n);
	return f->diag.status ? -1 : 0;
}

/* 0; -1 after an error in f->diag; the arenas come back here when memory runs out. */
static int guarded(struct front *f, const char *text, const gx_array *inputs, int n)
{
	f->f.arena = &f->f.own;
	f->f.own.fail = f->arena.fail = &f->no_memory;
	if (setjmp(f->no_memory))
		return diag_error(&f->diag, GX_NOMEM, (struct span){0, 0}, "out of memory"), -1;
	f->f.text.text = arena_text(&f->f.own, text, strlen(text));
	f->f.text.len = strlen(text);
	f->f.text.origin = "<test>";
	f->f.diag.src = &f->f.text;
	return stages(f, inputs, n);
}

struct front *front_open(const char *text, const gx_array *inputs, int ninputs)
{
	struct front *f = calloc(1, sizeof *f);
	gx_error err;

	if (f && guarded(f, text, inputs, ninputs) == 0)
		return f;
	if (f) {
		diag_fill(&f->diag, &err);
		fprintf(stderr, "%s\n", err.text);
	}
	front_free(f);
	return NULL;
}

void front_free(struct front *f)
{
	if (!f)
		return;
	buf_free(&f->f.diag.warnings);
	arena_free(&f->arena);
	arena_free(&f->f.own);
	free(f);
}

struct plan *front_plan(const struct front *f) { return f->plan; }
