/* main.c -- the gpuexpr command: parse, bind, choose a device, run, write everything, then publish everything. Results go to standard output,
 * talk to standard error. Nothing is written before all outputs were checked, and nothing is published before all were written. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool/tool.h"

double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void complain(const char *fmt, ...)
{
	va_list ap;

	fputs("gpuexpr: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int exit_code(gx_status s)
{
	switch ((int)s) {
	case GX_OK:
		return EXIT_OK;
	case GX_ARG:
		return EXIT_USAGE;
	case GX_NOMEM:
		return EXIT_MEMORY;
	case GX_DEVICE:
	case GX_COMPILER:
		return EXIT_DEVICE;
	case GX_IO:
		return EXIT_INPUT;
	case GX_INTERNAL:
		return EXIT_BUG;
	default:
		return EXIT_FORMULA;
	}
}

static int failed(const gx_error *err)
{
	fprintf(stderr, "%s%s\n", err->line ? "" : "gpuexpr: ", err->text);
	return exit_code(err->status);
}

/* ---- a run ---- */

struct job {
	struct options o;
	char *text;
	gx_formula *f;
	gx_context *cpu, *gpu;
	gx_program *p, *pgpu;
	struct input *in; int nin;
	gx_array *inputs;
	gx_array *out; int nout;
	struct output *file; char *is_file;   /* per output */
	int nfile;
	gx_cost cost;
	double ms_read, ms_open, ms_run, ms_write, ms_device;
	int on_gpu;
};

static int read_program(struct job *j)
{
	struct buf b = {0};
	char chunk[65536];
	ssize_t n;
	int fd;

	if (!j->o.file) {
		j->text = strdup(j->o.program);
		return j->text ? 0 : EXIT_MEMORY;
	}
	fd = strcmp(j->o.file, "-") ? open(j->o.file, O_RDONLY | O_CLOEXEC) : 0;
	if (fd < 0) {
		complain("cannot read the program: %s: %s", j->o.file, strerror(errno));
		return EXIT_INPUT;
	}
	while ((n = read(fd, chunk, sizeof chunk)) > 0)
		buf_put(&b, chunk, (size_t)n);
	if (fd)
		close(fd);
	if (n < 0) {
		complain("cannot read the program: %s: %s", j->o.file, strerror(errno));
		buf_free(&b);
		return EXIT_INPUT;
	}
	j->text = buf_take(&b);
	return j->text ? 0 : EXIT_MEMORY;
}

static int parse(struct job *j)
{
	gx_error err;

	if (gx_parse(j->text, strlen(j->text), j->o.file ? (strcmp(j->o.file, "-") ? j->o.file : "<stdin>") : NULL, &j->f, &err))
		return failed(&err);
	if (gx_formula_warnings(j->f) && !j->o.quiet)
		fprintf(stderr, "%s\n", gx_formula_warnings(j->f));
	return 0;
}

static gx_options library_options(const struct options *o, int device)
{
	gx_options opt = {.size = sizeof opt, .device = device, .math = o->math, .threads = o->threads, .no_cache = o->no_cache, .arch = o->arch};

	return opt;
}

static int bind(struct job *j)
{
	double t = now_ms();
	int rc = inputs_bind(&j->o, j->f, &j->in, &j->nin);

	j->inputs = calloc((size_t)j->nin + 1, sizeof *j->inputs);
	if (!rc && !j->inputs) {
		complain("out of memory");
		return EXIT_MEMORY;
	}
	for (int i = 0; i < j->nin && !rc; i++)
		j->inputs[i] = j->in[i].array;
	j->ms_read = now_ms() - t;
	return rc;
}

static int compile(struct job *j)
{
	gx_options opt = library_options(&j->o, GX_DEVICE_CPU);
	gx_error err;

	if (gx_open(&opt, &j->cpu, &err) || gx_compile(j->cpu, j->f, j->inputs, j->nin, &j->p, &err))
		return failed(&err);
	gx_program_cost(j->p, &j->cost);
	return 0;
}

/* Seconds of the CPU against start-up, copies and kernels of a GPU; figures from bench/ and PERFORMANCE.md, rounded. */
static int gpu_pays(struct job *j)
{
	double bytes = (double)j->cost.bytes_read + (double)j->cost.bytes_written;
	long cores = j->o.threads ? j->o.threads : sysconf(_SC_NPROCESSORS_ONLN);
	double memory = bytes / (cores > 8 ? 40e6 : 5e6 * (double)cores), work = j->cost.operations / (1e7 * (double)cores);
	double cpu = memory > work ? memory : work, gpu = 280 + bytes / 1e7 + j->cost.operations / 1e10;

	if (j->o.verbose)
		fprintf(stderr, "auto: about %.1f ms on the CPU, %.0f ms on a GPU (280 ms of it start-up and exit): %s\n", cpu, gpu,
			cpu > gpu ? "trying the GPU" : "using the CPU");
	return cpu > gpu;
}

static int open_gpu(struct job *j, int device)
{
	gx_options opt = library_options(&j->o, device);
	gx_error err;
	double t = now_ms();

	if (gx_open(&opt, &j->gpu, &err) || (j->ms_open = now_ms() - t, gx_compile(j->gpu, j->f, j->inputs, j->nin, &j->pgpu, &err))) {
		if (j->o.forced_cuda || j->o.verify) {
			failed(&err);
			return err.status == GX_NOMEM ? EXIT_MEMORY : err.status == GX_INTERNAL ? EXIT_BUG : EXIT_DEVICE;
		}
		if (j->o.verbose)
			fprintf(stderr, "using the CPU: %s\n", err.message);
		gx_close(j->gpu);
		j->gpu = NULL;
		return 0;
	}
	j->on_gpu = 1;
	gx_program_cost(j->pgpu, &j->cost);
	return 0;
}

static int choose_device(struct job *j)
{
	int rc = 0;

	if (j->o.forced_cuda || j->o.verify)
		rc = open_gpu(j, j->o.device >= 0 ? j->o.device : 0);
	else if (j->o.device == DEVICE_AUTO && gpu_pays(j))
		rc = open_gpu(j, 0);
	if (!rc && j->o.verbose)
		fprintf(stderr, "device: %s\n", gx_context_note(j->on_gpu ? j->gpu : j->cpu));
	return rc;
}

/* ---- outputs ---- */

static const char *named_output(const struct options *o, const char *name, int alone)
{
	for (int i = 0; i < o->noutput; i++)
		if (o->output[i].name ? !strcmp(o->output[i].name, name) : alone)
			return o->output[i].value;
	return NULL;
}

static int check_output_options(struct job *j)
{
	for (int i = 0; i < j->o.noutput; i++) {
		const char *name;
		int known = j->o.output[i].name == NULL && j->nout == 1;

		for (int k = 0; (name = gx_formula_output(j->f, k)) && !known; k++)
			known = j->o.output[i].name && !strcmp(name, j->o.output[i].name);
		if (known)
			continue;
		if (j->o.output[i].name)
			complain("-o %s=%s: the program has no output `%s`", j->o.output[i].name, j->o.output[i].value, j->o.output[i].name);
		else
			complain("-o %s: the program has %d outputs; write -o name=path", j->o.output[i].value, j->nout);
		return EXIT_USAGE;
	}
	return 0;
}

static int open_output(struct job *j, int i)
{
	const char *name = j->out[i].name, *path = named_output(&j->o, name, j->nout == 1);
	char file[300];
	gx_error err;

	if (!path && !name[0])
		return 0;   /* printed */
	if (!path) {
		if (snprintf(file, sizeof file, "%s.npy", name) >= (int)sizeof file) {
			complain("the name of an output is too long for a file name");
			return EXIT_OUTPUT;
		}
		path = file;
	}
	if (!strcmp(path, "-") && isatty(1) && !j->o.force) {
		complain("refusing to write a binary file to a terminal; redirect it, or use -o -.csv");
		return EXIT_OUTPUT;
	}
	if (output_open(path, j->o.force, &j->file[i], &err)) {
		fprintf(stderr, "gpuexpr: %s\n", err.text);
		return err.status == GX_NOMEM ? EXIT_MEMORY : EXIT_OUTPUT;
	}
	j->is_file[i] = 1;
	j->nfile++;
	return 0;
}

static int plan_outputs(struct job *j)
{
	int rc = 0;

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
	rc = check_output_options(j);
	for (int i = 0; i < j->nout && !rc && !j->o.dry_run; i++)
		rc = open_output(j, i);
	for (int i = 0; i < j->nout && !rc; i++)
		for (int k = 0; k < i && !rc; k++)
			if (j->is_file[i] && j->is_file[k] && j->file[i].path && j->file[k].path && !strcmp(j->file[i].path, j->file[k].path)) {
				complain("two outputs go to %s", j->file[i].shown);
				rc = EXIT_USAGE;
			}
	return rc;
}

static int allocate(struct job *j, gx_array *out)
{
	gx_error err;

	for (int i = 0; i < j->nout; i++) {
		size_t bytes = (size_t)element_count(&out[i]) * gx_dtype_size(out[i].dtype);

		if (gx_alloc_host(j->cpu, bytes, &out[i].data, &err)) {
			complain("out of memory: the output %s needs %zu bytes", out[i].name[0] ? out[i].name : "(expression)", bytes);
			return EXIT_MEMORY;
		}
	}
	return 0;
}

static int run(struct job *j, gx_context *ctx, const gx_program *p, gx_array *out)
{
	gx_error err;
	double t = now_ms();

	if (gx_run(ctx, p, j->inputs, j->nin, out, j->nout, NULL, &err))
		return failed(&err);
	j->ms_run = now_ms() - t;
	j->ms_device = gx_last_ms(ctx);
	return 0;
}

static int write_outputs(struct job *j)
{
	double t = now_ms();
	gx_error err;

	for (int i = 0; i < j->nout; i++)
		if (j->is_file[i] && output_write(&j->file[i], &j->out[i], &err)) {
			fprintf(stderr, "gpuexpr: %s\n", err.text);
			return err.status == GX_NOMEM ? EXIT_MEMORY : EXIT_OUTPUT;
		}
	for (int i = 0; i < j->nout; i++) {
		if (!j->is_file[i])
			continue;
		j->is_file[i] = 0;
		if (output_commit(&j->file[i], &err)) {
			fprintf(stderr, "gpuexpr: %s\n", err.text);
			return EXIT_OUTPUT;
		}
		if (j->o.verbose || (isatty(2) && !j->o.quiet)) {
			const char *path = named_output(&j->o, j->out[i].name, j->nout == 1);

			fprintf(stderr, "wrote %s%s (%s", path ? path : j->out[i].name, path ? "" : ".npy", gx_dtype_name(j->out[i].dtype));
			for (int k = 0; k < j->out[i].rank; k++)
				fprintf(stderr, "%s%lld", k ? "x" : ", ", (long long)j->out[i].shape[k]);
			fputs(")\n", stderr);
		}
	}
	j->ms_write = now_ms() - t;
	return 0;
}

/* ---- what is printed ---- */

static int print_bare(struct job *j)
{
	struct buf b = {0};

	for (int i = 0; i < j->nout; i++) {
		if (j->out[i].name[0] || named_output(&j->o, "", j->nout == 1))
			continue;
		if (element_count(&j->out[i]) > 1000)
			array_summary(j->cpu, &j->out[i], &b);
		else
			array_text(&j->out[i], &b);
		buf_char(&b, '\n');
	}
	if (b.text)
		fputs(b.text, stdout);
	buf_free(&b);
	return 0;
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

static void print_json(struct job *j)
{
	struct buf b = {0};

	buf_str(&b, "{\"version\": 1, \"device\": ");
	buf_json(&b, gx_context_note(j->on_gpu ? j->gpu : j->cpu));
	buf_str(&b, ", \"outputs\": [");
	for (int i = 0; i < j->nout; i++) {
		const gx_array *a = &j->out[i];
		const char *path = named_output(&j->o, a->name, j->nout == 1);
		char file[300];

		snprintf(file, sizeof file, "%s.npy", a->name);
		buf_str(&b, i ? ", {\"name\": " : "{\"name\": ");
		buf_json(&b, a->name);
		buf_fmt(&b, ", \"dtype\": \"%s\", \"shape\": [", gx_dtype_name(a->dtype));
		for (int k = 0; k < a->rank; k++)
			buf_fmt(&b, "%s%lld", k ? ", " : "", (long long)a->shape[k]);
		buf_str(&b, "]");
		if (path || a->name[0]) {
			buf_str(&b, ", \"file\": ");
			buf_json(&b, path ? path : file);
		} else if (element_count(a) <= 1000) {
			buf_str(&b, ", \"value\": ");
			json_value(a, 0, 0, &b);
		}
		buf_char(&b, '}');
	}
	buf_fmt(&b, "], \"kernels\": %d, \"cached\": %d, \"bytes_read\": %lld, \"bytes_written\": %lld, \"ms\": {\"read\": %.3f, \"check\": %.3f, \"plan\": %.3f, "
		"\"codegen\": %.3f, \"compile\": %.3f, \"load\": %.3f, \"open\": %.3f, \"run\": %.3f, \"device\": %.3f, \"write\": %.3f}}\n",
		j->cost.kernels, j->cost.cached, (long long)j->cost.bytes_read, (long long)j->cost.bytes_written, j->ms_read, j->cost.ms_check,
		j->cost.ms_plan, j->cost.ms_codegen, j->cost.ms_compile, j->cost.ms_load, j->ms_open, j->ms_run, j->ms_device, j->ms_write);
	if (b.text)
		fputs(b.text, stdout);
	buf_free(&b);
}

static void print_times(struct job *j)
{
	double bytes = (double)j->cost.bytes_read + (double)j->cost.bytes_written;

	fprintf(stderr, "read      %9.3f ms\ncheck     %9.3f ms\nplan      %9.3f ms\n", j->ms_read, j->cost.ms_check, j->cost.ms_plan);
	if (j->on_gpu) {
		fprintf(stderr, "open GPU  %9.3f ms\ncodegen   %9.3f ms\n", j->ms_open, j->cost.ms_codegen);
		fprintf(stderr, "compile   %9.3f ms  (%d kernel%s: %d cached, %d compiled)\nload      %9.3f ms\n", j->cost.ms_compile, j->cost.kernels,
			j->cost.kernels == 1 ? "" : "s", j->cost.cached, j->cost.kernels - j->cost.cached, j->cost.ms_load);
	}
	fprintf(stderr, "run       %9.3f ms", j->ms_run);
	if (j->on_gpu)
		fprintf(stderr, "  (kernels %.3f ms, %.1f GB/s)", j->ms_device, j->ms_device > 0 ? bytes / j->ms_device * 1e-6 : 0);
	else
		fprintf(stderr, "  (%.1f GB/s)", j->ms_run > 0 ? bytes / j->ms_run * 1e-6 : 0);
	fprintf(stderr, "\nwrite     %9.3f ms\n", j->ms_write);
}

static int print_stage(struct job *j, const char *stage)
{
	char *text;
	gx_error err;

	if (gx_program_dump(j->on_gpu ? j->gpu : j->cpu, j->on_gpu ? j->pgpu : j->p, stage, &text, &err))
		return err.status == GX_ARG ? (complain("%s", err.message), EXIT_USAGE) : failed(&err);
	fputs(text, stdout);
	free(text);
	return 0;
}

/* ---- --verify ---- */

static int verify(struct job *j)
{
	gx_array *second = calloc((size_t)j->nout + 1, sizeof *second);
	int rc = second ? 0 : EXIT_MEMORY, different = 0;

	for (int i = 0; i < j->nout && !rc; i++)
		second[i] = j->out[i];
	rc = rc ? rc : allocate(j, second);
	rc = rc ? rc : run(j, j->cpu, j->p, second);
	for (int i = 0; i < j->nout && !rc; i++) {
		struct buf b = {0};

		different |= compare_arrays(&j->out[i], &second[i], &b) > 0;
		fprintf(stderr, "verify %s: GPU and CPU: %s\n", j->out[i].name[0] ? j->out[i].name : "(expression)", b.text ? b.text : "");
		buf_free(&b);
	}
	for (int i = 0; i < j->nout && second; i++)
		gx_free(j->cpu, GX_PLACE_HOST, second[i].data);
	free(second);
	(void)different;   /* functions may differ within their bound: it is a report, not a verdict */
	return rc;
}

/* ---- from start to end ---- */

static int everything(struct job *j)
{
	int rc = read_program(j);

	rc = rc ? rc : parse(j);
	rc = rc ? rc : bind(j);
	rc = rc ? rc : compile(j);
	if (!rc && j->o.emit)
		return print_stage(j, j->o.emit);
	if (!rc && j->o.explain && j->o.json)
		return print_stage(j, "json");
	if (!rc && j->o.explain)
		rc = print_stage(j, "explain");
	rc = rc ? rc : plan_outputs(j);
	if (rc || j->o.dry_run || j->o.explain)
		return rc;
	rc = choose_device(j);
	rc = rc ? rc : allocate(j, j->out);
	rc = rc ? rc : run(j, j->on_gpu ? j->gpu : j->cpu, j->on_gpu ? j->pgpu : j->p, j->out);
	rc = rc || !j->o.verify ? rc : verify(j);
	rc = rc ? rc : write_outputs(j);
	if (rc)
		return rc;
	if (j->o.json)
		print_json(j);
	else
		print_bare(j);
	if (j->o.time && !j->o.json)
		print_times(j);
	return 0;
}

static int tables(const struct options *o)
{
	gx_options opt = library_options(o, o->device);
	gx_status s;
	char *text = NULL;
	gx_error err;

	if (o->doctor) {
		s = gx_doctor(&opt, o->json, &text, &err);
		if (text)
			fputs(text, stdout);
		free(text);
		return s ? EXIT_DEVICE : 0;
	}
	if (o->ops)
		s = gx_ops_table(&text, &err);
	else if (o->devices)
		s = gx_devices(&text, &err);
	else
		s = gx_cache(&opt, o->cache, &text, &err);
	if (s) {
		fprintf(stderr, "gpuexpr: %s\n", err.text);
		return s == GX_IO ? EXIT_OUTPUT : exit_code(s);
	}
	fputs(text, stdout);
	free(text);
	return 0;
}

static void on_signal(int sig)
{
	output_abandon_all();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* A closed standard stream would be reused by the first file that is opened. */
static void fill_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0) {
			int got = open("/dev/null", fd ? O_RDONLY : O_WRONLY);   /* the wrong way round: use of it fails */

			if (got >= 0 && got != fd) {
				dup2(got, fd);
				close(got);
			}
		}
}

/* Leave at once, outputs are safe: tearing a GPU context down takes longer than most programs run. */
static void leave(int rc)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (!rc)
			complain("cannot write to standard output: %s", strerror(errno));
		rc = rc ? rc : EXIT_OUTPUT;
	}
	fflush(stderr);
	_exit(rc);
}

int main(int argc, char **argv)
{
	static struct job j;
	int rc;

	fill_streams();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGHUP, on_signal);
	rc = options_parse(&j.o, argc, argv);
	if (rc)
		leave(rc);
	if (j.o.help) {
		help_long();
		leave(0);
	}
	if (j.o.version) {
		printf("gpuexpr %s\n", gx_version());
		leave(0);
	}
	if (j.o.ops || j.o.devices || j.o.doctor || j.o.cache)
		leave(tables(&j.o));
	if (!j.o.program && !j.o.file) {
		help_short();
		leave(EXIT_USAGE);
	}
	rc = everything(&j);
	for (int i = 0; i < j.nout && j.is_file; i++)
		if (j.is_file[i])
			output_abandon(&j.file[i]);
	leave(rc);
}
