# SPDX-License-Identifier: GPL-2.0-only
"""How fast pelt.track is beside the same rule in numba, in plain Python, and beside scipy's lfilter.

All is measured in one process: rounds in which every candidate runs once, in an order shuffled anew. A
ratio is of two calls of one round, so that what else the machine does falls on both; given are the median
and the middle half of the rounds. The row A/A, numba beside itself, says what such a ratio is worth.

    python benchmarks/ratios.py
    python benchmarks/ratios.py --quick --plot build/ratios.png

Both write into arrays made before: the first touch of new memory costs as much as some of the paths do. The
numba rule keeps only the sums behind the averages asked for; pelt.track checks its arguments, and keeps
and returns the whole state.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numba_pelt as rule
import numpy as np
from rounds import machine, measure, quartiles, span
from scipy.signal import lfilter

from schedpy import paths, pelt, workload

BOTH = ("util_avg", "load_avg")
START = np.uint64(10**9)

#: The ratios asked for: row -> path -> at least so many times as fast.
TARGETS = {
    "one stream": {"avx512": 2.0, "avx2": 1.2, "portable": 1.2},
    "many streams": {"avx512": 4.0, "avx2": 2.2, "portable": 1.2},
    "many streams + load_avg": {"avx512": 3.0, "avx2": 2.3, "portable": 1.0},
    "interleaved": {"avx512": 1.4, "avx2": 1.4, "portable": 1.2},
    "two threads": {"avx512": 1.7, "avx2": 1.7, "portable": 1.7},
    "plain Python": {"avx512": 100, "avx2": 100, "portable": 100},
    "lfilter": {"avx512": 1.0, "avx2": 1.0, "portable": 1.0},
}


def by_path(path, call):
    def run():
        with paths.using(path):
            return call()

    return run


def mixes(rng, streams, n):
    """Clocks and flags (streams, n) by the name of the mix."""

    def of(deltas):
        return START + np.cumsum(deltas, axis=1).astype(np.uint64), rng.random((streams, n)) < 0.5

    shape = (streams, n)
    yield "1-4 ms", *of(rng.integers(1_000_000, 4_000_000, shape))
    yield "below a window", *of(rng.integers(1000, 900_000, shape))
    task = workload.periodic(20_000_000, 100_000_000, n // 7 + 2, hz=250, start_ns=int(START))
    late = np.uint64(32768) * np.arange(streams, dtype=np.uint64)[:, np.newaxis]
    yield "20/100 ms", task.now[:n] + late, np.tile(task.running[:n], (streams, 1))
    asleep = rng.random(shape) < 0.2
    longs = rng.integers(10**8, 10**11, shape)
    yield "long sleeps", *of(np.where(asleep, longs, rng.integers(10**6, 4 * 10**6, shape)))


class Table:
    def __init__(self):
        self.rows = []

    def add(self, row, mix, path, ratios, ns):
        target = TARGETS.get(row, {}).get(path)
        self.rows.append((row, mix, path, ratios, ns, target))
        verdict = "" if target is None else f"{target:6g}  {'met' if ratios[1] >= target else 'MISSED'}"
        low, mid, high = (f"{r:.2f}" if r < 100 else f"{r:.0f}" for r in ratios)
        print(f"{row:24} {mix:15} {path:9} {ns:9.2f}   {mid:>6} ({low} .. {high}){'':3}{verdict}", flush=True)


def beside_numba(table, row, found, mix, base, track, events, rounds):
    candidates = {"numba": base, "A/A": base} | {path: by_path(path, track) for path in found}
    times = measure(candidates, rounds)
    for name, each in times.items():
        if name != "numba":
            table.add(row, mix, name, quartiles(times["numba"], each), np.median(each) / events)
    table.add(row, mix, "numba", np.ones(3), np.median(times["numba"]) / events)


def one_call(now, running, fields):
    """The numba call and ours, after both have been seen to give the same."""
    theirs, ours = ({name: np.zeros(now.shape, np.uint64) for name in fields} for _ in range(2))
    if fields == BOTH:
        base = partial(rule.util_and_load_avg, now, running, np.uint64(1024), *theirs.values())
    else:
        base = partial(rule.util_avg, now, running, *theirs.values())
    base()
    track = partial(pelt.track, now, kernel="6.1", running=running, fields=fields, out=ours)
    for path in paths.names():
        by_path(path, track)()
        for name in fields:
            assert np.array_equal(ours[name], theirs[name]), f"{name} by {path} is not numba's"
    return base, track


def streams(table, rng, found, rounds, n):
    for row, shape, fields in (
        ("one stream", (1, n), ("util_avg",)),
        ("many streams", (256, n // 256), ("util_avg",)),
        ("many streams + load_avg", (256, n // 256), BOTH),
    ):
        for mix, now, running in mixes(rng, *shape):
            base, track = one_call(now, running, fields)
            beside_numba(table, row, found, mix, base, track, n, rounds)


def interleaved(table, rng, found, rounds, n):
    for mix, now, running in mixes(rng, 1, n):
        now, running = now[0], running[0]
        index = rng.integers(0, 64, n).astype(np.uint64)
        theirs, ours = np.zeros((2, n), np.uint64)
        base = partial(rule.interleaved_util_avg, now, running, index, 64, theirs)
        out = {"util_avg": ours}
        track = partial(pelt.track, now, kernel="6.1", running=running, index=index, out=out)
        base()
        track()
        assert np.array_equal(ours, theirs)
        beside_numba(table, "interleaved", found, mix, base, track, n, rounds)


def two_threads(table, rng, found, rounds, n):
    """Each beside itself with one thread; what numba's rule gains tells what the machine lets one gain."""
    n = max(n, 2**20) * 2
    mix, now, running = next(mixes(rng, 512, n // 512))
    out = np.zeros(now.shape, np.uint64)
    track = partial(pelt.track, now, kernel="6.1", running=running, out={"util_avg": out})
    halves = np.s_[:256], np.s_[256:]
    with ThreadPoolExecutor(2) as pool:

        def numba(threads):
            if threads == 1:
                return rule.util_avg(now, running, out)
            return list(pool.map(lambda half: rule.util_avg(now[half], running[half], out[half]), halves))

        numba(1)
        calls = {
            path: lambda threads, path=path: by_path(path, partial(track, threads=threads))()
            for path in found
        }
        for name, call in {"numba": numba, **calls}.items():
            times = measure({k: partial(call, k) for k in (1, 2)}, rounds)
            table.add("two threads", mix, name, quartiles(times[1], times[2]), np.median(times[2]) / n)


def plain_python(table, rng, found, rounds, n):
    rounds, n = min(rounds, 15), n // 4
    for mix, now, running in mixes(rng, 64, n // 64):
        few, flags = now[:1].tolist()[0], running[:1].tolist()[0]
        loop = partial(rule.python_util_avg, few, flags)
        track = partial(pelt.track, now, kernel="6.1", running=running)
        assert loop() == track().util_avg[0].tolist()
        times = measure({"loop": loop} | {path: by_path(path, track) for path in found}, rounds)
        for path in found:
            per_event = times["loop"] / len(few) / (times[path] / now.size)
            table.add(
                "plain Python",
                mix,
                path,
                np.percentile(per_event, [25, 50, 75]),
                np.median(times[path]) / now.size,
            )


def beside_lfilter(table, rng, found, rounds, n):
    """One window an event: the recursion is y' = y r + (1 - r) x, no integers."""
    shape = (256, n // 256)
    now = np.broadcast_to(START + np.uint64(2**20) * np.arange(shape[1], dtype=np.uint64), shape).copy()
    running = rng.random(shape) < 0.5
    decay = 0.5 ** (1 / 32)
    signal = running.astype(float)
    smooth = partial(lfilter, [(1 - decay) * 1024], [1, -decay], signal)  # it has no out=
    track = partial(pelt.track, now, kernel="6.1", running=running)
    assert np.abs(smooth()[:, 1:] - track().util_avg[:, 1:]).max() < 25
    times = measure({"lfilter": smooth} | {path: by_path(path, track) for path in found}, rounds)
    for path in found:
        table.add(
            "lfilter",
            "1024-us grid",
            path,
            quartiles(times["lfilter"], times[path]),
            np.median(times[path]) / n,
        )


#: What a row's ratio is of.
BESIDE = {
    "one stream": "numba",
    "many streams": "numba",
    "many streams + load_avg": "numba",
    "interleaved": "numba",
    "two threads": "one thread",
    "plain Python": "a Python loop",
    "lfilter": "scipy",
}

GROUPS = {
    "streams": streams,
    "interleaved": interleaved,
    "threads": two_threads,
    "python": plain_python,
    "lfilter": beside_lfilter,
}


MARK = "<!-- ratios: written by benchmarks/ratios.py --readme -->"


def readme(table, rounds, n):
    """The block of the README: of each row and path the range of medians over the mixes, and the target."""
    found = [path for path in ("avx512", "avx2", "portable") if any(row[2] == path for row in table.rows)]
    yield MARK
    yield f"Measured on {datetime.now(UTC):%-d %B %Y}: {machine()}; {rounds} rounds of {n:,} events."
    yield "Ranges are of medians over the mixes of events, in brackets is the ratio aimed at:"
    yield ""
    yield "| | beside | " + " | ".join(found) + " |"
    yield "|---|---|" + "---|" * len(found)
    for row, targets in TARGETS.items():
        cells = []
        for path in found:
            medians = [each[3][1] for each in table.rows if each[0] == row and each[2] == path]
            cells.append(f"{span(medians)} ({targets[path]:g})")
        yield f"| {row} | {BESIDE[row]} | " + " | ".join(cells) + " |"
    same = [each[3][1] for each in table.rows if each[2] == "A/A"]
    second = [each[3][1] for each in table.rows if each[0] == "two threads" and each[2] == "numba"]
    yield ""
    yield f"Numba beside itself (A/A) was {span(same)}; a second thread gave numba's rule {span(second)}."
    yield MARK


def write_readme(lines):
    path = Path(__file__).parent.parent / "README.md"
    before, _, after = path.read_text(encoding="utf-8").split(MARK)
    path.write_text(before + "\n".join(lines) + after, encoding="utf-8")


def plot(table, path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = [
        row
        for row in table.rows
        if row[0] not in ("plain Python",) and (row[0] == "two threads" or row[2] != "numba")
    ]
    figure, axes = plt.subplots(figsize=(9, 0.24 * len(rows) + 1.2), layout="constrained")
    colours = {"avx512": "C0", "avx2": "C1", "portable": "C2", "A/A": "0.5", "numba": "0.5"}
    for y, (_, _, name, (low, mid, high), _, target) in enumerate(reversed(rows)):
        axes.plot([low, high], [y, y], color=colours[name], lw=2)
        axes.plot(mid, y, "o", color=colours[name], ms=5)
        if target is not None:
            axes.plot(target, y, "|", color="black", ms=9)
    axes.set_yticks(range(len(rows)), [f"{r[0]}, {r[1]}, {r[2]}" for r in reversed(rows)], fontsize=7)
    axes.axvline(1, color="0.7", lw=0.8, zorder=0)
    axes.set_xscale("log")
    ticks = (0.5, 0.7, 1, 1.4, 2, 3, 4)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_ylim(-1, len(rows))
    axes.set_xlabel("times as fast (median and middle half of the rounds; tick: the target)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"\n{path}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter streams: a minute")
    parser.add_argument("--plot", type=Path, default=Path("build/ratios.png"), help="where the picture goes")
    parser.add_argument("--readme", action="store_true", help="put the ranges into the README")
    parser.add_argument("--only", choices=[*GROUPS], help="these rows alone")
    options = parser.parse_args()
    rounds, n = (9, 2**18) if options.quick else (31, 2**20)
    rng = np.random.default_rng(1)
    found, table = paths.names()[::-1], Table()

    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}")
    print(f"{rounds} rounds of {n} events; ratio: median (middle half)\n")
    print(f"{'row':24} {'mix':15} {'path':9} {'ns/event':>9}   {'times as fast':22} target")
    for name, group in GROUPS.items():
        if options.only in (None, name):
            group(table, rng, found, rounds, n)
    plot(table, options.plot)
    if options.readme and not options.only:
        write_readme(readme(table, rounds, n))


if __name__ == "__main__":
    main()
