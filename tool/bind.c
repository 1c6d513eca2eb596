/* bind.c -- the free names of a program to arrays: files, numbers and literals. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/diag.h"
#include "tool/tool.h"

static const char *binding_of(const struct options *o, const char *name)
{
	const char *v = NULL;

	for (int i = 0; i < o->nbinding; i++)
		if (!strcmp(o->binding[i].name, name))
			v = o->binding[i].value;
	return v;
}

/* ---- f32:[[1,2],[3,4]] ---- */

struct literal {
	const char *at;
	gx_dtype type;
	int64_t shape[GX_MAX_RANK];
	int rank;                   /* -1 until the first number fixes it */
	char *data;
	size_t n, cap;
	const char *wrong;          /* a sentence, when something is */
	char text[64];              /* room for it */
};

static void spaces(struct literal *l)
{
	while (isspace((unsigned char)*l->at))
		l->at++;
}

static int push_number(struct literal *l, double real, int64_t integer, int whole)
{
	size_t size = gx_dtype_size(l->type);
	gx_context *ctx;
	gx_array in = whole ? gx_integer("x", integer) : gx_real("x", real), out;
	gx_options opt = {.size = sizeof opt, .device = GX_DEVICE_CPU, .threads = 1};
	char text[64];
	gx_error err;
	gx_status s;

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		char *p = realloc(l->data, cap * size);

		if (!p)
			return -1;
		l->data = p;
		l->cap = cap;
	}
	/* The language's own conversion, with its range check. */
	snprintf(text, sizeof text, "y = %s(x)", gx_dtype_name(l->type));
	memset(&out, 0, sizeof out);
	out = gx_host("y", l->type, 0, NULL, l->data + l->n * size);
	if (gx_open(&opt, &ctx, &err))
		return -1;
	s = gx_eval(ctx, text, &in, 1, &out, 1, &err);
	gx_close(ctx);
	if (s) {
		snprintf(l->text, sizeof l->text, "a value is out of the range of %s", gx_dtype_name(l->type));
		l->wrong = l->text;
		return -1;
	}
	l->n++;
	return 0;
}

static int number(struct literal *l, int depth)
{
	size_t n = strcspn(l->at, ",] \t");
	double real;
	int64_t integer = 0;
	int whole;

	if (l->rank < 0)
		l->rank = depth;
	if (l->rank != depth) {
		l->wrong = "rows have different depths";
		return -1;
	}
	if ((n == 4 && !strncmp(l->at, "true", 4)) || (n == 5 && !strncmp(l->at, "false", 5))) {
		integer = n == 4;
		real = (double)integer;
		whole = 1;
	} else if (number_parse(l->at, n, &real, &integer, &whole)) {
		l->wrong = "expected a number";
		return -1;
	}
	l->at += n;
	return push_number(l, real, integer, whole);
}

static int value(struct literal *l, int depth)
{
	int64_t count = 0;

	spaces(l);
	if (*l->at != '[')
		return number(l, depth);
	if (depth == GX_MAX_RANK) {
		l->wrong = "more than 8 axes";
		return -1;
	}
	l->at++;
	spaces(l);
	while (*l->at != ']') {
		if (value(l, depth + 1))
			return -1;
		count++;
		spaces(l);
		if (*l->at == ',')
			l->at++;
		else if (*l->at != ']') {
			l->wrong = *l->at ? "expected , or ]" : "a bracket is not closed";
			return -1;
		}
		spaces(l);
	}
	l->at++;
	if (l->shape[depth] >= 0 && l->shape[depth] != count) {
		l->wrong = "rows have different lengths";
		return -1;
	}
	l->shape[depth] = count;
	if (count == 0 && l->rank < 0)
		l->rank = depth + 1;
	return 0;
}

/* 1: spec is a literal and `in` is filled; 0: it is not one; -1: it is a wrong one. */
static int literal(const char *name, const char *spec, struct input *in)
{
	const char *colon = strchr(spec, ':');
	char type[32];
	struct literal l = {.rank = -1};
	int rc;

	if (!colon || (size_t)(colon - spec) >= sizeof type)
		return 0;
	snprintf(type, sizeof type, "%.*s", (int)(colon - spec), spec);
	if (gx_dtype_find(type, &l.type) || access(spec, F_OK) == 0)
		return 0;
	memset(l.shape, 0xff, sizeof l.shape);
	l.at = colon + 1;
	rc = value(&l, 0);
	spaces(&l);
	if (rc == 0 && *l.at)
		l.wrong = "text after the value";
	if (rc || l.wrong) {
		complain("%s=%s: %s", name, spec, l.wrong ? l.wrong : "out of memory");
		free(l.data);
		return -1;
	}
	in->literal = l.data;
	in->array = gx_host(name, l.type, l.rank, l.shape, l.data);
	return 1;
}

/* ---- what looks like a value and is none ---- */

__attribute__((format(printf, 4, 5)))
static int wrong(const char *name, const char *spec, const char *what, const char *hint, ...)
{
	va_list ap;

	complain("%s=%s: %s", name, spec, what);
	fputs("hint: ", stderr);
	va_start(ap, hint);
	vfprintf(stderr, hint, ap);
	va_end(ap);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

static int only(const char *s, const char *characters)
{
	return s[strspn(s, characters)] == 0;
}

static int is_number(const char *s)
{
	double real;
	int64_t integer;
	int whole;

	return *s && number_parse(s, strlen(s), &real, &integer, &whole) == 0;
}

/* Where "type:value" has its colon; NULL: it is nothing of that kind. */
static const char *type_end(const char *spec)
{
	size_t n = 0;

	while (isalnum((unsigned char)spec[n]))
		n++;
	if (n == 0 || n > 16 || spec[n] != ':')
		return NULL;
	return spec[n + 1] == '[' || is_number(spec + n + 1) || only(spec + n + 1, "aeflrstu") ? spec + n : NULL;
}

static int wrong_type(const char *name, const char *spec, const char *colon)
{
	char word[20], what[60];
	const char *meant;

	snprintf(word, sizeof word, "%.*s", (int)(colon - spec), spec);
	snprintf(what, sizeof what, "there is no type `%s`", word);
	meant = dtype_meant(word);
	if (meant)
		return wrong(name, spec, what, "did you mean %s=%s%s?", name, meant, colon);
	return wrong(name, spec, what, "the types are bool, i8 to i64, u8 to u64, f16, bf16, f32 and f64");
}

/* No file has this name: an exit code after a message where a value was meant, else 0. */
static int wrong_value(const char *name, const char *spec)
{
	const char *colon = type_end(spec), *comma = strchr(spec, ',');

	if (spec[0] == '[')
		return wrong(name, spec, "an array has its type in front", "write %s=f32:%s", name, spec);
	if (!strcasecmp(spec, "true") || !strcasecmp(spec, "false"))
		return wrong(name, spec, "truth is written in small letters", "write %s=%s", name, strlen(spec) == 4 ? "true" : "false");
	if (colon)
		return wrong_type(name, spec, colon);
	if (comma && comma != spec && isdigit((unsigned char)comma[1]) && !strchr(comma + 1, ',') && only(spec, "+-0123456789,"))
		return wrong(name, spec, "a number has a point", "write %s=%.*s.%s, or for an array %s=f32:[%s]", name, (int)(comma - spec),
			spec, comma + 1, name, spec);
	if (comma && only(spec, "+-0123456789.,eE "))
		return wrong(name, spec, "an array has its type in front and brackets", "write %s=f32:[%s]", name, spec);
	if (isdigit((unsigned char)spec[strspn(spec, "+-.")]) && (!strpbrk(spec, "./:") || only(spec, "+-0123456789.*/%()eE ")))
		return wrong(name, spec, "neither a number nor a file", "a number is decimal; what is to be computed belongs into the program");
	return 0;
}

/* ---- files ---- */

struct folder {
	char *names[400];   /* .npy files, without the extension */
	int n;
	char other[300];    /* a file of that name in another format */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void see_file(struct folder *f, const char *file, const char *name)
{
	static const char *const formats[] = {".npz", ".csv", ".tsv", ".txt"};
	size_t len = strlen(file), n = strlen(name);

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (len == n + 4 && !strncmp(file, name, n) && !strcmp(file + n, formats[i]))
			snprintf(f->other, sizeof f->other, "%s", file);
	if (len < 5 || strcmp(file + len - 4, ".npy") != 0 || file[0] == '.' || f->n == 400)
		return;
	f->names[f->n] = strndup(file, len - 4);
	f->n += f->names[f->n] != NULL;
}

static void print_shown(const char *s)
{
	for (; *s; s++)
		fputc((unsigned char)*s < 32 || *s == 127 ? '?' : *s, stderr);
}

/* What is in this folder, and what of it may have been meant. */
static void list_folder(const char *name)
{
	DIR *d = opendir(".");
	struct folder f = {.n = 0};
	struct suggestion s = {.wanted = name};
	struct dirent *e;

	while (d && (e = readdir(d)))
		see_file(&f, e->d_name, name);
	if (d)
		closedir(d);
	if (f.n)
		qsort(f.names, (size_t)f.n, sizeof *f.names, by_name);
	fputs(f.n ? "found:" : "found: no .npy files in this folder", stderr);
	for (int i = 0; i < f.n; i++) {
		diag_suggest(&s, f.names[i]);
		if (i < 12) {
			fputs(i ? ", " : " ", stderr);
			print_shown(f.names[i]);
			fputs(".npy", stderr);
		}
	}
	fputs(f.n > 12 ? ", ...\n" : "\n", stderr);
	if (f.other[0])
		fprintf(stderr, "hint: there is %s: add %s=%s\n", f.other, name, f.other);
	else if (s.best)
		fprintf(stderr, "hint: did you mean `%s`?\n", s.best);
	for (int i = 0; i < f.n; i++)
		free(f.names[i]);
}

static int from_file(const char *name, const char *spec, int default_name, struct input *in)
{
	gx_error err;
	gx_status s;
	char link[500];

	if (default_name && access(spec, F_OK) && errno == ENOENT && !dangling_link(spec, link)) {
		complain("no input `%s`: there is no %s, and no %s=... on the command line", name, spec, name);
		list_folder(name);
		return EXIT_INPUT;
	}
	if (spec[0] == '-' && (!spec[1] || spec[1] == ':') && isatty(0)) {
		complain("%s=%s: standard input is a terminal; feed it an .npy file: gpuexpr ... %s=%s < FILE.npy", name, spec, name, spec);
		return EXIT_INPUT;
	}
	s = file_read(spec, &in->file, &err);
	if (s) {
		failed(&err);
		if (!default_name && s == GX_IO && access(spec, F_OK) && !strpbrk(spec, "./:"))
			fprintf(stderr, "hint: a value is written %s=3.5, %s=true or %s=f32:[1,2]\n", name, name, name);
		return s == GX_NOMEM ? EXIT_MEMORY : s == GX_ARG ? EXIT_USAGE : EXIT_INPUT;
	}
	in->array = gx_host(name, in->file.dtype, in->file.rank, in->file.shape, in->file.data);
	memcpy(in->array.stride, in->file.stride, sizeof in->array.stride);
	return 0;
}

static int bind_one(const struct options *o, const char *name, struct input *in)
{
	const char *spec = binding_of(o, name);
	char file[300], truth[16];
	double real;
	int64_t integer;
	int whole, kind;

	if (!spec) {
		if (snprintf(file, sizeof file, "%s.npy", name) >= (int)sizeof file) {
			complain("the name of an input is too long for a file name");
			return EXIT_INPUT;
		}
		return from_file(name, file, 1, in);
	}
	if (*spec && number_parse(spec, strlen(spec), &real, &integer, &whole) == 0) {
		in->array = whole ? gx_integer(name, integer) : gx_real(name, real);
		return 0;
	}
	snprintf(truth, sizeof truth, "bool:%s", spec);
	kind = literal(name, !strcmp(spec, "true") || !strcmp(spec, "false") ? truth : spec, in);
	if (kind)
		return kind < 0 ? EXIT_USAGE : 0;
	kind = access(spec, F_OK) ? wrong_value(name, spec) : 0;
	return kind ? kind : from_file(name, spec, 0, in);
}

static int check_bindings(const struct options *o, const gx_formula *f)
{
	for (int i = 0; i < o->nbinding; i++) {
		struct suggestion s = {.wanted = o->binding[i].name};
		const char *name;
		int used = 0;

		for (int j = 0; (name = gx_formula_input(f, j)); j++) {
			used |= !strcmp(name, o->binding[i].name);
			diag_suggest(&s, name);
		}
		if (used)
			continue;
		complain("the program has no input named `%s`%s%s%s", o->binding[i].name, s.best ? "; did you mean `" : "", s.best ? s.best : "",
			s.best ? "`?" : "");
		hint_program(o);
		return EXIT_USAGE;
	}
	return 0;
}

int inputs_bind(const struct options *o, const gx_formula *f, struct input **out, int *n)
{
	int count = 0, rc;
	struct input *in;

	*out = NULL;
	*n = 0;
	while (gx_formula_input(f, count))
		count++;
	rc = check_bindings(o, f);
	if (rc)
		return rc;
	in = calloc((size_t)count + 1, sizeof *in);
	if (!in) {
		complain("out of memory");
		return EXIT_MEMORY;
	}
	*out = in;
	for (; *n < count && !rc; ++*n)
		rc = bind_one(o, gx_formula_input(f, *n), &in[*n]);
	return rc;
}

void inputs_free(struct input *in, int n)
{
	for (int i = 0; i < n; i++) {
		file_array_free(&in[i].file);
		free(in[i].literal);
	}
	free(in);
}
