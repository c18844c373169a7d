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
    """Effective utilisation of both kinds, uint64: what the frequency must serve, and the busy time."""

    freq_util: np.ndarray | np.uint64
    energy_util: np.ndarray | np.uint64


def cpu_util(
    cpu, dst_cpu, *, kernel, prev_cpu, util_avg, util_est, cpu_util_avg, cpu_util_est, scale_cpu, **ufunc
):
    """Utilisation that a CPU would have with a waking task on another, or on it.

    Parameters
    ----------
    cpu : array_like of int
        The CPU's number.
    dst_cpu : array_like of int
        Where the task would go; -1: nowhere.
    kernel : {"5.12", "5.13"}
        Up to 5.12 a flag in the task's util_est leaks: its estimate is never 0.
    prev_cpu, util_avg, util_est : array_like of int
        The task: where it last ran, its average and its estimate without the flag bit.
    cpu_util_avg, cpu_util_est : array_like of int
        The CPU's CFS run queue. On prev_cpu the average includes the task's.
    scale_cpu : array_like of int
        The CPU's capacity.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        The larger of average and estimate, at most scale_cpu.

    Notes
    -----
    cpu_util_next() of kernel/sched/fair.c.

    Examples
    --------
    >>> from schedpy import eas
    >>> eas.cpu_util([4, 7], 7, kernel="5.12", prev_cpu=4, util_avg=300, util_est=310,
    ...              cpu_util_avg=[320, 0], cpu_util_est=0, scale_cpu=[871, 1024]).tolist()
    [20, 311]
    """
    compute = {"v5.12": _core.eas_cpu_util_v5_12, "v5.13": _core.eas_cpu_util_v5_13}
    return compute[form("eas.cpu_util", kernel)](
        as_int(cpu, "cpu", np.int64, low=0, high=63),
        as_int(dst_cpu, "dst_cpu", np.int64, low=-1, high=63),
        as_int(prev_cpu, "prev_cpu", np.int64, low=0, high=63),
        as_int(util_avg, "util_avg", np.uint64),
        as_int(util_est, "util_est", np.uint64),
        as_int(cpu_util_avg, "cpu_util_avg", np.uint64),
        as_int(cpu_util_est, "cpu_util_est", np.uint64),
        as_int(scale_cpu, "scale_cpu", np.uint64),
        **ufunc,
    )


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
        5.12 or 5.13.
    max : array_like of int
        Capacity of the CPU.
    bw_dl : array_like of int
        Bandwidth that deadline tasks have reserved.
    rq_uclamp_min, rq_uclamp_max : array_like of int
        Clamps of the run queue, 0 .. 1024.
    rq_uclamp_idle : array_like of bool
        The run queue is flagged idle. These kernels join the clamps regardless of it.
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
        ``freq_util`` (kind FREQUENCY) and ``energy_util`` (kind ENERGY), at most ``max``.

    Notes
    -----
    schedutil_cpu_util() of kernel/sched/cpufreq_schedutil.c.

    Examples
    --------
    >>> from schedpy import eas
    >>> util = eas.effective_cpu_util(
    ...     300, kernel="5.12", max=871, irq=100, uclamp_used=True, rq_uclamp_min=400
    ... )
    >>> int(util.freq_util), int(util.energy_util)
    (454, 365)
    """
    form("eas.effective_cpu_util", kernel)
    as_bool(rq_uclamp_idle, "rq_uclamp_idle")
    return EffectiveUtil(
        *_core.eas_effective_util_v5_12(
            as_int(util_cfs, "util_cfs", np.uint64),
            as_int(rt, "rt", np.uint64),
            as_int(dl, "dl", np.uint64),
            as_int(bw_dl, "bw_dl", np.uint64),
            as_int(irq, "irq", np.uint64),
            as_int(max, "max", np.uint64),
            as_int(rq_uclamp_min, "rq_uclamp_min", np.uint64, high=1024),
            as_int(rq_uclamp_max, "rq_uclamp_max", np.uint64, high=1024),
            as_bool(rt_runnable, "rt_runnable"),
            as_bool(uclamp_used, "uclamp_used"),
            as_int(task_uclamp_min, "task_uclamp_min", np.uint64, high=1024),
            as_int(task_uclamp_max, "task_uclamp_max", np.uint64, high=1024),
            as_bool(has_task, "has_task"),
            **ufunc,
        )
    )


def util_fits_cpu(util, capacity_of, *, kernel, **ufunc):
    """Whether a utilisation fits on a CPU.

    Parameters
    ----------
    util : array_like of int
        Utilisation, clamped where uclamp is in use.
    capacity_of : array_like of int
        What the CPU's capacity leaves for CFS tasks.
    kernel : str
        5.12 or 5.13.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    bool array
        ``util * 1280 < capacity_of * 1024``: strictly below 80 %.

    Notes
    -----
    fits_capacity() of kernel/sched/fair.c; util_fits_cpu() took its place later.

    Examples
    --------
    >>> from schedpy import eas
    >>> eas.util_fits_cpu([819, 820], 1024, kernel="5.12").tolist()
    [True, False]
    """
    form("eas.util_fits_cpu", kernel)
    return _core.fits_capacity(
        as_int(util, "util", np.uint64), as_int(capacity_of, "capacity_of", np.uint64), **ufunc
    )
