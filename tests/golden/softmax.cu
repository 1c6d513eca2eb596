/* _e = exp(x - max(x, axis=1, keepdims=true)) */
/* y = _e / sum(_e, axis=1, keepdims=true) */
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

static __device__ __forceinline__ void load_e4w4_part(const void *p, unsigned *w, unsigned left)
{
	const unsigned *const s = (const unsigned *)p;
	if (0 < left)
		w[0] = s[0];
	if (1 < left)
		w[1] = s[1];
	if (2 < left)
		w[2] = s[2];
	if (3 < left)
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

static __device__ __forceinline__ float exp_f32(float a)
{
	return exp(a);
}

static __device__ __forceinline__ void fold_sum_f64(double &a, double b)
{
	a = (double)((double)a + (double)b);
}

static __device__ __forceinline__ void put_f32(unsigned *w, int j, float v)
{
	w[j] = (unsigned)__float_as_int(v);
}

#ifndef GX_EMULATE
static __device__ __forceinline__ void store_w4(void *p, const unsigned *w)
{
	asm volatile("{ .reg .u64 g; cvta.to.global.u64 g, %0; st.global.v4.u32 [g], {%1, %2, %3, %4}; }"
		:: "l"(p), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}
#endif

static __device__ __forceinline__ void store_e4w4_part(void *p, const unsigned *w, unsigned left)
{
	unsigned *const s = (unsigned *)p;
	if (0 < left)
		s[0] = w[0];
	if (1 < left)
		s[1] = w[1];
	if (2 < left)
		s[2] = w[2];
	if (3 < left)
		s[3] = w[3];
}

namespace phase0 {

struct args {
	const float *p0;
	float *p1;
	long long o0;
	long long o1;
	int s0_0;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
	unsigned nreduce;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, float &e0)
{
	e0 = v0;
}

static __device__ __forceinline__ void pass(const struct args &A, const unsigned m, const unsigned lane, unsigned (&x0)[2][4], float &f0)
{
	const float *const __restrict__ q0 = A.p0 + A.o0;
	const int c0 = (int)m;
	const unsigned n = A.nreduce;
	const int aligned = (((unsigned long long)&q0[c0 * A.s0_0] & 15)) == 0;
#pragma unroll
	for (int u = 0; u < 2; u++) {
		const unsigned r = (u * 8 + lane) * 4;
		const unsigned left = r < n ? (unsigned)(n - r) : 0;
		const int c1 = (int)r;
		if (aligned && left >= 4) {
			load_w4(&q0[c0 * A.s0_0 + c1], x0[u]);
		} else {
			load_e4w4_part(&q0[c0 * A.s0_0 + c1], x0[u], left);
		}
	}
#pragma unroll
	for (int u = 0; u < 2; u++) {
		const unsigned r = (u * 8 + lane) * 4;
		float g0[4];
#pragma unroll
		for (int j = 0; j < 4; j++) {
			g0[j] = (float)-__int_as_float(0x7f800000);
			if (r + j < n) {
				float e0;
				point(A, get_f32(x0[u], j), e0);
				g0[j] = e0;
			}
		}
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_max_f32(g0[j], g0[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_max_f32(g0[j], g0[j + 1]);
		fold_max_f32(f0, g0[0]);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const unsigned lane, float &f0)
{
#pragma unroll
	for (unsigned d = 4; d > 0; d /= 2) {
		const float b0_0 = __shfl_down_sync(0xffffffffu, f0, d);
		fold_max_f32(f0, b0_0);
	}
}

static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, float &t0, float f0)
{
	const float v0 = f0;
	t0 = v0;
}

}

namespace phase1 {

struct args {
	const float *p0;
	const float *p1;
	float *p2;
	long long o0;
	long long o1;
	long long o2;
	int s0_0;
	unsigned n0;
	unsigned n1;
	unsigned nmap;
	unsigned nreduce;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, const float v1, double &e0)
{
	const float v2 = v0 - v1;
	const float v3 = exp_f32(v2);
	const double v4 = (double)v3;
	e0 = v4;
}

static __device__ __forceinline__ void pass(const struct args &A, const unsigned m, const unsigned lane, unsigned (&x0)[2][4], const float t0, double &f0)
{
	const unsigned n = A.nreduce;
#pragma unroll
	for (int u = 0; u < 2; u++) {
		const unsigned r = (u * 8 + lane) * 4;
		double g0[4];
#pragma unroll
		for (int j = 0; j < 4; j++) {
			g0[j] = 0;
			if (r + j < n) {
				double e0;
				point(A, get_f32(x0[u], j), t0, e0);
				g0[j] = e0;
			}
		}
#pragma unroll
		for (int j = 0; j < 2; j++)
			fold_sum_f64(g0[j], g0[j + 2]);
#pragma unroll
		for (int j = 0; j < 1; j++)
			fold_sum_f64(g0[j], g0[j + 1]);
		fold_sum_f64(f0, g0[0]);
	}
}

/* The lanes of an output put together what they folded; lane 0 has the result. */
static __device__ __forceinline__ void combine(const unsigned lane, double &f0)
{
#pragma unroll
	for (unsigned d = 4; d > 0; d /= 2) {
		const double b0_0 = __shfl_down_sync(0xffffffffu, f0, d);
		fold_sum_f64(f0, b0_0);
	}
}

static __device__ __forceinline__ void finish(const struct args &A, const unsigned m, float &t1, double f0)
{
	const double v0 = f0;
	const float v1 = (float)v0;
	t1 = v1;
}

}

namespace phase2 {

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
	unsigned nreduce;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, const float v1, const float v4, float &y6)
{
	const float v2 = v0 - v1;
	const float v3 = exp_f32(v2);
	const float v5 = v3 / v4;
	y6 = v5;
}

static __device__ __forceinline__ void pass(const struct args &A, const unsigned m, const unsigned lane, unsigned (&x0)[2][4], const float t0, const float t1)
{
	float *const __restrict__ q3 = A.p3 + A.o3;
	const int c0 = (int)m;
	const unsigned n = A.nreduce;
	const int aligned = (((unsigned long long)&q3[c0 * A.s3_0] & 15)) == 0;
#pragma unroll
	for (int u = 0; u < 2; u++) {
		const unsigned r = (u * 8 + lane) * 4;
		const unsigned left = r < n ? (unsigned)(n - r) : 0;
		unsigned z6[4] = {0};
#pragma unroll
		for (int j = 0; j < 4; j++) {
			if (r + j < n) {
				float y6;
				point(A, get_f32(x0[u], j), t0, t1, y6);
				put_f32(z6, j, y6);
			}
		}
		const int c1 = (int)r;
		if (aligned && left >= 4) {
			store_w4(&q3[c0 * A.s3_0 + c1], z6);
		} else {
			store_e4w4_part(&q3[c0 * A.s3_0 + c1], z6, left);
		}
	}
}

}

struct args {
	phase0::args phase0;
	phase1::args phase1;
	phase2::args phase2;
};

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args all)
{
	const unsigned rows = 32;   /* of a block */
	const unsigned lane = threadIdx.x % 8, slot = threadIdx.x / 8;
	const unsigned long long strips = all.phase0.nmap / rows + (all.phase0.nmap % rows != 0);

	for (unsigned long long strip = blockIdx.x; strip < strips; strip += gridDim.x) {
		const unsigned m = (unsigned)(strip * rows + slot);

		unsigned x0_0[2][4];
		float t0 = 0;
		{
			float f0 = (float)-__int_as_float(0x7f800000);
			if (m < all.phase0.nmap)
				phase0::pass(all.phase0, m, lane, x0_0, f0);
			phase0::combine(lane, f0);
			if (lane == 0 && m < all.phase0.nmap)
				phase0::finish(all.phase0, m, t0, f0);
			t0 = (float)__shfl_sync(0xffffffffu, t0, threadIdx.x / 8 * 8 % 32);
		}
		float t1 = 0;
		{
			double f0 = 0;
			if (m < all.phase0.nmap)
				phase1::pass(all.phase1, m, lane, x0_0, t0, f0);
			phase1::combine(lane, f0);
			if (lane == 0 && m < all.phase0.nmap)
				phase1::finish(all.phase1, m, t1, f0);
			t1 = (float)__shfl_sync(0xffffffffu, t1, threadIdx.x / 8 * 8 % 32);
		}
		{
			if (m < all.phase0.nmap)
				phase2::pass(all.phase2, m, lane, x0_0, t0, t1);
		}
	}
}
