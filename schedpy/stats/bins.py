# SPDX-License-Identifier: GPL-2.0-only
"""Histograms: what their bins tell of mean and standard deviation, and what not."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from schedpy.stats._arguments import numbers, refuse
from schedpy.stats.moments import Interval, Moments

__all__ = ["Histogram"]


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many samples lie in each bin; where in it they lie is not known.

    Mean and standard deviation are therefore known within bounds. The bounds are the narrowest that hold
    whatever the samples were (the upper one of the deviation by less than one sample's part).

    Parameters
    ----------
    low, high : array_like of float
        Smallest and largest value that each bin can hold; infinite for what lies below or above all bins.
    count : array_like of int
        Samples in each bin, none negative, at least 2 in all.

    Examples
    --------
    A power-of-two histogram of whole numbers:

    >>> h = Histogram(low=[256, 512, 1024], high=[511, 1023, 2047], count=[3, 12, 5])
    >>> h.total, float(h.mean.low), float(h.mean.high)
    (20, 601.6, 1202.2)
    >>> round(float(h.std.low), 1), round(float(h.std.high), 1)
    (161.2, 710.5)
    """

    low: Any
    high: Any
    count: Any

    def __post_init__(self) -> None:
        low, high = (numbers(x, name).astype(float) for x, name in ((self.low, "low"), (self.high, "high")))
        count = numbers(self.count, "count")
        if not low.ndim == high.ndim == count.ndim == 1 or not low.shape == high.shape == count.shape:
            shapes = f"{low.shape}, {high.shape}, {count.shape}"
            raise ValueError(f"low, high and count must be three rows of one length, not of shapes {shapes}")
        if count.dtype.kind == "f" and count.size:
            raise TypeError(f"count must be integers, not {count.dtype}")
        for values, name in ((low, "low"), (high, "high")):
            refuse(np.isnan(values), values, name, "must be a number")
        refuse(low == np.inf, low, "low", "must be a number or minus infinity")
        refuse(~(high >= low), high, "high", "must not lie below low")
        refuse(high == -np.inf, high, "high", "must be a number or infinity")
        refuse((count < 0) | (count > 2**53), count, "count", "must lie in 0 .. 2**53")
        held = count > 0
        if (total := count.astype(np.int64).sum()) < 2:
            raise ValueError(f"count: {total} in all, at least 2 samples are needed")
        for name, values in (("low", low), ("high", high), ("count", count.astype(np.int64))):
            object.__setattr__(self, name, values[held])

    @property
    def total(self) -> int:
        """Samples in all."""
        return int(self.count.sum())

    @property
    def mean(self) -> Interval:
        """Bounds of the mean."""
        return Interval(self.count @ self.low / self.total, self.count @ self.high / self.total)

    @property
    def std(self) -> Interval:
        """Bounds of the standard deviation (n - 1 in the denominator)."""
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            return Interval(self._least(), np.inf)
        return Interval(self._least(), self._greatest())

    def moments(self) -> Moments:
        """The middles of the bounds, as far as one figure each can stand for them.

        Raises
        ------
        ValueError
            Samples lie in a bin without an end: there are no bounds.
        """
        mean, std = self.mean, self.std
        if not np.isfinite([mean.low, mean.high, std.high]).all():
            raise ValueError("low, high: samples lie in a bin without an end, so their mean has no bounds")
        return Moments((mean.low + mean.high) / 2, (std.low + std.high) / 2, self.total)

    def _spread(self, centre: float, positions: Any) -> float:
        return float(np.sqrt(self.count @ (positions - centre) ** 2 / (self.total - 1)))

    def _least(self) -> float:
        """All samples as near to one point as their bins allow.

        The sum of squares around c of samples clipped to their bins is convex in c and quadratic between
        neighbouring ends of bins; its minimum over c is the least sum around a mean. The derivative grows
        with c, so the piece that holds its zero is found by bisection.
        """
        edges = np.unique(np.concatenate([self.low, self.high]))
        edges = edges[np.isfinite(edges)]
        if edges.size == 0:
            return 0.0

        def pull(c: float) -> float:
            return float(self.count @ (c - np.clip(c, self.low, self.high)))

        piece = _first(edges, lambda c: pull(c) >= 0)
        right = edges[min(piece, edges.size - 1)]
        left = edges[max(piece - 1, 0)]
        middle = (left + right) / 2
        below, above = self.high <= min(left, middle), self.low >= max(right, middle)
        outside = (self.count[below] @ self.high[below]) + (self.count[above] @ self.low[above])
        weight = self.count[below].sum() + self.count[above].sum()
        centre = np.clip(outside / weight, left, right) if weight else middle
        return self._spread(centre, np.clip(centre, self.low, self.high))

    def _greatest(self) -> float:
        """All samples at those ends of their bins that spread them most.

        The largest variance of distributions within the bins is the minimum over c of the sum of squares
        around c with every sample at the end that is farther from c (minimax: the sum is linear in the
        distribution and convex in c). Between the middles of bins that is quadratic in c.
        """
        middles = np.unique((self.low + self.high) / 2)

        def farther(c: float) -> Any:
            return np.where(c < (self.low + self.high) / 2, self.high, self.low)

        # At a middle the derivative jumps upwards; from the right of it the bin's samples lie low.
        piece = _first(middles, lambda c: self.count @ (c - farther(c)) >= 0)
        left = middles[piece - 1] if piece > 0 else middles[0] - 1
        right = middles[piece]
        ends = farther((left + right) / 2)
        centre = np.clip(self.count @ ends / self.total, left, right)
        return self._spread(centre, farther(centre))


def _first(values: Any, holds: Any) -> int:
    """Index of the first value for which ``holds``, which stays true from there on."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if holds(values[middle]):
            high = middle
        else:
            low = middle + 1
    return low
