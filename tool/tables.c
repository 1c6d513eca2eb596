/* tables.c -- --ops, --devices, --cache and --doctor: the library's texts as they are, or turned into JSON: rows of the operation table,
 * lines, "key: value" lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

/* The next line of *text, without its end; NULL at the end. Cuts *text. */
static char *next_line(char **text)
{
	char *line = *text, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	*text = end ? end + 1 : NULL;
	if (end)
		*end = 0;
	return line;
}

/* A cell of a Markdown row, "\|" turned to "|", back quotes taken off; *at moves behind the bar after it. */
static void cell(char **at, struct buf *b)
{
	char *from = *at + strspn(*at, " "), *to = from, *s = from;

	for (; *s && *s != '|'; s++) {
		s += s[0] == '\\' && s[1] == '|';
		if (*s != '`')
			*to++ = *s;
	}
	*at = s + (*s != 0);
	while (to > from && to[-1] == ' ')
		to--;
	*to = 0;
	buf_json(b, from);
}

/* Rows "| `name(x)` | meaning | note |" under tables that "| function |" and kin head. */
static void ops_json(char *text, struct buf *b)
{
	char *at, *table = NULL;
	int n = 0;

	buf_str(b, "{\"version\": 1, \"ops\": [\n");
	for (char *line; (line = next_line(&text));) {
		if (!strncmp(line, "| ", 2) && line[2] != '`')
			table = line + 2;
		if (strncmp(line, "| `", 3))
			continue;
		buf_fmt(b, "%s{\"table\": \"%.*s\", \"call\": ", n++ ? ",\n" : "", table ? (int)strcspn(table, " ") : 0, table ? table : "");
		at = line + 1;
		cell(&at, b);
		buf_str(b, ", \"meaning\": ");
		cell(&at, b);
		buf_str(b, ", \"note\": ");
		cell(&at, b);
		buf_char(b, '}');
	}
	buf_str(b, "\n]}\n");
}

static void lines_json(const char *name, char *text, struct buf *b)
{
	int n = 0;

	buf_fmt(b, "{\"version\": 1, \"%s\": [", name);
	for (char *line; (line = next_line(&text));) {
		buf_str(b, n++ ? ",\n" : "\n");
		buf_json(b, line);
	}
	buf_str(b, n ? "\n]}\n" : "]}\n");
}

/* "key: value" lines; whole numbers stay numbers. */
static void pairs_json(char *text, struct buf *b)
{
	buf_str(b, "{\"version\": 1");
	for (char *line; (line = next_line(&text));) {
		char *colon = strstr(line, ": ");

		if (!colon)
			continue;
		*colon = 0;
		buf_str(b, ", ");
		buf_json(b, line);
		buf_str(b, ": ");
		if (colon[2] && strspn(colon + 2, "0123456789") == strlen(colon + 2))
			buf_str(b, colon + 2);
		else
			buf_json(b, colon + 2);
	}
	buf_str(b, "}\n");
}

static void to_json(const struct options *o, char *text, struct buf *b)
{
	if (o->ops)
		ops_json(text, b);
	else if (o->devices)
		lines_json("devices", text, b);
	else if (!strcmp(o->cache, "stat"))
		pairs_json(text, b);
	else
		lines_json("lines", text, b);
}

static int put(const struct options *o, char *text)
{
	struct buf b = {0};

	if (o->json)
		to_json(o, text, &b);
	else
		buf_str(&b, text);
	return print_text(&b);
}

static int doctor(const struct options *o, const gx_options *opt)
{
	char *text = NULL;
	gx_error err;
	gx_status s = gx_doctor(opt, o->json, &text, &err);

	if (!text)
		return failed(&err);
	fputs(text, stdout);
	free(text);
	return s ? EXIT_DEVICE : 0;
}

int tables(const struct options *o)
{
	gx_options opt = library_options(o, o->device);
	gx_status s;
	char *text = NULL;
	gx_error err;
	int rc;

	if (o->doctor)
		return doctor(o, &opt);
	if (o->ops)
		s = gx_ops_table(&text, &err);
	else if (o->devices)
		s = gx_devices(&text, &err);
	else
		s = gx_cache(&opt, o->cache, &text, &err);
	if (s) {
		rc = failed(&err);
		return s == GX_IO ? EXIT_OUTPUT : rc;
	}
	rc = put(o, text);
	free(text);
	return rc;
}
