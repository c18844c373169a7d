# SPDX-License-Identifier: GPL-2.0-only
"""PELT of 4.12 .. 6.19 in Python integers: one entity, one update at a time.

Written to be read beside the kernel functions: decay_load(), accumulate_sum() and
the division of ___update_load_avg(), with 64-bit longs.
"""

from dataclasses import dataclass, replace
from functools import cache

U32 = 2**32 - 1
U64 = 2**64 - 1


@dataclass(frozen=True)
class Tables:
    half_life: int
    inverse: tuple
    load_avg_max: int


@cache
def tables(half_life, load_avg_max=None):
    y = pow(0.5, 1 / half_life)
    inverse = tuple(int(U32 * pow(y, i)) for i in range(half_life))
    if load_avg_max is None:
        load_avg_max, before = 1024, 0
        while load_avg_max != before:
            before = load_avg_max
            load_avg_max = ((before * int(U32 * y)) >> 32) + 1024
    return Tables(half_life, inverse, load_avg_max)


@dataclass(frozen=True)
class State:
    last_update_time: int = 0
    load_sum: int = 0
    runnable_sum: int = 0
    util_sum: int = 0
    period_contrib: int = 0
    load_avg: int = 0
    runnable_avg: int = 0
    util_avg: int = 0


@dataclass(frozen=True)
class Event:
    now: int
    running: bool
    on_rq: bool = True
    weight: int = 1024
    runnable_weight: int = 1024
    nr_running: int = 1
    freq_scale: int = 1024
    cpu_scale: int = 1024


def decay(val, n, table):
    if n > 63 * table.half_life:
        return 0
    return ((val >> (n // table.half_life)) * table.inverse[n % table.half_life]) >> 32


def segments(periods, d1, d3, table):
    highest = table.load_avg_max
    return (decay(d1, periods, table) + highest - decay(highest, periods, table) - 1024 + d3) & U32


def what_callers_pass(version, entity, event):
    """load, runnable, and the multipliers of their averages."""
    if entity == "task":
        if version < (4, 15):
            return event.weight if event.on_rq else 0, None, 1, 1
        runnable_weight = event.runnable_weight if version < (5, 7) else 1
        return int(event.on_rq), int(event.on_rq), event.weight, runnable_weight
    if version < (4, 15):
        return event.weight, event.weight, 1, 1
    return event.weight, event.runnable_weight if version < (5, 7) else event.nr_running, 1, 1


def update(state, event, version, entity, table, threshold=0):
    """The state after one update, and whether the averages were refreshed."""
    delta = (event.now - state.last_update_time) & U64
    if delta >= 2**63:
        return replace(state, last_update_time=event.now), False
    delta >>= 10
    if delta == 0:
        return state, False
    load, runnable, _, _ = what_callers_pass(version, entity, event)
    running = event.running
    if version >= (4, 14) and load == 0:
        running = False
        runnable = 0 if version >= (4, 15) else runnable

    load_sum, runnable_sum, util_sum = state.load_sum, state.runnable_sum, state.util_sum
    periods, rest = divmod(delta + state.period_contrib, 1024)
    contrib = delta & U32
    if periods:
        load_sum = decay(load_sum, periods, table)
        util_sum = decay(util_sum, periods, table)
        if runnable is not None:
            runnable_sum = decay(runnable_sum, periods, table)
        contrib = segments(periods, 1024 - state.period_contrib, rest, table)
    if version < (5, 1):
        contrib = ((contrib * event.freq_scale & U64) >> 10) & U32
    load_sum = (load_sum + load * contrib) & U64
    if runnable is not None:
        added = runnable * contrib
        runnable_sum = (runnable_sum + (added << 10 if version >= (5, 7) else added)) & U64
    if running:
        added = contrib * event.cpu_scale if version < (5, 1) else contrib << 10
        util_sum = (util_sum + added) & U32

    state = replace(
        state,
        last_update_time=(state.last_update_time + (delta << 10)) & U64,
        load_sum=load_sum,
        runnable_sum=runnable_sum,
        util_sum=util_sum,
        period_contrib=rest,
    )
    if periods & U32 == 0 and not (threshold and delta >= threshold):
        return state, False
    averages = averages_now(state, event, version, entity, table)
    if runnable is None:
        del averages["runnable_avg"]
    return replace(state, **averages), True


def averages_now(state, event, version, entity, table):
    """The three averages as a refresh at this state would set them."""
    _, _, load_weight, runnable_weight = what_callers_pass(version, entity, event)
    divider = table.load_avg_max
    if version >= (4, 13):
        divider += state.period_contrib - 1024
    return {
        "load_avg": (load_weight * state.load_sum & U64) // divider,
        "runnable_avg": (runnable_weight * state.runnable_sum & U64) // divider,
        "util_avg": state.util_sum // divider,
    }
