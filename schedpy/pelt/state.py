# SPDX-License-Identifier: GPL-2.0-only
"""The state of a load-tracked entity, and what every function that takes one checks."""

import numpy as np

from schedpy._coerce import as_array, as_int, as_shape

__all__ = ["STATE", "initial_state"]

_SUMS = ("load_sum", "runnable_sum", "util_sum")
FIELDS = ("last_update_time", *_SUMS, "period_contrib", "load_avg", "runnable_avg", "util_avg")
_HIGHEST = {"period_contrib": 1023, "util_sum": 2**32 - 1}

#: The kernel's struct sched_avg: eight uint64. ``runnable_*`` is ``runnable_load_*`` up to 5.6.
STATE = np.dtype([(name, np.uint64) for name in FIELDS])


def initial_state(shape=(), **fields):
    """States to start from: all zero but the given fields.

    Parameters
    ----------
    shape : int or tuple of int
        Broadcasts with the fields.
    **fields : array_like of int
        Fields of STATE; ``period_contrib`` 0 .. 1023, ``util_sum`` below 2^32.

    Returns
    -------
    array of STATE

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.initial_state(2, util_avg=[0, 512])["util_avg"].tolist()
    [0, 512]
    """
    return filled(STATE, shape, fields, _HIGHEST)


def filled(dtype, shape, fields, highest):
    """States of a dtype whose fields are all uint64: zero but for what is given, which is checked."""
    shape = as_shape(shape, "shape")
    for name in fields:
        if name not in dtype.names:
            raise TypeError(f"{name} is no field of a state: must be one of {', '.join(dtype.names)}")
    values = {name: as_int(value, name, np.uint64, high=highest.get(name)) for name, value in fields.items()}
    state = np.zeros(broadcast_shape({"shape": np.empty(shape), **values}), dtype)
    for name, value in values.items():
        state[name] = value
    return state


def broadcast_shape(arrays):
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise ValueError(f"shapes do not broadcast: {shapes}") from None


def rows_of(state, widths, name="state"):
    """States of STATE, checked, as rows of eight uint64; not to be written to.

    ``widths``: the largest values of fields that the kernel at hand has narrower than others.
    """
    return checked_rows(state, name, STATE, "STATE", _HIGHEST | widths)


def checked_rows(state, name, dtype, constant, highest):
    """The same for any dtype whose fields are all uint64; ``constant``: what pelt calls it."""
    array = np.asarray(as_array(state, name), order="C")
    if array.dtype.names is None or set(array.dtype.names) != set(dtype.names):
        raise TypeError(f"{name} must be an array of pelt.{constant}, not of {array.dtype}")
    for field in dtype.names if array.dtype != dtype else highest:
        as_int(array[field], f"{name}[{field!r}]", np.uint64, high=highest.get(field))
    if array.dtype != dtype:
        array = filled(dtype, (), {field: array[field] for field in dtype.names}, highest)
    return array[..., np.newaxis].view(np.uint64)
