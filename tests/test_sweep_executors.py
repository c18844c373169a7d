# SPDX-License-Identifier: GPL-2.0-only
"""The same sweep on threads, processes, loky and a two-process dask cluster has one hash."""

import contextlib
import queue
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import dask
import distributed
import loky
import pytest
from sweep_points import drawn, fails_at_seven, worst_util

from schedpy import pelt, sweep

SWEEPS = {
    "tracks": (worst_util, {"run_ms": [1, 3, 8], "period_ms": [16, 100], "hz": [100, 250, 1000]}),
    "random numbers": (drawn, {"x": range(40)}),
    "a failing point": (fails_at_seven, {"x": range(40)}),
    "a face": (partial(pelt.decay_load, kernel="5.12"), {"val": [1, 2**40], "n": range(20)}),
}


class Backwards(ThreadPoolExecutor):
    """Begins with what was submitted last."""

    def __init__(self):
        super().__init__(1)
        self._work_queue = queue.LifoQueue()


@contextlib.contextmanager
def dask_cluster():
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor(pure=False)


@contextlib.contextmanager
def loky_pool():
    pool = loky.ProcessPoolExecutor(2)
    yield pool
    pool.shutdown(wait=True, kill_workers=True)


EXECUTORS = {
    "own threads": lambda: contextlib.nullcontext(None),
    "threads": lambda: ThreadPoolExecutor(3),
    "own processes": lambda: contextlib.nullcontext("processes"),
    "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("forkserver")),
    "loky": loky_pool,
    "dask": dask_cluster,
    "backwards": Backwards,
}


@pytest.fixture(scope="module")
def hashes(tmp_path_factory):
    """The hash of each sweep, computed in one thread in order."""
    found = {}
    for name, (function, points) in SWEEPS.items():
        with ThreadPoolExecutor(1) as pool:
            out = tmp_path_factory.mktemp("one")
            found[name] = sweep.run(function, points, out=out, executor=pool, seed=3, progress=False).hash
    assert len(set(found.values())) == len(SWEEPS)
    return found


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_executor_gives_one_hash(tmp_path, hashes, name):
    with EXECUTORS[name]() as executor:
        # Our own processes start anew for every sweep: one will do.
        for what in ["tracks"] if executor == "processes" else SWEEPS:
            function, points = SWEEPS[what]
            result = sweep.run(
                function, points, out=tmp_path / what, executor=executor, seed=3, part_size=6, progress=False
            )
            assert result.hash == hashes[what], what
