# SPDX-License-Identifier: GPL-2.0-only
"""Which of the core's shapes, with which constants, each conversion is for a HZ and a width of long.

What the preprocessor chooses when a kernel is compiled; kernel/time/time.c and include/linux/jiffies.h, 6.1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from schedpy import _core
from schedpy.jiffies.timeconst import NSEC_PER_SEC, max_jiffy_offset, tick_nsec, timeconst

__all__ = ["RULES", "Rule", "reciprocal", "timespec64_constants"]

U32 = 2**32 - 1
U64 = 2**64 - 1
INT_MAX = 2**31 - 1  #: above it a timeout is negative as an int
USER_HZ = 100
NSEC_PER_CLOCK_T = NSEC_PER_SEC // USER_HZ


@dataclass(frozen=True)
class Rule:
    """A function of the core with its constants, and the one that tells where it wraps with its own."""

    function: Callable
    constants: tuple[np.uint64, ...]
    wraps_function: Callable
    wraps_constants: tuple[np.uint64, ...]

    def __call__(self, x, **ufunc):
        return self.function(x, *self.constants, **ufunc)

    def wraps(self, x, **ufunc):
        return self.wraps_function(x, *self.wraps_constants, **ufunc)


def _u64(*values):
    return tuple(np.array(value, np.uint64) for value in values)


def reciprocal(div):
    """What the core divides by: 2^64 + the first is 2^64 * 2^length / div, a little more; and that length."""
    length = (div - 1).bit_length()
    return (2**64 * (2**length - div) // div + 1, length)


def _scaled_div(function, mul, add, div, word, most):
    """((x * mul + add) & word) / div, the result at most ``most``."""
    return Rule(
        function,
        _u64(mul, add, *reciprocal(div), word),
        _core.jiffies_scaled_div_wraps,
        _u64(mul, add, div, word, most),
    )


def _timeout(shape, last, true_last, infinite, mul, add, by, word):
    """Up to ``last`` (x * mul + add) by ``shape``; above it infinite, as it should be above ``true_last``."""
    function, wraps, amount = {
        "div": (_core.jiffies_timeout_div, _core.jiffies_timeout_div_wraps, reciprocal(by)),
        "shr": (_core.jiffies_timeout_shr, _core.jiffies_timeout_shr_wraps, (by,)),
    }[shape]
    return Rule(
        function,
        _u64(last, infinite, mul, add, *amount, word),
        wraps,
        _u64(last, true_last, mul, add, by, word),
    )


def _jiffies_to_unit(name, unit, rounds_up, hz, bits):
    """jiffies_to_msecs() and jiffies_to_usecs(): an unsigned int."""
    word, c = 2**bits - 1, timeconst(hz)
    if unit % hz == 0:
        return _scaled_div(_core.jiffies_scaled_div_uint, unit // hz, 0, 1, word, U32)
    if rounds_up and hz % unit == 0:
        per_unit = hz // unit
        return _scaled_div(_core.jiffies_scaled_div_uint, 1, per_unit - 1, per_unit, word, U32)
    if bits == 64:
        num, den = c[f"{name}_NUM"], c[f"{name}_DEN"]
        return _scaled_div(_core.jiffies_scaled_div_uint, num, den - 1 if rounds_up else 0, den, word, U32)
    mul, shr = c[f"{name}_MUL32"], c[f"{name}_SHR32"]
    constants = _u64(mul, (1 << shr) - 1 if rounds_up else 0, shr, U64)
    return Rule(
        _core.jiffies_scaled_shr_uint,
        constants,
        _core.jiffies_scaled_shr_wraps,
        (*constants, np.uint64(U32)),
    )


def jiffies_to_msecs(hz, bits):
    return _jiffies_to_unit("HZ_TO_MSEC", 1000, True, hz, bits)


def jiffies_to_usecs(hz, bits):
    return _jiffies_to_unit("HZ_TO_USEC", 10**6, False, hz, bits)


def _last_finite(inverse, bits):
    """The last time that is finite, as the kernel computes it in an unsigned int, and as it should be."""
    infinite = max_jiffy_offset(long_bits=bits)
    return int(inverse(np.uint64(infinite))), min(_without_bound(inverse, infinite), U64)


def _without_bound(rule, x):
    """What a scaled rule gives on integers without bound, for one x."""
    mul, add, by, *_ = (int(c) for c in rule.wraps_constants)
    total = x * mul + add
    return total >> by if rule.function is _core.jiffies_scaled_shr_uint else total // by


def msecs_to_jiffies(hz, bits):
    c, word = timeconst(hz), 2**bits - 1
    last = true_last = INT_MAX
    if hz > 1000:
        last, true_last = (min(INT_MAX, m) for m in _last_finite(jiffies_to_msecs(hz, bits), bits))
    ends = last, true_last, max_jiffy_offset(long_bits=bits)
    if 1000 % hz == 0:
        return _timeout("div", *ends, 1, 1000 // hz - 1, 1000 // hz, word)
    if hz % 1000 == 0:
        return _timeout("div", *ends, hz // 1000, 0, 1, word)
    return _timeout("shr", *ends, c["MSEC_TO_HZ_MUL32"], c["MSEC_TO_HZ_ADJ32"], c["MSEC_TO_HZ_SHR32"], word)


def usecs_to_jiffies(hz, bits):
    c, word = timeconst(hz), 2**bits - 1
    last, true_last = _last_finite(jiffies_to_usecs(hz, bits), bits)
    ends = last, true_last, max_jiffy_offset(long_bits=bits)
    if 10**6 % hz == 0:
        return _timeout("div", *ends, 1, 10**6 // hz - 1, 10**6 // hz, word)
    return _timeout("shr", *ends, c["USEC_TO_HZ_MUL32"], c["USEC_TO_HZ_ADJ32"], c["USEC_TO_HZ_SHR32"], word)


def jiffies64_to_msecs(hz, bits):
    c = timeconst(hz)
    return _scaled_div(_core.jiffies_scaled_div, c["HZ_TO_MSEC_NUM"], 0, c["HZ_TO_MSEC_DEN"], U64, U64)


def jiffies64_to_nsecs(hz, bits):
    c = timeconst(hz)
    return _scaled_div(_core.jiffies_scaled_div, c["HZ_TO_NSEC_NUM"], 0, c["HZ_TO_NSEC_DEN"], U64, U64)


def _nsecs_to_jiffies(hz):
    """mul and div: of a HZ that divides 10^9; of a multiple of 512, two divisions in one; of the others."""
    if NSEC_PER_SEC % hz == 0:
        return 1, NSEC_PER_SEC // hz
    if hz % 512 == 0:
        return hz, 512 * (NSEC_PER_SEC // 512)
    return 9, (9 * NSEC_PER_SEC + hz // 2) // hz


def nsecs_to_jiffies64(hz, bits):
    mul, div = _nsecs_to_jiffies(hz)
    return _scaled_div(_core.jiffies_scaled_div, mul, 0, div, U64, U64)


def nsecs_to_jiffies(hz, bits):
    mul, div = _nsecs_to_jiffies(hz)
    word = 2**bits - 1
    return Rule(
        _core.jiffies_scaled_div_ulong,
        _u64(mul, 0, *reciprocal(div), word),
        _core.jiffies_scaled_div_wraps,
        _u64(mul, 0, div, U64, word),
    )


def _clock_t(hz):
    """mul and div from jiffies to 1/100 s; HZ whose tick is several of these have another rule."""
    tick = tick_nsec(hz)
    if tick % NSEC_PER_CLOCK_T:
        return tick, NSEC_PER_CLOCK_T
    if hz < USER_HZ:
        raise ValueError(f"hz = {hz}: the conversion to clock_t is not proven for 20, 25 and 50")
    return 1, hz // USER_HZ


def jiffies_to_clock_t(hz, bits):
    mul, div = _clock_t(hz)
    return Rule(
        _core.jiffies_scaled_div_long,
        _u64(mul, 0, *reciprocal(div), 2**bits - 1),
        _core.jiffies_scaled_div_wraps,
        _u64(mul, 0, div, U64, 2 ** (bits - 1) - 1),
    )


def jiffies_64_to_clock_t(hz, bits):
    mul, div = _clock_t(hz)
    return _scaled_div(_core.jiffies_scaled_div, mul, 0, div, U64, U64)


def clock_t_to_jiffies(hz, bits):
    word = 2**bits - 1
    if hz % USER_HZ == 0:
        last = word // (hz // USER_HZ) - 1
        return _timeout("div", last, last, word, hz // USER_HZ, 0, 1, U64)
    end = word // hz * USER_HZ
    return _timeout("div", (end & word) - 1, min(end - 1, U64), word, hz, 0, USER_HZ, U64)


#: Function -> (hz, long_bits) -> its rule.
RULES = {
    function.__name__: lru_cache(64)(function)
    for function in (
        clock_t_to_jiffies,
        jiffies64_to_msecs,
        jiffies64_to_nsecs,
        jiffies_64_to_clock_t,
        jiffies_to_clock_t,
        jiffies_to_msecs,
        jiffies_to_usecs,
        msecs_to_jiffies,
        nsecs_to_jiffies,
        nsecs_to_jiffies64,
        usecs_to_jiffies,
    )
}


@lru_cache(64)
def timespec64_constants(hz, bits):
    """What timespec64_to_jiffies() of the core takes after the time: tick - 1, the limit, factors and shifts.

    sec_shift is the largest that leaves the seconds' factor, about HZ * 2^sec_shift, 32 bits: SHIFT_HZ, the
    class of HZ between 3/4 and 3/2 of a power of two, says nearly which, and one bit is looked at.
    """
    tick = tick_nsec(hz)
    shift_hz = 3 + (hz // 12).bit_length()
    sec_shift = 31 - shift_hz
    if not ((NSEC_PER_SEC << 2) // tick << (sec_shift - 2)) & 2**31:
        sec_shift += 1
    nsec_shift = sec_shift + 29
    sec_conv = -(-(NSEC_PER_SEC << sec_shift) // tick)
    nsec_conv = -(-(1 << nsec_shift) // tick)
    infinite = max_jiffy_offset(long_bits=bits)
    if bits == 64:
        ns = (infinite >> sec_shift) * tick
        max_sec = (
            (ns // NSEC_PER_SEC << 1) + ((ns % NSEC_PER_SEC << 1) + NSEC_PER_SEC // 2) // NSEC_PER_SEC - 1
        )
    else:
        max_sec = infinite * tick // NSEC_PER_SEC
    return (
        *_u64(tick - 1, max_sec, sec_conv, nsec_conv),
        np.uint32(nsec_shift - sec_shift),
        np.uint32(sec_shift),
    )
