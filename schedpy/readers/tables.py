# SPDX-License-Identifier: GPL-2.0-only
"""TOML of ours: some keys, and an array of tables that all have the same keys."""

import json
import tomllib

from schedpy._files import written_whole

__all__ = ["read_tables", "write_tables"]


def read_tables(data, where, head, key, row_keys):
    """A file as plain values.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What to call it in messages.
    head : tuple of str
        The keys that it may have beside the tables.
    key : str
        That of the tables, of which it has at least one.
    row_keys : iterable of str
        Exactly the keys of each.

    Returns
    -------
    dict
        What the file holds.

    Raises
    ------
    ValueError
        No TOML, a key that is missing or unknown; the message says where.
    """
    try:
        content = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: no TOML: {error}") from None
    if unknown := content.keys() - {*head, key}:
        raise ValueError(f"{where}: unknown key {min(unknown)!r}: must be {', '.join(head)} or {key}")
    rows = content.get(key)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{where}: {key} must be at least one [[{key}]]")
    for index, row in enumerate(rows):
        for missing in sorted(set(row_keys) - row.keys()):
            raise ValueError(f"{where}: {key} {index}: {missing} is missing")
        for other in sorted(row.keys() - set(row_keys)):
            raise ValueError(f"{where}: {key} {index}: unknown key {other!r}")
    return content


def write_tables(path, head, key, rows):
    """Write what `read_tables` gives back; the file appears complete or not at all."""
    lines = ["# SPDX-License-Identifier: GPL-2.0-only", *_pairs(head)]
    for row in rows:
        lines += ["", f"[[{key}]]", *_pairs(row)]
    with written_whole(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _pairs(values):
    """Strings, integers, bools and lists of them: JSON's form, but for the control character it leaves."""
    return [
        f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
        for key, value in values.items()
    ]
