/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Conversions of whole rows, with AVX-512. NAME_row() writes what NAME() of clock.h, math64.h or jiffies.h gives
 * for each element; the result may lie where the argument does.
 *
 * What a compiler makes of those functions multiplies words of 64 bits, three steps on most machines, where all that is
 * needed are products of 32 bits, and it knows no quotient but by such products.
 */
#ifndef SCHEDPY_CONVERSION_LANES_H
#define SCHEDPY_CONVERSION_LANES_H

#include "types.h"

#if defined(__x86_64__)
#define SCHEDPY_HAS_ROWS 1

void ns_to_us_u64_row(const u64 *ns, size_t n, u64 *us);
void ns_to_us_s64_row(const s64 *ns, size_t n, s64 *us);
void ktime_to_us_row(const s64 *ns, size_t n, s64 *us);
void cpuidle_residency_div1000_u64_row(const u64 *ns, size_t n, s64 *us);
void cpuidle_residency_div1000_s64_row(const s64 *ns, size_t n, s64 *us);
void mul_u64_u32_shr_row(const u64 *a, size_t n, u32 mul, u32 shift, u64 *product);
void jiffies_scaled_div_uint_row(const u64 *x, size_t n, u64 mul, u64 add, u64 m, u64 l, u64 word, u32 *quotient);
#endif

#endif
