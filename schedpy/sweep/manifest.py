# SPDX-License-Identifier: GPL-2.0-only
"""What a folder of parts is of: function, version, points and seed, fixed by the first run."""

import functools
import hashlib
import inspect
import json
import pickle
from pathlib import Path

from schedpy import __version__
from schedpy._files import written_whole

__all__ = ["NAME", "describe", "differences", "identifier", "read", "write"]

#: The underscore keeps readers of Parquet folders away from it.
NAME = "_manifest.json"
_PLAIN = (bool, int, float, str, type(None))


def _value(value):
    """A bound argument as text that tells two values apart."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, (list, tuple)) and all(isinstance(each, _PLAIN) for each in value):
        return repr(value)
    try:
        return f"{type(value).__name__} sha256:{hashlib.sha256(pickle.dumps(value, protocol=5)).hexdigest()}"
    except Exception as error:
        raise TypeError(f"function: its bound argument {value!r} does not pickle: {error}") from None


def _function(function):
    """Name and source of a function, and what a partial binds."""
    bound: dict[str, str] = {}
    while isinstance(function, functools.partial):
        bound = {**{f"{i}": _value(v) for i, v in enumerate(function.args)}, **bound}
        bound = {**{name: _value(v) for name, v in function.keywords.items()}, **bound}
        function = function.func
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or f"an object of {type(function).__qualname__}"
    try:
        source = hashlib.sha256(inspect.getsource(function).encode()).hexdigest()
    except (OSError, TypeError):
        source = None
    return {"name": f"{module}:{name}", "source_sha256": source, "bound": dict(sorted(bound.items()))}


def describe(function, points, *, seed, part_size, batch):
    """The manifest of a sweep."""
    return {
        "schedpy": __version__,
        "function": _function(function),
        "points": points.identity(),
        "seed": seed,
        "part_size": part_size,
        "batch": batch,
    }


def identifier(manifest):
    """What each part carries to say which sweep it is of."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def write(folder, manifest):
    """Fix the manifest of a folder."""
    with written_whole(Path(folder, NAME)) as path:
        path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def read(folder):
    """The manifest of a folder; None where there is none."""
    path = Path(folder, NAME)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        found = json.loads(text)
        if not isinstance(found, dict) or not {"points", "part_size"} <= found.keys():
            raise ValueError("not the manifest of a sweep")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return found


def _flat(value, name=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    else:
        yield name, value


def differences(there, here):
    """What differs between the manifest of a folder and that of a call, in words.

    Examples
    --------
    >>> differences({"seed": 0, "points": {"count": 4}}, {"seed": 1, "points": {"count": 4}})
    ['seed is 0 there and 1 here']
    """
    before, after = dict(_flat(there)), dict(_flat(here))
    words = []
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) == after.get(name):
            continue
        if name.endswith("sha256"):
            what = name.removesuffix(".sha256").removesuffix(".source_sha256")
            what = (
                f"the source of {here['function']['name']}" if what == "function" else f"the values of {what}"
            )
            words.append(f"{what} differ" if what.startswith("the values") else f"{what} differs")
        else:
            sides = [repr(side[name]) if name in side else "missing" for side in (before, after)]
            words.append(f"{name} is {sides[0]} there and {sides[1]} here")
    return words
