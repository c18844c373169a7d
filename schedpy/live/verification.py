# SPDX-License-Identifier: GPL-2.0-only
"""Whether a recording's states follow from each other by the rule of a kernel."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from schedpy import kernel as _kernel
from schedpy import pelt
from schedpy.live.recording import Recording

__all__ = ["Chain", "Verification", "verify"]

AVERAGES = ("load_sum", "runnable_sum", "util_sum", "load_avg", "runnable_avg", "util_avg")

#: The flags of an update: the task ran, waited or slept in the time before. From 6.12 on a task that sleeps
#: may stay queued until it would have been picked: it counts for the load and is not runnable, even while it
#: is still the current one.
RUNNING = np.array([True, False, False, False, True])
RUNNABLE = np.array([True, True, False, False, False])
ON_RQ = np.array([True, True, False, True, True])
DELAYED = ON_RQ & ~RUNNABLE
RAN, WAITED, SLEPT = range(3)
BASIC = np.arange(3)
#: The usual flags of two updates in a row: preempted and picked again, woken and picked, picked and ticked.
USUAL = ((RAN, WAITED), (SLEPT, WAITED), (WAITED, RAN), (RAN, RAN), (RAN, SLEPT))

UNIT = np.uint64(1024)

#: What a step is.
EXACT, TWO_UPDATES, UNEXPLAINED = range(3)

_BLOCK = 16  # steps that vote at a time, times 3 flags, times 1024 values of period_contrib
_LEAD = 16
_GRID = 257
_SLACK = 16  # units
_SEARCHED = 1 << 18


@dataclass(frozen=True)
class Rule:
    """One form of the update with its constants, as it treats a task."""

    kernel: str
    first: tuple[int, int]
    half_life: int
    load_avg_max: int
    update_threshold: int

    @property
    def flags(self):
        """Indices of the flags that an update by this kernel may have."""
        return np.arange(5 if _kernel.parse(self.kernel)[:2] >= (6, 12) else 3)

    def update(self, state, now, weight, flags):
        """The state after an update; flags are indices, the weight is the raw one of a 64-bit kernel."""
        scaled = weight >> np.uint64(10)
        if self.first >= (5, 7):
            scaled = np.where(weight > 0, np.maximum(scaled, 2), scaled)
        end = self._update(state, now, weight=scaled, running=RUNNING[flags], on_rq=ON_RQ[flags])[0]
        delayed = np.broadcast_to(DELAYED[flags], end.shape)
        if delayed.any():
            arguments = np.broadcast_arrays(state, now, scaled, flags, end, subok=False)
            end[delayed] = self._update_delayed(*(argument[delayed] for argument in arguments[:4]))
        return end

    def _update(self, state, now, **flags):
        return pelt.update(
            state,
            now,
            kernel=self.kernel,
            half_life=self.half_life,
            load_avg_max=self.load_avg_max,
            update_threshold=self.update_threshold,
            **flags,
        )

    def _update_delayed(self, state, now, weight, flags):
        """A queue of weight 1 with nothing runnable has such a task's sums, and a load_avg without weight."""
        end, updated = self._update(
            state, now, entity="cfs_rq", weight=1, nr_running=0, running=RUNNING[flags]
        )
        divider = np.uint64(self.load_avg_max - 1024) + end["period_contrib"]
        end["load_avg"] = np.where(updated, weight * end["load_sum"] // divider, end["load_avg"])
        return end

    def slack(self, weight):
        """field -> what rounding and a few units can make of a sum."""
        load = max(int(weight) >> 10, 1) if self.first < (4, 15) else 1
        return {"util_sum": _SLACK << 10, "load_sum": _SLACK * load}


def ranges():
    """Ranges of kernels whose stamp tells the units that an update took: from 4.12 on."""
    return [r for r in _kernel.ranges("pelt.update") if first_of(r) >= (4, 12)]


def first_of(kernels):
    major, minor = kernels.first.split(".")
    return int(major), int(minor)


def rule_for(kernel, half_life, load_avg_max, update_threshold):
    form = _kernel.form("pelt.update", kernel)
    for kernels in ranges():
        if kernels.form == form:
            return form, Rule(kernel, first_of(kernels), half_life, load_avg_max, update_threshold)
    raise ValueError(
        f"kernel = {kernel!r}: the stamps of kernels before 4.12 do not tell what an update took"
    )


def states(readings, period_contrib):
    """Readings as states; the two arguments broadcast."""
    fields = {name: readings[name] for name in ("last_update_time", *AVERAGES)}
    return pelt.initial_state(period_contrib=period_contrib, **fields)


def same(state, readings):
    """Where a state has the sums and averages of a reading."""
    equal = state["util_sum"] == readings["util_sum"]
    for name in AVERAGES:
        equal &= state[name] == readings[name]
    return equal


@dataclass(frozen=True)
class Chain:
    """Readings on one clock, by one weight: the part of a recording with one unknown period_contrib.

    Attributes
    ----------
    first, last : int
        Its readings, both included.
    begins : str
        Why it is a chain of its own.
    period_contrib : int or None
        At its first reading; None where no step is explained.
    candidates : int
        How many values agree with as many steps: 1 when it is certain. Of several that one is taken whose
        windows end at multiples of 2^20 ns of the clock.
    """

    first: int
    last: int
    begins: str
    period_contrib: int | None = None
    candidates: int = 1024


def chains_of(readings):
    """First and last reading of each chain, and why it begins."""
    before, after = readings[:-1], readings[1:]
    a, b = before["last_update_time"], after["last_update_time"]
    reasons = np.full(len(before), "", dtype="U20")
    # Later lines have the last word.
    reasons[(b - a) % UNIT != 0] = "no whole units"
    reasons[before["weight"] != after["weight"]] = "another weight"
    reasons[b < a] = "clock went back"
    reasons[before["nr_migrations"] != after["nr_migrations"]] = "migrated"
    reasons[(a == 0) | (b == 0)] = "no stamp"
    cuts = np.flatnonzero(reasons != "")
    firsts = [0, *(cuts + 1).tolist()]
    lasts = [*cuts.tolist(), len(readings) - 1]
    begins = ["first reading", *reasons[cuts].tolist()]
    return [Chain(*chain) for chain in zip(firsts, lasts, begins, strict=True)] if len(readings) else []


def passed(readings):
    """Units from the first reading of a chain to each."""
    stamps = readings["last_update_time"]
    return (stamps - stamps[0]) // UNIT


def vote(readings, rule, steps):
    """For each period_contrib at a chain's first reading, with how many steps it agrees.

    ``steps`` are the readings of the chain at which the steps begin. A value that is far behind votes no
    more: a wrong one agrees with a step once in a while, the right one with nearly all.
    """
    votes = np.zeros(1024, np.int64)
    left = np.arange(1024)
    units = passed(readings)
    for at in range(0, len(steps), _BLOCK):
        i = steps[at : at + _BLOCK]
        contrib = (left.astype(np.uint64) + units[i, None, None]) % UNIT
        before, after = readings[i, None, None], readings[i + 1, None, None]
        end = rule.update(
            states(before, contrib),
            after["last_update_time"],
            before["weight"],
            BASIC[:, None],
        )
        votes[left] += same(end, after).any(axis=1).sum(axis=0)
        left = left[votes[left] > votes.max() - _LEAD]
        if len(left) == 1:
            break
    return votes


def aligned_or_best(votes, readings):
    """The value with most votes; of several the one whose windows end at multiples of 2^20 ns of the clock.

    That is how the windows lie of a run queue that began at 0, and of its tasks.
    """
    aligned = int(readings["last_update_time"][0] // UNIT % UNIT)
    return aligned if votes[aligned] == votes.max() else int(votes.argmax())


def singles(readings, rule, contrib, before, after):
    """The flags by which one update leads from one reading to the other, -1: none."""
    end = rule.update(
        states(readings[before], contrib[before])[:, None],
        readings["last_update_time"][after][:, None],
        readings["weight"][before][:, None],
        rule.flags,
    )
    hit = same(end, readings[after][:, None])
    return np.where(hit.any(axis=1), hit.argmax(axis=1), -1)


def two_updates(before, after, contrib, rule):
    """The second's flags and the first's instant of two updates that lead from one reading to the other.

    The later the instant, the more the first's flags count and the less the second's: each sum is monotone in
    it but for rounding. So a grid of instants tells between which two of them the sums can be met, and only
    there every whole unit is tried.
    """
    begin, end = int(before["last_update_time"]), int(after["last_update_time"])
    units = (end - begin) // 1024
    if units < 2:
        return None
    start = states(before, contrib)

    def finish(instants, first, second):
        now = np.uint64(begin) + instants * UNIT
        middle = rule.update(start, now, before["weight"], first)
        return rule.update(middle, np.uint64(end), before["weight"], second)

    grid = np.unique(np.linspace(1, units - 1, min(units - 1, _GRID)).astype(np.uint64))
    flags = rule.flags
    coarse = finish(grid, flags[:, None, None], flags[:, None])
    possible = np.ones((len(flags), len(flags), max(len(grid) - 1, 1)), bool)
    for name, slack in rule.slack(before["weight"]).items():
        values = coarse[name].astype(np.int64)
        left, right = (values[..., :-1], values[..., 1:]) if len(grid) > 1 else (values, values)
        wanted = int(after[name])
        possible &= (np.minimum(left, right) - slack <= wanted) & (wanted <= np.maximum(left, right) + slack)
    for first, second in dict.fromkeys([*USUAL, *product(flags.tolist(), repeat=2)]):
        cells = np.flatnonzero(possible[first, second]).tolist()
        if not cells:
            continue
        tried = [np.arange(grid[c], grid[min(c + 1, len(grid) - 1)] + 1, dtype=np.uint64) for c in cells]
        instants = np.unique(np.concatenate(tried))[-_SEARCHED:]
        hit = same(finish(instants, first, second), after)
        if hit.any():
            return second, begin + int(instants[hit.argmax()]) * 1024
    return None


@dataclass(frozen=True, eq=False)
class Verification:
    """What `verify` found. Every reading is the end of a step, the begin of a chain, or torn.

    Attributes
    ----------
    recording : Recording
    kernel, form : str
        Whose rule was held against it.
    half_life, load_avg_max, update_threshold : int
        Its constants.
    before, after : int arrays, shape (steps,)
        The two readings of each step.
    kind : int array, shape (steps,)
        0: exact by one update, 1: by two, 2: unexplained.
    switched : bool array, shape (steps,)
        Whether the task was switched out in between (nr_switches).
    running, runnable, on_rq : bool arrays, shape (steps,)
        The flags of the (last) update; False where unexplained. A task that is queued and not runnable
        sleeps, its dequeue delayed (6.12 on).
    between : int array, shape (steps,)
        The stamp of the first of two updates, one that explains the step; 0 where there are none.
    torn : int array
        Readings that were seen once, in the middle of an update: nothing before or after agrees with them.
    chains : tuple of Chain
    """

    recording: Recording
    kernel: str
    form: str
    half_life: int
    load_avg_max: int
    update_threshold: int
    before: np.ndarray
    after: np.ndarray
    kind: np.ndarray
    switched: np.ndarray
    running: np.ndarray
    runnable: np.ndarray
    on_rq: np.ndarray
    between: np.ndarray
    torn: np.ndarray
    chains: tuple[Chain, ...]

    @property
    def steps(self):
        """How many steps there are: exact, two_updates and unexplained together."""
        return len(self.kind)

    @property
    def exact(self):
        """How many steps one update explains, bit for bit."""
        return int((self.kind == EXACT).sum())

    @property
    def two_updates(self):
        """How many steps only two updates explain, bit for bit."""
        return int((self.kind == TWO_UPDATES).sum())

    @property
    def unexplained(self):
        """How many steps neither explains."""
        return int((self.kind == UNEXPLAINED).sum())

    @property
    def unswitched(self):
        """How many steps have no context switch in between."""
        return int((~self.switched).sum())

    @property
    def exact_unswitched(self):
        """How many of these one update explains."""
        return int((~self.switched & (self.kind == EXACT)).sum())

    @property
    def period_contrib(self):
        """The period_contrib found at the first reading of each chain, None where there is none."""
        return tuple(chain.period_contrib for chain in self.chains)

    def __str__(self):
        certain = [chain for chain in self.chains if chain.candidates == 1]
        longest = max(certain, key=lambda chain: chain.last - chain.first, default=None)
        lines = [
            f"{self.recording}",
            f"by the rule of {self.kernel} ({self.form}, half-life {self.half_life}, LOAD_AVG_MAX "
            f"{self.load_avg_max}, threshold {self.update_threshold}):",
            f"  {self.steps} steps: {self.exact} exact, {self.two_updates} by two updates, "
            f"{self.unexplained} unexplained",
            f"  {self.unswitched} of them without a context switch: {self.exact_unswitched} exact",
            f"  {len(self.torn)} torn readings; {len(self.chains)} chains, "
            f"{len(certain)} of them with one period_contrib",
        ]
        if longest is not None:
            lines.append(
                f"  period_contrib {longest.period_contrib} at reading {longest.first}, "
                f"right to reading {longest.last}"
            )
        return "\n".join(lines)


def verify(recording, kernel=None, *, half_life=32, load_avg_max=None, update_threshold=0):
    """Hold a kernel's rule against the states that it made.

    Parameters
    ----------
    recording : Recording
        Of a 64-bit kernel from 4.12 on.
    kernel : str, optional
        ``"4.12"`` .. ``"6.19"``. None: the kernel that the recording was made on.
    half_life, load_avg_max, update_threshold : int, optional
        As for `schedpy.pelt.update`.

    Returns
    -------
    Verification
        A step from one reading to the next is exact when one update of a task that ran, waited or slept gives
        all its fields; else two updates with any instant in between are tried. Nothing is dropped.

    Raises
    ------
    ValueError
        The kernel's rule is not proven; `identify` does not ask for the kernel.
    TypeError
        The recording is none.

    Notes
    -----
    A new chain begins where the clock is another or the state is rewritten: nr_migrations or the weight has
    changed, the stamp went back, is 0, or moved by no whole units of 1024 ns.

    Of instants so far back that they hardly count any more no more than 2^18 are tried.

    Examples
    --------
    >>> from schedpy import live
    >>> print(live.verify(live.watch(seconds=5)))  # doctest: +SKIP
    """
    if not isinstance(recording, Recording):
        raise TypeError(f"recording must be a live.Recording, not {type(recording).__name__}")
    kernel = recording.release if kernel is None else kernel
    load_avg_max = pelt.constants(half_life).load_avg_max if load_avg_max is None else load_avg_max
    form, rule = rule_for(kernel, half_life, load_avg_max, update_threshold)
    readings = recording.readings
    steps: list[tuple] = []
    torn: list[int] = []
    chains = tuple(_verify_chain(readings, chain, rule, steps, torn) for chain in chains_of(readings))
    columns = np.array(steps, np.uint64).reshape(-1, 5).T
    before, after = columns[:2].astype(np.intp)
    kind, flags = columns[2].astype(np.uint8), columns[3].astype(np.intp)
    explained = kind != UNEXPLAINED
    return Verification(
        recording=recording,
        kernel=kernel,
        form=form,
        half_life=half_life,
        load_avg_max=load_avg_max,
        update_threshold=update_threshold,
        before=before,
        after=after,
        kind=kind,
        switched=_switched(readings, before, after, kind),
        running=RUNNING[flags] & explained,
        runnable=RUNNABLE[flags] & explained,
        on_rq=ON_RQ[flags] & explained,
        between=columns[4],
        torn=np.array(torn, np.intp),
        chains=chains,
    )


def _switched(readings, before, after, kind):
    """Whether nr_switches rose between two readings.

    A reading prints it before the sums. Where a stamp was seen once, a switch may fall between the two; then
    the next reading has the higher number. One update that explains such a step shows that there was none.
    """
    count = readings["nr_switches"]
    following = count[np.minimum(after + 1, len(readings) - 1)]
    late = (readings["reads"][after] == 1) & (following != count[before]) & (kind != EXACT)
    return (count[before] != count[after]) | late


def _verify_chain(readings, chain, rule, steps, torn):
    """The chain with its period_contrib; ``steps`` gets before, after, kind, flags, between of each."""
    mine = readings[chain.first : chain.last + 1]
    last = len(mine) - 1
    if last == 0:
        return chain
    every = np.arange(last)
    units = passed(mine)
    votes = vote(mine, rule, every)
    found = aligned_or_best(votes, mine)
    contrib = (np.uint64(found) + units) % UNIT
    to_next = singles(mine, rule, contrib, every, every + 1)

    def explain(i, j):
        flags = to_next[i] if j == i + 1 else singles(mine, rule, contrib, np.array([i]), np.array([j]))[0]
        if flags >= 0:
            return EXACT, int(flags), 0
        two = two_updates(mine[i], mine[j], contrib[i], rule)
        return (UNEXPLAINED, 0, 0) if two is None else (TWO_UPDATES, *two)

    def may_be_torn(j):
        return mine["reads"][j] == 1 and (j == last or to_next[j] < 0)

    mark = len(steps)
    i = 0
    while i < last:
        j = i + 1
        step = explain(i, j)
        if step[0] == UNEXPLAINED and i == 0 and may_be_torn(0):
            torn.append(chain.first)
        else:
            while step[0] == UNEXPLAINED and may_be_torn(j):
                torn.append(chain.first + j)
                if j == last:
                    break
                j += 1
                step = explain(i, j)
            else:
                steps.append((chain.first + i, chain.first + j, *step))
        i = j
    explained = any(step[2] != UNEXPLAINED for step in steps[mark:])
    equal = int((votes == votes.max()).sum())
    return Chain(chain.first, chain.last, chain.begins, found if explained else None, equal)
