/* report.c -- what a run has to say: results as NumPy prints them, the same as JSON, types and shapes of a dry run, times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

int print_text(struct buf *b)
{
	int bad = b->failed;

	if (bad)
		complain("out of memory");
	else if (b->text)
		fputs(b->text, stdout);
	buf_free(b);
	return bad ? EXIT_MEMORY : 0;
}

int print_results(struct job *j)
{
	struct buf b = {0};
	char file[FILE_NAME];

	for (int i = 0; i < j->nout; i++) {
		if (output_path(j, i, file))
			continue;
		if (element_count(&j->out[i]) > 1000)
			array_summary(j->cpu, &j->out[i], &b);
		else
			array_text(&j->out[i], &b);
		buf_char(&b, '\n');
	}
	return print_text(&b);
}

void print_dry_run(struct job *j)
{
	char file[FILE_NAME];

	if (j->o.json)
		print_json(j);
	for (int i = 0; i < j->nout && !j->o.json && !j->o.quiet; i++) {
		const char *path = output_path(j, i, file);

		printf("%s: %s ", j->out[i].name[0] ? j->out[i].name : "(expression)", gx_dtype_name(j->out[i].dtype));
		shape_print(stdout, &j->out[i]);
		printf("%s%s\n", path ? " -> " : ", printed", path ? path : "");
	}
}

static void json_value(const gx_array *a, int axis, int64_t at, struct buf *b)
{
	char text[40];

	if (axis < a->rank) {
		buf_char(b, '[');
		for (int64_t i = 0; i < a->shape[axis]; i++) {
			buf_str(b, i ? ", " : "");
			json_value(a, axis + 1, at * a->shape[axis] + i, b);
		}
		buf_char(b, ']');
		return;
	}
	element_text(a->dtype, (const char *)a->data + (size_t)at * gx_dtype_size(a->dtype), text);
	if (!strcmp(text, "True") || !strcmp(text, "False"))
		buf_str(b, text[0] == 'T' ? "true" : "false");
	else if (strstr(text, "nan") || strstr(text, "inf"))
		buf_fmt(b, "\"%s\"", text);
	else
		buf_fmt(b, "%s%s", text, text[strlen(text) - 1] == '.' ? "0" : "");
}

static void json_output(struct job *j, int i, struct buf *b)
{
	const gx_array *a = &j->out[i];
	char file[FILE_NAME];
	const char *path = output_path(j, i, file);

	buf_str(b, i ? ", {\"name\": " : "{\"name\": ");
	buf_json(b, a->name);
	buf_fmt(b, ", \"dtype\": \"%s\", \"shape\": [", gx_dtype_name(a->dtype));
	for (int k = 0; k < a->rank; k++)
		buf_fmt(b, "%s%lld", k ? ", " : "", (long long)a->shape[k]);
	buf_char(b, ']');
	if (path) {
		buf_str(b, ", \"file\": ");
		buf_json(b, path);
	} else if (element_count(a) <= 1000 && !j->o.dry_run) {
		buf_str(b, ", \"value\": ");
		json_value(a, 0, 0, b);
	}
	buf_char(b, '}');
}

static void json_times(struct job *j, struct buf *b)
{
	const gx_cost *c = &j->cost;
	const struct { const char *name; double ms; } stage[] = {
		{"read", j->ms_read}, {"check", c->ms_check}, {"plan", c->ms_plan}, {"codegen", c->ms_codegen}, {"compile", c->ms_compile},
		{"load", c->ms_load}, {"open", j->ms_open}, {"run", j->ms_run}, {"device", j->ms_device}, {"write", j->ms_write},
	};

	buf_str(b, "{");
	for (size_t i = 0; i < sizeof stage / sizeof *stage; i++)
		buf_fmt(b, "%s\"%s\": %.3f", i ? ", " : "", stage[i].name, stage[i].ms);
	buf_char(b, '}');
}

void print_json(struct job *j)
{
	struct buf b = {0};

	buf_str(&b, "{\"version\": 1, \"device\": ");
	buf_json(&b, gx_context_note(j->on_gpu ? j->gpu : j->cpu));
	buf_str(&b, ", \"outputs\": [");
	for (int i = 0; i < j->nout; i++)
		json_output(j, i, &b);
	buf_fmt(&b, "], \"kernels\": %d, \"cached\": %d, \"bytes_read\": %lld, \"bytes_written\": %lld, \"ms\": ", j->cost.kernels,
		j->cost.cached, (long long)j->cost.bytes_read, (long long)j->cost.bytes_written);
	json_times(j, &b);
	buf_str(&b, "}\n");
	print_text(&b);
}

void print_json_error(int code)
{
	static const struct { int code; const char *kind; } kinds[] = {
		{EXIT_USAGE, "usage"}, {EXIT_FORMULA, "formula"}, {EXIT_INPUT, "input"}, {EXIT_OUTPUT, "output"}, {EXIT_DEVICE, "device"},
		{EXIT_MEMORY, "memory"},
	};
	const gx_error *e = first_error();
	const char *kind = "internal";
	struct buf b = {0};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		kind = kinds[i].code == code ? kinds[i].kind : kind;
	if (!e->message[0])
		return;   /* --doctor: its answer is printed */
	buf_fmt(&b, "{\"version\": 1, \"error\": {\"code\": %d, \"kind\": \"%s\", \"message\": ", code, kind);
	buf_json(&b, e->message);
	if (e->line)
		buf_fmt(&b, ", \"line\": %d, \"column\": %d", e->line, e->column);
	buf_str(&b, ", \"text\": ");
	buf_json(&b, e->text);
	buf_str(&b, "}}\n");
	print_text(&b);
}

void print_times(struct job *j)
{
	double bytes = (double)j->cost.bytes_read + (double)j->cost.bytes_written;

	fprintf(stderr, "read      %9.3f ms\ncheck     %9.3f ms\nplan      %9.3f ms\n", j->ms_read, j->cost.ms_check, j->cost.ms_plan);
	if (j->on_gpu) {
		fprintf(stderr, "open GPU  %9.3f ms\ncodegen   %9.3f ms\n", j->ms_open, j->cost.ms_codegen);
		fprintf(stderr, "compile   %9.3f ms  (%d kernel%s: %d cached, %d compiled)\n", j->cost.ms_compile, j->cost.kernels,
			j->cost.kernels == 1 ? "" : "s", j->cost.cached, j->cost.kernels - j->cost.cached);
		fprintf(stderr, "load      %9.3f ms\n", j->cost.ms_load);
	}
	fprintf(stderr, "run       %9.3f ms", j->ms_run);
	if (j->on_gpu)
		fprintf(stderr, "  (kernels %.3f ms, %.1f GB/s)", j->ms_device, j->ms_device > 0 ? bytes / j->ms_device * 1e-6 : 0);
	else
		fprintf(stderr, "  (%.1f GB/s)", j->ms_run > 0 ? bytes / j->ms_run * 1e-6 : 0);
	fprintf(stderr, "\nwrite     %9.3f ms\n", j->ms_write);
}

int print_stage(struct job *j, const char *stage)
{
	char *text;
	gx_error err;
	struct buf b = {0};

	if (gx_program_dump(j->on_gpu ? j->gpu : j->cpu, j->on_gpu ? j->pgpu : j->p, stage, &text, &err))
		return failed(&err);
	if (j->o.json && j->o.emit) {
		buf_fmt(&b, "{\"version\": 1, \"stage\": \"%s\", \"text\": ", stage);
		buf_json(&b, text);
		buf_str(&b, "}\n");
	} else {
		buf_str(&b, text);
	}
	free(text);
	return print_text(&b);
}

