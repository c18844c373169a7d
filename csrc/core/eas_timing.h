/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timing placements: one case by several arms, call by call in a given order, with the caches
 * brought into a chosen state before each call.
 *
 *	warm	what the case reads is touched, then the arms follow one another
 *	cold	before each call the lines of some spans of memory are thrown out of every cache
 *	shared	before each call a working set is walked, one load a line
 *
 *	      arm 2              arm 0              arm 1
 *	prepare | call |   prepare | call |   prepare | call |
 *		begin  end         begin  end         begin  end
 *
 * Preparing is never inside a bracket.
 */
#ifndef SCHEDPY_EAS_TIMING_H
#define SCHEDPY_EAS_TIMING_H

#include "eas.h"

/* What is assumed of a line; a smaller one is walked or thrown out in part, a larger one twice. */
enum { EAS_LINE = 64 };

struct eas_span {
	const void *start;
	size_t bytes;
};

struct eas_timing {
	const struct eas_span *evicted;
	size_t nr_evicted;
	bool evict_case;		/* the task and the CPUs of the case, too */
	const u8 *working_set;
	size_t working_set_bytes;
	bool touch;			/* the case, before the first arm */
	u64 batch;			/* calls in one bracket */
};

typedef s64 eas_timed_fn(const struct eas_case *c);

bool eas_can_evict(void);
size_t eas_evict(const struct eas_span *span);
u64 eas_walk(const u8 *working_set, size_t bytes);
void eas_time_case(const struct eas_case *c, eas_timed_fn *const *arms, const s64 *order, size_t nr_arms,
		   const struct eas_timing *how, u64 *ticks, s64 *targets);

#endif
