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
