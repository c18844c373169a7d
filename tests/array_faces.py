# SPDX-License-Identifier: GPL-2.0-only
"""The public call behind each ufunc of the core, with the range and type of its arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from schedpy import clock, eas, em, jiffies, pelt

U64 = (0, 2**64 - 1, "u8")
S64 = (-(2**63), 2**63 - 1, "i8")
U32 = (0, 2**32 - 1, "u4")
SHIFT = (0, 63, "u4")
DIVISOR = (1, 2**32 - 1, "u4")
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


def sched_clock(cyc, epoch_cyc, epoch_ns, mask, mult, shift, *, face=clock.sched_clock, **ufunc):
    return face(cyc, mult, shift, mask, epoch_cyc=epoch_cyc, epoch_ns=epoch_ns, **ufunc)


def vdso_calc_ns(cycles, cycle_last, mask, mult, base, shift, *, face=clock.vdso_calc_ns, **ufunc):
    return face(cycles, cycle_last, mask, mult, shift, base=base, **ufunc)


def with_companion(ufunc, call, wraps, arguments, operands):
    """A function, and the one that tells where it wraps."""
    return [Face(ufunc, call, arguments, operands), Face(f"{ufunc}_wraps", wraps, arguments, operands)]


def both(name, arguments, operands, *, ufunc=None, **fixed):
    """Those two of the clock module."""
    call, wraps = getattr(clock, name), getattr(clock.wraps, name)
    return with_companion(ufunc or name, partial(call, **fixed), partial(wraps, **fixed), arguments, operands)


CLOCK = [
    Face("ktime_divns", clock.ktime_divns, ("ns", "div"), (S64, (1, 2**63 - 1, "i8"))),
    Face("ns_to_us_mulhi", clock.ns_to_us_mulhi, ("ns",), (S64,), typeless=True),
    Face("ns_to_us_mulhi", clock.ns_to_us_mulhi, ("ns",), (U64,), typeless=True),
    Face("ktime_us_delta_wraps", clock.wraps.ktime_us_delta, ("later", "earlier"), (S64, S64)),
    *both("approximate", ("ns",), (U64,), ufunc="shift_add", expression="(x+(x>>5)-(x>>7))>>10"),
    *both("clocks_calc_mult_shift", ("from_hz", "to_hz", "maxsec"), (DIVISOR, U32, U32)),
    *both("clocks_calc_max_nsecs", ("mult", "shift", "maxadj", "mask"), (DIVISOR, SHIFT, U32, U64)),
    Face(
        "clocksource_update_freq_scale",
        clock.clocksource_update_freq_scale,
        ("scale", "freq", "mask"),
        ((1, 1000, "u4"), DIVISOR, U64),
    ),
    *both("clocksource_hz2mult", ("hz", "shift_constant"), (DIVISOR, SHIFT)),
    *both("clocksource_khz2mult", ("khz", "shift_constant"), (DIVISOR, SHIFT)),
    *both("clocksource_cyc2ns", ("cycles", "mult", "shift"), (U64, U32, SHIFT)),
    *both("clocksource_cyc2ns_safe", ("cycles", "mult", "shift", "max_cycles"), (U64, U32, SHIFT, U64)),
    Face("clocksource_delta", clock.clocksource_delta, ("now", "last", "mask"), (U64, U64, U64)),
    Face(
        "clocksource_delta_validated",
        partial(clock.clocksource_delta, validate=True),
        ("now", "last", "mask"),
        (U64, U64, U64),
    ),
    *both("cyc_to_ns", ("cyc", "mult", "shift"), (U64, U32, SHIFT)),
    Face("sched_clock_register", clock.sched_clock_register, ("bits", "rate"), ((1, 64, "u4"), DIVISOR)),
    *with_companion(
        "sched_clock",
        sched_clock,
        partial(sched_clock, face=clock.wraps.sched_clock),
        ("cyc", "epoch_cyc", "epoch_ns", "mask", "mult", "shift"),
        (U64, U64, U64, U64, U32, SHIFT),
    ),
    *with_companion(
        "vdso_calc_ns",
        vdso_calc_ns,
        partial(vdso_calc_ns, face=clock.wraps.vdso_calc_ns),
        ("cycles", "cycle_last", "mask", "mult", "base", "shift"),
        (U64, U64, U64, U32, U64, SHIFT),
    ),
    *both("div_sc", ("ticks", "nsec", "shift"), (U64, DIVISOR, SHIFT)),
    *both(
        "div_sc",
        ("ticks", "nsec", "shift"),
        ((0, 2**32 - 1, "u8"), DIVISOR, SHIFT),
        ufunc="div_sc_32bit",
        long_bits=32,
    ),
    Face("cev_delta2ns", clock.cev_delta2ns, ("latch", "mult", "shift", "ismax"), (U64, U32, SHIFT, FLAG)),
    Face(
        "clockevents_config",
        clock.clockevents_config,
        ("freq", "min_delta_ticks", "max_delta_ticks"),
        (DIVISOR, U64, U64),
    ),
    *both("cycles_2_ns", ("tsc", "mul", "shift", "offset"), (U64, U32, SHIFT, U64)),
    *both("set_cyc2ns_scale", ("khz", "tsc_now", "mul", "shift", "offset"), (U32, U64, U32, SHIFT, U64)),
    *both("pvclock_scale_delta", ("delta", "mul_frac", "shift"), (U64, U32, (-63, 63, "i8"))),
    *both("tsc_to_perf_time", ("cyc", "time_mult", "time_shift", "time_zero"), (U64, U32, SHIFT, U64)),
    *both("perf_time_to_tsc", ("ns", "time_mult", "time_shift", "time_zero"), (U64, DIVISOR, SHIFT, U64)),
    *both("mul_u64_u32_shr", ("a", "mul", "shift"), (U64, U32, SHIFT)),
    Face(
        "mul_u64_u32_shr_32bit",
        partial(clock.mul_u64_u32_shr, long_bits=32),
        ("a", "mul", "shift"),
        (U64, U32, (0, 32, "u4")),
    ),
    *both("mul_u64_u64_shr", ("a", "mul", "shift"), (U64, U64, SHIFT)),
    Face(
        "mul_u64_u64_shr_32bit",
        partial(clock.mul_u64_u64_shr, long_bits=32),
        ("a", "mul", "shift"),
        (U64, U64, SHIFT),
    ),
    *both("mul_u64_u32_div", ("a", "mul", "divisor"), (U64, U32, DIVISOR)),
    *both(
        "mul_u64_u64_div_u64",
        ("a", "b", "c"),
        (U64, U64, (1, 2**64 - 1, "u8")),
        ufunc="mul_u64_u64_div_u64_v6_1",
        kernel="6.1",
    ),
    *both(
        "mul_u64_u64_div_u64",
        ("a", "b", "c"),
        (U64, U64, (1, 2**64 - 1, "u8")),
        ufunc="mul_u64_u64_div_u64_v6_19",
        kernel="6.19",
    ),
    Face("reciprocal_value", clock.reciprocal_value, ("d",), (DIVISOR,)),
    Face(
        "reciprocal_value_adv", clock.reciprocal_value_adv, ("d", "prec"), ((1, 2**31, "u4"), (1, 32, "u4"))
    ),
    Face(
        "reciprocal_divide",
        clock.reciprocal_divide,
        ("a", "m", "sh1", "sh2"),
        (U32, U32, (0, 31, "u4"), (0, 31, "u4")),
    ),
    Face("reciprocal_scale", clock.reciprocal_scale, ("val", "ep_ro"), (U32, U32)),
]


def of_jiffies(ufunc, name, operand, **kernel):
    argument = {"msecs_to_jiffies": "m", "usecs_to_jiffies": "u", "nsecs_to_jiffies": "n"}.get(name, "j")
    return Face(ufunc, partial(getattr(jiffies, name), **kernel), (argument,), (operand,))


UINT = (0, 2**32 - 1, "u8")
JIFFIES = [
    of_jiffies("jiffies_scaled_div", "jiffies64_to_msecs", U64, hz=300),
    of_jiffies("jiffies_scaled_div_uint", "jiffies_to_msecs", U64, hz=300),
    of_jiffies("jiffies_scaled_div_ulong", "nsecs_to_jiffies", U64, hz=300, long_bits=32),
    of_jiffies("jiffies_scaled_div_long", "jiffies_to_clock_t", U64, hz=1024),
    of_jiffies("jiffies_scaled_shr_uint", "jiffies_to_msecs", UINT, hz=300, long_bits=32),
    of_jiffies("jiffies_timeout_div", "msecs_to_jiffies", UINT, hz=250),
    of_jiffies("jiffies_timeout_shr", "usecs_to_jiffies", UINT, hz=300),
    Face("jiffies_scaled_div_wraps", partial(jiffies.wraps.jiffies_to_msecs, hz=300), ("j",), (U64,)),
    Face(
        "jiffies_scaled_shr_wraps",
        partial(jiffies.wraps.jiffies_to_msecs, hz=300, long_bits=32),
        ("j",),
        (UINT,),
    ),
    Face("jiffies_timeout_div_wraps", partial(jiffies.wraps.msecs_to_jiffies, hz=250), ("m",), (UINT,)),
    Face("jiffies_timeout_shr_wraps", partial(jiffies.wraps.usecs_to_jiffies, hz=300), ("u",), (UINT,)),
    Face(
        "timespec64_to_jiffies",
        partial(jiffies.timespec64_to_jiffies, hz=250),
        ("sec", "nsec"),
        (S64, (0, 10**9 - 1, "u8")),
    ),
    *with_companion(
        "jiffies_to_timespec64",
        partial(jiffies.jiffies_to_timespec64, hz=250),
        partial(jiffies.wraps.jiffies_to_timespec64, hz=250),
        ("j",),
        (U64,),
    ),
]


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
    *CLOCK,
    *JIFFIES,
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
