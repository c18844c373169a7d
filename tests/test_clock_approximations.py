# SPDX-License-Identifier: GPL-2.0-only
"""Shifts and additions for a division by 1000: what is said of their errors, against every ns in turn."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import clock as twin

from schedpy import clock

EVERY = pytest.mark.parametrize("expression", clock.APPROXIMATIONS)
NS = st.integers(0, 64).flatmap(lambda n: st.integers(0, min(2**n, 2**64 - 1)))


def term(sign):
    return st.integers(0, 63).map(lambda shift: f"{sign}(x>>{shift})" if shift else f"{sign}x")


SUMS = st.builds(
    lambda first, others, last: (
        f"({first}{''.join(others)})>>{last}" if last else f"{first}{''.join(others)}"
    ),
    term(""),
    st.lists(term("+") | term("-"), max_size=7),
    st.integers(0, 63),
)
PRODUCTS = st.builds("x*{}>>{}".format, st.integers(1, 2**32 - 1), st.integers(0, 63))


@given(NS, SUMS | PRODUCTS | st.sampled_from(clock.APPROXIMATIONS))
def test_any_expression_is_computed_as_c_reads_it(ns, expression):
    ours = int(clock.approximate(ns, expression))
    assert ours == twin.approximation(expression, ns)
    wraps = ours != twin.approximation(expression, ns, word=twin.FREE)
    assert bool(clock.wraps.approximate(ns, expression)) == wraps


@EVERY
def test_the_exact_errors_are_those_of_every_ns(expression):
    for below in (1, 999, 12_345):
        *expected, worst = twin.approximation_error(expression, below)
        ours = clock.approximation_error(expression, below)
        assert [
            ours.max_under_us,
            ours.under_at_ns,
            ours.max_over_us,
            ours.over_at_ns,
            ours.mismatches,
        ] == expected
        assert ours.max_rel_error_pct == pytest.approx(float(worst * 100), rel=1e-12)


@EVERY
def test_the_first_wrong_result(expression):
    first = clock.approximation(expression).exact_below
    if first == 2**64 or first == clock.approximation(expression).wraps_from:
        return
    around = np.arange(max(first - 5000, 0), first + 1, dtype=np.uint64)
    wrong = clock.approximate(around, expression) != clock.ns_to_us(around)
    assert wrong.tolist() == [False] * (len(around) - 1) + [True]
    below = np.arange(0, min(first, 2**23), dtype=np.uint64)
    assert (clock.approximate(below, expression) == clock.ns_to_us(below)).all()


@EVERY
def test_where_it_wraps(expression):
    first = clock.approximation(expression).wraps_from
    if first is None:
        assert not clock.wraps.approximate(2**64 - 1, expression)
    else:
        assert clock.wraps.approximate([first - 1, first], expression).tolist() == [False, True]


def monotone(expression):
    try:
        clock.approximation_error(expression, 1)
    except ValueError:
        return False
    return True


@given(SUMS.filter(monotone) | PRODUCTS, st.integers(1, 30_000))
def test_the_bounds_hold_and_are_close(expression, below):
    wraps = clock.approximation(expression).wraps_from
    below = min(below, wraps or below)
    ours = clock.approximation_error(expression, below)
    bounds = clock.approximation_bounds(expression, below)
    assert bounds.low <= ours.max_under_us <= 0 <= ours.max_over_us <= bounds.high
    loose = expression.count("x") + 1
    assert bounds.low >= ours.max_under_us - loose
    assert bounds.high <= ours.max_over_us + loose


@EVERY
@pytest.mark.parametrize("below", [10**5, 10**7, 10**9])
def test_the_bounds_of_the_known_ones(expression, below):
    ours = clock.approximation_error(expression, below)
    bounds = clock.approximation_bounds(expression, below)
    loose = 1 if ")>>" in expression or "(" not in expression else expression.count("x")
    assert bounds.low <= ours.max_under_us <= bounds.low + loose
    assert bounds.high >= ours.max_over_us >= bounds.high - loose


#: Expression -> its error for large x in percent, exact below, the worst error in us below 10^7 ns.
FACTS = {
    "x>>10": ("-2.34375", 1000, -235),
    "(x+(x>>5))>>10": ("0.708", 993, 71),
    "(x+(x>>6)+(x>>7))>>10": ("-0.0549", 1000, -6),
    "(x+(x>>5)-(x>>7))>>10": ("-0.0549", 2000, -6),
    "(x+(x>>5)-(x>>7)+(x>>11))>>10": ("-0.00725", 2000, -1),
    "(x+(x>>5)-(x>>7)+(x>>11)+(x>>14))>>10": ("-0.00129", 2000, -1),
    "(x>>10)+(x>>15)-(x>>17)+(x>>21)+(x>>24)": ("-0.00129", 1000, -3),
    "x*1049>>20": ("0.0404", 2999, 5),
    "x*67109>>26": ("0.000203", 493_999, 1),
    "x*4294968>>32": ("0.000016", 6_100_999, 1),
}


@pytest.mark.parametrize("expression", FACTS)
def test_facts(expression):
    percent, exact_below, worst = FACTS[expression]
    ours = clock.approximation(expression)
    digits = len(percent.partition(".")[2])
    assert f"{ours.error_pct:.{digits}f}" == percent
    assert ours.exact_below == exact_below
    error = clock.approximation_error(expression, 10**7)
    assert (error.max_under_us if worst < 0 else error.max_over_us) == worst


def test_two_sums_have_one_coefficient():
    one, other = (clock.approximation(e) for e in ("(x+(x>>6)+(x>>7))>>10", "(x+(x>>5)-(x>>7))>>10"))
    assert one.coefficient == other.coefficient == Fraction(131, 128) / 1024
    assert (one.exact_below, other.exact_below) == (1000, 2000)


def test_how_long_until_a_product_wraps():
    day, hour, minute = 86_400 * 10**9, 3600 * 10**9, 60 * 10**9
    assert clock.approximation("x*1049>>20").wraps_from // day == 203
    assert clock.approximation("x*67109>>26").wraps_from // hour == 76
    assert round(clock.approximation("x*4294968>>32").wraps_from / minute, 1) == 71.6


def test_sums_shifted_last_never_exceed_and_terms_shifted_alone_err_both_ways():
    last = clock.approximation_error("(x+(x>>5)-(x>>7)+(x>>11)+(x>>14))>>10", 2**32)
    assert last.max_over_us == 0
    alone = clock.approximation_error("(x>>10)+(x>>15)-(x>>17)+(x>>21)+(x>>24)", 2**32)
    assert alone.max_under_us < 0 < alone.max_over_us
    assert not clock.approximate(1000, "(x>>10)+(x>>15)-(x>>17)+(x>>21)+(x>>24)")


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "y>>10",
        "x>>64",
        "x<<1",
        "x*0>>10",
        "x*4294967296>>10",
        "x**2>>1",
        "(x+(x>>5)>>10",
        "(x>>1)>>(x>>2)",
        "-x",
        "+".join(["x"] * 9),
        "x*1000",
        "__import__('os')",
    ],
)
def test_what_is_no_expression(bad):
    with pytest.raises(ValueError, match=r"^expression = "):
        clock.approximate(1, bad)
    with pytest.raises(TypeError, match=r"^expression = "):
        clock.approximate(1, bad.encode())


def test_a_sum_that_falls_is_computed_but_not_examined():
    expression = "x-(x>>1)-(x>>2)"
    assert clock.approximate([3, 4], expression).tolist() == [2, 1]
    for examine in (
        clock.approximation,
        lambda e: clock.approximation_bounds(e, 9),
        lambda e: clock.approximation_error(e, 9),
    ):
        with pytest.raises(ValueError, match=r"^expression = .* falls at multiples"):
            examine(expression)


def test_a_sum_may_be_negative_on_the_way_and_then_wraps():
    assert int(clock.approximate(1000, "(x>>5)-x")) == 2**64 - 969
    assert clock.wraps.approximate([0, 1000], "(x>>5)-x").tolist() == [False, True]


@pytest.mark.parametrize("bad", [0, -1, 2**64 + 1, 2**64 // 1049 + 2])
def test_limits_beyond_the_wrap_are_refused(bad):
    for examine in (clock.approximation_error, clock.approximation_bounds):
        with pytest.raises(ValueError, match=r"^below = "):
            examine("x*1049>>20", bad)


def test_the_bounds_of_all_64_bits():
    bounds = clock.approximation_bounds("x>>10", 2**64)
    exact = (2**64 - 1) // 1000 - (2**64 - 1 >> 10)
    assert 0 <= -bounds.low - exact <= 1
    assert bounds.high == 0
