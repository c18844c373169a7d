# SPDX-License-Identifier: GPL-2.0-only
"""Reads the known answers: columns of exact integers, never floats."""

import csv
import functools
import gzip
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "golden"


def _column(cells):
    try:
        values = [int(cell) for cell in cells]
    except ValueError:
        return np.array(cells, dtype=object)
    lowest, highest = min(values), max(values)
    if lowest >= 0 and highest < 2**64:
        return np.array(values, dtype=np.uint64)
    if lowest >= -(2**63) and highest < 2**63:
        return np.array(values, dtype=np.int64)
    return np.array(values, dtype=object)


@functools.cache
def load_text(name):
    """``golden/NAME.csv.gz`` as it stands: the header, and the rows."""
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows


@functools.cache
def load(name):
    """Columns of ``golden/NAME.csv.gz``: uint64, else int64, else Python ints, else text."""
    header, rows = load_text(name)
    assert len(set(header)) == len(header), "two columns of one name: read it by load_text()"
    columns = dict(zip(header, map(_column, zip(*rows, strict=True)), strict=True))
    for column in columns.values():
        column.flags.writeable = False
    return columns


def select(columns, **wanted):
    """The rows in which every named column has the given value."""
    mask = np.logical_and.reduce([columns[key] == value for key, value in wanted.items()])
    return {name: column[mask] for name, column in columns.items()}
