# SPDX-License-Identifier: GPL-2.0-only
"""Durations of one function on one device: whole, of a CPU, of a phase."""

import html
import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from schedpy import stats
from schedpy._coerce import as_int
from schedpy._tables import html_table, text_table

__all__ = ["Recording"]


@dataclass(frozen=True, eq=False)
class Recording:
    """Durations of one function on one device.

    Attributes
    ----------
    holds : str
        "samples", "moments" or "histograms": what ``rows`` has.
    rows : DataFrame
        samples: cpu, start_ns (missing where the file has no times), ns, nested, interrupted, file, line.
        moments: cpu, mean, std, count, mean_low, mean_high, std_next (ns), file, line. histograms: cpu, low,
        high, count of each bin (ns, both ends included), file, line. After :meth:`in_phases` also phase.
        cpu is -1 where the file does not tell it.
    markers : DataFrame
        Comments and events of a trace: file, line, start_ns, cpu, text.
    what, where : str
        The function or map, and the files.
    notes : tuple of str
        What a reader has to know of the figures.
    """

    holds: str
    rows: pd.DataFrame
    markers: pd.DataFrame
    what: str
    where: str
    notes: tuple[str, ...]

    def in_phases(self, phases):
        """The part of each phase, with a column ``phase``; what lies outside of all is left out.

        Parameters
        ----------
        phases : mapping
            Phase -> when it is. Either a text: the phase begins at each marker (``markers``) that contains it
            and ends at the next marker of any phase, or at the end of the file; a key None names
            a marker that ends a phase and begins none. Or (start, end) in seconds of the trace's clock, or
            a list of such pairs; end excluded. A call belongs to the phase in which it starts.

        Raises
        ------
        ValueError
            It is not clear what belongs where: a text is in no marker, a marker has the texts of two
            phases, ranges overlap, the file has no times, or does not have samples.
        """
        if not isinstance(phases, dict) or not phases:
            raise TypeError(
                "phases must be a dictionary: phase -> text of a marker, or (start, end) in seconds"
            )
        if self.holds != "samples":
            raise ValueError(
                f"phases: {self.where} holds {self.holds} of all its time: give a file for each phase instead"
            )
        texts = [isinstance(when, str) for when in phases.values()]
        if any(texts) and not all(texts):
            raise ValueError("phases: must all be texts of markers, or all be times")
        phase = self._by_marker(phases) if all(texts) else self._by_time(phases)
        inside = phase.notna()
        rows = self.rows[inside].assign(phase=phase[inside].tolist())
        for name in phases:
            if name is not None and not (rows["phase"] == name).any():
                raise ValueError(f"phases: {name!r} has no sample in {self.where}")
        left = len(self.rows) - len(rows)
        note = (f"{left} of {len(self.rows)} samples lie outside of the phases",) if left else ()
        return replace(self, rows=rows.reset_index(drop=True), notes=self.notes + note)

    def _by_marker(self, phases):
        if "" in phases.values():
            raise ValueError("phases: a text must not be empty")
        starts = []
        for file, line, marker in self.markers[["file", "line", "text"]].to_numpy().tolist():
            fitting = [phase for phase, text in phases.items() if text in marker]
            if len(fitting) > 1:
                raise ValueError(
                    f"phases: {file}: line {line}: {marker[:60]!r} has the texts of "
                    f"{fitting[0]!r} and {fitting[1]!r}: must have one"
                )
            if fitting:
                starts.append((file, line, fitting[0]))
        seen = {phase for *_, phase in starts}
        for phase, text in phases.items():
            if phase not in seen:
                raise ValueError(f"phases: {text!r} is in no marker of {self.where}")
        phase = pd.Series([None] * len(self.rows), index=self.rows.index, dtype=object)
        for file, rows in self.rows.groupby("file"):
            own = [(line, name) for place, line, name in starts if place == file]
            after = np.searchsorted([line for line, _ in own], rows["line"].to_numpy())
            phase[rows.index] = [own[k - 1][1] if k else None for k in after]
        return phase

    def _by_time(self, phases):
        if self.rows["start_ns"].isna().any():
            raise ValueError(
                f"phases: {self.where} has no times: record with funcgraph-abstime, or use markers"
            )
        ranges = sorted(
            (*_range(pair, name), place, name)
            for place, (name, when) in enumerate(phases.items())
            for pair in (when if isinstance(when, list) else [when])
        )
        for (_, end, _, one), (start, _, _, two) in itertools.pairwise(ranges):
            if start < end:
                raise ValueError(f"phases: {one!r} and {two!r} overlap: must follow each other")
        time = self.rows["start_ns"].astype("int64")
        phase = pd.Series([None] * len(self.rows), index=self.rows.index, dtype=object)
        for start, end, _, name in ranges:
            phase[(start <= time) & (time < end)] = name
        return phase

    def samples(self, cpus=None, phase=None):
        """The durations in ns of some CPUs (None: of all) and of one phase (None: of all time).

        Raises
        ------
        ValueError
            The recording does not hold samples.
        """
        if self.holds != "samples":
            raise ValueError(f"{self.where} holds {self.holds}: the samples are not in it")
        return self._part(cpus, phase)["ns"].to_numpy(np.float64)

    def moments(self, cpus=None, phase=None):
        """Those durations as ``stats.Moments``, or as a ``stats.Histogram`` where there are bins alone.

        Raises
        ------
        ValueError
            There are fewer than two samples.
        """
        part = self._part(cpus, phase)
        if (total := self.count(cpus, phase)) < 2:
            raise ValueError(f"{self.where}: {total} samples of CPUs {cpus}: at least 2 are needed")
        if self.holds == "samples":
            return stats.Moments.of(part["ns"].to_numpy(np.float64))
        if self.holds == "histograms":
            return stats.Histogram(*(part[name].to_numpy() for name in ("low", "high", "count")))
        return _pooled(part)

    def count(self, cpus=None, phase=None):
        """How many durations there are of some CPUs and of one phase."""
        part = self._part(cpus, phase)
        return len(part) if self.holds == "samples" else int(part["count"].sum())

    def _part(self, cpus, phase):
        rows = self.rows
        if cpus is not None:
            rows = rows[rows["cpu"].isin(np.atleast_1d(as_int(cpus, "cpus", low=0)))]
        if phase is not None:
            if "phase" not in rows:
                raise ValueError(f"phase = {phase!r}: the recording has no phases: in_phases() gives them")
            rows = rows[rows["phase"] == phase]
        return rows

    def per_cpu(self):
        """Mean, standard deviation, count and bounds, in ns, of each CPU (and phase).

        Returns
        -------
        DataFrame
            mean, std, count; ``mean_low`` .. ``mean_high`` and ``std_low`` .. ``std_high``, which hold the
            true figures; they are the figures themselves where those are known. Of a histogram mean and std
            are the middles of their bounds, and missing where a bin without an end holds samples. A CPU with
            one sample has no std.
        """
        by = [name for name in ("phase", "cpu") if name in self.rows]
        found = {key: _figures(self.holds, rows) for key, rows in self.rows.groupby(by)}
        index = pd.MultiIndex.from_tuples(found, names=by)
        return pd.DataFrame(
            list(found.values()),
            index=index if len(by) > 1 else index.get_level_values(0),
            columns=_FIGURES,
        )

    def _table(self):
        shown = self.per_cpu().reset_index()
        for row in shown.itertuples(index=False):
            yield [f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in row]

    def __str__(self):
        head = [*self.per_cpu().index.names, *_FIGURES]
        lines = [f"{self.what}, {self.holds} of {self.where}, ns", *text_table([head, *self._table()])]
        return "\n".join(lines + [f"* {note}" for note in self.notes])

    def _repr_html_(self):
        head = [*self.per_cpu().index.names, *_FIGURES]
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return html_table(head, self._table(), f"{self.what}, {self.holds} of {self.where}, ns") + notes


_FIGURES = ["mean", "std", "count", "mean_low", "mean_high", "std_low", "std_high"]


def _pooled(part):
    """Moments of several CPUs; a row of one hit has no spread of its own, and adds none within."""
    rows = part[part["count"] > 1]
    single = part[part["count"] == 1]
    if single.empty:
        return stats.Moments(*(rows[name].to_numpy() for name in ("mean", "std", "count"))).pooled()
    parts = [stats.Moments.of(single["mean"].to_numpy())] if len(single) > 1 else []
    if len(rows):
        parts.append(stats.Moments(*(rows[name].to_numpy() for name in ("mean", "std", "count"))).pooled())
    if len(single) == 1:
        return _with_one(parts[0], float(single["mean"].iloc[0]))
    columns = ([getattr(moments, name) for moments in parts] for name in ("mean", "std", "count"))
    return stats.Moments(*columns).pooled()


def _with_one(moments, value):
    """Moments with one sample more."""
    count = int(moments.count) + 1
    away = value - moments.mean
    squares = (moments.count - 1) * moments.std**2 + away**2 * moments.count / count
    return stats.Moments(moments.mean + away / count, math.sqrt(squares / (count - 1)), count)


def _figures(holds, rows):
    nan = float("nan")
    if holds == "histograms":
        total = int(rows["count"].sum())
        if total < 2:
            held = rows[rows["count"] > 0]
            low, high = (float(held[end].iloc[0]) if total else nan for end in ("low", "high"))
            return [(low + high) / 2, nan, total, low, high, nan, nan]
        h = stats.Histogram(*(rows[name].to_numpy() for name in ("low", "high", "count")))
        mean, std = h.mean, h.std
        middles = [
            (part.low + part.high) / 2 if np.isfinite(part.low + part.high) else nan for part in (mean, std)
        ]
        return [*middles, total, mean.low, mean.high, std.low, std.high]
    if holds == "samples":
        if len(rows) < 2:
            value = float(rows["ns"].iloc[0])
            return [value, nan, 1, value, value, nan, nan]
        m = stats.Moments.of(rows["ns"].to_numpy(np.float64))
        return [m.mean, m.std, m.count, m.mean, m.mean, m.std, m.std]
    total = int(rows["count"].sum())
    low, high = (float(rows["count"] @ rows[end] / total) for end in ("mean_low", "mean_high"))
    if total < 2:
        return [float(rows["mean"].iloc[0]), nan, total, low, high, nan, nan]
    m = _pooled(rows)
    return [m.mean, m.std, m.count, low, high, m.std, m.std]


def _range(pair, name):
    """A range of seconds as whole ns."""
    try:
        start, end = (float(x) for x in pair)
    except (TypeError, ValueError):
        raise TypeError(f"phases: {name!r}: {pair!r}: must be (start, end) in seconds") from None
    if name is None:
        raise ValueError("phases: None names a marker that ends a phase: a range of times has its own end")
    if not (math.isfinite(start) and math.isfinite(end) and start < end):
        raise ValueError(f"phases: {name!r}: {pair!r}: must be (start, end) in seconds, start before end")
    return round(start * 10**9), round(end * 10**9)
