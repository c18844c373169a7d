/* SPDX-License-Identifier: GPL-2.0-only */
/* Four lanes of 64 bits: AVX2. */
#if defined(__x86_64__)

#include <immintrin.h>
#include "pelt_lanes_parts.h"

#define WIDTH 4
#define BLOCK 4
#define UNROLLED _Pragma("GCC unroll 4")
#define TARGET __attribute__((target("avx2")))
#define OPERATION ALWAYS_INLINE TARGET

typedef __m256i vec;
/* Conditions are kept the other way round, all ones where they do not hold: that is what comparing gives. */
typedef __m256i flags;
typedef __m256i flags_row;

OPERATION vec vec_set(u64 x)
{
	return _mm256_set1_epi64x((long long)x);
}

OPERATION vec vec_load(const u64 *from)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

OPERATION void vec_store(u64 *to, vec a)
{
	_mm256_storeu_si256((__m256i *)(void *)to, a);
}

OPERATION vec vec_add(vec a, vec b)
{
	return _mm256_add_epi64(a, b);
}

OPERATION vec vec_sub(vec a, vec b)
{
	return _mm256_sub_epi64(a, b);
}

OPERATION vec vec_and(vec a, vec b)
{
	return _mm256_and_si256(a, b);
}

OPERATION vec vec_or(vec a, vec b)
{
	return _mm256_or_si256(a, b);
}

OPERATION vec vec_shr(vec a, int n)
{
	return _mm256_srli_epi64(a, n);
}

OPERATION vec vec_shl(vec a, int n)
{
	return _mm256_slli_epi64(a, n);
}

OPERATION vec vec_shrv(vec a, vec n)
{
	return _mm256_srlv_epi64(a, n);
}

/* Of the low 32 bits of each. */
OPERATION vec vec_mul(vec a, vec b)
{
	return _mm256_mul_epu32(a, b);
}

OPERATION bool vec_is_zero(vec a)
{
	return _mm256_testz_si256(a, a);
}

/*
 * Of so many windows: 2^32 less the factor (zero is then a factor of one, which 32 bits cannot
 * hold otherwise) in the lower half, and what load_avg_max loses by the factor in the upper.
 */
struct table {
	u64 near[32];
};

struct factor {
	vec halvings;
	vec complement;
	flags decays;
};

OPERATION struct table table_of(const u32 *factors, u32 highest)
{
	struct table t;

	for (int i = 0; i < 32; i++) {
		const u32 lost = highest - (u32)(((u64)highest * factors[i]) >> 32);

		t.near[i] = i ? (u64)lost << 32 | (0 - factors[i]) : 0;
	}
	return t;
}

OPERATION struct factor factor_of(vec passed, vec half_lives, const struct table *table, bool near)
{
	const long long *entries = (const long long *)(const void *)table->near;
	const vec entry = near ? passed : _mm256_and_si256(passed, vec_set(31));
	struct factor f;

	f.halvings = vec_shrv(passed, half_lives);
	f.decays = _mm256_cmpeq_epi64(passed, vec_set(0));
	f.complement = _mm256_i64gather_epi64(entries, entry, 8);
	/* A whole number of half-lives has the entry of no window, and a complement of 1. */
	if (!near)
		f.complement = vec_sub(f.complement,
				       _mm256_andnot_si256(f.decays,
							   _mm256_cmpeq_epi64(entry, vec_set(0))));
	return f;
}

/* floor(x f / 2^32) = x - ceil(x (2^32 - f) / 2^32) */
OPERATION vec vec_decay(vec sum, struct factor f, bool near)
{
	const vec x = near ? sum : vec_shrv(sum, f.halvings);
	const vec lost = vec_add(vec_mul(x, f.complement), vec_set(0xffffffffu));

	return vec_sub(x, vec_shr(lost, 32));
}

OPERATION vec vec_lost(vec highest, struct factor f, bool near)
{
	return near ? vec_shr(f.complement, 32) : vec_sub(highest, vec_decay(highest, f, false));
}

OPERATION vec vec_add_if(vec sum, flags set, vec added)
{
	return vec_add(sum, _mm256_andnot_si256(set, added));
}

OPERATION vec vec_refreshed(vec average, struct factor f, vec now)
{
	return _mm256_blendv_epi8(now, average, f.decays);
}

/* x below 2^52 beside the exponent of 2^52, less 2^52, is x. */
OPERATION __m256d to_double(vec a)
{
	const vec exponent = vec_set(0x4330000000000000u);

	return _mm256_sub_pd(_mm256_castsi256_pd(vec_or(a, exponent)), _mm256_castsi256_pd(exponent));
}

typedef __m256d divider;

OPERATION divider divider_of(vec div, const struct table *table)
{
	(void)table;
	return to_double(div);
}

/*
 * Exact below 2^52: with a = q b + r, a/b is at least 1/b short of q + 1, which is
 * more than half a unit in the last place of any double up to 2^53 / b.
 */
OPERATION vec vec_quotient(vec a, divider by)
{
	return _mm256_cvtepi32_epi64(_mm256_cvttpd_epi32(_mm256_div_pd(to_double(a), by)));
}

/* The same where the quotient may need more than 31 bits. */
OPERATION vec vec_long_quotient(vec a, divider by)
{
	const vec exponent = vec_set(0x4330000000000000u);
	const __m256d q = _mm256_floor_pd(_mm256_div_pd(to_double(a), by));
	const __m256d beside = _mm256_add_pd(q, _mm256_castsi256_pd(exponent));

	return _mm256_xor_si256(_mm256_castpd_si256(beside), exponent);
}

OPERATION flags flags_both(flags a, flags b)
{
	return vec_or(a, b);
}

OPERATION flags flags_nonzero(vec a)
{
	return _mm256_cmpeq_epi64(a, vec_set(0));
}

OPERATION flags flags_of(flags_row row, int i)
{
	return _mm256_shuffle_epi8(row, _mm256_setr_epi64x(0x0101010101010101ll * i,
							   0x0101010101010101ll * (i + 8),
							   0x0101010101010101ll * i,
							   0x0101010101010101ll * (i + 8)));
}

OPERATION long long four_bytes(const u8 *from)
{
	u32 x;

	memcpy(&x, from, sizeof(x));
	return x;
}

OPERATION flags_row flags_turn_in(const u8 *const *from)
{
	const vec bytes = _mm256_setr_epi64x(four_bytes(from[0]), four_bytes(from[1]),
					     four_bytes(from[2]), four_bytes(from[3]));

	return _mm256_cmpeq_epi8(bytes, vec_set(0));
}

OPERATION void turn(vec *a)
{
	const vec even01 = _mm256_unpacklo_epi64(a[0], a[1]), odd01 = _mm256_unpackhi_epi64(a[0], a[1]);
	const vec even23 = _mm256_unpacklo_epi64(a[2], a[3]), odd23 = _mm256_unpackhi_epi64(a[2], a[3]);

	a[0] = _mm256_permute2x128_si256(even01, even23, 0x20);
	a[1] = _mm256_permute2x128_si256(odd01, odd23, 0x20);
	a[2] = _mm256_permute2x128_si256(even01, even23, 0x31);
	a[3] = _mm256_permute2x128_si256(odd01, odd23, 0x31);
}

OPERATION void vec_turn_in(vec *to, const u64 *const *from)
{
	for (int i = 0; i < 4; i++)
		to[i] = vec_load(from[i]);
	turn(to);
}

OPERATION void vec_turn_out(u64 *const *to, vec *rows)
{
	turn(rows);
	for (int i = 0; i < 4; i++)
		vec_store(to[i], rows[i]);
}

#include "pelt_lanes_body.h"

DEFINE_PATH(avx2)

#endif
