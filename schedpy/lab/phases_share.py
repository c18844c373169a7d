# SPDX-License-Identifier: GPL-2.0-only
"""What decides phase 4 of the mails, where the same task ran now on Mid and now on Big.

From 5.12's margin: a CPU elsewhere must save more than 1/16 of what the system would take with the
task where it was. So where the task comes from matters, and how long it stays there.
"""

import numpy as np
import pandas as pd

from schedpy import eas, pelt
from schedpy.lab.phases_device import Device
from schedpy.lab.phases_simulation import as_model, cpu_kind, skips_inefficient
from schedpy.lab.phases_staircase import simulate_devices
from schedpy.lab.phases_tables import published, repetitions_of

__all__ = [
    "decisions",
    "mid_share",
    "published_shares",
    "savings",
    "settled_util",
]

#: Duty cycles of the mail's phases 3 and 4.
_DUTY = (50, 62.5)
#: A mean of repetitions lies so many standard errors from the expected one in 95 of 100 cases.
_SIGMAS = 1.96


def savings(placement, prev_cpu):
    """What moving would save, of every placement.

    Parameters
    ----------
    placement : eas.Placement, shape (n,)
    prev_cpu : int array (n,)

    Returns
    -------
    gap, whole : float arrays (n,)
        What the cheapest CPU saves over prev_cpu, and the energy of the system with the task on
        prev_cpu; NaN where prev_cpu was not estimated, because the task does not fit there. 5.12 and 5.13
        move the task if the gap is above ``whole // 16``; later kernels if it is above 0.

    Examples
    --------
    >>> from schedpy import eas, em
    >>> from schedpy.lab import phases
    >>> pixel4, task = em.EnergyModel.load("pixel4"), eas.task(prev_cpu=[7], util_avg=640)
    >>> place = eas.find_energy_efficient_cpu(pixel4, task, eas.idle_cpus(pixel4, 1), kernel="5.12")
    >>> phases.savings(place, [7])
    (array([42.]), array([701.]))
    """
    calls, prev_cpu = placement.calls, np.asarray(prev_cpu)
    energy = calls["energy"].astype(float)
    valid = calls["domain"] >= 0
    without = valid & (calls["dst_cpu"] < 0)
    base = np.zeros_like(energy)
    for domain in np.unique(calls["domain"][valid]):
        here = calls["domain"] == domain
        of_domain = np.where(without & here, energy, 0).sum(axis=1, keepdims=True)
        base = np.where(here, of_domain, base)
    added = np.where(valid & ~without, energy - base, np.nan)
    stays = np.where(calls["dst_cpu"] == prev_cpu[:, None], added, np.nan)
    on_prev = np.where(np.isnan(stays).all(axis=1), np.nan, np.nansum(stays, axis=1))
    best = np.nanmin(np.where(np.isnan(added), np.inf, added), axis=1)
    return on_prev - best, on_prev + np.where(without, energy, 0).sum(axis=1)


def decisions(
    model="pixel4", *, kernel="5.12", util=range(560, 710), prev=("Mid", "Big"), load_percent=(0, 1, 2)
):
    """Where a task of each utilisation goes, and how far the decision is from the margin.

    Exact: the placement. Given: util_avg and util_est both the utilisation, every CPU has a load of other
    tasks in percent of its capacity.

    Parameters
    ----------
    model : str or EnergyModel
    kernel : str
        Whose placement.
    util : sequence of int
        Of the task.
    prev : sequence of str
        Kinds of CPU, in the mail's words or by name of the domain, that the task slept on (the first CPU).
    load_percent : sequence of numbers
        Of each CPU's capacity.

    Returns
    -------
    DataFrame
        load_percent, prev, util, ``target`` (kind), ``saving_percent``: what moving would save, of the energy
        of the system with the task on prev; missing where it does not fit there. 5.12 wants more
        than 6.25 percent (rounded down to whole units of energy).

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> rows = phases.decisions(util=[640, 680], load_percent=[0])
    >>> rows[["prev", "util", "target"]].values.tolist()
    [['Mid', 640, 'Mid'], ['Mid', 680, 'Mid'], ['Big', 640, 'Big'], ['Big', 680, 'Big']]
    """
    model = as_model(model)
    first = {cpu_kind(domain.name): min(domain.cpus) for domain in model.domains}
    if unknown := [kind for kind in prev if kind not in first]:
        raise ValueError(f"prev has {unknown[0]!r}: must be of {', '.join(first)}")
    rows = pd.MultiIndex.from_product(
        [load_percent, prev, util], names=["load_percent", "prev", "util"]
    ).to_frame(index=False)
    prev_cpu = rows["prev"].map(first).to_numpy()
    task = eas.task(prev_cpu=prev_cpu, util_avg=rows["util"].to_numpy())
    cpus = eas.idle_cpus(model, len(rows))
    load = cpus["capacity_of"] * rows["load_percent"].to_numpy()[:, None] / 100
    cpus["util_avg"] = load.astype(np.uint64)
    cpus["util_avg"][np.arange(len(rows)), prev_cpu] += task["util_avg"]
    placed = eas.find_energy_efficient_cpu(
        model, task, cpus, kernel=kernel, skip_inefficient=skips_inefficient(kernel)
    )
    kinds = {cpu: cpu_kind(domain.name) for domain in model.domains for cpu in domain.cpus}
    gap, whole = savings(placed, prev_cpu)
    return rows.assign(target=[kinds.get(cpu, "") for cpu in placed.target], saving_percent=100 * gap / whole)


def published_shares():
    """Mid's share of phase 4 in the mail, percent, and the repetitions that its counts point to.

    Returns
    -------
    DataFrame
        Indexed by arm ("walk", "lut"): percent, repetitions.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.published_shares()["percent"].round(1).tolist()
    [12.7, 32.9]
    """
    mail = published()
    sums, repetitions = repetitions_of(mail)
    arms = ["walk", "lut"]
    percent = [100 * mail.loc[(4, "Mid"), f"table_{arm}_count"] / sums.loc[4, arm] for arm in arms]
    return pd.DataFrame({"percent": percent, "repetitions": repetitions[arms].to_numpy()}, index=arms)


def settled_util(duty_percent=62.5, period_ns=16_000_000):
    """A task's util_avg when it goes to sleep, once it has settled: what its estimate learns.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.settled_util()
    679
    """
    return int(pelt.swing(round(period_ns * duty_percent / 100), period_ns).high)


def _causes(model):
    """Name of a cause, its value as text, and the device that has it; all else stays as it is."""
    yield "nothing", "", {}
    for percent in (101, 102, 102.5, 103, 104, 105):
        yield "work, % of the nominal", f"{percent:g}", {"work_percent": percent}
    for percent in (100, 101, 102, 103):
        yield "work varies by 2 %, around", f"{percent:g}", {"work_percent": percent, "work_std_percent": 2}
    for percent in (0.25, 0.5, 0.75, 1, 2, 4):
        yield "load of every CPU, %", f"{percent:g}", {"load_percent": percent}
    mid = next(domain.name for domain in model.domains if cpu_kind(domain.name) == "Mid")
    for percent in (0.5, 1, 2):
        yield "load of Mid alone, %", f"{percent:g}", {"load_percent": {mid: percent}}
    for percent in (0.5, 1, 2):
        often = {"load_percent": percent, "refresh_ns": 4_000_000}
        yield "load, idle CPUs refreshed each 4 ms, %", f"{percent:g}", often


def mid_share(
    model="pixel4", *, kernel="5.12", hz=250, activations=125, repetitions=25, seed=2021, progress=False
):
    """Mid's share of phase 4 for devices that differ in one thing.

    Phases 3 and 4 run on each device (:func:`simulate_devices`), so that the task comes from where phase 3
    left it; for ``start`` phase 4 runs alone, with the task as phase 4 has it, on each kind of CPU.

    Parameters
    ----------
    model : str or EnergyModel
        With the domains little, mid and prime.
    kernel, hz, activations, repetitions, seed, progress
        As :func:`simulate`.

    Returns
    -------
    DataFrame
        Indexed by ``cause`` and ``value``: ``percent``, Mid's share of the wake-ups of phase 4; ``std``,
        standard error ``sem``, ``low`` and ``high`` of the share over repetitions; ``load_percent``, where
        the load of every CPU is the cause.
        ``walk`` and ``lut``: whether the mail's share without and with the table is one that the mean of
        the mail's 25 and 30 repetitions takes in 95 of 100 cases (normal, with ``std``).

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> shares = phases.mid_share(repetitions=2, activations=20)
    >>> shares.loc[("start", "Big"), "percent"], shares.loc[("nothing", ""), "percent"]
    (np.float64(0.0), np.float64(100.0))
    """
    model = as_model(model)
    kinds = {cpu_kind(domain.name): domain for domain in model.domains}
    if "Mid" not in kinds:
        raise ValueError(f"model has the domains {', '.join(kinds)}: one must be mid")
    how = {"kernel": kernel, "activations": activations, "repetitions": repetitions, "seed": seed}
    how["progress"] = progress
    causes = list(_causes(model))
    devices = [Device(**changed) for _, _, changed in causes]
    shares = [
        (cause, value, simulated.share(1, "Mid"), simulated.device.load_percent)
        for (cause, value, _), simulated in zip(
            causes, simulate_devices(model, devices, hz=hz, duty_percent=_DUTY, **how), strict=True
        )
    ]
    util = settled_util()
    started = [Device(start_cpu=min(domain.cpus), start_util=util) for domain in kinds.values()]
    simulated = simulate_devices(model, started, hz=hz, duty_percent=_DUTY[1:], **how)
    for kind, one in zip(kinds, simulated, strict=True):
        shares.append(("start", kind, one.share(0, "Mid"), 0))
    for other_hz in (100, 1000):
        (one,) = simulate_devices(model, [Device()], hz=other_hz, duty_percent=_DUTY, **how)
        shares.append(("ticks per second", str(other_hz), one.share(1, "Mid"), 0))
    return _share_table(shares)


def _share_table(shares):
    mail = published_shares()
    rows = []
    for cause, value, share, load in shares:
        std = share.std(ddof=1) if len(share) > 1 else np.nan
        row = {"cause": cause, "value": value, "percent": share.mean(), "std": std}
        row |= {
            "sem": std / np.sqrt(len(share)),
            "low": share.min(),
            "high": share.max(),
            "load_percent": load,
        }
        for arm, (percent, repetitions) in mail.iterrows():
            row[arm] = abs(percent - share.mean()) <= _SIGMAS * std / np.sqrt(repetitions)
        rows.append(row)
    frame = pd.DataFrame(rows).set_index(["cause", "value"])
    plain = frame.index.get_level_values("cause") == "load of every CPU, %"
    plain |= frame.index.get_level_values("cause") == "nothing"
    frame["load_percent"] = pd.to_numeric(frame["load_percent"].where(plain))
    return frame
