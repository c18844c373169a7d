# SPDX-License-Identifier: GPL-2.0-only
"""The update over streams of events and over arrays of entities."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int, as_number
from schedpy._threads import in_threads
from schedpy.pelt.forms import HISTORY, Given, check_fields, entity_of, event_columns, parameters
from schedpy.pelt.state import FIELDS, STATE, broadcast_shape, rows_of

__all__ = ["Track", "track", "update"]

# Where the core's columns have the time that interrupts took.
_RUNNABLE = 2


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


def track(
    now,
    *,
    kernel,
    running,
    on_rq=None,
    entity="task",
    index=None,
    weight=None,
    runnable_weight=None,
    nr_running=None,
    freq_scale=None,
    cpu_scale=None,
    half_life=32,
    load_avg_max=None,
    update_threshold=0,
    long_bits=64,
    state=None,
    fields=("util_avg",),
    threads=1,
    out=None,
):
    """PELT over streams of events: what the kernel's averages are after each update.

    All arrays broadcast; the last axis is time, so that one weight per stream has shape (streams, 1).
    Nothing that is broadcast is expanded in memory. With ``index`` the events of many entities come in one
    stream, as in a trace.

    Parameters
    ----------
    now : array_like of int, shape (..., n)
        The clock at each update in ns, unsigned 64 bit; datetime64[ns] too. It may go backwards, as
        a run queue's clock does in a migration: such an update only sets last_update_time.
    kernel : str
        ``"3.8"`` .. ``"4.0"`` and ``"4.3"`` .. ``"6.19"``.
    running : array_like of bool
        Whether the entity ran in the time up to ``now``; 3.8 .. 4.0 look at ``on_rq`` alone.
        ``entity="irq"``: integers, the time in ns that interrupts took since the update before.
    on_rq : array_like of bool, optional
        Tasks: whether it was queued in that time. None: queued when running.
    entity : {"task", "cfs_rq", "rt", "dl", "irq"}
        A task's sched_entity; a CFS run queue, from 4.3 on; a CPU's run queue of the rt or the dl class or
        its interrupts, from 4.19 on. For the last three there are no known answers: they are the
        update of tasks, called as the kernel does, and agree with a plain twin in Python.
    index : array_like of int, shape (n,), optional
        The entity that each event is of, 0 .. entities - 1; ``now`` and all else then broadcast to
        (n,), and ``state`` has shape (entities,).
    weight : array_like of int, optional
        Load weight, scaled down (nice 0 = 1024); see `nice_to_weight`. Tasks: None is 1024.
        Required for a run queue: the sum over its entities, 0 when it is empty.
    runnable_weight : array_like of int, optional
        4.15 .. 5.6 only. None: the same as ``weight``.
    nr_running : array_like of int, optional
        Run queues from 5.7 on, required there: the number of runnable tasks, unsigned 32 bit.
    freq_scale, cpu_scale : array_like of int, optional
        Capacities of the CPU, 1024 = full, up to 5.0 (frequency from 4.3, CPU from 4.4): from 5.1 the clock
        is scaled instead. An irq's time is still scaled by both.
    half_life : int
        In windows, 1 .. 2048; kernels have 32, and before 4.12 nothing else is known.
    load_avg_max : int, optional
        1025 .. 4194303. None: what `constants` derives for the half-life. Before 4.12 47742 alone.
    update_threshold : int
        From 4.12 on, units of 1024 ns. 0 is the kernel as released: averages are refreshed when a window
        ended. 512 and 128 are two versions of a proposal of 2017, never merged: refresh also when that much
        time has passed since the last update.
    long_bits : {64, 32}
        The width of an unsigned long. 32 for 4.13, 4.15 .. 5.0 and from 5.7 on, where it is proven:
        products with a weight or a number of tasks and the averages are cut to it.
    state : array of STATE, optional
        Before the first event; broadcasts with the leading axes. None: all zero with
        last_update_time = the first ``now`` of each stream or entity, whose flags are then unused.
        3.8 .. 4.0 have runnable_avg_sum in ``load_sum``, runnable_avg_period in ``runnable_sum``
        (both 32 bit), load_avg_contrib in ``load_avg``, and leave the other fields alone.
    fields : tuple of str
        What to return of each update: fields of STATE; ``updated``, whether the averages were
        refreshed; ``util_now``, ``load_now``, ``runnable_now``, the averages had they been refreshed at that
        update: the same sums divided there. 3.8 .. 4.0 have no utilisation, name ``load_avg``.
    threads : int
        Leading axes are split over so many threads; one stream, interleaved or not, has one.
    out : mapping of str to array, optional
        Where the history of some of ``fields`` is written instead of new arrays: of the shape that all
        arguments broadcast to, uint64 (``updated``: bool), the last axis contiguous, sharing no memory with
        an argument. An interrupted call leaves it half written.

    Returns
    -------
    Track
        ``history``: field -> array of shape (..., n), uint64, bool for ``updated``; ``state``.

    Raises
    ------
    ValueError
        A value out of range, shapes that do not broadcast, a kernel outside the ranges, an argument or a
        field that the kernel does not have.
    TypeError
        Something else than integers, an argument missing or out of place for the entity.

    Notes
    -----
    __update_entity_runnable_avg() of 3.8 .. 4.0 and __update_load_avg() of 4.3 .. 4.11, kernel/sched/fair.c;
    __update_load_avg_se() and __update_load_avg_cfs_rq(): kernel/sched/fair.c of 4.12 .. 4.18,
    kernel/sched/pelt.c from 4.19, where update_rt_rq_load_avg(), update_dl_rq_load_avg() and
    update_irq_load_avg() are too. A task is given ``load = runnable = !!on_rq`` and its weight from 4.15 on.
    What group entities hand up to their run queues is not followed.

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

    Two tasks in turn:

    >>> pelt.track(now, kernel="6.1", running=True, index=[0, 1, 0, 1, 0, 1]).util_avg.tolist()
    [0, 0, 156, 156, 288, 288]
    """
    who = entity_of(kernel, entity, long_bits)
    given = Given(running, on_rq, weight, runnable_weight, nr_running, freq_scale, cpu_scale)
    events = event_columns(now, who, given)
    fields = check_fields(fields, who)
    options = parameters(who, half_life, load_avg_max, update_threshold)
    threads = as_number(threads, "threads", low=1)
    if events["now"].ndim == 0:
        raise ValueError("now must have an axis of time, shape (..., n); `pelt.update` makes one step")
    before = None if state is None else rows_of(state, who.widths)
    if index is None:
        columns, rows = _streams(events, before, who)
    else:
        columns, rows, index = _interleaved(events, before, who, index)
    history = _history(fields, columns, out)
    outputs = tuple(history.get(name) for name in HISTORY)
    function = getattr(_core, f"pelt_track_{who.in_core}")
    if index is None:
        _run(function, rows, columns, outputs, options, threads)
    else:
        function(rows, columns, outputs, *options, index)
    return Track(history, rows.view(STATE)[..., 0])


def _history(fields, columns, out):
    """An array for each field: the caller's, checked, or a new one."""
    given = {} if out is None else out
    if not isinstance(given, Mapping):
        raise TypeError(f"out must be a mapping of fields to arrays, not {type(out).__name__}")
    shape = columns[0].shape
    for name, array in given.items():
        if name not in fields:
            raise ValueError(f"out: {name!r} is not in fields")
        dtype = _dtype(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or not array.flags.behaved:
            raise TypeError(f"out[{name!r}] must be a writeable array of {dtype}")
        if array.shape != shape:
            raise ValueError(f"out[{name!r}] must have shape {shape}, not {array.shape}")
        if array.size and shape[-1] > 1 and array.strides[-1] != array.itemsize:
            raise ValueError(f"out[{name!r}] must be contiguous along its last axis")
        others = (*columns, *(other for key, other in given.items() if key != name))
        if any(isinstance(other, np.ndarray) and np.may_share_memory(array, other) for other in others):
            raise ValueError(f"out[{name!r}] shares memory with an argument or another output")
    return {name: given[name] if name in given else np.empty(shape, _dtype(name)) for name in fields}


def _dtype(field):
    return np.dtype(bool if field == "updated" else np.uint64)


def _expanded(column, shape):
    return column if column.shape == shape else np.broadcast_to(column, shape)


def _streams(events, before, who):
    """The columns, and a row of state for each of the leading axes' streams."""
    state = {} if before is None else {"state": before[..., :1]}
    shape = broadcast_shape({**events, **state})
    columns = [_expanded(column, shape) for column in events.values()]
    rows = np.zeros((*shape[:-1], len(FIELDS)), np.uint64)
    if before is not None:
        rows[...] = before
    elif shape[-1]:
        rows[..., 0] = columns[0][..., 0]
        if who.name == "irq":
            columns[_RUNNABLE] = _zero_at(columns[_RUNNABLE], np.s_[..., 0])
    return tuple(columns), rows


def _interleaved(events, before, who, index):
    """The columns of the one stream, a row of state for each entity, and the index."""
    if before is not None and before.ndim != 2:
        raise ValueError(f"state must have shape (entities,) beside an index, not {before.shape[:-1]}")
    last = None if before is None else before.shape[0] - 1
    index = np.require(as_int(index, "index", np.uint64, high=last), requirements=["C", "A"])
    shape = broadcast_shape({**events, "index": index})
    if index.shape != shape or index.ndim != 1:
        raise ValueError(f"index must have the shape of now, (n,), not {index.shape}")
    columns = [_expanded(column, shape) for column in events.values()]
    if before is not None:
        return tuple(columns), before.copy(), index
    entities = int(index.max()) + 1 if index.size else 0
    rows = np.zeros((entities, len(FIELDS)), np.uint64)
    _core.pelt_start_of_entities(rows, index, columns[0])
    if who.name == "irq":
        columns[_RUNNABLE] = _zero_at(columns[_RUNNABLE], np.unique(index, return_index=True)[1])
    return tuple(columns), rows, index


def _zero_at(column, where):
    column = column.copy()
    column[where] = 0
    return column


def _run(function, rows, columns, outputs, options, threads):
    """One call, or several over slices of the longest leading axis."""

    def track_part(part):
        mine = tuple(column[part] for column in columns)
        out = tuple(column if column is None else column[part] for column in outputs)
        function(rows[part], mine, out, *options)

    in_threads(track_part, rows.shape[:-1], threads, pieces=4 * threads)


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
    long_bits=64,
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
    who = entity_of(kernel, entity, long_bits)
    given = Given(running, on_rq, weight, runnable_weight, nr_running, freq_scale, cpu_scale)
    events = event_columns(now, who, given)
    rows = rows_of(state, who.widths)
    inverse, load_avg_max, threshold = parameters(who, half_life, load_avg_max, update_threshold)
    broadcast_shape({"state": rows[..., 0], **events})
    rows, updated = getattr(_core, f"pelt_update_{who.in_core}")(
        rows, *events.values(), inverse, np.uint32(load_avg_max), np.uint64(threshold)
    )
    return rows.view(STATE)[..., 0], updated
