# SPDX-License-Identifier: GPL-2.0-only
"""How fast states and energies of one table are found beside the best NumPy expressions for them.

All is measured in one process: rounds in which every candidate runs once, in an order shuffled anew. A
ratio is of two calls of one round, so that what else the machine does falls on both; given are the median
and the middle half of the rounds. The row A/A, NumPy beside itself, says what such a ratio is worth.

    python benchmarks/em_ratios.py
    python benchmarks/em_ratios.py --quick

Random requests to a table of 24 states, through the public functions, what they check included, by each of
the machine's paths; all are first seen to give the same. In brackets is the ratio aimed at.
"""

import argparse
from datetime import UTC, datetime
from functools import partial

import numpy as np
from rounds import machine, measure, quartiles

from schedpy import em, paths

CAPACITY = 871
STATES = 24
#: Row -> path -> at least so many times as fast.
TARGETS = {
    "state": {"avx512": 25, "avx2": 10, "portable": 6},
    "energy": {"avx512": 7, "avx2": 7, "portable": 7},
}


def domain(rng):
    freqs = np.sort(rng.choice(np.arange(300, 3000), STATES, replace=False)) * 1000
    powers = np.sort(rng.integers(10, 2000, STATES))
    return em.PerfDomain("made", [0], freqs, powers, unit="mW", capacity=CAPACITY)


def by_searchsorted(freq, requests):
    return np.minimum(np.searchsorted(freq, requests), freq.size - 1)


def by_expression(freq, cost, max_util, sum_util):
    """em_cpu_energy() of 5.12: what is divided by is a number, for which NumPy has a multiplication."""
    highest = freq[-1]
    request = (highest + (highest >> np.uint64(2))) * max_util // np.uint64(CAPACITY)
    return cost[by_searchsorted(freq, request)] * sum_util // np.uint64(CAPACITY)


def rows(rng, n):
    """name -> (NumPy's call, ours)"""
    made = domain(rng)
    freq, cost = made.freq_khz, made.table(kernel="5.12")["cost"]
    requests = rng.integers(0, 3_100_000, n).astype(np.uint64)
    max_util = rng.integers(0, CAPACITY, n).astype(np.uint64)
    sum_util = max_util + rng.integers(0, CAPACITY, n).astype(np.uint64)
    yield (
        "state",
        partial(by_searchsorted, freq, requests),
        partial(made.get_efficient_state, requests, kernel="5.12"),
    )
    yield (
        "energy",
        partial(by_expression, freq, cost, max_util, sum_util),
        partial(made.energy, max_util, sum_util, kernel="5.12"),
    )


def repeated(call, times):
    def run():
        for _ in range(times):
            found = call()
        return found

    return run


def by_path(path, call):
    """Taking a path is no part of a call: it is done once for many."""

    def run():
        with paths.using(path):
            return call()

    return run


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example:\n  python benchmarks/em_ratios.py --quick",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 51 if parser.parse_args().quick else 201
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}; {rounds} rounds")
    for n in (2**14, 2**17):
        calls = 2**18 // n
        for name, theirs, ours in rows(np.random.default_rng(24), n):
            numpy = repeated(theirs, calls)
            by_each = {path: by_path(path, repeated(ours, calls)) for path in paths.names()}
            candidates = {"A/A": numpy} | by_each
            for call in candidates.values():
                assert np.array_equal(call(), theirs()), name
            times = measure({"NumPy": numpy} | candidates, rounds)
            base = np.median(times["NumPy"]) / n / calls
            print(f"{name}, {n:,} requests: NumPy {base:.2f} ns each")
            for path in candidates:
                low, mid, high = quartiles(times["NumPy"], times[path])
                each = np.median(times[path]) / n / calls
                aim = f" ({TARGETS[name][path]})" if path in TARGETS[name] else ""
                print(f"  {path:9} {mid:6.2f} ({low:.2f} .. {high:.2f}){aim}, {each:.2f} ns each")


if __name__ == "__main__":
    main()
