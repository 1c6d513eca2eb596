/* c = a*b + sin(a) */
static __device__ __forceinline__ float sin_f32(float a)
{
	return sin(a);
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

static __device__ __forceinline__ void store_e4w4(void *p, const unsigned *w)
{
	unsigned *const s = (unsigned *)p;
	s[0] = w[0];
	s[1] = w[1];
	s[2] = w[2];
	s[3] = w[3];
}

struct args {
	const float *p0;
	const float *p1;
	float *p2;
	long long o0;
	long long o1;
	long long o2;
	unsigned nmap;
};

/* One point of the domain. */
static __device__ __forceinline__ void point(const struct args &A, const float v0, const float v1, float &y5)
{
	const float v2 = v0 * v1;
	const float v3 = sin_f32(v0);
	const float v4 = v2 + v3;
	y5 = v4;
}

extern "C" __global__ void __launch_bounds__(256) gx_kernel(const __grid_constant__ struct args A)
{
	const float *const __restrict__ q0 = A.p0 + A.o0;
	const float *const __restrict__ q1 = A.p1 + A.o1;
	float *const __restrict__ q2 = A.p2 + A.o2;
	const unsigned tiles = A.nmap / 1024;
	const int aligned = (((unsigned long long)&q0[0] & 15) | ((unsigned long long)&q1[0] & 15) | ((unsigned long long)&q2[0] & 15)) == 0;

	for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
		unsigned x0[1][4];
		unsigned x1[1][4];
		if (aligned) {
#pragma unroll
			for (int u = 0; u < 1; u++) {
				const int c0 = (int)(tile * 1024 + (u * 256 + threadIdx.x) * 4);
				load_w4(&q0[c0], x0[u]);
				load_w4(&q1[c0], x1[u]);
			}
		} else {
#pragma unroll
			for (int u = 0; u < 1; u++) {
				const int c0 = (int)(tile * 1024 + (u * 256 + threadIdx.x) * 4);
				load_e4w4(&q0[c0], x0[u]);
				load_e4w4(&q1[c0], x1[u]);
			}
		}
#pragma unroll
		for (int u = 0; u < 1; u++) {
			unsigned z5[4] = {0};
#pragma unroll
			for (int j = 0; j < 4; j++) {
				float y5;
				point(A, get_f32(x0[u], j), get_f32(x1[u], j), y5);
				put_f32(z5, j, y5);
			}
			const int c0 = (int)(tile * 1024 + (u * 256 + threadIdx.x) * 4);
			if (aligned) {
				store_w4(&q2[c0], z5);
			} else {
				store_e4w4(&q2[c0], z5);
			}
		}
	}
	for (unsigned i = tiles * 1024 + (unsigned)blockIdx.x * 256 + threadIdx.x; i < A.nmap; i += (unsigned)gridDim.x * 256) {
		const int c0 = (int)i;
		float y5;
		point(A, q0[c0], q1[c0], y5);
		q2[c0] = y5;
	}
}
