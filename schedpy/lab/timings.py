# SPDX-License-Identifier: GPL-2.0-only
"""Timings of a function that a real device recorded: ftrace, its function profiler, bpftrace, plain columns.

:func:`read` gives a :class:`Recording`, whichever tool wrote the file: samples where the file has them,
moments per CPU where it has those (function profiler), histograms where it has those (bpftrace). A
histogram's moments are known within bounds, which stand beside every figure made of them.
"""

import os
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from schedpy._coerce import as_choice, as_number
from schedpy.lab.recording import Recording
from schedpy.lab.timings_files import FUNCTION, KINDS, READERS, TAKEN, kind_of, lines_of

__all__ = ["Recording", "read"]


def read(
    path,
    *,
    kind=None,
    function=None,
    map=None,
    cpu_key=None,
    columns=None,
    unit=None,
    cpu=None,
    progress=True,
):
    """Read the timings of a function that a tool wrote on a device.

    Parameters
    ----------
    path : path or list of paths
        Files of one kind, as text, or compressed by gzip. A folder is read as trace_stat.
    kind : {"function_graph", "trace_stat", "bpftrace", "columns"}, optional
        What wrote them; None: what the first lines look like. function_graph: tracefs's text or that of
        ``trace-cmd report``. trace_stat: the function profiler's ``function*``, one file per CPU. bpftrace:
        what it prints, as text or with ``-f json``. columns: CSV or columns separated by white space.
    function : str, optional
        Of function_graph and trace_stat: which function. None: find_energy_efficient_cpu.
    map : str, optional
        Of bpftrace: which map, such as "@ns". None: the only one.
    cpu_key : int, optional
        Of bpftrace: which part of the map's key is the CPU, 0 the first; needed where the key has several.
    columns : tuple of str, optional
        Of columns, and of what a bpftrace program printed with printf: their names, where the file has no
        header. One of them is ns, duration_ns, us or duration_us; cpu and start_ns (or t_ns, time_ns) are
        taken, others not looked at. A single column is the durations.
    unit : {"ns", "us"}, optional
        Of bpftrace, and of a single column: the unit of the figures. None: ns. us that were cut to whole
        ones are bins of 1000 ns in a histogram, and taken as they are where they are samples.
    cpu : int, optional
        The CPU of all samples, for files that do not tell it.
    progress : bool
        Show a bar after two seconds.

    Returns
    -------
    Recording

    Raises
    ------
    ValueError
        A file is not what it should be; the message names the file, the line and what was expected.
    OSError
        A file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "times.csv")
    ...     _ = path.write_text("cpu,ns\\n0,10\\n0,20\\n4,5\\n4,7\\n")
    ...     read(path).per_cpu()["mean"].to_dict()
    {0: 15.0, 4: 6.0}
    """
    paths = _paths(path)
    kind = kind_of(paths[0]) if kind is None else as_choice(kind, "kind", KINDS)
    taken = {
        "function": function,
        "map": map,
        "cpu_key": cpu_key,
        "columns": columns,
        "unit": unit,
        "cpu": cpu,
    }
    for name in taken.keys() - TAKEN[kind]:
        if taken[name] is not None:
            raise ValueError(f"{name} = {taken[name]!r}: {kind} has no such thing")
    _check(taken)
    holds, frames, markers, notes = "", [], [], []
    bar = tqdm(
        total=sum(file.stat().st_size for file in paths),
        desc="reading",
        unit="B",
        unit_scale=True,
        delay=2,
        leave=False,
        disable=None if progress else True,
    )
    with bar:
        for file in paths:
            part = READERS[kind](lines_of(file, bar), file, taken)
            if holds not in ("", part[0]):
                raise ValueError(f"{file}: holds {part[0]}: must hold {holds}, as {paths[0]} does")
            holds = part[0]
            frames.append(part[1].assign(file=str(file)))
            markers += [(str(file), *marker) for marker in part[2]]
            notes += part[3]
    rows = pd.concat(frames, ignore_index=True)
    if rows.empty:
        raise ValueError(f"{_named(paths)}: has no {taken['function'] or taken['map'] or 'sample'}")
    return Recording(
        holds=holds,
        rows=rows,
        markers=pd.DataFrame(markers, columns=["file", "line", "start_ns", "cpu", "text"]).astype(
            {"start_ns": "Int64", "cpu": "Int64"}
        ),
        what=function or map or (FUNCTION if kind in ("function_graph", "trace_stat") else "durations"),
        where=_named(paths),
        notes=tuple(dict.fromkeys(notes)),
    )


def _named(paths):
    return str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def _paths(path):
    given = [path] if isinstance(path, str | os.PathLike) else path
    if not isinstance(given, list | tuple) or not all(isinstance(file, str | os.PathLike) for file in given):
        raise TypeError(f"path must be a path or a list of paths, not {type(path).__name__}")
    if not given:
        raise ValueError("path: must be at least one file")
    found = []
    for file in (Path(each) for each in given):
        if file.is_dir():
            inside = sorted(file.glob("function*"), key=lambda each: (len(each.name), each.name))
            if not inside:
                raise ValueError(
                    f"{file}: is a folder without function0, function1, ...: must be a trace_stat"
                )
            found += inside
        else:
            found.append(file)
    return found


def _check(taken):
    """Arguments of the right kind."""
    for name in ("function", "map"):
        if taken[name] is not None and not (isinstance(taken[name], str) and taken[name]):
            raise TypeError(f"{name} = {taken[name]!r}: must be a name")
    for name in ("cpu_key", "cpu"):
        if taken[name] is not None:
            taken[name] = as_number(taken[name], name, low=0, high=9999)
    if taken["unit"] is not None:
        as_choice(taken["unit"], "unit", ("ns", "us"))
    names = taken["columns"]
    if names is not None and not (isinstance(names, tuple | list) and all(isinstance(n, str) for n in names)):
        raise TypeError(f"columns = {names!r}: must be a tuple of names")
