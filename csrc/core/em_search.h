/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One table of states asked many times: which state serves, and the energy that follows.
 *
 * The walks of em.h look for the first state, of those that are not passed over, whose key (frequency
 * or performance) is no less than the request. With the highest key so far in place of each key, the
 * keys rise, and that state's place among them is how many of them lie below the request:
 *
 *	keys     300    500    500    900
 *	request      400                     1 below: state 1
 *
 * Counting has no branch to be predicted and takes many requests side by side.
 */
#ifndef SCHEDPY_EM_SEARCH_H
#define SCHEDPY_EM_SEARCH_H

#include "em.h"
#include "path.h"

enum {
	EM_SEARCH_KEYS = 128,	/* tables with more states keep to the walk */
	EM_SEARCH_FEW = 32,	/* with fewer keys, so many are there, the rest above every request */
	EM_SEARCH_BLOCK = 64,	/* so many requests at once */
};

/* No request is above this one: requests are compared as 32 bits, larger ones as the largest. */
#define EM_NEVER UINT32_MAX

struct em_search {
	size_t n;
	s32 key[EM_SEARCH_KEYS];	/* less 2^31: comparing signed numbers is what all machines have */
	u32 state[EM_SEARCH_KEYS + 1];	/* with so many keys below */
	u64 cost[EM_SEARCH_KEYS + 1];	/* of that state */
	u64 highest;	/* request up to which this holds: beyond it a product of the kernel's wraps */
	u64 divisor;	/* of cost times sum_util */
};

/* False: this table is not to be searched so, and the walk has to serve. */
bool em_search_v5_0(struct em_search *search, const struct em_perf_state *table, size_t n);
bool em_search_v5_16(struct em_search *search, const struct em_perf_state *table, size_t n, bool skip);
bool em_search_v6_9(struct em_search *search, const struct em_perf_domain *pd);

/* The same by the max_util that em_cpu_energy_*() takes, with the cost of each state. */
bool em_search_energy_v5_0(struct em_search *search, const struct em_perf_domain *pd);
bool em_search_energy_v5_16(struct em_search *search, const struct em_perf_domain *pd, u64 allowed_cpu_cap,
			    bool long_32);
bool em_search_energy_v6_9(struct em_search *search, const struct em_perf_domain *pd, u64 allowed_cpu_cap);

/*
 * count is 0 .. EM_SEARCH_BLOCK; a whole block is written, whatever the rest of it then holds. False: a
 * request is above the highest, and nothing is written.
 */
typedef bool em_states_fn(const struct em_search *search, const u64 *request, size_t count, s64 *state);
typedef bool em_energies_fn(const struct em_search *search, const u64 *max_util, const u64 *sum_util,
			    size_t count, u64 *energy);

struct em_searchers {
	em_states_fn *states;
	em_energies_fn *energies;
};

/* Of a path that works. */
struct em_searchers em_searchers_of(enum path path);

#endif
