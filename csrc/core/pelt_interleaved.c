/* SPDX-License-Identifier: GPL-2.0-only */
#include "pelt_interleaved.h"

#include "math64.h"
#include "pelt_rule.h"

/* Only tasks from 5.1 on, whose contributions are not scaled. */
#define PELT_INTERLEAVED_FORMS(FORM) \
	FORM(v5_1)                   \
	FORM(v5_7)

/* So many events ahead the next states are fetched: far enough for those that no cache holds. */
#define PREFETCH 16

/* The sums as they are in any kernel, and a step of less than a month: no product or shift below leaves its type. */
ALWAYS_INLINE bool is_common(const struct pelt_avg *a, u64 units)
{
	return ((units | a->load_sum | a->runnable_sum | a->util_sum) >> 31 |
		a->period_contrib / PELT_PERIOD) == 0;
}

ALWAYS_INLINE void settle(struct pelt_avg *a, struct pelt_due *due, struct rule rule)
{
	if (due->div == 0)
		return;
	a->load_avg = due->weight * due->load_sum / due->div;
	a->runnable_avg = (rule.era < v5_7 ? due->runnable : 1) * due->runnable_sum / due->div;
	due->div = 0;
}

/* y^n where the half-life is a power of two, by its logarithm. */
ALWAYS_INLINE struct decay decay_by_log(u64 n, u32 log, const u32 *inverse)
{
	const u64 shift = n >> log;

	return (struct decay){ shift < 32 ? (u32)shift : 32, inverse[n & ((1u << log) - 1)] };
}

/* decay_by() of what has 32 bits. */
ALWAYS_INLINE u64 decay_word(u64 val, struct decay d)
{
	return ((val >> d.shift) * d.inverse) >> 32;
}

/*
 * A task's update as derived in pelt.c. Whether a window has ended is asked once: mostly one has,
 * when the events of many tasks lie between two of one. alike: runnable_sum does as util_sum does.
 */
ALWAYS_INLINE void one_event(struct pelt_avg *a, struct pelt_due *due, u64 units, size_t i,
			     const struct pelt_events *ev, u32 highest, u32 log, const u32 *inverse,
			     bool alike, struct rule rule)
{
	const u64 elapsed = a->period_contrib + units, periods = elapsed / PELT_PERIOD;
	const u64 rest = elapsed % PELT_PERIOD;
	const bool queued = ev->on_rq[i] != 0, running = alike || ev->running[i] != 0;
	u64 load = a->load_sum, runnable = a->runnable_sum, util = a->util_sum, added = units;

	if (periods) {
		const struct decay d = decay_by_log(periods, log, inverse);

		load = decay_word(load, d);
		if (!alike)
			runnable = decay_word(runnable, d);
		util = decay_word(util, d);
		added = (u32)(decay_word(PELT_PERIOD - a->period_contrib, d) +
			      (highest - decay_word(highest, d)) - PELT_PERIOD + rest);
	}
	added = if_set(queued, added);
	load += added;
	if (!alike)
		runnable += rule.era < v5_7 ? added : added << 10;
	util = (u32)(util + if_set(running, added << 10));
	if (alike)
		runnable = util;
	a->last_update_time += units << 10;
	a->period_contrib = rest;
	a->load_sum = load;
	a->runnable_sum = runnable;
	a->util_sum = util;
	if (periods) {
		due->load_sum = load;
		due->runnable_sum = runnable;
		due->weight = ev->weight[i];
		due->runnable = ev->runnable[i];
		due->div = highest - PELT_PERIOD + (u32)rest;
		a->util_avg = (u32)util / due->div;
	}
}

ALWAYS_INLINE void track(struct pelt_avg *avg, size_t n, const struct pelt_events *events,
			 const struct pelt_history *history, const struct pelt_params *params,
			 pelt_track_fn *plain, struct rule rule)
{
	const u32 highest = params->load_avg_max, *const inverse = params->inverse;
	const struct pelt_events ev = *events;
	const bool alike = rule.era >= v5_7 && ev.on_rq == ev.running;
	struct pelt_due *const due = ev.due;
	u64 *const util_avg = history->util_avg;
	u32 log = 0;

	while (params->half_life >> (log + 1))
		log++;

	for (size_t i = 0; i < n; i++) {
		const u64 entity = ev.index[i];
		struct pelt_avg *a;
		u64 units;

		if (i + PREFETCH < n && ev.index[i + PREFETCH] < ev.entities)
			__builtin_prefetch(&avg[ev.index[i + PREFETCH]], 1);
		if (entity >= ev.entities)
			continue;
		a = &avg[entity];
		units = (ev.now[i] - a->last_update_time) >> 10;
		if (is_common(a, units) && alike && a->runnable_sum == a->util_sum) {
			one_event(a, &due[entity], units, i, &ev, highest, log, inverse, true, rule);
		} else if (is_common(a, units)) {
			one_event(a, &due[entity], units, i, &ev, highest, log, inverse, false, rule);
		} else {
			const struct pelt_events one = {
				.now = &ev.now[i], .weight = &ev.weight[i], .runnable = &ev.runnable[i],
				.running = &ev.running[i], .on_rq = &ev.on_rq[i],
			};
			const struct pelt_history none = { 0 };

			settle(a, &due[entity], rule);
			plain(a, 1, &one, &none, params);
		}
		util_avg[i] = a->util_avg;
	}
}

#define DEFINE(version)                                                                            \
	static void track_##version(struct pelt_avg *avg, size_t n, const struct pelt_events *ev,  \
				    const struct pelt_history *out,                                \
				    const struct pelt_params *params)                              \
	{                                                                                          \
		const struct rule rule = { version, task, false };                                 \
                                                                                                   \
		track(avg, n, ev, out, params, pelt_track_task_##version, rule);                   \
	}                                                                                          \
	static void settle_##version(struct pelt_avg *avg, struct pelt_due *due, size_t entities)  \
	{                                                                                          \
		const struct rule rule = { version, task, false };                                 \
                                                                                                   \
		for (size_t i = 0; i < entities; i++)                                              \
			settle(&avg[i], &due[i], rule);                                            \
	}
PELT_INTERLEAVED_FORMS(DEFINE)

#define WHEN(version)                           \
	if (plain == pelt_track_task_##version) \
		return (struct pelt_interleaved){ track_##version, settle_##version };

struct pelt_interleaved pelt_interleaved_for(pelt_track_fn *plain, const struct pelt_params *params,
					     const struct pelt_history *history)
{
	if (pelt_params_valid(params) && params->update_threshold == 0 &&
	    (params->half_life & (params->half_life - 1)) == 0 && history->util_avg && !pelt_wants_rest(history)) {
		PELT_INTERLEAVED_FORMS(WHEN)
	}
	return (struct pelt_interleaved){ NULL, NULL };
}
