# SPDX-License-Identifier: GPL-2.0-only
"""A polling state that gives up: how a shift by 10 keeps a CPU polling for the whole of a second.

On powernv the state "snooze" polls until the next state would have paid, its target residency of 100 us, and
gives up. The governor then looks at how long that took. If it sees less than the target residency, it takes
the idle for one that snooze is right for, and selects it again.
"""

import numpy as np
import pandas as pd

from schedpy import clock, cpuidle
from schedpy._coerce import as_int, as_number
from schedpy.lab.idle_draws import LONGEST_NS, SECOND
from schedpy.lab.idle_runs import loaded, name_of, residencies_of, run_args

__all__ = ["snooze"]

#: The trace has an idle for each time-out.
_MOST_IDLES = 1 << 24


def snooze(
    overshoot_ns=(50, 1000, 2300, 2400, 5000), *, table="powernv_p8", kernel="4.7", idle_ns=SECOND, hz=250
):
    """How long a CPU that is idle for a second polls, when polling gives up after so long.

    Nothing but a timer at the end of the second would wake the CPU. A state that polls ends after the target
    residency of the next state and an overshoot, since a loop looks at the clock now and then; any other
    lasts to the end. The governor is menu, and has seen nothing before.

    Parameters
    ----------
    overshoot_ns : array_like of int
        By how much polling exceeds its time-out, in ns.
    table : IdleTable, name or path
        Its first state is the one that polls.
    kernel : str
        As for `cpuidle.run`.
    idle_ns : int
        How long the CPU is idle.
    hz : int
        Ticks a second, for 6.x.

    Returns
    -------
    DataFrame
        One line per overshoot and conversion: ``overshoot_us``, ``residency``, ``seen_us`` (what the governor
        is told of one time-out), ``selections`` until the CPU sleeps or the time is over, ``polled_ms``, and
        ``state``, the one that it slept in, empty if it never did.

    Raises
    ------
    ValueError, TypeError
        A table of one state, or whose second one has no target residency; an argument out of range.

    Examples
    --------
    >>> snooze(1000)[["residency", "selections", "polled_ms", "state"]].values.tolist()
    [['div1000', 9, 0.808, 'nap'], ['shr10', 9901, 1000.0, '']]
    """
    (states,) = loaded([table])
    if len(states) < 2:
        raise ValueError(f"table {name_of(states)} has one state: a polling one gives way to another")
    overshoots = np.atleast_1d(
        as_int(overshoot_ns, "overshoot_ns", np.int64, low=0, high=LONGEST_NS, time=True)
    )
    whole = as_number(idle_ns, "idle_ns", low=1, high=LONGEST_NS)
    limit = 1000 * int(states.target_residency_us[1])
    if not limit:
        raise ValueError(
            f"table {name_of(states)}: its second state pays at once, polling ends before it began"
        )
    if whole // limit > _MOST_IDLES:
        raise ValueError(f"idle_ns = {whole}: must be {_MOST_IDLES} time-outs of {limit} ns at most")
    fixed = run_args(kernel, "menu", hz)
    lines = []
    for overshoot in overshoots.ravel().tolist():
        for how in residencies_of(kernel, "menu", None):
            lines.append(
                {"overshoot_us": overshoot / 1000, **_second(states, limit + overshoot, whole, how, fixed)}
            )
    return pd.DataFrame(lines)


def _seen_us(states, timeout, how):
    """What the governor is told of one time-out."""
    measured = timeout + 1000 * int(states.exit_latency_us[0])
    return measured / 1000 if how == "ns" else float(clock.cpuidle_residency(measured, how=how))


def _second(states, timeout, whole, how, fixed):
    """One CPU. Whatever it selects but state 0 ends the trace, so all before it is known: it polled."""
    begins = np.arange(0, whole, timeout, dtype=np.int64)
    left = whole - begins
    polled = np.minimum(timeout, left)
    run = cpuidle.run(states, sleep_ns=left, wake_ns=polled, residency=how, fields=("selected",), **fixed)
    sleeps = np.flatnonzero(run.selected)
    first = int(sleeps[0]) if len(sleeps) else None
    return {
        "residency": how,
        "seen_us": _seen_us(states, timeout, how),
        "selections": len(begins) if first is None else first + 1,
        "polled_ms": float(polled[:first].sum()) / 1e6,
        "state": "" if first is None else states.state[int(run.selected[first])],
    }
