# SPDX-License-Identifier: GPL-2.0-only
"""The mail's table of timings that another device recorded."""

import os

import numpy as np
import pandas as pd

from schedpy import em, stats
from schedpy._coerce import as_int
from schedpy.lab import timings
from schedpy.lab.phases_tables import CPU_NAMES, LEVEL, published

_ENDS = ("mean_low", "mean_high", "std_low", "std_high")


def recorded(walk, lut, *, phases=None, cpus="pixel4", level=LEVEL, progress=True):
    """The timings of a real device in the mail's layout, with the tests that belong to it.

    Parameters
    ----------
    walk, lut : path, list of paths, Recording, or mapping of phase -> one of these
        What was recorded without and with the look-up table: files as ``timings.read`` takes them, or what
        it gave. A mapping says which file is of which phase, as it must for files that hold moments or
        histograms.
    phases : mapping, optional
        Where the phases lie in each recording, by markers or times: see ``Recording.in_phases``. Not with
        mappings of files.
    cpus : str, EnergyModel or mapping
        The kinds of CPU: the domains of a model (those of the mail's phone under the mail's names), or
        name -> CPU numbers. CPUs of one kind are taken together.
    level : float
        Coverage of the intervals.
    progress : bool
        Show a bar while files are read.

    Returns
    -------
    DataFrame
        One row per phase and kind of CPU, in the columns of :func:`table`, and ``a_mean_low`` ..
        ``a_std_high``, ``b_mean_low`` .. ``b_std_high``: bounds, equal where the figure is known; ``exact``
        is False where a histogram is behind the row. Then mean, std and diff are middles of bounds, and
        ``diff_low`` .. ``diff_high`` and p hold whatever lay in the bins (t, p, overlap and cohen_d are the
        cautious ends). ``duty_percent`` is the mail's where a phase bears a number of the mail's. A row that
        has not two samples in both arms is left out and named in ``attrs["left_out"]``.

    Raises
    ------
    ValueError
        The arms have no phase in common, it is not clear where the phases are, or no row is left.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from schedpy.lab import phases
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     walk, lut = pathlib.Path(folder, "walk.csv"), pathlib.Path(folder, "lut.csv")
    ...     _ = walk.write_text("cpu,ns\\n7,11\\n7,12\\n7,13\\n")
    ...     _ = lut.write_text("cpu,ns\\n7,1\\n7,2\\n7,3\\n")
    ...     t = phases.recorded({5: walk}, {5: lut})
    >>> t.loc[("LUT", 5, "Big"), ["duty_percent", "a_count", "diff"]].tolist()
    [75.0, 3.0, -10.0]
    """
    kinds = _kinds(cpus)
    a = _phases_of(walk, "walk", phases, progress)
    b = _phases_of(lut, "lut", phases, progress)
    common = [phase for phase in a if phase in b]
    if not common:
        raise ValueError("walk and lut have no phase in common")
    rows, left_out = {}, [f"phase {phase}: in one arm alone" for phase in {**a, **b} if phase not in common]
    for phase in common:
        for kind, numbers in kinds.items():
            pair = [_taken(recording, numbers, part) for recording, part in (a[phase], b[phase])]
            least = min(count for _, count in pair)
            if least > 1:
                rows[phase, kind] = pair[0][0], pair[1][0]
            elif max(count for _, count in pair):
                left_out.append(f"phase {phase}, {kind}: {pair[0][1]} and {pair[1][1]} samples")
    if not rows:
        raise ValueError(
            f"walk and lut: no row has two samples in both arms ({'; '.join(left_out) or 'none'})"
        )
    frame = pd.DataFrame([_row(*pair, level) for pair in rows.values()])
    frame.index = pd.MultiIndex.from_tuples(rows, names=["phase", "cpu"])
    duty = published().groupby("phase")["duty_percent"].first()
    frame.insert(0, "duty_percent", duty.reindex(frame.index.get_level_values("phase")).to_numpy())
    frame.insert(list(frame).index("p") + 1, "p_holm", stats.holm(frame["p"].to_numpy()))
    whole = pd.concat({"LUT": frame}, names=["arms"])
    whole.attrs["left_out"] = left_out
    return whole


def _kinds(cpus):
    """Name of a kind -> its CPUs."""
    if isinstance(cpus, str | os.PathLike):
        cpus = em.EnergyModel.load(cpus)
    if isinstance(cpus, em.EnergyModel):
        names = [domain.name for domain in cpus.domains]
        theirs = CPU_NAMES if sorted(names) == sorted(CPU_NAMES) else {}
        return {theirs.get(domain.name, domain.name): np.array(domain.cpus) for domain in cpus.domains}
    if not isinstance(cpus, dict) or not cpus:
        raise TypeError(f"cpus must be a model, its name, or a dictionary, not {type(cpus).__name__}")
    kinds = {name: np.atleast_1d(as_int(numbers, f"cpus[{name!r}]", low=0)) for name, numbers in cpus.items()}
    numbers = np.concatenate(list(kinds.values()))
    if np.unique(numbers).size < numbers.size:
        raise ValueError("cpus: a CPU is of two kinds: must be of one")
    return kinds


def _phases_of(source, name, phases, progress):
    """Phase -> its recording, and the phase to take of it (None: all)."""
    if isinstance(source, dict):
        if phases is not None:
            raise ValueError(f"phases: {name} says itself which file is of which phase")
        if not source:
            raise ValueError(f"{name}: must be at least one phase")
        return {phase: (_recording(part, name, progress), None) for phase, part in source.items()}
    recording = _recording(source, name, progress)
    if phases is not None:
        recording = recording.in_phases(phases)
    if "phase" not in recording.rows:
        raise ValueError(
            f"phases: must say when each phase of {recording.where} is, or {name} a file for each"
        )
    return {phase: (recording, phase) for phase in dict.fromkeys(recording.rows["phase"])}


def _recording(source, name, progress):
    if isinstance(source, timings.Recording):
        return source
    if not isinstance(source, str | os.PathLike | list | tuple):
        kind = type(source).__name__
        raise TypeError(f"{name} must be paths, a Recording, or phase -> one of these, not {kind}")
    return timings.read(source, progress=progress)


def _taken(recording, cpus, phase):
    """Moments or a histogram of some CPUs, and how many samples there are; None of fewer than two."""
    if (recording.rows["cpu"] < 0).any():
        raise ValueError(f"{recording.where}: does not tell the CPU of its samples: timings.read(..., cpu=)")
    count = recording.count(cpus, phase)
    return (recording.moments(cpus, phase) if count > 1 else None), count


def _bounds(moments):
    """mean, std, count and the bounds of the first two."""
    if isinstance(moments, stats.Histogram):
        m, mean, std = moments.moments(), moments.mean, moments.std
        return m, (mean.low, mean.high, std.low, std.high)
    return moments, (moments.mean, moments.mean, moments.std, moments.std)


def _row(a, b, level):
    """The columns of phases.table for one row."""
    c = stats.compare(a, b, level)
    row: dict = {}
    ends: dict = {}
    halves = 0.0
    for arm, moments in (("a", a), ("b", b)):
        m, bounds = _bounds(moments)
        half = stats.interval(stats.Moments(bounds[1], bounds[3], m.count), level).half_width
        row |= {f"{arm}_mean": m.mean, f"{arm}_interval": half, f"{arm}_std": m.std, f"{arm}_count": m.count}
        ends |= {f"{arm}_{end}": bound for end, bound in zip(_ENDS, bounds, strict=True)}
        halves += half
    nearest = c.t * np.hypot(
        ends["a_std_high"] / np.sqrt(row["a_count"]), ends["b_std_high"] / np.sqrt(row["b_count"])
    )
    row |= {
        "diff": c.diff,
        "percent": c.percent,
        "diff_low": c.interval.low,
        "diff_high": c.interval.high,
        "t": c.t,
        "dof": c.dof,
        "p": c.p,
        "overlap": halves - abs(nearest),
        "intervals_overlap": bool(c.intervals_overlap),
        "cohen_d": c.cohen_d,
    }
    return (
        {name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()}
        | ends
        | {"exact": c.exact}
    )
