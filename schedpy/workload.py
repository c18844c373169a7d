# SPDX-License-Identifier: GPL-2.0-only
"""Tasks that run and sleep, as the instants at which a kernel updates their PELT signals.

A task that is awake once per period is updated four ways: when it is enqueued, when it is picked to run, at
every tick of the timer while it runs, and when it is dequeued. The timer's grid stands still: the ticks fall
on ``tick_offset_ns + k * TICK_NSEC`` whatever the task does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from schedpy._coerce import as_array, as_number, refuse_lazy

__all__ = ["Events", "periodic", "staircase", "tick_nsec"]

MAX_NS = 2**63 - 1
LABELS = np.array(["enqueue", "pick", "tick", "dequeue"])
ENQUEUE, PICK, TICK, DEQUEUE = range(4)


@dataclass(frozen=True, eq=False)
class Events:
    """The updates of one task, in order of time; every field has shape (n,).

    Attributes
    ----------
    now : uint64 array
        Time of the update, ns.
    running, on_rq : bool array
        Whether the task was running, and on the run queue, in the time *up to* ``now``.
    label : str array
        "enqueue", "pick", "tick" or "dequeue".
    phase : int64 array
        Number of the phase that the update belongs to: 0 throughout for :func:`periodic`.
    """

    now: np.ndarray
    running: np.ndarray
    on_rq: np.ndarray
    label: np.ndarray
    phase: np.ndarray


def tick_nsec(hz):
    """Length of a tick in ns: the kernel's TICK_NSEC.

    Parameters
    ----------
    hz : int
        Ticks per second (CONFIG_HZ), 12..12287: what include/linux/jiffies.h allows.

    Examples
    --------
    >>> [tick_nsec(hz) for hz in (100, 250, 300, 1000)]
    [10000000, 4000000, 3333333, 1000000]
    """
    hz = as_number(hz, "hz", low=12, high=12287)
    return (1_000_000_000 + hz // 2) // hz


def _activations(enqueue, run_ns, phase, *, tick, tick_offset, pick_ns):
    """The updates of activations that begin at ``enqueue`` and end ``run_ns`` later; int64 arrays (n,).

    enqueue   pick                                  dequeue
       |-------|------x---------x---------x-----------|         x: ticks strictly between pick and dequeue
         waits                 runs
    """
    picked = enqueue + pick_ns
    dequeue = enqueue + run_ns
    before = (picked - tick_offset) // tick  # number of the last tick at or before the pick, -1: none yet
    ticks = (dequeue - 1 - tick_offset) // tick - before
    count = ticks + 3
    first = np.cumsum(count) - count
    last = first + count - 1

    activation = np.repeat(np.arange(len(enqueue)), count)
    place = np.arange(len(activation)) - first[activation]
    kind = np.full(len(activation), TICK)
    now = tick_offset + (before[activation] + place - 1) * tick
    for which, where, instant in (
        (ENQUEUE, first, enqueue),
        (PICK, first + 1, picked),
        (DEQUEUE, last, dequeue),
    ):
        kind[where] = which
        now[where] = instant
    return Events(
        now=now.astype(np.uint64),
        running=kind >= TICK,
        on_rq=kind >= PICK,
        label=LABELS[kind],
        phase=phase[activation],
    )


def _task(run_ns, period_ns, count, *, hz, tick_offset_ns, start_ns, pick_ns):
    """Phases of ``count`` activations each, one per entry of run_ns (a list of ints), one after the other."""
    tick = tick_nsec(hz)
    offset = as_number(tick_offset_ns, "tick_offset_ns", low=0, high=MAX_NS) % tick
    start = as_number(start_ns, "start_ns", low=0, high=MAX_NS)
    pick = as_number(pick_ns, "pick_ns", low=0, high=min(run_ns, default=MAX_NS + 1) - 1)
    total = len(run_ns) * count
    if start + total * period_ns > MAX_NS:
        raise ValueError(f"start_ns: the task would end after 2**63 ns ({start} + {total} * {period_ns})")
    enqueue = start + np.arange(total, dtype=np.int64) * period_ns
    phase = np.repeat(np.arange(len(run_ns)), count)
    run = np.array(run_ns, dtype=np.int64)[phase]
    return _activations(enqueue, run, phase, tick=tick, tick_offset=offset, pick_ns=pick)


def periodic(run_ns, period_ns, n, *, hz, tick_offset_ns=0, start_ns=0, pick_ns=3000):
    """A task that runs ``run_ns`` at the start of every period, ``n`` times.

    Parameters
    ----------
    run_ns : int
        From enqueue to dequeue, ns.
    period_ns : int
        From one enqueue to the next, ns; at least ``run_ns``.
    n : int
        Number of activations.
    hz : int
        Ticks per second of the kernel (CONFIG_HZ).
    tick_offset_ns : int
        The timer ticks at every ``tick_offset_ns + k * TICK_NSEC``, wherever ``start_ns`` is.
    start_ns : int
        Time of the first enqueue, ns.
    pick_ns : int
        From enqueue until the task is picked to run, ns; less than ``run_ns``.

    Returns
    -------
    Events
        Per activation one enqueue, one pick, the ticks strictly between pick and dequeue, one dequeue.

    Raises
    ------
    ValueError, TypeError
        An argument is no integer, or out of the range that the message names.

    Examples
    --------
    >>> task = periodic(5_000_000, 16_000_000, 2, hz=250, start_ns=1_000_000)
    >>> task.now.tolist()
    [1000000, 1003000, 4000000, 6000000, 17000000, 17003000, 20000000, 22000000]
    >>> task.label.tolist()[:4]
    ['enqueue', 'pick', 'tick', 'dequeue']
    >>> task.running.tolist()[:4]
    [False, False, True, True]
    """
    run = as_number(run_ns, "run_ns", low=1, high=MAX_NS)
    period = as_number(period_ns, "period_ns", low=run, high=MAX_NS)
    count = as_number(n, "n", low=0, high=MAX_NS)
    return _task(
        [run], period, count, hz=hz, tick_offset_ns=tick_offset_ns, start_ns=start_ns, pick_ns=pick_ns
    )


def run_lengths(duty_pct, period, name="duty_pct"):
    """ns of each phase's run, a list; a percentage is taken as it is written, 33.3 is 333/1000."""
    refuse_lazy(duty_pct, name)
    if (
        isinstance(duty_pct, str)
        or not isinstance(duty_pct, (Sequence, np.ndarray))
        or as_array(duty_pct, name).ndim != 1
    ):
        raise TypeError(f"{name}: a sequence of percentages is allowed, such as (12.5, 25)")
    lengths = []
    for index, duty in enumerate(duty_pct):
        try:
            run = Fraction(str(duty)) * period / 100
        except ValueError:
            raise ValueError(f"{name}[{index}]: {duty!r} is no percentage") from None
        if not 0 < run <= period or run.denominator != 1:
            raise ValueError(
                f"{name}[{index}]: {duty} % of {period} ns is {float(run)} ns; "
                f"a whole number of ns in 1..{period} is allowed"
            )
        lengths.append(int(run))
    return lengths


def staircase(
    *,
    hz,
    duty_pct=(12.5, 25, 37.5, 50, 62.5, 75),
    period_ns=16_000_000,
    phase_ns=2_000_000_000,
    tick_offset_ns=0,
    start_ns=0,
    pick_ns=3000,
):
    """A task whose duty cycle climbs by steps: the load of the 2021 look-up-table measurement.

    Each phase holds ``phase_ns // period_ns`` activations; by default 125 of 16 ms that run 2, 4, 6, 8, 10
    and 12 ms. The phases follow each other without a gap.

    Parameters
    ----------
    hz : int
        Ticks per second of the kernel (CONFIG_HZ).
    duty_pct : sequence of numbers
        Share of the period that the task runs, percent, one per phase; each must be a whole number of ns.
    period_ns, phase_ns : int
        Length of a period (8_000_000 is the other one in use) and of a phase, ns; a phase holds at least one
        period.
    tick_offset_ns, start_ns, pick_ns : int
        As for :func:`periodic`.

    Returns
    -------
    Events
        ``phase`` counts the steps from 0.

    Raises
    ------
    ValueError, TypeError
        An argument is no number, or out of the range that the message names.

    Examples
    --------
    >>> task = staircase(hz=250)
    >>> enqueues = task.label == "enqueue"
    >>> np.bincount(task.phase[enqueues]).tolist()
    [125, 125, 125, 125, 125, 125]
    >>> (task.now[task.label == "dequeue"] - task.now[enqueues])[::125].tolist()
    [2000000, 4000000, 6000000, 8000000, 10000000, 12000000]
    """
    period = as_number(period_ns, "period_ns", low=1, high=MAX_NS)
    count = as_number(phase_ns, "phase_ns", low=period, high=MAX_NS) // period
    runs = run_lengths(duty_pct, period)
    return _task(
        runs, period, count, hz=hz, tick_offset_ns=tick_offset_ns, start_ns=start_ns, pick_ns=pick_ns
    )
