# SPDX-License-Identifier: GPL-2.0-only
"""The clock that PELT reads from 5.1 on: task time scaled by the capacity the CPU had."""

import numpy as np

from schedpy import _core
from schedpy import kernel as _kernel
from schedpy._coerce import as_bool, as_int
from schedpy.pelt.state import broadcast_shape, checked_rows, filled

__all__ = ["CLOCK_PELT_STATE", "clock_pelt", "initial_clock_pelt", "rq_clock_pelt"]

_FIELDS = ("clock_task", "clock_pelt", "lost_idle_time", "clock_idle", "clock_pelt_idle")

#: The clocks of a run queue in ns, uint64 each; the last two are written from 6.0 on.
CLOCK_PELT_STATE = np.dtype([(name, np.uint64) for name in _FIELDS])
_SUFFIX = {"C51": "v5_1", "C612": "v6_0"}


def _rows(state):
    return checked_rows(state, "state", CLOCK_PELT_STATE, "CLOCK_PELT_STATE", {})


def initial_clock_pelt(shape=(), **fields):
    """Clocks to start from: all zero but the given fields.

    Parameters
    ----------
    shape : int or tuple of int
        Broadcasts with the fields.
    **fields : array_like of int
        Fields of CLOCK_PELT_STATE in ns, unsigned 64 bit.

    Returns
    -------
    array of CLOCK_PELT_STATE

    Examples
    --------
    >>> from schedpy import pelt
    >>> pelt.initial_clock_pelt(2, clock_task=10**9, clock_pelt=10**9)["clock_pelt"].tolist()
    [1000000000, 1000000000]
    """
    return filled(CLOCK_PELT_STATE, shape, fields, {})


def clock_pelt(
    state, delta_ns, *, kernel, curr_is_idle, entering_idle, util_sum, cpu_scale, freq_scale, multiplier=1
):
    """The run queue's clocks after its task clock went on by ``delta_ns``.

    One step for each of many run queues; all arrays broadcast. The clock is updated first; then the CPU
    becomes idle, where ``entering_idle`` says so.

    Parameters
    ----------
    state : array of CLOCK_PELT_STATE
        Before the step; not modified.
    delta_ns : array_like of int
        0 .. 2^63 - 1; timedelta64[ns] too.
    kernel : str
        ``"5.1"`` .. ``"6.19"``.
    curr_is_idle : array_like of bool
        Whether the CPU was idle in that time: clock_pelt then catches up with clock_task.
    entering_idle : array_like of bool
        Whether the CPU becomes idle at the end of it.
    util_sum : array_like of int
        Of cfs, rt and dl together when the CPU becomes idle, unsigned 32 bit. From 47791490 on the time that
        clock_pelt is behind counts as lost.
    cpu_scale, freq_scale : array_like of int
        Capacities of the CPU, 1024 = full, unsigned 64 bit.
    multiplier : array_like of int
        1 is the kernel as released. 2 and 4 are a proposal of 2022, never merged: PELT's time goes faster,
        which shortens the half-life to 16 and 8 windows; ``clock_task`` is then the multiplied clock.

    Returns
    -------
    array of CLOCK_PELT_STATE
        See `rq_clock_pelt` for PELT's ``now``. Up to 5.18 the stamps ``clock_idle`` and ``clock_pelt_idle``
        are left as they are.

    Raises
    ------
    ValueError
        A value out of range, shapes that do not broadcast, a kernel outside the range.
    TypeError
        Something else than states, integers and bools.

    Notes
    -----
    update_rq_clock_pelt() and update_idle_rq_clock_pelt() of kernel/sched/pelt.h; 23127296889f (5.1).

    Examples
    --------
    4 ms at half the frequency, then the CPU is idle and all of it is made good:

    >>> from schedpy import pelt
    >>> given = {"kernel": "5.4", "util_sum": 0, "cpu_scale": 1024, "freq_scale": 512}
    >>> clock = pelt.initial_clock_pelt()
    >>> clock = pelt.clock_pelt(clock, 4_000_000, curr_is_idle=False, entering_idle=True, **given)
    >>> int(pelt.rq_clock_pelt(clock))
    2000000
    >>> clock = pelt.clock_pelt(clock, 1_000_000, curr_is_idle=True, entering_idle=False, **given)
    >>> int(pelt.rq_clock_pelt(clock))
    5000000
    """
    suffix = _SUFFIX[_kernel.form("pelt.clock_pelt", kernel)]
    rows = _rows(state)
    given = {
        "delta_ns": as_int(delta_ns, "delta_ns", np.uint64, high=2**63 - 1, time=True),
        "curr_is_idle": as_bool(curr_is_idle, "curr_is_idle").astype(np.uint64),
        "entering_idle": as_bool(entering_idle, "entering_idle").astype(np.uint64),
        "util_sum": as_int(util_sum, "util_sum", np.uint64, high=2**32 - 1),
        "cpu_scale": as_int(cpu_scale, "cpu_scale", np.uint64),
        "freq_scale": as_int(freq_scale, "freq_scale", np.uint64),
        "multiplier": _as_multiplier(multiplier),
    }
    broadcast_shape({"state": rows[..., 0], **given})
    return getattr(_core, f"clock_pelt_{suffix}")(rows, *given.values()).view(CLOCK_PELT_STATE)[..., 0]


def _as_multiplier(multiplier):
    array = as_int(multiplier, "multiplier", np.uint64)
    bad = ~np.isin(array, (1, 2, 4))
    if bad.any():
        index = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(bad)))
        where = str(list(index)) if array.ndim else ""
        raise ValueError(f"multiplier{where} = {array[bad][0]}: must be 1, 2 or 4")
    return array


def rq_clock_pelt(state):
    """PELT's ``now`` on a run queue: clock_pelt less the idle time lost.

    Parameters
    ----------
    state : array of CLOCK_PELT_STATE

    Returns
    -------
    uint64 array
        ns, modulo 2^64. For a run queue under a bandwidth limit the kernel takes off its throttled time too.

    Notes
    -----
    rq_clock_pelt() of kernel/sched/pelt.h.

    Examples
    --------
    >>> from schedpy import pelt
    >>> int(pelt.rq_clock_pelt(pelt.initial_clock_pelt(clock_pelt=5000, lost_idle_time=2000)))
    3000
    """
    rows = _rows(state)
    return rows[..., _FIELDS.index("clock_pelt")] - rows[..., _FIELDS.index("lost_idle_time")]
