/* SPDX-License-Identifier: GPL-2.0-only */
/* find_energy_efficient_cpu() of 5.12 and 5.13; see eas.h. */
#include "eas.h"

#include "em_timed.h"

/* Every form is an instance with its own constants, so that none decides anything at run time. */
#define form_inline static inline __attribute__((always_inline))

struct form {
	enum em_way way;	/* to a state */
	bool est_flag_leaks;	/* up to 5.12 */
	bool sum_adds_task;	/* 5.13: see domain_energy() */
	enum em_timed_way timed; /* in the tables of c->timed; TIMED_NOT: in the domain's own */
};

#define V5_12 { .est_flag_leaks = true }
#define V5_12_BY(way_) { .way = way_, .est_flag_leaks = true }
#define V5_13 { .sum_adds_task = true }

form_inline u64 own_estimate(const struct eas_task *p, const struct form form)
{
	return form.est_flag_leaks ? task_util_est_v5_12(p->util_est)
				   : task_util_est_v5_13(p->util_est);
}

form_inline u64 util_with(const struct eas_case *c, const struct em_perf_domain *pd, size_t cpu,
			  s64 dst, const struct form form)
{
	const struct eas_task *p = c->task;

	return cpu_util_next((s64)cpu, dst, (s64)p->prev_cpu, p->util_avg, own_estimate(p, form),
			     c->cpus[cpu].util_avg, c->cpus[cpu].util_est, pd->scale_cpu);
}

/*
 * compute_energy(): the energy of one domain with the task on dst, -1 for
 * nowhere.  The busiest online CPU sets the state, all of them are summed.
 *
 * 5.13 sums on dst what the CPU has without the task, plus the task: taking
 * the larger of average and estimate first, as 5.12 does, charges an idle CPU
 * for the estimate but a busy one only for the average.
 */
form_inline u64 domain_energy(const struct eas_case *c, size_t d, s64 dst, struct eas_log *log,
			      const struct form form)
{
	const struct em_perf_domain *pd = &c->domains[d];
	const struct eas_task *p = c->task;
	u64 sum_util = 0, max_util = 0;
	u64 cpus = cpus_of(c, pd->cpus);
	struct em_energy out;

	for_each_cpu (cpu, cpus) {
		const struct eas_cpu *rq = &c->cpus[cpu];
		const bool here = (s64)cpu == dst;
		u64 util, busy;

		if (!rq->online)
			continue;
		util = util_with(c, pd, cpu, dst, form);
		busy = util;
		if (form.sum_adds_task && here)
			busy = util_with(c, pd, cpu, -1, form) +
			       larger(p->util_avg, own_estimate(p, form));

		sum_util += effective_energy_util_v5_12(busy, rq->rt, rq->dl, rq->irq,
							pd->scale_cpu);
		max_util = larger(max_util,
				  eas_freq_util_v5_12(util, rq->rt, rq->dl, rq->bw_dl, rq->irq,
						      pd->scale_cpu, rq->uclamp_min,
						      rq->uclamp_max, rq->rt_runnable,
						      c->uclamp_used, p->uclamp_min,
						      p->uclamp_max, here));
	}

	if (form.timed != TIMED_NOT)
		return em_timed_energy(&c->timed[d], pd, max_util, sum_util, form.timed);
	out = em_cpu_energy_v5_0(pd, max_util, sum_util, form.way);
	if (log) {
		log->calls[log->count++] = (struct eas_call){
			.energy = out.energy,
			.state = (s32)out.state,
			.domain = (int16_t)d,
			.dst_cpu = (int16_t)dst,
		};
		if (out.past_end && !log->past_end) {
			log->past_end = true;
			log->past_end_domain = d;
			log->past_end_freq = out.freq_req;
		}
	}
	return out.energy;
}

/*
 * Each domain offers the CPU with the most spare capacity, and prev_cpu stands
 * beside them.  What counts is how much energy the task adds to its domain:
 *
 *	delta = energy(domain with the task) - energy(domain without)
 *
 * A candidate must save more than 1/16 of what the whole system would use with
 * the task on prev_cpu, else the task stays.  Deltas are unsigned: one below
 * zero wraps to a huge one.  Candidates need not be online.
 */
form_inline s64 find_energy_efficient_cpu(const struct eas_case *c, struct eas_log *log,
					  const struct form form)
{
	const struct eas_task *p = c->task;
	const u64 prev = p->prev_cpu;
	u64 prev_delta = UINT64_MAX, best_delta = UINT64_MAX, base = 0;
	u64 best = prev;

	if (c->nr_domains == 0 || c->overutilized || !has_cpu(c->domain_mask, prev))
		return -1;
	if (larger(p->util_avg, own_estimate(p, form)) == 0)
		return (s64)prev;

	for (size_t d = 0; d < c->nr_domains; d++) {
		const struct em_perf_domain *pd = &c->domains[d];
		u64 eligible = cpus_of(c, pd->cpus & c->domain_mask & p->affinity);
		const u64 base_pd = domain_energy(c, d, -1, log, form);
		u64 max_spare = 0, max_spare_cpu = UINT64_MAX;

		base += base_pd;
		for_each_cpu (cpu, eligible) {
			const struct eas_cpu *rq = &c->cpus[cpu];
			u64 util, spare;

			util = util_with(c, pd, cpu, (s64)cpu, form);
			spare = rq->capacity_of - (rq->capacity_of < util ? rq->capacity_of : util);
			if (c->uclamp_used)
				util = uclamp(util, larger(rq->uclamp_min, p->uclamp_min),
					      larger(rq->uclamp_max, p->uclamp_max));
			if (!fits_capacity(util, rq->capacity_of))
				continue;

			if (cpu == prev) {
				prev_delta = domain_energy(c, d, (s64)prev, log, form) - base_pd;
				if (prev_delta < best_delta)
					best_delta = prev_delta;
			}
			if (spare > max_spare) {
				max_spare = spare;
				max_spare_cpu = cpu;
			}
		}
		if (max_spare_cpu != UINT64_MAX && max_spare_cpu != prev) {
			u64 delta = domain_energy(c, d, (s64)max_spare_cpu, log, form) - base_pd;

			if (delta < best_delta) {
				best_delta = delta;
				best = max_spare_cpu;
			}
		}
	}

	if (prev_delta == UINT64_MAX || prev_delta - best_delta > (prev_delta + base) >> 4)
		return (s64)best;
	return (s64)prev;
}

s64 find_energy_efficient_cpu_v5_12(const struct eas_case *c, struct eas_log *log)
{
	return find_energy_efficient_cpu(c, log, (struct form)V5_12);
}

s64 find_energy_efficient_cpu_lut_v5_12(const struct eas_case *c, struct eas_log *log)
{
	return find_energy_efficient_cpu(c, log, (struct form)V5_12_BY(EM_PATCH));
}

s64 find_energy_efficient_cpu_v5_13(const struct eas_case *c, struct eas_log *log)
{
	return find_energy_efficient_cpu(c, log, (struct form)V5_13);
}

#define BY_WAY(name, way)                                                                       \
	s64 find_energy_efficient_cpu_##name##_v5_12(const struct eas_case *c, struct eas_log *log) \
	{                                                                                       \
		return find_energy_efficient_cpu(c, log, (struct form)V5_12_BY(way));           \
	}

BY_WAY(bins, EM_BINS)
BY_WAY(search, EM_HALVES)
BY_WAY(direct, EM_DIRECT)

#define TIMED(name, kind)                                                                       \
	s64 find_energy_efficient_cpu_timed_##name##_v5_12(const struct eas_case *c)            \
	{                                                                                       \
		return find_energy_efficient_cpu(                                               \
			c, NULL, (struct form){ .est_flag_leaks = true, .timed = kind });       \
	}

TIMED(walk, TIMED_WALK)
TIMED(chained, TIMED_CHAINED)
TIMED(lut, TIMED_LUT)
TIMED(held, TIMED_HELD)
TIMED(bins, TIMED_BINS)
TIMED(search, TIMED_SEARCH)
TIMED(direct, TIMED_DIRECT)
