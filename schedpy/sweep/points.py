# SPDX-License-Identifier: GPL-2.0-only
"""Points of a sweep: numbered, typed once, and never expanded further than one part."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd
import pyarrow as pa

from schedpy._coerce import refuse_lazy
from schedpy.sweep.columns import RESERVED, column, hash_of

__all__ = ["Listed", "Product", "points_of"]

_CHUNK = 65536


@dataclass(frozen=True)
class Product:
    """Every combination of the axes' values, the last axis fastest."""

    axes: dict

    def __len__(self):
        return math.prod(map(len, self.axes.values()))

    def part(self, start, stop):
        """What a worker needs to make these points: the axes."""
        return self

    def columns(self, start, stop):
        """name -> Arrow array of the points start .. stop - 1."""
        at = np.unravel_index(np.arange(start, stop), tuple(map(len, self.axes.values())))
        return {
            name: axis.take(pa.array(index))
            for (name, axis), index in zip(self.axes.items(), at, strict=True)
        }

    def identity(self):
        """What says in a manifest which points these are."""
        axes = {
            name: {"values": len(axis), "type": str(axis.type), "sha256": hash_of(axis, name)}
            for name, axis in self.axes.items()
        }
        return {"kind": "product", "count": len(self), "columns": axes}


@dataclass(frozen=True)
class Listed:
    """Points one by one: a table, whose first row is point ``offset``."""

    table: pa.Table
    offset: int = 0

    def __len__(self):
        return self.table.num_rows

    def __reduce__(self):
        # A slice pickles as all of its table; Arrow's stream holds the slice alone.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return _listed, (sink.getvalue().to_pybytes(), self.offset)

    def part(self, start, stop):
        """What a worker needs to make these points: their rows."""
        return Listed(self.table.slice(start - self.offset, stop - start), start)

    def columns(self, start, stop):
        """name -> Arrow array of the points start .. stop - 1."""
        rows = self.table.slice(start - self.offset, stop - start).combine_chunks()
        return {
            name: rows.column(name).chunk(0) if rows.num_rows else pa.array([], rows.schema.field(name).type)
            for name in rows.column_names
        }

    def identity(self):
        """What says in a manifest which points these are."""
        columns = {
            name: {"type": str(array.type), "sha256": hash_of(array.combine_chunks(), name)}
            for name, array in zip(self.table.column_names, self.table.columns, strict=True)
        }
        return {"kind": "list", "count": len(self), "columns": columns}


def _listed(stream, offset):
    return Listed(pa.ipc.open_stream(stream).read_all(), offset)


def _checked(names):
    names = list(names)
    if not names:
        raise ValueError("points has no names: give at least one")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"points: the name {name!r} must be a string")
        if name in RESERVED:
            raise ValueError(f"points: the name {name!r} is one that every sweep has itself")
    if len(set(names)) < len(names):
        raise ValueError(f"points: two columns have one name, of {', '.join(map(repr, names))}")
    return names


def _axis(values, name):
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        values = [values]
    elif isinstance(values, range):
        values = np.arange(values.start, values.stop, values.step)
    return column(values, f"points[{name!r}]")


def _from_iterator(points):
    """Dicts, taken in chunks so that only their columns stay in memory."""
    points, tables = iter(points), []
    names: list[str] = []
    while chunk := list(islice(points, _CHUNK)):
        for point in chunk:
            if not isinstance(point, Mapping):
                raise TypeError(f"points must be dicts, not {type(point).__name__}")
            names = names or _checked(point)
            if point.keys() != set(names):
                raise ValueError(
                    f"points: one has the names {', '.join(point)}: the first {', '.join(names)}"
                )
        tables.append(
            pa.table({name: column([p[name] for p in chunk], f"points[{name!r}]") for name in names})
        )
    if not tables:
        raise ValueError("points is empty")
    try:
        return Listed(pa.concat_tables(tables, promote_options="permissive").combine_chunks())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"points must hold values of one kind under each name: {error}") from None


def points_of(points):
    """The points that ``run`` takes, numbered."""
    refuse_lazy(points, "points")
    made: Product | Listed
    if isinstance(points, (Product, Listed)):
        made = points
    elif isinstance(points, pd.DataFrame):
        names = _checked(points.columns)
        made = Listed(pa.table({name: column(points[name], f"points[{name!r}]") for name in names}))
    elif isinstance(points, Mapping):
        made = Product({name: _axis(points[name], name) for name in _checked(points)})
    elif isinstance(points, Iterable) and not isinstance(points, (str, bytes)):
        made = _from_iterator(points)
    else:
        raise TypeError(
            f"points must be a dict of lists, a DataFrame or an iterable of dicts"
            f", not {type(points).__name__}"
        )
    if not len(made):
        raise ValueError("points is empty")
    return made
