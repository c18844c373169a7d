# SPDX-License-Identifier: GPL-2.0-only
"""Placement by 6.1, 6.12 and 7.3 in plain Python integers, slow and obvious.

As in ``eas``: a task and a CPU are dicts, a domain is ``(cpus, scale_cpu, states)``.
"""

from . import em
from .eas import clamp, fits_capacity

NEVER = em.WORD - 1


def estimate(task):
    return task["util_est"] & ~(1 << 31)


def moved(cpu_value, task_value, number, prev, dst):
    """An average of a CPU once the task has gone from prev to dst."""
    if number == prev and dst != number:
        return max(cpu_value - task_value, 0)
    if number != prev and dst == number:
        return cpu_value + task_value
    return cpu_value


def cpu_util(task, cpu, number, dst, scale_cpu, boost=False):
    prev = task["prev_cpu"]
    util = moved(cpu["util_avg"], task["util_avg"], number, prev, dst)
    if boost:
        util = max(util, moved(cpu["runnable_avg"], task["runnable_avg"], number, prev, dst))
    est = cpu["util_est"] + (estimate(task) if dst == number else 0)
    return min(max(util, est), scale_cpu)


def busy_time(util_cfs, cpu, scale_cpu):
    """ENERGY utilisation, or actual."""
    util = util_cfs + cpu["rt"] + cpu["dl"]
    if cpu["irq"] >= scale_cpu or util >= scale_cpu:
        return scale_cpu
    return min(scale_cpu, util * (scale_cpu - cpu["irq"]) // scale_cpu + cpu["irq"])


def request_v6_1(util_cfs, cpu, scale_cpu, uclamp_used, task):
    """FREQUENCY utilisation; task: the one placed here, or None."""
    if not uclamp_used and cpu["rt_runnable"]:
        return scale_cpu
    if cpu["irq"] >= scale_cpu:
        return scale_cpu
    util = util_cfs + cpu["rt"]
    if uclamp_used:
        lows, highs = [cpu["uclamp_min"]], [cpu["uclamp_max"]]
        if task is not None:
            if cpu["uclamp_idle"]:
                lows, highs = [], []
            lows.append(task["uclamp_min"])
            highs.append(task["uclamp_max"])
        util = clamp(util, max(lows), max(highs))
    if util + cpu["dl"] >= scale_cpu:
        return scale_cpu
    return min(scale_cpu, util * (scale_cpu - cpu["irq"]) // scale_cpu + cpu["irq"] + cpu["bw_dl"])


def bounds_v6_12(cpu, scale_cpu, uclamp_used):
    if cpu["irq"] >= scale_cpu:
        return scale_cpu, scale_cpu
    low = max(cpu["irq"] + cpu["bw_dl"], cpu["uclamp_min"])
    if not uclamp_used and cpu["rt_runnable"]:
        low = max(low, scale_cpu)
    return low, min(scale_cpu, cpu["uclamp_max"])


def request_v6_12(util_cfs, cpu, scale_cpu, uclamp_used, task):
    low, high = bounds_v6_12(cpu, scale_cpu, uclamp_used)
    if task is not None and uclamp_used:
        low = max(low, task["uclamp_min"])
        high = task["uclamp_max"] if cpu["uclamp_idle"] else max(high, task["uclamp_max"])
    actual = busy_time(util_cfs, cpu, scale_cpu)
    return max(low, min(actual + actual // 4, high))


def util_fits_cpu(util, low, high, scale_cpu, cpu, uclamp_used):
    fits = fits_capacity(util, cpu["capacity_of"])
    if not uclamp_used:
        return int(fits)
    if high <= scale_cpu and not (scale_cpu == 1024 and high == 1024):
        fits = True
    low = min(low, high)
    if fits and util < low and low > scale_cpu - cpu["pressure"]:
        return -1
    return int(fits)


def energy_v6_1(states, scale_cpu, max_util, total, cap, skip):
    if total == 0:
        return 0
    util = min(max_util + max_util // 4, cap)
    request = states[-1].freq * util // scale_cpu
    chosen = next((s for s in states if s.freq >= request and not (skip and s.inefficient)), states[-1])
    return chosen.cost * total // scale_cpu


def energy_v6_12(states, scale_cpu, max_util, total, cap, skip):
    if total == 0:
        return 0
    util = min(max_util, cap)
    able = (
        s for s in states if scale_cpu * s.freq // states[-1].freq >= util and not (skip and s.inefficient)
    )
    return next(able, states[-1]).cost * total


def table(freqs, powers, scale_cpu, kernel):
    states = []
    for freq, power in zip(freqs, powers, strict=True):
        cost = freqs[-1] * power // freq if kernel == "6.1" else power * 10 // (scale_cpu * freq // freqs[-1])
        states.append(em.State(freq, power, cost))
    best = None
    for state in reversed(states):
        if best is not None and state.cost >= best:
            state.inefficient = True
        else:
            best = state.cost
    return states


def find_energy_efficient_cpu(
    domains, task, cpus, *, kernel, domain_mask, uclamp_used=False, overutilized=False, skip=True
):
    """(target, [(domain, dst_cpu, energy), ...])."""
    prev, calls = task["prev_cpu"], []
    later = kernel != "6.1"
    if not domain_mask >> prev & 1 or (overutilized and not later):
        return -1, calls
    if max(task["util_avg"], estimate(task)) == 0 and not (uclamp_used and task["uclamp_min"]):
        return prev, calls
    scale_prev = next(scale for numbers, scale, _ in domains if prev in numbers)
    irq = cpus[prev]["irq"]
    task_time = max(task["util_avg"], estimate(task)) * (scale_prev - irq) // scale_prev
    if irq >= scale_prev:
        task_time = scale_prev

    def energy(index, dst):
        numbers, scale_cpu, states = domains[index]
        online = [n for n in numbers if cpus[n]["online"]]
        cap = scale_cpu - cpus[online[0]]["pressure"]
        total = sum(busy_time(cpu_util(task, cpus[n], n, -1, scale_cpu), cpus[n], scale_cpu) for n in online)
        total = min(cap * len(online), total)
        if dst >= 0:
            total = min(cap * len(online), total + task_time)
        request = request_v6_12 if later else request_v6_1
        busiest = max(
            request(
                cpu_util(task, cpus[n], n, dst, scale_cpu, boost=later),
                cpus[n],
                scale_cpu,
                uclamp_used,
                task if n == dst else None,
            )
            for n in online
        )
        find = energy_v6_12 if later else energy_v6_1
        value = find(states, scale_cpu, min(cap, busiest), total, cap, skip)
        calls.append((index, dst, value))
        return value

    prev_delta = best_delta = NEVER
    prev_fits = best_fits = -1
    prev_cap = best_cap = 0
    best = prev
    for index, (numbers, scale_cpu, _) in enumerate(domains):
        online = [n for n in numbers if cpus[n]["online"]]
        if not online:
            continue
        cap = scale_cpu - cpus[online[0]]["pressure"]
        low, high = (task["uclamp_min"], task["uclamp_max"]) if uclamp_used else (0, 1024)
        prev_spare = max_spare = max_fits = fits_here = -1
        roomiest = None
        for n in online:
            if not (domain_mask >> n & 1 and task["affinity"] >> n & 1):
                continue
            cpu = cpus[n]
            util = cpu_util(task, cpu, n, n, scale_cpu)
            if uclamp_used and not cpu["uclamp_idle"]:
                low = max(cpu["uclamp_min"], task["uclamp_min"])
                high = max(cpu["uclamp_max"], task["uclamp_max"])
            fits = util_fits_cpu(util, low, high, scale_cpu, cpu, uclamp_used)
            spare = max(cpu["capacity_of"] - util, 0)
            if fits == 0:
                continue
            if n == prev:
                prev_spare, fits_here = spare, fits
            elif fits > max_fits or (fits == max_fits and spare > max_spare):
                roomiest, max_spare, max_fits = n, spare, fits
        if roomiest is None and prev_spare < 0:
            continue
        base = energy(index, -1)
        if prev_spare >= 0:
            prev_fits = fits_here
            with_prev = energy(index, prev)
            if with_prev < base:
                return prev, calls
            prev_delta, prev_cap = with_prev - base, cap
            best_delta = min(best_delta, prev_delta)
        if roomiest is None or max_spare <= prev_spare:
            continue
        if max_fits < best_fits or (max_fits < 0 and cap <= best_cap):
            continue
        with_task = energy(index, roomiest)
        if with_task < base:
            return prev, calls
        if max_fits > 0 and best_fits > 0 and with_task - base >= best_delta:
            continue
        best, best_fits, best_cap, best_delta = roomiest, max_fits, cap, with_task - base
    if (
        best_fits > prev_fits
        or (best_fits > 0 and best_delta < prev_delta)
        or (best_fits < 0 and best_cap > prev_cap)
    ):
        return best, calls
    return prev, calls
