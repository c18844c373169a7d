# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of clock reads and of the shift by 10; they take what :mod:`schedpy.lab.idle_clock` gives."""

import numpy as np

from schedpy.plot import style

__all__ = ["beside_mail", "deviation", "single_calls"]


def deviation(table, *, ax=None):
    """By how much the shift deviates from the division, against the time.

    Parameters
    ----------
    table : DataFrame
        What ``idle_clock.deviation`` gave.
    ax : Axes, optional

    Returns
    -------
    Axes
        One line of the integers' deviation in percent, one of what remains for long times.
    """
    known = table.dropna(subset="deviation_pct")
    asymptote = table["asymptote_pct"].iloc[0]
    with style.axes(ax) as ax:
        label = "integers, ns >> 10 against ns / 1000"
        ax.plot(known["nsec"], known["deviation_pct"], linewidth=0.8, label=label)
        ax.plot(
            table["nsec"],
            table["asymptote_pct"],
            color=style.VERMILION,
            linestyle="--",
            label=f"asymptote, {asymptote} %",
        )
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=10, linscale=2)
        ticks = [0, round(asymptote, 2), -5, -10, -20, -50, -100]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.yaxis.minorticks_off()
        ax.set_ylim(-120, 1)
        ax.set(
            xlabel="time, ns",
            ylabel="deviation, %",
            title=f"The shift is {-asymptote:.2f} % short only for long times",
        )
        ax.legend(loc="lower right")
    return ax


def single_calls(cost, *, clocks=("CLOCK_MONOTONIC", "CLOCK_THREAD_CPUTIME_ID"), ax=None):
    """How many of the single calls cost more than so much.

    Parameters
    ----------
    cost : ReadCost
        What ``stopwatch.read_cost`` gave.
    clocks : sequence of str
        Up to six that it measured.
    ax : Axes, optional

    Returns
    -------
    Axes
        Per clock a line in steps: the share of calls that cost at least the time on the x axis. Calls that
        cost no more than an empty bracket are in the share, but a logarithmic axis does not show them.
    """
    if not 1 <= len(clocks) <= len(style.CYCLE):
        raise ValueError(f"clocks: {len(clocks)} of them, must be 1 .. {len(style.CYCLE)}")
    with style.axes(ax) as ax:
        for name, colour in zip(clocks, style.CYCLE, strict=False):
            measured = cost[name]
            total = measured.counts.sum()
            share = (total - np.cumsum(measured.counts) + measured.counts) / total
            ax.step(measured.values_ns, share, where="pre", color=colour, label=f"{name}, {measured.kind}")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set(
            xlabel="cost of a call, ns",
            ylabel="share of calls that cost at least this",
            title=f"{cost.rounds} x {cost.calls} single calls, empty bracket subtracted",
        )
        ax.legend()
    return ax


def beside_mail(table, *, ax=None):
    """Averages and extremes of a host's clocks below the mail's.

    Parameters
    ----------
    table : DataFrame
        What ``idle_clock.beside_mail`` gave.
    ax : Axes, optional

    Returns
    -------
    Axes
        One row per clock: average with the stddev of the rounds, and the least and the largest single call
        where a logarithmic axis can show it.
    """
    place = np.arange(len(table))[::-1]
    mail = table["stddev_calls_ns"].isna().to_numpy()
    with style.axes(ax, size=(style.SIZE[0], 1.6 + 0.26 * len(table))) as ax:
        for rows, colour, label in (
            (mail, style.VERMILION, "the mail: average and stddev"),
            (~mail, style.BLUE, "this host: average and stddev of rounds"),
        ):
            chosen = table[rows]
            ax.errorbar(
                chosen["average_ns"],
                place[rows],
                xerr=chosen["stddev_ns"],
                fmt="o",
                color=colour,
                label=label,
            )
            for column, marker in (("minimum_ns", "<"), ("maximum_ns", "x")):
                shown = (chosen[column] > 0).to_numpy()
                ax.plot(
                    chosen[column][shown], place[rows][shown], marker, color=colour, markerfacecolor="white"
                )
        ax.plot([], [], "<", color=style.GREY, markerfacecolor="white", label="least single call")
        ax.plot([], [], "x", color=style.GREY, label="largest single call")
        ax.set_xscale("log")
        ax.set_yticks(place, table.index + ", " + table["kind"])
        ax.set(xlabel="ns per call", title="What a clock costs to read: the mail's CPU and this one")
        ax.legend(loc="upper center", bbox_to_anchor=(0.3, -0.1), ncols=2)
    return ax
