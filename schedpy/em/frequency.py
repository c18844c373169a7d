# SPDX-License-Identifier: GPL-2.0-only
"""From utilisation to frequency."""

import numpy as np

from schedpy import _core
from schedpy._coerce import as_bool, as_choice, as_int
from schedpy.kernel import form

__all__ = ["cpufreq_resolve", "map_util_freq", "map_util_perf"]

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
        5.14 .. 6.7 and 6.9 .. 7.3: without, ``freq * util / cap``; the head-room is in `map_util_perf`.
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


_RELATIONS = ("L", "H", "C", "LE", "HE", "CE")


def cpufreq_resolve(freqs, inefficient, target, policy_min, policy_max, relation="L", **ufunc):
    """The frequency of a driver's table that serves a target.

    Parameters
    ----------
    freqs : array_like of int, shape (n,)
        The table, kHz, in any order, at least one entry.
    inefficient : array_like of bool, shape (n,)
        The entries marked inefficient.
    target, policy_min, policy_max : array_like of int
        kHz, unsigned 64 bit. A policy_min above policy_max is taken as policy_max.
    relation : {"L", "H", "C", "LE", "HE", "CE"}
        Lowest at or above the target, highest at or below it, closest (of two the lower); where the
        table has none, the nearest on the other side. E: inefficient ones are passed over, unless what is
        left then is outside the policy's limits.
    **ufunc
        Keywords of a NumPy ufunc.

    Returns
    -------
    uint64 array
        kHz.

    Notes
    -----
    __resolve_freq() of drivers/cpufreq/cpufreq.c and cpufreq_frequency_table_target() of
    include/linux/cpufreq.h, 6.12 .. 7.3.

    Examples
    --------
    >>> from schedpy import em
    >>> table, bad = [300_000, 600_000, 900_000], [False, True, False]
    >>> [int(em.cpufreq_resolve(table, bad, 500_000, 0, 900_000, r)) for r in ("L", "LE", "H", "CE")]
    [600000, 900000, 300000, 300000]
    >>> int(em.cpufreq_resolve(table, bad, 500_000, 0, 600_000, "LE"))
    600000
    """
    as_choice(relation, "relation", _RELATIONS)
    freqs = as_int(freqs, "freqs", np.uint64)
    inefficient = as_bool(inefficient, "inefficient")
    if freqs.ndim == 0 or freqs.shape[-1] == 0:
        raise ValueError(f"freqs has shape {freqs.shape}: must be a list with at least one frequency")
    if inefficient.shape != freqs.shape:
        raise ValueError(f"inefficient has shape {inefficient.shape}: must be that of freqs, {freqs.shape}")
    return _core.cpufreq_resolve(
        freqs,
        inefficient.astype(np.uint64),
        as_int(target, "target", np.uint64),
        as_int(policy_min, "policy_min", np.uint64),
        as_int(policy_max, "policy_max", np.uint64),
        np.uint64("LHC".index(relation[0])),
        np.bool_(relation.endswith("E")),
        **ufunc,
    )
