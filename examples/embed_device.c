/* embed_device.c -- buffers and a stream that a CUDA program already has: gpuexpr works in them, in order with the program's own
 * work, and nothing is copied. A CUDA program includes cuda.h and links cuda; here libcuda is opened by hand, so that this also
 * builds where CUDA is not installed.
 *
 *	cc embed_device.c $(pkg-config --cflags --libs gpuexpr) -ldl -o embed_device && ./embed_device */
#include <dlfcn.h>
#include <gpuexpr.h>
#include <stdio.h>

#define N 1000000
#define CU(name, types, ...) (((int (*) types)dlsym(cuda, #name))(__VA_ARGS__))
typedef unsigned long long u64;   /* CUdeviceptr */

int main(void)
{
	static float host[N];
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *current, *stream;
	u64 a, c;
	int64_t shape[] = {N};
	gx_options opt = {0};
	gx_array in, out;
	gx_context *ctx;
	gx_formula *f;
	gx_program *p;
	gx_error err;
	int i;

	if (!cuda || CU(cuInit, (unsigned), 0) || CU(cuDevicePrimaryCtxRetain, (void **, int), &current, 0)
	    || CU(cuCtxSetCurrent, (void *), current)) {
		printf("no GPU here, nothing to show\n");
		return 77;
	}
	for (i = 0; i < N; i++)
		host[i] = 1;
	CU(cuStreamCreate, (void **, unsigned), &stream, 1);
	CU(cuMemAlloc_v2, (u64 *, size_t), &a, sizeof host);
	CU(cuMemAlloc_v2, (u64 *, size_t), &c, sizeof host);
	CU(cuMemcpyHtoDAsync_v2, (u64, const void *, size_t, void *), a, host, sizeof host, stream);

	opt.size = sizeof opt;
	opt.device = 0;
	in = gx_device("a", GX_FLOAT32, 1, shape, (void *)a);
	out = gx_device("c", GX_FLOAT32, 1, shape, (void *)c);
	if (gx_open(&opt, &ctx, &err) || gx_parse("c = 2*a + 1", 11, NULL, &f, &err) || gx_compile(ctx, f, &in, 1, &p, &err)
	    || gx_run(ctx, p, &in, 1, &out, 1, stream, &err)) {   /* enqueued behind the copy; returns at once */
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	CU(cuMemcpyDtoHAsync_v2, (void *, u64, size_t, void *), host, c, sizeof host, stream);
	CU(cuStreamSynchronize, (void *), stream);
	printf("%s\nc[0] = %g, c[%d] = %g\n", gx_context_note(ctx), (double)host[0], N - 1, (double)host[N - 1]);
	gx_formula_free(f);
	gx_program_free(p);
	gx_close(ctx);
	return host[N - 1] != 3;
}
