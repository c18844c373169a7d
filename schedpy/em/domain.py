# SPDX-License-Identifier: GPL-2.0-only
"""One performance domain: states as a kernel registers them, look-ups, energy."""

import itertools
import sys
from dataclasses import dataclass

import numpy as np

from schedpy import _core
from schedpy._coerce import as_choice, as_int, as_number
from schedpy.kernel import form

__all__ = ["TABLE", "UNITS", "Lut", "PerfDomain", "spans"]

#: Power is in milliwatt, in microwatt, or in no unit at all. It is never guessed.
UNITS = ("mW", "uW", "bogo")

#: A performance state as the kernel keeps it. Five words: a table is also an (n, 5) array of uint64.
TABLE = np.dtype(
    {
        "names": ["freq_khz", "power", "performance", "cost", "inefficient"],
        "formats": [np.uint64, np.uint64, np.uint64, np.uint64, np.bool_],
        "offsets": [0, 8, 16, 24, 32 if sys.byteorder == "little" else 39],
        "itemsize": 40,
    }
)

#: Form of the table -> how it is made, the unit the kernel takes, its limit.
_TABLES = {
    "v5.0": (_core.em_create_table_v5_0, "mW", 65535),
    "v5.12": (_core.em_create_table_v5_12, "mW", 65535),
}
#: A look-up table of more bins than this is refused; the patch has no limit.
_MAX_ENTRIES = 2**24


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


class PerfDomain:
    """CPUs that share a frequency, and their performance states.

    Parameters
    ----------
    name : str
    cpus : sequence of int
        CPU numbers, 0 .. 63.
    freq_khz : sequence of int
        kHz, rising strictly from above 0.
    power : sequence of int
        Power of one CPU at each frequency, at least 1.
    unit : {"mW", "uW", "bogo"}
        Unit of ``power``. A kernel takes mW up to 5.18 and uW from 5.19, and gets it so (mW = uW // 1000);
        "bogo", a scale without unit, is passed as it stands.
    capacity : int
        Capacity of each CPU, 1 .. 1024 (the kernel's scale_cpu).

    Raises
    ------
    ValueError, TypeError
        What no kernel registers: no state, frequencies that do not rise from above 0, a power of 0. A limit
        that differs between kernels (65535 up to 5.18) is checked by the methods, which know the kernel.

    Examples
    --------
    >>> from schedpy import em
    >>> em.PerfDomain("big", [4, 5], [1_000_000, 2_000_000], [300, 900], unit="mW", capacity=1024)
    PerfDomain('big', cpus=4-5, 2 states 1000000 .. 2000000 kHz, 300 .. 900 mW, capacity=1024)
    """

    def __init__(self, name, cpus, freq_khz, power, *, unit, capacity):
        if not isinstance(name, str):
            raise TypeError(f"name = {name!r}: must be a string")
        if not name:
            raise ValueError("name is empty: must be a name for the domain")
        self._name = name
        self._cpus = _as_cpus(cpus)
        self._freq_khz = _as_states(freq_khz, "freq_khz")
        self._power = _as_states(power, "power")
        if self._freq_khz.shape != self._power.shape:
            raise ValueError(
                f"power has {self._power.size} values for {self._freq_khz.size} of freq_khz: must be one each"
            )
        falls = np.flatnonzero(self._freq_khz[1:] <= self._freq_khz[:-1])
        if falls.size:
            at = int(falls[0]) + 1
            raise ValueError(
                f"freq_khz[{at}] = {self._freq_khz[at]}: must be above freq_khz[{at - 1}] = "
                f"{self._freq_khz[at - 1]}"
            )
        self._unit = as_choice(unit, "unit", UNITS)
        self._capacity = as_number(capacity, "capacity", low=1, high=1024)

    @property
    def name(self):
        """The name within its model."""
        return self._name

    @property
    def cpus(self):
        """CPU numbers, ascending."""
        return self._cpus

    @property
    def freq_khz(self):
        """Frequencies in kHz, ascending; read-only."""
        return self._freq_khz

    @property
    def power(self):
        """Power at each frequency in `unit`; read-only."""
        return self._power

    @property
    def unit(self):
        """Unit of the power: "mW", "uW" or "bogo"."""
        return self._unit

    @property
    def capacity(self):
        """Capacity of each CPU."""
        return self._capacity

    def __eq__(self, other):
        if not isinstance(other, PerfDomain):
            return NotImplemented
        return (
            (self.name, self.cpus, self.unit, self.capacity)
            == (other.name, other.cpus, other.unit, other.capacity)
            and np.array_equal(self.freq_khz, other.freq_khz)
            and np.array_equal(self.power, other.power)
        )

    def __hash__(self):
        return hash((self.name, self.cpus, self.unit, self.capacity, self.freq_khz.size))

    def __repr__(self):
        freq, power = self.freq_khz, self.power
        return (
            f"PerfDomain({self.name!r}, cpus={spans(self.cpus)}, {freq.size} states "
            f"{freq[0]} .. {freq[-1]} kHz, {power.min()} .. {power.max()} {self.unit}, "
            f"capacity={self.capacity})"
        )

    def table(self, *, kernel):
        """The performance states as a kernel registers them.

        Parameters
        ----------
        kernel : str
            5.0 .. 5.13. 5.12 carries the flags of the 2021 patch; the others have none.

        Returns
        -------
        structured array of `TABLE`, shape (states,)
            ``freq_khz``, ``power`` in the kernel's unit, ``performance`` (0 before 6.9), ``cost``
            and ``inefficient``.

        Raises
        ------
        ValueError
            The kernel answers EINVAL: a power of 0, or above its limit, in its own unit.

        Notes
        -----
        em_create_perf_table() of kernel/power/energy_model.c:
        ``cost = freq[last] * power / freq``. The patch flags a state whose cost is not below that of
        every higher one.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.table(kernel="5.12")["cost"].tolist()[:6]
        [142, 110, 96, 89, 87, 86]
        >>> int(little.table(kernel="5.12")["inefficient"].sum())
        5
        """
        create, unit, limit = _TABLES[form("em.table", kernel)]
        power = self._power_in(unit)
        refused = int(_core.em_first_refused(self.freq_khz, power, np.uint64(limit)))
        if refused >= 0:
            said = "" if self.unit in (unit, "bogo") else f" ({self.power[refused]} {self.unit})"
            raise ValueError(
                f"power[{refused}] = {power[refused]}{said} of domain {self.name!r}: "
                f"kernel {kernel} takes 1 .. {limit} ({unit} or no unit)"
            )
        return create(self.freq_khz, power).view(TABLE)[:, 0]

    def _power_in(self, unit):
        if self.unit in (unit, "bogo"):
            return self.power
        return self.power // np.uint64(1000)

    def lut(self, skip_inefficient=True):
        """The look-up table of the 2021 patch, on 5.12.

        Parameters
        ----------
        skip_inefficient : bool
            False: built without the detection of inefficient states, as in the measurement of the
            mail of 28 April 2021.

        Returns
        -------
        Lut

        Raises
        ------
        ValueError
            5.12 does not register the states, or the table would have more than 2^24 bins.

        Notes
        -----
        A bin is the largest power of two not above the smallest distance of efficient states, at least
        1024 kHz. The patch computes a bin's offset as an int, which overflows from 2^31 kHz on; here it has
        64 bits.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.lut().entries.tolist()
        [5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14, 14, 15, 16, 17]
        >>> len(little.lut(skip_inefficient=False).entries)
        23
        """
        words = _words(self.table(kernel="5.12"))
        if not skip_inefficient:
            words[:, -1] = 0
        min_state, shift, count = map(int, _core.em_lut_shape(words))
        if count > _MAX_ENTRIES:
            raise ValueError(
                f"domain {self.name!r}: the look-up table would have {count} bins of {1 << shift} kHz; "
                f"at most {_MAX_ENTRIES} are built"
            )
        entries = _core.em_lut_entry(
            words, np.uint64(min_state), np.uint64(shift), np.arange(count, dtype=np.uint64)
        )
        return Lut(shift, int(self.freq_khz[min_state]), int(self.freq_khz[-1]), entries.view(np.int64))

    def get_efficient_state(self, freq_khz, *, kernel, method="walk", skip_inefficient=True):
        """The performance state that serves a frequency.

        Parameters
        ----------
        freq_khz : array_like of int
            Requests in kHz, unsigned 64 bit.
        kernel : str
            5.0 .. 5.13; ``method="lut"``: 5.12.
        method : {"walk", "lut"}
            "walk": the first state at or above the request, else the last. "lut": the 2021 look-up table.
        skip_inefficient : bool
            Whether the look-up table skips inefficient states. The walk of these kernels never does.

        Returns
        -------
        int64 array
            Index of the state; -1 where the patch would read past the table's end.

        Notes
        -----
        em_pd_get_efficient_state() of the patch; the walk is that of em_cpu_energy(). Where efficient
        states are closer than 1024 kHz the look-up may overshoot to a higher state, as the patch does.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.get_efficient_state([0, 400_000, 9_999_999], kernel="5.12").tolist()
        [0, 1, 17]
        >>> little.get_efficient_state([0, 400_000, 9_999_999], kernel="5.12", method="lut").tolist()
        [5, 5, 17]
        """
        freq_khz = as_int(freq_khz, "freq_khz", np.uint64)
        table, lut = self._method(kernel, method, skip_inefficient)
        if lut is None:
            return _core.em_state_walk_v5_0(table, freq_khz)
        return _core.em_state_lut(table, *lut, freq_khz)

    def get_efficient_freq(self, freq_khz, *, skip_inefficient=True):
        """What the 2021 patch makes of schedutil's request, on 5.12.

        Parameters
        ----------
        freq_khz : array_like of int
            Requests in kHz, unsigned 64 bit.
        skip_inefficient : bool
            False: without detection, so that every request stays.

        Returns
        -------
        uint64 array
            kHz: that of the efficient state; the request itself if the domain has no inefficient state.

        Raises
        ------
        ValueError
            The patch would read past the table's end.

        Examples
        --------
        >>> from schedpy import em
        >>> pixel4 = em.EnergyModel.load("pixel4")
        >>> int(pixel4["little"].get_efficient_freq(400_000)), int(pixel4["mid"].get_efficient_freq(800_000))
        (768000, 800000)
        """
        freq_khz = as_int(freq_khz, "freq_khz", np.uint64)
        if not skip_inefficient or not self.table(kernel="5.12")["inefficient"].any():
            return freq_khz.copy()[()]
        state = np.asarray(self.get_efficient_state(freq_khz, kernel="5.12", method="lut"))
        self._refuse_past_end(state < 0, freq_khz, "freq_khz")
        return self.freq_khz[state]

    def walk_length(self, freq_khz, *, kernel):
        """How many states the table walk looks at to serve a frequency.

        Parameters
        ----------
        freq_khz : array_like of int
            Requests in kHz, unsigned 64 bit.
        kernel : str
            5.0 .. 5.13.

        Returns
        -------
        int64 array
            1 .. number of states.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.walk_length([0, 400_000, 9_999_999], kernel="5.12").tolist()
        [1, 2, 18]
        """
        return self.get_efficient_state(freq_khz, kernel=kernel) + 1

    def energy(self, max_util, sum_util, *, kernel, method="walk", skip_inefficient=True):
        """Estimated energy of the domain.

        Parameters
        ----------
        max_util : array_like of int
            Utilisation of the busiest CPU, which sets the state; unsigned 64 bit.
        sum_util : array_like of int
            Utilisation of all CPUs together.
        kernel : str
            5.0 .. 5.13; ``method="lut"``: 5.12.
        method, skip_inefficient
            As in `get_efficient_state`.

        Returns
        -------
        uint64 array
            ``cost * sum_util / capacity`` in the unit of the power; 0 where sum_util is 0.

        Raises
        ------
        ValueError
            The patch would read past the end of its look-up table; the message names the request.

        Notes
        -----
        em_cpu_energy() of include/linux/energy_model.h. The request is
        ``map_util_freq(max_util, freq[last], capacity)``.

        Examples
        --------
        >>> from schedpy import em
        >>> em.EnergyModel.load("pixel4")["mid"].energy([100, 640], 640, kernel="5.12").tolist()
        [412, 658]
        """
        max_util = as_int(max_util, "max_util", np.uint64)
        sum_util = as_int(sum_util, "sum_util", np.uint64)
        table, lut = self._method(kernel, method, skip_inefficient)
        capacity = np.uint64(self.capacity)
        if lut is None:
            return _core.em_cpu_energy_v5_0(table, capacity, max_util, sum_util)
        energy, freq_req, past_end = _core.em_cpu_energy_lut(table, *lut, capacity, max_util, sum_util)
        self._refuse_past_end(past_end, freq_req, "max_util")
        return energy

    def _method(self, kernel, method, skip_inefficient):
        """The states as words, and what the look-up gufuncs take of the table of 2021, or None."""
        as_choice(method, "method", ("walk", "lut"))
        form("em.lut" if method == "lut" else "em.energy", kernel)
        table = _words(self.table(kernel=kernel))
        if method == "walk":
            return table, None
        lut = self.lut(skip_inefficient=skip_inefficient)
        entries = lut.entries.view(np.uint64)
        return table, (entries, entries[0], np.uint64(lut.shift))

    def _refuse_past_end(self, past_end, freq_req, name):
        past_end = np.asarray(past_end)
        if past_end.any():
            first = int(np.argmax(past_end))
            at = [int(i) for i in np.unravel_index(first, past_end.shape)] or ""
            raise ValueError(
                f"{name}{at}: the request of {np.asarray(freq_req).flat[first]} kHz makes the 2021 patch "
                f"read past the end of the look-up table of domain {self.name!r}"
            )


def _words(table):
    """A table as the core takes it."""
    return table.view(np.uint64).reshape(-1, 5)


def _as_cpus(cpus):
    cpus = as_int(list(cpus) if isinstance(cpus, range | tuple) else cpus, "cpus", np.int64, low=0, high=63)
    if cpus.ndim != 1 or cpus.size == 0:
        raise ValueError(f"cpus has shape {cpus.shape}: must be a list of at least one CPU number")
    numbers = tuple(sorted(cpus.tolist()))
    for low, high in itertools.pairwise(numbers):
        if low == high:
            raise ValueError(f"cpus holds CPU {low} twice: must be different numbers")
    return numbers


def _as_states(values, name):
    values = as_int(values, name, np.uint64, low=1)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"{name} has shape {values.shape}: must be a list with one value per state")
    values = values.copy()
    values.flags.writeable = False
    return values


def spans(cpus):
    """CPU numbers the way the kernel prints a mask: 0-3,7"""
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and spans[-1][1] == cpu - 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)
