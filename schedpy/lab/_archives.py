# SPDX-License-Identifier: GPL-2.0-only
"""Results as NPZ files: arrays, and all else in one string of JSON that begins with the format's name."""

import json
import os
import zipfile

import numpy as np

from schedpy._files import written_whole

__all__ = ["read", "write"]


def write(path, kind, about, arrays):
    """The file is there complete or not at all."""
    with written_whole(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, about=np.array(json.dumps({"format": kind} | about)), **arrays)


def read(path, kind, names, make):
    """What ``make(about, arrays)`` makes of a file of this kind; a ValueError names a file that is none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about.pop("format", None) != kind:
                raise ValueError("another format")
            arrays = {name: file[name] for name in names}
        return make(about, arrays)
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{os.fspath(path)}: expected a file of {kind}: {error}") from None
