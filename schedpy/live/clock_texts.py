# SPDX-License-Identifier: GPL-2.0-only
"""What kernels print of their clocks, as columns: lines of the boot log, and /proc/timer_list."""

import re
from dataclasses import dataclass

__all__ = [
    "PrintedEvent",
    "PrintedSched",
    "PrintedSource",
    "Rate",
    "Stable",
    "clock_events",
    "clocksources",
    "jiffies_at",
    "rates",
    "sched_clocks",
    "stable_clocks",
]

# <6>[    0.244664] text
_PREFIX = r"^(?:<\d+>)?(?:\[[ \d.]+\](?:\[[ \w]+\])? ?)?"
_SOURCE = re.compile(
    _PREFIX + r"clocksource:? (?P<name>[^\s:]+): mask: (?P<mask>0x[0-9a-f]+) "
    r"max_cycles: (?P<max_cycles>0x[0-9a-f]+), max_idle_ns: (?P<max_idle_ns>\d+) ns\s*$",
    re.M,
)
_SCHED = re.compile(
    _PREFIX + r"sched_clock: (?P<bits>\d+) bits at (?P<rate>\d+)(?P<unit>[Mk]?)Hz, "
    r"resolution (?P<resolution_ns>\d+)ns, wraps every (?P<wrap_ns>\d+)ns\s*$",
    re.M,
)
_STABLE = re.compile(
    _PREFIX + r"sched_clock: Marking stable \((-?\d+), (-?\d+)\)->\((-?\d+), (-?\d+)\)\s*$", re.M
)

# What tells the rate of which clocksources: pattern of "<figure> <unit>Hz", and their names.
_RATES = (
    (r"tsc: Detected (\d+\.\d{3}) (M)Hz (?:processor|TSC)", ("tsc-early", "tsc")),
    (r"tsc: Refined TSC clocksource calibration: (\d+\.\d{3}) (M)Hz", ("tsc",)),
    (r"hpet\d+: \d+ comparators, \d+-bit (\d+\.\d{6}) (M)Hz counter", ("hpet",)),
    (r"(?:arch_timer|Architected).*? running at (\d+\.\d{2})(M)Hz", ("arch_sys_counter",)),
)
_HZ = {"": 1, "k": 1000, "M": 1_000_000}


@dataclass(frozen=True)
class PrintedSource:
    """A clocksource as the boot log has it."""

    name: str
    mask: int
    max_cycles: int
    max_idle_ns: int


@dataclass(frozen=True)
class PrintedSched:
    """The line of a sched_clock that counts ``bits`` bits; its rate is from ``low_hz`` to ``high_hz``."""

    bits: int
    low_hz: int
    high_hz: int
    resolution_ns: int
    wrap_ns: int


@dataclass(frozen=True)
class Stable:
    """Where sched_clock became stable: the time until then and its offset, then those of the raw clock."""

    gtod_ns: int
    gtod_offset_ns: int
    raw_ns: int
    offset_ns: int


@dataclass(frozen=True)
class Rate:
    """What a line of the log tells of a rate in Hz: it lies from ``low_hz`` to ``high_hz``."""

    low_hz: int
    high_hz: int
    line: str


@dataclass(frozen=True)
class PrintedEvent:
    """A clock event device of /proc/timer_list; ``cpu`` None: the one for broadcasts."""

    cpu: int | None
    name: str
    mult: int
    shift: int
    min_delta_ns: int
    max_delta_ns: int


def clocksources(log):
    """The clocksources of a boot log, in its order; of one that is there twice the last.

    Examples
    --------
    >>> line = "clocksource: kvm-clock: mask: 0xff max_cycles: 0x1c, max_idle_ns: 88 ns"
    >>> clocksources(f"[    0.000009] {line}")
    (PrintedSource(name='kvm-clock', mask=255, max_cycles=28, max_idle_ns=88),)
    """
    found = {}
    for line in _SOURCE.finditer(log):
        found[line["name"]] = PrintedSource(
            line["name"], int(line["mask"], 16), int(line["max_cycles"], 16), int(line["max_idle_ns"])
        )
    return tuple(found.values())


def sched_clocks(log):
    """The lines of a boot log on a generic sched_clock; its rate is cut to whole kHz or MHz.

    Examples
    --------
    >>> sched_clocks("sched_clock: 56 bits at 19MHz, resolution 52ns, wraps every 4398046511078ns")[0].high_hz
    19999999
    """
    return tuple(
        PrintedSched(
            int(line["bits"]),
            int(line["rate"]) * (unit := _HZ[line["unit"]]),
            (int(line["rate"]) + 1) * unit - 1,
            int(line["resolution_ns"]),
            int(line["wrap_ns"]),
        )
        for line in _SCHED.finditer(log)
    )


def stable_clocks(log):
    """The lines of a boot log on a sched_clock found stable.

    Examples
    --------
    >>> stable_clocks("sched_clock: Marking stable (40, 3)->(50, -7)")
    (Stable(gtod_ns=40, gtod_offset_ns=3, raw_ns=50, offset_ns=-7),)
    """
    return tuple(Stable(*map(int, line.groups())) for line in _STABLE.finditer(log))


def rates(log):
    """Rates of clocksources that other lines tell: name -> `Rate`. A figure ends where it was cut.

    Examples
    --------
    >>> rates("[    0.000059] tsc: Detected 2300.000 MHz processor")["tsc"].low_hz
    2300000000
    """
    found = {}
    for pattern, names in _RATES:
        for line in re.finditer(_PREFIX + r"(?P<line>.*?" + pattern + r".*)$", log, re.M):
            text, figure, unit = line.groups()
            whole, _, digits = figure.partition(".")
            step = _HZ[unit] // 10 ** len(digits)
            low = int(whole + digits) * step
            exact = "tsc" in names  # counted in kHz, none is cut
            found.update(dict.fromkeys(names, Rate(low, low if exact else low + step - 1, text)))
    return found


_HEAD = re.compile(r"^(?:Per CPU device: (\d+)|(Broadcast device))\s*$")
_NAME = re.compile(r"^Clock Event Device: (.+?)\s*$")
_FIGURE = re.compile(r"^ (max_delta_ns|min_delta_ns|mult|shift):\s+(\d+)\s*$")


def clock_events(timer_list):
    """The clock event devices of /proc/timer_list in its order: of each CPU, and for broadcasts.

    Raises
    ------
    ValueError
        A device lacks a figure.
    """
    found = []
    place = None
    figures: dict = {}
    for number, line in enumerate(timer_list.splitlines(), 1):
        if head := _HEAD.match(line):
            place = (None if head[2] else int(head[1]),)
        elif (name := _NAME.match(line)) and place is not None:
            figures = {} if name[1] == "<NULL>" else {"cpu": place[0], "name": name[1], "line": number}
            place = None
        elif (figure := _FIGURE.match(line)) and figures:
            figures[figure[1]] = int(figure[2])
        elif figures and not line.startswith(" "):
            found.append(_event(figures))
            figures = {}
    if figures:
        found.append(_event(figures))
    return tuple(found)


def _event(figures):
    line = figures.pop("line")
    for key in ("mult", "shift", "min_delta_ns", "max_delta_ns"):
        if key not in figures:
            raise ValueError(f"timer_list, line {line}: {figures['name']} has no {key}")
    return PrintedEvent(**figures)


def jiffies_at(timer_list):
    """(now in ns, jiffies) of /proc/timer_list, None where it lacks them: two of these tell HZ.

    Examples
    --------
    >>> jiffies_at("now at 5000 nsecs\\n\\njiffies: 77\\n")
    (5000, 77)
    """
    now = re.search(r"^now at (\d+) nsecs$", timer_list, re.M)
    jiffies = re.search(r"^jiffies: (\d+)$", timer_list, re.M)
    return (int(now[1]), int(jiffies[1])) if now and jiffies else None
