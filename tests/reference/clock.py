# SPDX-License-Identifier: GPL-2.0-only
"""Clock conversions on Python integers.

`word` is the largest value of the kernel's type, to which products and sums are reduced by ``&``. With
``word=FREE``, which is all ones without end, nothing is reduced: what then comes out otherwise has wrapped.
"""

import re
from fractions import Fraction

INT_MAX = 2**31 - 1
U32 = 2**32 - 1
U64 = 2**64 - 1
FREE = -1


def signed(x):
    """The low 64 bits of x as two's complement."""
    x %= 2**64
    return x - 2**64 if x >= 2**63 else x


def quotient(a, b):
    """C's integer division: toward zero. By zero: 0, as the core defines it."""
    if b == 0:
        return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def ktime_to_us(ns):
    return quotient(ns, 1000)


def ktime_us_delta(later, earlier, word=U64):
    difference = later - earlier
    return ktime_to_us(difference if word == FREE else signed(difference))


def ktime_divns(ns, div):
    return quotient(ns, div)


def cpuidle_residency(ns, how):
    us = ktime_to_us(ns) if how == "div1000" else ns >> 10
    return min(us, INT_MAX)


def pelt_step(now, last):
    """(units, last_update_time, went_backwards)"""
    if signed(now - last) < 0:
        return 0, now, True
    units = (now - last) % 2**64 >> 10
    return units, (last + (units << 10)) % 2**64, False


def clocks_calc_mult_shift(from_hz, to_hz, maxsec):
    acc = 32 - (maxsec * from_hz >> 32).bit_length()
    for shift in range(32, 0, -1):
        mult = ((to_hz << shift) + from_hz // 2) // from_hz
        if mult >> acc == 0:
            return mult, shift
    return mult % 2**32, 0


def clocks_calc_max_nsecs(mult, shift, maxadj, mask, word=U64):
    """(max_nsecs, max_cycles)"""
    half = FREE if word == FREE else U32
    fastest, slowest = mult + maxadj & half, mult - maxadj & half
    max_cycles = min(quotient(U64, fastest), mask)
    return (max_cycles * slowest & word) >> shift >> 1, max_cycles


def clocksource_update_freq_scale(scale, freq, mask):
    """(mult, shift, maxadj, max_cycles, max_idle_ns)"""
    sec = mask // freq // scale
    if sec == 0:
        sec = 1
    elif sec > 600 and mask > U32:
        sec = 600
    mult, shift = clocks_calc_mult_shift(freq, 10**9 // scale, sec * scale % 2**32)
    maxadj = mult * 11 // 100
    while (mult + maxadj) % 2**32 < mult or (mult - maxadj) % 2**32 > mult:
        mult, shift = mult >> 1, shift - 1
        maxadj = mult * 11 // 100
    max_idle_ns, max_cycles = clocks_calc_max_nsecs(mult, shift, maxadj, mask)
    return mult, shift, maxadj, max_cycles, max_idle_ns


def freq2mult(freq, shift, unit, word=U64):
    """unit: 10^9 for Hz, 10^6 for kHz."""
    mult = quotient((unit << shift & word) + freq // 2, freq)
    return mult if word == FREE else mult % 2**32


def cyc_to_ns(cyc, mult, shift, word=U64):
    return (cyc * mult & word) >> shift


def clocksource_cyc2ns(cycles, mult, shift, word=U64):
    ns = cyc_to_ns(cycles, mult, shift, word)
    return ns if word == FREE else signed(ns)


def clocksource_cyc2ns_safe(cycles, mult, shift, max_cycles, word=U64):
    if cycles >= max_cycles:
        return mul_u64_u32_shr(cycles, mult, shift, word)
    return cyc_to_ns(cycles, mult, shift, word)


def clocksource_delta(now, last, mask, validate=False):
    """The mask must be 2^n - 1."""
    delta = (now - last) & mask
    return 0 if validate and delta > mask // 2 else delta


def sched_clock_register(bits, rate):
    """(mult, shift, wrap_ns, max_cycles, resolution_ns)"""
    mult, shift = clocks_calc_mult_shift(rate, 10**9, 3600)
    wrap_ns, max_cycles = clocks_calc_max_nsecs(mult, shift, 0, 2**bits - 1)
    return mult, shift, wrap_ns, max_cycles, mult >> shift


def sched_clock(cyc, mult, shift, mask, epoch_cyc, epoch_ns, word=U64):
    return epoch_ns + cyc_to_ns((cyc - epoch_cyc) & mask, mult, shift, word) & word


def vdso_calc_ns(cycles, cycle_last, mask, mult, shift, base, word=U64):
    return (base + ((cycles - cycle_last) & mask) * mult & word) >> shift


def div_sc(ticks, nsec, shift, bits=64, word=U64):
    result = quotient(ticks << shift & word, nsec)
    return result if word == FREE else result % 2**bits


def cev_delta2ns(latch, mult, shift, ismax):
    mult = mult or 1
    clc = latch << shift
    if clc > U64:
        clc = U64
    if U64 - clc > mult - 1 and (not ismax or mult <= 2**shift):
        clc += mult - 1
    return max(clc // mult, 1000)


def clockevents_config(freq, min_ticks, max_ticks):
    """(mult, shift, min_delta_ns, max_delta_ns)"""
    sec = max_ticks // freq
    if sec == 0:
        sec = 1
    elif sec > 600 and max_ticks > U32:
        sec = 600
    mult, shift = clocks_calc_mult_shift(10**9, freq, sec % 2**32)
    low, high = cev_delta2ns(min_ticks, mult, shift, False), cev_delta2ns(max_ticks, mult, shift, True)
    return mult, shift, low, high


def cycles_2_ns(tsc, mul, shift, offset, word=U64):
    if word == FREE:
        return signed(offset) + (tsc * mul >> shift)
    return (offset + (tsc * mul >> shift)) % 2**64


def set_cyc2ns_scale(khz, tsc_now, mul, shift, offset, word=U64):
    """(mul, shift, offset); the offset without bound is a signed number."""
    if khz == 0:
        return mul, shift, signed(offset) if word == FREE else offset
    old = cycles_2_ns(tsc_now, mul, shift, offset, word)
    mul, shift = clocks_calc_mult_shift(khz, 10**6, 0)
    if shift == 32:
        mul, shift = mul >> 1, 31
    return mul, shift, old - (tsc_now * mul >> shift) & word


def cycles_2_ns_legacy(tsc, scale, fixed, word=U64):
    if fixed:
        return ((tsc >> 10) * scale & word) + ((tsc & 1023) * scale >> 10) & word
    return (tsc * scale & word) >> 10


def pvclock_scale_delta(delta, mul_frac, shift, word=U64):
    delta = delta >> -shift if shift < 0 else delta << shift & word
    return delta * mul_frac >> 32 & word


def tsc_to_perf_time(cyc, mult, shift, zero, word=U64):
    quot, rem = divmod(cyc, 2**shift)
    return zero + (quot * mult & word) + ((rem * mult & word) >> shift) & word


def perf_time_to_tsc(ns, mult, shift, zero, word=U64):
    t = ns - zero & word
    if mult == 0:
        return 0
    quot, rem = divmod(t, mult)
    return (quot << shift & word) + (rem << shift & word) // mult & word


def mul_u64_u32_shr(a, mul, shift, word=U64):
    return a * mul >> shift & word


def mul_u64_u32_div(a, mul, divisor, word=U64):
    return quotient(a * mul, divisor) & word


def mul_u64_u64_div_u64(a, b, c, kernel, word=U64):
    if a == 0 or b == 0 or c == 0:
        return 0
    if kernel == "6.19":
        return a * b // c if word == FREE else min(a * b // c, U64)

    def ilog2(x):
        return x.bit_length() - 1

    whole = 0
    if ilog2(a) + ilog2(b) > 62:
        whole, b = b // c * a, b % c
        excess = ilog2(a) + ilog2(b) - 62
        if excess > 0:
            b, c = b >> excess, c >> excess
            if c == 0:
                return whole & word
    return whole + (a * b & word) // c & word


def reciprocal_value(d):
    """(m, sh1, sh2)"""
    if d == 0:
        return 0, 0, 0
    length = (d - 1).bit_length()
    m = (2**32 * (2**length - d) // d + 1) % 2**32
    return m, min(length, 1), max(length - 1, 0)


def reciprocal_divide(a, m, sh1, sh2):
    t = a * m >> 32
    return (t + ((a - t) % 2**32 >> sh1)) % 2**32 >> sh2


def reciprocal_value_adv(d, prec):
    """(m, sh, exp, is_wide_m)"""
    if d == 0:
        return 0, 0, 0, False
    length = (d - 1).bit_length()
    low = 2 ** (32 + length) // d
    high = (2 ** (32 + length) + 2 ** (32 + length - prec)) // d
    post = length
    while post > 0 and low >> 1 < high >> 1:
        low, high, post = low >> 1, high >> 1, post - 1
    return high % 2**32, post, length, high > U32


def reciprocal_scale(val, ep_ro):
    return val * ep_ro >> 32


def approximation(expression, x, word=U64):
    """An expression of C in x: Python reads it alike. What is inside the last shift is reduced to word."""
    match = re.fullmatch(r"(x\*\d+|\(.*\)|x)>>(\d+)", expression)
    inner, last = match.groups() if match else (expression, 0)
    return (eval(inner, {"__builtins__": {}}, {"x": x}) & word) >> int(last)


def approximation_error(expression, below):
    """Every x in turn: (max_under, at, max_over, at, mismatches, largest share of a quotient from 10 on)"""
    under = under_at = over = over_at = mismatches = 0
    worst = Fraction(0)
    for x in range(below):
        error = approximation(expression, x) - x // 1000
        if error < under:
            under, under_at = error, x
        if error > over:
            over, over_at = error, x
        mismatches += error != 0
        if x >= 10_000:
            worst = max(worst, Fraction(abs(error), x // 1000))
    return under, under_at, over, over_at, mismatches, worst
