# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of the placement timings: intervals, differences, distributions, and states visited.

The functions take what ``schedpy.lab.phases`` gives.
"""

import numpy as np

from schedpy.plot import style

__all__ = ["differences", "distributions", "intervals", "shifts", "states"]

#: How the arms of a Timing are called and coloured.
_ARMS = {
    "walk": ("walk", style.BLUE),
    "lut": ("LUT", style.VERMILION),
    "walk again": ("walk again", style.SKY),
    "held": ("table with the data", style.GREEN),
}
_CPU_COLOURS = {"Little": style.GREEN, "Mid": style.BLUE, "Big": style.VERMILION}


def _rows(index):
    return [f"phase {phase}\n{cpu}" for phase, cpu in index]


def _label_rows(ax, labels):
    ax.set_xticks(np.arange(len(labels)), labels)
    ax.set_xlim(-0.6, len(labels) - 0.4)
    ax.grid(axis="x", visible=False)


def intervals(table, *, arms="LUT", ax=None):
    """The means of both arms with their 95 % intervals, side by side, in percent of the first.

    Parameters
    ----------
    table : DataFrame
        Of ``phases.table``.
    arms : str
        Which rows of it: "LUT", or "A/A" of a measurement.
    ax : Axes, optional

    Returns
    -------
    Axes
        Rows whose intervals overlap have hollow markers.
    """
    rows = table.loc[arms]
    second = {"LUT": "with LUT", "A/A": "walk again"}[arms]
    with style.axes(ax) as ax:
        x, unit = np.arange(len(rows)), rows["a_mean"] / 100
        for arm, shift, colour, marker, label in (
            ("a", -0.12, style.BLUE, "o", "without LUT (walk)"),
            ("b", 0.12, style.VERMILION, "s", second),
        ):
            overlap = rows["intervals_overlap"].to_numpy(bool)
            for hollow in (False, True):
                drawn = overlap == hollow
                ax.errorbar(
                    x[drawn] + shift,
                    (rows[f"{arm}_mean"] / unit)[drawn],
                    (rows[f"{arm}_interval"] / unit)[drawn],
                    fmt=marker,
                    color=colour,
                    markerfacecolor="white" if hollow else colour,
                    label=f"{label}, intervals overlap" if hollow else label,
                )
        means = (
            f"{label}\n{mean:,.0f} ns" for label, mean in zip(_rows(rows.index), rows["a_mean"], strict=True)
        )
        _label_rows(ax, list(means))
        ax.set_ylabel("mean, % of the walk's")
        ax.legend(ncols=2, loc="lower left", fontsize="small")
    return ax


def differences(table, *, ax=None):
    """The difference of the two means with its own 95 % interval.

    Parameters
    ----------
    table : DataFrame
        Of ``phases.table``.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    return _errors(table, {"LUT": "LUT - walk"}, "diff", "difference of the means, ns", ax)


def shifts(table, *, ax=None):
    """Of a measurement: the difference placement by placement with its interval, and walk against walk.

    Parameters
    ----------
    table : DataFrame
        Of ``phases.table(measured)``.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    series = {"LUT": "LUT - walk", "A/A": "walk again - walk"}
    return _errors(table, series, "shift", "difference, placement by placement, ns", ax)


def _errors(table, series, column, ylabel, ax):
    looks = {"LUT": (style.VERMILION, "s"), "A/A": (style.GREY, "o")}
    with style.axes(ax) as ax:
        ax.axhline(0, color=style.BLACK, linewidth=1)
        for number, (arms, label) in enumerate(series.items()):
            rows = table.loc[arms]
            colour, marker = looks[arms]
            x = np.arange(len(rows)) + 0.16 * (number - (len(series) - 1) / 2)
            errors = [rows[column] - rows[f"{column}_low"], rows[f"{column}_high"] - rows[column]]
            ax.errorbar(x, rows[column], errors, fmt=marker, color=colour, label=label)
        _label_rows(ax, _rows(table.loc["LUT"].index))
        ax.set_ylabel(ylabel)
        ax.legend()
    return ax


def distributions(timing, *, ax=None):
    """Where the samples of each arm lie: quartiles, and whiskers from 1 % to 99 %.

    Parameters
    ----------
    timing : Timing
        Of ``phases.measure``.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    rows, arms = len(timing.phase), len(timing.arms)
    with style.axes(ax) as ax:
        for arm, name in enumerate(timing.arm_names):
            label, colour = _ARMS.get(name, (name, style.GREY))
            drawn = ax.boxplot(
                [timing.of(row, arm).ravel() for row in range(rows)],
                positions=np.arange(rows) + 0.8 / arms * (arm - (arms - 1) / 2),
                widths=0.7 / arms,
                whis=(1, 99),
                showfliers=False,
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": colour, "edgecolor": style.BLACK},
                medianprops={"color": style.BLACK},
            )
            drawn["boxes"][0].set_label(label)
        _label_rows(ax, _rows(zip(timing.phase, timing.cpu, strict=True)))
        ax.set_ylabel("one placement, ns")
        ax.legend(ncols=arms)
    return ax


def states(wakeups, *, ax=None):
    """Performance states that the walk visits at each wake-up of the staircase.

    Parameters
    ----------
    wakeups : DataFrame
        Of ``phases.wakeups``.
    ax : Axes, optional

    Returns
    -------
    Axes
        One line per kind of CPU that ran the function; where two kinds have the same, the later is dashed.
    """
    per_phase = int(wakeups["activation"].max()) + 1
    phases = wakeups["phase"].unique()
    with style.axes(ax) as ax:
        for cpu, rows in wakeups.groupby("cpu", sort=False):
            ax.step(
                rows["phase"] * per_phase + rows["activation"],
                rows["states"],
                where="post",
                color=_CPU_COLOURS[cpu],
                linestyle="--" if cpu == "Big" else "-",
                label=f"function runs on {cpu}",
            )
        for phase in phases:
            ax.axvline(phase * per_phase, color=style.GREY, linewidth=0.6)
        ax.set_xticks([(phase + 0.5) * per_phase for phase in phases], [f"phase {phase}" for phase in phases])
        ax.grid(axis="x", visible=False)
        ax.set_xlim(0, len(phases) * per_phase)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("performance states visited")
        ax.legend(loc="lower right")
    return ax
