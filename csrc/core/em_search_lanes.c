/* SPDX-License-Identifier: GPL-2.0-only */
/* The search of em_search.h, once for each path. */
#include <string.h>

#include "em_search.h"

/* A whole block: what is there, filled up with requests of 0. */
static inline const u64 *whole_block(const u64 *request, size_t count, u64 *filled)
{
	if (count == EM_SEARCH_BLOCK)
		return request;
	memset(filled, 0, EM_SEARCH_BLOCK * sizeof(*filled));
	memcpy(filled, request, count * sizeof(*filled));
	return filled;
}

/*
 * Dividing by d in 2 .. 1024 without a division. With m = floor(2^64 / d) + 1 = (2^64 + e) / d, 0 < e <= d,
 *
 *	x m / 2^64 = x / d + x e / (d 2^64)
 *
 * and the second part is below 1 / d, so that it takes no quotient to the next, while x e < 2^64: x < 2^54.
 */
#define QUICK_DIVISOR 1024
#define QUICK_DIVIDEND (1ull << 54)

static inline void divide(u64 *x, size_t count, u64 divisor)
{
	u64 largest = 0;

	if (divisor == 1)
		return;
	for (size_t i = 0; i < count; i++)
		largest |= x[i];
	if (divisor > 1 && divisor <= QUICK_DIVISOR && largest < QUICK_DIVIDEND) {
		const u64 reciprocal = UINT64_MAX / divisor + 1;

		for (size_t i = 0; i < count; i++)
			x[i] = (u64)(((u128)x[i] * reciprocal) >> 64);
		return;
	}
	for (size_t i = 0; i < count; i++)
		x[i] = div_u64(x[i], divisor);
}

#define PATH portable
#define TARGET
#define WIDTH 4
#include "em_search_body.h"

#if defined(__x86_64__)
#define PATH avx2
#define TARGET TARGET_AVX2
#define WIDTH 8
#include "em_search_body.h"

#include <immintrin.h>

TARGET_AVX512 static inline __m512i key_of_few(__m512i low, __m512i high, __m512i place)
{
	return _mm512_permutex2var_epi32(low, place, high);
}

/* With few keys two registers hold them all, and a search by halves needs five looks. */
TARGET_AVX512 static void count_few_below(const struct em_search *search, const s32 *key, s32 *below)
{
	const __m512i low = _mm512_loadu_si512(search->key), high = _mm512_loadu_si512(search->key + 16);

	for (size_t i = 0; i < EM_SEARCH_BLOCK; i += 16) {
		const __m512i request = _mm512_loadu_si512(key + i);
		__m512i place = _mm512_setzero_si512();

		for (int step = EM_SEARCH_FEW / 2; step; step /= 2) {
			const __m512i last = _mm512_add_epi32(place, _mm512_set1_epi32(step - 1));
			const __mmask16 above = _mm512_cmpgt_epi32_mask(request, key_of_few(low, high, last));

			place = _mm512_mask_add_epi32(place, above, place, _mm512_set1_epi32(step));
		}
		_mm512_storeu_si512(below + i, place);
	}
}

#define PATH avx512
#define TARGET TARGET_AVX512
#define WIDTH 16
#define COUNT_FEW_BELOW count_few_below
#include "em_search_body.h"
#endif

struct em_searchers em_searchers_of(enum path path)
{
	switch (path) {
#if defined(__x86_64__)
	case PATH_AVX2:
		return (struct em_searchers){ find_states_avx2, find_energies_avx2 };
	case PATH_AVX512:
		return (struct em_searchers){ find_states_avx512, find_energies_avx512 };
#endif
	default:
		return (struct em_searchers){ find_states_portable, find_energies_portable };
	}
}
