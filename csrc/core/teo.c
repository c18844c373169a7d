/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * teo: will the timer end this idle, or something before it? Idles are counted
 * in bins, one for each state:
 *
 *	 bin 0      bin 1           bin 2
 *	|----------|---------------|-------------->  length
 *	0        R[1]            R[2]        R: target residencies
 *
 * by the bin of the timer and the bin of what was measured. They are the same:
 * a hit of that bin. They are not: an intercept of the bin measured. Old
 * counts decay by an eighth each time, a new one counts 1024.
 *
 * Then the timer's state is right, unless the intercepts of the shallower bins
 * outweigh all that its own bin and the deeper ones have: so much says that
 * the idle ends early. The state is then the deepest one from which on the
 * intercepts above it are no longer the smaller half.
 */
#include "teo.h"

#include <string.h>

#include "idle_run.h"

#define PULSE 1024
#define DECAY_SHIFT 3
#define RECENT_MANY 4
#define SHORT_IDLE_NS 15000
#define LATENCY_SMALL_NS 7500

/* The bins of the timer and of m, which is never deeper. */
static inline void bins_of(const struct idle_table *t, s64 sleep, s64 m, u32 *timer, u32 *measured)
{
	*timer = *measured = 0;
	for (u32 i = 0; i < t->nr_states; i++) {
		if (t->target_residency[i] > sleep)
			continue;
		*timer = i;
		if (t->target_residency[i] <= m)
			*measured = i;
	}
}

static inline struct idle_choice finish(const struct idle_table *t, const struct idle_params *params,
					const struct idle_moment *at, u32 idx, s64 duration)
{
	if (at->tick_stopped || !(t->polling[idx] || duration < params->tick))
		return (struct idle_choice){ idx, true };
	if (t->target_residency[idx] > at->delta_tick)
		idx = idle_shallower(t, idx, at->delta_tick);
	return (struct idle_choice){ idx, false };
}

/*
 * 6.1: an idle that lasted as long as the timer said is one that the timer
 * ended, whatever was measured; else half the exit latency is taken off, which
 * is paid somewhere after the wake-up.
 */
static inline s64 measured_v6_1(const struct teo_v6_1 *g, u64 latency)
{
	const u64 residency = (u64)g->last_residency;
	u64 m = ~0ull;

	if ((u64)g->time_span < (u64)g->sleep_length)
		m = residency >= latency ? residency - latency / 2 : residency / 2;
	return m > INT64_MAX ? INT64_MAX : (s64)m;
}

static inline void update_v6_1(struct teo_v6_1 *g, const struct idle_table *t)
{
	const s64 m = measured_v6_1(g, (u64)t->exit_latency[g->last_state_idx]);
	const s64 oldest = g->recent_idx[g->next_recent_idx];
	u32 timer, measured;

	g->total = PULSE;
	for (u32 i = 0; i < t->nr_states; i++) {
		g->hits[i] -= g->hits[i] >> DECAY_SHIFT;
		g->intercepts[i] -= g->intercepts[i] >> DECAY_SHIFT;
		g->total += g->hits[i] + g->intercepts[i];
	}
	bins_of(t, g->sleep_length, m, &timer, &measured);
	if (oldest >= 0)
		g->recent[oldest]--;
	if (timer == measured) {
		g->hits[timer] += PULSE;
		g->recent_idx[g->next_recent_idx] = -1;
	} else {
		g->intercepts[measured] += PULSE;
		g->recent[measured]++;
		g->recent_idx[g->next_recent_idx] = measured;
	}
	g->next_recent_idx = (g->next_recent_idx + 1) % TEO_RECENT;
}

/* Sums over the bins of the states shallower than one. */
struct sums {
	u64 intercepts, hits, recent;
};

/*
 * From idx towards the shallow end, until what was intercepted (and recently
 * so, if that is why we look) there makes up more than half. With the tick
 * stopped a state only suits whose bin lies beyond a tick, at its middle.
 */
static inline u32 go_up_v6_1(struct teo_v6_1 *g, const struct idle_table *t, const struct idle_params *params,
			     const struct idle_moment *at, u32 idx, const struct sums *above)
{
	const bool by_intercepts = 2 * above->intercepts > (u32)(g->total - above->hits);
	const bool by_recent = above->recent > RECENT_MANY;
	u64 intercepts = 0, recent = 0;
	u32 suitable = idx;

	if (!by_intercepts && !by_recent)
		return idx;
	for (u32 i = idx; i-- > 0;) {
		const s64 middle = (t->target_residency[i] + t->target_residency[i + 1]) / 2;
		const bool long_enough = !at->tick_stopped || middle >= params->tick;
		bool enough;

		intercepts += g->intercepts[i];
		recent += g->recent[i];
		enough = (!by_recent || 2 * recent > above->recent) &&
			 (!by_intercepts || 2 * intercepts > above->intercepts);
		if (long_enough && !t->disabled[i]) {
			suitable = i;
			g->predicted = middle;
		} else if (!t->disabled[i] && suitable == idx) {
			break;
		}
		if (enough)
			break;
	}
	return suitable;
}

/* The state that the timer and the history ask for. */
static inline u32 choose_v6_1(struct teo_v6_1 *g, const struct idle_table *t, const struct idle_params *params,
			      const struct idle_moment *at)
{
	struct sums sum = { 0 }, above = { 0 };
	u32 idx = 0, first = 0, constraint = 0;
	bool found = !t->disabled[0];

	if (t->nr_states < 2 || (found && t->target_residency[1] > at->sleep))
		return 0;
	for (u32 i = 1; i < t->nr_states; i++) {
		sum.intercepts += g->intercepts[i - 1];
		sum.hits += g->hits[i - 1];
		sum.recent += g->recent[i - 1];
		if (t->disabled[i])
			continue;
		if (!found) {
			found = true;
			idx = first = i;
		}
		if (t->target_residency[i] > at->sleep)
			break;
		idx = i;
		above = sum;
		if (t->exit_latency[i] <= at->latency)
			constraint = i;
	}
	if (idx == first)
		return idx;
	idx = go_up_v6_1(g, t, params, at, idx, &above);
	return idx < constraint ? idx : constraint;
}

static inline struct idle_choice teo_select_v6_1(struct teo_v6_1 *g, const struct idle_table *t,
						 const struct idle_params *params,
						 const struct idle_moment *at)
{
	u32 idx;

	if (g->last_state_idx >= 0)
		update_v6_1(g, t);
	g->predicted = g->sleep_length = at->sleep;
	idx = choose_v6_1(g, t, params, at);
	return finish(t, params, at, idx, g->predicted);
}

static inline void observe(s64 predicted, u64 total, const u64 *hits, const u64 *intercepts,
			   const struct idle_table *t, const struct idle_history *out, size_t k)
{
	const size_t row = k * t->nr_states;

	if (out->predicted)
		out->predicted[k] = predicted;
	if (out->total)
		out->total[k] = (s64)total;
	for (u32 i = 0; i < t->nr_states && (out->hits || out->intercepts); i++) {
		if (out->hits)
			out->hits[row + i] = (s64)hits[i];
		if (out->intercepts)
			out->intercepts[row + i] = (s64)intercepts[i];
	}
}

static inline void teo_observe_v6_1(const struct teo_v6_1 *g, const struct idle_table *t,
				    const struct idle_history *out, size_t k)
{
	observe(g->predicted, g->total, g->hits, g->intercepts, t, out, k);
}

/* A poll that timed out, or a tick before the timer, says that nothing else came until the timer. */
static inline void teo_reflect_v6_1(struct teo_v6_1 *g, const struct idle_params *params,
				    const struct idle_moment *at, u32 state, s64 measured, s64 residency)
{
	const bool undisturbed = at->poll_time_limit || (at->got_tick && g->sleep_length > params->tick);

	g->last_state_idx = state;
	g->last_residency = residency;
	g->time_span = undisturbed ? g->sleep_length : measured;
}

static bool metrics_wrong(const u64 *metrics)
{
	for (int i = 0; i < IDLE_STATES_MAX; i++) {
		if (metrics[i] > TEO_METRIC_MAX)
			return true;
	}
	return false;
}

/* recent counts what recent_idx holds. */
static bool recent_wrong(const struct teo_v6_1 *g)
{
	u64 counted[IDLE_STATES_MAX] = { 0 };

	for (int i = 0; i < TEO_RECENT; i++) {
		if (g->recent_idx[i] >= 0)
			counted[g->recent_idx[i]]++;
	}
	return memcmp(counted, g->recent, sizeof(counted)) != 0;
}

const char *teo_wrong_v6_1(const void *governor, u32 nr_states)
{
	const struct teo_v6_1 *g = governor;

	if (g->last_state_idx < -1 || g->last_state_idx >= (s64)nr_states)
		return "last_state_idx";
	if (g->next_recent_idx >= TEO_RECENT)
		return "next_recent_idx";
	for (int i = 0; i < TEO_RECENT; i++) {
		if (g->recent_idx[i] < -1 || g->recent_idx[i] >= (s64)nr_states)
			return "recent_idx";
	}
	if (recent_wrong(g))
		return "recent";
	if (metrics_wrong(g->hits))
		return "hits";
	if (metrics_wrong(g->intercepts))
		return "intercepts";
	return g->total > IDLE_UINT_MAX ? "total" : NULL;
}

DEFINE_IDLE_RUN(teo_v6_1, teo, v6_1, ns)

/* 6.19: what is below eight goes to nothing instead of staying for ever. */
static inline u64 decayed(u64 metric)
{
	const u64 part = metric >> DECAY_SHIFT;

	return part ? metric - part : 0;
}

/* Half the exit latency is off; what is short even so, or shorter than the latency, is a short idle. */
static inline s64 measured_v6_19(struct teo_v6_19 *g, s64 latency)
{
	const s64 residency = g->last_residency;
	s64 m;

	if (g->poll_time_limit)
		return INT64_MAX;
	m = residency >= latency ? residency - latency / 2 : residency / 2;
	if (residency < latency || m < SHORT_IDLE_NS)
		g->short_idles += PULSE;
	return m;
}

static inline void update_v6_19(struct teo_v6_19 *g, const struct idle_table *t, s64 tick)
{
	u32 timer, measured;
	s64 m;

	g->short_idles = decayed(g->short_idles);
	m = measured_v6_19(g, t->exit_latency[g->last_state_idx]);
	g->total = PULSE;
	for (u32 i = 0; i < t->nr_states; i++) {
		g->hits[i] = decayed(g->hits[i]);
		g->intercepts[i] = decayed(g->intercepts[i]);
		g->total += g->hits[i] + g->intercepts[i];
	}
	g->tick_intercepts = decayed(g->tick_intercepts);
	g->total_tick = decayed(g->total_tick);
	/* Mostly the tick wakes this CPU: without it the idle would have been as deep as can be. */
	if (g->tick_wakeup) {
		g->total_tick += PULSE;
		if (3 * g->total_tick > 2 * g->total) {
			g->hits[t->nr_states - 1] += PULSE;
			return;
		}
	}
	bins_of(t, g->sleep_length, m, &timer, &measured);
	if (timer == measured) {
		g->hits[timer] += PULSE;
		return;
	}
	g->intercepts[measured] += PULSE;
	if (m <= tick)
		g->tick_intercepts += PULSE;
}

/*
 * From idx towards the shallow end until more than half of what was
 * intercepted above it is. With the tick stopped nothing above the first state
 * that outlasts a tick is taken: nobody would correct it.
 */
static inline u32 go_up_v6_19(const struct teo_v6_19 *g, const struct idle_table *t,
			      const struct idle_params *params, const struct idle_moment *at, u32 idx, u32 first)
{
	u64 above = 0, hits = 0, sum = 0;
	u32 lowest = first;

	for (u32 i = 0; i < idx; i++) {
		above += g->intercepts[i];
		hits += g->hits[i];
	}
	if (2 * above <= (u32)(g->total - hits))
		return idx;
	while (at->tick_stopped && lowest < idx && t->target_residency[lowest] < params->tick)
		lowest++;
	for (u32 i = idx; i-- > lowest;) {
		sum += g->intercepts[i];
		if (t->disabled[i])
			continue;
		idx = i;
		if (2 * sum > above)
			break;
	}
	return idx;
}

/* What the history alone says, with no look at the timer yet. */
static inline u32 choose_v6_19(const struct teo_v6_19 *g, const struct idle_table *t,
			       const struct idle_params *params, const struct idle_moment *at)
{
	u32 idx = 0, first = 0, constraint = 0;
	bool found = false;

	for (u32 i = 0; i < t->nr_states; i++) {
		if (t->disabled[i])
			continue;
		if (!found)
			first = i;
		found = true;
		idx = i;
		if (t->exit_latency[i] <= at->latency)
			constraint = i;
	}
	idx = go_up_v6_19(g, t, params, at, idx, first);
	return idx < constraint ? idx : constraint;
}

/*
 * Reading the timer costs: it is left out where the state is shallow and most
 * idles are short, or no other would wake fast enough.
 */
static inline bool timer_matters(const struct teo_v6_19 *g, const struct idle_table *t, s64 latency, u32 idx)
{
	if (idx > 0 && t->target_residency[idx] >= SHORT_IDLE_NS)
		return true;
	return 2 * g->short_idles < g->total && latency >= LATENCY_SMALL_NS;
}

static inline struct idle_choice teo_select_v6_19(struct teo_v6_19 *g, const struct idle_table *t,
						  const struct idle_params *params,
						  const struct idle_moment *at)
{
	u32 idx;

	if (g->last_state_idx >= 0)
		update_v6_19(g, t, params->tick);
	g->predicted = g->sleep_length = INT64_MAX;
	idx = choose_v6_19(g, t, params, at);
	if (!timer_matters(g, t, at->latency, idx))
		return (struct idle_choice){ idx, false };

	g->predicted = g->sleep_length = at->sleep;
	if (idx == 0)
		return (struct idle_choice){ 0, false };
	if (t->target_residency[idx] > g->predicted)
		idx = idle_shallower(t, idx, g->predicted);
	/* What is woken within a tick so often is not worth stopping the tick for. */
	if (t->target_residency[idx] < params->tick && g->tick_intercepts > g->total / 2 + g->total / 8)
		g->predicted = params->tick / 2;
	return finish(t, params, at, idx, g->predicted);
}

static inline void teo_observe_v6_19(const struct teo_v6_19 *g, const struct idle_table *t,
				     const struct idle_history *out, size_t k)
{
	observe(g->predicted, g->total, g->hits, g->intercepts, t, out, k);
}

static inline void teo_reflect_v6_19(struct teo_v6_19 *g, const struct idle_params *params,
				     const struct idle_moment *at, u32 state, s64 measured, s64 residency)
{
	(void)params;
	(void)measured;
	g->last_state_idx = state;
	g->last_residency = residency;
	g->tick_wakeup = at->got_tick;
	g->poll_time_limit = at->poll_time_limit;
}

const char *teo_wrong_v6_19(const void *governor, u32 nr_states)
{
	const struct teo_v6_19 *g = governor;

	if (g->last_state_idx < -1 || g->last_state_idx >= (s64)nr_states)
		return "last_state_idx";
	if (g->tick_wakeup > 1)
		return "tick_wakeup";
	if (g->poll_time_limit > 1)
		return "poll_time_limit";
	if (g->short_idles > TEO_METRIC_MAX)
		return "short_idles";
	if (g->tick_intercepts > TEO_METRIC_MAX)
		return "tick_intercepts";
	if (g->total_tick > TEO_METRIC_MAX)
		return "total_tick";
	if (metrics_wrong(g->hits))
		return "hits";
	if (metrics_wrong(g->intercepts))
		return "intercepts";
	return g->total > IDLE_UINT_MAX ? "total" : NULL;
}

DEFINE_IDLE_RUN(teo_v6_19, teo, v6_19, ns)
