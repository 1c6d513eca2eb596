/* outputs.c -- tests of writing (formats/output.c, write.c, temporary.c): bytes of each kind of file, and that an output is there whole or
 * not at all: refused, abandoned, raced, killed, out of disk, out of memory. After each test the folder holds no stray file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "formats/format.h"

static int passed, failed, skipped;
static char home[] = "/tmp/gx-outputs-XXXXXX";

static void check(int good, const char *name, const char *why)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
	good ? passed++ : failed++;
}

static void skip(const char *name, const char *why)
{
	printf("skip %s: %s\n", name, why);
	skipped++;
}

static gx_array array(gx_dtype t, int rank, int64_t n0, int64_t n1, void *data)
{
	gx_array a = {.dtype = t, .rank = rank, .shape = {n0, n1}, .stride = {rank == 2 ? n1 : 1, 1}, .data = data};

	return a;
}

static float four[] = {1, 0.1f, -2.5f, 1e20f};

static gx_array small(void)
{
	return array(GX_FLOAT32, 1, 4, 0, four);
}

/* Open, write, commit; the sentence of the first failure, "" for none. */
static const char *save(const char *path, int force, gx_array a)
{
	static gx_error err;
	struct output o;

	memset(&err, 0, sizeof err);
	if (output_open(path, force, &o, &err))
		return err.message;
	if (output_write(&o, &a, &err)) {
		output_abandon(&o);
		return err.message;
	}
	output_commit(&o, &err);
	return err.message;
}

static size_t content(const char *path, char *to, size_t room)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(to, 1, room - 1, f) : 0;

	if (f)
		fclose(f);
	to[n] = 0;
	return n;
}

static int entries(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

/* A new, empty folder, and in it. */
static void fresh(const char *name)
{
	if (chdir(home) || mkdir(name, 0777) || chdir(name))
		abort();
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "wb");

	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static void says(const char *name, const char *got, const char *want)
{
	check(strcmp(got, want) == 0, name, got[0] ? got : "(no error)");
}

static void test_kinds(void)
{
	static const struct { const char *path, *want; } texts[] = {
		{"t.csv", "1.0,0.1\n-2.5,1e+20\n"}, {"t.txt", "1.0,0.1\n-2.5,1e+20\n"}, {"t.tsv", "1.0\t0.1\n-2.5\t1e+20\n"},
		{"t.CSV", "1.0,0.1\n-2.5,1e+20\n"},
	};
	unsigned char truth[] = {1, 0, 1};
	uint16_t half[] = {0x3f80, 0x4000};
	char b[4096];
	size_t n;

	fresh("kinds");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		says(texts[i].path, save(texts[i].path, 0, array(GX_FLOAT32, 2, 2, 2, four)), "");
		content(texts[i].path, b, sizeof b);
		says(texts[i].path, b, texts[i].want);
	}
	says("a column", save("c.csv", 0, array(GX_BOOL, 1, 3, 0, truth)), "");
	content("c.csv", b, sizeof b);
	says("a column's text", b, "True\nFalse\nTrue\n");
	says("a scalar", save("s.txt", 0, array(GX_BFLOAT16, 0, 0, 0, half + 1)), "");
	content("s.txt", b, sizeof b);
	says("a scalar's text", b, "2.0\n");
	says("raw", save("r.raw", 0, small()), "");
	check(content("r.raw", b, sizeof b) == 16 && memcmp(b, four, 16) == 0, "raw bytes", "differ");
	says("bfloat16", save("h.npy", 0, array(GX_BFLOAT16, 1, 2, 0, half)), "");
	n = content("h.npy", b, sizeof b);
	check(n == 136 && memcmp(b + 128, "\0\0\x80\x3f\0\0\0\x40", 8) == 0 && strstr(b + 10, "'<f4'"), "bfloat16 as float32", b + 10);
	says("npy", save("a.npy", 0, small()), "");
	n = content("a.npy", b, sizeof b);
	check(n == 144 && memcmp(b, "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }     ", 69) == 0 &&
		b[127] == '\n' && memcmp(b + 128, four, 16) == 0, "npy bytes", b + 10);
	says("no elements", save("e.npy", 0, array(GX_FLOAT64, 2, 0, 3, NULL)), "");
	check(content("e.npy", b, sizeof b) == 128, "no elements, only a header", "length");
	check(entries(".") == 10, "nothing else is left in the folder", "stray files");
}

/* Run `body` in a child; its exit status. */
static int in_child(int (*body)(void))
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(body());
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int shut_folder(void)
{
	if (geteuid() == 0 && setuid(65534))
		return 1;
	return strcmp(save("shut/x.npy", 0, small()), "shut/x.npy: cannot write into its folder: Permission denied") != 0;
}

static void test_refusals(void)
{
	gx_array cube = array(GX_FLOAT32, 3, 1, 1, four), complex = array(GX_COMPLEX64, 1, 2, 0, four), column = small();

	fresh("refusals");
	cube.shape[2] = 4;
	cube.stride[2] = 1;
	column.stride[0] = 2;
	column.shape[0] = 2;
	says("rank 3 as text", save("x.csv", 0, cube), "x.csv: an array of rank 3 does not fit into a text file (lines and columns: rank 2 "
		"at most); hint: write .npy");
	says("complex as text", save("x.csv", 0, complex), "x.csv: complex numbers are not written to text files; hint: write .npy");
	says("not contiguous", save("x.npy", 0, column), "x.npy: only C-contiguous arrays can be written");
	says("npz", save("x.npz", 0, small()), "x.npz: no format has this extension; there are .npy, .csv, .tsv, .txt, .raw and .bin; hint: "
		"raw bytes go under any name by -o -.raw > FILE");
	says("no folder", save("none/x.npy", 0, small()), "none/x.npy: the folder 'none' does not exist");
	says("a folder", save(".", 0, small()), ". is a folder; hint: give a file name, ./result.npy");
	says("a folder's name", save("x/", 0, small()), "x/ is a folder; hint: give a file name, x/result.npy");
	says("no name", save("", 0, small()), "the name of an output is empty");
	put("b.npy", "old");
	says("exists", save("b.npy", 0, small()), "b.npy exists; use --force to replace it");
	says("a file as a folder", save("b.npy/c.npy", 0, small()), "b.npy/c.npy: cannot write there: Not a directory");
	mkdir("shut", 0555);
	check(in_child(shut_folder) == 0, "a folder that may not be written", "no or a wrong error");
	rmdir("shut");
	check(entries(".") == 1, "refusals leave nothing", "stray files");
}

static void test_replacing(void)
{
	struct stat st;
	char b[400];
	struct output o;
	gx_error err;
	gx_array a = small();

	fresh("replacing");
	put("a.npy", "old");
	chmod("a.npy", 0640);
	says("force", save("a.npy", 1, a), "");
	check(stat("a.npy", &st) == 0 && st.st_size == 144 && (st.st_mode & 07777) == 0640, "force keeps the mode", "mode or size");
	umask(027);
	says("a new file", save("n.npy", 1, a), "");
	check(stat("n.npy", &st) == 0 && (st.st_mode & 07777) == 0640, "a new file has the mode that umask leaves", "mode");
	umask(022);
	if (mkdir("far", 0777) || symlink("far/real.npy", "link.npy") || symlink("link.npy", "link2.npy"))
		abort();
	says("through links that lead nowhere yet", save("link2.npy", 0, a), "");
	check(lstat("far/real.npy", &st) == 0 && S_ISREG(st.st_mode), "the file is where the links lead", "it is not");
	says("through links to a file", save("link2.npy", 1, array(GX_FLOAT32, 1, 2, 0, four)), "");
	check(lstat("link.npy", &st) == 0 && S_ISLNK(st.st_mode) && stat("far/real.npy", &st) == 0 && st.st_size == 136,
		"links stay links, the file is new", "they do not");
	check(output_open("new.npy", 0, &o, &err) == GX_OK && output_write(&o, &a, &err) == GX_OK && access("new.npy", F_OK) != 0,
		"not there before the commit", err.message);
	put("new.npy", "mine");
	check(output_commit(&o, &err) == GX_IO, "a file that appears meanwhile is not replaced", "it was");
	says("its message", err.message, "new.npy exists (it was made meanwhile); use --force to replace it");
	content("new.npy", b, sizeof b);
	says("its content", b, "mine");
	check(output_open("x.npy", 0, &o, &err) == GX_OK && output_commit(&o, &err) == GX_ARG, "nothing written, nothing committed", "ok?");
	check(output_open("x.npy", 0, &o, &err) == GX_OK && output_write(&o, &a, &err) == GX_OK, "write", err.message);
	check(output_write(&o, &a, &err) == GX_ARG && entries(".") == 7, "written once only", "twice");
	output_abandon(&o);
	check(entries(".") == 6 && entries("far") == 1, "abandoned outputs leave nothing", "stray files");
}

static struct output left;

static int leave_temporary(void)
{
	gx_array a = small();

	return output_open("k.npy", 0, &left, NULL) || output_write(&left, &a, NULL);
}

static int inherit_and_abandon(void)
{
	output_abandon_all();
	return 0;
}

static void on_signal(int n)
{
	output_abandon_all();
	_exit(n);
}

static int die_by_signal(void)
{
	signal(SIGTERM, on_signal);
	if (leave_temporary())
		return 1;
	raise(SIGTERM);
	return 2;
}

static void test_killed(void)
{
	gx_array a = small();
	pid_t child;
	int ready[2];
	char c;

	fresh("killed");
	check(in_child(leave_temporary) == 0 && entries(".") == 1, "a killed process leaves its temporary", "it left none");
	says("a later output", save("a.npy", 0, a), "");
	check(entries(".") == 1 && access("a.npy", F_OK) == 0, "and sweeps it away", "it did not");
	fresh("signalled");
	check(in_child(die_by_signal) == SIGTERM && entries(".") == 0, "output_abandon_all in a handler removes temporaries", "it did not");
	check(leave_temporary() == 0 && in_child(inherit_and_abandon) == 0 && entries(".") == 1,
		"a forked child leaves its parent's temporaries alone", "it removed them");
	output_abandon(&left);
	fresh("alive");
	if (pipe(ready))
		abort();
	fflush(stdout);
	child = fork();
	if (child == 0) {
		c = (char)leave_temporary();
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(0);
	}
	check(read(ready[0], &c, 1) == 1 && c == 0, "another process writes", "it does not");
	says("an output beside it", save("a.npy", 0, a), "");
	check(entries(".") == 2, "the temporary of a living process stays", "it was swept");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static char *million(void)
{
	static char *p;

	p = p ? p : calloc(1, 1 << 20);
	return p;
}

static int small_limit(void)
{
	struct rlimit r = {100000, 100000};
	gx_array a = array(GX_UINT8, 1, 1 << 20, 0, million());

	setrlimit(RLIMIT_FSIZE, &r);
	if (!strstr(save("big.npy", 0, a), "larger than this process may make one (100000 bytes") ||
		!strstr(save("big.csv", 0, a), "larger than this process may make one") ||
		!strstr(save("big.raw", 0, a), "larger than this process may make one"))
		return 1;
	return entries(".") ? 2 : save("s.npy", 0, small())[0] ? 3 : 0;
}

static int tell(const char *path, const char *fmt, unsigned id)
{
	FILE *f = fopen(path, "w");

	return f && fprintf(f, fmt, id) > 0 && fclose(f) == 0;
}

/* A namespace of mounts for this child alone, as root of a namespace of users, in which its ids must be known. */
static int own_mounts(void)
{
	unsigned user = geteuid(), group = getegid();

	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && tell("/proc/self/setgroups", "deny", 0) &&
		tell("/proc/self/uid_map", "0 %u 1\n", user) && tell("/proc/self/gid_map", "0 %u 1\n", group);
}

static int small_disk(void)
{
	gx_array a = array(GX_UINT8, 1, 1 << 20, 0, million());

	if (!own_mounts() || mount("none", ".", "tmpfs", 0, "size=512k"))
		return 77;
	if (chdir(home) || chdir("disk"))
		return 1;
	if (!strstr(save("big.npy", 0, a), "big.npy: cannot write 1048704 bytes: No space left on device"))
		return 2;
	if (!strstr(save("big.csv", 0, a), "No space left on device"))
		return 3;
	return entries(".") ? 4 : 0;
}

static void test_full(void)
{
	int rc;

	fresh("limit");
	rc = in_child(small_limit);
	check(rc == 0, "ulimit -f is an error, not a signal, and leaves nothing", rc == 2 ? "stray files" : "wrong end");
	fresh("disk");
	rc = in_child(small_disk);
	if (rc == 77)
		skip("a full disk", "no small file system can be mounted here");
	else
		check(rc == 0, "a full disk is told and leaves nothing", rc == 4 ? "stray files" : "wrong message");
	says("/dev/full", save("/dev/full", 0, small()), "/dev/full: cannot write 144 bytes: No space left on device");
	says("/dev/null", save("/dev/null", 0, small()), "");
}

static int to_file(void)
{
	char b[400];
	int fd = open("std", O_RDWR | O_CREAT | O_TRUNC, 0666);

	dup2(fd, 1);
	if (save("-", 0, small())[0] || content("std", b, sizeof b) != 144 || memcmp(b, "\x93NUMPY", 6) != 0)
		return 1;
	if (save("-.csv", 0, small())[0] || content("std", b, sizeof b) != 163 || strcmp(b + 144, "1.0\n0.1\n-2.5\n1e+20\n") != 0)
		return 2;
	return 0;
}

static int to_broken_pipe(void)
{
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	if (pipe(ends) || dup2(ends[1], 1) < 0)
		return 1;
	close(ends[0]);
	return strcmp(save("-", 0, small()), "<standard output>: cannot write: its reader has gone (broken pipe)") ? 2 : 0;
}

static int to_closed(void)
{
	close(1);
	return strcmp(save("-", 0, small()), "standard output is closed") != 0;
}

static int to_fifo(void)
{
	char b[400] = "";
	int fd;

	if (mkfifo("f.npy", 0666) || (fd = open("f.npy", O_RDWR)) < 0)
		return 1;
	return save("f.npy", 0, small())[0] || read(fd, b, sizeof b) != 144 || memcmp(b, "\x93NUMPY", 6) != 0;
}

static void test_standard_output(void)
{
	fresh("standard");
	check(in_child(to_file) == 0, "standard output", "wrong bytes");
	check(in_child(to_broken_pipe) == 0, "standard output without a reader", "no or a wrong error");
	check(in_child(to_closed) == 0, "closed standard output", "no or a wrong error");
	check(in_child(to_fifo) == 0, "a named pipe is written to, not replaced", "it was not");
}

/* Paths near the limits of names, and a name with a line break in a message. */
static void test_names(void)
{
	char name[300];

	fresh("names");
	memset(name, 'n', 251);
	strcpy(name + 251, ".npy");
	says("the longest name", save(name, 0, small()), "");
	check(access(name, F_OK) == 0 && entries(".") == 1, "is there", "is not");
	put("a\nb.npy", "");
	says("a line break in a name", save("a\nb.npy", 0, small()), "a\\x0ab.npy exists; use --force to replace it");
	says("spaces", save("with some spaces.npy", 0, small()), "");
	says("a dash with a folder", save("./-", 0, small()), "");
	check(access("-", F_OK) == 0, "is a file", "is not");
}

static void test_faults(void)
{
#ifdef GX_FAULTS
	gx_status s = GX_NOMEM;
	int n = 0;

	fresh("faults");
	while (s == GX_NOMEM && n < 100) {
		struct output o;
		gx_array a = small();

		fault_set(++n, 0);
		s = output_open("m.npy", 0, &o, NULL);
		if (s == GX_OK && (s = output_write(&o, &a, NULL)))
			output_abandon(&o);
		else if (s == GX_OK)
			s = output_commit(&o, NULL);
		fault_set(0, 0);
		if (s && entries("."))
			break;
	}
	check(s == GX_OK && n > 3 && entries(".") == 1, "each allocation fails once", "wrong status or stray files");
#else
	skip("failing allocations", "not built with -DGX_FAULTS");
#endif
}

int main(void)
{
	char command[100];

	umask(022);
	if (!mkdtemp(home) || chmod(home, 0755))
		return 1;
	test_kinds();
	test_refusals();
	test_replacing();
	test_killed();
	test_full();
	test_standard_output();
	test_names();
	test_faults();
	free(million());
	snprintf(command, sizeof command, "rm -rf %s", home);
	if (chdir("/") || system(command))
		failed++;
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
