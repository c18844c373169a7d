# SPDX-License-Identifier: GPL-2.0-only
"""PELT, the scheduler's load tracking, as kernels 4.12 .. 6.19 compute it on 64 bit.

Time is in ns; a *unit* is 1024 ns and a window 1024 units (1.048576 ms). Sums are in units times weight or
times 1024, averages run from 0 to 1024 (utilisation) or to the weight (load).
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_bool, as_choice, as_int, as_number

__all__ = [
    "STATE",
    "Constants",
    "Track",
    "accumulate_segments",
    "constants",
    "decay_load",
    "initial_state",
    "nice_to_weight",
    "track",
    "update",
]

_SUMS = ("load_sum", "runnable_sum", "util_sum")
_FIELDS = ("last_update_time", *_SUMS, "period_contrib", "load_avg", "runnable_avg", "util_avg")
_HISTORY = (*_FIELDS, "load_now", "runnable_now", "util_now", "updated")
_HIGHEST = {"period_contrib": 1023, "util_sum": 2**32 - 1}

#: The kernel's struct sched_avg: eight uint64. ``runnable_*`` is ``runnable_load_*`` up to 5.6.
STATE = np.dtype([(name, np.uint64) for name in _FIELDS])

# LOAD_AVG_MAX << 10 must fit into the 32-bit util_sum.
_HALF_LIFE_LIMIT = 2048
_LOAD_AVG_MAX_LIMIT = 2**22 - 1


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


@dataclass(frozen=True, eq=False)
class Constants:
    """The tables of one half-life, as `constants` gives them."""

    inverse: np.ndarray
    sums: np.ndarray
    load_avg_max: int
    load_avg_max_n: int


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


def constants(half_life=32):
    """The tables of a half-life, by the kernel's own generator recipe.

    Parameters
    ----------
    half_life : int
        In windows of 1.048576 ms, 1 .. 2048.

    Returns
    -------
    Constants
        ``inverse``: uint32, 2^32 * y^i for i = 0 .. half_life - 1, where y^half_life = 1/2.
        ``sums``: uint32, 1024 * (y + ... + y^n) for n = 0 .. half_life, the table of kernels before 4.12.
        ``load_avg_max``: what an entity that always runs converges to, and ``load_avg_max_n``: the number
        of windows after which it has.

    Notes
    -----
    Documentation/scheduler/sched-pelt.c of 4.12 and later. Trees with other half-lives do not always
    carry what the recipe gives: Android 4.14 has a LOAD_AVG_MAX of 24152 for 16 and of 12337 for 8; pass
    that as ``load_avg_max`` where a function takes it.

    Examples
    --------
    >>> from schedpy import pelt
    >>> c = pelt.constants()
    >>> c.load_avg_max, c.load_avg_max_n, c.inverse[:2].tolist(), int(c.sums[32])
    (47742, 345, [4294967295, 4202935002], 23371)
    """
    return _constants(as_number(half_life, "half_life", low=1, high=_HALF_LIFE_LIMIT))


@lru_cache(maxsize=64)
def _constants(half_life):
    y = pow(0.5, 1 / half_life)
    inverse = np.array([int((2**32 - 1) * pow(y, i)) for i in range(half_life)], np.uint32)
    sums = np.zeros(half_life + 1, np.uint32)
    total = int(1024 * y)
    for n in range(1, half_life + 1):
        sums[n] = total
        total = int(total * y + 1024 * y)
    inverse.flags.writeable = sums.flags.writeable = False
    return Constants(inverse, sums, *_converge(int((2**32 - 1) * y)))


def _converge(y):
    """LOAD_AVG_MAX, and the windows it takes: the recipe does not count its first and its idle last pass."""
    last, highest, passes = 0, 1024, 0
    while highest != last:
        last, highest = highest, ((highest * y) >> 32) + 1024
        passes += 1
    return highest, passes - 2


def initial_state(shape=(), **fields):
    """States to start from: all zero but the given fields.

    Parameters
    ----------
    shape : int or tuple of int
        Broadcasts with the fields.
    **fields : array_like of int
        Fields of STATE; ``period_contrib`` 0 .. 1023, ``util_sum`` below 2^32.

    Returns
    -------
    array of STATE

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.initial_state(2, util_avg=[0, 512])["util_avg"].tolist()
    [0, 512]
    """
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    for name in fields:
        if name not in _FIELDS:
            raise TypeError(f"{name} is no field of a state: must be one of {', '.join(_FIELDS)}")
    values = {name: _as_field(value, name, name) for name, value in fields.items()}
    state = np.zeros(_broadcast_shape({"shape": np.empty(shape), **values}), STATE)
    for name, value in values.items():
        state[name] = value
    return state


def _as_field(value, field, name):
    return as_int(value, name, np.uint64, high=_HIGHEST.get(field))


def _broadcast_shape(arrays):
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise ValueError(f"shapes do not broadcast: {shapes}") from None


def _rows(state):
    """A state, checked, as rows of eight uint64; not to be written to."""
    array = np.asarray(state, order="C")
    if array.dtype.names is None or set(array.dtype.names) != set(_FIELDS):
        raise TypeError(f"state must be an array of pelt.STATE, not of {array.dtype}")
    for name in _FIELDS if array.dtype != STATE else _HIGHEST:
        _as_field(array[name], name, f"state[{name!r}]")
    if array.dtype != STATE:
        array = initial_state(**{name: array[name] for name in _FIELDS})
    return array[..., np.newaxis].view(np.uint64)


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
    table = constants(half_life)
    if load_avg_max is None:
        load_avg_max = table.load_avg_max
    return (
        table.inverse,
        as_number(load_avg_max, "load_avg_max", low=1025, high=_LOAD_AVG_MAX_LIMIT),
        as_number(update_threshold, "update_threshold", low=0),
    )


def _check_fields(fields, kernel, entity):
    if isinstance(fields, str):
        raise TypeError(f"fields = {fields!r}: must be a tuple of names, ({fields!r},)")
    fields = tuple(fields)
    for name in fields:
        as_choice(name, "fields", _HISTORY)
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
    before = {} if state is None else {"state": _rows(state)}
    shape = _broadcast_shape({**events, **{name: row[..., :1] for name, row in before.items()}})
    columns = tuple(np.broadcast_to(column, shape) for column in events.values())
    rows = np.zeros((*shape[:-1], len(_FIELDS)), np.uint64)
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
    rows = _rows(state)
    form, events = _events(
        now, kernel, running, on_rq, entity, weight, runnable_weight, nr_running, freq_scale, cpu_scale
    )
    inverse, load_avg_max, threshold = _parameters(half_life, load_avg_max, update_threshold)
    _broadcast_shape({"state": rows[..., 0], **events})
    rows, updated = getattr(_core, f"pelt_update_{form}")(
        rows, *events.values(), inverse, np.uint32(load_avg_max), np.uint64(threshold)
    )
    return rows.view(STATE)[..., 0], updated


def decay_load(val, n, *, kernel, half_life=32, **ufunc):
    """``val * y^n`` in the kernel's integers, where y^half_life = 1/2.

    Parameters
    ----------
    val : array_like of int
        Unsigned 64 bit.
    n : array_like of int
        Windows, unsigned 64 bit.
    kernel : str
        ``"3.8"`` .. ``"4.0"``: the product wraps for values above 2^32. ``"4.3"`` .. ``"4.11"``: it does not.
        ``"4.12"`` .. ``"6.19"``: n = 0 is no exception any more and gives ``val - 1`` for 0 < val <= 2^32.
    half_life : int
        In windows, 1 .. 2048.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint64 array

    Notes
    -----
    decay_load() of kernel/sched/fair.c, from 4.19 of kernel/sched/pelt.c.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.decay_load(1024, [0, 1, 32, 2017], kernel="4.12").tolist()
    [1023, 1002, 511, 0]
    """
    suffix = {"P38": "v3_8", "P43": "v4_3", "P412": "v4_12"}[_kernel.form("pelt.decay_load", kernel)]
    n = as_int(n, "n", np.uint64)
    table = constants(half_life)
    function = getattr(_core, f"decay_load_{suffix}")
    return function(as_int(val, "val", np.uint64), n, *_table_entries(table, n), **ufunc)


def _table_entries(table, n):
    """The half-life, and the entry of its table that n windows end in."""
    half_life = table.inverse.size
    return np.uint32(half_life), table.inverse[(n % np.uint64(half_life)).astype(np.intp)]


def accumulate_segments(periods, d1, d3, *, half_life=32, load_avg_max=None, **ufunc):
    """What a stretch of ``periods`` window ends adds to a sum of units.

    Parameters
    ----------
    periods : array_like of int
        Window ends passed, unsigned 64 bit. The kernel never asks for 0; the row is defined all the same.
    d1, d3 : array_like of int
        Units in the first and in the last, unfinished window, unsigned 32 bit.
    half_life : int
        In windows, 1 .. 2048.
    load_avg_max : int, optional
        1025 .. 4194303. None: what `constants` derives for the half-life.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint32 array
        ``d1 y^p + 1024 (y + ... + y^(p-1)) + d3``, modulo 2^32.

    Notes
    -----
    __accumulate_pelt_segments() of kernel/sched/pelt.c; the same from 4.12 to 6.19.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.accumulate_segments([1, 2, 3000], 1024, 10).tolist()
    [1012, 1991, 46728]
    """
    periods = as_int(periods, "periods", np.uint64)
    _, load_avg_max, _ = _parameters(half_life, load_avg_max, 0)
    return _core.accumulate_segments(
        periods,
        as_int(d1, "d1", np.uint32),
        as_int(d3, "d3", np.uint32),
        *_table_entries(constants(half_life), periods),
        np.uint32(load_avg_max),
        **ufunc,
    )


def nice_to_weight(nice, **ufunc):
    """The load weight of a nice value; nice 0 is 1024, and a step is about 1.25.

    Parameters
    ----------
    nice : array_like of int
        -20 .. 19.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint64 array
        The weight as PELT takes it, without the 10 further bits that 64-bit kernels keep.
        SCHED_IDLE has no nice value; its weight is 3.

    Notes
    -----
    sched_prio_to_weight[] of kernel/sched/core.c, the same since 3.8.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.nice_to_weight([-20, 0, 19]).tolist()
    [88761, 1024, 15]
    """
    return _core.nice_to_weight(as_int(nice, "nice", np.int64, low=-20, high=19), **ufunc)
