# SPDX-License-Identifier: GPL-2.0-only
"""What the arms of a placement timing gain over the walk, and how often equal arms look equal."""

import numpy as np
import pandas as pd
import scipy.special

from schedpy import stats
from schedpy._coerce import as_number
from schedpy.lab.phases_tables import LEVEL
from schedpy.lab.timing import Timing

__all__ = ["coverage", "gains"]


def middle_mean(samples, axis=-1):
    """The mean of the middle half: no interrupt moves it, and the counter's steps average out.

    Examples
    --------
    >>> float(middle_mean([1, 2, 3, 4, 5, 6, 7, 1000]))
    4.5
    """
    ordered = np.sort(np.moveaxis(np.asarray(samples, dtype=float), axis, -1), axis=-1)
    n = ordered.shape[-1]
    return ordered[..., n // 4 : n - n // 4].mean(axis=-1)


def over_repetitions(values, level=LEVEL):
    """Mean and Student's interval of one value per repetition."""
    moments = stats.Moments.of(values)
    interval = stats.interval(moments, level)
    return float(moments.mean), float(interval.low), float(interval.high)


def _timing(timing):
    if not isinstance(timing, Timing):
        raise TypeError(f"timing must be a Timing, not {type(timing).__name__}")
    return timing


def gains(timing):
    """Each arm beside the walk: its time, the difference, and the ratio, with intervals.

    Repetitions are the unit: each gives one value, the mean of the middle half of its placements (of the
    differences placement by placement for ``diff``), and the intervals are Student's over the
    repetitions, 95 % for each row by itself. Which of two equal arms is which was drawn for every
    placement, so a difference of theirs is as likely to be positive as negative whatever else the
    machine does: the A/A rows (walk again) contain zero as often as they should, see :func:`coverage`.

    Parameters
    ----------
    timing : Timing
        Of ``phases.measure``.

    Returns
    -------
    DataFrame
        Indexed by arm ("lut", "walk again", ...), phase and cpu. ``states``: median of what the walk visits;
        ``walk_ns``, ``arm_ns``; ``diff`` = arm - walk in ns; ``ratio`` = walk / arm, above 1 where the arm is
        faster; each with ``_low`` and ``_high``; ``told``: whether the interval of the difference excludes
        zero.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.gains(phases.measure(repetitions=5)).loc["walk again"].shape
    (7, 10)
    """
    _timing(timing)
    parts = {
        name: pd.DataFrame([_gain(timing, row, arm) for row in range(len(timing.phase))], index=timing.index)
        for arm, name in enumerate(timing.arm_names)
        if arm
    }
    return pd.concat(parts, names=["arm"])


def _gain(timing, row, arm):
    walk, other = timing.of(row, 0), timing.of(row, arm)
    walks, others = middle_mean(walk), middle_mean(other)
    diff, diff_low, diff_high = over_repetitions(middle_mean(other - walk))
    ratio = np.exp(over_repetitions(np.log(walks / others)))
    return {
        "states": np.median(timing.states[timing.row == row]),
        "walk_ns": walks.mean(),
        "arm_ns": others.mean(),
        "diff": diff,
        "diff_low": diff_low,
        "diff_high": diff_high,
        "ratio": ratio[0],
        "ratio_low": ratio[1],
        "ratio_high": ratio[2],
        "told": not diff_low <= 0 <= diff_high,
    }


def coverage(timing, *, size=5):
    """How often the 95 % interval of walk against walk contains zero.

    The repetitions are cut into runs of ``size``, and each run gives an interval per row, as
    :func:`gains` computes it.

    Parameters
    ----------
    timing : Timing
        Of ``phases.measure``; the more repetitions, the more is told.
    size : int
        Repetitions per interval, at least 3.

    Returns
    -------
    DataFrame
        Per phase and cpu, and in the row ("all", ""): ``intervals``, how many of them ``contain`` zero, the
        ``share``, and its own exact 95 % interval ``share_low`` .. ``share_high`` (Clopper and Pearson), in
        which 0.95 should lie.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> int(phases.coverage(phases.measure(repetitions=20)).loc[("all", ""), "intervals"])
    28
    """
    _timing(timing)
    size = as_number(size, "size", low=3)
    runs = timing.repetitions // size
    if not runs:
        raise ValueError(f"size = {size}: the timing has {timing.repetitions} repetitions")
    contain = [_contain(timing, row, runs, size) for row in range(len(timing.phase))]
    index = pd.MultiIndex.from_tuples([*timing.index, ("all", "")], names=timing.index.names)
    frame = pd.DataFrame({"intervals": runs, "contain": [*contain, sum(contain)]}, index=index)
    frame.loc[("all", ""), "intervals"] = runs * len(contain)
    k, n = frame["contain"].to_numpy(), frame["intervals"].to_numpy()
    tail = (1 - LEVEL) / 2
    low = scipy.special.betaincinv(np.maximum(k, 1), n - k + 1, tail)
    high = scipy.special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail)
    return frame.assign(
        share=k / n, share_low=np.where(k == 0, 0.0, low), share_high=np.where(k == n, 1.0, high)
    )


def _contain(timing, row, runs, size):
    again = timing.arm_names.index("walk again")
    values = middle_mean(timing.of(row, again) - timing.of(row, 0))[: runs * size].reshape(runs, size)
    interval = stats.interval(stats.Moments.of(values, axis=1), LEVEL)
    return int(((interval.low <= 0) & (interval.high >= 0)).sum())
