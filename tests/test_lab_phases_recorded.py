# SPDX-License-Identifier: GPL-2.0-only
"""The timings of a device in the mail's table: the same figures from samples, moments and bins."""

import numpy as np
import pandas as pd
import pytest

from schedpy import em, stats
from schedpy.lab import phases, timings


@pytest.fixture
def write(tmp_path):
    def writer(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return writer


RNG = np.random.default_rng(11)
SAMPLES = {
    arm: {
        (phase, cpu): RNG.integers(low, low + 500, n)
        for phase, cpu, low, n in (
            (0, 0, 1000, 30),
            (0, 3, 1000, 25),
            (4, 4, 700, 20),
            (4, 7, 500, 40),
            (5, 7, 400, 35),
        )
    }
    for arm, low in (("walk", 0), ("lut", 1))
}
KINDS = {0: "Little", 3: "Little", 4: "Mid", 7: "Big"}


def graph_text(samples):
    for second, phase in enumerate(sorted({phase for phase, _ in samples})):
        yield f" {second}.000000 |   0)               |  /* phase {phase} */"
        for (own, cpu), values in samples.items():
            if own == phase:
                for k, ns in enumerate(values):
                    duration = f"{cpu})   {ns / 1000:.3f} us    |"
                    yield f" {second}.{k + 1:06d} |   {duration}  find_energy_efficient_cpu();"


@pytest.fixture
def graphs(write):
    return [write(f"{arm}.txt", "\n".join(graph_text(samples)) + "\n") for arm, samples in SAMPLES.items()]


PHASES = {phase: f"phase {phase}" for phase in (0, 4, 5)}


def expected(arm, phase, kind):
    parts = [v for (own, cpu), v in SAMPLES[arm].items() if own == phase and KINDS[cpu] == kind]
    return stats.Moments.of(np.concatenate(parts))


def test_traces_become_the_mails_table(graphs):
    table = phases.recorded(*graphs, phases=PHASES)
    assert list(table.index) == [
        ("LUT", 0, "Little"),
        ("LUT", 4, "Mid"),
        ("LUT", 4, "Big"),
        ("LUT", 5, "Big"),
    ]
    assert table["duty_percent"].tolist() == [12.5, 62.5, 62.5, 75]
    for (_, phase, kind), row in table.iterrows():
        a, b = expected("walk", phase, kind), expected("lut", phase, kind)
        c = stats.compare(a, b)
        assert row[["a_mean", "a_std", "a_count"]].tolist() == [a.mean, a.std, a.count]
        assert row[["diff", "t", "p"]].tolist() == [c.diff, c.t, c.p]
        assert row[["diff_low", "diff_high"]].tolist() == [c.interval.low, c.interval.high]
        assert row["overlap"] == pytest.approx(row["a_interval"] + row["b_interval"] - abs(row["diff"]))
        assert row["a_mean_low"] == row["a_mean_high"] == a.mean
        assert row["exact"]
    assert table["p_holm"].tolist() == stats.holm(table["p"].to_numpy()).tolist()
    assert table.attrs["left_out"] == []


def test_it_has_the_columns_of_the_published_table_in_their_order(graphs):
    own = list(phases.recorded(*graphs, phases=PHASES))
    published = list(phases.table())
    assert own[: len(published)] == published
    both = pd.concat([phases.table(), phases.recorded(*graphs, phases=PHASES)])
    assert both[published].notna().all().all()


def test_the_profiler_gives_the_same_table(tmp_path, graphs):
    for arm, samples in SAMPLES.items():
        for (phase, cpu), values in samples.items():
            folder = tmp_path / f"{arm}_{phase}"
            folder.mkdir(exist_ok=True)
            time, us2 = values.sum(), values.var(ddof=1) / 1e6
            (folder / f"function{cpu}").write_text(
                "  Function     Hit    Time            Avg             s^2\n"
                f"  find_energy_efficient_cpu  {values.size}  {time / 1000:.3f} us  "
                f"{int(values.mean()) / 1000:.3f} us  {us2:.3f} us\n"
            )
    arms = [{phase: tmp_path / f"{arm}_{phase}" for phase in PHASES} for arm in SAMPLES]
    table, traced = phases.recorded(*arms), phases.recorded(*graphs, phases=PHASES)
    assert table["diff"].to_numpy() == pytest.approx(traced["diff"].to_numpy())
    # s^2 has three decimals of us^2.
    assert table["p"].to_numpy() == pytest.approx(traced["p"].to_numpy(), rel=0.1)


def histogram_text(samples, phase):
    for (own, cpu), values in samples.items():
        if own == phase:
            yield f"@ns[{cpu}]:"
            for low in np.unique(values // 50 * 50):
                yield f"[{low}, {low + 50})  {np.count_nonzero(values // 50 * 50 == low)} |@|"


def test_bins_hold_the_true_table(write, graphs):
    arms = [
        {phase: write(f"{arm}{phase}", "\n".join(histogram_text(samples, phase)) + "\n") for phase in PHASES}
        for arm, samples in SAMPLES.items()
    ]
    table, traced = phases.recorded(*arms), phases.recorded(*graphs, phases=PHASES)
    assert not table["exact"].any()
    for arm in "ab":
        for part in ("mean", "std"):
            true = traced[f"{arm}_{part}"]
            assert (table[f"{arm}_{part}_low"] <= true).all()
            assert (table[f"{arm}_{part}_high"] >= true).all()
        assert (table[f"{arm}_interval"] >= traced[f"{arm}_interval"]).all()
    assert (table["diff_low"] <= traced["diff_low"]).all()
    assert (table["diff_high"] >= traced["diff_high"]).all()
    assert (table["p"] >= traced["p"]).all()
    assert (table["overlap"] >= traced["overlap"]).all()
    assert ((table["overlap"] >= 0) == table["intervals_overlap"]).all()


def test_rows_without_two_samples_are_left_out_and_named(write):
    walk = write("walk.csv", "cpu,ns\n0,5\n0,6\n4,7\n7,1\n7,2\n")
    lut = write("lut.csv", "cpu,ns\n0,3\n0,4\n4,7\n4,8\n7,2\n7,3\n")
    table = phases.recorded({0: walk, 1: walk}, {0: lut, 2: lut})
    assert list(table.index) == [("LUT", 0, "Little"), ("LUT", 0, "Big")]
    assert table.attrs["left_out"] == [
        "phase 1: in one arm alone",
        "phase 2: in one arm alone",
        "phase 0, Mid: 1 and 2 samples",
    ]


def test_other_phones_and_other_phases(write):
    path = write("t.csv", "cpu,ns\n0,5\n0,6\n9,7\n9,8\n")
    table = phases.recorded({"idle": path}, {"idle": path}, cpus={"small": [0, 1], "large": 9})
    assert list(table.index) == [("LUT", "idle", "small"), ("LUT", "idle", "large")]
    assert table["duty_percent"].isna().all()
    rk3399 = phases.recorded({0: path}, {0: path}, cpus=em.EnergyModel.load("rk3399_op1"))
    assert list(rk3399.index) == [("LUT", 0, em.EnergyModel.load("rk3399_op1").domains[0].name)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: phases.recorded(p, p), ValueError, r"phases: must say when each phase of .*t.csv is"),
        (lambda p: phases.recorded({0: p}, {1: p}), ValueError, r"walk and lut have no phase in common"),
        (
            lambda p: phases.recorded({0: p}, {0: p}, phases={0: (1, 2)}),
            ValueError,
            r"phases: walk says itself",
        ),
        (lambda p: phases.recorded({}, {0: p}), ValueError, r"walk: must be at least one phase"),
        (lambda p: phases.recorded({0: p}, 3), TypeError, r"lut must be paths, a Recording"),
        (lambda p: phases.recorded({0: p}, {0: 3}), TypeError, r"lut must be paths"),
        (lambda p: phases.recorded({0: p}, {0: p}, cpus=3), TypeError, r"cpus must be a model"),
        (lambda p: phases.recorded({0: p}, {0: p}, cpus={}), TypeError, r"cpus must be a model"),
        (lambda p: phases.recorded({0: p}, {0: p}, cpus="pixel9"), ValueError, r"pixel9"),
        (
            lambda p: phases.recorded({0: p}, {0: p}, cpus={"a": [0, 1], "b": 1}),
            ValueError,
            r"a CPU is of two kinds",
        ),
        (lambda p: phases.recorded({0: p}, {0: p}, cpus={"a": 1.5}), TypeError, r"cpus\['a'\]"),
        (
            lambda p: phases.recorded({0: p}, {0: p}, cpus={"a": 5}),
            ValueError,
            r"no row has two samples in both",
        ),
        (lambda p: phases.recorded({0: p}, {0: p}, level=95), ValueError, r"level = 95"),
        (lambda p: phases.recorded(p, p, phases={0: (1, 2)}), ValueError, r"has no times"),
    ],
)
def test_bad_input_is_refused_by_name(write, call, error, message):
    path = write("t.csv", "cpu,ns\n0,5\n0,6\n")
    with pytest.raises(error, match=message):
        call(path)


def test_samples_without_their_cpu_are_refused(write):
    path = write("t.csv", "ns\n5\n6\n")
    with pytest.raises(ValueError, match=r"t.csv: does not tell the CPU of its samples"):
        phases.recorded({0: path}, {0: path})
    given = timings.read(path, cpu=7)
    assert list(phases.recorded({0: given}, {0: given}).index) == [("LUT", 0, "Big")]


def test_the_picture_of_the_published_table_takes_it(graphs):
    plot = pytest.importorskip("schedpy.plot.phases")
    table = phases.recorded(*graphs, phases=PHASES)
    labels = [text.get_text() for text in plot.intervals(table).get_xticklabels()]
    assert len(labels) == len(table)
    plot.differences(table)
