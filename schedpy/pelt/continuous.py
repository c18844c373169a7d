# SPDX-License-Identifier: GPL-2.0-only
"""The signal that PELT approximates: a real-valued exponential average, and its closed forms.

It runs from 0 to 1024, and its half-life is exactly ``half_life`` windows of 1.048576 ms. What the
integers of a kernel give differs: by less than 1 for rounding down, by up to half a thousandth of full
scale for the sums' own rounding, and, since PELT counts every part of a window as equally old, by up to
2.8 where running keeps step with windows.
"""

from dataclasses import dataclass

import numpy as np

from schedpy._coerce import as_array, as_bool, as_int, refuse_lazy
from schedpy.pelt.state import broadcast_shape

__all__ = ["Swing", "continuous", "settling_time", "swing", "time_to_reach"]

_FULL = 1024.0
_WINDOW_NS = 1 << 20
_HALF_LIFE_LIMIT = 2048


@dataclass(frozen=True, eq=False)
class Swing:
    """The steady state of a duty cycle: where it turns, ``low`` and ``high``, and its mean over time."""

    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray

    @property
    def width(self):
        """From ``low`` to ``high``."""
        return self.high - self.low


def _half_life_ns(half_life):
    return as_int(half_life, "half_life", np.int64, low=1, high=_HALF_LIFE_LIMIT) * _WINDOW_NS


def _first(bad, *arrays):
    """Where the first True is, for a message, and the values of the arrays there."""
    index = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(bad)))
    where = str(list(index)) if np.ndim(bad) else ""
    return where, *(np.broadcast_to(array, np.shape(bad))[index if np.ndim(bad) else ()] for array in arrays)


def _as_real(x, name):
    refuse_lazy(x, name)
    array = as_array(x, name)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must hold numbers, not {array.dtype}")
    return array.astype(np.float64)


def _as_signal(x, name):
    array = _as_real(x, name)
    bad = ~((array >= 0) & (array <= _FULL))
    if bad.any():
        where, value = _first(bad, array)
        raise ValueError(f"{name}{where} = {value}: must be 0 .. 1024")
    return array


def _decay_exponent(ns, half_life_ns):
    """The signal halves so often in that time."""
    return np.asarray(ns, np.float64) / half_life_ns


def _reached(exponent):
    """``1 - 2^-exponent``, exact for small exponents too."""
    return -np.expm1(-np.log(2) * exponent)


def continuous(now, running, half_life=32):
    """The real-valued signal at each point of a stream of events.

    Parameters
    ----------
    now : array_like of int, shape (..., n)
        ns, unsigned 64 bit, not going backwards; datetime64[ns] too. The signal is 0 at the first one.
    running : array_like of bool
        Whether the entity ran in the time up to ``now``; of the first one unused. Broadcasts with ``now``.
    half_life : array_like of int
        In windows, 1 .. 2048; broadcasts with ``now``.

    Returns
    -------
    float64 array, shape (..., n)
        ``1024 + (before - 1024) 2^(-t / half-life)`` after running for t, ``before * 2^(-t / half-life)``
        after not running.

    Raises
    ------
    ValueError
        Time goes backwards, a value is out of range, shapes do not broadcast.
    TypeError
        Something else than integers and bools.

    Examples
    --------
    Up for two half-lives, down for one:

    >>> from schedpy import pelt
    >>> pelt.continuous([0, 33_554_432, 67_108_864, 100_663_296], [True, True, True, False]).tolist()
    [0.0, 512.0, 768.0, 384.0]
    """
    now = as_int(now, "now", np.uint64, time=True)
    if now.ndim == 0:
        raise ValueError("now must have an axis of time, shape (..., n)")
    running = as_bool(running, "running")
    half_life_ns = _half_life_ns(half_life)
    backwards = now[..., 1:] < now[..., :-1]
    if backwards.any():
        _, earlier, later = _first(backwards, now[..., :-1], now[..., 1:])
        raise ValueError(f"now must not go backwards: {later} after {earlier}")
    shape = broadcast_shape({"now": now, "running": running, "half_life": half_life_ns})
    elapsed = np.diff(now, axis=-1, prepend=now[..., :1])
    exponent = np.broadcast_to(_decay_exponent(elapsed, half_life_ns), shape)
    return _accumulate(np.exp2(-exponent), np.where(running, _FULL * _reached(exponent), 0.0))


def _accumulate(keep, add):
    """``s[i] = keep[i] s[i-1] + add[i]`` along the last axis, both overwritten.

    By doubling: after each pass an entry accounts for twice as many of its predecessors.
    """
    reach = 1
    while reach < add.shape[-1]:
        add[..., reach:] += keep[..., reach:] * add[..., :-reach]
        keep[..., reach:] *= keep[..., :-reach]
        reach *= 2
    return add


def _duty(run_ns, period_ns, half_life):
    run = as_int(run_ns, "run_ns", np.int64, low=0, time=True)
    period = as_int(period_ns, "period_ns", np.int64, low=1, time=True)
    half_life_ns = _half_life_ns(half_life)
    broadcast_shape({"run_ns": run, "period_ns": period, "half_life": half_life_ns})
    too_long = run > period
    if too_long.any():
        where, value, limit = _first(too_long, run, period)
        raise ValueError(f"run_ns{where} = {value}: must be 0 .. period_ns, {limit}")
    return run, period, half_life_ns


def _steady(run, period, half_life_ns):
    """A run lifts ``low`` to ``high``, the rest of the period lets it down to ``low`` again."""
    in_run, in_rest = (_decay_exponent(ns, half_life_ns) for ns in (run, period - run))
    high = _FULL * _reached(in_run) / _reached(in_run + in_rest)
    return Swing(high * np.exp2(-in_rest), high, _FULL * run / period)


def swing(run_ns, period_ns, half_life=32):
    """Between what values the signal of a periodic task swings once it has settled.

    Parameters
    ----------
    run_ns, period_ns : array_like of int
        The task runs for ``run_ns`` at a stretch, every ``period_ns``; timedelta64[ns] too.
        0 <= run_ns <= period_ns, period_ns >= 1.
    half_life : array_like of int
        In windows, 1 .. 2048.

    Returns
    -------
    Swing
        float64: ``low`` when a run begins, ``high`` when it ends, ``mean`` over time, ``width`` between.

    Raises
    ------
    ValueError, TypeError
        A value out of range, shapes that do not broadcast; something else than integers.

    Notes
    -----
    With ``y(t) = 2^(-t / half-life)``: ``high = 1024 (1 - y(run)) / (1 - y(period))`` and
    ``low = high * y(period - run)``.

    Examples
    --------
    3.2 ms every 16 ms, which is 20 %:

    >>> from schedpy import pelt
    >>> s = pelt.swing(3_200_000, 16_000_000)
    >>> [round(float(x), 2) for x in (s.width, s.high - s.mean, s.mean - s.low)]
    [54.07, 27.93, 26.14]
    """
    return _steady(*_duty(run_ns, period_ns, half_life))


def time_to_reach(value, start=0, half_life=32):
    """How long the signal takes from ``start`` to ``value``, by running all the time or not at all.

    Parameters
    ----------
    value : array_like of float
        0 .. 1024. Above ``start`` the entity runs, below it sleeps. Only approached, never reached
        and therefore refused: 1024 from below and 0 from above.
    start : array_like of float
        0 .. 1024.
    half_life : array_like of int
        In windows, 1 .. 2048.

    Returns
    -------
    int64 array
        ns, the first whole one at which the signal is at ``value`` or past it; 0 where they are equal.

    Raises
    ------
    ValueError, TypeError
        A value out of range or never reached, shapes that do not broadcast; something else than numbers.

    Notes
    -----
    ``half-life * log2((1024 - start) / (1024 - value))`` upwards, ``half-life * log2(start / value)``
    downwards.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.time_to_reach([512, 768, 820]).tolist()
    [33554432, 67108864, 78100446]
    >>> int(pelt.time_to_reach(256, start=1024))
    67108864
    """
    value, start = _as_signal(value, "value"), _as_signal(start, "start")
    half_life_ns = _half_life_ns(half_life)
    broadcast_shape({"value": value, "start": start, "half_life": half_life_ns})
    never = (value != start) & ((value == _FULL) | (value == 0))
    if never.any():
        where, wanted, begin = _first(never, value, start)
        raise ValueError(f"value{where} = {wanted}: never reached from {begin}, only approached")
    up = value > start
    further = np.where(up, _FULL - start, start)
    nearer = np.where(up, _FULL - value, value)
    return _time_to_shrink(further, nearer, half_life_ns)


def _time_to_shrink(distance, wanted, half_life_ns):
    """The first whole ns at which a distance that halves every half-life is no more than what is wanted."""
    ratio = np.divide(
        distance, wanted, out=np.ones(np.broadcast(distance, wanted).shape), where=distance > wanted
    )
    return np.ceil(half_life_ns * np.log2(ratio)).astype(np.int64)[()]


def settling_time(run_ns, period_ns, tolerance, half_life=32):
    """How long a periodic task, new at 0, takes to come within a tolerance of its steady state for good.

    Parameters
    ----------
    run_ns, period_ns : array_like of int
        As `swing`; the first run begins at time 0 with the signal at 0.
    tolerance : array_like of float
        On the scale of 0 .. 1024, above 0.
    half_life : array_like of int
        In windows, 1 .. 2048.

    Returns
    -------
    int64 array
        ns, the first whole one from which on the signal differs by no more than the tolerance from what
        it is at the same place of a period in steady state.

    Raises
    ------
    ValueError, TypeError
        A value out of range, shapes that do not broadcast; something else than numbers.

    Notes
    -----
    Two signals of the same task differ by ``d`` at one time and by ``d * 2^(-t / half-life)`` a time t later,
    whatever the task does. At 0 that is the ``low`` of `swing`, so the closed form is
    ``half-life * log2(low / tolerance)``.

    Examples
    --------
    20 ms every 100 ms, until it is exact to 1 of 1024:

    >>> from schedpy import pelt
    >>> int(pelt.settling_time(20_000_000, 100_000_000, 1))
    209656770
    """
    run, period, half_life_ns = _duty(run_ns, period_ns, half_life)
    tolerance = _as_real(tolerance, "tolerance")
    bad = ~((tolerance > 0) & np.isfinite(tolerance))
    if bad.any():
        where, value = _first(bad, tolerance)
        raise ValueError(f"tolerance{where} = {value}: must be above 0 and finite")
    broadcast_shape({"run_ns": run, "period_ns": period, "tolerance": tolerance, "half_life": half_life_ns})
    return _time_to_shrink(_steady(run, period, half_life_ns).low, tolerance, half_life_ns)
