# SPDX-License-Identifier: GPL-2.0-only
"""PELT of 3.8 .. 6.19 in Python integers: one entity, one update at a time.

Written to be read beside the kernel functions: decay_load(), accumulate_sum() and
the division of ___update_load_avg(); before 4.12 __update_load_avg(), in 3.8
__update_entity_runnable_avg().
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


@cache
def sums_of_windows():
    """1024 * (y + ... + y^n) for n = 0 .. 32, as kernels before 4.12 have them in a table."""
    y = pow(0.5, 1 / 32)
    sums = [0, int(1024 * y)]
    while len(sums) <= 32:
        sums.append(int(sums[-1] * y + 1024 * y))
    return sums


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
    """``irq_time``: ns, the running of an irq."""

    now: int
    running: bool
    on_rq: bool = True
    weight: int = 1024
    runnable_weight: int = 1024
    nr_running: int = 1
    freq_scale: int = 1024
    cpu_scale: int = 1024
    irq_time: int = 0


TABLES = tables(32)


@dataclass(frozen=True)
class Kernel:
    version: tuple
    entity: str = "task"
    table: Tables = TABLES
    threshold: int = 0
    long_bits: int = 64

    def long(self, value):
        """What is left of a value in an unsigned long."""
        return value % 2**self.long_bits


def decay(val, n, table):
    if n > 63 * table.half_life:
        return 0
    return ((val >> (n // table.half_life)) * table.inverse[n % table.half_life]) >> 32


def segments(periods, d1, d3, table):
    highest = table.load_avg_max
    return (decay(d1, periods, table) + highest - decay(highest, periods, table) - 1024 + d3) & U32


def contrib_of_windows(n, version):
    """n whole windows before 4.12."""
    sums = sums_of_windows()
    if n <= 32:
        return sums[n]
    if n >= 345:
        return 47742
    contrib = 0
    if version >= (4, 7):
        for _ in range(n // 32):
            contrib = contrib // 2 + sums[32]
        n %= 32
        return (decay(contrib, n, TABLES) if n else contrib) + sums[n]
    while n > 32:
        contrib = contrib // 2 + sums[32]
        n -= 32
    return decay(contrib, n, TABLES) + sums[n]


def what_callers_pass(kernel, event):
    """load, runnable, running, and the multipliers of the first two's averages."""
    version = kernel.version
    if kernel.entity in ("rt", "dl"):
        return int(event.running), int(event.running), event.running, 1, 1
    if kernel.entity == "irq":
        return 1, 1, True, 1, 1
    if kernel.entity == "task":
        if version < (4, 3):
            return int(event.on_rq), None, False, event.weight, 1
        if version < (4, 15):
            return event.weight if event.on_rq else 0, None, event.running, 1, 1
        runnable_weight = event.runnable_weight if version < (5, 7) else 1
        return int(event.on_rq), int(event.on_rq), event.running, event.weight, runnable_weight
    if version < (4, 15):
        return event.weight, event.weight, event.running, 1, 1
    runnable = event.runnable_weight if version < (5, 7) else event.nr_running
    return event.weight, runnable, event.running, 1, 1


def update(state, event, kernel):
    """The state after one update, and whether the averages were refreshed."""
    passed = what_callers_pass(kernel, event)[:3]
    if kernel.entity == "irq":
        time = event.irq_time
        if kernel.version >= (5, 1):
            for scale in (event.freq_scale, event.cpu_scale):
                time = (time * scale & U64) >> 10
        before = replace(event, now=(event.now - time) & U64)
        state, idle = update_sums(state, before, kernel, 0, 0, False)
        state, busy = update_sums(state, event, kernel, *passed)
        refresh = idle or busy
    else:
        state, refresh = update_sums(state, event, kernel, *passed)
    if not refresh:
        return state, False
    averages = averages_now(state, event, kernel)
    if passed[1] is None:
        del averages["runnable_avg"]
    if kernel.version < (4, 3):
        del averages["util_avg"]
    return replace(state, **averages), True


def update_sums(state, event, kernel, load, runnable, running):
    """The sums after one update, and whether the averages are to be refreshed."""
    delta = (event.now - state.last_update_time) & U64
    if delta >= 2**63:
        return replace(state, last_update_time=event.now), False
    delta >>= 10
    if delta == 0:
        return state, False
    if kernel.version < (4, 12):
        return before_4_12(state, event, kernel, delta, load, runnable, running)
    if kernel.version >= (4, 14) and load == 0:
        running = False
        runnable = 0 if kernel.version >= (4, 15) else runnable

    table, long = kernel.table, kernel.long
    load_sum, runnable_sum, util_sum = state.load_sum, state.runnable_sum, state.util_sum
    periods, rest = divmod(delta + state.period_contrib, 1024)
    contrib = delta & U32
    if periods:
        load_sum = decay(load_sum, periods, table)
        util_sum = decay(util_sum, periods, table)
        if runnable is not None:
            runnable_sum = decay(runnable_sum, periods, table)
        contrib = segments(periods, 1024 - state.period_contrib, rest, table)
    if kernel.version < (5, 1):
        contrib = (long(contrib * event.freq_scale) >> 10) & U32
    load_sum = (load_sum + long(load * contrib)) & U64
    if runnable is not None:
        added = long(runnable * contrib)
        if kernel.version >= (5, 7):
            added = long(added << 10)
        runnable_sum = (runnable_sum + added) & U64
    if running:
        added = contrib * event.cpu_scale if kernel.version < (5, 1) else contrib << 10
        util_sum = (util_sum + added) & U32

    state = replace(
        state,
        last_update_time=(state.last_update_time + (delta << 10)) & U64,
        load_sum=load_sum,
        runnable_sum=runnable_sum,
        util_sum=util_sum,
        period_contrib=rest,
    )
    return state, periods & U32 != 0 or (kernel.threshold != 0 and delta >= kernel.threshold)


def before_4_12(state, event, kernel, delta, load, runnable, running):
    """Fill the open window, decay, add the whole windows, begin a new one; the last update is now."""
    version, table = kernel.version, TABLES
    load_sum, runnable_sum, util_sum = state.load_sum, state.runnable_sum, state.util_sum

    def add(units, bits):
        nonlocal load_sum, runnable_sum, util_sum
        if version < (4, 3):
            load_sum = (load_sum + load * units) & U32
            runnable_sum = (runnable_sum + units) & U32
            return
        scaled = (units * event.freq_scale & U64) >> 10
        if version < (4, 4):
            util, weighted = scaled, load * units
        else:
            scaled %= 2**bits
            util, weighted = scaled * event.cpu_scale, load * scaled
        load_sum = (load_sum + weighted) & U64
        if runnable is not None:
            runnable_sum = (runnable_sum + weighted) & U64
        if running:
            util_sum = (util_sum + util) & U32

    contrib = runnable_sum % 1024 if version < (4, 3) else state.period_contrib
    ended = delta + contrib >= 1024
    if ended:
        add(1024 - contrib, 32)
        periods, delta = divmod(delta - (1024 - contrib), 1024)
        load_sum = decay(load_sum, periods + 1, table)
        if version < (4, 3) or runnable is not None:
            runnable_sum = decay(runnable_sum, periods + 1, table)
        if version >= (4, 3):
            util_sum = decay(util_sum, periods + 1, table)
        add(contrib_of_windows(periods, version), 32)
        contrib = 0
    add(delta, 64)
    state = replace(
        state,
        last_update_time=event.now,
        load_sum=load_sum,
        runnable_sum=runnable_sum,
        util_sum=util_sum,
        period_contrib=state.period_contrib if version < (4, 3) else contrib + delta,
    )
    return state, ended


def averages_now(state, event, kernel):
    """The three averages as a refresh at this state would set them."""
    _, _, _, load_weight, runnable_weight = what_callers_pass(kernel, event)
    divider, util_sum = kernel.table.load_avg_max, state.util_sum
    if kernel.version < (4, 3):
        passed = (state.runnable_sum + 1) & U32
        load_avg = (state.load_sum * load_weight & U32) // passed if passed else 0
        return {"load_avg": load_avg, "runnable_avg": 0, "util_avg": 0}
    if kernel.version < (4, 4):
        util_sum = util_sum << 10 & U32
    if kernel.version >= (4, 13):
        divider += state.period_contrib - 1024
    return {
        "load_avg": kernel.long((load_weight * state.load_sum & U64) // divider),
        "runnable_avg": kernel.long((runnable_weight * state.runnable_sum & U64) // divider),
        "util_avg": util_sum // divider,
    }
