/* main.c -- the gpuexpr command: parse, bind, choose a device, run, write everything, then publish everything. Results go to
 * standard output, talk to standard error. Nothing is written before all outputs were checked, and nothing is published
 * before all were written. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/tool.h"

double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static gx_error first;

const gx_error *first_error(void)
{
	return &first;
}

void complain(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(stderr, "gpuexpr: %s\n", text);
	if (!first.message[0]) {
		snprintf(first.message, sizeof first.message, "%.*s", (int)sizeof first.message - 1, text);
		snprintf(first.text, sizeof first.text, "%s", text);
	}
}

static int exit_code(gx_status s)
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

int failed(const gx_error *err)
{
	if (!first.message[0])
		first = *err;
	fprintf(stderr, "%s%s\n", err->line ? "" : "gpuexpr: ", err->text);
	return exit_code(err->status);
}

void shape_print(FILE *f, const gx_array *a)
{
	fputc('(', f);
	for (int k = 0; k < a->rank; k++)
		fprintf(f, "%s%lld", k ? ", " : "", (long long)a->shape[k]);
	fputs(a->rank == 1 ? ",)" : ")", f);
}

int reader_gone(void)
{
	struct pollfd p = {.fd = 1};

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* ---- a run ---- */

enum { PROGRAM_MOST = 64 << 20 };

static int read_file(const char *path, struct buf *b)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : 0;
	char chunk[65536], link[500];
	ssize_t n = fd < 0 ? -1 : 0;

	while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0 && b->len <= PROGRAM_MOST)
		buf_put(b, chunk, (size_t)n);
	if (n < 0 && errno == ENOENT && dangling_link(path, link))
		complain("cannot read the program: %s", link);
	else if (n < 0)
		complain("cannot read the program: %s: %s", strcmp(path, "-") ? path : "<standard input>", strerror(errno));
	if (b->len > PROGRAM_MOST)
		complain("%s: a program of more than 64 MiB", path);
	if (fd > 0)
		close(fd);
	return n < 0 || b->len > PROGRAM_MOST ? EXIT_INPUT : 0;
}

static int read_program(struct job *j)
{
	struct buf b = {0};
	int rc = 0;

	if (j->o.file)
		rc = read_file(j->o.file, &b);
	else
		buf_str(&b, j->o.program);
	if (b.len >= 3 && !memcmp(b.text, "\xef\xbb\xbf", 3))
		memset(b.text, ' ', 3);   /* the byte order mark of some editors */
	j->length = b.len;
	j->text = buf_take(&b);
	if (!rc && !j->text) {
		complain("out of memory");
		return EXIT_MEMORY;
	}
	return rc;
}

static int parse(struct job *j)
{
	gx_error err;

	if (gx_parse(j->text, j->length, j->o.file ? (strcmp(j->o.file, "-") ? j->o.file : "<stdin>") : NULL, &j->f, &err))
		return failed(&err);
	if (gx_formula_warnings(j->f) && !j->o.quiet)
		fprintf(stderr, "%s\n", gx_formula_warnings(j->f));
	return 0;
}

gx_options library_options(const struct options *o, int device)
{
	gx_options opt = {.size = sizeof opt, .device = device, .math = o->math, .threads = o->threads, .no_cache = o->no_cache,
		.arch = o->arch};

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
			if (j->o.verify && !j->o.forced_cuda)
				fprintf(stderr, "--verify compares the GPU with the CPU, so it needs one\n");
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
		rc = j->on_gpu ? 0 : open_gpu(j, j->o.device >= 0 ? j->o.device : 0);
	else if (j->o.device == DEVICE_AUTO && gpu_pays(j))
		rc = open_gpu(j, 0);
	if (!rc && j->o.verbose)
		fprintf(stderr, "device: %s\n", gx_context_note(j->on_gpu ? j->gpu : j->cpu));
	return rc;
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

/* ---- --verify ---- */

static int verify(struct job *j)
{
	gx_array *second = calloc((size_t)j->nout + 1, sizeof *second);
	int rc = second ? 0 : EXIT_MEMORY;

	for (int i = 0; i < j->nout && !rc; i++)
		second[i] = j->out[i];
	rc = rc ? rc : outputs_allocate(j, second);
	rc = rc ? rc : run(j, j->cpu, j->p, second);
	for (int i = 0; i < j->nout && !rc; i++) {
		struct buf b = {0};

		compare_arrays(&j->out[i], &second[i], &b);   /* a report: functions may differ within their bound */
		fprintf(stderr, "verify %s: GPU and CPU: %s\n", j->out[i].name[0] ? j->out[i].name : "(expression)", b.text ? b.text : "");
		buf_free(&b);
	}
	for (int i = 0; i < j->nout && second; i++)
		gx_free(j->cpu, GX_PLACE_HOST, second[i].data);
	free(second);
	return rc;
}

/* ---- from start to end ---- */

/* What is told instead of run; 1 when there is nothing of that kind to do, else an exit code. */
static int tell(struct job *j)
{
	int rc = 0;

	if (!j->o.emit && !j->o.explain)
		return 1;
	if (j->o.forced_cuda)   /* its own architecture */
		rc = open_gpu(j, j->o.device);
	if (rc)
		return rc;
	return print_stage(j, j->o.emit ? j->o.emit : j->o.json ? "json" : "explain");
}

static int everything(struct job *j)
{
	int rc = read_program(j), told;

	rc = rc ? rc : parse(j);
	rc = rc ? rc : bind(j);
	rc = rc ? rc : compile(j);
	rc = rc ? rc : outputs_describe(j);
	told = rc ? rc : tell(j);
	if (rc || told != 1)
		return told;
	rc = outputs_open(j);
	if (!rc && j->o.dry_run)
		print_dry_run(j);
	if (rc || j->o.dry_run)
		return rc;
	rc = outputs_allocate(j, j->out);
	rc = rc ? rc : choose_device(j);
	rc = rc ? rc : run(j, j->on_gpu ? j->gpu : j->cpu, j->on_gpu ? j->pgpu : j->p, j->out);
	rc = rc || !j->o.verify ? rc : verify(j);
	rc = rc ? rc : outputs_write(j);
	if (rc)
		return rc;
	if (j->o.json)
		print_json(j);
	else
		rc = print_results(j);
	if (j->o.time && !j->o.json)
		print_times(j);
	return rc;
}

static void on_signal(int sig)
{
	output_abandon_all();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Files are mapped: reading what another process has cut off meanwhile ends here. */
static void on_bus_error(int sig)
{
	static const char text[] = "gpuexpr: an input file became shorter while it was read\n";
	ssize_t n = write(2, text, sizeof text - 1);

	(void)sig;
	(void)n;
	output_abandon_all();
	_exit(EXIT_INPUT);
}

/* Unless it is ignored already: nohup, and commands that a script starts in the background. */
static void catch(int sig)
{
	if (signal(sig, on_signal) == SIG_IGN)
		signal(sig, SIG_IGN);
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
static void leave(const struct options *o, int rc)
{
	if (rc && rc != EXIT_PIPE && o->json)
		print_json_error(rc);
	if (fflush(stdout) || ferror(stdout)) {
		if (!reader_gone())
			complain("cannot write to standard output: %s", strerror(errno));
		if (!rc || rc == EXIT_PIPE)
			rc = reader_gone() ? EXIT_PIPE : EXIT_OUTPUT;
	}
	fflush(stderr);
	if (rc == EXIT_PIPE) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	_exit(rc);
}

int main(int argc, char **argv)
{
	static struct job j;
	int rc;

	fill_streams();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGBUS, on_bus_error);
	catch(SIGINT);
	catch(SIGTERM);
	catch(SIGHUP);
	rc = options_parse(&j.o, argc, argv);
	if (rc)
		leave(&j.o, rc);
	if (j.o.help)
		leave(&j.o, help_long(j.o.json));
	if (j.o.version) {
		printf(j.o.json ? "{\"version\": 1, \"gpuexpr\": \"%s\"}\n" : "gpuexpr %s\n", gx_version());
		leave(&j.o, 0);
	}
	if (j.o.ops || j.o.devices || j.o.doctor || j.o.cache)
		leave(&j.o, tables(&j.o));
	if (!j.o.program && !j.o.file) {
		if (j.o.json)
			complain("there is no program; gpuexpr --help shows how one is given");
		else
			help_short();
		leave(&j.o, EXIT_USAGE);
	}
	rc = everything(&j);
	outputs_abandon(&j);
	leave(&j.o, rc);
}
