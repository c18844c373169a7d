# SPDX-License-Identifier: GPL-2.0-only
"""The core agrees with a slow plain twin where the known answers do not reach."""

from dataclasses import astuple

import numpy as np
import pytest
from golden import load, select
from hypothesis import given, settings
from hypothesis import strategies as st
from pelt_twin import KERNELS, SINCE_4_12, SINCE_4_19, WITH_UTIL, assert_same, version
from reference import pelt as twin

from schedpy import pelt

CASES = [
    *((kernel, "task", 64) for kernel in KERNELS),
    *((kernel, "cfs_rq", 64) for kernel in WITH_UTIL),
    *((kernel, entity, 64) for kernel in SINCE_4_19 for entity in ("rt", "dl", "irq")),
    *((kernel, entity, 32) for kernel in ("4.13", "4.15", "5.7") for entity in ("task", "cfs_rq")),
    *((kernel, entity, 32) for kernel in ("4.19", "5.7") for entity in ("rt", "dl", "irq")),
]

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


def longs(bits):
    return st.integers(0, 2**bits - 1)


@st.composite
def states(draw, kernel, bits):
    sums = st.one_of(st.integers(0, 50_000_000), u32 if version(kernel) < (4, 3) else u64)
    return twin.State(
        last_update_time=draw(u64),
        load_sum=draw(sums),
        runnable_sum=draw(sums),
        util_sum=draw(u32),
        period_contrib=draw(st.integers(0, 1023)),
        load_avg=draw(longs(bits)),
        runnable_avg=draw(longs(bits)),
        util_avg=draw(longs(bits)),
    )


@st.composite
def streams(draw, kernel, bits):
    state = draw(states(kernel, bits))
    weights = st.one_of(st.integers(0, 3), st.integers(0, 100_000), longs(bits))
    scales = st.one_of(st.integers(0, 2048), longs(bits))
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
                irq_time=draw(st.one_of(st.integers(0, 5_000_000), u64)),
            )
        )
    return state, events


@given(
    data=st.data(),
    case=st.sampled_from(CASES),
    half_life=st.one_of(st.sampled_from((8, 16, 32)), st.integers(1, 2048)),
    load_avg_max=st.one_of(st.none(), st.integers(1025, 2**22 - 1)),
    threshold=st.one_of(st.sampled_from((0, 128, 512)), st.integers(0, 1024), u64),
)
@settings(max_examples=600, deadline=None)
def test_any_stream(data, case, half_life, load_avg_max, threshold):
    kernel, entity, bits = case
    state, events = data.draw(streams(kernel, bits))
    options = {"half_life": half_life, "load_avg_max": load_avg_max, "threshold": threshold}
    if version(kernel) < (4, 12):
        options = {}
    assert_same(kernel, entity, events, state=state, long_bits=bits, **options)


@pytest.mark.parametrize(("kernel", "entity", "bits"), CASES)
def test_widths(kernel, entity, bits):
    """The fullest state and event that there can be, where every width shows."""
    highest, of_sums = 2**bits - 1, 2**32 - 1 if kernel == "3.8" else 2**64 - 1
    full = twin.State(0, of_sums, of_sums, 2**32 - 1, 1023, 0, 0, 0)
    event = twin.Event(1024, True, True, highest, highest, 2**32 - 1, highest, highest, 2**64 - 1)
    track = assert_same(kernel, entity, [event], state=full, long_bits=bits)
    assert track.updated.tolist() == [True]
    assert int(track.state["util_sum"]) < 2**32


@pytest.mark.parametrize("kernel", SINCE_4_12)
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


@pytest.mark.parametrize("kernel", SINCE_4_12)
def test_threshold_never_suppresses(kernel):
    """A window that ended refreshes whatever the threshold is."""
    state = twin.State(last_update_time=2**40, util_sum=20_000_000, period_contrib=1023)
    event = twin.Event(2**40 + 1024, running=True)
    assert assert_same(kernel, "task", [event], state=state, threshold=2**64 - 1).updated.tolist() == [True]


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


@pytest.mark.parametrize("kernel", ["3.8", "4.6", "4.7", "4.11"])
def test_compute_runnable_contrib(kernel):
    n = [*range(700), 2**32, 2**32 + 1, 2**64 - 1]
    want = [twin.contrib_of_windows(each, version(kernel)) for each in n]
    assert pelt.compute_runnable_contrib(n, kernel=kernel).tolist() == want


def test_twin_gives_the_known_answers():
    """The twin stands on the same ground: a stream of each kind of every variant."""
    events, starts = load("pelt/events_in"), load("pelt/streams")
    names = pelt.STATE.names
    variants = {
        "P38": ("3.8", 64),
        "P43": ("4.3", 64),
        "P44": ("4.4", 64),
        "P47": ("4.7", 64),
        "P412": ("4.12", 64),
        "P413": ("4.13", 64),
        "P414": ("4.14", 64),
        "P415": ("4.15", 64),
        "P51": ("5.1", 64),
        "P61": ("5.7", 64),
        "P413_32bit": ("4.13", 32),
        "P415_32bit": ("4.15", 32),
        "P61_32bit": ("5.7", 32),
    }
    for variant, (kernel, bits) in variants.items():
        answers = load(f"pelt/events_{variant}")
        for stream in (6, 12, 14, 19, 24, 28, 29, 49, 55, 56, 60):
            kind = str(starts["kind"][stream])
            if variant == "P38" and kind == "cfs_rq":
                continue
            given, want = select(events, stream=stream), select(answers, stream=stream)
            state = twin.State(*(int(starts[f"init_{name}"][stream]) for name in names))
            if variant == "P38":
                load_sum = min(state.load_sum, 47742)
                state = twin.State(state.last_update_time, load_sum, 47230, load_avg=state.load_avg)
            rule = twin.Kernel(version(kernel), kind, long_bits=bits)
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
                state, updated = twin.update(state, event, rule)
                assert astuple(state) == tuple(int(want[name][i]) for name in names), (variant, stream, i)
                assert updated == want["ret"][i]
    assert np.unique(starts["kind"]).tolist() == ["cfs_rq", "task"]
