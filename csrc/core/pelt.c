/* SPDX-License-Identifier: GPL-2.0-only */
#include "pelt.h"

#include "math64.h"
#include "pelt_rule.h"
#include "pelt_v3_8.h"

u64 decay_load_v4_12(u64 val, u64 n, u32 half_life, u32 inverse)
{
	if (decayed_to_nothing(n, half_life))
		return 0;
	return decay_by(val, (struct decay){ (u32)n / half_life, inverse });
}

u64 decay_load_v4_3(u64 val, u64 n, u32 half_life, u32 inverse)
{
	return n ? decay_load_v4_12(val, n, half_life, inverse) : val;
}

/* The product is 64 bits wide and wraps for values from 2^32 on. */
u64 decay_load_v3_8(u64 val, u64 n, u32 half_life, u32 inverse)
{
	if (n == 0)
		return val;
	if (decayed_to_nothing(n, half_life))
		return 0;
	return ((val >> (u32)n / half_life) * inverse) >> 32;
}

/*
 * An update may span several windows. Cut at the window ends, what it adds has
 * a head, a body and a tail, and only the head and the body have decayed:
 *
 *	   last update                                   now
 *	        v                                         v
 *	[.......#####][###########] ... [###########][####.......]
 *	        head        body: periods - 1         tail
 *	         d1         windows of 1024            d3
 *
 *	head   d1 units, `periods` window ends ago:   d1 y^periods
 *	tail   d3 units of the window still open:     d3
 *	body   1024 (y + y^2 + ... + y^(periods-1)), which needs no loop: with
 *	       MAX = 1024 (1 + y + y^2 + ...) the terms from y^periods on are
 *	       MAX y^periods and the term of y^0 is 1024, so the body is
 *	       MAX - MAX y^periods - 1024
 *
 * For one window end the body is empty and the formula gives 0 but for
 * rounding. 4.12 .. 6.19, modulo 2^32.
 */
ALWAYS_INLINE u32 segments(struct decay d, u32 d1, u32 d3, u32 load_avg_max)
{
	const u32 head = (u32)decay_by(d1, d);
	const u32 body = load_avg_max - (u32)decay_by(load_avg_max, d) - PELT_PERIOD;

	return head + body + d3;
}

u32 accumulate_segments(u64 periods, u32 d1, u32 d3, u32 half_life, u32 inverse,
			u32 load_avg_max)
{
	struct decay d = { 0, 0 };

	if (!decayed_to_nothing(periods, half_life))
		d = (struct decay){ (u32)periods / half_life, inverse };
	return segments(d, d1, d3, load_avg_max);
}

/*
 * 3.8:          a queued task's time counts; the weight multiplies the average.
 * 4.3 .. 4.14:  a task adds its weight to load_sum while it is queued.
 * 4.15 on:      it adds 1, and the weight multiplies the average again
 *               (c7b50216818e); up to 5.6 runnable_load_avg has its own weight.
 */
ALWAYS_INLINE void task_update(struct update *u, const struct pelt_events *ev, size_t i, enum era era)
{
	const bool queued = ev->on_rq[i] != 0;

	if (era > v3_8)
		u->running = ev->running[i] != 0;
	if (era > v3_8 && era < v4_15) {
		u->load = if_set(queued, ev->weight[i]);
	} else {
		u->load = u->runnable = queued;
		u->load_weight = ev->weight[i];
		if (era >= v4_15 && era < v5_7)
			u->runnable_weight = ev->runnable[i];
	}
}

/*
 * 4.3 .. 4.14: runnable_load_sum gets the same weight as load_sum.
 * 4.15 .. 5.6: it gets the runnable weight. From 5.7 the number of runnable tasks.
 */
ALWAYS_INLINE void cfs_rq_update(struct update *u, const struct pelt_events *ev, size_t i, enum era era)
{
	u->running = ev->running[i] != 0;
	u->load = ev->weight[i];
	u->runnable = era < v4_15 ? u->load : ev->runnable[i];
}

ALWAYS_INLINE struct update read_event(const struct pelt_events *ev, size_t i, struct rule rule)
{
	struct update u = { .now = ev->now[i], .load_weight = 1, .runnable_weight = 1 };

	if (rule.entity == task)
		task_update(&u, ev, i, rule.era);
	else if (rule.entity == cfs_rq)
		cfs_rq_update(&u, ev, i, rule.era);
	else if (rule.entity == rt)
		u.load = u.runnable = u.running = ev->running[i] != 0;
	if (rule.era > v3_8 && (rule.era < v5_1 || rule.entity == irq))
		u.scale_freq = ev->scale_freq[i];
	if (rule.era > v4_3 && (rule.era < v5_1 || rule.entity == irq))
		u.scale_cpu = ev->scale_cpu[i];
	return u;
}

/* All sums, and the segments that belong to the same d; the most common d has no shift. */
ALWAYS_INLINE u32 decay_sums(struct pelt_avg *a, struct decay d, u32 rest, struct rule rule,
			     const struct pelt_params *params)
{
	a->load_sum = decay_by(a->load_sum, d);
	if (tracks_runnable(rule))
		a->runnable_sum = decay_by(a->runnable_sum, d);
	a->util_sum = (u32)decay_by(a->util_sum, d);
	return segments(d, PELT_PERIOD - (u32)a->period_contrib, rest, params->load_avg_max);
}

/*
 * Sums after delta units of 1024 ns. Returns the number of window ends passed.
 * Up to 5.0 capacities scale what is added; from 5.1 clock_pelt has scaled the
 * time already (23127296889f). From 5.7 runnable_sum has util_sum's scale of 1024.
 * A product with a weight, a number of tasks or a capacity is an unsigned long.
 */
ALWAYS_INLINE u64 accumulate_sum(struct pelt_avg *a, u64 delta, const struct update *u,
				 struct rule rule, const struct pelt_params *params)
{
	const u64 elapsed = delta + a->period_contrib;
	const u64 periods = elapsed / PELT_PERIOD;
	const u32 rest = (u32)(elapsed % PELT_PERIOD);
	u32 contrib = (u32)delta;
	u64 running;

	if (periods) {
		if (periods < params->half_life) {
			const struct decay d = { 0, params->inverse[periods] };

			contrib = decay_sums(a, d, rest, rule, params);
		} else {
			contrib = decay_sums(a, decay_over(periods, params), rest, rule, params);
		}
	}
	a->period_contrib = rest;

	if (rule.era < v5_1)
		contrib = (u32)(as_long(contrib * u->scale_freq, rule) >> 10);
	a->load_sum += as_long(u->load * contrib, rule);
	if (tracks_runnable(rule))
		a->runnable_sum += as_long((u->runnable * contrib) << (rule.era < v5_7 ? 0 : 10), rule);
	running = rule.era < v5_1 ? contrib * u->scale_cpu : contrib << 10;
	a->util_sum = (u32)(a->util_sum + if_set(u->running, running));
	return periods;
}

/*
 * What the sum of an entity that always runs is worth at this place in the
 * window: whole windows of the past add up to MAX y = MAX - 1024, and the one
 * still open gives period_contrib. Up to 4.12 the divider is MAX wherever it is
 * in the window (changed by 625ed2bf049d, 4.13).
 */
ALWAYS_INLINE u32 divider(const struct pelt_avg *a, struct rule rule,
			  const struct pelt_params *params)
{
	if (rule.era < v4_12)
		return V3_8_LOAD_AVG_MAX;
	if (rule.era < v4_13)
		return params->load_avg_max;
	return params->load_avg_max - PELT_PERIOD + (u32)a->period_contrib;
}

/* The product is a u64 whatever an unsigned long is; 3.8 has a u32 and divides by the time that there was. */
ALWAYS_INLINE u64 load_average(const struct pelt_avg *a, const struct update *u, u32 div,
			       struct rule rule)
{
	if (rule.era == v3_8)
		return div_u64((u32)(u->load_weight * a->load_sum), (u32)(a->runnable_sum + 1));
	return as_long(u->load_weight * a->load_sum / div, rule);
}

ALWAYS_INLINE u64 runnable_average(const struct pelt_avg *a, const struct update *u, u32 div,
				   struct rule rule)
{
	return as_long(u->runnable_weight * a->runnable_sum / div, rule);
}

/* The sum of 4.3 lacks the scale of 1024, which it is given in 32 bits. */
ALWAYS_INLINE u64 util_average(const struct pelt_avg *a, u32 div, struct rule rule)
{
	const u32 util_sum = (u32)a->util_sum;

	return (rule.era == v4_3 ? util_sum << 10 : util_sum) / div;
}

/*
 * Returns whether the averages have to be refreshed.
 *
 * accumulate_sum() of the kernel returns its number of windows as a u32, so
 * that a sleep of k * 2^32 windows counts as none. update_threshold is the 2017
 * proposal, never merged: refresh also when that much time has passed since
 * the last update of the sums.
 */
ALWAYS_INLINE bool update_sums(struct pelt_avg *a, struct update *u, struct rule rule,
			       const struct pelt_params *params)
{
	const u64 threshold = params->update_threshold;
	u64 delta = u->now - a->last_update_time;
	u64 periods;

	if (rule.era < v4_12)
		return update_sums_v3_8(a, u, rule, params);
	if ((s64)delta < 0) {
		a->last_update_time = u->now;
		return false;
	}
	delta >>= 10;
	if (delta == 0)
		return false;
	a->last_update_time += delta << 10;

	/* From 4.14: current but no longer queued (it is just being dequeued) is not running. */
	if (rule.era >= v4_14) {
		u->runnable = if_set(u->load != 0, u->runnable);
		u->running &= u->load != 0;
	}
	periods = accumulate_sum(a, delta, u, rule, params);
	return (u32)periods != 0 || (threshold != 0 && delta >= threshold);
}

/*
 * The time that interrupts took since the last update is known, not when: it
 * is taken to be the last before now. From 5.1 that time is scaled as
 * clock_pelt would scale it, by frequency first; before, the sums are.
 */
ALWAYS_INLINE bool update_sums_irq(struct pelt_avg *a, struct update *u, u64 time,
				   struct rule rule, const struct pelt_params *params)
{
	struct update before = *u;
	bool refresh;

	if (rule.era >= v5_1)
		time = (((time * u->scale_freq) >> 10) * u->scale_cpu) >> 10;
	before.now -= time;
	refresh = update_sums(a, &before, rule, params);
	u->load = u->runnable = u->running = true;
	return update_sums(a, u, rule, params) || refresh;
}

/* Event i. Returns whether the averages were refreshed. */
ALWAYS_INLINE bool update(struct pelt_avg *a, struct update *u, const struct pelt_events *ev,
			  size_t i, struct rule rule, const struct pelt_params *params)
{
	u32 div;

	if (rule.entity == irq) {
		if (!update_sums_irq(a, u, ev->runnable[i], rule, params))
			return false;
	} else if (!update_sums(a, u, rule, params)) {
		return false;
	}
	div = divider(a, rule, params);
	a->load_avg = load_average(a, u, div, rule);
	if (tracks_runnable(rule))
		a->runnable_avg = runnable_average(a, u, div, rule);
	if (rule.era > v3_8)
		a->util_avg = util_average(a, div, rule);
	return true;
}

#define RECORD(field, value)                \
	do {                                \
		if (out->field)             \
			out->field[i] = (value); \
	} while (0)

ALWAYS_INLINE void record_rest(const struct pelt_history *out, size_t i, const struct pelt_avg *a,
			       const struct update *u, bool updated, u32 div, struct rule rule)
{
	RECORD(last_update_time, a->last_update_time);
	RECORD(load_sum, a->load_sum);
	RECORD(runnable_sum, a->runnable_sum);
	RECORD(util_sum, a->util_sum);
	RECORD(period_contrib, a->period_contrib);
	RECORD(load_avg, a->load_avg);
	RECORD(runnable_avg, a->runnable_avg);
	RECORD(load_now, load_average(a, u, div, rule));
	RECORD(runnable_now, runnable_average(a, u, div, rule));
	RECORD(util_now, util_average(a, div, rule));
	RECORD(updated, updated);
}

/* Fields that are narrower in the kernel are cut, so that no state can make a divider zero. */
ALWAYS_INLINE void cut_to_width(struct pelt_avg *a, struct rule rule)
{
	a->util_sum = (u32)a->util_sum;
	a->period_contrib %= PELT_PERIOD;
	if (rule.era == v3_8) {
		a->load_sum = (u32)a->load_sum;
		a->runnable_sum = (u32)a->runnable_sum;
	}
}

ALWAYS_INLINE void one_event(struct pelt_avg *a, size_t i, const struct pelt_events *ev,
			     const struct pelt_history *out, bool rest,
			     const struct pelt_params *params, struct rule rule)
{
	struct update u = read_event(ev, i, rule);
	const bool updated = update(a, &u, ev, i, rule, params);

	RECORD(util_avg, a->util_avg);
	if (rest)
		record_rest(out, i, a, &u, updated, divider(a, rule, params), rule);
}

/* So many events ahead the next states are fetched: far enough for those that no cache holds. */
#define PREFETCH 16

/*
 * Everything the loop reads beside the events is copied to locals: a store
 * through the history's byte column could alias it otherwise.
 */
ALWAYS_INLINE void track(struct pelt_avg *avg, size_t n, const struct pelt_events *events,
			 const struct pelt_history *history, const struct pelt_params *given,
			 struct rule rule)
{
	const struct pelt_params params = *given;
	const struct pelt_events ev = *events;
	const struct pelt_history out = *history;
	const bool rest = pelt_wants_rest(history);

	if (!(rule.era < v4_12 ? params_valid_v3_8(given) : pelt_params_valid(given)))
		return;
	if (ev.index) {
		for (size_t i = 0; i < n; i++) {
			struct pelt_avg a;

			if (i + PREFETCH < n && ev.index[i + PREFETCH] < ev.entities)
				__builtin_prefetch(&avg[ev.index[i + PREFETCH]], 1);
			if (ev.index[i] >= ev.entities)
				continue;
			a = avg[ev.index[i]];
			cut_to_width(&a, rule);
			one_event(&a, i, &ev, &out, rest, &params, rule);
			avg[ev.index[i]] = a;
		}
	} else {
		struct pelt_avg a = *avg;

		cut_to_width(&a, rule);
		for (size_t i = 0; i < n; i++)
			one_event(&a, i, &ev, &out, rest, &params, rule);
		*avg = a;
	}
}

#define PELT_DEFINE(entity, version)                                                        \
	void pelt_track_##entity##_##version(struct pelt_avg *avg, size_t n,                \
					     const struct pelt_events *ev,                  \
					     const struct pelt_history *out,                \
					     const struct pelt_params *params)              \
	{                                                                                   \
		const struct rule rule = { (enum era)(version & ~LONG_32), entity,          \
					   (version & LONG_32) != 0 };                      \
                                                                                            \
		track(avg, n, ev, out, params, rule);                                       \
	}
PELT_FORMS(PELT_DEFINE)

bool pelt_params_valid(const struct pelt_params *params)
{
	const u32 highest = params->load_avg_max;

	return params->half_life >= 1 && params->half_life <= PELT_HALF_LIFE_LIMIT &&
	       highest > PELT_PERIOD && highest <= PELT_LOAD_AVG_MAX_LIMIT;
}

u32 compute_runnable_contrib_v3_8(u64 n, u32 inverse)
{
	return whole_windows(n, inverse, v3_8);
}

u32 compute_runnable_contrib_v4_7(u64 n, u32 inverse)
{
	return whole_windows(n, inverse, v4_7);
}
