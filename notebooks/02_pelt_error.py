# ---
# jupyter:
#   license: "SPDX-License-Identifier: GPL-2.0-only"
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How far off is a PELT average that was not refreshed?
#
# The kernel adds to PELT's sums at every update, but divides them into the averages only when an update
# crosses the border of a window. In August 2017 a mail proposed to refresh them also when enough time has
# passed, and gave the error of `util_avg` for a task of 20 ms every 100 ms. Here every update of such a
# task is compared with what it would have reported had it refreshed the average, per kernel version, tick
# rate and threshold.

# %%
import pandas as pd

from schedpy.lab import pelt_error
from schedpy.lab.report import save
from schedpy.plot import pelt_error as plot

pd.set_option("display.precision", 2)
pd.set_option("display.max_columns", None)
pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## What was published

# %%
claims = pelt_error.published()
save("02_published", claims[["what", "published", "quote"]])

# %% [markdown]
# ## The errors of a sample
#
# Starts at every 32nd of a window, up to three places of the tick grid, 30 activations, the first second
# left out. All in percent: `max` over all runs, `median_max` the median of the runs' largest errors,
# `p99` the median of their 99th percentiles, `off` the share of updates with any error; "of value" is the
# error over what would have been reported, "of 1024" over full scale.

# %%
updates = pelt_error.measure()
table = pelt_error.summary(updates)
save("02_table", table)

# %%
save("02_largest_error", plot.largest(table, mark_pct=claims.loc["largest_error", "values"][0]))

# %%
save("02_largest_error_of_value", plot.largest(table, scale="of_value_pct"))

# %% [markdown]
# The divider that 4.13 changed and the patch treat two different errors: from 4.12 to 4.13 the largest
# error hardly moves, only the threshold brings it down.
#
# ## Which of them is the mail's figure
#
# Each statistic of the kernel that the patch is for, and the tick rates at which it rounds to the mail's
# figure.

# %%
save("02_definitions", pelt_error.definitions(table))

# %% [markdown]
# The mail words it as an error relative to the signal. A single reading gives its figure at every tick
# rate: the largest error over full scale. That one has a bound, whatever the task does: what one window
# can add.

# %%
save("02_bounds", pelt_error.bounds())

# %% [markdown]
# ## The worst case over all phases
#
# The sample may miss it: here start and tick take every 16th unit of 1024 ns.

# %%
worst = pelt_error.supremum()
save("02_supremum", worst)

# %% [markdown]
# ## One activation, with and without the patch
#
# The activation with the largest error at 1000 ticks per second.

# %%
save("02_signal_and_error", plot.signal_and_error(pelt_error.worst_activation(updates, hz=1000)))

# %% [markdown]
# ## How often an update is off by how much

# %%
save("02_histograms", plot.histograms(updates))

# %% [markdown]
# ## Where in the window
#
# The errors grow towards the border, as the mail saw on its plots; the patch cuts them off at its
# threshold.

# %%
save("02_place_in_window", plot.over_window(updates, hz=1000))

# %%
save("02_by_place", pelt_error.by_place(updates))

# %% [markdown]
# ## What the patch cannot do
#
# It tests the time since the last update of the *sums*. A task that is updated more often than the
# threshold never meets it, and its average is as stale as without the patch.

# %%
save("02_spacing", plot.spacing(pelt_error.by_spacing()))

# %% [markdown]
# ## Line by line

# %%
verdicts = pelt_error.verdicts(updates, worst)
save("02_verdicts", verdicts)

# %%
pelt_error.conclusion(verdicts)
