# SPDX-License-Identifier: GPL-2.0-only
"""Holds pelt.track to the plain twin of tests/reference."""

from dataclasses import asdict, astuple

from reference import pelt as twin

from schedpy import pelt

KERNELS = ("3.8", "4.3", "4.4", "4.7", "4.12", "4.13", "4.14", "4.15", "5.1", "5.7")
WITH_UTIL = KERNELS[1:]
SINCE_4_12 = KERNELS[4:]
SINCE_4_19 = ("4.19", "5.1", "5.7")
NOW = {"load_avg": "load_now", "runnable_avg": "runnable_now", "util_avg": "util_now"}


def version(kernel):
    return tuple(map(int, kernel.split(".")))


def arguments(kernel, entity, events):
    """What track() takes for these events."""
    names = {"running": "irq_time" if entity == "irq" else "running"}
    if entity in ("task", "cfs_rq"):
        names["weight"] = "weight"
    if entity == "task":
        names["on_rq"] = "on_rq"
    elif entity == "cfs_rq" and version(kernel) >= (5, 7):
        names["nr_running"] = "nr_running"
    if "weight" in names and (4, 15) <= version(kernel) < (5, 7):
        names["runnable_weight"] = "runnable_weight"
    if (4, 3) <= version(kernel) < (5, 1) or entity == "irq":
        names["freq_scale"] = "freq_scale"
    if (4, 4) <= version(kernel) < (5, 1) or entity == "irq":
        names["cpu_scale"] = "cpu_scale"
    return {name: [getattr(event, field) for event in events] for name, field in names.items()}


def fields_of(kernel, entity):
    if version(kernel) < (4, 3):
        return ("last_update_time", "load_sum", "runnable_sum", "load_avg", "updated", "load_now")
    fields = (*pelt.STATE.names, "updated", "load_now", "util_now")
    return fields if entity == "task" and version(kernel) < (4, 15) else (*fields, "runnable_now")


def twin_history(state, events, kernel):
    history = {name: [] for name in (*pelt.STATE.names, "updated", *NOW.values())}
    for event in events:
        state, updated = twin.update(state, event, kernel)
        for name, value in asdict(state).items():
            history[name].append(value)
        history["updated"].append(updated)
        for name, value in twin.averages_now(state, event, kernel).items():
            history[NOW[name]].append(value)
    return history, state


def assert_same(
    kernel, entity, events, *, state=None, half_life=32, load_avg_max=None, threshold=0, long_bits=64
):
    state = state or twin.State()
    rule = twin.Kernel(version(kernel), entity, twin.tables(half_life, load_avg_max), threshold, long_bits)
    fields = fields_of(kernel, entity)
    options = arguments(kernel, entity, events) | {
        "kernel": kernel,
        "entity": entity,
        "half_life": half_life,
        "load_avg_max": load_avg_max,
        "update_threshold": threshold,
        "long_bits": long_bits,
        "state": pelt.initial_state(**asdict(state)),
    }
    track = pelt.track([event.now for event in events], fields=fields, **options)
    want, last = twin_history(state, events, rule)
    assert {name: track.history[name].tolist() for name in fields} == {name: want[name] for name in fields}
    assert track.state.tolist() == astuple(last)
    return track
