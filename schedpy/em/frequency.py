# SPDX-License-Identifier: GPL-2.0-only
"""From utilisation to frequency."""

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int
from schedpy.kernel import form

__all__ = ["map_util_freq", "map_util_perf"]

_MAP_UTIL_FREQ = {"v5.0": _core.map_util_freq_v5_0, "v5.14": _core.map_util_freq_v5_14}


def map_util_freq(util, freq, cap, *, kernel, **ufunc):
    """The frequency that serves a utilisation.

    Parameters
    ----------
    util : array_like of int
        Utilisation, unsigned 64 bit.
    freq : array_like of int
        The highest frequency, kHz, unsigned 64 bit.
    cap : array_like of int
        Capacity of the CPU, at least 1.
    kernel : str
        5.0 .. 5.13: with 25 % head-room, ``(freq + freq / 4) * util / cap``.
        5.14 .. 6.7: without, ``freq * util / cap``; the head-room is in `map_util_perf`.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        kHz. Products wrap at 64 bit, quotients are truncated.

    Notes
    -----
    map_util_freq() of include/linux/sched/cpufreq.h.

    Examples
    --------
    >>> from schedpy import em
    >>> int(em.map_util_freq(512, 2_000_000, 1024, kernel="5.12"))
    1250000
    >>> int(em.map_util_freq(512, 2_000_000, 1024, kernel="5.14"))
    1000000
    """
    return _MAP_UTIL_FREQ[form("em.map_util_freq", kernel)](
        as_int(util, "util", np.uint64),
        as_int(freq, "freq", np.uint64),
        as_int(cap, "cap", np.uint64, low=1),
        **ufunc,
    )


def map_util_perf(util, **ufunc):
    """A utilisation with the head-room of 25 % that schedutil adds: from 5.14 to 6.7.

    Parameters
    ----------
    util : array_like of int
        Unsigned 64 bit.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        ``util + util / 4``

    Notes
    -----
    map_util_perf() of include/linux/sched/cpufreq.h.

    Examples
    --------
    >>> from schedpy import em
    >>> em.map_util_perf([0, 3, 819, 1024]).tolist()
    [0, 3, 1023, 1280]
    """
    return _core.map_util_perf(as_int(util, "util", np.uint64), **ufunc)
