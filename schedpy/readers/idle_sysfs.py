# SPDX-License-Identifier: GPL-2.0-only
"""Idle tables of a running machine: folders such as /sys/devices/system/cpu/cpu0/cpuidle."""

import re

__all__ = ["is_table", "read"]

_STATE = re.compile(r"state(0|[1-9]\d*)")
_FILES = {"exit_latency_us": "latency", "target_residency_us": "residency"}


def is_table(path):
    """Whether a path is a folder with a folder for each state."""
    return path.is_dir() and (path / "state0").is_dir()


def read(path):
    """A table as plain values, in the form of `schedpy.readers.idle_toml.read`.

    The kernel does not show which states poll; the one it has is called POLL.

    Parameters
    ----------
    path : Path
        The folder; in it state0, state1, ... with name, latency and residency, the times in us.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        A state's number is missing, or a file does not hold what it should.
    OSError
        A file cannot be read.
    """
    numbers = sorted(int(m[1]) for entry in path.iterdir() if (m := _STATE.fullmatch(entry.name)))
    if numbers != list(range(len(numbers))):
        missing = min(set(range(len(numbers))) - set(numbers))
        raise ValueError(f"{path}: state{missing} is missing: has {', '.join(f'state{n}' for n in numbers)}")
    states = []
    for number in numbers:
        folder = path / f"state{number}"
        name = (folder / "name").read_text().strip()
        times = {key: _microseconds(folder / file) for key, file in _FILES.items()}
        states.append({"name": name, **times, "polling": number == 0 and name == "POLL"})
    return {"where": str(path), "source": str(path), "first": None, "state": states}


def _microseconds(path):
    text = path.read_text().strip()
    if not re.fullmatch("[0-9]+", text):
        raise ValueError(f"{path}: {text!r} is no number of microseconds")
    return int(text)
