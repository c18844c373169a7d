/* SPDX-License-Identifier: GPL-2.0-only */
/* What placements cost without Python: one function over cases that lie side by side. Compiled by placements.py. */
#include "core/eas.h"
#include "core/eas_v6.h"

typedef s64 place_function(const struct eas_case *c, struct eas_log *log);

static place_function *const forms[] = {
	find_energy_efficient_cpu_v5_12,
	find_energy_efficient_cpu_v5_13,
	find_energy_efficient_cpu_v6_1,
	find_energy_efficient_cpu_v6_12,
};

/* Domains as columns: the tables lie one after the other. */
void place_straight(int form, size_t count, size_t nr_domains, size_t nr_cpus, const u64 *masks, const u64 *capacity,
		    const u64 *nr_states, const struct em_perf_state *tables, const struct eas_task *tasks,
		    const struct eas_cpu *cpus, s64 *target, struct eas_call *calls, s64 *counts)
{
	struct em_perf_domain domains[8] = { 0 };
	struct eas_case c = { .domains = domains, .nr_domains = nr_domains, .nr_cpus = nr_cpus, .domain_mask = UINT64_MAX };
	struct eas_log log = { 0 };

	for (size_t d = 0; d < nr_domains && d < 8; d++) {
		domains[d] = (struct em_perf_domain){
			.table = tables, .nr_states = nr_states[d], .scale_cpu = capacity[d], .cpus = masks[d],
			.skip_inefficient = true, .max_ps = nr_states[d] - 1,
		};
		tables += nr_states[d];
	}
	for (size_t i = 0; i < count; i++) {
		c.task = &tasks[i];
		c.cpus = &cpus[i * nr_cpus];
		log.calls = &calls[i * EAS_CALLS_PER_DOMAIN * nr_domains];
		log.count = 0;
		target[i] = forms[form](&c, &log);
		counts[i] = (s64)log.count;
	}
}
