# SPDX-License-Identifier: GPL-2.0-only
"""Placement by 5.12 and 5.13 in plain Python integers, slow and obvious.

A task and a CPU are dicts with the fields of ``eas.TASK`` and ``eas.CPU``; a
domain is ``(cpus, scale_cpu, states)``.
"""

from . import em

WORD = em.WORD
NEVER = WORD - 1


def task_util_est(util_est, kernel):
    return util_est | 1 if kernel == "5.12" else util_est & ~(1 << 31)


def fits_capacity(util, capacity):
    return util * 1280 % WORD < capacity * 1024 % WORD


def cpu_util(task, cpu, number, dst, scale_cpu, kernel):
    util = cpu["util_avg"]
    if number == task["prev_cpu"] and dst != number:
        util = max(util - task["util_avg"], 0)
    if number != task["prev_cpu"] and dst == number:
        util += task["util_avg"]
    est = cpu["util_est"]
    if dst == number:
        est += task_util_est(task["util_est"], kernel)
    return min(max(util, est), scale_cpu)


def clamp(util, lo, hi):
    return lo if lo >= hi else min(max(util, lo), hi)


def effective(kind, util_cfs, cpu, scale_cpu, uclamp_used, task=None):
    if kind == "frequency" and not uclamp_used and cpu["rt_runnable"]:
        return scale_cpu
    if cpu["irq"] >= scale_cpu:
        return scale_cpu
    util = util_cfs + cpu["rt"]
    if kind == "frequency" and uclamp_used:
        lo, hi = cpu["uclamp_min"], cpu["uclamp_max"]
        if task is not None:
            lo, hi = max(lo, task["uclamp_min"]), max(hi, task["uclamp_max"])
        util = clamp(util, lo, hi)
    if util + cpu["dl"] >= scale_cpu:
        return scale_cpu
    if kind == "energy":
        util += cpu["dl"]
    util = util * (scale_cpu - cpu["irq"]) // scale_cpu + cpu["irq"]
    if kind == "frequency":
        util += cpu["bw_dl"]
    return min(util, scale_cpu)


def compute_energy(domain, task, cpus, dst, kernel, uclamp_used, find):
    numbers, scale_cpu, states = domain
    total, busiest = 0, 0
    for n in numbers:
        cpu = cpus[n]
        if not cpu["online"]:
            continue
        util = cpu_util(task, cpu, n, dst, scale_cpu, kernel)
        running = util
        if kernel == "5.13" and n == dst:
            running = cpu_util(task, cpu, n, -1, scale_cpu, kernel) + max(
                task["util_avg"], task_util_est(task["util_est"], kernel)
            )
        total += effective("energy", running, cpu, scale_cpu, uclamp_used)
        joined = task if n == dst else None
        busiest = max(busiest, effective("frequency", util, cpu, scale_cpu, uclamp_used, joined))
    return em.energy(states, scale_cpu, busiest, total, find)


def find_energy_efficient_cpu(
    domains, task, cpus, *, kernel, domain_mask, uclamp_used=False, overutilized=False, find=em.walk
):
    """(target, [(domain, dst_cpu, energy), ...])."""
    prev = task["prev_cpu"]
    calls = []
    if overutilized or not domain_mask >> prev & 1:
        return -1, calls
    if max(task["util_avg"], task_util_est(task["util_est"], kernel)) == 0:
        return prev, calls

    def energy(index, dst):
        value = compute_energy(domains[index], task, cpus, dst, kernel, uclamp_used, find)
        calls.append((index, dst, value))
        return value

    best, base = prev, 0
    prev_delta = best_delta = NEVER
    for index, (numbers, scale_cpu, _) in enumerate(domains):
        base_pd = energy(index, -1)
        base += base_pd
        spare_max, candidate = 0, None
        for n in numbers:
            if not (domain_mask >> n & 1 and task["affinity"] >> n & 1):
                continue
            capacity = cpus[n]["capacity_of"]
            util = cpu_util(task, cpus[n], n, n, scale_cpu, kernel)
            spare = max(capacity - util, 0)
            if uclamp_used:
                util = clamp(
                    util,
                    max(cpus[n]["uclamp_min"], task["uclamp_min"]),
                    max(cpus[n]["uclamp_max"], task["uclamp_max"]),
                )
            if not fits_capacity(util, capacity):
                continue
            if n == prev:
                prev_delta = (energy(index, prev) - base_pd) % WORD
                best_delta = min(best_delta, prev_delta)
            if spare > spare_max:
                spare_max, candidate = spare, n
        if candidate is not None and candidate != prev:
            delta = (energy(index, candidate) - base_pd) % WORD
            if delta < best_delta:
                best_delta, best = delta, candidate
    if prev_delta == NEVER or (prev_delta - best_delta) % WORD > (prev_delta + base) % WORD >> 4:
        return best, calls
    return prev, calls
