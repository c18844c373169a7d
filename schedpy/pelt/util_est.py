# SPDX-License-Identifier: GPL-2.0-only
"""util_est: the utilisation a task had when it last slept, lent to its run queue while it is queued."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_bool, as_int
from schedpy.pelt.state import broadcast_shape, checked_rows, filled

__all__ = ["UTIL_EST_STATE", "UtilEst", "initial_util_est", "util_est"]

_FIELDS = ("task_enqueued_raw", "task_ewma", "cfs_enqueued")

#: The two words of a task and the one of its run queue; 32 bits each in the kernel, uint64 here.
UTIL_EST_STATE = np.dtype([(name, np.uint64) for name in _FIELDS])
_HIGHEST = dict.fromkeys(_FIELDS, 2**32 - 1)
_SUFFIX = {"U417": "v4_17", "U51": "v5_1", "U55": "v5_5", "U513": "v5_13", "U68": "v6_8", "U619": "v6_19"}
_ONE_WORD = ("U68", "U619")


@dataclass(frozen=True, eq=False)
class UtilEst:
    """What `util_est` returns: the state after the step, and what was seen on the way."""

    state: np.ndarray
    cfs_enqueued_between: np.ndarray
    cfs_enqueued_after: np.ndarray
    task_util_est_at_enqueue: np.ndarray
    task_util_est_after: np.ndarray


def initial_util_est(shape=(), **fields):
    """States of util_est to start from: all zero but the given fields.

    Parameters
    ----------
    shape : int or tuple of int
        Broadcasts with the fields.
    **fields : array_like of int
        Fields of UTIL_EST_STATE, unsigned 32 bit.

    Returns
    -------
    array of UTIL_EST_STATE

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.initial_util_est(task_ewma=[100, 200])["task_ewma"].tolist()
    [100, 200]
    """
    return filled(UTIL_EST_STATE, shape, fields, _HIGHEST)


def util_est(state, *, kernel, util_enqueue, util_dequeue, runnable_avg, util_changed, task_sleep, capacity):
    """A task is enqueued, perhaps its util_avg is refreshed, and it is dequeued: what is learnt from that.

    One step for each of many tasks; all arrays broadcast.

    Parameters
    ----------
    state : array of UTIL_EST_STATE
        Before the task is enqueued; not modified. ``task_enqueued_raw`` is the kernel's word
        with its flag "util_avg has not changed since" (bit 0 up to 5.12, bit 31 from 5.13). From 6.8 it is
        the task's only word, and ``task_ewma`` must be 0.
    kernel : str
        ``"4.17"`` .. ``"6.19"``.
    util_enqueue, util_dequeue : array_like of int
        util_avg of the task at both ends, 0 .. 2^31 - 1.
    runnable_avg : array_like of int
        Of the task when it is dequeued, unsigned 64 bit; read from 6.8.
    util_changed : array_like of bool
        Whether util_avg was refreshed in between.
    task_sleep : array_like of bool
        Whether the task goes to sleep; if not, nothing is learnt.
    capacity : array_like of int
        Of the CPU, unsigned 64 bit; read from 5.1 to 6.18.

    Returns
    -------
    UtilEst
        ``state`` after the task was dequeued. uint64 arrays: ``cfs_enqueued_between`` and
        ``cfs_enqueued_after``, the run queue's word while the task was queued and after;
        ``task_util_est_at_enqueue`` and ``task_util_est_after``, the larger of util_avg and estimate.

    Raises
    ------
    ValueError
        A value out of range, shapes that do not broadcast, a kernel outside the range.
    TypeError
        Something else than a state, integers and bools.

    Notes
    -----
    util_est_enqueue(), util_est_dequeue(), util_est_update() and task_util_est() of kernel/sched/fair.c.

    Examples
    --------
    Utilisation falls from 400 to 200: the first estimate is what was seen, then a quarter is given up.

    >>> from schedpy import pelt
    >>> given = {"kernel": "6.8", "runnable_avg": 0, "capacity": 1024, "util_changed": 1, "task_sleep": 1}
    >>> first = pelt.util_est(pelt.initial_util_est(), util_enqueue=400, util_dequeue=400, **given)
    >>> then = pelt.util_est(first.state, util_enqueue=200, util_dequeue=200, **given)
    >>> int(then.cfs_enqueued_between), int(then.task_util_est_after)
    (400, 350)
    """
    form = _kernel.form("pelt.util_est", kernel)
    highest = _HIGHEST | {"task_ewma": 0} if form in _ONE_WORD else _HIGHEST
    rows = checked_rows(state, "state", UTIL_EST_STATE, "UTIL_EST_STATE", highest)
    given = {
        "util_enqueue": as_int(util_enqueue, "util_enqueue", np.uint64, high=2**31 - 1),
        "util_dequeue": as_int(util_dequeue, "util_dequeue", np.uint64, high=2**31 - 1),
        "runnable_avg": as_int(runnable_avg, "runnable_avg", np.uint64),
        "util_changed": as_bool(util_changed, "util_changed").astype(np.uint64),
        "task_sleep": as_bool(task_sleep, "task_sleep").astype(np.uint64),
        "capacity": as_int(capacity, "capacity", np.uint64),
    }
    broadcast_shape({"state": rows[..., 0], **given})
    rows, between, after, at_enqueue, at_end = getattr(_core, f"util_est_{_SUFFIX[form]}")(
        rows, *given.values()
    )
    return UtilEst(rows.view(UTIL_EST_STATE)[..., 0], between, after, at_enqueue, at_end)
