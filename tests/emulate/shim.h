/* shim.h -- the part of CUDA C that our kernels use, for the host's C++ compiler: the emitted text is
 * included after it. One thread of a block runs at a time (emulate.c switches between them at barriers and
 * shuffles), so shared memory is static memory, atomics are plain, and where a thread is can live in one
 * global structure. */
#ifndef TESTS_SHIM_H
#define TESTS_SHIM_H

#include <math.h>
#include <string.h>

#define GX_EMULATE 1

struct emu_dim {
	unsigned x, y, z;
};

/* Shared with emulate.c: the layout must be the same there. */
struct emu_state {
	struct emu_dim thread, block, block_dim, grid_dim;
	void (*barrier)(int line);
	unsigned long long (*shuffle)(unsigned mask, unsigned long long bits, unsigned lane, int line);
};

extern "C" {
__attribute__((visibility("default"))) struct emu_state *emu_state;
extern char __start_gx_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_gx_shared[] __attribute__((weak, visibility("hidden")));

/* A new block finds rubbish in shared memory. Goes over red zones too, so it must not be checked itself. */
__attribute__((visibility("default"), no_sanitize_address, no_sanitize_undefined)) void emu_rubbish(void)
{
	for (volatile char *p = __start_gx_shared; p != __stop_gx_shared; p++)
		*p = (char)0xa5;
}
}

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static __attribute__((section("gx_shared")))
#define __grid_constant__
#define __launch_bounds__(...)
#define threadIdx (emu_state->thread)
#define blockIdx (emu_state->block)
#define blockDim (emu_state->block_dim)
#define gridDim (emu_state->grid_dim)
#define __syncthreads() emu_state->barrier(__LINE__)
#define __threadfence() ((void)0)
#define __shfl_down_sync(mask, value, d) emu_shuffle(mask, value, threadIdx.x % 32 + (d) < 32 ? threadIdx.x % 32 + (d) : threadIdx.x % 32, __LINE__)
#define __shfl_up_sync(mask, value, d) emu_shuffle(mask, value, threadIdx.x % 32 >= (d) ? threadIdx.x % 32 - (d) : threadIdx.x % 32, __LINE__)
#define __shfl_sync(mask, value, lane) emu_shuffle(mask, value, (lane) % 32, __LINE__)

template <class T> static inline T emu_shuffle(unsigned mask, T value, unsigned from, int line)
{
	unsigned long long bits = 0;

	memcpy(&bits, &value, sizeof value);
	bits = emu_state->shuffle(mask, bits, from, line);
	memcpy(&value, &bits, sizeof value);
	return value;
}

template <class T> static inline T atomicAdd(T *p, T v)
{
	T old = *p;
	*p = old + v;
	return old;
}
template <class T> static inline T atomicExch(T *p, T v)
{
	T old = *p;
	*p = v;
	return old;
}
template <class T> static inline T atomicMin(T *p, T v)
{
	T old = *p;
	*p = v < old ? v : old;
	return old;
}
template <class T> static inline T atomicCAS(T *p, T want, T v)
{
	T old = *p;
	*p = old == want ? v : old;
	return old;
}

template <class To, class From> static inline To emu_bits(From v)
{
	To r;

	static_assert(sizeof r == sizeof v, "same size");
	memcpy(&r, &v, sizeof r);
	return r;
}
static inline float __int_as_float(int v) { return emu_bits<float>(v); }
static inline int __float_as_int(float v) { return emu_bits<int>(v); }
static inline double __longlong_as_double(long long v) { return emu_bits<double>(v); }
static inline long long __double_as_longlong(double v) { return emu_bits<long long>(v); }

#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf

/* Vector accesses must be aligned: the types say so, and the sanitizer looks. */
struct alignas(8) emu_w2 {
	unsigned w[2];
};
struct alignas(16) emu_w4 {
	unsigned w[4];
};
static inline void load_w1(const void *p, unsigned *w) { w[0] = *(const unsigned *)p; }
static inline void load_w2(const void *p, unsigned *w)
{
	const emu_w2 v = *(const emu_w2 *)p;
	memcpy(w, v.w, 8);
}
static inline void load_w4(const void *p, unsigned *w)
{
	const emu_w4 v = *(const emu_w4 *)p;
	memcpy(w, v.w, 16);
}
static inline void store_w1(void *p, const unsigned *w) { *(unsigned *)p = w[0]; }
static inline void store_w2(void *p, const unsigned *w)
{
	emu_w2 v;
	memcpy(v.w, w, 8);
	*(emu_w2 *)p = v;
}
static inline void store_w4(void *p, const unsigned *w)
{
	emu_w4 v;
	memcpy(v.w, w, 16);
	*(emu_w4 *)p = v;
}

static inline float gx_bf16_to_f32(unsigned short a) { return __int_as_float((int)((unsigned)a << 16)); }

static inline unsigned short gx_f32_to_bf16(float a)
{
	unsigned u = (unsigned)__float_as_int(a);

	return a != a ? 0x7fff : (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* Towards zero, then odd when something was cut off. */
static inline float gx_round_odd(double a)
{
	float r = (float)a;

	if (a != a || (double)r == a)
		return r;
	if (fabs((double)r) > fabs(a))
		r = nextafterf(r, 0);
	return __int_as_float(__float_as_int(r) | 1);
}

static inline float gx_f16_to_f32(unsigned short a)
{
	unsigned sign = (unsigned)(a >> 15) << 31, e = a >> 10 & 31, m = a & 1023;

	if (e == 0)
		return (sign ? -1.0f : 1.0f) * (float)m * 0x1p-24f;
	return __int_as_float((int)(sign | (e == 31 ? 255u : e + 112) << 23 | m << 13));
}

/* Scaled so that float16's last place is 1, rint rounds to even; subnormals have a fixed last place. */
static inline unsigned short gx_f32_to_f16(float a)
{
	unsigned sign = (unsigned)__float_as_int(a) >> 16 & 0x8000;
	int e;
	float x = fabsf(a);

	if (x != x)
		return 0x7fff;
	if (x >= 65520.0f)
		return (unsigned short)(sign | 0x7c00);
	if (x < 0x1p-14f)
		return (unsigned short)(sign | (unsigned)rintf(x * 0x1p24f));
	frexpf(x, &e);
	unsigned m = (unsigned)rintf(ldexpf(x, 11 - e)); /* 1024..2048 */
	return (unsigned short)(sign | (((unsigned)(e + 13) << 10) + m));
}

#endif
