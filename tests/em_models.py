# SPDX-License-Identifier: GPL-2.0-only
"""The models of the known answers as domains of this package, power as it stands there."""

import functools

import numpy as np
from golden import load

from schedpy.em import EnergyModel, PerfDomain


@functools.cache
def columns():
    """model -> (scale_cpu, frequencies, powers)."""
    rows = load("em/models")
    return {
        model: (int(scale), *zip(*(map(int, state.split(":")) for state in states.split()), strict=True))
        for model, scale, states in zip(
            rows["model"], rows["scale_cpu"], rows["states_freq_colon_power"], strict=True
        )
    }


@functools.cache
def domain(model):
    """One domain; ValueError for states that no kernel registers."""
    scale, freqs, powers = columns()[model]
    return PerfDomain(model, [0], freqs, powers, unit="bogo", capacity=scale)


#: Bundled names that differ from the platform's.
BUNDLED = {"pixel4_sm8150_vendor": "pixel4", "sm8150_freqbench": "pixel4_freqbench"}


@functools.cache
def platform(name, unit="mW"):
    """A platform's domains and CPUs with the powers that the known answers used: mW up to 5.18, then uW."""
    layout = EnergyModel.load(BUNDLED.get(name, name))
    domains = []
    for part in layout.domains:
        powers = columns().get(f"{name}/{part.name}@{unit}") or columns()[f"{name}/{part.name}@raw"]
        scale, freqs, power = powers
        assert (freqs, scale) == (tuple(part.freq_khz.tolist()), part.capacity)
        domains.append(PerfDomain(part.name, part.cpus, freqs, power, unit="bogo", capacity=scale))
    return EnergyModel(domains)


def by_model(rows):
    """(model, rows of it) in turn."""
    for model in np.unique(rows["model"]):
        mask = rows["model"] == model
        yield model, {name: column[mask] for name, column in rows.items()}


def integers(column):
    """A column that came as text because some cells are empty; empty gives -1."""
    return np.array([int(cell) if cell != "" else -1 for cell in column.tolist()], dtype=object)
