/* scenario.h -- for tests of what touches the driver: it is a matter of the whole process and opened once, so each scenario
 * runs in a child of its own, with its own environment, mostly against the fake driver that scenario_start compiles. */
#ifndef TESTS_UNIT_SCENARIO_H
#define TESTS_UNIT_SCENARIO_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int passed, failed, skipped;
static char folder[64], fake[128];

static inline void check(int good, const char *name, const char *why)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
	good ? passed++ : failed++;
}

static inline void skip(const char *name, const char *why)
{
	printf("skip %s: %s\n", name, why);
	skipped++;
}

/* In a child: sets variables ("A=1 B=2"), runs body, which returns NULL or what is wrong. "skip: why" skips. */
static inline void scenario(const char *name, const char *variables, const char *(*body)(void))
{
	char text[512] = "", env[512], *v, *rest;
	int status, fd[2], n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd))
		return;
	pid = fork();
	if (pid == 0) {
		const char *why;

		snprintf(env, sizeof env, "%s", variables);
		for (v = strtok_r(env, " ", &rest); v; v = strtok_r(NULL, " ", &rest))
			putenv(strdup(v));
		why = body();
		if (why && write(fd[1], why, strlen(why)) < 0)
			_exit(3);
		_exit(why != NULL);
	}
	close(fd[1]);
	n = (int)read(fd[0], text, sizeof text - 1);
	close(fd[0]);
	text[n > 0 ? n : 0] = 0;
	waitpid(pid, &status, 0);
	if (!strncmp(text, "skip: ", 6))
		skip(name, text + 6);
	else
		check(WIFEXITED(status) && WEXITSTATUS(status) == 0, name, *text ? text : "the child died");
}

static inline const char *complain(const char *fmt, const char *detail)
{
	static char text[2400];

	snprintf(text, sizeof text, fmt, detail);
	return text;
}

static inline long counted(const char *what)
{
	void *lib = dlopen(fake, RTLD_NOW | RTLD_NOLOAD);
	long (*count)(const char *);
	void *p = lib ? dlsym(lib, "fake_count") : NULL;

	memcpy(&count, &p, sizeof p);
	return p ? count(what) : -1;
}

static inline int depth(void)
{
	void *lib = dlopen(fake, RTLD_NOW | RTLD_NOLOAD);
	int (*get)(void);
	void *p = lib ? dlsym(lib, "fake_depth") : NULL;

	memcpy(&get, &p, sizeof p);
	return p ? get() : -1;
}

static inline void with_fake(const char *name, const char *variables, const char *(*body)(void))
{
	char all[512];

	snprintf(all, sizeof all, "GPUEXPR_LIBCUDA=%s %s", fake, variables);
	scenario(name, all, body);
}

/* Makes the scratch folder (also the kernel cache) and compiles the fake; 0 when that worked. */
static inline int scenario_start(void)
{
	const char *cc = getenv("CC");
	char command[512];

	snprintf(folder, sizeof folder, "/tmp/gx-driver-XXXXXX");
	if (!mkdtemp(folder))
		exit(1);
	setenv("GPUEXPR_CACHE_DIR", folder, 1);
	snprintf(fake, sizeof fake, "%s/libcuda.so.1", folder);
	snprintf(command, sizeof command, "%s -std=c11 -D_GNU_SOURCE -ffp-contract=off -shared -fPIC tests/fake/libcuda.c -o %s",
		cc && *cc ? cc : "cc", fake);
	if (system(command) == 0)
		return 0;
	skip("everything with the fake driver", "tests/fake/libcuda.c was not compiled (run in the project's folder)");
	return -1;
}

/* The last line, and the exit status. */
static inline int scenario_end(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command))
		failed++;
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}

#endif
