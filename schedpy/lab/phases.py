# SPDX-License-Identifier: GPL-2.0-only
"""How long find_energy_efficient_cpu() takes without and with a look-up table: the mails of April 2021.

A task climbs a staircase of duty cycles, 12.5 % to 75 % in six phases, and every placement at a wake-up
is timed: once with the walk over the table of performance states, once with the look-up table (LUT) that
the patch proposed. Three things can be done with the two mails without the phone: recompute what their
figures say, derive the CPU column from the arithmetic of 5.12 and the phone's energy model, and repeat
the experiment on another machine, with the same placements but that machine's nanoseconds.
"""

import numpy as np
import pandas as pd

from schedpy import eas, em, pelt, workload
from schedpy.kernel import form
from schedpy.lab import phases_verdicts
from schedpy.lab.phases_claims import as_verdicts, claims
from schedpy.lab.phases_device import Device
from schedpy.lab.phases_gains import coverage, gains
from schedpy.lab.phases_measure import ARMS, Cases, timed
from schedpy.lab.phases_needed import left_out, needed, sample_tests
from schedpy.lab.phases_recorded import recorded
from schedpy.lab.phases_share import (
    decisions,
    mid_share,
    published_shares,
    savings,
    settled_util,
)
from schedpy.lab.phases_simulation import Simulation
from schedpy.lab.phases_staircase import simulate, simulate_devices
from schedpy.lab.phases_story import beside_the_mail, is_of_the_mail, story
from schedpy.lab.phases_tables import CPU_NAMES, inconsistencies, published, table
from schedpy.lab.phases_why import by_length, by_part, by_platform, explained, memory, slopes

__all__ = [
    "Device",
    "Simulation",
    "as_verdicts",
    "beside_the_mail",
    "by_length",
    "by_part",
    "by_platform",
    "claims",
    "coverage",
    "decisions",
    "explained",
    "gains",
    "inconsistencies",
    "is_of_the_mail",
    "left_out",
    "measure",
    "memory",
    "mid_share",
    "needed",
    "placements",
    "published",
    "published_shares",
    "recorded",
    "sample_tests",
    "savings",
    "settled_util",
    "simulate",
    "simulate_devices",
    "slopes",
    "story",
    "summary",
    "table",
    "verdicts",
    "wakeups",
]

KERNEL = "5.12"
#: Forms of the placement in which a candidate has to save more than 1/16 of the system's energy.
_WITH_MARGIN = ("v5.12", "v5.13")
_SIMULATED = ("model", "phase", "waking_cpu", "duty_percent", "hz", "cases")


# The CPU column out of the arithmetic


def _model(model):
    """The model, and the first CPU of each domain under the mail's name for it."""
    model = em.EnergyModel.load(model) if isinstance(model, str) else model
    if not isinstance(model, em.EnergyModel):
        raise TypeError(f"model must be a name or an EnergyModel, not {type(model).__name__}")
    names = [domain.name for domain in model.domains]
    if sorted(names) != sorted(CPU_NAMES):
        raise ValueError(f"model has the domains {', '.join(names)}: must have {', '.join(CPU_NAMES)}")
    return model, {CPU_NAMES[domain.name]: min(domain.cpus) for domain in model.domains}


def _cpu_name(model, cpu):
    return next((CPU_NAMES[domain.name] for domain in model.domains if cpu in domain.cpus), None)


def _system(model, prev_cpu, util_avg, util_est):
    """Waking tasks of an idle system: (n,) tasks, (n, CPUs) CPUs; prev_cpu still holds the task's average."""
    task = eas.task(prev_cpu=prev_cpu, util_avg=util_avg, util_est=util_est)
    cpus = eas.idle_cpus(model, task.shape)
    cpus["util_avg"][np.arange(task.size), task["prev_cpu"]] = task["util_avg"]
    return task, cpus


def placements(model="pixel4", *, kernel=KERNEL, method="walk"):
    """Where each phase's task goes, from every kind of CPU it can have been on, and the energies that decide.

    Exact: the kernel's arithmetic on the model. Simplified: util_avg and util_est are the duty
    cycle itself (1024 * duty, util_avg at most the capacity of the CPU it was on), and every other CPU is
    idle and empty. The mail's column is the CPU that ran the function, the waking one, and not the one
    chosen: the two agree where a task stays (``stays``) and its timer fires where it went to sleep.

    Parameters
    ----------
    model : str or EnergyModel
        With the domains little, mid and prime.
    kernel : str
        Whose placement: "5.12", "5.13", "6.1", "6.12" or "7.3".
    method : {"walk", "lut"}
        The look-up table exists for 5.12 alone; both give the same CPUs here.

    Returns
    -------
    DataFrame
        One row per phase and kind of CPU that the task was on (``prev``). ``target``: the kind it goes to;
        ``stays``: the same. ``Little``, ``Mid``, ``Big``: the energy the task adds there, missing where
        it does not fit. ``gap``: what the best one saves over staying; ``threshold``: what it must
        exceed: (energy of staying + energy without the task) / 16 in 5.12 and 5.13, nothing later, which
        look at fewer CPUs. Both are missing where the task does not fit where it was.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> rows = phases.placements()
    >>> row = rows.loc[(4, "Big")]
    >>> row["target"], *row[["Mid", "Big", "gap", "threshold"]].map(int)
    ('Big', 659, 701, 42, 43)
    """
    model, first_cpu = _model(model)
    duty = published().groupby("phase")["duty_percent"].first()
    rows = pd.MultiIndex.from_product([duty.index, first_cpu], names=["phase", "prev"])
    util = (1024 * duty.loc[rows.get_level_values("phase")] / 100).to_numpy().astype(np.int64)
    prev_cpu = np.array([first_cpu[name] for name in rows.get_level_values("prev")])
    capacity = {cpu: domain.capacity for domain in model.domains for cpu in domain.cpus}
    task, cpus = _system(model, prev_cpu, np.minimum(util, [capacity[cpu] for cpu in prev_cpu]), util)
    placed = eas.find_energy_efficient_cpu(
        model, task, cpus, kernel=kernel, method=method, skip_inefficient=False
    )
    with_margin = form("eas.find_energy_efficient_cpu", kernel) in _WITH_MARGIN
    decided = [
        _decision(model, int(prev), target, calls, with_margin)
        for prev, target, calls in zip(prev_cpu, placed.target, _calls(placed), strict=True)
    ]
    frame = pd.DataFrame(decided, index=rows)
    frame.insert(0, "util", util)
    frame.insert(0, "duty_percent", duty.loc[rows.get_level_values("phase")].to_numpy())
    frame.insert(3, "stays", frame["target"] == rows.get_level_values("prev"))
    energies = [*CPU_NAMES.values(), "gap", "threshold"]
    return frame.astype(dict.fromkeys(energies, "Int64"))


def _calls(placed):
    """Per placement the calls of compute_energy() as (domain, dst_cpu, energy)."""
    for calls, count in zip(placed.calls, placed.count, strict=True):
        yield [tuple(int(call[name]) for name in ("domain", "dst_cpu", "energy")) for call in calls[:count]]


def _decision(model, prev_cpu, target, calls, with_margin):
    """What compute_energy() was asked, as energies the task adds."""
    base = {domain: energy for domain, dst_cpu, energy in calls if dst_cpu < 0}
    added = {dst_cpu: energy - base[domain] for domain, dst_cpu, energy in calls if dst_cpu >= 0}
    row = {"target": _cpu_name(model, target)} | dict.fromkeys([*CPU_NAMES.values(), "gap", "threshold"])
    row |= {_cpu_name(model, cpu): energy for cpu, energy in added.items()}
    if prev_cpu in added:
        row["gap"] = added[prev_cpu] - min(added.values())
        row["threshold"] = (added[prev_cpu] + sum(base.values())) >> 4 if with_margin else 0
    return row


# The experiment on this machine


def wakeups(model="pixel4", *, hz=250):
    """Every wake-up of the staircase as the placement sees it, for each row of the mail.

    Exact: util_avg at the wake-up, by ``pelt.track`` for kernel 5.12; util_est is util_avg at the last
    dequeue (the kernel's ``enqueued``; the slower ``ewma`` beside it is left out); the CPU chosen. Modelled:
    a period of 16 ms (the mails name none), the task runs as on a CPU of full capacity, every other CPU
    is idle and empty, and the task wakes on the CPU that the mail's row names, the first of its kind, because
    there the function ran.

    Parameters
    ----------
    model : str or EnergyModel
        With the domains little, mid and prime.
    hz : int
        Ticks per second of the kernel.

    Returns
    -------
    DataFrame
        phase and cpu (the mail's row), activation, prev_cpu, util_avg, util_est, target_cpu, ``target`` (its
        kind), and ``states``: performance states that the walk visits in the placement.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.wakeups().groupby(["phase", "cpu"])["states"].median().astype(int).tolist()[-1]
    20
    """
    model, first_cpu = _model(model)
    events = workload.staircase(hz=hz)
    util = pelt.track(events.now, kernel=KERNEL, running=events.running, on_rq=events.on_rq).util_avg
    woken = events.label == "enqueue"
    phase, util_avg = events.phase[woken], util[woken]
    util_est = np.concatenate([[0], util[events.label == "dequeue"][:-1]]).astype(np.uint64)

    parts = [
        pd.DataFrame(
            {
                "phase": row_phase,
                "cpu": cpu,
                "activation": np.arange(np.count_nonzero(phase == row_phase)),
                "prev_cpu": first_cpu[cpu],
                "util_avg": util_avg[phase == row_phase],
                "util_est": util_est[phase == row_phase],
            }
        )
        for row_phase, cpu in published().index
    ]
    frame = pd.concat(parts, ignore_index=True)
    placed = eas.find_energy_efficient_cpu(
        model, *_placed_system(model, frame), kernel=KERNEL, skip_inefficient=False
    )
    frame["target_cpu"] = placed.target
    frame["target"] = [_cpu_name(model, cpu) for cpu in placed.target]
    frame["states"] = placed.walk_length.sum(axis=-1)
    return frame


def _placed_system(model, frame):
    return _system(model, *(frame[name].to_numpy() for name in ("prev_cpu", "util_avg", "util_est")))


def measure(
    model="pixel4",
    *,
    inputs=None,
    caches="warm",
    working_set=None,
    evict=None,
    arms=ARMS,
    batch=None,
    repetitions=25,
    seed=2021,
    hz=250,
    cpu=None,
    progress=True,
):
    """Time placements on this machine, with the walk and with the look-up table.

    Each placement is made in C by the walk, by the table, by the walk again, and by a table that holds the
    states' data itself, in an order drawn anew for every placement; the placements of a repetition are
    shuffled, too. Inefficient states are not skipped, as in the mail. A first repetition, unrecorded,
    warms up. The thread is pinned. In the kernel nothing preempts the function: placements during which
    another task took the CPU are timed again, in groups of up to eight and in the same order. Interrupts
    cannot be seen, and stay.

    Parameters
    ----------
    model : str or EnergyModel
        With the domains little, mid and prime.
    inputs : Simulation, optional
        What is placed: every wake-up of a simulated staircase (an object with ``model``, ``phase``,
        ``waking_cpu``, ``duty_percent``, ``hz`` and ``cases()``). None: :func:`wakeups`.
    caches : {"warm", "cold", "shared"}
        "warm" all along; "cold": tables and run queues are thrown out of every cache before each call;
        "shared": a working set is walked before each call. On the phone a period lay between two.
    working_set : int, optional
        Bytes, for "shared"; None: 262144.
    evict : sequence of str, optional
        For "cold", if not everything: see `eas.time_placements`.
    arms : tuple of str
        Begins with ("walk", "lut", "walk"); then any of those of `eas.time_placements`.
    batch : int, optional
        Calls of one placement in one bracket. None: 1, and with warm caches more where a call is shorter
        than 50 steps of the counter; ``Timing.batch`` tells.
    repetitions : int
        How often each placement is timed, at least 2.
    seed : int
        Of the order; the same seed gives the same order.
    hz : int
        Ticks per second of the kernel that computed util_avg, for :func:`wakeups`.
    cpu : int, optional
        Where to run; None: the highest CPU that this process may use. The affinity is restored.
    progress : bool
        Show a bar after two seconds, on a terminal.

    Returns
    -------
    Timing
        All samples; :func:`table` shows them in the mail's layout, :func:`gains` as ratios.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.measure(repetitions=2).ticks.shape
    (2, 875, 4)
    """
    cases = _staircase_cases(model, hz) if inputs is None else _simulated_cases(inputs)
    return timed(
        cases,
        repetitions=repetitions,
        seed=seed,
        arms=arms,
        caches=caches,
        working_set=working_set,
        evict=evict,
        batch=batch,
        cpu=cpu,
        progress=progress,
    )


def _staircase_cases(model, hz):
    """Every row of the mail with the wake-ups of its phase."""
    model, _ = _model(model)
    mail, frame = published(), wakeups(model, hz=hz)
    task, cpus = _placed_system(model, frame)
    keys = pd.MultiIndex.from_frame(frame[["phase", "cpu"]])
    return Cases(
        model=model,
        task=task,
        cpus=cpus,
        phase=mail.index.get_level_values("phase").to_numpy(),
        duty_percent=mail["duty_percent"].to_numpy(),
        cpu=mail.index.get_level_values("cpu").to_numpy().astype(str),
        row=mail.index.get_indexer(keys),
        hz=hz,
    )


def _simulated_cases(simulation):
    """The wake-ups of a simulation, by phase and by the kind of CPU that ran the function."""
    missing = [name for name in _SIMULATED if not hasattr(simulation, name)]
    if missing:
        raise TypeError(
            f"inputs is {type(simulation).__name__}: must be a Simulation, with {', '.join(missing)}"
        )
    task, cpus = simulation.cases()
    domains = simulation.model.domains
    names = np.array([CPU_NAMES.get(domain.name, domain.name) for domain in domains])
    domain_of = {cpu: number for number, domain in enumerate(domains) for cpu in domain.cpus}
    domain = np.array([domain_of[int(cpu)] for cpu in simulation.waking_cpu], dtype=np.int64)
    keys, row = np.unique(np.stack([simulation.phase, domain]), axis=1, return_inverse=True)
    return Cases(
        model=simulation.model,
        task=task,
        cpus=cpus,
        phase=keys[0],
        duty_percent=np.asarray(simulation.duty_percent)[keys[0]],
        cpu=names[keys[1]],
        row=row.ravel(),
        hz=simulation.hz,
    )


# Line by line


def verdicts(measured=None, placed=None):
    """Every figure of the two mails beside ours.

    Parameters
    ----------
    measured : Timing, optional
        What :func:`measure` gave; without it nothing is said about this machine.
    placed : DataFrame, optional
        What :func:`placements` gave; computed if missing.

    Returns
    -------
    DataFrame
        ``mail``, ``what``, ``published``, ``ours``, ``verdict``, ``why``. Verdicts: "agrees" and "differs" of
        what follows from the mails' own figures or from exact arithmetic; "consistent" and "not consistent"
        of inferences, and of the sign of the difference on this machine; "cannot be told" of
        nanoseconds, which another CPU neither confirms nor refutes.
    """
    placed = placements() if placed is None else placed
    ours = None if measured is None else table(measured)
    lines = phases_verdicts.lines(placed, ours)
    return pd.DataFrame(list(lines), columns=["mail", "what", "published", "ours", "verdict", "why"])


def summary(verdicts, measured=None):
    """What agrees, what does not and why, as Markdown.

    Parameters
    ----------
    verdicts : DataFrame
        Of :func:`verdicts`.
    measured : Timing, optional
        Names the machine.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> print(phases.summary(phases.verdicts()).splitlines()[0])
    Of the 48 lines 21 agree, 4 differ, 9 are consistent, 0 are not consistent, and of 14 it cannot be told.
    """
    return "\n".join(phases_verdicts.sentences(verdicts, measured))
