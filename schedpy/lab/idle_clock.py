# SPDX-License-Identifier: GPL-2.0-only
"""The clock of cpuidle in the mail of April 2016: what it says of reading clocks, and of shifting by 10.

Daniel Lezcano replaced ktime_get() by local_clock() in cpuidle, for it is cheaper to read, and the division
that makes nanoseconds microseconds by a 10-bit shift. The clock stayed; the shift was taken back before
4.7.4. ``published`` gives the mail's figures, ``conversion_table`` and ``deviation`` what the shift really
computes, ``stddev_bound`` what its standard deviations cannot be, ``beside_mail`` this host's clocks in the
mail's layout, ``verdicts`` one line per published figure.
"""

import tomllib
from importlib import resources

import numpy as np
import pandas as pd

from schedpy import clock, stopwatch
from schedpy._coerce import as_int, as_number
from schedpy.lab.idle_costs import costs, dearest, times_in_states
from schedpy.lab.idle_draws import FEW_MIXES, MIXES, Exponential, Interrupts, LogUniform, Timer
from schedpy.lab.idle_flips import bands, by_period, changes, flips, near_thresholds, over_tables
from schedpy.lab.idle_runs import PLATFORMS
from schedpy.lab.idle_snooze import snooze

__all__ = [
    "ASYMPTOTE_PCT",
    "FEW_MIXES",
    "FUNCTIONS",
    "MIXES",
    "PLATFORMS",
    "Exponential",
    "Interrupts",
    "LogUniform",
    "Timer",
    "bands",
    "beside_mail",
    "by_decade",
    "by_period",
    "changes",
    "conversion_table",
    "conversions",
    "costs",
    "dearest",
    "deviation",
    "flips",
    "history",
    "near_thresholds",
    "over_tables",
    "published",
    "snooze",
    "stddev_bound",
    "times_in_states",
    "verdicts",
]

# Where truncation no longer shows, the shift gives this much less than the division.
ASYMPTOTE_PCT = 100 * (1000 / 1024 - 1)

FUNCTIONS = ("ktime_get", "local_clock")
MOMENTS = ("average", "stddev", "maximum", "minimum")


def _data():
    text = resources.files("schedpy").joinpath("data/idle_clock_2016.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def published():
    """The mail's figures, as data.

    Returns
    -------
    DataFrame
        Indexed by a short key: ``mail``, ``what``, ``published`` (the figure as text), ``value`` (the number,
        missing where the mail gives words), ``unit``, ``quote`` (the mail's words), ``source`` (a link to
        the answer that quotes the mail in full). The table of conversions is in `conversion_table`.

    Examples
    --------
    >>> published().loc["ktime_get_stddev", "published"]
    '27.4 ns'
    """
    data = _data()
    table = pd.DataFrame(data["figures"]).set_index("key")
    table["published"] = [
        f"{values[0]} {unit}" if values else f'"{quote}"'
        for values, unit, quote in zip(table["values"], table["unit"], table["quote"], strict=True)
    ]
    table["value"] = [values[0] if values else np.nan for values in table["values"]]
    table["mail"], table["source"] = data["source"]["name"], data["source"]["url"]
    return table[["mail", "what", "published", "value", "unit", "quote", "source"]]


def history(ns=4_000_000):
    """What the kernel measured idles with before the mail, by it and since, and what it made of the ns.

    Parameters
    ----------
    ns : int
        An idle.

    Returns
    -------
    DataFrame
        ``kernels``, ``clock``, ``residency`` (a conversion as `schedpy.cpuidle.run` names it), ``told_us``
        (what a governor is told of an idle of ``ns``, in us), ``what``, ``evidence``.

    Examples
    --------
    >>> history()["told_us"].tolist()
    [4000.0, 3906.0, 4000.0, 4000.0]
    """
    length = as_number(ns, "ns", low=0, high=2**63 - 1)
    table = pd.DataFrame(_data()["history"])
    told = [
        length / 1000 if how == "ns" else float(clock.cpuidle_residency(length, how=how))
        for how in table["residency"]
    ]
    table.insert(3, "told_us", told)
    return table


def _check_is_of(table, name, function, *columns):
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{name} must be a DataFrame, not {type(table).__name__}")
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(f"{name} lacks the column {missing[0]}: must be what `{function}` gave")


def _check_cost(cost):
    if not isinstance(cost, stopwatch.ReadCost):
        raise TypeError(f"cost must be what stopwatch.read_cost gave, not {type(cost).__name__}")


def _figures(values, name):
    figures = np.atleast_1d(np.asarray(values))
    if figures.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be numbers, not {figures.dtype}")
    bad = ~np.isfinite(figures.astype(float))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(f"{name}: element {first} = {figures.flat[first]} must be finite")
    return figures.astype(float)


def conversions(ns):
    """Nanoseconds by the division and by the shift.

    Parameters
    ----------
    ns : array_like of int
        Times in ns, not negative.

    Returns
    -------
    DataFrame
        ``nsec``; ``div1000_us``, what ns / 1000 gives; ``shr10``, what ns >> 10 gives and is taken for us;
        ``real_div1000`` and ``real_div1024``, the quotients without truncation; ``deviation_pct``, by how
        much shr10 deviates from div1000_us, missing where that is 0.

    Examples
    --------
    >>> conversions([1000, 1_000_000])[["div1000_us", "shr10", "deviation_pct"]].values.tolist()
    [[1.0, 0.0, -100.0], [1000.0, 976.0, -2.4]]
    """
    ns = np.atleast_1d(as_int(ns, "ns", np.int64, low=0, time=True))
    divided, shifted = clock.ns_to_us(ns), clock.ns_to_us_shift(ns)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviates = np.where(divided > 0, 100 * (shifted - divided) / divided, np.nan)
    return pd.DataFrame(
        {
            "nsec": ns,
            "div1000_us": divided,
            "shr10": shifted,
            "real_div1000": ns / 1000,
            "real_div1024": ns / 1024,
            "deviation_pct": deviates,
        }
    )


def conversion_table():
    """The mail's table of conversions beside what the code computes.

    Returns
    -------
    DataFrame
        One row per row of the mail: the columns of `conversions`, ``mail_div1000`` and ``mail_div1024`` as
        printed, ``mail_div1024_us`` the latter in us, and ``remark``, where a cell is not what the shift
        gives.

    Examples
    --------
    >>> conversion_table()[["nsec", "mail_div1024", "shr10"]].values.tolist()
    [[1000, '976 nsec', 0], [1000000, '976 usec', 976], [1000000000, '976562 usec', 976562]]
    """
    printed = pd.DataFrame(_data()["conversions"])
    table = conversions(printed["nsec"].astype(float).astype(np.int64))
    table.insert(1, "mail_div1000", printed["div1000"])
    table.insert(2, "mail_div1024", printed["div1024"])
    table.insert(3, "mail_div1024_us", printed["div1024"].map(_in_us))
    table["remark"] = [_remark(row) for _, row in table.iterrows()]
    return table


def _in_us(cell):
    """A cell of the mail, "976 nsec", in microseconds."""
    number, unit = cell.split()
    return int(number) * {"usec": 1.0, "nsec": 1e-3}[unit]


def _remark(row):
    if row["mail_div1024_us"] == row["shr10"]:
        return ""
    unit = row["mail_div1024"].split()[1]
    return (
        f"the shift gives {row['shr10']}; {row['real_div1024']:.4g} us is the quotient without truncation, "
        f"printed in {unit} where the column counts usec"
    )


def deviation(ns=None):
    """By how much the shift deviates from the division, over 1 ns .. 10 s.

    Parameters
    ----------
    ns : array_like of int, optional
        Times in ns. None: 1 ns to 10 s, 100 times per decade, and up to 1 ms every multiple of 1000 and of
        1024: there the two conversions step, so there the deviation is largest and least.

    Returns
    -------
    DataFrame
        The columns of `conversions`, and ``asymptote_pct``, what remains for long times.

    Examples
    --------
    >>> table = deviation([1023, 10_000, 10**10])
    >>> table["deviation_pct"].round(5).tolist(), table["asymptote_pct"][0].item()
    ([-100.0, -10.0, -2.34375], -2.34375)
    """
    if ns is None:
        even = np.rint(np.geomspace(1, 10**10, 1001)).astype(np.int64)
        steps = [np.arange(unit, 10**6, unit) for unit in (1000, 1024)]
        ns = np.unique(np.concatenate([even, *steps]))
    table = conversions(ns)
    table["asymptote_pct"] = ASYMPTOTE_PCT
    return table


def by_decade(table):
    """The range of the deviation in each decade of times.

    Parameters
    ----------
    table : DataFrame
        What `deviation` gave.

    Returns
    -------
    DataFrame
        Per decade: ``from_ns``, ``worst_pct``, ``mean_pct``, ``best_pct``, ``times`` (that have a deviation).
    """
    _check_is_of(table, "table", "deviation", "nsec", "deviation_pct")
    known = table.dropna(subset="deviation_pct")
    decade = 10 ** (np.char.str_len(known["nsec"].to_numpy().astype(str)) - 1)
    found = known.groupby(decade)["deviation_pct"].agg(["min", "mean", "max", "count"])
    found.columns = ["worst_pct", "mean_pct", "best_pct", "times"]
    return found.rename_axis(index="from_ns").reset_index()


def stddev_bound(average=None, maximum=None, stddev=None, count=None):
    """Whether a printed standard deviation can be over so many samples.

    One sample at distance d from the mean adds d^2 to the sum of squares, so over n samples the standard
    deviation is d / sqrt(n) at least.

    Parameters
    ----------
    average, maximum, stddev : array_like of float, optional
        Printed figures, in ns. All None: the two of the mail.
    count : array_like of int, optional
        Samples. None: the mail's.

    Returns
    -------
    DataFrame
        ``average``, ``maximum``, ``stddev``, ``count``, ``distance``, ``least_stddev``, ``possible``; the
        mail's two are indexed by function.

    Examples
    --------
    >>> stddev_bound()[["stddev", "least_stddev", "possible"]].round(1).values.tolist()
    [[27.4, 38.2, False], [9.8, 13.4, False]]
    """
    given = {"average": average, "maximum": maximum, "stddev": stddev}
    missing = [name for name, values in given.items() if values is None]
    figures = published()["value"]
    index = None
    if len(missing) == len(given):
        given = {name: [figures[f"{each}_{name}"] for each in FUNCTIONS] for name in given}
        index = pd.Index(FUNCTIONS, name="function")
    elif missing:
        raise TypeError(f"{', '.join(missing)}: give average, maximum and stddev, or none of them")
    count = as_int(int(figures["calls"]) if count is None else count, "count", np.int64, low=1)
    figures_given = [_figures(values, name) for name, values in given.items()]
    try:
        columns = np.broadcast_arrays(*figures_given, np.atleast_1d(count))
    except ValueError:
        raise ValueError(f"{', '.join(given)} and count must have shapes that broadcast") from None
    table = pd.DataFrame(dict(zip((*given, "count"), columns, strict=True)), index=index)
    table["distance"] = (table["maximum"] - table["average"]).abs()
    table["least_stddev"] = table["distance"] / np.sqrt(table["count"])
    table["possible"] = table["stddev"] >= table["least_stddev"]
    return table


def _mail_rows():
    figures = published()["value"]
    for function in FUNCTIONS:
        yield {
            "clock": f"{function}()",
            "where": "the mail, in the kernel",
            "kind": "function call",
            **{f"{name}_ns": figures[f"{function}_{name}"] for name in MOMENTS},
        }


def beside_mail(cost):
    """The clocks of a host in the mail's layout, below the mail's own two.

    Parameters
    ----------
    cost : ReadCost
        What ``stopwatch.read_cost`` gave.

    Returns
    -------
    DataFrame
        Per clock: ``where``, ``kind``, ``average_ns``, ``stddev_ns``, ``maximum_ns``, ``minimum_ns`` as the
        mail has them: the average over all calls of the batches, the stddev of the averages of the rounds,
        the extremes of single calls. Also ``stddev_calls_ns``, the stddev of all single calls, missing in
        the mail.
    """
    _check_cost(cost)
    rows = list(_mail_rows())
    for measured in cost.clocks:
        value = measured.statistics()
        rows.append(
            {
                "clock": measured.name,
                "where": "this host, from user space",
                "kind": measured.kind,
                "average_ns": value["average_ns"],
                "stddev_ns": value["stddev_rounds_ns"],
                "maximum_ns": value["max_ns"],
                "minimum_ns": value["min_ns"],
                "stddev_calls_ns": value["stddev_calls_ns"],
            }
        )
    return pd.DataFrame(rows).set_index("clock")


def _nearest(cost):
    """function of the mail -> the clock of a host that comes nearest: the kernel's own are out of reach."""
    measured = {each.name: each for each in cost.clocks}
    counters = [each for each in cost.clocks if each.kind == "instruction"]
    return {
        "ktime_get": measured.get("CLOCK_MONOTONIC"),
        "local_clock": counters[0] if counters else None,
    }


_STATISTIC = {"average": "average_ns", "maximum": "max_ns", "minimum": "min_ns"}


def _time_lines(cost):
    """key -> (ours, verdict, why) of the times that a CPU of 2016 took."""
    nearest = {} if cost is None else _nearest(cost)
    for function in FUNCTIONS:
        here = nearest.get(function)
        for name, statistic in _STATISTIC.items():
            ours = "not measured"
            if here is not None:
                ours = f"{here.statistics()[statistic]:.1f} ns, {here.name}"
            yield (
                f"{function}_{name}",
                ours,
                "cannot be told",
                "a time on another CPU; user space cannot call "
                f"{function}(), ours is the nearest clock it can read",
            )


def _stddev_lines(cost):
    nearest = {} if cost is None else _nearest(cost)
    for function, row in stddev_bound().iterrows():
        why = (
            f"one call at {row['maximum']:.0f} ns alone forces ({row['maximum']:.0f} - "
            f"{row['average']:.0f}) / sqrt({row['count']:.0f}); "
            "most likely the stddev of the averages of the rounds"
        )
        here = nearest.get(function)
        if here is not None:
            value = here.statistics()
            why += (
                f" ({here.name} here: {value['stddev_rounds_ns']:.1f} ns of the rounds, "
                f"{value['stddev_calls_ns']:.1f} ns of the calls)"
            )
        yield (
            f"{function}_stddev",
            f"at least {row['least_stddev']:.1f} ns over {row['count']:.0f} calls",
            "consistent" if row["possible"] else "not consistent",
            why,
        )


def _sum_lines():
    """key -> (ours, verdict, why) of the figures that follow from others of the mail."""
    value = published()["value"]
    calls = value["rounds"] * value["calls_per_round"]
    yield (
        "calls",
        f"{calls:.0f} calls",
        "agrees" if calls == value["calls"] else "differs",
        f"{value['rounds']:.0f} rounds of {value['calls_per_round']:.0f}",
    )
    less = [name for name in MOMENTS if value[f"local_clock_{name}"] < value[f"ktime_get_{name}"]]
    yield (
        "faster",
        f"less in {', '.join(less)}",
        "consistent" if len(less) == len(MOMENTS) else "not consistent",
        "by the mail's own figures; without their raw samples no test of the difference can be made",
    )
    saved = 2 * (value["ktime_get_average"] - value["local_clock_average"])
    yield (
        "saved",
        f"{saved:.0f} ns",
        "agrees" if round(saved, -1) == value["saved"] else "differs",
        f"2 * ({value['ktime_get_average']:.0f} - {value['local_clock_average']:.0f}), rounded to tens",
    )
    racing = (value["ktime_get_maximum"] - value["local_clock_maximum"]) / 1000
    yield (
        "saved_racing",
        f"{racing:.1f} us",
        "consistent" if racing >= 10 else "not consistent",
        f"{value['ktime_get_maximum']:.0f} - {value['local_clock_maximum']:.0f} ns, the largest of all calls "
        "to either; what they waited for the mail cannot know",
    )


def _deviation_lines(table):
    value = published().loc["linear_deviation", "value"]
    decades = by_decade(table)
    short, long = decades.iloc[0], decades[decades["times"] > 1].iloc[-1]
    linear = (decades[["worst_pct", "best_pct"]].round(2) == -value).all(axis=None)
    yield (
        "linear_deviation",
        f"{-ASYMPTOTE_PCT} %",
        "agrees" if round(-ASYMPTOTE_PCT, 2) == value else "differs",
        "1 - 1000/1024, what remains for long times",
    )
    yield (
        "linear_deviation, linear",
        f"{short['worst_pct']:.1f} .. {short['best_pct']:.1f} % from {short['from_ns']:.0f} ns, "
        f"{long['worst_pct']:.5f} .. {long['best_pct']:.5f} % from {long['from_ns'] / 1e9:.0f} s",
        "agrees" if linear else "differs",
        "both conversions truncate, and the two truncations add up to a whole unit: the shorter the time, "
        "the larger its share",
    )


def _shifted(found):
    if found is None:
        return flips(n=2000, seeds=1, progress=False)
    _check_is_of(found, "found", "flips", "kind", "idles", "table", "residency", "flips_pct")
    shifted = found[found["residency"] == "shr10"]
    if shifted.empty:
        raise ValueError("found: has no line of the residency 'shr10'")
    return shifted


#: Idles whose lengths follow a clock or a device, the others are of random length.
_PERIODIC = ("timer", "interrupts")


def _span(values):
    low, high = (f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} .. {high}"


def _flip_lines(found):
    """Whether the selection of states shows the shift, and what became of it where it did."""
    over = over_tables(found)
    periodic = over["idles"].isin(found.loc[found["kind"].isin(_PERIODIC), "idles"])
    random, structured = over[~periodic], over[periodic]
    if len(random):
        yield (
            "lost, idles of random length",
            f"{_span(random['mean_pct'])} % of idles change state",
            "consistent" if random["mean_pct"].max() <= -ASYMPTOTE_PCT else "not consistent",
            "the mean over the tables, by mix; no more than the deviation itself, so few lie on a threshold",
        )
    if len(structured):
        worst = structured.loc[structured["worst_pct"].idxmax()]
        yield (
            "lost, timers and periodic interrupts",
            f"up to {worst['worst_pct']:.1f} % of idles change state",
            "consistent" if worst["worst_pct"] <= -ASYMPTOTE_PCT else "not consistent",
            f"{worst['worst_table']}, {worst['idles']}: the period lies where the shift moves a threshold, "
            "so each of them goes wrong the same way",
        )
    second = snooze(0).set_index("residency")["polled_ms"]
    yield (
        "acceptable",
        f"{second['shr10']:.0f} ms of a second polled, {second['div1000']:.1f} by the division",
        "consistent" if second["shr10"] <= 2 * second["div1000"] else "not consistent",
        "powernv_p8, whose polling gives up when the next state pays: shifted, that looks too short for it; "
        "the shift was taken back before 4.7.4",
    )


def _conversion_lines(mail):
    for _, row in conversion_table().iterrows():
        for column, ours in (("div1000", row["div1000_us"]), ("div1024", row["shr10"])):
            printed = row[f"mail_{column}"]
            same = _in_us(printed) == ours
            real = row["real_div1000"] if column == "div1000" else row["real_div1024"]
            yield (
                mail,
                f"{row['nsec']} ns by {column}",
                printed,
                f"{ours} us",
                "agrees" if same else "differs",
                f"without truncation {real:.10g} us" if same else row["remark"],
            )


def verdicts(cost=None, table=None, found=None):
    """The mail's figures beside ours, and what becomes of each.

    Parameters
    ----------
    cost : ReadCost, optional
        What ``stopwatch.read_cost`` gave; None: no clock of this host is named.
    table : DataFrame, optional
        What `deviation` gave; None: computed.
    found : DataFrame, optional
        What `flips` gave, of the conversion "shr10"; None: computed from short streams.

    Returns
    -------
    DataFrame
        One line per published figure (two for the deviation, which is called linear, and for whether it is
        lost): ``mail``, ``what``, ``published``, ``ours``, ``verdict`` ("agrees", "differs", "consistent",
        "not consistent" or "cannot be told"), ``why``.

    Examples
    --------
    >>> lines = verdicts().set_index("what")
    >>> lines.loc["saved at idle time, entry and exit", ["published", "ours", "verdict"]].tolist()
    ['80 ns', '82 ns', 'agrees']
    """
    if cost is not None:
        _check_cost(cost)
    claims = published()
    lines_of = [*_time_lines(cost), *_stddev_lines(cost), *_sum_lines()]
    lines_of += _deviation_lines(deviation() if table is None else table)
    lines_of += _flip_lines(_shifted(found))
    place = {key: number for number, key in enumerate(claims.index)}
    lines = []
    for key, ours, verdict, why in sorted(lines_of, key=lambda line: place[line[0].split(", ")[0]]):
        name, comma, reading = key.partition(", ")
        claim = claims.loc[name]
        lines.append((claim["mail"], claim["what"] + comma + reading, claim["published"], ours, verdict, why))
    lines += _conversion_lines(claims["mail"].iloc[0])
    return pd.DataFrame(lines, columns=["mail", "what", "published", "ours", "verdict", "why"])
