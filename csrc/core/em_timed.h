/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An energy model laid out as 5.12 lays it out, for timing: what a look-up costs depends on which
 * lines of memory it reads, and on which of them it has to wait for before it knows the next.
 *
 *	walk		state 0, 1, 2 ...: a compare each; where the next one lies is known beforehand,
 *			so its line is on its way while the processor guesses that the walk goes on
 *	chained walk	the same, but where the next one lies is computed from what was read: the same
 *			lines one after the other.  No kernel has it; it shows what the guessing is worth
 *	table		last state -> entry -> state [-> next entry -> state]: each waits for the one before
 *	held		one bin: it holds the frequency and the costs themselves, and waits for nothing
 *	others		the ways of em_lut.h: to the number of a state, then to the state
 *
 * The results are those of em.h.
 */
#ifndef SCHEDPY_EM_TIMED_H
#define SCHEDPY_EM_TIMED_H

#include "em.h"

/* struct em_perf_state of 5.12: three words of a 64-bit kernel. */
struct em_timed_state {
	u64 frequency, power, cost;
};

/* Half a line, and never across two. */
struct em_timed_bin {
	u64 frequency;		/* of the lowest efficient state at or above the left edge */
	u64 cost;
	u64 next_cost;		/* of the state of the next bin */
	u64 unused;
};

struct em_timed_table {
	const struct em_timed_state *states;
	size_t nr_states;
	/* the patch's table, and ours; entries and bins have one more, which is the last state */
	const struct em_timed_state *const *entries;
	const struct em_timed_bin *bins;
	u64 min_freq, max_freq;
	u64 min_cost, max_cost;
	const struct em_timed_state *min_state;
	u32 shift;
};

enum em_timed_way {
	TIMED_NOT,
	TIMED_WALK,
	TIMED_CHAINED,
	TIMED_LUT,
	TIMED_HELD,
	TIMED_BINS,
	TIMED_SEARCH,
	TIMED_DIRECT
};

static inline u64 em_walked_cost(const struct em_timed_table *t, u64 freq)
{
	const struct em_timed_state *state = t->states;

	for (size_t i = 0; i < t->nr_states; i++) {
		state = &t->states[i];
		if (state->frequency >= freq)
			break;
	}
	return state->cost;
}

/* No frequency has bit 63 set, which nobody but us knows. */
static inline u64 em_chained_cost(const struct em_timed_table *t, u64 freq)
{
	const struct em_timed_state *state = t->states;

	for (size_t i = 0; i < t->nr_states; i += 1 + (state->frequency >> 63)) {
		state = &t->states[i];
		if (state->frequency >= freq)
			break;
	}
	return state->cost;
}

/* A bin below the last frequency is one of the table's, and after the last there is one more. */
static inline u64 em_lut_cost(const struct em_timed_table *t, u64 freq)
{
	const struct em_timed_state *state;
	u64 bin;

	if (freq <= t->min_freq)
		return t->min_state->cost;
	if (freq >= t->max_freq)
		return t->states[t->nr_states - 1].cost;
	bin = (freq - t->min_freq) >> t->shift;
	state = t->entries[bin];
	if (state->frequency < freq)
		state = t->entries[bin + 1];
	return state->cost;
}

static inline u64 em_held_cost(const struct em_timed_table *t, u64 freq)
{
	const struct em_timed_bin *bin;

	if (freq <= t->min_freq)
		return t->min_cost;
	if (freq >= t->max_freq)
		return t->max_cost;
	bin = &t->bins[(freq - t->min_freq) >> t->shift];
	return bin->frequency < freq ? bin->next_cost : bin->cost;
}

/* The cost of the state that serves a request; the highest frequency is read from where the way has it. */
static inline u64 em_timed_cost(const struct em_timed_table *t, const struct em_perf_domain *pd, u64 max_util,
				const enum em_timed_way way)
{
	const u64 max_freq = way == TIMED_HELD ? t->max_freq : t->states[t->nr_states - 1].frequency;
	const u64 freq = map_util_freq_v5_0(max_util, max_freq, pd->scale_cpu);

	switch (way) {
	case TIMED_CHAINED:
		return em_chained_cost(t, freq);
	case TIMED_LUT:
		return em_lut_cost(t, freq);
	case TIMED_HELD:
		return em_held_cost(t, freq);
	case TIMED_BINS:
		return t->states[em_state_by(pd, max_util, freq, EM_BINS)].cost;
	case TIMED_SEARCH:
		return t->states[em_state_by(pd, max_util, freq, EM_HALVES)].cost;
	default:
		return em_walked_cost(t, freq);
	}
}

/*
 * em_cpu_energy() of 5.12 over such a table.  As in the kernel the highest frequency is read from the
 * last state, but for the table that has it at hand and the one by utilisation.  `way` is a constant
 * wherever this is called.
 */
static inline u64 em_timed_energy(const struct em_timed_table *t, const struct em_perf_domain *pd, u64 max_util,
				  u64 sum_util, const enum em_timed_way way)
{
	u64 cost;

	if (sum_util == 0 || t->nr_states == 0)
		return 0;
	if (way == TIMED_DIRECT)
		cost = t->states[em_state_by(pd, max_util, 0, EM_DIRECT)].cost;
	else
		cost = em_timed_cost(t, pd, max_util, way);
	return div_u64(cost * sum_util, pd->scale_cpu);
}

void em_timed_fill(struct em_timed_table *t, const struct em_perf_domain *pd, struct em_timed_state *states,
		   const struct em_timed_state **entries, struct em_timed_bin *bins);

#endif
