# SPDX-License-Identifier: GPL-2.0-only
"""Energy models: the performance domains of a machine, bundled or from a file."""

import html
import os
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from schedpy._coerce import as_choice
from schedpy.em.check import Check, check_domain
from schedpy.em.domain import UNITS, PerfDomain, spans
from schedpy.kernel import form
from schedpy.readers import toml

__all__ = ["EnergyModel"]

_DATA = resources.files("schedpy").joinpath("data", "em")
_SUFFIX = ".toml"


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

    def __repr__(self):
        lines = [f"EnergyModel {self.name or 'without name'}: {self.nr_cpus} CPUs"]
        return "\n".join(lines + [f"  {domain!r}" for domain in self.domains])

    def _repr_html_(self):
        head = ("domain", "CPUs", "capacity", "states", "kHz", "power", "unit")
        rows = [
            (
                domain.name,
                spans(domain.cpus),
                domain.capacity,
                domain.freq_khz.size,
                f"{domain.freq_khz[0]} .. {domain.freq_khz[-1]}",
                f"{domain.power.min()} .. {domain.power.max()}",
                domain.unit,
            )
            for domain in self.domains
        ]
        header = "".join(f"<th>{cell}</th>" for cell in head)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
        )
        caption = html.escape(f"EnergyModel {self.name}".strip())
        return f"<table><caption>{caption}</caption><tr>{header}</tr>{body}</table>"

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
            the table misses, domains that the kernel refuses; the gravest of a domain first.

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
        findings = [each for domain in self.domains for each in check_domain(domain, kernel, with_lut)]
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
    def load(cls, name_or_path, *, unit=None):
        """A model by its name, or from a TOML file.

        Parameters
        ----------
        name_or_path : str or path
            One of `names`, or a file as `save` writes it.
        unit : {"mW", "uW", "bogo"}, optional
            The unit of a file that states none, or "bogo", or a real unit for figures stated as "bogo".
            A file that states mW is not read as uW, nor the reverse: nothing is converted twice.

        Returns
        -------
        EnergyModel

        Raises
        ------
        ValueError
            An unknown name, or a file that is no model; the message names the file and the key.
        OSError
            The file cannot be read.

        Examples
        --------
        >>> from schedpy import em
        >>> em.EnergyModel.load("hikey620").domains[0].unit
        'bogo'
        """
        if not isinstance(name_or_path, str | os.PathLike):
            raise TypeError(f"name_or_path = {name_or_path!r}: must be a name or a path")
        if unit is not None:
            as_choice(unit, "unit", UNITS)
        names = cls.names()
        if isinstance(name_or_path, str) and name_or_path in names:
            data = _DATA.joinpath(name_or_path + _SUFFIX).read_bytes()
            return _from_plain(toml.read(data, f"model {name_or_path}"), name_or_path, unit)
        path = Path(name_or_path)
        if isinstance(name_or_path, str) and path.suffix != _SUFFIX and not path.exists():
            raise ValueError(
                f"name_or_path = {name_or_path!r}: must be one of {', '.join(names)}, or a {_SUFFIX} file"
            )
        return _from_plain(toml.read(path.read_bytes(), str(path)), path.stem, unit)

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


def _from_plain(model, name, unit):
    where, stated = model["where"], model["unit"] or unit
    if stated is None:
        raise ValueError(f"{where}: unit is missing: must be one of {', '.join(UNITS)}, or be given as unit=")
    if unit is not None and {unit, stated} == {"mW", "uW"}:
        raise ValueError(f"unit = {unit!r}: {where} states its power in {stated}")
    try:
        domains = [PerfDomain(**domain, unit=unit or stated) for domain in model["domain"]]
        return EnergyModel(domains, name=name, source=model["source"])
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
