# SPDX-License-Identifier: GPL-2.0-only
"""Clock event devices: from nanoseconds to the ticks that a timer is programmed with."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_bool, as_int, as_long_bits
from schedpy.clock._types import shift_of, u32, u64

__all__ = ["ClockEvent", "cev_delta2ns", "clockevents_config", "div_sc"]

# By long_bits.
_DIV_SC = {64: _core.div_sc, 32: _core.div_sc_32bit}


@dataclass(frozen=True)
class ClockEvent:
    """A configured device: ``mult``, ``shift`` uint32, its shortest and longest time in ns uint64."""

    mult: np.ndarray | np.uint32
    shift: np.ndarray | np.uint32
    min_delta_ns: np.ndarray | np.uint64
    max_delta_ns: np.ndarray | np.uint64


def div_sc(ticks, nsec, shift, *, long_bits=64, **ufunc):
    """The factor of a clock event device: ``(ticks << shift) / nsec``.

    Parameters
    ----------
    ticks : array_like of int
        An unsigned long.
    nsec : array_like of int
        Unsigned 32 bit; 0 gives 0 and NumPy's division warning.
    shift : array_like of int
        0 .. 63.
    long_bits : {64, 32}
        Width of the kernel's long; with 32 the result is cut to 32 bits.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.div_sc` tells where bits were lost.

    Notes
    -----
    div_sc() of include/linux/clockchips.h, 6.1. All its known answers are of 64-bit kernels.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.div_sc(32768, 10**9, 32))
    140737
    """
    bits = as_long_bits(long_bits)
    ticks = as_int(ticks, "ticks", np.uint64, high=2**bits - 1)
    return _DIV_SC[bits](ticks, u32(nsec, "nsec"), shift_of(shift), **ufunc)


def cev_delta2ns(latch, mult, shift, ismax, **ufunc):
    """Ticks of a clock event device to ns, at least 1000.

    Parameters
    ----------
    latch : array_like of int
        Ticks, unsigned 64 bit.
    mult : array_like of int
        Unsigned 32 bit; 0 is taken as 1.
    shift : array_like of int
        0 .. 63.
    ismax : array_like of bool
        Whether this is the device's longest time: then it is not rounded up if ``mult`` has more than
        ``shift`` bits.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        ns. A ``latch`` that loses bits in the shift counts as 2^64 - 1 after it.

    Notes
    -----
    cev_delta2ns() of kernel/time/clockevents.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.cev_delta2ns(32767, 12582912, 22, [False, True]).tolist()
    [10923, 10922]
    """
    return _core.cev_delta2ns(
        u64(latch, "latch"), u32(mult, "mult"), shift_of(shift), as_bool(ismax, "ismax"), **ufunc
    )


def clockevents_config(freq, min_delta_ticks, max_delta_ticks, **ufunc):
    """What configuring a clock event device computes.

    Parameters
    ----------
    freq : array_like of int
        Hz, unsigned 32 bit; 0 gives zeros and NumPy's division warning.
    min_delta_ticks, max_delta_ticks : array_like of int
        The shortest and the longest time that can be programmed, in ticks, unsigned 64 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    ClockEvent
        ``mult``, ``shift``, ``min_delta_ns``, ``max_delta_ns`` as /proc/timer_list shows them.

    Notes
    -----
    clockevents_config() of kernel/time/clockevents.c, 6.1. Its parts, clocks_calc_mult_shift() and
    cev_delta2ns(), have known answers; the whole is proved by a plain twin.

    Examples
    --------
    >>> from schedpy import clock
    >>> timer = clock.clockevents_config(19_200_000, 15, 2**31 - 1)
    >>> int(timer.mult), int(timer.shift), int(timer.min_delta_ns), int(timer.max_delta_ns)
    (82463372, 32, 1000, 111848106728)
    """
    return ClockEvent(
        *_core.clockevents_config(
            u32(freq, "freq"),
            u64(min_delta_ticks, "min_delta_ticks"),
            u64(max_delta_ticks, "max_delta_ticks"),
            **ufunc,
        )
    )
