# SPDX-License-Identifier: GPL-2.0-only
"""The simulated device: the counts, and that its parts are the kernel's functions on what it says it did."""

import itertools
import types

import numpy as np
import pandas as pd
import pytest

from schedpy import eas, em, pelt
from schedpy.lab import phases
from schedpy.lab.phases_device import BASE_NS, Device

KERNELS = ("5.12", "5.13", "6.1", "6.12")


@pytest.fixture(scope="module")
def staircase():
    return phases.simulate("pixel4", kernel="5.12", repetitions=3)


@pytest.fixture(scope="module", params=["5.12", "6.12"])
def traced(request):
    """Two repetitions of a short staircase in which the task changes CPUs, with every update."""
    return phases.simulate(
        "pixel4",
        kernel=request.param,
        repetitions=2,
        activations=12,
        keep_events=True,
        load_percent=1,
        work_std_percent=3,
        refresh_ns=5_000_000,
    )


def one_cpu(capacity=1024):
    domain = em.PerfDomain("only", [0], [500_000, 1_000_000], [100, 400], unit="mW", capacity=capacity)
    return em.EnergyModel([domain], name="one CPU")


# Counts


def test_the_counts_of_the_mail_come_out(staircase):
    """Little; Mid; Mid; Mid; phase 4 apart; Big: within the few wake-ups that each change of phase takes."""
    counts = staircase.counts()
    total = 3 * 125
    assert (
        counts["waking"].groupby("phase").sum().add(counts["without"].groupby("phase").first()).tolist()
        == [total] * 6
    )
    for phase, kind, missing in (
        (0, "Little", 0),
        (1, "Mid", 0.03 * total),
        (2, "Mid", 0.03 * total),
        (3, "Mid", 0),
        (5, "Big", 0.03 * total),
    ):
        assert counts.loc[(phase, kind), "waking"] >= total - missing, (phase, kind)
        assert counts.loc[(phase, kind), "target"] >= total - missing, (phase, kind)


def test_waking_and_chosen_agree_in_steady_state(staircase):
    late = staircase.activation >= 10
    assert (staircase.waking_cpu == staircase.target)[late].all()
    assert (staircase.waking_cpu == staircase.prev_cpu).all()


def test_the_look_up_table_moves_no_task():
    short = {"kernel": "5.12", "repetitions": 10, "activations": 12, "load_percent": 1}
    walk, lut = (phases.simulate("pixel4", method=method, **short) for method in ("walk", "lut"))
    assert lut.target.tolist() == walk.target.tolist()


def test_phase_4_stays_where_it_starts_on_5_12_and_not_later():
    util = int(pelt.swing(10_000_000, 16_000_000).high)
    devices = [Device(start_cpu=cpu, start_util=util) for cpu in (4, 7)]
    for kernel, shares in (("5.12", [100, 0]), ("6.1", [2, 0])):
        found = phases.simulate_devices(
            "pixel4", devices, kernel=kernel, repetitions=1, activations=50, duty_percent=(62.5,)
        )
        assert [one.share(0, "Mid").item() for one in found] == shares, kernel


def test_the_margin_decides_between_614_and_696_on_big():
    """Spec of the sticky zone, from the known answers of the placement: Little 2 .. 207, Mid 208 .. 613."""
    rows = phases.decisions(util=range(2, 720), prev=["Big"], load_percent=[0]).set_index("util")
    target = rows["target"]
    assert set(target.loc[2:207]) == {"Little"}
    assert set(target.loc[208:613]) == {"Mid"}
    assert set(target.loc[614:]) == {"Big"}
    saving = rows["saving_percent"]
    assert saving.loc[640] == pytest.approx(100 * 42 / 701)
    assert (saving.loc[208:613] > 6.25).all()
    assert (saving.loc[614:696] < 6.25).all()
    assert saving.loc[614:650].gt(0).all()


def test_eight_ms_periods_place_alike():
    short = phases.simulate("pixel4", kernel="5.12", repetitions=1, activations=40, period_ns=8_000_000)
    counts = short.counts()["waking"]
    assert counts.groupby("phase").idxmax().map(lambda row: row[1]).tolist() == [
        "Little", "Mid", "Mid", "Mid", "Mid", "Big",
    ]  # fmt: skip


# The same seed, the same wake-ups

COLUMNS = ("time_ns", "waking_cpu", "prev_cpu", "target", "util_avg", "util_est", "cpu_util_avg")


def random(**changed):
    how = {"repetitions": 3, "activations": 20, "load_percent": 2, "work_std_percent": 2} | changed
    return phases.simulate("pixel4", kernel="5.12", duty_percent=(50, 62.5), **how)


def test_the_same_seed_gives_the_same_wakeups():
    first, again, other = random(), random(), random(seed=1)
    for name in COLUMNS:
        assert (getattr(first, name) == getattr(again, name)).all(), name
    assert first.time_ns.tolist() != other.time_ns.tolist()
    assert (first.cpu_util_avg != other.cpu_util_avg[: len(first)]).any()


def test_a_repetition_does_not_depend_on_how_many_there_are():
    few, many = random(), random(repetitions=5)
    mine = many.repetition < 3
    for name in COLUMNS:
        assert (getattr(few, name) == getattr(many, name)[mine]).all(), name


def test_a_device_does_not_depend_on_those_beside_it():
    devices = [Device(load_percent=1), Device(start_cpu=7, work_percent=103), Device(rate_limit_ns=0)]
    how = {"kernel": "5.12", "repetitions": 2, "activations": 10, "duty_percent": (50, 62.5)}
    for device, beside in zip(devices, phases.simulate_devices("pixel4", devices, **how), strict=True):
        alone = phases.simulate("pixel4", device=device, **how)
        for name in COLUMNS:
            assert (getattr(alone, name) == getattr(beside, name)).all(), (device, name)


# Its parts are the kernel's functions


def repetitions(simulated):
    for _, events in simulated.events.groupby("repetition"):
        yield events.reset_index(drop=True)


def states(events):
    return pelt.initial_state(len(events), **{name: events[name].to_numpy() for name in pelt.STATE.names})


def test_the_signal_is_pelts_on_the_events(traced):
    """Between two run queues joined it is one stream of pelt.track."""
    stretches = 0
    for events in repetitions(traced):
        state = states(events)
        begins = [0, *events.index[events["attached"]], len(events)]
        for first, last in itertools.pairwise(begins):
            part = slice(first + 1, last)
            tracked = pelt.track(
                events["now"].to_numpy()[part],
                kernel=traced.kernel,
                running=events["running"].to_numpy()[part],
                on_rq=events["on_rq"].to_numpy()[part],
                state=state[first],
                fields=("util_avg", "util_sum", "runnable_avg", "load_avg", "last_update_time"),
            )
            for name, column in tracked.history.items():
                assert column.tolist() == state[name][part].tolist(), name
            stretches += last - first > 2
    assert stretches > 4
    assert set(traced.events["label"]) >= {"enqueue", "pick", "tick", "dequeue", "move"}


def test_the_averages_move_with_the_task(traced):
    for events in repetitions(traced):
        joins = events.index[events["attached"]]
        assert joins.size
        util = events["util_avg"].to_numpy()
        assert (util[joins] == util[joins - 1]).all()
        assert (events["cpu"].to_numpy()[joins] != events["cpu"].to_numpy()[joins - 1]).all()


def test_the_estimate_is_util_ests(traced):
    """Replayed task by task from util_avg at each enqueue and dequeue."""
    for number, events in enumerate(repetitions(traced)):
        lent = traced.util_est[traced.repetition == number].tolist()
        state, at_enqueue, changed = pelt.initial_util_est(), None, False
        capacity = {cpu: domain.capacity for domain in traced.model.domains for cpu in domain.cpus}
        seen = []
        before = None
        for event in events.itertuples():
            refreshed = before is not None and event.util_sum != before.util_sum
            refreshed &= before is not None and event.period_contrib != before.period_contrib
            if event.label == "enqueue":
                at_enqueue, changed = event.util_avg, False
                seen.append(event)
            elif event.label in ("pick", "tick", "dequeue"):
                changed |= bool(refreshed)
            if event.label == "dequeue":
                learnt = pelt.util_est(
                    state,
                    kernel=traced.kernel,
                    util_enqueue=at_enqueue,
                    util_dequeue=event.util_avg,
                    runnable_avg=event.runnable_avg,
                    util_changed=changed,
                    task_sleep=True,
                    capacity=capacity[event.cpu],
                )
                assert int(learnt.cfs_enqueued_between) == lent[len(seen) - 1]
                state = learnt.state
            before = event
        assert len(seen) == len(lent)


def test_the_clock_is_clock_pelts():
    """On one CPU, from wall time and the frequency before each event."""
    model = one_cpu(700)
    simulated = phases.simulate(
        model, kernel="6.1", repetitions=1, activations=10, duty_percent=(20, 40), keep_events=True
    )
    clock = pelt.initial_clock_pelt(clock_task=BASE_NS, clock_pelt=BASE_NS)
    freq, idle = 500_000, True
    for event in simulated.events.itertuples():
        clock = pelt.clock_pelt(
            clock,
            event.time_ns - int(clock["clock_task"]),
            kernel="6.1",
            curr_is_idle=idle,
            entering_idle=event.label == "dequeue",
            util_sum=0,
            cpu_scale=700,
            freq_scale=1024 * freq // 1_000_000,
        )
        now = clock["clock_pelt"] - clock["lost_idle_time"]
        if event.label != "dequeue":  # from 6.0 the clock has caught up when the CPU is idle
            assert int(now) == event.now
        freq, idle = event.freq_khz, event.label in ("dequeue", "enqueue")
    assert simulated.events["freq_khz"].nunique() == 2


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_placement_is_the_functions_on_the_inputs(kernel):
    simulated = phases.simulate(
        "pixel4", kernel=kernel, repetitions=2, activations=10, load_percent={"mid": 3, "prime": 1}
    )
    task, cpus = simulated.cases()
    # In 5.12 and 5.13 no state is passed over, as the mail had it.
    placed = eas.find_energy_efficient_cpu(
        simulated.model, task, cpus, kernel=kernel, skip_inefficient=kernel in ("6.1", "6.12")
    )
    assert placed.target.tolist() == simulated.target.tolist()
    assert simulated.placement().calls.tolist() == placed.calls.tolist()
    rows = np.arange(len(simulated))
    assert (cpus["util_avg"][rows, simulated.prev_cpu] >= task["util_avg"]).all()
    assert (cpus["util_avg"][:, :4] < 20).sum() > 0
    chosen = simulated.target[:-1][np.diff(simulated.repetition) == 0]
    moved = simulated.prev_cpu[1:][np.diff(simulated.repetition) == 0] != chosen
    assert moved.mean() < 0.1  # only by the load balancer


def test_the_requests_are_what_the_energies_answer(staircase):
    requests = staircase.requests()
    for number, domain in enumerate(staircase.model.domains):
        mine = requests[requests["domain"] == number]
        energy = domain.energy(mine["max_util"], mine["sum_util"], kernel="5.12")
        assert energy.tolist() == mine["energy"].tolist()
        assert mine.size
    with pytest.raises(ValueError, match=r"5\.12 alone"):
        phases.simulate("pixel4", kernel="6.1", repetitions=1, activations=1).requests()


def test_a_cpu_that_the_task_left_keeps_nothing_of_it(staircase):
    """Three kinds of CPU have run it; only the last one still has its utilisation."""
    assert len(set(staircase.prev_cpu)) == 3
    others = staircase.cpu_util_avg.copy()
    others[np.arange(len(staircase)), staircase.prev_cpu] = 0
    assert others.max() <= 1
    assert (staircase.cpu_util_avg.max(axis=1) >= staircase.util_avg).all()


# Work and frequency


def capacities(events, model):
    """Work per ns after each event, 1 at capacity 1024: capacity times frequency."""
    capacity = np.zeros(model.nr_cpus)
    fmax = np.zeros(model.nr_cpus, dtype=np.int64)
    for domain in model.domains:
        capacity[list(domain.cpus)] = domain.capacity
        fmax[list(domain.cpus)] = domain.freq_khz[-1]
    cpu = events["cpu"].to_numpy()
    return capacity[cpu] * (1024 * events["freq_khz"].to_numpy() // fmax[cpu]) / 2**20


@pytest.mark.parametrize("changed", [{}, {"rate_limit_ns": 20_000_000}, {"load_percent": 3}])
def test_all_work_is_done_and_no_more(changed):
    """From each pick to the next dequeue: the work of the activations that it spans, to a nanosecond each."""
    simulated = phases.simulate(
        "pixel4", kernel="5.12", repetitions=2, activations=10, keep_events=True, **changed
    )
    wanted = np.repeat([0.125, 0.25, 0.375, 0.5, 0.625, 0.75], 10) * 16_000_000
    for number, events in enumerate(repetitions(simulated)):
        events = events[events["label"] != "decay"]
        done = np.diff(events["time_ns"]) * capacities(events, simulated.model)[:-1]
        done[~events["running"].to_numpy()[1:] & (events["label"].to_numpy()[1:] != "move")] = 0
        stretch = np.cumsum(events["label"] == "enqueue").to_numpy()[1:]
        done = np.bincount(stretch, done)[1:]
        woke = simulated.activation + 10 * simulated.phase
        begins = woke[simulated.repetition == number]
        due = np.add.reduceat(wanted, begins)
        spans = np.diff([*begins, 60])
        assert (done >= due - 1e-3).all()
        assert (done < due + spans).all()
        assert (spans > 1).any()  # one at least goes on without a sleep


def test_the_frequency_serves_the_request_outside_the_rate_limit():
    limit = 2_000_000
    simulated = phases.simulate(
        "pixel4",
        kernel="5.12",
        repetitions=3,
        activations=15,
        keep_events=True,
        rate_limit_ns=limit,
        load_percent=2,
    )
    events = simulated.events[simulated.events["label"].isin(["tick", "pick"])]
    late = 0
    for domain in simulated.model.domains:
        here = events[events["cpu"].isin(domain.cpus)]
        assert len(here)
        util = np.minimum(here["max_util"].to_numpy(), domain.capacity)
        asked = em.map_util_freq(util, domain.freq_khz[-1], domain.capacity, kernel="5.12")
        asked = np.minimum(asked, domain.freq_khz[-1])
        below = here["freq_khz"].to_numpy() < asked
        waits = here["time_ns"].to_numpy() - here["changed_ns"].to_numpy() < limit
        assert not (below & ~waits).any()
        late += (below & waits).sum()
        assert set(here["freq_khz"]) <= set(domain.freq_khz.tolist())
    assert late > 0  # the limit is felt


def test_schedutil_sees_the_estimate_while_the_task_is_queued_alone():
    simulated = phases.simulate(
        "pixel4", kernel="5.12", repetitions=1, activations=20, duty_percent=(50,), keep_events=True
    )
    seen = dict(iter(simulated.events.groupby("label")))
    lent = simulated.util_est.astype(np.int64)
    assert (seen["pick"]["max_util"].to_numpy() == np.maximum(lent, seen["pick"]["util_avg"])).all()
    assert (seen["dequeue"]["max_util"] - seen["dequeue"]["util_avg"].astype(np.int64)).abs().max() <= 1
    assert (seen["dequeue"]["util_avg"].to_numpy() < lent).any()


def test_changes_of_frequency_keep_the_rate_limit():
    simulated = phases.simulate(
        "pixel4", kernel="5.12", repetitions=2, activations=15, keep_events=True, rate_limit_ns=3_000_000
    )
    domain_of = {cpu: domain.name for domain in simulated.model.domains for cpu in domain.cpus}
    events = simulated.events.assign(domain=simulated.events["cpu"].map(domain_of))
    gaps = [
        np.diff(np.unique(part["changed_ns"][part["changed_ns"] > 0]))
        for _, part in events.groupby(["repetition", "domain"])
    ]
    gaps = np.concatenate(gaps)
    assert gaps.size > 20
    assert gaps.min() >= 3_000_000


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_frequencies_are_schedutils(kernel):
    from schedpy.lab.phases_device import frequencies

    little = em.EnergyModel.load("pixel4")["little"]
    flagged = little.table(kernel="6.1")["inefficient"]
    request, freq = frequencies(little, kernel=kernel, skip_inefficient=kernel >= "6")
    util = np.arange(262)
    if kernel < "6":
        expected = (1_785_600 + 1_785_600 // 4) * util // 261
    elif kernel == "6.1":
        expected = 1_785_600 * (util + util // 4) // 261
    else:
        expected = 1_785_600 * np.minimum(util + util // 4, 261) // 261
    assert request.tolist() == expected.tolist()
    allowed = little.freq_khz if kernel < "6" else little.freq_khz[~flagged]
    first = np.minimum(np.searchsorted(allowed, expected), len(allowed) - 1)
    assert freq.tolist() == allowed[first].tolist()


# What is modelled


def test_the_wakeup_latency_is_from_enqueue_to_pick():
    for latency in (0, 50_000):
        simulated = phases.simulate(
            "pixel4", kernel="5.12", repetitions=1, activations=5, keep_events=True, wakeup_ns=latency
        )
        events = simulated.events
        pick = events["label"] == "pick"
        gap = events["time_ns"][pick].to_numpy() - events["time_ns"][np.roll(pick, -1)].to_numpy()
        assert set(gap) == {latency}


def test_the_timers_cpu_runs_the_placement():
    simulated = phases.simulate("pixel4", kernel="5.12", repetitions=1, activations=10, timer_cpu=2)
    assert set(simulated.waking_cpu) == {2}
    assert simulated.counts()["waking"].loc[:, "Little"].sum() == len(simulated)
    own = phases.simulate("pixel4", kernel="5.12", repetitions=1, activations=10)
    assert own.target.tolist() == simulated.target.tolist()


def test_a_frequency_comes_later_by_its_latency():
    how = {"kernel": "5.12", "repetitions": 1, "activations": 20, "duty_percent": (25,), "keep_events": True}
    now, late = (phases.simulate("pixel4", transition_ns=ns, **how) for ns in (0, 1_000_000))
    ends = [one.events.loc[one.events["label"] == "dequeue", "time_ns"].iloc[0] for one in (now, late)]
    assert ends[1] > ends[0]


def test_a_load_is_as_large_as_asked():
    simulated = phases.simulate(
        "pixel4",
        kernel="5.12",
        repetitions=100,
        activations=40,
        duty_percent=(12.5,),
        load_percent={"mid": 4, "prime": 2},
    )
    settled = simulated.activation > 10
    util = simulated.cpu_util_avg[settled].mean(axis=0)
    # Each average is floored: half a unit below.
    assert util[4:7] + 0.5 == pytest.approx([0.04 * 871] * 3, rel=0.08)
    assert util[7] + 0.5 == pytest.approx(0.02 * 1024, rel=0.08)
    assert (simulated.cpu_util_avg[settled][:, 1:4] == 0).all()


def test_idle_queues_are_refreshed_as_often_as_asked():
    how = {"kernel": "5.12", "repetitions": 2, "activations": 20, "duty_percent": (50,), "start_cpu": 4}
    stale, fresh = (phases.simulate("pixel4", refresh_ns=ns, **how) for ns in (None, 1_000_000))
    late = stale.activation > 10
    assert stale.util_avg[late].mean() > fresh.util_avg[late].mean() + 30
    assert stale.util_est[late] == pytest.approx(fresh.util_est[late], abs=3)


def test_a_task_that_does_not_fit_is_moved_at_a_tick():
    how = {"kernel": "5.12", "repetitions": 1, "activations": 30, "duty_percent": (12.5, 25)}
    moves, stays = (phases.simulate("pixel4", misfit=misfit, **how) for misfit in (True, False))
    assert stays.counts()["without"].loc[1].iloc[0] > 10 > moves.counts()["without"].loc[1].iloc[0]


def test_more_work_is_more_utilisation():
    peak = [
        phases.simulate(
            "pixel4", kernel="5.12", repetitions=1, activations=40, duty_percent=(50,), work_percent=percent
        ).util_avg[-1]
        for percent in (100, 110)
    ]
    swing = [pelt.swing(8_000_000 * percent // 100, 16_000_000).high for percent in (100, 110)]
    assert np.array(peak).astype(float) == pytest.approx(swing, abs=3)


# Platforms


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_cpu(kernel):
    simulated = phases.simulate(one_cpu(), kernel=kernel, repetitions=2, activations=10)
    assert set(simulated.target) == {0}
    assert simulated.counts().index.get_level_values("cpu").unique().tolist() == ["only"]
    assert simulated.counts()["without"].sum() == 0


def test_work_without_end_has_one_wakeup():
    simulated = phases.simulate(
        one_cpu(512), kernel="5.12", repetitions=2, activations=10, duty_percent=(75,)
    )
    assert len(simulated) == 2
    assert simulated.counts().loc[(0, "only"), "without"] == 18


def test_every_cpu_busy():
    simulated = phases.simulate(
        "pixel4", kernel="5.12", repetitions=2, activations=10, load_percent=50, load_run_ns=8_000_000
    )
    assert (simulated.target >= 0).all()
    assert len(simulated) > 100


@pytest.mark.parametrize("name", em.EnergyModel.names())
def test_every_bundled_platform(name):
    simulated = phases.simulate(name, kernel="5.12", repetitions=1, activations=4)
    counts = simulated.counts()
    assert counts["waking"].sum() == len(simulated) <= 24
    assert simulated.target.min() >= 0


def test_cpu_numbers_with_a_gap():
    domains = [
        em.PerfDomain("a", [1, 3], [500_000, 1_000_000], [50, 200], unit="mW", capacity=400),
        em.PerfDomain("b", [6], [500_000, 2_000_000], [100, 900], unit="mW", capacity=1024),
    ]
    simulated = phases.simulate(em.EnergyModel(domains), kernel="6.1", repetitions=2, activations=10)
    assert set(simulated.target) <= {1, 3, 6}
    assert simulated.prev_cpu[0] == 1
    assert {1, 6} <= set(simulated.prev_cpu)


def test_a_later_kernel_with_a_proven_pelt():
    with pytest.raises(ValueError, match=r"7\.3.*pelt"):
        phases.simulate("pixel4", kernel="7.3", repetitions=1)
    simulated = phases.simulate("pixel4", kernel="7.3", pelt_kernel="6.19", repetitions=1, activations=10)
    later = phases.simulate("pixel4", kernel="6.12", pelt_kernel="6.19", repetitions=1, activations=10)
    assert simulated.target.tolist() == later.target.tolist()


# Results


def test_shares_are_those_of_the_counts():
    simulated = random()
    counts = simulated.counts().loc[1]
    share = simulated.share(1, "Mid")
    assert share.min() == counts.loc["Mid", "low"]
    assert share.max() == counts.loc["Mid", "high"]
    assert counts["percent"].sum() == pytest.approx(100)
    wakeups = simulated.wakeups()
    mine = wakeups[(wakeups["phase"] == 1) & (wakeups["cpu"] == "Mid")]
    assert len(mine) == counts.loc["Mid", "waking"]
    assert (mine["to"] == "Mid").sum() == counts.loc["Mid", "stays"]


def test_a_simulation_survives_its_file(tmp_path):
    simulated = random()
    simulated.save(tmp_path / "s.npz")
    again = phases.Simulation.load(tmp_path / "s.npz")
    for name, value in vars(simulated).items():
        same = getattr(again, name)
        assert (same == value).all() if isinstance(value, np.ndarray) else same == value, name
    assert again.model.name == "pixel4"
    pd.testing.assert_frame_equal(again.counts(), simulated.counts())
    assert [path.name for path in tmp_path.iterdir()] == ["s.npz"]
    assert "Simulation" in again._repr_html_()


def test_a_load_by_domain_survives_its_file(tmp_path):
    """Integers of NumPy and mappings that JSON does not know."""
    load = types.MappingProxyType({"mid": np.int64(2)})
    simulated = phases.simulate(
        "pixel4", kernel="5.12", repetitions=1, activations=2, load_percent=load, seed=np.int64(3)
    )
    simulated.save(tmp_path / "s.npz")
    assert phases.Simulation.load(tmp_path / "s.npz").device == Device(load_percent={"mid": 2})


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "s.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"s\.npz: expected a file of schedpy\.lab\.Simulation/1"):
        phases.Simulation.load(path)
    np.savez(path, about=np.array('{"format": "other"}'))
    with pytest.raises(ValueError, match="another format"):
        phases.Simulation.load(path)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"kernel": "5.14"}, ValueError, r"5\.14"),
        ({"kernel": 5.12}, TypeError, "string"),
        ({"hz": 0}, ValueError, "hz"),
        ({"activations": 0}, ValueError, "activations"),
        ({"repetitions": 0}, ValueError, "repetitions"),
        ({"duty_percent": ()}, ValueError, "duty_percent is empty"),
        ({"duty_percent": (101,)}, ValueError, r"duty_percent\[0\]"),
        ({"duty_percent": "12"}, TypeError, "duty_percent"),
        ({"period_ns": 10}, ValueError, "period_ns"),
        ({"method": "guess"}, ValueError, "method"),
        ({"kernel": "6.1", "method": "lut"}, ValueError, "em.lut"),
        ({"seed": -1}, ValueError, "seed"),
        ({"rate_limit": 5}, TypeError, "rate_limit is no argument"),
        ({"rate_limit_ns": -1}, ValueError, "rate_limit_ns"),
        ({"timer_cpu": 8}, ValueError, "timer_cpu = 8"),
        ({"start_cpu": 63}, ValueError, "start_cpu = 63"),
        ({"start_util": 1025}, ValueError, "start_util"),
        ({"load_percent": 51}, ValueError, "load_percent = 51"),
        ({"load_percent": {"large": 1}}, ValueError, "load_percent has 'large'"),
        ({"load_percent": "1"}, TypeError, "load_percent"),
        ({"work_percent": float("nan")}, ValueError, "work_percent"),
        ({"misfit": 1}, TypeError, "misfit"),
        ({"device": Device(), "wakeup_ns": 1}, TypeError, "wakeup_ns"),
        ({"device": 3}, TypeError, r"devices\[0\]"),
    ],
)
def test_what_is_refused(changed, error, message):
    with pytest.raises(error, match=message):
        phases.simulate("pixel4", **({"kernel": "5.12"} | changed))
    with pytest.raises(TypeError, match="model must be"):
        phases.simulate(3, kernel="5.12")


# Phase 4


@pytest.fixture(scope="module")
def shares():
    return phases.mid_share(repetitions=4, activations=60)


def test_where_phase_4_starts_decides_it(shares):
    assert shares.loc[("start", "Big"), "percent"] == 0
    assert shares.loc[("start", "Mid"), "percent"] == 100
    assert shares.loc[("nothing", ""), "percent"] == 100


def test_load_and_work_drive_phase_4_to_big(shares):
    load = shares.loc["load of every CPU, %", "percent"]
    assert load.is_monotonic_decreasing
    assert load.iloc[0] > 50 > 10 > load.iloc[-1]
    work = shares.loc["work, % of the nominal", "percent"]
    assert work["102"] == 100
    assert work["103"] < 40


def test_the_published_shares_are_the_mails():
    mail = phases.published_shares()
    assert mail["percent"].tolist() == pytest.approx([100 * 396 / 3125, 100 * 1232 / 3750])
    assert mail["repetitions"].tolist() == [25, 30]


def test_savings_of_a_cpu_that_was_not_estimated_are_missing():
    model = em.EnergyModel.load("pixel4")
    task = eas.task(prev_cpu=[0, 7], util_avg=640)
    placed = eas.find_energy_efficient_cpu(model, task, eas.idle_cpus(model, 2), kernel="5.12")
    gap, whole = phases.savings(placed, [0, 7])
    assert np.isnan(gap[0])
    assert (gap[1], whole[1]) == (42, 701)


def test_only_kinds_that_exist():
    with pytest.raises(ValueError, match="prev has 'Huge'"):
        phases.decisions(prev=["Huge"])
    with pytest.raises(ValueError, match="one must be mid"):
        phases.mid_share("hikey620")
