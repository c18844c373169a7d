# SPDX-License-Identifier: GPL-2.0-only
"""Plain columns of numbers: CSV or separated by white space, with a header or without, # for comments."""

import re

__all__ = ["read"]

_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,9})?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][\w .()-]*")


def read(lines, where, names=None):
    """Columns by name.

    Parameters
    ----------
    lines : iterable of str
        The text. The first line that is no comment is a header if none of its cells is a number.
    where : str
        What to call it in messages.
    names : tuple of str, optional
        What the columns are called where there is no header.

    Returns
    -------
    dict
        Column -> list of cells: int, or float with a decimal point, or, in a column of another content,
        str; and ``line``, the number of the line of each. Without a header and names a single column is
        called "".

    Raises
    ------
    ValueError
        Rows of unequal length, or several columns whose names are not known.
    """
    header: list | None = None if names is None else list(names)
    rows: list[tuple] = []
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        cells = [cell.strip().strip('"') for cell in line.split(",")] if "," in line else line.split()
        if not rows and header is None and all(_NAME.fullmatch(cell) for cell in cells):
            header = cells
            if len(set(header)) < len(header) or "line" in header:
                raise ValueError(f"{where}: line {number}: {line[:60]!r}: expected one name for each column")
            continue
        if header is None:
            header = [""]
        if len(cells) != len(header):
            raise ValueError(
                f"{where}: line {number}: {line[:60]!r} has {len(cells)} cells: expected {len(header)}"
                + (", or a header that names the columns" if header == [""] else "")
            )
        rows.append((number, cells))
    if not rows:
        raise ValueError(f"{where}: has no numbers: expected one duration on each line")
    columns = {name: [_value(cells[place]) for _, cells in rows] for place, name in enumerate(header or ())}
    return {**columns, "line": [number for number, _ in rows]}


def _value(cell):
    if not _NUMBER.fullmatch(cell):
        return cell
    return float(cell) if "." in cell else int(cell)
