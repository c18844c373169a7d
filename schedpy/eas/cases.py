# SPDX-License-Identifier: GPL-2.0-only
"""Placement cases as arrays: tasks, CPUs, the model, and work split over threads."""

import numpy as np

from schedpy._coerce import as_array, as_bool, as_int, as_shape
from schedpy.em import EnergyModel

__all__ = ["CALL", "CPU", "TASK", "core_model", "idle_cpus", "operands", "refuse_out_of_range", "task"]

_EVERYWHERE = 2**64 - 1

#: A waking task. ``util_est`` is without the kernel's flag bit; ``affinity`` is a mask, bit n for CPU n.
TASK = np.dtype(
    [
        ("prev_cpu", np.uint64),
        ("util_avg", np.uint64),
        ("util_est", np.uint64),
        ("runnable_avg", np.uint64),
        ("uclamp_min", np.uint64),
        ("uclamp_max", np.uint64),
        ("affinity", np.uint64),
    ]
)

#: A CPU: its CFS run queue, what the other classes use, its capacity, and the clamps of its run queue.
CPU = np.dtype(
    [
        ("util_avg", np.uint64),
        ("util_est", np.uint64),
        ("runnable_avg", np.uint64),
        ("rt", np.uint64),
        ("dl", np.uint64),
        ("bw_dl", np.uint64),
        ("irq", np.uint64),
        ("capacity_of", np.uint64),
        ("pressure", np.uint64),
        ("uclamp_min", np.uint64),
        ("uclamp_max", np.uint64),
        ("uclamp_idle", np.bool_),
        ("rt_runnable", np.bool_),
        ("online", np.bool_),
    ],
    align=True,
)

#: One estimate of a domain's energy, with the task on dst_cpu (-1: nowhere).
CALL = np.dtype([("energy", np.uint64), ("state", np.int32), ("domain", np.int16), ("dst_cpu", np.int16)])

_HIGH = {"uclamp_min": 1024, "uclamp_max": 1024}


def task(**values):
    """Waking tasks, with defaults.

    Parameters
    ----------
    **values : array_like of int
        Fields of `TASK`, broadcast against each other. Defaults: util_est and runnable_avg as util_avg;
        uclamp_max 1024; affinity every CPU; else 0.

    Returns
    -------
    structured array of `TASK`

    Examples
    --------
    >>> from schedpy import eas
    >>> eas.task(prev_cpu=[0, 7], util_avg=128)["util_avg"].tolist()
    [128, 128]
    """
    if unknown := values.keys() - set(TASK.fields or ()):
        raise TypeError(
            f"{min(unknown)} is no field of a task: must be one of {', '.join(TASK.fields or ())}"
        )
    columns = {
        name: as_int(value, name, np.uint64, high=63 if name == "prev_cpu" else _HIGH.get(name))
        for name, value in values.items()
    }
    tasks = np.zeros(_broadcast(columns), dtype=TASK)
    tasks["uclamp_max"] = 1024
    tasks["affinity"] = _EVERYWHERE
    for name in ("util_est", "runnable_avg"):
        columns.setdefault(name, columns.get("util_avg", tasks["util_avg"]))
    for name, column in columns.items():
        tasks[name] = column
    return tasks


def idle_cpus(model, shape=()):
    """The CPUs of a model, idle, online and at full capacity.

    Parameters
    ----------
    model : EnergyModel
    shape : int or tuple of int
        Leading dimensions.

    Returns
    -------
    structured array of `CPU`, shape (*shape, model.nr_cpus)
        A CPU number that the model leaves out is offline.

    Examples
    --------
    >>> from schedpy import eas, em
    >>> eas.idle_cpus(em.EnergyModel.load("pixel4"))["capacity_of"].tolist()
    [261, 261, 261, 261, 871, 871, 871, 1024]
    """
    _check_model(model)
    shape = as_shape(shape, "shape")
    row = np.zeros(model.nr_cpus, dtype=CPU)
    row["uclamp_max"] = 1024
    for domain in model.domains:
        row["capacity_of"][list(domain.cpus)] = domain.capacity
        row["online"][list(domain.cpus)] = True
    return np.broadcast_to(row, (*shape, model.nr_cpus)).copy()


def _check_model(model):
    if not isinstance(model, EnergyModel):
        raise TypeError(f"model is {type(model).__name__}: must be an EnergyModel")


def core_model(model, kernel, method, skip_inefficient, *, all_ways=False):
    """A tuple per domain, as the core takes a model; with all ways to a state where they are compared."""
    _check_model(model)
    domains = []
    for domain in model.domains:
        entries, shift = np.zeros(1, dtype=np.uint64), 63
        if method == "lut":
            made = domain.lut(skip_inefficient=skip_inefficient)
            entries, shift = made.entries.view(np.uint64), made.shift
        mask = sum(1 << cpu for cpu in domain.cpus)
        table = domain.table(kernel=kernel)
        lut = (entries, int(entries[0]), shift)
        ways = _ways(domain, kernel, skip_inefficient) if all_ways else None
        domains.append((mask, domain.capacity, table, *lut, bool(skip_inefficient), ways))
    return tuple(domains)


def _ways(domain, kernel, skip_inefficient):
    """What the ways to a state need that no kernel has."""
    bins = domain.lut(skip_inefficient, variant="bins", kernel=kernel)
    direct = domain.lut(skip_inefficient, variant="direct", kernel=kernel)
    served = bins.served
    return served.key, served.state, bins.entries, bins.shift, bins.steps, direct.entries


def operands(model, task, cpus, domain_mask, uclamp_used, overutilized):
    """What a case reads, as arrays of one shape, ranges not looked at; of cpus the first one of each case."""
    task = _as_struct(task, "task", TASK)
    cpus = _as_struct(cpus, "cpus", CPU)
    if cpus.ndim == 0 or cpus.shape[-1] != model.nr_cpus:
        raise ValueError(
            f"cpus has shape {cpus.shape}: its last dimension must be the {model.nr_cpus} CPUs of the model"
        )
    if cpus.strides[-1] != CPU.itemsize:
        cpus = np.ascontiguousarray(cpus)
    named = {
        "task": task,
        "cpus": cpus[..., 0],
        "domain_mask": as_int(_EVERYWHERE if domain_mask is None else domain_mask, "domain_mask", np.uint64),
        "uclamp_used": as_bool(uclamp_used, "uclamp_used"),
        "overutilized": as_bool(overutilized, "overutilized"),
    }
    shape = _broadcast(named)
    return tuple(np.broadcast_to(operand, shape) for operand in named.values()), shape


def refuse_out_of_range(model, task, cpus, *, pressure):
    """The first value that is out of range: of task or cpus, as they were given; a pass for every field.

    The core looks as well, at every case just before it places it, in one pass; it does not say which value.
    """
    task, cpus = _as_struct(task, "task", TASK), _as_struct(cpus, "cpus", CPU)
    for name, array in (("task", task), ("cpus", cpus)):
        for field, high in _HIGH.items():
            as_int(without_repeats(array[field]), f"{name} {field}", np.uint64, high=high)
    as_int(without_repeats(task["prev_cpu"]), "task prev_cpu", np.uint64, high=model.nr_cpus - 1)
    if pressure:
        _refuse_pressure(model, cpus)


def _refuse_pressure(model, cpus):
    """No CPU has less than no capacity left."""
    pressure = without_repeats(cpus["pressure"])
    capacity = idle_cpus(model)["capacity_of"]
    over = pressure > capacity
    if over.any():
        at = [int(i) for i in np.unravel_index(int(np.argmax(over)), over.shape)]
        value = np.broadcast_to(pressure, over.shape)[tuple(at)]
        raise ValueError(f"cpus pressure{at} = {value}: must be at most {capacity[at[-1]]}")


def _broadcast(named):
    try:
        return np.broadcast_shapes(*(operand.shape for operand in named.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {operand.shape}" for name, operand in named.items())
        raise ValueError(f"leading dimensions do not broadcast: {shapes}") from None


def _as_struct(x, name, dtype):
    """x as an aligned array of exactly this structure: fields are matched by name, not by place."""
    array = as_array(x, name)
    if array.dtype.names is None:
        raise TypeError(f"{name} must be a structured array of the fields {', '.join(dtype.names)}")
    if different := set(array.dtype.names) ^ set(dtype.names):
        raise TypeError(f"{name}: field {min(different)!r} is missing or unknown")
    if array.dtype != dtype or not array.flags.aligned:
        converted = np.empty(array.shape, dtype=dtype)
        for field in dtype.names:
            label = f"{name} {field}"
            converted[field] = (
                as_bool(array[field], label)
                if dtype[field] == np.bool_
                else as_int(array[field], label, np.uint64)
            )
        array = converted
    return array


def without_repeats(array):
    """An array without what broadcasting repeats, as cheap to look through as its memory."""
    return array[tuple(slice(None, 1) if step == 0 else slice(None) for step in array.strides)]
