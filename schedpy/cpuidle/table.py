# SPDX-License-Identifier: GPL-2.0-only
"""Tables of idle states: bundled, from a file, or from a machine."""

import os
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import numpy as np

from schedpy import _core
from schedpy._coerce import as_bool, as_int, as_number
from schedpy._tables import html_table, text_table
from schedpy.readers import idle_dt, idle_sysfs, idle_toml

__all__ = ["IdleTable"]

_DATA = resources.files("schedpy").joinpath("data", "idle")
_SUFFIX = ".toml"
_HEAD = ("", "state", "exit latency us", "target residency us", "")


class IdleTable:
    """The idle states of a CPU, shallowest first: what a cpuidle driver registers.

    Parameters
    ----------
    state : sequence of str
        Names, 1 .. 10 of them; the kernel has no more either.
    exit_latency_us, target_residency_us : array_like of int
        Of each state, unsigned 32 bit.
    polling : array_like of bool
        Whether the state polls instead of sleeping (CPUIDLE_FLAG_POLLING).
    first : int, optional
        CPUIDLE_DRIVER_STATE_START: 1 where state 0 is the polling one of x86, 0 elsewhere. None: 1 if state 0
        polls and another one follows.
    name, source : str
        What the table is called and where its figures come from.

    Raises
    ------
    ValueError, TypeError
        No states or too many, a value out of range, lengths that differ.

    Examples
    --------
    >>> from schedpy import cpuidle
    >>> table = cpuidle.IdleTable.load("sm8150_little")
    >>> table.state, table.target_residency_us.tolist()
    (('WFI', 'little-rail-pc'), [1, 3934])
    """

    def __init__(
        self, state, *, exit_latency_us, target_residency_us, polling=False, first=None, name="", source=""
    ):
        self._state = _names(state)
        n = len(self._state)
        self._exit_latency_us = _column(
            as_int(exit_latency_us, "exit_latency_us", np.uint32), "exit_latency_us", n
        )
        self._target_residency_us = _column(
            as_int(target_residency_us, "target_residency_us", np.uint32), "target_residency_us", n
        )
        polls = as_bool(polling, "polling")
        self._polling = _column(polls if polls.ndim else np.full(n, polls), "polling", n)
        if first is None:
            first = int(self._polling[0] and n > 1)
        self._first = as_number(first, "first", low=0, high=1)
        if self._first >= n:
            raise ValueError(f"first = {self._first}: there is no state {self._first}")
        for what, text in (("name", name), ("source", source)):
            if not isinstance(text, str):
                raise TypeError(f"{what} = {text!r}: must be a string")
        self._name = name
        self._source = source

    @property
    def state(self):
        """The states' names, a tuple."""
        return self._state

    @property
    def exit_latency_us(self):
        """Exit latencies, an array of uint32 that is not to be written to."""
        return self._exit_latency_us

    @property
    def target_residency_us(self):
        """Target residencies, an array of uint32 that is not to be written to."""
        return self._target_residency_us

    @property
    def polling(self):
        """Which states poll, an array of bool that is not to be written to."""
        return self._polling

    @property
    def first(self):
        """CPUIDLE_DRIVER_STATE_START."""
        return self._first

    @property
    def name(self):
        """What the table is called, or an empty string."""
        return self._name

    @property
    def source(self):
        """Where the figures come from, or an empty string."""
        return self._source

    def __len__(self):
        return len(self.state)

    def _plain(self):
        return (
            self.state,
            self.exit_latency_us.tolist(),
            self.target_residency_us.tolist(),
            self.polling.tolist(),
            self.first,
        )

    def __eq__(self, other):
        if not isinstance(other, IdleTable):
            return NotImplemented
        return self._plain() == other._plain()

    def __hash__(self):
        return hash(tuple(map(str, self._plain())))

    def _rows(self):
        state, latency, residency, polling, _ = self._plain()
        return [
            (str(index), name, str(exit_us), str(target_us), "polls" if polls else "")
            for index, (name, exit_us, target_us, polls) in enumerate(
                zip(state, latency, residency, polling, strict=True)
            )
        ]

    def __repr__(self):
        lines = text_table([_HEAD, *self._rows()], left=(1, len(_HEAD) - 1))
        caption = f"IdleTable {self.name or 'without name'}: {len(self)} states, first {self.first}"
        return "\n".join([caption, *(f"  {line}" for line in lines)])

    def _repr_html_(self):
        return html_table(_HEAD, self._rows(), f"IdleTable {self.name}".strip())

    @staticmethod
    def names():
        """Names of the tables that come with the package.

        Examples
        --------
        >>> from schedpy import cpuidle
        >>> "intel_skl" in cpuidle.IdleTable.names()
        True
        """
        files = (entry.name for entry in _DATA.iterdir())
        return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))

    @classmethod
    def load(cls, name_or_path, *, cpu=None):
        """A table by its name, from a file, or from a machine.

        Parameters
        ----------
        name_or_path : str or path
            One of `names`; a TOML file as `save` writes it; a flattened device tree (.dtb,
            /sys/firmware/fdt); or a folder as the running kernel has it:
            /sys/devices/system/cpu/cpu0/cpuidle.
        cpu : int, optional
            Device trees alone, whose CPUs may differ: which one, counted from 0 in the tree's order. None: 0.

        Returns
        -------
        IdleTable

        Raises
        ------
        ValueError
            An unknown name, or something that is no table; the message names the file and the key or node.
        OSError
            The file cannot be read.
        ImportError
            A device tree, and pylibfdt is not there: it comes with the extra ``readers``.

        Notes
        -----
        Of a device tree (drivers/cpuidle/dt_idle_states.c) the exit latency is ``wakeup-latency-us``, without
        it the sum of entry and exit latency, and the target residency ``min-residency-us``; state 0 is the
        WFI that drivers add, 1 and 1 us. What clusters share is not part of a CPU's table. In a kernel's
        folder the state called POLL is the one that polls.

        Examples
        --------
        >>> from schedpy import cpuidle
        >>> cpuidle.IdleTable.load("juno")
        IdleTable juno: 3 states, first 0
             state            exit latency us  target residency us
          0  WFI                            1                    1
          1  cpu-sleep-0                 1500                 2000
          2  cluster-sleep-0             1600                 2500
        """
        if not isinstance(name_or_path, str | os.PathLike):
            raise TypeError(f"name_or_path = {name_or_path!r}: must be a name or a path")
        if cpu is not None:
            cpu = as_number(cpu, "cpu", low=0, high=2**31 - 1)
        names = cls.names()
        if isinstance(name_or_path, str) and name_or_path in names:
            _refuse_cpu(cpu, name_or_path)
            data = _DATA.joinpath(name_or_path + _SUFFIX).read_bytes()
            return _from_plain(idle_toml.read(data, f"idle table {name_or_path}"), name_or_path)
        path = Path(name_or_path)
        if isinstance(name_or_path, str) and path.suffix != _SUFFIX and not path.exists():
            raise ValueError(
                f"name_or_path = {name_or_path!r}: must be one of {', '.join(names)}, "
                "or a file or folder with a table"
            )
        if path.is_dir():
            _refuse_cpu(cpu, path)
            if not idle_sysfs.is_table(path):
                raise ValueError(f"name_or_path = {str(path)!r}: a folder without a state0")
            return _from_plain(idle_sysfs.read(path), "")
        data = path.read_bytes()
        if idle_dt.is_table(data):
            return _from_plain(idle_dt.read(data, str(path), cpu or 0), "")
        _refuse_cpu(cpu, path)
        return _from_plain(idle_toml.read(data, str(path)), path.stem)

    def save(self, path):
        """Write the table as TOML; what `load` then reads is equal.

        Parameters
        ----------
        path : str or path
            The file. It appears complete or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from schedpy import cpuidle
        >>> table = cpuidle.IdleTable.load("juno")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table.save(f"{folder}/mine.toml")
        ...     cpuidle.IdleTable.load(f"{folder}/mine.toml") == table
        True
        """
        state, latency, residency, polling, first = self._plain()
        columns = zip(state, latency, residency, polling, strict=True)
        states = [dict(zip(idle_toml.STATE_KEYS, row, strict=True)) for row in columns]
        idle_toml.write(path, {"source": self.source, "first": first, "state": states})


def _refuse_cpu(cpu, what):
    if cpu is not None:
        raise ValueError(f"cpu = {cpu}: {what} has one table for all CPUs; a device tree has several")


def _names(state):
    if isinstance(state, str) or not isinstance(state, Iterable):
        raise TypeError(f"state = {state!r}: must be a sequence of names")
    names = tuple(state)
    if not 1 <= len(names) <= _core.IDLE_STATES_MAX:
        raise ValueError(f"state has {len(names)} names: must be 1 .. {_core.IDLE_STATES_MAX}")
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"state[{index}] = {name!r}: must be a string")
    return names


def _column(array, name, n):
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}: must be one for each of {n} states")
    column = array.copy()
    column.flags.writeable = False
    return column


def _from_plain(plain, name):
    states = plain["state"]
    columns = {key: [state[key] for state in states] for key in idle_toml.STATE_KEYS}
    names = columns.pop("name")
    try:
        return IdleTable(names, **columns, first=plain["first"], name=name, source=plain["source"])
    except (TypeError, ValueError) as error:
        raise type(error)(f"{plain['where']}: {error}") from None
