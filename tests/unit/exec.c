/* exec.c -- the CUDA engine through the public API, on the fake driver (tests/fake/libcuda.c): whole programs with
 * temporaries, reductions, gathers and host arrays, with every driver call failing in turn. The fake computes nothing, so
 * this is about errors, memory and order, not about results. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/gpuexpr.h"

static int passed, failed, skipped;
static char folder[64], fake[128];

static const char *const programs[] = {
	"c = a*b + sin(a)",
	"c = a / sum(a, axis=1, keepdims=true)",
	"c = (a - mean(a)) / std(a) + max(b)",
	"c = a[i]",
	"c = cumsum(a*b, axis=1) + cumsum(reshape(a, -1))[0]",
};
enum { NPROGRAMS = sizeof programs / sizeof *programs, ROWS = 30, COLUMNS = 50 };

static const char *const calls[] = {
	"none", "cuDeviceGetCount", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuStreamCreate", "cuMemPoolCreate",
	"cuMemAllocFromPoolAsync", "cuMemAlloc_v2", "cuMemsetD8Async", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
	"cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute", "cuLaunchKernel", "cuStreamSynchronize", "cuEventCreate",
	"cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime", "cuStreamWaitEvent",
};

static long counted(const char *what)
{
	void *lib = dlopen(fake, RTLD_NOW | RTLD_NOLOAD);
	long (*count)(const char *);
	void *p = lib ? dlsym(lib, "fake_count") : NULL;

	memcpy(&count, &p, sizeof p);
	return p ? count(what) : 0;
}

/* One program, twice, in a context of its own. Status of the last call made. */
static gx_status run(const char *program, gx_error *err)
{
	static float a[ROWS * COLUMNS], b[ROWS * COLUMNS], c[ROWS * COLUMNS * COLUMNS];
	static long long i[ROWS];
	const int64_t shape[2] = {ROWS, COLUMNS};
	gx_options opt = {.size = sizeof opt, .device = 0, .threads = 1, .cache_dir = folder};
	int gather = strstr(program, "[i]") != NULL, k;
	gx_array in[2] = {gx_host("a", GX_FLOAT32, 2, shape, a), gx_host("b", GX_FLOAT32, 2, shape, b)};
	gx_array out = gx_host("c", GX_FLOAT32, 2, shape, c);
	gx_context *ctx;
	gx_status s = gx_open(&opt, &ctx, err);

	if (s)
		return s;
	if (gather)
		in[1] = gx_host("i", GX_INT64, 1, shape, i);
	for (k = 0; k < 2 && !s; k++)
		s = gx_eval(ctx, program, in, gather || strstr(program, "b") ? 2 : 1, &out, 1, err);
	gx_close(ctx);
	return s;
}

/* In a child. 0: fine; 1: a failure was expected to be reported and was; else what is wrong. */
enum { FINE, REPORTED, NO_TEXT, LEAK, NO_LAUNCH };

static int attempt(const char *program, const char *call, int code, int nth, int pools)
{
	char fail[128];
	gx_error err = {0};
	gx_status s;

	snprintf(fail, sizeof fail, "%s:%d:%d", call, code, nth);
	setenv("FAKE_FAIL", fail, 1);
	setenv("FAKE_POOLS", pools ? "1" : "0", 1);
	s = run(program, &err);
	if (getenv("EXEC_VERBOSE"))
		fprintf(stderr, "%s %s pools %d: %d %s\n", program, fail, pools, (int)s, s ? err.text : "");
	if (s && (!err.text[0] || err.status != s))
		return NO_TEXT;
	if (counted("objects") || counted("bytes"))
		return LEAK;
	if (!s && counted("launches") == 0)
		return NO_LAUNCH;
	return s ? REPORTED : FINE;
}

static int in_child(const char *program, const char *call, int code, int nth, int pools)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(attempt(program, call, code, nth, pools));
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void check(int good, const char *name, const char *why)
{
	printf(good ? "ok %s\n" : "FAIL %s: %s\n", name, why);
	good ? passed++ : failed++;
}

/* Every call on every program; the count of reported failures shows that they were really provoked. */
static void test_call(const char *call)
{
	static const char *const words[] = {"fine", "reported", "a failure without a text", "something was not freed",
		"nothing was launched"};
	char why[256] = "";
	int k, nth, pools, reported = 0, bad = 0;

	for (k = 0; k < NPROGRAMS; k++)
		for (pools = 0; pools < 2; pools++)
			for (nth = 1; nth <= 7; nth += 3) {
				int got = in_child(programs[k], call, nth == 4 ? 2 : 1, nth, pools);

				reported += got == REPORTED;
				if (got == FINE || got == REPORTED)
					continue;
				bad++;
				snprintf(why, sizeof why, "%s, failure %d, pools %d: %s", programs[k], nth, pools,
					got > 1 && got < 6 ? words[got] : "died");
			}
	if (!strcmp(call, "none") && reported) {
		bad++;
		snprintf(why, sizeof why, "a run without failures failed");
	}
	printf("# %s: %d failures reported\n", call, reported);
	check(!bad, call, why);
}

int main(void)
{
	const char *cc = getenv("CC");
	char command[512];
	size_t i;

	snprintf(folder, sizeof folder, "/tmp/gx-exec-XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(fake, sizeof fake, "%s/libcuda.so.1", folder);
	setenv("GPUEXPR_LIBCUDA", fake, 1);
	snprintf(command, sizeof command, "%s -std=c11 -D_GNU_SOURCE -ffp-contract=off -shared -fPIC tests/fake/libcuda.c -o %s",
		cc && *cc ? cc : "cc", fake);
	if (system(command)) {
		printf("skip exec: tests/fake/libcuda.c was not compiled (run in the project's folder)\n");
		skipped++;
	} else if (in_child(programs[0], "none", 1, 1, 1) != FINE && !getenv("EXEC_VERBOSE")) {
		printf("skip exec: a run without failures does not work here (no NVRTC?); EXEC_VERBOSE=1 says why\n");
		skipped++;
	} else {
		for (i = 0; i < sizeof calls / sizeof *calls; i++)
			test_call(calls[i]);
	}
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command))
		failed++;
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
