# ---
# jupyter:
#   license: "SPDX-License-Identifier: GPL-2.0-only"
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which states of which platform are inefficient, and where do tasks go, kernel by kernel?
#
# Every platform that comes with the package: what its performance states cost, which of them a kernel
# flags as inefficient, and where `find_energy_efficient_cpu()` of five kernels puts a task of any size in a
# system of any load.

# %%
from IPython.display import display

from schedpy import em
from schedpy.lab import platforms
from schedpy.lab.report import save
from schedpy.plot import platforms as plot

# %% [markdown]
# ## The platforms
#
# Below each table: its states, and where the figures come from.

# %%
for name in em.EnergyModel.names():
    display(em.EnergyModel.load(name))

# %% [markdown]
# ## Inefficient states
#
# A state is inefficient if a faster one needs no more energy for the same work. How many are flagged depends
# on how a kernel rounds: the patch of 2021 on 5.12 takes costs in mW, 5.16 the same times 1000, 6.1 powers in
# uW, and from 6.9 on the cost is ten times the power by the performance, both integers. Where the columns of
# a row differ, states tie in one kernel and not in another.

# %%
save("04_inefficient", platforms.inefficient())

# %%
states = platforms.states()
save("04_states", states)

# %%
flagged = states[states["inefficient"] != ""]
display(flagged[["freq_khz", "power", "unit", "inefficient"]])

# %% [markdown]
# ## Where tasks go
#
# Left in each picture, power by capacity over the capacity of the state: hollow states are flagged by at
# least one kernel. Then, per kernel, a task that last ran on the biggest CPU wakes up in a system whose CPUs
# are all loaded alike. Up to 5.13 it moves only if that saves more than a sixteenth of the energy of the
# whole system: with the load of the system the price of moving rises, and tasks stay on the biggest CPU that
# 6.1 and later put elsewhere. Kernels that choose the same CPU everywhere share a panel.

# %%
maps = [
    platforms.placement_map(name, kernel=kernel)
    for name in em.EnergyModel.names()
    for kernel in platforms.PLACEMENTS
]

# %%
for name in em.EnergyModel.names():
    display(save(f"04_map_{name}", plot.overview([each for each in maps if each.model.name == name], states)))

# %% [markdown]
# How much of each map belongs to which domain, in percent of the places where any CPU has room:

# %%
save("04_shares", platforms.shares(maps))

# %% [markdown]
# Which kernels choose the very same CPUs, and at how many percent of the places another domain is chosen than
# 5.12 would:

# %%
save("04_alike", platforms.alike(maps))

# %% [markdown]
# ## Line by line
#
# What commits and the kernel's documentation say of such platforms in figures. The document's example is
# computed there without the head-room of 25 %, and does not come out of the code.

# %%
save("04_verdicts", platforms.verdicts())
