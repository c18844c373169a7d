# SPDX-License-Identifier: GPL-2.0-only
"""The governors against their plain twins: any table, any idles, any states switched off."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import cpuidle as plain

from schedpy import cpuidle

S64, U32 = 2**63, 2**32
#: governor, kernel -> how its twin is made from a table and the length of a tick, and what both show.
MENU = ("predicted", "bucket", "correction_factor_of_bucket", "typical_interval_us")
TEO = ("predicted", "total", "hits", "intercepts")
GOVERNORS = {
    ("menu", "4.7"): (lambda table, tick: plain.MenuV47(table), MENU),
    ("menu", "6.1"): (plain.MenuV61, ("stop_tick", *MENU)),
    ("menu", "6.19"): (plain.MenuV619, ("stop_tick", *MENU)),
    ("teo", "6.1"): (plain.TeoV61, ("stop_tick", *TEO)),
    ("teo", "6.19"): (plain.TeoV619, ("stop_tick", *TEO)),
    ("ladder", "4.7"): (lambda table, tick: plain.LadderV47(table), ()),
    ("ladder", "6.1"): (lambda table, tick: plain.LadderV61(table), ()),
    ("ladder", "6.19"): (lambda table, tick: plain.LadderV61(table), ()),
    ("haltpoll", "6.1"): (lambda table, tick: plain.Haltpoll(table), ("poll_limit_ns",)),
    ("haltpoll", "6.19"): (lambda table, tick: plain.Haltpoll(table), ("poll_limit_ns",)),
}
each_governor = pytest.mark.parametrize(("governor", "kernel"), GOVERNORS)


def shown(twin, field):
    """What a twin shows under the name of a field."""
    under_another_name = {
        "intercepts": lambda: twin.icpt,
        "poll_limit_ns": lambda: twin.limit,
        "correction_factor_of_bucket": lambda: twin.cf[twin.bucket],
        "typical_interval_us": lambda: twin.typical(),
    }
    return under_another_name.get(field, lambda: getattr(twin, field))()


def lengths(thresholds):
    """Times in ns: of every magnitude, near what the governor compares with, and at the ends."""
    near = st.sampled_from(thresholds) if thresholds else st.just(0)
    return st.one_of(
        st.integers(0, 30_000),
        st.builds(lambda exponent, fine: (1 << exponent) + fine, st.integers(8, 33), st.integers(0, 255)),
        st.builds(lambda threshold, off: threshold + off, near, st.integers(-3, 3)),
        st.sampled_from([-S64, -1, 0, 1, 1000 * U32, 1000 * U32 - 1, 2**51, S64 - 1]),
    )


def compared_with(latency, residency, tick):
    """Lengths in ns that a governor compares with, or that become one of them less an exit latency."""
    middles = [(a + b) * 500 for a, b in pairwise(residency)]
    fixed = [15_000, 20_000, 50_000, 200_000, 45 * 10**6, 50 * 10**6, tick, tick // 2]
    of_the_table = [1000 * x for x in (*latency, *residency)] + middles
    exits = [0, *(500 * x for x in latency), *(1000 * x for x in latency)]
    plain_sums = {length + left for length in (*fixed, *of_the_table) for left in exits}
    return sorted(length for length in plain_sums if length < S64)


@st.composite
def cases(draw, governor, kernel):
    """The arguments of one run: a table, flags for its states, and some idles."""
    n = draw(st.integers(2 if governor == "haltpoll" else 1, 10))
    us = st.one_of(st.integers(0, 5000), st.sampled_from([0, 1, 14, 15, 16, 20, 4000, 10_000, U32 - 1]))
    latency, residency = (draw(st.lists(us, min_size=n, max_size=n)) for _ in range(2))
    if draw(st.booleans()):
        latency, residency = sorted(latency), sorted(residency)
    polling = [draw(st.booleans()), *draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))]
    first = draw(st.integers(0, min(1, n - 1)))
    table = cpuidle.IdleTable(
        [f"state {i}" for i in range(n)],
        exit_latency_us=latency,
        target_residency_us=residency,
        polling=polling,
        first=first,
    )
    off = st.booleans() if draw(st.booleans()) else st.just(False)
    given = {} if governor == "haltpoll" else {"disabled": draw(st.lists(off, min_size=n, max_size=n))}
    hz = draw(st.sampled_from([100, 250, 300, 1000]))
    thresholds = compared_with(latency, residency, (10**9 + hz // 2) // hz)

    idles = draw(st.integers(1, 40))

    def column(entries):
        return draw(st.lists(entries, min_size=idles, max_size=idles))

    few = draw(st.lists(st.sampled_from(thresholds), max_size=3))
    given["sleep_ns"] = column(lengths(draw(st.sampled_from([few, thresholds]))))
    which = draw(st.sampled_from(["wake_ns", "measured_ns", "the timer"]))
    if which != "the timer":
        given[which] = column(lengths(draw(st.sampled_from([few, thresholds]))))
    given["latency_us"] = column(st.sampled_from(sorted({0, 1, *latency, 2**31 - 1} - {U32 - 1})))
    unlimited = draw(st.booleans())
    if unlimited:
        given["latency_us"] = [2_000_000_000] * idles
    conversions = ["div1000", "shr10"] + ["ns"] * (kernel != "4.7")
    given["residency"] = draw(st.sampled_from(conversions))
    if governor == "haltpoll":
        given["poll_time_limit"] = column(st.booleans())
    if governor in ("menu", "teo") and kernel != "4.7":
        given["hz"] = hz
        given["delta_tick_ns"] = column(st.one_of(st.integers(0, 10**7), lengths(thresholds)))
        stopped = st.booleans() if draw(st.booleans()) else st.just(draw(st.booleans()))
        given["tick_stopped"] = column(stopped)
        given["got_tick"] = column(st.booleans())
        given["poll_time_limit"] = column(st.booleans())
    if governor == "menu" and kernel != "6.19":
        given["nr_iowaiters"] = column(st.sampled_from([0, 0, 0, 1, 2, 10**8]))
    if (governor, kernel) == ("menu", "4.7"):
        given["cpu_load"] = column(st.sampled_from([0, 0, 204, 205, 2048, 5000, 2**36]))
    return table, given


def twin_of(governor, kernel, table, given):
    rows = zip(
        table.exit_latency_us.tolist(),
        table.target_residency_us.tolist(),
        table.polling.tolist(),
        strict=True,
    )
    unit = 1 if kernel == "4.7" else 1000
    tick = (10**9 + given.get("hz", 250) // 2) // given.get("hz", 250)
    return GOVERNORS[governor, kernel][0](
        plain.Table.of(rows, table.first, unit, given.get("disabled", ())), tick
    )


def idle_of(given, k):
    def entry(name, default):
        return given[name][k] if name in given else default

    return plain.Idle(
        sleep=entry("sleep_ns", 0),
        latency=given["latency_us"][k],
        nr_io=entry("nr_iowaiters", 0),
        load=entry("cpu_load", 0),
        delta_tick=entry("delta_tick_ns", 0),
        tick_stopped=entry("tick_stopped", False),
        got_tick=entry("got_tick", False),
        poll_time_limit=entry("poll_time_limit", False),
    )


def by_twin(governor, kernel, table, given):
    """Field -> list, as the plain twin has it."""
    twin = twin_of(governor, kernel, table, given)
    fields = GOVERNORS[governor, kernel][1]
    residency_of = plain.residency_us if kernel == "4.7" else plain.residency_ns
    told = f"last_residency_{'us' if kernel == '4.7' else 'ns'}"
    answer = {name: [] for name in ("selected", *fields, "measured_ns", told)}
    for k in range(len(given["latency_us"])):
        idle = idle_of(given, k)
        selected = twin.select(idle)
        if "measured_ns" in given:
            measured = given["measured_ns"][k]
        else:
            wake = given.get("wake_ns", given.get("sleep_ns"))[k]
            measured = plain.signed(wake + int(table.exit_latency_us[selected]) * 1000)
        residency = residency_of(measured, given["residency"])
        answer["selected"].append(selected)
        for name in fields:
            value = shown(twin, name)
            answer[name].append(list(value) if isinstance(value, list) else value)
        answer["measured_ns"].append(measured)
        answer[told].append(residency)
        twin.reflect(idle, selected, measured, residency)
    return answer


@each_governor
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_runs_equal_the_twin(governor, kernel, data):
    table, given = data.draw(cases(governor, kernel))
    expected = by_twin(governor, kernel, table, given)
    choices = cpuidle.run(table, kernel=kernel, governor=governor, fields=tuple(expected), **given)
    for name, column in expected.items():
        assert getattr(choices, name).tolist() == column, name


#: Times in us that tables and idles share, so that everything that is compared is often equal: the ends of
#: buckets and bins, a tick of 4 ms, what is short or long to a governor, and halves of these.
GRID = [
    0,
    1,
    5,
    7,
    10,
    14,
    15,
    16,
    20,
    30,
    50,
    100,
    200,
    400,
    1000,
    2000,
    3000,
    4000,
    5000,
    6000,
    8000,
    45_000,
]


def on_the_grid(rng, governor, kernel):
    """A table and a stream whose times are few and the same."""

    def few(choices, size):
        return rng.choice(rng.choice(choices, rng.integers(1, 4)), size).tolist()

    n, idles = int(rng.integers(2, 7)), 50
    latency, residency = sorted(few(GRID, n)), sorted(rng.choice(GRID, n).tolist())
    table = cpuidle.IdleTable(
        [f"state {i}" for i in range(n)],
        exit_latency_us=latency,
        target_residency_us=residency,
        polling=rng.random(n) < 0.2,
        first=int(rng.integers(2)),
    )
    in_ns = [1000 * us for us in (*GRID, *residency, *residency, *latency)]
    given = {"residency": "div1000", "sleep_ns": few(in_ns, idles)}
    given["measured_ns"] = few([a + 1000 * b for a in in_ns for b in (0, *latency)], idles)
    given["latency_us"] = few([*latency, 2_000_000_000, 2_000_000_000], idles)
    if governor != "haltpoll":
        given["disabled"] = (rng.random(n) < rng.choice([0, 0, 0.3])).tolist()
    if governor == "haltpoll" or (governor in ("menu", "teo") and kernel != "4.7"):
        given["poll_time_limit"] = (rng.random(idles) < 0.2).tolist()
    if governor in ("menu", "teo") and kernel != "4.7":
        given["hz"] = 250
        given["delta_tick_ns"] = few(in_ns, idles)
        given["tick_stopped"] = (rng.random(idles) < rng.choice([0, 0.5, 1])).tolist()
        given["got_tick"] = (rng.random(idles) < rng.choice([0, 0.1, 0.7])).tolist()
    return table, given


@each_governor
def test_borders_equal_the_twin(governor, kernel):
    rng = np.random.default_rng(6)
    for _ in range(800):
        table, given = on_the_grid(rng, governor, kernel)
        expected = by_twin(governor, kernel, table, given)
        choices = cpuidle.run(table, kernel=kernel, governor=governor, fields=tuple(expected), **given)
        for name, column in expected.items():
            assert getattr(choices, name).tolist() == column, (name, table, given)


@each_governor
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_pieces_equal_the_whole(governor, kernel, data):
    table, given = data.draw(cases(governor, kernel))
    per_idle = {name: value for name, value in given.items() if name not in ("disabled", "residency", "hz")}
    n = len(given["latency_us"])
    cut = data.draw(st.integers(0, n))
    how = {"kernel": kernel, "governor": governor}
    whole = cpuidle.run(table, **how, **given)
    first = cpuidle.run(table, **how, **given | {name: value[:cut] for name, value in per_idle.items()})
    kept = first.state.copy()
    second = cpuidle.run(
        table, **how, state=first.state, **given | {name: value[cut:] for name, value in per_idle.items()}
    )
    for name, column in whole.history.items():
        assert np.concatenate([first.history[name], second.history[name]]).tolist() == column.tolist()
    assert second.state == whole.state
    assert first.state == kept


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.integers(0, 60),
            st.integers(900, 1100),
            st.integers(0, U32 - 1),
            st.sampled_from([0, 2**31 - 1, 2**31, U32 - 1]),
        ),
        min_size=8,
        max_size=8,
    ),
    st.one_of(st.integers(0, 2000), st.just(U32 - 1)),
)
def test_typical_intervals_equal_the_twin(intervals, predicted_us):
    assert cpuidle.get_typical_interval(intervals, kernel="4.7") == plain.typical_v4_7(intervals)
    assert cpuidle.get_typical_interval(intervals, kernel="6.19") == plain.typical_v6_19(intervals)
    ours = cpuidle.get_typical_interval(intervals, kernel="6.1", predicted_us=predicted_us)
    assert ours == plain.typical_v6_1(intervals, predicted_us)
