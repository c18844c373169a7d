# SPDX-License-Identifier: GPL-2.0-only
"""Energy models of the netlink family dev-energymodel (7.0 on), in the JSON that the kernel's ynl prints.

One file holds what both requests answer, one after the other or in one list:
``ynl --family dev-energymodel --output-json --dump get-perf-domains`` and the same with get-perf-table.
"""

import json
import re
import reprlib

__all__ = ["read"]

_ID, _CPUS, _STATES = "perf-domain-id", "cpus", "perf-state"
_COLUMNS = ("frequency", "power", "cost", "performance")
_DOMAIN_FLAGS = ("perf-domain-microwatts", "perf-domain-skip-inefficiencies", "perf-domain-artificial")
_STATE_FLAGS = ("perf-state-inefficient",)
_TEXT = re.compile(r"\S")


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
        Domains without CPUs, which are other devices, are left out.

    Raises
    ------
    ValueError
        No JSON, or an attribute is missing or wrong; the message names the domain's perf-domain-id.
    """
    found: dict[int, dict] = {}
    for answer in _answers(_values(data, where)):
        if not isinstance(answer, dict) or not _is_number(answer.get(_ID)):
            raise ValueError(f"{where}: {reprlib.repr(answer)}: must be an object with a number {_ID}")
        domain = found.setdefault(answer[_ID], {})
        for key in answer.keys() & domain.keys():
            if answer[key] != domain[key]:
                raise ValueError(f"{where}: {_ID} {answer[_ID]}: there are two answers for {key}")
        domain.update(answer)
    domains = [
        _domain(content, f"{_ID} {number}", where)
        for number, content in sorted(found.items())
        if content.get(_CPUS) or "flags" not in content
    ]
    if not domains:
        raise ValueError(
            f"{where}: no domain has cpus: must hold dumps of get-perf-domains and get-perf-table"
        )
    if len(units := {domain.pop("unit") for domain in domains}) > 1:
        raise ValueError(f"{where}: some domains are in uW and some in no unit: must be of one kind")
    return {"where": where, "source": where, "unit": units.pop(), "domain": domains}


def _values(data, where):
    """The JSON values of a file, one after the other."""
    try:
        text = data.decode("utf-8-sig")
        decoder, values, at = json.JSONDecoder(), [], 0
        while start := _TEXT.search(text, at):
            value, at = decoder.raw_decode(text, start.start())
            values.append(value)
    except json.JSONDecodeError as error:
        hint = ": ynl prints JSON with --output-json" if "'" in text[at : at + 40] else ""
        raise ValueError(f"{where}: line {error.lineno}: no JSON: {error.msg}{hint}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: no JSON: {error}") from None
    return values


def _answers(values):
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _domain(content, at, where):
    for key in (_CPUS, _STATES):
        if not isinstance(content.get(key), list) or not content[key]:
            raise ValueError(f"{where}: {at}: {key} must be a list, not {reprlib.repr(content.get(key))}")
    cpus = content[_CPUS]
    for cpu in cpus:
        if not _is_number(cpu):
            raise ValueError(f"{where}: {at}: cpus holds {reprlib.repr(cpu)}: must be numbers")
    flags = _flags(content, _DOMAIN_FLAGS, f"{where}: {at}")
    if "perf-domain-artificial" in flags:
        raise ValueError(f"{where}: {at}: is artificial: its costs are its driver's, not made of its power")
    states = [_state(state, f"{where}: {at}: {_STATES} {i}") for i, state in enumerate(content[_STATES])]
    columns = {key: [state[key] for state in states] for key in states[0]}
    return {
        "name": f"cpu{min(cpus)}",
        "at": at,
        "cpus": cpus,
        "capacity": columns["performance"][-1],
        "freq_khz": columns.pop("frequency"),
        "power": columns.pop("power"),
        "recorded": columns,
        "unit": "uW" if "perf-domain-microwatts" in flags else "bogo",
    }


def _state(state, at):
    if not isinstance(state, dict):
        raise ValueError(f"{at}: must be an object, not {reprlib.repr(state)}")
    for key in _COLUMNS:
        if not _is_number(state.get(key)):
            raise ValueError(f"{at}: {key} must be a number, not {reprlib.repr(state.get(key))}")
    inefficient = "perf-state-inefficient" in _flags(state, _STATE_FLAGS, at)
    return {key: state[key] for key in _COLUMNS} | {"inefficient": inefficient}


def _flags(content, names, at):
    """The names of the flags set: ynl prints these; a number has a bit for each."""
    flags = content.get("flags", [])
    if _is_number(flags):
        return {name for bit, name in enumerate(names) if flags >> bit & 1}
    if not isinstance(flags, list) or not all(isinstance(flag, str) for flag in flags):
        raise ValueError(f"{at}: flags must be a list of names, not {reprlib.repr(flags)}")
    return set(flags)


def _is_number(value):
    return type(value) is int and 0 <= value < 2**64
