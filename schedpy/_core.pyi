# SPDX-License-Identifier: GPL-2.0-only
# The compiled core. Elementwise functions are ufuncs; their faces check and coerce, call those.
from collections.abc import Callable

import numpy as np

# clock
ktime_to_us: np.ufunc
ktime_us_delta: np.ufunc
ns_to_us: np.ufunc
ns_to_us_shift: np.ufunc
cpuidle_residency_div1000: np.ufunc
cpuidle_residency_shr10: np.ufunc
pelt_step: np.ufunc
ktime_us_delta_wraps: np.ufunc
ktime_divns: np.ufunc
ns_to_us_mulhi: np.ufunc
shift_add: np.ufunc
shift_add_wraps: np.ufunc
clocks_calc_mult_shift: np.ufunc
clocks_calc_mult_shift_wraps: np.ufunc
clocks_calc_max_nsecs: np.ufunc
clocks_calc_max_nsecs_wraps: np.ufunc
clocksource_update_freq_scale: np.ufunc
clocksource_hz2mult: np.ufunc
clocksource_hz2mult_wraps: np.ufunc
clocksource_khz2mult: np.ufunc
clocksource_khz2mult_wraps: np.ufunc
clocksource_cyc2ns: np.ufunc
clocksource_cyc2ns_wraps: np.ufunc
clocksource_cyc2ns_safe: np.ufunc
clocksource_cyc2ns_safe_wraps: np.ufunc
clocksource_delta: np.ufunc
clocksource_delta_validated: np.ufunc
cyc_to_ns: np.ufunc
cyc_to_ns_wraps: np.ufunc
sched_clock_register: np.ufunc
sched_clock: np.ufunc
sched_clock_wraps: np.ufunc
vdso_calc_ns: np.ufunc
vdso_calc_ns_wraps: np.ufunc
div_sc: np.ufunc
div_sc_wraps: np.ufunc
div_sc_32bit: np.ufunc
div_sc_32bit_wraps: np.ufunc
cev_delta2ns: np.ufunc
clockevents_config: np.ufunc
cycles_2_ns: np.ufunc
cycles_2_ns_wraps: np.ufunc
set_cyc2ns_scale: np.ufunc
set_cyc2ns_scale_wraps: np.ufunc
pvclock_scale_delta: np.ufunc
pvclock_scale_delta_wraps: np.ufunc
tsc_to_perf_time: np.ufunc
tsc_to_perf_time_wraps: np.ufunc
perf_time_to_tsc: np.ufunc
perf_time_to_tsc_wraps: np.ufunc

# math64
mul_u64_u32_shr: np.ufunc
mul_u64_u32_shr_wraps: np.ufunc
mul_u64_u32_shr_32bit: np.ufunc
mul_u64_u64_shr: np.ufunc
mul_u64_u64_shr_wraps: np.ufunc
mul_u64_u64_shr_32bit: np.ufunc
mul_u64_u32_div: np.ufunc
mul_u64_u32_div_wraps: np.ufunc
mul_u64_u64_div_u64_v6_1: np.ufunc
mul_u64_u64_div_u64_v6_1_wraps: np.ufunc
mul_u64_u64_div_u64_v6_19: np.ufunc
mul_u64_u64_div_u64_v6_19_wraps: np.ufunc

# reciprocal
reciprocal_value: np.ufunc
reciprocal_value_adv: np.ufunc
reciprocal_divide: np.ufunc
reciprocal_scale: np.ufunc

# jiffies
jiffies_scaled_div: np.ufunc
jiffies_scaled_div_uint: np.ufunc
jiffies_scaled_div_ulong: np.ufunc
jiffies_scaled_div_long: np.ufunc
jiffies_scaled_shr_uint: np.ufunc
jiffies_scaled_div_wraps: np.ufunc
jiffies_scaled_shr_wraps: np.ufunc
jiffies_timeout_div: np.ufunc
jiffies_timeout_div_wraps: np.ufunc
jiffies_timeout_shr: np.ufunc
jiffies_timeout_shr_wraps: np.ufunc
timespec64_to_jiffies: np.ufunc
jiffies_to_timespec64: np.ufunc
jiffies_to_timespec64_wraps: np.ufunc

# stopwatch: a clock is a row of stopwatch_clocks or a callable
STOPWATCH_COUNTER: str

def stopwatch_clocks() -> list[tuple[int, str, str, int, int]]: ...
def stopwatch_read(clock: int, /) -> int: ...
def stopwatch_batch(
    clock: int | Callable[[], object], warmup: int, calls: int, gate: np.ndarray | None = None, /
) -> int: ...
def stopwatch_single(
    clock: int | Callable[[], object], warmup: int, calls: int, gate: np.ndarray | None = None, /
) -> np.ndarray: ...
def stopwatch_empty(count: int, /) -> np.ndarray: ...
def stopwatch_deltas(count: int, /) -> np.ndarray: ...
def stopwatch_pair() -> tuple[int, int, int]: ...

# pelt
decay_load_v3_8: np.ufunc
decay_load_v4_3: np.ufunc
decay_load_v4_12: np.ufunc
accumulate_segments: np.ufunc
compute_runnable_contrib_v3_8: np.ufunc
compute_runnable_contrib_v4_7: np.ufunc
nice_to_weight: np.ufunc
nice_to_wmult: np.ufunc
scale_load_down_v4_12: np.ufunc
scale_load_down_v5_7: np.ufunc
post_init_entity_util_avg_v4_10: np.ufunc
post_init_entity_util_avg_v4_15: np.ufunc
post_init_entity_util_avg_v6_10: np.ufunc

# pelt: one step for each of many entities (gufuncs over rows of uint64)
pelt_attach_v4_10: np.ufunc
pelt_attach_v4_15: np.ufunc
pelt_attach_v5_7: np.ufunc
pelt_attach_v5_18: np.ufunc
pelt_detach_v4_10: np.ufunc
pelt_detach_v4_15: np.ufunc
pelt_detach_v5_7: np.ufunc
pelt_detach_v5_18: np.ufunc
util_est_v4_17: np.ufunc
util_est_v5_1: np.ufunc
util_est_v5_5: np.ufunc
util_est_v5_13: np.ufunc
util_est_v6_8: np.ufunc
util_est_v6_19: np.ufunc
clock_pelt_v5_1: np.ufunc
clock_pelt_v6_0: np.ufunc

# pelt: one event for each of many entities (gufuncs)
pelt_update_task_v3_8: np.ufunc
pelt_update_task_v4_3: np.ufunc
pelt_update_task_v4_4: np.ufunc
pelt_update_task_v4_7: np.ufunc
pelt_update_task_v4_12: np.ufunc
pelt_update_task_v4_13: np.ufunc
pelt_update_task_v4_14: np.ufunc
pelt_update_task_v4_15: np.ufunc
pelt_update_task_v5_1: np.ufunc
pelt_update_task_v5_7: np.ufunc
pelt_update_task_v4_13_32bit: np.ufunc
pelt_update_task_v4_15_32bit: np.ufunc
pelt_update_task_v5_7_32bit: np.ufunc
pelt_update_cfs_rq_v4_3: np.ufunc
pelt_update_cfs_rq_v4_4: np.ufunc
pelt_update_cfs_rq_v4_7: np.ufunc
pelt_update_cfs_rq_v4_12: np.ufunc
pelt_update_cfs_rq_v4_13: np.ufunc
pelt_update_cfs_rq_v4_14: np.ufunc
pelt_update_cfs_rq_v4_15: np.ufunc
pelt_update_cfs_rq_v5_1: np.ufunc
pelt_update_cfs_rq_v5_7: np.ufunc
pelt_update_cfs_rq_v4_13_32bit: np.ufunc
pelt_update_cfs_rq_v4_15_32bit: np.ufunc
pelt_update_cfs_rq_v5_7_32bit: np.ufunc
pelt_update_rt_v4_15: np.ufunc
pelt_update_rt_v5_1: np.ufunc
pelt_update_rt_v5_7: np.ufunc
pelt_update_rt_v4_15_32bit: np.ufunc
pelt_update_rt_v5_7_32bit: np.ufunc
pelt_update_irq_v4_15: np.ufunc
pelt_update_irq_v5_1: np.ufunc
pelt_update_irq_v5_7: np.ufunc
pelt_update_irq_v4_15_32bit: np.ufunc
pelt_update_irq_v5_7_32bit: np.ufunc

# pelt: many streams of events; state is changed in place, history filled
def _track(
    state: np.ndarray,
    events: tuple[np.ndarray, ...],
    history: tuple[np.ndarray | None, ...],
    inverse: np.ndarray,
    load_avg_max: int,
    update_threshold: int,
    index: np.ndarray | None = None,
    path: str | None = None,
    /,
) -> None: ...

pelt_track_task_v3_8 = _track
pelt_track_task_v4_3 = _track
pelt_track_task_v4_4 = _track
pelt_track_task_v4_7 = _track
pelt_track_task_v4_12 = _track
pelt_track_task_v4_13 = _track
pelt_track_task_v4_14 = _track
pelt_track_task_v4_15 = _track
pelt_track_task_v5_1 = _track
pelt_track_task_v5_7 = _track
pelt_track_task_v4_13_32bit = _track
pelt_track_task_v4_15_32bit = _track
pelt_track_task_v5_7_32bit = _track
pelt_track_cfs_rq_v4_3 = _track
pelt_track_cfs_rq_v4_4 = _track
pelt_track_cfs_rq_v4_7 = _track
pelt_track_cfs_rq_v4_12 = _track
pelt_track_cfs_rq_v4_13 = _track
pelt_track_cfs_rq_v4_14 = _track
pelt_track_cfs_rq_v4_15 = _track
pelt_track_cfs_rq_v5_1 = _track
pelt_track_cfs_rq_v5_7 = _track
pelt_track_cfs_rq_v4_13_32bit = _track
pelt_track_cfs_rq_v4_15_32bit = _track
pelt_track_cfs_rq_v5_7_32bit = _track
pelt_track_rt_v4_15 = _track
pelt_track_rt_v5_1 = _track
pelt_track_rt_v5_7 = _track
pelt_track_rt_v4_15_32bit = _track
pelt_track_rt_v5_7_32bit = _track
pelt_track_irq_v4_15 = _track
pelt_track_irq_v5_1 = _track
pelt_track_irq_v5_7 = _track
pelt_track_irq_v4_15_32bit = _track
pelt_track_irq_v5_7_32bit = _track

# the paths of this machine, best last; any can be asked for by the last argument of a pelt_track_*
def paths() -> list[str]: ...
def use_path(name: str, /) -> str: ...
def pelt_start_of_entities(state: np.ndarray, index: np.ndarray, now: np.ndarray, /) -> None: ...

# em: a table is an array (n, 5) of uint64: frequency, power, performance, cost, inefficient
map_util_freq_v5_0: np.ufunc
map_util_freq_v5_14: np.ufunc
map_util_perf: np.ufunc
em_first_refused: np.ufunc
em_create_table_v5_0: np.ufunc
em_create_table_v5_12: np.ufunc
em_create_table_v5_14: np.ufunc
em_create_table_v5_16: np.ufunc
em_create_table_v5_19: np.ufunc
em_create_table_v6_9: np.ufunc
em_change_capacity: np.ufunc
em_state_walk_v5_16: np.ufunc
em_state_walk_v6_9: np.ufunc
em_cpu_energy_v5_16: np.ufunc
em_cpu_energy_v5_19_32bit: np.ufunc
em_cpu_energy_v6_9: np.ufunc
cpufreq_resolve: np.ufunc
em_lut_shape: np.ufunc
em_lut_entry: np.ufunc
em_state_walk_v5_0: np.ufunc
em_state_lut: np.ufunc
em_cpu_energy_v5_0: np.ufunc
em_cpu_energy_lut: np.ufunc

# em: look-ups of states that no kernel has, over rows
def em_halve(keys: np.ndarray, states: np.ndarray, requests: np.ndarray, found: np.ndarray, /) -> None: ...
def em_make_bins(keys: np.ndarray, /) -> tuple[int, int, np.ndarray]: ...
def em_bins(
    keys: np.ndarray,
    states: np.ndarray,
    entries: np.ndarray,
    shift: int,
    steps: int,
    requests: np.ndarray,
    found: np.ndarray,
    /,
) -> None: ...
def em_direct(entries: np.ndarray, utils: np.ndarray, found: np.ndarray, /) -> None: ...

# cpuidle: a table is an array (n, 3) of int64: exit latency, target residency, polling; state is changed
# in place, history filled
IDLE_STATES_MAX: int
typical_interval_v4_7: np.ufunc
typical_interval_v6_1: np.ufunc
typical_interval_v6_19: np.ufunc

def idle_run(
    form: str,
    table: np.ndarray,
    first: int,
    residency: int,
    adds_latency: bool,
    tick_has_just_been: bool,
    tick: int,
    disabled: np.ndarray,
    state: np.ndarray,
    events: tuple[np.ndarray, ...],
    history: tuple[np.ndarray | None, ...],
    /,
) -> None: ...

# eas
EAS_CALLS_PER_DOMAIN: int
fits_capacity: np.ufunc
eas_cpu_util_v5_12: np.ufunc
eas_cpu_util_v5_13: np.ufunc
eas_effective_util_v5_12: np.ufunc
eas_cpu_util_boost_v6_12: np.ufunc
eas_effective_util_v6_1: np.ufunc
eas_effective_util_v6_12: np.ufunc
eas_util_fits_cpu_v6_1: np.ufunc

def place(
    form: str,
    model: tuple,
    nr_cpus: int,
    task: np.ndarray,
    cpus: np.ndarray,
    domain_mask: np.ndarray,
    uclamp_used: np.ndarray,
    overutilized: np.ndarray,
    target: np.ndarray,
    count: np.ndarray,
    calls: np.ndarray,
    /,
) -> tuple[int, int, int] | None: ...
def time_placements(
    model: tuple,
    nr_cpus: int,
    task: np.ndarray,
    cpus: np.ndarray,
    domain_mask: np.ndarray,
    uclamp_used: np.ndarray,
    overutilized: np.ndarray,
    arms: tuple[str, ...],
    order: np.ndarray,
    parts: int,
    working_set: np.ndarray,
    batch: int,
    ticks: np.ndarray,
    target: np.ndarray,
    /,
) -> tuple[int, int]: ...

EAS_CAN_EVICT: int
EAS_LINE: int
EM_TIMED_STATE_BYTES: int
EM_TIMED_ENTRY_BYTES: int
EM_TIMED_BIN_BYTES: int
