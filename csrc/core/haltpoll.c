/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * haltpoll: a guest polls (state 0) before it halts (state 1), since a halt
 * ends with a trip through the host. How long it may poll is set by the halts:
 *
 *	0      limit            200 us
 *	|--------|-----------------|---------->  length of a halt
 *	 as it is  twice, 50 us at   half: no poll
 *	           least             would have lasted
 *
 * With a limit of 0, as at the start, it halts at once.
 */
#include "haltpoll.h"

#include <string.h>

#include "idle_run.h"

#define POLL 0
#define HALT 1
#define POLL_MAX_NS 200000
#define GROW_START_NS 50000

static inline struct idle_choice haltpoll_select_v6_1(struct haltpoll *g, const struct idle_table *t,
						      const struct idle_params *params,
						      const struct idle_moment *at)
{
	const bool gave_up = g->last_state_idx == POLL && g->poll_time_limit;
	const bool halts = at->latency != 0 && (g->poll_limit == 0 || gave_up);

	(void)t;
	(void)params;
	return (struct idle_choice){ halts ? HALT : POLL, halts };
}

static inline void haltpoll_observe_v6_1(const struct haltpoll *g, const struct idle_table *t,
					 const struct idle_history *out, size_t k)
{
	(void)t;
	if (out->poll_limit)
		out->poll_limit[k] = (s64)g->poll_limit;
}

static inline u64 limit_after(u64 limit, u64 halted)
{
	if (halted > POLL_MAX_NS)
		return limit / 2;
	if (halted <= limit)
		return limit;
	limit *= 2;
	if (limit < GROW_START_NS)
		return GROW_START_NS;
	return limit > POLL_MAX_NS ? POLL_MAX_NS : limit;
}

static inline void haltpoll_reflect_v6_1(struct haltpoll *g, const struct idle_params *params,
					 const struct idle_moment *at, u32 state, s64 measured, s64 residency)
{
	(void)params;
	(void)measured;
	g->last_state_idx = state;
	g->poll_time_limit = at->poll_time_limit;
	if (state == HALT)
		g->poll_limit = limit_after(g->poll_limit, (u64)residency);
}

const char *haltpoll_wrong_v6_1(const void *governor, u32 nr_states)
{
	const struct haltpoll *g = governor;

	(void)nr_states;
	if (g->last_state_idx < POLL || g->last_state_idx > HALT)
		return "last_state_idx";
	if (g->poll_limit > POLL_MAX_NS)
		return "poll_limit_ns";
	return g->poll_time_limit > 1 ? "poll_time_limit" : NULL;
}

DEFINE_IDLE_RUN(haltpoll, haltpoll, v6_1, ns)
