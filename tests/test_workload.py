# SPDX-License-Identifier: GPL-2.0-only
"""The workloads' updates are those of the known answers, and of the definition where those do not reach."""

import numpy as np
import pytest
from golden import load, select
from hypothesis import given
from hypothesis import strategies as st

from schedpy import workload

TICK_NSEC = {100: 10_000_000, 250: 4_000_000, 300: 3_333_333, 1000: 1_000_000}
BASE = 9_999_220_736


def plain(enqueues, runs, hz, tick_offset, pick):
    """The updates from their definition, tick by tick."""
    tick = (10**9 + hz // 2) // hz
    events = []
    for enqueue, run in zip(enqueues, runs, strict=True):
        instant = tick_offset % tick
        instant += (enqueue - instant) // tick * tick
        events += [(enqueue, False, False, "enqueue"), (enqueue + pick, False, True, "pick")]
        while instant < enqueue + run:
            if instant > enqueue + pick:
                events.append((instant, True, True, "tick"))
            instant += tick
        events.append((enqueue + run, True, True, "dequeue"))
    return events


def as_rows(events):
    columns = (events.now, events.running, events.on_rq, events.label)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("stream", range(8))
def test_the_mails_task_is_that_of_the_known_answers(stream):
    hz = (100, 250, 300, 1000)[stream // 2]
    start = BASE + (0, 777_777)[stream % 2]
    wanted = select(load("pelt/events_in"), stream=stream)
    about = select(load("pelt/streams"), stream=stream)
    assert f"20ms/100ms nice0 HZ={hz} start_off_ns={start - BASE} " in about["description"].item()
    assert about["n"].item() == len(wanted["now_ns"])
    task = workload.periodic(20_000_000, 100_000_000, 20, hz=hz, start_ns=start)
    for field, column in (("now", "now_ns"), ("running", "running"), ("on_rq", "on_rq"), ("label", "label")):
        assert getattr(task, field).tolist() == wanted[column].tolist(), field


def test_types_and_phase_of_a_periodic_task():
    task = workload.periodic(20_000_000, 100_000_000, 3, hz=250)
    assert [task.now.dtype, task.running.dtype, task.on_rq.dtype, task.phase.dtype] == ["u8", "?", "?", "i8"]
    assert len({len(field) for field in vars(task).values()}) == 1
    assert not task.phase.any()


@given(
    run=st.integers(1, 40_000_000),
    idle=st.integers(0, 40_000_000),
    count=st.integers(0, 5),
    hz=st.sampled_from([12, 24, 100, 250, 300, 999, 1000, 1024, 12287]),
    offset=st.integers(0, 200_000_000),
    start=st.integers(0, 2**40),
    data=st.data(),
)
def test_periodic_is_the_definition(run, idle, count, hz, offset, start, data):
    pick = data.draw(st.integers(0, run - 1))
    task = workload.periodic(
        run, run + idle, count, hz=hz, tick_offset_ns=offset, start_ns=start, pick_ns=pick
    )
    enqueues = [start + i * (run + idle) for i in range(count)]
    assert as_rows(task) == plain(enqueues, [run] * count, hz, offset, pick)


@pytest.mark.parametrize(
    ("run", "ticks"),
    [(10_000_000, 2), (10_000_001, 3), (1_003_000, 0), (2_000_000, 0), (2_000_001, 1)],
)
def test_a_tick_at_the_dequeue_is_none_of_the_tasks(run, ticks):
    task = workload.periodic(run, 20_000_000, 1, hz=250, tick_offset_ns=2_000_000)
    assert np.count_nonzero(task.label == "tick") == ticks


@pytest.mark.parametrize(("pick", "ticks"), [(1_999_999, 1), (2_000_000, 0), (2_000_001, 0)])
def test_a_tick_at_the_pick_is_none_of_the_tasks(pick, ticks):
    task = workload.periodic(5_000_000, 20_000_000, 1, hz=250, tick_offset_ns=2_000_000, pick_ns=pick)
    assert np.count_nonzero(task.label == "tick") == ticks


def test_ticks_stand_still_when_the_start_moves():
    for start in (0, 1, 123_456_789):
        task = workload.periodic(20_000_000, 33_000_000, 9, hz=300, tick_offset_ns=1_500_000, start_ns=start)
        ticks = task.now[task.label == "tick"].astype(int)
        assert len(ticks) > 40
        assert set((ticks - 1_500_000) % 3_333_333) == {0}


@pytest.mark.parametrize(("period", "activations"), [(16_000_000, 125), (8_000_000, 250)])
def test_the_staircase_climbs_from_an_eighth_to_three_quarters_in_two_second_steps(period, activations):
    task = workload.staircase(hz=1000, period_ns=period, tick_offset_ns=333_333, start_ns=777)
    enqueues = [777 + i * period for i in range(6 * activations)]
    runs = [step * period // 8 for step in range(1, 7) for _ in range(activations)]
    assert as_rows(task) == plain(enqueues, runs, 1000, 333_333, 3000)
    assert task.phase[task.label == "enqueue"].tolist() == [
        step for step in range(6) for _ in range(activations)
    ]
    assert np.all(np.diff(task.phase) >= 0)


def test_a_percentage_is_taken_as_it_is_written():
    task = workload.staircase(hz=100, duty_pct=(33.3,), phase_ns=16_000_000)
    assert int(task.now[-1]) == 5_328_000


def test_a_phase_holds_whole_periods():
    task = workload.staircase(hz=100, duty_pct=(50,), phase_ns=47_999_999)
    assert np.count_nonzero(task.label == "enqueue") == 2


def test_no_activation_and_no_phase_give_no_event():
    for task in (workload.periodic(1, 1, 0, hz=250, pick_ns=0), workload.staircase(hz=250, duty_pct=())):
        assert [field.shape for field in vars(task).values()] == [(0,)] * 5
        assert task.now.dtype == np.uint64


@pytest.mark.parametrize("hz", TICK_NSEC)
def test_tick_nsec_is_the_kernels(hz):
    assert workload.tick_nsec(hz) == TICK_NSEC[hz]


def test_tick_nsec_rounds_to_the_nearest():
    assert [workload.tick_nsec(hz) for hz in (12, 64, 1024, 12287)] == [
        83_333_333,
        15_625_000,
        976_563,
        81_387,
    ]


GOOD = {"run_ns": 5, "period_ns": 9, "n": 2, "hz": 250, "tick_offset_ns": 0, "start_ns": 0, "pick_ns": 3}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("bad", [-1, 1.5, float("nan"), "3", None, 2**64, [1, 2]])
def test_periodic_refuses_and_names_the_argument(name, bad):
    arguments = GOOD | {name: bad}
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        workload.periodic(**arguments)


@pytest.mark.parametrize(
    ("name", "bad"),
    [("run_ns", 0), ("period_ns", 4), ("hz", 11), ("hz", 12288), ("pick_ns", 5), ("start_ns", 2**63 - 18)],
)
def test_periodic_refuses_what_is_just_outside(name, bad):
    workload.periodic(**GOOD)
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        workload.periodic(**GOOD | {name: bad})


def test_the_last_instant_of_the_clock_is_reached():
    task = workload.periodic(5, 9, 2, hz=250, start_ns=2**63 - 19, pick_ns=3)
    assert int(task.now[-1]) == 2**63 - 19 + 9 + 5


@pytest.mark.parametrize(
    "bad", [12.5, None, "12.5", (12.5, "x"), (0,), (-1,), (100.5,), (float("nan"),), (12.5, 1e-7), ((1, 2),)]
)
def test_staircase_refuses_a_duty_it_cannot_run(bad):
    with pytest.raises((ValueError, TypeError), match=r"^duty_pct"):
        workload.staircase(hz=250, duty_pct=bad)


@pytest.mark.parametrize(
    ("name", "bad"), [("period_ns", 0), ("phase_ns", 15_999_999), ("pick_ns", 2_000_000), ("start_ns", -1)]
)
def test_staircase_refuses_and_names_the_argument(name, bad):
    with pytest.raises(ValueError, match=rf"^{name}\b"):
        workload.staircase(**{"hz": 250, name: bad})
