# SPDX-License-Identifier: GPL-2.0-only
"""Every row and every column of the clock files, through the public faces."""

import numpy as np
import pytest
from golden import load, load_text, select

from schedpy import clock


def equal(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours, dtype=object), np.asarray(theirs, dtype=object))


def present(rows, column):
    """The rows whose cell of that column is not empty, and that cell as an integer."""
    there = np.array([cell != "" for cell in rows[column].tolist()])
    return {name: values[there] for name, values in rows.items()}, [int(c) for c in rows[column][there]]


def whole(column):
    """A column without a header of its own type: Python integers."""
    return [int(cell) for cell in column.tolist()]


def fields(result, *names):
    return [getattr(result, name) for name in names]


def test_mult_shift():
    rows = load("clock/mult_shift")
    ours = clock.clocks_calc_mult_shift(rows["from_hz"], rows["to_hz"], rows["maxsec"])
    equal(ours.mult, rows["mult"])
    equal(ours.shift, rows["shift"])
    assert (rows["shift"] == 0).any(), "the loop that runs out is among the rows"
    equal(
        clock.wraps.clocks_calc_mult_shift(rows["from_hz"], rows["to_hz"], rows["maxsec"]), rows["shift"] == 0
    )


def test_clocksource_register():
    rows = load("clock/clocksource_register")
    mask = clock.clocksource_mask(rows["mask_bits"])
    ours = clock.clocksource_update_freq_scale(rows["scale"], rows["freq_div_scale"], mask)
    for name in ("mult", "shift", "maxadj", "max_cycles", "max_idle_ns"):
        equal(getattr(ours, name), rows[name])
    error = clock.freq_error_ppb(ours.mult, ours.shift, rows["freq_div_scale"], rows["scale"])
    assert np.abs(error - rows["freq_error_ppb"].astype(float)).max() <= 2e-6, "doubles: as the answers say"
    for scale, register in ((1, clock.clocksource_register_hz), (1000, clock.clocksource_register_khz)):
        those = rows["scale"] == scale
        equal(register(rows["freq_div_scale"][those], mask[those]).max_idle_ns, rows["max_idle_ns"][those])


@pytest.mark.parametrize(
    ("func", "function", "wraps"),
    [
        ("hz2mult", clock.clocksource_hz2mult, clock.wraps.clocksource_hz2mult),
        ("khz2mult", clock.clocksource_khz2mult, clock.wraps.clocksource_khz2mult),
    ],
)
def test_freq2mult(func, function, wraps):
    rows = select(load("clock/freq2mult"), func=func)
    equal(function(rows["freq"], rows["shift"]), rows["mult_u32"])
    equal(wraps(rows["freq"], rows["shift"]), rows["mult_u32"] != rows["mult_untruncated"])


def test_the_functions_of_freq2mult_are_the_two():
    assert set(load("clock/freq2mult")["func"]) == {"hz2mult", "khz2mult"}


def test_cyc2ns():
    rows = load("clock/cyc2ns")
    scaled = rows["cycles"], rows["mult"], rows["shift"]
    exact = whole(rows["exact_unbounded"])
    equal(clock.clocksource_cyc2ns(*scaled), rows["clocksource_cyc2ns_s64"])
    equal(clock.mul_u64_u32_shr(*scaled), rows["mul_u64_u32_shr"])
    equal(clock.wraps.cyc_to_ns(*scaled), rows["product_overflows_u64"])
    differs = [ours != true for ours, true in zip(whole(rows["clocksource_cyc2ns_s64"]), exact, strict=True)]
    equal(clock.wraps.clocksource_cyc2ns(*scaled), differs)
    equal(clock.wraps.mul_u64_u32_shr(*scaled), [true >= 2**64 for true in exact])
    equal(clock.clocksource_cyc2ns_safe(*scaled, 0), rows["mul_u64_u32_shr"])


def test_sched_clock():
    rows = load("clock/sched_clock")
    ours = clock.sched_clock_register(rows["bits"], rows["rate"])
    for name in ("mult", "shift", "wrap_ns", "max_cycles", "resolution_ns"):
        equal(getattr(ours, name), rows[name])
    ns = clock.sched_clock(rows["cyc"], ours.mult, ours.shift, 2**64 - 1)
    equal(ns, rows["cyc_to_ns_wrap64"])
    equal(clock.cyc_to_ns(rows["cyc"], ours.mult, ours.shift), rows["cyc_to_ns_wrap64"])
    differs = [int(n) != true for n, true in zip(ns, whole(rows["cyc_to_ns_exact"]), strict=True)]
    equal(clock.wraps.cyc_to_ns(rows["cyc"], ours.mult, ours.shift), differs)
    equal(clock.wraps.sched_clock(rows["cyc"], ours.mult, ours.shift, 2**64 - 1), differs)
    assert any(differs)


def test_boot_logs():
    rows = load("clock/known_answers_boot_logs")
    assert (rows["match"] == 1).all()
    for kind, scale, freq, bits, logged, logged_ns, computed, computed_ns in zip(
        *(
            rows[name].tolist()
            for name in (
                "kind",
                "scale",
                "freq",
                "bits",
                "logged_max_cycles_or_resolution_ns",
                "logged_max_idle_ns_or_wrap_ns",
                "computed_max_cycles_or_resolution",
                "computed_max_idle_or_wrap",
            )
        ),
        strict=True,
    ):
        if kind == "clocksource":
            ours = clock.clocksource_update_freq_scale(scale, freq, clock.clocksource_mask(bits))
            first, second = fields(ours, "max_cycles", "max_idle_ns")
        else:
            assert scale == 1
            first, second = fields(clock.sched_clock_register(bits, freq), "resolution_ns", "wrap_ns")
        assert int(logged, 0) == int(computed, 0) == first
        assert int(logged_ns) == int(computed_ns) == second


def test_x86_cyc2ns():
    """One clock for each starting khz; the rows of one `seq` follow one change of its frequency."""
    rows = load("clock/x86_cyc2ns")
    state = {}
    for k, (khz, seq) in enumerate(zip(rows["khz"].tolist(), rows["seq"].tolist(), strict=True)):
        if seq == 0 and (k == 0 or rows["khz"][k - 1] != khz):
            state = {}
        if k == 0 or (rows["khz"][k - 1], rows["seq"][k - 1]) != (khz, seq):
            changed = clock.set_cyc2ns_scale(rows["set_khz"][k], rows["set_tsc"][k], **state)
            state = {"mul": changed.mul, "shift": changed.shift, "offset": changed.offset}
        assert state["mul"] == rows["cyc2ns_mul"][k]
        assert state["shift"] == rows["cyc2ns_shift"][k]
        assert state["offset"] == rows["cyc2ns_offset_u64"][k]
        assert clock.cycles_2_ns(rows["tsc"][k], **state) == rows["ns_u64"][k]


def test_x86_cyc2ns_all_at_once():
    rows = load("clock/x86_cyc2ns")
    state = rows["cyc2ns_mul"], rows["cyc2ns_shift"], rows["cyc2ns_offset_u64"]
    equal(clock.cycles_2_ns(rows["tsc"], *state), rows["ns_u64"])


def test_x86_cyc2ns_legacy():
    rows = load("clock/x86_cyc2ns_legacy_shift10")
    scale = clock.cyc2ns_scale_legacy(rows["khz"])
    equal(scale, rows["scale"])
    assert (rows["shift"] == 10).all()
    equal(clock.cycles_2_ns_legacy(rows["tsc"], scale), rows["ns_wrapping_u64"])
    exact = whole(rows["ns_scaled_exact"])
    equal(clock.cycles_2_ns_legacy(rows["tsc"], scale, fixed=True), [ns % 2**64 for ns in exact])
    wrapped = [ns != true for ns, true in zip(whole(rows["ns_wrapping_u64"]), exact, strict=True)]
    equal(clock.wraps.cycles_2_ns_legacy(rows["tsc"], scale), wrapped)
    equal(clock.wraps.cycles_2_ns_legacy(rows["tsc"], scale, fixed=True), [ns >= 2**64 for ns in exact])
    true = [tsc * 10**6 // khz for tsc, khz in zip(whole(rows["tsc"]), whole(rows["khz"]), strict=True)]
    equal(true, whole(rows["ns_true"]))
    days = [f"{ns / 86_400e9:.4f}" for ns in true]
    equal(days, rows["uptime_days"])


def test_pvclock_scale_delta():
    rows = load("clock/pvclock_scale_delta")
    scaled = rows["delta"], rows["mul_frac_u32"], rows["shift"]
    equal(clock.pvclock_scale_delta(*scaled), rows["product_u64"])
    equal(clock.wraps.pvclock_scale_delta(*scaled), rows["overflowed"])


def test_perf_userpage_time():
    rows = load("clock/perf_userpage_time")
    page = rows["time_mult"], rows["time_shift"]
    offset = rows["time_offset_or_zero"]
    ns = clock.tsc_to_perf_time(rows["cyc"], *page, offset)
    equal(ns, rows["ns_quot_rem_u64"])
    equal(clock.cyc_to_ns(rows["cyc"], *page) + offset, rows["ns_naive_wrapping_u64"])
    equal(clock.perf_time_to_tsc(ns, *page), rows["cyc_from_time_t"])


def test_div_sc():
    rows = load("clock/div_sc")
    equal(clock.div_sc(rows["ticks"], rows["nsec"], rows["shift"]), rows["factor"])


def test_clockevents_delta2ns():
    rows = load("clock/clockevents_delta2ns")
    pair = clock.clocks_calc_mult_shift(10**9, rows["freq"], rows["sec"])
    equal(pair.mult, rows["mult"])
    equal(pair.shift, rows["shift"])
    for ismax, column in ((False, "ns_min"), (True, "ns_max")):
        equal(clock.cev_delta2ns(rows["latch"], rows["mult"], rows["shift"], ismax), rows[column])


@pytest.mark.parametrize("long_bits", [64, 32])
def test_products(long_bits):
    rows = load("clock/math64")
    low, shift = rows["b"] & np.uint64(2**32 - 1), np.minimum(rows["shift"], np.uint64(32))
    short = clock.mul_u64_u32_shr(rows["a"], low, shift, long_bits=long_bits)
    equal(short, rows["mul_u64_u32_shr(a,b_lo32,min(shift,32))"])
    equal(short, rows["same_generic_no_int128"])
    long = clock.mul_u64_u64_shr(rows["a"], rows["b"], rows["shift"], long_bits=long_bits)
    equal(long, rows["mul_u64_u64_shr(a,b,shift)"])
    equal(long, rows["same_generic_no_int128_2"])


def test_mul_u64_u32_div():
    rows = load("clock/math64")
    low, divisor = (rows[name] & np.uint64(2**32 - 1) for name in ("b", "c"))
    args = rows["a"], low, np.maximum(divisor, np.uint64(1))
    column = "mul_u64_u32_div(a,b_lo32,c_lo32_or_1)"
    fits = rows[column] != ""
    equal(clock.mul_u64_u32_div(*args)[fits], [int(cell) for cell in rows[column][fits]])
    equal(clock.wraps.mul_u64_u32_div(*args), ~fits)


def test_mul_u64_u64_div_u64():
    rows = load("clock/math64")
    args = rows["a"], rows["b"], rows["c"]
    later = clock.mul_u64_u64_div_u64(*args, kernel="6.19")
    equal(later, rows["mul_u64_u64_div_u64_v619"])
    equal(clock.wraps.mul_u64_u64_div_u64(*args, kernel="6.19"), rows["quotient_overflows_u64"])
    fits = rows["mul_u64_u64_div_u64_exact"] != ""
    equal(later[fits], [int(cell) for cell in rows["mul_u64_u64_div_u64_exact"][fits]])
    equal(fits, rows["quotient_overflows_u64"] == 0)
    there, expected = present(rows, "mul_u64_u64_div_u64_v61_C_fallback")
    equal(clock.mul_u64_u64_div_u64(there["a"], there["b"], there["c"], kernel="6.1"), expected)
    empty = (rows["a"] == 0) | (rows["b"] == 0)
    equal(rows["mul_u64_u64_div_u64_v61_C_fallback"] == "", empty)
    assert not clock.mul_u64_u64_div_u64(*args, kernel="6.1")[empty].any()


def test_reciprocal():
    rows = load("clock/reciprocal")
    ours = clock.reciprocal_value(rows["d"])
    for name in ("m", "sh1", "sh2"):
        equal(getattr(ours, name), rows[name])
    quotient = clock.reciprocal_divide(rows["a"], ours.m, ours.sh1, ours.sh2)
    equal(quotient, rows["reciprocal_divide"])
    equal(rows["reciprocal_divide"], rows["a_div_d"])
    there, is_wide = present(rows, "adv_is_wide_m")
    equal(rows["adv_m"] == "", rows["d"] > 2**31)
    advanced = clock.reciprocal_value_adv(there["d"], 32)
    equal(advanced.is_wide_m, is_wide)
    for name in ("m", "sh", "exp"):
        equal(getattr(advanced, name), [int(cell) for cell in there[f"adv_{name}"]])


def test_pelt_step():
    rows = load("clock/pelt_clock_1024ns")
    ours = clock.pelt_step(rows["now_ns"], rows["last_update_time_before"])
    equal(ours.units, rows["delta_1024ns_units"])
    equal(ours.last_update_time, rows["last_update_time_after"])
    equal(ours.went_backwards, rows["went_backwards"])


def test_mail_table():
    rows = load("clock/mail_table")
    ns = rows["nsec"]
    equal(clock.ns_to_us(ns), rows["int_div1000_us"])
    equal(clock.ns_to_us_shift(ns), rows["int_shr10"])
    equal([f"{value / 1000:.7f}" for value in ns.tolist()], rows["real_div1000"])
    equal([f"{value / 1024:.7f}" for value in ns.tolist()], rows["real_div1024"])
    exact, shifted = clock.ns_to_us(ns), clock.ns_to_us_shift(ns)
    deviation = [
        f"{(int(s) - int(e)) / int(e) * 100:.4f}" if e else "" for e, s in zip(exact, shifted, strict=True)
    ]
    equal(deviation, rows["integer_rel_deviation_pct"])


@pytest.mark.parametrize(
    ("column", "source", "function"),
    [
        ("u_div1000", "ns_u64", clock.ns_to_us),
        ("u_shr10", "ns_u64", clock.ns_to_us_shift),
        ("s_ktime_to_us", "ns_s64", clock.ktime_to_us),
        ("s_ktime_to_us", "ns_s64", clock.ns_to_us),
        ("s_ktime_to_us", "ns_s64", clock.ns_to_us_mulhi),
        ("s_ktime_to_us", "ns_s64", lambda ns: clock.ktime_divns(ns, 1000)),
        ("s_shr10", "ns_s64", clock.ns_to_us_shift),
        ("s_div1000_clamped_intmax", "ns_s64", clock.cpuidle_residency),
        ("s_shr10_clamped_intmax", "ns_s64", lambda ns: clock.cpuidle_residency(ns, how="shr10")),
        ("mulhi64_exact", "ns_u64", clock.ns_to_us_mulhi),
    ],
)
def test_conversions(column, source, function):
    rows = load("clock/conversions")
    equal(function(rows[source]), rows[column])


#: Column of conversions.csv -> the expression that it was computed by.
SHIFT_AND_ADD = {
    "u_shr10": "x>>10",
    "a1_add5_shr10": "(x+(x>>5))>>10",
    "a2_add6_add7_shr10": "(x+(x>>6)+(x>>7))>>10",
    "a2b_add5_sub7_shr10": "(x+(x>>5)-(x>>7))>>10",
    "a3_add5_sub7_add11_shr10": "(x+(x>>5)-(x>>7)+(x>>11))>>10",
    "a4_add5_sub7_add11_add14_shr10": "(x+(x>>5)-(x>>7)+(x>>11)+(x>>14))>>10",
    "b1_shr10_shr15": "(x>>10)+(x>>15)",
    "b2_shr10_shr15_shr17": "(x>>10)+(x>>15)-(x>>17)",
    "b4_shr10_15_17_21_24": "(x>>10)+(x>>15)-(x>>17)+(x>>21)+(x>>24)",
    "m1049_shr20_wrap64": "x*1049>>20",
    "m67109_shr26_wrap64": "x*67109>>26",
    "m4294968_shr32_wrap64": "x*4294968>>32",
}


@pytest.mark.parametrize("column", SHIFT_AND_ADD)
def test_approximations(column):
    rows = load("clock/conversions")
    equal(clock.approximate(rows["ns_u64"], SHIFT_AND_ADD[column]), rows[column])


def test_the_exact_form_of_32_bits():
    rows = load("clock/conversions")
    low = rows["ns_u64"] & np.uint64(2**32 - 1)
    equal(clock.approximate(low, "x*274877907>>38"), rows["lo32_mul274877907_shr38"])


def test_every_column_of_conversions_is_compared():
    exact = {column for column, _, _ in test_conversions.pytestmark[0].args[1]}
    compared = {"ns_u64", "ns_s64", "lo32_mul274877907_shr38"} | exact | set(SHIFT_AND_ADD)
    assert compared == set(load("clock/conversions"))


ERRORS = load_text("clock/approx_div1000_error")[1]


@pytest.mark.parametrize("expression", sorted({row[0] for row in ERRORS}))
def test_approximation_errors(expression):
    """Errors over all ns of 0 .. 2^32 - 1, as an exhaustive search found them."""
    rows = [row for row in ERRORS if row[0] == expression]
    assert len(rows) == 4
    for row in rows:
        below = int(row[2].removeprefix("[0;").removesuffix(")"))
        ours = clock.approximation_error(expression, below)
        assert f"{clock.approximation(expression).error_pct:.6f}" == row[1]
        assert (ours.max_under_us, ours.under_at_ns) == (int(row[3]), int(row[4]))
        assert (ours.max_over_us, ours.over_at_ns) == (int(row[5]), int(row[6]))
        assert ours.mismatches == int(row[7])
        assert f"{ours.max_rel_error_pct:.4f}" == row[8]
        bounds = clock.approximation_bounds(expression, below)
        assert bounds.low <= ours.max_under_us
        assert ours.max_over_us <= bounds.high


def test_the_last_of_the_approximations_is_exact_for_every_u32():
    assert clock.approximation_error("x*274877907>>38", 2**32) == clock.ApproximationError(0, 0, 0, 0, 0, 0.0)
    assert {row[0] for row in ERRORS} | {"x*274877907>>38"} == set(clock.APPROXIMATIONS)
