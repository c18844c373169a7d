# SPDX-License-Identifier: GPL-2.0-only
"""Clock conversions: nanoseconds to microseconds, PELT's step, mult/shift clocksources.

All functions work elementwise, broadcast, and take the keywords of a NumPy
ufunc (``out=``, ``where=``, ...). They follow Linux 6.1; where a function is older
or of another version its docstring says so.
"""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_array, as_choice, as_int

__all__ = [
    "MultShift",
    "PeltStep",
    "clocks_calc_mult_shift",
    "clocksource_cyc2ns",
    "cpuidle_residency",
    "ktime_to_us",
    "ktime_us_delta",
    "mul_u64_u32_shr",
    "ns_to_us",
    "ns_to_us_shift",
    "pelt_step",
    "to_ns",
]


@dataclass(frozen=True)
class MultShift:
    """``(cycles * mult) >> shift`` converts cycles; both uint32, scalars or arrays."""

    mult: np.ndarray | np.uint32
    shift: np.ndarray | np.uint32


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
        Microseconds, truncated toward zero.

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


def clocks_calc_mult_shift(from_hz, to_hz, maxsec, **ufunc):
    """mult and shift that convert cycles of one frequency into cycles of another.

    Parameters
    ----------
    from_hz, to_hz : array_like of int
        Frequencies in Hz, unsigned 32 bit.
    maxsec : array_like of int
        The range in seconds that must convert without overflow, unsigned 32 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    MultShift
        uint32 each. Where no shift of 1..32 leaves room for ``maxsec`` the kernel's loop runs out:
        shift is 0 and mult that of shift 1. ``from_hz`` 0 gives 0, 0 and NumPy's division warning.

    Notes
    -----
    clocks_calc_mult_shift() of kernel/time/clocksource.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> timer = clock.clocks_calc_mult_shift(19_200_000, 1_000_000_000, 600)
    >>> int(timer.mult), int(timer.shift)
    (873813333, 24)
    """
    return MultShift(
        *_core.clocks_calc_mult_shift(
            as_int(from_hz, "from_hz", np.uint32),
            as_int(to_hz, "to_hz", np.uint32),
            as_int(maxsec, "maxsec", np.uint32),
            **ufunc,
        )
    )


def clocksource_cyc2ns(cycles, mult, shift, **ufunc):
    """Clocksource cycles to ns; the product wraps at 64 bit, as the kernel's does.

    Parameters
    ----------
    cycles : array_like of int
        Unsigned 64 bit.
    mult : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 array
        ``(cycles * mult mod 2^64) >> shift``; see `mul_u64_u32_shr` for the form that does not wrap.

    Notes
    -----
    clocksource_cyc2ns() of include/linux/clocksource.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.clocksource_cyc2ns(19_200_000, 873813333, 24))
    999999999
    """
    return _core.clocksource_cyc2ns(*_scaled(cycles, mult, shift, "cycles"), **ufunc)


def mul_u64_u32_shr(a, mul, shift, **ufunc):
    """``(a * mul) >> shift`` from the full 96-bit product, reduced to 64 bit.

    Parameters
    ----------
    a : array_like of int
        Unsigned 64 bit.
    mul : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array

    Notes
    -----
    mul_u64_u32_shr() of include/linux/math64.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.mul_u64_u32_shr(2**63, 4202935002, 32))
    9025734190401847296
    """
    return _core.mul_u64_u32_shr(*_scaled(a, mul, shift, "a"), **ufunc)


def _scaled(cycles, mult, shift, name):
    mult_name = "mult" if name == "cycles" else "mul"
    return (
        as_int(cycles, name, np.uint64),
        as_int(mult, mult_name, np.uint32),
        as_int(shift, "shift", np.uint32, high=63),
    )


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
