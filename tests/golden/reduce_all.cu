/* s = sum(x * 2) + 1; m = max(x); d = std(x); i = argmin(x) */
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

#if __CUDA_ARCH__ >= 800
static __device__ __forceinline__ float gx_max(float a, float b)
{
	float r;
	asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
	return r;
}
#else
static __device__ __forceinline__ float gx_max(float a, float b)
{
	return a != a ? a : b != b ? b : a > b ? a : b > a ? b : signbit(a) ? b : a;
}
#endif

static __device__ __forceinline__ void fold_max_f32(float &a, float b)
{
	a = gx_max(a, b);
}

static __device__ __forceinline__ void fold_m2_f64(double &n, double &mean, double &m2, double nb, double meanb, double m2b)
{
	if (nb == 0)
		return;
	const double part = nb / (n + nb);
	const double d = meanb - mean;
	m2 = n == 0 ? m2b : m2 + m2b + d * d * (n * part);
	mean = n == 0 ? meanb : mean + d * part;
	n = n + nb;
}

static __device__ __forceinline__ void fold_argmin_f32(float &a, long long &i, float b, long long j)
{
	if (j >= 0 && (i < 0 || (b != b ? a == a || j < i : b < a || (b == a && j < i)))) {
		a = b;
		i = j;
	}
}

static __device__ __forceinline__ double sqrt_f64(double a)
{
	return sqrt(a);
}

struct args {
	const float *p0;
	float *p1;
	float *p2;
	float *p3;
	long long *p4;
	long long o0;
	long long o1;
	long long o2;
	long long o3;
	long long o4;
	long long o5;
	double d5;
	unsigned long long *scratch;
	unsigned *counters;
	unsigned nmap;
	unsigned nreduce;
	unsigned splits;
	unsigned lanes;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const int c0, const float v0, double &e0, float &e1, double &e2, float &e3, long long &j3)
{
	const float v1 = __int_as_float(0x40000000) /* 2 */;
	const float v2 = v0 * v1;
	const double v3 = (double)v2;
	const double v4 = (double)v0;
	const long long v5 = (long long)((long long)A.o1 + (long long)c0);
	e0 = v3;
	e1 = v0;
	e2 = v4;
	e3 = v0;
	j3 = v5;
}

static __device__ __forceinline__ void fold_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, double &f0, float &f1, double &n2, double &f2, double &m2, float &f3, long long &i3)
{
	const unsigned tile = A.lanes * 4;
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
	const int aligned = (((unsigned long long)&q0[0] & 15)) == 0;
	for (; hi - r >= tile; r += tile) {
		unsigned x0[1][4];
		if (aligned) {
#pragma unroll
			for (int u = 0; u < 1; u++) {
				const int c0 = (int)(r + (u * A.lanes + lane) * 4);
				load_w4(&q0[c0], x0[u]);
			}
		} else {
#pragma unroll
			for (int u = 0; u < 1; u++) {
				const int c0 = (int)(r + (u * A.lanes + lane) * 4);
				load_e4w4(&q0[c0], x0[u]);
			}
		}
		double g0[4];
		float g1[4];
		double g2[4];
		float g3[4];
		long long h3[4];
#pragma unroll
		for (int u = 0; u < 1; u++) {
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const int c0 = (int)(r + (u * A.lanes + lane) * 4 + j);
				double e0;
				float e1;
				double e2;
				float e3;
				long long j3;
				point(A, c0, get_f32(x0[u], j), e0, e1, e2, e3, j3);
				g0[u * 4 + j] = e0;
				g1[u * 4 + j] = e1;
				g2[u * 4 + j] = e2;
				g3[u * 4 + j] = e3;
				h3[u * 4 + j] = j3;
			}
		}
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_sum_f64(g0[j], g0[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_sum_f64(g0[j], g0[j + 1]);
		fold_sum_f64(f0, g0[0]);
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_max_f32(g1[j], g1[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_max_f32(g1[j], g1[j + 1]);
		fold_max_f32(f1, g1[0]);
		double t2[4];
#pragma unroll
		for (int j = 0; j < 4; j++)
			t2[j] = g2[j];
#pragma unroll
		for (int j = 0; j < 2; j++)
			t2[j] = t2[j] + t2[j + 2];
#pragma unroll
		for (int j = 0; j < 1; j++)
			t2[j] = t2[j] + t2[j + 1];
		const double mean2 = t2[0] * (1.0 / 4);
#pragma unroll
		for (int j = 0; j < 4; j++)
			t2[j] = (g2[j] - mean2) * (g2[j] - mean2);
#pragma unroll
		for (int j = 0; j < 2; j++)
			t2[j] = t2[j] + t2[j + 2];
#pragma unroll
		for (int j = 0; j < 1; j++)
			t2[j] = t2[j] + t2[j + 1];
		fold_m2_f64(n2, f2, m2, 4, mean2, t2[0]);
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_argmin_f32(g3[j], h3[j], g3[j + 2], h3[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_argmin_f32(g3[j], h3[j], g3[j + 1], h3[j + 1]);
		fold_argmin_f32(f3, i3, g3[0], h3[0]);
	}
	for (r += lane; r < hi; r += A.lanes) {
		const int c0 = (int)r;
		double e0;
		float e1;
		double e2;
		float e3;
		long long j3;
		point(A, c0, q0[c0], e0, e1, e2, e3, j3);
		fold_sum_f64(f0, e0);
		fold_max_f32(f1, e1);
		fold_m2_f64(n2, f2, m2, 1, e2, e2 - e2);
		fold_argmin_f32(f3, i3, e3, j3);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const struct args &A, const unsigned lane, double &f0, float &f1, double &n2, double &f2, double &m2, float &f3, long long &i3)
{
	__shared__ unsigned long long box[3][8];

	for (unsigned d = (A.lanes < 32 ? A.lanes : 32) / 2; d > 0; d /= 2) {
		const double b0_0 = __shfl_down_sync(0xffffffffu, f0, d);
		fold_sum_f64(f0, b0_0);
		const float b1_0 = __shfl_down_sync(0xffffffffu, f1, d);
		fold_max_f32(f1, b1_0);
		const double b2_0 = __shfl_down_sync(0xffffffffu, n2, d);
		const double b2_1 = __shfl_down_sync(0xffffffffu, f2, d);
		const double b2_2 = __shfl_down_sync(0xffffffffu, m2, d);
		fold_m2_f64(n2, f2, m2, b2_0, b2_1, b2_2);
		const float b3_0 = __shfl_down_sync(0xffffffffu, f3, d);
		const long long b3_1 = __shfl_down_sync(0xffffffffu, i3, d);
		fold_argmin_f32(f3, i3, b3_0, b3_1);
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
		((float *)box[0])[threadIdx.x / 32] = f1;
	}
	__syncthreads();
	if (lane == 0)
		for (unsigned w = 1; w < A.lanes / 32; w++) {
			const float b1_0 = ((float *)box[0])[threadIdx.x / 32 + w];
			fold_max_f32(f1, b1_0);
		}
	__syncthreads();
	if (lane % 32 == 0) {
		((double *)box[0])[threadIdx.x / 32] = n2;
		((double *)box[1])[threadIdx.x / 32] = f2;
		((double *)box[2])[threadIdx.x / 32] = m2;
	}
	__syncthreads();
	if (lane == 0)
		for (unsigned w = 1; w < A.lanes / 32; w++) {
			const double b2_0 = ((double *)box[0])[threadIdx.x / 32 + w];
			const double b2_1 = ((double *)box[1])[threadIdx.x / 32 + w];
			const double b2_2 = ((double *)box[2])[threadIdx.x / 32 + w];
			fold_m2_f64(n2, f2, m2, b2_0, b2_1, b2_2);
		}
	__syncthreads();
	if (lane % 32 == 0) {
		((float *)box[0])[threadIdx.x / 32] = f3;
		((long long *)box[1])[threadIdx.x / 32] = i3;
	}
	__syncthreads();
	if (lane == 0)
		for (unsigned w = 1; w < A.lanes / 32; w++) {
			const float b3_0 = ((float *)box[0])[threadIdx.x / 32 + w];
			const long long b3_1 = ((long long *)box[1])[threadIdx.x / 32 + w];
			fold_argmin_f32(f3, i3, b3_0, b3_1);
		}
}

static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, double f0, float f1, double n2, double f2, double m2, float f3, long long i3)
{
	float *const __restrict__ q2 = A.p1 + A.o2;
	float *const __restrict__ q3 = A.p2 + A.o3;
	float *const __restrict__ q4 = A.p3 + A.o4;
	long long *const __restrict__ q5 = A.p4 + A.o5;
	const double v0 = f0;
	const float v1 = (float)v0;
	const float v2 = __int_as_float(0x3f800000) /* 1 */;
	const float v3 = v1 + v2;
	const float v4 = f1;
	const double v5 = (double)A.d5;
	const double v6 = m2;
	const double v7 = v6 / v5;
	const double v8 = sqrt_f64(v7);
	const float v9 = (float)v8;
	const long long v10 = i3;
	q2[0] = v3;
	q3[0] = v4;
	q4[0] = v9;
	q5[0] = v10;
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
		float f1 = (float)-__int_as_float(0x7f800000);
		double n2 = 0;
		double f2 = 0;
		double m2 = 0;
		float f3 = 0;
		long long i3 = -1;
		if (m < A.nmap)
			fold_part(A, m, lane, part, f0, f1, n2, f2, m2, f3, i3);
		combine(A, lane, f0, f1, n2, f2, m2, f3, i3);
		if (A.splits > 1) {
			const unsigned long long all = (unsigned long long)A.nmap * A.splits;

			if (lane == 0 && m < A.nmap) {
				((volatile double *)(A.scratch + 0 * all))[(unsigned long long)part * A.nmap + m] = f0;
				((volatile float *)(A.scratch + 1 * all))[(unsigned long long)part * A.nmap + m] = f1;
				((volatile double *)(A.scratch + 2 * all))[(unsigned long long)part * A.nmap + m] = n2;
				((volatile double *)(A.scratch + 3 * all))[(unsigned long long)part * A.nmap + m] = f2;
				((volatile double *)(A.scratch + 4 * all))[(unsigned long long)part * A.nmap + m] = m2;
				((volatile float *)(A.scratch + 5 * all))[(unsigned long long)part * A.nmap + m] = f3;
				((volatile long long *)(A.scratch + 6 * all))[(unsigned long long)part * A.nmap + m] = i3;
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
			f1 = (float)-__int_as_float(0x7f800000);
			n2 = 0;
			f2 = 0;
			m2 = 0;
			f3 = 0;
			i3 = -1;
			if (m < A.nmap)
				for (unsigned p = lane; p < A.splits; p += A.lanes) {
					const double b0_0 = ((volatile double *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m];
					fold_sum_f64(f0, b0_0);
					const float b1_0 = ((volatile float *)(A.scratch + 1 * all))[(unsigned long long)p * A.nmap + m];
					fold_max_f32(f1, b1_0);
					const double b2_0 = ((volatile double *)(A.scratch + 2 * all))[(unsigned long long)p * A.nmap + m];
					const double b2_1 = ((volatile double *)(A.scratch + 3 * all))[(unsigned long long)p * A.nmap + m];
					const double b2_2 = ((volatile double *)(A.scratch + 4 * all))[(unsigned long long)p * A.nmap + m];
					fold_m2_f64(n2, f2, m2, b2_0, b2_1, b2_2);
					const float b3_0 = ((volatile float *)(A.scratch + 5 * all))[(unsigned long long)p * A.nmap + m];
					const long long b3_1 = ((volatile long long *)(A.scratch + 6 * all))[(unsigned long long)p * A.nmap + m];
					fold_argmin_f32(f3, i3, b3_0, b3_1);
				}
			combine(A, lane, f0, f1, n2, f2, m2, f3, i3);
		}
		if (lane == 0 && m < A.nmap)
			finish(A, m, f0, f1, n2, f2, m2, f3, i3);
	}
}
