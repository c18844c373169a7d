/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The update of tasks (pelt.h) for several streams side by side, and for one
 * long stream cut into pieces that are: the same bits, faster.
 */
#ifndef SCHEDPY_PELT_LANES_H
#define SCHEDPY_PELT_LANES_H

#include "path.h"
#include "pelt.h"

/* So many streams are taken at once. */
#define PELT_LANES 8

/* One stream: its state, its events (every column is there), and where its averages go; load_avg may be NULL. */
struct pelt_lane {
	struct pelt_avg *avg;
	struct pelt_events ev;
	u64 *util_avg;
	u64 *load_avg;
};

/* Columns that hold one entry for all events of a stream instead of one each. */
struct pelt_once {
	bool weight;
	bool runnable;
	bool scale_freq;
	bool scale_cpu;
	bool running;
	bool on_rq;
};

/* What is the same for all streams of a call. */
struct pelt_lanes_call {
	pelt_track_fn *plain;
	const struct pelt_params *params;
	struct pelt_once once;
};

/* n events from first on of each of `count` (1 .. PELT_LANES) streams. */
typedef void pelt_lanes_fn(const struct pelt_lane *lanes, size_t count, size_t first, size_t n,
			   const struct pelt_lanes_call *call);

/*
 * The function that gives what `plain` gives, or NULL where it serves itself: only tasks have one,
 * with a half-life of 8, 16 or 32 windows, averages refreshed as released,
 * and no other history than util_avg, or util_avg and load_avg.
 */
pelt_lanes_fn *pelt_lanes_for(pelt_track_fn *plain, const struct pelt_params *params,
			      const struct pelt_history *history, enum path path);

#endif
