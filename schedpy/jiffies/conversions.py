# SPDX-License-Identifier: GPL-2.0-only
"""Jiffies to and from ns, us, ms, struct timespec64 and clock_t."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int, as_long_bits
from schedpy.jiffies.rules import NSEC_PER_CLOCK_T, RULES, reciprocal, timespec64_constants
from schedpy.jiffies.timeconst import NSEC_PER_SEC, hz_of, tick_nsec

__all__ = [
    "Timespec64",
    "clock_t_to_jiffies",
    "jiffies64_to_msecs",
    "jiffies64_to_nsecs",
    "jiffies_64_to_clock_t",
    "jiffies_to_clock_t",
    "jiffies_to_msecs",
    "jiffies_to_timespec64",
    "jiffies_to_usecs",
    "msecs_to_jiffies",
    "nsec_to_clock_t",
    "nsecs_to_jiffies",
    "nsecs_to_jiffies64",
    "timespec64_to_jiffies",
    "usecs_to_jiffies",
]


@dataclass(frozen=True)
class Timespec64:
    """Seconds and the nanoseconds above them, 0 .. 999999999: int64 each."""

    sec: np.ndarray | np.int64
    nsec: np.ndarray | np.int64


def rule_and_argument(name, x, argument, bits, hz, long_bits=64):
    """The rule of a function, and its argument of so many bits ("long": those of the kernel's long)."""
    long_bits = as_long_bits(long_bits)
    bits = long_bits if bits == "long" else bits
    rule = RULES[name](hz_of(hz), long_bits)
    return rule, as_int(x, argument, np.uint64, high=2**bits - 1)


def msecs_to_jiffies(m, *, hz, long_bits=64, **ufunc):
    """A timeout in ms as jiffies, rounded up.

    Parameters
    ----------
    m : array_like of int
        Milliseconds, unsigned 32 bit.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        An unsigned long. `max_jiffy_offset`, which is infinite, from 2^31 on, which is negative as an int.

    Notes
    -----
    msecs_to_jiffies() of kernel/time/time.c and include/linux/jiffies.h, 6.1. Where neither HZ nor 1000
    divides the other the factor of `timeconst` multiplies: exact at HZ=300, one jiffy too many in places at
    1024 (first at 38348000 ms) and 1200. Above 1000 the end of the finite times is cut to 32 bits:
    `wraps.msecs_to_jiffies` tells what that makes infinite.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.msecs_to_jiffies([1, 10, 11, 2**31], hz=100, long_bits=32).tolist()
    [1, 1, 2, 1073741822]
    """
    rule, m = rule_and_argument("msecs_to_jiffies", m, "m", 32, hz, long_bits)
    return rule(m, **ufunc)


def usecs_to_jiffies(u, *, hz, long_bits=64, **ufunc):
    """A timeout in us as jiffies, rounded up.

    Parameters
    ----------
    u : array_like of int
        Microseconds, unsigned 32 bit.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        An unsigned long. `max_jiffy_offset`, which is infinite, above that as `jiffies_to_usecs` gives it.

    Notes
    -----
    usecs_to_jiffies() of kernel/time/time.c and include/linux/jiffies.h, 6.1. That limit should be out of
    reach, but is cut to 32 bits: at HZ=300 everything from 1431649099 us (24 minutes) on is infinite.
    `wraps.usecs_to_jiffies` tells where.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.usecs_to_jiffies([1, 4000, 4001], hz=250).tolist()
    [1, 1, 2]
    >>> jiffies.usecs_to_jiffies([1431649098, 1431649099], hz=300).tolist()
    [429495, 4611686018427387902]
    """
    rule, u = rule_and_argument("usecs_to_jiffies", u, "u", 32, hz, long_bits)
    return rule(u, **ufunc)


def jiffies_to_msecs(j, *, hz, long_bits=64, **ufunc):
    """Jiffies as ms, rounded up.

    Parameters
    ----------
    j : array_like of int
        Jiffies, an unsigned long.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint32 array
        An unsigned int: `wraps.jiffies_to_msecs` tells where it wraps, which it does after 49.7 days.

    Notes
    -----
    jiffies_to_msecs() of kernel/time/time.c, 6.1. Unlike `jiffies64_to_msecs` it rounds up.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.jiffies_to_msecs([1, 2, 3], hz=300).tolist()
    [4, 7, 10]
    """
    rule, j = rule_and_argument("jiffies_to_msecs", j, "j", "long", hz, long_bits)
    return rule(j, **ufunc)


def jiffies_to_usecs(j, *, hz, long_bits=64, **ufunc):
    """Jiffies as us, rounded down.

    Parameters
    ----------
    j : array_like of int
        Jiffies, an unsigned long.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint32 array
        An unsigned int: `wraps.jiffies_to_usecs` tells where it wraps, which it does after 71.6 minutes.

    Notes
    -----
    jiffies_to_usecs() of kernel/time/time.c, 6.1.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.jiffies_to_usecs([1, 2, 3], hz=300).tolist()
    [3333, 6666, 10000]
    """
    rule, j = rule_and_argument("jiffies_to_usecs", j, "j", "long", hz, long_bits)
    return rule(j, **ufunc)


def jiffies64_to_msecs(j, *, hz, **ufunc):
    """Jiffies as ms, rounded down.

    Parameters
    ----------
    j : array_like of int
        Jiffies, unsigned 64 bit.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.jiffies64_to_msecs` tells where the product wraps.

    Notes
    -----
    jiffies64_to_msecs() of kernel/time/time.c, 6.1.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.jiffies64_to_msecs([1, 2, 3], hz=300).tolist()
    [3, 6, 10]
    """
    rule, j = rule_and_argument("jiffies64_to_msecs", j, "j", 64, hz)
    return rule(j, **ufunc)


def jiffies64_to_nsecs(j, *, hz, **ufunc):
    """Jiffies as ns, rounded down.

    Parameters
    ----------
    j : array_like of int
        Jiffies, unsigned 64 bit.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.jiffies64_to_nsecs` tells where the product wraps.

    Notes
    -----
    jiffies64_to_nsecs() of kernel/time/time.c, 6.1.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.jiffies64_to_nsecs([1, 3], hz=300).tolist()
    [3333333, 10000000]
    """
    rule, j = rule_and_argument("jiffies64_to_nsecs", j, "j", 64, hz)
    return rule(j, **ufunc)


def nsecs_to_jiffies64(n, *, hz, **ufunc):
    """Nanoseconds as jiffies, rounded down.

    Parameters
    ----------
    n : array_like of int
        Nanoseconds, unsigned 64 bit.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        Exact where HZ divides 10^9. `wraps.nsecs_to_jiffies64` tells where the product of the others wraps:
        after 208 days at HZ=1024, after 65 years where HZ is no multiple of 512.

    Notes
    -----
    nsecs_to_jiffies64() of kernel/time/time.c, 6.1: never infinite.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.nsecs_to_jiffies64([3_999_999, 4_000_000], hz=250).tolist()
    [0, 1]
    """
    rule, n = rule_and_argument("nsecs_to_jiffies64", n, "n", 64, hz)
    return rule(n, **ufunc)


def nsecs_to_jiffies(n, *, hz, long_bits=64, **ufunc):
    """`nsecs_to_jiffies64` as an unsigned long.

    Parameters
    ----------
    n : array_like of int
        Nanoseconds, unsigned 64 bit.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        With ``long_bits=32`` cut to 32 bits: `wraps.nsecs_to_jiffies` tells where.

    Notes
    -----
    nsecs_to_jiffies() of kernel/time/time.c, 6.1.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.nsecs_to_jiffies(2**62, hz=1000, long_bits=32).tolist()
    3186109819
    """
    rule, n = rule_and_argument("nsecs_to_jiffies", n, "n", 64, hz, long_bits)
    return rule(n, **ufunc)


def jiffies_to_clock_t(j, *, hz, long_bits=64, **ufunc):
    """Jiffies as clock_t, in 1/100 s (USER_HZ), rounded down.

    Parameters
    ----------
    j : array_like of int
        Jiffies, an unsigned long.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    int64 array
        A clock_t is a signed long: `wraps.jiffies_to_clock_t` tells where it is negative, or the product
        wrapped.

    Notes
    -----
    jiffies_to_clock_t() of kernel/time/time.c, 6.1. HZ of 20, 25 and 50 have a rule of their own, for which
    there are no known answers, and are refused.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.jiffies_to_clock_t([9, 10], hz=1000).tolist()
    [0, 1]
    """
    rule, j = rule_and_argument("jiffies_to_clock_t", j, "j", "long", hz, long_bits)
    return rule(j, **ufunc)


def jiffies_64_to_clock_t(j, *, hz, **ufunc):
    """Jiffies as 1/100 s (USER_HZ) in 64 bits, rounded down.

    Parameters
    ----------
    j : array_like of int
        Jiffies, unsigned 64 bit.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.jiffies_64_to_clock_t` tells where the product wraps.

    Notes
    -----
    jiffies_64_to_clock_t() of kernel/time/time.c, 6.1. HZ of 20, 25 and 50 are refused, as in
    `jiffies_to_clock_t`.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.jiffies_64_to_clock_t([1023, 1024], hz=1024).tolist()
    [99, 100]
    """
    rule, j = rule_and_argument("jiffies_64_to_clock_t", j, "j", 64, hz)
    return rule(j, **ufunc)


def clock_t_to_jiffies(x, *, hz, long_bits=64, **ufunc):
    """clock_t as jiffies, rounded down.

    Parameters
    ----------
    x : array_like of int
        1/100 s (USER_HZ), an unsigned long.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        An unsigned long, all ones where it does not fit. For HZ below 100 that limit does not fit itself:
        `wraps.clock_t_to_jiffies` tells what comes out wrong.

    Notes
    -----
    clock_t_to_jiffies() of kernel/time/time.c, 6.1.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.clock_t_to_jiffies([1, 2**62], hz=1024).tolist()
    [10, 18446744073709551615]
    """
    rule, x = rule_and_argument("clock_t_to_jiffies", x, "x", "long", hz, long_bits)
    return rule(x, **ufunc)


def nsec_to_clock_t(n, **ufunc):
    """Nanoseconds as 1/100 s (USER_HZ), rounded down.

    Parameters
    ----------
    n : array_like of int
        Nanoseconds, unsigned 64 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array

    Notes
    -----
    nsec_to_clock_t() of kernel/time/time.c, 6.1. It does not depend on HZ.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.nsec_to_clock_t([9_999_999, 10_000_000]).tolist()
    [0, 1]
    """
    constants = (np.uint64(c) for c in (1, 0, *reciprocal(NSEC_PER_CLOCK_T), 2**64 - 1))
    return _core.jiffies_scaled_div(as_int(n, "n", np.uint64), *constants, **ufunc)


def timespec64_to_jiffies(sec, nsec, *, hz, long_bits=64, **ufunc):
    """A timeout in s and ns as jiffies, rounded up.

    Parameters
    ----------
    sec : array_like of int
        Seconds, signed 64 bit. Negative ones are read without sign, and so are infinite.
    nsec : array_like of int
        Nanoseconds above them, 0 .. 999999999.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        An unsigned long. From MAX_SEC_IN_JIFFIES on all times give the same.

    Notes
    -----
    timespec64_to_jiffies() of kernel/time/time.c, 6.1.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.timespec64_to_jiffies([0, 1, -1], [1, 0, 0], hz=250, long_bits=32).tolist()
    [1, 250, 1073741750]
    """
    bits, hz = as_long_bits(long_bits), hz_of(hz)
    return _core.timespec64_to_jiffies(
        as_int(sec, "sec", np.int64),
        as_int(nsec, "nsec", np.uint64, high=NSEC_PER_SEC - 1),
        *timespec64_constants(hz, bits),
        **ufunc,
    )


def jiffies_to_timespec64(j, *, hz, long_bits=64, **ufunc):
    """Jiffies as s and ns, of ticks of `tick_nsec`.

    Parameters
    ----------
    j : array_like of int
        Jiffies, an unsigned long.
    hz : int
        CONFIG_HZ, 12 .. 12287.
    long_bits : {64, 32}
        Width of the kernel's long.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    Timespec64
        `wraps.jiffies_to_timespec64` tells where the time in ns had more than 64 bits.

    Notes
    -----
    jiffies_to_timespec64() of kernel/time/time.c, 6.1.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> t = jiffies.jiffies_to_timespec64(301, hz=300)
    >>> int(t.sec), int(t.nsec)
    (1, 3333233)
    """
    j = as_int(j, "j", np.uint64, high=2 ** as_long_bits(long_bits) - 1)
    return Timespec64(*_core.jiffies_to_timespec64(j, np.uint64(tick_nsec(hz)), **ufunc))
