/* driver.c -- finds libcuda, fills the function table, calls cuInit once for the process, and knows the driver's errors.
 * A candidate that turns out to be a stub (cuInit gives 34) or lacks a function is passed over; the first that starts is
 * used. When none starts, the report keeps the most telling failure: the real driver's code rather than "not found". */
#include "runtime/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STUB = 34 };

/* Bare names go through the loader (LD_LIBRARY_PATH, ld.so.cache); the rest are places that it often does not know. */
static const char *const candidates[] = {
	"libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
#if defined(__x86_64__)
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
#elif defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
#endif
	"/usr/lib64/libcuda.so.1",
	"/usr/lib64/nvidia/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
	"libcuda.so",
};

static const struct {
	const char *symbol;
	size_t at;
	int needed;
} functions[] = {
#define NEED(name, symbol, params) {#symbol, offsetof(struct driver, name), 1},
#define MAY(name, symbol, params) {#symbol, offsetof(struct driver, name), 0},
#include "runtime/driver.def"
#undef NEED
#undef MAY
};

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
#define ERR(code, name, text) {code, "CUDA_ERROR_" #name, text},
#include "runtime/driver_errors.def"
#undef ERR
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct driver table;
static struct driver_report report;
static struct buf tried;
static int usable;
static pid_t owner;

/* POSIX promises that a data pointer of dlsym holds a function pointer; ISO C wants the detour through memcpy. */
static const char *fill(void *lib)
{
	size_t i;

	for (i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *p = dlsym(lib, functions[i].symbol);

		if (!p && functions[i].needed)
			return functions[i].symbol;
		memcpy((char *)&table + functions[i].at, &p, sizeof p);
	}
	return NULL;
}

/* 1 when this library started. */
static int start(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		buf_fmt(&tried, "%s\n", dlerror());   /* begins with the name */
		return 0;
	}
	report.path = name;
	report.missing = fill(lib);
	if (report.missing) {
		buf_fmt(&tried, "%s: has no %s (driver too old?)\n", name, report.missing);
		return 0;
	}
	report.code = table.cuInit(0);
	if (report.code == 0) {
		buf_fmt(&tried, "%s: ok\n", name);
		return 1;
	}
	buf_fmt(&tried, "%s: cuInit: %s (%d)\n", name, driver_error_name(report.code), report.code);
	if (report.code == STUB)
		dlclose(lib);   /* a stub left open would answer to its soname for everybody after us */
	return 0;
}

static void open_library(void)
{
	const char *own = secure_getenv("GPUEXPR_LIBCUDA");
	struct driver_report best = {0};
	size_t i, n = sizeof candidates / sizeof *candidates;

	if (own && *own)
		usable = start(own);
	for (i = 0; i < n && !usable && !(own && *own); i++) {
		usable = start(candidates[i]);
		if (report.path && report.code && report.code != STUB)
			break;   /* a real driver that cannot start: another copy of it would not either */
		if (report.path && !best.path)
			best = report;
	}
	if (!usable && !(report.path && report.code) && best.path)
		report = best;
	report.tried = tried.text ? tried.text : "";
	owner = getpid();
	if (usable)
		table.cuDriverGetVersion(&report.version);
}

const struct driver *driver_get(void)
{
	pthread_once(&once, open_library);
	return usable ? &table : NULL;
}

const struct driver_report *driver_report(void)
{
	driver_get();
	return &report;
}

int driver_forked(void)
{
	return driver_get() && getpid() != owner;
}

void driver_why(struct buf *b)
{
	const char *visible = secure_getenv("CUDA_VISIBLE_DEVICES"), *own = secure_getenv("GPUEXPR_LIBCUDA");

	if (driver_get())
		return;
	if (own && *own && (!report.path || report.missing)) {
		buf_fmt(b, "GPUEXPR_LIBCUDA names no usable driver: %.*s; unset it, or name a libcuda.so.1", (int)strcspn(report.tried, "\n"),
			report.tried);
		return;
	}
	if (!report.path) {
		buf_str(b, "no NVIDIA driver was found (libcuda.so.1); install the driver, or use --device=cpu");
		return;
	}
	if (report.missing) {
		buf_fmt(b, "the NVIDIA driver is too old: %s has no %s; update it", report.path, report.missing);
		return;
	}
	buf_fmt(b, "the NVIDIA driver did not start: cuInit: %s (%d): %s", driver_error_name(report.code), report.code,
		driver_error_text(report.code));
	if (report.code == 100 && visible)
		buf_fmt(b, "; CUDA_VISIBLE_DEVICES is set to \"%.60s\"", visible);
}

static size_t find(int code)
{
	size_t i, n = sizeof errors / sizeof *errors;

	for (i = 0; i < n && errors[i].code != code; i++)
		;
	return i;
}

const char *driver_error_name(int code)
{
	size_t i = find(code);

	return i < sizeof errors / sizeof *errors ? errors[i].name : code ? "CUDA_ERROR_?" : "CUDA_SUCCESS";
}

const char *driver_error_text(int code)
{
	size_t i = find(code);

	return i < sizeof errors / sizeof *errors ? errors[i].text : "an error that gpuexpr does not know; see cuda.h";
}

int driver_error_sticky(int code)
{
	static const int sticky[] = {214, 700, 702, 710, 714, 715, 716, 717, 718, 719};
	size_t i;

	for (i = 0; i < sizeof sticky / sizeof *sticky; i++)
		if (sticky[i] == code)
			return 1;
	return 0;
}

gx_status driver_error_status(int code)
{
	return code == 0 ? GX_OK : code == 2 ? GX_NOMEM : GX_DEVICE;
}
