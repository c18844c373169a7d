# SPDX-License-Identifier: GPL-2.0-only
"""The same idles through a governor once for each way that nanoseconds reach it.

What `experiments` yields is an `Experiment`: of one table, kernel, governor and kind of idles, what every
stream selected with each conversion. The first conversion is what that kernel does, the others stand beside.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from schedpy import cpuidle
from schedpy import kernel as kernels
from schedpy._coerce import as_choices, as_number
from schedpy.lab.idle_draws import MIXES, Exponential, Interrupts, LogUniform, Timer

__all__ = [
    "GOVERNORS",
    "PLATFORMS",
    "Experiment",
    "experiments",
    "loaded",
    "name_of",
    "residencies_of",
    "run_args",
]

#: The tables that the published figures are of: those with known answers.
PLATFORMS = (
    "intel_skl",
    "intel_hsw",
    "intel_skx",
    "intel_icx",
    "intel_spr",
    "intel_adl",
    "sm8150_little",
    "sm8150_big",
    "gs101_little",
    "gs101_mid",
    "gs101_big",
    "juno",
    "hikey960_little",
    "hikey960_big",
    "powernv_p8",
)
#: haltpoll knows no residencies to flip at.
GOVERNORS = ("menu", "teo", "ladder")
RESIDENCIES = {"4.7": ("div1000", "shr10"), "later": ("ns", "div1000", "shr10")}
_KINDS = (Timer, Interrupts, LogUniform, Exponential)
# Of each conversion so many states of one byte, times of eight beside them.
_IDLES_AT_ONCE = 1 << 21


@dataclass(frozen=True, eq=False)
class Experiment:
    """``sleep_ns`` and ``wake_ns`` have shape (seeds, n), ``selected`` one such array for each residency."""

    table: cpuidle.IdleTable
    kernel: str
    governor: str
    idles: Timer | Interrupts | LogUniform | Exponential
    sleep_ns: np.ndarray
    wake_ns: np.ndarray
    selected: dict[str, np.ndarray]

    @property
    def against(self):
        """The conversion that this kernel has."""
        return next(iter(self.selected))

    @property
    def key(self):
        """The columns that name it in a table."""
        return {
            "table": name_of(self.table),
            "kernel": self.kernel,
            "governor": self.governor,
            "kind": self.idles.kind,
            "idles": self.idles.label,
        }


def name_of(table):
    """What a table is called in results; one that was read from a machine has no name."""
    return table.name or "unnamed"


def _one_or_more(value, name, single, what):
    values = [value] if isinstance(value, single) else value
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} = {value!r}: must be {what}, or several")
    values = list(values)
    if not values:
        raise ValueError(f"{name} is empty: must be {what}, or several")
    for index, each in enumerate(values):
        if not isinstance(each, single):
            raise TypeError(f"{name}[{index}] = {each!r}: must be {what}")
    return values


def loaded(table):
    given = _one_or_more(
        table, "table", (str, os.PathLike, cpuidle.IdleTable), "an IdleTable or what IdleTable.load takes"
    )
    return [each if isinstance(each, cpuidle.IdleTable) else _loaded(each) for each in given]


def _loaded(name_or_path):
    try:
        return cpuidle.IdleTable.load(name_or_path)
    except ValueError as error:
        raise ValueError(f"table: {error}") from None


def _pairs(kernel, governor):
    """Every kernel with every governor that it is proven for; none may go without a partner."""
    versions = _one_or_more(kernel, "kernel", str, "a kernel such as '4.7'")
    governors = as_choices([governor] if isinstance(governor, str) else governor, "governor", GOVERNORS)
    if not governors:
        raise ValueError(f"governor is empty: must be one of {', '.join(GOVERNORS)}, or several")
    pairs: list[tuple[str, str]] = []
    reasons: dict[str, ValueError] = {}
    for version in versions:
        for name in governors:
            try:
                kernels.form(f"cpuidle.{name}", version)
            except ValueError as error:
                reasons |= {version: error, name: error}
            else:
                pairs.append((version, name))
    for alone in (*versions, *governors):
        if not any(alone in pair for pair in pairs):
            raise reasons[alone]
    return pairs


def residencies_of(version, governor, residency):
    """The conversions of a run, that of the kernel first."""
    known = RESIDENCIES["4.7" if kernels.form(f"cpuidle.{governor}", version) == "v4.7" else "later"]
    if residency is None:
        return known
    chosen = as_choices([residency] if isinstance(residency, str) else residency, "residency", known)
    if not set(chosen) - {known[0]}:
        raise ValueError(
            f"residency = {residency!r}: {known[0]!r} is what {version} does; name another beside it"
        )
    return (known[0], *(each for each in known[1:] if each in chosen))


def run_args(version, governor, hz, latency_us=2_000_000_000, tick_stopped=False):
    """The arguments of `cpuidle.run` that do not change with the idles; 4.7 and ladder have no tick."""
    fixed = {"kernel": version, "governor": governor, "latency_us": latency_us}
    if governor == "ladder" or kernels.form(f"cpuidle.{governor}", version) == "v4.7":
        return fixed
    return fixed | {"hz": hz, "tick_stopped": tick_stopped}


def _drawn(idles, n, seed, streams):
    """Stream k is the same whatever other streams there are."""
    drawn = [idles.draw(np.random.default_rng([seed, k]), n) for k in streams]
    return tuple(np.array(column) for column in zip(*drawn, strict=True))


def _joined(parts):
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _experiment(table, pair, chosen, idles, sleep, wake, fixed, threads):
    blocks = max(1, -(-sleep.size // _IDLES_AT_ONCE))
    selected = {}
    for how in chosen:
        parts = []
        for rows in np.array_split(np.arange(len(sleep)), min(blocks, len(sleep))):
            run = cpuidle.run(
                table,
                sleep_ns=sleep[rows],
                wake_ns=wake[rows],
                residency=how,
                fields=("selected",),
                threads=threads,
                **fixed,
            )
            parts.append(run.selected.astype(np.int8))
        selected[how] = _joined(parts)
    return Experiment(table, pair[0], pair[1], idles, sleep, wake, selected)


def experiments(
    table=PLATFORMS,
    *,
    kernel="4.7",
    governor="menu",
    idles=MIXES,
    residency=None,
    n=25_000,
    seeds=4,
    seed=0,
    hz=250,
    latency_us=2_000_000_000,
    tick_stopped=False,
    threads=None,
    progress=True,
):
    """Every combination in turn, as an `Experiment`; the arguments are those of `idle_flips.flips`."""
    tables, pairs = loaded(table), _pairs(kernel, governor)
    sources = _one_or_more(idles, "idles", _KINDS, "Timer, Interrupts, LogUniform or Exponential")
    count = as_number(n, "n", low=1)
    streams = range(as_number(seeds, "seeds", low=1))
    first = as_number(seed, "seed", low=0)
    workers = (os.cpu_count() or 1) if threads is None else as_number(threads, "threads", low=1)
    runs = [
        (
            (version, name),
            residencies_of(version, name, residency),
            run_args(version, name, hz, latency_us, tick_stopped),
        )
        for version, name in pairs
    ]
    if tick_stopped is not False and not any("tick_stopped" in fixed for _, _, fixed in runs):
        raise ValueError(
            f"tick_stopped: no governor of {', '.join(sorted({p[0] for p in pairs}))} looks at it"
        )
    total = len(sources) * len(tables) * len(runs)
    with tqdm(total=total, unit="run", leave=False, delay=2, disable=None if progress else True) as bar:
        for source in sources:
            sleep, wake = _drawn(source, count, first, streams)
            for states in tables:
                for pair, chosen, fixed in runs:
                    yield _experiment(states, pair, chosen, source, sleep, wake, fixed, workers)
                    bar.update()
