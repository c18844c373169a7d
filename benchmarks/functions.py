# SPDX-License-Identifier: GPL-2.0-only
"""What single functions take here, in absolute numbers: pyperf runs each in processes of its own.

Ratios are for comparing (the other scripts); these are for this machine alone. Arrays have 2^14 elements and
results new memory.

    python benchmarks/functions.py --fast
    python benchmarks/functions.py --rigorous -o functions.json
    python -m pyperf system show        what of this machine makes such numbers unsteady
"""

import numpy as np
import pyperf

from schedpy import clock, cpuidle, eas, em, jiffies, pelt

N = 2**14


def calls():
    """name -> a call without arguments."""
    rng = np.random.default_rng(2016)
    ns = rng.integers(0, 10**10, N)
    util = rng.integers(0, 1024, N)
    now = np.cumsum(rng.integers(1, 4_000_000, N))
    pixel4 = em.EnergyModel.load("pixel4")
    little = pixel4["little"]
    task = eas.task(prev_cpu=rng.integers(0, 8, N), util_avg=util)
    cpus = eas.idle_cpus(pixel4)
    idle = cpuidle.IdleTable.load("sm8150_little")
    return {
        "clock.ns_to_us": lambda: clock.ns_to_us(ns),
        "clock.ns_to_us_shift": lambda: clock.ns_to_us_shift(ns),
        "clock.mul_u64_u32_shr": lambda: clock.mul_u64_u32_shr(ns, 4_202_935_003, 27),
        "clock.clocksource_cyc2ns": lambda: clock.clocksource_cyc2ns(ns, 873_813_333, 24),
        "jiffies.msecs_to_jiffies": lambda: jiffies.msecs_to_jiffies(util, hz=250),
        "pelt.track": lambda: pelt.track(now, kernel="6.1", running=True),
        "em.PerfDomain.get_efficient_state": lambda: little.get_efficient_state(ns, kernel="6.1"),
        "em.PerfDomain.energy": lambda: little.energy(util, util, kernel="6.1"),
        "eas.find_energy_efficient_cpu": lambda: eas.find_energy_efficient_cpu(
            pixel4, task, cpus, kernel="6.1"
        ),
        "cpuidle.run, menu": lambda: cpuidle.run(idle, kernel="4.7", governor="menu", sleep_ns=ns),
    }


if __name__ == "__main__":
    runner = pyperf.Runner()
    runner.metadata["description"] = f"{N} elements a call"
    for name, call in calls().items():
        runner.bench_func(name, call)
