/* y = sum(x, axis=1); n = norm(x, axis=1) */
static __device__ __forceinline__ double square_f64(double a)
{
	return (double)((double)a * (double)a);
}

static __device__ __forceinline__ float get_f32(const unsigned *w, int j)
{
	const unsigned bits = w[j];
	return __int_as_float((int)bits);
}

#ifndef GX_EMULATE
static __device__ __forceinline__ void load_w4(const void *p, unsigned *w)
{
	asm("{ .reg .u64 g; cvta.to.global.u64 g, %4; ld.global.nc.v4.u32 {%0, %1, %2, %3}, [g]; }"
		: "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(p));
}
#endif

static __device__ __forceinline__ void load_e4w4(const void *p, unsigned *w)
{
	const unsigned *const s = (const unsigned *)p;
	w[0] = s[0];
	w[1] = s[1];
	w[2] = s[2];
	w[3] = s[3];
}

static __device__ __forceinline__ void fold_sum_f64(double &a, double b)
{
	a = (double)((double)a + (double)b);
}

static __device__ __forceinline__ double sqrt_f64(double a)
{
	return sqrt(a);
}

struct args {
	const float *p0;
	float *p1;
	float *p2;
	long long o0;
	long long o1;
	long long o2;
	unsigned long long *scratch;
	unsigned *counters;
	int s0_0;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
	unsigned nreduce;
	unsigned splits;
	unsigned lanes;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, double &e0, double &e1)
{
	const double v1 = (double)v0;
	const double v2 = square_f64(v1);
	e0 = v1;
	e1 = v2;
}

static __device__ __forceinline__ void fold_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, double &f0, double &f1)
{
	const unsigned tile = A.lanes * 16;
	unsigned r = 0, hi = A.nreduce;
	if (A.splits > 1) {
		const unsigned long long tiles = hi / tile + (hi % tile != 0);
		const unsigned long long end = tiles * (part + 1) / A.splits * tile;
		r = (unsigned)(tiles * part / A.splits * tile);
		hi = end < hi ? (unsigned)end : hi;
	}
	if (r >= hi)
		return;
	const float *const __restrict__ q0 = A.p0 + A.o0;
	const int c0 = (int)m;
	const int aligned = (((unsigned long long)&q0[c0 * A.s0_0] & 15)) == 0;
	for (; hi - r >= tile; r += tile) {
		unsigned x0[4][4];
		if (aligned) {
#pragma unroll
			for (int u = 0; u < 4; u++) {
				const int c1 = (int)(r + (u * A.lanes + lane) * 4);
				load_w4(&q0[c0 * A.s0_0 + c1], x0[u]);
			}
		} else {
#pragma unroll
			for (int u = 0; u < 4; u++) {
				const int c1 = (int)(r + (u * A.lanes + lane) * 4);
				load_e4w4(&q0[c0 * A.s0_0 + c1], x0[u]);
			}
		}
		double g0[16];
		double g1[16];
#pragma unroll
		for (int u = 0; u < 4; u++) {
#pragma unroll
			for (int j = 0; j < 4; j++) {
				double e0;
				double e1;
				point(A, get_f32(x0[u], j), e0, e1);
				g0[u * 4 + j] = e0;
				g1[u * 4 + j] = e1;
			}
		}
#pragma unroll
		for (int j = 0; j < 8; j++)
			fold_sum_f64(g0[j], g0[j + 8]);
#pragma unroll
		for (int j = 0; j < 4; j++)
			fold_sum_f64(g0[j], g0[j + 4]);
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_sum_f64(g0[j], g0[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_sum_f64(g0[j], g0[j + 1]);
		fold_sum_f64(f0, g0[0]);
#pragma unroll
		for (int j = 0; j < 8; j++)
			fold_sum_f64(g1[j], g1[j + 8]);
#pragma unroll
		for (int j = 0; j < 4; j++)
			fold_sum_f64(g1[j], g1[j + 4]);
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_sum_f64(g1[j], g1[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_sum_f64(g1[j], g1[j + 1]);
		fold_sum_f64(f1, g1[0]);
	}
	for (r += lane; r < hi; r += A.lanes) {
		const int c1 = (int)r;
		double e0;
		double e1;
		point(A, q0[c0 * A.s0_0 + c1], e0, e1);
		fold_sum_f64(f0, e0);
		fold_sum_f64(f1, e1);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const struct args &A, const unsigned lane, double &f0, double &f1)
{
	__shared__ unsigned long long box[1][8];

	for (unsigned d = (A.lanes < 32 ? A.lanes : 32) / 2; d > 0; d /= 2) {
		const double b0_0 = __shfl_down_sync(0xffffffffu, f0, d);
		fold_sum_f64(f0, b0_0);
		const double b1_0 = __shfl_down_sync(0xffffffffu, f1, d);
		fold_sum_f64(f1, b1_0);
	}
	if (A.lanes <= 32)
		return;
	__syncthreads();
	if (lane % 32 == 0) {
		((double *)box[0])[threadIdx.x / 32] = f0;
	}
	__syncthreads();
	if (lane == 0)
		for (unsigned w = 1; w < A.lanes / 32; w++) {
			const double b0_0 = ((double *)box[0])[threadIdx.x / 32 + w];
			fold_sum_f64(f0, b0_0);
		}
	__syncthreads();
	if (lane % 32 == 0) {
		((double *)box[0])[threadIdx.x / 32] = f1;
	}
	__syncthreads();
	if (lane == 0)
		for (unsigned w = 1; w < A.lanes / 32; w++) {
			const double b1_0 = ((double *)box[0])[threadIdx.x / 32 + w];
			fold_sum_f64(f1, b1_0);
		}
}

static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, double f0, double f1)
{
	float *const __restrict__ q1 = A.p1 + A.o1;
	float *const __restrict__ q2 = A.p2 + A.o2;
	const int c0 = (int)m;
	const double v0 = f0;
	const float v1 = (float)v0;
	const double v2 = f1;
	const double v3 = sqrt_f64(v2);
	const float v4 = (float)v3;
	q1[c0] = v1;
	q2[c0] = v4;
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	__shared__ unsigned last;
	const unsigned outputs = 256 / A.lanes;   /* of a block */
	const unsigned lane = threadIdx.x % A.lanes, slot = threadIdx.x / A.lanes;
	const unsigned long long strips = A.nmap / outputs + (A.nmap % outputs != 0);

	for (unsigned long long work = blockIdx.x; work < strips * A.splits; work += gridDim.x) {
		const unsigned long long strip = A.splits > 1 ? work / A.splits : work;
		const unsigned part = (unsigned)(work - strip * A.splits);
		const unsigned m = (unsigned)(strip * outputs + slot);
		double f0 = 0;
		double f1 = 0;
		if (m < A.nmap)
			fold_part(A, m, lane, part, f0, f1);
		combine(A, lane, f0, f1);
		if (A.splits > 1) {
			const unsigned long long all = (unsigned long long)A.nmap * A.splits;

			if (lane == 0 && m < A.nmap) {
				((volatile double *)(A.scratch + 0 * all))[(unsigned long long)part * A.nmap + m] = f0;
				((volatile double *)(A.scratch + 1 * all))[(unsigned long long)part * A.nmap + m] = f1;
			}
			__threadfence();
			__syncthreads();
			if (threadIdx.x == 0)
				last = atomicAdd(&A.counters[strip], 1u) == A.splits - 1;
			__syncthreads();
			if (!last)
				continue;
			__threadfence();
			if (threadIdx.x == 0)
				A.counters[strip] = 0;
			f0 = 0;
			f1 = 0;
			if (m < A.nmap)
				for (unsigned p = lane; p < A.splits; p += A.lanes) {
					const double b0_0 = ((volatile double *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m];
					fold_sum_f64(f0, b0_0);
					const double b1_0 = ((volatile double *)(A.scratch + 1 * all))[(unsigned long long)p * A.nmap + m];
					fold_sum_f64(f1, b1_0);
				}
			combine(A, lane, f0, f1);
		}
		if (lane == 0 && m < A.nmap)
			finish(A, m, f0, f1);
	}
}
