/* c = a + b.T */
struct args {
	const float *p0;
	const float *p1;
	float *p2;
	long long o0;
	long long o1;
	long long o2;
	int s0_0;
	int s1_1;
	int s2_0;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, const float v1, float &y3)
{
	const float v2 = v0 + v1;
	y3 = v2;
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	const float *const __restrict__ q0 = A.p0 + A.o0;
	const float *const __restrict__ q1 = A.p1 + A.o1;
	float *const __restrict__ q2 = A.p2 + A.o2;
	__shared__ float s1[4160];
	const unsigned x = threadIdx.x % 64, y = threadIdx.x / 64;
	const unsigned across = A.n0 / 64 + (A.n0 % 64 != 0), along = A.n1 / 64 + (A.n1 % 64 != 0);
	const unsigned tiles = across * along;

	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		const unsigned rest = tile / along;
		const unsigned first1 = (tile - rest * along) * 64;
		const unsigned first0 = rest * 64;
		float x0[16];
		float x1[16];
#pragma unroll
		for (int u = 0; u < 16; u++) {
			const unsigned i0 = first0 + y + u * 4;
			const int c0 = (int)(i0 < A.n0 ? i0 : A.n0 - 1);
			const unsigned i1 = first1 + x;
			const int c1 = (int)(i1 < A.n1 ? i1 : A.n1 - 1);
			x0[u] = q0[c0 * A.s0_0 + c1];
		}
#pragma unroll
		for (int u = 0; u < 16; u++) {
			const unsigned i0 = first0 + x;
			const int c0 = (int)(i0 < A.n0 ? i0 : A.n0 - 1);
			const unsigned i1 = first1 + y + u * 4;
			const int c1 = (int)(i1 < A.n1 ? i1 : A.n1 - 1);
			s1[(y + u * 4) * 65 + x] = q1[c0 + c1 * A.s1_1];
		}
		__syncthreads();
#pragma unroll
		for (int u = 0; u < 16; u++) {
			const unsigned i0 = first0 + y + u * 4;
			const int c0 = (int)(i0 < A.n0 ? i0 : A.n0 - 1);
			const unsigned i1 = first1 + x;
			const int c1 = (int)(i1 < A.n1 ? i1 : A.n1 - 1);
			x1[u] = s1[(x) * 65 + y + u * 4];
			float y3;
			point(A, x0[u], x1[u], y3);
			if (i0 < A.n0 && i1 < A.n1) {
				q2[c0 * A.s2_0 + c1] = y3;
			}
		}
		__syncthreads();
	}
}
