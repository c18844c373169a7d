# SPDX-License-Identifier: GPL-2.0-only
"""What only the samples themselves can tell: ranks, distributions, and resampling."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedpy.stats._arguments import floats, fraction, scipy
from schedpy.stats.bins import Histogram
from schedpy.stats.comparison import Ratio
from schedpy.stats.moments import Interval, Moments

__all__ = ["RankTest", "bootstrap_ratio", "kolmogorov_smirnov", "mann_whitney"]

#: Above so many samples the exact distribution of the largest distance costs more than it tells.
_EXACT_MAX = 1000


@dataclass(frozen=True)
class RankTest:
    """A test of two distributions that looks at the order of the samples alone."""

    statistic: Any
    """Of :func:`mann_whitney` the share of pairs in which the sample of b is the larger one, ties counted
    half (0.5: neither is); of :func:`kolmogorov_smirnov` the largest distance of the two distributions."""
    p: Any
    """Two-sided: how often one common distribution would give a statistic at least as far out."""


def _samples(x: Any, name: str) -> NDArray[np.float64]:
    if isinstance(x, Moments | Histogram):
        kind = type(x).__name__
        raise TypeError(
            f"{name} must be an array of samples, not {kind}: the order of samples is not in them"
        )
    values = floats(x, name)
    if values.ndim == 0:
        raise TypeError(f"{name} must be an array of samples, not one number")
    if values.shape[-1] < 2:
        raise ValueError(f"{name} has {values.shape[-1]} samples: at least 2 are needed")
    return values


def _pair(a: Any, b: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, b = _samples(a, "a"), _samples(b, "b")
    try:
        shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ValueError(f"a and b do not broadcast: shapes {a.shape} and {b.shape}") from None
    return np.broadcast_to(a, (*shape, a.shape[-1])), np.broadcast_to(b, (*shape, b.shape[-1]))


def mann_whitney(a: Any, b: Any) -> RankTest:
    """The test of Mann, Whitney and Wilcoxon: is a sample of b as often above one of a as below?

    Parameters
    ----------
    a, b : array_like of samples (along the last axis)

    Returns
    -------
    RankTest
        With ties the p-value is corrected for them; it is exact where there are none and one side
        has at most 8 samples, and else that of the normal distribution.

    Examples
    --------
    >>> m = mann_whitney([1, 2, 3, 4], [3.5, 4.5, 5.5, 6.5])
    >>> float(m.statistic), round(float(m.p), 4)
    (0.9375, 0.0571)
    """
    a, b = _pair(a, b)
    if a.size == 0 or b.size == 0:
        return RankTest(np.empty(a.shape[:-1]), np.empty(a.shape[:-1]))
    result = scipy("stats").mannwhitneyu(b, a, axis=-1, alternative="two-sided")
    # All samples equal: no order speaks against one distribution.
    p = np.where(np.isnan(result.pvalue), 1.0, result.pvalue)[()]
    return RankTest(result.statistic / (a.shape[-1] * b.shape[-1]), p)


def kolmogorov_smirnov(a: Any, b: Any) -> RankTest:
    """The test of Kolmogorov and Smirnov: do both come from one distribution, whatever it is?

    Parameters
    ----------
    a, b : array_like of samples (along the last axis)

    Returns
    -------
    RankTest
        The p-value is exact up to 1000 samples on the larger side where SciPy can count the ways, and
        else that of the limit. With many ties, as a coarse clock makes them, it is larger than the true
        one: a small p can be trusted.

    Examples
    --------
    >>> float(kolmogorov_smirnov([1, 2, 3, 4], [3.5, 4.5, 5.5, 6.5]).statistic)
    0.75
    """
    a, b = _pair(a, b)
    if a.size == 0 or b.size == 0:
        return RankTest(np.empty(a.shape[:-1]), np.empty(a.shape[:-1]))
    method = "exact" if max(a.shape[-1], b.shape[-1]) <= _EXACT_MAX else "asymp"
    with warnings.catch_warnings():
        # Where the exact count is out of reach SciPy says that it takes the limit, as documented here.
        warnings.simplefilter("ignore", RuntimeWarning)
        result = scipy("stats").ks_2samp(a, b, axis=-1, method=method)
    return RankTest(result.statistic, result.pvalue)


def _ratio_of_means(a: Any, b: Any, axis: int) -> Any:
    base = a.mean(axis=axis)
    if np.min(base) <= 0:
        raise ValueError(f"a: a mean that is drawn is {np.min(base):g}: must be positive to divide by")
    return b.mean(axis=axis) / base


def bootstrap_ratio(a: Any, b: Any, level: float = 0.95, *, resamples: int = 9999, seed: int = 0) -> Ratio:
    """The mean of b by the mean of a, with the interval that resampling gives.

    Both sides are drawn from anew, with replacement; the interval is bias-corrected and accelerated
    (BCa, Efron 1987), so that neither a normal distribution nor a symmetric one is supposed.

    Parameters
    ----------
    a, b : array_like of samples
        One row each, of at least 2 samples.
    level : float
    resamples : int
        From 100 to a million.
    seed : int
        Of the draws: the same one gives the same interval.

    Raises
    ------
    ValueError
        A mean that is drawn of a is not positive, so that there is no ratio; or neither side has any spread.

    Examples
    --------
    >>> r = bootstrap_ratio([10, 12, 11, 13], [9, 10, 9, 11], resamples=999)
    >>> round(float(r.value), 3), bool(r.interval.high < 1)
    (0.848, True)
    """
    a, b = _samples(a, "a"), _samples(b, "b")
    for values, name in ((a, "a"), (b, "b")):
        if values.ndim > 1:
            raise ValueError(f"{name} has shape {values.shape}: must be one row of samples")
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        raise ValueError("a and b hold one value each: there is nothing to draw from")
    level = fraction(level, "level")
    for name, number, low, high in (
        ("resamples", resamples, 100, 10**6),
        ("seed", seed, 0, 2**63 - 1),
    ):
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise TypeError(f"{name} = {number!r}: must be an integer")
        if not low <= number <= high:
            raise ValueError(f"{name} = {number}: must lie in {low} .. {high}")
    result = scipy("stats").bootstrap(
        (a, b),
        _ratio_of_means,
        vectorized=True,
        confidence_level=level,
        n_resamples=int(resamples),
        batch=max(1, 2**20 // max(a.size, b.size)),
        method="BCa",
        random_state=np.random.default_rng(int(seed)),
    )
    low, high = result.confidence_interval
    return Ratio(b.mean() / a.mean(), Interval(low, high))
