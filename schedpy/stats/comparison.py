# SPDX-License-Identifier: GPL-2.0-only
"""Two means compared, and many comparisons at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from schedpy.stats._arguments import Floats, floats, fraction, refuse, scipy, where
from schedpy.stats.bins import Histogram
from schedpy.stats.moments import Interval, Moments, as_moments, interval

__all__ = ["Comparison", "Ratio", "compare", "holm", "pair", "ratio", "welch_dof"]


@dataclass(frozen=True)
class Comparison:
    """Two means compared by Welch's test, which supposes neither equal spread nor equal counts."""

    diff: Any
    """b - a, in the unit of the means."""
    percent: Any
    """The difference in percent of a's mean; NaN where that mean is 0."""
    interval: Interval
    """Of the difference."""
    t: Any
    dof: Any
    """Degrees of freedom after Welch and Satterthwaite; not an integer."""
    p: Any
    """Two-sided: how often equal means would give a \\|t\\| at least as large."""
    intervals_overlap: Any
    """Whether the intervals of the two means have a point in common. That is not a test: two means
    whose intervals overlap can differ significantly, because the standard error of a difference is
    smaller than the sum of the two standard errors."""
    cohen_d: Any
    """The difference in units of the pooled standard deviation."""
    exact: bool = True
    """False where a histogram was compared. Then ``diff`` and ``percent`` are of the middles of the bounds,
    ``interval`` holds every interval that samples in these bins can give, ``p`` is not below any of
    their p-values, ``intervals_overlap`` says whether the widest do, and ``t`` and ``cohen_d`` are those
    nearest to zero."""


@dataclass(frozen=True)
class Ratio:
    """A ratio of two means and its confidence interval."""

    value: Any
    """Mean of b by mean of a: below 1 where b is less."""
    interval: Interval


def pair(a: Any, b: Any) -> tuple[Moments, Moments, tuple[int, ...]]:
    """Both as moments, and the shape of what they broadcast to."""
    a, b = as_moments(a, "a"), as_moments(b, "b")
    try:
        return a, b, np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(f"a and b do not broadcast: shapes {a.shape} and {b.shape}") from None


def check_spread(a: Moments, b: Moments, shape: tuple[int, ...]) -> None:
    flat = np.broadcast_to((a.std == 0) & (b.std == 0), shape)
    if flat.any():
        raise ValueError(f"std{where(flat)} = 0 in both a and b: nothing to test against")


def welch_dof(error_a: Any, error_b: Any, count_a: Any, count_b: Any) -> Any:
    """Degrees of freedom of a difference, of the standard errors of both parts."""
    error = np.hypot(error_a, error_b)
    share_a, share_b = (error_a / error) ** 2, (error_b / error) ** 2
    return 1 / (share_a**2 / (count_a - 1) + share_b**2 / (count_b - 1))


def compare(a: Any, b: Any, level: float = 0.95) -> Comparison:
    """How b differs from a (broadcast against each other).

    Parameters
    ----------
    a, b : Moments, array_like of samples (along the last axis), or Histogram
        Independent samples; ``a`` is the base line. With a histogram on either side the other one is a
        histogram, or moments or samples of one mean.
    level : float
        Coverage of the interval of the difference and of those asked whether they overlap.

    Raises
    ------
    ValueError
        Neither has any spread (both std 0): there is no test then.

    Examples
    --------
    >>> c = compare(Moments(2207, 535, 3104), Moments(2162, 515, 3740))
    >>> float(c.diff), round(float(c.percent), 2), round(float(c.t), 3), bool(c.intervals_overlap)
    (-45.0, -2.04, -3.523, False)
    """
    if isinstance(a, Histogram) or isinstance(b, Histogram):
        return _compare_bounds(a, b, fraction(level, "level"))
    a, b, shape = pair(a, b)
    check_spread(a, b, shape)
    special = scipy("special")
    diff = b.mean - a.mean
    error_a, error_b = a.std / np.sqrt(a.count), b.std / np.sqrt(b.count)
    error = np.hypot(error_a, error_b)
    dof = welch_dof(error_a, error_b, a.count, b.count)
    t = diff / error
    half = special.stdtrit(dof, (1 + fraction(level, "level")) / 2) * error
    of_a, of_b = interval(a, level), interval(b, level)
    return Comparison(
        diff=diff,
        percent=_percent(diff, a.mean),
        interval=Interval(diff - half, diff + half),
        t=t,
        dof=dof,
        p=2 * special.stdtr(dof, -np.abs(t)),
        intervals_overlap=(of_a.low <= of_b.high) & (of_b.low <= of_a.high),
        cohen_d=diff / _pooled_std(a.std, b.std, a.count, b.count),
    )


def _percent(diff: Any, mean: Any) -> Any:
    with np.errstate(over="ignore"):  # a mean next to zero: the percentage is infinite
        return 100 * diff / np.where(mean == 0, np.nan, mean)


def _pooled_std(std_a: Any, std_b: Any, count_a: Any, count_b: Any) -> Any:
    weight_a, weight_b = np.sqrt(count_a - 1.0), np.sqrt(count_b - 1.0)
    return np.hypot(weight_a * std_a, weight_b * std_b) / np.hypot(weight_a, weight_b)


def _bounds(x: Any, name: str) -> tuple[Interval, float, int]:
    """Of one mean: its bounds, the greatest standard deviation, and the count."""
    if isinstance(x, Histogram):
        x.moments()
        return x.mean, float(x.std.high), x.total
    m = as_moments(x, name)
    if m.shape:
        raise ValueError(f"{name} has shape {m.shape}: beside a Histogram there must be one mean")
    return Interval(m.mean, m.mean), float(m.std), int(m.count)


def _compare_bounds(a: Any, b: Any, level: float) -> Comparison:
    """What holds of every pair of samples within the bounds."""
    special = scipy("special")
    mean_a, std_a, count_a = _bounds(a, "a")
    mean_b, std_b, count_b = _bounds(b, "b")
    if std_a == 0 and std_b == 0:
        raise ValueError("std = 0 in both a and b: nothing to test against")
    low, high = mean_b.low - mean_a.high, mean_b.high - mean_a.low
    diff, nearest = (low + high) / 2, low if low > 0 else high if high < 0 else 0.0
    error = np.hypot(std_a / np.sqrt(count_a), std_b / np.sqrt(count_b))
    dof = min(count_a, count_b) - 1  # Welch's are never fewer
    quantile = special.stdtrit(dof, (1 + level) / 2)
    of_a = special.stdtrit(count_a - 1, (1 + level) / 2) * std_a / np.sqrt(count_a)
    of_b = special.stdtrit(count_b - 1, (1 + level) / 2) * std_b / np.sqrt(count_b)
    t = nearest / error
    return Comparison(
        diff=diff,
        percent=_percent(diff, (mean_a.low + mean_a.high) / 2)[()],
        interval=Interval(low - quantile * error, high + quantile * error),
        t=t,
        dof=dof,
        p=2 * special.stdtr(dof, -abs(t)),
        intervals_overlap=bool(-(of_a + of_b) <= high and low <= of_a + of_b),
        cohen_d=nearest / _pooled_std(std_a, std_b, count_a, count_b),
        exact=False,
    )


def ratio(a: Any, b: Any, level: float = 0.95) -> Ratio:
    """The mean of b by the mean of a, with Fieller's interval.

    It holds the ratios r for which b's mean does not differ from r times a's, by the test that
    :func:`compare` makes (its degrees of freedom are taken at the ratio itself). Where a's mean cannot
    be told from zero no ratio is excluded on one side or both, and the interval is infinite.
    With samples at hand :func:`bootstrap_ratio` supposes less.

    Parameters
    ----------
    a, b : Moments or array_like of samples (along the last axis)
    level : float

    Raises
    ------
    ValueError
        A mean of a is zero.

    Examples
    --------
    >>> r = ratio(Moments(984, 395, 3124), Moments(900, 365, 3693))
    >>> [round(float(x), 3) for x in (r.value, r.interval.low, r.interval.high)]
    [0.915, 0.897, 0.932]
    """
    a, b, shape = pair(a, b)
    check_spread(a, b, shape)
    refuse(a.mean == 0, a.mean, "a: mean", "has no ratio to it")
    value = b.mean / a.mean
    error_a, error_b = a.std / np.sqrt(a.count), b.std / np.sqrt(b.count)
    part_a = np.abs(value) * error_a
    # All of b zero: only the spread of a is left.
    dof = welch_dof(np.where((part_a == 0) & (error_b == 0), 1.0, part_a), error_b, a.count, b.count)
    reach = scipy("special").stdtrit(dof, (1 + fraction(level, "level")) / 2)
    # Roots of (b - r a)^2 = reach^2 (error_b^2 + r^2 error_a^2), all by a^2: square r^2 - 2 value r + rest.
    g = (reach * error_a / a.mean) ** 2
    g_b = (reach * error_b / a.mean) ** 2
    bounded = g < 1
    square = np.where(bounded, 1 - g, 1.0)
    half = np.sqrt(np.maximum(g_b * square + g * value**2, 0)) / square
    return Ratio(
        value,
        Interval(
            np.where(bounded, value / square - half, -np.inf)[()],
            np.where(bounded, value / square + half, np.inf)[()],
        ),
    )


def holm(p: ArrayLike) -> Floats:
    """p-values corrected for asking many questions at once, after Holm (1979).

    The smallest of m is multiplied by m, the next by m - 1, and so on; none falls below one before
    it, none exceeds 1. The chance of even one false alarm stays below the level the results are
    compared with, whatever the dependence between the tests.

    Parameters
    ----------
    p : array_like of float
        All p-values of one family, of any shape, each in 0 .. 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = floats(p, "p")
    refuse((values < 0) | (values > 1), values, "p", "must lie in 0 .. 1")
    order = np.argsort(values, axis=None, kind="stable")
    steps = values.ravel()[order] * np.arange(values.size, 0, -1)
    adjusted = np.empty(values.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.reshape(values.shape)[()]
