# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep costs per point, from a thousand points to ten million, and what the runner adds.

Two functions of arrays, each called once per part: summaries of PELT tracks (the largest and the last
util_avg of 25 updates) and placements on a phone's energy model. Each size runs in a process of its own,
whose largest memory is what the system counted. Then a function that only spins for a millisecond per
point, against the same milliseconds without a runner. The last table is what a thousand cores would do
with ten thousand million points, from the figures measured here.
"""

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from schedpy import eas, em, pelt, sweep

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
UPDATES = 25
CORES, FAR = 1000, 10**10


def tracks(run_us, period_us):
    """The largest and the last util_avg of a task over 25 sleeps and runs, for arrays of tasks."""
    run, period = run_us * 1000, np.maximum(period_us, run_us + 1) * 1000
    step = np.arange(UPDATES)
    now = (10**9 + period[:, None] * (step // 2) + np.where(step % 2 == 1, run[:, None], 0)).astype(np.uint64)
    util = pelt.track(now, kernel="5.12", running=step % 2 == 1).util_avg
    return {"largest": util.max(axis=1), "last": util[:, -1]}


def placements(util, prev_cpu, busy):
    """Where 5.12 puts a task on the Pixel 4 whose middle cores are as busy as said, and what it costs."""
    model = em.EnergyModel.load("pixel4")
    task = eas.task(util_avg=util, util_est=util, prev_cpu=prev_cpu)
    cpus = eas.idle_cpus(model, task.shape)
    cpus["util_avg"][:, list(model["mid"].cpus)] = busy[:, None]
    placed = eas.find_energy_efficient_cpu(model, task, cpus, kernel="5.12")
    return {"target": placed.target, "calls": placed.count}


def spin(x):
    """A millisecond of work: of this thread's time on a processor, so that others do not shorten it."""
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass
    return x


def points_of(name, size):
    """A product of exactly so many points."""
    side = 10 ** (int(math.log10(size)) // 2)
    if name == "tracks":
        return {
            "run_us": np.linspace(100, 20_000, side).astype(int),
            "period_us": range(500, 500 + size // side),
        }
    return {
        "util": np.arange(size // side // 10) % 1024,
        "prev_cpu": [*range(8), 0, 4],
        "busy": np.arange(side) % 700,
    }


FUNCTIONS = {"tracks": tracks, "placements": placements}


def measure(name, size, folder):
    """One sweep, in this process: seconds, memory, bytes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    result = sweep.run(FUNCTIONS[name], points_of(name, size), out=folder, batch=True, progress=False)
    ran = time.perf_counter() - began
    digest = result.hash
    hashed = time.perf_counter() - began - ran
    again = time.perf_counter()
    kept = sweep.run(FUNCTIONS[name], points_of(name, size), out=folder, batch=True, progress=False)
    again = time.perf_counter() - again
    assert (kept.computed, result.failures, len(result)) == (0, 0, size)
    return {
        "points": size,
        "parts": len(result.parts),
        "seconds": ran,
        "hash_s": hashed,
        "resume_s": again,
        "bytes": result.bytes,
        "import_mib": before / 1024,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "hash": digest,
    }


def in_a_process(name, size):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--one", name, str(size), str(Path(folder, "out"))]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def overhead(points, rounds):
    """What the runner adds to a millisecond a point: the least of rounds without and with it, in turns.

    The least, as what else the machine does only adds. The processor's time is what the runner uses; the
    clock's has the waiting for the disk in it.
    """
    found = []
    for _ in range(rounds):
        began = time.perf_counter(), time.process_time()
        for x in range(points):
            spin(x)
        between = time.perf_counter(), time.process_time()
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as one:
            sweep.run(spin, {"x": range(points)}, out=Path(folder, "out"), executor=one, progress=False)
        ended = time.perf_counter(), time.process_time()
        found.append([np.subtract(between, began), np.subtract(ended, between)])
    plain, swept = np.min(found, axis=0)
    return *plain, *(100 * (swept / plain - 1))


def cost_of_a_part(parts):
    """Seconds per part of one point that costs nothing: with threads, and with two processes of dask."""
    import distributed

    def seconds(executor):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            points = {"x": range(parts)}
            sweep.run(abs_, points, out=Path(folder, "out"), executor=executor, part_size=1, progress=False)
            return (time.perf_counter() - began) / parts

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        seconds(executor)  # the workers import what they need
        return seconds(None), seconds(executor)


def abs_(x):
    """Nothing, nearly."""
    return abs(x)


def on_paper(us_per_point, bytes_per_point, dask_part_s):
    """What a cluster would do, by arithmetic from what was measured."""
    print(f"\n{FAR:.0e} points on {CORES} cores, from these figures (two cores gave the cost per point):")
    core_us = 2 * us_per_point
    for part in (65_536, 1_000_000, 10_000_000):
        parts = -(-FAR // part)
        seconds = part * core_us / 1e6
        rate = CORES / seconds
        print(
            f"  parts of {part:>10}: {parts:>7} parts, {part * bytes_per_point / 1e6:>6.1f} MB and "
            f"{seconds:>6.1f} s each; {rate:>8.1f} parts/s "
            f"for the scheduler, which can do {1 / dask_part_s:.0f}"
        )
    print(f"  {FAR * bytes_per_point / 1e9:.0f} GB in all; {FAR * core_us / 1e6 / CORES / 60:.1f} minutes")


HEAD = ("sweep", "points", "parts", "s", "us/point", "bytes/pt", "hash s", "resume s", "peak MiB")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave out larger sizes; 0: all")
    parser.add_argument("--one", nargs=3, metavar=("NAME", "SIZE", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, size, folder = options.one
        print(json.dumps(measure(name, int(size), folder)))
        return
    host = f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {host}\n")
    print("{:11}{:>10}{:>7}{:>9}{:>10}{:>10}{:>8}{:>10}{:>10}".format(*HEAD))
    largest = {}
    for name in FUNCTIONS:
        for size in (size for size in SIZES if size <= options.largest):
            row = in_a_process(name, size)
            us, each = 1e6 * row["seconds"] / size, row["bytes"] / size
            largest[name] = us, each
            print(
                f"{name:11}{size:>10}{row['parts']:>7}{row['seconds']:>9.2f}{us:>10.2f}{each:>10.2f}"
                f"{row['hash_s']:>8.2f}{row['resume_s']:>10.2f}{row['peak_mib']:>10.0f}",
                flush=True,
            )
    print("\nThe runner beside 1 ms a point, one thread:")
    for points in (1000, 4000):
        wall, cpu, wall_more, cpu_more = overhead(points, 5)
        print(
            f"  {points:>6} points: {wall:.2f} s, {wall_more:+.1f} % by the clock; "
            f"{cpu:.2f} s, {cpu_more:+.1f} % of the processor",
            flush=True,
        )
    threads, dask = cost_of_a_part(2000)
    print(f"\nA part of nothing: {1e3 * threads:.2f} ms with threads, {1e3 * dask:.2f} ms with dask")
    if largest:
        on_paper(*largest["tracks"], dask)


if __name__ == "__main__":
    main()
