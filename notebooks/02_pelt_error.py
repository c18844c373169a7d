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
# ## What the patch fixes, kernel by kernel
#
# The same experiment by every form of the update since 3.8, named by its first kernel, at 1000 ticks per
# second. Before 4.12 the function has another shape, for which no threshold was ever proposed; up to 4.0
# there is no utilisation, and it is `load_avg` of a weight of 1024. The patch would do the same to all.

# %%
forms = pelt_error.run(hz=1000, variants=tuple(pelt_error.FORMS))
save("02_forms", forms[["variant", "max_of_value_pct", "max_of_1024_pct", "off_pct"]])

# %% [markdown]
# ## What 4.13 fixed
#
# Commit 625ed2bf049d, in 4.13, divides by what the sum can be at that point of a window, no longer by what
# it can be at its end. That is another error than the mail's. A task that never sleeps shows it: its value
# ought to be full scale, and until 4.12 it falls with each window that begins.

# %%
save("02_always_running", pelt_error.always_running(variants=("4.12", "4.13+", "4.13+ with 512")))

# %% [markdown]
# And so does the mail's task, if its average *were* refreshed at every update, against the signal of the
# real numbers. What 4.13 leaves is the rounding down to an integer. The share is of the real value: of what
# 4.12 reports, which is less, it is a little more.

# %%
arithmetic = pelt_error.run(definition="arithmetic", variants=("4.12", "4.13+", "4.13+ with 512"))
save("02_arithmetic", arithmetic[["definition", "variant", "hz", "max_of_value_pct", "max_of_1024_pct"]])

# %%
save(
    "02_arithmetic_of_1024",
    plot.largest(arithmetic, title="Had every update refreshed: against the real numbers"),
)

# %% [markdown]
# ## What neither fixes
#
# So far the error was looked at when the task is updated. Whoever reads the average in between gets what
# the last update left. Here the reader comes every 40 us while the task runs, and the value is held against
# the rule carried on to that moment. The tick rules, not the window: the patch takes off little, and most
# where a tick is about as long as a window.

# %%
held = pelt_error.run(definition="held", variants=("4.12", "4.13+", "4.13+ with 512"))
save("02_held", held[["definition", "variant", "hz", "max_of_value_pct", "max_of_1024_pct"]])

# %%
save(
    "02_held_of_value", plot.largest(held, scale="of_value_pct", title="Read every 40 us while the task runs")
)

# %% [markdown]
# The worst of them moves by a point or two with the places of the points, of the starts and of the ticks.
#
# ## The bounds over the sawtooth
#
# A CPU that is updated all the time, by units of 1024 ns: since no update comes late enough, the threshold
# changes nothing, and the two lines of 4.13 lie on each other. The error grows with the time since the last
# refresh until the window ends. A task that starts from nothing misses most of full scale, one that has
# climbed less; asleep, the error is a share of the value and needs no height to be large. 4.12 has no error
# asleep, as its divider stands still. Both values are rounded down, so the difference of the two may pass a
# bound by less than one unit of 1024.

# %%
save("02_sawtooth", plot.sawteeth(pelt_error.sawtooth(), pelt_error.bounds()))

# %% [markdown]
# ## What the patch cannot do
#
# It tests the time since the last update of the *sums*, not of the average. A task that is updated more
# often than the threshold never meets it, and its average is as stale as without the patch.

# %%
save("02_spacing", plot.spacing(pelt_error.by_spacing()))

# %% [markdown]
# A CPU's own signal is updated by all its tasks. Here the mail's task has further updates at random: each
# sets the clock of the threshold back. The closer they are, the fewer of the skipped updates are caught. The
# largest error over all runs is a matter of luck, and hardly falls as long as one update late in a first
# window can slip through; so of the runs' largest errors the least, the median and the largest are given.

# %%
extra = pelt_error.by_extra()
save("02_extra", extra)

# %%
save("02_extra_of_value", plot.extra(extra))

# %% [markdown]
# ## The price
#
# How many more refreshes per second of time there are with the patch, for one task, times what one more
# refresh takes. The latter is measured here: `pelt.track` over the same events without the patch, with it,
# and without it again, in a random order within each round. What that last pair differs by is what any
# difference is worth on this host (`nothing`).

# %%
timed = pelt_error.time_refresh()
save("02_refresh_time", timed.quantile([0.25, 0.5, 0.75]).rename_axis("quantile"))

# %%
price = pelt_error.price(pelt_error.refreshes(hz=(250, 1000)), timed)
save("02_price", price)

# %% [markdown]
# Beside it the change that the mail's benchmarks saw, a loss below 0: of unixbench two runs each, of
# hackbench one each. `refreshes` is how many more refreshes per second would take such a share of a CPU, if
# they took nothing but the division timed here. It is a product, and no claim about a machine of 2017.

# %%
save("02_price_and_benchmarks", pelt_error.beside(price, claims))

# %% [markdown]
# ## Line by line

# %%
verdicts = pelt_error.verdicts(updates, worst)
save("02_verdicts", verdicts)

# %%
pelt_error.conclusion(verdicts)
