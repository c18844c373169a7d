# SPDX-License-Identifier: GPL-2.0-only
"""One call over arrays as several calls over parts of them, in threads (a leaf)."""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

__all__ = ["in_threads"]


def in_threads(work, shape, threads, pieces):
    """work(part) over all of a shape, by so many threads of which this one is one.

    A part is an index: slices up to the shape's longest axis, which is cut into ``pieces``; ``()``, all of
    it, where one thread is asked for or there is nothing to cut. More pieces than threads are good for
    interrupts, which wait for the pieces begun only. Of several that fail the first in the array's order is
    the one that is raised.

    Examples
    --------
    >>> from schedpy._threads import in_threads
    >>> seen = []
    >>> in_threads(seen.append, (2, 9), threads=2, pieces=3)
    >>> sorted((part[1].start, part[1].stop) for part in seen)
    [(0, 3), (3, 6), (6, 9)]
    """
    axis = int(np.argmax(shape)) if shape else 0
    length = shape[axis] if shape else 1
    if threads == 1 or length < 2:
        work(())
        return
    edges = sorted({length * i // pieces for i in range(pieces + 1)})
    pending = deque(pairwise(edges))
    failed = []

    def take_pieces():
        while pending:
            try:
                start, stop = pending.popleft()
            except IndexError:
                return
            try:
                work((*[slice(None)] * axis, slice(start, stop)))
            except BaseException as error:
                pending.clear()
                failed.append((start, error))

    pool = ThreadPoolExecutor(threads - 1)
    try:
        for _ in range(min(threads, len(pending)) - 1):
            pool.submit(take_pieces)
        take_pieces()
    finally:
        pending.clear()
        pool.shutdown()
    if failed:
        raise min(failed, key=lambda each: each[0])[1]
