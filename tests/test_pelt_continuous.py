# SPDX-License-Identifier: GPL-2.0-only
"""The real-valued signal: worked by hand, its closed forms against each other, and against the integer rule.

The integer rule may be lower by 1, since it rounds down; its sums stray by 0.5; and since it counts every
part of a window as equally old, a load in step with windows is off by up to 2.8 more, at a half-life of 32.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedpy import pelt

HALF_LIFE = 33_554_432
rng = np.random.default_rng(33554)


def by_hand(now, running, half_life=32):
    """One event after the other."""
    value, last, values = 0.0, now[0], []
    for at, ran in zip(now, running, strict=True):
        left = 2.0 ** (-(at - last) / (half_life * 1_048_576))
        value, last = value * left + (1024 * (1 - left) if ran else 0), at
        values.append(value)
    return values


def integer_rule(now, running):
    """The averages that a kernel would have at each event, had it refreshed them there."""
    return pelt.track(now, kernel="6.1", running=running, on_rq=True, fields=("util_now",)).util_now


def test_the_half_life_is_32_windows_exactly():
    assert HALF_LIFE == 32 * 1_048_576
    assert pelt.continuous([5, 5 + HALF_LIFE], True).tolist() == [0, 512]
    up_and_down = pelt.continuous(np.arange(5) * HALF_LIFE, [0, 1, 1, 0, 0])
    assert up_and_down.tolist() == [0, 512, 768, 384, 192]


def test_other_half_lives_and_streams_side_by_side():
    got = pelt.continuous([0, HALF_LIFE], [[True], [False]], [[16], [32]])
    assert got.tolist() == [[0, 768], [0, 0]]
    got = pelt.continuous([[0, HALF_LIFE], [0, 2 * HALF_LIFE]], True)
    assert got.tolist() == [[0, 512], [0, 768]]
    assert pelt.continuous([0, HALF_LIFE // 4], True, 8).tolist() == [0, 512]


def test_the_first_flag_is_unused_and_time_may_stand_still():
    assert pelt.continuous([7, 7, 7 + HALF_LIFE, 7 + HALF_LIFE], [1, 1, 1, 0]).tolist() == [0, 0, 512, 512]
    assert pelt.continuous([], []).shape == (0,)
    assert pelt.continuous([9], True).tolist() == [0]


def test_all_of_64_bits_is_a_time():
    assert pelt.continuous([0, 2**64 - 1], True).tolist() == [0, 1024]
    top = 2**64 - 1 - HALF_LIFE
    assert pelt.continuous([top, top + HALF_LIFE], True).tolist() == [0, 512]


@given(
    st.lists(st.tuples(st.integers(0, 10**8), st.booleans()), min_size=1, max_size=70),
    st.integers(1, 2048),
)
def test_it_is_the_recurrence(events, half_life):
    now = np.cumsum([gap for gap, _ in events])
    running = [ran for _, ran in events]
    want = by_hand(now.tolist(), running, half_life)
    np.testing.assert_allclose(pelt.continuous(now, running, half_life), want, rtol=1e-9, atol=1e-9)


def test_ten_thousand_events_lose_nothing():
    now = np.cumsum(rng.integers(0, 5_000_000, 10_000))
    running = rng.random(10_000) < 0.4
    np.testing.assert_allclose(pelt.continuous(now, running), by_hand(now.tolist(), running), atol=1e-9)


@pytest.mark.parametrize("gap", [1_000_000, 4_000_000, 3_333_333])
def test_the_integer_rule_is_within_2_of_it_at_ticks(gap):
    now = 10**9 + np.arange(3000) * gap + rng.integers(0, gap, (20, 1))
    running = rng.random((20, 3000)) < rng.random((20, 1))
    ahead = pelt.continuous(now, running) - integer_rule(now, running)
    assert ahead.max() > 0.9
    assert ahead.max() < 1.5
    assert ahead.min() > -1


def test_the_integer_rule_is_within_4_3_of_it_in_step_with_windows():
    now = np.arange(3000) << 19
    running = np.arange(3000) % 2 == [[0], [1]]
    ahead = pelt.continuous(now, running) - integer_rule(now, running)
    assert 3 < ahead.max() < 1 + 0.5 + 2.8
    assert -3 > ahead.min() > -0.5 - 2.8


@given(st.lists(st.tuples(st.integers(0, 4 << 20), st.booleans()), min_size=2, max_size=100))
def test_the_integer_rule_is_within_4_3_of_it_whatever_runs(events):
    now = np.cumsum([gap for gap, _ in events])
    running = [ran for _, ran in events]
    # Sub-unit remainders: the rule may stand up to 1023 ns behind now, which moves the signal by 0.03.
    ahead = pelt.continuous(now, running) - integer_rule(now, running)
    assert ahead.max() < 1 + 0.5 + 2.8 + 0.03
    assert ahead.min() > -0.5 - 2.8 - 0.03


def test_always_running_stays_within_a_thousandth():
    now = np.arange(1000) * 1_000_000
    ahead = pelt.continuous(now, True) - integer_rule(now, True)
    assert ahead.min() > -1.1
    assert ahead.max() < 1.1


# swing


def test_the_swing_of_16_ms_at_20_percent():
    s = pelt.swing(3_200_000, 16_000_000)
    assert round(float(s.width), 2) == 54.07
    assert round(float(s.high - s.mean), 2) == 27.93
    assert round(float(s.mean - s.low), 2) == 26.14
    assert s.mean == pytest.approx(204.8, abs=1e-12)


def test_swings_worked_by_hand():
    one_of_two = pelt.swing(HALF_LIFE, 2 * HALF_LIFE)
    assert one_of_two.high == pytest.approx(1024 * (1 / 2) / (3 / 4))
    assert one_of_two.low == pytest.approx(1024 * (1 / 2) / (3 / 4) / 2)
    assert one_of_two.mean == 512
    one_of_three = pelt.swing(HALF_LIFE, 3 * HALF_LIFE, [32, 16])
    assert one_of_three.high.tolist() == pytest.approx([1024 * 4 / 7, 1024 * (3 / 4) / (63 / 64)])
    assert one_of_three.low.tolist() == pytest.approx([1024 / 7, 1024 * (3 / 4) / (63 / 64) / 16])


def test_never_and_always_running_do_not_swing():
    s = pelt.swing([0, 16_000_000], 16_000_000)
    assert s.low.tolist() == s.high.tolist() == s.mean.tolist() == [0, 1024]
    assert s.width.tolist() == [0, 0]


def test_a_fine_duty_cycle_is_its_mean():
    s = pelt.swing(1, 4, 2048)
    assert s.low == pytest.approx(256, abs=1e-6)
    assert s.high == pytest.approx(256, abs=1e-6)


def duty_cycle(run, period, periods):
    """Edges from 0 on: the end of each run, the end of each period."""
    edges = np.arange(periods)[:, None] * period + np.array([run, period])
    now = np.concatenate([[0], edges.ravel()])
    return now, np.arange(now.size) % 2 == 1


DUTIES = [(3_200_000, 16_000_000), (20_000_000, 100_000_000), (1_000_000, 3_000_000), (9_000_000, 10_000_000)]


@pytest.mark.parametrize(("run", "period"), DUTIES)
def test_swing_is_where_the_signal_and_the_integer_rule_turn(run, period):
    s = pelt.swing(run, period)
    now, running = duty_cycle(run, period, 600_000_000 * 4 // period)
    signal = pelt.continuous(now, running)
    assert signal[-2] == pytest.approx(s.high, abs=1e-9)
    assert signal[-1] == pytest.approx(s.low, abs=1e-9)
    late = integer_rule(now, running)[now.size // 2 :]
    low, high = late[late < s.mean], late[late > s.mean]
    assert np.abs(high - s.high).max() < 2
    assert np.abs(low - s.low).max() < 2


@pytest.mark.parametrize(("run", "period"), DUTIES)
def test_the_mean_is_that_of_the_signal(run, period):
    s = pelt.swing(run, period)
    rise = (np.arange(20000) + 0.5) / 20000 * run
    fall = (np.arange(20000) + 0.5) / 20000 * (period - run)
    up = 1024 + (s.low - 1024) * 2 ** (-rise / HALF_LIFE)
    down = s.high * 2 ** (-fall / HALF_LIFE)
    assert (up.mean() * run + down.mean() * (period - run)) / period == pytest.approx(s.mean, rel=1e-6)


# time to reach


def test_times_worked_by_hand():
    assert pelt.time_to_reach([0, 512, 768, 896, 1023]).tolist() == [
        0,
        HALF_LIFE,
        2 * HALF_LIFE,
        3 * HALF_LIFE,
        10 * HALF_LIFE,
    ]
    assert pelt.time_to_reach([1024, 512, 256, 1], 1024).tolist() == [
        0,
        HALF_LIFE,
        2 * HALF_LIFE,
        10 * HALF_LIFE,
    ]
    assert pelt.time_to_reach(768, 512) == HALF_LIFE
    assert pelt.time_to_reach(512, half_life=[8, 16]).tolist() == [HALF_LIFE // 4, HALF_LIFE // 2]
    assert pelt.time_to_reach(820) == math.ceil(HALF_LIFE * math.log2(1024 / 204))
    assert pelt.time_to_reach(0) == pelt.time_to_reach(1024, 1024) == pelt.time_to_reach(7.5, 7.5) == 0


@pytest.mark.parametrize(
    ("start", "value"), [(0, 1), (0, 400), (100, 1023.9), (1000, 10), (3, 2.5), (800, 799)]
)
def test_it_is_the_first_whole_ns(start, value):
    t = int(pelt.time_to_reach(value, start))

    def signal(at):
        left = 2.0 ** (-at / HALF_LIFE)
        return start * left + (1024 * (1 - left) if value > start else 0)

    slack = 1e-9
    if value > start:
        assert signal(t) >= value - slack
        assert signal(t - 1) < value
    else:
        assert signal(t) <= value + slack
        assert signal(t - 1) > value


@pytest.mark.parametrize("value", [1, 20, 100, 512, 820, 1000, 1020])
def test_the_integer_rule_is_there_at_that_time(value):
    t = int(pelt.time_to_reach(value))
    assert abs(int(integer_rule([0, t], True)[-1]) - value) < 2
    down = int(pelt.time_to_reach(value, 1024))
    full = pelt.initial_state(util_sum=1024 * 46718, util_avg=1024)
    slept = pelt.track([down], kernel="6.1", running=False, state=full, fields=("util_now",))
    assert abs(int(slept.util_now[-1]) - value) < 2


# settling time


def test_settling_worked_by_hand():
    """The low of one half-life in two is 1024 / 3, and the distance from it halves every half-life."""
    third = 1024 / 3
    tolerances = [third / 2**k * (1 + 1e-12) for k in (1, 2, 5)]
    got = pelt.settling_time(HALF_LIFE, 2 * HALF_LIFE, tolerances)
    assert got.tolist() == [HALF_LIFE, 2 * HALF_LIFE, 5 * HALF_LIFE]
    assert pelt.settling_time(HALF_LIFE, 2 * HALF_LIFE, 342) == 0
    assert pelt.settling_time(0, 5, 1e-300) == 0
    assert pelt.settling_time(5, 5, 1) == 10 * HALF_LIFE


@pytest.mark.parametrize(("run", "period"), DUTIES)
@pytest.mark.parametrize("tolerance", [100, 10, 1])
def test_from_then_on_the_signal_is_within_the_tolerance(run, period, tolerance):
    t = int(pelt.settling_time(run, period, tolerance))
    now, _ = duty_cycle(run, period, 600_000_000 * 4 // period)
    now = np.unique(np.concatenate([now, [t - 1, t] if t else []])).astype(np.int64)
    phase = now % period
    running = (phase > 0) & (phase <= run)
    signal = pelt.continuous(now, running)
    s = pelt.swing(run, period)
    steady = np.where(
        phase <= run,
        1024 + (s.low - 1024) * 2 ** (-phase / HALF_LIFE),
        s.high * 2 ** (-(phase - run) / HALF_LIFE),
    )
    off = np.abs(signal - steady)
    assert (off[now >= t] <= tolerance * (1 + 1e-9)).all()
    assert (off[now < t] > tolerance).all()
    strays = np.abs(integer_rule(now, running) - steady)
    assert (strays[now >= t] <= tolerance + 2).all()
    assert (strays[now < t] > tolerance - 2).all()


# what is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pelt.continuous([0, 5, 4], True), r"^now must not go backwards: 4 after 5"),
        (lambda: pelt.continuous(5, True), r"^now must have an axis of time"),
        (lambda: pelt.continuous([0, -5], True), r"^now\[1\] = -5"),
        (lambda: pelt.continuous([0, 5], [0, 2]), r"^running\[1\] = 2"),
        (lambda: pelt.continuous([0, 5], [0, 1, 1]), r"^shapes do not broadcast: now \(2,\), running \(3,\)"),
        (lambda: pelt.continuous([0, 5], True, 0), r"^half_life = 0: must be 1 \.\. 2048"),
        (lambda: pelt.swing(5, 4), r"^run_ns = 5: must be 0 \.\. period_ns, 4"),
        (lambda: pelt.swing([1, 5], [[4], [9]]), r"^run_ns\[0, 1\] = 5: must be 0 \.\. period_ns, 4"),
        (lambda: pelt.swing(-1, 4), r"^run_ns = -1"),
        (lambda: pelt.swing(0, 0), r"^period_ns = 0: must be 1 \.\. "),
        (lambda: pelt.swing(1, 4, 2049), r"^half_life = 2049"),
        (lambda: pelt.time_to_reach(1024), r"^value = 1024\.0: never reached from 0\.0"),
        (lambda: pelt.time_to_reach([5, 0], 7), r"^value\[1\] = 0\.0: never reached from 7\.0"),
        (lambda: pelt.time_to_reach(1024.5), r"^value = 1024\.5: must be 0 \.\. 1024"),
        (lambda: pelt.time_to_reach([1, np.nan]), r"^value\[1\] = nan: must be 0 \.\. 1024"),
        (lambda: pelt.time_to_reach(5, -1), r"^start = -1\.0: must be 0 \.\. 1024"),
        (lambda: pelt.time_to_reach([1, 2], [1, 2, 3]), r"^shapes do not broadcast"),
        (lambda: pelt.settling_time(1, 4, 0), r"^tolerance = 0\.0: must be above 0"),
        (lambda: pelt.settling_time(1, 4, [1, np.inf]), r"^tolerance\[1\] = inf: must be above 0 and finite"),
        (lambda: pelt.settling_time(1, 4, np.nan), r"^tolerance = nan"),
        (lambda: pelt.settling_time(5, 4, 1), r"^run_ns = 5"),
    ],
)
def test_bad_values_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pelt.continuous([0.5], True), r"^now.*seconds\?"),
        (lambda: pelt.swing(0.003, 16_000_000), r"^run_ns.*seconds\?"),
        (lambda: pelt.time_to_reach("512"), r"^value must hold numbers"),
        (lambda: pelt.time_to_reach(512, None), r"^start must hold numbers"),
        (lambda: pelt.settling_time(1, 4, "1"), r"^tolerance must hold numbers"),
        (lambda: pelt.swing(1, 4, 32.5), r"^half_life"),
    ],
)
def test_other_types_are_refused_by_name(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_times_are_whole_and_signals_are_real():
    assert pelt.time_to_reach(500).dtype == pelt.settling_time(1, 4, [1]).dtype == np.int64
    assert pelt.swing(1, 4).low.dtype == pelt.continuous([0], True).dtype == np.float64
    assert (
        pelt.swing(np.timedelta64(3_200_000, "ns"), 16_000_000).low == pelt.swing(3_200_000, 16_000_000).low
    )
