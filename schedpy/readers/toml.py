# SPDX-License-Identifier: GPL-2.0-only
"""Energy models as TOML: a source, a unit, and a [[domain]] with its states for each domain."""

import json
import tomllib

from schedpy._files import written_whole

__all__ = ["read", "write"]

_KEYS = {"source", "unit", "domain"}
_DOMAIN_KEYS = {"name", "cpus", "capacity", "freq_khz", "power"}


def read(data, where):
    """A model as plain values.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What to call the file in messages.

    Returns
    -------
    dict
        ``source`` (empty if missing), ``unit`` (None if missing), ``domain`` (a list of dicts with exactly
        the keys name, cpus, capacity, freq_khz, power) and ``where``.

    Raises
    ------
    ValueError
        No TOML, a key that is missing or unknown; the message says where.
    """
    try:
        content = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: no TOML: {error}") from None
    if unknown := content.keys() - _KEYS:
        raise ValueError(f"{where}: unknown key {min(unknown)!r}: must be source, unit or domain")
    domains = content.get("domain")
    if not isinstance(domains, list) or not domains or not all(isinstance(d, dict) for d in domains):
        raise ValueError(f"{where}: domain must be at least one [[domain]]")
    for index, domain in enumerate(domains):
        for key in sorted(_DOMAIN_KEYS - domain.keys()):
            raise ValueError(f"{where}: domain {index}: {key} is missing")
        for key in sorted(domain.keys() - _DOMAIN_KEYS):
            raise ValueError(f"{where}: domain {index}: unknown key {key!r}")
    return {
        "where": where,
        "source": content.get("source", ""),
        "unit": content.get("unit"),
        "domain": domains,
    }


def write(path, model):
    """Write what `read` gives back; the file appears complete or not at all."""
    lines = [
        "# SPDX-License-Identifier: GPL-2.0-only",
        f"source = {_string(model['source'])}",
        f"unit = {_string(model['unit'])}",
    ]
    for domain in model["domain"]:
        lines += ["", "[[domain]]"]
        lines += [f"{key} = {_string(v) if isinstance(v, str) else v}" for key, v in domain.items()]
    with written_whole(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _string(text):
    """A TOML basic string: JSON's escapes, and the one control character that JSON leaves alone."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
