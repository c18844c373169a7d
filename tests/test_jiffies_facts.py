# SPDX-License-Identifier: GPL-2.0-only
"""What is known of the kernel's jiffies, each with the input that shows it."""

import pytest

from schedpy import jiffies

DAY_NS = 86_400 * 10**9


def floor_sum(n, m, a, b):
    """Sum of (a * i + b) // m over i = 0 .. n - 1, by Euclid's steps."""
    total = 0
    while n:
        total += n * (n - 1) // 2 * (a // m) + n * (b // m)
        a, b = a % m, b % m
        last = a * n + b
        n, b, m, a = last // m, last % m, a, m
        if m == 0:
            break
    return total


def test_floor_sum():
    for n, m, a, b in [(0, 3, 2, 1), (10, 7, 3, 5), (100, 13, 29, 40), (50, 8, 8, 3), (9, 5, 0, 7)]:
        assert floor_sum(n, m, a, b) == sum((a * i + b) // m for i in range(n))


def too_high(name, hz, count):
    """How many of 0 .. count - 1 the constants of `name` make one too high: the difference of two sums."""
    c = jiffies.timeconst(hz)
    mul, adj, shr, num, den = (c[f"{name}_{part}"] for part in ("MUL32", "ADJ32", "SHR32", "NUM", "DEN"))
    assert (mul * den - (num << shr)) * count < den << shr, "none is two too high"
    return floor_sum(count, 2**shr, mul, adj) - floor_sum(count, den, num, den - 1)


def first_too_high(name, hz, most):
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if too_high(name, hz, middle) else (middle, high)
    return high - 1


def test_msecs_to_jiffies_is_exact_at_300():
    assert too_high("MSEC_TO_HZ", 300, 2**31) == 0


def test_msecs_to_jiffies_is_one_too_high_at_1024():
    assert too_high("MSEC_TO_HZ", 1024, 2**31) == 472_446_399
    first = first_too_high("MSEC_TO_HZ", 1024, 2**31)
    assert first == 38_348_000
    assert jiffies.msecs_to_jiffies([first - 1, first], hz=1024).tolist() == [
        -(-(first - 1) * 1024 // 1000),
        -(-first * 1024 // 1000) + 1,
    ]


def test_msecs_to_jiffies_is_one_too_high_at_1200():
    first = first_too_high("MSEC_TO_HZ", 1200, 2**31)
    assert first == 1_073_741_825
    assert int(jiffies.msecs_to_jiffies(first, hz=1200)) == -(-first * 1200 // 1000) + 1


def test_usecs_to_jiffies_would_be_one_too_high_at_300_were_it_reached():
    assert too_high("USEC_TO_HZ", 300, 2**32) == 168_949
    first = first_too_high("USEC_TO_HZ", 300, 2**32)
    assert first == 2_605_480_000
    for bits in (32, 64):
        infinite = jiffies.max_jiffy_offset(long_bits=bits)
        assert int(jiffies.usecs_to_jiffies(first, hz=300, long_bits=bits)) == infinite


@pytest.mark.parametrize(
    ("hz", "long_bits", "first"),
    [
        (300, 64, 1_431_649_099),
        (300, 32, 1_431_649_782),
        (100, 64, 4_294_947_297),
        (250, 64, 4_294_959_297),
        (1000, 64, 4_294_965_297),
        (1024, 64, 4_294_965_343),
        (1024, 32, 603_977_823),
    ],
)
def test_where_usecs_to_jiffies_is_infinite(hz, long_bits, first):
    kernel = {"hz": hz, "long_bits": long_bits}
    infinite = jiffies.max_jiffy_offset(long_bits=long_bits)
    finite, at = jiffies.usecs_to_jiffies([first - 1, first], **kernel).tolist()
    assert finite == -(-(first - 1) * hz // 10**6)
    assert at == infinite
    assert jiffies.wraps.usecs_to_jiffies([first - 1, first], **kernel).tolist() == [False, True]


def test_msecs_round_up_and_the_64_bit_function_down():
    assert (int(jiffies.jiffies_to_msecs(1, hz=300)), int(jiffies.jiffies64_to_msecs(1, hz=300))) == (4, 3)


def test_when_unsigned_ints_of_time_wrap():
    days, minutes = 49.7 * 86_400, 71.6 * 60
    for function, unit, after in (("jiffies_to_msecs", 1000, days), ("jiffies_to_usecs", 10**6, minutes)):
        first = -(-(2**32) * 250 // unit)
        assert first / 250 == pytest.approx(after, rel=1e-3)
        wraps = getattr(jiffies.wraps, function)
        assert wraps([first - 1, first], hz=250).tolist() == [False, True]
        assert int(getattr(jiffies, function)(first, hz=250)) < 4000


def test_nsecs_to_jiffies64_wraps_unless_hz_divides_a_second():
    first = -(-(2**64) // 1024)
    assert first // DAY_NS == 208
    assert jiffies.wraps.nsecs_to_jiffies64([first - 1, first], hz=1024).tolist() == [False, True]
    assert int(jiffies.nsecs_to_jiffies64(first, hz=1024)) == 0
    first = -(-(2**64) // 9)
    assert round(first / (365.25 * DAY_NS)) == 65
    assert jiffies.wraps.nsecs_to_jiffies64([first - 1, first], hz=300).tolist() == [False, True]
    assert not jiffies.wraps.nsecs_to_jiffies64(2**64 - 1, hz=250)


def test_a_long_of_32_bits_still_multiplies_clock_t_in_64():
    most = 2**32 - 1
    assert int(jiffies.jiffies_to_clock_t(most, hz=1024, long_bits=32)) == most * 976_563 // 10**7
    assert int(jiffies.clock_t_to_jiffies(2**28, hz=1024, long_bits=32)) == 2**28 * 1024 // 100


def test_jiffies_to_msecs_multiplies_in_a_long():
    """64 bits wrap in the product with NUM, before the result is cut to an unsigned int."""
    j = 2**62 - 2
    num, den = (jiffies.timeconst(1024)[f"HZ_TO_MSEC_{part}"] for part in ("NUM", "DEN"))
    assert j * num >= 2**64
    assert int(jiffies.jiffies_to_msecs(j, hz=1024)) == (j * num + den - 1) % 2**64 // den % 2**32
