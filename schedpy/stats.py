# SPDX-License-Identifier: GPL-2.0-only
"""What a table of means, standard deviations and counts says: intervals, differences, tests.

Measurements on mailing lists are printed as moments, without the samples. These functions take the
moments, scalars or arrays that broadcast, and give what follows from them: Student's interval of a
mean, Welch's comparison of two, Holm's correction of many. SciPy computes the distributions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Comparison", "Interval", "Moments", "compare", "holm", "interval"]

Floats = NDArray[np.float64] | np.float64


def _special() -> Any:
    try:
        import scipy.special
    except ImportError as error:
        raise ImportError("schedpy.stats needs SciPy: pip install 'schedpy[lab]'") from error
    return scipy.special


def _where(bad: NDArray[np.bool_]) -> str:
    """``[i, j]`` of the first offender; nothing for a scalar."""
    return f"[{', '.join(str(int(i)) for i in np.argwhere(bad)[0])}]" if bad.ndim else ""


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], name: str, allowed: str) -> None:
    bad, values = np.broadcast_arrays(bad, values)
    if bad.any():
        raise ValueError(f"{name}{_where(bad)} = {values[bad].flat[0]}: {allowed}")


def _numbers(x: ArrayLike, name: str) -> NDArray[Any]:
    """``x`` as an array of real numbers in the type it came in."""
    try:
        values = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name} is no array of numbers: {error}") from None
    if values.size == 0 and values.dtype == np.float64:
        return values
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real numbers, not {values.dtype}")
    return values


def _floats(x: ArrayLike, name: str) -> NDArray[np.float64]:
    values = _numbers(x, name).astype(np.float64)
    _refuse(~np.isfinite(values), values, name, "must be finite")
    return values


def _counts(x: ArrayLike, name: str) -> NDArray[np.int64]:
    values = _numbers(x, name)
    if values.size and values.dtype.kind == "f":
        raise TypeError(f"{name} must be integers, not {values.dtype}")
    _refuse(values < 2, values, name, "must be at least 2: one sample has no standard deviation")
    _refuse(values > 2**63 - 1, values, name, "must be below 2**63")
    return values.astype(np.int64)


@dataclass(frozen=True)
class Moments:
    """Mean, standard deviation (n - 1 in the denominator) and number of samples.

    Parameters
    ----------
    mean, std : array_like of float
        In any unit, the same for both. ``std`` is not negative.
    count : array_like of int
        At least 2.

    The three are kept as arrays (scalars as 0-d values) of one common shape.

    Examples
    --------
    >>> Moments(10791, 2262, 3124).std.item()
    2262.0
    """

    mean: Any
    std: Any
    count: Any

    def __post_init__(self) -> None:
        mean, std = _floats(self.mean, "mean"), _floats(self.std, "std")
        count = _counts(self.count, "count")
        _refuse(std < 0, std, "std", "must not be negative")
        try:
            parts = np.broadcast_arrays(mean, std, count)
        except ValueError:
            shapes = f"{mean.shape}, {std.shape}, {count.shape}"
            raise ValueError(f"mean, std and count do not broadcast: shapes {shapes}") from None
        for name, part in zip(("mean", "std", "count"), parts, strict=True):
            object.__setattr__(self, name, part[()])

    @property
    def shape(self) -> tuple[int, ...]:
        """The common shape of the three; ``()`` for scalars."""
        return np.shape(self.mean)

    @classmethod
    def of(cls, samples: ArrayLike, axis: int | None = None) -> "Moments":
        """The moments of ``samples``, over all of them or along ``axis``.

        Raises
        ------
        ValueError
            Fewer than two samples, or one that is not finite.

        Examples
        --------
        >>> m = Moments.of([1, 2, 3, 4])
        >>> m.mean.item(), m.count.item()
        (2.5, 4)
        """
        values = _floats(samples, "samples")
        if axis is not None and not isinstance(axis, int | np.integer):
            raise TypeError(f"axis = {axis!r}: must be an integer")
        if axis is not None and not -values.ndim <= axis < values.ndim:
            raise ValueError(f"axis = {axis}: samples have {values.ndim} dimensions")
        count = values.size if axis is None else values.shape[axis]
        if count < 2:
            raise ValueError(f"samples: {count} along the axis, at least 2 are needed")
        return cls(values.mean(axis=axis), values.std(axis=axis, ddof=1), count)


@dataclass(frozen=True)
class Interval:
    """A confidence interval, both ends included."""

    low: Any
    high: Any

    @property
    def half_width(self) -> Any:
        """What a table prints after "+/-"."""
        return (self.high - self.low) / 2


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


def _level(level: float) -> float:
    if isinstance(level, bool) or not isinstance(level, (int, float, np.floating)):
        raise TypeError(f"level must be a number between 0 and 1, not {type(level).__name__}")
    if not 0 < level < 1:
        raise ValueError(f"level = {level}: must lie between 0 and 1, ends excluded")
    return float(level)


def _moments(x: Moments, name: str) -> Moments:
    if not isinstance(x, Moments):
        raise TypeError(f"{name} must be Moments, not {type(x).__name__}: Moments.of(samples) makes them")
    return x


def interval(moments: Moments, level: float = 0.95) -> Interval:
    """Student's confidence interval of the mean.

    Parameters
    ----------
    moments : Moments
    level : float
        Coverage, between 0 and 1.

    Returns
    -------
    Interval
        ``low`` and ``high`` in the unit and the shape of the moments.

    Examples
    --------
    A published "10657 +/- 71" whose own std and count give 72:

    >>> round(float(interval(Moments(10657, 2240, 3741)).half_width), 2)
    71.8
    """
    m = _moments(moments, "moments")
    quantile = _special().stdtrit(m.count - 1, (1 + _level(level)) / 2)
    half = quantile * m.std / np.sqrt(m.count)
    return Interval(m.mean - half, m.mean + half)


def compare(a: Moments, b: Moments, level: float = 0.95) -> Comparison:
    """How b differs from a (broadcast against each other).

    Parameters
    ----------
    a, b : Moments
        Independent samples; ``a`` is the base line.
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
    a, b = _moments(a, "a"), _moments(b, "b")
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(f"a and b do not broadcast: shapes {a.shape} and {b.shape}") from None
    flat = np.broadcast_to((a.std == 0) & (b.std == 0), shape)
    if flat.any():
        raise ValueError(f"std{_where(flat)} = 0 in both a and b: nothing to test against")

    special = _special()
    diff = b.mean - a.mean
    error_a, error_b = a.std / np.sqrt(a.count), b.std / np.sqrt(b.count)
    error = np.hypot(error_a, error_b)
    share_a, share_b = (error_a / error) ** 2, (error_b / error) ** 2
    dof = 1 / (share_a**2 / (a.count - 1) + share_b**2 / (b.count - 1))
    t = diff / error
    half = special.stdtrit(dof, (1 + _level(level)) / 2) * error
    of_a, of_b = interval(a, level), interval(b, level)
    weight_a, weight_b = np.sqrt(a.count - 1.0), np.sqrt(b.count - 1.0)
    pooled = np.hypot(weight_a * a.std, weight_b * b.std) / np.hypot(weight_a, weight_b)
    with np.errstate(over="ignore"):  # a mean next to zero: the percentage is infinite
        percent = 100 * diff / np.where(a.mean == 0, np.nan, a.mean)
    return Comparison(
        diff=diff,
        percent=percent,
        interval=Interval(diff - half, diff + half),
        t=t,
        dof=dof,
        p=2 * special.stdtr(dof, -np.abs(t)),
        intervals_overlap=(of_a.low <= of_b.high) & (of_b.low <= of_a.high),
        cohen_d=diff / pooled,
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
    values = _floats(p, "p")
    _refuse((values < 0) | (values > 1), values, "p", "must lie in 0 .. 1")
    order = np.argsort(values, axis=None, kind="stable")
    steps = values.ravel()[order] * np.arange(values.size, 0, -1)
    adjusted = np.empty(values.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.reshape(values.shape)[()]
