/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy model: performance states, their cost, and the energy of a domain.
 * Follows kernel/power/energy_model.c, include/linux/energy_model.h and
 * include/linux/sched/cpufreq.h of 5.12, and the look-up table of the patch
 * "PM / EM: Inefficient OPPs detection" (8 April 2021) on top of it.
 */
#ifndef SCHEDPY_EM_H
#define SCHEDPY_EM_H

#include "math64.h"

/* Five words, so that a table is also a matrix of n rows of EM_STATE_WORDS. */
struct em_perf_state {
	u64 frequency;		/* kHz */
	u64 power;		/* in the unit that the kernel takes */
	u64 performance;	/* 0 before 6.9 */
	u64 cost;
	u64 inefficient;	/* 0 or 1 */
};

enum { EM_STATE_WORDS = sizeof(struct em_perf_state) / sizeof(u64) };

struct em_lut {
	const u64 *entries;	/* index of a state, per bin */
	size_t nr_entries;
	size_t min_state;	/* the lowest efficient state: where the first bin begins */
	u32 shift;		/* a bin is 2^shift kHz wide */
};

struct em_perf_domain {
	const struct em_perf_state *table;
	size_t nr_states;
	u64 scale_cpu;
	u64 cpus;		/* bit n: CPU n */
	struct em_lut lut;
};

/* What em_cpu_energy() found: the state is -1 when none was looked up. */
struct em_energy {
	u64 energy;
	s64 state;
	u64 freq_req;
	bool past_end;		/* the 2021 table would be read past its end */
};

/* Frequency for a utilisation, the head-room of 25 % on the frequency: up to 5.13. */
static inline u64 map_util_freq_v5_0(u64 util, u64 freq, u64 cap)
{
	return div_u64((freq + (freq >> 2)) * util, cap);
}

/* The same without head-room: from 5.14. */
static inline u64 map_util_freq_v5_14(u64 util, u64 freq, u64 cap)
{
	return div_u64(freq * util, cap);
}

/* The head-room on the utilisation: from 5.14. */
static inline u64 map_util_perf(u64 util)
{
	return util + (util >> 2);
}

s64 em_first_refused(const u64 *freq, const u64 *power, size_t n, u64 max_power);
void em_create_table_v5_0(struct em_perf_state *table, const u64 *freq, const u64 *power,
			  size_t n);
void em_create_table_v5_12(struct em_perf_state *table, const u64 *freq, const u64 *power,
			   size_t n);

size_t em_lut_min_state(const struct em_perf_state *table, size_t n);
u32 em_lut_shift(const struct em_perf_state *table, size_t n);
u64 em_lut_nr_entries(const struct em_perf_state *table, size_t n);
u64 em_lut_entry(const struct em_perf_state *table, size_t n, size_t min_state, u32 shift,
		 u64 index);

/*
 * Table walk up to 5.15: the first state at or above the request, else the
 * last one.  -1 for an empty table.
 */
static inline s64 em_state_walk_v5_0(const struct em_perf_state *table, size_t n, u64 freq)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (table[i].frequency >= freq)
			return (s64)i;
	}
	return (s64)n - 1;
}

/*
 * Look-up in the 2021 table.
 *
 *	min_freq    +bin        +2 bin      +3 bin       max_freq
 *	|-----------|-----------|-----------|------------|
 *	entry[0]    entry[1]    entry[2]    entry[3]
 *
 * An entry is the lowest efficient state at or above the left edge of its bin.
 * As long as states are at least one bin apart, a bin holds at most one of
 * them, so a request inside it is served by its own entry or by the next.
 * A bin is never narrower than 1024 kHz, though: with states closer than that
 * the next entry may skip some, and after the last bin there is no next entry.
 * The patch reads it nevertheless; here it is -1.
 */
static inline s64 em_state_lut(const struct em_perf_state *table, size_t n,
			       const struct em_lut *lut, u64 freq)
{
	u64 min_freq, bin;

	if (n == 0 || lut->min_state >= n)
		return -1;
	min_freq = table[lut->min_state].frequency;
	if (freq <= min_freq)
		return (s64)lut->min_state;
	if (freq >= table[n - 1].frequency)
		return (s64)n - 1;

	bin = lut->shift < 64 ? (freq - min_freq) >> lut->shift : 0;
	if (bin >= lut->nr_entries || lut->entries[bin] >= n)
		return -1;
	if (table[lut->entries[bin]].frequency < freq) {
		bin++;
		if (bin >= lut->nr_entries || lut->entries[bin] >= n)
			return -1;
	}
	return (s64)lut->entries[bin];
}

/*
 * Energy of a domain up to 5.13: all its CPUs run at the state that the
 * busiest one asks for, and each is busy for its share of the time:
 *
 *	            power[s]   freq_max     sum_util
 *	energy =  ---------- * -------- * -----------  =  cost[s] * sum_util / scale_cpu
 *	                        freq[s]    scale_cpu
 *
 * `use_lut` is a constant wherever this is called.
 */
static inline struct em_energy em_cpu_energy_v5_0(const struct em_perf_domain *pd, u64 max_util,
						  u64 sum_util, const bool use_lut)
{
	struct em_energy out = { .state = -1 };

	if (sum_util == 0 || pd->nr_states == 0)
		return out;

	out.freq_req = map_util_freq_v5_0(max_util, pd->table[pd->nr_states - 1].frequency,
					  pd->scale_cpu);
	out.state = use_lut ? em_state_lut(pd->table, pd->nr_states, &pd->lut, out.freq_req)
			    : em_state_walk_v5_0(pd->table, pd->nr_states, out.freq_req);
	if (use_lut && out.state < 0) {
		out.past_end = true;
		return out;
	}
	out.energy = div_u64(pd->table[out.state].cost * sum_util, pd->scale_cpu);
	return out;
}

#endif
