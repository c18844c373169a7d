# SPDX-License-Identifier: GPL-2.0-only
"""What each tool's files give: samples, moments or histograms, markers, and what to know of them."""

import contextlib
import gzip
import io
import zlib

import pandas as pd

from schedpy.readers import bpftrace, columns, function_graph, trace_stat

__all__ = ["FUNCTION", "KINDS", "READERS", "TAKEN", "kind_of", "lines_of"]

FUNCTION = "find_energy_efficient_cpu"
KINDS = ("function_graph", "trace_stat", "bpftrace", "columns")
#: Names of columns in plain files: durations with their unit in ns, and the rest.
_DURATIONS = {"ns": 1, "duration_ns": 1, "us": 1000, "duration_us": 1000}
_STARTS = ("start_ns", "t_ns", "time_ns")
_NO_CPU = -1


@contextlib.contextmanager
def _opened(file):
    """The raw file and its text, unpacked if need be."""
    with open(file, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        content = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            with io.TextIOWrapper(content, encoding="utf-8", errors="replace") as text:
                yield raw, text
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{file}: no gzip file: {error}") from None


def lines_of(file, bar):
    """The lines of a file; the bar follows the bytes that were read."""
    with _opened(file) as (raw, text):
        for number, line in enumerate(text, 1):
            if number % 4096 == 0:
                bar.update(raw.tell() - bar.n)
            yield line


def kind_of(file):
    with _opened(file) as (_, content):
        text = content.read(65536)
    if "\0" in text:
        raise ValueError(f"{file}: is no text: of a trace.dat give what `trace-cmd report` prints")
    looks = (function_graph.is_function_graph, trace_stat.is_trace_stat, bpftrace.is_bpftrace)
    return next((kind for kind, is_so in zip(KINDS, looks, strict=False) if is_so(text)), "columns")


# What each reader gives, as (holds, rows, markers, notes)


def _of_function_graph(lines, file, taken):
    got = function_graph.read(lines, str(file), taken["function"] or FUNCTION)
    rows = pd.DataFrame({name: got[name] for name in ("start_ns", "ns", "nested", "interrupted", "line")})
    rows.insert(0, "cpu", [_NO_CPU if cpu is None else cpu for cpu in got["cpu"]])
    rows = rows.astype(
        {"cpu": "int64", "start_ns": "Int64", "ns": "int64", "nested": "int64", "interrupted": bool}
    )
    if taken["cpu"] is not None:
        rows = _given_cpu(rows, taken["cpu"], file)
    notes = []
    if got["unfinished"]:
        notes.append(f"{file}: {got['unfinished']} calls lack their beginning or their end, and are left out")
    if got["lost"]:
        notes.append(f"{file}: the kernel lost {got['lost']} events")
    if rows["interrupted"].any():
        notes.append(f"{file}: {rows['interrupted'].sum()} calls were interrupted: `interrupted` marks them")
    if rows["nested"].any():
        notes.append(
            f"{file}: functions inside were traced, too: each duration holds the tracer's cost for "
            "`nested` calls"
        )
    return "samples", rows, got["markers"], notes


def _given_cpu(rows, cpu, file):
    if (rows["cpu"] != _NO_CPU).any():
        raise ValueError(f"cpu = {cpu}: {file} tells the CPUs itself")
    return rows.assign(cpu=cpu)


def _of_trace_stat(lines, file, taken):
    got = trace_stat.read(lines, str(file), taken["function"] or FUNCTION)
    number = file.name.removesuffix(".gz").removesuffix(".txt").removeprefix("function")
    if taken["cpu"] is not None:
        cpu = taken["cpu"]
    elif number.isascii() and number.isdigit() and len(number) < 5:
        cpu = int(number)
    else:
        raise ValueError(f"{file}: expected a name such as function0 that tells the CPU, or cpu=")
    names = ["count", "mean", "std", "mean_low", "mean_high", "std_next", "line"]
    rows = pd.DataFrame(got, columns=names).astype(dict.fromkeys(("mean", "std", "std_next"), float))
    rows.insert(0, "cpu", cpu)
    notes = []
    if (rows["count"] > 2072).any():
        notes.append("kernels of before 2020 print a wrong s^2 of more than 2072 hits (a divisor of 32 bits)")
    for row in rows[rows["std_next"] < 10 * rows["mean"]].itertuples():
        notes.append(
            f"{file}: line {row.line}: the kernel's s^2 wraps; the deviation may also be "
            f"{row.std_next:.0f} ns or more"
        )
    return "moments", rows, [], notes


def _of_bpftrace(lines, file, taken):
    got = bpftrace.read(lines, str(file))
    printed = got["other"]
    if taken["columns"] is not None or (printed and not (got["values"] or got["bins"] or got["stats"])):
        return _of_columns(_in_place(printed), file, taken)
    scale = 1000 if taken["unit"] == "us" else 1
    names = sorted({entry[0] for kind in ("values", "bins", "stats") for entry in got[kind]})
    name = taken["map"]
    if name is None:
        if len(names) != 1:
            raise ValueError(
                f"{file}: map: must be one of {', '.join(names)}"
                if names
                else f"{file}: has no map: expected @name: ..."
            )
        name = names[0]
    bins = [entry[1:] for entry in got["bins"] if entry[0] == name]
    values = [entry[1:] for entry in got["values"] if entry[0] == name]
    if not bins and not values:
        kept = (
            "its count, average and total have no spread" if name in names else f"expected {', '.join(names)}"
        )
        raise ValueError(f"{file}: map = {name!r}: has no durations: {kept}")
    if bins and values:
        raise ValueError(f"{file}: line {values[0][-1]}: {name} holds a number: expected bins, as elsewhere")
    if bins:
        return "histograms", _bins(bins, scale, file, taken), [], [_BINS_NOTE]
    for _, value, line in values:
        if value < 0:
            raise ValueError(f"{file}: line {line}: {value}: expected a duration, not negative")
    frame = {
        "cpu": [_cpu_of(key, line, file, taken) for key, _, line in values],
        "start_ns": pd.array([pd.NA] * len(values), dtype="Int64"),
        "ns": [value * scale for _, value, _ in values],
        "nested": 0,
        "interrupted": False,
        "line": [line for *_, line in values],
    }
    return "samples", pd.DataFrame(frame), [], []


def _in_place(printed):
    """Lines that a program printed, each with the number that it has in the file."""
    expected = 1
    for number, line in printed:
        yield from [""] * (number - expected)
        yield line
        expected = max(number + 1, expected)


_BINS_NOTE = "of a histogram mean and std are the middles of their bounds; the bounds hold the true ones"


def _bins(bins, scale, file, taken):
    for _, low, *_, count, line in bins:
        if low < 0 and count:
            raise ValueError(f"{file}: line {line}: {count} samples below 0: expected durations")
    seen: dict[tuple, int] = {}
    for key, low, _, _, line in bins:
        if seen.setdefault((key, low), line) != line:
            raise ValueError(
                f"{file}: line {line}: printed again, after line {seen[key, low]}: it is not clear whether "
                "the map was cleared in between: expected each histogram once"
            )
    held = [entry for entry in bins if entry[3]]
    # Cut us are bins of 1000 ns: the last ns of a bin belongs to it.
    frame = {
        "cpu": [_cpu_of(key, line, file, taken) for key, *_, line in held],
        "low": [float(low * scale) for _, low, *_ in held],
        "high": [float((high + 1) * scale - 1) for _, _, high, *_ in held],
        "count": [count for *_, count, _ in held],
        "line": [line for *_, line in held],
    }
    return pd.DataFrame(frame)


def _cpu_of(key, line, file, taken):
    """The CPU in a map's key."""
    place = taken["cpu_key"]
    if taken["cpu"] is not None:
        if place is not None:
            raise ValueError("cpu and cpu_key: must not both be given")
        return taken["cpu"]
    if place is None and len(key) > 1:
        raise ValueError(
            f"{file}: line {line}: the key has {len(key)} parts: cpu_key= must say which is the CPU"
        )
    if not key and place is None:
        return _NO_CPU
    part = key[place or 0] if len(key) > (place or 0) else None
    if part is None or not (part.isascii() and part.isdigit() and len(part) < 5):
        raise ValueError(
            f"{file}: line {line}: key {', '.join(key)!r}: expected a CPU, or cpu= for all of them"
        )
    return int(part)


def _of_columns(lines, file, taken):
    got = columns.read(lines, str(file), taken["columns"])
    numbers = got.pop("line")
    durations = [name for name in got if name in _DURATIONS] or (list(got) if len(got) == 1 else [])
    if len(durations) != 1:
        raise ValueError(
            f"{file}: has the columns {', '.join(got)}: expected one of {', '.join(_DURATIONS)} among them"
        )
    (name,) = durations
    if name in _DURATIONS and taken["unit"] is not None:
        raise ValueError(f"unit = {taken['unit']!r}: the column {name} of {file} has its own")
    scale = _DURATIONS.get(name, 1000 if taken["unit"] == "us" else 1)
    cpus = _cells(got, "cpu", numbers, file, int) if "cpu" in got else [_NO_CPU] * len(numbers)
    start = next((each for each in _STARTS if each in got), None)
    starts = _cells(got, start, numbers, file, int) if start else [pd.NA] * len(numbers)
    frame = {
        "cpu": cpus,
        "start_ns": pd.array(starts, dtype="Int64"),
        "ns": [value * scale for value in _cells(got, name, numbers, file, (int, float))],
        "nested": 0,
        "interrupted": False,
        "line": numbers,
    }
    rows = pd.DataFrame(frame)
    return "samples", rows if taken["cpu"] is None else _given_cpu(rows, taken["cpu"], file), [], []


def _cells(got, name, lines, file, kind):
    """The cells of a column, all numbers of a kind."""
    for value, line in zip(got[name], lines, strict=True):
        if not isinstance(value, kind):
            wanted = "a whole number" if kind is int else "a duration, not negative"
            column = f" in column {name}" if name else ""
            raise ValueError(f"{file}: line {line}: {str(value)[:60]!r}{column}: expected {wanted}")
    return got[name]


#: Kind -> reader of (lines, file, arguments) -> holds, rows, markers, notes.
READERS = {
    "function_graph": _of_function_graph,
    "trace_stat": _of_trace_stat,
    "bpftrace": _of_bpftrace,
    "columns": _of_columns,
}
#: Kind -> the arguments that it takes.
TAKEN = {
    "function_graph": {"function", "cpu"},
    "trace_stat": {"function", "cpu"},
    "bpftrace": {"map", "cpu_key", "columns", "unit", "cpu"},
    "columns": {"columns", "unit", "cpu"},
}
