# SPDX-License-Identifier: GPL-2.0-only
"""What the look-up table of 2021 looks like."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Lut"]


@dataclass(frozen=True, eq=False)
class Lut:
    """The look-up table of 2021: a bin is ``2**shift`` kHz wide and begins at ``min_freq + (i << shift)``.

    ``entries`` holds the index of a performance state per bin (int64).
    """

    shift: int
    min_freq: int
    max_freq: int
    entries: np.ndarray

    def __eq__(self, other):
        if not isinstance(other, Lut):
            return NotImplemented
        return (self.shift, self.min_freq, self.max_freq) == (
            other.shift,
            other.min_freq,
            other.max_freq,
        ) and np.array_equal(self.entries, other.entries)

    def __hash__(self):
        return hash((self.shift, self.min_freq, self.max_freq, self.entries.size))
