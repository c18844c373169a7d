# SPDX-License-Identifier: GPL-2.0-only
"""The CPU for a waking task."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_choice, as_number
from schedpy._threads import in_threads
from schedpy.eas.cases import CALL, core_model, operands, refuse_out_of_range
from schedpy.kernel import form

__all__ = ["Placement", "find_energy_efficient_cpu"]


#: Placements per C call in threads: between two calls a KeyboardInterrupt ends the work.
_PIECE = 65536
_CALLER_LOOKS_AT_OVERUTILIZED = ("v6.12", "v7.3")
_WITHOUT_PRESSURE = ("v5.12", "v5.13")


@dataclass(frozen=True)
class Placement:
    """Where tasks go, and every energy that was computed on the way.

    Attributes
    ----------
    target : int64 array, shape (...)
        CPU; -1 where the energy-aware path gives up.
    calls : structured array, shape (..., 3 per domain)
        ``domain`` (its index), ``dst_cpu`` (-1: the task nowhere) and ``energy`` of each call of
        compute_energy() in order; padded with domain -1.
    count : int64 array, shape (...)
        How many calls there are.
    state : int32 array, shape (..., 3 per domain)
        Index of the performance state that each call looked up; -1 where it looked up none, because the
        domain is idle or it is padding.
    """

    target: np.ndarray | np.int64
    calls: np.ndarray
    count: np.ndarray | np.int64
    state: np.ndarray

    @property
    def walk_length(self):
        """How many states a table walk looks at to reach ``state``, per call; sum over the last axis."""
        return self.state + 1


def find_energy_efficient_cpu(
    model,
    task,
    cpus,
    *,
    kernel,
    method="walk",
    skip_inefficient=True,
    uclamp_used=False,
    overutilized=False,
    domain_mask=None,
    threads=1,
):
    """The CPU on which a waking task costs least.

    Parameters
    ----------
    model : EnergyModel
    task : structured array of `TASK`, shape (...)
        Made by `eas.task`.
    cpus : structured array of `CPU`, shape (..., model.nr_cpus)
        Made by `eas.idle_cpus` and filled in. ``util_avg`` of prev_cpu includes the task's.
    kernel : {"5.12", "5.13", "6.1", "6.12", "7.3"}
        5.12 and 5.13 as released, 6.1.192, 6.12.117, 7.3.4: patch levels differ. Between them the kernel did
        what is known from descriptions only: refused.
    method : {"walk", "lut"}
        "lut": with the look-up table of the 2021 patch, on 5.12.
    skip_inefficient : bool
        Whether inefficient states are passed over: by the look-up table, and by the walk from 6.1. The walk
        before never does.
    uclamp_used, overutilized : array_like of bool, shape (...)
        State of the machine. From 6.12 on the caller of the function looks at overutilized: no True then.
    domain_mask : array_like of int, shape (...), optional
        CPUs of the asymmetric scheduling domain, bit n for CPU n. None: all.
    threads : int
        Splits the leading dimensions.

    Returns
    -------
    Placement
        Leading dimensions of task, cpus (without its last one), flags and mask, broadcast.

    Raises
    ------
    ValueError
        prev_cpu that the model does not have; pressure above a CPU's capacity; a look-up that leaves the
        table of the patch, with its case, domain and request.

    Notes
    -----
    find_energy_efficient_cpu() of kernel/sched/fair.c. In 5.12 and 5.13 a candidate must save more than 1/16
    of the energy of the system with the task on prev_cpu, unsigned differences wrap, an offline CPU can be
    chosen, and runnable_avg, pressure and uclamp_idle are not looked at; runnable_avg is not in 6.1 either.

    Examples
    --------
    >>> from schedpy import eas, em
    >>> pixel4 = em.EnergyModel.load("pixel4")
    >>> cpus = eas.idle_cpus(pixel4)
    >>> cpus["util_avg"][7] = 640
    >>> place = eas.find_energy_efficient_cpu(pixel4, eas.task(prev_cpu=7, util_avg=640), cpus, kernel="5.12")
    >>> int(place.target)
    7
    >>> place.calls[: int(place.count)].tolist()
    [(0, -1, 0), (1, -1, 0), (1, 4, 659), (2, -1, 0), (2, 7, 701)]
    >>> later = eas.find_energy_efficient_cpu(pixel4, eas.task(prev_cpu=7, util_avg=640), cpus, kernel="6.1")
    >>> int(later.target)
    4
    """
    kind = _form(kernel, method)
    domains = core_model(model, kernel, method, skip_inefficient)
    reads, shape = operands(model, task, cpus, domain_mask, uclamp_used, overutilized)
    if kind in _CALLER_LOOKS_AT_OVERUTILIZED and reads[-1].any():
        raise ValueError(f"overutilized: from 6.12 on the caller looks at it, not kernel {kernel}")
    threads = as_number(threads, "threads", low=1)
    calls = np.empty((*shape, _core.EAS_CALLS_PER_DOMAIN * len(domains)), dtype=CALL)
    target = np.empty(shape, dtype=np.int64)
    count = np.empty(shape, dtype=np.int64)
    reads += (target, count, calls[..., 0])

    def refuse_range():
        refuse_out_of_range(model, task, cpus, pressure=kind not in _WITHOUT_PRESSURE)

    def place(part):
        mine = tuple(operand[part] if part else operand for operand in reads)
        past_end = _core.place(f"{kind}-{method}", domains, model.nr_cpus, *mine)
        if past_end is not None:
            refuse_range()
            _refuse_past_end(model, past_end, mine[0].shape, part)

    if target.size == 0:
        refuse_range()  # There is no case in which the core would see it.
    in_threads(place, shape, threads, pieces=max(threads, -(-target.size // _PIECE)))
    return Placement(
        target[()], calls[["domain", "dst_cpu", "energy"]], count[()], np.asarray(calls["state"])
    )


def _refuse_past_end(model, past_end, shape, part):
    case, domain, freq_req = past_end
    index = [int(i) for i in np.unravel_index(case, shape)]
    if part:
        index[len(part) - 1] += part[-1].start
    raise ValueError(
        f"task{index or ''}: the request of {freq_req} kHz makes the 2021 patch read past the end of the "
        f"look-up table of domain {model.domains[domain].name!r}"
    )


def _form(kernel, method):
    as_choice(method, "method", ("walk", "lut"))
    kind = form("eas.find_energy_efficient_cpu", kernel)
    if method == "lut":
        form("em.lut", kernel)
    return kind
