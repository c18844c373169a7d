# SPDX-License-Identifier: GPL-2.0-only
"""Placement: shapes, threads, what is refused and how, timing."""

import concurrent.futures
import signal
import threading
import time

import numpy as np
import pytest

from schedpy import _core, eas, em
from schedpy.eas import cases, timing

PIXEL4 = em.EnergyModel.load("pixel4")


def many(shape):
    """Cases that differ in everything."""
    rng = np.random.default_rng(20210428)
    task = eas.task(
        prev_cpu=rng.integers(0, 8, shape),
        util_avg=rng.integers(0, 700, shape),
        affinity=rng.integers(1, 256, shape),
    )
    cpus = eas.idle_cpus(PIXEL4, shape)
    cpus["util_avg"] = rng.integers(0, 300, cpus.shape)
    return task, cpus


def same(ours, theirs):
    for field in ("target", "calls", "count", "state"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))


@pytest.mark.parametrize("method", ["walk", "lut"])
def test_placements_of_any_shape_are_those_of_the_cases_alone(method):
    task, cpus = many((3, 5))
    how = {"kernel": "5.12", "method": method}
    whole = eas.find_energy_efficient_cpu(PIXEL4, task, cpus, **how)
    assert whole.target.shape == whole.count.shape == (3, 5)
    assert whole.calls.shape == whole.state.shape == (3, 5, 9)
    for i in np.ndindex(3, 5):
        alone = eas.find_energy_efficient_cpu(PIXEL4, task[i], cpus[i], **how)
        assert alone.target == whole.target[i]
        assert np.shape(alone.target) == np.shape(alone.count) == ()
        np.testing.assert_array_equal(alone.calls, whole.calls[i])

    turned = eas.find_energy_efficient_cpu(PIXEL4, task[::-1, ::2], cpus[::-1, ::2], **how)
    np.testing.assert_array_equal(turned.target, whole.target[::-1, ::2])
    fortran = eas.find_energy_efficient_cpu(PIXEL4, task, np.asfortranarray(cpus), **how)
    same(fortran, whole)
    spread = eas.find_energy_efficient_cpu(PIXEL4, task[0], np.broadcast_to(cpus[:1], (3, 5, 8)), **how)
    for row in spread.calls:
        np.testing.assert_array_equal(row, whole.calls[0])
    for threads in (2, 3, 100):
        same(eas.find_energy_efficient_cpu(PIXEL4, task, cpus, threads=threads, **how), whole)
    empty = eas.find_energy_efficient_cpu(PIXEL4, task[:, :0], cpus[:, :0], **how, threads=2)
    assert empty.target.shape == (3, 0)
    assert empty.calls.shape == (3, 0, 9)


def test_fields_are_matched_by_name_in_any_order_and_type():
    task, cpus = many((4,))
    expected = eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel="5.12")
    turned = np.zeros(
        4,
        dtype=[(name, "i4") for name in reversed(eas.TASK.names) if name != "affinity"]
        + [("affinity", ">u8")],
    )
    for name in eas.TASK.names:
        turned[name] = task[name]
    packed = cpus.astype(np.dtype([(name, eas.CPU[name].newbyteorder(">")) for name in eas.CPU.names]))
    same(eas.find_energy_efficient_cpu(PIXEL4, turned, packed, kernel="5.12"), expected)
    memory = np.zeros(cpus.nbytes + 1, dtype=np.uint8)[1:].view(eas.CPU).reshape(cpus.shape)
    memory[...] = cpus
    same(eas.find_energy_efficient_cpu(PIXEL4, task, memory, kernel="5.12"), expected)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"model": "pixel4"}, TypeError, r"^model is str: must be an EnergyModel"),
        ({"task": 3}, TypeError, r"^task must be a structured array of the fields prev_cpu, "),
        ({"task": np.zeros(2, [("prev_cpu", "u8")])}, TypeError, r"^task: field 'affinity' is missing"),
        ({"task": eas.task(prev_cpu=[0, 8])}, ValueError, r"^task prev_cpu\[1\] = 8: must be 0 .. 7"),
        ({"cpus": eas.idle_cpus(PIXEL4)[:7]}, ValueError, r"^cpus has shape \(7,\)"),
        ({"cpus": eas.idle_cpus(PIXEL4)[0]}, ValueError, r"^cpus has shape \(\)"),
        (
            {"cpus": eas.idle_cpus(PIXEL4, 3)},
            ValueError,
            r"^leading dimensions do not broadcast: task \(2,\)",
        ),
        ({"uclamp_used": 2}, ValueError, r"^uclamp_used = 2"),
        ({"overutilized": 0.5}, TypeError, r"^overutilized"),
        ({"domain_mask": -1}, ValueError, r"^domain_mask = -1"),
        ({"threads": 0}, ValueError, r"^threads = 0"),
    ],
)
def test_bad_cases_are_refused_by_name(change, error, message):
    given = {"model": PIXEL4, "task": eas.task(prev_cpu=[0, 7]), "cpus": eas.idle_cpus(PIXEL4)} | change
    with pytest.raises(error, match=message):
        eas.find_energy_efficient_cpu(**given, kernel="5.12")


def test_clamps_above_1024_are_refused():
    with pytest.raises(ValueError, match=r"^uclamp_max = 1025: must be 0 .. 1024"):
        eas.task(uclamp_max=1025)
    cpus = eas.idle_cpus(PIXEL4)
    cpus["uclamp_min"][3] = 2000
    with pytest.raises(ValueError, match=r"^cpus uclamp_min\[3\] = 2000"):
        eas.find_energy_efficient_cpu(PIXEL4, eas.task(), cpus, kernel="5.12")


def test_tasks():
    task = eas.task(prev_cpu=[[1], [2]], util_avg=[10, 20, 30])
    assert task.shape == (2, 3)
    assert task["util_est"][0].tolist() == task["runnable_avg"][0].tolist() == [10, 20, 30]
    assert set(task["uclamp_max"].flat) == {1024}
    assert set(task["affinity"].flat) == {2**64 - 1}
    assert eas.task().shape == ()
    assert eas.task(util_avg=[]).shape == (0,)
    with pytest.raises(TypeError, match=r"^weight is no field of a task"):
        eas.task(weight=3)
    with pytest.raises(ValueError, match=r"^prev_cpu = 64: must be 0 .. 63"):
        eas.task(prev_cpu=64)
    with pytest.raises(ValueError, match="do not broadcast"):
        eas.task(prev_cpu=[1, 2], util_avg=[1, 2, 3])


def test_cpus_that_a_model_leaves_out_are_offline():
    model = em.EnergyModel([em.PerfDomain("one", [1, 3], [1000, 2000], [1, 3], unit="mW", capacity=512)])
    cpus = eas.idle_cpus(model, (2,))
    assert cpus.shape == (2, 4)
    assert cpus[1]["online"].tolist() == [False, True, False, True]
    assert cpus[1]["capacity_of"].tolist() == [0, 512, 0, 512]
    assert eas.idle_cpus(model, 3).shape == (3, 4)
    with pytest.raises(ValueError, match=r"^shape\[1\] = -1"):
        eas.idle_cpus(model, (2, -1))
    with pytest.raises(TypeError, match=r"^shape"):
        eas.idle_cpus(model, 1.5)


CLOSE = em.EnergyModel(
    [
        em.PerfDomain("far", [0], [1000, 2000], [1, 3], unit="mW", capacity=300),
        em.PerfDomain("close", [1], [1_000_000, 1_000_500, 1_001_000], [1, 2, 3], unit="mW", capacity=1024),
    ]
)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_look_up_that_leaves_the_table_names_case_domain_and_request(threads):
    cpus = eas.idle_cpus(CLOSE, (2, 3))
    util = next(
        u for u in range(1024) if 1_000_500 < em.map_util_freq(u, 1_001_000, 1024, kernel="5.12") < 1_001_000
    )
    cpus["util_avg"][1, 2, 1] = util
    how = {"kernel": "5.12", "method": "lut", "threads": threads}
    with pytest.raises(ValueError, match=r"^task\[1, 2\]: the request of 1000\d+ kHz .* of domain 'close'$"):
        eas.find_energy_efficient_cpu(CLOSE, eas.task(), cpus, **how)
    eas.find_energy_efficient_cpu(CLOSE, eas.task(), cpus[:1], **how)
    if threads == 1:
        with pytest.raises(ValueError, match=r"^task\[2\]: the request of"):
            eas.time_placements(CLOSE, eas.task(), cpus[1], kernel="5.12")
        eas.time_placements(CLOSE, eas.task(), cpus[1], kernel="5.12", arms=["walk"])


def test_other_threads_run_meanwhile():
    """The GIL is released: a thread counts while placements are computed."""
    task, cpus = many((60_000,))
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.0002)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        job = pool.submit(count)
        before = counted[0]
        eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel="5.12")
        during = counted[0] - before
        stop.set()
        job.result()
    assert during > 5


def test_a_signal_ends_a_long_call():
    def interrupt(*_):
        raise KeyboardInterrupt

    task, cpus = eas.task(util_avg=100), eas.idle_cpus(PIXEL4)
    before = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            eas.find_energy_efficient_cpu(PIXEL4, np.broadcast_to(task, 10_000_000), cpus, kernel="5.12")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 3


def order_of(n, arms, seed=1):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(arms), (n, 1)), axis=1)


ALL_ARMS = ("walk", "lut", "bins", "search", "direct", "held", "chained", "walk")


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"batch": 7},
        {"caches": "cold"},
        {"caches": "cold", "evict": ["entries", "run queues"]},
        {"caches": "shared"},
        {"caches": "shared", "working_set": 100_000},
    ],
)
def test_every_arm_chooses_what_the_placement_chooses(how):
    """On the Pixel 4 walk and table agree; every cell is filled, whatever the order."""
    task, cpus = many((50,))
    placed = eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel="5.12")
    times = eas.time_placements(
        PIXEL4, task, cpus, kernel="5.12", arms=ALL_ARMS, order=order_of(50, 8), **how
    )
    assert times.target.tolist() == [[target] * 8 for target in placed.target]
    assert times.ticks.shape == (50, 8)
    assert times.ticks.dtype == np.uint64
    assert (times.ticks > 0).all()
    assert times.retimed >= 0
    assert times.disturbed >= 0


def test_what_cannot_be_timed():
    task, cpus = many((50,))

    def times(**how):
        return eas.time_placements(PIXEL4, task, cpus, **{"kernel": "5.12"} | how)

    assert eas.time_placements(PIXEL4, task[:0], cpus[:0], kernel="5.12").ticks.shape == (0, 3)
    with pytest.raises(ValueError, match=r"^arms\[1\] = 'table'"):
        times(arms=("walk", "table"))
    for arms in ((), ("walk",) * 17):
        with pytest.raises(ValueError, match=rf"^arms has {len(arms)}: must be 1 .. 16"):
            times(arms=arms)
    with pytest.raises(ValueError, match=r"^order has shape \(3,\)"):
        times(order=[0, 1, 2])
    order = order_of(50, 3)
    order[7] = [0, 0, 2]
    with pytest.raises(ValueError, match=r"^order\[7\] = \[0, 0, 2\]: must be a permutation"):
        times(order=order)
    with pytest.raises(ValueError, match=r"^the cases have shape \(5, 10\)"):
        eas.time_placements(PIXEL4, task.reshape(5, 10), cpus.reshape(5, 10, 8), kernel="5.12")
    with pytest.raises(ValueError, match=r"^kernel = '5.13': em.lut"):
        times(kernel="5.13")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"caches": "hot"}, r"^caches = 'hot': must be one of 'warm', 'cold', 'shared'"),
        ({"batch": 0}, r"^batch = 0"),
        ({"caches": "cold", "batch": 2}, r"^batch = 2: the second call finds warm caches"),
        ({"caches": "shared", "batch": 2}, r"^batch = 2: the second call"),
        ({"working_set": 4096}, r'^working_set: is walked with caches="shared" alone, not "warm"'),
        ({"caches": "cold", "working_set": 4096}, r"^working_set: is walked"),
        ({"caches": "shared", "working_set": 63}, r"^working_set = 63"),
        ({"caches": "shared", "evict": ["held"]}, r'^evict: is thrown out with caches="cold" alone'),
        ({"caches": "cold", "evict": []}, r"^evict is empty: must be of states, entries, held"),
        ({"caches": "cold", "evict": ["table"]}, r"^evict\[0\] = 'table': must be one of 'states'"),
    ],
)
def test_caches_that_do_not_fit_together(how, message):
    task, cpus = many((5,))
    with pytest.raises(ValueError, match=message):
        eas.time_placements(PIXEL4, task, cpus, kernel="5.12", **how)


def test_without_an_instruction_for_it_the_caches_are_walked_out(monkeypatch, tmp_path):
    """Twice the largest cache that Linux tells of."""
    task, cpus = many((5,))
    for index, size in enumerate(("48K", "2048K", "64K")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size + "\n", encoding="ascii")
    walked = []
    real = _core.time_placements

    def time_placements(*args):
        walked.append((args[9], args[10].nbytes))
        return real(*args)

    monkeypatch.setattr(_core, "EAS_CAN_EVICT", False)
    monkeypatch.setattr(_core, "time_placements", time_placements)
    monkeypatch.setattr(timing, "_SIZES", tmp_path)
    times = eas.time_placements(PIXEL4, task, cpus, kernel="5.12", caches="cold")
    assert walked == [(0, 2 * 2048 * 1024)]
    assert (times.ticks > 0).all()
    with pytest.raises(ValueError, match=r"^evict: this processor has no instruction"):
        eas.time_placements(PIXEL4, task, cpus, kernel="5.12", caches="cold", evict=["held"])
    monkeypatch.setattr(timing, "_SIZES", tmp_path / "none")
    assert timing._largest_cache() == 64 * 2**20


def test_an_arm_that_waits_takes_longer():
    """Ticks land in the column of their arm, whatever the order: 4000 states against one bin."""
    freq = np.arange(1, 4001) * 2048
    model = em.EnergyModel(
        [em.PerfDomain("long", [0, 1], freq, np.arange(1, 4001), unit="mW", capacity=1024)]
    )
    cpus = eas.idle_cpus(model, 200)
    cpus["util_avg"][:, 1] = 800
    times = eas.time_placements(
        model, eas.task(util_avg=800), cpus, kernel="5.12", arms=("lut", "walk"), order=order_of(200, 2)
    )
    lut, walk = times.ticks.T
    assert (walk > 3 * lut).mean() > 0.9


def test_a_signal_ends_a_long_timing():
    def interrupt(*_):
        raise KeyboardInterrupt

    task, cpus = many((100_000,))
    before = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            eas.time_placements(PIXEL4, task, cpus, kernel="5.12", caches="shared", working_set=2**24)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("wrong", ["entries", "order", "arm"])
def test_the_core_refuses_what_would_be_read_past(wrong):
    """Whoever goes round the face gets an error, too."""
    domains = cases.core_model(PIXEL4, "5.12", "lut", False)
    reads, _ = cases.operands(PIXEL4, *many((4,)), None, False, False)
    order, arms = np.zeros((4, 1), dtype=np.int64), ("walk",)
    if wrong == "entries":
        mask, capacity, table, entries, first, shift, skip, ways = domains[0]
        domains = ((mask, capacity, table, entries[:-1].copy(), first, shift, skip, ways), *domains[1:])
    elif wrong == "order":
        order = order[:3]
    else:
        arms = ("march",)
    with pytest.raises(ValueError, match=r"one of its states|one row per case|no arm march"):
        _core.time_placements(
            *(domains, 8, *reads, arms, order, 0, np.ones(0, dtype=np.uint8), 1),
            *(np.empty((4, 1), dtype=np.uint64), np.empty((4, 1), dtype=np.int64)),
        )


def test_every_way_to_a_state_is_timed():
    """A walk over 128 states is longer than any other way."""
    freqs = [1_000_000 + 20_000 * i for i in range(128)]
    big = em.PerfDomain("a", range(8), freqs, range(1, 129), unit="mW", capacity=1024)
    model = em.EnergyModel([big])
    cpus = eas.idle_cpus(model, 300)
    arms = ("walk", "lut", "bins", "search", "direct", "walk")
    order = np.random.default_rng(3).permuted(np.tile(np.arange(6), (300, 1)), axis=1)
    ticks = eas.time_placements(
        model, eas.task(util_avg=800), cpus, kernel="5.12", arms=arms, order=order
    ).ticks
    assert ticks.shape == (300, 6)
    walk, *others, _ = np.median(ticks, axis=0)
    assert all(other < walk for other in others)


def test_pressure_above_a_capacity_is_refused_where_it_counts():
    cpus = eas.idle_cpus(PIXEL4, 3)
    cpus["pressure"][2, 5] = 872
    task = eas.task(util_avg=100)
    with pytest.raises(ValueError, match=r"^cpus pressure\[2, 5\] = 872: must be at most 871$"):
        eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel="6.1")
    eas.find_energy_efficient_cpu(PIXEL4, task, cpus, kernel="5.12")
    same = np.broadcast_to(cpus[2, 5:6], (4, 8))
    with pytest.raises(ValueError, match=r"^cpus pressure\[0, 0\] = 872: must be at most 261$"):
        eas.find_energy_efficient_cpu(PIXEL4, task, same, kernel="6.1")


def test_no_value_out_of_range_slips_through():
    """The core looks at every case in one pass: each field, each kernel, wherever the value is."""
    task, cpus = many(9)
    cpus["pressure"] = cpus["capacity_of"]
    for kernel in ("5.12", "5.13", "6.1", "6.12", "7.3"):
        for threads in (1, 2):
            how = {"kernel": kernel, "threads": threads}
            eas.find_energy_efficient_cpu(PIXEL4, task, cpus, **how)
            for field, high in (("prev_cpu", 7), ("uclamp_min", 1024), ("uclamp_max", 1024)):
                for at in (0, 4, 8):
                    wrong = task.copy()
                    wrong[field][at] = high + 1
                    message = rf"^task {field}\[{at}\] = {high + 1}: must be 0 .. {high}$"
                    with pytest.raises(ValueError, match=message):
                        eas.find_energy_efficient_cpu(PIXEL4, wrong, cpus, **how)
            for field, high in (("uclamp_min", 1024), ("uclamp_max", 1024), ("pressure", None)):
                for at in ((0, 0), (4, 6), (8, 7)):
                    wrong = cpus.copy()
                    most = int(cpus["capacity_of"][at]) if high is None else high
                    wrong[field][at] = most + 1
                    if high is None and kernel.startswith("5"):
                        eas.find_energy_efficient_cpu(PIXEL4, task, wrong, **how)
                        continue
                    message = rf"^cpus {field}\[{at[0]}, {at[1]}\] = {most + 1}: must be "
                    with pytest.raises(ValueError, match=message):
                        eas.find_energy_efficient_cpu(PIXEL4, task, wrong, **how)


def test_a_row_of_cpus_for_many_tasks_is_looked_at_too():
    task, cpus = many(9)
    cpus["uclamp_max"][3, 5] = 2000
    with pytest.raises(ValueError, match=r"^cpus uclamp_max\[5\] = 2000"):
        eas.find_energy_efficient_cpu(PIXEL4, task, cpus[3], kernel="6.1")
    eas.find_energy_efficient_cpu(PIXEL4, task, cpus[2], kernel="6.1")
    rows = np.broadcast_to(cpus[2:4, np.newaxis], (2, 9, 8))
    with pytest.raises(ValueError, match=r"^cpus uclamp_max\[1, 0, 5\] = 2000"):
        eas.find_energy_efficient_cpu(PIXEL4, task, rows, kernel="6.1")


def test_a_range_is_refused_before_the_end_of_the_patchs_table_is():
    close = em.PerfDomain("a", [0], [1_000_000, 1_000_300, 1_001_000], [1, 2, 3], unit="mW", capacity=1024)
    model = em.EnergyModel([close])
    task = eas.task(util_avg=[818, 1])
    task["uclamp_max"][1] = 1025
    with pytest.raises(ValueError, match=r"^task uclamp_max\[1\] = 1025"):
        eas.find_energy_efficient_cpu(model, task, eas.idle_cpus(model), kernel="5.12", method="lut")


def test_ranges_of_no_case_are_looked_at():
    task = eas.task(util_avg=5)
    task["uclamp_max"] = 1025
    with pytest.raises(ValueError, match=r"^task uclamp_max = 1025"):
        eas.find_energy_efficient_cpu(PIXEL4, task, eas.idle_cpus(PIXEL4, 0), kernel="5.12")


def test_timings_look_at_ranges_first():
    task = eas.task(util_avg=[5, 6])
    task["uclamp_min"][1] = 1025
    with pytest.raises(ValueError, match=r"^task uclamp_min\[1\] = 1025"):
        eas.time_placements(PIXEL4, task, eas.idle_cpus(PIXEL4), kernel="5.12", arms=("walk",))
