# SPDX-License-Identifier: GPL-2.0-only
"""Every path of the update gives the same bits, averages and sums.

Averages hide errors of a sum's last bits, so states are compared; and a sum forgets, so they are compared
after a few events.
"""

import numpy as np
import pytest
from golden import load
from reference import pelt as twin

from schedpy import _core, pelt

FIELDS = pelt.STATE.names
HISTORY = (*FIELDS, "load_now", "runnable_now", "util_now", "updated")
FORMS = ("v4_12", "v4_13", "v4_14", "v4_15", "v5_1", "v5_7")
PATHS = _core.paths()


# rows -> form, half-life, load_avg_max
VARIANTS = {
    "P412": ("v4_12", 32, 47742),
    "P413": ("v4_13", 32, 47742),
    "P414": ("v4_14", 32, 47742),
    "P415": ("v4_15", 32, 47742),
    "P51": ("v5_1", 32, 47742),
    "P61": ("v5_7", 32, 47742),
    "P612H16": ("v5_7", 16, 24130),
    "P612H8": ("v5_7", 8, 12326),
    "P612A16": ("v5_7", 16, 24152),
    "P612A8": ("v5_7", 8, 12337),
}


def track(path, form, state, columns, fields, half_life=32, load_avg_max=47742):
    """The C method by a given path: history of the fields, states after the last event."""
    shape = columns[0].shape
    rows = state.copy().view(np.uint64).reshape(*shape[:-1], 8)
    columns = tuple(np.broadcast_to(column, shape) for column in columns)
    history = {name: np.full(shape, 2**64 - 1, np.uint64) for name in fields}
    getattr(_core, f"pelt_track_task_{form}")(
        rows,
        columns,
        tuple(history.get(name) for name in HISTORY),
        pelt.constants(half_life).inverse.astype(np.uint32),
        load_avg_max,
        0,
        None,
        path,
    )
    return history, rows


def task_rows(variant):
    """Rows of the tasks' streams: events as columns, state before, state after."""
    events, answers, streams = load("pelt/events_in"), load(f"pelt/events_{variant}"), load("pelt/streams")
    after = np.zeros(events["stream"].size, pelt.STATE)
    for name in FIELDS:
        after[name] = answers[name]
    before = np.roll(after, 1)
    first = np.flatnonzero(events["step"] == 0)
    for name in FIELDS:
        before[name][first] = streams[f"init_{name}"]
    tasks = np.isin(events["stream"], streams["stream"][streams["kind"] == "task"])
    columns = [
        events[name][tasks].astype(np.uint64)
        for name in ("now_ns", "weight", "rweight", "scale_freq", "scale_cpu")
    ] + [events[name][tasks].astype(bool) for name in ("running", "on_rq")]
    return events["stream"][tasks], columns, before[tasks], after[tasks]


def sliding(column, n):
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(column, n))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_known_answers(variant, path):
    """Every n consecutive rows as a stream of its own: each row's sums are the end of one."""
    form, *constants = VARIANTS[variant]
    stream, columns, before, after = task_rows(variant)
    for n in (8, 13, 32):
        inside = stream[: 1 - n] == stream[n - 1 :]
        given = [sliding(column, n)[inside] for column in columns]
        start, end = before[: 1 - n][inside], after[n - 1 :][inside]
        for fields in (("util_avg",), ("util_avg", "load_avg")):
            history, rows = track(path, form, start, given, fields, *constants)
            for name in fields:
                wrong = np.argwhere(history[name] != sliding(after[name], n)[inside])
                assert wrong.size == 0, f"{name} of {variant} by {path}: {len(wrong)}, first {wrong[0]}"
            for i, name in enumerate(FIELDS):
                wrong = np.flatnonzero(rows[:, i] != end[name])
                assert wrong.size == 0, f"{name} of {variant} by {path}: {len(wrong)} ends, first {wrong[0]}"
        assert inside.sum() > 6000


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_known_answers_in_one_call(variant, path):
    form, *constants = VARIANTS[variant]
    stream, columns, before, after = task_rows(variant)
    for number in np.unique(stream):
        rows = np.flatnonzero(stream == number)
        given = [np.ascontiguousarray(column[rows])[np.newaxis] for column in columns]
        history, end = track(path, form, before[rows[:1]], given, ("util_avg", "load_avg"), *constants)
        assert np.array_equal(history["util_avg"][0], after["util_avg"][rows])
        assert np.array_equal(history["load_avg"][0], after["load_avg"][rows])
        assert end[0].tolist() == list(after[rows[-1]].tolist())


DELTAS = {
    "ticks": lambda rng, shape: rng.integers(10**6, 4 * 10**6, shape),
    "below a us": lambda rng, shape: rng.integers(0, 1500, shape),
    "below a window": lambda rng, shape: rng.integers(0, 1_100_000, shape),
    "at a window's end": lambda rng, shape: (
        2**20 * rng.integers(0, 3, shape) + rng.integers(-1, 2, shape) * 1024
    ),
    "about a half-life": lambda rng, shape: (
        2**20 * rng.integers(30, 35, shape) + rng.integers(-2048, 2048, shape)
    ),
    "long": lambda rng, shape: 2 ** rng.integers(0, 52, shape),
    "about what decays to nothing": lambda rng, shape: 2**20 * rng.integers(2010, 2020, shape),
    "backwards": lambda rng, shape: rng.integers(-3000, 10**6, shape),
    "about the limit": lambda rng, shape: (
        (1 << rng.integers(49, 55, shape)) + rng.integers(-2048, 2048, shape)
    ),
}


def random_clock(rng, start, n):
    """A kind of delta for every eight streams, which are lanes; the rarer kinds now and then."""
    count = start.size
    kinds = list(DELTAS)
    usual = rng.choice(kinds[:5], -(-count // 8)).repeat(8)[:count]
    deltas = np.empty((count, n), np.int64)
    for kind in kinds[:5]:
        of_kind = usual == kind
        deltas[of_kind] = DELTAS[kind](rng, (of_kind.sum(), n))
    for kind in kinds[5:]:
        where = (rng.random((count, 1)) < 0.2) & (rng.random((count, n)) < 0.1)
        deltas[where] = DELTAS[kind](rng, where.sum())
    return start[:, np.newaxis] + np.cumsum(deltas, axis=1).astype(np.uint64)


def random_states(rng, count):
    """Ordinary ones, ones near the limits of 31, 32 and 64 bits, and equal sums."""
    state = np.zeros(count, pelt.STATE)
    state["last_update_time"] = rng.integers(2**40, 2**41, count)
    state["load_sum"] = rng.integers(0, 48000, count)
    state["util_sum"] = rng.integers(0, 48000 << 10, count)
    state["runnable_sum"] = rng.integers(0, 48000 << 10, count)
    state["period_contrib"] = rng.integers(0, 1024, count)
    for name in ("load_avg", "runnable_avg", "util_avg"):
        state[name] = rng.integers(0, 1025, count)
    for name in ("load_sum", "runnable_sum", "util_sum"):
        for bits in (31, 32, 52, 63):
            near = rng.random(count) < 0.01
            limit = 2 ** min(bits, 32) - 3000 if name == "util_sum" else 2**bits - 1500
            state[name][near] = limit + rng.integers(0, 3000, near.sum())
    state["last_update_time"][rng.random(count) < 0.02] = 2**64 - 2**21
    alike = rng.random(count) < 0.3
    state["runnable_sum"][alike] = state["util_sum"][alike]
    alike = rng.random(count) < 0.3
    state["runnable_sum"][alike] = state["load_sum"][alike]
    state[: count // 3] = 0
    state["last_update_time"][: count // 3] = 2**40
    return state


def random_columns(rng, state, n):
    count = state.size
    weights = rng.choice([0, 2, 3, 15, 1024, 88761, 2**20 - 1], (count, n)).astype(np.uint64)
    weights[rng.random((count, n)) < 0.003] = 2**20
    weights[rng.random((count, n)) < 0.001] = 2**63 + 5
    scales = rng.integers(0, 1025, (2, count, n)).astype(np.uint64)
    scales[rng.random(scales.shape) < 0.003] = 2047
    scales[rng.random(scales.shape) < 0.003] = 2048
    scales[rng.random(scales.shape) < 0.001] = 2**64 - 2
    flags = rng.random((2, count, n)) < 0.6
    return [random_clock(rng, state["last_update_time"], n), weights, weights[::-1].copy(), *scales, *flags]


def once(columns, which):
    """The first entry of these columns for all events."""
    columns = list(columns)
    for i in which:
        columns[i] = columns[i][:, :1]
    return columns


ONCE = {"none": (), "weight": (1, 2), "scales": (3, 4), "all": (1, 2, 3, 4), "flags": (5, 6), "running": (5,)}


#: So many fields are not for lanes: the plain function of pelt.h gives them.
PLAIN = pelt.STATE.names


def assert_paths_agree(form, state, columns, fields, *constants):
    want, end = track(None, form, state, columns, PLAIN, *constants)
    for path in PATHS:
        history, rows = track(path, form, state, columns, fields, *constants)
        for name in fields:
            assert np.array_equal(history[name], want[name]), (path, form, name)
        for i, name in enumerate(FIELDS):
            wrong = np.flatnonzero(rows[:, i] != end[:, i])
            assert wrong.size == 0, (
                f"{name} of {form} by {path}: {len(wrong)} of {len(rows)}, first {wrong[0]}"
            )


#: Whole blocks of every path, which are up to 32 events, and some left over.
LENGTHS = (*range(8, 25), 32, 33, 71)


@pytest.mark.parametrize("kept", ONCE)
@pytest.mark.parametrize("form", FORMS)
def test_short_random_streams(form, kept):
    rng = np.random.default_rng([FORMS.index(form), list(ONCE).index(kept)])
    for n in LENGTHS:
        state = random_states(rng, 161)
        columns = once(random_columns(rng, state, n), ONCE[kept])
        assert_paths_agree(form, state, columns, ("util_avg",))
        assert_paths_agree(form, state, columns, ("util_avg", "load_avg"))


@pytest.mark.parametrize("form", FORMS)
def test_queued_when_running(form):
    """on_rq is the very array of running, full scale, one weight: the common call has code of its own."""
    rng = np.random.default_rng(5)
    for n in LENGTHS:
        state = random_states(rng, 161)
        now, weight, *_ = random_columns(rng, state, n)
        flags, full = rng.random(now.shape) < 0.5, np.full((1, 1), 1024, np.uint64)
        for same in (flags, flags[:, :1]):
            columns = [now, weight[:, :1] % 2**20, full, full, full, same, same]
            assert_paths_agree(form, state, columns, ("util_avg",))
            assert_paths_agree(form, state, columns, ("util_avg", "load_avg"))


@pytest.mark.parametrize("half_life", [1, 2, 4, 8, 16, 32, 5, 64])
@pytest.mark.parametrize("load_avg_max", [None, 1025, 2048, 11263, 11264, 63487, 63488, 2**22 - 1])
def test_other_half_lives(half_life, load_avg_max):
    rng = np.random.default_rng(half_life)
    highest = load_avg_max or max(1025, pelt.constants(half_life).load_avg_max)
    for form in ("v4_13", "v5_7"):
        state = random_states(rng, 96)
        columns = once(random_columns(rng, state, 40), ONCE["weight"])
        assert_paths_agree(form, state, columns, ("util_avg", "load_avg"), half_life, highest)


def test_one_long_stream():
    """One stream alone is cut into pieces; a clock that goes backwards, or always running, may spoil them."""
    rng = np.random.default_rng(23)
    n = 40_000
    for kind in ("ticks", "below a window", "long", "about a half-life"):
        for form in ("v4_13", "v4_15", "v5_7"):
            state = random_states(rng, 8)[5:6]
            columns = random_columns(rng, state, n)
            columns[1:3] = [np.full((1, 1), 1024, np.uint64)] * 2
            columns[3:5] = [np.full((1, 1), 1000, np.uint64)] * 2
            start = state["last_update_time"][:, np.newaxis] % 2**50
            state["last_update_time"] = start[:, 0]
            columns[0] = start + np.cumsum(DELTAS[kind](rng, (1, n)).astype(np.uint64) % 2**40, axis=1)
            assert_paths_agree(form, state, columns, ("util_avg", "load_avg"))
            columns[0][:, n // 2 :] -= np.uint64(5_000_777)
            assert_paths_agree(form, state, columns, ("util_avg", "load_avg"))
    grid = 2**40 + 2**20 * np.arange(n, dtype=np.uint64)[np.newaxis]
    full, on = np.full((1, 1), 1024, np.uint64), np.ones((1, 1), bool)
    for util_sum in (0, 48_000 << 10):
        state = pelt.initial_state(1, last_update_time=2**40, util_sum=util_sum, runnable_sum=util_sum)
        assert_paths_agree("v5_7", state, [grid, full, full, full, full, on, on], ("util_avg",))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("entities", [1, 3, 64])
def test_interleaved(form, entities):
    """Many entities in one stream, by the function for util_avg alone and by the one for all fields."""
    rng = np.random.default_rng(entities)
    for half_life in (32, 8, 5):
        state = random_states(rng, 64)[-entities:]
        state["last_update_time"] = 2**40
        now, *columns = random_columns(rng, random_states(rng, 1), 3000)
        now = 2**40 + np.cumsum(2 ** rng.integers(5, 29, now.shape) + 2**21, axis=1).astype(np.uint64)
        rare = rng.random(now.shape) < 0.01
        now[rare] += rng.integers(-(2**23), 2**44, rare.sum()).astype(np.uint64)
        columns = [now[0], *(column[0] for column in columns)]
        index = rng.integers(0, entities, now.size).astype(np.uint64)
        plain = [state.copy().view(np.uint64).reshape(-1, 8) for _ in range(2)]
        outputs = np.empty((2, now.size), np.uint64)
        constants = pelt.constants(half_life)
        for rows, util_avg, updated in zip(plain, outputs, (None, np.empty(now.size, bool)), strict=True):
            wanted = {"util_avg": util_avg, "updated": updated}
            getattr(_core, f"pelt_track_task_{form}")(
                rows,
                tuple(columns),
                tuple(wanted.get(name) for name in HISTORY),
                constants.inverse.astype(np.uint32),
                constants.load_avg_max,
                0,
                index,
            )
        assert np.array_equal(outputs[0], outputs[1])
        assert plain[0].tolist() == plain[1].tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 15, 17])
@pytest.mark.parametrize("n", [1, 3, 4, 7, 8, 9, 31])
def test_any_number_of_streams_and_events(count, n):
    rng = np.random.default_rng(count * 100 + n)
    state = random_states(rng, count)
    assert_paths_agree("v5_7", state, random_columns(rng, state, n), ("util_avg", "load_avg"))


def test_bytes_that_are_no_bools():
    """A bool column may be a view of other bytes: anything but zero is true."""
    rng = np.random.default_rng(11)
    state = random_states(rng, 64)
    columns = random_columns(rng, state, 24)
    plain, _ = track(PATHS[-1], "v5_7", state, columns, ("util_avg",))
    columns[5:] = [
        (column * rng.integers(1, 256, column.shape).astype(np.uint8)).view(bool) for column in columns[5:]
    ]
    odd, _ = track(PATHS[-1], "v5_7", state, columns, ("util_avg",))
    assert np.array_equal(plain["util_avg"], odd["util_avg"])
    assert_paths_agree("v5_7", state, columns, ("util_avg", "load_avg"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("form", FORMS)
def test_against_the_twin(form, path):
    """Sums after every event: each prefix of a stream is a call."""
    rng = np.random.default_rng(17)
    state = random_states(rng, 24)
    columns = random_columns(rng, state, 24)
    kernel = twin.Kernel(tuple(map(int, form[1:].split("_"))))
    want = [twin.State(*map(int, row.tolist())) for row in state]
    for n in range(24):
        for s in range(24):
            now, weight, rweight, freq, cpu, running, on_rq = (column[s, n].item() for column in columns)
            event = twin.Event(now, running, on_rq, weight, rweight, 1, freq, cpu)
            want[s], _ = twin.update(want[s], event, kernel)
        prefix = [np.ascontiguousarray(column[:, : n + 1]) for column in columns]
        _, rows = track(path, form, state, prefix, ("util_avg",))
        assert rows.tolist() == [[getattr(w, name) for name in FIELDS] for w in want]


def test_any_layout_by_the_face():
    """Columns with gaps, turned axes, other orders, a clock for all streams: as contiguous ones."""
    rng = np.random.default_rng(3)
    state = random_states(rng, 40)
    columns = random_columns(rng, state, 64)
    now, running = columns[0], columns[5]

    def face(now, running, state=state):
        return pelt.track(now, kernel="6.1", running=running, state=state, fields=("util_avg", "load_avg"))

    def same(a, b):
        return (
            all(np.array_equal(a.history[f], b.history[f]) for f in a.history) and (a.state == b.state).all()
        )

    want = face(now, running)
    spread = np.zeros((40, 128), np.uint64)
    spread[:, ::2] = now
    assert same(face(spread[:, ::2], running), want)
    assert same(face(np.asfortranarray(now), np.asfortranarray(running)), want)
    assert same(face(now[::-1][::-1], running), want)
    cube = face(now.reshape(5, 8, 64), running.reshape(5, 8, 64), state.reshape(5, 8))
    assert np.array_equal(cube.util_avg.reshape(40, 64), want.util_avg)
    assert np.array_equal(cube.state.reshape(40), want.state)
    shared = face(now[0], running)
    assert same(face(np.tile(now[0], (40, 1)), running), shared)
    lone = [face(now[i], running[i], state[i]) for i in range(40)]
    assert np.array_equal([t.util_avg for t in lone], want.util_avg)
    assert np.array_equal([t.state for t in lone], want.state)


def test_a_path_that_is_not_there():
    state = pelt.initial_state(1)
    now = np.zeros((1, 4), np.uint64)
    with pytest.raises(ValueError, match="no path sse9"):
        track("sse9", "v5_7", state, [now] * 5 + [now.astype(bool)] * 2, ("util_avg",))
    assert PATHS[0] == "portable"
