# SPDX-License-Identifier: GPL-2.0-only
"""What the mails of April 2021 claim of timing, and a sentence on whether it is consistent."""

import numpy as np
import pandas as pd

from schedpy.lab.phases_gains import gains
from schedpy.lab.phases_tables import LEVEL, published, table
from schedpy.lab.phases_why import explained
from schedpy.lab.timing import Timing

__all__ = ["as_verdicts", "claims"]


def claims(timings, lengths=None):
    """Each claim of the mails about timing, the verdict on it, and why.

    The mails' own figures decide on what they say of themselves; this machine decides on statements about
    look-ups in general, and only on this machine. Nanoseconds of another CPU decide on nothing.

    Parameters
    ----------
    timings : dict of str to Timing
        What ``phases.measure`` gave with "warm" and with "cold" caches, by that name.
    lengths : Series, optional
        States that the walk visits, by phase and cpu; None: the medians of ``phases.wakeups``.

    Returns
    -------
    DataFrame
        ``claim``, ``verdict`` ("consistent", "not consistent", "cannot be told"), ``sentence``.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> timings = {c: phases.measure(caches=c, repetitions=3) for c in ("warm", "cold")}
    >>> phases.claims(timings)["verdict"].iloc[0]
    'cannot be told'
    """
    for name in ("warm", "cold"):
        if not isinstance(timings, dict) or not isinstance(timings.get(name), Timing):
            raise TypeError(
                f'timings must be a dict with a Timing under "warm" and under "cold": no {name!r}'
            )
        if timings[name].caches != name:
            raise ValueError(f"timings[{name!r}] was measured with {timings[name].caches} caches")
    measured = {name: gains(timing) for name, timing in timings.items()}
    host = timings["warm"].host
    rows = [
        _nanoseconds(),
        _gain_throughout(),
        _gain_here(measured, host),
        _complicated(),
        _narrower(),
        _relies_less_on_caches(measured, host),
        _grows_with_the_walk(lengths),
    ]
    return pd.DataFrame(rows, columns=["claim", "verdict", "sentence"])


def as_verdicts(claims):
    """What :func:`claims` gave, in the columns of ``phases.verdicts``: a claim in words has no figure.

    Examples
    --------
    >>> import pandas as pd
    >>> from schedpy.lab import phases
    >>> claims = pd.DataFrame([{"claim": "it is fast", "verdict": "cannot be told", "sentence": "..."}])
    >>> phases.as_verdicts(claims).loc[0, ["what", "verdict"]].tolist()
    ['it is fast', 'cannot be told']
    """
    return pd.DataFrame(
        {
            "mail": "Claims about timing",
            "what": claims["claim"],
            "published": "",
            "ours": "",
            "verdict": claims["verdict"],
            "why": claims["sentence"],
        }
    )


def _nanoseconds():
    mail = published()
    low, high = mail["table_lut_mean"].min(), mail["table_walk_mean"].max()
    return (
        f"a placement takes {low} to {high} ns",
        "cannot be told",
        "These are nanoseconds of a Pixel 4 whose frequency moved; no other CPU confirms or refutes them.",
    )


def _gain_throughout():
    rows = table().loc["LUT"]
    gained = (rows["diff"] < 0).all() and (rows["p_holm"] < 1 - LEVEL).all()
    return (
        "a small but consistent gain throughout",
        "consistent" if gained else "not consistent",
        f"From the printed means, deviations and counts {(rows['diff_high'] < 0).sum()} of {len(rows)} "
        f"intervals of the difference lie below zero, and the largest p after Holm is "
        f"{rows['p_holm'].max():.3f}; small beside the spread, Cohen's d {rows['cohen_d'].max():.2f} to "
        f"{rows['cohen_d'].min():.2f}.",
    )


def _range(rows):
    return f"{rows['ratio'].min():.2f} to {rows['ratio'].max():.2f}"


def _gain_here(measured, host):
    told = {name: rows.loc["lut"] for name, rows in measured.items()}
    faster = {name: int((rows["diff_high"] < 0).sum()) for name, rows in told.items()}
    slower = {name: int((rows["diff_low"] > 0).sum()) for name, rows in told.items()}
    number = len(told["warm"])
    if all(n == number for n in faster.values()):
        verdict = "consistent"
    elif all(n == number for n in slower.values()):
        verdict = "not consistent"
    else:
        verdict = "cannot be told"
    each = "; ".join(
        f"{name}: faster in {faster[name]}, slower in {slower[name]} of {number} rows, "
        f"walk/table {_range(told[name])}"
        for name in told
    )
    return (
        "(in general) the table is faster than the walk",
        verdict,
        f"On this machine ({host}), which is no Pixel 4: {each}. A statement about this processor and about "
        "this run.",
    )


def _complicated():
    rows = table().loc["LUT"]
    overlap = rows["intervals_overlap"]
    told = (rows["p_holm"] < 1 - LEVEL).all()
    return (
        "where the intervals overlap it is complicated to conclude",
        "not consistent" if told else "consistent",
        f"The intervals of {overlap.sum()} rows overlap, but that is no test: Welch's p of these rows is "
        f"{rows.loc[overlap, 'p'].max():.3f} at most, {rows.loc[overlap, 'p_holm'].max():.3f} after Holm.",
    )


def _narrower():
    mail = published()
    wider = mail.index[mail["letter_lut_std"] > mail["letter_walk_std"]]
    rows = ", ".join(f"phase {phase} ({cpu})" for phase, cpu in wider)
    return (
        "the distribution is slightly more narrow with the table",
        "not consistent" if len(wider) else "consistent",
        f"The printed deviation is smaller with the table in {len(mail) - len(wider)} of {len(mail)} rows"
        + (f", and larger in {rows}." if len(wider) else "."),
    )


def _relies_less_on_caches(measured, host):
    """What the table loses when everything is thrown out, beyond what the walk loses, row by row."""
    warm, cold = measured["warm"].loc["lut"], measured["cold"].loc["lut"]
    extra = cold["diff"] - warm["diff"]
    half = np.hypot(cold["diff_high"] - cold["diff"], warm["diff_high"] - warm["diff"])
    more, less = int((extra - half > 0).sum()), int((extra + half < 0).sum())
    number = len(extra)
    verdict = "not consistent" if more == number else "consistent" if less == number else "cannot be told"
    without = ""
    if "held" in measured["cold"].index.get_level_values("arm"):
        without = (
            f"; with a table that holds the data itself walk/table is {_range(measured['cold'].loc['held'])}"
        )
    return (
        "the table relies less on caches than the walk",
        verdict,
        f"On this machine ({host}) cold caches cost the table {extra.min():+.0f} to {extra.max():+.0f} ns "
        f"more than the walk, told in {more} of {number} rows: it waits for the entry before it can ask for "
        f"the state{without}.",
    )


def _grows_with_the_walk(lengths):
    fit = explained(lengths).xs("states", level="predictor")
    diff, percent = fit.loc["diff"], fit.loc["percent"]
    told = bool(diff["told"] and diff["slope"] < 0)
    return (
        "(implied) what the table saves is the walk over the states",
        "consistent" if told else "cannot be told",
        f"Against the states that the walk visits in the model the mail's differences change by "
        f"{diff['slope']:+.2f} ns ({diff['low']:+.2f} to {diff['high']:+.2f}) or {percent['slope']:+.2f} % "
        f"({percent['low']:+.2f} to {percent['high']:+.2f}) a state, R squared {diff['r_squared']:.2f} and "
        f"{percent['r_squared']:.2f}"
        + ("; " if told else ": the length of the walk explains nothing that seven points could tell; ")
        + "the kind of CPU and its frequency change with it.",
    )
