# SPDX-License-Identifier: GPL-2.0-only
"""Moments of histograms: the bounds hold whatever the samples were, and no narrower ones do."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedpy.stats import Histogram, Moments, compare, interval

pytest.importorskip("scipy.special")

bins = st.lists(
    st.tuples(st.integers(-20, 20), st.integers(0, 15), st.integers(0, 3)), min_size=1, max_size=4
).filter(lambda rows: 2 <= sum(count for *_, count in rows) <= 7)


def histogram(rows):
    low, width, count = (np.array(column) for column in zip(*rows, strict=True))
    return Histogram(low, low + width, count)


@settings(deadline=None)
@given(bins)
def test_the_bounds_are_those_of_all_samples_at_ends(rows):
    h = histogram(rows)
    ends = [(low, low + width) for low, width, count in rows for _ in range(count)]
    samples = np.array(list(itertools.product(*ends)), dtype=float)
    means, stds = samples.mean(axis=1), samples.std(axis=1, ddof=1)
    assert (h.mean.low, h.mean.high) == (pytest.approx(means.min()), pytest.approx(means.max()))
    # The variance is convex, so its largest value lies at ends; half a sample may lie at either.
    assert stds.max() <= h.std.high + 1e-9
    widest = max(high - low for low, high in ends)
    n = len(ends)
    assert h.std.high**2 * (n - 1) <= stds.max() ** 2 * (n - 1) + widest**2 / 4 + 1e-6


@settings(deadline=None)
@given(bins)
def test_the_least_deviation_is_that_of_samples_drawn_together(rows):
    h = histogram(rows)
    low = np.repeat([row[0] for row in rows], [row[2] for row in rows]).astype(float)
    high = low + np.repeat([row[1] for row in rows], [row[2] for row in rows])
    # Projected towards the common mean until nothing moves: the least sum of squares is unique.
    centre = low.mean()
    for _ in range(600):
        centre = np.clip(centre, low, high).mean()
    samples = np.clip(centre, low, high)
    assert h.std.low <= samples.std(ddof=1) + 1e-9
    assert h.std.low == pytest.approx(samples.std(ddof=1), abs=1e-2)


@settings(deadline=None)
@given(bins, st.integers(0, 2**32))
def test_what_samples_give_lies_within_what_bins_give(rows, seed):
    rng = np.random.default_rng(seed)
    h = histogram(rows)
    low = np.repeat([row[0] for row in rows], [row[2] for row in rows])
    samples = rng.uniform(low, low + np.repeat([row[1] for row in rows], [row[2] for row in rows]))
    m = Moments.of(samples)
    assert h.mean.low - 1e-9 <= m.mean <= h.mean.high + 1e-9
    assert h.std.low - 1e-9 <= m.std <= h.std.high + 1e-9
    other = Moments(3, 2.5, 9)
    exact, bounds = compare(m, other), compare(h, other)
    assert not bounds.exact
    assert bounds.interval.low <= exact.interval.low + 1e-9
    assert bounds.interval.high >= exact.interval.high - 1e-9
    assert bounds.p >= exact.p - 1e-12
    assert abs(bounds.cohen_d) <= abs(exact.cohen_d) + 1e-9
    assert bounds.intervals_overlap >= exact.intervals_overlap


def test_bins_of_one_value_are_exact():
    samples = [3, 3, 5, 9, 9, 9]
    h = Histogram([3, 5, 9], [3, 5, 9], [2, 1, 3])
    assert h.moments() == Moments.of(samples)
    assert h.mean.low == h.mean.high
    assert h.std.low == pytest.approx(h.std.high, rel=1e-12)


def test_by_hand():
    # One bin of two samples: together, or one at each end.
    h = Histogram([0], [10], [2])
    assert (h.std.low, h.std.high) == (0, pytest.approx(np.sqrt(50)))
    # 0 .. 1 and 4 .. 5: as near as 1 and 4, as far as 0 and 5.
    h = Histogram([0, 4], [1, 5], [1, 1])
    assert h.std.low == pytest.approx(3 / np.sqrt(2))
    assert h.std.high == pytest.approx(5 / np.sqrt(2))
    assert (h.mean.low, h.mean.high) == (2, 3)
    assert h.moments().mean == 2.5


def test_the_interval_of_a_difference_between_histograms_by_hand():
    a = Histogram([10, 20], [10, 20], [50, 50])
    b = Histogram([30, 40], [32, 42], [50, 50])
    c = compare(a, b)
    assert c.diff == 21
    assert c.percent == pytest.approx(140)
    m = Moments(0, c_std := float(a.std.high), 100)
    assert float(a.std.low) == pytest.approx(c_std)
    half = float(interval(m).half_width) / c_std * np.hypot(c_std, b.std.high)  # t of 99 degrees of freedom
    assert (c.interval.low, c.interval.high) == (pytest.approx(20 - half), pytest.approx(22 + half))
    assert c.dof == 99
    assert c.t == pytest.approx(20 / np.hypot(c_std, b.std.high) * 10)


def test_bins_without_an_end_bound_one_side():
    h = Histogram([-np.inf, 0], [0, 10], [1, 3])
    assert (h.mean.low, h.mean.high) == (-np.inf, 7.5)
    assert h.std.high == np.inf
    assert h.std.low == 0  # all of them at 0
    with pytest.raises(ValueError, match="a bin without an end"):
        h.moments()
    with pytest.raises(ValueError, match="a bin without an end"):
        compare(h, Moments(1, 1, 5))


def test_empty_bins_do_not_count():
    h = Histogram([-np.inf, 0, 10], [0, 10, np.inf], [0, 4, 0])
    assert (h.mean.low, h.mean.high) == (0, 10)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0], [1], [1]), ValueError, r"count: 1 in all"),
        (([0], [1], [-1]), ValueError, r"count\[0\] = -1"),
        (([0], [1], [2.0]), TypeError, r"count must be integers"),
        (([0, 5], [1, 4], [1, 1]), ValueError, r"high\[1\] = 4.0: must not lie below low"),
        (([0, 5], [1, 4, 3], [1, 1]), ValueError, r"three rows of one length"),
        ((0, 1, 2), ValueError, r"three rows of one length"),
        (([np.nan], [1], [2]), ValueError, r"low\[0\] = nan"),
        (([np.inf], [np.inf], [2]), ValueError, r"low\[0\] = inf"),
        (([-np.inf], [-np.inf], [2]), ValueError, r"high\[0\] = -inf"),
        ((["a"], [1], [2]), TypeError, r"low must be real numbers"),
    ],
)
def test_bad_bins_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        Histogram(*arguments)


def test_a_histogram_is_compared_with_one_mean():
    h = Histogram([0], [1], [9])
    with pytest.raises(ValueError, match=r"b has shape \(2,\): beside a Histogram"):
        compare(h, Moments([1, 2], 1, 5))
    with pytest.raises(ValueError, match="std = 0 in both"):
        compare(Histogram([1], [1], [9]), Moments(1, 0, 5))
