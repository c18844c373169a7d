/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows give what the functions give for each element, at every length and around every multiple. */
#include "check.h"
#include "core/clock.h"
#include "core/jiffies.h"
#include "core/path.h"
#include "core/conversion_lanes.h"

#ifdef SCHEDPY_HAS_ROWS
enum { LONGEST = 67, ROUNDS = 200000 };

static u64 seed = 1;

static u64 draw(u64 below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 16) % below;
}

static u64 size_of_any(void)
{
	const u64 high = draw(1ull << 32), low = draw(1ull << 32);

	return (high << 32 | low) >> draw(64);
}

/* Next to a multiple of `of`, near the ends of 64 and 63 bits, or anything. */
static u64 near_multiple(u64 of)
{
	switch (draw(6)) {
	case 0:
		return draw(3000) - 1500;
	case 1:
		return (1ull << 63) + draw(3000) - 1500;
	case 2:
		return size_of_any();
	default:
		return size_of_any() / of * of + draw(3) - 1;
	}
}

static void check_ns(void)
{
	const size_t n = draw(LONGEST + 1);
	u64 ns[LONGEST] = { 0 }, us[LONGEST], clamped[LONGEST] = { 0 };
	s64 signed_ns[LONGEST] = { 0 }, by_name[LONGEST], signed_us[LONGEST], residency[LONGEST], of_u64[LONGEST];

	for (size_t i = 0; i < n; i++) {
		ns[i] = near_multiple(1000);
		signed_ns[i] = (s64)(draw(2) ? ns[i] : 0 - ns[i]);
		clamped[i] = draw(4) ? ns[i] : SCHEDPY_INT_MAX * 1000ull + draw(2000) - 1000;
	}
	ns_to_us_u64_row(ns, n, us);
	ns_to_us_s64_row(signed_ns, n, by_name);
	ktime_to_us_row(signed_ns, n, signed_us);
	cpuidle_residency_div1000_u64_row(clamped, n, of_u64);
	cpuidle_residency_div1000_s64_row(signed_ns, n, residency);
	for (size_t i = 0; i < n; i++) {
		check("ns_to_us_u64_row", us[i], ns[i] / 1000);
		check("ns_to_us_s64_row", (u64)by_name[i], (u64)(signed_ns[i] / 1000));
		check("ktime_to_us_row", (u64)signed_us[i], (u64)(signed_ns[i] / 1000));
		check("cpuidle_residency_div1000_u64_row", (u64)of_u64[i],
		      (u64)cpuidle_residency_div1000_u64(clamped[i]));
		check("cpuidle_residency_div1000_s64_row", (u64)residency[i],
		      (u64)cpuidle_residency_div1000_s64(signed_ns[i]));
	}
	ns_to_us_u64_row(ns, n, ns);
	for (size_t i = 0; i < n; i++)
		check("in place", ns[i], us[i]);
}

static void check_product(void)
{
	const size_t n = draw(LONGEST + 1);
	const u32 mul = (u32)size_of_any(), shift = (u32)(draw(20) ? draw(130) : size_of_any());
	u64 a[LONGEST] = { 0 }, product[LONGEST];

	for (size_t i = 0; i < n; i++)
		a[i] = near_multiple(1ull << draw(64));
	mul_u64_u32_shr_row(a, n, mul, shift, product);
	for (size_t i = 0; i < n; i++)
		check("mul_u64_u32_shr_row", product[i], shift < 128 ? (u64)(((u128)a[i] * mul) >> shift) : 0);
}

/* The reciprocal as the faces make it: 2^64 (2^l - d) / d + 1. */
static u64 reciprocal_of(u64 d, u64 *l)
{
	*l = bit_length(d - 1);
	return (u64)((((u128)1 << *l) - d) * ((u128)1 << 64) / d) + 1;
}

static void check_quotient(void)
{
	const size_t n = draw(LONGEST + 1);
	const u64 d = draw(8) ? draw(20000) + 1 : size_of_any() | 1, word = draw(2) ? UINT64_MAX : UINT32_MAX;
	const u64 mul = draw(2) ? 1 : draw(200000), add = draw(2) ? 0 : draw(20000);
	u64 x[LONGEST] = { 0 }, l;
	const u64 m = reciprocal_of(d, &l);
	u32 quotient[LONGEST];

	for (size_t i = 0; i < n; i++)
		x[i] = near_multiple(d) & (draw(3) ? (1ull << 50) / mul - 1 : UINT64_MAX);
	jiffies_scaled_div_uint_row(x, n, mul, add, m, l, word, quotient);
	for (size_t i = 0; i < n; i++)
		check("jiffies_scaled_div_uint_row", quotient[i], (u32)(((x[i] * mul + add) & word) / d));
}

int main(void)
{
	for (int round = 0; path_works(PATH_AVX512) && round < ROUNDS && failures < 20; round++) {
		check_ns();
		check_product();
		check_quotient();
	}
	return verdict("conversion lanes");
}
#else
int main(void)
{
	return verdict("conversion lanes");
}
#endif
