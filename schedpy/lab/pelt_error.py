# SPDX-License-Identifier: GPL-2.0-only
"""The error of PELT's averages in the mail of August 2017: its figures, ours, and what becomes of each.

Joel Fernandes found ``util_avg`` "as much 2%" off for a task of 20 ms every 100 ms, and proposed to refresh
the averages more often. ``published`` gives the mail's claims, ``run`` the table of our errors,
``definitions`` the reading of "error" that gives the mail's figure, ``verdicts`` one line per claim. What
measures is in :mod:`schedpy.lab.pelt_updates`, what takes the error apart in
:mod:`schedpy.lab.pelt_causes`, what the patch costs in :mod:`schedpy.lab.pelt_price`; their functions are
here too.
"""

import tomllib
from functools import partial
from importlib import resources
from itertools import product

import pandas as pd

from schedpy import stats
from schedpy._coerce import as_choices
from schedpy.lab.pelt_causes import always_running, by_extra, held, sawtooth
from schedpy.lab.pelt_price import beside, price, refreshes, time_refresh
from schedpy.lab.pelt_updates import (
    DEFINITIONS,
    FORMS,
    FULL_SCALE,
    HZ,
    PERIOD_NS,
    RUN_NS,
    SCALES,
    UNIT_NS,
    VARIANTS,
    WINDOW,
    WINDOW_NS,
    WITH,
    WITH_128,
    WITHOUT,
    bounds,
    by_place,
    by_spacing,
    measure,
    several,
    summary,
    supremum,
    worst_activation,
)

__all__ = [
    "DEFINITIONS",
    "FORMS",
    "HZ",
    "VARIANTS",
    "always_running",
    "beside",
    "bounds",
    "by_extra",
    "by_place",
    "by_spacing",
    "conclusion",
    "definitions",
    "held",
    "measure",
    "price",
    "published",
    "refreshes",
    "run",
    "sawtooth",
    "summary",
    "supremum",
    "time_refresh",
    "verdicts",
    "worst_activation",
]


def published():
    """The mail's claims, as data.

    Returns
    -------
    DataFrame
        Indexed by a short key: ``mail``, ``what``, ``published`` (the figure as text), ``values`` (a tuple of
        numbers, empty where the mail gives words), ``unit``, ``quote`` (the mail's words), ``source`` (a link
        to the mail).

    Examples
    --------
    >>> published().loc["threshold", "published"]
    '512 us'
    """
    text = resources.files("schedpy").joinpath("data/pelt_error_2017.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    table = pd.DataFrame(data["figures"]).set_index("key")
    table["values"] = table["values"].map(tuple)
    figures = table["values"].map(lambda values: ", ".join(map(str, values)))
    words = '"' + table["quote"] + '"'
    table["published"] = (figures + " " + table["unit"]).where(figures != "", words)
    table["mail"], table["source"] = data["source"]["name"], data["source"]["url"]
    return table[["mail", "what", "published", "values", "unit", "quote", "source"]]


def run(
    *,
    hz=HZ,
    variants=tuple(VARIANTS),
    definition="stale",
    run_ns=RUN_NS,
    period_ns=PERIOD_NS,
    extra_ns=0,
    by=(),
    **sample,
):
    """How large the errors are: one table over everything that may be varied.

    By default the mail's experiment. What may be one or several is taken in every combination; a run
    longer than its period is left out.

    Parameters
    ----------
    hz : int or sequence of int
        Tick rates.
    variants : sequence of str, or mapping
        As for :func:`measure`; ``tuple(FORMS)`` is every form of the update from 3.8 on with every threshold.
    definition : str or sequence of str
        What the error is: keys of ``DEFINITIONS``. "held" is :func:`held`, which makes many lines: by
        default it has a quarter of the starts.
    run_ns, period_ns : int or sequence of int
        The task.
    extra_ns : int or sequence of int
        Further updates, that many ns apart on average; 0: none.
    by : sequence of str
        As for :func:`summary`: "start_ns" and "tick_offset_ns" give a line per phase.
    **sample
        ``starts_ns``, ``tick_offsets_ns``, ``activations``, ``warm_up_ns``, ``seed``: as for :func:`measure`.

    Returns
    -------
    DataFrame
        ``definition``, ``run_ns``, ``period_ns``, ``extra_ns``, and the columns of :func:`summary`.

    Examples
    --------
    >>> table = run(hz=(250,), variants=("4.13+", "4.13+ with 512"))
    >>> table[["variant", "max_of_value_pct", "max_of_1024_pct"]].round(2).values.tolist()
    [['4.13+', 20.0, 1.86], ['4.13+ with 512', 11.63, 0.98]]
    >>> table = run(hz=250, variants=("4.12", "5.7"), definition="arithmetic")
    >>> table[["variant", "max_of_1024_pct"]].round(2).values.tolist()
    [['4.12', 0.92], ['5.7', 0.1]]
    """
    definitions = as_choices(
        (definition,) if isinstance(definition, str) else definition, "definition", DEFINITIONS
    )
    if not definitions:
        raise ValueError(f"definition is empty: must be some of {', '.join(map(repr, DEFINITIONS))}")
    runs, periods = several(run_ns, "run_ns"), several(period_ns, "period_ns")
    tasks = [(run, period) for run, period in product(runs, periods) if run <= period]
    if not tasks:
        raise ValueError(f"run_ns: {min(runs)} is longer than every period_ns, {max(periods)} at most")
    parts = []
    for word, (run, period), extra in product(definitions, tasks, several(extra_ns, "extra_ns")):
        lines = held if word == "held" else partial(measure, definition=word)
        task = {"run_ns": run, "period_ns": period, "extra_ns": extra}
        at_hz = [
            summary(lines(hz=rate, variants=variants, **task, **sample), by) for rate in several(hz, "hz")
        ]
        table = pd.concat(at_hz).sort_values("variant", kind="stable", ignore_index=True)
        parts.append(pd.DataFrame({"definition": word, **task}, index=table.index).join(table))
    return pd.concat(parts, ignore_index=True)


def definitions(table, figure_pct=None, variant=WITHOUT):
    """Which reading of "error" gives the mail's figure: every statistic of a table against it.

    Parameters
    ----------
    table : DataFrame
        What :func:`summary` or :func:`run` gave.
    figure_pct : float, optional
        The figure to meet; None: the mail's.
    variant : str
        The variant without the patch.

    Returns
    -------
    DataFrame
        One line per definition: the statistic in percent at each HZ, ``gives_it`` (it rounds to the figure
        at every HZ) and ``at`` (the HZ at which it does).
    """
    if figure_pct is None:
        figure_pct = published().loc["largest_error", "values"][0]
    lines = table[table["variant"] == variant].set_index("hz")
    if lines.empty:
        raise ValueError(f"variant = {variant!r}: the table has no such line")
    if lines.index.has_duplicates:
        raise ValueError("table: must be of one task and one definition, a line per variant and hz")
    statistics = [column for column in lines if column.endswith(SCALES)]
    result = lines[statistics].T
    rounds = result.sub(figure_pct).abs() < 0.5
    result["gives_it"] = rounds.all(axis=1)
    result["at"] = [", ".join(str(rate) for rate in rounds if row[rate]) for _, row in rounds.iterrows()]
    return result.rename_axis(index="definition", columns=None).sort_values(
        "gives_it", ascending=False, kind="stable"
    )


def _span(values, digits, unit="%"):
    """ "1.86-1.95 %", or one number where the two are the same."""
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return f"{low} {unit}" if low == high else f"{low}-{high} {unit}"


def _arithmetic_lines(updates, worst):
    """key -> (ours, verdict, why) of the figures that follow from the arithmetic."""
    table = summary(updates)
    without, patched = (table[table["variant"] == name].set_index("hz") for name in (WITHOUT, WITH))
    readings = definitions(table)
    full_scale, of_value = readings.loc["max_of_1024_pct"], readings.loc["max_of_value_pct"]
    others = [name for name in readings.index[readings["gives_it"]] if name != "max_of_1024_pct"]
    alone = f"beside {', '.join(others)}" if others else f"alone of {len(readings)} readings"
    low = updates.loc[updates["variant"] == WITHOUT, "util_now"].min()
    fine = ""
    if worst is not None:
        line = worst[worst["variant"] == WITHOUT]
        fine = f"; over a fine grid of phases {_span(line['max_of_value_pct'], 1)}"

    spacing = by_spacing().groupby("variant", sort=False)["refreshes"].max()
    place = by_place(updates).loc[WITHOUT]
    last, first = place.iloc[:, -1], place.iloc[:, 0]
    fall = 100 - 100 * patched["max_of_value_pct"] / without["max_of_value_pct"]
    window_ms, threshold_us = WINDOW_NS / 1e6, VARIANTS[WITH][1] * UNIT_NS / 1e3
    values, limit = published()["values"], bounds()
    return {
        "largest_error, of full scale": (
            _span(without["max_of_1024_pct"], 2),
            "agrees" if full_scale["gives_it"] else "differs",
            f"error / {FULL_SCALE} rounds to the mail's figure at every HZ, {alone}; "
            f"one stale window costs at most {limit['running, of 1024']:.2f} % of it, "
            f"and {limit['asleep, of the value']:.2f} % of the value of a task asleep",
        ),
        "largest_error, of the value (as worded)": (
            _span(without["max_of_value_pct"], 1),
            "agrees" if of_value["gives_it"] else "differs",
            f"error / what it would be; the signal is down to {low} of {FULL_SCALE} "
            f"when the task wakes, where the same error is a larger share{fine}",
        ),
        "window": (
            f"{window_ms} ms",
            "agrees" if round(window_ms) == values["window"][0] else "differs",
            f"rounded: {WINDOW} units of {UNIT_NS} ns",
        ),
        "threshold": (
            f"{threshold_us} us",
            "agrees" if round(threshold_us) == values["threshold"][0] else "differs",
            f"the patch compares units of {UNIT_NS} ns, which the mail calls us",
        ),
        "updates_per_window": (
            f"{spacing[WITH]} updates",
            "agrees" if spacing[WITH] == values["updates_per_window"][0] else "differs",
            f"searched over every even spacing of updates; without the patch {spacing[WITHOUT]}, "
            f"with 128 {spacing[WITH_128]}",
        ),
        "near_boundary": (
            f"last eighth {_span(last, 2)}, first {_span(first, 2)} of {FULL_SCALE}",
            "agrees" if (place.idxmax(axis=1) == place.columns[-1]).all() else "differs",
            "largest error by place of the update in the window, at every HZ",
        ),
        "reduced": (
            f"{_span(without['max_of_value_pct'], 1)} -> "
            f"{_span(patched['max_of_value_pct'], 1)} of the value",
            "consistent" if (fall > 0).all() else "not consistent",
            f"the largest error falls by {_span(fall, 0)}, the share of updates that are off from "
            f"{_span(without['off_pct'], 1)} to {_span(patched['off_pct'], 1)}; "
            "nothing is gained where updates come closer than the threshold",
        ),
    }


def _benchmark_lines(updates):
    """key -> (ours, verdict, why) of the figures that a machine of 2017 measured."""
    values = published()["values"]
    refreshed = updates.groupby("variant", observed=True)["updated"].mean() * 100
    before, after = (stats.Moments.of(values[key]) for key in ("shell8_without", "shell8_with"))
    change = stats.compare(before, after)
    low, high = (100 * end / before.mean for end in (change.interval.low, change.interval.high))
    regression = -values["unixbench_128"][0]
    excluded = not low <= regression <= high
    with_patch, without = values["hackbench"]
    benchmark = "a benchmark of one machine of 2017; no arithmetic gives its score"
    return {
        "unixbench_128": (
            f"{refreshed[WITH_128]:.0f} % of updates refresh",
            "cannot be told",
            f"{benchmark}; without the patch {refreshed[WITHOUT]:.0f} % of updates refresh, "
            f"with 512 {refreshed[WITH]:.0f} %",
        ),
        "unixbench_no_regression": (
            f"{change.percent:.1f} % ({low:.1f} .. {high:.1f} %)",
            "consistent" if excluded else "cannot be told",
            f"interval of the difference of the mail's scores, {before.count} runs each; "
            f"{regression} % is {'outside' if excluded else 'inside'}, "
            f"0 is {'inside' if low <= 0 <= high else 'outside'}",
        ),
        "shell8_without": (f"mean {before.mean:.2f}", "cannot be told", benchmark),
        "shell8_with": (
            f"mean {after.mean:.2f}: {change.percent:.1f} %",
            "cannot be told",
            f"{benchmark}; the loss can be recomputed, Welch's p = {change.p:.2f}",
        ),
        "hackbench": (
            f"{100 * (with_patch - without) / without:.2f} % with the patch",
            "cannot be told",
            f"{benchmark}; one total each has no spread to compare with",
        ),
    }


def verdicts(updates=None, worst=None):
    """The mail's figures beside ours, and what becomes of each.

    Parameters
    ----------
    updates : DataFrame, optional
        What :func:`measure` gave, all tick rates and the variants 4.13+ with and without 512 and 128; None:
        measured now.
    worst : DataFrame, optional
        What :func:`supremum` gave; it is then named too.

    Returns
    -------
    DataFrame
        One line per published figure (two for the 2 %, which has two readings): ``mail``, ``what``,
        ``published``, ``ours``, ``verdict`` ("agrees", "differs", "consistent", "not consistent" or "cannot
        be told"), ``why``.
    """
    if updates is None:
        updates = measure()
    claims = published()
    lines = []
    found = _arithmetic_lines(updates, worst) | _benchmark_lines(updates)
    for key, (ours, verdict, why) in found.items():
        name, comma, reading = key.partition(", ")
        claim = claims.loc[name]
        lines.append((claim["mail"], claim["what"] + comma + reading, claim["published"], ours, verdict, why))
    return pd.DataFrame(lines, columns=["mail", "what", "published", "ours", "verdict", "why"])


class Sentences(str):
    """Text in Markdown, which a notebook shows as such."""

    __slots__ = ()

    def _repr_markdown_(self):
        return str(self)


def conclusion(lines):
    """The verdicts in sentences.

    Parameters
    ----------
    lines : DataFrame
        What :func:`verdicts` gave.

    Returns
    -------
    Sentences
        A str: one list per verdict word, in the order in which the words first appear.
    """
    parts = []
    for word, group in lines.groupby("verdict", sort=False):
        figures = [
            f"* {line.what}: the mail says {line.published}, here {line.ours}. Why: {line.why}."
            for line in group.itertuples()
        ]
        parts.append("\n".join([f"**{word[0].upper()}{word[1:]}**", "", *figures]))
    return Sentences("\n\n".join(parts))
