# SPDX-License-Identifier: GPL-2.0-only
"""Which states a domain may use: from 6.13 on, by index or by frequency."""

import numpy as np

from schedpy._coerce import as_number
from schedpy.kernel import form

__all__ = ["performance_limits"]


def performance_limits(freq_khz, kernel, *, min_ps, max_ps, freq_min_khz, freq_max_khz):
    """The range of states that a kernel lets a domain use, as the core takes it: all if nothing is given."""
    given = {
        "min_ps": min_ps,
        "max_ps": max_ps,
        "freq_min_khz": freq_min_khz,
        "freq_max_khz": freq_max_khz,
    }
    if form("em.energy", kernel) != "v6.13":
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name}: kernels from 6.13 on have performance limits, not {kernel}")
    last = freq_khz.size - 1
    low = _state(freq_khz, given, "min_ps", "freq_min_khz", 0)
    high = _state(freq_khz, given, "max_ps", "freq_max_khz", last)
    if low > high:
        top, bottom = (
            next(f"{name} = {given[name]}" for name in names if given[name] is not None)
            for names in (("max_ps", "freq_max_khz"), ("min_ps", "freq_min_khz"))
        )
        raise ValueError(f"{top}: must not be below {bottom}")
    return np.uint64(low), np.uint64(high)


def _state(freq_khz, given, by_index, by_freq, otherwise):
    """The index of a limit; em_update_performance_limits() answers EINVAL to a frequency of no state."""
    index, freq = given[by_index], given[by_freq]
    if index is not None and freq is not None:
        raise ValueError(f"{by_freq}: there is {by_index} already, which means the same")
    if index is not None:
        return as_number(index, by_index, low=0, high=freq_khz.size - 1)
    if freq is None:
        return otherwise
    freq = as_number(freq, by_freq, low=0)
    at = int(np.searchsorted(freq_khz, np.uint64(freq)))
    if at < freq_khz.size and freq_khz[at] == freq:
        return at
    near = " and ".join(str(freq_khz[i]) for i in (at - 1, at) if 0 <= i < freq_khz.size)
    raise ValueError(f"{by_freq} = {freq}: must be the frequency of a state; nearest {near}")
