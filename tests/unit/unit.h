/* unit.h -- what the small unit tests share: counting, one line a check, the count line at the end. Include
 * in one file a program. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed, skipped;

/* One check; the words say what holds, and are the message when it does not. */
__attribute__((format(printf, 2, 3))) static inline int check(int good, const char *fmt, ...)
{
	va_list ap;

	if (good) {
		passed++;
		return 1;
	}
	failed++;
	printf("FAIL ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return 0;
}

static inline void same_text(const char *got, const char *want, const char *what)
{
	check(got && !strcmp(got, want), "%s: wanted [%s], found [%s]", what, want, got ? got : "(null)");
}

/* Switch to a locale with a decimal comma, made for the occasion where the system has none (LOCPATH). 0, or
 * -1: none to be had. */
static inline int german_locale(void)
{
	static char folder[] = "/tmp/gpuexpr-locale-XXXXXX";
	char command[200];
	int made;

	if (setlocale(LC_ALL, "de_DE.UTF-8"))
		return 0;
	if (!mkdtemp(folder))
		return -1;
	snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
	made = system(command) == 0;
	setenv("LOCPATH", folder, 1);
	made &= setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) || !made ? -1 : 0;
}

static inline int finish(void)
{
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}

#endif
