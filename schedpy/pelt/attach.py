# SPDX-License-Identifier: GPL-2.0-only
"""A task joining a run queue and leaving it, and the first utilisation of a new one."""

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_int
from schedpy.pelt.state import STATE, broadcast_shape, rows_of

__all__ = ["attach", "detach", "post_init_entity_util_avg"]

_ATTACH = {"A410": "v4_10", "A415": "v4_15", "A51": "v4_15", "A57": "v5_7", "A517": "v5_18"}
_POST_INIT = {"I410": "v4_10", "I415": "v4_15", "I612": "v6_10"}


def _apply(operation, se, cfs, kernel, weight):
    function = getattr(_core, f"pelt_{operation}_{_ATTACH[_kernel.form('pelt.attach', kernel)]}")
    se, cfs = rows_of(se, {}, "se"), rows_of(cfs, {}, "cfs")
    weight = as_int(weight, "weight", np.uint64, high=2**32 - 1)
    broadcast_shape({"se": se[..., 0], "cfs": cfs[..., 0], "weight": weight})
    se, cfs = function(se, cfs, weight)
    return se.view(STATE)[..., 0], cfs.view(STATE)[..., 0]


def attach(se, cfs, *, kernel, weight):
    """A task's averages are added to those of a CFS run queue.

    All arrays broadcast. Every pair of a task and a run queue is one attach of its own: tasks are not
    summed up over an axis.

    Parameters
    ----------
    se, cfs : array of STATE
        The task and the run queue, both brought up to date before; not modified.
    kernel : str
        ``"4.10"`` .. ``"5.16"``, ``"5.18"`` .. ``"6.19"``; 5.17 lies between two changes and is refused.
    weight : array_like of int
        The task's load weight, scaled down (nice 0 = 1024), unsigned 32 bit. Up to 4.14 load_sum has
        the weight in it and this one is not read.

    Returns
    -------
    se : array of STATE
        At the run queue's time; from 4.15 with its period_contrib, and sums made anew from the averages.
    cfs : array of STATE
        With the task in it. Its ``runnable_*`` change from 5.7 on.

    Raises
    ------
    ValueError
        A value out of range, shapes that do not broadcast, a kernel outside the ranges.
    TypeError
        Something else than states and integers.
    FloatingPointError, RuntimeWarning
        As `numpy.errstate` says: from 5.18 a weight of 0 under a load_avg above 0 is a division
        by zero, which would stop a kernel; load_sum is 0 then.

    Notes
    -----
    attach_entity_load_avg() of kernel/sched/fair.c. Propagation to parent groups is left out.

    Examples
    --------
    A heavy task whose load has all but decayed: up to 5.16 the run queue got an average without a sum
    (40f5aa4c5eae).

    >>> from schedpy import pelt
    >>> se, cfs = pelt.initial_state(load_avg=1), pelt.initial_state(period_contrib=1023)
    >>> [int(pelt.attach(se, cfs, kernel=k, weight=88761)[1]["load_sum"]) for k in ("5.16", "5.18")]
    [0, 88761]
    """
    return _apply("attach", se, cfs, kernel, weight)


def detach(se, cfs, *, kernel, weight):
    """A task's averages are taken off those of a CFS run queue, each down to zero at the least.

    Parameters, broadcasting and errors are those of `attach`.

    Returns
    -------
    se : array of STATE
        As it was.
    cfs : array of STATE
        Without the task. From 5.18 its sums are no less than 46718 times the averages left, and what
        is compared, and kept, is their low 32 bits: a load_sum above 2^32 is cut.

    Notes
    -----
    detach_entity_load_avg() of kernel/sched/fair.c; 98b0d890220d, 7ceb77103001, 95246d1ec80b and
    2d02fa8cc21a (5.17). Propagation to parent groups is left out.

    Examples
    --------
    Two tasks of nice -20 stay, one of nice 0 leaves:

    >>> from schedpy import pelt
    >>> cfs = pelt.initial_state(load_sum=(2 * 88761 + 1024) * 47741, load_avg=2 * 88761 + 1024)
    >>> se = pelt.initial_state(load_sum=47741, load_avg=1024)
    >>> [int(pelt.detach(se, cfs, kernel=k, weight=1024)[1]["load_sum"]) for k in ("5.16", "6.1")]
    [8475077802, 4180110506]
    """
    return _apply("detach", se, cfs, kernel, weight)


def post_init_entity_util_avg(*, kernel, cfs_util_avg, cfs_load_avg, capacity, se_load_weight_raw, **ufunc):
    """util_avg of a new task: its weight's share of the run queue's, at most half of what is left of the CPU.

    Parameters
    ----------
    kernel : str
        ``"4.10"`` .. ``"6.19"``.
    cfs_util_avg : array_like of int
        Of the run queue, unsigned 64 bit.
    cfs_load_avg : array_like of int
        Of the run queue, 0 .. 2^64 - 2.
    capacity : array_like of int
        Of the CPU, unsigned 64 bit. Up to 4.14 the kernel takes 1024 instead, and this is not read.
    se_load_weight_raw : array_like of int
        The task's weight with the 10 further bits that 64-bit kernels keep (nice 0 = 1048576), unsigned
        64 bit. Up to 6.9 the kernel uses it as it is: the share is 1024 times too large (72bffbf57c52).
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint64 array
        From 5.7 also the task's runnable_avg.

    Raises
    ------
    ValueError, TypeError
        A value out of range, something else than integers, a kernel outside the range.

    Notes
    -----
    post_init_entity_util_avg() of kernel/sched/fair.c, for a task of the fair class.

    Examples
    --------
    >>> from schedpy import pelt
    >>> given = {"cfs_util_avg": 100, "cfs_load_avg": 1024, "capacity": 1024, "se_load_weight_raw": 2**20}
    >>> [int(pelt.post_init_entity_util_avg(kernel=k, **given)) for k in ("6.9", "6.10")]
    [462, 99]
    """
    suffix = _POST_INIT[_kernel.form("pelt.post_init_entity_util_avg", kernel)]
    arguments = {
        "cfs_util_avg": as_int(cfs_util_avg, "cfs_util_avg", np.uint64),
        "cfs_load_avg": as_int(cfs_load_avg, "cfs_load_avg", np.uint64, high=2**64 - 2),
        "capacity": as_int(capacity, "capacity", np.uint64),
        "se_load_weight_raw": as_int(se_load_weight_raw, "se_load_weight_raw", np.uint64),
    }
    broadcast_shape(arguments)
    return getattr(_core, f"post_init_entity_util_avg_{suffix}")(*arguments.values(), **ufunc)
