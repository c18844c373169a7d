# SPDX-License-Identifier: GPL-2.0-only
"""The platforms' states, maps and published figures."""

import numpy as np
import pandas as pd
import pytest
from golden import load, select

from schedpy import eas, em
from schedpy.lab import platforms, report


def test_every_state_of_every_platform_is_there():
    table = platforms.states()
    for name in em.EnergyModel.names():
        for domain in em.EnergyModel.load(name).domains:
            rows = table.xs(name).xs(domain.name)
            assert rows["freq_khz"].tolist() == domain.freq_khz.tolist()
            assert rows["power"].tolist() == domain.power.tolist()
            assert set(rows["unit"]) == {domain.unit}
            for kernel in platforms.KERNELS:
                flagged = [kernel in kernels.split(", ") for kernels in rows["inefficient"]]
                assert flagged == domain.table(kernel=kernel)["inefficient"].tolist()
    assert len(table) == sum(
        domain.freq_khz.size
        for name in em.EnergyModel.names()
        for domain in em.EnergyModel.load(name).domains
    )


def test_counts_of_inefficient_states_are_those_of_the_flags():
    counts, table = platforms.inefficient(), platforms.states()
    for row, counted in counts.iterrows():
        kernels = table.xs(row[0]).xs(row[1])["inefficient"].str.split(", ")
        for kernel in platforms.KERNELS:
            assert counted[kernel] == kernels.map(lambda found, kernel=kernel: kernel in found).sum()
        assert counted["states"] == len(kernels)
    assert counts.loc["pixel4", "5.12"].tolist() == [5, 0, 0], "the mail: on the little cluster"


@pytest.mark.parametrize("kernel", platforms.PLACEMENTS)
@pytest.mark.parametrize(("util", "load"), [(64, 0), (640, 0), (200, 35), (900, 0), (1, 79), (300, 60)])
def test_a_place_of_a_map_is_one_placement(kernel, util, load):
    model = em.EnergyModel.load("pixel4")
    cpus = eas.idle_cpus(model)
    for cpu, capacity in enumerate(cpus["capacity_of"].tolist()):
        busy = capacity * load // 100
        for name in ("util_avg", "util_est", "runnable_avg"):
            cpus[name][cpu] = busy
        if cpu == 7:
            cpus["util_avg"][cpu] = cpus["runnable_avg"][cpu] = min(capacity, busy + util)
    place = eas.find_energy_efficient_cpu(model, eas.task(prev_cpu=7, util_avg=util), cpus, kernel=kernel)
    found = platforms.placement_map(model, kernel=kernel, util=[5, util], load=[load, 11, 12])
    assert found.target.shape == (3, 2)
    assert found.target[0, 1] == place.target
    calls = place.calls[: int(place.count)]
    assert found.fits[0, 1] == (calls["dst_cpu"] >= 0).any()
    domain = next((i for i, d in enumerate(model.domains) if int(place.target) in d.cpus), None)
    assert found.domain[0, 1] == (domain if found.fits[0, 1] else -1)


def test_without_room_the_task_stays():
    found = platforms.placement_map("tc2", kernel="6.1")
    assert 0.3 < found.fits.mean() < 0.7
    assert set(found.target[~found.fits].tolist()) == {found.prev_cpu}
    assert found.prev_cpu == 4


def test_another_cpu_to_come_from():
    found = platforms.placement_map("pixel4", kernel="5.12", prev_cpu=0, util=[8], load=[0])
    assert found.target.tolist() == [[0]]


def test_shares_count_places():
    maps = [platforms.placement_map("pixel4", kernel=kernel) for kernel in ("5.12", "7.3")]
    shares = platforms.shares(maps)
    assert shares.columns.tolist() == ["5.12", "7.3"]
    for found in maps:
        for index, name in enumerate(("little", "mid", "prime")):
            counted = (found.domain == index).sum() / found.fits.sum()
            assert shares.loc[("pixel4", name), found.kernel] == round(100 * counted, 1)


def test_kernels_that_place_alike_are_named():
    maps = [
        platforms.placement_map(name, kernel=kernel, util=range(0, 1025, 32))
        for name in ("tc2", "pixel4")
        for kernel in ("5.12", "6.12", "7.3")
    ]
    table = platforms.alike(maps)
    for name in ("tc2", "pixel4"):
        assert table.loc[name, "as"].tolist() == ["5.12", "6.12", "6.12"]
        assert table.loc[(name, "5.12"), "moved"] == 0 < table.loc[(name, "7.3"), "moved"]


def test_the_document_s_example_is_the_known_answer():
    """What the verdicts compute of it are the energies that the kernels' own code gave."""
    rows = select(load("em/feec_results"), era="v5.12-walk")
    (logged,) = rows["compute_energy_calls"][rows["id"] == "doc_example2"]
    calls = [tuple(map(int, call.split(":"))) for call in logged.split()]
    without = {domain: energy for domain, dst, energy in calls if dst < 0}
    energies = {
        dst: sum(without.values()) - without[domain] + energy for domain, dst, energy in calls if dst >= 0
    }
    ours = platforms.verdicts().set_index("what")["ours"]
    for cpu in (0, 1, 3):
        assert ours[f"energy with the task on CPU {cpu}"] == str(energies[cpu])


def test_verdicts_have_the_columns_of_the_report_and_every_figure():
    verdicts = platforms.verdicts()
    assert tuple(verdicts.columns) == report.VERDICT_COLUMNS
    assert verdicts["what"].tolist() == platforms.published()["what"].tolist()
    assert verdicts["ours"].tolist()[:3] == ["138, by the walk 149", "6 and 6", "6094 and 5859"]
    assert verdicts["verdict"].tolist() == ["agrees"] * 3 + ["differs", "differs", "agrees", "differs"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: platforms.states("pixel4"), r"^names = 'pixel4': must be a tuple"),
        (lambda: platforms.states(["pixel9"]), r"^names\[0\] = 'pixel9'"),
        (lambda: platforms.states(kernels="6.1"), r"^kernels = '6.1': must be a tuple"),
        (lambda: platforms.inefficient(kernels=["6.8"]), r"^kernel = '6.8'"),
        (lambda: platforms.placement_map("pixel4", kernel="6.8"), r"^kernel = '6.8': must be one of"),
        (lambda: platforms.placement_map(3, kernel="6.1"), r"^model must be a name or an EnergyModel"),
        (
            lambda: platforms.placement_map("pixel4", kernel="6.1", prev_cpu=8),
            r"^prev_cpu = 8: must be 0 .. 7",
        ),
        (lambda: platforms.placement_map("pixel4", kernel="6.1", util=[1025]), r"^util\[0\] = 1025"),
        (lambda: platforms.placement_map("pixel4", kernel="6.1", load=[101]), r"^load\[0\] = 101"),
        (lambda: platforms.placement_map("pixel4", kernel="6.1", load=5), r"^load has shape \(\)"),
        (lambda: platforms.shares([]), r"^maps is empty"),
        (lambda: platforms.alike([5]), r"^maps\[0\] is int: must be a PlacementMap"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_tables_are_frames():
    assert isinstance(platforms.published(), pd.DataFrame)
    assert np.isfinite(platforms.inefficient().to_numpy()).all()
