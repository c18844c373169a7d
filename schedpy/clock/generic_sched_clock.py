# SPDX-License-Identifier: GPL-2.0-only
"""sched_clock from a counter, as most architectures have it."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int
from schedpy.clock._types import shift_of, u32, u64

__all__ = ["SchedClock", "cyc_to_ns", "sched_clock", "sched_clock_register"]


@dataclass(frozen=True)
class SchedClock:
    """A registered sched_clock: ``mult``, ``shift`` uint32, the others uint64."""

    mult: np.ndarray | np.uint32
    shift: np.ndarray | np.uint32
    wrap_ns: np.ndarray | np.uint64
    max_cycles: np.ndarray | np.uint64
    resolution_ns: np.ndarray | np.uint64


def cyc_to_ns(cyc, mult, shift, **ufunc):
    """Cycles to ns, the product cut to 64 bits: what each read of sched_clock computes.

    Parameters
    ----------
    cyc : array_like of int
        Unsigned 64 bit.
    mult : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `wraps.cyc_to_ns` tells where the product had more bits.

    Notes
    -----
    cyc_to_ns() of kernel/time/sched_clock.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.cyc_to_ns(19_200_000, 109226667, 21))
    1000000003
    """
    return _core.cyc_to_ns(u64(cyc, "cyc"), u32(mult, "mult"), shift_of(shift), **ufunc)


def sched_clock_register(bits, rate, **ufunc):
    """What registering a counter as sched_clock computes.

    Parameters
    ----------
    bits : array_like of int
        Width of the counter, 1 .. 64.
    rate : array_like of int
        Hz, unsigned 32 bit; 0 gives zeros and NumPy's division warning.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    SchedClock
        ``mult`` and ``shift`` for an hour; ``wrap_ns`` and ``resolution_ns`` as the boot log prints them;
        ``max_cycles`` that convert without overflow.

    Notes
    -----
    sched_clock_register() of kernel/time/sched_clock.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> timer = clock.sched_clock_register(56, 19_200_000)
    >>> int(timer.resolution_ns), int(timer.wrap_ns)
    (52, 4398046511078)
    """
    return SchedClock(
        *_core.sched_clock_register(
            as_int(bits, "bits", np.uint32, low=1, high=64), u32(rate, "rate"), **ufunc
        )
    )


def sched_clock(cyc, mult, shift, mask, *, epoch_cyc=0, epoch_ns=0, **ufunc):
    """The time of sched_clock when its counter reads ``cyc``.

    Parameters
    ----------
    cyc, mask, epoch_cyc, epoch_ns : array_like of int
        Unsigned 64 bit: the counter, its width as a mask, and the counter and time of the last update, which
        the kernel makes at least every ``wrap_ns``.
    mult : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        ``epoch_ns + cyc_to_ns((cyc - epoch_cyc) & mask)``; `wraps.sched_clock` tells where that wrapped.

    Notes
    -----
    sched_clock() of kernel/time/sched_clock.c, 6.1. All its known answers have epochs of 0 and every bit in
    the mask.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.sched_clock(19_200_005, 109226667, 21, 2**56 - 1, epoch_cyc=5, epoch_ns=100))
    1000000103
    """
    return _core.sched_clock(
        u64(cyc, "cyc"),
        u64(epoch_cyc, "epoch_cyc"),
        u64(epoch_ns, "epoch_ns"),
        u64(mask, "mask"),
        u32(mult, "mult"),
        shift_of(shift),
        **ufunc,
    )
