# SPDX-License-Identifier: GPL-2.0-only
"""Idle tables as TOML: a source, the first state, and a [[state]] for each, shallowest first."""

from schedpy.readers.tables import read_tables, write_tables

__all__ = ["STATE_KEYS", "read", "write"]

STATE_KEYS = ("name", "exit_latency_us", "target_residency_us", "polling")


def read(data, where):
    """A table as plain values.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What to call the file in messages.

    Returns
    -------
    dict
        ``source`` (empty if missing), ``first`` (None if missing), ``state`` (a list of dicts with exactly
        the keys of STATE_KEYS) and ``where``.

    Raises
    ------
    ValueError
        No TOML, a key that is missing or unknown; the message says where.
    """
    content = read_tables(data, where, ("source", "first"), "state", STATE_KEYS)
    return {
        "where": where,
        "source": content.get("source", ""),
        "first": content.get("first"),
        "state": content["state"],
    }


def write(path, table):
    """Write what `read` gives back; the file appears complete or not at all."""
    write_tables(path, {"source": table["source"], "first": table["first"]}, "state", table["state"])
