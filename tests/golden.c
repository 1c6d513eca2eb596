/* golden.c -- the text of each stage for a dozen programs: golden [--bless] NAME.gx... compares IR, plan and
 * CUDA C with NAME.ir, NAME.plan and NAME.cu beside it, or writes those files anew, and gives the CUDA C to
 * NVRTC where that is found. The programs are in the form of language cases (tests/lang.h); their values do
 * not count. */
#include <stdlib.h>

#include "tests/lang.h"
#include "tests/unit/unit.h"

static const char *const stages[][2] = {{"ir", "ir"}, {"plan", "plan"}, {"cuda", "cu"}};
static const char *const archs[] = {"sm_75", "sm_90", "sm_120"};
enum { NSTAGES = 3, NARCHS = 3 };

static gx_context *plain, *for_arch[NARCHS];

static gx_context *context(const char *arch)
{
	gx_options opt = {.size = sizeof opt, .device = GX_DEVICE_CPU, .threads = 1, .no_cache = 1, .arch = arch};
	gx_context *ctx;
	gx_error err;

	if (gx_open(&opt, &ctx, &err) == GX_OK)
		return ctx;
	check(0, "gx_open: %s", err.text);
	exit(finish());
}

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1 << 20, 1);

	if (f && text && fread(text, 1, (1 << 20) - 1, f) == 0)
		text[0] = 0;
	if (f)
		fclose(f);
	return text;
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "wb");
	int good = f && fwrite(text, 1, strlen(text), f) == strlen(text);

	good &= f && fclose(f) == 0;
	check(good, "cannot write %s", path);
}

/* The first line that differs, for the message. */
static void compare(const char *path, const char *got)
{
	char *want = read_text(path);
	const char *w = want, *g = got;
	int line = 1;

	while (*w && strcspn(w, "\n") == strcspn(g, "\n") && !strncmp(w, g, strcspn(w, "\n") + 1)) {
		w += strcspn(w, "\n") + (w[strcspn(w, "\n")] != 0);
		g += strcspn(g, "\n") + (g[strcspn(g, "\n")] != 0);
		line++;
	}
	check(!strcmp(want, got), "%s:%d\n  wanted: %.*s\n  found:  %.*s\n  (make bless T=name accepts)", path,
		line, (int)strcspn(w, "\n"), w, (int)strcspn(g, "\n"), g);
	free(want);
}

static gx_program *compiled(gx_context *ctx, const struct lang_case *c, gx_error *err)
{
	gx_array in[CASE_ARRAYS];
	gx_formula *f;
	gx_program *p = NULL;

	for (int i = 0; i < c->nin; i++)
		in[i] = c->in[i].a;
	if (gx_parse(c->program, strlen(c->program), "golden", &f, err))
		return NULL;
	gx_compile(ctx, f, in, c->nin, &p, err);
	gx_formula_free(f);
	return p;
}

static void texts(const char *path, const struct lang_case *c, int bless)
{
	char file[512];
	gx_error err;
	gx_program *p = compiled(plain, c, &err);

	if (!check(p != NULL, "%s: %s", path, p ? "" : err.text))
		return;
	for (int i = 0; i < NSTAGES; i++) {
		char *text;

		snprintf(file, sizeof file, "%.*s.%s", (int)(strlen(path) - 3), path, stages[i][1]);
		if (!check(gx_program_dump(plain, p, stages[i][0], &text, &err) == GX_OK, "%s: %s", file, err.text))
			continue;
		if (bless)
			write_text(file, text);
		else
			compare(file, text);
		free(text);
	}
	gx_program_free(p);
}

static void nvrtc(const char *path, const struct lang_case *c)
{
	for (int i = 0; i < NARCHS; i++) {
		gx_error err;
		gx_program *p = compiled(for_arch[i], c, &err);
		char *text = NULL;
		gx_status s = p ? gx_program_dump(for_arch[i], p, "ptx", &text, &err) : err.status;

		if (s == GX_COMPILER) {
			printf("skip %s for %s: %s\n", path, archs[i], err.message);
			skipped++;
		} else {
			check(s == GX_OK && strstr(text, ".entry gx_kernel"), "%s for %s: %s", path, archs[i],
				s ? err.text : "no entry in the PTX");
		}
		free(text);
		gx_program_free(p);
	}
}

int main(int argc, char **argv)
{
	int bless = argc > 1 && !strcmp(argv[1], "--bless");
	struct lang_case c;
	char why[1000];

	plain = context(NULL);
	for (int i = 0; i < NARCHS; i++)
		for_arch[i] = context(archs[i]);
	for (int i = 1 + bless; i < argc; i++) {
		if (check(case_read(argv[i], &c, why, sizeof why) == 0, "%s: %s", argv[i], why)) {
			texts(argv[i], &c, bless);
			if (!bless)
				nvrtc(argv[i], &c);
		}
		case_free(&c);
	}
	for (int i = 0; i < NARCHS; i++)
		gx_close(for_arch[i]);
	gx_close(plain);
	return finish();
}
