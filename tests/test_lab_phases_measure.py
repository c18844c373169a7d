# SPDX-License-Identifier: GPL-2.0-only
"""Placements timed on this machine: what runs, in which order, what is kept, and what equal arms show.

No figure of time is a limit here.
"""

import itertools
import os
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from test_lab_phases import ROWS, timing

from schedpy import eas, em
from schedpy.lab import phases, phases_gains
from schedpy.lab.timing import Timing


@pytest.fixture(scope="module")
def wakeups():
    return phases.wakeups()


# What is timed


@pytest.mark.parametrize("caches", ["warm", "cold", "shared"])
def test_a_real_measurement(caches):
    allowed = os.sched_getaffinity(0)
    measured = phases.measure(repetitions=2, caches=caches, progress=False)
    assert os.sched_getaffinity(0) == allowed
    assert measured.ticks.shape == (2, 875, 4)
    assert measured.ticks.dtype == np.uint64
    assert (measured.ticks > 0).all()
    assert measured.pinned in allowed
    assert phases.table(measured).shape[0] == 14
    assert (measured.model, measured.repetitions, measured.hz) == ("pixel4", 2, 250)
    assert measured.arms == ("walk", "lut", "walk", "held")
    assert measured.caches == caches
    assert measured.working_set == (262144 if caches == "shared" else 0)
    assert bool(measured.evicted) == (caches == "cold")
    assert measured.step_ticks >= 1
    assert measured.bracket_ticks >= 0
    assert list(measured.index) == ROWS
    assert np.bincount(measured.row).tolist() == [125] * 7


@pytest.fixture
def recorded(monkeypatch):
    """time_placements() replaced by one that answers util_est of the task times 10, plus the arm."""
    calls = []

    def time_placements(model, task, cpus, *, arms, order, **how):
        calls.append({"task": task, "order": order, "arms": arms} | how)
        assert cpus["util_avg"][np.arange(task.size), task["prev_cpu"]].tolist() == task["util_avg"].tolist()
        ticks = task["util_est"][:, None] * 10 + np.arange(len(arms), dtype=np.uint64)
        return SimpleNamespace(ticks=ticks, retimed=2, disturbed=1, working_set=0)

    monkeypatch.setattr(eas, "time_placements", time_placements)
    return calls


def test_samples_come_back_to_their_rows(recorded, wakeups):
    measured = phases.measure(repetitions=3, batch=1, progress=False)
    for row, (phase, cpu) in enumerate(ROWS):
        mine = wakeups[(wakeups["phase"] == phase) & (wakeups["cpu"] == cpu)]
        chosen = measured.row == row
        ticks = mine["util_est"].to_numpy() * 10 + 1
        assert (measured.ticks[:, chosen, 1] == ticks).all()
        assert (measured.states[chosen] == mine["states"].to_numpy()).all()
    assert measured.retimed.tolist() == [2, 2, 2]
    assert measured.disturbed.tolist() == [1, 1, 1]


def test_the_order_is_random_complete_and_the_seeds(recorded):
    phases.measure(repetitions=3, seed=5, batch=1, progress=False)
    first = [call["order"] for call in recorded]
    assert len(first) == 3 + 1  # one to warm up
    assert all((np.sort(order, axis=1) == [0, 1, 2, 3]).all() for order in first)
    for arm in range(4):  # every arm is at every place about as often
        places = np.concatenate(first)[:, arm]
        assert np.bincount(places).min() > len(places) / 5
    assert len({call["task"].tobytes() for call in recorded}) == 4
    assert {(call["kernel"], call["skip_inefficient"], call["batch"]) for call in recorded} == {
        ("5.12", False, 1)
    }
    tasks = [call["task"].tobytes() for call in recorded]
    recorded.clear()
    phases.measure(repetitions=3, seed=5, batch=1, progress=False)
    assert [call["task"].tobytes() for call in recorded] == tasks
    assert all((call["order"] == order).all() for call, order in zip(recorded, first, strict=True))
    recorded.clear()
    phases.measure(repetitions=3, seed=6, batch=1, progress=False)
    assert [call["task"].tobytes() for call in recorded] != tasks


def test_the_first_repetition_warms_up_only(recorded, monkeypatch):
    numbers = itertools.count()

    def time_placements(*_, **__):
        ticks = np.full((875, 4), next(numbers), np.uint64)
        return SimpleNamespace(ticks=ticks, retimed=0, disturbed=0, working_set=0)

    monkeypatch.setattr(eas, "time_placements", time_placements)
    measured = phases.measure(repetitions=3, batch=1, progress=False)
    assert np.unique(measured.ticks).tolist() == [1, 2, 3]


@pytest.mark.parametrize(("ticks", "step", "batch"), [(1000, 2, 1), (60, 2, 10), (60, 26, 130), (50, 2, 100)])
def test_short_calls_are_timed_in_batches(recorded, monkeypatch, ticks, step, batch):
    """Fifty steps of the counter; the bracket is 50 ticks of what is measured (a call is at least 1)."""
    monkeypatch.setattr(
        "schedpy.stopwatch.counter",
        lambda: SimpleNamespace(step_ticks=step, bracket_ticks=50, ns_per_tick=1.0, name="tsc"),
    )

    def time_placements(model, task, cpus, *, arms, **how):
        recorded.append(how)
        shape = task.size, len(arms)
        return SimpleNamespace(ticks=np.full(shape, ticks), retimed=0, disturbed=0, working_set=0)

    monkeypatch.setattr(eas, "time_placements", time_placements)
    assert phases.measure(repetitions=2, progress=False).batch == batch
    assert recorded[-1]["batch"] == batch
    assert phases.measure(repetitions=2, caches="cold", progress=False).batch == 1


def test_a_batch_is_divided_by():
    measured = timing(1000, 900, 1000)
    by_ten = Timing(**vars(measured) | {"batch": 10})
    assert by_ten.ns(0) == pytest.approx(measured.ns(0) / 10)


def test_the_affinity_comes_back_after_an_error(monkeypatch):
    def fail(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(eas, "time_placements", fail)
    allowed = os.sched_getaffinity(0)
    with pytest.raises(MemoryError):
        phases.measure(repetitions=2, progress=False)
    assert os.sched_getaffinity(0) == allowed


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"repetitions": 1}, ValueError, "^repetitions = 1"),
        ({"seed": -1}, ValueError, "^seed = -1"),
        ({"arms": ("walk", "lut")}, ValueError, "^arms = .*must begin with"),
        ({"arms": ("walk", "lut", "walk", "table")}, ValueError, r"^arms\[3\] = 'table'"),
        ({"caches": "hot"}, ValueError, "^caches = 'hot'"),
        ({"caches": "cold", "batch": 3}, ValueError, "^batch = 3"),
        ({"inputs": 5}, TypeError, "^inputs is int: must be a Simulation, with model, phase"),
        ({"model": "tc2"}, ValueError, "^model has the domains"),
        ({"cpu": 10**6}, ValueError, "^cpu = 1000000"),
    ],
)
def test_what_is_not_measured(how, error, message):
    with pytest.raises(error, match=message):
        phases.measure(**{"repetitions": 2, "progress": False} | how)


def simulation(n=40):
    """What a simulation hands out: here every second wake-up on CPU 7, phases in turn."""
    model = em.EnergyModel.load("pixel4")
    waking = np.where(np.arange(n) % 2, 7, 5)
    task = eas.task(prev_cpu=waking, util_avg=np.arange(n) + 100)
    cpus = eas.idle_cpus(model, n)
    cpus["util_avg"][np.arange(n), waking] = task["util_avg"]
    return SimpleNamespace(
        model=model,
        phase=np.arange(n) // 20,
        waking_cpu=waking,
        duty_percent=np.array([12.5, 25]),
        hz=1000,
        cases=lambda: (task, cpus),
    )


def test_the_wakeups_of_a_simulation_are_grouped_by_phase_and_waking_cpu():
    measured = phases.measure(inputs=simulation(), repetitions=2, progress=False)
    assert list(measured.index) == [(0, "Mid"), (0, "Big"), (1, "Mid"), (1, "Big")]
    assert measured.duty_percent.tolist() == [12.5, 12.5, 25, 25]
    assert measured.row.tolist() == [0, 1] * 10 + [2, 3] * 10
    assert measured.hz == 1000
    assert phases.gains(measured).shape[0] == 3 * 4


def test_no_wakeups_are_refused():
    with pytest.raises(ValueError, match=r"^inputs: there is no placement"):
        phases.measure(inputs=simulation(0), repetitions=2)


# What is kept


def test_ns_takes_the_bracket_off_and_may_be_negative():
    assert timing(0, 0, 0).ns(0).min() < 0
    assert timing(1000, 0, 0).ns(0).mean() == pytest.approx(1000, abs=1)


def test_samples_are_all_there():
    measured = timing(1000, 900, 1000)
    samples = measured.samples()
    assert samples.columns.tolist() == ["phase", "cpu", "walk_ns", "lut_ns", "walk_again_ns"]
    assert len(samples) == 7 * 200
    row = samples[(samples["phase"] == 4) & (samples["cpu"] == "Big")]
    assert row["lut_ns"].tolist() == measured.of(5, 1).ravel().tolist()
    assert row["walk_again_ns"].tolist() == measured.of(5, 2).ravel().tolist()


def test_a_timing_tells_how_it_was_made():
    measured = timing(1000, 900, 1000)
    assert repr(measured) == (
        "Timing: 140 placements of pixel4 x 10 repetitions, walk, lut, walk, warm caches, on a machine, CPU 1"
    )
    html = measured._repr_html_()
    assert "in steps of 2 (1.00 ns)" in html
    assert "50.0 ns, subtracted" in html


def test_a_timing_survives_its_file(tmp_path):
    measured = phases.measure(repetitions=2, caches="cold", evict=["held"], progress=False)
    measured.save(tmp_path / "t.npz")
    again = Timing.load(tmp_path / "t.npz")
    for name, value in vars(measured).items():
        same = getattr(again, name)
        assert (same == value).all() if isinstance(value, np.ndarray) else same == value, name
    assert again.ticks.dtype == np.uint64
    assert [path.name for path in tmp_path.iterdir()] == ["t.npz"]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.npz"
    timing(1000, 900, 1000).save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        timing(1, 2, 3).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["t.npz"]


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    path.write_bytes(b"not a zip file")
    with pytest.raises(ValueError, match=r"t\.npz: expected a file of schedpy\.lab\.Timing/2"):
        Timing.load(path)
    with open(path, "wb") as file:
        np.savez(file, about=np.array('{"format": "other"}'), ticks=np.zeros(3))
    with pytest.raises(ValueError, match="another format"):
        Timing.load(path)
    with pytest.raises(FileNotFoundError):
        Timing.load(tmp_path / "missing.npz")


# What is gained, and what equal arms show


def test_gains_by_hand():
    """Two repetitions: differences 4 and 8 ns; Student with 1 degree of freedom."""
    measured = timing(1000, 1000, 1000, n=40)
    measured.ticks[0, :, 1] = measured.ticks[0, :, 0] + 4 * 2
    measured.ticks[1, :, 1] = measured.ticks[1, :, 0] + 8 * 2
    row = phases.gains(measured).loc[("lut", 2, "Mid")]
    assert row["diff"] == 6
    assert row["diff_high"] - 6 == pytest.approx(2 * np.tan(np.pi / 2 * 0.95))
    walk = phases_gains.middle_mean(measured.of(2, 0))
    assert row["ratio"] == pytest.approx(np.sqrt(np.prod(walk / (walk + np.array([4, 8])))))
    assert row["walk_ns"] == pytest.approx(walk.mean())
    assert row["arm_ns"] == pytest.approx(walk.mean() + 6)
    assert row["states"] == 2
    assert not row["told"]


def test_the_middle_mean_is_scipys_trimmed_one():
    samples = np.random.default_rng(1).exponential(size=(3, 124))
    assert phases_gains.middle_mean(samples) == pytest.approx(scipy.stats.trim_mean(samples, 0.25, axis=1))


def noisy(seed, repetitions, shift=0):
    """A machine that drifts, whose spread has a long tail, and on which the second call is 20 ns faster."""
    rng = np.random.default_rng(seed)
    measured = timing(1000, 1000, 1000)
    shape = repetitions, 140
    drift = np.cumsum(rng.normal(0, 20, shape[0]))[:, None, None]
    noise = rng.pareto(2.5, (*shape, 3)) * 30
    order = rng.permuted(np.tile(np.arange(3), (*shape, 1)), axis=2)
    ns = 1000 + drift + noise - 20 * (order > 0) + np.array([0, 0, shift])
    ticks = np.round(ns * 2 + 100).astype(np.uint64)
    zeros = np.zeros(repetitions, dtype=np.int64)
    return Timing(**vars(measured) | {"ticks": ticks, "retimed": zeros, "disturbed": zeros})


def test_equal_arms_look_equal_as_often_as_they_should():
    """400 runs of 5 repetitions and 7 rows: 2800 intervals of 95 %; a seed, so always the same."""
    all_ = phases.coverage(noisy(7, 2000)).loc[("all", "")]
    assert all_["intervals"] == 2800
    assert 0.94 <= all_["share"] <= 0.97
    exact = scipy.stats.binomtest(int(all_["contain"]), 2800).proportion_ci(method="exact")
    assert (all_["share_low"], all_["share_high"]) == pytest.approx((exact.low, exact.high))


def test_unequal_arms_do_not():
    assert phases.coverage(noisy(7, 500, shift=10)).loc[("all", ""), "share"] < 0.5


def test_coverage_at_its_ends():
    measured = noisy(7, 10)
    measured.ticks[:, :, 2] = measured.ticks[:, :, 0]
    always = phases.coverage(measured).loc[("all", "")]
    assert (always["share"], always["share_high"]) == (1, 1)
    measured.ticks[:, :, 2] += np.arange(10, dtype=np.uint64)[:, None] + 20
    never = phases.coverage(measured).loc[("all", "")]
    assert (never["share"], never["share_low"]) == (0, 0)
    with pytest.raises(ValueError, match=r"^size = 11: the timing has 10 repetitions"):
        phases.coverage(measured, size=11)
    with pytest.raises(TypeError, match=r"^timing must be a Timing, not int"):
        phases.gains(5)


def test_equal_arms_on_this_machine():
    """Fails once in a million runs, if the intervals are what they say."""
    found = phases.coverage(phases.measure(repetitions=100, progress=False)).loc[("all", "")]
    n, k = int(found["intervals"]), int(found["contain"])
    assert n == 140
    assert scipy.stats.binom.cdf(k, n, 0.95) > 1e-6
