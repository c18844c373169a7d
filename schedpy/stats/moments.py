# SPDX-License-Identifier: GPL-2.0-only
"""Mean, standard deviation and count, and the interval of a mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from schedpy.stats._arguments import counts, floats, fraction, refuse, scipy

__all__ = ["Interval", "Moments", "as_moments", "interval"]


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
        mean, std = floats(self.mean, "mean"), floats(self.std, "std")
        count = counts(self.count, "count")
        refuse(std < 0, std, "std", "must not be negative")
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
        values = floats(samples, "samples")
        _check_axis(axis, values.ndim)
        count = values.size if axis is None else values.shape[axis]
        if count < 2:
            raise ValueError(f"samples: {count} along the axis, at least 2 are needed")
        return cls(values.mean(axis=axis), values.std(axis=axis, ddof=1), count)

    def pooled(self, axis: int | None = None) -> "Moments":
        """The moments of all samples of several groups together.

        Parameters
        ----------
        axis : int, optional
            The axis that runs over the groups; None: all of them.

        Raises
        ------
        ValueError
            There are no groups, or there is no such axis.

        Examples
        --------
        >>> m = Moments([1.5, 3.5], [0.5**0.5, 0.5**0.5], 2).pooled()
        >>> bool(m == Moments.of([1, 2, 3, 4]))
        True
        """
        mean, std, count = (np.asarray(part, dtype=np.float64) for part in (self.mean, self.std, self.count))
        _check_axis(axis, mean.ndim)
        if 0 in (mean.shape if axis is None else (mean.shape[axis],)):
            raise ValueError("axis: there are no groups along it to pool")
        total = count.sum(axis=axis)
        middle = (count * mean).sum(axis=axis, keepdims=True) / count.sum(axis=axis, keepdims=True)
        within = ((count - 1) * std**2).sum(axis=axis)
        between = (count * (mean - middle) ** 2).sum(axis=axis)
        return Moments(
            middle.reshape(total.shape),
            np.sqrt((within + between) / (total - 1)),
            np.asarray(self.count).sum(axis=axis),
        )


def _check_axis(axis: Any, ndim: int) -> None:
    if axis is not None and not isinstance(axis, int | np.integer):
        raise TypeError(f"axis = {axis!r}: must be an integer")
    if axis is not None and not -ndim <= axis < ndim:
        raise ValueError(f"axis = {axis}: samples have {ndim} dimensions")


@dataclass(frozen=True)
class Interval:
    """A confidence interval, both ends included."""

    low: Any
    high: Any

    @property
    def half_width(self) -> Any:
        """What a table prints after "+/-"."""
        return (self.high - self.low) / 2


def as_moments(x: Any, name: str) -> Moments:
    """Moments as they are, or those of samples along the last axis."""
    if isinstance(x, Moments):
        return x
    # A tuple is more likely (mean, std, count) than three samples.
    samples = np.empty(()) if isinstance(x, tuple) or not hasattr(x, "__len__") else floats(x, name)
    if samples.ndim == 0:
        raise TypeError(f"{name} must be Moments or an array of samples, not {type(x).__name__}")
    if samples.shape[-1] < 2:
        raise ValueError(f"{name} has {samples.shape[-1]} samples: at least 2 are needed")
    return Moments.of(samples, axis=-1)


def interval(moments: Any, level: float = 0.95) -> Interval:
    """Student's confidence interval of the mean.

    Parameters
    ----------
    moments : Moments or array_like of samples
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
    m = as_moments(moments, "moments")
    quantile = scipy("special").stdtrit(m.count - 1, (1 + fraction(level, "level")) / 2)
    half = quantile * m.std / np.sqrt(m.count)
    return Interval(m.mean - half, m.mean + half)
