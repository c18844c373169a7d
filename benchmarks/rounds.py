# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmarks share: rounds in one process, in each every candidate once, in a new order."""

import os
import platform
import random
from pathlib import Path
from time import perf_counter_ns

import numpy as np

__all__ = ["machine", "measure", "quartiles", "span"]


def measure(candidates, rounds):
    """ns of every candidate in every round."""
    times = {name: [] for name in candidates}
    for _ in range(rounds):
        order = list(candidates)
        random.shuffle(order)
        for name in order:
            start = perf_counter_ns()
            candidates[name]()
            times[name].append(perf_counter_ns() - start)
    return {name: np.array(each) for name, each in times.items()}


def quartiles(base, times):
    """Median and middle half, as (low, mid, high), of the ratio round by round."""
    return np.percentile(base / times, [25, 50, 75])


def span(ratios):
    low, high = (f"{r:.0f}" if r >= 100 else f"{r:.2f}" for r in (min(ratios), max(ratios)))
    return low if low == high else f"{low} .. {high}"


def machine():
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} CPUs, load {load:.1f}, Python {platform.python_version()}"
