# SPDX-License-Identifier: GPL-2.0-only
"""Timing clocks: rounds in a thread alone, or in several threads that race."""

import math
import numbers
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from schedpy import _core
from schedpy._coerce import as_bool, as_number
from schedpy.stopwatch.affinity import allowed_cpus, confined
from schedpy.stopwatch.machine import Clock, chosen
from schedpy.stopwatch.results import ClockCost, ReadCost, merged
from schedpy.stopwatch.ticks import Counter, frequency, instant, step_of

__all__ = ["read_cost"]

_CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

# A round cannot be interrupted, and a bracket keeps 8 bytes per call.
_MOST_CALLS = 10_000_000

_Readers = list[int | Callable[[], float]]
_Counted = tuple[np.ndarray, np.ndarray]


def _with_progress(rounds: range) -> Iterable[int]:
    """A bar once the rounds have taken two seconds, if tqdm is there."""
    try:
        from tqdm import tqdm
    except ImportError:
        return rounds
    return tqdm(rounds, desc="reading clocks", unit="round", delay=2, leave=False, disable=None)


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
    cpus: int | Iterable[int] | None = None,
    pinned: bool = True,
    warmup: int = 1000,
    seconds: float | None = None,
    progress: bool = True,
) -> ReadCost:
    """What reading a clock costs, in the manner of the 2016 measurement: `rounds` times `calls` calls.

    Every clock is a function behind a pointer, timed by the same loop, so each figure holds one indirect call
    (the row "empty call" shows it; for Python's clocks a call from C and the result object, without the
    interpreter's own loop). Each round times all clocks in turn, once in a batch and once call by call, so
    that whatever disturbs the machine meanwhile meets all of them.

    Several CPUs race: one thread for each reads the same clock at the same time. They meet before the first
    timed call and after the last one, and read on while they wait, so that no timed call has the clock to
    itself.

    Parameters
    ----------
    clocks : str or iterable of str, optional
        Names as in `clocks()`; None: all, in a race all but Python's, which hold the interpreter's lock.
    rounds : int
        At least 2. Ctrl-C works between rounds.
    calls : int
        Calls per round and mode, 1 .. 10,000,000; of each thread.
    cpus : int or iterable of int, optional
        A thread on each of these. None: one thread, on the highest CPU that this process may use.
    pinned : bool
        False: as many threads, and each may run on any of these CPUs (None: of all that this process may
        use). What then moves from one CPU to another in a bracket is timed with two counters.
    warmup : int
        Untimed calls before each of the two modes, at least 1000.
    seconds : float, optional
        The round in which this time is up is the last one: a busy machine makes fewer rounds, two at least.
    progress : bool
        Show a bar after two seconds, if tqdm is installed; never where standard error is no terminal.

    Returns
    -------
    ReadCost
        Prints as a table; ``.to_pandas()``, ``.histogram(name)``, ``.save(path)``, ``["CLOCK_MONOTONIC"]``.
        The affinity is what it was before.

    Raises
    ------
    ValueError, TypeError
        An unknown clock, one of Python's in a race, too few rounds, a CPU that is not allowed or there twice;
        the message says which.

    Examples
    --------
    >>> from schedpy import stopwatch
    >>> cost = stopwatch.read_cost("CLOCK_MONOTONIC", rounds=2, calls=1000)
    >>> int(cost["CLOCK_MONOTONIC"].counts.sum())
    2000
    """
    named = allowed_cpus(cpus, "cpus")
    racers = 1 if named is None else len(named)
    wanted = _to_time(clocks, racers)
    rounds = as_number(rounds, "rounds", low=2)
    calls = as_number(calls, "calls", low=1, high=_MOST_CALLS)
    warmup = as_number(warmup, "warmup", low=1000, high=_MOST_CALLS)
    if (flag := as_bool(pinned, "pinned")).ndim:
        raise ValueError(f"pinned must be one bool, not an array of shape {flag.shape}")
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    ran_on = named or (allowed[-1:] if flag else allowed)
    places = [{cpu} for cpu in ran_on] if flag else [set(ran_on)] * racers

    plan = _Plan(list(wanted.values()), rounds, calls, warmup, _checked_seconds(seconds))
    with confined(places[0]):
        start = instant()
        step, share = step_of(_core.stopwatch_deltas(100_000))
        bar = _with_progress if as_bool(progress, "progress").all() else None
        timed = _race(plan, places, bar) if racers > 1 else [_timed(plan, None, bar)]
        least = min(min(one.brackets) for one in timed)
        counter = Counter(_core.STOPWATCH_COUNTER, frequency(start), step, share, least)
    made = len(timed[0].brackets)
    threads = tuple(
        tuple(
            _clock_cost(clock, calls, counter, batch[:made], single[:made])
            for clock, batch, single in zip(wanted, one.batches, one.singles, strict=True)
        )
        for one in timed
    )
    return ReadCost(made, calls, warmup, ran_on, bool(flag), _clocksource(), counter, threads)


def _checked_seconds(seconds: float | None) -> float:
    if seconds is None:
        return math.inf
    if isinstance(seconds, bool) or not isinstance(seconds, numbers.Real):
        raise TypeError(f"seconds = {seconds!r}: must be a number")
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds = {seconds}: must be above 0 and finite")
    return float(seconds)


def _to_time(names, racers: int) -> dict[Clock, int | Callable[[], float]]:
    """The clocks asked for, and what the core reads each by."""
    wanted = chosen(names)
    if not wanted:
        raise ValueError("clocks is empty; None times all of them")
    if racers == 1:
        return wanted
    alone = [clock.name for clock, reader in wanted.items() if callable(reader)]
    if names is not None and alone:
        raise ValueError(
            f"clocks: {alone[0]!r} cannot race: who calls a function of Python holds the interpreter's lock"
        )
    return {clock: reader for clock, reader in wanted.items() if not callable(reader)}


@dataclass(frozen=True)
class _Plan:
    readers: _Readers
    rounds: int
    calls: int
    warmup: int
    seconds: float


@dataclass(frozen=True)
class _Timed:
    """What one thread saw: per clock its rounds, and the least empty bracket of each round."""

    batches: list[list[int]]
    singles: list[list[_Counted]]
    brackets: list[int] = field(default_factory=list)


def _timed(plan: _Plan, gate: np.ndarray | None, bar, leads: bool = True) -> _Timed:
    """All rounds of one thread; cut short where the race was called off.

    The one who leads ends it when time is up. By then all have ended its last round, and begun or not begun
    one more, which does not count: the leader's number of rounds holds for all.
    """
    found = _Timed([[] for _ in plan.readers], [[] for _ in plan.readers])
    end = time.monotonic() + plan.seconds
    for number in range(plan.rounds) if bar is None else bar(range(plan.rounds)):
        found.brackets.append(int(_core.stopwatch_empty(plan.calls).min()))
        for reader, batch, single in zip(plan.readers, found.batches, found.singles, strict=True):
            batch.append(_core.stopwatch_batch(reader, plan.warmup, plan.calls, gate))
            ticks = _core.stopwatch_single(reader, plan.warmup, plan.calls, gate)
            single.append(_histogram(ticks))
        if leads and number and time.monotonic() >= end:
            if gate is not None:
                gate[2] = 1
            break
        if gate is not None and gate[2]:
            break
    return found


def _race(plan: _Plan, places: list[set[int]], bar) -> list[_Timed]:
    """One thread per place; when one fails, or Ctrl-C comes, the race is off for all."""
    gate = np.array([len(places), 0, 0], dtype=np.uint64)  # racers, met, called off

    def race(number: int) -> _Timed:
        try:
            with confined(places[number]):
                return _timed(plan, gate, bar if number == 0 else None, leads=number == 0)
        except BaseException:
            gate[2] = 1
            raise

    with ThreadPoolExecutor(len(places)) as pool:
        racing: list[Future[_Timed]] = []
        try:
            racing.extend(pool.submit(race, number) for number in range(len(places)))
            wait(racing, return_when=FIRST_EXCEPTION)
        except BaseException:
            gate[2] = 1
            raise
    return [thread.result() for thread in racing]


def _histogram(ticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, counts = np.unique(ticks, return_counts=True)
    return values.astype(np.int64), counts


def _clock_cost(clock, calls, counter, batch, single) -> ClockCost:
    """One clock's raw rounds, the empty bracket taken off every single call."""
    sums = [int(np.dot(values, counts)) - calls * counter.bracket_ticks for values, counts in single]
    ticks, counts = merged(single)
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
