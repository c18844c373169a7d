# SPDX-License-Identifier: GPL-2.0-only
"""One performance domain: states as a kernel registers them, look-ups, energy."""

import sys

import numpy as np

from schedpy import _core
from schedpy._coerce import as_bool, as_choice, as_int, as_number
from schedpy.em._parts import as_cpus, as_states, spans
from schedpy.em.limits import performance_limits
from schedpy.em.lut import VARIANTS, Served
from schedpy.kernel import form

__all__ = ["TABLE", "UNITS", "PerfDomain"]

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
    "v5.14": (_core.em_create_table_v5_14, "mW", 65535),
    "v5.16": (_core.em_create_table_v5_16, "mW", 65535),
    "v5.19": (_core.em_create_table_v5_19, "uW", 64_000_000),
    "v6.9": (_core.em_create_table_v6_9, "uW", 64_000_000),
}
_WITHOUT_CAPACITY = ("v5.0", "v5.12")
#: Forms of the energy that look for a performance instead of a frequency.
_BY_PERFORMANCE = ("v6.9", "v6.13")


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
        self._cpus = as_cpus(cpus)
        self._freq_khz = as_states(freq_khz, "freq_khz")
        self._power = as_states(power, "power")
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
        self._made = {}

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

    def table(self, *, kernel, capacity=None):
        """The performance states as a kernel registers them.

        Parameters
        ----------
        kernel : str
            5.0 .. 6.7 and 6.9 .. 7.3. 5.12 carries the flags of the 2021 patch; flags came with 5.16.
        capacity : int, optional
            From 6.9 on: the CPUs' capacity has changed to this, 1 .. 1024, after registration. Performance
            and cost are computed again, states flagged before stay flagged.

        Returns
        -------
        structured array of `TABLE`, shape (states,)
            ``freq_khz``, ``power`` in the kernel's unit, ``performance`` (0 before 6.9), ``cost``
            and ``inefficient``.

        Raises
        ------
        ValueError
            The kernel answers EINVAL: a power of 0, or above its limit, in its own unit; or it would divide
            by zero, since a state performs less than one unit of capacity (from 6.9).

        Notes
        -----
        em_create_perf_table() and em_compute_costs() of kernel/power/energy_model.c:
        ``cost = freq[last] * power / freq`` up to 6.7 (with power in mW times 1000 in 5.14 .. 5.18), and
        ``10 * power / performance`` with ``performance = capacity * freq / freq[last]`` from 6.9. A state
        is flagged if its cost is not below that of every higher one.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.table(kernel="5.12")["cost"].tolist()[:6]
        [142, 110, 96, 89, 87, 86]
        >>> [int(little.table(kernel=kernel)["inefficient"].sum()) for kernel in ("5.11", "5.12", "6.1")]
        [0, 5, 5]
        """
        kind = form("em.table", kernel)
        create, unit, limit = _TABLES[kind]
        power = self._power_in(unit)
        refused = int(_core.em_first_refused(self.freq_khz, power, np.uint64(limit)))
        if refused >= 0:
            said = "" if self.unit in (unit, "bogo") else f" ({self.power[refused]} {self.unit})"
            raise ValueError(
                f"power[{refused}] = {power[refused]}{said} of domain {self.name!r}: "
                f"kernel {kernel} takes 1 .. {limit} ({unit} or no unit)"
            )
        if capacity is not None:
            form("em.change_capacity", kernel)
            capacity = as_number(capacity, "capacity", low=1, high=1024)
        if kind in _WITHOUT_CAPACITY:
            return create(self.freq_khz, power).view(TABLE)[:, 0]
        if kind == "v6.9":
            self._refuse_no_performance(kernel, self.capacity)
        words = create(self.freq_khz, power, np.uint64(self.capacity))
        if capacity is not None:
            self._refuse_no_performance(kernel, capacity)
            words = _core.em_change_capacity(words, np.uint64(capacity))
        return words.view(TABLE)[:, 0]

    def _refuse_no_performance(self, kernel, capacity):
        if int(self.freq_khz[0]) * capacity < int(self.freq_khz[-1]):
            raise ValueError(
                f"freq_khz[0] = {self.freq_khz[0]} of domain {self.name!r}: performs nothing of a capacity "
                f"of {capacity} at {self.freq_khz[-1]} kHz; kernel {kernel} would divide by zero"
            )

    def _power_in(self, unit):
        if self.unit in (unit, "bogo"):
            return self.power
        if unit == "mW":
            return self.power // np.uint64(1000)
        # A power that leaves 64 bits is above every limit as it stands.
        return np.where(self.power < 2**53, self.power * np.uint64(1000), self.power)

    def lut(self, skip_inefficient=True, *, variant="patch", kernel="5.12"):
        """A table from requests to states: that of the 2021 patch, on 5.12, or one that no kernel has.

        Parameters
        ----------
        skip_inefficient : bool
            Whether inefficient states are passed over. False, in the patch's table: built without their
            detection, as in the measurement of the mail of 28 April 2021.
        variant : {"patch", "bins", "search", "direct"}
            "patch": bins of equal width. "bins": the same, right for states closer than a bin. "search": no
            table, but a search without branches. "direct": the state of every utilisation.
        kernel : str
            Whose states, flags and mapping from utilisation to request: 5.0 .. 5.13, 5.16 .. 6.7 and 6.9 ..
            7.3; 5.12 alone for the patch's.

        Returns
        -------
        StateTable
            `Lut`, `Bins`, `Search` or `Direct`. Its ``state`` serves requests, its ``state_of_util``
            utilisations. All but `Lut` give the walk's state for every one of them, `Lut` where states are
            at least a bin apart.

        Raises
        ------
        ValueError
            The kernel does not register the states; the patch's table would have more than 2^24 bins; a
            direct table of frequencies so high that the kernel's product leaves 64 bits below the capacity.

        Notes
        -----
        A bin of the patch is the largest power of two not above the smallest distance of efficient states, at
        least 1024 kHz. The patch computes a bin's offset as an int, which overflows from 2^31 kHz on; here it
        has 64 bits.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.lut().entries.tolist()
        [5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14, 14, 15, 16, 17]
        >>> len(little.lut(skip_inefficient=False).entries)
        23
        >>> [little.lut(variant=variant).nbytes for variant in ("patch", "bins", "search", "direct")]
        [168, 178, 134, 406]
        """
        as_choice(variant, "variant", tuple(VARIANTS))
        skip = bool(as_number(skip_inefficient, "skip_inefficient", low=0, high=1))
        if variant == "patch":
            form("em.lut", kernel)
        served = Served.of(self, kernel, form("em.energy", kernel), _words(self.table(kernel=kernel)), skip)
        return VARIANTS[variant](served)

    def get_efficient_state(self, freq_khz, *, kernel, method="walk", skip_inefficient=True):
        """The performance state that serves a frequency.

        Parameters
        ----------
        freq_khz : array_like of int
            Requests in kHz, unsigned 64 bit.
        kernel : str
            5.0 .. 5.13 and 5.16 .. 6.7; ``method="lut"``: 5.12. Later ones look for a performance:
            `get_performance_state`.
        method : {"walk", "lut"}
            "walk": the first state at or above the request, else the last. "lut": the 2021 look-up table.
        skip_inefficient : bool
            Whether inefficient states are passed over: by the look-up table and by the walk from 5.16, where
            the domain's flag EM_PERF_DOMAIN_SKIP_INEFFICIENCIES says so. The walk before never does.

        Returns
        -------
        int64 array
            Index of the state; -1 where the patch would read past the table's end.

        Notes
        -----
        em_pd_get_efficient_state() of the patch and of include/linux/energy_model.h; the walk before is that
        of em_cpu_energy(). Where efficient states are closer than 1024 kHz the look-up may overshoot to a
        higher state, as the patch does.

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
        kind, table, lut = self._method(kernel, method, skip_inefficient)
        if kind in _BY_PERFORMANCE:
            raise ValueError(f"kernel = {kernel!r}: it looks for a performance; see get_performance_state")
        if lut is not None:
            return _core.em_state_lut(table, *lut, freq_khz)
        if kind == "v5.0":
            return _core.em_state_walk_v5_0(table, freq_khz)
        return _core.em_state_walk_v5_16(table, freq_khz, as_bool(skip_inefficient, "skip_inefficient"))

    def get_performance_state(
        self,
        util,
        *,
        kernel,
        skip_inefficient=True,
        capacity=None,
        min_ps=None,
        max_ps=None,
        freq_min_khz=None,
        freq_max_khz=None,
    ):
        """The performance state that serves a utilisation, from 6.9 on.

        Parameters
        ----------
        util : array_like of int
            The performance asked for, head-room included; unsigned 64 bit.
        kernel : str
            6.9 .. 7.3.
        skip_inefficient : bool
            Whether inefficient states are passed over.
        capacity : int, optional
            The CPUs' capacity has changed to this after registration; see `table`.
        min_ps, max_ps : int, optional
            From 6.13 on: the lowest and the highest state allowed. None: all.
        freq_min_khz, freq_max_khz : int, optional
            The same by frequency, which must be a state's: the kernel answers EINVAL to any other.

        Returns
        -------
        int64 array
            Index of the state: the first of those allowed that performs so much, else the last of them.

        Notes
        -----
        em_pd_get_efficient_state() of include/linux/energy_model.h and em_update_performance_limits() of
        kernel/power/energy_model.c.

        Examples
        --------
        >>> from schedpy import em
        >>> little = em.EnergyModel.load("pixel4")["little"]
        >>> little.get_performance_state([0, 100, 1024], kernel="6.12").tolist()
        [5, 5, 17]
        >>> int(little.get_performance_state(1024, kernel="7.3", freq_max_khz=1_478_400))
        13
        """
        util = as_int(util, "util", np.uint64)
        kind, table, _ = self._method(kernel, "walk", skip_inefficient, capacity)
        if kind not in _BY_PERFORMANCE:
            raise ValueError(f"kernel = {kernel!r}: it looks for a frequency; see get_efficient_state")
        limits = performance_limits(
            self.freq_khz,
            kernel,
            min_ps=min_ps,
            max_ps=max_ps,
            freq_min_khz=freq_min_khz,
            freq_max_khz=freq_max_khz,
        )
        return _core.em_state_walk_v6_9(table, util, as_bool(skip_inefficient, "skip_inefficient"), *limits)

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
            5.0 .. 5.13 and 5.16 .. 6.7, where inefficient states are passed over, yet looked at.

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

    def energy(
        self,
        max_util,
        sum_util,
        *,
        kernel,
        method="walk",
        skip_inefficient=True,
        allowed_cpu_cap=None,
        capacity=None,
        min_ps=None,
        max_ps=None,
        freq_min_khz=None,
        freq_max_khz=None,
        long_bits=64,
    ):
        """Estimated energy of the domain.

        Parameters
        ----------
        max_util : array_like of int
            Utilisation of the busiest CPU, which sets the state; unsigned 64 bit. From 6.9 on it includes
            the head-room.
        sum_util : array_like of int
            Utilisation of all CPUs together.
        kernel : str
            5.0 .. 5.13, 5.16 .. 6.7 and 6.9 .. 7.3; ``method="lut"``: 5.12.
        method, skip_inefficient
            As in `get_efficient_state`.
        allowed_cpu_cap : array_like of int, optional
            From 5.16 on: what the CPUs may deliver, the capacity less pressure. None: the capacity.
        capacity : int, optional
            From 6.9 on: the CPUs' capacity has changed to this after registration, and with it the table;
            states flagged before stay flagged. See `table`.
        min_ps, max_ps, freq_min_khz, freq_max_khz
            As in `get_performance_state`.
        long_bits : {64, 32}
            The width of an unsigned long; 32 for 5.19 .. 6.7, where the cost is divided first. Without the
            wrap of a product of 2^32 and more.

        Returns
        -------
        uint64 array
            ``cost * sum_util / capacity`` in the unit of the cost, from 6.9 ``cost * sum_util``; 0 where
            sum_util is 0.

        Raises
        ------
        ValueError
            The patch would read past the end of its look-up table; the message names the request. An
            argument that the kernel does not have.

        Notes
        -----
        em_cpu_energy() of include/linux/energy_model.h. Up to 6.7 the request is
        ``map_util_freq(util, freq[last], capacity)`` of max_util, from 5.16 with ``map_util_perf`` before.

        Examples
        --------
        >>> from schedpy import em
        >>> mid = em.EnergyModel.load("pixel4")["mid"]
        >>> mid.energy([100, 640], 640, kernel="5.12").tolist()
        [412, 658]
        >>> mid.energy([100, 640], 640, kernel="6.1").tolist()
        [412870, 658457]
        """
        max_util = as_int(max_util, "max_util", np.uint64)
        sum_util = as_int(sum_util, "sum_util", np.uint64)
        kind, table, lut = self._method(kernel, method, skip_inefficient, capacity)
        limits = performance_limits(
            self.freq_khz,
            kernel,
            min_ps=min_ps,
            max_ps=max_ps,
            freq_min_khz=freq_min_khz,
            freq_max_khz=freq_max_khz,
        )
        capacity = np.uint64(self.capacity if capacity is None else capacity)
        if as_number(long_bits, "long_bits") not in (32, 64):
            raise ValueError(f"long_bits = {long_bits}: must be 32 or 64")
        if long_bits == 32:
            form("em.energy_32bit", kernel)
        if kind == "v5.0":
            if allowed_cpu_cap is not None:
                raise ValueError(f"allowed_cpu_cap: kernels from 5.16 on take it, not {kernel}")
            if lut is None:
                return _core.em_cpu_energy_v5_0(table, capacity, max_util, sum_util)
            energy, freq_req, past_end = _core.em_cpu_energy_lut(table, *lut, capacity, max_util, sum_util)
            self._refuse_past_end(past_end, freq_req, "max_util")
            return energy
        allowed = (
            capacity if allowed_cpu_cap is None else as_int(allowed_cpu_cap, "allowed_cpu_cap", np.uint64)
        )
        skip = as_bool(skip_inefficient, "skip_inefficient")
        if kind in _BY_PERFORMANCE:
            return _core.em_cpu_energy_v6_9(table, max_util, sum_util, allowed, skip, *limits)
        compute = _core.em_cpu_energy_v5_19_32bit if long_bits == 32 else _core.em_cpu_energy_v5_16
        return compute(table, capacity, max_util, sum_util, allowed, skip)

    def _states(self, kernel):
        """The table as the core takes it, made once for each form."""
        kind = form("em.table", kernel)
        if kind not in self._made:
            self._made[kind] = _words(self.table(kernel=kernel))
            self._made[kind].flags.writeable = False
        return self._made[kind]

    def _method(self, kernel, method, skip_inefficient, capacity=None):
        """The form, the states as words, and what the look-up gufuncs take of the table of 2021, or None."""
        as_choice(method, "method", ("walk", "lut"))
        if method == "lut":
            form("em.lut", kernel)
        kind = form("em.energy", kernel)
        if capacity is None:
            table = self._states(kernel)
        else:
            table = _words(self.table(kernel=kernel, capacity=capacity))
        if method == "walk":
            return kind, table, None
        lut = self.lut(skip_inefficient=skip_inefficient)
        entries = lut.entries.view(np.uint64)
        return kind, table, (entries, entries[0], np.uint64(lut.shift))

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
