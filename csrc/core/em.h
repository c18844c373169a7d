/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy model: performance states, their cost, and the energy of a domain.
 * Follows kernel/power/energy_model.c, include/linux/energy_model.h and
 * include/linux/sched/cpufreq.h of 5.12, 6.1, 6.12 and 7.3, and the look-up table of the
 * patch "PM / EM: Inefficient OPPs detection" (8 April 2021) on top of 5.12.
 */
#ifndef SCHEDPY_EM_H
#define SCHEDPY_EM_H

#include "em_lut.h"
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

/* How a state is looked up: as kernels do, by the 2021 patch, or in a way of em_lut.h. */
enum em_way { EM_WALK, EM_PATCH, EM_BINS, EM_HALVES, EM_DIRECT };

/* What the ways of em_lut.h need, over the states that may be chosen. */
struct em_ways {
	const u64 *key;
	const uint16_t *state;
	size_t n;
	struct em_bins bins;
	const uint16_t *direct;		/* index of a state, per utilisation */
	size_t nr_direct;
};

struct em_perf_domain {
	const struct em_perf_state *table;
	size_t nr_states;
	u64 scale_cpu;
	u64 cpus;		/* bit n: CPU n */
	struct em_lut lut;	/* of 5.12 */
	struct em_ways ways;	/* where they are timed */
	bool skip_inefficient;	/* from 5.16: inefficient states are passed over */
	size_t min_ps, max_ps;	/* from 6.13: the states allowed */
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

/* From 6.9 the head-room is the caller's and the state is looked for by performance: nothing is mapped. */

s64 em_first_refused(const u64 *freq, const u64 *power, size_t n, u64 max_power);
void em_create_table_v5_0(struct em_perf_state *table, const u64 *freq, const u64 *power,
			  size_t n);
void em_create_table_v5_12(struct em_perf_state *table, const u64 *freq, const u64 *power,
			   size_t n);

void em_create_table_v5_14(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			   u64 scale_cpu);
void em_create_table_v5_16(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			   u64 scale_cpu);
void em_create_table_v5_19(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			   u64 scale_cpu);
void em_create_table_v6_9(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			  u64 scale_cpu);
void em_change_capacity(struct em_perf_state *table, size_t n, u64 scale_cpu);

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

/* The state for a request; for a utilisation, where the table is by that. */
static inline s64 em_state_by(const struct em_perf_domain *pd, u64 max_util, u64 freq_req, const enum em_way way)
{
	const struct em_ways *ways = &pd->ways;

	switch (way) {
	case EM_PATCH:
		return em_state_lut(pd->table, pd->nr_states, &pd->lut, freq_req);
	case EM_BINS:
		return ways->state[em_bins_search(ways->key, ways->n, &ways->bins, freq_req)];
	case EM_HALVES:
		return ways->state[em_halve(ways->key, ways->n, freq_req)];
	case EM_DIRECT:
		return (s64)em_direct(ways->direct, ways->nr_direct, max_util);
	default:
		return em_state_walk_v5_0(pd->table, pd->nr_states, freq_req);
	}
}

/*
 * Energy of a domain up to 5.13: all its CPUs run at the state that the
 * busiest one asks for, and each is busy for its share of the time:
 *
 *	            power[s]   freq_max     sum_util
 *	energy =  ---------- * -------- * -----------  =  cost[s] * sum_util / scale_cpu
 *	                        freq[s]    scale_cpu
 *
 * `way` is a constant wherever this is called. A direct table needs no request: there it stays 0.
 */
static inline struct em_energy em_cpu_energy_v5_0(const struct em_perf_domain *pd, u64 max_util,
						  u64 sum_util, const enum em_way way)
{
	struct em_energy out = { .state = -1 };

	if (sum_util == 0 || pd->nr_states == 0)
		return out;

	if (way != EM_DIRECT)
		out.freq_req = map_util_freq_v5_0(max_util, pd->table[pd->nr_states - 1].frequency,
						  pd->scale_cpu);
	out.state = em_state_by(pd, max_util, out.freq_req, way);
	if (way == EM_PATCH && out.state < 0) {
		out.past_end = true;
		return out;
	}
	out.energy = div_u64(pd->table[out.state].cost * sum_util, pd->scale_cpu);
	return out;
}

/* Table walk of 5.16 .. 6.7: inefficient states are passed over, but for the last one. */
static inline s64 em_state_walk_v5_16(const struct em_perf_state *table, size_t n, u64 freq, bool skip)
{
	for (size_t i = 0; i < n; i++) {
		if (table[i].frequency >= freq && !(skip && table[i].inefficient))
			return (s64)i;
	}
	return (s64)n - 1;
}

/*
 * From 6.9: the first state in min_ps .. max_ps that performs so much, inefficient ones passed over,
 * else the last of them, whatever it is. -1 where the table has no such states. The range came
 * with 6.13; 6.9 .. 6.12 look at the whole table.
 */
static inline s64 em_state_walk_v6_9(const struct em_perf_domain *pd, u64 util)
{
	if (pd->min_ps > pd->max_ps || pd->max_ps >= pd->nr_states)
		return -1;
	for (size_t i = pd->min_ps; i <= pd->max_ps; i++) {
		if (pd->table[i].performance >= util &&
		    !(pd->skip_inefficient && pd->table[i].inefficient))
			return (s64)i;
	}
	return (s64)pd->max_ps;
}

/*
 * Energy of a domain, 5.16 .. 6.7: the request has its head-room before it is capped by what the
 * CPUs may deliver. On 32 bits (from 5.19) the cost is divided first, since a cost in uW times a sum of
 * utilisations may not fit. `long_32` is a constant wherever this is called.
 */
static inline struct em_energy em_cpu_energy_v5_16(const struct em_perf_domain *pd, u64 max_util,
						   u64 sum_util, u64 allowed_cpu_cap, const bool long_32)
{
	struct em_energy out = { .state = -1 };
	u64 util = map_util_perf(max_util), cost;

	if (sum_util == 0 || pd->nr_states == 0)
		return out;
	if (util > allowed_cpu_cap)
		util = allowed_cpu_cap;
	out.freq_req = map_util_freq_v5_14(util, pd->table[pd->nr_states - 1].frequency, pd->scale_cpu);
	out.state = em_state_walk_v5_16(pd->table, pd->nr_states, out.freq_req, pd->skip_inefficient);
	cost = pd->table[out.state].cost;
	out.energy = long_32 ? div_u64(cost, pd->scale_cpu) * sum_util
			     : div_u64(cost * sum_util, pd->scale_cpu);
	return out;
}

/* From 6.9: the cost is of a unit of performance already. */
static inline struct em_energy em_cpu_energy_v6_9(const struct em_perf_domain *pd, u64 max_util,
						  u64 sum_util, u64 allowed_cpu_cap)
{
	struct em_energy out = { .state = -1 };

	if (sum_util == 0)
		return out;
	out.state = em_state_walk_v6_9(pd, max_util < allowed_cpu_cap ? max_util : allowed_cpu_cap);
	if (out.state >= 0)
		out.energy = pd->table[out.state].cost * sum_util;
	return out;
}

#endif
