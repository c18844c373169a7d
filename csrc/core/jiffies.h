/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jiffies to and from ns, us, ms, struct timespec64 and clock_t, after
 * kernel/time/time.c and include/linux/jiffies.h of 6.1.
 *
 * A kernel is compiled for one HZ, and the preprocessor picks for each of its
 * functions one of a few shapes: a product with an addend over a divisor, the
 * same over a shift, and these with an "infinite" timeout from some limit on.
 * Only the constants differ. So the shapes are here, and the constants, which
 * follow from HZ and the width of long, are arguments.
 *
 * `word` is the largest value of the type that the kernel computes in
 * (UINT32_MAX or UINT64_MAX): sums and results are reduced to it. A function
 * NAME_wraps() is true where NAME() is not what the same formula gives on
 * integers without bound.
 */
#ifndef SCHEDPY_JIFFIES_H
#define SCHEDPY_JIFFIES_H

#include "math64.h"
#include "types.h"

/* ((x * mul + add) reduced to word) / the divisor that m and l stand for */
static inline u64 jiffies_scaled_div(u64 x, u64 mul, u64 add, u64 m, u64 l, u64 word)
{
	return div_by_reciprocal((x * mul + add) & word, m, l);
}

/* The same as an unsigned int: jiffies_to_msecs() and jiffies_to_usecs(). */
static inline u32 jiffies_scaled_div_uint(u64 x, u64 mul, u64 add, u64 m, u64 l, u64 word)
{
	return (u32)jiffies_scaled_div(x, mul, add, m, l, word);
}

/* The same, computed in 64 bits, as an unsigned long. */
static inline u64 jiffies_scaled_div_ulong(u64 x, u64 mul, u64 add, u64 m, u64 l, u64 longs)
{
	return jiffies_scaled_div(x, mul, add, m, l, UINT64_MAX) & longs;
}

/* The same as a signed long, which clock_t is. */
static inline s64 jiffies_scaled_div_long(u64 x, u64 mul, u64 add, u64 m, u64 l, u64 longs)
{
	const u64 q = jiffies_scaled_div(x, mul, add, m, l, UINT64_MAX);

	return longs == UINT32_MAX ? (s64)(s32)(u32)q : (s64)q;
}

/* (x * mul + add) >> shift in 64 bits, as an unsigned int: the form of 32-bit kernels. */
static inline u32 jiffies_scaled_shr_uint(u64 x, u64 mul, u64 add, u64 shift, u64 word)
{
	return shift < 64 ? (u32)(((x * mul + add) & word) >> shift) : 0;
}

/* Whether the sum passes word, or the quotient `most`, the largest value of the result's type. */
static inline bool jiffies_scaled_div_wraps(u64 x, u64 mul, u64 add, u64 div, u64 word, u64 most)
{
	const u128 sum = (u128)x * mul + add;

	return sum > word || (div && (u64)sum / div > most);
}

static inline bool jiffies_scaled_shr_wraps(u64 x, u64 mul, u64 add, u64 shift, u64 word, u64 most)
{
	const u128 sum = (u128)x * mul + add;

	return sum > word || (shift < 64 && (u64)sum >> shift > most);
}

/* Timeouts: x above `last`, the last finite one, is infinite, the others are scaled. Both are computed: no branch. */
static inline u64 jiffies_timeout_div(u64 x, u64 last, u64 infinite, u64 mul, u64 add, u64 m, u64 l, u64 word)
{
	const u64 scaled = jiffies_scaled_div(x, mul, add, m, l, word);

	return x > last ? infinite : scaled;
}

static inline u64 jiffies_timeout_shr(u64 x, u64 last, u64 infinite, u64 mul, u64 add, u64 shift, u64 word)
{
	const u64 scaled = shift < 64 ? ((x * mul + add) >> shift) & word : 0;

	return x > last ? infinite : scaled;
}

/*
 * A kernel that computes the last finite time may get that wrong, by reducing
 * it to the bits of some type: what lies between its last and the true one is
 * on the wrong side, and counts as a wrap.
 */
static inline bool jiffies_timeout_div_wraps(u64 x, u64 last, u64 true_last, u64 mul, u64 add, u64 div, u64 word)
{
	(void)div;
	if (x > last || x > true_last)
		return x <= last || x <= true_last;
	return (u128)x * mul + add > word;
}

static inline bool jiffies_timeout_shr_wraps(u64 x, u64 last, u64 true_last, u64 mul, u64 add, u64 shift, u64 word)
{
	const u128 sum = (u128)x * mul + add;

	if (x > last || x > true_last)
		return x <= last || x <= true_last;
	return beyond_u64(sum) || (shift < 64 && (u64)sum >> shift > word);
}

/*
 * Seconds and nanoseconds each have a factor with a fraction, of sec_shift
 * and of that plus `less` bits. nsec gets a tick less 1 ns, so that the sum
 * rounds up; the fraction of the seconds is kept until the end:
 *
 *	(sec * sec_conv + (nsec * nsec_conv >> less)) >> sec_shift
 *
 * Seconds of max_sec and above, and negative ones, which are read as u64,
 * are max_sec with no nanoseconds.
 */
static inline u64 timespec64_to_jiffies(s64 sec, u64 nsec, u64 tick_less_1, u64 max_sec, u64 sec_conv,
					u64 nsec_conv, u32 less, u32 sec_shift)
{
	u64 seconds = (u64)sec;

	nsec += tick_less_1;
	if (seconds >= max_sec) {
		seconds = max_sec;
		nsec = 0;
	}
	if (less >= 64 || sec_shift >= 64)
		return 0;
	return (seconds * sec_conv + (nsec * nsec_conv >> less)) >> sec_shift;
}

static inline void jiffies_to_timespec64(u64 j, u64 tick_nsec, s64 *sec, s64 *nsec)
{
	const u64 ns = j * tick_nsec;

	*sec = (s64)(ns / 1000000000);
	*nsec = (s64)(ns % 1000000000);
}

static inline bool jiffies_to_timespec64_wraps(u64 j, u64 tick_nsec)
{
	return beyond_u64((u128)j * tick_nsec);
}

#endif
