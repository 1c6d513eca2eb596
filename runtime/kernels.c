/* kernels.c -- see kernels.h. The ladder: an image that the driver refuses as not made for this GPU or driver (200, 209,
 * 218, 222) is forgotten; once, the other form is tried (PTX in place of a cubin, a cubin in place of PTX). */
#include "runtime/kernels.h"

#include <string.h>
#include <time.h>

#include "base/diag.h"
#include "base/fault.h"

enum { KEEP = 1024 };   /* loaded kernels that nobody uses any more */

struct kernels {
	struct cuda *dev;
	struct cache *cache;
	struct memo *memo;
};

struct request {
	struct kernels *ks;
	const char *source;
	gx_math math;
	struct kernels_cost *cost;
	struct loaded *loaded;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The first line of a kernel is a comment with the user's statements: c = a*b and z = x*y are one kernel. */
static const char *after_title(const char *source)
{
	const char *end = strncmp(source, "/*", 2) == 0 ? strchr(source, '\n') : NULL;

	return end ? end + 1 : source;
}

void kernels_key(const char *source, int cc, gx_math math, int nvrtc, struct buf *b)
{
	buf_fmt(b, "gpuexpr %s\nnvrtc %d.%d\ntarget %d\noptions ", GX_VERSION_TEXT, nvrtc / 1000, nvrtc % 1000 / 10, cc);
	nvrtc_settings(math, b);
	buf_fmt(b, "\n\n%s", after_title(source));
}

static void drop(void *arg, void *value)
{
	struct loaded *l = value;

	cuda_unload(arg, &l->kernel);
	free(l);
}

struct kernels *kernels_new(struct cuda *dev, struct cache *cache)
{
	struct kernels *ks = gx_calloc(1, sizeof *ks);

	if (!ks)
		return NULL;
	ks->dev = dev;
	ks->cache = cache;
	ks->memo = memo_new(drop, dev, KEEP);
	if (!ks->memo) {
		free(ks);
		return NULL;
	}
	return ks;
}

void kernels_free(struct kernels *ks)
{
	if (!ks)
		return;
	memo_free(ks->memo);
	free(ks);
}

static int refused(int code)
{
	return code == 200 || code == 209 || code == 218 || code == 222;
}

static gx_status load(struct request *r, const struct image *image, int *code, gx_error *err)
{
	double t = now_ms();
	gx_status s = cuda_load(r->ks->dev, image->bytes, KERNEL_NAME, &r->loaded->kernel, code, err);

	r->cost->ms_load += now_ms() - t;
	r->loaded->target = image->target;
	r->loaded->ptx = image->ptx;
	r->loaded->nvrtc = image->nvrtc;
	return s;
}

/* 1: loaded from the cache, or failed for good with *s set. 0: look further. */
static int from_disk(struct request *r, int nvrtc, gx_status *s, gx_error *err)
{
	struct kernels *ks = r->ks;
	struct buf key = {0};
	struct image image = {0};
	int hit = 0, code = 0;

	kernels_key(r->source, ks->dev->props.cc, r->math, nvrtc, &key);
	if (!key.failed)
		hit = cache_load(ks->cache, key.text, key.len, &image);
	if (hit && image.ptx && image.driver != ks->dev->props.driver)
		hit = 0;   /* PTX is compiled by the driver: another driver, another kernel */
	if (hit) {
		*s = load(r, &image, &code, err);
		if (*s && refused(code)) {
			cache_drop(ks->cache, key.text, key.len);
			hit = 0;
		}
	}
	if (hit && !*s)
		r->cost->disk++;
	image_free(&image);
	buf_free(&key);
	return hit;
}

static gx_status compile(struct request *r, enum image_form form, struct image *image, gx_error *err)
{
	double t = now_ms();
	gx_status s = nvrtc_compile(r->source, r->ks->dev->props.cc, form, r->math, image, err);

	r->cost->ms_compile += now_ms() - t;
	if (image->ptx)
		image->driver = r->ks->dev->props.driver;
	return s;
}

static void keep(struct request *r, const struct image *image)
{
	struct buf key = {0};

	kernels_key(r->source, r->ks->dev->props.cc, r->math, image->nvrtc, &key);
	if (!key.failed)
		cache_store(r->ks->cache, key.text, key.len, image);
	buf_free(&key);
}

static gx_status from_compiler(struct request *r, gx_error *err)
{
	struct image image, other;
	gx_error again;
	gx_status s = compile(r, FORM_BEST, &image, err);
	int code = 0;

	if (!s)
		s = load(r, &image, &code, err);
	if (s && refused(code) && !compile(r, image.ptx ? FORM_CUBIN : FORM_PTX, &other, &again)) {
		image_free(&image);
		image = other;
		s = load(r, &image, &code, &again) ? s : GX_OK;   /* the first refusal is the one to tell */
	}
	if (!s) {
		keep(r, &image);
		r->cost->compiled++;
	}
	image_free(&image);
	return s;
}

static gx_status make_loaded(struct request *r, gx_error *err)
{
	struct cache *cache = r->ks->cache;
	int cc = r->ks->dev->props.cc, last = cache_nvrtc(cache);
	const struct nvrtc *lib;
	gx_status s = GX_OK;
	double t;

	if (last && from_disk(r, last, &s, err))
		return s;
	t = now_ms();
	lib = nvrtc_for(cc);
	r->cost->ms_compile += now_ms() - t;
	if (lib && lib->version != last) {
		cache_set_nvrtc(cache, lib->version);
		if (from_disk(r, lib->version, &s, err))
			return s;
	}
	return from_compiler(r, err);
}

static gx_status make(void *arg, void **value, gx_error *err)
{
	struct request *r = arg;
	gx_status s;

	r->loaded = gx_calloc(1, sizeof *r->loaded);
	if (!r->loaded)
		return diag_plain(err, GX_NOMEM, "out of memory");
	s = make_loaded(r, err);
	if (s)
		free(r->loaded);
	else
		*value = r->loaded;
	return s;
}

gx_status kernels_get(struct kernels *ks, const char *source, gx_math math, const struct loaded **k,
	struct kernels_cost *cost, gx_error *err)
{
	struct request r = {.ks = ks, .source = source, .math = math, .cost = cost};
	struct buf key = {0};
	struct memo_entry *e;
	struct loaded *l;
	gx_status s = GX_NOMEM;
	int made;

	*k = NULL;
	kernels_key(source, 0, math, 0, &key);
	if (key.failed)
		diag_plain(err, s, "out of memory");
	else
		s = memo_get(ks->memo, key.text, key.len, make, &r, &e, &made, err);
	buf_free(&key);
	if (s)
		return s;
	if (!made)
		cost->memory++;
	l = e->value;
	__atomic_store_n(&l->entry, e, __ATOMIC_RELAXED);
	*k = l;
	return GX_OK;
}

void kernels_release(struct kernels *ks, const struct loaded *k)
{
	if (k)
		memo_release(ks->memo, __atomic_load_n(&k->entry, __ATOMIC_RELAXED));
}
