# SPDX-License-Identifier: GPL-2.0-only
"""Power and counts: against the noncentral t, against simulation, and against each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedpy.stats import Moments, compare, counts_needed, power, smallest_difference

scipy_stats = pytest.importorskip("scipy.stats")


def test_equal_groups_against_the_noncentral_t():
    # n = 64 a side and half a standard deviation: the textbook's 80 % (Cohen 1988, table 2.3.5).
    m = Moments(0, 1, 64)
    critical = scipy_stats.t.ppf(0.975, 126)
    shifted = scipy_stats.nct(126, 0.5 * np.sqrt(32))
    assert power(m, m, difference=0.5) == pytest.approx(
        shifted.sf(critical) + shifted.cdf(-critical), rel=1e-9
    )
    assert round(float(power(m, m, difference=0.5)), 2) == 0.80
    needed = counts_needed(m, m, difference=0.5)
    assert (needed.a, needed.b) == (64, 64)
    assert smallest_difference(m, m) == pytest.approx(0.4994, abs=1e-3)


def test_power_is_how_often_the_test_tells():
    rng = np.random.default_rng(9)
    a, b = rng.normal(0, 1, (4000, 12)), rng.normal(1.2, 2, (4000, 30))
    told = (compare(a, b).p < 0.05).mean()
    assert power(Moments(0, 1, 12), Moments(0, 2, 30), difference=1.2) == pytest.approx(told, abs=0.025)


def test_no_difference_is_told_as_often_as_the_level_allows():
    m = Moments(5, 1, 9)
    assert power(m, m) == pytest.approx(0.05)
    assert power(m, m, level=0.99) == pytest.approx(0.01)


def test_a_p_of_five_percent_has_a_power_of_a_half():
    a = Moments(0, 1, 400)
    b = Moments(smallest_seen := float(compare(a, a).interval.high), 1, 400)
    assert compare(a, b).p == pytest.approx(0.05)
    assert power(a, b) == pytest.approx(0.5, abs=0.002)
    assert power(a, a, difference=-smallest_seen) == power(a, b)


plans = st.tuples(
    st.floats(0.1, 100), st.floats(0.1, 100), st.integers(2, 5000), st.integers(2, 5000), st.floats(0.05, 50)
)


@settings(deadline=None)
@given(plans, st.floats(0.1, 0.99))
def test_counts_are_the_fewest(plan, wanted):
    std_a, std_b, n_a, n_b, difference = plan
    a, b = Moments(0, std_a, n_a), Moments(0, std_b, n_b)
    needed = counts_needed(a, b, difference=difference, power=wanted)
    assert needed.b == max(2, np.ceil(needed.a * (n_b / n_a)))

    def reached(count):
        other = max(2, int(np.ceil(count * (n_b / n_a))))
        return power(Moments(0, std_a, count), Moments(0, std_b, other), difference=difference)

    assert reached(int(needed.a)) >= wanted
    if needed.a > 2:
        assert reached(int(needed.a) - 1) < wanted


@settings(deadline=None)
@given(plans, st.floats(0.1, 0.99))
def test_the_smallest_difference_has_the_power_asked_for(plan, wanted):
    std_a, std_b, n_a, n_b, _ = plan
    a, b = Moments(0, std_a, n_a), Moments(0, std_b, n_b)
    assert power(a, b, difference=smallest_difference(a, b, power=wanted)) == pytest.approx(wanted, abs=1e-5)


def test_extremes_end():
    a = Moments(0, 1, 2)
    assert power(a, a, difference=1e6, level=0.999) == pytest.approx(1, abs=1e-6)
    assert power(Moments(0, 1, 10**12), Moments(0, 1, 10**12), difference=1) == 1
    assert counts_needed(a, a, difference=1e-6).a == pytest.approx(2 * 1e12 * 7.8489, rel=1e-3)
    assert counts_needed(a, Moments(0, 1, 10**6), difference=50).a == 2


def test_rows_broadcast():
    a = Moments([1.0, 2.0], 1, 50)
    b = Moments([[1.5], [2.7], [4.0]], 2, [[20], [30], [40]])
    needed = counts_needed(a, b)
    assert power(a, b).shape == needed.a.shape == needed.b.shape == smallest_difference(a, b).shape == (3, 2)
    assert needed.a[2, 1] == counts_needed(Moments(2, 1, 50), Moments(4, 2, 40)).a
    none = Moments([], [], [])
    assert power(none, none).shape == counts_needed(none, none).a.shape == (0,)
    assert smallest_difference(none, none).shape == (0,)


def test_samples_stand_for_their_moments():
    a, b = [1, 2, 3, 4], [3, 5, 4, 9]
    assert power(a, b) == power(Moments.of(a), Moments.of(b))


M = Moments(1, 1, 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: counts_needed(M, M), ValueError, r"difference = 0.0: no number of samples"),
        (lambda: counts_needed(M, M, difference=[1, 0]), ValueError, r"difference\[1\] = 0"),
        (lambda: counts_needed(M, M, difference=1e-9), ValueError, r"difference: so small"),
        (lambda: counts_needed(M, M, difference=1, power=1), ValueError, r"power = 1"),
        (lambda: power(M, M, difference=np.nan), ValueError, r"difference = nan"),
        (lambda: power(M, M, difference="1"), TypeError, r"difference must be real numbers"),
        (lambda: power(M, Moments([1, 2], 1, 5), difference=[1, 2, 3]), ValueError, r"difference of shape"),
        (lambda: power(M, 3), TypeError, r"b must be Moments or"),
        (lambda: power(Moments(1, 0, 5), Moments(1, 0, 5)), ValueError, r"std = 0 in both"),
        (lambda: smallest_difference(M, M, level=0), ValueError, r"level = 0"),
        (lambda: smallest_difference(M, M, power="much"), TypeError, r"power must be a number"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()
