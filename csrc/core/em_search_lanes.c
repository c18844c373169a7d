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

/*
 * With few keys two registers hold them all, and a search by halves takes five looks. What belongs to a place
 * comes out of registers too: a gathered load costs more than the search.
 */
struct words_32 {
	__m512i low, high;
};

TARGET_AVX512 static inline struct words_32 load_32(const void *words)
{
	return (struct words_32){ _mm512_loadu_si512(words), _mm512_loadu_si512((const char *)words + 64) };
}

TARGET_AVX512 static inline __m512i word_at(struct words_32 words, __m512i place)
{
	return _mm512_permutex2var_epi32(words.low, place, words.high);
}

/* The keys as they are, and those of the first two looks in every word. */
struct few_keys {
	struct words_32 all;
	__m512i half, quarter, three_quarters;
};

TARGET_AVX512 static inline struct few_keys few_keys(const struct em_search *search)
{
	const __m512i bias = _mm512_set1_epi32(INT32_MIN);
	const struct words_32 keys = load_32(search->key);
	const struct words_32 all = { _mm512_xor_si512(keys.low, bias), _mm512_xor_si512(keys.high, bias) };

	return (struct few_keys){
		.all = all,
		.half = word_at(all, _mm512_set1_epi32(EM_SEARCH_FEW / 2 - 1)),
		.quarter = word_at(all, _mm512_set1_epi32(EM_SEARCH_FEW / 4 - 1)),
		.three_quarters = word_at(all, _mm512_set1_epi32(EM_SEARCH_FEW / 4 * 3 - 1)),
	};
}

/*
 * Two times 8 requests in one register, the first 8 in the lower words of each pair: what spreads over a
 * register costs a permutation. Those that 32 bits do not hold are the largest that they do.
 */
TARGET_AVX512 static inline __m512i two_in_one(const u64 *request)
{
	const __m512i never = _mm512_set1_epi64(EM_NEVER);
	const __m512i first = _mm512_min_epu64(_mm512_loadu_si512(request), never);
	const __m512i second = _mm512_min_epu64(_mm512_loadu_si512(request + 8), never);

	return _mm512_or_si512(first, _mm512_slli_epi64(second, 32));
}

TARGET_AVX512 static inline __m512i first_of(__m512i pairs)
{
	return _mm512_and_si512(pairs, _mm512_set1_epi64(UINT32_MAX));
}

TARGET_AVX512 static inline __m512i second_of(__m512i pairs)
{
	return _mm512_srli_epi64(pairs, 32);
}

TARGET_AVX512 static inline __m512i further_where(__m512i place, __mmask16 above, int step)
{
	return _mm512_mask_add_epi32(place, above, place, _mm512_set1_epi32(step));
}

TARGET_AVX512 static inline __m512i places_of_few(const struct few_keys *keys, const u64 *request)
{
	const __m512i pairs = two_in_one(request);
	const __mmask16 upper = _mm512_cmpgt_epu32_mask(pairs, keys->half);
	const __m512i quarter = _mm512_mask_blend_epi32(upper, keys->quarter, keys->three_quarters);
	__m512i place = _mm512_maskz_set1_epi32(upper, EM_SEARCH_FEW / 2);

	place = further_where(place, _mm512_cmpgt_epu32_mask(pairs, quarter), EM_SEARCH_FEW / 4);
	for (int step = EM_SEARCH_FEW / 8; step; step /= 2) {
		const __m512i last = _mm512_add_epi32(place, _mm512_set1_epi32(step - 1));

		place = further_where(place, _mm512_cmpgt_epu32_mask(pairs, word_at(keys->all, last)), step);
	}
	return place;
}

TARGET_AVX512 static void states_of_few(const struct em_search *search, const u64 *request, s64 *state)
{
	const struct few_keys keys = few_keys(search);
	const struct words_32 states = load_32(search->state);

	for (size_t i = 0; i < EM_SEARCH_BLOCK; i += 16) {
		const __m512i found = word_at(states, places_of_few(&keys, request + i));

		_mm512_storeu_si512(state + i, first_of(found));
		_mm512_storeu_si512(state + i + 8, second_of(found));
	}
}

/* The costs of 8 places; bit 4 of a place tells which registers. */
TARGET_AVX512 static inline __m512i costs_at(struct words_32 costs, struct words_32 later_costs, __m512i place)
{
	const __mmask8 is_later = _mm512_test_epi64_mask(place, _mm512_set1_epi64(16));
	const __m512i early = _mm512_permutex2var_epi64(costs.low, place, costs.high);
	const __m512i late = _mm512_permutex2var_epi64(later_costs.low, place, later_costs.high);

	return _mm512_mask_blend_epi64(is_later, early, late);
}

TARGET_AVX512 static void costs_of_few(const struct em_search *search, const u64 *request, u64 *cost)
{
	const struct few_keys keys = few_keys(search);
	const struct words_32 costs = load_32(search->cost), later_costs = load_32(search->cost + 16);

	for (size_t i = 0; i < EM_SEARCH_BLOCK; i += 16) {
		const __m512i places = places_of_few(&keys, request + i);

		_mm512_storeu_si512(cost + i, costs_at(costs, later_costs, first_of(places)));
		_mm512_storeu_si512(cost + i + 8, costs_at(costs, later_costs, second_of(places)));
	}
}

#define PATH avx512
#define TARGET TARGET_AVX512
#define WIDTH 16
#define FEW(what) what##_of_few
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
