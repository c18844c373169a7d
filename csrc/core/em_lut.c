/* SPDX-License-Identifier: GPL-2.0-only */
/* Making the bins of em_lut.h, and look-ups of many requests. */
#include "em_lut.h"

#include "em_search.h"

/*
 * The largest power of two that is not above the smallest distance of different keys, so that a bin
 * holds one state; wider if that takes more than EM_BINS_MAX bins. A single key needs a single bin.
 */
u32 em_bins_shift(const u64 *key, size_t n)
{
	u64 delta = UINT64_MAX;
	u32 shift = 0;

	for (size_t i = 1; i < n; i++) {
		if (key[i] > key[i - 1] && key[i] - key[i - 1] < delta)
			delta = key[i] - key[i - 1];
	}
	while (shift < 63 && delta >> (shift + 1))
		shift++;
	while (shift < 63 && em_bins_nr_entries(key, n, shift) > EM_BINS_MAX)
		shift++;
	return shift;
}

/* Bins from the lowest key to the last one. */
size_t em_bins_nr_entries(const u64 *key, size_t n, u32 shift)
{
	if (n == 0 || key[n - 1] < key[0])
		return 0;
	return (size_t)(shift < 64 ? (key[n - 1] - key[0]) >> shift : 0) + 1;
}

/*
 * Fills the entries and returns how many steps the fullest bin needs: from its entry to the state that
 * serves the highest request in it. Requests above all keys are in the last bin.
 */
u32 em_bins_fill(const u64 *key, size_t n, u32 shift, uint16_t *entries, size_t nr_entries)
{
	size_t at = 0;
	u32 steps = 0;

	if (n == 0)
		return 0;
	for (size_t bin = 0; bin < nr_entries; bin++) {
		const u64 edge = shift < 64 ? (u64)bin << shift : 0;
		const u64 width = shift < 64 ? 1ULL << shift : 0;
		const bool last = bin + 1 == nr_entries;
		size_t to;

		while (at + 1 < n && key[at] - key[0] < edge)
			at++;
		entries[bin] = (uint16_t)at;
		for (to = at; to + 1 < n && (last || key[to] - key[0] < edge + (width - 1)); to++)
			;
		if (to - at > steps)
			steps = (u32)(to - at);
	}
	return steps;
}

/* Where lanes are narrow, halving wins sooner. */
enum { PORTABLE_KEYS = 40 };

/* False: too many keys, or one that 32 bits do not hold. */
static bool count_from(struct em_search *search, const u64 *key, const uint16_t *state, size_t n, enum path path)
{
	struct em_perf_state table[EM_SEARCH_KEYS];

	if (n == 0 || n > (path == PATH_PORTABLE ? (size_t)PORTABLE_KEYS : (size_t)EM_SEARCH_KEYS))
		return false;
	for (size_t k = 0; k < n; k++)
		table[k] = (struct em_perf_state){ .frequency = key[k] };
	if (!em_search_v5_0(search, table, n))
		return false;
	for (size_t k = 0; k < n; k++)
		search->state[k] = state[k];
	search->state[n] = state[n - 1];
	return true;
}

void em_halve_all(const u64 *key, const uint16_t *state, size_t n, const u64 *request, s64 *found, size_t count,
		  enum path path)
{
	struct em_search search;
	size_t i = 0;

	if (count >= EM_SEARCH_BLOCK && count_from(&search, key, state, n, path)) {
		em_states_fn *const states = em_searchers_of(path).states;

		while (count - i >= EM_SEARCH_BLOCK && states(&search, request + i, EM_SEARCH_BLOCK, found + i))
			i += EM_SEARCH_BLOCK;
	}
	for (; i < count; i++)
		found[i] = n ? state[em_halve(key, n, request[i])] : -1;
}

void em_bins_search_all(const u64 *key, const uint16_t *state, size_t n, const struct em_bins *bins,
			const u64 *request, s64 *found, size_t count)
{
	for (size_t i = 0; i < count; i++)
		found[i] = n ? state[em_bins_search(key, n, bins, request[i])] : -1;
}

void em_direct_all(const uint16_t *entries, size_t nr_entries, const u64 *util, s64 *found, size_t count)
{
	for (size_t i = 0; i < count; i++)
		found[i] = nr_entries ? (s64)em_direct(entries, nr_entries, util[i]) : -1;
}
