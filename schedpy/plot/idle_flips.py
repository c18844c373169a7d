# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of the idle states that a shift by 10 changes, of what :mod:`schedpy.lab.idle_flips` gives."""

import numpy as np

from schedpy.plot import style

__all__ = ["by_mix", "by_period", "snooze"]

#: The tick of HZ=1000, 250 and 100.
_TICKS_US = (1000, 4000, 10_000)
_DASHES = ("-", "--", ":", "-.")


def _period_label(us):
    for least, unit in ((1_000_000, "s"), (1000, "ms")):
        if us >= least:
            return f"{us / least:g} {unit}"
    return f"{us:g} us"


def _places(low, high):
    """Round periods to label: decades where there are several, else a handful evenly apart."""
    if high >= 10 * low:
        decades = 10.0 ** np.arange(np.ceil(np.log10(low)), np.floor(np.log10(high)) + 1)
        return decades.tolist()
    steps = [10.0**power * digit for power in range(7) for digit in (1, 2, 5)]
    step = next(step for step in steps if (high - low) / step <= 5)
    return (step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)).tolist()


def _panel(ax, found, bands):
    low, high = found["period_us"].min(), found["period_us"].max()
    shown = bands[bands["target_residency_us"].between(low, high)]
    for band in shown.itertuples():
        ends = band.target_residency_us, band.always_from_us
        ax.axvspan(*ends, color=style.SKY, alpha=0.45, linewidth=0, label="band: R .. R + 0.024 (R + L)")
    for us in _TICKS_US:
        if low <= us <= high:
            ax.axvline(
                us, color=style.BLACK, linestyle=":", linewidth=1.1, label="tick of HZ=1000, 250 or 100"
            )
    lines = found.groupby("jitter", sort=True)
    for (jitter, of_this), colour, dash in zip(lines, style.CYCLE, _DASHES, strict=False):
        of_this = of_this.sort_values("period_us")
        look = {"color": colour, "linestyle": dash, "linewidth": 1.4}
        ax.plot(of_this["period_us"], of_this["flips_pct"], label=f"jitter {100 * jitter:g} %", **look)
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(-3, 106)
    ax.set_title(f"{found['table'].iloc[0]}: {', '.join(shown['state'])}", fontsize=10)
    places = _places(low, high)
    ax.set_xticks(places, [_period_label(place) for place in places])
    ax.xaxis.minorticks_off()


def _check_is_of_one(found):
    for name in ("kernel", "governor", "residency"):
        values = list(found[name].unique())
        if len(values) != 1:
            raise ValueError(f"found: has the {name} {', '.join(values)}: must be one")


def by_period(found, bands, *, axes=None, columns=3):
    """The share of idles that end in another state, against the period of timers: a panel for each table.

    Parameters
    ----------
    found : DataFrame
        What ``idle_flips.by_period`` gave, of one kernel, governor and conversion.
    bands : DataFrame
        What ``idle_flips.bands`` gave, of the same tables.
    axes : array of Axes, optional
        At least as many as there are tables; those left over are switched off.
    columns : int
        Panels in a row, where ``axes`` is not given.

    Returns
    -------
    array of Axes
        Those drawn to. In each a line for each jitter, in percent, and a shaded stripe for each band.

    Raises
    ------
    ValueError
        Several kernels, governors or conversions, more jitters than there are colours, or too few ``axes``.
    """
    _check_is_of_one(found)
    if found["jitter"].nunique() > len(_DASHES):
        raise ValueError(f"found: has {found['jitter'].nunique()} jitters: must be {len(_DASHES)} at most")
    tables = list(found["table"].unique())
    if axes is None:
        rows = -(-len(tables) // columns)
        axes = style.grid(rows, columns, size=(4.0 * columns, 2.6 * rows + 0.6), sharey=True)
    every = np.ravel(axes)
    if len(every) < len(tables):
        raise ValueError(f"axes: {len(every)} of them, must be {len(tables)} at least")
    with style.applied():
        for ax, table in zip(every, tables, strict=False):
            _panel(ax, found[found["table"] == table], bands[bands["table"] == table])
        for ax in every[len(tables) :]:
            ax.set_axis_off()
        figure = every[0].figure
        of_one = found.iloc[0]
        figure.supylabel(
            f"idles in another state, %: {of_one['governor']} of {of_one['kernel']}, {of_one['residency']}",
            fontsize=11,
        )
        figure.supxlabel("period of the timer", fontsize=11)
        handles: dict = {}
        for ax in every:
            handles |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles))
    return every[: len(tables)]


def by_mix(found, *, ax=None):
    """The share of idles that end in another state, for each kind of idles and each table.

    Parameters
    ----------
    found : DataFrame
        What ``idle_flips.flips`` gave, of one kernel, governor and conversion.
    ax : Axes, optional

    Returns
    -------
    Axes
        A field of cells: idles from top to bottom, tables from left to right, percents written in. The shade
        is logarithmic from 0.1 %; below it a cell is empty.
    """
    _check_is_of_one(found)
    mixes, tables = list(found["idles"].unique()), list(found["table"].unique())
    shares = found.pivot(index="idles", columns="table", values="flips_pct").loc[mixes, tables].to_numpy()
    shown = shares >= 0.1
    with style.axes(ax, size=(2.8 + 0.52 * len(tables), 1.7 + 0.26 * len(mixes))) as ax:
        shade = np.where(shown, np.log10(np.maximum(shares, 0.1)), np.nan)
        ax.imshow(shade, cmap="Blues", vmin=-1.3, vmax=2, aspect="auto")
        for y, x in np.argwhere(shown):
            value = shares[y, x]
            ax.text(
                x,
                y,
                f"{value:.0f}" if value >= 9.95 else f"{value:.1f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if value > 15 else style.BLACK,
            )
        ax.set_xticks(range(len(tables)), tables, rotation=45, ha="right", rotation_mode="anchor", fontsize=9)
        ax.set_yticks(range(len(mixes)), mixes, fontsize=9)
        ax.grid(False)
        ax.tick_params(length=0)
        of_one = found.iloc[0]
        ax.set_title(
            f"Idles in another state, %: {of_one['governor']} of {of_one['kernel']}, "
            f"{of_one['residency']} against {of_one['against']}"
        )
    return ax


def snooze(found, *, ax=None):
    """How long a CPU polls in a second of idling, against the overshoot of its time-out.

    Parameters
    ----------
    found : DataFrame
        What ``idle_snooze.snooze`` gave.
    ax : Axes, optional

    Returns
    -------
    Axes
        One line per conversion, in ms, on a logarithmic axis.
    """
    with style.axes(ax) as ax:
        for (how, of_this), colour, dash in zip(
            found.groupby("residency", sort=False), style.CYCLE, _DASHES, strict=False
        ):
            ax.plot(of_this["overshoot_us"], of_this["polled_ms"], color=colour, linestyle=dash, label=how)
        ax.set_yscale("log")
        ax.set(
            xlabel="overshoot of the time-out, us",
            ylabel="polled, ms",
            title="A second of idling that nothing ends, and how much of it is polled",
        )
        ax.legend()
    return ax
