/* SPDX-License-Identifier: GPL-2.0-only */
#include "conversion_lanes.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "clock.h"
#include "jiffies.h"
#include "path.h"

enum { LANES = 8 };

TARGET_AVX512 static inline __m512i all(u64 word)
{
	return _mm512_set1_epi64((s64)word);
}

TARGET_AVX512 static inline __m512i low_half(__m512i x)
{
	return _mm512_and_si512(x, all(UINT32_MAX));
}

/*
 * x / d from a product of doubles, for x < 2^50:
 *
 *	(x + 1/2) / d   =   quotient + (remainder + 1/2) / d
 *
 * lies at least 1/2d away from the next integer on either side. Its double is wrong by less than 3 parts in
 * 2^53, that of inverse = 1/d being wrong by two of them and the product by one: by less than 3/8d.
 */
#define DIVIDEND_OF_DOUBLES (1ull << 50)

TARGET_AVX512 static inline __m512i quotients(__m512i x, double inverse)
{
	const __m512d half = _mm512_set1_pd(inverse / 2);

	return _mm512_cvttpd_epu64(_mm512_fmadd_pd(_mm512_cvtepu64_pd(x), _mm512_set1_pd(inverse), half));
}

/* Rounded down, for |x| < 2^50. */
TARGET_AVX512 static inline __m512i signed_quotients(__m512i x, double inverse)
{
	const __m512d half = _mm512_set1_pd(inverse / 2);
	const __m512d near = _mm512_fmadd_pd(_mm512_cvtepi64_pd(x), _mm512_set1_pd(inverse), half);

	return _mm512_cvt_roundpd_epi64(near, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/*
 * ns / 1000 = (ns / 8) / 125, and with ns / 8 = high 2^32 + low and 2^32 = 125 * OF_HIGH + 46
 *
 *	ns / 1000 = high * OF_HIGH + (high * 46 + low) / 125
 *
 * where high < 2^29, so that what is left to divide is below 2^35.
 */
#define OF_HIGH 34359738

TARGET_AVX512 static inline __m512i thousandths(__m512i ns)
{
	const __m512i high = _mm512_srli_epi64(ns, 35), low = low_half(_mm512_srli_epi64(ns, 3));
	const __m512i rest = _mm512_add_epi64(_mm512_mul_epu32(high, all(46)), low);

	return _mm512_add_epi64(_mm512_mul_epu32(high, all(OF_HIGH)), quotients(rest, 1.0 / 125));
}

/*
 * The same with high and what is left to divide signed, which gives the quotient rounded down. That of a negative
 * ns rounds up: it does so when 999 is added first.
 */
TARGET_AVX512 static inline __m512i signed_thousandths(__m512i ns)
{
	const __m512i up = _mm512_mask_add_epi64(ns, _mm512_movepi64_mask(ns), ns, all(999));
	const __m512i high = _mm512_srai_epi64(up, 35), low = low_half(_mm512_srli_epi64(up, 3));
	const __m512i rest = _mm512_add_epi64(_mm512_mul_epi32(high, all(46)), low);

	return _mm512_add_epi64(_mm512_mul_epi32(high, all(OF_HIGH)), signed_quotients(rest, 1.0 / 125));
}

TARGET_AVX512 static inline __m512i residencies(__m512i us)
{
	return _mm512_min_epi64(us, all(SCHEDPY_INT_MAX));
}

#define ROW_OF_ONE(fn, A, R, lanes)								\
	TARGET_AVX512 void fn##_row(const A *x, size_t n, R *result)				\
	{											\
		size_t i = 0;									\
												\
		for (; i + LANES <= n; i += LANES)						\
			_mm512_storeu_si512(result + i, lanes(_mm512_loadu_si512(x + i)));	\
		for (; i < n; i++)								\
			result[i] = fn(x[i]);							\
	}

#define RESIDENCIES(ns) residencies(thousandths(ns))
#define SIGNED_RESIDENCIES(ns) residencies(signed_thousandths(ns))

ROW_OF_ONE(ns_to_us_u64, u64, u64, thousandths)
ROW_OF_ONE(ns_to_us_s64, s64, s64, signed_thousandths)
ROW_OF_ONE(ktime_to_us, s64, s64, signed_thousandths)
ROW_OF_ONE(cpuidle_residency_div1000_u64, u64, s64, RESIDENCIES)
ROW_OF_ONE(cpuidle_residency_div1000_s64, s64, s64, SIGNED_RESIDENCIES)

/* The two products of mul_u64_u32_shr() in math64.h. */
struct product_96 {
	__m512i high, low;
};

TARGET_AVX512 static inline struct product_96 multiply(__m512i a, __m512i mul)
{
	const __m512i low = _mm512_mul_epu32(a, mul);
	const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), mul);

	return (struct product_96){ _mm512_add_epi64(high, _mm512_srli_epi64(low, 32)), low };
}

TARGET_AVX512 void mul_u64_u32_shr_row(const u64 *a, size_t n, u32 mul, u32 shift, u64 *product)
{
	const bool within_low = shift <= 32;
	/* An instruction's shift by 64 and more leaves nothing. */
	const __m128i left = _mm_cvtsi32_si128((int)(32 - shift)), right = _mm_cvtsi32_si128((int)shift);
	const __m128i beyond = _mm_cvtsi64_si128(shift < 96 ? (s64)shift - 32 : 64);
	const __m512i factor = all(mul), kept = all(within_low ? (u64)UINT32_MAX >> shift : 0);
	size_t i = 0;

	for (; within_low && i + LANES <= n; i += LANES) {
		const struct product_96 p = multiply(_mm512_loadu_si512(a + i), factor);
		const __m512i low = _mm512_and_si512(_mm512_srl_epi64(p.low, right), kept);

		_mm512_storeu_si512(product + i, _mm512_or_si512(_mm512_sll_epi64(p.high, left), low));
	}
	for (; !within_low && i + LANES <= n; i += LANES) {
		const struct product_96 p = multiply(_mm512_loadu_si512(a + i), factor);

		_mm512_storeu_si512(product + i, _mm512_srl_epi64(p.high, beyond));
	}
	for (; i < n; i++)
		product[i] = mul_u64_u32_shr(a[i], mul, shift);
}

/*
 * The divisor of div_by_reciprocal() is 2^(64+l) / (2^64 + m), its inverse 2^-l (1 + m / 2^64), of which m's double
 * and the sum's round once each.
 */
static double inverse_of_divisor(u64 m, u64 l)
{
	return (1 + (double)m * 0x1p-64) / (l < 64 ? (double)(1ull << l) : 0x1p64);
}

TARGET_AVX512 void jiffies_scaled_div_uint_row(const u64 *x, size_t n, u64 mul, u64 add, u64 m, u64 l, u64 word,
					       u32 *quotient)
{
	const double inverse = inverse_of_divisor(m, l);
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		const __m512i scaled = _mm512_mullo_epi64(_mm512_loadu_si512(x + i), all(mul));
		const __m512i dividend = _mm512_and_si512(_mm512_add_epi64(scaled, all(add)), all(word));

		if (_mm512_cmpge_epu64_mask(dividend, all(DIVIDEND_OF_DOUBLES))) {
			for (size_t k = i; k < i + LANES; k++)
				quotient[k] = jiffies_scaled_div_uint(x[k], mul, add, m, l, word);
			continue;
		}
		_mm256_storeu_si256((__m256i *)(quotient + i), _mm512_cvtepi64_epi32(quotients(dividend, inverse)));
	}
	for (; i < n; i++)
		quotient[i] = jiffies_scaled_div_uint(x[i], mul, add, m, l, word);
}
#endif
