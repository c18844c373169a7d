# SPDX-License-Identifier: GPL-2.0-only
"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["written_whole"]


@contextlib.contextmanager
def written_whole(path):
    """A temporary path beside ``path`` that takes its place if the block that writes it ends well.

    What is there is the old file or the new one, complete and on the disk; a block that fails leaves the
    old one and nothing else.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(f"{folder}/greeting.txt") as temporary:
    ...         _ = temporary.write_text("hello")
    ...     [entry.name for entry in pathlib.Path(folder).iterdir()]
    ['greeting.txt']
    """
    path = Path(path)
    # The same ending: some writers go by it, or add one.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    try:
        yield Path(name)
        with open(name, "rb") as file:
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
