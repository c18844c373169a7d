# SPDX-License-Identifier: GPL-2.0-only
"""Which way to a performance state is the smallest, the soonest made, and the fastest.

The walk of the kernels, the table of the 2021 patch, and the three of PerfDomain.lut(variant=) that no kernel
has, over random requests. All is measured in one process: rounds in which every candidate runs once, in an
order shuffled anew; given are medians, and of the look-ups the ratio to the walk with its middle half. The
row A/A, the walk beside itself, says what such a ratio is worth.

    python benchmarks/look_ups.py
    python benchmarks/look_ups.py --quick

"walk" looks at one request after the other; "walk, counted" is what the face does with many requests to one
table. Requests are frequencies, then utilisations, which all but "direct" map to frequencies first. Numbers
in brackets rank the rows; the rows are in the order of the look-ups.
"""

import argparse
from datetime import UTC, datetime
from functools import partial

import numpy as np
from rounds import machine, measure, quartiles

from schedpy import em

VARIANTS = ("patch", "bins", "search", "direct")
#: Beside the domain's own table the walk needs nothing.
WALK_BYTES = 0


def domains():
    """Platforms' domains, one of as many states as any kernel has seen, and one that the patch gets wrong."""
    pixel4 = em.EnergyModel.load("pixel4")
    yield "pixel4 little, 18 states", pixel4["little"]
    yield "pixel4 prime, 20 states", pixel4["prime"]
    rng = np.random.default_rng(1)
    spread = np.sort(rng.choice(np.arange(300, 3000), 24, replace=False)) * 1000
    yield "24 states anywhere", made(spread)
    yield "512 states, 300 .. 900 kHz apart", made(1_000_000 + np.cumsum(rng.integers(300, 900, 512)))


def made(freqs):
    powers = np.arange(1, len(freqs) + 1) ** 2 // len(freqs) + 1
    return em.PerfDomain("made", [0], freqs, powers, unit="mW", capacity=1024)


def by_frequency(domain, requests):
    """name -> a call that finds the states of frequencies."""
    one_by_one = np.zeros(requests.size, bool)
    calls = {
        "walk": partial(domain.get_efficient_state, requests, kernel="6.1", skip_inefficient=one_by_one),
        "walk, counted": partial(domain.get_efficient_state, requests, kernel="5.12"),
    }
    for name, table in tables(domain).items():
        if name != "direct":
            calls[name] = partial(table.state, requests)
    return calls


def by_utilisation(domain, utils):
    """name -> a call that finds the states of utilisations."""
    one_by_one = np.zeros(utils.size, bool)

    def mapped(**how):
        requests = em.map_util_freq(utils, domain.freq_khz[-1], domain.capacity, kernel="5.12")
        return domain.get_efficient_state(requests, **how)

    calls = {
        "walk": partial(mapped, kernel="6.1", skip_inefficient=one_by_one),
        "walk, counted": partial(mapped, kernel="5.12"),
    }
    return calls | {name: partial(table.state_of_util, utils) for name, table in tables(domain).items()}


def tables(domain):
    return {variant: domain.lut(False, variant=variant) for variant in VARIANTS}


def ranked(values):
    """Each value's place, the smallest first; equal values share one."""
    return {name: 1 + sum(other < value for other in values.values()) for name, value in values.items()}


def rank(title, domain, calls, rounds, built):
    wanted = calls["walk"]()
    wrong = {name: int(np.count_nonzero(call() != wanted)) for name, call in calls.items()}
    times = measure(calls | {"A/A": calls["walk"]}, rounds)
    ns = {name: float(np.median(each)) / wanted.size for name, each in times.items()}
    sizes = {name: table.nbytes for name, table in tables(domain).items()}
    sizes |= dict.fromkeys(("walk", "walk, counted"), WALK_BYTES)
    names = sorted(calls, key=ns.get)
    places = [
        ranked({name: column[name] for name in names})
        for column in (sizes, built | {"walk": 0, "walk, counted": 0}, ns)
    ]
    print(f"\n{title}\n{'':15} {'bytes':>12} {'made in us':>14} {'ns a look-up':>14}   times as fast as walk")
    for name in [*names, "A/A"]:
        low, mid, high = quartiles(times["walk"], times[name])
        cells = ["", "", f"{ns[name]:.2f}    "]
        if name != "A/A":
            made_in = built.get(name, 0) / 1000
            cells = [
                f"{sizes[name]} ({places[0][name]})",
                f"{made_in:.0f} ({places[1][name]})",
                f"{ns[name]:.2f} ({places[2][name]})",
            ]
        note = f"   other than the walk: {wrong[name]:,} of {wanted.size:,}" if wrong.get(name) else ""
        ratio = f"{mid:6.2f} ({low:.2f} .. {high:.2f})"
        print(f"{name:15} {cells[0]:>12} {cells[1]:>14} {cells[2]:>14}   {ratio}{note}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds: ten seconds")
    options = parser.parse_args()
    rounds, n = (15, 2**14) if options.quick else (101, 2**16)
    rng = np.random.default_rng(1)
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}")
    print(f"{rounds} rounds of {n:,} look-ups")
    for title, domain in domains():
        makers = {name: partial(domain.lut, False, variant=name) for name in VARIANTS}
        makers["the states alone"] = partial(domain.table, kernel="5.12")
        building = {name: float(np.median(each)) for name, each in measure(makers, rounds).items()}
        alone = building.pop("the states alone")
        built = {name: max(each - alone, 0) for name, each in building.items()}
        requests = rng.integers(0, int(domain.freq_khz[-1] * 11 // 10), n).astype(np.uint64)
        rank(f"{title}, by frequency", domain, by_frequency(domain, requests), rounds, built)
        utils = rng.integers(0, domain.capacity + 1, n).astype(np.uint64)
        rank(f"{title}, by utilisation", domain, by_utilisation(domain, utils), rounds, built)


if __name__ == "__main__":
    main()
