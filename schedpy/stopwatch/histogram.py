# SPDX-License-Identifier: GPL-2.0-only
"""How often single calls cost so much, in the steps that the counter can tell apart."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from schedpy._tables import text_table
from schedpy.stopwatch.ticks import Counter

__all__ = ["Histogram", "by_step"]

_LINES = 20  # for the bulk of the calls; the rest is shown in widths that double
_BULK = 0.99
_BAR = 40


@dataclass(frozen=True, eq=False)
class Histogram:
    """Single calls of one clock, counted by step of the counter: what `ReadCost.histogram` gives.

    Attributes
    ----------
    name : str
        The clock.
    counter : Counter
        What timed it. A call's cost can only be told to one step of it: bins are one step wide.
    step : ndarray of int64
        The bins that are not empty, ascending: how many steps of the counter the bracket around the call
        took, rounded to the nearest.
    ns : ndarray of float64
        What that is for the call, in ns: the least empty bracket is subtracted; below 0 where a call took
        less than that.
    counts : ndarray of int64
        How many calls.
    """

    name: str
    counter: Counter
    step: np.ndarray
    ns: np.ndarray
    counts: np.ndarray

    def _lines(self) -> Iterator[tuple[int, int, int]]:
        """(first step, step after the last, calls): the bulk in equal widths, then in widths that double."""
        total = int(self.counts.sum())
        bulk = int(np.searchsorted(np.cumsum(self.counts), _BULK * total))
        begin, width = int(self.step[0]), -(-(int(self.step[bulk]) + 1 - int(self.step[0])) // _LINES)
        while begin <= self.step[-1]:
            if begin > self.step[bulk]:
                width *= 2
            inside = (begin <= self.step) & (self.step < begin + width)
            if calls := int(self.counts[inside].sum()):
                yield begin, begin + width, calls
            begin += width

    def __str__(self) -> str:
        counter, total = self.counter, int(self.counts.sum())
        rows: list[tuple[str, ...]] = [("from", "to", "calls", "share", "")]
        lines = list(self._lines())
        most = max(calls for _, _, calls in lines)
        for begin, end, calls in lines:
            limits = ((edge - 0.5) * counter.step_ns - counter.bracket_ns for edge in (begin, end))
            bar = "#" * max(round(_BAR * calls / most), 1)
            rows.append((*(f"{ns:.1f}" for ns in limits), str(calls), f"{100 * calls / total:.4f} %", bar))
        return "\n".join(
            [
                f"{self.name}: {total} single calls by cost in ns; the counter moves in steps of "
                f"{counter.step_ticks} ticks ({counter.step_ns:.2f} ns)",
                *text_table(rows, left=(4,)),
            ]
        )


def by_step(name: str, counter: Counter, ticks: np.ndarray, counts: np.ndarray) -> Histogram:
    """Costs in ticks, the bracket subtracted, counted by step."""
    step = counter.step_ticks
    nearest = (ticks + counter.bracket_ticks + step // 2) // step
    bins, where = np.unique(nearest, return_inverse=True)
    calls = np.zeros(bins.size, dtype=np.int64)
    np.add.at(calls, where, counts)
    return Histogram(name, counter, bins, (bins * step - counter.bracket_ticks) * counter.ns_per_tick, calls)
