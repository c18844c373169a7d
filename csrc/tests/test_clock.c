/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock functions without Python: a few known answers, and inputs that must not trap. */
#include "check.h"
#include "core/clock.h"
#include "core/reciprocal.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const u64 extremes[] = {
	0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 999, 1000, INT32_MAX, UINT32_MAX, 1ULL << 32,
	INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX,
};

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

/* What only the sanitizers can fail: every function that computes, on extremes of its types. */
static u64 of_one(u64 a)
{
	u32 m, p, q, r;
	bool wide;

	reciprocal_value((u32)a, &m, &p, &q);
	reciprocal_value_adv((u32)a, (u32)(a >> 32), &m, &p, &r, &wide);
	return (u64)ns_to_us_mulhi_s64((s64)a) + ns_to_us_mulhi_u64(a) + m + p + q + r + wide;
}

static u64 of_two(u64 a, u64 b)
{
	u64 wrap_ns, max_cycles, resolution_ns;
	u32 mult, shift;

	sched_clock_register((u32)b, (u32)a, &mult, &shift, &wrap_ns, &max_cycles, &resolution_ns);
	return (u64)ktime_divns((s64)a, (s64)b) + (u64)ktime_us_delta((s64)a, (s64)b) + shift_add(a, b, (u32)b) +
	       shift_add_wraps(a, b, (u32)b) + ktime_us_delta_wraps((s64)a, (s64)b) + wrap_ns + max_cycles +
	       resolution_ns + clocksource_hz2mult((u32)a, (u32)b) + clocksource_khz2mult((u32)a, (u32)b) +
	       clocksource_hz2mult_wraps((u32)a, (u32)b) + clocksource_khz2mult_wraps((u32)a, (u32)b) +
	       reciprocal_scale((u32)a, (u32)b);
}

static u64 of_three(u64 a, u64 b, u64 c)
{
	u64 sum = 0, x, y;
	u32 mult, shift, maxadj;

	clocks_calc_mult_shift((u32)a, (u32)b, (u32)c, &mult, &shift);
	sum += mult + shift + clocks_calc_mult_shift_wraps((u32)a, (u32)b, (u32)c);
	clocksource_update_freq_scale((u32)a, (u32)b, c, &mult, &shift, &maxadj, &x, &y);
	sum += x + y + maxadj;
	clockevents_config((u32)a, b, c, &mult, &shift, &x, &y);
	sum += x + y + cev_delta2ns(a, (u32)b, (u32)c, false) + cev_delta2ns(a, (u32)b, (u32)c, true);
	sum += cyc_to_ns(a, (u32)b, (u32)c) + cyc_to_ns_wraps(a, (u32)b, (u32)c);
	sum += clocksource_cyc2ns_wraps(a, (u32)b, (u32)c) + clocksource_delta_validated(a, b, c);
	sum += pvclock_scale_delta(a, (u32)b, (s64)c) + pvclock_scale_delta_wraps(a, (u32)b, (s64)c);
	sum += div_sc(a, (u32)b, (u32)c) + div_sc_wraps(a, (u32)b, (u32)c) + div_sc_32bit_wraps(a, (u32)b, (u32)c);
	sum += mul_u64_u32_shr_32bit(a, (u32)b, (u32)c) + mul_u64_u32_shr_wraps(a, (u32)b, (u32)c);
	sum += mul_u64_u64_shr_32bit(a, b, (u32)c) + mul_u64_u64_shr_wraps(a, b, (u32)c);
	sum += mul_u64_u32_div(a, (u32)b, (u32)c) + mul_u64_u32_div_wraps(a, (u32)b, (u32)c);
	sum += mul_u64_u64_div_u64_v6_1(a, b, c) + mul_u64_u64_div_u64_v6_1_wraps(a, b, c);
	sum += mul_u64_u64_div_u64_v6_19(a, b, c) + mul_u64_u64_div_u64_v6_19_wraps(a, b, c);
	return sum;
}

static u64 of_four(u64 a, u64 b, u64 c, u64 d)
{
	u64 sum = 0, x, y;
	u32 mult, shift;

	clocks_calc_max_nsecs((u32)a, (u32)b, (u32)c, d, &x, &y);
	sum += x + y + clocks_calc_max_nsecs_wraps((u32)a, (u32)b, (u32)c, d);
	sum += clocksource_cyc2ns_safe(a, (u32)b, (u32)c, d) + clocksource_cyc2ns_safe_wraps(a, (u32)b, (u32)c, d);
	sum += cycles_2_ns(a, (u32)b, (u32)c, d) + cycles_2_ns_wraps(a, (u32)b, (u32)c, d);
	sum += tsc_to_perf_time(a, (u32)b, (u32)c, d) + tsc_to_perf_time_wraps(a, (u32)b, (u32)c, d);
	sum += perf_time_to_tsc(a, (u32)b, (u32)c, d) + perf_time_to_tsc_wraps(a, (u32)b, (u32)c, d);
	sum += sched_clock(a, d, b, d, (u32)b, (u32)c) + sched_clock_wraps(a, d, b, d, (u32)b, (u32)c);
	sum += vdso_calc_ns(a, d, d, (u32)b, d, (u32)c) + vdso_calc_ns_wraps(a, d, d, (u32)b, d, (u32)c);
	set_cyc2ns_scale((u32)d, a, (u32)b, (u32)c, d, &mult, &shift, &x);
	sum += x + set_cyc2ns_scale_wraps((u32)d, a, (u32)b, (u32)c, d);
	sum += reciprocal_divide((u32)a, (u32)b, (u32)c, (u32)d);
	return sum;
}

static void test_extremes(void)
{
	volatile u64 sum = 0;

	for (size_t i = 0; i < COUNT(extremes); i++) {
		sum += of_one(extremes[i]);
		for (size_t j = 0; j < COUNT(extremes); j++) {
			sum += of_two(extremes[i], extremes[j]);
			for (size_t k = 0; k < COUNT(extremes); k++) {
				sum += of_three(extremes[i], extremes[j], extremes[k]);
				for (size_t l = 0; l < COUNT(extremes); l++)
					sum += of_four(extremes[i], extremes[j], extremes[k], extremes[l]);
			}
		}
	}
}

int main(void)
{
	test_extremes();
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
