# SPDX-License-Identifier: GPL-2.0-only
"""Load weights: the table of nice values, its inverse, and the scale of 64-bit kernels."""

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_int

__all__ = ["nice_to_weight", "nice_to_wmult", "scale_load_down"]


def nice_to_weight(nice, **ufunc):
    """The load weight of a nice value; nice 0 is 1024, and a step is about 1.25.

    Parameters
    ----------
    nice : array_like of int
        -20 .. 19.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint64 array
        The weight as PELT takes it, without the 10 further bits that 64-bit kernels keep.
        SCHED_IDLE has no nice value; its weight is 3.

    Notes
    -----
    sched_prio_to_weight[] of kernel/sched/core.c, the same since 3.8.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.nice_to_weight([-20, 0, 19]).tolist()
    [88761, 1024, 15]
    """
    return _core.nice_to_weight(as_int(nice, "nice", np.int64, low=-20, high=19), **ufunc)


def nice_to_wmult(nice, **ufunc):
    """About 2^32 over the load weight of a nice value, as the kernel's table has it.

    Parameters
    ----------
    nice : array_like of int
        -20 .. 19.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint64 array

    Notes
    -----
    sched_prio_to_wmult[] of kernel/sched/core.c, the same since 3.8. It is no formula of the weight: entries
    are rounded now down, now up.

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.nice_to_wmult([-20, 0, 19]).tolist()
    [48388, 4194304, 286331153]
    """
    return _core.nice_to_wmult(as_int(nice, "nice", np.int64, low=-20, high=19), **ufunc)


def scale_load_down(weight_raw, *, kernel, **ufunc):
    """The load weight as PELT takes it, of the weight with the 10 further bits that 64-bit kernels keep.

    Parameters
    ----------
    weight_raw : array_like of int
        ``se.load.weight``, unsigned 64 bit; nice 0 = 1048576.
    kernel : str
        ``"4.12"`` .. ``"5.6"``: the 10 bits are cut off, so that a group with less than 1024 weighs
        nothing. ``"5.7"`` .. ``"6.19"``: what is not 0 weighs at least 2.
    **ufunc
        Keywords of a NumPy ufunc: ``out``, ``where``, ...

    Returns
    -------
    uint64 array

    Notes
    -----
    scale_load_down() of kernel/sched/sched.h; changed by 26cf52229efc (5.7).

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.scale_load_down([0, 2, 1023, 3072], kernel="5.6").tolist()
    [0, 0, 0, 3]
    >>> pelt.scale_load_down([0, 2, 1023, 3072], kernel="5.7").tolist()
    [0, 2, 2, 3]
    """
    suffix = {"v4.12": "v4_12", "v5.7": "v5_7"}[_kernel.form("pelt.scale_load_down", kernel)]
    return getattr(_core, f"scale_load_down_{suffix}")(as_int(weight_raw, "weight_raw", np.uint64), **ufunc)
