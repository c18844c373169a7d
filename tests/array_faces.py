# SPDX-License-Identifier: GPL-2.0-only
"""The public call behind each ufunc of the core, with the range and type of its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from schedpy import clock, eas, em, pelt

U64 = (0, 2**64 - 1, "u8")
S64 = (-(2**63), 2**63 - 1, "i8")
U32 = (0, 2**32 - 1, "u4")
SHIFT = (0, 63, "u4")
CPU = (0, 63, "i8")
CLAMP = (0, 1024, "u8")
FLAG = (0, 1, "?")


@dataclass(frozen=True)
class Face:
    """One public call: the ufunc it reaches, its argument names, and (low, high, dtype) for each.

    ``typeless``: the face takes s64 and u64 alike, the type of the input decides.
    """

    ufunc: str
    call: Callable
    arguments: tuple[str, ...]
    operands: tuple[tuple, ...]
    typeless: bool = False

    @property
    def name(self):
        return f"{self.ufunc}-{self.operands[0][2]}"


TASK_ON_CPU = (
    "cpu",
    "dst_cpu",
    "prev_cpu",
    "util_avg",
    "util_est",
    "cpu_util_avg",
    "cpu_util_est",
    "scale_cpu",
)
ALL_CLASSES = (
    "util_cfs",
    "rt",
    "dl",
    "bw_dl",
    "irq",
    "max",
    "rq_uclamp_min",
    "rq_uclamp_max",
    "rt_runnable",
    "uclamp_used",
    "task_uclamp_min",
    "task_uclamp_max",
    "has_task",
)


def cpu_util_v5_12(*values, **ufunc):
    return eas.cpu_util(**dict(zip(TASK_ON_CPU, values, strict=True)), kernel="5.12", **ufunc)


def cpu_util_v5_13(*values, **ufunc):
    return eas.cpu_util(**dict(zip(TASK_ON_CPU, values, strict=True)), kernel="5.13", **ufunc)


def effective_cpu_util_v5_12(*values, **ufunc):
    return eas.effective_cpu_util(**dict(zip(ALL_CLASSES, values, strict=True)), kernel="5.12", **ufunc)


WITH_RUNNABLE = (*TASK_ON_CPU[:5], "runnable_avg", *TASK_ON_CPU[5:7], "cpu_runnable_avg", "scale_cpu")
WITH_IDLE = (*ALL_CLASSES[:8], "rq_uclamp_idle", *ALL_CLASSES[8:])
FITTING = ("util", "uclamp_min", "uclamp_max", "capacity_orig", "capacity_of", "pressure", "uclamp_used")


def cpu_util_boost(*values, **ufunc):
    return eas.cpu_util(**dict(zip(WITH_RUNNABLE, values, strict=True)), kernel="6.12", **ufunc)


def effective_cpu_util_later(*values, kernel, **ufunc):
    return eas.effective_cpu_util(**dict(zip(WITH_IDLE, values, strict=True)), kernel=kernel, **ufunc)


def util_fits_cpu_later(*values, **ufunc):
    return eas.util_fits_cpu(**dict(zip(FITTING, values, strict=True)), kernel="6.1", **ufunc)


ON_CPU = (CPU, (-1, 63, "i8"), CPU, U64, U64, U64, U64, U64)


def new_task(cfs_util_avg, cfs_load_avg, capacity, se_load_weight_raw, *, kernel, **ufunc):
    return pelt.post_init_entity_util_avg(
        kernel=kernel,
        cfs_util_avg=cfs_util_avg,
        cfs_load_avg=cfs_load_avg,
        capacity=capacity,
        se_load_weight_raw=se_load_weight_raw,
        **ufunc,
    )


FACES = [
    Face("ktime_to_us", clock.ktime_to_us, ("ns",), (S64,)),
    Face("ktime_us_delta", clock.ktime_us_delta, ("later", "earlier"), (S64, S64)),
    Face("ns_to_us", clock.ns_to_us, ("ns",), (S64,), typeless=True),
    Face("ns_to_us", clock.ns_to_us, ("ns",), (U64,), typeless=True),
    Face("ns_to_us_shift", clock.ns_to_us_shift, ("ns",), (S64,), typeless=True),
    Face("ns_to_us_shift", clock.ns_to_us_shift, ("ns",), (U64,), typeless=True),
    Face("cpuidle_residency_div1000", clock.cpuidle_residency, ("ns",), (S64,), typeless=True),
    Face("cpuidle_residency_div1000", clock.cpuidle_residency, ("ns",), (U64,), typeless=True),
    Face(
        "cpuidle_residency_shr10",
        partial(clock.cpuidle_residency, how="shr10"),
        ("ns",),
        (S64,),
        typeless=True,
    ),
    Face(
        "cpuidle_residency_shr10",
        partial(clock.cpuidle_residency, how="shr10"),
        ("ns",),
        (U64,),
        typeless=True,
    ),
    Face("pelt_step", clock.pelt_step, ("now", "last"), (U64, U64)),
    Face(
        "clocks_calc_mult_shift",
        clock.clocks_calc_mult_shift,
        ("from_hz", "to_hz", "maxsec"),
        ((1, 2**32 - 1, "u4"), U32, U32),
    ),
    Face("clocksource_cyc2ns", clock.clocksource_cyc2ns, ("cycles", "mult", "shift"), (U64, U32, SHIFT)),
    Face("mul_u64_u32_shr", clock.mul_u64_u32_shr, ("a", "mul", "shift"), (U64, U32, SHIFT)),
    Face("decay_load_v3_8", partial(pelt.decay_load, kernel="3.8"), ("val", "n"), (U64, U64)),
    Face("decay_load_v4_3", partial(pelt.decay_load, kernel="4.3"), ("val", "n"), (U64, U64)),
    Face("decay_load_v4_12", partial(pelt.decay_load, kernel="4.12"), ("val", "n"), (U64, U64)),
    Face("accumulate_segments", pelt.accumulate_segments, ("periods", "d1", "d3"), (U64, U32, U32)),
    Face(
        "compute_runnable_contrib_v3_8", partial(pelt.compute_runnable_contrib, kernel="3.8"), ("n",), (U64,)
    ),
    Face(
        "compute_runnable_contrib_v4_7", partial(pelt.compute_runnable_contrib, kernel="4.7"), ("n",), (U64,)
    ),
    Face("nice_to_weight", pelt.nice_to_weight, ("nice",), ((-20, 19, "i8"),)),
    Face("nice_to_wmult", pelt.nice_to_wmult, ("nice",), ((-20, 19, "i8"),)),
    Face("scale_load_down_v4_12", partial(pelt.scale_load_down, kernel="4.12"), ("weight_raw",), (U64,)),
    Face("scale_load_down_v5_7", partial(pelt.scale_load_down, kernel="5.7"), ("weight_raw",), (U64,)),
    *(
        Face(
            f"post_init_entity_util_avg_v{kernel.replace('.', '_')}",
            partial(new_task, kernel=kernel),
            ("cfs_util_avg", "cfs_load_avg", "capacity", "se_load_weight_raw"),
            (U64, (0, 2**64 - 2, "u8"), U64, U64),
        )
        for kernel in ("4.10", "4.15", "6.10")
    ),
    Face(
        "map_util_freq_v5_0",
        partial(em.map_util_freq, kernel="5.12"),
        ("util", "freq", "cap"),
        (U64, U64, (1, 2**64 - 1, "u8")),
    ),
    Face(
        "map_util_freq_v5_14",
        partial(em.map_util_freq, kernel="5.14"),
        ("util", "freq", "cap"),
        (U64, U64, (1, 2**64 - 1, "u8")),
    ),
    Face("map_util_perf", em.map_util_perf, ("util",), (U64,)),
    Face("fits_capacity", partial(eas.util_fits_cpu, kernel="5.12"), ("util", "capacity_of"), (U64, U64)),
    Face("eas_cpu_util_v5_12", cpu_util_v5_12, TASK_ON_CPU, ON_CPU),
    Face("eas_cpu_util_v5_13", cpu_util_v5_13, TASK_ON_CPU, ON_CPU),
    Face(
        "eas_effective_util_v5_12",
        effective_cpu_util_v5_12,
        ALL_CLASSES,
        (*(U64,) * 6, CLAMP, CLAMP, FLAG, FLAG, CLAMP, CLAMP, FLAG),
    ),
    Face("eas_cpu_util_boost_v6_12", cpu_util_boost, WITH_RUNNABLE, (*ON_CPU, U64, U64)),
    *(
        Face(
            f"eas_effective_util_v{kernel.replace('.', '_')}",
            partial(effective_cpu_util_later, kernel=kernel),
            WITH_IDLE,
            (*(U64,) * 6, CLAMP, CLAMP, FLAG, FLAG, FLAG, CLAMP, CLAMP, FLAG),
        )
        for kernel in ("6.1", "6.12")
    ),
    Face(
        "eas_util_fits_cpu_v6_1",
        util_fits_cpu_later,
        FITTING,
        (U64, CLAMP, CLAMP, U64, U64, U64, FLAG),
    ),
]
