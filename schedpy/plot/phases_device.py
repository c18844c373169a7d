# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of the simulated staircase: where its wake-ups ran, the margin, and what moves phase 4.

The functions take what ``schedpy.lab.phases`` gives.
"""

import numpy as np

from schedpy.plot import style

__all__ = ["counts", "margin", "share"]

_CPU_COLOURS = {"Little": style.GREEN, "Mid": style.BLUE, "Big": style.VERMILION}
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")
#: What a CPU elsewhere must save on 5.12, percent of the system's energy.
MARGIN_PERCENT = 100 / 16


def _colours(kinds):
    """The mail's kinds in their colours, others by the cycle."""
    return {kind: _CPU_COLOURS.get(kind, style.CYCLE[i % len(style.CYCLE)]) for i, kind in enumerate(kinds)}


def counts(counts, *, mail=None, ax=None):
    """Share of each phase's activations that woke up on each kind of CPU.

    Parameters
    ----------
    counts : DataFrame
        Of ``Simulation.counts``.
    mail : DataFrame, optional
        Of ``phases.published``: the mail's shares without and with the table, as marks on the bars.
    ax : Axes, optional

    Returns
    -------
    Axes
        Bars are stacked from below in the order of the kinds; what is missing to 100 % had no wake-up.
    """
    kinds = list(dict.fromkeys(counts.index.get_level_values("cpu")))
    phases = list(dict.fromkeys(counts.index.get_level_values("phase")))
    waking = counts["waking"].unstack("cpu", fill_value=0).reindex(index=phases, columns=kinds)
    whole = waking.sum(axis=1) + counts["without"].groupby("phase").first()
    percent = 100 * waking.div(whole, axis=0)
    duty = counts["duty_percent"].groupby("phase").first()
    with style.axes(ax) as ax:
        below = np.zeros(len(phases))
        for number, (kind, colour) in enumerate(_colours(kinds).items()):
            ax.bar(
                np.arange(len(phases)),
                percent[kind],
                0.62,
                bottom=below,
                color=colour,
                alpha=0.85,
                hatch=_HATCHES[number % len(_HATCHES)],
                edgecolor="white",
                label=kind,
            )
            below = below + percent[kind].to_numpy()
        if mail is not None:
            _mark_mail(ax, mail, kinds)
        ax.set_xticks(np.arange(len(phases)), [f"phase {p}\n{duty[p]:g} %" for p in phases])
        ax.grid(axis="x", visible=False)
        ax.set_ylim(0, 100)
        ax.set_ylabel("wake-ups on each kind of CPU,\n% of the activations")
        ax.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1))
    return ax


def _mark_mail(ax, mail, kinds):
    """Where the borders between kinds lie in the mail: one mark for each arm where a phase has two kinds."""
    for arm, marker, label in (("walk", "<", "mail, without LUT"), ("lut", ">", "mail, with LUT")):
        x, y = [], []
        count = mail[f"table_{arm}_count"]
        for phase, rows in count.groupby("phase"):
            if len(rows) == 1:
                continue
            share = rows.droplevel("phase").reindex(kinds).fillna(0).cumsum() / rows.sum()
            x.append(phase + (0.38 if arm == "walk" else -0.38))
            y.append(100 * next(s for s in share if s > 0))
        ax.plot(x, y, marker, color=style.BLACK, linestyle="none", label=label, clip_on=False)


def margin(decisions, *, settled=None, ax=None):
    """What moving would save, against the task's utilisation, with 5.12's margin.

    Parameters
    ----------
    decisions : DataFrame
        Of ``phases.decisions``.
    settled : int, optional
        A utilisation to mark: that of the task once it has settled.
    ax : Axes, optional

    Returns
    -------
    Axes
        A line for each load and kind of CPU that the task slept on; it ends where the task does not fit.
    """
    loads = sorted(decisions["load_percent"].unique())
    prevs = list(dict.fromkeys(decisions["prev"]))
    colours = _colours(prevs)
    shades = np.linspace(1, 0.35, len(loads))
    styles = ("-", "--", "-.", ":")
    with style.axes(ax) as ax:
        for prev in prevs:
            for number, load in enumerate(loads):
                rows = decisions[(decisions["prev"] == prev) & (decisions["load_percent"] == load)]
                rows = rows.dropna(subset=["saving_percent"])
                ax.plot(
                    rows["util"],
                    rows["saving_percent"],
                    color=colours[prev],
                    alpha=shades[number],
                    linestyle=styles[number % len(styles)],
                    label=f"slept on {prev}, load {load:g} %",
                )
        ax.axhline(MARGIN_PERCENT, color=style.BLACK, linewidth=1.2)
        ax.annotate(
            f"5.12 moves the task above {MARGIN_PERCENT:g} %",
            (0, MARGIN_PERCENT),
            xytext=(6, -13),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
        )
        if settled is not None:
            ax.axvline(settled, color=style.GREY, linewidth=1.2, linestyle=":")
            ax.annotate(
                f"settled: {settled}",
                (settled, 1),
                xytext=(-4, -4),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="right",
                va="top",
            )
        ax.set_xlabel("utilisation of the task (average and estimate)")
        ax.set_ylabel("saved by the cheapest CPU,\n% of the system's energy")
        ax.set_ylim(bottom=0)
        ax.legend(ncols=len(prevs), fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1))
    return ax


def share(shares, *, mail=None, ax=None):
    """Mid's share of phase 4 against the load of other tasks.

    Parameters
    ----------
    shares : DataFrame
        Of ``phases.mid_share``.
    mail : DataFrame, optional
        Of ``phases.published_shares``: two lines.
    ax : Axes, optional

    Returns
    -------
    Axes
        Means with their standard errors; the thin lines reach over all repetitions.
    """
    rows = shares.dropna(subset=["load_percent"]).sort_values("load_percent")
    with style.axes(ax) as ax:
        ax.vlines(rows["load_percent"], rows["low"], rows["high"], color=style.GREY, linewidth=0.8)
        ax.errorbar(
            rows["load_percent"],
            rows["percent"],
            rows["sem"],
            fmt="o-",
            color=style.BLUE,
            label="simulated, with standard error",
        )
        if mail is not None:
            looks = {"walk": ("without LUT", "--"), "lut": ("with LUT", "-.")}
            for arm, row in mail.iterrows():
                label, line = looks[arm]
                ax.axhline(
                    row["percent"],
                    color=style.VERMILION,
                    linestyle=line,
                    label=f"mail, {label}: {row['percent']:.1f} %",
                )
        ax.set_ylim(0, 103)
        ax.set_xlabel("load of every CPU by other tasks, % of its capacity")
        ax.set_ylabel("Mid's share of phase 4, %")
        ax.legend()
    return ax
