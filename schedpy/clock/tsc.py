# SPDX-License-Identifier: GPL-2.0-only
"""The x86 time stamp counter as a clock: sched_clock, now and up to 3.1; pvclock; perf's user page."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int
from schedpy.clock._types import flag_of, shift_of, u32, u64

__all__ = [
    "Cyc2ns",
    "cyc2ns_scale_legacy",
    "cycles_2_ns",
    "cycles_2_ns_legacy",
    "perf_time_to_tsc",
    "pvclock_scale_delta",
    "set_cyc2ns_scale",
    "tsc_to_perf_time",
]

LEGACY_SHIFT = 10


@dataclass(frozen=True)
class Cyc2ns:
    """``offset + (tsc * mul >> shift)``: uint64, uint32, uint32; an offset below 0 is 2^64 minus its size."""

    mul: np.ndarray | np.uint32
    shift: np.ndarray | np.uint32
    offset: np.ndarray | np.uint64


def set_cyc2ns_scale(khz, tsc_now, mul=0, shift=0, offset=0, **ufunc):
    """The TSC's new factor and offset after its frequency changed, so that the clock goes on without a jump.

    Parameters
    ----------
    khz : array_like of int
        The new frequency, unsigned 32 bit; 0 changes nothing.
    tsc_now : array_like of int
        The counter at the change, unsigned 64 bit.
    mul, shift, offset : array_like of int
        What held before: unsigned 32 bit, 0 .. 63, unsigned 64 bit. All 0: the first call after boot.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    Cyc2ns
        `wraps.set_cyc2ns_scale` tells where the offset had more than 64 bits with its sign.

    Notes
    -----
    __set_cyc2ns_scale() of arch/x86/kernel/tsc.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> boot = clock.set_cyc2ns_scale(1_000_000, 0)
    >>> slower = clock.set_cyc2ns_scale(500_000, 10**12, boot.mul, boot.shift, boot.offset)
    >>> int(slower.mul), int(slower.shift), int(slower.offset) - 2**64
    (2147483648, 30, -1000000000000)
    """
    return Cyc2ns(
        *_core.set_cyc2ns_scale(
            u32(khz, "khz"),
            u64(tsc_now, "tsc_now"),
            u32(mul, "mul"),
            shift_of(shift),
            u64(offset, "offset"),
            **ufunc,
        )
    )


def cycles_2_ns(tsc, mul, shift, offset, **ufunc):
    """The TSC as nanoseconds of sched_clock.

    Parameters
    ----------
    tsc, offset : array_like of int
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
        ``offset + (tsc * mul >> shift)`` from the 96-bit product, modulo 2^64. `wraps.cycles_2_ns` tells
        where, with the offset read as signed, that is not the time.

    Notes
    -----
    cycles_2_ns() of arch/x86/kernel/tsc.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.cycles_2_ns(1_000_000_500_000, 2147483648, 30, 2**64 - 10**12))
    1000001000000
    """
    return _core.cycles_2_ns(
        u64(tsc, "tsc"), u32(mul, "mul"), shift_of(shift), u64(offset, "offset"), **ufunc
    )


def cyc2ns_scale_legacy(khz):
    """The factor of `cycles_2_ns_legacy`: ``(10^6 << 10) / khz``.

    Parameters
    ----------
    khz : array_like of int
        1 .. 2^32 - 1.

    Returns
    -------
    uint32 array

    Notes
    -----
    arch/x86/kernel/tsc.c, 2.6.28 .. 3.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.cyc2ns_scale_legacy(1_600_000))
    640
    """
    return np.uint32(10**6 << LEGACY_SHIFT) // as_int(khz, "khz", np.uint32, low=1)


def cycles_2_ns_legacy(tsc, scale, *, fixed=False, **ufunc):
    """The TSC as nanoseconds in kernels 2.6.28 .. 3.1: a factor with 10 bits of fraction.

    Parameters
    ----------
    tsc : array_like of int
        Unsigned 64 bit.
    scale : array_like of int
        From `cyc2ns_scale_legacy`, unsigned 32 bit.
    fixed : bool
        False: ``(tsc * scale mod 2^64) >> 10``, which wraps after 2^54 ns, 208.5 days. True: the repair,
        quotient and remainder of 1024 scaled apart.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.cycles_2_ns_legacy` tells where it wrapped.

    Notes
    -----
    __cycles_2_ns() of arch/x86/include/asm/timer.h, without the offset per CPU.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.cycles_2_ns_legacy([2**54 - 1, 2**54 + 1], 1024).tolist()
    [18014398509481983, 1]
    >>> clock.cycles_2_ns_legacy([2**54 - 1, 2**54 + 1], 1024, fixed=True).tolist()
    [18014398509481983, 18014398509481985]
    """
    tsc, scale, shift = u64(tsc, "tsc"), u32(scale, "scale"), np.uint32(LEGACY_SHIFT)
    if flag_of(fixed, "fixed"):
        return _core.tsc_to_perf_time(tsc, scale, shift, np.uint64(0), **ufunc)
    return _core.cyc_to_ns(tsc, scale, shift, **ufunc)


def pvclock_scale_delta(delta, mul_frac, shift, **ufunc):
    """TSC cycles to ns as a hypervisor tells its guests: a shift of either direction, then a 32-bit fraction.

    Parameters
    ----------
    delta : array_like of int
        Cycles, unsigned 64 bit.
    mul_frac : array_like of int
        Unsigned 32 bit, in units of 2^-32.
    shift : array_like of int
        -63 .. 63: to the left, or to the right where negative.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.pvclock_scale_delta` tells where the shift to the left lost bits.

    Notes
    -----
    pvclock_scale_delta() of arch/x86/include/asm/pvclock.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.pvclock_scale_delta(6196172, 3452725545, 4))
    79697673
    """
    return _core.pvclock_scale_delta(
        u64(delta, "delta"),
        u32(mul_frac, "mul_frac"),
        as_int(shift, "shift", np.int64, low=-63, high=63),
        **ufunc,
    )


def tsc_to_perf_time(cyc, time_mult, time_shift, time_zero=0, **ufunc):
    """The TSC as perf's time, by the numbers of its user page.

    Parameters
    ----------
    cyc, time_zero : array_like of int
        Unsigned 64 bit.
    time_mult : array_like of int
        Unsigned 32 bit.
    time_shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        Quotient and remainder of ``2^time_shift`` are scaled apart, so that it is exact as long as it fits,
        unlike ``cyc_to_ns(cyc, time_mult, time_shift) + time_zero``; `wraps.tsc_to_perf_time` tells where it
        does not.

    Notes
    -----
    include/uapi/linux/perf_event.h and tools/perf/util/tsc.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.tsc_to_perf_time(225509961083, 104643415, 11))
    11522525607540145
    """
    return _core.tsc_to_perf_time(
        u64(cyc, "cyc"),
        u32(time_mult, "time_mult"),
        shift_of(time_shift, "time_shift"),
        u64(time_zero, "time_zero"),
        **ufunc,
    )


def perf_time_to_tsc(ns, time_mult, time_shift, time_zero=0, **ufunc):
    """The inverse of `tsc_to_perf_time`, rounded down.

    Parameters
    ----------
    ns, time_zero : array_like of int
        Unsigned 64 bit.
    time_mult : array_like of int
        Unsigned 32 bit; 0 gives 0 and NumPy's division warning.
    time_shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.perf_time_to_tsc` tells where the cycles had more than 64 bits, or ``ns`` lay before
        ``time_zero``.

    Notes
    -----
    tools/perf/util/tsc.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.perf_time_to_tsc(11522525607540145, 104643415, 11))
    225509961082
    """
    return _core.perf_time_to_tsc(
        u64(ns, "ns"),
        u32(time_mult, "time_mult"),
        shift_of(time_shift, "time_shift"),
        u64(time_zero, "time_zero"),
        **ufunc,
    )
