# SPDX-License-Identifier: GPL-2.0-only
"""How fast the clock conversions are beside the best NumPy expressions for them.

All is measured in one process: rounds in which every candidate runs once, in an order shuffled anew. A
ratio is of two calls of one round, so that what else the machine does falls on both; given are the median
and the middle half of the rounds, beside the fastest of a row's expressions. The row A/A, that expression
beside itself, says what such a ratio is worth.

    python benchmarks/clock_ratios.py
    python benchmarks/clock_ratios.py --quick --only cache

All write into the same array, NumPy's steps between into a second one, and all are first seen to give
the same. Rows in cache have 2^14 elements, those from memory 2^23. "copy" is what moving the elements alone
takes NumPy: nothing here can take less.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import numpy as np
from rounds import machine, measure, quartiles

from schedpy import clock, jiffies

SIZES = {"cache": 2**14, "memory": 2**23}
MEMORY_TARGET = 0.9
U = np.uint64
HZ = 300  #: divides neither 1000 nor 10^9, nor they it: the rule with a factor


@dataclass(frozen=True)
class Row:
    """A conversion: its argument's type and largest value, ours, and NumPy's ways to it."""

    name: str
    target: float  #: in cache, at least so many times as fast
    dtype: str
    most: int
    result: str
    ours: Callable  #: (x, out)
    numpy: dict[str, Callable]  #: (x, out, scratch)


def shift(x, out, scratch):
    np.right_shift(x, U(10), out=out)


def divide(x, out, scratch):
    np.floor_divide(x, U(1000), out=out)


MUL, SHR = 4_202_935_003, 27
LOW = U(2**32 - 1)


def halves(x, out, scratch):
    """lo * mul >> shift, and hi * mul << 32 - shift."""
    np.bitwise_and(x, LOW, out=out)
    np.multiply(out, U(MUL), out=out)
    np.right_shift(out, U(SHR), out=out)
    np.right_shift(x, U(32), out=scratch)
    np.multiply(scratch, U(MUL), out=scratch)
    np.left_shift(scratch, U(32 - SHR), out=scratch)
    np.add(out, scratch, out=out)


def raise_negative(x, out, scratch):
    """999 more where x is negative, then rounded down."""
    np.right_shift(x, 63, out=out)
    np.bitwise_and(out, 999, out=out)
    np.add(out, x, out=out)
    np.floor_divide(out, 1000, out=out)


def sign_apart(x, out, scratch):
    """The magnitude divided, the sign put back."""
    np.abs(x, out=out)
    np.floor_divide(out, 1000, out=out)
    np.sign(x, out=scratch)
    np.multiply(out, scratch, out=out)


def without_remainder(x, out, scratch):
    np.fmod(x, 1000, out=scratch)
    np.subtract(x, scratch, out=out)
    np.floor_divide(out, 1000, out=out)


CONSTANTS = jiffies.timeconst(HZ)
INFINITE = jiffies.max_jiffy_offset()


def timeout(name, last, x, out, scratch):
    """The factor of timeconst.h, and infinite above the last finite time."""
    np.multiply(x, U(CONSTANTS[f"{name}_MUL32"]), out=out)
    np.add(out, U(CONSTANTS[f"{name}_ADJ32"]), out=out)
    np.right_shift(out, U(CONSTANTS[f"{name}_SHR32"]), out=out)
    np.copyto(out, U(INFINITE), where=x > U(last))


def rounded_up(x, out, scratch):
    np.multiply(x, U(CONSTANTS["HZ_TO_MSEC_NUM"]), out=scratch)
    np.add(scratch, U(CONSTANTS["HZ_TO_MSEC_DEN"] - 1), out=scratch)
    np.floor_divide(scratch, U(CONSTANTS["HZ_TO_MSEC_DEN"]), out=scratch)
    np.copyto(out, scratch, casting="unsafe")


LAST_US = int(jiffies.jiffies_to_usecs(INFINITE, hz=HZ))

ROWS = (
    Row(
        "ns >> 10",
        2.0,
        "u8",
        2**63,
        "u8",
        lambda x, out: clock.ns_to_us_shift(x, out=out),
        {"right_shift": shift},
    ),
    Row("ns / 1000", 1.1, "u8", 2**63, "u8", lambda x, out: clock.ns_to_us(x, out=out), {"//": divide}),
    Row(
        "signed ns / 1000",
        4.0,
        "i8",
        2**62,
        "i8",
        lambda x, out: clock.ktime_to_us(x, out=out),
        {"raised": raise_negative, "sign apart": sign_apart, "remainder": without_remainder},
    ),
    Row(
        "mul_u64_u32_shr",
        6.0,
        "u8",
        2**63,
        "u8",
        lambda x, out: clock.mul_u64_u32_shr(x, MUL, SHR, out=out),
        {"halves": halves},
    ),
    Row(
        "msecs_to_jiffies",
        4.0,
        "u8",
        2**32,
        "u8",
        lambda x, out: jiffies.msecs_to_jiffies(x, hz=HZ, out=out),
        {"factor": partial(timeout, "MSEC_TO_HZ", 2**31 - 1)},
    ),
    Row(
        "usecs_to_jiffies",
        4.0,
        "u8",
        2**32,
        "u8",
        lambda x, out: jiffies.usecs_to_jiffies(x, hz=HZ, out=out),
        {"factor": partial(timeout, "USEC_TO_HZ", LAST_US)},
    ),
    Row(
        "jiffies_to_msecs",
        4.0,
        "u8",
        2**40,
        "u4",
        lambda x, out: jiffies.jiffies_to_msecs(x, hz=HZ, out=out),
        {"quotient": rounded_up},
    ),
)


def argument(row, rng, n):
    x = rng.integers(0, row.most, n, dtype=row.dtype)
    return x * rng.choice([-1, 1], n) if row.dtype == "i8" else x


def repeated(call, times):
    def run():
        for _ in range(times):
            call()

    return run


def best_expression(row, x, rounds, times):
    """The fastest of NumPy's ways, after all have been seen to give what we do; our call; and copying."""
    out, scratch = np.zeros(x.shape, row.result), np.zeros_like(x)
    row.ours(x, out)
    ours = out.copy()
    candidates = {}
    for name, expression in row.numpy.items():
        expression(x, out, scratch)
        assert np.array_equal(out, ours), f"{row.name}: {name} gives something else"
        candidates[name] = repeated(partial(expression, x, out, scratch), times)
    measured = measure(candidates, max(rounds // 4, 3))
    best = min(measured, key=lambda name: np.median(measured[name]))
    copy = partial(np.copyto, out, x if x.dtype == out.dtype else ours)
    return best, candidates[best], repeated(partial(row.ours, x, out), times), repeated(copy, times)


def compare(row, place, rng, rounds):
    """(ratios of A/A, ratios of ours, ns per element of all, the expression)"""
    n = SIZES[place]
    times = max(2**19 // n, 1)
    best, base, ours, copy = best_expression(row, argument(row, rng, n), rounds, times)
    measured = measure({"numpy": base, "A/A": base, "ours": ours, "copy": copy}, rounds)
    per_element = {name: np.median(each) / times / n for name, each in measured.items()}
    same, faster = (quartiles(measured["numpy"], measured[name]) for name in ("A/A", "ours"))
    return same, faster, per_element, best


def written(ratios):
    low, mid, high = ratios
    return f"{mid:.2f} ({low:.2f} .. {high:.2f})"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--only", choices=[*SIZES], help="these rows alone")
    options = parser.parse_args()
    rounds, rng = 15 if options.quick else 61, np.random.default_rng(1)

    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine()}, NumPy {np.__version__}")
    print(f"{rounds} rounds; ratio: median (middle half)\n")
    print(f"{'ns an element':18} {'in':6} {'copy':>6} {'NumPy':>6} {'ours':>6}   ", end="")
    print(f"{'times as fast':22} {'A/A':22} target")
    for place in SIZES if options.only is None else [options.only]:
        for row in ROWS:
            target = row.target if place == "cache" else MEMORY_TARGET
            same, faster, ns, best = compare(row, place, rng, rounds)
            verdict = "met" if faster[1] >= target else "MISSED"
            each = " ".join(f"{ns[name]:6.3f}" for name in ("copy", "numpy", "ours"))
            print(
                f"{row.name:18} {place:6} {each}   {written(faster):22} {written(same):22} "
                f"{target:g} {verdict} (beside {best})",
                flush=True,
            )


if __name__ == "__main__":
    main()
