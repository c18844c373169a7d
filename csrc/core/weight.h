/* SPDX-License-Identifier: GPL-2.0-only */
/* Load weights: kernel/sched/core.c and kernel/sched/sched.h, 64-bit kernels. */
#ifndef SCHEDPY_WEIGHT_H
#define SCHEDPY_WEIGHT_H

#include "types.h"

/* The weight as PELT takes it, of the weight with 10 further bits that 64-bit kernels keep. */
u64 scale_load_down_v4_12(u64 raw);
u64 scale_load_down_v5_7(u64 raw);

/* sched_prio_to_weight and sched_prio_to_wmult of a nice value, which is cut to -20 .. 19 first. */
u64 nice_to_weight(s64 nice);
u64 nice_to_wmult(s64 nice);

#endif
