/* options.c -- the command line to struct options. One table holds every option; an argument that begins with a minus and is not an
 * option is taken as the program where one is still missing, so that gpuexpr '-a' works. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "tool/tool.h"

enum kind { FLAG, TEXT, NUMBER, DEVICE, MATH, ARCH, EMIT, OUTPUT_PAIR };

static const struct {
	const char *name, *letter;
	enum kind kind;
	size_t at;
} table[] = {
#define AT(field) offsetof(struct options, field)
	{"--output", "-o", OUTPUT_PAIR, 0}, {"--file", "-f", TEXT, AT(file)}, {"--force", NULL, FLAG, AT(force)},
	{"--dry-run", "-n", FLAG, AT(dry_run)}, {"--quiet", "-q", FLAG, AT(quiet)}, {"--verbose", "-v", FLAG, AT(verbose)},
	{"--json", NULL, FLAG, AT(json)}, {"--explain", NULL, FLAG, AT(explain)}, {"--time", NULL, FLAG, AT(time)},
	{"--verify", NULL, FLAG, AT(verify)}, {"--no-cache", NULL, FLAG, AT(no_cache)}, {"--device", NULL, DEVICE, AT(device)},
	{"--threads", NULL, NUMBER, AT(threads)}, {"--math", NULL, MATH, AT(math)}, {"--emit", NULL, EMIT, AT(emit)},
	{"--arch", NULL, ARCH, AT(arch)}, {"--cache", NULL, TEXT, AT(cache)}, {"--help", "-h", FLAG, AT(help)},
	{"--version", NULL, FLAG, AT(version)}, {"--ops", NULL, FLAG, AT(ops)}, {"--devices", NULL, FLAG, AT(devices)},
	{"--doctor", NULL, FLAG, AT(doctor)},
#undef AT
};
enum { NOPTIONS = sizeof table / sizeof *table };

static int is_name(const char *s, size_t n)
{
	if (n == 0 || isdigit((unsigned char)s[0]))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return 0;
	return 1;
}

/* "name=value" split in place; value alone when there is no name in front. */
static struct pair split(char *arg)
{
	char *eq = strchr(arg, '=');

	if (!eq || !is_name(arg, (size_t)(eq - arg)))
		return (struct pair){NULL, arg};
	*eq = 0;
	return (struct pair){arg, eq + 1};
}

static int nothing_behind(struct pair p, const char *option)
{
	if (p.value[0])
		return 0;
	complain(p.name ? "%s%s=: there is nothing behind the =" : "%sneeds a value", option, p.name ? p.name : "");
	return EXIT_USAGE;
}

static int set_device(struct options *o, const char *v)
{
	char *end;

	if (!strcmp(v, "auto")) {
		o->device = DEVICE_AUTO;
	} else if (!strcmp(v, "cpu")) {
		o->device = DEVICE_CPU;
	} else if (!strcmp(v, "cuda") || !strcmp(v, "gpu")) {
		o->device = 0;
	} else if (!strncmp(v, "cuda:", 5) || !strncmp(v, "gpu:", 4)) {
		long n = strtol(strchr(v, ':') + 1, &end, 10);

		if (*end || !isdigit((unsigned char)strchr(v, ':')[1]) || n > 1000) {
			complain("--device=%s: the part after the colon must be a device number, for example cuda:0", v);
			return EXIT_USAGE;
		}
		o->device = (int)n;
	} else {
		complain("--device takes auto, cpu, cuda or cuda:N, found `%s`", v);
		return EXIT_USAGE;
	}
	o->forced_cuda = o->device >= 0;
	return 0;
}

/* The place of value among words; -1 after a message. */
static int one_of(const char *option, const char *value, const char *const *words)
{
	struct buf b = {0};

	for (int i = 0; words[i]; i++)
		if (!strcmp(value, words[i]))
			return i;
	for (int i = 0; words[i]; i++)
		buf_fmt(&b, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	complain("%s takes %s, found `%s`", option, b.text ? b.text : "?", value);
	buf_free(&b);
	return -1;
}

static int set_number(int *n, const char *option, const char *v)
{
	char *end;
	long got = strtol(v, &end, 10);

	if (*end || end == v || got < 0 || got > 1024) {
		complain("%s takes a number from 0 to 1024, found `%s`", option, v);
		return EXIT_USAGE;
	}
	*n = (int)got;
	return 0;
}

static int set_arch(struct options *o, const char *v)
{
	const char *digits = v + (strncmp(v, "sm_", 3) ? strncmp(v, "compute_", 8) ? 0 : 8 : 3);
	size_t n = strspn(digits, "0123456789");

	if (n < 2 || n > 3 || digits[n]) {
		complain("--arch takes a GPU target such as sm_90, found `%s`", v);
		return EXIT_USAGE;
	}
	o->arch = v;
	return 0;
}

static int set(struct options *o, int i, char *value)
{
	static const char *const maths[] = {"strict", "fma", "fast", NULL}, *const stages[] = {"ast", "ir", "plan", "cuda", "ptx", NULL};
	void *field = (char *)o + table[i].at;
	int word;

	switch (table[i].kind) {
	case FLAG:
		*(int *)field = 1;
		return 0;
	case TEXT:
		*(const char **)field = value;
		return 0;
	case NUMBER:
		return set_number(field, table[i].name, value);
	case DEVICE:
		return set_device(o, value);
	case ARCH:
		return set_arch(o, value);
	case EMIT:
		o->emit = value;
		return one_of("--emit", value, stages) < 0 ? EXIT_USAGE : 0;
	case MATH:
		word = one_of("--math", value, maths);
		o->math = (gx_math)word;
		return word < 0 ? EXIT_USAGE : 0;
	case OUTPUT_PAIR:
		o->output[o->noutput] = split(value);
		return nothing_behind(o->output[o->noutput++], "-o ");
	}
	return 0;
}

static int find(const char *arg, size_t len)
{
	for (int i = 0; i < NOPTIONS; i++)
		if ((strlen(table[i].name) == len && !strncmp(table[i].name, arg, len)) ||
			(table[i].letter && strlen(table[i].letter) == len && !strncmp(table[i].letter, arg, len)))
			return i;
	return -1;
}

/* An argument that begins with the letter of an option, as getopt would take it: -opath, -o=path, -nq. How it is written here goes to
 * `text`. It is not taken: -omega*2 is a program. */
static int attached(const char *arg, char text[200])
{
	int i = arg[0] == '-' && arg[1] && arg[1] != '-' && arg[2] ? find(arg, 2) : -1;

	if (i >= 0)
		snprintf(text, 200, "%.2s %s%.190s", arg, table[i].kind == FLAG ? "-" : "", arg + 2 + (arg[2] == '='));
	return i >= 0;
}

static int unknown(const char *arg)
{
	char name[64], text[200];
	struct suggestion s = {.wanted = name};

	if (attached(arg, text)) {
		complain("unknown option %s; write %s", arg, text);
		return EXIT_USAGE;
	}
	snprintf(name, sizeof name, "%.*s", (int)strcspn(arg, "="), arg);
	for (int i = 0; i < NOPTIONS; i++)
		diag_suggest(&s, table[i].name);
	complain("unknown option %s%s%s%s", name, s.best ? "; did you mean " : "", s.best ? s.best : "", s.best ? "?" : "");
	fprintf(stderr, "hint: gpuexpr --help lists the options; after -- a program may begin with a minus\n");
	return EXIT_USAGE;
}

int hint_program(const struct options *o)
{
	char text[200];

	if (!o->program || o->program[0] != '-')
		return 0;
	if (attached(o->program, text))
		fprintf(stderr, "hint: %s was taken as the program; if it is an option, write %s\n", o->program, text);
	else
		fprintf(stderr, "hint: %s was taken as the program; gpuexpr --help lists the options\n", o->program);
	return 1;
}

/* x=a.npy where the program should be. */
static int looks_like_binding(const char *arg)
{
	const char *eq = strchr(arg, '=');

	return eq && is_name(arg, (size_t)(eq - arg)) && eq[1] && !strpbrk(arg, " (;\n");
}

static int positional(struct options *o, char *arg)
{
	struct pair p;

	if (!o->program && !o->file) {
		o->program = arg;
		return 0;
	}
	p = split(arg);
	if (!p.name) {
		complain("expected name=binding, found `%s`", arg);
		if (hint_program(o))
			return EXIT_USAGE;
		if (o->program && looks_like_binding(o->program))
			fprintf(stderr, "hint: the program comes first: gpuexpr '%s' %s\n", arg, o->program);
		else if (access(arg, F_OK) == 0)
			fprintf(stderr, "hint: say which input that is: name=%s\n", arg);
		else
			fprintf(stderr, "hint: the program is one argument: put it in quotes; statements are separated by ;\n");
		return EXIT_USAGE;
	}
	o->binding[o->nbinding++] = p;
	return nothing_behind(p, "");
}

/* An option with its value attached (--x=v) or following (-o v). */
static int option(struct options *o, int i, char **argv, int *at)
{
	char *eq = strncmp(argv[*at], "--", 2) == 0 ? strchr(argv[*at], '=') : NULL, *value = eq ? eq + 1 : NULL;

	if (table[i].kind == FLAG && value) {
		complain("%s takes no value", table[i].name);
		return EXIT_USAGE;
	}
	if (table[i].kind != FLAG && !value) {
		value = argv[++*at];
		if (!value) {
			complain("%s needs a value", argv[*at - 1]);
			return EXIT_USAGE;
		}
	}
	return set(o, i, value);
}

static int bound_twice(const struct options *o, int i)
{
	const struct pair *p = &o->binding[i];

	for (int k = 0; k < i; k++)
		if (!strcmp(p->name, o->binding[k].name)) {
			complain("`%s` is bound twice: %s=%s and %s=%s", p->name, p->name, o->binding[k].value, p->name, p->value);
			return 1;
		}
	return 0;
}

static int sent_twice(const struct options *o, int i)
{
	const struct pair *p = &o->output[i];

	for (int k = 0; k < i; k++) {
		const struct pair *q = &o->output[k];

		if (!p->name != !q->name || (p->name && strcmp(p->name, q->name)))
			continue;
		complain("-o is given twice%s%s: %s and %s", p->name ? " for " : "", p->name ? p->name : "", q->value, p->value);
		return 1;
	}
	return 0;
}

static int is_stdin(const char *spec)
{
	return spec[0] == '-' && (!spec[1] || spec[1] == '.' || spec[1] == ':');
}

/* Standard input can be read once. */
static int read_twice(const struct options *o)
{
	const char *reader = NULL;
	int program = o->file && !strcmp(o->file, "-");

	for (int i = 0; i < o->nbinding; i++) {
		if (!is_stdin(o->binding[i].value))
			continue;
		if (program || reader) {
			complain("standard input cannot be both %s%s%s and `%s`", program ? "" : "`", program ? "the program" : reader,
				program ? "" : "`", o->binding[i].name);
			return 1;
		}
		reader = o->binding[i].name;
	}
	return 0;
}

static int check_pairs(const struct options *o)
{
	for (int i = 0; i < o->nbinding; i++)
		if (bound_twice(o, i))
			return EXIT_USAGE;
	for (int i = 0; i < o->noutput; i++)
		if (sent_twice(o, i))
			return EXIT_USAGE;
	if (o->verify && o->device == DEVICE_CPU) {
		complain("--verify compares the GPU with the CPU; it does not go with --device=cpu");
		return EXIT_USAGE;
	}
	return read_twice(o) ? EXIT_USAGE : 0;
}

/* Not a known one, but meant as one: a minus where no program is wanted any more, --word, or -o=path. */
static int is_option(const struct options *o, const char *arg)
{
	char text[200];

	if (arg[0] != '-' || !arg[1])
		return 0;
	if (o->program || o->file || (arg[1] == '-' && islower((unsigned char)arg[2])))
		return 1;
	return attached(arg, text) && arg[2] == '=' && arg[3] != '=';
}

int options_parse(struct options *o, int argc, char **argv)
{
	int rc = 0, only = 0;
	const char *force = getenv("GPUEXPR_FORCE");

	memset(o, 0, sizeof *o);
	o->device = DEVICE_AUTO;
	o->force = force && !strcmp(force, "1");
	o->binding = calloc((size_t)argc + 1, sizeof *o->binding);
	o->output = calloc((size_t)argc + 1, sizeof *o->output);
	if (!o->binding || !o->output) {
		complain("out of memory");
		return EXIT_MEMORY;
	}
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)   /* errors of the options are JSON, too */
		o->json |= !strcmp(argv[i], "--json");
	for (int i = 1; i < argc && argv[i]; i++)   /* -f changes what the first plain argument is */
		if (!strcmp(argv[i], "-f") || !strncmp(argv[i], "--file", 6))
			o->file = "";
		else if (!strcmp(argv[i], "--"))
			break;
	for (int i = 1; i < argc && !rc; i++) {
		int known = only || argv[i][0] != '-' ? -1 : find(argv[i], strncmp(argv[i], "--", 2) ? strlen(argv[i]) : strcspn(argv[i], "="));

		if (!only && !strcmp(argv[i], "--"))
			only = 1;
		else if (known >= 0)
			rc = option(o, known, argv, &i);
		else if (!only && is_option(o, argv[i]))
			rc = unknown(argv[i]);
		else
			rc = positional(o, argv[i]);
	}
	return rc ? rc : check_pairs(o);
}
