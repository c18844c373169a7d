# SPDX-License-Identifier: GPL-2.0-only
"""How fast cpuidle.run is beside the plain twin of each governor, per idle, and in two threads.

All is measured in one process: rounds in which every candidate runs once, in an order shuffled anew. A
ratio is of two calls of one round; given are the median and the middle half. The row A/A, the twin beside
itself, says what such a ratio is worth.

    python benchmarks/governors.py
    python benchmarks/governors.py --quick

The twin is that of the tests: Python integers, one idle after the other, and nothing but the states selected
is kept. cpuidle.run checks every value and returns new arrays; it is asked for the states alone, but in the
row "every field" for all that it shows, which the twin does not keep. A second thread gives what the machine
has to give: the row "its machine" tells.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from rounds import machine, measure, quartiles

from schedpy import cpuidle

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from reference import cpuidle as twin

HZ = 250
TICK = 10**9 // HZ
#: governor, kernel -> how its twin is made.
GOVERNORS = {
    ("menu", "4.7"): lambda table: twin.MenuV47(table),
    ("menu", "6.1"): lambda table: twin.MenuV61(table, TICK),
    ("menu", "6.19"): lambda table: twin.MenuV619(table, TICK),
    ("teo", "6.1"): lambda table: twin.TeoV61(table, TICK),
    ("teo", "6.19"): lambda table: twin.TeoV619(table, TICK),
    ("ladder", "4.7"): lambda table: twin.LadderV47(table),
    ("ladder", "6.1"): lambda table: twin.LadderV61(table),
    ("haltpoll", "6.1"): lambda table: twin.Haltpoll(table),
}
#: At least so many times as fast.
TARGETS = {"one stream": 100, "many streams": 100, "two threads": 1.7}


def idles(rng, streams, n):
    """Timers of every magnitude, half of them overtaken by an interrupt: (sleep_ns, wake_ns)."""
    sleep = np.exp(rng.uniform(np.log(1e3), np.log(1e8), (streams, n))).astype(np.int64)
    early = np.exp(rng.uniform(np.log(1e3), np.log(sleep + 1))).astype(np.int64)
    return sleep, np.where(rng.random((streams, n)) < 0.5, early, sleep)


def arguments(governor, kernel):
    has_tick = kernel != "4.7" and governor in ("menu", "teo")
    return {"kernel": kernel, "governor": governor} | ({"hz": HZ} if has_tick else {})


def walk(make, rows, first, kernel, sleep_ns, wake_ns):
    """The states that a new twin selects for one stream, lists in and out."""
    in_us = kernel == "4.7"
    governor = make(twin.Table.of(rows, first, 1 if in_us else 1000))
    residency_of, how = (twin.residency_us, "div1000") if in_us else (twin.residency_ns, "ns")
    selected = []
    for sleep, wake in zip(sleep_ns, wake_ns, strict=True):
        idle = twin.Idle(sleep, delta_tick=min(sleep, TICK))
        state = governor.select(idle)
        measured = wake + 1000 * rows[state][0]
        governor.reflect(idle, state, measured, residency_of(measured, how))
        selected.append(state)
    return selected


class Table:
    def __init__(self):
        self.missed = 0

    def add(self, row, name, ratios, ns):
        target = TARGETS.get(row)
        verdict = ""
        if target is not None:
            met = ratios[1] >= target
            self.missed += not met
            verdict = f"{target:6g}  {'met' if met else 'MISSED'}"
        low, mid, high = (f"{r:.2f}" if r < 100 else f"{r:.0f}" for r in ratios)
        print(f"{row:14} {name:14} {ns:9.1f}   {mid:>6} ({low} .. {high}){'':3}{verdict}", flush=True)


def beside_twin(table, states, sleep, wake, rounds):
    """The first of the streams by the twin, by ours alone, and all of them by ours."""
    rows = list(
        zip(
            states.exit_latency_us.tolist(),
            states.target_residency_us.tolist(),
            states.polling.tolist(),
            strict=True,
        )
    )
    few = sleep.shape[1]
    one = {"sleep_ns": sleep.ravel(), "wake_ns": wake.ravel()}
    many = {"sleep_ns": sleep, "wake_ns": wake}
    for (governor, kernel), make in GOVERNORS.items():
        name = f"{governor} {kernel}"
        plain = partial(walk, make, rows, states.first, kernel, sleep[0].tolist(), wake[0].tolist())
        run = partial(cpuidle.run, states, **arguments(governor, kernel))
        calls = {
            "one stream": (partial(run, **one, fields=("selected",)), wake.size),
            "many streams": (partial(run, **many, fields=("selected",)), wake.size),
            "every field": (partial(run, **many), wake.size),
        }
        for call, _ in calls.values():
            ours = call().selected
            assert plain() == np.atleast_2d(ours)[0, :few].tolist(), f"{name} is not the twin's"
        times = measure(
            {"twin": plain, "A/A": plain} | {row: call for row, (call, _) in calls.items()}, rounds
        )
        table.add("A/A", name, quartiles(times["twin"], times["A/A"]), np.median(times["A/A"]) / few)
        for row, (_, count) in calls.items():
            per_idle = times["twin"] / few, times[row] / count
            table.add(row, name, quartiles(*per_idle), np.median(per_idle[1]))


def two_threads(table, states, sleep, wake, rounds):
    """Ours beside itself with one thread; the streams are shared out. So are the rows that NumPy sorts."""
    halves = np.array_split(wake, 2)
    with ThreadPoolExecutor(2) as pool:
        calls = {1: partial(np.sort, wake), 2: lambda: list(pool.map(np.sort, halves))}
        times = measure(calls, rounds)
    # Not under a row that has a target: it is of the machine.
    table.add("its machine", "NumPy sort", quartiles(times[1], times[2]), np.median(times[2]) / wake.size)
    for governor, kernel in GOVERNORS:
        run = partial(cpuidle.run, states, sleep_ns=sleep, wake_ns=wake, fields=("selected",))
        calls = {n: partial(run, threads=n, **arguments(governor, kernel)) for n in (1, 2)}
        times = measure(calls, rounds)
        ns = np.median(times[2]) / wake.size
        table.add("two threads", f"{governor} {kernel}", quartiles(times[1], times[2]), ns)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter streams: half a minute")
    parser.add_argument("--table", default="intel_skl", help="an idle table, by name (default: %(default)s)")
    options = parser.parse_args()
    rounds, n = (7, 2**10) if options.quick else (21, 2**13)
    states = cpuidle.IdleTable.load(options.table)
    sleep, wake = idles(np.random.default_rng(1), 256, n)

    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}")
    print(f"{rounds} rounds, {options.table}, 256 streams of {n} idles; ratio: median (middle half)\n")
    print(f"{'row':14} {'governor':14} {'ns/idle':>9}   {'times as fast':22} target")
    table = Table()
    beside_twin(table, states, sleep, wake, rounds)
    two_threads(table, states, sleep, wake, rounds)
    return min(table.missed, 1)


if __name__ == "__main__":
    sys.exit(main())
