# SPDX-License-Identifier: GPL-2.0-only
"""What PELT's errors come from: the whole sweep in one table, and what each cause alone amounts to."""

import numpy as np
import pandas as pd
import pytest
from golden import load, select

from schedpy import pelt, workload
from schedpy.lab import pelt_error
from schedpy.lab.pelt_updates import BASE_NS, FEW_STARTS_NS, UNIT_NS, WINDOW, samples

WITHOUT, WITH = "4.13+", "4.13+ with 512"
ONE = {"hz": 250, "starts_ns": 0, "tick_offsets_ns": 0}
SHORT = ONE | {"activations": 12, "variants": (WITHOUT,)}


@pytest.fixture(scope="module")
def held():
    return pelt_error.run(definition="held", variants=(WITHOUT, WITH), starts_ns=FEW_STARTS_NS)


def test_run_sweeps_everything_in_one_table():
    table = pelt_error.run(
        hz=(250, 1000),
        variants=(WITHOUT, WITH),
        definition=("stale", "both"),
        run_ns=(5_000_000, 20_000_000),
        period_ns=(16_000_000, 100_000_000),
        extra_ns=(0, 1_000_000),
        starts_ns=(0, 65_536),
        by=("start_ns",),
    )
    keys = ["definition", "run_ns", "period_ns", "extra_ns", "variant", "hz", "start_ns"]
    assert table.columns.tolist()[:7] == keys
    assert not table.duplicated(keys).any()
    assert len(table) == 2 * 3 * 2 * 2 * 2 * 2  # a run of 20 ms every 16 ms is left out
    assert table["updates"].gt(0).all()
    alone = pelt_error.run(
        hz=1000,
        variants=(WITH,),
        definition="both",
        run_ns=5_000_000,
        period_ns=16_000_000,
        extra_ns=1_000_000,
        starts_ns=(0, 65_536),
        by=("start_ns",),
    )
    both = table.merge(alone[keys], on=keys)
    pd.testing.assert_frame_equal(both, alone, check_categorical=False, check_dtype=False)


def test_every_form_since_3_8_is_measured():
    names = [
        f"{first}{word}"
        for first in ("4.12", "4.13", "4.14", "4.15", "5.1", "5.7")
        for word in ("", " with 512", " with 128")
    ]
    assert list(pelt_error.FORMS) == ["3.8", "4.3", "4.4", "4.7", *names]
    table = pelt_error.run(variants=tuple(pelt_error.FORMS), **ONE)
    assert table["variant"].tolist() == list(pelt_error.FORMS)
    by_form = table.set_index("variant")[["max_of_value_pct", "off_pct"]]
    for name in ("4.14", "4.15", "5.1", "5.7"):
        for word in ("", " with 512", " with 128"):
            assert by_form.loc[name + word].tolist() == by_form.loc["4.13" + word].tolist()


@pytest.mark.parametrize(("name", "form"), [("4.3", "P43"), ("4.4", "P44"), ("4.7", "P47")])
def test_updates_before_4_12_are_those_of_the_known_answers(name, form):
    ours = pelt_error.measure(variants=(name,), warm_up_ns=0, **ONE | {"hz": 100, "activations": 20})
    now = ours["time_ns"].to_numpy().astype(np.uint64) + np.uint64(BASE_NS)
    answers = select(load(f"pelt/events_{form}"), stream=0)
    events = select(load("pelt/events_in"), stream=0)
    counted = events["now_ns"] > BASE_NS
    assert now.tolist() == events["now_ns"][counted].tolist()
    assert ours["util_avg"].tolist() == answers["util_avg"][counted].tolist()


def test_load_stands_in_up_to_4_0_where_there_is_no_utilisation():
    ours = pelt_error.measure(**SHORT | {"variants": ("3.8",)})
    task = workload.periodic(20_000_000, 100_000_000, 12, hz=250, start_ns=BASE_NS)
    late = task.now > BASE_NS + 1_000_000_000
    track = pelt.track(
        task.now,
        kernel="3.8",
        running=task.running,
        on_rq=task.on_rq,
        state=pelt.initial_state(last_update_time=BASE_NS),
        fields=("load_avg", "load_now", "runnable_sum"),
    )
    assert ours["util_avg"].tolist() == track.load_avg[late].tolist()
    assert ours["util_now"].tolist() == track.load_now[late].tolist()
    assert ours["in_window"].tolist() == (track.runnable_sum[late] % 1024).tolist()
    assert ours["error"].max() > 0


# Of the real value; the same error is 3.44 % of the smaller value that 4.12 reports.
ARITHMETIC = {"4.12": (3.32, 0.92), WITHOUT: (1.33, 0.10)}


def test_4_13_fixed_the_divider_and_not_the_staleness():
    table = pelt_error.run(definition="arithmetic", variants=tuple(ARITHMETIC))
    worst = table.groupby("variant", observed=True)[["max_of_value_pct", "max_of_1024_pct"]].max().round(2)
    assert {name: tuple(row) for name, row in worst.iterrows()} == ARITHMETIC


def test_arithmetic_is_held_against_the_real_signal():
    ours = pelt_error.measure(definition="arithmetic", **SHORT)
    task = workload.periodic(20_000_000, 100_000_000, 12, hz=250, start_ns=BASE_NS)
    late = task.now > BASE_NS + 1_000_000_000
    real = pelt.continuous(task.now, task.running)[late]
    assert ours["continuous"].tolist() == real.tolist()
    assert ours["error"].tolist() == np.abs(ours["util_now"].to_numpy() - real).tolist()
    assert (ours["of_value_pct"] == 100 * ours["error"] / real).all()


def test_always_running_reaches_full_scale_since_4_13():
    table = pelt_error.always_running(hz=(100, 250, 1000), variants=("4.12", WITHOUT)).set_index("variant")
    assert table.loc["4.12", ["lowest", "highest"]].drop_duplicates().values.tolist() == [[1002, 1023]]
    assert table.loc[WITHOUT, ["lowest", "highest"]].values.tolist() == [[1023, 1024]] * 2 + [[1024, 1024]]


HELD = {WITHOUT: [71.64, 54.76, 51.28, 32.76], WITH: [70.93, 52.20, 48.65, 26.92]}


@pytest.mark.parametrize("variant", HELD)
def test_the_tick_rules_what_is_read_between_updates(held, variant):
    found = held.loc[held["variant"] == variant, "max_of_value_pct"].round(2)
    assert found.tolist() == HELD[variant]


def test_a_point_is_an_update_of_a_copy():
    ours = pelt_error.held(grid_ns=777_777, hz=1000, **{k: v for k, v in SHORT.items() if k != "hz"})
    (rows,) = samples(**ONE | {"hz": 1000, "activations": 12})
    now, running, on_rq = rows.now[0], rows.running[0], rows.on_rq[0]
    first = int(ours["time_ns"].iloc[0])
    assert first == 1_000_003_000
    assert ours["time_ns"].diff().value_counts().idxmax() == 777_777
    assert ours.groupby("activation").size().tolist() == [26, 26]
    state = pelt.initial_state(last_update_time=BASE_NS)
    for point in ours.iloc[[0, 1, 7, 25, 30, 51]].itertuples():
        there = BASE_NS + point.time_ns
        past = now <= there
        until = pelt.track(
            now[past], kernel="4.15", running=running[past], on_rq=on_rq[past], state=state
        ).state
        would_be = pelt.track(
            [there], kernel="4.15", running=True, state=until, fields=("util_now",)
        ).util_now
        assert (point.util_avg, point.util_now) == (int(until["util_avg"]), int(would_be[0]))
        assert point.error == point.util_now - point.util_avg
    assert ours["error"].max() > 20


def test_points_of_an_activation_half_warmed_up():
    """A run that is under way when the warm-up ends has a counted dequeue without a counted pick."""
    ours = pelt_error.held(warm_up_ns=10_000_000, grid_ns=1_000_000, **SHORT)
    assert ours["activation"].unique().tolist() == list(range(1, 12))
    assert (ours["time_ns"] % 100_000_000 <= 20_000_000).all()


def test_nothing_counted_has_no_points():
    assert len(pelt_error.held(**SHORT | {"activations": 0})) == 0


def test_further_updates_are_between_and_keep_the_flags():
    (with_extra,) = samples(**ONE, extra_ns=150_000)
    (without,) = samples(**ONE)
    extra = (with_extra.label == "extra")[0]
    assert extra.sum() == pytest.approx(2_920_000_000 / 150_000, rel=0.03)
    gaps = np.diff(with_extra.now[0].astype(np.int64))
    assert (gaps >= 0).all()
    assert with_extra.now[0][~extra].tolist() == without.now[0].tolist()
    following = np.searchsorted(without.now[0], with_extra.now[0][extra], side="right")
    for field in ("running", "on_rq"):
        mine, plain = getattr(with_extra, field)[0], getattr(without, field)[0]
        assert mine[~extra].tolist() == plain.tolist()
        assert mine[extra].tolist() == plain[following].tolist()
    assert with_extra.running[0][extra].mean() == pytest.approx(0.2, abs=0.02)


def test_a_seed_gives_the_same_updates_again():
    once, again, other = (pelt_error.measure(extra_ns=1_000_000, seed=seed, **SHORT) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(once, again)
    assert len(once) != len(other) or once["time_ns"].tolist() != other["time_ns"].tolist()


def test_further_updates_take_the_patch_its_effect():
    table = pelt_error.by_extra().set_index(["extra_ns", "variant"])
    without, patched = (table.xs(name, level="variant") for name in (WITHOUT, WITH))
    assert without["caught_pct"].eq(0).all()
    assert patched["max_pct"].round(2).to_dict() == {
        0: 11.63,
        150_000: 20.62,
        1_000_000: 19.15,
        3_000_000: 15.56,
    }
    assert without["max_pct"].round(2).to_dict() == {
        0: 20.0,
        150_000: 20.62,
        1_000_000: 20.0,
        3_000_000: 20.0,
    }
    gain = without["median_pct"] - patched["median_pct"]
    assert gain[150_000] < 0.2 < 2 < gain[1_000_000] < gain[3_000_000]
    caught = patched["caught_pct"]
    assert caught[150_000] < 2 < 15 < caught[1_000_000] < caught[3_000_000]


def test_the_sawtooth_reaches_the_bounds_and_no_further():
    table = pelt_error.sawtooth()
    bounds = pelt_error.bounds()
    unit = 100 / 1024
    tooth = table[table["variant"] == WITHOUT].set_index("state")
    running, asleep = tooth.loc["running"], tooth.loc["asleep"]
    assert (
        bounds["running, of 1024"] - unit < running["of_1024_pct"].max() < bounds["running, of 1024"] + unit
    )
    assert bounds["asleep, of the value"] - unit < asleep["of_value_pct"].max()
    assert asleep["of_value_pct"].max() < bounds["asleep, of the value"] + unit
    for state in (running, asleep):
        assert (state["time_ns"] // UNIT_NS % WINDOW == state["in_window"]).all()
        first = state[state["time_ns"] < WINDOW * UNIT_NS]
        assert (np.diff(first["error"]) >= -1).all()
        assert first["error"].iloc[0] == 0
    peaks = running.groupby(running["time_ns"] // (WINDOW * UNIT_NS))["error"].max()
    assert (np.diff(peaks) <= 1).all()  # a unit more by rounding


def test_no_threshold_is_met_by_the_sawtooth_and_4_12_sleeps_without_error():
    table = pelt_error.sawtooth().set_index("variant")
    assert table.loc[WITH, "error"].tolist() == table.loc[WITHOUT, "error"].tolist()
    old = table.loc["4.12"].set_index("state")["error"]
    assert old["asleep"].eq(0).all()
    assert old["running"].max() > 20


def test_refreshes_per_second_are_counted():
    table = pelt_error.refreshes(hz=(250, 1000), extra_ns=(0, 1_000_000), starts_ns=(0, 65_536))
    assert table[["extra_ns", "hz"]].values.tolist() == [
        [0, 250],
        [0, 1000],
        [1_000_000, 250],
        [1_000_000, 1000],
    ]
    assert (table["more"] == table["patched"] - table["without"]).all()
    assert table["more"].gt(0).all()
    assert table["updates"].gt(table["patched"]).all()
    alone = pelt_error.measure(variants=(WITHOUT,), **ONE)
    seconds = (alone["time_ns"].max() - alone["time_ns"].min()) / 1e9
    mine = pelt_error.refreshes(extra_ns=0, **ONE).iloc[0]
    assert mine["updates"] == len(alone) / seconds
    assert mine["without"] == alone["updated"].sum() / seconds


def test_a_refresh_is_timed_against_itself():
    table = pelt_error.time_refresh(events=1000, rounds=5)
    assert table.columns.tolist() == ["without", "patched", "without again", "refresh_ns", "nothing_ns"]
    assert len(table) == 5
    assert table[["without", "patched", "without again"]].gt(0).all(axis=None)
    share = 1 - 600 / 1024  # of the updates end no window
    more = (table["patched"] - table["without"]) / table["refresh_ns"]
    assert more.to_numpy() == pytest.approx(np.full(5, share), abs=0.002)


def test_the_price_is_a_product():
    refreshed = pd.DataFrame({"extra_ns": [0, 1], "hz": [250, 1000], "more": [100.0, 200.0]})
    timed = pd.DataFrame({"refresh_ns": np.arange(101) / 10, "nothing_ns": np.arange(-50, 51) / 10})
    price = pelt_error.price(refreshed, timed)
    assert price["price_ppm"].tolist() == [0.5, 1.0]
    assert price[["low_ppm", "high_ppm", "nothing_ppm"]].round(9).values.tolist() == [
        [0.4, 0.6, 0.1],
        [0.8, 1.2, 0.2],
    ]
    beside = pelt_error.beside(price, pelt_error.published())
    assert beside["change_pct"].round(6).tolist() == [-0.0001, -0.586579, 0.049148]
    assert beside["low_pct"].round(6).tolist()[:2] == [-0.00012, -1.333866]
    assert beside["refreshes"].round().tolist()[:2] == [200, 1_173_158]
    assert beside["refreshes"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("function", "name", "bad"),
    [
        ("run", "definition", "slow"),
        ("run", "definition", ("stale", "slow")),
        ("run", "definition", ()),
        ("run", "definition", 5),
        ("run", "run_ns", 200_000_000),
        ("run", "extra_ns", -1),
        ("run", "by", ("error",)),
        ("run", "variants", ("4.11",)),
        ("measure", "definition", "held"),
        ("measure", "seed", -1),
        ("held", "grid_ns", 0),
        ("always_running", "seconds", 1),
        ("always_running", "hz", 2.5),
        ("always_running", "starts_ns", -1),
        ("by_extra", "extra_ns", -1),
        ("refreshes", "extra_ns", ()),
        ("sawtooth", "step", 0),
        ("sawtooth", "windows", 0),
        ("time_refresh", "events", 10),
        ("time_refresh", "rounds", 1),
        ("time_refresh", "patched", WITHOUT),
    ],
)
def test_nonsense_is_refused_by_name(function, name, bad):
    with pytest.raises((ValueError, TypeError), match=rf"^{name}\b"):
        getattr(pelt_error, function)(**{name: bad})


def test_definitions_of_several_tasks_at_once_are_refused():
    table = pelt_error.run(extra_ns=(0, 1_000_000), **SHORT)
    with pytest.raises(ValueError, match=r"^table: must be of one task"):
        pelt_error.definitions(table)
