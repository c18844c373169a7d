# SPDX-License-Identifier: GPL-2.0-only
"""A sweep: points in, rows in point order out; the second run computes what is missing and nothing else."""

import hashlib
import inspect
import json
import re
import struct
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sweep_points import (
    batch_fails_at_seven,
    counted,
    drawn,
    drawn_batch,
    fails_at_seven,
    several_rows,
    square,
    worst_util,
)

from schedpy import sweep
from schedpy.sweep.columns import ColumnHash, column


def run(function, points, out, **how):
    return sweep.run(function, points, out=out, progress=False, **how)


# Points


def test_a_dict_of_lists_is_every_combination_the_last_name_fastest(tmp_path):
    frame = run(square, {"x": [3, 1], "y": (10, 20, 30)}, tmp_path / "out").to_pandas()
    assert frame[["x", "y"]].values.tolist() == [list(pair) for pair in product([3, 1], [10, 20, 30])]
    assert frame["value"].tolist() == [x * x * y for x, y in product([3, 1], [10, 20, 30])]
    assert frame.index.name == "point"


@pytest.mark.parametrize(
    "points",
    [
        lambda: {"x": [1, 2, 3, 4, 5]},
        lambda: {"x": range(1, 6)},
        lambda: {"x": np.arange(1, 6)},
        lambda: ({"x": x} for x in range(1, 6)),
        lambda: [{"x": x} for x in range(1, 6)],
        lambda: pd.DataFrame({"x": range(1, 6)}, index=list("vwxyz")),
    ],
    ids=["list", "range", "array", "generator", "list of dicts", "frame"],
)
def test_points_may_come_in_any_form(tmp_path, points):
    result = run(square, points(), tmp_path / "out", part_size=2)
    assert result.to_pandas()["value"].tolist() == [1, 4, 9, 16, 25]
    assert len(result) == 5
    assert len(result.parts) == 3
    again = run(square, points(), tmp_path / "out")
    assert (again.computed, again.kept, again.hash) == (0, 3, result.hash)


def test_a_single_value_is_an_axis_of_one(tmp_path):
    frame = run(square, {"x": [2, 3], "y": 5}, tmp_path / "out").to_pandas()
    assert frame["value"].tolist() == [20, 45]


def test_points_keep_their_kind(tmp_path):
    seen = []

    def look(**point):
        seen.append(point)
        return 0

    points = [
        {"i": 2**63, "f": 0.5, "t": "ä", "b": True, "n": None},
        {"i": 1, "f": 1.0, "t": "", "b": False, "n": 3},
    ]
    run(look, points, tmp_path / "out", executor=None, part_size=2)
    assert seen == points
    assert [type(v) for v in seen[0].values()] == [int, float, str, bool, type(None)]


def test_ten_thousand_million_points_are_numbered_without_being_made():
    points = sweep.points.points_of({"a": range(100_000), "b": range(100_000)})
    assert len(points) == 10**10
    last = points.part(10**10 - 2, 10**10).columns(10**10 - 2, 10**10)
    assert {name: array.to_pylist() for name, array in last.items()} == {
        "a": [99_999] * 2,
        "b": [99_998, 99_999],
    }


# What comes back


def test_a_failing_point_is_a_row_with_its_error(tmp_path):
    result = run(fails_at_seven, {"x": range(10)}, tmp_path / "out", part_size=4)
    frame = result.to_pandas()
    assert frame["double"].isna().tolist() == [x == 7 for x in range(10)]
    assert frame["text"].dropna().tolist() == [str(x) for x in range(10) if x != 7]
    assert result.failures == 1
    assert result.failed.to_dict("index") == {7: {"x": 7, "error": "ValueError: seven is not taken"}}
    assert "1 failed" in result.summary()


def test_a_sweep_in_which_every_point_fails_is_a_result(tmp_path):
    result = run(square, {"x": ["a", "b"]}, tmp_path / "out", part_size=1)
    assert result.failures == 2
    assert result.to_pandas().columns.tolist() == ["x", "error"]


def test_failed_points_are_tried_again_when_asked(tmp_path):
    flag = tmp_path / "ready"

    def flaky(x):
        if x == 3 and not flag.exists():
            raise OSError("not yet")
        return x

    first = run(flaky, {"x": range(6)}, tmp_path / "out", part_size=2)
    flag.touch()
    assert run(flaky, {"x": range(6)}, tmp_path / "out").computed == 0
    again = run(flaky, {"x": range(6)}, tmp_path / "out", retry_failed=True)
    assert (first.failures, again.failures, again.computed) == (1, 0, 1)


def test_a_frame_gives_several_rows_of_its_point(tmp_path):
    result = run(several_rows, {"x": [5, 6]}, tmp_path / "out", part_size=1)
    frame = result.to_pandas()
    assert frame.columns.tolist() == ["x", "row", "k", "product", "error"]
    assert frame["product"].tolist() == [0, 5, 10, 0, 6, 12]
    assert frame.index.tolist() == [0, 0, 0, 1, 1, 1]
    assert result.rows == 6
    dataset = result.to_xarray()
    assert dataset["product"].dims == ("x", "row")
    assert dataset["product"].sel(x=6).values.tolist() == [0, 6, 12]


def test_numbers_keep_the_kernels_type(tmp_path):
    frame = run(
        worst_util, {"run_ms": [3], "period_ms": [16], "hz": [100, 250]}, tmp_path / "out"
    ).to_pandas()
    assert frame.dtypes[["worst", "load_sum", "mean"]].map(str).tolist() == ["uint64", "uint64", "float64"]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ([1, 2], "'value' as list: must be a scalar"),
        ({"a": {}}, "'a' as dict"),
        ({1: 2}, "named 1"),
        ({"error": 2}, "named 'error', which every sweep has"),
        ({"x": 5}, "'x' = 5: the point has 0"),
    ],
)
def test_what_is_no_row_is_an_error_of_its_point(tmp_path, result, words):
    out = run(lambda x: result, {"x": [0]}, tmp_path / "out")
    assert words in out.failed["error"][0]


def test_a_column_that_repeats_the_point_is_left_out(tmp_path):
    frame = run(lambda x: {"x": x, "y": 1}, {"x": [0, 4]}, tmp_path / "out").to_pandas()
    assert frame.columns.tolist() == ["x", "y", "error"]


def test_columns_of_two_kinds_are_refused(tmp_path):
    with pytest.raises(TypeError, match="kind"):
        run(lambda x: 1 if x else "a", {"x": [0, 1]}, tmp_path / "one", part_size=2)
    with pytest.raises(TypeError, match="kinds in different parts"):
        run(lambda x: 1 if x else "a", {"x": [0, 1]}, tmp_path / "two", part_size=1).to_pandas()


def test_xarray_has_the_axes_as_labels(tmp_path):
    dataset = run(square, {"x": [3, 1], "y": [10, 20, 30]}, tmp_path / "out").to_xarray()
    assert dict(dataset.sizes) == {"x": 2, "y": 3}
    assert int(dataset["value"].sel(x=3, y=20)) == 180
    listed = run(square, [{"x": 3, "y": 1}, {"x": 4, "y": 2}], tmp_path / "list").to_xarray()
    assert listed["value"].dims == ("point",)
    assert listed["x"].values.tolist() == [3, 4]


def test_a_few_points_are_read_alone(tmp_path):
    result = run(square, {"x": range(20)}, tmp_path / "out", part_size=3)
    spoilt = tmp_path / "out" / "part-00000001.parquet"
    spoilt.write_bytes(b"PAR1" + bytes(100) + spoilt.read_bytes()[104:])
    with pytest.raises(OSError, match="page header"):
        result.take([3])
    taken = result.take([17, 2])
    assert taken[["x", "value"]].to_dict("index") == {2: {"x": 2, "value": 4}, 17: {"x": 17, "value": 289}}
    assert taken["error"].isna().all()


def test_a_result_shows_itself(tmp_path):
    result = run(partial(square, y=2), {"x": range(3)}, tmp_path / "out")
    assert "sweep_points:square" in str(result)
    assert "<table>" in result._repr_html_()
    assert re.search(r"y +2", str(result))


def test_a_folder_is_loaded_and_read_by_others(tmp_path):
    result = run(square, {"x": range(7)}, tmp_path / "out", part_size=3)
    assert sweep.load(tmp_path / "out").hash == result.hash
    assert pd.read_parquet(tmp_path / "out")["value"].tolist() == [x * x for x in range(7)]
    assert [table.num_rows for table in result.tables()] == [3, 3, 1]
    (tmp_path / "out" / "part-00000001.parquet").unlink()
    with pytest.raises(ValueError, match="1 of 3 parts are missing"):
        sweep.load(tmp_path / "out")


# Random numbers


@pytest.mark.parametrize("part_size", [1, 4, 20])
def test_a_point_draws_the_same_numbers_wherever_it_is_computed(tmp_path, part_size):
    frame = run(drawn, {"x": range(20)}, tmp_path / "out", part_size=part_size, seed=7).to_pandas()
    wanted = [
        x + int(np.random.default_rng(np.random.SeedSequence(7, spawn_key=(x,))).integers(1000))
        for x in range(20)
    ]
    assert frame["value"].tolist() == wanted
    batch = run(drawn_batch, {"x": range(20)}, tmp_path / "b", part_size=part_size, seed=7, batch=True)
    assert batch.to_pandas()["value"].tolist() == wanted


# Batches


def test_a_batch_is_halved_until_the_failing_point_is_alone(tmp_path):
    result = run(batch_fails_at_seven, {"x": range(100)}, tmp_path / "out", batch=True, part_size=50)
    assert result.failed.to_dict("index") == {7: {"x": 7, "error": "ValueError: seven"}}
    assert result.to_pandas()["double"].drop(7).tolist() == [2 * x for x in range(100) if x != 7]


def test_a_batch_of_another_length_is_refused(tmp_path):
    with pytest.raises(ValueError, match="returned 2 values of 'value' for 10 points"):
        run(lambda x: x[:2], {"x": range(10)}, tmp_path / "out", batch=True)


# The second run


def test_only_what_is_missing_is_computed(tmp_path):
    (tmp_path / "calls").mkdir()
    function = partial(counted, folder=str(tmp_path / "calls"), each=0)
    first = run(function, {"x": range(20)}, tmp_path / "out", part_size=5)
    (tmp_path / "out" / "part-00000002.parquet").unlink()
    again = run(function, {"x": range(20)}, tmp_path / "out")
    assert (again.computed, again.kept) == (1, 3)
    assert again.hash == first.hash
    (calls,) = (tmp_path / "calls").iterdir()
    assert sorted(map(int, calls.read_text().split())) == sorted([*range(20), *range(10, 15)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"part_size": 3}, "part_size is 5 there and 3 here"),
        ({"batch": True}, "batch is False there and True here"),
        ({"points": {"x": range(21)}}, "points.count is 20 there and 21 here"),
        ({"points": {"x": range(1, 21)}}, "the values of points.columns.x differ"),
        ({"points": {"y": range(20)}}, "points.columns.x.values is 20 there and missing here"),
        ({"function": drawn}, "function.name is 'sweep_points:square' there and 'sweep_points:drawn' here"),
        ({"function": partial(square, y=2)}, "function.bound.y is missing there and '2' here"),
    ],
)
def test_another_sweep_in_the_folder_is_refused_with_what_differs(tmp_path, change, words):
    good = {
        "function": square,
        "points": {"x": range(20)},
        "part_size": 5,
        "out": tmp_path,
        "progress": False,
    }
    sweep.run(**good)
    with pytest.raises(ValueError, match=f"^out: .* holds another sweep: .*{re.escape(words)}"):
        sweep.run(**good | change)


def test_another_version_or_source_is_refused(tmp_path):
    run(square, {"x": [1]}, tmp_path)
    path = tmp_path / "_manifest.json"
    manifest = json.loads(path.read_text())
    source = hashlib.sha256(inspect.getsource(square).encode()).hexdigest()
    assert manifest["function"]["source_sha256"] == source
    for key, words in [
        ("schedpy", "schedpy is '0.0.9' there"),
        ("function", "source of sweep_points:square"),
    ]:
        old = json.loads(json.dumps(manifest))
        if key == "schedpy":
            old["schedpy"] = "0.0.9"
        else:
            old["function"]["source_sha256"] = "0" * 64
        path.write_text(json.dumps(old))
        with pytest.raises(ValueError, match=words):
            run(square, {"x": [1]}, tmp_path)


# The hash


def test_the_hash_does_not_depend_on_the_size_of_the_parts(tmp_path):
    hashes = {
        run(fails_at_seven, {"x": range(20)}, tmp_path / str(size), part_size=size).hash
        for size in (1, 3, 20)
    }
    assert len(hashes) == 1


def test_the_hash_sees_every_value():
    def digest(values):
        array = column(values, "x")
        each = ColumnHash("x", array.type)
        each.update(array)
        return each.digest()

    lists = [
        [1, 2],
        [2, 1],
        [1, None],
        [None, 1],
        [0, 1],
        [1.0, 2.0],
        ["ab", "c"],
        ["a", "bc"],
        ["", None],
        [None, ""],
    ]
    assert (
        len({digest(values) for values in [*lists, [True, False], [False, True], [1.0, float("nan")]]}) == 13
    )


@pytest.mark.parametrize(
    "values", [[1, None, 3, 4], ["ä", None, "", "xyz"], [True, None, False, True], [0.1, 2, None, 3]]
)
def test_the_hash_does_not_see_where_a_column_is_cut(values):
    whole = column(values, "x")
    for cut in range(5):
        each = ColumnHash("x", whole.type)
        each.update(whole.slice(0, cut))
        each.update(pa.concat_arrays([whole.slice(cut)]))
        other = ColumnHash("x", whole.type)
        other.update(whole)
        assert each.digest() == other.digest()


def test_the_hash_is_what_its_description_says(tmp_path):
    """Per column, by name: sha256 of name and type, then of the sha256 of validity, lengths and data."""
    sha256 = hashlib.sha256

    def digest(name, kind, valid, lengths, data):
        inner = b"".join(sha256(bytes(part)).digest() for part in (valid, lengths, data))
        return sha256(f"{name}\n{kind}\n".encode() + inner).digest()

    def int64(values):
        return b"".join(struct.pack("<q", value) for value in values)

    good = [x for x in range(10) if x != 7]
    taken, at_seven = [x != 7 for x in range(10)], [x == 7 for x in range(10)]
    words = "ValueError: seven is not taken"
    wanted = [
        digest("double", "int64", taken, b"", int64(2 * x if x != 7 else 0 for x in range(10))),
        digest("error", "string", at_seven, struct.pack("<10i", *(30 * x for x in at_seven)), words.encode()),
        digest("point", "int64", [True] * 10, b"", int64(range(10))),
        digest("text", "string", taken, struct.pack("<10i", *taken), "".join(map(str, good)).encode()),
        digest("x", "int64", [True] * 10, b"", int64(range(10))),
    ]
    assert run(fails_at_seven, {"x": range(10)}, tmp_path).hash == sha256(b"".join(wanted)).hexdigest()
