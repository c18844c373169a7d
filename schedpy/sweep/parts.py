# SPDX-License-Identifier: GPL-2.0-only
"""Parts of a sweep: a fixed range of points computed and written as one file, and found whole again.

This is what runs in the workers. A part's file appears complete or not at all; computing it twice gives
the same file.
"""

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from schedpy._files import written_whole
from schedpy.sweep.columns import column, numpy_column, returned, returned_batch
from schedpy.sweep.points import Listed, Product

__all__ = [
    "DamagedError",
    "Generators",
    "Job",
    "Part",
    "compute",
    "file_name",
    "inspect_part",
    "stop",
    "wants_rng",
]

_METADATA = b"schedpy.sweep"

#: Runs of this process that were told to stop; threads look here between two points.
_stopped: set[str] = set()


class DamagedError(ValueError):
    """A file of a part that is not whole, or of another sweep."""


class _StoppedError(Exception):
    """The run was interrupted; the part is not written."""


@dataclass(frozen=True)
class Part:
    """What is known of a part that is on the disk."""

    number: int
    rows: int
    failed: int
    bytes: int


@dataclass(frozen=True)
class Job:
    """One part to compute: all that a worker needs."""

    function: Callable
    points: Product | Listed
    start: int
    stop: int
    number: int
    seed: int
    batch: bool
    folder: str
    sweep: str
    run: str


class Generators(Sequence):
    """The random generators of a range of points, each made when it is asked for.

    Examples
    --------
    >>> same = Generators(7, 100, 200)[3].integers(1000) == Generators(7, 103, 104)[0].integers(1000)
    >>> bool(same), len(Generators(7, 100, 200))
    (True, 100)
    """

    def __init__(self, seed, start, stop):
        self._seed, self._points = seed, range(start, stop)

    def __len__(self):
        return len(self._points)

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise TypeError("rng: one generator at a time, not a slice")
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(self._points[index],)))


def wants_rng(function):
    """Whether a function has a parameter ``rng``, and so gets its point's random generator."""
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def file_name(number):
    """The file of a part; names sort as parts do, up to 10^8 of them."""
    return f"part-{number:08d}.parquet"


def stop(run):
    """Let the threads of a run give up the parts that they are at."""
    _stopped.add(run)


def _error(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _check_running(job):
    if job.run in _stopped:
        raise _StoppedError


# One call per point


def _rows(job, columns):
    """Per point (result, error): a dict of scalars or a table, or the words of what went wrong."""
    names = list(columns)
    values = zip(*(array.to_pylist() for array in columns.values()), strict=True)
    generators = Generators(job.seed, job.start, job.stop) if wants_rng(job.function) else None
    for index, row in enumerate(values):
        _check_running(job)
        point = dict(zip(names, row, strict=True))
        try:
            if generators is None:
                yield returned(job.function(**point), point), None
            else:
                yield returned(job.function(**point, rng=generators[index]), point), None
        except Exception as error:
            yield {}, _error(error)


def _table_of(rows):
    """Dicts of scalars as one table; what one of them lacks is missing."""
    names = dict.fromkeys(name for row in rows for name in row)
    if not names:
        return pa.table({"error": pa.nulls(len(rows))}).select([])
    return pa.table(
        {name: column([row.get(name) for row in rows], f"the function's column {name!r}") for name in names}
    )


def _stacked(results):
    """Dicts and tables, in order, as (one table, rows of each)."""
    tables, counts = [], []
    pending: list[dict] = []
    for result in results:
        if isinstance(result, pa.Table):
            if pending:
                tables.append(_table_of(pending))
                pending = []
            tables.append(result)
            counts.append(result.num_rows)
        else:
            pending.append(result)
            counts.append(1)
    if pending:
        tables.append(_table_of(pending))
    named = [table for table in tables if table.num_columns]
    if len(tables) == 1 or not named:
        return (named[0] if named else None), counts
    names = dict.fromkeys(name for table in named for name in table.column_names)
    first = next(iter(names))
    filled = [table if table.num_columns else pa.table({first: pa.nulls(table.num_rows)}) for table in tables]
    return pa.concat_tables(filled, promote_options="permissive").combine_chunks(), counts


def _one_by_one(job, columns):
    pairs = list(_rows(job, columns))
    try:
        table, counts = _stacked(result for result, _ in pairs)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(
            f"function returned columns of different kinds in points {job.start} .. {job.stop - 1}: {error}"
        ) from None
    at = np.repeat(np.arange(len(pairs)), counts)
    errors = [pairs[index][1] for index in at] if any(error for _, error in pairs) else [None] * len(at)
    result = {} if table is None else dict(zip(table.column_names, table.columns, strict=True))
    return at, result, errors


# One call per part


def _in_batches(job, columns, start, stop):
    """[(start, stop, columns or None, error)]: what fails is halved until the points that fail are alone."""
    _check_running(job)
    piece = {name: array.slice(start, stop - start) for name, array in columns.items()}
    arrays = {name: numpy_column(array) for name, array in piece.items()}
    if wants_rng(job.function):
        arrays["rng"] = Generators(job.seed, job.start + start, job.start + stop)
    try:
        result = job.function(**arrays)
    except Exception as error:
        if stop - start == 1:
            return [(start, stop, None, _error(error))]
        middle = (start + stop) // 2
        return [*_in_batches(job, columns, start, middle), *_in_batches(job, columns, middle, stop)]
    return [(start, stop, returned_batch(result, piece, stop - start), None)]


def _batch(job, columns):
    count = job.stop - job.start
    pieces = _in_batches(job, columns, 0, count)
    names = dict.fromkeys(name for *_, found, _ in pieces if found for name in found)
    errors = [error for start, stop, _, error in pieces for _ in range(stop - start)]
    result = {}
    for name in names:
        found = [
            found[name] if found and name in found else pa.nulls(stop - start)
            for start, stop, found, _ in pieces
        ]
        tables = [pa.table({name: array}) for array in found]
        result[name] = pa.concat_tables(tables, promote_options="permissive").column(0).combine_chunks()
    return np.arange(count), result, errors


# The file


def compute(job):
    """Compute a part and write it; what is known of it then."""
    columns = job.points.columns(job.start, job.stop)
    at, result, errors = (_batch if job.batch else _one_by_one)(job, columns)
    repeated = len(at) != job.stop - job.start
    index = pa.array(at)
    table = pa.table(
        {
            "point": pa.array(at + job.start),
            **{name: array.take(index) if repeated else array for name, array in columns.items()},
            **result,
            "error": pa.array(errors, pa.string()),
        }
    )
    failed = len(errors) - table.column("error").null_count
    part = {"sweep": job.sweep, "part": job.number, "rows": table.num_rows, "failed": failed}
    table = table.replace_schema_metadata({_METADATA: json.dumps(part)})
    path = Path(job.folder, file_name(job.number))
    _check_running(job)
    # Into memory first: pyarrow would delete a file that it cannot write, and not always say why.
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    whole = sink.getvalue()
    with written_whole(path) as temporary:
        temporary.write_bytes(whole)
    return Part(job.number, table.num_rows, failed, whole.size)


def inspect_part(folder, number, sweep, *, whole):
    """What is known of a part; None where there is none, DamagedError where it is not whole.

    With ``whole`` every page is read and its checksum compared, otherwise the end of the file alone.
    """
    path = Path(folder, file_name(number))
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return None
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            part = json.loads((file.schema_arrow.metadata or {}).get(_METADATA, b"{}"))
            if whole:
                for group in range(file.num_row_groups):
                    file.read_row_group(group)
            rows = file.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DamagedError(f"{path.name} is damaged: {str(error).splitlines()[0]}") from None
    if part.get("sweep") != sweep or part.get("part") != number or part.get("rows") != rows:
        raise DamagedError(f"{path.name} is of another sweep")
    return Part(number, rows, part["failed"], size)
