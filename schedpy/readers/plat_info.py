# SPDX-License-Identifier: GPL-2.0-only
"""Energy models of plat_info.yml, the file in which LISA keeps what it knows of a platform.

LISA writes Python objects into it. Here the file is parsed to nodes and no object is made of any of
them, whatever their tags say: of a node its scalars, lists and mappings are read.
"""

import re

__all__ = ["read"]


def read(data, where):
    """A model as plain values, in the form of `schedpy.readers.energy_model.read`.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What to call the file in messages.

    Returns
    -------
    dict
        One domain for each of LISA's freq-domains, with the states of nrg-model and the capacity of
        cpu-capacities (None if that is missing). Where freqs lists what a CPU can run at, its states are
        among them. The file states no unit.

    Raises
    ------
    ValueError
        No YAML, or a key is missing or wrong; the message names the line.
    ImportError
        There is no PyYAML: it comes with the extra ``readers``.
    """
    conf = _Node(_compose(data, where), where, "the file")
    for key in ("platform-info", "conf"):
        conf = conf.get(key) or conf
    model = conf["nrg-model"]
    states = {}
    for node in model["cpu_nodes"].items():
        states[node["cpu"].integer()] = node["active_states"]
    groups = (conf.get("freq-domains") or model["freq_domains"]).items()
    _all_differ(groups)
    capacities, freqs = _capacities(conf), _freqs(conf)
    domains = [_domain(group, states, capacities, freqs) for group in groups]
    domains.sort(key=lambda domain: domain["cpus"])
    return {"where": where, "source": where, "unit": None, "domain": domains}


def _compose(data, where):
    try:
        import yaml
    except ImportError:
        raise ImportError(f"{where}: YAML is read by PyYAML: pip install 'schedpy[readers]'") from None
    try:
        # Nodes alone: no constructor, safe or other, sees them. In Python, where deep nesting is an error.
        root = yaml.compose(data, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{where}: {line}no YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{where}: no YAML: {error}") from None
    if root is None:
        raise ValueError(f"{where}: is empty: must be a mapping with nrg-model")
    return root


class _Node:
    """A node of the file and what it is called; reading it as something else than it is names its line."""

    def __init__(self, node, where, name):
        self._node = node
        self._where = where
        self._name = name

    def wrong(self, what):
        return ValueError(f"{self._where}: line {self._node.start_mark.line + 1}: {self._name} {what}")

    def pairs(self):
        """Keys' texts and values of a mapping, or of a list of such with one key each (an !!omap)."""
        if self._node.id == "sequence":
            nodes = [pair for item in self.items() for pair in item._mapping()]
        else:
            nodes = self._mapping()
        found = {}
        for key, value in nodes:
            if key.id != "scalar" or key.value in found:
                raise _Node(key, self._where, self._name).wrong("must have keys that are scalars and differ")
            found[key.value] = _Node(value, self._where, f"{key.value} of {self._name.partition(' of ')[0]}")
        return found

    def _mapping(self):
        if self._node.id != "mapping":
            raise self.wrong("must be a mapping")
        return self._node.value

    def get(self, key):
        found = self.pairs().get(key)
        return None if found is None or found.is_null() else found

    def __getitem__(self, key):
        found = self.get(key)
        if found is None:
            raise self.wrong(f"has no {key}")
        return found

    def is_null(self):
        return self._node.id == "scalar" and self._node.value in ("", "~", "null")

    def items(self):
        """The nodes of a list."""
        if self._node.id != "sequence":
            raise self.wrong("must be a list")
        return [_Node(node, self._where, self._name) for node in self._node.value]

    def integer(self):
        value = self._node.value if self._node.id == "scalar" else None
        if value is None or not re.fullmatch("[0-9]{1,20}", value, re.ASCII):
            raise self.wrong(f"must be a whole number{'' if value is None else f', not {value[:60]!r}'}")
        return int(value)


def _capacities(conf):
    """CPU -> node of its capacity. Older files have the CPUs where newer ones have orig and more."""
    node = conf.get("cpu-capacities")
    if node is None:
        return {}
    by_cpu = (node.get("orig") or node).pairs()
    return {_cpu(text, node): value for text, value in by_cpu.items()}


def _freqs(conf):
    """CPU -> node of its list of frequencies."""
    node = conf.get("freqs")
    return {} if node is None else {_cpu(text, node): value for text, value in node.pairs().items()}


def _cpu(text, node):
    if not re.fullmatch("[0-9]{1,4}", text, re.ASCII):
        raise node.wrong(f"has {text[:60]!r}: must be the number of a CPU")
    return int(text)


def _all_differ(groups):
    """No CPU is named twice, so that what is read of CPUs is read once for each."""
    seen: set[int] = set()
    for group in groups:
        for cpu in (node.integer() for node in group.items()):
            if cpu in seen:
                raise group.wrong(f"has CPU {cpu} twice")
            seen.add(cpu)


def _domain(group, states, capacities, freqs):
    cpus = [cpu.integer() for cpu in group.items()]
    if not cpus:
        raise group.wrong("holds an empty domain")
    for cpu in cpus:
        if cpu not in states:
            raise group.wrong(f"has CPU {cpu}, which has no node in nrg-model")
    columns = _columns(states[cpus[0]])
    for cpu in cpus[1:]:
        if _columns(states[cpu]) != columns:
            raise states[cpu].wrong(f"are not those of CPU {cpus[0]}, whose frequency CPU {cpu} shares")
    for cpu in cpus:
        if cpu in freqs:
            _can_run(cpu, columns["freq_khz"], freqs[cpu])
    stated = {cpu: capacities[cpu].integer() for cpu in cpus if cpu in capacities}
    if len(differing := sorted(set(stated.values()))) > 1:
        raise group.wrong(f"has CPUs of capacities {', '.join(map(str, differing))} in one domain")
    return {
        "name": f"cpu{min(cpus)}",
        "cpus": sorted(cpus),
        "capacity": stated[cpus[0]] if stated.keys() == set(cpus) else None,
        **columns,
    }


def _can_run(cpu, khz, freqs):
    """A state that cpufreq does not have is one that the kernel computes with and never sets."""
    listed = {node.integer() for node in freqs.items()}
    for each in khz:
        if each not in listed:
            raise freqs.wrong(f"lacks {each} kHz, at which nrg-model has a state of CPU {cpu}")


def _columns(states):
    """freq_khz and power of active_states, ascending."""
    rows = []
    for text, state in states.pairs().items():
        if not re.fullmatch("[0-9]{1,20}", text, re.ASCII):
            raise states.wrong(f"has {text[:60]!r}: must be a frequency in kHz")
        values = state.items()
        if len(values) != 2:
            raise state.wrong("must be a capacity and a power")
        rows.append((int(text), values[1].integer()))
    rows.sort()
    return {"freq_khz": [khz for khz, _ in rows], "power": [power for _, power in rows]}
