# SPDX-License-Identifier: GPL-2.0-only
"""Into PELT: every shape and spelling of good input gives the same, bad input an error that says where."""

import copy
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from schedpy import _core, pelt

KERNELS = ("4.3", "4.7", "4.12", "4.14", "4.15", "5.1", "5.7")
ALL = (*pelt.STATE.names, "updated", "util_now", "load_now")
rng = np.random.default_rng(2017)
STREAMS, N = 3, 1400  # more than one chunk of the core's binding, and no multiple of one
NOW = np.cumsum(rng.integers(0, 5_000_000, (STREAMS, N)), axis=1) + 10**9
RUNNING = rng.random((STREAMS, N)) < 0.5
ON_RQ = RUNNING | (rng.random((STREAMS, N)) < 0.3)


def track(now=NOW, kernel="5.7", running=RUNNING, on_rq=ON_RQ, fields=ALL, **options):
    return pelt.track(now, kernel=kernel, running=running, on_rq=on_rq, fields=fields, **options)


def assert_equal(a, b):
    assert a.history.keys() == b.history.keys()
    for name in a.history:
        assert np.array_equal(a.history[name], b.history[name]), name
    assert np.array_equal(a.state, b.state)


@pytest.mark.parametrize("kernel", KERNELS)
def test_chunked_equals_whole(kernel):
    whole = track(kernel=kernel)
    state, parts = None, []
    for first, after in ((0, 1), (1, 1), (1, 600), (600, N)):
        cut = np.s_[:, first:after]
        part = track(NOW[cut], kernel, RUNNING[cut], ON_RQ[cut], state=state)
        state = part.state
        parts.append(part)
    for name in ALL:
        assert np.array_equal(np.concatenate([p.history[name] for p in parts], axis=1), whole.history[name])
    assert np.array_equal(state, whole.state)


@pytest.mark.parametrize("kernel", KERNELS)
def test_update_equals_track(kernel):
    whole = track(kernel=kernel)
    state = pelt.initial_state(last_update_time=NOW[:, 0])
    for i in range(60):
        state, updated = pelt.update(
            state, NOW[:, i], kernel=kernel, running=RUNNING[:, i], on_rq=ON_RQ[:, i]
        )
        assert updated.tolist() == whole.updated[:, i].tolist()
        for name in pelt.STATE.names:
            assert state[name].tolist() == whole.history[name][:, i].tolist()


def test_state_none_starts_at_the_first_event_whose_flags_are_unused():
    start = pelt.initial_state(last_update_time=NOW[:, 0])
    assert_equal(track(), track(state=start))
    others = RUNNING.copy()
    others[:, 0] ^= True
    assert_equal(track(), track(running=others, on_rq=others | ON_RQ))


def test_on_rq_none_is_running_and_weight_none_is_1024():
    assert_equal(track(on_rq=None), track(on_rq=RUNNING))
    assert_equal(track(weight=None), track(weight=1024))
    assert_equal(
        track(kernel="4.15", weight=300, runnable_weight=None),
        track(kernel="4.15", weight=300, runnable_weight=300),
    )
    assert not np.array_equal(track().load_avg, track(weight=15).load_avg)


@pytest.mark.parametrize("kernel", KERNELS)
def test_broadcast_equals_expanded(kernel):
    weight = np.array([[15], [1024], [88761]])
    scales = {} if kernel in ("5.1", "5.7") else {"freq_scale": 700}
    if scales and kernel != "4.3":
        scales["cpu_scale"] = np.array([[1024], [446], [1]])
    full = {name: np.broadcast_to(scale, NOW.shape).copy() for name, scale in scales.items()}
    got = track(NOW[0], kernel, True, RUNNING[1], weight=weight, **scales)
    want = track(
        np.tile(NOW[0], (3, 1)),
        kernel,
        np.ones(NOW.shape, bool),
        np.tile(RUNNING[1], (3, 1)),
        weight=np.tile(weight, (1, N)),
        **full,
    )
    assert_equal(got, want)
    assert got.util_avg.shape == (3, N)


def test_state_broadcasts_and_widens():
    start = pelt.initial_state(4, last_update_time=NOW[0, 0], util_sum=[0, 1000, 2_000_000, 30_000_000])
    got = track(NOW[0], "5.7", RUNNING[0], ON_RQ[0], state=start)
    assert got.util_avg.shape == (4, N)
    assert got.state.shape == (4,)
    for i in range(4):
        alone = track(NOW[0], "5.7", RUNNING[0], ON_RQ[0], state=start[i])
        assert np.array_equal(alone.util_sum, got.util_sum[i])
        assert alone.state == got.state[i]


def odd(array, how):
    """The same values in another memory."""
    if how == "fortran":
        return np.asfortranarray(array)
    if how == "every other":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if how == "reversed":
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if how == "unaligned":
        raw = bytearray(array.nbytes + 1)
        view = np.frombuffer(raw, array.dtype, array.size, offset=1).reshape(array.shape)
        view[...] = array
        return view
    if how == "swapped":
        return array.astype(array.dtype.newbyteorder())
    if how == "unsigned":
        return array.astype(np.uint64) if array.dtype != bool else array.astype(np.uint8)
    if how == "objects":
        return array.astype(object)
    if how == "lists":
        return array.tolist()
    read_only = array.copy()
    read_only.flags.writeable = False
    return read_only


@pytest.mark.parametrize(
    "how",
    [
        "fortran",
        "every other",
        "reversed",
        "unaligned",
        "swapped",
        "unsigned",
        "objects",
        "lists",
        "read-only",
    ],
)
def test_memory_layouts(how):
    weight = rng.integers(15, 88761, NOW.shape)
    want = track(weight=weight)
    got = track(odd(NOW, how), "5.7", odd(RUNNING, how), odd(ON_RQ, how), weight=odd(weight, how))
    assert_equal(got, want)
    assert all(got.history[name].flags.c_contiguous for name in ALL)


@pytest.mark.parametrize("how", ["every other", "unaligned", "swapped", "reordered", "read-only"])
def test_state_layouts(how):
    start = track().state
    given = start
    if how == "swapped":
        given = start.astype(pelt.STATE.newbyteorder())
    elif how == "reordered":
        given = np.empty(start.shape, [(name, np.int64) for name in reversed(pelt.STATE.names)])
        for name in pelt.STATE.names:
            given[name] = start[name]
    else:
        given = odd(start, how)
    before = given.copy()
    later = NOW + (NOW[:, -1:] - NOW[:, :1]) + 5000
    assert_equal(track(later, state=given), track(later, state=start))
    want = pelt.update(start, later[:, 0], kernel="5.7", running=True)
    got = pelt.update(given, later[:, 0], kernel="5.7", running=True)
    assert np.array_equal(got[0], want[0])
    assert np.array_equal(got[1], want[1])
    assert np.array_equal(given, before)


def test_input_is_not_modified():
    now, running, state = NOW.copy(), RUNNING.copy(), track().state
    kept = state.copy()
    track(now, running=running, state=state)
    assert np.array_equal(now, NOW)
    assert np.array_equal(running, RUNNING)
    assert np.array_equal(state, kept)


def test_times_of_numpy():
    stamps = NOW.astype("M8[ns]")
    assert_equal(track(stamps), track())


def test_leading_axes():
    now, running = NOW.reshape(3, 1, N), RUNNING.reshape(1, 3, N)
    got = track(now, "5.7", running, None)
    assert got.util_avg.shape == (3, 3, N)
    assert got.state.shape == (3, 3)
    for i in range(3):
        for j in range(3):
            alone = track(NOW[i], "5.7", RUNNING[j], None)
            assert np.array_equal(alone.util_avg, got.util_avg[i, j])
            assert alone.state == got.state[i, j]


@pytest.mark.parametrize("threads", [1, 2, 3, 64])
@pytest.mark.parametrize("shape", [(N,), (STREAMS, N), (2, 5, N), (0, N)])
def test_threads(threads, shape):
    now = np.broadcast_to(NOW[0], shape)
    running = rng.random(shape) < 0.5
    assert_equal(track(now, "5.7", running, None, threads=threads), track(now, "5.7", running, None))


def interleave(streams, length):
    """An order in which the events of all streams come, each stream's in its own order."""
    index = np.repeat(np.arange(streams), length)
    rng.shuffle(index)
    places = np.empty(index.size, np.intp)
    for stream in range(streams):
        places[index == stream] = np.arange(length) + stream * length
    return index, places


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        *((kernel, {}) for kernel in KERNELS),
        ("4.19", {"entity": "rt"}),
        ("5.7", {"entity": "dl"}),
        ("4.15", {"long_bits": 32}),
        ("5.7", {"entity": "cfs_rq", "nr_running": 3, "weight": 2048}),
    ],
)
def test_interleaved_equals_side_by_side(kernel, options):
    index, places = interleave(STREAMS, N)
    given = {"fields": ALL, "kernel": kernel} | options
    on_rq = {} if "entity" in options else {"on_rq": ON_RQ}
    want = pelt.track(NOW, running=RUNNING, **on_rq, **given)
    flat = {name: value.ravel()[places] for name, value in on_rq.items()}
    now, running = NOW.ravel()[places], RUNNING.ravel()[places]
    start = pelt.initial_state(STREAMS, last_update_time=NOW[:, 0])
    for state in (None, start):
        got = pelt.track(now, running=running, **flat, index=index, state=state, **given)
        for name in ALL:
            assert np.array_equal(got.history[name], want.history[name].ravel()[places]), name
        assert np.array_equal(got.state, want.state)
    assert np.array_equal(start, pelt.initial_state(STREAMS, last_update_time=NOW[:, 0]))


def test_interleaved_in_pieces_and_with_entities_that_sleep():
    index, places = interleave(STREAMS, N)
    now, running = NOW.ravel()[places], RUNNING.ravel()[places]
    state = pelt.initial_state(9, last_update_time=NOW[0, 0], util_sum=np.arange(9))
    whole = pelt.track(now, kernel="5.7", running=running, index=3 * index, state=state)
    first = pelt.track(now[:777], kernel="5.7", running=running[:777], index=3 * index[:777], state=state)
    later = pelt.track(
        now[777:], kernel="5.7", running=running[777:], index=3 * index[777:], state=first.state
    )
    assert np.array_equal(np.concatenate([first.util_avg, later.util_avg]), whole.util_avg)
    assert np.array_equal(later.state, whole.state)
    assert np.array_equal(np.delete(whole.state, [0, 3, 6]), np.delete(state, [0, 3, 6]))


@pytest.mark.parametrize("how", ["every other", "reversed", "unaligned", "swapped", "unsigned", "lists"])
def test_index_layouts(how):
    index, places = interleave(STREAMS, N)
    now = NOW.ravel()[places]
    want = pelt.track(now, kernel="5.7", running=True, index=index)
    given = index[::-1].copy()[::-1] if how == "reversed" else odd(index, how)
    times = now[::-1].copy()[::-1] if how == "reversed" else odd(now, how)
    assert_equal(pelt.track(times, kernel="5.7", running=True, index=given), want)


def test_no_event_of_any_entity():
    nothing = pelt.track([], kernel="5.7", running=[], index=[])
    assert (nothing.util_avg.shape, nothing.state.shape) == ((0,), (0,))
    state = pelt.initial_state(3, util_avg=7)
    assert np.array_equal(pelt.track([], kernel="5.7", running=[], index=[], state=state).state, state)
    gaps = pelt.track([5, 9], kernel="5.7", running=True, index=[4, 1]).state
    assert gaps["last_update_time"].tolist() == [0, 9, 0, 0, 5]


@pytest.mark.parametrize("kernel", ["4.19", "5.1", "5.7"])
def test_irq_starts_at_the_first_event_whose_time_is_unused(kernel):
    time = rng.integers(0, 500_000, NOW.shape)
    given = {"kernel": kernel, "entity": "irq", "fields": ALL}
    start = pelt.initial_state(last_update_time=NOW[:, 0])
    unused = time.copy()
    unused[:, 0] = 0
    want = pelt.track(NOW, running=unused, state=start, **given)
    assert_equal(pelt.track(NOW, running=time, **given), want)
    assert want.util_avg.max() > 0
    index, places = interleave(STREAMS, N)
    got = pelt.track(NOW.ravel()[places], running=time.ravel()[places], index=index, **given)
    assert np.array_equal(got.state, want.state)
    scalar = pelt.track(NOW, running=250_000, **given)
    assert np.array_equal(scalar.state, pelt.track(NOW, running=np.full(NOW.shape, 250_000), **given).state)


def test_empty():
    start = pelt.initial_state(3, util_avg=[1, 2, 3])
    nothing = track(np.empty((3, 0), int), "5.7", False, None, state=start)
    assert all(nothing.history[name].shape == (3, 0) for name in ALL)
    assert np.array_equal(nothing.state, start)
    assert track([], "5.7", [], None).state.tolist() == (0,) * 8
    no_streams = track(np.empty((0, 5), int), "5.7", True, None)
    assert no_streams.util_avg.shape == (0, 5)
    assert no_streams.state.shape == (0,)
    assert track([1, 2], "5.7", True, None, state=pelt.initial_state((3, 0))).util_avg.shape == (3, 0, 2)
    state, updated = pelt.update(pelt.initial_state(0), 5, kernel="5.7", running=True)
    assert state.shape == updated.shape == (0,)
    assert pelt.decay_load([], [], kernel="5.7").shape == (0,)
    assert pelt.accumulate_segments([], [], []).shape == (0,)
    assert pelt.compute_runnable_contrib([], kernel="4.3").shape == (0,)
    assert pelt.nice_to_weight([]).shape == (0,)
    assert track(fields=()).history == {}


def test_result():
    result = track(fields=("util_avg", "updated"))
    assert list(result.history) == ["util_avg", "updated"]
    assert result.util_avg is result.history["util_avg"]
    assert (result.util_avg.dtype, result.updated.dtype) == (np.uint64, bool)
    assert result.state.dtype == pelt.STATE
    assert {"util_avg", "state"} <= set(dir(result))
    assert_equal(copy.deepcopy(result), result)
    assert_equal(pickle.loads(pickle.dumps(result)), result)
    with pytest.raises(AttributeError, match="'load_avg' is not in this history"):
        _ = result.load_avg


def test_ufunc_keywords():
    out = np.full(3, 7, np.uint64)
    got = pelt.decay_load([1024, 2048, 4096], 1, kernel="5.7", out=out, where=[True, False, True])
    assert got is out
    assert out.tolist() == [1002, 7, 4008]
    out = np.full(2, 7, np.uint32)
    assert pelt.accumulate_segments([1, 1], 0, 5, out=out, where=[False, True]).tolist() == [7, 5]
    assert pelt.nice_to_weight(np.arange(-20, 20)[::-2]).tolist()[0] == 15
    assert int(pelt.nice_to_weight(0)) == 1024


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"now": NOW[0] * 1.0}, TypeError, "now must hold integers"),
        ({"now": [1.5, np.nan]}, TypeError, "now"),
        ({"now": [5, -3]}, ValueError, r"now\[1\] = -3"),
        ({"now": [5, 2**64]}, ValueError, r"now\[1\] = 18446744073709551616"),
        ({"now": 5}, ValueError, "now must have an axis of time"),
        ({"now": "soon"}, TypeError, "now"),
        ({"now": [[1, 2], [3]]}, ValueError, "inhomogeneous"),
        ({"running": [0, 2]}, ValueError, r"running\[1\] = 2"),
        ({"running": [0.0, 1.0]}, TypeError, "running"),
        ({"running": None}, TypeError, "running"),
        ({"running": [True] * 3}, ValueError, r"do not broadcast: now \(2,\), running \(3,\)"),
        ({"on_rq": [3, 0]}, ValueError, r"on_rq\[0\] = 3"),
        ({"weight": -1}, ValueError, "weight = -1"),
        ({"weight": 1.0}, TypeError, "weight"),
        ({"kernel": 5.7}, TypeError, "kernel = 5.7"),
        ({"kernel": "4.1"}, ValueError, "below: 3.8 .. 4.0 and above: 4.3"),
        ({"kernel": "3.7"}, ValueError, "above: 3.8 .. 4.0"),
        ({"kernel": "7.0"}, ValueError, "below: 5.7 .. 6.19"),
        ({"kernel": "linux"}, ValueError, "kernel"),
        ({"entity": "thermal"}, ValueError, "entity = 'thermal'"),
        ({"entity": "rt", "kernel": "4.18"}, ValueError, "above: 4.19 .. 5.0"),
        ({"entity": "rt", "weight": 1}, ValueError, "weight: entity='rt' has none"),
        ({"entity": "dl", "nr_running": 1}, ValueError, "nr_running: entity='dl' has none"),
        ({"entity": "irq", "runnable_weight": 1, "kernel": "5.0"}, ValueError, "runnable_weight"),
        ({"entity": "dl", "on_rq": True}, TypeError, "on_rq: entity='dl' is on no run queue"),
        ({"entity": "dl", "freq_scale": 1024}, ValueError, "freq_scale: .*use clock_pelt"),
        ({"entity": "irq", "running": [5, -1]}, ValueError, r"running\[1\] = -1"),
        ({"entity": "irq", "running": 0.5}, TypeError, "running"),
        (
            {"entity": "irq", "running": [1, 2, 3]},
            ValueError,
            r"do not broadcast: now \(2,\), running \(3,\)",
        ),
        ({"entity": "irq", "freq_scale": -1}, ValueError, "freq_scale = -1"),
        (
            {"entity": "cfs_rq", "kernel": "4.0", "weight": 1},
            ValueError,
            "entity = 'cfs_rq': kernels from 4.3",
        ),
        ({"entity": 1}, TypeError, "entity"),
        ({"entity": "cfs_rq"}, TypeError, "weight is required"),
        ({"entity": "cfs_rq", "weight": 1}, TypeError, "nr_running is required"),
        ({"entity": "cfs_rq", "weight": 1, "nr_running": 1, "on_rq": True}, TypeError, "on_rq"),
        ({"entity": "cfs_rq", "weight": 1, "nr_running": 2**32}, ValueError, "nr_running = 4294967296"),
        ({"entity": "cfs_rq", "weight": 1, "nr_running": 1, "kernel": "5.6"}, ValueError, "nr_running"),
        ({"nr_running": 1}, ValueError, "nr_running"),
        ({"runnable_weight": 1}, ValueError, "runnable_weight: kernels 4.15 .. 5.6"),
        ({"runnable_weight": 1, "kernel": "4.14"}, ValueError, "runnable_weight"),
        ({"freq_scale": 1024}, ValueError, "freq_scale: .*use clock_pelt"),
        ({"cpu_scale": 1024, "kernel": "5.1"}, ValueError, "cpu_scale: .*use clock_pelt"),
        ({"freq_scale": -1, "kernel": "5.0"}, ValueError, "freq_scale = -1"),
        ({"freq_scale": 1024, "kernel": "4.0"}, ValueError, "freq_scale: kernels 4.3 .. 5.0 take it"),
        ({"cpu_scale": 1024, "kernel": "4.3"}, ValueError, "cpu_scale: kernels 4.4 .. 5.0 take it"),
        ({"half_life": 16, "kernel": "4.11"}, ValueError, "half_life = 16: must be 32 before 4.12"),
        ({"load_avg_max": 47788, "kernel": "3.8"}, ValueError, "load_avg_max = 47788: must be 47742"),
        ({"update_threshold": 512, "kernel": "4.7"}, ValueError, "update_threshold = 512: must be 0 before"),
        ({"long_bits": 16}, ValueError, "long_bits = 16: must be 32 or 64"),
        ({"long_bits": 32.0}, TypeError, "long_bits"),
        ({"long_bits": 32, "kernel": "4.14"}, ValueError, "below: 4.13 and above: 4.15 .. 5.0"),
        ({"long_bits": 32, "kernel": "5.1"}, ValueError, "pelt.update_32bit is not proven"),
        ({"long_bits": 32, "weight": 2**32}, ValueError, "weight = 4294967296: must be 0 .. 4294967295"),
        ({"long_bits": 32, "kernel": "5.0", "cpu_scale": 2**32}, ValueError, "cpu_scale = 4294967296"),
        ({"half_life": 0}, ValueError, "half_life = 0"),
        ({"half_life": 2049}, ValueError, "half_life = 2049: must be 1 .. 2048"),
        ({"half_life": 32.0}, TypeError, "half_life"),
        ({"half_life": [32, 16]}, ValueError, "half_life must be one integer"),
        ({"load_avg_max": 1024}, ValueError, "load_avg_max = 1024"),
        ({"load_avg_max": 2**22}, ValueError, "load_avg_max = 4194304"),
        ({"update_threshold": -1}, ValueError, "update_threshold = -1"),
        ({"update_threshold": 2**64}, ValueError, "update_threshold"),
        ({"update_threshold": 0.5}, TypeError, "update_threshold"),
        ({"threads": 0}, ValueError, "threads = 0"),
        ({"threads": 1.5}, TypeError, "threads"),
        ({"fields": "util_avg"}, TypeError, "fields"),
        ({"fields": ("util",)}, ValueError, r"fields\[0\] = 'util': must be one of 'last_update_time'"),
        ({"fields": (1,)}, TypeError, "fields"),
        ({"fields": ("runnable_now",), "kernel": "4.14"}, ValueError, "runnable_now"),
        ({"fields": ("util_avg",), "kernel": "3.8"}, ValueError, "kernel 3.8 has no util_avg"),
        ({"fields": ("load_avg", "util_now"), "kernel": "4.0"}, ValueError, "has no util_now"),
        ({"index": [0, 1, 0]}, ValueError, r"do not broadcast: now \(2,\), index \(3,\)"),
        ({"index": [0]}, ValueError, r"index must have the shape of now, \(n,\), not \(1,\)"),
        ({"index": [[0, 1]]}, ValueError, "index must have the shape of now"),
        ({"index": 0}, ValueError, "index must have the shape of now"),
        ({"index": [0, 1], "now": [[1, 2]]}, ValueError, "index must have the shape of now"),
        ({"index": [0, -1]}, ValueError, r"index\[1\] = -1"),
        ({"index": [0.0, 1.0]}, TypeError, "index"),
        ({"index": [0, 2], "state": pelt.initial_state(2)}, ValueError, r"index\[1\] = 2: must be 0 .. 1"),
        (
            {"index": [0, 1], "state": pelt.initial_state()},
            ValueError,
            r"state must have shape \(entities,\)",
        ),
        ({"index": [0, 1], "state": pelt.initial_state((2, 2))}, ValueError, "state must have shape"),
        ({"state": 5}, TypeError, "state must be an array of pelt.STATE"),
        ({"state": np.zeros(3)}, TypeError, "state"),
        ({"state": np.zeros((), [("util_avg", "u8")])}, TypeError, "state"),
    ],
)
def test_bad_input(options, error, message):
    given = {"now": [10, 20], "kernel": "5.7", "running": True} | options
    now = given.pop("now")
    with pytest.raises(error, match=message):
        pelt.track(now, **given | ({"fields": ()} if "fields" not in options else {}))
    if {"fields", "threads", "index"} & options.keys() or "axis of time" in message:
        return
    given.setdefault("state", pelt.initial_state(2))
    with pytest.raises(error, match=message.replace(r"now \(2,\)", r"state \(2,\), now \(2,\)")):
        pelt.update(given.pop("state"), now, **given)


@pytest.mark.parametrize(("field", "value"), [("period_contrib", 1024), ("util_sum", 2**32)])
def test_bad_state(field, value):
    state = pelt.initial_state((2, 2))
    state[field][1, 0] = value
    for refuse in (
        lambda: pelt.update(state, 5, kernel="5.7", running=True),
        lambda: pelt.track([5], kernel="5.7", running=True, state=state),
    ):
        with pytest.raises(
            ValueError, match=rf"state\['{field}'\]\[1, 0\] = {value}: must be 0 .. {value - 1}"
        ):
            refuse()
    with pytest.raises(ValueError, match=f"{field} = {value}"):
        pelt.initial_state(**{field: value})
    state[field][1, 0] = value - 1
    pelt.update(state, 5, kernel="5.7", running=True)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("load_sum", {"kernel": "3.8"}),
        ("runnable_sum", {"kernel": "4.0"}),
        ("load_avg", {"kernel": "5.7", "long_bits": 32}),
        ("runnable_avg", {"kernel": "4.15", "long_bits": 32}),
        ("util_avg", {"kernel": "4.13", "long_bits": 32}),
    ],
)
def test_a_field_too_wide_for_that_kernel(field, options):
    state = pelt.initial_state(2, **{field: [0, 2**32]})
    for refuse in (
        lambda: pelt.update(state, 5, running=True, **options),
        lambda: pelt.track([5], running=True, fields=(), state=state, **options),
    ):
        with pytest.raises(
            ValueError, match=rf"state\['{field}'\]\[1\] = 4294967296: must be 0 .. 4294967295"
        ):
            refuse()
    pelt.update(state, 5, kernel="5.7", running=True)
    pelt.update(pelt.initial_state(2, **{field: 2**32 - 1}), 5, running=True, **options)


def test_bad_pieces():
    with pytest.raises(TypeError, match="utility is no field"):
        pelt.initial_state(utility=1)
    with pytest.raises(ValueError, match="do not broadcast: shape"):
        pelt.initial_state(2, util_avg=[1, 2, 3])
    with pytest.raises(ValueError, match=r"nice\[1\] = 20: must be -20 .. 19"):
        pelt.nice_to_weight([0, 20])
    with pytest.raises(ValueError, match=r"val\[0\] = -1"):
        pelt.decay_load([-1], 1, kernel="5.7")
    with pytest.raises(TypeError, match=r"n = 1\.0: must be an integer"):
        pelt.decay_load(1, 1.0, kernel="5.7")
    with pytest.raises(ValueError, match=r"below: 3.8 .. 4.0 and above: 4.3 .. 4.11"):
        pelt.decay_load(1, 1, kernel="4.1")
    with pytest.raises(ValueError, match=r"n\[1\] = -1"):
        pelt.compute_runnable_contrib([0, -1], kernel="4.3")
    with pytest.raises(ValueError, match=r"below: 4.7 .. 4.11"):
        pelt.compute_runnable_contrib(1, kernel="4.12")
    with pytest.raises(ValueError, match=r"d1 = 4294967296"):
        pelt.accumulate_segments(1, 2**32, 0)
    with pytest.raises(ValueError, match="load_avg_max"):
        pelt.accumulate_segments(1, 1, 0, load_avg_max=5)
    with pytest.raises(ValueError, match="half_life"):
        pelt.constants(-1)
    with pytest.raises(TypeError, match="half_life"):
        pelt.constants("32")


def test_constants_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        pelt.constants().inverse[0] = 1
    assert pelt.constants(32) is pelt.constants(np.int8(32))


def test_core_refuses_what_the_face_never_sends():
    """A wrong call of the compiled module is an error, not a crash."""
    good = track(fields=("util_avg",))
    rows = np.zeros((STREAMS, 8), np.uint64)
    events = tuple(
        np.broadcast_to(np.asarray(1, kind), NOW.shape) for kind in [np.uint64] * 5 + [np.bool_] * 2
    )
    history = (None,) * 7 + (np.empty(NOW.shape, np.uint64),) + (None,) * 4
    one_stream = tuple(column[0] for column in events)
    inverse = pelt.constants().inverse
    call = _core.pelt_track_task_v5_7
    call(rows, events, history, inverse, 47742, 0)
    assert good.util_avg.shape == history[7].shape
    for bad in (
        (rows[:2], events, history, inverse, 47742, 0),
        (rows[:, ::-1], events, history, inverse, 47742, 0),
        (rows[:, :7], events, history, inverse, 47742, 0),
        (rows.astype(float), events, history, inverse, 47742, 0),
        (rows, events[:6], history, inverse, 47742, 0),
        (rows, (None, *events[1:]), history, inverse, 47742, 0),
        (rows, (events[0][..., 0, 0], *events[1:]), history, inverse, 47742, 0),
        (rows, (*events[:6], events[0]), history, inverse, 47742, 0),
        (rows, (*events[:6], events[6][:2]), history, inverse, 47742, 0),
        (rows, events, history[:3], inverse, 47742, 0),
        (rows, events, (*history[:7], history[7][:, ::-1], *history[8:]), inverse, 47742, 0),
        (rows, events, (*history[:7], events[0], *history[8:]), inverse, 47742, 0),
        (rows, events, history, inverse[:0], 47742, 0),
        (rows, events, history, inverse[::2], 47742, 0),
        (rows, events, history, np.ones(4000, np.uint32), 47742, 0),
        (rows, events, history, inverse, 1024, 0),
        (rows, events, history, inverse, 47742, 0, np.zeros(N, np.uint64)),
        (rows, one_stream, (None,) * 12, inverse, 47742, 0, np.zeros(N, np.int64)),
        (rows, one_stream, (None,) * 12, inverse, 47742, 0, np.zeros(2 * N, np.uint64)[::2]),
        (rows, one_stream, (None,) * 12, inverse, 47742, 0, np.zeros(N - 1, np.uint64)),
        (rows[:, ::-1], one_stream, (None,) * 12, inverse, 47742, 0, np.zeros(N, np.uint64)),
        (rows[0], one_stream, (None,) * 12, inverse, 47742, 0, np.zeros(N, np.uint64)),
    ):
        with pytest.raises((TypeError, ValueError)):
            call(*bad)
    # An index out of range is passed over.
    before, beyond = rows.copy(), np.full(N, STREAMS, np.uint64)
    call(rows, one_stream, (None,) * 12, inverse, 47742, 0, beyond)
    _core.pelt_start_of_entities(rows, beyond, one_stream[0])
    assert np.array_equal(rows, before)
    for bad in ((rows, beyond[1:], one_stream[0]), (rows[0], beyond, one_stream[0]), (rows, None, beyond)):
        with pytest.raises((TypeError, ValueError)):
            _core.pelt_start_of_entities(*bad)


def test_gufunc_takes_any_stride():
    """The compiled single update below its face: strided states, a table per entity."""
    state = track().state
    rows = np.repeat(state[..., None].view(np.uint64), 2, axis=1)[:, ::2]
    inverse = np.stack([np.repeat(pelt.constants().inverse, 2)] * 3)[:, ::2]
    inverse[1] = 0
    one, full = np.uint64(1), np.uint64(1024)
    now = (NOW[:, -1] + 10**7).astype(np.uint64)
    new, updated = _core.pelt_update_task_v5_7(
        rows, now, full, one, one, one, True, True, inverse, np.uint32(47742), np.uint64(0)
    )
    want, flags = pelt.update(state, now, kernel="5.7", running=True)
    assert (new.view(pelt.STATE)[..., 0] == want).tolist() == [True, False, True]
    assert np.array_equal(updated, flags)


def test_an_interrupt_is_seen_between_chunks():
    """Three thousand million events take a quarter of a minute; an interrupt ends them at once."""
    events, weights = np.full(10**6, 10**6), np.full((3000, 1), 1024)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    begin = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pelt.track(events, kernel="5.7", running=True, weight=weights, fields=())
    assert time.monotonic() - begin < 10
    timer.join()


def test_history_goes_where_out_says():
    now = 10**9 + 4_000_000 * np.arange(24, dtype=np.uint64).reshape(2, 12)
    whole = np.zeros((2, 20), np.uint64)
    fresh = np.zeros((2, 12), bool)
    fields = ("util_avg", "updated", "load_avg")
    want = pelt.track(now, kernel="6.1", running=True, fields=fields)
    out = {"util_avg": whole[:, 4:16], "updated": fresh}
    got = pelt.track(now, kernel="6.1", running=True, fields=fields, out=out)
    assert got.util_avg is out["util_avg"]
    assert got.updated is fresh
    assert all(np.array_equal(got.history[name], want.history[name]) for name in fields)
    assert not whole[:, :4].any()
    assert not whole[:, 16:].any()


@pytest.mark.parametrize(
    ("out", "error", "match"),
    [
        ([], TypeError, "^out must be a mapping"),
        ({"load_avg": np.zeros(3, np.uint64)}, ValueError, "^out: 'load_avg' is not in fields"),
        ({"util_avg": np.zeros(3)}, TypeError, r"^out\['util_avg'\] must be a writeable array of uint64"),
        ({"util_avg": [0, 0, 0]}, TypeError, r"^out\['util_avg'\] must be a writeable array"),
        ({"util_avg": np.zeros(4, np.uint64)}, ValueError, r"^out\['util_avg'\] must have shape \(3,\)"),
        ({"util_avg": np.zeros(6, np.uint64)[::2]}, ValueError, r"^out\['util_avg'\] must be contiguous"),
        (
            {"util_avg": np.broadcast_to(np.uint64(0), 3)},
            TypeError,
            r"^out\['util_avg'\] must be a writeable",
        ),
    ],
)
def test_out_that_does_not_fit(out, error, match):
    with pytest.raises(error, match=match):
        pelt.track([1, 2, 3], kernel="6.1", running=True, out=out)


def test_out_may_not_be_an_argument():
    now = np.arange(3, dtype=np.uint64) * 10**7
    with pytest.raises(ValueError, match=r"^out\['util_avg'\] shares memory"):
        pelt.track(now, kernel="6.1", running=True, out={"util_avg": now})
    assert now.tolist() == [0, 10**7, 2 * 10**7]
