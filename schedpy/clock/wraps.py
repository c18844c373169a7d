# SPDX-License-Identifier: GPL-2.0-only
"""Where a function of `schedpy.clock` wraps.

``clock.wraps.NAME`` takes what ``clock.NAME`` takes and returns an array of bool: True where that function's
result is not what its formula gives on integers without bound, because an intermediate or the result had more
bits than the kernel's type. The result itself is the kernel's in either case. A function that is not here
cannot wrap, for any input.

>>> from schedpy import clock
>>> clock.cyc_to_ns([2**32, 2**33], 2**31, 21).tolist()
[4398046511104, 0]
>>> clock.wraps.cyc_to_ns([2**32, 2**33], 2**31, 21).tolist()
[False, True]
"""

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_int, as_long_bits
from schedpy.clock._types import flag_of, shift_of, u32, u64
from schedpy.clock.approximation import rule_of
from schedpy.clock.tsc import LEGACY_SHIFT

__all__ = [
    "approximate",
    "clocks_calc_max_nsecs",
    "clocks_calc_mult_shift",
    "clocksource_cyc2ns",
    "clocksource_cyc2ns_safe",
    "clocksource_hz2mult",
    "clocksource_khz2mult",
    "cyc_to_ns",
    "cycles_2_ns",
    "cycles_2_ns_legacy",
    "div_sc",
    "ktime_us_delta",
    "mul_u64_u32_div",
    "mul_u64_u32_shr",
    "mul_u64_u64_div_u64",
    "mul_u64_u64_shr",
    "perf_time_to_tsc",
    "pvclock_scale_delta",
    "sched_clock",
    "set_cyc2ns_scale",
    "tsc_to_perf_time",
    "vdso_calc_ns",
]


def ktime_us_delta(later, earlier, **ufunc):
    """Where the subtraction passes 63 bits."""
    return _core.ktime_us_delta_wraps(
        as_int(later, "later", np.int64, time=True), as_int(earlier, "earlier", np.int64, time=True), **ufunc
    )


def approximate(ns, expression, **ufunc):
    """Where the sum or the product passes 64 bits, or the sum is negative."""
    return rule_of(expression).wraps(u64(ns, "ns"), **ufunc)


def clocks_calc_max_nsecs(mult, shift, maxadj, mask, **ufunc):
    """Where ``maxadj`` is above ``mult``, or their sum passes 32 bits, and a limit comes out otherwise."""
    return _core.clocks_calc_max_nsecs_wraps(
        u32(mult, "mult"), shift_of(shift), u32(maxadj, "maxadj"), u64(mask, "mask"), **ufunc
    )


def clocks_calc_mult_shift(from_hz, to_hz, maxsec, **ufunc):
    """Where the loop runs out and leaves a mult that does not belong to its shift."""
    return _core.clocks_calc_mult_shift_wraps(
        u32(from_hz, "from_hz"), u32(to_hz, "to_hz"), u32(maxsec, "maxsec"), **ufunc
    )


def clocksource_hz2mult(hz, shift_constant, **ufunc):
    """Where mult passes 32 bits."""
    return _core.clocksource_hz2mult_wraps(u32(hz, "hz"), shift_of(shift_constant, "shift_constant"), **ufunc)


def clocksource_khz2mult(khz, shift_constant, **ufunc):
    """Where mult passes 32 bits."""
    shift = shift_of(shift_constant, "shift_constant")
    return _core.clocksource_khz2mult_wraps(u32(khz, "khz"), shift, **ufunc)


def clocksource_cyc2ns(cycles, mult, shift, **ufunc):
    """Where the product passes 64 bits, or the signed result 63."""
    return _core.clocksource_cyc2ns_wraps(u64(cycles, "cycles"), u32(mult, "mult"), shift_of(shift), **ufunc)


def clocksource_cyc2ns_safe(cycles, mult, shift, max_cycles, **ufunc):
    """Where the result passes 64 bits; below ``max_cycles`` the product."""
    return _core.clocksource_cyc2ns_safe_wraps(
        u64(cycles, "cycles"), u32(mult, "mult"), shift_of(shift), u64(max_cycles, "max_cycles"), **ufunc
    )


def cyc_to_ns(cyc, mult, shift, **ufunc):
    """Where the product passes 64 bits."""
    return _core.cyc_to_ns_wraps(u64(cyc, "cyc"), u32(mult, "mult"), shift_of(shift), **ufunc)


def sched_clock(cyc, mult, shift, mask, *, epoch_cyc=0, epoch_ns=0, **ufunc):
    """Where the product or the sum passes 64 bits; the counter's difference is meant to wrap."""
    return _core.sched_clock_wraps(
        u64(cyc, "cyc"),
        u64(epoch_cyc, "epoch_cyc"),
        u64(epoch_ns, "epoch_ns"),
        u64(mask, "mask"),
        u32(mult, "mult"),
        shift_of(shift),
        **ufunc,
    )


def vdso_calc_ns(cycles, cycle_last, mask, mult, shift, *, base=0, **ufunc):
    """Where the sum passes 64 bits; the counter's difference is meant to wrap."""
    return _core.vdso_calc_ns_wraps(
        u64(cycles, "cycles"),
        u64(cycle_last, "cycle_last"),
        u64(mask, "mask"),
        u32(mult, "mult"),
        u64(base, "base"),
        shift_of(shift),
        **ufunc,
    )


def div_sc(ticks, nsec, shift, *, long_bits=64, **ufunc):
    """Where the shift loses bits or, with ``long_bits=32``, the result passes 32."""
    bits = as_long_bits(long_bits)
    wraps = _core.div_sc_32bit_wraps if bits == 32 else _core.div_sc_wraps
    ticks = as_int(ticks, "ticks", np.uint64, high=2**bits - 1)
    return wraps(ticks, u32(nsec, "nsec"), shift_of(shift), **ufunc)


def set_cyc2ns_scale(khz, tsc_now, mul=0, shift=0, offset=0, **ufunc):
    """Where the new offset passes 64 bits with its sign."""
    return _core.set_cyc2ns_scale_wraps(
        u32(khz, "khz"),
        u64(tsc_now, "tsc_now"),
        u32(mul, "mul"),
        shift_of(shift),
        u64(offset, "offset"),
        **ufunc,
    )


def cycles_2_ns(tsc, mul, shift, offset, **ufunc):
    """Where the sum with the offset, read as signed, is negative or passes 64 bits."""
    return _core.cycles_2_ns_wraps(
        u64(tsc, "tsc"), u32(mul, "mul"), shift_of(shift), u64(offset, "offset"), **ufunc
    )


def cycles_2_ns_legacy(tsc, scale, *, fixed=False, **ufunc):
    """Where the product passes 64 bits; with ``fixed``, the result."""
    tsc, scale, shift = u64(tsc, "tsc"), u32(scale, "scale"), np.uint32(LEGACY_SHIFT)
    if flag_of(fixed, "fixed"):
        return _core.tsc_to_perf_time_wraps(tsc, scale, shift, np.uint64(0), **ufunc)
    return _core.cyc_to_ns_wraps(tsc, scale, shift, **ufunc)


def pvclock_scale_delta(delta, mul_frac, shift, **ufunc):
    """Where the shift to the left loses bits."""
    return _core.pvclock_scale_delta_wraps(
        u64(delta, "delta"),
        u32(mul_frac, "mul_frac"),
        as_int(shift, "shift", np.int64, low=-63, high=63),
        **ufunc,
    )


def tsc_to_perf_time(cyc, time_mult, time_shift, time_zero=0, **ufunc):
    """Where the result, or for a ``time_shift`` above 32 a product, passes 64 bits."""
    return _core.tsc_to_perf_time_wraps(
        u64(cyc, "cyc"),
        u32(time_mult, "time_mult"),
        shift_of(time_shift, "time_shift"),
        u64(time_zero, "time_zero"),
        **ufunc,
    )


def perf_time_to_tsc(ns, time_mult, time_shift, time_zero=0, **ufunc):
    """Where ``ns`` lies before ``time_zero``, or something passes 64 bits."""
    return _core.perf_time_to_tsc_wraps(
        u64(ns, "ns"),
        u32(time_mult, "time_mult"),
        shift_of(time_shift, "time_shift"),
        u64(time_zero, "time_zero"),
        **ufunc,
    )


def mul_u64_u32_shr(a, mul, shift, *, long_bits=64, **ufunc):
    """Where the result passes 64 bits, by either form."""
    most = 32 if as_long_bits(long_bits) == 32 else 63
    return _core.mul_u64_u32_shr_wraps(u64(a, "a"), u32(mul, "mul"), shift_of(shift, high=most), **ufunc)


def mul_u64_u64_shr(a, mul, shift, *, long_bits=64, **ufunc):
    """Where the result passes 64 bits, by either form."""
    as_long_bits(long_bits)
    return _core.mul_u64_u64_shr_wraps(u64(a, "a"), u64(mul, "mul"), shift_of(shift), **ufunc)


def mul_u64_u32_div(a, mul, divisor, **ufunc):
    """Where the quotient passes 64 bits."""
    return _core.mul_u64_u32_div_wraps(u64(a, "a"), u32(mul, "mul"), u32(divisor, "divisor"), **ufunc)


def mul_u64_u64_div_u64(a, b, c, *, kernel, **ufunc):
    """Where the sum of 6.1, or the quotient of 6.19, passes 64 bits. Lost precision is no wrap."""
    wraps = {
        "v6.1": _core.mul_u64_u64_div_u64_v6_1_wraps,
        "v6.19": _core.mul_u64_u64_div_u64_v6_19_wraps,
    }[_kernel.form("clock.mul_u64_u64_div_u64", kernel)]
    return wraps(u64(a, "a"), u64(b, "b"), u64(c, "c"), **ufunc)
