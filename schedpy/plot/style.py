# SPDX-License-Identifier: GPL-2.0-only
"""The one style of the pictures: safe for colour-blind eyes, a light grid, legible at half a page.

A plot function draws inside :func:`axes`, which is where the style is applied and where a missing
``ax`` becomes a figure of its own::

    def published(table, *, ax=None):
        with style.axes(ax) as ax:
            ax.errorbar(...)
        return ax
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, darkest first; tell series apart by marker or line style as well.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREY = "#6E6E6E"
BLACK = "#000000"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")

SIZE = (8.0, 4.5)
_RC_COLOURS: dict[str, Any] = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": GREY,
    "axes.labelcolor": BLACK,
    "text.color": BLACK,
    "grid.color": "#E3E3E3",
}
RC: dict[str, Any] = _RC_COLOURS | {
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "errorbar.capsize": 4,
}


def pyplot() -> Any:
    """``matplotlib.pyplot``, or an ImportError that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("the pictures need matplotlib: pip install 'schedpy[plot]'") from error
    return plt


@contextmanager
def applied() -> Iterator[Any]:
    """The style for everything drawn in the block; gives ``matplotlib.pyplot``."""
    plt = pyplot()
    with plt.rc_context(RC | {"axes.prop_cycle": plt.cycler(color=CYCLE)}):
        yield plt


@contextmanager
def axes(ax: "Axes | None" = None, *, size: tuple[float, float] = SIZE) -> Iterator["Axes"]:
    """Draw in the style on ``ax``, or on the Axes of a new figure of ``size`` inches."""
    with applied() as plt:
        yield plt.figure(figsize=size, layout="constrained").subplots() if ax is None else ax


def grid(rows: int, columns: int, *, size: tuple[float, float] = SIZE, **subplots: Any) -> Any:
    """A new figure's Axes as an array of shape (rows, columns), to be handed to plot functions as ``ax=``."""
    with applied() as plt:
        figure = plt.figure(figsize=size, layout="constrained")
        return figure.subplots(rows, columns, squeeze=False, **subplots)
