# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of platforms, by the data of their artists."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from schedpy import em
from schedpy.lab import platforms
from schedpy.plot import platforms as plot
from schedpy.plot import style


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


PIXEL4 = em.EnergyModel.load("pixel4")


def test_states_show_power_by_capacity_and_hollow_ones_are_flagged():
    ax = plot.states(PIXEL4, platforms.states(["pixel4"]))
    dots = {line.get_label(): line for line in ax.lines if line.get_marker() == "o"}
    assert list(dots) == ["little", "little, inefficient", "mid", "prime"]
    little = PIXEL4["little"]
    capacity = little.capacity * little.freq_khz / little.freq_khz[-1]
    hollow = dots["little, inefficient"]
    assert hollow.get_markerfacecolor() == "white"
    assert hollow.get_xdata().tolist() == pytest.approx(capacity[:5].tolist())
    assert hollow.get_ydata().tolist() == pytest.approx((little.power / capacity)[:5].tolist())
    assert dots["prime"].get_color() == style.VERMILION
    assert ax.get_ylabel() == "mW per capacity"


def test_a_map_has_a_colour_for_every_place():
    found = platforms.placement_map("pixel4", kernel="6.1", util=[128, 640, 800], load=[0, 40])
    ax = plot.placements(found)
    image = ax.images[0]
    colours = [[to_hex(image.cmap(image.norm(value))) for value in row] for row in image.get_array()]
    to_little, to_mid = "#7fceb9", "#7fb8d8"
    assert colours == [
        [to_little, to_mid, style.VERMILION.lower()],
        [to_mid, "#d9d9d9", "#d9d9d9"],
    ]
    left, right, bottom, top = image.get_extent()
    assert (left, right, bottom, top) == (128 - 80, 800 + 80, -20, 60)
    assert ax.get_title(loc="left") == "6.1"


def test_kernels_that_choose_alike_share_a_panel():
    maps = [platforms.placement_map("tc2", kernel=kernel) for kernel in ("5.12", "6.12", "7.3")]
    figure = plot.overview(maps, platforms.states(["tc2"]))
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["states", "5.12", "6.12, 7.3"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[0] == "no CPU has room: stays on CPU 4"
    assert "stays on CPU 4 (a15)" in legend
    assert legend[-1] == "state that a kernel flags as inefficient"


def test_the_legend_holds_what_is_to_be_seen():
    maps = [platforms.placement_map("hikey960_hi3660", kernel="6.1", util=[8, 16], load=[0])]
    figure = plot.overview(maps, platforms.states(["hikey960_hi3660"]))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["to little"]


def test_a_single_domain_keeps_its_colour():
    assert set(
        np.unique(plot.placements(platforms.placement_map("hikey620", kernel="6.1")).images[0].get_array())
    ) == {
        0,
        2,
    }
