/* cache.c -- tests of the kernel cache on disk (runtime/cache*.c): every way in which a folder or an entry can be wrong must
 * end in a miss, never in an error, a hang or a wrong kernel. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "runtime/cache.h"
#include "runtime/cache_file.h"

static int passed, failed, skipped;
static char home[64], folder[128];

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

static gx_options options(void)
{
	gx_options o = {.size = sizeof o, .cache_dir = folder};

	return o;
}

static struct cache *open_cache(void)
{
	gx_options o = options();

	return cache_open(&o);
}

static void fresh_folder(const char *name)
{
	snprintf(folder, sizeof folder, "%s/%s", home, name);
}

static void entry_path(const char *key, char path[256])
{
	char h[33];

	hash_name(key, strlen(key), h);
	snprintf(path, 256, "%s/%.2s/%.30s.gxk", folder, h, h + 2);
}

static void put(struct cache *c, const char *key, const char *bytes)
{
	struct image im = {.bytes = (char *)(uintptr_t)bytes, .size = strlen(bytes), .target = 90, .nvrtc = 13000};

	cache_store(c, key, strlen(key), &im);
}

/* 1: found and right; 0: a miss; -1: found and wrong. */
static int get(struct cache *c, const char *key, const char *bytes)
{
	struct image im;
	int rc = 0;

	if (cache_load(c, key, strlen(key), &im))
		rc = im.size == strlen(bytes) && !memcmp(im.bytes, bytes, im.size) && im.target == 90 && im.nvrtc == 13000 ? 1 : -1;
	image_free(&im);
	return rc;
}

static size_t slurp(const char *path, char *p, size_t max)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(p, 1, max, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static void spill(const char *path, const char *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (!f)
		return;
	fwrite(p, 1, n, f);
	fclose(f);
	chmod(path, 0600);
}

static void test_round_trip(void)
{
	struct cache *c;
	struct stat st;
	char path[256];

	fresh_folder("deep/er/round");
	c = open_cache();
	check(stat(folder, &st) != 0, "nothing on disk before the first store", "the folder was made");
	check(get(c, "k", "image") == 0, "empty cache misses", "hit");
	put(c, "k", "image");
	put(c, "empty image", "");
	check(get(c, "k", "image") == 1, "stored entry is found", "miss or wrong");
	check(get(c, "empty image", "") == 1, "empty image is found", "miss or wrong");
	check(get(c, "k2", "image") == 0, "another key misses", "hit");
	cache_close(c);
	c = open_cache();
	check(get(c, "k", "image") == 1, "found by the next process", "miss or wrong");
	check(!stat(folder, &st) && (st.st_mode & 0777) == 0700, "folder has mode 0700", "other mode");
	entry_path("k", path);
	check(!stat(path, &st) && (st.st_mode & 0777) == 0600, "entry has mode 0600", "other mode");
	cache_drop(c, "k", 1);
	check(get(c, "k", "image") == 0, "dropped entry is gone", "hit");
	snprintf(path, sizeof path, "%s/CACHEDIR.TAG", folder);
	check(!stat(path, &st), "CACHEDIR.TAG is there", "missing");
	cache_close(c);
}

/* A right file under another key's name: what a hash collision would look like. */
static void test_collision(void)
{
	struct cache *c;
	char a[256], b[256], bytes[4096];
	size_t n;

	fresh_folder("collision");
	c = open_cache();
	put(c, "one", "image of one");
	put(c, "two", "image of two");
	entry_path("one", a);
	entry_path("two", b);
	n = slurp(a, bytes, sizeof bytes);
	spill(b, bytes, n);
	check(n > 0 && get(c, "two", "image of two") == 0, "an entry with another key text is a miss", "hit");
	cache_close(c);
}

static void test_damage(void)
{
	char path[256], bytes[4096], bad[4096];
	struct cache *c;
	size_t n, i;
	int hits = 0;

	fresh_folder("damage");
	c = open_cache();
	put(c, "key text", "the image of the kernel");
	entry_path("key text", path);
	n = slurp(path, bytes, sizeof bytes);
	for (i = 0; i < n; i++) {
		spill(path, bytes, i);
		hits += get(c, "key text", "the image of the kernel") != 0;
	}
	check(n > 64 && hits == 0, "truncation at every length misses", "hit");
	hits = 0;
	for (i = 0; i < 8 * n; i++) {
		memcpy(bad, bytes, n);
		bad[i / 8] = (char)(bad[i / 8] ^ 1 << i % 8);
		spill(path, bad, n);
		hits += get(c, "key text", "the image of the kernel") != 0;
	}
	check(hits == 0, "every flipped bit misses", "hit");
	memcpy(bad, bytes, n);
	bad[n] = 'x';
	spill(path, bad, n + 1);
	check(get(c, "key text", "the image of the kernel") == 0, "bytes behind the entry miss", "hit");
	check(access(path, F_OK) != 0, "a damaged entry is removed", "still there");
	put(c, "key text", "the image of the kernel");
	check(get(c, "key text", "the image of the kernel") == 1, "and can be stored again", "miss");
	cache_close(c);
}

static void test_rights(void)
{
	char path[256], link[160];
	struct cache *c;

	fresh_folder("rights");
	c = open_cache();
	put(c, "k", "image");
	entry_path("k", path);
	chmod(path, 0620);
	check(get(c, "k", "image") == 0, "an entry that the group may write is a miss", "hit");
	chmod(path, 0600);
	check(get(c, "k", "image") == 1, "the same entry with mode 0600 is a hit", "miss");
	if (geteuid() == 0) {
		if (chown(path, 12345, 12345) == 0)
			check(get(c, "k", "image") == 0, "an entry of another user is a miss", "hit");
	} else {
		skip("an entry of another user is a miss", "needs root");
	}
	cache_close(c);
	chmod(folder, 0770);
	c = open_cache();
	check(*cache_off(c) != 0, "a folder that the group may write is refused", "used");
	put(c, "k3", "image");
	check(get(c, "k3", "image") == 0, "and nothing is kept in it", "hit");
	cache_close(c);
	chmod(folder, 0700);
	snprintf(link, sizeof link, "%s/link", home);
	check(symlink(folder, link) == 0, "symlink made", strerror(errno));
	snprintf(folder, sizeof folder, "%s/link/", home);
	c = open_cache();
	check(*cache_off(c) != 0, "a folder that is a link is refused", "used");
	cache_close(c);
}

static void test_odd_files(void)
{
	char path[256], other[160];
	struct cache *c;

	fresh_folder("odd");
	c = open_cache();
	put(c, "k", "image");
	entry_path("k", path);
	snprintf(other, sizeof other, "%s/moved", home);
	check(rename(path, other) == 0 && symlink(other, path) == 0, "entry replaced by a link", strerror(errno));
	check(get(c, "k", "image") == 0, "a linked entry is a miss", "hit");
	put(c, "k", "image");
	check(get(c, "k", "image") == 1, "the link is replaced by the next store", "miss");
	unlink(path);
	check(mkfifo(path, 0600) == 0, "fifo made", strerror(errno));
	check(get(c, "k", "image") == 0, "a fifo is a miss and does not hang", "hit");
	unlink(path);
	check(mkdir(path, 0700) == 0 && get(c, "k", "image") == 0, "a folder in its place is a miss", "hit");
	put(c, "k", "image");
	check(get(c, "k", "image") == 0, "and the store is dropped", "hit");
	cache_close(c);
}

/* Runs body in a child; its exit status is 0 when it returned 1. */
static int in_child(int (*body)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(body() ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int full_disk(void)
{
	struct rlimit limit = {40, 40};
	struct cache *c = open_cache();
	struct cache_item *item;
	int n;

	put(c, "first", "image");
	setrlimit(RLIMIT_FSIZE, &limit);
	put(c, "second", "image");
	n = cache_scan(c, &item);
	return n == 1 && get(c, "first", "image") == 1 && get(c, "second", "image") == 0;
}

static int read_only(void)
{
	struct cache *c;

	if (geteuid() == 0 && (chown(folder, 65534, 65534) || seteuid(65534)))
		return 0;
	c = open_cache();
	put(c, "k", "image");
	return get(c, "k", "image") == 0 && faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS) != 0;
}

static int not_creatable(void)
{
	struct cache *c;

	snprintf(folder, sizeof folder, "/proc/gpuexpr-test/cache");
	c = open_cache();
	put(c, "k", "image");
	return get(c, "k", "image") == 0;
}

static void test_no_room(void)
{
	fresh_folder("full");
	check(in_child(full_disk), "a full disk keeps the old entry, loses the new one, leaves no temporary file", "see full_disk");
	fresh_folder("readonly");
	mkdir(folder, 0500);
	chmod(home, 0755);
	check(in_child(read_only), "a read-only folder only misses", "see read_only");
	chmod(home, 0700);
	check(in_child(not_creatable), "a folder that cannot be made only misses", "see not_creatable");
}

static int worker(void)
{
	struct cache *c = open_cache();
	char key[32], image[64];
	int i, bad = 0;

	for (i = 0; i < 200; i++) {
		snprintf(key, sizeof key, "key %d", i);
		snprintf(image, sizeof image, "image of %d, the same for all", i);
		bad += get(c, key, image) < 0;
		put(c, key, image);
		bad += get(c, key, image) < 0;
	}
	cache_close(c);
	return !bad;
}

static int temporaries(void)
{
	struct cache *c = open_cache();
	struct cache_item *item;
	int n = cache_scan(c, &item), count = 0;

	while (n-- > 0)
		count += item[n].temporary;
	free(item);
	cache_close(c);
	return count;
}

static void test_processes(void)
{
	int i, status, good = 1;
	pid_t pid[4];

	fresh_folder("together");
	fflush(stdout);
	for (i = 0; i < 4; i++)
		if ((pid[i] = fork()) == 0)
			_exit(worker() ? 0 : 1);
	for (i = 0; i < 4; i++)
		good &= waitpid(pid[i], &status, 0) == pid[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	check(good, "four processes with 200 keys never read a wrong entry", "wrong entry");
	check(temporaries() == 0, "they leave no temporary file", "temporary files");
	check(worker(), "all entries are whole afterwards", "wrong entry");
}

static int entries_good(void)
{
	gx_options o = options();
	struct buf out = {0};
	gx_error err;
	int good = !cache_command(&o, "verify", &out, &err) && out.text && strstr(out.text, " good, 0 damaged");

	buf_free(&out);
	return good;
}

static void test_kill(void)
{
	int i, good = 1;

	fresh_folder("kill");
	for (i = 0; i < 40 && good; i++) {
		struct timespec t = {0, 300000 + i * 137000};
		pid_t pid[2];
		int k;

		fflush(stdout);
		for (k = 0; k < 2; k++)
			if ((pid[k] = fork()) == 0)
				for (;;)
					worker();
		nanosleep(&t, NULL);
		for (k = 0; k < 2; k++) {
			kill(pid[k], SIGKILL);
			waitpid(pid[k], NULL, 0);
		}
		good &= entries_good();
	}
	check(good, "killed at any moment, every entry is whole", "damaged entry");
}

static void test_choice(void)
{
	char want[160];
	struct cache *c;
	gx_options off = {.size = sizeof off, .no_cache = 1};

	setenv("HOME", home, 1);
	setenv("XDG_CACHE_HOME", "relative/path", 1);
	unsetenv("GPUEXPR_CACHE_DIR");
	snprintf(want, sizeof want, "%s/.cache/gpuexpr", home);
	c = cache_open(NULL);
	check(!strcmp(cache_path(c), want), "a relative XDG_CACHE_HOME is ignored", cache_path(c));
	put(c, "k", "image");
	check(get(c, "k", "image") == 1, "~/.cache is made when it is not there", "miss");
	cache_close(c);
	setenv("XDG_CACHE_HOME", home, 1);
	snprintf(want, sizeof want, "%s/gpuexpr", home);
	c = cache_open(NULL);
	check(!strcmp(cache_path(c), want), "XDG_CACHE_HOME is used", cache_path(c));
	cache_close(c);
	setenv("GPUEXPR_CACHE_DIR", "", 1);
	c = cache_open(NULL);
	check(*cache_off(c) != 0, "an empty GPUEXPR_CACHE_DIR switches it off", "in use");
	cache_close(c);
	setenv("GPUEXPR_CACHE_DIR", home, 1);
	c = cache_open(NULL);
	check(!strcmp(cache_path(c), home), "GPUEXPR_CACHE_DIR goes before XDG_CACHE_HOME", cache_path(c));
	cache_close(c);
	c = cache_open(&off);
	put(c, "nothing", "image");
	check(*cache_off(c) && get(c, "nothing", "image") == 0, "no_cache neither writes nor reads", "hit");
	cache_close(c);
	unsetenv("GPUEXPR_CACHE_DIR");
}

static void age(const char *path, time_t seconds)
{
	struct timespec t[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};

	utimensat(AT_FDCWD, path, t, 0);
}

static void test_trim(void)
{
	char path[256], key[16], temp[300];
	long long freed = 0;
	struct cache *c;
	struct stat st;
	int i, removed = 0, left = 0;

	fresh_folder("trim");
	c = open_cache();
	for (i = 0; i < 20; i++) {
		snprintf(key, sizeof key, "key %02d", i);
		put(c, key, "image");
		entry_path(key, path);
		age(path, 1000000 - i * 10000);
	}
	snprintf(temp, sizeof temp, "%s.1.0123456789abcdef.tmp", path);
	spill(temp, "torn", 4);
	age(temp, 7200);
	check(get(c, "key 00", "image") == 1, "oldest entry is used", "miss");
	entry_path("key 00", path);
	check(!stat(path, &st) && st.st_mtime > time(NULL) - 100, "a hit renews the entry's time", "old");
	cache_trim(c, 10 * (ENTRY_HEADER + 6 + 5), &removed, &freed);
	for (i = 0; i < 20; i++) {
		snprintf(key, sizeof key, "key %02d", i);
		left += get(c, key, "image") == 1;
	}
	check(left == 8 && removed == 13, "trim keeps the newest 80 % of the limit", "other number");
	check(get(c, "key 00", "image") == 1 && get(c, "key 01", "image") == 0, "by last use", "wrong ones");
	check(temporaries() == 0, "trim removes stale temporary files", "still there");
	cache_close(c);
}

static int command(const char *name, const char *want)
{
	gx_options o = options();
	struct buf out = {0};
	gx_error err = {0};
	gx_status s = cache_command(&o, name, &out, &err);
	int good = s == GX_OK && out.text && strstr(out.text, want);

	if (!good)
		printf("# %s gave %d \"%s\" %s\n", name, (int)s, out.text ? out.text : "", err.text);
	buf_free(&out);
	return good;
}

static void test_commands(void)
{
	gx_options o;
	struct buf out = {0};
	char path[256], foreign[200];
	struct cache *c;
	gx_error err;

	fresh_folder("commands");
	check(command("stat", "entries: 0") && command("path", folder), "commands on a folder that is not there", "other text");
	c = open_cache();
	put(c, "gpuexpr 0\nnvrtc 13.0\n\n/* c = a*b */\n", "image");
	put(c, "other", "image");
	cache_set_nvrtc(c, 13000);
	cache_close(c);
	check(command("path", folder), "path", "other text");
	check(command("stat", "entries: 2") && command("stat", "NVRTC 13.0"), "stat", "other text");
	check(command("list", "sm_90 NVRTC 13.0"), "list shows target and compiler", "other text");
	entry_path("other", path);
	spill(path, "rubbish", 7);
	check(command("list", "damaged"), "list marks damaged entries", "other text");
	check(command("verify", "1 good, 1 damaged") && command("verify", "1 good, 0 damaged"), "verify removes them", "other text");
	snprintf(foreign, sizeof foreign, "%.*s/mine.txt", (int)(strrchr(path, '/') - path), path);
	spill(foreign, "mine", 4);
	check(command("trim", "removed 0 files"), "trim has nothing to do", "other text");
	check(command("clear", "removed 1 files") && command("stat", "entries: 0"), "clear", "other text");
	check(access(foreign, F_OK) == 0, "clear leaves other people's files alone", "gone");
	o = options();
	check(cache_command(&o, "frobnicate", &out, &err) == GX_ARG && strstr(err.text, "verify"), "unknown command", "accepted");
	chmod(folder, 0777);
	check(cache_command(&o, "clear", &out, &err) == GX_IO, "clear refuses an open folder", "accepted");
	chmod(folder, 0700);
	buf_free(&out);
}

static void test_nvrtc_version(void)
{
	struct cache *c;

	fresh_folder("version");
	c = open_cache();
	check(cache_nvrtc(c) == 0, "no compiler is known at first", "known");
	cache_set_nvrtc(c, 12090);
	cache_close(c);
	c = open_cache();
	check(cache_nvrtc(c) == 12090, "the last compiler is remembered", "other version");
	cache_close(c);
}

int main(void)
{
	char command_line[128];

	snprintf(home, sizeof home, "/tmp/gx-cache-XXXXXX");
	if (!mkdtemp(home))
		return 1;
	umask(022);
	test_round_trip();
	test_collision();
	test_damage();
	test_rights();
	test_odd_files();
	test_no_room();
	test_processes();
	test_kill();
	test_choice();
	test_trim();
	test_commands();
	test_nvrtc_version();
	snprintf(command_line, sizeof command_line, "rm -rf %s", home);
	if (system(command_line))
		failed++;
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
