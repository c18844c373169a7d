# SPDX-License-Identifier: GPL-2.0-only
"""What needs the samples: rank tests against SciPy and by hand, and the bootstrap of a ratio."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedpy.stats import Histogram, Moments, bootstrap_ratio, kolmogorov_smirnov, mann_whitney, ratio

scipy_stats = pytest.importorskip("scipy.stats")

rows = st.lists(st.integers(1, 30), min_size=2, max_size=40)


@settings(deadline=None, max_examples=30)
@given(rows, rows)
def test_the_statistics_by_their_definitions(a, b):
    pairs = np.sign(np.subtract.outer(b, a))
    assert mann_whitney(a, b).statistic == pytest.approx((pairs + 1).mean() / 2, abs=1e-12)
    steps = [abs(np.mean(np.less_equal(a, x)) - np.mean(np.less_equal(b, x))) for x in {*a, *b}]
    assert kolmogorov_smirnov(a, b).statistic == pytest.approx(max(steps), abs=1e-12)


def test_p_values_are_scipys():
    rng = np.random.default_rng(5)
    a, b = rng.gamma(4, 500, 3124).round(), rng.gamma(4, 480, 3741).round()
    assert mann_whitney(a, b).p == scipy_stats.mannwhitneyu(a, b).pvalue
    assert kolmogorov_smirnov(a, b).p == pytest.approx(scipy_stats.ks_2samp(a, b).pvalue, rel=0.02)
    assert kolmogorov_smirnov(a[:40], b[:30]).p == scipy_stats.ks_2samp(a[:40], b[:30], method="exact").pvalue


def test_p_of_four_and_four_by_hand():
    # All of b above all of a: 2 of the 70 ways to deal eight ranks are as extreme.
    a, b = [1, 2, 3, 4], [5, 6, 7, 8]
    assert (mann_whitney(a, b).statistic, kolmogorov_smirnov(a, b).statistic) == (1, 1)
    assert mann_whitney(a, b).p == pytest.approx(2 / 70)
    assert kolmogorov_smirnov(a, b).p == pytest.approx(2 / 70)


def test_rows_are_tested_each_and_broadcast():
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(3, 1, 20)), rng.normal(size=(4, 25))
    for test in (mann_whitney, kolmogorov_smirnov):
        both = test(a, b)
        assert both.p.shape == both.statistic.shape == (3, 4)
        assert both.p[2, 1] == test(a[2, 0], b[1]).p
        assert test(np.empty((0, 5)), np.empty((0, 3))).p.shape == (0,)


def test_one_value_throughout_tells_nothing():
    assert mann_whitney([3, 3, 3], [3, 3]).p == 1
    assert kolmogorov_smirnov([3, 3, 3], [3, 3]).p == 1


def test_a_bootstrap_holds_the_true_ratio_as_often_as_it_says():
    rng = np.random.default_rng(7)
    held = 0
    for seed in range(200):
        a, b = rng.exponential(10, 60), rng.exponential(9, 80)
        r = bootstrap_ratio(a, b, level=0.9, resamples=400, seed=seed)
        held += r.interval.low <= 0.9 <= r.interval.high
    assert 165 <= held <= 195  # 180 expected, standard deviation 4.2


def test_a_bootstrap_of_many_samples_is_fiellers_interval():
    rng = np.random.default_rng(8)
    a, b = rng.normal(1000, 300, 3000), rng.normal(900, 300, 3000)
    drawn, computed = bootstrap_ratio(a, b, resamples=4000), ratio(a, b)
    assert drawn.value == computed.value
    width = computed.interval.high - computed.interval.low
    assert drawn.interval.low == pytest.approx(computed.interval.low, abs=0.05 * width)
    assert drawn.interval.high == pytest.approx(computed.interval.high, abs=0.05 * width)


def test_some_samples_may_be_negative():
    a, b = np.r_[-1.0, np.arange(20.0, 60)], np.r_[0.0, np.arange(10.0, 60)]
    r = bootstrap_ratio(a, b, resamples=500)
    assert r.interval.low < r.value < r.interval.high


def test_a_seed_repeats_and_another_does_not():
    a, b = np.arange(1.0, 30), np.arange(2.0, 40)
    first, again, other = (bootstrap_ratio(a, b, resamples=500, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.interval != other.interval


MOMENTS = Moments(1, 1, 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mann_whitney(MOMENTS, [1, 2]), TypeError, r"a must be an array of samples, not Moments"),
        (
            lambda: kolmogorov_smirnov([1, 2], MOMENTS),
            TypeError,
            r"b must be an array of samples, not Moments",
        ),
        (lambda: bootstrap_ratio(MOMENTS, [1, 2]), TypeError, r"a must be an array of samples, not Moments"),
        (lambda: mann_whitney([1, 2], Histogram([1], [2], [3])), TypeError, r"b must .* not Histogram"),
        (lambda: mann_whitney([1, 2], 3), TypeError, r"b must be an array of samples, not one number"),
        (lambda: mann_whitney([1], [1, 2]), ValueError, r"a has 1 samples"),
        (lambda: mann_whitney([1, 2], [1, np.nan]), ValueError, r"b\[1\] = nan"),
        (lambda: mann_whitney(np.ones((2, 3)), np.ones((3, 3))), ValueError, r"a and b do not broadcast"),
        (
            lambda: bootstrap_ratio([1, 0], [1, 2]),
            ValueError,
            r"a: a mean that is drawn is 0: must be positive",
        ),
        (lambda: bootstrap_ratio([-1, -2], [1, 2]), ValueError, r"a: a mean that is drawn is -"),
        (lambda: bootstrap_ratio([1, 1], [2, 2]), ValueError, r"nothing to draw from"),
        (lambda: bootstrap_ratio([[1, 2]], [1, 2]), ValueError, r"a has shape \(1, 2\)"),
        (lambda: bootstrap_ratio([1, 2], [1, 2], resamples=1), ValueError, r"resamples = 1: must lie in"),
        (lambda: bootstrap_ratio([1, 2], [1, 2], resamples=1e3), TypeError, r"resamples = 1000.0"),
        (lambda: bootstrap_ratio([1, 2], [1, 2], seed=-1), ValueError, r"seed = -1"),
        (lambda: bootstrap_ratio([1, 2], [1, 2], level=2), ValueError, r"level = 2"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_without_scipy_the_extra_is_named():
    code = (
        "import sys; sys.modules['scipy'] = None; sys.modules['scipy.stats'] = None\n"
        "from schedpy import stats\n"
        "for f in (stats.mann_whitney, stats.kolmogorov_smirnov, stats.bootstrap_ratio):\n"
        "    try: f([1, 2], [2, 3])\n"
        "    except ImportError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.count("schedpy[lab]") == 3
