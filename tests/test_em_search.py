# SPDX-License-Identifier: GPL-2.0-only
"""States and energies of many requests at once are those of each alone, by every path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedpy import _core, em, paths

PATHS = paths.names()
U64 = st.integers(0, 2**64 - 1)


@st.composite
def cases(draw):
    """(a domain, requests near its states and anywhere)"""
    freqs = sorted(draw(st.sets(st.integers(1, 2**32 + 5) | st.integers(1, 500), min_size=1, max_size=40)))
    powers = draw(st.lists(st.integers(1, 65535), min_size=len(freqs), max_size=len(freqs)))
    capacity = draw(st.integers(1, 1024))
    near = [max(f + d, 0) for f in freqs for d in (-1, 0, 1)]
    values = draw(
        st.lists(st.sampled_from(near) | st.integers(0, 2 * capacity) | U64, min_size=40, max_size=150)
    )
    domain = em.PerfDomain("one", [0], freqs, powers, unit="bogo", capacity=capacity)
    return domain, np.array(values, np.uint64)


def same_as_alone(function, *columns):
    """function(columns) by each path; a short call is never searched."""
    alone = np.array(
        [function(*(column[i : i + 1] for column in columns))[0] for i in range(len(columns[0]))]
    )
    for path in PATHS:
        with paths.using(path):
            assert np.array_equal(function(*columns), alone), path
            strided = [np.repeat(column, 2)[::2] for column in columns]
            assert np.array_equal(function(*strided), alone), path


@pytest.mark.parametrize("kernel", ["5.0", "5.12", "6.1"])
@given(cases())
def test_states_by_frequency(kernel, case):
    domain, requests = case
    same_as_alone(lambda x: domain.get_efficient_state(x, kernel=kernel), requests)


@given(cases(), st.booleans())
def test_states_by_performance(case, skip):
    domain, requests = case
    try:
        domain.table(kernel="6.12")
    except ValueError:
        return  # The lowest state performs nothing.
    same_as_alone(lambda x: domain.get_performance_state(x, kernel="6.12", skip_inefficient=skip), requests)


@pytest.mark.parametrize("kernel", ["5.12", "6.1", "6.12"])
@given(cases(), st.none() | st.integers(0, 1100) | U64)
def test_energies(kernel, case, allowed):
    domain, utils = case
    try:
        domain.table(kernel=kernel)
    except ValueError:
        return
    more = {} if kernel == "5.12" else {"allowed_cpu_cap": allowed}
    same_as_alone(lambda x, y: domain.energy(x, y, kernel=kernel, **more), utils, utils[::-1])


def test_a_path_is_taken_for_a_while_and_refused_by_name():
    before = _core.use_path(PATHS[0])
    _core.use_path(before)
    with pytest.raises(RuntimeError), paths.using(PATHS[0]):
        raise RuntimeError
    assert _core.use_path(before) == before
    for wrong, error in (("sse9", ValueError), (None, TypeError), (7, TypeError)):
        with pytest.raises(error, match="must be one of"), paths.using(wrong):
            pass
    with pytest.raises(ValueError, match="no path sse9"):
        _core.use_path("sse9")
