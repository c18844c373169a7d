# SPDX-License-Identifier: GPL-2.0-only
"""Timing placements call by call on this machine: the loop behind ``phases.measure`` and the sweeps."""

import platform
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from schedpy import eas, em, stopwatch
from schedpy._coerce import as_choices, as_number
from schedpy.eas.timing import PARTS
from schedpy.lab.timing import Timing

__all__ = ["ARMS", "Cases", "timed"]

KERNEL = "5.12"
ARMS = ("walk", "lut", "walk", "held")
_CHOICES = ("walk", "lut", "bins", "search", "direct", "held", "chained")
#: A sample shorter than this many steps of the counter is made of several calls.
_STEPS = 50
_MOST_CALLS = 10_000


@dataclass(frozen=True, eq=False)
class Cases:
    """Placements to be timed.

    Attributes
    ----------
    model : EnergyModel
    task : structured array of `eas.TASK`, shape (n,)
    cpus : structured array of `eas.CPU`, shape (n, CPUs)
    phase, duty_percent, cpu : array, one per row
        What the placements are grouped by.
    row : int64 array (n,)
    hz : int
        Of the kernel that the utilisations are from; 0 where they are from none.
    """

    model: em.EnergyModel
    task: np.ndarray
    cpus: np.ndarray
    phase: np.ndarray
    duty_percent: np.ndarray
    cpu: np.ndarray
    row: np.ndarray
    hz: int = 0


def timed(cases, *, repetitions, seed, arms, caches, working_set, evict, batch, cpu, progress):
    """The Timing of some Cases; the arguments are those of ``phases.measure``."""
    repetitions = as_number(repetitions, "repetitions", low=2, high=10_000)
    seed = as_number(seed, "seed", low=0)
    arms = as_choices(arms, "arms", _CHOICES)
    if arms[:3] != ARMS[:3]:
        raise ValueError(f"arms = {arms}: must begin with {ARMS[:3]}, the rest is free")
    if not len(cases.task):
        raise ValueError("inputs: there is no placement among them")
    how = {"caches": caches, "working_set": working_set, "evict": evict}
    n = len(cases.task)
    rng = np.random.default_rng(seed)
    ticks = np.empty((repetitions + 1, n, len(arms)), dtype=np.uint64)
    retimed, disturbed = np.empty((2, repetitions + 1), dtype=np.int64)
    with stopwatch.pinned(cpu) as pinned:
        counter = stopwatch.counter()
        batch = _batch(cases, arms, counter, how) if batch is None else batch
        rounds = tqdm(
            range(repetitions + 1),
            desc=f"placing, {caches}",
            unit="repetition",
            delay=2,
            leave=False,
            disable=None if progress else True,
        )
        for round_ in rounds:
            shuffled = rng.permutation(n)
            order = rng.permuted(np.tile(np.arange(len(arms)), (n, 1)), axis=1)
            times = _time(cases, shuffled, arms=arms, order=order, batch=batch, **how)
            ticks[round_, shuffled] = times.ticks
            retimed[round_], disturbed[round_] = times.retimed, times.disturbed
    return Timing(
        phase=cases.phase,
        duty_percent=cases.duty_percent,
        cpu=cases.cpu,
        row=cases.row,
        states=_visited(cases),
        ticks=ticks[1:],
        retimed=retimed[1:],
        disturbed=disturbed[1:],
        arms=arms,
        caches=caches,
        evicted=(PARTS if evict is None else tuple(evict)) if caches == "cold" else (),
        working_set=times.working_set,
        batch=batch,
        ns_per_tick=counter.ns_per_tick,
        step_ticks=counter.step_ticks,
        bracket_ticks=counter.bracket_ticks,
        counter=counter.name,
        host=_host(),
        pinned=pinned,
        seed=seed,
        hz=cases.hz,
        model=cases.model.name,
    )


def _time(cases, chosen, **how):
    return eas.time_placements(
        cases.model, cases.task[chosen], cases.cpus[chosen], kernel=KERNEL, skip_inefficient=False, **how
    )


def _batch(cases, arms, counter, how):
    """How many calls a sample needs so that the counter's step does not show."""
    if how["caches"] != "warm":
        return 1
    some = np.arange(min(len(cases.task), 1000))
    ticks = _time(cases, some, arms=arms, **how).ticks.astype(np.int64)
    shortest = max(int(np.median(ticks, axis=0).min()) - counter.bracket_ticks, 1)
    return min(-(-_STEPS * counter.step_ticks // shortest), _MOST_CALLS)


def _visited(cases):
    placed = eas.find_energy_efficient_cpu(
        cases.model, cases.task, cases.cpus, kernel=KERNEL, skip_inefficient=False
    )
    return placed.walk_length.sum(axis=-1).astype(np.int64)


def _host():
    """The processor by name, where the kernel tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
