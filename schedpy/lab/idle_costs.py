# SPDX-License-Identifier: GPL-2.0-only
"""What it costs to select another idle state: time in each state, latency paid for nothing, and sleep missed.

An idle of known length has a best state: the deepest whose target residency it reaches. A deeper one wakes up
later than it had to, and took more energy to enter and leave than it saved; a shallower one wastes what the
deeper one would have saved. That is counted here, in idles, microseconds and milliseconds per second. Watts
are not: what a state saves no table of exit latencies and target residencies knows.
"""

import numpy as np
import pandas as pd

from schedpy._coerce import as_choice
from schedpy.lab.idle_runs import PLATFORMS, experiments

__all__ = ["costs", "dearest", "times_in_states"]


def _best_states(table, wake_ns):
    """The deepest state that idles of such lengths pay for; the shallowest where they pay for none."""
    residency_ns = 1000 * table.target_residency_us.astype(np.int64)
    best = np.zeros(wake_ns.shape, np.int8)
    for state, least in enumerate(residency_ns.tolist()):
        best[wake_ns >= least] = state
    return best


def _summed_us(ns):
    """Sum over the idles of each seed; in float, for many of the longest exceed 64 bit."""
    return ns.sum(axis=1, dtype=np.float64) / 1000


def _costs(table, wake_ns, selected, best):
    """Name -> one figure per seed."""
    latency_us = table.exit_latency_us.astype(np.int64)
    exits = latency_us[selected]
    deep, shallow = selected > best, selected < best
    # Between idle and the work that ended it lies the exit; what the CPU computes then is not in it.
    second_us = (_summed_us(wake_ns) + exits.sum(axis=1)) / 1e6
    too_much = np.where(deep, np.maximum(exits - latency_us[best], 0), 0).sum(axis=1)
    return {
        "too_deep_pct": 100 * deep.mean(axis=1),
        "too_shallow_pct": 100 * shallow.mean(axis=1),
        "exit_latency_us": exits.mean(axis=1),
        "latency_us_per_s": exits.sum(axis=1) / second_us,
        "too_deep_us_per_s": too_much / second_us,
        "too_shallow_ms_per_s": _summed_us(np.where(shallow, wake_ns, 0)) / 1000 / second_us,
    }


def _mean_and_deviation(figures):
    return float(figures.mean()), float(figures.std(ddof=1)) if len(figures) > 1 else np.nan


def costs(table=PLATFORMS, **experiment):
    """Wake-ups that came from too deep a state, or had missed a deeper one, by each conversion.

    Parameters
    ----------
    table, **experiment
        As for ``idle_flips.flips``.

    Returns
    -------
    DataFrame
        One line per table, kernel, governor, idles and conversion, that of the kernel among them:
        ``residency``; and, the mean over seeds each, beside a column ``..._more``, by how much it is more
        than with the kernel's own conversion (0 for that itself), and ``..._more_deviation``, the standard
        deviation of that over seeds:

        too_deep_pct
            Idles shorter than the target residency of the state selected, where a shallower one fits.
        too_shallow_pct
            Idles that reach the target residency of a deeper state than the one selected.
        exit_latency_us
            Exit latency per idle, in us.
        latency_us_per_s
            Exit latency in us per second of idling.
        too_deep_us_per_s
            The part of it that the best state would have spared.
        too_shallow_ms_per_s
            Time in a state too shallow, in ms per second of idling.

    Notes
    -----
    A second of idling is one of idles and exits, without what the CPU does between. The best state of an idle
    is the deepest whose target residency is not longer than the idle, without exit latency; where none is,
    the shallowest. Latencies are those of the table, which the kernel takes for the worst case.

    Examples
    --------
    A little core with a tick of 4 ms, whose deep state pays from 3.934 ms on: told by the shift, it
    hardly ever sleeps there.

    >>> from schedpy.lab.idle_draws import Timer
    >>> found = costs("sm8150_little", idles=Timer(4_000_000, jitter=0.001), n=1000, seeds=1)
    >>> found[["residency", "too_shallow_pct", "exit_latency_us"]].round(1).values.tolist()
    [['div1000', 0.3, 1260.2], ['shr10', 99.6, 6.1]]
    """
    lines = []
    for one in experiments(table, **experiment):
        best = _best_states(one.table, one.wake_ns)
        own = None
        for how, selected in one.selected.items():
            found = _costs(one.table, one.wake_ns, selected, best)
            own = found if own is None else own
            line = {**one.key, "residency": how}
            for name, figures in found.items():
                line[name] = float(figures.mean())
                line[f"{name}_more"], line[f"{name}_more_deviation"] = _mean_and_deviation(
                    figures - own[name]
                )
            lines.append(line)
    return pd.DataFrame(lines)


def times_in_states(table=PLATFORMS, **experiment):
    """How often each state is entered, and how much of the time is spent there, by each conversion.

    Parameters
    ----------
    table, **experiment
        As for ``idle_flips.flips``.

    Returns
    -------
    DataFrame
        One line per table, kernel, governor, idles and state: ``state``; for each conversion its
        ``entries_pct_...`` and ``time_ms_per_s_...``, the mean over seeds, and for each but the kernel's own
        ``entries_more_...`` and ``time_more_...``, by how much it is more than with that, with their
        deviations over seeds, ``..._deviation``. Conversions that a kernel does not have are missing there.

    Examples
    --------
    >>> from schedpy.lab.idle_draws import Timer
    >>> found = times_in_states("sm8150_little", idles=Timer(4_000_000, jitter=0.001), n=1000, seeds=1)
    >>> found[["state", "time_ms_per_s_div1000", "time_ms_per_s_shr10"]].round(1).values.tolist()
    [['WFI', 3.0, 996.0], ['little-rail-pc', 997.0, 4.0]]
    """
    lines = []
    for one in experiments(table, **experiment):
        length = one.wake_ns.astype(np.float64)
        whole = length.sum(axis=1)
        for index, state in enumerate(one.table.state):
            line = {**one.key, "state": state}
            own = None
            for how, selected in one.selected.items():
                inside = selected == index
                shares = {
                    "entries_pct": 100 * inside.mean(axis=1),
                    "time_ms_per_s": 1000 * np.where(inside, length, 0).sum(axis=1) / whole,
                }
                line |= {f"{name}_{how}": float(figures.mean()) for name, figures in shares.items()}
                if own is None:
                    own = shares
                    continue
                for name, figures in shares.items():
                    more = f"{name.split('_')[0]}_more_{how}"
                    line[more], line[f"{more}_deviation"] = _mean_and_deviation(figures - own[name])
            lines.append(line)
    return pd.DataFrame(lines)


def dearest(found, by="too_shallow_ms_per_s"):
    """Of each kind of idles the table that a conversion costs most.

    Parameters
    ----------
    found : DataFrame
        What `costs` gave.
    by : str
        Which of its figures to go by; it is the column ``..._more`` that is compared, whatever its sign.

    Returns
    -------
    DataFrame
        One line per kernel, governor, idles and conversion but the kernel's own: its line of ``found``
        without the deviations. Idles that cost no table more are left out.

    Raises
    ------
    ValueError
        No such figure.

    Examples
    --------
    >>> from schedpy.lab.idle_draws import Timer
    >>> found = costs(["juno", "sm8150_little"], idles=Timer(4_000_000), n=500, seeds=1)
    >>> dearest(found)[["idles", "table"]].values.tolist()
    [['timer 4 ms, jitter 1 %', 'sm8150_little']]
    """
    figures = [name.removesuffix("_more") for name in found if name.endswith("_more")]
    as_choice(by, "by", figures)
    run = ["kernel", "governor", "idles", "residency"]
    # The kernel's own conversion comes first of each.
    further = found[found.duplicated(["table", "kernel", "governor", "idles"])]
    size = further[f"{by}_more"].abs()
    of_each = size[size > 0].groupby([further[name] for name in run], sort=False).idxmax()
    columns = [name for name in found if not name.endswith("_deviation")]
    return found.loc[of_each, columns].reset_index(drop=True)
