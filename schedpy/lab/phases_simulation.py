# SPDX-License-Identifier: GPL-2.0-only
"""The staircase on a simulated device: where it wakes up and is placed, and what the placement read."""

import json
import os
import zipfile
from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd
from tqdm import tqdm

from schedpy import eas, em
from schedpy._coerce import as_choice, as_number
from schedpy._files import written_whole
from schedpy._tables import html_table
from schedpy.kernel import form
from schedpy.lab.phases_device import Device, draw, other_util
from schedpy.lab.phases_rows import LABELS, Rows, place, systems
from schedpy.workload import run_lengths, tick_nsec

__all__ = ["Device", "Simulation", "cpu_kind", "simulate", "simulate_devices"]

_FORMAT = "schedpy.lab.Simulation/1"
_WAKEUPS = ("repetition", "phase", "activation", "time_ns", "waking_cpu", "prev_cpu", "target")
_CASES = ("util_avg", "util_est", "runnable_avg", "cpu_util_avg", "cpu_runnable_avg")
_WORDS = {"little": "Little", "mid": "Mid", "prime": "Big"}

#: What an energy estimate is asked for: the busiest CPU's utilisation, which sets the state, and the sum.
REQUEST = np.dtype(
    [
        ("domain", np.int64),
        ("dst_cpu", np.int64),
        ("max_util", np.uint64),
        ("sum_util", np.uint64),
        ("energy", np.uint64),
    ]
)


def cpu_kind(domain):
    """The mail's word for a kind of CPU (Little, Mid, Big), else the domain's name."""
    return _WORDS.get(domain, domain)


def as_model(model):
    """An energy model, loaded if it is a name."""
    model = em.EnergyModel.load(model) if isinstance(model, str) else model
    if not isinstance(model, em.EnergyModel):
        raise TypeError(f"model must be a name or an EnergyModel, not {type(model).__name__}")
    return model


def skips_inefficient(kernel):
    """Whether a kernel as released passes over inefficient states; on 5.12 that was the patch's part."""
    return form("em.energy", kernel) != "v5.0"


@dataclass(frozen=True, eq=False)
class Simulation:
    """Every wake-up of a simulated staircase, in order of repetition and time; n wake-ups.

    An activation whose timer fires while the task still works has no wake-up, as on a device.

    Attributes
    ----------
    model : EnergyModel
    kernel, method, skip_inefficient, hz
        Whose rules, and how states are looked up; as :func:`simulate` was asked.
    duty_percent : float array (phases,)
    period_ns, activations, repetitions, seed : int
    device : Device
        What was modelled.
    repetition, phase, activation : int64 arrays (n,)
        ``activation`` counts from 0 in each phase.
    time_ns : int64 array (n,)
        Of the wake-up.
    waking_cpu, prev_cpu, target : int64 arrays (n,)
        The CPU that runs the placement (the mail's column), the one the task slept on, and the choice.
    util_avg, util_est, runnable_avg : uint64 arrays (n,)
        Of the task, as the placement reads them: fields of `eas.TASK`.
    cpu_util_avg, cpu_runnable_avg : uint64 arrays (n, model.nr_cpus)
        Of the CPUs: fields of `eas.CPU`; :meth:`cases` gives whole arrays of both.
    events : DataFrame, optional
        With ``keep_events``: every update of the task's signal, see :func:`simulate`.
    """

    model: em.EnergyModel
    kernel: str
    method: str
    skip_inefficient: bool
    hz: int
    duty_percent: np.ndarray
    period_ns: int
    activations: int
    repetitions: int
    seed: int
    device: Device
    repetition: np.ndarray
    phase: np.ndarray
    activation: np.ndarray
    time_ns: np.ndarray
    waking_cpu: np.ndarray
    prev_cpu: np.ndarray
    target: np.ndarray
    util_avg: np.ndarray
    util_est: np.ndarray
    runnable_avg: np.ndarray
    cpu_util_avg: np.ndarray
    cpu_runnable_avg: np.ndarray
    events: pd.DataFrame | None = None

    def __len__(self):
        return len(self.phase)

    # What the placements read

    def cases(self):
        """The exact inputs of every placement.

        Returns
        -------
        task : structured array of `eas.TASK` (n,)
        cpus : structured array of `eas.CPU` (n, model.nr_cpus)
            Fit for ``eas.find_energy_efficient_cpu(model, task, cpus, kernel=kernel, method=method,
            skip_inefficient=skip_inefficient)``, which gives ``target``, and for `eas.time_placements`.

        Examples
        --------
        >>> from schedpy.lab import phases
        >>> simulated = phases.simulate("pixel4", kernel="5.12", repetitions=1, activations=5)
        >>> task, cpus = simulated.cases()
        >>> task.shape[0] == cpus.shape[0] == len(simulated), cpus.shape[1]
        (True, 8)
        """
        columns = {name: getattr(self, name) for name in ("prev_cpu", *_CASES)}
        return systems(self.model, columns)

    def placement(self):
        """The placements again, with every energy computed on the way: `eas.Placement`."""
        task, cpus = self.cases()
        return eas.find_energy_efficient_cpu(
            self.model,
            task,
            cpus,
            kernel=self.kernel,
            method=self.method,
            skip_inefficient=self.skip_inefficient,
        )

    def requests(self):
        """What every estimate of an energy was asked, on 5.12: em_cpu_energy(domain, max_util, sum_util).

        Returns
        -------
        structured array (n, 3 per domain)
            In the order of the calls: ``domain`` (its index; -1 pads), ``dst_cpu`` (-1: the task nowhere),
            ``max_util``, ``sum_util`` and the ``energy`` answered.

        Raises
        ------
        ValueError
            Another kernel: later ones cap and add the task apart from the CPUs' sum.

        Examples
        --------
        >>> from schedpy.lab import phases
        >>> simulated = phases.simulate("pixel4", kernel="5.12", repetitions=1, activations=5)
        >>> first = simulated.requests()[-1]
        >>> [int(first[name][-1]) for name in ("domain", "dst_cpu")]
        [-1, -1]
        """
        if form("eas.cpu_util", self.kernel) != "v5.12":
            raise ValueError(f"kernel = {self.kernel!r}: the requests are rebuilt for 5.12 alone")
        task, cpus = self.cases()
        calls = self.placement().calls
        requests = np.zeros(calls.shape, dtype=REQUEST)
        for name in ("domain", "dst_cpu", "energy"):
            requests[name] = calls[name]
        for number, domain in enumerate(self.model.domains):
            case, place = np.nonzero(calls["domain"] == number)
            dst = calls["dst_cpu"][case, place]
            util = [
                eas.cpu_util(
                    cpu,
                    dst,
                    kernel=self.kernel,
                    scale_cpu=domain.capacity,
                    cpu_util_avg=cpus["util_avg"][case, cpu],
                    cpu_util_est=cpus["util_est"][case, cpu],
                    **{name: task[name][case] for name in ("prev_cpu", "util_avg", "util_est")},
                )
                for cpu in domain.cpus
            ]
            effective = eas.effective_cpu_util(np.array(util), kernel=self.kernel, max=domain.capacity)
            requests["max_util"][case, place] = effective.freq_util.max(axis=0)
            requests["sum_util"][case, place] = effective.energy_util.sum(axis=0)
        return requests

    # Tables

    def kinds(self, cpus):
        """The kind of each CPU, in the mail's words where the domains are the Pixel 4's."""
        names = np.full(self.model.nr_cpus, "", dtype=object)
        for domain in self.model.domains:
            names[list(domain.cpus)] = cpu_kind(domain.name)
        return names[np.asarray(cpus)]

    def wakeups(self):
        """A DataFrame of the wake-ups: repetition, phase, duty_percent, activation, time_ns, waking_cpu,
        prev_cpu, target, their kinds ``cpu`` (waking) and ``to``, and the task's util_avg, util_est,
        runnable_avg.
        """
        frame = pd.DataFrame({name: getattr(self, name) for name in _WAKEUPS})
        frame.insert(2, "duty_percent", self.duty_percent[self.phase])
        frame["cpu"], frame["to"] = self.kinds(self.waking_cpu), self.kinds(self.target)
        return frame.assign(**{name: getattr(self, name) for name in _CASES[:3]})

    def counts(self):
        """Wake-ups by phase and kind of CPU.

        Returns
        -------
        DataFrame
            Indexed by phase and CPU, as the mail's table. ``waking``: on which kind the placement ran, the
            mail's count; ``target``: which kind it chose; ``stays``: how many chose the kind
            that they ran on; ``percent``: share of ``waking`` in the phase; ``low`` and ``high``: that
            share in the repetitions with the least and the most. ``without``: activations of the
            phase without a wake-up, whose timer found the task at work.

        Examples
        --------
        >>> from schedpy.lab import phases
        >>> simulated = phases.simulate("pixel4", kernel="5.12", repetitions=2, activations=20)
        >>> int(simulated.counts().loc[(3, "Mid"), "target"])
        40
        """
        kinds = list(dict.fromkeys(cpu_kind(domain.name) for domain in self.model.domains))
        number = {kind: index for index, kind in enumerate(kinds)}
        waking, target = (
            np.array([number[kind] for kind in self.kinds(cpus)], dtype=np.int64).reshape(len(self))
            for cpus in (self.waking_cpu, self.target)
        )
        each = np.zeros((self.repetitions, len(self.duty_percent), len(kinds)), dtype=np.int64)
        np.add.at(each, (self.repetition, self.phase, waking), 1)
        chosen, stays = np.zeros_like(each[0]), np.zeros_like(each[0])
        np.add.at(chosen, (self.phase, target), 1)
        np.add.at(stays, (self.phase, waking), waking == target)
        ran = each.sum(axis=0)
        share = 100 * each / np.maximum(each.sum(axis=2, keepdims=True), 1)
        rows = [
            {
                "phase": phase,
                "cpu": kind,
                "duty_percent": duty,
                "waking": ran[phase, index],
                "target": chosen[phase, index],
                "stays": stays[phase, index],
                "percent": 100 * ran[phase, index] / max(ran[phase].sum(), 1),
                "low": share[:, phase, index].min(),
                "high": share[:, phase, index].max(),
                "without": self.repetitions * self.activations - ran[phase].sum(),
            }
            for phase, duty in enumerate(self.duty_percent)
            for index, kind in enumerate(kinds)
            if ran[phase, index] or chosen[phase, index]
        ]
        columns = ("phase", "cpu", "duty_percent", "waking", "target", "stays", "percent", "low", "high")
        return pd.DataFrame(rows, columns=[*columns, "without"]).set_index(["phase", "cpu"])

    def share(self, phase, kind):
        """Percent of a phase's wake-ups that ran on a kind of CPU, in each repetition: (repetitions,)."""
        mine = self.phase == phase
        there = mine & (self.kinds(self.waking_cpu) == kind)
        of = np.bincount(self.repetition[mine], minlength=self.repetitions)
        ran = np.bincount(self.repetition[there], minlength=self.repetitions)
        return 100 * ran / np.maximum(of, 1)

    def __repr__(self):
        return (
            f"<Simulation: {self.repetitions} x {len(self.duty_percent)} phases of {self.activations} "
            f"activations on {self.model.name or 'a model'}, kernel {self.kernel}: {len(self)} wake-ups>"
        )

    def _repr_html_(self):
        counts = self.counts().reset_index()
        cells = [
            [f"{cell:.1f}" if isinstance(cell, float) else cell for cell in row] for row in counts.values
        ]
        return html_table(list(counts.columns), cells, repr(self))

    # Files

    def save(self, path):
        """Write everything but the events to an NPZ file; it is there complete or not at all."""
        about = {
            "format": _FORMAT,
            "device": asdict(self.device),
            "model": {
                "name": self.model.name,
                "source": self.model.source,
                "domains": [
                    {
                        "name": domain.name,
                        "cpus": list(domain.cpus),
                        "freq_khz": domain.freq_khz.tolist(),
                        "power": domain.power.tolist(),
                        "unit": domain.unit,
                        "capacity": domain.capacity,
                    }
                    for domain in self.model.domains
                ],
            },
            **{name: getattr(self, name) for name in _SCALARS},
        }
        with written_whole(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(
                file, about=np.array(json.dumps(about)), **{name: getattr(self, name) for name in _ARRAYS}
            )

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote.

        Raises
        ------
        ValueError
            The file is no such thing.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                if about.pop("format", None) != _FORMAT:
                    raise ValueError("another format")
                arrays = {name: file[name] for name in _ARRAYS}
            model = about.pop("model")
            domains = [em.PerfDomain(**domain) for domain in model.pop("domains")]
            about["device"] = Device(**about["device"])
            return cls(model=em.EnergyModel(domains, **model), **about, **arrays)
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{os.fspath(path)}: expected a file of {_FORMAT}: {error}") from None


_SCALARS = (
    "kernel",
    "method",
    "skip_inefficient",
    "hz",
    "period_ns",
    "activations",
    "repetitions",
    "seed",
)
_ARRAYS = ("duty_percent", *_WAKEUPS, *_CASES)


def simulate(
    model="pixel4",
    *,
    kernel,
    hz=250,
    activations=125,
    repetitions=25,
    duty_percent=(12.5, 25, 37.5, 50, 62.5, 75),
    period_ns=16_000_000,
    method="walk",
    skip_inefficient=None,
    device=None,
    seed=2021,
    pelt_kernel=None,
    keep_events=False,
    progress=False,
    **modelled,
):
    """The staircase of the mails on a simulated device.

    Exact, by the functions that are held against the kernel: the clock of PELT, the averages of the task and
    of its run queue, attach and detach, util_est, find_energy_efficient_cpu(), and the frequency
    that schedutil asks for at each update that refreshed the run queue. Modelled: everything in
    :class:`Device`, and: the task is never alone in being placed (no load balancing, no overutilized
    fallback); a run queue that the task leaves gives its averages up at once; the timer's grid
    stands, and a task that is still at work when it fires goes on without a sleep and a wake-up.

    Parameters
    ----------
    model : str or EnergyModel
        Any platform.
    kernel : str
        Whose rules: "5.12", "5.13", "6.1", "6.12"; "7.3" with another ``pelt_kernel``.
    hz : int
        Ticks per second.
    activations, repetitions : int
        Activations per phase; repetitions of the whole staircase.
    duty_percent : sequence of numbers
        Share of the period that the task works at a capacity of 1024, one per phase.
    period_ns : int
        16 ms, or 8.
    method : {"walk", "lut"}
        How energies are looked up; "lut" exists for 5.12 alone.
    skip_inefficient : bool, optional
        Whether inefficient states are passed over. None: from 6.1, and not on 5.12, as in the mail.
    device : Device, optional
        What is modelled; its fields can also be given one by one.
    seed : int
        Of what is random: each repetition's start within a PELT window and place of the ticks, the
        work's variation and the other load. The same seed gives the same wake-ups; repetition r does
        not depend on how many there are.
    pelt_kernel : str, optional
        Another kernel's PELT, util_est and clock, where the kernel's own are not proven ("6.19" for 7.3).
    keep_events : bool
        Keep every update of the task's signal (``Simulation.events``): repetition, activation (of the
        whole staircase), label (those of `workload.Events`; "move": to a larger CPU; "decay": before a
        placement), cpu, time_ns, ``now`` (the run queue's PELT clock), the flags running and on_rq of the
        time before, ``attached`` (the task joined another queue: no update, its sums are made anew), the
        STATE after it, max_util (of the domain's busiest CPU), freq_khz and changed_ns (the domain's
        frequency, and when it last changed).
    progress : bool
        Show a bar after two seconds, on a terminal.
    **modelled
        Fields of :class:`Device`.

    Returns
    -------
    Simulation

    Raises
    ------
    ValueError, TypeError
        An argument out of range; a kernel whose placement, PELT or frequency is not proven.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> simulated = phases.simulate("pixel4", kernel="5.12", repetitions=2, activations=20)
    >>> simulated.counts().loc[3, "target"].to_dict()
    {'Mid': 40}
    """
    if device is not None and modelled:
        raise TypeError(f"{min(modelled)}: give it in device, or device as its fields")
    if device is None:
        device = _device(modelled)
    (simulated,) = simulate_devices(
        model,
        [device],
        kernel=kernel,
        hz=hz,
        activations=activations,
        repetitions=repetitions,
        duty_percent=duty_percent,
        period_ns=period_ns,
        method=method,
        skip_inefficient=skip_inefficient,
        seed=seed,
        pelt_kernel=pelt_kernel,
        keep_events=keep_events,
        progress=progress,
    )
    return simulated


def _device(modelled):
    names = [field.name for field in fields(Device)]
    if unknown := modelled.keys() - set(names):
        raise TypeError(f"{min(unknown)} is no argument, and no field of Device: {', '.join(names)}")
    return Device(**modelled)


def simulate_devices(
    model,
    devices,
    *,
    kernel,
    hz=250,
    activations=125,
    repetitions=25,
    duty_percent=(12.5, 25, 37.5, 50, 62.5, 75),
    period_ns=16_000_000,
    method="walk",
    skip_inefficient=None,
    seed=2021,
    pelt_kernel=None,
    keep_events=False,
    progress=False,
):
    """The same for several devices side by side, which costs little more than one.

    Parameters
    ----------
    devices : sequence of Device
    model, kernel, hz, ...
        As :func:`simulate`. Each device gets the same random numbers.

    Returns
    -------
    list of Simulation

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> devices = [phases.Device(start_cpu=cpu) for cpu in (0, 7)]
    >>> [len(s) for s in phases.simulate_devices("pixel4", devices, kernel="5.12", repetitions=1,
    ...                                          duty_percent=(12.5,))]
    [125, 125]
    """
    model = as_model(model)
    devices = list(devices)
    for index, device in enumerate(devices):
        if not isinstance(device, Device):
            raise TypeError(f"devices[{index}] is {type(device).__name__}: must be a Device")
        device.check(model)
    if not devices:
        raise ValueError("devices is empty: must hold at least one Device")
    activations = as_number(activations, "activations", low=1, high=100_000)
    repetitions = as_number(repetitions, "repetitions", low=1, high=10_000)
    period = as_number(period_ns, "period_ns", low=1_000_000, high=10**9)
    seed = as_number(seed, "seed", low=0)
    as_choice(method, "method", ("walk", "lut"))
    tick_ns = tick_nsec(hz)
    run_ns = np.array(run_lengths(duty_percent, period, "duty_percent"), dtype=np.int64)
    if not run_ns.size:
        raise ValueError("duty_percent is empty: must hold at least one phase")
    pelt_kernel = kernel if pelt_kernel is None else pelt_kernel
    if skip_inefficient is None:
        skip_inefficient = skips_inefficient(kernel)
    for rule in ("pelt.update", "pelt.util_est", "pelt.clock_pelt", "pelt.attach"):
        form(rule, pelt_kernel)
    rows = Rows(
        model,
        devices,
        repetitions,
        kernel=kernel,
        pelt_kernel=pelt_kernel,
        method=method,
        skip_inefficient=bool(skip_inefficient),
    )
    seeds = np.random.SeedSequence(seed).spawn(repetitions)
    work = draw(seeds, devices, model, np.repeat(run_ns, activations), period, tick_ns)
    other = other_util(work, model, kernel=pelt_kernel, period_ns=period)
    parts = _run(rows, work, other, period, tick_ns, keep_events, progress)
    shared = {
        "model": model,
        "kernel": kernel,
        "method": method,
        "skip_inefficient": bool(skip_inefficient),
        "hz": int(hz),
        "duty_percent": np.array([float(duty) for duty in duty_percent]),
        "period_ns": period,
        "activations": activations,
        "repetitions": repetitions,
        "seed": seed,
    }
    return list(_results(parts, rows, devices, shared))


def _run(rows, work, other, period, tick_ns, keep_events, progress):
    """Every activation of every row; a list of columns of those that woke up."""
    total = work.work.shape[1]
    everyone = np.arange(len(work.start))
    parts, events = [], []
    bar = tqdm(
        range(total),
        desc="simulating",
        unit="activation",
        delay=2,
        leave=False,
        disable=None if progress else True,
    )
    for activation in bar:
        grid = work.start + activation * period
        busy = rows.end >= grid if activation else np.zeros(len(grid), dtype=bool)
        begin = np.where(busy, rows.end, grid + rows.wakeup)
        rows.events = [] if keep_events else None
        rows.other[:] = other[:, min(activation, other.shape[1] - 1)]
        who = everyone[~busy]
        if who.size:
            rows.decay_sleepers(who, grid[who])
            cases = rows.cases(who)
            target = place(rows, cases)
            waking = np.where(rows.timer_cpu[who] < 0, cases["prev_cpu"], rows.timer_cpu[who])
            at = {"row": who, "activation": np.full(len(who), activation), "time_ns": grid[who]}
            parts.append(at | {"waking_cpu": waking, "target": target} | cases)
            rows.wake(who, grid[who], target)
        until = grid + period if activation + 1 < total else np.full(len(grid), 2**62)
        rows.work(everyone, begin, work.work[:, activation], until, work.tick_offset, tick_ns)
        if keep_events:
            for event in rows.events:
                event["activation"] = activation
            events += rows.events
    rows.events = events if keep_events else None
    return parts


def _results(parts, rows, devices, shared):
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((columns["activation"], columns["row"]))
    columns = {name: column[order] for name, column in columns.items()}
    row, activation = columns.pop("row"), columns.pop("activation")
    columns["repetition"] = row % shared["repetitions"]
    columns["phase"], columns["activation"] = np.divmod(activation, shared["activations"])
    events = None if rows.events is None else np.concatenate(rows.events)
    for number, device in enumerate(devices):
        mine = row // shared["repetitions"] == number
        kept = {name: column[mine] for name, column in columns.items()}
        yield Simulation(device=device, events=_event_table(events, number, shared), **kept, **shared)


def _event_table(events, number, shared):
    if events is None:
        return None
    mine = events[events["row"] // shared["repetitions"] == number]
    mine = mine[np.argsort(mine["row"], kind="stable")]
    frame = pd.DataFrame({name: mine[name] for name in mine.dtype.names if name not in ("row", "state")})
    frame.insert(0, "repetition", mine["row"] % shared["repetitions"])
    frame["label"] = LABELS[mine["label"]]
    return frame.assign(**{name: mine["state"][name] for name in mine["state"].dtype.names})
