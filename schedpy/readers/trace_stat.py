# SPDX-License-Identifier: GPL-2.0-only
"""What ftrace's function profiler tells of a function: tracefs's trace_stat/function*, one file per CPU.

Hits, total and average time in us, and s^2, the sample variance, in us^2 (the file says "us"). Time
and average are exact to the ns as long as they are printed with three decimals; from 10 ms on the kernel
cuts them to seven figures. The variance is computed in 64 bits that wrap: the true one may be larger by a
multiple of 2**64 / (n (n - 1)) ns^2.
"""

import math
import re

__all__ = ["is_trace_stat", "read"]

_NAME_MAX = 30
_US = r"([0-9]{1,18}(?:\.[0-9]{1,3})?) us"
_HEAD = re.compile(r"\s*Function\s+Hit(\s+Time\s+Avg(\s+s\^2)?)?\s*")
_ROW = re.compile(rf"\s*(\S+)\s+([0-9]{{1,18}})\s+{_US}\s+{_US}\s+{_US}\s*", re.ASCII)


def is_trace_stat(text):
    """Whether a text's first lines are the profiler's."""
    return any(_HEAD.fullmatch(line) for line in text.splitlines()[:20])


def read(lines, where, function):
    """The rows of a function as a list of dicts: line, count, mean and std in ns, and bounds.

    Parameters
    ----------
    lines : iterable of str
        One file.
    where : str
        What to call it in messages.
    function : str
        Copies that the compiler made of it (``.isra.0``) count, and have rows of their own.

    Returns
    -------
    list of dict
        ``line``, ``count``, ``mean``, ``std``; ``mean_low`` and ``mean_high``, which differ where the
        kernel cut the time; ``std_next``, what the deviation is if the variance wrapped once.
        Of one hit ``std`` is None.

    Raises
    ------
    ValueError
        A line is none of the profiler's, or its figures contradict each other.
    """
    rows, timed = [], None
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r\n")
        at = f"{where}: line {number}"
        if not line.strip() or not line.strip(" -"):
            continue
        if head := _HEAD.fullmatch(line):
            timed = head[2] is not None
            if not timed:
                raise ValueError(
                    f"{at}: expected the columns Function, Hit, Time, Avg and s^2: no times are here"
                )
            continue
        if timed is None:
            raise ValueError(
                f"{at}: {line.strip()[:60]!r}: expected the profiler's header, Function  Hit  Time"
            )
        match = _ROW.fullmatch(line)
        if not match:
            raise ValueError(
                f"{at}: {line.strip()[:60]!r}: expected a function, its hits, and time, average and s^2 in us"
            )
        if _is(match[1], function):
            rows.append({"line": number} | _figures(match, at))
    if timed is None:
        raise ValueError(f"{where}: is empty: expected the profiler's header, Function  Hit  Time")
    return rows


def _is(name, function):
    """The kernel cuts names to 30 characters."""
    return name == function[:_NAME_MAX] or name.startswith(f"{function}.")


def _figures(match, at):
    count = int(match[2])
    if not count:
        raise ValueError(f"{at}: {match[1]} has no hits: expected at least one")
    time, time_step = _ns(match[3])
    average, average_step = _ns(match[4])
    variance = _ns(match[5])[0] * 1000.0  # us^2 with three decimals: thousands of ns^2
    low, high = time / count, (time + time_step - 1) / count
    if not (average <= high and low < average + average_step):
        raise ValueError(
            f"{at}: Avg = {match[4]} us is not Time / Hit = {low / 1000:.3f} us: expected the same "
            "figure, as it is in a file read after function_profile_enabled was set to 0"
        )
    if count == 1 and variance:
        raise ValueError(f"{at}: s^2 = {match[5]} us of one hit: expected 0")
    pairs = count * (count - 1)
    return {
        "count": count,
        "mean": (low + high) / 2,
        "std": math.sqrt(variance) if count > 1 else None,
        "mean_low": low,
        "mean_high": high,
        "std_next": math.sqrt(variance + 2**64 / pairs) if pairs else None,
    }


def _ns(text):
    """us as whole ns, and the length of the last digit in ns."""
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000 + int(fraction.ljust(3, "0") or 0), 10 ** (3 - len(fraction))
