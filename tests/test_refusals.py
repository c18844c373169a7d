# SPDX-License-Identifier: GPL-2.0-only
"""Every public function against arguments that are wrong: refused by a ValueError or TypeError that names it.

`CALLS` holds one good call of each public function. Each of its arguments is replaced by each kind of
nonsense in turn. What is accepted may be accepted; anything else must be one of the two errors, and name
the argument.
"""

import inspect

import numpy as np
import pytest

from schedpy import clock, cpuidle, eas, em, jiffies, kernel, pelt, stats, stopwatch, workload

MODEL = em.EnergyModel.load("pixel4")
LITTLE = MODEL["little"]
DOMAIN = {
    "name": "big",
    "cpus": [0],
    "freq_khz": [1_000_000, 2_000_000],
    "power": [300, 900],
    "unit": "mW",
    "capacity": 1024,
}
IDLE_STATES = cpuidle.IdleTable.load("intel_icx")
MOMENTS = stats.Moments(2207, 535, 3104)
PLACED = {"model": MODEL, "task": eas.task(util_avg=[9]), "cpus": eas.idle_cpus(MODEL, 1), "kernel": "5.12"}
MODULES = (
    clock,
    clock.wraps,
    cpuidle,
    eas,
    em,
    jiffies,
    jiffies.wraps,
    kernel,
    pelt,
    stats,
    stopwatch,
    workload,
)

MOVED = {"se": pelt.initial_state(), "cfs": pelt.initial_state()}

CLOCK = {
    clock.approximate: {"ns": 1, "expression": "x>>10"},
    clock.approximation: {"expression": "x>>10"},
    clock.approximation_bounds: {"expression": "x>>10", "below": 1000},
    clock.approximation_error: {"expression": "x>>10", "below": 1000},
    clock.cev_delta2ns: {"latch": 1, "mult": 1, "shift": 1, "ismax": True},
    clock.clockevents_config: {"freq": 1000, "min_delta_ticks": 1, "max_delta_ticks": 9},
    clock.clocks_calc_max_nsecs: {"mult": 1, "shift": 1, "maxadj": 0, "mask": 255},
    clock.clocks_calc_mult_shift: {"from_hz": 1000, "to_hz": 10**9, "maxsec": 600},
    clock.clocksource_cyc2ns: {"cycles": 1, "mult": 1, "shift": 1},
    clock.clocksource_cyc2ns_safe: {"cycles": 1, "mult": 1, "shift": 1, "max_cycles": 9},
    clock.clocksource_delta: {"now": 1, "last": 1, "mask": 255, "validate": True},
    clock.clocksource_hz2mult: {"hz": 1000, "shift_constant": 1},
    clock.clocksource_khz2mult: {"khz": 1000, "shift_constant": 1},
    clock.clocksource_mask: {"bits": 56},
    clock.clocksource_register_hz: {"hz": 1000, "mask": 255},
    clock.clocksource_register_khz: {"khz": 1000, "mask": 255},
    clock.clocksource_update_freq_scale: {"scale": 1, "freq": 1000, "mask": 255},
    clock.cpuidle_residency: {"ns": 1, "how": "shr10"},
    clock.cyc2ns_scale_legacy: {"khz": 1000},
    clock.cyc_to_ns: {"cyc": 1, "mult": 1, "shift": 1},
    clock.cycles_2_ns: {"tsc": 1, "mul": 1, "shift": 1, "offset": 0},
    clock.cycles_2_ns_legacy: {"tsc": 1, "scale": 1024, "fixed": True},
    clock.div_sc: {"ticks": 1, "nsec": 1, "shift": 1, "long_bits": 32},
    clock.freq_error_ppb: {"mult": 1, "shift": 1, "freq": 1000, "scale": 1},
    clock.ktime_divns: {"ns": 1, "div": 1},
    clock.ktime_to_us: {"ns": 1},
    clock.ktime_us_delta: {"later": 1, "earlier": 1},
    clock.mul_u64_u32_div: {"a": 1, "mul": 1, "divisor": 1},
    clock.mul_u64_u32_shr: {"a": 1, "mul": 1, "shift": 1, "long_bits": 32},
    clock.mul_u64_u64_div_u64: {"a": 1, "b": 1, "c": 1, "kernel": "6.19"},
    clock.mul_u64_u64_shr: {"a": 1, "mul": 1, "shift": 1, "long_bits": 32},
    clock.ns_to_us: {"ns": 1},
    clock.ns_to_us_mulhi: {"ns": 1},
    clock.ns_to_us_shift: {"ns": 1},
    clock.pelt_step: {"now": 1, "last": 1},
    clock.perf_time_to_tsc: {"ns": 1, "time_mult": 1, "time_shift": 1, "time_zero": 0},
    clock.pvclock_scale_delta: {"delta": 1, "mul_frac": 1, "shift": 1},
    clock.reciprocal_divide: {"a": 1, "m": 1, "sh1": 0, "sh2": 0},
    clock.reciprocal_scale: {"val": 1, "ep_ro": 1},
    clock.reciprocal_value: {"d": 1},
    clock.reciprocal_value_adv: {"d": 1, "prec": 32},
    clock.sched_clock: {"cyc": 1, "mult": 1, "shift": 1, "mask": 255, "epoch_cyc": 0, "epoch_ns": 0},
    clock.sched_clock_register: {"bits": 56, "rate": 1000},
    clock.set_cyc2ns_scale: {"khz": 1000, "tsc_now": 1, "mul": 1, "shift": 1, "offset": 0},
    clock.to_ns: {"seconds": 1},
    clock.tsc_to_perf_time: {"cyc": 1, "time_mult": 1, "time_shift": 1, "time_zero": 0},
    clock.vdso_calc_ns: {"cycles": 1, "cycle_last": 0, "mask": 255, "mult": 1, "shift": 1, "base": 0},
}
CLOCK |= {getattr(clock.wraps, name): CLOCK[getattr(clock, name)] for name in clock.wraps.__all__}
KERNEL = {"hz": 250, "long_bits": 32}
JIFFIES = {
    jiffies.clock_t_to_jiffies: {"x": 1, **KERNEL},
    jiffies.jiffies64_to_msecs: {"j": 1, "hz": 250},
    jiffies.jiffies64_to_nsecs: {"j": 1, "hz": 250},
    jiffies.jiffies_64_to_clock_t: {"j": 1, "hz": 250},
    jiffies.jiffies_to_clock_t: {"j": 1, **KERNEL},
    jiffies.jiffies_to_msecs: {"j": 1, **KERNEL},
    jiffies.jiffies_to_timespec64: {"j": 1, **KERNEL},
    jiffies.jiffies_to_usecs: {"j": 1, **KERNEL},
    jiffies.max_jiffy_offset: {"long_bits": 32},
    jiffies.msecs_to_jiffies: {"m": 1, **KERNEL},
    jiffies.nsec_to_clock_t: {"n": 1},
    jiffies.nsecs_to_jiffies: {"n": 1, **KERNEL},
    jiffies.nsecs_to_jiffies64: {"n": 1, "hz": 250},
    jiffies.tick_nsec: {"hz": 250},
    jiffies.timeconst: {"hz": 250},
    jiffies.timespec64_to_jiffies: {"sec": 1, "nsec": 1, **KERNEL},
    jiffies.usecs_to_jiffies: {"u": 1, **KERNEL},
}
JIFFIES |= {getattr(jiffies.wraps, name): JIFFIES[getattr(jiffies, name)] for name in jiffies.wraps.__all__}

CALLS = {
    **CLOCK,
    **JIFFIES,
    pelt.accumulate_segments: {"periods": 1, "d1": 1, "d3": 1, "half_life": 32, "load_avg_max": 47742},
    pelt.compute_runnable_contrib: {"n": 1, "kernel": "4.9"},
    pelt.constants: {"half_life": 32},
    pelt.decay_load: {"val": 1, "n": 1, "kernel": "5.12", "half_life": 32},
    pelt.initial_state: {"shape": (2,), "util_avg": 1},
    pelt.nice_to_weight: {"nice": 0},
    pelt.track: {
        "now": [1, 2],
        "kernel": "4.15",
        "running": True,
        "on_rq": True,
        "entity": "task",
        "index": [0, 1],
        "weight": 1024,
        "runnable_weight": 1024,
        "freq_scale": 1024,
        "cpu_scale": 1024,
        "half_life": 32,
        "load_avg_max": 47742,
        "long_bits": 64,
        "update_threshold": 0,
        "state": pelt.initial_state(2),
        "fields": ("util_avg",),
        "threads": 1,
    },
    pelt.attach: {**MOVED, "kernel": "6.1", "weight": 1024},
    pelt.detach: {**MOVED, "kernel": "6.1", "weight": 1024},
    pelt.post_init_entity_util_avg: {
        "kernel": "6.1",
        "cfs_util_avg": 1,
        "cfs_load_avg": 1,
        "capacity": 1024,
        "se_load_weight_raw": 1 << 20,
    },
    pelt.initial_util_est: {"shape": (2,), "task_ewma": 1},
    pelt.util_est: {
        "state": pelt.initial_util_est(),
        "kernel": "6.1",
        "util_enqueue": 1,
        "util_dequeue": 1,
        "runnable_avg": 1,
        "util_changed": True,
        "task_sleep": True,
        "capacity": 1024,
    },
    pelt.initial_clock_pelt: {"shape": (2,), "clock_task": 1},
    pelt.clock_pelt: {
        "state": pelt.initial_clock_pelt(),
        "delta_ns": 1,
        "kernel": "6.1",
        "curr_is_idle": False,
        "entering_idle": True,
        "util_sum": 1,
        "cpu_scale": 1024,
        "freq_scale": 1024,
        "multiplier": 1,
    },
    pelt.rq_clock_pelt: {"state": pelt.initial_clock_pelt()},
    pelt.nice_to_wmult: {"nice": 0},
    pelt.scale_load_down: {"weight_raw": 1024, "kernel": "5.12"},
    pelt.continuous: {"now": [1, 2], "running": True, "half_life": 32},
    pelt.swing: {"run_ns": 1, "period_ns": 4, "half_life": 32},
    pelt.time_to_reach: {"value": 512, "start": 0, "half_life": 32},
    pelt.settling_time: {"run_ns": 1, "period_ns": 4, "tolerance": 1, "half_life": 32},
    pelt.update: {"state": pelt.initial_state(), "now": 1, "kernel": "5.12", "running": True},
    cpuidle.IdleTable: {
        "state": ["WFI", "sleep"],
        "exit_latency_us": [1, 100],
        "target_residency_us": [1, 200],
        "polling": False,
        "first": 0,
        "name": "mine",
        "source": "here",
    },
    cpuidle.IdleTable.load: {"name_or_path": "juno", "cpu": None},
    cpuidle.initial_state: {
        "table": IDLE_STATES,
        "shape": (2,),
        "kernel": "6.1",
        "governor": "menu",
        "bucket": 1,
    },
    cpuidle.get_typical_interval: {"intervals": [5] * 8, "kernel": "6.1", "predicted_us": 9},
    cpuidle.run: {
        "table": IDLE_STATES,
        "kernel": "6.1",
        "governor": "menu",
        "sleep_ns": [1, 2],
        "wake_ns": [1, 2],
        "latency_us": 1,
        "residency": "ns",
        "delta_tick_ns": 1,
        "tick_stopped": False,
        "got_tick": False,
        "poll_time_limit": False,
        "nr_iowaiters": 0,
        "disabled": [False] * 4,
        "hz": 250,
        "state": cpuidle.initial_state(IDLE_STATES, kernel="6.1"),
        "fields": ("selected",),
        "threads": 1,
    },
    em.map_util_freq: {"util": 1, "freq": 1, "cap": 1, "kernel": "5.12"},
    em.map_util_perf: {"util": 1},
    em.cpufreq_resolve: {
        "freqs": [1, 2],
        "inefficient": [True, False],
        "target": 1,
        "policy_min": 1,
        "policy_max": 2,
        "relation": "LE",
    },
    em.PerfDomain: DOMAIN,
    em.EnergyModel: {"domains": MODEL.domains, "name": "mine", "source": "here"},
    em.EnergyModel.load: {"name_or_path": "pixel4", "unit": "bogo", "capacity": None},
    LITTLE.energy: {
        "max_util": 1,
        "sum_util": 1,
        "kernel": "7.3",
        "skip_inefficient": True,
        "allowed_cpu_cap": 1,
        "capacity": 512,
        "freq_min_khz": 300_000,
        "freq_max_khz": 403_200,
    },
    LITTLE.lut: {"skip_inefficient": True, "variant": "bins", "kernel": "6.1"},
    LITTLE.lut().state: {"request": 1},
    LITTLE.lut().state_of_util: {"util": 1},
    eas.cpu_util: {
        "cpu": 0,
        "dst_cpu": 0,
        "kernel": "5.12",
        "prev_cpu": 0,
        "util_avg": 1,
        "util_est": 1,
        "cpu_util_avg": 1,
        "cpu_util_est": 1,
        "scale_cpu": 1024,
    },
    eas.effective_cpu_util: {"util_cfs": 1, "kernel": "5.12", "max": 1024, "rt": 1, "dl": 1, "irq": 1},
    eas.find_energy_efficient_cpu: {**PLACED, "method": "walk", "domain_mask": 255, "threads": 1},
    eas.idle_cpus: {"model": MODEL, "shape": 2},
    eas.task: {"prev_cpu": 0, "util_avg": 1},
    eas.time_placements: {
        **PLACED,
        "arms": ("walk", "lut"),
        "order": [[0, 1]],
        "caches": "shared",
        "working_set": 4096,
        "batch": 1,
    },
    eas.util_fits_cpu: {"util": 1, "capacity_of": 1, "kernel": "5.12"},
    kernel.form: {"rule": "pelt.update", "kernel": "5.12"},
    kernel.ranges: {"rule": "pelt.update"},
    stats.Histogram: {"low": [0, 5], "high": [4, 9], "count": [2, 3]},
    stats.Moments: {"mean": 1.0, "std": 1.0, "count": 9},
    stats.Moments.of: {"samples": [1, 2, 3], "axis": 0},
    stats.bootstrap_ratio: {
        "a": [1, 2, 3],
        "b": [2, 3, 4],
        "level": 0.9,
        "resamples": 100,
        "seed": 1,
    },
    stats.compare: {"a": MOMENTS, "b": MOMENTS, "level": 0.9},
    stats.counts_needed: {"a": MOMENTS, "b": MOMENTS, "difference": 9, "power": 0.9, "level": 0.9},
    stats.holm: {"p": [0.1, 0.2]},
    stats.interval: {"moments": MOMENTS, "level": 0.9},
    stats.kolmogorov_smirnov: {"a": [1, 2, 3], "b": [2, 3, 4]},
    stats.mann_whitney: {"a": [1, 2, 3], "b": [2, 3, 4]},
    stats.power: {"a": MOMENTS, "b": MOMENTS, "difference": 9, "level": 0.9},
    stats.ratio: {"a": MOMENTS, "b": MOMENTS, "level": 0.9},
    stats.smallest_difference: {"a": MOMENTS, "b": MOMENTS, "power": 0.9, "level": 0.9},
    stopwatch.clocks: {},
    stopwatch.counter: {},
    stopwatch.read: {"name": "CLOCK_MONOTONIC"},
    stopwatch.read_cost: {
        "clocks": "empty call",
        "rounds": 2,
        "calls": 10,
        "cpus": None,
        "pinned": True,
        "warmup": 1000,
        "seconds": 9.5,
    },
    workload.periodic: {
        "run_ns": 5,
        "period_ns": 9,
        "n": 2,
        "hz": 250,
        "tick_offset_ns": 0,
        "start_ns": 0,
        "pick_ns": 3,
    },
    workload.staircase: {"hz": 250, "duty_pct": (50,), "period_ns": 16_000_000, "phase_ns": 32_000_000},
    workload.tick_nsec: {"hz": 250},
}
#: Result types, made by the functions above and not by users; and a context manager with tests of its own.
NOT_CALLED = {
    clock.Approximation,
    clock.ApproximationBounds,
    clock.ApproximationError,
    clock.ClockEvent,
    clock.Clocksource,
    clock.Cyc2ns,
    clock.MaxNsecs,
    clock.MultShift,
    clock.PeltStep,
    clock.Reciprocal,
    clock.ReciprocalAdv,
    clock.SchedClock,
    jiffies.Timespec64,
    cpuidle.Choices,
    eas.EffectiveUtil,
    eas.Placement,
    eas.PlacementTimes,
    em.Bins,
    em.Check,
    em.Direct,
    em.Finding,
    em.Lut,
    em.Search,
    em.StateTable,
    kernel.Range,
    pelt.Constants,
    pelt.Swing,
    pelt.Track,
    pelt.UtilEst,
    stats.Comparison,
    stats.Counts,
    stats.Interval,
    stats.RankTest,
    stats.Ratio,
    stopwatch.Clock,
    stopwatch.ClockCost,
    stopwatch.Counter,
    stopwatch.Histogram,
    stopwatch.ReadCost,
    stopwatch.pinned,
    workload.Events,
}

NONSENSE = {
    "negative": -1,
    "float": 1.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "too large": 2**64,
    "far too large": 10**40,
    "negative elements": [3, -(2**63) - 1],
    "text": "no such thing",
    "empty text": "",
    "bytes": b"5.12",
    "None": None,
    "object": object(),
    "complex": 1j,
    "dictionary": {"a": 1},
    "ragged": [[1], [2, 3]],
    "NaN among integers": [1, float("nan")],
    "wrong shape": np.zeros((3, 5, 7)),
    "not a version": "6.99",
    "array of text": np.array(["a", "b"]),
    "dates": np.array(["2026-11-30"], dtype="M8[D]"),
    "structured": np.zeros(2, dtype=[("a", int)]),
}


def public():
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value):
                yield value


def test_every_public_function_is_called_here():
    assert set(public()) <= set(CALLS) | NOT_CALLED


def cases():
    for function, good in CALLS.items():
        for argument in good:
            yield pytest.param(function, good, argument, id=f"{function.__qualname__}-{argument}")


def test_the_good_calls_are_good():
    for function, good in CALLS.items():
        function(**good)


def refusal(function, arguments):
    """The error of a call, or None; anything but the two kinds of refusal passes through."""
    try:
        function(**arguments)
    except (ValueError, TypeError) as error:
        return error
    except OSError as error:
        return ValueError(f"name_or_path: {error}")
    return None


@pytest.mark.parametrize(("function", "good", "argument"), list(cases()))
def test_nonsense_is_refused_by_name(function, good, argument):
    refused = {
        kind: error for kind, bad in NONSENSE.items() if (error := refusal(function, {**good, argument: bad}))
    }
    nameless = {kind: str(error) for kind, error in refused.items() if argument not in str(error)}
    assert not nameless
    assert len(refused) >= 5, f"{argument} takes nearly anything"


def test_an_unknown_keyword_is_refused():
    for function, good in CALLS.items():
        parameters = inspect.signature(function).parameters.values()
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            with pytest.raises(TypeError):
                function(**good, no_such_argument=1)
