# SPDX-License-Identifier: GPL-2.0-only
"""Every row of the clock files, through the public faces."""

import numpy as np
import pytest
from golden import load

from schedpy import clock


def equal(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours, dtype=object), np.asarray(theirs, dtype=object))


def test_mult_shift():
    rows = load("clock/mult_shift")
    ours = clock.clocks_calc_mult_shift(rows["from_hz"], rows["to_hz"], rows["maxsec"])
    equal(ours.mult, rows["mult"])
    equal(ours.shift, rows["shift"])
    assert (rows["shift"] == 0).any(), "the loop that runs out is among the rows"


def test_cyc2ns():
    rows = load("clock/cyc2ns")
    scaled = rows["cycles"], rows["mult"], rows["shift"]
    equal(clock.clocksource_cyc2ns(*scaled), rows["clocksource_cyc2ns_s64"])
    equal(clock.mul_u64_u32_shr(*scaled), rows["mul_u64_u32_shr"])


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
        ("s_shr10", "ns_s64", clock.ns_to_us_shift),
        ("s_div1000_clamped_intmax", "ns_s64", clock.cpuidle_residency),
        ("s_shr10_clamped_intmax", "ns_s64", lambda ns: clock.cpuidle_residency(ns, how="shr10")),
    ],
)
def test_conversions(column, source, function):
    rows = load("clock/conversions")
    equal(function(rows[source]), rows[column])
