# SPDX-License-Identifier: GPL-2.0-only
"""Lists of CPUs as the kernel prints them: 0-3,6."""

import re

__all__ = ["parse"]

#: No kernel has more.
_MOST = 10_000
_SPAN = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", re.ASCII)


def parse(text, at):
    """The CPUs' numbers; for anything else than a list a ValueError that says where: ``at``.

    Examples
    --------
    >>> from schedpy.readers import cpulist
    >>> cpulist.parse("0-2,6", "here")
    [0, 1, 2, 6]
    """
    cpus: list[int] = []
    for part in text.strip().split(","):
        span = _SPAN.fullmatch(part)
        if not span or int(span[2] or span[1]) < int(span[1]):
            raise ValueError(f"{at}: {text[:60]!r} is no list of CPUs such as 0-3,6")
        cpus += range(int(span[1]), int(span[2] or span[1]) + 1)
        if len(cpus) > _MOST:
            raise ValueError(f"{at}: {text[:60]!r} ... holds more than {_MOST} CPUs")
    return cpus
