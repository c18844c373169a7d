# SPDX-License-Identifier: GPL-2.0-only
"""What is modelled of a simulated device, its random parts, and the frequencies that schedutil sets on it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from schedpy import eas, em, pelt
from schedpy._coerce import as_number
from schedpy.kernel import form

__all__ = ["BASE_NS", "UNIT", "Device", "Work", "capacities", "draw", "frequencies", "other_util"]

#: Where the simulated time starts: on a border of PELT's windows, 9536 * 2**20 ns.
BASE_NS = 9_999_220_736
WINDOW_NS = 2**20
#: Work is counted in 2^-20 of a nanosecond on a CPU of capacity 1024 at its highest frequency.
UNIT = 2**20


@dataclass(frozen=True)
class Device:
    """What is modelled of a device and its workload, a parameter each; nothing here is the kernel's.

    Attributes
    ----------
    rate_limit_ns : int
        Least time between two changes of a domain's frequency (schedutil's rate_limit_us); a request that
        comes earlier is dropped.
    transition_ns : int
        From the request until the CPUs have the frequency; a newer request replaces one under way.
    wakeup_ns : int
        From the enqueue until the task is picked to run.
    timer_cpu : int, optional
        The CPU on which the task's timer fires, and which so runs the placement. None: the one on which the
        task went to sleep.
    refresh_ns : int, optional
        How often averages of idle run queues are brought up to date: a task that wakes up is decayed no
        further than that. None: not while the CPU is idle, so that the task still has the average of its
        last dequeue.
    work_percent, work_std_percent : float
        Work of an activation in percent of the duty cycle's, and its standard deviation (normal, drawn
        for each activation, at least 1 %): what the workload's calibration misses, and how much it varies.
    load_percent : float or mapping of str to float
        Share of each CPU's capacity that other tasks take, 0 .. 50, or that share by name of the domain
        (none for a domain left out). They are seen in the CPU's utilisation; they take no time
        from the task, ask for no frequency, and are asleep when the task wakes up.
    load_run_ns : int
        Mean length of their bursts at the CPU's highest frequency: exponentially distributed, at most one
        burst per period and CPU, cut to half a period.
    start_cpu : int, optional
        Where the task slept before its first wake-up. None: the first CPU of the model's first domain.
    start_util : int, optional
        Its util_avg and its estimate there. None: a new task's util_avg, which the kernel computes
        (`pelt.post_init_entity_util_avg`), and no estimate.
    misfit : bool
        Whether a tick that finds the task too large for its CPU, by the kernel's test, moves it to the
        first CPU of the next larger capacity, as load balancing does sooner or later.
    """

    rate_limit_ns: int = 500_000
    transition_ns: int = 0
    wakeup_ns: int = 3_000
    timer_cpu: int | None = None
    refresh_ns: int | None = None
    work_percent: float = 100
    work_std_percent: float = 0
    load_percent: float | Mapping[str, float] = 0
    load_run_ns: int = 1_000_000
    start_cpu: int | None = None
    start_util: int | None = None
    misfit: bool = True

    def __post_init__(self):
        for name, low, high in (
            ("rate_limit_ns", 0, 10**9),
            ("transition_ns", 0, 10**9),
            ("wakeup_ns", 0, 10**6),
            ("load_run_ns", 1_000, 10**9),
        ):
            object.__setattr__(self, name, as_number(getattr(self, name), name, low=low, high=high))
        for name, low, high in (
            ("refresh_ns", 1_000, 10**12),
            ("timer_cpu", 0, 63),
            ("start_cpu", 0, 63),
            ("start_util", 0, 1024),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_number(getattr(self, name), name, low=low, high=high))
        if not isinstance(self.misfit, bool):
            raise TypeError(f"misfit = {self.misfit!r}: must be True or False")

        def set_percent(name, low, high):
            object.__setattr__(self, name, _as_percent(getattr(self, name), name, low, high))

        set_percent("work_percent", 1, 1000)
        set_percent("work_std_percent", 0, 100)
        if isinstance(self.load_percent, Mapping):
            loads = {
                name: _as_percent(load, f"load_percent[{name!r}]", 0, 50)
                for name, load in self.load_percent.items()
            }
            object.__setattr__(self, "load_percent", loads)
        else:
            set_percent("load_percent", 0, 50)

    def check(self, model):
        """That the CPUs and domains it names are the model's."""
        cpus = {cpu for domain in model.domains for cpu in domain.cpus}
        for name in ("timer_cpu", "start_cpu"):
            value = getattr(self, name)
            if value is not None and value not in cpus:
                raise ValueError(
                    f"{name} = {value}: the model has the CPUs {', '.join(map(str, sorted(cpus)))}"
                )
        if isinstance(self.load_percent, Mapping):
            names = [domain.name for domain in model.domains]
            if unknown := [name for name in self.load_percent if name not in names]:
                raise ValueError(
                    f"load_percent has {unknown[0]!r}: the model's domains are {', '.join(names)}"
                )

    def loads(self, model):
        """Share of each CPU's capacity that other tasks take, 0 .. 0.5: float array (CPUs,)."""
        shares = np.zeros(model.nr_cpus)
        for domain in model.domains:
            load = self.load_percent
            load = load.get(domain.name, 0) if isinstance(load, Mapping) else load
            shares[list(domain.cpus)] = load / 100
        return shares


def _as_percent(value, name, low, high):
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} = {value!r}: must be a number")
    if not low <= value <= high:
        raise ValueError(f"{name} = {value}: must be {low} .. {high}")
    return float(value)


@dataclass(frozen=True)
class Work:
    """What the rows do: arrays over rows, activations and CPUs.

    ``start`` (rows,): the first wake-up, ns. ``tick_offset`` (rows,). ``work`` (rows, activations), in
    `UNIT`.
    ``burst_start``, ``burst_ns`` (rows, activations, CPUs): other work in the period before each
    wake-up, after the one before, and its length at the CPU's highest frequency; 0: none.
    """

    start: np.ndarray
    tick_offset: np.ndarray
    work: np.ndarray
    burst_start: np.ndarray
    burst_ns: np.ndarray


def draw(seeds, devices, model, run_ns, period_ns, tick_ns):
    """The random parts: a row for each device and, within it, each seed; equal seeds draw alike.

    Parameters
    ----------
    seeds : list of SeedSequence
    devices : list of Device
    run_ns : int64 array (activations,)
        Work of each activation at full capacity, by the duty cycle.
    """
    total, cpus = len(run_ns), model.nr_cpus
    parts = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        parts.append(
            (
                rng.integers(WINDOW_NS),
                rng.integers(tick_ns),
                rng.standard_normal(total),
                rng.random((total, cpus)),
                rng.random((total, cpus)),
                rng.standard_exponential((total, cpus)),
            )
        )
    start, tick_offset, normal, occurs, place, length = (np.array(part) for part in zip(*parts, strict=True))
    work, burst_start, burst_ns = [], [], []
    for device in devices:
        percent = np.maximum(device.work_percent + device.work_std_percent * normal, 1)
        work.append(np.rint(run_ns * (percent / 100)).astype(np.int64) * UNIT)
        # At most one burst a period: where the load asks for more than one, bursts are longer instead.
        share = device.loads(model)
        mean = np.maximum(device.load_run_ns, share * period_ns)
        chance = share * period_ns / mean
        burst = np.where(occurs < chance, np.minimum(length * mean, period_ns // 2), 0).astype(np.int64)
        burst_ns.append(burst)
        burst_start.append((place * (period_ns - burst)).astype(np.int64))
    many = len(devices)
    return Work(
        # The task has slept as long as it will between the first activations.
        start=BASE_NS + max(WINDOW_NS, period_ns - int(run_ns[0])) + np.tile(start, many),
        tick_offset=np.tile(tick_offset, many),
        work=np.concatenate(work),
        burst_start=np.concatenate(burst_start),
        burst_ns=np.concatenate(burst_ns),
    )


def other_util(work, model, *, kernel, period_ns):
    """util_avg of each CPU's other tasks at each wake-up of the grid: uint64 array (rows, activations, CPUs).

    A CPU's burst is time of its PELT clock: its length at full speed times the CPU's capacity; the clock
    catches up when the CPU is idle.
    """
    rows, total, cpus = work.burst_ns.shape
    if not work.burst_ns.any():
        return np.zeros((1, 1, 1), dtype=np.uint64)
    capacity = capacities(model)
    before = work.start[:, None, None] + (np.arange(total) - 1)[:, None] * period_ns
    begins = before + work.burst_start
    ends = begins + (work.burst_ns * capacity >> 10)
    now = np.stack([begins, ends, np.broadcast_to(before + period_ns, begins.shape)], axis=2)
    now = np.ascontiguousarray(np.moveaxis(now, 3, 1)).reshape(rows, cpus, 3 * total)
    running = np.tile([False, True, False], total)
    tracked = pelt.track(
        now, kernel=kernel, running=running, on_rq=running, state=pelt.initial_state(last_update_time=BASE_NS)
    )
    return np.moveaxis(tracked.util_avg[..., 2::3], 2, 1)


def capacities(model):
    """Capacity of each CPU number, 0 for one that the model leaves out: int64 array (CPUs,)."""
    capacity = np.zeros(model.nr_cpus, dtype=np.int64)
    for domain in model.domains:
        capacity[list(domain.cpus)] = domain.capacity
    return capacity


def frequencies(domain, *, kernel, method="walk", skip_inefficient=False):
    """What schedutil sets for each utilisation of a domain's busiest CPU.

    Parameters
    ----------
    domain : PerfDomain
    kernel : str
        One of `eas.find_energy_efficient_cpu`.
    method, skip_inefficient
        As there: the 2021 patch and kernels from 5.16 pass over inefficient states.

    Returns
    -------
    request, freq : uint64 arrays (capacity + 1,)
        kHz for a utilisation of 0, 1, ... capacity: what `em.map_util_freq` asks for, and the lowest
        frequency of the table that serves it, else the highest.
    """
    util = np.arange(domain.capacity + 1, dtype=np.uint64)
    effective = eas.effective_cpu_util(util, kernel=kernel, max=domain.capacity).freq_util
    if form("eas.effective_cpu_util", kernel) == "v6.1":
        effective = em.map_util_perf(effective)
    request = em.map_util_freq(effective, domain.freq_khz[-1], domain.capacity, kernel=kernel)
    target = request
    table = domain.table(kernel=kernel)
    skipped = (
        table["inefficient"]
        if skip_inefficient and form("em.energy", kernel) != "v5.0"
        else np.zeros(len(table), bool)
    )
    if method == "lut":
        target = domain.get_efficient_freq(request, skip_inefficient=skip_inefficient)
    freq = em.cpufreq_resolve(
        domain.freq_khz,
        skipped,
        target,
        domain.freq_khz[0],
        domain.freq_khz[-1],
        "LE" if skipped.any() else "L",
    )
    return request, freq
