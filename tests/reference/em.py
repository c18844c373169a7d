# SPDX-License-Identifier: GPL-2.0-only
"""The energy model of 5.12 in plain Python integers, slow and obvious."""

import itertools
from dataclasses import dataclass

WORD = 2**64


@dataclass
class State:
    freq: int
    power: int
    cost: int
    inefficient: bool = False


def refused(freqs, powers, limit):
    """Whether registration answers EINVAL."""
    steps = zip([0, *freqs], freqs, strict=False)
    return any(now <= before for before, now in steps) or any(not 0 < p <= limit for p in powers)


def table(freqs, powers, *, flags):
    """States with their cost and, with the 2021 patch, their flag."""
    states = [State(f, p, freqs[-1] * p % WORD // f) for f, p in zip(freqs, powers, strict=True)]
    if flags:
        best = states[-1].cost % 2**32
        for state in reversed(states[:-1]):
            if state.cost >= best:
                state.inefficient = True
            else:
                best = state.cost % 2**32
    return states


def lut(states):
    """(shift, list of state indexes) of the 2021 look-up table."""
    efficient = [i for i, s in enumerate(states) if not s.inefficient]
    freqs = [states[i].freq for i in efficient]
    gaps = [b - a for a, b in itertools.pairwise(freqs)]
    width = max(min(gaps, default=WORD - 1), 1024)
    shift = width.bit_length() - 1
    entries = []
    for i in range(((freqs[-1] - freqs[0]) >> shift) + 1):
        edge = freqs[0] + (i << shift)
        entries.append(next(e for e in efficient if states[e].freq >= edge))
    return shift, entries


def walk(states, freq):
    for i, state in enumerate(states):
        if state.freq >= freq:
            return i
    return len(states) - 1


def lookup(states, freq):
    """Index of a state, or -1 where the patch reads past the table's end."""
    shift, entries = lut(states)
    first = states[entries[0]].freq
    if freq <= first:
        return entries[0]
    if freq >= states[-1].freq:
        return len(states) - 1
    i = (freq - first) >> shift
    if states[entries[i]].freq < freq:
        i += 1
    return entries[i] if i < len(entries) else -1


def map_util_freq(util, freq, cap):
    return (freq + freq // 4) * util % WORD // cap


def map_util_freq_v514(util, freq, cap):
    return freq * util % WORD // cap


def energy(states, scale_cpu, max_util, sum_util, find=walk):
    """Energy of a domain, None where the look-up fails."""
    if sum_util == 0:
        return 0
    i = find(states, map_util_freq(max_util, states[-1].freq, scale_cpu))
    return None if i < 0 else states[i].cost * sum_util % WORD // scale_cpu
