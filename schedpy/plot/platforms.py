# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of platforms: what their states cost, and where tasks go.

The functions take what ``schedpy.lab.platforms`` gives.
"""

import numpy as np

from schedpy.plot import style

__all__ = ["overview", "placements", "states"]

#: The smallest CPUs, those between, the biggest.
_SMALLEST, _BETWEEN, _BIGGEST = style.GREEN, (style.BLUE, style.PURPLE, style.ORANGE), style.VERMILION
_NO_ROOM = "#D9D9D9"


def _colours(model):
    """Colour of each domain, the smallest capacity first, by its index."""
    order = sorted(range(len(model.domains)), key=lambda index: model.domains[index].capacity)
    between = max(len(order) - 2, 0)
    row = [_SMALLEST, *(_BETWEEN[place % len(_BETWEEN)] for place in range(between)), _BIGGEST]
    return dict(zip(order, row, strict=False))


def _lighter(colour):
    """Half way to white."""
    channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{(channel + 255) // 2:02X}" for channel in channels)


def states(model, table, *, ax=None):
    """What a unit of work costs at each state: power over capacity delivered.

    Parameters
    ----------
    model : EnergyModel
    table : DataFrame
        Of ``platforms.states``, which has the model's rows under its name.
    ax : Axes, optional

    Returns
    -------
    Axes
        Hollow: a state that some kernel flags as inefficient.
    """
    units = {domain.unit for domain in model.domains}
    with style.axes(ax) as ax:
        for index, domain in enumerate(model.domains):
            rows = table.xs(model.name).xs(domain.name)
            capacity = domain.capacity * rows["freq_khz"] / rows["freq_khz"].max()
            cost, colour = rows["power"] / capacity, _colours(model)[index]
            ax.plot(capacity, cost, color=colour, linewidth=1)
            for flagged in (False, True):
                drawn = (rows["inefficient"] != "") == flagged
                if drawn.any():
                    ax.plot(
                        capacity[drawn],
                        cost[drawn],
                        "o",
                        color=colour,
                        markersize=5,
                        markerfacecolor="white" if flagged else colour,
                        label=f"{domain.name}, inefficient" if flagged else domain.name,
                    )
        ax.set_xlim(0, 1060)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("capacity at the state")
        unit = units.pop() if len(units) == 1 else "bogo"
        ax.set_ylabel("power per capacity, no unit" if unit == "bogo" else f"{unit} per capacity")
        ax.set_title("states")
    return ax


def _classes(found):
    """(colour, label) of what can become of a task: no room; per domain, that it moves there, or stays."""
    model, prev_cpu, colours = found.model, found.prev_cpu, _colours(found.model)
    yield _NO_ROOM, f"no CPU has room: stays on CPU {prev_cpu}"
    for index, domain in enumerate(model.domains):
        yield _lighter(colours[index]), f"to {domain.name}"
        yield colours[index], f"stays on CPU {prev_cpu} ({domain.name})"


def _class_of(found):
    """Which of the classes every place of a map is of."""
    return np.where(found.fits, 1 + 2 * found.domain + (found.target == found.prev_cpu), 0)


def placements(found, *, ax=None):
    """The domain chosen, by the task's size and the load of the system.

    Parameters
    ----------
    found : PlacementMap
        Of ``platforms.placement_map``.
    ax : Axes, optional

    Returns
    -------
    Axes
        A domain's full colour: the task stays where it was; lighter: it moves there; grey: no CPU has room.
    """
    from matplotlib.colors import ListedColormap

    palette = [colour for colour, _ in _classes(found)]
    half = [np.diff(axis).min() / 2 if axis.size > 1 else 0.5 for axis in (found.util, found.load)]
    with style.axes(ax) as ax:
        ax.imshow(
            _class_of(found),
            cmap=ListedColormap(palette),
            vmin=0,
            vmax=len(palette) - 1,
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            extent=(
                found.util[0] - half[0],
                found.util[-1] + half[0],
                found.load[0] - half[1],
                found.load[-1] + half[1],
            ),
        )
        ax.grid(visible=False)
        ax.set_xlim(0, max(1024, found.util[-1]))
        ax.set_xticks((0, 512, 1024))
        ax.set_xlabel("utilisation of the task")
        ax.set_ylabel("load of every CPU, %")
        ax.set_title(found.kernel)
    return ax


def overview(maps, table):
    """A platform at a glance: its states, and where its tasks go, kernel by kernel.

    Parameters
    ----------
    maps : sequence of PlacementMap
        Of one model, one per kernel.
    table : DataFrame
        Of ``platforms.states``.

    Returns
    -------
    Figure
        Kernels that choose the same CPUs everywhere share a panel.
    """
    panels = _panels(maps)
    model = panels[0][0].model
    with style.applied() as plt:
        figure = plt.figure(figsize=(3.0 * (len(panels) + 1), 3.9))
        # Room by hand: the layout engine draws everything several times over.
        spaces = figure.add_gridspec(
            1, len(panels) + 1, left=0.05, right=0.99, top=0.82, bottom=0.25, wspace=0.3
        )
        states(model, table, ax=figure.add_subplot(spaces[0]))
        for place, (found, *others) in enumerate(panels, 1):
            ax = placements(found, ax=figure.add_subplot(spaces[place]))
            ax.set_title(", ".join(each.kernel for each in (found, *others)))
            if place > 1:
                ax.set_ylabel("")
                ax.tick_params(labelleft=False)
        handles = _legend(panels, table)
        figure.legend(handles=handles, loc="lower center", ncols=len(panels) + 1, fontsize=9)
        figure.suptitle(model.name, x=0.01, ha="left", fontsize=13)
    return figure


def _panels(maps):
    """The maps, those with the same CPUs everywhere together."""
    panels: list[list] = []
    for each in maps:
        for panel in panels:
            if np.array_equal(panel[0].target, each.target) and np.array_equal(panel[0].fits, each.fits):
                panel.append(each)
                break
        else:
            panels.append([each])
    return panels


def _legend(panels, table):
    """What is to be seen in the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    first = panels[0][0]
    seen = set().union(*(np.unique(_class_of(found)).tolist() for found, *_ in panels))
    classes = enumerate(_classes(first))
    handles: list[Patch | Line2D] = [
        Patch(color=colour, label=label) for place, (colour, label) in classes if place in seen
    ]
    if (table.xs(first.model.name)["inefficient"] != "").any():
        hollow = Line2D([], [], marker="o", linestyle="", color=style.BLACK, markerfacecolor="white")
        hollow.set_label("state that a kernel flags as inefficient")
        handles.append(hollow)
    return handles
