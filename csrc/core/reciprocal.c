/* SPDX-License-Identifier: GPL-2.0-only */
#include "reciprocal.h"

#include "math64.h"

/*
 * m, sh1 and sh2 so that reciprocal_divide() divides by d. With l bits in
 * d - 1, 2^(l-1) < d <= 2^l, and 2^32 + m is 2^(32+l) / d rounded down, plus 1:
 * too large by at most d / 2^(32+l) of itself, too little for any a below
 * 2^32 to reach the next quotient. d = 1 has l = 0: then nothing is shifted.
 * d = 0 gives zeros and raises the division-by-zero flag.
 */
void reciprocal_value(u32 d, u32 *m, u32 *sh1, u32 *sh2)
{
	const u32 l = d ? bit_length(d - 1) : 0;

	*sh1 = l < 1 ? l : 1;
	*sh2 = l > 1 ? l - 1 : 0;
	*m = (u32)(div_u64((u64)((1ULL << l) - d) << 32, d) + (d != 0));
}

/*
 * The factor for a JIT compiler: the shortest one that is right for dividends
 * of prec bits. Every factor above lo and up to hi would do; both are halved as
 * long as an integer is left between them, each time saving a shift. d above
 * 2^31 (exp would be 32) has no such factor and gives zeros, as prec outside
 * 1 .. 32 does, and d = 0 with the flag raised.
 */
void reciprocal_value_adv(u32 d, u32 prec, u32 *m, u32 *sh, u32 *exp, bool *is_wide_m)
{
	const u32 l = d ? bit_length(d - 1) : 0;
	u64 lo, hi;
	u32 post = l;

	*m = *sh = *exp = 0;
	*is_wide_m = false;
	if (l >= 32 || prec == 0 || prec > 32)
		return;
	lo = div_u64(1ULL << (32 + l), d);
	hi = div_u64((1ULL << (32 + l)) + (1ULL << (32 + l - prec)), d);
	for (; post > 0 && lo >> 1 < hi >> 1; post--) {
		lo >>= 1;
		hi >>= 1;
	}
	*m = (u32)hi;
	*sh = post;
	*exp = l;
	*is_wide_m = hi > UINT32_MAX;
}
