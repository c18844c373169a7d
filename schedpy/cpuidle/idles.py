# SPDX-License-Identifier: GPL-2.0-only
"""What a CPU knows at each idle: the arguments of `run` as the columns that the core reads."""

import numpy as np

from schedpy._coerce import as_bool, as_choice, as_int, as_number

__all__ = ["check_taken", "event_columns", "residency_of", "tick_nsec"]

_RESIDENCIES = {"us": ("div1000", "shr10"), "ns": ("ns", "div1000", "shr10")}
#: PM QoS holds a latency in an int of us.
_LATENCY_MAX_US = 2**31 - 1
#: With both at their largest the performance multiplier of 4.7, an int, does not overflow.
_HIGHEST = {"nr_iowaiters": 10**8, "cpu_load": 2**36}
_FLAGS = ("tick_stopped", "got_tick", "poll_time_limit")


def check_taken(form, given, kernel):
    """Refuse what the governor does not look at; ``given``: argument -> value or None."""
    for name, value in given.items():
        if value is not None and name not in form.takes:
            raise ValueError(f"{name}: the {form.governor} governor of {kernel} does not look at it")


def tick_nsec(form, hz):
    """TICK_NSEC, 1 for a governor that has no use for it."""
    if "hz" not in form.takes:
        return 1
    if hz is None:
        raise TypeError(f"hz is missing: {form.governor} compares with the length of a tick")
    # The kernel's headers have a SHIFT_HZ for these alone.
    hz = as_number(hz, "hz", low=12, high=12287)
    return (10**9 + hz // 2) // hz


def residency_of(form, residency, kernel):
    """How what was measured reaches the governor."""
    allowed = _RESIDENCIES[form.unit]
    if residency is None:
        return allowed[0]
    as_choice(residency, "residency", _RESIDENCIES["ns"])
    if residency not in allowed:
        raise ValueError(f"residency = {residency!r}: {kernel} has microseconds, 'div1000' or 'shr10'")
    return residency


def event_columns(form, lengths, latency_us, given):
    """The columns of the core by our names, in the core's order.

    ``lengths``: sleep_ns, wake_ns and measured_ns; the last two are one column.
    """
    sleep, wake_name, wake = _lengths(form, **lengths)
    flags = {name: as_bool(_or(given[name], False), name) for name in _FLAGS}
    return {
        "sleep_ns": sleep,
        wake_name: wake,
        "latency_us": as_int(latency_us, "latency_us", np.int64, low=0, high=_LATENCY_MAX_US),
        "delta_tick_ns": as_int(_or(given["delta_tick_ns"], 0), "delta_tick_ns", np.int64, time=True),
        **{name: as_int(_or(given[name], 0), name, np.uint64, high=high) for name, high in _HIGHEST.items()},
        **flags,
    }


def _lengths(form, sleep_ns, wake_ns, measured_ns):
    if wake_ns is not None and measured_ns is not None:
        raise ValueError("wake_ns and measured_ns are both given: give one, the other follows from it")
    if sleep_ns is None and (form.reads_timer or wake_ns is measured_ns is None):
        raise TypeError("sleep_ns is missing: the time to the next timer at each idle")
    sleep = as_int(_or(sleep_ns, 0), "sleep_ns", np.int64, time=True)
    if measured_ns is not None:
        return sleep, "measured_ns", as_int(measured_ns, "measured_ns", np.int64, time=True)
    if wake_ns is not None:
        return sleep, "wake_ns", as_int(wake_ns, "wake_ns", np.int64, time=True)
    return sleep, "wake_ns", sleep


def _or(value, default):
    return default if value is None else value
