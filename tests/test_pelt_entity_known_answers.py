# SPDX-License-Identifier: GPL-2.0-only
"""Around the update, PELT gives what the kernel's own functions gave: every row and column."""

import numpy as np
import pytest
from golden import load, select

from schedpy import pelt

UTIL_EST = {
    "U417": ("4.17", "4.19", "5.0"),
    "U51": ("5.1", "5.4"),
    "U55": ("5.5", "5.8", "5.12"),
    "U513": ("5.13", "5.15", "6.1", "6.7"),
    "U68": ("6.8", "6.18"),
    "U619": ("6.19",),
}
ATTACH = {
    "A410": ("4.10", "4.14"),
    "A415": ("4.15", "5.0"),
    "A51": ("5.1", "5.6"),
    "A57": ("5.7", "5.8", "5.16"),
    "A517": ("5.18", "6.1", "6.19"),
}
POST_INIT = {
    "I410_v4.10": ("4.10", "4.12"),
    "I413_v4.13": ("4.13", "4.14"),
    "I415_v4.15": ("4.15", "5.6"),
    "I57_v5.8": ("5.7", "5.8", "6.0"),
    "I61_v6.1": ("6.1", "6.7"),
    "I68_v6.8": ("6.8", "6.9"),
    "I612_v6.12": ("6.10", "6.12", "6.19"),
}
CLOCK_PELT = {"C51": ("5.1", "5.4", "5.18"), "C612": ("6.0", "6.12", "6.19")}
SHORT = {"last_update_time": "lut", "period_contrib": "pc"}


def cases(forms):
    return [(form, kernel) for form, kernels in forms.items() for kernel in kernels]


def assert_equal(got, want, what):
    wrong = np.flatnonzero(np.asarray(got) != want)
    assert wrong.size == 0, (
        f"{what}: {wrong.size} differ, first {wrong[0]}: {got.flat[wrong[0]]}, not {want[wrong[0]]}"
    )


def by_step(rows):
    """The rows of each step, all sequences side by side."""
    sequences = np.unique(rows["seq"]).size
    for step in range(int(rows["step"].max()) + 1):
        at = select(rows, step=step)
        assert at["seq"].tolist() == list(range(sequences))
        yield at


@pytest.mark.parametrize(("era", "kernel"), cases(UTIL_EST))
def test_util_est(era, kernel):
    rows = select(load("pelt/util_est"), era=era)
    state, seen = pelt.initial_util_est(24), 0
    for step in by_step(rows):
        got = pelt.util_est(
            state,
            kernel=kernel,
            util_enqueue=step["util_at_enqueue"],
            util_dequeue=step["util_at_dequeue"],
            runnable_avg=step["runnable_avg"],
            util_changed=step["util_changed"],
            task_sleep=step["task_sleep"],
            capacity=step["cpu_capacity"],
        )
        state = got.state
        columns = {name: state[name] for name in ("task_enqueued_raw", "task_ewma")}
        columns["cfs_enqueued_between"] = got.cfs_enqueued_between
        columns["cfs_enqueued_after"] = got.cfs_enqueued_after
        columns["task_util_est_at_enqueue"] = got.task_util_est_at_enqueue
        columns["task_util_est_after"] = got.task_util_est_after
        for name, column in columns.items():
            assert_equal(column, step[name], f"{era} on {kernel}, step {step['step'][0]}, {name}")
        assert_equal(state["cfs_enqueued"], step["cfs_enqueued_after"], "the state's word")
        seen += step["seq"].size
    assert seen == 24 * 80
    assert load("pelt/util_est")["seq"].size == 24 * 80 * len(UTIL_EST) == 11520


def avg_of(rows, prefix):
    return pelt.initial_state(**{f: rows[f"{prefix}_{SHORT.get(f, f)}"] for f in pelt.STATE.names})


@pytest.mark.parametrize("operation", ["attach", "detach"])
@pytest.mark.parametrize(("era", "kernel"), cases(ATTACH))
def test_attach_and_detach(era, kernel, operation):
    rows = select(load("pelt/attach_detach"), era=era, op=operation)
    assert rows["case"].tolist() == list(range(600))
    se, cfs = getattr(pelt, operation)(
        avg_of(rows, "se_in"), avg_of(rows, "cfs_in"), kernel=kernel, weight=rows["weight"]
    )
    for prefix, got in (("se_out", se), ("cfs_out", cfs)):
        want = avg_of(rows, prefix)
        for field in pelt.STATE.names:
            assert_equal(got[field], want[field], f"{era} on {kernel}, {operation}, {prefix} {field}")
    assert load("pelt/attach_detach")["case"].size == 600 * 2 * len(ATTACH) == 6000


@pytest.mark.parametrize(("column", "kernel"), cases(POST_INIT))
def test_post_init_entity_util_avg(column, kernel):
    rows = load("pelt/init_util")
    got = pelt.post_init_entity_util_avg(
        kernel=kernel,
        cfs_util_avg=rows["cfs_util_avg"],
        cfs_load_avg=rows["cfs_load_avg"],
        capacity=rows["cpu_capacity"],
        se_load_weight_raw=rows["se_load_weight_raw"],
    )
    assert_equal(got, rows[column], f"{column} on {kernel}")
    assert got.size == 400
    assert set(rows) == {
        "cfs_util_avg",
        "cfs_load_avg",
        "cpu_capacity",
        "se_load_weight_raw",
        *POST_INIT,
    }


@pytest.mark.parametrize(("era", "kernel"), cases(CLOCK_PELT))
def test_clock_pelt(era, kernel):
    rows = select(load("pelt/clock_pelt"), era=era)
    state, seen = pelt.initial_clock_pelt(12, clock_task=10**9, clock_pelt=10**9), 0
    for step in by_step(rows):
        state = pelt.clock_pelt(
            state,
            step["delta_ns"],
            kernel=kernel,
            curr_is_idle=step["curr_is_idle"],
            entering_idle=step["entering_idle"],
            util_sum=step["util_sum"],
            cpu_scale=step["scale_cpu"],
            freq_scale=step["scale_freq"],
        )
        what = f"{era} on {kernel}, step {step['step'][0]}"
        for name in pelt.CLOCK_PELT_STATE.names:
            assert_equal(state[name], step[name], f"{what}, {name}")
        assert_equal(pelt.rq_clock_pelt(state), step["rq_clock_pelt"], f"{what}, rq_clock_pelt")
        seen += step["seq"].size
    assert seen == 12 * 100
    assert load("pelt/clock_pelt")["seq"].size == 12 * 100 * len(CLOCK_PELT) == 2400


def test_nice_weights():
    rows = load("pelt/nice_weights")
    assert rows["nice"].tolist() == list(range(-20, 20))
    assert_equal(pelt.nice_to_weight(rows["nice"]), rows["weight"], "weight")
    assert_equal(pelt.nice_to_wmult(rows["nice"]), rows["wmult"], "wmult")
    assert set(rows) == {"nice", "weight", "wmult"}


# What went wrong once, with the input that shows it.


def test_an_average_without_a_sum_after_attach():
    """A heavy task whose load has all but decayed (40f5aa4c5eae)."""
    se = pelt.initial_state(load_avg=1)
    cfs = pelt.initial_state(period_contrib=1023)
    sums = {k: pelt.attach(se, cfs, kernel=k, weight=88761)[0]["load_sum"] for k in ("5.7", "5.16", "5.18")}
    assert sums == {"5.7": 0, "5.16": 0, "5.18": 1}


def test_detach_cuts_a_load_sum_to_32_bits():
    """Two tasks of nice -20 stay, one of nice 0 leaves (089d84203ad4 widened the type after 6.19)."""
    cfs = pelt.initial_state(load_sum=2 * 88761 * 47741 + 1024 * 47741, load_avg=2 * 88761 + 1024)
    se = pelt.initial_state(load_sum=47741, load_avg=1024)
    left = [int(pelt.detach(se, cfs, kernel=k, weight=1024)[1]["load_sum"]) for k in ("5.16", "5.18", "6.19")]
    assert left == [8475077802, 4180110506, 4180110506]


def test_detach_loses_what_rounding_took_until_5_16():
    """Of a sum just below what its average stands for, less than that is left (98b0d890220d)."""
    cfs = pelt.initial_state(util_sum=200 * 46718, util_avg=200)
    se = pelt.initial_state(util_sum=101 * 46718 - 1, util_avg=100)
    left = [int(pelt.detach(se, cfs, kernel=k, weight=1024)[1]["util_sum"]) for k in ("5.16", "5.18")]
    assert left == [99 * 46718 + 1, 100 * 46718]


def test_a_new_task_had_1024_times_its_share():
    """Nice 0, a run queue with utilisation 100 and load 1024 (72bffbf57c52)."""
    given = {"cfs_util_avg": 100, "cfs_load_avg": 1024, "capacity": 1024, "se_load_weight_raw": 1024 << 10}
    got = {k: pelt.post_init_entity_util_avg(kernel=k, **given) for k in ("4.15", "6.9", "6.10")}
    assert got == {"4.15": 462, "6.9": 462, "6.10": 99}


@pytest.mark.parametrize("kernel", ["5.1", "5.18", "6.0", "6.19"])
def test_idle_time_is_lost_from_this_sum_on(kernel):
    """(LOAD_AVG_MAX - 1024) << 10, less LOAD_AVG_MAX."""
    behind = pelt.initial_clock_pelt(clock_task=5000, clock_pelt=2000)
    after = pelt.clock_pelt(
        behind,
        0,
        kernel=kernel,
        curr_is_idle=False,
        entering_idle=True,
        util_sum=[47791489, 47791490],
        cpu_scale=1024,
        freq_scale=1024,
    )
    assert after["lost_idle_time"].tolist() == [0, 3000]


def test_small_shares_weighed_nothing_until_5_6():
    """Raw weights of 2 .. 1023 (26cf52229efc)."""
    raw = np.arange(2, 1024)
    assert not pelt.scale_load_down(raw, kernel="5.6").any()
    assert (pelt.scale_load_down(raw, kernel="5.7") == 2).all()
    for kernel in ("5.6", "5.7"):
        assert pelt.scale_load_down([0, 2048, 3071, 88761 << 10], kernel=kernel).tolist() == [0, 2, 2, 88761]
    assert pelt.scale_load_down(1024, kernel="5.6") == 1
    assert pelt.scale_load_down(1024, kernel="5.7") == 2


def stay(state, kernel, util, **given):
    options = {"util_enqueue": util, "runnable_avg": 0, "capacity": 1024, "util_changed": 1, "task_sleep": 1}
    return pelt.util_est(state, kernel=kernel, util_dequeue=util, **(options | given))


def test_a_flag_in_bit_0_made_every_estimate_odd():
    """An idle task is never estimated at 0 until 5.12; from 5.13 the flag is bit 31 (b89997aa88f0)."""
    between = {k: stay(pelt.initial_util_est(), k, 0).cfs_enqueued_between for k in ("4.17", "5.12", "5.13")}
    assert between == {"4.17": 1, "5.12": 1, "5.13": 0}
    assert stay(pelt.initial_util_est(), "5.12", 0).task_util_est_after == 1
    assert stay(pelt.initial_util_est(), "5.13", 0).task_util_est_after == 0
    assert stay(pelt.initial_util_est(), "5.12", 300).state["task_enqueued_raw"] == 301
    assert stay(pelt.initial_util_est(), "5.13", 300).state["task_enqueued_raw"] == 300 | 1 << 31


def test_the_flag_in_bit_0_moved_the_margin_by_one():
    """A utilisation of 290 is flagged as 291 and so within 9 of an average of 300 only until 5.12."""
    state = pelt.initial_util_est(task_ewma=300, task_enqueued_raw=[290, 290])
    assert stay(state, "5.12", 290).state["task_ewma"].tolist() == [300, 300]
    assert stay(state, "5.13", 290).state["task_ewma"].tolist() == [297, 297]


def test_a_last_value_stays_stale_within_the_margin_until_5_12():
    """The average is near 300, the last value of 600 is not: from 5.13 it is replaced."""
    state = pelt.initial_util_est(task_ewma=300, task_enqueued_raw=600)
    assert stay(state, "5.12", 294).task_util_est_after == 601
    assert stay(state, "5.13", 294).task_util_est_after == 300
