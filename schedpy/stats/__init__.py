# SPDX-License-Identifier: GPL-2.0-only
"""What a table of timings says: intervals, differences, tests, and the samples it would have needed.

Measurements on mailing lists are printed as means, standard deviations and counts, without the samples.
What follows from those takes :class:`Moments`, scalars or arrays that broadcast; an array of samples
is taken in the place of its moments, along its last axis. What needs the samples themselves
(:func:`mann_whitney`, :func:`kolmogorov_smirnov`, :func:`bootstrap_ratio`) says so when it gets moments.
Of a :class:`Histogram` moments are known within bounds, and so is what follows from them.

:class:`Moments`, :class:`Histogram` and :func:`holm` need NumPy alone. SciPy (the extra ``lab``)
computes the distributions: :func:`interval`, :func:`compare`, :func:`ratio`, :func:`power`,
:func:`counts_needed`, :func:`smallest_difference` and the three that need samples.
"""

from schedpy.stats.bins import Histogram
from schedpy.stats.comparison import Comparison, Ratio, compare, holm, ratio
from schedpy.stats.moments import Interval, Moments, interval
from schedpy.stats.planning import Counts, counts_needed, power, smallest_difference
from schedpy.stats.samples import RankTest, bootstrap_ratio, kolmogorov_smirnov, mann_whitney

__all__ = [
    "Comparison",
    "Counts",
    "Histogram",
    "Interval",
    "Moments",
    "RankTest",
    "Ratio",
    "bootstrap_ratio",
    "compare",
    "counts_needed",
    "holm",
    "interval",
    "kolmogorov_smirnov",
    "mann_whitney",
    "power",
    "ratio",
    "smallest_difference",
]
