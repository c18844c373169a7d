/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Three ways to the state that serves a request, none of which a kernel has: bins that are right for
 * states closer than a bin, a search without branches, and a table by utilisation. Each gives what
 * the walk gives, for every request.
 */
#ifndef SCHEDPY_EM_LUT_H
#define SCHEDPY_EM_LUT_H

#include "path.h"

/*
 * The states that may be chosen, lowest first: a request goes to the first whose key (its frequency, or
 * from 6.9 its performance) is not below it, else to the last. So the last key is never compared.
 * A state is told by its place among these.
 */

/* So many bins are made at most; states that share one are told apart by further steps. */
enum { EM_BINS_MAX = 4096 };

struct em_bins {
	const uint16_t *entries;	/* per bin: the first state at or above its left edge */
	size_t nr_entries;
	u32 shift;			/* a bin is 2^shift wide */
	u32 steps;			/* no request is served by a state further up than this */
};

/* Halves what is left, whichever half it is: the comparison becomes a conditional move. */
static inline size_t em_halve(const u64 *key, size_t n, u64 request)
{
	size_t at = 0, left = n ? n - 1 : 0;

	while (left) {
		const size_t half = (left + 1) / 2;

		at += key[at + half - 1] < request ? half : 0;
		left -= half;
	}
	return at;
}

/*
 * The bins of 2021 with as many steps as the fullest bin needs, instead of one:
 *
 *	   bin             bin
 *	|-----------|--------x--x--x--|		entry: the first x; 3 steps lead past the last x
 *
 * Where states are a bin apart that is one step, and the table is that of 2021. The request is held in the
 * table's range before the bin is taken, and compared as it is.
 */
static inline size_t em_bins_search(const u64 *key, size_t n, const struct em_bins *bins, u64 request)
{
	u64 inside = request, bin;
	size_t at;

	if (n == 0 || bins->nr_entries == 0)
		return 0;
	inside = inside > key[n - 1] ? key[n - 1] : inside;
	inside = inside < key[0] ? key[0] : inside;
	bin = bins->shift < 64 ? (inside - key[0]) >> bins->shift : 0;
	bin = bin < bins->nr_entries ? bin : bins->nr_entries - 1;
	at = bins->entries[bin];
	at = at < n ? at : n - 1;
	for (u32 step = 0; step < bins->steps; step++)
		at += at + 1 < n && key[at] < request;
	return at;
}

/* What no utilisation below the table's end asks for more than, its last entry serves. */
static inline size_t em_direct(const uint16_t *entries, size_t nr_entries, u64 util)
{
	if (nr_entries == 0)
		return 0;
	return entries[util < nr_entries ? util : nr_entries - 1];
}

u32 em_bins_shift(const u64 *key, size_t n);
size_t em_bins_nr_entries(const u64 *key, size_t n, u32 shift);
u32 em_bins_fill(const u64 *key, size_t n, u32 shift, uint16_t *entries, size_t nr_entries);

/*
 * For many requests, to the index of the state: state[k] is that of the k-th one that may be chosen. Many
 * requests to few keys are counted as em_search.h does, by the instructions of a path that works.
 */
void em_halve_all(const u64 *key, const uint16_t *state, size_t n, const u64 *request, s64 *found, size_t count,
		  enum path path);
void em_bins_search_all(const u64 *key, const uint16_t *state, size_t n, const struct em_bins *bins,
			const u64 *request, s64 *found, size_t count);
void em_direct_all(const uint16_t *entries, size_t nr_entries, const u64 *util, s64 *found, size_t count);

#endif
