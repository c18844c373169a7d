# ---
# jupyter:
#   license: "SPDX-License-Identifier: GPL-2.0-only"
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Is a placement faster with a look-up table?
#
# In April 2021 two mails timed `find_energy_efficient_cpu()` on a Pixel 4, with the walk over the table of
# performance states as it was in 5.12, and with the look-up table (LUT) that a patch proposed. A task
# climbed a staircase of duty cycles; every placement at a wake-up was one sample. Without the phone, three
# things can be done: recompute what the printed figures say, derive the column of CPUs from the kernel's
# arithmetic, and repeat the experiment here.

# %%
import pandas as pd
from IPython.display import Markdown

from schedpy.lab import phases
from schedpy.lab.report import save
from schedpy.plot import phases as plot
from schedpy.plot import phases_device as plot_device
from schedpy.plot import phases_why as plot_why

pd.set_option("display.precision", 3)
pd.set_option("display.max_columns", None)
pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## What was published
#
# `table_*` is the table of 22 April, `letter_*` the letter of 28 April; all in ns.

# %%
save("01_published", phases.published())

# %% [markdown]
# ## What follows from it
#
# a is the walk, b the table. Intervals are recomputed from standard deviation and count; the difference
# gets an interval and a test of its own (Welch), corrected for asking once per row (Holm).

# %%
save("01_published_compared", phases.table())

# %%
save("01_published_intervals", plot.intervals(phases.table()))

# %%
save("01_published_differences", plot.differences(phases.table()))

# %% [markdown]
# Hollow markers are rows whose two intervals overlap. The intervals of the differences are the ones that
# decide, and none of them reaches zero.
#
# ## What does not fit

# %%
save("01_inconsistencies", phases.inconsistencies())

# %% [markdown]
# ## Where the CPU column comes from
#
# The placement of 5.12 on the phone's energy model, for a task of each duty cycle, from each kind of CPU.
# Exact is the arithmetic; simplified are a utilisation without ripple and an otherwise empty system. The
# mail's column is the CPU that *ran* the function, not the one it chose: they are the same where the task
# stays and its timer fires where it went to sleep, so the rows to compare are those with `stays`.

# %%
placed = phases.placements()
save("01_placements", placed)

# %% [markdown]
# ## The staircase on a simulated device
#
# The duty cycle is not what the kernel sees: `util_avg` rises and falls with every activation, `util_est`
# remembers its peak, the work takes longer at a lower capacity and frequency, and a task that is still at
# work when its timer fires has no wake-up. So the staircase runs on the model. Exact are PELT and its
# clock, util_est, the placement, and the frequency that schedutil asks for; modelled, a parameter each, are
# its rate limit, the latencies, the CPU of the timer, the work and its variation, the load by
# other tasks, and that a task too large for its CPU is moved at a tick. Nothing else is random than
# where ticks and windows fall.

# %%
simulated = phases.simulate("pixel4", kernel="5.12")
save("01_simulated_counts", phases.beside_the_mail(simulated))

# %%
save("01_simulated_kinds", plot_device.counts(simulated.counts(), mail=phases.published()))

# %% [markdown]
# Each phase's kind of CPU comes out, and nearly every count. What is missing to the whole are
# wake-ups on the kind of CPU that the phase before left the task on, and activations that began without one.
# Phase 4 does not come out: here the task stays on Mid.
#
# ## What moves phase 4
#
# A CPU elsewhere must save more than 1/16 of what the system would take with the task where it was.
# Lines end where the task does not fit on the CPU that it slept on.

# %%
save("01_margin", plot_device.margin(phases.decisions(), settled=phases.settled_util()))

# %% [markdown]
# Devices that differ in one thing: `percent` is Mid's share of phase 4; `walk` and `lut` tell whether
# the mail's share without and with the table is one that such a device can give.

# %%
shares = phases.mid_share()
save("01_mid_share", shares)

# %%
save("01_mid_share_load", plot_device.share(shares, mail=phases.published_shares()))

# %%
Markdown(phases.story(simulated, shares, phases.simulate("pixel4", kernel="6.1")))

# %% [markdown]
# ## What the walk has to do
#
# Every wake-up of the staircase with util_avg and util_est as PELT of 5.12 computes them (util_est without
# its slower average). The walk starts at the lowest state of every domain that the task is tried on.

# %%
wakeups = phases.wakeups()
save("01_wakeups", wakeups)

# %%
save("01_states_visited", plot.states(wakeups))

# %% [markdown]
# ## The same placements on this machine
#
# Each wake-up is placed by the walk, by the table, and by the walk once more, in random order. Walk against
# walk (A/A) shows what no difference looks like here. The caches are warm; on the phone they had a period to
# cool. In the kernel the function runs with interrupts off; here a few samples meet one, and they move a
# mean by more than the difference. `shift` therefore compares placement by placement, by medians; it
# decides on the direction below.

# %%
measured = phases.measure()
save("01_samples", measured.samples())

# %%
here = phases.table(measured)
save("01_measured", here)

# %%
save("01_measured_distributions", plot.distributions(measured))

# %%
save("01_measured_shifts", plot.shifts(here))

# %% [markdown]
# ## With cold and with shared caches
#
# On the phone a period lay between two placements. Here, before each call, tables and run queues are thrown
# out of every cache (cold), or 256 KiB are walked (shared). Beside the patch's table stands one that holds
# the states' data itself. Above 1 the arm is faster than the walk; "walk again" shows what no difference
# looks like, and how often its intervals contain zero is counted.

# %%
timings = {"warm": measured} | {caches: phases.measure(caches=caches) for caches in ("shared", "cold")}
gains = {caches: phases.gains(timing) for caches, timing in timings.items()}
save("01_gains", pd.concat(gains, names=["caches"]))

# %%
save("01_gains_ratios", plot_why.ratios(gains))

# %%
save("01_equal_arms", phases.coverage(phases.measure(repetitions=200)))

# %% [markdown]
# ## Why
#
# One look-up against the states that the walk visits, in cold caches. The chained walk reads the same lines
# as the walk, but has to wait for each before it knows the next.

# %%
costs = phases.by_length()
save("01_slopes", phases.slopes(costs))

# %%
save("01_costs_by_length", plot_why.lengths(costs))

# %% [markdown]
# What each part costs when it alone is thrown out: the patch's table reads entries and states, one after the
# other.

# %%
save("01_cold_parts", plot_why.parts(phases.by_part()))

# %%
save("01_memory", phases.memory())

# %% [markdown]
# Platforms of other sizes, drawn tasks: from how many states on a table pays.

# %%
platforms = phases.by_platform()
save("01_platforms", platforms)

# %%
save("01_platforms_states", plot_why.platforms(platforms))

# %% [markdown]
# Do the states visited explain the mail's differences? Whatever a line through seven points says, the kind of
# CPU and its frequency change with the length of the walk.

# %%
lengths = wakeups.groupby(["phase", "cpu"])["states"].median()
fit = phases.explained(lengths)
save("01_explained", fit)

# %%
save("01_explained_differences", plot_why.mail_differences(phases.table(), lengths, fit))

# %% [markdown]
# ## The claims of the mails about timing

# %%
claims = phases.claims(timings, lengths)
save("01_claims", claims)

# %% [markdown]
# ## Line by line

# %%
verdicts = phases.verdicts(measured, placed)
save("01_verdicts", pd.concat([verdicts, phases.as_verdicts(claims)], ignore_index=True))

# %%
Markdown(phases.summary(verdicts, measured))
