/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Utilisation of a CPU and what fits, 6.1, 6.12 and 7.3: kernel/sched/fair.c, kernel/sched/core.c and
 * kernel/sched/cpufreq_schedutil.c.
 */
#ifndef SCHEDPY_EAS_V6_H
#define SCHEDPY_EAS_V6_H

#include "eas.h"

/*
 * From 6.5 the frequency follows runnable_avg too, which grows with contention where the other
 * cannot: it is moved with the task as util_avg is, and the larger counts.
 */
static inline u64 eas_cpu_util_boost_v6_12(s64 cpu, s64 dst_cpu, s64 prev_cpu, u64 util_avg, u64 util_est,
					   u64 runnable_avg, u64 cpu_util_avg, u64 cpu_util_est,
					   u64 cpu_runnable_avg, u64 scale_cpu)
{
	const u64 by_util = eas_cpu_util_v5_13(cpu, dst_cpu, prev_cpu, util_avg, util_est, cpu_util_avg,
					       cpu_util_est, scale_cpu);
	const u64 by_runnable = cpu_util_next(cpu, dst_cpu, prev_cpu, runnable_avg, 0, cpu_runnable_avg, 0,
					      scale_cpu);

	return larger(by_util, by_runnable);
}

/* From 5.14 the clamps of a run queue flagged idle do not count beside a task's. */
static inline u64 join_clamp_v5_14(u64 rq_clamp, bool rq_idle, u64 task_clamp, bool has_task)
{
	return has_task && rq_idle ? task_clamp : join_clamp_v5_12(rq_clamp, task_clamp, has_task);
}

static inline u64 eas_freq_util_v6_1(u64 util_cfs, u64 rt, u64 dl, u64 bw_dl, u64 irq, u64 max,
				     u64 rq_uclamp_min, u64 rq_uclamp_max, bool rq_uclamp_idle,
				     bool rt_runnable, bool uclamp_used, u64 task_uclamp_min,
				     u64 task_uclamp_max, bool has_task)
{
	const u64 lo = join_clamp_v5_14(rq_uclamp_min, rq_uclamp_idle, task_uclamp_min, has_task);
	const u64 hi = join_clamp_v5_14(rq_uclamp_max, rq_uclamp_idle, task_uclamp_max, has_task);

	return effective_freq_util_v5_12(util_cfs, rt, dl, bw_dl, irq, max, lo, hi, uclamp_used, rt_runnable);
}

/* Both kinds at once, for arrays. */
static inline void eas_effective_util_v6_1(u64 util_cfs, u64 rt, u64 dl, u64 bw_dl, u64 irq, u64 max,
					   u64 rq_uclamp_min, u64 rq_uclamp_max, bool rq_uclamp_idle,
					   bool rt_runnable, bool uclamp_used, u64 task_uclamp_min,
					   u64 task_uclamp_max, bool has_task, u64 *freq_util,
					   u64 *energy_util)
{
	*freq_util = eas_freq_util_v6_1(util_cfs, rt, dl, bw_dl, irq, max, rq_uclamp_min, rq_uclamp_max,
					rq_uclamp_idle, rt_runnable, uclamp_used, task_uclamp_min,
					task_uclamp_max, has_task);
	*energy_util = effective_energy_util_v5_12(util_cfs, rt, dl, irq, max);
}

/*
 * What clamps the request of a CPU, from 6.8: at least what interrupts take and deadline tasks have
 * reserved, and all there is if a real-time task waits and no clamps are in use.
 */
static inline void eas_util_bounds_v6_12(u64 bw_dl, u64 irq, u64 max, u64 rq_uclamp_min, u64 rq_uclamp_max,
					 bool rt_runnable, bool uclamp_used, u64 *util_min, u64 *util_max)
{
	const u64 served = irq + bw_dl;

	if (irq >= max) {
		*util_min = *util_max = max;
		return;
	}
	*util_min = larger(served, rq_uclamp_min);
	if (!uclamp_used && rt_runnable)
		*util_min = larger(*util_min, max);
	*util_max = smaller(max, rq_uclamp_max);
}

/*
 * The busy time, called actual from 6.8, is what ENERGY was before. The head-room of 25 % may lift a
 * request to the upper clamp, not above it.
 */
static inline u64 eas_perf_v6_12(u64 util_cfs, u64 rt, u64 dl, u64 bw_dl, u64 irq, u64 max,
				 u64 rq_uclamp_min, u64 rq_uclamp_max, bool rq_uclamp_idle,
				 bool rt_runnable, bool uclamp_used, u64 task_uclamp_min,
				 u64 task_uclamp_max, bool has_task)
{
	const u64 util = map_util_perf(effective_energy_util_v5_12(util_cfs, rt, dl, irq, max));
	u64 lo, hi;

	eas_util_bounds_v6_12(bw_dl, irq, max, rq_uclamp_min, rq_uclamp_max, rt_runnable, uclamp_used, &lo,
			      &hi);
	if (has_task && uclamp_used) {
		lo = larger(lo, task_uclamp_min);
		hi = rq_uclamp_idle ? task_uclamp_max : larger(hi, task_uclamp_max);
	}
	return larger(lo, smaller(util, hi));
}

/* Request, busy time and bounds at once, for arrays. */
static inline void eas_effective_util_v6_12(u64 util_cfs, u64 rt, u64 dl, u64 bw_dl, u64 irq, u64 max,
					    u64 rq_uclamp_min, u64 rq_uclamp_max, bool rq_uclamp_idle,
					    bool rt_runnable, bool uclamp_used, u64 task_uclamp_min,
					    u64 task_uclamp_max, bool has_task, u64 *perf, u64 *actual,
					    u64 *util_min, u64 *util_max)
{
	*perf = eas_perf_v6_12(util_cfs, rt, dl, bw_dl, irq, max, rq_uclamp_min, rq_uclamp_max,
			       rq_uclamp_idle, rt_runnable, uclamp_used, task_uclamp_min, task_uclamp_max,
			       has_task);
	*actual = effective_energy_util_v5_12(util_cfs, rt, dl, irq, max);
	eas_util_bounds_v6_12(bw_dl, irq, max, rq_uclamp_min, rq_uclamp_max, rt_runnable, uclamp_used,
			      util_min, util_max);
}

/*
 * 1: it fits. 0: it does not. -1: it does, but pressure leaves less than the lower clamp asks for.
 *
 *	util below 80 % of capacity_of, or an upper clamp that the CPU can serve as it stands
 */
static inline int eas_util_fits_cpu_v6_1(u64 util, u64 uclamp_min, u64 uclamp_max, u64 capacity_orig,
					 u64 capacity_of, u64 pressure, bool uclamp_used)
{
	bool fits = fits_capacity(util, capacity_of);

	if (!uclamp_used)
		return fits;
	fits = fits || (!(capacity_orig == 1024 && uclamp_max == 1024) && uclamp_max <= capacity_orig);
	uclamp_min = smaller(uclamp_min, uclamp_max);
	if (fits && util < uclamp_min && uclamp_min > capacity_orig - pressure)
		return -1;
	return fits;
}

#endif
