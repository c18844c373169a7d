# SPDX-License-Identifier: GPL-2.0-only
"""Why a look-up costs what it costs, drawn: lengths, platforms, cold parts, the mail's differences."""

import numpy as np

from schedpy.plot import style

__all__ = ["lengths", "mail_differences", "parts", "platforms", "ratios"]

_LOOKS = {
    "walk": ("walk", style.BLUE, "o"),
    "lut": ("2021 table", style.VERMILION, "s"),
    "held": ("table with the data", style.GREEN, "^"),
    "chained": ("walk, loads chained", style.PURPLE, "D"),
    "walk again": ("walk again", style.GREY, "v"),
}
_CACHES = {"warm": "-", "shared": "--", "cold": ":"}
_AXES = {"states": "states per domain", "domains": "domains", "cpus": "CPUs per domain"}


def lengths(costs, *, caches="cold", ax=None):
    """One placement with one look-up, against the states that the walk visits.

    Parameters
    ----------
    costs : DataFrame
        Of ``phases.by_length``.
    caches : str
        Which of them.
    ax : Axes, optional

    Returns
    -------
    Axes
        Bands are 95 % intervals.
    """
    rows = costs.loc[caches]
    with style.axes(ax) as ax:
        for arm in ("walk", "lut", "held", "chained"):
            label, colour, _ = _LOOKS[arm]
            mine = rows.loc[arm]
            ax.plot(mine.index, mine["ns"], color=colour, label=label)
            ax.fill_between(mine.index, mine["low"], mine["high"], color=colour, alpha=0.25, linewidth=0)
        ax.set_xlabel("states visited by the walk")
        ax.set_ylabel(f"one placement, ns ({caches} caches)")
        ax.set_ylim(bottom=0)
        ax.legend(loc="upper left")
    return ax


def platforms(grid, *, varied="states", ax=None):
    """What the tables gain over the walk, against the size of the platform.

    Parameters
    ----------
    grid : DataFrame
        Of ``phases.by_platform``.
    varied : {"states", "domains", "cpus"}
    ax : Axes, optional

    Returns
    -------
    Axes
        Above 1 the table is faster; bars are 95 % intervals.
    """
    rows = grid.loc[varied]
    with style.axes(ax) as ax:
        ax.axhline(1, color=style.BLACK, linewidth=1)
        for arm in ("lut", "held"):
            label, colour, marker = _LOOKS[arm]
            for caches, line in _CACHES.items():
                if caches not in rows.index.get_level_values("caches"):
                    continue
                mine = rows.xs((caches, arm), level=["caches", "arm"])
                errors = [mine["ratio"] - mine["ratio_low"], mine["ratio_high"] - mine["ratio"]]
                ax.errorbar(
                    mine.index,
                    mine["ratio"],
                    errors,
                    color=colour,
                    marker=marker,
                    linestyle=line,
                    label=f"{label}, {caches}",
                )
        values = sorted(set(rows.index.get_level_values("value")))
        if varied == "states":
            ax.set_xscale("log", base=2)
        ax.set_xticks(values, [str(value) for value in values])
        ax.minorticks_off()
        ax.set_xlabel(_AXES[varied])
        ax.set_ylabel("time of the walk / time of the table")
        ax.legend(ncols=2)
    return ax


def ratios(gains, *, ax=None):
    """Per row of the mail, walk / arm under each state of the caches.

    Parameters
    ----------
    gains : dict of str to DataFrame
        Caches -> what ``phases.gains`` gives.
    ax : Axes, optional

    Returns
    -------
    Axes
        Above 1 the arm is faster than the walk; bars are 95 % intervals.
    """
    fills = {"warm": "full", "shared": "bottom", "cold": "none"}
    series = [(arm, caches) for arm in ("walk again", "lut", "held") for caches in gains]
    with style.axes(ax) as ax:
        ax.axhline(1, color=style.BLACK, linewidth=1)
        for number, (arm, caches) in enumerate(series):
            label, colour, marker = _LOOKS[arm]
            rows = gains[caches].loc[arm]
            x = np.arange(len(rows)) + 0.8 / len(series) * (number - (len(series) - 1) / 2)
            errors = [rows["ratio"] - rows["ratio_low"], rows["ratio_high"] - rows["ratio"]]
            ax.errorbar(
                x,
                rows["ratio"],
                errors,
                fmt=marker,
                color=colour,
                fillstyle=fills.get(caches, "full"),
                label=f"{label}, {caches}",
            )
        ax.set_xticks(np.arange(len(rows)), [f"phase {phase}\n{cpu}" for phase, cpu in rows.index])
        ax.grid(axis="x", visible=False)
        ax.set_ylabel("time of the walk / time of the arm")
        ax.legend(ncols=3, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def parts(parts, *, ax=None):
    """What a placement costs when one part after the other is thrown out of the caches.

    Parameters
    ----------
    parts : DataFrame
        Of ``phases.by_part``.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    names = list(dict.fromkeys(parts.index.get_level_values("cold")))
    arms = ("walk", "lut", "held", "chained")
    with style.axes(ax) as ax:
        for number, arm in enumerate(arms):
            label, colour, _ = _LOOKS[arm]
            rows = parts.xs(arm, level="arm").loc[names]
            x = np.arange(len(names)) + 0.2 * (number - (len(arms) - 1) / 2)
            errors = [rows["ns"] - rows["low"], rows["high"] - rows["ns"]]
            ax.bar(x, rows["ns"], 0.18, yerr=errors, color=colour, label=label)
        ax.set_xticks(np.arange(len(names)), [name.replace(" ", "\n") for name in names])
        ax.grid(axis="x", visible=False)
        ax.set_xlabel("thrown out of the caches before each call")
        ax.set_ylabel("one placement, ns")
        ax.legend()
    return ax


def mail_differences(table, lengths, fit, *, outcome="diff", ax=None):
    """The mail's seven differences against the states that the walk visits, and the line through them.

    Parameters
    ----------
    table : DataFrame
        Of ``phases.table()``.
    lengths : Series
        States visited, indexed by phase and cpu.
    fit : DataFrame
        Of ``phases.explained(lengths)``.
    outcome : {"diff", "percent"}
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    rows = table.loc["LUT"]
    unit = 1 if outcome == "diff" else 100 / rows["a_mean"]
    y = rows[outcome]
    half = (rows["diff_high"] - rows["diff_low"]) / 2 * unit
    x = lengths.reindex(rows.index).astype(float)
    line = fit.loc[(outcome, "states")]
    with style.axes(ax) as ax:
        ax.axhline(0, color=style.BLACK, linewidth=1)
        ax.errorbar(x, y, half, fmt="o", color=style.VERMILION, label="the mail, 95 % intervals")
        for (phase, cpu), at, value in zip(rows.index, x, y, strict=True):
            ax.annotate(
                f"{phase} {cpu}", (at, value), xytext=(6, 4), textcoords="offset points", fontsize="small"
            )
        ax.margins(x=0.12)
        ends = np.array([x.min(), x.max()])
        ax.plot(
            ends,
            line["intercept"] + line["slope"] * ends,
            color=style.BLUE,
            label=f"{line['slope']:.2g} ({line['low']:.2g} .. {line['high']:.2g}) per state",
        )
        ax.set_xlabel("states visited by the walk (model)")
        ax.set_ylabel("LUT - walk, ns" if outcome == "diff" else "LUT - walk, % of the walk")
        ax.legend()
    return ax
