/* temporary.c -- hidden files that become outputs: .gpuexpr-PLACE-PID-N.tmp in the folder of the output. PLACE stands for the machine
 * and the process namespace, so that a sweep removes only what a dead process of this very place left behind and never
 * the work of a living one elsewhere on a shared disk. The table of names is plain memory: a signal handler walks it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/hash.h"
#include "formats/parts.h"

enum { SLOTS = 1024, SWEPT = 64, ENTRIES_MOST = 200000 };
enum { FREE, CLAIMED, LIVE };

static struct slot {
	atomic_int state;
	atomic_int pid;          /* a child of fork() must not remove its parent's files */
	char name[PATH_MAX];
} slots[SLOTS];

static atomic_uint counter;

void output_abandon_all(void)
{
	int pid = (int)getpid();

	for (int i = 0; i < SLOTS; i++)
		if (atomic_load(&slots[i].state) == LIVE && atomic_load(&slots[i].pid) == pid)
			unlink(slots[i].name);
}

static int enter(const char *name)
{
	if (strlen(name) >= PATH_MAX)
		return -1;
	for (int i = 0; i < SLOTS; i++) {
		int expected = FREE;

		if (!atomic_compare_exchange_strong(&slots[i].state, &expected, CLAIMED))
			continue;
		strcpy(slots[i].name, name);
		atomic_store(&slots[i].pid, (int)getpid());
		atomic_store(&slots[i].state, LIVE);
		return 0;
	}
	return -1;
}

static void leave(const char *name)
{
	for (int i = 0; i < SLOTS; i++)
		if (atomic_load(&slots[i].state) == LIVE && strcmp(slots[i].name, name) == 0) {
			atomic_store(&slots[i].state, FREE);
			return;
		}
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned place;

static void find_place(void)
{
	char text[512] = "";
	size_t n = 0;
	ssize_t got;
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		got = read(fd, text, 64);
		n += got > 0 ? (size_t)got : 0;
		close(fd);
	}
	got = readlink("/proc/self/ns/pid", text + n, 64);
	n += got > 0 ? (size_t)got : 0;
	if (gethostname(text + n, 256) == 0)
		n += strnlen(text + n, 256);
	place = (unsigned)hash_bytes(text, n, 0);
}

/* As the old file was, as far as the system lets us: only root gives files away. */
static void keep_owner_and_mode(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid))
		errno = 0;
	fchmod(fd, old->st_mode & 0777);
}

gx_status temporary_make(const char *shown, const char *folder, const struct stat *old, char **name, int *fd, gx_error *err)
{
	size_t bytes = strlen(folder) + 64;
	char *path = gx_malloc(bytes);

	if (!path)
		return no_memory(shown, bytes, err);
	pthread_once(&once, find_place);
	do {
		snprintf(path, bytes, "%s/.gpuexpr-%08x-%ld-%u.tmp", strcmp(folder, "/") == 0 ? "" : folder, place, (long)getpid(),
			atomic_fetch_add(&counter, 1u));
		if (enter(path)) {   /* before the file is there: a signal in between finds it */
			free(path);
			return diag_plain(err, GX_LIMIT, "%s: too many outputs are open, or the path is too long", shown);
		}
		*fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (*fd < 0)
			leave(path);
	} while (*fd < 0 && errno == EEXIST);
	if (*fd < 0) {
		free(path);
		return system_error(shown, "cannot create a file in its folder", errno, err);
	}
	if (old)
		keep_owner_and_mode(*fd, old);
	*name = path;
	return GX_OK;
}

void temporary_forget(char *name)
{
	leave(name);
	free(name);
}

void temporary_remove(char *name)
{
	unlink(name);
	temporary_forget(name);
}

static int is_stale(const char *name)
{
	unsigned where, number;
	long pid;
	int end = 0;

	if (sscanf(name, ".gpuexpr-%8x-%ld-%u.tmp%n", &where, &pid, &number, &end) != 3 || end == 0 || name[end])
		return 0;
	if (where != place || pid <= 0 || pid > INT_MAX || pid == (long)getpid())
		return 0;
	return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Once for each folder and process: folders can be long. */
static int first_visit(const struct stat *st)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct { dev_t dev; ino_t ino; } swept[SWEPT];
	static int n;
	int first = 1;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < n; i++)
		first &= swept[i].dev != st->st_dev || swept[i].ino != st->st_ino;
	first &= n < SWEPT;
	if (first) {
		swept[n].dev = st->st_dev;
		swept[n++].ino = st->st_ino;
	}
	pthread_mutex_unlock(&lock);
	return first;
}

void temporary_sweep(const char *folder)
{
	struct stat st;
	struct dirent *e;
	DIR *d = opendir(folder);

	if (!d)
		return;
	pthread_once(&once, find_place);
	if (fstat(dirfd(d), &st) || !first_visit(&st)) {
		closedir(d);
		return;
	}
	for (int i = 0; i < ENTRIES_MOST && (e = readdir(d)); i++) {
		if (e->d_name[0] != '.' || !is_stale(e->d_name))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
}
