# SPDX-License-Identifier: GPL-2.0-only
"""What EnergyModel.check finds, and that it is silent only where there is nothing."""

import numpy as np
import pytest
from em_models import domain
from hypothesis import given
from hypothesis import strategies as st
from reference import em as twin

from schedpy import em

#: Active power of the policy of CPU 4 of an MT6897 in 0.01 mW by frequency in MHz: measured, as Perfetto's
#: Wattson has it.
MT6897 = {
    400: 2925, 500: 3906, 600: 4947, 700: 6582, 800: 7415, 900: 8702, 1000: 10083, 1100: 10005, 1200: 12101,
    1300: 15009, 1400: 22343, 1500: 19907, 1600: 20955, 1700: 29503, 1800: 31953, 1900: 36020, 2000: 38440,
    2100: 45782, 2200: 50001, 2300: 60030, 2400: 67014, 2500: 71370, 2600: 72546, 2660: 73067, 2800: 73242,
    2850: 68090, 2900: 69943, 3000: 77016, 3100: 77360, 3200: 83488,
}  # fmt: skip


def one(freqs, powers, *, unit="uW", capacity=1024):
    return em.EnergyModel([em.PerfDomain("one", [0], freqs, powers, unit=unit, capacity=capacity)], name="it")


def test_power_that_falls():
    model = one([1000 * mhz for mhz in MT6897], [10 * power for power in MT6897.values()])
    found = model.check(kernel="6.1")
    falls = found.of("power falls")
    assert [model["one"].freq_khz[f.state] for f in falls] == [1_100_000, 1_500_000, 2_850_000]
    assert falls[0].message == "1100000 kHz needs 100050 uW, 1000000 kHz 100830 uW"
    assert {f.state for f in found.of("inefficient")} == set(
        np.flatnonzero(model["one"].table(kernel="6.1")["inefficient"])
    )


def test_nothing_found():
    found = one([1000, 2000], [100, 900]).check(kernel="6.1")
    assert not found
    assert list(found) == []
    assert str(found) == "it on 6.1: no findings"


def test_equal_costs_and_power_that_stays():
    found = one([1_000_000, 2_000_000, 3_000_000], [500, 500, 750]).check(kernel="6.1")
    assert [(f.state, f.kind) for f in found] == [
        (1, "power stays"),
        (1, "equal costs"),
        (0, "inefficient"),
        (1, "inefficient"),
    ]
    assert "as 3000000 kHz do" in found.of("equal costs")[0].message
    assert (
        "does not flag it" in one([1, 2], [5, 9], unit="mW").check(kernel="5.11").of("inefficient")[0].message
    )


def test_what_a_kernel_refuses():
    found = one([1000, 2000], [100, 70_000_000]).check(kernel="6.1")
    assert [f.kind for f in found] == ["refused"]
    assert found.findings[0].message.startswith("power[1] = 70000000")
    assert one([1, 2000], [1, 2]).check(kernel="6.12").of("refused")
    with pytest.raises(ValueError, match=r"^kernel = '6.8'"):
        one([1, 2000], [1, 2]).check(kernel="6.8")


def test_a_look_up_table_too_large_to_be_built():
    found = one([2**26, 2**26 + 1024, 2**35], [1, 2, 60_000], unit="mW").check(kernel="5.12")
    assert [f.state for f in found.of("look-up table")] == [None]


def test_states_closer_than_a_bin():
    """1000000, 1000300 and 1000600 kHz share one bin."""
    found = em.EnergyModel([domain("syn/close_freqs_300k")]).check(kernel="5.12")
    assert found.of("look-up table")
    assert not em.EnergyModel([domain("syn/close_freqs_300k")]).check(kernel="6.1").of("look-up table")
    for name in em.EnergyModel.names():
        assert not em.EnergyModel.load(name).check(kernel="5.12").of("look-up table"), name


@given(
    st.lists(st.integers(1, 1500), min_size=1, max_size=6),
    st.lists(st.integers(1, 65535), min_size=6, max_size=6),
)
def test_every_state_that_the_table_misses_is_found(gaps, powers):
    """Against a look at every request there is."""
    freqs = (np.cumsum(gaps) + 5000).tolist()
    powers = sorted(powers[: len(freqs)])
    found = one(freqs, powers, unit="mW").check(kernel="5.12").of("look-up table")
    states = twin.table(freqs, powers, flags=True)
    missed = set()
    for request in range(freqs[0] - 2, freqs[-1] + 3):
        right = next(
            (i for i, s in enumerate(states) if s.freq >= request and not s.inefficient), len(freqs) - 1
        )
        if twin.lookup(states, request) != right:
            missed.add(right)
    assert {f.state for f in found} == missed


def test_it_shows_as_a_table():
    found = one([1000, 2000], [500, 100]).check(kernel="6.1")
    page = found._repr_html_()
    assert page.count("<tr>") == len(found) + 1
    assert "power falls" in page
    with pytest.raises(ValueError, match=r"^kind = 'x'"):
        found.of("x")
