# SPDX-License-Identifier: GPL-2.0-only
"""The mail of 2016 on the idle clock: its figures are its own, ours are computed, and the verdicts follow."""

import ast
import re
from pathlib import Path

import golden
import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

from schedpy import clock, stopwatch  # noqa: E402
from schedpy.lab import idle_clock  # noqa: E402
from schedpy.plot import idle_clock as plot  # noqa: E402

NOTEBOOK = Path(__file__).parent.parent / "notebooks/03_idle_clock.py"
LOST = "whether the deviation shows in the selection of states"
PARTS = ("timers and periodic interrupts", "idles of random length")
VERDICTS = {"agrees", "differs", "consistent", "not consistent", "cannot be told"}


@pytest.fixture(scope="module")
def cost():
    return stopwatch.read_cost(rounds=3, calls=200, progress=False)


@pytest.fixture(scope="module")
def deviation():
    return idle_clock.deviation()


@pytest.fixture(scope="module")
def found():
    return idle_clock.flips(n=500, seeds=1, progress=False)


@pytest.fixture(scope="module")
def lines(cost, deviation, found):
    return idle_clock.verdicts(cost, deviation, found).set_index("what")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


# ---- the mail's figures


def test_every_figure_stands_in_its_quote():
    """No figure is ours: each number is in the mail's words beside it."""
    figures = idle_clock.published()
    for _, row in figures.iterrows():
        if np.isfinite(row["value"]):
            assert f"{row['value']:.10g}" in re.findall(r"\d+(?:\.\d+)?", row["quote"])
        else:
            assert row["published"] == f'"{row["quote"]}"'
    assert figures["mail"].nunique() == 1


def test_the_quotes_are_the_mails():
    """Word for word, where the mail lies beside the project."""
    mail = Path(__file__).parents[2] / "shared/sources/cpuidle-clock-2016.txt"
    if not mail.is_file():
        pytest.skip(f"{mail.name}: the mail is not part of the project")
    lines = (line.lstrip("> ") for line in mail.read_text(encoding="utf-8").splitlines())
    text = " ".join(" ".join(lines).split())
    for quote in idle_clock.published()["quote"]:
        assert " ".join(quote.split()) in text


# ---- what the kernel did next


def test_the_kernel_took_the_shift_back():
    history = idle_clock.history(10**9)
    assert history["residency"].tolist() == ["div1000", "shr10", "div1000", "ns"]
    assert history["told_us"].tolist() == [10**6, clock.ns_to_us_shift(10**9), 10**6, 10**6]
    assert history["clock"].tolist() == ["ktime_get()"] + 3 * ["local_clock()"]


# ---- conversions


def test_conversions_are_the_known_answers():
    known = golden.load("clock/mail_table")
    table = idle_clock.conversions(known["nsec"])
    assert table["nsec"].tolist() == known["nsec"].tolist()
    assert table["div1000_us"].tolist() == known["int_div1000_us"].tolist()
    assert table["shr10"].tolist() == known["int_shr10"].tolist()
    for ours, theirs in (
        ("real_div1000", "real_div1000"),
        ("real_div1024", "real_div1024"),
    ):
        assert [f"{value:.7f}" for value in table[ours]] == list(known[theirs])
    deviates = ["" if np.isnan(value) else f"{value:.4f}" for value in table["deviation_pct"]]
    assert deviates == list(known["integer_rel_deviation_pct"])


def test_conversion_table_names_the_mixed_units():
    table = idle_clock.conversion_table().set_index("nsec")
    assert table["shr10"].tolist() == clock.ns_to_us_shift([10**3, 10**6, 10**9]).tolist()
    assert table.loc[10**3, "remark"].startswith("the shift gives 0; 0.9766 us is the quotient")
    assert table.loc[10**3, "remark"].endswith("printed in nsec where the column counts usec")
    assert table["remark"].tolist()[1:] == ["", ""]


# ---- deviation


def test_deviation_covers_the_range(deviation):
    assert deviation["nsec"].iloc[[0, -1]].tolist() == [1, 10**10]
    assert (np.diff(deviation["nsec"]) > 0).all()
    assert np.isnan(deviation["deviation_pct"][deviation["nsec"] < 1000]).all()
    assert (deviation["asymptote_pct"] == -2.34375).all()


@pytest.mark.parametrize("low", [1_000, 10_000, 100_000])
def test_the_grid_finds_the_extremes_of_every_time(deviation, low):
    """Against all times of the decade, one by one."""
    ns = np.arange(low, 10 * low)
    every = 100 * (clock.ns_to_us_shift(ns) / clock.ns_to_us(ns) - 1)
    found = idle_clock.by_decade(deviation).set_index("from_ns").loc[low]
    assert found["worst_pct"] == pytest.approx(every.min(), rel=1e-12)
    assert found["best_pct"] == pytest.approx(every.max(), abs=1e-12)


def test_long_times_deviate_by_the_asymptote(deviation):
    last = idle_clock.by_decade(deviation).iloc[-2]
    assert last["from_ns"] == 10**9
    assert last[["worst_pct", "best_pct"]].tolist() == pytest.approx([-2.34375] * 2, abs=1e-3)


def test_empty_in_empty_out():
    assert idle_clock.conversions(np.array([], dtype=np.int64)).empty
    assert idle_clock.by_decade(idle_clock.deviation(np.array([], dtype=np.int64))).empty
    assert idle_clock.stddev_bound([], [], []).empty


# ---- the bound


def test_the_mails_stddevs_are_impossible():
    bound = idle_clock.stddev_bound()
    assert bound.index.tolist() == ["ktime_get", "local_clock"]
    assert bound["least_stddev"].round(1).tolist() == [38.2, 13.4]
    assert not bound["possible"].any()


@pytest.mark.parametrize("count", [2, 10, 1000])
def test_samples_obey_the_bound(count):
    samples = np.zeros(count)
    samples[0] = 12_345.0
    for ddof in (0, 1):
        bound = idle_clock.stddev_bound(samples.mean(), samples.max(), samples.std(ddof=ddof), count)
        assert bound["possible"].all()
    tight = samples.std() / bound["least_stddev"][0]
    assert 1 <= tight <= np.sqrt(count / (count - 1)) * (1 + 1e-12)


# ---- beside the mail


def test_host_stands_below_the_mail(cost):
    table = idle_clock.beside_mail(cost)
    assert table.index.tolist() == ["ktime_get()", "local_clock()", *(each.name for each in cost.clocks)]
    assert table.iloc[0][["average_ns", "stddev_ns", "maximum_ns", "minimum_ns"]].tolist() == [
        101,
        27.4,
        38313,
        65,
    ]
    value = cost["CLOCK_MONOTONIC"].statistics()
    assert table.loc["CLOCK_MONOTONIC", "stddev_ns"] == value["stddev_rounds_ns"]
    assert table.loc["CLOCK_MONOTONIC", "stddev_calls_ns"] == value["stddev_calls_ns"]
    assert table.loc["CLOCK_MONOTONIC", "maximum_ns"] == value["max_ns"]


# ---- verdicts


def test_one_line_per_figure(lines):
    figures = idle_clock.published()
    inputs = {"calls per round", "rounds"}
    parts = {"deviation of the shift from the division, linear", *(f"{LOST}, {part}" for part in PARTS)}
    inputs.add(LOST)
    conversions = {f"{ns} ns by {how}" for ns in (10**3, 10**6, 10**9) for how in ("div1000", "div1024")}
    assert set(lines.index) == set(figures["what"]) - inputs | parts | conversions
    assert lines.index.is_unique
    assert set(lines["verdict"]) <= VERDICTS
    assert (lines["why"] != "").all()
    assert lines.reset_index().columns.tolist() == ["what", "mail", "published", "ours", "verdict", "why"]


def test_what_can_be_recomputed(lines):
    verdict, ours = lines["verdict"], lines["ours"]
    assert ours["calls in total"] == "1000000 calls"
    assert ours["saved at idle time, entry and exit"] == "82 ns"
    assert ours["saved when several CPUs race for the clock"] == "24.8 us"
    assert ours["deviation of the shift from the division"] == "2.34375 %"
    for what in ("calls in total", "saved at idle time, entry and exit", "1000000 ns by div1024"):
        assert verdict[what] == "agrees"
    assert verdict["deviation of the shift from the division"] == "agrees"
    assert verdict["deviation of the shift from the division, linear"] == "differs"
    assert (ours["1000 ns by div1024"], verdict["1000 ns by div1024"]) == ("0 us", "differs")
    for function, least in (("ktime_get()", "38.2"), ("local_clock()", "13.4")):
        assert verdict[f"{function}: stddev"] == "not consistent"
        assert ours[f"{function}: stddev"] == f"at least {least} ns over 1000000 calls"


def test_whether_the_deviation_is_lost(lines, found):
    periodic, random = (lines.loc[f"{LOST}, {part}"] for part in PARTS)
    over = idle_clock.over_tables(found)
    worst = over.loc[over["worst_pct"].idxmax()]
    assert periodic["ours"] == f"up to {worst['worst_pct']:.1f} % of idles change state"
    assert periodic["why"].startswith(f"{worst['worst_table']}, {worst['idles']}: ")
    assert periodic["verdict"] == "not consistent"
    assert random["verdict"] == "consistent"
    assert lines.loc["whether the loss of precision is acceptable", ["ours", "verdict"]].tolist() == [
        "1000 ms of a second polled, 0.8 by the division",
        "not consistent",
    ]


def test_verdicts_follow_the_flips(found):
    """Other flips, other verdicts; a part that was not looked at has no line."""
    fewer = idle_clock.verdicts(found=found.assign(flips_pct=found["flips_pct"] / 50)).set_index("what")
    assert fewer.loc[f"{LOST}, {PARTS[0]}", "verdict"] == "consistent"
    more = idle_clock.verdicts(found=found.assign(flips_pct=found["flips_pct"] + 3)).set_index("what")
    assert more.loc[f"{LOST}, {PARTS[1]}", "verdict"] == "not consistent"
    timers = idle_clock.verdicts(found=found[found["kind"] == "timer"])["what"].tolist()
    assert f"{LOST}, {PARTS[0]}" in timers
    assert f"{LOST}, {PARTS[1]}" not in timers


def test_times_of_another_cpu_cannot_be_told(lines, cost):
    times = [
        f"{name}(): {what}" for name in idle_clock.FUNCTIONS for what in ("average", "maximum", "minimum")
    ]
    assert (lines.loc[times, "verdict"] == "cannot be told").all()
    here = cost["CLOCK_MONOTONIC"].statistics()
    for what, column in (("average", "average_ns"), ("maximum", "max_ns"), ("minimum", "min_ns")):
        assert lines.loc[f"ktime_get(): {what}", "ours"] == f"{here[column]:.1f} ns, CLOCK_MONOTONIC"


def test_without_a_measurement(found):
    lines = idle_clock.verdicts(found=found).set_index("what")
    assert lines.loc["ktime_get(): average", ["ours", "verdict"]].tolist() == [
        "not measured",
        "cannot be told",
    ]
    few = stopwatch.read_cost("CLOCK_TAI", rounds=2, calls=1, progress=False)
    lines = idle_clock.verdicts(few, found=found).set_index("what")
    assert lines.loc["ktime_get(): average", "ours"] == "not measured"


def test_verdicts_follow_the_figures(monkeypatch, found):
    """Another mail, other verdicts: none of them is a constant."""
    mail = idle_clock.published()
    mail["value"] *= 3
    mail.loc["local_clock_maximum", "value"] = 2 * mail.loc["ktime_get_maximum", "value"]
    mail.loc["ktime_get_stddev", "value"] = 1e6
    monkeypatch.setattr(idle_clock, "published", lambda: mail)
    verdict = idle_clock.verdicts(found=found).set_index("what")["verdict"]
    assert verdict["calls in total"] == "differs"
    assert verdict["which clock is better"] == "not consistent"
    assert verdict["saved when several CPUs race for the clock"] == "not consistent"
    assert verdict["deviation of the shift from the division"] == "differs"
    assert verdict["ktime_get(): stddev"] == "consistent"


# ---- refused


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: idle_clock.conversions(-1), ValueError, "ns"),
        (lambda: idle_clock.conversions(1.5), TypeError, "ns"),
        (lambda: idle_clock.deviation([1, 2**63]), ValueError, "ns"),
        (lambda: idle_clock.by_decade([1]), TypeError, "table must be a DataFrame"),
        (lambda: idle_clock.by_decade(pd.DataFrame({"nsec": [1]})), ValueError, "deviation_pct"),
        (lambda: idle_clock.stddev_bound(1), TypeError, "maximum, stddev: give"),
        (lambda: idle_clock.stddev_bound("a", 2, 3), TypeError, "average must be numbers"),
        (lambda: idle_clock.stddev_bound(1, [2, np.nan], 3), ValueError, "maximum: element 1 = nan"),
        (lambda: idle_clock.stddev_bound(1, 2, 3, 0), ValueError, "count"),
        (lambda: idle_clock.stddev_bound([1, 2], [1, 2, 3], 4), ValueError, "shapes that broadcast"),
        (lambda: idle_clock.beside_mail("cost"), TypeError, "cost must be what stopwatch.read_cost gave"),
        (lambda: idle_clock.verdicts("cost"), TypeError, "cost must be what stopwatch.read_cost gave"),
        (lambda: idle_clock.verdicts(table=3), TypeError, "table must be a DataFrame"),
        (lambda: idle_clock.verdicts(found=3), TypeError, "found must be a DataFrame"),
        (lambda: idle_clock.verdicts(found=pd.DataFrame({"kind": ["timer"]})), ValueError, "found lacks the"),
        (lambda: idle_clock.history(-1), ValueError, "ns"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- pictures


def test_picture_of_the_deviation(deviation):
    integers, asymptote = plot.deviation(deviation).get_lines()
    known = deviation.dropna(subset="deviation_pct")
    assert integers.get_xdata().tolist() == known["nsec"].tolist()
    assert integers.get_ydata().tolist() == known["deviation_pct"].tolist()
    assert set(asymptote.get_ydata()) == {-2.34375}


def test_picture_of_single_calls(cost):
    names = ["CLOCK_MONOTONIC", "syscall(getppid)"]
    drawn = plot.single_calls(cost, clocks=names).get_lines()
    for name, line in zip(names, drawn, strict=True):
        samples = np.repeat(cost[name].values_ns, cost[name].counts)
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert y == pytest.approx((samples >= x).mean(), rel=1e-12)
    with pytest.raises(ValueError, match="clocks: 0 of them"):
        plot.single_calls(cost, clocks=[])


def test_picture_beside_the_mail(cost):
    table = idle_clock.beside_mail(cost)
    ax = plot.beside_mail(table)
    names = [label.get_text().split(",")[0] for label in ax.get_yticklabels()]
    assert names == list(table.index)
    assert (np.diff(ax.get_yticks()) < 0).all(), "the mail comes first"
    averages = np.concatenate([container[0].get_xdata() for container in ax.containers])
    assert averages.tolist() == table["average_ns"].tolist()


def test_pictures_draw_where_they_are_told(cost, deviation):
    _, axes = pyplot.subplots(1, 3)
    assert plot.deviation(deviation, ax=axes[0]) is axes[0]
    assert plot.single_calls(cost, ax=axes[1]) is axes[1]
    assert plot.beside_mail(idle_clock.beside_mail(cost), ax=axes[2]) is axes[2]


# ---- the notebook


def test_the_notebook_types_no_figure_and_holds_no_logic():
    source = NOTEBOOK.read_text(encoding="utf-8")
    numbers = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    assert all(isinstance(value, (str, bool)) for value in numbers)
    kinds = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    assert all(isinstance(statement, kinds) for statement in ast.parse(source).body)
    prose = " ".join(line for line in source.splitlines() if line.startswith("# "))
    figures = "2.34 2.4 94. 99. 0.8 3.934 38.2 13.4 976 27.4 9.8 38313 13487"
    for figure in figures.split():
        assert figure not in prose
