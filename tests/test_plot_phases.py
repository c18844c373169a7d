# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of the placement timings, by the data of their artists."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from test_lab_phases import ROWS, timing

from schedpy.lab import phases
from schedpy.plot import phases as plot
from schedpy.plot import style


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def errorbars(ax):
    """x, y, low and high of every error bar, by the label of its container."""
    found = {}
    for container in ax.containers:
        line, _, (bars,) = container.lines
        ends = np.array([segment[:, 1] for segment in bars.get_segments()]).reshape(-1, 2)
        found[container.get_label()] = (line.get_xdata(), line.get_ydata(), ends[:, 0], ends[:, 1])
    return found


def test_intervals_show_the_table():
    table = phases.table().loc["LUT"]
    bars = errorbars(plot.intervals(phases.table()))
    assert len(bars) == 4
    x, y, low, high = (
        np.concatenate(p) for p in zip(*[v for k, v in bars.items() if "with LUT" in k], strict=True)
    )
    order = np.argsort(x)
    unit = table["a_mean"].to_numpy() / 100
    assert y[order] == pytest.approx(table["b_mean"].to_numpy() / unit)
    assert low[order] == pytest.approx((table["b_mean"] - table["b_interval"]).to_numpy() / unit)
    assert high[order] == pytest.approx((table["b_mean"] + table["b_interval"]).to_numpy() / unit)
    hollow = bars["with LUT, intervals overlap"][0]
    assert np.round(hollow).astype(int).tolist() == [0, 1, 3]


def test_tick_labels_name_phase_cpu_and_mean():
    labels = [text.get_text() for text in plot.intervals(phases.table()).get_xticklabels()]
    assert labels[0] == "phase 0\nLittle\n10,791 ns"
    assert len(labels) == 7


def test_differences_of_the_mails_have_one_series():
    table = phases.table().loc["LUT"]
    bars = errorbars(plot.differences(phases.table()))
    assert list(bars) == ["LUT - walk"]
    _, y, low, high = bars["LUT - walk"]
    assert y.tolist() == table["diff"].tolist()
    assert low == pytest.approx(table["diff_low"].to_numpy())
    assert high == pytest.approx(table["diff_high"].to_numpy())


def test_shifts_of_a_measurement_show_walk_against_walk():
    table = phases.table(timing(1000, 900, 1000))
    bars = errorbars(plot.shifts(table))
    assert list(bars) == ["LUT - walk", "walk again - walk"]
    for label, arms in (("LUT - walk", "LUT"), ("walk again - walk", "A/A")):
        _, y, low, high = bars[label]
        assert y.tolist() == table.loc[arms, "shift"].tolist()
        assert low == pytest.approx(table.loc[arms, "shift_low"].to_numpy())
        assert high == pytest.approx(table.loc[arms, "shift_high"].to_numpy())


def test_distributions_show_the_samples():
    measured = timing(1000, 900, 1000)
    ax = plot.distributions(measured)
    medians = sorted(
        (float(np.mean(line.get_xdata())), float(line.get_ydata()[0]))
        for line in ax.lines
        if line.get_linestyle() == "-"
        and len(line.get_xdata()) == 2
        and line.get_ydata()[0] == line.get_ydata()[1]
    )
    for arm in range(3):
        for row in range(7):
            expected = np.median(measured.of(row, arm))
            assert (pytest.approx(row + 0.8 / 3 * (arm - 1)), expected) in medians
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["walk", "LUT", "walk again"]


def test_states_show_every_wakeup():
    wakeups = phases.wakeups()
    lines = {line.get_label(): line for line in plot.states(wakeups).lines}
    for cpu in ("Little", "Mid", "Big"):
        line = lines[f"function runs on {cpu}"]
        rows = wakeups[wakeups["cpu"] == cpu]
        assert line.get_ydata().tolist() == rows["states"].tolist()
    assert lines["function runs on Big"].get_xdata()[0] == 4 * 125


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: plot.intervals(phases.table(), ax=ax),
        lambda ax: plot.differences(phases.table(), ax=ax),
        lambda ax: plot.shifts(phases.table(timing(1000, 900, 1000)), ax=ax),
        lambda ax: plot.distributions(timing(1000, 900, 1000), ax=ax),
        lambda ax: plot.states(phases.wakeups(), ax=ax),
    ],
)
def test_a_given_axes_is_used_and_returned(draw):
    ax = style.grid(1, 2)[0, 1]
    assert draw(ax) is ax
    assert len(plt.get_fignums()) == 1


def test_the_style_leaves_no_trace():
    before = dict(mpl.rcParams)
    plot.intervals(phases.table())
    assert dict(mpl.rcParams) == before


def test_every_row_is_there():
    ax = plot.differences(phases.table())
    assert [text.get_text() for text in ax.get_xticklabels()] == [f"phase {p}\n{cpu}" for p, cpu in ROWS]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"schedpy\[plot\]"):
        plot.intervals(phases.table())
