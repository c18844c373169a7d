# SPDX-License-Identifier: GPL-2.0-only
"""Every row and every column of the governors' traces, which the kernel's own functions made."""

import numpy as np
import pytest
from golden import load
from idle_traces import INPUTS, arguments, blocks, table_of

from schedpy import cpuidle

#: file -> rows, and the columns that say nothing of their own: what names a row, and the clock.
TRACES = {
    "menu474_trace": 16_000,
    "menu61_trace": 10_368,
    "menu619_trace": 10_368,
    "teo61_trace": 10_368,
    "teo619_trace": 10_368,
    "ladder474_trace": 9_000,
}
NAMES = {"table", "scenario", "conv", "residency_conv", "step"}
CLOCK = {"clock_ns_at_select", "clock_ns_at_reflect"}
#: column -> what it is called here, where that differs.
OURS = {"predicted_us": "predicted", "last_residency_ns_given": "last_residency_ns"}


#: hits and intercepts of each state in turn, in one cell.
BINS = "hits_intercepts_per_state"


def bins(given):
    run = cpuidle.run(fields=("hits", "intercepts"), **given)
    rows = np.stack([run.hits, run.intercepts], axis=-1).reshape(-1, 2 * len(given["table"]))
    return np.array([";".join(map(str, row)) for row in rows.tolist()], object).reshape(run.hits.shape[:-1])


def equal(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours, dtype=object), np.asarray(theirs, dtype=object))


@pytest.mark.parametrize("name", TRACES)
def test_traces(name):
    seen = 0
    for table, how, columns in blocks(name):
        given = arguments(name, table, how, columns)
        choices = cpuidle.run(**given)
        answers = columns.keys() - NAMES - CLOCK - (INPUTS.keys() - {"measured_ns"})
        assert len(answers) >= 3
        for column in answers - {BINS}:
            equal(getattr(choices, OURS.get(column, column)), columns[column])
        if BINS in answers:
            equal(bins(given), columns[BINS])
        seen += columns["step"].size
    assert seen == TRACES[name] == len(load(f"clock/{name}")["step"])


@pytest.mark.parametrize("name", [name for name in TRACES if "474" not in name])
def test_the_clock_of_the_traces(name):
    """Between select and reflect passes what is measured; teo of 6.1 is given that as its span."""
    rows = load(f"clock/{name}")
    equal(rows["clock_ns_at_reflect"] - rows["clock_ns_at_select"], rows["measured_ns"])


def test_typical_interval():
    rows = load("clock/menu_typical_interval")
    intervals = np.stack([rows[f"i{k}"] for k in range(8)], axis=-1)
    columns = {"4.7": "v4.7.4", "6.1": "v6.1.192_with_predicted_us_UINT_MAX", "6.19": "v6.19"}
    for kernel, column in columns.items():
        equal(cpuidle.get_typical_interval(intervals, kernel=kernel), rows[column])
    assert len(rows["i0"]) == 893


def test_bundled_tables_are_those_of_the_known_answers():
    names = list(dict.fromkeys(load("clock/idle_tables")["table"]))
    assert len(names) == 15
    for name in names:
        assert cpuidle.IdleTable.load(name) == table_of(name)
