# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep has computed: the parts in a folder, read in point order."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from schedpy._coerce import as_int
from schedpy._tables import html_table, text_table
from schedpy.sweep import manifest as manifests
from schedpy.sweep.columns import ColumnHash
from schedpy.sweep.parts import Part, file_name, inspect_part

__all__ = ["Result", "edges", "load"]


def edges(manifest):
    """[(start, stop)] of the parts: fixed by the manifest alone."""
    count, size = manifest["points"]["count"], manifest["part_size"]
    return [(start, min(start + size, count)) for start in range(0, count, size)]


@dataclass(frozen=True, eq=False)
class Result:
    """A complete sweep on the disk.

    Attributes
    ----------
    folder : Path
        Where the parts lie. Any reader of Parquet takes the folder as it is.
    manifest : dict
        Function, version, points, seed, part size.
    parts : tuple of Part
        ``number``, ``rows``, ``failed`` (points whose call raised) and ``bytes`` of each part.
    computed, kept : int
        Parts that this run computed, and that it found there.
    redone : tuple of str
        Files that were found damaged and are computed again, with what was wrong.
    seconds : float
        What this run took.
    """

    folder: Path
    manifest: dict
    parts: tuple[Part, ...]
    computed: int = 0
    kept: int = 0
    redone: tuple[str, ...] = field(default=())
    seconds: float = 0.0

    def __len__(self):
        return self.manifest["points"]["count"]

    @property
    def rows(self):
        """Rows over all parts; more than points where a call returned a DataFrame."""
        return sum(part.rows for part in self.parts)

    @property
    def failures(self):
        """How many points failed."""
        return sum(part.failed for part in self.parts)

    @property
    def bytes(self):
        """The size of the parts on the disk."""
        return sum(part.bytes for part in self.parts)

    def _file(self, part):
        return self.folder / file_name(part.number)

    @cached_property
    def schema(self):
        """The columns of all parts together, an Arrow schema."""
        schemas = [pq.read_schema(self._file(part)).remove_metadata() for part in self.parts]
        try:
            merged = pa.unify_schemas(list(dict.fromkeys(schemas)), promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TypeError(
                f"function returned columns of different kinds in different parts: {error}"
            ) from None
        names = [name for name in merged.names if name != "error"]
        return pa.schema([merged.field(name) for name in (*names, "error")])

    def _tables(self, parts, columns=None):
        """The parts' tables, all of one schema."""
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        for part in parts:
            with pq.ParquetFile(self._file(part), page_checksum_verification=True) as file:
                there = set(file.schema_arrow.names)
                table = file.read(columns=[name for name in schema.names if name in there])
            arrays = [
                table.column(field.name).cast(field.type)
                if field.name in there
                else pa.nulls(table.num_rows, field.type)
                for field in schema
            ]
            yield pa.table(arrays, schema=schema)

    def tables(self):
        """The parts one after the other, each as an Arrow table: for what does not fit into memory."""
        return self._tables(self.parts)

    @cached_property
    def hash(self):
        """sha256 over the bytes of the columns in point order, in hexadecimal.

        The same for every executor, order of the parts, size of the parts and number of interruptions.
        """
        hashes = [ColumnHash(field.name, field.type) for field in sorted(self.schema, key=lambda f: f.name)]
        for table in self._tables(self.parts):
            for each in hashes:
                for chunk in table.column(each.name).chunks:
                    each.update(chunk)
        return hashlib.sha256(b"".join(each.digest() for each in hashes)).hexdigest()

    @property
    def failed(self):
        """The points that failed, with their errors: a DataFrame indexed by point."""
        tables = [
            table.filter(table.column("error").is_valid())
            for table in self._tables([part for part in self.parts if part.failed])
        ]
        frame = self._frame(tables)
        return frame[[*self.manifest["points"]["columns"], "error"]]

    def _frame(self, tables):
        table = pa.concat_tables(tables) if tables else self.schema.empty_table()
        return table.to_pandas(self_destruct=True).set_index("point")

    def to_pandas(self):
        """All rows as a DataFrame.

        Returns
        -------
        DataFrame
            Indexed by ``point``, in point order: the points' columns, what the function returned, and
            ``error``, missing where the call went well. ``row`` counts the rows of a point whose
            function returned a DataFrame.
        """
        return self._frame(list(self._tables(self.parts)))

    def to_xarray(self):
        """All rows as a labelled Dataset.

        Returns
        -------
        xarray.Dataset
            Points given as a dict of lists: a dimension per name, labelled with its values. Other points:
            the dimension ``point``. Where every point has so many rows, a dimension ``row`` comes last.

        Raises
        ------
        ValueError
            The points have different numbers of rows.
        ImportError
            xarray is missing.
        """
        try:
            import xarray
        except ImportError as error:
            raise ImportError("to_xarray needs xarray: pip install 'schedpy[cluster]'") from error
        frame = self.to_pandas()
        points = self.manifest["points"]
        names = list(points["columns"])
        each, left = divmod(len(frame), len(self))
        if left or not (np.bincount(frame.index, minlength=len(self)) == each).all():
            raise ValueError("points have different numbers of rows: to_pandas() takes them")
        first = frame.iloc[:: max(each, 1)]
        if points["kind"] == "product":
            dims, shape = tuple(names), tuple(points["columns"][name]["values"] for name in names)
            at = np.arange(len(self)).reshape(shape)
            coords = {
                name: (name, first[name].to_numpy()[np.moveaxis(at, axis, 0).reshape(shape[axis], -1)[:, 0]])
                for axis, name in enumerate(names)
            }
        else:
            dims, shape = ("point",), (len(self),)
            coords = {name: ("point", first[name].to_numpy()) for name in names}
        if "row" in frame:
            dims, shape = (*dims, "row"), (*shape, each)
        found = [name for name in frame if name not in {*names, "row"}]
        return xarray.Dataset({name: (dims, frame[name].to_numpy().reshape(shape)) for name in found}, coords)

    def _facts(self):
        points, function = self.manifest["points"], self.manifest["function"]
        yield "function", function["name"]
        for name, value in function["bound"].items():
            yield f"  {name}", value
        axes = points["columns"]
        if points["kind"] == "product":
            by = " x ".join(f"{name} ({axis['values']})" for name, axis in axes.items())
        else:
            by = ", ".join(axes)
        yield "points", f"{len(self)}: {by}"
        yield "rows", str(self.rows)
        yield "failed", str(self.failures)
        yield (
            "parts",
            f"{len(self.parts)} ({self.computed} computed, {self.kept} kept, {len(self.redone)} redone)",
        )
        yield "on the disk", f"{self.bytes} bytes in {self.folder}"

    def __str__(self):
        return "\n".join(text_table(list(self._facts()), left=(0, 1)))

    def _repr_html_(self):
        return html_table(["sweep", ""], self._facts()) + self._head()._repr_html_()

    def _head(self):
        """The first rows, without reading more than the first part."""
        return self._frame([next(self._tables(self.parts[:1])).slice(0, 5)])

    __repr__ = __str__

    def summary(self):
        """One line: what was computed, what failed, and the hash."""
        redone = f", {len(self.redone)} of them damaged before" if self.redone else ""
        first = ""
        if self.failures:
            part = next(part for part in self.parts if part.failed)
            errors = self._frame(list(self._tables([part])))["error"].dropna()
            first = f" (the first is point {errors.index[0]}, {errors.iloc[0]})"
        return (
            f"{len(self)} points, {self.rows} rows, {self.failures} failed{first}; "
            f"{self.computed} of {len(self.parts)} parts computed{redone} in {self.seconds:.1f} s; "
            f"sha256 {self.hash}"
        )

    def take(self, points):
        """The rows of a few points, reading only the parts that they are in.

        Parameters
        ----------
        points : array_like of int
            Numbers of points, 0 .. len(result) - 1.
        """
        wanted = np.unique(as_int(points, "points", low=0, high=len(self) - 1))
        size = self.manifest["part_size"]
        tables = [
            table.filter(pa.compute.is_in(table.column("point"), pa.array(wanted)))
            for table in self._tables([self.parts[number] for number in np.unique(wanted // size)])
        ]
        return self._frame(tables)


def load(folder):
    """A complete sweep that lies in a folder.

    Parameters
    ----------
    folder : path
        What was ``out``.

    Returns
    -------
    Result

    Raises
    ------
    ValueError
        There is no sweep, or parts are missing or damaged: run it again.

    Examples
    --------
    >>> load("/nowhere")
    Traceback (most recent call last):
    ValueError: folder: /nowhere holds no sweep
    """
    folder = Path(folder)
    manifest = manifests.read(folder)
    if manifest is None:
        raise ValueError(f"folder: {folder} holds no sweep")
    sweep = manifests.identifier(manifest)
    parts = [inspect_part(folder, number, sweep, whole=False) for number in range(len(edges(manifest)))]
    missing = parts.count(None)
    if missing:
        raise ValueError(
            f"folder: {missing} of {len(parts)} parts are missing in {folder}: run the sweep again"
        )
    return Result(folder, manifest, tuple(parts), kept=len(parts))
