/* rows_shape.c -- row programs: which elements a thread keeps, who loads them first, and how many threads share a row. */
#include "codegen/emit.h"

/* The shape of a row's block, by the rules of notes/speed.md: enough loads in flight, few threads idle. */
enum {
	WORDS = 64, /* 32-bit registers of a thread that hold elements, at most */
	WORDS_EASY = 32, /* ... while there are few lanes */
	COPIES = 4000, /* steps in all copies of all bodies, at most */
	FEW_LANES = 8, SOME_LANES = 256, MOST_LANES = 512,
	STRIP = 32 /* neighbouring outputs of a block when the contiguous axis is kept */
};

int row_uniform(const struct kernel *k, const struct step *s)
{
	for (int a = k->nkept; a < k->rank; a++)
		if (k->port[s->port].access.stride[a] != 0)
			return 0;
	return 1;
}

int unit_makes_row(const struct unit *u, int temp)
{
	for (int p = 0; p < u->nphase; p++) {
		const struct kernel *k = &u->phase[p];

		for (int i = 0; i < k->tail.n; i++) {
			const struct step *s = &k->tail.step[i];
			const struct kbuf *b = &k->buf[k->port[s->port].buf < 0 ? 0 : k->port[s->port].buf];

			if (s->kind == STEP_STORE && b->kind == BUF_TEMP && b->number == temp)
				return 1;
		}
	}
	return 0;
}

enum row_temp row_temp(const struct emit *e, const struct port *p)
{
	const struct kbuf *b;

	if (!e->rows || p->buf < 0)
		return TEMP_MEMORY;
	b = &e->k->buf[p->buf];
	if (b->kind != BUF_TEMP || !unit_makes_row(e->unit, b->number))
		return TEMP_MEMORY;
	return (enum row_temp)e->unit->row_temp[b->number];
}

/* ---- which element goes where ---- */

/* A load whose elements differ along the row: they are kept. */
int rows_kept_load(const struct kernel *k, const struct step *s)
{
	return plain_load(s, k) && !row_uniform(k, s);
}

static int same_memory(const struct kernel *a, const struct step *s, const struct kernel *b, const struct step *t)
{
	const struct port *p = &a->port[s->port], *q = &b->port[t->port];

	if (a->buf[p->buf].kind != b->buf[q->buf].kind || a->buf[p->buf].number != b->buf[q->buf].number || a->rank != b->rank ||
		a->nkept != b->nkept || p->access.off != q->access.off || s->type != t->type)
		return 0;
	for (int i = 0; i < a->rank; i++)
		if (a->extent[i] != b->extent[i] || p->access.stride[i] != q->access.stride[i])
			return 0;
	return 1;
}

/* The first kept load of the program that reads what step i of phase p reads: phase in *from, its step returned. */
int rows_owner(const struct kernel *phase, int p, int i, int *from)
{
	for (*from = 0; *from <= p; ++*from) {
		const struct code *c = &phase[*from].body;

		for (int j = 0; j < c->n && (*from < p || j < i); j++)
			if (rows_kept_load(&phase[*from], &c->step[j]) &&
				same_memory(&phase[*from], &c->step[j], &phase[p], &phase[p].body.step[i]))
				return j;
	}
	*from = p;
	return i;
}

int rows_owns(const struct kernel *phase, int p, int i)
{
	int from, step = rows_owner(phase, p, i, &from);

	return from == p && step == i;
}

/* Elements of one access that suit every port of every phase, 1 where some port cannot have vectors. */
static int rows_vector(const struct kernel *phase, int nphase)
{
	int widest = 0, narrowest = 16, vec;

	for (int p = 0; p < nphase; p++) {
		const struct kernel *k = &phase[p];

		if (!phase[0].inner || k->rank - k->nkept != 1)
			return 1;
		for (int i = 0; i < k->body.n; i++) {
			const struct step *s = &k->body.step[i];
			int bytes = tile_vector(k, s) ? tile_port_bytes(k, s) : 0;

			if (!bytes)
				continue;
			if (k->port[s->port].access.stride[k->rank - 1] != 1)
				return 1;
			widest = bytes > widest ? bytes : widest;
			narrowest = bytes < narrowest ? bytes : narrowest;
		}
	}
	if (!widest)
		return 1;
	vec = 16 / widest;
	return vec * narrowest < 4 ? 4 / narrowest : vec;
}

/* Bytes that a thread keeps for one element. */
static int element_bytes(const struct kernel *phase, int nphase, int vec)
{
	int bytes = 0;

	for (int p = 0; p < nphase; p++)
		for (int i = 0; i < phase[p].body.n; i++) {
			const struct step *s = &phase[p].body.step[i];
			int own = rows_kept_load(&phase[p], s) && rows_owns(phase, p, i), n;

			if (!own)
				continue;
			n = vec > 1 ? tile_port_bytes(&phase[p], s) : type_table[s->type].bytes;
			bytes += vec == 1 && n < 4 ? 4 : n;
		}
	return bytes;
}

static int suits(const struct row_program *r)
{
	const struct kernel *first = r->phase;

	for (int p = 0; p < r->nphase; p++) {
		const struct kernel *k = &r->phase[p];

		if (k->nmap != first->nmap || k->nreduce != first->nreduce || k->nreduce < 2 || k->nmap < 1)
			return 0;
		for (int i = 0; i < k->body.n; i++)
			if (k->body.step[i].kind == STEP_CHECK)
				return 0;
		for (int i = 0; i < k->tail.n; i++)
			if (k->tail.step[i].kind == STEP_CHECK)
				return 0;
	}
	return 1;
}

/* Lanes and unroll for that many vectors a row; words: registers for one vector. */
static void spread(struct row_shape *s, int64_t vectors, int words, int few, int some, int most)
{
	int unroll = 1;

	s->lanes = 1;
	while (s->lanes < few && s->lanes < vectors)
		s->lanes *= 2;
	while ((int64_t)s->lanes * unroll < vectors) {
		if (unroll < 4 && 2 * unroll * words <= WORDS_EASY)
			unroll *= 2;
		else if (s->lanes < some)
			s->lanes *= 2;
		else if (2 * unroll * words <= WORDS_EASY)
			unroll *= 2;
		else if (s->lanes < most)
			s->lanes *= 2;
		else if (2 * unroll * words <= WORDS)
			unroll *= 2;
		else
			return;
	}
	s->unroll = unroll * words <= WORDS ? unroll : 0;
}

struct row_shape rows_shape(const struct row_program *r)
{
	struct row_shape s = {.block = BLOCK};
	int words, steps = 0;

	if (!suits(r))
		return s;
	s.vec = rows_vector(r->phase, r->nphase);
	words = (element_bytes(r->phase, r->nphase, s.vec) * s.vec + 3) / 4;
	if (words == 0)
		words = 1;
	if (r->phase->inner)
		spread(&s, (r->phase->nreduce + s.vec - 1) / s.vec, words, FEW_LANES, SOME_LANES, MOST_LANES);
	else
		spread(&s, r->phase->nreduce, words, 1, BLOCK / STRIP, MOST_LANES / STRIP);
	s.block = r->phase->inner ? s.lanes : s.lanes * STRIP;
	s.block = s.block > BLOCK ? s.block : BLOCK;
	for (int p = 0; p < r->nphase; p++)
		steps += r->phase[p].body.n;
	if (steps * s.vec * s.unroll > COPIES)
		s.unroll = 0;
	return s;
}

