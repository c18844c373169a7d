# SPDX-License-Identifier: GPL-2.0-only
"""Counters as clocks: mult and shift, registration, conversion of cycles, the vDSO."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int
from schedpy.clock._types import flag_of, shift_of, u32, u64

__all__ = [
    "Clocksource",
    "MaxNsecs",
    "MultShift",
    "clocks_calc_max_nsecs",
    "clocks_calc_mult_shift",
    "clocksource_cyc2ns",
    "clocksource_cyc2ns_safe",
    "clocksource_delta",
    "clocksource_hz2mult",
    "clocksource_khz2mult",
    "clocksource_mask",
    "clocksource_register_hz",
    "clocksource_register_khz",
    "clocksource_update_freq_scale",
    "freq_error_ppb",
    "vdso_calc_ns",
]


@dataclass(frozen=True)
class MultShift:
    """``(cycles * mult) >> shift`` converts cycles; both uint32, scalars or arrays."""

    mult: np.ndarray | np.uint32
    shift: np.ndarray | np.uint32


@dataclass(frozen=True)
class MaxNsecs:
    """Half the longest time in ns that converts without overflow, and all its cycles; uint64 each."""

    max_nsecs: np.ndarray | np.uint64
    max_cycles: np.ndarray | np.uint64


@dataclass(frozen=True)
class Clocksource:
    """A registered clocksource: ``mult``, ``shift``, ``maxadj`` uint32, the limits uint64."""

    mult: np.ndarray | np.uint32
    shift: np.ndarray | np.uint32
    maxadj: np.ndarray | np.uint32
    max_cycles: np.ndarray | np.uint64
    max_idle_ns: np.ndarray | np.uint64


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
        shift is 0 and mult that of shift 1: the pair converts to twice the frequency, which
        `wraps.clocks_calc_mult_shift` tells. ``from_hz`` 0 gives 0, 0 and NumPy's division warning.

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


def clocks_calc_max_nsecs(mult, shift, maxadj, mask, **ufunc):
    """How long a counter may go unread: cycles that convert without overflow, and half their time.

    Parameters
    ----------
    mult, maxadj : array_like of int
        The factor and by how much it may be steered up or down, unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    mask : array_like of int
        The counter's width as a mask, unsigned 64 bit: see `clocksource_mask`.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    MaxNsecs
        Zeros and NumPy's division warning where ``mult + maxadj`` is 0 in 32 bits;
        `wraps.clocks_calc_max_nsecs` tells where a ``maxadj`` that no registration gives made a limit wrong.

    Notes
    -----
    clocks_calc_max_nsecs() of kernel/time/clocksource.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> most = clock.clocks_calc_max_nsecs(873813333, 24, 96119466, 2**56 - 1)
    >>> int(most.max_nsecs), hex(most.max_cycles)
    (440795202767, '0x46d987e47')
    """
    return MaxNsecs(
        *_core.clocks_calc_max_nsecs(
            u32(mult, "mult"), shift_of(shift), u32(maxadj, "maxadj"), u64(mask, "mask"), **ufunc
        )
    )


def clocksource_mask(bits):
    """The mask of a counter of so many bits, CLOCKSOURCE_MASK().

    Parameters
    ----------
    bits : array_like of int
        1 .. 64.

    Returns
    -------
    uint64 array

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.clocksource_mask([24, 64]).tolist()
    [16777215, 18446744073709551615]
    """
    return np.uint64(2**64 - 1) >> (np.uint64(64) - as_int(bits, "bits", np.uint64, low=1, high=64))


def clocksource_update_freq_scale(scale, freq, mask, **ufunc):
    """What registering a clocksource of ``scale * freq`` Hz computes.

    Parameters
    ----------
    scale : array_like of int
        The unit of ``freq`` in Hz: 1 for Hz, 1000 for kHz; 0 .. 1000.
    freq : array_like of int
        Unsigned 32 bit.
    mask : array_like of int
        The counter's width as a mask, unsigned 64 bit: see `clocksource_mask`.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    Clocksource
        ``mult`` and ``shift``, ``maxadj`` (11 % of mult, by which it may be steered), ``max_cycles`` and
        ``max_idle_ns`` as the boot log prints them. A mult that could be steered past 32 bits is halved.
        A scale or freq of 0 gives zeros and NumPy's division warning.

    Notes
    -----
    __clocksource_update_freq_scale() of kernel/time/clocksource.c, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> tsc = clock.clocksource_update_freq_scale(1000, 2_596_130, clock.clocksource_mask(64))
    >>> int(tsc.mult), int(tsc.shift), hex(tsc.max_cycles), int(tsc.max_idle_ns)
    (6462394, 24, '0x256bf463c9f', 440795249076)
    """
    return Clocksource(
        *_core.clocksource_update_freq_scale(
            as_int(scale, "scale", np.uint32, high=1000), u32(freq, "freq"), u64(mask, "mask"), **ufunc
        )
    )


def clocksource_register_hz(hz, mask, **ufunc):
    """`clocksource_update_freq_scale` of a frequency in Hz.

    Parameters
    ----------
    hz : array_like of int
        Unsigned 32 bit.
    mask : array_like of int
        The counter's width as a mask, unsigned 64 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    Clocksource

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.clocksource_register_hz(10**9, clock.clocksource_mask(64)).max_idle_ns)
    881590591483
    """
    return clocksource_update_freq_scale(1, u32(hz, "hz"), mask, **ufunc)


def clocksource_register_khz(khz, mask, **ufunc):
    """`clocksource_update_freq_scale` of a frequency in kHz.

    Parameters
    ----------
    khz : array_like of int
        Unsigned 32 bit.
    mask : array_like of int
        The counter's width as a mask, unsigned 64 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    Clocksource

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.clocksource_register_khz(2_596_130, clock.clocksource_mask(64)).max_idle_ns)
    440795249076
    """
    return clocksource_update_freq_scale(1000, u32(khz, "khz"), mask, **ufunc)


def freq_error_ppb(mult, shift, freq, scale=1):
    """By how much a clock of ``mult`` and ``shift`` runs fast, in parts per 10^9.

    Parameters
    ----------
    mult : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    freq : array_like of int
        The true frequency in units of ``scale`` Hz, 1 .. 2^32 - 1.
    scale : array_like of int
        1 for Hz, 1000 for kHz; 1 .. 1000.

    Returns
    -------
    float64 array
        Negative for a clock that runs slow.

    Examples
    --------
    >>> from schedpy import clock
    >>> round(float(clock.freq_error_ppb(6462394, 24, 2_596_130, 1000)), 1)
    -63.5
    """
    scale = as_int(scale, "scale", np.uint32, low=1, high=1000)
    true = (1e9 / scale) / as_int(freq, "freq", np.uint32, low=1)
    ours = u32(mult, "mult") / np.exp2(shift_of(shift).astype(np.float64))
    return (ours - true) / true * 1e9


def clocksource_hz2mult(hz, shift_constant, **ufunc):
    """mult for a frequency in Hz and a shift chosen beforehand.

    Parameters
    ----------
    hz : array_like of int
        Unsigned 32 bit; 0 gives 0 and NumPy's division warning.
    shift_constant : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint32 array
        ``((10^9 << shift) + hz / 2) / hz``, cut to 32 bits; `wraps.clocksource_hz2mult` tells where.

    Notes
    -----
    clocksource_hz2mult() of include/linux/clocksource.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.clocksource_hz2mult(19_200_000, 24))
    873813333
    """
    return _core.clocksource_hz2mult(u32(hz, "hz"), shift_of(shift_constant, "shift_constant"), **ufunc)


def clocksource_khz2mult(khz, shift_constant, **ufunc):
    """mult for a frequency in kHz and a shift chosen beforehand.

    Parameters
    ----------
    khz : array_like of int
        Unsigned 32 bit; 0 gives 0 and NumPy's division warning.
    shift_constant : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint32 array
        ``((10^6 << shift) + khz / 2) / khz``, cut to 32 bits; `wraps.clocksource_khz2mult` tells where.

    Notes
    -----
    clocksource_khz2mult() of include/linux/clocksource.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.clocksource_khz2mult(2_596_130, 24))
    6462394
    """
    return _core.clocksource_khz2mult(u32(khz, "khz"), shift_of(shift_constant, "shift_constant"), **ufunc)


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
        ``(cycles * mult mod 2^64) >> shift``; `wraps.clocksource_cyc2ns` tells where that is not the time,
        and `clocksource_cyc2ns_safe` is the form that does not wrap.

    Notes
    -----
    clocksource_cyc2ns() of include/linux/clocksource.h, 6.1.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.clocksource_cyc2ns(19_200_000, 873813333, 24))
    999999999
    """
    return _core.clocksource_cyc2ns(u64(cycles, "cycles"), u32(mult, "mult"), shift_of(shift), **ufunc)


def clocksource_cyc2ns_safe(cycles, mult, shift, max_cycles, **ufunc):
    """Clocksource cycles to ns, from ``max_cycles`` on by a product of 96 bits.

    Parameters
    ----------
    cycles, max_cycles : array_like of int
        Unsigned 64 bit; ``max_cycles`` as the registration computes it.
    mult : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        `mul_u64_u32_shr` from ``max_cycles`` on, the wrapping product below;
        `wraps.clocksource_cyc2ns_safe` tells where even so the time is lost.

    Notes
    -----
    As read in the series of March 2024 around fcf190c36914, kernel/time/timekeeping.c. The two branches have
    known answers; the choice between them is proved by a plain twin.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.clocksource_cyc2ns_safe(2**60, 6462394, 24, 0x256BF463C9F))
    444092334141865984
    """
    return _core.clocksource_cyc2ns_safe(
        u64(cycles, "cycles"), u32(mult, "mult"), shift_of(shift), u64(max_cycles, "max_cycles"), **ufunc
    )


def clocksource_delta(now, last, mask, *, validate=False, **ufunc):
    """Cycles from ``last`` to ``now`` on a counter of the mask's width.

    Parameters
    ----------
    now, last, mask : array_like of int
        Unsigned 64 bit.
    validate : bool
        As CONFIG_CLOCKSOURCE_VALIDATE_LAST_CYCLE: more than half of the mask is taken for a counter that went
        backwards, and counts as 0.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array

    Notes
    -----
    clocksource_delta() of kernel/time/timekeeping_internal.h, 6.1. No known answers: proved by a plain twin.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.clocksource_delta([5, 2], 3, 255).tolist()
    [2, 255]
    >>> clock.clocksource_delta([5, 2], 3, 255, validate=True).tolist()
    [2, 0]
    """
    validated = flag_of(validate, "validate")
    delta = _core.clocksource_delta_validated if validated else _core.clocksource_delta
    return delta(u64(now, "now"), u64(last, "last"), u64(mask, "mask"), **ufunc)


def vdso_calc_ns(cycles, cycle_last, mask, mult, shift, *, base=0, **ufunc):
    """The vDSO's nanoseconds: cycles since the last update on top of a base in units of 2^-shift ns.

    Parameters
    ----------
    cycles, cycle_last, mask, base : array_like of int
        Unsigned 64 bit; ``base`` is in ns << shift.
    mult : array_like of int
        Unsigned 32 bit.
    shift : array_like of int
        0 .. 63.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        ``(base + ((cycles - cycle_last) & mask) * mult) >> shift``, the sum cut to 64 bits;
        `wraps.vdso_calc_ns` tells where.

    Notes
    -----
    do_hres() of lib/vdso/gettimeofday.c, 6.1: the nanoseconds. No known answers: proved by a plain twin.

    Examples
    --------
    >>> from schedpy import clock
    >>> int(clock.vdso_calc_ns(19_200_000, 0, 2**56 - 1, 873813333, 24, base=5 << 24))
    1000000004
    """
    return _core.vdso_calc_ns(
        u64(cycles, "cycles"),
        u64(cycle_last, "cycle_last"),
        u64(mask, "mask"),
        u32(mult, "mult"),
        u64(base, "base"),
        shift_of(shift),
        **ufunc,
    )
