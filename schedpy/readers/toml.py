# SPDX-License-Identifier: GPL-2.0-only
"""Energy models as TOML: a source, a unit, and a [[domain]] with its states for each domain."""

from schedpy.readers.tables import read_tables, write_tables

__all__ = ["read", "write"]

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
    content = read_tables(data, where, ("source", "unit"), "domain", _DOMAIN_KEYS)
    return {
        "where": where,
        "source": content.get("source", ""),
        "unit": content.get("unit"),
        "domain": content["domain"],
    }


def write(path, model):
    """Write what `read` gives back; the file appears complete or not at all."""
    write_tables(path, {"source": model["source"], "unit": model["unit"]}, "domain", model["domain"])
