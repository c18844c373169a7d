# SPDX-License-Identifier: GPL-2.0-only
"""The clock functions and their companions against a twin, on what the known answers do not reach."""

import inspect
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import clock as twin

from schedpy import clock


def bits(most):
    """Integers of 0 .. most, of any length alike, and those next to powers of two."""
    lengths = st.integers(0, most.bit_length())
    any_length = lengths.flatmap(lambda n: st.integers(0, min(2**n, most)))
    near_powers = st.builds(lambda n, d: min(max(2**n + d, 0), most), lengths, st.integers(-2, 2))
    return any_length | near_powers


U32 = bits(2**32 - 1)
U64 = bits(2**64 - 1)
S64 = st.builds(
    lambda x, sign: max(min(sign * x, 2**63 - 1), -(2**63)), bits(2**63), st.sampled_from((1, -1))
)
SHIFT = st.integers(0, 63)
MASK = st.integers(1, 64).map(lambda n: 2**n - 1)


@given(S64, S64)
def test_signed_conversions(ns, other):
    assert clock.ktime_to_us(ns) == twin.ktime_to_us(ns)
    assert clock.ns_to_us(ns) == twin.ktime_to_us(ns)
    assert clock.ns_to_us_mulhi(ns) == twin.ktime_to_us(ns)
    assert clock.ns_to_us_shift(ns) == ns >> 10
    assert clock.ktime_us_delta(ns, other) == twin.ktime_us_delta(ns, other)
    for how in ("div1000", "shr10"):
        assert clock.cpuidle_residency(ns, how) == twin.cpuidle_residency(ns, how)


@given(U64)
def test_unsigned_conversions(ns):
    ns64 = np.uint64(ns)
    assert int(clock.ns_to_us(ns64)) == ns // 1000
    assert int(clock.ns_to_us_mulhi(ns64)) == ns // 1000
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


@given(S64, bits(2**63 - 1))
def test_ktime_divns(ns, div):
    with np.errstate(divide="ignore"):
        assert clock.ktime_divns(ns, div) == twin.ktime_divns(ns, div)


@given(U32.filter(bool), U32, U32)
def test_mult_shift(from_hz, to_hz, maxsec):
    pair = clock.clocks_calc_mult_shift(from_hz, to_hz, maxsec)
    assert astuple(pair) == twin.clocks_calc_mult_shift(from_hz, to_hz, maxsec)
    assert clock.wraps.clocks_calc_mult_shift(from_hz, to_hz, maxsec) == (pair.shift == 0)


@given(U32, SHIFT, U32, U64)
def test_max_nsecs(mult, shift, maxadj, mask):
    with np.errstate(divide="ignore"):
        ours = clock.clocks_calc_max_nsecs(mult, shift, maxadj, mask)
    assert astuple(ours) == twin.clocks_calc_max_nsecs(mult, shift, maxadj, mask)
    wraps = astuple(ours) != twin.clocks_calc_max_nsecs(mult, shift, maxadj, mask, word=twin.FREE)
    assert clock.wraps.clocks_calc_max_nsecs(mult, shift, maxadj, mask) == wraps


@given(st.integers(1, 1000) | st.sampled_from((1, 1000)), U32.filter(bool), U64)
def test_registration(scale, freq, mask):
    ours = clock.clocksource_update_freq_scale(scale, freq, mask)
    assert astuple(ours) == twin.clocksource_update_freq_scale(scale, freq, mask)


@given(st.integers(1, 64), U32.filter(bool))
def test_sched_clock_register(width, rate):
    assert astuple(clock.sched_clock_register(width, rate)) == twin.sched_clock_register(width, rate)


@given(U32.filter(bool), U64, U64)
def test_clockevents_config(freq, min_ticks, max_ticks):
    ours = clock.clockevents_config(freq, min_ticks, max_ticks)
    assert astuple(ours) == twin.clockevents_config(freq, min_ticks, max_ticks)


@given(U64, U32, SHIFT, st.booleans())
def test_cev_delta2ns(latch, mult, shift, ismax):
    assert clock.cev_delta2ns(latch, mult, shift, ismax) == twin.cev_delta2ns(latch, mult, shift, ismax)


@given(U64, U64, MASK, st.booleans())
def test_clocksource_delta(now, last, mask, validate):
    ours = clock.clocksource_delta(now, last, mask, validate=validate)
    assert ours == twin.clocksource_delta(now, last, mask, validate)


@given(U32, U32)
def test_reciprocal(a, d):
    with np.errstate(divide="ignore"):
        r = clock.reciprocal_value(d)
    assert astuple(r) == twin.reciprocal_value(d)
    assert clock.reciprocal_divide(a, r.m, r.sh1, r.sh2) == twin.reciprocal_divide(
        a, *twin.reciprocal_value(d)
    )
    if d:
        assert clock.reciprocal_divide(a, r.m, r.sh1, r.sh2) == a // d
    assert clock.reciprocal_scale(a, d) == twin.reciprocal_scale(a, d)


@given(bits(2**31), st.integers(1, 32))
def test_reciprocal_adv(d, prec):
    with np.errstate(divide="ignore"):
        ours = clock.reciprocal_value_adv(d, prec)
    assert astuple(ours) == twin.reciprocal_value_adv(d, prec)


@given(U64, U64, SHIFT)
def test_the_forms_of_32_bits_give_the_same(a, b, shift):
    assert clock.mul_u64_u64_shr(a, b, shift, long_bits=32) == clock.mul_u64_u64_shr(a, b, shift)
    short = a, b & 2**32 - 1, min(shift, 32)
    assert clock.mul_u64_u32_shr(*short, long_bits=32) == clock.mul_u64_u32_shr(*short)


#: Function -> its arguments' strategies, and the twin taking the same and `word`, which tells what wrapped.
WRAPPING = {
    "ktime_us_delta": ((S64, S64), twin.ktime_us_delta),
    "clocksource_hz2mult": ((U32, SHIFT), lambda hz, shift, **w: twin.freq2mult(hz, shift, 10**9, **w)),
    "clocksource_khz2mult": ((U32, SHIFT), lambda khz, shift, **w: twin.freq2mult(khz, shift, 10**6, **w)),
    "clocksource_cyc2ns": ((U64, U32, SHIFT), twin.clocksource_cyc2ns),
    "clocksource_cyc2ns_safe": ((U64, U32, SHIFT, U64), twin.clocksource_cyc2ns_safe),
    "cyc_to_ns": ((U64, U32, SHIFT), twin.cyc_to_ns),
    "cycles_2_ns": ((U64, U32, SHIFT, U64), twin.cycles_2_ns),
    "pvclock_scale_delta": ((U64, U32, st.integers(-63, 63)), twin.pvclock_scale_delta),
    "tsc_to_perf_time": ((U64, U32, SHIFT, U64), twin.tsc_to_perf_time),
    "perf_time_to_tsc": ((U64, U32, SHIFT, U64), twin.perf_time_to_tsc),
    "mul_u64_u32_shr": ((U64, U32, SHIFT), twin.mul_u64_u32_shr),
    "mul_u64_u64_shr": ((U64, U64, SHIFT), twin.mul_u64_u32_shr),
    "mul_u64_u32_div": ((U64, U32, U32), twin.mul_u64_u32_div),
}


@pytest.mark.parametrize("name", WRAPPING)
@given(data=st.data())
def test_what_wraps(name, data):
    strategies, theirs = WRAPPING[name]
    args = [data.draw(strategy) for strategy in strategies]
    with np.errstate(divide="ignore"):
        result = int(getattr(clock, name)(*args))
    assert result == theirs(*args)
    assert bool(getattr(clock.wraps, name)(*args)) == (result != theirs(*args, word=twin.FREE))


@given(U64, U32, SHIFT, MASK, U64, U64)
def test_sched_clock(cyc, mult, shift, mask, epoch_cyc, epoch_ns):
    args, epochs = (cyc, mult, shift, mask), {"epoch_cyc": epoch_cyc, "epoch_ns": epoch_ns}
    result = int(clock.sched_clock(*args, **epochs))
    assert result == twin.sched_clock(*args, **epochs)
    wraps = result != twin.sched_clock(*args, **epochs, word=twin.FREE)
    assert bool(clock.wraps.sched_clock(*args, **epochs)) == wraps


@given(U64, U64, MASK, U32, SHIFT, U64)
def test_vdso_calc_ns(cycles, cycle_last, mask, mult, shift, base):
    args = cycles, cycle_last, mask, mult, shift
    result = int(clock.vdso_calc_ns(*args, base=base))
    assert result == twin.vdso_calc_ns(*args, base)
    wraps = result != twin.vdso_calc_ns(*args, base, word=twin.FREE)
    assert bool(clock.wraps.vdso_calc_ns(*args, base=base)) == wraps


@given(U64, U32, SHIFT, st.sampled_from((32, 64)))
def test_div_sc(ticks, nsec, shift, long_bits):
    args = ticks % 2**long_bits, nsec, shift
    with np.errstate(divide="ignore"):
        result = int(clock.div_sc(*args, long_bits=long_bits))
    assert result == twin.div_sc(*args, long_bits)
    wraps = result != twin.div_sc(*args, long_bits, word=twin.FREE)
    assert bool(clock.wraps.div_sc(*args, long_bits=long_bits)) == wraps


@given(U32, U64, U32, SHIFT, U64)
def test_set_cyc2ns_scale(khz, tsc_now, mul, shift, offset):
    args = khz, tsc_now, mul, shift, offset
    ours = astuple(clock.set_cyc2ns_scale(*args))
    assert ours == twin.set_cyc2ns_scale(*args)
    wraps = twin.signed(int(ours[2])) != twin.set_cyc2ns_scale(*args, word=twin.FREE)[2]
    assert bool(clock.wraps.set_cyc2ns_scale(*args)) == wraps


@given(U64, U32, st.booleans())
def test_cycles_2_ns_legacy(tsc, scale, fixed):
    result = int(clock.cycles_2_ns_legacy(tsc, scale, fixed=fixed))
    assert result == twin.cycles_2_ns_legacy(tsc, scale, fixed)
    wraps = result != twin.cycles_2_ns_legacy(tsc, scale, fixed, word=twin.FREE)
    assert bool(clock.wraps.cycles_2_ns_legacy(tsc, scale, fixed=fixed)) == wraps


@pytest.mark.parametrize("kernel", ["6.1", "6.19"])
@given(U64, U64, U64)
def test_mul_u64_u64_div_u64(kernel, a, b, c):
    with np.errstate(divide="ignore"):
        result = int(clock.mul_u64_u64_div_u64(a, b, c, kernel=kernel))
    assert result == twin.mul_u64_u64_div_u64(a, b, c, kernel)
    wraps = result != twin.mul_u64_u64_div_u64(a, b, c, kernel, word=twin.FREE)
    assert bool(clock.wraps.mul_u64_u64_div_u64(a, b, c, kernel=kernel)) == wraps


def test_a_companion_takes_what_its_function_takes():
    for name in clock.wraps.__all__:
        companion, function = getattr(clock.wraps, name), getattr(clock, name)
        assert inspect.signature(companion) == inspect.signature(function)
        assert companion.__doc__.startswith("Where ")


#: Call -> what a division by zero gives.
BY_ZERO = {
    "ktime_divns": ((1, 0), (0,)),
    "clocks_calc_mult_shift": ((0, 1, 1), (0, 0)),
    "clocks_calc_max_nsecs": ((0, 1, 0, 255), (0, 0)),
    "clocksource_update_freq_scale": ((1, 0, 255), (0,) * 5),
    "clocksource_hz2mult": ((0, 1), (0,)),
    "clocksource_khz2mult": ((0, 1), (0,)),
    "sched_clock_register": ((56, 0), (0,) * 5),
    "clockevents_config": ((0, 1, 1), (0,) * 4),
    "div_sc": ((1, 0, 1), (0,)),
    "perf_time_to_tsc": ((1, 0, 1), (0,)),
    "mul_u64_u32_div": ((1, 1, 0), (0,)),
    "reciprocal_value": ((0,), (0,) * 3),
    "reciprocal_value_adv": ((0, 32), (0,) * 4),
}


@pytest.mark.parametrize("name", BY_ZERO)
def test_a_division_by_zero_warns_as_numpy_does(name):
    args, expected = BY_ZERO[name]
    function = getattr(clock, name)
    with np.errstate(divide="ignore"):
        result = function(*args)
    assert (astuple(result) if hasattr(result, "__dataclass_fields__") else (result,)) == expected
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        function(*args)
    if name in clock.wraps.__all__:
        with np.errstate(all="raise"):
            assert not getattr(clock.wraps, name)(*args)


def test_a_shift_by_all_bits_leaves_nothing():
    a, b, c = 2**64 - 1, 2**63, 2**63 + 5
    assert clock.mul_u64_u64_div_u64(a, b, c, kernel="6.1") == 0
    assert twin.mul_u64_u64_div_u64(a, b, c, "6.1") == 0
    assert not clock.wraps.mul_u64_u64_div_u64(a, b, c, kernel="6.1")
    assert int(clock.mul_u64_u64_div_u64(a, b, c, kernel="6.19")) == a * b // c


def test_a_division_by_zero_of_either_kernel():
    for kernel in ("6.1", "6.19"):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert clock.mul_u64_u64_div_u64(1, 1, 0, kernel=kernel) == 0
        with np.errstate(all="raise"):
            assert not clock.wraps.mul_u64_u64_div_u64(1, 1, 0, kernel=kernel)


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
