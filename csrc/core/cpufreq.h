/* SPDX-License-Identifier: GPL-2.0-only */
/* The frequency of a table that serves a target: drivers/cpufreq/cpufreq.c and include/linux/cpufreq.h of 6.12 and 7.3. */
#ifndef SCHEDPY_CPUFREQ_H
#define SCHEDPY_CPUFREQ_H

#include "types.h"

/* Lowest at or above, highest at or below, closest. */
enum cpufreq_relation { CPUFREQ_RELATION_L, CPUFREQ_RELATION_H, CPUFREQ_RELATION_C };

/*
 * n frequencies in any order, whether each is inefficient, the target, the limits of the policy.
 * efficient: RELATION_E, inefficient ones are passed over where the limits let them be. 0 for an empty table.
 */
u64 cpufreq_resolve(const u64 *freq, const u64 *inefficient, size_t n, u64 target, u64 policy_min,
		    u64 policy_max, enum cpufreq_relation relation, bool efficient);

#endif
