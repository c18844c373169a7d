# SPDX-License-Identifier: GPL-2.0-only
"""Where the error of a PELT average comes from: window, divider, tick, or updates too close to each other.

A reader looks at ``util_avg`` whenever he likes and finds what the last refresh left there. Three things lie
between that and the signal of the real numbers::

    read        util_avg     of the last refresh
      |  stale               no window has ended since: at most one window, what the threshold is for
    update      util_now     the same sums, divided at the last update
      |  held                nobody has updated since: up to a tick, and no threshold helps
    now         util_now     the rule carried on to now
      |  arithmetic          integers, and until 4.12 a divider for a whole window that had only begun
    real        continuous
"""

import numpy as np
import pandas as pd

from schedpy import pelt, workload
from schedpy._coerce import as_number
from schedpy.lab.pelt_updates import (
    BASE_NS,
    EXTRA_NS,
    FEW_STARTS_NS,
    HZ,
    STARTS_NS,
    UNIT_NS,
    VARIANTS,
    WINDOW,
    WINDOW_NS,
    WITH,
    WITHOUT,
    chosen_variants,
    error_lines,
    has_util,
    measure,
    of_1024,
    of_value,
    place_of,
    samples,
    several,
    signal_of,
    track_runs,
)

GRID_NS = 40_000
_ABSENT_IN_3_8 = ("util_sum", "period_contrib", "runnable_avg", "util_avg")


def held(*, variants=(WITHOUT, WITH), grid_ns=GRID_NS, starts_ns=FEW_STARTS_NS, **sample):
    """The value of the last update on a fine grid while the task runs, against the rule carried on to there.

    What a reader between two updates gets: unlike :func:`measure` it counts how long nobody updated.

    Parameters
    ----------
    variants
        As for :func:`measure`.
    grid_ns : int
        From one point to the next, ns; the first is where the task is picked.
    **sample
        As for :func:`measure`.

    Returns
    -------
    DataFrame
        As :func:`measure` gives, one line per point: ``util_avg`` is what the last update left, ``util_now``
        what an update at that point would report, computed on a copy, ``in_window`` and ``updated`` those of
        the last update.

    Examples
    --------
    >>> one = held(hz=250, variants=("4.13+",), starts_ns=0, tick_offsets_ns=0, activations=12)
    >>> one[["util_avg", "util_now"]].iloc[[0, 50, 101]].values.tolist()
    [[76, 76], [91, 114], [91, 151]]
    """
    chosen = chosen_variants(variants)
    grid = as_number(grid_ns, "grid_ns", low=1)
    parts = [pd.DataFrame()]
    for rows in samples(starts_ns=starts_ns, **sample):
        where, now = _points(rows, grid)
        common = rows.common(where, now)
        parts += [_held_lines(rows, name, chosen, where, now, common) for name in chosen]
    return pd.concat(parts, ignore_index=True)


def _points(rows, grid):
    """Where the last update of each point is, as rows and columns, and the points (ns)."""
    picks, ends = (np.nonzero(rows.real & (rows.label == label)) for label in ("pick", "dequeue"))
    counted = rows.counted[picks]
    run, first, last = picks[0][counted], rows.now[picks][counted], rows.now[ends][counted]
    count = ((last - first) // np.uint64(grid)).astype(np.int64) + 1
    activation = np.repeat(np.arange(len(run)), count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    now = first[activation] + step.astype(np.uint64) * np.uint64(grid)
    run = run[activation]
    bounds = np.searchsorted(run, np.arange(len(rows.now) + 1))
    update = np.empty(len(now), np.intp)
    for row, times in enumerate(rows.now):
        part = slice(bounds[row], bounds[row + 1])
        update[part] = np.searchsorted(times, now[part], side="right") - 1
    return (run, update), now


def _held_lines(rows, name, chosen, where, now, common):
    variant = chosen[name]
    absent = () if has_util(variant) else _ABSENT_IN_3_8
    fields = [field for field in pelt.STATE.names or () if field not in absent]
    history = track_runs(rows.now, rows.running, rows.on_rq, variant, (*fields, "updated")).history
    state = pelt.initial_state(len(now), **{field: history[field][where] for field in fields})
    reported, would_be = signal_of(variant)
    kernel, threshold = variant
    there = pelt.track(
        now[:, np.newaxis],
        kernel=kernel,
        running=True,
        update_threshold=threshold,
        state=state,
        fields=(would_be,),
    )
    return error_lines(
        name,
        chosen,
        common,
        label=np.full(len(now), "point"),
        in_window=state[place_of(variant)].astype(np.int64) % WINDOW,
        updated=history["updated"][where].astype(bool),
        values={
            "util_avg": state[reported].astype(np.int64),
            "util_now": there.history[would_be][:, 0].astype(np.int64),
        },
        definition="held",
    )


def always_running(*, variants=tuple(VARIANTS), hz=HZ, starts_ns=STARTS_NS, seconds=10):
    """What is reported of a task that never sleeps, once it has settled: it ought to be full scale.

    Parameters
    ----------
    variants, hz, starts_ns
        As for :func:`measure`; the task is updated at every tick.
    seconds : int
        How long it is followed; the first is left out.

    Returns
    -------
    DataFrame
        One line per ``variant`` and ``hz``: ``lowest`` and ``highest`` value reported.

    Examples
    --------
    >>> always_running(variants=("4.12", "4.13+"), hz=250).values.tolist()
    [['4.12', 250, 1002, 1023], ['4.13+', 250, 1023, 1024]]
    """
    chosen = chosen_variants(variants)
    starts = np.array(several(starts_ns, "starts_ns"), np.uint64)[:, np.newaxis]
    length = as_number(seconds, "seconds", low=2, high=3600)
    lines = []
    for rate in several(hz, "hz"):
        ticks = np.arange(1, length * rate + 1, dtype=np.uint64) * np.uint64(workload.tick_nsec(rate))
        now = np.uint64(BASE_NS) + starts + ticks
        for name, variant in chosen.items():
            reported = signal_of(variant)[0]
            settled = track_runs(now, True, True, variant, (reported,)).history[reported][:, rate:]
            lines.append((name, rate, int(settled.min()), int(settled.max())))
    return pd.DataFrame(lines, columns=["variant", "hz", "lowest", "highest"])


def sawtooth(*, variants=(WITHOUT, WITH, "4.12"), windows=4, step=1):
    """A task that starts to run, and a CPU that falls asleep, updated so often that no threshold is met.

    Parameters
    ----------
    variants
        As for :func:`measure`.
    windows : int
        How many of each are followed.
    step : int
        From one update to the next, units of 1024 ns.

    Returns
    -------
    DataFrame
        One line per ``variant``, ``state`` ("running", from nothing; "asleep", from full scale) and update:
        ``time_ns`` since the state began, at the border of a window; ``in_window``, which without a
        threshold is the time since the last refresh in units; ``error``, ``of_value_pct``, ``of_1024_pct``.

    Examples
    --------
    >>> sawtooth(variants=("4.13+",), step=31).groupby("state")[["of_1024_pct"]].max().round(2).to_dict()
    {'of_1024_pct': {'asleep': 2.15, 'running': 2.05}}
    """
    length = as_number(windows, "windows", low=1, high=4096) * WINDOW
    units = np.arange(0, length, as_number(step, "step", low=1, high=WINDOW))
    now = np.uint64(BASE_NS) + units.astype(np.uint64) * np.uint64(UNIT_NS)
    parts = []
    for name, variant in chosen_variants(variants).items():
        long_ago = np.array([BASE_NS - 4096 * WINDOW_NS, BASE_NS], np.uint64)
        full = track_runs(long_ago, True, True, variant, ("util_avg",), since=long_ago[0]).state
        nothing = pelt.initial_state(last_update_time=BASE_NS)
        kernel, threshold = variant
        for word, running, state in (("running", True, nothing), ("asleep", False, full)):
            track = pelt.track(
                now,
                kernel=kernel,
                running=running,
                update_threshold=threshold,
                state=state,
                fields=("util_avg", "util_now", "period_contrib"),
            )
            error = np.abs(track.util_avg.astype(np.int64) - track.util_now.astype(np.int64))
            part = {
                "variant": name,
                "state": word,
                "time_ns": units * UNIT_NS,
                "in_window": track.period_contrib.astype(np.int64),
                "error": error,
                "of_value_pct": of_value(error, track.util_now),
                "of_1024_pct": of_1024(error),
            }
            parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def by_extra(
    *, extra_ns=(0, *EXTRA_NS), without=WITHOUT, patched=WITH, hz=250, starts_ns=FEW_STARTS_NS, **sample
):
    """What further updates do to the error, and to the patch.

    The threshold counts from the last update, not from the last refresh: every further update sets it back.

    Parameters
    ----------
    extra_ns : sequence of int
        As for :func:`measure`, one after the other.
    without, patched : str
        The variants to compare.
    **sample
        As for :func:`measure`.

    Returns
    -------
    DataFrame
        One line per ``extra_ns`` and ``variant``, in percent: ``skipped_pct``, the updates that refresh
        nothing without the patch; ``caught_pct``, how many of those this variant refreshes; and of single
        runs' largest errors of the value the least, the median and the largest: a single trial gives one.
    """
    lines = []
    for extra in several(extra_ns, "extra_ns"):
        updates = measure(variants=(without, patched), hz=hz, starts_ns=starts_ns, extra_ns=extra, **sample)
        skipped = ~updates.loc[updates["variant"] == without, "updated"].to_numpy()
        for name, part in updates.groupby("variant", observed=True):
            largest = part.groupby(["hz", "run"])["of_value_pct"].max()
            caught = 100 * part["updated"].to_numpy()[skipped].mean()
            spread = (largest.min(), largest.median(), largest.max())
            lines.append((extra, name, 100 * skipped.mean(), caught, *spread))
    columns = ["extra_ns", "variant", "skipped_pct", "caught_pct", "least_pct", "median_pct", "max_pct"]
    return pd.DataFrame(lines, columns=columns)
