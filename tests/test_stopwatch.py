# SPDX-License-Identifier: GPL-2.0-only
"""Clocks are found and named for what they are; read_cost counts right. Nothing depends on the speed."""

import builtins
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from schedpy import _core, stopwatch
from schedpy.stopwatch import ticks

# as it was before any test pinned anything
ALLOWED = os.sched_getaffinity(0)

RAW = {
    # two rounds of single-mode ticks per clock, a bracket of 42 included
    "CLOCK_MONOTONIC": [[100, 102, 100, 9000], [98, 41, 104, 100]],
    "syscall(getppid)": [[400, 402, 404, 404], [400, 400, 398, 8_000_000]],
}
BATCH = {"CLOCK_MONOTONIC": [260, 300], "syscall(getppid)": [1500, 1700]}
BRACKETS = [[44, 42, 60, 46], [44, 43, 45, 43]]


@pytest.fixture(scope="module")
def cost():
    return stopwatch.read_cost(rounds=3, calls=500, progress=False)


@pytest.fixture
def canned(monkeypatch):
    """read_cost on known ticks: the core is replaced, the counter runs at 2 GHz."""
    rows = {row: name for row, name, *_ in _core.stopwatch_clocks()}
    rounds = {name: iter(values) for name, values in RAW.items()}
    batches = {name: iter(values) for name, values in BATCH.items()}
    brackets = iter(BRACKETS)
    instants = iter([(0, 0)] * 100 + [(2_000_000_000, 1_000_000_000)] * 100)
    replaced = {
        "empty": lambda count: np.array(next(brackets), dtype=np.uint64),
        "batch": lambda row, warmup, calls, gate: next(batches[rows[row]]),
        "single": lambda row, warmup, calls, gate: np.array(next(rounds[rows[row]]), dtype=np.uint64),
        "deltas": lambda count: np.array([24, 26, 28, 30, 40, 46], dtype=np.uint64),
        "pair": lambda: (7, *next(instants)),
    }
    for name, function in replaced.items():
        monkeypatch.setattr(_core, f"stopwatch_{name}", function)
    return stopwatch.read_cost(list(RAW), rounds=2, calls=4, progress=False)


# ---- clocks


def test_kinds_are_known():
    kinds = {clock.name: clock.kind for clock in stopwatch.clocks()}
    assert len(kinds) == len(stopwatch.clocks())
    assert set(kinds.values()) <= {"empty call", "instruction", "vDSO", "system call", "Python", "unknown"}
    assert {name for name, kind in kinds.items() if kind == "empty call"} == {"empty call"}
    assert kinds["syscall(getppid)"] == kinds["syscall(clock_gettime)"] == "system call"
    assert kinds["time.monotonic_ns"] == "Python"
    for name in ("CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID"):
        assert kinds[name] in ("system call", "unknown")


def test_kinds_are_determined_together():
    """seccomp is permitted or it is not: either every clock of libc is told apart or none."""
    kinds = [clock.kind for clock in stopwatch.clocks() if clock.clock_id is not None]
    assert kinds.count("unknown") in (0, len(kinds))


def test_clocks_of_the_c_library_carry_number_and_resolution():
    clocks = {clock.name: clock for clock in stopwatch.clocks()}
    for name, clock in clocks.items():
        if name.startswith("CLOCK_"):
            assert clock.clock_id == getattr(time, name, clock.clock_id)
            assert clock.resolution_ns is not None
            assert clock.resolution_ns >= 1
        else:
            assert clock.clock_id is None
            assert clock.resolution_ns is None
    assert clocks["CLOCK_MONOTONIC"].resolution_ns == round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9)


def test_asking_leaves_this_process_alone():
    """The filter stays in the child, the child is reaped, and signals are as they were."""
    script = """if True:
        import os, signal, time
        from schedpy import stopwatch
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        stopwatch.clocks()
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before != blocked
        assert time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) > 0
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("no child left")
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("no child left\n", "")


def test_unknown_where_seccomp_is_not_permitted():
    """In a sandbox that refuses prctl no clock of libc is called a vDSO or a system call."""
    script = """if True:
        import ctypes, os, struct, sys
        from schedpy import stopwatch
        prctl = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
        code = b"".join(struct.pack("HBBI", *line) for line in (
            (0x20, 0, 0, 0),                # load the number of the system call
            (0x15, 0, 1, prctl),            # is it prctl?
            (0x06, 0, 0, 0x00050001),       # then EPERM
            (0x06, 0, 0, 0x7FFF0000),       # else go on
        ))
        program = struct.pack("HxxxxxxP", 4, ctypes.cast(code, ctypes.c_void_p).value)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
            sys.exit("seccomp is not permitted here either")
        print({clock.kind for clock in stopwatch.clocks() if clock.clock_id is not None})
    """
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("the number of prctl on this machine is not in the test")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if "not permitted here" in done.stderr:
        pytest.skip("seccomp is not permitted")
    assert (done.stdout, done.stderr) == ("{'unknown'}\n", "")


def test_asking_is_safe_beside_threads():
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            bytearray(10_000)

    threads = [threading.Thread(target=busy) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        answers = {tuple(clock.kind for clock in stopwatch.clocks()) for _ in range(20)}
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(answers) == 1


@pytest.mark.parametrize(
    "name",
    [
        clock.name
        for clock in stopwatch.clocks()
        if not clock.name.startswith(("CLOCK_REALTIME", "CLOCK_TAI", "time.time", "syscall(getppid)"))
    ],
)
def test_clocks_never_go_back(name):
    values = [stopwatch.read(name) for _ in range(50)]
    assert values == sorted(values)


def test_libc_and_bare_system_call_read_the_same_clock():
    first = stopwatch.read("CLOCK_MONOTONIC")
    between = stopwatch.read("syscall(clock_gettime)")
    assert first <= between <= stopwatch.read("CLOCK_MONOTONIC") <= time.monotonic_ns()
    assert stopwatch.read("syscall(getppid)") == os.getppid()


# ---- the core's loops


def test_a_callable_is_called_each_time():
    calls = []
    _core.stopwatch_batch(lambda: calls.append(1), 3, 10)
    assert len(calls) == 13
    assert _core.stopwatch_single(lambda: calls.append(1), 3, 10).shape == (10,)
    assert len(calls) == 26


@pytest.mark.parametrize("mode", [_core.stopwatch_batch, _core.stopwatch_single])
def test_an_exception_comes_through_and_ends_the_calls(mode):
    calls = []

    def fails():
        calls.append(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mode(fails, 0, 10)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (_core.stopwatch_batch, (1000, 0, 1)),
        (_core.stopwatch_batch, (0, -1, 1)),
        (_core.stopwatch_batch, (0, 0, -1)),
        (_core.stopwatch_single, (1000, 0, 1)),
        (_core.stopwatch_single, (0, -1, 1)),
        (_core.stopwatch_single, (0, 0, -1)),
        (_core.stopwatch_empty, (-1,)),
        (_core.stopwatch_read, (1000,)),
    ],
)
def test_the_core_refuses_what_is_out_of_range(function, arguments):
    with pytest.raises(ValueError, match=r"must not be negative|there are"):
        function(*arguments)


def test_no_calls_is_no_ticks():
    assert _core.stopwatch_single(0, 0, 0).shape == (0,)
    assert _core.stopwatch_empty(0).shape == (0,)
    assert _core.stopwatch_deltas(0).shape == (0,)


# ---- read_cost: structure


def test_every_clock_is_timed(cost):
    assert [(c.name, c.kind) for c in cost.clocks] == [(c.name, c.kind) for c in stopwatch.clocks()]
    for clock in cost.clocks:
        assert clock.round_ticks.shape == clock.single_round_ticks.shape == (3,)
        assert clock.counts.sum() == 3 * 500
        assert (np.diff(clock.ticks) > 0).all()
        assert (clock.counts > 0).all()
    assert cost.counter.hz > 0
    assert cost.counter.bracket_ticks >= 0
    assert cost.counter.step_ticks >= 1


def test_chosen_clocks_in_their_order():
    names = ["time.time_ns", "CLOCK_MONOTONIC"]
    cost = stopwatch.read_cost(names, rounds=2, calls=1, progress=False)
    assert [clock.name for clock in cost.clocks] == names
    with pytest.raises(KeyError, match="CLOCK_TAI"):
        cost["CLOCK_TAI"]


def test_stddev_of_calls_obeys_its_bound(cost):
    """One sample at distance d from the mean forces a standard deviation of d / sqrt(n) at least."""
    for clock in cost.clocks:
        value = clock.statistics()
        distance = value["max_ns"] - value["single_average_ns"]
        assert value["stddev_calls_ns"] >= distance / np.sqrt(clock.counts.sum()) * (1 - 1e-12)


# ---- read_cost: figures


@pytest.mark.parametrize("name", list(RAW))
def test_figures_are_those_of_the_raw_samples(canned, name):
    single = (np.array(RAW[name]) - 42) * 0.5
    batch = np.array(BATCH[name]) * 0.5 / 4
    expected = {
        "average_ns": batch.mean(),
        "stddev_rounds_ns": batch.std(ddof=1),
        "round_min_ns": batch.min(),
        "round_max_ns": batch.max(),
        "single_average_ns": single.mean(),
        "stddev_calls_ns": single.std(ddof=1),
        "single_stddev_rounds_ns": single.mean(axis=1).std(ddof=1),
        "min_ns": single.min(),
        "median_ns": np.quantile(single, 0.5, method="inverted_cdf"),
        "p99_ns": np.quantile(single, 0.99, method="inverted_cdf"),
        "p99_9_ns": np.quantile(single, 0.999, method="inverted_cdf"),
        "max_ns": single.max(),
        "below_zero": (single < 0).sum(),
    }
    assert canned[name].statistics() == pytest.approx(expected, rel=1e-12)
    assert canned[name].rounds_ns.tolist() == batch.tolist()
    assert canned[name].single_rounds_ns.tolist() == single.mean(axis=1).tolist()


def test_the_least_bracket_is_subtracted_and_nothing_clamped(canned):
    assert canned.counter.bracket_ticks == 42
    assert canned.counter.bracket_ns == 21
    assert canned["CLOCK_MONOTONIC"].ticks[0] == -1
    assert canned["CLOCK_MONOTONIC"].statistics()["below_zero"] == 1


def test_histogram_holds_every_sample(canned):
    for name, samples in RAW.items():
        clock = canned[name]
        assert np.repeat(clock.ticks, clock.counts).tolist() == sorted(np.ravel(samples) - 42)


@pytest.mark.parametrize("q", [0.0, 0.1, 0.25, 0.5, 0.875, 0.876, 0.999, 1.0])
def test_quantiles(canned, q):
    clock = canned["syscall(getppid)"]
    samples = np.repeat(clock.values_ns, clock.counts)
    assert clock.quantile_ns(q) == np.quantile(samples, q, method="inverted_cdf")


def test_frequency(canned):
    assert canned.counter.hz == 2e9
    assert canned.counter.ns_per_tick == 0.5


def _around(multiples, counts, off):
    """Differences at multiples of 26, a share of them one tick off, as a scaled counter shows them."""
    deltas = np.repeat(multiples, counts)
    deltas[::off] += np.where(np.arange(deltas[::off].size) % 2, 1, -1)
    return deltas.astype(np.uint64)


@pytest.mark.parametrize(
    ("deltas", "step"),
    [
        (np.arange(20, 120, 2), 2),
        (np.arange(20, 120), 1),
        (np.arange(21, 120, 3), 3),
        (np.arange(24, 240, 4), 4),
        (_around([26, 52, 78, 104], [9000, 5000, 700, 300], 10), 26),
        (np.array([0, 0, 1, 1, 1, 2]), 1),
        (np.zeros(10), 1),
        (np.append(np.arange(20, 120, 2).repeat(9), [4_000_001, 99_999]), 2),
    ],
)
def test_step_of_the_counter(deltas, step):
    found, share = ticks.step_of(deltas.astype(np.uint64))
    assert found == step
    assert 0.98 <= share <= 1


def test_a_gcd_would_not_find_the_step():
    deltas = _around([26, 52, 78, 104], [9000, 5000, 700, 300], 10)
    assert np.gcd.reduce(deltas) == 1


def test_the_counter_alone_is_that_of_read_cost(cost):
    counter = stopwatch.counter()
    assert counter.name == cost.counter.name
    assert counter.hz == pytest.approx(cost.counter.hz, rel=0.01)
    assert counter.bracket_ticks > 0


# ---- pinning


def test_affinity_during_and_after(cost):
    assert cost.cpus == (max(ALLOWED),)
    assert cost.pinned
    assert os.sched_getaffinity(0) == ALLOWED
    for cpu in ALLOWED:
        with stopwatch.pinned(cpu) as chosen:
            assert os.sched_getaffinity(0) == {cpu} == {chosen}
        assert os.sched_getaffinity(0) == ALLOWED


def test_affinity_is_restored_after_an_error(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "stopwatch_single", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stopwatch.read_cost(rounds=2, calls=1, progress=False)
    assert os.sched_getaffinity(0) == ALLOWED


def test_a_cpu_is_a_whole_number():
    with pytest.raises(TypeError, match=r"cpu = 0\.0: must be an integer"), stopwatch.pinned(0.0):
        pass


def test_other_cpu_is_refused():
    with pytest.raises(ValueError, match="cpus = 99999: this process may run on"):
        stopwatch.read_cost(cpus=99999, rounds=2, calls=1)


# ---- refused


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"clocks": "CLOCK_SUNDIAL"}, ValueError, "clocks: element 0 = 'CLOCK_SUNDIAL' is no clock"),
        ({"clocks": ["rdtsc", 3]}, (TypeError, ValueError), "clocks: element [01] = "),
        ({"clocks": ["time.time"] * 2}, ValueError, "clocks: element 1 = 'time.time' is there twice"),
        ({"clocks": []}, ValueError, "clocks is empty"),
        ({"clocks": 3}, TypeError, "clocks = 3: must be"),
        ({"rounds": 1}, ValueError, "rounds"),
        ({"rounds": 2.5}, TypeError, "rounds"),
        ({"calls": 0}, ValueError, "calls"),
        ({"calls": 10_000_001}, ValueError, "calls"),
        ({"calls": [5, 6]}, ValueError, "calls"),
        ({"calls": float("nan")}, TypeError, "calls"),
        ({"warmup": 999}, ValueError, "warmup"),
        ({"warmup": -1}, ValueError, "warmup"),
        ({"cpus": -1}, ValueError, "cpus"),
        ({"cpus": "1"}, TypeError, "cpus"),
        ({"cpus": []}, ValueError, "cpus must be one CPU or a list"),
        ({"cpus": [[0]]}, ValueError, "cpus must be one CPU or a list"),
        ({"cpus": [min(ALLOWED)] * 2}, ValueError, f"cpus: CPU {min(ALLOWED)} is there twice"),
        ({"seconds": 0}, ValueError, "seconds = 0"),
        ({"seconds": float("nan")}, ValueError, "seconds = nan"),
        ({"seconds": "9"}, TypeError, "seconds = '9'"),
        ({"seconds": True}, TypeError, "seconds = True"),
        ({"pinned": 2}, ValueError, "pinned"),
        ({"pinned": [True]}, ValueError, "pinned must be one bool"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        stopwatch.read_cost(**arguments)


def test_unknown_clock_to_read():
    with pytest.raises(ValueError, match="name = 'CLOCK_SUNDIAL': must be one of"):
        stopwatch.read("CLOCK_SUNDIAL")


# ---- results


def test_text_and_html(canned):
    lines = repr(canned).splitlines()
    assert "2 rounds of 4 calls" in lines[0]
    assert "2000.000 MHz, in steps of 2 (1.00 ns); empty bracket 21.0 ns" in lines[0]
    assert [line.split("  ")[0].strip() for line in lines[3:]] == list(RAW)
    assert lines[3].split()[-1] == "4479"
    page = canned._repr_html_()
    assert page.count("<tr>") == 1 + len(RAW)
    assert "<th>stddev of rounds</th>" in page
    assert "<td>4479</td>" in page


def test_pandas(canned):
    pandas = pytest.importorskip("pandas")
    table = canned.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table.index.tolist() == list(RAW)
    assert table.loc["CLOCK_MONOTONIC"].drop("kind").to_dict() == canned["CLOCK_MONOTONIC"].statistics()


def test_without_pandas_the_extra_is_named(canned, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "pandas":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"schedpy\[lab\]"):
        canned.to_pandas()
