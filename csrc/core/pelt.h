/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-entity load tracking: kernel/sched/fair.c of 3.8 .. 4.18 and
 * kernel/sched/pelt.c from 4.19.
 *
 * A form of the update bears the name of the first kernel that computes so;
 * _32bit: where an unsigned long has 32 bits, else it has 64.
 */
#ifndef SCHEDPY_PELT_H
#define SCHEDPY_PELT_H

#include "types.h"

/* A whole window: 1024 units of 1024 ns. */
#define PELT_PERIOD 1024u

/*
 * The largest half-life whose LOAD_AVG_MAX << 10 leaves the 32-bit util_sum
 * room for an entity that always runs, and that LOAD_AVG_MAX.
 */
#define PELT_HALF_LIFE_LIMIT 2048u
#define PELT_LOAD_AVG_MAX_LIMIT ((1u << 22) - 1)

/*
 * The kernel's struct sched_avg, every field widened to 64 bits. runnable_* is
 * runnable_load_* up to 5.6. util_sum is a u32 in the kernel and wraps as one;
 * period_contrib is 0 .. 1023. In 3.8 load_sum is runnable_avg_sum,
 * runnable_sum is runnable_avg_period (a u32 each), load_avg is
 * load_avg_contrib, and the others are not there.
 */
struct pelt_avg {
	u64 last_update_time;
	u64 load_sum;
	u64 runnable_sum;
	u64 util_sum;
	u64 period_contrib;
	u64 load_avg;
	u64 runnable_avg;
	u64 util_avg;
};

struct pelt_params {
	u32 half_life;
	u32 load_avg_max;
	const u32 *inverse;		/* half_life entries of 2^32 * 0.5^(i / half_life) */
	u64 update_threshold;		/* units of 1024 ns; 0: the kernel as released */
};

/*
 * n updates. The flags describe the time up to now. runnable is what the form
 * takes beside weight: runnable_weight up to 5.6, nr_running from 5.7; for irq
 * it is the time in ns that interrupts took since the update before. A column
 * that the form does not use is not read and may be NULL.
 *
 * index tells which of so many entities an update is of. NULL: there is one.
 */
struct pelt_events {
	const u64 *now;
	const u64 *weight;
	const u64 *runnable;
	const u64 *scale_freq;
	const u64 *scale_cpu;
	const u8 *running;
	const u8 *on_rq;
	const u64 *index;
	u64 entities;
	struct pelt_due *due;	/* of each entity, for the functions of pelt_interleaved.h alone */
};

/*
 * What is wanted of every update: n entries each, NULL where nothing is.
 * *_now is the average had it been refreshed at that update.
 */
struct pelt_history {
	u64 *last_update_time;
	u64 *load_sum;
	u64 *runnable_sum;
	u64 *util_sum;
	u64 *period_contrib;
	u64 *load_avg;
	u64 *runnable_avg;
	u64 *util_avg;
	u64 *load_now;
	u64 *runnable_now;
	u64 *util_now;
	u8 *updated;
};

/* Whether more than util_avg is wanted. */
static inline bool pelt_wants_rest(const struct pelt_history *out)
{
	return out->last_update_time || out->load_sum || out->runnable_sum || out->util_sum ||
	       out->period_contrib || out->load_avg || out->runnable_avg || out->load_now ||
	       out->runnable_now || out->util_now || out->updated;
}

/* The forms of the update: entity, first kernel. rt is a run queue of rt or of dl. */
#define PELT_FORMS(FORM)          \
	FORM(task, v3_8)          \
	FORM(task, v4_3)          \
	FORM(task, v4_4)          \
	FORM(task, v4_7)          \
	FORM(task, v4_12)         \
	FORM(task, v4_13)         \
	FORM(task, v4_14)         \
	FORM(task, v4_15)         \
	FORM(task, v5_1)          \
	FORM(task, v5_7)          \
	FORM(task, v4_13_32bit)   \
	FORM(task, v4_15_32bit)   \
	FORM(task, v5_7_32bit)    \
	FORM(cfs_rq, v4_3)        \
	FORM(cfs_rq, v4_4)        \
	FORM(cfs_rq, v4_7)        \
	FORM(cfs_rq, v4_12)       \
	FORM(cfs_rq, v4_13)       \
	FORM(cfs_rq, v4_14)       \
	FORM(cfs_rq, v4_15)       \
	FORM(cfs_rq, v5_1)        \
	FORM(cfs_rq, v5_7)        \
	FORM(cfs_rq, v4_13_32bit) \
	FORM(cfs_rq, v4_15_32bit) \
	FORM(cfs_rq, v5_7_32bit)  \
	FORM(rt, v4_15)           \
	FORM(rt, v5_1)            \
	FORM(rt, v5_7)            \
	FORM(rt, v4_15_32bit)     \
	FORM(rt, v5_7_32bit)      \
	FORM(irq, v4_15)          \
	FORM(irq, v5_1)           \
	FORM(irq, v5_7)           \
	FORM(irq, v4_15_32bit)    \
	FORM(irq, v5_7_32bit)

/*
 * Given:    avg      the state before the first event; of each entity, where there is an index
 *           n        number of events
 *           ev, out  columns of n entries
 *           params   fit for pelt_params_valid(), up to 4.11 of half-life 32 and
 *                    LOAD_AVG_MAX 47742; else nothing is done
 * Returned: avg      the state after the last event
 *           out      the state after each event
 *
 * An event whose index is out of range is passed over.
 */
typedef void pelt_track_fn(struct pelt_avg *avg, size_t n, const struct pelt_events *ev,
			   const struct pelt_history *out, const struct pelt_params *params);

#define PELT_DECLARE(entity, version) pelt_track_fn pelt_track_##entity##_##version;
PELT_FORMS(PELT_DECLARE)
#undef PELT_DECLARE

bool pelt_params_valid(const struct pelt_params *params);

/*
 * The pieces, for one half-life. inverse is the table's entry for n modulo
 * half_life (periods modulo half_life).
 */
u64 decay_load_v3_8(u64 val, u64 n, u32 half_life, u32 inverse);
u64 decay_load_v4_3(u64 val, u64 n, u32 half_life, u32 inverse);
u64 decay_load_v4_12(u64 val, u64 n, u32 half_life, u32 inverse);
u32 accumulate_segments(u64 periods, u32 d1, u32 d3, u32 half_life, u32 inverse,
			u32 load_avg_max);

/* n whole windows summed, before 4.12: a loop up to 4.6, then a table. inverse is for a half-life of 32. */
u32 compute_runnable_contrib_v3_8(u64 n, u32 inverse);
u32 compute_runnable_contrib_v4_7(u64 n, u32 inverse);

#endif
