# SPDX-License-Identifier: GPL-2.0-only
"""PELT, the scheduler's load tracking, as kernels 3.8 .. 6.19 compute it.

Time is in ns; a *unit* is 1024 ns and a window 1024 units (1.048576 ms). Sums are in units times weight or
times 1024, averages run from 0 to 1024 (utilisation) or to the weight (load).

Left out: the propagation of a task's share through the entities of its group (propagate_entity_load_avg()
and what it calls), for which there are no known answers.
"""

from schedpy.pelt.attach import attach, detach, post_init_entity_util_avg
from schedpy.pelt.clock_pelt import CLOCK_PELT_STATE, clock_pelt, initial_clock_pelt, rq_clock_pelt
from schedpy.pelt.continuous import Swing, continuous, settling_time, swing, time_to_reach
from schedpy.pelt.state import STATE, initial_state
from schedpy.pelt.streams import Track, track, update
from schedpy.pelt.tables import (
    Constants,
    accumulate_segments,
    compute_runnable_contrib,
    constants,
    decay_load,
)
from schedpy.pelt.util_est import UTIL_EST_STATE, UtilEst, initial_util_est, util_est
from schedpy.pelt.weight import nice_to_weight, nice_to_wmult, scale_load_down

__all__ = [
    "CLOCK_PELT_STATE",
    "STATE",
    "UTIL_EST_STATE",
    "Constants",
    "Swing",
    "Track",
    "UtilEst",
    "accumulate_segments",
    "attach",
    "clock_pelt",
    "compute_runnable_contrib",
    "constants",
    "continuous",
    "decay_load",
    "detach",
    "initial_clock_pelt",
    "initial_state",
    "initial_util_est",
    "nice_to_weight",
    "nice_to_wmult",
    "post_init_entity_util_avg",
    "rq_clock_pelt",
    "scale_load_down",
    "settling_time",
    "swing",
    "time_to_reach",
    "track",
    "update",
    "util_est",
]
