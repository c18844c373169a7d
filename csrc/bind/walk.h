/* SPDX-License-Identifier: GPL-2.0-only */
/* Streams of events in arrays of any shape, one after the other; see streams.c and lanes.c. */
#ifndef SCHEDPY_WALK_H
#define SCHEDPY_WALK_H

#include "bind.h"

#include "core/pelt_interleaved.h"
#include "core/pelt_lanes.h"

#define EVENTS_BETWEEN_SIGNALS (1 << 20)

#define STATE_FIELDS 8
_Static_assert(sizeof(struct pelt_avg) == STATE_FIELDS * sizeof(u64), "the state is a row of u64");

/* Events: five columns of u64 and two of bool, in the order of struct pelt_events. */
enum { NOW, WEIGHT, RUNNABLE, SCALE_FREQ, SCALE_CPU, RUNNING, ON_RQ, EVENT_COLUMNS };
/* History: the fields of struct pelt_history, in its order. */
enum { UPDATED = 11, HISTORY_COLUMNS };

/* Where an array is while the streams are walked; data NULL: the column is not there. */
struct walker {
	char *data;
	const npy_intp *steps;
	npy_intp last_step;
};

struct walk {
	int ndim;
	const npy_intp *shape;
	npy_intp n;
	struct walker state;
	struct walker events[EVENT_COLUMNS];
	struct walker history[HISTORY_COLUMNS];
	const u64 *index;	/* one stream: the row of the state that each event is of; or NULL */
	npy_intp entities;
	struct pelt_due *due;	/* of each entity; see pelt_interleaved.h */
};

static inline void gather(char *to, const char *from, npy_intp step, npy_intp count, size_t size)
{
	if (size == sizeof(u64)) {
		for (npy_intp i = 0; i < count; i++)
			memcpy(to + i * (npy_intp)sizeof(u64), from + i * step, sizeof(u64));
	} else {
		for (npy_intp i = 0; i < count; i++)
			to[i] = from[i * step];
	}
}

/*
 * count contiguous, aligned entries of a column from first on: where they are, or copied to scratch. A
 * broadcast column (last_step 0) is copied once and stays: filled_from is the entry that is there. The
 * first chunk of a stream is the longest, and all streams are as long.
 */
static inline const void *column_of(const struct walker *w, size_t size, npy_intp first, npy_intp count,
				    char *to, const char **filled_from)
{
	const char *from = w->data + first * w->last_step;

	if (w->last_step == (npy_intp)size && (uintptr_t)from % size == 0)
		return from;
	if (w->last_step != 0 || *filled_from != from)
		gather(to, from, w->last_step, count, size);
	*filled_from = w->last_step == 0 ? from : NULL;
	return to;
}

static inline void advance(struct walker *w, npy_intp axis, npy_intp count)
{
	if (w->data)
		w->data += w->steps[axis] * count;
}

static inline void advance_all(struct walk *walk, npy_intp axis, npy_intp count)
{
	advance(&walk->state, axis, count);
	for (int c = 0; c < EVENT_COLUMNS; c++)
		advance(&walk->events[c], axis, count);
	for (int c = 0; c < HISTORY_COLUMNS; c++)
		advance(&walk->history[c], axis, count);
}

/* On to the next stream, the last leading axis first; false after the last one. */
static inline bool next_stream(struct walk *walk, npy_intp *index)
{
	for (int axis = walk->ndim - 2; axis >= 0; axis--) {
		if (++index[axis] < walk->shape[axis]) {
			advance_all(walk, axis, 1);
			return true;
		}
		advance_all(walk, axis, 1 - walk->shape[axis]);
		index[axis] = 0;
	}
	return false;
}

static inline struct pelt_history history_from(const struct walk *walk, npy_intp first)
{
	void *c[HISTORY_COLUMNS];

	for (int i = 0; i < HISTORY_COLUMNS; i++) {
		const struct walker *w = &walk->history[i];

		c[i] = w->data ? w->data + first * w->last_step : NULL;
	}
	return (struct pelt_history){
		.last_update_time = c[0], .load_sum = c[1], .runnable_sum = c[2],
		.util_sum = c[3], .period_contrib = c[4], .load_avg = c[5],
		.runnable_avg = c[6], .util_avg = c[7], .load_now = c[8],
		.runnable_now = c[9], .util_now = c[10], .updated = c[UPDATED],
	};
}

/* A signal handler may raise: -1 then, with the exception set and the GIL held. */
static inline int let_signals_in(PyThreadState **thread)
{
	PyEval_RestoreThread(*thread);
	if (PyErr_CheckSignals() < 0)
		return -1;
	*thread = PyEval_SaveThread();
	return 0;
}

/* Tracks several streams at once; false, and nothing is done, where lanes do not serve. */
pelt_lanes_fn *lanes_that_serve(const struct walk *walk, pelt_track_fn *track,
				const struct pelt_params *params, enum path path);
int track_lanes(pelt_lanes_fn *lanes, struct walk *walk, pelt_track_fn *track,
		const struct pelt_params *params);

#endif
