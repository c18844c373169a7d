# SPDX-License-Identifier: GPL-2.0-only
"""Clocks of this machine: which there are, how each is reached, what a read costs.

A clock's price is measured twice. *Batch* puts one pair of stamps around thousands of calls: the stamps
cost nothing per call, and the mean is good to a fraction of a tick. *Single* brackets every call: that alone
shows the distribution, but its values move in steps of the counter, and one interrupt outweighs ten thousand
calls. So a standard deviation always says of what it is: of all calls, or of the averages of the rounds.
"""

import contextlib
import html
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schedpy import _core
from schedpy._coerce import as_choice, as_number
from schedpy._files import written_whole

__all__ = ["Clock", "ClockCost", "Counter", "ReadCost", "clocks", "counter", "pinned", "read", "read_cost"]

_FORMAT = "schedpy.stopwatch.ReadCost/1"
_CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

# A round cannot be interrupted, and a bracket keeps 8 bytes per call.
_MOST_CALLS = 10_000_000

# fields of ReadCost and ClockCost, as a file holds them
_SCALARS = ("rounds", "calls", "warmup", "cpu", "clocksource")
_ARRAYS = ("round_ticks", "single_round_ticks", "ticks", "counts")

_PYTHON = {
    f"time.{name}": getattr(time, name)
    for name in (
        "time",
        "time_ns",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "process_time_ns",
        "thread_time_ns",
    )
}


@dataclass(frozen=True)
class Clock:
    """One clock of this machine.

    Attributes
    ----------
    name : str
        The kernel's or Python's name, or the instructions.
    kind : str
        "empty call", "instruction", "vDSO", "system call", "Python"; "unknown" where a clock of libc
        could not be asked whether it enters the kernel, because seccomp is not permitted.
    clock_id : int or None
        The number of a CLOCK_*.
    resolution_ns : int or None
        What clock_getres answers, in ns.
    """

    name: str
    kind: str
    clock_id: int | None = None
    resolution_ns: int | None = None


@dataclass(frozen=True)
class Counter:
    """The counter that timed the clocks.

    Attributes
    ----------
    name : str
        "tsc", "cntvct_el0", or "CLOCK_MONOTONIC" where the processor has none that user space may read.
    hz : float
        Its frequency, against CLOCK_MONOTONIC_RAW.
    step_ticks : int
        It moves in steps of so many ticks.
    step_share : float
        Share of the back-to-back differences that lie at a multiple of the step.
    bracket_ticks : int
        Least cost of an empty bracket; subtracted from every single call.
    """

    name: str
    hz: float
    step_ticks: int
    step_share: float
    bracket_ticks: int

    @property
    def ns_per_tick(self) -> float:
        return 1e9 / self.hz

    @property
    def step_ns(self) -> float:
        return self.step_ticks * self.ns_per_tick

    @property
    def bracket_ns(self) -> float:
        return self.bracket_ticks * self.ns_per_tick


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
        Batch mode: ticks for all calls of a round.
    single_round_ticks : ndarray of int64, one per round
        Single mode: sum of a round's calls.
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
    cpu : int
        The CPU that ran it.
    clocksource : str or None
        The kernel's clocksource meanwhile.
    counter : Counter
        What timed it.
    clocks : tuple of ClockCost
        One per clock; ``cost["CLOCK_MONOTONIC"]`` finds one by name.
    """

    rounds: int
    calls: int
    warmup: int
    cpu: int
    clocksource: str | None
    counter: Counter
    clocks: tuple[ClockCost, ...]

    def __getitem__(self, name: str) -> ClockCost:
        for clock in self.clocks:
            if clock.name == name:
                return clock
        raise KeyError(f"{name!r} was not measured; measured: {', '.join(c.name for c in self.clocks)}")

    def _caption(self) -> str:
        counter = self.counter
        return (
            f"{self.rounds} rounds of {self.calls} calls on CPU {self.cpu}, in ns. "
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
        rows = self._cells()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self._caption()]
        for name, kind, *cells in rows:
            numbers = (cell.rjust(width) for cell, width in zip(cells, widths[2:], strict=True))
            lines.append("  ".join((name.ljust(widths[0]), kind.ljust(widths[1]), *numbers)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        header, units, *rows = self._cells()
        head = row(header, "th") + row(units, "th")
        body = "".join(row(cells, "td") for cells in rows)
        caption = html.escape(self._caption())
        return f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{body}</tbody></table>"

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
        """Write everything to a JSON file; the file is there complete or not at all."""
        data = {"format": _FORMAT, **{name: getattr(self, name) for name in _SCALARS}}
        data["counter"] = vars(self.counter)
        data["clocks"] = [
            vars(clock) | {name: getattr(clock, name).tolist() for name in _ARRAYS} for clock in self.clocks
        ]
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps(data) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ReadCost":
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            The file is no such thing.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != _FORMAT:
                raise ValueError(f"format {data['format']!r}")
            counter = Counter(**data["counter"])
            measured = tuple(
                ClockCost(**clock | {key: np.array(clock[key], dtype=np.int64) for key in _ARRAYS})
                for clock in data["clocks"]
            )
            return cls(**{name: data[name] for name in _SCALARS}, counter=counter, clocks=measured)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ValueError(f"{os.fspath(path)}: expected a file of {_FORMAT}: {error}") from error


def clocks() -> tuple[Clock, ...]:
    """Every clock that answers on this machine, and how it is reached.

    The processor's counters, CLOCK_* through libc, two bare system calls for reference, and Python's own.
    Whether libc enters the kernel for a clock is found out, not assumed: a child process forbids itself the
    clock_gettime system call (seccomp, no privilege needed) and reads again.

    Returns
    -------
    tuple of Clock

    Examples
    --------
    >>> from schedpy import stopwatch
    >>> [clock.kind for clock in stopwatch.clocks() if clock.name == "syscall(getppid)"]
    ['system call']
    """
    return tuple(_readers())


def _readers() -> dict[Clock, int | Callable[[], float]]:
    """Every clock, and what the core reads it by: its row there, or the callable."""
    readers: dict[Clock, int | Callable[[], float]] = {}
    for row, name, kind, clock_id, resolution_ns in _core.stopwatch_clocks():
        named = name.startswith("CLOCK_")
        readers[Clock(name, kind, *((clock_id, resolution_ns) if named else ()))] = row
    for name, function in _PYTHON.items():
        readers[Clock(name, "Python")] = function
    return readers


def _chosen(names: str | Iterable[str] | None) -> dict[Clock, int | Callable[[], float]]:
    readers = _readers()
    if names is None:
        return readers
    by_name = {clock.name: clock for clock in readers}
    if not isinstance(names, Iterable):
        raise TypeError(f"clocks = {names!r}: must be names of clocks, or None for all")
    wanted = [names] if isinstance(names, str) else list(names)
    for index, name in enumerate(wanted):
        if not isinstance(name, str):
            raise TypeError(f"clocks: element {index} = {name!r} must be the name of a clock")
        if name not in by_name:
            raise ValueError(
                f"clocks: element {index} = {name!r} is no clock of this machine; "
                f"there are {', '.join(by_name)}"
            )
        if name in wanted[:index]:
            raise ValueError(f"clocks: element {index} = {name!r} is there twice")
    return {by_name[name]: readers[by_name[name]] for name in wanted}


def read(name: str) -> float:
    """One reading of a clock by name.

    Parameters
    ----------
    name : str
        As in `clocks`.

    Returns
    -------
    int or float
        ns for a CLOCK_*, ticks for an instruction, the value of a function of Python, what a system call
        returned, 0 for the empty call.

    Raises
    ------
    ValueError
        No clock of this machine has that name.

    Examples
    --------
    >>> from schedpy import stopwatch
    >>> first = stopwatch.read("CLOCK_MONOTONIC")
    >>> first <= stopwatch.read("CLOCK_MONOTONIC")
    True
    """
    readers = {clock.name: reader for clock, reader in _readers().items()}
    reader = readers[as_choice(name, "name", tuple(readers))]
    return reader() if callable(reader) else _core.stopwatch_read(reader)


def counter() -> Counter:
    """The counter that times calls on this machine; calibrating it takes 50 ms.

    Returns
    -------
    Counter

    Examples
    --------
    >>> from schedpy import stopwatch
    >>> stopwatch.counter().hz > 0
    True
    """
    start = _instant()
    step, share = _step(_core.stopwatch_deltas(100_000))
    bracket = int(_core.stopwatch_empty(10_000).min())
    return Counter(_core.STOPWATCH_COUNTER, _frequency(start), step, share, bracket)


@contextlib.contextmanager
def pinned(cpu: int | None = None) -> Iterator[int]:
    """This thread on one CPU; afterwards where it may be before.

    Parameters
    ----------
    cpu : int, optional
        None: the highest that this process may use. The block gets the one chosen.

    Raises
    ------
    ValueError
        A CPU that is not allowed.

    Examples
    --------
    >>> import os
    >>> from schedpy import stopwatch
    >>> with stopwatch.pinned() as cpu:
    ...     os.sched_getaffinity(0) == {cpu}
    True
    """
    allowed = os.sched_getaffinity(0)
    cpu = max(allowed) if cpu is None else as_number(cpu, "cpu", low=0)
    if cpu not in allowed:
        raise ValueError(f"cpu = {cpu}: this process may run on {', '.join(map(str, sorted(allowed)))}")
    os.sched_setaffinity(0, {cpu})
    try:
        yield cpu
    finally:
        os.sched_setaffinity(0, allowed)


def _with_progress(rounds: range) -> Iterable[int]:
    """A bar once the rounds have taken two seconds, if tqdm is there."""
    try:
        from tqdm import tqdm
    except ImportError:
        return rounds
    return tqdm(rounds, desc="reading clocks", unit="round", delay=2, leave=False)


def _instant() -> tuple[int, int]:
    """Counter and CLOCK_MONOTONIC_RAW at one time: the tightest of a hundred pairs."""
    _, ticks, raw_ns = min(_core.stopwatch_pair() for _ in range(100))
    return ticks, raw_ns


def _frequency(start: tuple[int, int]) -> float:
    """Hz of the counter since `start`, over 50 ms at least."""
    ticks, raw_ns = _instant()
    if (missing := 50_000_000 - (raw_ns - start[1])) > 0:
        time.sleep(missing / 1e9)
        ticks, raw_ns = _instant()
    return (ticks - start[0]) * 1e9 / (raw_ns - start[1])


def _step(deltas: np.ndarray) -> tuple[int, float]:
    """The step of a counter out of back-to-back differences, and the share of them that fit it.

    The step is the largest s of which 98 % of the differences are multiples. From 4 on a tick beside a
    multiple counts as one: a counter that is scaled to another unit is off by one now and then, which
    would make a gcd 1. No step exceeds the least difference that is not 0.
    """
    values, counts = np.unique(deltas.astype(np.int64), return_counts=True)
    moving = values[values > 0]
    for step in range(int(moving[0]) + 1 if moving.size else 1, 1, -1):
        off = np.minimum(values % step, step - values % step)
        near = off <= (1 if step >= 4 else 0)
        share = float(counts[near].sum() / counts.sum())
        if share >= 0.98:
            return step, share
    return 1, 1.0


def _merged(histograms: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values of all rounds, ascending, and how often each was seen."""
    values, where = np.unique(np.concatenate([values for values, _ in histograms]), return_inverse=True)
    counts = np.zeros(values.size, dtype=np.int64)
    np.add.at(counts, where, np.concatenate([counts for _, counts in histograms]))
    return values, counts


def _clocksource() -> str | None:
    try:
        return _CLOCKSOURCE.read_text(encoding="ascii").strip()
    except OSError:
        return None


def read_cost(
    clocks: str | Iterable[str] | None = None,
    rounds: int = 100,
    calls: int = 10_000,
    *,
    cpu: int | None = None,
    warmup: int = 1000,
    progress: bool = True,
) -> ReadCost:
    """What reading a clock costs, in the manner of the 2016 measurement: `rounds` times `calls` calls.

    Every clock is a function behind a pointer, timed by the same loop, so each figure holds one indirect call
    (the row "empty call" shows it; for Python's clocks a call from C and the result object, without the
    interpreter's own loop). Each round times all clocks in turn, once in a batch and once call by call, so
    that whatever disturbs the machine meanwhile meets all of them.

    Parameters
    ----------
    clocks : str or iterable of str, optional
        Names as in `clocks()`; None: all.
    rounds : int
        At least 2. Ctrl-C works between rounds.
    calls : int
        Calls per round and mode, 1 .. 10,000,000.
    cpu : int, optional
        Run there; None: the highest CPU that this process may use. The affinity is restored afterwards.
    warmup : int
        Untimed calls before each of the two modes, at least 1000.
    progress : bool
        Show a bar after two seconds, if tqdm is installed.

    Returns
    -------
    ReadCost
        Prints as a table; ``.to_pandas()``, ``.save(path)``, ``["CLOCK_MONOTONIC"]``.

    Raises
    ------
    ValueError, TypeError
        An unknown clock, too few rounds, a CPU that is not allowed; the message says which.

    Examples
    --------
    >>> from schedpy import stopwatch
    >>> cost = stopwatch.read_cost("CLOCK_MONOTONIC", rounds=2, calls=1000)
    >>> int(cost["CLOCK_MONOTONIC"].counts.sum())
    2000
    """
    chosen = _chosen(clocks)
    if not chosen:
        raise ValueError("clocks is empty; None times all of them")
    rounds = as_number(rounds, "rounds", low=2)
    calls = as_number(calls, "calls", low=1, high=_MOST_CALLS)
    warmup = as_number(warmup, "warmup", low=1000, high=_MOST_CALLS)

    batches: list[list[int]] = [[] for _ in chosen]
    singles: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in chosen]
    bracket = []
    with pinned(cpu) as cpu:
        start = _instant()
        step, share = _step(_core.stopwatch_deltas(100_000))
        for _ in _with_progress(range(rounds)) if progress else range(rounds):
            bracket.append(int(_core.stopwatch_empty(calls).min()))
            for reader, batch, single in zip(chosen.values(), batches, singles, strict=True):
                batch.append(_core.stopwatch_batch(reader, warmup, calls))
                single.append(_histogram(_core.stopwatch_single(reader, warmup, calls)))
        counter = Counter(_core.STOPWATCH_COUNTER, _frequency(start), step, share, min(bracket))
    measured = tuple(
        _clock_cost(clock, calls, counter, batch, single)
        for clock, batch, single in zip(chosen, batches, singles, strict=True)
    )
    return ReadCost(rounds, calls, warmup, cpu, _clocksource(), counter, measured)


def _histogram(ticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, counts = np.unique(ticks, return_counts=True)
    return values.astype(np.int64), counts


def _clock_cost(clock, calls, counter, batch, single) -> ClockCost:
    """One clock's raw rounds, the empty bracket taken off every single call."""
    sums = [int(np.dot(values, counts)) - calls * counter.bracket_ticks for values, counts in single]
    ticks, counts = _merged(single)
    return ClockCost(
        clock.name,
        clock.kind,
        calls,
        counter.ns_per_tick,
        np.array(batch, dtype=np.int64),
        np.array(sums, dtype=np.int64),
        ticks - counter.bracket_ticks,
        counts,
    )
