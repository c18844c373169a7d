# SPDX-License-Identifier: GPL-2.0-only
"""Energy models: the performance domains of a machine, bundled or from a file."""

import html
import os
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

import numpy as np

from schedpy._coerce import as_bool, as_choice, as_int, as_number
from schedpy._tables import html_table, text_table
from schedpy.em._parts import spans
from schedpy.em.check import Check, check_domain
from schedpy.em.domain import UNITS, PerfDomain
from schedpy.kernel import form
from schedpy.readers import energy_model, toml

__all__ = ["EnergyModel"]

_DATA = resources.files("schedpy").joinpath("data", "em")
_SUFFIX = ".toml"
_HEAD = ("domain", "CPUs", "capacity", "states", "kHz", "power", "unit")


class EnergyModel:
    """The performance domains of a machine.

    Parameters
    ----------
    domains : sequence of PerfDomain
        In the kernel's order. Names and CPUs occur once.
    name, source : str
        What the model is called and where its figures come from.

    Examples
    --------
    >>> from schedpy import em
    >>> model = em.EnergyModel.load("pixel4")
    >>> [domain.name for domain in model.domains]
    ['little', 'mid', 'prime']
    >>> model["mid"].capacity
    871
    """

    def __init__(self, domains, *, name="", source=""):
        if not isinstance(domains, Iterable):
            raise TypeError(f"domains = {domains!r}: must be a sequence of PerfDomain")
        domains = tuple(domains)
        if not domains:
            raise ValueError("domains is empty: must hold at least one PerfDomain")
        for index, domain in enumerate(domains):
            if not isinstance(domain, PerfDomain):
                raise TypeError(f"domains[{index}] is {type(domain).__name__}: must be a PerfDomain")
            for earlier in domains[:index]:
                if earlier.name == domain.name:
                    raise ValueError(f"domains[{index}]: there is a domain {domain.name!r} already")
                if shared := set(earlier.cpus) & set(domain.cpus):
                    raise ValueError(
                        f"domains[{index}]: CPU {min(shared)} of {domain.name!r} is in {earlier.name!r}"
                    )
        for what, text in (("name", name), ("source", source)):
            if not isinstance(text, str):
                raise TypeError(f"{what} = {text!r}: must be a string")
        self._domains = domains
        self._name = name
        self._source = source
        self._recorded = {}

    @property
    def domains(self):
        """The domains, a tuple of PerfDomain in the kernel's order."""
        return self._domains

    @property
    def name(self):
        """What the model is called, or an empty string."""
        return self._name

    @property
    def source(self):
        """Where the figures come from, or an empty string."""
        return self._source

    @property
    def recorded(self):
        """What a kernel had computed, where `load` read that: domain's name -> column -> array.

        The columns are those of `PerfDomain.table` that debugfs and netlink show: cost, and from a later
        kernel inefficient and performance. `check` holds them against its kernel. They are no part of
        what makes models equal, and `save` does not write them.
        """
        return {name: dict(columns) for name, columns in self._recorded.items()}

    @property
    def nr_cpus(self):
        """One more than the highest CPU number."""
        return 1 + max(cpu for domain in self.domains for cpu in domain.cpus)

    def __getitem__(self, name):
        for domain in self.domains:
            if domain.name == name:
                return domain
        raise KeyError(f"no domain {name!r}: must be one of {', '.join(d.name for d in self.domains)}")

    def __eq__(self, other):
        if not isinstance(other, EnergyModel):
            return NotImplemented
        return self.domains == other.domains

    def __hash__(self):
        return hash(self.domains)

    def _rows(self):
        return [
            (
                domain.name,
                spans(domain.cpus),
                str(domain.capacity),
                str(domain.freq_khz.size),
                f"{domain.freq_khz[0]} .. {domain.freq_khz[-1]}",
                f"{domain.power.min()} .. {domain.power.max()}",
                domain.unit,
            )
            for domain in self.domains
        ]

    def __repr__(self):
        lines = text_table([_HEAD, *self._rows()], left=(0, len(_HEAD) - 1))
        caption = f"EnergyModel {self.name or 'without name'}: {_count(self)}"
        return "\n".join([caption, *(f"  {line}" for line in lines)])

    def _repr_html_(self):
        caption = f"EnergyModel {self.name}".rstrip() + f": {_count(self)}"
        states = "".join(
            f"<details><summary>{html.escape(domain.name)}: {domain.freq_khz.size} states</summary>"
            + html_table(
                ("state", "kHz", f"power [{domain.unit}]"),
                zip(range(domain.freq_khz.size), domain.freq_khz, domain.power, strict=True),
            )
            + "</details>"
            for domain in self.domains
        )
        source = f"<p>{html.escape(self.source.strip())}</p>" if self.source else ""
        return html_table(_HEAD, self._rows(), caption) + states + source

    def check(self, *, kernel):
        """What to look at before a kernel gets this model.

        Parameters
        ----------
        kernel : str
            5.0 .. 6.7 and 6.9 .. 7.3. On 5.12 the look-up table of 2021 is held against the walk over
            efficient states, for every request.

        Returns
        -------
        Check
            Inefficient states, power that falls or stays with a rising frequency, equal costs, states that
            the table misses, domains that the kernel refuses, and where what is `recorded` is not what
            this kernel computes; the gravest of a domain first.

        Raises
        ------
        ValueError
            A kernel whose tables are not proven.

        Examples
        --------
        >>> from schedpy import em
        >>> print(em.EnergyModel.load("pixel4").check(kernel="6.1"))
        pixel4 on 6.1: 5 findings
          little: inefficient: 300000 kHz costs 142848, a higher one 86025
          little: inefficient: 403200 kHz costs 110714, a higher one 86025
          little: inefficient: 499200 kHz costs 96576, a higher one 86025
          little: inefficient: 576000 kHz costs 89900, a higher one 86025
          little: inefficient: 672000 kHz costs 87685, a higher one 86025
        """
        with_lut = form("em.table", kernel) == form("em.lut", "5.12")
        findings = [
            each
            for domain in self.domains
            for each in check_domain(domain, kernel, with_lut, self._recorded.get(domain.name, {}))
        ]
        return Check(self.name or "model", kernel, tuple(findings))

    @staticmethod
    def names():
        """Names of the models that come with the package.

        Examples
        --------
        >>> from schedpy import em
        >>> em.EnergyModel.names()[:3]
        ['hikey620', 'hikey960_hi3660', 'juno_r0']
        """
        files = (entry.name for entry in _DATA.iterdir())
        return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))

    @classmethod
    def load(cls, name_or_path, *, unit=None, capacity=None):
        """A model by its name, from a file, or from a running kernel.

        Parameters
        ----------
        name_or_path : str or path
            One of `names`; a TOML file as `save` writes it; CSV with a row for each state (columns domain,
            cpus, capacity, freq_khz, power, unit); debugfs's energy_model as a folder or as a tar archive
            of it, compressed or not; a flattened device tree (.dtb, /sys/firmware/fdt); what ynl prints of
            the netlink family dev-energymodel (.json); or LISA's plat_info.yml.
        unit : {"mW", "uW", "bogo"}, optional
            The unit of a file that states none, or "bogo", or a real unit for figures stated as "bogo".
            A file that states mW is not read as uW, nor the reverse: nothing is converted twice.
        capacity : mapping of str to int, optional
            Domain's name -> capacity of its CPUs, for a file that states none: debugfs before 6.9, where
            no cpu_capacity of the CPUs lies beside it, and a plat_info.yml without cpu-capacities.

        Returns
        -------
        EnergyModel
            What the kernel had computed of it is in `recorded`.

        Raises
        ------
        ValueError
            An unknown name, or a file that is no model; the message names the file, and the line, key or
            node.
        OSError
            The file cannot be read.
        ImportError
            A device tree or YAML, and what reads it is not there: it comes with the extra ``readers``.

        Notes
        -----
        Domains of files that give them no names are called cpu0, cpu4, ... by their first CPU, as the
        kernel does. See `schedpy.readers` for what each format holds.

        Examples
        --------
        >>> from schedpy import em
        >>> em.EnergyModel.load("pixel4")
        EnergyModel pixel4: 8 CPUs in 3 domains
          domain  CPUs  capacity  states                kHz        power  unit
          little   0-3       261      18  300000 .. 1785600    24 .. 128  mW
          mid      4-6       871      17  710400 .. 2419200  165 .. 1022  mW
          prime      7      1024      20  825600 .. 2841600  227 .. 1427  mW
        """
        if not isinstance(name_or_path, str | os.PathLike):
            raise TypeError(f"name_or_path = {name_or_path!r}: must be a name or a path")
        if unit is not None:
            as_choice(unit, "unit", UNITS)
        capacity = _as_capacities(capacity)
        names = cls.names()
        if isinstance(name_or_path, str) and name_or_path in names:
            data = _DATA.joinpath(name_or_path + _SUFFIX).read_bytes()
            return _from_plain(toml.read(data, f"model {name_or_path}"), name_or_path, unit, capacity)
        path = Path(name_or_path)
        a_name = isinstance(name_or_path, str) and path.suffix not in energy_model.SUFFIXES
        if a_name and not (name_or_path and path.exists()):
            raise ValueError(
                f"name_or_path = {name_or_path!r}: must be one of {', '.join(names)}, "
                "or a file or folder with a model"
            )
        return _from_plain(energy_model.read(path), path.stem, unit, capacity)

    def save(self, path):
        """Write the model as TOML; what `load` then reads is equal.

        Parameters
        ----------
        path : str or path
            The file. It appears complete or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from schedpy import em
        >>> model = em.EnergyModel.load("tc2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/mine.toml")
        ...     em.EnergyModel.load(f"{folder}/mine.toml") == model
        True
        """
        units = {domain.unit for domain in self.domains}
        if len(units) > 1:
            raise ValueError(f"domains have the units {', '.join(sorted(units))}: a file has one")
        domains = [
            {
                "name": domain.name,
                "cpus": list(domain.cpus),
                "capacity": domain.capacity,
                "freq_khz": domain.freq_khz.tolist(),
                "power": domain.power.tolist(),
            }
            for domain in self.domains
        ]
        toml.write(path, {"source": self.source, "unit": units.pop(), "domain": domains})


def _count(model):
    cpus = sum(len(domain.cpus) for domain in model.domains)
    domains = len(model.domains)
    return f"{cpus} CPU{'s' * (cpus > 1)} in {domains} domain{'s' * (domains > 1)}"


def _as_capacities(capacity):
    """Domain's name -> capacity."""
    if capacity is None:
        return {}
    if not isinstance(capacity, Mapping):
        raise TypeError(f"capacity = {capacity!r}: must map names of domains to capacities")
    return {
        name: as_number(value, f"capacity[{name!r}]", low=1, high=1024) for name, value in capacity.items()
    }


def _from_plain(model, name, unit, capacity):
    """The model of a reader's plain values; what is wrong with them is a ValueError that names the place."""
    where = model["where"]
    unit = _unit_of(model, unit)
    lacking = [domain["name"] for domain in model["domain"] if domain["capacity"] is None]
    for key in capacity:
        if key not in lacking:
            missing = f"lacks those of {', '.join(lacking)}" if lacking else "states all of them"
            raise ValueError(f"capacity[{key!r}]: {where} {missing}")
    if wanted := [each for each in lacking if each not in capacity]:
        arguments = ", ".join(f"{each!r}: ..." for each in wanted)
        raise ValueError(f"{where}: capacity is missing: must be given as capacity={{{arguments}}}")
    domains, recorded = [], {}
    for index, plain in enumerate(model["domain"]):
        columns = dict(plain)
        at, kept = columns.pop("at", f"domain {index}"), columns.pop("recorded", {})
        if columns["capacity"] is None:
            columns["capacity"] = capacity[columns["name"]]
        try:
            domains.append(PerfDomain(**columns, unit=unit))
            recorded[columns["name"]] = {key: _as_recorded(key, kept[key]) for key in kept}
        except (TypeError, ValueError) as error:
            raise ValueError(f"{where}: {at}: {error}") from None
    try:
        loaded = EnergyModel(domains, name=name, source=model["source"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None
    loaded._recorded = {key: columns for key, columns in recorded.items() if columns}
    return loaded


def _unit_of(model, unit):
    """The unit that a file and the argument agree on."""
    where, stated = model["where"], model["unit"]
    if stated is not None and stated not in UNITS:
        raise ValueError(f"{where}: unit = {stated!r}: must be one of {', '.join(UNITS)}")
    if stated is None and unit is None:
        note = f" ({model['unit_note']})" if model.get("unit_note") else ""
        raise ValueError(
            f"{where}: unit is missing{note}: must be one of {', '.join(UNITS)}, or be given as unit="
        )
    if (unit, stated) in (("mW", "uW"), ("uW", "mW")):
        raise ValueError(f"unit = {unit!r}: {where} states its power in {stated}")
    return unit or stated


def _as_recorded(key, values):
    column = as_int(values, key, np.uint64) if key != "inefficient" else as_bool(values, key)
    column.flags.writeable = False
    return column
