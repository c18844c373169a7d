/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A governor's three functions made a run over a trace; see idle.h.
 *
 *	idle k           |---- asleep ----|-exit latency-|
 *	        select  enter           wake          reflect      select k + 1
 *
 * What reflect is told is worked up in the next select only, so a trace may be
 * cut between any two idles.
 */
#ifndef SCHEDPY_IDLE_RUN_H
#define SCHEDPY_IDLE_RUN_H

#include "idle.h"

#define IDLE_UNITS_PER_US_us 1
#define IDLE_UNITS_PER_US_ns 1000

static inline void idle_record(const struct idle_history *out, size_t k, struct idle_choice choice,
			       s64 measured, s64 residency)
{
	if (out->selected)
		out->selected[k] = choice.state;
	if (out->stop_tick)
		out->stop_tick[k] = choice.stop_tick;
	if (out->measured)
		out->measured[k] = measured;
	if (out->last_residency)
		out->last_residency[k] = residency;
}

/* type: the governor's struct. It is worked on in a copy, which no column can alias. */
#define DEFINE_IDLE_RUN(type, governor, version, unit)                                                \
	void governor##_run_##version(void *state, const struct idle_table *t,                        \
				      const struct idle_params *params, size_t n,                     \
				      const struct idle_events *ev, const struct idle_history *out)   \
	{                                                                                             \
		const s64 units = IDLE_UNITS_PER_US_##unit;                                           \
		struct type g;                                                                        \
                                                                                                      \
		memcpy(&g, state, sizeof(g));                                                         \
		for (size_t k = 0; k < n; k++) {                                                      \
			const struct idle_moment at = idle_moment_at(ev, params, k, units);           \
			const struct idle_choice choice = governor##_select_##version(&g, t, params, &at); \
			const s64 latency_ns = t->exit_latency[choice.state] * (1000 / units);        \
			const s64 measured = idle_measured(params, at.wake, latency_ns);              \
			const s64 residency = idle_residency_##unit(params->residency, measured);     \
                                                                                                      \
			idle_record(out, k, choice, measured, residency);                             \
			governor##_observe_##version(&g, t, out, k);                                  \
			governor##_reflect_##version(&g, params, &at, choice.state, measured, residency); \
		}                                                                                     \
		memcpy(state, &g, sizeof(g));                                                         \
	}

#endif
