# SPDX-License-Identifier: GPL-2.0-only
"""PELT gives what the kernel's own functions gave, every row: state after each step and return value."""

import numpy as np
import pytest
from golden import load, select

from schedpy import pelt

# rows -> kernels that compute so, and the arguments that make the variant
VARIANTS = {
    "P38": (("3.8", "3.19", "4.0"), {}),
    "P43": (("4.3",), {}),
    "P44": (("4.4", "4.6"), {}),
    "P47": (("4.7", "4.9", "4.11"), {}),
    "P412": (("4.12",), {}),
    "P413": (("4.13", "4.13.4"), {}),
    "P413J128": (("4.13",), {"update_threshold": 128}),
    "P413J512": (("4.13",), {"update_threshold": 512}),
    "P414": (("4.14",), {}),
    "P415": (("4.15", "4.19", "5.0"), {}),
    "P415J128": (("4.15",), {"update_threshold": 128}),
    "P415J512": (("4.15",), {"update_threshold": 512}),
    "P51": (("5.1", "5.6"), {}),
    "P61": (("5.7", "5.8", "6.1", "6.12", "6.19"), {}),
    "P413_32bit": (("4.13",), {"long_bits": 32}),
    "P415_32bit": (("4.15", "5.0"), {"long_bits": 32}),
    "P61_32bit": (("5.7", "6.19"), {"long_bits": 32}),
    "P612H16": (("6.12",), {"half_life": 16}),
    "P612H8": (("6.12",), {"half_life": 8}),
    "P612A16": (("6.12",), {"half_life": 16, "load_avg_max": 24152}),
    "P612A8": (("6.12",), {"half_life": 8, "load_avg_max": 12337}),
}
FIELDS = pelt.STATE.names
# 3.8 tracks no utilisation and no run queues.
FIELDS_OF_3_8 = ("last_update_time", "load_sum", "runnable_sum", "load_avg")
CASES = [(variant, kernel) for variant, (kernels, _) in VARIANTS.items() for kernel in kernels]


def streams(variant):
    columns = load("pelt/streams")
    rows = [{name: column[i] for name, column in columns.items()} for i in range(len(columns["stream"]))]
    return [row for row in rows if variant != "P38" or row["kind"] == "task"]


def initial(stream, variant):
    start = {name: int(stream[f"init_{name}"]) for name in FIELDS}
    if variant == "P38":
        start = {
            "last_update_time": start["last_update_time"],
            "load_sum": min(start["load_sum"], 47742),
            "runnable_sum": 47230,
            "load_avg": start["load_avg"],
        }
    return pelt.initial_state(**start)


def fields_of(variant):
    return FIELDS_OF_3_8 if variant == "P38" else FIELDS


def arguments(entity, kernel, events):
    """What this kernel's callers pass for the entity."""
    version = tuple(map(int, kernel.split(".")[:2]))
    given = {"entity": entity, "running": events["running"], "weight": events["weight"]}
    if entity == "task":
        given["on_rq"] = events["on_rq"]
    elif version >= (5, 7):
        given["nr_running"] = events["nr"]
    if (4, 15) <= version < (5, 7):
        given["runnable_weight"] = events["rweight"]
    if (4, 3) <= version < (5, 1):
        given["freq_scale"] = events["scale_freq"]
    if (4, 4) <= version < (5, 1):
        given["cpu_scale"] = events["scale_cpu"]
    return given


def compare(got, want, what):
    for name in got:
        column = want["ret"] if name == "updated" else want[name]
        wrong = np.flatnonzero(got[name].astype(np.uint64) != column)
        assert wrong.size == 0, (
            f"{what}: {wrong.size} rows of {name} differ, first step {wrong[0]}: "
            f"{got[name][wrong[0]]}, not {column[wrong[0]]}"
        )


@pytest.mark.parametrize(("variant", "kernel"), CASES)
def test_streams(variant, kernel):
    options = VARIANTS[variant][1]
    events, answers = load("pelt/events_in"), load(f"pelt/events_{variant}")
    rows = 0
    for stream in streams(variant):
        number, entity = stream["stream"], stream["kind"]
        given, want = select(events, stream=number), select(answers, stream=number)
        assert np.array_equal(given["step"], want["step"])
        track = pelt.track(
            given["now_ns"],
            kernel=kernel,
            state=initial(stream, variant),
            fields=(*fields_of(variant), "updated"),
            **arguments(entity, kernel, given),
            **options,
        )
        compare(track.history, want, f"{variant} on {kernel}, stream {number}")
        assert all(track.state[name] == want[name][-1] for name in FIELDS)
        rows += want["step"].size
    assert rows == answers["step"].size == (9138 if variant == "P38" else 11538)


@pytest.mark.parametrize("variant", VARIANTS)
def test_single_updates(variant):
    """update() from every state of the rows to the next: each row is one entity."""
    (kernel, *_), options = VARIANTS[variant]
    events, answers = load("pelt/events_in"), load(f"pelt/events_{variant}")
    for entity in ("task",) if variant == "P38" else ("task", "cfs_rq"):
        of_entity = [s for s in streams(variant) if s["kind"] == entity]
        numbers = [s["stream"] for s in of_entity]
        inside, there = np.isin(events["stream"], numbers), np.isin(answers["stream"], numbers)
        given = {name: column[inside] for name, column in events.items()}
        want = {name: column[there] for name, column in answers.items()}
        before = np.zeros(inside.sum(), pelt.STATE)
        for name in FIELDS:
            before[name][1:] = want[name][:-1]
        before[given["step"] == 0] = [initial(s, variant)[()] for s in of_entity]
        after, updated = pelt.update(
            before, given["now_ns"], kernel=kernel, **arguments(entity, kernel, given), **options
        )
        got = {name: after[name] for name in FIELDS} | {"updated": updated}
        compare(got, want, f"{variant}, every {entity}")


@pytest.mark.parametrize("variant", VARIANTS)
def test_interleaved(variant):
    """The first steps of all streams, then the second ones, ...: one stream of many entities."""
    (kernel, *_), options = VARIANTS[variant]
    events, answers = load("pelt/events_in"), load(f"pelt/events_{variant}")
    for entity in ("task",) if variant == "P38" else ("task", "cfs_rq"):
        of_entity = [s for s in streams(variant) if s["kind"] == entity]
        numbers = np.array([s["stream"] for s in of_entity])
        given = {name: column[np.isin(events["stream"], numbers)] for name, column in events.items()}
        want = {name: column[np.isin(answers["stream"], numbers)] for name, column in answers.items()}
        order = np.argsort(given["step"], kind="stable")
        given = {name: column[order] for name, column in given.items()}
        track = pelt.track(
            given["now_ns"],
            kernel=kernel,
            index=np.searchsorted(numbers, given["stream"]),
            state=np.array([initial(s, variant)[()] for s in of_entity]),
            fields=(*fields_of(variant), "updated"),
            **arguments(entity, kernel, given),
            **options,
        )
        compare(track.history, {name: column[order] for name, column in want.items()}, f"{variant}, {entity}")


def divided(state, variant):
    """The averages at that update from the sums after it, in Python integers."""
    shorter = 0 if variant in ("P43", "P44", "P47", "P412") else 1024
    for load_sum, runnable_sum, util_sum, contrib in zip(
        *(state[name].tolist() for name in ("load_sum", "runnable_sum", "util_sum", "period_contrib")),
        strict=True,
    ):
        divider = 47742 - shorter + (contrib if shorter else 0)
        scaled = (util_sum << 10) % 2**32 if variant == "P43" else util_sum
        yield load_sum // divider, runnable_sum // divider, scaled // divider


@pytest.mark.parametrize("variant", ["P43", "P44", "P47", "P412", "P413", "P415", "P51", "P61"])
def test_averages_had_they_been_refreshed(variant):
    (kernel, *_), options = VARIANTS[variant]
    events, answers = load("pelt/events_in"), load(f"pelt/events_{variant}")
    names = ("load_now", "runnable_now", "util_now")
    for stream in streams(variant):
        if stream["kind"] == "task":
            continue
        given = select(events, stream=stream["stream"])
        want = select(answers, stream=stream["stream"])
        track = pelt.track(
            given["now_ns"],
            kernel=kernel,
            state=initial(stream, variant),
            fields=names,
            **arguments("cfs_rq", kernel, given),
            **options,
        )
        got = zip(*(track.history[name].tolist() for name in names), strict=True)
        assert list(got) == list(divided(want, variant))
        refreshed = want["ret"] == 1
        assert refreshed.any()
        assert np.array_equal(track.util_now[refreshed], want["util_avg"][refreshed])


@pytest.mark.parametrize(
    ("column", "kernel", "half_life"),
    [
        ("P38_v3.8_4.2", "3.8", 32),
        ("P38_v3.8_4.2", "4.0", 32),
        ("P43_v4.3_4.11", "4.3", 32),
        ("P43_v4.3_4.11", "4.11", 32),
        ("P412_v4.12_on", "4.12", 32),
        ("P412_v4.12_on", "6.19", 32),
        ("P412_halflife16", "4.14", 16),
        ("P412_halflife8", "5.15", 8),
    ],
)
def test_decay_load(column, kernel, half_life):
    rows = load("pelt/decay_load")
    got = pelt.decay_load(rows["val"], rows["n"], kernel=kernel, half_life=half_life)
    assert rows["val"].size == 12690
    assert got.dtype == np.uint64
    assert np.array_equal(got, rows[column])


@pytest.mark.parametrize("half_life", [32, 16, 8])
def test_accumulate_segments(half_life):
    rows = load("pelt/accumulate_segments")
    got = pelt.accumulate_segments(rows["periods"], rows["d1"], rows["d3"], half_life=half_life)
    assert rows["d1"].size == 13464
    assert got.dtype == np.uint32
    assert np.array_equal(got, rows[f"contrib_halflife{half_life}"])


@pytest.mark.parametrize(
    ("column", "kernels"),
    [
        ("P38_v3.8_4.2", ("3.8", "4.0")),
        ("P43_loop_v4.3_4.6", ("4.3", "4.6")),
        ("P47_table_v4.7_4.11", ("4.7", "4.11")),
    ],
)
def test_compute_runnable_contrib(column, kernels):
    rows = load("pelt/compute_runnable_contrib")
    assert rows["n"].size == 406
    for kernel in kernels:
        got = pelt.compute_runnable_contrib(rows["n"], kernel=kernel)
        assert got.dtype == np.uint32
        assert np.array_equal(got, rows[column])


@pytest.mark.parametrize(("half_life", "highest", "n"), [(32, 47742, 345), (16, 24130, 172), (8, 12326, 85)])
def test_constants(half_life, highest, n):
    rows = select(load("pelt/tables"), halflife=half_life)
    got = pelt.constants(half_life)
    assert (got.load_avg_max, got.load_avg_max_n) == (highest, n)
    assert got.inverse.tolist() == [int(cell) for cell in rows["yN_inv"] if cell != ""]
    assert got.sums.tolist() == rows["yN_sum"].tolist()


def test_nice_weights():
    rows = load("pelt/nice_weights")
    assert pelt.nice_to_weight(rows["nice"]).tolist() == rows["weight"].tolist()
    assert rows["nice"].size == 40
