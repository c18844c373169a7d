# SPDX-License-Identifier: GPL-2.0-only
"""What is known of the kernel's conversions, each with the input that shows it."""

import numpy as np
import pytest
from golden import load

from schedpy import clock

DAY_NS = 86_400 * 10**9


def test_where_the_clamp_of_cpuidle_bites():
    for how, convert, first in (
        ("div1000", clock.ns_to_us, 2_147_483_648_000),
        ("shr10", clock.ns_to_us_shift, 2_199_023_255_552),
    ):
        assert convert([first - 1, first]).tolist() == [2**31 - 1, 2**31]
        assert clock.cpuidle_residency([first - 1, first, 2**63 - 1], how).tolist() == [2**31 - 1] * 3


def test_a_snooze_of_100_us_looks_short_until_2400_ns_more():
    assert clock.cpuidle_residency([102_399, 102_400], "shr10").tolist() == [99, 100]
    assert clock.cpuidle_residency([100_000, 102_300], "div1000").tolist() == [100, 102]


def test_the_loop_that_runs_out_leaves_twice_the_ratio():
    pair = clock.clocks_calc_mult_shift(10**9, 2_600_000_000, 2**32 - 1)
    assert (int(pair.mult), int(pair.shift)) == (5, 0)
    assert clock.wraps.clocks_calc_mult_shift(10**9, 2_600_000_000, 2**32 - 1)


def test_to_ns_the_loop_never_runs_out():
    """The free bits are those of 32 that maxsec * from leaves, and from below 2^32 leaves one at least."""
    rng = np.random.default_rng(6)
    hz, sec = (rng.integers(1, 2**32, 100_000, dtype=np.uint32) >> rng.integers(0, 32, 100_000) for _ in "ab")
    hz = np.maximum(hz, 1).astype(np.uint32)
    assert not clock.wraps.clocks_calc_mult_shift(hz, 10**9, np.minimum(sec, 600).astype(np.uint32)).any()


@pytest.mark.parametrize(
    ("scale", "freq", "bits", "mult", "shift", "ppb"),
    [(1, 19_200_000, 56, 873813333, 24, 0), (1000, 2_596_130, 64, 6462394, 24, -63)],
)
def test_public_clocks(scale, freq, bits, mult, shift, ppb):
    ours = clock.clocksource_update_freq_scale(scale, freq, clock.clocksource_mask(bits))
    assert (int(ours.mult), int(ours.shift)) == (mult, shift)
    assert int(clock.freq_error_ppb(mult, shift, freq, scale)) == ppb


@pytest.mark.parametrize(
    ("hz", "bits", "halved"),
    [
        *((hz, bits, True) for hz in (32_768, 10**6, 250, 1000) for bits in (24, 32, 56, 64)),
        (512_000_000, 32, True),
        (512_000_000, 56, False),
    ],
)
def test_a_mult_that_steering_would_overflow_is_halved(hz, bits, halved):
    """mult + 11 % passes 32 bits from 3869339907 on."""
    border = 3_869_339_907
    assert border + border * 11 // 100 >= 2**32 > border - 1 + (border - 1) * 11 // 100
    mask = 2**bits - 1
    sec = max(mask // hz, 1) if bits <= 32 else min(mask // hz, 600)
    plain, ours = clock.clocks_calc_mult_shift(hz, 10**9, sec), clock.clocksource_register_hz(hz, mask)
    assert (plain.mult >= border) == halved
    assert (int(ours.mult), int(ours.shift)) == (int(plain.mult) >> halved, int(plain.shift) - halved)


def test_the_clock_of_2_6_28_wraps_after_208_days():
    scale = clock.cyc2ns_scale_legacy(1_000_000)
    assert round(2**54 / DAY_NS, 1) == 208.5
    assert clock.cycles_2_ns_legacy([2**54 - 1, 2**54], scale).tolist() == [2**54 - 1, 0]
    assert clock.wraps.cycles_2_ns_legacy([2**54 - 1, 2**54], scale).tolist() == [False, True]
    assert clock.cycles_2_ns_legacy(2**54, scale, fixed=True) == 2**54


def test_an_x86_clock_goes_on_when_its_frequency_changes():
    old = clock.set_cyc2ns_scale(3_000_000, 0)
    for now in (10**9, 10**13, 10**16):
        new = clock.set_cyc2ns_scale(1_700_000, now, old.mul, old.shift, old.offset)
        before = clock.cycles_2_ns(now, old.mul, old.shift, old.offset)
        assert clock.cycles_2_ns(now, new.mul, new.shift, new.offset) == before
        assert int(new.shift) <= 31


def test_a_range_of_nothing_takes_all_bits():
    """maxsec 0 leaves mult 32 bits: of a slow TSC the shift would be 32."""
    assert int(clock.clocks_calc_mult_shift(2_000_000, 10**6, 0).shift) == 32
    assert int(clock.set_cyc2ns_scale(2_000_000, 0).shift) == 31


def test_the_quotient_of_6_1_is_off_by_all_of_it():
    rows = load("clock/math64")
    exact, ours = rows["mul_u64_u64_div_u64_exact"], rows["mul_u64_u64_div_u64_v61_C_fallback"]
    off = [(int(e), int(o)) for e, o in zip(exact, ours, strict=True) if e != "" and o != "" and e != o]
    assert len(off) == 252
    assert any(o == 0 < e for e, o in off)
