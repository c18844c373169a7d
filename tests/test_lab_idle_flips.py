# SPDX-License-Identifier: GPL-2.0-only
"""Which idle states the shift changes: as plain twins have it, and as known figures within sampling error.

The known figures were measured with the kernels' own functions over one stream of 200,000 idles each. Ours
are means over streams, so the two may differ by what such a stream and our mean scatter.
"""

import numpy as np
import pytest
from reference import cpuidle as plain

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")

from schedpy import clock, cpuidle  # noqa: E402
from schedpy.lab import idle_clock, idle_runs  # noqa: E402
from schedpy.lab.idle_draws import MIXES, Exponential, Interrupts, LogUniform, Timer  # noqa: E402

MS, US = 10**6, 1000
SAMPLE = {"n": 8000, "seeds": 8, "progress": False}
# In percent: a governor's first eight idles, which it has to learn from, are more of a short stream.
WARM_UP = 100 * 8 / SAMPLE["n"]
KNOWN_IDLES = 200_000
TIMERS = tuple(idles for idles in MIXES if idles.kind == "timer")
INSIDE = tuple(Interrupts(us * US) for us in (205, 405, 605, 810, 5100))
OUTSIDE = tuple(Interrupts(us * US) for us in (50, 210, 1000))
WITH_TICK = tuple(idles for idles in MIXES if getattr(idles, "tick_ns", None))
STOPPED = tuple(idles for idles in MIXES if isinstance(idles, Exponential) and idles.tick_ns is None)


@pytest.fixture(scope="module")
def menu():
    return idle_clock.flips(idles=[idles for idles in MIXES if idles.period_ns != 10 * MS], **SAMPLE)


def sampling_error(deviation):
    """Of the difference between a known figure and our mean, four standard errors of it."""
    return 4 * deviation * np.sqrt(SAMPLE["n"] / KNOWN_IDLES + 1 / SAMPLE["seeds"])


def agrees(ours, deviation, known, digit):
    """``known`` is printed to ``digit``."""
    reach = sampling_error(deviation) + digit / 2 + WARM_UP
    return abs(ours - known) <= reach


def row(found, idles, table):
    (number,) = np.flatnonzero((found["idles"] == idles.label) & (found["table"] == table))
    return found.iloc[number]


def mean_of(found, idles):
    """Over the tables, and its deviation: all have the same streams, so it is at most the mean deviation."""
    of_this = found[found["idles"] == idles.label]
    return of_this["flips_pct"].mean(), of_this["deviation_pct"].mean()


# ---- against plain twins


TWINS = {
    ("menu", "4.7"): lambda table: plain.MenuV47(table),
    ("ladder", "4.7"): lambda table: plain.LadderV47(table),
    ("menu", "6.1"): lambda table: plain.MenuV61(table, 4 * MS),
    ("menu", "6.19"): lambda table: plain.MenuV619(table, 4 * MS),
    ("teo", "6.1"): lambda table: plain.TeoV61(table, 4 * MS),
    ("teo", "6.19"): lambda table: plain.TeoV619(table, 4 * MS),
}


def twin_selects(states, governor, kernel, how, sleep_ns, wake_ns):
    """One stream through a twin, in Python integers: a tick every 4 ms, as if one had just been."""
    columns = (states.exit_latency_us, states.target_residency_us, states.polling)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    twin = TWINS[governor, kernel](plain.Table.of(rows, states.first, 1 if kernel == "4.7" else 1000))
    residency_of = plain.residency_us if kernel == "4.7" else plain.residency_ns
    selected = []
    for sleep, wake in zip(sleep_ns.tolist(), wake_ns.tolist(), strict=True):
        idle = plain.Idle(sleep, delta_tick=min(sleep, 4 * MS))
        state = twin.select(idle)
        measured = wake + 1000 * rows[state][0]
        twin.reflect(idle, state, measured, residency_of(measured, how))
        selected.append(state)
    return selected


@pytest.mark.parametrize(("governor", "kernel"), TWINS)
@pytest.mark.parametrize("idles", [Timer(4 * MS, 0.05), Exponential(MS), LogUniform(early=0.5)])
def test_the_twins_flip_as_often(governor, kernel, idles):
    states = cpuidle.IdleTable.load("juno")
    n, seeds = 300, 2
    found = idle_clock.flips(
        states, kernel=kernel, governor=governor, idles=idles, n=n, seeds=seeds, seed=3, progress=False
    )
    drawn = [idles.draw(np.random.default_rng([3, k]), n) for k in range(seeds)]
    for _, line in found.iterrows():
        before, after = (
            np.array([twin_selects(states, governor, kernel, line[how], *each) for each in drawn])
            for how in ("against", "residency")
        )
        shares = 100 * (before != after).mean(axis=1)
        assert line["flips_pct"] == pytest.approx(shares.mean(), abs=1e-12)
        assert line["deviation_pct"] == pytest.approx(shares.std(ddof=1), abs=1e-12)
        assert line["shallower_pct"] == pytest.approx(100 * (after < before).mean(), abs=1e-12)
        assert line["deeper_pct"] == pytest.approx(100 * (after > before).mean(), abs=1e-12)


# ---- known figures


def test_a_tick_of_4_ms_sits_in_the_band_of_a_little_core(menu):
    """The headline: nearly all idles, for the timer that HZ=250 is."""
    for jitter, known in ((0.001, 100), (0.01, 94.6), (0.05, 38)):
        line = row(menu, Timer(4 * MS, jitter), "sm8150_little")
        assert agrees(line["flips_pct"], line["deviation_pct"], known, 0.1 if jitter == 0.01 else 1)
        assert line["change"] == "little-rail-pc -> WFI"


def test_timers(menu):
    for jitter, known in ((0.001, 6.7), (0.01, 6.3), (0.05, 4.0)):
        assert agrees(*mean_of(menu, Timer(4 * MS, jitter)), known, 0.1)
    assert agrees(*mean_of(menu, Timer(MS, 0.05)), 0.35, 0.01)
    hsw = row(menu, Timer(MS, 0.05), "intel_hsw")
    assert agrees(hsw["flips_pct"], hsw["deviation_pct"], 5.2, 0.1)
    for period in (1, 16):
        for jitter in (0.001, 0.01):
            of_this = menu[menu["idles"] == Timer(period * MS, jitter).label]
            assert (of_this["flips_pct"] <= WARM_UP).all()


@pytest.mark.parametrize(("early", "mean", "worst"), [(0.0, 0.58, 1.93), (0.5, 0.92, 2.5)])
def test_log_uniform_idles(menu, early, mean, worst):
    idles = LogUniform(early=early)
    assert agrees(*mean_of(menu, idles), mean, 0.01)
    hsw = row(menu, idles, "intel_hsw")
    assert hsw["flips_pct"] == menu.loc[menu["idles"] == idles.label, "flips_pct"].max()
    assert agrees(hsw["flips_pct"], hsw["deviation_pct"], worst, 0.01 if early == 0 else 0.1)


def test_known_timers_flip_as_often_as_they_meet_the_band(menu):
    """Log-uniform over five decades: a threshold R is met in ln(1 + 0.024 (1 + L / R)) / ln(10^5)."""
    for table, bands in idle_clock.bands(PHONES).groupby("table"):
        line = row(menu, LogUniform(), table)
        width = np.log(bands["always_from_us"] / bands["target_residency_us"]).sum() / np.log(1e5)
        narrow = np.log(bands["never_below_us"] / bands["target_residency_us"]).sum() / np.log(1e5)
        reach = sampling_error(line["deviation_pct"])
        assert 100 * narrow - reach <= line["flips_pct"] <= 100 * width + reach, table


@pytest.mark.parametrize(
    ("mixes", "low", "high", "table", "worst", "digit"),
    [(WITH_TICK, 0.45, 1.6, "intel_hsw", 4.8, 0.1), (STOPPED, 0.5, 1.4, "intel_skl", 4.9, 0.1)],
    ids=["tick", "no tick"],
)
def test_exponential_idles(menu, mixes, low, high, table, worst, digit):
    means = [mean_of(menu, idles) for idles in mixes]
    assert agrees(*min(means), low, 0.1 if low == 0.5 else 0.01)
    assert agrees(*max(means), high, digit)
    of_these = menu[menu["idles"].isin([idles.label for idles in mixes])]
    line = of_these.loc[of_these["flips_pct"].idxmax()]
    assert line["table"] == table
    assert agrees(line["flips_pct"], line["deviation_pct"], worst, digit)


def test_periodic_interrupts_inside_a_band_flip_all(menu):
    inside = menu[menu["idles"].isin([idles.label for idles in INSIDE]) & (menu["flips_pct"] > 50)]
    assert set(inside["idles"]) == {idles.label for idles in INSIDE}
    low, high = (inside.loc[inside["flips_pct"].agg(which)] for which in ("idxmin", "idxmax"))
    assert low["deviation_pct"] < 1, "each stream flips nearly all of its idles"
    assert agrees(low["flips_pct"], low["deviation_pct"], 98.4, 0.1)
    assert agrees(high["flips_pct"], high["deviation_pct"], 100, 1)


def test_periodic_interrupts_outside_a_band_hardly_flip_any(menu):
    for idles in OUTSIDE:
        mean, deviation = mean_of(menu, idles)
        assert mean <= 0.01 + sampling_error(deviation) + WARM_UP
        of_this = menu[menu["idles"] == idles.label]
        line = of_this.loc[of_this["flips_pct"].idxmax()]
        assert line["flips_pct"] <= 0.07 + sampling_error(line["deviation_pct"]) + WARM_UP


def test_an_interrupt_at_the_lower_end_of_a_band_needs_a_long_stream():
    """The correction factor wanders until menu predicts less than the interrupts, by either conversion."""
    long = SAMPLE | {"n": KNOWN_IDLES, "seeds": 4}
    line = idle_clock.flips("sm8150_big", idles=Interrupts(4500 * US), **long).iloc[0]
    assert abs(line["flips_pct"] - 0.07) <= 4 * line["deviation_pct"] * np.sqrt(1 + 1 / 4) + 0.005


def test_steady_changes_are_to_shallower_states(menu):
    """The few others come from another history."""
    assert agrees(100 * menu["shallower_pct"].sum() / menu["flips_pct"].sum(), 0, 99.7, 0.1)


def test_later_menus_flip_as_often():
    idles = Timer(4 * MS, 0.01)
    for kernel in ("6.1", "6.19"):
        found = idle_clock.flips("sm8150_little", kernel=kernel, idles=idles, residency="shr10", **SAMPLE)
        (line,) = found.to_dict("records")
        assert agrees(line["flips_pct"], line["deviation_pct"], 94.6, 0.1)


def test_teo_bins_timers_and_flips_by_interrupts():
    known_timers = {"idles": [*TIMERS[:3], LogUniform()], "residency": "shr10", **SAMPLE}
    one = idle_clock.flips(["juno", "sm8150_little"], kernel="6.1", governor="teo", **known_timers)
    assert (one["flips_pct"] == 0).all()
    two = idle_clock.flips("powernv_p8", kernel="6.19", governor="teo", **known_timers).iloc[-1]
    assert agrees(two["flips_pct"], two["deviation_pct"], 0.9, 0.1)
    interrupts = Interrupts(MS)
    for kernel in ("6.1", "6.19"):
        found = idle_clock.flips(
            "hikey960_little", kernel=kernel, governor="teo", idles=interrupts, residency="shr10", **SAMPLE
        )
        assert agrees(found["flips_pct"][0], found["deviation_pct"][0], 100, 1)


@pytest.mark.parametrize(
    ("kernel", "table", "known"), [("6.1", "intel_hsw", 7.2), ("6.19", "intel_hsw", 7.7)]
)
def test_teo_flips_by_exponential_interrupts(kernel, table, known):
    """The known figure is the worst of several: ours is of the one that is nearest to be it."""
    idles = Exponential(MS, None if kernel == "6.1" else 4 * MS)
    line = idle_clock.flips(
        table, kernel=kernel, governor="teo", idles=idles, residency="shr10", **SAMPLE
    ).iloc[0]
    assert agrees(line["flips_pct"], line["deviation_pct"], known, 0.1)


def test_ladder_flips_in_both_directions():
    found = idle_clock.flips(
        kernel="4.7", governor="ladder", idles=[Exponential(50 * US), Exponential(20 * MS, None)], **SAMPLE
    )
    most, least = (mean_of(found, idles) for idles in (Exponential(50 * US), Exponential(20 * MS, None)))
    assert agrees(*most, 26, 1)
    assert agrees(*least, 3, 1)
    assert (found.groupby("idles")[["shallower_pct", "deeper_pct"]].mean() > 0.5).all(axis=None)


def test_ladders_sign_promotes_more_by_the_shift():
    found = idle_clock.times_in_states("juno", governor="ladder", idles=LogUniform(early=0.5), **SAMPLE)
    wfi = found.iloc[0]
    reach = sampling_error(wfi["entries_more_shr10_deviation"]) + 0.5
    assert abs(wfi["entries_pct_div1000"] - 78) <= reach
    assert abs(wfi["entries_pct_shr10"] - 50) <= reach


def test_occupancy_of_juno():
    found = idle_clock.times_in_states("juno", idles=Exponential(5 * MS), **SAMPLE).iloc[-1]
    deviation = found["entries_more_shr10_deviation"]
    assert found["state"] == "cluster-sleep-0"
    # The share itself scatters more than the difference of the two runs over the same idles does.
    share = np.sqrt(21.8 * (100 - 21.8) / KNOWN_IDLES) * np.sqrt(
        1 + KNOWN_IDLES / (SAMPLE["n"] * SAMPLE["seeds"])
    )
    assert abs(found["entries_pct_div1000"] - 21.8) <= 4 * share + 0.05
    assert abs(found["entries_more_shr10"] - (19.5 - 21.8)) <= sampling_error(deviation) + 0.1


# ---- bands


def shares_of_the_deep_state(periods_us, how, idles=3600):
    little = cpuidle.IdleTable.load("sm8150_little")
    sleep = np.broadcast_to(1000 * np.asarray(periods_us)[:, np.newaxis], (len(periods_us), idles))
    run = cpuidle.run(little, kernel="4.7", sleep_ns=sleep, residency=how, fields=("selected",))
    return 100 * run.selected[:, idles // 2 :].mean(axis=1)


def test_the_band_of_a_little_core_at_steps_of_1_us():
    periods = np.arange(3900, 4100)
    by_shift = dict(zip(periods.tolist(), shares_of_the_deep_state(periods, "shr10"), strict=True))
    assert all(by_shift[us] == 0 for us in range(3900, 4032))
    assert by_shift[4032] == pytest.approx(11, abs=0.5)
    assert by_shift[4058] == pytest.approx(89, abs=0.5)
    assert all(0 < by_shift[us] < 100 for us in range(4032, 4059))
    assert all(by_shift[us] == 100 for us in range(4059, 4100))
    by_division = shares_of_the_deep_state(periods, "div1000")
    assert ((by_division == 100) == (periods >= 3934)).all()


PHONES = ["sm8150_little", "sm8150_big", "gs101_little", "gs101_mid", "gs101_big", "juno", "hikey960_little"]


@pytest.mark.parametrize("table", PHONES)
def test_timers_flip_inside_the_bands_alone(table):
    """Truncation to whole microseconds moves the ends by few of them."""
    timers = idle_clock.near_thresholds(table, jitter=0, points=40)
    found = idle_clock.flips(table, idles=timers, n=2000, seeds=1, progress=False)
    flips = found["flips_pct"].to_numpy()
    period = found["period_us"].to_numpy()
    slack, warm_up = 5, 100 * 40 / 2000
    inside = np.zeros(len(found), bool)
    for band in idle_clock.bands(table).itertuples():
        surely = (period >= band.target_residency_us) & (period < band.never_below_us - slack)
        assert surely.any()
        assert (flips[surely] >= 100 - warm_up).all(), band.state
        inside |= (period >= band.target_residency_us - slack) & (period < band.always_from_us + slack)
    assert not inside.all()
    assert (flips[~inside] <= warm_up).all()


def test_bands_are_the_rule():
    states = cpuidle.IdleTable(
        ["poll", "a", "b", "c"],
        exit_latency_us=[0, 1, 2, 100],
        target_residency_us=[0, 1, 500, 500],
        polling=[True, False, False, False],
    )
    (band,) = idle_clock.bands(states).to_dict("records")
    assert (band["state"], band["instead"], band["target_residency_us"]) == ("c", "a", 500)
    assert band["never_below_us"] == pytest.approx(500 + 0.024 * (500 + 1), rel=1e-12)
    assert band["always_from_us"] == pytest.approx(500 + 0.024 * (500 + 100), rel=1e-12)
    assert len(idle_clock.bands()) == sum(len(idle_clock.bands(name)) for name in idle_runs.PLATFORMS)


# ---- the snooze loop


@pytest.mark.parametrize(
    ("overshoot_ns", "selections"), [(0, 10_000), (50, 9996), (2300, 9776), (2399, 9766), (2400, 9)]
)
def test_snooze_polls_a_whole_second(overshoot_ns, selections):
    divided, shifted = idle_clock.snooze(overshoot_ns).to_dict("records")
    assert (divided["residency"], divided["selections"], round(divided["polled_ms"], 2)) == (
        "div1000",
        9,
        round(8 * (0.1 + overshoot_ns / 10**6), 2),
    )
    assert (shifted["residency"], shifted["selections"]) == ("shr10", selections)
    assert shifted["polled_ms"] == (pytest.approx(1000) if selections > 9 else divided["polled_ms"])
    assert shifted["seen_us"] == clock.ns_to_us_shift(100_000 + overshoot_ns)
    assert (shifted["state"] == "") == (selections > 9)


def test_snooze_one_selection_at_a_time():
    """The whole trace at once equals a governor that is asked and told in turn."""
    states = cpuidle.IdleTable.load("powernv_p8")
    left, state, asked = 2 * MS, None, 0
    while left > 0:
        polled = min(100_700, left)
        one = cpuidle.run(
            states, kernel="4.7", sleep_ns=[left], wake_ns=[polled], residency="shr10", state=state
        )
        asked, state = asked + 1, one.state
        if one.selected[0]:
            break
        left -= polled
    found = idle_clock.snooze(700, idle_ns=2 * MS).iloc[1]
    assert found["selections"] == asked


def test_snooze_of_later_kernels():
    found = idle_clock.snooze(50, kernel="6.1").set_index("residency")
    assert found["selections"].to_dict() == {"ns": 9, "div1000": 9, "shr10": 9996}
    assert found.loc["ns", "seen_us"] == 100.05


# ---- what it costs


def test_costs_by_hand():
    """Three idles, whatever the governor selects: each figure from its definition, in plain Python."""
    states = cpuidle.IdleTable.load("hikey960_big")
    sample = {"idles": LogUniform(early=0.5), "n": 500, "seeds": 2, "seed": 5, "progress": False}
    found = idle_clock.costs(states, **sample).set_index("residency")
    (one,) = idle_runs.experiments(states, **sample)
    latency, residency = (a.tolist() for a in (states.exit_latency_us, states.target_residency_us))
    own = None
    for how, selected in one.selected.items():
        per_seed = []
        for row_wake, row_selected in zip(one.wake_ns.tolist(), selected.tolist(), strict=True):
            best = [max([i for i, r in enumerate(residency) if wake >= 1000 * r] or [0]) for wake in row_wake]
            idles = list(zip(row_wake, row_selected, best, strict=True))
            seconds = sum(wake / 1e9 + latency[s] / 1e6 for wake, s, _ in idles)
            per_seed.append(
                (
                    100 * sum(s > b for _, s, b in idles) / len(idles),
                    100 * sum(s < b for _, s, b in idles) / len(idles),
                    sum(latency[s] for _, s, _ in idles) / len(idles),
                    sum(latency[s] for _, s, _ in idles) / seconds,
                    sum(latency[s] - latency[b] for _, s, b in idles if s > b) / seconds,
                    sum(wake for wake, s, b in idles if s < b) / 1e6 / seconds,
                )
            )
        columns = ["too_deep_pct", "too_shallow_pct", "exit_latency_us", "latency_us_per_s"]
        columns += ["too_deep_us_per_s", "too_shallow_ms_per_s"]
        assert found.loc[how, columns].tolist() == pytest.approx(np.mean(per_seed, axis=0).tolist(), rel=1e-9)
        more = np.array(per_seed)
        own = more if own is None else own
        assert found.loc[how, [f"{c}_more" for c in columns]].tolist() == pytest.approx(
            (more - own).mean(axis=0).tolist(), rel=1e-6, abs=1e-9
        )


def test_a_timer_in_the_band_wastes_its_idle_time():
    found = idle_clock.costs("sm8150_little", idles=Timer(4 * MS, 0.001), **SAMPLE).set_index("residency")
    assert found.loc["div1000", "too_shallow_ms_per_s"] < 1
    assert found.loc["shr10", "too_shallow_ms_per_s"] > 990
    assert (found["too_deep_pct"] == 0).all()


def test_the_dearest_of_each():
    tables = ["gs101_big", "sm8150_little", "juno"]
    found = idle_clock.costs(
        tables,
        kernel=["4.7", "6.1"],
        idles=[Timer(4 * MS), Exponential(5 * MS)],
        n=500,
        seeds=2,
        progress=False,
    )
    dearest = idle_clock.dearest(found)
    first = found["residency"] != np.where(found["kernel"] == "4.7", "div1000", "ns")
    costly = found[first & (found["too_shallow_ms_per_s_more"] != 0)]
    run = ["kernel", "idles", "residency"]
    assert set(dearest[run].itertuples(index=False)) == set(costly[run].itertuples(index=False))
    assert 3 <= len(dearest) <= 2 * (1 + 2)
    for line in dearest.itertuples():
        same = found[
            (found["kernel"] == line.kernel)
            & (found["idles"] == line.idles)
            & (found["residency"] == line.residency)
        ]
        assert len(same) == len(tables)
        assert abs(line.too_shallow_ms_per_s_more) == same["too_shallow_ms_per_s_more"].abs().max()
    assert "div1000" not in set(dearest.loc[dearest["kernel"] == "4.7", "residency"])
    with pytest.raises(ValueError, match="by = 'watts'"):
        idle_clock.dearest(found, by="watts")


def test_times_add_up():
    found = idle_clock.times_in_states(
        ["juno", "intel_skl"], idles=[LogUniform(), Exponential(MS)], n=2000, seeds=2, progress=False
    )
    sums = found.groupby(["table", "idles"]).sum(numeric_only=True)
    for how in ("div1000", "shr10"):
        assert sums[f"entries_pct_{how}"].tolist() == pytest.approx([100] * 4)
        assert sums[f"time_ms_per_s_{how}"].tolist() == pytest.approx([1000] * 4)
    assert sums["entries_more_shr10"].abs().max() < 1e-9


# ---- changes, combinations, determinism


def test_changes_add_up_to_flips():
    sample = {"idles": [LogUniform(early=0.5), Exponential(MS)], "n": 3000, "seeds": 3, "progress": False}
    tables = ["intel_hsw", "juno"]
    flips = idle_clock.flips(tables, **sample).set_index(["table", "idles"])["flips_pct"]
    changes = idle_clock.changes(tables, **sample)
    assert (changes["from_state"] != changes["to_state"]).all()
    sums = changes.groupby(["table", "idles"])["share_pct"].sum()
    assert sums.sort_index().tolist() == pytest.approx(flips.sort_index().tolist())
    first = changes.groupby(["table", "idles"], sort=False).first()
    named = idle_clock.flips(tables, **sample).set_index(["table", "idles"])["change"]
    assert (
        first["from_state"] + " -> " + first["to_state"]
    ).sort_index().tolist() == named.sort_index().tolist()
    assert idle_clock.changes("juno", idles=Timer(16 * MS, 0), n=100, seeds=1, progress=False).empty


def test_pairs_that_are_proven():
    found = idle_clock.flips(
        "juno",
        kernel=["4.7", "6.1"],
        governor=["menu", "teo", "ladder"],
        idles=Exponential(MS),
        n=100,
        seeds=1,
        progress=False,
    )
    pairs = set(zip(found["kernel"], found["governor"], strict=True))
    assert pairs == {("4.7", "menu"), ("4.7", "ladder"), ("6.1", "menu"), ("6.1", "teo"), ("6.1", "ladder")}
    assert set(found.loc[found["kernel"] == "4.7", "residency"]) == {"shr10"}
    later = found[found["kernel"] == "6.1"]
    assert set(later["against"]) == {"ns"}
    assert set(later["residency"]) == {"div1000", "shr10"}


def test_a_table_without_a_name_has_one_in_results():
    mine = cpuidle.IdleTable(["a", "b"], exit_latency_us=[1, 200], target_residency_us=[1, 1000])
    found = idle_clock.flips(mine, idles=Timer(1010 * US, 0), n=500, seeds=1, progress=False)
    assert found[["table", "change"]].to_numpy().tolist() == [["unnamed", "b -> a"]]
    assert idle_clock.bands(mine)["table"].tolist() == ["unnamed"]


def test_division_differs_from_ns_by_less_than_the_shift():
    found = idle_clock.flips(
        kernel=["6.1", "6.19"], idles=[LogUniform(early=0.5)], n=4000, seeds=2, progress=False
    )
    means = found.groupby(["kernel", "residency"])["flips_pct"].mean().unstack()
    assert (2 * means["div1000"] < means["shr10"]).all()


def test_the_same_seed_gives_the_same(monkeypatch):
    sample = {"idles": [LogUniform(), Timer(4 * MS)], "n": 700, "progress": False}
    one = idle_clock.flips(["juno", "sm8150_little"], seeds=5, threads=1, **sample)
    monkeypatch.setattr(idle_runs, "_IDLES_AT_ONCE", 1000)
    assert one.equals(idle_clock.flips(["juno", "sm8150_little"], seeds=5, threads=3, **sample))
    other = idle_clock.flips(["juno", "sm8150_little"], seeds=5, seed=1, **sample)
    assert not one.equals(other)
    first = [next(idle_runs.experiments("juno", seeds=k, **sample)).wake_ns[0] for k in (1, 4)]
    assert np.array_equal(*first)


# ---- idles


@pytest.mark.parametrize("idles", MIXES, ids=lambda idles: idles.label)
def test_draws(idles):
    sleep, wake = idles.draw(np.random.default_rng(1), 20_000)
    assert sleep.dtype == wake.dtype == np.int64
    assert sleep.shape == wake.shape == (20_000,)
    assert (wake >= 1).all()
    assert (wake <= sleep).all()
    if idles.period_ns:
        assert wake.mean() == pytest.approx(idles.period_ns, rel=5 * idles.jitter / np.sqrt(20_000) + 1e-6)
        assert wake.std() == pytest.approx(idles.jitter * idles.period_ns, rel=0.05)


def test_woken_early_half_the_time():
    sleep, wake = LogUniform(early=0.5).draw(np.random.default_rng(1), 20_000)
    assert (wake < sleep).mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(20_000))
    sleep, wake = LogUniform(early=1).draw(np.random.default_rng(1), 1000)
    assert (wake < sleep).mean() > 0.99


def test_labels_tell_the_mixes_apart():
    labels = [idles.label for idles in MIXES]
    assert len(set(labels)) == len(labels)


# ---- refused


ONE = {"idles": Timer(MS), "n": 10, "seeds": 1, "progress": False}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: idle_clock.flips("no such table", **ONE), ValueError, "table: name_or_path"),
        (lambda: idle_clock.flips(3, **ONE), TypeError, "table = 3"),
        (lambda: idle_clock.flips([], **ONE), ValueError, "table is empty"),
        (lambda: idle_clock.flips(["juno", 3], **ONE), TypeError, r"table\[1\] = 3"),
        (lambda: idle_clock.flips("juno", kernel="4.8", **ONE), ValueError, "4.8"),
        (lambda: idle_clock.flips("juno", kernel=4.7, **ONE), TypeError, "kernel = 4.7"),
        (lambda: idle_clock.flips("juno", governor="teo", **ONE), ValueError, "cpuidle.teo"),
        (lambda: idle_clock.flips("juno", governor="haltpoll", **ONE), ValueError, "governor"),
        (lambda: idle_clock.flips("juno", governor=(), **ONE), ValueError, "governor is empty"),
        (lambda: idle_clock.flips("juno", residency="div1000", **ONE), ValueError, "residency = 'div1000'"),
        (lambda: idle_clock.flips("juno", residency="ns", **ONE), ValueError, "residency"),
        (lambda: idle_clock.flips("juno", tick_stopped=True, **ONE), ValueError, "tick_stopped"),
        (lambda: idle_clock.flips("juno", **ONE | {"idles": "timer"}), TypeError, "idles"),
        (lambda: idle_clock.flips("juno", **ONE | {"idles": [Timer(1), 3]}), TypeError, r"idles\[1\] = 3"),
        (lambda: idle_clock.flips("juno", **ONE | {"n": 0}), ValueError, "n = 0"),
        (lambda: idle_clock.flips("juno", **ONE | {"seeds": 0}), ValueError, "seeds = 0"),
        (lambda: idle_clock.flips("juno", seed=-1, **ONE), ValueError, "seed = -1"),
        (lambda: idle_clock.flips("juno", threads=0, **ONE), ValueError, "threads = 0"),
        (lambda: idle_clock.flips("juno", kernel="6.1", hz=0, **ONE), ValueError, "hz"),
        (lambda: Timer(0), ValueError, "period_ns = 0"),
        (lambda: Timer(1.5), TypeError, "period_ns"),
        (lambda: Timer(1, jitter=-0.1), ValueError, "jitter = -0.1"),
        (lambda: Timer(1, jitter=float("nan")), ValueError, "jitter = nan"),
        (lambda: Timer(1, jitter="1 %"), TypeError, "jitter"),
        (lambda: LogUniform(10, 9), ValueError, "high_ns = 9"),
        (lambda: LogUniform(early=2), ValueError, "early = 2"),
        (lambda: Exponential(1, tick_ns=0), ValueError, "tick_ns = 0"),
        (lambda: idle_clock.near_thresholds("juno", low_ns=10**9), ValueError, "low_ns = 1000000000"),
        (lambda: idle_clock.near_thresholds("juno", points=1), ValueError, "points = 1"),
        (lambda: idle_clock.snooze(-1), ValueError, "overshoot_ns"),
        (lambda: idle_clock.snooze(0.5), TypeError, "overshoot_ns"),
        (lambda: idle_clock.snooze(kernel="4.8"), ValueError, "4.8"),
        (lambda: idle_clock.snooze(idle_ns=0), ValueError, "idle_ns = 0"),
        (lambda: idle_clock.snooze(idle_ns=2**50), ValueError, "idle_ns"),
        (
            lambda: idle_clock.snooze(
                table=cpuidle.IdleTable(["a"], exit_latency_us=[0], target_residency_us=[0])
            ),
            ValueError,
            "one state",
        ),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
