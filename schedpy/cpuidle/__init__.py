# SPDX-License-Identifier: GPL-2.0-only
"""The cpuidle governors: which idle state a CPU would have been sent to, idle by idle.

A table says what the states cost, `run` sends a governor of some kernel through any number of idles::

    from schedpy import cpuidle

    table = cpuidle.IdleTable.load("sm8150_little")
    idles = cpuidle.run(table, kernel="4.7", governor="menu", sleep_ns=[4_000_000] * 20)
    idles.selected
"""

from schedpy.cpuidle.forms import initial_state
from schedpy.cpuidle.run import Choices, get_typical_interval, run
from schedpy.cpuidle.table import IdleTable

__all__ = ["Choices", "IdleTable", "get_typical_interval", "initial_state", "run"]
