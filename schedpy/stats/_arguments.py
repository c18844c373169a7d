# SPDX-License-Identifier: GPL-2.0-only
"""Numbers on their way into statistics: finite and of the right kind, or an error that says where."""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64] | np.float64


def where(bad: NDArray[np.bool_]) -> str:
    """``[i, j]`` of the first offender; nothing for a scalar."""
    return f"[{', '.join(str(int(i)) for i in np.argwhere(bad)[0])}]" if bad.ndim else ""


def refuse(bad: NDArray[np.bool_], values: NDArray[Any], name: str, allowed: str) -> None:
    bad, values = np.broadcast_arrays(bad, values)
    if bad.any():
        raise ValueError(f"{name}{where(bad)} = {values[bad].flat[0]}: {allowed}")


def numbers(x: ArrayLike, name: str) -> NDArray[Any]:
    """``x`` as an array of real numbers in the type it came in."""
    try:
        values = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name} is no array of numbers: {error}") from None
    if values.size == 0 and values.dtype == np.float64:
        return values
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real numbers, not {values.dtype}")
    return values


def floats(x: ArrayLike, name: str) -> NDArray[np.float64]:
    values = numbers(x, name).astype(np.float64)
    refuse(~np.isfinite(values), values, name, "must be finite")
    return values


def counts(x: ArrayLike, name: str) -> NDArray[np.int64]:
    values = numbers(x, name)
    if values.size and values.dtype.kind == "f":
        raise TypeError(f"{name} must be integers, not {values.dtype}")
    refuse(values < 2, values, name, "must be at least 2: one sample has no standard deviation")
    refuse(values > 2**63 - 1, values, name, "must be below 2**63")
    return values.astype(np.int64)


def fraction(x: float, name: str) -> float:
    """One number between 0 and 1, both excluded."""
    if isinstance(x, bool) or not isinstance(x, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number between 0 and 1, not {type(x).__name__}")
    if not 0 < x < 1:
        raise ValueError(f"{name} = {x}: must lie between 0 and 1, ends excluded")
    return float(x)


def scipy(part: str) -> Any:
    """SciPy's module of that name, or who brings it."""
    try:
        return import_module(f"scipy.{part}")
    except ImportError as error:
        raise ImportError("schedpy.stats needs SciPy: pip install 'schedpy[lab]'") from error
