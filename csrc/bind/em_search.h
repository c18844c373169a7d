/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks of a gufunc's loop by search (core/em_search.h), where one table serves them all. */
#ifndef SCHEDPY_BIND_EM_SEARCH_H
#define SCHEDPY_BIND_EM_SEARCH_H

#include "path.h"

#include "core/em_search.h"

/* Making a table ready pays from so many requests on. */
#define SEARCH_FROM 32

/* Requests are many, and the other operands, whose steps these are or-ed, the same for all. */
static inline bool is_for_many(npy_intp count, npy_intp other_steps)
{
	return count >= SEARCH_FROM && other_steps == 0;
}

/* Where the block from i on ends. */
static inline npy_intp block_end(npy_intp i, npy_intp count)
{
	return count - i < EM_SEARCH_BLOCK ? count : i + EM_SEARCH_BLOCK;
}

/* Requests as they lie, or copied to where they are in a row. */
static inline const u64 *in_a_row(const char *from, npy_intp step, size_t count, u64 *copy)
{
	if (step == (npy_intp)sizeof(u64))
		return (const u64 *)from;
	for (size_t i = 0; i < count; i++)
		copy[i] = U64_AT(from + (npy_intp)i * step);
	return copy;
}

/* A whole block may be written where it belongs. */
static inline bool is_whole_row(size_t count, npy_intp step)
{
	return count == EM_SEARCH_BLOCK && step == (npy_intp)sizeof(u64);
}

/* Words of 64 bits. */
static inline void put_block(char *to, npy_intp step, const void *found, size_t count)
{
	const char *from = found;

	if (step == (npy_intp)sizeof(u64)) {
		memcpy(to, from, count * sizeof(u64));
		return;
	}
	for (size_t i = 0; i < count; i++)
		memcpy(to + (npy_intp)i * step, from + i * sizeof(u64), sizeof(u64));
}

/* Requests i .. end - 1. False: nothing is written, and the walk has to serve this block. */
static inline bool states_of_block(const struct em_search *search, const char *request, npy_intp request_step,
				   char *state, npy_intp state_step, npy_intp i, npy_intp end)
{
	const size_t count = (size_t)(end - i);
	const bool in_place = is_whole_row(count, state_step);
	u64 copy[EM_SEARCH_BLOCK];
	s64 found[EM_SEARCH_BLOCK];

	state += i * state_step;
	if (!em_searchers_of(path_taken())
		     .states(search, in_a_row(request + i * request_step, request_step, count, copy), count,
			     in_place ? (s64 *)state : found))
		return false;
	if (!in_place)
		put_block(state, state_step, found, count);
	return true;
}

/* The same for energies; utils are max_util and sum_util. */
static inline bool energies_of_block(const struct em_search *search, char *const *utils, const npy_intp *steps,
				     char *energy, npy_intp energy_step, npy_intp i, npy_intp end)
{
	const size_t count = (size_t)(end - i);
	const bool in_place = is_whole_row(count, energy_step);
	u64 most[EM_SEARCH_BLOCK], sums[EM_SEARCH_BLOCK], found[EM_SEARCH_BLOCK];

	energy += i * energy_step;
	if (!em_searchers_of(path_taken())
		     .energies(search, in_a_row(utils[0] + i * steps[0], steps[0], count, most),
			       in_a_row(utils[1] + i * steps[1], steps[1], count, sums), count,
			       in_place ? (u64 *)energy : found))
		return false;
	if (!in_place)
		put_block(energy, energy_step, found, count);
	return true;
}

#endif
