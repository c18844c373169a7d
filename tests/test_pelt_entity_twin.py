# SPDX-License-Identifier: GPL-2.0-only
"""What surrounds the update agrees with a plain twin where the known answers do not reach."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import pelt_entity as twin

from schedpy import pelt

FLAG = 1 << 31


def version(kernel):
    return tuple(map(int, kernel.split(".")))


def near(*values, reach=12):
    """Integers around some values, none negative."""
    return st.one_of([st.integers(max(0, v - reach), v + reach) for v in values])


def up_to(bits):
    """Unsigned integers of any length up to so many bits."""
    return st.integers(0, bits).flatmap(lambda n: st.integers(0, 2**n - 1))


kernels = {
    "attach": st.sampled_from(["4.10", "4.14", "4.15", "5.6", "5.7", "5.16", "5.18", "6.19"]),
    "post_init": st.sampled_from(["4.10", "4.14", "4.15", "5.8", "6.9", "6.10", "6.19"]),
    "util_est": st.sampled_from(["4.17", "5.1", "5.5", "5.12", "5.13", "6.7", "6.8", "6.18", "6.19"]),
    "clock_pelt": st.sampled_from(["5.1", "5.18", "6.0", "6.19"]),
}

averages = st.one_of(st.integers(0, 1100), up_to(64))
entities = st.fixed_dictionaries(
    {
        "last_update_time": up_to(64),
        "load_sum": up_to(64),
        "runnable_sum": up_to(64),
        "util_sum": up_to(32),
        "period_contrib": st.integers(0, 1023),
        "load_avg": averages,
        "runnable_avg": averages,
        "util_avg": averages,
    }
)


def as_dict(state):
    return {name: int(state[name]) for name in state.dtype.names}


@settings(max_examples=400)
@given(kernels["attach"], entities, entities, st.one_of(st.integers(0, 3), up_to(32)))
def test_attach_and_detach(kernel, se, cfs, weight):
    given_se, given_cfs = pelt.initial_state(**se), pelt.initial_state(**cfs)
    got = pelt.detach(given_se, given_cfs, kernel=kernel, weight=weight)
    assert tuple(map(as_dict, got)) == twin.detach(se, cfs, version(kernel), weight)
    if weight == 0 and version(kernel) >= (5, 18):
        weight = 1
    got = pelt.attach(given_se, given_cfs, kernel=kernel, weight=weight)
    assert tuple(map(as_dict, got)) == twin.attach(se, cfs, version(kernel), weight)


@settings(max_examples=400)
@given(
    kernels["post_init"],
    st.one_of(near(0, 1024), up_to(64)),
    st.one_of(near(0, 1024), st.integers(0, 2**64 - 2)),
    st.one_of(near(0, 446, 1024), up_to(63)),
    st.one_of(near(0, 2048, 1024 << 10), up_to(64)),
)
def test_post_init_entity_util_avg(kernel, util, load, capacity, raw):
    # The kernel's difference is a signed long.
    util = min(util, 2**63 - 1)
    got = pelt.post_init_entity_util_avg(
        kernel=kernel, cfs_util_avg=util, cfs_load_avg=load, capacity=capacity, se_load_weight_raw=raw
    )
    assert got == twin.post_init_entity_util_avg(version(kernel), util, load, capacity, raw)


@given(st.sampled_from(["4.12", "5.6", "5.7", "6.19"]), st.one_of(near(0, 1024, 2048), up_to(64)))
def test_scale_load_down(kernel, raw):
    assert pelt.scale_load_down(raw, kernel=kernel) == twin.scale_load_down(raw, version(kernel))


utils = st.one_of(near(0, 300, 446, 1024), up_to(31))
words = st.one_of(near(0, 300, 1024), near(0, 300, FLAG - 12).map(lambda x: x | FLAG), up_to(32))
stays = st.fixed_dictionaries(
    {
        "util_enqueue": utils,
        "util_dequeue": utils,
        "runnable_avg": st.one_of(near(0, 300, 310), up_to(64)),
        "util_changed": st.booleans(),
        "task_sleep": st.booleans(),
        "capacity": st.one_of(near(300, 446), up_to(64)),
    }
)


@settings(max_examples=600)
@given(kernels["util_est"], words, words, words, st.lists(stays, min_size=1, max_size=6))
def test_util_est(kernel, enqueued, ewma, queue, sequence):
    state = {
        "task_enqueued_raw": enqueued,
        "task_ewma": ewma if version(kernel) < (6, 8) else 0,
        "cfs_enqueued": queue,
    }
    ours = pelt.initial_util_est(**state)
    for step in sequence:
        got = pelt.util_est(ours, kernel=kernel, **step)
        state, seen = twin.util_est(state, version(kernel), step)
        ours = got.state
        assert as_dict(ours) == state
        assert {name: int(getattr(got, name)) for name in seen} == seen


clock_steps = st.fixed_dictionaries(
    {
        "delta_ns": st.one_of(st.integers(0, 20_000_000), up_to(63)),
        "curr_is_idle": st.booleans(),
        "entering_idle": st.booleans(),
        "util_sum": st.one_of(near(47791490, reach=2), up_to(32)),
        "cpu_scale": st.one_of(near(446, 1024), up_to(64)),
        "freq_scale": st.one_of(near(446, 1024), up_to(64)),
        "multiplier": st.sampled_from([1, 2, 4]),
    }
)


@settings(max_examples=400)
@given(
    kernels["clock_pelt"],
    st.fixed_dictionaries(dict.fromkeys(pelt.CLOCK_PELT_STATE.names, up_to(64))),
    st.lists(clock_steps, min_size=1, max_size=6),
)
def test_clock_pelt(kernel, state, sequence):
    ours = pelt.initial_clock_pelt(**state)
    for step in sequence:
        ours = pelt.clock_pelt(ours, step["delta_ns"], kernel=kernel, **step_options(step))
        state = twin.clock_pelt(state, version(kernel), step)
        assert as_dict(ours) == state
        assert pelt.rq_clock_pelt(ours) == (state["clock_pelt"] - state["lost_idle_time"]) % 2**64


def step_options(step):
    return {name: value for name, value in step.items() if name != "delta_ns"}


@pytest.mark.parametrize("kernel", ["5.18", "6.1"])
def test_a_weight_of_zero_is_a_division_by_zero_from_5_18(kernel):
    se, cfs = pelt.initial_state(load_avg=[0, 7]), pelt.initial_state()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pelt.attach(se[0], cfs, kernel=kernel, weight=0)[0]["load_sum"] == 1
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        got, _ = pelt.attach(se, cfs, kernel=kernel, weight=0)
    assert got["load_sum"].tolist() == [1, 0]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        pelt.attach(se, cfs, kernel=kernel, weight=0)


@pytest.mark.parametrize("kernel", ["4.15", "5.7", "5.16"])
def test_a_weight_of_zero_gives_the_divider_until_5_16(kernel):
    se, cfs = pelt.initial_state(load_avg=7), pelt.initial_state(period_contrib=100)
    got, queue = pelt.attach(se, cfs, kernel=kernel, weight=0)
    assert got["load_sum"] == 47742 - 1024 + 100
    assert queue["load_sum"] == 0


def test_the_multiplier_of_time_shortens_the_half_life():
    """As many half-lives of 16 windows as twice the time has of 32."""
    clock = pelt.initial_clock_pelt([1])
    full = {"util_sum": 0, "cpu_scale": 1024, "freq_scale": 1024}
    clock = pelt.clock_pelt(
        clock,
        16 << 20,
        kernel="6.1",
        curr_is_idle=False,
        entering_idle=False,
        multiplier=[1, 2, 4],
        **full,
    )
    state, _ = pelt.update(
        pelt.initial_state(util_sum=1000 * 46718, util_avg=1000),
        pelt.rq_clock_pelt(clock),
        kernel="6.1",
        running=False,
    )
    assert state["util_avg"].tolist() == [707, 499, 249]
