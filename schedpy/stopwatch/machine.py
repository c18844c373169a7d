# SPDX-License-Identifier: GPL-2.0-only
"""Which clocks this machine has, and how each is reached."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from schedpy import _core
from schedpy._coerce import as_choice

__all__ = ["Clock", "chosen", "clocks", "read"]

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


def chosen(names: str | Iterable[str] | None) -> dict[Clock, int | Callable[[], float]]:
    """The clocks of those names, all for None, and what the core reads each by."""
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
