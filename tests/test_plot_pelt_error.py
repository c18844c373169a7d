# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of PELT's errors show the figures they are given."""

import numpy as np
import pandas as pd
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="the pictures need the extra plot")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from schedpy.plot import pelt_error  # noqa: E402

WITHOUT, WITH = "4.13+", "4.13+ with 512"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def updates():
    """Two variants of five updates each at HZ 250, one of them also at HZ 100."""
    lines = [(WITHOUT, 250, 0, 10, 10, 0, 0), (WITHOUT, 250, 4_000_000, 10, 30, 20, 1000)]
    lines += [(WITHOUT, 250, 8_000_000, 50, 50, 0, 7), (WITHOUT, 250, 9_000_000, 50, 51, 1, 200)]
    lines += [(WITHOUT, 250, 9_500_000, 50, 52, 2, 300)]
    lines += [(WITH, 250, 0, 10, 10, 0, 0), (WITH, 250, 4_000_000, 30, 30, 0, 1000)]
    lines += [(WITH, 250, 8_000_000, 50, 50, 0, 7), (WITH, 250, 9_000_000, 50, 51, 1, 200)]
    lines += [(WITH, 250, 9_500_000, 50, 51, 1, 300), (WITHOUT, 100, 0, 1, 8, 7, 9)]
    columns = ["variant", "hz", "time_ns", "util_avg", "util_now", "error", "in_window"]
    table = pd.DataFrame(lines, columns=columns)
    table["of_1024_pct"] = 100 * table["error"] / 1024
    table["of_value_pct"] = 100 * table["error"] / table["util_now"]
    return table


@pytest.fixture
def activation(updates):
    return updates[updates["hz"] == 250]


@pytest.fixture
def table():
    lines = [("4.12", 100, 2.05, 22.1), ("4.12", 250, 2.15, 22.2), ("4.13+", 100, 1.86, 20.0)]
    lines += [("4.13+", 250, 1.95, 20.8)]
    return pd.DataFrame(lines, columns=["variant", "hz", "max_of_1024_pct", "max_of_value_pct"])


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def points(line):
    return [list(map(float, data)) for data in line.get_data()]


def test_signal_holds_what_is_reported_and_dots_what_would_be(activation):
    ax = pelt_error.signal(activation)
    without, patched, would_be = ax.get_lines()
    assert points(without) == [[0, 4, 8, 9, 9.5], [10, 10, 50, 50, 50]]
    assert points(patched) == [[0, 4, 8, 9, 9.5], [10, 30, 50, 50, 50]]
    assert without.get_drawstyle() == patched.get_drawstyle() == "steps-post"
    assert points(would_be) == [[0, 4, 8, 9, 9.5], [10, 30, 50, 51, 52]]
    assert legend(ax) == [f"util_avg, {WITHOUT}", f"util_avg, {WITH}", "had we updated"]


@pytest.mark.parametrize("scale", ["of_1024_pct", "of_value_pct"])
def test_error_shows_every_update(activation, scale):
    ax = pelt_error.error(activation, scale=scale)
    for line, variant in zip(ax.get_lines(), (WITHOUT, WITH), strict=True):
        lines = activation[activation["variant"] == variant]
        assert points(line) == [(lines["time_ns"] / 1e6).tolist(), lines[scale].tolist()]
    assert legend(ax) == [WITHOUT, WITH]
    assert (
        ax.get_ylabel() == {"of_1024_pct": "error, % of 1024", "of_value_pct": "error, % of the value"}[scale]
    )


def test_histogram_counts_the_updates_that_are_off(updates):
    ax = pelt_error.histogram(updates, hz=250)
    without, patched = (patch.get_data() for patch in ax.patches)
    shares = np.zeros(20)
    shares[[0, 1, 19]] = 20  # one of five updates each is off by 1, 2 and 20 units
    assert without.values.tolist() == shares.tolist()
    assert patched.values.tolist() == [40] + [0] * 19
    assert without.edges.tolist() == ((np.arange(21) + 0.5) * 100 / 1024).tolist()
    assert ax.get_yscale() == "log"
    assert legend(ax) == [f"{WITHOUT}: 60.0 % of updates off", f"{WITH}: 40.0 % of updates off"]


def test_histogram_of_the_value_has_bins_of_one_percent(updates):
    ax = pelt_error.histogram(updates, hz=250, scale="of_value_pct")
    without, patched = (patch.get_data() for patch in ax.patches)
    assert without.edges.tolist() == (np.arange(68) + 0.5).tolist()
    assert np.flatnonzero(without.values).tolist() == [1, 3, 66]  # 1/51, 2/52 and 20/30 in percent
    assert np.flatnonzero(patched.values).tolist() == [1]


def test_histogram_of_no_error_at_all_is_drawn(updates):
    clean = updates.assign(error=0, of_1024_pct=0.0, of_value_pct=0.0)
    ax = pelt_error.histogram(clean, hz=250)
    assert legend(ax) == [f"{WITHOUT}: 0.0 % of updates off", f"{WITH}: 0.0 % of updates off"]


@pytest.mark.parametrize("scale", ["of_1024_pct", "of_value_pct"])
def test_largest_draws_one_bar_per_variant_and_rate(table, scale):
    ax = pelt_error.largest(table, scale=scale, mark_pct=2)
    heights = [[bar.get_height() for bar in container] for container in ax.containers]
    assert heights == [table.loc[table["variant"] == v, f"max_{scale}"].tolist() for v in ("4.12", "4.13+")]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["HZ=100", "HZ=250"]
    (mark,) = ax.get_lines()
    assert set(mark.get_ydata()) == {2}
    assert sorted(legend(ax)) == ["4.12", "4.13+", "published: 2 %"]
    written = [text.get_text() for text in ax.texts]
    assert [float(text) for text in written] == [h for group in heights for h in group]


def test_largest_draws_no_mark_unasked(table):
    assert not pelt_error.largest(table).get_lines()


def test_over_window_puts_each_error_at_its_place(updates):
    ax = pelt_error.over_window(updates, hz=250)
    without, patched = ax.get_lines()
    assert points(without) == [[1000, 200, 300], [100 * e / 1024 for e in (20, 1, 2)]]
    assert points(patched) == [[200, 300], [100 / 1024] * 2]
    assert "HZ=250" in ax.get_title(loc="left")


def test_spacing_draws_one_line_per_variant():
    lines = [("a", 1, 2.0), ("a", 2, 1.5), ("b", 1, 1.0), ("b", 2, 0.0)]
    ax = pelt_error.spacing(pd.DataFrame(lines, columns=["variant", "spacing", "max_of_1024_pct"]))
    assert [points(line) for line in ax.get_lines()] == [[[1, 2], [2, 1.5]], [[1, 2], [1, 0]]]
    assert legend(ax) == ["a", "b"]


@pytest.fixture
def teeth():
    lines = [
        (v, s, t * 1024 * 1024, t * 0.5, t * 0.25)
        for v in ("a", "b")
        for s in ("running", "asleep")
        for t in (0, 1, 2)
    ]
    columns = ["variant", "state", "time_ns", "of_1024_pct", "of_value_pct"]
    return pd.DataFrame(lines, columns=columns)


@pytest.mark.parametrize(("state", "error"), [("running", [0, 0.5, 1]), ("asleep", [0, 0.25, 0.5])])
def test_sawtooth_draws_the_scale_that_is_bounded(teeth, state, error):
    ax = pelt_error.sawtooth(teeth, state=state, bound_pct=2.5)
    *lines, bound = ax.get_lines()
    assert [points(line) for line in lines] == [[[0, 1, 2], error]] * 2
    assert set(bound.get_ydata()) == {2.5}
    assert legend(ax) == ["a", "b", "bound: 2.50 %"]
    assert ax.get_ylim()[1] > 2.5


def test_sawteeth_gives_each_state_its_bound(teeth):
    running, asleep = pelt_error.sawteeth(teeth, pd.Series([2.0, 3.0]))
    assert legend(running)[-1] == "bound: 2.00 %"
    assert legend(asleep)[-1] == "bound: 3.00 %"
    assert points(running.get_lines()[0])[1] == [0, 0.5, 1]
    assert points(asleep.get_lines()[0])[1] == [0, 0.25, 0.5]


def test_an_unknown_state_is_refused(teeth):
    with pytest.raises(ValueError, match=r"^state = 'idle'"):
        pelt_error.sawtooth(teeth, state="idle")


def test_extra_shows_the_spread_of_the_runs_and_what_was_caught():
    lines = [(0, "a", 0.0, 1, 3, 6), (0, "b", 5.5, 1, 2, 4), (150_000, "a", 0.0, 2, 5, 9)]
    lines += [(150_000, "b", 1.25, 2, 4, 9)]
    columns = ["extra_ns", "variant", "caught_pct", "least_pct", "median_pct", "max_pct"]
    ax = pelt_error.extra(pd.DataFrame(lines, columns=columns))
    for container, median, ends in zip(
        ax.containers, ([3, 5], [2, 4]), ([[1, 6], [2, 9]], [[1, 4], [2, 9]]), strict=True
    ):
        line, _, (bars,) = container
        assert line.get_ydata().tolist() == median
        assert [segment[:, 1].tolist() for segment in bars.get_segments()] == ends
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["none", "every 0.15 ms"]
    assert [text.get_text() for text in ax.texts] == ["5.5 %\ncaught", "1.2 %\ncaught"]
    assert sorted(legend(ax)) == ["a", "b"]


def test_signal_and_error_share_their_time(activation):
    above, below = pelt_error.signal_and_error(activation)
    assert above.figure is below.figure
    assert points(above.get_lines()[0])[1] == [10, 10, 50, 50, 50]
    assert points(below.get_lines()[0])[1] == activation["of_1024_pct"].tolist()[:5]
    assert above.get_shared_x_axes().joined(above, below)


@pytest.mark.parametrize("rates", [(250,), (250, 100, 300)])
def test_histograms_draws_every_rate_that_was_measured(activation, rates):
    several = pd.concat([activation.assign(hz=hz) for hz in rates])
    axes = pelt_error.histograms(several)
    assert [ax.get_title(loc="left") for ax in axes] == [f"Errors at HZ={hz}" for hz in rates]
    assert len(axes[0].figure.axes) == len(rates)


CALLS = [
    ("signal", "activation", {}),
    ("error", "activation", {}),
    ("histogram", "updates", {"hz": 250}),
    ("over_window", "updates", {"hz": 250}),
    ("largest", "table", {}),
]


@pytest.mark.parametrize(("name", "given", "more"), CALLS)
def test_every_picture_goes_where_it_is_told(request, name, given, more):
    _, ax = plt.subplots()
    data = request.getfixturevalue(given)
    before = data.copy()
    assert getattr(pelt_error, name)(data, ax=ax, **more) is ax
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.parametrize(("name", "given", "more"), CALLS[:4])
def test_a_variant_that_was_not_measured_is_refused(request, name, given, more):
    with pytest.raises(ValueError, match=r"^variants: nothing of '4.4'"):
        getattr(pelt_error, name)(request.getfixturevalue(given), variants=(WITHOUT, "4.4"), **more)


@pytest.mark.parametrize("name", ["histogram", "over_window"])
def test_a_rate_that_was_not_measured_is_refused(updates, name):
    with pytest.raises(ValueError, match=r"hz 300"):
        getattr(pelt_error, name)(updates, hz=300)


@pytest.mark.parametrize(("name", "given", "more"), CALLS[1:])
def test_an_unknown_scale_is_refused(request, name, given, more):
    with pytest.raises(ValueError, match=r"^scale = 'ppm'"):
        getattr(pelt_error, name)(request.getfixturevalue(given), scale="ppm", **more)
