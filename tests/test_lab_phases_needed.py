# SPDX-License-Identifier: GPL-2.0-only
"""What the mail's counts could tell, what its missing rows could, and the tests that need samples."""

import numpy as np
import pytest

from schedpy import stats
from schedpy.lab import phases, phases_needed, phases_tables, phases_verdicts

scipy_stats = pytest.importorskip("scipy.stats")


def test_the_counts_that_the_mails_differences_need():
    n = phases.needed().loc["LUT"]
    mail = phases.table().loc["LUT"]
    # By hand, from the normal distribution: (1.960 + 0.8416)^2 (s_a^2 + s_b^2 n_a / n_b) / diff^2.
    by_hand = (
        (1.959964 + 0.841621) ** 2
        * (mail["a_std"] ** 2 + mail["b_std"] ** 2 * mail["a_count"] / mail["b_count"])
        / mail["diff"] ** 2
    )
    assert n["a_needed"].to_numpy(float) == pytest.approx(by_hand.to_numpy(), abs=2.5)
    assert (
        n["b_needed"].tolist()
        == np.ceil(n["a_needed"] * mail["b_count"] / mail["a_count"]).astype(int).tolist()
    )
    enough = n["a_count"] >= n["a_needed"]
    assert enough.tolist() == [False, False, True, False, True, True, True]
    assert ((n["power"] >= 0.8) == enough).all()
    # The rows that the mail marks [1] are those with too few samples for their difference.
    assert (enough == ~phases.published()["footnote"]).all()


def test_holms_first_step_needs_more():
    n = phases.needed().loc["LUT"]
    assert (n["power_holm"] < n["power"]).all()
    assert (n["a_needed_holm"] > n["a_needed"]).all()
    first = stats.counts_needed(
        stats.Moments(10791, 2262, 3124), stats.Moments(10657, 2240, 3741), level=1 - 0.05 / 7
    )
    assert n.loc[(0, "Little"), ["a_needed_holm", "b_needed_holm"]].tolist() == [first.a, first.b]


def test_rows_without_a_difference_need_no_count():
    table = phases.table()
    table.loc[("LUT", 0, "Little"), "b_mean"] = table.loc[("LUT", 0, "Little"), "a_mean"]
    row = phases.needed(table).loc[("LUT", 0, "Little")]
    assert row.isna()[["a_needed", "b_needed_holm"]].all()
    assert row["power"] == pytest.approx(0.05)


def test_ratios_are_fiellers():
    row = phases.needed().loc[("LUT", 5, "Big")]
    r = stats.ratio(stats.Moments(984, 395, 3124), stats.Moments(900, 365, 3693))
    assert row[["ratio", "ratio_low", "ratio_high"]].tolist() == [r.value, r.interval.low, r.interval.high]


def test_the_rows_that_the_mail_left_out():
    out = phases.left_out()
    # 25 and 30 repetitions of 125 activations, less the printed counts.
    assert out["a_count"].tolist() == [1, 28, 21, 6, 0, 1]
    assert out["b_count"].tolist() == [9, 10, 10, 33, 0, 57]
    assert out["difference"].tolist() == [-134, -30, -45, -33, -58, -84]
    assert out["smallest"].notna().tolist() == [False, True, True, True, False, False]
    assert (out["a_needed"] > 10 * out["a_count"]).all()
    assert (out["power"].dropna() < 0.06).all()
    # By hand for phase 1, where Welch's degrees of freedom are 16.5.
    critical = scipy_stats.t.ppf([0.975, 0.8], 16.5).sum()
    by_hand = critical * np.sqrt(529**2 / 28 + 513**2 / 10)
    assert out.loc[1, "smallest"] == pytest.approx(by_hand, rel=0.005)


def test_the_verdicts_on_the_counts():
    lines = phases.verdicts().set_index("what")
    marked = lines.loc["[1]: the phases that are in doubt"]
    assert marked["verdict"] == "consistent"
    assert marked["why"].startswith("counted without LUT: phase 0: 3124 of 4069; phase 1: 3097 of 4342; ")
    removed = lines.loc["rows removed: not enough count to be significant"]
    assert removed["verdict"] == "consistent"
    assert removed["ours"].startswith("at most 57 placements of an arm in a phase")
    assert "in 5.5 % of trials at most, by chance alone in 5%" in removed["why"]


def test_other_counts_give_other_verdicts(monkeypatch):
    mail = phases.published()
    mail["table_walk_count"] = mail["table_walk_count"].where(mail.index != (3, "Mid"), 9_000)
    mail["table_lut_count"] = mail["table_lut_count"].where(mail.index != (3, "Mid"), 9_000)
    for module in (phases_tables, phases_needed, phases_verdicts):
        monkeypatch.setattr(module, "published", lambda: mail)
    lines = phases.verdicts().set_index("what")
    assert lines.loc["[1]: the phases that are in doubt", "verdict"] == "not consistent"
    assert lines.loc["rows removed: not enough count to be significant", "verdict"] == "not consistent"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: phases.needed(3), TypeError, r"rows must be a DataFrame"),
        (lambda: phases.needed(phases.published()), ValueError, r"rows: has no column a_mean"),
        (lambda: phases.needed(power=1), ValueError, r"power = 1"),
        (lambda: phases.needed(level=0), ValueError, r"level = 0"),
        (lambda: phases.left_out(power=2), ValueError, r"power = 2"),
        (lambda: phases.sample_tests(3), TypeError, r"source must be a Timing"),
        (lambda: phases.sample_tests({}), TypeError, r"source must be a Timing"),
        (
            lambda: phases.sample_tests({(0, "Mid"): ([1, 2], [3])}),
            ValueError,
            r"source\[\(0, 'Mid'\)\]: b has 1",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_samples_are_tested_row_by_row():
    rng = np.random.default_rng(12)
    pairs = {
        (0, "Little"): (rng.gamma(4, 250, 90), rng.gamma(4, 180, 70)),
        (1, "Mid"): (rng.gamma(4, 250, 50),) * 2,
    }
    tests = phases.sample_tests(pairs, resamples=500)
    for name, (a, b) in pairs.items():
        row = tests.loc[name]
        assert row["p_mann_whitney"] == scipy_stats.mannwhitneyu(a, b).pvalue
        assert row["p_kolmogorov_smirnov"] == scipy_stats.ks_2samp(a, b, method="exact").pvalue
        assert row["ratio"] == b.mean() / a.mean()
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert tests["p_mann_whitney_holm"].tolist() == stats.holm(tests["p_mann_whitney"].to_numpy()).tolist()
    assert tests["above"].iloc[1] == 0.5


def test_a_measurement_is_tested_against_itself_too():
    measured = phases.measure(repetitions=2, progress=False)
    tests = phases.sample_tests(measured, resamples=100)
    assert tests.index.names == ["arms", "phase", "cpu"]
    assert tests.loc["A/A"].index.tolist() == phases.published().index.tolist()
    assert (tests["a_count"] == 250).all()
    assert phases.needed(phases.table(measured)).index.equals(phases.table(measured).index)
