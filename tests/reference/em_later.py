# SPDX-License-Identifier: GPL-2.0-only
"""Costs, flags and the choice of a state in 5.14 and later, in plain Python integers."""


def costs_times_1000(freqs, powers):
    return [freqs[-1] * (power * 1000) // freq for freq, power in zip(freqs, powers, strict=True)]


def costs(freqs, powers):
    return [freqs[-1] * power // freq for freq, power in zip(freqs, powers, strict=True)]


def performances(freqs, capacity):
    return [capacity * freq // freqs[-1] for freq in freqs]


def costs_by_performance(freqs, powers, capacity):
    return [10 * p // s for p, s in zip(powers, performances(freqs, capacity), strict=True)]


def flags(values):
    """Flagged where any higher state costs no more."""
    return [any(higher <= value for higher in values[i + 1 :]) for i, value in enumerate(values)]


def first(able, flagged, skip, last):
    return next((i for i, ok in able if ok and not (skip and flagged[i])), last)


def state_by_frequency(freqs, values, capacity, max_util, allowed, skip):
    util = min(max_util + max_util // 4, allowed)
    request = freqs[-1] * util // capacity
    able = ((i, freq >= request) for i, freq in enumerate(freqs))
    return first(able, flags(values), skip, len(freqs) - 1)


def state_by_performance(freqs, powers, capacity, util, skip, low, high):
    flagged = flags(costs_by_performance(freqs, powers, capacity))
    able = ((i, performances(freqs, capacity)[i] >= util) for i in range(low, high + 1))
    return first(able, flagged, skip, high)
