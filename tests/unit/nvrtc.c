/* nvrtc.c -- tests of finding NVRTC and compiling with it (runtime/nvrtc*.c), and of the way from text to a loaded kernel
 * (runtime/kernels.c). NVRTC needs no GPU; the kernels are loaded into the fake driver. */
#include <pthread.h>

#include "base/diag.h"
#include "runtime/kernels.h"
#include "runtime/nvrtc.h"
#include "tests/unit/scenario.h"

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
	int fake_there;

	if (argc > 1 && !strcmp(argv[1], "compile"))
		return compile_only();
	fake_there = scenario_start() == 0;
	test_nvrtc();
	if (fake_there)
		test_kernels();
	return scenario_end();
}
