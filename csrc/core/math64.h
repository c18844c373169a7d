/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 64-bit products, shifts and quotients with a defined result for every input.
 * Follows include/linux/math64.h of 6.1; results are reduced modulo 2^64.
 */
#ifndef SCHEDPY_MATH64_H
#define SCHEDPY_MATH64_H

#include <fenv.h>

#include "types.h"

/* (a * mul) >> shift from the 96-bit product; shifts of 128 and more give 0. */
static inline u64 mul_u64_u32_shr(u64 a, u32 mul, u32 shift)
{
	return shift < 128 ? (u64)(((u128)a * mul) >> shift) : 0;
}

/*
 * A division by zero must not end the process: the quotient is 0 and the
 * floating-point flag is raised, so that numpy.errstate decides what happens.
 */
static inline u64 div_u64(u64 dividend, u64 divisor)
{
	if (divisor == 0) {
		(void)feraiseexcept(FE_DIVBYZERO);
		return 0;
	}
	return dividend / divisor;
}

#endif
