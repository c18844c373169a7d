# SPDX-License-Identifier: GPL-2.0-only
"""What `cpuidle.run` takes, what it refuses and how it says so; and what it does to arrays of any kind."""

import signal
import threading
import time

import numpy as np
import pytest

from schedpy import cpuidle

SKL = cpuidle.IdleTable.load("intel_skl")
JUNO = cpuidle.IdleTable.load("juno")
WFI = cpuidle.IdleTable(["WFI"], exit_latency_us=[1], target_residency_us=[1])
#: One good call of each form.
GOOD = {
    "menu of 4.7": {"kernel": "4.7", "governor": "menu", "nr_iowaiters": 1, "cpu_load": 300},
    "menu of 6.1": {"kernel": "6.1", "governor": "menu", "hz": 250, "nr_iowaiters": 1},
    "menu of 6.19": {"kernel": "6.19", "governor": "menu", "hz": 250},
    "teo of 6.1": {"kernel": "6.1", "governor": "teo", "hz": 250},
    "teo of 6.19": {"kernel": "6.19", "governor": "teo", "hz": 250},
    "ladder of 4.7": {"kernel": "4.7", "governor": "ladder"},
    "ladder of 6.1": {"kernel": "6.1", "governor": "ladder"},
    "haltpoll": {"kernel": "6.1", "governor": "haltpoll"},
}
each_form = pytest.mark.parametrize("good", GOOD.values(), ids=GOOD)


def idles(shape, seed=1):
    """Random idles of every magnitude, and whether a tick came."""
    rng = np.random.default_rng(seed)
    sleep = np.exp(rng.uniform(np.log(1e3), np.log(1e8), shape)).astype(np.int64)
    wake = np.minimum(sleep, np.exp(rng.uniform(np.log(1e3), np.log(1e8), shape)).astype(np.int64))
    flags = rng.integers(0, 2, (3, *np.atleast_1d(shape)), dtype=bool)
    return {"sleep_ns": sleep, "wake_ns": wake}, dict(
        zip(("tick_stopped", "got_tick", "poll_time_limit"), flags, strict=True)
    )


def given_to(good, shape, seed=1):
    lengths, flags = idles(shape, seed)
    if good["governor"] == "haltpoll":
        flags = {"poll_time_limit": flags["poll_time_limit"]}
    elif "hz" not in good:
        flags = {}
    return {**good, **lengths, **flags}


def same(ours, theirs):
    assert ours.history.keys() == theirs.history.keys()
    for name, column in theirs.history.items():
        np.testing.assert_array_equal(ours.history[name], column, err_msg=name)
    np.testing.assert_array_equal(ours.state, theirs.state)


@each_form
def test_streams_are_independent(good):
    given = given_to(good, (3, 2, 700))
    whole = cpuidle.run(SKL, **given)
    for at in np.ndindex(3, 2):
        part = {name: value[at] if isinstance(value, np.ndarray) else value for name, value in given.items()}
        single = cpuidle.run(SKL, **part)
        for name, column in single.history.items():
            np.testing.assert_array_equal(column, whole.history[name][at], err_msg=name)
        assert single.state == whole.state[at]


@each_form
def test_any_strides_order_and_type(good):
    given = given_to(good, (4, 600))
    expected = cpuidle.run(SKL, **given)
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    for change in (
        np.asfortranarray,
        lambda a: np.repeat(a, 3, axis=1)[:, ::3],
        lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
        lambda a: a.astype(a.dtype.newbyteorder(">")),
        lambda a: a.tolist(),
        lambda a: a.astype(object),
        misaligned,
    ):
        same(cpuidle.run(SKL, **{**given, **{name: change(a) for name, a in arrays.items()}}), expected)


def misaligned(a):
    memory = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(a.dtype).reshape(a.shape)
    memory[...] = a
    return memory


@each_form
def test_broadcasting_is_what_copies_would_be(good):
    given = given_to(good, (4, 600))
    given["sleep_ns"] = given["sleep_ns"][:1]
    given["wake_ns"] = given["wake_ns"][:, :1]
    full = {
        name: np.broadcast_to(value, (4, 600)).copy() if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    same(cpuidle.run(SKL, **given), cpuidle.run(SKL, **full))


@each_form
def test_threads_change_nothing(good):
    given = given_to(good, (2, 13, 300))
    same(cpuidle.run(SKL, threads=3, **given), cpuidle.run(SKL, **given))


@each_form
def test_input_is_not_modified(good):
    given = given_to(good, (2, 50))
    state = cpuidle.initial_state(SKL, 2, kernel=good["kernel"], governor=good["governor"])
    before = {name: np.copy(value) for name, value in given.items() if isinstance(value, np.ndarray)}
    kept = state.copy()
    for value in (*given.values(), state):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    run = cpuidle.run(SKL, state=state, **given)
    for name, value in before.items():
        np.testing.assert_array_equal(given[name], value)
    np.testing.assert_array_equal(state, kept)
    assert (run.state != kept).any()


@each_form
def test_nothing_to_do(good):
    for shape in ((0,), (3, 0), (0, 5)):
        run = cpuidle.run(SKL, **given_to(good, shape))
        assert run.selected.shape == shape
        assert run.state.shape == shape[:-1]


@each_form
def test_a_state_in_another_order_of_fields(good):
    given = given_to(good, (50,))
    state = cpuidle.run(SKL, **given).state
    fields = [(name, state.dtype[name]) for name in reversed(state.dtype.names)]
    turned = np.zeros((), fields)
    for name in state.dtype.names:
        turned[name] = state[name]
    again = given_to(good, (50,), seed=2)
    same(cpuidle.run(SKL, state=turned, **again), cpuidle.run(SKL, state=state, **again))


@each_form
def test_every_field_can_be_asked_for_alone(good):
    given = given_to(good, (200,))
    whole = cpuidle.run(SKL, **given)
    for name in whole.history:
        run = cpuidle.run(SKL, fields=(name,), **given)
        assert list(run.history) == [name]
        np.testing.assert_array_equal(getattr(run, name), whole.history[name])
    assert set(whole.history) <= set(dir(whole))
    with pytest.raises(AttributeError, match="load_avg"):
        whole.load_avg  # noqa: B018


def test_the_timer_wakes_unless_something_else_does():
    sleep = idles((300,))[0]["sleep_ns"]
    same(
        cpuidle.run(SKL, kernel="4.7", sleep_ns=sleep),
        cpuidle.run(SKL, kernel="4.7", sleep_ns=sleep, wake_ns=sleep),
    )


def test_measured_is_the_wake_up_and_the_exit_latency():
    given = given_to(GOOD["menu of 4.7"], (300,))
    closed = cpuidle.run(SKL, **given)
    latency = SKL.exit_latency_us.astype(np.int64)[closed.selected] * 1000
    np.testing.assert_array_equal(closed.measured_ns, given.pop("wake_ns") + latency)
    same(cpuidle.run(SKL, measured_ns=closed.measured_ns, **given), closed)


def test_the_time_to_the_tick_if_none_is_given():
    given = given_to(GOOD["menu of 6.1"], (2000,))
    sleep, stopped = given["sleep_ns"], given["tick_stopped"]
    delta = np.where(stopped, sleep, np.minimum(sleep, 4_000_000))
    same(cpuidle.run(SKL, **given), cpuidle.run(SKL, delta_tick_ns=delta, **given))
    del given["tick_stopped"]
    run = cpuidle.run(SKL, **given)
    same(run, cpuidle.run(SKL, delta_tick_ns=np.minimum(sleep, 4_000_000), **given))


def test_times_as_timedelta():
    sleep = np.array([4_000_000, 5], "m8[ns]")
    run = cpuidle.run(JUNO, kernel="4.7", sleep_ns=sleep, wake_ns=sleep)
    same(run, cpuidle.run(JUNO, kernel="4.7", sleep_ns=[4_000_000, 5]))


def test_disabled_states_of_each_stream():
    given = given_to(GOOD["menu of 4.7"], (3, 400))
    off = np.zeros((3, 1, len(SKL)), bool)[:, 0]
    off[1, 4:] = True
    off[2] = True
    run = cpuidle.run(SKL, disabled=off, **given)
    assert run.selected[0].max() == len(SKL) - 1
    assert run.selected[1].max() == 3
    assert run.selected[2].max() == 0


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"table": "juno"}, TypeError, "table is str: must be an IdleTable"),
        ({"governor": "ondemand"}, ValueError, "governor = 'ondemand'"),
        ({"kernel": "5.4"}, ValueError, r"cpuidle.menu is not proven for it; .*below: 4.7 and above: 6.1"),
        ({"kernel": "4.7.0"}, ValueError, r"proven for 4\.7\.4 alone"),
        ({"kernel": "6.1.0"}, ValueError, r"proven for 6\.1\.192 alone"),
        ({"kernel": 4.7}, TypeError, "kernel = 4.7"),
        ({"sleep_ns": None}, TypeError, "sleep_ns is missing"),
        ({"sleep_ns": [1.5]}, TypeError, r"sleep_ns\[0\] = 1.5.*seconds"),
        ({"sleep_ns": [1, 2**63]}, ValueError, r"sleep_ns\[1\] = 9223372036854775808"),
        ({"sleep_ns": 5}, ValueError, "sleep_ns, wake_ns or measured_ns must have an axis of time"),
        ({"wake_ns": [1, 2], "measured_ns": [1, 2]}, ValueError, "wake_ns and measured_ns are both given"),
        ({"wake_ns": [1, 2, 3]}, ValueError, r"do not broadcast: sleep_ns \(2,\), wake_ns \(3,\)"),
        ({"measured_ns": ["a", "b"]}, TypeError, "measured_ns"),
        ({"latency_us": -1}, ValueError, "latency_us = -1: must be 0 .. 2147483647"),
        ({"latency_us": [1, 2**31]}, ValueError, r"latency_us\[1\]"),
        ({"residency": "ns"}, ValueError, "4.7 has microseconds"),
        ({"residency": "shift"}, ValueError, "residency = 'shift'"),
        ({"nr_iowaiters": 10**8 + 1}, ValueError, "nr_iowaiters = 100000001"),
        ({"cpu_load": -1}, ValueError, "cpu_load = -1"),
        ({"hz": 250}, ValueError, "hz: the menu governor of 4.7 does not look at it"),
        ({"delta_tick_ns": [1, 2]}, ValueError, "delta_tick_ns: the menu governor of 4.7"),
        ({"tick_stopped": False}, ValueError, "tick_stopped: the menu governor of 4.7"),
        ({"got_tick": False}, ValueError, "got_tick: the menu governor of 4.7"),
        ({"poll_time_limit": False}, ValueError, "poll_time_limit: the menu governor of 4.7"),
        ({"kernel": "6.1"}, TypeError, "hz is missing"),
        ({"kernel": "6.1", "hz": 11}, ValueError, "hz = 11: must be 12 .. 12287"),
        ({"kernel": "6.1", "hz": 250, "cpu_load": 1}, ValueError, "cpu_load: the menu governor of 6.1"),
        ({"kernel": "6.19", "hz": 250, "nr_iowaiters": 1}, ValueError, "nr_iowaiters: the menu governor"),
        ({"kernel": "6.1", "hz": 250, "got_tick": [0, 2]}, ValueError, r"got_tick\[1\] = 2"),
        (
            {"kernel": "6.1", "hz": 250, "tick_stopped": [True] * 3},
            ValueError,
            r"do not broadcast: sleep_ns \(2,\), .*tick_stopped \(3,\)",
        ),
        ({"disabled": True}, ValueError, r"disabled has shape \(\): must be \(..., 3\)"),
        ({"disabled": [True, False]}, ValueError, r"disabled has shape \(2,\)"),
        ({"disabled": ["WFI"]}, TypeError, "disabled"),
        ({"disabled": np.zeros((2, 3), bool), "sleep_ns": np.ones((3, 4), int)}, ValueError, "disabled"),
        ({"fields": "selected"}, TypeError, r"fields = 'selected': must be a tuple"),
        ({"fields": ("stop_tick",)}, ValueError, r"fields\[0\] = 'stop_tick'"),
        ({"threads": 0}, ValueError, "threads = 0"),
        ({"governor": "teo"}, ValueError, "cpuidle.teo is not proven for it; proven nearest above: 6.1"),
        ({"governor": "ladder", "nr_iowaiters": 1}, ValueError, "nr_iowaiters: the ladder governor of 4.7"),
        ({"governor": "ladder", "sleep_ns": None}, TypeError, "sleep_ns is missing"),
        ({"governor": "haltpoll", "kernel": "6.1", "hz": 250}, ValueError, "hz: the haltpoll governor"),
        (
            {"governor": "haltpoll", "kernel": "6.1", "disabled": [0, 0, 0]},
            ValueError,
            "disabled: the haltpoll",
        ),
        ({"governor": "haltpoll", "kernel": "6.1", "table": WFI}, ValueError, "table has one state"),
        ({"governor": "teo", "kernel": "6.1"}, TypeError, "hz is missing: teo compares"),
        ({"state": 3}, TypeError, "state must be one of menu of v4.7"),
        (
            {"state": cpuidle.initial_state(JUNO, kernel="6.1")},
            TypeError,
            "state must be one of menu of v4.7",
        ),
        (
            {"state": cpuidle.initial_state(JUNO, 2, kernel="4.7"), "sleep_ns": np.ones((3, 4), int)},
            ValueError,
            r"do not broadcast: .*state \(2, 1\)",
        ),
    ],
)
def test_refused(wrong, error, says):
    with pytest.raises(error, match=says):
        cpuidle.run(**{"table": JUNO, "kernel": "4.7", "sleep_ns": [1, 2], **wrong})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("governor", "kernel", "field", "value"),
    [
        ("menu", "4.7", "needs_update", 2),
        ("menu", "4.7", "last_state_idx", 3),
        ("menu", "4.7", "last_state_idx", -1),
        ("menu", "4.7", "next_timer_us", 2**32),
        ("menu", "4.7", "bucket", 12),
        ("menu", "4.7", "interval_ptr", 8),
        ("menu", "4.7", "correction_factor", 2**32),
        ("menu", "4.7", "intervals", 2**32),
        ("menu", "6.1", "next_timer_ns", 2**63),
        ("menu", "6.1", "tick_wakeup", 2),
        ("menu", "6.1", "poll_time_limit", 2),
        ("menu", "6.19", "bucket", 6),
        ("teo", "6.1", "last_state_idx", 3),
        ("teo", "6.1", "last_state_idx", -2),
        ("teo", "6.1", "next_recent_idx", 9),
        ("teo", "6.1", "recent_idx", 3),
        ("teo", "6.1", "recent_idx", -2),
        ("teo", "6.1", "recent", 1),
        ("teo", "6.1", "hits", 2**24 + 1),
        ("teo", "6.1", "intercepts", 2**24 + 1),
        ("teo", "6.1", "total", 2**32),
        ("teo", "6.19", "last_state_idx", 3),
        ("teo", "6.19", "last_state_idx", -2),
        ("teo", "6.19", "tick_wakeup", 2),
        ("teo", "6.19", "poll_time_limit", 2),
        ("teo", "6.19", "short_idles", 2**24 + 1),
        ("teo", "6.19", "tick_intercepts", 2**24 + 1),
        ("teo", "6.19", "total_tick", 2**24 + 1),
        ("teo", "6.19", "hits", 2**24 + 1),
        ("teo", "6.19", "intercepts", 2**24 + 1),
        ("teo", "6.19", "total", 2**32),
        ("ladder", "4.7", "last_state_idx", 3),
        ("ladder", "6.1", "last_state_idx", -1),
        ("ladder", "6.1", "promotion_count", 4),
        ("haltpoll", "6.1", "last_state_idx", 2),
        ("haltpoll", "6.1", "last_state_idx", -1),
        ("haltpoll", "6.1", "poll_limit_ns", 200_001),
        ("haltpoll", "6.1", "poll_time_limit", 2),
    ],
)
def test_states_that_no_governor_is_in(governor, kernel, field, value, threads):
    how = {"kernel": kernel, "governor": governor}
    state = cpuidle.initial_state(JUNO, 5, **how)
    state[field][3] = value
    if governor in ("menu", "teo") and kernel != "4.7":
        how["hz"] = 250
    with pytest.raises(ValueError, match=rf"state\['{field}'\] of stream 3 .* 3 states"):
        cpuidle.run(JUNO, sleep_ns=np.ones((5, 4), int), state=state, threads=threads, **how)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"table": "juno"}, TypeError, "table is str"),
        ({"shape": -1}, ValueError, "shape"),
        ({"no_field": 1}, TypeError, "no_field is no field of menu's state"),
        ({"bucket": -1}, ValueError, "bucket = -1"),
        ({"bucket": 0.5}, TypeError, "bucket"),
        ({"bucket": [1, 2], "shape": 3}, ValueError, r"do not broadcast: shape \(3,\), bucket \(2,\)"),
        ({"intervals": [1, 2]}, ValueError, "intervals"),
    ],
)
def test_states_refused_at_once(arguments, error, says):
    with pytest.raises(error, match=says):
        cpuidle.initial_state(**{"table": JUNO, "kernel": "4.7", **arguments})


def test_states_of_given_fields():
    state = cpuidle.initial_state(JUNO, (2, 1), kernel="4.7", bucket=[1, 2, 3], intervals=range(8))
    assert state.shape == (2, 3)
    assert state["bucket"].tolist() == [[1, 2, 3]] * 2
    assert state["intervals"][1, 2].tolist() == list(range(8))
    assert state["correction_factor"][0, 0].tolist() == [8192] * 12


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"intervals": 5}, ValueError, r"intervals has shape \(\): must be \(..., 8\)"),
        ({"intervals": [1] * 7}, ValueError, r"intervals has shape \(7,\)"),
        ({"intervals": [1] * 7 + [2**32]}, ValueError, r"intervals\[7\] = 4294967296"),
        ({"predicted_us": 4}, ValueError, "predicted_us: 4.7 does not look at it"),
        (
            {"kernel": "6.1", "predicted_us": [1, 2], "intervals": np.ones((3, 8), int)},
            ValueError,
            "broadcast",
        ),
    ],
)
def test_typical_intervals_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        cpuidle.get_typical_interval(**{"intervals": [1] * 8, "kernel": "4.7", **arguments})


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_long_run(threads):
    """One idle read 2^32 times: minutes, in little memory."""
    sleep = np.broadcast_to(np.array([4_000_000]), (1 << 11, 1 << 21))
    begin = time.monotonic()
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            cpuidle.run(JUNO, kernel="4.7", sleep_ns=sleep, fields=(), threads=threads)
    finally:
        timer.cancel()
    assert time.monotonic() - begin < 20
