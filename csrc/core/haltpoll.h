/* SPDX-License-Identifier: GPL-2.0-only */
/* The haltpoll governor of guests, drivers/cpuidle/governors/haltpoll.c of 6.1 and 6.19; see haltpoll.c. */
#ifndef SCHEDPY_HALTPOLL_H
#define SCHEDPY_HALTPOLL_H

#include "idle.h"

struct haltpoll {
	s64 last_state_idx;
	u64 poll_limit;			/* ns */
	u64 poll_time_limit;		/* the last poll gave up */
};

idle_run_fn haltpoll_run_v6_1;
idle_wrong_fn haltpoll_wrong_v6_1;

#endif
