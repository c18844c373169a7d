# SPDX-License-Identifier: GPL-2.0-only
"""Clock conversions on Python integers."""

INT_MAX = 2**31 - 1


def signed(x):
    """The low 64 bits of x as two's complement."""
    x %= 2**64
    return x - 2**64 if x >= 2**63 else x


def ktime_to_us(ns):
    us = abs(ns) // 1000
    return -us if ns < 0 else us


def ktime_us_delta(later, earlier):
    return ktime_to_us(signed(later - earlier))


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


def clocksource_cyc2ns(cycles, mult, shift):
    return signed(cycles * mult % 2**64 >> shift)


def mul_u64_u32_shr(a, mul, shift):
    return (a * mul >> shift) % 2**64
