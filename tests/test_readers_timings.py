# SPDX-License-Identifier: GPL-2.0-only
"""Timings that ftrace, its profiler, bpftrace and plain files hold, to the ns; and what is refused."""

import math

import pytest

from schedpy.readers import bpftrace, columns, function_graph, trace_stat

FEEC = "find_energy_efficient_cpu"


def graph(text, function=FEEC):
    return function_graph.read(text.splitlines(), "trace.txt", function)


PLAIN = """\
# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 0)               |  select_task_rq_fair() {
 0)               |    find_energy_efficient_cpu() {
 0)   0.595 us    |      em_cpu_energy();
 0)               |      compute_energy() {
 1)   9.001 us    |    find_energy_efficient_cpu();
 0)   0.312 us    |        cpu_util.isra.0();
 0)   1.100 us    |      }
 0) + 10.791 us   |    }
 0) ! 120.5 us    |  }
"""


def test_nested_and_leaf_calls_of_two_cpus():
    got = graph(PLAIN)
    assert got["ns"] == [9001, 10791]
    assert got["cpu"] == [1, 0]
    assert got["line"] == [9, 6]
    assert got["nested"] == [0, 3]
    assert got["start_ns"] == [None, None]
    assert (got["unfinished"], got["lost"]) == (0, 0)


@pytest.mark.parametrize(
    ("line", "ns"),
    [
        (" 0)   0.595 us    |  find_energy_efficient_cpu();", 595),
        (" 0) + 12.345 us   |  find_energy_efficient_cpu();", 12345),
        (" 0) ! 123.456 us  |  find_energy_efficient_cpu();", 123456),
        (" 0) # 1234.567 us |  find_energy_efficient_cpu();", 1234567),
        (" 0) * 12345.67 us |  find_energy_efficient_cpu();", 12345670),
        (" 0) @ 123456.7 us |  find_energy_efficient_cpu();", 123456700),
        (" 0) $ 1234567 us  |  find_energy_efficient_cpu();", 1234567000),
        ("   0.595 us    |  find_energy_efficient_cpu();", 595),
        (" 12)   0.595 us    |          find_energy_efficient_cpu.isra.0();", 595),
        (" 0)   0.595 us    |  find_energy_efficient_cpu [mod]();", 595),
        (" 0)   0.595 us    |  find_energy_efficient_cpu(); /* = 0x4 */", 595),
        (" 0)   0.595 us    |  find_energy_efficient_cpu(p=0xffff88, prev_cpu=4); /* ret=0x4 */", 595),
        (" 0)    rt-app-1234     |   0.595 us    |  find_energy_efficient_cpu();", 595),
        (" 0)    kworker/u16:2-77  |   0.595 us    |  find_energy_efficient_cpu();", 595),
        (" 0)    a b-1-12  |   0.595 us    |  find_energy_efficient_cpu();", 595),
        (" 2193.437434 |   0)   0.595 us    |  find_energy_efficient_cpu();", 595),
        (" 2193.437434 |   0)    <idle>-0    |  d..1.  |   0.595 us    |  find_energy_efficient_cpu();", 595),
        (" 2193.437434 |   0)    <idle>-0    |  d.h2  |   0.595 us    |  find_energy_efficient_cpu();", 595),
        ("      23 us |   0)   0.595 us    |  find_energy_efficient_cpu();", 595),
    ],
)
def test_every_option_of_the_columns(line, ns):
    got = graph(line)
    assert got["ns"] == [ns]
    assert got["cpu"] == [12 if line.startswith(" 12)") else None if line.startswith("   0.595") else 0]
    assert got["start_ns"] == [2193437434000 if line.startswith(" 2193") else None]


@pytest.mark.parametrize(
    "end", ["}", "} /* find_energy_efficient_cpu */", "} /* find_energy_efficient_cpu ret=0x4 */"]
)
@pytest.mark.parametrize("begin", ["{", "{ /* <-select_task_rq_fair+0x10/0x90 */"])
def test_ends_with_and_without_the_tail(begin, end):
    got = graph(f" 0)               |  find_energy_efficient_cpu() {begin}\n 0)   2.000 us    |  {end}\n")
    assert got["ns"] == [2000]


def test_an_interrupt_marks_the_call_on_its_cpu():
    got = graph(
        " 0)               |  find_energy_efficient_cpu() {\n"
        " 1)               |  find_energy_efficient_cpu() {\n"
        " 0)   ==========> |\n"
        " 0)               |    smp_apic_timer_interrupt() {\n"
        " 0)   1.758 us    |    }\n"
        " 0)   <========== |\n"
        " 1)   3.000 us    |  }\n"
        " 0)   4.000 us    |  }\n"
    )
    assert list(zip(got["cpu"], got["ns"], got["interrupted"], strict=True)) == [
        (1, 3000, False),
        (0, 4000, True),
    ]


SWITCH = """\
 0)               |  vfs_read() {
 0)   0.100 us    |    rw_verify_area();
 ------------------------------------------
 0)  cat-1  =>  bash-2
 ------------------------------------------

 0)               |  vfs_read() {
 0)   5.000 us    |  }
 ------------------------------------------
 0)  bash-2  =>  cat-1
 ------------------------------------------

 0)   9.000 us    |  }
"""


def test_a_task_that_leaves_the_cpu_keeps_its_call():
    got = graph(SWITCH, "vfs_read")
    assert got["ns"] == [5000, 9000]
    assert got["line"] == [7, 1]
    assert got["nested"] == [0, 1]


def test_with_a_column_for_tasks_a_call_ends_on_another_cpu():
    got = graph(
        " 0)    cat-1    |               |  vfs_read() {\n"
        " 0)    sh-9     |   1.000 us    |  vfs_read();\n"
        " 3)    cat-1    |   9.000 us    |  }\n",
        "vfs_read",
    )
    assert (got["ns"], got["cpu"], got["nested"]) == ([1000, 9000], [0, 0], [0, 0])


def test_lost_events_end_nothing():
    got = graph(
        " 0)               |  find_energy_efficient_cpu() {\n"
        "CPU:0 [LOST 77 EVENTS]\n"
        " 0)   4.000 us    |  }\n"
        " 1)               |  find_energy_efficient_cpu() {\n"
        " 1)   0.100 us    |  another();\n"
        " 1)   5.000 us    |  } /* find_energy_efficient_cpu */\n"
        " 2)               |  find_energy_efficient_cpu() {\n"
    )
    # CPU 0: the end may be of another call. CPU 1: a function beside it says that its end is lost.
    assert got["ns"] == []
    assert (got["unfinished"], got["lost"]) == (4, 77)


def test_calls_within_calls_of_the_same_name():
    got = graph(
        " 0)               |  f() {\n 0)   1.000 us    |    f();\n 0)               |    f() {\n"
        " 0)   2.000 us    |    }\n 0)   4.000 us    |  }\n",
        "f",
    )
    assert got["ns"] == [1000, 2000, 4000]
    assert got["nested"] == [0, 0, 2]


REPORT = """\
cpus=8
          rt-app-12    [004]   100.000001: print:                tracing_mark_write: phase 0
          rt-app-12    [004]   100.000002: funcgraph_entry:                   |  find_energy_efficient_cpu() {
          <idle>-0     [001] d..2. 100.000003: funcgraph_entry: + 12.345 us  |  find_energy_efficient_cpu();
          rt-app-12    [004]   100.000004: funcgraph_entry:        0.595 us   |    em_cpu_energy();
          rt-app-12    [004]   100.000007: funcgraph_exit:         2.400 us   |  }
          rt-app-12    [004]   100.000008123: sched_switch:         rt-app:12 [120] S ==> swapper/4:0 [120]
"""


def test_what_trace_cmd_reports():
    got = graph(REPORT)
    assert got["ns"] == [12345, 2400]
    assert got["cpu"] == [1, 4]
    assert got["start_ns"] == [100000003000, 100000002000]
    assert got["nested"] == [0, 1]
    assert [text.partition(":")[0] for *_, text in got["markers"]] == ["print", "sched_switch"]
    assert got["markers"][1][:3] == (7, 100000008123, 4)


def test_markers_in_tracefs():
    got = graph(" 1.000001 | 0)               |  /* phase 3 | a -> b-2 */\n 0)   1.000 us    |  f();\n", "f")
    assert got["markers"] == [(1, 1000001000, 0, "phase 3 | a -> b-2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            " 0)   1.000 us    |  f();\nnonsense",
            r"trace.txt: line 2: 'nonsense': expected a line of function_graph",
        ),
        (" 0)   1.000 us    |  f();\n 0)   1.0", r"line 2: '0\)   1.0': expected a line"),
        (" 0)   1.000 us    |  f() and more", r"line 1: 'f\(\) and more': expected 'name\(\) \{'"),
        (" 0)               |  f();", r"line 1: 'f\(\);' has no duration"),
        (" 0)               |  f() {\n 0)               |  }", r"line 2: '\}' has no duration"),
        (" 0)   1.0000 us   |  f();", r"line 1: .* expected a line"),
        (" 0)  f();", r"line 1: .* with its duration"),
        ("# tracer: function_graph\n", r"trace.txt: has no line of function_graph"),
        ("", r"trace.txt: has no line"),
        (" 0)   1.000 us    |  f();\n" + "x" * 20_000, r"line 2: 20000 characters"),
        ("   t-1  [000]  1.000000: funcgraph_entry:  f();", r"line 1: 'f\(\);': expected a duration in us"),
    ],
)
def test_what_is_no_function_graph(text, message):
    with pytest.raises(ValueError, match=message):
        graph(text, "f")


HEAD = (
    "  Function                               Hit    Time            Avg             s^2\n"
    "  --------                               ---    ----            ---             ---\n"
)


def profile(rows, function=FEEC):
    return trace_stat.read((HEAD + rows).splitlines(), "function0", function)


def test_a_profile_is_moments():
    # Of 1, 2 and 6 us: 9 us in all, a variance of 7 us^2.
    (row,) = profile(
        "  find_energy_efficient_cpu                3    9.000 us        3.000 us        7.000 us    \n"
    )
    assert (row["count"], row["mean"], row["mean_low"], row["mean_high"]) == (3, 3000, 3000, 3000)
    assert row["std"] == math.sqrt(7e6)
    assert row["std_next"] == pytest.approx(math.sqrt(7e6 + 2**64 / 6))


def test_a_time_that_was_cut_gives_bounds():
    (row,) = profile(
        "  find_energy_efficient_cpu             3124    33711.08 us     10.791 us       5.116 us  \n"
    )
    assert row["mean_low"] == 33711080 / 3124
    assert row["mean_high"] == 33711089 / 3124
    assert row["mean"] == pytest.approx((row["mean_low"] + row["mean_high"]) / 2)


def test_copies_of_a_function_and_cut_names():
    rows = profile(
        "  find_energy_efficient_cpu.isra.0         1    9.000 us        9.000 us        0.000 us    \n"
        "  find_energy_efficient_cpu_x              1    9.000 us        9.000 us        0.000 us    \n"
    )
    assert [(row["line"], row["std"], row["std_next"]) for row in rows] == [(3, None, None)]
    long = "a" * 40
    assert profile(f"  {long[:30]}         1    9.000 us        9.000 us        0.000 us    \n", long)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"function0: is empty: expected the profiler's header"),
        ("schedule 3 1.0 us", r"line 1: 'schedule 3 1.0 us': expected the profiler's header"),
        (
            "  Function                               Hit\n",
            r"line 1: expected the columns .* no times are here",
        ),
        (
            HEAD + "  f  3  9.000 us  3.000 us",
            r"line 3: 'f  3  9.000 us  3.000 us': expected a function, its hits",
        ),
        (HEAD + "  f  3  9.000 us  3.000 us  x us", r"line 3: .* expected a function"),
        (
            HEAD + "  f  3  9.000 us  4.000 us  1.000 us",
            r"line 3: Avg = 4.000 us is not Time / Hit = 3.000 us",
        ),
        (HEAD + "  f  0  0.000 us  0.000 us  0.000 us", r"line 3: f has no hits"),
        (HEAD + "  f  1  9.000 us  9.000 us  1.000 us", r"line 3: s\^2 = 1.000 us of one hit: expected 0"),
    ],
)
def test_what_is_no_profile(text, message):
    with pytest.raises(ValueError, match=message):
        trace_stat.read(text.splitlines(), "function0", "f")


HISTOGRAMS = """\
Attaching 3 probes...


@ns[0]:
[0]                    1 |@@                                                  |
[1]                    0 |                                                    |
[2, 4)                 1 |@@                                                  |
[512, 1K)             12 |@@@@@@@@@@@@@@@@@                                   |
[1M, 2M)               3 |@@@@                                                |
@lin[4, f]:
(..., 100)             2 |@@@                                                 |
[100, 200)             3 |@@@@                                                |
[1000, ...)            1 |@                                                   |
@one:
[2K, 4K)               9 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

@count[0]: 17
@avg[0]: count 17, average 5, total 85
"""


def test_histograms_of_powers_and_of_equal_bins():
    got = bpftrace.read(HISTOGRAMS.splitlines(), "out.txt")
    assert [entry[:5] for entry in got["bins"]] == [
        ("@ns", ("0",), 0, 0, 1),
        ("@ns", ("0",), 1, 1, 0),
        ("@ns", ("0",), 2, 3, 1),
        ("@ns", ("0",), 512, 1023, 12),
        ("@ns", ("0",), 2**20, 2**21 - 1, 3),
        ("@lin", ("4", "f"), -math.inf, 99, 2),
        ("@lin", ("4", "f"), 100, 199, 3),
        ("@lin", ("4", "f"), 1000, math.inf, 1),
        ("@one", (), 2048, 4095, 9),
    ]
    assert got["values"] == [("@count", ("0",), 17, 17)]
    assert got["stats"] == [("@avg", ("0",), 17, 85, 18)]


def test_lists_and_what_programs_print():
    got = bpftrace.read(
        ["Attached 2 probes", "4 123", "@ns[0]: 5", "@ns[0]: 7", "@: 9", "Lost 3 events"], "out.txt"
    )
    assert got["other"] == [(2, "4 123")]
    assert got["values"] == [("@ns", ("0",), 5, 3), ("@ns", ("0",), 7, 4), ("@", (), 9, 5)]


JSON = """\
{"type": "attached_probes", "data": {"probes": 2}}
{"type": "hist", "data": {"@ns": {"0": [{"min": 256, "max": 511, "count": 3}], "4": [{"max": -1,"count":0}]}}}
{"type": "hist", "data": {"@one": [{"min": 1000, "count": 2}]}}
{"type": "map", "data": {"@last": {"0,f": 5}, "@": 6}}
{"type": "stats", "data": {"@s": {"0": {"count": 2, "average": 3, "total": 7}}}}
{"type": "printf", "data": "4 123\\n"}
"""


def test_json():
    got = bpftrace.read(JSON.splitlines(), "out.json")
    assert [entry[:5] for entry in got["bins"]] == [
        ("@ns", ("0",), 256, 511, 3),
        ("@ns", ("4",), -math.inf, -1, 0),
        ("@one", (), 1000, math.inf, 2),
    ]
    assert got["values"] == [("@last", ("0", "f"), 5, 4), ("@", (), 6, 4)]
    assert got["stats"] == [("@s", ("0",), 2, 7, 5)]
    assert got["other"] == [(6, "4 123")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2)  3 |@|", r"out.txt: line 1: .* expected the name of a map"),
        ("@ns: abc", r"line 1: 'abc': expected a whole number"),
        ("@ns", r"line 1: '@ns': expected @name\[key\]: number"),
        ("@ns:\n[1, 2)  x |@|", r"line 2: .* or a bin such as"),
        ("@ns:\n[4, 2)  1 |@|", r"line 2: .* ends above its beginning"),
        ('{"type": "map", "data": {"@": ', r"line 1: no JSON"),
        ('{"type": "map", "data": {"@": 1.5}}', r"line 1: '1.5': expected a whole number"),
        ('{"type": "map", "data": 3}', r"line 1: data: expected a map's name"),
        ('{"type": "hist", "data": {"@": [{"min": 1, "max": 0, "count": 1}]}}', r"line 1: .* expected a bin"),
        ('{"type": "hist", "data": {"@": [3]}}', r"line 1: 3: expected a bin with min, max and count"),
        (
            '{"type": "stats", "data": {"@": {"0": {"count": "x"}}}}',
            r"line 1: .* expected count, average and total",
        ),
    ],
)
def test_what_bpftrace_does_not_print(text, message):
    with pytest.raises(ValueError, match=message):
        bpftrace.read(text.splitlines(), "out.txt")


def table(text, names=None):
    return columns.read(text.splitlines(), "t.csv", names)


def test_columns():
    assert table("# a comment\n\ncpu, ns\n0, 12\n4, 13.5\n") == {
        "cpu": [0, 4],
        "ns": [12, 13.5],
        "line": [4, 5],
    }
    assert table("12\n13\n") == {"": [12, 13], "line": [1, 2]}
    assert table("0 12\n4\t13\n", ("cpu", "ns"))["ns"] == [12, 13]
    assert table('"task","ns"\nrt-app,12\n') == {"task": ["rt-app"], "ns": [12], "line": [2]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t.csv: has no numbers"),
        ("0 12\n", r"line 1: '0 12' has 2 cells: expected 1, or a header"),
        ("cpu,ns\n1\n", r"line 2: '1' has 1 cells: expected 2"),
        ("ns,ns\n1,2\n", r"line 1: 'ns,ns': expected one name for each column"),
    ],
)
def test_what_are_no_columns(text, message):
    with pytest.raises(ValueError, match=message):
        table(text)
