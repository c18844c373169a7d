# SPDX-License-Identifier: GPL-2.0-only
"""Every row of the energy model's files that 5.12 answers, through the public faces."""

import numpy as np
import pytest
from em_models import by_model, columns, domain, integers
from golden import load, select

from schedpy import em

ERAS = ("v5.12-walk", "v5.12-lut")
METHOD = {"v5.12-walk": "walk", "v5.12-lut": "lut"}

#: 5.12 as released has no flags; its neighbour 5.11 computes the same table.
TABLE_KERNEL = {"v5.12-walk": "5.11", "v5.12-lut": "5.12"}


def equal(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours, dtype=object), np.asarray(theirs, dtype=object))


@pytest.mark.parametrize("era", ERAS)
def test_table(era):
    seen = 0
    for model, rows in by_model(select(load("em/table"), era=era)):
        table = domain(model).table(kernel=TABLE_KERNEL[era])
        equal(np.arange(len(table)), rows["state"])
        for column in ("freq_khz", "power", "cost"):
            equal(table[column], integers(rows[column]))
        equal(domain(model).table(kernel="5.12")["cost"], table["cost"])
        assert not table["performance"].any()
        if era == "v5.12-lut":
            equal(table["inefficient"], integers(rows["inefficient"]))
        else:
            assert not table["inefficient"].any()
            assert set(rows["inefficient"]) == {""}
        seen += len(table)
    assert seen == 1399


@pytest.mark.parametrize("era", ERAS)
def test_table_errors(era):
    refused = set(select(load("em/table_errors"), era=era)["model"])
    assert len(refused) == 27
    for model in columns():
        if model in refused:
            with pytest.raises(ValueError, match=r"^(power|freq_khz)\[\d+\] = "):
                domain(model).table(kernel=TABLE_KERNEL[era])
        else:
            domain(model).table(kernel=TABLE_KERNEL[era])


def test_construction_refuses_only_what_every_kernel_refuses():
    errors = load("em/table_errors")
    for model in columns():
        eras = set(errors["era"][errors["model"] == model])
        scale, freqs, powers = columns()[model]
        if eras == set(errors["era"]) and max(powers) <= 64_000_000:
            with pytest.raises(ValueError, match="must be"):
                em.PerfDomain(model, [0], freqs, powers, unit="bogo", capacity=scale)
        else:
            domain(model)


@pytest.mark.parametrize(("file", "skip"), [("em/lut_v1", True), ("em/lut_v1_noineff", False)])
def test_lut(file, skip):
    rows = load(file)
    assert len(rows["model"]) == 100
    for i, model in enumerate(rows["model"]):
        lut = domain(model).lut(skip_inefficient=skip)
        assert lut.shift == rows["shift"][i]
        assert lut.min_freq == rows["min_freq"][i]
        assert lut.max_freq == rows["max_freq"][i]
        assert lut.entries.size == rows["nr_entries"][i]
        assert lut.entries[0] == rows["min_state"][i]
        assert len(domain(model).freq_khz) - 1 == rows["max_state"][i]
        entries = rows["entries_state_index"][i]
        assert entries or lut.entries.size > 6000
        if entries:
            equal(lut.entries, [int(entry) for entry in entries.split()])


def test_lookup_freq_walk():
    seen = 0
    for model, rows in by_model(select(load("em/lookup_freq"), era="v5.12-walk")):
        freq_req = rows["freq_req_khz"].astype(np.uint64)
        state = domain(model).get_efficient_state(freq_req, kernel="5.12")
        equal(state, integers(rows["state"]))
        equal(domain(model).freq_khz[state], integers(rows["freq_out_khz"]))
        equal(domain(model).walk_length(freq_req, kernel="5.12"), state + 1)
        assert set(rows["status"]) == {"ok"}
        seen += len(state)
    assert seen == 9818


def test_lookup_freq_lut():
    seen = {"ok": 0, "overshoot": 0, "oob": 0}
    for model, rows in by_model(select(load("em/lookup_freq"), era="v5.12-lut")):
        pd = domain(model)
        freq_req = rows["freq_req_khz"].astype(np.uint64)
        state = pd.get_efficient_state(freq_req, kernel="5.12", method="lut")
        equal(state, integers(rows["state"]))
        past_end = rows["status"] == "oob"
        equal(state == -1, past_end)
        equal(pd.get_efficient_freq(freq_req[~past_end]), integers(rows["freq_out_khz"][~past_end]))

        table = pd.table(kernel="5.12")
        efficient = np.flatnonzero(~table["inefficient"])
        wanted = np.searchsorted(table["freq_khz"][efficient], freq_req)
        lowest = efficient[np.minimum(wanted, len(efficient) - 1)]
        equal(state > lowest, rows["status"] == "overshoot")
        if table["inefficient"].any():
            for request in freq_req[past_end]:
                with pytest.raises(ValueError, match=f"{request} kHz .* past the end"):
                    pd.get_efficient_freq(request)
        for status in seen:
            seen[status] += int((rows["status"] == status).sum())
    assert seen == {"ok": 9725, "overshoot": 79, "oob": 14}


@pytest.mark.parametrize("era", ERAS)
def test_energy(era):
    method, seen = METHOD[era], 0
    for model, rows in by_model(select(load("em/energy_v512"), era=era)):
        pd = domain(model)
        max_util, sum_util = rows["max_util"], rows["sum_util"]
        freq_req = em.map_util_freq(max_util, pd.freq_khz[-1], pd.capacity, kernel="5.12")
        state = pd.get_efficient_state(freq_req, kernel="5.12", method=method)
        equal(freq_req, rows["freq_req_khz"])
        equal(state, rows["state"])
        equal(pd.table(kernel="5.12")["cost"][state], rows["cost"])
        equal(pd.energy(max_util, sum_util, kernel="5.12", method=method), rows["energy"])
        assert set(rows["scale_cpu"]) == {pd.capacity}
        seen += len(state)
    assert seen == {"v5.12-walk": 6604, "v5.12-lut": 6598}[era]


def test_map_util():
    rows = load("em/map_util")
    util, freq, cap = rows["util"], rows["freq"], rows["cap"]
    equal(em.map_util_freq(util, freq, cap, kernel="5.12"), rows["map_util_freq_v512"])
    equal(em.map_util_freq(util, freq, cap, kernel="5.14"), rows["map_util_freq_v514"])
    equal(em.map_util_perf(util), rows["map_util_perf_v514"])
    perf = em.map_util_perf(util)
    equal(em.map_util_freq(perf, freq, cap, kernel="6.1"), rows["map_util_freq_of_perf_v514"])


def test_the_table_of_a_pixel_4_estimates_what_its_author_published():
    """All CPUs at 5 % of their capacity: 149 by the walk, 138 by the table; "140 joules" was published."""
    model = em.EnergyModel.load("pixel4")
    total = {
        method: sum(
            int(pd.energy(util, util * len(pd.cpus), kernel="5.12", method=method))
            for pd in model.domains
            for util in [pd.capacity * 5 // 100]
        )
        for method in ("walk", "lut")
    }
    assert total == {"walk": 149, "lut": 138}


def test_energies_tie_through_rounding():
    """In mW two different additions to two domains cost the same; times 1000 they would not."""
    for cost, scale, before, after, energies in [
        (480, 1024, 215, 228, (100, 106)),
        (160, 355, 283, 296, (127, 133)),
    ]:
        pd = em.PerfDomain("one", [0], [1_000_000], [cost], unit="mW", capacity=scale)
        assert pd.energy(0, [before, after], kernel="5.12").tolist() == list(energies)


def test_states_closer_than_a_bin_lead_past_the_end():
    """1000000, 1000300 and 1000600 kHz share one bin of 1024 kHz."""
    pd = domain("syn/close_freqs_300k")
    assert pd.lut().entries.tolist() == [0]
    assert pd.get_efficient_state(1_000_300, kernel="5.12", method="lut") == -1
    assert pd.get_efficient_freq(1_000_300) == 1_000_300, "no inefficient state: schedutil does not look up"


def test_idle_never_leaves_the_table():
    """em_cpu_energy() returns 0 before it looks up."""
    pd = em.PerfDomain("one", [0], [1_000_000, 1_000_300, 1_001_000], [1, 2, 3], unit="mW", capacity=1024)
    util = np.arange(700, 900, dtype=np.uint64)
    inside = em.map_util_freq(util, 1_001_000, 1024, kernel="5.12")
    busy = util[(inside > 1_000_000) & (inside < 1_001_000)]
    assert busy.size == 1
    assert pd.energy(busy, 0, kernel="5.12", method="lut").tolist() == [0]
    with pytest.raises(ValueError, match=r"^max_util\[0\]: the request of \d+ kHz"):
        pd.energy(busy, 1, kernel="5.12", method="lut")
