# SPDX-License-Identifier: GPL-2.0-only
"""A governor over whole traces of idles."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from schedpy import _core
from schedpy import kernel as kernels
from schedpy._coerce import as_bool, as_choices, as_int, as_number
from schedpy._threads import in_threads
from schedpy.cpuidle.forms import form_of, new_state, rows_of
from schedpy.cpuidle.idles import check_taken, event_columns, residency_of, tick_nsec
from schedpy.cpuidle.table import IdleTable

__all__ = ["Choices", "get_typical_interval", "run"]

# What the core writes, in its order: the first nine words, two rows of words per idle, bools.
_COLUMNS = (
    "selected",
    "predicted",
    "bucket",
    "correction_factor",
    "typical_interval",
    "total",
    "poll_limit",
    "measured",
    "last_residency",
    "hits",
    "intercepts",
    "stop_tick",
)
_PER_STATE = ("hits", "intercepts")
# A fraction of a second.
_IDLES_PER_PIECE = 1 << 22
# As the core counts them.
_RESIDENCIES = ("ns", "div1000", "shr10")


@dataclass(frozen=True, eq=False)
class Choices:
    """What `run` returns.

    ``history`` maps each field to an array of shape (..., n), one entry for each idle; the fields are
    attributes too. ``state`` is the governor after the last idle, fit to be passed on.
    """

    history: Mapping[str, np.ndarray]
    state: np.ndarray

    def __getattr__(self, name):
        history = self.__dict__.get("history", {})
        if name in history:
            return history[name]
        raise AttributeError(f"{name!r} is not in this history: it has {', '.join(history)}")

    def __dir__(self):
        return [*super().__dir__(), *self.history]


def run(
    table,
    *,
    kernel,
    governor="menu",
    sleep_ns=None,
    wake_ns=None,
    measured_ns=None,
    latency_us=2_000_000_000,
    residency=None,
    delta_tick_ns=None,
    tick_stopped=None,
    got_tick=None,
    poll_time_limit=None,
    nr_iowaiters=None,
    cpu_load=None,
    disabled=None,
    hz=None,
    state=None,
    fields=None,
    threads=1,
):
    """A cpuidle governor through traces of idles: the state it selects for each.

    All arrays broadcast; the last axis is time, leading axes are streams, each with a governor of its own.
    Nothing that is broadcast is expanded in memory.

    Parameters
    ----------
    table : IdleTable
        The CPU's states.
    kernel : str
        menu and ladder: ``"4.7"`` (that is 4.7.4), ``"6.1"`` (6.1.192), ``"6.19"``; teo: ``"6.1"``
        (6.1.192), ``"6.19"``; haltpoll: any release of 6.1 and 6.19.
    governor : {"menu", "teo", "ladder", "haltpoll"}
        haltpoll polls in state 0 and halts in state 1; the table's other states are not used.
    sleep_ns : array_like of int, shape (..., n)
        The time to the next timer at each select in ns, signed 64 bit: tick_nohz_get_sleep_length(). ladder
        and haltpoll do not look at it and can do without.
    wake_ns : array_like of int, optional
        How long each idle lasted until the CPU was woken. What is measured is that and the exit latency of
        the state selected. Without it and ``measured_ns`` the timer wakes: it is ``sleep_ns``.
    measured_ns : array_like of int, optional
        Instead of ``wake_ns``, what was measured, as recorded; it stays whatever state is selected. Signed
        64 bit: a clock may go backwards.
    latency_us : array_like of int
        The PM QoS limit of the exit latency, 0 .. 2147483647. The default is no limit.
    residency : {"div1000", "shr10", "ns"}, optional
        How what was measured reaches the governor. "div1000": ns / 1000, what 4.7 does. "shr10": ns >> 10,
        what the mail of 2016 had it do. "ns": unconverted, as from 5.5 on; refused for 4.7. 6.x takes the two
        conversions as well and has them as ns again: (ns / 1000) * 1000, (ns >> 10) * 1000.
        None: what that kernel does.
    delta_tick_ns : array_like of int, optional
        menu and teo of 6.x: the time to the next tick at select, what tick_nohz_get_sleep_length() stores
        through its pointer. None: as if a tick had just been, the shorter of ``sleep_ns`` and a tick;
        ``sleep_ns`` where the tick is stopped.
    tick_stopped : array_like of bool, optional
        menu and teo of 6.x: whether the tick was stopped already at select. None: it was not.
    got_tick : array_like of bool, optional
        menu and teo of 6.x: whether the tick woke the CPU (tick_nohz_idle_got_tick() at reflect). None: it
        did not.
    poll_time_limit : array_like of bool, optional
        menu, teo and haltpoll of 6.x: whether polling gave up (dev->poll_time_limit at reflect). None: it did
        not.
    nr_iowaiters : array_like of int, optional
        menu of 4.7 and 6.1: tasks of the CPU that wait for I/O, 0 .. 10^8. None: 0.
    cpu_load : array_like of int, optional
        menu of 4.7: the run queue's load in 1/2048, 0 .. 2^36. None: 0.
    disabled : array_like of bool, shape (..., states), optional
        States that are switched off, for each stream; haltpoll does not look at it. None: none is.
    hz : int, optional
        menu and teo of 6.x: ticks a second, 12 .. 12287; required, since they compare with a tick.
    state : structured array, optional
        The governors before the first idle, from `initial_state` or a run before; broadcasts with the leading
        axes. It is not modified. None: they have seen nothing yet.
    fields : tuple of str, optional
        Which of the fields below to return. None: all but ``hits`` and ``intercepts``.
    threads : int
        Leading axes are split over so many threads; one stream has one.

    Returns
    -------
    Choices
        ``history``: field -> array of shape (..., n), int64 but for ``stop_tick``; and ``state``.

        selected
            The index of the state.
        predicted
            menu and teo: what the state was selected by, us for 4.7, ns for 6.x. menu of 4.7 leaves the last
            one where the latency limit is 0; of 6.1, -1 where it had no need to predict. teo: 2^63 - 1 where
            6.19 did not read the timer.
        stop_tick
            6.x: whether the tick is to be stopped (bool).
        bucket, correction_factor_of_bucket
            menu: the bucket of the timer's order of magnitude and its factor after select, 8192 = 1.0.
        typical_interval_us
            menu: that of its eight intervals after select, 4294967295 if there is none; 6.1: whatever was
            predicted.
        total
            teo: the sum of all its metrics after select.
        hits, intercepts
            teo: the metrics of each state after select, shape (..., n, states).
        poll_limit_ns
            haltpoll: how long it would poll, after select.
        measured_ns
            What was measured.
        last_residency_us, last_residency_ns
            What the governor is told of it, by the kernel's unit.

    Raises
    ------
    ValueError
        A value out of range, shapes that do not broadcast, a kernel that is not proven, an argument or a
        field that the kernel's governor does not have, a state that it cannot be in.
    TypeError
        Something else than integers, or an argument missing.

    Notes
    -----
    drivers/cpuidle/governors/menu.c and ladder.c of 4.7.4, menu.c and teo.c of 6.1.192 and 6.19. Every select
    is followed by a reflect of the state that was selected: a driver that enters another one, or none, is not
    followed. teo of 6.1 compares the time from select to reflect with the timer; here that is what was
    measured.

    ladder of 6.x and haltpoll have no known answers: they agree with a plain twin in Python, written from the
    same description. So it is for the others where no known answer of the kernel's own functions tells:
    a latency limit of 0, disabled states, residencies and sleep lengths that are 0 or negative in 6.x,
    menu's default state of 4.7 at its border and under load, and lengths that equal a tick.

    Examples
    --------
    A timer every 4 ms on a little core whose deep state pays from 3.934 ms on: after eight idles the
    division has learnt that, the shift has not.

    >>> from schedpy import cpuidle
    >>> table = cpuidle.IdleTable.load("sm8150_little")
    >>> timer = [4_000_000] * 12
    >>> cpuidle.run(table, kernel="4.7", governor="menu", sleep_ns=timer).selected.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    >>> cpuidle.run(table, kernel="4.7", governor="menu", sleep_ns=timer, residency="shr10").selected.tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    """
    if not isinstance(table, IdleTable):
        raise TypeError(f"table is {type(table).__name__}: must be an IdleTable")
    form = form_of(governor, kernel)
    if governor == "haltpoll" and len(table) < 2:
        raise ValueError("table has one state: haltpoll polls in state 0 and halts in state 1")
    given = {
        "delta_tick_ns": delta_tick_ns,
        "tick_stopped": tick_stopped,
        "got_tick": got_tick,
        "poll_time_limit": poll_time_limit,
        "nr_iowaiters": nr_iowaiters,
        "cpu_load": cpu_load,
        "disabled": disabled,
        "hz": hz,
    }
    check_taken(form, given, kernel)
    tick = tick_nsec(form, hz)
    how = _RESIDENCIES.index(residency_of(form, residency, kernel))
    lengths = {"sleep_ns": sleep_ns, "wake_ns": wake_ns, "measured_ns": measured_ns}
    events = event_columns(form, lengths, latency_us, given)
    fields = tuple(form.fields) if fields is None else as_choices(fields, "fields", form.all_fields)
    threads = as_number(threads, "threads", low=1)
    before = rows_of(new_state(form, table) if state is None else state, form)
    off = _disabled(disabled, len(table))

    shape = _shape(events, {"state": before, "disabled": off})
    columns = tuple(np.broadcast_to(column, shape) for column in events.values())
    off = np.broadcast_to(off, (*shape[:-1], len(table)))
    rows = np.empty((*shape[:-1], before.shape[-1]), np.uint64)
    rows[...] = before
    history = {name: _empty(form.all_fields[name], shape, len(table)) for name in fields}
    by_column = {form.all_fields[name]: array for name, array in history.items()}
    function = partial(
        _core.idle_run,
        form.in_core,
        _in_units(table, form),
        table.first,
        how,
        measured_ns is None,
        delta_tick_ns is None,
        tick,
    )
    _walk(function, off, rows, columns, tuple(by_column.get(name) for name in _COLUMNS), threads)
    return Choices(history, rows.view(form.state)[..., 0])


def _disabled(disabled, n):
    off = as_bool(False if disabled is None else disabled, "disabled")
    if off.ndim == 0 and disabled is None:
        return np.zeros(n, bool)
    if off.ndim == 0 or off.shape[-1] != n:
        raise ValueError(f"disabled has shape {off.shape}: must be (..., {n}), one for each state")
    return off


def _shape(events, streams):
    """Of the idles: (..., n). ``streams``: arrays whose last axis is another one."""
    shapes = {name: array.shape for name, array in events.items()}
    if not any(shapes.values()):
        raise ValueError("sleep_ns, wake_ns or measured_ns must have an axis of time, shape (..., n)")
    shapes |= {name: (*array.shape[:-1], 1) for name, array in streams.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if any(n != 1 for n in shape))
        raise ValueError(f"shapes do not broadcast: {text}") from None


def _empty(column, shape, n):
    if column in _PER_STATE:
        return np.empty((*shape, n), np.int64)
    return np.empty(shape, bool if column == "stop_tick" else np.int64)


def _in_units(table, form):
    """Exit latency, target residency and whether it polls of each state."""
    times = np.stack([table.exit_latency_us, table.target_residency_us], axis=1).astype(np.int64)
    return np.column_stack([times * form.units_per_us, table.polling.astype(np.int64)])


def _walk(function, off, rows, columns, outputs, threads):
    """One call, or several over slices of the longest leading axis."""
    leading = columns[0].shape[:-1]

    def run_part(part):
        mine = tuple(column[part] for column in columns)
        out = tuple(output if output is None else output[part] for output in outputs)
        function(off[part], rows[part], mine, out)

    if threads > 1:
        # Without an idle: all states are checked before the first is touched.
        none = tuple(column[..., :0] for column in columns)
        function(off, rows, none, (None,) * len(outputs))
    # None too long: an interrupt has to wait for the pieces begun.
    in_threads(run_part, leading, threads, pieces=max(4 * threads, columns[0].size // _IDLES_PER_PIECE))


def get_typical_interval(intervals, *, kernel, predicted_us=None):
    """The typical one of eight intervals, as menu finds it.

    Parameters
    ----------
    intervals : array_like of int, shape (..., 8)
        In us, unsigned 32 bit; their order does not matter.
    kernel : str
        ``"4.7"``, ``"6.1"`` or ``"6.19"``.
    predicted_us : array_like of int, optional
        6.1 alone: nothing is typical where no interval is below it. None: 4294967295.

    Returns
    -------
    array of uint32
        The mean of those that are alike, in us; 4294967295 where too few are.

    Raises
    ------
    ValueError, TypeError
        Not eight integers of 32 bit, a kernel that is not proven, or ``predicted_us`` for another.

    Notes
    -----
    drivers/cpuidle/governors/menu.c of 4.7.4, 6.1.192 and 6.19. Up to 6.1 all that equal the largest are left
    out at once, so that a single outlier at the other end may be what is left.

    Examples
    --------
    >>> from schedpy import cpuidle
    >>> seven_and_a_five = [1000] * 7 + [5]
    >>> int(cpuidle.get_typical_interval(seven_and_a_five, kernel="4.7"))
    5
    >>> int(cpuidle.get_typical_interval(seven_and_a_five, kernel="6.19"))
    1000
    """
    version = kernels.form("cpuidle.menu", kernel)
    intervals = as_int(intervals, "intervals", np.uint32)
    if intervals.ndim == 0 or intervals.shape[-1] != 8:
        raise ValueError(f"intervals has shape {intervals.shape}: must be (..., 8)")
    if predicted_us is not None and version != "v6.1":
        raise ValueError(f"predicted_us: {kernel} does not look at it")
    predicted = as_int(2**32 - 1 if predicted_us is None else predicted_us, "predicted_us", np.uint32)
    try:
        return getattr(_core, f"typical_interval_{version.replace('.', '_')}")(intervals, predicted)
    except ValueError:
        raise ValueError(
            f"shapes do not broadcast: intervals {intervals.shape}, predicted_us {predicted.shape}"
        ) from None
