/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy-aware placement: utilisation of a CPU, what fits, and the choice of a
 * CPU for a waking task.  Follows kernel/sched/fair.c and
 * kernel/sched/cpufreq_schedutil.c of 5.12 and 5.13; eas_v6.h has what came later.
 */
#ifndef SCHEDPY_EAS_H
#define SCHEDPY_EAS_H

#include "em.h"

struct em_timed_table;

struct eas_task {
	u64 prev_cpu;
	u64 util_avg;
	u64 util_est;		/* without the flag bit; ewma is 0 */
	u64 runnable_avg;
	u64 uclamp_min, uclamp_max;
	u64 affinity;		/* bit n: may run on CPU n */
};

struct eas_cpu {
	u64 util_avg, util_est, runnable_avg;	/* of the CFS run queue */
	u64 rt, dl, bw_dl, irq;
	u64 capacity_of, pressure;
	u64 uclamp_min, uclamp_max;		/* of the run queue */
	u8 uclamp_idle, rt_runnable, online;
};

/* One call of compute_energy(); domain -1 pads. */
struct eas_call {
	u64 energy;
	s32 state;		/* looked up in the table, -1 if none was */
	int16_t domain;
	int16_t dst_cpu;
};

struct eas_case {
	const struct em_perf_domain *domains;
	size_t nr_domains;
	const struct eas_task *task;
	const struct eas_cpu *cpus;
	size_t nr_cpus;
	u64 domain_mask;	/* CPUs of the asymmetric scheduling domain */
	bool uclamp_used;
	bool overutilized;
	const struct em_timed_table *timed;	/* of each domain, for the timed forms alone */
};

/* A placement makes at most this many calls per domain: without, on prev, on a candidate. */
enum { EAS_CALLS_PER_DOMAIN = 3 };

struct eas_log {
	struct eas_call *calls;	/* room for EAS_CALLS_PER_DOMAIN per domain */
	size_t count;
	bool past_end;		/* a look-up left the 2021 table: energies from there on mean nothing */
	size_t past_end_domain;
	u64 past_end_freq;
};

static inline u64 larger(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 smaller(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline bool has_cpu(u64 mask, u64 cpu)
{
	return cpu < 64 && mask >> cpu & 1;
}

/* Those of a mask for which there is a run queue. */
static inline u64 cpus_of(const struct eas_case *c, u64 mask)
{
	return c->nr_cpus < 64 ? mask & ((1ull << c->nr_cpus) - 1) : mask;
}

/* Ascending; the mask loses those that are done. */
#define for_each_cpu(cpu, mask) \
	for (size_t cpu; (mask) && (cpu = (size_t)__builtin_ctzll(mask), true); (mask) &= (mask) - 1)

/* Strictly below 80 %; the products wrap as unsigned long does. */
static inline bool fits_capacity(u64 util, u64 capacity)
{
	return util * 1280 < capacity * 1024;
}

/* A flag lives in bit 0 of util_est up to 5.12 and is never masked out: an estimate is never 0. */
static inline u64 task_util_est_v5_12(u64 util_est)
{
	return util_est | 1;
}

/* The flag moved to bit 31, which is masked out. */
static inline u64 task_util_est_v5_13(u64 util_est)
{
	return util_est & ~(1ULL << 31);
}

/*
 * Utilisation of a CPU if the task, which last ran on prev_cpu, goes to
 * dst_cpu (-1: nowhere).  The average still holds the task where it last ran;
 * the estimate holds no sleeping task.  `est` is the task's own estimate.
 */
static inline u64 cpu_util_next(s64 cpu, s64 dst_cpu, s64 prev_cpu, u64 task_util, u64 est,
				u64 cpu_util_avg, u64 cpu_util_est, u64 scale_cpu)
{
	u64 util = cpu_util_avg;

	if (cpu == prev_cpu && dst_cpu != cpu)
		util -= util < task_util ? util : task_util;
	else if (cpu != prev_cpu && dst_cpu == cpu)
		util += task_util;

	if (dst_cpu == cpu)
		cpu_util_est += est;
	if (util < cpu_util_est)
		util = cpu_util_est;
	return util < scale_cpu ? util : scale_cpu;
}

static inline u64 eas_cpu_util_v5_12(s64 cpu, s64 dst_cpu, s64 prev_cpu, u64 util_avg,
				     u64 util_est, u64 cpu_util_avg, u64 cpu_util_est,
				     u64 scale_cpu)
{
	return cpu_util_next(cpu, dst_cpu, prev_cpu, util_avg, task_util_est_v5_12(util_est),
			     cpu_util_avg, cpu_util_est, scale_cpu);
}

static inline u64 eas_cpu_util_v5_13(s64 cpu, s64 dst_cpu, s64 prev_cpu, u64 util_avg,
				     u64 util_est, u64 cpu_util_avg, u64 cpu_util_est,
				     u64 scale_cpu)
{
	return cpu_util_next(cpu, dst_cpu, prev_cpu, util_avg, task_util_est_v5_13(util_est),
			     cpu_util_avg, cpu_util_est, scale_cpu);
}

/* The lower clamp wins over the upper one. */
static inline u64 uclamp(u64 util, u64 lo, u64 hi)
{
	if (lo >= hi || util < lo)
		return lo;
	return util > hi ? hi : util;
}

/*
 * Time that interrupts take is invisible to the other classes: what they use
 * is a share of what is left, so
 *
 *	util * (max - irq) / max + irq
 */
static inline u64 scale_irq(u64 util, u64 irq, u64 max)
{
	return div_u64(util * (max - irq), max) + irq;
}

/* Effective utilisation of kind ENERGY: the time that the CPU is busy. */
static inline u64 effective_energy_util_v5_12(u64 util_cfs, u64 rt, u64 dl, u64 irq, u64 max)
{
	u64 util = util_cfs + rt + dl;

	if (irq >= max || util >= max)
		return max;
	util = scale_irq(util, irq, max);
	return util < max ? util : max;
}

/*
 * Effective utilisation of kind FREQUENCY: what the frequency must serve.
 * The clamps count while uclamp is in use; until then a runnable real-time
 * task asks for everything.  Deadline time decides only whether the CPU is
 * saturated; its reserved bandwidth is added instead.
 */
static inline u64 effective_freq_util_v5_12(u64 util_cfs, u64 rt, u64 dl, u64 bw_dl, u64 irq,
					    u64 max, u64 clamp_min, u64 clamp_max,
					    bool uclamp_used, bool rt_runnable)
{
	u64 util = util_cfs + rt;

	if (!uclamp_used && rt_runnable)
		return max;
	if (irq >= max)
		return max;
	if (uclamp_used)
		util = uclamp(util, clamp_min, clamp_max);
	if (util + dl >= max)
		return max;
	util = scale_irq(util, irq, max) + bw_dl;
	return util < max ? util : max;
}

/* The clamps of run queue and task joined: each the larger of the two, idle or not. */
static inline u64 join_clamp_v5_12(u64 rq_clamp, u64 task_clamp, bool has_task)
{
	return has_task && task_clamp > rq_clamp ? task_clamp : rq_clamp;
}

static inline u64 eas_freq_util_v5_12(u64 util_cfs, u64 rt, u64 dl, u64 bw_dl, u64 irq, u64 max,
				      u64 rq_uclamp_min, u64 rq_uclamp_max, bool rt_runnable,
				      bool uclamp_used, u64 task_uclamp_min, u64 task_uclamp_max,
				      bool has_task)
{
	return effective_freq_util_v5_12(util_cfs, rt, dl, bw_dl, irq, max,
					 join_clamp_v5_12(rq_uclamp_min, task_uclamp_min, has_task),
					 join_clamp_v5_12(rq_uclamp_max, task_uclamp_max, has_task),
					 uclamp_used, rt_runnable);
}

/* Both kinds at once, for arrays. */
static inline void eas_effective_util_v5_12(u64 util_cfs, u64 rt, u64 dl, u64 bw_dl, u64 irq,
					    u64 max, u64 rq_uclamp_min, u64 rq_uclamp_max,
					    bool rt_runnable, bool uclamp_used,
					    u64 task_uclamp_min, u64 task_uclamp_max,
					    bool has_task, u64 *freq_util, u64 *energy_util)
{
	*freq_util = eas_freq_util_v5_12(util_cfs, rt, dl, bw_dl, irq, max, rq_uclamp_min,
					 rq_uclamp_max, rt_runnable, uclamp_used, task_uclamp_min,
					 task_uclamp_max, has_task);
	*energy_util = effective_energy_util_v5_12(util_cfs, rt, dl, irq, max);
}

/* The CPU for a waking task, -1 where the energy-aware path gives up; every call logged. */
s64 find_energy_efficient_cpu_v5_12(const struct eas_case *c, struct eas_log *log);
s64 find_energy_efficient_cpu_lut_v5_12(const struct eas_case *c, struct eas_log *log);
s64 find_energy_efficient_cpu_v5_13(const struct eas_case *c, struct eas_log *log);
s64 find_energy_efficient_cpu_v6_1(const struct eas_case *c, struct eas_log *log);
s64 find_energy_efficient_cpu_v6_12(const struct eas_case *c, struct eas_log *log);


/* 5.12 with the ways to a state that no kernel has. */
s64 find_energy_efficient_cpu_bins_v5_12(const struct eas_case *c, struct eas_log *log);
s64 find_energy_efficient_cpu_search_v5_12(const struct eas_case *c, struct eas_log *log);
s64 find_energy_efficient_cpu_direct_v5_12(const struct eas_case *c, struct eas_log *log);

/*
 * 5.12 over the tables of c->timed and without a log, so that nothing but the kernel's work is done while
 * timed: by each way of em_timed.h.
 */
s64 find_energy_efficient_cpu_timed_walk_v5_12(const struct eas_case *c);
s64 find_energy_efficient_cpu_timed_chained_v5_12(const struct eas_case *c);
s64 find_energy_efficient_cpu_timed_lut_v5_12(const struct eas_case *c);
s64 find_energy_efficient_cpu_timed_held_v5_12(const struct eas_case *c);
s64 find_energy_efficient_cpu_timed_bins_v5_12(const struct eas_case *c);
s64 find_energy_efficient_cpu_timed_search_v5_12(const struct eas_case *c);
s64 find_energy_efficient_cpu_timed_direct_v5_12(const struct eas_case *c);

#endif
