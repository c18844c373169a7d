# SPDX-License-Identifier: GPL-2.0-only
"""Every reader against what no reader expects: only a ValueError or an OSError may leave."""

import json

import pytest
from em_debugfs import as_archive, shown
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_readers_csv import TEXT
from test_readers_dt import hikey960, saved
from test_readers_netlink import answers
from test_readers_plat_info import plat_info

from schedpy import em

PIXEL4 = em.EnergyModel.load("pixel4")
TOML = 'unit = "mW"\n[[domain]]\nname = "a"\ncpus = [0]\ncapacity = 5\nfreq_khz = [1, 2]\npower = [1, 2]\n'

FUZZ = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Suffix -> a good file's content."""
    folder = tmp_path_factory.mktemp("whole")
    files = {path: text for path, text in shown(PIXEL4, "6.12").items() if "cpu4" in path or "cpus" in path}
    small = {path: text for path, text in files.items() if "cpu4" in path}
    return {
        ".csv": TEXT.encode(),
        ".dtb": saved(hikey960(), folder).read_bytes(),
        ".json": json.dumps(answers()[0] + answers()[1]).encode(),
        ".tar": as_archive(small, folder / "m.tar").read_bytes(),
        ".tar.gz": as_archive(small, folder / "m.tar.gz", "w:gz").read_bytes(),
        ".tar.xz": as_archive(small, folder / "m.tar.xz", "w:xz").read_bytes(),
        ".toml": TOML.encode(),
        ".yml": plat_info().encode(),
    }


SUFFIXES = [".csv", ".dtb", ".json", ".tar", ".tar.gz", ".tar.xz", ".toml", ".yml"]


def load(path, content):
    """The model, or None where it was refused as it should be."""
    path.write_bytes(content)
    refused = None
    try:
        return em.EnergyModel.load(path, unit=None if path.suffix in (".dtb", ".toml") else "bogo")
    except ValueError as error:
        refused = str(error)
    assert str(path) in refused
    return None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_good_files_are_good(tmp_path, whole, suffix):
    assert load(tmp_path / f"m{suffix}", whole[suffix])


edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.binary(max_size=6)), min_size=1, max_size=6)


@pytest.mark.parametrize("suffix", SUFFIXES)
@FUZZ
@given(edits=edits, end=st.floats(0.5, 2))
def test_files_changed_here_and_there(tmp_path, whole, suffix, edits, end):
    content = bytearray(whole[suffix])
    for place, gone, new in edits:
        at = int(place * len(content))
        content[at : at + gone] = new
    load(tmp_path / f"m{suffix}", bytes(content[: int(end * len(content))]))


TOKENS = [
    *"[]{}:,=-\"'#&*!|>%@`\n\t \0",
    "- ",
    ": ",
    "\n  ",
    "? ",
    "--- ",
    "...",
    "!!omap",
    "!!int",
    "!<tag>",
    "!!python/name:os.system ''",
    "<<: *a",
    "&a ",
    "*a",
    "%YAML 9.9\n",
    "null",
    "true",
    "-1",
    "1e999",
    "NaN",
    "9" * 30,
    "1979-05-27",
    "0x",
    "domain",
    "cpus",
    "power",
    "freq_khz",
    "[[domain]]",
    "perf-state",
    "perf-domain-id",
    "nrg-model",
    "cpu_nodes",
    "\\U0011FFFF",
    "\\",
    "\ufeff",
    "\u2028",
    "\x85",
]


@pytest.mark.parametrize("suffix", [".csv", ".json", ".toml", ".yml"])
@FUZZ
@given(data=st.data())
def test_texts_with_odd_words(tmp_path, whole, suffix, data):
    words = data.draw(st.lists(st.sampled_from(TOKENS), max_size=12))
    base = data.draw(st.sampled_from(["", whole[suffix].decode()]))
    at = data.draw(st.integers(0, len(base)))
    text = base[:at] + "".join(words) + base[at:]
    load(tmp_path / f"m{suffix}", text.encode())


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 2**64)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["perf-domain-id", "cpus", "perf-domain-microwatts"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["perf-domain-id", "flags", "cpus", "perf-state", "power", "frequency", "cost"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@FUZZ
@given(value=values)
@example(value=[{"perf-domain-id": 0, "cpus": [0], "flags": [], "perf-state": [{"flags": [[]]}]}])
def test_answers_of_another_shape(tmp_path, value):
    assert load(tmp_path / "m.json", json.dumps(value).encode()) is None


@FUZZ
@given(content=st.binary(max_size=600), suffix=st.sampled_from([*SUFFIXES, "", ".txt"]))
@example(content=b"\xd0\x0d\xfe\xed" + bytes(60), suffix="")
@example(content=b"\x1f\x8b\x08", suffix="")
@example(content=b"BZh9", suffix="")
@example(content=b"\xfd7zXZ\0" + bytes(30), suffix="")
def test_any_bytes(tmp_path, content, suffix):
    assert load(tmp_path / f"m{suffix}", content) is None


@pytest.mark.parametrize("deep", ["[", "{a = ", "[{x = "])
def test_toml_nested_too_deep(tmp_path, deep):
    assert load(tmp_path / "m.toml", ("domain = " + deep * 20_000).encode()) is None


def test_suffixes_are_named_where_none_fits(tmp_path):
    path = tmp_path / "m.txt"
    path.write_text("hello")
    with pytest.raises(
        ValueError, match=r"m\.txt: neither a device tree nor a tar archive, and text must end in"
    ):
        em.EnergyModel.load(path)
