# SPDX-License-Identifier: GPL-2.0-only
"""The staircase on a simulated device, activation by activation."""

from dataclasses import fields

import numpy as np
import pandas as pd
from tqdm import tqdm

from schedpy._coerce import as_choice, as_number
from schedpy.kernel import form
from schedpy.lab.phases_device import Device, draw, other_util
from schedpy.lab.phases_rows import LABELS, Rows, place
from schedpy.lab.phases_simulation import Simulation, as_model, skips_inefficient
from schedpy.workload import run_lengths, tick_nsec

__all__ = ["simulate", "simulate_devices"]


def simulate(
    model="pixel4",
    *,
    kernel,
    hz=250,
    activations=125,
    repetitions=25,
    duty_percent=(12.5, 25, 37.5, 50, 62.5, 75),
    period_ns=16_000_000,
    method="walk",
    skip_inefficient=None,
    device=None,
    seed=2021,
    pelt_kernel=None,
    keep_events=False,
    progress=False,
    **modelled,
):
    """The staircase of the mails on a simulated device.

    Exact, by the functions that are held against the kernel: the clock of PELT, the averages of the task and
    of its run queue, attach and detach, util_est, find_energy_efficient_cpu(), and the frequency
    that schedutil asks for at each update that refreshed the run queue. Modelled: everything in
    :class:`Device`, and: the task is never alone in being placed (no load balancing, no overutilized
    fallback); a run queue that the task leaves gives its averages up at once; the timer's grid
    stands, and a task that is still at work when it fires goes on without a sleep and a wake-up.

    Parameters
    ----------
    model : str or EnergyModel
        Any platform.
    kernel : str
        Whose rules: "5.12", "5.13", "6.1", "6.12"; "7.3" with another ``pelt_kernel``.
    hz : int
        Ticks per second.
    activations, repetitions : int
        Activations per phase; repetitions of the whole staircase.
    duty_percent : sequence of numbers
        Share of the period that the task works at a capacity of 1024, one per phase.
    period_ns : int
        16 ms, or 8.
    method : {"walk", "lut"}
        How energies are looked up; "lut" exists for 5.12 alone.
    skip_inefficient : bool, optional
        Whether inefficient states are passed over. None: from 6.1, and not on 5.12, as in the mail.
    device : Device, optional
        What is modelled; its fields can also be given one by one.
    seed : int
        Of what is random: each repetition's start within a PELT window and place of the ticks, the
        work's variation and the other load. The same seed gives the same wake-ups; repetition r does
        not depend on how many there are.
    pelt_kernel : str, optional
        Another kernel's PELT, util_est and clock, where the kernel's own are not proven ("6.19" for 7.3).
    keep_events : bool
        Keep every update of the task's signal (``Simulation.events``): repetition, activation (of the
        whole staircase), label (those of `workload.Events`; "move": to a larger CPU; "decay": before a
        placement), cpu, time_ns, ``now`` (the run queue's PELT clock), the flags running and on_rq of the
        time before, ``attached`` (the task joined another queue: no update, its sums are made anew), the
        STATE after it, max_util (of the domain's busiest CPU), freq_khz and changed_ns (the domain's
        frequency, and when it last changed).
    progress : bool
        Show a bar after two seconds, on a terminal.
    **modelled
        Fields of :class:`Device`.

    Returns
    -------
    Simulation

    Raises
    ------
    ValueError, TypeError
        An argument out of range; a kernel whose placement, PELT or frequency is not proven.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> simulated = phases.simulate("pixel4", kernel="5.12", repetitions=2, activations=20)
    >>> simulated.counts().loc[3, "target"].to_dict()
    {'Mid': 40}
    """
    if device is not None and modelled:
        raise TypeError(f"{min(modelled)}: give it in device, or device as its fields")
    if device is None:
        device = _device(modelled)
    (simulated,) = simulate_devices(
        model,
        [device],
        kernel=kernel,
        hz=hz,
        activations=activations,
        repetitions=repetitions,
        duty_percent=duty_percent,
        period_ns=period_ns,
        method=method,
        skip_inefficient=skip_inefficient,
        seed=seed,
        pelt_kernel=pelt_kernel,
        keep_events=keep_events,
        progress=progress,
    )
    return simulated


def _device(modelled):
    names = [field.name for field in fields(Device)]
    if unknown := modelled.keys() - set(names):
        raise TypeError(f"{min(unknown)} is no argument, and no field of Device: {', '.join(names)}")
    return Device(**modelled)


def simulate_devices(
    model,
    devices,
    *,
    kernel,
    hz=250,
    activations=125,
    repetitions=25,
    duty_percent=(12.5, 25, 37.5, 50, 62.5, 75),
    period_ns=16_000_000,
    method="walk",
    skip_inefficient=None,
    seed=2021,
    pelt_kernel=None,
    keep_events=False,
    progress=False,
):
    """The same for several devices side by side, which costs little more than one.

    Parameters
    ----------
    devices : sequence of Device
    model, kernel, hz, ...
        As :func:`simulate`. Each device gets the same random numbers.

    Returns
    -------
    list of Simulation

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> devices = [phases.Device(start_cpu=cpu) for cpu in (0, 7)]
    >>> [len(s) for s in phases.simulate_devices("pixel4", devices, kernel="5.12", repetitions=1,
    ...                                          duty_percent=(12.5,))]
    [125, 125]
    """
    model = as_model(model)
    devices = list(devices)
    for index, device in enumerate(devices):
        if not isinstance(device, Device):
            raise TypeError(f"devices[{index}] is {type(device).__name__}: must be a Device")
        device.check(model)
    if not devices:
        raise ValueError("devices is empty: must hold at least one Device")
    activations = as_number(activations, "activations", low=1, high=100_000)
    repetitions = as_number(repetitions, "repetitions", low=1, high=10_000)
    period = as_number(period_ns, "period_ns", low=1_000_000, high=10**9)
    seed = as_number(seed, "seed", low=0)
    as_choice(method, "method", ("walk", "lut"))
    tick_ns = tick_nsec(hz)
    run_ns = np.array(run_lengths(duty_percent, period, "duty_percent"), dtype=np.int64)
    if not run_ns.size:
        raise ValueError("duty_percent is empty: must hold at least one phase")
    pelt_kernel = kernel if pelt_kernel is None else pelt_kernel
    if skip_inefficient is None:
        skip_inefficient = skips_inefficient(kernel)
    for rule in ("pelt.update", "pelt.util_est", "pelt.clock_pelt", "pelt.attach"):
        form(rule, pelt_kernel)
    rows = Rows(
        model,
        devices,
        repetitions,
        kernel=kernel,
        pelt_kernel=pelt_kernel,
        method=method,
        skip_inefficient=bool(skip_inefficient),
    )
    seeds = np.random.SeedSequence(seed).spawn(repetitions)
    work = draw(seeds, devices, model, np.repeat(run_ns, activations), period, tick_ns)
    other = other_util(work, model, kernel=pelt_kernel, period_ns=period)
    parts = _run(rows, work, other, period, tick_ns, keep_events, progress)
    shared = {
        "model": model,
        "kernel": kernel,
        "method": method,
        "skip_inefficient": bool(skip_inefficient),
        "hz": int(hz),
        "duty_percent": np.array([float(duty) for duty in duty_percent]),
        "period_ns": period,
        "activations": activations,
        "repetitions": repetitions,
        "seed": seed,
    }
    return list(_results(parts, rows, devices, shared))


def _run(rows, work, other, period, tick_ns, keep_events, progress):
    """Every activation of every row; a list of columns of those that woke up."""
    total = work.work.shape[1]
    everyone = np.arange(len(work.start))
    parts, events = [], []
    bar = tqdm(
        range(total),
        desc="simulating",
        unit="activation",
        delay=2,
        leave=False,
        disable=None if progress else True,
    )
    for activation in bar:
        grid = work.start + activation * period
        busy = rows.end >= grid if activation else np.zeros(len(grid), dtype=bool)
        begin = np.where(busy, rows.end, grid + rows.wakeup)
        rows.events = [] if keep_events else None
        rows.other[:] = other[:, min(activation, other.shape[1] - 1)]
        who = everyone[~busy]
        if who.size:
            rows.decay_sleepers(who, grid[who])
            cases = rows.cases(who)
            target = place(rows, cases)
            waking = np.where(rows.timer_cpu[who] < 0, cases["prev_cpu"], rows.timer_cpu[who])
            at = {"row": who, "activation": np.full(len(who), activation), "time_ns": grid[who]}
            parts.append(at | {"waking_cpu": waking, "target": target} | cases)
            rows.wake(who, grid[who], target)
        until = grid + period if activation + 1 < total else np.full(len(grid), 2**62)
        rows.work(everyone, begin, work.work[:, activation], until, work.tick_offset, tick_ns)
        if keep_events:
            for event in rows.events:
                event["activation"] = activation
            events += rows.events
    rows.events = events if keep_events else None
    return parts


def _results(parts, rows, devices, shared):
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((columns["activation"], columns["row"]))
    columns = {name: column[order] for name, column in columns.items()}
    row, activation = columns.pop("row"), columns.pop("activation")
    columns["repetition"] = row % shared["repetitions"]
    columns["phase"], columns["activation"] = np.divmod(activation, shared["activations"])
    events = None if rows.events is None else np.concatenate(rows.events)
    for number, device in enumerate(devices):
        mine = row // shared["repetitions"] == number
        kept = {name: column[mine] for name, column in columns.items()}
        yield Simulation(device=device, events=_event_table(events, number, shared), **kept, **shared)


def _event_table(events, number, shared):
    if events is None:
        return None
    mine = events[events["row"] // shared["repetitions"] == number]
    mine = mine[np.argsort(mine["row"], kind="stable")]
    frame = pd.DataFrame({name: mine[name] for name in mine.dtype.names if name not in ("row", "state")})
    frame.insert(0, "repetition", mine["row"] % shared["repetitions"])
    frame["label"] = LABELS[mine["label"]]
    return frame.assign(**{name: mine["state"][name] for name in mine["state"].dtype.names})
