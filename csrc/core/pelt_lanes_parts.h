/* SPDX-License-Identifier: GPL-2.0-only */
/* What the paths of pelt_lanes.h share: the rules of the forms, and what is done stream by stream. */
#ifndef SCHEDPY_PELT_LANES_PARTS_H
#define SCHEDPY_PELT_LANES_PARTS_H

#include <string.h>

#include "pelt_lanes.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The forms that have lanes, and the form whose code serves. */
#define PELT_LANES_FORMS(FORM) \
	FORM(v4_12, v4_12)     \
	FORM(v4_13, v4_13)     \
	FORM(v4_14, v4_14)     \
	FORM(v4_15, v4_15)     \
	FORM(v5_1, v4_15)      \
	FORM(v5_7, v5_7)

enum lanes_era { LANES_v4_12, LANES_v4_13, LANES_v4_14, LANES_v4_15, LANES_v5_1, LANES_v5_7, LANES_ERAS };

/* load_avg: wanted beside util_avg. */
pelt_lanes_fn *pelt_lanes_portable(enum lanes_era era, bool load_avg);
pelt_lanes_fn *pelt_lanes_avx2(enum lanes_era era, bool load_avg);
pelt_lanes_fn *pelt_lanes_avx512(enum lanes_era era, bool load_avg);

/*
 * Larger weights and scales, and from 4.15 a larger load_sum (less than 2^16 in any kernel), go to
 * the plain function. With these a load_sum times its weight is below 2^38, and an update adds
 * less than 2^28.
 */
#define LANES_WEIGHT_BITS 20
#define LANES_SCALE_BITS 11
#define LANES_LOAD_BITS 17

/* A longer sleep, or a clock that goes backwards; 2^32 window ends count as none. */
#define LANES_UNIT_BITS 41

/* Events first .. first + count of one stream by the plain function. */
void lane_plain(const struct pelt_lane *lane, size_t first, size_t count,
		const struct pelt_lanes_call *call);

/*
 * load_avg and runnable_avg after events since .. end, where avg has the sums
 * after the last of them; before is the state before the first.
 */
void lane_averages(const struct pelt_lane *lane, size_t since, size_t end,
		   const struct pelt_avg *before, enum lanes_era era,
		   const struct pelt_lanes_call *call);

/* Whether the columns that hold one entry for all events hold one that lanes can take. */
bool lane_takes_once(const struct pelt_lane *lane, enum lanes_era era,
		     const struct pelt_lanes_call *call);

/* The lane with event first as its first. */
struct pelt_lane lane_at(const struct pelt_lane *lane, size_t first,
			 const struct pelt_lanes_call *call);

/* How many events before its first a piece has to start; 0 where pieces do not pay. */
size_t lane_warm_up(const struct pelt_lane *lane, size_t first, size_t piece, size_t pieces,
		    const struct pelt_lanes_call *call);

/* The state before event i (not the first of all) but for sums and averages, which are zero. */
struct pelt_avg lane_from_nothing(const struct pelt_lane *lane, size_t i, enum lanes_era era);

#endif
