# SPDX-License-Identifier: GPL-2.0-only
"""Jiffies on Python integers.

With ``free`` nothing is reduced to the kernel's types, neither results nor what is computed on the way: what
then comes out otherwise has wrapped.
"""

from math import gcd

U32 = 2**32 - 1
U64 = 2**64 - 1


def tick_nsec(hz):
    return (10**9 + hz // 2) // hz


def infinite(bits):
    return (2 ** (bits - 1) - 1 >> 1) - 1


def ceil(a, b):
    return -(-a // b)


def timeconst(hz):
    constants = {}
    for name, n, d in (
        ("HZ_TO_MSEC", 1000, hz),
        ("MSEC_TO_HZ", hz, 1000),
        ("HZ_TO_USEC", 10**6, hz),
        ("USEC_TO_HZ", hz, 10**6),
        ("HZ_TO_NSEC", 10**9, hz),
        ("NSEC_TO_HZ", hz, 10**9),
    ):
        if "NSEC" not in name:
            s = 0
            while ceil(2**s * n, d) < 2**31:
                s += 1
            lowest = d // gcd(n, d)
            constants[f"{name}_MUL32"] = ceil(2**s * n, d)
            constants[f"{name}_ADJ32"] = 2**s * (lowest - 1) // lowest
            constants[f"{name}_SHR32"] = s
        constants[f"{name}_NUM"] = n // gcd(n, d)
        constants[f"{name}_DEN"] = d // gcd(n, d)
    return constants


def multiply_and_shift(name, x, hz, word):
    c = timeconst(hz)
    return (c[f"{name}_MUL32"] * x + c[f"{name}_ADJ32"] & word) >> c[f"{name}_SHR32"]


def msecs_to_jiffies(m, hz, bits, free=False):
    word, long = (-1, -1) if free else (U64, 2**bits - 1)
    if m >= 2**31:
        return infinite(bits)
    if hz > 1000 and m > jiffies_to_msecs(infinite(bits), hz, bits, free):
        return infinite(bits)
    if 1000 % hz == 0:
        k = 1000 // hz
        return (m + k - 1) // k
    if hz % 1000 == 0:
        return m * (hz // 1000) & long
    return multiply_and_shift("MSEC_TO_HZ", m, hz, word) & long


def usecs_to_jiffies(u, hz, bits, free=False):
    word, long = (-1, -1) if free else (U64, 2**bits - 1)
    if u > jiffies_to_usecs(infinite(bits), hz, bits, free):
        return infinite(bits)
    if 10**6 % hz == 0:
        k = 10**6 // hz
        return (u + k - 1 & long) // k
    return multiply_and_shift("USEC_TO_HZ", u, hz, word) & long


def jiffies_to_msecs(j, hz, bits, free=False):
    word, long, result = (-1, -1, -1) if free else (U64, 2**bits - 1, U32)
    c = timeconst(hz)
    if 1000 % hz == 0:
        ms = 1000 // hz * j & long
    elif hz % 1000 == 0:
        k = hz // 1000
        ms = (j + k - 1 & long) // k
    elif bits == 64:
        ms = (j * c["HZ_TO_MSEC_NUM"] + c["HZ_TO_MSEC_DEN"] - 1 & long) // c["HZ_TO_MSEC_DEN"]
    else:
        s = c["HZ_TO_MSEC_SHR32"]
        ms = (c["HZ_TO_MSEC_MUL32"] * j + 2**s - 1 & word) >> s
    return ms & result


def jiffies_to_usecs(j, hz, bits, free=False):
    word, long, result = (-1, -1, -1) if free else (U64, 2**bits - 1, U32)
    c = timeconst(hz)
    if 10**6 % hz == 0:
        us = 10**6 // hz * j & long
    elif bits == 64:
        us = (j * c["HZ_TO_USEC_NUM"] & long) // c["HZ_TO_USEC_DEN"]
    else:
        us = (c["HZ_TO_USEC_MUL32"] * j & word) >> c["HZ_TO_USEC_SHR32"]
    return us & result


def jiffies64_to_msecs(j, hz, bits=64, free=False):
    word = -1 if free else U64
    if hz <= 1000 and 1000 % hz == 0:
        return 1000 // hz * j & word
    c = timeconst(hz)
    return (j * c["HZ_TO_MSEC_NUM"] & word) // c["HZ_TO_MSEC_DEN"]


def jiffies64_to_nsecs(j, hz, bits=64, free=False):
    word = -1 if free else U64
    if 10**9 % hz == 0:
        return 10**9 // hz * j & word
    c = timeconst(hz)
    return (j * c["HZ_TO_NSEC_NUM"] & word) // c["HZ_TO_NSEC_DEN"]


def nsecs_to_jiffies64(n, hz, bits=64, free=False):
    word = -1 if free else U64
    if 10**9 % hz == 0:
        return n // (10**9 // hz)
    if hz % 512 == 0:
        return (n * hz & word) // 512 // (10**9 // 512)
    return (n * 9 & word) // ((9 * 10**9 + hz // 2) // hz)


def nsecs_to_jiffies(n, hz, bits, free=False):
    j = nsecs_to_jiffies64(n, hz, bits, free)
    return j if free else j % 2**bits


def jiffies_64_to_clock_t(j, hz, bits=64, free=False):
    word = -1 if free else U64
    if tick_nsec(hz) % 10**7 == 0:
        return j // (hz // 100)
    return (j * tick_nsec(hz) & word) // 10**7


def jiffies_to_clock_t(j, hz, bits, free=False):
    t = jiffies_64_to_clock_t(j, hz, bits, free)
    if free:
        return t
    t %= 2**bits
    return t - 2**bits if t >= 2 ** (bits - 1) else t


def clock_t_to_jiffies(x, hz, bits, free=False):
    word, long = (-1, -1) if free else (U64, 2**bits - 1)
    ones = 2**bits - 1
    if hz % 100 == 0:
        return ones if x >= ones // (hz // 100) else x * (hz // 100)
    if x >= (ones // hz * 100 & long):
        return ones
    return (x * hz & word) // 100 & long


def nsec_to_clock_t(n):
    return n // 10**7


def timespec64_to_jiffies(sec, nsec, hz, bits):
    tick = tick_nsec(hz)
    shift_hz = next(4 + k for k in range(11) if 12 << k <= hz < 24 << k)
    sc = 31 - shift_hz
    if ((10**9 << 2) // tick << (sc - 2)) >> 31 & 1 == 0:
        sc += 1
    nsc = sc + 29
    seconds_factor, nanoseconds_factor = ceil(10**9 * 2**sc, tick), ceil(2**nsc, tick)
    if bits == 64:
        whole, rest = divmod((infinite(64) >> sc) * tick, 10**9)
        most = whole * 2 + (rest * 2 + 5 * 10**8) // 10**9 - 1
    else:
        most = infinite(32) * tick // 10**9
    sec, nsec = sec % 2**64, nsec + tick - 1
    if sec >= most:
        sec, nsec = most, 0
    return (sec * seconds_factor + (nsec * nanoseconds_factor >> (nsc - sc)) & U64) >> sc & 2**bits - 1


def jiffies_to_timespec64(j, hz, free=False):
    """(sec, nsec)"""
    return divmod(j * tick_nsec(hz) & (-1 if free else U64), 10**9)
