# SPDX-License-Identifier: GPL-2.0-only
"""Around the update: every spelling of good input gives the same, bad input is refused by name."""

import numpy as np
import pytest

from schedpy import _core, pelt

rng = np.random.default_rng(411)

STAY = {
    "kernel": "5.15",
    "util_enqueue": 300,
    "util_dequeue": 200,
    "runnable_avg": 200,
    "util_changed": True,
    "task_sleep": True,
    "capacity": 1024,
}
STEP = {
    "kernel": "6.1",
    "curr_is_idle": False,
    "entering_idle": True,
    "util_sum": 48_000_000,
    "cpu_scale": 446,
    "freq_scale": 700,
}
NEW_TASK = {
    "kernel": "6.1",
    "cfs_util_avg": 300,
    "cfs_load_avg": 2048,
    "capacity": 1024,
    "se_load_weight_raw": 1 << 20,
}
CLOCK = pelt.initial_clock_pelt(clock_task=10**9, clock_pelt=9 * 10**8)
TASK = pelt.initial_state(load_sum=20000, util_sum=10**7, load_avg=500, util_avg=200, runnable_avg=300)
QUEUE = pelt.initial_state(
    last_update_time=10**9, load_sum=10**9, util_sum=4 * 10**7, period_contrib=77, load_avg=9000, util_avg=800
)


def util_est(state=None, **changed):
    return pelt.util_est(pelt.initial_util_est() if state is None else state, **(STAY | changed))


def clock_pelt(state=CLOCK, delta_ns=10**6, **changed):
    return pelt.clock_pelt(state, delta_ns, **(STEP | changed))


def new_task(**changed):
    return pelt.post_init_entity_util_avg(**(NEW_TASK | changed))


def attach(se=TASK, cfs=QUEUE, kernel="6.1", weight=1024):
    return pelt.attach(se, cfs, kernel=kernel, weight=weight)


def detach(se=TASK, cfs=QUEUE, kernel="6.1", weight=1024):
    return pelt.detach(se, cfs, kernel=kernel, weight=weight)


def test_arrays_broadcast():
    utils = np.array([[100], [200], [300]])
    capacities = np.array([50, 150, 250, 1024])
    got = util_est(pelt.initial_util_est(4, task_ewma=400), util_dequeue=utils, capacity=capacities)
    assert got.state.shape == got.cfs_enqueued_after.shape == got.task_util_est_after.shape == (3, 4)
    for i, util in enumerate(utils[:, 0]):
        for j, capacity in enumerate(capacities):
            one = util_est(pelt.initial_util_est(task_ewma=400), util_dequeue=util, capacity=capacity)
            assert one.state == got.state[i, j]
            assert one.task_util_est_after == got.task_util_est_after[i, j]
    se, cfs = attach(np.broadcast_to(TASK, (3, 1)), np.broadcast_to(QUEUE, 4), weight=[15, 1024, 3, 88761])
    assert se.shape == cfs.shape == (3, 4)
    for j, weight in enumerate((15, 1024, 3, 88761)):
        assert attach(weight=weight)[0] == se[2, j]
        assert attach(weight=weight)[1] == cfs[0, j]
    clocks = clock_pelt(np.broadcast_to(CLOCK, (2, 1)), [1, 2, 3], multiplier=[[1], [4]])
    assert clocks["clock_task"].tolist() == [
        [10**9 + 1, 10**9 + 2, 10**9 + 3],
        [10**9 + n for n in (4, 8, 12)],
    ]
    assert new_task(cfs_util_avg=[[0], [100]], capacity=[200, 400, 1024]).shape == (2, 3)


def odd(array):
    """The same entries in every other place of a larger memory, from the back."""
    wide = np.zeros(2 * len(array), array.dtype)
    wide[::-2] = array
    return wide[::-2]


def test_strides_and_byte_order_do_not_matter():
    n = 50
    states = pelt.initial_util_est(
        task_enqueued_raw=rng.integers(0, 1024, n), task_ewma=rng.integers(0, 1024, n), cfs_enqueued=5000
    )
    utils = rng.integers(0, 1024, n)
    want = util_est(states, util_dequeue=utils)
    for state, util in [
        (odd(states), odd(utils)),
        (states.astype(states.dtype.newbyteorder(">")), utils.astype(">i4")),
        (states, utils.tolist()),
        (np.rec.array(states), utils.astype(object)),
    ]:
        got = util_est(state, util_dequeue=util)
        assert np.array_equal(got.state, want.state)
        assert got.state.dtype == pelt.UTIL_EST_STATE
        assert np.array_equal(got.task_util_est_after, want.task_util_est_after)


def test_rows_of_the_core_may_have_any_stride():
    rows = rng.integers(0, 2**31, (3, 20, 8), dtype=np.uint64)
    se, cfs, out = rows[0], rows[1], np.zeros((8, 40), np.uint64)
    want = _core.pelt_attach_v5_7(se, cfs, np.uint64(300))
    turned = out[:, ::2].T
    got = _core.pelt_attach_v5_7(np.asfortranarray(se), cfs[:, ::-1].copy()[:, ::-1], 300, out=(turned, None))
    assert np.array_equal(turned, want[0])
    assert np.array_equal(got[1], want[1])
    assert not out[:, 1::2].any()


def test_fields_are_taken_by_name():
    turned = np.zeros((), [(name, np.int64) for name in reversed(pelt.CLOCK_PELT_STATE.names)])
    for name in CLOCK.dtype.names:
        turned[name] = CLOCK[name]
    assert clock_pelt(turned) == clock_pelt()
    assert pelt.rq_clock_pelt(turned) == pelt.rq_clock_pelt(CLOCK)


def test_nothing_given_is_changed():
    states = (
        pelt.initial_util_est(3, task_ewma=700),
        np.array([CLOCK] * 3),
        np.array([TASK] * 3),
        np.array([QUEUE] * 3),
    )
    for state in states:
        state.flags.writeable = False
    before = [state.copy() for state in states]
    util_est(states[0])
    clock_pelt(states[1])
    for function in (attach, detach):
        se, cfs = function(states[2], states[3])
        assert not np.shares_memory(se, states[2])
        assert not np.shares_memory(cfs, states[3])
    assert all(np.array_equal(state, old) for state, old in zip(states, before, strict=True))


def test_empty_in_empty_out():
    assert util_est(pelt.initial_util_est(0)).state.shape == (0,)
    assert clock_pelt(pelt.initial_clock_pelt((2, 0)), []).shape == (2, 0)
    se, cfs = attach(pelt.initial_state(0), weight=[])
    assert se.shape == cfs.shape == (0,)
    assert new_task(cfs_util_avg=[]).shape == (0,)
    assert pelt.rq_clock_pelt(pelt.initial_clock_pelt(0)).shape == (0,)


def test_scalars_give_scalars():
    got = util_est()
    assert got.state.shape == np.shape(got.cfs_enqueued_between) == ()
    assert clock_pelt().shape == np.shape(pelt.rq_clock_pelt(CLOCK)) == ()
    assert new_task().shape == ()


def test_time_may_be_a_timedelta():
    assert clock_pelt(delta_ns=np.timedelta64(10**6, "ns")) == clock_pelt()


@pytest.mark.parametrize(
    ("call", "changed", "message"),
    [
        (util_est, {"util_enqueue": 2**31}, r"^util_enqueue = 2147483648: must be 0 \.\. 2147483647"),
        (util_est, {"util_dequeue": [1, -1]}, r"^util_dequeue\[1\] = -1: must be"),
        (util_est, {"runnable_avg": -1}, r"^runnable_avg = -1"),
        (util_est, {"util_changed": 2}, r"^util_changed = 2: must be 0 \.\. 1"),
        (util_est, {"task_sleep": [0, 3]}, r"^task_sleep\[1\] = 3"),
        (util_est, {"capacity": 2**64}, r"^capacity = 18446744073709551616"),
        (
            util_est,
            {"util_enqueue": [1, 2], "capacity": [1, 2, 3]},
            r"^shapes do not broadcast: util_enqueue",
        ),
        (util_est, {"kernel": "4.16"}, r"^kernel = '4\.16': pelt\.util_est is not proven .*above: 4\.17"),
        (util_est, {"kernel": "6.20"}, r"^kernel = '6\.20': .*below: 6\.19"),
        (
            util_est,
            {"kernel": "6.8", "state": pelt.initial_util_est(task_ewma=[0, 1])},
            r"^state\['task_ewma'\]\[1\] = 1: must be 0 \.\. 0",
        ),
        (clock_pelt, {"delta_ns": [0, -5]}, r"^delta_ns\[1\] = -5"),
        (clock_pelt, {"delta_ns": 2**63}, r"^delta_ns = 9223372036854775808"),
        (clock_pelt, {"util_sum": 2**32}, r"^util_sum = 4294967296"),
        (clock_pelt, {"cpu_scale": -1}, r"^cpu_scale = -1"),
        (clock_pelt, {"freq_scale": -1}, r"^freq_scale = -1"),
        (clock_pelt, {"curr_is_idle": -1}, r"^curr_is_idle = -1"),
        (clock_pelt, {"entering_idle": 5}, r"^entering_idle = 5"),
        (clock_pelt, {"multiplier": 3}, r"^multiplier = 3: must be 1, 2 or 4"),
        (clock_pelt, {"multiplier": [[1, 2], [0, 3]]}, r"^multiplier\[1, 0\] = 0: must be 1, 2 or 4"),
        (clock_pelt, {"kernel": "5.19"}, r"^kernel = '5\.19'.*below: 5\.1 \.\. 5\.18 and above: 6\.0"),
        (clock_pelt, {"kernel": "5.0"}, r"^kernel = '5\.0'"),
        (new_task, {"cfs_util_avg": -1}, r"^cfs_util_avg = -1"),
        (new_task, {"cfs_load_avg": 2**64 - 1}, r"^cfs_load_avg = 18446744073709551615: must be"),
        (new_task, {"capacity": [[5, -1]]}, r"^capacity\[0, 1\] = -1"),
        (new_task, {"se_load_weight_raw": -1}, r"^se_load_weight_raw = -1"),
        (new_task, {"kernel": "4.9"}, r"^kernel = '4\.9'"),
        (new_task, {"cfs_util_avg": [1, 2], "capacity": [1, 2, 3]}, r"^shapes do not broadcast"),
        (attach, {"weight": 2**32}, r"^weight = 4294967296"),
        (attach, {"weight": -1}, r"^weight = -1"),
        (
            attach,
            {"kernel": "5.17"},
            r"^kernel = '5\.17'.*below: 5\.7 \.\. 5\.16 and above: 5\.18 \.\. 6\.19",
        ),
        (attach, {"kernel": "4.9"}, r"^kernel = '4\.9'"),
        (detach, {"kernel": "5.17.3"}, r"^kernel = '5\.17\.3'"),
        (detach, {"weight": [3, -1]}, r"^weight\[1\] = -1"),
        (
            detach,
            {"se": np.array([TASK] * 2), "weight": [1, 2, 3]},
            r"^shapes do not broadcast: se \(2,\), weight",
        ),
    ],
)
def test_bad_values_are_refused_by_name(call, changed, message):
    with pytest.raises(ValueError, match=message):
        call(**changed)


def bad_state(field, value):
    state = np.array([QUEUE] * 3)
    state[field][2] = value
    return state


@pytest.mark.parametrize("name", ["se", "cfs"])
@pytest.mark.parametrize(("field", "value"), [("period_contrib", 1024), ("util_sum", 2**32)])
def test_states_that_no_kernel_has_are_refused(name, field, value):
    for function in (attach, detach):
        with pytest.raises(ValueError, match=rf"^{name}\['{field}'\]\[2\] = {value}: must be 0"):
            function(**{name: bad_state(field, value)})
    with pytest.raises(ValueError, match=r"^state\['cfs_enqueued'\] = 4294967296"):
        util_est(np.array((0, 0, 2**32), pelt.UTIL_EST_STATE))
    with pytest.raises(ValueError, match=r"^task_ewma = 4294967296: must be 0 \.\. 4294967295"):
        pelt.initial_util_est(task_ewma=2**32)


@pytest.mark.parametrize(
    ("call", "changed", "message"),
    [
        (util_est, {"state": TASK}, r"^state must be an array of pelt\.UTIL_EST_STATE"),
        (clock_pelt, {"state": 5}, r"^state must be an array of pelt\.CLOCK_PELT_STATE"),
        (attach, {"se": CLOCK}, r"^se must be an array of pelt\.STATE"),
        (detach, {"cfs": None}, r"^cfs must be an array of pelt\.STATE"),
        (util_est, {"util_dequeue": 1.5}, r"^util_dequeue must hold integers|^util_dequeue = 1\.5"),
        (util_est, {"task_sleep": "yes"}, r"^task_sleep"),
        (util_est, {"kernel": 5.1}, r"^kernel = 5\.1: must be a string"),
        (clock_pelt, {"delta_ns": 0.5}, r"^delta_ns.*seconds\?"),
        (attach, {"weight": None}, r"^weight"),
        (new_task, {"capacity": np.float64(3)}, r"^capacity must hold integers"),
    ],
)
def test_other_types_are_refused_by_name(call, changed, message):
    with pytest.raises(TypeError, match=message):
        call(**changed)


@pytest.mark.parametrize(
    ("function", "foreign"),
    [
        (pelt.initial_util_est, "util_avg"),
        (pelt.initial_clock_pelt, "now"),
        (pelt.initial_state, "task_ewma"),
    ],
)
def test_fields_of_other_states_are_refused(function, foreign):
    with pytest.raises(TypeError, match=rf"^{foreign} is no field of a state"):
        function(**{foreign: 1})
