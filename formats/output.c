/* output.c -- outputs that appear all at once or not at all: write a hidden temporary beside the target, then rename it. Because the
 * target is untouched until then, an output may have the name of an input. Devices and pipes are written to directly. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "formats/parts.h"

enum { LINKS_MOST = 40 };

/* "a/b.npy": the folder's bytes, "" where it is the current one. */
static size_t folder_bytes(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the extension says; without one, .npy. -1: a format that is not written: any bytes under its name would fool people. */
static int kind_of(const char *path)
{
	static const struct { const char *tail; int kind; } kinds[] = {
		{".npy", OUTPUT_NPY}, {".csv", OUTPUT_CSV}, {".txt", OUTPUT_CSV}, {".tsv", OUTPUT_TSV}, {".raw", OUTPUT_RAW}, {".bin", OUTPUT_RAW},
	};
	const char *name = last_part(path), *dot = strrchr(name, '.');

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (ends_with(name, kinds[i].tail))
			return kinds[i].kind;
	return dot && dot != name ? -1 : OUTPUT_NPY;
}

/* FOLDER/NAME in new memory; folder of n bytes, 0 = the current one, unless the path begins at the root. */
static char *join(const char *folder, size_t n, const char *name, int rooted)
{
	char *p = gx_malloc(n + strlen(name) + 3);

	if (p)
		sprintf(p, "%.*s%s%s", (int)n, folder, n || rooted ? "/" : "", name);
	else
		errno = ENOMEM;
	return p;
}

/* Where a link that leads nowhere yet leads to; NULL with errno where it is no link. */
static char *follow(const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof target - 1);

	if (n < 0)
		return NULL;
	target[n] = 0;
	if (target[0] == '/')
		return join("", 0, target + 1, 1);
	return join(path, folder_bytes(path), target, path[0] == '/');
}

/* The real folder and the name in it of a file that is not there. */
static char *real_place(const char *path)
{
	char *asked = join(path, folder_bytes(path), ".", path[0] == '/'), *folder, *result;

	if (!asked)
		return NULL;
	folder = realpath(asked, NULL);
	free(asked);
	if (!folder)
		return NULL;
	result = join(folder, strcmp(folder, "/") == 0 ? 0 : strlen(folder), last_part(path), 1);
	free(folder);
	return result;
}

/* The path with all links resolved, also those that lead to nothing. NULL with errno. */
static char *resolve(const char *path)
{
	char *at = NULL, *result;

	for (int i = 0; i < LINKS_MOST; i++) {
		char *next;

		result = realpath(at ? at : path, NULL);
		if (result || errno != ENOENT) {
			free(at);
			return result;
		}
		next = follow(at ? at : path);
		if (!next) {
			result = real_place(at ? at : path);
			free(at);
			return result;
		}
		free(at);
		at = next;
	}
	free(at);
	errno = ELOOP;
	return NULL;
}

static gx_status place_failed(const char *path, const char *shown, gx_error *err)
{
	char text[500];

	if (errno == ENOMEM)
		return no_memory(shown, strlen(path), err);
	if (errno == ENOENT && dangling_link(path, text))
		return diag_plain(err, GX_IO, "%s", text);
	if (errno == ENOENT && folder_bytes(path))
		return diag_plain(err, GX_IO, "%s: the folder '%.*s' does not exist", shown, (int)folder_bytes(shown), shown);
	return system_error(shown, "cannot write there", errno, err);
}

static gx_status check_folder(const struct output *o, gx_error *err)
{
	char *folder = join(o->path, folder_bytes(o->path), "", 1);
	int bad;

	if (!folder)
		return no_memory(o->shown, strlen(o->path), err);
	bad = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) ? errno : 0;
	if (!bad)
		temporary_sweep(folder);
	free(folder);
	return bad ? system_error(o->shown, "cannot write into its folder", bad, err) : GX_OK;
}

static gx_status no_format(const struct output *o, gx_error *err)
{
	return diag_plain(err, GX_ARG, "%s: no format has this extension; there are .npy, .csv, .tsv, .txt, .raw and .bin; hint: raw bytes go "
		"under any name by -o -.raw > FILE", o->shown);
}

static gx_status open_stdout(struct output *o, gx_error *err)
{
	o->direct = 1;
	if (o->kind < 0)
		return no_format(o, err);
	strcpy(o->shown, "<standard output>");
	if (fcntl(1, F_GETFD) < 0)
		return diag_plain(err, GX_IO, "standard output is closed");
	return GX_OK;
}

static gx_status open_file(const char *path, struct output *o, gx_error *err)
{
	struct stat st;
	const char *shown = o->shown;
	int there = stat(path, &st) == 0;

	if ((there && S_ISDIR(st.st_mode)) || !last_part(path)[0])
		return diag_plain(err, GX_IO, "%s is a folder; hint: give a file name, %s%sresult.npy", shown, shown,
			ends_with(shown, "/") ? "" : "/");
	o->direct = there && !S_ISREG(st.st_mode);
	if (o->direct && o->kind < 0)
		o->kind = OUTPUT_NPY;   /* its name says nothing about bytes */
	if (o->kind < 0)
		return no_format(o, err);
	if (there && !o->direct && !o->force)
		return diag_plain(err, GX_IO, "%s exists; use --force to replace it", shown);
	if (there && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))   /* its folder would let us, but somebody has protected it */
		return system_error(shown, o->direct ? "may not be written" : "may not be written, and --force does not change that", errno, err);
	o->path = o->direct ? join("", 0, path, 0) : resolve(path);
	if (!o->path)
		return place_failed(path, shown, err);
	return o->direct ? GX_OK : check_folder(o, err);
}

static void forget(struct output *o)
{
	free(o->path);
	o->path = NULL;
	o->temporary = NULL;
}

gx_status output_open(const char *path, int force, struct output *o, gx_error *err)
{
	gx_status s;

	memset(o, 0, sizeof *o);
	o->force = force != 0;
	name_shown(path, o->shown);
	o->kind = kind_of(path);
	if (!path[0])
		s = diag_plain(err, GX_ARG, "the name of an output is empty");
	else if (path[0] == '-' && (!path[1] || path[1] == '.'))
		s = open_stdout(o, err);
	else
		s = open_file(path, o, err);
	if (s)
		forget(o);
	return s;
}

static uint64_t size_limit(int fd, int *regular)
{
	struct rlimit r;
	struct stat st;

	*regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (!*regular || getrlimit(RLIMIT_FSIZE, &r) || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return r.rlim_cur;
}

/* Open what the bytes go to: standard output, the device, or a new temporary with mode and owner of the file it will replace. */
static gx_status open_target(struct output *o, int *fd, gx_error *err)
{
	struct stat st;
	char *folder;
	gx_status s;
	int there;

	if (!o->path) {
		*fd = 1;
		return GX_OK;
	}
	if (o->direct) {
		*fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return *fd < 0 ? system_error(o->shown, "cannot open", errno, err) : GX_OK;
	}
	folder = join(o->path, folder_bytes(o->path), "", 1);
	if (!folder)
		return no_memory(o->shown, strlen(o->path), err);
	folder[strlen(folder) - (strlen(folder) > 1)] = 0;   /* the slash at the end, unless it is the root */
	there = stat(o->path, &st) == 0;
	s = temporary_make(o->shown, folder, there ? &st : NULL, &o->temporary, fd, err);
	free(folder);
	return s;
}

gx_status output_write(struct output *o, const gx_array *a, gx_error *err)
{
	struct sink sink = {.fd = -1};
	int regular;
	gx_status s;

	if (o->temporary)
		return diag_plain(err, GX_ARG, "%s was written already", o->shown);
	s = open_target(o, &sink.fd, err);
	if (s)
		return s;
	sink.shown = o->shown;
	sink.limit = size_limit(sink.fd, &regular);
	s = array_write(&sink, o->kind, a, o->temporary != NULL, err);
	if (sink.fd != 1 && close(sink.fd) && s == GX_OK)
		s = system_error(o->shown, "cannot finish writing", errno, err);
	if (s && o->temporary) {
		temporary_remove(o->temporary);
		o->temporary = NULL;
	}
	return s;
}

/* Give the temporary its name unless that is taken; 0, or an errno. Three ways, as the file system allows. */
static int publish_new(const char *from, const char *to)
{
	int fd;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST)
		return EEXIST;
	if (link(from, to) == 0) {
		unlink(from);
		return 0;
	}
	if (errno == EEXIST)
		return EEXIST;
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);   /* take the name, then replace what is ours */
	if (fd < 0)
		return errno;
	close(fd);
	if (rename(from, to) == 0)
		return 0;
	fd = errno;
	unlink(to);
	return fd;
}

gx_status output_commit(struct output *o, gx_error *err)
{
	gx_status s = GX_OK;
	int bad;

	if (o->direct) {
		forget(o);
		return GX_OK;
	}
	if (!o->temporary) {
		forget(o);
		return diag_plain(err, GX_ARG, "%s: nothing was written to it", o->shown);
	}
	if (o->force)
		bad = rename(o->temporary, o->path) ? errno : 0;
	else
		bad = publish_new(o->temporary, o->path);
	if (bad == EEXIST)
		s = diag_plain(err, GX_IO, "%s exists (it was made meanwhile); use --force to replace it", o->shown);
	else if (bad)
		s = system_error(o->shown, "cannot put the finished file in place", bad, err);
	if (bad)
		temporary_remove(o->temporary);
	else
		temporary_forget(o->temporary);
	forget(o);
	return s;
}

void output_abandon(struct output *o)
{
	if (o->temporary)
		temporary_remove(o->temporary);
	forget(o);
}
