# SPDX-License-Identifier: GPL-2.0-only
"""Timings of a device: from files of every tool to moments per CPU and phase, or a refusal that says why."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from schedpy import stats
from schedpy.lab import timings

TRACES = Path(__file__).parents[2] / "shared" / "traces"


@pytest.fixture
def write(tmp_path):
    def writer(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return writer


def graph(*calls, phase=None):
    """Leaf calls as tracefs shows them: (seconds, cpu, us), and markers: (seconds, text)."""
    for seconds, *rest in calls:
        if len(rest) == 1:
            yield f" {seconds:.6f} |   0)               |  /* {rest[0]} */"
        else:
            yield f" {seconds:.6f} |   {rest[0]})   {rest[1]:.3f} us    |  find_energy_efficient_cpu();"


def lines(*calls):
    return "# tracer: function_graph\n" + "\n".join(graph(*calls)) + "\n"


STAIRS = lines(
    (0.5, 0, 9.0),
    (1.0, "step 0"),
    (1.1, 0, 1.0),
    (1.2, 4, 2.0),
    (1.3, 0, 3.0),
    (2.0, "step 1"),
    (2.1, 4, 4.0),
    (2.2, 4, 6.0),
    (3.0, "stop"),
    (3.1, 4, 99.0),
)
STEPS = {0: "step 0", 1: "step 1", None: "stop"}


def test_samples_per_cpu(write):
    recording = timings.read(write("trace.txt", STAIRS))
    assert recording.holds == "samples"
    assert recording.what == "find_energy_efficient_cpu"
    table = recording.per_cpu()
    assert table.index.tolist() == [0, 4]
    assert table.loc[0, ["mean", "count"]].tolist() == [13000 / 3, 3]
    assert table.loc[0, "std"] == np.std([9000, 1000, 3000], ddof=1)
    assert recording.moments([0]) == stats.Moments.of([9000, 1000, 3000])
    assert recording.samples(4).tolist() == [2000, 4000, 6000, 99000]
    assert recording.markers["text"].tolist() == ["step 0", "step 1", "stop"]


@pytest.mark.parametrize(
    "phases", [STEPS, {0: (1, 2), 1: (2, 3)}, {1: [(2, 2.15), (2.15, 3)], 0: (1.0, 1.5)}]
)
def test_phases_by_markers_and_by_times(write, phases):
    recording = timings.read(write("trace.txt", STAIRS)).in_phases(phases)
    assert recording.samples(phase=0).tolist() == [1000, 2000, 3000]
    assert recording.samples([4], phase=1).tolist() == [4000, 6000]
    assert recording.per_cpu().index.tolist() == [(0, 0), (0, 4), (1, 4)]
    assert "2 of 7 samples lie outside of the phases" in recording.notes
    assert recording.count([4], 0) == 1
    assert recording.count([9], 0) == 0


def test_the_end_of_a_range_is_not_in_it(write):
    recording = timings.read(write("trace.txt", STAIRS)).in_phases({0: (1.1, 2.1), 1: (2.1, 2.2)})
    assert recording.samples(phase=0).tolist() == [1000, 2000, 3000]
    assert recording.samples(phase=1).tolist() == [4000]


def test_repetitions_and_several_files(write):
    again = lines((1, "step 1"), (1.1, 4, 8.0), (2, "step 0"), (2.1, 0, 5.0), (3, "step 1"), (3.1, 4, 7.0))
    paths = [write("a.txt", STAIRS), write("b.txt", again)]
    recording = timings.read(paths).in_phases(STEPS)
    assert recording.samples(phase=0).tolist() == [1000, 2000, 3000, 5000]
    assert recording.samples(phase=1).tolist() == [4000, 6000, 8000, 7000]
    assert recording.where.endswith("a.txt and 1 more")


def test_a_call_belongs_where_it_starts(write):
    text = (
        " 1.000000 | 0)               |  find_energy_efficient_cpu() {\n"
        " 1.000001 | 0)               |    /* step 1 */\n"
        " 1.000002 | 0)   2.000 us    |  }\n"
        " 1.000003 | 0)   4.000 us    |  find_energy_efficient_cpu();\n"
    )
    recording = timings.read(write("trace.txt", text))
    assert recording.in_phases({1: "step 1"}).samples().tolist() == [4000]
    assert recording.in_phases({1: (0.5, 1.000002)}).samples().tolist() == [2000]


@pytest.mark.parametrize(
    ("phases", "error", "message"),
    [
        ({0: "step"}, None, None),
        ({0: "step 0", 1: "step"}, ValueError, r"line 3: 'step 0' has the texts of 0 and 1"),
        ({0: "step 0", 1: "step 7"}, ValueError, r"phases: 'step 7' is in no marker of .*trace.txt"),
        ({0: "step 0", 1: (1, 2)}, ValueError, r"all be texts of markers, or all be times"),
        ({0: ""}, ValueError, r"a text must not be empty"),
        ({0: (1, 2), 1: (1.5, 3)}, ValueError, r"phases: 0 and 1 overlap"),
        ({0: (2, 1)}, ValueError, r"0: \(2, 1\): must be \(start, end\)"),
        ({0: 7}, TypeError, r"0: 7: must be \(start, end\)"),
        ({0: (1, float("nan"))}, ValueError, r"must be \(start, end\)"),
        ({None: (1, 2)}, ValueError, r"None names a marker"),
        ({0: (50, 60)}, ValueError, r"phases: 0 has no sample"),
        ({}, TypeError, r"phases must be a dictionary"),
        ("step", TypeError, r"phases must be a dictionary"),
    ],
)
def test_phases_that_are_not_clear_are_refused(write, phases, error, message):
    recording = timings.read(write("trace.txt", STAIRS))
    if error is None:
        assert recording.in_phases(phases).count() == 6
        return
    with pytest.raises(error, match=message):
        recording.in_phases(phases)


def test_times_that_are_not_there(write):
    recording = timings.read(write("trace.txt", " 0)   2.000 us    |  find_energy_efficient_cpu();\n" * 2))
    with pytest.raises(ValueError, match="has no times: record with funcgraph-abstime"):
        recording.in_phases({0: (0, 1)})
    with pytest.raises(ValueError, match=r"the recording has no phases: in_phases"):
        recording.moments(phase=0)


PROFILE = """\
  Function                               Hit    Time            Avg             s^2
  --------                               ---    ----            ---             ---
  find_energy_efficient_cpu                {}    {} us        {} us        {} us
"""


def test_the_profiler_gives_moments_per_cpu(tmp_path):
    # CPU 0: 1, 2, 6 us. CPU 3: 5 us. CPU 10: 4, 8 us.
    for cpu, figures in {0: (3, "9.000", "3.000", "7.000"), 3: (1, "5.000", "5.000", "0.000")}.items():
        (tmp_path / f"function{cpu}").write_text(PROFILE.format(*figures))
    (tmp_path / "function10").write_text(PROFILE.format(2, "12.000", "6.000", "8.000"))
    recording = timings.read(tmp_path)
    assert recording.holds == "moments"
    table = recording.per_cpu()
    assert table.index.tolist() == [0, 3, 10]
    assert table.loc[10, ["mean", "count"]].tolist() == [6000, 2]
    assert np.isnan(table.loc[3, "std"])
    for cpus, us in (([0, 10], [1, 2, 6, 4, 8]), ([0, 3, 10], [1, 2, 6, 5, 4, 8]), ([3, 10], [5, 4, 8])):
        pooled, whole = recording.moments(cpus), stats.Moments.of(np.array(us) * 1000.0)
        assert (pooled.mean, pooled.std) == (pytest.approx(whole.mean), pytest.approx(whole.std))
        assert pooled.count == whole.count
    with pytest.raises(ValueError, match=r"1 samples of CPUs \[3\]: at least 2"):
        recording.moments([3])
    with pytest.raises(ValueError, match="holds moments: the samples are not in it"):
        recording.samples()
    with pytest.raises(ValueError, match="holds moments of all its time: give a file for each phase"):
        recording.in_phases({0: (0, 1)})


def test_single_hits_on_two_cpus_have_a_spread_together(tmp_path):
    for cpu, us in ((0, "5.000"), (1, "9.000")):
        (tmp_path / f"function{cpu}").write_text(PROFILE.format(1, us, us, "0.000"))
    assert timings.read(tmp_path).moments() == stats.Moments.of([5000, 9000])


def test_a_variance_that_wraps_is_said(write):
    recording = timings.read(write("function2", PROFILE.format(10**6, "1500000", "1.500", "0.010")))
    (old, wraps) = recording.notes
    assert "before 2020" in old
    assert "line 3: the kernel's s^2 wraps; the deviation may also be 4296 ns or more" in wraps


HISTOGRAM = "@ns[4]:\n[4, 8)  3 |@@|\n[8, 16)  2 |@|\n@ns[5]:\n[4, 8)  1 |@@|\n[1K, ...)  2 |@@|\n"


def test_histograms_come_with_bounds(write):
    recording = timings.read(write("bpf.txt", HISTOGRAM))
    assert recording.holds == "histograms"
    row = recording.per_cpu().loc[4]
    h = stats.Histogram([4, 8], [7, 15], [3, 2])
    assert row[["mean_low", "mean_high", "std_low", "std_high"]].tolist() == [
        h.mean.low,
        h.mean.high,
        h.std.low,
        h.std.high,
    ]
    assert row["mean"] == (h.mean.low + h.mean.high) / 2
    assert any("middles of their bounds" in note for note in recording.notes)
    assert isinstance(recording.moments(4), stats.Histogram)
    assert np.isinf(recording.per_cpu().loc[5, "mean_high"])
    assert np.isnan(recording.per_cpu().loc[5, "mean"])


def test_us_of_a_histogram_are_bins_of_1000_ns(write):
    recording = timings.read(write("bpf.txt", "@us:\n[4, 8)  3 |@@|\n"), unit="us", cpu=7)
    assert recording.rows[["cpu", "low", "high"]].to_numpy().tolist() == [[7, 4000, 7999]]


def test_a_list_of_a_map_and_of_printf(write):
    assert timings.read(write("a.txt", "Attaching 1 probe...\n@ns[1]: 5\n@ns[1]: 7\n@ns[0]: 9\n")).samples(
        1
    ).tolist() == [5, 7]
    keyed = timings.read(write("b.txt", "@ns[7, 1]: 5\n@ns[7, 2]: 6\n@x: 1\n"), map="@ns", cpu_key=0)
    assert keyed.samples(7).tolist() == [5, 6]
    printed = timings.read(
        write("c.txt", "Attaching 1 probe...\n4 5\n4 6\n\n@start[9]: 3\n"), columns=("cpu", "ns")
    )
    assert printed.rows[["cpu", "ns", "line"]].to_numpy().tolist() == [[4, 5, 2], [4, 6, 3]]


def test_plain_columns(write):
    recording = timings.read(
        write("t.csv", "cpu,us,t_ns\n0,1.5,1000000000\n4,2,2000000000\n4,3,2500000000\n")
    )
    assert recording.samples(4).tolist() == [2000, 3000]
    assert recording.in_phases({1: (2, 3)}).count() == 2
    alone = timings.read(write("one.txt", "5\n7\n"), unit="us", cpu=3)
    assert alone.samples(3).tolist() == [5000, 7000]


def test_files_packed_by_gzip(tmp_path, write):
    path = tmp_path / "trace.txt.gz"
    path.write_bytes(gzip.compress(STAIRS.encode()))
    assert timings.read(path).count() == 7
    path.write_bytes(gzip.compress(STAIRS.encode())[:-20])
    with pytest.raises(ValueError, match=r"trace.txt.gz: no gzip file"):
        timings.read(path)


def test_it_prints_and_shows(write):
    recording = timings.read(write("bpf.txt", HISTOGRAM))
    assert "histograms of" in str(recording)
    assert str(recording).count("\n") == 4
    assert "<table>" in recording._repr_html_()
    assert "<p>of a histogram" in recording._repr_html_()


@pytest.mark.parametrize(
    ("name", "text", "arguments", "error", "message"),
    [
        ("t.csv", "x,y\n1,2\n", {}, ValueError, r"t.csv: has the columns x, y: expected one of ns, "),
        ("t.csv", "ns,us\n1,2\n", {}, ValueError, r"expected one of ns"),
        ("t.csv", "cpu,ns\n1,-2\n", {}, ValueError, r"line 2: '-2' in column ns: expected a duration"),
        ("t.csv", "cpu,ns\na,2\n", {}, ValueError, r"line 2: 'a' in column cpu: expected a whole number"),
        ("t.csv", "cpu,ns\n1,2\n", {"cpu": 3}, ValueError, r"cpu = 3: .* tells the CPUs itself"),
        ("t.csv", "ns\n2\n", {"unit": "us"}, ValueError, r"unit = 'us': the column ns"),
        ("t.csv", "ns\n2\n", {"map": "@ns"}, ValueError, r"map = '@ns': columns has no such thing"),
        ("t.csv", "ns\n2\n", {"kind": "perf"}, ValueError, r"kind = 'perf'"),
        (
            "t.csv",
            "ns\n2\n",
            {"kind": "trace_stat"},
            ValueError,
            r"t.csv: line 1: 'ns': expected the profiler's",
        ),
        ("b.txt", "@a: 1\n@b: 2\n", {}, ValueError, r"b.txt: map: must be one of @a, @b"),
        (
            "b.txt",
            "@a: 1\n@a: 2\n",
            {"map": "@ns"},
            ValueError,
            r"map = '@ns': has no durations: expected @a",
        ),
        (
            "b.txt",
            "@a: count 1, average 2, total 2\n",
            {},
            ValueError,
            r"has no durations: .* have no spread",
        ),
        ("b.txt", "@a[x]: 1\n@a[x]: 2\n", {}, ValueError, r"line 1: key 'x': expected a CPU, or cpu="),
        ("b.txt", "@a[1, 2]: 1\n", {}, ValueError, r"line 1: the key has 2 parts: cpu_key= must say"),
        ("b.txt", "@a[1]: 1\n", {"cpu": 1, "cpu_key": 0}, ValueError, r"cpu and cpu_key: must not both"),
        ("b.txt", "@a: -1\n", {}, ValueError, r"line 1: -1: expected a duration"),
        ("b.txt", "@a:\n(..., 0)  1 |@|\n", {}, ValueError, r"line 2: 1 samples below 0"),
        (
            "b.txt",
            "@a:\n[0]  1 |@|\n@a:\n[0]  2 |@|\n",
            {},
            ValueError,
            r"line 4: printed again, after line 2",
        ),
        ("b.txt", "@a:\n[0]  1 |@|\n@a: 7\n", {}, ValueError, r"line 3: @a holds a number: expected bins"),
        ("trace.txt", STAIRS, {"function": "f"}, ValueError, r"trace.txt: has no f"),
        ("trace.txt", STAIRS, {"cpu": 0}, ValueError, r"cpu = 0: .* tells the CPUs itself"),
        ("trace.txt", STAIRS, {"unit": "ns"}, ValueError, r"unit = 'ns': function_graph has no such thing"),
        (
            "stat",
            PROFILE.format(1, "5.000", "5.000", "0.000"),
            {},
            ValueError,
            r"stat: expected a name such as",
        ),
        ("t.csv", "1\n", {"columns": "ns"}, TypeError, r"columns = 'ns': must be a tuple of names"),
        ("t.csv", "1\n", {"cpu": -1}, ValueError, r"cpu = -1"),
        ("t.dat", "\0\0", {}, ValueError, r"t.dat: is no text: of a trace.dat"),
    ],
)
def test_what_is_refused_and_how(write, name, text, arguments, error, message):
    with pytest.raises(error, match=message):
        timings.read(write(name, text), **arguments)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(OSError, match="nothing"):
        timings.read(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"is a folder without function0"):
        timings.read(tmp_path)
    with pytest.raises(TypeError, match="path must be a path or a list"):
        timings.read(3)
    with pytest.raises(ValueError, match="path: must be at least one file"):
        timings.read([])


def test_files_of_one_kind_hold_one_kind(write):
    paths = [write("a.txt", HISTOGRAM), write("b.txt", "@ns[0]: 3\n")]
    with pytest.raises(ValueError, match=r"b.txt: holds samples: must hold histograms, as .*a.txt does"):
        timings.read(paths)


@pytest.mark.parametrize(
    "name", ["lisa_tutorial_rtapp/trace_report_t.txt.gz", "lisa_sched_load/trace_report_tR.txt.gz"]
)
def test_a_trace_of_a_device_without_this_tracer_is_refused(name):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"no recording of a device at {path}")
    with pytest.raises(ValueError, match=r"has no line of function_graph with the duration column"):
        timings.read(path, kind="function_graph")


def test_nothing_is_shown_where_output_is_piped(write):
    code = f"from schedpy.lab import timings; timings.read({str(write('t.txt', STAIRS))!r})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == out.stderr == ""
