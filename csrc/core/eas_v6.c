/* SPDX-License-Identifier: GPL-2.0-only */
/* find_energy_efficient_cpu() of 6.1, 6.12 and 7.3; see eas.h. */
#include "eas_v6.h"

/* Every form is an instance with its own constants, so that none decides anything at run time. */
#define form_inline static inline __attribute__((always_inline))

struct form {
	bool overutilized_inside;	/* 6.1; later the caller asks */
	bool boost;			/* from 6.5: runnable_avg counts for the frequency */
	bool by_performance;		/* from 6.9: states are looked for by performance */
};

#define V6_1 { .overutilized_inside = true }
#define V6_12 { .boost = true, .by_performance = true }

form_inline u64 util_with(const struct eas_case *c, const struct em_perf_domain *pd, size_t cpu, s64 dst,
			  bool boost)
{
	const struct eas_task *p = c->task;
	const struct eas_cpu *rq = &c->cpus[cpu];

	return boost ? eas_cpu_util_boost_v6_12((s64)cpu, dst, (s64)p->prev_cpu, p->util_avg, p->util_est,
						p->runnable_avg, rq->util_avg, rq->util_est,
						rq->runnable_avg, pd->scale_cpu)
		     : eas_cpu_util_v5_13((s64)cpu, dst, (s64)p->prev_cpu, p->util_avg, p->util_est,
					  rq->util_avg, rq->util_est, pd->scale_cpu);
}

/* What a domain is before the task is placed, the same for all its calls. */
struct busy {
	u64 cap;		/* of each CPU, less pressure */
	u64 pd_cap;		/* of all that are online */
	u64 sum;		/* time they are busy */
};

/* False where no CPU of the domain is online. */
form_inline bool look_at_domain(const struct eas_case *c, const struct em_perf_domain *pd, struct busy *b)
{
	u64 cpus = cpus_of(c, pd->cpus);
	bool online = false;

	*b = (struct busy){ 0 };
	for_each_cpu (cpu, cpus) {
		const struct eas_cpu *rq = &c->cpus[cpu];

		if (!rq->online)
			continue;
		if (!online)
			b->cap = pd->scale_cpu - rq->pressure;
		online = true;
		b->pd_cap += b->cap;
		b->sum += effective_energy_util_v5_12(util_with(c, pd, cpu, -1, false), rq->rt, rq->dl,
						      rq->irq, pd->scale_cpu);
	}
	b->sum = smaller(b->sum, b->pd_cap);
	return online;
}

/* How long the task will keep a CPU busy, by what interrupts take on prev_cpu. */
form_inline u64 task_busy(const struct eas_case *c)
{
	const struct eas_task *p = c->task;
	u64 max = 0;

	for (size_t d = 0; d < c->nr_domains; d++) {
		if (has_cpu(c->domains[d].cpus, p->prev_cpu))
			max = c->domains[d].scale_cpu;
	}
	if (c->cpus[p->prev_cpu].irq >= max)
		return max;
	return div_u64(larger(p->util_avg, task_util_est_v5_13(p->util_est)) *
			       (max - c->cpus[p->prev_cpu].irq), max);
}

form_inline u64 freq_util(const struct eas_case *c, const struct em_perf_domain *pd, size_t cpu, s64 dst,
			  const struct form form)
{
	const struct eas_task *p = c->task;
	const struct eas_cpu *rq = &c->cpus[cpu];
	const u64 util = util_with(c, pd, cpu, dst, form.boost);
	const bool here = (s64)cpu == dst;

	if (!form.by_performance)
		return eas_freq_util_v6_1(util, rq->rt, rq->dl, rq->bw_dl, rq->irq, pd->scale_cpu,
					  rq->uclamp_min, rq->uclamp_max, rq->uclamp_idle,
					  rq->rt_runnable, c->uclamp_used, p->uclamp_min, p->uclamp_max,
					  here);
	return eas_perf_v6_12(util, rq->rt, rq->dl, rq->bw_dl, rq->irq, pd->scale_cpu, rq->uclamp_min,
			      rq->uclamp_max, rq->uclamp_idle, rq->rt_runnable, c->uclamp_used,
			      p->uclamp_min, p->uclamp_max, here);
}

/* compute_energy(): the energy of domain d with the task on dst, -1 for nowhere. */
form_inline u64 domain_energy(const struct eas_case *c, size_t d, s64 dst, const struct busy *b, u64 task_time,
			      struct eas_log *log, const struct form form)
{
	const struct em_perf_domain *pd = &c->domains[d];
	const u64 sum = dst < 0 ? b->sum : smaller(b->pd_cap, b->sum + task_time);
	struct em_energy out;
	u64 cpus = cpus_of(c, pd->cpus), max_util = 0;

	for_each_cpu (cpu, cpus) {
		if (c->cpus[cpu].online)
			max_util = larger(max_util, freq_util(c, pd, cpu, dst, form));
	}
	max_util = smaller(max_util, b->cap);
	out = form.by_performance ? em_cpu_energy_v6_9(pd, max_util, sum, b->cap)
				  : em_cpu_energy_v5_16(pd, max_util, sum, b->cap, false);
	if (log)
		log->calls[log->count++] = (struct eas_call){
			.energy = out.energy,
			.state = (s32)out.state,
			.domain = (int16_t)d,
			.dst_cpu = (int16_t)dst,
		};
	return out.energy;
}

/* The CPU of a domain with the most room, and how much prev_cpu has. */
struct rooms {
	s64 prev_spare, max_spare;	/* -1: none */
	s64 max_cpu;
	int prev_fits, max_fits;
};

/*
 * The clamps of a CPU whose run queue is flagged idle are those of the CPU looked at before
 * it: the kernel declares them once for a domain.
 */
form_inline struct rooms look_for_room(const struct eas_case *c, const struct em_perf_domain *pd)
{
	const struct eas_task *p = c->task;
	u64 eligible = cpus_of(c, pd->cpus & c->domain_mask & p->affinity);
	u64 clamp_min = c->uclamp_used ? p->uclamp_min : 0;
	u64 clamp_max = c->uclamp_used ? p->uclamp_max : 1024;
	struct rooms r = { -1, -1, -1, -1, -1 };

	for_each_cpu (cpu, eligible) {
		const struct eas_cpu *rq = &c->cpus[cpu];
		u64 util;
		s64 spare;
		int fits;

		if (!rq->online)
			continue;
		util = util_with(c, pd, cpu, (s64)cpu, false);
		spare = (s64)(rq->capacity_of - smaller(rq->capacity_of, util));
		if (c->uclamp_used && !rq->uclamp_idle) {
			clamp_min = larger(rq->uclamp_min, p->uclamp_min);
			clamp_max = larger(rq->uclamp_max, p->uclamp_max);
		}
		fits = eas_util_fits_cpu_v6_1(util, clamp_min, clamp_max, pd->scale_cpu, rq->capacity_of,
					      rq->pressure, c->uclamp_used);
		if (fits == 0)
			continue;
		if (cpu == p->prev_cpu) {
			r.prev_spare = spare;
			r.prev_fits = fits;
		} else if (fits > r.max_fits || (fits == r.max_fits && spare > r.max_spare)) {
			r.max_spare = spare;
			r.max_cpu = (s64)cpu;
			r.max_fits = fits;
		}
	}
	return r;
}

/*
 * As in 5.12 each domain offers the CPU with the most room, and what counts is how much energy the
 * task adds. There is no margin any more; but a CPU may fit only if clamps are ignored (-1), which
 * is worse than one that fits and better than none, and among such the one with more capacity is better.
 */
form_inline s64 find_energy_efficient_cpu(const struct eas_case *c, struct eas_log *log, const struct form form)
{
	const struct eas_task *p = c->task;
	const u64 prev = p->prev_cpu;
	u64 prev_delta = UINT64_MAX, best_delta = UINT64_MAX, prev_cap = 0, best_cap = 0, task_time;
	s64 best = -1;
	int prev_fits = -1, best_fits = -1;

	if (c->nr_domains == 0 || (form.overutilized_inside && c->overutilized) ||
	    !has_cpu(c->domain_mask, prev) || prev >= c->nr_cpus)
		return -1;
	if (larger(p->util_avg, task_util_est_v5_13(p->util_est)) == 0 &&
	    (!c->uclamp_used || p->uclamp_min == 0))
		return (s64)prev;
	task_time = task_busy(c);

	for (size_t d = 0; d < c->nr_domains; d++) {
		struct rooms r;
		struct busy b;
		u64 base, delta;

		if (!look_at_domain(c, &c->domains[d], &b))
			continue;
		r = look_for_room(c, &c->domains[d]);
		if (r.max_cpu < 0 && r.prev_spare < 0)
			continue;
		base = domain_energy(c, d, -1, &b, task_time, log, form);
		if (r.prev_spare > -1) {
			prev_fits = r.prev_fits;
			prev_delta = domain_energy(c, d, (s64)prev, &b, task_time, log, form);
			if (prev_delta < base)
				return (s64)prev;
			prev_delta -= base;
			prev_cap = b.cap;
			best_delta = smaller(best_delta, prev_delta);
		}
		if (r.max_cpu < 0 || r.max_spare <= r.prev_spare)
			continue;
		if (r.max_fits < best_fits || (r.max_fits < 0 && b.cap <= best_cap))
			continue;
		delta = domain_energy(c, d, r.max_cpu, &b, task_time, log, form);
		if (delta < base)
			return (s64)prev;
		delta -= base;
		if (r.max_fits > 0 && best_fits > 0 && delta >= best_delta)
			continue;
		best_delta = delta;
		best = r.max_cpu;
		best_fits = r.max_fits;
		best_cap = b.cap;
	}

	if (best_fits > prev_fits || (best_fits > 0 && best_delta < prev_delta) ||
	    (best_fits < 0 && best_cap > prev_cap))
		return best < 0 ? (s64)prev : best;
	return (s64)prev;
}

s64 find_energy_efficient_cpu_v6_1(const struct eas_case *c, struct eas_log *log)
{
	return find_energy_efficient_cpu(c, log, (struct form)V6_1);
}

/* 7.3 differs by the performance limits of the domains alone, which are data. */
s64 find_energy_efficient_cpu_v6_12(const struct eas_case *c, struct eas_log *log)
{
	return find_energy_efficient_cpu(c, log, (struct form)V6_12);
}
