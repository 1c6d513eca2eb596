/* quiet.c -- the library writes nothing to standard output or standard error, whatever happens, and leaves
 * signal handlers alone. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/api/api.h"

static void handler(int s)
{
	(void)s;
}

static void everything(void)
{
	static const char *const programs[] = {
		"y = x + sin(x)", "y = x +", "y = q", "y = x ^ x", "y = x[i]", "y = sum(x) * x", "$", "y = x[9]"};
	gx_options opt = {.size = sizeof opt, .device = GX_DEVICE_AUTO};
	float x[3] = {1, 2, 3}, y[3];
	int32_t i[3] = {0, 1, 99};
	gx_array in[] = {gx_host("x", GX_FLOAT32, SHAPE(3), x), gx_host("i", GX_INT32, SHAPE(3), i)},
			 out = gx_host("y", GX_FLOAT32, SHAPE(3), y);
	gx_context *ctx;
	gx_error err;
	char *text;

	if (gx_open(&opt, &ctx, &err))
		return;
	for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
		gx_eval(ctx, programs[k], in, 1 + (strstr(programs[k], "[i]") != NULL), &out, 1, &err);
	gx_close(ctx);
	opt.device = 0;
	if (gx_open(&opt, &ctx, &err) == GX_OK)
		gx_close(ctx);
	if (gx_devices(&text, &err) == GX_OK)
		free(text);
}

int main(void)
{
	struct sigaction before = {0}, after;
	char name[] = "/tmp/gpuexpr-quiet-XXXXXX";
	int fd = mkstemp(name), out = dup(1), error = dup(2);
	struct stat st;

	before.sa_handler = handler;
	sigaction(SIGSEGV, &before, NULL);
	sigaction(SIGPIPE, &before, NULL);
	fflush(stdout);
	dup2(fd, 1);
	dup2(fd, 2);
	everything();
	fflush(stdout);
	fflush(stderr);
	dup2(out, 1);
	dup2(error, 2);
	check(fstat(fd, &st) == 0 && st.st_size == 0, "%lld bytes were written", (long long)st.st_size);
	sigaction(SIGSEGV, NULL, &after);
	check(after.sa_handler == handler, "the handler of SIGSEGV");
	sigaction(SIGPIPE, NULL, &after);
	check(after.sa_handler == handler, "the handler of SIGPIPE");
	close(fd);
	unlink(name);
	return finish();
}
