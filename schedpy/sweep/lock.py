# SPDX-License-Identifier: GPL-2.0-only
"""One run in one folder at a time."""

import contextlib
import errno
import fcntl
import os
import socket
import threading
from pathlib import Path

__all__ = ["locked"]

_mine: set[tuple[int, int]] = set()
_guard = threading.Lock()


@contextlib.contextmanager
def locked(folder):
    """Nobody else runs a sweep in this folder while the block runs; BlockingIOError if somebody does.

    The lock is the process's own: it ends with it, however that ends, and a worker process that outlives it
    does not hold it. Within one process a record of the folders stands for it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(folder):
    ...     try:
    ...         with locked(folder):
    ...             pass
    ...     except BlockingIOError:
    ...         print("in use")
    in use
    """
    path = Path(folder, "_lock")
    about = os.stat(folder)
    key = (about.st_dev, about.st_ino)
    with _guard:
        if key in _mine:
            raise _in_use(folder, "this process")
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 (closing it would end the lock)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                raise
            raise _in_use(folder, holder) from None
        _mine.add(key)
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        with contextlib.suppress(OSError):  # a full disk: the holder's name is a courtesy
            file.flush()
        yield
    finally:
        with _guard:
            _mine.discard(key)
            with contextlib.suppress(OSError):
                file.close()


def _in_use(folder, holder):
    return BlockingIOError(errno.EAGAIN, f"out is in use by {holder}: wait for that run to end", str(folder))
