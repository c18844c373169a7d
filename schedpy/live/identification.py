# SPDX-License-Identifier: GPL-2.0-only
"""Which of all the forms we know made a recording."""

from dataclasses import dataclass, replace

import numpy as np

from schedpy.live.recording import Recording
from schedpy.live.verification import (
    Rule,
    aligned_or_best,
    chains_of,
    first_of,
    passed,
    ranges,
    singles,
    vote,
)

__all__ = ["Candidate", "Identification", "identify"]

#: Half-life and LOAD_AVG_MAX of the kernels we know: the released one, the proposal of 2018 with 16 and 8 ms,
#: and the constants that phones were shipped with.
HALF_LIVES = ((32, 47742), (16, 24130), (16, 24152), (8, 12326), (8, 12336), (8, 12337))
THRESHOLDS = (0, 128, 512)

_STEPS = 512  # of a recording, in its longest chains
_CHAINS = 2
_FIRST = 8  # steps of a chain that tell whether its period_contrib is worth a search


@dataclass(frozen=True)
class Candidate:
    """A rule, and how many steps it explains: ``exact`` of those of `Identification.steps`."""

    first: str
    last: str
    half_life: int
    load_avg_max: int
    update_threshold: int
    exact: int

    def __str__(self):
        kernels = self.first if self.first == self.last else f"{self.first} .. {self.last}"
        return (
            f"the form of {kernels}, half-life {self.half_life}, LOAD_AVG_MAX {self.load_avg_max}, "
            f"threshold {self.update_threshold}"
        )


@dataclass(frozen=True)
class Identification:
    """What `identify` found.

    Attributes
    ----------
    steps : int
        Steps looked at: no context switch in between, and both ends read more than once.
    candidates : tuple of Candidate
        All that were tried, the best first.
    """

    steps: int
    candidates: tuple[Candidate, ...]

    @property
    def explain(self):
        """The candidates that explain most steps, and more than half of them; more than one where the data
        do not tell them apart."""
        best = self.candidates[0].exact
        return tuple(c for c in self.candidates if c.exact == best) if 2 * best > self.steps else ()

    def __str__(self):
        if not self.steps:
            return "no step is fit to tell one rule from another"
        if not self.explain:
            return f"none of the {len(self.candidates)} rules known explains these {self.steps} steps"
        others = [c for c in self.candidates if c not in self.explain]
        lines = [
            f"{self.explain[0].exact} of {self.steps} steps are exact by"
            + ("" if len(self.explain) == 1 else " each of")
        ]
        lines += [f"  {candidate}" for candidate in self.explain]
        if others:
            lines.append(f"next best of {len(others)} others: {others[0].exact} steps, {others[0]}")
        return "\n".join(lines)


def identify(*recordings):
    """Find the PELT that a kernel runs: form, half-life and threshold, of all we know.

    Parameters
    ----------
    *recordings : Recording
        Of one kernel. A task that only spins tells less than several kinds together: the threshold of 128 or
        512 units shows where updates follow each other within a window, as when a task wakes up.

    Returns
    -------
    Identification
        Tried are all forms from 4.12 on, half-lives 32, 16 and 8 with each LOAD_AVG_MAX in use, and
        thresholds 0, 128 and 512. The release that the recordings name is not asked for.

    Raises
    ------
    TypeError, ValueError
        No recordings.

    Examples
    --------
    >>> from schedpy import live
    >>> print(live.identify(live.watch(seconds=2)))  # doctest: +SKIP
    """
    if not recordings:
        raise ValueError("recordings: at least one is needed")
    for recording in recordings:
        if not isinstance(recording, Recording):
            raise TypeError(f"recordings must be live.Recording, not {type(recording).__name__}")
    parts = [part for recording in recordings for part in _parts(recording.readings)]
    candidates = []
    for kernels in ranges():
        for half_life, load_avg_max in HALF_LIVES:
            rule = Rule(kernels.last, first_of(kernels), half_life, load_avg_max, 0)
            for threshold in THRESHOLDS:
                known = replace(rule, update_threshold=threshold)
                exact = sum(_exact(mine, steps, known) for mine, steps in parts)
                candidates.append(
                    Candidate(kernels.first, kernels.last, half_life, load_avg_max, threshold, exact)
                )
    candidates.sort(key=lambda candidate: -candidate.exact)
    return Identification(sum(len(steps) for _, steps in parts), tuple(candidates))


def _parts(readings):
    """The readings of each chain, and at which of them a step begins that is fit to tell."""
    left = _STEPS
    for chain in sorted(chains_of(readings), key=lambda c: c.first - c.last)[:_CHAINS]:
        mine = readings[chain.first : chain.last + 1]
        clean = (
            (mine["nr_switches"][1:] == mine["nr_switches"][:-1])
            & (mine["reads"][1:] > 1)
            & (mine["reads"][:-1] > 1)
        )
        steps = np.flatnonzero(clean)[:left]
        left -= len(steps)
        if len(steps):
            yield mine, steps


def _exact(readings, steps, rule):
    """How many of the steps one update explains, by the period_contrib that explains most."""
    votes = vote(readings, rule, steps[:_FIRST])
    if 4 * votes.max() > len(steps[:_FIRST]):
        votes = vote(readings, rule, steps)
    contrib = (np.uint64(aligned_or_best(votes, readings)) + passed(readings)) % np.uint64(1024)
    return int((singles(readings, rule, contrib, steps, steps + 1) >= 0).sum())
