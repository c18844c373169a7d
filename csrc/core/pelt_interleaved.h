/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The update of tasks for one stream of the events of many, when util_avg is the only history
 * wanted: the same bits as the function of pelt.h, faster, because averages that nobody looks
 * at are made once, at the end.
 */
#ifndef SCHEDPY_PELT_INTERLEAVED_H
#define SCHEDPY_PELT_INTERLEAVED_H

#include "pelt.h"

/* What load_avg and runnable_avg of an entity will be made of. All zero: nothing is due. */
struct pelt_due {
	u64 load_sum;
	u64 runnable_sum;
	u64 weight;
	u64 runnable;
	u32 div;	/* 0: nothing is due */
};

typedef void pelt_settle_fn(struct pelt_avg *avg, struct pelt_due *due, size_t entities);

/* track needs an index and the events' due; load_avg and runnable_avg are due until the settling. */
struct pelt_interleaved {
	pelt_track_fn *track;
	pelt_settle_fn *settle;
};

/* The functions that together give what `plain` gives; NULL in both where it serves itself. */
struct pelt_interleaved pelt_interleaved_for(pelt_track_fn *plain, const struct pelt_params *params,
					     const struct pelt_history *history);

#endif
