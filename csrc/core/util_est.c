/* SPDX-License-Identifier: GPL-2.0-only */
#include "util_est.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Each form differs from the one before by a rule or two; see the first use of each. */
enum era { v4_17, v5_1, v5_5, v5_13, v6_8, v6_19 };

/* The two words of a task. */
struct words {
	u32 enqueued;
	u32 ewma;
};

/* A hundredth of the full capacity: what is closer counts as equal. */
#define MARGIN 10u

/* -MARGIN < difference < MARGIN, for a difference of words modulo 2^32. */
ALWAYS_INLINE bool within_margin(u32 difference)
{
	return difference + MARGIN - 1 < 2 * MARGIN - 1;
}

/*
 * Up to 5.12 the flag is bit 0, which costs the value its lowest bit and makes
 * the smallest estimate 1. From 5.13 it is bit 31, which no utilisation reaches
 * (b89997aa88f0), and it is taken off before anything is compared.
 */
ALWAYS_INLINE u32 unchanged_flag(enum era era)
{
	return era < v5_13 ? 1u : 1u << 31;
}

ALWAYS_INLINE u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

ALWAYS_INLINE u32 estimate(struct words w, enum era era)
{
	if (era >= v6_8)
		return w.enqueued & ~unchanged_flag(era);
	if (era >= v5_13)
		return larger(w.ewma, w.enqueued & ~unchanged_flag(era));
	return larger(w.ewma, w.enqueued) | (era >= v5_1 ? 1 : 0);
}

/*
 * What a queued task adds to the word of its run queue, and takes off again.
 * In 4.17 only this has bit 0 set; from 5.1 the estimate itself has.
 */
ALWAYS_INLINE u32 lent(struct words w, enum era era)
{
	return era < v5_1 ? estimate(w, era) | 1 : estimate(w, era);
}

/* The average moves a quarter of the way: ewma + difference / 4, modulo 2^32 before the shift. */
ALWAYS_INLINE u32 quarter_of_the_way(u32 ewma, u32 difference)
{
	return (4 * ewma + difference) >> 2;
}

/*
 * The last utilisation and its moving average, up to 6.7.
 *
 * From 5.1 a task that used more than its CPU has teaches nothing: it had no
 * idle time, so the value only says how long it was made to wait. From 5.5 the
 * average follows at once when utilisation goes up. From 5.13 a last value that
 * is stale is replaced even where the average is near enough to stay.
 */
ALWAYS_INLINE struct words learn_two(struct words w, u32 util, u64 capacity, enum era era)
{
	const u32 flag = unchanged_flag(era);
	const u32 last = era < v5_13 ? util | flag : util;
	u32 difference;

	if (era >= v5_5 && w.ewma < last)
		return (struct words){ last | flag, last };

	difference = last - w.ewma;
	if (within_margin(difference)) {
		if (era >= v5_13 && !within_margin(w.enqueued - last))
			w.enqueued = last | flag;
		return w;
	}
	if (era >= v5_1 && util > capacity)
		return w;
	return (struct words){ last | flag, quarter_of_the_way(w.ewma, difference) };
}

/*
 * The average alone, from 6.8. It follows up at once and down by quarters. It
 * stays where the task waited for the CPU, that is, was runnable for longer
 * than it ran; from 6.19 this is the only test for having been squeezed.
 */
ALWAYS_INLINE u32 learn_one(u32 ewma, u32 util, const struct util_est_stay *stay, enum era era)
{
	const u32 flag = unchanged_flag(era);

	if (ewma <= util)
		return util | flag;
	if (ewma - util < MARGIN)
		return ewma | flag;
	if (era < v6_19 && util > stay->capacity)
		return ewma;
	if ((u64)util + MARGIN < stay->runnable_avg)
		return ewma | flag;
	return quarter_of_the_way(ewma, util - ewma) | flag;
}

ALWAYS_INLINE void stay_on_queue(struct util_est_state *state, const struct util_est_stay *stay,
				 struct util_est_seen *seen, enum era era)
{
	const u32 flag = unchanged_flag(era), util = (u32)stay->util_dequeue;
	struct words w = { (u32)state->task_enqueued_raw, (u32)state->task_ewma };
	u32 queue = (u32)state->cfs_enqueued;

	seen->task_util_est_at_enqueue = larger((u32)stay->util_enqueue, estimate(w, era));
	queue += lent(w, era);
	seen->cfs_enqueued_between = queue;

	if (stay->util_changed)
		w.enqueued &= ~flag;

	/* Without the flag in bit 0 less may come back than was lent, but never more than is there. */
	queue -= lent(w, era) < queue ? lent(w, era) : queue;
	seen->cfs_enqueued_after = queue;

	if (stay->task_sleep && !(w.enqueued & flag)) {
		if (era < v6_8)
			w = learn_two(w, util, stay->capacity, era);
		else
			w.enqueued = learn_one(w.enqueued, util, stay, era);
	}
	seen->task_util_est_after = larger(util, estimate(w, era));
	state->task_enqueued_raw = w.enqueued;
	state->task_ewma = w.ewma;
	state->cfs_enqueued = queue;
}

#define UTIL_EST_DEFINE(version)                                                             \
	void util_est_##version(struct util_est_state *state, const struct util_est_stay *stay, \
				struct util_est_seen *seen)                                  \
	{                                                                                    \
		stay_on_queue(state, stay, seen, version);                                   \
	}
UTIL_EST_FORMS(UTIL_EST_DEFINE)
