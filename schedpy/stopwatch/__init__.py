# SPDX-License-Identifier: GPL-2.0-only
"""Clocks of this machine: which there are, how each is reached, what a read costs, alone and in a race.

A clock's price is measured twice. *Batch* puts one pair of stamps around thousands of calls: the stamps
cost nothing per call, and the mean is good to a fraction of a tick. *Single* brackets every call: that alone
shows the distribution, but its values move in steps of the counter, and one interrupt outweighs ten thousand
calls. So a standard deviation always says of what it is: of all calls, or of the averages of the rounds.
"""

from schedpy.stopwatch.affinity import pinned
from schedpy.stopwatch.histogram import Histogram
from schedpy.stopwatch.machine import Clock, clocks, read
from schedpy.stopwatch.measure import read_cost
from schedpy.stopwatch.results import ClockCost, ReadCost
from schedpy.stopwatch.ticks import Counter, counter

__all__ = [
    "Clock",
    "ClockCost",
    "Counter",
    "Histogram",
    "ReadCost",
    "clocks",
    "counter",
    "pinned",
    "read",
    "read_cost",
]
