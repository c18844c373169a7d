# SPDX-License-Identifier: GPL-2.0-only
"""Nanoseconds to microseconds, exactly and as cpuidle did it; PELT's step; seconds to nanoseconds."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_array, as_choice, as_int

__all__ = [
    "PeltStep",
    "cpuidle_residency",
    "ktime_divns",
    "ktime_to_us",
    "ktime_us_delta",
    "ns_to_us",
    "ns_to_us_mulhi",
    "ns_to_us_shift",
    "pelt_step",
    "to_ns",
]


@dataclass(frozen=True)
class PeltStep:
    """What PELT reads off its clock: whole units, the new stamp, and whether the clock went backwards."""

    units: np.ndarray | np.uint64
    last_update_time: np.ndarray | np.uint64
    went_backwards: np.ndarray | np.bool_


def ktime_to_us(ns, **ufunc):
    """Nanoseconds to microseconds by division, truncating toward zero.

    Parameters
    ----------
    ns : array_like of int
        Nanoseconds, signed 64 bit; timedelta64[ns] too.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    int64 array
        Microseconds: ``ns / 1000``, so -999 .. 999 give 0.

    Notes
    -----
    ktime_to_us() of include/linux/ktime.h, 6.1, on 64-bit kernels.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.ktime_to_us([1999, -1999]).tolist()
    [1, -1]
    """
    return _core.ktime_to_us(as_int(ns, "ns", np.int64, time=True), **ufunc)


def ktime_us_delta(later, earlier, **ufunc):
    """Microseconds from ``earlier`` to ``later``; the subtraction wraps at 64 bit.

    Parameters
    ----------
    later, earlier : array_like of int
        Nanoseconds, signed 64 bit; datetime64[ns] too.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 array
        Microseconds, truncated toward zero. `wraps.ktime_us_delta` tells where the subtraction wrapped.

    Notes
    -----
    ktime_us_delta() of include/linux/ktime.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.ktime_us_delta(5_999, 1_000))
    4
    """
    return _core.ktime_us_delta(
        as_int(later, "later", np.int64, time=True), as_int(earlier, "earlier", np.int64, time=True), **ufunc
    )


def ktime_divns(ns, div, **ufunc):
    """Nanoseconds divided by any unit, truncating toward zero.

    Parameters
    ----------
    ns : array_like of int
        Nanoseconds, signed 64 bit; timedelta64[ns] too.
    div : array_like of int
        The unit in ns, 0 .. 2^63 - 1.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 array
        ``ns / div``; a ``div`` of 0 gives 0 and NumPy's division warning.

    Notes
    -----
    ktime_divns() of include/linux/ktime.h, 6.1, on 64-bit kernels. Those of 32 bit divide the magnitude and
    put the sign back, which gives the same for ``div`` below 2^32. It has no known answers but those of
    `ktime_to_us`: proved by a plain twin.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.ktime_divns([2_500_000, -2_500_000], 1_000_000).tolist()
    [2, -2]
    """
    return _core.ktime_divns(
        as_int(ns, "ns", np.int64, time=True), as_int(div, "div", np.int64, low=0), **ufunc
    )


def ns_to_us(ns, **ufunc):
    """Nanoseconds to microseconds by exact division, signed or unsigned.

    Parameters
    ----------
    ns : array_like of int
        Nanoseconds. Unsigned arrays are computed as u64, everything else as s64
        (a Python int above 2^63 - 1 as u64).
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 or uint64 array
        ``ns / 1000``, truncated toward zero.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.ns_to_us([1000, 1023, -1500]).tolist()
    [1, 1, -1]
    """
    return _core.ns_to_us(as_int(ns, "ns", time=True), **ufunc)


def ns_to_us_mulhi(ns, **ufunc):
    """Nanoseconds to microseconds by a product of 128 bits: what a compiler makes of a division by 1000.

    Parameters
    ----------
    ns : array_like of int
        Nanoseconds. Unsigned arrays are computed as u64, everything else as s64.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 or uint64 array
        Equal to `ns_to_us` for every input.

    Notes
    -----
    Unsigned ``mulhi(ns >> 3, 0x20C49BA5E353F7CF) >> 4``; signed, the upper half of the product of all bits
    shifted by 7, plus 1 where ns is negative. The factor is (2^68 + 19) / 125, which makes the quotient too
    large by 19 / 2^68 of itself: less than what is missing to the next integer.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.ns_to_us_mulhi([1999, -1999]).tolist()
    [1, -1]
    """
    return _core.ns_to_us_mulhi(as_int(ns, "ns", time=True), **ufunc)


def ns_to_us_shift(ns, **ufunc):
    """Nanoseconds to "microseconds" of 1024 ns: the 10-bit shift of 2016.

    Parameters
    ----------
    ns : array_like of int
        Nanoseconds. Unsigned arrays are computed as u64, everything else as s64.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 or uint64 array
        ``ns >> 10``, rounded toward minus infinity: 2.34375 % less than `ns_to_us` for large
        times, up to 100 % less below 10 us.

    Notes
    -----
    The conversion of drivers/cpuidle/cpuidle.c between 4.7-rc1 (e93e59ce5b85) and its fix before
    4.7.4 ("cpuidle: Fix last_residency division").

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.ns_to_us_shift([1000, 1_000_000, 1_000_000_000]).tolist()
    [0, 976, 976562]
    """
    return _core.ns_to_us_shift(as_int(ns, "ns", time=True), **ufunc)


def cpuidle_residency(ns, how="div1000", **ufunc):
    """The idle time that cpuidle gives its governor, in us.

    Parameters
    ----------
    ns : array_like of int
        Measured idle time in nanoseconds. Unsigned arrays are read as the u64 difference that 4.7-rc1
        had, everything else as the s64 of the other kernels.
    how : {"div1000", "shr10"}
        ``"div1000"``: kernels up to 5.4. ``"shr10"``: the shift of 4.7-rc1.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 array
        Microseconds, limited to 2147483647 (INT_MAX) from above and not from below: a clock that went
        backwards gives a negative time, except in u64, where it is huge and ends at INT_MAX.

    Notes
    -----
    cpuidle_enter_state() of drivers/cpuidle/cpuidle.c, which then stores the value in an int.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.cpuidle_residency([4_000_000, 3_000_000_000_000]).tolist()
    [4000, 2147483647]
    >>> clock.cpuidle_residency([4_000_000], how="shr10").tolist()
    [3906]
    """
    as_choice(how, "how", ("div1000", "shr10"))
    residency = _core.cpuidle_residency_div1000 if how == "div1000" else _core.cpuidle_residency_shr10
    return residency(as_int(ns, "ns", time=True), **ufunc)


def pelt_step(now, last, **ufunc):
    """What PELT takes from its clock: whole units of 1024 ns, the rest is kept for the next step.

    Parameters
    ----------
    now, last : array_like of int
        The clock and last_update_time in ns, unsigned 64 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    PeltStep
        ``units`` (uint64), ``last_update_time`` after the step (uint64) and ``went_backwards``.
        A clock that went backwards counts nothing and sets last_update_time to ``now``.

    Notes
    -----
    ___update_load_sum() of kernel/sched/pelt.c, the same from 4.12 on.

    Examples
    --------
    >>> from schedpy import clock
    >>> step = clock.pelt_step(3_000, 0)
    >>> int(step.units), int(step.last_update_time)
    (2, 2048)
    """
    return PeltStep(*_core.pelt_step(as_int(now, "now", np.uint64), as_int(last, "last", np.uint64), **ufunc))


def to_ns(seconds):
    """Seconds, or times of any unit, to whole nanoseconds.

    Parameters
    ----------
    seconds : array_like of float or int, datetime64 or timedelta64
        Numbers are seconds and are rounded to the nearest ns, halves to even; datetime64 and
        timedelta64 of any unit are converted exactly.

    Returns
    -------
    int64 array

    Raises
    ------
    ValueError
        NaN, NaT, infinite, or beyond +-292 years.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.to_ns([0.004, 1.5]).tolist()
    [4000000, 1500000000]
    """
    values = as_array(seconds, "seconds")
    if values.dtype.kind in "mM":
        return _time_to_ns(values)
    if values.dtype.kind not in "iubf":
        raise TypeError(f"seconds must be numbers, datetime64 or timedelta64, not {values.dtype}")
    if values.dtype.kind == "f":
        whole = np.floor(values)
        bad = ~(np.abs(values) < 2**63 / 1e9)
    else:
        whole = values
        bad = (values > (2**63 - 1) // 10**9) | (values < -((2**63 - 1) // 10**9))
    if np.any(bad):
        first = int(np.argmax(bad))
        raise ValueError(
            f"seconds: element {first} = {values.flat[first]} does not fit in 64 bit of nanoseconds"
        )
    return (whole.astype(np.int64) * 10**9 + np.rint((values - whole) * 1e9).astype(np.int64))[()]


def _overflows(time, dtype):
    try:
        time.astype(dtype)
    except OverflowError:
        return True
    return False


def _time_to_ns(values):
    kind = "datetime64" if values.dtype.kind == "M" else "timedelta64"
    if np.isnat(values).any():
        first = int(np.argmax(np.isnat(values)))
        raise ValueError(f"seconds: element {first} is NaT")
    try:
        ns = values.astype(f"{kind}[ns]")
        bad = ns.astype(values.dtype) != values
    except OverflowError:  # raised from NumPy 2.5 on; before, the cast wraps
        bad = [_overflows(value, f"{kind}[ns]") for value in values.flat]
    if np.any(bad):
        first = int(np.argmax(bad))
        raise ValueError(
            f"seconds: element {first} = {values.flat[first]} does not fit in 64 bit of nanoseconds"
        )
    return ns.view(np.int64)[()]
