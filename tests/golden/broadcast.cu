/* y = (m - r) / c */
struct args {
	const float *p0;
	const float *p1;
	const float *p2;
	float *p3;
	long long o0;
	long long o1;
	long long o2;
	long long o3;
	int s0_0;
	int s3_0;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, const float v1, const float v3, float &y5)
{
	const float v2 = v0 - v1;
	const float v4 = v2 / v3;
	y5 = v4;
}

static __device__ __forceinline__ void kept_axes(const struct args &A, const unsigned i, int &c0, int &c1)
{
	const unsigned q1 = i / A.n1;
	c1 = (int)(i - q1 * A.n1);
	c0 = (int)q1;
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	const float *const __restrict__ q0 = A.p0 + A.o0;
	const float *const __restrict__ q1 = A.p1 + A.o1;
	const float *const __restrict__ q2 = A.p2 + A.o2;
	float *const __restrict__ q3 = A.p3 + A.o3;
	const unsigned tiles = A.nmap / 1024;

	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		float x0[4];
		float x1[4];
		float x3[4];
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const unsigned k = tile * 1024 + u * 256 + threadIdx.x;
			int c0, c1;
			kept_axes(A, k, c0, c1);
			x0[u] = q0[c0 * A.s0_0 + c1];
			x1[u] = q1[c1];
			x3[u] = q2[c0];
		}
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const unsigned k = tile * 1024 + u * 256 + threadIdx.x;
			int c0, c1;
			kept_axes(A, k, c0, c1);
			float y5;
			point(A, x0[u], x1[u], x3[u], y5);
			q3[c0 * A.s3_0 + c1] = y5;
		}
	}
	for (unsigned i = tiles * 1024 + (unsigned)blockIdx.x * 256 + threadIdx.x; i < A.nmap; i += (unsigned)gridDim.x * 256) {
		int c0, c1;
		kept_axes(A, i, c0, c1);
		float y5;
		point(A, q0[c0 * A.s0_0 + c1], q1[c1], q2[c0], y5);
		q3[c0 * A.s3_0 + c1] = y5;
	}
}
