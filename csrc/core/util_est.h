/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * util_est: what a task's utilisation was when it last went to sleep, kept
 * while it sleeps and lent to the run queue while it is queued.
 * kernel/sched/fair.c of 4.17 .. 6.19.
 */
#ifndef SCHEDPY_UTIL_EST_H
#define SCHEDPY_UTIL_EST_H

#include "types.h"

/*
 * Words of 32 bits in the kernel and here, each in a u64. The task's enqueued
 * holds a flag besides: util_avg has not changed since it was stored. From
 * 6.8 it is the only word of a task, and the ewma is not read or written.
 */
struct util_est_state {
	u64 task_enqueued_raw;
	u64 task_ewma;
	u64 cfs_enqueued;
};

/* A task's time on a run queue: it is enqueued, perhaps util_avg is refreshed, it is dequeued. */
struct util_est_stay {
	u64 util_enqueue;
	u64 util_dequeue;
	u64 runnable_avg;	/* read from 6.8 */
	u64 util_changed;
	u64 task_sleep;
	u64 capacity;		/* read from 5.1 to 6.18 */
};

struct util_est_seen {
	u64 cfs_enqueued_between;
	u64 cfs_enqueued_after;
	u64 task_util_est_at_enqueue;
	u64 task_util_est_after;
};

/*
 * Given:    state  before the task is enqueued; the words are cut to 32 bits
 *           stay   utilisations likewise; any value but 0 is true
 * Returned: state  after it was dequeued
 *           seen   the run queue's word while it was queued and after, and
 *                  task_util_est() at both ends
 */
typedef void util_est_fn(struct util_est_state *state, const struct util_est_stay *stay,
			 struct util_est_seen *seen);

#define UTIL_EST_FORMS(FORM) \
	FORM(v4_17)          \
	FORM(v5_1)           \
	FORM(v5_5)           \
	FORM(v5_13)          \
	FORM(v6_8)           \
	FORM(v6_19)

#define UTIL_EST_DECLARE(version) util_est_fn util_est_##version;
UTIL_EST_FORMS(UTIL_EST_DECLARE)
#undef UTIL_EST_DECLARE

#endif
