/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 64-bit products, shifts and quotients with a defined result for every input.
 * Follows include/linux/math64.h and lib/math/div64.c of 6.1; results are
 * reduced modulo 2^64.
 *
 * A function NAME_wraps() is true where NAME() is not what the same formula
 * gives on integers without bound.
 */
#ifndef SCHEDPY_MATH64_H
#define SCHEDPY_MATH64_H

#include <fenv.h>

#include "types.h"

static inline bool beyond_u64(u128 x)
{
	return x >> 64 != 0;
}

static inline u32 bit_length(u64 value)
{
	return value ? 64 - (u32)__builtin_clzll(value) : 0;
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

/*
 * The upper half of a product, of products of halves: all that vector instructions have. No sum overflows,
 * (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
 */
static inline u64 mul_high(u64 a, u64 b)
{
	const u64 a_low = (u32)a, a_high = a >> 32, b_low = (u32)b, b_high = b >> 32;
	const u64 middle = a_high * b_low + (a_low * b_low >> 32);

	return a_high * b_high + (middle >> 32) + ((a_low * b_high + (u32)middle) >> 32);
}

/*
 * x / d for a d known beforehand, of which m and l are made: l bits hold d - 1,
 * and 2^64 + m is 2^(64+l) / d rounded down, plus 1. That is too large by less
 * than any x could tell. The upper bit of the factor is worth x itself, and
 * their sum may need 65 bits: t <= x, so it is taken as t + (x - t) / 2.
 */
static inline u64 div_by_reciprocal(u64 x, u64 m, u64 l)
{
	const u64 t = (u64)(((u128)x * m) >> 64);
	const u64 first = l > 0, rest = l - first;

	return rest < 64 ? (t + ((x - t) >> first)) >> rest : 0;
}

/*
 * (a * mul) >> shift from the 96-bit product, which is put together of two of 64 bits, as vector
 * instructions have them:
 *
 *	|      high      |
 *	          |      low       |        high takes the upper half of low
 */
static inline u64 mul_u64_u32_shr(u64 a, u32 mul, u32 shift)
{
	const u64 low = (u64)(u32)a * mul;
	const u64 high = (a >> 32) * mul + (low >> 32);

	if (shift <= 32)
		return high << (32 - shift) | (u64)(u32)low >> shift;
	return shift < 96 ? high >> (shift - 32) : 0;
}

static inline bool mul_u64_u32_shr_wraps(u64 a, u32 mul, u32 shift)
{
	return shift < 128 && beyond_u64(((u128)a * mul) >> shift);
}

/*
 * The same without a product of 128 bits, for shifts up to 32:
 *
 *	a * mul = hi * mul * 2^32 + lo * mul
 *
 * and hi * mul * 2^32 is a multiple of 2^shift, so each half is shifted on
 * its own and no bit is lost between them. What kernels of 32 bit compute.
 */
static inline u64 mul_u64_u32_shr_32bit(u64 a, u32 mul, u32 shift)
{
	const u64 low = (a & UINT32_MAX) * mul, high = (a >> 32) * mul;

	return shift <= 32 ? (low >> shift) + (high << (32 - shift)) : 0;
}

/* (a * mul) >> shift from the 128-bit product. */
static inline u64 mul_u64_u64_shr(u64 a, u64 mul, u32 shift)
{
	return shift < 128 ? (u64)(((u128)a * mul) >> shift) : 0;
}

static inline bool mul_u64_u64_shr_wraps(u64 a, u64 mul, u32 shift)
{
	return shift < 128 && beyond_u64(((u128)a * mul) >> shift);
}

/*
 * The same from four products of 32 bits, as in longhand:
 *
 *	                 a1      a0
 *	    x            b1      b0
 *	    ------------------------
 *	              [   a0 * b0  ]
 *	        [   a0 * b1  ]
 *	        [   a1 * b0  ]
 *	  [   a1 * b1  ]
 *
 * middle sums the three words of the second column; below 3 * 2^32, it
 * carries at most 2 into the third.
 */
static inline u64 mul_u64_u64_shr_32bit(u64 a, u64 mul, u32 shift)
{
	const u64 a0 = a & UINT32_MAX, a1 = a >> 32, b0 = mul & UINT32_MAX, b1 = mul >> 32;
	const u64 middle = (a0 * b0 >> 32) + (a0 * b1 & UINT32_MAX) + (a1 * b0 & UINT32_MAX);
	const u64 low = middle << 32 | (a0 * b0 & UINT32_MAX);
	const u64 high = a1 * b1 + (a0 * b1 >> 32) + (a1 * b0 >> 32) + (middle >> 32);

	if (shift == 0)
		return low;
	if (shift < 64)
		return low >> shift | high << (64 - shift);
	return shift < 128 ? high >> (shift - 64) : 0;
}

/*
 * a * mul / divisor: the dividend of 96 bits is divided in two steps, its
 * upper 64 bits first. The remainder of that is below the divisor, so the
 * second quotient has 32 bits.
 */
static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 divisor)
{
	const u64 low = (a & UINT32_MAX) * mul;
	const u64 high = (a >> 32) * mul + (low >> 32);

	if (divisor == 0)
		return div_u64(a, divisor);
	return ((high / divisor) << 32) + ((high % divisor) << 32 | (low & UINT32_MAX)) / divisor;
}

static inline bool mul_u64_u32_div_wraps(u64 a, u32 mul, u32 divisor)
{
	return divisor && (u128)a * mul >= (u128)divisor << 64;
}

/*
 * a * b / c as the C function of 6.1 approximates it: whole multiples of c
 * are taken out of b, and where a * (b % c) can still pass 64 bits, b and c
 * lose their low bits, which costs precision. That can be all 64, a shift which
 * C does not define; here nothing is left of it. *wraps: whether the sum passed
 * 2^64.
 */
static inline u64 mul_u64_u64_div_u64_parts(u64 a, u64 b, u64 c, bool *wraps)
{
	u128 whole = 0;
	u64 rest;

	*wraps = false;
	if (c == 0)
		return div_u64(a, c);
	if (a == 0 || b == 0)
		return 0;
	if (bit_length(a) + bit_length(b) > 64) {
		whole = (u128)(b / c) * a;
		b %= c;
		if (bit_length(a) + bit_length(b) > 64) {
			const u32 excess = bit_length(a) + bit_length(b) - 64;

			b = excess < 64 ? b >> excess : 0;
			c = excess < 64 ? c >> excess : 0;
		}
	}
	rest = c ? a * b / c : 0;
	*wraps = beyond_u64(whole + rest);
	return (u64)whole + rest;
}

static inline u64 mul_u64_u64_div_u64_v6_1(u64 a, u64 b, u64 c)
{
	bool wraps;

	return mul_u64_u64_div_u64_parts(a, b, c, &wraps);
}

static inline bool mul_u64_u64_div_u64_v6_1_wraps(u64 a, u64 b, u64 c)
{
	bool wraps = false;

	if (c)
		(void)mul_u64_u64_div_u64_parts(a, b, c, &wraps);
	return wraps;
}

/* lib/math/div64.c of 6.19: exact, and all ones where the quotient needs more than 64 bits. */
static inline u64 mul_u64_u64_div_u64_v6_19(u64 a, u64 b, u64 c)
{
	const u128 product = (u128)a * b;

	if (c == 0)
		return div_u64(a, c);
	if (!beyond_u64(product))
		return (u64)product / c;
	return (u64)(product >> 64) < c ? (u64)(product / c) : UINT64_MAX;
}

static inline bool mul_u64_u64_div_u64_v6_19_wraps(u64 a, u64 b, u64 c)
{
	return c && mul_u64_u64_shr(a, b, 64) >= c;
}

#endif
