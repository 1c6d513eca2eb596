/* unit.h -- what the small unit tests share: counting, one line a check, the count line at the end. Include in one file a program. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <stdarg.h>
#include <stdio.h>
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

static inline int finish(void)
{
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}

#endif
