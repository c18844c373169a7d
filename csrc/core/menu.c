/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * menu: how long will this idle be? Two guesses, of which the smaller counts:
 *
 *	the next timer, times what such lengths came to before (the correction
 *	factor of the bucket of its order of magnitude, 8192 = 1.0);
 *	the typical one of the last eight intervals, if they have one.
 *
 * Then the deepest state that pays within the guess and wakes fast enough.
 * Which of a state's numbers is compared with what, in which width, is what
 * the versions differ in.
 */
#include "menu.h"

#include <string.h>

#include "idle_run.h"

#define RESOLUTION 1024
#define DECAY 8
#define ONE (RESOLUTION * DECAY)
#define BUCKETS_WITHOUT_IO 6
#define POLL_PAYS_BELOW_NS 15000

/*
 * Are n intervals alike: within a sixth of their mean of each other (and at
 * least three quarters of all eight), or within 20 us? Products of 36 that
 * pass 64 bits are no agreement.
 */
static bool alike(u64 avg, u64 variance, u32 n)
{
	if (variance > ~0ull / 36)
		return false;
	return (avg * avg > 36 * variance && 4 * n >= 3 * MENU_INTERVALS) || variance <= 400;
}

/*
 * Up to 6.1: as long as the intervals at or below a limit are not alike, the
 * limit is set below the largest of them, until a quarter was left out. All
 * that equal the largest go at once, so of seven 1000 and a 5 the 5 remains,
 * alone and very much alike: typical is 5.
 *
 * From 4.20 on nothing is typical that is not below the other guess anyway:
 * least is where that begins.
 */
static inline u32 typical_below(const u64 *intervals, u64 limit, u64 least)
{
	for (;;) {
		u64 sum = 0, squares = 0, smallest = IDLE_UINT_MAX, largest = 0, avg;
		u32 n = 0;

		for (int i = 0; i < MENU_INTERVALS; i++) {
			const bool kept = intervals[i] <= limit;
			const u64 value = kept ? intervals[i] : 0;

			n += kept;
			sum += value;
			largest = value > largest ? value : largest;
			smallest = kept && value < smallest ? value : smallest;
		}
		if (smallest >= least || n == 0)
			return IDLE_UINT_MAX;
		avg = sum / n;
		for (int i = 0; i < MENU_INTERVALS; i++) {
			const u64 distance = intervals[i] - avg;

			squares += intervals[i] <= limit ? distance * distance : 0;
		}
		if (alike(avg, squares / n, n))
			return (u32)avg;
		if (4 * n <= 3 * MENU_INTERVALS)
			return IDLE_UINT_MAX;
		limit = largest - 1;
	}
}

u32 typical_interval_v4_7(const u64 *intervals)
{
	return typical_below(intervals, IDLE_UINT_MAX, ~0ull);
}

u32 typical_interval_v6_1(const u64 *intervals, u32 predicted_us)
{
	return typical_below(intervals, SCHEDPY_INT_MAX, predicted_us);
}

/*
 * 6.19: what lies farthest from the mean is left out, on either side. The
 * variance is the mean of the squares less the square of the mean, each cut
 * to an integer, so it may be too large by almost 2 avg.
 */
u32 typical_interval_v6_19(const u64 *intervals)
{
	s64 low = -1, high = IDLE_UINT_MAX;

	for (;;) {
		u64 sum = 0, squares = 0, avg;
		s64 smallest = IDLE_UINT_MAX, largest = 0;
		u32 n = 0;

		for (int i = 0; i < MENU_INTERVALS; i++) {
			const s64 value = (s64)intervals[i];

			if (value <= low || value >= high)
				continue;
			n++;
			sum += (u64)value;
			squares += (u64)value * (u64)value;
			largest = value > largest ? value : largest;
			smallest = idle_min(value, smallest);
		}
		if (largest == 0)
			return IDLE_UINT_MAX;
		avg = sum / n;
		if (alike(avg, squares / n - avg * avg, n))
			return (u32)avg;
		if (4 * n <= 3 * MENU_INTERVALS)
			return IDLE_UINT_MAX;
		if ((s64)avg - smallest > largest - (s64)avg)
			low = smallest;
		else
			high = largest;
	}
}

/* The order of magnitude of a length: below 10 us, 100 us, ... 100 ms, or longer. */
static inline u64 bucket_of(u64 length, u64 us, bool io)
{
	u64 limit = 10 * us;
	u64 bucket = 0;

	for (; bucket < BUCKETS_WITHOUT_IO - 1 && length >= limit; bucket++)
		limit *= 10;
	return bucket + (io ? BUCKETS_WITHOUT_IO : 0);
}

/* Seven eighths of what was, and what this idle came to of what the timer said. */
static inline void learn(struct menu *g, u64 measured, u64 limit)
{
	const u32 factor = (u32)g->correction_factor[g->bucket];
	const u32 seen = g->next_timer > 0 && measured < limit ? (u32)(RESOLUTION * measured / g->next_timer)
							       : RESOLUTION;

	g->correction_factor[g->bucket] = (u32)(factor - factor / DECAY + seen);
}

static inline void push(struct menu *g, u32 us)
{
	g->intervals[g->interval_ptr] = us;
	g->interval_ptr = (g->interval_ptr + 1) % MENU_INTERVALS;
}

static inline void observe(const struct menu *g, const struct idle_history *out, size_t k)
{
	if (out->predicted)
		out->predicted[k] = g->predicted;
	if (out->bucket)
		out->bucket[k] = (s64)g->bucket;
	if (out->correction_factor)
		out->correction_factor[k] = (s64)g->correction_factor[g->bucket];
}

static const char *wrong(const struct menu *g, u32 nr_states, u64 buckets)
{
	if (g->needs_update > 1)
		return "needs_update";
	if (g->last_state_idx < 0 || g->last_state_idx >= (s64)nr_states)
		return "last_state_idx";
	if (g->bucket >= buckets)
		return "bucket";
	if (g->interval_ptr >= MENU_INTERVALS)
		return "interval_ptr";
	for (u64 i = 0; i < MENU_BUCKETS; i++) {
		if (g->correction_factor[i] > IDLE_UINT_MAX)
			return "correction_factor";
	}
	for (int i = 0; i < MENU_INTERVALS; i++) {
		if (g->intervals[i] > IDLE_UINT_MAX)
			return "intervals";
	}
	return NULL;
}

/*
 * 4.7. Everything is a u32 of us: a sleep length beyond 2^32 us wraps, and so
 * does the length of a clock that went backwards, which then is cut to the
 * sleep length.
 */
static inline void update_v4_7(struct menu *g, const struct idle_table *t)
{
	const u32 measured = (u32)g->last_residency;
	const u32 latency = (u32)t->exit_latency[g->last_state_idx];
	const u32 next = (u32)g->next_timer;
	u32 m = measured > 2 * latency ? measured - latency : measured / 2;

	m = m < next ? m : next;
	learn(g, m, 50000);
	push(g, m);
}

/*
 * How much a busy system shortens the latency that may be paid. Always odd,
 * so never 0. load is in 1/2048.
 */
static inline u32 performance_multiplier_v4_7(u64 nr_iowaiters, u64 load)
{
	const u64 tenths = (load >> 11) * 10 + (((load & 2047) * 100) >> 11) / 10;

	return (u32)(1 + 2 * tenths + 10 * nr_iowaiters);
}

/* C1 rather than polling, if it pays at all. */
static inline u32 default_state_v4_7(const struct menu *g, const struct idle_table *t, u32 latency)
{
	u32 threshold;

	if (t->first != 1 || t->nr_states < 2)
		return 0;
	threshold = t->target_residency[1] > 20 ? (u32)t->target_residency[1] : 20;
	return g->next_timer > threshold && latency > (u32)t->exit_latency[1] && !t->disabled[1];
}

static inline struct idle_choice menu_select_v4_7(struct menu *g, const struct idle_table *t,
						  const struct idle_params *params,
						  const struct idle_moment *at)
{
	const u32 latency = (u32)at->latency;
	u32 next, corrected, expected, predicted, limit, idx;

	(void)params;
	if (g->needs_update) {
		update_v4_7(g, t);
		g->needs_update = 0;
	}
	if (latency == 0)
		return (struct idle_choice){ 0, false };

	next = (u32)(at->sleep / 1000);
	g->next_timer = next;
	g->bucket = bucket_of(next, 1, at->nr_iowaiters > 0);
	corrected = (u32)(((u64)next * g->correction_factor[g->bucket] + ONE / 2) / ONE);
	expected = typical_interval_v4_7(g->intervals);
	expected = expected < next ? expected : next;
	idx = default_state_v4_7(g, t, latency);

	predicted = corrected < expected ? corrected : expected;
	g->predicted = predicted;
	limit = predicted / performance_multiplier_v4_7(at->nr_iowaiters, at->cpu_load);
	limit = latency < limit ? latency : limit;
	for (u32 i = idx + 1; i < t->nr_states; i++) {
		if (!t->disabled[i] && (u32)t->target_residency[i] <= predicted &&
		    (u32)t->exit_latency[i] <= limit)
			idx = i;
	}
	return (struct idle_choice){ idx, false };
}

static inline void menu_observe_v4_7(const struct menu *g, const struct idle_table *t,
				     const struct idle_history *out, size_t k)
{
	(void)t;
	observe(g, out, k);
	if (out->typical_interval)
		out->typical_interval[k] = typical_interval_v4_7(g->intervals);
}

static inline void menu_reflect_v4_7(struct menu *g, const struct idle_params *params,
				     const struct idle_moment *at, u32 state, s64 measured, s64 residency)
{
	(void)params;
	(void)at;
	(void)measured;
	g->last_state_idx = state;
	g->last_residency = residency;
	g->needs_update = 1;
}

const char *menu_wrong_v4_7(const void *governor, u32 nr_states)
{
	const struct menu *g = governor;

	if (g->next_timer > IDLE_UINT_MAX)
		return "next_timer_us";
	return wrong(g, nr_states, MENU_BUCKETS);
}

DEFINE_IDLE_RUN(menu, menu, v4_7, us)

/*
 * 6.1 and 6.19, in ns. A tick that woke the CPU early says that the idle would
 * have been long, whatever was measured; a poll that timed out, that nothing
 * came before the timer.
 */
static inline void update_v6(struct menu *g, const struct idle_table *t, s64 tick)
{
	const u64 latency = (u64)t->exit_latency[g->last_state_idx];
	u64 m = (u64)g->last_residency;

	if (g->tick_wakeup && g->next_timer > (u64)tick)
		m = 45000000;
	else if (t->polling[g->last_state_idx] && g->poll_time_limit)
		m = g->next_timer;
	else
		m = m > 2 * latency ? m - latency : m / 2;
	m = m < g->next_timer ? m : g->next_timer;
	learn(g, m, 50000000);
	push(g, (u32)(m / 1000));
}

/* A residency of 0 that no reflect came with: the driver refused the last state. */
static inline void catch_up_v6(struct menu *g, const struct idle_table *t, s64 tick)
{
	if (g->needs_update) {
		update_v6(g, t, tick);
		g->needs_update = 0;
	} else if (g->last_residency == 0) {
		push(g, IDLE_UINT_MAX);
	}
}

/* In us. The product is cut to 64 bits: from 2^51 ns on, 26 days, it wraps at a factor of 1.0. */
static inline u32 scaled_us_v6(const struct menu *g)
{
	const u64 scale = (u64)ONE * 1000;

	return (u32)((g->next_timer * g->correction_factor[g->bucket] + scale / 2) / scale);
}

static inline void read_timer_v6(struct menu *g, const struct idle_moment *at, s64 *delta_tick, bool io)
{
	const bool past = at->sleep < 0;

	*delta_tick = past ? 0 : at->delta_tick;
	g->next_timer = past ? 0 : (u64)at->sleep;
	g->bucket = bucket_of(g->next_timer, 1000, io);
}

/* Nothing to choose: one state, or no other that pays or wakes fast enough. */
static inline bool state_0_alone_v6(const struct menu *g, const struct idle_table *t, s64 latency)
{
	if (t->nr_states <= 1 || latency == 0)
		return true;
	return (g->next_timer < (u64)t->target_residency[1] || latency < t->exit_latency[1]) &&
	       !t->disabled[0];
}

/*
 * State i does not pay within the prediction, idx does. The prediction is
 * believed as it is below a tick. Above, with the tick running, it is the tick
 * that decides next time, so only idx is sure. With the tick stopped there is
 * no next time: i, if a shallow state could go on for too long. True: that is
 * the answer.
 */
static inline bool settle_v6(const struct idle_table *t, const struct idle_params *params,
			     const struct idle_moment *at, u32 i, s64 delta_tick, u32 *idx, s64 *predicted)
{
	if (*predicted < params->tick)
		return false;
	if (!at->tick_stopped) {
		*predicted = t->target_residency[*idx];
		return false;
	}
	if (t->target_residency[*idx] < params->tick && t->target_residency[i] <= delta_tick)
		*idx = i;
	return true;
}

/* Keeps the tick where the idle will end before it; then a state must pay until the tick. */
static inline struct idle_choice finish_v6(const struct idle_table *t, const struct idle_params *params,
					   const struct idle_moment *at, u32 idx, s64 predicted, s64 delta_tick)
{
	if (at->tick_stopped || !(t->polling[idx] || predicted < params->tick))
		return (struct idle_choice){ idx, true };
	if (t->target_residency[idx] > delta_tick)
		idx = idle_shallower(t, idx, delta_tick);
	return (struct idle_choice){ idx, false };
}

static inline u32 first_enabled(const struct idle_table *t)
{
	for (u32 i = 0; i < t->nr_states; i++) {
		if (!t->disabled[i])
			return i;
	}
	return 0;
}

static inline struct idle_choice menu_select_v6_1(struct menu *g, const struct idle_table *t,
						  const struct idle_params *params,
						  const struct idle_moment *at)
{
	s64 latency = at->latency, delta_tick, predicted;
	u32 scaled, typical, idx;

	catch_up_v6(g, t, params->tick);
	read_timer_v6(g, at, &delta_tick, at->nr_iowaiters > 0);
	if (state_0_alone_v6(g, t, latency)) {
		g->predicted = -1;
		return (struct idle_choice){ 0, !t->polling[0] };
	}
	scaled = scaled_us_v6(g);
	typical = typical_interval_v6_1(g->intervals, scaled);
	predicted = (s64)(scaled < typical ? scaled : typical) * 1000;
	/* The divisor is odd, so never 0. */
	if (!at->tick_stopped)
		latency = idle_min(latency, predicted / (s64)(u32)(1 + 10 * at->nr_iowaiters));
	else if (predicted < params->tick)
		predicted = (s64)g->next_timer;
	g->predicted = predicted;

	idx = first_enabled(t);
	for (u32 i = idx; i < t->nr_states; i++) {
		if (t->disabled[i])
			continue;
		if (t->target_residency[i] > predicted) {
			if (t->polling[idx] && t->exit_latency[i] <= latency &&
			    (u64)t->target_residency[i] <= g->next_timer) {
				predicted = t->target_residency[i];
				idx = i;
				break;
			}
			if (settle_v6(t, params, at, i, delta_tick, &idx, &predicted))
				return (struct idle_choice){ idx, true };
			break;
		}
		if (t->exit_latency[i] > latency)
			break;
		idx = i;
	}
	return finish_v6(t, params, at, idx, predicted, delta_tick);
}

/* The timer is not read where the intervals say that it will not matter. */
static inline struct idle_choice menu_select_v6_19(struct menu *g, const struct idle_table *t,
						   const struct idle_params *params,
						   const struct idle_moment *at)
{
	const s64 latency = at->latency;
	s64 delta_tick, predicted;
	u32 idx;

	catch_up_v6(g, t, params->tick);
	predicted = (s64)typical_interval_v6_19(g->intervals) * 1000;
	if (predicted > POLL_PAYS_BELOW_NS) {
		read_timer_v6(g, at, &delta_tick, false);
		predicted = idle_min(predicted, (s64)scaled_us_v6(g) * 1000);
	} else {
		delta_tick = params->tick / 2;
		g->next_timer = INT64_MAX;
		g->bucket = BUCKETS_WITHOUT_IO - 1;
	}
	g->predicted = predicted;
	if (state_0_alone_v6(g, t, latency))
		return (struct idle_choice){ 0, !t->polling[0] };
	if (at->tick_stopped && predicted < params->tick)
		g->predicted = predicted = (s64)g->next_timer;

	idx = first_enabled(t);
	for (u32 i = idx; i < t->nr_states; i++) {
		if (t->disabled[i])
			continue;
		if (t->exit_latency[i] > latency)
			break;
		if (t->target_residency[i] <= predicted) {
			idx = i;
			continue;
		}
		if (t->polling[idx] && t->target_residency[i] < POLL_PAYS_BELOW_NS &&
		    (u64)t->target_residency[i] <= g->next_timer && t->exit_latency[i] <= predicted) {
			predicted = t->target_residency[i];
			idx = i;
			break;
		}
		if (settle_v6(t, params, at, i, delta_tick, &idx, &predicted))
			return (struct idle_choice){ idx, true };
		break;
	}
	return finish_v6(t, params, at, idx, predicted, delta_tick);
}

static inline void menu_observe_v6_1(const struct menu *g, const struct idle_table *t,
				     const struct idle_history *out, size_t k)
{
	(void)t;
	observe(g, out, k);
	if (out->typical_interval)
		out->typical_interval[k] = typical_interval_v6_1(g->intervals, IDLE_UINT_MAX);
}

static inline void menu_observe_v6_19(const struct menu *g, const struct idle_table *t,
				      const struct idle_history *out, size_t k)
{
	(void)t;
	observe(g, out, k);
	if (out->typical_interval)
		out->typical_interval[k] = typical_interval_v6_19(g->intervals);
}

static inline void menu_reflect_v6_1(struct menu *g, const struct idle_params *params,
				     const struct idle_moment *at, u32 state, s64 measured, s64 residency)
{
	menu_reflect_v4_7(g, params, at, state, measured, residency);
	g->tick_wakeup = at->got_tick;
	g->poll_time_limit = at->poll_time_limit;
}

#define menu_reflect_v6_19 menu_reflect_v6_1

static const char *wrong_v6(const struct menu *g, u32 nr_states, u64 buckets)
{
	if (g->tick_wakeup > 1)
		return "tick_wakeup";
	if (g->poll_time_limit > 1)
		return "poll_time_limit";
	if (g->next_timer > INT64_MAX)
		return "next_timer_ns";
	return wrong(g, nr_states, buckets);
}

const char *menu_wrong_v6_1(const void *governor, u32 nr_states)
{
	return wrong_v6(governor, nr_states, MENU_BUCKETS);
}

const char *menu_wrong_v6_19(const void *governor, u32 nr_states)
{
	return wrong_v6(governor, nr_states, BUCKETS_WITHOUT_IO);
}

DEFINE_IDLE_RUN(menu, menu, v6_1, ns)
DEFINE_IDLE_RUN(menu, menu, v6_19, ns)
