# SPDX-License-Identifier: GPL-2.0-only
"""Where a function of `schedpy.jiffies` wraps.

``jiffies.wraps.NAME`` takes what ``jiffies.NAME`` takes and returns an array of bool: True where that
function's result is not what its formula gives on integers without bound. The result itself is the kernel's
in either case. A function that is not here cannot wrap, for any input.

>>> from schedpy import jiffies
>>> jiffies.jiffies_to_usecs([2**32 // 4000, 2**32 // 4000 + 1], hz=250).tolist()
[4294964000, 704]
>>> jiffies.wraps.jiffies_to_usecs([2**32 // 4000, 2**32 // 4000 + 1], hz=250).tolist()
[False, True]
"""

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int, as_long_bits
from schedpy.jiffies.conversions import rule_and_argument
from schedpy.jiffies.timeconst import tick_nsec

__all__ = [
    "clock_t_to_jiffies",
    "jiffies64_to_msecs",
    "jiffies64_to_nsecs",
    "jiffies_64_to_clock_t",
    "jiffies_to_clock_t",
    "jiffies_to_msecs",
    "jiffies_to_timespec64",
    "jiffies_to_usecs",
    "msecs_to_jiffies",
    "nsecs_to_jiffies",
    "nsecs_to_jiffies64",
    "usecs_to_jiffies",
]


def clock_t_to_jiffies(x, *, hz, long_bits=64, **ufunc):
    """Where with HZ below 100 a finite time is all ones or the product passes 64 bits."""
    rule, x = rule_and_argument("clock_t_to_jiffies", x, "x", "long", hz, long_bits)
    return rule.wraps(x, **ufunc)


def jiffies64_to_msecs(j, *, hz, **ufunc):
    """Where the product passes 64 bits."""
    rule, j = rule_and_argument("jiffies64_to_msecs", j, "j", 64, hz)
    return rule.wraps(j, **ufunc)


def jiffies64_to_nsecs(j, *, hz, **ufunc):
    """Where the product passes 64 bits."""
    rule, j = rule_and_argument("jiffies64_to_nsecs", j, "j", 64, hz)
    return rule.wraps(j, **ufunc)


def jiffies_64_to_clock_t(j, *, hz, **ufunc):
    """Where the product passes 64 bits."""
    rule, j = rule_and_argument("jiffies_64_to_clock_t", j, "j", 64, hz)
    return rule.wraps(j, **ufunc)


def jiffies_to_clock_t(j, *, hz, long_bits=64, **ufunc):
    """Where the product passes 64 bits, or the result a signed long."""
    rule, j = rule_and_argument("jiffies_to_clock_t", j, "j", "long", hz, long_bits)
    return rule.wraps(j, **ufunc)


def jiffies_to_msecs(j, *, hz, long_bits=64, **ufunc):
    """Where the product passes an unsigned long, or the result 32 bits."""
    rule, j = rule_and_argument("jiffies_to_msecs", j, "j", "long", hz, long_bits)
    return rule.wraps(j, **ufunc)


def jiffies_to_timespec64(j, *, hz, long_bits=64, **ufunc):
    """Where the time in ns passes 64 bits."""
    j = as_int(j, "j", np.uint64, high=2 ** as_long_bits(long_bits) - 1)
    return _core.jiffies_to_timespec64_wraps(j, np.uint64(tick_nsec(hz)), **ufunc)


def jiffies_to_usecs(j, *, hz, long_bits=64, **ufunc):
    """Where the product passes an unsigned long, or the result 32 bits."""
    rule, j = rule_and_argument("jiffies_to_usecs", j, "j", "long", hz, long_bits)
    return rule.wraps(j, **ufunc)


def msecs_to_jiffies(m, *, hz, long_bits=64, **ufunc):
    """Where a finite time is infinite since the limit was cut to 32 bits, or the result passes a long."""
    rule, m = rule_and_argument("msecs_to_jiffies", m, "m", 32, hz, long_bits)
    return rule.wraps(m, **ufunc)


def nsecs_to_jiffies(n, *, hz, long_bits=64, **ufunc):
    """Where the product passes 64 bits, or the result an unsigned long."""
    rule, n = rule_and_argument("nsecs_to_jiffies", n, "n", 64, hz, long_bits)
    return rule.wraps(n, **ufunc)


def nsecs_to_jiffies64(n, *, hz, **ufunc):
    """Where the product passes 64 bits."""
    rule, n = rule_and_argument("nsecs_to_jiffies64", n, "n", 64, hz)
    return rule.wraps(n, **ufunc)


def usecs_to_jiffies(u, *, hz, long_bits=64, **ufunc):
    """Where a finite time is infinite since the limit was cut to 32 bits, or the result passes a long."""
    rule, u = rule_and_argument("usecs_to_jiffies", u, "u", 32, hz, long_bits)
    return rule.wraps(u, **ufunc)
