/* SPDX-License-Identifier: GPL-2.0-only */
/* Streams side by side, where the arrays are such that the core can read them as they are. */
#include "walk.h"

/* A column that lanes can read as it is: one entry after the other, or one entry for all. */
static bool is_plain_column(const struct walk *walk, const struct walker *w, size_t size)
{
	uintptr_t all = (uintptr_t)w->data;

	for (int axis = 0; axis < walk->ndim - 1; axis++)
		all |= (uintptr_t)w->steps[axis];
	return all % size == 0 && (w->last_step == (npy_intp)size || w->last_step == 0);
}

static bool fits_lanes(const struct walk *walk)
{
	for (int c = 0; c < EVENT_COLUMNS; c++) {
		if (!is_plain_column(walk, &walk->events[c], c < RUNNING ? sizeof(u64) : sizeof(u8)))
			return false;
	}
	return walk->events[NOW].last_step != 0;
}

pelt_lanes_fn *lanes_that_serve(const struct walk *walk, pelt_track_fn *track,
				const struct pelt_params *params, enum path path)
{
	const struct pelt_history wanted = history_from(walk, 0);

	if (walk->index || walk->n == 0 || !fits_lanes(walk))
		return NULL;
	return pelt_lanes_for(track, params, &wanted, path);
}

static struct pelt_lane lane_from(const struct walk *walk)
{
	const struct pelt_history out = history_from(walk, 0);
	const void *c[EVENT_COLUMNS];

	for (int i = 0; i < EVENT_COLUMNS; i++)
		c[i] = walk->events[i].data;
	return (struct pelt_lane){
		.avg = (struct pelt_avg *)walk->state.data,
		.ev = {
			.now = c[NOW], .weight = c[WEIGHT], .runnable = c[RUNNABLE],
			.scale_freq = c[SCALE_FREQ], .scale_cpu = c[SCALE_CPU],
			.running = c[RUNNING], .on_rq = c[ON_RQ],
		},
		.util_avg = out.util_avg, .load_avg = out.load_avg,
	};
}

static struct pelt_once once_from(const struct walk *walk)
{
	const struct walker *c = walk->events;

	return (struct pelt_once){
		.weight = c[WEIGHT].last_step == 0, .runnable = c[RUNNABLE].last_step == 0,
		.scale_freq = c[SCALE_FREQ].last_step == 0, .scale_cpu = c[SCALE_CPU].last_step == 0,
		.running = c[RUNNING].last_step == 0, .on_rq = c[ON_RQ].last_step == 0,
	};
}

int track_lanes(pelt_lanes_fn *lanes_fn, struct walk *walk, pelt_track_fn *track,
		const struct pelt_params *params)
{
	const struct pelt_lanes_call call = { track, params, once_from(walk) };
	npy_intp index[NPY_MAXDIMS] = { 0 };
	PyThreadState *thread = PyEval_SaveThread();
	npy_intp done = 0;
	bool more = true;

	while (more) {
		struct pelt_lane lanes[PELT_LANES];
		npy_intp count = 0;

		do {
			lanes[count++] = lane_from(walk);
			more = next_stream(walk, index);
		} while (more && count < PELT_LANES);
		for (npy_intp first = 0, n; first < walk->n; first += n) {
			const npy_intp left = walk->n - first, most = EVENTS_BETWEEN_SIGNALS / count;

			n = left < most ? left : most;
			lanes_fn(lanes, (size_t)count, (size_t)first, (size_t)n, &call);
			done += n * count;
			if (done >= EVENTS_BETWEEN_SIGNALS) {
				if (let_signals_in(&thread) < 0)
					return -1;
				done = 0;
			}
		}
	}
	PyEval_RestoreThread(thread);
	return 0;
}
