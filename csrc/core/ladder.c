/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ladder: one state at a time. Four stays that were longer than the state's
 * exit latency lead one deeper, one that was shorter leads back. Target
 * residencies are not looked at.
 *
 * A stay is what was measured less the exit latency, a signed number, but it
 * is compared with unsigned ones. So a stay that did not even last as long as
 * the exit latency is a huge one: it leads deeper, and never back.
 */
#include "ladder.h"

#include <string.h>

#include "idle_run.h"

/* Counts start anew; that of the state left is of no use any more. */
static inline struct idle_choice enter(struct ladder *g, u32 idx)
{
	g->promotion_count[g->last_state_idx] = 0;
	g->last_state_idx = idx;
	g->promotion_count[idx] = 0;
	return (struct idle_choice){ idx, true };
}

/* stay: cut to the width that the kernel has, 32 or 64 bits. */
static inline struct idle_choice step(struct ladder *g, const struct idle_table *t, s64 latency, u64 stay)
{
	const u32 idx = (u32)g->last_state_idx, deeper = idx + 1;
	const u64 threshold = (u64)t->exit_latency[idx];
	u32 up;

	if (latency == 0)
		return enter(g, 0);
	if (deeper < t->nr_states && !t->disabled[deeper] && stay > threshold &&
	    t->exit_latency[deeper] <= latency) {
		if (++g->promotion_count[idx] >= LADDER_PROMOTION_COUNT)
			return enter(g, deeper);
	}
	if (idx <= t->first)
		return (struct idle_choice){ idx, true };
	up = idx - 1;
	if (t->disabled[idx] || t->exit_latency[idx] > latency) {
		while (up > t->first && t->exit_latency[up] > latency)
			up--;
		return enter(g, up);
	}
	return stay < threshold ? enter(g, up) : (struct idle_choice){ idx, true };
}

static inline struct idle_choice ladder_select_v4_7(struct ladder *g, const struct idle_table *t,
						    const struct idle_params *params,
						    const struct idle_moment *at)
{
	(void)params;
	return step(g, t, at->latency, (u32)((u64)g->last_residency - (u64)t->exit_latency[g->last_state_idx]));
}

static inline struct idle_choice ladder_select_v6_1(struct ladder *g, const struct idle_table *t,
						    const struct idle_params *params,
						    const struct idle_moment *at)
{
	(void)params;
	return step(g, t, at->latency, (u64)g->last_residency - (u64)t->exit_latency[g->last_state_idx]);
}

static inline void ladder_observe(const struct ladder *g, const struct idle_table *t,
				  const struct idle_history *out, size_t k)
{
	(void)g;
	(void)t;
	(void)out;
	(void)k;
}

static inline void ladder_reflect(struct ladder *g, const struct idle_params *params,
				  const struct idle_moment *at, u32 state, s64 measured, s64 residency)
{
	(void)params;
	(void)at;
	(void)state;
	(void)measured;
	g->last_residency = residency;
}

const char *ladder_wrong_v4_7(const void *governor, u32 nr_states)
{
	const struct ladder *g = governor;

	if (g->last_state_idx < 0 || g->last_state_idx >= (s64)nr_states)
		return "last_state_idx";
	for (int i = 0; i < IDLE_STATES_MAX; i++) {
		if (g->promotion_count[i] >= LADDER_PROMOTION_COUNT)
			return "promotion_count";
	}
	return NULL;
}

const char *ladder_wrong_v6_1(const void *governor, u32 nr_states)
{
	return ladder_wrong_v4_7(governor, nr_states);
}

#define ladder_observe_v4_7 ladder_observe
#define ladder_observe_v6_1 ladder_observe
#define ladder_reflect_v4_7 ladder_reflect
#define ladder_reflect_v6_1 ladder_reflect

DEFINE_IDLE_RUN(ladder, ladder, v4_7, us)
DEFINE_IDLE_RUN(ladder, ladder, v6_1, ns)
