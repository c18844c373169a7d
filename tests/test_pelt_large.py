# SPDX-License-Identifier: GPL-2.0-only
"""Ten million events in one call: no memory but the inputs and the answers, and Ctrl-C is heard."""

import subprocess
import sys

import pytest

MEMORY = """
import numpy as np
from resource import RUSAGE_SELF, getrusage
from schedpy import pelt

def peak():
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024

shape = SHAPE
now = np.arange(10_000_000, dtype=np.uint64).reshape(shape)
now *= 2_000_000
running = np.ones(shape, bool)
pelt.track(now[..., :8], kernel="6.1", running=running[..., :8], fields=FIELDS)
before = peak()
track = pelt.track(now, kernel="6.1", running=running, fields=FIELDS, threads=THREADS)
print(peak() - before - sum(a.nbytes for a in track.history.values()) - track.state.nbytes)
"""

INTERRUPT = """
import os, signal, threading, time
import numpy as np
from schedpy import pelt

shape = SHAPE
now = np.broadcast_to(np.arange(shape[-1], dtype=np.uint64) * 2_000_000, shape)
sent = []

def interrupt():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    while True:
        pelt.track(now, kernel="6.1", running=True, fields=FIELDS, threads=THREADS)
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""


def run(script, shape, fields, threads):
    script = script.replace("SHAPE", repr(shape)).replace("FIELDS", repr(fields))
    done = subprocess.run(
        [sys.executable, "-c", script.replace("THREADS", str(threads))],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return float(done.stdout)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fields", [("util_avg",), ("util_avg", "load_avg", "util_sum")])
@pytest.mark.parametrize("shape", [(10_000_000,), (1000, 10_000)])
def test_memory(shape, fields, threads):
    assert run(MEMORY, shape, fields, threads) < 16 << 20


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fields", [("util_avg",), ("util_sum",)])
@pytest.mark.parametrize("shape", [(10_000_000,), (8, 1_250_000), (100_000, 100)])
def test_interrupt(shape, fields, threads):
    """The handler runs in the main thread, between pieces of the work."""
    assert run(INTERRUPT, shape, fields, threads) < 1
