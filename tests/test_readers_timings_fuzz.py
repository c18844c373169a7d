# SPDX-License-Identifier: GPL-2.0-only
"""The readers of timings against what no reader expects: only a ValueError that names the file may leave."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_lab_timings import HISTOGRAM, PROFILE, STAIRS
from test_readers_timings import FEEC, HISTOGRAMS, JSON, PLAIN, REPORT, SWITCH

from schedpy.lab import timings
from schedpy.readers import bpftrace, columns, function_graph, trace_stat

FUZZ = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

READERS = {
    "graph": lambda lines: function_graph.read(lines, "f", FEEC),
    "stat": lambda lines: trace_stat.read(lines, "f", FEEC),
    "bpf": lambda lines: bpftrace.read(lines, "f"),
    "columns": lambda lines: columns.read(lines, "f"),
}
GOOD = {
    "graph": [PLAIN, SWITCH, REPORT, STAIRS],
    "stat": [PROFILE.format(3, "9.000", "3.000", "7.000")],
    "bpf": [HISTOGRAM, HISTOGRAMS, JSON],
    "columns": ["cpu,ns\n0,1\n4,2.5\n", "1\n2\n", "# a\nns cpu task\n1 2 x\n"],
}
WORDS = [
    *"|{}()[]@#:;,.-=<>/* \t\0\"'",
    " us ",
    " us    |  ",
    "find_energy_efficient_cpu() {",
    "find_energy_efficient_cpu();",
    "}",
    "/* ",
    " */",
    "==========> |",
    " 0)  a-1  =>  b-2 ",
    "CPU:0 [LOST 5 EVENTS]",
    "funcgraph_entry:",
    "funcgraph_exit:",
    "[000]",
    "1.000000: ",
    "9" * 25,
    "0",
    "-1",
    "1.5",
    "nan",
    "1e9",
    "[1, 2)",
    "[1K, ...)",
    "(..., 0)",
    "@ns[0]: ",
    "@ns[0]:\n",
    "count 1, average 2, total 3",
    '{"type": "hist", "data": ',
    '{"@": [{"min": 1}]}}',
    "Hit",
    "us",
    "ns",
    "٣",
    "\u2028",
    "\ufeff",
    "\n",
]


def read(kind, text):
    """What a reader gives, or None where it refused as it should."""
    refused = None
    try:
        return READERS[kind](text.splitlines())
    except ValueError as error:
        refused = str(error)
    assert refused.startswith("f: ")
    return None


@pytest.mark.parametrize("kind", READERS)
def test_the_good_texts_are_good(kind):
    for text in GOOD[kind]:
        assert read(kind, text)


@pytest.mark.parametrize("kind", READERS)
@FUZZ
@given(data=st.data())
def test_texts_with_odd_words(kind, data):
    text = data.draw(st.sampled_from(["", *GOOD[kind]]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 12))
        text = (
            text[:at] + "".join(data.draw(st.lists(st.sampled_from(WORDS), max_size=4))) + text[at + gone :]
        )
    read(kind, text)


@pytest.mark.parametrize("kind", READERS)
@FUZZ
@given(text=st.text(max_size=300))
def test_any_text(kind, text):
    read(kind, text)


@FUZZ
@given(
    content=st.binary(max_size=300)
    | st.sampled_from([text.encode() for texts in GOOD.values() for text in texts]),
    cut=st.integers(0, 300),
    kind=st.sampled_from([None, *("function_graph", "trace_stat", "bpftrace", "columns")]),
)
@example(content=b"\x1f\x8b", cut=0, kind=None)
@example(content=b"\x1f\x8b\x08\x00" + bytes(30), cut=0, kind=None)
@example(content=b"", cut=0, kind=None)
@example(content=b"@ns:\n[9E, 15E) 1 |@|\n@ns:\n", cut=0, kind="bpftrace")
@example(content=b"@ns[0]: 99999999999999999999\n@ns[0]: 1\n", cut=0, kind="bpftrace")
@example(content=b"999999999999999999 us\n", cut=0, kind="columns")
def test_any_file(tmp_path, content, cut, kind):
    path = tmp_path / "function0"
    path.write_bytes(content[cut % (len(content) + 1) :] if cut else content)
    refused = None
    try:
        recording = timings.read(path, kind=kind, progress=False)
    except ValueError as error:
        refused = str(error)
    if refused is not None:
        assert "function0" in refused
        return
    assert recording.count() >= 1
    assert str(recording)
    assert recording.per_cpu()["count"].sum() == recording.count()


@pytest.mark.parametrize("kind", READERS)
def test_a_long_line_takes_no_long_time(kind):
    for piece in (" | a-1", "/* */ ", "@[", "1 us ", "a-1 => ", "[1, 2) 1 |", "-", "x"):
        read(kind, piece * 3000)
