# SPDX-License-Identifier: GPL-2.0-only
"""The constants of a kernel's HZ, as its build computes them."""

import math
from functools import lru_cache
from types import MappingProxyType

from schedpy._coerce import as_long_bits, as_number

__all__ = ["max_jiffy_offset", "tick_nsec", "timeconst"]

NSEC_PER_SEC = 10**9

#: Name of a conversion -> its factor as numerator and denominator.
_RATIOS = {
    "HZ_TO_MSEC": lambda hz: (1000, hz),
    "MSEC_TO_HZ": lambda hz: (hz, 1000),
    "HZ_TO_USEC": lambda hz: (10**6, hz),
    "USEC_TO_HZ": lambda hz: (hz, 10**6),
    "HZ_TO_NSEC": lambda hz: (10**9, hz),
    "NSEC_TO_HZ": lambda hz: (hz, 10**9),
}


def hz_of(hz):
    """HZ as one int of what include/linux/jiffies.h allows."""
    return as_number(hz, "hz", low=12, high=12287)


def tick_nsec(hz):
    """Length of a tick in ns, rounded: TICK_NSEC.

    Parameters
    ----------
    hz : int
        CONFIG_HZ, 12 .. 12287: what include/linux/jiffies.h allows.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> [jiffies.tick_nsec(hz) for hz in (250, 300, 1024)]
    [4000000, 3333333, 976563]
    """
    hz = hz_of(hz)
    return (NSEC_PER_SEC + hz // 2) // hz


def max_jiffy_offset(*, long_bits=64):
    """The longest timeout in jiffies, which stands for "infinite": MAX_JIFFY_OFFSET.

    Parameters
    ----------
    long_bits : {64, 32}
        Width of the kernel's long.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> jiffies.max_jiffy_offset(long_bits=32)
    1073741822
    """
    return (2 ** (as_long_bits(long_bits) - 1) - 1 >> 1) - 1


def timeconst(hz):
    """The constants of timeconst.h for any HZ.

    Parameters
    ----------
    hz : int
        CONFIG_HZ, 12 .. 12287.

    Returns
    -------
    mapping of str to int
        For each of HZ_TO_MSEC, MSEC_TO_HZ, HZ_TO_USEC, USEC_TO_HZ: ``_NUM`` / ``_DEN``, the factor in lowest
        terms, and ``_MUL32``, ``_ADJ32``, ``_SHR32``: ``(MUL32 * x + ADJ32) >> SHR32`` multiplies by it and
        rounds up. For HZ_TO_NSEC and NSEC_TO_HZ ``_NUM`` and ``_DEN``.

    Notes
    -----
    kernel/time/timeconst.bc, 6.1. MUL32 is the factor times 2^SHR32 rounded up, with the smallest SHR32 that
    gives it 32 bits; ADJ32 is 1 - 1/DEN in the same unit.

    Examples
    --------
    >>> from schedpy import jiffies
    >>> c = jiffies.timeconst(300)
    >>> c["MSEC_TO_HZ_NUM"], c["MSEC_TO_HZ_DEN"]
    (3, 10)
    >>> hex(c["MSEC_TO_HZ_MUL32"]), hex(c["MSEC_TO_HZ_ADJ32"]), c["MSEC_TO_HZ_SHR32"]
    ('0x9999999a', '0x1cccccccc', 33)
    """
    return _timeconst(hz_of(hz))


@lru_cache(64)
def _timeconst(hz):
    constants = {}
    for name, ratio in _RATIOS.items():
        num, den = ratio(hz)
        common = math.gcd(num, den)
        num, den = num // common, den // common
        if not name.startswith(("HZ_TO_NSEC", "NSEC_TO_HZ")):
            shr = next(b for b in range(64) if _scaled(b, num, den) >= 2**31)
            constants[f"{name}_MUL32"] = _scaled(shr, num, den)
            constants[f"{name}_ADJ32"] = (den - 1 << shr) // den
            constants[f"{name}_SHR32"] = shr
        constants[f"{name}_NUM"], constants[f"{name}_DEN"] = num, den
    return MappingProxyType(constants)


def _scaled(bits, num, den):
    """num / den times 2^bits, rounded up."""
    return -(-(num << bits) // den)
