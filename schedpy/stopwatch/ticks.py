# SPDX-License-Identifier: GPL-2.0-only
"""The counter that times clocks: its frequency, its step, the cost of a bracket."""

import time
from dataclasses import dataclass

import numpy as np

from schedpy import _core

__all__ = ["Counter", "counter", "frequency", "instant", "step_of"]


@dataclass(frozen=True)
class Counter:
    """The counter that timed the clocks.

    Attributes
    ----------
    name : str
        "tsc", "cntvct_el0", or "CLOCK_MONOTONIC" where the processor has none that user space may read.
    hz : float
        Its frequency, against CLOCK_MONOTONIC_RAW.
    step_ticks : int
        It moves in steps of so many ticks.
    step_share : float
        Share of the back-to-back differences that lie at a multiple of the step.
    bracket_ticks : int
        Least cost of an empty bracket; subtracted from every single call.
    """

    name: str
    hz: float
    step_ticks: int
    step_share: float
    bracket_ticks: int

    @property
    def ns_per_tick(self) -> float:
        return 1e9 / self.hz

    @property
    def step_ns(self) -> float:
        return self.step_ticks * self.ns_per_tick

    @property
    def bracket_ns(self) -> float:
        return self.bracket_ticks * self.ns_per_tick


def counter() -> Counter:
    """The counter that times calls on this machine; calibrating it takes 50 ms.

    Returns
    -------
    Counter

    Examples
    --------
    >>> from schedpy import stopwatch
    >>> stopwatch.counter().hz > 0
    True
    """
    start = instant()
    step, share = step_of(_core.stopwatch_deltas(100_000))
    bracket = int(_core.stopwatch_empty(10_000).min())
    return Counter(_core.STOPWATCH_COUNTER, frequency(start), step, share, bracket)


def instant() -> tuple[int, int]:
    """Counter and CLOCK_MONOTONIC_RAW at one time: the tightest of a hundred pairs."""
    _, ticks, raw_ns = min(_core.stopwatch_pair() for _ in range(100))
    return ticks, raw_ns


def frequency(start: tuple[int, int]) -> float:
    """Hz of the counter since `start`, over 50 ms at least."""
    ticks, raw_ns = instant()
    if (missing := 50_000_000 - (raw_ns - start[1])) > 0:
        time.sleep(missing / 1e9)
        ticks, raw_ns = instant()
    return (ticks - start[0]) * 1e9 / (raw_ns - start[1])


def step_of(deltas: np.ndarray) -> tuple[int, float]:
    """The step of a counter out of back-to-back differences, and the share of them that fit it.

    The step is the largest s of which 98 % of the differences are multiples. From 4 on a tick beside a
    multiple counts as one: a counter that is scaled to another unit is off by one now and then, which
    would make a gcd 1. No step exceeds the least difference that is not 0.
    """
    values, counts = np.unique(deltas.astype(np.int64), return_counts=True)
    moving = values[values > 0]
    for step in range(int(moving[0]) + 1 if moving.size else 1, 1, -1):
        off = np.minimum(values % step, step - values % step)
        near = off <= (1 if step >= 4 else 0)
        share = float(counts[near].sum() / counts.sum())
        if share >= 0.98:
            return step, share
    return 1, 1.0
