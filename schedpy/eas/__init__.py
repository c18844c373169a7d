# SPDX-License-Identifier: GPL-2.0-only
"""Energy-aware placement: utilisation of a CPU, what fits on it, and the CPU for a waking task.

Follows kernel/sched/fair.c and kernel/sched/cpufreq_schedutil.c. Utilisation
and capacity are on the scale 0 .. 1024, energies in the unit of the model's power.
"""

from schedpy.eas.cases import CALL, CPU, TASK, idle_cpus, task
from schedpy.eas.placement import Placement, find_energy_efficient_cpu
from schedpy.eas.timing import PlacementTimes, time_placements
from schedpy.eas.util import EffectiveUtil, cpu_util, effective_cpu_util, util_fits_cpu

__all__ = [
    "CALL",
    "CPU",
    "TASK",
    "EffectiveUtil",
    "Placement",
    "PlacementTimes",
    "cpu_util",
    "effective_cpu_util",
    "find_energy_efficient_cpu",
    "idle_cpus",
    "task",
    "time_placements",
    "util_fits_cpu",
]
