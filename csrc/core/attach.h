/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task's averages joining a CFS run queue, leaving it, and that of a new
 * task. kernel/sched/fair.c of 4.10 .. 6.19, 64-bit kernels.
 */
#ifndef SCHEDPY_ATTACH_H
#define SCHEDPY_ATTACH_H

#include "pelt.h"
#include "types.h"

/*
 * Given:    se, cfs  the task and the run queue, util_sum below 2^32
 *           weight   of the task, scaled down; not read up to 4.14
 * Returned: se       on attach: moved to the run queue's time; detach leaves it
 *           cfs      with the task's share added or taken off
 *
 * Runnable fields of the run queue are touched from 5.7 on.
 */
typedef void attach_fn(struct pelt_avg *se, struct pelt_avg *cfs, u64 weight);

#define ATTACH_FORMS(FORM)   \
	FORM(attach, v4_10)  \
	FORM(attach, v4_15)  \
	FORM(attach, v5_7)   \
	FORM(attach, v5_18)  \
	FORM(detach, v4_10)  \
	FORM(detach, v4_15)  \
	FORM(detach, v5_7)   \
	FORM(detach, v5_18)

#define ATTACH_DECLARE(op, version) attach_fn op##_##version;
ATTACH_FORMS(ATTACH_DECLARE)
#undef ATTACH_DECLARE

/* util_avg of a new task; capacity is not read up to 4.14. raw: the weight with its 10 further bits. */
u64 post_init_entity_util_avg_v4_10(u64 cfs_util_avg, u64 cfs_load_avg, u64 capacity, u64 raw);
u64 post_init_entity_util_avg_v4_15(u64 cfs_util_avg, u64 cfs_load_avg, u64 capacity, u64 raw);
u64 post_init_entity_util_avg_v6_10(u64 cfs_util_avg, u64 cfs_load_avg, u64 capacity, u64 raw);

#endif
