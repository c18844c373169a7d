/* SPDX-License-Identifier: GPL-2.0-only */
/* Laying an energy model out as 5.12 does; see em_timed.h. */
#include "em_timed.h"

/* A state that the look-up table names; the last one where it names none. */
static size_t entry_state(const struct em_perf_domain *pd, size_t bin)
{
	const size_t last = pd->nr_states - 1;

	if (bin >= pd->lut.nr_entries)
		return last;
	return pd->lut.entries[bin] < last ? pd->lut.entries[bin] : last;
}

/*
 * The three tables of a domain that has states.
 *
 * A request below the last frequency has its bin below
 *
 *	((max_freq - min_freq) >> shift) + 1,
 *
 * which is how many bins the patch makes; it is an error of the caller to give fewer.
 *
 * Given:	pd		its table and the look-up table as indexes
 *		states		room for nr_states
 *		entries, bins	room for lut.nr_entries + 1
 * Returned:	t		the tables, borrowing the three
 */
void em_timed_fill(struct em_timed_table *t, const struct em_perf_domain *pd, struct em_timed_state *states,
		   const struct em_timed_state **entries, struct em_timed_bin *bins)
{
	const struct em_timed_state *last = &states[pd->nr_states - 1];
	const size_t min_state = pd->lut.min_state < pd->nr_states ? pd->lut.min_state : pd->nr_states - 1;

	for (size_t i = 0; i < pd->nr_states; i++) {
		states[i] = (struct em_timed_state){
			.frequency = pd->table[i].frequency,
			.power = pd->table[i].power,
			.cost = pd->table[i].cost,
		};
	}
	for (size_t bin = 0; bin <= pd->lut.nr_entries; bin++) {
		entries[bin] = &states[entry_state(pd, bin)];
		bins[bin] = (struct em_timed_bin){
			.frequency = entries[bin]->frequency,
			.cost = entries[bin]->cost,
			.next_cost = states[entry_state(pd, bin + 1)].cost,
		};
	}
	*t = (struct em_timed_table){
		.states = states,
		.nr_states = pd->nr_states,
		.entries = entries,
		.bins = bins,
		.min_freq = states[min_state].frequency,
		.max_freq = last->frequency,
		.min_cost = states[min_state].cost,
		.max_cost = last->cost,
		.min_state = &states[min_state],
		.shift = pd->lut.shift,
	};
}
