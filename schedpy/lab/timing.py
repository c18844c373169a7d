# SPDX-License-Identifier: GPL-2.0-only
"""Raw samples of the placement experiment, kept in the counter's own ticks."""

import json
import os
import zipfile
from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd

from schedpy._files import written_whole

__all__ = ["Timing"]

_FORMAT = "schedpy.lab.Timing/1"
_ARRAYS = ("phase", "duty_percent", "cpu", "ticks", "switches")


@dataclass(frozen=True, eq=False)
class Timing:
    """Every placement timed, with what is needed to read and to repeat it.

    Attributes
    ----------
    phase, duty_percent, cpu : array, one per row
        Row of the mail: phase, duty cycle in percent, and which kind of CPU ran the function.
    ticks : uint64 array (rows, placements, arms)
        As counted, bracket included; one placement's arms stand side by side.
    switches : int64 array, one per repetition
        How often another task took the CPU meanwhile; 0 unless the machine left no quiet repetition.
    arms : tuple of str
        What was timed: "walk", "lut" and "walk" once more.
    ns_per_tick : float
        Length of a tick.
    bracket_ticks : int
        What timing nothing costs at least; :meth:`ns` takes it off.
    counter, host : str
        The counter, and the processor it belongs to.
    pinned : int
        The CPU that ran the measurement.
    repetitions, activations, seed, hz : int
        Repetitions of the staircase, activations per phase, the seed of the order, the kernel's HZ.
    model : str
        The energy model.
    """

    phase: np.ndarray
    duty_percent: np.ndarray
    cpu: np.ndarray
    ticks: np.ndarray
    switches: np.ndarray
    arms: tuple[str, ...]
    ns_per_tick: float
    bracket_ticks: int
    counter: str
    host: str
    pinned: int
    repetitions: int
    activations: int
    seed: int
    hz: int
    model: str

    def ns(self, arm):
        """Samples of one arm (by number) in ns: float array (rows, placements)."""
        return (self.ticks[:, :, arm].astype(np.int64) - self.bracket_ticks) * self.ns_per_tick

    def samples(self):
        """Every sample in ns as a DataFrame: phase, cpu, and one column per arm."""
        columns = {"walk_ns": self.ns(0), "lut_ns": self.ns(1), "walk_again_ns": self.ns(2)}
        n = self.ticks.shape[1]
        return pd.DataFrame(
            {"phase": np.repeat(self.phase, n), "cpu": np.repeat(self.cpu, n)}
            | {name: values.ravel() for name, values in columns.items()}
        )

    def save(self, path):
        """Write everything to an NPZ file; the file is there complete or not at all."""
        rest = {name: value for name, value in asdict(self).items() if name not in _ARRAYS}
        with written_whole(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(
                file,
                about=np.array(json.dumps({"format": _FORMAT} | rest)),
                **{name: getattr(self, name) for name in _ARRAYS},
            )

    @classmethod
    def load(cls, path):
        """Read what :meth:`save` wrote.

        Raises
        ------
        ValueError
            The file is no such thing.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["about"]))
                if about.pop("format", None) != _FORMAT:
                    raise ValueError("another format")
                arrays = {name: file[name] for name in _ARRAYS}
            about["arms"] = tuple(about["arms"])
            if set(about) | set(arrays) != {field.name for field in fields(cls)}:
                raise ValueError("other fields")
            return cls(**arrays, **about)
        except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{os.fspath(path)}: expected a file of {_FORMAT} ({error})") from error
