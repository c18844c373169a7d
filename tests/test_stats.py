# SPDX-License-Identifier: GPL-2.0-only
"""What stats makes of means, standard deviations and counts, against figures worked by hand and SciPy."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedpy.stats import Comparison, Histogram, Moments, compare, holm, interval, ratio

scipy_stats = pytest.importorskip("scipy.stats")

# A timing table mailed in April 2021 (ns, 1e9 / s): without and with the table, and what a hand
# calculation from it gives. Half widths to 0.01, t to 0.001, p to two digits.
WITHOUT = Moments(
    [10791, 2924, 2207, 1897, 1700, 1187, 984, 987],
    [2262, 529, 535, 504, 463, 407, 395, 395],
    [3124, 3097, 3104, 3119, 396, 2729, 3124, 3124],
)
WITH = Moments(
    [10657, 2894, 2162, 1864, 1609, 1129, 900, 900],
    [2240, 513, 515, 515, 458, 385, 365, 365],
    [3741, 3740, 3740, 3717, 1232, 2518, 3693, 3693],
)
HALF_WITHOUT = [79.35, 18.64, 18.83, 17.69, 45.74, 15.28, 13.86, 13.86]
HALF_WITH = [71.80, 16.45, 16.51, 16.56, 25.60, 15.04, 11.78, 11.78]
DIFF = [-134, -30, -45, -33, -91, -58, -84, -87]
PERCENT = [-1.24, -1.03, -2.04, -1.74, -5.35, -4.89, -8.54, -8.81]
T = [-2.455, -2.366, -3.523, -2.670, -3.411, -5.304, -9.057, -9.380]
P = ["1.4e-02", "1.8e-02", "4.3e-04", "7.6e-03", "6.9e-04", "1.2e-07", "1.7e-19", "8.9e-21"]
OVERLAP = [True, True, False, True, False, False, False, False]


def test_intervals_of_the_published_table():
    assert np.round(interval(WITHOUT).half_width, 2).tolist() == HALF_WITHOUT
    assert np.round(interval(WITH).half_width, 2).tolist() == HALF_WITH


def test_comparisons_of_the_published_table():
    c = compare(WITHOUT, WITH)
    assert c.diff.tolist() == DIFF
    assert np.round(c.percent, 2).tolist() == PERCENT
    assert np.round(c.t, 3).tolist() == T
    assert [f"{p:.1e}" for p in c.p] == P
    assert c.intervals_overlap.tolist() == OVERLAP
    assert c.cohen_d.min() == pytest.approx(-0.2295, abs=5e-5)
    assert c.cohen_d.max() == pytest.approx(-0.0577, abs=5e-5)


def test_holm_of_the_published_table():
    p = compare(WITHOUT, WITH).p[:7]
    assert holm(p).max() == pytest.approx(0.0282, abs=5e-5)
    assert np.flatnonzero(p * 7 > 0.05).tolist() == [0, 1, 3]  # Bonferroni would drop these three


def test_interval_by_hand():
    # mean of 1..5: std sqrt(2.5), standard error sqrt(0.5), t(0.975, 4) = 2.776445; t(0.995, 4) below
    half = 2.7764451051977987 * np.sqrt(0.5)
    got = interval(Moments.of([1, 2, 3, 4, 5]))
    assert got.low == pytest.approx(3 - half, rel=1e-12)
    assert got.high == pytest.approx(3 + half, rel=1e-12)
    assert got.half_width == pytest.approx(half, rel=1e-12)
    wider = interval(Moments.of([1, 2, 3, 4, 5]), level=0.99)
    assert wider.half_width == pytest.approx(4.604094871415897 * np.sqrt(0.5), rel=1e-9)


def test_comparison_by_hand():
    # Equal stds and counts: Welch is Student with 2 (n - 1) degrees of freedom.
    c = compare(Moments(10, 2, 8), Moments(13, 2, 8))
    assert (c.diff, c.percent) == (3, 30)
    assert c.t == pytest.approx(3.0, rel=1e-15)  # 3 / sqrt(4/8 + 4/8)
    assert c.dof == pytest.approx(14, rel=1e-15)
    assert c.cohen_d == pytest.approx(1.5, rel=1e-15)
    assert c.interval.high - c.diff == pytest.approx(2.1447866879169273, rel=1e-12)


def test_the_pooled_deviation_weighs_by_degrees_of_freedom():
    # (1 * 1 + 2 * 9) / (1 + 2) = 19 / 3
    d = compare(Moments(0, 1, 2), Moments(1, 3, 3)).cohen_d
    assert d == pytest.approx(np.sqrt(3 / 19), rel=1e-15)


def test_intervals_that_touch_overlap():
    m = Moments(0, 1, 10)
    gap = 2 * float(interval(m).half_width)
    assert compare(m, Moments(gap, 1, 10)).intervals_overlap
    assert not compare(m, Moments(gap * (1 + 1e-9), 1, 10)).intervals_overlap


means = st.floats(-1e6, 1e6)
stds = st.floats(1e-3, 1e6)
counts = st.integers(2, 10**6)


@given(means, stds, counts, means, stds, counts)
def test_compare_is_scipys_welch_test(mean_a, std_a, n_a, mean_b, std_b, n_b):
    ours = compare(Moments(mean_a, std_a, n_a), Moments(mean_b, std_b, n_b))
    theirs = scipy_stats.ttest_ind_from_stats(mean_b, std_b, n_b, mean_a, std_a, n_a, equal_var=False)
    assert ours.t == pytest.approx(theirs.statistic, rel=1e-9)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-300)


def test_samples_against_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.normal(100, 5, 40), rng.normal(103, 9, 25)
    ours = compare(Moments.of(a), Moments.of(b), level=0.9)
    theirs = scipy_stats.ttest_ind(b, a, equal_var=False)
    low, high = theirs.confidence_interval(0.9)
    assert ours.t == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.dof == pytest.approx(theirs.df, rel=1e-12)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((low, high), rel=1e-9)


def test_tiny_p_values_keep_their_digits():
    p = compare(Moments(0, 1, 1000), Moments(2, 1, 1000)).p
    assert 0 < p < 1e-200


def test_moments_of_samples():
    samples = np.arange(12, dtype=np.uint64).reshape(3, 4)
    before = samples.copy()
    whole, rows = Moments.of(samples), Moments.of(samples, axis=1)
    assert (whole.mean, whole.count) == (5.5, 12)
    assert whole.std == pytest.approx(np.sqrt(13), rel=1e-15)  # (12**2 - 1) / 12 * 12 / 11
    assert rows.mean.tolist() == [1.5, 5.5, 9.5]
    assert rows.count.tolist() == [4, 4, 4]
    assert (samples == before).all()


def test_samples_stand_for_their_moments():
    a, b = np.arange(12.0).reshape(3, 4), [[1, 5, 2], [9, 9, 8], [4, 4, 3]]
    rows = Moments.of(a, axis=1), Moments.of(b, axis=1)
    for got, want in ((compare(a, b), compare(*rows)), (compare(a, rows[1]), compare(*rows))):
        assert got.t.tolist() == want.t.tolist()
        assert got.exact
    assert interval([1, 2, 3]).low == interval(Moments.of([1, 2, 3])).low


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6), min_size=1, max_size=5))
def test_pooled_moments_are_those_of_all_samples(groups):
    parts = [Moments.of(group) for group in groups]
    pooled = Moments(*([getattr(m, name) for m in parts] for name in ("mean", "std", "count"))).pooled()
    together = Moments.of(np.concatenate(groups))
    assert pooled.count == together.count
    assert pooled.mean == pytest.approx(together.mean, rel=1e-9, abs=1e-6)
    assert pooled.std == pytest.approx(together.std, rel=1e-6, abs=1e-3)


def test_pooled_along_an_axis():
    groups = np.random.default_rng(4).normal(size=(3, 5, 7))
    pooled = Moments.of(groups, axis=2).pooled(axis=0)
    together = Moments.of(groups.swapaxes(0, 1).reshape(5, 21), axis=1)
    assert np.allclose(pooled.mean, together.mean, rtol=1e-13, atol=1e-15)
    assert np.allclose(pooled.std, together.std, rtol=1e-13)
    assert pooled.count.tolist() == [21] * 5


def test_the_ratio_of_the_published_phase_5():
    # Fieller by hand: with g = (1.9604 * 7.0672 / 984)**2, the ends are those r where 900 - 984 r is
    # just 1.9604 of its own standard errors.
    r = ratio(Moments(984, 395, 3124), Moments(900, 365, 3693))
    assert r.value == 900 / 984
    for end in (r.interval.low, r.interval.high):
        error = np.hypot(365 / np.sqrt(3693), end * 395 / np.sqrt(3124))
        assert abs(900 - 984 * end) / error == pytest.approx(1.96035, abs=2e-4)


@given(st.floats(1, 100), st.floats(0.1, 10), st.integers(3, 500), st.floats(-50, 50), st.floats(0.1, 10))
def test_a_ratio_outside_its_interval_is_told_by_the_test(mean_a, std_a, n, mean_b, std_b):
    a, b = Moments(mean_a, std_a, n), Moments(mean_b, std_b, n)
    r = ratio(a, b)
    assert r.interval.low <= r.value <= r.interval.high
    if np.isfinite(r.interval.low):
        critical = scipy_stats.t.ppf(
            0.975, compare(Moments(r.value * mean_a, abs(r.value) * std_a, n), b).dof
        )
        for end in (r.interval.low, r.interval.high):
            error = np.hypot(std_b, end * std_a) / np.sqrt(n)
            assert abs(mean_b - end * mean_a) / error == pytest.approx(critical, rel=1e-5)
    else:
        assert abs(mean_a) <= scipy_stats.t.ppf(0.975, n - 1) * std_a / np.sqrt(n)


def test_broadcasting():
    a = Moments(np.array([[10.0], [20.0]]), 2, 50)
    b = Moments([11.0, 12.0, 13.0], 3, [40, 50, 60])
    c = compare(a, b)
    assert a.shape == (2, 1)
    for name in ("diff", "percent", "t", "dof", "p", "intervals_overlap", "cohen_d"):
        assert getattr(c, name).shape == (2, 3), name
    alone = compare(Moments(20, 2, 50), Moments(13, 3, 60))
    assert c.t[1, 2] == alone.t
    assert c.interval.low[1, 2] == alone.interval.low


def test_empty_in_empty_out():
    none = Moments([], [], [])
    assert interval(none).low.shape == (0,)
    assert compare(none, none).p.shape == (0,)
    assert holm([]).shape == (0,)
    assert Moments.of(np.empty((0, 5)), axis=1).mean.shape == (0,)


def test_scalars_stay_scalars():
    m = Moments(1, 2, 3)
    assert np.ndim(m.mean) == 0
    assert m == Moments(1.0, 2.0, 3)
    assert np.ndim(interval(m).low) == 0
    assert np.ndim(holm(0.3)) == 0
    assert f"{m.mean:.1f} {interval(m).high:.2f}" == "1.0 5.97"


def test_percent_of_a_zero_mean_is_nan():
    assert np.isnan(compare(Moments(0, 1, 5), Moments(1, 1, 5)).percent)


def test_holm_by_hand():
    # 0.01 * 4, then max(0.04, 0.02 * 3), then max(0.06, 0.03 * 2), then max(0.06, 0.9)
    assert holm([0.9, 0.01, 0.03, 0.02]) == pytest.approx([0.9, 0.04, 0.06, 0.06])
    assert holm([[0.9, 0.01], [0.03, 0.02]]).shape == (2, 2)
    assert holm([0.5, 0.6]).tolist() == [1.0, 1.0]
    assert holm([0.2, 0.2, 0.2]) == pytest.approx([0.6, 0.6, 0.6])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_what_the_step_down_procedure_rejects(p):
    adjusted, alpha = holm(p), 0.05
    rejected = set()
    for rank, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[i] * (len(p) - rank) > alpha:
            break
        rejected.add(i)
    assert {int(i) for i in np.flatnonzero(adjusted <= alpha)} == rejected


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Moments(1, -1, 5), ValueError, r"std = -1.0: must not be negative"),
        (lambda: Moments(1, [1, 2, -3], 5), ValueError, r"std\[2\] = -3.0"),
        (lambda: Moments(1, 1, 1), ValueError, r"count = 1: must be at least 2"),
        (lambda: Moments(1, 1, [[5, 0]]), ValueError, r"count\[0, 1\] = 0"),
        (lambda: Moments(1, 1, 5.0), TypeError, r"count must be integers, not float64"),
        (lambda: Moments(1, 1, 2**63), ValueError, r"count = 9223372036854775808: must be below"),
        (lambda: Moments(np.nan, 1, 5), ValueError, r"mean = nan: must be finite"),
        (lambda: Moments([1, np.inf], 1, 5), ValueError, r"mean\[1\] = inf"),
        (lambda: Moments(1, np.nan, 5), ValueError, r"std = nan"),
        (lambda: Moments(1, 1, np.nan), TypeError, r"count must be integers"),
        (lambda: Moments("1", 1, 5), TypeError, r"mean must be real numbers"),
        (lambda: Moments(1j, 1, 5), TypeError, r"mean must be real numbers"),
        (lambda: Moments(1, True, 5), TypeError, r"std must be real numbers, not bool"),
        (lambda: Moments([[1, 2], [3]], 1, 5), ValueError, r"mean is no array"),
        (lambda: Moments([1, 2], [1, 2, 3], 5), ValueError, r"do not broadcast: shapes \(2,\), \(3,\)"),
        (lambda: Moments.of([1]), ValueError, r"samples: 1 along the axis"),
        (lambda: Moments.of([]), ValueError, r"samples: 0 along the axis"),
        (lambda: Moments.of([1, np.nan]), ValueError, r"samples\[1\] = nan"),
        (lambda: Moments.of(["a", "b"]), TypeError, r"samples must be real numbers"),
        (lambda: Moments.of([1, 2], axis=1), ValueError, r"axis = 1: samples have 1 dimensions"),
        (
            lambda: interval((1, 2, 3)),
            TypeError,
            r"moments must be Moments or an array of samples, not tuple",
        ),
        (lambda: interval(Moments(1, 1, 5), level=1), ValueError, r"level = 1: must lie between"),
        (lambda: interval(Moments(1, 1, 5), level=95), ValueError, r"level = 95"),
        (lambda: interval(Moments(1, 1, 5), level="95%"), TypeError, r"level must be a number"),
        (lambda: interval(Moments(1, 1, 5), level=float("nan")), ValueError, r"level = nan"),
        (
            lambda: compare(Moments(1, 1, 5), 3),
            TypeError,
            r"b must be Moments or an array of samples, not int",
        ),
        (lambda: compare(Moments(1, 1, 5), Moments(1, 1, 5), level=0), ValueError, r"level = 0"),
        (
            lambda: compare(Moments([1, 2], 0, 5), Moments(1, [1, 0], 5)),
            ValueError,
            r"std\[1\] = 0 in both a and b",
        ),
        (
            lambda: compare(Moments([1, 2], 1, 5), Moments([1, 2, 3], 1, 5)),
            ValueError,
            r"a and b do not broadcast: shapes \(2,\) and \(3,\)",
        ),
        (
            lambda: interval(Histogram([0], [1], [2])),
            TypeError,
            r"moments must be Moments or .* not Histogram",
        ),
        (lambda: compare([1], [1, 2]), ValueError, r"a has 1 samples: at least 2"),
        (lambda: compare([1, 2], [1, np.nan]), ValueError, r"b\[1\] = nan: must be finite"),
        (lambda: compare([1, 2], [[1, 2], [3]]), ValueError, r"b is no array of numbers"),
        (lambda: Moments([1, 2], 1, 5).pooled(axis=1), ValueError, r"axis = 1"),
        (lambda: Moments([], [], []).pooled(), ValueError, r"axis: there are no groups"),
        (lambda: ratio(Moments(0, 1, 5), Moments(1, 1, 5)), ValueError, r"a: mean = 0.0: has no ratio"),
        (lambda: ratio(Moments(1, 0, 5), Moments(1, 0, 5)), ValueError, r"std = 0 in both"),
        (lambda: holm([0.5, 1.1]), ValueError, r"p\[1\] = 1.1: must lie in 0 .. 1"),
        (lambda: holm([-0.1]), ValueError, r"p\[0\] = -0.1"),
        (lambda: holm([0.1, np.nan]), ValueError, r"p\[1\] = nan"),
        (lambda: holm(["x"]), TypeError, r"p must be real numbers"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_result_cannot_be_changed():
    with pytest.raises(AttributeError):
        Moments(1, 1, 5).mean = 2
    assert isinstance(compare(Moments(1, 1, 5), Moments(1, 1, 5)), Comparison)


def test_without_scipy_the_extra_is_named():
    code = (
        "import sys; sys.modules['scipy'] = None; sys.modules['scipy.special'] = None\n"
        "from schedpy.stats import Histogram, Moments, holm, interval\n"
        "holm([0.1]); Moments.of([1, 2]).pooled(); Histogram([0], [1], [2]).std\n"
        "try: interval(Moments(1, 1, 5))\n"
        "except ImportError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "schedpy[lab]" in out.stdout
