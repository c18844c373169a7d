# SPDX-License-Identifier: GPL-2.0-only
"""Tasks to watch: child processes that spin or wake up periodically."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from schedpy._coerce import as_choice
from schedpy.live.recording import Recording, check_seconds, read, watch

__all__ = ["WORKLOADS", "watch_workload"]

#: Tasks to watch: name -> what it does, in words.
WORKLOADS = {
    "spin": "a spinning task",
    "periodic": "a task of 2.7 ms every 10 ms",
    "nice": "a spinning task of nice 5",
}

#: The child asks to be killed when its parent ends, and makes sure that it was not too late to ask.
_DIES_WITH_PARENT = """if True:
    import ctypes, os, signal, sys, time
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        sys.exit()
"""
_PERIODIC = f"""{_DIES_WITH_PARENT}
    print(flush=True)
    wake = time.monotonic()
    while True:
        wake += 0.010
        end = time.monotonic() + 0.0027
        while time.monotonic() < end:
            pass
        time.sleep(max(0, wake - time.monotonic()))
"""
_SPIN = f"""{_DIES_WITH_PARENT}
    from schedpy import live
    os.nice(int(sys.argv[2]))
    live.watch("self", float(sys.argv[3])).save(sys.argv[4])
"""


@contextlib.contextmanager
def _child(script, *arguments):
    command = [sys.executable, "-c", script, str(os.getpid()), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def watch_workload(workload, seconds=5):
    """Watch a task made for it, in a child process that ends with this one.

    Parameters
    ----------
    workload : {"spin", "periodic", "nice"}
        "spin" and "nice" watch themselves, the second at nice 5. "periodic" runs 2.7 ms of every 10 ms and
        is watched by the caller, who needs a second CPU to see much.
    seconds : float
        How long.

    Returns
    -------
    Recording

    Raises
    ------
    OSError, ValueError
        As for `read`.

    Examples
    --------
    >>> from schedpy import live
    >>> print(live.verify(live.watch_workload("periodic", 5)))  # doctest: +SKIP
    """
    as_choice(workload, "workload", tuple(WORKLOADS))
    check_seconds(seconds)
    read()
    if workload == "periodic":
        with _child(_PERIODIC) as child:
            child.stdout.readline()
            recording = watch(child.pid, seconds)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "recording"
            with _child(_SPIN, {"spin": 0, "nice": 5}[workload], seconds, path) as child:
                _, errors = child.communicate()
                if child.returncode:
                    last = (
                        errors.strip().rpartition("\n")[2]
                        or f"signal {signal.Signals(-child.returncode).name}"
                    )
                    raise OSError(f"the watched task failed: {last}")
            recording = Recording.load(path)
    return replace(recording, task=WORKLOADS[workload])
