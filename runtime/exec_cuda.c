/* exec_cuda.c -- the CUDA engine: a plan's kernels to loaded code once, then run on a stream as often as wanted.
 * A launch needs only what codegen listed (struct arg): each entry is one number for the kernel's parameter struct. All
 * memory of a run comes from the device pool in the order of the stream, so nothing here waits unless the plan has checks
 * or the caller wants the time. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "codegen/codegen.h"
#include "runtime/backend.h"
#include "runtime/kernels.h"

enum { BY_VALUE_MAX = 4096, FEW_TEMPS = 32, FEW_BUFFERS = 64, COMPILERS = 4 };

struct cuda_engine {
	struct cuda *dev;
	struct cache *cache;
	struct kernels *kernels;
	struct device_info info;
	char note[256], arch[16];
};

struct image_kernel {
	struct cuda_text text;
	const struct loaded *loaded;
};

struct cuda_image {
	int n;                       /* units.n */
	struct units units;
	struct image_kernel kernel[];
};

static void describe(struct cuda_engine *e)
{
	const struct cuda_props *p = &e->dev->props;

	snprintf(e->note, sizeof e->note, "%s, compute capability %d.%d, %d SMs, %.0f GiB", p->name, p->cc / 10, p->cc % 10, p->sms,
		(double)p->memory / (1 << 30));
	snprintf(e->arch, sizeof e->arch, "sm_%d", p->cc);
	e->info.sms = p->sms;
	e->info.max_threads_sm = p->max_threads_sm;
	e->info.l2_bytes = p->l2_bytes;
}

gx_status cuda_engine_open(const gx_options *opt, int ordinal, struct cuda_engine **out, gx_error *err)
{
	struct cuda_engine *e = gx_calloc(1, sizeof *e);
	gx_status s = GX_NOMEM;

	*out = NULL;
	if (!e)
		return diag_plain(err, s, "out of memory");
	s = cuda_open(ordinal, &e->dev, err);
	if (!s) {
		describe(e);
		e->cache = cache_open(opt);
		e->kernels = e->cache ? kernels_new(e->dev, e->cache) : NULL;
		if (!e->kernels)
			s = diag_plain(err, GX_NOMEM, "out of memory");
	}
	if (s) {
		cuda_engine_close(e);
		return s;
	}
	*out = e;
	return GX_OK;
}

void cuda_engine_close(struct cuda_engine *e)
{
	if (!e)
		return;
	kernels_free(e->kernels);
	cache_close(e->cache);
	cuda_close(e->dev);
	free(e);
}

const char *cuda_engine_note(const struct cuda_engine *e)
{
	return e->note;
}

const char *cuda_engine_arch(const struct cuda_engine *e)
{
	return e->arch;
}

int cuda_engine_ordinal(const struct cuda_engine *e)
{
	return e->dev->props.ordinal;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void cuda_image_free(struct cuda_engine *e, struct cuda_image *image)
{
	int i;

	if (!image)
		return;
	for (i = 0; i < image->n; i++) {
		cuda_text_free(&image->kernel[i].text);
		kernels_release(e->kernels, image->kernel[i].loaded);
	}
	cuda_units_free(&image->units);
	free(image);
}

/* Work shared by the threads that fetch the kernels of one plan. */
struct fetch {
	struct cuda_engine *e;
	struct cuda_image *image;
	gx_math math;
	int next;                    /* atomic */
	pthread_mutex_t lock;        /* guards what follows */
	gx_status status;
	gx_error *err;
	struct kernels_cost cost;
};

static void fetch_one(struct fetch *f, struct image_kernel *k)
{
	struct kernels_cost cost = {0};
	gx_error err = {0};
	gx_status s = kernels_get(f->e->kernels, k->text.text.text, f->math, &k->loaded, &cost, &err);

	pthread_mutex_lock(&f->lock);
	if (s && !f->status) {
		f->status = s;
		if (f->err)
			*f->err = err;
	}
	f->cost.memory += cost.memory;
	f->cost.disk += cost.disk;
	f->cost.compiled += cost.compiled;
	f->cost.ms_compile += cost.ms_compile;
	f->cost.ms_load += cost.ms_load;
	pthread_mutex_unlock(&f->lock);
}

static void *fetch_some(void *arg)
{
	struct fetch *f = arg;
	int i;

	while ((i = __atomic_fetch_add(&f->next, 1, __ATOMIC_RELAXED)) < f->image->n)
		fetch_one(f, &f->image->kernel[i]);
	return NULL;
}

/* NVRTC compiles in parallel, so several kernels go to several threads; the caller's own is one of them. */
static void fetch_all(struct fetch *f, gx_cost *cost)
{
	int n = f->image->n < COMPILERS ? f->image->n : COMPILERS, i, started = 0;
	double t = now_ms(), wall, sum;
	pthread_t thread[COMPILERS];

	for (i = 1; i < n; i++)
		started += pthread_create(&thread[started], NULL, fetch_some, f) == 0;
	fetch_some(f);
	for (i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	wall = now_ms() - t;
	sum = f->cost.ms_compile + f->cost.ms_load;
	if (!cost)
		return;
	cost->cached += f->cost.memory + f->cost.disk;
	if (sum <= 0)
		return;
	cost->ms_compile += wall * f->cost.ms_compile / sum;
	cost->ms_load += wall * f->cost.ms_load / sum;
}

static gx_status make_texts(const struct plan *p, gx_math math, struct cuda_image *image, gx_error *err)
{
	int i;

	if (cuda_units_make(p, &image->units))
		return diag_plain(err, GX_NOMEM, "out of memory");
	image->n = image->units.n;
	for (i = 0; i < image->n; i++) {
		const struct unit *u = &image->units.unit[i];
		const char *limit = cuda_text_limit(u);

		if (limit)
			return diag_plain(err, GX_LIMIT, "%s", limit);
		if (cuda_text_make(p, u, math, &image->kernel[i].text) || image->kernel[i].text.text.failed)
			return diag_plain(err, GX_NOMEM, "out of memory");
	}
	return GX_OK;
}

gx_status cuda_prepare(struct cuda_engine *e, const struct plan *p, gx_math math, struct cuda_image **out, gx_cost *cost,
	gx_error *err)
{
	struct cuda_image *image = gx_calloc(1, sizeof *image + (size_t)p->nkernel * sizeof *image->kernel);
	struct fetch f = {.e = e, .image = image, .math = math, .err = err};
	double t = now_ms();
	gx_status s;

	*out = NULL;
	if (!image)
		return diag_plain(err, GX_NOMEM, "out of memory");
	s = make_texts(p, math, image, err);
	if (cost)
		cost->ms_codegen += now_ms() - t;
	if (!s) {
		pthread_mutex_init(&f.lock, NULL);
		fetch_all(&f, cost);
		pthread_mutex_destroy(&f.lock);
		s = f.status;
	}
	if (s) {
		cuda_image_free(e, image);
		return s;
	}
	*out = image;
	return GX_OK;
}

/* One run of a plan. */
struct run {
	struct cuda_call c;
	struct cuda_engine *e;
	const struct plan *p;
	const struct run_arrays *arrays;
	void *stream;
	cu_ptr *temp, few[FEW_TEMPS];
	cu_ptr failure;              /* struct device_failure; 0 when the plan has no checks */
};

/* What one launch adds. */
struct lane {
	struct launch l;
	cu_ptr scratch, counters;
	uint64_t *address;           /* of the kernel's buffers */
};

static uint64_t buffer_address(const struct run *r, const struct kbuf *b)
{
	switch (b->kind) {
	case BUF_INPUT: return (uintptr_t)r->arrays->input[b->number];
	case BUF_OUTPUT: return (uintptr_t)r->arrays->output[b->number];
	case BUF_TEMP: return r->temp[b->number];
	}
	return 0;
}

static void take_lane(struct run *r, struct lane *n)
{
	struct cuda_call *c = &r->c;
	size_t counter_bytes = n->l.counters * sizeof(uint32_t);

	n->scratch = cuda_take(c, n->l.scratch, r->stream);
	n->counters = cuda_take(c, counter_bytes, r->stream);
	if (n->counters)
		CU(c, cuMemsetD8Async(n->counters, 0, counter_bytes, r->stream));
}

static void fill(const struct run *r, const struct image_kernel *ik, const struct unit *u, const struct lane *n, void *params)
{
	cuda_args_fill(r->p, u, &ik->text, &n->l, n->address, n->scratch, n->counters, r->failure, params);
}

static void no_memory(struct cuda_call *c)
{
	if (!c->status)
		c->status = diag_plain(c->err, GX_NOMEM, "out of memory");
}

/* Parameters too long for a launch go to device memory. The copy is from ordinary memory: once the call returns, the
 * driver has taken the bytes. */
static void launch_by_pointer(struct run *r, const struct image_kernel *ik, const struct unit *u, struct lane *n)
{
	struct cuda_call *c = &r->c;
	char *params = gx_malloc(ik->text.args_size);
	cu_ptr there;

	if (!params) {
		no_memory(c);
		return;
	}
	fill(r, ik, u, n, params);
	there = cuda_take(c, ik->text.args_size, r->stream);
	CU(c, cuMemcpyHtoDAsync(there, params, ik->text.args_size, r->stream));
	cuda_launch_in(c, &ik->loaded->kernel, n->l.grid, n->l.block, n->l.shared, &there, r->stream);
	cuda_give(c, there, r->stream);
	free(params);
}

static void launch(struct run *r, const struct image_kernel *ik, const struct unit *u, struct lane *n)
{
	_Alignas(16) char params[BY_VALUE_MAX];
	int i, count = unit_buffers(u);

	for (i = 0; i < count; i++)
		n->address[i] = buffer_address(r, unit_buffer(u, i));
	take_lane(r, n);
	for (n->l.phase = 0; n->l.phase < n->l.phases; n->l.phase++) {
		if (ik->text.by_pointer) {
			launch_by_pointer(r, ik, u, n);
			continue;
		}
		fill(r, ik, u, n, params);
		cuda_launch_in(&r->c, &ik->loaded->kernel, n->l.grid, n->l.block, n->l.shared, params, r->stream);
	}
	cuda_give(&r->c, n->counters, r->stream);
	cuda_give(&r->c, n->scratch, r->stream);
}

static void run_unit(struct run *r, const struct image_kernel *ik, const struct unit *u)
{
	uint64_t few[FEW_BUFFERS];
	struct lane n = {.address = few};

	cuda_launch_make(u, &ik->text, &r->e->info, &n.l);
	if (n.l.grid[0] == 0)
		return;
	if (unit_buffers(u) > FEW_BUFFERS)
		n.address = gx_calloc((size_t)unit_buffers(u), sizeof *n.address);
	if (n.address)
		launch(r, ik, u, &n);
	else
		no_memory(&r->c);
	if (n.address != few)
		free(n.address);
}

static void take_temps(struct run *r, const struct units *u, int unit)
{
	int i;

	for (i = 0; i < r->p->ntemp; i++) {
		const struct temp *t = &r->p->temp[i];

		if (u->first[i] == unit)
			r->temp[i] = cuda_take(&r->c, (size_t)t->count * gx_dtype_size(t->mem), r->stream);
	}
}

static void give_temps(struct run *r, const struct units *u, int unit)
{
	int i;

	for (i = 0; i < r->p->ntemp; i++)
		if (u->last[i] <= unit) {
			cuda_give(&r->c, r->temp[i], r->stream);
			r->temp[i] = 0;
		}
}

static void run_units(struct run *r, const struct cuda_image *image)
{
	const struct units *u = &image->units;
	int i;

	for (i = 0; i < image->n && !r->c.status; i++) {
		take_temps(r, u, i);
		if (!r->c.status)
			run_unit(r, &image->kernel[i], &u->unit[i]);
		give_temps(r, u, i);
	}
	give_temps(r, u, INT32_MAX);
}

static void take_failure(struct run *r)
{
	struct cuda_call *c = &r->c;

	r->failure = cuda_take(c, sizeof(struct device_failure), r->stream);
	CU(c, cuMemsetD8Async(r->failure, 0, sizeof(struct device_failure), r->stream));
	CU(c, cuMemsetD8Async(r->failure + offsetof(struct device_failure, position), 0xff, sizeof(uint64_t), r->stream));
}

static void read_failure(struct run *r, struct run_failure *f)
{
	struct cuda_call *c = &r->c;
	struct device_failure d = {.position = UINT64_MAX};

	CU(c, cuMemcpyDtoHAsync(&d, r->failure, sizeof d, r->stream));
	CU(c, cuStreamSynchronize(r->stream));
	if (c->status || d.position == UINT64_MAX)
		return;
	f->check = (int)d.check;
	f->position = (int64_t)d.position;
	f->value = d.value;
}

static void run_plan(struct run *r, const struct cuda_image *image, struct run_failure *f)
{
	struct cuda_call *c = &r->c;

	if (r->p->ncheck)
		take_failure(r);
	run_units(r, image);
	if (r->failure)
		read_failure(r, f);
	cuda_give(c, r->failure, r->stream);
}

static gx_status run_timed(struct run *r, const struct cuda_image *image, struct run_failure *f, double *ms, gx_error *err)
{
	struct cuda *dev = r->e->dev;
	struct cuda_timer t = {0};
	gx_status s = ms ? cuda_timer_start(dev, &t, r->stream, err) : GX_OK;

	if (s)
		return s;
	if (!cuda_enter(&r->c, dev, err))
		run_plan(r, image, f);
	s = cuda_leave(&r->c);
	if (!ms)
		return s;
	if (!s)
		s = cuda_timer_stop(dev, &t, r->stream, err);
	return cuda_timer_read(dev, &t, ms, s ? NULL : err) && !s ? GX_DEVICE : s;
}

gx_status cuda_engine_run(struct cuda_engine *e, const struct plan *p, struct cuda_image *image, const struct run_arrays *device,
	void *stream, struct run_failure *f, double *ms, gx_error *err)
{
	struct run r = {.e = e, .p = p, .arrays = device, .stream = stream};
	gx_status s;

	f->check = -1;
	r.temp = r.few;
	if (p->ntemp > FEW_TEMPS)
		r.temp = gx_calloc((size_t)p->ntemp, sizeof *r.temp);
	if (!r.temp)
		return diag_plain(err, GX_NOMEM, "out of memory");
	s = run_timed(&r, image, f, ms, err);
	if (r.temp != r.few)
		free(r.temp);
	return s;
}

gx_status cuda_engine_sync(struct cuda_engine *e, void *stream, gx_error *err)
{
	return cuda_sync(e->dev, stream, err);
}

gx_status cuda_engine_alloc(struct cuda_engine *e, size_t bytes, void **data, gx_error *err)
{
	cu_ptr p;
	gx_status s = cuda_alloc_now(e->dev, bytes, &p, err);

	*data = (void *)(uintptr_t)p;
	return s;
}

void cuda_engine_free(struct cuda_engine *e, void *data)
{
	cuda_free_now(e->dev, (cu_ptr)(uintptr_t)data);
}

gx_status cuda_engine_upload(struct cuda_engine *e, void *device, const void *host, size_t bytes, void *stream, gx_error *err)
{
	return cuda_upload(e->dev, (cu_ptr)(uintptr_t)device, host, bytes, stream, err);
}

gx_status cuda_engine_download(struct cuda_engine *e, void *host, const void *device, size_t bytes, void *stream, gx_error *err)
{
	return cuda_download(e->dev, host, (cu_ptr)(uintptr_t)device, bytes, stream, err);
}

gx_status cuda_dump_ptx(const char *cuda, const char *arch, gx_math math, char **ptx, gx_error *err)
{
	struct image image;
	gx_status s = nvrtc_compile(cuda, nvrtc_arch(arch), FORM_PTX, math, &image, err);

	*ptx = NULL;
	if (s)
		return s;
	*ptx = image.bytes;
	return GX_OK;
}
