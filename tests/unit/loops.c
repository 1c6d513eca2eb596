/* loops.c -- every loop of every instruction set that this processor has gives the bits of the plainest one: operations with a bound
 * of 0 ulp, conversions, pairs and reductions exactly, the other functions within twice their bound. Of each set, the plainest too: the
 * same bits where the result overwrites an operand, and whatever neighbours a value has in its block. */
#include <math.h>
#include <stdint.h>

#include "ops/loops_table.h"
#include "tests/unit/unit.h"

enum { N = 1000, ROOM = 1024 };
_Static_assert(ROOM % LOOP_PAD == 0, "loops run to the next multiple of LOOP_PAD");

union block { double align; unsigned char b[ROOM * 8]; };

static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void)   /* Marsaglia's xorshift64 */
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* ---- values ---- */

static void put(void *p, gx_dtype t, int64_t i, uint64_t bits, double real)
{
	switch (t) {
	case GX_FLOAT64: ((double *)p)[i] = real; break;
	case GX_FLOAT32: ((float *)p)[i] = (float)real; break;
	case GX_BOOL: ((unsigned char *)p)[i] = bits & 1; break;
	default: memcpy((char *)p + i * type_table[t].bytes, &bits, type_table[t].bytes);
	}
}

/* Edge values (of two operands with steps 0 and 1: every pair), then random ones: floats of all magnitudes, integers of all widths. */
static void fill(union block *x, gx_dtype t, int step)
{
	static const double edge[] = {0.0, -0.0, 1, -1, 0.5, -2.5, 1e-310, 1e-42, 3e38, 1e300, INFINITY, -INFINITY, NAN, 100, -700, 2147483648.0};
	static const uint64_t whole[] = {0, 1, 2, 7, 127, 128, 255, 32767, 32768, 65535, 0x7fffffff, 0x80000000, UINT64_MAX, INT64_MAX,
	                                 (uint64_t)INT64_MAX + 1, UINT64_MAX - 1};

	for (int i = 0; i < ROOM; i++) {
		uint64_t r = random_bits();
		int e = step ? i / 16 % 16 : i % 16;
		double d = ldexp((double)(int64_t)r, (int)(random_bits() % 140) - 130);

		put(x, t, i, i < 256 ? whole[e] : r >> random_bits() % 64, i < 256 ? edge[e] : i % 4 ? ldexp((double)(int64_t)r, -61) : d);
	}
}

/* Finite numbers of either sign, whose sums are rounded and depend on their order. */
static void fill_finite(union block *x, gx_dtype t)
{
	for (int i = 0; i < ROOM; i++) {
		uint64_t r = random_bits();

		put(x, t, i, r, ldexp((double)(int64_t)r, -63 + i % 12));
	}
}

/* Distance in units of the last place; 0 for two NaNs. */
static double apart(const void *a, const void *b, gx_dtype t, int i)
{
	double x, y, one;
	int e;

	if (t != GX_FLOAT32 && t != GX_FLOAT64)
		return memcmp((const char *)a + i * type_table[t].bytes, (const char *)b + i * type_table[t].bytes, type_table[t].bytes) ? INFINITY : 0;
	x = t == GX_FLOAT64 ? ((const double *)a)[i] : (double)((const float *)a)[i];
	y = t == GX_FLOAT64 ? ((const double *)b)[i] : (double)((const float *)b)[i];
	if (isnan(x) || isnan(y))
		return isnan(x) && isnan(y) ? 0 : INFINITY;
	if (x == y)
		return signbit(x) == signbit(y) ? 0 : 0.5;
	if (isinf(x) || isinf(y)) {   /* the next number below infinity, or further */
		x = isinf(x) ? copysign(t == GX_FLOAT64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127, x) : x;
		y = isinf(y) ? copysign(t == GX_FLOAT64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127, y) : y;
		return 1 + fabs(x / 4 - y / 4) / (t == GX_FLOAT64 ? 0x1p969 : 0x1p102);
	}
	frexp(fmax(fabs(x), fabs(y)), &e);
	one = t == GX_FLOAT64 ? ldexp(1, e < -1021 ? -1074 : e - 53) : ldexp(1, e < -125 ? -149 : e - 24);
	return fabs(x - y) / one;
}

static void compare(const struct loop_table *s, const char *what, const union block *got, const union block *want, gx_dtype t, gx_dtype of, int n, double bound)
{
	double worst = 0;
	int at = 0;

	for (int i = 0; i < n; i++)
		if (apart(got, want, t, i) > worst)
			worst = apart(got, want, t, at = i);
	check(worst <= bound, "%s of %s with %s: element %d is %g ulp from the plain loop's (allowed: %g)", what, type_table[of].name, s->name, at, worst, bound);
}

/* ---- loops ---- */

static const struct loop_table *plain;
static union block a, b, c, got, want;

/* The values of got, computed from a and b, again in a block of copies of one value. */
static void alone(const struct loop_table *s, int op, gx_dtype t)
{
	static union block x, y, z;
	size_t bytes = type_table[t].bytes;

	for (size_t i = 0; i < N; i++) {
		for (size_t j = 0; j < LOOP_PAD; j++) {
			memcpy(x.b + j * bytes, a.b + i * bytes, bytes);
			memcpy(y.b + j * bytes, b.b + i * bytes, bytes);
		}
		s->op[op][t](&z, &x, &y, NULL, LOOP_PAD);
		memcpy(want.b + i * bytes, z.b, bytes);
	}
	compare(s, op_table[op].name, &want, &got, t, t, N, 0);
}

static void operations(const struct loop_table *s)
{
	for (int op = 1; op < NOPS; op++)
		for (gx_dtype t = 0; (int)t < NTYPES; t++) {
			gx_dtype result = op_table[op].result == TEST ? GX_BOOL : t;
			double bound = 2.0 * (t == GX_FLOAT64 ? op_table[op].ulp64 : t == GX_FLOAT32 ? op_table[op].ulp32 : 0);

			if (!check(!s->op[op][t] == !plain->op[op][t], "%s has a loop for %s in one set alone", op_table[op].name, type_table[t].name) || !s->op[op][t])
				continue;
			fill(&a, op_table[op].flags & COND ? GX_BOOL : t, 0);
			fill(&b, t, 1);
			fill(&c, t, 0);
			s->op[op][t](&got, &a, &b, &c, N);
			plain->op[op][t](&want, &a, &b, &c, N);
			compare(s, op_table[op].name, &got, &want, result, t, N, bound);
			if (result != t || op_table[op].flags & COND)
				continue;
			memcpy(&want, &a, sizeof a);
			s->op[op][t](&want, &want, &b, &c, N);
			compare(s, op_table[op].name, &want, &got, t, t, N, 0);
			memcpy(&want, &b, sizeof b);
			if (op_table[op].arity > 1) {
				s->op[op][t](&want, &a, &want, &c, N);
				compare(s, op_table[op].name, &want, &got, t, t, N, 0);
			}
			if (bound > 0)
				alone(s, op, t);
		}
}

static void pairs(const struct loop_table *s)
{
	for (int i = 0; i < 3 * 3 * 2 * NTYPES; i++) {
		gx_dtype t = i % NTYPES;
		int first = i / NTYPES % 3, second = i / NTYPES / 3 % 3, swapped = i / NTYPES / 9;
		loop_fn f = s->pair[first][second][swapped][t], p = plain->pair[first][second][swapped][t];

		if (!check(!f == !p, "a pair for %s is in one set alone", type_table[t].name) || !f)
			continue;
		fill(&a, t, 0);
		fill(&b, t, 1);
		fill(&c, t, 0);
		f(&got, &a, &b, &c, N);
		p(&want, &a, &b, &c, N);
		compare(s, "a pair", &got, &want, t, t, N, 0);
	}
}

static void casts(const struct loop_table *s)
{
	for (gx_dtype to = 0; (int)to < NTYPES; to++)
		for (gx_dtype from = 0; (int)from < NTYPES; from++) {
			if (!check(!s->cast[to][from] == !plain->cast[to][from], "a conversion is in one set alone") || !s->cast[to][from])
				continue;
			fill(&a, from, 0);
			s->cast[to][from](&got, &a, NULL, NULL, N);
			plain->cast[to][from](&want, &a, NULL, NULL, N);
			compare(s, type_table[to].name, &got, &want, to, from, N, 0);
		}
}

static void fold(const struct loop_table *s, int red, gx_dtype t, int n)
{
	s->identity[red][t](&got, 1);
	plain->identity[red][t](&want, 1);
	s->fold[red][t](&got, &a, (size_t)n);
	plain->fold[red][t](&want, &a, (size_t)n);
	compare(s, red_table[red].name, &got, &want, t, t, 1, 0);
	fill(&got, t, 1);
	memcpy(&want, &got, sizeof got);
	s->zip[red][t](&got, &a, (size_t)n);
	plain->zip[red][t](&want, &a, (size_t)n);
	compare(s, red_table[red].name, &got, &want, t, t, ROOM, 0);
}

/* Running folds: on from an accumulator, whole units, and a fold into each. */
static void scans(const struct loop_table *s, int red, gx_dtype t, int n)
{
	union block acc, want_acc;
	int units = n / SCAN_UNIT * SCAN_UNIT;

	s->identity[red][t](&acc, 1);
	s->identity[red][t](&want_acc, 1);
	s->scan[red][t](&got, &a, (size_t)n, &acc);
	plain->scan[red][t](&want, &a, (size_t)n, &want_acc);
	compare(s, red_table[red].name, &got, &want, t, t, n, 0);
	compare(s, red_table[red].name, &acc, &want_acc, t, t, 1, 0);
	s->scan_units[red][t](&got, &a, (size_t)units, NULL);
	plain->scan_units[red][t](&want, &a, (size_t)units, NULL);
	compare(s, red_table[red].name, &got, &want, t, t, n, 0);
	s->lift[red][t](&got, NULL, (size_t)n, &acc);
	plain->lift[red][t](&want, NULL, (size_t)n, &acc);
	compare(s, red_table[red].name, &got, &want, t, t, n, 0);
	for (int from = 0; from < units; from += SCAN_UNIT) {   /* a unit is what the plain way gives from its first value on */
		size_t size = type_table[t].bytes;
		char *first = (char *)a.b + (size_t)from * size;

		memcpy(acc.b, first, size);
		memcpy(want.b + (size_t)from * size, first, size);
		s->scan[red][t](want.b + ((size_t)from + 1) * size, first + size, SCAN_UNIT - 1, &acc);
	}
	s->scan_units[red][t](&got, &a, (size_t)units, NULL);
	compare(s, red_table[red].name, &got, &want, t, t, units, 0);
}

static void pair_fold(const struct loop_table *s, int red, gx_dtype t, int n)
{
	static long long at[ROOM], want_at[ROOM], positions[ROOM];

	for (int i = 0; i < ROOM; i++)
		positions[i] = i;
	at[0] = want_at[0] = -1;
	s->pair_fold[red][t](&got, at, &a, positions, (size_t)n);
	plain->pair_fold[red][t](&want, want_at, &a, positions, (size_t)n);
	compare(s, red_table[red].name, &got, &want, t, t, 1, 0);
	check(at[0] == want_at[0], "%s of %d %s with %s: at %lld, plain at %lld", red_table[red].name, n, type_table[t].name, s->name, at[0], want_at[0]);
	fill(&got, t, 1);
	memcpy(&want, &got, sizeof got);
	for (int i = 0; i < ROOM; i++)
		at[i] = want_at[i] = (i * 7 + 3) % ROOM;
	s->pair_zip[red][t](&got, at, &a, positions, (size_t)n);
	plain->pair_zip[red][t](&want, want_at, &a, positions, (size_t)n);
	compare(s, red_table[red].name, &got, &want, t, t, ROOM, 0);
	check(!memcmp(at, want_at, sizeof at), "%s of %d pairs of %s with %s: other positions", red_table[red].name, n, type_table[t].name, s->name);
}

/* The first largest and the first smallest of few values, zeros of both signs, with a NaN here and there, in every length around vectors,
 * positions going up or down: from the definition. */
static void firsts(const struct loop_table *s)
{
	static const int red[2] = {RED_ARGMAX, RED_ARGMIN}, whole_red[2] = {RED_ARGMAX_I, RED_ARGMIN_I};

	for (int n = 1; n <= 300; n++)
		for (int k = 0; k < 4; k++) {
			float x[300], best = 0;
			double y[300], best64 = 0;
			int32_t z[300], best32 = 0;
			long long positions[300], at = -1, at64 = -1, at32 = -1;
			int sign = k % 2 ? -1 : 1, first = 0, whole = 0, down = k / 2;

			for (int i = 0; i < n; i++) {
				z[i] = sign * ((int)(random_bits() % 5) - 4);
				x[i] = (float)z[i];
				x[i] = z[i] == 0 && random_bits() % 2 ? -0.0f : n % 3 == 0 && random_bits() % 100 == 0 ? NAN : x[i];
				y[i] = x[i];
				positions[i] = down ? 1000 - i : 7 + i;
			}
			for (int j = 1; j < n; j++) {   /* in order of position */
				int i = down ? n - 1 - j : j, f = down && j == 1 ? n - 1 : first, w = down && j == 1 ? n - 1 : whole;

				first = isnan(x[f]) || !((float)sign * x[i] > (float)sign * x[f] || isnan(x[i])) ? f : i;
				whole = sign * z[i] > sign * z[w] ? i : w;
			}
			s->pair_fold[red[k % 2]][GX_FLOAT32](&best, &at, x, positions, (size_t)n);
			s->pair_fold[red[k % 2]][GX_FLOAT64](&best64, &at64, y, positions, (size_t)n);
			s->pair_fold[whole_red[k % 2]][GX_INT32](&best32, &at32, z, positions, (size_t)n);
			check(at == positions[first] && at64 == at && at32 == positions[whole], "%s of %d with %s: at %lld, %lld and %lld, not %lld and %lld",
				red_table[red[k % 2]].name, n, s->name, at, at64, at32, positions[first], positions[whole]);
		}
}

/* Sums of float32 in float64, and moments. */
static void sums(const struct loop_table *s, int n)
{
	double mean[2] = {0, 0}, m2[2] = {0, 0};
	static union block means[2], squares[2];

	fill_finite(&a, GX_FLOAT32);
	memset(&got, 0, sizeof got);
	memset(&want, 0, sizeof want);
	s->fold_sum_f32(&got, &a, (size_t)n);
	plain->fold_sum_f32(&want, &a, (size_t)n);
	compare(s, "a sum in float64", &got, &want, GX_FLOAT64, GX_FLOAT32, 1, 0);
	s->zip_sum_f32(&got, &a, (size_t)n);
	plain->zip_sum_f32(&want, &a, (size_t)n);
	compare(s, "sums in float64", &got, &want, GX_FLOAT64, GX_FLOAT32, n, 0);
	s->scan_sum_f32(&got, &a, (size_t)n, &mean[0]);
	plain->scan_sum_f32(&want, &a, (size_t)n, &mean[1]);
	compare(s, "running sums in float64", &got, &want, GX_FLOAT64, GX_FLOAT32, n, 0);
	s->scan_units_sum_f32(&got, &a, (size_t)(n / SCAN_UNIT * SCAN_UNIT), NULL);
	plain->scan_units_sum_f32(&want, &a, (size_t)(n / SCAN_UNIT * SCAN_UNIT), NULL);
	compare(s, "running sums of units in float64", &got, &want, GX_FLOAT64, GX_FLOAT32, n, 0);
	fill_finite(&a, GX_FLOAT64);
	s->moments((const double *)&a, (size_t)n, &mean[0], &m2[0]);
	plain->moments((const double *)&a, (size_t)n, &mean[1], &m2[1]);
	check(mean[0] == mean[1] && m2[0] == m2[1], "moments of %d with %s: %.17g %.17g, plain %.17g %.17g", n, s->name, mean[0], m2[0], mean[1], m2[1]);
	for (int i = 0; i < 2; i++) {
		memcpy(&means[i], &got, sizeof got);
		memset(&squares[i], 0, sizeof squares[i]);
		(i ? plain : s)->moments_zip(n, (double *)&means[i], (double *)&squares[i], (const double *)&a, (size_t)n);
	}
	compare(s, "means", &means[0], &means[1], GX_FLOAT64, GX_FLOAT64, n, 0);
	compare(s, "squared deviations", &squares[0], &squares[1], GX_FLOAT64, GX_FLOAT64, n, 0);
}

static void folds(const struct loop_table *s)
{
	for (int n = 1; n <= N; n = n < 40 ? n + 1 : n * 3) {
		sums(s, n);
		for (int i = 0; i < NREDS * NTYPES * 2; i++) {
			gx_dtype t = i / 2 % NTYPES;
			int red = i / 2 / NTYPES;

			if (!check(!s->fold[red][t] == !plain->fold[red][t] && !s->pair_fold[red][t] == !plain->pair_fold[red][t],
			           "a reduction is in one set alone") || !(s->fold[red][t] || s->pair_fold[red][t]))
				continue;
			i % 2 ? fill_finite(&a, t) : fill(&a, t, 0);
			(s->fold[red][t] ? fold : pair_fold)(s, red, t, n);
			if (s->fold[red][t])
				scans(s, red, t, n);
		}
	}
}

/* float32 sine and cosine of every 911th number below 2^20 against the C library's float64: half a unit for the last rounding. */
static void sines(const struct loop_table *s)
{
	double worst = 0;

	for (uint32_t bits = 0; bits < 0x49800000u; bits += 911 * LOOP_PAD) {
		float x[LOOP_PAD], sine[LOOP_PAD], cosine[LOOP_PAD];

		for (uint32_t i = 0; i < LOOP_PAD; i++) {
			uint32_t at = bits + 911 * i;
			memcpy(&x[i], &at, sizeof at);
		}
		s->op[OP_SIN][GX_FLOAT32](sine, x, NULL, NULL, LOOP_PAD);
		s->op[OP_COS][GX_FLOAT32](cosine, x, NULL, NULL, LOOP_PAD);
		for (int i = 0; i < LOOP_PAD; i++)
			for (int k = 0; k < 2; k++) {
				double exact = k ? cos(x[i]) : sin(x[i]);
				int e;

				frexp(exact, &e);
				worst = fmax(worst, fabs((k ? cosine : sine)[i] - exact) / ldexp(1, e < -125 ? -149 : e - 24));
			}
	}
	check(worst < (s == plain ? 1 : 0.504), "float32 sine and cosine with %s: %g ulp from float64's", s->name, worst);
}

int main(void)
{
	const struct loop_table *set[LOOP_SETS];
	int n = loops_here(set);

	plain = set[0];
	for (int i = 0; i < n; i++) {
		operations(set[i]);
		pairs(set[i]);
		casts(set[i]);
		folds(set[i]);
		firsts(set[i]);
		sines(set[i]);
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
