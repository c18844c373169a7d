# SPDX-License-Identifier: GPL-2.0-only
"""What ends a sweep in real life, done to it: nothing is lost, nothing computed twice, the hash the same."""

import errno
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import termios
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
import sweep_points
from sweep_points import counted, dies_always, dies_once, slow, square, wide

from schedpy import sweep
from schedpy.sweep import runner

FUNCTION = partial(slow, each=0.01)
POINTS = {"x": range(120)}


def run(function, points, out, **how):
    return sweep.run(function, points, out=out, progress=False, **how)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return run(partial(slow, each=0.0), POINTS, tmp_path_factory.mktemp("undisturbed"), part_size=5).hash


def parts(folder):
    return sorted(path.name for path in Path(folder).glob("part-*.parquet"))


def started(out, executor="threads", count=120, each=0.01, **popen):
    """A sweep in a process group of its own that has begun to write parts."""
    command = [
        sys.executable,
        sweep_points.__file__,
        "interruptible",
        str(out),
        executor,
        str(count),
        str(each),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **popen
    )
    deadline = time.monotonic() + 60
    while len(parts(out)) < 4:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no part after a minute"
        time.sleep(0.002)
    return process


def finished(out):
    """The same sweep once more, to its end: its hash."""
    return run(FUNCTION, POINTS, out, part_size=5).hash


def test_a_second_run_is_refused_and_a_killed_one_goes_on_where_it_was(tmp_path, undisturbed):
    process = started(tmp_path, "processes")
    with pytest.raises(BlockingIOError, match=rf"in use by process {process.pid} on "):
        finished(tmp_path)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = {name: (tmp_path / name).stat().st_mtime_ns for name in parts(tmp_path)}
    assert 4 <= len(kept) < 24
    (tmp_path / ".part-00000020.parquet.abcdefgh.parquet").write_bytes(b"half a p")
    assert finished(tmp_path) == undisturbed
    assert len(parts(tmp_path)) == 24
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in kept} == kept
    assert not list(tmp_path.glob(".part-*"))


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_ctrl_c_ends_a_run_soon_and_keeps_what_is_done(tmp_path, undisturbed, executor):
    process = started(tmp_path, executor)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - began < 5
    kept = parts(tmp_path)
    assert 4 <= len(kept) < 24
    assert f"interrupted; {len(kept)} of 24 parts are kept in {tmp_path}: run again to go on" in said
    assert finished(tmp_path) == undisturbed


def test_ctrl_c_does_not_wait_for_the_part_under_way(tmp_path):
    flag = tmp_path / "begun"

    def interrupts(x):
        if x == 3 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02)
        return x

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt, match="0 of 1 parts are kept"):
        run(interrupts, {"x": range(1000)}, tmp_path / "out", part_size=1000)
    assert time.monotonic() - began < 5
    assert parts(tmp_path / "out") == []


def test_a_dead_worker_of_a_given_pool_ends_the_run_and_loses_nothing(tmp_path):
    function = partial(dies_once, flag=str(tmp_path / "flag"))
    with (
        ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool,
        pytest.raises(
            ChildProcessError, match=r"executor: a worker died .* of 12 parts are kept in .*: run again"
        ),
    ):
        run(function, {"x": range(60)}, tmp_path / "out", executor=pool, part_size=5)
    assert len(parts(tmp_path / "out")) < 12
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        again = run(function, {"x": range(60)}, tmp_path / "out", executor=pool)
    assert again.to_pandas()["value"].tolist() == [3 * x for x in range(60)]


def test_dead_workers_of_our_own_are_replaced(tmp_path):
    function = partial(dies_once, flag=str(tmp_path / "flag"))
    result = run(function, {"x": range(60)}, tmp_path / "out", executor="processes", part_size=5)
    assert (tmp_path / "flag").exists()
    calls = [x for path in tmp_path.glob("flag-*") for x in path.read_text().split()]
    assert len(calls) <= 60 + 4 * 5, "parts that were done are computed again"
    assert result.to_pandas()["value"].tolist() == [3 * x for x in range(60)]


def test_a_point_that_kills_every_worker_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_DEATHS", 2)
    with pytest.raises(ChildProcessError, match=r"a worker died .* [0-7] of 8 parts are kept") as caught:
        run(dies_always, {"x": range(40)}, tmp_path, executor="processes", part_size=5)
    # Which of the others were done when the last worker died is a matter of time.
    kept = [name for name in parts(tmp_path) if name.endswith(".parquet")]
    assert f"{len(kept)} of 8 parts are kept" in str(caught.value)
    assert "part-00000006.parquet" not in kept


def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(tmp_path):
    """On a file system of 256 KiB, in a mount namespace of its own: it goes away with the process."""
    own_mounts = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*own_mounts, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here, not even in a namespace")
    wanted = run(wide, {"x": range(6000)}, tmp_path / "large", part_size=500).hash
    (tmp_path / "small").mkdir()
    command = [*own_mounts, sys.executable, sweep_points.__file__, "full-disk", str(tmp_path / "small")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["errno"] == errno.ENOSPC
    assert 0 < len(found["kept"]) < 12
    assert any(f"{len(found['kept'])} of 12 parts are kept" in note for note in found["notes"])
    assert not found["temporary"]
    assert (found["kept_then"], found["hash"]) == (len(found["kept"]), wanted)


def test_a_file_that_may_not_grow_is_an_error_too(tmp_path):
    """The same by a limit on the size of files, which anybody can set."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))
    try:
        with pytest.raises(OSError, match="out: a part could not be written"):
            run(wide, {"x": range(600)}, tmp_path, part_size=300)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert parts(tmp_path) == []
    assert run(wide, {"x": range(600)}, tmp_path).computed == 2


def test_a_second_run_of_the_same_process_is_refused(tmp_path):
    with ThreadPoolExecutor(1) as other:
        first = other.submit(run, partial(slow, each=0.01), {"x": range(60)}, tmp_path, part_size=5)
        while not parts(tmp_path):
            time.sleep(0.002)
        with pytest.raises(BlockingIOError, match="in use by this process"):
            run(partial(slow, each=0.01), {"x": range(60)}, tmp_path)
        assert first.result(60).computed == 12


@pytest.mark.parametrize("kind", ["cut", "empty", "flipped", "another"])
def test_a_damaged_part_is_found_computed_again_and_said(tmp_path, kind):
    first = run(square, {"x": range(40)}, tmp_path / "out", part_size=10)
    path = tmp_path / "out" / "part-00000002.parquet"
    good = path.read_bytes()
    if kind == "another":
        run(square, {"x": range(1, 41)}, tmp_path / "other", part_size=10)
        bad = (tmp_path / "other" / path.name).read_bytes()
    else:
        bad = {
            "cut": good[: len(good) // 2],
            "empty": b"",
            "flipped": good[:40] + bytes([good[40] ^ 1]) + good[41:],
        }[kind]
    path.write_bytes(bad)
    what = "is of another sweep" if kind == "another" else "is damaged"
    with pytest.warns(RuntimeWarning, match=rf"out: part-00000002.parquet {what}.*: computed again"):
        again = run(square, {"x": range(40)}, tmp_path / "out")
    assert (again.computed, again.kept, again.hash) == (1, 3, first.hash)
    assert len(again.redone) == 1
    assert "1 of them damaged before" in again.summary()
    assert path.read_bytes() == good


def test_nothing_is_computed_twice(tmp_path):
    """Runs that are interrupted over and over: the points of a part that was kept are not called again."""
    (tmp_path / "calls").mkdir()
    function = partial(counted, folder=str(tmp_path / "calls"), each=0.001)
    calls = tmp_path / "calls" / str(os.getpid())

    def done_of(kept):
        return {x for name in kept for x in range(5 * int(name[5:13]), 5 * int(name[5:13]) + 5)}

    kept = []
    while len(kept) < 12:
        calls.write_text("")
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            run(function, {"x": range(60)}, tmp_path / "out", part_size=5)
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            pass
        assert not done_of(kept) & set(map(int, calls.read_text().split()))
        kept = parts(tmp_path / "out")
    assert run(function, {"x": range(60)}, tmp_path / "out").to_pandas()["value"].tolist() == list(
        range(0, 180, 3)
    )


def test_progress_is_never_in_piped_output(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from sweep_points import square; "
        "from schedpy import sweep; sweep.run(square, {'x': range(50)}, out=sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    piped = subprocess.run([*command, str(tmp_path / "piped")], check=True, capture_output=True, text=True)
    assert (piped.stdout, piped.stderr) == ("", "")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    shown = subprocess.run(
        [*command, str(tmp_path / "shown")], check=True, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    assert shown.stdout == b""
    assert b"50.0" in os.read(ours, 100_000)
    os.close(ours)
