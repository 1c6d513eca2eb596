/* nvrtc_check.c -- compiles CUDA texts with NVRTC and says what it thinks of them: any log line is a
 *failure. nvrtc_check [-ptx FILE] [-cubin FILE] ARCH FILE.cu ...      ARCH: sm_90, compute_90 Finds
 *libnvrtc by its usual names; without one it says "skipped" and succeeds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
	int (*compile)(void *, int, const char *const *);
	int (*log_size)(void *, size_t *);
	int (*log)(void *, char *);
	int (*ptx_size)(void *, size_t *);
	int (*ptx)(void *, char *);
	int (*cubin_size)(void *, size_t *);
	int (*cubin)(void *, char *);
	int (*destroy)(void **);
} rtc;

static int open_library(void)
{
	static const char *const name[] = {
		"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so", "libnvrtc.so"};
	void *h = NULL;

	for (size_t i = 0; i < sizeof name / sizeof *name && !h; i++)
		h = dlopen(name[i], RTLD_NOW);
	if (!h)
		return -1;
#define GET(field, symbol) *(void **)&rtc.field = dlsym(h, symbol)
	GET(create, "nvrtcCreateProgram");
	GET(compile, "nvrtcCompileProgram");
	GET(log_size, "nvrtcGetProgramLogSize");
	GET(log, "nvrtcGetProgramLog");
	GET(ptx_size, "nvrtcGetPTXSize");
	GET(ptx, "nvrtcGetPTX");
	GET(cubin_size, "nvrtcGetCUBINSize");
	GET(cubin, "nvrtcGetCUBIN");
	GET(destroy, "nvrtcDestroyProgram");
#undef GET
	return rtc.create && rtc.compile && rtc.log_size && rtc.log && rtc.destroy ? 0 : -1;
}

static char *file_read(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	long n;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0 &&
		(text = malloc((size_t)n + 1)))
		text[fread(text, 1, (size_t)n, f)] = 0;
	fclose(f);
	return text;
}

static void save(void *program, const char *path, int (*size)(void *, size_t *), int (*get)(void *, char *))
{
	size_t n = 0;
	char *bytes;
	FILE *f;

	if (!path || !size || size(program, &n) || !(bytes = malloc(n)))
		return;
	if (get(program, bytes) == 0 && (f = fopen(path, "wb"))) {
		fwrite(bytes, 1, n, f);
		fclose(f);
	}
	free(bytes);
}

/* Only what the compiler says, not its greeting. */
static int report(void *program, const char *name, const char *arch, int rc)
{
	size_t n = 0;
	char *log;
	int bad = rc != 0;

	if (rtc.log_size(program, &n) == 0 && n > 1 && (log = malloc(n))) {
		rtc.log(program, log);
		if (log[0]) {
			fprintf(stderr, "%s (%s): rc %d\n%s\n", name, arch, rc, log);
			bad = 1;
		}
		free(log);
	}
	return bad;
}

static int check(const char *path, const char *arch, const char *ptx, const char *cubin)
{
	char target[64];
	const char *option[] = {target, "--fmad=false", "--no-cache", "--minimal", "-prec-div=true"};
	char *text = file_read(path);
	void *program = NULL;
	int bad;

	snprintf(target, sizeof target, "--gpu-architecture=%s", arch);
	if (!text || rtc.create(&program, text, path, 0, NULL, NULL)) {
		fprintf(stderr, "%s: cannot read\n", path);
		free(text);
		return 1;
	}
	bad = report(program, path, arch, rtc.compile(program, sizeof option / sizeof *option, option));
	save(program, ptx, rtc.ptx_size, rtc.ptx);
	save(program, cubin, rtc.cubin_size, rtc.cubin);
	rtc.destroy(&program);
	free(text);
	return bad;
}

int main(int argc, char **argv)
{
	const char *ptx = NULL, *cubin = NULL;
	int i = 1, passed = 0, failed = 0;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
		*(strcmp(argv[i], "-ptx") == 0 ? &ptx : &cubin) = argv[i + 1];
	if (i >= argc)
		return 2;
	if (open_library()) {
		printf("0 passed, 0 failed, %d skipped (no NVRTC)\n", argc - i - 1);
		return 0;
	}
	for (int f = i + 1; f < argc; f++)
		*(check(argv[f], argv[i], ptx, cubin) ? &failed : &passed) += 1;
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
