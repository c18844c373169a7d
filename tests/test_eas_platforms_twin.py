# SPDX-License-Identifier: GPL-2.0-only
"""Placement against its plain twins on platforms of 1 .. 64 CPUs, 1 .. 8 domains and 1 .. 128 states."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import eas as twin
from reference import eas_v6 as twin_v6
from reference import em as twin_em

from schedpy import eas, em

CASES = 6
KERNELS = ("5.12", "5.13", "6.1", "6.12", "7.3")


def domain(rng, numbers, nr_states):
    """(CPUs, capacity, frequencies, powers), with a performance above 0 in every state."""
    capacity = int(rng.choice([2, 256, 512, 1024, rng.integers(2, 1025)]))
    freqs = np.cumsum(rng.integers(1024, 200_000, nr_states))
    short = int(freqs[-1]) - int(freqs[0]) * capacity
    freqs += max(0, -(-short // (capacity - 1)))
    powers = rng.integers(1, 65536, nr_states)
    if rng.integers(2):
        powers.sort()
    return sorted(numbers.tolist()), capacity, freqs.tolist(), powers.tolist()


def around(rng, capacity, shape):
    """Values of the whole range, among them many that meet a CPU's capacity, its share that fits, or 0."""
    kind = rng.integers(0, 6, shape)
    special = np.select([kind == 0, kind == 1, kind == 2], [0, capacity, capacity * 4 // 5], -1)
    return np.where(special < 0, rng.integers(0, 1 + 2 * capacity) // rng.integers(1, 9, shape), special)


def machines(rng, domains, count):
    """CPUs of CASES machines: often equal within a machine, so that their number decides."""
    capacity = np.zeros(count, dtype=np.int64)
    for numbers, own, *_ in domains:
        capacity[numbers] = own
    cpus = np.zeros((CASES, count), dtype=eas.CPU)
    shape = cpus.shape
    for field in ("util_avg", "util_est", "runnable_avg"):
        cpus[field] = around(rng, capacity, shape)
    for field in ("rt", "dl", "bw_dl", "irq", "pressure"):
        seldom = rng.integers(0, 4, shape) == 0
        cpus[field] = np.where(seldom, np.minimum(around(rng, capacity, shape), capacity), 0)
    cpus["capacity_of"] = capacity - np.where(rng.integers(0, 3, shape) == 0, capacity // 3, 0)
    cpus["uclamp_min"] = np.where(rng.integers(0, 2, shape), rng.integers(0, 1025, shape), 0)
    cpus["uclamp_max"] = np.where(rng.integers(0, 2, shape), rng.integers(0, 1025, shape), 1024)
    cpus["uclamp_idle"] = rng.integers(0, 2, shape)
    cpus["rt_runnable"] = rng.integers(0, 5, shape) == 0
    cpus["online"] = rng.integers(0, 6, shape) > 0
    for numbers, *_ in domains:
        if rng.integers(2):
            cpus[:, numbers] = cpus[:, numbers[:1]]
    return cpus, capacity


def tasks(rng, capacity):
    prev_cpu = rng.integers(0, len(capacity), CASES)
    everywhere = rng.integers(0, 2, CASES) == 0
    return eas.task(
        prev_cpu=prev_cpu,
        **{
            field: around(rng, capacity[prev_cpu], CASES)
            for field in ("util_avg", "util_est", "runnable_avg")
        },
        uclamp_min=np.where(rng.integers(0, 2, CASES), rng.integers(0, 1025, CASES), 0),
        uclamp_max=np.where(rng.integers(0, 2, CASES), rng.integers(0, 1025, CASES), 1024),
        affinity=np.where(everywhere, 2**64 - 1, rng.integers(0, 2**64, CASES, dtype=np.uint64)).astype(
            np.uint64
        ),
    )


def plain(record):
    return {name: int(record[name]) for name in record.dtype.names}


def expected(kernel, domains, task, cpus, **how):
    """Of the twin, for one case."""
    if kernel.startswith("5"):
        tables = [twin_em.table(freqs, powers, flags=False) for *_, freqs, powers in domains]
        find = twin.find_energy_efficient_cpu
    else:
        tables = [twin_v6.table(freqs, powers, capacity, kernel) for _, capacity, freqs, powers in domains]
        find = twin_v6.find_energy_efficient_cpu
    described = [
        (numbers, capacity, table) for (numbers, capacity, *_), table in zip(domains, tables, strict=True)
    ]
    return find(described, plain(task), [plain(cpu) for cpu in cpus], kernel=kernel, **how)


def check(seed, nr_cpus, nr_domains, nr_states):
    rng = np.random.default_rng(seed)
    nr_domains = min(nr_domains, nr_cpus)
    cuts = np.sort(rng.choice(np.arange(1, nr_cpus), nr_domains - 1, replace=False))
    numbers = np.arange(nr_cpus) if rng.integers(2) else rng.permutation(nr_cpus)
    domains = [
        domain(rng, part, nr_states if i == 0 else int(rng.integers(1, nr_states + 1)))
        for i, part in enumerate(np.split(numbers, cuts))
    ]
    cpus, capacity = machines(rng, domains, nr_cpus)
    task = tasks(rng, capacity)
    uclamp_used = rng.integers(0, 2, CASES).astype(bool)
    domain_mask = np.array([0x5555_5555_5555_5555, *[2**64 - 1] * 3], np.uint64)[rng.integers(0, 4, CASES)]
    for kernel in KERNELS:
        model = em.EnergyModel(
            [
                em.PerfDomain(
                    str(i), own, freqs, powers, unit="mW" if kernel < "6" else "uW", capacity=capacity
                )
                for i, (own, capacity, freqs, powers) in enumerate(domains)
            ]
        )
        ours = eas.find_energy_efficient_cpu(
            model, task, cpus, kernel=kernel, uclamp_used=uclamp_used, domain_mask=domain_mask
        )
        for i in range(CASES):
            target, calls = expected(
                kernel,
                domains,
                task[i],
                cpus[i],
                uclamp_used=bool(uclamp_used[i]),
                domain_mask=int(domain_mask[i]),
            )
            assert ours.calls[i, : ours.count[i]].tolist() == calls, (kernel, i)
            assert ours.target[i] == target, (kernel, i)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 64), st.integers(1, 8), st.integers(1, 128))
@example(0, 64, 8, 128)
@example(1, 1, 1, 1)
@example(2, 64, 1, 128)
@example(3, 8, 8, 1)
def test_platforms_of_any_size(seed, nr_cpus, nr_domains, nr_states):
    check(seed, nr_cpus, nr_domains, nr_states)


def test_interrupts_that_take_all_of_prev_cpu():
    """At irq = capacity the share that is left is 0, but the task counts as a whole CPU of that capacity."""
    model = em.EnergyModel.load("pixel4")
    cpus = eas.idle_cpus(model, 3)
    cpus["util_avg"][:, 0] = 100
    cpus["irq"][:, 0] = [260, 261, 262]
    task = eas.task(prev_cpu=0, util_avg=100)
    for kernel in ("6.1", "6.12", "7.3"):
        ours = eas.find_energy_efficient_cpu(model, task, cpus, kernel=kernel)
        added = [
            {
                int(call["dst_cpu"]): int(call["energy"])
                for call in calls[:count]
                if call["domain"] == 1 and call["dst_cpu"] >= 0
            }
            for calls, count in zip(ours.calls, ours.count, strict=True)
        ]
        assert added[0] == {4: 0}, "100 * (261 - 260) / 261"
        pd = model["mid"]
        util = 100 if kernel == "6.1" else 125
        assert added[1] == added[2] == {4: int(pd.energy(util, 261, kernel=kernel))}


def test_the_energy_of_a_prev_cpu_under_pressure_still_sets_the_bar():
    """prev_cpu is the cheapest but out; the first of the two that are left stays, although the dearer one."""
    model = em.EnergyModel(
        [
            em.PerfDomain(name, [cpu], [1_000_000], [power], unit="uW", capacity=1024)
            for cpu, (name, power) in enumerate({"dear": 9000, "prev": 1000, "cheap": 5000}.items())
        ]
    )
    cpus = eas.idle_cpus(model)
    cpus["util_avg"][1] = 100
    cpus["pressure"][1] = 600
    task = eas.task(prev_cpu=1, util_avg=100, uclamp_min=600)
    for kernel in ("6.1", "6.12", "7.3"):
        ours = eas.find_energy_efficient_cpu(model, task, cpus, kernel=kernel, uclamp_used=True)
        calls = ours.calls[: int(ours.count)]
        assert calls["dst_cpu"].tolist() == [-1, 0, -1, 1, -1, 2]
        dear, prev, cheap = (int(energy) for energy in calls["energy"][1::2])
        assert prev < cheap < dear
        assert ours.target == 0
        cpus["pressure"][1] = 0
        unpressed = eas.find_energy_efficient_cpu(model, task, cpus, kernel=kernel, uclamp_used=True)
        assert unpressed.target == 1
        cpus["pressure"][1] = 600
