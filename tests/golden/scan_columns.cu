/* y = cumsum(x, axis=0) */
static __device__ __forceinline__ void fold_sum_i64(long long &a, long long b)
{
	a = (long long)((unsigned long long)a + (unsigned long long)b);
}

struct args {
	const short *p0;
	long long *p1;
	long long o0;
	long long o1;
	unsigned long long *scratch;
	unsigned *counters;
	int s0_1;
	int s1_1;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
	unsigned nreduce;
	unsigned splits;
	unsigned lanes;
	unsigned phase;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const short v0, long long &e0)
{
	const long long v1 = (long long)v0;
	e0 = v1;
}

static __device__ __forceinline__ void fold_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, long long &f0)
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
	const short *const __restrict__ q0 = A.p0 + A.o0;
	const int c0 = (int)m;
	for (; hi - r >= tile; r += tile) {
		short x0[8];
#pragma unroll
		for (int u = 0; u < 8; u++) {
			const int c1 = (int)(r + u * A.lanes + lane);
			x0[u] = q0[c0 + c1 * A.s0_1];
		}
		long long g0[8];
#pragma unroll
		for (int u = 0; u < 8; u++) {
			long long e0;
			point(A, x0[u], e0);
			g0[u] = e0;
		}
#pragma unroll
		for (int j = 0; j < 4; j++)
			fold_sum_i64(g0[j], g0[j + 4]);
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_sum_i64(g0[j], g0[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_sum_i64(g0[j], g0[j + 1]);
		fold_sum_i64(f0, g0[0]);
	}
	for (r += lane; r < hi; r += A.lanes) {
		const int c1 = (int)r;
		long long e0;
		point(A, q0[c0 + c1 * A.s0_1], e0);
		fold_sum_i64(f0, e0);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const struct args &A, const unsigned lane, long long &f0)
{
	__shared__ unsigned long long box[1][256];

	const unsigned apart = 256 / A.lanes;
	for (unsigned d = A.lanes / 2; d > 0; d /= 2) {
		__syncthreads();
		if (lane >= d && lane < 2 * d) {
			((long long *)box[0])[threadIdx.x] = f0;
		}
		__syncthreads();
		if (lane < d) {
			const long long b0_0 = ((long long *)box[0])[threadIdx.x + d * apart];
			fold_sum_i64(f0, b0_0);
		}
	}
}

static __device__ __forceinline__ void scan0_1(const struct args &A, const unsigned lane, unsigned long long *const box, long long *const v, long long &f)
{
	const long long c = f;
	long long total = 0;
	long long before = total;

	if (A.lanes == 1)
		total = v[0];
	else {
		long long *const sums = (long long *)box;
		const unsigned apart = 256 / A.lanes;

		__syncthreads();
		sums[threadIdx.x] = v[0];
		__syncthreads();
		for (unsigned w = 0; w < A.lanes; w++) {
			if (w == lane)
				before = total;
			fold_sum_i64(total, sums[w * apart + threadIdx.x % apart]);
		}
	}
#pragma unroll
	for (int u = 0; u < 1; u++) {
		fold_sum_i64(v[u], before);
		fold_sum_i64(v[u], c);
	}
	fold_sum_i64(f, total);
}

static __device__ __forceinline__ void scan0_8(const struct args &A, const unsigned lane, unsigned long long *const box, long long *const v, long long &f)
{
	const long long c = f;
	long long total = 0;
	long long before = total;

#pragma unroll
	for (int u = 1; u < 8; u++)
		fold_sum_i64(v[u], v[u - 1]);
	if (A.lanes == 1)
		total = v[7];
	else {
		long long *const sums = (long long *)box;
		const unsigned apart = 256 / A.lanes;

		__syncthreads();
		sums[threadIdx.x] = v[7];
		__syncthreads();
		for (unsigned w = 0; w < A.lanes; w++) {
			if (w == lane)
				before = total;
			fold_sum_i64(total, sums[w * apart + threadIdx.x % apart]);
		}
	}
#pragma unroll
	for (int u = 0; u < 8; u++) {
		fold_sum_i64(v[u], before);
		fold_sum_i64(v[u], c);
	}
	fold_sum_i64(f, total);
}

/* The tail, at element r of row m. */
static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, const unsigned r, long long f0)
{
	long long *const __restrict__ q1 = A.p1 + A.o1;
	const int c0 = (int)m;
	const int c1 = (int)r;
	const long long v0 = f0;
	q1[c0 + c1 * A.s1_1] = v0;
}

static __device__ __forceinline__ void scan_part(const struct args &A, const unsigned m, const unsigned lane, const unsigned part, unsigned long long *const box)
{
	const unsigned tile = A.lanes * 8;
	unsigned r = 0, hi = A.nreduce;
	long long f0 = 0;
	if (A.splits > 1) {
		const unsigned long long all = (unsigned long long)A.nmap * A.splits;
		const unsigned long long tiles = hi / tile + (hi % tile != 0);
		const unsigned long long end = tiles * (part + 1) / A.splits * tile;
		r = (unsigned)(tiles * part / A.splits * tile);
		hi = end < hi ? (unsigned)end : hi;
		if (part > 0 && m < A.nmap) {
			f0 = ((volatile long long *)(A.scratch + 0 * all))[(unsigned long long)(part - 1) * A.nmap + m];
		}
	}
	const short *const __restrict__ q0 = A.p0 + A.o0;
	const int c0 = (int)m;
	for (; hi - r >= tile; r += tile) {
		long long g0[8];
#pragma unroll
		for (int u = 0; u < 8; u++)
			g0[u] = 0;
		if (m < A.nmap) {
			short x0[8];
#pragma unroll
			for (int u = 0; u < 8; u++) {
				const int c1 = (int)(r + lane * 8 + u);
				x0[u] = q0[c0 + c1 * A.s0_1];
			}
#pragma unroll
			for (int u = 0; u < 8; u++) {
				long long e0;
				point(A, x0[u], e0);
				g0[u] = e0;
			}
		}
		scan0_8(A, lane, box, g0, f0);
		if (m < A.nmap) {
#pragma unroll
			for (int u = 0; u < 8; u++)
				finish(A, m, r + lane * 8 + u, g0[u]);
		}
	}
	for (; r < hi; r += A.lanes) {
		const unsigned i = r + lane;
		long long g0[1];
#pragma unroll
		for (int u = 0; u < 1; u++)
			g0[u] = 0;
		if (m < A.nmap && i < hi) {
			const int c1 = (int)i;
			long long e0;
			point(A, q0[c0 + c1 * A.s0_1], e0);
			g0[0] = e0;
		}
		scan0_1(A, lane, box, g0, f0);
		if (m < A.nmap && i < hi)
			finish(A, m, i, g0[0]);
	}
}

static __device__ __noinline__ void chain_parts(const struct args &A, const unsigned m, const unsigned lane, unsigned long long *const box)
{
	const unsigned long long all = (unsigned long long)A.nmap * A.splits;
	long long f0 = 0;

	for (unsigned first = 0; first < A.splits; first += A.lanes) {
		const unsigned p = first + lane;
		long long g0[1];
#pragma unroll
		for (int u = 0; u < 1; u++)
			g0[u] = 0;
		if (m < A.nmap && p < A.splits) {
			g0[0] = ((volatile long long *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m];
		}
		scan0_1(A, lane, box, g0, f0);
		if (m < A.nmap && p < A.splits) {
			((volatile long long *)(A.scratch + 0 * all))[(unsigned long long)p * A.nmap + m] = g0[0];
		}
	}
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	__shared__ unsigned last;
	__shared__ unsigned long long box[256];
	const unsigned outputs = 256 / A.lanes;   /* of a block */
	const unsigned slot = threadIdx.x % outputs, lane = threadIdx.x / outputs;
	const unsigned long long strips = A.nmap / outputs + (A.nmap % outputs != 0);

	for (unsigned long long work = blockIdx.x; work < strips * A.splits; work += gridDim.x) {
		const unsigned long long strip = A.splits > 1 ? work / A.splits : work;
		const unsigned part = (unsigned)(work - strip * A.splits);
		const unsigned m = (unsigned)(strip * outputs + slot);

		if (A.splits > 1 && A.phase == 0) {
			const unsigned long long all = (unsigned long long)A.nmap * A.splits;
			long long f0 = 0;
			if (m < A.nmap)
				fold_part(A, m, lane, part, f0);
			combine(A, lane, f0);
			if (lane == 0 && m < A.nmap) {
				((volatile long long *)(A.scratch + 0 * all))[(unsigned long long)part * A.nmap + m] = f0;
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
