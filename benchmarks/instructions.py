# SPDX-License-Identifier: GPL-2.0-only
"""Instructions per event of pelt.track, counted by callgrind: exact where times drown in noise.

    python benchmarks/instructions.py                    this tree
    python benchmarks/instructions.py --base origin/main this tree beside another commit

What is counted is the C method alone, from its call to its return, with 40,000 events. A commit to compare
with is built in a temporary folder. valgrind knows no AVX-512: that path is not counted.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EVENTS = 40_000

RUN = """
import numpy as np
from schedpy import pelt
n, streams = {n}, {streams}
rng = np.random.default_rng(1)
now = np.cumsum(rng.integers({low}, {high}, (streams, n // streams)), axis=1).astype(np.uint64)
running = rng.random(now.shape) < 0.5
index = rng.integers(0, 64, n).astype(np.uint64)
if {interleaved}:
    pelt.track(now[0], kernel="6.1", running=running[0], index=index, fields={fields})
else:
    pelt.track(now, kernel="6.1", running=running, fields={fields})
"""

INTERLEAVED = "1 of 64"
CASES = [
    (streams, mix, fields)
    for streams in (1, 40, INTERLEAVED)
    for mix in ("1-4 ms", "below a window")
    for fields in (("util_avg",), ("util_avg", "load_avg"))
]
DELTAS = {"1-4 ms": (1_000_000, 4_000_000), "below a window": (1000, 900_000)}


def count(script, tree, path):
    """Instructions of the C method in one Python process."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--toggle-collect=method_task_v5_7",
                f"--callgrind-out-file={out}",
                sys.executable,
                "-c",
                script,
            ],
            env=os.environ
            | {
                "SCHEDPY_PATH": path,
                "SCHEDPY_PELT_PATH": path,
                "PYTHONPATH": str(tree),
                "PYTHONHASHSEED": "0",
            },
            cwd=tree,  # Python looks there before it looks where PYTHONPATH says
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise SystemExit(done.stderr)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def per_event(tree, path, streams, mix, fields):
    low, high = DELTAS[mix]
    interleaved = streams == INTERLEAVED
    given = {"n": EVENTS, "streams": 1 if interleaved else streams, "interleaved": interleaved}
    given |= {"low": low, "high": high, "fields": fields}
    return count(RUN.format(**given), tree, path) / EVENTS


def build(commit, folder):
    """The commit's package in a folder, its extension built."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if built.returncode:
        raise SystemExit(f"{commit} does not build:\n{built.stderr}")
    return Path(folder)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", metavar="COMMIT", help="count this commit too")
    parser.add_argument("--quick", action="store_true", help="the first case alone")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("callgrind is not here: install valgrind to count instructions")
        return
    print(f"{'streams':>7}  {'mix':15} {'fields':20} {'path':9} {'base':>8} {'head':>8}   per event")
    with tempfile.TemporaryDirectory() as folder:
        base = build(options.base, folder) if options.base else None
        for streams, mix, fields in CASES[: 1 if options.quick else None]:
            for path in ("portable", "avx2"):
                trees = [tree for tree in (base, ROOT) if tree]
                counts = [f"{per_event(tree, path, streams, mix, fields):8.1f}" for tree in trees]
                before = counts[0] if base else f"{'-':>8}"
                names = " + ".join(fields)
                print(f"{streams:7}  {mix:15} {names:20} {path:9} {before} {counts[-1]}", flush=True)


if __name__ == "__main__":
    main()
