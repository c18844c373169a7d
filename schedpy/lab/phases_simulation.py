# SPDX-License-Identifier: GPL-2.0-only
"""What a simulated staircase gives: where its task woke up and was placed, and what the placements read."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from schedpy import eas, em
from schedpy._tables import html_table
from schedpy.kernel import form
from schedpy.lab import _archives
from schedpy.lab.phases_device import Device
from schedpy.lab.phases_rows import systems

__all__ = ["Simulation", "as_model", "cpu_kind", "skips_inefficient"]

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
        _archives.write(path, _FORMAT, about, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote.

        Raises
        ------
        ValueError
            The file is no such thing.
        """

        def make(about, arrays):
            model = about.pop("model")
            domains = [em.PerfDomain(**domain) for domain in model.pop("domains")]
            about["device"] = Device(**about["device"])
            return cls(model=em.EnergyModel(domains, **model), **about, **arrays)

        return _archives.read(path, _FORMAT, _ARRAYS, make)


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
