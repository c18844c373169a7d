# SPDX-License-Identifier: GPL-2.0-only
"""Every way to a state gives what the walk gives: all requests of every platform, and platforms made up.

The table of the patch is the exception, where states are closer than a bin; test_em_known_answers.py has it.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schedpy import _core, eas, em, paths
from schedpy.eas import cases

BY_REQUEST = ("bins", "search")
BY_UTIL = ("bins", "search", "direct")
KERNELS = ("5.12", "5.13", "5.16", "6.1", "6.12", "7.3")
LAST = 2**64 - 1


def domains():
    for name in em.EnergyModel.names():
        for pd in em.EnergyModel.load(name).domains:
            yield pytest.param(pd, id=f"{name}-{pd.name}")


def words(pd, kernel):
    return pd.table(kernel=kernel).view(np.uint64).reshape(-1, 5)


def walk(pd, kernel, skip, requests):
    """The core's walks, which the known answers hold; a flag per request keeps them from being counted."""
    skip, table = np.full(np.shape(requests), skip), words(pd, kernel)
    if kernel in ("6.12", "7.3"):
        return _core.em_state_walk_v6_9(table, requests, skip, np.uint64(0), np.uint64(len(table) - 1))
    return _core.em_state_walk_v5_16(table, requests, skip)


def of_utils(pd, kernel, skip, utils):
    if kernel in ("6.12", "7.3"):
        return walk(pd, kernel, skip, utils)
    return walk(pd, kernel, skip, em.map_util_freq(utils, pd.freq_khz[-1], pd.capacity, kernel=kernel))


@pytest.mark.parametrize("pd", list(domains()))
def test_every_request_of_every_platform(pd):
    requests = np.arange(int(pd.freq_khz[-1]) + 3, dtype=np.uint64)
    seen = set()
    for kernel, skip in (("5.12", True), ("5.12", False), ("6.1", True)):
        tables = [pd.lut(skip, variant=variant, kernel=kernel) for variant in BY_REQUEST]
        chosen = tuple(tables[0].served.state.tolist())
        if chosen in seen:
            continue  # The same states serve, by the same frequencies.
        seen.add(chosen)
        expected = walk(pd, kernel, skip, requests)
        for table in tables:
            np.testing.assert_array_equal(table.state(requests), expected)


@pytest.mark.parametrize("pd", list(domains()))
def test_every_utilisation_of_every_platform(pd):
    utils = np.arange(3 * pd.capacity, dtype=np.uint64)
    for kernel in KERNELS:
        for skip in (True, False):
            expected = of_utils(pd, kernel, skip, utils)
            for variant in BY_UTIL:
                table = pd.lut(skip, variant=variant, kernel=kernel)
                np.testing.assert_array_equal(table.state_of_util(utils), expected)
                if kernel in ("6.12", "7.3") and variant != "direct":
                    np.testing.assert_array_equal(table.state(utils), expected)


@pytest.mark.parametrize("pd", list(domains()))
def test_bins_of_real_platforms_are_those_of_the_patch(pd):
    """And one step does, as the patch has it."""
    patch, bins = pd.lut(), pd.lut(variant="bins")
    served = bins.served.state.astype(np.int64)
    assert bins.steps <= 1
    if len(served) > 1:
        assert bins.shift == patch.shift
        np.testing.assert_array_equal(served[bins.entries], patch.entries)
    requests = np.arange(0, int(pd.freq_khz[-1]) + 3, 997, dtype=np.uint64)
    np.testing.assert_array_equal(patch.state(requests), bins.state(requests))
    np.testing.assert_array_equal(
        patch.state(requests), pd.get_efficient_state(requests, kernel="5.12", method="lut")
    )


@st.composite
def models(draw):
    """Up to 512 states of which some, all or none are closer than a bin; flags from few different powers."""
    count = draw(st.one_of(st.integers(1, 40), st.sampled_from([64, 65, 66, 128, 512])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    gap = draw(st.sampled_from([1, 2, 900, 100_000, 2**36]))
    freqs = rng.integers(1, 2**33 if gap > 2**32 else 3_000_000) + np.cumsum(rng.integers(1, gap + 1, count))
    powers = rng.integers(1, draw(st.sampled_from([3, 65_536])), count)
    return em.PerfDomain("made", [0], freqs, powers, unit="bogo", capacity=draw(st.integers(1, 1024)))


def made(freqs, powers=None, capacity=1024):
    powers = np.arange(1, len(freqs) + 1) if powers is None else powers
    return em.PerfDomain("made", [0], freqs, powers, unit="bogo", capacity=capacity)


def plain_walk(key, flagged, skip, request):
    able = (i for i in range(len(key)) if key[i] >= request and not (skip and flagged[i]))
    return next(able, len(key) - 1)


def requests_around(key):
    """At every key and beside it, and where 32 and 64 bits end."""
    around = {k + step for k in key for step in (-1, 0, 1)}
    return sorted(
        {0, 1, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, LAST} | {r for r in around if 0 <= r <= LAST}
    )


@given(models(), st.sampled_from(KERNELS), st.booleans())
@example(made([1_000_000, 1_000_300, 1_000_600]), "5.12", True)
@example(made([1_000_000]), "5.12", True)
@example(made([1_000_000]), "7.3", True)
@example(made(list(range(1, 513))), "6.1", False)
@example(made([1, 2**32 - 2, 2**32 - 1]), "5.13", False)
@example(made([1, 2**32 - 1, 2**32]), "5.13", False)
@example(made([5, LAST]), "5.13", False)
@example(made([1, 2, LAST - 1, LAST]), "5.13", False)
@settings(deadline=None)
def test_made_up_platforms(pd, kernel, skip):
    try:
        table = pd.table(kernel=kernel)
    except ValueError:
        assert int(pd.freq_khz[0]) * pd.capacity < int(pd.freq_khz[-1])
        assert kernel in ("6.12", "7.3")
        return
    column = "performance" if kernel in ("6.12", "7.3") else "freq_khz"
    key, flagged = table[column].tolist(), table["inefficient"].tolist()
    requests = requests_around(key)
    expected = [plain_walk(key, flagged, skip, request) for request in requests]
    for variant in BY_REQUEST:
        found = pd.lut(skip, variant=variant, kernel=kernel)
        assert found.state(requests).tolist() == expected
    utils = np.array([0, 1, pd.capacity // 2, pd.capacity, pd.capacity + 1, 2**40, LAST - 1, LAST], np.uint64)
    wanted = of_utils(pd, kernel, skip, utils)
    for variant in BY_UTIL if found.served.highest_util > pd.capacity else BY_REQUEST:
        found = pd.lut(skip, variant=variant, kernel=kernel)
        np.testing.assert_array_equal(found.state_of_util(utils), wanted)


@pytest.mark.parametrize("path", paths.names())
@pytest.mark.parametrize("count", [1, 2, 3, 24, 39, 40, 41, 127, 128, 129, 200])
def test_every_path_and_every_length(path, count):
    rng = np.random.default_rng(count)
    pd = made(np.cumsum(rng.integers(1, 9, count)), rng.integers(1, 60_000, count))
    requests = rng.integers(0, int(pd.freq_khz[-1]) + 3, 333).astype(np.uint64)
    requests[::50] = 2**32 + 1
    for skip in (True, False):
        search, expected = pd.lut(skip, variant="search"), walk(pd, "5.12", skip, requests)
        with paths.using(path):
            for length in (*range(8), 63, 64, 65, 127, 128, 129, 333):
                np.testing.assert_array_equal(search.state(requests[:length]), expected[:length])
            np.testing.assert_array_equal(search.state(requests[::-3]), expected[::-3])
            square = requests[:332].reshape(2, 166).T
            np.testing.assert_array_equal(search.state(square), expected[:332].reshape(2, 166).T)


CLOSE = em.EnergyModel([made([*range(1_000_000, 1_120_000, 600), 2_000_000])])


@pytest.mark.parametrize("name", ["pixel4", "pixel4_freqbench", "tc2", "hikey620", "close"])
@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("way", BY_UTIL)
def test_placements_by_each_way_are_those_by_the_walk(name, skip, way):
    """Energies, states and all: what `eas.time_placements` times decides as the kernel does."""
    model = CLOSE if name == "close" else em.EnergyModel.load(name)
    rng = np.random.default_rng(1)
    cpus = eas.idle_cpus(model, 300)
    cpus["util_avg"] = rng.random(cpus.shape) * cpus["capacity_of"] * 0.9
    task = eas.task(prev_cpu=rng.integers(0, model.nr_cpus, 300), util_avg=rng.integers(1, 700, 300))
    target, count = np.empty((2, 300), np.int64)
    calls = np.empty((300, 3 * len(model.domains)), eas.CALL)
    domains = cases.core_model(model, "5.12", "walk", skip, all_ways=True)
    reads, _ = cases.operands(model, task, cpus, None, False, False)
    assert _core.place(f"v5.12-{way}", domains, model.nr_cpus, *reads, target, count, calls[..., 0]) is None
    walked = eas.find_energy_efficient_cpu(model, task, cpus, kernel="5.12")
    assert len(set(calls["state"].flat)) > 3
    if not skip:
        np.testing.assert_array_equal(calls["state"], walked.state)
        np.testing.assert_array_equal(calls["energy"], walked.calls["energy"])
        np.testing.assert_array_equal(target, walked.target)
        return
    # The walk of 5.12 never skips: where it stops, the next state that may be chosen serves.
    state = np.array(walked.state)
    for index, domain in enumerate(model.domains):
        may_serve = np.flatnonzero(~domain.table(kernel="5.12")["inefficient"])
        there = (walked.calls["domain"] == index) & (state >= 0)
        state[there] = may_serve[np.searchsorted(may_serve, state[there])]
    np.testing.assert_array_equal(calls["state"], state)


def test_a_utilisation_whose_request_wraps_is_served_by_the_wrapped_one():
    pd = made([1_000_000, 2_000_000])
    direct = pd.lut(variant="direct", kernel="5.13")
    limit = direct.served.highest_util
    utils = np.array([0, limit, limit + 1, limit + 2], np.uint64)
    assert of_utils(pd, "5.13", True, utils).tolist() == [0, 1, 0, 0]
    assert direct.state_of_util(utils).tolist() == [0, 1, 0, 0]


def test_where_products_wrap_below_the_capacity_there_is_no_direct_table():
    with pytest.raises(ValueError, match=r"^domain 'made': the request for utilisation 1 leaves 64 bits"):
        made([5, LAST]).lut(variant="direct", kernel="5.13")
    with pytest.raises(ValueError, match=r"leaves 64 bits"):
        made([5, LAST // 1000]).lut(variant="direct", kernel="5.13")


def test_bins_stay_few_however_wide_the_range():
    """The patch has 2^40 of them here."""
    pd = made([1, 2, 2**50], [1, 2, 4])
    bins = pd.lut(False, variant="bins")
    assert 1 < bins.entries.size <= 4096
    assert bins.state([0, 1, 2, 3, 2**50, 2**50 + 1]).tolist() == [0, 0, 1, 2, 2, 2]


def test_a_direct_table_is_asked_for_utilisations_alone():
    with pytest.raises(ValueError, match=r"^request: a direct table is asked for utilisations"):
        made([1000]).lut(variant="direct").state(5)


def test_the_patch_has_one_kernel():
    with pytest.raises(ValueError, match=r"^kernel = '6.1': em.lut is not proven"):
        made([1000]).lut(kernel="6.1")
    with pytest.raises(ValueError, match=r"^variant = 'fast': must be one of 'patch', 'bins', "):
        made([1000]).lut(variant="fast")


def test_the_core_survives_tables_that_make_no_sense():
    """Entries, shifts and steps that lead nowhere: defined, no trap; what is no row of words: refused."""
    keys, states = np.array([5, 6, 7], np.uint64), np.array([0, 1, 2], np.uint16)
    wild = np.array([65_535, 0], np.uint16)
    requests = np.array([0, 6, LAST], np.uint64)
    found = np.empty(3, np.int64)
    for shift, steps in ((0, 9), (63, 0), (64, 2), (200, 2**20)):
        _core.em_bins(keys, states, wild, shift, steps, requests, found)
        assert set(found.tolist()) <= {0, 1, 2}
    _core.em_bins(keys[::-1].copy(), states, wild, 0, 3, requests, found)
    assert set(found.tolist()) <= {0, 1, 2}
    _core.em_direct(wild, requests, found)
    assert found.tolist() == [65_535, 0, 0]
    assert _core.em_make_bins(np.zeros(0, np.uint64))[2].size == 0
    nothing, no_states = np.zeros(0, np.uint64), np.zeros(0, np.uint16)
    for bad in (
        lambda: _core.em_halve(nothing, no_states, requests, found),
        lambda: _core.em_halve(keys, states[:2], requests, found),
        lambda: _core.em_halve(keys, states, requests, found[:2]),
        lambda: _core.em_halve(keys, states, requests[::2], found[:2]),
        lambda: _core.em_halve(keys, states, requests.astype(np.int64), found),
        lambda: _core.em_bins(keys, states, no_states, 0, 1, requests, found),
        lambda: _core.em_direct(no_states, requests, found),
        lambda: _core.em_make_bins(np.zeros(70_000, np.uint64)),
    ):
        with pytest.raises(ValueError, match=r"row"):
            bad()
