/* SPDX-License-Identifier: GPL-2.0-only */
#include "clock.h"

static u32 bit_length(u64 value)
{
	u32 length = 0;

	for (; value; value >>= 1)
		length++;
	return length;
}

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
