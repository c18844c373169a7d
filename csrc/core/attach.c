/* SPDX-License-Identifier: GPL-2.0-only */
#include "attach.h"

#include "math64.h"
#include "weight.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum era { v4_10, v4_15, v5_7, v5_18 };

#define LOAD_AVG_MAX 47742u

/* What a sum can be divided by at the least: the start of a window. */
#define MIN_DIVIDER (LOAD_AVG_MAX - PELT_PERIOD)

/*
 * The load_sum that makes up load_avg at this place in the window. Where the
 * quotient is 0 although the average is not, a run queue would later find an
 * average without a sum: from 5.18 it is 1 then (40f5aa4c5eae). That form no
 * longer excepts a weight of 0.
 */
ALWAYS_INLINE u64 load_sum_of(u64 load_avg, u32 divider, u64 weight, enum era era)
{
	const u64 product = load_avg * divider;

	if (era >= v5_18)
		return weight < product ? div_u64(product, weight) : 1;
	return weight ? product / weight : divider;
}

/*
 * Up to 4.14 the sums move as they are although the run queue may be elsewhere
 * in its window, and load_sum has the weight in it. From 4.15 the averages are
 * what moves: the sums are made anew for the run queue's place in the window.
 */
ALWAYS_INLINE void attach(struct pelt_avg *se, struct pelt_avg *cfs, u64 weight, enum era era)
{
	se->last_update_time = cfs->last_update_time;
	if (era >= v4_15) {
		const u32 divider = MIN_DIVIDER + (u32)(cfs->period_contrib % PELT_PERIOD);

		se->period_contrib = cfs->period_contrib;
		se->util_sum = (u32)(se->util_avg * divider);
		se->load_sum = load_sum_of(se->load_avg, divider, weight, era);
		se->runnable_sum = era < v5_7 ? se->load_sum : se->runnable_avg * divider;
	}
	cfs->load_avg += se->load_avg;
	cfs->load_sum += era < v4_15 ? se->load_sum : weight * se->load_sum;
	cfs->util_avg += se->util_avg;
	cfs->util_sum = (u32)(cfs->util_sum + se->util_sum);
	if (era >= v5_7) {
		cfs->runnable_avg += se->runnable_avg;
		cfs->runnable_sum += se->runnable_sum;
	}
}

ALWAYS_INLINE u64 subtract_down_to_zero(u64 from, u64 what)
{
	return from > what ? from - what : 0;
}

/*
 * Sum and average were rounded apart, so after the subtraction the sum may be
 * too small for the average that is left. From 5.17 it is raised to the least
 * that the average can stand for, and both are compared as 32 bits, which is
 * all that util_sum has but cuts the two others (98b0d890220d, 2d02fa8cc21a,
 * 95246d1ec80b; type corrected after 6.19).
 */
ALWAYS_INLINE u64 sum_left(u64 from, u64 what, u64 avg_left, enum era era)
{
	const u64 left = subtract_down_to_zero(from, what);
	const u32 least = (u32)(avg_left * MIN_DIVIDER);

	if (era < v5_18)
		return left;
	return (u32)left > least ? (u32)left : least;
}

ALWAYS_INLINE void detach(struct pelt_avg *se, struct pelt_avg *cfs, u64 weight, enum era era)
{
	const u64 load_sum = era < v4_15 ? se->load_sum : weight * se->load_sum;

	cfs->load_avg = subtract_down_to_zero(cfs->load_avg, se->load_avg);
	cfs->load_sum = sum_left(cfs->load_sum, load_sum, cfs->load_avg, era);
	cfs->util_avg = subtract_down_to_zero(cfs->util_avg, se->util_avg);
	cfs->util_sum = (u32)sum_left(cfs->util_sum, se->util_sum, cfs->util_avg, era);
	if (era >= v5_7) {
		cfs->runnable_avg = subtract_down_to_zero(cfs->runnable_avg, se->runnable_avg);
		cfs->runnable_sum =
			sum_left(cfs->runnable_sum, se->runnable_sum, cfs->runnable_avg, era);
	}
}

#define ATTACH_DEFINE(op, version)                                                   \
	void op##_##version(struct pelt_avg *se, struct pelt_avg *cfs, u64 weight) \
	{                                                                            \
		op(se, cfs, weight, version);                                        \
	}
ATTACH_FORMS(ATTACH_DEFINE)

/*
 * A new task gets the share of the run queue's utilisation that its weight has
 * of the load, but no more than half of what the CPU has left; that half where
 * the queue is empty. A difference below zero is halved towards zero.
 */
ALWAYS_INLINE u64 first_util_avg(u64 cfs_util_avg, u64 cfs_load_avg, u64 capacity, u64 weight)
{
	const u64 left = capacity - cfs_util_avg, half = left / 2;
	u64 share;

	if (left >> 63 || half == 0)
		return 0;
	if (cfs_util_avg == 0)
		return half;
	share = div_u64(cfs_util_avg * weight, cfs_load_avg + 1);
	return share < half ? share : half;
}

u64 post_init_entity_util_avg_v4_10(u64 cfs_util_avg, u64 cfs_load_avg, u64 capacity, u64 raw)
{
	(void)capacity;
	return first_util_avg(cfs_util_avg, cfs_load_avg, 1024, raw);
}

/* The capacity of the CPU instead of a full one. */
u64 post_init_entity_util_avg_v4_15(u64 cfs_util_avg, u64 cfs_load_avg, u64 capacity, u64 raw)
{
	return first_util_avg(cfs_util_avg, cfs_load_avg, capacity, raw);
}

/* Up to 6.9 the weight's 10 further bits make the share 1024 times too large (72bffbf57c52). */
u64 post_init_entity_util_avg_v6_10(u64 cfs_util_avg, u64 cfs_load_avg, u64 capacity, u64 raw)
{
	return first_util_avg(cfs_util_avg, cfs_load_avg, capacity, scale_load_down_v5_7(raw));
}
