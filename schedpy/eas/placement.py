# SPDX-License-Identifier: GPL-2.0-only
"""The CPU for a waking task, and how long it takes to find it."""

from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_choice, as_choices, as_int, as_number
from schedpy._threads import in_threads
from schedpy.eas.cases import CALL, core_model, operands, refuse_out_of_range
from schedpy.kernel import form

__all__ = ["Placement", "find_energy_efficient_cpu", "time_placements"]


#: Placements per C call in threads: between two calls a KeyboardInterrupt ends the work.
_PIECE = 65536
#: Ways to a state that can be timed, in the core's order.
_ARMS = ("walk", "lut", "bins", "search", "direct")
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


def time_placements(
    model,
    task,
    cpus,
    *,
    kernel,
    arms=("walk", "lut", "walk"),
    skip_inefficient=False,
    order=None,
    uclamp_used=False,
    overutilized=False,
    domain_mask=None,
):
    """How long placements take on this machine, case by case and arm by arm.

    Parameters
    ----------
    model, task, cpus, kernel, uclamp_used, overutilized, domain_mask
        As in `find_energy_efficient_cpu`, with one leading dimension: n cases. Kernel "5.12".
    arms : sequence of {"walk", "lut", "bins", "search", "direct"}
        What is timed for each case: the way to a state, of the kernel, of the patch, or one that no kernel
        has (see `schedpy.em.PerfDomain.lut`). An arm that occurs twice shows how much equal arms differ.
    skip_inefficient : bool
        Whether inefficient states are passed over by all but the walk. False: as in the measurement of
        28 April 2021.
    order : array_like of int, shape (n, len(arms)), optional
        A permutation of the arms' indexes per case: the order in which they run. None: as given.

    Returns
    -------
    uint64 array, shape (n, len(arms))
        Ticks of the CPU's counter around one call, per arm in the order of ``arms``. The call does the
        kernel's work and nothing else: no energies are kept. What a case reads is in the cache before the
        first arm.

    Examples
    --------
    >>> from schedpy import eas, em
    >>> pixel4 = em.EnergyModel.load("pixel4")
    >>> tasks = eas.task(prev_cpu=0, util_avg=[128, 256])
    >>> eas.time_placements(pixel4, tasks, eas.idle_cpus(pixel4), kernel="5.12").shape
    (2, 3)
    """
    arms = as_choices(arms, "arms", _ARMS)
    if not arms:
        raise ValueError(f"arms is empty: must hold any of {', '.join(_ARMS)}")
    _form(kernel, "lut")
    domains = core_model(model, kernel, "lut", skip_inefficient, all_ways=not {*arms} <= {"walk", "lut"})
    reads, shape = operands(model, task, cpus, domain_mask, uclamp_used, overutilized)
    refuse_out_of_range(model, task, cpus, pressure=False)
    if len(shape) != 1:
        raise ValueError(f"the cases have shape {shape}: must be one dimension")
    order = _order(order, shape[0], len(arms))
    if "lut" in arms:
        find_energy_efficient_cpu(
            model,
            task,
            cpus,
            kernel=kernel,
            method="lut",
            skip_inefficient=skip_inefficient,
            uclamp_used=uclamp_used,
            overutilized=overutilized,
            domain_mask=domain_mask,
        )
    ticks = np.empty((shape[0], len(arms)), dtype=np.uint64)
    ways = np.array([_ARMS.index(arm) for arm in arms], dtype=np.int64)
    _core.time_placements(*(domains, model.nr_cpus, *reads, ways, order, ticks))
    return ticks


def _refuse_past_end(model, past_end, shape, part):
    case, domain, freq_req = past_end
    index = [int(i) for i in np.unravel_index(case, shape)]
    if part:
        index[len(part) - 1] += part[-1].start
    raise ValueError(
        f"task{index or ''}: the request of {freq_req} kHz makes the 2021 patch read past the end of the "
        f"look-up table of domain {model.domains[domain].name!r}"
    )


def _order(order, cases, arms):
    if order is None:
        return np.broadcast_to(np.arange(arms, dtype=np.int64), (cases, arms))
    order = as_int(order, "order", np.int64, low=0, high=arms - 1)
    if order.shape != (cases, arms):
        raise ValueError(f"order has shape {order.shape}: must be {(cases, arms)}, a permutation per case")
    wrong = (np.sort(order, axis=1) != np.arange(arms)).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"order[{first}] = {order[first].tolist()}: must be a permutation of 0 .. {arms - 1}"
        )
    return order


def _form(kernel, method):
    as_choice(method, "method", ("walk", "lut"))
    kind = form("eas.find_energy_efficient_cpu", kernel)
    if method == "lut":
        form("em.lut", kernel)
    return kind
