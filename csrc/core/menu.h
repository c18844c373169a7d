/* SPDX-License-Identifier: GPL-2.0-only */
/* The menu governor, drivers/cpuidle/governors/menu.c of 4.7.4, 6.1.192 and 6.19; see menu.c. */
#ifndef SCHEDPY_MENU_H
#define SCHEDPY_MENU_H

#include "idle.h"

#define MENU_BUCKETS 12
#define MENU_INTERVALS 8

/* Times in us for 4.7, in ns for 6.x; intervals in us always. */
struct menu {
	u64 needs_update;
	s64 last_state_idx;
	s64 last_residency;
	u64 next_timer;
	u64 bucket;
	s64 predicted;			/* 6.1: -1 where select returned before it predicted */
	u64 interval_ptr;
	u64 tick_wakeup, poll_time_limit;	/* 6.x */
	u64 correction_factor[MENU_BUCKETS];	/* 6.19 has six */
	u64 intervals[MENU_INTERVALS];
};

idle_run_fn menu_run_v4_7, menu_run_v6_1, menu_run_v6_19;
idle_wrong_fn menu_wrong_v4_7, menu_wrong_v6_1, menu_wrong_v6_19;

/* get_typical_interval() of eight intervals in us; IDLE_UINT_MAX: there is none. */
u32 typical_interval_v4_7(const u64 *intervals);
u32 typical_interval_v6_1(const u64 *intervals, u32 predicted_us);
u32 typical_interval_v6_19(const u64 *intervals);

#endif
