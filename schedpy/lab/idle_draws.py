# SPDX-License-Identifier: GPL-2.0-only
"""What ends the idles of a CPU: timers, interrupts, and idles of every length, drawn at random.

Each kind is a small frozen dataclass: ``kind``, ``label`` for tables and pictures, ``period_ns`` for those
that have one, and ``draw``, which gives ``sleep_ns`` (the time to the next timer, what the governor is told)
and ``wake_ns`` (how long the idle lasts) of a stream. What is drawn depends on the generator alone, not on
the states that a governor selects.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from schedpy._coerce import as_number

__all__ = ["FEW_MIXES", "MIXES", "Exponential", "Interrupts", "LogUniform", "Timer", "duration"]

US, MS, SECOND = 1000, 10**6, 10**9
#: Beyond any idle; sums with an exit latency stay within 64 bit.
LONGEST_NS = 2**52


def duration(ns):
    """A time in ns as text, in the largest unit that leaves it no smaller than 1.

    Examples
    --------
    >>> duration(250_000_000), duration(1500), duration(999)
    ('250 ms', '1.5 us', '999 ns')
    """
    for unit, name in ((SECOND, "s"), (MS, "ms"), (US, "us")):
        if ns >= unit:
            return f"{ns / unit:.10g} {name}"
    return f"{ns:g} ns"


def _whole(values):
    """Times as the clock has them: whole ns, and 1 at least."""
    return np.clip(np.rint(values), 1, LONGEST_NS).astype(np.int64)


def _checked_ns(idles, *names):
    for name in names:
        object.__setattr__(idles, name, as_number(getattr(idles, name), name, low=1, high=LONGEST_NS))


def _checked_share(idles, name):
    value = getattr(idles, name)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} = {value!r}: must be a number, 0 .. 1")
    if not 0 <= value <= 1:
        raise ValueError(f"{name} = {value}: must be 0 .. 1")
    object.__setattr__(idles, name, float(value))


def _jittered(period_ns, jitter, rng, n):
    return _whole(rng.normal(period_ns, jitter * period_ns, n))


@dataclass(frozen=True)
class Timer:
    """A timer, which the governor knows of: the idle lasts as long as it was told.

    Parameters
    ----------
    period_ns : int
        The mean of the idles, 1 ns .. 2^52 ns.
    jitter : float
        Each idle is an independent Gaussian draw whose standard deviation is this share of the mean, 0 .. 1;
        at least 1 ns.

    Examples
    --------
    >>> idles = Timer(4_000_000, jitter=0)
    >>> idles.label, [each.tolist() for each in idles.draw(np.random.default_rng(0), 2)]
    ('timer 4 ms, jitter 0 %', [[4000000, 4000000], [4000000, 4000000]])
    """

    period_ns: int
    jitter: float = 0.01
    kind: ClassVar[str] = "timer"

    def __post_init__(self):
        _checked_ns(self, "period_ns")
        _checked_share(self, "jitter")

    @property
    def label(self):
        return f"timer {duration(self.period_ns)}, jitter {100 * self.jitter:.4g} %"

    def draw(self, rng, n):
        """``sleep_ns`` and ``wake_ns`` of n idles."""
        length = _jittered(self.period_ns, self.jitter, rng, n)
        return length, length


@dataclass(frozen=True)
class Interrupts:
    """A device that interrupts periodically, long before the next timer, of which alone the governor knows.

    Parameters
    ----------
    period_ns : int
        The mean of the idles, 1 ns .. 2^52 ns.
    jitter : float
        As for `Timer`.
    timer_ns : int
        The time to the next timer, the same at each idle; it wakes the CPU if it is the first to come.
    """

    period_ns: int
    jitter: float = 0.01
    timer_ns: int = 250 * MS
    kind: ClassVar[str] = "interrupts"

    def __post_init__(self):
        _checked_ns(self, "period_ns", "timer_ns")
        _checked_share(self, "jitter")

    @property
    def label(self):
        return f"interrupts every {duration(self.period_ns)}, jitter {100 * self.jitter:.4g} %"

    def draw(self, rng, n):
        """``sleep_ns`` and ``wake_ns`` of n idles."""
        length = np.minimum(_jittered(self.period_ns, self.jitter, rng, n), self.timer_ns)
        return np.full(n, self.timer_ns, np.int64), length


@dataclass(frozen=True)
class LogUniform:
    """Timers of every order of magnitude, each as likely as the other.

    Parameters
    ----------
    low_ns, high_ns : int
        The range of the timers, 1 ns .. 2^52 ns.
    early : float
        The probability that something else wakes the CPU before, log-uniform from ``low_ns`` to the timer.
    """

    low_ns: int = US
    high_ns: int = 100 * MS
    early: float = 0.0
    kind: ClassVar[str] = "log-uniform"
    period_ns: ClassVar[None] = None

    def __post_init__(self):
        _checked_ns(self, "low_ns", "high_ns")
        if self.low_ns > self.high_ns:
            raise ValueError(f"high_ns = {self.high_ns}: must be low_ns = {self.low_ns} at least")
        _checked_share(self, "early")

    @property
    def label(self):
        woken = f", {100 * self.early:.4g} % woken early" if self.early else ""
        return f"log-uniform {duration(self.low_ns)} .. {duration(self.high_ns)}{woken}"

    def draw(self, rng, n):
        """``sleep_ns`` and ``wake_ns`` of n idles."""
        low = np.log(self.low_ns)
        timer = _whole(np.exp(rng.uniform(low, np.log(self.high_ns), n)))
        if not self.early:
            return timer, timer
        woken = _whole(np.exp(rng.uniform(low, np.log(timer), n)))
        return timer, np.where(rng.random(n) < self.early, np.minimum(woken, timer), timer)


@dataclass(frozen=True)
class Exponential:
    """Interrupts without memory, and the tick or another timer if it comes first.

    Parameters
    ----------
    mean_ns : int
        The mean time to the next interrupt, 1 ns .. 2^52 ns.
    tick_ns : int, optional
        The tick's period: the idle begins anywhere between two of them. None: there is no tick, the next
        timer is log-uniform, 1 ms .. 1 s.
    """

    mean_ns: int
    tick_ns: int | None = 4 * MS
    kind: ClassVar[str] = "exponential"
    period_ns: ClassVar[None] = None

    def __post_init__(self):
        _checked_ns(self, "mean_ns", *([] if self.tick_ns is None else ["tick_ns"]))

    @property
    def label(self):
        tick = "no tick" if self.tick_ns is None else f"tick {duration(self.tick_ns)}"
        return f"exponential {duration(self.mean_ns)}, {tick}"

    def draw(self, rng, n):
        """``sleep_ns`` and ``wake_ns`` of n idles."""
        if self.tick_ns is None:
            timer = _whole(np.exp(rng.uniform(np.log(MS), np.log(SECOND), n)))
        else:
            timer = rng.integers(1, self.tick_ns, n, endpoint=True)
        return timer, np.minimum(_whole(rng.exponential(self.mean_ns, n)), timer)


#: What a CPU may be idle for: timers at the rates that kernels and frames have, periodic interrupts, and
#: idles of every length.
MIXES = (
    *(Timer(period * MS, jitter) for period in (1, 4, 10, 16) for jitter in (0.001, 0.01, 0.05)),
    *(Interrupts(period * US) for period in (50, 205, 210, 405, 605, 810, 1000, 4500, 5100)),
    LogUniform(),
    LogUniform(early=0.5),
    *(Exponential(mean * US) for mean in (50, 200, 1000, 5000, 20_000)),
    *(Exponential(mean * US, tick_ns=None) for mean in (50, 200, 1000, 5000, 20_000)),
)

#: One of each kind, where there are many governors to look at.
FEW_MIXES = (
    Timer(4 * MS),
    Interrupts(MS),
    LogUniform(early=0.5),
    Exponential(MS),
    Exponential(5 * MS),
)
