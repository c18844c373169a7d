# SPDX-License-Identifier: GPL-2.0-only
"""The errors of PELT's averages: the table of the mail's experiment, its worst case, the mail's figures."""

import numpy as np
import pandas as pd
import pytest
from golden import load, select

from schedpy.lab import pelt_error
from schedpy.lab.pelt_updates import BASE_NS, WINDOW_NS

# Per variant and HZ: largest error of the value, median over runs of each run's largest, median of each run's
# 99th percentile; the same three of 1024; share of updates off; all in percent.
TABLE = """
4.12            100   22.11  3.90  3.26  2.05 0.39 0.39  7.37
4.12            250   22.11  3.90  3.26  2.05 0.39 0.39  4.61
4.12            300   22.11  3.90  3.26  2.05 0.39 0.39  4.11
4.12            1000  22.11 20.43 11.86  2.15 2.05 2.05  8.21
4.13+           100   20.00  3.20  2.04  1.86 0.29 0.20  9.19
4.13+           250   20.00  2.56  1.95  1.86 0.24 0.20  5.10
4.13+           300   20.00  3.85  2.72  1.86 0.29 0.25  6.84
4.13+           1000  20.83 18.63  9.81  1.95 1.86 1.66  8.07
4.13+ with 512  100   11.63  1.33  1.33  0.98 0.10 0.10  7.71
4.13+ with 512  250   11.63  1.33  0.55  0.98 0.10 0.04  4.17
4.13+ with 512  300   12.79  1.33  1.33  1.07 0.10 0.10  6.01
4.13+ with 512  1000  11.63  1.30  1.30  0.98 0.39 0.39  3.18
4.13+ with 128  100    3.85  1.33  1.33  0.29 0.10 0.10  3.48
4.13+ with 128  250    2.56  1.33  0.00  0.20 0.10 0.00  1.53
4.13+ with 128  300    3.85  1.33  1.33  0.29 0.10 0.10  3.66
4.13+ with 128  1000   2.56  0.00  0.00  0.20 0.00 0.00  0.82
4.12 with 128   100    3.90  0.00  0.00  0.29 0.00 0.00  1.66
4.12 with 128   250    3.90  0.00  0.00  0.29 0.00 0.00  1.04
4.12 with 128   300    3.90  0.00  0.00  0.29 0.00 0.00  0.94
4.12 with 128   1000   3.90  0.00  0.00  0.29 0.00 0.00  0.95
"""
STATISTICS = [
    *("max_of_value_pct", "median_max_of_value_pct", "p99_of_value_pct"),
    *("max_of_1024_pct", "median_max_of_1024_pct", "p99_of_1024_pct"),
    "off_pct",
]
SUPREMUM = {
    "4.12": [(22.92, 2.15)] * 4,
    "4.13+": [(20.83, 1.95)] * 4,
    "4.13+ with 512": [(12.79, 1.07)] * 3 + [(11.63, 0.98)],
    "4.13+ with 128": [(3.85, 0.29)] * 3 + [(2.56, 0.20)],
    "4.12 with 128": [(3.90, 0.29)] * 4,
}
HZ = (100, 250, 300, 1000)
STATIC = {"starts_ns": 0, "tick_offsets_ns": 0}


@pytest.fixture(scope="module")
def updates():
    return pelt_error.measure()


@pytest.fixture(scope="module")
def table(updates):
    return pelt_error.summary(updates)


@pytest.fixture(scope="module")
def worst():
    return pelt_error.supremum()


@pytest.fixture(scope="module")
def verdicts(updates, worst):
    return pelt_error.verdicts(updates, worst)


def test_the_table_of_the_mails_experiment(table):
    wanted = [line.split() for line in TABLE.strip().splitlines()]
    names = [" ".join(line[:-8]) for line in wanted]
    assert table["variant"].tolist() == names
    assert table["hz"].tolist() == [int(line[-8]) for line in wanted]
    figures = np.array([line[-7:] for line in wanted], dtype=float)
    assert np.abs(table[STATISTICS].to_numpy() - figures).max() < 0.00501


def test_the_table_counts_its_runs_and_updates(table):
    per_hz = table[table["variant"] == "4.13+"].set_index("hz")
    assert per_hz["runs"].to_dict() == {100: 96, 250: 96, 300: 96, 1000: 64}
    assert per_hz["updates"].to_dict() == {100: 9597, 250: 15357, 300: 17277, 1000: 29438}
    assert table.groupby("hz")["updates"].nunique().eq(1).all()


def test_run_is_the_summary_of_a_measurement(table):
    swept = pelt_error.run()
    pd.testing.assert_frame_equal(swept[table.columns], table)
    settings = swept.drop(columns=table.columns).drop_duplicates()
    assert settings.to_dict("records") == [
        {"definition": "stale", "run_ns": 20_000_000, "period_ns": 100_000_000, "extra_ns": 0}
    ]


@pytest.mark.parametrize(
    ("name", "form"),
    [("4.12", "P412"), ("4.13+", "P415"), ("4.13+ with 512", "P415J512"), ("4.13+ with 128", "P415J128")],
)
@pytest.mark.parametrize("stream", range(8))
def test_every_update_is_that_of_the_known_answers(stream, name, form):
    ours = pelt_error.measure(
        hz=HZ[stream // 2],
        variants=(name,),
        starts_ns=(0, 777_777)[stream % 2],
        tick_offsets_ns=0,
        activations=20,
        warm_up_ns=0,
    )
    events = select(load("pelt/events_in"), stream=stream)
    answers = select(load(f"pelt/events_{form}"), stream=stream)
    counted = events["now_ns"] > BASE_NS
    period_contrib = answers["period_contrib"][counted]
    divider = np.uint64(47742) if form == "P412" else np.uint64(47742 - 1024) + period_contrib
    would_be = answers["util_sum"][counted] // divider
    reported = answers["util_avg"][counted]
    assert ours["time_ns"].tolist() == (events["now_ns"][counted] - np.uint64(BASE_NS)).tolist()
    assert ours["label"].tolist() == events["label"][counted].tolist()
    assert ours["in_window"].tolist() == period_contrib.tolist()
    assert ours["updated"].tolist() == answers["ret"][counted].tolist()
    assert ours["util_avg"].tolist() == reported.tolist()
    assert ours["util_now"].tolist() == would_be.tolist()
    error = np.abs(reported.astype(int) - would_be.astype(int))
    assert ours["error"].tolist() == error.tolist()
    assert ours["of_1024_pct"].tolist() == (100 * error / 1024).tolist()
    some = would_be > 0
    assert ours["of_value_pct"].to_numpy()[some].tolist() == (100 * error[some] / would_be[some]).tolist()


def test_runs_of_different_lengths_are_measured_as_if_alone():
    starts = (0, 777_777)  # at 100 Hz the second start has a tick less: one falls between enqueue and pick
    together = pelt_error.measure(hz=100, variants=("4.13+",), starts_ns=starts, tick_offsets_ns=0)
    assert together.groupby("run").size().tolist() == [99, 80]
    for run, start in enumerate(starts):
        alone = pelt_error.measure(hz=100, variants=("4.13+",), starts_ns=start, tick_offsets_ns=0)
        part = together[together["run"] == run].reset_index(drop=True)
        pd.testing.assert_frame_equal(part.drop(columns="run"), alone.drop(columns="run"))


def test_only_updates_after_the_warm_up_count():
    whole = pelt_error.measure(hz=250, variants=("4.13+",), warm_up_ns=0, **STATIC)
    late = pelt_error.measure(hz=250, variants=("4.13+",), warm_up_ns=1_000_000_000, **STATIC)
    assert late["time_ns"].min() == 1_000_003_000  # the enqueue at exactly one second is still warming up
    expected = whole[whole["time_ns"] > 1_000_000_000].reset_index(drop=True)
    pd.testing.assert_frame_equal(late, expected)


def test_an_error_of_a_signal_that_would_be_0_is_infinite_unless_it_is_none():
    first = pelt_error.measure(hz=250, variants=("4.13+",), warm_up_ns=0, activations=1, **STATIC)
    nothing = first[first["util_now"] == 0]
    assert len(nothing) > 0
    assert nothing["of_value_pct"].eq(0).all()


def test_any_kernel_may_be_measured():
    ours = pelt_error.measure(hz=250, variants={"late": ("6.1", 0), "mail": ("4.15", 0)}, **STATIC)
    late, mail = (
        ours[ours["variant"] == name].drop(columns="variant").reset_index(drop=True)
        for name in ("late", "mail")
    )
    pd.testing.assert_frame_equal(late, mail)


def test_no_activation_gives_an_empty_table():
    nothing = pelt_error.measure(activations=0, hz=250, variants=("4.13+",), **STATIC)
    assert len(nothing) == 0
    assert "of_1024_pct" in nothing
    assert len(pelt_error.summary(nothing)) == 0


@pytest.mark.parametrize("variant", SUPREMUM)
def test_the_worst_case_over_all_phases(worst, variant):
    lines = worst[worst["variant"] == variant]
    assert lines["hz"].tolist() == list(HZ)
    found = lines[["max_of_value_pct", "max_of_1024_pct"]].round(2)
    assert list(found.itertuples(index=False, name=None)) == SUPREMUM[variant]
    assert lines["runs"].tolist() == [64 * 611, 64 * 245, 64 * 204, 64 * 62]


def test_no_sample_exceeds_the_worst_case(worst, table):
    both = table.merge(worst, on=["variant", "hz"], suffixes=("", "_worst"))
    assert len(both) == 20
    for scale in ("of_value_pct", "of_1024_pct"):
        assert (both[f"max_{scale}"] <= both[f"max_{scale}_worst"]).all()


@pytest.mark.parametrize("line", range(0, 20, 3))
def test_the_worst_case_can_be_run_again(worst, line):
    found = worst.iloc[line]
    again = pelt_error.run(
        hz=found["hz"],
        variants=(found["variant"],),
        starts_ns=found["start_ns"],
        tick_offsets_ns=found["tick_offset_ns"],
    )
    assert again["max_of_value_pct"].tolist() == [found["max_of_value_pct"]]


def test_one_reading_alone_gives_the_mails_two_percent(table):
    readings = pelt_error.definitions(table)
    assert len(readings) == 6
    assert readings.index[readings["gives_it"]].tolist() == ["max_of_1024_pct"]
    assert readings["at"].to_dict() == {
        "max_of_1024_pct": "100, 250, 300, 1000",
        "max_of_value_pct": "",
        "median_max_of_value_pct": "",
        "median_max_of_1024_pct": "1000",
        "p99_of_value_pct": "100, 250",
        "p99_of_1024_pct": "1000",
    }


def test_another_figure_has_another_reading(table):
    readings = pelt_error.definitions(table, figure_pct=20)
    assert readings["at"]["max_of_value_pct"] == "100, 250, 300"
    assert not readings["gives_it"].any()


def test_no_error_exceeds_one_stale_window(updates, worst):
    bound = pelt_error.bounds()["running, of 1024"]
    rounded_down = 100 / 1024  # both averages are floors
    assert updates["of_1024_pct"].max() < worst["max_of_1024_pct"].max() + 1e-9 < bound + rounded_down


def test_errors_grow_towards_the_border_of_the_window(updates):
    place = pelt_error.by_place(updates).loc["4.13+"]
    assert place.columns.tolist() == [127, 255, 383, 511, 639, 767, 895, 1023]
    assert (np.diff(place.to_numpy(), axis=1) > 0).all()
    halves = pelt_error.by_place(updates, parts=2).loc["4.13+"]
    assert halves[1023].tolist() == place.max(axis=1).tolist()


def test_the_worst_activation_is_seen_by_every_variant(updates):
    activation = pelt_error.worst_activation(updates, hz=1000)
    assert activation["variant"].unique().tolist() == list(pelt_error.VARIANTS)
    assert activation.groupby("variant", observed=True)["label"].agg(list).map(tuple).nunique() == 1
    own = activation[activation["variant"] == "4.13+"]
    assert own["of_1024_pct"].max() == updates.query("variant == '4.13+' and hz == 1000")["of_1024_pct"].max()
    assert own["time_ns"].tolist()[0] == 0
    assert own["time_ns"].tolist()[-1] == 20_000_000


@pytest.fixture(scope="module")
def spacing():
    return pelt_error.by_spacing()


@pytest.mark.parametrize(("variant", "most"), [("4.13+", 1), ("4.13+ with 512", 2), ("4.13+ with 128", 8)])
def test_refreshes_per_window(spacing, variant, most):
    assert spacing.loc[spacing["variant"] == variant, "refreshes"].max() == most


@pytest.mark.parametrize(("variant", "threshold"), [("4.13+ with 512", 512), ("4.13+ with 128", 128)])
def test_updates_closer_than_the_threshold_gain_nothing(spacing, variant, threshold):
    without, patched = (
        spacing[spacing["variant"] == name].set_index("spacing")["max_of_1024_pct"]
        for name in ("4.13+", variant)
    )
    assert patched[: threshold - 1].tolist() == without[: threshold - 1].tolist()
    assert patched[threshold:].eq(0).all()
    assert without[threshold:1023].gt(0).all()


def test_the_mails_figures_stand_in_its_words():
    claims = pelt_error.published()
    numbers = claims[claims["values"].map(len) > 0]
    for key, claim in numbers.drop(index=["window", "updates_per_window"]).iterrows():
        assert all(str(value) in claim["quote"] for value in claim["values"]), key
    assert claims.loc["shell8_with", "published"] == "9103.2, 9082 score"
    assert claims.loc["reduced", "published"] == '"the error in the signal is significantly reduced"'
    assert claims["mail"].nunique() == 1


def test_one_verdict_per_published_figure(verdicts):
    assert verdicts.columns.tolist() == ["mail", "what", "published", "ours", "verdict", "why"]
    assert len(verdicts) == len(pelt_error.published()) + 1  # the 2 % has two readings
    assert verdicts.map(lambda cell: isinstance(cell, str) and cell != "").all(axis=None)
    assert verdicts["published"].drop_duplicates().tolist() == pelt_error.published()["published"].tolist()


VERDICTS = {
    "largest error without the patch, of full scale": ("1.86-1.95 %", "agrees"),
    "largest error without the patch, of the value (as worded)": ("20.0-20.8 %", "differs"),
    "length of a PELT window": ("1.048576 ms", "agrees"),
    "threshold of the patch": ("524.288 us", "differs"),
    "most updates of the averages in one window, 512": ("2 updates", "agrees"),
    "where in the window the errors are high": (
        "last eighth 1.86-1.95 %, first 0.10-0.20 % of 1024",
        "agrees",
    ),
    "the error with the patch": ("20.0-20.8 % -> 11.6-12.8 % of the value", "consistent"),
    "unixbench, loss with 128": ("89 % of updates refresh", "cannot be told"),
    "unixbench, no such loss with 512": ("-0.6 % (-1.3 .. 0.2 %)", "consistent"),
    "unixbench shell8 without the patch, 2 runs": ("mean 9146.25", "cannot be told"),
    "unixbench shell8 with the patch, 2 runs": ("mean 9092.60: -0.6 %", "cannot be told"),
    "hackbench total time, with and without the patch": ("-0.05 % with the patch", "cannot be told"),
}


def test_what_becomes_of_each_figure(verdicts):
    assert {line.what: (line.ours, line.verdict) for line in verdicts.itertuples()} == VERDICTS


def test_the_reasons_carry_computed_figures(verdicts):
    why = verdicts.set_index("what")["why"]
    assert "alone of 6 readings" in why["largest error without the patch, of full scale"]
    assert (
        "over a fine grid of phases 20.8 %"
        in why["largest error without the patch, of the value (as worded)"]
    )
    assert "by 36-44 %" in why["the error with the patch"]


def test_the_conclusion_says_every_line(verdicts):
    text = pelt_error.conclusion(verdicts)
    assert text._repr_markdown_() == text
    assert text.split("**")[1::2] == ["Agrees", "Differs", "Consistent", "Cannot be told"]
    for line in verdicts.itertuples():
        said = f"* {line.what}: the mail says {line.published}, here {line.ours}. Why: {line.why}.\n"
        assert said in text + "\n"


def test_other_errors_get_other_verdicts(updates):
    wrong = updates.copy()
    wrong["of_1024_pct"] *= 3
    wrong["of_value_pct"] /= 10
    wrong.loc[wrong["variant"] == "4.13+ with 512", "of_value_pct"] *= 10
    wrong["in_window"] = 1023 - wrong["in_window"]
    verdict = pelt_error.verdicts(wrong).set_index("what")["verdict"]
    assert verdict["largest error without the patch, of full scale"] == "differs"
    assert verdict["largest error without the patch, of the value (as worded)"] == "agrees"
    assert verdict["where in the window the errors are high"] == "differs"
    assert verdict["the error with the patch"] == "not consistent"


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("variants", ("4.11",)),
        ("hz", 0),
        ("hz", 2.5),
        ("hz", ()),
        ("starts_ns", -1),
        ("starts_ns", [[1]]),
        ("tick_offsets_ns", -1),
        ("tick_offsets_ns", ()),
        ("warm_up_ns", -1),
        ("activations", 2.5),
        ("run_ns", 0),
    ],
)
def test_measure_refuses_and_names_the_argument(name, bad):
    with pytest.raises((ValueError, TypeError), match=rf"^{name}\b"):
        pelt_error.measure(**{name: bad})


@pytest.mark.parametrize(("name", "bad"), [("step_ns", 0), ("step_ns", WINDOW_NS + 1), ("variants", ("x",))])
def test_supremum_refuses_and_names_the_argument(name, bad):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        pelt_error.supremum(**{name: bad})


def test_what_is_not_there_is_refused(updates, table):
    with pytest.raises(ValueError, match="hz 7"):
        pelt_error.worst_activation(updates, hz=7)
    with pytest.raises(ValueError, match=r"^variant"):
        pelt_error.definitions(table, variant="4.11")
    with pytest.raises(ValueError, match=r"^parts"):
        pelt_error.by_place(updates, parts=0)
