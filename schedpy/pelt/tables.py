# SPDX-License-Identifier: GPL-2.0-only
"""PELT's tables and the pieces that use them: decay over windows, whole windows summed."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_int, as_number

__all__ = [
    "Constants",
    "accumulate_segments",
    "compute_runnable_contrib",
    "constants",
    "decay_load",
]

# LOAD_AVG_MAX << 10 must fit into the 32-bit util_sum.
_HALF_LIFE_LIMIT = 2048
_LOAD_AVG_MAX_LIMIT = 2**22 - 1


@dataclass(frozen=True, eq=False)
class Constants:
    """The tables of one half-life, as `constants` gives them."""

    inverse: np.ndarray
    sums: np.ndarray
    load_avg_max: int
    load_avg_max_n: int


def constants(half_life=32):
    """The tables of a half-life, by the kernel's own generator recipe.

    Parameters
    ----------
    half_life : int
        In windows of 1.048576 ms, 1 .. 2048.

    Returns
    -------
    Constants
        ``inverse``: uint32, 2^32 * y^i for i = 0 .. half_life - 1, where y^half_life = 1/2.
        ``sums``: uint32, 1024 * (y + ... + y^n) for n = 0 .. half_life, the table of kernels before 4.12.
        ``load_avg_max``: what an entity that always runs converges to, and ``load_avg_max_n``: the number
        of windows after which it has.

    Notes
    -----
    Documentation/scheduler/sched-pelt.c of 4.12 and later. Trees with other half-lives do not always
    carry what the recipe gives: Android 4.14 has a LOAD_AVG_MAX of 24152 for 16 and of 12337 for 8; pass
    that as ``load_avg_max`` where a function takes it.

    Examples
    --------
    >>> from schedpy import pelt
    >>> c = pelt.constants()
    >>> c.load_avg_max, c.load_avg_max_n, c.inverse[:2].tolist(), int(c.sums[32])
    (47742, 345, [4294967295, 4202935002], 23371)
    """
    return _constants(as_number(half_life, "half_life", low=1, high=_HALF_LIFE_LIMIT))


@lru_cache(maxsize=64)
def _constants(half_life):
    y = pow(0.5, 1 / half_life)
    inverse = np.array([int((2**32 - 1) * pow(y, i)) for i in range(half_life)], np.uint32)
    sums = np.zeros(half_life + 1, np.uint32)
    total = int(1024 * y)
    for n in range(1, half_life + 1):
        sums[n] = total
        total = int(total * y + 1024 * y)
    inverse.flags.writeable = sums.flags.writeable = False
    return Constants(inverse, sums, *_converge(int((2**32 - 1) * y)))


def _converge(y):
    """LOAD_AVG_MAX, and the windows it takes: the recipe does not count its first and its idle last pass."""
    last, highest, passes = 0, 1024, 0
    while highest != last:
        last, highest = highest, ((highest * y) >> 32) + 1024
        passes += 1
    return highest, passes - 2


def table_and_max(half_life, load_avg_max):
    """The inverse table of a half-life, and LOAD_AVG_MAX as given or as derived for it."""
    table = constants(half_life)
    if load_avg_max is None:
        return table.inverse, table.load_avg_max
    return table.inverse, as_number(load_avg_max, "load_avg_max", low=1025, high=_LOAD_AVG_MAX_LIMIT)


def decay_load(val, n, *, kernel, half_life=32, **ufunc):
    """``val * y^n`` in the kernel's integers, where y^half_life = 1/2.

    Parameters
    ----------
    val : array_like of int
        Unsigned 64 bit.
    n : array_like of int
        Windows, unsigned 64 bit.
    kernel : str
        ``"3.8"`` .. ``"4.0"``: the product wraps for values above 2^32. ``"4.3"`` .. ``"4.11"``: it does not.
        ``"4.12"`` .. ``"6.19"``: n = 0 is no exception any more and gives ``val - 1`` for 0 < val <= 2^32.
    half_life : int
        In windows, 1 .. 2048.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint64 array

    Notes
    -----
    decay_load() of kernel/sched/fair.c, from 4.19 of kernel/sched/pelt.c.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.decay_load(1024, [0, 1, 32, 2017], kernel="4.12").tolist()
    [1023, 1002, 511, 0]
    """
    suffix = {"P38": "v3_8", "P43": "v4_3", "P412": "v4_12"}[_kernel.form("pelt.decay_load", kernel)]
    n = as_int(n, "n", np.uint64)
    table = constants(half_life)
    function = getattr(_core, f"decay_load_{suffix}")
    return function(as_int(val, "val", np.uint64), n, *_table_entries(table, n), **ufunc)


def _table_entries(table, n):
    """The half-life, and the entry of its table that n windows end in."""
    half_life = table.inverse.size
    return np.uint32(half_life), table.inverse[(n % np.uint64(half_life)).astype(np.intp)]


def accumulate_segments(periods, d1, d3, *, half_life=32, load_avg_max=None, **ufunc):
    """What a stretch of ``periods`` window ends adds to a sum of units.

    Parameters
    ----------
    periods : array_like of int
        Window ends passed, unsigned 64 bit. The kernel never asks for 0; the row is defined all the same.
    d1, d3 : array_like of int
        Units in the first and in the last, unfinished window, unsigned 32 bit.
    half_life : int
        In windows, 1 .. 2048.
    load_avg_max : int, optional
        1025 .. 4194303. None: what `constants` derives for the half-life.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint32 array
        ``d1 y^p + 1024 (y + ... + y^(p-1)) + d3``, modulo 2^32.

    Notes
    -----
    __accumulate_pelt_segments() of kernel/sched/pelt.c; the same from 4.12 to 6.19.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.accumulate_segments([1, 2, 3000], 1024, 10).tolist()
    [1012, 1991, 46728]
    """
    periods = as_int(periods, "periods", np.uint64)
    _, load_avg_max = table_and_max(half_life, load_avg_max)
    return _core.accumulate_segments(
        periods,
        as_int(d1, "d1", np.uint32),
        as_int(d3, "d3", np.uint32),
        *_table_entries(constants(half_life), periods),
        np.uint32(load_avg_max),
        **ufunc,
    )


def compute_runnable_contrib(n, *, kernel, **ufunc):
    """What ``n`` whole windows add up to before 4.12: ``1024 * (y + ... + y^n)``, where y^32 = 1/2.

    Parameters
    ----------
    n : array_like of int
        Windows, unsigned 64 bit.
    kernel : str
        ``"3.8"`` .. ``"4.0"`` and ``"4.3"`` .. ``"4.6"``: a loop over 32 windows at a time.
        ``"4.7"`` .. ``"4.11"``: a table of them, which gives 1 more for n = 64, 96, ..., 320.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint32 array
        Of units; 47742 from 345 windows on.

    Notes
    -----
    __compute_runnable_contrib() of kernel/sched/fair.c. From 4.12 on see `accumulate_segments`.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.compute_runnable_contrib([1, 64, 345], kernel="4.6").tolist()
    [1002, 35055, 47742]
    >>> pelt.compute_runnable_contrib([1, 64, 345], kernel="4.7").tolist()
    [1002, 35056, 47742]
    """
    form = _kernel.form("pelt.compute_runnable_contrib", kernel)
    function = getattr(_core, f"compute_runnable_contrib_{'v4_7' if form == 'P47' else 'v3_8'}")
    n = as_int(n, "n", np.uint64)
    _, inverse = _table_entries(constants(32), n)
    return function(n, inverse, **ufunc)
