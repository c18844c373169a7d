# SPDX-License-Identifier: GPL-2.0-only
"""The jiffies functions and their companions against a twin, for any HZ; and what the twin cannot say."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import jiffies as twin

from schedpy import jiffies

U32 = 2**32 - 1
U64 = 2**64 - 1

CONFIGURED = (24, 32, 48, 64, 100, 128, 200, 250, 256, 300, 500, 512, 1000, 1024, 1200)
HZ = st.sampled_from(CONFIGURED) | st.integers(12, 12287) | st.sampled_from((1500, 2000, 3000, 4000, 10000))
BITS = st.sampled_from((32, 64))


def near(borders, most):
    """Integers of 0 .. most: of any bit length, and around the borders."""
    any_length = st.integers(0, most.bit_length()).flatmap(lambda n: st.integers(0, min(2**n, most)))
    around = st.sampled_from([*borders, most]).flatmap(lambda b: st.integers(max(b - 3, 0), min(b + 3, most)))
    return any_length | around


X32 = near([2**31, 1431649099, 4294947297, 4294965343, 603977823, 38348000], U32)
X64 = near([2**31, 2**32, 2**62, 2**63, U64 // 1024, U64 // 9], U64)

#: Functions of hz and long_bits -> bits of the argument, None for those of the long.
FUNCTIONS = {
    "clock_t_to_jiffies": None,
    "jiffies_to_clock_t": None,
    "jiffies_to_msecs": None,
    "jiffies_to_usecs": None,
    "msecs_to_jiffies": 32,
    "nsecs_to_jiffies": 64,
    "usecs_to_jiffies": 32,
}
FUNCTIONS_OF_64_BITS = (
    "jiffies64_to_msecs",
    "jiffies64_to_nsecs",
    "jiffies_64_to_clock_t",
    "nsecs_to_jiffies64",
)


def has_clock_t(name, hz):
    return "clock_t" not in name or name == "clock_t_to_jiffies" or hz not in (20, 25, 50)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(x32=X32, x64=X64, hz=HZ, bits=BITS)
def test_of_a_long(name, x32, x64, hz, bits):
    x = x32 if (FUNCTIONS[name] or bits) == 32 else x64
    if not has_clock_t(name, hz):
        return
    theirs = getattr(twin, name)(x, hz, bits)
    assert int(getattr(jiffies, name)(x, hz=hz, long_bits=bits)) == theirs
    wraps = theirs != getattr(twin, name)(x, hz, bits, free=True)
    assert bool(getattr(jiffies.wraps, name)(x, hz=hz, long_bits=bits)) == wraps


def test_the_end_of_clock_t_to_jiffies_below_hz_100():
    """The limit, ~0 / HZ * 100, passes a long itself: sooner than need be everything is all ones."""
    end = (U64 // 24 * 100) % 2**64
    assert end < 2**62
    ours = jiffies.clock_t_to_jiffies([end - 1, end, U64], hz=24)
    assert ours.tolist() == [twin.clock_t_to_jiffies(x, 24, 64) for x in (end - 1, end, U64)]
    assert ours.tolist()[1:] == [U64, U64]
    assert jiffies.wraps.clock_t_to_jiffies([2**59, end, U64], hz=24).tolist() == [False, True, True]


@pytest.mark.parametrize("name", FUNCTIONS_OF_64_BITS)
@given(x=X64, hz=HZ)
def test_of_64_bits(name, x, hz):
    if not has_clock_t(name, hz):
        return
    theirs = getattr(twin, name)(x, hz)
    assert int(getattr(jiffies, name)(x, hz=hz)) == theirs
    assert bool(getattr(jiffies.wraps, name)(x, hz=hz)) == (theirs != getattr(twin, name)(x, hz, free=True))


@given(X64)
def test_nsec_to_clock_t(n):
    assert int(jiffies.nsec_to_clock_t(n)) == twin.nsec_to_clock_t(n)


@given(X64, HZ, BITS)
def test_jiffies_to_timespec64(x, hz, bits):
    x %= 2**bits
    t = jiffies.jiffies_to_timespec64(x, hz=hz, long_bits=bits)
    assert (int(t.sec), int(t.nsec)) == twin.jiffies_to_timespec64(x, hz)
    wraps = twin.jiffies_to_timespec64(x, hz) != twin.jiffies_to_timespec64(x, hz, free=True)
    assert bool(jiffies.wraps.jiffies_to_timespec64(x, hz=hz, long_bits=bits)) == wraps


@given(X64, near([10**6], 10**9 - 1), HZ, BITS)
def test_timespec64_to_jiffies(sec, nsec, hz, bits):
    sec = sec - 2**64 if sec >= 2**63 else sec
    ours = jiffies.timespec64_to_jiffies(sec, nsec, hz=hz, long_bits=bits)
    assert int(ours) == twin.timespec64_to_jiffies(sec, nsec, hz, bits)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("hz", CONFIGURED)
def test_timespec64_to_jiffies_around_its_last_second(hz, bits):
    last = int(jiffies.timespec64_to_jiffies(-1, 0, hz=hz, long_bits=bits)) // hz
    for sec in range(last - 300, last + 300):
        ours = jiffies.timespec64_to_jiffies(sec, 999_999_999, hz=hz, long_bits=bits)
        assert int(ours) == twin.timespec64_to_jiffies(sec, 999_999_999, hz, bits)


def test_constants_of_every_hz():
    for hz in range(12, 12288):
        assert dict(jiffies.timeconst(hz)) == twin.timeconst(hz)
        assert jiffies.tick_nsec(hz) == twin.tick_nsec(hz)
    for bits in (32, 64):
        assert jiffies.max_jiffy_offset(long_bits=bits) == twin.infinite(bits)


def test_constants_cannot_be_changed():
    with pytest.raises(TypeError):
        jiffies.timeconst(250)["HZ_TO_MSEC_NUM"] = 5


@pytest.mark.parametrize("hz", [20, 25, 50])
def test_hz_without_a_proven_clock_t(hz):
    for function in (
        jiffies.jiffies_to_clock_t,
        jiffies.jiffies_64_to_clock_t,
        jiffies.wraps.jiffies_to_clock_t,
    ):
        with pytest.raises(ValueError, match=rf"^hz = {hz}: .* not proven for 20, 25 and 50"):
            function(1, hz=hz)


@pytest.mark.parametrize(
    ("argument", "bad"), [("hz", 11), ("hz", 12288), ("long_bits", 16), ("long_bits", 65)]
)
def test_kernels_that_cannot_be(argument, bad):
    with pytest.raises(ValueError, match=f"^{argument} = {bad}: must be"):
        jiffies.jiffies_to_msecs(1, **{"hz": 250, argument: bad})


def test_an_argument_too_long_for_the_kernel():
    with pytest.raises(ValueError, match=r"^j = 4294967296: must be 0 \.\. 4294967295"):
        jiffies.jiffies_to_msecs(2**32, hz=250, long_bits=32)
    with pytest.raises(ValueError, match=r"^m\[1\] = 4294967296"):
        jiffies.msecs_to_jiffies([0, 2**32], hz=250)
    with pytest.raises(ValueError, match=r"^nsec = 1000000000"):
        jiffies.timespec64_to_jiffies(0, 10**9, hz=250)


def test_a_companion_takes_what_its_function_takes():
    for name in jiffies.wraps.__all__:
        companion, function = getattr(jiffies.wraps, name), getattr(jiffies, name)
        assert inspect.signature(companion) == inspect.signature(function)
        assert companion.__doc__.startswith("Where ")
