/* SPDX-License-Identifier: GPL-2.0-only */
#include "cpufreq.h"

/* Whether a serves the target better than b does. Of two as close the lower one. */
static bool is_better(u64 a, u64 b, u64 target, enum cpufreq_relation relation)
{
	const bool a_fits = relation == CPUFREQ_RELATION_L ? a >= target : a <= target;
	const bool b_fits = relation == CPUFREQ_RELATION_L ? b >= target : b <= target;
	const u64 a_off = a < target ? target - a : a - target;
	const u64 b_off = b < target ? target - b : b - target;

	if (relation != CPUFREQ_RELATION_C && a_fits != b_fits)
		return a_fits;
	return a_off < b_off || (a_off == b_off && a < b);
}

/* The best of all, or of the efficient ones alone. False if there is none. */
static bool best_of(u64 *best, const u64 *freq, const u64 *inefficient, size_t n, u64 target,
		    enum cpufreq_relation relation, bool efficient)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		if (efficient && inefficient[i])
			continue;
		if (!found || is_better(freq[i], *best, target, relation))
			*best = freq[i];
		found = true;
	}
	return found;
}

u64 cpufreq_resolve(const u64 *freq, const u64 *inefficient, size_t n, u64 target, u64 policy_min,
		    u64 policy_max, enum cpufreq_relation relation, bool efficient)
{
	u64 best = 0;

	if (policy_min > policy_max)
		policy_min = policy_max;
	target = target < policy_min ? policy_min : target > policy_max ? policy_max : target;
	/* The limits are hard: rather an inefficient frequency than one outside. */
	if (!best_of(&best, freq, inefficient, n, target, relation, efficient) ||
	    (efficient && (best < policy_min || best > policy_max)))
		(void)best_of(&best, freq, inefficient, n, target, relation, false);
	return best;
}
