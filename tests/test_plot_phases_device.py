# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of the simulated staircase, by the data of their artists."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from schedpy.lab import phases
from schedpy.plot import phases_device as plot
from schedpy.plot import style


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def simulated():
    return phases.simulate("pixel4", kernel="5.12", repetitions=2, activations=15)


@pytest.fixture(scope="module")
def shares():
    return phases.mid_share(repetitions=2, activations=5)


def test_bars_are_the_counts(simulated):
    counts = simulated.counts()
    ax = plot.counts(counts)
    bars = {container.get_label(): container for container in ax.containers}
    assert list(bars) == ["Little", "Mid", "Big"]
    for kind, container in bars.items():
        heights = [bar.get_height() for bar in container]
        waking = [counts["waking"].get((phase, kind), 0) / 30 * 100 for phase in range(6)]
        assert heights == pytest.approx(waking)
    tops = np.sum([[bar.get_height() for bar in container] for container in bars.values()], axis=0)
    without = counts["without"].groupby("phase").first()
    assert tops == pytest.approx(100 - without.to_numpy() / 30 * 100)
    assert ax.get_xticklabels()[0].get_text() == "phase 0\n12.5 %"


def test_the_mails_shares_are_marked(simulated):
    ax = plot.counts(simulated.counts(), mail=phases.published())
    marks = {line.get_label(): line.get_ydata() for line in ax.lines if line.get_marker() in "<>"}
    assert [float(y[0]) for y in marks.values()] == pytest.approx(
        phases.published_shares()["percent"].tolist()
    )
    assert list(marks) == ["mail, without LUT", "mail, with LUT"]


def test_any_platforms_kinds_have_bars():
    other = phases.simulate("hikey620", kernel="6.1", repetitions=1, activations=3)
    ax = plot.counts(other.counts())
    assert len(ax.containers) == len(set(other.counts().index.get_level_values("cpu")))


def test_margins_are_the_decisions():
    decisions = phases.decisions(util=range(600, 710), load_percent=[0, 2])
    ax = plot.margin(decisions, settled=679)
    lines = {line.get_label(): line for line in ax.lines}
    for prev in ("Mid", "Big"):
        for load in (0, 2):
            line = lines[f"slept on {prev}, load {load} %"]
            rows = decisions[(decisions["prev"] == prev) & (decisions["load_percent"] == load)].dropna()
            assert line.get_xdata().tolist() == rows["util"].tolist()
            assert line.get_ydata().tolist() == rows["saving_percent"].tolist()
    flat = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1]
    assert 6.25 in flat
    assert "settled: 679" in [text.get_text() for text in ax.texts]


def test_shares_are_drawn_with_their_errors(shares):
    ax = plot.share(shares, mail=phases.published_shares())
    rows = shares.dropna(subset=["load_percent"]).sort_values("load_percent")
    (container,) = ax.containers
    line, _, (bars,) = container.lines
    assert line.get_xdata().tolist() == rows["load_percent"].tolist()
    assert line.get_ydata().tolist() == rows["percent"].tolist()
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert (ends[:, 1] - ends[:, 0]) / 2 == pytest.approx(rows["sem"].to_numpy())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"mail, without LUT: 12.7 %", "mail, with LUT: 32.9 %"} <= set(labels)


def test_a_given_axes_is_used_and_returned(simulated, shares):
    for draw in (
        lambda ax: plot.counts(simulated.counts(), ax=ax),
        lambda ax: plot.margin(phases.decisions(util=[600, 640], load_percent=[0]), ax=ax),
        lambda ax: plot.share(shares, ax=ax),
    ):
        ax = style.grid(1, 2)[0, 1]
        assert draw(ax) is ax
