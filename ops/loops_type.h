/* loops_type.h -- included by loops_isa.c once for each register type: the helpers and rows that take the type as functions, or
 * (with ENTRIES) their places in the table. No include guard, on purpose. */

/* WHEN_X(text) keeps text when the type at hand is of class X. */
#define KEEP(...) __VA_ARGS__
#define DROP(...)
#if defined CLASS_NOW_BOOL
#define WHEN_BOOL KEEP
#define WHEN_SINT DROP
#define WHEN_UINT DROP
#define WHEN_INT DROP
#define WHEN_FLT DROP
#define WHEN_NUM DROP
#define WHEN_INTB KEEP
#define WHEN_UINTB KEEP
#elif defined CLASS_NOW_SINT
#define WHEN_BOOL DROP
#define WHEN_SINT KEEP
#define WHEN_UINT DROP
#define WHEN_INT KEEP
#define WHEN_FLT DROP
#define WHEN_NUM KEEP
#define WHEN_INTB KEEP
#define WHEN_UINTB DROP
#elif defined CLASS_NOW_UINT
#define WHEN_BOOL DROP
#define WHEN_SINT DROP
#define WHEN_UINT KEEP
#define WHEN_INT KEEP
#define WHEN_FLT DROP
#define WHEN_NUM KEEP
#define WHEN_INTB KEEP
#define WHEN_UINTB KEEP
#else
#define WHEN_BOOL DROP
#define WHEN_SINT DROP
#define WHEN_UINT DROP
#define WHEN_INT DROP
#define WHEN_FLT KEEP
#define WHEN_NUM KEEP
#define WHEN_INTB DROP
#define WHEN_UINTB DROP
#endif
#define WHEN_ANY KEEP

#ifdef ENTRIES

#define OP(id, name, arity, cls, result, flags, u32, u64, vec, doc, ...) \
	WHEN_##cls(.op[OP_##id][PASTE(GX_, ID)] = PASTE(loop_##id##_, SUF),)
#include "ops/ops.def"
#undef OP
#define ENTRY_ONE(id) \
	.fold[RED_##id][PASTE(GX_, ID)] = PASTE(PASTE(KIND_FOLD(id), id##_), SUF), \
	.zip[RED_##id][PASTE(GX_, ID)] = PASTE(zip_##id##_, SUF), \
	.identity[RED_##id][PASTE(GX_, ID)] = PASTE(identity_##id##_, SUF), \
	.scan[RED_##id][PASTE(GX_, ID)] = PASTE(scan_##id##_, SUF), \
	.scan_units[RED_##id][PASTE(GX_, ID)] = PASTE(units_##id##_, SUF), \
	.lift[RED_##id][PASTE(GX_, ID)] = PASTE(lift_##id##_, SUF),
#define ENTRY_PAIR(id) \
	.pair_fold[RED_##id][PASTE(GX_, ID)] = PASTE(ranked_##id##_, SUF), \
	.pair_zip[RED_##id][PASTE(GX_, ID)] = PASTE(zip_##id##_, SUF),
#define ENTRY_MOMENTS(id)
#define RED(id, name, cls, state, identity, doc, ...) WHEN_##cls(ENTRY_##state(id))
#include "ops/reductions.def"
#undef RED
#undef ENTRY_ONE
#undef ENTRY_PAIR
#undef ENTRY_MOMENTS

#else

#define HELPER(cls, name, result, params, ...) WHEN_##cls(static inline result PASTE(name##_, SUF) params __VA_ARGS__)
#include "ops/helpers.def"
#undef HELPER

#define RESULT_SAME T
#define RESULT_TEST unsigned char
#define FIRST_0 T
#define FIRST_COMM T
#define FIRST_F64 T
#define FIRST_NOBOOL T
#define FIRST_COND unsigned char
/* clang-format off */
#define TAKE_1 (void)pb; (void)pc;
#define TAKE_2 const T *y = pb; (void)pc;
#define TAKE_3 const T *y = pb; const T *z = pc;
#define EACH_1
#define EACH_2 const T b = y[i];
#define EACH_3 const T b = y[i]; const T c = z[i];

#define PLAIN_LOOP(id, arity, result, flags, ...) \
	static void PASTE(loop_##id##_, SUF)(void *dst, const void *pa, const void *pb, const void *pc, size_t n) \
	{ \
		RESULT_##result *d = dst; \
		const FIRST_##flags *x = pa; \
		TAKE_##arity \
		_Pragma("GCC ivdep") for (size_t i = 0; i < PADDED(n); i++) { \
			const FIRST_##flags a = x[i]; \
			EACH_##arity \
			(void)a; \
			d[i] = (RESULT_##result)(__VA_ARGS__); \
		} \
	}

#define ARGS_1 x[i]
#define ARGS_2 x[i], y[i]
#define VEC_1(V) (void)py;
#define VEC_2(V) const V *y = (const V *)py;
#define KEEP_1 T *ky = NULL; (void)pb;
#define KEEP_2 T copy2[LOOP_PAD] __attribute__((aligned(64))); const T *ky = dst == pb ? memcpy(copy2, d, sizeof copy2) : (const T *)pb + i;
/* SLEEF is within its bound up to some argument (asinh: the root of the largest number) and infinite beyond it; where a finite element
 * gave an infinity, the C library decides. */
#define FINITE_1 (fabs(x[i]) <= HI)
#define FINITE_2 (fabs(x[i]) <= HI && fabs(y[i]) <= HI)
#define REPAIR(id, arity, ...) \
	static void PASTE(repair_##id##_, SUF)(T *d, const T *x, const T *pb, size_t n) \
	{ \
		int infinite = 0; \
		const void *pc = NULL; \
		TAKE_##arity \
		for (size_t i = 0; i < LOOP_PAD; i++) \
			infinite |= fabs(d[i]) > HI; \
		for (size_t i = 0; infinite && i < n; i++) { \
			const T a = x[i]; \
			EACH_##arity \
			if (fabs(d[i]) > HI && FINITE_##arity) \
				d[i] = (T)(__VA_ARGS__); \
		} \
	}
/* LOOP_PAD values at a time, from a copy of the operand that dst may be: repairs need it still. */
#define WHOLE(id) PASTE(chunk_##id##_, SUF)(d, kx, ky);
#define BY_RANGE(id) PASTE(by_range_, SUF)(PASTE(near_, SUF)(OP_##id, PASTE(chunk_##id##_, SUF)), PASTE(chunk_##id##_, SUF), d, kx);
#define SLEEF_LOOP_(id, arity, run, V, F) \
	static void PASTE(chunk_##id##_, SUF)(T *dst, const T *px, const T *py) \
	{ \
		V *d = (V *)dst; \
		const V *x = (const V *)px; \
		VEC_##arity(V) \
		for (size_t i = 0; i < LOOP_PAD * sizeof(T) / sizeof(V); i++) \
			d[i] = F(ARGS_##arity); \
	} \
	static void PASTE(loop_##id##_, SUF)(void *dst, const void *pa, const void *pb, const void *pc, size_t n) \
	{ \
		(void)pc; \
		for (size_t i = 0; i < n; i += LOOP_PAD) { \
			T *d = (T *)dst + i, copy[LOOP_PAD] __attribute__((aligned(64))); \
			const T *kx = dst == pa ? memcpy(copy, d, sizeof copy) : (const T *)pa + i; \
			KEEP_##arity \
			run(id) \
			PASTE(repair_##id##_, SUF)(d, kx, ky, n - i < LOOP_PAD ? n - i : LOOP_PAD); \
		} \
	}
/* clang-format on */
#if defined CLASS_NOW_FLT && defined HAVE_SLEEF
#define VEC_TYPE_f32 VF32
#define VEC_TYPE_f64 VF64
/* SLEEF's sin, cos and tan choose how to reduce a whole vector of arguments by the largest of them, so a value's last bit would hang on
 * its neighbours. Each of SLEEF's ranges (TRIGRANGEMAX2f; TRIGRANGEMAX2, TRIGRANGEMAX) is computed by itself where they meet. */
static inline __attribute__((always_inline)) void PASTE(by_range_, SUF)(PASTE(chunk_, SUF) near, PASTE(chunk_, SUF) far, T *d, const T *x)
{
	static const T inside[3] = {0, (T)1e10, (T)1e30};
	T first = sizeof(T) == 8 ? (T)15 : near == far ? (T)125 : (T)0x1p20, second = sizeof(T) == 8 ? (T)1e14 : first;
	T only[LOOP_PAD] __attribute__((aligned(64))), value[LOOP_PAD] __attribute__((aligned(64)));
	int outside = 0, range[LOOP_PAD], some[3] = {0, 0, 0};

	for (int i = 0; i < LOOP_PAD; i++)
		outside |= !(fabs(x[i]) < first);
	if (!outside) {
		near(d, x, NULL);
		return;
	}
	for (int i = 0; i < LOOP_PAD; i++) {
		range[i] = !(fabs(x[i]) < first) + !(fabs(x[i]) < second);   /* NaN: 2 */
		some[range[i]] = 1;
	}
	for (int k = 0; k < 3; k++) {
		if (!some[k])
			continue;
		for (int i = 0; i < LOOP_PAD; i++)
			only[i] = range[i] == k ? x[i] : inside[k];
		(k ? far : near)(value, only, NULL);
		for (int i = 0; i < LOOP_PAD; i++)
			d[i] = range[i] == k ? value[i] : d[i];
	}
}
#define LOOP_SLEEF(id, arity, result, flags, vec, ...) \
	REPAIR(id, arity, __VA_ARGS__) SLEEF_LOOP_(id, arity, WHOLE, PASTE(VEC_TYPE_, SUF), PASTE(SLEEF_, SUF)(F_##vec, U_##vec))
#define LOOP_RANGED(id, arity, result, flags, vec, ...) \
	REPAIR(id, arity, __VA_ARGS__) SLEEF_LOOP_(id, arity, BY_RANGE, PASTE(VEC_TYPE_, SUF), PASTE(SLEEF_, SUF)(F_##vec, U_##vec))
#else
#define LOOP_SLEEF(id, arity, result, flags, vec, ...) PLAIN_LOOP(id, arity, result, flags, __VA_ARGS__)
#define LOOP_RANGED LOOP_SLEEF
#endif
#define LOOP_PLAIN(id, arity, result, flags, vec, ...) PLAIN_LOOP(id, arity, result, flags, __VA_ARGS__)

#define OP(id, name, arity, cls, result, flags, u32, u64, vec, doc, ...) \
	WHEN_##cls(PASTE(LOOP_, KIND_##vec)(id, arity, result, flags, vec, __VA_ARGS__))
#include "ops/ops.def"
#undef OP

/* Reductions: n values into one accumulator, through 16 lanes that are put together in a tree; and value by value into n accumulators. */
#define RED_ONE(id, first, ...) \
	static inline T PASTE(combine_##id##_, SUF)(T a, T b) \
	{ \
		return (T)(__VA_ARGS__); \
	} \
	static void PASTE(identity_##id##_, SUF)(void *acc, size_t n) \
	{ \
		T *p = acc; \
		for (size_t i = 0; i < n; i++) \
			p[i] = (T)(first); \
	} \
	static void PASTE(plain_##id##_, SUF)(void *acc, const void *values, size_t n) \
	{ \
		const T *v = values; \
		T lane[16]; \
		size_t i = 0; \
		for (int j = 0; j < 16; j++) \
			lane[j] = (T)(first); \
		for (; i + 16 <= n; i += 16) \
			for (int j = 0; j < 16; j++) \
				lane[j] = PASTE(combine_##id##_, SUF)(lane[j], v[i + (size_t)j]); \
		for (size_t j = 0; i + j < n; j++) \
			lane[j] = PASTE(combine_##id##_, SUF)(lane[j], v[i + j]); \
		for (int h = 8; h > 0; h /= 2) \
			for (int j = 0; j < h; j++) \
				lane[j] = PASTE(combine_##id##_, SUF)(lane[j], lane[j + h]); \
		*(T *)acc = PASTE(combine_##id##_, SUF)(*(T *)acc, lane[0]); \
	} \
	static void PASTE(zip_##id##_, SUF)(void *acc, const void *values, size_t n) \
	{ \
		T *s = acc; \
		const T *v = values; \
		_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) \
			s[i] = PASTE(combine_##id##_, SUF)(s[i], v[i]); \
	} \
	SCANS(PASTE(id##_, SUF), T, T, PASTE(combine_##id##_, SUF)) \
	static void PASTE(lift_##id##_, SUF)(void *dst, const void *values, size_t n, void *acc) \
	{ \
		T *d = dst, a = *(T *)acc; \
		(void)values; \
		_Pragma("GCC ivdep") for (size_t i = 0; i < n; i++) \
			d[i] = PASTE(combine_##id##_, SUF)(a, d[i]); \
	}
/* plain_ is element by element. ranked_ first finds the extreme of the block, in vectors, and looks for its place when it counts; blocks
 * with a NaN go the plain way. The last vectors overlap those before them: no element counts twice. A position of -1 is an accumulator
 * that nothing went into. */
#define ORDER_ARGMIN(a, b) (a) < (b)
#define ORDER_ARGMIN_I(a, b) (a) < (b)
#define ORDER_ARGMAX(a, b) (a) > (b)
#define ORDER_ARGMAX_I(a, b) (a) > (b)
#define RED_PAIR(id, first, ...) \
	static inline int PASTE(better_##id##_, SUF)(T a, long long i, T b, long long j) \
	{ \
		return j >= 0 && (i < 0 || (__VA_ARGS__)); \
	} \
	static void PASTE(plain_##id##_, SUF)(void *acc, long long *at, const void *values, const long long *pos, size_t n) \
	{ \
		const T *v = values; \
		T best = *(T *)acc; \
		long long where = *at; \
		for (size_t k = 0; k < n; k++) \
			if (PASTE(better_##id##_, SUF)(best, where, v[k], pos[k])) { \
				best = v[k]; \
				where = pos[k]; \
			} \
		*(T *)acc = best; \
		*at = where; \
	} \
	static void PASTE(ranked_##id##_, SUF)(void *acc, long long *at, const void *values, const long long *pos, size_t n) \
	{ \
		const T *v = values; \
		T lane[64]; \
		long long where = INT64_MAX; \
		if (n < 64) { \
			PASTE(plain_##id##_, SUF)(acc, at, values, pos, n); \
			return; \
		} \
		memcpy(lane, v, sizeof lane); \
		for (size_t k = 0; k < n; k += 64) { \
			const T *x = v + (k + 64 <= n ? k : n - 64); \
			for (int j = 0; j < 64; j++) \
				lane[j] = ((ORDER_##id(x[j], lane[j])) | (x[j] != x[j])) ? x[j] : lane[j]; \
		} \
		for (int h = 32; h > 0; h /= 2) \
			for (int j = 0; j < h; j++) \
				lane[j] = ((ORDER_##id(lane[j + h], lane[j])) | (lane[j + h] != lane[j + h])) ? lane[j + h] : lane[j]; \
		if (lane[0] != lane[0]) { \
			PASTE(plain_##id##_, SUF)(acc, at, values, pos, n); \
			return; \
		} \
		if (*at >= 0 && !(ORDER_##id(lane[0], *(T *)acc)) && !(lane[0] == *(T *)acc)) \
			return; \
		for (size_t k = 0; k < n; k += 64) { \
			size_t from = k + 64 <= n ? k : n - 64; \
			T here = 0, best = lane[0]; \
			for (int j = 0; j < 64; j++) \
				here = v[from + (size_t)j] == best ? 1 : here; \
			for (size_t j = from; here && j < from + 64; j++) \
				where = v[j] == lane[0] && pos[j] < where ? pos[j] : where; \
		} \
		PASTE(plain_##id##_, SUF)(acc, at, lane, &where, 1); \
	} \
	static void PASTE(zip_##id##_, SUF)(void *acc, long long *at, const void *values, const long long *pos, size_t n) \
	{ \
		T *s = acc; \
		const T *v = values; \
		for (size_t k = 0; k < n; k++) { \
			int take = PASTE(better_##id##_, SUF)(s[k], at[k], v[k], pos[k]); \
			s[k] = take ? v[k] : s[k]; \
			at[k] = take ? pos[k] : at[k]; \
		} \
	}
#define RED_MOMENTS(id, first, ...)
#define RED(id, name, cls, state, identity, doc, ...) WHEN_##cls(RED_##state(id, identity, __VA_ARGS__))
#include "ops/reductions.def"
#undef RED
#ifdef CLASS_NOW_FLT
/* Extremes of floats: as integers that are ordered as the floats are (-0 below +0) when there is no NaN. */
#define RANKED(id, order) \
	static void PASTE(ranked_##id##_, SUF)(void *acc, const void *values, size_t n) \
	{ \
		const T *v = values; \
		RANK lane[64]; \
		int nan = 0; \
		size_t end = n / 64 * 64; \
		T r; \
		for (int j = 0; j < 64 && end; j++) \
			lane[j] = PASTE(rank_, SUF)(v[j]); \
		for (size_t i = 0; i < end; i += 64) \
			for (int j = 0; j < 64; j++) { \
				RANK k = PASTE(rank_, SUF)(v[i + (size_t)j]); \
				nan |= v[i + (size_t)j] != v[i + (size_t)j]; \
				lane[j] = k order lane[j] ? k : lane[j]; \
			} \
		if (nan || !end) { \
			PASTE(plain_##id##_, SUF)(acc, values, n); \
			return; \
		} \
		for (int h = 32; h > 0; h /= 2) \
			for (int j = 0; j < h; j++) \
				lane[j] = lane[j + h] order lane[j] ? lane[j + h] : lane[j]; \
		r = PASTE(unrank_, SUF)(lane[0]); \
		PASTE(plain_##id##_, SUF)(&r, v + end, n - end); \
		*(T *)acc = PASTE(combine_##id##_, SUF)(*(T *)acc, r); \
	}
#define RANK PASTE(rank_type_, SUF)
RANKED(MIN, <)
RANKED(MAX, >)
#undef RANKED
#undef RANK
#endif
#undef ORDER_ARGMIN
#undef ORDER_ARGMIN_I
#undef ORDER_ARGMAX
#undef ORDER_ARGMAX_I
#undef RED_ONE
#undef RED_PAIR
#undef RED_MOMENTS

#undef RESULT_SAME
#undef RESULT_TEST
#undef FIRST_0
#undef FIRST_COMM
#undef FIRST_F64
#undef FIRST_NOBOOL
#undef FIRST_COND
#undef TAKE_1
#undef TAKE_2
#undef TAKE_3
#undef EACH_1
#undef EACH_2
#undef EACH_3
#undef PLAIN_LOOP
#undef ARGS_1
#undef ARGS_2
#undef VEC_1
#undef VEC_2
#undef FINITE_1
#undef FINITE_2
#undef REPAIR
#undef SLEEF_LOOP_
#undef KEEP_1
#undef KEEP_2
#undef WHOLE
#undef BY_RANGE
#undef VEC_TYPE_f32
#undef VEC_TYPE_f64
#undef LOOP_SLEEF
#undef LOOP_RANGED
#undef LOOP_PLAIN
#undef T
#undef W
#undef LO
#undef HI
#undef BITS
#endif

#undef KEEP
#undef DROP
#undef WHEN_BOOL
#undef WHEN_SINT
#undef WHEN_UINT
#undef WHEN_INT
#undef WHEN_FLT
#undef WHEN_NUM
#undef WHEN_INTB
#undef WHEN_UINTB
#undef WHEN_ANY
#undef SUF
#undef ID
#undef CLASS_NOW_BOOL
#undef CLASS_NOW_SINT
#undef CLASS_NOW_UINT
#undef CLASS_NOW_FLT
#undef ENTRIES
