/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clock conversions: nanoseconds to microseconds as cpuidle did it, PELT's
 * step of 1024 ns, and mult/shift clocksources.
 */
#ifndef SCHEDPY_CLOCK_H
#define SCHEDPY_CLOCK_H

#include "math64.h"
#include "types.h"

#define SCHEDPY_INT_MAX 2147483647

/* ns / 1000, truncating toward zero: -999 gives 0. ktime_to_us(), 64-bit longs. */
static inline s64 ktime_to_us(s64 ns)
{
	return ns / 1000;
}

/* The subtraction wraps, as the kernel's does under -fno-strict-overflow. */
static inline s64 ktime_us_delta(s64 later, s64 earlier)
{
	return ktime_to_us((s64)((u64)later - (u64)earlier));
}

static inline s64 ns_to_us_s64(s64 ns)
{
	return ktime_to_us(ns);
}

static inline u64 ns_to_us_u64(u64 ns)
{
	return ns / 1000;
}

static inline u64 ns_to_us_shift_u64(u64 ns)
{
	return ns >> 10;
}

/*
 * Rounds toward minus infinity, as an arithmetic shift does. C leaves the
 * shift of a negative number to the compiler, so the complement is shifted.
 */
static inline s64 ns_to_us_shift_s64(s64 ns)
{
	return ns < 0 ? ~(~ns >> 10) : ns >> 10;
}

static inline s64 clamp_int_max(s64 us)
{
	return us > SCHEDPY_INT_MAX ? SCHEDPY_INT_MAX : us;
}

/*
 * drivers/cpuidle/cpuidle.c up to 5.4: the measured idle time in us, limited
 * from above alone. The u64 form is the difference as 4.7-rc1 had it: there a
 * clock that went backwards is a huge number and ends at INT_MAX.
 */
static inline s64 cpuidle_residency_div1000_s64(s64 ns)
{
	return clamp_int_max(ns / 1000);
}

static inline s64 cpuidle_residency_div1000_u64(u64 ns)
{
	return clamp_int_max((s64)(ns / 1000));
}

static inline s64 cpuidle_residency_shr10_s64(s64 ns)
{
	return clamp_int_max(ns_to_us_shift_s64(ns));
}

static inline s64 cpuidle_residency_shr10_u64(u64 ns)
{
	return clamp_int_max((s64)(ns >> 10));
}

/*
 * How PELT reads its clock (kernel/sched/pelt.c): whole units of 1024 ns are
 * taken, and what is left below a unit stays between `last` and `now` for the
 * next step, so no time is ever lost. A clock that went backwards sets `last`
 * and counts nothing.
 */
static inline void pelt_step(u64 now, u64 last, u64 *units, u64 *last_after, bool *backwards)
{
	const u64 delta = now - last;

	*backwards = delta >> 63;
	*units = *backwards ? 0 : delta >> 10;
	*last_after = *backwards ? now : last + (*units << 10);
}

/* kernel/time/clocksource.c: the product is cut to 64 bits before the shift. */
static inline s64 clocksource_cyc2ns(u64 cycles, u32 mult, u32 shift)
{
	return shift < 64 ? (s64)((cycles * mult) >> shift) : 0;
}

void clocks_calc_mult_shift(u32 from, u32 to, u32 maxsec, u32 *mult, u32 *shift);

#endif
