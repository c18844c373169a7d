# SPDX-License-Identifier: GPL-2.0-only
"""The CPUs that a thread may run on."""

import contextlib
import os
from collections.abc import Iterable, Iterator

from schedpy._coerce import as_int, as_number

__all__ = ["allowed_cpus", "confined", "pinned"]


def _refuse_others(cpus, allowed, name):
    for cpu in cpus:
        if cpu not in allowed:
            listed = ", ".join(map(str, sorted(allowed)))
            raise ValueError(f"{name} = {cpu}: this process may run on {listed}")


def allowed_cpus(cpus: int | Iterable[int] | None, name: str) -> tuple[int, ...] | None:
    """CPUs that a caller named, each once and each allowed; None stays None."""
    if cpus is None:
        return None
    listed = sorted(cpus) if isinstance(cpus, (set, frozenset)) else cpus
    array = as_int(listed, name, low=0)
    if array.ndim > 1 or not array.size:
        raise ValueError(f"{name} must be one CPU or a list of at least one, not of shape {array.shape}")
    chosen = tuple(array.ravel().tolist())
    _refuse_others(chosen, os.sched_getaffinity(0), name)
    if len(set(chosen)) < len(chosen):
        twice = next(cpu for index, cpu in enumerate(chosen) if cpu in chosen[:index])
        raise ValueError(f"{name}: CPU {twice} is there twice")
    return chosen


@contextlib.contextmanager
def confined(cpus: Iterable[int]) -> Iterator[None]:
    """This thread on some CPUs; afterwards where it may be before."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def pinned(cpu: int | None = None) -> Iterator[int]:
    """This thread on one CPU; afterwards where it may be before.

    Parameters
    ----------
    cpu : int, optional
        None: the highest that this process may use. The block gets the one chosen.

    Raises
    ------
    ValueError
        A CPU that is not allowed.

    Examples
    --------
    >>> import os
    >>> from schedpy import stopwatch
    >>> with stopwatch.pinned() as cpu:
    ...     os.sched_getaffinity(0) == {cpu}
    True
    """
    allowed = os.sched_getaffinity(0)
    cpu = max(allowed) if cpu is None else as_number(cpu, "cpu", low=0)
    _refuse_others((cpu,), allowed, "cpu")
    with confined({cpu}):
        yield cpu
