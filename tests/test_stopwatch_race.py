# SPDX-License-Identifier: GPL-2.0-only
"""Several CPUs read one clock at once; every thread's calls are counted, and no race outlives its end."""

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest

from schedpy import _core, stopwatch
from schedpy.stopwatch import histogram

ALLOWED = sorted(os.sched_getaffinity(0))
EMPTY = next(row for row, name, *_ in _core.stopwatch_clocks() if name == "empty call")
several = pytest.mark.skipif(len(ALLOWED) < 2, reason="a race needs two CPUs")


def gate(racers):
    return np.array([racers, 0, 0], dtype=np.uint64)


# ---- where threads meet


@several
@pytest.mark.parametrize("mode", [_core.stopwatch_batch, _core.stopwatch_single])
def test_nobody_times_before_all_have_come(mode):
    shared, done = gate(2), []
    first = threading.Thread(target=lambda: done.append(mode(EMPTY, 0, 10, shared)))
    first.start()
    try:
        time.sleep(0.05)
        assert not done
        assert shared.tolist() == [2, 1, 0]
        mode(EMPTY, 0, 10, shared)
    finally:
        shared[2] = 1
        first.join()
    assert len(done) == 1
    assert shared[1] == 4


def test_a_race_called_off_holds_nobody():
    shared = gate(2)
    racer = threading.Thread(target=_core.stopwatch_batch, args=(EMPTY, 0, 10, shared))
    racer.start()
    shared[2] = 1
    racer.join(10)
    assert not racer.is_alive()


@pytest.mark.parametrize(
    "wrong",
    [
        3,
        [2, 0, 0],
        np.zeros(2, np.uint64),
        np.zeros(3, np.int64),
        np.zeros((1, 3), np.uint64),
        np.zeros(6, np.uint64)[::2],
        np.zeros(3, ">u8"),
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", [_core.stopwatch_batch, _core.stopwatch_single])
def test_other_gates_are_refused(mode, wrong):
    with pytest.raises(TypeError, match="gate"):
        mode(EMPTY, 0, 1, wrong)


def test_a_gate_must_be_writable():
    shared = gate(1)
    shared.flags.writeable = False
    with pytest.raises(TypeError, match="gate"):
        _core.stopwatch_batch(EMPTY, 0, 1, shared)


def test_a_callable_never_waits_with_the_lock_of_the_interpreter():
    with pytest.raises(ValueError, match="a callable reads alone"):
        _core.stopwatch_batch(lambda: 0, 0, 1, gate(1))


# ---- read_cost


@several
@pytest.mark.parametrize("pinned", [True, False])
def test_every_thread_is_counted(pinned):
    cpus = ALLOWED[:2][::-1]
    cost = stopwatch.read_cost(["CLOCK_TAI", "empty call"], 3, 50, cpus=cpus, pinned=pinned, progress=False)
    assert (cost.cpus, cost.pinned, len(cost.threads)) == (tuple(cpus), pinned, 2)
    for index, together in enumerate(cost.clocks):
        each = [one[index] for one in cost.threads]
        assert {clock.name for clock in each} == {together.name}
        assert [clock.counts.sum() for clock in each] == [150, 150]
        assert together.round_ticks.tolist() == [t for clock in each for t in clock.round_ticks.tolist()]
        calls = [np.repeat(clock.ticks, clock.counts) for clock in each]
        assert np.repeat(together.ticks, together.counts).tolist() == sorted(np.concatenate(calls))
    assert sorted(os.sched_getaffinity(0)) == ALLOWED
    assert "at once" in repr(cost)
    assert ("not pinned" in repr(cost)) is not pinned


@several
def test_each_racer_is_on_its_cpu(monkeypatch):
    seen = {}
    real = _core.stopwatch_batch

    def batch(*arguments):
        seen[threading.get_ident()] = os.sched_getaffinity(0)
        return real(*arguments)

    monkeypatch.setattr(_core, "stopwatch_batch", batch)
    stopwatch.read_cost("empty call", 2, 10, cpus=ALLOWED[:2], progress=False)
    assert sorted(map(sorted, seen.values())) == [[cpu] for cpu in ALLOWED[:2]]


def test_not_pinned_may_run_anywhere(monkeypatch):
    seen = []
    monkeypatch.setattr(_core, "stopwatch_batch", lambda *_: seen.append(os.sched_getaffinity(0)) or 1)
    cost = stopwatch.read_cost("empty call", 2, 10, pinned=False, progress=False)
    assert cost.cpus == tuple(ALLOWED)
    assert all(sorted(cpus) == ALLOWED for cpus in seen)
    assert len(cost.threads) == 1
    assert "not pinned, on any of CPU" in repr(cost)


@several
def test_clocks_of_python_do_not_race():
    cost = stopwatch.read_cost(None, 2, 10, cpus=ALLOWED[:2], progress=False)
    assert [clock.name for clock in cost.clocks] == [
        clock.name for clock in stopwatch.clocks() if clock.kind != "Python"
    ]
    with pytest.raises(ValueError, match=r"clocks: 'time\.time' cannot race"):
        stopwatch.read_cost(["empty call", "time.time"], cpus=ALLOWED[:2])


@several
def test_one_racer_that_fails_ends_the_race(monkeypatch):
    real, main = _core.stopwatch_single, []

    def single(*arguments):
        if not main:
            main.append(1)
            raise MemoryError("no room")
        return real(*arguments)

    monkeypatch.setattr(_core, "stopwatch_single", single)
    with pytest.raises(MemoryError, match="no room"):
        stopwatch.read_cost("empty call", 1000, 10, cpus=ALLOWED[:2], progress=False)
    assert sorted(os.sched_getaffinity(0)) == ALLOWED


@several
def test_ctrl_c_ends_the_race():
    threads = threading.active_count()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        stopwatch.read_cost("empty call", 10**5, 1000, cpus=ALLOWED[:2], progress=False)
    timer.join()
    assert threading.active_count() == threads
    assert sorted(os.sched_getaffinity(0)) == ALLOWED


@pytest.mark.parametrize("cpus", [None, pytest.param(ALLOWED[:2], marks=several)])
def test_time_that_is_up_ends_the_rounds_for_all(cpus):
    begin = time.monotonic()
    cost = stopwatch.read_cost("empty call", 10**5, 100, cpus=cpus, seconds=0.2, progress=False)
    assert 0.2 < time.monotonic() - begin < 20
    assert 2 <= cost.rounds < 10**5
    for one in cost.threads:
        assert one[0].round_ticks.shape == (cost.rounds,)
        assert one[0].counts.sum() == cost.rounds * 100
    assert stopwatch.read_cost("empty call", 3, 1, cpus=cpus, seconds=1e-9, progress=False).rounds == 2
    assert stopwatch.read_cost("empty call", 3, 1, cpus=cpus, seconds=60, progress=False).rounds == 3


# ---- the histogram


COUNTER = stopwatch.Counter("tsc", 2.6e9, 26, 0.99, 52)


def test_bins_are_steps_of_the_counter():
    """A tick beside a multiple of the step belongs to it, below zero too."""
    raw = np.array([25, 26, 51, 52, 53, 65, 130])
    counts = np.array([1, 2, 3, 4, 5, 6, 7])
    found = histogram.by_step("rdtsc", COUNTER, raw - 52, counts)
    assert found.step.tolist() == [1, 2, 3, 5]
    assert found.counts.tolist() == [3, 12, 6, 7]
    assert found.ns == pytest.approx([-10, 0, 10, 30])


@pytest.mark.parametrize("seed", range(5))
def test_no_call_is_lost_between_the_lines(seed):
    rng = np.random.default_rng(seed)
    raw, counts = np.unique((rng.pareto(0.4, 5000) * 60).astype(np.int64) % 10**9, return_counts=True)
    text = str(histogram.by_step("rdtsc", COUNTER, raw - 52, counts)).splitlines()
    assert "in steps of 26 ticks (10.00 ns)" in text[0]
    cells = [line.split() for line in text[2:]]
    assert sum(int(cell[2]) for cell in cells) == 5000
    assert len(cells) <= 60
    limits = [(float(cell[0]), float(cell[1])) for cell in cells]
    assert all(one[1] <= next_one[0] for one, next_one in itertools.pairwise(limits))
    assert max(line.count("#") for line in text) == 40


def test_the_histogram_of_a_measurement_holds_every_call():
    cost = stopwatch.read_cost("CLOCK_MONOTONIC", 2, 500, progress=False)
    found = cost.histogram("CLOCK_MONOTONIC")
    assert found.counts.sum() == 1000
    with pytest.raises(KeyError, match="CLOCK_TAI"):
        cost.histogram("CLOCK_TAI")


def test_one_cost_alone_makes_one_line():
    text = str(histogram.by_step("x", COUNTER, np.array([0]), np.array([9])))
    assert text.splitlines()[-1].split()[:3] == ["-5.0", "5.0", "9"]
