# SPDX-License-Identifier: GPL-2.0-only
"""Columns of a sweep: what a value may be, what a function may return, and the hash of it all."""

import dataclasses
import datetime
import hashlib
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from schedpy._coerce import refuse_lazy

__all__ = ["RESERVED", "ColumnHash", "column", "hash_of", "numpy_column", "returned", "returned_batch"]

#: Columns that every part has, or may have, beside those of the points and of the function.
RESERVED = ("point", "row", "error")

_SCALARS = (bool, int, float, str, np.generic, datetime.datetime, datetime.timedelta, type(None))


def _is_plain(kind):
    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_boolean,
            types.is_integer,
            types.is_floating,
            types.is_string,
            types.is_timestamp,
            types.is_duration,
            types.is_null,
        )
    )


def _normal(array, name):
    """The one spelling of each kind of column."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if not _is_plain(array.type):
        raise TypeError(f"{name} holds {array.type}: must be numbers, bools, text or times")
    return array


def _from_list(values, name):
    kinds = {value.dtype for value in values if isinstance(value, np.generic)}
    if len(kinds) == 1 and all(isinstance(value, np.generic) for value in values):
        return pa.array(np.array(values))
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    whole = [value for value in values if type(value) is int]
    if whole and max(whole) > np.iinfo(np.int64).max and all(v is None or type(v) is int for v in values):
        return pa.array(values, pa.uint64())
    return pa.array(values)


def column(values, name):
    """Values as an Arrow array of numbers, bools, text or times.

    NumPy's types are kept, Python's integers become int64, or uint64 where one needs it.

    Examples
    --------
    >>> [str(column(values, "x").type) for values in ([1, None], [2**63], ["a"], [0.5])]
    ['int64', 'uint64', 'string', 'double']
    """
    refuse_lazy(values, name)
    try:
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            return _normal(values, name)
        if isinstance(values, (pd.Series, pd.Index)):
            return _normal(pa.array(values, from_pandas=values.dtype.kind not in "fc"), name)
        if isinstance(values, np.ndarray):
            if values.ndim != 1:
                raise ValueError(f"{name} has shape {values.shape}: must be one-dimensional")
            return _normal(pa.array(values.tolist() if values.dtype.kind in "UTO" else values), name)
        return _normal(_from_list(list(values), name), name)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise TypeError(
            f"{name} must hold values of one kind, numbers, bools, text or times: {error}"
        ) from None


def numpy_column(array):
    """An Arrow array as NumPy has it: text as objects, missing values as pandas would have them."""
    return array.to_numpy(zero_copy_only=False)


# What a function gives back


def _fields(result):
    """The names and values of one result; None where it is none that has names."""
    if isinstance(result, Mapping):
        return result
    if isinstance(result, pd.Series):
        return result.to_dict()
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    if hasattr(result, "_asdict"):
        return result._asdict()
    if getattr(getattr(result, "dtype", None), "names", None):
        return {name: result[name] for name in result.dtype.names}
    return None


def _name(name):
    if not isinstance(name, str):
        raise TypeError(f"the function returned a column named {name!r}: must be a string")
    if name in RESERVED:
        raise ValueError(f"the function returned a column named {name!r}, which every sweep has")
    return name


def _scalar(value, name):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if value is pd.NA or value is pd.NaT:
        return None
    if not isinstance(value, _SCALARS):
        raise TypeError(f"the function returned {name!r} as {type(value).__name__}: must be a scalar")
    return value


def _same(value, wanted):
    return value == wanted or (value != value and wanted != wanted)


def returned(result, point):
    """What a function returned for one point: a dict of scalars, or an Arrow table of its rows.

    A column that only repeats the point's own value is left out.
    """
    if isinstance(result, pd.DataFrame):
        return _frame(result, point)
    fields = _fields(result)
    if fields is None:
        fields = {"value": result}
    row = {}
    for name, value in fields.items():
        scalar = _scalar(value, _name(name))
        if name not in point:
            row[name] = scalar
        elif not _same(scalar, point[name]):
            raise ValueError(f"the function returned {name!r} = {scalar!r}: the point has {point[name]!r}")
    return row


def _frame(frame, point):
    if not (isinstance(frame.index, pd.RangeIndex) and frame.index.name is None):
        frame = frame.reset_index()
    columns = {}
    for name in frame.columns:
        array = column(frame[_name(name)], f"the function's column {name!r}")
        if name not in point:
            columns[name] = array
        elif not all(_same(value, point[name]) for value in array.unique().to_pylist()):
            raise ValueError(f"the function returned a column {name!r}: the point has {point[name]!r}")
    columns = {"row": pa.array(np.arange(len(frame))), **columns}
    return pa.table(columns)


def returned_batch(result, points, count):
    """What a function returned for an array of points, as Arrow arrays of that length."""
    if isinstance(result, pd.DataFrame):
        result = {name: result[name] for name in result.columns}
    fields = _fields(result)
    if fields is None:
        fields = {"value": result}
    columns = {}
    for name, values in fields.items():
        if np.ndim(values) == 0:
            values = [_scalar(values, name)] * count
        array = column(values, f"the function's column {_name(name)!r}")
        if len(array) != count:
            raise ValueError(f"function returned {len(array)} values of {name!r} for {count} points")
        if name not in points:
            columns[name] = array
        elif not array.equals(points[name]):
            raise ValueError(f"function returned a column {name!r} that differs from the points'")
    return columns


# The hash


def _bytes(array):
    """The values of a column without missing ones, little-endian."""
    values = numpy_column(array)
    return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()


class ColumnHash:
    """sha256 over the bytes of a column that comes in pieces; where it is cut makes no difference."""

    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self._streams = [hashlib.sha256() for _ in range(3)]

    def update(self, array):
        """The next piece, of the column's type."""
        valid, lengths, data = self._streams
        valid.update(_bytes(array.is_valid().cast(pa.uint8())))
        if pa.types.is_null(self.kind):
            return
        if pa.types.is_string(self.kind):
            array = pc.fill_null(array, "")
            lengths.update(_bytes(pc.binary_length(array)))
            data.update("".join(array.to_pylist()).encode())
            return
        if pa.types.is_boolean(self.kind):
            array = array.cast(pa.uint8())
        elif pa.types.is_timestamp(self.kind) or pa.types.is_duration(self.kind):
            array = array.cast(pa.int64())
        data.update(_bytes(pc.fill_null(array, 0)))

    def digest(self):
        """32 bytes that stand for name, type, missing values and values."""
        whole = hashlib.sha256(f"{self.name}\n{self.kind}\n".encode())
        for stream in self._streams:
            whole.update(stream.digest())
        return whole.digest()


def hash_of(array, name):
    """The hash of one column, in hexadecimal."""
    column_hash = ColumnHash(name, array.type)
    column_hash.update(array)
    return column_hash.digest().hex()
