# SPDX-License-Identifier: GPL-2.0-only
"""Jiffies, the kernel's ticks, to and from other units of time, for any HZ and both widths of long.

All functions work elementwise and take the keywords of a NumPy ufunc (``out=``, ``where=``, ...). They
follow kernel/time/time.c, kernel/time/timeconst.bc and include/linux/jiffies.h of Linux 6.1, with USER_HZ
100. There are known answers for HZ 100, 250, 300, 1000 and 1024, and for the constants of eight HZ more; the
others are proved by a plain twin.

What wraps in the kernel wraps here: `jiffies.wraps` has a companion for each function that can, which tells
where.
"""

from schedpy.jiffies import wraps
from schedpy.jiffies.conversions import (
    Timespec64,
    clock_t_to_jiffies,
    jiffies64_to_msecs,
    jiffies64_to_nsecs,
    jiffies_64_to_clock_t,
    jiffies_to_clock_t,
    jiffies_to_msecs,
    jiffies_to_timespec64,
    jiffies_to_usecs,
    msecs_to_jiffies,
    nsec_to_clock_t,
    nsecs_to_jiffies,
    nsecs_to_jiffies64,
    timespec64_to_jiffies,
    usecs_to_jiffies,
)
from schedpy.jiffies.timeconst import max_jiffy_offset, tick_nsec, timeconst

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
    "max_jiffy_offset",
    "msecs_to_jiffies",
    "nsec_to_clock_t",
    "nsecs_to_jiffies",
    "nsecs_to_jiffies64",
    "tick_nsec",
    "timeconst",
    "timespec64_to_jiffies",
    "usecs_to_jiffies",
    "wraps",
]
