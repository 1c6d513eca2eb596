/* i */
struct failure {
	unsigned long long position, check;
	long long value;
	unsigned long long lock;
};

struct args {
	const long long *p0;
	long long o0;
	long long size0;
	struct failure *error;
	unsigned nmap;
};

static __device__ __noinline__ void fail(struct failure *error, unsigned long long at, unsigned check, long long value)
{
	volatile struct failure *const f = error;
	int done = 0;

	if (f->position < at)
		return;
	while (!done)
		if (atomicCAS(&error->lock, 0ull, 1ull) == 0) {
			if (at < f->position || (at == f->position && check < f->check)) {
				f->check = check;
				f->value = value;
				__threadfence();
				f->position = at;
			}
			__threadfence();
			atomicExch(&error->lock, 0ull);
			done = 1;
		}
}

/* One point of the domain. */
static __device__ __forceinline__ int point(const struct args &A, const unsigned long long at, const long long v0)
{
	if (v0 < -A.size0 || v0 >= A.size0) {
		fail(A.error, at, 0u, v0);
		return 0;
	}
	return 1;
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	const volatile struct failure *const failed = A.error;
	if (failed->position != ~0ull && failed->check - 0u > 0u)
		return;
	const long long *const __restrict__ q0 = A.p0 + A.o0;
	const unsigned tiles = A.nmap / 1024;

	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		long long x0[4];
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const int c0 = (int)(tile * 1024 + u * 256 + threadIdx.x);
			x0[u] = q0[c0];
		}
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const unsigned k = tile * 1024 + u * 256 + threadIdx.x;
			const unsigned long long at = k;
			if (point(A, at, x0[u])) {
			}
		}
	}
	for (unsigned i = tiles * 1024 + (unsigned)blockIdx.x * 256 + threadIdx.x; i < A.nmap; i += (unsigned)gridDim.x * 256) {
		const int c0 = (int)i;
		const unsigned long long at = i;
		if (point(A, at, q0[c0])) {
		}
	}
}

/* y = t[2:, i] * 2 */
static __device__ __forceinline__ long long add_i64(long long a, long long b)
{
	return (long long)((unsigned long long)a + (unsigned long long)b);
}

struct failure {
	unsigned long long position, check;
	long long value;
	unsigned long long lock;
};

struct args {
	const long long *p0;
	const float *p1;
	float *p2;
	long long o0;
	long long o1;
	long long o2;
	long long c0;
	struct failure *error;
	int s1_0;
	int s2_0;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const int c0, const long long v2, float &y9)
{
	const long long v0 = (long long)A.c0;
	const long long v1 = 0LL;
	const unsigned char v3 = v2 < v1;
	const long long v4 = add_i64(v0, v2);
	const long long v5 = v3 ? v4 : v2;
	const float v6 = A.p1[A.o1 + c0 * A.s1_0 + (int)v5];
	const float v7 = __int_as_float(0x40000000) /* 2 */;
	const float v8 = v6 * v7;
	y9 = v8;
}

static __device__ __forceinline__ void kept_axes(const struct args &A, const unsigned i, int &c0, int &c1)
{
	const unsigned q1 = i / A.n1;
	c1 = (int)(i - q1 * A.n1);
	c0 = (int)q1;
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	if (A.error->position != ~0ull)
		return;
	const long long *const __restrict__ q0 = A.p0 + A.o0;
	float *const __restrict__ q2 = A.p2 + A.o2;
	const unsigned tiles = A.nmap / 1024;

	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		long long x2[4];
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const unsigned k = tile * 1024 + u * 256 + threadIdx.x;
			int c0, c1;
			kept_axes(A, k, c0, c1);
			x2[u] = q0[c1];
		}
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const unsigned k = tile * 1024 + u * 256 + threadIdx.x;
			int c0, c1;
			kept_axes(A, k, c0, c1);
			float y9;
			point(A, c0, x2[u], y9);
			q2[c0 * A.s2_0 + c1] = y9;
		}
	}
	for (unsigned i = tiles * 1024 + (unsigned)blockIdx.x * 256 + threadIdx.x; i < A.nmap; i += (unsigned)gridDim.x * 256) {
		int c0, c1;
		kept_axes(A, i, c0, c1);
		float y9;
		point(A, c0, q0[c1], y9);
		q2[c0 * A.s2_0 + c1] = y9;
	}
}
