/* memo.c -- tests of the map in memory (runtime/memo.c): made once, whoever asks; failures told to all; old values dropped. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/memo.h"

static int passed, failed;

static void check(int good, const char *name, const char *why)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
	good ? passed++ : failed++;
}

static struct memo *memo;
static int made, dropped, fails;

static void drop(void *arg, void *value)
{
	(void)arg;
	free(value);
	dropped++;
}

static gx_status make(void *arg, void **value, gx_error *err)
{
	struct timespec t = {0, 20000000};

	nanosleep(&t, NULL);
	__atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST);
	if (fails) {
		snprintf(err->text, sizeof err->text, "broken on purpose");
		return GX_COMPILER;
	}
	*value = strdup(arg);
	return *value ? GX_OK : GX_NOMEM;
}

static void *ask(void *result)
{
	struct memo_entry *e;
	gx_error err = {0};
	gx_status s = memo_get(memo, "key", 3, make, "value", &e, NULL, &err);

	*(int *)result = s ? s == GX_COMPILER && !strcmp(err.text, "broken on purpose") : !strcmp(e->value, "value");
	if (!s)
		memo_release(memo, e);
	return NULL;
}

static int ask_in_threads(void)
{
	pthread_t t[8];
	int result[8], i, good = 1;

	made = 0;
	for (i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, ask, &result[i]);
	for (i = 0; i < 8; i++) {
		pthread_join(t[i], NULL);
		good &= result[i];
	}
	return good;
}

static void test_memo(void)
{
	struct memo_entry *e, *f;
	char key[8];
	int i, is_new;

	memo = memo_new(drop, NULL, 4);
	check(ask_in_threads() && made == 1, "eight threads make a value once", "made more than once, or wrong");
	check(ask_in_threads() && made == 0, "and later find it", "made again");
	memo_free(memo);
	check(dropped == 1, "it is dropped with the map", "not dropped");
	memo = memo_new(drop, NULL, 4);
	fails = 1;
	check(ask_in_threads() && made >= 1, "a failure reaches everybody who waited", "other error");
	fails = 0;
	check(ask_in_threads() && made == 1, "and is not remembered", "still failing");
	dropped = 0;
	memo_get(memo, "held", 4, make, "held", &e, &is_new, NULL);
	for (i = 0; i < 6; i++) {
		snprintf(key, sizeof key, "%d", i);
		if (!memo_get(memo, key, strlen(key), make, key, &f, NULL, NULL))
			memo_release(memo, f);
	}
	check(is_new && dropped == 3 && !strcmp(e->value, "held"), "the oldest unused values go, used ones stay", "other number");
	memo_release(memo, e);
	memo_free(memo);
}

int main(void)
{
	test_memo();
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed != 0;
}
