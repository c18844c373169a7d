# SPDX-License-Identifier: GPL-2.0-only
"""The running kernel as a witness: a task's PELT states from /proc/PID/sched, and whether the rule made them.

The kernel prints the sums and averages of every task together with the time of their last update. Read in a
tight loop the file gives one state after the other, and from each to the next `schedpy.pelt.update` has to
give the same bits. What the file does not say is found:

* period_contrib is not printed. It moves on with the time stamp, by whole units of 1024 ns modulo 1024, so
  that a run of steps on one clock has one unknown of 1024 values: the one that most steps agree on is taken.
* The flags of an update are not printed. There are few: the task ran, waited or slept; from 6.12 on it may
  also sleep while it is still queued.
* Two updates may hide between two readings. The instant between them is searched in whole units.

`clocks` asks the same of what the kernel prints of its clocks.

Linux alone, 64-bit kernels from 4.12 on. Before 5.1 sums are scaled by frequency and capacity, which the file
does not say: there the CPU has to be at full capacity.
"""

from schedpy.live.clock_witness import ClockLine, ClockReport, clocks
from schedpy.live.identification import Candidate, Identification, identify
from schedpy.live.recording import READING, Reading, Recording, read, watch
from schedpy.live.verification import Chain, Verification, verify
from schedpy.live.workloads import WORKLOADS, watch_workload

__all__ = [
    "READING",
    "WORKLOADS",
    "Candidate",
    "Chain",
    "ClockLine",
    "ClockReport",
    "Identification",
    "Reading",
    "Recording",
    "Verification",
    "clocks",
    "identify",
    "read",
    "verify",
    "watch",
    "watch_workload",
]
