# SPDX-License-Identifier: GPL-2.0-only
"""Kernel versions: closed ranges, no silent nearest match."""

import pytest

from schedpy import kernel


@pytest.mark.parametrize(
    ("release", "form"),
    [
        ("4.12", "P412"),
        ("v4.12", "P412"),
        ("4.19.0-07801-g0123", "P415"),
        ("5.0.21", "P415"),
        ("5.1", "P51"),
        ("6.1.0-rc3", "P61"),
        ("6.19", "P61"),
    ],
)
def test_form(release, form):
    assert kernel.form("pelt.update", release) == form


@pytest.mark.parametrize("release", ["6.20", "7.0", "2.6", "0.0"])
def test_outside_every_range(release):
    with pytest.raises(ValueError, match="not proven for it; proven nearest"):
        kernel.form("pelt.update", release)


def test_versions_compare_by_number_not_by_text():
    with pytest.raises(ValueError, match=r"proven nearest below: 5\.7 \.\. 6\.19$"):
        kernel.form("pelt.update", "6.100")


@pytest.mark.parametrize("bad", [5.12, 5, None, b"5.12", ("5", "12")])
def test_no_string(bad):
    with pytest.raises(TypeError, match="kernel = "):
        kernel.form("pelt.update", bad)


@pytest.mark.parametrize("bad", ["", "five", "5", "5.x", "5.12.x.y", " 5.12", "5.12\n"])
def test_no_release(bad):
    with pytest.raises(ValueError, match="must be a release"):
        kernel.form("pelt.update", bad)


def test_unknown_rule():
    with pytest.raises(ValueError, match="rule = 'pelt'"):
        kernel.form("pelt", "5.12")


def test_single_patch_levels(monkeypatch):
    monkeypatch.setitem(kernel.RULES, "probe", (kernel.Range("6.1", "6.1", "v6.1", "6.1.192"),))
    monkeypatch.setitem(kernel.EXACT, "probe", {"6.1": "6.1.192"})
    assert kernel.form("probe", "6.1") == kernel.form("probe", "6.1.192") == "v6.1"
    with pytest.raises(ValueError, match=r"proven for 6\.1\.192 alone"):
        kernel.form("probe", "6.1.0")


def test_ranges_are_ordered_and_do_not_overlap():
    for rule in kernel.RULES:
        borders = [
            tuple(map(int, version.split("."))) for r in kernel.ranges(rule) for version in (r.first, r.last)
        ]
        assert borders == sorted(borders)
        firsts = borders[::2]
        assert len(set(firsts)) == len(firsts)
        assert all(last < first for last, first in zip(borders[1::2], borders[2::2], strict=False))
