# SPDX-License-Identifier: GPL-2.0-only
"""The timing tables of the Pixel 4 mails of April 2021, what follows from them, and what does not fit."""

from importlib import resources

import numpy as np
import pandas as pd

from schedpy import stats
from schedpy.lab.timing import Timing

# 2 s of a 16 ms period, which is what the staircase runs in each phase.
ACTIVATIONS = 125
LEVEL = 0.95
# The mail's words for the three kinds of CPU, and the domains of the energy model.
CPU_NAMES = {"little": "Little", "mid": "Mid", "prime": "Big"}


def published():
    """The two tables, one row per phase and CPU, in ns.

    Returns
    -------
    DataFrame
        Indexed by phase and CPU. ``table_*`` is the table of 22 April 2021, ``letter_*`` the letter of 28
        April, which adds the interval and the standard deviation; ``table_percent`` is text, as
        printed; ``footnote`` marks the rows that the letter marks [1].

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> mail = phases.published()
    >>> mail.loc[(5, "Big"), ["table_walk_mean", "letter_walk_mean"]].tolist()
    [984, 987]
    """
    source = resources.files("schedpy") / "data" / "em_lut_2021.csv"
    with source.open(encoding="utf-8") as file:
        mail = pd.read_csv(file, comment="#", dtype={"table_percent": str})
    mail["footnote"] = mail["footnote"].astype(bool)
    return mail.set_index(["phase", "cpu"])


def _moments(mail, arm, means="table"):
    """One arm of the mails; the standard deviations stand in the letter alone, the counts in the table."""
    return stats.Moments(
        mail[f"{means}_{arm}_mean"].to_numpy(),
        mail[f"letter_{arm}_std"].to_numpy(),
        mail[f"table_{arm}_count"].to_numpy(),
    )


def _compared(index, duty_percent, a, b):
    """The mail's layout and what follows from it, for two arms."""
    c = stats.compare(a, b, LEVEL)
    columns = {"duty_percent": duty_percent}
    for name, moments in (("a", a), ("b", b)):
        columns[f"{name}_mean"] = moments.mean
        columns[f"{name}_interval"] = stats.interval(moments, LEVEL).half_width
        columns[f"{name}_std"] = moments.std
        columns[f"{name}_count"] = moments.count
    columns |= {
        "diff": c.diff,
        "percent": c.percent,
        "diff_low": c.interval.low,
        "diff_high": c.interval.high,
        "t": c.t,
        "dof": c.dof,
        "p": c.p,
        "p_holm": stats.holm(c.p),
        "overlap": columns["a_interval"] + columns["b_interval"] - np.abs(c.diff),
        "intervals_overlap": c.intervals_overlap,
        "cohen_d": c.cohen_d,
    }
    return pd.DataFrame(columns, index=index)


def table(source=None, *, means="table"):
    """The mail's layout, with the tests that belong to it.

    Parameters
    ----------
    source : Timing, optional
        What :func:`measure` gave. None: the mails.
    means : {"table", "letter"}
        Of the mails only: whose means. They differ in phase 5.

    Returns
    -------
    DataFrame
        One row per phase and CPU. a is the walk, b the look-up table; mean, 95 % interval (half its
        width), std, count of each; ``diff`` = b - a with its own interval ``diff_low`` .. ``diff_high``,
        in percent of a, Welch's t, degrees of freedom, p, p after Holm over the rows;
        ``overlap``: by how many ns the two intervals overlap (negative: the gap between them).
        A measurement has seven more rows, ``arms`` "A/A": there b is the walk once more, so what
        they show is what no difference looks like on that machine. It has five more columns, for a few
        samples that met an interrupt can move a mean by more than the difference:
        ``a_median``, ``b_median``, and ``shift``: b - a placement by placement, the median of each
        repetition, averaged over the repetitions; ``shift_low`` .. ``shift_high`` hold for all seven rows at
        once (Student's interval over the repetitions, 5 % shared by the rows), and for one run: from run to
        run the load of the machine moves a difference by more.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> t = phases.table()
    >>> t.loc[("LUT", 3, "Mid"), ["diff", "percent", "overlap", "p_holm"]].astype(float).round(3).tolist()
    [-33.0, -1.74, 1.256, 0.023]
    """
    if source is None:
        if means not in ("table", "letter"):
            raise ValueError(f'means = {means!r}: must be "table" or "letter"')
        mail = published()
        whole = _compared(
            mail.index, mail["duty_percent"], _moments(mail, "walk", means), _moments(mail, "lut", means)
        )
        return pd.concat({"LUT": whole}, names=["arms"])
    if not isinstance(source, Timing):
        raise TypeError(f"source must be a Timing or None, not {type(source).__name__}")
    if means != "table":
        raise ValueError("means: only the mails have two sets of means")
    return pd.concat({"LUT": _measured(source, 1), "A/A": _measured(source, 2)}, names=["arms"])


def _measured(timing, arm):
    """The first arm against another, by the mail's means and placement by placement."""
    rows = range(len(timing.phase))
    a, b = ([timing.of(row, number) for row in rows] for number in (0, arm))
    frame = _compared(timing.index, timing.duty_percent, _moments_of(a), _moments_of(b))
    shifts = np.array([np.median(y - x, axis=1) for x, y in zip(a, b, strict=True)])
    shift = stats.interval(stats.Moments.of(shifts, axis=1), 1 - (1 - LEVEL) / len(frame))
    return frame.assign(
        a_median=[np.median(x) for x in a],
        b_median=[np.median(y) for y in b],
        shift=shifts.mean(axis=1),
        shift_low=shift.low,
        shift_high=shift.high,
    )


def _moments_of(samples):
    """Of rows that need not be equally long."""
    each = [stats.Moments.of(row) for row in samples]
    return stats.Moments(*([getattr(m, name) for m in each] for name in ("mean", "std", "count")))


# What does not fit together in them


def inconsistencies():
    """Every place where the figures of the two mails disagree, with each other or with what is said of them.

    Returns
    -------
    DataFrame
        ``what``, ``printed``, ``computed`` and, in words, ``finding``; each computed from the mails' figures.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.inconsistencies()["printed"].iloc[1]
    '+/-71'
    """
    mail = published()
    found = [*two_means(mail), *_wrong_intervals(mail), *wider_spreads(mail), _counts(mail), footnote()]
    return pd.DataFrame(found, columns=["what", "printed", "computed", "finding"])


def row_name(index):
    phase, cpu = index
    return f"phase {phase}, {cpu}"


def arm_name(arm):
    return {"walk": "without LUT", "lut": "with LUT"}[arm]


def _as_printed(value, text):
    """A number with as many decimals as a printed one."""
    return f"{value:.{len(text.partition('.')[2])}f}"


def fits(compared, row):
    """Whether a row of :func:`table` gives the difference and the percentage that the mail prints."""
    percent = _as_printed(compared["percent"], row["table_percent"])
    return compared["diff"] == row["table_diff"] and percent == row["table_percent"]


def two_means(mail):
    tables = {means: table(means=means).loc["LUT"] for means in ("table", "letter")}
    for index, row in mail.iterrows():
        for arm in ("walk", "lut"):
            means = {name: row[f"{name}_{arm}_mean"] for name in tables}
            if len(set(means.values())) == 1:
                continue
            compared = {means[name]: tables[name].loc[index] for name in tables}
            fitting = [str(mean) for mean, c in compared.items() if fits(c, row)]
            yield {
                "what": f"{row_name(index)}: mean {arm_name(arm)}",
                "printed": "{table} in the table, {letter} in the letter".format(**means),
                "computed": "; ".join(
                    f"{mean}: {c['diff']:.0f} ns, {c['percent']:.2f} %" for mean, c in compared.items()
                ),
                "finding": f"the printed {row['table_diff']} ns and {row['table_percent']} % fit "
                f"{' and '.join(fitting) or 'neither'}{' only' * (len(fitting) == 1)}",
            }


def _half_width(mean, std, count):
    return stats.interval(stats.Moments(mean, std, count), LEVEL).half_width


def _wrong_intervals(mail):
    for index, row in mail.iterrows():
        for arm in ("walk", "lut"):
            mean, std, count = row[f"letter_{arm}_mean"], row[f"letter_{arm}_std"], row[f"table_{arm}_count"]
            printed, half = row[f"letter_{arm}_interval"], _half_width(mean, std, count)
            if round(half) == printed:
                continue
            low, high = _half_width(mean, [std - 0.5, std + 0.5], count)
            yield {
                "what": f"{row_name(index)}: interval {arm_name(arm)}",
                "printed": f"+/-{printed}",
                "computed": f"+/-{half:.2f}",
                "finding": f"rounds to {half:.0f}; a std that rounds to {std} gives {low:.2f} .. {high:.2f}",
            }


def wider_spreads(mail):
    wider = mail[mail["letter_lut_std"] > mail["letter_walk_std"]]
    for index, row in wider.iterrows():
        yield {
            "what": f"{row_name(index)}: spread",
            "printed": "slightly more narrow with the LUT",
            "computed": f"std {row['letter_walk_std']} -> {row['letter_lut_std']}",
            "finding": f"wider here; narrower in the other {len(mail) - len(wider)} rows",
        }


def repetitions_of(mail):
    """Placements per phase and arm, and how often the staircase ran if its fullest phase is complete."""
    sums = mail.groupby("phase")[["table_walk_count", "table_lut_count"]].sum()
    sums.columns = pd.Index(["walk", "lut"])
    return sums, np.ceil(sums.max() / ACTIVATIONS).astype(int)


def _counts(mail):
    sums, repetitions = repetitions_of(mail)
    missing = repetitions * ACTIVATIONS - sums
    (whole,) = missing.index[(missing == 0).all(axis=1)]
    printed, computed, short = [], [], []
    for arm, n in repetitions.items():
        parts = mail.loc[whole, f"table_{arm}_count"]
        printed.append(" + ".join(map(str, parts)))
        computed.append(f"{parts.sum()} = {n} x {ACTIVATIONS}")
        rest = missing[arm].drop(whole)
        short.append(f"{rest.min()} to {rest.max()} {arm_name(arm)}")
    return {
        "what": f"phase {whole}: counts",
        "printed": "; ".join(printed),
        "computed": "; ".join(computed),
        "finding": f"an inference: {' and '.join(map(str, repetitions))} repetitions of {ACTIVATIONS} "
        f"activations, so the arms were not run equally often; the other phases lack {' and '.join(short)}",
    }


def footnote():
    mail, compared = published(), table().loc["LUT"]
    marked, overlap = mail["footnote"], compared["intervals_overlap"]
    name = "exactly the rows" if (marked == overlap).all() else "not the rows"
    least = compared.loc[overlap, "overlap"].idxmin()
    return {
        "what": "footnote [1]: intervals overlap, so complicated to conclude",
        "printed": "phases " + ", ".join(str(phase) for phase, _ in marked.index[marked]),
        "computed": f"largest p {compared['p'].max():.3f}, after Holm {compared['p_holm'].max():.3f}",
        "finding": f"[1] marks {name} whose intervals overlap ({row_name(least)} by "
        f"{compared.loc[least, 'overlap']:.2f} ns), but overlap is not a test: "
        f"{(compared['p'] < 1 - LEVEL).sum()} of {len(compared)} p are below {1 - LEVEL:.2f}, "
        f"after Holm {(compared['p_holm'] < 1 - LEVEL).sum()}",
    }
