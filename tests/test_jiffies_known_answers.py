# SPDX-License-Identifier: GPL-2.0-only
"""Every row of the jiffies files, through the public faces."""

import numpy as np
import pytest
from golden import load, select

from schedpy import jiffies

NSEC_PER_SEC = 10**9
FOR_A_LONG = {
    name: getattr(jiffies, name)
    for name in (
        "clock_t_to_jiffies",
        "jiffies_to_clock_t",
        "jiffies_to_msecs",
        "jiffies_to_usecs",
        "msecs_to_jiffies",
        "nsecs_to_jiffies",
        "usecs_to_jiffies",
    )
}
FOR_64_BITS = {
    name: getattr(jiffies, name)
    for name in ("jiffies64_to_msecs", "jiffies64_to_nsecs", "jiffies_64_to_clock_t", "nsecs_to_jiffies64")
}


def timespec64_to_jiffies(ns, **kernel):
    sec, nsec = np.divmod(ns, np.uint64(NSEC_PER_SEC))
    return jiffies.timespec64_to_jiffies(sec, nsec, **kernel)


#: Function of the file -> how it is called with the input, hz and long_bits.
CALLS = {
    **FOR_A_LONG,
    **{
        name: lambda x, *, hz, long_bits, function=function: function(x, hz=hz)
        for name, function in FOR_64_BITS.items()
    },
    "nsec_to_clock_t": lambda n, *, hz, long_bits: jiffies.nsec_to_clock_t(n),
    "timespec64_to_jiffies": timespec64_to_jiffies,
    "jiffies_to_timespec64.sec": lambda j, **kernel: jiffies.jiffies_to_timespec64(j, **kernel).sec,
    "jiffies_to_timespec64.nsec": lambda j, **kernel: jiffies.jiffies_to_timespec64(j, **kernel).nsec,
}
ROWS = load("clock/jiffies")


@pytest.mark.parametrize("long_bits", [64, 32])
@pytest.mark.parametrize("hz", [100, 250, 300, 1000, 1024])
@pytest.mark.parametrize("func", CALLS)
def test_jiffies(func, hz, long_bits):
    rows = select(ROWS, HZ=hz, bits_per_long=long_bits, func=func)
    ours = CALLS[func](rows["input_u64"], hz=hz, long_bits=long_bits)
    without_sign = [value % 2**long_bits if value < 0 else value for value in ours.tolist()]
    assert len(without_sign) > 50
    assert without_sign == rows["output_u64"].tolist()


def test_no_row_is_left_out():
    assert set(ROWS["func"]) == set(CALLS)
    assert {int(hz) for hz in ROWS["HZ"]} == {100, 250, 300, 1000, 1024}
    assert {int(bits) for bits in ROWS["bits_per_long"]} == {32, 64}


def test_timeconst():
    rows = load("clock/timeconst")
    for hz in sorted({int(hz) for hz in rows["HZ"]}):
        those = select(rows, HZ=hz)
        expected = dict(zip(those["name"].tolist(), those["value_dec"].tolist(), strict=True))
        assert dict(jiffies.timeconst(hz)) == expected
        assert [int(cell, 16) for cell in those["value_hex"]] == list(expected.values())
