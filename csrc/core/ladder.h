/* SPDX-License-Identifier: GPL-2.0-only */
/* The ladder governor, drivers/cpuidle/governors/ladder.c of 4.7.4, 6.1.192 and 6.19; see ladder.c. */
#ifndef SCHEDPY_LADDER_H
#define SCHEDPY_LADDER_H

#include "idle.h"

#define LADDER_PROMOTION_COUNT 4

/* Times in us for 4.7, in ns for 6.x. */
struct ladder {
	s64 last_state_idx;
	s64 last_residency;
	u64 promotion_count[IDLE_STATES_MAX];	/* long stays in a state since it was entered */
};

idle_run_fn ladder_run_v4_7, ladder_run_v6_1;
idle_wrong_fn ladder_wrong_v4_7, ladder_wrong_v6_1;

#endif
