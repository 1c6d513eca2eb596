/* emulate.c -- plans through the host's C++ compiler: texts to shared objects (remembered by what they
 * contain), argument structs, launches, and a look at what a launch leaves behind. */
#include "tests/emulate/emulate.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "tests/emulate/fibre.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZE "-fsanitize=address,undefined -fno-sanitize-recover=all -fsanitize-sections=gx_shared"
#else
#define SANITIZE ""
#endif
#define FLAGS \
	"-std=c++17 -O1 -g1 -w -fPIC -ffp-contract=off -fno-strict-aliasing -fvisibility=hidden " SANITIZE

struct loaded {
	char name[33]; /* hash of the text */
	void (*entry)(const void *);
	struct emu_state **state;
	void (*rubbish)(void);
	int barriers; /* 0: threads never wait, so they run one after the other */
};

static struct loaded *loaded;
static int nloaded, loaded_cap;
static void **library;
static int nlibrary;
static char message[400];

const char *emulate_error(void) { return message; }

/* A test program without memory has nothing more to say. */
static void *grow(void *p, size_t n)
{
	void *q = realloc(p, n);

	if (!q)
		abort();
	return q;
}

static int broken(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof message, fmt, ap);
	va_end(ap);
	return -1;
}

static const char *folder(void)
{
	const char *d = getenv("EMULATE_DIR");

	return d && *d ? d : "build/emulate";
}

static const char *compiler(void)
{
	const char *c = getenv("CXX");

	return c && *c ? c : "g++";
}

static const struct loaded *find(const char *name)
{
	for (int i = 0; i < nloaded; i++)
		if (strcmp(loaded[i].name, name) == 0)
			return &loaded[i];
	return NULL;
}

/* Texts of the unit in the making. */
struct bundle {
	struct buf text;
	char (*name)[33];
	uint8_t *barriers;
	int n, cap;
};

/* For looking at, and for the real compiler. */
static void text_save(const struct cuda_text *t, const char *name)
{
	char path[400];
	FILE *f;

	if (!getenv("EMULATE_TEXTS"))
		return;
	mkdir("build", 0777);
	mkdir(folder(), 0777);
	snprintf(path, sizeof path, "%s/%s.cu", folder(), name);
	f = fopen(path, "w");
	if (!f)
		return;
	fwrite(t->text.text, 1, t->text.len, f);
	fclose(f);
}

static int unit_has(const struct bundle *u, const char *name)
{
	for (int i = 0; i < u->n; i++)
		if (strcmp(u->name[i], name) == 0)
			return 1;
	return 0;
}

/* Each kernel lives in a namespace of its own, under a name of its own; entry<n> turns an address into its
 * parameter. */
static void unit_add(struct bundle *u, const struct cuda_text *t, const char *name)
{
	if (find(name) || unit_has(u, name))
		return;
	text_save(t, name);
	if (u->n == u->cap) {
		u->cap = u->cap ? 2 * u->cap : 16;
		u->name = grow(u->name, (size_t)u->cap * sizeof *u->name);
		u->barriers = grow(u->barriers, (size_t)u->cap);
	}
	buf_fmt(&u->text,
		"#define gx_kernel gx_kernel_%d\nnamespace k%d {\n#line 1 \"kernel %s\"\n%s\n}\n#undef gx_kernel\n",
		u->n, u->n, name, t->text.text);
	buf_fmt(&u->text,
		"extern \"C\" __attribute__((visibility(\"default\"))) void entry%d(const void *a)\n{\n"
		"\tk%d::gx_kernel_%d(%s(const k%d::args *)a);\n}\n",
		u->n, u->n, u->n, t->by_pointer ? "" : "*", u->n);
	u->barriers[u->n] = strstr(t->text.text, "__sync") || strstr(t->text.text, "_sync(");
	memcpy(u->name[u->n++], name, 33);
}

static int shell(const char *fmt, ...)
{
	char command[3000];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(command, sizeof command, fmt, ap);
	va_end(ap);
	rc = system(command);
	return rc == 0 ? 0 : broken("failed: %.300s", command);
}

/* The shim is compiled once, as a precompiled header that carries the flags and its own content in its
 * name. */
static int shim_make(char path[300])
{
	struct buf b = {0};
	char name[33], line[4096];
	FILE *f = fopen("tests/emulate/shim.h", "r");
	struct stat st;

	if (!f)
		return broken("tests/emulate/shim.h is not here: run from the top of the tree");
	buf_str(&b, FLAGS);
	buf_str(&b, compiler());
	while (fgets(line, sizeof line, f))
		buf_str(&b, line);
	fclose(f);
	hash_name(b.text, b.len, name);
	buf_free(&b);
	mkdir("build", 0777);
	mkdir(folder(), 0777);
	snprintf(path, 300, "%s/shim-%.16s.h", folder(), name);
	snprintf(line, sizeof line, "%s.gch", path);
	if (stat(line, &st) == 0)
		return 0;
	return shell("cp tests/emulate/shim.h %s && %s %s -x c++-header %s -o %s.%d.tmp && mv %s.%d.tmp %s",
		path, compiler(), FLAGS, path, line, (int)getpid(), line, (int)getpid(), line);
}

static int unit_load(const struct bundle *u, const char *path)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!h)
		return broken("%s", dlerror());
	library = grow(library, (size_t)(nlibrary + 1) * sizeof *library);
	library[nlibrary++] = h;
	for (int i = 0; i < u->n; i++) {
		struct loaded *l;
		char symbol[32];

		if (nloaded == loaded_cap) {
			loaded_cap = loaded_cap ? 2 * loaded_cap : 64;
			loaded = grow(loaded, (size_t)loaded_cap * sizeof *loaded);
		}
		l = &loaded[nloaded++];
		memcpy(l->name, u->name[i], 33);
		snprintf(symbol, sizeof symbol, "entry%d", i);
		*(void **)&l->entry = dlsym(h, symbol);
		*(void **)&l->state = dlsym(h, "emu_state");
		*(void **)&l->rubbish = dlsym(h, "emu_rubbish");
		l->barriers = u->barriers[i];
		if (!l->entry || !l->state || !l->rubbish)
			return broken("%s lacks a symbol", path);
	}
	return 0;
}

static int unit_make(struct bundle *u)
{
	char shim[300], name[33], path[400];
	struct stat st;
	FILE *f;

	if (u->n == 0)
		return 0;
	if (shim_make(shim))
		return -1;
	buf_str(&u->text, "// ");
	buf_str(&u->text, strrchr(shim, '/'));
	hash_name(u->text.text, u->text.len, name);
	snprintf(path, sizeof path, "%s/%s", folder(), name);
	snprintf(path + strlen(path), sizeof path - strlen(path), ".so");
	if (stat(path, &st) == 0)
		return unit_load(u, path);
	snprintf(path + strlen(path) - 3, 20, ".cc");
	f = fopen(path, "w");
	if (!f || fwrite(u->text.text, 1, u->text.len, f) != u->text.len || fclose(f))
		return broken("cannot write %s", path);
	if (shell("%s %s -include %s -shared %s -o %s/%s.%d.tmp 2>%s/%s.log && mv %s/%s.%d.tmp %s/%s.so",
			compiler(), FLAGS, shim, path, folder(), name, (int)getpid(), folder(), name, folder(), name,
			(int)getpid(), folder(), name))
		return -1;
	snprintf(path + strlen(path) - 3, 20, ".so");
	return unit_load(u, path);
}

static void unit_free(struct bundle *u)
{
	buf_free(&u->text);
	free(u->name);
	free(u->barriers);
}

static void text_name(const struct cuda_text *t, char name[33])
{
	hash_name(t->text.text, t->text.len, name);
}

/* The text with all of `find` replaced: how many there were. */
static int edit(struct cuda_text *t, const char *find, const char *replace)
{
	int n = 0;

	struct buf b = {0};
	const char *p = t->text.text, *hit;

	if (!find)
		return 0;
	for (; (hit = strstr(p, find)) != NULL; p = hit + strlen(find), n++) {
		buf_put(&b, p, (size_t)(hit - p));
		buf_str(&b, replace);
	}
	buf_str(&b, p);
	buf_free(&t->text);
	t->text = b;
	return n;
}

static int prepare(const struct plan *const *plan, int n, const struct emulate_options *o)
{
	struct bundle u = {0};
	int rc = 0;

	for (int i = 0; i < n && !rc; i++) {
		struct units parts;

		if (cuda_units_make(plan[i], &parts))
			rc = broken("no memory for the units");
		for (int k = 0; !rc && k < parts.n; k++) {
			struct cuda_text t;
			char name[33];

			if (cuda_text_make(plan[i], &parts.unit[k], o->math, &t)) {
				rc = broken("no memory for a kernel's text");
				break;
			}
			edit(&t, o->find, o->replace);
			text_name(&t, name);
			unit_add(&u, &t, name);
			cuda_text_free(&t);
		}
		cuda_units_free(&parts);
	}
	if (!rc)
		rc = unit_make(&u);
	unit_free(&u);
	return rc;
}

int emulate_prepare(const struct plan *const *plan, int n, gx_math math)
{
	struct emulate_options o = {.math = math};

	return prepare(plan, n, &o);
}

/* One run: memory of exact size, so that the sanitizer sees one element too many. */
struct run {
	const struct plan *plan;
	const struct run_arrays *arrays;
	const struct emulate_options *o;
	void **temp;
	struct device_failure failure;
	unsigned seed;
	int edits, no_text;        /* places where o->find was; 1: a text could not be compiled */
};

static void *rubbish(size_t n)
{
	void *p = malloc(n ? n : 1);

	if (p)
		memset(p, 0xa5, n);
	return p;
}

static uint64_t address(const struct run *r, const struct kbuf *b)
{
	void *p = b->kind == BUF_INPUT ? r->arrays->input[b->number]
		: b->kind == BUF_OUTPUT    ? r->arrays->output[b->number]
								   : r->temp[b->number];

	return (uint64_t)(uintptr_t)p;
}

static const char *run_block(
	struct emu_state *state, const struct loaded *l, const void *args, unsigned *seed)
{
	l->rubbish();
	if (l->barriers)
		return fibre_block(state, l->entry, args, seed);
	for (state->thread.x = 0; state->thread.x < state->block_dim.x; state->thread.x++)
		l->entry(args);
	return NULL;
}

static int run_grid(struct run *r, const struct loaded *l, const struct launch *at, const void *args)
{
	struct emu_state state = {.block_dim = {at->block, 1, 1}, .grid_dim = {at->grid[0], 1, 1}};
	unsigned *order = malloc((at->grid[0] + 1) * sizeof *order);

	for (unsigned i = 0; i < at->grid[0]; i++) {
		unsigned j = emu_random(&r->seed) % (i + 1);

		order[i] = i;
		order[i] = order[j];
		order[j] = i;
	}
	*l->state = &state;
	for (unsigned i = 0; i < at->grid[0]; i++) {
		const char *wrong;

		state.block.x = order[i];
		wrong = run_block(&state, l, args, &r->seed);
		if (wrong) {
			free(order);
			return broken("%s, in block %u", wrong, state.block.x);
		}
	}
	free(order);
	return 0;
}

static int counters_rest(const unsigned *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (c[i])
			return broken("counter %u is %u after the launch", i, c[i]);
	return 0;
}

static int launch(struct run *r, const struct unit *k, const struct cuda_text *t, const struct loaded *l,
	const struct launch *at)
{
	void *scratch = rubbish(at->scratch), *args = malloc(t->args_size);
	unsigned *counters = calloc(at->counters + 1, sizeof *counters);
	uint64_t *where = malloc((size_t)(unit_buffers(k) + 1) * sizeof *where);
	int rc = 0;

	for (int i = 0; i < unit_buffers(k); i++)
		where[i] = address(r, unit_buffer(k, i));
	for (unsigned phase = 0; phase < at->phases && !rc; phase++) {
		struct launch now = *at;

		now.phase = phase;
		cuda_args_fill(r->plan, k, t, &now, where, at->scratch ? (uint64_t)(uintptr_t)scratch : 0,
			at->counters ? (uint64_t)(uintptr_t)counters : 0,
			r->plan->ncheck ? (uint64_t)(uintptr_t)&r->failure : 0, args);
		rc = run_grid(r, l, &now, args);
		if (!rc)
			rc = counters_rest(counters, at->counters);
	}
	free(scratch);
	free(args);
	free(counters);
	free(where);
	return rc;
}

static int run_unit(struct run *r, const struct unit *k)
{
	struct device_info d = {r->o->sms ? r->o->sms : 2, 2048, 1 << 20};
	struct cuda_text t;
	struct launch at;
	const struct loaded *l;
	char name[33];
	int rc = 0;

	if (cuda_text_make(r->plan, k, r->o->math, &t))
		return broken("no memory for a kernel's text");
	r->edits += edit(&t, r->o->find, r->o->replace);
	text_name(&t, name);
	cuda_launch_make(k, &t, &d, &at);
	if (!find(name))
		r->no_text = rc = prepare(&r->plan, 1, r->o);
	l = find(name);
	if (!rc && !l)
		rc = broken("a kernel's text differs from call to call");
	if (!rc && at.grid[0])
		rc = launch(r, k, &t, l, &at);
	cuda_text_free(&t);
	return rc;
}

int emulate_run(const struct plan *p, const struct run_arrays *arrays, struct run_failure *f,
	const struct emulate_options *o)
{
	static const struct emulate_options plain;
	struct run r = {.plan = p, .arrays = arrays, .o = o ? o : &plain, .failure = {.position = UINT64_MAX}};
	struct units parts;
	int rc = 0;

	r.seed = r.o->seed * 2654435761u + 1;
	if (f)
		*f = (struct run_failure){.check = -1};
	r.temp = calloc((size_t)p->ntemp + 1, sizeof *r.temp);
	if (cuda_units_make(p, &parts))
		rc = broken("no memory for the units");
	for (int i = 0; i < p->ntemp && !rc; i++)
		if (parts.first[i] >= 0)   /* the rest live in registers: whoever asks memory for them falls */
			r.temp[i] = rubbish((size_t)p->temp[i].count * type_table[p->temp[i].mem].bytes);
	for (int k = 0; k < parts.n && !rc; k++)
		rc = run_unit(&r, &parts.unit[k]);
	cuda_units_free(&parts);
	for (int i = 0; i < p->ntemp; i++)
		free(r.temp[i]);
	free(r.temp);
	if (rc)
		return r.no_text ? EMULATE_TEXT : EMULATE_BROKEN;
	if (r.o->find && r.edits == 0)
		return broken("no kernel's text holds `%s`", r.o->find), EMULATE_TEXT;
	if (r.failure.lock)
		return broken("the failure record is locked after the run"), EMULATE_BROKEN;
	if (r.failure.position == UINT64_MAX)
		return EMULATE_OK;
	if (f)
		*f = (struct run_failure){(int)r.failure.check, (int64_t)r.failure.position, r.failure.value};
	return EMULATE_CHECK;
}

void emulate_close(void)
{
	for (int i = 0; i < nlibrary; i++)
		dlclose(library[i]);
	free(library);
	free(loaded);
	library = NULL;
	loaded = NULL;
	nlibrary = nloaded = loaded_cap = 0;
	fibre_close();
}
