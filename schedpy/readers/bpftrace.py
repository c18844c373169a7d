# SPDX-License-Identifier: GPL-2.0-only
"""What bpftrace prints: histograms (hist, lhist), maps and lists, as text or as JSON (-f json).

A map's lines are kept in order, so that a map that a program prints again and again is a list. Bins
hold whole numbers: [256, 512) is 256 .. 511. K, M, G, ... are powers of 1024.
"""

import json
import math
import re

__all__ = ["is_bpftrace", "read"]

_UNITS = {unit: 1024**power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}
_END = r"(-?[0-9]{1,20})([KMGTPE]?)"
_MAP = re.compile(r"(@[A-Za-z0-9_]*)(?:\[(.*)\])?:(?:\s+(\S.*?))?\s*")
_BIN = re.compile(
    rf"(?:\[{_END}\]|\(\.\.\., {_END}\)|\[{_END}, \.\.\.\)|\[{_END}, {_END}\))"
    r"\s+([0-9]{1,18})\s*(?:\|[@ ]*\|)?\s*",
    re.ASCII,
)
_STATS = re.compile(r"count (-?[0-9]{1,20}), average (-?[0-9]{1,20}), total (-?[0-9]{1,20})", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_TALK = re.compile(r"(Attach(ing|ed) [0-9]+ probes?|Lost [0-9]+ events|WARNING: |stdin:|\^C).*")


def is_bpftrace(text):
    """Whether a text's first lines are bpftrace's."""
    for line in text.splitlines()[:200]:
        if _TALK.fullmatch(line.strip()) or _MAP.fullmatch(line) or _BIN.fullmatch(line):
            return True
        if re.match(r'\{"type": *"(attached_probes|hist|map|printf|stats|value)"', line):
            return True
    return False


def read(lines, where):
    """Everything that was printed, by map.

    Parameters
    ----------
    lines : iterable of str
        Text or JSON lines.
    where : str
        What to call it in messages.

    Returns
    -------
    dict
        ``values``: (map, key, number, line) of every map line with a whole number; ``bins``: (map, key, low,
        high, count, line) of every bin, with infinite ends where it has none; ``stats``: (map, key, count,
        total, line); ``other``: (line, text) of what programs printed. A key is the tuple of its parts as
        text, empty where the map has none.

    Raises
    ------
    ValueError
        A line of a map holds no such thing.
    """
    found: dict[str, list] = {"values": [], "bins": [], "stats": [], "other": []}
    heading = None
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r\n")
        at = f"{where}: line {number}"
        if not line.strip() or _TALK.fullmatch(line.strip()):
            continue
        if line.startswith('{"type"'):
            _json(found, line, number, at)
        elif match := _BIN.fullmatch(line):
            if heading is None:
                raise ValueError(
                    f"{at}: {line[:60]!r}: expected the name of a map, @name[key]:, above its bins"
                )
            low, high = _ends(match)
            if low > high:
                raise ValueError(f"{at}: {line[:60]!r}: expected a bin that ends above its beginning")
            found["bins"].append((*heading, low, high, int(match[11]), number))
        elif line.startswith("@") or (heading and line.lstrip().startswith(("[", "("))):
            heading = _map(found, line, number, at)
        else:
            heading = None
            found["other"].append((number, line))
    return found


def _map(found, line, number, at):
    """A line that starts with @; the heading of a histogram, or None."""
    match = _MAP.fullmatch(line)
    if not match:
        raise ValueError(
            f"{at}: {line.strip()[:60]!r}: expected @name[key]: number, or a bin such as [256, 512)  3 |@@@ |"
        )
    key = () if match[2] is None else tuple(part.strip() for part in match[2].split(","))
    if match[3] is None:
        return match[1], key
    if _INTEGER.fullmatch(match[3]):
        found["values"].append((match[1], key, int(match[3]), number))
    elif stats := _STATS.fullmatch(match[3]):
        found["stats"].append((match[1], key, int(stats[1]), int(stats[3]), number))
    else:
        raise ValueError(f"{at}: {match[3][:60]!r}: expected a whole number or count, average and total")
    return None


def _ends(match):
    """Smallest and largest number of a bin."""
    numbers: list = [
        None if match[k] is None else int(match[k]) * _UNITS[match[k + 1]] for k in range(1, 11, 2)
    ]
    one, below, above, low, high = numbers
    if one is not None:
        return one, one
    if below is not None:
        return -math.inf, below - 1
    if above is not None:
        return above, math.inf
    return low, high - 1


def _json(found, line, number, at):
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{at}: no JSON: {error}") from None
    kind, data = entry.get("type"), entry.get("data")
    if kind in ("printf", "time", "cat", "join"):
        found["other"] += [(number, text) for text in str(data).splitlines()]
    if kind not in ("hist", "map", "stats", "value"):
        return
    if not isinstance(data, dict):
        raise ValueError(f"{at}: data: expected a map's name and what it holds")
    for name, held in data.items():
        keyed = isinstance(held, dict) and not (kind == "stats" and "count" in held)
        for key, value in held.items() if keyed else [(None, held)]:
            parts = () if key is None else tuple(part.strip() for part in key.split(","))
            _json_value(found, (name, parts), value, number, at)


def _json_value(found, named, value, number, at):
    if isinstance(value, list):
        for row in value:
            if not (bounds := _json_bin(row)):
                raise ValueError(f"{at}: {str(row)[:60]}: expected a bin with min, max and count")
            found["bins"].append((*named, *bounds, number))
    elif isinstance(value, dict):
        count, total = value.get("count"), value.get("total")
        if not _whole(count) or not _whole(total):
            raise ValueError(f"{at}: {str(value)[:60]}: expected count, average and total")
        found["stats"].append((*named, count, total, number))
    elif _whole(value):
        found["values"].append((*named, value, number))
    else:
        raise ValueError(f"{at}: {str(value)[:60]!r}: expected a whole number, bins, or count and total")


def _json_bin(row):
    """Smallest and largest number and count; None if that is no bin."""
    if not isinstance(row, dict) or not _whole(count := row.get("count", -1)) or count < 0:
        return None
    low, high = row.get("min", -math.inf), row.get("max", math.inf)
    ends = (_whole(low) or low == -math.inf) and (_whole(high) or high == math.inf)
    return (low, high, count) if ends and low <= high else None


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64
