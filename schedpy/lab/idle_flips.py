# SPDX-License-Identifier: GPL-2.0-only
"""Which idle states change when a governor is told ns >> 10 instead of ns / 1000, or instead of ns.

The mail of 2016 has it that a deviation of 2.34 % is lost in the approximations of the prediction. `flips`
puts that to the governors themselves: the same idles, twice, with nothing else changed. `changes` says from
which state to which, `bands` where a table's thresholds lie with the one conversion and with the other.
"""

from itertools import pairwise

import numpy as np
import pandas as pd

from schedpy._coerce import as_number
from schedpy.lab.idle_draws import Timer
from schedpy.lab.idle_runs import PLATFORMS, experiments, loaded, name_of

__all__ = ["SHIFT_EXCESS", "bands", "by_period", "changes", "flips", "near_thresholds", "over_tables"]

#: By how much longer than the division an idle has to be to look as long to the shift.
SHIFT_EXCESS = 1024 / 1000 - 1


def _over_seeds(shares):
    """Mean and deviation over seeds of shares, in percent; one seed has no deviation."""
    shares = 100 * np.asarray(shares, np.float64)
    return float(shares.mean()), float(shares.std(ddof=1)) if len(shares) > 1 else np.nan


def _compared(experiment):
    """Each further conversion with what it selected, and what the kernel's own did."""
    before = experiment.selected[experiment.against]
    for how, after in experiment.selected.items():
        if how != experiment.against:
            yield how, before, after


def _counts(states, before, after):
    """How often each pair (before, after) came: shape (states, states)."""
    pair = before.astype(np.intp).ravel() * states + after.ravel()
    return np.bincount(pair, minlength=states * states).reshape(states, states)


def _most_frequent(table, counts):
    """The commonest change in words, with its share of all changes; empty where none is."""
    changed = counts - np.diag(np.diag(counts))
    if not changed.any():
        return "", np.nan
    before, after = np.unravel_index(int(np.argmax(changed)), changed.shape)
    share = 100 * changed[before, after] / changed.sum()
    return f"{table.state[before]} -> {table.state[after]}", float(share)


def flips(table=PLATFORMS, **experiment):
    """Which idles end in another state when the residency is converted otherwise.

    Every stream goes through the governor once for each conversion. The idles are the same, the states need
    not be, and what is measured includes the exit latency of the state selected: each run walks on with what
    it learnt, as a machine would.

    Parameters
    ----------
    table : IdleTable, name or path, or several
        The CPUs' states. By default the fifteen tables of the known answers.
    kernel : str, or several
        As for `cpuidle.run`. Of several kernels and governors, those pairs are taken that are proven.
        By default "4.7", the mail's.
    governor : {"menu", "teo", "ladder"}, or several
        By default "menu".
    idles : Timer, Interrupts, LogUniform or Exponential, or several
        What the CPU is idle for; by default ``idle_draws.MIXES``.
    residency : str, or several, optional
        The conversions to hold against what the kernel does ("div1000" for 4.7, "ns" for 6.x). None: all.
    n : int
        Idles in a stream, the governor's first ones among them.
    seeds : int
        Streams; each is drawn by a generator of its own, so that stream k is the same however many there are.
    seed : int
        Of all streams.
    hz : int
        Ticks a second, for menu and teo of 6.x.
    latency_us : int
        The PM QoS limit; by default none.
    tick_stopped : bool
        What menu and teo of 6.x are told at each select. The idles are as drawn either way: no tick wakes the
        CPU that is not among them.
    threads : int, optional
        Streams are split over so many. None: as many as there are CPUs.
    progress : bool
        A bar for what takes longer than two seconds, where standard error is a terminal.

    Returns
    -------
    DataFrame
        One line per table, kernel, governor, idles and conversion: ``table``, ``kernel``, ``governor``,
        ``kind``, ``idles``, ``period_us`` and ``jitter`` (missing where the idles have none), ``against`` and
        ``residency``; ``flips_pct``, the share of idles whose state differs, the mean over seeds, and
        ``deviation_pct``, the standard deviation over seeds; ``shallower_pct`` and ``deeper_pct``, the two
        parts of the share; ``change``, the commonest one, and ``change_pct``, its share of the changes; ``n``
        and ``seeds``.

    Raises
    ------
    ValueError, TypeError
        No such table, kernel, governor or conversion; an argument out of range.

    Examples
    --------
    A tick of 4 ms on a little core whose deep state pays from 3.934 ms on:

    >>> found = flips("sm8150_little", idles=Timer(4_000_000, jitter=0.001), n=1000, seeds=2)
    >>> found[["flips_pct", "change"]].values.tolist()
    [[99.35, 'little-rail-pc -> WFI']]
    """
    lines = []
    for one in experiments(table, **experiment):
        for how, before, after in _compared(one):
            mean, deviation = _over_seeds((before != after).mean(axis=1))
            change, change_pct = _most_frequent(one.table, _counts(len(one.table), before, after))
            period = one.idles.period_ns
            lines.append(
                {
                    **one.key,
                    "period_us": np.nan if period is None else period / 1000,
                    "jitter": getattr(one.idles, "jitter", np.nan),
                    "against": one.against,
                    "residency": how,
                    "flips_pct": mean,
                    "deviation_pct": deviation,
                    "shallower_pct": float(100 * (after < before).mean()),
                    "deeper_pct": float(100 * (after > before).mean()),
                    "change": change,
                    "change_pct": change_pct,
                    "n": before.shape[1],
                    "seeds": before.shape[0],
                }
            )
    return pd.DataFrame(lines)


def changes(table=PLATFORMS, **experiment):
    """From which state to which, in how many of all idles.

    Parameters
    ----------
    table, **experiment
        As for `flips`.

    Returns
    -------
    DataFrame
        One line per change that occurred: the columns that name the run, ``against``, ``residency``,
        ``from_state``, ``to_state``, ``share_pct`` of all idles, and ``deviation_pct`` over seeds; the
        commonest first.

    Examples
    --------
    >>> found = changes("juno", idles=Timer(2_550_000, jitter=0), n=1000, seeds=1)
    >>> found[["from_state", "to_state", "share_pct"]].values.tolist()
    [['cluster-sleep-0', 'cpu-sleep-0', 99.2]]
    """
    lines = []
    for one in experiments(table, **experiment):
        states = len(one.table)
        for how, before, after in _compared(one):
            counts = np.array([_counts(states, *rows) for rows in zip(before, after, strict=True)])
            total = counts.sum(axis=0)
            of_this = []
            for i, j in np.argwhere(total):
                if i != j:
                    mean, deviation = _over_seeds(counts[:, i, j] / before.shape[1])
                    names = {"from_state": one.table.state[i], "to_state": one.table.state[j]}
                    run = {**one.key, "against": one.against, "residency": how}
                    of_this.append({**run, **names, "share_pct": mean, "deviation_pct": deviation})
            lines += sorted(of_this, key=lambda line: -line["share_pct"])
    columns = ["table", "kernel", "governor", "kind", "idles", "against", "residency"]
    return pd.DataFrame(lines, columns=[*columns, "from_state", "to_state", "share_pct", "deviation_pct"])


def over_tables(found):
    """What `flips` gave, over all tables: the mean, and the table with the largest share.

    Parameters
    ----------
    found : DataFrame
        What `flips` gave.

    Returns
    -------
    DataFrame
        Per kernel, governor, idles and conversion: ``tables``, ``mean_pct``, ``worst_pct``, ``worst_table``,
        ``worst_deviation_pct`` (over seeds, of that table), ``shallower_of_flips_pct``, the part of all
        changes that go to a shallower state, missing where nothing changes.
    """
    lines = []
    for key, group in found.groupby(["kernel", "governor", "idles", "residency"], sort=False):
        worst = group.loc[group["flips_pct"].idxmax()]
        all_flips = group["flips_pct"].sum()
        lines.append(
            (
                *key,
                len(group),
                group["flips_pct"].mean(),
                worst["flips_pct"],
                worst["table"] if worst["flips_pct"] > 0 else "",
                worst["deviation_pct"],
                100 * group["shallower_pct"].sum() / all_flips if all_flips else np.nan,
            )
        )
    columns = ["kernel", "governor", "idles", "residency", "tables", "mean_pct", "worst_pct"]
    return pd.DataFrame(
        lines, columns=[*columns, "worst_table", "worst_deviation_pct", "shallower_of_flips_pct"]
    )


def bands(table=PLATFORMS):
    """Between which idles menu selects a shallower state by the shift than by the division.

    With R the target residency of a state and L an exit latency, the division selects the state from R on.
    The governor subtracts L after the conversion, so the shift asks for 0.024 (R + L) more: with the L of the
    shallower state that it comes from it never selects it below, with the L of the state itself it always
    does above, and between the two it alternates. The rule is of real numbers: truncation to whole us moves
    its ends by a few us.

    Parameters
    ----------
    table : IdleTable, name or path, or several

    Returns
    -------
    DataFrame
        One line per table and threshold that the division can tell from the one below: ``table``, ``state``,
        ``instead`` (the state below), ``target_residency_us``, ``never_below_us``, ``always_from_us``, and
        ``width_pct``, the band up to there relative to R. Of states with one target residency the deepest is
        the one that is selected.

    Examples
    --------
    >>> bands("sm8150_little")[["never_below_us", "always_from_us"]].round(1).values.tolist()
    [[4028.4, 4058.8]]
    """
    lines = []
    for states in loaded(table):
        residency, latency = (
            each.astype(np.int64).tolist() for each in (states.target_residency_us, states.exit_latency_us)
        )
        selected = [i for i, r in enumerate(residency) if i == len(residency) - 1 or residency[i + 1] != r]
        for below, i in pairwise(selected):
            # Each threshold in us is exact for the division; at 1 us and less nothing can be told.
            if residency[i] <= 1:
                continue
            never, always = (residency[i] + SHIFT_EXCESS * (residency[i] + latency[k]) for k in (below, i))
            lines.append(
                (
                    name_of(states),
                    states.state[i],
                    states.state[below],
                    residency[i],
                    never,
                    always,
                    100 * (always / residency[i] - 1),
                )
            )
    columns = ["table", "state", "instead", "target_residency_us", "never_below_us", "always_from_us"]
    return pd.DataFrame(lines, columns=[*columns, "width_pct"])


def near_thresholds(table, *, jitter=0.01, low_ns=1000, points=24):
    """Timers at which a table's states change: close together in and around its bands, far apart elsewhere.

    Parameters
    ----------
    table : IdleTable, name or path
        One.
    jitter : float
        As for `Timer`.
    low_ns : int
        The shortest; thresholds below are left out.
    points : int
        Periods around each band, and per decade elsewhere.

    Returns
    -------
    list of Timer
        From a seventh below the first threshold, but no less than ``low_ns``, to a seventh above the last.

    Examples
    --------
    >>> timers = near_thresholds("sm8150_little", points=4)
    >>> [timer.period_ns for timer in timers]
    [3372000, 3815980, 3933815, 4055289, 4180515, 4496000]
    """
    (states,) = loaded([table] if not isinstance(table, list | tuple) else table)
    around = as_number(points, "points", low=2)
    lowest = as_number(low_ns, "low_ns", low=1)
    found = bands(states)
    found = found[found["target_residency_us"] * 1000 >= lowest]
    if found.empty:
        raise ValueError(f"low_ns = {lowest}: {name_of(states)} has no threshold from there on")
    thresholds = 1000 * found["target_residency_us"].to_numpy()
    ends = max(lowest, int(thresholds[0]) * 6 // 7), int(thresholds[-1]) * 8 // 7
    decades = np.log10(ends[1] / ends[0])
    periods = [np.geomspace(*ends, max(2, round(decades * around)))]
    periods += [
        np.geomspace(0.97 * row.target_residency_us, 1.03 * row.always_from_us, around) * 1000
        for row in found.itertuples()
    ]
    every = np.unique(np.rint(np.concatenate(periods)).astype(np.int64))
    return [Timer(period, jitter) for period in every.tolist()]


def by_period(
    table=PLATFORMS, *, jitter=(0.001, 0.01), low_ns=50_000, points=24, n=2000, seeds=1, **experiment
):
    """What `flips` gives for timers of every period, close together where a table's states change.

    Parameters
    ----------
    table : IdleTable, name or path, or several
    jitter : float, or several
        As for `Timer`.
    low_ns, points : int
        As for `near_thresholds`.
    n, seeds, **experiment
        As for `flips`, without ``idles``.

    Returns
    -------
    DataFrame
        As that of `flips`, sorted by table, jitter and period.

    Examples
    --------
    >>> found = by_period("gs101_little", jitter=0, points=12, n=500)
    >>> found.loc[found["flips_pct"] > 50, "period_us"].round().agg(["min", "max"]).tolist()
    [2002.0, 2050.0]
    """
    jitters = [jitter] if isinstance(jitter, int | float) else list(jitter)
    found = [
        flips(
            states,
            idles=[
                timer
                for share in jitters
                for timer in near_thresholds(states, jitter=share, low_ns=low_ns, points=points)
            ],
            n=n,
            seeds=seeds,
            **experiment,
        )
        for states in loaded(table)
    ]
    return pd.concat(found, ignore_index=True)
