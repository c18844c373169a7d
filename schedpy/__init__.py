# SPDX-License-Identifier: GPL-2.0-only
"""The Linux scheduler's own arithmetic, bit for bit and per kernel version, as vectorised NumPy functions."""

from schedpy import clock, cpuidle, eas, em, jiffies, kernel, live, paths, pelt, stats, stopwatch, workload

__all__ = [
    "clock",
    "cpuidle",
    "eas",
    "em",
    "jiffies",
    "kernel",
    "live",
    "paths",
    "pelt",
    "stats",
    "stopwatch",
    "workload",
]
__version__ = "0.1.0"
