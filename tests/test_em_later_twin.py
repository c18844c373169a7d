# SPDX-License-Identifier: GPL-2.0-only
"""Tables and energies of 5.14 and later against the plain twin, on what the known answers do not reach."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from reference import em_later as twin

from schedpy import em

CAPACITY = st.one_of(st.sampled_from([1, 256, 1024]), st.integers(1, 1024))
UTIL = st.one_of(st.sampled_from([0, 1, 1023, 1024]), st.integers(0, 5000))


@st.composite
def states(draw, power=65535):
    """(frequencies, powers); few different powers make equal costs."""
    freqs = sorted(draw(st.sets(st.integers(1, 40).map(lambda n: n * 100_000), min_size=1, max_size=12)))
    powers = st.lists(st.integers(1, draw(st.sampled_from([3, power]))), min_size=len(freqs))
    return freqs, draw(powers)[: len(freqs)]


def one(freqs, powers, capacity, unit):
    return em.PerfDomain("one", [0], freqs, powers, unit=unit, capacity=capacity)


@given(states())
def test_tables_in_milliwatt_times_1000(model):
    pd = one(*model, 1024, "mW")
    for kernel, flagged in (("5.14", False), ("5.15", False), ("5.16", True), ("5.18", True)):
        costs = twin.costs_times_1000(*model)
        table = pd.table(kernel=kernel)
        assert table["cost"].tolist() == costs
        assert table["inefficient"].tolist() == (twin.flags(costs) if flagged else [False] * len(costs))
        assert not table["performance"].any()


@given(states(power=64_000_000), CAPACITY, CAPACITY)
@example(([500_000, 1_000_000], [60, 130]), 1024, 100)
def test_a_change_of_capacity_only_adds_flags(model, registered, new):
    freqs, powers = model
    pd = one(freqs, powers, registered, "uW")
    if freqs[0] * min(registered, new) < freqs[-1]:
        with pytest.raises(ValueError, match="would divide by zero"):
            pd.table(kernel="6.12", capacity=new)
        return
    before = twin.flags(twin.costs_by_performance(freqs, powers, registered))
    costs = twin.costs_by_performance(freqs, powers, new)
    table = pd.table(kernel="6.12", capacity=new)
    assert table["performance"].tolist() == twin.performances(freqs, new)
    assert table["cost"].tolist() == costs
    assert table["inefficient"].tolist() == [a or b for a, b in zip(before, twin.flags(costs), strict=True)]


@given(states(power=64_000_000), CAPACITY, UTIL, UTIL, UTIL, st.booleans())
def test_energy_on_32_bits_divides_first(model, capacity, max_util, sum_util, allowed, skip):
    freqs, powers = model
    pd = one(freqs, powers, capacity, "uW")
    costs = twin.costs(freqs, powers)
    state = twin.state_by_frequency(freqs, costs, capacity, max_util, allowed, skip)
    found = {
        bits: pd.energy(
            max_util, sum_util, kernel="6.1", allowed_cpu_cap=allowed, skip_inefficient=skip, long_bits=bits
        )
        for bits in (32, 64)
    }
    assert found == {32: costs[state] // capacity * sum_util, 64: costs[state] * sum_util // capacity}


@given(states(power=64_000_000), CAPACITY, UTIL, UTIL, UTIL, st.booleans(), st.data())
def test_energy_within_performance_limits(model, capacity, max_util, sum_util, allowed, skip, data):
    freqs, powers = model
    assume(freqs[0] * capacity >= freqs[-1])
    low = data.draw(st.integers(0, len(freqs) - 1))
    high = data.draw(st.integers(low, len(freqs) - 1))
    pd = one(freqs, powers, capacity, "uW")
    state = twin.state_by_performance(freqs, powers, capacity, min(max_util, allowed), skip, low, high)
    how = {"allowed_cpu_cap": allowed, "skip_inefficient": skip, "min_ps": low, "max_ps": high}
    costs = twin.costs_by_performance(freqs, powers, capacity)
    assert pd.energy(max_util, sum_util, kernel="7.3", **how) == costs[state] * sum_util


def test_a_product_that_leaves_32_bits_is_why_32_bits_divide_first():
    """A cost above 1e6 uW at a sum of 4096: the product needs more than 32 bits, the quotient does not."""
    cost, capacity, total = 1_500_001, 1024, 4096
    pd = one([1_000_000], [cost], capacity, "uW")
    assert cost * total >= 2**32
    whole, divided = (pd.energy(1, total, kernel="6.1", long_bits=bits) for bits in (64, 32))
    assert whole == cost * total // capacity
    assert divided == cost // capacity * total
    assert divided < whole < 2**32


@given(states(power=64_000_000), CAPACITY, CAPACITY, UTIL, UTIL, st.booleans())
@example(([500_000, 1_000_000], [60, 130]), 1024, 100, 40, 60, True)
def test_energy_by_a_table_whose_flags_are_stale(model, registered, new, max_util, sum_util, skip):
    """A state once flagged is passed over, whatever it costs at the new capacity."""
    freqs, powers = model
    assume(freqs[0] * min(registered, new) >= freqs[-1])
    pd = one(freqs, powers, registered, "uW")
    costs = twin.costs_by_performance(freqs, powers, new)
    before = twin.flags(twin.costs_by_performance(freqs, powers, registered))
    flagged = [a or b for a, b in zip(before, twin.flags(costs), strict=True)]
    util = min(max_util, new)
    able = enumerate(performance >= util for performance in twin.performances(freqs, new))
    state = twin.first(able, flagged, skip, len(freqs) - 1)
    how = {"kernel": "6.12", "capacity": new, "skip_inefficient": skip}
    assert pd.get_performance_state(util, **how) == state
    assert pd.energy(max_util, sum_util, **how) == costs[state] * sum_util
    assert pd.energy(max_util, sum_util, allowed_cpu_cap=2000, **how) == pd.energy(
        max_util, sum_util, allowed_cpu_cap=2000, **how | {"kernel": "7.3"}
    )


@given(states(power=64_000_000), CAPACITY, UTIL, st.data())
def test_limits_by_frequency_are_limits_by_state(model, capacity, util, data):
    freqs, powers = model
    assume(freqs[0] * capacity >= freqs[-1])
    low = data.draw(st.integers(0, len(freqs) - 1))
    high = data.draw(st.integers(low, len(freqs) - 1))
    pd = one(freqs, powers, capacity, "uW")
    by_state = {"kernel": "7.3", "min_ps": low, "max_ps": high}
    by_freq = {"kernel": "7.3", "freq_min_khz": freqs[low], "freq_max_khz": freqs[high]}
    mixed = {"kernel": "7.3", "min_ps": low, "freq_max_khz": freqs[high]}
    for other in (by_freq, mixed):
        assert pd.get_performance_state(util, **other) == pd.get_performance_state(util, **by_state)
        assert pd.energy(util, util, **other) == pd.energy(util, util, **by_state)
