/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The update of 3.8 .. 4.11, kernel/sched/fair.c: __update_entity_runnable_avg()
 * up to 4.0, __update_load_avg() from 4.3. Included by pelt.c alone.
 */
#ifndef SCHEDPY_PELT_V3_8_H
#define SCHEDPY_PELT_V3_8_H

#include "pelt_rule.h"

/* These kernels have their half-life and their limits written into them. */
#define V3_8_LOAD_AVG_MAX 47742u
#define V3_8_LOAD_AVG_MAX_N 345u
#define V3_8_HALF_LIFE 32u

ALWAYS_INLINE bool params_valid_v3_8(const struct pelt_params *params)
{
	return params->half_life == V3_8_HALF_LIFE && params->load_avg_max == V3_8_LOAD_AVG_MAX;
}

/* 1024 (y + ... + y^n), each rounded down from the one before: n = 0 .. 32. */
static const u32 runnable_avg_yN_sum[V3_8_HALF_LIFE + 1] = {
	0, 1002, 1982, 2941, 3880, 4798, 5697, 6576, 7437, 8279, 9103,
	9909, 10698, 11470, 12226, 12966, 13690, 14398, 15091, 15769, 16433, 17082,
	17718, 18340, 18949, 19545, 20128, 20698, 21256, 21802, 22336, 22859, 23371,
};

/* The same for n = 0, 32, 64, ...: half of the one before, and 32 windows more. */
static const u32 runnable_avg_y32N_sum[V3_8_LOAD_AVG_MAX_N / V3_8_HALF_LIFE + 1] = {
	0, 23371, 35056, 40899, 43820, 45281, 46011, 46376, 46559, 46650, 46696,
};

/*
 * n whole windows that ended with the last: 1024 (y + ... + y^n). The last 1 to
 * 32 of them are in a table. What is before them is built up 32 windows at a
 * time, then decayed over the windows of the table. inverse is the entry for n
 * modulo 32.
 */
ALWAYS_INLINE u32 whole_windows(u64 n, u32 inverse, enum era era)
{
	u32 left = (u32)n, before = 0;

	if (n <= V3_8_HALF_LIFE)
		return runnable_avg_yN_sum[n];
	if (n >= V3_8_LOAD_AVG_MAX_N)
		return V3_8_LOAD_AVG_MAX;
	if (era >= v4_7) {
		/* No loop, and 0 to 31 windows are left: one more at n = 64, 96, ... */
		before = runnable_avg_y32N_sum[left / V3_8_HALF_LIFE];
		left %= V3_8_HALF_LIFE;
	} else {
		do {
			before = before / 2 + runnable_avg_yN_sum[V3_8_HALF_LIFE];
			left -= V3_8_HALF_LIFE;
		} while (left > V3_8_HALF_LIFE);
	}
	before = (u32)decay_load_v4_3(before, left, V3_8_HALF_LIFE, inverse);
	return before + runnable_avg_yN_sum[left];
}

/*
 * 3.8: a queued task's time counts, and all time does: both sums have 32 bits.
 * 4.3: load gets the weight, queued or not so is in it; util the running time,
 *      of which a slow CPU counts a part.
 * 4.4: the frequency scales load too, the CPU's capacity util, whose scale is
 *      1024 times that of 4.3.
 * units is a head, whole windows or a tail; the kernel scales the three apart
 * and keeps the first two in 32 bits.
 */
ALWAYS_INLINE void add_units(struct pelt_avg *a, u64 units, bool narrow, const struct update *u,
			     struct rule rule)
{
	u64 scaled = (units * u->scale_freq) >> 10, util = scaled;

	if (rule.era == v3_8) {
		a->load_sum = (u32)(a->load_sum + u->load * units);
		a->runnable_sum = (u32)(a->runnable_sum + units);
		return;
	}
	if (rule.era < v4_4) {
		scaled = units;
	} else {
		if (narrow)
			scaled = (u32)scaled;
		util = scaled * u->scale_cpu;
	}
	a->load_sum += u->load * scaled;
	if (tracks_runnable(rule))
		a->runnable_sum += u->load * scaled;
	a->util_sum = (u32)(a->util_sum + if_set(u->running, util));
}

/* How much of the open window has passed: in 3.8 the sum of all time tells. */
ALWAYS_INLINE u64 units_in_window(const struct pelt_avg *a, struct rule rule)
{
	return rule.era == v3_8 ? a->runnable_sum % PELT_PERIOD : a->period_contrib;
}

/*
 * A window that ends in between is filled first, and everything so far decays
 * over it and over the whole windows that follow:
 *
 *	[.......#####][###########] ... [###########][####.......]
 *	        head       periods whole windows      tail
 *
 * so that the head decays together with what was there before, over
 * periods + 1 windows. Returns whether a window ended.
 *
 * The last update is now, whatever was left of a unit: it is lost (changed by
 * bb0bd044e65c, 4.12).
 */
ALWAYS_INLINE bool update_sums_v3_8(struct pelt_avg *a, const struct update *u, struct rule rule,
				    const struct pelt_params *params)
{
	const u64 passed = units_in_window(a, rule);
	u64 delta = u->now - a->last_update_time;
	bool ended = false;

	if ((s64)delta < 0) {
		a->last_update_time = u->now;
		return false;
	}
	delta >>= 10;
	if (delta == 0)
		return false;
	a->last_update_time = u->now;

	if (delta + passed >= PELT_PERIOD) {
		const u64 head = PELT_PERIOD - passed;
		const u64 periods = (delta - head) / PELT_PERIOD;
		const struct decay d = decay_over(periods + 1, params);
		const u32 inverse = params->inverse[periods % V3_8_HALF_LIFE];

		add_units(a, head, true, u, rule);
		a->load_sum = decay_by(a->load_sum, d);
		if (rule.era == v3_8 || tracks_runnable(rule))
			a->runnable_sum = decay_by(a->runnable_sum, d);
		if (rule.era > v3_8)
			a->util_sum = (u32)decay_by(a->util_sum, d);
		add_units(a, whole_windows(periods, inverse, rule.era), true, u, rule);
		delta = (delta - head) % PELT_PERIOD;
		ended = true;
	}
	add_units(a, delta, false, u, rule);
	if (rule.era > v3_8)
		a->period_contrib = ended ? delta : passed + delta;
	return ended;
}

#endif
