# SPDX-License-Identifier: GPL-2.0-only
"""What a reviewer of an energy model wants to know before a kernel does."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from schedpy._tables import html_table

__all__ = ["Check", "Finding", "check_domain"]

#: What there is to find, the gravest first.
KINDS = ("refused", "recorded", "look-up table", "power falls", "power stays", "equal costs", "inefficient")


@dataclass(frozen=True)
class Finding:
    """One thing found.

    ``kind``: "refused", the kernel does not register the domain; "recorded", the machine that
    the model was read from had computed something else; "look-up table", the 2021 table gives
    another state than the lowest efficient one at or above the request, or none; "power falls" and "power
    stays", a higher frequency needs less power or as much; "equal costs"; "inefficient", it does not cost
    less than every state above it. ``state`` is the index of the state, None where the domain is meant.
    """

    domain: str
    state: int | None
    kind: str
    message: str


@dataclass(frozen=True)
class Check:
    """What `EnergyModel.check` found in a model as a kernel takes it; empty and false if nothing.

    Prints as a list, shows as a table in a notebook.
    """

    model: str
    kernel: str
    findings: tuple[Finding, ...]

    def __len__(self):
        return len(self.findings)

    def __iter__(self):
        return iter(self.findings)

    def of(self, kind):
        """The findings of one kind."""
        if kind not in KINDS:
            raise ValueError(f"kind = {kind!r}: must be one of {', '.join(map(repr, KINDS))}")
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def __str__(self):
        head = f"{self.model} on {self.kernel}: {len(self.findings) or 'no'} finding"
        lines = [f"  {f.domain}: {f.kind}: {f.message}" for f in self.findings]
        return "\n".join([head + ("" if len(self.findings) == 1 else "s"), *lines])

    def _repr_html_(self):
        rows = [(finding.domain, finding.kind, finding.message) for finding in self.findings]
        return html_table(("domain", "finding", "what"), rows, str(self).partition("\n")[0])


def check_domain(domain, kernel, lut, recorded):
    """The findings in one domain of a proven kernel.

    ``lut``: whether it may carry the table of 2021; ``recorded``: columns that another kernel had computed.
    """
    found = [*_power(domain)]
    try:
        table = domain.table(kernel=kernel)
    except ValueError as refused:
        found.append((None, "refused", str(refused)))
    else:
        found += _costs(table)
        found += _recorded(table, recorded, kernel)
        if lut:
            found += _look_ups(domain, table)
    order = sorted(found, key=lambda each: (KINDS.index(each[1]), -1 if each[0] is None else each[0]))
    return [Finding(domain.name, *each) for each in order]


def _power(domain):
    """Where power does not rise with frequency, as the model has it."""
    freq, power, unit = domain.freq_khz.tolist(), domain.power.tolist(), domain.unit
    for i, (below, here) in enumerate(pairwise(power), 1):
        if here <= below:
            kind = "power stays" if here == below else "power falls"
            yield i, kind, f"{freq[i]} kHz needs {here} {unit}, {freq[i - 1]} kHz {below} {unit}"


def _costs(table):
    freq, cost = table["freq_khz"].tolist(), table["cost"].tolist()
    for i in range(len(cost)):
        same = [freq[k] for k in range(i + 1, len(cost)) if cost[k] == cost[i]]
        if same:
            yield i, "equal costs", f"{freq[i]} kHz costs {cost[i]}, as {', '.join(map(str, same))} kHz do"
        if i + 1 < len(cost) and cost[i] >= min(cost[i + 1 :]):
            flag = "" if table["inefficient"][i] else "; this kernel does not flag it"
            yield i, "inefficient", f"{freq[i]} kHz costs {cost[i]}, a higher one {min(cost[i + 1 :])}{flag}"
    for i in np.flatnonzero(table["inefficient"]).tolist():
        if cost[i] < min(cost[i + 1 :]):
            yield i, "inefficient", f"{freq[i]} kHz is flagged, though it costs less than all above it"


def _recorded(table, recorded, kernel):
    """Where the machine that the model was read from had computed something else."""
    for column, values in recorded.items():
        if column == "performance" and not table[column].any():
            continue  # The kernel has none.
        for i in np.flatnonzero(table[column] != values).tolist():
            was, here = values[i].item(), table[column][i].item()
            khz = table["freq_khz"][i]
            yield i, "recorded", f"{khz} kHz: {column} is recorded as {was}, {kernel} computes {here}"


def _look_ups(domain, table):
    """
    States that the table of 2021 misses. What it gives changes at a bin's edge and just above a
    state only, so that looking there is looking everywhere.
    """
    try:
        lut = domain.lut()
    except ValueError as too_large:
        yield None, "look-up table", str(too_large)
        return
    freq = table["freq_khz"]
    edges = np.uint64(lut.min_freq) + (
        np.arange(lut.entries.size + 1, dtype=np.uint64) << np.uint64(lut.shift)
    )
    places = np.concatenate([freq, edges])
    requests = np.unique(np.concatenate([places - np.uint64(1), places, places + np.uint64(1)]))
    efficient = np.flatnonzero(~table["inefficient"])
    at = np.minimum(np.searchsorted(freq[efficient], requests), efficient.size - 1)
    wanted = efficient[at]
    got = domain.get_efficient_state(requests, kernel="5.12", method="lut")
    for state in np.unique(wanted[got != wanted]).tolist():
        request = int(requests[(wanted == state) & (got != wanted)][0])
        index = int(got[requests == request][0])
        gives = "reads past its end" if index < 0 else f"gives {freq[index]} kHz"
        yield state, "look-up table", f"for {request} kHz it {gives}, not {freq[state]} kHz"
