# SPDX-License-Identifier: GPL-2.0-only
"""The clock functions against their twin, on what the known answers do not reach."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import clock as twin

from schedpy import clock

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
S64 = st.integers(-(2**63), 2**63 - 1)


@given(S64, S64)
def test_signed_conversions(ns, other):
    assert clock.ktime_to_us(ns) == twin.ktime_to_us(ns)
    assert clock.ns_to_us(ns) == twin.ktime_to_us(ns)
    assert clock.ns_to_us_shift(ns) == ns >> 10
    assert clock.ktime_us_delta(ns, other) == twin.ktime_us_delta(ns, other)
    for how in ("div1000", "shr10"):
        assert clock.cpuidle_residency(ns, how) == twin.cpuidle_residency(ns, how)


@given(U64)
def test_unsigned_conversions(ns):
    ns64 = np.uint64(ns)
    assert int(clock.ns_to_us(ns64)) == ns // 1000
    assert int(clock.ns_to_us_shift(ns64)) == ns >> 10
    for how in ("div1000", "shr10"):
        assert int(clock.cpuidle_residency(ns64, how)) == twin.cpuidle_residency(ns, how)


def test_a_backward_clock_in_u64_ends_at_int_max():
    assert clock.cpuidle_residency(np.uint64(2**64 - 1), "shr10") == twin.INT_MAX
    assert clock.cpuidle_residency(np.int64(-1), "shr10") == -1


@given(U64, U64)
def test_pelt_step(now, last):
    step = clock.pelt_step(now, last)
    assert (int(step.units), int(step.last_update_time), bool(step.went_backwards)) == twin.pelt_step(
        now, last
    )


@given(st.integers(1, 2**32 - 1), U32, U32)
def test_mult_shift(from_hz, to_hz, maxsec):
    pair = clock.clocks_calc_mult_shift(from_hz, to_hz, maxsec)
    assert (int(pair.mult), int(pair.shift)) == twin.clocks_calc_mult_shift(from_hz, to_hz, maxsec)


def test_mult_shift_of_no_frequency_warns_as_numpy_does():
    with np.errstate(divide="ignore"):
        pair = clock.clocks_calc_mult_shift(0, 1, 1)
    assert (int(pair.mult), int(pair.shift)) == (0, 0)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        clock.clocks_calc_mult_shift([1, 0], 1, 1)


@given(U64, U32, st.integers(0, 63))
def test_products(cycles, mult, shift):
    assert clock.clocksource_cyc2ns(cycles, mult, shift) == twin.clocksource_cyc2ns(cycles, mult, shift)
    assert int(clock.mul_u64_u32_shr(cycles, mult, shift)) == twin.mul_u64_u32_shr(cycles, mult, shift)


@pytest.mark.parametrize(
    ("seconds", "ns"),
    [
        (1.1, 1_100_000_000),
        (-1.5, -1_500_000_000),
        (0, 0),
        (3, 3_000_000_000),
        (np.timedelta64(5, "us"), 5_000),
        (np.datetime64("1970-01-01T00:00:01", "s"), 1_000_000_000),
        ([], []),
    ],
)
def test_to_ns(seconds, ns):
    assert clock.to_ns(seconds).tolist() == ns


@pytest.mark.parametrize(
    "bad", [np.nan, np.inf, 1e10, np.timedelta64("NaT", "ns"), np.timedelta64(300, "Y"), 2**63 - 1]
)
def test_to_ns_refuses(bad):
    with pytest.raises(ValueError, match="seconds"):
        clock.to_ns(bad)
    with pytest.raises(TypeError, match="seconds"):
        clock.to_ns("4 ms")
