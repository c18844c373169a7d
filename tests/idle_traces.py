# SPDX-License-Identifier: GPL-2.0-only
"""The traces of the known answers: blocks of consecutive rows, a governor that starts anew in each."""

import functools

import numpy as np
from golden import load

from schedpy import cpuidle

HZ = 250
#: Rows that describe an idle, by our names; the others are answers.
INPUTS = {
    "sleep_length_ns": "sleep_ns",
    "measured_ns": "measured_ns",
    "latency_req_us": "latency_us",
    "nr_iowaiters": "nr_iowaiters",
    "cpu_load": "cpu_load",
    "delta_tick_ns": "delta_tick_ns",
    "tick_stopped": "tick_stopped",
    "got_tick": "got_tick",
    "poll_time_limit": "poll_time_limit",
}


def blocks(name):
    """(table, conversion, columns of shape (blocks, steps)) for each table and conversion of a file."""
    rows = load(f"clock/{name}")
    conversion = "conv" if "conv" in rows else "residency_conv"
    steps = int(rows["step"].max()) + 1
    columns = {key: column.reshape(-1, steps) for key, column in rows.items()}
    assert (columns["step"] == np.arange(steps)).all()
    kinds = list(zip(columns["table"][:, 0], columns[conversion][:, 0], strict=True))
    for table, how in dict.fromkeys(kinds):
        mine = [kind == (table, how) for kind in kinds]
        yield table, how, {key: column[mine] for key, column in columns.items()}


def arguments(name, table, how, columns):
    """What `cpuidle.run` is given for a block."""
    governor, release = name.removesuffix("_trace").rstrip("0123456789"), name.removesuffix("_trace")[-3:]
    kernel = {"474": "4.7", "u61": "6.1", "o61": "6.1", "619": "6.19"}[release]
    given = {ours: columns[theirs] for theirs, ours in INPUTS.items() if theirs in columns}
    if governor == "ladder":
        del given["sleep_ns"]
    hz = {"hz": HZ} if "delta_tick_ns" in given else {}
    return {"table": table_of(table), "kernel": kernel, "governor": governor, "residency": how, **given, **hz}


@functools.cache
def table_of(name):
    """A table as the known answers have it, whatever the bundled one says."""
    rows = load("clock/idle_tables")
    mine = rows["table"] == name
    return cpuidle.IdleTable(
        list(rows["state"][mine]),
        exit_latency_us=rows["exit_latency_us"][mine],
        target_residency_us=rows["target_residency_us"][mine],
        polling=rows["polling"][mine],
        first=int(rows["driver_state_start_474"][mine][0]),
    )
