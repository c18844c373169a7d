/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all cpuidle governors share: the table of states, what a CPU knows at
 * one idle, the columns that whole traces are read from and written to, and
 * how the measured time reaches the governor.
 *
 * A governor is a struct of 64-bit words and, per kernel, three functions:
 *
 *	select     the state for the idle that begins
 *	observe    writes what can be seen of the governor after it
 *	reflect    takes in what came of it
 *
 * DEFINE_IDLE_RUN of idle_run.h makes these a run over a trace.
 */
#ifndef SCHEDPY_IDLE_H
#define SCHEDPY_IDLE_H

#include "clock.h"
#include "types.h"

#define IDLE_STATES_MAX 10
#define IDLE_UINT_MAX 4294967295u

/* Times in the kernel's unit: us up to 5.4, ns from 5.5 on. */
struct idle_table {
	u32 nr_states;			/* 1 .. IDLE_STATES_MAX */
	u32 first;			/* where ladder starts and 4.7's menu looks: 0, or 1 above a polling state */
	s64 exit_latency[IDLE_STATES_MAX];
	s64 target_residency[IDLE_STATES_MAX];
	bool polling[IDLE_STATES_MAX];
	bool disabled[IDLE_STATES_MAX];
};

/* How the nanoseconds of an idle become what the governor is told. */
enum idle_residency { IDLE_RESIDENCY_NS, IDLE_RESIDENCY_DIV1000, IDLE_RESIDENCY_SHR10, IDLE_RESIDENCIES };

struct idle_params {
	enum idle_residency residency;
	bool adds_latency;		/* measured = wake + exit latency of the state, else wake */
	bool tick_has_just_been;	/* delta_tick is not in the events; see idle_moment_at() */
	s64 tick;			/* TICK_NSEC */
};

/* One idle. The latency limit is in the unit of the table, the rest in ns. */
struct idle_moment {
	s64 sleep, wake, latency, delta_tick;
	u64 nr_iowaiters, cpu_load;
	bool tick_stopped, got_tick, poll_time_limit;
};

struct idle_events {
	const s64 *sleep, *wake, *latency_us, *delta_tick;
	const u64 *nr_iowaiters, *cpu_load;
	const u8 *tick_stopped, *got_tick, *poll_time_limit;
};

/* Columns that are NULL are not written. hits and intercepts: a row of nr_states for each idle. */
struct idle_history {
	s64 *selected, *predicted, *bucket, *correction_factor, *typical_interval;
	s64 *total, *poll_limit, *measured, *last_residency;
	s64 *hits, *intercepts;
	u8 *stop_tick;
};

struct idle_choice {
	u32 state;
	bool stop_tick;
};

typedef void idle_run_fn(void *governor, const struct idle_table *table, const struct idle_params *params,
			 size_t n, const struct idle_events *ev, const struct idle_history *out);

/* The name of a word that the governor can not have with that many states, or NULL. */
typedef const char *idle_wrong_fn(const void *governor, u32 nr_states);

static inline s64 idle_min(s64 a, s64 b)
{
	return a < b ? a : b;
}

/* Where nothing says when the next tick comes, it is the timer or a whole tick away. */
static inline struct idle_moment idle_moment_at(const struct idle_events *ev, const struct idle_params *params,
						size_t k, s64 units_per_us)
{
	const s64 sleep = ev->sleep[k];
	const s64 unknown = ev->tick_stopped[k] ? sleep : idle_min(sleep, params->tick);

	return (struct idle_moment){
		.sleep = sleep,
		.wake = ev->wake[k],
		.latency = (s64)((u64)ev->latency_us[k] * (u64)units_per_us),
		.delta_tick = params->tick_has_just_been ? unknown : ev->delta_tick[k],
		.nr_iowaiters = ev->nr_iowaiters[k],
		.cpu_load = ev->cpu_load[k],
		.tick_stopped = ev->tick_stopped[k],
		.got_tick = ev->got_tick[k],
		.poll_time_limit = ev->poll_time_limit[k],
	};
}

static inline s64 idle_measured(const struct idle_params *params, s64 wake, s64 exit_latency_ns)
{
	return params->adds_latency ? (s64)((u64)wake + (u64)exit_latency_ns) : wake;
}

/* 4.7 has an int of us: limited from above alone, and the shift was one of unsigned 64 bit. */
static inline s64 idle_residency_us(enum idle_residency how, s64 measured)
{
	return how == IDLE_RESIDENCY_SHR10 ? cpuidle_residency_shr10_u64((u64)measured)
					   : cpuidle_residency_div1000_s64(measured);
}

/* From 5.5 on the nanoseconds themselves; the other two are what they would be after a conversion. */
static inline s64 idle_residency_ns(enum idle_residency how, s64 measured)
{
	switch (how) {
	case IDLE_RESIDENCY_DIV1000:
		return measured / 1000 * 1000;
	case IDLE_RESIDENCY_SHR10:
		return (s64)((u64)ns_to_us_shift_s64(measured) * 1000);
	default:
		return measured;
	}
}

/*
 * The next enabled state below idx that pays within limit; where none does
 * the shallowest enabled one, and idx itself if there is none below it.
 */
static inline u32 idle_shallower(const struct idle_table *t, u32 idx, s64 limit)
{
	for (u32 i = idx; i-- > 0;) {
		if (t->disabled[i])
			continue;
		idx = i;
		if (t->target_residency[i] <= limit)
			break;
	}
	return idx;
}

#endif
