/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock that PELT reads: time stretched by the capacity the CPU had.
 * update_rq_clock_pelt() and update_idle_rq_clock_pelt() of
 * kernel/sched/pelt.h, 5.1 .. 6.19.
 */
#ifndef SCHEDPY_CLOCK_PELT_H
#define SCHEDPY_CLOCK_PELT_H

#include "types.h"

/* ns; PELT's now is clock_pelt - lost_idle_time. */
struct clock_pelt {
	u64 clock_task;
	u64 clock_pelt;
	u64 lost_idle_time;
	u64 clock_idle;		/* both stamps from 6.0 */
	u64 clock_pelt_idle;
};

/* The task clock goes on by delta_ns; then, perhaps, the CPU becomes idle. */
struct clock_pelt_step {
	u64 delta_ns;
	u64 curr_is_idle;
	u64 entering_idle;
	u64 util_sum;		/* of cfs, rt and dl together */
	u64 cpu_scale;
	u64 freq_scale;
	u64 multiplier;		/* of time; 1: the kernel as released */
};

typedef void clock_pelt_fn(struct clock_pelt *clock, const struct clock_pelt_step *step);

clock_pelt_fn clock_pelt_v5_1;
clock_pelt_fn clock_pelt_v6_0;

#endif
