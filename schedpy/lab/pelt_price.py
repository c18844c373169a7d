# SPDX-License-Identifier: GPL-2.0-only
"""What refreshing PELT's averages more often costs: refreshes per second, times what one takes here.

That is a product of two figures and no benchmark: the division alone, in this library's loop on this host.
What a kernel does after a refresh, such as telling the group or the governor, it leaves out.
"""

import time

import numpy as np
import pandas as pd

from schedpy import pelt, stats, stopwatch
from schedpy._coerce import as_number
from schedpy.lab.pelt_updates import (
    BASE_NS,
    EXTRA_NS,
    FEW_STARTS_NS,
    HZ,
    UNIT_NS,
    WITH,
    WITHOUT,
    chosen_variants,
    measure,
    several,
)

#: Far enough apart to meet the threshold, and close enough to end no window four times in ten.
SPACING = 600
ARMS = ("without", "patched", "without again")


def refreshes(
    *, without=WITHOUT, patched=WITH, hz=HZ, extra_ns=(0, *EXTRA_NS), starts_ns=FEW_STARTS_NS, **sample
):
    """Updates and refreshes per second of a task, with and without the patch.

    Parameters
    ----------
    without, patched : str
        The variants to compare.
    hz, extra_ns, starts_ns
        As for :func:`measure`, several of each.
    **sample
        As for :func:`measure`.

    Returns
    -------
    DataFrame
        One line per ``extra_ns`` and ``hz``; per second of time, asleep or not: ``updates``, ``without`` and
        ``patched`` (refreshes), ``more`` (their difference).
    """
    lines = []
    for extra in several(extra_ns, "extra_ns"):
        updates = measure(variants=(without, patched), hz=hz, extra_ns=extra, starts_ns=starts_ns, **sample)
        for rate, at_hz in updates.groupby("hz"):
            runs = at_hz[at_hz["variant"] == without].groupby("run")["time_ns"]
            seconds = (runs.max() - runs.min()).sum() / 1e9
            per_second = at_hz.groupby("variant", observed=True)["updated"].sum() / seconds
            few, many = per_second[without], per_second[patched]
            lines.append((extra, rate, runs.size().sum() / seconds, few, many, many - few))
    columns = ["extra_ns", "hz", "updates", "without", "patched", "more"]
    return pd.DataFrame(lines, columns=columns)


def time_refresh(*, without=WITHOUT, patched=WITH, events=10_000, rounds=301, seed=0):
    """What one more refresh takes in ``pelt.track``, measured in this process against itself.

    Each round times three calls over the same events in a random order: without the patch, with it, and
    without it again, which ought to differ by nothing and shows what the differences are worth.

    Parameters
    ----------
    without, patched : str
        The variants to compare.
    events : int
        Updates in a call, evenly spaced so that each meets the threshold.
    rounds : int
        At least 2.
    seed : int
        Of the order.

    Returns
    -------
    DataFrame
        One line per round: ns per update of each of ``ARMS``; ``refresh_ns`` and ``nothing_ns``, the
        difference of the second and of the third to the first over the refreshes that the patch adds.
    """
    count = as_number(events, "events", low=1000)
    number = as_number(rounds, "rounds", low=2)
    chosen = chosen_variants((without, patched))
    now = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(SPACING * UNIT_NS) + np.uint64(BASE_NS)
    variants = dict(zip(ARMS, (chosen[without], chosen[patched], chosen[without]), strict=True))
    state = pelt.initial_state(last_update_time=BASE_NS)

    def call(arm, fields=("util_avg",)):
        kernel, threshold = variants[arm]
        return pelt.track(
            now, kernel=kernel, running=True, update_threshold=threshold, state=state, fields=fields
        )

    few, many = (call(arm, ("updated",)).updated.mean() for arm in ARMS[:2])
    if many <= few:
        raise ValueError(f"patched = {patched!r}: adds no refresh to {without!r}")
    random = np.random.default_rng(as_number(seed, "seed", low=0))
    lines = []
    with stopwatch.pinned():
        for _ in range(number):
            line = {}
            for arm in random.permutation(ARMS).tolist():
                start = time.perf_counter_ns()
                call(arm)
                line[arm] = (time.perf_counter_ns() - start) / count
            lines.append(line)
    table = pd.DataFrame(lines, columns=list(ARMS))
    table["refresh_ns"] = (table["patched"] - table["without"]) / (many - few)
    table["nothing_ns"] = (table["without again"] - table["without"]) / (many - few)
    return table


def price(refreshed, timed):
    """The share of a CPU's time that the further refreshes of one task take: the product of the two.

    Parameters
    ----------
    refreshed, timed : DataFrame
        What :func:`refreshes` and :func:`time_refresh` gave.

    Returns
    -------
    DataFrame
        ``refreshed`` with, in millionths, ``price_ppm`` by the median of the rounds, ``low_ppm`` and
        ``high_ppm`` by its 95 % interval, and ``nothing_ppm``, what the call against itself would be given:
        the end of its interval that is farther from 0.
    """
    low, middle, high = median(timed["refresh_ns"])
    nothing = np.abs(median(timed["nothing_ns"])).max()
    found = {"price_ppm": middle, "low_ppm": low, "high_ppm": high, "nothing_ppm": nothing}
    return refreshed.assign(**{name: refreshed["more"] * ns / 1000 for name, ns in found.items()})


def median(values):
    """The median between the ends of its 95 % interval, by ranks: whatever the distribution.

    The ranks are binomial with one half, here by the normal approximation.

    Examples
    --------
    >>> median(range(101))
    (40.0, 50.0, 60.0)
    """
    ordered = np.sort(np.asarray(values, np.float64))
    middle, reach = (len(ordered) - 1) / 2, 1.96 * len(ordered) ** 0.5 / 2
    low, high = max(0, int(np.floor(middle - reach))), min(len(ordered) - 1, int(np.ceil(middle + reach)))
    return float(ordered[low]), float(np.median(ordered)), float(ordered[high])


def beside(prices, published):
    """The largest price beside the changes that the mail's benchmarks saw, in percent.

    Parameters
    ----------
    prices : DataFrame
        What :func:`price` gave.
    published : DataFrame
        What ``pelt_error.published`` gave.

    Returns
    -------
    DataFrame
        One line each: ``change_pct``, below 0 for a loss; ``low_pct`` and ``high_pct``, the 95 % interval,
        which a pair of single figures has not; ``refreshes``, how many further refreshes per second would
        take that share of a CPU, if they took nothing else; none for a gain.

    Examples
    --------
    >>> from schedpy.lab import pelt_error
    >>> refreshed = pd.DataFrame({"extra_ns": [0], "hz": [250], "more": [250.0]})
    >>> prices = price(refreshed, pd.DataFrame({"refresh_ns": [4.0], "nothing_ns": [0.0]}))
    >>> table = beside(prices, pelt_error.published())
    >>> table["change_pct"].round(4).tolist(), table["refreshes"].round().tolist()
    ([-0.0001, -0.5866, 0.0491], [250.0, 1466448.0, nan])
    """
    values = published["values"]
    before, after = (stats.Moments.of(values[key]) for key in ("shell8_without", "shell8_with"))
    change = stats.compare(before, after)
    interval = (100 * end / before.mean for end in (change.interval.low, change.interval.high))
    with_patch, without = values["hackbench"]
    worst = prices.loc[prices["price_ppm"].idxmax()]
    ours = f"refreshes of one task, HZ={worst['hz']:.0f}, further updates every {worst['extra_ns']:.0f} ns"
    lines = [
        (ours, *(-worst[name] / 1e4 for name in ("price_ppm", "high_ppm", "low_ppm"))),
        (f"unixbench shell8, {before.count} runs each", change.percent, *interval),
        ("hackbench, one total time each", 100 * (without - with_patch) / without, np.nan, np.nan),
    ]
    table = pd.DataFrame(lines, columns=["what", "change_pct", "low_pct", "high_pct"])
    of_one_ppm = worst["more"] / worst["price_ppm"]
    return table.assign(refreshes=(-1e4 * table["change_pct"] * of_one_ppm).where(table["change_pct"] < 0))
