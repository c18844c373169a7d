# SPDX-License-Identifier: GPL-2.0-only
"""Why a look-up costs what it costs: states visited, lengths of tables, platforms, caches, memory."""

import itertools

import numpy as np
import pandas as pd
import scipy.special
from tqdm import tqdm

from schedpy import eas, em
from schedpy._coerce import as_choices, as_int, as_number
from schedpy.eas.timing import BIN, ENTRY, LINE, PARTS, STATE
from schedpy.lab.phases_gains import gains, middle_mean, over_repetitions
from schedpy.lab.phases_measure import ARMS, Cases, timed
from schedpy.lab.phases_tables import LEVEL, table

__all__ = ["by_length", "by_part", "by_platform", "explained", "memory", "slopes"]

CACHES = ("warm", "shared", "cold")
_ALL_ARMS = (*ARMS, "chained")
_LOWEST, _HIGHEST = 300_000, 3_000_000
_LONGEST = 512


def platform(states, domains, cpus):
    """A platform that nobody built: domains of evenly spaced states (kHz), the largest of capacity 1024."""
    freq = np.linspace(_LOWEST, _HIGHEST, states).astype(np.int64)
    power = np.maximum(1, freq**3 // (_HIGHEST**3 // 2000))
    return em.EnergyModel(
        [
            em.PerfDomain(
                f"domain{d}",
                range(d * cpus, (d + 1) * cpus),
                freq,
                power * (d + 1),
                unit="mW",
                capacity=1024 * (d + 1) // domains,
            )
            for d in range(domains)
        ]
    )


def _cases(model, prev_cpu, util, phase):
    """Tasks of an otherwise idle platform, grouped by a number."""
    capacity = eas.idle_cpus(model)["capacity_of"].astype(np.int64)
    held = np.minimum(util, capacity[prev_cpu])
    task = eas.task(prev_cpu=prev_cpu, util_avg=held, util_est=util)
    cpus = eas.idle_cpus(model, task.shape)
    cpus["util_avg"][np.arange(task.size), prev_cpu] = held
    groups, row = np.unique(phase, return_inverse=True)
    nothing = np.full(len(groups), np.nan)
    return Cases(model, task, cpus, groups, nothing, np.full(len(groups), ""), row)


def _settings(repetitions, seed, cpu):
    return {
        "repetitions": as_number(repetitions, "repetitions", low=2, high=10_000),
        "seed": as_number(seed, "seed", low=0),
        "cpu": cpu,
        "batch": None,
        "working_set": None,
        "progress": False,
    }


def _bar(rounds, what, progress):
    return tqdm(rounds, desc=what, delay=2, leave=False, disable=None if progress else True)


# Cost against the states that the walk visits


def by_length(*, states=64, caches=CACHES, repetitions=20, seed=2021, cpu=None, progress=True):
    """What one look-up costs against the number of states that the walk visits to its end.

    A platform of one domain and two CPUs: each placement makes exactly one look-up, and the task's
    utilisation says where the walk ends, so that nothing but the walk's length changes.

    Parameters
    ----------
    states : int
        Of the table, 2 .. 512.
    caches : sequence of {"warm", "shared", "cold"}
    repetitions, seed, cpu, progress
        As in ``phases.measure``.

    Returns
    -------
    DataFrame
        Indexed by caches, arm and visited states: ``ns`` of the placement, ``low`` .. ``high`` (95 %, Student
        over the repetitions). ``attrs["slopes"]`` is what :func:`slopes` shows.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> costs = phases.by_length(states=8, caches=["warm"], repetitions=2)
    >>> costs.loc["warm"].loc["walk"].index.tolist()
    [1, 2, 3, 4, 5, 6, 7, 8]
    """
    states = as_number(states, "states", low=2, high=_LONGEST)
    caches = as_choices(caches, "caches", CACHES)
    settings = _settings(repetitions, seed, cpu)
    cases = _one_look_up(states)
    costs, lines = {}, {}
    for kind in _bar(caches, "walk lengths", progress):
        timing = timed(cases, arms=_ALL_ARMS, caches=kind, evict=None, **settings)
        for arm, name in enumerate(timing.arm_names):
            each = np.array([middle_mean(timing.of(row, arm)) for row in range(len(timing.phase))])
            costs[kind, name] = pd.DataFrame(
                [over_repetitions(values) for values in each],
                columns=["ns", "low", "high"],
                index=pd.Index(timing.phase, name="visited"),
            )
            lines[kind, name] = over_repetitions(np.polyfit(timing.phase, each, 1)[0])
    frame = pd.concat(costs, names=["caches", "arm"])
    frame.attrs["slopes"] = lines
    return frame


def _one_look_up(states):
    """Up to 8 placements for each number of visited states; the one domain has two CPUs."""
    model = platform(states, 1, 2)
    util = np.arange(1, 819)
    zeros = np.zeros_like(util)
    cases = _cases(model, zeros, util, zeros)
    placed = eas.find_energy_efficient_cpu(
        model, cases.task, cases.cpus, kernel="5.12", skip_inefficient=False
    )
    visited = placed.walk_length.sum(axis=-1)
    chosen = np.concatenate([np.flatnonzero(visited == v)[:8] for v in np.unique(visited)])
    return _cases(model, zeros[chosen], util[chosen], visited[chosen])


def slopes(costs):
    """What a further state costs, per arm and caches.

    Parameters
    ----------
    costs : DataFrame
        Of :func:`by_length`.

    Returns
    -------
    DataFrame
        ``ns_per_state`` with its 95 % interval: the slope of a straight line through the costs, fitted in
        each repetition.
    """
    lines = costs.attrs["slopes"]
    index = pd.MultiIndex.from_tuples(lines, names=["caches", "arm"])
    return pd.DataFrame(list(lines.values()), columns=["ns_per_state", "low", "high"], index=index)


# Gain against lengths of tables, domains and CPUs


def by_platform(
    *,
    lengths=(2, 4, 8, 16, 32, 64, 128, 256, 512),
    domains=(1, 2, 3, 4, 6),
    cpus=(1, 2, 4, 8),
    caches=CACHES,
    placements=128,
    repetitions=10,
    seed=2021,
    cpu=None,
    progress=True,
):
    """What the tables gain over the walk on platforms of any size, one dimension varied at a time.

    Around three domains of two CPUs and 16 states; the tasks' CPU and utilisation (1 .. 818) are drawn.

    Parameters
    ----------
    lengths : sequence of int
        States per domain, 2 .. 512.
    domains : sequence of int
        1 .. 8.
    cpus : sequence of int
        Per domain, 1 .. 16.
    caches : sequence of {"warm", "shared", "cold"}
    placements : int
        How many are drawn for each platform, at least 8.
    repetitions, seed, cpu, progress
        As in ``phases.measure``.

    Returns
    -------
    DataFrame
        Indexed by what is varied, its value, caches and arm: the columns of ``phases.gains`` (``states``:
        median of what the walk visits), and ``walk_bytes``, ``arm_bytes`` of the platform's tables.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> grid = phases.by_platform(lengths=[4], domains=[], cpus=[], caches=["warm"], repetitions=2)
    >>> grid.index.get_level_values("arm").tolist()
    ['lut', 'walk again', 'held']
    """
    ranges = {"states": (lengths, "lengths", 2, _LONGEST), "domains": (domains, "domains", 1, 8)}
    ranges["cpus"] = (cpus, "cpus", 1, 16)
    grid = {
        what: [int(v) for v in np.atleast_1d(as_int(values, name, np.int64, low=low, high=high)).ravel()]
        for what, (values, name, low, high) in ranges.items()
        if len(values)
    }
    caches = as_choices(caches, "caches", CACHES)
    placements = as_number(placements, "placements", low=8, high=100_000)
    settings = _settings(repetitions, seed, cpu)
    points = [
        (what, value, kind)
        for what, values in grid.items()
        for value, kind in itertools.product(values, caches)
    ]
    if not points:
        raise ValueError("lengths, domains and cpus are empty: at least one must hold a number")
    parts = {}
    for what, value, kind in _bar(points, "platforms", progress):
        model = platform(**({"states": 16, "domains": 3, "cpus": 2} | {what: value}))
        parts[what, value, kind] = _platform_gains(model, placements, kind, settings)
    return pd.concat(parts, names=["varied", "value", "caches"])


def _platform_gains(model, placements, kind, settings):
    rng = np.random.default_rng(settings["seed"])
    prev_cpu = rng.integers(0, model.nr_cpus, placements)
    util = rng.integers(1, 819, placements)
    cases = _cases(model, prev_cpu, util, np.zeros(placements, dtype=int))
    frame = gains(timed(cases, arms=ARMS, caches=kind, evict=None, **settings)).droplevel(["phase", "cpu"])
    total = memory(model)[["walk_bytes", "lut_bytes", "held_bytes"]].sum()
    sizes = {"lut": "lut_bytes", "walk again": "walk_bytes", "held": "held_bytes"}
    return frame.assign(walk_bytes=total["walk_bytes"], arm_bytes=[total[sizes[arm]] for arm in frame.index])


def memory(model="pixel4"):
    """What each look-up keeps in memory, and how many cache lines that is.

    Parameters
    ----------
    model : str or EnergyModel

    Returns
    -------
    DataFrame
        Per domain: ``states``, ``bins`` of the 2021 table without detection of inefficient states; bytes and
        lines of 64 bytes: ``walk_*`` the states alone (24 bytes each in 5.12), ``lut_*`` with the patch's
        pointer per bin, ``held_*`` the table that holds the data itself and needs no states.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.memory().loc["little", ["states", "bins", "walk_bytes", "lut_bytes"]].tolist()
    [18, 23, 432, 616]
    """
    model = em.EnergyModel.load(model) if isinstance(model, str) else model
    if not isinstance(model, em.EnergyModel):
        raise TypeError(f"model must be a name or an EnergyModel, not {type(model).__name__}")
    rows = []
    for domain in model.domains:
        states, bins = len(domain.freq_khz), len(domain.lut(skip_inefficient=False).entries)
        walk = states * STATE
        entries = bins * ENTRY
        held = bins * BIN
        lines = {
            "walk_lines": _lines(walk),
            "lut_lines": _lines(walk) + _lines(entries),
            "held_lines": _lines(held),
        }
        sizes = {"walk_bytes": walk, "lut_bytes": walk + entries, "held_bytes": held}
        rows.append({"states": states, "bins": bins} | sizes | lines)
    return pd.DataFrame(rows, index=pd.Index([domain.name for domain in model.domains], name="domain"))


def _lines(size):
    return -(-size // LINE)


# What a cold table costs


def by_part(model="pixel4", *, repetitions=10, seed=2021, cpu=None, progress=True):
    """Where the time of a cold placement goes: one part after the other is thrown out of the caches.

    Parameters
    ----------
    model : str or EnergyModel
        With the domains little, mid and prime.
    repetitions, seed, cpu, progress
        As in ``phases.measure``.

    Returns
    -------
    DataFrame
        Indexed by what is ``cold`` ("nothing", "states", "entries", "held", "domains", "run queues",
        "everything") and arm: the mean over the rows of the mail in ns, ``low`` .. ``high`` (95 %, Student
        over the repetitions).
    """
    from schedpy.lab import phases

    choices = {"nothing": None} | {part: [part] for part in PARTS} | {"everything": list(PARTS)}
    parts = {}
    for name, evict in _bar(choices.items(), "parts", progress):
        timing = phases.measure(
            model,
            caches="cold" if evict else "warm",
            evict=evict,
            arms=_ALL_ARMS,
            repetitions=repetitions,
            seed=seed,
            cpu=cpu,
            progress=False,
        )
        rows = range(len(timing.phase))
        each = [
            np.mean([middle_mean(timing.of(row, arm)) for row in rows], axis=0)
            for arm in range(len(timing.arms))
        ]
        parts[name] = pd.DataFrame(
            [over_repetitions(values) for values in each],
            columns=["ns", "low", "high"],
            index=pd.Index(timing.arm_names, name="arm"),
        )
    return pd.concat(parts, names=["cold"])


# The mail's differences


def explained(lengths=None):
    """Do the states that the walk visits explain the mail's seven differences?

    Straight lines through seven points, weighted by the differences' own standard errors; intervals are
    Student's with 5 degrees of freedom, the scatter about the line taken from the points. With the length of
    the walk change, in the mail, the kind of CPU that ran the function, its frequency, and the mean itself: a
    line through one of them is no more a cause than a line through another.

    Parameters
    ----------
    lengths : Series, optional
        States visited, indexed by phase and cpu as the mail's rows. None: the medians of ``phases.wakeups``.

    Returns
    -------
    DataFrame
        Indexed by ``outcome`` ("diff", ns; "percent", of the walk's mean) and ``predictor`` ("states";
        "walk_mean", ns): ``intercept``, ``slope``, ``low``, ``high`` (95 %, of the slope), ``p``,
        ``r_squared`` (weighted), ``told`` (the interval excludes zero), and ``r_states``: the correlation of
        the predictor with the states, the confounding.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.explained()["told"].tolist()
    [False, False, False, False]
    """
    mail = table().loc["LUT"]
    if lengths is None:
        from schedpy.lab import phases

        lengths = phases.wakeups().groupby(["phase", "cpu"])["states"].median()
    if not isinstance(lengths, pd.Series):
        raise TypeError(f"lengths must be a Series, not {type(lengths).__name__}")
    if missing := [key for key in mail.index if key not in lengths.index]:
        raise ValueError(f"lengths has no entry for phase {missing[0][0]}, {missing[0][1]}")
    error = (mail["diff"] / mail["t"]).abs()
    outcomes = {"diff": (mail["diff"], error)}
    outcomes["percent"] = (mail["percent"], 100 * error / mail["a_mean"])
    predictors = {"states": lengths.reindex(mail.index).astype(float), "walk_mean": mail["a_mean"]}
    rows = {
        (outcome, name): _line(x.to_numpy(), y.to_numpy(), se.to_numpy())
        | {"r_states": np.corrcoef(x, predictors["states"])[0, 1]}
        for outcome, (y, se) in outcomes.items()
        for name, x in predictors.items()
    }
    index = pd.MultiIndex.from_tuples(rows, names=["outcome", "predictor"])
    return pd.DataFrame(list(rows.values()), index=index)


def _line(x, y, error):
    """Weighted least squares y = a + b x, the weights known up to a factor."""
    weight = 1 / error**2
    mean_x, mean_y = np.average(x, weights=weight), np.average(y, weights=weight)
    sxx = (weight * (x - mean_x) ** 2).sum()
    slope = (weight * (x - mean_x) * (y - mean_y)).sum() / sxx
    dof = len(x) - 2
    rest = (weight * (y - mean_y - slope * (x - mean_x)) ** 2).sum()
    all_ = (weight * (y - mean_y) ** 2).sum()
    se = np.sqrt(rest / dof / sxx)
    t = abs(slope) / se if se else np.inf
    half = scipy.special.stdtrit(dof, (1 + LEVEL) / 2) * se
    return {
        "intercept": mean_y - slope * mean_x,
        "slope": slope,
        "low": slope - half,
        "high": slope + half,
        "p": 2 * scipy.special.stdtr(dof, -t),
        "r_squared": 1 - rest / all_,
        "told": not slope - half <= 0 <= slope + half,
    }
