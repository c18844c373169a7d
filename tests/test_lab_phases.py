# SPDX-License-Identifier: GPL-2.0-only
"""The Pixel 4 timings of April 2021: what is recomputed, derived and measured, and said of each figure."""

import numpy as np
import pytest
from golden import load

from schedpy import em, pelt, workload
from schedpy.lab import phases, phases_verdicts
from schedpy.lab.timing import Timing

WORDS = ("agrees", "differs", "consistent", "not consistent", "cannot be told")
ROWS = [(0, "Little"), (1, "Mid"), (2, "Mid"), (3, "Mid"), (4, "Mid"), (4, "Big"), (5, "Big")]


@pytest.fixture(scope="module")
def mail():
    return phases.published()


# The figures as they stand in the mails


def test_the_tables_are_the_mails(mail):
    assert list(mail.index) == ROWS
    assert mail["duty_percent"].tolist() == [12.5, 25, 37.5, 50, 62.5, 62.5, 75]
    assert mail["table_walk_mean"].tolist() == [10791, 2924, 2207, 1897, 1700, 1187, 984]
    assert mail["letter_walk_mean"].tolist() == [10791, 2924, 2207, 1897, 1700, 1187, 987]
    assert mail["table_lut_mean"].tolist() == mail["letter_lut_mean"].tolist()
    assert mail["table_lut_mean"].tolist() == [10657, 2894, 2162, 1864, 1609, 1129, 900]
    assert mail["table_walk_count"].tolist() == [3124, 3097, 3104, 3119, 396, 2729, 3124]
    assert mail["table_lut_count"].tolist() == [3741, 3740, 3740, 3717, 1232, 2518, 3693]
    assert mail["table_diff"].tolist() == [-134, -30, -45, -33, -91, -58, -84]
    assert mail["table_percent"].tolist() == ["-1.2", "-1", "-2", "-1.7", "-5.4", "-4.9", "-8.5"]
    assert mail["letter_walk_interval"].tolist() == [79, 19, 19, 18, 46, 15, 14]
    assert mail["letter_lut_interval"].tolist() == [71, 16, 17, 17, 26, 15, 12]
    assert mail["letter_walk_std"].tolist() == [2262, 529, 535, 504, 463, 407, 395]
    assert mail["letter_lut_std"].tolist() == [2240, 513, 515, 515, 458, 385, 365]
    assert mail["footnote"].tolist() == [True, True, False, True, False, False, False]


# What follows from them


def test_the_table_of_the_mails():
    table = phases.table().loc["LUT"]
    assert list(table.index) == ROWS
    assert table["a_interval"].round(2).tolist() == [79.35, 18.64, 18.83, 17.69, 45.74, 15.28, 13.86]
    assert table["b_interval"].round(2).tolist() == [71.80, 16.45, 16.51, 16.56, 25.60, 15.04, 11.78]
    assert table["diff"].tolist() == [-134, -30, -45, -33, -91, -58, -84]
    assert table["percent"].round(2).tolist() == [-1.24, -1.03, -2.04, -1.74, -5.35, -4.89, -8.54]
    assert table["t"].round(3).tolist() == [-2.455, -2.366, -3.523, -2.670, -3.411, -5.304, -9.057]
    assert table["overlap"].iloc[[0, 1, 3]].round(2).tolist() == [17.15, 5.08, 1.26]
    assert table["intervals_overlap"].tolist() == (table["overlap"] >= 0).tolist()
    assert (table["diff_high"] < 0).all()
    assert table["p_holm"].max() == pytest.approx(0.0282, abs=5e-5)


def test_the_letters_mean_gives_another_difference():
    row = phases.table(means="letter").loc[("LUT", 5, "Big")]
    assert (row["diff"], round(row["percent"], 2)) == (-87, -8.81)
    assert f"{row['p']:.1e}" == "8.9e-21"


@pytest.mark.parametrize(
    ("printed", "computed", "finding"),
    [
        ("984 in the table, 987 in the letter", "984: -84 ns, -8.54 %; 987: -87 ns, -8.81 %", "fit 984 only"),
        ("+/-71", "+/-71.80", "rounds to 72; a std that rounds to 2240 gives 71.79 .. 71.82"),
        ("slightly more narrow with the LUT", "std 504 -> 515", "narrower in the other 6 rows"),
        (
            "396 + 2729; 1232 + 2518",
            "3125 = 25 x 125; 3750 = 30 x 125",
            "lack 1 to 28 without LUT and 9 to 57",
        ),
        (
            "phases 0, 1, 3",
            "largest p 0.018, after Holm 0.028",
            "(phase 3, Mid by 1.26 ns), but overlap is not",
        ),
    ],
)
def test_every_inconsistency_is_found(printed, computed, finding):
    found = phases.inconsistencies().set_index("printed")
    assert len(found) == 5
    assert found.loc[printed, "computed"] == computed
    assert finding in found.loc[printed, "finding"]


def test_the_findings_are_computed(monkeypatch, mail):
    """Other figures, other findings: nothing is written down beforehand."""
    from schedpy.lab import phases_tables

    changed = mail.copy()
    changed.loc[(5, "Big"), "letter_walk_mean"] = 984
    changed.loc[(0, "Little"), "letter_lut_interval"] = 72
    changed.loc[(1, "Mid"), "letter_lut_std"] = 530
    monkeypatch.setattr(phases_tables, "published", lambda: changed)
    found = phases.inconsistencies()
    assert found["what"].tolist()[:2] == ["phase 1, Mid: interval with LUT", "phase 1, Mid: spread"]
    assert "narrower in the other 5 rows" in found["finding"][1]


# The CPU column


def golden_rows(era):
    results = load("em/feec_results")
    for name, label, target, calls in zip(
        results["id"], results["era"], results["target"], results["compute_energy_calls"], strict=True
    ):
        if label == era and name.startswith("stair_"):
            phase, cpu = name.removeprefix("stair_ph").split("_prev")
            energies = [tuple(map(int, call.split(":"))) for call in calls.split()]
            yield int(phase), int(cpu), int(target), {dst: energy for _, dst, energy in energies if dst >= 0}


@pytest.mark.parametrize("method", ["walk", "lut"])
def test_placements_are_the_known_answers(method):
    placed = phases.placements(method=method)
    names = {0: "Little", 4: "Mid", 7: "Big"}
    rows = list(golden_rows(f"v5.12-{method}"))
    assert len(rows) == len(placed) == 18
    for phase, prev, target, energies in rows:
        row = placed.loc[(phase, names[prev])]
        assert row["target"] == names[target]
        for cpu, name in names.items():
            assert (int(row[name]) if row.notna()[name] else None) == energies.get(cpu)


def test_the_cpu_column_comes_out():
    placed = phases.placements()
    stable = placed[placed["stays"]].reset_index().groupby("phase")["prev"].agg(list)
    assert stable.tolist() == [["Little"], ["Mid"], ["Mid"], ["Mid"], ["Mid", "Big"], ["Big"]]
    row = placed.loc[(4, "Big")]
    assert row[["Mid", "Big", "gap", "threshold"]].tolist() == [659, 701, 42, 43]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: phases.placements("rk3399_op1"), ValueError, "must have little, mid, prime"),
        (lambda: phases.placements(4), TypeError, "model must be a name or an EnergyModel"),
        (lambda: phases.wakeups(hz=1), ValueError, "hz"),
        (lambda: phases.measure(repetitions=1), ValueError, "repetitions"),
        (lambda: phases.measure(repetitions=2.5), TypeError, "repetitions"),
        (lambda: phases.measure(seed=-1), ValueError, "seed"),
        (lambda: phases.measure(cpu=10_000), ValueError, "cpu"),
        (lambda: phases.table(3), TypeError, "source must be a Timing"),
        (lambda: phases.table(means="mail"), ValueError, "means"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


# The wake-ups


@pytest.fixture(scope="module")
def wakeups():
    return phases.wakeups()


def of(wakeups, phase, cpu):
    return wakeups[(wakeups["phase"] == phase) & (wakeups["cpu"] == cpu)]


def test_wakeups_are_the_staircase_through_pelt(wakeups):
    events = workload.staircase(hz=250)
    util = pelt.track(events.now, kernel="5.12", running=events.running, on_rq=events.on_rq).util_avg
    woken = np.flatnonzero(events.label == "enqueue")
    assert len(wakeups) == 7 * 125
    at = woken[4 * 125 + 17]
    for cpu in ("Mid", "Big"):
        row = of(wakeups, 4, cpu).iloc[17]
        assert row["util_avg"] == util[at]
        assert events.label[at - 1] == "dequeue"
        assert row["util_est"] == util[at - 1]
    assert of(wakeups, 0, "Little")["util_est"].iloc[0] == 0
    assert wakeups.groupby(["phase", "cpu"], sort=False)["prev_cpu"].first().tolist() == [0, 4, 4, 4, 4, 7, 7]


def test_a_settled_task_stays_where_the_mail_ran(wakeups):
    for phase, cpu in ROWS:
        settled = of(wakeups, phase, cpu).iloc[-60:]
        assert (settled["target_cpu"] == settled["prev_cpu"]).all(), (phase, cpu)


def test_states_are_those_up_to_the_frequency_asked_for(wakeups):
    """In each domain that the task is tried on, the walk starts at the lowest state."""
    model = em.EnergyModel.load("pixel4")
    for phase, cpu in ROWS:
        row = of(wakeups, phase, cpu).iloc[124]
        util = max(row["util_avg"], row["util_est"] | 1)
        visited = 0
        for domain in model.domains:
            if util * 1280 < domain.capacity * 1024:
                freq = em.map_util_freq(util, domain.freq_khz[-1], domain.capacity, kernel="5.12")
                state = domain.get_efficient_state(int(freq), kernel="5.12", skip_inefficient=False)
                visited += int(state) + 1
        assert row["states"] == visited, (phase, cpu)


# The measurement


def timing(walk, lut, again, n=200):
    """A Timing whose arms spread alike around these means (ns), alike in all rows of 20 placements."""
    rng = np.random.default_rng(3)
    spread = rng.integers(-20, 21, size=(7, n, 3))
    spread -= np.round(spread.mean(axis=1, keepdims=True)).astype(int)
    ticks = (np.array([walk, lut, again]) + spread + 50) * 2
    return Timing(
        phase=np.array([phase for phase, _ in ROWS]),
        duty_percent=np.array([12.5, 25, 37.5, 50, 62.5, 62.5, 75]),
        cpu=np.array([cpu for _, cpu in ROWS]),
        row=np.repeat(np.arange(7), 20),
        states=np.repeat(np.arange(7), 20),
        ticks=ticks.reshape(7, n // 20, 20, 3).swapaxes(0, 1).reshape(n // 20, 140, 3).astype(np.uint64),
        retimed=np.zeros(n // 20, dtype=np.int64),
        disturbed=np.zeros(n // 20, dtype=np.int64),
        arms=("walk", "lut", "walk"),
        caches="warm",
        evicted=(),
        working_set=0,
        batch=1,
        ns_per_tick=0.5,
        step_ticks=2,
        bracket_ticks=100,
        counter="tsc",
        host="a machine",
        pinned=1,
        seed=1,
        hz=250,
        model="pixel4",
    )


def test_a_measurement_has_the_mails_layout_and_an_aa_row():
    measured = timing(1000, 900, 1000)
    table = phases.table(measured)
    assert list(table.loc["LUT"].index) == list(table.loc["A/A"].index) == ROWS
    assert table.loc["LUT", "a_mean"].tolist() == pytest.approx(
        [measured.of(row, 0).mean() for row in range(7)]
    )
    assert table.loc["LUT", "diff"].tolist() == pytest.approx([-100] * 7, abs=1.5)
    assert table.loc["A/A", "diff"].tolist() == pytest.approx([0] * 7, abs=1.5)
    assert table["a_count"].unique().tolist() == [200]


def test_one_interrupt_moves_a_mean_but_no_shift():
    measured = timing(1000, 990, 1000)
    quiet = phases.table(measured)
    measured.ticks[2, 3 * 20 + 17, 1] += 2_000_000
    hit = phases.table(measured)
    assert quiet.loc["LUT", "shift"].tolist() == pytest.approx([-10] * 7, abs=8)
    assert (quiet.loc["LUT", "shift_high"] < 0).all()
    row = ("LUT", 3, "Mid")
    assert hit.loc[row, "diff"] > 1000
    assert hit.loc[row, "shift"] == pytest.approx(quiet.loc[row, "shift"], abs=1)


def test_shift_by_hand():
    """Two repetitions of 20: medians 4 and 8, mean 6; Student with 1 degree of freedom, 5 % over 7 rows."""
    measured = timing(1000, 1000, 1000, n=40)
    measured.ticks[0, :, 1] = measured.ticks[0, :, 0] + 4 * 2
    measured.ticks[1, :, 1] = measured.ticks[1, :, 0] + 8 * 2
    row = phases.table(measured).loc[("LUT", 0, "Little")]
    assert row["shift"] == 6
    assert row["shift_high"] - 6 == pytest.approx(2 * np.tan(np.pi / 2 * (1 - 0.05 / 7)))
    assert row["b_median"] == np.median(measured.of(0, 1))


# Line by line


def directions(measured):
    lines = phases.verdicts(measured)
    rows = lines[lines["what"].str.endswith(": direction")]
    assert len(rows) == 7
    return set(rows["verdict"]), rows


@pytest.mark.parametrize(
    ("walk", "lut", "again", "verdict", "why"),
    [
        (1000, 900, 1000, "consistent", "the LUT is faster here"),
        (1000, 1100, 1000, "not consistent", "the LUT is slower here"),
        (1000, 1000, 1000, "cannot be told", "no difference shown here"),
        (1000, 900, 1050, "cannot be told", "the walk differs from itself here"),
    ],
)
def test_the_direction_is_a_statement_about_this_machine(walk, lut, again, verdict, why):
    found, rows = directions(timing(walk, lut, again))
    assert found == {verdict}
    assert rows["why"].str.startswith(why).all()
    assert rows["why"].str.contains("about one run on this machine").all()


def test_every_published_figure_has_a_line(mail):
    lines = phases.verdicts(timing(1000, 900, 1000))
    assert lines.columns.tolist() == ["mail", "what", "published", "ours", "verdict", "why"]
    assert set(lines["verdict"]) <= set(WORDS) == set(phases_verdicts.VERDICTS)
    assert not lines["what"].duplicated().any()
    assert (lines != "").all(axis=None)
    published = lines.set_index("what")["published"]
    for (phase, cpu), row in mail.iterrows():
        name = f"phase {phase}, {cpu}"
        assert published[f"{name}: mean, ns"] == f"{row['table_walk_mean']} -> {row['table_lut_mean']}"
        assert published[f"{name}: std, ns"] == f"{row['letter_walk_std']} -> {row['letter_lut_std']}"
        assert published[f"{name}: counts"] == f"{row['table_walk_count']} -> {row['table_lut_count']}"
        assert published[f"{name}: difference"] == f"{row['table_diff']} ns, {row['table_percent']} %"
        assert published[f"{name}: 95 % intervals, ns"] == (
            f"+/-{row['letter_walk_interval']} and +/-{row['letter_lut_interval']}"
        )


def test_nanoseconds_of_another_cpu_cannot_be_told():
    for measured in (None, timing(10791, 10657, 10791)):
        lines = phases.verdicts(measured)
        foreign = lines[lines["what"].str.endswith((": mean, ns", ": std, ns"))]
        assert len(foreign) == 14
        assert set(foreign["verdict"]) == {"cannot be told"}


def test_what_agrees_and_what_does_not():
    lines = phases.verdicts().set_index("what")
    assert lines.index[lines["verdict"] == "differs"].tolist() == [
        "phase 0, Little: 95 % intervals, ns",
        "phase 5, Big: mean without LUT",
        "distribution with the LUT",
        "[1]: so it is complicated to conclude",
    ]
    cpus = lines[lines.index.str.endswith("CPU that ran the function")]
    assert cpus["verdict"].tolist() == ["agrees"] * 6
    assert cpus["published"].tolist() == ["Little", "Mid", "Mid", "Mid", "Mid or Big", "Big"]
    assert "701 against 659, but 42 saved does not exceed 43" in cpus["why"].iloc[4]
    assert set(lines.filter(like=": counts", axis=0)["verdict"]) == {"consistent"}
    assert not lines.index.str.endswith(": direction").any()


def test_a_cpu_column_that_does_not_come_out_differs():
    placed = phases.placements()
    placed.loc[(2, "Mid"), "stays"] = False
    lines = phases.verdicts(placed=placed).set_index("what")
    assert lines.loc["phase 2: CPU that ran the function", "verdict"] == "differs"


def test_the_summary_names_what_differs():
    measured = timing(1000, 900, 1000)
    lines = phases.verdicts(measured)
    text = phases.summary(lines, measured)
    assert text.count("\n* differs: ") == 4
    assert "(a machine) the sign of the difference is the mail's in 7 rows, the opposite in 0" in text
    assert f"Of the {len(lines)} lines" in text
