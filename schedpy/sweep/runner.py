# SPDX-License-Identifier: GPL-2.0-only
"""Running a sweep: which parts are missing, who computes them, and what ends a run."""

import contextlib
import multiprocessing
import operator
import os
import queue
import signal
import sys
import time
import uuid
import warnings
from collections import deque
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path
from pickle import PicklingError

from schedpy._coerce import as_choice, as_number
from schedpy.sweep import manifest as manifests
from schedpy.sweep.lock import locked
from schedpy.sweep.parts import DamagedError, Job, compute, file_name, inspect_part, stop
from schedpy.sweep.points import points_of
from schedpy.sweep.result import Result, edges

__all__ = ["EXECUTORS", "run"]

EXECUTORS = ("threads", "processes")
#: Parts that wait at an executor at a time: enough for a thousand workers to find their next one.
_WINDOW = 4096
#: So often new processes replace dead ones without a part done in between.
_DEATHS = 3


class _WorkerDiedError(Exception):
    """An executor lost a worker and takes no more."""


def _default_part_size(count, batch):
    """A 64th, but no part so small that writing it counts, nor so few parts that workers have none."""
    least = min(4096, count) if batch else min(250, -(-count // 16))
    return min(max(-(-count // 64), least), 65536 if batch else 4096)


def _checked(function, points, *, out, executor, seed, part_size, batch):
    """The arguments, checked: points, seed, part size."""
    if not (executor is None or isinstance(executor, Executor)):
        as_choice(executor, "executor", EXECUTORS)
    if not callable(function):
        raise TypeError(f"function must be callable, not {type(function).__name__}")
    if not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"out must be a path, not {type(out).__name__}")
    if not isinstance(batch, bool):
        raise TypeError(f"batch must be True or False, not {batch!r}")
    seed = as_number(seed, "seed", low=0)
    if part_size is not None:
        part_size = as_number(part_size, "part_size", low=1, high=2**31)
    return points_of(points), seed, part_size


def _fixed(folder, function, points, *, seed, part_size, batch):
    """The manifest of the folder: written now, or the same as before."""
    there = manifests.read(folder)
    if there is None:
        foreign = [entry.name for entry in os.scandir(folder) if not entry.name.startswith((".", "_lock"))]
        if foreign:
            raise ValueError(
                f"out: {folder} holds {min(foreign)!r} and no sweep: give an empty or a new folder"
            )
    if part_size is None:
        part_size = there["part_size"] if there else _default_part_size(len(points), batch)
    here = manifests.describe(function, points, seed=seed, part_size=part_size, batch=batch)
    if there is None:
        manifests.write(folder, here)
    elif differ := manifests.differences(there, here):
        raise ValueError(f"out: {folder} holds another sweep: {'; '.join(differ)}")
    return here


def _found(folder, manifest, retry_failed):
    """({number: Part}, [what is damaged]) of the parts on the disk, each read whole."""
    sweep, parts, damaged = manifests.identifier(manifest), {}, []
    for file in folder.glob(".part-*.parquet"):  # of a run that was killed while it wrote
        file.unlink(missing_ok=True)

    def look(number):
        try:
            return inspect_part(folder, number, sweep, whole=True)
        except DamagedError as error:
            return error

    numbers = range(len(edges(manifest)))
    there = [number for number in numbers if (folder / file_name(number)).exists()]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for number, part in zip(there, pool.map(look, there), strict=True):
            if isinstance(part, DamagedError):
                damaged.append(str(part))
            elif part is not None and not (retry_failed and part.failed):
                parts[number] = part
    if damaged:
        more = f" and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        warnings.warn(f"out: {damaged[0]}{more}: computed again", RuntimeWarning, stacklevel=3)
    return parts, damaged


def _in_notebook():
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config


def _bar(total, initial, progress):
    """A progress bar in a terminal or a notebook, none anywhere else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets a notebook's bar is one of letters
        from tqdm.auto import tqdm
    disable = None if progress else True  # None: wherever stderr is no terminal
    if progress and _in_notebook():
        disable = False
    return tqdm(total=total, initial=initial, unit="point", unit_scale=True, disable=disable)


def _ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def _own(executor):
    """Threads or processes of our own; an interrupt ends them without waiting for more than a point."""
    if executor == "processes":
        pool: Executor = ProcessPoolExecutor(
            mp_context=multiprocessing.get_context("forkserver"), initializer=_ignore_interrupts
        )
    else:
        pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="schedpy-sweep")
    try:
        yield pool
    except BaseException:
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _explained(error, folder):
    """The error of a part that is not the function's own, in words of this call."""
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return _WorkerDiedError(str(error))
    if isinstance(error, (PicklingError, AttributeError)) or "pickle" in str(error):
        return TypeError(f"function or points cannot be sent to the executor's workers: {error}")
    if isinstance(error, FileNotFoundError):
        return OSError(
            error.errno, "out: the workers do not see this folder; they must share it", str(folder)
        )
    if isinstance(error, OSError):
        return OSError(
            error.errno, f"out: a part could not be written: {error.strerror or error}", str(folder)
        )
    return error


def _size(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _drain(executor, jobs, on_part, folder, run):
    """Compute the jobs; the first that fails for another reason than its points ends it."""
    done: queue.SimpleQueue[Future] = queue.SimpleQueue()
    under_way: set[Future] = set()
    waiting = deque(jobs)
    try:
        while waiting or under_way:
            while waiting and len(under_way) < _WINDOW:
                try:
                    future = executor.submit(compute, waiting[0])
                except BrokenExecutor as error:
                    raise _WorkerDiedError(str(error)) from error
                waiting.popleft()
                under_way.add(future)
                future.add_done_callback(done.put)
            future = done.get()
            under_way.discard(future)
            try:
                part = future.result()
            except (CancelledError, Exception) as error:
                raise _explained(error, folder) from error
            if _size(folder / file_name(part.number)) != part.bytes:
                raise OSError(
                    f"out: {file_name(part.number)} is not in {folder}: the workers must share this folder"
                )
            on_part(part)
    except BaseException:
        stop(run)
        raise
    finally:
        for future in under_way:
            future.cancel()


def _compute_missing(executor, jobs, parts, on_part, folder, run):
    """All jobs, with dead processes of our own replaced."""
    if isinstance(executor, Executor):
        _drain(executor, jobs, on_part, folder, run)
        return
    deaths, before = 0, len(parts)
    while True:
        try:
            with _own(executor) as pool:
                _drain(pool, [job for job in jobs if job.number not in parts], on_part, folder, run)
            return
        except _WorkerDiedError:
            deaths = deaths + 1 if len(parts) == before else 1
            before = len(parts)
            if deaths == _DEATHS:
                raise


def run(
    function,
    points,
    *,
    out,
    executor=None,
    seed=0,
    part_size=None,
    batch=False,
    retry_failed=False,
    progress=True,
):
    """Call a function for every point, on any executor, and keep what it returns in a folder.

    The points are cut into parts, fixed ranges of their numbers; each part is computed by one worker and
    appears whole as one Parquet file. What is on the disk stays: a second call with the same
    arguments computes
    what is missing, whatever ended the first one.

    Parameters
    ----------
    function : callable
        Called as ``function(**point)``. It returns a scalar (the column ``value``), a dict, dataclass or
        Series of scalars (a column each), or a DataFrame (a row each, counted by ``row``). With a parameter
        ``rng`` it gets its point's random generator, the same for every executor and order. What it
        raises becomes its point's ``error``.
    points : dict of lists, DataFrame or iterable of dicts
        A dict: every combination, the last name fastest, never expanded in memory. Values are numbers,
        bools, text, times and None; what else a function needs it gets by ``functools.partial``.
    out : path
        The folder; made if it is not there. Workers on other machines must see it under the same path.
    executor : concurrent.futures.Executor or {"threads", "processes"}, optional
        None: threads, one per CPU; the core releases the GIL. "processes": as many processes, replaced when
        they die; function is then found by its name, so it cannot be a notebook's own (loky takes those).
        Or any Executor, left open: loky's, mpi4py's, ``dask.distributed.Client.get_executor(pure=False)``.
    seed : int
        Point i draws from ``numpy.random.SeedSequence(seed, spawn_key=(i,))``.
    part_size : int, optional
        Points per part. None: what the folder was begun with, or a 64th of all within 250 .. 4096 (with
        ``batch`` 4096 .. 65536), a 16th of less than 4000. A part is what an
        interruption loses per worker: seconds of work is a good size.
    batch : bool
        Call the function once per part, with an array for each name (text as objects) and ``rng`` a sequence
        of generators; it returns arrays of that length. A call that fails is halved until the points
        that fail are alone.
    retry_failed : bool
        Compute again the parts in which a point failed.
    progress : bool
        A bar, in a terminal or a notebook only.

    Returns
    -------
    Result
        `to_pandas()`, `to_xarray()`, `failed`, `hash`.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; ``out`` holds another sweep, and the message says what differs; the function
        returned what is no row.
    BlockingIOError
        Another run is at work in ``out``.
    OSError
        A part cannot be written, as on a full disk; ChildProcessError: a worker died. What was computed
        before is kept.
    KeyboardInterrupt
        Ctrl-C; the parts that are done are kept.

    Warns
    -----
    RuntimeWarning
        A part's file is damaged; it is computed again.

    Examples
    --------
    >>> import tempfile
    >>> from schedpy import clock, sweep
    >>> points = {"ns": [1000, 2**20], "how": ["div1000", "shr10"]}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     result = sweep.run(clock.cpuidle_residency, points, out=out)
    ...     result.to_pandas()["value"].tolist()
    [1, 0, 1048, 1024]
    """
    points, seed, part_size = _checked(
        function, points, out=out, executor=executor, seed=seed, part_size=part_size, batch=batch
    )
    folder = Path(out).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with locked(folder):
        manifest = _fixed(folder, function, points, seed=seed, part_size=part_size, batch=batch)
        parts, damaged = _found(folder, manifest, retry_failed)
        kept = len(parts)
        ranges = edges(manifest)
        common = {
            "function": function,
            "seed": seed,
            "batch": batch,
            "folder": os.fspath(folder),
            "sweep": manifests.identifier(manifest),
            "run": uuid.uuid4().hex,
        }
        jobs = (
            Job(points=points.part(start, stop), start=start, stop=stop, number=number, **common)
            for number, (start, stop) in enumerate(ranges)
            if number not in parts
        )
        done = sum(operator.sub(*reversed(ranges[number])) for number in parts)
        with _bar(len(points), done, progress) as bar:

            def on_part(part):
                parts[part.number] = part
                start, stop = ranges[part.number]
                bar.update(stop - start)
                failed = sum(each.failed for each in parts.values()) if part.failed else 0
                if failed:
                    bar.set_postfix(failed=failed)

            try:
                _compute_missing(executor or "threads", list(jobs), parts, on_part, folder, common["run"])
            except BaseException as error:
                there = sum((folder / file_name(number)).exists() for number in range(len(ranges)))
                so_far = f"{there} of {len(ranges)} parts are kept in {folder}: run again to go on"
                if isinstance(error, KeyboardInterrupt):
                    raise KeyboardInterrupt(f"interrupted; {so_far}") from None
                if isinstance(error, _WorkerDiedError):
                    raise ChildProcessError(f"executor: a worker died ({error}); {so_far}") from error
                error.add_note(so_far)
                raise
    return Result(
        Path(out),
        manifest,
        tuple(parts[number] for number in range(len(ranges))),
        computed=len(ranges) - kept,
        kept=kept,
        redone=tuple(damaged),
        seconds=time.monotonic() - began,
    )
