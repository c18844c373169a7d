# SPDX-License-Identifier: GPL-2.0-only
"""What was measured comes back from a file as it was, JSON or CSV, and a failed write changes nothing."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from schedpy import stopwatch

KINDS = ("cost.json", "cost.csv")


@pytest.fixture(scope="module")
def cost():
    return stopwatch.read_cost(rounds=3, calls=200, progress=False)


@pytest.fixture(scope="module")
def raced():
    return stopwatch.read_cost(
        ["CLOCK_MONOTONIC", "empty call"], 2, 100, cpus=os.sched_getaffinity(0), progress=False
    )


def everything(cost):
    threads = [
        [{key: np.asarray(value).tolist() for key, value in vars(clock).items()} for clock in one]
        for one in cost.threads
    ]
    return repr(cost), cost.counter, cost.cpus, cost.pinned, threads


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("which", ["cost", "raced"])
def test_saved_and_loaded(which, name, request, tmp_path):
    cost = request.getfixturevalue(which)
    path = tmp_path / name
    path.write_text("an older one")
    cost.save(path)
    assert everything(stopwatch.ReadCost.load(path)) == everything(cost)
    assert list(tmp_path.iterdir()) == [path]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) & ~(0o666 & ~umask) == 0


def test_the_name_does_not_matter_for_reading(cost, tmp_path):
    cost.save(tmp_path / "cost.csv")
    other = (tmp_path / "cost.csv").rename(tmp_path / "cost.json")
    assert everything(stopwatch.ReadCost.load(other)) == everything(cost)


def test_others_read_the_csv(raced, tmp_path):
    pandas = pytest.importorskip("pandas")
    raced.save(tmp_path / "cost.csv")
    table = pandas.read_csv(tmp_path / "cost.csv", comment="#")
    assert table.columns.tolist() == ["thread", "clock", "measure", "ticks", "count"]
    calls = table[table["measure"] == "single call"].groupby(["thread", "clock"])["count"].sum()
    assert (calls == 2 * 100).all()
    assert len(calls) == 2 * len(raced.threads)
    batches = table[(table["measure"] == "batch of a round") & (table["clock"] == "CLOCK_MONOTONIC")]
    assert batches["ticks"].tolist() == raced["CLOCK_MONOTONIC"].round_ticks.tolist()


@pytest.mark.parametrize("name", KINDS)
def test_a_failed_save_leaves_the_old_file(cost, name, tmp_path, monkeypatch):
    def full(*_):
        raise OSError("no space")

    path = tmp_path / name
    path.write_text("an older one")
    monkeypatch.setattr(json, "dumps", full)
    with pytest.raises(OSError, match="no space"):
        cost.save(path)
    assert path.read_text() == "an older one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "#",
        "# 3\n",
        '{"format": "other"}',
        '{"format": "schedpy.stopwatch.ReadCost/2"}',
        '# {"format": "schedpy.stopwatch.ReadCost/2"}\nthread,clock,measure,ticks,count\n',
    ],
)
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "cost.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"cost\.json: expected a file of schedpy\.stopwatch\.ReadCost"):
        stopwatch.ReadCost.load(path)


def spoilt(lines, what):
    """The lines of a good CSV with one fault."""
    if what == "header":
        return [lines[0], "a,b,c", *lines[2:]]
    if what == "cells":
        return [*lines, "0,rdtsc"]
    if what == "measure":
        return [*lines, "0,empty call,guess,1,1"]
    if what == "number":
        return [*lines, "0,empty call,single call,x,1"]
    if what == "clock":
        return [*lines, "0,sundial,single call,1,1"]
    if what == "order":
        first = next(i for i, line in enumerate(lines) if "single call," in line)
        return lines[:first] + lines[: first - 1 : -1]
    if what == "no round":
        at = next(i for i, line in enumerate(lines) if "batch" in line)
        return lines[:at] + lines[at + 1 :]
    if what == "no rows":
        return lines[:2]
    return [line for line in lines if "single call" not in line]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("header", "line 2: columns"),
        ("cells", "2 cells, must be 5"),
        ("measure", "measure 'guess'"),
        ("number", "'x'"),
        ("clock", "'sundial' of thread 0"),
        ("order", "costs of single calls must ascend"),
        ("no rows", "expected a file"),
        ("no round", "not one value for each of 2 rounds"),
        ("no calls", "not 2 x 100 single calls"),
    ],
)
def test_a_spoilt_csv_is_refused(raced, what, said, tmp_path):
    path = Path(tmp_path / "cost.csv")
    raced.save(path)
    path.write_text("\n".join(spoilt(path.read_text().splitlines(), what)) + "\n")
    with pytest.raises(ValueError, match=said):
        stopwatch.ReadCost.load(path)
