# SPDX-License-Identifier: GPL-2.0-only
"""Every row of the placement files, and the published facts they carry."""

import numpy as np
import pytest
from em_models import platform
from golden import load, select

from schedpy import eas, em

#: era of the known answers -> how to ask for it
ERAS = {
    "v5.12-walk": {"kernel": "5.12"},
    "v5.12-lut": {"kernel": "5.12", "method": "lut"},
    "v5.13": {"kernel": "5.13"},
    "v6.1": {"kernel": "6.1"},
    "v6.12": {"kernel": "6.12"},
    "v7.3": {"kernel": "7.3"},
}
OF_THE_CALLER = ("v6.12", "v7.3")

#: field of eas.CPU -> column of feec_scenarios
CPU_COLUMNS = {
    "util_avg": "cpu_util_avg",
    "util_est": "cpu_util_est",
    "runnable_avg": "cpu_runnable_avg",
    "rt": "cpu_util_rt",
    "dl": "cpu_util_dl",
    "bw_dl": "cpu_bw_dl",
    "irq": "cpu_util_irq",
    "capacity_of": "capacity_of",
    "pressure": "pressure",
    "uclamp_min": "rq_uclamp_min",
    "uclamp_max": "rq_uclamp_max",
    "uclamp_idle": "rq_uclamp_idle",
    "rt_runnable": "rt_runnable",
    "online": "online",
}


def equal(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours, dtype=object), np.asarray(theirs, dtype=object))


def test_effective_util():
    rows = load("em/effective_util")
    given = {
        name: rows[name] for name in rows if name != "id" and not name.endswith(("_v512", "_v61", "_v612"))
    }
    ours = eas.effective_cpu_util(kernel="5.12", **given)
    equal(ours.freq_util, rows["freq_util_v512"])
    equal(ours.energy_util, rows["energy_util_v512"])
    assert (ours.min, ours.max) == (None, None)
    for kernel in ("6.1", "6.7"):
        ours = eas.effective_cpu_util(kernel=kernel, **given)
        equal(ours.freq_util, rows["freq_util_v61"])
        equal(ours.energy_util, rows["energy_util_v61"])
    for kernel in ("6.12", "7.3"):
        ours = eas.effective_cpu_util(kernel=kernel, **given)
        equal(ours.freq_util, rows["perf_v612"])
        equal(ours.energy_util, rows["energy_util_v612"])
        equal(ours.energy_util, rows["actual_v612"])
        equal(ours.min, rows["min_v612"])
        equal(ours.max, rows["max_v612"])
    assert len(rows["id"]) == 500


def test_fits():
    rows = load("em/fits")
    ours = eas.util_fits_cpu(rows["util"], rows["capacity_of"], kernel="5.12")
    equal(ours, rows["fits_v512"].astype(bool))
    given = {
        name: rows[name] for name in ("uclamp_min", "uclamp_max", "capacity_orig", "pressure", "uclamp_used")
    }
    for kernel, column in (
        ("6.1", "fits_v61"),
        ("6.7", "fits_v61"),
        ("6.12", "fits_v612"),
        ("7.3", "fits_v612"),
    ):
        equal(eas.util_fits_cpu(rows["util"], rows["capacity_of"], kernel=kernel, **given), rows[column])
    assert len(rows["id"]) == 400


def cases(rows):
    """Scenarios of one platform as arrays."""
    task = eas.task(
        affinity=rows["affinity_mask"],
        **{name: rows[name] for name in eas.TASK.names if name != "affinity"},
    )
    per_cpu = {
        field: [list(map(int, cell.split())) for cell in rows[column]]
        for field, column in CPU_COLUMNS.items()
    }
    cpus = np.zeros(np.shape(per_cpu["online"]), dtype=eas.CPU)
    for field, values in per_cpu.items():
        cpus[field] = values
    return task, cpus


def as_text(placement, case):
    calls = placement.calls[case][: placement.count[case]]
    return " ".join(f"{call['domain']}:{call['dst_cpu']}:{call['energy']}" for call in calls)


@pytest.mark.parametrize("era", ERAS)
def test_placements(era):
    scenarios = load("em/feec_scenarios")
    results = select(load("em/feec_results"), era=era)
    answers = dict(
        zip(results["id"], zip(results["target"], results["compute_energy_calls"], strict=True), strict=True)
    )
    seen = 0
    for name in np.unique(scenarios["platform"]):
        for skip in (0, 1):
            rows = select(scenarios, platform=name, skip_inefficient=skip)
            if not len(rows["id"]):
                continue
            task, cpus = cases(rows)
            later = era not in ("v5.12-walk", "v5.12-lut", "v5.13")
            placement = eas.find_energy_efficient_cpu(
                platform(name, "uW" if later else "mW"),
                task,
                cpus,
                uclamp_used=rows["uclamp_used"],
                overutilized=False if era in OF_THE_CALLER else rows["overutilized"],
                domain_mask=rows["domain_mask"],
                # The 2021 table was always made with detection; the walks before 5.16 never skip.
                skip_inefficient=bool(skip) if later else True,
                **ERAS[era],
            )
            for case, scenario in enumerate(rows["id"]):
                target, calls = answers[scenario]
                assert placement.target[case] == target, scenario
                assert as_text(placement, case) == calls, scenario
                padding = placement.calls[case][placement.count[case] :]
                assert (padding["domain"] == -1).all()
                seen += 1
    assert seen == len(answers) == 684


PIXEL4 = em.EnergyModel.load("pixel4")


def on_an_idle_pixel_4(util, prev_cpu, **how):
    """One task of a steady utilisation on an otherwise idle machine."""
    util, prev_cpu = np.broadcast_arrays(util, prev_cpu)
    cpus = eas.idle_cpus(PIXEL4, util.shape)
    np.put_along_axis(cpus["util_avg"], prev_cpu[..., None], util[..., None].astype(np.uint64), axis=-1)
    return eas.find_energy_efficient_cpu(
        PIXEL4, eas.task(prev_cpu=prev_cpu, util_avg=util, util_est=util), cpus, kernel="5.12", **how
    )


def domains_of(target):
    return [PIXEL4.domains[[0, 0, 0, 0, 1, 1, 1, 2][cpu]].name for cpu in target]


def test_the_six_phases_of_the_mail():
    """12.5 % to 75 %: Little, Mid, Mid, Mid, Mid or Big, Big: in phase 4 it depends on where the task was."""
    util = 1024 * np.arange(1, 7) // 8
    for prev_cpu in (0, 4):
        target = on_an_idle_pixel_4(util, prev_cpu).target
        assert domains_of(target) == ["little", "mid", "mid", "mid", "mid", "prime"]
    target = on_an_idle_pixel_4(util, 7).target
    assert domains_of(target) == ["little", "mid", "mid", "mid", "prime", "prime"]


def test_the_energies_of_phase_4():
    placement = on_an_idle_pixel_4(640, 7)
    calls = placement.calls[: int(placement.count)]
    assert calls.tolist() == [(0, -1, 0), (1, -1, 0), (1, 4, 659), (2, -1, 0), (2, 7, 701)]
    assert (701 + 0) >> 4 == 43 > 701 - 659
    assert placement.target == 7


def test_where_a_task_on_the_big_cpu_goes():
    target = on_an_idle_pixel_4(np.arange(1025), 7).target
    domains = domains_of(target)
    assert domains[0:2] == ["prime"] * 2
    assert domains[2:208] == ["little"] * 206
    assert domains[208:614] == ["mid"] * 406
    assert domains[614:] == ["prime"] * 411
    fits_mid = eas.util_fits_cpu(np.arange(1025), 871, kernel="5.12")
    assert int(np.flatnonzero(~fits_mid)[0]) == 697, "from here on only the big CPU holds the task"


def test_a_task_without_utilisation_is_placed_up_to_5_12():
    """The flag bit leaks into the estimate, so that it is never 0."""
    task = eas.task(prev_cpu=0, util_avg=0)
    cpus = eas.idle_cpus(PIXEL4)
    assert eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel="5.12").count > 0
    later = eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel="5.13")
    assert (later.target, later.count) == (0, 0)


@pytest.mark.parametrize(
    ("how", "moves_from", "stays_again"),
    [
        ({"kernel": "5.12"}, 22, (196, 215)),
        ({"kernel": "5.12", "method": "lut"}, 22, (196, 209)),
        ({"kernel": "5.13"}, 23, None),
    ],
)
def test_the_margin_counts_the_whole_system(how, moves_from, stays_again):
    """All CPUs at 5 % of their own capacity: a small task never saves 6 % of everything."""
    util = np.arange(1, 300)
    cpus = eas.idle_cpus(PIXEL4, util.shape)
    background = cpus["capacity_of"] * 5 // 100
    cpus["util_avg"] = background
    cpus["util_est"] = background
    cpus["util_avg"][:, 7] += util.astype(np.uint64)
    target = eas.find_energy_efficient_cpu(
        PIXEL4, eas.task(prev_cpu=7, util_avg=util, util_est=util), cpus, **how
    ).target
    moved = util[target != 7]
    assert moved[0] == moves_from
    if stays_again:
        kept = util[(target == 7) & (util > moves_from)]
        window = kept[: np.argmax(np.append(np.diff(kept) > 1, True)) + 1]
        assert (window[0], window[-1]) == stays_again


def test_states_and_the_length_of_the_walk():
    placement = on_an_idle_pixel_4(640, 7)
    looked_up = placement.walk_length[: int(placement.count)]
    assert looked_up.tolist() == [0, 0, 15, 0, 14]
    for index, cpu in ((2, 1), (4, 2)):
        pd = PIXEL4.domains[cpu]
        request = em.map_util_freq(641, pd.freq_khz[-1], pd.capacity, kernel="5.12")
        assert pd.walk_length(request, kernel="5.12") == looked_up[index]
    assert placement.walk_length[int(placement.count) :].sum() == 0
