/* SPDX-License-Identifier: GPL-2.0-only */
/* The TEO governor, drivers/cpuidle/governors/teo.c of 6.1.192 and 6.19; see teo.c. */
#ifndef SCHEDPY_TEO_H
#define SCHEDPY_TEO_H

#include "idle.h"

#define TEO_RECENT 9
/* No metric of a kernel passes 8 * 1024 by much; from states with more, sums would pass 32 bits. */
#define TEO_METRIC_MAX (1u << 24)

/* Times in ns. A state's bin holds the idles as long as the state pays and the next one does not. */
struct teo_v6_1 {
	s64 last_state_idx;		/* -1: none yet */
	s64 last_residency;
	s64 sleep_length;
	s64 time_span;			/* from select to reflect, or as long as the sleep */
	s64 predicted;
	u64 total;
	u64 next_recent_idx;
	u64 hits[IDLE_STATES_MAX];	/* the timer woke, or might have */
	u64 intercepts[IDLE_STATES_MAX];
	u64 recent[IDLE_STATES_MAX];	/* how many of the last nine idles were intercepts, by bin */
	s64 recent_idx[TEO_RECENT];	/* their bins; -1: no intercept */
};

struct teo_v6_19 {
	s64 last_state_idx;
	s64 last_residency;
	s64 sleep_length;		/* INT64_MAX where the timer was not read */
	s64 predicted;
	u64 total;
	u64 tick_wakeup, poll_time_limit;
	u64 short_idles;
	u64 tick_intercepts;		/* intercepts within a tick */
	u64 total_tick;			/* wake-ups by the tick */
	u64 hits[IDLE_STATES_MAX];
	u64 intercepts[IDLE_STATES_MAX];
};

idle_run_fn teo_run_v6_1, teo_run_v6_19;
idle_wrong_fn teo_wrong_v6_1, teo_wrong_v6_19;

#endif
