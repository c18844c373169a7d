# SPDX-License-Identifier: GPL-2.0-only
"""Utilisation of a CPU, and whether it fits."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_bool, as_int
from schedpy.kernel import form

__all__ = ["EffectiveUtil", "cpu_util", "effective_cpu_util", "util_fits_cpu"]


@dataclass(frozen=True)
class EffectiveUtil:
    """Effective utilisation of both kinds, uint64: what the frequency must serve, and the busy time.

    From 6.12 the first includes the head-room, and ``min`` and ``max`` are what bounds it on a CPU without
    the task; None before.
    """

    freq_util: np.ndarray | np.uint64
    energy_util: np.ndarray | np.uint64
    min: np.ndarray | np.uint64 | None = None
    max: np.ndarray | np.uint64 | None = None


def cpu_util(
    cpu,
    dst_cpu,
    *,
    kernel,
    prev_cpu,
    util_avg,
    util_est,
    cpu_util_avg,
    cpu_util_est,
    scale_cpu,
    runnable_avg=None,
    cpu_runnable_avg=None,
    **ufunc,
):
    """Utilisation that a CPU would have with a waking task on another, or on it.

    Parameters
    ----------
    cpu : array_like of int
        The CPU's number.
    dst_cpu : array_like of int
        Where the task would go; -1: nowhere.
    kernel : {"5.12", "5.13", "6.1", "6.12", "7.3"}
        Up to 5.12 a flag in the task's util_est leaks: its estimate is never 0.
    prev_cpu, util_avg, util_est : array_like of int
        The task: where it last ran, its average and its estimate without the flag bit.
    cpu_util_avg, cpu_util_est : array_like of int
        The CPU's CFS run queue. On prev_cpu the average includes the task's.
    scale_cpu : array_like of int
        The CPU's capacity.
    runnable_avg, cpu_runnable_avg : array_like of int, optional
        6.12 and later, both or none: the task's and the CPU's runnable_avg, which count for the frequency.
        With them the result is what the kernel calls boosted.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        The larger of average and estimate, at most scale_cpu.

    Notes
    -----
    cpu_util_next(), later cpu_util(), of kernel/sched/fair.c, for a task that is not queued.

    Examples
    --------
    >>> from schedpy import eas
    >>> eas.cpu_util([4, 7], 7, kernel="5.12", prev_cpu=4, util_avg=300, util_est=310,
    ...              cpu_util_avg=[320, 0], cpu_util_est=0, scale_cpu=[871, 1024]).tolist()
    [20, 311]
    """
    kind = form("eas.cpu_util", kernel)
    where = (
        as_int(cpu, "cpu", np.int64, low=0, high=63),
        as_int(dst_cpu, "dst_cpu", np.int64, low=-1, high=63),
        as_int(prev_cpu, "prev_cpu", np.int64, low=0, high=63),
    )
    task = [as_int(util_avg, "util_avg", np.uint64), as_int(util_est, "util_est", np.uint64)]
    rq = [as_int(cpu_util_avg, "cpu_util_avg", np.uint64), as_int(cpu_util_est, "cpu_util_est", np.uint64)]
    compute = _core.eas_cpu_util_v5_12 if kind == "v5.12" else _core.eas_cpu_util_v5_13
    boost = {"runnable_avg": runnable_avg, "cpu_runnable_avg": cpu_runnable_avg}
    given = [name for name, value in boost.items() if value is not None]
    if given and kind != "v6.12":
        raise ValueError(f"{given[0]}: kernels 6.12 and later look at it, not {kernel}")
    if len(given) == 1:
        raise TypeError(f"{next(name for name in boost if name not in given)} is required beside {given[0]}")
    if given:
        task.append(as_int(runnable_avg, "runnable_avg", np.uint64))
        rq.append(as_int(cpu_runnable_avg, "cpu_runnable_avg", np.uint64))
        compute = _core.eas_cpu_util_boost_v6_12
    return compute(*where, *task, *rq, as_int(scale_cpu, "scale_cpu", np.uint64), **ufunc)


def effective_cpu_util(
    util_cfs,
    *,
    kernel,
    max,
    rt=0,
    dl=0,
    bw_dl=0,
    irq=0,
    rq_uclamp_min=0,
    rq_uclamp_max=1024,
    rq_uclamp_idle=False,
    rt_runnable=False,
    uclamp_used=False,
    task_uclamp_min=0,
    task_uclamp_max=1024,
    has_task=False,
    **ufunc,
):
    """Utilisation of a CPU by all scheduling classes together.

    Parameters
    ----------
    util_cfs, rt, dl, irq : array_like of int
        Utilisation by CFS, real-time and deadline tasks and by interrupts.
    kernel : str
        5.12, 5.13, 6.1 .. 6.7 and 6.12 .. 7.3.
    max : array_like of int
        Capacity of the CPU.
    bw_dl : array_like of int
        Bandwidth that deadline tasks have reserved.
    rq_uclamp_min, rq_uclamp_max : array_like of int
        Clamps of the run queue, 0 .. 1024.
    rq_uclamp_idle : array_like of bool
        The run queue is flagged idle: from 5.14 its clamps do not count beside a task's.
    rt_runnable : array_like of bool
        A real-time task is runnable.
    uclamp_used : array_like of bool
        Uclamp is in use on the machine.
    task_uclamp_min, task_uclamp_max : array_like of int
        Clamps of the waking task, 0 .. 1024; they count where ``has_task``.
    has_task : array_like of bool
        The waking task is placed on this CPU.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    EffectiveUtil
        ``freq_util`` (kind FREQUENCY) and ``energy_util`` (kind ENERGY), at most ``max``. From 6.12 the first
        is the performance asked for, head-room included, and there are ``min`` and ``max``.

    Notes
    -----
    schedutil_cpu_util() of kernel/sched/cpufreq_schedutil.c, effective_cpu_util() of kernel/sched/core.c, and
    from 6.12 of kernel/sched/syscalls.c with sugov_effective_cpu_perf().

    Examples
    --------
    >>> from schedpy import eas
    >>> util = eas.effective_cpu_util(
    ...     300, kernel="5.12", max=871, irq=100, uclamp_used=True, rq_uclamp_min=400
    ... )
    >>> int(util.freq_util), int(util.energy_util)
    (454, 365)
    """
    kind = form("eas.effective_cpu_util", kernel)
    idle = as_bool(rq_uclamp_idle, "rq_uclamp_idle")
    compute = {
        "v5.12": _core.eas_effective_util_v5_12,
        "v6.1": _core.eas_effective_util_v6_1,
        "v6.12": _core.eas_effective_util_v6_12,
    }[kind]
    return EffectiveUtil(
        *compute(
            as_int(util_cfs, "util_cfs", np.uint64),
            as_int(rt, "rt", np.uint64),
            as_int(dl, "dl", np.uint64),
            as_int(bw_dl, "bw_dl", np.uint64),
            as_int(irq, "irq", np.uint64),
            as_int(max, "max", np.uint64),
            as_int(rq_uclamp_min, "rq_uclamp_min", np.uint64, high=1024),
            as_int(rq_uclamp_max, "rq_uclamp_max", np.uint64, high=1024),
            *(() if kind == "v5.12" else (idle,)),
            as_bool(rt_runnable, "rt_runnable"),
            as_bool(uclamp_used, "uclamp_used"),
            as_int(task_uclamp_min, "task_uclamp_min", np.uint64, high=1024),
            as_int(task_uclamp_max, "task_uclamp_max", np.uint64, high=1024),
            as_bool(has_task, "has_task"),
            **ufunc,
        )
    )


def util_fits_cpu(
    util,
    capacity_of,
    *,
    kernel,
    uclamp_min=0,
    uclamp_max=1024,
    capacity_orig=None,
    pressure=0,
    uclamp_used=False,
    **ufunc,
):
    """Whether a utilisation fits on a CPU.

    Parameters
    ----------
    util : array_like of int
        Utilisation; up to 5.13 clamped where uclamp is in use.
    capacity_of : array_like of int
        What the CPU's capacity leaves for CFS tasks.
    kernel : str
        5.12, 5.13, 6.1 .. 6.7 and 6.12 .. 7.3.
    uclamp_min, uclamp_max : array_like of int
        From 6.1: the clamps, 0 .. 1024.
    capacity_orig : array_like of int, optional
        From 6.1, required there: the CPU's capacity.
    pressure : array_like of int
        From 6.1: what thermal or hardware limits take of it; more than all of it wraps.
    uclamp_used : array_like of bool
        From 6.1: uclamp is in use on the machine. If not, clamps and pressure do not count.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    array
        5.12, 5.13: bool, ``util * 1280 < capacity_of * 1024``: strictly below 80 %. From 6.1: int64,
        1 it fits, 0 it does not, -1 it fits, but pressure leaves less than uclamp_min asks for.

    Notes
    -----
    fits_capacity() and util_fits_cpu() of kernel/sched/fair.c.

    Examples
    --------
    >>> from schedpy import eas
    >>> eas.util_fits_cpu([819, 820], 1024, kernel="5.12").tolist()
    [True, False]
    >>> clamped = {"capacity_orig": 871, "uclamp_min": 700, "uclamp_used": True}
    >>> eas.util_fits_cpu([600, 600, 800], 871, kernel="6.1", pressure=[0, 200, 0], **clamped).tolist()
    [1, -1, 0]
    """
    kind = form("eas.util_fits_cpu", kernel)
    util, capacity_of = as_int(util, "util", np.uint64), as_int(capacity_of, "capacity_of", np.uint64)
    low = as_int(uclamp_min, "uclamp_min", np.uint64, high=1024)
    high = as_int(uclamp_max, "uclamp_max", np.uint64, high=1024)
    taken = as_int(pressure, "pressure", np.uint64)
    used = as_bool(uclamp_used, "uclamp_used")
    if kind == "v5.12":
        clamps = {
            "uclamp_min": low != 0,
            "uclamp_max": high != 1024,
            "pressure": taken != 0,
            "uclamp_used": used,
        }
        clamps["capacity_orig"] = capacity_orig is not None
        for name, given in clamps.items():
            if np.any(given):
                raise ValueError(f"{name}: kernels from 6.1 on look at it, not {kernel}")
        return _core.fits_capacity(util, capacity_of, **ufunc)
    if capacity_orig is None:
        raise TypeError(f"capacity_orig is required for kernel {kernel}")
    orig = as_int(capacity_orig, "capacity_orig", np.uint64)
    return _core.eas_util_fits_cpu_v6_1(util, low, high, orig, capacity_of, taken, used, **ufunc)
