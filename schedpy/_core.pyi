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
clocks_calc_mult_shift: np.ufunc
clocksource_cyc2ns: np.ufunc

# math64
mul_u64_u32_shr: np.ufunc

# stopwatch: a clock is a row of stopwatch_clocks or a callable
STOPWATCH_COUNTER: str

def stopwatch_clocks() -> list[tuple[int, str, str, int, int]]: ...
def stopwatch_read(clock: int, /) -> int: ...
def stopwatch_batch(clock: int | Callable[[], object], warmup: int, calls: int, /) -> int: ...
def stopwatch_single(clock: int | Callable[[], object], warmup: int, calls: int, /) -> np.ndarray: ...
def stopwatch_empty(count: int, /) -> np.ndarray: ...
def stopwatch_deltas(count: int, /) -> np.ndarray: ...
def stopwatch_pair() -> tuple[int, int, int]: ...

# pelt
decay_load_v3_8: np.ufunc
decay_load_v4_3: np.ufunc
decay_load_v4_12: np.ufunc
accumulate_segments: np.ufunc
nice_to_weight: np.ufunc

# pelt: one event for each of many entities (gufuncs)
pelt_update_task_v4_12: np.ufunc
pelt_update_task_v4_13: np.ufunc
pelt_update_task_v4_14: np.ufunc
pelt_update_task_v4_15: np.ufunc
pelt_update_task_v5_1: np.ufunc
pelt_update_task_v5_7: np.ufunc
pelt_update_cfs_rq_v4_12: np.ufunc
pelt_update_cfs_rq_v4_13: np.ufunc
pelt_update_cfs_rq_v4_14: np.ufunc
pelt_update_cfs_rq_v4_15: np.ufunc
pelt_update_cfs_rq_v5_1: np.ufunc
pelt_update_cfs_rq_v5_7: np.ufunc

# pelt: many streams of events; state is changed in place, history filled
def _track(
    state: np.ndarray,
    events: tuple[np.ndarray, ...],
    history: tuple[np.ndarray | None, ...],
    inverse: np.ndarray,
    load_avg_max: int,
    update_threshold: int,
    /,
) -> None: ...

pelt_track_task_v4_12 = _track
pelt_track_task_v4_13 = _track
pelt_track_task_v4_14 = _track
pelt_track_task_v4_15 = _track
pelt_track_task_v5_1 = _track
pelt_track_task_v5_7 = _track
pelt_track_cfs_rq_v4_12 = _track
pelt_track_cfs_rq_v4_13 = _track
pelt_track_cfs_rq_v4_14 = _track
pelt_track_cfs_rq_v4_15 = _track
pelt_track_cfs_rq_v5_1 = _track
pelt_track_cfs_rq_v5_7 = _track
