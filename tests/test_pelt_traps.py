# SPDX-License-Identifier: GPL-2.0-only
"""Where PELT surprises: each trap with the input that shows it and the number it gives."""

import numpy as np
import pytest
from pelt_twin import KERNELS, SINCE_4_12, WITH_UTIL, assert_same
from reference import pelt as twin

from schedpy import pelt

WINDOW = 1024 * 1024
SINCE_4_13 = SINCE_4_12[1:]
ZERO = pelt.initial_state()


def runs(now, kernel, field="util_avg", **options):
    """A history of a task that always runs, from a state of zero at time zero."""
    return pelt.track(now, kernel=kernel, running=True, state=ZERO, fields=(field,), **options).history[field]


def test_zero_windows_take_one_off():
    """4.12 dropped the exit for n = 0, and the table's first entry is 2^32 - 1."""
    val = [0, 1, 1024, 2**32, 2**32 + 1]
    assert pelt.decay_load(val, 0, kernel="4.12").tolist() == [0, 0, 1023, 2**32 - 1, 2**32 - 1]
    assert pelt.decay_load(val, 0, kernel="4.11").tolist() == val
    assert pelt.decay_load(val, 0, kernel="3.8").tolist() == val


@pytest.mark.parametrize("kernel", ["3.8", "4.3", "4.12"])
@pytest.mark.parametrize("halvings", [1, 2, 31])
def test_whole_half_lives_take_one_off(kernel, halvings):
    got = pelt.decay_load(2**32, 32 * halvings, kernel=kernel)
    assert int(got) == (2**32 >> halvings) - 1


def test_the_product_of_3_8_wraps():
    assert int(pelt.decay_load(2**33, 1, kernel="4.3")) == (2**33 * 0xFA83B2DA) >> 32
    assert int(pelt.decay_load(2**33, 1, kernel="3.8")) == ((2**33 * 0xFA83B2DA) % 2**64) >> 32


@pytest.mark.parametrize("kernel", SINCE_4_12)
def test_sleep_of_2_to_the_32_windows(kernel):
    """The number of windows is returned in 32 bits: sums cleared, averages left. 52.1 days."""
    state = twin.State(2**30, 10**6, 10**6, 10**7, 0, 20, 20, 200)
    asleep = twin.Event(2**30 + 2**52, False, on_rq=False)
    track = assert_same(kernel, "task", [asleep], state=state)
    assert (track.updated.tolist(), track.util_sum.tolist(), track.util_avg.tolist()) == ([False], [0], [200])
    asleep = twin.Event(2**30 + 2**52 + WINDOW, False, on_rq=False)
    track = assert_same(kernel, "task", [asleep], state=state)
    assert (track.updated.tolist(), track.util_avg.tolist()) == ([True], [0])


@pytest.mark.parametrize("kernel", ["4.3", "4.4", "4.7"])
def test_sleep_of_2_to_the_32_windows_before_4_12(kernel):
    """Here the windows are counted in 64 bits and the averages go with the sums."""
    state = twin.State(2**30, 10**6, 10**6, 10**7, 0, 20, 20, 200)
    track = assert_same(kernel, "task", [twin.Event(2**30 + 2**52, False, on_rq=False)], state=state)
    assert (track.updated.tolist(), track.util_sum.tolist(), track.util_avg.tolist()) == ([True], [0], [0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_clock_backwards(kernel):
    """Only last_update_time follows; the time until then is counted again."""
    util = () if kernel == "3.8" else (10**7, 500, 20, 20, 200)
    state = twin.State(10**12, 10**4, 20_000, *util)
    events = [twin.Event(10**12 - 1, True), twin.Event(10**12 - 2_000_000, True), twin.Event(10**12, True)]
    track = assert_same(kernel, "task", events, state=state)
    assert track.last_update_time.tolist()[:2] == [10**12 - 1, 10**12 - 2_000_000]
    assert track.updated.tolist() == [False, False, True]
    assert track.load_sum.tolist()[:2] == [10**4, 10**4]
    assert track.load_sum[2] > 10**4


@pytest.mark.parametrize(("kernel", "after_400_ms"), [("4.11", 986), ("4.12", 1001)])
def test_updates_every_1023_ns(kernel, after_400_ms):
    """Before 4.12 what is left of a unit of 1024 ns is lost at each update, here half of the time."""
    assert runs(np.arange(1023, 400_000_001, 1023), kernel)[-1] == after_400_ms


@pytest.mark.parametrize("kernel", SINCE_4_12)
def test_sums_depend_on_the_number_of_updates(kernel):
    """The same 10 ms of running in 1, 10, 100 and 1000 updates."""
    sums = []
    for updates in (1, 10, 100, 1000):
        now = np.arange(1, updates + 1) * 10**7 // updates
        sums.append(int(runs(now, kernel, "util_sum")[-1]))
    assert sums == [9035776, 9036263, 9041549, 9036463]


@pytest.mark.parametrize(
    ("kernel", "step_ns", "lowest", "highest"),
    [
        ("4.12", 4_000_000, 1002, 1023),
        ("4.12", 1_000_000, 1002, 1023),
        *((kernel, 4_000_000, 1023, 1024) for kernel in SINCE_4_13),
        *((kernel, 1_000_000, 1024, 1024) for kernel in SINCE_4_13),
        *((kernel, WINDOW, 1024, 1024) for kernel in SINCE_4_13),
    ],
)
def test_always_running(kernel, step_ns, lowest, highest):
    """4.12 divides by LOAD_AVG_MAX wherever in the window it is, and never settles."""
    settled = runs(np.arange(1, 6001) * step_ns, kernel)[1000:]
    assert (settled.min(), settled.max()) == (lowest, highest)


@pytest.mark.parametrize("kernel", SINCE_4_12)
def test_util_sum_passes_load_avg_max(kernel):
    """47742 is what the sum converges to in whole windows; every millisecond it comes to more."""
    assert int(runs(np.arange(1, 6001) * 1_000_000, kernel, "util_sum").max()) // 1024 == 47767


@pytest.mark.parametrize(("half_life", "highest"), [(8, 1025), (16, 1024), (32, 1024)])
@pytest.mark.parametrize("field", ["util_avg", "runnable_avg"])
def test_more_than_1024_with_a_half_life_of_8(half_life, highest, field):
    got = runs(np.arange(1, 2001) * WINDOW, "6.1", field, half_life=half_life)
    assert got.max() == got[-1] == highest


@pytest.mark.parametrize(("kernel", "nr"), [("4.13", None), ("4.15", None), ("5.7", 1)])
@pytest.mark.parametrize(("long_bits", "load_avg"), [(64, 266243), (32, 82375)])
def test_weight_times_contribution_on_32_bit(kernel, nr, long_bits, load_avg):
    """Three tasks of nice -20 for 400 windows: the product passes 2^32."""
    options = {} if nr is None else {"nr_running": nr}
    weight = 3 * int(pelt.nice_to_weight(-20))
    got = runs(
        [400 * WINDOW], kernel, "load_avg", entity="cfs_rq", weight=weight, long_bits=long_bits, **options
    )
    assert got.tolist() == [load_avg]


@pytest.mark.parametrize(("long_bits", "runnable_avg"), [(64, 102384), (32, 10450)])
def test_number_of_tasks_times_contribution_on_32_bit(long_bits, runnable_avg):
    options = {"entity": "cfs_rq", "weight": 1024, "nr_running": 100, "long_bits": long_bits}
    assert runs([400 * WINDOW], "6.1", "runnable_avg", **options).tolist() == [runnable_avg]


@pytest.mark.parametrize("kernel", WITH_UTIL)
def test_util_sum_wraps_at_32_bits(kernel):
    """No row of the known answers comes near; the sum is a u32 and says nothing."""
    state = twin.State(2**40, util_sum=2**32 - 1000)
    track = assert_same(kernel, "task", [twin.Event(2**40 + 1024 * 10, running=True)], state=state)
    added = 10 if kernel == "4.3" else 10 * 1024
    assert track.util_sum.tolist() == [(2**32 - 1000 + added) % 2**32]
    assert (int(track.util_sum[0]) < 2**31) is (kernel != "4.3")
    track = assert_same(kernel, "task", [twin.Event(2**40 + WINDOW, running=True)], state=state)
    assert int(track.util_avg[0]) == int(track.util_now[0])


def test_load_of_3_8_is_a_product_of_32_bits():
    state = twin.State(2**40, load_sum=40_000, runnable_sum=46_000)
    event = twin.Event(2**40 + WINDOW, running=True, weight=110_000)
    track = assert_same("3.8", "task", [event], state=state)
    product, time = int(track.load_sum[0]) * 110_000, int(track.runnable_sum[0]) + 1
    assert product >= 2**32
    assert track.load_avg.tolist() == [product % 2**32 // time]
    # The divider wraps too: a quotient by zero is 0 here.
    state = twin.State(2**40, load_sum=5, runnable_sum=2**32 - 11)
    assert assert_same("3.8", "task", [twin.Event(2**40 + 10240, running=True)], state=state).load_now[0] == 0


@pytest.mark.parametrize(
    ("kernel", "long_bits"), [("4.15", 64), ("4.15", 32), ("5.1", 64), ("5.7", 64), ("5.7", 32)]
)
def test_weight_times_load_sum_wraps_at_64_bits(kernel, long_bits):
    """A u64 product also where a weight has 32 bits."""
    weight = 2**32 - 1
    state = twin.State(2**40, load_sum=2**35, runnable_sum=2**35)
    event = twin.Event(2**40 + WINDOW, running=True, weight=weight, runnable_weight=weight)
    track = assert_same(kernel, "task", [event], state=state, long_bits=long_bits)
    product = weight * int(track.load_sum[0])
    assert product >= 2**64
    assert track.load_avg.tolist() == [(product % 2**64) // (47742 - 1024) % 2**long_bits]


@pytest.mark.parametrize(("kernel", "entity"), [("4.13", "cfs_rq"), ("4.15", "task"), ("5.7", "task")])
def test_averages_of_32_bits_are_cut(kernel, entity):
    """What an unsigned long cannot hold of a quotient that passes 2^32."""
    state = twin.State(2**40, load_sum=2**50, runnable_sum=2**50)
    event = twin.Event(2**40 + WINDOW, running=True, weight=3, runnable_weight=3)
    wide = assert_same(kernel, entity, [event], state=state, long_bits=64)
    cut = assert_same(kernel, entity, [event], state=state, long_bits=32)
    assert int(wide.load_avg[0]) >= 2**32
    assert cut.load_avg.tolist() == [int(wide.load_avg[0]) % 2**32]
    assert cut.runnable_avg.tolist() == [int(wide.runnable_avg[0]) % 2**32]
    assert cut.load_sum.tolist() == wide.load_sum.tolist()


@pytest.mark.parametrize("kernel", ["4.12", "4.13", "4.14", "4.15", "5.1", "5.7"])
def test_running_but_not_queued(kernel):
    """On its way out of the queue a task is still current: from 4.14 on that does not count as running."""
    event = twin.Event(10 * WINDOW, running=True, on_rq=False)
    track = assert_same(kernel, "task", [event])
    assert bool(track.util_sum[0] == 0) is (kernel not in ("4.12", "4.13"))
