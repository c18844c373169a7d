# SPDX-License-Identifier: GPL-2.0-only
"""What a sweep refuses: before a folder is made or a worker asked, by the argument's name."""

import pickle
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sweep_points import square

from schedpy import sweep
from schedpy.sweep.points import points_of


def run(out, **how):
    return sweep.run(**{"function": square, "points": {"x": [1]}, "out": out, "progress": False} | how)


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("function", [None, 3, "square"]),
        (
            "points",
            [None, 3, "abc", b"abc", {}, [], iter(()), {"x": []}, [3], [{"x": 1}, {"y": 2}], {3: [1]}],
        ),
        (
            "points",
            [{"x": [object()]}, {"x": [1, "a"]}, {"x": [[1, 2]]}, {"x": np.zeros((2, 2))}, {"x": [2**64]}],
        ),
        (
            "points",
            [{"point": [1]}, {"error": [1]}, pd.DataFrame(), pd.DataFrame([[1, 2]], columns=["x", "x"])],
        ),
        ("out", [None, 3, b"here"]),
        ("executor", ["fast", 3, threading, square]),
        ("seed", [-1, 0.5, "1", None]),
        ("part_size", [0, -1, 0.5, "1"]),
        ("batch", [None, 1, "yes"]),
    ],
)
def test_nonsense_is_refused_by_name(tmp_path, argument, values):
    for value in values:
        with pytest.raises((TypeError, ValueError), match=rf"^{argument}\b"):
            run(**{"out": tmp_path / "out", argument: value})
    assert not (tmp_path / "out").exists()


def test_lazy_points_are_not_computed_silently(tmp_path):
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"lazy"):
        run(tmp_path, points={"x": dask_array.arange(3)})


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ValueError, match=r"^out: .* holds 'thesis.tex' and no sweep"):
        run(tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_broken_manifest_is_named(tmp_path, text):
    run(tmp_path)
    (tmp_path / "_manifest.json").write_text(text)
    with pytest.raises(ValueError, match=r"_manifest.json"):
        run(tmp_path)


def test_a_function_that_cannot_be_sent_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"^function or points cannot be sent"):
        run(tmp_path / "a", function=lambda x: x, executor="processes")
    with pytest.raises(TypeError, match=r"^function: its bound argument"):
        run(tmp_path / "b", function=partial(square, y=threading.Lock()))


def test_a_slice_of_points_is_sent_alone():
    points = points_of(pd.DataFrame({"x": np.arange(100_000)}))
    part = points.part(500, 510)
    assert len(pickle.dumps(part)) < 2000
    copy = pickle.loads(pickle.dumps(part))
    assert copy.columns(500, 510)["x"].to_pylist() == list(range(500, 510))


def test_categories_and_times_are_points(tmp_path):
    frame = pd.DataFrame(
        {
            "kernel": pd.Categorical(["5.12", "6.1"]),
            "at": pd.to_datetime(["2021-04-01", "2026-12-01"]),
            "maybe": pd.array([1, None], dtype="Int64"),
        }
    )
    result = run(tmp_path, function=lambda **point: str(point), points=frame)
    assert result.failures == 0
    text = result.to_pandas()["value"].tolist()
    assert "'kernel': '6.1'" in text[1]
    assert "'maybe': None" in text[1]
    assert len(result.hash) == 64


def test_load_names_what_it_misses(tmp_path):
    with pytest.raises(ValueError, match=r"^folder: .* holds no sweep"):
        sweep.load(tmp_path)
