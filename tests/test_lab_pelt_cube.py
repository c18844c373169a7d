# SPDX-License-Identifier: GPL-2.0-only
"""The cube of worst errors: every cell is what the lab of one task measures, whoever computes it."""

import dask
import numpy as np
import pytest

from schedpy.lab import pelt_cube, pelt_error
from schedpy.lab.pelt_updates import FEW_STARTS_NS
from schedpy.plot import pelt_cube as plot

SMALL = {
    "hz": [100, 1000],
    "run_ns": [1_000_000, 20_000_000],
    "period_ns": [16_000_000, 100_000_000],
    "kernel": ["4.4", "4.12", "5.8"],
    "threshold": [0, 512],
}


@pytest.fixture(scope="module")
def cube():
    return pelt_cube.cube(**SMALL).compute(scheduler="threads")


def test_nothing_is_computed_before_it_is_asked_for():
    lazy = pelt_cube.cube()
    assert set(lazy["of_1024_pct"].sizes) == set(pelt_cube.AXES)
    assert dask.is_dask_collection(lazy)
    assert lazy["of_1024_pct"].chunksizes["hz"] == (1, 1, 1, 1)


def test_a_cell_is_what_the_lab_of_one_task_measures(cube):
    for hz in SMALL["hz"]:
        variants = {"5.8": ("5.8", 0), "5.8 with 512": ("5.8", 512), "4.4": ("4.4", 0)}
        table = pelt_error.run(hz=hz, variants=variants, starts_ns=FEW_STARTS_NS).set_index("variant")
        for name, (kernel, threshold) in variants.items():
            cell = cube.sel(
                hz=hz, run_ns=20_000_000, period_ns=100_000_000, kernel=kernel, threshold=threshold
            )
            for measure in ("of_1024_pct", "of_value_pct"):
                assert float(cell[measure]) == table.loc[name, f"max_{measure}"]


def test_what_cannot_be_is_missing(cube):
    missing = cube["of_1024_pct"].isnull()
    assert missing.sel(kernel="4.4", threshold=512).all()
    assert missing.sel(run_ns=20_000_000, period_ns=16_000_000).all()
    assert not missing.sel(kernel=["4.12", "5.8"], period_ns=100_000_000).any()


def test_a_point_is_a_cell_or_an_error(cube):
    point = {"hz": 100, "run_ns": 1_000_000, "period_ns": 16_000_000, "kernel": "4.12", "threshold": 512}
    assert pelt_cube.worst(**point) == {name: float(cube[name].sel(point)) for name in cube}
    with pytest.raises(ValueError, match=r"^period_ns"):
        pelt_cube.worst(**point | {"run_ns": 20_000_000})
    with pytest.raises(ValueError, match=r"^update_threshold"):
        pelt_cube.worst(**point | {"kernel": "4.4"})
    for call in (
        lambda kernel: pelt_cube.worst(**point | {"kernel": kernel}),
        lambda kernel: pelt_cube.cube(kernel=kernel),
    ):
        with pytest.raises(ValueError, match=r"^kernel = '3.8': has no utilisation"):
            call("3.8")


def test_the_mails_figure_is_in_the_cube():
    mail = {"run_ns": 20_000_000, "period_ns": 100_000_000, "kernel": "4.15", "threshold": [0, 512]}
    (line,) = pelt_cube.verdicts(pelt_cube.cube(**mail).compute()).to_dict("records")
    assert (line["published"], line["verdict"]) == ("2 %", "agrees")
    with pytest.raises(ValueError, match=r"^cube: has no"):
        pelt_cube.verdicts(pelt_cube.cube(**mail | {"kernel": "5.8"}).compute())


def test_small_multiples_show_every_cell(cube):
    axes = plot.small_multiples(cube, kernel="5.8")
    assert axes.shape == (2, 2)
    for row, threshold in zip(axes, SMALL["threshold"], strict=True):
        for ax, hz in zip(row, SMALL["hz"], strict=True):
            (image,) = ax.images
            wanted = cube["of_1024_pct"].sel(kernel="5.8", threshold=threshold, hz=hz).T.values
            np.testing.assert_array_equal(image.get_array().filled(np.nan), wanted)
            assert len(ax.texts) == np.isfinite(wanted).sum() == 3
            assert f"HZ={hz}" in ax.get_title(loc="left") + ax.get_title()
    with pytest.raises(ValueError, match=r"^kernel"):
        plot.small_multiples(cube, kernel="4.15")
    with pytest.raises(ValueError, match=r"^measure"):
        plot.small_multiples(cube, kernel="5.8", measure="error")
