# SPDX-License-Identifier: GPL-2.0-only
"""PELT, the scheduler's load tracking, as kernels 3.8 .. 6.19 compute it.

Time is in ns; a *unit* is 1024 ns and a window 1024 units (1.048576 ms). Sums are in units times weight or
times 1024, averages run from 0 to 1024 (utilisation) or to the weight (load).
"""

from schedpy.pelt.state import STATE, initial_state
from schedpy.pelt.streams import Track, track, update
from schedpy.pelt.tables import (
    Constants,
    accumulate_segments,
    compute_runnable_contrib,
    constants,
    decay_load,
    nice_to_weight,
)

__all__ = [
    "STATE",
    "Constants",
    "Track",
    "accumulate_segments",
    "compute_runnable_contrib",
    "constants",
    "decay_load",
    "initial_state",
    "nice_to_weight",
    "track",
    "update",
]
