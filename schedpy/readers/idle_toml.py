# SPDX-License-Identifier: GPL-2.0-only
"""Idle tables as TOML: a source, the first state, and a [[state]] for each, shallowest first."""

import json
import tomllib

from schedpy._files import written_whole

__all__ = ["STATE_KEYS", "read", "write"]

STATE_KEYS = ("name", "exit_latency_us", "target_residency_us", "polling")
_KEYS = {"source", "first", "state"}


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
    try:
        content = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: no TOML: {error}") from None
    if unknown := content.keys() - _KEYS:
        raise ValueError(f"{where}: unknown key {min(unknown)!r}: must be source, first or state")
    states = content.get("state")
    if not isinstance(states, list) or not states or not all(isinstance(s, dict) for s in states):
        raise ValueError(f"{where}: state must be at least one [[state]]")
    for index, state in enumerate(states):
        for key in sorted(set(STATE_KEYS) - state.keys()):
            raise ValueError(f"{where}: state {index}: {key} is missing")
        for key in sorted(state.keys() - set(STATE_KEYS)):
            raise ValueError(f"{where}: state {index}: unknown key {key!r}")
    return {
        "where": where,
        "source": content.get("source", ""),
        "first": content.get("first"),
        "state": states,
    }


def write(path, table):
    """Write what `read` gives back; the file appears complete or not at all."""
    lines = [
        "# SPDX-License-Identifier: GPL-2.0-only",
        f"source = {_value(table['source'])}",
        f"first = {_value(table['first'])}",
    ]
    for state in table["state"]:
        lines += ["", "[[state]]", *(f"{key} = {_value(state[key])}" for key in STATE_KEYS)]
    with written_whole(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _value(value):
    """A string, an integer or a bool as TOML: JSON's form, but for the control character that JSON leaves."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
