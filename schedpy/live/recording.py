# SPDX-License-Identifier: GPL-2.0-only
"""What /proc/PID/sched shows of a task: one reading, and a recording of consecutive states."""

import contextlib
import errno
import gzip
import math
import os
import re
import threading
import time
import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from schedpy._coerce import as_number
from schedpy._files import written_whole

__all__ = ["READING", "Reading", "Recording", "read", "watch"]

#: What is read: our name, the kernel's names of it, and whether every kernel from 4.12 on prints it.
_PRINTED = (
    ("nr_switches", ("nr_switches",), True),
    ("nr_migrations", ("se.nr_migrations",), False),
    ("weight", ("se.load.weight",), True),
    ("load_sum", ("se.avg.load_sum",), True),
    ("runnable_sum", ("se.avg.runnable_sum", "se.avg.runnable_load_sum"), False),
    ("util_sum", ("se.avg.util_sum",), True),
    ("load_avg", ("se.avg.load_avg",), True),
    ("runnable_avg", ("se.avg.runnable_avg", "se.avg.runnable_load_avg"), False),
    ("util_avg", ("se.avg.util_avg",), True),
    ("last_update_time", ("se.avg.last_update_time",), True),
)

#: One entry of a recording: the fields of `Reading`, and ``reads``, how often this stamp was seen.
READING = np.dtype([(name, np.uint64) for name, _, _ in _PRINTED] + [("reads", np.uint64)])

_LINE = re.compile(rb"^([\w.]+)\s*:\s*(-?\d+)\s*$", re.M)
_RULER = b"-" * 20  # longer than a task's name, which may hold anything
_STAMP = b"se.avg.last_update_time"
_ROOM = 1 << 14  # bytes; the file has about 2000


@dataclass(frozen=True)
class Reading:
    """One look at /proc/PID/sched, in the kernel's integers.

    ``weight`` is the raw ``se.load.weight`` (nice 0 = 1048576). ``runnable_*`` is ``runnable_load_*`` of
    kernels 4.15 .. 5.6. None where the kernel does not print a field.
    """

    last_update_time: int
    load_sum: int
    runnable_sum: int | None
    util_sum: int
    load_avg: int
    runnable_avg: int | None
    util_avg: int
    weight: int
    nr_switches: int
    nr_migrations: int | None


def _path(pid):
    if pid == "self":
        return "/proc/thread-self/sched"
    return f"/proc/{as_number(pid, 'pid', low=1)}/sched"


def _values(data, path):
    """Field -> int or None of the text of one reading."""
    found = dict(_LINE.findall(data[max(data.find(_RULER), 0) :]))
    values = {}
    for name, spellings, required in _PRINTED:
        text = next((found[s] for s in map(str.encode, spellings) if s in found), None)
        if text is None and required:
            raise ValueError(
                f"{path}: no field {spellings[0]}: kernels from 4.12 on that are built for several CPUs "
                "(CONFIG_SMP) print it"
            )
        values[name] = None if text is None else int(text) % 2**64
    return values


@contextlib.contextmanager
def _opened(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        why = (
            "kernels built with CONFIG_SCHED_DEBUG have it"
            if os.path.isdir(Path(path).parent)
            else "no such task"
        )
        raise FileNotFoundError(errno.ENOENT, why, path) from None
    try:
        yield descriptor
    except ProcessLookupError:
        raise ProcessLookupError(errno.ESRCH, "the task has ended", path) from None
    finally:
        os.close(descriptor)


def read(pid="self"):
    """One reading of a task.

    Parameters
    ----------
    pid : int or "self"
        A task's number; "self" is the calling thread.

    Returns
    -------
    Reading

    Raises
    ------
    OSError
        The file is not there or may not be read; the message names it.
    ValueError
        It lacks a field; the message names both.

    Notes
    -----
    proc_sched_show_task() of kernel/sched/debug.c. A single reading may be torn: the stamp of an update, and
    values from before it. `watch` tells such readings by their successors.

    Examples
    --------
    >>> from schedpy import live
    >>> live.read().util_avg <= 1024  # doctest: +SKIP
    True
    """
    path = _path(pid)
    with _opened(path) as descriptor:
        return Reading(**_values(os.pread(descriptor, _ROOM, 0), path))


@dataclass(frozen=True, eq=False)
class Recording:
    """Consecutive states of one task.

    Attributes
    ----------
    readings : array of READING, shape (n,)
        One per time stamp, the last that was seen with it; in the order in which they were seen. A field
        that the kernel does not print is 0.
    pid : int
        The task's number.
    task : str
        Its name.
    seconds : float
        How long it was watched.
    reads : int
        How many readings were made.
    system, release, machine : str
        What uname says.
    hz : int or None
        CONFIG_HZ, where /proc/config.gz or /boot/config-RELEASE says it.
    """

    readings: np.ndarray
    pid: int
    task: str
    seconds: float
    reads: int
    system: str = field(default_factory=lambda: os.uname().sysname)
    release: str = field(default_factory=lambda: os.uname().release)
    machine: str = field(default_factory=lambda: os.uname().machine)
    hz: int | None = field(default_factory=lambda: _hz())

    def __str__(self):
        hz = "HZ unknown" if self.hz is None else f"HZ={self.hz}"
        return (
            f"{self.task} (pid {self.pid}) on {self.system} {self.release} {self.machine}, {hz}: "
            f"{len(self.readings)} states in {self.reads} readings of {self.seconds:.1f} s"
        )

    def save(self, path):
        """Write everything to a file (NumPy's npz); it is there complete or not at all."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["hz"] = 0 if self.hz is None else self.hz
        with written_whole(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **values)

    @classmethod
    def load(cls, path):
        """Read what `save` wrote.

        Raises
        ------
        ValueError
            The file is no such thing.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                values = {f.name: archive[f.name] for f in fields(cls)}
            readings = values.pop("readings")
            plain = {name: value.item() for name, value in values.items()}
        except (KeyError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: no recording of a task ({error})") from None
        if readings.dtype != READING or readings.ndim != 1:
            raise ValueError(
                f"{path}: no recording of a task ({readings.ndim}-d readings of {readings.dtype})"
            )
        return cls(readings, **{**plain, "hz": plain["hz"] or None})


def _hz():
    """CONFIG_HZ of the running kernel, None where it does not say."""
    for path, reader in (("/proc/config.gz", gzip.open), (f"/boot/config-{os.uname().release}", open)):
        try:
            with reader(path, "rb") as file:
                match = re.search(rb"^CONFIG_HZ=(\d+)$", file.read(), re.M)
        except OSError:
            continue
        if match:
            return int(match[1])
    return None


def check_seconds(seconds):
    if not isinstance(seconds, (int, float, np.number)) or isinstance(seconds, bool):
        raise TypeError(f"seconds = {seconds!r}: must be a number")
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds = {seconds!r}: must be a time above 0")


def _name(path):
    try:
        return Path(path).with_name("comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except OSError:
        return "a task"


def watch(pid="self", seconds=5):
    """Read a task's state in a tight loop: every update that leaves time for a reading is in the result.

    Parameters
    ----------
    pid : int or "self"
        A task's number. "self" is the calling thread, which spins by reading and so sees each tick of its
        own: nothing can be updated behind its back unless it is switched out. Another task has to be watched
        from another CPU.
    seconds : float
        How long. The recording ends early when the task does.

    Returns
    -------
    Recording
        About 1 KiB of memory for each update while it is made.

    Raises
    ------
    OSError, ValueError
        As for `read`.

    Notes
    -----
    A reading can be torn: one made in the middle of an update has the new stamp and old values. Of all
    readings with the same stamp the last is kept, and how often it was seen.

    Examples
    --------
    >>> from schedpy import live
    >>> print(live.verify(live.watch(seconds=5)))  # doctest: +SKIP
    """
    check_seconds(seconds)
    path = _path(pid)
    pread, clock = os.pread, time.monotonic
    kept: list[bytes] = []
    reads: list[int] = []
    with _opened(path) as descriptor:
        task = _name(path)
        last = None
        _values(pread(descriptor, _ROOM, 0), path)
        begin = now = clock()
        end = begin + seconds
        try:
            while now < end:
                data = pread(descriptor, _ROOM, 0)
                at = data.rfind(_STAMP)
                stamp = data[at : data.find(b"\n", at)]
                if stamp == last:
                    kept[-1] = data
                    reads[-1] += 1
                else:
                    kept.append(data)
                    reads.append(1)
                    last = stamp
                now = clock()
        except ProcessLookupError:
            if not kept:
                raise
        taken = clock() - begin
    readings = np.zeros(len(kept), READING)
    for row, data, count in zip(readings, kept, reads, strict=True):
        values = _values(data, path)
        for name, value in values.items():
            row[name] = value or 0
        row["reads"] = count
    return Recording(
        readings, threading.get_native_id() if pid == "self" else int(pid), task, taken, sum(reads)
    )
