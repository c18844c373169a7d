# SPDX-License-Identifier: GPL-2.0-only
"""What each kernel's update takes of each entity, checked, and as the columns that the core is given."""

from dataclasses import dataclass

import numpy as np

from schedpy import kernel as _kernel
from schedpy._coerce import as_bool, as_choice, as_choices, as_int, as_number
from schedpy.pelt.state import FIELDS
from schedpy.pelt.tables import table_and_max

__all__ = ["HISTORY", "Entity", "Given", "check_fields", "entity_of", "event_columns", "parameters"]

HISTORY = (*FIELDS, "load_now", "runnable_now", "util_now", "updated")
_U32 = 2**32 - 1


@dataclass(frozen=True)
class Form:
    """What the update of a range of kernels takes beside weight and flags, and what it has beside load."""

    suffix: str
    freq_scale: bool = False
    cpu_scale: bool = False
    runnable_weight: bool = False
    nr_running: bool = False
    scales_time: bool = False
    tunable: bool = True
    util: bool = True


_FORMS = {
    "P38": Form("v3_8", tunable=False, util=False),
    "P43": Form("v4_3", freq_scale=True, tunable=False),
    "P44": Form("v4_4", freq_scale=True, cpu_scale=True, tunable=False),
    "P47": Form("v4_7", freq_scale=True, cpu_scale=True, tunable=False),
    "P412": Form("v4_12", freq_scale=True, cpu_scale=True),
    "P413": Form("v4_13", freq_scale=True, cpu_scale=True),
    "P414": Form("v4_14", freq_scale=True, cpu_scale=True),
    "P415": Form("v4_15", freq_scale=True, cpu_scale=True, runnable_weight=True),
    "P51": Form("v5_1", runnable_weight=True, scales_time=True),
    "P61": Form("v5_7", nr_running=True, scales_time=True),
}
_ONLY_BEFORE_4_12 = {"half_life": 32, "load_avg_max": 47742, "update_threshold": 0}
_ABSENT_IN_3_8 = ("util_sum", "period_contrib", "runnable_avg", "util_avg", "runnable_now", "util_now")

# Which rule of kernel.py says what form an entity has, and the core's name for it.
_ENTITIES = {
    "task": ("pelt.update", "task"),
    "cfs_rq": ("pelt.update", "cfs_rq"),
    "rt": ("pelt.update_rq", "rt"),
    "dl": ("pelt.update_rq", "rt"),
    "irq": ("pelt.update_rq", "irq"),
}


@dataclass(frozen=True)
class Entity:
    """A kind of entity in a kernel."""

    name: str
    kernel: str
    long_bits: int
    form: Form

    @property
    def in_core(self):
        """The suffix of the core's functions."""
        bits = "_32bit" if self.long_bits == 32 else ""
        return f"{_ENTITIES[self.name][1]}_{self.form.suffix}{bits}"

    @property
    def highest(self):
        """The largest unsigned long."""
        return 2**self.long_bits - 1

    @property
    def widths(self):
        """The largest values of fields of the state that are narrower than others have them."""
        widths = {} if self.form.util else dict.fromkeys(("load_sum", "runnable_sum"), _U32)
        return widths | dict.fromkeys(("load_avg", "runnable_avg", "util_avg"), self.highest)


@dataclass(frozen=True)
class Given:
    """What describes the entity in the time up to now, as the caller gave it."""

    running: object
    on_rq: object
    weight: object
    runnable_weight: object
    nr_running: object
    freq_scale: object
    cpu_scale: object


def entity_of(kernel, entity, long_bits):
    as_choice(entity, "entity", tuple(_ENTITIES))
    if as_number(long_bits, "long_bits") not in (32, 64):
        raise ValueError(f"long_bits = {long_bits}: must be 32 or 64")
    form = _FORMS[_kernel.form(_ENTITIES[entity][0], kernel)]
    if entity == "cfs_rq" and not form.util:
        raise ValueError(f"entity = 'cfs_rq': kernels from 4.3 on track one, not {kernel}")
    if long_bits == 32:
        _kernel.form("pelt.update_32bit", kernel)
    return Entity(entity, kernel, int(long_bits), form)


def parameters(who, half_life, load_avg_max, update_threshold):
    """The table, LOAD_AVG_MAX and the threshold."""
    inverse, highest = table_and_max(half_life, load_avg_max)
    threshold = as_number(update_threshold, "update_threshold", low=0)
    if not who.form.tunable:
        values = {"half_life": inverse.size, "load_avg_max": highest, "update_threshold": threshold}
        for name, value in values.items():
            only = _ONLY_BEFORE_4_12[name]
            if value != only:
                raise ValueError(f"{name} = {value}: must be {only} before 4.12, as in kernel {who.kernel}")
    return inverse, highest, threshold


def check_fields(fields, who):
    fields = as_choices(fields, "fields", HISTORY)
    for name in fields:
        if not who.form.util and name in _ABSENT_IN_3_8:
            raise ValueError(f"fields: kernel {who.kernel} has no {name}; it has load_avg")
    form = who.form
    if "runnable_now" in fields and who.name == "task" and not (form.runnable_weight or form.nr_running):
        raise ValueError(f"fields: kernel {who.kernel} refreshes no runnable_avg of a task: no runnable_now")
    return fields


def event_columns(now, who, given):
    """The seven columns by name, in the core's order."""
    columns = {"task": _task, "cfs_rq": _cfs_rq, "irq": _irq}.get(who.name, _rt)(who, given)
    return {
        "now": as_int(now, "now", np.uint64, time=True),
        **dict(zip(("weight", _name_beside(who)), columns[:2], strict=True)),
        "freq_scale": _scale("freq_scale", who, given),
        "cpu_scale": _scale("cpu_scale", who, given),
        **dict(zip(("in service" if who.name == "irq" else "running", "on_rq"), columns[2:], strict=True)),
    }


def _name_beside(who):
    """The argument that goes where the core takes something beside weight."""
    if who.name == "irq":
        return "running"
    return "nr_running" if who.form.nr_running else "runnable_weight"


def _task(who, given):
    running = as_bool(given.running, "running")
    on_rq = running if given.on_rq is None else as_bool(given.on_rq, "on_rq")
    _refuse("nr_running", given, 'a task has none: entity="cfs_rq" takes it from 5.7 on')
    weight = _unsigned_long("weight", who, 1024 if given.weight is None else given.weight)
    return weight, _runnable_weight(who, given, weight), running, on_rq


def _cfs_rq(who, given):
    if given.on_rq is not None:
        raise TypeError("on_rq: a run queue is on no run queue; give its weight and running")
    if given.weight is None:
        raise TypeError('weight is required for entity="cfs_rq"')
    weight = _unsigned_long("weight", who, given.weight)
    runnable = _runnable_weight(who, given, weight)
    if not who.form.nr_running:
        _refuse("nr_running", given, f"kernels from 5.7 on take it, not {who.kernel}")
    elif given.nr_running is None:
        raise TypeError(f"nr_running is required for a run queue of kernel {who.kernel}")
    else:
        runnable = as_int(given.nr_running, "nr_running", np.uint64, high=_U32)
    return weight, runnable, as_bool(given.running, "running"), np.asarray(False)


def _rt(who, given):
    _refuse_weights(who, given)
    return np.uint64(0), np.uint64(0), as_bool(given.running, "running"), np.asarray(False)


def _irq(who, given):
    _refuse_weights(who, given)
    time = as_int(given.running, "running", np.uint64, time=True)
    return np.uint64(0), time, np.asarray(False), np.asarray(False)


def _refuse(name, given, why):
    if getattr(given, name) is not None:
        raise ValueError(f"{name}: {why}")


def _refuse_weights(who, given):
    if given.on_rq is not None:
        raise TypeError(f"on_rq: entity={who.name!r} is on no run queue; give running")
    for name in ("weight", "runnable_weight", "nr_running"):
        _refuse(name, given, f"entity={who.name!r} has none")


def _unsigned_long(name, who, value):
    return as_int(value, name, np.uint64, high=who.highest)


def _runnable_weight(who, given, weight):
    if not who.form.runnable_weight:
        _refuse("runnable_weight", given, f"kernels 4.15 .. 5.6 take it, not {who.kernel}")
    if given.runnable_weight is None:
        return weight
    return _unsigned_long("runnable_weight", who, given.runnable_weight)


def _scale(name, who, given):
    if who.name != "irq" and not getattr(who.form, name):
        if who.form.scales_time:
            why = f"kernel {who.kernel} scales time instead of sums: use clock_pelt for now"
        else:
            since = "4.3" if name == "freq_scale" else "4.4"
            why = f"kernels {since} .. 5.0 take it, not {who.kernel}"
        _refuse(name, given, why)
    value = getattr(given, name)
    return np.asarray(1024, np.uint64) if value is None else _unsigned_long(name, who, value)
