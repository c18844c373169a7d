# SPDX-License-Identifier: GPL-2.0-only
"""How long find_energy_efficient_cpu() takes without and with a look-up table: the mails of April 2021.

A task climbs a staircase of duty cycles, 12.5 % to 75 % in six phases, and every placement at a wake-up
is timed: once with the walk over the table of performance states, once with the look-up table (LUT) that
the patch proposed. Three things can be done with the two mails without the phone: recompute what their
figures say, derive the CPU column from the arithmetic of 5.12 and the phone's energy model, and repeat
the experiment on another machine, with the same placements but that machine's nanoseconds.
"""

import platform
import resource
from pathlib import Path

import numpy as np
import pandas as pd
from tqdm import tqdm

from schedpy import eas, em, pelt, stopwatch, workload
from schedpy._coerce import as_number
from schedpy.kernel import form
from schedpy.lab import phases_verdicts
from schedpy.lab.phases_needed import left_out, needed, sample_tests
from schedpy.lab.phases_recorded import recorded
from schedpy.lab.phases_share import (
    decisions,
    mid_share,
    published_shares,
    savings,
    settled_util,
)
from schedpy.lab.phases_simulation import Device, Simulation, simulate, simulate_devices
from schedpy.lab.phases_story import beside_the_mail, is_of_the_mail, story
from schedpy.lab.phases_tables import ACTIVATIONS, CPU_NAMES, inconsistencies, published, table
from schedpy.lab.timing import Timing

__all__ = [
    "Device",
    "Simulation",
    "beside_the_mail",
    "decisions",
    "inconsistencies",
    "is_of_the_mail",
    "left_out",
    "measure",
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
    "story",
    "summary",
    "table",
    "verdicts",
    "wakeups",
]

KERNEL = "5.12"
#: Forms of the placement in which a candidate has to save more than 1/16 of the system's energy.
_WITH_MARGIN = ("v5.12", "v5.13")
ARMS = ("walk", "lut", "walk")
TRIES = 20


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


def measure(model="pixel4", *, repetitions=25, seed=2021, hz=250, cpu=None, progress=True):
    """Time every placement of the staircase on this machine, with the walk and with the look-up table.

    Each wake-up of :func:`wakeups` is placed three times in C, by the walk, by the table and by the walk
    again, in an order drawn anew for every wake-up; the wake-ups of a repetition are shuffled, too.
    Inefficient states are not skipped, as in the mail. A first repetition, unrecorded, warms up.
    The caches are warm all along; on the phone a period lay between two placements. In the kernel
    nothing preempts the function: a repetition in which another task took the CPU is timed again, in
    the same order (at most 20 times; ``Timing.switches`` tells). Interrupts cannot be seen, and stay.

    Parameters
    ----------
    model : str or EnergyModel
        With the domains little, mid and prime.
    repetitions : int
        Of the staircase, at least 2; each gives 125 samples per row and arm.
    seed : int
        Of the order; the same seed gives the same order.
    hz : int
        Ticks per second of the kernel that computed util_avg.
    cpu : int, optional
        Where to run; None: the highest CPU that this process may use. The affinity is restored.
    progress : bool
        Show a bar after two seconds.

    Returns
    -------
    Timing
        All samples; :func:`table` shows them in the mail's layout.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.measure(repetitions=2).ticks.shape
    (7, 250, 3)
    """
    repetitions = as_number(repetitions, "repetitions", low=2, high=10_000)
    seed = as_number(seed, "seed", low=0)
    model, _ = _model(model)
    mail, frame = published(), wakeups(model, hz=hz)
    task, cpus = _placed_system(model, frame)
    rng = np.random.default_rng(seed)
    n, arms = len(frame), len(ARMS)
    ticks = np.empty((repetitions + 1, n, arms), dtype=np.uint64)
    switches = np.empty(repetitions + 1, dtype=np.int64)
    with stopwatch.pinned(cpu) as pinned:
        counter = stopwatch.counter()
        rounds = tqdm(
            range(repetitions + 1),
            desc="placing",
            unit="repetition",
            delay=2,
            leave=False,
            disable=not progress,
        )
        for round_ in rounds:
            shuffled = rng.permutation(n)
            order = rng.permuted(np.tile(np.arange(arms), (n, 1)), axis=1)
            ticks[round_, shuffled], switches[round_] = _time(model, task[shuffled], cpus[shuffled], order)
    by_row = ticks[1:].reshape(repetitions, len(mail), ACTIVATIONS, arms).swapaxes(0, 1)
    return Timing(
        phase=mail.index.get_level_values("phase").to_numpy(),
        duty_percent=mail["duty_percent"].to_numpy(),
        cpu=mail.index.get_level_values("cpu").to_numpy().astype(str),
        ticks=by_row.reshape(len(mail), repetitions * ACTIVATIONS, arms),
        arms=ARMS,
        ns_per_tick=counter.ns_per_tick,
        bracket_ticks=counter.bracket_ticks,
        counter=counter.name,
        host=_host(),
        pinned=pinned,
        switches=switches[1:],
        repetitions=repetitions,
        activations=ACTIVATIONS,
        seed=seed,
        hz=hz,
        model=model.name,
    )


def _time(model, task, cpus, order):
    """Ticks of one repetition, and how often another task took the CPU meanwhile."""
    for _ in range(TRIES):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
        ticks = eas.time_placements(
            model, task, cpus, kernel=KERNEL, arms=ARMS, skip_inefficient=False, order=order
        ).ticks
        switches = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw - before
        if not switches:
            break
    return ticks, switches


def _host():
    """The processor by name, where the kernel tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


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
