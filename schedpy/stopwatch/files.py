# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, as the text of a JSON or of a CSV file and back.

The CSV has one line of JSON in front, after a #, for what is no column; the rest is a table that
``pandas.read_csv(path, comment="#")`` and every spreadsheet take as it stands.
"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["FORMAT", "as_csv", "as_json", "parsed"]

FORMAT = "schedpy.stopwatch.ReadCost/2"
_HEADER = ["thread", "clock", "measure", "ticks", "count"]

# The columns of a clock, by what a CSV calls their rows; ticks and counts are the rows of single calls.
_ROUNDS = {"batch of a round": "round_ticks", "singles of a round": "single_round_ticks"}
_CALL = "single call"
_ARRAYS = (*_ROUNDS.values(), "ticks", "counts")


def as_json(settings: dict[str, Any], threads: list[list[dict[str, Any]]]) -> str:
    """Settings, and per thread and clock its fields."""
    listed = [[clock | {key: clock[key].tolist() for key in _ARRAYS} for clock in one] for one in threads]
    return json.dumps({"format": FORMAT, **settings, "threads": listed}) + "\n"


def as_csv(settings: dict[str, Any], threads: list[list[dict[str, Any]]]) -> str:
    """The same, a row per round and per distinct cost of a call."""
    fixed = [[{key: clock[key] for key in clock if key not in _ARRAYS} for clock in one] for one in threads]
    text = io.StringIO()
    text.write(f"# {json.dumps({'format': FORMAT, **settings, 'threads': fixed})}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    for thread, one in enumerate(threads):
        for clock in one:
            writer.writerows((thread, clock["name"], *row) for row in _rows(clock))
    return text.getvalue()


def _rows(clock: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    for measure, key in _ROUNDS.items():
        yield from ((measure, ticks, 1) for ticks in clock[key].tolist())
    calls = zip(clock["ticks"].tolist(), clock["counts"].tolist(), strict=True)
    yield from ((_CALL, ticks, count) for ticks, count in calls)


def parsed(text: str) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """Settings and threads of either text; KeyError, TypeError or ValueError where it is no such thing."""
    first, _, rest = text.partition("\n")
    is_csv = first.startswith("#")
    data = json.loads(first[1:] if is_csv else text)
    if (found := data.pop("format")) != FORMAT:
        raise ValueError(f"format {found!r}")
    threads = data.pop("threads")
    columns = _columns(rest) if is_csv else None
    for thread, one in enumerate(threads):
        for clock in one:
            found = clock if columns is None else columns.pop((thread, clock["name"]))
            clock.update({key: np.array(found[key], dtype=np.int64) for key in _ARRAYS})
    if columns:
        thread, name = next(iter(columns))
        raise ValueError(f"{name!r} of thread {thread} is not in the first line")
    return data, threads


def _columns(text: str) -> dict[tuple[int, str], dict[str, list[int]]]:
    """(thread, clock) -> its arrays, out of the rows of a CSV."""
    reader = csv.reader(io.StringIO(text))
    if (header := next(reader, None)) != _HEADER:
        raise ValueError(f"line 2: columns {header}, must be {', '.join(_HEADER)}")
    columns: dict[tuple[int, str], dict[str, list[int]]] = {}
    for row in reader:
        if len(row) != len(_HEADER):
            raise ValueError(f"line {reader.line_num + 1}: {len(row)} cells, must be {len(_HEADER)}")
        thread, name, measure, ticks, count = row
        arrays = columns.setdefault((int(thread), name), {key: [] for key in _ARRAYS})
        if measure == _CALL:
            arrays["ticks"].append(int(ticks))
            arrays["counts"].append(int(count))
        elif measure in _ROUNDS:
            arrays[_ROUNDS[measure]].append(int(ticks))
        else:
            raise ValueError(f"line {reader.line_num + 1}: measure {measure!r}")
    return columns
