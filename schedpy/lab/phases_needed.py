# SPDX-License-Identifier: GPL-2.0-only
"""How many samples each phase would have needed, what the rows left out could show, and tests of samples."""

import numpy as np
import pandas as pd

from schedpy import stats
from schedpy.lab.phases_tables import ACTIVATIONS, LEVEL, published, repetitions_of, table
from schedpy.lab.timing import Timing

POWER = 0.8


def _arms_of(rows):
    return [
        stats.Moments(*(rows[f"{arm}_{part}"].to_numpy() for part in ("mean", "std", "count")))
        for arm in "ab"
    ]


def needed(rows=None, *, power=POWER, level=LEVEL):
    """What each row's counts can tell, and the counts that its difference needs.

    Parameters
    ----------
    rows : DataFrame, optional
        Of :func:`table` or :func:`recorded`. None: the mail's.
    power : float
        How often a true difference shall be told.
    level : float
        A difference is told where Welch's p is below 1 - level; in the columns ``*_holm`` where it is below
        that divided by the number of rows, which is enough for Holm whatever the other rows show.

    Returns
    -------
    DataFrame
        Per row: ``a_count``, ``b_count``; ``ratio`` of the means with Fieller's interval
        ``ratio_low`` .. ``ratio_high``; ``power``: how often these counts tell the difference that is seen,
        were it the true one; ``a_needed``, ``b_needed``: the fewest counts, in the same proportion, that tell
        it with the power asked for (missing where there is no difference); ``smallest``: the smallest
        difference, in the unit of the means, that the counts tell with it, and ``smallest_percent``, in
        percent of a's mean.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> n = phases.needed().loc[("LUT", 3, "Mid")]
    >>> int(n["a_count"]), int(n["a_needed"]), float(n["power"].round(2))
    (3119, 3436, 0.76)
    """
    rows = table() if rows is None else rows
    if not isinstance(rows, pd.DataFrame):
        raise TypeError(f"rows must be a DataFrame of table() or recorded(), not {type(rows).__name__}")
    lacking = [
        name for name in ("a_mean", "a_std", "a_count", "b_mean", "b_std", "b_count") if name not in rows
    ]
    if lacking:
        raise ValueError(f"rows: has no column {lacking[0]}: must be of table() or recorded()")
    a, b = _arms_of(rows)
    ratio = stats.ratio(a, b, level)
    smallest = stats.smallest_difference(a, b, power=power, level=level)
    found = {
        "a_count": a.count,
        "b_count": b.count,
        "ratio": ratio.value,
        "ratio_low": ratio.interval.low,
        "ratio_high": ratio.interval.high,
    }
    # Rows are one family within each of the arms compared.
    family = (
        rows.groupby(level="arms").transform("size").to_numpy() if "arms" in rows.index.names else len(rows)
    )
    for suffix, asked in (
        ("", np.full(len(rows), level)),
        ("_holm", 1 - (1 - level) / (family + np.zeros(len(rows)))),
    ):
        found[f"power{suffix}"] = _each(stats.power, a, b, asked)
        counts = _each(_counts, a, b, asked, power)
        for place, arm in enumerate("ab"):
            found[f"{arm}_needed{suffix}"] = pd.array([pair[place] for pair in counts], dtype="Int64")
    found["smallest"] = smallest
    found["smallest_percent"] = 100 * smallest / a.mean
    return pd.DataFrame(found, index=rows.index)


def _each(function, a, b, levels, *more):
    """Row by row, since each has a level of its own."""
    parts = ([stats.Moments(*row) for row in zip(m.mean, m.std, m.count, strict=True)] for m in (a, b))
    return [function(*pair, *more, level=float(level)) for *pair, level in zip(*parts, levels, strict=True)]


def _counts(a, b, power, level):
    if a.mean == b.mean:
        return pd.NA, pd.NA
    counts = stats.counts_needed(a, b, power=power, level=level)
    return int(counts.a), int(counts.b)


def left_out(*, power=POWER, level=LEVEL):
    """What the rows could tell that the mail left out for their counts.

    The mail says: "I removed from the table results that didn't have enough count to be statistically
    significant". How many those had it does not say, but each phase has as many activations as the
    staircase makes of it, an inference (see :func:`inconsistencies`): what the printed rows of a phase lack
    to that, all rows that were left out share. Supposed is that they spread as the phase's printed row
    that spreads least.

    Returns
    -------
    DataFrame
        Per phase: ``a_count``, ``b_count``: at most so many placements were left out of each arm;
        ``difference`` of the printed row in ns; ``a_needed``, ``b_needed``: what that difference needs, in
        the proportion of the repetitions; ``smallest``: the smallest difference in ns that the counts could
        tell, and ``power``: how often they would tell the printed one. The last two are missing where an
        arm has fewer than two.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> phases.left_out()[["a_count", "b_count"]].loc[1].tolist()
    [28, 10]
    """
    mail, compared = published(), table().loc["LUT"]
    sums, repetitions = repetitions_of(mail)
    lacking = repetitions * ACTIVATIONS - sums
    found = {}
    for phase, counts in lacking.iterrows():
        row = compared.loc[phase].sort_values("a_std").iloc[0]
        whole = [
            stats.Moments(row[f"{arm}_mean"], row[f"{arm}_std"], int(n))
            for arm, n in zip("ab", repetitions, strict=True)
        ]
        counts_needed = stats.counts_needed(*whole, power=power, level=level)
        smallest = told = float("nan")
        if counts.min() > 1:
            pair = [stats.Moments(m.mean, m.std, int(n)) for m, n in zip(whole, counts, strict=True)]
            smallest = float(stats.smallest_difference(*pair, power=power, level=level))
            told = float(stats.power(*pair, level=level))
        found[phase] = {
            "a_count": int(counts["walk"]),
            "b_count": int(counts["lut"]),
            "difference": float(row["diff"]),
            "a_needed": int(counts_needed.a),
            "b_needed": int(counts_needed.b),
            "smallest": smallest,
            "power": told,
        }
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("phase")


def sample_tests(source, *, level=LEVEL, resamples=9999, seed=2021):
    """What needs the samples: rank tests, the largest distance of the distributions, the ratio by resampling.

    Parameters
    ----------
    source : Timing or mapping
        What :func:`measure` gave, or (phase, cpu) -> (samples without, samples with the table), such as
        ``Recording.samples`` gives them.
    level : float
        Coverage of the interval of the ratio.
    resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    DataFrame
        Per row: counts; ``p_mann_whitney`` with ``above`` (how often a sample of b lies above one of a, 0.5
        if neither is the slower), ``p_kolmogorov_smirnov`` with ``distance``, each also after Holm over the
        rows; ``ratio`` of the means with its bootstrap interval (BCa). A measurement has rows "A/A", too.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> tests = phases.sample_tests({(5, "Big"): ([11, 12, 13], [1, 2, 3])}, resamples=500)
    >>> tests.loc[(5, "Big"), ["above", "distance"]].tolist()
    [0.0, 1.0]
    """
    if isinstance(source, Timing):
        rows = dict(list(source.samples().groupby(["phase", "cpu"], sort=False)))
        parts = {
            arms: {name: (of["walk_ns"].to_numpy(), of[other].to_numpy()) for name, of in rows.items()}
            for arms, other in (("LUT", "lut_ns"), ("A/A", "walk_again_ns"))
        }
        tests = {arms: _sample_tests(pairs, level, resamples, seed) for arms, pairs in parts.items()}
        return pd.concat(tests, names=["arms"])
    if not isinstance(source, dict) or not source:
        raise TypeError(
            f"source must be a Timing or (phase, cpu) -> two rows of samples, not {type(source).__name__}"
        )
    return _sample_tests(source, level, resamples, seed)


def _sample_tests(pairs, level, resamples, seed):
    rows = []
    for name, (a, b) in pairs.items():
        try:
            ranks, distance = stats.mann_whitney(a, b), stats.kolmogorov_smirnov(a, b)
            drawn = stats.bootstrap_ratio(a, b, level, resamples=resamples, seed=seed)
        except ValueError as error:
            raise ValueError(f"source[{name!r}]: {error}") from None
        rows.append(
            {
                "a_count": len(a),
                "b_count": len(b),
                "above": float(ranks.statistic),
                "p_mann_whitney": float(ranks.p),
                "distance": float(distance.statistic),
                "p_kolmogorov_smirnov": float(distance.p),
                "ratio": float(drawn.value),
                "ratio_low": float(drawn.interval.low),
                "ratio_high": float(drawn.interval.high),
            }
        )
    frame = pd.DataFrame(rows, index=pd.MultiIndex.from_tuples(pairs, names=["phase", "cpu"]))
    for name in ("p_mann_whitney", "p_kolmogorov_smirnov"):
        frame.insert(list(frame).index(name) + 1, f"{name}_holm", stats.holm(frame[name].to_numpy()))
    return frame
