# SPDX-License-Identifier: GPL-2.0-only
"""What a domain is made of: its CPUs, a column with a value per state."""

import itertools

import numpy as np

from schedpy._coerce import as_int

__all__ = ["as_cpus", "as_states", "spans"]


def as_cpus(cpus):
    """CPU numbers, ascending."""
    cpus = as_int(list(cpus) if isinstance(cpus, range | tuple) else cpus, "cpus", np.int64, low=0, high=63)
    if cpus.ndim != 1 or cpus.size == 0:
        raise ValueError(f"cpus has shape {cpus.shape}: must be a list of at least one CPU number")
    numbers = tuple(sorted(cpus.tolist()))
    for low, high in itertools.pairwise(numbers):
        if low == high:
            raise ValueError(f"cpus holds CPU {low} twice: must be different numbers")
    return numbers


def as_states(values, name):
    """A value per state, read-only."""
    values = as_int(values, name, np.uint64, low=1)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{name} has shape {values.shape}: must be a list with one value per state")
    values = values.copy()
    values.flags.writeable = False
    return values


def spans(cpus):
    """CPU numbers the way the kernel prints a mask: 0-3,7"""
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and spans[-1][1] == cpu - 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
