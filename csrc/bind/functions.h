/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The elementwise functions, a line each: shape (arguments, results), the
 * name in the module, the core function, and the types of its arguments and
 * results (u64 s64 u32, b8 for bool). Lines that share a name are loops of one ufunc
 * and stand together.
 */

/* clock */
UFUNC(1, 1, ktime_to_us, ktime_to_us, s64, s64)
UFUNC(2, 1, ktime_us_delta, ktime_us_delta, s64, s64, s64)
UFUNC(1, 1, ns_to_us, ns_to_us_s64, s64, s64)
UFUNC(1, 1, ns_to_us, ns_to_us_u64, u64, u64)
UFUNC(1, 1, ns_to_us_shift, ns_to_us_shift_s64, s64, s64)
UFUNC(1, 1, ns_to_us_shift, ns_to_us_shift_u64, u64, u64)
UFUNC(1, 1, cpuidle_residency_div1000, cpuidle_residency_div1000_s64, s64, s64)
UFUNC(1, 1, cpuidle_residency_div1000, cpuidle_residency_div1000_u64, u64, s64)
UFUNC(1, 1, cpuidle_residency_shr10, cpuidle_residency_shr10_s64, s64, s64)
UFUNC(1, 1, cpuidle_residency_shr10, cpuidle_residency_shr10_u64, u64, s64)
UFUNC(2, 3, pelt_step, pelt_step, u64, u64, u64, u64, b8)
UFUNC(3, 2, clocks_calc_mult_shift, clocks_calc_mult_shift, u32, u32, u32, u32, u32)
UFUNC(3, 1, clocksource_cyc2ns, clocksource_cyc2ns, u64, u32, u32, s64)

/* math64 */
UFUNC(3, 1, mul_u64_u32_shr, mul_u64_u32_shr, u64, u32, u32, u64)

/* pelt */
UFUNC(4, 1, decay_load_v3_8, decay_load_v3_8, u64, u64, u32, u32, u64)
UFUNC(4, 1, decay_load_v4_3, decay_load_v4_3, u64, u64, u32, u32, u64)
UFUNC(4, 1, decay_load_v4_12, decay_load_v4_12, u64, u64, u32, u32, u64)
UFUNC(6, 1, accumulate_segments, accumulate_segments, u64, u32, u32, u32, u32, u32, u32)
UFUNC(2, 1, compute_runnable_contrib_v3_8, compute_runnable_contrib_v3_8, u64, u32, u32)
UFUNC(2, 1, compute_runnable_contrib_v4_7, compute_runnable_contrib_v4_7, u64, u32, u32)
UFUNC(1, 1, nice_to_weight, nice_to_weight, s64, u64)
UFUNC(1, 1, nice_to_wmult, nice_to_wmult, s64, u64)
UFUNC(1, 1, scale_load_down_v4_12, scale_load_down_v4_12, u64, u64)
UFUNC(1, 1, scale_load_down_v5_7, scale_load_down_v5_7, u64, u64)
UFUNC(4, 1, post_init_entity_util_avg_v4_10, post_init_entity_util_avg_v4_10, u64, u64, u64, u64, u64)
UFUNC(4, 1, post_init_entity_util_avg_v4_15, post_init_entity_util_avg_v4_15, u64, u64, u64, u64, u64)
UFUNC(4, 1, post_init_entity_util_avg_v6_10, post_init_entity_util_avg_v6_10, u64, u64, u64, u64, u64)

/* em */
UFUNC(3, 1, map_util_freq_v5_0, map_util_freq_v5_0, u64, u64, u64, u64)
UFUNC(3, 1, map_util_freq_v5_14, map_util_freq_v5_14, u64, u64, u64, u64)
UFUNC(1, 1, map_util_perf, map_util_perf, u64, u64)

/* eas */
UFUNC(2, 1, fits_capacity, fits_capacity, u64, u64, b8)
UFUNC(8, 1, eas_cpu_util_v5_12, eas_cpu_util_v5_12, s64, s64, s64, u64, u64, u64, u64, u64, u64)
UFUNC(8, 1, eas_cpu_util_v5_13, eas_cpu_util_v5_13, s64, s64, s64, u64, u64, u64, u64, u64, u64)
UFUNC(13, 2, eas_effective_util_v5_12, eas_effective_util_v5_12, u64, u64, u64, u64, u64, u64, u64, u64, b8, b8, u64, u64, b8, u64, u64)
UFUNC(10, 1, eas_cpu_util_boost_v6_12, eas_cpu_util_boost_v6_12, s64, s64, s64, u64, u64, u64, u64, u64, u64, u64, u64)
UFUNC(14, 2, eas_effective_util_v6_1, eas_effective_util_v6_1, u64, u64, u64, u64, u64, u64, u64, u64, b8, b8, b8, u64, u64, b8, u64, u64)
UFUNC(14, 4, eas_effective_util_v6_12, eas_effective_util_v6_12, u64, u64, u64, u64, u64, u64, u64, u64, b8, b8, b8, u64, u64, b8, u64, u64, u64, u64)
UFUNC(7, 1, eas_util_fits_cpu_v6_1, eas_util_fits_cpu_v6_1, u64, u64, u64, u64, u64, u64, b8, s64)
