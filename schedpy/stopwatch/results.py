# SPDX-License-Identifier: GPL-2.0-only
"""What reading clocks costs: everything measured, and every figure that follows from it."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from schedpy._files import written_whole
from schedpy._tables import html_table, text_table
from schedpy.stopwatch import files
from schedpy.stopwatch.histogram import Histogram, by_step
from schedpy.stopwatch.ticks import Counter

__all__ = ["ClockCost", "ReadCost", "merged"]


@dataclass(frozen=True, eq=False)
class ClockCost:
    """What reading one clock costs. Everything measured is kept, in whole ticks; every other figure follows.

    Attributes
    ----------
    name, kind : str
        As in `Clock`.
    calls : int
        Calls per round.
    ns_per_tick : float
        Length of a tick of the counter.
    round_ticks : ndarray of int64, one per round
        Batch mode: ticks for all calls of a round. Of several threads: one thread's rounds after the other's.
    single_round_ticks : ndarray of int64, one per round
        Single mode: sum of a round's calls; of several threads as above.
    ticks, counts : ndarray of int64
        Single mode: the distinct costs of a call, ascending, and how often each was seen, over all
        rounds. The empty bracket has been subtracted; a negative cost stays negative.
    """

    name: str
    kind: str
    calls: int
    ns_per_tick: float
    round_ticks: np.ndarray
    single_round_ticks: np.ndarray
    ticks: np.ndarray
    counts: np.ndarray

    @property
    def rounds_ns(self) -> np.ndarray:
        """Batch mode: average cost of a call in each round, in ns."""
        return self.round_ticks * (self.ns_per_tick / self.calls)

    @property
    def single_rounds_ns(self) -> np.ndarray:
        """Single mode: average cost of a call in each round, in ns."""
        return self.single_round_ticks * (self.ns_per_tick / self.calls)

    @property
    def values_ns(self) -> np.ndarray:
        """Single mode: the distinct costs of a call in ns, beside `counts`."""
        return self.ticks * self.ns_per_tick

    def quantile_ns(self, q: float) -> float:
        """Least observed cost of a single call, in ns, that the share `q` of all calls does not exceed."""
        rank = max(int(np.ceil(q * self.counts.sum())), 1)
        return float(self.values_ns[np.searchsorted(np.cumsum(self.counts), rank)])

    def statistics(self) -> dict[str, float]:
        """Columns of the table, in ns (`below_zero`: calls that took less than an empty bracket)."""
        rounds, single_rounds, values = self.rounds_ns, self.single_rounds_ns, self.values_ns
        mean = float(np.average(values, weights=self.counts))
        variance = float(np.dot((values - mean) ** 2, self.counts)) / max(int(self.counts.sum()) - 1, 1)
        return {
            "average_ns": float(rounds.mean()),
            "stddev_rounds_ns": float(rounds.std(ddof=1)),
            "round_min_ns": float(rounds.min()),
            "round_max_ns": float(rounds.max()),
            "single_average_ns": mean,
            "stddev_calls_ns": variance**0.5,
            "single_stddev_rounds_ns": float(single_rounds.std(ddof=1)),
            "min_ns": float(values[0]),
            "median_ns": self.quantile_ns(0.5),
            "p99_ns": self.quantile_ns(0.99),
            "p99_9_ns": self.quantile_ns(0.999),
            "max_ns": float(values[-1]),
            "below_zero": int(self.counts[self.ticks < 0].sum()),
        }


@dataclass(frozen=True, eq=False)
class ReadCost:
    """What reading the clocks of one machine costs: the result of `read_cost`.

    Attributes
    ----------
    rounds, calls, warmup : int
        Rounds, calls per round, and untimed calls before each round.
    cpus : tuple of int
        The CPUs that it ran on: one thread on each at the same time, or not pinned and on any of them.
    pinned : bool
        Whether each thread had a CPU of its own that it could not leave.
    clocksource : str or None
        The kernel's clocksource meanwhile.
    counter : Counter
        What timed it.
    threads : tuple of tuples of ClockCost
        Per thread one for each clock; pinned threads in the order of `cpus`.
    """

    rounds: int
    calls: int
    warmup: int
    cpus: tuple[int, ...]
    pinned: bool
    clocksource: str | None
    counter: Counter
    threads: tuple[tuple[ClockCost, ...], ...]

    @cached_property
    def clocks(self) -> tuple[ClockCost, ...]:
        """One per clock, all threads together; ``cost["CLOCK_MONOTONIC"]`` finds one by name."""
        if len(self.threads) == 1:
            return self.threads[0]
        return tuple(_together(costs) for costs in zip(*self.threads, strict=True))

    def __getitem__(self, name: str) -> ClockCost:
        for clock in self.clocks:
            if clock.name == name:
                return clock
        raise KeyError(f"{name!r} was not measured; measured: {', '.join(c.name for c in self.clocks)}")

    def histogram(self, name: str) -> Histogram:
        """Single calls of one clock counted by step of the counter; prints with bars.

        Raises
        ------
        KeyError
            The clock was not measured.
        """
        clock = self[name]
        return by_step(name, self.counter, clock.ticks, clock.counts)

    def _where(self) -> str:
        """The CPUs in words."""
        cpus = f"CPU{'s' * (len(self.cpus) > 1)} {', '.join(map(str, self.cpus))}"
        if self.pinned:
            return f"on {cpus}{' at once' * (len(self.threads) > 1)}"
        many = len(self.threads)
        return f"{f'by {many} threads at once, ' if many > 1 else ''}not pinned, on any of {cpus}"

    def caption(self) -> str:
        """Where, by what counter and how often it was measured, in a sentence or two."""
        counter = self.counter
        return (
            f"{self.rounds} rounds of {self.calls} calls {self._where()}, in ns. "
            f"Clocksource {self.clocksource or 'unknown'}. "
            f"Counter {counter.name}, {counter.hz / 1e6:.3f} MHz, in steps of {counter.step_ticks} "
            f"({counter.step_ns:.2f} ns); empty bracket {counter.bracket_ns:.1f} ns, subtracted."
        )

    def _cells(self) -> list[list[str]]:
        """The table of the 2016 mail, average (stddev), maximum, minimum, and what it left open."""
        header = ["clock", "kind", "average", "stddev", "stddev", "min", "median", "p99", "p99.9", "max"]
        units = ["", "", "batch", "of rounds", "of calls", *["single"] * 5]
        columns = ("min_ns", "median_ns", "p99_ns", "p99_9_ns", "max_ns")
        rows = [header, units]
        for clock in self.clocks:
            value = clock.statistics()
            spread = [f"{value[key]:.1f}" for key in ("average_ns", "stddev_rounds_ns", "stddev_calls_ns")]
            rows.append([clock.name, clock.kind, *spread, *(f"{value[key]:.0f}" for key in columns)])
        return rows

    def __repr__(self) -> str:
        return "\n".join([self.caption(), *text_table(self._cells(), left=(0, 1))])

    def _repr_html_(self) -> str:
        header, units, *rows = self._cells()
        head = [f"{name} {unit}".strip() for name, unit in zip(header, units, strict=True)]
        return html_table(head, rows, self.caption())

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame: a row per clock, `kind` and all that `ClockCost.statistics` gives.

        Raises
        ------
        ImportError
            Without pandas (``pip install schedpy[lab]``).
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install schedpy[lab]") from error
        rows = [{"kind": clock.kind, **clock.statistics()} for clock in self.clocks]
        names = [clock.name for clock in self.clocks]
        return pandas.DataFrame(rows, index=pandas.Index(names, name="clock"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file that is there complete or not at all.

        A name that ends in ``.csv`` gets a CSV of the columns thread, clock, measure, ticks and count, below
        one line of JSON after a #; any other JSON.
        """
        settings = {key: getattr(self, key) for key in _SETTINGS} | {"counter": vars(self.counter)}
        threads = [[_columns(clock) for clock in one] for one in self.threads]
        write = files.as_csv if Path(path).suffix.lower() == ".csv" else files.as_json
        with written_whole(path) as temporary:
            temporary.write_text(write(settings, threads), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ReadCost":
        """Read what `save` wrote, of either kind.

        Raises
        ------
        ValueError
            The file is no such thing.
        """
        try:
            settings, threads = files.parsed(Path(path).read_text(encoding="utf-8"))
            given = {key: settings[key] for key in _SETTINGS} | {"cpus": tuple(settings["cpus"])}
            counter = Counter(**settings["counter"])
            clocks = tuple(tuple(ClockCost(**clock) for clock in one) for one in threads)
            if not (clocks and clocks[0] and len({tuple(c.name for c in one) for one in clocks}) == 1):
                raise ValueError("every thread must have the same clocks, one at least")
            for clock in (clock for one in clocks for clock in one):
                _refuse_incomplete(clock, given["rounds"], given["calls"])
            return cls(**given, counter=counter, threads=clocks)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise ValueError(f"{os.fspath(path)}: expected a file of {files.FORMAT}: {error}") from error


_SETTINGS = ("rounds", "calls", "warmup", "cpus", "pinned", "clocksource")


def _columns(clock: ClockCost) -> dict[str, Any]:
    return {field.name: getattr(clock, field.name) for field in fields(clock)}


def _refuse_incomplete(clock: ClockCost, rounds: int, calls: int) -> None:
    """A file that has lost rows, or gained some."""
    sizes = (clock.round_ticks.shape, clock.single_round_ticks.shape)
    if sizes != ((rounds,), (rounds,)) or clock.ticks.shape != clock.counts.shape:
        raise ValueError(f"{clock.name}: not one value for each of {rounds} rounds")
    if (clock.counts < 1).any() or clock.counts.sum() != rounds * calls:
        raise ValueError(f"{clock.name}: not {rounds} x {calls} single calls")
    if (np.diff(clock.ticks) <= 0).any():
        raise ValueError(f"{clock.name}: costs of single calls must ascend")


def _together(costs: Iterable[ClockCost]) -> ClockCost:
    """One clock's cost to several threads."""
    costs = tuple(costs)
    ticks, counts = merged([(cost.ticks, cost.counts) for cost in costs])
    first = costs[0]
    return ClockCost(
        first.name,
        first.kind,
        first.calls,
        first.ns_per_tick,
        np.concatenate([cost.round_ticks for cost in costs]),
        np.concatenate([cost.single_round_ticks for cost in costs]),
        ticks,
        counts,
    )


def merged(histograms: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values of several histograms, ascending, and how often each was seen."""
    values, where = np.unique(np.concatenate([values for values, _ in histograms]), return_inverse=True)
    counts = np.zeros(values.size, dtype=np.int64)
    np.add.at(counts, where, np.concatenate([counts for _, counts in histograms]))
    return values, counts
