/* doctor.c -- see doctor.h. Each check adds one finding; none stops the others, so that one report tells all. */
#include "runtime/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/diag.h"
#include "runtime/cache.h"
#include "runtime/cuda.h"
#include "runtime/nvrtc.h"

enum { NFS_MAGIC = 0x6969, ELEMENTS = 1000 };

enum state { NOTE, GOOD, WARN, FAIL };
static const char *const state_text[] = {"    ", "ok  ", "warn", "FAIL"};
static const char *const state_json[] = {"note", "ok", "warn", "fail"};

struct report {
	struct buf *out;
	int json, n;
	gx_status status;            /* of the first failure */
};

/* "what is wrong; what to do", as errors are worded: cut behind the first part, gives the second. */
static const char *cut_remedy(struct buf *detail)
{
	char *at = detail->text ? strstr(detail->text, "; ") : NULL;

	if (!at)
		return "none is known; please report this";
	*at = 0;
	return at + 2;
}

/* One finding. remedy NULL: there is none, or for what is wrong it is part of the text. */
__attribute__((format(printf, 5, 6)))
static void add(struct report *r, enum state s, const char *name, const char *remedy, const char *fmt, ...)
{
	struct buf detail = {0};
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&detail, fmt, ap);
	va_end(ap);
	if (!remedy && s >= WARN)
		remedy = cut_remedy(&detail);
	if (r->json) {
		buf_str(r->out, r->n ? ",\n{\"name\":" : "\n{\"name\":");
		buf_json(r->out, name);
		buf_fmt(r->out, ",\"state\":\"%s\",\"detail\":", state_json[s]);
		buf_json(r->out, detail.text ? detail.text : "");
		buf_str(r->out, ",\"remedy\":");
		buf_json(r->out, remedy ? remedy : "");
		buf_char(r->out, '}');
	} else {
		buf_fmt(r->out, "%s  %-11s %s\n", state_text[s], name, detail.text ? detail.text : "");
		if (remedy)
			buf_fmt(r->out, "      %-11s-> %s\n", "", remedy);
	}
	r->n++;
	buf_free(&detail);
}

static void fail(struct report *r, gx_status s)
{
	if (!r->status)
		r->status = s;
}

/* The first line of a small file, "" when it is not there. */
static const char *first_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");

	line[0] = 0;
	if (f && !fgets(line, size, f))
		line[0] = 0;
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = 0;
	return line;
}

/* Many lines (what was tried) as findings of their own. */
static void add_lines(struct report *r, const char *name, const char *lines)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		add(r, NOTE, name, NULL, "tried %.*s", (int)n, lines);
		lines += n + (lines[n] == '\n');
	}
}

static void check_driver(struct report *r)
{
	const struct driver_report *d = driver_report();
	struct buf why = {0};

	if (driver_get()) {
		add(r, GOOD, "driver", NULL, "%s, supports CUDA %d.%d", d->path, d->version / 1000, d->version % 1000 / 10);
		return;
	}
	driver_why(&why);
	add(r, FAIL, "driver", NULL, "%s", why.text ? why.text : "not usable");
	add_lines(r, "driver", d->tried);
	buf_free(&why);
	fail(r, GX_DEVICE);
}

static void check_nodes(struct report *r)
{
	static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
	size_t i;

	if (!driver_report()->path)
		return;
	for (i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (access(nodes[i], R_OK | W_OK) == 0)
			add(r, GOOD, "node", NULL, "%s", nodes[i]);
		else if (driver_get())
			add(r, NOTE, "node", NULL, "%s: %s (the driver works without it)", nodes[i], strerror(errno));
		else
			add(r, WARN, "node", errno == EACCES ? "ask for rights to it (often: the group video or render)"
				: "run nvidia-modprobe -u as root, or give the container its GPU devices", "%s: %s", nodes[i], strerror(errno));
}

/* libcuda.so.1 is a link to libcuda.so.VERSION. */
static const char *library_version(char real[PATH_MAX])
{
	static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
		"/usr/lib64/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"};
	const char *v;
	size_t i;

	for (i = 0; i < sizeof places / sizeof *places; i++)
		if (realpath(places[i], real) && (v = strstr(real, "libcuda.so.")) && strchr(v + 11, '.'))
			return v + 11;
	return NULL;
}

static void check_versions(struct report *r)
{
	char line[256], real[PATH_MAX];
	const char *library = library_version(real);

	first_line("/sys/module/nvidia/version", line, sizeof line);
	if (!*line && strstr(first_line("/proc/driver/nvidia/version", line, sizeof line), "Module"))
		memmove(line, strstr(line, "Module"), strlen(strstr(line, "Module")) + 1);
	if (!*line) {
		add(r, NOTE, "module", NULL, "no nvidia kernel module is loaded");
		return;
	}
	if (library && !strstr(line, library))
		add(r, WARN, "module", "reboot after a driver update, or match the container's libcuda to the host driver",
			"kernel module %s, but libcuda %s", line, library);
	else
		add(r, GOOD, "module", NULL, "%s", line);
}

static void check_surroundings(struct report *r)
{
	extern char **environ;
	char line[256], **e;

	if (strstr(first_line("/proc/version", line, sizeof line), "icrosoft"))
		add(r, NOTE, "system", NULL, "WSL: the driver belongs to Windows, libcuda is in /usr/lib/wsl/lib");
	if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0)
		add(r, NOTE, "system", NULL, "a container: it needs the NVIDIA container toolkit (docker run --gpus all)");
	for (e = environ; *e; e++)
		if (!strncmp(*e, "CUDA_", 5) || !strncmp(*e, "GPUEXPR_", 8) || !strncmp(*e, "NVIDIA_VISIBLE", 14))
			add(r, NOTE, "variable", NULL, "%.200s", *e);
		else if (!strncmp(*e, "NVRTC_APPEND_FLAGS=", 19))
			add(r, WARN, "variable", "unset it unless you mean to change every kernel", "%.200s", *e);
}

static void device_line(const struct cuda_props *p, struct buf *b)
{
	static const char *const modes[] = {"", ", exclusive", ", PROHIBITED by its compute mode", ", exclusive process"};

	buf_fmt(b, "%d  %s, compute capability %d.%d, %d SMs, %.1f GiB, %s", p->ordinal, p->name, p->cc / 10, p->cc % 10, p->sms,
		(double)p->memory / (1 << 30), p->pci);
	buf_fmt(b, "%s%s%s%s", p->ecc ? ", ECC" : "", p->watchdog ? ", watchdog (long kernels are killed)" : "",
		p->compute_mode > 0 && p->compute_mode < 4 ? modes[p->compute_mode] : "", p->pools ? "" : ", no memory pools");
}

static void uuid_text(const unsigned char u[16], char text[41])
{
	int i, at = snprintf(text, 41, "GPU-");

	for (i = 0; i < 16; i++)
		at += snprintf(text + at, (size_t)(41 - at), i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
}

gx_status devices_text(struct buf *out, gx_error *err)
{
	int n = cuda_count(err), i;
	struct cuda_props p;
	char uuid[41];

	if (n < 0)
		return GX_DEVICE;
	for (i = 0; i < n; i++) {
		gx_status s = cuda_describe(i, &p, err);

		if (s)
			return s;
		device_line(&p, out);
		uuid_text(p.uuid, uuid);
		buf_fmt(out, ", %s\n", uuid);
	}
	return out->failed ? diag_plain(err, GX_NOMEM, "out of memory") : GX_OK;
}

static void check_devices(struct report *r)
{
	struct buf line = {0};
	struct cuda_props p;
	gx_error err;
	int n, i;

	if (!driver_get())
		return;
	n = cuda_count(&err);
	if (n <= 0) {
		add(r, FAIL, "device", "look at CUDA_VISIBLE_DEVICES and nvidia-smi", "%s", n ? err.text : "no GPU is visible");
		fail(r, GX_DEVICE);
	}
	for (i = 0; i < n; i++) {
		if (cuda_describe(i, &p, &err)) {
			add(r, FAIL, "device", NULL, "%d: %s", i, err.text);
			continue;
		}
		device_line(&p, &line);
		add(r, p.compute_mode == 2 ? WARN : GOOD, "device", p.compute_mode == 2 ? "nvidia-smi -c 0 as root allows it again"
			: NULL, "%s", line.text ? line.text : "");
		buf_free(&line);
	}
}

static void check_nvrtc(struct report *r)
{
	const struct nvrtc *n;
	struct buf archs = {0}, tried = {0};
	int i, k;

	for (i = 0; (n = nvrtc_at(i)); i++) {
		for (k = 0; k < n->narch; k++)
			buf_fmt(&archs, " %d", n->arch[k]);
		add(r, GOOD, "nvrtc", NULL, "%d.%d, %s, targets%s", n->version / 1000, n->version % 1000 / 10, n->path,
			archs.text ? archs.text : "");
		buf_free(&archs);
		if (!n->builtins)
			add(r, WARN, "nvrtc", "reinstall NVRTC so that both files lie in one folder",
				"its libnvrtc-builtins.so.%d.%d is not beside it", n->version / 1000, n->version % 1000 / 10);
	}
	if (i)
		return;
	add(r, FAIL, "nvrtc", "pip install nvidia-cuda-nvrtc, or install the CUDA toolkit, or set GPUEXPR_NVRTC=/path/to/"
		"libnvrtc.so.13", "the CUDA run-time compiler was not found");
	nvrtc_tried(&tried);
	add_lines(r, "nvrtc", tried.text ? tried.text : "");
	buf_free(&tried);
	fail(r, GX_COMPILER);
}

static const char probe[] =
	"struct args { const float *a; float *c; long long n; };\n"
	"extern \"C\" __global__ void gx_kernel(args p)\n"
	"{\n"
	"\tlong long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
	"\tif (i < p.n)\n"
	"\t\tp.c[i] = p.a[i] * p.a[i] + 3.0f / p.a[i];\n"
	"}\n";

/* Upload, run, download; the number of wrong elements, or -1. */
static int run_probe(struct cuda *dev, const struct cuda_kernel *k, gx_error *err)
{
	struct { cu_ptr a, c; long long n; } args = {0, 0, ELEMENTS};
	const unsigned grid[3] = {(ELEMENTS + 255) / 256, 1, 1};
	float a[ELEMENTS], c[ELEMENTS] = {0};
	int i, wrong = 0;
	gx_status s;

	for (i = 0; i < ELEMENTS; i++)
		a[i] = (float)(i - 500) * 0.37f + 0.01f;
	s = cuda_alloc(dev, sizeof a, NULL, &args.a, err);
	if (!s)
		s = cuda_alloc(dev, sizeof c, NULL, &args.c, err);
	if (!s)
		s = cuda_upload(dev, args.a, a, sizeof a, NULL, err);
	if (!s)
		s = cuda_launch(dev, k, grid, 256, 0, &args, NULL, err);
	if (!s)
		s = cuda_download(dev, c, args.c, sizeof c, NULL, err);
	cuda_free(dev, args.a, NULL);
	cuda_free(dev, args.c, NULL);
	for (i = 0; i < ELEMENTS; i++)
		wrong += c[i] != a[i] * a[i] + 3.0f / a[i];
	return s ? -1 : wrong;
}

static void check_run_on(struct report *r, struct cuda *dev, const struct image *image)
{
	struct cuda_kernel k;
	size_t available, total;
	gx_error err;
	gx_status s = cuda_load(dev, image->bytes, "gx_kernel", &k, NULL, &err);
	int wrong = s ? -1 : run_probe(dev, &k, &err);

	if (!cuda_memory(dev, &available, &total, NULL))
		add(r, NOTE, "memory", NULL, "%.1f of %.1f GiB free on GPU %d", (double)available / (1 << 30),
			(double)total / (1 << 30), dev->props.ordinal);
	if (wrong) {
		add(r, FAIL, "run", NULL, wrong < 0 ? "%s" : "%s: wrong result", wrong < 0 ? err.text : dev->props.name);
		fail(r, GX_DEVICE);
	} else {
		add(r, GOOD, "run", NULL, "a kernel of %d elements on GPU %d (%s) gave the right result", ELEMENTS,
			dev->props.ordinal, dev->props.name);
	}
	if (!s)
		cuda_unload(dev, &k);
}

static void check_kernel(struct report *r, const gx_options *opt)
{
	int ordinal = opt && opt->device >= 0 ? opt->device : GX_DEVICE_AUTO, cc = 0;
	struct cuda *dev = NULL;
	struct image image;
	gx_error err;
	gx_status s;

	if (driver_get() && cuda_open(ordinal, &dev, &err)) {
		add(r, FAIL, "context", NULL, "%s", err.text);
		fail(r, GX_DEVICE);
	}
	cc = dev ? dev->props.cc : opt && opt->arch ? nvrtc_arch(opt->arch) : 0;
	s = nvrtc_at(0) ? nvrtc_compile(probe, cc ? cc : 90, FORM_BEST, GX_MATH_STRICT, &image, &err) : GX_COMPILER;
	if (!s) {
		add(r, GOOD, "compile", NULL, "a kernel for %s_%d, %zu bytes", image.ptx ? "compute" : "sm", image.target, image.size);
		if (dev)
			check_run_on(r, dev, &image);
		image_free(&image);
	} else if (nvrtc_at(0)) {
		add(r, FAIL, "compile", NULL, "%s", err.text);
		fail(r, s);
	}
	cuda_close(dev);
}

/* A trial entry: stored, found, deleted again. */
static int cache_works(struct cache *c)
{
	static const char key[] = "gpuexpr doctor";
	struct image image = {.bytes = (char *)(uintptr_t)key, .size = sizeof key}, back;
	int hit;

	cache_store(c, key, sizeof key, &image);
	hit = cache_load(c, key, sizeof key, &back);
	cache_drop(c, key, sizeof key);
	image_free(&back);
	return hit;
}

static void check_cache_disk(struct report *r, const char *path)
{
	struct statvfs v;
	struct statfs f;

	if (statvfs(path, &v) == 0 && (double)v.f_bavail * (double)v.f_frsize < 64e6)
		add(r, WARN, "cache", "free some space", "only %.0f MB are free on its disk", (double)v.f_bavail * (double)v.f_frsize * 1e-6);
	if (statfs(path, &f) == 0 && f.f_type == NFS_MAGIC)
		add(r, NOTE, "cache", NULL, "it is on NFS; a local folder (GPUEXPR_CACHE_DIR) is faster");
}

static void check_cache(struct report *r, const gx_options *opt)
{
	struct cache *c = cache_open(opt);
	struct cache_item *item;
	int n;

	if (!c)
		return;
	if (*cache_off(c)) {
		add(r, WARN, "cache", "put that right or set GPUEXPR_CACHE_DIR; until then every program compiles its kernels again",
			"not in use: %s %s", cache_path(c), cache_off(c));
	} else if (!cache_works(c)) {
		add(r, WARN, "cache", "check owner, rights and free space, or set GPUEXPR_CACHE_DIR", "%s cannot be written",
			cache_path(c));
	} else {
		n = cache_scan(c, &item);
		free(item);
		add(r, GOOD, "cache", NULL, "%s, %d entries", cache_path(c), n);
	}
	if (*cache_path(c))
		check_cache_disk(r, cache_path(c));
	cache_close(c);
}

gx_status doctor_text(const gx_options *opt, int json, struct buf *out)
{
	struct report r = {.out = out, .json = json};

	if (json)
		buf_str(out, "{\"version\":1,\"checks\":[");
	add(&r, NOTE, "gpuexpr", NULL, "%s", GX_VERSION_TEXT);
	check_surroundings(&r);
	check_driver(&r);
	check_nodes(&r);
	check_versions(&r);
	check_devices(&r);
	check_nvrtc(&r);
	check_kernel(&r, opt);
	check_cache(&r, opt);
	if (json)
		buf_fmt(out, "\n],\"ok\":%s}\n", r.status ? "false" : "true");
	else
		buf_str(out, r.status ? "No kernel ran on a GPU; the CPU engine works without all this.\n" : "All is well.\n");
	return out->failed ? GX_NOMEM : r.status;
}
