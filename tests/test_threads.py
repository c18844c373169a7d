# SPDX-License-Identifier: GPL-2.0-only
"""One call as several in threads: everything once, the first failure raised, nothing begun after it."""

import threading

import numpy as np
import pytest

from schedpy._threads import in_threads


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 11), (5, 2, 2), (2, 0)])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("pieces", [1, 4, 50])
def test_every_element_once(shape, threads, pieces):
    seen = np.zeros(shape, int)
    lock = threading.Lock()

    def work(part):
        with lock:
            seen[part] += 1

    in_threads(work, shape, threads, pieces)
    assert (seen == 1).all()


def test_the_first_failure_of_several_is_raised():
    both = threading.Barrier(2)

    def work(part):
        both.wait(10)
        raise ValueError(str(part[0].start))

    for _ in range(20):
        with pytest.raises(ValueError, match=r"^0$"):
            in_threads(work, (8,), 2, 8)


def test_nothing_is_begun_after_a_failure():
    begun = []

    def work(part):
        begun.append(part[0].start)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, (1000,), 2, 1000)
    assert len(begun) <= 2
