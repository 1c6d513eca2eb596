/* plan_print.c -- a plan as text: the exact form for goldens, and the explanation for people. */
#include <string.h>

#include "base/number.h"
#include "ir/plan.h"

static void name_of(const struct plan *p, const struct kbuf *b, struct buf *out)
{
	const char *name = b->kind == BUF_INPUT ? p->input[b->number].name : b->kind == BUF_OUTPUT ? p->output[b->number].name : NULL;

	if (b->kind == BUF_TEMP)
		buf_fmt(out, "t%d", b->number);
	else if (name && name[0])
		buf_escaped(out, name, strlen(name));
	else
		buf_str(out, "-");
}

static void print_access(const struct access *a, int rank, struct buf *b)
{
	buf_char(b, '[');
	if (a->off)
		buf_fmt(b, "%lld", (long long)a->off);
	for (int k = 0; k < rank; k++)
		if (a->stride[k])
			buf_fmt(b, "%s%lld*i%d", k || a->off ? " + " : "", (long long)a->stride[k], k);
	buf_char(b, ']');
}

static void print_port(const struct plan *p, const struct kernel *k, const struct port *port, struct buf *b)
{
	if (port->buf >= 0) {
		buf_char(b, ' ');
		name_of(p, &k->buf[port->buf], b);
	}
	print_access(&port->access, port_rank(k, port), b);
	for (int i = 0; i < port->ngather; i++)
		buf_fmt(b, " + %%%u*%lld", port->gather[i].value, (long long)port->gather[i].stride);
}

static void print_bits(const struct step *s, struct buf *b)
{
	char text[40];
	double d;
	float f;

	if (s->type == GX_FLOAT64 || s->type == GX_FLOAT32) {
		memcpy(&d, &s->bits, sizeof d);
		memcpy(&f, &s->bits, sizeof f);
		number_text(s->type == GX_FLOAT64 ? d : (double)f, text);
		buf_fmt(b, " %s", text);
	} else if (type_has((gx_dtype)s->type, C_SINT)) {
		int shift = 64 - 8 * type_table[s->type].bytes;

		buf_fmt(b, " %lld", (long long)(s->bits << shift) >> shift);
	} else {
		buf_fmt(b, " %llu", (unsigned long long)s->bits);
	}
}

static void print_code(const struct plan *p, const struct kernel *k, const struct code *c, struct buf *b)
{
	static const char *const kinds[] = {"const", "range", "load", "", "cast", "store", "fold", "result", "check"};

	for (int i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];

		buf_str(b, "    ");
		if (s->kind != STEP_STORE && s->kind != STEP_FOLD && s->kind != STEP_CHECK)
			buf_fmt(b, "%%%d = ", i);
		buf_fmt(b, "%s.%s", s->kind == STEP_OP ? op_table[s->op].name : kinds[s->kind],
			type_table[s->kind == STEP_OP ? step_type(c, s) : (gx_dtype)s->type].abbr);
		if (s->kind == STEP_FOLD || s->kind == STEP_RESULT)
			buf_fmt(b, " %s#%d", red_table[k->fold[s->index].red].name, s->index);
		for (int j = 0; j < s->nargs; j++)
			buf_fmt(b, "%s %%%u", j ? "," : "", s->arg[j]);
		if (s->kind == STEP_CONST)
			print_bits(s, b);
		if (s->by_arg)
			buf_str(b, " (argument)");
		if (s->kind == STEP_IOTA || s->kind == STEP_LOAD || s->kind == STEP_STORE)
			print_port(p, k, &k->port[s->port], b);
		buf_char(b, '\n');
	}
}

static void print_extents(const struct kernel *k, struct buf *b)
{
	for (int a = 0; a < k->rank; a++)
		buf_fmt(b, "%s%s%lld", a == k->nkept ? (a ? " | " : "| ") : a ? " x " : "", "", (long long)k->extent[a]);
	if (k->rank == 0)
		buf_str(b, "one point");
}

void plan_print(const struct plan *p, struct buf *b)
{
	for (int i = 0; i < p->ntemp; i++)
		buf_fmt(b, "t%d: %s, %lld elements, kernels %d to %d\n", i, type_table[p->temp[i].mem].name, (long long)p->temp[i].count,
			p->temp[i].first, p->temp[i].last);
	for (int i = 0; i < p->nkernel; i++) {
		const struct kernel *k = &p->kernel[i];

		buf_fmt(b, "kernel %d: %s%s over ", i, k->scans ? "scan" : k->reduces ? "reduction" : "map",
			!k->reduces ? "" : k->inner ? " (inner)" : " (outer)");
		print_extents(k, b);
		buf_fmt(b, ", %s offsets\n", k->wide ? "64-bit" : "32-bit");
		print_code(p, k, &k->body, b);
		if (k->reduces) {
			buf_str(b, "  tail\n");
			print_code(p, k, &k->tail, b);
		}
	}
	for (int i = 0; i < p->nrow; i++) {
		buf_str(b, "row program: kernels");
		for (int k = 0; k < p->row[i].nphase; k++)
			buf_fmt(b, " %d", p->row[i].kernel[k]);
		buf_char(b, '\n');
	}
}

static void bytes_text(double n, struct buf *b)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	int u = 0;

	for (; n >= 1024 && u < 4; u++)
		n /= 1024;
	if (u)
		buf_fmt(b, "%d.%d %s", (int)n, (int)(n * 10) % 10, unit[u]);
	else
		buf_fmt(b, "%d B", (int)n);
}

static void explain_kernel(const struct plan *p, int number, struct buf *b)
{
	const struct kernel *k = &p->kernel[number];
	int seen;

	buf_fmt(b, "kernel %d: ", number + 1);
	if (k->reduces) {
		for (int f = 0; f < k->nfold; f++)
			buf_fmt(b, "%s%s", f ? ", " : "", red_table[k->fold[f].red].name);
		buf_fmt(b, k->scans ? ", every step, of %lld element%s in each of %lld row%s" : " of %lld element%s for each of %lld result%s",
			(long long)k->nreduce, k->nreduce == 1 ? "" : "s", (long long)k->nmap, k->nmap == 1 ? "" : "s");
	} else {
		buf_fmt(b, "elementwise over %lld point%s", (long long)k->nmap, k->nmap == 1 ? "" : "s");
	}
	buf_str(b, "\n  computes  ");
	buf_escaped(b, k->title, strlen(k->title));
	for (int w = 0; w < 2; w++) {
		buf_str(b, w ? "\n  writes    " : "\n  reads     ");
		seen = 0;
		for (int i = 0; i < k->nbuf; i++) {
			double most = 0;

			if (k->buf[i].written != w)
				continue;
			for (int j = 0; j < k->nport; j++) {
				double n = type_table[k->buf[i].mem].bytes;

				if (k->port[j].buf != i)
					continue;
				for (int a = 0; a < k->rank; a++)
					n *= k->port[j].access.stride[a] ? (double)k->extent[a] : 1;
				most = n > most ? n : most;
			}
			buf_str(b, seen++ ? ", " : "");
			name_of(p, &k->buf[i], b);
			buf_fmt(b, " (%s, ", type_table[k->buf[i].mem].name);
			bytes_text(most, b);
			buf_char(b, ')');
		}
		if (!seen)
			buf_str(b, "nothing");
	}
	buf_fmt(b, "\n  collapses to %d ax%s, %s offsets", k->rank, k->rank == 1 ? "is" : "es", k->wide ? "64-bit" : "32-bit");
	if (k->scans && k->tail.n > 2)
		buf_str(b, "; what follows the scan over the same points is in the same kernel");
	else if (k->reduces && !k->scans && k->tail.n)
		buf_str(b, "; what follows the reduction over the kept points is in the same kernel");
	buf_char(b, '\n');
}

void plan_explain(const struct plan *p, struct buf *b)
{
	buf_fmt(b, "%d kernel%s, reads ", p->nkernel, p->nkernel == 1 ? "" : "s");
	bytes_text((double)p->bytes_read, b);
	buf_str(b, " of inputs, writes ");
	bytes_text((double)p->bytes_written, b);
	buf_fmt(b, " of outputs, about %.0f operations\n", p->operations);
	for (int i = 0; i < p->nkernel; i++)
		explain_kernel(p, i, b);
	if (p->nkernel > 1)
		buf_str(b, "separate kernels: a later one needs all of an earlier one's result, or has another domain\n");
	for (int i = 0; i < p->nrow; i++) {
		buf_str(b, "kernels");
		for (int k = 0; k < p->row[i].nphase; k++)
			buf_fmt(b, "%s%d", k ? ", " : " ", p->row[i].kernel[k] + 1);
		buf_str(b, " need of each other only their own row's results: a GPU runs them as one where a row fits in a block's registers\n");
	}
}
