/* cache_command.c -- what people can ask of the kernel cache on disk: stat, list, verify, clear, path, trim. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/diag.h"
#include "base/hash.h"
#include "runtime/cache.h"
#include "runtime/cache_file.h"

static const long long LIMIT = 256ll << 20;

static void print_totals(struct cache *c, struct buf *out)
{
	struct cache_item *item;
	int i, n = cache_scan(c, &item), temporary = 0, v = cache_nvrtc(c);
	long long bytes = 0;

	for (i = 0; i < n; i++) {
		temporary += item[i].temporary;
		bytes += item[i].bytes;
	}
	free(item);
	buf_fmt(out, "entries: %d\nbytes: %lld\nlimit: %lld\ntemporary files: %d\n", n - temporary, bytes, LIMIT, temporary);
	if (v)
		buf_fmt(out, "last compiler: NVRTC %d.%d\n", v / 1000, v % 1000 / 10);
}

static void stat_command(struct cache *c, struct buf *out)
{
	buf_fmt(out, "folder: %s\nstate: ", *cache_path(c) ? cache_path(c) : "none");
	if (*cache_off(c))
		buf_fmt(out, "unusable: %s%s\n", *cache_path(c) ? "it " : "", cache_off(c));
	else if (*cache_shut(c))
		buf_fmt(out, "unusable%s: it %s\n", cache_absent(c) ? "" : " for new kernels", cache_shut(c));
	else
		buf_str(out, cache_absent(c) ? "not there yet\n" : "in use\n");
	if (!*cache_off(c))
		print_totals(c, out);
}

static void path_command(struct cache *c, struct buf *out)
{
	buf_fmt(out, "%s\n", cache_path(c));
}

static void print_age(long long seconds, struct buf *out)
{
	if (seconds >= 2 * 86400)
		buf_fmt(out, "%5lld d", seconds / 86400);
	else if (seconds >= 7200)
		buf_fmt(out, "%5lld h", seconds / 3600);
	else
		buf_fmt(out, "%5lld m", seconds < 0 ? 0 : seconds / 60);
}

/* 1 when the file is a whole entry under its right name. Gives e->bytes (may be NULL). */
static int load_item(struct cache *c, const char *name, struct entry *e)
{
	char hash[33];
	size_t size = 0;
	char *bytes = cache_read(c, name, &size);

	memset(e, 0, sizeof *e);
	if (!bytes || entry_parse(e, bytes, size))
		return 0;
	hash_name(e->key, e->key_len, hash);
	return !strncmp(hash, name, 2) && !strncmp(hash + 2, name + 3, 30);
}

static void list_command(struct cache *c, struct buf *out)
{
	long long now = (long long)time(NULL);
	struct cache_item *item;
	int i = cache_scan(c, &item);

	while (i-- > 0) {
		struct entry e;
		int good;

		if (item[i].temporary)
			continue;
		good = load_item(c, item[i].name, &e);
		buf_fmt(out, "%.34s %7lld ", item[i].name, item[i].bytes);
		print_age(now - item[i].used, out);
		if (good) {
			buf_fmt(out, "  %s_%d NVRTC %d.%d", e.image.ptx ? "compute" : "sm", e.image.target, e.image.nvrtc / 1000,
				e.image.nvrtc % 1000 / 10);
		}
		buf_str(out, good ? "\n" : "  damaged\n");
		free(e.bytes);
	}
	free(item);
}

static void verify_command(struct cache *c, struct buf *out)
{
	struct cache_item *item;
	int i, n = cache_scan(c, &item), good = 0, bad = 0;

	for (i = 0; i < n; i++) {
		struct entry e;

		if (item[i].temporary)
			continue;
		if (load_item(c, item[i].name, &e)) {
			good++;
		} else {
			bad++;
			buf_fmt(out, "damaged, removed: %.34s\n", item[i].name);
			cache_remove(c, item[i].name);
		}
		free(e.bytes);
	}
	free(item);
	buf_fmt(out, "%d good, %d damaged\n", good, bad);
}

static void clear_command(struct cache *c, struct buf *out)
{
	struct cache_item *item;
	int i, n = cache_scan(c, &item);
	long long bytes = 0;

	for (i = 0; i < n; i++) {
		bytes += item[i].bytes;
		cache_remove(c, item[i].name);
	}
	free(item);
	buf_fmt(out, "removed %d files, %lld bytes\n", n, bytes);
}

static void trim_command(struct cache *c, struct buf *out)
{
	long long freed = 0;
	int removed = 0;

	cache_trim(c, LIMIT, &removed, &freed);
	buf_fmt(out, "removed %d files, %lld bytes\n", removed, freed);
}

static const struct {
	const char *name;
	void (*run)(struct cache *c, struct buf *out);
	const char *(*hindered)(const struct cache *c);   /* by what, "": by nothing */
} commands[] = {
	{"stat", stat_command, NULL},
	{"path", path_command, NULL},
	{"list", list_command, cache_off},
	{"verify", verify_command, cache_shut},
	{"clear", clear_command, cache_shut},
	{"trim", trim_command, cache_shut},
};

gx_status cache_command(const gx_options *opt, const char *command, struct buf *out, gx_error *err)
{
	struct cache *c;
	const char *why;
	gx_status s = GX_OK;
	size_t i, n = sizeof commands / sizeof *commands;

	for (i = 0; i < n && strcmp(commands[i].name, command); i++)
		;
	if (i == n)
		return diag_plain(err, GX_ARG, "unknown cache command \"%.40s\"; there are stat, list, verify, clear, path and trim",
			command);
	c = cache_open(opt);
	if (!c)
		return diag_plain(err, GX_NOMEM, "out of memory");
	why = commands[i].hindered ? commands[i].hindered(c) : "";
	if (*why)
		s = diag_plain(err, GX_IO, "the kernel cache cannot be used: %s %s", cache_path(c), why);
	else
		commands[i].run(c, out);
	cache_close(c);
	return s;
}
