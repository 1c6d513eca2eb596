/* nvrtc.c -- one CUDA C text to a cubin or PTX: target ladder, options, a compile thread, and the report when NVRTC
 * refuses a text (which is always a fault of ours, never of the user's formula).
 * NVRTC recurses deeply and dies of a full stack without a word, so each compile runs on a thread of its own with 16 MB. */
#include "runtime/nvrtc.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/fault.h"

enum { STACK = 16 << 20, MAX_OPTIONS = 16, INVALID_OPTION = 5 };
enum { RC_MEMORY = 1, RC_BUILTINS = 7 };

/* fast does not use -use_fast_math: that turns sinf and kin into functions whose error has no bound. Approximate division
 * and square root stay within 2 ulp over the whole range, and denormals are kept. */
static const char *const math_options[][5] = {
	[GX_MATH_STRICT] = {"--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", NULL},
	[GX_MATH_FMA] = {"--fmad=true", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", NULL},
	[GX_MATH_FAST] = {"--fmad=true", "--prec-div=false", "--prec-sqrt=false", "--ftz=false", NULL},
};

struct job {
	const struct nvrtc *lib;
	const char *source;
	const char *options[MAX_OPTIONS];
	int noptions, nfirm;          /* options after the first nfirm only save time: dropped when not known */
	char arch[48];
	struct image *image;
	int rc;
	struct buf log;
};

void nvrtc_settings(gx_math math, struct buf *b)
{
	const char *flags = getenv("NVRTC_APPEND_FLAGS");   /* NVRTC adds these by itself, without a trace in our options */
	const char *const *o;

	for (o = math_options[math]; *o; o++)
		buf_fmt(b, "%s ", *o);
	if (flags && *flags)
		buf_fmt(b, "NVRTC_APPEND_FLAGS=%s ", flags);
}

int nvrtc_arch(const char *text)
{
	int n = 0;

	if (!strncmp(text, "sm_", 3))
		text += 3;
	else if (!strncmp(text, "compute_", 8))
		text += 8;
	for (; *text >= '0' && *text <= '9' && n < 1000; text++)
		n = n * 10 + (*text - '0');
	return *text || n < 10 || n > 999 ? 0 : n;
}

gx_status nvrtc_check_arch(const char *text, gx_error *err)
{
	const struct nvrtc *lib;
	struct buf b = {0};
	int cc = nvrtc_arch(text);

	if (!cc)
		return diag_plain(err, GX_ARG, "\"%.40s\" is no GPU target; write it as sm_90", text);
	for (int i = 0; (lib = nvrtc_at(i)); i++) {
		if (nvrtc_target(lib, cc) == cc) {
			buf_free(&b);
			return GX_OK;
		}
		buf_fmt(&b, "; NVRTC %d.%d has", lib->version / 1000, lib->version % 1000 / 10);
		for (int k = 0; k < lib->narch; k++)
			buf_fmt(&b, " sm_%d", lib->arch[k]);
	}
	if (b.text)
		diag_plain(err, GX_ARG, "sm_%d is no target of the compiler here%s", cc, b.text);
	cc = b.text != NULL;
	buf_free(&b);
	return cc ? GX_ARG : GX_OK;   /* without a compiler whoever needs one says so */
}

void image_free(struct image *image)
{
	free(image->bytes);
	memset(image, 0, sizeof *image);
}

static void set_options(struct job *j, gx_math math)
{
	const char *const *o;

	snprintf(j->arch, sizeof j->arch, "--gpu-architecture=%s_%d", j->image->ptx ? "compute" : "sm", j->image->target);
	j->options[j->noptions++] = j->arch;
	for (o = math_options[math]; *o; o++)
		j->options[j->noptions++] = *o;
	j->nfirm = j->noptions;
	if (j->lib->version >= 12090)
		j->options[j->noptions++] = "--no-cache";
	if (j->lib->version >= 12040)
		j->options[j->noptions++] = "--minimal";
}

static int take_log(struct job *j, void *program)
{
	size_t n = 0;
	char *text;

	if (j->lib->nvrtcGetProgramLogSize(program, &n) || n < 2)
		return 0;
	text = gx_malloc(n + 1);
	if (!text)
		return RC_MEMORY;
	text[n] = 0;
	if (j->lib->nvrtcGetProgramLog(program, text) == 0)
		buf_str(&j->log, text);
	free(text);
	return 0;
}

static int take_image(struct job *j, void *program)
{
	const struct nvrtc *lib = j->lib;
	struct image *im = j->image;
	int rc = im->ptx ? lib->nvrtcGetPTXSize(program, &im->size) : lib->nvrtcGetCUBINSize(program, &im->size);

	if (rc)
		return rc;
	im->bytes = gx_malloc(im->size ? im->size : 1);
	if (!im->bytes)
		return RC_MEMORY;
	return im->ptx ? lib->nvrtcGetPTX(program, im->bytes) : lib->nvrtcGetCUBIN(program, im->bytes);
}

static int compile_with(struct job *j, int noptions)
{
	void *program = NULL;
	int rc = j->lib->nvrtcCreateProgram(&program, j->source, "gpuexpr.cu", 0, NULL, NULL);

	if (rc)
		return rc;
	rc = j->lib->nvrtcCompileProgram(program, noptions, j->options);
	if (rc != 0)
		take_log(j, program);
	else
		rc = take_image(j, program);
	j->lib->nvrtcDestroyProgram(&program);
	return rc;
}

static void *compile_thread(void *arg)
{
	struct job *j = arg;

	j->rc = compile_with(j, j->noptions);
	if (j->rc == INVALID_OPTION) {
		buf_free(&j->log);
		j->noptions = j->nfirm;
		j->rc = compile_with(j, j->noptions);
	}
	return NULL;
}

/* Signals stay with the host program's own threads. 0, or -1 when no thread could be made. */
static int compile_apart(struct job *j)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int rc;

	if (pthread_attr_init(&attr))
		return -1;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_attr_setstacksize(&attr, STACK);
	if (!rc)
		rc = pthread_create(&thread, &attr, compile_thread, j);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc)
		return -1;
	pthread_join(thread, NULL);
	return 0;
}

/* Lines first..last of the source, numbered. */
static void numbered(const char *s, int first, int last, struct buf *b)
{
	int line;

	for (line = 1; *s && line <= last; line++) {
		size_t n = strcspn(s, "\n");

		if (line >= first)
			buf_fmt(b, "%5d  %.*s\n", line, (int)n, s);
		s += n + (s[n] == '\n');
	}
}

static void render(const struct job *j, int first, int last, struct buf *b)
{
	int i;

	buf_str(b, "log:\n");
	buf_put(b, j->log.text ? j->log.text : "(empty)\n", j->log.text ? j->log.len : 8);
	buf_str(b, "options:");
	for (i = 0; i < j->noptions; i++)
		buf_fmt(b, " %s", j->options[i]);
	buf_str(b, "\nsource:\n");
	numbered(j->source, first, last, b);
}

static gx_status refused(const struct job *j, gx_error *err)
{
	const char *debug = secure_getenv("GPUEXPR_DEBUG");
	const char *at = j->log.text ? strstr(j->log.text, "gpuexpr.cu(") : NULL;
	int line = at ? atoi(at + strlen("gpuexpr.cu(")) : 1;
	const char *log = at ? at : j->log.text ? j->log.text : "";
	struct buf b = {0};

	diag_plain(err, GX_INTERNAL, "internal error: NVRTC %d.%d refused a generated kernel (code %d): %.*s; please report this",
		j->lib->version / 1000, j->lib->version % 1000 / 10, j->rc, (int)strcspn(log, "\n"), log);
	if (debug && strchr(debug, 'n')) {
		render(j, 1, 1 << 30, &b);
		if (b.text)
			fputs(b.text, stderr);
		buf_free(&b);
	}
	if (err) {
		render(j, line - 3, line + 3, &b);
		if (b.text)
			snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text), "\n%s", b.text);
		buf_free(&b);
	}
	return GX_INTERNAL;
}

static gx_status failed(const struct job *j, gx_error *err)
{
	if (j->rc == RC_MEMORY)
		return diag_plain(err, GX_NOMEM, "out of memory while NVRTC compiled a kernel");
	if (j->rc == RC_BUILTINS)
		return diag_plain(err, GX_COMPILER, "NVRTC could not open its libnvrtc-builtins.so.%d.%d, which belongs beside %s; "
			"reinstall NVRTC or name another with GPUEXPR_NVRTC", j->lib->version / 1000, j->lib->version % 1000 / 10,
			j->lib->path);
	return refused(j, err);
}

static gx_status no_library(int cc, gx_error *err)
{
	const struct nvrtc *n = nvrtc_at(0);
	const char *own = secure_getenv("GPUEXPR_NVRTC");

	if (n)
		return diag_plain(err, GX_COMPILER, "this GPU (compute capability %d.%d) is too old for NVRTC %d.%d (%s); "
			"install NVRTC 12 beside it, or use --device=cpu", cc / 10, cc % 10, n->version / 1000,
			n->version % 1000 / 10, n->path);
	if (own && *own)
		return diag_plain(err, GX_COMPILER, "GPUEXPR_NVRTC names %s, which is no usable libnvrtc; see gpuexpr --doctor", own);
	return diag_plain(err, GX_COMPILER, "the CUDA run-time compiler (libnvrtc) was not found; install it (pip install "
		"nvidia-cuda-nvrtc, or the CUDA toolkit), set GPUEXPR_NVRTC=/path/to/libnvrtc.so.13, or use --device=cpu");
}

gx_status nvrtc_compile(const char *source, int cc, enum image_form form, gx_math math, struct image *image, gx_error *err)
{
	struct job j = {.source = source, .image = image, .lib = nvrtc_for(cc)};
	gx_status s = GX_OK;

	memset(image, 0, sizeof *image);
	if (!j.lib)
		return no_library(cc, err);
	image->target = nvrtc_target(j.lib, cc);
	image->ptx = form == FORM_PTX || (form == FORM_BEST && image->target != cc);
	image->nvrtc = j.lib->version;
	set_options(&j, math);
	if (compile_apart(&j))
		s = diag_plain(err, GX_NOMEM, "no thread for the kernel compiler could be started");
	else if (j.rc)
		s = failed(&j, err);
	if (s)
		image_free(image);
	buf_free(&j.log);
	return s;
}
