# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's integer types as arguments."""

import numpy as np

from schedpy._coerce import as_bool, as_int


def u32(x, name):
    return as_int(x, name, np.uint32)


def u64(x, name):
    return as_int(x, name, np.uint64)


def shift_of(x, name="shift", high=63):
    return as_int(x, name, np.uint32, high=high)


def flag_of(x, name):
    """One bool, which chooses between two functions."""
    flag = as_bool(x, name)
    if flag.ndim:
        raise ValueError(f"{name} must be True or False, not an array of shape {flag.shape}")
    return bool(flag)
