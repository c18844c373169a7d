# SPDX-License-Identifier: GPL-2.0-only
"""The mail's table for this machine: what is in it, that it keeps to its time, and that files read back."""

import json
import os
import statistics
import time

import pytest

pytest.importorskip("pandas")
pytest.importorskip("tqdm")

import pandas as pd

from schedpy import __main__ as command_line
from schedpy import stopwatch
from schedpy.lab import clock_cost, idle_clock


@pytest.fixture(scope="module")
def table():
    return clock_cost.measure(rounds=2, calls=50, progress=False)


def test_every_clock_of_the_kernel_is_there(table):
    names = [clock.name for clock in stopwatch.clocks() if clock.kind != "Python"]
    assert [clock.name for clock in table.alone.clocks] == names
    text = str(table)
    for name in (*names, "ktime_get()", "local_clock()", "the counter moves in steps of"):
        assert name in text
    assert "38313" in text
    assert "13487" in text


def test_the_figures_printed_are_those_measured(table):
    line = next(line for line in str(table).splitlines() if line.startswith("CLOCK_TAI "))
    value = table.alone["CLOCK_TAI"].statistics()
    keys = ("average_ns", "stddev_rounds_ns", "max_ns", "min_ns", "stddev_calls_ns")
    forms = (".1f", ".1f", ".0f", ".0f", ".1f")
    assert line.split()[-5:] == [format(value[key], form) for key, form in zip(keys, forms, strict=True)]


def test_all_cpus_race_or_the_table_says_why_not(table):
    if table.race is None:
        assert len(os.sched_getaffinity(0)) == 1
        assert "No race: it needs two CPUs." in str(table)
    else:
        assert len(table.race.threads) == len(table.race.cpus) >= 2
        assert {"CLOCK_MONOTONIC", "syscall(clock_gettime)"} <= {c.name for c in table.race.clocks}
        assert "at once" in str(table)


def test_one_cpu_makes_no_race():
    alone = clock_cost.measure(rounds=2, calls=10, cpus=[0], progress=False)
    assert alone.race is None
    assert str(alone).endswith("No race: it needs two CPUs.")


def test_the_race_is_compared_round_by_round(table):
    compared = clock_cost.race_table(table.alone, table.alone)
    assert (compared["percent"] == 0).all()
    if table.race is not None:
        row = clock_cost.race_table(table.alone, table.race).loc["CLOCK_MONOTONIC"]
        both = [cost["CLOCK_MONOTONIC"].rounds_ns for cost in (table.alone, table.race)]
        assert (row["alone_ns"], row["race_ns"]) == tuple(map(statistics.median, both))
        assert row["percent"] == pytest.approx(100 * (row["race_ns"] - row["alone_ns"]) / row["alone_ns"])


@pytest.mark.parametrize("wrong", [None, "cost", 3])
def test_other_things_are_no_cost(table, wrong):
    with pytest.raises(TypeError, match="alone must be"):
        clock_cost.race_table(wrong, table.alone)
    with pytest.raises(TypeError, match="race must be"):
        clock_cost.race_table(table.alone, wrong)


def test_time_is_shared_between_the_two(monkeypatch):
    asked = []
    real = stopwatch.read_cost

    def noted(*arguments, **more):
        asked.append(more["seconds"])
        return real("empty call", 2, 1, progress=False)

    monkeypatch.setattr(stopwatch, "read_cost", noted)
    clock_cost.measure(cpus=[0, 1], seconds=10, progress=False)
    assert asked == pytest.approx([7, 3])


def test_the_files_read_back(table, tmp_path):
    folder = tmp_path / "new" / "clock"
    table.save(folder)
    for ending in ("json", "csv"):
        assert repr(stopwatch.ReadCost.load(folder / f"alone.{ending}")) == repr(table.alone)
    read = pd.read_csv(folder / "table.csv", index_col="clock")
    pd.testing.assert_frame_equal(read, idle_clock.beside_mail(table.alone))
    assert (folder / "race_table.csv").exists() == (table.race is not None)
    assert json.loads((folder / "alone.json").read_text())["rounds"] == 2


# ---- the command


def test_the_command_prints_and_writes(capsys, tmp_path):
    begin = time.monotonic()
    out = tmp_path / "out"
    command = ["clock", "--rounds", "2", "--calls", "20", "--out", str(out)]
    assert command_line.main(command) == 0
    assert time.monotonic() - begin < 20
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "local_clock()" in printed.out
    assert repr(stopwatch.ReadCost.load(out / "alone.csv")).splitlines()[0] in printed.out


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit, match="0"):
        command_line.main(["clock", "--help"])
    assert "example:\n  python -m schedpy clock" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--rounds", "1"], "rounds"), (["--cpus", "99999", "0"], "cpus"), (["--seconds", "0"], "seconds")],
)
def test_wrong_input_is_one_line(arguments, said, capsys):
    assert command_line.main(["clock", "--calls", "10", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"schedpy clock: {said} = ")
