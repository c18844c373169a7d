# SPDX-License-Identifier: GPL-2.0-only
"""Energy models of files and folders: which reader takes what."""

from schedpy.readers import csv, debugfs, dt, fdt, netlink, plat_info, toml

__all__ = ["SUFFIXES", "read"]

#: More than this many bytes are no energy model.
_FILE_MAX = 1 << 26

_BY_SUFFIX = {
    ".toml": toml.read,
    ".csv": csv.read,
    ".json": netlink.read,
    ".yml": plat_info.read,
    ".yaml": plat_info.read,
    ".dtb": dt.read,
    ".tar": debugfs.read_archive,
}
SUFFIXES = tuple(_BY_SUFFIX)


def read(path):
    """A model as plain values, by the reader that a path's content or suffix asks for.

    Parameters
    ----------
    path : Path
        A folder is debugfs's energy_model; a device tree and an archive show by their first bytes; text
        is what its suffix says.

    Returns
    -------
    dict
        ``where``: what to call the file in messages. ``source``. ``unit``: "mW", "uW", "bogo" or None if
        the file states none; ``unit_note`` may say more. ``domain``: a list of dicts with name, cpus,
        capacity (None if not stated), freq_khz and power, and what may be missing: ``at``, the place in
        the file, and ``recorded``, what the kernel had computed, as columns of the same length.

    Raises
    ------
    ValueError
        It is no model; the message names the file, and the line or node.
    OSError
        It cannot be read.
    ImportError
        What the format needs is not installed; the message names the extra.
    """
    if path.is_dir():
        return debugfs.read_folder(path)
    with open(path, "rb") as file:
        data = file.read(_FILE_MAX + 1)
    if len(data) > _FILE_MAX:
        raise ValueError(f"{path}: is larger than {_FILE_MAX >> 20} MiB: must be an energy model")
    if fdt.is_tree(data):
        return dt.read(data, str(path))
    if debugfs.is_archive(data):
        return debugfs.read_archive(data, str(path))
    if path.suffix.lower() not in _BY_SUFFIX:
        raise ValueError(
            f"{path}: neither a device tree nor a tar archive, and text must end in {', '.join(SUFFIXES)}"
        )
    return _BY_SUFFIX[path.suffix.lower()](data, str(path))
