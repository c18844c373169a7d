# SPDX-License-Identifier: GPL-2.0-only
"""How fast eas.find_energy_efficient_cpu is beside a straight C loop, its plain twin, and in two threads.

All is measured in one process: rounds in which every candidate runs once, in an order shuffled anew. A
ratio is of two calls of one round; given are the median and the middle half. The row A/A, the C loop beside
itself, says what such a ratio is worth.

    python benchmarks/placements.py
    python benchmarks/placements.py --quick

The C loop (placement_loop.c, compiled with the core when this starts) has no checks and writes into arrays
made before; ours checks every value and returns new arrays. The plain twin is that of the tests.
"""

import argparse
import ctypes
import subprocess
import sys
import sysconfig
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from rounds import machine, measure, quartiles

from schedpy import eas, em

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from reference import eas as twin  # noqa: E402
from reference import eas_v6 as twin_v6  # noqa: E402
from reference import em as twin_em  # noqa: E402

#: kernel -> its form in placement_loop.c
FORMS = {"5.12": 0, "5.13": 1, "6.1": 2, "6.12": 3, "7.3": 3}
#: At least so many times as fast.
TARGETS = {"C loop": 0.5, "plain twin": 100, "two threads": 1.7}


def cases(model, n):
    """Waking tasks in systems of all loads: random, from one seed."""
    rng = np.random.default_rng(1)
    cpus = eas.idle_cpus(model, n)
    capacity = cpus["capacity_of"].astype(np.int64)
    cpus["util_avg"] = rng.random(cpus.shape) * capacity * 0.7
    cpus["util_est"] = cpus["util_avg"] * rng.random(cpus.shape)
    cpus["runnable_avg"] = cpus["util_avg"]
    tasks = eas.task(prev_cpu=rng.integers(0, model.nr_cpus, n), util_avg=rng.integers(1, 500, n))
    return tasks, cpus


def compiled(folder):
    """The C loop as a function."""
    library = Path(folder, "placement_loop.so")
    sources = ["benchmarks/placement_loop.c", *(f"csrc/core/{name}.c" for name in ("eas", "eas_v6", "em"))]
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    command = [
        *compiler,
        "-std=c11",
        "-O3",
        "-fPIC",
        "-shared",
        "-Icsrc",
        *sources,
        "-o",
        str(library),
        "-lm",
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    return ctypes.CDLL(str(library)).place_straight


def straight(place, model, kernel, tasks, cpus):
    """A call of the C loop, and the arrays that it fills."""
    domains = model.domains
    # As words: NumPy would pack the structures that it joins.
    tables = np.concatenate([domain.table(kernel=kernel).view(np.uint64) for domain in domains])
    masks = np.array([sum(1 << cpu for cpu in domain.cpus) for domain in domains], np.uint64)
    capacity = np.array([domain.capacity for domain in domains], np.uint64)
    states = np.array([domain.freq_khz.size for domain in domains], np.uint64)
    target, counts = np.zeros((2, len(tasks)), np.int64)
    calls = np.zeros((len(tasks), 3 * len(domains)), eas.CALL)
    arrays = (masks, capacity, states, tables, tasks, cpus, target, calls, counts)
    sizes = (len(tasks), len(domains), model.nr_cpus)

    def call():
        place(
            FORMS[kernel],
            *(ctypes.c_size_t(size) for size in sizes),
            *(ctypes.c_void_p(array.ctypes.data) for array in arrays),
        )

    return call, target, calls


def plain_twin(model, kernel, tasks, cpus):
    """A call of the plain twin over all cases, which gives their targets."""
    described = [(list(domain.cpus), domain.capacity, states_of(domain, kernel)) for domain in model.domains]
    find = twin.find_energy_efficient_cpu if kernel.startswith("5") else twin_v6.find_energy_efficient_cpu
    plain = [dict(zip(eas.TASK.names, task, strict=True)) for task in tasks.tolist()]
    machines = [[dict(zip(eas.CPU.names, cpu, strict=True)) for cpu in row] for row in cpus.tolist()]

    def call():
        return [
            find(described, task, row, kernel=kernel, domain_mask=2**64 - 1)[0]
            for task, row in zip(plain, machines, strict=True)
        ]

    return call


def states_of(domain, kernel):
    """A domain's states for the twin, power in the kernel's own unit."""
    freqs, powers = domain.freq_khz.tolist(), domain.table(kernel=kernel)["power"].tolist()
    if kernel.startswith("5"):
        return twin_em.table(freqs, powers, flags=False)
    return twin_v6.table(freqs, powers, domain.capacity, kernel)


def show(row, name, kernel, ratios, ns):
    target = TARGETS.get(row) if name == "ours" else None
    verdict = "" if target is None else f"{target:6g}  {'met' if ratios[1] >= target else 'MISSED'}"
    low, mid, high = (f"{r:.2f}" if r < 100 else f"{r:.0f}" for r in ratios)
    print(f"{row:12} {name:6} {kernel:6} {ns:9.1f}   {mid:>6} ({low} .. {high}){'':3}{verdict}", flush=True)


def run(name, place, rounds, n):
    model = em.EnergyModel.load(name)
    tasks, cpus = cases(model, n)
    few = max(n // 512, 64)
    for kernel in FORMS:
        ours = partial(eas.find_energy_efficient_cpu, model, kernel=kernel)
        loop, target, calls = straight(place, model, kernel, tasks, cpus)
        loop()
        found = ours(tasks, cpus)
        assert np.array_equal(found.target, target), f"{kernel}: the C loop chooses other CPUs"
        made = np.arange(calls.shape[1]) < found.count[:, np.newaxis]
        assert np.array_equal(found.calls["energy"][made], calls["energy"][made])
        twins = plain_twin(model, kernel, tasks[:few], cpus[:few])
        assert found.target[:few].tolist() == twins(), f"{kernel}: the plain twin chooses other CPUs"

        candidates = {"loop": loop, "A/A": loop, "ours": partial(ours, tasks, cpus)}
        candidates["two"] = partial(ours, tasks, cpus, threads=2)
        times = measure(candidates, rounds)
        show("C loop", "A/A", kernel, quartiles(times["loop"], times["A/A"]), np.median(times["A/A"]) / n)
        show("C loop", "ours", kernel, quartiles(times["loop"], times["ours"]), np.median(times["ours"]) / n)
        show(
            "two threads", "ours", kernel, quartiles(times["ours"], times["two"]), np.median(times["two"]) / n
        )
        beside = measure({"twin": twins, "ours": candidates["ours"]}, min(rounds, 9))
        ratios = quartiles(beside["twin"] / few, beside["ours"] / n)
        show("plain twin", "ours", kernel, ratios, np.median(beside["ours"]) / n)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, fewer cases: half a minute")
    parser.add_argument("--model", default="pixel4", help="a bundled platform")
    options = parser.parse_args()
    rounds, n = (9, 2**15) if options.quick else (31, 2**17)
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}")
    print(f"{options.model}: {rounds} rounds of {n:,} placements; ratio: median (middle half)\n")
    print(f"{'beside':12} {'':6} {'kernel':6} {'ns':>9}   {'times as fast':22} at least")
    with tempfile.TemporaryDirectory() as folder:
        run(options.model, compiled(folder), rounds, n)


if __name__ == "__main__":
    main()
