# SPDX-License-Identifier: GPL-2.0-only
"""Energy model and placement against their plain twins, on what the known answers do not reach."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import eas as twin
from reference import eas_v6 as twin_v6
from reference import em as twin_em

from schedpy import _core, eas, em

#: Values that often meet exactly, among values from the whole range.
EDGES = st.sampled_from([0, 1, 255, 256, 257, 511, 512, 513, 1023, 1024])
UTIL = st.one_of(EDGES, st.integers(0, 1300))
CAPACITY = st.one_of(st.sampled_from([1, 256, 512, 513, 1024]), st.integers(1, 1024))
CLAMP = st.one_of(EDGES, st.integers(0, 1024))


WIDE = st.integers(1024, 400_000)
CLOSE_OR_WIDE = st.one_of(st.integers(1, 2000), WIDE)


@st.composite
def states(draw, gaps=CLOSE_OR_WIDE):
    """(frequencies, powers), among them states closer than a bin of the look-up table."""
    steps = draw(st.lists(gaps, min_size=1, max_size=12))
    freqs = np.cumsum(steps).tolist()
    powers = draw(st.lists(st.integers(1, 65535), min_size=len(freqs), max_size=len(freqs)))
    return freqs, sorted(powers) if draw(st.booleans()) else powers


@given(states(), CAPACITY, st.lists(st.integers(0, 5_000_000), max_size=20), st.booleans())
def test_states(model, capacity, requests, flags):
    freqs, powers = model
    pd = em.PerfDomain("one", [0], freqs, powers, unit="mW", capacity=capacity)
    expected = twin_em.table(freqs, powers, flags=flags)
    table = pd.table(kernel="5.12" if flags else "5.13")
    assert table["cost"].tolist() == [s.cost for s in expected]
    assert table["inefficient"].tolist() == [s.inefficient for s in expected]
    lut = pd.lut(flags)
    assert (lut.shift, lut.entries.tolist()) == twin_em.lut(expected)

    requests += freqs
    walk = pd.get_efficient_state(requests, kernel="5.12")
    assert walk.tolist() == [twin_em.walk(expected, r) for r in requests]
    by_lut = pd.get_efficient_state(requests, kernel="5.12", method="lut", skip_inefficient=flags)
    assert by_lut.tolist() == [twin_em.lookup(expected, r) for r in requests]


@given(
    st.lists(st.integers(0, 4), max_size=4),
    st.lists(st.integers(0, 4), min_size=4, max_size=4),
    st.integers(0, 4),
)
@example([0, 1], [1, 1, 1, 1], 4)
@example([1, 1], [1, 1, 1, 1], 4)
@example([2, 1], [1, 1, 1, 1], 4)
@example([1, 2], [1, 0, 1, 1], 4)
@example([1, 2], [4, 5, 1, 1], 4)
def test_registration(freqs, powers, limit):
    powers = powers[: len(freqs)]
    first = next(
        (n for n in range(len(freqs)) if twin_em.refused(freqs[: n + 1], powers[: n + 1], limit)), -1
    )
    columns = np.array([freqs, powers], dtype=np.uint64)
    assert _core.em_first_refused(*columns, limit) == first


@given(states(), CAPACITY, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_energy_wraps_as_the_kernel_does(model, capacity, max_util, sum_util):
    freqs, powers = model
    pd = em.PerfDomain("one", [0], freqs, powers, unit="mW", capacity=capacity)
    expected = twin_em.table(freqs, powers, flags=True)
    assert pd.energy(max_util, sum_util, kernel="5.12") == twin_em.energy(
        expected, capacity, max_util, sum_util
    )
    by_lut = twin_em.energy(expected, capacity, max_util, sum_util, twin_em.lookup)
    if by_lut is None:
        with pytest.raises(ValueError, match=r"^max_util: the request of"):
            pd.energy(max_util, sum_util, kernel="5.12", method="lut")
    else:
        assert pd.energy(max_util, sum_util, kernel="5.12", method="lut") == by_lut


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(1, 2**64 - 1))
@example(2**64 - 1, 2**64 - 1, 3)
@example(2**63, 2**33, 1)
def test_map_util_freq(util, freq, cap):
    assert em.map_util_perf(util) == (util + util // 4) % 2**64
    assert em.map_util_freq(util, freq, cap, kernel="5.12") == twin_em.map_util_freq(util, freq, cap)
    assert em.map_util_freq(util, freq, cap, kernel="5.14") == twin_em.map_util_freq_v514(util, freq, cap)


RUN_QUEUE = st.fixed_dictionaries(
    {
        "util_avg": UTIL,
        "util_est": UTIL,
        "runnable_avg": UTIL,
        "rt": st.one_of(st.just(0), UTIL),
        "dl": st.one_of(st.just(0), UTIL),
        "bw_dl": st.one_of(st.just(0), UTIL),
        "irq": st.one_of(st.just(0), UTIL),
        "capacity_of": st.integers(0, 1024),
        "pressure": st.integers(0, 1024),
        "uclamp_min": CLAMP,
        "uclamp_max": CLAMP,
        "uclamp_idle": st.booleans(),
        "rt_runnable": st.booleans(),
        "online": st.sampled_from([True, True, True, False]),
    }
)


@settings(max_examples=1000)
@given(RUN_QUEUE, CAPACITY, st.booleans(), st.booleans(), CLAMP, CLAMP)
def test_effective_util(cpu, capacity, uclamp_used, has_task, lo, hi):
    task = {"uclamp_min": lo, "uclamp_max": hi}
    ours = eas.effective_cpu_util(
        cpu["util_avg"],
        kernel="5.12",
        max=capacity,
        **{name: cpu[name] for name in ("rt", "dl", "bw_dl", "irq", "rt_runnable")},
        rq_uclamp_min=cpu["uclamp_min"],
        rq_uclamp_max=cpu["uclamp_max"],
        rq_uclamp_idle=cpu["uclamp_idle"],
        uclamp_used=uclamp_used,
        task_uclamp_min=lo,
        task_uclamp_max=hi,
        has_task=has_task,
    )
    joined = task if has_task else None
    for kind, value in (("frequency", ours.freq_util), ("energy", ours.energy_util)):
        assert value == twin.effective(kind, cpu["util_avg"], cpu, capacity, uclamp_used, joined)


FLAGGED = st.builds(lambda util, flag: util | flag << 31, UTIL, st.booleans())


@given(st.integers(0, 3), st.integers(-1, 3), st.integers(0, 3), UTIL, FLAGGED, UTIL, UTIL, CAPACITY)
def test_cpu_util(cpu, dst, prev, util, est, rq_util, rq_est, capacity):
    for kernel in ("5.12", "5.13"):
        ours = eas.cpu_util(
            cpu,
            dst,
            kernel=kernel,
            prev_cpu=prev,
            util_avg=util,
            util_est=est,
            cpu_util_avg=rq_util,
            cpu_util_est=rq_est,
            scale_cpu=capacity,
        )
        task = {"prev_cpu": prev, "util_avg": util, "util_est": est}
        rq = {"util_avg": rq_util, "util_est": rq_est}
        assert ours == twin.cpu_util(task, rq, cpu, dst, capacity, kernel)


@st.composite
def machine(draw):
    """Up to four domains of up to three CPUs, the numbers of a domain not always in a row."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    numbers = draw(st.permutations(range(sum(sizes))))
    domains, at = [], 0
    for size in sizes:
        freqs, powers = draw(states(WIDE))
        domains.append((sorted(numbers[at : at + size]), draw(CAPACITY), freqs, powers))
        at += size
    return domains


TASK = {
    "util_avg": st.one_of(st.just(0), UTIL),
    "util_est": st.one_of(st.just(0), UTIL),
    "uclamp_min": CLAMP,
    "uclamp_max": CLAMP,
}


@settings(max_examples=400, deadline=None)
@given(machine(), st.data())
def test_placement(domains, data):
    """prev_cpu may be offline, outside the affinity or outside the asymmetric domain."""
    count = sum(len(numbers) for numbers, *_ in domains)
    masks = st.one_of(st.just(2**count - 1), st.integers(0, 2**count - 1))
    task = data.draw(st.fixed_dictionaries(TASK | {"prev_cpu": st.integers(0, count - 1), "affinity": masks}))
    cpus = data.draw(st.lists(RUN_QUEUE, min_size=count, max_size=count))
    domain_mask = data.draw(masks)
    uclamp_used = data.draw(st.booleans())
    overutilized = data.draw(st.integers(0, 9)) == 9

    model = em.EnergyModel(
        [
            em.PerfDomain(str(i), numbers, freqs, powers, unit="mW", capacity=capacity)
            for i, (numbers, capacity, freqs, powers) in enumerate(domains)
        ]
    )
    array = np.zeros(count, dtype=eas.CPU)
    for number, cpu in enumerate(cpus):
        for field, value in cpu.items():
            array[field][number] = value

    for kernel, method, skip in (
        ("5.12", "walk", True),
        ("5.13", "walk", True),
        ("5.12", "lut", True),
        ("5.12", "lut", False),
    ):
        flags = method == "lut" and skip
        target, calls = twin.find_energy_efficient_cpu(
            [
                (numbers, capacity, twin_em.table(freqs, powers, flags=flags))
                for numbers, capacity, freqs, powers in domains
            ],
            task,
            cpus,
            kernel=kernel,
            domain_mask=domain_mask,
            uclamp_used=uclamp_used,
            overutilized=overutilized,
            find=twin_em.lookup if method == "lut" else twin_em.walk,
        )
        ours = eas.find_energy_efficient_cpu(
            model,
            eas.task(**task),
            array,
            kernel=kernel,
            method=method,
            skip_inefficient=skip,
            uclamp_used=uclamp_used,
            overutilized=overutilized,
            domain_mask=domain_mask,
        )
        assert ours.target == target
        assert ours.calls[: int(ours.count)].tolist() == calls


@settings(max_examples=600, deadline=None)
@given(machine(), st.data())
def test_placement_of_later_kernels(domains, data):
    """Pressure, clamps with pressure, prev_cpu offline or outside the affinity among them."""
    count = sum(len(numbers) for numbers, *_ in domains)
    capacity_of = {n: capacity for numbers, capacity, *_ in domains for n in numbers}
    masks = st.one_of(st.just(2**count - 1), st.integers(0, 2**count - 1))
    more = {"prev_cpu": st.integers(0, count - 1), "affinity": masks, "runnable_avg": UTIL}
    task = data.draw(st.fixed_dictionaries(TASK | more))
    cpus = data.draw(st.lists(RUN_QUEUE, min_size=count, max_size=count))
    for n, cpu in enumerate(cpus):
        cpu["pressure"] = min(cpu["pressure"], capacity_of[n]) if data.draw(st.booleans()) else 0
    domain_mask, uclamp_used, skip = data.draw(masks), data.draw(st.booleans()), data.draw(st.booleans())
    overutilized = data.draw(st.integers(0, 9)) == 9
    model = em.EnergyModel(
        [
            em.PerfDomain(str(i), numbers, freqs, powers, unit="uW", capacity=capacity)
            for i, (numbers, capacity, freqs, powers) in enumerate(domains)
        ]
    )
    array = np.zeros(count, dtype=eas.CPU)
    for number, cpu in enumerate(cpus):
        for field, value in cpu.items():
            array[field][number] = value
    nothing = any(freqs[0] * capacity < freqs[-1] for _, capacity, freqs, _ in domains)
    for kernel in ("6.1", "6.12", "7.3"):
        how = {"kernel": kernel, "domain_mask": domain_mask, "uclamp_used": uclamp_used}
        how["overutilized"] = overutilized and kernel == "6.1"
        if nothing and kernel != "6.1":
            with pytest.raises(ValueError, match="would divide by zero"):
                eas.find_energy_efficient_cpu(model, eas.task(**task), array, **how)
            continue
        target, calls = twin_v6.find_energy_efficient_cpu(
            [
                (numbers, capacity, twin_v6.table(freqs, powers, capacity, kernel))
                for numbers, capacity, freqs, powers in domains
            ],
            task,
            cpus,
            skip=skip,
            **how,
        )
        ours = eas.find_energy_efficient_cpu(model, eas.task(**task), array, skip_inefficient=skip, **how)
        assert ours.calls[: int(ours.count)].tolist() == calls
        assert ours.target == target


@settings(max_examples=500)
@given(RUN_QUEUE, CAPACITY, st.booleans(), st.booleans(), CLAMP, CLAMP)
def test_effective_util_of_later_kernels(cpu, capacity, uclamp_used, has_task, lo, hi):
    given = {name: cpu[name] for name in ("rt", "dl", "bw_dl", "irq", "rt_runnable")}
    given |= {f"rq_uclamp_{name}": cpu[f"uclamp_{name}"] for name in ("min", "max", "idle")}
    given |= {"uclamp_used": uclamp_used, "has_task": has_task, "task_uclamp_min": lo, "task_uclamp_max": hi}
    task = {"uclamp_min": lo, "uclamp_max": hi} if has_task else None
    util = cpu["util_avg"]
    for kernel, request in (("6.1", twin_v6.request_v6_1), ("6.12", twin_v6.request_v6_12)):
        ours = eas.effective_cpu_util(util, kernel=kernel, max=capacity, **given)
        assert ours.freq_util == request(util, cpu, capacity, uclamp_used, task)
        assert ours.energy_util == twin_v6.busy_time(util, cpu, capacity)
    assert (ours.min, ours.max) == twin_v6.bounds_v6_12(cpu, capacity, uclamp_used)


@settings(max_examples=500)
@given(RUN_QUEUE, CAPACITY, UTIL, CLAMP, CLAMP, st.booleans())
def test_fits_of_later_kernels(cpu, capacity, util, lo, hi, uclamp_used):
    cpu["pressure"] = min(cpu["pressure"], capacity)
    for kernel in ("6.1", "7.3"):
        ours = eas.util_fits_cpu(
            util,
            cpu["capacity_of"],
            kernel=kernel,
            uclamp_min=lo,
            uclamp_max=hi,
            capacity_orig=capacity,
            pressure=cpu["pressure"],
            uclamp_used=uclamp_used,
        )
        assert ours == twin_v6.util_fits_cpu(util, lo, hi, capacity, cpu, uclamp_used)


@given(
    st.integers(0, 3),
    st.integers(-1, 3),
    st.integers(0, 3),
    st.lists(FLAGGED, min_size=6, max_size=6),
    CAPACITY,
)
def test_cpu_util_of_later_kernels(cpu, dst, prev, utils, capacity):
    names = ("util_avg", "util_est", "runnable_avg")
    task = {"prev_cpu": prev} | dict(zip(names, utils[:3], strict=True))
    rq = dict(zip(names, utils[3:], strict=True))
    given = {"prev_cpu": prev, "util_avg": utils[0], "util_est": utils[1], "scale_cpu": capacity}
    given |= {"cpu_util_avg": utils[3], "cpu_util_est": utils[4]}
    plain = twin_v6.cpu_util(task, rq, cpu, dst, capacity)
    for kernel in ("6.1", "6.12", "7.3"):
        assert eas.cpu_util(cpu, dst, kernel=kernel, **given) == plain
    boosted = eas.cpu_util(cpu, dst, kernel="7.3", **given, runnable_avg=utils[2], cpu_runnable_avg=utils[5])
    assert boosted == twin_v6.cpu_util(task, rq, cpu, dst, capacity, boost=True)


@given(states(), CAPACITY, st.lists(st.integers(0, 1300), min_size=3, max_size=3), st.booleans(), st.data())
def test_energies_of_later_kernels(model, capacity, utils, skip, data):
    freqs, powers = model
    pd = em.PerfDomain("one", [0], freqs, powers, unit="uW", capacity=capacity)
    for kernel, find in (("6.1", twin_v6.energy_v6_1), ("6.12", twin_v6.energy_v6_12)):
        if kernel != "6.1" and freqs[0] * capacity < freqs[-1]:
            with pytest.raises(ValueError, match="would divide by zero"):
                pd.table(kernel=kernel)
            continue
        states = twin_v6.table(freqs, powers, capacity, kernel)
        table = pd.table(kernel=kernel)
        assert table["cost"].tolist() == [state.cost for state in states]
        assert table["inefficient"].tolist() == [state.inefficient for state in states]
        how = {"kernel": kernel, "allowed_cpu_cap": utils[2], "skip_inefficient": skip}
        assert pd.energy(utils[0], utils[1], **how) == find(states, capacity, *utils, skip)
    low = data.draw(st.integers(0, len(freqs) - 1))
    high = data.draw(st.integers(low, len(freqs) - 1))
    if freqs[0] * capacity >= freqs[-1]:
        found = pd.get_performance_state(
            utils[0], kernel="7.3", skip_inefficient=skip, min_ps=low, max_ps=high
        )
        able = (
            i
            for i in range(low, high + 1)
            if table["performance"][i] >= utils[0] and not (skip and table["inefficient"][i])
        )
        assert found == next(able, high)


@given(
    st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 13),
    st.integers(0, 13),
    st.integers(0, 13),
)
def test_cpufreq_resolve(table, target, low, high):
    """The tie rule of relation C among others, which no known answer reaches."""
    freqs, flags = zip(*table, strict=True)
    for relation in ("L", "H", "C", "LE", "HE", "CE"):
        least = min(low, high)
        wanted = min(max(target, least), high)

        def pick(among, relation=relation, wanted=wanted):
            if relation[0] == "L":
                return min((f for f in among if f >= wanted), default=max(among, default=None))
            if relation[0] == "H":
                return max((f for f in among if f <= wanted), default=min(among, default=None))
            return min(among, key=lambda f: (abs(f - wanted), f), default=None)

        found = pick(freqs)
        if relation.endswith("E"):
            efficient = pick([f for f, flag in table if not flag])
            if efficient is not None and least <= efficient <= high:
                found = efficient
        assert em.cpufreq_resolve(freqs, flags, target, low, high, relation) == found


def test_prev_cpu_offline_or_outside_the_affinity():
    """Two known ends of the rule: prev_cpu is no candidate, then the cheapest other CPU takes the task."""
    model = em.EnergyModel.load("pixel4")
    cpus = eas.idle_cpus(model, 3)
    cpus["util_avg"][:, 7] = 640
    cpus["online"][1, 7] = False
    cpus["online"][2, 4:7] = False
    task = eas.task(prev_cpu=7, util_avg=640, affinity=[0x7F, 0xFF, 0xFF])
    ours = eas.find_energy_efficient_cpu(model, task, cpus, kernel="5.12")
    assert ours.target.tolist() == [4, 7, 4]
    assert ours.calls[0]["energy"].tolist()[:4] == [0, 0, 659, 0]
    assert ours.count.tolist() == [4, 5, 5]
    assert ours.calls[1]["energy"].tolist()[:5] == [0, 0, 659, 0, 0], "an offline CPU adds nothing"
    assert ours.calls[2]["energy"].tolist()[:5] == [0, 0, 0, 0, 701], "and is chosen nevertheless"
