# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of how far off PELT's averages are; they take what :mod:`schedpy.lab.pelt_error` gives."""

import numpy as np

from schedpy.plot import style

WITHOUT, WITH = "4.13+", "4.13+ with 512"
BIN_PCT = {"of_value_pct": 1.0, "of_1024_pct": 100 / 1024}
WORDS = {"of_value_pct": "error, % of the value", "of_1024_pct": "error, % of 1024"}
STATES = {
    "running": ("of_1024_pct", "A task starts to run, from nothing"),
    "asleep": ("of_value_pct", "A busy CPU falls asleep"),
}
WINDOW_NS = 1024 * 1024


def _scale(name):
    if name not in WORDS:
        raise ValueError(f"scale = {name!r}: must be one of {', '.join(map(repr, WORDS))}")
    return name


def _chosen(lines, variants, **equal):
    """The lines of these variants with these values; there must be some of every variant."""
    for column, value in equal.items():
        lines = lines[lines[column] == value]
    for variant in variants:
        if not (lines["variant"] == variant).any():
            where = "".join(f" at {column} {value}" for column, value in equal.items())
            raise ValueError(f"variants: nothing of {variant!r}{where}")
    return lines[lines["variant"].isin(variants)]


def _looks(variants):
    """(variant, colour, marker) of each."""
    return list(zip(variants, style.CYCLE, style.MARKERS, strict=False))


def signal(activation, *, variants=(WITHOUT, WITH), ax=None):
    """What is reported during one activation, held between updates, and what it would be.

    Parameters
    ----------
    activation : DataFrame
        What ``pelt_error.worst_activation`` gave.
    variants : sequence of str
    ax : Axes, optional

    Returns
    -------
    Axes
        Per variant one line of ``util_avg`` in steps; black dots for ``util_now`` of the first.
    """
    activation = _chosen(activation, variants)
    with style.axes(ax) as ax:
        for variant, colour, _ in _looks(variants):
            lines = activation[activation["variant"] == variant]
            ax.step(
                lines["time_ns"] / 1e6,
                lines["util_avg"],
                where="post",
                color=colour,
                linestyle="-" if variant == variants[0] else "--",
                label=f"util_avg, {variant}",
            )
        first = activation[activation["variant"] == variants[0]]
        ax.plot(
            first["time_ns"] / 1e6,
            first["util_now"],
            "o",
            color=style.BLACK,
            markersize=4,
            label="had we updated",
        )
        ax.set(
            xlabel="time since wake-up, ms",
            ylabel="util_avg",
            title="Signal at the updates of one activation",
        )
        ax.legend()
    return ax


def error(activation, *, variants=(WITHOUT, WITH), scale="of_1024_pct", ax=None):
    """The error at every update of one activation.

    Parameters
    ----------
    activation : DataFrame
        What ``pelt_error.worst_activation`` gave.
    variants : sequence of str
    scale : {"of_1024_pct", "of_value_pct"}
    ax : Axes, optional

    Returns
    -------
    Axes
        Per variant one line with markers.
    """
    _scale(scale)
    activation = _chosen(activation, variants)
    with style.axes(ax) as ax:
        for variant, colour, marker in _looks(variants):
            lines = activation[activation["variant"] == variant]
            ax.plot(
                lines["time_ns"] / 1e6,
                lines[scale],
                color=colour,
                marker=marker,
                linestyle="-" if variant == variants[0] else "--",
                label=variant,
            )
        ax.set(xlabel="time since wake-up, ms", ylabel=WORDS[scale], title="Error at the same updates")
        ax.legend()
    return ax


def signal_and_error(activation, *, variants=(WITHOUT, WITH), scale="of_1024_pct"):
    """:func:`signal` above :func:`error`, on a new figure: an array of two Axes."""
    axes = style.grid(2, 1, size=(8.0, 7.0), sharex=True)[:, 0]
    signal(activation, variants=variants, ax=axes[0]).set_xlabel("")
    error(activation, variants=variants, scale=scale, ax=axes[1])
    return axes


def histogram(updates, *, hz, variants=(WITHOUT, WITH), scale="of_1024_pct", ax=None):
    """How often an update is off by how much.

    Parameters
    ----------
    updates : DataFrame
        What ``pelt_error.measure`` gave.
    hz : int
    variants : sequence of str
    scale : {"of_1024_pct", "of_value_pct"}
    ax : Axes, optional

    Returns
    -------
    Axes
        Per variant one outline over common bins, the first filled, in percent of that variant's updates on a
        logarithmic axis. A bin is as wide as one unit of util_avg (of 1024), or 1 % (of the value). Updates
        without any error are counted in the legend, not drawn.
    """
    width = BIN_PCT[_scale(scale)]
    at_hz = _chosen(updates, variants, hz=hz)
    bins = max(1, round(at_hz[scale].max() / width))
    edges = (np.arange(bins + 1) + 0.5) * width
    with style.axes(ax) as ax:
        for variant, colour, _ in _looks(variants):
            errors = at_hz.loc[at_hz["variant"] == variant, scale].to_numpy()
            off = np.count_nonzero(errors) / len(errors)
            ax.stairs(
                100 * np.histogram(errors, edges)[0] / len(errors),
                edges,
                fill=variant == variants[0],
                alpha=0.5 if variant == variants[0] else 1,
                linewidth=2,
                color=colour,
                label=f"{variant}: {100 * off:.1f} % of updates off",
            )
        if at_hz[scale].any():
            ax.set_yscale("log")
            ax.set_ylim(top=ax.get_ylim()[1] * 5)
        ax.set(xlabel=WORDS[scale], ylabel="share of updates, %", title=f"Errors at HZ={hz}")
        ax.legend(loc="upper right")
    return ax


def histograms(updates, *, variants=(WITHOUT, WITH), scale="of_1024_pct"):
    """:func:`histogram` of every tick rate side by side, on a new figure: an array of Axes."""
    rates = updates["hz"].unique()
    rows = -(-len(rates) // 2)
    axes = style.grid(rows, 2, size=(10.0, 3.6 * rows)).ravel()
    for ax, hz in zip(axes, rates, strict=False):
        histogram(updates, hz=hz, variants=variants, scale=scale, ax=ax)
    for ax in axes[len(rates) :]:
        ax.remove()
    return axes[: len(rates)]


def largest(table, *, scale="of_1024_pct", mark_pct=None, title="Largest error over all phases", ax=None):
    """The largest error of each variant at each tick rate.

    Parameters
    ----------
    table : DataFrame
        What ``pelt_error.run``, ``summary`` or ``supremum`` gave.
    scale : {"of_1024_pct", "of_value_pct"}
    mark_pct : float, optional
        A line across, for instance the published figure.
    title : str
    ax : Axes, optional

    Returns
    -------
    Axes
        One group of bars per tick rate, one bar per variant, its figure above it.
    """
    _scale(scale)
    wide = table.pivot(index="hz", columns="variant", values=f"max_{scale}")
    variants = list(dict.fromkeys(table["variant"]))
    width = 0.8 / len(variants)
    with style.axes(ax) as ax:
        for index, (variant, colour, _) in enumerate(_looks(variants)):
            centre = np.arange(len(wide)) + (index - (len(variants) - 1) / 2) * width
            bars = ax.bar(centre, wide[variant], width, color=colour, label=variant)
            ax.bar_label(
                bars, fmt="{:#.3g}", fontsize=7, padding=2, bbox={"fc": "white", "ec": "none", "pad": 0.5}
            )
        if mark_pct is not None:
            ax.axhline(mark_pct, color=style.BLACK, linestyle=":", zorder=0, label=f"published: {mark_pct} %")
        ax.set_xticks(np.arange(len(wide)), [f"HZ={hz}" for hz in wide.index])
        ax.grid(visible=False, axis="x")
        ax.set(ylabel=f"largest {WORDS[scale]}", title=title)
        ax.margins(y=0.3)
        ax.legend(ncols=3, loc="upper left")
    return ax


def over_window(updates, *, hz, variants=(WITHOUT, WITH), scale="of_1024_pct", ax=None):
    """The error of every update over its place in the window.

    Parameters
    ----------
    updates : DataFrame
        What ``pelt_error.measure`` gave.
    hz : int
    variants : sequence of str
    scale : {"of_1024_pct", "of_value_pct"}
    ax : Axes, optional

    Returns
    -------
    Axes
        One cloud of points per variant, of the updates that have an error.
    """
    _scale(scale)
    at_hz = _chosen(updates, variants, hz=hz)
    at_hz = at_hz[at_hz["error"] > 0]
    with style.axes(ax) as ax:
        for variant, colour, marker in _looks(variants):
            lines = at_hz[at_hz["variant"] == variant]
            ax.plot(
                lines["in_window"],
                lines[scale],
                marker,
                color=colour,
                markersize=4,
                alpha=0.4,
                rasterized=True,
                label=variant,
            )
        ax.set(
            xlabel="place of the update in the window, units of 1024 ns",
            ylabel=WORDS[scale],
            title=f"Where in the window the errors are, HZ={hz}",
        )
        ax.legend()
    return ax


def spacing(by_spacing, *, ax=None):
    """The largest error of a task that is updated evenly, over the spacing of the updates.

    Parameters
    ----------
    by_spacing : DataFrame
        What ``pelt_error.by_spacing`` gave.
    ax : Axes, optional

    Returns
    -------
    Axes
        One line per variant.
    """
    with style.axes(ax) as ax:
        for variant, colour, _ in _looks(dict.fromkeys(by_spacing["variant"])):
            lines = by_spacing[by_spacing["variant"] == variant]
            ax.plot(lines["spacing"], lines["max_of_1024_pct"], color=colour, label=variant)
        ax.set(
            xlabel="spacing of the updates, units of 1024 ns",
            ylabel=f"largest {WORDS['of_1024_pct']}",
            title="Largest error of a task that starts to run",
        )
        ax.set_ylim(0, 1.2 * by_spacing["max_of_1024_pct"].max())
        ax.legend(ncols=3, loc="upper left")
    return ax


def sawtooth(table, *, state, bound_pct=None, ax=None):
    """The error of a CPU that is updated all the time, over time: it grows until a window ends.

    Parameters
    ----------
    table : DataFrame
        What ``pelt_error.sawtooth`` gave.
    state : {"running", "asleep"}
        Of 1024 while running, of the value while asleep: the scale on which it has a bound.
    bound_pct : float, optional
        A line across: the bound.
    ax : Axes, optional

    Returns
    -------
    Axes
        One line per variant over the time since the state began, in windows.
    """
    if state not in STATES:
        raise ValueError(f"state = {state!r}: must be one of {', '.join(map(repr, STATES))}")
    scale, began = STATES[state]
    lines = table[table["state"] == state]
    with style.axes(ax) as ax:
        looks = zip(_looks(dict.fromkeys(lines["variant"])), ("-", "--", ":"), strict=False)
        for (variant, colour, _), dashes in looks:
            own = lines[lines["variant"] == variant]
            ax.plot(own["time_ns"] / WINDOW_NS, own[scale], color=colour, linestyle=dashes, label=variant)
        if bound_pct is not None:
            ax.axhline(bound_pct, color=style.BLACK, linewidth=1, label=f"bound: {bound_pct:.2f} %")
        ax.set(xlabel="time, windows of 1024 * 1024 ns", ylabel=WORDS[scale], title=began)
        ax.set_ylim(0, 1.45 * max(lines[scale].max(), bound_pct or 0))
        ax.legend(ncols=2, loc="upper right")
    return ax


def sawteeth(table, bounds):
    """:func:`sawtooth` of both states side by side, on a new figure: an array of two Axes.

    ``bounds`` is what ``pelt_error.bounds`` gave.
    """
    axes = style.grid(1, 2, size=(11.0, 4.2))[0]
    for ax, state, bound in zip(axes, STATES, bounds, strict=True):
        sawtooth(table, state=state, bound_pct=bound, ax=ax)
    return axes


def extra(by_extra, *, ax=None):
    """The largest error of the value of single runs, over how far apart further updates are.

    Parameters
    ----------
    by_extra : DataFrame
        What ``pelt_error.by_extra`` gave.
    ax : Axes, optional

    Returns
    -------
    Axes
        Per variant a marker at the median run, and a bar from the least to the largest; above each how
        many of the updates that were skipped the variant refreshes.
    """
    variants = list(dict.fromkeys(by_extra["variant"]))
    gaps = by_extra["extra_ns"].unique()
    with style.axes(ax) as ax:
        for number, (variant, colour, marker) in enumerate(_looks(variants)):
            lines = by_extra[by_extra["variant"] == variant]
            place = np.arange(len(lines)) + (number - (len(variants) - 1) / 2) * 0.2
            middle = lines["median_pct"].to_numpy()
            spread = [middle - lines["least_pct"], lines["max_pct"] - middle]
            ax.errorbar(place, middle, spread, fmt=marker, color=colour, label=variant)
            for x, top, caught in zip(place, lines["max_pct"], lines["caught_pct"], strict=True):
                if caught:
                    ax.annotate(
                        f"{caught:.1f} %\ncaught",
                        (x, top),
                        (0, 5),
                        textcoords="offset points",
                        ha="center",
                        fontsize=8,
                    )
        words = [f"every {gap / 1e6:g} ms" if gap else "none" for gap in gaps]
        ax.set_xticks(np.arange(len(gaps)), words)
        ax.grid(visible=False, axis="x")
        ax.set_ylim(0, 1.35 * by_extra["max_pct"].max())
        ax.set(
            xlabel="further updates, on average",
            ylabel="largest " + WORDS["of_value_pct"],
            title="What further updates do to the patch",
        )
        ax.legend(ncols=2, loc="upper left")
    return ax
