# SPDX-License-Identifier: GPL-2.0-only
"""The rule of 5.7 .. 6.19 for a task in numba: what the core is compared with.

Written as one would write it for speed: only the sums behind the averages asked for, 64-bit integers
throughout, one pass, nothing kept but the answers, which go into arrays of the caller's. Every stream
starts at zero at its first event.
"""

import numpy as np
from numba import njit

LOAD_AVG_MAX = np.uint64(47742)
INVERSE = np.array([int((2**32 - 1) * 0.5 ** (i / 32)) for i in range(32)], np.uint64)

U0, U5, U10, U31, U32 = (np.uint64(x) for x in (0, 5, 10, 31, 32))
U1023, U1024, U2016 = np.uint64(1023), np.uint64(1024), np.uint64(2016)
SIGN = np.uint64(2**63)
LOW = np.uint64(2**32 - 1)


@njit(inline="always")
def _decay(value, shift, factor):
    return ((value >> shift) * factor) >> U32


@njit(nogil=True)
def util_avg(now, running, out):
    """util_avg of streams (streams, n), queued while they run."""
    for s in range(now.shape[0]):
        last, contrib, total, average = now[s, 0], U0, U0, U0
        for i in range(now.shape[1]):
            delta = now[s, i] - last
            if delta & SIGN:
                last = now[s, i]
            elif delta >> U10:
                delta >>= U10
                last += delta << U10
                elapsed = delta + contrib
                periods = elapsed >> U10
                rest = elapsed & U1023
                added = delta & LOW
                if periods:
                    shift, factor = periods >> U5, INVERSE[periods & U31]
                    if periods > U2016:
                        shift, factor = U0, U0
                    total = _decay(total, shift, factor)
                    added = _decay(U1024 - contrib, shift, factor) + rest
                    added += LOAD_AVG_MAX - _decay(LOAD_AVG_MAX, shift, factor) - U1024
                contrib = rest
                if running[s, i]:
                    total = (total + (added << U10)) & LOW
                if periods & LOW:
                    average = total // (LOAD_AVG_MAX - U1024 + rest)
            out[s, i] = average


@njit(nogil=True)
def util_and_load_avg(now, running, weight, util_out, load_out):
    """As util_avg, with the load_avg of a task of that weight."""
    for s in range(now.shape[0]):
        last, contrib, util, load, util_average, load_average = now[s, 0], U0, U0, U0, U0, U0
        for i in range(now.shape[1]):
            delta = now[s, i] - last
            if delta & SIGN:
                last = now[s, i]
            elif delta >> U10:
                delta >>= U10
                last += delta << U10
                elapsed = delta + contrib
                periods = elapsed >> U10
                rest = elapsed & U1023
                added = delta & LOW
                if periods:
                    shift, factor = periods >> U5, INVERSE[periods & U31]
                    if periods > U2016:
                        shift, factor = U0, U0
                    util = _decay(util, shift, factor)
                    load = _decay(load, shift, factor)
                    added = _decay(U1024 - contrib, shift, factor) + rest
                    added += LOAD_AVG_MAX - _decay(LOAD_AVG_MAX, shift, factor) - U1024
                contrib = rest
                if running[s, i]:
                    load += added
                    util = (util + (added << U10)) & LOW
                if periods & LOW:
                    divider = LOAD_AVG_MAX - U1024 + rest
                    util_average = util // divider
                    load_average = weight * load // divider
            util_out[s, i] = util_average
            load_out[s, i] = load_average


@njit(nogil=True)
def interleaved_util_avg(now, running, index, entities, out):
    """util_avg of one stream (n,) of the events of many entities."""
    lasts, contribs = np.zeros(entities, np.uint64), np.zeros(entities, np.uint64)
    totals, averages = np.zeros(entities, np.uint64), np.zeros(entities, np.uint64)
    for i in range(now.size - 1, -1, -1):
        lasts[index[i]] = now[i]
    for i in range(now.size):
        e = index[i]
        delta = now[i] - lasts[e]
        if delta & SIGN:
            lasts[e] = now[i]
        elif delta >> U10:
            delta >>= U10
            lasts[e] += delta << U10
            elapsed = delta + contribs[e]
            periods = elapsed >> U10
            rest = elapsed & U1023
            added = delta & LOW
            if periods:
                shift, factor = periods >> U5, INVERSE[periods & U31]
                if periods > U2016:
                    shift, factor = U0, U0
                totals[e] = _decay(totals[e], shift, factor)
                added = _decay(U1024 - contribs[e], shift, factor) + rest
                added += LOAD_AVG_MAX - _decay(LOAD_AVG_MAX, shift, factor) - U1024
            contribs[e] = rest
            if running[i]:
                totals[e] = (totals[e] + (added << U10)) & LOW
            if periods & LOW:
                averages[e] = totals[e] // (LOAD_AVG_MAX - U1024 + rest)
        out[i] = averages[e]


def python_util_avg(now, running):
    """util_avg of one stream: lists of int and of bool in, a list of int out."""
    inverse = INVERSE.tolist()
    last, contrib, total, average, out = now[0], 0, 0, 0, []
    for time, runs in zip(now, running, strict=True):
        delta = (time - last) >> 10
        if delta < 0:
            last = time
        elif delta:
            last += delta << 10
            periods, rest = divmod(delta + contrib, 1024)
            added = delta
            if periods:
                shift, factor = periods >> 5, inverse[periods & 31]
                if periods > 2016:
                    factor = 0
                total = ((total >> shift) * factor) >> 32
                added = (((1024 - contrib) >> shift) * factor >> 32) + rest
                added += 47742 - ((47742 >> shift) * factor >> 32) - 1024
            contrib = rest
            if runs:
                total += added << 10
            if periods:
                average = total // (47742 - 1024 + rest)
        out.append(average)
    return out
