/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock functions without Python: a few known answers, and inputs that must not trap. */
#include "check.h"
#include "core/clock.h"

static void check_mult_shift(u32 from, u32 to, u32 maxsec, u32 mult, u32 shift)
{
	u32 m, s;

	clocks_calc_mult_shift(from, to, maxsec, &m, &s);
	check("mult", m, mult);
	check("shift", s, shift);
}

static void check_pelt_step(u64 now, u64 last, u64 units, u64 after)
{
	u64 u, l;
	bool backwards;

	pelt_step(now, last, &u, &l, &backwards);
	check("units", u, units);
	check("last_update_time", l, after);
}

int main(void)
{
	check("-999 ns", (u64)ktime_to_us(-999), 0);
	check("INT64_MIN >> 10", (u64)ns_to_us_shift_s64(INT64_MIN), (u64)-9007199254740992);
	check("INT64_MIN - 1", (u64)ktime_us_delta(INT64_MIN, 1), 9223372036854775);
	check("clamp", (u64)cpuidle_residency_shr10_u64(UINT64_MAX), SCHEDPY_INT_MAX);
	check("shift 64", (u64)clocksource_cyc2ns(UINT64_MAX, UINT32_MAX, 64), 0);
	check("shift 128", mul_u64_u32_shr(UINT64_MAX, UINT32_MAX, 128), 0);
	check("shift 95", mul_u64_u32_shr(UINT64_MAX, UINT32_MAX, 95), 1);
	check_mult_shift(19200000, 1000000000, 600, 873813333, 24);
	check_mult_shift(1000000000, 2600000000U, UINT32_MAX, 5, 0);
	check_mult_shift(0, 1, 1, 0, 0);
	check_pelt_step(3000, 0, 2, 2048);
	check_pelt_step(0, 1, 0, 0);
	check_pelt_step(5, UINT64_MAX, 0, UINT64_MAX);
	return verdict("clock");
}
