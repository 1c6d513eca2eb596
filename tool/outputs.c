/* outputs.c -- where the results of a program go: names checked and paths opened before anything runs, memory for all of them, then
 * everything is written, and only then everything is published. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/number.h"
#include "tool/tool.h"

const char *output_path(const struct job *j, int i, char file[FILE_NAME])
{
	const char *name = j->out[i].name;

	for (int k = 0; k < j->o.noutput; k++)
		if (j->o.output[k].name ? !strcmp(j->o.output[k].name, name) : j->nout == 1)
			return j->o.output[k].value;
	if (!name[0])
		return NULL;   /* printed */
	snprintf(file, FILE_NAME, "%s.npy", name);
	return file;
}

static int to_stdout(const struct job *j, int i)
{
	char file[FILE_NAME];
	const char *path = output_path(j, i, file);

	return path && path[0] == '-' && (!path[1] || path[1] == '.');
}

/* Is there an output for this -o? */
static int check_option(const struct job *j, int k)
{
	const struct pair *p = &j->o.output[k];
	struct suggestion s = {.wanted = p->name};

	if (!p->name && j->nout == 1)
		return 0;
	if (!p->name) {
		complain("-o %s: the program has %d outputs; write -o name=path", p->value, j->nout);
		return EXIT_USAGE;
	}
	for (int i = 0; i < j->nout; i++) {
		if (j->out[i].name[0] && !strcmp(p->name, j->out[i].name))
			return 0;
		diag_suggest(&s, j->out[i].name);
	}
	complain("-o %s=%s: the program has no output `%s`%s%s%s", p->name, p->value, p->name, s.best ? "; did you mean `" : "",
		s.best ? s.best : "", s.best ? "`?" : "");
	return EXIT_USAGE;
}

/* Standard output holds one thing. */
static int check_stdout(const struct job *j)
{
	int first = -1, printed = 0;

	for (int i = 0; i < j->nout; i++) {
		char file[FILE_NAME];

		printed |= !output_path(j, i, file);
		if (!to_stdout(j, i))
			continue;
		if (first >= 0) {
			complain("two outputs go to standard output: %s and %s", j->out[first].name, j->out[i].name);
			return EXIT_USAGE;
		}
		first = i;
	}
	if (first >= 0 && (printed || j->o.json)) {
		complain("standard output cannot hold both %s and the array that -o sends there", j->o.json ? "--json" : "printed results");
		return EXIT_USAGE;
	}
	return 0;
}

static int open_output(struct job *j, int i)
{
	char file[FILE_NAME];
	const char *path = output_path(j, i, file);
	gx_error err;

	if (!path)
		return 0;
	if (path == file && strlen(j->out[i].name) + 5 > FILE_NAME) {
		complain("the name of an output is too long for a file name");
		return EXIT_OUTPUT;
	}
	if (!strcmp(path, "-") && isatty(1) && !j->o.force && !j->o.dry_run) {
		complain("refusing to write a binary file to a terminal; redirect it, or use -o -.csv");
		return EXIT_OUTPUT;
	}
	if (output_open(path, j->o.force, &j->file[i], &err)) {
		failed(&err);
		return err.status == GX_NOMEM ? EXIT_MEMORY : err.status == GX_ARG ? EXIT_USAGE : EXIT_OUTPUT;
	}
	j->is_file[i] = 1;
	return 0;
}

static int check_twice(const struct job *j)
{
	for (int i = 0; i < j->nout; i++)
		for (int k = 0; k < i; k++)
			if (j->is_file[i] && j->is_file[k] && j->file[i].path && j->file[k].path && !strcmp(j->file[i].path, j->file[k].path)) {
				complain("two outputs go to %s", j->file[i].shown);
				return EXIT_USAGE;
			}
	return 0;
}

/* ---- memory ---- */

/* Bytes that this process can ever have, and why no more; asked because malloc promises what is not there. */
static double memory_here(const char **why)
{
	static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
	struct sysinfo s;
	struct rlimit r;
	double most = sysinfo(&s) ? 1e30 : ((double)s.totalram + (double)s.totalswap) * s.mem_unit;

	*why = "this machine has";
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		FILE *f = fopen(limits[i], "r");
		double v;

		if (f && fscanf(f, "%lf", &v) == 1 && v > 0 && v < most)
			most = v;
		if (f)
			fclose(f);
	}
	if (getrlimit(RLIMIT_AS, &r) || r.rlim_cur == RLIM_INFINITY || (double)r.rlim_cur >= most)
		return most;
	*why = "ulimit -v allows";
	return (double)r.rlim_cur;
}

static double bytes_of(const gx_array *a)
{
	return (double)element_count(a) * (double)gx_dtype_size(a->dtype);
}

static int too_large(const gx_array *a)
{
	char need[32], have[32];
	const char *why;
	double here = memory_here(&why);

	complain("out of memory: %s%s needs %s (%s, %lld elements); %s %s", a->name[0] ? "the output " : "the result", a->name,
		number_bytes(bytes_of(a), need), gx_dtype_name(a->dtype), (long long)element_count(a), why, number_bytes(here, have));
	return EXIT_MEMORY;
}

/* Could all outputs be held at once? */
static int check_memory(const struct job *j)
{
	const char *why;
	double here = memory_here(&why), all = 0;

	for (int i = 0; i < j->nout; i++)
		if ((all += bytes_of(&j->out[i])) > here)
			return too_large(&j->out[i]);
	return 0;
}

int outputs_describe(struct job *j)
{
	while (gx_formula_output(j->f, j->nout))
		j->nout++;
	j->out = calloc((size_t)j->nout + 1, sizeof *j->out);
	j->file = calloc((size_t)j->nout + 1, sizeof *j->file);
	j->is_file = calloc((size_t)j->nout + 1, 1);
	if (!j->out || !j->file || !j->is_file) {
		complain("out of memory");
		return EXIT_MEMORY;
	}
	for (int i = 0; i < j->nout; i++)
		gx_program_output(j->p, i, &j->out[i]);
	return 0;
}

int outputs_open(struct job *j)
{
	int rc = 0;

	for (int k = 0; k < j->o.noutput && !rc; k++)
		rc = check_option(j, k);
	rc = rc ? rc : check_stdout(j);
	for (int i = 0; i < j->nout && !rc; i++)
		rc = open_output(j, i);
	rc = rc ? rc : check_twice(j);
	return rc ? rc : check_memory(j);
}

int outputs_allocate(struct job *j, gx_array *out)
{
	gx_error err;

	for (int i = 0; i < j->nout; i++)
		if (gx_alloc_host(j->cpu, (size_t)element_count(&out[i]) * gx_dtype_size(out[i].dtype), &out[i].data, &err))
			return too_large(&out[i]);
	return 0;
}

/* ---- writing ---- */

static void say_written(const struct job *j, int i)
{
	const gx_array *a = &j->out[i];
	char file[FILE_NAME];

	if (!j->o.verbose && (j->o.quiet || !isatty(2)))
		return;
	fprintf(stderr, "wrote %s: %s ", to_stdout(j, i) ? "to standard output" : output_path(j, i, file), gx_dtype_name(a->dtype));
	shape_print(stderr, a);
	fputc('\n', stderr);
}

static int not_written(const gx_error *err, const struct output *o)
{
	if (!o->path && reader_gone())
		return EXIT_PIPE;   /* as any filter: quietly */
	failed(err);
	return err->status == GX_NOMEM ? EXIT_MEMORY : EXIT_OUTPUT;
}

int outputs_write(struct job *j)
{
	double t = now_ms();
	gx_error err;

	for (int i = 0; i < j->nout; i++)
		if (j->is_file[i] && output_write(&j->file[i], &j->out[i], &err))
			return not_written(&err, &j->file[i]);
	for (int i = 0; i < j->nout; i++) {
		if (!j->is_file[i])
			continue;
		j->is_file[i] = 0;
		if (output_commit(&j->file[i], &err)) {
			failed(&err);
			return EXIT_OUTPUT;
		}
		say_written(j, i);
	}
	j->ms_write = now_ms() - t;
	return 0;
}

void outputs_abandon(struct job *j)
{
	for (int i = 0; i < j->nout && j->is_file; i++)
		if (j->is_file[i])
			output_abandon(&j->file[i]);
}
