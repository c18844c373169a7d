# SPDX-License-Identifier: GPL-2.0-only
"""Cheaper than a division by 1000: shifts and additions, or one product; and how far off each of them is.

An approximation is written as C would write it, of x in ns on 64 bits without sign: ``"x>>10"``,
``"(x+(x>>5)-(x>>7))>>10"`` (the sum shifted as a whole), ``"(x>>10)+(x>>15)"`` (every term on its own),
``"x*1049>>20"``.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from schedpy import _core
from schedpy._coerce import as_number
from schedpy.clock._types import u64

__all__ = [
    "APPROXIMATIONS",
    "Approximation",
    "ApproximationBounds",
    "ApproximationError",
    "approximate",
    "approximation",
    "approximation_bounds",
    "approximation_error",
]

#: From the shift of 2016 to what is exact for every u32.
APPROXIMATIONS = (
    "x>>10",
    "(x+(x>>5))>>10",
    "(x+(x>>6)+(x>>7))>>10",
    "(x+(x>>5)-(x>>7))>>10",
    "(x+(x>>5)-(x>>7)+(x>>11))>>10",
    "(x+(x>>5)-(x>>7)+(x>>11)+(x>>14))>>10",
    "(x+(x>>5)-(x>>7)+(x>>11)+(x>>14)+(x>>17)+(x>>19))>>10",
    "(x>>10)+(x>>15)",
    "(x>>10)+(x>>15)-(x>>17)",
    "(x>>10)+(x>>15)-(x>>17)+(x>>21)+(x>>24)",
    "x*1049>>20",
    "x*67109>>26",
    "x*4294968>>32",
    "x*274877907>>38",
)

WORD = 2**64
MAX_TERMS = 8
BLOCKS = 2**16  #: microseconds looked at in one go
FARTHEST = 2**32  #: how far microseconds are looked at one by one: some two seconds


@dataclass(frozen=True)
class Approximation:
    """An approximation of ns / 1000.

    Attributes
    ----------
    expression : str
        As given, without spaces.
    coefficient : Fraction
        What x is multiplied by, but for the fractions cut off.
    error_pct : float
        The error for large x, percent of the quotient.
    exact_below : int
        The smallest x in ns whose result is not ``x / 1000``; of those that wrap, where they do.
    wraps_from : int or None
        The smallest x in ns for which 64 bits do not hold the sum or product.
    """

    expression: str
    coefficient: Fraction
    error_pct: float
    exact_below: int
    wraps_from: int | None


@dataclass(frozen=True)
class ApproximationBounds:
    """No result is further below or above ``x / 1000`` than this, in us; ``low`` <= 0 <= ``high``."""

    low: int
    high: int


@dataclass(frozen=True)
class ApproximationError:
    """The exact errors of an approximation in us, over all ns below a limit.

    Attributes
    ----------
    max_under_us, max_over_us : int
        The largest error below (0 or negative) and above.
    under_at_ns, over_at_ns : int
        The smallest x that has it; 0 if there is none.
    mismatches : int
        How many x are off.
    max_rel_error_pct : float
        The largest error, percent of the quotient, where that is 10 us or more; 0 below 10 us.
    """

    max_under_us: int
    under_at_ns: int
    max_over_us: int
    over_at_ns: int
    mismatches: int
    max_rel_error_pct: float


@dataclass(frozen=True)
class _Rule:
    """``sum of sign * (x >> shift) over terms, >> shift``; or ``x * mult >> shift`` if mult is not 0."""

    expression: str
    terms: tuple[tuple[int, int], ...]
    mult: int
    shift: int

    @property
    def coefficient(self):
        terms = (Fraction(sign, 1 << shift) for sign, shift in self.terms)
        return (self.mult or sum(terms, Fraction(0))) * Fraction(1, 1 << self.shift)

    def unshifted(self, x):
        """The sum or the product for a Python int, without bound."""
        return self.mult * x if self.mult else sum(sign * (x >> shift) for sign, shift in self.terms)

    def __call__(self, x, **ufunc):
        if self.mult:
            return _core.cyc_to_ns(x, np.uint32(self.mult), np.uint32(self.shift), **ufunc)
        return _core.shift_add(x, self.packed, np.uint32(self.shift), **ufunc)

    def wraps(self, x, **ufunc):
        if self.mult:
            return _core.cyc_to_ns_wraps(x, np.uint32(self.mult), np.uint32(self.shift), **ufunc)
        return _core.shift_add_wraps(x, self.packed, np.uint32(self.shift), **ufunc)

    @property
    def packed(self):
        """The terms as the core takes them, a byte each: bit 6 is set, bit 7 says minus, the others shift."""
        codes = (0x40 | (0x80 if sign < 0 else 0) | shift for sign, shift in self.terms)
        return np.uint64(sum(code << 8 * k for k, code in enumerate(codes)))

    @property
    def is_monotone(self):
        """Whether a larger x never gives less.

        From x - 1 to x a term steps by one if 2^shift divides x. With t the exponent of 2 in x those are the
        terms of shift t and below: the sum must not fall for any t.
        """
        return bool(self.mult) or all(
            sum(sign for sign, shift in self.terms if shift <= t) >= 0 for _, t in self.terms
        )

    @property
    def wraps_from(self):
        if self.unshifted(WORD - 1) < WORD:
            return None
        below, above = 0, WORD - 1
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (below, middle) if self.unshifted(middle) >= WORD else (middle, above)
        return above


_NUMBER = r"\d{1,10}"
_TERM = rf"(?:x|\(x>>{_NUMBER}\))"
_SUM = rf"{_TERM}(?:[+-]{_TERM})*"


@lru_cache(256)
def _parse(expression):
    rule = _product(expression) or _sum(expression)
    if rule is None:
        raise ValueError(
            f"expression = {expression!r}: must be of the form 'x>>10', '(x+(x>>5)-(x>>7))>>10', "
            "'(x>>10)+(x>>15)' or 'x*1049>>20'"
        )
    if max(rule.shift, *(shift for _, shift in rule.terms), 0) > 63:
        raise ValueError(f"expression = {expression!r}: shifts must be 0 .. 63")
    if len(rule.terms) > MAX_TERMS:
        raise ValueError(f"expression = {expression!r}: must have at most {MAX_TERMS} terms")
    if not rule.terms and not 0 < rule.mult < 2**32:
        raise ValueError(f"expression = {expression!r}: the factor must be 1 .. {2**32 - 1}")
    return rule


def _product(expression):
    text = expression.replace(" ", "")
    match = re.fullmatch(rf"x\*({_NUMBER})>>({_NUMBER})", text)
    return match and _Rule(text, (), int(match[1]), int(match[2]))


def _sum(expression):
    text = expression.replace(" ", "")
    match = (
        re.fullmatch(rf"(?P<sum>x)>>(?P<shift>{_NUMBER})", text)
        or re.fullmatch(rf"\((?P<sum>{_SUM})\)>>(?P<shift>{_NUMBER})", text)
        or re.fullmatch(rf"(?P<sum>{_SUM})(?P<shift>)", text)
    )
    if not match:
        return None
    found = re.findall(rf"([+-]?)(?:x|\(x>>({_NUMBER})\))", match["sum"])
    terms = tuple((-1 if sign == "-" else 1, int(shift or 0)) for sign, shift in found)
    return _Rule(text, terms, 0, int(match["shift"] or 0))


def rule_of(expression):
    """The rule that a text describes."""
    if not isinstance(expression, str):
        raise TypeError(f"expression = {expression!r}: must be a string such as 'x>>10'")
    return _parse(expression)


def _monotone(expression):
    rule = rule_of(expression)
    if not rule.is_monotone:
        raise ValueError(
            f"expression = {expression!r}: its sum falls at multiples of a power of two; "
            "only sums that never fall as x grows are examined"
        )
    return rule


def approximate(ns, expression, **ufunc):
    """Nanoseconds to microseconds by an approximation, modulo 2^64 where that wraps.

    Parameters
    ----------
    ns : array_like of int
        Nanoseconds, unsigned 64 bit.
    expression : str
        One of `APPROXIMATIONS` or of the same form, with at most 8 terms.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        Microseconds; `wraps.approximate` tells where the sum or the product wrapped.

    Examples
    --------
    >>> from schedpy import clock
    >>> clock.approximate([999, 1000, 1_000_000], "(x+(x>>5))>>10").tolist()
    [1, 1, 1007]
    >>> clock.approximate([999, 1000, 1_000_000], "x*67109>>26").tolist()
    [0, 1, 1000]
    """
    return rule_of(expression)(u64(ns, "ns"), **ufunc)


def approximation(expression):
    """What can be said of an approximation: its coefficient, how long it is exact, where it wraps.

    Parameters
    ----------
    expression : str
        One of `APPROXIMATIONS` or of the same form, of a sum that never falls as x grows.

    Returns
    -------
    Approximation

    Notes
    -----
    A product whose excess e = mult * 1000 - 2^shift is above 0 first errs below a multiple of 1000 ns,
    1000 (k + 1), as soon as k microseconds have gathered enough of it: ``k * e >= 2^shift - 999 * mult``. One
    that is too small errs at 1000 already. Sums are walked until they err.

    Examples
    --------
    >>> from schedpy import clock
    >>> a = clock.approximation("x*1049>>20")
    >>> a.exact_below, round(a.error_pct, 4), a.wraps_from // (86_400 * 10**9)
    (2999, 0.0404, 203)
    """
    rule = _monotone(expression)
    error = rule.coefficient * 1000 - 1
    wraps = rule.wraps_from
    exact = min(_first_wrong(rule), WORD if wraps is None else wraps)
    return Approximation(rule.expression, rule.coefficient, float(error * 100), exact, wraps)


def _first_wrong(rule):
    if not rule.mult:
        return _first_wrong_sum(rule)
    excess = rule.mult * 1000 - (1 << rule.shift)
    if excess < 0:
        return 1000
    if excess == 0:
        return WORD
    k = max(0, -(-((1 << rule.shift) - 999 * rule.mult) // excess))
    return -(-((k + 1) << rule.shift) // rule.mult)


def _first_wrong_sum(rule):
    end = rule.wraps_from or WORD
    for us, first, _, low, high in _blocks(rule, end):
        wrong = (low != 0) | (high != 0)
        if wrong.any():
            k = int(np.argmax(wrong))
            return int(first[k]) if low[k] else _first_reaching(rule, int(first[k]), int(us[k]) + 1)
    return end


def _blocks(rule, below):
    """Microsecond by microsecond: their numbers, first and last ns, and the errors there."""
    for start in range(0, -(-below // 1000), BLOCKS):
        us = np.arange(start, min(start + BLOCKS, -(-below // 1000)), dtype=np.uint64)
        first = us * np.uint64(1000)
        last = np.minimum(first + np.uint64(999), np.uint64(below - 1))
        yield us, first, last, (rule(first) - us).view(np.int64), (rule(last) - us).view(np.int64)


def _first_reaching(rule, start, value):
    """The smallest x from ``start`` on whose result is ``value`` or more, within a microsecond."""
    x = np.arange(start, start + 1000, dtype=np.uint64)
    return start + int(np.argmax(rule(x) >= np.uint64(value)))


def approximation_bounds(expression, below):
    """Bounds of an approximation's error, derived and not searched for.

    Parameters
    ----------
    expression : str
        One of `APPROXIMATIONS` or of the same form.
    below : int
        For all x of 0 .. below - 1 ns, 1 .. 2^64, where the expression does not wrap.

    Returns
    -------
    ApproximationBounds
        Integers in us that hold every error. Those of `APPROXIMATIONS` shifted once are at most 1 us wide of
        the largest errors, of others at most 1 us for each term.

    Notes
    -----
    A shift by s takes off a fraction of at most 1 - 2^-s. With c the coefficient, P and M the sums of what
    added and subtracted terms can lose, and S the last shift, the result lies between

        c x - P / 2^S - (1 - 2^-S)   and   c x + M / 2^S,

    and ``x / 1000`` rounded down between x / 1000 - 0.999 and x / 1000. The error is an integer between the
    difference of these, whose part (c - 1/1000) x is largest at an end of the range.

    Examples
    --------
    >>> from schedpy import clock
    >>> bounds = clock.approximation_bounds("x>>10", 10**7)
    >>> bounds.low, bounds.high
    (-235, 0)
    """
    rule = _monotone(expression)
    below = _checked_below(rule, below, WORD)
    slope = (rule.coefficient - Fraction(1, 1000)) * (below - 1)
    added = sum(1 - Fraction(1, 1 << shift) for sign, shift in rule.terms if sign > 0)
    subtracted = sum(1 - Fraction(1, 1 << shift) for sign, shift in rule.terms if sign < 0)
    last = Fraction(1, 1 << rule.shift)
    low = min(slope, 0) - added * last - (1 - last)
    high = max(slope, 0) + subtracted * last + Fraction(999, 1000)
    return ApproximationBounds(-((-low).__floor__()), high.__floor__())


def approximation_error(expression, below):
    """The exact errors of an approximation over all ns below a limit.

    Parameters
    ----------
    expression : str
        One of `APPROXIMATIONS` or of the same form, of a sum that never falls as x grows.
    below : int
        For all x of 0 .. below - 1 ns, 1 .. 2^32, where the expression does not wrap. `approximation_bounds`
        has no such limit.

    Returns
    -------
    ApproximationError

    Notes
    -----
    Within a microsecond the quotient is constant and the result never falls: the error is least at its first
    ns and greatest at its last, and what matches lies between two points that a binary search finds. So not
    each ns is looked at but each microsecond.

    Examples
    --------
    >>> from schedpy import clock
    >>> error = clock.approximation_error("x>>10", 10**7)
    >>> error.max_under_us, error.under_at_ns, error.mismatches
    (-235, 9985000, 9978664)
    """
    rule = _monotone(expression)
    return _walk(rule, _checked_below(rule, below, FARTHEST))


def _checked_below(rule, below, most):
    if not (isinstance(below, int) and below == most):
        below = as_number(below, "below", low=1, high=most)
    if rule.wraps_from is not None and below > rule.wraps_from:
        raise ValueError(f"below = {below}: must be at most {rule.wraps_from}, where {rule.expression} wraps")
    return below


def _walk(rule, below):
    under, under_at, over, over_at, mismatches, relative = 0, 0, 0, 0, 0, 0.0
    for us, first, last, low, high in _blocks(rule, below):
        if low.min() < under:
            k = int(np.argmin(low))
            under, under_at = int(low[k]), int(first[k])
        if high.max() > over:
            k = int(np.argmax(high))
            over = int(high[k])
            over_at = _first_reaching(rule, int(first[k]), int(us[k]) + over)
        mismatches += _count_mismatches(rule, us, first, last, low, high)
        long = us >= 10
        if long.any():
            worst = np.maximum(np.abs(low), np.abs(high))[long] / us[long]
            relative = max(relative, float(worst.max() * 100))
    return ApproximationError(under, under_at, over, over_at, mismatches, relative)


def _count_mismatches(rule, us, first, last, low, high):
    count = int((last - first).sum()) + len(us)
    partly = (low <= 0) & (high >= 0)
    us, first, last = us[partly], first[partly], last[partly]
    matching = _search(rule, first, last, us + np.uint64(1)) - _search(rule, first, last, us)
    return count - int(matching.sum())


def _search(rule, first, last, value):
    """The smallest x of first .. last whose result is ``value`` or more, last + 1 if there is none."""
    first, above = first.copy(), last + np.uint64(1)
    while (open_ := first < above).any():
        middle = (first + above) >> np.uint64(1)
        reached = rule(middle) >= value
        above = np.where(open_ & reached, middle, above)
        first = np.where(open_ & ~reached, middle + np.uint64(1), first)
    return first
