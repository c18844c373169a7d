/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Division of u32 by a divisor known beforehand: a product, an addition and
 * shifts. Follows include/linux/reciprocal_div.h and lib/math/reciprocal_div.c
 * of 6.1.
 */
#ifndef SCHEDPY_RECIPROCAL_H
#define SCHEDPY_RECIPROCAL_H

#include "types.h"

/*
 * a / d for every u32 a. The factor has 33 bits, 2^32 + m, of which the upper
 * one is worth a itself:
 *
 *	q = (a * (2^32 + m)) >> (32 + l) = (t + a) >> l,   t = a * m >> 32
 *
 * t + a can need 33 bits; since t <= a it is taken as t + (a - t) / 2, with
 * one shift less to come.
 */
static inline u32 reciprocal_divide(u32 a, u32 m, u32 sh1, u32 sh2)
{
	const u32 t = (u32)(((u64)a * m) >> 32);

	return sh1 < 32 && sh2 < 32 ? (t + ((a - t) >> sh1)) >> sh2 : 0;
}

/* Maps a u32 evenly to 0 .. ep_ro - 1. */
static inline u32 reciprocal_scale(u32 val, u32 ep_ro)
{
	return (u32)(((u64)val * ep_ro) >> 32);
}

void reciprocal_value(u32 d, u32 *m, u32 *sh1, u32 *sh2);
void reciprocal_value_adv(u32 d, u32 prec, u32 *m, u32 *sh, u32 *exp, bool *is_wide_m);

#endif
