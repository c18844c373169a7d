# SPDX-License-Identifier: GPL-2.0-only
"""How far off PELT's averages are because they are not refreshed at every update.

A kernel adds to the sums at every update, but divides them into the averages only when the update crosses
the border of a window of 1024 * 1024 ns. In between ``util_avg`` is stale. A patch of 2017 refreshes it also
when at least 512 units of 1024 ns have passed since the last update of the sums::

    window      |<---------------- 1024 units ---------------->|
    updates     e-p----------------------------------------t---|---------t---
    util_avg    refreshed                            stale ^             refreshed
                                                           and, with the patch, refreshed

The error of an update is ``|util_avg - util_now|``: what is reported against what would be, had that update
refreshed the average. It is counted at every update, refreshed or not. What else an error may be measured
against, ``DEFINITIONS`` says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from tqdm import tqdm

from schedpy import kernel as _kernel
from schedpy import pelt, workload
from schedpy._coerce import as_choice, as_choices, as_int, as_number

HZ = (100, 250, 300, 1000)

#: Name -> (kernel, update_threshold in units of 1024 ns). The patch is for the function of 4.15; util_avg of
#: 4.13 and of all kernels after it is stale by the same amounts.
VARIANTS = {
    "4.12": ("4.12", 0),
    "4.13+": ("4.15", 0),
    "4.13+ with 512": ("4.15", 512),
    "4.13+ with 128": ("4.15", 128),
    "4.12 with 128": ("4.12", 128),
}
WITHOUT, WITH, WITH_128 = "4.13+", "4.13+ with 512", "4.13+ with 128"


def _forms():
    for form in _kernel.ranges("pelt.update"):
        yield form.first, (form.first, 0)
        if _kernel.parse(form.first) >= _kernel.parse("4.12"):
            yield from (
                (f"{form.first} with {threshold}", (form.first, threshold)) for threshold in (512, 128)
            )


#: Every form of the update from 3.8 on, by its first kernel, and with each threshold where there can be one.
FORMS = dict(_forms())

#: Name -> (the value in question, what it is held against). "continuous" is the real-valued signal. The first
#: is the mail's: what refreshing too seldom costs. The second is what the integers and their divider cost,
#: the third both. "held" is not at updates but on a fine grid while the task runs: the value of the last
#: update against the rule carried on to there.
DEFINITIONS = {
    "stale": ("util_avg", "util_now"),
    "arithmetic": ("util_now", "continuous"),
    "both": ("util_avg", "continuous"),
    "held": ("util_avg", "util_now"),
}

UNIT_NS = 1024
WINDOW = 1024
WINDOW_NS = WINDOW * UNIT_NS
BASE_NS = 9536 * WINDOW_NS  # the border of a window, about 10 s after boot

RUN_NS, PERIOD_NS, ACTIVATIONS, WARM_UP_NS = 20_000_000, 100_000_000, 30, 1_000_000_000
LENGTH_NS = ACTIVATIONS * PERIOD_NS
STARTS_NS = tuple(range(0, WINDOW_NS, WINDOW_NS // 32))
#: Every fourth will do where updates or points are many.
FEW_STARTS_NS = STARTS_NS[::4]
TICK_OFFSETS_NS = (0, 333_333, 1_500_000)

#: How far apart on average further updates are, to see what they do.
EXTRA_NS = (150_000, 1_000_000, 3_000_000)
SEED = 2017

FULL_SCALE = 1024
MAX_NS = 2**62
BY = ("start_ns", "tick_offset_ns", "activation", "label", "updated")
SCALES = ("of_value_pct", "of_1024_pct")
LABELS = ("enqueue", "pick", "tick", "dequeue", "extra", "point")


@dataclass(frozen=True, eq=False)
class Sample:
    """The updates of all runs at one tick rate, as rows (runs, n), and where each run starts and ticks.

    Shorter rows repeat their last update, which changes nothing: ``real`` says which are meant. ``counted``
    are those after the warm-up.
    """

    hz: int
    start_ns: np.ndarray
    tick_offset_ns: np.ndarray
    now: np.ndarray
    running: np.ndarray
    on_rq: np.ndarray
    label: np.ndarray
    real: np.ndarray
    counted: np.ndarray

    @property
    def activation(self):
        return np.cumsum(self.label == "enqueue", axis=-1) - 1

    def common(self, where, now):
        """The columns that every variant shares, of lines at ``now`` (ns), as rows and columns ``where``."""
        run = where[0]
        return {
            "hz": self.hz,
            "run": run,
            "start_ns": self.start_ns[run],
            "tick_offset_ns": self.tick_offset_ns[run],
            "activation": self.activation[where],
            "time_ns": (now - np.uint64(BASE_NS)).astype(np.int64),
        }


def _stack(tasks):
    """Event arrays of different lengths as rows, and which of the events are real."""
    lengths = np.array([len(task.now) for task in tasks])
    columns = np.arange(lengths.max(initial=0))
    real = columns < lengths[:, np.newaxis]
    fields = {}
    for field in ("now", "running", "on_rq", "label"):
        rows = [getattr(task, field)[np.minimum(columns, len(task.now) - 1)] for task in tasks]
        fields[field] = np.array(rows).reshape(real.shape)
    return {**fields, "real": real}


def _with_extra(task, mean_ns, random):
    """A task that others' comings and goings update too, at random, so many ns apart on average."""
    if not mean_ns or not len(task.now):
        return task
    first, last = int(task.now[0]), int(task.now[-1])
    extra = np.sort(random.integers(first, last, random.poisson((last - first) / mean_ns), dtype=np.uint64))
    where = np.searchsorted(task.now, extra, side="right")
    return replace(
        task,
        now=np.insert(task.now, where, extra),
        # An update's flags are of the time up to it, as those of the update after it.
        running=np.insert(task.running, where, task.running[where]),
        on_rq=np.insert(task.on_rq, where, task.on_rq[where]),
        label=np.insert(task.label, where, "extra"),
        phase=np.insert(task.phase, where, task.phase[where]),
    )


def samples(
    *,
    hz=HZ,
    run_ns=RUN_NS,
    period_ns=PERIOD_NS,
    activations=None,
    warm_up_ns=WARM_UP_NS,
    starts_ns=STARTS_NS,
    tick_offsets_ns=TICK_OFFSETS_NS,
    extra_ns=0,
    seed=SEED,
):
    """The runs that :func:`measure` measures, with its parameters: a Sample per tick rate."""
    rates, starts, offsets = map(
        several, (hz, starts_ns, tick_offsets_ns), ("hz", "starts_ns", "tick_offsets_ns")
    )
    if activations is None:
        activations = -(-LENGTH_NS // as_number(period_ns, "period_ns", low=1))
    count = as_number(activations, "activations", low=0)
    counted_from = BASE_NS + as_number(warm_up_ns, "warm_up_ns", low=0, high=MAX_NS)
    mean = as_number(extra_ns, "extra_ns", low=0, high=MAX_NS)
    seed = as_number(seed, "seed", low=0)
    for rate in rates:
        random = np.random.default_rng([seed, rate])
        tick = workload.tick_nsec(rate)
        grid = [(start, offset) for offset in offsets if offset < tick for start in starts]
        tasks = [
            workload.periodic(
                run_ns, period_ns, count, hz=rate, start_ns=BASE_NS + start, tick_offset_ns=offset
            )
            for start, offset in grid
        ]
        rows = _stack([_with_extra(task, mean, random) for task in tasks])
        start, offset = np.array(grid, dtype=np.int64).reshape(-1, 2).T
        yield Sample(rate, start, offset, **rows, counted=rows["real"] & (rows["now"] > counted_from))


def track_runs(now, running, on_rq, variant, fields, since=BASE_NS):
    """One call for all runs; every run starts at the border of a window with nothing accrued."""
    kernel, threshold = variant
    return pelt.track(
        now,
        kernel=kernel,
        running=running,
        on_rq=on_rq,
        update_threshold=threshold,
        state=pelt.initial_state(now.shape[:-1], last_update_time=since),
        fields=fields,
    )


def has_util(variant):
    """Whether that kernel has util_avg: up to 4.0 a task has load_avg alone, here at its weight of 1024."""
    return _kernel.form("pelt.update", variant[0]) != "P38"


def signal_of(variant):
    """What a variant reports and what it would report, as fields of pelt.track."""
    return ("util_avg", "util_now") if has_util(variant) else ("load_avg", "load_now")


def place_of(variant):
    """The field that holds the place in the window; up to 4.0 that is its remainder."""
    return "period_contrib" if has_util(variant) else "runnable_sum"


def _errors(util_avg, util_now):
    """|reported - had we updated|, in units of util_avg."""
    return np.abs(util_avg.astype(np.int64) - util_now.astype(np.int64))


def of_value(error, util_now):
    """Errors in percent of the value: infinite where that is 0, but for no error."""
    true = np.asarray(util_now, np.float64)
    return np.divide(100 * error, true, out=np.where(error > 0, np.inf, 0.0), where=true > 0)


def of_1024(error):
    return 100 * error / FULL_SCALE


def several(x, name):
    """One or more integers, as a list of Python ints."""
    values = np.atleast_1d(as_int(x, name, np.int64, low=0))
    if values.ndim != 1 or not values.size:
        raise ValueError(f"{name} has shape {values.shape}: must be one number or a sequence of at least one")
    return values.tolist()


def chosen_variants(names):
    if isinstance(names, Mapping):
        return dict(names)
    known = FORMS | VARIANTS
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"variants: {unknown[0]!r} must be one of {', '.join(map(repr, known))}")
    return {name: known[name] for name in names}


def measure(*, variants=tuple(VARIANTS), definition="stale", **sample):
    """Every update of a sample of runs that begin and tick at different places of a PELT window.

    Parameters
    ----------
    variants : sequence of str, or mapping
        Keys of ``VARIANTS`` or ``FORMS``, or other names with their ``(kernel, update_threshold)``.
    definition : {"stale", "arithmetic", "both"}
        What the error is: see ``DEFINITIONS``.
    hz : int or sequence of int
        Tick rates (CONFIG_HZ).
    run_ns, period_ns : int
        The task; by default the mail's 20 ms of 100 ms.
    activations : int, optional
        How often it wakes; None: for 3 s.
    warm_up_ns : int
        Updates up to that long after the base are not counted.
    starts_ns : sequence of int
        First enqueues, ns after a window's border; by default every 32nd of a window.
    tick_offsets_ns : sequence of int
        Places of the tick grid, ns; those of a tick's length or more are left out, as they repeat others.

    extra_ns : int
        0: no other updates. Else further updates at random, that many ns apart on average, as a CPU's own
        signal has them from its other tasks.
    seed : int
        Of their randomness.

    Returns
    -------
    DataFrame
        One line per counted update, refreshed or not: ``variant``, ``hz``, ``run``, ``start_ns``,
        ``tick_offset_ns``, ``activation``, ``label``, ``time_ns`` (since the base), ``in_window`` (place in
        the window, 0..1023 units of 1024 ns), ``util_avg`` (reported), ``util_now`` (had this update
        refreshed it), ``updated``, ``error``, ``of_value_pct`` (error in percent of what it is held against),
        ``of_1024_pct``. Held against the real-valued signal there is that too, as ``continuous``. Up to 4.0,
        which have no utilisation, it is load_avg of a weight of 1024.

    Examples
    --------
    >>> one = measure(hz=1000, variants=("4.13+",), starts_ns=163_840, tick_offsets_ns=0, activations=29)
    >>> last = one[one["activation"] == 28]
    >>> last[["label", "util_avg", "util_now", "error"]].head(4).values.tolist()
    [['enqueue', 76, 76, 0], ['pick', 76, 76, 0], ['tick', 87, 87, 0], ['tick', 87, 107, 20]]
    """
    chosen = chosen_variants(variants)
    as_choice(definition, "definition", [name for name in DEFINITIONS if name != "held"])
    parts = [pd.DataFrame()]
    for sample_at_hz in samples(**sample):
        parts += [_lines(sample_at_hz, name, chosen, definition) for name in chosen]
    return pd.concat(parts, ignore_index=True)


def _lines(sample, name, chosen, definition):
    """The lines of one variant."""
    variant, counted = chosen[name], sample.counted
    where = np.nonzero(counted)
    fields = (*signal_of(variant), "updated", place_of(variant))
    track = track_runs(sample.now, sample.running, sample.on_rq, variant, fields)
    reported, would_be, updated, place = (track.history[field][counted] for field in fields)
    values = {"util_avg": reported.astype(np.int64), "util_now": would_be.astype(np.int64)}
    if "continuous" in DEFINITIONS[definition]:
        active = sample.running if has_util(variant) else sample.on_rq
        values["continuous"] = pelt.continuous(sample.now, active)[counted]
    return error_lines(
        name,
        chosen,
        sample.common(where, sample.now[counted]),
        label=sample.label[counted],
        in_window=place.astype(np.int64) % WINDOW,
        updated=updated.astype(bool),
        values=values,
        definition=definition,
    )


def error_lines(name, chosen, common, *, label, in_window, updated, values, definition):
    """A variant's table: what is common to all, its values, and their error by one definition."""
    value, truth = (values[column] for column in DEFINITIONS[definition])
    error = np.abs(value - truth)
    return pd.DataFrame(
        {
            "variant": pd.Categorical([name] * len(error), categories=list(chosen)),
            **common,
            "label": pd.Categorical(label, categories=LABELS),
            "in_window": in_window,
            **values,
            "updated": updated,
            "error": error,
            "of_value_pct": of_value(error, truth),
            "of_1024_pct": of_1024(error),
        }
    )


def summary(updates, by=()):
    """The table of a measurement: how large the errors are, per variant and tick rate.

    Parameters
    ----------
    updates : DataFrame
        What :func:`measure` gave.
    by : sequence of str
        Further columns of it to tell apart, such as ``start_ns``, ``tick_offset_ns``, ``label``.

    Returns
    -------
    DataFrame
        One line per ``variant``, ``hz`` and what else is told apart. Of the errors in percent of the value
        (``_of_value_pct``) and of full scale (``_of_1024_pct``): ``max`` over all runs, ``median_max``
        (median over runs of each run's largest), ``p99`` (median over runs of each run's 99th percentile,
        linear); ``off_pct``, the share of updates with any error; ``runs`` and ``updates``.
    """
    key = ["variant", "hz", *as_choices(by, "by", BY)]
    by_run = updates.groupby([*key, "run"], observed=True)[list(SCALES)]
    largest = by_run.max().groupby(level=key, observed=True)
    p99 = by_run.quantile(0.99).groupby(level=key, observed=True)
    off = updates["error"].gt(0).groupby([updates[column] for column in key], observed=True)
    table = pd.concat(
        [
            largest.max().add_prefix("max_"),
            largest.median().add_prefix("median_max_"),
            p99.median().add_prefix("p99_"),
            off.mean().mul(100).rename("off_pct"),
            largest.size().rename("runs"),
            off.size().rename("updates"),
        ],
        axis=1,
    )
    return table.reset_index()


def supremum(
    *,
    hz=HZ,
    variants=tuple(VARIANTS),
    run_ns=RUN_NS,
    period_ns=PERIOD_NS,
    activations=ACTIVATIONS,
    warm_up_ns=WARM_UP_NS,
    step_ns=16 * UNIT_NS,
    progress=None,
):
    """The largest errors over a fine grid of two phases: start in the window, tick after the start.

    The sample of :func:`measure` may miss the worst case. Here the start takes every ``step_ns`` of a
    window and the tick every ``step_ns`` of a tick's length; 30 activations (20 counted) add 20 more places
    of the window to each run, as the period is no multiple of the window. By default that is 64 x 1122 runs
    at the four tick rates together.

    Parameters
    ----------
    hz, variants, run_ns, period_ns, activations, warm_up_ns
        As for :func:`measure`.
    step_ns : int
        Step of the grid, ns, both ways; the default is 16 units of 1024 ns.
    progress : bool, optional
        Show a bar; None: on a terminal only.

    Returns
    -------
    DataFrame
        One line per ``variant`` and ``hz``: ``max_of_value_pct``, ``max_of_1024_pct``, the ``start_ns`` and
        ``tick_offset_ns`` of a run that has the former (fit for :func:`measure`), and the number of
        ``runs``.
    """
    chosen = chosen_variants(variants)
    rates = several(hz, "hz")
    step = as_number(step_ns, "step_ns", low=1, high=WINDOW_NS)
    count = as_number(activations, "activations", low=0)
    counted_from = BASE_NS + as_number(warm_up_ns, "warm_up_ns", low=0, high=MAX_NS)
    starts = np.arange(0, WINDOW_NS, step)
    worst = {(name, rate): [0.0, 0.0, 0, 0, 0] for name in chosen for rate in rates}
    grid = [(rate, after) for rate in rates for after in range(0, workload.tick_nsec(rate), step)]
    silent = None if progress is None else not progress
    for rate, after in tqdm(grid, desc="start and tick phases", disable=silent):
        tick = workload.tick_nsec(rate)
        task = workload.periodic(
            run_ns, period_ns, count, hz=rate, start_ns=BASE_NS, tick_offset_ns=BASE_NS + after
        )
        now = task.now + starts[:, np.newaxis].astype(np.uint64)
        running, on_rq = np.broadcast_to(task.running, now.shape), np.broadcast_to(task.on_rq, now.shape)
        counted = now > counted_from
        for name, variant in chosen.items():
            track = track_runs(now, running, on_rq, variant, ("util_avg", "util_now"))
            off = counted & (track.util_avg != track.util_now)
            error = _errors(track.util_avg[off], track.util_now[off])
            shares = of_value(error, track.util_now[off])
            record = worst[name, rate]
            record[4] += len(starts)
            if len(shares) and shares.max() > record[0]:
                start = int(starts[np.nonzero(off)[0][shares.argmax()]])
                record[0], record[2], record[3] = shares.max(), start, (BASE_NS + start + after) % tick
            record[1] = max(record[1], of_1024(error.max(initial=0)))
    columns = ["max_of_value_pct", "max_of_1024_pct", "start_ns", "tick_offset_ns", "runs"]
    lines = [(name, rate, *record) for (name, rate), record in worst.items()]
    return pd.DataFrame(lines, columns=["variant", "hz", *columns])


def bounds():
    """What one window without a refresh can cost at most, in percent.

    Running, the average misses up to 1023 units of a signal that climbs to 1024: the share of full scale is
    largest when the signal is 0. Asleep, the sum stands still while its divider grows by 1023: that is a
    share of the value, whatever the value is.

    Returns
    -------
    Series
        ``running, of 1024`` and ``asleep, of the value``.

    Examples
    --------
    >>> bounds().round(2).tolist()
    [2.14, 2.19]
    """
    smallest = pelt.constants().load_avg_max - WINDOW
    stale = WINDOW - 1
    shares = {"running, of 1024": stale / (smallest + stale), "asleep, of the value": stale / smallest}
    return pd.Series(shares, name="bound_pct") * 100


def by_place(updates, parts=8):
    """Largest error by the place in the window at which the update came.

    Parameters
    ----------
    updates : DataFrame
        What :func:`measure` gave.
    parts : int
        Number of equal parts of the window.

    Returns
    -------
    DataFrame
        Indexed by ``variant`` and ``hz``, one column per part (its last unit, 127 .. 1023): the largest
        ``of_1024_pct``, 0 where no update fell.
    """
    as_number(parts, "parts", low=1, high=WINDOW)
    last_unit = (updates["in_window"] * parts // WINDOW + 1) * WINDOW // parts - 1
    largest = updates.groupby(["variant", "hz", last_unit], observed=True)["of_1024_pct"].max()
    return largest.unstack("in_window").fillna(0.0)


def worst_activation(updates, *, hz, variant=WITHOUT):
    """The activation in which a variant's error was largest, as every variant saw it.

    Parameters
    ----------
    updates : DataFrame
        What :func:`measure` gave.
    hz : int
    variant : str

    Returns
    -------
    DataFrame
        The lines of ``updates`` of that activation; ``time_ns`` counts from its first counted update.
    """
    at_hz = updates[updates["hz"] == hz]
    own = at_hz[at_hz["variant"] == variant]
    if own.empty:
        raise ValueError(f"updates: none of variant {variant!r} at hz {hz}")
    worst = own.loc[own["of_1024_pct"].idxmax()]
    lines = at_hz[(at_hz["run"] == worst["run"]) & (at_hz["activation"] == worst["activation"])]
    return lines.assign(time_ns=lines["time_ns"] - lines["time_ns"].min()).reset_index(drop=True)


def by_spacing(variants=(WITHOUT, WITH, WITH_128), updates=2048):
    """A task that runs and is updated at an even spacing: refreshes per window, and the largest error.

    A window is entered once, which refreshes; each further refresh inside it takes ``update_threshold``
    units since the last *update*. So uneven spacing cannot do better than the best even one, and spacings
    below the threshold leave the error as it was.

    Parameters
    ----------
    variants : sequence of str, or mapping
        As for :func:`measure`.
    updates : int
        How many updates of each spacing are followed.

    Returns
    -------
    DataFrame
        One line per ``variant`` and ``spacing`` (1..1024 units of 1024 ns): ``refreshes``, the most of the
        averages in any one window, and ``max_of_1024_pct``.

    Examples
    --------
    >>> table = by_spacing().groupby("variant", sort=False)["refreshes"].max()
    >>> table.to_dict()
    {'4.13+': 1, '4.13+ with 512': 2, '4.13+ with 128': 8}
    """
    updates = as_number(updates, "updates", low=1, high=2**20)
    spacing = np.arange(1, WINDOW + 1)
    units = spacing[:, np.newaxis] * np.arange(1, updates + 1)
    now = (units * UNIT_NS + BASE_NS).astype(np.uint64)
    running = np.broadcast_to(np.True_, now.shape)
    cell = np.arange(WINDOW)[:, np.newaxis] * (updates + 1) + units // WINDOW
    parts = []
    for name, variant in chosen_variants(variants).items():
        track = track_runs(now, running, running, variant, ("util_avg", "util_now", "updated"))
        refreshes = np.bincount(cell[track.updated.astype(bool)], minlength=WINDOW * (updates + 1))
        part = {
            "variant": name,
            "spacing": spacing,
            "refreshes": refreshes.reshape(WINDOW, -1).max(axis=1),
            "max_of_1024_pct": of_1024(_errors(track.util_avg, track.util_now).max(axis=1)),
        }
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)
