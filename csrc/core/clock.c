/* SPDX-License-Identifier: GPL-2.0-only */
#include "clock.h"

/*
 * mult and shift so that (cycles * mult) >> shift turns cycles of `from` Hz
 * into cycles of `to` Hz, as precise as a range of `maxsec` seconds allows.
 *
 * cycles reaches maxsec * from. Each bit of that product above 32 is a bit
 * that mult must leave free, else cycles * mult passes 2^64: mult may have
 * 32 - bit_length(maxsec * from >> 32) bits. The largest shift whose rounded
 * mult fits is taken.
 *
 * If even shift 1 does not fit the loop runs out: shift is then 0 while mult
 * still belongs to shift 1, so the pair gives twice the ratio. The kernel
 * returns just that, and so does this. from = 0 gives mult = shift = 0 and
 * raises the division-by-zero flag.
 *
 * kernel/time/clocksource.c of 6.1.
 */
void clocks_calc_mult_shift(u32 from, u32 to, u32 maxsec, u32 *mult, u32 *shift)
{
	const u32 free_bits = 32 - bit_length(((u64)maxsec * from) >> 32);
	u64 scaled = 0;
	u32 s;

	*mult = *shift = 0;
	if (from == 0) {
		(void)feraiseexcept(FE_DIVBYZERO);
		return;
	}
	for (s = 32; s > 0; s--) {
		scaled = (((u64)to << s) + from / 2) / from;
		if (scaled >> free_bits == 0)
			break;
	}
	*mult = (u32)scaled;
	*shift = s;
}

bool clocks_calc_mult_shift_wraps(u32 from, u32 to, u32 maxsec)
{
	u32 mult, shift;

	if (from == 0)
		return false;
	clocks_calc_mult_shift(from, to, maxsec, &mult, &shift);
	return shift == 0;
}

/*
 * The longest time that converts without overflow, halved for safety, and its
 * cycles. mult + maxadj, the fastest that the clock may be steered to, bounds
 * the product; mult - maxadj, the slowest, gives the time that certainly passed.
 *
 * kernel/time/clocksource.c of 6.1.
 */
void clocks_calc_max_nsecs(u32 mult, u32 shift, u32 maxadj, u64 mask, u64 *max_nsecs, u64 *max_cycles)
{
	const u64 most = div_u64(UINT64_MAX, (u32)(mult + maxadj));

	*max_cycles = most < mask ? most : mask;
	*max_nsecs = cyc_to_ns(*max_cycles, mult - maxadj, shift) >> 1;
}

/* Only a maxadj that no registration gives, above mult or above what 32 bits leave, makes these wrap. */
bool clocks_calc_max_nsecs_wraps(u32 mult, u32 shift, u32 maxadj, u64 mask)
{
	const u64 fastest = (u64)mult + maxadj;
	const u64 exact = fastest ? UINT64_MAX / fastest : 0;
	const u64 most = (u32)fastest ? UINT64_MAX / (u32)fastest : 0;

	if (shift >= 64 || mask == 0)
		return false;
	return (exact < mask ? exact : mask) != (most < mask ? most : mask) || (maxadj > mult && exact);
}

/*
 * How long a range to ask of clocks_calc_mult_shift() for a counter: what it
 * counts before it wraps, at least a second, and no more than ten minutes if
 * it is wider than 32 bits.
 */
static u64 seconds_covered(u64 max_ticks, u64 ticks_per_second)
{
	const u64 sec = div_u64(max_ticks, ticks_per_second);

	if (sec == 0)
		return 1;
	return sec > 600 && max_ticks > UINT32_MAX ? 600 : sec;
}

/*
 * Registration of a clocksource of freq * scale Hz. A mult from which the
 * allowed steering of 11 % would leave 32 bits is halved, and the shift with it.
 * A frequency or scale of 0 gives zeros and raises the division-by-zero flag.
 *
 * kernel/time/clocksource.c of 6.1: __clocksource_update_freq_scale(), which
 * divides by freq and by scale in turn; that gives the same seconds.
 */
void clocksource_update_freq_scale(u32 scale, u32 freq, u64 mask, u32 *mult, u32 *shift, u32 *maxadj,
				   u64 *max_cycles, u64 *max_idle_ns)
{
	u64 sec;

	*mult = *shift = *maxadj = 0;
	*max_cycles = *max_idle_ns = 0;
	if (scale == 0 || freq == 0) {
		(void)div_u64(0, 0);
		return;
	}
	sec = seconds_covered(mask, (u64)freq * scale);
	clocks_calc_mult_shift(freq, 1000000000 / scale, (u32)(sec * scale), mult, shift);
	*maxadj = (u32)((u64)*mult * 11 / 100);
	while ((u32)(*mult + *maxadj) < *mult || (u32)(*mult - *maxadj) > *mult) {
		*mult >>= 1;
		*shift -= 1;
		*maxadj = (u32)((u64)*mult * 11 / 100);
	}
	clocks_calc_max_nsecs(*mult, *shift, *maxadj, mask, max_idle_ns, max_cycles);
}

/*
 * mult for a given shift, rounded to the nearest; what does not fit into
 * 32 bits is cut off without a word. include/linux/clocksource.h of 6.1.
 */
static u32 freq2mult(u32 freq, u32 shift, u64 from)
{
	return (u32)div_u64((shift < 64 ? from << shift : 0) + freq / 2, freq);
}

static bool freq2mult_wraps(u32 freq, u32 shift, u64 from)
{
	return freq && shift < 64 && ((u128)from << shift) + freq / 2 >= (u128)freq << 32;
}

u32 clocksource_hz2mult(u32 hz, u32 shift)
{
	return freq2mult(hz, shift, 1000000000);
}

u32 clocksource_khz2mult(u32 khz, u32 shift)
{
	return freq2mult(khz, shift, 1000000);
}

bool clocksource_hz2mult_wraps(u32 hz, u32 shift)
{
	return freq2mult_wraps(hz, shift, 1000000000);
}

bool clocksource_khz2mult_wraps(u32 khz, u32 shift)
{
	return freq2mult_wraps(khz, shift, 1000000);
}

/*
 * kernel/time/sched_clock.c of 6.1: a range of one hour is asked for, and no
 * steering is allowed for.
 */
void sched_clock_register(u32 bits, u32 rate, u32 *mult, u32 *shift, u64 *wrap_ns, u64 *max_cycles,
			  u64 *resolution_ns)
{
	const u64 mask = bits == 0 ? 0 : UINT64_MAX >> (bits < 64 ? 64 - bits : 0);

	*wrap_ns = *max_cycles = *resolution_ns = 0;
	clocks_calc_mult_shift(rate, 1000000000, 3600, mult, shift);
	if (rate == 0)
		return;
	clocks_calc_max_nsecs(*mult, *shift, 0, mask, wrap_ns, max_cycles);
	*resolution_ns = cyc_to_ns(1, *mult, *shift);
}

/*
 * Ticks of a clock event device to ns, never below 1 us. To make sure that ns
 * converted back are no fewer ticks the quotient is rounded up, save for a
 * maximum whose mult has more than `shift` bits: there rounding up could pass
 * the device's limit. mult = 0 is taken as 1.
 *
 * kernel/time/clockevents.c of 6.1.
 */
u64 cev_delta2ns(u64 latch, u32 mult, u32 shift, bool ismax)
{
	const u64 round = mult ? mult - 1 : 0;
	u64 clc = shift < 64 ? latch << shift : 0;

	if (shift >= 64 || clc >> shift != latch)
		clc = UINT64_MAX;
	if (UINT64_MAX - clc > round && (!ismax || shift >= 64 || mult <= 1ULL << shift))
		clc += round;
	clc /= round + 1;
	return clc > 1000 ? clc : 1000;
}

/* kernel/time/clockevents.c of 6.1. The seconds are passed on as u32. */
void clockevents_config(u32 freq, u64 min_delta_ticks, u64 max_delta_ticks, u32 *mult, u32 *shift,
			u64 *min_delta_ns, u64 *max_delta_ns)
{
	*mult = *shift = 0;
	*min_delta_ns = *max_delta_ns = 0;
	if (freq == 0) {
		(void)div_u64(0, 0);
		return;
	}
	clocks_calc_mult_shift(1000000000, freq, (u32)seconds_covered(max_delta_ticks, freq), mult, shift);
	*min_delta_ns = cev_delta2ns(min_delta_ticks, *mult, *shift, false);
	*max_delta_ns = cev_delta2ns(max_delta_ticks, *mult, *shift, true);
}

/*
 * The TSC changes its frequency at tsc_now: the new offset is what keeps the
 * clock continuous there, old(tsc_now) = new(tsc_now). It may be "negative".
 * No range is asked for (maxsec 0), so mult takes all 32 bits; the shift of 32
 * is one too many for perf's page and becomes 31.
 *
 * arch/x86/kernel/tsc.c of 6.1: __set_cyc2ns_scale(). khz = 0 changes nothing.
 */
void set_cyc2ns_scale(u32 khz, u64 tsc_now, u32 old_mul, u32 old_shift, u64 old_offset, u32 *mul, u32 *shift,
		      u64 *offset)
{
	*mul = old_mul;
	*shift = old_shift;
	*offset = old_offset;
	if (khz == 0)
		return;
	clocks_calc_mult_shift(khz, 1000000, 0, mul, shift);
	if (*shift == 32) {
		*shift = 31;
		*mul >>= 1;
	}
	*offset = cycles_2_ns(tsc_now, old_mul, old_shift, old_offset) - mul_u64_u32_shr(tsc_now, *mul, *shift);
}

/* Whether the new offset needs more than a signed number of 64 bits. */
bool set_cyc2ns_scale_wraps(u32 khz, u64 tsc_now, u32 old_mul, u32 old_shift, u64 old_offset)
{
	u32 mul, shift;
	u64 offset;
	s128 exact;

	if (khz == 0 || old_shift >= 64)
		return false;
	set_cyc2ns_scale(khz, tsc_now, old_mul, old_shift, old_offset, &mul, &shift, &offset);
	exact = (s64)old_offset + (s128)((u128)tsc_now * old_mul >> old_shift) -
		(s128)((u128)tsc_now * mul >> shift);
	return exact != (s64)offset;
}
