# SPDX-License-Identifier: GPL-2.0-only
"""The update over streams of events and over arrays of entities."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_bool, as_choice, as_choices, as_int, as_number
from schedpy.pelt.state import FIELDS, STATE, broadcast_shape, rows_of
from schedpy.pelt.tables import table_and_max

__all__ = ["Track", "track", "update"]

_HISTORY = (*FIELDS, "load_now", "runnable_now", "util_now", "updated")


@dataclass(frozen=True)
class _Form:
    """What the update of a range of kernels takes beside weight and flags."""

    suffix: str
    capacity_scale: bool = False
    runnable_weight: bool = False
    nr_running: bool = False


_FORMS = {
    "P412": _Form("v4_12", capacity_scale=True),
    "P413": _Form("v4_13", capacity_scale=True),
    "P414": _Form("v4_14", capacity_scale=True),
    "P415": _Form("v4_15", capacity_scale=True, runnable_weight=True),
    "P51": _Form("v5_1", runnable_weight=True),
    "P61": _Form("v5_7", nr_running=True),
}


_FORMS = {
    "P412": _Form("v4_12", capacity_scale=True),
    "P413": _Form("v4_13", capacity_scale=True),
    "P414": _Form("v4_14", capacity_scale=True),
    "P415": _Form("v4_15", capacity_scale=True, runnable_weight=True),
    "P51": _Form("v5_1", runnable_weight=True),
    "P61": _Form("v5_7", nr_running=True),
}


@dataclass(frozen=True, eq=False)
class Track:
    """What `track` returns.

    ``history`` maps each field asked for to an array of shape (..., n), the value after each event; the
    fields are attributes too. ``state`` is the state after the last event, fit to be passed on.
    """

    history: Mapping[str, np.ndarray]
    state: np.ndarray

    def __getattr__(self, name):
        history = self.__dict__.get("history", {})
        if name in history:
            return history[name]
        raise AttributeError(f"{name!r} is not in this history: ask for it by fields=({name!r},)")

    def __dir__(self):
        return [*super().__dir__(), *self.history]


def _or_default(x, name, default):
    return default if x is None else as_int(x, name, np.uint64)


def _refuse(given, name, why):
    if given is not None:
        raise ValueError(f"{name}: {why}")


def _form(kernel):
    return _FORMS[_kernel.form("pelt.update", kernel)]


def _events(now, kernel, running, on_rq, entity, weight, runnable_weight, nr_running, freq_scale, cpu_scale):
    """The name of the form, and its seven columns by name in the core's order."""
    form = _form(kernel)
    as_choice(entity, "entity", ("task", "cfs_rq"))
    running = as_bool(running, "running")
    if entity == "task":
        on_rq = running if on_rq is None else as_bool(on_rq, "on_rq")
        weight = 1024 if weight is None else weight
        _refuse(nr_running, "nr_running", 'a task has none: entity="cfs_rq" takes it from 5.7 on')
    else:
        if on_rq is not None:
            raise TypeError("on_rq: a run queue is on no run queue; give its weight and running")
        if weight is None:
            raise TypeError('weight is required for entity="cfs_rq"')
        on_rq = np.asarray(False)
    runnable = weight = as_int(weight, "weight", np.uint64)
    if form.runnable_weight:
        runnable = _or_default(runnable_weight, "runnable_weight", weight)
    else:
        _refuse(runnable_weight, "runnable_weight", f"kernels 4.15 .. 5.6 take it, not {kernel}")
    if not form.nr_running:
        _refuse(nr_running, "nr_running", f"kernels from 5.7 on take it, not {kernel}")
    elif entity == "cfs_rq":
        if nr_running is None:
            raise TypeError(f"nr_running is required for a run queue of kernel {kernel}")
        runnable = as_int(nr_running, "nr_running", np.uint64, high=2**32 - 1)
    if not form.capacity_scale:
        why = f"kernel {kernel} scales time instead of sums: use clock_pelt for now"
        _refuse(freq_scale, "freq_scale", why)
        _refuse(cpu_scale, "cpu_scale", why)
    full = np.asarray(1024, np.uint64)
    return f"{entity}_{form.suffix}", {
        "now": as_int(now, "now", np.uint64, time=True),
        "weight": weight,
        "nr_running" if form.nr_running else "runnable_weight": runnable,
        "freq_scale": _or_default(freq_scale, "freq_scale", full),
        "cpu_scale": _or_default(cpu_scale, "cpu_scale", full),
        "running": running,
        "on_rq": on_rq,
    }


def _parameters(half_life, load_avg_max, update_threshold):
    table = table_and_max(half_life, load_avg_max)
    return *table, as_number(update_threshold, "update_threshold", low=0)


def _check_fields(fields, kernel, entity):
    fields = as_choices(fields, "fields", _HISTORY)
    form = _form(kernel)
    if "runnable_now" in fields and entity == "task" and not (form.runnable_weight or form.nr_running):
        raise ValueError(f"fields: kernel {kernel} refreshes no runnable_avg of a task: no runnable_now")
    return fields


def track(
    now,
    *,
    kernel,
    running,
    on_rq=None,
    entity="task",
    weight=None,
    runnable_weight=None,
    nr_running=None,
    freq_scale=None,
    cpu_scale=None,
    half_life=32,
    load_avg_max=None,
    update_threshold=0,
    state=None,
    fields=("util_avg",),
    threads=1,
):
    """PELT over streams of events: what the kernel's averages are after each update.

    All arrays broadcast; the last axis is time, so that one weight per stream has shape (streams, 1).
    Nothing that is broadcast is expanded in memory.

    Parameters
    ----------
    now : array_like of int, shape (..., n)
        The clock at each update in ns, unsigned 64 bit; datetime64[ns] too. It may go backwards, as
        a run queue's clock does in a migration: such an update only sets last_update_time.
    kernel : str
        ``"4.12"`` .. ``"6.19"``.
    running : array_like of bool
        Whether the entity ran in the time up to ``now``.
    on_rq : array_like of bool, optional
        Tasks: whether it was queued in that time. None: queued when running.
    entity : {"task", "cfs_rq"}
        A task's sched_entity or a CFS run queue.
    weight : array_like of int, optional
        Load weight, scaled down (nice 0 = 1024); see `nice_to_weight`. Tasks: None is 1024.
        Required for a run queue: the sum over its entities, 0 when it is empty.
    runnable_weight : array_like of int, optional
        4.15 .. 5.6 only. None: the same as ``weight``.
    nr_running : array_like of int, optional
        Run queues from 5.7 on, required there: the number of runnable tasks, unsigned 32 bit.
    freq_scale, cpu_scale : array_like of int, optional
        Capacities of the CPU, 1024 = full, up to 5.0: from 5.1 the clock is scaled instead.
    half_life : int
        In windows, 1 .. 2048; kernels have 32.
    load_avg_max : int, optional
        1025 .. 4194303. None: what `constants` derives for the half-life.
    update_threshold : int
        Units of 1024 ns. 0 is the kernel as released: averages are refreshed when a window
        ended. 512 and 128 are two versions of a proposal of 2017, never merged: refresh also when that much
        time has passed since the last update.
    state : array of STATE, optional
        Before the first event; broadcasts with the leading axes. None: all zero with
        last_update_time = the first ``now`` of each stream, whose flags are then unused.
    fields : tuple of str
        What to return of each update: fields of STATE; ``updated``, whether the averages were
        refreshed; ``util_now``, ``load_now``, ``runnable_now``, the averages had they been refreshed at that
        update: the same sums divided there.
    threads : int
        Leading axes are split over so many threads.

    Returns
    -------
    Track
        ``history``: field -> array of shape (..., n), uint64, bool for ``updated``; ``state``.

    Raises
    ------
    ValueError
        A value out of range, shapes that do not broadcast, a kernel outside 4.12 .. 6.19, an argument or a
        field that the kernel does not have.
    TypeError
        Something else than integers, an argument missing or out of place for the entity.

    Notes
    -----
    __update_load_avg_se() and __update_load_avg_cfs_rq(): kernel/sched/fair.c of 4.12 .. 4.18,
    kernel/sched/pelt.c from 4.19. A task is given ``load = runnable = !!on_rq`` and its weight from 4.15 on.

    Examples
    --------
    A task that runs for 20 ms, with a tick every 4 ms:

    >>> from schedpy import pelt
    >>> now = [1_000_000_000 + 4_000_000 * i for i in range(6)]
    >>> pelt.track(now, kernel="6.1", running=True).util_avg.tolist()
    [0, 81, 156, 224, 288, 346]

    In pieces it is the same:

    >>> first = pelt.track(now[:3], kernel="6.1", running=True)
    >>> pelt.track(now[3:], kernel="6.1", running=True, state=first.state).util_avg.tolist()
    [224, 288, 346]
    """
    form, events = _events(
        now, kernel, running, on_rq, entity, weight, runnable_weight, nr_running, freq_scale, cpu_scale
    )
    fields = _check_fields(fields, kernel, entity)
    parameters = _parameters(half_life, load_avg_max, update_threshold)
    threads = as_number(threads, "threads", low=1)
    if events["now"].ndim == 0:
        raise ValueError("now must have an axis of time, shape (..., n); `pelt.update` makes one step")
    before = {} if state is None else {"state": rows_of(state)}
    shape = broadcast_shape({**events, **{name: row[..., :1] for name, row in before.items()}})
    columns = tuple(np.broadcast_to(column, shape) for column in events.values())
    rows = np.zeros((*shape[:-1], len(FIELDS)), np.uint64)
    if before:
        rows[...] = before["state"]
    elif shape[-1]:
        rows[..., 0] = columns[0][..., 0]
    history = {name: np.empty(shape, bool if name == "updated" else np.uint64) for name in fields}
    outputs = tuple(history.get(name) for name in _HISTORY)
    _run(getattr(_core, f"pelt_track_{form}"), rows, columns, outputs, parameters, threads)
    return Track(history, rows.view(STATE)[..., 0])


def _run(function, rows, columns, outputs, parameters, threads):
    """One call, or several over slices of the longest leading axis."""
    axis = int(np.argmax(rows.shape[:-1])) if rows.ndim > 1 else None
    if threads == 1 or axis is None or rows.shape[axis] < 2:
        function(rows, columns, outputs, *parameters)
        return
    # More pieces than threads: an interrupt has to wait for the pieces begun only.
    bounds = np.linspace(0, rows.shape[axis], min(rows.shape[axis], 4 * threads) + 1).astype(int)
    pool = ThreadPoolExecutor(threads)
    pieces = []
    try:
        for pair in pairwise(bounds):
            part = (*[slice(None)] * axis, slice(*pair))
            mine = tuple(column[part] for column in columns)
            out = tuple(column if column is None else column[part] for column in outputs)
            pieces.append(pool.submit(function, rows[part], mine, out, *parameters))
        for piece in pieces:
            piece.result()
    finally:
        pool.shutdown(cancel_futures=True)


def update(
    state,
    now,
    *,
    kernel,
    running,
    on_rq=None,
    entity="task",
    weight=None,
    runnable_weight=None,
    nr_running=None,
    freq_scale=None,
    cpu_scale=None,
    half_life=32,
    load_avg_max=None,
    update_threshold=0,
):
    """One PELT update of each of many entities.

    All arrays broadcast with ``state``. Parameters are those of `track`, without an axis of time.

    Parameters
    ----------
    state : array of STATE
        Before the update; it is not modified.
    now : array_like of int
        The clock in ns, unsigned 64 bit.

    Returns
    -------
    state : array of STATE
        After the update.
    updated : array of bool
        Whether the averages were refreshed: the kernel function's return value.

    Raises
    ------
    ValueError, TypeError
        As `track`.

    Examples
    --------
    >>> from schedpy import pelt
    >>> state, updated = pelt.update(pelt.initial_state(2), 5_000_000, kernel="6.1", running=[True, False])
    >>> state["util_avg"].tolist(), updated.tolist()
    ([100, 0], [True, True])
    """
    rows = rows_of(state)
    form, events = _events(
        now, kernel, running, on_rq, entity, weight, runnable_weight, nr_running, freq_scale, cpu_scale
    )
    inverse, load_avg_max, threshold = _parameters(half_life, load_avg_max, update_threshold)
    broadcast_shape({"state": rows[..., 0], **events})
    rows, updated = getattr(_core, f"pelt_update_{form}")(
        rows, *events.values(), inverse, np.uint32(load_avg_max), np.uint64(threshold)
    )
    return rows.view(STATE)[..., 0], updated
