# SPDX-License-Identifier: GPL-2.0-only
"""Arguments on their way to the core: exact integers of the kernel's own type, or an error that says where.

Nothing is wrapped, truncated or guessed: what does not hold an integer of the
wanted range exactly is refused.
"""

import math
import operator
from functools import cache

import numpy as np

__all__ = [
    "as_array",
    "as_bool",
    "as_choice",
    "as_choices",
    "as_int",
    "as_long_bits",
    "as_number",
    "as_shape",
    "refuse_lazy",
]


def refuse_lazy(x, name):
    """A lazy array is never computed behind the caller's back."""
    graph = getattr(x, "__dask_graph__", None)
    if graph is not None and graph() is not None:
        raise TypeError(
            f"{name} is a lazy array, which is not computed silently: use "
            "dask.array.map_blocks(function, x, dtype=...) or "
            'xarray.apply_ufunc(function, x, dask="parallelized", output_dtypes=[...])'
        )


def _where(index, shape):
    return "" if shape == () else f"[{', '.join(str(int(i)) for i in np.unravel_index(index, shape))}]"


def _refuse_first(bad, values, name, allowed):
    """Raise a ValueError for the first True of ``bad``."""
    index = int(np.argmax(bad))
    raise ValueError(f"{name}{_where(index, values.shape)} = {values.flat[index]}: must be {allowed}")


def as_array(x, name):
    """x as an array of whatever type it is; lists of unequal length are none, nor are lazy arrays."""
    refuse_lazy(x, name)
    try:
        return np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name} is no array: {error}") from None


def _exact(x, name, time):
    """x as an array that still holds its values exactly."""
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            raise ValueError(f"{name} has masked elements: fill or drop them first")
        x = x.data
    array = as_array(x, name)
    kind = array.dtype.kind
    if kind in "mM":
        return _from_time(array, name, time)
    if kind == "f" and not isinstance(x, np.ndarray | np.generic) and not hasattr(x, "dtype"):
        # np.asarray([1, 2**63]) is float64 although both are integers: look at the objects themselves.
        array = np.asarray(x, dtype=object)
        kind = "O"
    if kind == "O":
        return _from_objects(array, name, time)
    if array.size == 0 and not hasattr(x, "dtype"):
        return array.astype(np.int64)
    if kind not in "iub":
        raise TypeError(f"{name} must hold integers, not {array.dtype}{_hint(kind == 'f' and time)}")
    return array


def _hint(seconds):
    return " (seconds? `clock.to_ns(x)` gives whole nanoseconds)" if seconds else ""


def _from_time(array, name, time):
    if not time:
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    unit = np.datetime_data(array.dtype)
    if unit != ("ns", 1):
        raise TypeError(f"{name} must be in whole nanoseconds: convert {array.dtype} by `clock.to_ns(x)`")
    values = array.view(np.int64)
    nat = np.isnat(array)
    if nat.any():
        raise ValueError(f"{name}{_where(int(np.argmax(nat)), array.shape)} is NaT: must be a time")
    return values


def _from_objects(array, name, time):
    """Python integers of any size: an object array whose elements are all exactly int."""
    exact = np.empty(array.shape, dtype=object)
    for index, value in enumerate(array.flat):
        try:
            exact.flat[index] = operator.index(value)
        except TypeError:
            where = _where(index, array.shape)
            hint = _hint(time and isinstance(value, float))
            kind = type(value).__name__
            raise TypeError(f"{name}{where} = {value!r}: must be an integer, not {kind}{hint}") from None
    return exact


_limits = cache(np.iinfo)
_WIDE = (np.dtype(np.int64), np.dtype(np.uint64))


def _check_range(array, name, low, high):
    if array.size == 0:
        return
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind in "iu":
        limits = _limits(array.dtype)
        if (low <= limits.min or low <= array.min()) and (limits.max <= high or array.max() <= high):
            return
    lowest, highest = int(array.min()), int(array.max())
    if lowest >= low and highest <= high:
        return
    # Python integers on the other side: NumPy would refuse or convert what its type cannot hold.
    bad = np.zeros(array.shape, dtype=bool)
    if lowest < low:
        bad |= array < low if lowest < low <= highest else np.ones(array.shape, dtype=bool)
    if highest > high:
        bad |= array > high if lowest <= high < highest else np.ones(array.shape, dtype=bool)
    _refuse_first(bad, array, name, f"{low} .. {high}")


@cache
def _span(dtype):
    """A type with the least and the largest of what it holds."""
    dtype = np.dtype(dtype)
    limits = np.iinfo(dtype)
    return dtype, int(limits.min), int(limits.max)


def _as_it_is(x, dtype, low, high):
    """What needs no look: an array of the type itself, one Python int that the type holds. None: neither."""
    if type(x) is np.ndarray:
        if dtype is None:
            return x if low is None and high is None and x.dtype in _WIDE else None
        dtype, least, most = _span(dtype)
        fits = (low is None or low <= least) and (high is None or most <= high)
        return x if fits and x.dtype == dtype else None
    if type(x) is not int:
        return None
    dtype, least, most = _span(np.int64 if dtype is None else dtype)
    fits = least <= x <= most and (low is None or low <= x) and (high is None or x <= high)
    return np.array(x, dtype) if fits else None


def as_int(x, name, dtype=None, *, low=None, high=None, time=False):
    """x as an array of exactly the kernel's integer type.

    Parameters
    ----------
    x : array_like of int or bool
        Python ints of any size, NumPy arrays, pandas Series, lists; with ``time`` also
        datetime64[ns] and timedelta64[ns].
    name : str
        The argument's name, for the error message.
    dtype : dtype, optional
        The type to give back. None: int64 or uint64 by what x is; a plain int is int64 if that holds it.
    low, high : int, optional
        Bounds narrower than the type's, both allowed.

    Returns
    -------
    ndarray
        Of ``dtype``; a view of x where its memory already holds that, never a rounded copy.

    Raises
    ------
    TypeError
        x holds something else than integers, or is lazy.
    ValueError
        A value is out of range; the message gives the first offending index.

    Examples
    --------
    >>> from schedpy._coerce import as_int
    >>> as_int([1, 2**63], "ns", "u8").tolist()
    [1, 9223372036854775808]
    """
    quick = _as_it_is(x, dtype, low, high)
    if quick is not None:
        return quick
    array = _exact(x, name, time)
    if dtype is None:
        unsigned = array.dtype.kind == "u" or (
            array.dtype.kind == "O" and array.size > 0 and int(array.max()) > np.iinfo(np.int64).max
        )
        dtype = np.uint64 if unsigned else np.int64
    dtype = np.dtype(dtype)
    limits = _limits(dtype)
    low = limits.min if low is None else low
    high = limits.max if high is None else high
    _check_range(array, name, low, high)
    if array.dtype == dtype:
        return array
    if array.dtype.kind in "iu" and array.dtype.itemsize == dtype.itemsize and array.dtype.isnative:
        return array.view(dtype)
    return array.astype(dtype)


def as_bool(x, name):
    """x as an array of bool: bools, and integers that are 0 or 1.

    Examples
    --------
    >>> from schedpy._coerce import as_bool
    >>> as_bool([0, 1, True], "running").tolist()
    [False, True, True]
    """
    array = _exact(x, name, time=False)
    if array.dtype.kind != "b":
        _check_range(array, name, 0, 1)
    return array.astype(bool, copy=False)


def as_number(x, name, *, low=None, high=None):
    """One Python int."""
    if type(x) is int and -(2**63) <= x < 2**63 and (low is None or low <= x) and (high is None or x <= high):
        return x
    array = as_int(x, name, low=low, high=high)
    if array.ndim:
        raise ValueError(f"{name} must be one integer, not an array of shape {array.shape}")
    return int(array)


def as_long_bits(x):
    """The width of the kernel's long: 32 or 64."""
    bits = as_number(x, "long_bits")
    if bits not in (32, 64):
        raise ValueError(f"long_bits = {bits}: must be 32 or 64")
    return bits


def as_shape(x, name):
    """The shape of an array, as a tuple: one integer or several, none negative."""
    lengths = as_int(x, name, low=0, high=np.iinfo(np.intp).max)
    if lengths.ndim > 1:
        raise ValueError(
            f"{name} must be one integer or a tuple of them, not an array of shape {lengths.shape}"
        )
    shape = tuple(lengths.ravel().tolist())
    if math.prod(shape) > np.iinfo(np.intp).max // 1024:
        raise ValueError(f"{name} = {shape}: more elements than memory has addresses for")
    return shape


def as_choices(x, name, choices):
    """Several of a few words, as a tuple."""
    if isinstance(x, str):
        raise TypeError(f"{name} = {x!r}: must be a tuple of names, ({x!r},)")
    try:
        words = tuple(x)
    except TypeError:
        raise TypeError(f"{name} = {x!r}: must be a tuple of names") from None
    return tuple(as_choice(word, f"{name}[{index}]", choices) for index, word in enumerate(words))


def as_choice(x, name, choices):
    """One of a few words."""
    if not isinstance(x, str):
        raise TypeError(f"{name} = {x!r}: must be a string, one of {', '.join(map(repr, choices))}")
    if x not in choices:
        raise ValueError(f"{name} = {x!r}: must be one of {', '.join(map(repr, choices))}")
    return x
