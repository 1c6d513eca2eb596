/* driver.c -- tests of finding and starting libcuda (runtime/driver.c), the device layer (runtime/cuda*.c) and the doctor,
 * on machines with and without a GPU. */
#include <stdint.h>

#include "base/diag.h"
#include "runtime/cuda.h"
#include "runtime/doctor.h"
#include "runtime/nvrtc.h"
#include "tests/unit/scenario.h"

#define STUB "/usr/local/cuda/lib64/stubs/libcuda.so"

static void test_errors(void)
{
	check(!strcmp(driver_error_name(2), "CUDA_ERROR_OUT_OF_MEMORY") && driver_error_status(2) == GX_NOMEM, "error 2", "other");
	check(!strcmp(driver_error_name(700), "CUDA_ERROR_ILLEGAL_ADDRESS") && driver_error_sticky(700), "error 700", "other");
	check(strstr(driver_error_text(803), "reboot") != NULL, "803 has a remedy", driver_error_text(803));
	check(driver_error_name(123456) && driver_error_text(123456), "unknown codes have texts", "NULL");
	check(!driver_error_sticky(1) && driver_error_status(1) == GX_DEVICE && driver_error_status(0) == GX_OK, "status", "other");
}

static const char *wants_text(const char *part)
{
	struct cuda *dev;
	struct buf why = {0};
	gx_error err = {0};

	driver_why(&why);
	if (driver_get() || cuda_count(NULL) != -1)
		return "a driver was found";
	if (!why.text || !strstr(why.text, part))
		return complain("driver_why says: %s", why.text ? why.text : "(nothing)");
	if (cuda_open(GX_DEVICE_AUTO, &dev, &err) != GX_DEVICE || dev || strcmp(err.text, why.text) != 0)
		return complain("cuda_open says: %s", err.text);
	return NULL;
}

static const char *no_library(void) { return wants_text("GPUEXPR_LIBCUDA names no usable driver: /none/libcuda.so.1: "); }
static const char *missing_function(void) { return wants_text("has no cu"); }
static const char *stub(void) { return access(STUB, R_OK) ? "skip: no stub library here" : wants_text("stub"); }
static const char *no_device(void) { return wants_text("CUDA_VISIBLE_DEVICES is set to \"9\""); }
static const char *mismatch(void) { return wants_text("reboot"); }
static const char *suspend(void) { return wants_text("nvidia_uvm"); }

static const char *forked(void)
{
	struct cuda *dev;
	gx_error err = {0};
	int status;
	pid_t pid;

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	pid = fork();
	if (pid == 0)
		_exit(cuda_sync(dev, NULL, &err) == GX_DEVICE && strstr(err.text, "forked") && cuda_count(&err) == -1 ? 0 : 1);
	waitpid(pid, &status, 0);
	cuda_close(dev);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "the child was not refused";
}

/* ---- device layer ---- */

static const char *fails_to_open(const char *part)
{
	struct cuda *dev;
	gx_error err = {0};

	return cuda_open(GX_DEVICE_AUTO, &dev, &err) && strstr(err.text, part) ? NULL : complain("says: %s", err.text);
}

static const char *no_stream(void)
{
	const char *bad = fails_to_open("cuStreamCreate(&dev->stream");

	return bad ? bad : counted("objects") ? "something was not freed" : NULL;
}

static const char *exclusive(void) { return fails_to_open("exclusive process"); }

static const char *next_device(void)
{
	struct cuda *dev;
	gx_error err = {0};
	const char *bad = NULL;

	if (cuda_open(GX_DEVICE_AUTO, &dev, &err))
		return complain("%s", err.text);
	if (dev->props.ordinal != 1)
		bad = "not the second GPU";
	cuda_close(dev);
	if (!bad && (cuda_open(7, &dev, &err) != GX_DEVICE || !strstr(err.text, "no GPU 7; 2 are visible")))
		bad = complain("says: %s", err.text);
	return bad;
}

static const char *memory_with(struct cuda *dev)
{
	char out[1000], in[1000];
	cu_ptr p[3], q;
	gx_error err = {0};
	int i;

	memset(in, 'x', sizeof in);
	if (cuda_alloc(dev, 0, NULL, &q, &err) || q)
		return "0 bytes are not 0";
	for (i = 0; i < 3; i++)
		if (cuda_alloc(dev, 1000, (void *)(uintptr_t)i, &p[i], &err) || p[i] % 256)
			return complain("alloc: %s", err.text);
	if (cuda_upload(dev, p[0], in, sizeof in, NULL, &err) || cuda_copy(dev, p[1], p[0], 500, NULL, &err)
			|| cuda_fill(dev, p[1] + 500, 'y', 500, NULL, &err) || cuda_download(dev, out, p[1], sizeof out, NULL, &err))
		return complain("copy: %s", err.text);
	if (memcmp(out, in, 500) || out[500] != 'y' || out[999] != 'y')
		return "wrong bytes";
	for (i = 0; i < 3; i++)
		cuda_free(dev, p[i], (void *)(uintptr_t)i);
	if (cuda_alloc_now(dev, 900, &q, &err))
		return complain("alloc_now: %s", err.text);
	cuda_free_now(dev, q);
	if (cuda_alloc(dev, (size_t)1 << 50, NULL, &q, &err) != GX_NOMEM || q || !strstr(err.text, "GB free on GPU 0"))
		return complain("huge: %s", err.text);
	if (cuda_alloc(dev, 900, NULL, &q, &err))
		return complain("after huge: %s", err.text);
	cuda_free(dev, q, NULL);
	return depth() == 0 ? NULL : "context stack not balanced";
}

static const char *memory(void)
{
	struct cuda_timer t;
	struct cuda *dev;
	gx_error err = {0};
	const char *bad;
	double ms;
	int i;

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	bad = memory_with(dev);
	for (i = 0; i < 100 && !bad; i++)
		if (cuda_timer_start(dev, &t, NULL, &err) || cuda_timer_stop(dev, &t, NULL, &err)
				|| cuda_timer_read(dev, &t, &ms, &err) || ms != 1.5)
			bad = complain("timer: %s", err.text);
	cuda_close(dev);
	if (!bad && (counted("bytes") || counted("objects")))
		bad = "something was not freed";
	return bad;
}

/* The third allocation finds the memory full until the pool is emptied. */
static const char *pool_retry(void)
{
	struct cuda *dev;
	gx_error err = {0};
	cu_ptr a, b = 0;
	gx_status s;

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	s = cuda_alloc(dev, 600000, NULL, &a, &err);
	cuda_free(dev, a, NULL);
	s = s ? s : cuda_alloc(dev, 500000, NULL, &b, &err);
	cuda_free(dev, b, NULL);
	cuda_close(dev);
	return s ? complain("%s", err.text) : NULL;
}

static const char *sticky(void)
{
	struct cuda *dev;
	gx_error err = {0};

	if (cuda_open(0, &dev, &err))
		return complain("%s", err.text);
	if (cuda_sync(dev, NULL, &err) != GX_DEVICE || !strstr(err.text, "cuStreamSynchronize(stream): CUDA_ERROR_LAUNCH_FAILED (719)"))
		return complain("first: %s", err.text);
	if (cuda_sync(dev, NULL, &err) != GX_DEVICE || !strstr(err.text, "lost earlier"))
		return complain("second: %s", err.text);
	cuda_close(dev);
	return NULL;
}

static const char *shutting_down(void)
{
	struct cuda *dev;

	if (cuda_open(0, &dev, NULL))
		return "not opened";
	putenv(strdup("FAKE_FAIL=cuCtxPushCurrent_v2:4:1+"));
	cuda_close(dev);
	return NULL;
}

static const char *doctor(void)
{
	struct buf out = {0};
	gx_options opt = {.size = sizeof opt, .device = 0, .cache_dir = folder};
	gx_status s = doctor_text(&opt, 0, &out);
	const char *bad = NULL;

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	if (s || !strstr(out.text, "gave the right result") || strstr(out.text, "FAIL"))
		bad = complain("%.300s", out.text);
	buf_free(&out);
	doctor_text(&opt, 1, &out);
	if (!bad && (!strstr(out.text, "{\"version\":1,") || !strstr(out.text, "\"ok\":true}")))
		bad = "JSON";
	buf_free(&out);
	return bad;
}

static const char *doctor_wrong(void)
{
	struct buf out = {0};
	gx_status s = doctor_text(NULL, 0, &out);

	if (!nvrtc_at(0))
		return "skip: no NVRTC here";
	return s == GX_DEVICE && strstr(out.text, "wrong result") ? NULL : "a kernel that does nothing was accepted";
}

static void test_device(void)
{
	with_fake("memory from the driver's pools", "", memory);
	with_fake("memory from our own pool", "FAKE_POOLS=0", memory);
	with_fake("a full pool is emptied before giving up", "FAKE_POOLS=0 FAKE_MEMORY=1000000", pool_retry);
	with_fake("the first try of an allocation may fail", "FAKE_FAIL=cuMemAllocFromPoolAsync:2:1", pool_retry);
	with_fake("a lost context is refused from then on", "FAKE_FAIL=cuStreamSynchronize:719:1", sticky);
	with_fake("closing while the driver shuts down", "", shutting_down);
	with_fake("a device that opens halfway", "FAKE_FAIL=cuStreamCreate:2:1", no_stream);
	with_fake("exclusive mode is named", "FAKE_FAIL=cuDevicePrimaryCtxRetain:46:1 FAKE_MODE=3", exclusive);
	with_fake("auto takes the next GPU", "FAKE_FAIL=cuDevicePrimaryCtxRetain:46:1 FAKE_DEVICES=2", next_device);
	with_fake("a forked child is refused", "", forked);
	with_fake("the doctor runs a kernel", "FAKE_PROBE=1", doctor);
	with_fake("the doctor sees a wrong result", "", doctor_wrong);
	with_fake("no device visible", "FAKE_FAIL=cuInit:100:1 CUDA_VISIBLE_DEVICES=9", no_device);
	with_fake("driver and library do not match", "FAKE_FAIL=cuInit:803:1", mismatch);
	with_fake("unknown failure after suspend", "FAKE_FAIL=cuInit:999:1", suspend);
}

int main(void)
{
	int fake_there = scenario_start() == 0;

	test_errors();
	scenario("no driver", "GPUEXPR_LIBCUDA=/none/libcuda.so.1", no_library);
	scenario("a library without the functions", "GPUEXPR_LIBCUDA=libm.so.6", missing_function);
	scenario("a stub library", "GPUEXPR_LIBCUDA=" STUB, stub);
	if (fake_there)
		test_device();
	return scenario_end();
}
