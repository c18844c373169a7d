# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of the cube of worst errors: small multiples."""

import numpy as np

from schedpy.plot import style

__all__ = ["small_multiples"]

_WORDS = {"of_1024_pct": "error, % of 1024", "of_value_pct": "error, % of what it would be"}


def _milliseconds(ns):
    return [f"{value / 1e6:g}" for value in ns]


def small_multiples(cube, *, kernel, measure="of_1024_pct"):
    """The largest errors of one kernel: a row per threshold, a column per tick rate, a cell per task.

    Parameters
    ----------
    cube : xarray.Dataset
        What ``pelt_cube.cube`` gave, computed.
    kernel : str
        One of the cube's.
    measure : {"of_1024_pct", "of_value_pct"}

    Returns
    -------
    array of Axes
        On a new figure; a cell is blank where a task would run longer than its period.
    """
    if measure not in _WORDS:
        raise ValueError(f"measure = {measure!r}: must be one of {', '.join(map(repr, _WORDS))}")
    if kernel not in cube["kernel"].values:
        raise ValueError(f"kernel = {kernel!r}: must be one of {', '.join(map(repr, cube['kernel'].values))}")
    values = cube[measure].sel(kernel=kernel).transpose("threshold", "hz", "period_ns", "run_ns")
    thresholds, rates = values["threshold"].values, values["hz"].values
    top = float(values.max())
    size = (2.5 * len(rates) + 1.6, 2.1 * len(thresholds) + 0.9)
    axes = style.grid(len(thresholds), len(rates), size=size, sharex=True, sharey=True)
    for row, threshold in zip(axes, thresholds, strict=True):
        for ax, hz in zip(row, rates, strict=True):
            image = _panel(ax, values.sel(threshold=threshold, hz=hz).values, top)
            words = f"threshold {threshold}" if threshold else "as released"
            ax.set_title(f"HZ={hz}, {words}", fontsize=10)
    for ax in axes[-1]:
        ax.set_xticks(range(values.sizes["run_ns"]), _milliseconds(values["run_ns"].values))
        ax.set_xlabel("run, ms")
    for ax in axes[:, 0]:
        ax.set_yticks(range(values.sizes["period_ns"]), _milliseconds(values["period_ns"].values))
        ax.set_ylabel("period, ms")
    figure = axes[0, 0].figure
    figure.colorbar(image, ax=axes, label=f"largest {_WORDS[measure]}", shrink=0.8)
    figure.suptitle(f"Largest error of util_avg at an update, kernel {kernel}", x=0.01, ha="left")
    return axes


def _panel(ax, values, top):
    """One heat map, its figures in the cells."""
    image = ax.imshow(values, vmin=0, vmax=top, cmap="cividis", origin="lower", aspect="auto")
    ax.grid(visible=False)
    ax.tick_params(length=0)
    for (y, x), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "black" if value > 0.55 * top else "white"
            ax.text(
                x,
                y,
                f"{value:.1f}" if value < 9.95 else f"{value:.0f}",
                ha="center",
                va="center",
                color=colour,
                fontsize=8,
            )
    return image
