/* nvrtc_find.c -- where libnvrtc may be, and opening it. Candidates are tried in the order of the tables below: what the
 * process already has, the loader's own search, then conda, virtual environments, pip and toolkit folders.
 * libnvrtc opens its libnvrtc-builtins by bare name at compile time and does not look beside itself, so the file from its
 * own folder is loaded here beforehand, by full path. Nothing is ever closed. */
#include "runtime/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"

enum { MAX_CANDIDATES = 96, MAX_OPEN = 8 };

/* 11.2 to 11.8 all have the soname .11.2. */
static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};

/* Folders below the value of an environment variable (or of the root), as patterns. */
static const struct { const char *variable, *folder; } places[] = {
	{"CONDA_PREFIX", "/lib"},
	{"CONDA_PREFIX", "/targets/*/lib"},
	{"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/cu[0-9]*/lib"},
	{"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib"},
	{"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/cu[0-9]*/lib"},
	{"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib"},
	{"CUDA_PATH", "/lib64"},
	{"CUDA_PATH", "/targets/*/lib"},
	{"CUDA_HOME", "/lib64"},
	{"CUDA_HOME", "/targets/*/lib"},
	{NULL, "/usr/local/cuda/lib64"},
	{NULL, "/usr/local/cuda-[0-9]*/lib64"},
	{NULL, "/usr/local/cuda*/targets/*/lib"},
	{NULL, "/opt/cuda/lib64"},
#if defined(__x86_64__)
	{NULL, "/usr/lib/x86_64-linux-gnu"},
#elif defined(__aarch64__)
	{NULL, "/usr/lib/aarch64-linux-gnu"},
#endif
	{NULL, "/usr/lib64"},
	{NULL, "/opt/nvidia/hpc_sdk/Linux_*/*/cuda/*/lib64"},
	{"HOME", "/.local/lib/python3*/site-packages/nvidia/cu[0-9]*/lib"},
	{"HOME", "/.local/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib"},
	{NULL, "/usr/local/lib/python3*/*-packages/nvidia/cu[0-9]*/lib"},
	{NULL, "/usr/local/lib/python3*/*-packages/nvidia/cuda_nvrtc/lib"},
};

static const struct { const char *symbol; size_t at; } functions[] = {
#define NVRTC(name, params) {#name, offsetof(struct nvrtc, name)},
#include "runtime/nvrtc.def"
#undef NVRTC
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   /* guards everything below */
static struct { char *name; int mode; } candidates[MAX_CANDIDATES];
static int ncandidates = -1, next_candidate;
static struct nvrtc libraries[MAX_OPEN];
static int nlibraries;
static struct buf tried;

static void add(const char *name, int mode)
{
	if (ncandidates < MAX_CANDIDATES && (candidates[ncandidates].name = strdup(name)))
		candidates[ncandidates++].mode = mode;
}

static int newest_first(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

/* Every libnvrtc.so.N in the folders that match. */
static void add_folders(const char *root, const char *folder)
{
	char pattern[PATH_MAX];
	glob_t g;
	size_t i;

	if (snprintf(pattern, sizeof pattern, "%s%s/libnvrtc.so.[0-9]*", root, folder) >= (int)sizeof pattern)
		return;
	if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0) {
		qsort(g.gl_pathv, g.gl_pathc, sizeof *g.gl_pathv, newest_first);
		for (i = 0; i < g.gl_pathc; i++)
			add(g.gl_pathv[i], 0);
	} else {
		buf_fmt(&tried, "%s: no such file\n", pattern);
	}
	globfree(&g);
}

/* GPUEXPR_NVRTC names the library, or its folder, and then nothing else is tried: the user has chosen. */
static int add_chosen(void)
{
	const char *own = secure_getenv("GPUEXPR_NVRTC");
	struct stat st;

	if (!own || !*own)
		return 0;
	if (stat(own, &st) == 0 && S_ISDIR(st.st_mode))
		add_folders(own, "");
	else
		add(own, 0);
	return 1;
}

static void list_candidates(void)
{
	size_t i;

	ncandidates = 0;
	if (add_chosen())
		return;
	for (i = 0; i < sizeof sonames / sizeof *sonames; i++)
		add(sonames[i], RTLD_NOLOAD);
	for (i = 0; i < sizeof sonames / sizeof *sonames; i++)
		add(sonames[i], 0);
	for (i = 0; i < sizeof places / sizeof *places; i++) {
		const char *root = places[i].variable ? secure_getenv(places[i].variable) : "";

		if (root && (*root == '/' || !places[i].variable))
			add_folders(root, places[i].folder);
	}
}

static int known(const void *handle)
{
	int i;

	for (i = 0; i < nlibraries; i++)
		if (libraries[i].handle == handle)
			return 1;
	return 0;
}

static const char *fill(struct nvrtc *n)
{
	size_t i;

	for (i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *p = dlsym(n->handle, functions[i].symbol);

		if (!p)
			return functions[i].symbol;
		memcpy((char *)n + functions[i].at, &p, sizeof p);
	}
	return NULL;
}

static int query(struct nvrtc *n)
{
	int major, minor;

	if (n->nvrtcVersion(&major, &minor) || n->nvrtcGetNumSupportedArchs(&n->narch) || n->narch < 1
			|| n->narch > NVRTC_MAX_ARCHS || n->nvrtcGetSupportedArchs(n->arch))
		return -1;
	n->version = major * 1000 + minor * 10;
	return 0;
}

/* Load the builtins library that lies beside libnvrtc (beside the real file when the first is a link). */
static void load_builtins(struct nvrtc *n)
{
	char real[PATH_MAX], name[PATH_MAX];
	const char *path[2] = {n->path, realpath(n->path, real)};
	int i;

	for (i = 0; i < 2 && !n->builtins; i++) {
		const char *slash = path[i] ? strrchr(path[i], '/') : NULL;

		if (!slash || snprintf(name, sizeof name, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - path[i]), path[i],
				n->version / 1000, n->version % 1000 / 10) >= (int)sizeof name)
			continue;
		if (dlopen(name, RTLD_NOW | RTLD_LOCAL))
			n->builtins = strdup(name);
	}
	if (!n->builtins)
		buf_fmt(&tried, "%s: no libnvrtc-builtins.so.%d.%d beside it (left to the loader)\n", n->path, n->version / 1000,
			n->version % 1000 / 10);
}

static void open_candidate(const char *name, int mode)
{
	struct nvrtc *n = &libraries[nlibraries];
	struct link_map *map = NULL;
	const char *missing;

	memset(n, 0, sizeof *n);
	n->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | mode);
	if (!n->handle) {
		if (mode != RTLD_NOLOAD)
			buf_fmt(&tried, "%s\n", dlerror());   /* begins with the name */
		return;
	}
	if (known(n->handle))
		return;
	missing = fill(n);
	if (missing || query(n)) {
		buf_fmt(&tried, "%s: not usable (%s)\n", name, missing ? missing : "nvrtcVersion failed");
		return;
	}
	dlinfo(n->handle, RTLD_DI_LINKMAP, &map);
	n->path = strdup(map && *map->l_name ? map->l_name : name);
	if (!n->path)
		return;
	load_builtins(n);
	buf_fmt(&tried, "%s: ok, version %d.%d\n", n->path, n->version / 1000, n->version % 1000 / 10);
	nlibraries++;
}

const struct nvrtc *nvrtc_at(int i)
{
	const struct nvrtc *n;

	pthread_mutex_lock(&lock);
	if (ncandidates < 0)
		list_candidates();
	while (i >= nlibraries && nlibraries < MAX_OPEN && next_candidate < ncandidates) {
		int k = next_candidate++;

		open_candidate(candidates[k].name, candidates[k].mode);
	}
	n = i < nlibraries ? &libraries[i] : NULL;
	pthread_mutex_unlock(&lock);
	return n;
}

int nvrtc_target(const struct nvrtc *n, int cc)
{
	int best = 0;

	for (int i = 0; i < n->narch; i++)
		if (n->arch[i] <= cc && n->arch[i] > best)
			best = n->arch[i];
	return best;
}

const struct nvrtc *nvrtc_for(int cc)
{
	const struct nvrtc *n, *older = NULL;

	for (int i = 0; (n = nvrtc_at(i)); i++) {
		int best = nvrtc_target(n, cc);

		if (best == cc)
			return n;
		if (best && !older)
			older = n;
	}
	return older;
}

int nvrtc_opened(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = nlibraries;
	pthread_mutex_unlock(&lock);
	return n;
}

void nvrtc_tried(struct buf *b)
{
	pthread_mutex_lock(&lock);
	buf_put(b, tried.text ? tried.text : "", tried.len);
	pthread_mutex_unlock(&lock);
}
