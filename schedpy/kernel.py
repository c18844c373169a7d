# SPDX-License-Identifier: GPL-2.0-only
"""Which kernel computes by which form of a rule.

A rule that changed over time has closed ranges of kernel versions, each with
the form that was proven for it. A version in no range is refused: between two
proven forms the kernel may have done a third thing.
"""

import re
from dataclasses import dataclass
from functools import cache

__all__ = ["Range", "form", "ranges"]

_RELEASE = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-+~].*)?")


@dataclass(frozen=True)
class Range:
    """Kernels ``first`` to ``last``, both included, and the form they share."""

    first: str
    last: str
    form: str
    proof: str

    def __str__(self):
        return self.first if self.first == self.last else f"{self.first} .. {self.last}"


#: rule -> its ranges, oldest first. ``proof`` says whose functions made the known answers.
RULES = {
    "pelt.update": (
        Range("3.8", "4.0", "P38", "3.8.13, 3.19.8"),
        Range("4.3", "4.3", "P43", "4.3"),
        Range("4.4", "4.6", "P44", "4.4"),
        Range("4.7", "4.11", "P47", "4.9, 4.10"),
        Range("4.12", "4.12", "P412", "4.12"),
        Range("4.13", "4.13", "P413", "4.13.4"),
        Range("4.14", "4.14", "P414", "4.14"),
        Range("4.15", "5.0", "P415", "4.15, 4.19, 4.20"),
        Range("5.1", "5.6", "P51", "5.4"),
        Range("5.7", "6.19", "P61", "5.8, 6.1, 6.12, 6.19"),
    ),
    # Run queues of rt and dl, and interrupts.
    "pelt.update_rq": (
        Range("4.19", "5.0", "P415", "none: the form of tasks, and a plain twin"),
        Range("5.1", "5.6", "P51", "none: the form of tasks, and a plain twin"),
        Range("5.7", "6.19", "P61", "none: the form of tasks, and a plain twin"),
    ),
    # Kernels whose unsigned long has 32 bits.
    "pelt.update_32bit": (
        Range("4.13", "4.13", "P413", "4.13.4"),
        Range("4.15", "5.0", "P415", "4.15"),
        Range("5.7", "6.19", "P61", "6.1"),
    ),
    "pelt.compute_runnable_contrib": (
        Range("3.8", "4.0", "P38", "3.8.13, 3.19.8"),
        Range("4.3", "4.6", "P43", "4.3, 4.4"),
        Range("4.7", "4.11", "P47", "4.9, 4.10"),
    ),
    "pelt.decay_load": (
        Range("3.8", "4.0", "P38", "3.8.13, 3.19.8"),
        Range("4.3", "4.11", "P43", "4.3, 4.4, 4.9"),
        Range("4.12", "6.19", "P412", "4.12, 4.13.4, 4.15, 4.19, 5.4, 5.8, 6.1, 6.12, 6.19"),
    ),
    "pelt.scale_load_down": (
        Range("4.12", "5.6", "v4.12", "26cf52229efc as read"),
        Range("5.7", "6.19", "v5.7", "6.12"),
    ),
    "pelt.attach": (
        Range("4.10", "4.14", "A410", "known answers A410"),
        Range("4.15", "5.0", "A415", "known answers A415"),
        Range("5.1", "5.6", "A51", "known answers A51"),
        Range("5.7", "5.16", "A57", "5.8"),
        Range("5.18", "6.19", "A517", "6.1"),
    ),
    "pelt.post_init_entity_util_avg": (
        Range("4.10", "4.14", "I410", "known answers I410, I413"),
        Range("4.15", "6.9", "I415", "known answers I415, 5.8, 6.1, 6.8"),
        Range("6.10", "6.19", "I612", "6.12"),
    ),
    "pelt.util_est": (
        Range("4.17", "5.0", "U417", "4.19"),
        Range("5.1", "5.4", "U51", "5.4"),
        Range("5.5", "5.12", "U55", "5.8"),
        Range("5.13", "6.7", "U513", "5.15, 6.1"),
        Range("6.8", "6.18", "U68", "6.8"),
        Range("6.19", "6.19", "U619", "6.19"),
    ),
    "pelt.clock_pelt": (
        Range("5.1", "5.18", "C51", "known answers C51"),
        Range("6.0", "6.19", "C612", "known answers C612"),
    ),
    # 5.12 with the flags of the 2021 patch; its neighbours have none.
    "em.table": (
        Range("5.0", "5.11", "v5.0", "5.10"),
        Range("5.12", "5.12", "v5.12", "the patch as mailed"),
        Range("5.13", "5.13", "v5.0", "5.10"),
        Range("5.14", "5.15", "v5.14", "the cost of 5.16, no flag, as read"),
        Range("5.16", "5.18", "v5.16", "6.1.192 with power in mW times 1000"),
        Range("5.19", "6.7", "v5.19", "6.1.192"),
        Range("6.9", "7.3", "v6.9", "6.12.117, 7.3.4"),
    ),
    "em.change_capacity": (Range("6.9", "7.3", "v6.9", "6.12.117"),),
    "em.lut": (Range("5.12", "5.12", "v5.12", "the patch as mailed"),),
    # Also how a state is chosen.
    "em.energy": (
        Range("5.0", "5.13", "v5.0", "5.10"),
        Range("5.16", "6.7", "v5.16", "6.1.192"),
        Range("6.9", "6.12", "v6.9", "6.12.117"),
        Range("6.13", "7.3", "v6.13", "7.3.4"),
    ),
    "em.energy_32bit": (Range("5.19", "6.7", "v5.19", "6.1.192"),),
    "em.map_util_freq": (
        Range("5.0", "5.13", "v5.0", "5.10"),
        Range("5.14", "6.7", "v5.14", "6.1.192"),
        Range("6.9", "7.3", "v5.14", "6.12.117, 7.3.4"),
    ),
    "eas.cpu_util": (
        Range("5.12", "5.12", "v5.12", "5.10"),
        Range("5.13", "5.13", "v5.13", "5.10 with the fixes of 5.13"),
        Range("6.1", "6.1", "v6.1", "6.1.192"),
        Range("6.12", "6.12", "v6.12", "6.12.117"),
        Range("7.3", "7.3", "v6.12", "7.3.4"),
    ),
    "eas.effective_cpu_util": (
        Range("5.12", "5.13", "v5.12", "5.10"),
        Range("6.1", "6.7", "v6.1", "6.1.192"),
        Range("6.12", "7.3", "v6.12", "6.12.117"),
    ),
    "eas.util_fits_cpu": (
        Range("5.12", "5.13", "v5.12", "5.10"),
        Range("6.1", "6.7", "v6.1", "6.1.192"),
        Range("6.12", "7.3", "v6.1", "6.12.117"),
    ),
    "eas.find_energy_efficient_cpu": (
        Range("5.12", "5.12", "v5.12", "5.10"),
        Range("5.13", "5.13", "v5.13", "5.10 with the fixes of 5.13"),
        Range("6.1", "6.1", "v6.1", "6.1.192"),
        Range("6.12", "6.12", "v6.12", "6.12.117"),
        Range("7.3", "7.3", "v7.3", "7.3.4"),
    ),
    "clock.mul_u64_u64_div_u64": (
        Range("6.1", "6.1", "v6.1", "6.1.192"),
        Range("6.19", "6.19", "v6.19", "6.19"),
    ),
    "cpuidle.menu": (
        Range("4.7", "4.7", "v4.7", "4.7.4"),
        Range("6.1", "6.1", "v6.1", "6.1.192"),
        Range("6.19", "6.19", "v6.19", "6.19"),
    ),
    "cpuidle.teo": (
        Range("6.1", "6.1", "v6.1", "6.1.192"),
        Range("6.19", "6.19", "v6.19", "6.19"),
    ),
    "cpuidle.ladder": (
        Range("4.7", "4.7", "v4.7", "4.7.4"),
        Range("6.1", "6.1", "v6.1", "none: a plain twin"),
        Range("6.19", "6.19", "v6.1", "none: a plain twin"),
    ),
    "cpuidle.haltpoll": (
        Range("6.1", "6.1", "v6.1", "none: a plain twin"),
        Range("6.19", "6.19", "v6.1", "none: a plain twin"),
    ),
}

# Later releases of 5.12 took fixes of 5.13 in, 6.1 changed within its stable series.
_PLACEMENTS = {"5.12": "5.12", "5.13": "5.13", "6.1": "6.1.192", "6.12": "6.12.117", "7.3": "7.3.4"}

#: Rules proven for single releases: rule -> "X.Y" -> the one patch level that passes besides "X.Y" itself.
EXACT: dict[str, dict[str, str]] = {
    "eas.cpu_util": _PLACEMENTS,
    "eas.find_energy_efficient_cpu": _PLACEMENTS,
    # A governor changes in stable releases too.
    "cpuidle.menu": {"4.7": "4.7.4", "6.1": "6.1.192", "6.19": "6.19"},
    "cpuidle.teo": {"6.1": "6.1.192", "6.19": "6.19"},
    "cpuidle.ladder": {"4.7": "4.7.4", "6.1": "6.1.192", "6.19": "6.19"},
}


def ranges(rule):
    """The ranges of a rule, oldest first.

    Examples
    --------
    >>> from schedpy import kernel
    >>> [str(r) for r in kernel.ranges("pelt.update")][:2]
    ['3.8 .. 4.0', '4.3']
    """
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"rule = {rule!r}: must be one of {', '.join(RULES)}")
    return RULES[rule]


@cache
def _numbers(version):
    return tuple(map(int, version.split(".")))


def parse(kernel):
    """``"4.19.0-07801-g0123"`` is ``(4, 19, 0)``, ``"v5.12"`` is ``(5, 12, None)``."""
    if not isinstance(kernel, str):
        raise TypeError(f'kernel = {kernel!r}: must be a string such as "5.12", not {type(kernel).__name__}')
    match = _RELEASE.fullmatch(kernel)
    if match is None:
        raise ValueError(
            f'kernel = {kernel!r}: must be a release such as "5.12", "v5.12" or "4.19.0-07801-g0123"'
        )
    major, minor, patch = match.groups()
    return int(major), int(minor), None if patch is None else int(patch)


def form(rule, kernel):
    """The form by which a kernel computes a rule.

    Parameters
    ----------
    rule : str
        A key of the ranges, for example ``"pelt.update"``.
    kernel : str
        ``"5.12"``, ``"v5.12"`` or a full release; the first two numbers decide, except for
        the rules that are proven for single patch levels.

    Raises
    ------
    TypeError
        The kernel is no string: a float cannot tell 5.1 from 5.10.
    ValueError
        No range holds the kernel; the message names the nearest on both sides.

    Examples
    --------
    >>> from schedpy import kernel
    >>> kernel.form("pelt.update", "4.19.0-07801-g0123")
    'P415'
    """
    major, minor, patch = parse(kernel)
    wanted = (major, minor)
    below = above = None
    for candidate in ranges(rule):
        if _numbers(candidate.first) <= wanted <= _numbers(candidate.last):
            _check_patch_level(rule, kernel, candidate, patch)
            return candidate.form
        if _numbers(candidate.last) < wanted:
            below = candidate
        elif above is None:
            above = candidate
    neighbours = " and ".join(
        f"{side} {near}" for side, near in (("below:", below), ("above:", above)) if near
    )
    raise ValueError(f"kernel = {kernel!r}: {rule} is not proven for it; proven nearest {neighbours}")


def _check_patch_level(rule, kernel, candidate, patch):
    proven = EXACT.get(rule, {}).get(candidate.first)
    if proven is None or patch is None:
        return
    numbers = _numbers(proven)
    if patch != (numbers[2] if len(numbers) > 2 else 0):
        raise ValueError(
            f"kernel = {kernel!r}: {rule} is proven for {proven} alone of the {candidate.first} releases"
        )
