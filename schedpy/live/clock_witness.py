# SPDX-License-Identifier: GPL-2.0-only
"""What the running kernel prints of its clocks, against the arithmetic of `schedpy.clock`."""

import ctypes
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from schedpy import clock
from schedpy._coerce import as_number
from schedpy._tables import html_table, text_table
from schedpy.live import clock_texts

__all__ = ["ClockLine", "ClockReport", "clocks"]

EQUAL, DIFFERS, NOT_SHOWN = "equal", "differs", "not shown on this machine"

_TIMER_LIST = "/proc/timer_list"
_U64 = 2**64 - 1
_NANOSECONDS = 10**9

#: Rates that the kernel's sources fix, in Hz.
_FIXED = {"kvm-clock": 10**9, "xen": 10**9, "acpi_pm": 3_579_545, "pit": 1_193_182}
#: The clocksource whose rate a clock event device shares, a divisor, its shortest and longest time in ticks.
#: What the sources of arm64 allow at most was less in some versions: the alternatives are tried in turn.
_EVENTS = {
    "lapic-deadline": ("tsc", 8, 0xF, (_U64,)),
    "arch_sys_timer": ("arch_sys_counter", 1, 0xF, (2**56 - 1, 2**31 - 1)),
    "arch_mem_timer": ("arch_sys_counter", 1, 0xF, (2**56 - 1, 2**31 - 1)),
    "pit": ("pit", 1, 0xF, (0x7FFF,)),
}
_JIFFIES_SHIFT = 8
_TICK_RATES = (100, 250, 300, 1000, 24, 48, 128, 200, 256, 500, 512, 1024, 1200)


@dataclass(frozen=True)
class ClockLine:
    """One figure that the kernel prints.

    Attributes
    ----------
    where : str
        The boot log, or a file.
    what : str
        Which figure of it.
    printed, ours : int or None
        The kernel's and what `schedpy.clock` computes; None where there is none.
    verdict : str
        "equal", "differs" or "not shown on this machine".
    why : str
        What ours is computed from; or what is missing.
    """

    where: str
    what: str
    printed: int | None
    ours: int | None
    verdict: str
    why: str


@dataclass(frozen=True)
class ClockReport:
    """What `clocks` found.

    Attributes
    ----------
    release : str
        The running kernel's, "" where texts of another were given.
    lines : tuple of ClockLine
    """

    release: str
    lines: tuple[ClockLine, ...]

    def _count(self, verdict):
        return sum(line.verdict == verdict for line in self.lines)

    @property
    def equal(self):
        """How many figures are equal."""
        return self._count(EQUAL)

    @property
    def differs(self):
        """How many figures differ."""
        return self._count(DIFFERS)

    @property
    def not_shown(self):
        """How many figures are not shown, or cannot be computed from what is."""
        return self._count(NOT_SHOWN)

    def _rows(self):
        for line in self.lines:
            form = "#x" if line.what.endswith("max_cycles") else "d"
            printed, ours = ("" if x is None else format(x, form) for x in (line.printed, line.ours))
            verdict = f"{line.verdict} ({line.why})" if line.verdict == NOT_SHOWN else line.verdict
            yield line.where, line.what, printed, ours, verdict, "" if verdict != line.verdict else line.why

    def _caption(self):
        kernel = f"Clocks of {self.release}" if self.release else "Clocks of the texts given"
        return (
            f"{kernel}: {len(self.lines)} figures, {self.equal} equal, {self.differs} differ, "
            f"{self.not_shown} not shown"
        )

    def __str__(self):
        head = ("where", "figure", "printed", "ours", "verdict", "ours is of")
        return "\n".join([self._caption(), *text_table([head, *self._rows()], left=(0, 1, 4, 5))])

    def _repr_html_(self):
        head = ("where", "figure", "printed", "ours", "verdict", "ours is of")
        return html_table(head, self._rows(), self._caption())


def clocks(*, boot_log=None, timer_list=None, hz=None):
    """Hold what the running kernel prints of its clocks against our arithmetic.

    Parameters
    ----------
    boot_log, timer_list : str or path, optional
        Files with a boot log and with /proc/timer_list of another machine, to be looked at instead. What is
        not given then is not looked at.
    hz : int, optional
        The tick rate, for the clocksource jiffies. None: counted in /proc/timer_list for a third of a second.

    Returns
    -------
    ClockReport
        ``max_cycles`` and ``max_idle_ns`` of each clocksource of the boot log, and its lines on sched_clock;
        ``mult``, ``shift``, ``min_delta_ns`` and ``max_delta_ns`` of each clock event device in
        /proc/timer_list; the fields of /proc/PID/sched in ns. Each is "equal", "differs", or "not
        shown on this machine" with the reason.

    Raises
    ------
    OSError
        A file that was given cannot be read.
    ValueError
        It holds no such text.

    Notes
    -----
    What the log prints in hexadecimal is shown so.

    A rate comes from another line of the log or from the kernel's sources. Where the log cuts it off, the
    figures are equal if some rate of that range gives them all, and ours is then of the first that does; the
    wider the range, the less this proves.

    min_delta_ns and max_delta_ns are computed from the mult and shift that the kernel printed. It may raise
    min_delta_ns while it runs. Of the devices known here lapic-deadline is proved by a running kernel; the
    limits in ticks of the others were not seen at work.

    /proc/PID/sched prints nanoseconds as milliseconds with six digits. Only se.sum_exec_runtime is printed
    as a whole elsewhere, in /proc/PID/schedstat; it is read of a task that sleeps.

    Examples
    --------
    >>> from schedpy import live
    >>> report = live.clocks()
    >>> report.equal + report.differs + report.not_shown == len(report.lines)
    True
    """
    hz = None if hz is None else as_number(hz, "hz", low=1, high=10_000)
    if boot_log is None and timer_list is None:
        log, timers = _attempt(_boot_log), _attempt(lambda: _read(_TIMER_LIST))
        lines = (*_of_log(log, hz or _counted_hz()), *_of_timers(timers, log), *_of_sched())
        return ClockReport(os.uname().release, lines)
    log = None if boot_log is None else _given(boot_log, "boot_log")
    timers = None if timer_list is None else _given(timer_list, "timer_list")
    compared: list[ClockLine] = []
    if log is not None:
        if not (clock_texts.clocksources(log) or clock_texts.sched_clocks(log)):
            raise ValueError(f"boot_log: {os.fspath(boot_log)} has no line on a clocksource or sched_clock")
        compared += _of_log(log, hz)
    if timers is not None:
        if "Clock Event Device" not in timers:
            raise ValueError(f"timer_list: {os.fspath(timer_list)} has no clock event device")
        compared += _of_timers(timers, log or _Absent("no boot log was given"))
    return ClockReport("", tuple(compared))


# ---- the texts


class _Absent(str):
    """No text; in words why."""


def _attempt(read):
    try:
        return read()
    except OSError as error:
        return _Absent(str(error))


def _read(path):
    return Path(path).read_text(encoding="utf-8", errors="replace")


def _given(path, name):
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, not {type(path).__name__}")
    return _read(path)


def _boot_log():
    """The kernel's ring buffer by klogctl(3)."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = libc.klogctl(10, None, 0)
    room = ctypes.create_string_buffer(max(size, 0) + 1)
    length = libc.klogctl(3, room, size) if size > 0 else -1
    if length < 0:
        raise OSError(f"the boot log may not be read: {os.strerror(ctypes.get_errno())}")
    return room.raw[:length].decode("utf-8", errors="replace")


def _counted_hz():
    """HZ by two looks at the jiffies of /proc/timer_list; None where that does not tell."""
    looks = []
    for _ in range(2):
        text = _attempt(lambda: _read(_TIMER_LIST))
        if isinstance(text, _Absent) or (look := clock_texts.jiffies_at(text)) is None:
            return None
        looks.append(look)
        if len(looks) == 1:
            time.sleep(1 / 3)
    (start_ns, first), (end_ns, last) = looks
    if end_ns <= start_ns:
        return None
    rate = (last - first) * _NANOSECONDS / (end_ns - start_ns)
    nearest = min(_TICK_RATES, key=lambda hz: abs(hz - rate))
    return nearest if abs(nearest - rate) < 0.08 * nearest else None


# ---- the boot log


def _compared(where, what, printed, ours, why):
    ours = int(ours)
    return ClockLine(where, what, printed, ours, EQUAL if ours == printed else DIFFERS, why)


def _missing(where, what, why, printed=None):
    return ClockLine(where, what, printed, None, NOT_SHOWN, why)


def _of_log(log, hz):
    if isinstance(log, _Absent):
        yield _missing("boot log", "clocksources", log)
        yield _missing("boot log", "sched_clock", log)
        return
    sources = clock_texts.clocksources(log)
    if not sources:
        yield _missing("boot log", "clocksources", "no such line; the log may have lost its beginning")
    for printed in sources:
        yield from _of_source(printed, log, hz)
    yield from _of_sched_clock(log)


def _of_source(printed, log, hz):
    ours, why = _computed_source(printed, log, hz)
    for figure in ("max_cycles", "max_idle_ns"):
        name, value = f"{printed.name} {figure}", getattr(printed, figure)
        if ours is None:
            yield _missing("boot log", name, why, value)
        else:
            yield _compared("boot log", name, value, ours[figure], why)


def _computed_source(printed, log, hz):
    """({"max_cycles", "max_idle_ns"} or None, of what)."""
    if printed.name in ("jiffies", "refined-jiffies"):
        if hz is None:
            return None, "HZ is not told: hz= gives it"
        mult = _jiffies_mult(hz) if printed.name == "jiffies" else _refined_jiffies_mult(hz)
        most = clock.clocks_calc_max_nsecs(mult, _JIFFIES_SHIFT, mult * 11 // 100, printed.mask)
        return {"max_cycles": int(most.max_cycles), "max_idle_ns": int(most.max_nsecs)}, f"HZ = {hz}"
    rate = _rate_of(printed.name, log)
    if rate is None:
        return None, f"the log does not tell the rate of {printed.name}"
    scale = 1000 if printed.name.startswith("tsc") else 1
    candidates = np.arange(rate.low_hz // scale, rate.high_hz // scale + 1)
    every = clock.clocksource_update_freq_scale(scale, candidates, printed.mask)
    fits = (every.max_cycles == printed.max_cycles) & (every.max_idle_ns == printed.max_idle_ns)
    return _first_fit(every, fits, ("max_cycles", "max_idle_ns"), rate, candidates * scale)


def _first_fit(every, fits, figures, rate, hz):
    """The figures by the first rate that fits all, else by the first of all; and of what they are."""
    at = int(np.argmax(fits))
    why = f"{hz[at]} Hz, {rate.line}"
    return {figure: int(getattr(every, figure)[at]) for figure in figures}, why


def _rate_of(name, log):
    if name in _FIXED:
        return clock_texts.Rate(_FIXED[name], _FIXED[name], "by the kernel's sources")
    return None if isinstance(log, _Absent) else clock_texts.rates(log).get(name)


def _jiffies_mult(hz):
    return (_NANOSECONDS + hz // 2) // hz << _JIFFIES_SHIFT


def _refined_jiffies_mult(hz, rate=_FIXED["pit"]):
    """The tick as the PIT's divider makes it: 8 more bits of its rate in Hz, and back to ns."""
    per_tick = (rate + hz // 2) // hz
    shifted = ((rate << 8) + per_tick // 2) // per_tick
    return ((_NANOSECONDS << 8) + shifted // 2) // shifted << _JIFFIES_SHIFT


def _rate_of_sched_clock(printed, log):
    """Of the line itself; of the architected timer's where that lies within."""
    timer = _rate_of("arch_sys_counter", log)
    if timer is not None and printed.low_hz <= timer.low_hz <= timer.high_hz <= printed.high_hz:
        return timer
    return clock_texts.Rate(printed.low_hz, printed.high_hz, "within what the line says")


def _of_sched_clock(log):
    generic, stable = clock_texts.sched_clocks(log), clock_texts.stable_clocks(log)
    if not generic and not stable:
        yield _missing("boot log", "sched_clock", "no such line; the log may have lost its beginning")
    for printed in generic:
        rate = _rate_of_sched_clock(printed, log)
        candidates = np.arange(rate.low_hz, rate.high_hz + 1)
        every = clock.sched_clock_register(printed.bits, candidates)
        fits = (every.resolution_ns == printed.resolution_ns) & (every.wrap_ns == printed.wrap_ns)
        ours, why = _first_fit(every, fits, ("resolution_ns", "wrap_ns"), rate, candidates)
        for figure, value in ours.items():
            yield _compared("boot log", f"sched_clock {figure}", getattr(printed, figure), value, why)
    for printed in stable:
        ours = printed.gtod_ns + printed.gtod_offset_ns - printed.raw_ns
        why = "the other three of the line: the clock goes on without a jump"
        yield _compared("boot log", "sched_clock offset where stable", printed.offset_ns, ours, why)


# ---- clock event devices


def _of_timers(timers, log):
    if isinstance(timers, _Absent):
        yield _missing(_TIMER_LIST, "clock event devices", timers)
        return
    devices = clock_texts.clock_events(timers)
    if not devices:
        yield _missing(_TIMER_LIST, "clock event devices", "it lists none")
    alike: dict = {}
    for device in devices:
        alike.setdefault((device.name, *_figures(device).values()), []).append(device)
    for same in alike.values():
        yield from _of_event(same[0], _place([device.cpu for device in same]), log)


def _figures(device):
    return {key: getattr(device, key) for key in ("mult", "shift", "min_delta_ns", "max_delta_ns")}


def _place(cpus):
    if cpus == [None]:
        return "broadcast"
    numbers = [cpu for cpu in cpus if cpu is not None]
    return f"CPU {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} CPUs"


def _of_event(device, place, log):
    name = f"{device.name} of {place}"
    known = _EVENTS.get(device.name)
    rate = None if known is None else _rate_of(known[0], log)
    for figure in ("mult", "shift"):
        printed = getattr(device, figure)
        if known is None:
            why = f"what {device.name} was registered with is not known here"
            yield _missing(_TIMER_LIST, f"{name} {figure}", why, printed)
        elif rate is None:
            why = log if isinstance(log, _Absent) else f"the log does not tell the rate of {known[0]}"
            yield _missing(_TIMER_LIST, f"{name} {figure}", why, printed)
        else:
            ours, why = _configured(device, known, rate)
            yield _compared(_TIMER_LIST, f"{name} {figure}", printed, ours[figure], why)
    for figure in ("min_delta_ns", "max_delta_ns"):
        printed = getattr(device, figure)
        if known is None:
            why = f"the limits of {device.name} in ticks are not known here"
            yield _missing(_TIMER_LIST, f"{name} {figure}", why, printed)
        else:
            yield _delta(device, known, figure, f"{name} {figure}")


def _configured(device, known, rate):
    _, divisor, least, most = known
    hz = np.arange(rate.low_hz // divisor, rate.high_hz // divisor + 1)
    every = [clock.clockevents_config(hz, least, ticks) for ticks in most]
    for one in every:
        fits = (one.mult == device.mult) & (one.shift == device.shift)
        if fits.any():
            return _first_fit(one, fits, ("mult", "shift"), rate, hz)
    return _first_fit(every[0], np.zeros(hz.size, bool), ("mult", "shift"), rate, hz)


def _delta(device, known, figure, name):
    """A limit in ns by the mult and shift that were printed."""
    _, _, least, most = known
    longest = figure == "max_delta_ns"
    ticks = most if longest else (least,)
    ours = [int(clock.cev_delta2ns(each, device.mult, device.shift, longest)) for each in ticks]
    printed = getattr(device, figure)
    at = ours.index(printed) if printed in ours else 0
    return _compared(_TIMER_LIST, name, printed, ours[at], f"{ticks[at]} ticks, mult and shift printed")


# ---- /proc/PID/sched

_SPLIT = re.compile(r"^([\w.>-]+)\s*:\s*(-?)(\d+)\.(\d{6})\s*$", re.M)
_WHOLE = "se.sum_exec_runtime"  # that schedstat prints too


def split_fields(text):
    """Fields printed as milliseconds with six digits: name -> ns.

    Examples
    --------
    >>> split_fields("se.vruntime                                  :            -1.000002")
    {'se.vruntime': -1000002}
    """
    return {
        name: (-1 if sign else 1) * (int(milliseconds) * 1_000_000 + int(rest))
        for name, sign, milliseconds, rest in _SPLIT.findall(text)
    }


def _of_sched():
    """The ns fields of a child that sleeps; one is in its schedstat too."""
    where = "/proc/PID/sched"
    command = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            next(iter(child.stdout or ()), None)
            found = _attempt(lambda: _when_asleep(f"/proc/{child.pid}"))
        finally:
            child.kill()
    if isinstance(found, _Absent):
        yield _missing(where, "nanoseconds", found)
        return
    fields, whole = found
    if not fields:
        yield _missing(where, "nanoseconds", "no such field")
    for name, ns in fields.items():
        if name == _WHOLE:
            yield _compared(where, name, whole, ns, "its two parts; /proc/PID/schedstat prints it whole")
        else:
            yield _missing(where, name, "no other file prints it whole", ns)


def _when_asleep(folder):
    """(ns fields of sched, run time by schedstat) of a task that does not run in between."""
    for _ in range(100):
        before = split_fields(_read(f"{folder}/sched"))
        whole = int(_read(f"{folder}/schedstat").split()[0])
        if before == split_fields(_read(f"{folder}/sched")):
            return before, whole
        time.sleep(0.01)
    raise OSError("the task did not fall asleep")
