/* y = cumsum(x * x, axis=1) / 2; m = cummax(x, axis=1) */
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
	int s1_0;
	int s2_0;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
	unsigned nreduce;
	unsigned splits;
	unsigned lanes;
	unsigned phase;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, double &e0, float &e1)
{
	const float v1 = v0 * v0;
	const double v2 = (double)v1;
	e0 = v2;
	e1 = v0;
}

static __device__ __forceinline__ void fold_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, double &f0, float &f1)
{
	const unsigned tile = A.lanes * 8;
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
	for (; hi - r >= tile; r += tile) {
		float x0[8];
#pragma unroll
		for (int u = 0; u < 8; u++) {
			const int c1 = (int)(r + u * A.lanes + lane);
			x0[u] = q0[c0 * A.s0_0 + c1];
		}
		double g0[8];
		float g1[8];
#pragma unroll
		for (int u = 0; u < 8; u++) {
			double e0;
			float e1;
			point(A, x0[u], e0, e1);
			g0[u] = e0;
			g1[u] = e1;
		}
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
		for (int j = 0; j < 4; j++)
			fold_max_f32(g1[j], g1[j + 4]);
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_max_f32(g1[j], g1[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_max_f32(g1[j], g1[j + 1]);
		fold_max_f32(f1, g1[0]);
	}
	for (r += lane; r < hi; r += A.lanes) {
		const int c1 = (int)r;
		double e0;
		float e1;
		point(A, q0[c0 * A.s0_0 + c1], e0, e1);
		fold_sum_f64(f0, e0);
		fold_max_f32(f1, e1);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const struct args &A, const unsigned lane, double &f0, float &f1)
{
	__shared__ unsigned long long box[1][8];

	for (unsigned d = (A.lanes < 32 ? A.lanes : 32) / 2; d > 0; d /= 2) {
		const double b0_0 = __shfl_down_sync(0xffffffffu, f0, d);
		fold_sum_f64(f0, b0_0);
		const float b1_0 = __shfl_down_sync(0xffffffffu, f1, d);
		fold_max_f32(f1, b1_0);
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
}

/* f + l + t, what f cannot hold in l (Knuth's two-sum). */
static __device__ __forceinline__ void add(double &f, double &l, const double t)
{
	const double s = f + t, b = s - f, more = l + ((f - (s - b)) + (t - b));

	l = s - s == 0 ? more : 0.0;
	f = s;
}

static __device__ __forceinline__ void scan0_1(const struct args &A, const unsigned lane, unsigned long long *const box, double *const v, double &f, double &l)
{
	const double c = l != 0 ? f + l : f;
	double total = -0.0;
	const unsigned width = A.lanes < 32 ? A.lanes : 32, end = (threadIdx.x | (width - 1)) % 32;
	double before[1];

#pragma unroll
	for (int u = 0; u < 1; u++)
		for (unsigned d = 1; d < width; d *= 2) {
			const double b = __shfl_up_sync(0xffffffffu, v[u], d);
			if (lane % 32 >= d)
				fold_sum_f64(v[u], b);
		}
	if (A.lanes <= 32) {
#pragma unroll
		for (int u = 0; u < 1; u++) {
			const double b = __shfl_sync(0xffffffffu, v[u], end);
			before[u] = total;
			fold_sum_f64(total, b);
		}
	} else {
		double *const sums = (double *)box;
		const unsigned first = threadIdx.x / 32 - lane / 32;

		__syncthreads();
		if (lane % 32 == 31) {
#pragma unroll
			for (int u = 0; u < 1; u++)
				sums[u * 8 + threadIdx.x / 32] = v[u];
		}
		__syncthreads();
#pragma unroll
		for (int u = 0; u < 1; u++)
			for (unsigned w = 0; w < A.lanes / 32; w++) {
				if (w == lane / 32)
					before[u] = total;
				fold_sum_f64(total, sums[u * 8 + first + w]);
			}
	}
#pragma unroll
	for (int u = 0; u < 1; u++) {
		fold_sum_f64(v[u], before[u]);
		fold_sum_f64(v[u], c);
	}
	add(f, l, total);
}

static __device__ __forceinline__ void scan0_8(const struct args &A, const unsigned lane, unsigned long long *const box, double *const v, double &f, double &l)
{
	const double c = l != 0 ? f + l : f;
	double total = -0.0;
	const unsigned width = A.lanes < 32 ? A.lanes : 32, end = (threadIdx.x | (width - 1)) % 32;
	double before[8];

#pragma unroll
	for (int u = 0; u < 8; u++)
		for (unsigned d = 1; d < width; d *= 2) {
			const double b = __shfl_up_sync(0xffffffffu, v[u], d);
			if (lane % 32 >= d)
				fold_sum_f64(v[u], b);
		}
	if (A.lanes <= 32) {
#pragma unroll
		for (int u = 0; u < 8; u++) {
			const double b = __shfl_sync(0xffffffffu, v[u], end);
			before[u] = total;
			fold_sum_f64(total, b);
		}
	} else {
		double *const sums = (double *)box;
		const unsigned first = threadIdx.x / 32 - lane / 32;

		__syncthreads();
		if (lane % 32 == 31) {
#pragma unroll
			for (int u = 0; u < 8; u++)
				sums[u * 8 + threadIdx.x / 32] = v[u];
		}
		__syncthreads();
#pragma unroll
		for (int u = 0; u < 8; u++)
			for (unsigned w = 0; w < A.lanes / 32; w++) {
				if (w == lane / 32)
					before[u] = total;
				fold_sum_f64(total, sums[u * 8 + first + w]);
			}
	}
#pragma unroll
	for (int u = 0; u < 8; u++) {
		fold_sum_f64(v[u], before[u]);
		fold_sum_f64(v[u], c);
	}
	add(f, l, total);
}

static __device__ __forceinline__ void scan1_1(const struct args &A, const unsigned lane, unsigned long long *const box, float *const v, float &f)
{
	const float c = f;
	float total = (float)-__int_as_float(0x7f800000);
	const unsigned width = A.lanes < 32 ? A.lanes : 32, end = (threadIdx.x | (width - 1)) % 32;
	float before[1];

#pragma unroll
	for (int u = 0; u < 1; u++)
		for (unsigned d = 1; d < width; d *= 2) {
			const float b = __shfl_up_sync(0xffffffffu, v[u], d);
			if (lane % 32 >= d)
				fold_max_f32(v[u], b);
		}
	if (A.lanes <= 32) {
#pragma unroll
		for (int u = 0; u < 1; u++) {
			const float b = __shfl_sync(0xffffffffu, v[u], end);
			before[u] = total;
			fold_max_f32(total, b);
		}
	} else {
		float *const sums = (float *)box;
		const unsigned first = threadIdx.x / 32 - lane / 32;

		__syncthreads();
		if (lane % 32 == 31) {
#pragma unroll
			for (int u = 0; u < 1; u++)
				sums[u * 8 + threadIdx.x / 32] = v[u];
		}
		__syncthreads();
#pragma unroll
		for (int u = 0; u < 1; u++)
			for (unsigned w = 0; w < A.lanes / 32; w++) {
				if (w == lane / 32)
					before[u] = total;
				fold_max_f32(total, sums[u * 8 + first + w]);
			}
	}
#pragma unroll
	for (int u = 0; u < 1; u++) {
		fold_max_f32(v[u], before[u]);
		fold_max_f32(v[u], c);
	}
	fold_max_f32(f, total);
}

static __device__ __forceinline__ void scan1_8(const struct args &A, const unsigned lane, unsigned long long *const box, float *const v, float &f)
{
	const float c = f;
	float total = (float)-__int_as_float(0x7f800000);
	const unsigned width = A.lanes < 32 ? A.lanes : 32, end = (threadIdx.x | (width - 1)) % 32;
	float before[8];

#pragma unroll
	for (int u = 0; u < 8; u++)
		for (unsigned d = 1; d < width; d *= 2) {
			const float b = __shfl_up_sync(0xffffffffu, v[u], d);
			if (lane % 32 >= d)
				fold_max_f32(v[u], b);
		}
	if (A.lanes <= 32) {
#pragma unroll
		for (int u = 0; u < 8; u++) {
			const float b = __shfl_sync(0xffffffffu, v[u], end);
			before[u] = total;
			fold_max_f32(total, b);
		}
	} else {
		float *const sums = (float *)box;
		const unsigned first = threadIdx.x / 32 - lane / 32;

		__syncthreads();
		if (lane % 32 == 31) {
#pragma unroll
			for (int u = 0; u < 8; u++)
				sums[u * 8 + threadIdx.x / 32] = v[u];
		}
		__syncthreads();
#pragma unroll
		for (int u = 0; u < 8; u++)
			for (unsigned w = 0; w < A.lanes / 32; w++) {
				if (w == lane / 32)
					before[u] = total;
				fold_max_f32(total, sums[u * 8 + first + w]);
			}
	}
#pragma unroll
	for (int u = 0; u < 8; u++) {
		fold_max_f32(v[u], before[u]);
		fold_max_f32(v[u], c);
	}
	fold_max_f32(f, total);
}

/* The tail, at element r of row m. */
static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, const unsigned r, double f0, float f1)
{
	float *const __restrict__ q1 = A.p1 + A.o1;
	float *const __restrict__ q2 = A.p2 + A.o2;
	const int c0 = (int)m;
	const int c1 = (int)r;
	const double v0 = f0;
	const float v1 = (float)v0;
	const float v2 = __int_as_float(0x40000000) /* 2 */;
	const float v3 = v1 / v2;
	const float v4 = f1;
	q1[c0 * A.s1_0 + c1] = v3;
	q2[c0 * A.s2_0 + c1] = v4;
}

static __device__ __forceinline__ void scan_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, unsigned long long *const box)
{
	const unsigned tile = A.lanes * 8;
	unsigned r = 0, hi = A.nreduce;
	double f0 = -0.0;
	double l0 = 0;
	float f1 = (float)-__int_as_float(0x7f800000);
	if (A.splits > 1) {
		const unsigned long long all = (unsigned long long)A.nmap * A.splits;
		const unsigned long long tiles = hi / tile + (hi % tile != 0);
		const unsigned long long end = tiles * (part + 1) / A.splits * tile;
		r = (unsigned)(tiles * part / A.splits * tile);
		hi = end < hi ? (unsigned)end : hi;
		if (part > 0 && m < A.nmap) {
			f0 = ((volatile double *)(A.scratch + 0 * all))[(unsigned long long)(part - 1) * A.nmap + m];
			f1 = ((volatile float *)(A.scratch + 1 * all))[(unsigned long long)(part - 1) * A.nmap + m];
		}
	}
	const float *const __restrict__ q0 = A.p0 + A.o0;
	const int c0 = (int)m;
	for (; hi - r >= tile; r += tile) {
		double g0[8];
#pragma unroll
		for (int u = 0; u < 8; u++)
			g0[u] = -0.0;
		float g1[8];
#pragma unroll
		for (int u = 0; u < 8; u++)
			g1[u] = (float)-__int_as_float(0x7f800000);
		if (m < A.nmap) {
			float x0[8];
#pragma unroll
			for (int u = 0; u < 8; u++) {
				const int c1 = (int)(r + u * A.lanes + lane);
				x0[u] = q0[c0 * A.s0_0 + c1];
			}
#pragma unroll
			for (int u = 0; u < 8; u++) {
				double e0;
				float e1;
				point(A, x0[u], e0, e1);
				g0[u] = e0;
				g1[u] = e1;
			}
		}
		scan0_8(A, lane, box, g0, f0, l0);
		scan1_8(A, lane, box, g1, f1);
		if (m < A.nmap) {
#pragma unroll
			for (int u = 0; u < 8; u++)
				finish(A, m, r + u * A.lanes + lane, g0[u], g1[u]);
		}
	}
	for (; r < hi; r += A.lanes) {
		const unsigned i = r + lane;
		double g0[1];
#pragma unroll
		for (int u = 0; u < 1; u++)
			g0[u] = -0.0;
		float g1[1];
#pragma unroll
		for (int u = 0; u < 1; u++)
			g1[u] = (float)-__int_as_float(0x7f800000);
		if (m < A.nmap && i < hi) {
			const int c1 = (int)i;
			double e0;
			float e1;
			point(A, q0[c0 * A.s0_0 + c1], e0, e1);
			g0[0] = e0;
			g1[0] = e1;
		}
		scan0_1(A, lane, box, g0, f0, l0);
		scan1_1(A, lane, box, g1, f1);
		if (m < A.nmap && i < hi)
			finish(A, m, i, g0[0], g1[0]);
	}
}

static __device__ __noinline__ void chain_parts(const struct args &A, const unsigned m, const unsigned lane, unsigned long long *const box)
{
	const unsigned long long all = (unsigned long long)A.nmap * A.splits;
	double f0 = -0.0;
	double l0 = 0;
	float f1 = (float)-__int_as_float(0x7f800000);

	for (unsigned first = 0; first < A.splits; first += A.lanes) {
		const unsigned p = first + lane;
		double g0[1];
#pragma unroll
		for (int u = 0; u < 1; u++)
			g0[u] = -0.0;
		float g1[1];
#pragma unroll
		for (int u = 0; u < 1; u++)
			g1[u] = (float)-__int_as_float(0x7f800000);
		if (m < A.nmap && p < A.splits) {
			g0[0] = ((volatile double *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m];
			g1[0] = ((volatile float *)(A.scratch + 1 * all))[(unsigned long long)p * A.nmap + m];
		}
		scan0_1(A, lane, box, g0, f0, l0);
		scan1_1(A, lane, box, g1, f1);
		if (m < A.nmap && p < A.splits) {
			((volatile double *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m] = g0[0];
			((volatile float *)(A.scratch + 1 * all))[(unsigned long long)p * A.nmap + m] = g1[0];
		}
	}
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	__shared__ unsigned last;
	__shared__ unsigned long long box[256];
	const unsigned outputs = 256 / A.lanes;   /* of a block */
	const unsigned lane = threadIdx.x % A.lanes, slot = threadIdx.x / A.lanes;
	const unsigned long long strips = A.nmap / outputs + (A.nmap % outputs != 0);

	for (unsigned long long work = blockIdx.x; work < strips * A.splits; work += gridDim.x) {
		const unsigned long long strip = A.splits > 1 ? work / A.splits : work;
		const unsigned part = (unsigned)(work - strip * A.splits);
		const unsigned m = (unsigned)(strip * outputs + slot);

		if (A.splits > 1 && A.phase == 0) {
			const unsigned long long all = (unsigned long long)A.nmap * A.splits;
			double f0 = -0.0;
			float f1 = (float)-__int_as_float(0x7f800000);
			if (m < A.nmap)
				fold_part(A, m, lane, part, f0, f1);
			combine(A, lane, f0, f1);
			if (lane == 0 && m < A.nmap) {
				((volatile double *)(A.scratch + 0 * all))[(unsigned long long)part * A.nmap + m] = f0;
				((volatile float *)(A.scratch + 1 * all))[(unsigned long long)part * A.nmap + m] = f1;
			}
			__threadfence();
			__syncthreads();
			if (threadIdx.x == 0)
				last = atomicAdd(&A.counters[strip], 1u) == A.splits - 1;
			__syncthreads();
			if (last) {
				__threadfence();
				if (threadIdx.x == 0)
					A.counters[strip] = 0;
				chain_parts(A, m, lane, box);
			}
		} else
			scan_part(A, m, lane, part, box);
	}
}
