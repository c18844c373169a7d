# SPDX-License-Identifier: GPL-2.0-only
"""The energy model that a running kernel shows: /sys/kernel/debug/energy_model, as a folder or an archive.

A state is a folder with a frequency and a power, whatever it is called (cs:300000 up to 5.6, ps:300000
after); the folder around it is a domain, if it has cpus. Nothing is extracted.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import tarfile
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath

from schedpy.readers import cpulist

__all__ = ["is_archive", "read_archive", "read_folder"]

#: More than this is no energy model: bytes of an archive unpacked, of a file; files; folders deep.
_ARCHIVE_MAX = 1 << 26
_FILE_MAX = 4096
_FILES_MAX = 100_000
_DEPTH_MAX = 6

_STATE_FILES = {"frequency", "power"}
_RECORDED = ("cost", "performance", "inefficient")
_WANTED = {*_STATE_FILES, *_RECORDED, "cpus", "units", "flags", "cpu_capacity"}
_STATE_NAME = re.compile(r"[cp]s:[0-9]+")
_UNITS = {"milliWatts": "mW", "bogoWatts": "bogo"}
_REAL_UNIT, _ARTIFICIAL = 1, 4
_OPENERS: dict[bytes, Callable] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_BROKEN = (
    tarfile.TarError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    RecursionError,
    zlib.error,
    lzma.LZMAError,
)


def is_archive(data):
    """Whether a file's content starts as a tar archive does, compressed or not."""
    return data[257:262] == b"ustar" or any(data.startswith(magic) for magic in _OPENERS)


def read_folder(path):
    """The model of a folder as plain values, in the form of `schedpy.readers.energy_model.read`.

    Parameters
    ----------
    path : Path
        energy_model, or a folder that holds it. Folders cpu0, cpu1, ... with a cpu_capacity may lie
        beside it, as /sys/devices/system/cpu has them.

    Returns
    -------
    dict
        ``unit`` is None where the kernel does not say it: up to 5.10, and where its flags mean mW or uW.

    Raises
    ------
    ValueError
        There is no model, or a file does not hold what it should; the message names the file.
    OSError
        A file cannot be read.
    """
    folders: dict[PurePosixPath, dict[str, bytes]] = {}
    files = 0
    for top, below, names in os.walk(path, onerror=_raise):
        folder = PurePosixPath(top).relative_to(PurePosixPath(path))
        if len(folder.parts) >= _DEPTH_MAX:
            below.clear()
        held = folders.setdefault(folder, {})
        files += len(names)
        if files > _FILES_MAX:
            raise ValueError(f"{path}: more than {_FILES_MAX} files: must be an energy_model folder")
        for name in _WANTED.intersection(names):
            if os.path.isfile(file := os.path.join(top, name)):
                with open(file, "rb") as content:
                    held[name] = content.read(_FILE_MAX + 1)
    return _model(folders, str(path))


def _raise(error):
    raise error


def read_archive(data, where):
    """The model of a tar archive, compressed or not, as `read_folder` gives that of a folder.

    Parameters
    ----------
    data : bytes
        The archive.
    where : str
        What to call it in messages.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        No archive, a damaged or an outsized one; there is no model, or a member does not hold what it should.
    """
    try:
        plain = _unpacked(data)
        if len(plain) > _ARCHIVE_MAX:
            raise ValueError(f"more than {_ARCHIVE_MAX >> 20} MiB unpacked")
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
            folders = _members(archive)
            end = archive.offset
        if plain[end : end + 512] != bytes(512):
            raise ValueError("it is cut off")
    except _BROKEN as error:
        raise ValueError(f"{where}: no tar archive of an energy model: {error}") from None
    return _model(folders, where)


def _unpacked(data):
    for magic, opener in _OPENERS.items():
        if data.startswith(magic):
            with opener(io.BytesIO(data)) as file:
                return file.read(_ARCHIVE_MAX + 1)
    return data


def _members(archive):
    """Folder -> name -> content, of what matters. Names are keys and never paths of this machine."""
    folders: dict[PurePosixPath, dict[str, bytes]] = {}
    for member in archive:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"member {member.name!r} points out of it")
        if member.isdir():
            folders.setdefault(path, {})
        elif member.isreg() and path.name in _WANTED:
            file = archive.extractfile(member)
            folders.setdefault(path.parent, {})[path.name] = file.read(_FILE_MAX + 1)
    return folders


def _model(folders, where):
    states: dict[PurePosixPath, list] = {}
    for folder, held in folders.items():
        if "cpus" in held:
            states.setdefault(folder, [])
        elif _STATE_FILES & held.keys() or _STATE_NAME.fullmatch(folder.name):
            states.setdefault(folder.parent, []).append(folder)
    # A device that is no CPU has states but no cpus.
    domains = [folder for folder in states if "cpus" in folders[folder]] if states else []
    if not domains:
        raise ValueError(f"{where}: has no domain: must hold folders with cpus, and in each its states")
    for folder in domains:
        if folder.parent != domains[0].parent:
            raise ValueError(f"{where}: has several energy models: {domains[0].parent} and {folder.parent}")
    plain = [_domain(folders, folder, states[folder], where) for folder in domains]
    plain.sort(key=lambda domain: domain["cpus"])
    if len(units := {domain.pop("unit") for domain in plain}) > 1:
        raise ValueError(f"{where}: domains differ in their unit: must be of one")
    unit = units.pop()
    note = "" if unit else "the kernel does not say which; flags with bit 0 mean mW up to 5.18, then uW"
    return {"where": where, "source": where, "unit": unit, "unit_note": note, "domain": plain}


def _domain(folders, folder, states, where):
    at = f"{where}: {folder}"
    if not states:
        raise ValueError(f"{at}: has no states: must hold folders with a frequency and a power")
    held = folders[folder]
    cpus = cpulist.parse(_text(held["cpus"], f"{at}/cpus"), f"{at}/cpus")
    rows = sorted(
        (_state(folders[state], f"{where}: {state}") for state in states), key=lambda row: row["frequency"]
    )
    for row in rows:
        if missing := rows[0].keys() ^ row.keys():
            raise ValueError(f"{at}: some states have {min(missing)} and some have not")
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    performs = columns.get("performance")
    return {
        "name": folder.name,
        "at": str(folder),
        "cpus": cpus,
        "capacity": performs[-1] if performs else _capacity(folders, cpus, where),
        "unit": _unit(held, columns, at),
        "freq_khz": columns.pop("frequency"),
        "power": columns.pop("power"),
        "recorded": columns,
    }


def _state(held, at):
    for name in sorted(_STATE_FILES - held.keys()):
        raise ValueError(f"{at}: {name} is missing")
    numbers = (*sorted(_STATE_FILES), *_RECORDED)
    return {name: _number(held[name], f"{at}/{name}") for name in numbers if name in held}


def _unit(held, columns, at):
    """The unit that a domain states, or None."""
    if "units" in held:
        text = _text(held["units"], f"{at}/units")
        if text not in _UNITS:
            raise ValueError(f"{at}/units: {text!r}: must be {' or '.join(_UNITS)}")
        return _UNITS[text]
    if "flags" not in held:
        return None
    flags = _number(held["flags"], f"{at}/flags", base=16)
    if flags & _ARTIFICIAL:
        raise ValueError(f"{at}: is artificial: its costs are its driver's, not made of its power")
    if not flags & _REAL_UNIT:
        return "bogo"
    # Kernels with a performance (6.9 on) have uW; those with mW and flags (5.16 .. 5.18) a cost of 1000 mW.
    if "performance" in columns:
        return "uW"
    return "mW" if columns.get("cost", [0])[-1] == 1000 * columns["power"][-1] else None


def _capacity(folders, cpus, where):
    """What the cpu_capacity of all CPUs of a domain says, or None."""
    found = {}
    for folder, held in folders.items():
        number = re.fullmatch("cpu([0-9]{1,4})", folder.name, re.ASCII)
        if number and int(number[1]) in cpus and "cpu_capacity" in held:
            at = f"{where}: {folder}/cpu_capacity"
            found[int(number[1])] = _number(held["cpu_capacity"], at)
    for cpu, capacity in found.items():
        if capacity != found[min(found)]:
            raise ValueError(
                f"{where}: cpu_capacity of CPU {cpu} is {capacity}, of CPU {min(found)} {found[min(found)]}: "
                "must be one within a domain"
            )
    return found[cpus[0]] if found.keys() == set(cpus) else None


def _number(content, at, base=10):
    text = _text(content, at)
    digits = "(0x)?[0-9a-fA-F]{1,16}" if base == 16 else "[0-9]{1,20}"
    if not re.fullmatch(digits, text, re.ASCII):
        raise ValueError(f"{at}: {text[:60]!r} is no number")
    return int(text, base)


def _text(content, at):
    # An archive pads with NUL what was shorter than the kernel said, and takes for empty what has no size.
    text = content.rstrip(b"\0").decode(errors="replace").strip()
    if len(content) > _FILE_MAX:
        raise ValueError(f"{at}: is longer than {_FILE_MAX} bytes")
    if not text:
        raise ValueError(f"{at}: is empty, as tar takes debugfs to be: archive a copy (cp -r) of the folder")
    return text
