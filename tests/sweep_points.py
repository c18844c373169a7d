# SPDX-License-Identifier: GPL-2.0-only
"""Functions that tests sweep: importable by name, so that any worker finds them."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from schedpy import pelt, sweep, workload


def square(x, y=1):
    return x * x * y


def fails_at_seven(x):
    if x == 7:
        raise ValueError("seven\nis not  taken")
    return {"double": 2 * x, "text": str(x)}


def drawn(x, rng):
    return x + int(rng.integers(1000))


def drawn_batch(x, rng):
    return x + np.array([int(each.integers(1000)) for each in rng])


def batch_fails_at_seven(x):
    if (x == 7).any():
        raise ValueError("seven")
    return {"double": 2 * x, "half": x / 2}


def several_rows(x):
    return pd.DataFrame({"k": np.arange(3), "x": x, "product": x * np.arange(3)})


def worst_util(run_ms, period_ms, hz):
    """A summary of a track: the largest util_avg and what the last state is."""
    task = workload.periodic(run_ms * 1_000_000, period_ms * 1_000_000, n=20, hz=hz)
    track = pelt.track(task.now, kernel="5.12", running=task.running, on_rq=task.on_rq)
    return {
        "worst": track.util_avg.max(),
        "load_sum": track.state["load_sum"][()],
        "mean": track.util_avg.mean(),
    }


def slow(x, each=0.01):
    time.sleep(each)
    return 3 * x


def counted(x, folder, each=0.005):
    """Leave a trace of every call: what is computed twice is seen."""
    with open(Path(folder, str(os.getpid())), "a", encoding="utf-8") as file:
        file.write(f"{x}\n")
    time.sleep(each)
    return 3 * x


def dies_once(x, flag):
    """The worker is killed at point 30, the first time; every call leaves a trace."""
    with open(f"{flag}-{os.getpid()}", "a", encoding="utf-8") as file:
        file.write(f"{x}\n")
    if x == 30 and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 3 * x


def dies_always(x):
    if x == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return 3 * x


def wide(x):
    """Rows that do not compress: 64 bytes a point."""
    return {f"v{i}": float(v) for i, v in enumerate(np.random.default_rng(x).random(8))}


def interruptible(out, executor, count, each):
    """A run in a process of its own, for tests that kill or interrupt it."""
    import sweep_points  # not as __main__: a function's name is part of the manifest

    function = partial(sweep_points.slow, each=float(each))
    print(sweep.run(function, {"x": range(int(count))}, out=out, part_size=5, executor=executor).hash)


def full_disk(folder):
    """A run on a file system that is too small, and again when it is larger: what happened, as JSON."""
    import sweep_points

    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=True)
    sweep_of = {"function": sweep_points.wide, "points": {"x": range(6000)}, "out": folder, "part_size": 500}
    found = {}
    try:
        sweep.run(**sweep_of)
    except OSError as error:
        found = {"errno": error.errno, "notes": error.__notes__}
    found["kept"] = sorted(path.name for path in Path(folder).glob("part-*"))
    found["temporary"] = sorted(path.name for path in Path(folder).glob(".*"))
    subprocess.run(["mount", "-o", "remount,size=16m", folder], check=True)
    again = sweep.run(**sweep_of)
    print(json.dumps(found | {"kept_then": again.kept, "hash": again.hash}))


if __name__ == "__main__":
    {"interruptible": interruptible, "full-disk": full_disk}[sys.argv[1]](*sys.argv[2:])
