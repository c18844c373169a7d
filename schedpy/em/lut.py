# SPDX-License-Identifier: GPL-2.0-only
"""Tables that tell the state for a request: that of the 2021 patch, and three that no kernel has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from schedpy import _core
from schedpy._coerce import as_int

__all__ = ["VARIANTS", "Bins", "Direct", "Lut", "Search", "Served", "StateTable"]

_MAP_UTIL_FREQ = {"v5.0": _core.map_util_freq_v5_0, "v5.16": _core.map_util_freq_v5_14}
#: A table of the patch with more bins than this is refused; the patch has no limit.
_MAX_ENTRIES = 2**24
#: Bytes of a C int, and of a pointer or a long.
_INT, _LONG = 4, 8


@dataclass(frozen=True, eq=False)
class Served:
    """The states of a domain that may be chosen, and how a kernel gets from a utilisation to a request.

    ``key``: frequency of each, kHz, or from 6.9 its performance; ``state``: its index in the domain's table;
    ``words``: that table as the core takes it.
    """

    domain: str
    kernel: str
    form: str
    capacity: int
    key: np.ndarray
    state: np.ndarray
    words: np.ndarray

    @classmethod
    def of(cls, domain, kernel, form, words, skip_inefficient):
        """What a domain's table serves."""
        chosen = np.flatnonzero(words[:, -1] == 0) if skip_inefficient else np.arange(len(words))
        if len(words) > np.iinfo(np.uint16).max:
            raise ValueError(f"domain {domain.name!r} has {len(words)} states: 65535 have a table at most")
        column = 0 if form in _MAP_UTIL_FREQ else 2
        return cls(
            domain.name,
            kernel,
            form,
            domain.capacity,
            np.ascontiguousarray(words[chosen, column]),
            chosen.astype(np.uint16),
            words,
        )

    def request(self, util):
        """What the kernel asks for to serve a utilisation."""
        if self.form not in _MAP_UTIL_FREQ:
            return util
        return _MAP_UTIL_FREQ[self.form](util, self.words[-1, 0], np.uint64(self.capacity))

    @property
    def highest_util(self):
        """Utilisations above this make the kernel's product leave 64 bits."""
        freq = int(self.words[-1, 0])
        factor = {"v5.0": freq + (freq >> 2), "v5.16": freq}.get(self.form, 1)
        return (2**64 - 1) // factor


def _rows(requests):
    """Requests as a row of words, and where the core puts what it finds."""
    row = np.ascontiguousarray(requests).reshape(-1)
    return row, np.empty(row.size, dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class StateTable(ABC):
    """What `PerfDomain.lut` makes: from a request to the index of the state that serves it.

    All but that of the patch give what the walk over the states that may be chosen gives, for every request.

    Attributes
    ----------
    variant : str
        Its name among those of `PerfDomain.lut`.
    nbytes : int
        What it takes in memory beside the domain's own table.
    """

    variant: ClassVar[str]
    served: Served = field(repr=False)

    @property
    @abstractmethod
    def nbytes(self):
        """Bytes in memory, beside the domain's own table."""

    @abstractmethod
    def _find(self, request):
        """Indexes of states for an array of uint64."""

    def state(self, request):
        """The state for a request.

        Parameters
        ----------
        request : array_like of int
            kHz; for a kernel from 6.9 on a performance. Unsigned 64 bit.

        Returns
        -------
        int64 array
            Index of the state; -1 where the table of the patch would be read past its end.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.lut(variant="search").state([0, 800_000, 9_999_999]).tolist()
        [5, 6, 17]
        """
        return self._find(as_int(request, "request", np.uint64))

    def state_of_util(self, util):
        """The state for a utilisation, as em_cpu_energy() looks it up.

        Parameters
        ----------
        util : array_like of int
            Up to 5.13 max_util, to which the kernel adds the head-room; from 5.16 with the head-room and
            capped by what the CPUs may deliver. Unsigned 64 bit.

        Returns
        -------
        int64 array
            Index of the state.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.lut(variant="direct").state_of_util([0, 100, 261]).tolist()
        [5, 7, 17]
        """
        return self._find(self.served.request(as_int(util, "util", np.uint64)))


@dataclass(frozen=True, eq=False)
class Lut(StateTable):
    """The look-up table of 2021: a bin is ``2**shift`` kHz wide and begins at ``min_freq + (i << shift)``.

    ``entries`` holds the index of a performance state per bin (int64).
    """

    variant: ClassVar[str] = "patch"
    shift: int
    min_freq: int
    max_freq: int
    entries: np.ndarray

    @classmethod
    def make(cls, served):
        """The patch's table of the states served."""
        words = served.words.copy()
        words[:, -1] = 1
        words[served.state, -1] = 0
        min_state, shift, count = map(int, _core.em_lut_shape(words))
        if count > _MAX_ENTRIES:
            raise ValueError(
                f"domain {served.domain!r}: the look-up table would have {count} bins of {1 << shift} kHz; "
                f"at most {_MAX_ENTRIES} are built"
            )
        entries = _core.em_lut_entry(
            words, np.uint64(min_state), np.uint64(shift), np.arange(count, dtype=np.uint64)
        )
        lowest, highest = int(words[min_state, 0]), int(words[-1, 0])
        return cls(shift, lowest, highest, entries.view(np.int64), served=served)

    @property
    def nbytes(self):
        """A pointer per bin, and the patch's structure: shift, length, two pointers and two frequencies."""
        return self.entries.size * _LONG + 2 * _INT + 4 * _LONG

    def _find(self, request):
        entries = self.entries.view(np.uint64)
        return _core.em_state_lut(self.served.words, entries, entries[0], np.uint64(self.shift), request)

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


@dataclass(frozen=True, eq=False)
class Search(StateTable):
    """No table: the keys of the states that may be chosen, halved without a branch.

    Many requests to few states are compared with all keys instead, in as many lanes as the machine has.
    """

    variant: ClassVar[str] = "search"

    @classmethod
    def make(cls, served):
        """Nothing is left to do."""
        return cls(served=served)

    @property
    def nbytes(self):
        """A key and an index per state that may be chosen, and how many there are."""
        return self.served.key.nbytes + self.served.state.nbytes + _INT

    def _find(self, request):
        row, found = _rows(request)
        _core.em_halve(self.served.key, self.served.state, row, found)
        return found.reshape(request.shape)[()]


@dataclass(frozen=True, eq=False)
class Bins(StateTable):
    """The bins of 2021, right for states however close: as many steps up from the entry as the fullest needs.

    At most 4096 bins. Where states are a bin apart, one step does, and bins are those of the patch.
    """

    variant: ClassVar[str] = "bins"
    shift: int
    steps: int
    entries: np.ndarray

    @classmethod
    def make(cls, served):
        """The bins of what is served."""
        shift, steps, entries = _core.em_make_bins(served.key)
        entries.flags.writeable = False
        return cls(shift, steps, entries, served=served)

    @property
    def nbytes(self):
        """An index per bin, a key and an index per state that may be chosen; shift, steps and two lengths."""
        return self.entries.nbytes + self.served.key.nbytes + self.served.state.nbytes + 4 * _INT

    def _find(self, request):
        row, found = _rows(request)
        _core.em_bins(self.served.key, self.served.state, self.entries, self.shift, self.steps, row, found)
        return found.reshape(request.shape)[()]


@dataclass(frozen=True, eq=False)
class Direct(StateTable):
    """The state of every utilisation, so that nothing is multiplied, divided or compared.

    It is asked by `state_of_util` alone. ``entries`` ends where the highest state begins.
    """

    variant: ClassVar[str] = "direct"
    entries: np.ndarray

    @classmethod
    def make(cls, served):
        """The state of every utilisation up to the one that needs the highest."""
        most = served.capacity + 1
        if served.highest_util < most:
            raise ValueError(
                f"domain {served.domain!r}: the request for utilisation {served.highest_util + 1} leaves 64 "
                f"bits at {served.words[-1, 0]} kHz: no table by utilisation"
            )
        found = Search(served=served).state_of_util(np.arange(most + 1, dtype=np.uint64))
        entries = found[: np.searchsorted(found, found[-1]) + 1].astype(np.uint16)
        entries.flags.writeable = False
        return cls(entries, served=served)

    @property
    def nbytes(self):
        """An index per utilisation, and how many there are."""
        return self.entries.nbytes + _INT

    def _find(self, request):
        raise ValueError("request: a direct table is asked for utilisations alone, by state_of_util()")

    def state_of_util(self, util):
        """The state for a utilisation; see `StateTable.state_of_util`."""
        util = as_int(util, "util", np.uint64)
        row, found = _rows(util)
        _core.em_direct(self.entries, row, found)
        beyond = row > self.served.highest_util if row.size and row.max() > self.served.highest_util else None
        if beyond is not None:
            # The kernel's product wraps, and so does the state.
            found[beyond] = Search(served=self.served).state_of_util(row[beyond])
        return found.reshape(util.shape)[()]


#: Name -> how it is made of what is served.
VARIANTS = {"patch": Lut.make, "bins": Bins.make, "search": Search.make, "direct": Direct.make}
