# SPDX-License-Identifier: GPL-2.0-only
"""What kernels print of their clocks: read whole, compared rightly, and this kernel agrees."""

import contextlib
import io
import re

import pytest
from golden import load_text

from schedpy import __main__ as command_line
from schedpy import live
from schedpy.live import clock_texts, clock_witness


def source(name, bits, max_cycles, max_idle_ns):
    mask = f"{2**bits - 1:#x}"
    return f"clocksource: {name}: mask: {mask} max_cycles: {max_cycles}, max_idle_ns: {max_idle_ns} ns"


LOG = f"""\
[    0.000000] kvm-clock: Using msrs 4b564d01 and 4b564d00
<6>[    0.000009] {source("kvm-clock", 64, "0x1cd42e4dffb", 881590591483)}
[    0.000059] tsc: Detected 2300.000 MHz processor
[    0.090236] {source("refined-jiffies", 32, "0xffffffff", 7645519600211568)}
[    0.244664][    T1] {source("jiffies", 32, "0xffffffff", 7645041785100000)}
[    0.246453] {source("tsc-early", 64, "0x212735223b2", 440795277976)}
[    0.300000] tsc: Refined TSC clocksource calibration: 2596.130 MHz
[    0.385232] {source("tsc", 64, "0x256bf463c9f", 440795249076)}
[    0.385261] clocksource: Switched to clocksource tsc
[    0.445853] sched_clock: Marking stable (444011778, 1793185)->(472286483, -26481520)
"""

DEVICE = """\
Tick Device: mode:     1
Per CPU device: {cpu}
Clock Event Device: {name}
 max_delta_ns:   {max_delta_ns}
 min_delta_ns:   {min_delta_ns}
 mult:           {mult}
 shift:          {shift}
 mode:           3
 next_event:     29980060000000 nsecs
 event_handler:  hrtimer_interrupt

 retries:        802
Wakeup Device: <NULL>

"""
LAPIC = {
    "name": "lapic-deadline",
    "max_delta_ns": 1912194174906,
    "min_delta_ns": 1000,
    "mult": 9646899,
    "shift": 25,
}
FIGURES = ("mult", "shift", "min_delta_ns", "max_delta_ns")
HEAD = """\
Timer List Version: v0.10
HRTIMER_MAX_CLOCK_BASES: 8
now at 27189153289275 nsecs

cpu: 0
 clock 0:
  .index:      0
active timers:
 #0: <000000001ee15eb8>, tick_nohz_handler, S:01
 # expires at 28825016000000-28825016000000 nsecs [in 2829631 to 2829631 nsecs]
  .idle_calls     : 1626124
jiffies: 4302098488

"""
NO_BROADCAST = """\
Tick Device: mode:     1
Broadcast device
Clock Event Device: <NULL>
tick_broadcast_mask: 0
tick_broadcast_oneshot_mask: 0

"""


def timer_list(*devices):
    return HEAD + NO_BROADCAST + "".join(DEVICE.format(**LAPIC | device) for device in devices)


@pytest.fixture
def report(tmp_path):
    """live.clocks of texts."""

    def clocks(log=None, timers=None, **more):
        given = {}
        for name, text in (("boot_log", log), ("timer_list", timers)):
            if text is not None:
                given[name] = tmp_path / name
                given[name].write_text(text)
        return live.clocks(**given, **more)

    return clocks


def verdicts(found):
    return {line.what: line.verdict for line in found.lines}


def shown(found):
    return [line.verdict for line in found.lines if line.printed is not None]


# ---- boot logs


def printed_rate(hz):
    """As the kernel prints a rate: whole MHz from 4 MHz on, else whole kHz."""
    return f"{hz // 10**6}MHz" if hz >= 4_000_000 else f"{hz // 1000}kHz"


def log_of(row):
    """The lines that a kernel printed, of a row of the known answers."""
    hz, bits = int(row["scale"] or 1) * int(row["freq"]), int(row["bits"])
    first, second = row["logged_max_cycles_or_resolution_ns"], row["logged_max_idle_ns_or_wrap_ns"]
    if row["kind"] == "sched_clock":
        return (
            f"sched_clock: {bits} bits at {printed_rate(hz)}, resolution {first}ns, wraps every {second}ns\n"
        )
    name = row["label"].split()[0]
    told = {
        "tsc": f"tsc: Refined TSC clocksource calibration: {hz / 1e6:.3f} MHz\n",
        "arch_sys_counter": f"arch_timer: cp15 timer(s) running at {hz / 1e6:.2f}MHz (virt).\n",
    }.get(name, "")
    return f"{told}{source(name, bits, first, second)}\n"


HEADER, ROWS = load_text("clock/known_answers_boot_logs")
KNOWN = [dict(zip(HEADER, row, strict=True)) for row in ROWS]


@pytest.mark.parametrize("row", KNOWN, ids=[row["label"] for row in KNOWN])
def test_known_boot_logs_are_equal_and_wrong_ones_are_not(row, report):
    log = log_of(row)
    assert shown(report(log)) == ["equal"] * 2
    for at, column in enumerate(("logged_max_cycles_or_resolution_ns", "logged_max_idle_ns_or_wrap_ns")):
        value = row[column]
        more = 2**20 if row["kind"] == "sched_clock" else 1  # of a cut rate, any that it may be will do
        off = f"{int(value, 16) + more:#x}" if value.startswith("0x") else str(int(value) + more)
        wrong = shown(report(re.sub(rf"\b{value}(?=\b|ns)", off, log)))
        assert wrong[at] == "differs"


def test_the_architected_timer_tells_the_rate_of_sched_clock_better(report):
    line = "sched_clock: 56 bits at 19MHz, resolution 52ns, wraps every 4398046511078ns\n"
    found = report("arch_timer: cp15 timer(s) running at 19.20MHz (virt).\n" + line)
    mine = [line for line in found.lines if "sched_clock" in line.what]
    assert [(line.verdict, line.why) for line in mine] == [
        ("equal", "19200000 Hz, arch_timer: cp15 timer(s) running at 19.20MHz (virt).")
    ] * 2


def test_a_whole_log(report):
    found = report(LOG, hz=250)
    assert [line.what for line in found.lines] == [
        *(
            f"{name} {figure}"
            for name in ("kvm-clock", "refined-jiffies", "jiffies", "tsc-early", "tsc")
            for figure in ("max_cycles", "max_idle_ns")
        ),
        "sched_clock offset where stable",
    ]
    assert (found.equal, found.differs, found.not_shown) == (11, 0, 0)
    assert found.release == ""
    assert "2596130000 Hz, tsc: Refined TSC" in str(found)
    assert "0x256bf463c9f" in str(found)
    assert found._repr_html_().count("<tr>") == 12


@pytest.mark.parametrize(
    ("was", "becomes", "what"),
    [
        ("0x1cd42e4dffb", "0x1cd42e4dffc", "kvm-clock max_cycles"),
        ("7645519600211568", "7645519600211569", "refined-jiffies max_idle_ns"),
        ("7645041785100000", "7645041785100001", "jiffies max_idle_ns"),
        ("-26481520", "-26481521", "sched_clock offset where stable"),
        ("Detected 2300.000", "Detected 2300.001", "tsc-early max_idle_ns"),
    ],
)
def test_a_wrong_figure_differs(was, becomes, what, report):
    found = verdicts(report(LOG.replace(was, becomes), hz=250))
    assert found[what] == "differs"


def test_without_hz_jiffies_are_not_told(report):
    line = next(line for line in report(LOG).lines if line.what == "jiffies max_idle_ns")
    assert (line.verdict, line.printed, line.ours) == ("not shown on this machine", 7645041785100000, None)
    assert "hz=" in line.why
    assert verdicts(report(LOG, hz=1000))["jiffies max_idle_ns"] == "differs"


def test_a_rate_that_no_line_tells_is_not_guessed(report):
    line = source("mct-frc", 32, "0xffffffff", 79635851949)
    assert set(verdicts(report(line)).values()) == {"not shown on this machine"}
    assert "does not tell the rate of mct-frc" in str(report(line))


def test_older_kernels_print_no_colon():
    line = "clocksource tsc: mask: 0xff max_cycles: 0x1c, max_idle_ns: 88 ns"
    assert clock_texts.clocksources(line)[0].name == "tsc"


def test_a_range_of_rates_is_as_wide_as_what_was_cut():
    rate = clock_texts.rates("arch_timer: cp15 timer(s) running at 19.20MHz (virt).")["arch_sys_counter"]
    assert (rate.low_hz, rate.high_hz) == (19_200_000, 19_209_999)
    rate = clock_texts.rates("hpet0: 3 comparators, 64-bit 14.318180 MHz counter")["hpet"]
    assert (rate.low_hz, rate.high_hz) == (14_318_180, 14_318_180)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("boot_log", "nothing\n", "boot_log: .* has no line on"),
        ("timer_list", "", "timer_list: .* has no clock"),
    ],
)
def test_other_texts_are_refused(name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=said):
        live.clocks(**{name: tmp_path / name})
    with pytest.raises(TypeError, match=f"{name} must be a path"):
        live.clocks(**{name: 3})


@pytest.mark.parametrize(("hz", "error"), [(0, ValueError), ("250", TypeError), (1.5, TypeError)])
def test_hz_is_a_positive_integer(hz, error):
    with pytest.raises(error, match="hz"):
        live.clocks(hz=hz)


# ---- clock event devices


def test_devices_are_columns():
    found = clock_texts.clock_events(timer_list({"cpu": 0}, {"cpu": 1, "mult": 5}))
    assert found == (
        clock_texts.PrintedEvent(cpu=0, **LAPIC),
        clock_texts.PrintedEvent(cpu=1, **LAPIC | {"mult": 5}),
    )
    broadcast = timer_list({"cpu": 0}).replace("Per CPU device: 0", "Broadcast device")
    assert clock_texts.clock_events(broadcast)[0].cpu is None
    assert clock_texts.clock_events(HEAD + NO_BROADCAST) == ()


def test_a_device_without_a_figure_is_named():
    text = timer_list({"cpu": 0}).replace(" shift:          25\n", "")
    with pytest.raises(ValueError, match=r"timer_list, line \d+: lapic-deadline has no shift"):
        clock_texts.clock_events(text)


def test_like_devices_make_one_line_each_figure(report):
    log = LOG.replace(
        "Refined TSC clocksource calibration: 2596.130", "Refined TSC clocksource calibration: 2300.000"
    )
    found = report(log, timer_list({"cpu": 0}, {"cpu": 1}), hz=250)
    mine = {what: verdict for what, verdict in verdicts(found).items() if "lapic" in what}
    assert mine == dict.fromkeys(
        (f"lapic-deadline of 2 CPUs {key}" for key in FIGURES),
        "equal",
    )


@pytest.mark.parametrize("figure", FIGURES)
def test_a_wrong_figure_of_a_device_differs(figure, report):
    log = LOG.replace("2596.130", "2300.000")
    found = verdicts(report(log, timer_list({"cpu": 0, figure: LAPIC[figure] + 1})))
    assert found[f"lapic-deadline of CPU 0 {figure}"] == "differs"


def test_without_a_log_the_limits_are_still_compared(report):
    found = verdicts(report(timers=timer_list({"cpu": 3})))
    assert [found[f"lapic-deadline of CPU 3 {key}"] for key in FIGURES] == [
        *["not shown on this machine"] * 2,
        *["equal"] * 2,
    ]


def test_an_unknown_device_is_not_guessed(report):
    found = report(LOG, timer_list({"cpu": 0, "name": "sundial"}), hz=250)
    mine = [line for line in found.lines if "sundial" in line.what]
    assert [line.verdict for line in mine] == ["not shown on this machine"] * 4
    assert [line.printed for line in mine] == [9646899, 25, 1000, 1912194174906]


@pytest.mark.parametrize(("rate", "hz"), [(250, 250), (1000, 1000), (99.5, 100), (301, 300), (650, None)])
def test_hz_is_counted(rate, hz, monkeypatch):
    texts = iter(
        f"now at {at} nsecs\n\njiffies: {int(rate * at / 1e9)}\n" for at in (10**12, 10**12 + 2 * 10**9)
    )
    monkeypatch.setattr(clock_witness, "_read", lambda path: next(texts))
    monkeypatch.setattr(clock_witness.time, "sleep", lambda seconds: None)
    assert clock_witness._counted_hz() == hz


# ---- /proc/PID/sched, and what is not there


def test_two_parts_are_nanoseconds():
    text = "se.exec_start   :   3149799.042005\nse.vruntime : -0.000007\nmm->x : 1.5\nnr_switches : 3\n"
    assert clock_witness.split_fields(text) == {"se.exec_start": 3149799042005, "se.vruntime": -7}


def test_a_run_time_that_is_printed_wrong_differs(monkeypatch):
    monkeypatch.setattr(
        clock_witness, "_read", lambda path: "5 6 7" if "stat" in path else "se.sum_exec_runtime : 0.000006\n"
    )
    assert [line.verdict for line in clock_witness._of_sched()] == ["differs"]


def test_what_may_not_be_read_is_not_shown(monkeypatch):
    def refused(path=None):
        raise PermissionError(1, "Operation not permitted", path)

    monkeypatch.setattr(clock_witness, "_boot_log", refused)
    monkeypatch.setattr(clock_witness, "_read", refused)
    found = live.clocks()
    assert found.not_shown == len(found.lines) == 4
    assert str(found).count("not shown on this machine ([Errno 1] Operation not permitted") == 4


def test_this_kernel_agrees():
    found = live.clocks()
    assert [line for line in found.lines if line.verdict == "differs"] == []
    assert found.release in str(found)


# ---- the command


def run(*arguments):
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = command_line.main(["live", *arguments])
    return status, out.getvalue(), errors.getvalue()


def test_the_command_prints_the_clocks(tmp_path):
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "timers").write_text(timer_list({"cpu": 0}))
    given = ["--boot-log", str(tmp_path / "log"), "--timer-list", str(tmp_path / "timers"), "--hz", "250"]
    status, out, errors = run(*given)
    assert (status, errors) == (0, "")
    assert out.startswith("Clocks of the texts given: 15 figures, 14 equal, 1 differ, 0 not shown")
    assert run("--clocks")[0] == 0
    status, _, errors = run("--boot-log", str(tmp_path / "none"))
    assert (status, "none" in errors) == (1, True)
