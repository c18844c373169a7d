# SPDX-License-Identifier: GPL-2.0-only
"""PELT gives what the kernel's own functions gave, every row: state after each step and return value."""

import numpy as np
import pytest
from golden import load, select

from schedpy import pelt

# rows -> kernels that compute so, and the arguments that make the variant
VARIANTS = {
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
    "P612H16": (("6.12",), {"half_life": 16}),
    "P612H8": (("6.12",), {"half_life": 8}),
    "P612A16": (("6.12",), {"half_life": 16, "load_avg_max": 24152}),
    "P612A8": (("6.12",), {"half_life": 8, "load_avg_max": 12337}),
}
FIELDS = pelt.STATE.names
CASES = [(variant, kernel) for variant, (kernels, _) in VARIANTS.items() for kernel in kernels]


def streams():
    columns = load("pelt/streams")
    return [{name: column[i] for name, column in columns.items()} for i in range(len(columns["stream"]))]


def initial(stream):
    return pelt.initial_state(**{name: stream[f"init_{name}"] for name in FIELDS})


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
    if version < (5, 1):
        given |= {"freq_scale": events["scale_freq"], "cpu_scale": events["scale_cpu"]}
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
    for stream in streams():
        number, entity = stream["stream"], stream["kind"]
        given, want = select(events, stream=number), select(answers, stream=number)
        assert np.array_equal(given["step"], want["step"])
        track = pelt.track(
            given["now_ns"],
            kernel=kernel,
            state=initial(stream),
            fields=(*FIELDS, "updated"),
            **arguments(entity, kernel, given),
            **options,
        )
        compare(track.history, want, f"{variant} on {kernel}, stream {number}")
        assert all(track.state[name] == want[name][-1] for name in FIELDS)
        rows += want["step"].size
    assert rows == answers["step"].size == 11538


@pytest.mark.parametrize("variant", VARIANTS)
def test_single_updates(variant):
    """update() from every state of the rows to the next: each row is one entity."""
    (kernel, *_), options = VARIANTS[variant]
    events, answers = load("pelt/events_in"), load(f"pelt/events_{variant}")
    for entity in ("task", "cfs_rq"):
        of_entity = [s for s in streams() if s["kind"] == entity]
        inside = np.isin(events["stream"], [s["stream"] for s in of_entity])
        given = {name: column[inside] for name, column in events.items()}
        want = {name: column[inside] for name, column in answers.items()}
        before = np.zeros(inside.sum(), pelt.STATE)
        for name in FIELDS:
            before[name][1:] = want[name][:-1]
        before[given["step"] == 0] = [initial(s)[()] for s in of_entity]
        after, updated = pelt.update(
            before, given["now_ns"], kernel=kernel, **arguments(entity, kernel, given), **options
        )
        got = {name: after[name] for name in FIELDS} | {"updated": updated}
        compare(got, want, f"{variant}, every {entity}")


def divided(state, variant):
    """The averages at that update from the sums after it, in Python integers."""
    shorter = 0 if variant == "P412" else 1024
    for load_sum, runnable_sum, util_sum, contrib in zip(
        *(state[name].tolist() for name in ("load_sum", "runnable_sum", "util_sum", "period_contrib")),
        strict=True,
    ):
        divider = 47742 - shorter + (contrib if shorter else 0)
        yield load_sum // divider, runnable_sum // divider, util_sum // divider


@pytest.mark.parametrize("variant", ["P412", "P413", "P415", "P51", "P61"])
def test_averages_had_they_been_refreshed(variant):
    (kernel, *_), options = VARIANTS[variant]
    events, answers = load("pelt/events_in"), load(f"pelt/events_{variant}")
    names = ("load_now", "runnable_now", "util_now")
    for stream in streams():
        if stream["kind"] == "task":
            continue
        given = select(events, stream=stream["stream"])
        want = select(answers, stream=stream["stream"])
        track = pelt.track(
            given["now_ns"],
            kernel=kernel,
            state=initial(stream),
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
