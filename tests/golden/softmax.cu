/* _e = exp(x - max(x, axis=1, keepdims=true)) */
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

struct args {
	const float *p0;
	float *p1;
	long long o0;
	long long o1;
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
static __device__ __forceinline__ void point(const struct args &A, const float v0, float &e0)
{
	e0 = v0;
}

static __device__ __forceinline__ void fold_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, float &f0)
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
		float g0[16];
#pragma unroll
		for (int u = 0; u < 4; u++) {
#pragma unroll
			for (int j = 0; j < 4; j++) {
				float e0;
				point(A, get_f32(x0[u], j), e0);
				g0[u * 4 + j] = e0;
			}
		}
#pragma unroll
		for (int j = 0; j < 8; j++)
			fold_max_f32(g0[j], g0[j + 8]);
#pragma unroll
		for (int j = 0; j < 4; j++)
			fold_max_f32(g0[j], g0[j + 4]);
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_max_f32(g0[j], g0[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_max_f32(g0[j], g0[j + 1]);
		fold_max_f32(f0, g0[0]);
	}
	for (r += lane; r < hi; r += A.lanes) {
		const int c1 = (int)r;
		float e0;
		point(A, q0[c0 * A.s0_0 + c1], e0);
		fold_max_f32(f0, e0);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const struct args &A, const unsigned lane, float &f0)
{
	__shared__ unsigned long long box[1][8];

	for (unsigned d = (A.lanes < 32 ? A.lanes : 32) / 2; d > 0; d /= 2) {
		const float b0_0 = __shfl_down_sync(0xffffffffu, f0, d);
		fold_max_f32(f0, b0_0);
	}
	if (A.lanes <= 32)
		return;
	__syncthreads();
	if (lane % 32 == 0) {
		((float *)box[0])[threadIdx.x / 32] = f0;
	}
	__syncthreads();
	if (lane == 0)
		for (unsigned w = 1; w < A.lanes / 32; w++) {
			const float b0_0 = ((float *)box[0])[threadIdx.x / 32 + w];
			fold_max_f32(f0, b0_0);
		}
}

static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, float f0)
{
	float *const __restrict__ q1 = A.p1 + A.o1;
	const int c0 = (int)m;
	const float v0 = f0;
	q1[c0] = v0;
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
		float f0 = (float)-__int_as_float(0x7f800000);
		if (m < A.nmap)
			fold_part(A, m, lane, part, f0);
		combine(A, lane, f0);
		if (A.splits > 1) {
			const unsigned long long all = (unsigned long long)A.nmap * A.splits;

			if (lane == 0 && m < A.nmap) {
				((volatile float *)(A.scratch + 0 * all))[(unsigned long long)part * A.nmap + m] = f0;
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
			f0 = (float)-__int_as_float(0x7f800000);
			if (m < A.nmap)
				for (unsigned p = lane; p < A.splits; p += A.lanes) {
					const float b0_0 = ((volatile float *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m];
					fold_max_f32(f0, b0_0);
				}
			combine(A, lane, f0);
		}
		if (lane == 0 && m < A.nmap)
			finish(A, m, f0);
	}
}

/* y = _e / sum(_e, axis=1, keepdims=true) */
static __device__ __forceinline__ float exp_f32(float a)
{
	return exp(a);
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

struct args {
	const float *p0;
	const float *p1;
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
static __device__ __forceinline__ void point(const struct args &A, const float v0, const float v1, double &e0)
{
	const float v2 = v0 - v1;
	const float v3 = exp_f32(v2);
	const double v4 = (double)v3;
	e0 = v4;
}

static __device__ __forceinline__ void fold_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, double &f0)
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
	const float *const __restrict__ q1 = A.p1 + A.o1;
	const int c0 = (int)m;
	const float x1 = q1[c0];
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
#pragma unroll
		for (int u = 0; u < 4; u++) {
#pragma unroll
			for (int j = 0; j < 4; j++) {
				double e0;
				point(A, get_f32(x0[u], j), x1, e0);
				g0[u * 4 + j] = e0;
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
	}
	for (r += lane; r < hi; r += A.lanes) {
		const int c1 = (int)r;
		double e0;
		point(A, q0[c0 * A.s0_0 + c1], x1, e0);
		fold_sum_f64(f0, e0);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const struct args &A, const unsigned lane, double &f0)
{
	__shared__ unsigned long long box[1][8];

	for (unsigned d = (A.lanes < 32 ? A.lanes : 32) / 2; d > 0; d /= 2) {
		const double b0_0 = __shfl_down_sync(0xffffffffu, f0, d);
		fold_sum_f64(f0, b0_0);
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
}

static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, double f0)
{
	float *const __restrict__ q2 = A.p2 + A.o2;
	const int c0 = (int)m;
	const double v0 = f0;
	const float v1 = (float)v0;
	q2[c0] = v1;
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
		if (m < A.nmap)
			fold_part(A, m, lane, part, f0);
		combine(A, lane, f0);
		if (A.splits > 1) {
			const unsigned long long all = (unsigned long long)A.nmap * A.splits;

			if (lane == 0 && m < A.nmap) {
				((volatile double *)(A.scratch + 0 * all))[(unsigned long long)part * A.nmap + m] = f0;
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
			if (m < A.nmap)
				for (unsigned p = lane; p < A.splits; p += A.lanes) {
					const double b0_0 = ((volatile double *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m];
					fold_sum_f64(f0, b0_0);
				}
			combine(A, lane, f0);
		}
		if (lane == 0 && m < A.nmap)
			finish(A, m, f0);
	}
}

/* y = _e / sum(_e, axis=1, keepdims=true) */
static __device__ __forceinline__ float exp_f32(float a)
{
	return exp(a);
}

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
static __device__ __forceinline__ void point(const struct args &A, const float v0, const float v1, const float v4, float &y6)
{
	const float v2 = v0 - v1;
	const float v3 = exp_f32(v2);
	const float v5 = v3 / v4;
	y6 = v5;
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
		float x4[4];
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const unsigned k = tile * 1024 + u * 256 + threadIdx.x;
			int c0, c1;
			kept_axes(A, k, c0, c1);
			x0[u] = q0[c0 * A.s0_0 + c1];
			x1[u] = q1[c0];
			x4[u] = q2[c0];
		}
#pragma unroll
		for (int u = 0; u < 4; u++) {
			const unsigned k = tile * 1024 + u * 256 + threadIdx.x;
			int c0, c1;
			kept_axes(A, k, c0, c1);
			float y6;
			point(A, x0[u], x1[u], x4[u], y6);
			q3[c0 * A.s3_0 + c1] = y6;
		}
	}
	for (unsigned i = tiles * 1024 + (unsigned)blockIdx.x * 256 + threadIdx.x; i < A.nmap; i += (unsigned)gridDim.x * 256) {
		int c0, c1;
		kept_axes(A, i, c0, c1);
		float y6;
		point(A, q0[c0 * A.s0_0 + c1], q1[c0], q2[c0], y6);
		q3[c0 * A.s3_0 + c1] = y6;
	}
}
