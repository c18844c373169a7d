# SPDX-License-Identifier: GPL-2.0-only
"""Every figure of the Pixel 4 mails beside ours, line by line."""

import numpy as np

from schedpy.lab.phases_needed import POWER, left_out, needed
from schedpy.lab.phases_tables import (
    ACTIVATIONS,
    LEVEL,
    fits,
    footnote,
    published,
    repetitions_of,
    row_name,
    table,
    two_means,
    wider_spreads,
)

TABLE, LETTER = "Pixel 4 table, 22 April 2021", "Pixel 4 letter, 28 April 2021"
VERDICTS = ("agrees", "differs", "consistent", "not consistent", "cannot be told")


def lines(placed, ours):
    """The rows of ``phases.verdicts``; ours is the table of a measurement or None."""
    mail = published()
    yield from _cpu_lines(mail, placed)
    yield from _figure_lines(mail, ours)
    yield from _claim_lines(mail)


def _cpu_lines(mail, placed):
    for phase, rows in placed.reset_index().groupby("phase"):
        printed = list(mail.loc[phase].index)
        stays, moves = rows[rows["stays"]], rows[~rows["stays"]]
        stable = list(stays["prev"])
        yield {
            "mail": TABLE,
            "what": f"phase {phase}: CPU that ran the function",
            "published": " or ".join(printed),
            "ours": " or ".join(stable),
            "verdict": "agrees" if stable == printed else "differs",
            "why": "; ".join(_reasons(stays, moves)),
        }


def _reasons(stays, moves):
    yield "a task that wakes there is placed there, so the CPU that ran the function is the one chosen"
    if len(moves):
        yield f"from {' or '.join(moves['prev'])} it moves to {' or '.join(moves['target'].unique())}"
    for _, row in stays[stays["gap"] > 0].iterrows():
        here = row[row["prev"]]
        yield (
            f"{row['prev']} costs {here} against {here - row['gap']}, "
            f"but {row['gap']} saved does not exceed {row['threshold']}"
        )


def _figure_lines(mail, ours):
    compared = table().loc["LUT"]
    sums, repetitions = repetitions_of(mail)
    for index, row in mail.iterrows():
        c = compared.loc[index]
        here = None if ours is None else ours.loc["LUT"].loc[index]
        yield _foreign(TABLE, f"{row_name(index)}: mean, ns", row, "table", "mean", here)
        yield _difference(index, row, c)
        yield _foreign(LETTER, f"{row_name(index)}: std, ns", row, "letter", "std", here)
        yield _interval(index, row, c)
        yield _count(index, row, sums, repetitions)
        if ours is not None:
            yield _direction(index, c, here, ours.loc["A/A"].loc[index])


def _pair(row, source, figure):
    return f"{row[f'{source}_walk_{figure}']} -> {row[f'{source}_lut_{figure}']}"


def _foreign(mail, what, row, source, figure, here):
    """Nanoseconds of another machine."""
    ours = "not measured" if here is None else f"{here[f'a_{figure}']:.1f} -> {here[f'b_{figure}']:.1f}"
    if here is not None and figure == "mean":
        ours += f" (medians {here['a_median']:.1f} -> {here['b_median']:.1f})"
    why = "nanoseconds of a Pixel 4 whose frequency moved: another CPU neither confirms nor refutes them"
    return {
        "mail": mail,
        "what": what,
        "published": _pair(row, source, figure),
        "ours": ours,
        "verdict": "cannot be told",
        "why": why,
    }


def _difference(index, row, c):
    return {
        "mail": TABLE,
        "what": f"{row_name(index)}: difference",
        "published": f"{row['table_diff']} ns, {row['table_percent']} %",
        "ours": f"{c['diff']:.0f} ns, {c['percent']:.2f} %, p = {c['p']:.1g}",
        "verdict": "agrees" if fits(c, row) else "differs",
        "why": "recomputed from the printed means; "
        f"95 % interval {c['diff_low']:.1f} .. {c['diff_high']:.1f} ns",
    }


def _interval(index, row, c):
    printed = [row["letter_walk_interval"], row["letter_lut_interval"]]
    halves = [c["a_interval"], c["b_interval"]]
    wrong = [f"{p} should be {h:.0f}" for p, h in zip(printed, halves, strict=True) if round(h) != p]
    return {
        "mail": LETTER,
        "what": f"{row_name(index)}: 95 % intervals, ns",
        "published": " and ".join(f"+/-{p}" for p in printed),
        "ours": " and ".join(f"+/-{h:.2f}" for h in halves),
        "verdict": "differs" if wrong else "agrees",
        "why": "; ".join(wrong) or "recomputed from the printed std and count",
    }


def _count(index, row, sums, repetitions):
    whole = repetitions * ACTIVATIONS
    parts = [f"{row[f'table_{arm}_count']} of {whole[arm]}" for arm in ("walk", "lut")]
    missing = whole - sums.loc[index[0]]
    return {
        "mail": TABLE,
        "what": f"{row_name(index)}: counts",
        "published": _pair(row, "table", "count"),
        "ours": ", ".join(parts),
        "verdict": "consistent" if (missing >= 0).all() else "not consistent",
        "why": f"an inference: {' and '.join(map(str, repetitions))} repetitions of {ACTIVATIONS} "
        f"activations; the phase lacks {missing['walk']} and {missing['lut']}",
    }


def _direction(index, published_row, here, again):
    """Only the sign can be compared, and it is a statement about this machine."""
    shift = f"{here['shift']:+.1f} ({here['shift_low']:+.1f} .. {here['shift_high']:+.1f}) ns"
    if not again["shift_low"] <= 0 <= again["shift_high"]:
        verdict, why = "cannot be told", "the walk differs from itself here"
    elif here["shift_low"] <= 0 <= here["shift_high"]:
        verdict, why = "cannot be told", "no difference shown here"
    else:
        same = np.sign(here["shift"]) == np.sign(published_row["diff"])
        verdict = "consistent" if same else "not consistent"
        why = f"the LUT is {'faster' if here['shift'] < 0 else 'slower'} here"
    return {
        "mail": TABLE,
        "what": f"{row_name(index)}: direction",
        "published": "LUT faster" if published_row["diff"] < 0 else "LUT slower",
        "ours": f"{shift}, placement by placement",
        "verdict": verdict,
        "why": f"{why}: a statement about one run on this machine, with warm caches; "
        f"walk against walk {again['shift']:+.1f} ns",
    }


def _claim_lines(mail):
    """What the letter says in words, and the mean that it gives anew."""
    compared = table().loc["LUT"]
    for found in two_means(mail):
        yield {
            "mail": LETTER,
            "what": found["what"],
            "published": found["printed"],
            "ours": found["computed"],
            "verdict": "differs",
            "why": found["finding"],
        }
    for found in wider_spreads(mail):
        yield {
            "mail": LETTER,
            "what": "distribution with the LUT",
            "published": found["printed"],
            "ours": f"{found['what'].partition(':')[0]}: {found['computed']}",
            "verdict": "differs",
            "why": found["finding"],
        }
    note = footnote()
    marks_overlap = (mail["footnote"] == compared["intervals_overlap"]).all()
    yield {
        "mail": LETTER,
        "what": "[1]: the intervals overlap",
        "published": note["printed"],
        "ours": "phases "
        + ", ".join(str(phase) for phase, _ in compared.index[compared["intervals_overlap"]]),
        "verdict": "agrees" if marks_overlap else "differs",
        "why": "the rows marked [1] are those whose recomputed intervals overlap",
    }
    told = (compared["p_holm"] < 1 - LEVEL).all()
    yield {
        "mail": LETTER,
        "what": "[1]: so it is complicated to conclude",
        "published": note["printed"],
        "ours": note["computed"],
        "verdict": "differs" if told else "agrees",
        "why": note["finding"],
    }
    gains = (compared["diff"] < 0).all() and told
    yield {
        "mail": LETTER,
        "what": "a small but consistent gain throughout",
        "published": f"{len(mail)} of {len(mail)} rows",
        "ours": f"{(compared['diff'] < 0).sum()} of {len(compared)} rows, "
        f"{compared['percent'].max():.1f} % to {compared['percent'].min():.1f} %",
        "verdict": "agrees" if gains else "differs",
        "why": f"every difference is negative, the largest p after Holm is {compared['p_holm'].max():.3f}; "
        "small beside the spread: Cohen's d "
        f"{compared['cohen_d'].max():.2f} .. {compared['cohen_d'].min():.2f}",
    }
    yield _counts_of_marked(mail)
    yield _rows_left_out()


def _counts_of_marked(mail):
    """Whether the letter's doubt is one of counts."""
    told = needed().loc["LUT"]
    short = told["a_count"] < told["a_needed"]
    counts = (
        f"phase {phase}: {row['a_count']} of {row['a_needed']}" for (phase, _), row in told[short].iterrows()
    )
    return {
        "mail": LETTER,
        "what": "[1]: the phases that are in doubt",
        "published": "phases " + ", ".join(str(phase) for phase, _ in mail.index[mail["footnote"]]),
        "ours": f"phases {', '.join(str(phase) for phase, _ in told.index[short])} have too few samples for "
        f"their difference at a power of {POWER:.0%}",
        "verdict": "consistent" if (short == mail["footnote"]).all() else "not consistent",
        "why": f"counted without LUT: {'; '.join(counts)}; the p-values are small all the same",
    }


def _rows_left_out():
    """What the rows that the mail removed can have told."""
    out = left_out()
    most = out[["a_count", "b_count"]].max().max()
    least = out[["a_needed", "b_needed"]].min().min()
    few = (out["a_count"] < out["a_needed"]).all() and (out["b_count"] < out["b_needed"]).all()
    return {
        "mail": TABLE,
        "what": "rows removed: not enough count to be significant",
        "published": "counts not given",
        "ours": f"at most {most} placements of an arm in a phase; the phases' differences need {least} "
        "or more",
        "verdict": "consistent" if few else "not consistent",
        "why": "an inference from what the printed counts of a phase lack to whole repetitions; with those "
        f"counts the test would tell the printed difference in {100 * out['power'].max():.1f} % of trials at "
        f"most, by chance alone in {1 - LEVEL:.0%}",
    }


def sentences(verdicts, measured):
    """The paragraphs of ``phases.summary``."""
    number = verdicts["verdict"].value_counts()
    agree, differ, fit, misfit, open_ = (number.get(word, 0) for word in VERDICTS)
    yield (
        f"Of the {len(verdicts)} lines {agree} agree, {differ} differ, {fit} are consistent, "
        f"{misfit} are not consistent, and of {open_} it cannot be told."
    )
    yield ""
    for word in ("differs", "not consistent"):
        for _, line in verdicts[verdicts["verdict"] == word].iterrows():
            yield f"* {word}: {line['what']}: {line['published']} against {line['ours']}; {line['why']}"
    if measured is not None:
        signs = verdicts[verdicts["what"].str.endswith(": direction")]["verdict"].value_counts()
        faster, slower, untold = (signs.get(word, 0) for word in VERDICTS[2:])
        yield ""
        yield (
            f"On this machine ({measured.host}) the sign of the difference is the mail's in {faster} rows, "
            f"the opposite in {slower}, and not shown in {untold}: a statement about one run here alone."
        )
