# SPDX-License-Identifier: GPL-2.0-only
"""The core agrees with a slow plain twin where the known answers do not reach."""

from dataclasses import asdict, astuple

import numpy as np
import pytest
from golden import load, select
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import pelt as twin

from schedpy import pelt

KERNELS = ("4.12", "4.13", "4.14", "4.15", "5.1", "5.7")
FIELDS = (*pelt.STATE.names, "updated", "load_now", "util_now")
NOW = {"load_avg": "load_now", "runnable_avg": "runnable_now", "util_avg": "util_now"}


def version(kernel):
    return tuple(map(int, kernel.split(".")))


def arguments(kernel, entity, events):
    names = ["running", "weight"]
    if entity == "task":
        names.append("on_rq")
    elif version(kernel) >= (5, 7):
        names.append("nr_running")
    if (4, 15) <= version(kernel) < (5, 7):
        names.append("runnable_weight")
    if version(kernel) < (5, 1):
        names += ["freq_scale", "cpu_scale"]
    return {name: [getattr(event, name) for event in events] for name in names}


def twin_history(state, events, kernel, entity, table, threshold):
    history = {name: [] for name in (*FIELDS, "runnable_now")}
    for event in events:
        state, updated = twin.update(state, event, version(kernel), entity, table, threshold)
        for name, value in asdict(state).items():
            history[name].append(value)
        history["updated"].append(updated)
        for name, value in twin.averages_now(state, event, version(kernel), entity, table).items():
            history[NOW[name]].append(value)
    return history, state


def assert_same(kernel, entity, events, *, state=None, half_life=32, load_avg_max=None, threshold=0):
    state = state or twin.State()
    table = twin.tables(half_life, load_avg_max)
    has_runnable = entity == "cfs_rq" or version(kernel) >= (4, 15)
    fields = (*FIELDS, "runnable_now") if has_runnable else FIELDS
    track = pelt.track(
        [event.now for event in events],
        kernel=kernel,
        entity=entity,
        state=pelt.initial_state(**asdict(state)),
        half_life=half_life,
        load_avg_max=load_avg_max,
        update_threshold=threshold,
        fields=fields,
        **arguments(kernel, entity, events),
    )
    want, last = twin_history(state, events, kernel, entity, table, threshold)
    assert {name: track.history[name].tolist() for name in fields} == {name: want[name] for name in fields}
    assert track.state.tolist() == astuple(last)
    return track


u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
steps = st.one_of(
    st.integers(0, 4000),
    st.integers(0, 1100).map(lambda units: 1024 * units),
    st.integers(0, 10_000_000),
    st.integers(0, 2**64 - 1),
    st.integers(1, 2047).map(lambda k: k << 52),
    st.integers(-5000, -1),
)
weights = st.one_of(st.integers(0, 3), st.integers(0, 100_000), u64)
states = st.builds(
    twin.State,
    last_update_time=u64,
    load_sum=st.one_of(st.integers(0, 50_000_000), u64),
    runnable_sum=st.one_of(st.integers(0, 50_000_000), u64),
    util_sum=u32,
    period_contrib=st.integers(0, 1023),
    load_avg=u64,
    runnable_avg=u64,
    util_avg=u64,
)
scales = st.one_of(st.integers(0, 2048), u64)


@st.composite
def streams(draw):
    state = draw(states)
    now, events = state.last_update_time, []
    for _ in range(draw(st.integers(1, 12))):
        now = (now + draw(steps)) % 2**64
        events.append(
            twin.Event(
                now=now,
                running=draw(st.booleans()),
                on_rq=draw(st.booleans()),
                weight=draw(weights),
                runnable_weight=draw(weights),
                nr_running=draw(st.one_of(st.integers(0, 5), u32)),
                freq_scale=draw(scales),
                cpu_scale=draw(scales),
            )
        )
    return state, events


@given(
    stream=streams(),
    kernel=st.sampled_from(KERNELS),
    entity=st.sampled_from(("task", "cfs_rq")),
    half_life=st.one_of(st.sampled_from((8, 16, 32)), st.integers(1, 2048)),
    load_avg_max=st.one_of(st.none(), st.integers(1025, 2**22 - 1)),
    threshold=st.one_of(st.sampled_from((0, 128, 512)), st.integers(0, 1024), u64),
)
@settings(max_examples=300, deadline=None)
def test_any_stream(stream, kernel, entity, half_life, load_avg_max, threshold):
    state, events = stream
    assert_same(
        kernel,
        entity,
        events,
        state=state,
        half_life=half_life,
        load_avg_max=load_avg_max,
        threshold=threshold,
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("entity", ["task", "cfs_rq"])
def test_widths(kernel, entity):
    """util_sum wraps at 32 bits, the sums and weight * load_sum at 64."""
    full = twin.State(0, 2**64 - 1, 2**64 - 1, 2**32 - 1, 1023, 0, 0, 0)
    events = [twin.Event(1024, True, True, 2**64 - 1, 2**64 - 1, 2**32 - 1, 2**64 - 1, 2**64 - 1)]
    track = assert_same(kernel, entity, events, state=full)
    assert track.updated.tolist() == [True]
    assert int(track.util_sum[0]) < 2**32


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("units", "refreshed"), [(511, False), (512, True), (513, True)])
def test_threshold_inside_one_window(kernel, units, refreshed):
    """The comparison is `less than`, and the time that since the last update, not the window's."""
    state = twin.State(last_update_time=2**40, util_sum=20_000_000, period_contrib=7)
    event = twin.Event(2**40 + 1024 * units + 1023, running=True)
    track = assert_same(kernel, "task", [event], state=state, threshold=512)
    assert track.updated.tolist() == [refreshed]
    assert int(track.period_contrib[0]) == 7 + units
    assert bool(track.util_avg[0] == track.util_now[0]) is refreshed
    released = assert_same(kernel, "task", [event], state=state)
    assert released.updated.tolist() == [False]
    assert int(released.util_sum[0]) == int(track.util_sum[0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_threshold_never_suppresses(kernel):
    """A window that ended refreshes whatever the threshold is."""
    state = twin.State(last_update_time=2**40, util_sum=20_000_000, period_contrib=1023)
    event = twin.Event(2**40 + 1024, running=True)
    assert assert_same(kernel, "task", [event], state=state, threshold=2**64 - 1).updated.tolist() == [True]


@pytest.mark.parametrize("kernel", KERNELS)
def test_clock_backwards(kernel):
    state = twin.State(10**12, 10**6, 10**6, 10**7, 500, 20, 20, 200)
    events = [twin.Event(10**12 - 1, True), twin.Event(10**12 - 2_000_000, True), twin.Event(10**12, True)]
    track = assert_same(kernel, "task", events, state=state)
    assert track.last_update_time.tolist()[:2] == [10**12 - 1, 10**12 - 2_000_000]
    assert track.updated.tolist() == [False, False, True]
    assert track.util_sum.tolist()[:2] == [10**7, 10**7]


@pytest.mark.parametrize("kernel", KERNELS)
def test_sleep_of_2_to_the_32_windows(kernel):
    """The number of windows is returned in 32 bits: sums cleared, averages left."""
    state = twin.State(2**30, 10**6, 10**6, 10**7, 0, 20, 20, 200)
    track = assert_same(kernel, "task", [twin.Event(2**30 + 2**52, False, on_rq=False)], state=state)
    assert (track.updated.tolist(), track.util_sum.tolist(), track.util_avg.tolist()) == ([False], [0], [200])
    longer = assert_same(kernel, "task", [twin.Event(2**30 + 2**52 + 2**20, False, on_rq=False)], state=state)
    assert (longer.updated.tolist(), longer.util_avg.tolist()) == ([True], [0])


@pytest.mark.parametrize("half_life", [1, 2, 8, 16, 31, 32, 33, 100, 2048])
def test_pieces_of_any_half_life(half_life):
    table = twin.tables(half_life)
    n = sorted(
        {0, 1, half_life - 1, half_life, half_life + 1, 63 * half_life, 63 * half_life + 1, 2**32, 2**64 - 1}
    )
    for val in (0, 1, 1024, 2**32 - 1, 2**32, 2**32 + 1, 2**64 - 1):
        got = pelt.decay_load(val, n, kernel="4.12", half_life=half_life).tolist()
        assert got == [twin.decay(val, each, table) for each in n]
    for d1, d3 in ((1, 0), (1024, 1023), (0, 2**32 - 1)):
        got = pelt.accumulate_segments(n, d1, d3, half_life=half_life).tolist()
        assert got == [twin.segments(each, d1, d3, table) for each in n]
    assert pelt.constants(half_life).load_avg_max == table.load_avg_max


def test_zero_windows_take_one_off():
    """4.12 dropped the exit for n == 0, and the table's first entry is 2^32 - 1."""
    assert pelt.decay_load([0, 1, 1024, 2**32, 2**32 + 1], 0, kernel="4.12").tolist() == [
        0,
        0,
        1023,
        2**32 - 1,
        2**32 - 1,
    ]
    assert pelt.decay_load([1, 1024], 0, kernel="4.11").tolist() == [1, 1024]


def test_twin_gives_the_known_answers():
    """The twin stands on the same ground: a stream of each kind of every variant."""
    events, starts = load("pelt/events_in"), load("pelt/streams")
    names = pelt.STATE.names
    variants = {"P412": "4.12", "P413": "4.13", "P414": "4.14", "P415": "4.15", "P51": "5.1", "P61": "5.7"}
    for variant, kernel in variants.items():
        answers = load(f"pelt/events_{variant}")
        for stream in (6, 12, 14, 19, 24, 28, 29, 55, 56, 60):
            given, want = select(events, stream=stream), select(answers, stream=stream)
            state = twin.State(*(int(starts[f"init_{name}"][stream]) for name in names))
            for i in range(given["step"].size):
                row = {name: int(given[name][i]) for name in given if name != "label"}
                event = twin.Event(
                    now=row["now_ns"],
                    running=bool(row["running"]),
                    on_rq=bool(row["on_rq"]),
                    weight=row["weight"],
                    runnable_weight=row["rweight"],
                    nr_running=row["nr"],
                    freq_scale=row["scale_freq"],
                    cpu_scale=row["scale_cpu"],
                )
                kind = str(starts["kind"][stream])
                state, updated = twin.update(state, event, version(kernel), kind, twin.tables(32))
                assert astuple(state) == tuple(int(want[name][i]) for name in names), (variant, stream, i)
                assert updated == want["ret"][i]
    assert np.unique(starts["kind"]).tolist() == ["cfs_rq", "task"]
