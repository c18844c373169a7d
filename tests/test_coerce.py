# SPDX-License-Identifier: GPL-2.0-only
"""Arguments: what holds an integer exactly passes, everything else is refused by name and place."""

import numpy as np
import pandas as pd
import pytest

from schedpy import _coerce, clock
from schedpy._coerce import as_bool, as_choice, as_int, as_number


@pytest.mark.parametrize(
    "x",
    [
        5,
        True,
        np.int8(5),
        [1, 2],
        (1, 2),
        [1, 2**63],
        [[1], [2**64 - 1]],
        np.array([1, 2], dtype=object),
        np.array([1, 2], dtype=">u2"),
        np.array([True, False]),
        range(3),
        pd.Series([1, 2]),
        pd.Series([1, 2], dtype="UInt64"),
        np.ma.array([1, 2]),
    ],
)
def test_every_spelling_of_an_integer_passes(x):
    values = as_int(x, "x", np.uint64)
    assert values.dtype == np.uint64
    assert values.tolist() == [int(v) for v in x] if np.ndim(x) == 1 else True
    assert values.shape == np.shape(x)


def test_values_beyond_a_double_are_kept():
    assert as_int([1, 2**63], "x", np.uint64).tolist() == [1, 2**63]
    assert as_int([[1], [2**64 - 1]], "x", np.uint64).tolist() == [[1], [2**64 - 1]]
    assert as_int(2**53 + 1, "x", np.int64) == 2**53 + 1


def test_no_copy_where_the_memory_already_holds_it():
    signed = np.arange(10)
    assert np.shares_memory(as_int(signed, "x", np.uint64), signed)
    assert np.shares_memory(as_int(signed, "x", np.int64), signed)
    assert np.shares_memory(as_int(signed.view(np.uint64)[::2], "x", np.int64), signed)


@pytest.mark.parametrize(
    ("x", "dtype", "message"),
    [
        (-1, np.uint64, r"^x = -1: must be 0 \.\. 18446744073709551615$"),
        ([3, -5, -7], np.uint64, r"^x\[1\] = -5: must be 0"),
        (np.array([[0, 1], [2, -3]]), np.uint64, r"^x\[1, 1\] = -3"),
        (2**64, np.uint64, r"^x = 18446744073709551616"),
        ([0, 2**70], np.int64, r"^x\[1\] = 1180591620717411303424"),
        (np.array([0, 2**63], dtype=np.uint64), np.int64, r"^x\[1\] = 9223372036854775808"),
        (np.array([1, 2**32]), np.uint32, r"^x\[1\] = 4294967296: must be 0 \.\. 4294967295"),
        (np.array([1, -(2**40), 2**40]), np.uint32, r"^x\[1\] = -1099511627776"),
        (np.ma.array([1, 2], mask=[0, 1]), np.uint64, "masked"),
    ],
)
def test_out_of_range_is_refused_with_its_place(x, dtype, message):
    with pytest.raises(ValueError, match=message):
        as_int(x, "x", dtype)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (1.0, r"^x = 1\.0: must be an integer, not float"),
        ([1, 2.5], r"^x\[1\] = 2\.5"),
        (np.nan, r"^x = nan"),
        (np.array([1.0]), "must hold integers, not float64"),
        ("5", "must hold integers"),
        (None, "x = None: must be an integer, not NoneType"),
        ([1, None], r"^x\[1\] = None"),
        (np.array([1], dtype="m8[ns]"), "must hold integers"),
        (1j, "must hold integers"),
        (pd.Series([1, pd.NA], dtype="UInt64"), "must hold integers"),
    ],
)
def test_what_is_no_integer_is_refused(x, message):
    with pytest.raises(TypeError, match=message):
        as_int(x, "x", np.uint64)


def test_times():
    assert as_int(np.array([5], "m8[ns]"), "x", np.int64, time=True).tolist() == [5]
    assert as_int(pd.Series(pd.to_timedelta([7], unit="ns")), "x", np.uint64, time=True).tolist() == [7]
    with pytest.raises(TypeError, match="to_ns"):
        as_int(np.array([5], "m8[us]"), "x", np.int64, time=True)
    with pytest.raises(ValueError, match=r"x\[1\] is NaT"):
        as_int(np.array([5, "NaT"], "m8[ns]"), "x", np.int64, time=True)
    with pytest.raises(TypeError, match="to_ns"):
        clock.ktime_to_us(np.array([0.5]))
    with pytest.raises(TypeError, match="to_ns"):
        clock.ktime_to_us(0.5)


def test_the_type_follows_the_input_where_none_is_given():
    assert as_int(5, "x").dtype == np.int64
    assert as_int(2**63, "x").dtype == np.uint64
    assert as_int(np.uint8(5), "x").dtype == np.uint64
    assert as_int([], "x").dtype == np.int64


def test_a_lazy_array_is_never_computed():
    class Lazy:
        def __dask_graph__(self):
            return {}

        def __array__(self, *args, **kwargs):
            raise AssertionError("computed")

    with pytest.raises(TypeError, match="map_blocks"):
        as_int(Lazy(), "x", np.uint64)


def test_bounds_choices_numbers_and_flags():
    with pytest.raises(ValueError, match=r"shift\[0\] = 64: must be 0 \.\. 63"):
        as_int([64], "shift", np.uint32, high=63)
    with pytest.raises(ValueError, match="how = 'x': must be one of 'a', 'b'"):
        as_choice("x", "how", ("a", "b"))
    with pytest.raises(TypeError, match="how = 1"):
        as_choice(1, "how", ("a", "b"))
    with pytest.raises(ValueError, match="one integer"):
        as_number([1, 2], "hz")
    assert as_number(np.int8(3), "hz", low=1) == 3
    with pytest.raises(ValueError, match=r"running\[0\] = 2"):
        as_bool([2], "running")
    assert as_bool([], "running").dtype == bool


def test_bools_are_held_to_bounds_as_0_and_1():
    with pytest.raises(ValueError, match=r"hz = 0: must be 1 \.\. 7"):
        as_number(False, "hz", low=1, high=7)
    with pytest.raises(ValueError, match=r"hz\[1\] = 1: must be 0 \.\. 0"):
        as_int([False, True], "hz", low=0, high=0)
    assert as_int([True, False], "hz", low=0, high=1).tolist() == [1, 0]
    assert _coerce.__all__
