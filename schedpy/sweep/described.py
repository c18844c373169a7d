# SPDX-License-Identifier: GPL-2.0-only
"""Sweeps described in TOML: which function, which points, where to."""

import importlib
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from schedpy.sweep.runner import EXECUTORS, run

__all__ = ["read", "run_described"]

_KEYS = {"function", "out", "points", "arguments", "seed", "part_size", "batch", "executor"}
_RANGE = {"start", "stop", "step"}
_SPACED = {"first", "last", "count", "spacing"}
_SPACINGS: dict[str, Callable] = {"linear": np.linspace, "geometric": np.geomspace}


def _refuse_unknown(found, known, where):
    for key in found:
        if key not in known:
            raise ValueError(f"{where}: {key!r} is unknown, must be one of {', '.join(sorted(known))}")


def _function(name, where):
    """The function that "module:name" names."""
    module, colon, path = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not (module and colon and path):
        raise ValueError(
            f"{where}: function = {name!r} must be 'module:name', as 'schedpy.lab.phases:placements'"
        )
    try:
        found = importlib.import_module(module)
        for word in path.split("."):
            found = getattr(found, word)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{where}: function = {name!r} is not there: {error}") from None
    if not callable(found):
        raise ValueError(f"{where}: function = {name!r} is no function")
    return found


def _values(value, where):
    """A list, a range ``{start, stop, step}`` or integers ``{first, last, count, spacing}``."""
    if not isinstance(value, dict):
        return value
    if value.keys() <= _RANGE and "stop" in value:
        numbers = [value.get("start", 0), value["stop"], value.get("step", 1)]
        if all(type(number) is int for number in numbers) and numbers[2]:
            return range(*numbers)
        raise ValueError(f"{where}: start, stop and step must be integers, step not 0")
    if value.keys() <= _SPACED and {"first", "last", "count"} <= value.keys():
        spacing = value.get("spacing", "linear")
        if spacing not in _SPACINGS:
            raise ValueError(f"{where}: spacing = {spacing!r} must be one of {', '.join(_SPACINGS)}")
        numbers = [value[name] for name in ("first", "last", "count")]
        least = 1 if spacing == "geometric" else -(2**53)
        if all(type(number) is int and least <= number <= 2**53 for number in numbers) and numbers[2] > 0:
            return np.unique(np.rint(_SPACINGS[spacing](*numbers)).astype(np.int64))
        raise ValueError(
            f"{where}: first, last and count must be integers, at least {least}, count at least 1"
        )
    raise ValueError(
        f"{where} must be a list, a value, {{start, stop, step}} or {{first, last, count, spacing}}"
    )


def read(path):
    """What a file describes, as the arguments of `run`.

    ``function`` ("module:name"), ``out`` and the table ``[points]`` are required; ``[arguments]`` go to
    every call; ``seed``, ``part_size``, ``batch`` and ``executor`` are as for `run`. Under a name of
    ``[points]`` stands a list, one value, ``{start, stop, step}`` as Python's range, or
    ``{first, last, count, spacing}``: integers spaced "linear" or "geometric", without repetitions.

    Parameters
    ----------
    path : path
        The TOML file.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        No TOML, or a key that is missing, unknown or wrong; the message says where.
    """
    where = str(path)
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{where}: {error}") from None
    _refuse_unknown(content, _KEYS, where)
    for key in ("function", "out", "points"):
        if key not in content:
            raise ValueError(f"{where}: {key!r} is missing")
    for key in ("points", "arguments"):
        if not isinstance(content.get(key, {}), dict):
            raise ValueError(f"{where}: {key!r} must be a table")
    if content.get("executor", "threads") not in EXECUTORS:
        raise ValueError(f"{where}: executor must be one of {', '.join(EXECUTORS)}")
    function = _function(content.pop("function"), where)
    arguments = content.pop("arguments", {})
    points = {
        name: _values(value, f"{where}: points.{name}") for name, value in content.pop("points").items()
    }
    return content | {"function": partial(function, **arguments) if arguments else function, "points": points}


def run_described(path, **overrides):
    """Run the sweep that a file describes.

    Parameters
    ----------
    path : path
        The TOML file.
    **overrides
        Arguments of `run` that replace the file's.

    Returns
    -------
    Result
    """
    return run(**read(path) | overrides)
