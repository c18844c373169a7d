# SPDX-License-Identifier: GPL-2.0-only
"""Raw samples of placements that were timed, kept in the counter's own ticks."""

from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd

from schedpy._tables import html_table
from schedpy.lab import _archives

__all__ = ["Timing"]

_FORMAT = "schedpy.lab.Timing/2"
_ARRAYS = ("phase", "duty_percent", "cpu", "row", "states", "ticks", "retimed", "disturbed")
_TUPLES = ("arms", "evicted")


@dataclass(frozen=True, eq=False, repr=False)
class Timing:
    """Every placement timed, with what is needed to read and to repeat it.

    Attributes
    ----------
    phase, duty_percent, cpu : array, one per row
        Row of the mail: phase, duty cycle in percent, and which kind of CPU ran the function.
    row : int64 array, one per placement
        Which row it belongs to.
    states : int64 array, one per placement
        Performance states that the walk visits in it.
    ticks : uint64 array (repetitions, placements, arms)
        As counted for a batch of calls, bracket included; one placement's arms stand side by side.
    retimed, disturbed : int64 array, one per repetition
        Groups of placements that were timed again because another task had taken the CPU meanwhile, and
        those that no attempt left alone: 0, unless the machine was never quiet.
    arms : tuple of str
        What was timed: "walk", "lut", "walk" once more, and others.
    caches : str
        "warm", "cold" or "shared".
    evicted : tuple of str
        What was thrown out of the caches before each call; empty unless they were cold.
    working_set : int
        Bytes walked before each call.
    batch : int
        Calls of one placement in one bracket.
    ns_per_tick : float
        Length of a tick.
    step_ticks : int
        The counter moves in steps of so many ticks.
    bracket_ticks : int
        What timing nothing costs at least; :meth:`ns` takes it off.
    counter, host : str
        The counter, and the processor it belongs to.
    pinned : int
        The CPU that ran the measurement.
    seed : int
        Of the order.
    hz : int
        The kernel's HZ that the utilisations come from.
    model : str
        The energy model.

    Examples
    --------
    >>> from schedpy.lab import phases
    >>> measured = phases.measure(repetitions=2, caches="cold")
    >>> measured.arm_names, measured.ns(1).shape
    (('walk', 'lut', 'walk again', 'held'), (2, 875))
    """

    phase: np.ndarray
    duty_percent: np.ndarray
    cpu: np.ndarray
    row: np.ndarray
    states: np.ndarray
    ticks: np.ndarray
    retimed: np.ndarray
    disturbed: np.ndarray
    arms: tuple[str, ...]
    caches: str
    evicted: tuple[str, ...]
    working_set: int
    batch: int
    ns_per_tick: float
    step_ticks: int
    bracket_ticks: int
    counter: str
    host: str
    pinned: int
    seed: int
    hz: int
    model: str

    @property
    def repetitions(self):
        return self.ticks.shape[0]

    @property
    def arm_names(self):
        """The arms, each under a name of its own: what occurs again is "walk again"."""
        return tuple(arm + " again" * self.arms[:number].count(arm) for number, arm in enumerate(self.arms))

    @property
    def index(self):
        """The rows as (phase, cpu)."""
        return pd.MultiIndex.from_arrays([self.phase, self.cpu], names=["phase", "cpu"])

    def ns(self, arm):
        """Samples of one arm (by number) in ns per call: float array (repetitions, placements)."""
        ticks = self.ticks[:, :, arm].astype(np.int64) - self.bracket_ticks
        return ticks * (self.ns_per_tick / self.batch)

    def of(self, row, arm):
        """The samples of one row (by number): float array (repetitions, placements of the row), in ns."""
        return self.ns(arm)[:, self.row == row]

    def samples(self):
        """Every sample in ns as a DataFrame: phase, cpu, and one column per arm."""
        row = np.tile(self.row, self.repetitions)
        columns = {
            name.replace(" ", "_") + "_ns": self.ns(number).ravel()
            for number, name in enumerate(self.arm_names)
        }
        return pd.DataFrame({"phase": self.phase[row], "cpu": self.cpu[row]} | columns)

    def about(self):
        """What was measured and how, in words: ``what`` -> text."""
        caches = {
            "warm": "warm",
            "cold": f"cold ({', '.join(self.evicted)} thrown out before each call)",
            "shared": "shared",
        }[self.caches]
        walked = f", {self.working_set} bytes walked before each call" if self.working_set else ""
        return {
            "processor": f"{self.host}, CPU {self.pinned}",
            "placements": f"{len(self.row)} of {self.model} x {self.repetitions} repetitions",
            "arms": ", ".join(self.arms),
            "caches": caches + walked,
            "calls per sample": str(self.batch),
            "counter": f"{self.counter}, {1000 / self.ns_per_tick:.3f} MHz, in steps of {self.step_ticks} "
            f"({self.step_ticks * self.ns_per_tick:.2f} ns)",
            "empty bracket": f"{self.bracket_ticks * self.ns_per_tick:.1f} ns, subtracted",
            "timed again": f"{self.retimed.sum()} groups of placements during which another task ran; "
            f"{self.disturbed.sum()} were never left alone",
        }

    def __repr__(self):
        about = self.about()
        return (
            f"Timing: {about['placements'].replace(' of ', ' placements of ', 1)}, {about['arms']}, "
            f"{self.caches} caches, on {about['processor']}"
        )

    def _repr_html_(self):
        return html_table(["", ""], self.about().items(), "Placements timed")

    def save(self, path):
        """Write everything to an NPZ file; the file is there complete or not at all."""
        rest = {name: value for name, value in asdict(self).items() if name not in _ARRAYS}
        _archives.write(path, _FORMAT, rest, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote.

        Raises
        ------
        ValueError
            The file is no such thing.
        """

        def make(about, arrays):
            about |= {name: tuple(about[name]) for name in _TUPLES}
            if set(about) | set(arrays) != {field.name for field in fields(cls)}:
                raise ValueError("other fields")
            return cls(**arrays, **about)

        return _archives.read(path, _FORMAT, _ARRAYS, make)
