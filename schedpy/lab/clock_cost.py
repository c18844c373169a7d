# SPDX-License-Identifier: GPL-2.0-only
"""The mail's table of April 2016 for this machine, and what becomes of it when all CPUs read at once.

The mail compares ktime_get() with local_clock() inside the kernel and says that the difference grows "when
there are several CPUs racing for the clock access". User space can call neither; it can read every clock
that the kernel offers it, alone and from all CPUs at the same time.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from schedpy import stopwatch
from schedpy._files import written_whole
from schedpy._tables import text_table
from schedpy.lab import idle_clock

__all__ = ["ClockTable", "measure", "race_table"]

#: Of all that is measured alone, this much of the time; the race has the rest.
_ALONE = 0.7


@dataclass(frozen=True, eq=False)
class ClockTable:
    """What `measure` gave; prints as the mail's table, a histogram and the race.

    Attributes
    ----------
    alone : ReadCost
        One thread.
    race : ReadCost or None
        The clocks nearest to the mail's two and a system call, by a thread on each CPU; None where there is
        but one.
    """

    alone: stopwatch.ReadCost
    race: stopwatch.ReadCost | None

    def __str__(self):
        parts = [self.alone.caption(), _mail_text(self.alone)]
        if "CLOCK_MONOTONIC" in [clock.name for clock in self.alone.clocks]:
            parts.append(str(self.alone.histogram("CLOCK_MONOTONIC")))
        if self.race is None:
            parts.append("No race: it needs two CPUs.")
        else:
            parts += [self.race.caption(), _race_text(race_table(self.alone, self.race))]
        return "\n\n".join(parts)

    def save(self, folder):
        """Write all of it into a folder, made if it is not there; each file is complete or not there.

        ``alone`` and ``race``, both as ``.json`` and ``.csv``, hold everything measured and are what
        ``stopwatch.ReadCost.load`` reads; ``table.csv`` and ``race_table.csv`` are the tables.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        tables = {"table.csv": idle_clock.beside_mail(self.alone)}
        for name, cost in (("alone", self.alone), ("race", self.race)):
            for ending in (".json", ".csv"):
                if cost is not None:
                    cost.save(folder / f"{name}{ending}")
        if self.race is not None:
            tables["race_table.csv"] = race_table(self.alone, self.race)
        for name, table in tables.items():
            with written_whole(folder / name) as temporary:
                table.to_csv(temporary)


def measure(
    *,
    rounds: int = 100,
    calls: int = 10_000,
    cpus: Iterable[int] | None = None,
    pinned: bool = True,
    seconds: float | None = None,
    progress: bool = True,
) -> ClockTable:
    """Read the clocks of kernel and processor as the mail did, then the nearest to its two in a race.

    Parameters
    ----------
    rounds, calls : int
        The mail's: 100 rounds of 10000 calls.
    cpus : iterable of int, optional
        Who races; None: every CPU that this process may use.
    pinned : bool
        Whether each thread keeps to its CPU, alone and in the race.
    seconds : float, optional
        For both together: where all rounds would take longer there are fewer, two at least.
    progress : bool
        Bars, as `schedpy.stopwatch.read_cost` shows them.

    Returns
    -------
    ClockTable

    Raises
    ------
    ValueError, TypeError
        As `schedpy.stopwatch.read_cost`.

    Examples
    --------
    >>> from schedpy.lab import clock_cost
    >>> table = clock_cost.measure(rounds=2, calls=10, progress=False)
    >>> "CLOCK_MONOTONIC" in str(table)
    True
    """
    alone_seconds = race_seconds = None
    if seconds is not None:
        alone_seconds, race_seconds = _ALONE * seconds, (1 - _ALONE) * seconds
    clocks = [clock.name for clock in stopwatch.clocks() if clock.kind != "Python"]
    racers = tuple(sorted(os.sched_getaffinity(0)) if cpus is None else cpus)
    alone = stopwatch.read_cost(
        clocks, rounds, calls, pinned=pinned, seconds=alone_seconds, progress=progress
    )
    if len(racers) < 2:
        return ClockTable(alone, None)
    race = stopwatch.read_cost(
        _nearest_to_mail(alone),
        rounds,
        calls,
        cpus=racers,
        pinned=pinned,
        seconds=race_seconds,
        progress=progress,
    )
    return ClockTable(alone, race)


def _nearest_to_mail(cost):
    """CLOCK_MONOTONIC for ktime_get(), the bare counter for local_clock(), and what enters the kernel."""
    counters = [clock.name for clock in cost.clocks if clock.kind == "instruction"][:1]
    wanted = ("CLOCK_MONOTONIC", *counters, "syscall(clock_gettime)")
    return [clock.name for clock in cost.clocks if clock.name in wanted]


def race_table(alone, race):
    """What each clock costs alone and in a race.

    Parameters
    ----------
    alone, race : ReadCost
        Of one machine; the clocks of `race` must be in `alone`.

    Returns
    -------
    DataFrame
        Per clock: ``kind``; ``alone_ns``, ``race_ns``, the median of the rounds' averages, for other work on
        the machine falls on some rounds alone; ``percent``, by how much the race is dearer; medians and
        maxima of single calls alone and in the race.

    Examples
    --------
    >>> from schedpy import stopwatch
    >>> from schedpy.lab import clock_cost
    >>> cost = stopwatch.read_cost("empty call", 2, 10)
    >>> clock_cost.race_table(cost, cost)["percent"].tolist()
    [0.0]
    """
    for name, cost in (("alone", alone), ("race", race)):
        if not isinstance(cost, stopwatch.ReadCost):
            raise TypeError(f"{name} must be what stopwatch.read_cost gave, not {type(cost).__name__}")
    rows = []
    for raced in race.clocks:
        single = alone[raced.name]
        row = {"clock": raced.name, "kind": raced.kind}
        for where, cost in (("alone", single), ("race", raced)):
            row[f"{where}_ns"] = float(np.median(cost.rounds_ns))
        row["percent"] = 100 * (row["race_ns"] / row["alone_ns"] - 1)
        for where, cost in (("alone", single), ("race", raced)):
            row[f"median_{where}_ns"] = cost.quantile_ns(0.5)
            row[f"max_{where}_ns"] = cost.values_ns[-1]
        rows.append(row)
    return pd.DataFrame(rows).set_index("clock")


def _cell(value, form):
    return "" if isinstance(value, float) and np.isnan(value) else format(value, form)


def _mail_text(cost):
    rows = [
        ("clock", "where and how", "average", "stddev", "maximum", "minimum", "stddev"),
        ("", "", "ns", "of rounds", "of calls", "of calls", "of calls"),
    ]
    for name, row in idle_clock.beside_mail(cost).iterrows():
        how = row["where"] if "mail" in row["where"] else row["kind"]
        figures = (("average_ns", ".1f"), ("stddev_ns", ".1f"), ("maximum_ns", ".0f"), ("minimum_ns", ".0f"))
        cells = (_cell(row[key], form) for key, form in (*figures, ("stddev_calls_ns", ".1f")))
        rows.append((name, how, *cells))
    return "\n".join(text_table(rows, left=(0, 1)))


def _race_text(table):
    rows = [
        ("clock", "kind", "median round", "in race", "dearer", "median", "median", "max", "max"),
        ("", "", "alone", "", "by %", "alone", "in race", "alone", "in race"),
    ]
    for name, row in table.iterrows():
        figures = (
            *(("alone_ns", ".1f"), ("race_ns", ".1f"), ("percent", "+.1f")),
            *(("median_alone_ns", ".0f"), ("median_race_ns", ".0f")),
            *(("max_alone_ns", ".0f"), ("max_race_ns", ".0f")),
        )
        rows.append((name, row["kind"], *(_cell(row[key], form) for key, form in figures)))
    return "\n".join(text_table(rows, left=(0, 1)))
