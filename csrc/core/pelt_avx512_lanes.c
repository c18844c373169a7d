/* SPDX-License-Identifier: GPL-2.0-only */
/* Eight lanes of 64 bits: AVX-512F and DQ. */
#if defined(__x86_64__)

#include <immintrin.h>
#include "pelt_lanes_parts.h"

#define WIDTH 8
#define BLOCK 8
#define UNROLLED _Pragma("GCC unroll 8")
#define TARGET __attribute__((target("avx512f,avx512dq")))
#define OPERATION ALWAYS_INLINE TARGET

typedef __m512i vec;
typedef __mmask8 flags;
typedef __m512i flags_row;	/* lane i: the bytes of stream i */

OPERATION vec vec_set(u64 x)
{
	return _mm512_set1_epi64((long long)x);
}

OPERATION vec vec_load(const u64 *from)
{
	return _mm512_loadu_si512(from);
}

OPERATION void vec_store(u64 *to, vec a)
{
	_mm512_storeu_si512(to, a);
}

OPERATION vec vec_add(vec a, vec b)
{
	return _mm512_add_epi64(a, b);
}

OPERATION vec vec_sub(vec a, vec b)
{
	return _mm512_sub_epi64(a, b);
}

OPERATION vec vec_and(vec a, vec b)
{
	return _mm512_and_si512(a, b);
}

OPERATION vec vec_or(vec a, vec b)
{
	return _mm512_or_si512(a, b);
}

OPERATION vec vec_shr(vec a, unsigned int n)
{
	return _mm512_srli_epi64(a, n);
}

OPERATION vec vec_shl(vec a, unsigned int n)
{
	return _mm512_slli_epi64(a, n);
}

OPERATION vec vec_shrv(vec a, vec n)
{
	return _mm512_srlv_epi64(a, n);
}

/* Of the low 32 bits of each. */
OPERATION vec vec_mul(vec a, vec b)
{
	return _mm512_mul_epu32(a, b);
}

OPERATION bool vec_is_zero(vec a)
{
	return _mm512_test_epi64_mask(a, a) == 0;
}

/* Two tables of 32: the factor of so many windows, and what load_avg_max loses by it; none for no window. */
struct table {
	vec factor[2];
	vec lost[2];
	__m512d constant, slope;	/* of a line near the reciprocals of dividers; see divider_of() */
};

struct factor {
	vec halvings;
	vec inverse;
	vec lost;
	flags decays;
};

OPERATION struct table table_of(const u32 *factors, u32 highest)
{
	const double middle = (double)highest - 512;
	struct table t;
	u32 lost[32] = { 0 };

	t.constant = _mm512_set1_pd(2 / middle);
	t.slope = _mm512_set1_pd(1 / (middle * middle));

	for (int i = 1; i < 32; i++)
		lost[i] = highest - (u32)(((u64)highest * factors[i]) >> 32);
	for (int i = 0; i < 2; i++) {
		t.factor[i] = _mm512_loadu_si512(factors + 16 * i);
		t.lost[i] = _mm512_loadu_si512(lost + 16 * i);
	}
	return t;
}

/*
 * A permutation looks at the low five bits of 32. In the upper half of a lane it finds
 * the entry for no window, which is zero in one table and read by nobody in the other.
 */
OPERATION struct factor factor_of(vec passed, vec half_lives, const struct table *table, bool near)
{
	struct factor f;

	f.halvings = vec_shrv(passed, half_lives);
	f.inverse = _mm512_permutex2var_epi32(table->factor[0], passed, table->factor[1]);
	f.lost = near ? _mm512_permutex2var_epi32(table->lost[0], passed, table->lost[1]) : passed;
	f.decays = _mm512_test_epi64_mask(passed, passed);
	return f;
}

OPERATION vec vec_decay(vec sum, struct factor f, bool near)
{
	const vec halved = near ? sum : vec_shrv(sum, f.halvings);

	return _mm512_mask_srli_epi64(sum, f.decays, vec_mul(halved, f.inverse), 32);
}

OPERATION vec vec_lost(vec highest, struct factor f, bool near)
{
	return near ? f.lost : vec_sub(highest, vec_decay(highest, f, false));
}

OPERATION vec vec_add_if(vec sum, flags set, vec added)
{
	return _mm512_mask_add_epi64(sum, set, sum, added);
}

OPERATION vec vec_refreshed(vec average, struct factor f, vec now)
{
	return _mm512_mask_mov_epi64(average, f.decays, now);
}

/*
 * A division takes longer than all else here, and the dividers b of a call lie within 1024 of
 * each other. With m = load_avg_max - 512 their middle and h = 512 / m, the line
 *
 *	r0 = 1/m - (b - m) / m^2	has	1 - b r0 = ((b - m) / m)^2 <= h^2
 *
 * and r + r (1 - b r) squares that error: h^8 after two steps, h^16 after three. load_avg_max is
 * above 11 * 1024 (takes_params), h below 2^-4.3: 2^-69 is less than a double can tell.
 */
typedef __m512d divider;	/* the reciprocal */

OPERATION divider divider_of(vec div, const struct table *table)
{
	const __m512d b = _mm512_cvtepu64_pd(div), one = _mm512_set1_pd(1);
	__m512d r = _mm512_fnmadd_pd(b, table->slope, table->constant);

#pragma GCC unroll 3
	for (int i = 0; i < 3; i++)
		r = _mm512_fmadd_pd(r, _mm512_fnmadd_pd(b, r, one), r);
	return r;
}

/*
 * Exact below 2^38: a/b is a whole number or at least 1/b > 2^-16 away from the next above, and
 * a r, below 2^25, is off by less than 2^-25; 2^-17 more puts it on the right side.
 */
OPERATION vec vec_quotient(vec a, divider by)
{
	return _mm512_cvttpd_epu64(_mm512_fmadd_pd(_mm512_cvtepu64_pd(a), by, _mm512_set1_pd(0x1p-17)));
}

OPERATION vec vec_long_quotient(vec a, divider by)
{
	return vec_quotient(a, by);
}

OPERATION flags flags_both(flags a, flags b)
{
	return a & b;
}

OPERATION flags flags_nonzero(vec a)
{
	return _mm512_test_epi64_mask(a, a);
}

OPERATION flags flags_of(flags_row row, int i)
{
	return _mm512_test_epi64_mask(row, vec_set(0xffull << (8 * i)));
}

OPERATION long long eight_bytes(const u8 *from)
{
	long long x;

	memcpy(&x, from, sizeof(x));
	return x;
}

OPERATION flags_row flags_turn_in(const u8 *const *from)
{
	return _mm512_set_epi64(eight_bytes(from[7]), eight_bytes(from[6]), eight_bytes(from[5]),
				eight_bytes(from[4]), eight_bytes(from[3]), eight_bytes(from[2]),
				eight_bytes(from[1]), eight_bytes(from[0]));
}

/* Four entries of row i in the lower half, four of row i + 4 in the upper. */
OPERATION vec two_halves(const u64 *low, const u64 *high)
{
	const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)low);
	const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)high);

	return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}

/* Turns the 4 x 4 squares in the lower and in the upper halves. */
OPERATION void turn_halves(vec *a)
{
	const vec first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
	const vec last = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
	const vec even01 = _mm512_unpacklo_epi64(a[0], a[1]), odd01 = _mm512_unpackhi_epi64(a[0], a[1]);
	const vec even23 = _mm512_unpacklo_epi64(a[2], a[3]), odd23 = _mm512_unpackhi_epi64(a[2], a[3]);

	a[0] = _mm512_permutex2var_epi64(even01, first, even23);
	a[1] = _mm512_permutex2var_epi64(odd01, first, odd23);
	a[2] = _mm512_permutex2var_epi64(even01, last, even23);
	a[3] = _mm512_permutex2var_epi64(odd01, last, odd23);
}

OPERATION void vec_turn_in(vec *to, const u64 *const *from)
{
	for (int i = 0; i < 4; i++) {
		to[i] = two_halves(from[i], from[i + 4]);
		to[i + 4] = two_halves(from[i] + 4, from[i + 4] + 4);
	}
	turn_halves(to);
	turn_halves(to + 4);
}

OPERATION void vec_turn_out(u64 *const *to, vec *rows)
{
	turn_halves(rows);
	turn_halves(rows + 4);
	for (int i = 0; i < 8; i++) {
		vec *const a = &rows[i];
		const int lane = i % 4, entry = i / 4 * 4;

		_mm256_storeu_si256((__m256i *)(void *)(to[lane] + entry), _mm512_castsi512_si256(*a));
		_mm256_storeu_si256((__m256i *)(void *)(to[lane + 4] + entry),
				    _mm512_extracti64x4_epi64(*a, 1));
	}
}

#include "pelt_lanes_body.h"

DEFINE_PATH(avx512)

#endif
