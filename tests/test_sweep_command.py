# SPDX-License-Identifier: GPL-2.0-only
"""`python -m schedpy sweep FILE.toml`: described sweeps, and the examples that come with the source."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sweep_points import fails_at_seven

from schedpy import sweep
from schedpy.__main__ import main
from schedpy.sweep.parts import Job, compute
from schedpy.sweep.points import points_of

EXAMPLES = sorted((Path(__file__).parent.parent / "benchmarks/sweeps").glob("*.toml"))


def described(tmp_path, text):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return path


def test_every_lab_experiment_has_an_example():
    assert {path.stem for path in EXAMPLES} >= {"placements", "pelt_error", "idle_clock"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(tmp_path, path):
    """Its first and its last points, as a worker computes them."""
    found = sweep.read(path)
    points = points_of(found["points"])
    batch = found.get("batch", False)
    for number, start in enumerate((0, len(points) - 1)):
        job = Job(found["function"], points, start, start + 1, number, 0, batch, str(tmp_path), "s", "r")
        part = compute(job)
        assert part.rows > 0
        assert part.failed == 0


def test_the_command_says_one_line_and_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = described(
        tmp_path,
        'function = "sweep_points:fails_at_seven"\nout = "here"\npart_size = 4\n[points]\nx = {stop = 10}\n',
    )
    assert main(["sweep", str(file)]) == 0
    said = capsys.readouterr()
    result = sweep.run(fails_at_seven, {"x": range(10)}, out=tmp_path / "other", progress=False)
    pattern = (
        r"here: 10 points, 10 rows, 1 failed \(the first is point 7, ValueError: seven is not taken\); "
        rf"3 of 3 parts computed in \d+\.\d s; sha256 {result.hash}\n"
    )
    assert re.fullmatch(pattern, said.out)
    assert said.err == ""
    assert main(["sweep", str(file), "--executor", "threads"]) == 0
    assert "; 0 of 3 parts computed" in capsys.readouterr().out
    assert main(["sweep", str(file), "--retry-failed"]) == 0
    assert "; 1 of 3 parts computed" in capsys.readouterr().out
    assert main(["sweep", str(file), "--out", "elsewhere"]) == 0
    assert len(list((tmp_path / "elsewhere").glob("part-*"))) == 3


def test_what_is_wrong_ends_in_one_line(tmp_path, capsys):
    file = described(tmp_path, f'function = "sweep_points:square"\nout = "{tmp_path}"\n[points]\nx = [1]\n')
    assert main(["sweep", str(file)]) == 1
    assert capsys.readouterr().err.startswith(
        f"schedpy sweep: out: {tmp_path} holds 'sweep.toml' and no sweep"
    )


def test_arguments_and_ranges(tmp_path):
    found = sweep.read(
        described(
            tmp_path,
            'function = "sweep_points:square"\nout = "here"\nseed = 3\n[arguments]\ny = 5\n[points]\n'
            "x = {start = 2, stop = 9, step = 3}\n"
            'g = {first = 1, last = 1000, count = 4, spacing = "geometric"}\n'
            "l = {first = 0, last = 10, count = 3}\n",
        )
    )
    points = {name: list(values) for name, values in found["points"].items()}
    assert points == {"x": [2, 5, 8], "g": [1, 10, 100, 1000], "l": [0, 5, 10]}
    assert (found["function"](3), found["out"], found["seed"]) == (45, "here", 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("function", "sweep.toml: "),
        ('out = "a"\n[points]\nx = 1', "'function' is missing"),
        ('function = "sweep_points:square"\n[points]\nx = 1', "'out' is missing"),
        ('function = "sweep_points:square"\nout = "a"', "'points' is missing"),
        ('function = "sweep_points:square"\nout = "a"\npoints = 3', "'points' must be a table"),
        ('function = "square"\nout = "a"\n[points]\nx = 1', "must be 'module:name'"),
        ('function = 3\nout = "a"\n[points]\nx = 1', "must be 'module:name'"),
        ('function = "nowhere:square"\nout = "a"\n[points]\nx = 1', "is not there"),
        ('function = "sweep_points:cube"\nout = "a"\n[points]\nx = 1', "is not there"),
        ('function = "sweep_points:__doc__"\nout = "a"\n[points]\nx = 1', "is no function"),
        ('function = "sweep_points:square"\nout = "a"\nworker = 3\n[points]\nx = 1', "'worker' is unknown"),
        (
            'function = "sweep_points:square"\nout = "a"\nexecutor = "gpu"\n[points]\nx = 1',
            "executor must be",
        ),
        (
            "<square>x = {stop = 1.5}",
            "points.x: start, stop and step",
        ),
        ("<square>x = {stop = 3, step = 0}", "step not 0"),
        ("<square>x = {from = 1}", "points.x must be a list"),
        (
            '<square>x = {first = 0, last = 9, count = 3, spacing = "geometric"}',
            "at least 1",
        ),
        (
            '<square>x = {first = 0, last = 9, count = 3, spacing = "log"}',
            "must be one of linear, geometric",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path, text, words):
    text = text.replace("<square>", 'function = "sweep_points:square"\nout = "a"\n[points]\n')
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        sweep.read(described(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "sweep.toml"))


def test_help_has_an_example_that_exists():
    done = subprocess.run(
        [sys.executable, "-m", "schedpy", "sweep", "--help"], check=True, capture_output=True, text=True
    )
    example = re.search(r"python -m schedpy sweep (\S+)\n", done.stdout)[1]
    assert (Path(__file__).parent.parent / example) in EXAMPLES
