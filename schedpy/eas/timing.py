# SPDX-License-Identifier: GPL-2.0-only
"""How long it takes this machine to find the CPU for a waking task."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from schedpy import _core
from schedpy._coerce import as_choice, as_choices, as_int, as_number
from schedpy.eas.cases import core_model, operands, refuse_out_of_range
from schedpy.eas.placement import find_energy_efficient_cpu
from schedpy.kernel import form

__all__ = ["PARTS", "PlacementTimes", "time_placements"]

_ARMS = ("walk", "lut", "bins", "search", "direct", "held", "chained")
_BY_BINS = ("lut", "held")
_WAYS = ("bins", "search", "direct")
#: What a cold call finds in no cache, in the order of the core's bits.
PARTS = ("states", "entries", "held", "domains", "run queues")
#: Bytes of a cache line, and of a state, an entry of the patch and a bin of "held" as they are timed.
LINE, STATE, ENTRY, BIN = (
    _core.EAS_LINE,
    _core.EM_TIMED_STATE_BYTES,
    _core.EM_TIMED_ENTRY_BYTES,
    _core.EM_TIMED_BIN_BYTES,
)
_WORKING_SET = 256 * 1024
_MOST_BYTES = 2**31
_MOST_CALLS = 1_000_000
_SIZES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True, eq=False)
class PlacementTimes:
    """What timing some placements gave.

    Attributes
    ----------
    ticks : uint64 array, shape (n, arms)
        Of the CPU's counter, for all calls of a batch, what an empty bracket costs included.
    target : int64 array, shape (n, arms)
        The CPU that each arm chose.
    retimed : int
        Groups of up to eight cases that were timed again, because another task had taken the CPU meanwhile.
    disturbed : int
        Groups of which no undisturbed timing was got in 20.
    working_set : int
        Bytes walked before each call; 0 where none are.
    """

    ticks: np.ndarray
    target: np.ndarray
    retimed: int
    disturbed: int
    working_set: int


def time_placements(
    model,
    task,
    cpus,
    *,
    kernel,
    arms=("walk", "lut", "walk"),
    order=None,
    caches="warm",
    working_set=None,
    evict=None,
    batch=1,
    skip_inefficient=False,
    uclamp_used=False,
    overutilized=False,
    domain_mask=None,
):
    """How long placements take on this machine, case by case and arm by arm.

    The call does the kernel's work and nothing else, over tables laid out as 5.12 lays them out (24 bytes a
    state, a pointer an entry); run queues are one structure here, and several far apart in the kernel.

    Parameters
    ----------
    model, task, cpus, kernel, uclamp_used, overutilized, domain_mask
        As in `find_energy_efficient_cpu`, with one leading dimension: n cases. Kernel "5.12".
    arms : sequence of {"walk", "lut", "bins", "search", "direct", "held", "chained"}
        What is timed for each case, at most 16; an arm that occurs twice shows how much equal arms differ.
        "lut": the table of the 2021 patch, from an entry to a state. No kernel has the others. "bins",
        "search", "direct": the variants of `schedpy.em.PerfDomain.lut`. "held": the patch's bins, holding the
        states' frequencies and costs themselves, so that nothing has to be followed. "chained": the walk,
        where each state's place is computed from the one before, so that its loads cannot overlap.
    order : array_like of int, shape (n, len(arms)), optional
        A permutation of the arms' indexes per case: the order in which they run. None: as given.
    caches : {"warm", "cold", "shared"}
        "warm": what the case reads is touched before the first arm. "cold": before each call what `evict`
        names is thrown out of all caches (clflush on x86; elsewhere a walk over twice the largest cache
        throws out everything). "shared": before each call a working set is walked, one load a line.
    working_set : int, optional
        Bytes, for "shared" alone; None: 262144.
    evict : sequence of {"states", "entries", "held", "domains", "run queues"}, optional
        For "cold" alone: the states, the tables of "lut", "bins", "search" and "direct", that of "held", what
        points to them, and the task with its CPUs. None: all of them.
    batch : int
        Calls of one case in one bracket, for "warm" alone: where a call is shorter than a few steps of the
        counter.
    skip_inefficient : bool
        Whether inefficient states are passed over by all but the walks. False: as in the mail of 2021.

    Returns
    -------
    PlacementTimes

    Raises
    ------
    ValueError
        A look-up that leaves the table of the patch, with its case, domain and request; a parameter that
        the caches chosen do not use.

    Examples
    --------
    >>> from schedpy import eas, em
    >>> pixel4 = em.EnergyModel.load("pixel4")
    >>> tasks = eas.task(prev_cpu=0, util_avg=[128, 256])
    >>> times = eas.time_placements(pixel4, tasks, eas.idle_cpus(pixel4), kernel="5.12", caches="cold")
    >>> times.ticks.shape, times.target.tolist()
    ((2, 3), [[0, 0, 0], [4, 4, 4]])
    """
    arms = as_choices(arms, "arms", _ARMS)
    if not 1 <= len(arms) <= 16:
        raise ValueError(f"arms has {len(arms)}: must be 1 .. 16 of {', '.join(_ARMS)}")
    form("eas.find_energy_efficient_cpu", kernel)
    form("em.lut", kernel)
    parts, bytes_walked, batch = _caches(caches, working_set, evict, batch)
    domains = core_model(model, kernel, "lut", skip_inefficient, all_ways=not set(_WAYS).isdisjoint(arms))
    reads, shape = operands(model, task, cpus, domain_mask, uclamp_used, overutilized)
    refuse_out_of_range(model, task, cpus, pressure=False)
    if len(shape) != 1:
        raise ValueError(f"the cases have shape {shape}: must be one dimension")
    order = _order(order, shape[0], len(arms))
    if set(arms) & set(_BY_BINS):
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
    target = np.empty(ticks.shape, dtype=np.int64)
    # Written to, for pages that nobody ever wrote to are all one page of zeros.
    walked = np.ones(bytes_walked, dtype=np.uint8)
    retimed, disturbed = _core.time_placements(
        *(domains, model.nr_cpus, *reads, arms, order, parts, walked, batch, ticks, target)
    )
    return PlacementTimes(ticks, target, retimed, disturbed, bytes_walked)


def _caches(caches, working_set, evict, batch):
    """The bits of what is evicted, how many bytes are walked, and the batch."""
    as_choice(caches, "caches", ("warm", "cold", "shared"))
    batch = as_number(batch, "batch", low=1, high=_MOST_CALLS)
    if batch > 1 and caches != "warm":
        raise ValueError(f'batch = {batch}: the second call finds warm caches, not "{caches}" ones')
    if working_set is not None and caches != "shared":
        raise ValueError(f'working_set: is walked with caches="shared" alone, not "{caches}"')
    if evict is not None and caches != "cold":
        raise ValueError(f'evict: is thrown out with caches="cold" alone, not "{caches}"')
    if caches == "shared":
        size = _WORKING_SET if working_set is None else working_set
        return 0, as_number(size, "working_set", low=_core.EAS_LINE, high=_MOST_BYTES), batch
    if caches == "warm":
        return 0, 0, batch
    chosen = PARTS if evict is None else as_choices(evict, "evict", PARTS)
    if not chosen:
        raise ValueError(f"evict is empty: must be of {', '.join(PARTS)}")
    if _core.EAS_CAN_EVICT:
        return sum(1 << PARTS.index(part) for part in set(chosen)), 0, batch
    if evict is not None:
        raise ValueError("evict: this processor has no instruction for it; None walks everything out")
    return 0, 2 * _largest_cache(), batch


def _largest_cache():
    """In bytes, as Linux tells it; 64 MiB where it does not."""
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    sizes = [path.read_text(encoding="ascii").strip() for path in _SIZES.glob("index*/size")]
    return max((int(size[:-1]) * units[size[-1]] for size in sizes), default=64 * 2**20)


def _order(order, cases, arms):
    if order is None:
        return np.tile(np.arange(arms, dtype=np.int64), (cases, 1))
    order = np.ascontiguousarray(as_int(order, "order", np.int64, low=0, high=arms - 1))
    if order.shape != (cases, arms):
        raise ValueError(f"order has shape {order.shape}: must be {(cases, arms)}, a permutation per case")
    wrong = (np.sort(order, axis=1) != np.arange(arms)).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"order[{first}] = {order[first].tolist()}: must be a permutation of 0 .. {arms - 1}"
        )
    return order
