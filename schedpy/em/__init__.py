# SPDX-License-Identifier: GPL-2.0-only
"""Energy models: performance states, their cost, the choice of a state and the energy of a domain.

Follows kernel/power/energy_model.c and include/linux/energy_model.h, and the
look-up table of the patch "PM / EM: Inefficient OPPs detection" of 8 April 2021
on 5.12, which was never merged.
"""

from schedpy.em.check import Check, Finding
from schedpy.em.domain import TABLE, UNITS, PerfDomain
from schedpy.em.frequency import cpufreq_resolve, map_util_freq, map_util_perf
from schedpy.em.lut import Bins, Direct, Lut, Search, StateTable
from schedpy.em.model import EnergyModel

__all__ = [
    "TABLE",
    "UNITS",
    "Bins",
    "Check",
    "Direct",
    "EnergyModel",
    "Finding",
    "Lut",
    "PerfDomain",
    "Search",
    "StateTable",
    "cpufreq_resolve",
    "map_util_freq",
    "map_util_perf",
]
