# SPDX-License-Identifier: GPL-2.0-only
"""What surprises in the governors, one by one: wraps, signs, and a typical interval that is not."""

import numpy as np

from schedpy import cpuidle

KERNELS = ("4.7", "6.1", "6.19")
NONE_TYPICAL = 2**32 - 1
DAY = 86_400 * 10**9


def test_of_seven_equal_intervals_and_a_short_one_the_short_one_is_typical():
    """Up to 6.1 all that equal the largest are left out at once; 6.19 trims both ends."""
    intervals = [1000] * 7 + [5]
    answers = {kernel: int(cpuidle.get_typical_interval(intervals, kernel=kernel)) for kernel in KERNELS}
    assert answers == {"4.7": 5, "6.1": 5, "6.19": 1000}
    assert [int(cpuidle.get_typical_interval([1000] * 8, kernel=kernel)) for kernel in KERNELS] == [1000] * 3


def test_eight_zeros_are_typical_after_boot():
    answers = [int(cpuidle.get_typical_interval([0] * 8, kernel=kernel)) for kernel in KERNELS]
    assert answers == [0, 0, NONE_TYPICAL]
    table = cpuidle.IdleTable.load("juno")
    selected = cpuidle.run(table, kernel="4.7", sleep_ns=[10**9] * 12).selected
    assert selected[:5].tolist() == [0] * 5, "the zeros keep it shallow"
    assert selected[-1] == 2


def test_few_alike_are_enough():
    """Within 20 us no least number is asked for: two that are left of eight do."""
    few = [7, 9] + [1_000_000] * 6
    assert [int(cpuidle.get_typical_interval(few, kernel=kernel)) for kernel in KERNELS] == [8, 8, 1_000_000]
    apart = [7, 50] + [1_000_000] * 6
    assert int(cpuidle.get_typical_interval(apart, kernel="4.7")) == NONE_TYPICAL


def test_nothing_is_typical_that_is_not_below_the_prediction_in_6_1():
    assert int(cpuidle.get_typical_interval([50] * 8, kernel="6.1", predicted_us=51)) == 50
    assert int(cpuidle.get_typical_interval([50] * 8, kernel="6.1", predicted_us=50)) == NONE_TYPICAL


def test_menu_of_4_7_has_32_bits_of_microseconds():
    """A sleep of 2^32 us and 15 us is one of 15 us, in the bucket of those."""
    table = cpuidle.IdleTable.load("juno")
    sleep = [1000 * (2**32 + 15), 15_000]
    first = cpuidle.run(table, kernel="4.7", sleep_ns=[sleep[0]])
    assert first.state["next_timer_us"] == 15
    assert first.bucket.tolist() == [1]
    both = [cpuidle.run(table, kernel="4.7", sleep_ns=[length] * 9, measured_ns=0) for length in sleep]
    assert both[0].state == both[1].state


def test_menu_of_4_7_reads_a_clock_that_went_backwards_as_the_whole_sleep():
    table = cpuidle.IdleTable.load("juno")
    run = cpuidle.run(table, kernel="4.7", sleep_ns=[10**6, 10**6], measured_ns=[-5000, 0])
    assert run.last_residency_us.tolist() == [-5, 0]
    assert run.state["intervals"][0] == 1000
    shifted = cpuidle.run(table, kernel="4.7", sleep_ns=10**6, measured_ns=[-5000, 0], residency="shr10")
    assert shifted.last_residency_us.tolist() == [2**31 - 1, 0]


def test_menu_of_4_7_has_50_ms_or_51_2():
    """What is long is counted in units, whatever they are."""
    table = cpuidle.IdleTable(["WFI"], exit_latency_us=[0], target_residency_us=[0])
    idle = {"sleep_ns": 10**10, "measured_ns": [50_100_000, 0], "kernel": "4.7"}
    factors = {
        how: int(cpuidle.run(table, residency=how, **idle).correction_factor_of_bucket[1])
        for how in ("div1000", "shr10")
    }
    assert factors == {"div1000": 8192, "shr10": 7168 + 1024 * 48925 // 10**7}
    assert 50_100_000 // 1000 >= 50_000 > 50_100_000 >> 10 == 48925


def test_menu_of_6_1_wraps_at_26_days():
    """next * 8192 + 4096000 passes 2^64 at a factor of 1.0: of 2^51 ns nothing is left."""
    table = cpuidle.IdleTable.load("juno")
    fresh = cpuidle.initial_state(table, kernel="6.1")
    fresh["intervals"] = 2**32 - 1
    border = 2**51 - 500
    assert 26 * DAY < border < 27 * DAY
    run = cpuidle.run(table, kernel="6.1", sleep_ns=[[border - 1], [border]], hz=250, state=fresh)
    assert run.predicted.tolist() == [[(2**64 - 8192) // 8_192_000 % 2**32 * 1000], [0]]


def test_the_tick_stopped_and_no_timer_read_is_the_deepest_state_in_6_19():
    """Idles of 10 us with the tick stopped: KTIME_MAX takes the place of the prediction."""
    table = cpuidle.IdleTable.load("intel_skl")
    state = cpuidle.initial_state(table, kernel="6.19")
    state["intervals"] = 10
    idle = {"kernel": "6.19", "sleep_ns": 10_000, "measured_ns": [10_000], "hz": 250, "state": state}
    assert cpuidle.run(table, tick_stopped=True, **idle).selected.tolist() == [len(table) - 1]
    assert cpuidle.run(table, **idle).selected.tolist() == [1]


def test_a_state_that_its_driver_refused_counts_as_no_interval():
    table = cpuidle.IdleTable.load("juno")
    refused = cpuidle.initial_state(table, kernel="6.1", last_residency_ns=0)
    run = cpuidle.run(table, kernel="6.1", sleep_ns=[10**6], hz=250, state=refused)
    assert run.state["intervals"].tolist() == [NONE_TYPICAL] + [0] * 7


def test_the_band_of_the_mail():
    """One little core and a 4 ms timer: from where on its deep state is chosen for good, by conversion."""
    table = cpuidle.IdleTable.load("sm8150_little")
    period = np.arange(3_920, 4_080)
    sleep = np.repeat(1000 * period[:, np.newaxis], 200, axis=1)
    deep = {
        how: cpuidle.run(table, kernel="4.7", sleep_ns=sleep, residency=how, fields=("selected",)).selected[
            :, 100:
        ]
        for how in ("div1000", "shr10")
    }
    assert period[deep["div1000"].all(axis=1)][0] == 3934
    assert period[deep["div1000"].any(axis=1)][0] == 3934
    assert period[deep["shr10"].any(axis=1)][0] == 4032
    assert period[deep["shr10"].all(axis=1)][0] == 4059


def test_ladder_goes_deeper_when_it_was_woken_too_early():
    """What is left of a stay shorter than the exit latency is negative, and compared as unsigned."""
    table = cpuidle.IdleTable.load("juno")
    early, short = 100_000, 1_600_000
    assert early < 1000 * table.exit_latency_us[1] < short < 2000 * table.exit_latency_us[1]
    for kernel in KERNELS:
        state = cpuidle.initial_state(table, kernel=kernel, governor="ladder", last_state_idx=1)
        idle = {"kernel": kernel, "governor": "ladder", "state": state}
        by_length = {
            measured: cpuidle.run(table, measured_ns=[measured] * 8, **idle).selected.tolist()
            for measured in (early, short)
        }
        assert by_length[early] == [1, 1, 1, 2, 2, 2, 2, 2]
        assert by_length[short][:2] == [1, 0]


def test_ladder_does_not_look_at_target_residencies():
    table = cpuidle.IdleTable.load("juno")
    never = cpuidle.IdleTable(
        table.state, exit_latency_us=table.exit_latency_us, target_residency_us=[2**32 - 1] * 3
    )
    idle = {"kernel": "4.7", "governor": "ladder", "wake_ns": [10**7] * 10}
    assert cpuidle.run(never, **idle).selected.tolist() == cpuidle.run(table, **idle).selected.tolist()
    assert cpuidle.run(never, **idle).selected[-1] == 2


def test_teo_flips_for_good_where_the_conversion_crosses_a_residency():
    """HiKey960, interrupts every 1000 us: 1000 + 1050 - 1050 / 2 pays cpu-sleep's 1500, 1476 does not."""
    table = cpuidle.IdleTable.load("hikey960_little")
    idle = {"governor": "teo", "hz": 250, "sleep_ns": [250_000_000] * 200, "wake_ns": 1_000_000}
    for kernel in ("6.1", "6.19"):
        exact = cpuidle.run(table, kernel=kernel, residency="ns", **idle).selected[100:]
        shifted = cpuidle.run(table, kernel=kernel, residency="shr10", **idle).selected[100:]
        assert (exact == 1).all(), kernel
        assert (shifted == 0).all(), kernel


def test_what_is_below_eight_never_decays_in_6_1_and_at_once_in_6_19():
    table = cpuidle.IdleTable.load("juno")
    left = {}
    for kernel in ("6.1", "6.19"):
        idle = {"kernel": kernel, "governor": "teo", "hz": 250}
        state = cpuidle.initial_state(table, kernel=kernel, governor="teo", hits=[0, 0, 7] + [0] * 7)
        run = cpuidle.run(table, sleep_ns=[1000] * 3, state=state, fields=("hits",), **idle)
        left[kernel] = run.hits[-1, 2]
    assert left == {"6.1": 7, "6.19": 0}


def test_haltpoll_learns_to_poll():
    """A halt that ends early doubles the limit, 50 us at least and 200 us at most; a long one halves it."""
    table = cpuidle.IdleTable(
        ["poll", "halt"], exit_latency_us=[0, 1], target_residency_us=[0, 1], polling=[1, 0]
    )
    idle = {"kernel": "6.1", "governor": "haltpoll", "poll_time_limit": True}
    wake = [60_000, 60_000, 120_000, 120_000, 150_000, 150_000, 10**6, 10**6, 10**6]
    run = cpuidle.run(table, measured_ns=wake, **idle)
    assert run.selected.tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert run.poll_limit_ns.tolist() == [
        0,
        50_000,
        50_000,
        100_000,
        100_000,
        200_000,
        200_000,
        100_000,
        100_000,
    ]
    assert run.stop_tick.tolist() == [bool(selected) for selected in run.selected]
    polled = cpuidle.run(table, measured_ns=wake, **idle | {"poll_time_limit": False})
    assert polled.selected.tolist() == [1] + [0] * 8


def test_ladder_of_4_7_has_32_bits():
    """An exit latency near 2^32 us turns a short stay into a small number there, into a huge one in 6.1."""
    table = cpuidle.IdleTable(["a", "b"], exit_latency_us=[2**32 - 1, 1], target_residency_us=[1, 1])
    last = {
        kernel: int(cpuidle.run(table, kernel=kernel, governor="ladder", measured_ns=[5000] * 6).selected[-1])
        for kernel in KERNELS
    }
    assert last == {"4.7": 0, "6.1": 1, "6.19": 1}


def test_ladder_leaves_a_state_that_was_switched_off():
    table = cpuidle.IdleTable.load("juno")
    for kernel in KERNELS:
        idle = {"kernel": kernel, "governor": "ladder", "measured_ns": [3_300_000]}
        state = cpuidle.initial_state(table, kernel=kernel, governor="ladder", last_state_idx=2)
        state[state.dtype.names[1]] = 10**9
        assert cpuidle.run(table, state=state, **idle).selected.tolist() == [2]
        assert cpuidle.run(table, state=state, disabled=[False, False, True], **idle).selected.tolist() == [1]


def test_ladder_counts_anew_in_each_state():
    table = cpuidle.IdleTable.load("juno")
    state = cpuidle.initial_state(table, kernel="4.7", governor="ladder", promotion_count=3)
    run = cpuidle.run(table, kernel="4.7", governor="ladder", state=state, measured_ns=[10**7] * 7)
    assert run.selected.tolist() == [1, 1, 1, 1, 2, 2, 2]


def test_half_of_the_intercepts_is_not_more_than_half_in_teo_6_19():
    table = cpuidle.IdleTable.load("juno")
    idle = {"kernel": "6.19", "governor": "teo", "hz": 250, "sleep_ns": [10**8]}
    for intercepts, selected in (([1000, 1000], 0), ([999, 1001], 1)):
        state = cpuidle.initial_state(
            table, kernel="6.19", governor="teo", intercepts=intercepts + [0] * 8, total=2000
        )
        assert cpuidle.run(table, state=state, **idle).selected.tolist() == [selected]


def test_two_thirds_of_the_wake_ups_by_the_tick_are_not_more_in_teo_6_19():
    table = cpuidle.IdleTable.load("juno")
    for before, deepest in ((585, 0), (584, 1024)):
        state = cpuidle.initial_state(
            table, kernel="6.19", governor="teo", hits=[before] + [0] * 9, last_state_idx=0, tick_wakeup=1
        )
        run = cpuidle.run(
            table, kernel="6.19", governor="teo", hz=250, sleep_ns=[0], state=state, fields=("hits",)
        )
        two_thirds_are = 2 * (before - before // 8 + 1024) == 1024 * 3
        assert two_thirds_are == (deepest == 0)
        assert run.hits[0, 2] == deepest


def test_polling_gives_way_to_a_state_that_wakes_within_the_prediction_in_6_19():
    for latency, selected in ((10, 1), (11, 0)):
        table = cpuidle.IdleTable(
            ["POLL", "C1"], exit_latency_us=[0, latency], target_residency_us=[0, 14], polling=[1, 0]
        )
        state = cpuidle.initial_state(table, kernel="6.19", intervals=10)
        run = cpuidle.run(table, kernel="6.19", hz=250, sleep_ns=[10**6], delta_tick_ns=10**6, state=state)
        assert run.selected.tolist() == [selected]
