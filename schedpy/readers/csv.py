# SPDX-License-Identifier: GPL-2.0-only
"""Energy models as CSV: a row for each state, lines with # before the header for the source.

Columns, in any order, others are not looked at:

* domain (or pd);
* cpus, as 0-3,6 (or first_cpu and nr_cpus), and capacity (or cpu_capacity), the same in all rows of a domain;
* freq_khz and power, whole numbers;
* unit (or power_unit), the same in all rows, or missing.

Power measured in fractions of a mW is whole in uW: multiply it by 1000, round, and say uW.
"""

import csv
import io
import re

from schedpy.readers import cpulist

__all__ = ["read"]

_ALSO = {"pd": "domain", "cpu_capacity": "capacity", "power_unit": "unit"}
_REQUIRED = ("domain", "capacity", "freq_khz", "power")
_SAME = ("cpus", "capacity")


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

    Raises
    ------
    ValueError
        A column is missing, or a cell is wrong; the message names the line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: no text in UTF-8: {error}") from None
    lines = text.splitlines(keepends=True)
    comments = 0
    while comments < len(lines) and lines[comments].startswith("#"):
        comments += 1
    source = "\n".join(line.lstrip("#").strip() for line in lines[:comments])
    domains: dict[str, dict] = {}
    units: dict[str, int] = {}
    owners: dict[int, str] = {}
    for number, cells in _rows("".join(lines[comments:]), comments, where):
        at = f"{where}: line {number}"
        row = _row(cells, at)
        units.setdefault(cells.get("unit") or "", number)
        domain = domains.setdefault(
            row["domain"], {key: row[key] for key in _SAME} | {"freq_khz": [], "power": []}
        )
        if not domain["power"]:
            _take(row, owners, at)
        for key in _SAME:
            if row[key] != domain[key]:
                raise ValueError(
                    f"{at}: {key} = {row[key]}: must be {domain[key]}, as above for domain {row['domain']!r}"
                )
        for key in ("freq_khz", "power"):
            domain[key].append(row[key])
    if not domains:
        raise ValueError(f"{where}: has no states: must have a row for each, below the header")
    if len(units) > 1:
        first, second, *_ = units
        raise ValueError(f"{where}: line {units[second]}: unit = {second!r}: must be {first!r}, as above")
    plain = [{"name": name} | domain for name, domain in domains.items()]
    return {"where": where, "source": source, "unit": next(iter(units)) or None, "domain": plain}


def _take(row, owners, at):
    """Give a new domain its CPUs. Of each but one can have it: a short file holds no lists without end."""
    for cpu in row["cpus"]:
        if owners.setdefault(cpu, row["domain"]) != row["domain"]:
            raise ValueError(f"{at}: CPU {cpu} of {row['domain']!r} is in {owners[cpu]!r}")


def _rows(text, above, where):
    """(line number, column -> cell) of every row."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = None
    try:
        for cells in reader:
            number = above + reader.line_num
            if not cells:
                continue
            if header is None:
                header = _header(cells, f"{where}: line {number}")
            elif len(cells) != len(header):
                raise ValueError(f"{where}: line {number}: {len(cells)} cells under {len(header)} columns")
            else:
                yield number, dict(zip(header, map(str.strip, cells), strict=True))
    except csv.Error as error:
        raise ValueError(f"{where}: line {above + reader.line_num}: no CSV: {error}") from None
    if header is None:
        raise ValueError(f"{where}: is empty: must have the columns cpus, {', '.join(_REQUIRED)}")


def _header(cells, at):
    names = [_ALSO.get(cell.strip(), cell.strip()) for cell in cells]
    for name in _REQUIRED:
        if name not in names:
            raise ValueError(f"{at}: has no column {name}: {', '.join(cells)}"[:300])
    if "cpus" not in names and not {"first_cpu", "nr_cpus"} <= set(names):
        raise ValueError(f"{at}: has no column cpus, nor first_cpu and nr_cpus")
    for name in (*_REQUIRED, "cpus", "unit"):
        if names.count(name) > 1:
            raise ValueError(f"{at}: has two columns {name}")
    return names


def _row(cells, at):
    if not cells["domain"]:
        raise ValueError(f"{at}: domain is empty: must be a name")
    row = {key: _number(cells, key, at) for key in ("capacity", "freq_khz", "power")}
    if "cpus" in cells:
        cpus = cpulist.parse(cells["cpus"], f"{at}: cpus")
    else:
        first, count = _number(cells, "first_cpu", at), _number(cells, "nr_cpus", at)
        if not first + count <= 10_000:
            raise ValueError(f"{at}: nr_cpus = {count}: must be a number of CPUs")
        cpus = list(range(first, first + count))
    return {"domain": cells["domain"], "cpus": cpus, **row}


def _number(cells, key, at):
    if not re.fullmatch("[0-9]{1,20}", cells[key], re.ASCII):
        raise ValueError(f"{at}: {key} = {cells[key][:60]!r}: must be a whole number")
    return int(cells[key])
