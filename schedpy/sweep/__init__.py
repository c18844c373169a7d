# SPDX-License-Identifier: GPL-2.0-only
"""One function over many points, on one machine or many, with nothing lost. Needs the extra ``sweep``.

:func:`run` numbers the points, cuts them into parts and gives the parts to an executor; each worker writes
its part as one Parquet file, so that whoever schedules carries no results. What that costs,
``benchmarks/sweep_scale.py`` measures; on two cores that had other work too (1 December 2026):

=================================  =====  =====  =====  =====  =====
points                              10^3   10^4   10^5   10^6   10^7
=================================  =====  =====  =====  =====  =====
summaries of PELT tracks, us each     45    5.1    2.3    1.1    0.9
placements, us each                   42    7.7    3.4    2.0    1.6
largest memory, MiB                  132    143    154    196    299
=================================  =====  =====  =====  =====  =====

On paper: 10^10 points on a dask cluster of 1000 cores. A track of 25 updates and its summary took 1.7 us of a
core and 4.1 bytes on the disk; a part that computes nothing took 10 ms on its way through dask's scheduler,
one of two workers and the disk. So the whole is 17,000 s of a core, 17 s of the cluster, and 41 GB.

* ``part_size=10**7``: 1000 parts of 17 s and 41 MB, one for each core, 58 a second for the scheduler; 102 a
  second were measured. With ``10**6`` there would be 582 a second, and the scheduler would set the pace.
* A part is sent as its range and the values of the axes: 1.6 MB for two axes of 10^5. At most 4096 parts
  wait at the scheduler.
* What a call makes of its part is the function's to cut: 10^7 tracks of 25 updates would be 4 GB of arrays.
* The shared disk takes 2.4 GB/s. The hash reads all of it in one process: 24 minutes, at 0.14 us a point.
"""

try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    import tqdm  # noqa: F401
except ImportError as error:
    raise ImportError(f"schedpy.sweep needs {error.name}: pip install 'schedpy[sweep]'") from error

from schedpy.sweep.described import read, run_described
from schedpy.sweep.result import Result, load
from schedpy.sweep.runner import run

__all__ = ["Result", "load", "read", "run", "run_described"]
