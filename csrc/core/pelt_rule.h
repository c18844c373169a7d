/* SPDX-License-Identifier: GPL-2.0-only */
/* What every form of the update is made of: its rule, one event, and the decay. Included by pelt.c alone. */
#ifndef SCHEDPY_PELT_RULE_H
#define SCHEDPY_PELT_RULE_H

#include "math64.h"
#include "pelt.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * The first kernel of each form; each differs from the one before by one rule,
 * see its first use. An era with the mark LONG_32 is that of a kernel whose
 * unsigned long has 32 bits.
 */
enum era {
	v3_8, v4_3, v4_4, v4_7, v4_12, v4_13, v4_14, v4_15, v5_1, v5_7,
	LONG_32 = 0x100,
	v4_13_32bit = v4_13 | LONG_32,
	v4_15_32bit = v4_15 | LONG_32,
	v5_7_32bit = v5_7 | LONG_32,
};
enum entity { task, cfs_rq, rt, irq };

/* Compile-time constants wherever a rule is passed on. */
struct rule {
	enum era era;
	enum entity entity;
	bool long_32;
};

/* What a product or an average is where the kernel holds it in an unsigned long. */
ALWAYS_INLINE u64 as_long(u64 x, struct rule rule)
{
	return rule.long_32 ? (u32)x : x;
}

struct update {
	u64 now;
	u64 load;
	u64 runnable;
	bool running;
	u64 load_weight;
	u64 runnable_weight;
	u64 scale_freq;
	u64 scale_cpu;
};

/* x if the flag is set, else 0, without a branch: flags are hard to predict. */
ALWAYS_INLINE u64 if_set(bool flag, u64 x)
{
	return (0 - (u64)flag) & x;
}

/* Up to 4.14 runnable_load_sum is the run queue's: a task's update leaves it alone. */
ALWAYS_INLINE bool tracks_runnable(struct rule rule)
{
	return rule.era >= v4_15 || rule.entity == cfs_rq;
}

/*
 * y^n as a shift and a 32-bit fraction, y^half_life = 1/2:
 *
 *   y^n = 2^-(n / half_life) * y^(n % half_life)
 *
 * Beyond 63 half-lives nothing of a 64-bit sum is left.
 */
struct decay {
	u32 shift;
	u32 inverse;
};

ALWAYS_INLINE bool decayed_to_nothing(u64 n, u32 half_life)
{
	return n > (u64)half_life * 63 || half_life == 0;
}

ALWAYS_INLINE struct decay decay_over(u64 n, const struct pelt_params *params)
{
	const u32 half_life = params->half_life;
	struct decay d = { 0, 0 };

	if (decayed_to_nothing(n, half_life))
		return d;
	if (n >= half_life) {
		d.shift = (u32)n / half_life;
		n = (u32)n % half_life;
	}
	d.inverse = params->inverse[n];
	return d;
}

/*
 * The fraction of y^0 is 2^32 - 1, not 2^32: from 4.12 on, which has no exit
 * for n == 0, a whole number of half-lives takes one more off a small value.
 */
ALWAYS_INLINE u64 decay_by(u64 val, struct decay d)
{
	return mul_u64_u32_shr(val >> d.shift, d.inverse, 32);
}

#endif
