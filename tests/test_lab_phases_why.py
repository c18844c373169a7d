# SPDX-License-Identifier: GPL-2.0-only
"""Why a look-up costs what it costs: what is varied and what is not, memory, the mail's differences, claims.

No figure of time is a limit here.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from test_lab_phases import ROWS, timing

from schedpy import eas, em
from schedpy.lab import phases, phases_why
from schedpy.lab.timing import Timing
from schedpy.plot import phases_why as plot


@pytest.fixture(scope="module")
def costs():
    return phases.by_length(states=12, caches=["warm", "cold"], repetitions=3, progress=False)


@pytest.fixture(scope="module")
def grid():
    how = {"lengths": [2, 32], "domains": [1, 2], "cpus": [], "placements": 16, "repetitions": 2}
    return phases.by_platform(**how, caches=["warm", "cold"], progress=False)


def test_only_the_length_of_the_walk_changes():
    """One look-up a placement, of one domain; every number of states is visited, few times each."""
    cases = phases_why._one_look_up(64)
    placed = eas.find_energy_efficient_cpu(
        cases.model, cases.task, cases.cpus, kernel="5.12", skip_inefficient=False
    )
    assert ((placed.state >= 0).sum(axis=-1) == 1).all()
    assert (placed.target == 0).all()
    visited = placed.walk_length.sum(axis=-1)
    assert visited.tolist() == cases.phase[cases.row].tolist()
    assert np.unique(visited).tolist() == list(range(1, 65))
    assert np.bincount(visited).max() == 8


def test_costs_by_length(costs):
    assert costs.index.names == ["caches", "arm", "visited"]
    arms = ["walk", "lut", "walk again", "held", "chained"]
    for caches in ("warm", "cold"):
        for arm in arms:
            assert costs.xs((caches, arm), level=[0, 1]).index.tolist() == list(range(1, 13))
    assert (costs["low"] <= costs["ns"]).all()
    assert (costs["ns"] <= costs["high"]).all()
    slopes = phases.slopes(costs)
    assert slopes.index.tolist() == [(caches, arm) for caches in ("warm", "cold") for arm in arms]
    fitted = np.polyfit(range(1, 13), costs.xs(("cold", "lut"), level=[0, 1])["ns"], 1)[0]
    assert slopes.loc[("cold", "lut"), "ns_per_state"] == pytest.approx(fitted)


@pytest.mark.parametrize("states", [2, 3, 17, 512])
def test_platforms_of_any_length_are_models_whose_table_holds(states):
    model = phases_why.platform(states, 3, 2)
    assert [domain.capacity for domain in model.domains] == [341, 682, 1024]
    assert [len(domain.freq_khz) for domain in model.domains] == [states] * 3
    assert np.diff(model.domains[0].freq_khz.astype(np.int64)).min() > 1024
    assert model.nr_cpus == 6


def test_gains_by_platform(grid):
    assert grid.index.names == ["varied", "value", "caches", "arm"]
    assert grid.index.droplevel("arm").unique().tolist() == [
        (what, value, caches)
        for what, values in (("states", [2, 32]), ("domains", [1, 2]))
        for value in values
        for caches in ("warm", "cold")
    ]
    bytes_ = grid.xs("lut", level="arm")["arm_bytes"]
    assert bytes_[("domains", 2, "warm")] == 2 * bytes_[("domains", 1, "warm")]
    again = grid.xs("walk again", level="arm")
    assert (again["arm_bytes"] == again["walk_bytes"]).all()
    lengths = {value: grid.xs(("states", value), level=[0, 1])["states"] for value in (2, 32)}
    assert lengths[32].min() > lengths[2].max()


def test_memory_by_hand():
    """16, 27 and 31 bins with detection; without it the little domain's lowest state is another: 23."""
    rows = phases.memory("pixel4")
    assert rows["states"].tolist() == [18, 17, 20]
    assert rows["bins"].tolist() == [23, 27, 31]
    assert rows.loc["mid", ["walk_bytes", "lut_bytes", "held_bytes"]].tolist() == [
        17 * 24,
        17 * 24 + 27 * 8,
        27 * 32,
    ]
    assert rows.loc["mid", ["walk_lines", "lut_lines", "held_lines"]].tolist() == [7, 7 + 4, 14]
    assert (phases.memory(em.EnergyModel.load("pixel4")) == rows).all(axis=None)


def test_cold_parts_are_those_of_the_placement():
    rows = phases.by_part(repetitions=2, progress=False)
    names = ["nothing", "states", "entries", "held", "domains", "run queues", "everything"]
    assert rows.index.get_level_values("cold").unique().tolist() == names
    assert rows.loc["states"].index.tolist() == ["walk", "lut", "walk again", "held", "chained"]


# The mail's differences


def test_the_line_is_scipys():
    """Equal weights: ordinary least squares."""
    rng = np.random.default_rng(4)
    x, y = rng.random(7), rng.random(7)
    ours, theirs = phases_why._line(x, y, np.full(7, 2.0)), scipy.stats.linregress(x, y)
    assert ours["slope"] == pytest.approx(theirs.slope)
    assert ours["intercept"] == pytest.approx(theirs.intercept)
    assert ours["p"] == pytest.approx(theirs.pvalue)
    assert ours["r_squared"] == pytest.approx(theirs.rvalue**2)
    half = scipy.stats.t.ppf(0.975, 5) * theirs.stderr
    assert (ours["low"], ours["high"]) == pytest.approx((theirs.slope - half, theirs.slope + half))


def test_weights_count_as_repeated_points():
    x, y = np.array([0.0, 1, 2, 3]), np.array([1.0, 0, 5, 4])
    weighted = phases_why._line(x, y, 1 / np.sqrt([1, 1, 3, 1]))
    assert weighted["slope"] == pytest.approx(np.polyfit([0, 1, 2, 2, 2, 3], [1, 0, 5, 5, 5, 4], 1)[0])


def test_the_mails_differences_are_explained_where_they_are():
    """Lengths made to fit the differences explain them; those of the model do not."""
    mail = phases.table().loc["LUT"]
    made = phases.explained(-mail["diff"])
    assert made.loc[("diff", "states"), "slope"] == pytest.approx(-1)
    assert made.loc[("diff", "states"), "r_squared"] == pytest.approx(1)
    assert made.loc[("diff", "states"), "told"]
    assert made["r_states"].xs("states", level="predictor").tolist() == pytest.approx([1, 1])
    own = phases.explained()
    assert not own["told"].any()
    assert own.index.names == ["outcome", "predictor"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: phases.explained([1, 2]), TypeError, r"^lengths must be a Series, not list"),
        (
            lambda: phases.explained(pd.Series({(0, "Little"): 3})),
            ValueError,
            r"^lengths has no entry for phase 1, Mid",
        ),
        (lambda: phases.by_length(states=1), ValueError, r"^states = 1"),
        (lambda: phases.by_length(caches=["hot"]), ValueError, r"^caches\[0\] = 'hot'"),
        (lambda: phases.by_platform(lengths=[1]), ValueError, r"^lengths\[0\] = 1"),
        (lambda: phases.by_platform(lengths=[], domains=[9]), ValueError, r"^domains\[0\] = 9"),
        (lambda: phases.by_platform(lengths=[], domains=[], cpus=[17]), ValueError, r"^cpus\[0\] = 17"),
        (lambda: phases.by_platform(lengths=[], domains=[], cpus=[]), ValueError, r"^lengths, domains"),
        (lambda: phases.by_platform(placements=7), ValueError, r"^placements = 7"),
        (lambda: phases.memory(5), TypeError, r"^model must be a name or an EnergyModel"),
        (lambda: phases.claims({"warm": timing(1, 1, 1)}), TypeError, r"^timings must be a dict .*no 'cold'"),
        (
            lambda: phases.claims({"warm": timing(1, 1, 1), "cold": timing(1, 1, 1)}),
            ValueError,
            r"^timings\['cold'\] was measured with warm caches",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


# The claims


def claims(warm, cold):
    """The verdicts by claim, with tables of so many ns beside walks of 1000."""
    cold = Timing(**vars(timing(1000, cold, 1000)) | {"caches": "cold"})
    return phases.claims({"warm": timing(1000, warm, 1000), "cold": cold}).set_index("claim")


@pytest.mark.parametrize(
    ("warm", "cold", "faster", "relies_less"),
    [
        (900, 800, "consistent", "consistent"),
        (1100, 1300, "not consistent", "not consistent"),
        (900, 1100, "cannot be told", "not consistent"),
        (1100, 1000, "cannot be told", "consistent"),
        (900, 900, "consistent", "cannot be told"),
    ],
)
def test_what_this_machine_says_of_tables(warm, cold, faster, relies_less):
    found = claims(warm, cold)
    assert found.loc["(in general) the table is faster than the walk", "verdict"] == faster
    assert found.loc["the table relies less on caches than the walk", "verdict"] == relies_less
    assert found["sentence"].str.contains("a machine").sum() == 2


def test_what_the_mails_say_of_themselves():
    found = claims(900, 900)["verdict"]
    assert found.iloc[0] == "cannot be told"
    assert found["a small but consistent gain throughout"] == "consistent"
    assert found["where the intervals overlap it is complicated to conclude"] == "not consistent"
    assert found["the distribution is slightly more narrow with the table"] == "not consistent"
    assert found.iloc[-1] == "cannot be told"
    assert set(found) <= {"consistent", "not consistent", "cannot be told"}


# The pictures


def test_lengths_and_platforms_show_the_figures(costs, grid):
    lines = {line.get_label(): line for line in plot.lengths(costs, caches="warm").lines}
    assert lines["walk"].get_ydata().tolist() == costs.xs(("warm", "walk"), level=[0, 1])["ns"].tolist()
    ax = plot.platforms(grid, varied="domains")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2"]
    drawn = {c.get_label(): c.lines[0].get_ydata().tolist() for c in ax.containers}
    assert list(drawn) == [
        "2021 table, warm",
        "2021 table, cold",
        "table with the data, warm",
        "table with the data, cold",
    ]
    assert (
        drawn["table with the data, cold"]
        == grid.loc["domains"].xs(("cold", "held"), level=[1, 2])["ratio"].tolist()
    )
    plt.close("all")


def test_the_mails_points_and_their_line():
    lengths = pd.Series(range(7), index=pd.MultiIndex.from_tuples(ROWS))
    fit = phases.explained(lengths)
    for outcome in ("diff", "percent"):
        ax = plot.mail_differences(phases.table(), lengths, fit, outcome=outcome)
        points = ax.containers[0].lines[0]
        assert points.get_ydata().tolist() == phases.table().loc["LUT", outcome].tolist()
        assert [text.get_text() for text in ax.texts] == [f"{phase} {cpu}" for phase, cpu in ROWS]
        line = ax.lines[-1].get_ydata()
        assert line[1] - line[0] == pytest.approx(6 * fit.loc[(outcome, "states"), "slope"])
    plt.close("all")


def test_ratios_and_parts_show_every_arm():
    measured = phases.measure(repetitions=2, progress=False)
    ax = plot.ratios({"warm": phases.gains(measured)})
    assert [c.get_label() for c in ax.containers] == [
        "walk again, warm",
        "2021 table, warm",
        "table with the data, warm",
    ]
    frame = pd.concat(
        {
            name: pd.DataFrame({"ns": 2.0, "low": 1.0, "high": 3.0}, index=["walk", "lut", "held", "chained"])
            for name in ("nothing", "run queues")
        },
        names=["cold", "arm"],
    )
    ax = plot.parts(frame)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["nothing", "run\nqueues"]
    assert len(ax.patches) == 8
    plt.close("all")
