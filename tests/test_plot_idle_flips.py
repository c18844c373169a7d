# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of flips: the artists hold what the tables say, and go where they are told."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

from schedpy.lab import idle_clock  # noqa: E402
from schedpy.plot import idle_flips as plot  # noqa: E402

TABLES = ["sm8150_little", "juno", "intel_skl"]
FEW = {"n": 100, "seeds": 1, "progress": False}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def periods():
    return idle_clock.by_period(TABLES, points=6, **FEW)


@pytest.fixture(scope="module")
def mixes():
    return idle_clock.flips(TABLES, **FEW)


def test_a_panel_holds_its_tables_lines(periods):
    axes = plot.by_period(periods, idle_clock.bands(TABLES))
    assert len(axes) == len(TABLES)
    for ax, table in zip(axes, TABLES, strict=True):
        assert ax.get_title(loc="left").startswith(f"{table}: ")
        of_this = periods[periods["table"] == table]
        drawn = [line for line in ax.get_lines() if line.get_label().startswith("jitter")]
        jitters = sorted(of_this["jitter"].unique())
        assert [line.get_label() for line in drawn] == [f"jitter {100 * jitter:g} %" for jitter in jitters]
        for line, jitter in zip(drawn, jitters, strict=True):
            wanted = of_this[of_this["jitter"] == jitter].sort_values("period_us")
            assert line.get_xdata().tolist() == wanted["period_us"].tolist()
            assert line.get_ydata().tolist() == wanted["flips_pct"].tolist()
        low, high = ax.get_xlim()
        assert (low, high) == pytest.approx((of_this["period_us"].min(), of_this["period_us"].max()))
        assert all(low <= tick <= high for tick in ax.get_xticks())


def test_a_panel_holds_its_bands(periods):
    bands = idle_clock.bands(TABLES)
    for ax, table in zip(plot.by_period(periods, bands), TABLES, strict=True):
        low, high = ax.get_xlim()
        of_this = bands[(bands["table"] == table) & bands["target_residency_us"].between(low, high)]
        assert len(of_this)
        stripes = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
        wanted = of_this[["target_residency_us", "always_from_us"]].to_numpy()
        assert np.array(stripes) == pytest.approx(wanted)
        ticks = [line.get_xdata()[0] for line in ax.get_lines() if line.get_label().startswith("tick")]
        assert ticks == [us for us in (1000, 4000, 10_000) if low <= us <= high]


def test_the_legend_names_each_thing_once(periods):
    figure = plot.by_period(periods, idle_clock.bands(TABLES))[0].figure
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(set(labels)) == 4


def test_cells_hold_the_shares(mixes):
    ax = plot.by_mix(mixes)
    assert [text.get_text() for text in ax.get_xticklabels()] == TABLES
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == list(mixes["idles"].unique())
    written = {(text.get_position()[0], text.get_position()[1]): float(text.get_text()) for text in ax.texts}
    for line in mixes.itertuples():
        place = TABLES.index(line.table), names.index(line.idles)
        assert (place in written) == (line.flips_pct >= 0.1)
        if place in written:
            assert written[place] == pytest.approx(
                line.flips_pct, abs=0.5 if line.flips_pct >= 9.95 else 0.0501
            )


def test_the_snooze_loop():
    found = idle_clock.snooze([0, 2000, 2400])
    lines = plot.snooze(found).get_lines()
    for line, (how, of_this) in zip(lines, found.groupby("residency", sort=False), strict=True):
        assert line.get_label() == how
        assert line.get_xdata().tolist() == of_this["overshoot_us"].tolist()
        assert line.get_ydata().tolist() == of_this["polled_ms"].tolist()


def test_pictures_draw_where_they_are_told(periods, mixes):
    _, axes = pyplot.subplots(2, 3)
    drawn = plot.by_period(periods, idle_clock.bands(TABLES), axes=axes)
    assert list(drawn) == list(axes.flat[:3])
    assert not axes.flat[3].axison
    assert plot.by_mix(mixes, ax=axes[1, 1]) is axes[1, 1]
    assert plot.snooze(idle_clock.snooze(0), ax=axes[1, 2]) is axes[1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda found: found.assign(kernel=["4.7", *found["kernel"][1:].replace("4.7", "6.1")]),
            "kernel 4.7, 6.1",
        ),
        (lambda found: found.assign(jitter=np.arange(len(found)) / len(found)), "jitters"),
    ],
)
def test_what_cannot_be_drawn(periods, change, message):
    with pytest.raises(ValueError, match=message):
        plot.by_period(change(periods), idle_clock.bands(TABLES))


def test_too_few_axes(periods):
    with pytest.raises(ValueError, match="axes: 1 of them, must be 3"):
        plot.by_period(periods, idle_clock.bands(TABLES), axes=pyplot.subplots()[1])


def test_two_conversions_are_no_field():
    found = idle_clock.flips("juno", kernel="6.1", idles=idle_clock.Timer(10**6), **FEW)
    with pytest.raises(ValueError, match="residency div1000, shr10"):
        plot.by_mix(found)
