# SPDX-License-Identifier: GPL-2.0-only
"""What surrounds the PELT update, in Python integers: new tasks, attach and detach, util_est, the PELT clock.

One entity and one step at a time; states are dicts, and what is given is not changed.
"""

U32 = 2**32 - 1
U64 = 2**64 - 1
LOAD_AVG_MAX = 47742


def subtract(a, b):
    return a - b if a >= b else 0


def divider(entity):
    return LOAD_AVG_MAX - 1024 + entity["period_contrib"]


def attach(se, cfs, version, weight):
    se, cfs = dict(se), dict(cfs)
    se["last_update_time"] = cfs["last_update_time"]
    if version >= (4, 15):
        se["period_contrib"] = cfs["period_contrib"]
        div = divider(cfs)
        se["util_sum"] = se["util_avg"] * div & U32
        load = se["load_avg"] * div & U64
        if version >= (5, 18):
            se["load_sum"] = load // weight if weight < load else 1
        else:
            se["load_sum"] = load // weight if weight else div
        if version >= (5, 7):
            se["runnable_sum"] = se["runnable_avg"] * div & U64
        else:
            se["runnable_sum"] = se["load_sum"]
    factor = weight if version >= (4, 15) else 1
    cfs["load_avg"] = cfs["load_avg"] + se["load_avg"] & U64
    cfs["load_sum"] = cfs["load_sum"] + factor * se["load_sum"] & U64
    cfs["util_avg"] = cfs["util_avg"] + se["util_avg"] & U64
    cfs["util_sum"] = cfs["util_sum"] + se["util_sum"] & U32
    if version >= (5, 7):
        cfs["runnable_avg"] = cfs["runnable_avg"] + se["runnable_avg"] & U64
        cfs["runnable_sum"] = cfs["runnable_sum"] + se["runnable_sum"] & U64
    return se, cfs


def detach(se, cfs, version, weight):
    cfs = dict(cfs)
    factor = weight if version >= (4, 15) else 1
    kinds = {"load": factor, "util": 1} | ({"runnable": 1} if version >= (5, 7) else {})
    for kind, times in kinds.items():
        avg, total = f"{kind}_avg", f"{kind}_sum"
        cfs[avg] = subtract(cfs[avg], se[avg])
        cfs[total] = subtract(cfs[total], times * se[total] & U64)
        if version >= (5, 18):
            cfs[total] = max(cfs[total] & U32, cfs[avg] * (LOAD_AVG_MAX - 1024) & U32)
    return dict(se), cfs


def scale_load_down(raw, version):
    return max(2, raw >> 10) if raw and version >= (5, 7) else raw >> 10


def post_init_entity_util_avg(version, cfs_util_avg, cfs_load_avg, capacity, se_load_weight_raw):
    cap = (1024 if version < (4, 15) else capacity) - cfs_util_avg
    cap = abs(cap) // 2 * (1 if cap > 0 else -1)
    if cap <= 0:
        return 0
    if cfs_util_avg == 0:
        return cap
    weight = scale_load_down(se_load_weight_raw, version) if version >= (6, 10) else se_load_weight_raw
    return min((cfs_util_avg * weight & U64) // (cfs_load_avg + 1), cap)


def near(value):
    """Whether a difference of two 32-bit words is less than 1 % of 1024."""
    value &= U32
    return value < 10 or value > U32 - 9


def util_est(state, version, given):
    """The state and what was seen on the way, for one enqueue followed by one dequeue."""
    word, ewma, cfs = state["task_enqueued_raw"], state["task_ewma"], state["cfs_enqueued"]
    flag = 1 if version < (5, 13) else 1 << 31

    def estimate():
        est = max(word if flag == 1 else word & ~flag, ewma)
        return est | 1 if (5, 1) <= version < (5, 13) else est

    def on_queue():
        return estimate() | 1 if flag == 1 else estimate()

    seen = {"task_util_est_at_enqueue": max(given["util_enqueue"], estimate())}
    cfs = cfs + on_queue() & U32
    seen["cfs_enqueued_between"] = cfs
    if given["util_changed"]:
        word &= ~flag
    cfs = subtract(cfs, on_queue())
    seen["cfs_enqueued_after"] = cfs
    if given["task_sleep"] and not word & flag:
        learn = single_word if version >= (6, 8) else two_words
        word, ewma = learn(word, ewma, version, given)
    seen["task_util_est_after"] = max(given["util_dequeue"], estimate())
    return {"task_enqueued_raw": word, "task_ewma": ewma, "cfs_enqueued": cfs}, seen


def two_words(word, ewma, version, given):
    util, flag = given["util_dequeue"], 1 if version < (5, 13) else 1 << 31
    new = util | 1 if flag == 1 else util
    if version >= (5, 5) and ewma < new:
        return new | flag, new
    difference = new - ewma
    if near(difference):
        return (word if version < (5, 13) or near(word - new) else new | flag), ewma
    if version >= (5, 1) and util > given["capacity"]:
        return word, ewma
    return new | flag, (4 * ewma + difference & U32) >> 2


def single_word(ewma, unused, version, given):
    util, flag = given["util_dequeue"], 1 << 31
    if ewma <= util:
        return util | flag, unused
    if ewma - util < 10:
        return ewma | flag, unused
    if version < (6, 19) and util > given["capacity"]:
        return ewma, unused
    if util + 10 < given["runnable_avg"]:
        return ewma | flag, unused
    return (4 * ewma - (ewma - util) & U32) >> 2 | flag, unused


def clock_pelt(state, version, given):
    s = dict(state)
    delta = given["delta_ns"] * given["multiplier"] & U64
    s["clock_task"] = s["clock_task"] + delta & U64

    def catch_up():
        s["clock_pelt"] = s["clock_task"]
        if version >= (6, 0):
            s["clock_idle"] = s["clock_task"]
            s["clock_pelt_idle"] = s["clock_pelt"] - s["lost_idle_time"] & U64

    if given["curr_is_idle"]:
        catch_up()
    else:
        scaled = (delta * given["cpu_scale"] & U64) >> 10
        scaled = (scaled * given["freq_scale"] & U64) >> 10
        s["clock_pelt"] = s["clock_pelt"] + scaled & U64
    if given["entering_idle"]:
        if given["util_sum"] >= ((LOAD_AVG_MAX - 1024) << 10) - LOAD_AVG_MAX:
            s["lost_idle_time"] = s["lost_idle_time"] + s["clock_task"] - s["clock_pelt"] & U64
        if version >= (6, 0):
            catch_up()
    return s
