/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clock conversions: nanoseconds to microseconds, exactly, as cpuidle did it
 * and by cheaper approximations; PELT's step of 1024 ns; mult/shift as
 * clocksources, sched_clock, the vDSO, clock events, the TSC, paravirtual
 * clocks and perf's user page use it.
 *
 * A function NAME_wraps() is true where NAME() is not what the same formula
 * gives on integers without bound.
 */
#ifndef SCHEDPY_CLOCK_H
#define SCHEDPY_CLOCK_H

#include "math64.h"
#include "types.h"

#define SCHEDPY_INT_MAX 2147483647

/*
 * ns / 1000 as a product, of which vector instructions know more than of quotients. 1000 = 8 * 125, and
 *
 *	NS_TO_US_MUL = (2^68 + 19) / 125
 *
 * so (ns / 8) * NS_TO_US_MUL / 2^68 exceeds the true quotient by the 19/2^68th
 * part of it: with ns / 8 < 2^61 by less than 19/128 of 1/125, too little to
 * reach the next integer.
 */
#define NS_TO_US_MUL 0x20C49BA5E353F7CFULL

static inline u64 ns_to_us_u64(u64 ns)
{
	return mul_high(ns >> 3, NS_TO_US_MUL) >> 4;
}

/* ns / 1000, truncating toward zero: -999 gives 0. ktime_to_us(), 64-bit longs. */
static inline s64 ktime_to_us(s64 ns)
{
	const u64 sign = ns < 0 ? UINT64_MAX : 0;

	return (s64)((ns_to_us_u64(((u64)ns ^ sign) - sign) ^ sign) - sign);
}

/* The subtraction wraps, as the kernel's does under -fno-strict-overflow. */
static inline s64 ktime_us_delta(s64 later, s64 earlier)
{
	return ktime_to_us((s64)((u64)later - (u64)earlier));
}

static inline bool ktime_us_delta_wraps(s64 later, s64 earlier)
{
	s64 difference;

	return __builtin_sub_overflow(later, earlier, &difference);
}

/*
 * include/linux/ktime.h. Kernels of 32 bit divide |ns| and put the sign back,
 * which gives the same. The one quotient that does not fit wraps.
 */
static inline s64 ktime_divns(s64 ns, s64 div)
{
	if (div == 0)
		return (s64)div_u64(0, 0);
	return div == -1 ? (s64)(0 - (u64)ns) : ns / div;
}

static inline s64 ns_to_us_s64(s64 ns)
{
	return ktime_to_us(ns);
}

static inline u64 ns_to_us_shift_u64(u64 ns)
{
	return ns >> 10;
}

/*
 * Rounds toward minus infinity, as an arithmetic shift does. C leaves the
 * shift of a negative number to the compiler, so the complement is shifted.
 */
static inline s64 arithmetic_shift(s64 x, u32 shift)
{
	return x < 0 ? ~(~x >> shift) : x >> shift;
}

static inline s64 ns_to_us_shift_s64(s64 ns)
{
	return arithmetic_shift(ns, 10);
}

static inline u64 ns_to_us_mulhi_u64(u64 ns)
{
	return mul_u64_u64_shr(ns >> 3, NS_TO_US_MUL, 68);
}

/*
 * A signed ns keeps its sign through the product of all its bits, over 2^71; rounded toward minus infinity,
 * the quotient of a negative ns is one too small, always, since it is a little below the true one.
 */
static inline s64 ns_to_us_mulhi_s64(s64 ns)
{
	/* As u64 a negative ns is 2^64 too large, and its product NS_TO_US_MUL * 2^64. */
	const u64 high = mul_u64_u64_shr((u64)ns, NS_TO_US_MUL, 64) - (ns < 0 ? NS_TO_US_MUL : 0);

	return arithmetic_shift((s64)high, 7) + (ns < 0);
}

/*
 * Sums of shifted x, the cheaper approximations of a division: `terms` holds
 * up to eight, one in each byte, the first in the lowest. Bits 0..5 of a byte
 * are the shift, bit 6 says that there is a term, bit 7 that it is subtracted.
 * The sum wraps at 64 bits and is then shifted as a whole.
 */
#define SHIFT_ADD_TERM 0x40
#define SHIFT_ADD_MINUS 0x80

static inline u64 shift_add(u64 x, u64 terms, u32 shift)
{
	u64 sum = 0;

	for (; terms; terms >>= 8) {
		const u64 term = (terms & SHIFT_ADD_TERM) ? x >> (terms & 63) : 0;

		sum += (terms & SHIFT_ADD_MINUS) ? 0 - term : term;
	}
	return shift < 64 ? sum >> shift : 0;
}

static inline bool shift_add_wraps(u64 x, u64 terms, u32 shift)
{
	s128 sum = 0;

	(void)shift;
	for (; terms; terms >>= 8) {
		const s128 term = (terms & SHIFT_ADD_TERM) ? (s128)(x >> (terms & 63)) : 0;

		sum += (terms & SHIFT_ADD_MINUS) ? -term : term;
	}
	return sum < 0 || beyond_u64((u128)sum);
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
	return clamp_int_max(ktime_to_us(ns));
}

static inline s64 cpuidle_residency_div1000_u64(u64 ns)
{
	return clamp_int_max((s64)ns_to_us_u64(ns));
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

/*
 * A product cut to 64 bits and shifted: cyc_to_ns() of kernel/time/sched_clock.c,
 * and what every mult/shift pair does if nobody takes care.
 */
static inline u64 cyc_to_ns(u64 cyc, u32 mult, u32 shift)
{
	return shift < 64 ? (cyc * mult) >> shift : 0;
}

static inline bool cyc_to_ns_wraps(u64 cyc, u32 mult, u32 shift)
{
	return shift < 64 && beyond_u64((u128)cyc * mult);
}

/* include/linux/clocksource.h: the same, given back as s64. */
static inline s64 clocksource_cyc2ns(u64 cycles, u32 mult, u32 shift)
{
	return (s64)cyc_to_ns(cycles, mult, shift);
}

static inline bool clocksource_cyc2ns_wraps(u64 cycles, u32 mult, u32 shift)
{
	return cyc_to_ns_wraps(cycles, mult, shift) || clocksource_cyc2ns(cycles, mult, shift) < 0;
}

/* The later form, from max_cycles on by the product of 96 bits. */
static inline u64 clocksource_cyc2ns_safe(u64 cycles, u32 mult, u32 shift, u64 max_cycles)
{
	return cycles >= max_cycles ? mul_u64_u32_shr(cycles, mult, shift) : cyc_to_ns(cycles, mult, shift);
}

static inline bool clocksource_cyc2ns_safe_wraps(u64 cycles, u32 mult, u32 shift, u64 max_cycles)
{
	return cycles >= max_cycles ? mul_u64_u32_shr_wraps(cycles, mult, shift) :
				      cyc_to_ns_wraps(cycles, mult, shift);
}

/* kernel/time/timekeeping_internal.h: a counter that went backwards shows in the mask's upper bit. */
static inline u64 clocksource_delta(u64 now, u64 last, u64 mask)
{
	return (now - last) & mask;
}

static inline u64 clocksource_delta_validated(u64 now, u64 last, u64 mask)
{
	const u64 delta = (now - last) & mask;

	return (delta & ~(mask >> 1)) ? 0 : delta;
}

/* kernel/time/sched_clock.c: what is read after epoch_cyc, on top of epoch_ns. */
static inline u64 sched_clock(u64 cyc, u64 epoch_cyc, u64 epoch_ns, u64 mask, u32 mult, u32 shift)
{
	return epoch_ns + cyc_to_ns((cyc - epoch_cyc) & mask, mult, shift);
}

static inline bool sched_clock_wraps(u64 cyc, u64 epoch_cyc, u64 epoch_ns, u64 mask, u32 mult, u32 shift)
{
	const u64 delta = (cyc - epoch_cyc) & mask;

	return cyc_to_ns_wraps(delta, mult, shift) ||
	       beyond_u64((u128)epoch_ns + cyc_to_ns(delta, mult, shift));
}

/* The vDSO: `base` is in ns << shift, and so is the sum, which wraps. */
static inline u64 vdso_calc_ns(u64 cycles, u64 cycle_last, u64 mask, u32 mult, u64 base, u32 shift)
{
	return shift < 64 ? (base + ((cycles - cycle_last) & mask) * mult) >> shift : 0;
}

static inline bool vdso_calc_ns_wraps(u64 cycles, u64 cycle_last, u64 mask, u32 mult, u64 base, u32 shift)
{
	return shift < 64 && beyond_u64((u128)((cycles - cycle_last) & mask) * mult + base);
}

/* arch/x86/kernel/tsc.c: the offset is a signed number kept in a u64. */
static inline u64 cycles_2_ns(u64 tsc, u32 mul, u32 shift, u64 offset)
{
	return offset + mul_u64_u32_shr(tsc, mul, shift);
}

static inline bool cycles_2_ns_wraps(u64 tsc, u32 mul, u32 shift, u64 offset)
{
	const s128 ns = (s64)offset + (s128)(shift < 128 ? (u128)tsc * mul >> shift : 0);

	return ns < 0 || beyond_u64((u128)ns);
}

/* arch/x86/include/asm/pvclock.h: a shift of either direction, then a factor of mul_frac / 2^32. */
static inline u64 pvclock_scale_delta(u64 delta, u32 mul_frac, s64 shift)
{
	if (shift <= -64 || shift >= 64)
		return 0;
	return mul_u64_u32_shr(shift < 0 ? delta >> -shift : delta << shift, mul_frac, 32);
}

static inline bool pvclock_scale_delta_wraps(u64 delta, u32 mul_frac, s64 shift)
{
	return mul_frac && shift > 0 && shift < 64 && delta << shift >> shift != delta;
}

/*
 * perf's user page and tools/perf/util/tsc.c: quotient and remainder of
 * 2^shift are scaled apart, so that only a result above 2^64 is lost.
 */
static inline u64 tsc_to_perf_time(u64 cyc, u32 mult, u32 shift, u64 zero)
{
	const u64 rem = shift < 64 ? cyc & ((1ULL << shift) - 1) : 0;

	return shift < 64 ? zero + (cyc >> shift) * mult + (rem * mult >> shift) : zero;
}

static inline bool tsc_to_perf_time_wraps(u64 cyc, u32 mult, u32 shift, u64 zero)
{
	const u128 exact = (shift < 64 ? (u128)cyc * mult >> shift : 0) + zero;

	return beyond_u64(exact) || tsc_to_perf_time(cyc, mult, shift, zero) != (u64)exact;
}

static inline u64 perf_time_to_tsc(u64 ns, u32 mult, u32 shift, u64 zero)
{
	const u64 t = ns - zero;

	if (mult == 0 || shift >= 64)
		return div_u64(t, mult);
	return (t / mult << shift) + (t % mult << shift) / mult;
}

static inline bool perf_time_to_tsc_wraps(u64 ns, u32 mult, u32 shift, u64 zero)
{
	const u64 t = ns - zero;

	if (mult == 0 || shift >= 64)
		return false;
	return ns < zero || (u128)t << shift >= (u128)mult << 64 || beyond_u64((u128)(t % mult) << shift);
}

/* include/linux/clockchips.h: the factor of clock events, (ticks << shift) / nsec as an unsigned long. */
static inline u64 div_sc(u64 ticks, u32 nsec, u32 shift)
{
	return div_u64(shift < 64 ? ticks << shift : 0, nsec);
}

static inline u64 div_sc_32bit(u64 ticks, u32 nsec, u32 shift)
{
	return div_sc(ticks, nsec, shift) & UINT32_MAX;
}

static inline bool div_sc_wraps(u64 ticks, u32 nsec, u32 shift)
{
	return nsec && shift < 64 && beyond_u64((u128)ticks << shift);
}

static inline bool div_sc_32bit_wraps(u64 ticks, u32 nsec, u32 shift)
{
	return nsec && shift < 64 && (u128)ticks << shift >= (u128)nsec << 32;
}

u64 cev_delta2ns(u64 latch, u32 mult, u32 shift, bool ismax);
void clockevents_config(u32 freq, u64 min_delta_ticks, u64 max_delta_ticks, u32 *mult, u32 *shift,
			u64 *min_delta_ns, u64 *max_delta_ns);

void clocks_calc_mult_shift(u32 from, u32 to, u32 maxsec, u32 *mult, u32 *shift);
bool clocks_calc_mult_shift_wraps(u32 from, u32 to, u32 maxsec);
void clocks_calc_max_nsecs(u32 mult, u32 shift, u32 maxadj, u64 mask, u64 *max_nsecs, u64 *max_cycles);
bool clocks_calc_max_nsecs_wraps(u32 mult, u32 shift, u32 maxadj, u64 mask);
void clocksource_update_freq_scale(u32 scale, u32 freq, u64 mask, u32 *mult, u32 *shift, u32 *maxadj,
				   u64 *max_cycles, u64 *max_idle_ns);
u32 clocksource_hz2mult(u32 hz, u32 shift);
u32 clocksource_khz2mult(u32 khz, u32 shift);
bool clocksource_hz2mult_wraps(u32 hz, u32 shift);
bool clocksource_khz2mult_wraps(u32 khz, u32 shift);
void sched_clock_register(u32 bits, u32 rate, u32 *mult, u32 *shift, u64 *wrap_ns, u64 *max_cycles,
			  u64 *resolution_ns);
void set_cyc2ns_scale(u32 khz, u64 tsc_now, u32 old_mul, u32 old_shift, u64 old_offset, u32 *mul, u32 *shift,
		      u64 *offset);
bool set_cyc2ns_scale_wraps(u32 khz, u64 tsc_now, u32 old_mul, u32 old_shift, u64 old_offset);

#endif
