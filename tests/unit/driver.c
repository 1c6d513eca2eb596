/* driver.c -- tests of all that touches libcuda and NVRTC, on machines with and without a GPU. The driver is a matter of
 * the whole process and opened once, so each scenario runs in a child of its own, mostly against tests/fake/libcuda.c. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "runtime/cuda.h"
#include "runtime/doctor.h"
#include "runtime/kernels.h"
#include "runtime/nvrtc.h"

#define STUB "/usr/local/cuda/lib64/stubs/libcuda.so"

static int passed, failed, skipped;
static char folder[64], fake[128];

static void check(int good, const char *name, const char *why)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
	good ? passed++ : failed++;
}

static void skip(const char *name, const char *why)
{
	printf("skip %s: %s\n", name, why);
	skipped++;
}

/* In a child: sets variables ("A=1 B=2"), runs body, which returns NULL or what is wrong. "skip: why" skips. */
static void scenario(const char *name, const char *variables, const char *(*body)(void))
{
	char text[512] = "", env[512], *v, *rest;
	int status, fd[2], n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd))
		return;
	pid = fork();
	if (pid == 0) {
		const char *why;

		snprintf(env, sizeof env, "%s", variables);
		for (v = strtok_r(env, " ", &rest); v; v = strtok_r(NULL, " ", &rest))
			putenv(strdup(v));
		why = body();
		if (why && write(fd[1], why, strlen(why)) < 0)
			_exit(3);
		_exit(why != NULL);
	}
	close(fd[1]);
	n = (int)read(fd[0], text, sizeof text - 1);
	close(fd[0]);
	text[n > 0 ? n : 0] = 0;
	waitpid(pid, &status, 0);
	if (!strncmp(text, "skip: ", 6))
		skip(name, text + 6);
	else
		check(WIFEXITED(status) && WEXITSTATUS(status) == 0, name, *text ? text : "the child died");
}

static const char *complain(const char *fmt, const char *detail)
{
	static char text[400];

	snprintf(text, sizeof text, fmt, detail);
	return text;
}

static long counted(const char *what)
{
	void *lib = dlopen(fake, RTLD_NOW | RTLD_NOLOAD);
	long (*count)(const char *);
	void *p = lib ? dlsym(lib, "fake_count") : NULL;

	memcpy(&count, &p, sizeof p);
	return p ? count(what) : -1;
}

static int depth(void)
{
	void *lib = dlopen(fake, RTLD_NOW | RTLD_NOLOAD);
	int (*get)(void);
	void *p = lib ? dlsym(lib, "fake_depth") : NULL;

	memcpy(&get, &p, sizeof p);
	return p ? get() : -1;
}

/* ---- driver ---- */

static void test_errors(void)
{
	check(!strcmp(driver_error_name(2), "CUDA_ERROR_OUT_OF_MEMORY") && driver_error_status(2) == GX_NOMEM, "error 2", "other");
	check(!strcmp(driver_error_name(700), "CUDA_ERROR_ILLEGAL_ADDRESS") && driver_error_sticky(700), "error 700", "other");
	check(strstr(driver_error_text(803), "reboot") != NULL, "803 has a remedy", driver_error_text(803));
	check(driver_error_name(123456) && driver_error_text(123456), "unknown codes have texts", "NULL");
	check(!driver_error_sticky(1) && driver_error_status(1) == GX_DEVICE && driver_error_status(0) == GX_OK, "status", "other");
}

static const char *wants_text(const char *part)
{
	struct cuda *dev;
	struct buf why = {0};
	gx_error err = {0};

	driver_why(&why);
	if (driver_get() || cuda_count(NULL) != -1)
		return "a driver was found";
	if (!why.text || !strstr(why.text, part))
		return complain("driver_why says: %s", why.text ? why.text : "(nothing)");
	if (cuda_open(GX_DEVICE_AUTO, &dev, &err) != GX_DEVICE || dev || strcmp(err.text, why.text) != 0)
		return complain("cuda_open says: %s", err.text);
	return NULL;
}

static const char *no_library(void) { return wants_text("no NVIDIA driver was found"); }
static const char *missing_function(void) { return wants_text("has no cu"); }
static const char *stub(void) { return access(STUB, R_OK) ? "skip: no stub library here" : wants_text("stub"); }
static const char *no_device(void) { return wants_text("CUDA_VISIBLE_DEVICES is set to \"9\""); }
static const char *mismatch(void) { return wants_text("reboot"); }
static const char *suspend(void) { return wants_text("nvidia_uvm"); }

static const char *forked(void)
{
	struct cuda *dev;
	gx_error err = {0};
	int status;
	pid_t pid;

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	pid = fork();
	if (pid == 0)
		_exit(cuda_sync(dev, NULL, &err) == GX_DEVICE && strstr(err.text, "forked") && cuda_count(&err) == -1 ? 0 : 1);
	waitpid(pid, &status, 0);
	cuda_close(dev);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "the child was not refused";
}

/* ---- device layer ---- */

static const char *fails_to_open(const char *part)
{
	struct cuda *dev;
	gx_error err = {0};

	return cuda_open(GX_DEVICE_AUTO, &dev, &err) && strstr(err.text, part) ? NULL : complain("says: %s", err.text);
}

static const char *no_stream(void)
{
	const char *bad = fails_to_open("cuStreamCreate(&dev->stream");

	return bad ? bad : counted("objects") ? "something was not freed" : NULL;
}

static const char *exclusive(void) { return fails_to_open("exclusive process"); }

static const char *next_device(void)
{
	struct cuda *dev;
	gx_error err = {0};
	const char *bad = NULL;

	if (cuda_open(GX_DEVICE_AUTO, &dev, &err))
		return complain("%s", err.text);
	if (dev->props.ordinal != 1)
		bad = "not the second GPU";
	cuda_close(dev);
	if (!bad && (cuda_open(7, &dev, &err) != GX_DEVICE || !strstr(err.text, "no GPU 7; 2 are visible")))
		bad = complain("says: %s", err.text);
	return bad;
}

static const char *memory_with(struct cuda *dev)
{
	char out[1000], in[1000];
	cu_ptr p[3], q;
	gx_error err = {0};
	int i;

	memset(in, 'x', sizeof in);
	if (cuda_alloc(dev, 0, NULL, &q, &err) || q)
		return "0 bytes are not 0";
	for (i = 0; i < 3; i++)
		if (cuda_alloc(dev, 1000, (void *)(uintptr_t)i, &p[i], &err) || p[i] % 256)
			return complain("alloc: %s", err.text);
	if (cuda_upload(dev, p[0], in, sizeof in, NULL, &err) || cuda_copy(dev, p[1], p[0], 500, NULL, &err)
			|| cuda_fill(dev, p[1] + 500, 'y', 500, NULL, &err) || cuda_download(dev, out, p[1], sizeof out, NULL, &err))
		return complain("copy: %s", err.text);
	if (memcmp(out, in, 500) || out[500] != 'y' || out[999] != 'y')
		return "wrong bytes";
	for (i = 0; i < 3; i++)
		cuda_free(dev, p[i], (void *)(uintptr_t)i);
	if (cuda_alloc_now(dev, 900, &q, &err))
		return complain("alloc_now: %s", err.text);
	cuda_free_now(dev, q);
	if (cuda_alloc(dev, (size_t)1 << 50, NULL, &q, &err) != GX_NOMEM || q || !strstr(err.text, "GB free on GPU 0"))
		return complain("huge: %s", err.text);
	if (cuda_alloc(dev, 900, NULL, &q, &err))
		return complain("after huge: %s", err.text);
	cuda_free(dev, q, NULL);
	return depth() == 0 ? NULL : "context stack not balanced";
}

static const char *memory(void)
{
	struct cuda_timer t;
	struct cuda *dev;
	gx_error err = {0};
	const char *bad;
	double ms;
	int i;

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	bad = memory_with(dev);
	for (i = 0; i < 100 && !bad; i++)
		if (cuda_timer_start(dev, &t, NULL, &err) || cuda_timer_stop(dev, &t, NULL, &err)
				|| cuda_timer_read(dev, &t, &ms, &err) || ms != 1.5)
			bad = complain("timer: %s", err.text);
	cuda_close(dev);
	if (!bad && (counted("bytes") || counted("objects")))
		bad = "something was not freed";
	return bad;
}

/* The third allocation finds the memory full until the pool is emptied. */
static const char *pool_retry(void)
{
	struct cuda *dev;
	gx_error err = {0};
	cu_ptr a, b = 0;
	gx_status s;

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	s = cuda_alloc(dev, 600000, NULL, &a, &err);
	cuda_free(dev, a, NULL);
	s = s ? s : cuda_alloc(dev, 500000, NULL, &b, &err);
	cuda_free(dev, b, NULL);
	cuda_close(dev);
	return s ? complain("%s", err.text) : NULL;
}

static const char *sticky(void)
{
	struct cuda *dev;
	gx_error err = {0};

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	if (cuda_sync(dev, NULL, &err) != GX_DEVICE || !strstr(err.text, "cuStreamSynchronize(stream): CUDA_ERROR_LAUNCH_FAILED (719)"))
		return complain("first: %s", err.text);
	if (cuda_sync(dev, NULL, &err) != GX_DEVICE || !strstr(err.text, "lost earlier"))
		return complain("second: %s", err.text);
	cuda_close(dev);
	return NULL;
}

static const char *shutting_down(void)
{
	struct cuda *dev;

	if (cuda_open(0, &dev, NULL))
		return "not opened";
	putenv(strdup("FAKE_FAIL=cuCtxPushCurrent_v2:4:1+"));
	cuda_close(dev);
	return NULL;
}

static const char *doctor(void)
{
	struct buf out = {0};
	gx_options opt = {.size = sizeof opt, .device = 0, .cache_dir = folder};
	gx_status s = doctor_text(&opt, 0, &out);
	const char *bad = NULL;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (s || !strstr(out.text, "gave the right result") || strstr(out.text, "FAIL"))
		bad = complain("%.300s", out.text);
	buf_free(&out);
	doctor_text(&opt, 1, &out);
	if (!bad && (!strstr(out.text, "{\"version\":1,") || !strstr(out.text, "\"ok\":true}")))
		bad = "JSON";
	buf_free(&out);
	return bad;
}

static const char *doctor_wrong(void)
{
	struct buf out = {0};
	gx_status s = doctor_text(NULL, 0, &out);

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	return s == GX_DEVICE && strstr(out.text, "wrong result") ? NULL : "a kernel that does nothing was accepted";
}

/* ---- NVRTC ---- */

static const char kernel[] =
	"extern \"C\" __global__ void gx_kernel(float *a, double *b, long long n)\n"
	"{\n"
	"\tlong long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
	"\tif (i < n) {\n"
	"\t\ta[i] = a[i] * 3.0f + a[i + n] / a[i + 2 * n];\n"
	"\t\tb[i] = sqrt(b[i]) + sinf(a[i]);\n"
	"\t}\n"
	"}\n";

static const char *every_arch(void)
{
	const struct nvrtc *n = nvrtc_at(0);
	struct image im;
	gx_error err;
	int i;

	for (i = 0; n && i < n->narch; i++) {
		if (nvrtc_compile(kernel, n->arch[i], FORM_BEST, GX_MATH_STRICT, &im, &err))
			return complain("%s", err.text);
		if (im.ptx || im.target != n->arch[i] || im.size < 1000 || memcmp(im.bytes, "\177ELF", 4))
			return "not a cubin for it";
		image_free(&im);
	}
	return n ? NULL : "skip: no NVRTC here";
}

static const char *ptx_with(gx_math math, const char *has, const char *lacks)
{
	struct image im;
	gx_error err;
	const char *bad = NULL;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (nvrtc_compile(kernel, 90, FORM_PTX, math, &im, &err))
		return complain("%s", err.text);
	if (!strstr(im.bytes, has))
		bad = complain("no %s", has);
	else if (strstr(im.bytes, lacks))
		bad = complain("has %s", lacks);
	image_free(&im);
	return bad;
}

static const char *strict_division(void) { return ptx_with(GX_MATH_STRICT, "div.rn.f32", ".ftz"); }
static const char *strict_root(void) { return ptx_with(GX_MATH_STRICT, "sqrt.rn.f64", "approx.f"); }
static const char *fma_division(void) { return ptx_with(GX_MATH_FMA, "div.rn.f32", ".ftz"); }
static const char *fast_division(void) { return ptx_with(GX_MATH_FAST, "div.full.f32", "div.rn.f32"); }
static const char *fast_sine(void) { return ptx_with(GX_MATH_FAST, "fma.rn.f32", "sin.approx"); }

/* a*3 + q must stay a product and a sum: the fused form would show up as an fma with the constant 3. */
static const char *contraction(void)
{
	static const char text[] = "extern \"C\" __global__ void gx_kernel(float *a) { a[0] = a[1] * a[2] + a[3]; }\n";
	struct image strict, fma;
	gx_error err;
	const char *bad = NULL;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (nvrtc_compile(text, 80, FORM_PTX, GX_MATH_STRICT, &strict, &err) || nvrtc_compile(text, 80, FORM_PTX, GX_MATH_FMA, &fma, &err))
		return complain("%s", err.text);
	if (strstr(strict.bytes, "fma.") || !strstr(fma.bytes, "fma."))
		bad = "strict contracts, or fma does not";
	image_free(&strict);
	image_free(&fma);
	return bad;
}

static const char *ladder(void)
{
	struct image im;
	gx_error err;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (nvrtc_compile(kernel, 990, FORM_BEST, GX_MATH_STRICT, &im, &err) || !im.ptx || im.target >= 990)
		return "a GPU of the future gets no PTX";
	image_free(&im);
	if (nvrtc_compile(kernel, 990, FORM_CUBIN, GX_MATH_STRICT, &im, &err) || im.ptx)
		return "no older cubin";
	image_free(&im);
	if (nvrtc_compile(kernel, 10, FORM_BEST, GX_MATH_STRICT, &im, &err) != GX_COMPILER || !strstr(err.text, "capability 1.0")
			|| im.bytes)
		return complain("too old: %s", err.text);
	return nvrtc_arch("sm_90") == 90 && nvrtc_arch("compute_120") == 120 && nvrtc_arch("75") == 75 && !nvrtc_arch("sm_90a")
		&& !nvrtc_arch("") && !nvrtc_arch("sm_9") && !nvrtc_arch("99999999999") ? NULL : "nvrtc_arch";
}

static const char *bad_text(void)
{
	struct image im;
	gx_error err;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (nvrtc_compile("extern \"C\" __global__ void gx_kernel(int *a)\n{\n\ta[0] = nonsense;\n}\n", 90, FORM_BEST, GX_MATH_STRICT,
			&im, &err) != GX_INTERNAL || im.bytes)
		return "accepted";
	return strstr(err.text, "\"nonsense\" is undefined") && strstr(err.text, "    3  \ta[0] = nonsense;")
		&& strstr(err.text, "--fmad=false") ? NULL : complain("%s", err.text);
}

static void *deep_thread(void *result)
{
	struct buf b = {0};
	struct image im;
	gx_error err;
	int i;

	buf_str(&b, "extern \"C\" __global__ void gx_kernel(int *a) { a[0] = ");
	for (i = 0; i < 400; i++)
		buf_char(&b, '(');
	buf_str(&b, "a[1]");
	for (i = 0; i < 400; i++)
		buf_str(&b, "+1)");
	buf_str(&b, "; }\n");
	*(gx_status *)result = nvrtc_compile(b.text, 90, FORM_PTX, GX_MATH_STRICT, &im, &err);
	image_free(&im);
	buf_free(&b);
	return NULL;
}

static const char *small_stack(void)
{
	gx_status s[4];
	pthread_attr_t attr;
	pthread_t t[4];
	int i;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], &attr, deep_thread, &s[i]);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return s[0] || s[1] || s[2] || s[3] ? "failed" : NULL;
}

static const char *no_nvrtc(void)
{
	struct image im;
	gx_error err;

	return nvrtc_compile(kernel, 90, FORM_BEST, GX_MATH_STRICT, &im, &err) == GX_COMPILER && strstr(err.text, "GPUEXPR_NVRTC names /none")
		&& !im.bytes && nvrtc_opened() == 0 ? NULL : complain("%s", err.text);
}

/* Both files in a folder that the loader does not know, as pip and conda lay them out. */
static const char *odd_folder(void)
{
	const struct nvrtc *n = nvrtc_at(0);
	char command[1024];
	struct image im;
	gx_error err;
	int status;
	pid_t pid;

	if (!n || !n->builtins)
		return "skip: no NVRTC here";
	snprintf(command, sizeof command, "mkdir -p %s/odd && ln -s %s %s %s/odd", folder, n->path, n->builtins, folder);
	if (system(command))
		return "cannot make the folder";
	pid = fork();   /* a fresh process, since this one has it open: run ourselves again */
	if (pid == 0) {
		snprintf(command, sizeof command, "%s/odd", folder);
		setenv("GPUEXPR_NVRTC", command, 1);
		unsetenv("LD_LIBRARY_PATH");
		execl("/proc/self/exe", "driver", "compile", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	if (nvrtc_compile(kernel, 90, FORM_PTX, GX_MATH_STRICT, &im, &err))
		return complain("%s", err.text);
	image_free(&im);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "not found there";
}

static const char *append_flags(void)
{
	struct buf with = {0}, without = {0};
	int differ;

	nvrtc_settings(GX_MATH_STRICT, &without);
	setenv("NVRTC_APPEND_FLAGS", "--fmad=true", 1);
	nvrtc_settings(GX_MATH_STRICT, &with);
	differ = strcmp(with.text, without.text) != 0;
	buf_free(&with);
	buf_free(&without);
	return differ ? NULL : "the cache key does not see NVRTC_APPEND_FLAGS";
}

/* ---- kernels: memory, disk, compiler ---- */

struct bench {
	struct cuda *dev;
	struct cache *cache;
	struct kernels *ks;
	struct kernels_cost cost;
	gx_error err;
};

static int bench_open(struct bench *b)
{
	gx_options opt = {.size = sizeof opt, .cache_dir = folder};

	memset(b, 0, sizeof *b);
	if (cuda_open(0, &b->dev, &b->err))
		return -1;
	b->cache = cache_open(&opt);
	b->ks = kernels_new(b->dev, b->cache);
	return b->ks ? 0 : -1;
}

static void bench_close(struct bench *b)
{
	kernels_free(b->ks);
	cache_close(b->cache);
	cuda_close(b->dev);
}

static gx_status bench_get(struct bench *b, const char *source)
{
	const struct loaded *k;
	gx_status s = kernels_get(b->ks, source, GX_MATH_STRICT, &k, &b->cost, &b->err);

	kernels_release(b->ks, k);
	return s;
}

static const char *expect(struct bench *b, gx_status s, int memory_hits, int disk, int compiled)
{
	static char text[300];

	snprintf(text, sizeof text, "status %d, memory %d, disk %d, compiled %d: %.200s", (int)s, b->cost.memory, b->cost.disk,
		b->cost.compiled, b->err.text);
	return s || b->cost.memory != memory_hits || b->cost.disk != disk || b->cost.compiled != compiled ? text : NULL;
}

static const char *cold(void)
{
	struct bench b;
	const char *bad = bench_open(&b) ? complain("%s", b.err.text) : NULL;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (!bad)
		bad = expect(&b, bench_get(&b, kernel), 0, 0, 1);
	if (!bad)
		bad = expect(&b, bench_get(&b, kernel), 1, 0, 1);
	bench_close(&b);
	return bad ? bad : counted("objects") ? "something was not freed" : NULL;
}

/* Runs after cold, on its cache. */
static const char *warm(void)
{
	struct bench b;
	const char *bad = bench_open(&b) ? complain("%s", b.err.text) : NULL;

	if (!cache_nvrtc(b.cache))
		return "skip: no NVRTC here";
	if (!bad)
		bad = expect(&b, bench_get(&b, kernel), 0, 1, 0);
	if (!bad && nvrtc_opened())
		bad = "NVRTC was opened";
	bench_close(&b);
	return bad;
}

static const char *one_compile(void)
{
	struct bench b;
	const char *bad = bench_open(&b) ? complain("%s", b.err.text) : NULL;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (!bad)
		bad = expect(&b, bench_get(&b, kernel), 0, 0, 1);
	bench_close(&b);
	return bad;
}

static const char *rejected(void)
{
	struct bench b;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (bench_open(&b))
		return complain("%s", b.err.text);
	if (bench_get(&b, kernel) != GX_DEVICE || !strstr(b.err.text, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"))
		return complain("%s", b.err.text);
	bench_close(&b);
	return counted("loads") == 2 ? NULL : "not two tries";
}

static void *ask(void *bench)
{
	struct bench mine = *(struct bench *)bench;
	gx_status s = bench_get(&mine, "extern \"C\" __global__ void gx_kernel(int *a) { a[0] = 77; }\n");

	__atomic_add_fetch(&((struct bench *)bench)->cost.compiled, s ? 1000 : mine.cost.compiled, __ATOMIC_SEQ_CST);
	return NULL;
}

static const char *threads(void)
{
	struct bench b;
	pthread_t t[8];
	int i;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (bench_open(&b))
		return complain("%s", b.err.text);
	for (i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, ask, &b);
	for (i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	i = b.cost.compiled;
	bench_close(&b);
	return i == 1 && counted("loads") == 1 ? NULL : "compiled or loaded more than once";
}

static void clear(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s/??", folder);
	if (system(command))
		failed++;
}

static void with_fake(const char *name, const char *variables, const char *(*body)(void))
{
	char all[512];

	snprintf(all, sizeof all, "GPUEXPR_LIBCUDA=%s %s", fake, variables);
	scenario(name, all, body);
}

static void test_kernels(void)
{
	with_fake("a new kernel is compiled once", "", cold);
	with_fake("a second process finds it, without NVRTC", "GPUEXPR_NVRTC=/none", warm);
	with_fake("an entry that the driver refuses is made again", "FAKE_FAIL=cuModuleLoadDataEx:209:1", one_compile);
	clear();
	with_fake("a refused cubin becomes PTX", "FAKE_FAIL=cuModuleLoadDataEx:209:1", one_compile);
	clear();
	with_fake("when both are refused, the reason is told", "FAKE_FAIL=cuModuleLoadDataEx:222:1+", rejected);
	with_fake("a newer GPU gets PTX", "FAKE_CC=990", cold);
	with_fake("eight threads compile a kernel once", "", threads);
}

static void test_device(void)
{
	with_fake("memory from the driver's pools", "", memory);
	with_fake("memory from our own pool", "FAKE_POOLS=0", memory);
	with_fake("a full pool is emptied before giving up", "FAKE_POOLS=0 FAKE_MEMORY=1000000", pool_retry);
	with_fake("the first try of an allocation may fail", "FAKE_FAIL=cuMemAllocFromPoolAsync:2:1", pool_retry);
	with_fake("a lost context is refused from then on", "FAKE_FAIL=cuStreamSynchronize:719:1", sticky);
	with_fake("closing while the driver shuts down", "", shutting_down);
	with_fake("a device that opens halfway", "FAKE_FAIL=cuStreamCreate:2:1", no_stream);
	with_fake("exclusive mode is named", "FAKE_FAIL=cuDevicePrimaryCtxRetain:46:1 FAKE_MODE=3", exclusive);
	with_fake("auto takes the next GPU", "FAKE_FAIL=cuDevicePrimaryCtxRetain:46:1 FAKE_DEVICES=2", next_device);
	with_fake("a forked child is refused", "", forked);
	with_fake("the doctor runs a kernel", "FAKE_PROBE=1", doctor);
	with_fake("the doctor sees a wrong result", "", doctor_wrong);
	with_fake("no device visible", "FAKE_FAIL=cuInit:100:1 CUDA_VISIBLE_DEVICES=9", no_device);
	with_fake("driver and library do not match", "FAKE_FAIL=cuInit:803:1", mismatch);
	with_fake("unknown failure after suspend", "FAKE_FAIL=cuInit:999:1", suspend);
	test_kernels();
}

static void test_nvrtc(void)
{
	scenario("a cubin for every target", "", every_arch);
	scenario("strict: IEEE division, denormals", "", strict_division);
	scenario("strict: IEEE square root", "", strict_root);
	scenario("fma: IEEE division", "", fma_division);
	scenario("fast: approximate division", "", fast_division);
	scenario("fast: sine keeps its bound", "", fast_sine);
	scenario("strict does not contract, fma does", "", contraction);
	scenario("target ladder", "", ladder);
	scenario("a refused text is an internal error with numbered source", "", bad_text);
	scenario("deep texts from threads with small stacks", "", small_stack);
	scenario("no NVRTC", "GPUEXPR_NVRTC=/none", no_nvrtc);
	scenario("NVRTC in a folder that the loader does not know", "", odd_folder);
	scenario("NVRTC_APPEND_FLAGS is in the key", "", append_flags);
}

/* For odd_folder: compile in a process that has opened nothing yet. */
static int compile_only(void)
{
	const char *want = getenv("GPUEXPR_NVRTC");
	struct image im;
	gx_error err;
	gx_status s = nvrtc_compile(kernel, 90, FORM_BEST, GX_MATH_STRICT, &im, &err);

	image_free(&im);
	return s || !want || strncmp(nvrtc_at(0)->path, want, strlen(want)) != 0 || !nvrtc_at(0)->builtins;
}

int main(int argc, char **argv)
{
	const char *cc = getenv("CC");
	char command[512];

	if (argc > 1 && !strcmp(argv[1], "compile"))
		return compile_only();
	snprintf(folder, sizeof folder, "/tmp/gx-driver-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	setenv("GPUEXPR_CACHE_DIR", folder, 1);
	snprintf(fake, sizeof fake, "%s/libcuda.so.1", folder);
	snprintf(command, sizeof command, "%s -std=c11 -D_GNU_SOURCE -ffp-contract=off -shared -fPIC tests/fake/libcuda.c -o %s",
		cc && *cc ? cc : "cc", fake);
	test_errors();
	scenario("no driver", "GPUEXPR_LIBCUDA=/none/libcuda.so.1", no_library);
	scenario("a library without the functions", "GPUEXPR_LIBCUDA=libm.so.6", missing_function);
	scenario("a stub library", "GPUEXPR_LIBCUDA=" STUB, stub);
	test_nvrtc();
	if (system(command) == 0)
		test_device();
	else
		skip("everything with the fake driver", "tests/fake/libcuda.c was not compiled (run in the project's folder)");
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command))
		failed++;
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
