# SPDX-License-Identifier: GPL-2.0-only
"""The running kernel as a witness: wrong steps are found, and this kernel obeys the rule."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from schedpy import __main__ as command_line
from schedpy import live, pelt
from schedpy.live import recording as recording_module
from schedpy.live import workloads

TEXT = """\
cat (20506, #threads: 1)
-------------------------------------------------------------------
se.exec_start                                :       3149799.042005
se.vruntime                                  :           180.550401
se.nr_migrations                             :                    3
nr_switches                                  :                    1
nr_voluntary_switches                        :                    0
nr_involuntary_switches                      :                    1
se.load.weight                               :              1048576
se.avg.load_sum                              :                47176
se.avg.runnable_sum                          :             24878600
se.avg.util_sum                              :             23832942
se.avg.load_avg                              :                 1024
se.avg.runnable_avg                          :                  527
se.avg.util_avg                              :                  505
se.avg.last_update_time                      :        3149799041024
se.avg.util_est                              :                    0
policy                                       :                    0
current_node=0, numa_group_id=0
"""

TICK = 4_000_256  # a whole number of units, about 4 ms
START = 3_000_000_000_000 // 1024 * 1024
RAN, WAITED, SLEPT = (True, True), (False, True), (False, False)


# ---- readings


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A /proc/PID/sched that says what the test writes."""
    path = tmp_path / "sched"
    monkeypatch.setattr(recording_module, "_path", lambda pid: str(path))
    return path


def test_a_reading_holds_the_kernels_integers(proc):
    proc.write_text(TEXT)
    assert live.read() == live.Reading(
        last_update_time=3149799041024,
        load_sum=47176,
        runnable_sum=24878600,
        util_sum=23832942,
        load_avg=1024,
        runnable_avg=527,
        util_avg=505,
        weight=1048576,
        nr_switches=1,
        nr_migrations=3,
    )


def test_older_kernels_call_it_runnable_load(proc):
    proc.write_text(TEXT.replace("runnable_", "runnable_load_"))
    assert (live.read().runnable_sum, live.read().runnable_avg) == (24878600, 527)


def test_what_a_kernel_need_not_print_is_none(proc):
    kept = [line for line in TEXT.splitlines() if "runnable" not in line and "migrations" not in line]
    proc.write_text("\n".join(kept) + "\n")
    reading = live.read()
    assert (reading.runnable_sum, reading.runnable_avg, reading.nr_migrations) == (None, None, None)
    assert live.watch(seconds=0.01).readings["runnable_sum"].tolist() == [0]


def test_a_sum_printed_as_a_negative_number_is_unsigned(proc):
    proc.write_text(TEXT.replace("         47176", "            -1"))
    assert live.read().load_sum == 2**64 - 1


def test_a_task_may_have_any_name(proc):
    proc.write_text(TEXT.replace("cat (", "\nnr_switches:9\n (", 1))
    assert live.read().nr_switches == 1


@pytest.mark.parametrize(
    "field", ["nr_switches", "se.load.weight", "se.avg.util_sum", "se.avg.last_update_time"]
)
def test_an_absent_field_is_named_with_the_file(proc, field):
    proc.write_text("\n".join(line for line in TEXT.splitlines() if not line.startswith(field + " ")))
    for function in (live.read, live.watch):
        with pytest.raises(ValueError, match=f"{proc}: no field {field}"):
            function()


def test_an_absent_file_is_named(proc):
    for function in (live.read, live.watch):
        with pytest.raises(FileNotFoundError, match=f"CONFIG_SCHED_DEBUG.*{proc}"):
            function()
    with pytest.raises(FileNotFoundError, match="no such task"):
        recording_module._opened(str(proc.parent / "none/sched")).__enter__()


@pytest.mark.parametrize(
    ("pid", "error"), [(0, ValueError), (-3, ValueError), ("init", TypeError), (1.5, TypeError)]
)
def test_a_pid_is_a_positive_integer(pid, error):
    with pytest.raises(error, match="pid"):
        live.read(pid)


@pytest.mark.parametrize(
    ("seconds", "error"), [(0, ValueError), (-1, ValueError), (float("nan"), ValueError), ("5", TypeError)]
)
def test_seconds_are_a_time_above_zero(seconds, error):
    for function in (live.watch, lambda seconds: live.watch_workload("spin", seconds)):
        with pytest.raises(error, match="seconds"):
            function(seconds=seconds)


def test_an_unknown_workload_is_refused():
    with pytest.raises(ValueError, match="workload = 'sleep'"):
        live.watch_workload("sleep")


def test_of_readings_with_one_stamp_the_last_is_kept(proc, monkeypatch):
    proc.write_text(TEXT)
    new = TEXT.replace("3149799041024", "3149803041280")
    torn = [TEXT, TEXT, new, new.replace("23832942", "24000000"), new.replace("23832942", "24000000")]
    pages = iter([TEXT, *torn])

    def pread(descriptor, size, offset):
        try:
            return next(pages).encode()
        except StopIteration:
            raise ProcessLookupError from None

    monkeypatch.setattr(os, "pread", pread)
    recording = live.watch(1, seconds=60)
    assert recording.readings["util_sum"].tolist() == [23832942, 24000000]
    assert recording.readings["reads"].tolist() == [2, 3]
    assert recording.reads == 5
    assert recording.pid == 1


# ---- recordings made by the rule


def trajectory(flags, gaps, *, kernel="6.1", weight=1024, start_contrib=300, warm=400, **constants):
    """A recording of a task: one update per gap (units) with the flags of its time."""
    state = pelt.initial_state(last_update_time=START, period_contrib=start_contrib)
    now = START + np.arange(1, warm + 1) * TICK
    state = pelt.track(now, kernel=kernel, running=True, weight=weight, state=state, **constants).state
    now = int(state["last_update_time"]) + 1024 * np.cumsum(gaps)
    running, on_rq = np.array(flags).T
    history = pelt.track(
        now,
        kernel=kernel,
        running=running,
        on_rq=on_rq,
        weight=weight,
        state=state,
        fields=pelt.STATE.names,
        **constants,
    ).history
    readings = np.zeros(len(gaps) + 1, live.READING)
    for name in pelt.STATE.names:
        if name in live.READING.names:
            readings[name][0] = state[name]
            readings[name][1:] = history[name]
    readings["weight"] = weight << 10
    readings["reads"] = 100
    contrib = [int(state["period_contrib"]), *history["period_contrib"].tolist()]
    return live.Recording(
        readings, 1, "made", 1.0, 100 * len(readings), "Linux", kernel, "x86_64", 250
    ), contrib


def mixed(n=200, seed=1, **keywords):
    """A task that runs, waits and sleeps, for units of all sizes."""
    random = np.random.default_rng(seed)
    flags = [(RAN, WAITED, SLEPT)[i] for i in random.choice(3, n, p=[0.6, 0.2, 0.2])]
    gaps = random.choice([1, 3, 40, 511, 512, 700, 1023, 1024, 3906, 9000], n)
    return trajectory(flags, gaps, **keywords)


@pytest.mark.parametrize("kernel", ["4.12", "4.13", "4.14", "4.15", "5.4", "5.8", "6.18"])
def test_every_step_of_the_rule_is_exact(kernel):
    recording, contrib = mixed(kernel=kernel)
    found = live.verify(recording)
    assert (found.kernel, found.steps, found.exact, found.unexplained) == (kernel, 200, 200, 0)
    assert found.unswitched == found.exact_unswitched == 200
    assert found.period_contrib == (contrib[0],)
    assert [(c.first, c.last, c.begins, c.candidates) for c in found.chains] == [(0, 200, "first reading", 1)]


def test_the_flags_are_found():
    recording, _ = trajectory([RAN, WAITED, SLEPT] * 10, [2000] * 30)
    found = live.verify(recording)
    assert found.running.tolist() == [True, False, False] * 10
    assert found.on_rq.tolist() == found.runnable.tolist() == [True, True, False] * 10


@pytest.mark.parametrize(("nice", "kernel"), [(5, "6.1"), (-20, "6.1"), (19, "4.13")])
def test_a_weight_is_taken_as_the_kernel_scales_it(nice, kernel):
    recording, _ = mixed(weight=int(pelt.nice_to_weight(nice)), kernel=kernel)
    assert live.verify(recording).exact == 200
    recording.readings["weight"] += 1024
    assert live.verify(recording).exact < 150


def test_the_smallest_weight_is_two_from_5_7_on():
    recording, _ = mixed(weight=2)
    recording.readings["weight"] = 1024
    assert live.verify(recording).exact == 200
    recording, _ = mixed(weight=1, kernel="5.4")
    assert live.verify(recording).exact == 200


@pytest.mark.parametrize(
    "field", ["load_sum", "runnable_sum", "util_sum", "load_avg", "runnable_avg", "util_avg"]
)
@pytest.mark.parametrize("by", [1, -1, 5000])
def test_a_wrong_value_is_never_exact(field, by):
    """What is off by rounding alone may be two updates, but not one; what is further off is unexplained."""
    recording, _ = trajectory([RAN, RAN, WAITED, SLEPT] * 10, [3906] * 40)
    recording.readings[field][20] = int(recording.readings[field][20]) + by
    found = live.verify(recording)
    wrong = [19, 20] if field.endswith("_sum") else [19]  # an average is overwritten by the next refresh
    assert found.before[found.kind != 0].tolist() == wrong
    assert found.exact == found.exact_unswitched == 40 - len(wrong)
    if by == 5000:
        assert found.unexplained == len(wrong)


def test_a_kernel_that_added_a_unit_too_many_is_seen_there():
    recording, _ = trajectory([RAN] * 40, [3906] * 20 + [3907] + [3906] * 19)
    recording.readings["last_update_time"][21:] -= np.uint64(1024)
    found = live.verify(recording)
    assert 20 in found.before[found.kind != 0]
    assert found.exact < 40


def test_another_kernels_rule_explains_nothing():
    recording, _ = mixed(kernel="5.8")
    found = live.verify(recording, kernel="5.4")
    assert (found.kernel, found.form) == ("5.4", "P51")
    assert found.exact < 50  # a sleep that ends within its window changes nothing in either
    assert live.verify(recording, half_life=16).exact < 100
    assert live.verify(recording, update_threshold=128).exact < 200


def merged(recording, *gone, switch=True):
    """The recording without some readings: the steps across them hide an update more."""
    readings = np.delete(recording.readings, gone)
    if switch:
        for at in gone:
            readings["nr_switches"][at - gone.index(at) :] += np.uint64(1)
    return replace(recording, readings=readings)


@pytest.mark.parametrize("flags", [(RAN, WAITED), (SLEPT, WAITED), (WAITED, RAN), (RAN, RAN), (RAN, SLEPT)])
@pytest.mark.parametrize("gaps", [(1, 1), (3, 1500), (2500, 2), (3000, 4000), (60_000, 9)])
def test_two_updates_between_two_readings_are_found(flags, gaps):
    pair = list(flags)
    recording, _ = trajectory([RAN] * 20 + pair + [RAN] * 20, [3906] * 20 + list(gaps) + [3906] * 20)
    found = live.verify(merged(recording, 21))
    assert (found.steps, found.unexplained) == (41, 0)
    assert found.switched.tolist() == [False] * 20 + [True] + [False] * 20
    one_is_enough = found.exact == 41  # two updates of the same flags may do what one does
    assert one_is_enough or (found.exact, found.two_updates) == (40, 1)
    if flags[0] != flags[1] and gaps in ((3000, 4000), (2500, 2)):
        middle = int(recording.readings["last_update_time"][21])
        assert abs(int(found.between[20]) - middle) <= 2 * 1024
        assert (found.running[20], found.on_rq[20]) == flags[1]


def test_three_hidden_updates_stay_unexplained_and_the_chain_goes_on():
    flags = [RAN] * 20 + [RAN, SLEPT, WAITED] + [RAN] * 20
    recording, contrib = trajectory(flags, [3906] * 20 + [2000, 5000, 1000] + [3906] * 20)
    found = live.verify(merged(recording, 21, 22))
    assert (found.exact, found.two_updates, found.unexplained) == (40, 0, 1)
    assert found.period_contrib == (contrib[0],)


def test_a_torn_reading_is_told_and_skipped():
    recording, _ = trajectory([RAN] * 40, [3906] * 40)
    torn = recording.readings[20].copy()
    torn["last_update_time"] = recording.readings["last_update_time"][21]
    torn["reads"] = 1
    recording.readings[21] = torn
    found = live.verify(recording)
    assert found.torn.tolist() == [21]
    assert found.steps == 39
    assert (found.before[20], found.after[20]) == (20, 22)
    assert found.steps + len(found.chains) + len(found.torn) == len(recording.readings)


@pytest.mark.parametrize("at", [0, 40])
def test_the_first_and_the_last_reading_may_be_torn(at):
    recording, _ = trajectory([RAN] * 40, [3906] * 40)
    recording.readings["util_sum"][at] -= np.uint64(5000)
    recording.readings["reads"][at] = 1
    found = live.verify(recording)
    assert (found.exact, found.steps, found.torn.tolist()) == (39, 39, [at])


def test_a_reading_seen_once_is_no_excuse_when_the_next_step_follows_from_it():
    """A kernel that lost some of a sum and goes on by the rule from there."""
    recording, contrib = trajectory([RAN] * 20, [3906] * 20)
    state = pelt.initial_state(
        **{name: recording.readings[name][20] for name in pelt.STATE.names if name in live.READING.names},
        period_contrib=contrib[20],
    )
    state["util_sum"] -= np.uint64(10_000_000)
    recording.readings["util_sum"][20] = state["util_sum"]
    now = int(state["last_update_time"]) + 1024 * 3906 * np.arange(1, 21)
    history = pelt.track(now, kernel="6.1", running=True, state=state, fields=pelt.STATE.names).history
    after = np.repeat(recording.readings[20:21], 20)
    for name in set(pelt.STATE.names) & set(live.READING.names):
        after[name] = history[name]
    readings = np.concatenate([recording.readings, after])
    readings["reads"][20] = 1
    found = live.verify(replace(recording, readings=readings))
    assert found.torn.tolist() == []
    assert found.before[found.kind == 2].tolist() == [19]
    assert found.exact == 39


def test_new_chains_where_the_clock_or_the_state_is_another():
    pieces = [mixed(n=60, seed=seed, start_contrib=seed * 100)[0].readings for seed in range(1, 6)]
    for piece, shift in zip(pieces, (1000, 0, 2000, 3000, 4000), strict=True):
        piece["last_update_time"] += np.uint64(shift * 1_024_000)
    pieces[2]["last_update_time"] += np.uint64(1)
    pieces[3]["last_update_time"] += np.uint64(1)
    for piece in pieces[3:]:
        piece["nr_migrations"] = 1
    pieces[4]["weight"] += np.uint64(1)
    pieces[4]["last_update_time"] += np.uint64(1)
    pieces.append(np.zeros(1, live.READING))
    recording = live.Recording(np.concatenate(pieces), 1, "made", 1, 1, release="6.1")
    found = live.verify(recording)
    assert [(chain.first, chain.begins) for chain in found.chains] == [
        (0, "first reading"),
        (61, "clock went back"),
        (122, "no whole units"),
        (183, "migrated"),
        (244, "another weight"),
        (305, "no stamp"),
    ]
    assert (found.exact, found.steps) == (300, 300)
    assert len(set(found.period_contrib[:5])) == 5
    assert found.period_contrib[5] is None


def test_readings_without_steps():
    recording, _ = trajectory([RAN], [3906])
    for n, chains in ((0, 0), (1, 1)):
        found = live.verify(replace(recording, readings=recording.readings[:n]))
        assert (found.steps, len(found.chains), found.exact) == (0, chains, 0)
        assert "0 steps" in str(found)


def test_values_that_agree_equally_are_counted_and_the_aligned_one_is_taken():
    """Steps within one window tell little of where it ends."""
    recording, contrib = trajectory([WAITED] * 2, [1, 1], start_contrib=0, warm=0)
    found = live.verify(recording)
    assert found.exact == 2
    assert found.chains[0].candidates > 900
    assert found.period_contrib == (START // 1024 % 1024,) or found.period_contrib == (contrib[0],)


@pytest.mark.parametrize("weight", [1024, 335])
@pytest.mark.parametrize("current", [False, True])
@pytest.mark.parametrize("gap", [5, 5000])
def test_a_delayed_dequeue_counts_for_the_load_alone_from_6_12_on(weight, current, gap):
    """load_sum goes on as if it waited, runnable_sum as if it slept; util_sum too once it is not current."""
    made = {}
    for name, flags in (("load", WAITED), ("runnable", SLEPT), ("util", RAN if current else SLEPT)):
        made[name], _ = trajectory([RAN] * 20 + [flags], [3906] * 20 + [gap], weight=weight)
    mixture = made["load"]
    for name in ("runnable", "util"):
        for field in (f"{name}_sum", f"{name}_avg"):
            mixture.readings[field][21] = made[name].readings[field][21]
    found = live.verify(mixture, kernel="6.18")
    assert found.exact == 21
    assert (found.running[20], found.runnable[20], found.on_rq[20]) == (current, False, True)
    assert live.verify(mixture, kernel="6.8").exact == 20


# ---- which PELT


@pytest.mark.parametrize(
    ("kernel", "half_life", "load_avg_max", "threshold"),
    [
        ("4.12", 32, 47742, 0),
        ("4.15", 32, 47742, 512),
        ("5.8", 32, 47742, 0),
        ("5.8", 32, 47742, 128),
        ("5.8", 16, 24130, 0),
        ("5.8", 16, 24152, 512),
        ("5.8", 8, 12337, 0),
    ],
)
def test_the_pelt_that_made_the_data_is_identified(kernel, half_life, load_avg_max, threshold):
    recording, _ = mixed(
        kernel=kernel, half_life=half_life, load_avg_max=load_avg_max, update_threshold=threshold, n=80
    )
    found = live.identify(recording)
    assert found.steps == found.candidates[0].exact == 80
    assert len(found.candidates) == 108
    told = {(c.half_life, c.load_avg_max, c.update_threshold) for c in found.explain}
    assert told == {(half_life, load_avg_max, threshold)}
    assert any(pelt_form(kernel) in (c.first, c.last) for c in found.explain)
    assert "80 of 80 steps" in str(found)


def pelt_form(kernel):
    return {"4.12": "4.12", "4.15": "4.15", "5.8": "5.7"}[kernel]


def test_a_tick_of_four_windows_does_not_tell_the_threshold():
    recording, _ = trajectory([RAN] * 50, [3906] * 50)
    found = live.identify(recording)
    assert [c.update_threshold for c in found.explain] == [0, 128, 512]


def test_what_no_rule_explains_is_not_identified():
    recording, _ = mixed()
    recording.readings["util_sum"] ^= np.arange(201, dtype=np.uint64) * np.uint64(977) % np.uint64(4096)
    found = live.identify(recording)
    assert found.explain == ()
    assert "none of the 108 rules" in str(found)
    assert "no step" in str(live.identify(replace(recording, readings=recording.readings[:1])))


def test_identify_and_verify_want_recordings():
    with pytest.raises(ValueError, match="recordings"):
        live.identify()
    with pytest.raises(TypeError, match="recordings"):
        live.identify(3)
    with pytest.raises(TypeError, match="recording must be"):
        live.verify(None)


def test_a_kernel_that_is_not_proven_is_refused():
    recording, _ = trajectory([RAN], [3906])
    for kernel in ("99.1", "3.2", "4.11"):
        with pytest.raises(ValueError, match=f"kernel = '{kernel}'"):
            live.verify(replace(recording, release=kernel))


# ---- files


def test_a_recording_is_saved_and_loaded(tmp_path):
    recording, _ = mixed(n=5)
    for hz in (250, None):
        written = replace(recording, hz=hz)
        written.save(tmp_path / "a.npz")
        again = live.Recording.load(tmp_path / "a.npz")
        assert np.array_equal(again.readings, recording.readings)
        assert str(again) == str(written)
        assert (again.hz, again.pid, again.seconds, again.release) == (hz, 1, 1.0, "6.1")
    assert os.listdir(tmp_path) == ["a.npz"]


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch):
    recording, _ = mixed(n=5)
    path = tmp_path / "a.npz"
    path.write_text("old")

    def fails(file, **values):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fails)
    with pytest.raises(OSError, match="disk full"):
        recording.save(path)
    assert (os.listdir(tmp_path), path.read_text()) == (["a.npz"], "old")


def test_other_files_are_no_recordings(tmp_path):
    np.savez(tmp_path / "other.npz", readings=np.zeros(3))
    mixed(n=2)[0].save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as good:
        np.savez(tmp_path / "two.npz", **{**good, "readings": good["readings"][:, None]})
        np.savez(tmp_path / "pids.npz", **{**good, "pid": [1, 2]})
        np.savez(tmp_path / "floats.npz", **{**good, "readings": np.zeros(3)})
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "text").write_text("x")
    (tmp_path / "empty").write_text("")
    for name in ("other.npz", "two.npz", "pids.npz", "floats.npz", "array.npy", "text", "empty"):
        with pytest.raises(ValueError, match=f"{name}: no recording"):
            live.Recording.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        live.Recording.load(tmp_path / "none")


# ---- this kernel


def why_not_here():
    """Why this kernel cannot be a witness, or None."""
    try:
        live.read()
        live.verify(live.watch(seconds=0.01))
    except (OSError, ValueError) as error:
        return str(error)
    return None


REASON = why_not_here()
here = pytest.mark.skipif(REASON is not None, reason=f"no witness: {REASON}")


@here
def test_every_step_of_this_kernel_without_a_switch_is_exact():
    """This thread spins and watches itself, so that only a context switch can hide an update.

    Or the machine below, which takes a virtual CPU away, and no kernel counts that as a switch: a tick comes
    late then, or two come at once, and one update hides behind another. A spinning task is updated at every
    tick, so what is asked of are the steps as long as a tick.
    """
    steps = exact = 0
    end = time.monotonic() + 60
    while steps < 500 and time.monotonic() < end:
        found = live.verify(live.watch(seconds=2))
        readings = found.recording.readings
        length = readings["last_update_time"][found.after] - readings["last_update_time"][found.before]
        tick = np.median(length)
        seen = ~found.switched & (np.abs(length - tick) < 0.1 * tick)
        wrong = seen & (found.kind != 0)
        assert not wrong.any(), (length[wrong], readings[found.before[wrong]], readings[found.after[wrong]])
        steps += int(seen.sum())
        exact += int((seen & (found.kind == 0)).sum())
    assert exact == steps
    if steps < 500:
        pytest.skip(f"only {steps} steps without a context switch within a minute, all exact: a busy machine")


@here
@pytest.mark.parametrize("workload", live.WORKLOADS)
def test_workloads_are_watched_and_end(workload):
    recording = live.watch_workload(workload, 1)
    assert recording.task == live.WORKLOADS[workload]
    assert recording.pid != os.getpid()
    assert not os.path.exists(f"/proc/{recording.pid}")
    assert len(recording.readings) > 1
    assert set(recording.readings["weight"]) == {
        {"nice": 335, "spin": 1024, "periodic": 1024}[workload] << 10
    }
    found = live.verify(recording)
    if workload != "periodic":  # a watcher that is switched out misses more than a switch of the watched task
        assert found.exact_unswitched == found.unswitched
    assert found.steps + len(found.chains) + len(found.torn) == len(recording.readings)


@here
def test_the_workload_ends_with_its_parent(tmp_path):
    script = """if True:
        import time
        from schedpy.live import workloads
        with workloads._child(workloads._PERIODIC) as child:
            child.stdout.readline()
            print(child.pid, flush=True)
            time.sleep(60)
    """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
    end = time.monotonic() + 10
    while running(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not running(child)


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@here
def test_a_task_that_ends_ends_its_recording():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.5)"]) as child:
        reaper = threading.Thread(target=child.wait)
        reaper.start()
        recording = live.watch(child.pid, seconds=30)
        reaper.join()
    assert 0 < recording.seconds < 20
    assert recording.pid == child.pid


@here
def test_a_thread_watches_itself():
    recordings = []
    thread = threading.Thread(target=lambda: recordings.append(live.watch(seconds=0.3)))
    thread.start()
    thread.join()
    assert recordings[0].pid != os.getpid()
    assert len(recordings[0].readings) > 1


# ---- the command


def run(*arguments):
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = command_line.main(["live", *arguments])
    return status, out.getvalue(), errors.getvalue()


def test_the_command_prints_verification_and_identification(monkeypatch):
    recording, _ = mixed()
    monkeypatch.setattr(live, "watch", lambda pid, seconds: replace(recording, pid=pid, seconds=seconds))
    status, out, _ = run("--pid", "7", "--seconds", "3")
    assert status == 0
    for text in ("pid 7", "Linux 6.1 x86_64, HZ=250", "200 steps: 200 exact", "form of 5.7", "of 3.0 s"):
        assert text in out


def test_the_command_identifies_a_kernel_that_is_not_proven(monkeypatch):
    recording = replace(mixed(n=30)[0], release="99.0")
    monkeypatch.setattr(live, "watch_workload", lambda workload, seconds: recording)
    status, out, _ = run()
    assert status == 0
    assert out.count("not verified: kernel = '99.0'") == len(live.WORKLOADS)
    assert "form of 5.7" in out


def test_the_command_says_what_is_absent(proc):
    status, _, errors = run()
    assert (status, "CONFIG_SCHED_DEBUG" in errors, str(proc) in errors) == (1, True, True)
    proc.write_text("\n".join(TEXT.splitlines()[:6]))
    status, _, errors = run("--pid", "7")
    assert (status, f"{proc}: no field" in errors) == (1, True)


def test_the_command_helps_with_an_example(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["live", "--help"])
    assert "python -m schedpy live --seconds" in capsys.readouterr().out


def test_the_child_says_why_it_failed(monkeypatch):
    monkeypatch.setattr(workloads, "read", lambda: None)
    monkeypatch.setattr(workloads, "_SPIN", "raise ValueError('no field')")
    with pytest.raises(OSError, match="no field"):
        live.watch_workload("spin", 1)
