# SPDX-License-Identifier: GPL-2.0-only
"""How many samples a difference needs to be seen, and which differences some samples can show."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from schedpy.stats._arguments import floats, fraction, refuse, scipy
from schedpy.stats.comparison import check_spread, pair, welch_dof
from schedpy.stats.moments import Moments

__all__ = ["Counts", "counts_needed", "power", "smallest_difference"]

_COUNT_MAX = 2**53


@dataclass(frozen=True)
class Counts:
    """Numbers of samples of both sides."""

    a: Any
    b: Any


def power(a: Any, b: Any, *, difference: Any = None, level: float = 0.95) -> Any:
    """How often Welch's test would tell a true difference, with these spreads and counts.

    Parameters
    ----------
    a, b : Moments or array_like of samples (along the last axis)
        Their means serve as the difference alone.
    difference : array_like of float, optional
        The true one, in the unit of the means. None: the one that is seen. The power for that says
        nothing that its p-value does not say (p = 0.05 has a power of about one half); it tells what
        a repetition would find if the difference were true.
    level : float
        The test tells a difference where p < 1 - level.

    Returns
    -------
    ndarray or float
        Between 1 - level (no difference) and 1.

    Examples
    --------
    >>> round(float(power(Moments(1897, 504, 3119), Moments(1864, 515, 3717))), 2)
    0.76
    """
    a, b, difference = _plan(a, b, difference)
    return _power(a, b, difference, a.count, b.count, fraction(level, "level"))


def _plan(a: Any, b: Any, difference: Any) -> tuple[Moments, Moments, Any]:
    a, b, shape = pair(a, b)
    check_spread(a, b, shape)
    if difference is None:
        return a, b, b.mean - a.mean
    wanted = floats(difference, "difference")
    try:
        np.broadcast_shapes(shape, wanted.shape)
    except ValueError:
        raise ValueError(f"difference of shape {wanted.shape} does not broadcast to {shape}") from None
    return a, b, wanted


def _power(a: Moments, b: Moments, difference: Any, count_a: Any, count_b: Any, level: float) -> Any:
    special = scipy("special")
    error_a, error_b = a.std / np.sqrt(count_a), b.std / np.sqrt(count_b)
    dof = welch_dof(error_a, error_b, count_a, count_b)
    shift = np.abs(difference) / np.hypot(error_a, error_b)
    critical = special.stdtrit(dof, (1 + level) / 2)
    # Of the noncentral t; SciPy gives NaN where less than 1e-100 lies below the threshold.
    below, above = (special.nctdtr(dof, shift, end) for end in (-critical, critical))
    seen = np.nan_to_num(below, nan=0.0) + (1 - np.nan_to_num(above, nan=0.0))
    return np.clip(seen, 1 - level, 1.0)[()]


def counts_needed(
    a: Any, b: Any, *, difference: Any = None, power: float = 0.8, level: float = 0.95
) -> Counts:
    """The fewest samples with which Welch's test tells a true difference often enough.

    Parameters
    ----------
    a, b : Moments or array_like of samples (along the last axis)
        Their spreads count, and the proportion of their counts, which is kept.
    difference : array_like of float, optional
        The true one, in the unit of the means. None: the one that is seen.
    power : float
        How often it shall be told.
    level : float
        The test tells a difference where p < 1 - level.

    Returns
    -------
    Counts
        Of int64 arrays or scalars; each at least 2.

    Raises
    ------
    ValueError
        A difference is zero, or so small beside the spread that more than 2**53 samples were needed.

    Examples
    --------
    A difference of 33 ns with a spread of 500 ns:

    >>> n = counts_needed(Moments(1897, 504, 3119), Moments(1864, 515, 3717))
    >>> int(n.a), int(n.b)
    (3436, 4095)
    """
    wanted = fraction(power, "power")
    level = fraction(level, "level")
    a, b, difference = _plan(a, b, difference)
    refuse(np.equal(difference, 0), np.asarray(difference), "difference", "no number of samples tells that")
    shape = np.broadcast_shapes(a.shape, b.shape, np.shape(difference))
    per_a = np.broadcast_to(b.count / a.count, shape)

    def of_b(count: Any) -> Any:
        return np.maximum(np.ceil(count * per_a), 2)

    def enough(count: Any) -> Any:
        return _power(a, b, difference, count, of_b(count), level) >= wanted

    low, high = np.full(shape, 1.0), np.full(shape, 2.0)
    while not (found := enough(high)).all():
        low, high = np.where(found, low, high), np.where(found, high, 2 * high)
        if high.max() * max(1.0, per_a.max()) > _COUNT_MAX:
            raise ValueError("difference: so small beside the spread that it needs more than 2**53 samples")
    # low is too few (or 1), high is enough: halve what lies between.
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        found = enough(np.maximum(middle, 2))
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return Counts(high.astype(np.int64)[()], of_b(high).astype(np.int64)[()])


def smallest_difference(a: Any, b: Any, *, power: float = 0.8, level: float = 0.95) -> Any:
    """The smallest true difference that Welch's test tells often enough, with these spreads and counts.

    Parameters
    ----------
    a, b : Moments or array_like of samples (along the last axis)
        Spreads and counts; the means do not matter.
    power : float
        How often it shall be told.
    level : float
        The test tells a difference where p < 1 - level.

    Returns
    -------
    ndarray or float
        In the unit of the means, to a millionth of the standard error.

    Examples
    --------
    >>> round(float(smallest_difference(Moments(1897, 504, 3119), Moments(1864, 515, 3717))), 1)
    34.6
    """
    wanted = fraction(power, "power")
    level = fraction(level, "level")
    a, b, shape = pair(a, b)
    check_spread(a, b, shape)
    error = np.hypot(a.std / np.sqrt(a.count), b.std / np.sqrt(b.count))
    if np.size(error) == 0:
        return np.empty(shape)
    low, high = np.zeros(shape), np.ones(shape)
    while not (found := _power(a, b, high * error, a.count, b.count, level) >= wanted).all():
        low, high = np.where(found, low, high), np.where(found, high, 2 * high)
    while (high - low > 1e-6).any():
        middle = (low + high) / 2
        found = _power(a, b, middle * error, a.count, b.count, level) >= wanted
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return (high * error)[()]
